//! `hive info` and `hive estimate` from outside: exact counts, JSON fields, refusals.

use crate::common::hive;
use hivegraph::layout::Form;
use hivegraph::run::WORKLOADS;
use serde_json::Value;
use std::process::Output;

const GRAPH: &str = "tests/data/chesapeake.mtx";

fn run(args: &[&str]) -> Output {
    hive().args(args).output().expect("hive starts")
}

/// Standard output of a command that must end with exit code 0.
fn answer(args: &[&str]) -> String {
    let output = run(args);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {err}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The record that a command with `--json -` writes.
fn record(args: &[&str]) -> Value {
    serde_json::from_str(&answer(&[args, &["--json", "-"]].concat())).unwrap()
}

/// Exit code 2, one line on standard error that contains `part`, nothing on standard output.
fn refused(args: &[&str], part: &str) {
    let output = run(args);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    assert!(err.contains(part), "{args:?}: no '{part}' in {err}");
    assert!(output.stdout.is_empty(), "{args:?}");
}

fn needs(record: &Value) -> Vec<(&str, u64)> {
    let needs = record["needs"].as_array().unwrap();
    needs.iter().map(|n| (n["workload"].as_str().unwrap(), n["bytes"].as_u64().unwrap())).collect()
}

#[test]
fn a_small_web_is_counted_exactly() {
    let record = record(&["info", GRAPH]);
    for (field, value) in [("primitive", "info"), ("dataset", "chesapeake"), ("graph-file", GRAPH)]
    {
        assert_eq!(record[field], value);
    }
    assert_eq!((&record["graph-nodes"], &record["graph-edges"]), (&39.into(), &340.into()));
    let found = &record["statistics"];
    assert_eq!(found["symmetric"], true);
    let out = &found["out-degree"];
    assert_eq!((&out["min"], &out["median"], &out["max"]), (&3.into(), &7.into(), &33.into()));
    assert!((out["mean"].as_f64().unwrap() - 340.0 / 39.0).abs() < 1e-12);
    let bins = out["histogram"].as_array().unwrap();
    let nodes: Vec<u64> = bins.iter().map(|bin| bin["nodes"].as_u64().unwrap()).collect();
    assert_eq!(nodes, [0, 0, 1, 22, 13, 2, 1]);
    assert!(found["in-degree"].is_null() && found["weights"].is_null());
    for field in ["isolated", "self-loops", "duplicates"] {
        assert_eq!(found[field], 0, "{field}");
    }
    let components = &found["components"];
    assert_eq!((&components["count"], &components["largest"]), (&1.into(), &39.into()));
    assert_eq!(components["lowest"], 1, "in the input's own ids");
    assert_eq!(found["diameter"]["at-least"], 3);
    assert_eq!(record["graph"]["format"], "matrix-market");
    assert!(record["statistics-ms"].as_f64().unwrap() > 0.0);
    assert!(record["host-bytes"].as_u64().unwrap() > 0);
    let reckoned = WORKLOADS.iter().filter(|workload| workload.form != Form::Array);
    let reckoned: Vec<&str> = reckoned.map(|workload| workload.name).collect();
    assert_eq!(needs(&record).iter().map(|n| n.0).collect::<Vec<_>>(), reckoned);
}

#[test]
fn stars_and_chains_have_the_diameter_that_they_are_known_to_have() {
    let star = record(&["info", "star:5000"]);
    let found = &star["statistics"];
    assert_eq!((&star["graph-nodes"], &star["graph-edges"]), (&5001.into(), &10_000.into()));
    assert_eq!(
        (&found["out-degree"]["max"], &found["diameter"]["at-least"]),
        (&5000.into(), &2.into())
    );
    let chain = record(&["info", "chain:2^12"]);
    let found = &chain["statistics"];
    assert_eq!((&chain["graph-nodes"], &chain["graph-edges"]), (&4096.into(), &8190.into()));
    assert_eq!(found["diameter"]["at-least"], 4095);
    assert_eq!((&found["out-degree"]["min"], &found["out-degree"]["max"]), (&1.into(), &2.into()));
    let weights = &found["weights"];
    assert_eq!((weights["integers"].as_bool(), weights["max"].as_f64()), (Some(true), Some(64.0)));
}

#[test]
fn a_directed_list_shows_both_degrees_and_what_was_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.txt");
    std::fs::write(&path, "0 1 2.5\n0 1 2.5\n2 1 1\n3 3 4\n5 1 1\n").unwrap();
    let path = path.to_str().unwrap();
    let record = record(&["info", path]);
    let found = &record["statistics"];
    assert_eq!(found["symmetric"], false);
    assert_eq!((&found["out-degree"]["max"], &found["in-degree"]["max"]), (&2.into(), &4.into()));
    assert_eq!((&found["self-loops"], &found["duplicates"]), (&1.into(), &1.into()));
    assert_eq!(found["components"]["largest"], 4);
    let text = answer(&["info", path]);
    assert!(text.contains("out-degree") && text.contains("in-degree"), "{text}");
    assert!(text.contains("1 self-loop and 1 duplicate kept"), "{text}");
}

