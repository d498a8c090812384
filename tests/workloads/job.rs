//! A run as the program does it: loaded, laid out, solved and checked.

use crate::common;

use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::run::{Job, Loaded, Loading, RunConfig, Verdict, prepare, workload};
use hivegraph::{generate, io};
use std::sync::Arc;

#[test]
fn a_question_is_computed_once_and_a_benchmark_repeats_it() {
    let fleet = common::open("host:2", CollectiveKind::Auto, FleetConfig::default());
    let graph = Arc::new(generate::generate("rmat:8").unwrap());
    let timed = |name: &str, text: &str| {
        let config: RunConfig = toml::from_str(&format!("graph = 'rmat:8'\n{text}")).unwrap();
        let job = Job::new(workload(name).unwrap(), config, graph.clone()).unwrap();
        let prepared = prepare(&job, None, &fleet).unwrap();
        job.solve(&fleet, &prepared).unwrap().measured().runs.len()
    };
    let runs = |text| timed("pagerank", text);
    assert_eq!(runs(""), 1);
    assert_eq!(runs("verify = true"), 1);
    assert_eq!(runs("benchmark = true"), 10);
    assert_eq!(runs("runs = 'auto'"), 10, "it implies a benchmark");
    assert_eq!(runs("runs = 3"), 3);
    assert_eq!(runs("warmup = 2"), 10);
    let sources = "sources = 'first:4'\n";
    assert_eq!(timed("bfs", sources), 4, "one from each");
    assert_eq!(timed("bfs", &format!("{sources}benchmark = true")), 4);
    assert_eq!(timed("bfs", &format!("{sources}runs = 3")), 12, "three from each");
}

#[test]
fn a_graph_that_a_gpu_made_is_checked_by_the_weights_that_it_is_to_have() {
    if !common::has_gpu() {
        return;
    }
    let fleet = common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default());
    for (name, weights) in [
        ("sssp", "file"),
        ("sssp", "unit"),
        ("bfs", "file"),
        ("pagerank", "file"),
        ("pagerank", "unit"),
    ] {
        let own = if name == "pagerank" { "[pagerank]\nweighted = true" } else { "" };
        let text = format!(
            "graph = 'rmat:22'\ndevices = 'cuda:0'\nverify = true\n[load]\nweights = '{weights}'\n{own}"
        );
        let config: RunConfig = toml::from_str(&text).unwrap();
        let workload = workload(name).unwrap();
        let loading = Loading::begin(&config, workload).unwrap();
        let loaded = loading.end(&config, workload, &fleet).unwrap();
        let Loaded { graph, kept } = loaded;
        assert!(kept.is_some() && !graph.is_on_host(), "{name}, {weights}");
        let job = Job::new(workload, config, graph.clone()).unwrap();
        let prepared = prepare(&job, kept, &fleet).unwrap();
        let answer = job.solve(&fleet, &prepared).unwrap();
        let checked = job.check(&fleet, &prepared, &*answer).unwrap().unwrap();
        assert_eq!(checked.verdict, Verdict::Yes, "{name}, {weights}");
    }
}

#[test]
fn a_large_text_file_is_built_on_the_gpu_as_on_the_host() {
    if !common::has_gpu() {
        return;
    }
    let fleet = common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.txt");
    let mut text = String::new();
    for i in 0..(1u64 << 22) + 1000 {
        let draw = common::hash(0, i);
        let (u, v) = (draw % 300_000, (draw >> 32) % 300_000 * 3);
        text += &format!("{u} {v} {}\n", (draw >> 20) % 100);
    }
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_string();
    for (name, load, on) in [
        ("sssp", "", "the GPU"),
        ("sssp", "symmetrize = 'max'\nself-loops = 'drop'", "the GPU"),
        ("sssp", "weights = 'random:1-9:5'", "the GPU"),
        ("bfs", "duplicates = 'min'", "the GPU"),
        ("bfs", "relabel = 'degree'", "the host, for --relabel"),
    ] {
        let text = format!(
            "graph = '{path}'\ndevices = 'cuda:0'\nverify = true\n[load]\ncache = 'off'\n{load}"
        );
        let config: RunConfig = toml::from_str(&text).unwrap();
        let workload = workload(name).unwrap();
        let host = io::load_with(&path, &config.load).unwrap();
        let loading = Loading::begin(&config, workload).unwrap();
        let loaded = loading.end(&config, workload, &fleet).unwrap();
        let Loaded { graph, kept } = loaded;
        assert_eq!(graph.origin.built_on, on, "{load}");
        assert_eq!(kept.is_some(), on == "the GPU" && !graph.is_on_host(), "{load}");
        let job = Job::new(workload, config, graph.clone()).unwrap();
        let prepared = prepare(&job, kept.clone(), &fleet).unwrap();
        assert_eq!(kept.is_none(), graph.is_on_host(), "{load}: the host looked at arcs");
        let answer = job.solve(&fleet, &prepared).unwrap();
        let checked = job.check(&fleet, &prepared, &*answer).unwrap().unwrap();
        assert_eq!(checked.verdict, Verdict::Yes, "{load}");
        assert_eq!(graph.default_source(), host.default_source(), "{load}");
        assert_eq!(graph.names(), host.names(), "{load}");
        assert!(graph.offsets() == host.offsets() && graph.columns() == host.columns());
        assert!(graph.weights() == host.weights(), "{load}");
        kept.iter().for_each(|kept| kept.release(&fleet).unwrap());
    }
}
