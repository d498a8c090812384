//! Core numbers: the same on any number of replicas, by any merge, and those of a serial peeling.

use crate::common;

use crate::common::{graph_of, networkx, open_perturbed, solved};
use hivegraph::algorithm::kcore::Cores;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, Symmetrize};
use hivegraph::run::{Job, RunConfig, workload};
use std::sync::Arc;

/// A graph of these edges, both ways.
fn of_edges(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Graph {
    let both =
        |(u, v): (u32, u32)| [(u, v, 1.0), (v, u, 1.0)].into_iter().take(1 + usize::from(u != v));
    graph_of(n as usize, &edges.into_iter().flat_map(both).collect::<Vec<_>>())
}

fn cases() -> Vec<(&'static str, Graph)> {
    let n = 5000;
    // Cliques of every size up to 60 on a string, self loops and edges twice among them.
    let starts: Vec<u32> =
        (0..60).scan(0, |at, size| Some(std::mem::replace(at, *at + size))).collect();
    let cliques = (0..60u32).flat_map(|size| {
        let first = starts[size as usize];
        let pair = move |i: u32, j: u32| (first + i, first + j);
        (0..size).flat_map(move |i| {
            (0..=i).filter(move |j| *j < i || i % 7 == 0).map(move |j| pair(i, j))
        })
    });
    let string = (1..n).map(|v| (v - 1, v));
    let twice = (1..n).filter(|v| v % 11 == 0).map(|v| (v - 1, v));
    // Hubs whose rows are cut into tiles, over a circle.
    let hubs =
        (3..n).flat_map(|v| [(0, v), (v % 2, v), (2, v), (v, if v + 1 < n { v + 1 } else { 3 })]);
    vec![
        ("skewed", common::skewed(12, 8, 1)),
        ("grid", common::grid(70, 64, false, 2)),
        ("star", common::star(4300)),
        ("two components", common::two_components(4200)),
        ("cliques", of_edges(n, cliques.chain(string.clone()).chain(twice))),
        ("string", of_edges(n, string)),
        ("hubs", of_edges(n, hubs)),
        ("no arcs", of_edges(4100, [])),
        ("one node", of_edges(1, [(0, 0)])),
        ("an edge", of_edges(2, [(0, 1), (0, 1)])),
    ]
}

/// Removes a node of the fewest arcs left, again and again.
fn oracle(graph: &Graph) -> Vec<u32> {
    let others = |v: usize| graph.neighbors(v).map(|(u, _)| u as usize).filter(move |u| *u != v);
    let mut left: Vec<u32> = (0..graph.nodes()).map(|v| others(v).count() as u32).collect();
    let mut order: std::collections::BTreeSet<(u32, usize)> =
        left.iter().enumerate().map(|(v, left)| (*left, v)).collect();
    let (mut cores, mut k) = (vec![0; graph.nodes()], 0);
    while let Some((least, v)) = order.pop_first() {
        k = k.max(least);
        cores[v] = k;
        for u in others(v) {
            if order.remove(&(left[u], u)) {
                left[u] -= 1;
                order.insert((left[u], u));
            }
        }
    }
    cores
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_numbers_of_a_serial_peeling() {
    let cases: Vec<_> =
        cases().into_iter().map(|(name, graph)| (name, oracle(&graph), Arc::new(graph))).collect();
    let cliques = cases.iter().find(|case| case.0 == "cliques").unwrap();
    assert!(cliques.1.iter().max() >= Some(&58));
    common::everywhere(|fleet, config, how| {
        for (name, right, graph) in &cases {
            let answer: Cores = solved("kcore", fleet, graph, config);
            assert!(answer.cores == *right, "{name} on {how}");
            let gathered = answer.measured.merge_modes.contains_key("gather");
            assert_eq!(gathered, common::cuts_on_hosts(fleet, config.merge), "{name} on {how}");
        }
    });
}

#[test]
fn networkx_has_the_same_numbers() {
    let options = LoadOptions { symmetrize: Symmetrize::Min, ..LoadOptions::default() };
    let fleet = open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for (name, known) in networkx() {
        let Some(graph) = known.graph(&options) else { continue };
        let right = known.by_node(&graph, &known.cores);
        // Its graphs have no edge twice.
        let graph = match known.directed {
            true => continue,
            false => Arc::new(graph),
        };
        let answer: Cores = solved("kcore", &fleet, &graph, &RunConfig::default());
        assert_eq!(answer.cores, right, "{name}");
    }
}

#[test]
fn a_graph_that_is_symmetric_but_for_weights_is_taken_and_a_directed_one_refused() {
    let graph = Arc::new(graph_of(3, &[(0, 1, 1.0), (1, 0, 2.0), (1, 2, 1.0), (2, 1, 3.0)]));
    let fleet = open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let answer: Cores = solved("kcore", &fleet, &graph, &RunConfig::default());
    assert_eq!(answer.cores, [1, 1, 1]);
    let config = RunConfig { graph: Some("test".into()), ..RunConfig::default() };
    let graph = Arc::new(common::chain(3));
    let refusal = Job::new(workload("kcore").unwrap(), config, graph).err().unwrap();
    assert!(refusal.to_string().contains("--symmetrize"), "{refusal}");
}

#[test]
fn the_program_writes_core_numbers_and_refuses_in_one_line() {
    let rows = ["node,core", "5,2", "7,2", "9,2", "11,1"];
    let record = common::answered("kcore", "5 7\n7 9\n9 5\n9 11\n", &rows);
    assert_eq!((&record["max-core"], &record["max-core-nodes"]), (&2.into(), &3.into()));
    assert_eq!((&record["verified"], &record["strategy"]), (&"yes".into(), &"h-index".into()));
    common::refuses("kcore");
}
