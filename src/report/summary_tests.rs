use super::*;
use crate::algorithm::sssp::Ranked;
use crate::algorithm::sssp::ranking;
use crate::algorithm::vn::Vn;
use crate::algorithm::{
    Measured, MergeMode, Query, RunOptions, RunTime, ShortestPaths, TraceEntry, VnConfig, answered,
    best_ranked, fields,
};
use crate::graph::Origin;
use crate::layout::{PrepareOptions, PrepareReport, TileFacts};
use crate::report::Record;
use crate::run::{Job, RunConfig, Verdict, Verification, gpu, workload};
use std::sync::Arc;

/// A path 1 - 2 - 3 - 4 in a file whose ids start at 1, answered from node 1.
fn outcome() -> Outcome {
    merged(MergeMode::Auto)
}

/// The same, asked for under `merge`.
fn merged(merge: MergeMode) -> Outcome {
    let origin = Origin {
        dataset: "path".into(),
        graph_file: "data/path.mtx".into(),
        format: "matrix-market".into(),
        id_base: 1,
        weights: "unit".into(),
        load_ms: 1.5,
        ..Origin::default()
    };
    let mut graph =
        Graph::from_csr(vec![0, 1, 3, 5, 6], vec![1, 0, 2, 1, 3, 2], None, origin).unwrap();
    graph.origin.self_loops = 1; // as if; from_csr counts what is there
    let runs = [2.0, 1.0, 4.0].map(|total_ms| RunTime {
        total_ms,
        step_ms: total_ms / 2.0,
        merge_ms: total_ms / 4.0,
        other_ms: total_ms / 4.0,
        reset_ms: total_ms / 8.0,
    });
    let graph = Arc::new(graph);
    let run = RunOptions { merge, ..RunOptions::default() };
    let config = VnConfig { seeds: Some("1".parse().unwrap()), run, ..VnConfig::default() };
    let query = Query::<Vn>::new(config, graph.clone(), PrepareOptions::default()).unwrap();
    let paths = ShortestPaths {
        distances: vec![0.0, 1.0, 2.0, f32::INFINITY],
        delta: f32::INFINITY,
        measured: Measured {
            runs: runs.to_vec(),
            iterations: 3,
            rounds: 3,
            reached: 3,
            reached_arcs: 5,
            merge_modes: [("none".to_string(), 2), ("gather".to_string(), 1)].into(),
            ..Measured::default()
        },
        ..ShortestPaths::default()
    };
    let (query, answer) = answered(query, paths);
    Outcome {
        job: Job {
            workload: workload("vn").unwrap(),
            config: RunConfig {
                graph: Some("data/path.mtx".into()),
                benchmark: true,
                ..RunConfig::default()
            },
            graph,
            query,
            elements: None,
        },
        fleet: FleetInfo {
            backend: "cuda".into(),
            collective: "peer".into(),
            world: 2,
            processes: 1,
            process: 0,
            lost: Vec::new(),
            fast_links: false,
            through_host: None,
            shares: crate::fleet::Shares::equal(2),
            devices: vec![gpu(0, 0, 1 << 34), gpu(1, 0, 1 << 34)],
            driver: Some("580.159.03 (CUDA 13.0)".into()),
            nvrtc: Some("13.0".into()),
            nccl: None,
            memory_limit: None,
            startup_ms: 100.0,
        },
        prepare: PrepareReport {
            prepare_ms: 3.0,
            layout: "raw".into(),
            ..PrepareReport::default()
        },
        paths: None,
        answer,
        verification: Some(Verification {
            verdict: Verdict::Yes,
            message: None,
            found: fields([("overflowed_arcs", 0.into())]),
            note: String::new(),
            on: "host".into(),
            ms: 0.5,
            copy_ms: 0.0,
        }),
        clock: None,
        processes: Vec::new(),
    }
}

/// The answer, to be changed.
fn paths(outcome: &mut Outcome) -> &mut ShortestPaths {
    outcome.answer.own_mut().downcast_mut().unwrap()
}

