//! Filtering an array: the same values in the same order on any number of replicas, those of a serial filter.

use crate::common::{Ended, all_fleets, ends_within, hive, open_perturbed, own};
use hivegraph::algorithm::{Filtered, MergeMode};
use hivegraph::fleet::{CollectiveKind, Fleet};
use hivegraph::generate::array_value;
use hivegraph::run::{Choice, Job, RunConfig, Verify, prepare, workload};
use hivegraph::verify;
use hivegraph::verify::Checker;
use serde_json::json;
use std::time::Duration;

fn asked(elements: u64, share: f64, seed: u64, merge: MergeMode) -> RunConfig {
    RunConfig {
        own: own(json!({ "elements": elements, "share": share, "seed": seed })),
        merge,
        runs: Some(Choice::Is(2)),
        warmup: Some(0),
        verify: Verify::Yes,
        ..RunConfig::default()
    }
}

/// The answer of the second of two runs, accepted by the workload's own check.
fn filtered(fleet: &Fleet, config: RunConfig) -> Filtered {
    let job = Job::on_array(workload("filter").unwrap(), config).unwrap();
    let ready = prepare(&job, None, fleet).unwrap();
    let answer = job.solve(fleet, &ready).unwrap();
    assert_eq!(job.verify(&*answer, &Checker::host()).unwrap().message, None);
    answer.own().downcast_ref::<Filtered>().unwrap().clone()
}

/// One value after another.
fn oracle(elements: u64, share: f64, seed: u64) -> Vec<u32> {
    let values = (0..elements).map(|place| array_value(seed, place));
    values.filter(|value| (f64::from(*value) / 4_294_967_296.0) < share).collect()
}

#[test]
fn any_number_of_replicas_keeps_the_same_values_in_the_order_of_the_array() {
    // One value, less than a slice, a tile and a few more, many tiles with a short one at the end.
    let sizes = [1, 63, 4099, 300_001];
    let shares = [(0.0, 1), (0.5, 1), (0.031, 2), (1.0, 3)];
    let cases: Vec<_> =
        sizes.iter().flat_map(|n| shares.map(|(share, seed)| (*n, share, seed))).collect();
    let rights: Vec<_> = cases.iter().map(|(n, share, seed)| oracle(*n, *share, *seed)).collect();
    assert!((149_000..151_000).contains(&rights[13].len()), "half of {:?}", cases[13]);
    for fleet in all_fleets() {
        for perturb in [None, Some(5)] {
            let opened = open_perturbed(&fleet, perturb);
            for merge in [MergeMode::Auto, MergeMode::Split, MergeMode::Redundant] {
                for ((n, share, seed), right) in cases.iter().zip(&rights) {
                    let answer = filtered(&opened, asked(*n, *share, *seed, merge));
                    assert!(answer.kept == *right, "{share} of {n} on {fleet:?}, {merge}");
                    assert_eq!(answer.measured.reached, right.len() as u64);
                    let cut = merge != MergeMode::Redundant && opened.world() > 1;
                    let slices = answer.measured.merge_modes.contains_key("slices");
                    assert_eq!(slices, cut, "{n} on {fleet:?}, {merge}");
                }
            }
        }
    }
}

#[test]
fn a_checksum_tells_values_and_their_order() {
    let fleet = open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let sum = |n, share, seed| filtered(&fleet, asked(n, share, seed, MergeMode::Auto)).checksum;
    assert_eq!(sum(5000, 0.5, 1), sum(5000, 0.5, 1));
    let sums = [sum(5000, 0.5, 1), sum(5000, 0.5, 2), sum(5000, 0.6, 1), sum(5001, 0.9, 1)];
    (1..4).for_each(|i| assert!(!sums[..i].contains(&sums[i]), "{sums:?}"));
}

#[test]
fn wrong_missing_and_surplus_values_are_named() {
    let right = oracle(1000, 0.5, 1);
    let check = |kept: &[u32]| verify::filter(1, 1000, 0.5, kept);
    assert_eq!(check(&right).unwrap(), right.len() as u64);
    let mut swapped = right.clone();
    swapped.swap(3, 4);
    let refusal = check(&swapped).unwrap_err().to_string();
    let part = format!("kept value 3 is {}, it should be {}", right[4], right[3]);
    assert!(refusal.contains(&part), "{refusal}");
    let refusal = check(&right[..right.len() - 2]).unwrap_err().to_string();
    assert!(refusal.contains("2 are missing"), "{refusal}");
    let refusal = check(&[&right[..], &[7]].concat()).unwrap_err().to_string();
    assert!(refusal.contains(&format!("only {} are wanted", right.len())), "{refusal}");
}

