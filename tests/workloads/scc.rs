//! Strongly connected components: the same labels on any number of replicas, by any merge, and those of a serial
//! search.

use crate::common;

use crate::common::{
    Ended, cnr_2000, directed, ends_within, hash, hive, open_perturbed, solved, unweighted_graph_of,
};
use hivegraph::algorithm::{Components, MergeMode, StrongComponents};
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, Relabel};
use hivegraph::run::RunConfig;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A graph of these arcs.
fn of_pairs(n: u32, pairs: impl IntoIterator<Item = (u32, u32)>) -> Graph {
    let arcs: Vec<_> = pairs.into_iter().map(|(u, v)| (u, v, 1.0)).collect();
    unweighted_graph_of(n as usize, &arcs)
}

/// The node at place `i` of a fixed shuffle of `n` nodes.
fn shuffled(n: u32) -> Vec<u32> {
    let mut nodes: Vec<u32> = (0..n).collect();
    nodes.sort_by_key(|v| hash(91, u64::from(*v)));
    nodes
}

/// Skewed as R-MAT is, but directed: out- and in-degrees differ.
fn skewed_arcs(scale: u32, edge_factor: u64) -> Graph {
    let graph = common::skewed(scale, edge_factor, 5);
    let kept =
        |u: u32, v: u32| u == v || hash(17, u64::from(u) << 32 | u64::from(v)).is_multiple_of(3);
    let rows = (0..graph.nodes() as u32)
        .flat_map(|u| graph.neighbors(u as usize).map(move |(v, _)| (u, v)).collect::<Vec<_>>());
    of_pairs(graph.nodes() as u32, rows.filter(|(u, v)| kept(*u, *v)).collect::<Vec<_>>())
}

/// Chains of so many nodes, shuffled, in which every other arc has its reverse: components of two nodes.
fn chains_of_pairs(n: u32, length: u32) -> Graph {
    let at = shuffled(n);
    let arcs = (0..n - 1).filter(|i| i % length != length - 1).flat_map(|i| {
        let (u, v) = (at[i as usize], at[i as usize + 1]);
        [(u, v), if i % 2 == 0 { (v, u) } else { (u, v) }]
    });
    of_pairs(n, arcs.collect::<Vec<_>>())
}

fn cases() -> Vec<(&'static str, Graph)> {
    let n = 6000;
    let at = shuffled(n);
    // Ever so many steps between chunks would be as many merges: strings of 150 nodes.
    let string = |i: u32| i / 150 * 150 + (i + 1) % 150;
    let step = |i: u32| (at[i as usize], at[string(i) as usize]);
    let open = |i: &u32| i % 150 != 149;
    // A hub whose rows are cut into tiles, both ways; leaves in pairs, every fifth only led to.
    let hub = (1..n).flat_map(|v| match v % 5 {
        0 => vec![(0, v), (v, v)],
        1 => vec![(0, v), (v, v + 1)],
        2 => vec![(v, 0), (0, v), (0, v)],
        _ => vec![(v, 0)],
    });
    // Two giants that one arc leads between, with tails at both ends.
    let half = n / 2;
    let giants = (0..n as u64 * 4).map(|i| {
        let (u, v) = ((hash(3, i) % 2500) as u32, (hash(4, i) % 2500) as u32);
        if i % 2 == 0 { (u, v) } else { (half + u, half + v) }
    });
    let tails =
        (2500..half - 1).map(|v| (v, v + 1)).chain((half + 2500..n - 1).map(|v| (v + 1, v)));
    vec![
        ("directed", directed(4500, 3, 6)),
        ("sparse", directed(5000, 1, 8)),
        ("skewed", skewed_arcs(12, 8)),
        ("symmetric", common::skewed(12, 4, 2)),
        ("parallels", common::zeros_and_parallels(4200)),
        ("two components", common::two_components(4200)),
        ("chain", common::chain(5000)),
        ("shuffled chains", of_pairs(n, (0..n).filter(open).map(step))),
        ("cycle", of_pairs(n, (0..n).map(|v| (v, (v + 1) % n)))),
        ("shuffled cycles", of_pairs(n, (0..n).map(step))),
        ("chains of pairs", chains_of_pairs(n, 150)),
        ("hub", of_pairs(n + 2, hub)),
        ("giants", of_pairs(n, giants.chain(tails).chain([(7, half + 7), (11, 2500)]))),
        ("no arcs", of_pairs(4100, [])),
        ("self loops", of_pairs(4100, (0..4100).map(|v| (v, v)))),
    ]
}

fn tiny() -> Vec<(&'static str, Graph)> {
    vec![
        ("one node", of_pairs(1, [])),
        ("one loop", of_pairs(1, [(0, 0)])),
        ("an arc", of_pairs(2, [(1, 0)])),
        ("a pair", of_pairs(3, [(1, 2), (2, 1)])),
        ("two triangles", of_pairs(7, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])),
    ]
}