#[test]
fn the_summary_says_what_ran_on_what_and_what_it_took() {
    let text = summary(&outcome());
    for part in [
        "vn on path (4 nodes, 6 arcs), from node 1\n",
        "weights unit, ids 1 to 4, 1 self-loop and 0 duplicates kept",
        "2 replicas on cuda: 2 x Some GPU (cuda:0); collective peer\n",
        "strategy  push-pull\n",
        "auto: gather 1, none 2 (redundant or nothing changed, no communication); pulls cut into chunks of about equal nodes",
        "3 of 4 nodes reached, in 3 iterations of 3 rounds\n",
        "median 2.000 ms (min 1.000 ms, max 4.000 ms) of 3 runs; 2.50 karcs/s",
        "run 2.000 ms = step 1.000 ms + merge 0.5000 ms + other 0.5000 ms",
        "load 1.500 ms",
        "prepare + run 5.000 ms",
        "verified  yes",
    ] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
}

#[test]
fn the_summary_says_which_strategy_ran_and_what_was_exchanged() {
    let with = |merge, delta, world, modes: &[(&str, u64)]| {
        let mut outcome = merged(merge);
        (outcome.job.config.merge, outcome.fleet.world) = (merge, world);
        paths(&mut outcome).delta = delta;
        paths(&mut outcome).measured.merge_modes =
            modes.iter().map(|(mode, times)| (mode.to_string(), *times)).collect();
        let strategy = serde_json::to_value(Record::of(&outcome)).unwrap()["strategy"].clone();
        (summary(&outcome), strategy)
    };
    let mut outcome = merged(MergeMode::Auto);
    paths(&mut outcome).delta = 8.5;
    paths(&mut outcome).tiles = Some(TileFacts { tiles: 1500, crossing: 0.07 });
    let strategy = serde_json::to_value(Record::of(&outcome)).unwrap()["strategy"].clone();
    let tiled = (summary(&outcome), strategy);
    for (ran, part, strategy) in [
        (with(MergeMode::Auto, 8.5, 2, &[("none", 1)]), "near-far, delta 8.5\n", "near-far"),
        (
            tiled,
            "strategy  1,500 tiles of up to 512 nodes, 7.0 % of arcs between them, delta 8.5\n",
            "tiles",
        ),
        (
            with(MergeMode::Auto, 8.5, 2, &[("none", 1)]),
            "auto: none 1 (redundant, no communication)\n",
            "near-far",
        ),
        (
            with(MergeMode::Dense, f32::INFINITY, 2, &[("dense", 9), ("none", 1)]),
            "dense: dense 9, none 1 (nothing changed); chunks of equal arcs, aligned to 64\n",
            "dense",
        ),
        (
            with(MergeMode::Split, f32::INFINITY, 1, &[("none", 3)]),
            "split: one replica, nothing to merge\n",
            "push-pull",
        ),
    ] {
        assert!(ran.0.contains(part), "no '{part}' in:\n{}", ran.0);
        assert_eq!(ran.1, strategy);
    }
}

#[test]
fn a_failed_check_is_shouted_and_returned_as_an_error() {
    let mut outcome = outcome();
    let message = Some("node 3: too far".to_string());
    let check = outcome.verification.take().unwrap();
    outcome.verification = Some(Verification { verdict: Verdict::No, message, ..check });
    assert!(summary(&outcome).contains("verified  NO: node 3: too far"));
    assert_eq!(outcome.verified().unwrap_err().exit_code(), 1);
    assert_eq!(serde_json::to_value(Record::of(&outcome)).unwrap()["verified"], "no");
}

#[test]
fn a_check_that_skipped_something_says_what_and_is_no_error() {
    let mut outcome = outcome();
    let message = Some("7 of 9 sources were not recomputed".to_string());
    let check = outcome.verification.take().unwrap();
    outcome.verification = Some(Verification { verdict: Verdict::Partly, message, ..check });
    let text = summary(&outcome);
    assert!(text.contains("verified  partly, in "), "{text}");
    assert!(text.contains(": 7 of 9 sources were not recomputed"), "{text}");
    assert!(outcome.verified().is_ok());
    let record = serde_json::to_value(Record::of(&outcome)).unwrap();
    assert_eq!(record["verified"], "partly");
    assert_eq!(record["verification"]["verdict"], "partly");
    let verdicts = [Verdict::Yes, Verdict::Partly, Verdict::No];
    for verdict in verdicts {
        let word = serde_json::to_value(verdict).unwrap();
        assert_eq!(Verdict::read(&word), Some(verdict));
    }
    // Records of earlier versions.
    assert_eq!(
        [true, false].map(|b| Verdict::read(&b.into())),
        [Verdict::Yes, Verdict::No].map(Some)
    );
    assert_eq!(record["verification"]["message"], "7 of 9 sources were not recomputed");
}