#[test]
fn the_page_has_bars_and_a_row_a_workload() {
    let text = answer(&["info", GRAPH]);
    assert!(text.starts_with("chesapeake (39 nodes, 340 arcs)\n"), "{text}");
    for part in ["██", "diameter   at least 3", "vn ", "sssp ", "symmetric"] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
}

#[test]
fn the_record_goes_to_a_file_or_alone_to_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("info.json");
    let text = answer(&["info", GRAPH, "--json", path.to_str().unwrap()]);
    assert!(text.starts_with("chesapeake"));
    let written: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(written["dataset"], "chesapeake");
}

#[test]
fn an_estimate_is_close_to_what_the_graph_then_needs() {
    // Arrays are rounded up, to 2 MiB where they are large.
    let grains = 4 << 20;
    for spec in ["rmat:14", "torus:100x100", "star:9999", "geo:10000", GRAPH] {
        let (before, after) = (record(&["estimate", spec]), record(&["info", spec]));
        assert_eq!(before["graph-nodes"], after["graph-nodes"], "{spec}");
        assert!(before["graph-edges"].as_u64() >= after["graph-edges"].as_u64(), "{spec}");
        for (estimated, real) in needs(&before).into_iter().zip(needs(&after)) {
            assert_eq!(estimated.0, real.0);
            assert!(
                estimated.1 >= real.1 && estimated.1 < 2 * real.1 + grains,
                "{spec}: {estimated:?} {real:?}"
            );
        }
    }
}

#[test]
fn an_estimate_from_counts_says_what_fits_here() {
    let args = ["estimate", "--nodes", "4000", "--arcs", "64000", "--devices", "host:2"];
    let small = record(&args);
    assert_eq!((&small["primitive"], &small["replicas"]), (&"estimate".into(), &2.into()));
    assert!(small["graph-file"].is_null() && small["devices"].as_array().unwrap().is_empty());
    assert_eq!(small["outline"]["known-by"], "options");
    if small["host"]["available-bytes"].is_u64() {
        assert_eq!(small["fits"], true);
        let huge = ["estimate", "--nodes", "4000000000", "--arcs", "200000000000000"];
        assert_eq!(record(&huge)["fits"], false);
    }
    let symmetric = record(&[&args[..], &["--symmetric"]].concat());
    assert!(needs(&symmetric)[0].1 < needs(&small)[0].1);
}

#[test]
fn gpus_that_are_not_here_are_reckoned_with() {
    let record = record(&["estimate", "rmat:26", "--devices", "cuda:90x2"]);
    let device = &record["devices"][0];
    assert_eq!((&device["device"], &device["replicas"]), (&"cuda:90".into(), &2.into()));
    assert!(device["fits"].is_null() && device["memory-bytes"].is_null());
    assert_eq!(record["replicas"], 2);
    let text = answer(&["estimate", "rmat:26", "--devices", "cuda:90"]);
    assert!(text.contains("cuda:90") && text.contains("not here"), "{text}");
    assert!(text.contains("at most 2,147,483,648 arcs"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_with_exit_code_2() {
    refused(&["info"], "<GRAPH>");
    refused(&["info", "no/such/graph.mtx"], "no such file");
    refused(&["info", "star:0"], "; write star:LEAVES");
    refused(&["info", "rmat:30", "--json", "no/such/folder/x.json"], "--json no/such/folder");
    refused(&["estimate"], "--nodes N --arcs M");
    refused(&["estimate", "Cargo.toml"], "--nodes N --arcs M");
    refused(&["estimate", "rmat:99"], "; write rmat:SCALE");
    refused(&["estimate", "--nodes", "5"], "--arcs");
    refused(&["estimate", "--arcs", "5"], "--nodes");
    refused(&["estimate", "--nodes", "0", "--arcs", "5"], "0 nodes");
    refused(&["estimate", "--nodes", "8589934592", "--arcs", "5"], "8589934592 nodes");
    refused(&["estimate", "--nodes", "5", "--arcs", "-5"], "-5");
    refused(&["estimate", "--nodes", "5", "--arcs", "18446744073709551615"], "fit no machine");
    refused(&["estimate", "rmat:8", "--nodes", "5", "--arcs", "6"], "--nodes");
    refused(&["estimate", "rmat:8", "--weighted"], "--nodes");
    refused(&["estimate", "rmat:8", "--devices", "gpu"], "--devices gpu");
}
