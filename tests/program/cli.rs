//! The `hive` program from outside: arguments, exit codes, streams, files.
//!
//! `HIVE_BIN` names another executable to test (on a machine where the tests were not built).

use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const GRAPH: &str = "tests/data/chesapeake.mtx";

fn hive() -> Command {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_hive"));
    let mut command = Command::new(std::env::var_os("HIVE_BIN").map_or(built, PathBuf::from));
    command.stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    command
}

fn run(args: &[&str]) -> Output {
    hive().args(args).output().expect("hive starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `hive`, which must refuse with exit code 2, one line on standard error that contains `part`,
/// and nothing on standard output.
fn refused(args: &[&str], part: &str) {
    let output = run(args);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    assert!(err.contains(part), "{args:?}: no '{part}' in {err}");
    assert_eq!(out, "", "{args:?}");
}

fn succeeds(args: &[&str]) -> Output {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    output
}

fn vn<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "vn", "--graph", GRAPH, "--seeds", "1,5", "--runs", "2"], more].concat()
}

fn file(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn subcommands_say_what_they_do() {
    let output = hive().arg("--help").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for part in ["Say what a graph is like", "Convert a graph file"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_graph_is_generated_on_the_host_and_described() {
    let output = succeeds(&["generate", "rmat:8", "--devices", "host", "--repeat", "2"]);
    let text = stdout(&output);
    assert!(text.contains("nodes       256\n") && text.contains("2 runs"), "{text}");
    let output = succeeds(&["generate", "grid:3x5", "--devices", "host", "--json", "-"]);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&record["nodes"], &record["arcs"]), (&Value::from(15), &Value::from(44)));
    assert_eq!(record["max_degree"], 4);
    refused(&["generate", "rmat:8", "--devices", "host", "--check"], "--devices cuda:0");
    refused(&["generate", "ring:8", "--devices", "host"], "no generator");
}

#[test]
fn help_is_an_answer_and_a_missing_command_is_a_mistake() {
    assert!(stdout(&succeeds(&["--help"])).contains("Exit codes: 0 done"));
    assert!(stdout(&succeeds(&["run", "--help"])).contains("Vertex nomination"));
    assert!(stdout(&succeeds(&["--version"])).starts_with("hive "));
    assert_eq!(run(&[]).status.code(), Some(2));
    assert_eq!(run(&["run"]).status.code(), Some(2));
}

#[test]
fn bad_arguments_get_one_line_and_exit_code_2() {
    refused(&["stroll"], "'stroll'");
    refused(&["run", "stroll"], "'stroll'");
    refused(&["vn"], "vn is a workload: write hive run vn");
    refused(&vn(&["--grpah", "x"]), "see hive run vn --help");
    refused(&vn(&["--symmetrize", "max"]), "--symmetrize max: write --symmetrize=max");
    refused(&["run", "vn", "--seeds", "1"], "no graph");
    refused(&["run", "vn", "--graph", GRAPH], "no seeds");
    refused(&["run", "vn", "--graph"], "'--graph <FILE|SPEC|->'");
    refused(
        &["run", "vn", "--graph", GRAPH, "--seeds", "1,,2"],
        "--seeds `1,,2`: an id is missing",
    );
    let unknown = "--sources `last:1`: `last` is unknown;";
    refused(&["run", "bfs", "--graph", GRAPH, "--sources", "last:1"], unknown);
    refused(&["sweep"], "<CONFIG>");
    refused(&vn(&["--devices", "host:0"]), "host:0");
    refused(&vn(&["--devices", "host:17"]), "host:17");
    refused(&vn(&["--merge", "sparse"]), "sparse");
    refused(&vn(&["--collective", "mpi"]), "mpi");
    refused(&vn(&["--delta", "0"]), "--delta");
    refused(&vn(&["--delta", "wide"]), "--delta");
    refused(&vn(&["--runs", "none"]), "--runs");
    refused(&vn(&["--top", "-1"]), "--top -1: use a whole number from 0 on");
    refused(&vn(&["--deadline", "0"]), "--deadline");
    refused(&vn(&["--verify=perhaps"]), "--verify");
    refused(&vn(&["--fault", "0:0:explode"]), "explode");
    refused(&vn(&["--source", "1"]), "--source");
    refused(&["run", "sssp", "--graph", GRAPH, "--seeds", "1"], "--seeds");
}

#[test]
fn results_that_could_not_be_written_are_refused_before_the_run() {
    refused(&vn(&["--output", "x.parquet"]), "x.parquet");
    refused(&vn(&["--output", "no/such/folder/x.csv"]), "no/such/folder");
    refused(&vn(&["--json", "tests"]), "directory");
}

#[test]
fn a_graph_that_is_not_there_is_noticed_before_devices_are_opened() {
    let on = |graph: &'static str| ["run", "sssp", "--devices", "cuda:99", "--graph", graph];
    refused(&on("no/such/graph.mtx"), "no/such/graph.mtx: no such file");
    refused(&on("tests"), "tests: is a directory");
    refused(&on("rmat:99"), "rmat:99");
    refused(&on("grid:8"), "grid:8");
    refused(&on(GRAPH), "cuda:99");
}

#[test]
fn a_fault_that_never_strikes_is_said_on_standard_error() {
    let output = succeeds(&vn(&["--devices", "host:2", "--fault", "1:1000000:panic"]));
    let err = stderr(&output);
    assert!(err.starts_with("warning: --fault 1:1000000:panic never struck"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn a_bad_configuration_file_is_refused_naming_file_line_and_key() {
    let dir = tempfile::tempdir().unwrap();
    let with = |text: &str, part: &str| {
        let path = file(dir.path(), "run.toml", text);
        refused(&["run", "vn", "--config", &path], part);
    };
    with("runs = 2\nsedes = '1'\n", "run.toml:2: unknown field 'sedes'");
    with(
        "weights = 'unit'\n",
        "run.toml:1: unknown field 'weights' here: it belongs into the table [load]",
    );
    with("devices = 'host:0'\n", "run.toml:1:");
    with("merge = 'sparse'\n", "run.toml:1: ");
    with("\nruns = 'ten'\n", "run.toml:2: ");
    with("top = -1\n", "(key 'top')");
    with("verify = 1\n", "(key 'verify')");
    with("runs = 2\nruns = 3\n", "run.toml:2:");
    with("graph =\n", "run.toml:1:");
    refused(&["run", "vn", "--config", "no-such.toml"], "no-such.toml");
    refused(&["sweep", "no-such.toml", "--output", "target"], "no-such.toml");
}

#[test]
fn the_doctor_answers_on_every_machine() {
    let output = succeeds(&["doctor"]);
    assert!(stdout(&output).contains("This machine runs") || stdout(&output).contains("missing"));
    let json: Value = serde_json::from_str(&stdout(&succeeds(&["doctor", "--json", "-"]))).unwrap();
    assert!(json["host"]["cores"].as_u64().unwrap() >= 1);
    assert_eq!(json["nccl_nvls_enable"], "0");
    assert!(json["cuda"]["nvrtc"]["found"].is_boolean());
}

#[test]
fn multicast_stays_off_unless_the_user_says_otherwise() {
    let output =
        hive().args(["doctor", "--json", "-"]).env("NCCL_NVLS_ENABLE", "2").output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["nccl_nvls_enable"], "2");
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child = hive()
        .args(["run", "vn", "--help"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_readme_shows_the_example_as_it_is() {
    let readme = std::fs::read_to_string("README.md").unwrap();
    assert!(readme.contains(&std::fs::read_to_string("examples/vertex_nomination.rs").unwrap()));
}

#[test]
fn the_readmes_command_works_as_it_stands() {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let line = readme.lines().find(|line| line.starts_with("cargo run --release -- ")).unwrap();
    let args: Vec<&str> = line.split_whitespace().skip(4).collect();
    let text = stdout(&succeeds(&args));
    assert!(text.contains("verified  yes") && text.contains("rank  node  distance"), "{text}");
}

#[test]
fn vertex_nomination_is_verified_on_one_replica_and_on_four() {
    for devices in ["host:1", "host:4"] {
        for merge in ["auto", "dense"] {
            let args = ["--devices", devices, "--merge", merge, "--verify", "--nominee"];
            let output =
                succeeds(&vn(&[&args[..], &["--chunk-align", "128", "--top", "3"]].concat()));
            let text = stdout(&output);
            assert!(text.contains("verified  yes"), "{text}");
            assert!(text.contains("39 of 39 nodes reached"), "{text}");
            assert!(text.contains("rank  node  distance  nominee"), "{text}");
            assert_eq!(stderr(&output), "", "no progress in a pipe");
        }
    }
}

#[test]
fn json_on_standard_output_is_the_record_and_nothing_else() {
    let output = succeeds(&vn(&["--devices", "host:2", "--verify", "--trace", "--json", "-"]));
    let record: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(stderr(&output).starts_with("vn on chesapeake"), "{}", stderr(&output));
    let reference: Value =
        serde_json::from_str(include_str!("../data/hive-vn-rmat22-gpu4.json")).unwrap();
    for key in reference.as_object().unwrap().keys() {
        assert!(record.get(key).is_some(), "no {key}");
    }
    assert_eq!(record["primitive"], "vn");
    assert_eq!(record["graph-nodes"], 39);
    assert_eq!(record["graph-edges"], 340);
    assert_eq!(record["process-times"].as_array().unwrap().len(), 2);
    assert_eq!(record["seeds"], serde_json::json!([1, 5]));
    assert_eq!(record["config"]["devices"], "host:2");
    assert_eq!(record["fleet"]["world"], 2);
    assert_eq!(record["verified"], "yes");
    assert!(!record["measured"]["trace"].as_array().unwrap().is_empty());
    assert!(record["command-line"].as_str().unwrap().contains("--seeds 1,5"));
}

#[test]
fn a_run_computes_once_and_its_record_and_summary_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("record.json");
    let record = |more: &[&str]| -> (Value, String) {
        let args = ["run", "bfs", "--graph", GRAPH, "--json", json.to_str().unwrap()];
        let text = stdout(&succeeds(&[&args[..], more].concat()));
        (serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap(), text)
    };
    let times = |record: &Value| record["process-times"].as_array().unwrap().len();
    let (once, text) = record(&[]);
    assert_eq!((once["benchmark"].as_bool(), times(&once)), (Some(false), 1));
    assert!(text.contains("one run without warm-up") && !text.contains("median"), "{text}");
    let (measured, text) = record(&["--benchmark"]);
    assert_eq!((measured["benchmark"].as_bool(), times(&measured)), (Some(true), 10));
    assert!(text.contains(" of 10 runs") && text.contains("median"), "{text}");
    let (three, _) = record(&["--runs", "3"]);
    assert_eq!((three["benchmark"].as_bool(), times(&three)), (Some(true), 3));
    // The echo asks the same again.
    for (asked, benchmark, runs) in [(&once, false, 1), (&three, true, 3)] {
        let path = file(dir.path(), "asked.json", &asked.to_string());
        let again = record(&["--config", &path]).0;
        assert_eq!((again["benchmark"].as_bool(), times(&again)), (Some(benchmark), runs));
    }
}

#[test]
fn a_recorded_configuration_runs_again_as_a_file_and_flags_win_over_it() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("record.json");
    succeeds(&vn(&["--devices", "host:2", "--delta", "inf", "--json", json.to_str().unwrap()]));
    let record: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let mut config = record["config"].clone();
    config.as_object_mut().unwrap().remove("json");
    let path = file(dir.path(), "again.toml", &toml::to_string(&config).unwrap());
    let args = ["run", "vn", "--config", &path, "--devices", "host:3", "--json", "-"];
    let again: Value = serde_json::from_str(&stdout(&succeeds(&args))).unwrap();
    config["devices"] = "host:3".into();
    config["json"] = "-".into();
    assert_eq!(again["config"], config);
}

#[test]
fn a_trace_says_how_many_levels_a_step_had() {
    for devices in ["host:1", "host:3"] {
        let args = ["run", "bfs", "--graph", "chain:3000", "--devices", devices, "--trace"];
        let args = [&args[..], &["--runs", "1", "--json", "-"]].concat();
        let record: Value = serde_json::from_str(&stdout(&succeeds(&args))).unwrap();
        let steps = record["measured"]["trace"].as_array().unwrap();
        let rounds: u64 = steps.iter().map(|step| step["rounds"].as_u64().unwrap()).sum();
        assert_eq!(record["depth"], 2999);
        assert!((2999..=3001).contains(&rounds), "{devices}: {rounds}");
    }
}

#[test]
fn the_textbook_loop_of_shortest_paths_keeps_the_labels_of_a_graph_with_hubs() {
    let layout = |workload: &str, graph: &str, more: &[&str]| {
        let args = ["run", workload, "--graph", graph, "--devices", "host:2", "--verify"];
        let seeds: &[&str] = if workload == "vn" { &["--seeds", "first:3"] } else { &[] };
        let args = [&args[..], &["--json", "-"], seeds, more].concat();
        let record: Value = serde_json::from_str(&stdout(&succeeds(&args))).unwrap();
        assert_eq!(record["verified"], "yes", "{args:?}");
        record["prepare"]["layout"].as_str().unwrap().to_string()
    };
    let dense = ["--merge", "dense"];
    for workload in ["sssp", "vn"] {
        assert_eq!(layout(workload, "rmat:14", &dense), "raw", "{workload}");
        assert_eq!(layout(workload, "star:3000", &dense), "raw", "{workload}");
        for merge in ["auto", "split", "redundant"] {
            let merge = ["--merge", merge];
            assert_eq!(layout(workload, "rmat:14", &merge), "degree", "{workload} {merge:?}");
        }
        assert_eq!(layout(workload, "uniform:4096", &dense), "degree", "{workload}");
        let degree = [&dense[..], &["--layout", "degree"]].concat();
        assert_eq!(layout(workload, "rmat:14", &degree), "degree", "{workload}");
    }
    for workload in ["bfs", "cc", "pagerank"] {
        assert_eq!(layout(workload, "rmat:14", &dense), "degree", "{workload}");
    }
    assert_eq!(layout("sssp", "grid:60x60", &dense), "raw", "as without the textbook loop");
}

#[test]
fn files_that_are_no_graphs_are_missed_as_what_they_are() {
    let geo = |labels| ["run", "geo", "--graph", GRAPH, "--devices", "host", "--labels", labels];
    refused(&geo("no-such.csv"), "no-such.csv: no such file; check the path\n");
    refused(&geo("tests"), "tests: is a directory; name a file in it");
}

#[test]
fn a_record_that_is_run_again_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("record.json");
    let path = json.to_str().unwrap();
    succeeds(&vn(&["--devices", "host:2", "--json", path]));
    let before = std::fs::read(&json).unwrap();
    succeeds(&["run", "vn", "--config", path]);
    refused(&["run", "vn", "--config", path, "--json", path], "is also the file of --config");
    assert_eq!(std::fs::read(&json).unwrap(), before);
}

#[test]
fn a_source_is_one_node_and_the_default_is_the_lowest_id_of_the_largest_component() {
    let source = |more: &[&str]| {
        let args = [&["run", "sssp", "--graph", GRAPH, "--devices", "host", "--json", "-"], more];
        let record: Value = serde_json::from_str(&stdout(&succeeds(&args.concat()))).unwrap();
        record["seeds"].clone()
    };
    assert_eq!(source(&["--source", "7"]), serde_json::json!([7]));
    assert_eq!(source(&[]), serde_json::json!([1]));
}

#[test]
fn results_are_written_in_the_inputs_own_ids() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("x.csv");
    let output = ["--devices", "host", "--nominee", "--predecessors", "--output"];
    succeeds(&vn(&[&output[..], &[csv.to_str().unwrap()]].concat()));
    let text = std::fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "node,distance,predecessor,nominee");
    assert_eq!(lines[1], "1,0,1,1");
    assert_eq!(lines.len(), 40);
}

#[test]
fn bad_input_gets_one_line_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let garbage = file(dir.path(), "garbage.txt", "0 1\n1 -2\n");
    let negative = file(dir.path(), "negative.txt", "0 1 1.0\n1 2 -3\n");
    let on = |graph: &'static str| ["run", "sssp", "--devices", "host", "--graph", graph];
    refused(&on("no/such/graph.mtx"), "no/such/graph.mtx");
    refused(&on("rmat:99"), "rmat:99");
    refused(&["run", "sssp", "--devices", "host", "--graph", &garbage], "garbage.txt:2");
    refused(&["run", "sssp", "--devices", "host", "--graph", &negative], "negative.txt:2");
    refused(&vn(&["--devices", "cuda:99"]), "cuda:99");
    let seeds = |seeds: &'static str| {
        ["run", "vn", "--devices", "host", "--graph", GRAPH, "--seeds", seeds]
    };
    refused(&seeds("0"), "0");
    refused(&seeds("40"), "40");
    refused(&seeds("1,1"), "1");
    refused(&seeds("one"), "one");
    refused(&seeds(""), "seed");
    refused(&seeds("first:0"), "first:0");
}

