//! The contract: the same answer, to the bit, on any number of replicas, by any merge, under any
//! schedule, and equal to a serial f32 Dijkstra.

use crate::common;

use crate::common::{MERGES, compared, paths_from};
use hivegraph::algorithm::{MergeMode, Precision, RunOptions, ShortestPaths, VnConfig};
use hivegraph::fleet::{CollectiveKind, Devices, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{Layout, PrepareOptions, Prepared};
use hivegraph::run::Choice;
use hivegraph::verify;
use std::sync::Arc;

/// One row of the table.
#[derive(Clone, Debug)]
struct Case {
    devices: String,
    collective: CollectiveKind,
    merge: MergeMode,
    perturb: Option<u64>,
    layout: Layout,
}

fn fleet(case: &Case) -> Fleet {
    Fleet::open(FleetConfig {
        devices: case.devices.parse::<Devices>().unwrap(),
        collective: case.collective,
        perturb: case.perturb,
        deadline_s: 60.0,
        ..FleetConfig::default()
    })
    .unwrap()
}

fn run(fleet: &Fleet, case: &Case, graph: &Arc<Graph>, seeds: &[u32]) -> ShortestPaths {
    let options = PrepareOptions { layout: case.layout, ..PrepareOptions::default() };
    let prepared = Prepared::new(fleet, graph.clone(), options).unwrap();
    let run = compared(case.merge);
    let config = VnConfig { predecessors: true, nominee: true, run, ..VnConfig::default() };
    paths_from(fleet, &prepared, seeds, &config).unwrap()
}

/// Runs every graph of the zoo under `case` and compares with the oracle, bit by bit.
fn check(case: &Case) {
    let fleet = fleet(case);
    for (name, graph, seeds) in common::zoo() {
        let graph = Arc::new(graph);
        let answer = run(&fleet, case, &graph, &seeds);
        let oracle = common::answer(&graph, &seeds);
        verify::distances_bits_equal(&answer.distances, &oracle.distances)
            .unwrap_or_else(|e| panic!("{name}, {case:?}: {e}"));
        assert_eq!(answer.predecessors, oracle.predecessors, "{name}, {case:?}");
        assert_eq!(answer.nominees, oracle.nominees, "{name}, {case:?}");
        verify::sssp(&graph, &seeds, &answer.found())
            .unwrap_or_else(|e| panic!("{name}, {case:?}: {e}"));
    }
}

#[test]
fn few_host_replicas_agree_with_dijkstra_to_the_bit_for_any_merge_and_schedule() {
    for world in [2, 3, 5] {
        let seed = Some(world as u64);
        on_host(world, &[(None, Layout::Auto), (seed, Layout::Raw), (Some(7), Layout::Degree)]);
    }
}

#[test]
fn many_host_replicas_agree_with_dijkstra_to_the_bit_for_any_merge() {
    on_host(8, &[(Some(8), Layout::Raw)]);
    on_host(16, &[(Some(7), Layout::Auto)]);
}

fn on_host(world: usize, schedules: &[(Option<u64>, Layout)]) {
    for merge in MERGES {
        for (perturb, layout) in schedules.iter().copied() {
            let (devices, collective) = (format!("host:{world}"), CollectiveKind::Host);
            check(&Case { devices, collective, merge, perturb, layout });
        }
    }
}

#[test]
fn gpu_replicas_agree_with_dijkstra_to_the_bit_for_any_count_merge_and_schedule() {
    for (devices, collective) in common::cuda_fleets() {
        for merge in MERGES {
            for (perturb, layout) in
                [(None, Layout::Auto), (Some(3), Layout::Raw), (Some(7), Layout::Degree)]
            {
                let devices = devices.clone();
                check(&Case { devices, collective, merge, perturb, layout });
            }
        }
    }
}

/// Random and directed, degree 6 and a hub, whole weights up to 2^23: sums pass 2^24 after a few arcs.
fn heavy(n: u32) -> Graph {
    let pick = |salt, i| (common::hash(salt, i) % u64::from(n)) as u32;
    let weight = |i| (1 + common::hash(3, i) % (1 << 23)) as f32;
    let hub = (0..n).map(|v| (0, v, (v % 77) as f32 + 8_388_607.0));
    let arcs: Vec<_> =
        (0..u64::from(n) * 6).map(|i| (pick(1, i), pick(2, i), weight(i))).chain(hub).collect();
    common::graph_of(n as usize, &arcs)
}

#[test]
fn whole_weights_whose_sums_pass_2_to_the_24_are_summed_in_f64_on_any_replicas() {
    let graphs = [
        ("hub", Arc::new(heavy(20_000)), vec![5, 900]),
        (
            "chain",
            Arc::new(common::graph_of(
                3000,
                &(0..2999).map(|v| (v, v + 1, 16_777_215.0)).collect::<Vec<_>>(),
            )),
            vec![0],
        ),
    ];
    for (devices, collective) in common::all_fleets() {
        let fleet = common::open(
            &devices,
            collective,
            FleetConfig { perturb: Some(4), ..FleetConfig::default() },
        );
        for (name, graph, seeds) in &graphs {
            let oracle = common::dijkstra_f64(graph, seeds);
            for layout in [Layout::Raw, Layout::Degree] {
                let options = PrepareOptions { layout, ..PrepareOptions::default() };
                let prepared = Prepared::new(&fleet, graph.clone(), options).unwrap();
                let config = VnConfig {
                    predecessors: true,
                    nominee: true,
                    run: RunOptions { runs: 2, ..compared(MergeMode::Auto) },
                    ..VnConfig::default()
                };
                let found = paths_from(&fleet, &prepared, seeds, &config).unwrap();
                let what = format!("{name} on {devices}, {layout}");
                assert!(
                    found.measured_f32.is_some() && found.measured.runs.len() == 2,
                    "{what}: both are timed"
                );
                assert_eq!(found.distances_f64.as_ref(), Some(&oracle), "{what}");
                let (parents, nominees) = common::chains_f64(graph, seeds, &oracle);
                assert_eq!(found.predecessors, Some(parents), "{what}");
                assert_eq!(found.nominees, Some(nominees), "{what}");
                let checked = verify::sssp(graph, seeds, &found.found()).unwrap();
                assert!(
                    checked.max_distance > 16_777_216.0 && found.absorbed + found.rounded == 0,
                    "{what}"
                );
                // Every sum is a whole number: a step of one is a mistake.
                let mut wrong = found.clone();
                let far = oracle.iter().position(|d| *d > 16_777_216.0 && d.is_finite()).unwrap();
                wrong.distances_f64.as_mut().unwrap()[far] += 1.0;
                let refusal = verify::sssp(graph, seeds, &wrong.found()).unwrap_err().to_string();
                assert!(refusal.contains("is too high"), "{refusal}");
                let single = VnConfig { precision: Precision::F32, ..config.clone() };
                let single = paths_from(&fleet, &prepared, seeds, &single).unwrap();
                assert!(
                    single.distances_f64.is_none() && single.rounded > 0,
                    "{what}: as asked, and said"
                );
                let delta = Choice::Is(f32::INFINITY);
                let double = VnConfig { precision: Precision::F64, delta, ..config };
                let double = paths_from(&fleet, &prepared, seeds, &double).unwrap();
                assert!(
                    double.measured_f32.is_none() && double.distances_f64 == found.distances_f64,
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn distances_in_f64_of_every_graph_are_a_serial_search_s() {
    for (devices, collective) in common::all_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        for (name, graph, seeds) in common::zoo() {
            let graph = Arc::new(graph);
            let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
            let run = compared(MergeMode::Auto);
            let config = VnConfig { precision: Precision::F64, run, ..VnConfig::default() };
            let found = paths_from(&fleet, &prepared, &seeds, &config).unwrap();
            assert_eq!(
                found.distances_f64,
                Some(common::dijkstra_f64(&graph, &seeds)),
                "{name} on {devices}"
            );
            verify::sssp(&graph, &seeds, &found.found()).unwrap();
        }
    }
}

#[test]
fn the_program_says_what_distances_were_summed_in() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, csv) = (folder.path().join("g.txt"), folder.path().join("d.csv"));
    std::fs::write(&graph, "1 2 16777216\n2 3 1\n3 4 1\n").unwrap();
    let (graph, csv) = (graph.to_str().unwrap(), csv.to_str().unwrap());
    let asked = [
        "--graph",
        graph,
        "--source",
        "1",
        "--verify",
        "--output",
        csv,
        "--json",
        "-",
        "--predecessors",
    ];
    let ran = |more: &[&str]| {
        let ended = common::runs("sssp", &[&asked[..], more].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let record: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        (std::fs::read_to_string(csv).unwrap(), record, ended.err)
    };
    let (rows, record, summary) = ran(&[]);
    assert_eq!(
        rows,
        "node,distance,predecessor\n1,0,1\n2,16777216,1\n3,16777217,2\n4,16777218,3\n"
    );
    assert_eq!(
        (&record["precision"], record["process-times-f32"].as_array().unwrap().len()),
        (&"f64".into(), 1)
    );
    assert!(summary.contains("f32 does not hold the sums"), "{summary}");
    let (rows, record, summary) = ran(&["--precision", "f32"]);
    assert!(rows.ends_with("3,16777216,2\n4,16777216,3\n"), "{rows}");
    assert_eq!((&record["precision"], &record["rounded-nodes"]), (&"f32".into(), &3.into()));
    assert!(
        summary.contains("--precision f64 does not") && summary.contains("on 2 nodes"),
        "{summary}"
    );
    std::fs::write(graph, "1 2 30000000.5\n2 3 0.5\n").unwrap();
    let (_, record, summary) = ran(&[]);
    assert_eq!((&record["precision"], &record["absorbed-nodes"]), (&"f32".into(), &1.into()));
    assert!(summary.contains("lost beside the distance in f32, on 1 node"), "{summary}");
    let (rows, record, _) = ran(&["--precision", "f64"]);
    assert!(rows.ends_with("3,30000000.5,2\n"), "{rows}");
    assert_eq!(record["absorbed-nodes"], 0);
    for merge in ["dense", "split"] {
        let ended =
            common::runs("sssp", &[&asked[..], &["--precision", "f64", "--merge", merge]].concat());
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("--precision f64 with --merge"), "{}", ended.err);
    }
}