/// The smallest member of each node's component.
fn oracle(graph: &Graph) -> Vec<u32> {
    let part = common::strong_parts(graph);
    let mut least: HashMap<u32, u32> = HashMap::new();
    for v in (0..part.len()).rev() {
        least.insert(part[v], v as u32);
    }
    part.iter().map(|part| least[part]).collect()
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_components_of_a_serial_search() {
    let cases: Vec<_> = cases()
        .into_iter()
        .chain(tiny())
        .map(|(name, graph)| (name, oracle(&graph), Arc::new(graph)))
        .collect();
    common::everywhere(|fleet, config, how| {
        for (name, right, graph) in &cases {
            let answer: StrongComponents = solved("scc", fleet, graph, config);
            let (undirected, answer) = (answer.undirected, answer.components);
            assert_eq!(
                undirected,
                graph.is_undirected() && config.merge == MergeMode::Auto,
                "{name} on {how}"
            );
            assert!(answer.labels == *right, "{name} on {how}");
            let dense = answer.measured.merge_modes.contains_key("dense");
            // Symmetric graphs go to `cc`, whose replicas on the host repeat each other.
            let cut = common::cuts_on_hosts(fleet, config.merge) && !undirected;
            assert_eq!(dense, cut, "{name} on {how}");
        }
    });
}

#[test]
fn chains_of_components_fall_apart_in_few_stages() {
    let graph = chains_of_pairs(6000, 6000);
    let config = RunConfig { trace: true, ..RunConfig::default() };
    let fleet = open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let answer: StrongComponents = solved("scc", &fleet, &Arc::new(graph), &config);
    let answer = answer.components;
    assert_eq!(answer.count, 3000);
    let stages = answer.measured.trace.iter().filter(|entry| entry.step == "settle").count();
    assert!((2..40).contains(&stages), "{stages} stages for 3000 components in a chain");
}

#[test]
fn cnr_2000_has_the_published_components() {
    for relabel in [Relabel::None, Relabel::Random(3)] {
        let options = LoadOptions { relabel, ..LoadOptions::default() };
        let Some((graph, parts)) = cnr_2000(&options) else { return };
        let graph = Arc::new(graph);
        for fleet in ["host:1", "host:3"] {
            let fleet = open_perturbed(&(fleet.into(), CollectiveKind::Host), None);
            let answer: StrongComponents = solved("scc", &fleet, &graph, &RunConfig::default());
            compare(&answer.components, &parts);
        }
        for fleet in common::cuda_fleets() {
            let opened = open_perturbed(&fleet, None);
            let answer: StrongComponents = solved("scc", &opened, &graph, &RunConfig::default());
            compare(&answer.components, &parts);
        }
    }
}

/// Equal partitions, and the published numbers of members.
fn compare(answer: &Components, parts: &[u32]) {
    let mut label_of: HashMap<u32, u32> = HashMap::new();
    for (label, part) in answer.labels.iter().zip(parts) {
        assert_eq!(label_of.entry(*part).or_insert(*label), label, "part {part}");
    }
    assert_eq!((label_of.len(), answer.count), (100_977, 100_977));
    let folder = common::all_data().unwrap();
    let text = std::fs::read_to_string(folder.join("reference/cnr-2000.sccsizes.txt")).unwrap();
    let mut published: Vec<u64> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
    published.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    let sizes: Vec<u64> = answer.largest(usize::MAX).iter().map(|(_, size)| *size).collect();
    assert_eq!(sizes, published);
}

fn run(args: &[&str]) -> Ended {
    let all = [&["run", "scc", "--devices", "host:2"], args].concat();
    ends_within(Duration::from_secs(60), hive().args(all))
}

#[test]
fn the_program_writes_components_in_ids_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, csv) = (folder.path().join("g.txt"), folder.path().join("scc.csv"));
    std::fs::write(&graph, "5 7\n7 5\n7 9\n9 11\n11 9\n13 5\n").unwrap();
    let (graph, csv) = (graph.to_str().unwrap(), csv.to_str().unwrap());
    let ended = run(&["--graph", graph, "--runs", "1", "--verify", "--output", csv, "--json", "-"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let text = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    for row in ["node,component", "5,5", "7,5", "9,9", "11,9", "13,13"] {
        assert!(rows.contains(&row), "{row} in {text}");
    }
    let record: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(record["primitive"], "scc");
    assert_eq!(record["verified"], "yes");
    assert_eq!(record["strategy"], "forward-backward");
    assert!(ended.err.contains("strongly connected components"), "{}", ended.err);
}

#[test]
fn options_of_other_workloads_are_refused_in_one_line() {
    for (args, part) in [
        (&["--source", "1"][..], "scc does not take --source"),
        (&["--predecessors"], "scc does not take --predecessors"),
        (&["--output", "x.parquet"], "x.parquet"),
        (&["--merge", "sparse"], "sparse"),
        (&["--chunk-align", "7"], "--chunk-align 7"),
    ] {
        let ended = run(&[&["--graph", "rmat:6"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        assert!(ended.err.contains(part), "{args:?}: {}", ended.err);
        assert_eq!((ended.err.trim_end().lines().count(), ended.out.as_str()), (1, ""));
    }
    let ended = run(&[]);
    assert!(ended.code == Some(2) && ended.err.contains("no graph"), "{}", ended.err);
}
