//! Shortest paths on GPUs: windows on large graphs without hubs, alone or together, find what push-pull finds; tiles find exact
//! sums on graphs of long paths.

use crate::common;
use hivegraph::algorithm::bfs::{BfsConfig, bfs};
use hivegraph::algorithm::sssp::{SsspConfig, sssp};
use hivegraph::algorithm::{MergeMode, Precision, RunOptions};
use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::io::{self, LoadOptions, Weights};
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::run::Choice;
use std::sync::Arc;

#[test]
fn windows_find_the_distances_of_push_pull_to_the_bit() {
    for (devices, collective) in common::cuda_fleets() {
        if !["cuda:0", "cuda:0x3", "cuda:0-1"].contains(&&*devices) {
            continue;
        }
        let fleet = common::open(&devices, collective, FleetConfig::default());
        // In the last one, a window leads to more than there is room for in lists.
        for spec in ["uniform:2^18,ef=20", "rmat:19,params=gtgraph", "uniform:2^14,ef=300"] {
            // Narrow weights, wide ones, and ones of 0, with which nodes improve within a window.
            for weights in ["file", "random:0-1000000:1", "random:0-30:2"] {
                let options = LoadOptions {
                    weights: weights.parse::<Weights>().unwrap(),
                    ..LoadOptions::default()
                };
                let graph = io::load_with(spec, &options).unwrap();
                let options = PrepareOptions::default();
                let prepared = Prepared::new(&fleet, Arc::new(graph), options).unwrap();
                let found = |delta, merge| {
                    let run = RunOptions { merge, ..RunOptions::default() };
                    let config = SsspConfig { delta, run, ..SsspConfig::default() };
                    sssp(&fleet, &prepared, &config).unwrap()
                };
                let what = format!("{spec}, weights {weights}, on {devices}, {collective}");
                let windows = found(Choice::Auto, MergeMode::Auto);
                let plain = found(Choice::Is(f32::INFINITY), MergeMode::Auto);
                assert!(windows.window.is_some() && plain.window.is_none(), "{what}");
                let bits = |all: &[f32]| all.iter().map(|d| d.to_bits()).collect::<Vec<_>>();
                assert!(bits(&windows.distances) == bits(&plain.distances), "{what}");
                // GPUs of their own that reach each other share windows; others share pulls alone.
                let split = found(Choice::Auto, MergeMode::Split);
                let joins = matches!(collective, CollectiveKind::Auto | CollectiveKind::Peer)
                    && devices == "cuda:0-1";
                assert_eq!(split.window.is_some(), joins || devices == "cuda:0", "{what}");
                assert!(bits(&split.distances) == bits(&plain.distances), "{what}, split");
            }
        }
    }
}

#[test]
fn hosts_search_graphs_of_many_wide_levels() {
    let grid = hivegraph::generate::generate("grid:300x300").unwrap();
    for (name, graph, source) in [("grid", grid, 0), ("layers", common::layers(), 45_000u32)] {
        let exact = common::dijkstra_f64(&graph, &[source]);
        let single = common::dijkstra_f32(&graph, &[source]);
        let unit = common::unweighted(&graph);
        let levels: Vec<u32> =
            common::dijkstra_f32(&unit, &[source]).iter().map(|level| *level as u32).collect();
        let graph = Arc::new(graph);
        for devices in ["host:1", "host:2", "host:3"] {
            let what = format!("{name} on {devices}");
            let fleet = common::open(devices, CollectiveKind::Auto, FleetConfig::default());
            let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
            let found = |precision, delta| {
                let source = Some(u64::from(source).into());
                let config = SsspConfig { source, precision, delta, ..SsspConfig::default() };
                sssp(&fleet, &prepared, &config).unwrap()
            };
            // Some distances are more windows apart than there are bins, or more than are counted.
            for delta in [None, Some(5.0), Some(300.0), Some(0.01), Some(1e-30)] {
                let delta = delta.map_or(Choice::Auto, Choice::Is);
                let double = found(Precision::F64, delta);
                assert!(double.distances_f64.as_ref() == Some(&exact), "{what}, {delta}");
                assert!(found(Precision::F32, delta).distances == single, "{what}, {delta}");
            }
            let source = Some(u64::from(source).into());
            let searched = bfs(&fleet, &prepared, &BfsConfig { source, ..BfsConfig::default() });
            assert!(searched.unwrap().levels == [levels.clone()], "{what}");
        }
    }
}

#[test]
fn tiles_find_sums_that_f32_does_not_hold() {
    if !common::has_gpu() {
        return;
    }
    // Rows of more than four, several tiles and one; whole weights whose sums pass 2^24, and 2^32 on the chain.
    let mut graphs: Vec<_> = ["grid:120x170", "road:13", "chain:40000", "grid:9x13"]
        .iter()
        .map(|spec| {
            let weights = "random:0-1000000:1".parse::<Weights>().unwrap();
            let options = LoadOptions { weights, ..LoadOptions::default() };
            (*spec, io::load_with(spec, &options).unwrap())
        })
        .collect();
    // Weights below 1, whose sums f64 rounds; a second component, and nodes without arcs.
    let weight =
        |u: u32, v: u32| common::uniform(7, u64::from(u.min(v)) << 32 | u64::from(u.max(v)));
    let line = (0..5000u32).filter(|v| *v != 3999).map(|v| (v, v + 1));
    let rungs = (0..4900u32).step_by(3).map(|v| (v, v + 100));
    let arcs: Vec<_> = line
        .chain(rungs.filter(|(u, v)| *v < 4000 || *u >= 4000))
        .flat_map(|(u, v)| [(u, v, weight(u, v)), (v, u, weight(u, v))])
        .collect();
    graphs.push(("ladder", common::graph_of(5020, &arcs)));
    for (name, graph) in graphs {
        let graph = Arc::new(graph);
        let source = graph.default_source();
        let expected = common::dijkstra_f64(&graph, &[source]);
        for devices in ["cuda:0", "cuda:0x3"] {
            let fleet = common::open(devices, CollectiveKind::Auto, FleetConfig::default());
            let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
            // The default, a narrow window, and one that is lost beside the distance.
            for delta in [Choice::Auto, Choice::Is(1000.0), Choice::Is(1e-9)] {
                let what = format!("{name} on {devices}, {delta}");
                if delta == Choice::Is(1e-9) && graph.nodes() > 10_000 {
                    continue;
                }
                let config =
                    SsspConfig { delta, precision: Precision::F64, ..SsspConfig::default() };
                let found = sssp(&fleet, &prepared, &config).unwrap();
                assert!(found.tiles.is_some(), "{what}");
                assert!(found.distances_f64.as_ref() == Some(&expected), "{what}");
            }
        }
    }
}