#[test]
fn a_trace_is_shown_up_to_a_limit_that_is_named() {
    let mut outcome = outcome();
    outcome.job.config.trace = true;
    let entry = |iteration| TraceEntry {
        iteration,
        step: "push".into(),
        rounds: 1,
        frontier_nodes: 1,
        frontier_arcs: 2,
        merge: "none".into(),
        ms: 0.1,
    };
    paths(&mut outcome).measured.trace = (0..50).map(entry).collect();
    let text = summary(&outcome);
    assert!(text.contains("... and 10 more rows: --json has them all"), "{text}");
}

#[test]
fn the_ranking_leaves_out_seeds_and_unreached_nodes_and_breaks_ties_by_input_id() {
    let mut outcome = outcome();
    let (graph, paths) = (Arc::clone(&outcome.job.graph), paths(&mut outcome));
    let at = |node: u32, distance| Ranked { node: node.to_string(), distance, nominee: None };
    assert_eq!(best_ranked(&graph, &[0], paths, 9), [at(2, 1.0), at(3, 2.0)]);
    paths.distances = vec![1.0, 0.0, 1.0, 1.0];
    assert_eq!(best_ranked(&graph, &[1], paths, 2), [at(1, 1.0), at(3, 1.0)]);
    assert_eq!(best_ranked(&graph, &[1], paths, 0), []);
    paths.nominees = Some(vec![1, 1, 1, 1]);
    let ranked = best_ranked(&graph, &[1], paths, 1);
    assert_eq!(ranked[0].nominee.as_deref(), Some("2"));
    assert_eq!(ranking(&ranked), "rank  node  distance  nominee\n   1     1         1        2\n");
}

#[test]
fn the_record_has_every_field_of_a_hive_phase_2_record() {
    let reference: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/data/hive-vn-rmat22-gpu4.json")).unwrap();
    let record = serde_json::to_value(Record::of(&outcome())).unwrap();
    for (key, value) in reference.as_object().unwrap() {
        let ours = record.get(key).unwrap_or_else(|| panic!("no {key}"));
        assert_eq!(std::mem::discriminant(ours), std::mem::discriminant(value), "{key}: {ours}");
    }
    for (key, value) in reference["gpuinfo"].as_object().unwrap() {
        let ours = record["gpuinfo"].get(key).unwrap_or_else(|| panic!("no gpuinfo {key}"));
        assert_eq!(std::mem::discriminant(ours), std::mem::discriminant(value), "{key}: {ours}");
    }
    assert_eq!(record["process-times"], serde_json::json!([2.0, 1.0, 4.0]));
    assert_eq!(record["gpuinfo"]["compute_version"], 90);
    assert_eq!(record["gpuinfo"]["driver_version"], 13000);
    assert_eq!(record["gpuinfo"]["runtime_version"], 13000);
    assert_eq!(record["delta"], "inf");
    assert_eq!(record["seeds"], serde_json::json!([1]));
    let tags = serde_json::json!(["variant:num_seeds-1", "num-gpus:1", "num-replicas:2"]);
    assert_eq!(record["tag"], tags);
}

#[test]
fn a_host_record_names_the_processor_where_others_name_a_gpu() {
    let mut outcome = outcome();
    outcome.fleet.backend = "host".into();
    outcome.fleet.devices.iter_mut().for_each(|device| device.device = "host".into());
    let record = serde_json::to_value(Record::of(&outcome)).unwrap();
    assert_ne!(record["gpuinfo"]["name"], "");
    assert_eq!(record["tag"][1], "num-gpus:0");
}
