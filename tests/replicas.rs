//! The contract: the same answer, to the bit, on any number of replicas, by any merge, under any
//! schedule, and equal to a serial f32 Dijkstra.

mod common;

use common::MERGES;
use hivegraph::algorithm::{MergeMode, ShortestPaths, SsspConfig, sssp};
use hivegraph::fleet::{CollectiveKind, Devices, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::prepare::{Layout, PrepareOptions, Prepared};
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
    let config = SsspConfig {
        merge: case.merge,
        predecessors: true,
        nominee: true,
        compare: true,
        ..SsspConfig::default()
    };
    sssp(fleet, &prepared, seeds, &config).unwrap()
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
        verify::shortest_paths(&graph, &seeds, &answer)
            .unwrap_or_else(|e| panic!("{name}, {case:?}: {e}"));
    }
}

#[test]
fn host_replicas_agree_with_dijkstra_to_the_bit_for_any_count_merge_and_schedule() {
    for world in [1, 2, 3, 5, 8, 16] {
        for merge in MERGES {
            for (perturb, layout) in
                [(None, Layout::Auto), (Some(world as u64), Layout::Raw), (Some(7), Layout::Degree)]
            {
                let collective = CollectiveKind::Host;
                let devices = format!("host:{world}");
                check(&Case { devices, collective, merge, perturb, layout });
            }
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
