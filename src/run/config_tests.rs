use super::*;
use crate::run::{Verify, WORKLOADS, workload};
use clap::{Args, Command, FromArgMatches};
use serde_json::json;

fn command() -> Command {
    RunConfig::augment_args_for_update(Command::new("test").no_binary_name(true))
}

fn over(file: &str, flags: &[&str]) -> RunConfig {
    let mut config: RunConfig = toml::from_str(file).unwrap();
    config.update_from_arg_matches(&command().get_matches_from(flags)).unwrap();
    config
}

/// With options of workloads, by name.
fn own(options: serde_json::Value) -> RunConfig {
    serde_json::from_value(options).unwrap()
}

fn checked(config: RunConfig) -> String {
    let config = RunConfig { graph: Some("rmat:4".into()), ..config };
    config.check(workload("sssp").unwrap()).unwrap_err().to_string()
}

#[test]
fn flags_win_over_the_file_and_the_file_over_the_defaults() {
    let file = "devices = 'host:2'\nruns = 3\nverify = true\ntop = 4\n";
    let config = over(file, &["--devices", "host:4", "--verify=false"]);
    assert_eq!(config.devices, Devices::Host(4));
    assert_eq!(config.runs, Some(Choice::Is(3)));
    assert_eq!(config.verify, Verify::No);
    assert_eq!(config.top, 4);
    assert_eq!(config.warmup, RunConfig::default().warmup);
}

#[test]
fn no_flags_leave_the_file_as_it_is() {
    let file = "seeds = 'first:3'\nmerge = 'dense'\ntrace = true\nchunk-align = 128\n[vn]\nnominee = true\n";
    assert_eq!(over(file, &[]), toml::from_str(file).unwrap());
    assert_eq!(over("", &[]), RunConfig::default());
}

#[test]
fn every_flag_is_a_key_of_the_file_and_every_key_a_flag() {
    let full = RunConfig {
        graph: Some("g".into()),
        load: LoadOptions {
            nodes: Some(1),
            columns: Some("src=1,dst=2".parse().unwrap()),
            delimiter: "tab".parse().unwrap(),
            ids: "text".parse().unwrap(),
            counts_line: "no".parse().unwrap(),
            input_limit: Some(ByteCount(1)),
            ..LoadOptions::default()
        },
        runs: Some(Choice::Auto),
        warmup: Some(1),
        memory_limit: Some(ByteCount(1)),
        json: Some("j".into()),
        output: Some("o".into()),
        output_format: Some(ResultFormat::Csv),
        rendezvous: Some("h:1".into()),
        fault: Some("0:0:fail".parse().unwrap()),
        perturb: Some(1),
        pretend: Some("t4".parse().unwrap()),
        ..RunConfig::default()
    };
    let mut table = toml::Table::try_from(&full).unwrap();
    // How a graph is loaded is a table of its own.
    let load = table.remove("load").unwrap();
    let mut keys: Vec<String> =
        table.keys().chain(load.as_table().unwrap().keys()).cloned().collect();
    keys.sort_unstable();
    let command = command();
    let mut flags: Vec<&str> = command.get_arguments().filter_map(|a| a.get_long()).collect();
    flags.sort_unstable();
    assert_eq!(keys, flags);
    for workload in WORKLOADS {
        let command = workload.of.flags(Command::new("own"));
        let own: Vec<&str> = command.get_arguments().filter_map(|a| a.get_long()).collect();
        let mut options = workload.options();
        assert!(options.iter().all(|option| !flags.contains(&option.as_str())));
        options.sort_unstable();
        let mut own: Vec<String> = own.into_iter().map(str::to_string).collect();
        own.sort_unstable();
        assert_eq!(own, options, "{}", workload.name);
    }
}

#[test]
fn the_echo_of_a_configuration_reads_back_as_the_same_configuration() {
    let config = RunConfig {
        graph: Some("rmat:18".into()),
        benchmark: true,
        runs: Some(Choice::Is(7)),
        own: own(json!({ "delta": "inf", "bfs": { "do-a": "inf" } })).own,
        memory_limit: Some(ByteCount(512 << 20)),
        devices: "cuda:0x4".parse().unwrap(),
        ..RunConfig::default()
    };
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<RunConfig>(&json).unwrap(), config);
    let text = toml::to_string(&config).unwrap();
    assert_eq!(toml::from_str::<RunConfig>(&text).unwrap(), config);
}