#[test]
fn distances_that_overflow_are_reported_by_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let huge = 1u128 << 127;
    let graph = file(dir.path(), "huge.txt", &format!("0 1 {huge}\n1 2 {huge}\n0 3 1.5\n"));
    let args = ["run", "sssp", "--graph", &graph, "--devices", "host", "--verify", "--json", "-"];
    // What f32 does not hold is summed in f64, and reaches further than f32 can say.
    let output = succeeds(&[&args[..], &["--target", "2"]].concat());
    let record: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&record["precision"], &record["measured"]["reached"]), (&"f64".into(), &4.into()));
    assert_eq!(record["paths"][0]["distance"].as_f64(), Some(2.0 * huge as f64));
    let output = succeeds(&[&args[..], &["--precision", "f32"]].concat());
    let record: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(record["overflowed-arcs"], 1);
    assert!(stderr(&output).contains("--precision f64 holds them"), "{}", stderr(&output));
    assert_eq!(record["verification"]["overflowed_arcs"], 1);
    assert_eq!(record["measured"]["reached"], 3);
    assert!(stderr(&output).contains("sums over 1 arc overflow"), "{}", stderr(&output));
}

#[test]
fn a_sweep_records_every_cell_and_skips_what_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let graph = std::fs::canonicalize(GRAPH).unwrap();
    let text = format!(
        "graphs = ['{}', 'grid:8x8']\noptional-graphs = ['not-here.mtx']\n\
         devices = ['host:1', 'host:2']\nmerges = ['auto', 'dense']\nworkloads = ['vn', 'sssp']\n\
         [run]\nseeds = 'first:2'\nruns = 2\nverify = true\n",
        graph.display()
    );
    let config = file(dir.path(), "sweep.toml", &text);
    let out = dir.path().join("out");
    let output = succeeds(&["sweep", &config, "--output", out.to_str().unwrap()]);
    let cells: Value =
        serde_json::from_slice(&std::fs::read(out.join("sweep.json")).unwrap()).unwrap();
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 3 * 2 * 2 * 2);
    let with = |status: &str| cells.iter().filter(|cell| cell["status"] == status).count();
    assert_eq!((with("done"), with("skipped")), (16, 8), "{}", stderr(&output));
    assert!(cells.iter().all(|cell| out.join(cell["file"].as_str().unwrap()).is_file()));
    let record = out.join("vn_eval_mgpu/host/2/vn__chesapeake__GPU2__merge-dense.json");
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    assert_eq!(record["verified"], "yes");
    assert_eq!(record["benchmark"], true, "a sweep measures");
    assert!(stdout(&output).contains("speed-up"));
}