fn run(args: &[&str]) -> Ended {
    let all = [&["run", "filter", "--devices", "host:2", "--runs", "1"], args].concat();
    ends_within(Duration::from_secs(60), hive().args(all))
}

#[test]
fn the_program_needs_no_graph_and_writes_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (text, npy) = (path("kept.txt"), path("kept.npy"));
    let asked = ["--elements", "65536", "--share", "0.25", "--seed", "9", "--verify"];
    let ended = run(&[&asked[..], &["--output", &text, "--json", "-"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let right = oracle(65536, 0.25, 9);
    let lines = std::fs::read_to_string(&text).unwrap();
    let values: Vec<u32> = lines.lines().map(|line| line.parse().unwrap()).collect();
    assert!(values == right);
    let record: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&record["dataset"], &record["graph-nodes"]), (&"array-2^16".into(), &65536.into()));
    assert_eq!((&record["kept"], &record["graph-edges"]), (&right.len().into(), &0.into()));
    assert_eq!((&record["verified"], &record["graph"]), (&"yes".into(), &serde_json::Value::Null));
    assert_eq!(record["config"]["filter"]["share"], 0.25);
    let median = record["process-time"]["median"].as_f64().unwrap();
    let rate = record["arcs-per-second"].as_f64().unwrap();
    assert!((rate * median / 1e3 - 65536.0).abs() < 1.0, "elements a second");
    assert!(ended.err.contains("elements/s of the array"), "{}", ended.err);
    assert!(ended.err.contains("filter on array-2^16 (65,536 elements)"), "{}", ended.err);
    let ended = run(&["--elements", "1000", "--output", &npy]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let bytes = std::fs::read(&npy).unwrap();
    let right = oracle(1000, 0.5, 1);
    assert!(crate::common::npy::<u32>(&bytes, "<u4") == (vec![right.len()], right));
}

#[test]
fn what_filter_has_no_use_for_is_refused_in_one_line() {
    for (args, part) in [
        (&["--graph", "rmat:6"][..], "filter works on an array, and has no use for --graph"),
        (&["--symmetrize"], "has no use for a load option"),
        (&["--placement", "sharded"], "has no use for --placement"),
        (&["--source", "1"], "filter does not take --source"),
        (&["--elements", "0"], "--elements 0: use 1 to"),
        (&["--elements", "68719476737"], "--elements 68719476737: use 1 to 68719476736"),
        (&["--elements", "68719476736"], "ask for fewer"),
        (&["--elements", "-5"], "--elements"),
        (&["--share", "1.5"], "--share 1.5: use 0 to 1"),
        (&["--share", "nan"], "--share NaN: use 0 to 1"),
        (&["--merge", "dense"], "nothing is merged"),
        (&["--output", "x.pdf"], ".txt, .npy, .npz"),
    ] {
        let ended = run(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        assert!(ended.err.contains(part), "{args:?}: {}", ended.err);
        assert_eq!((ended.err.trim_end().lines().count(), ended.out.as_str()), (1, ""));
    }
    let other = ["run", "sssp", "--graph", "rmat:6", "--elements", "5"];
    let ended = ends_within(Duration::from_secs(60), hive().args(other));
    assert!(ended.code == Some(2) && ended.err.contains("--elements"), "{}", ended.err);
}

#[test]
fn a_sweep_filters_once_and_searches_on_each_graph() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sweep.toml");
    let text = "graphs = ['rmat:6', 'grid:5x5']\ndevices = ['host:1', 'host:2']\n\
                workloads = ['cc', 'filter']\n[run]\nruns = 1\nverify = true\n\
                [run.filter]\nelements = 5000\n";
    std::fs::write(&config, text).unwrap();
    let out = folder.path().join("out");
    let args = ["sweep", config.to_str().unwrap(), "--output", out.to_str().unwrap()];
    let ended = ends_within(Duration::from_secs(60), hive().args(args));
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let cells = std::fs::read_to_string(out.join("sweep.json")).unwrap();
    let cells: Vec<serde_json::Value> = serde_json::from_str(&cells).unwrap();
    let of = |name: &str| cells.iter().filter(|cell| cell["workload"] == name).count();
    assert_eq!((of("cc"), of("filter")), (4, 2), "{cells:?}");
    assert!(cells.iter().all(|cell| cell["verified"] == "yes"), "{cells:?}");
    let file = "filter_eval_mgpu/host/default/filter__array-5000__GPU2.json";
    let record = std::fs::read_to_string(out.join(file));
    let record: serde_json::Value = serde_json::from_str(&record.unwrap()).unwrap();
    assert_eq!(record["graph-nodes"], 5000);
}