#[test]
fn a_record_is_read_for_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let config = RunConfig { graph: Some("rmat:18".into()), ..RunConfig::default() };
    let record = serde_json::json!({ "primitive": "bfs", "config": config });
    for text in [record.to_string(), serde_json::to_string(&config).unwrap()] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(RunConfig::read(&path).unwrap(), config);
    }
    let wrote =
        RunConfig { json: Some(path.clone()), output: Some("x.csv".into()), ..config.clone() };
    std::fs::write(&path, serde_json::json!({ "config": wrote }).to_string()).unwrap();
    assert_eq!(RunConfig::read(&path).unwrap(), config, "what it wrote stays");
    for (text, part) in
        [("{", "run.json"), (r#"{"runz": 3}"#, "runz"), (r#"{"runs": []}"#, "run.json")]
    {
        std::fs::write(&path, text).unwrap();
        let message = RunConfig::read(&path).unwrap_err().to_string();
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn values_out_of_range_are_refused_naming_the_flag() {
    let base = RunConfig::default;
    assert!(checked(own(json!({ "delta": 0 }))).contains("--delta 0"));
    assert!(checked(own(json!({ "delta": "NaN" }))).contains("--delta NaN"));
    for runs in [0, 1_000_001, u32::MAX] {
        let refusal = checked(RunConfig { runs: Some(Choice::Is(runs)), ..base() });
        assert!(refusal.contains(&format!("--runs {runs}: use auto or 1 to 1000000")), "{refusal}");
    }
    let refusal = checked(RunConfig { warmup: Some(u32::MAX), ..base() });
    assert!(refusal.contains("--warmup 4294967295: use 0 to 1000000"), "{refusal}");
    for align in [0, 1, 7, 96, 1 << 21] {
        let refusal = checked(RunConfig { chunk_align: align, ..base() });
        assert!(refusal.contains(&format!("--chunk-align {align}:")), "{refusal}");
    }
    assert!(checked(RunConfig { deadline: -1.0, ..base() }).contains("--deadline -1"));
    assert!(checked(RunConfig { json: Some("/".into()), ..base() }).contains("--json /"));
    let output = Some("/no/such/place/x.csv".into());
    assert!(checked(RunConfig { output, ..base() }).contains("/no/such/place"));
}

#[test]
fn an_option_of_another_workload_is_refused_rather_than_ignored() {
    assert!(checked(own(json!({ "nominee": true }))).contains("--nominee"));
    assert!(checked(own(json!({ "bfs": { "do-a": 2.0 } }))).contains("--do-a"));
    checked_well(own(json!({ "nominee": false, "pagerank": { "damping": 0.85 } })), "sssp");
    let message = own(json!({ "graph": "g", "source": 1 }));
    let message = message.check(workload("vn").unwrap()).unwrap_err().to_string();
    assert!(message.contains("--source"), "{message}");
    let message = own(json!({ "graph": "g", "top": 3 }));
    let message = message.check(workload("geo").unwrap()).unwrap_err().to_string();
    assert!(message.contains("--top"), "{message}");
}

fn checked_well(config: RunConfig, name: &str) {
    let config = RunConfig { graph: Some("rmat:4".into()), ..config };
    config.check(workload(name).unwrap()).unwrap();
}

#[test]
fn what_is_said_of_one_workload_wins_over_what_is_said_of_all_and_the_last_word_over_both() {
    let pagerank = workload("pagerank").unwrap();
    let config = own(json!({ "tolerance": 0.5, "pagerank": { "tolerance": 0.25 } }));
    assert_eq!(config.options_of(pagerank)["tolerance"], 0.25);
    assert_eq!(config.options_of(workload("geo").unwrap())["tolerance"], 0.5);
    let last = json!({ "tolerance": 0.125 });
    let (config, words) = config.with(last.as_object().unwrap()).unwrap();
    assert_eq!(config.options_of(pagerank)["tolerance"], 0.125);
    assert_eq!(words, "tolerance=0.125");
    let only = config.only_of(pagerank);
    assert_eq!(only.options_of(pagerank)["damping"], 0.85, "all options are in its table");
    assert_eq!(only.only_of(pagerank), only);
    assert_eq!(own(json!({ "pr": { "damping": 0.5 } })).options_of(pagerank)["damping"], 0.5);
}

#[test]
fn an_option_that_would_be_ignored_is_refused() {
    let with = |merge, delta: f32| {
        let own = own(json!({ "delta": Choice::Is(delta) })).own;
        RunConfig { graph: Some("rmat:4".into()), merge, own, ..RunConfig::default() }
    };
    let inf = f32::INFINITY;
    for (merge, delta) in
        [(MergeMode::Dense, 3.0), (MergeMode::Dense, inf), (MergeMode::Split, 3.0)]
    {
        let refusal = checked(with(merge, delta));
        assert!(refusal.contains(&format!("--delta {delta} with --merge {merge}:")), "{refusal}");
    }
    for (merge, delta) in [(MergeMode::Auto, 3.0), (MergeMode::Auto, inf), (MergeMode::Split, inf)]
    {
        with(merge, delta).check(workload("sssp").unwrap()).unwrap();
    }
    for name in ["x.npy", "x.txt"] {
        let output = Some(name.into());
        let config = RunConfig { output, ..own(json!({ "predecessors": true })) };
        let refusal = checked(config);
        assert!(refusal.contains(name) && refusal.contains("not for --predecessors"), "{refusal}");
    }
}

#[test]
fn what_a_workload_starts_from_and_what_the_host_looks_at_is_told_by_its_options() {
    let of = |name: &str, options: serde_json::Value| {
        let (config, workload) = (own(options), workload(name).unwrap());
        (config.starts_by_default(workload), config.wants_arcs_on_host(workload))
    };
    assert_eq!(of("bfs", json!({})), (true, None));
    assert_eq!(of("bfs", json!({ "bfs": { "source": 3 } })), (false, None));
    let connected = json!({ "bfs": { "sources": "connected:8:1" } });
    assert_eq!(of("bfs", connected), (false, Some("--sources")));
    assert_eq!(of("bfs", json!({ "bfs": { "sources": "first:8" } })), (false, None));
    let paths = json!({ "sssp": { "predecessors": true } });
    assert_eq!(of("sssp", paths), (true, Some("--predecessors")));
    assert_eq!(of("cc", json!({})), (false, None));
    assert_eq!(of("cc", json!({ "verify": "host" })), (false, Some("--verify=host")));
}