#[test]
fn a_cell_that_fails_is_named_and_does_not_stop_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let text = "graphs = ['missing.mtx', 'grid:8x8']\ndevices = ['host:2']\n[run]\nruns = 1\n";
    let config = file(dir.path(), "sweep.toml", text);
    let out = dir.path().join("out");
    let output = run(&["sweep", &config, "--output", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let last = stderr(&output).lines().last().unwrap_or_default().to_string();
    assert!(
        last.starts_with("error: 1 of 2 cells failed") && last.contains("missing.mtx"),
        "{last}"
    );
}

#[test]
fn a_fault_ends_the_run_with_exit_code_3_naming_the_replica() {
    for kind in ["fail", "panic", "stall"] {
        let fault = format!("1:1:{kind}");
        let start = std::time::Instant::now();
        let args = ["--devices", "host:4", "--merge", "dense", "--fault", &fault];
        let output = run(&vn(&args));
        assert_eq!(output.status.code(), Some(3), "{kind}: {}", stderr(&output));
        assert!(stderr(&output).contains("error: replica 1"), "{kind}: {}", stderr(&output));
        assert!(start.elapsed().as_secs() < 10, "{kind}");
    }
}

/// A process that is on its way, and what it was started with.
struct Running(std::process::Child);

impl Running {
    fn start(args: &[&str]) -> Running {
        let mut command = hive();
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    /// Waits until `happened`.
    fn until(&mut self, happened: impl Fn(u32) -> bool) {
        let begin = Instant::now();
        while !happened(self.0.id()) {
            assert!(begin.elapsed() < Duration::from_secs(120), "nothing happened");
            assert!(self.0.try_wait().unwrap().is_none(), "it ended before it was asked to");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a signal: exit code, time until the end, standard error.
    fn end(mut self, signal: &str) -> (Option<i32>, Duration, String) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        let begin = Instant::now();
        let status = self.0.wait().unwrap();
        let took = begin.elapsed();
        let mut told = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (status.code(), took, told)
    }
}

fn listens(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let name = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm"));
    threads.filter_map(|thread| name(thread).ok()).any(|name| name.trim() == "signals")
}

fn partial(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".partial"))
}

/// The quickest of three tries ends within a second: other programs may take the machine meanwhile.
fn within_a_second(mut attempt: impl FnMut() -> Duration) {
    let took = (0..3).map(|_| attempt()).find(|took| *took < Duration::from_secs(1));
    assert!(took.is_some(), "it took more than a second, three times");
}

#[test]
fn a_signal_ends_the_program_within_a_second_and_leaves_no_partial_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        within_a_second(|| {
            // While a file is written.
            let mut running = Running::start(&["convert", "grid:1500x1500", &at("out.txt")]);
            running.until(|_| partial(dir.path()));
            let (ended, took, told) = running.end(signal);
            assert_eq!(ended, Some(code), "{told}");
            assert_eq!(told.lines().count(), 1, "{told}");
            assert!(told.starts_with(&format!("error: ended by SIG{signal}; ")), "{told}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
            took
        });
        within_a_second(|| {
            // While it computes.
            let (json, csv) = (at("x.json"), at("x.csv"));
            let args = ["run", "sssp", "--graph", "grid:600x600", "--devices", "host:2"];
            let more = ["--runs", "100000", "--json", &json, "--output", &csv];
            let mut running = Running::start(&[&args[..], &more].concat());
            running.until(listens);
            std::thread::sleep(Duration::from_millis(200));
            let (ended, took, told) = running.end(signal);
            assert_eq!((ended, told.lines().count()), (Some(code), 1), "{told}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
            took
        });
    }
}

#[test]
fn a_signal_ends_a_sweep_and_the_process_of_its_cell() {
    let dir = tempfile::tempdir().unwrap();
    let text = "graphs = ['grid:600x600']\ndevices = ['host:1']\nworkloads = ['sssp']\n\
                [run]\nruns = 100000\n";
    let config = file(dir.path(), "sweep.toml", text);
    let results = dir.path().join("results");
    // (parent, state) of a process.
    let stat = |pid: u32| -> Option<(u32, char)> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
            .map(|(state, parent): (char, u32)| (parent, state))
    };
    let child_of = |parent: u32| {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.find(|pid| stat(*pid).is_some_and(|found| found.0 == parent) && listens(*pid))
    };
    within_a_second(|| {
        let args = ["sweep", &config, "--isolate", "--output", results.to_str().unwrap()];
        let mut running = Running::start(&args);
        running.until(|pid| child_of(pid).is_some());
        let child = child_of(running.0.id()).unwrap();
        let (ended, took, told) = running.end("TERM");
        assert_eq!(ended, Some(143), "{told}");
        assert!(told.contains("error: ended by SIGTERM; "), "{told}");
        assert!(!partial(&results));
        let begin = Instant::now();
        while stat(child).is_some_and(|(_, state)| state != 'Z') {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "the cell goes on without its sweep"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        took + begin.elapsed()
    });
}
