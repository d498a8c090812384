//! Label propagation: the same labels on any number of replicas, those of a plain oracle, and LDBC's.

use crate::common;
use crate::common::{csv_of, graph_of, outcome, own, solved};
use hivegraph::algorithm::cdlp::Communities;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::run::RunConfig;
use hivegraph::verify;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Labels after so many iterations, by counting.
fn propagated(graph: &Graph, iterations: usize) -> Vec<u32> {
    let n = graph.nodes();
    // Each end of an arc has a vote for the other; both have been given one of an edge that is held both ways.
    let mut votes = vec![Vec::new(); n];
    for u in 0..n {
        for (v, _) in graph.neighbors(u) {
            votes[u].push(v);
            votes[v as usize].push(u as u32);
        }
    }
    let mut labels: Vec<u32> = (0..n as u32).collect();
    for _ in 0..iterations {
        let next = |v: usize| {
            let mut counts = BTreeMap::<u32, usize>::new();
            votes[v].iter().for_each(|u| *counts.entry(labels[*u as usize]).or_default() += 1);
            let most = counts.values().max().copied();
            counts
                .into_iter()
                .find(|(_, count)| Some(*count) == most)
                .map_or(labels[v], |one| one.0)
        };
        labels = (0..n).map(next).collect();
    }
    labels
}

fn cases() -> Vec<(&'static str, Graph)> {
    // A hub with rows of several slices, self loops, parallel arcs, arcs one way.
    let n = 9000u32;
    let hub = (1..n).flat_map(|v| [(v, 0, 1.0), (v, v / 2, 2.0), (v / 3, v, 0.5)]);
    let odd = [(7, 7, 1.0), (7, 7, 3.0), (8, 9, 1.0), (8, 9, 1.0)];
    // Rows of 15 to 18 arcs, each both ways.
    let near = (0..400u32).flat_map(|v| (1..=7 + v % 3).map(move |k| (v, (v + k * k) % 400, 1.0)));
    let near = near.flat_map(|(u, v, w)| [(u, v, w), (v, u, w)]);
    vec![
        ("skewed", common::skewed(10, 8, 1)),
        ("grid", common::grid(30, 24, false, 2)),
        ("hub one way", graph_of(n as usize, &hub.chain(odd).collect::<Vec<_>>())),
        ("rows of some 16", graph_of(400, &near.collect::<Vec<_>>())),
        ("star", common::star(3000)),
        ("chain", common::chain(700)),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &[(1, 0, 1.0)])),
    ]
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_labels_of_the_definition() {
    let mut asked = Vec::new();
    for (name, graph) in cases() {
        let graph = Arc::new(graph);
        for iterations in [1, 2, 7] {
            asked.push((name, graph.clone(), iterations, propagated(&graph, iterations)));
        }
    }
    common::everywhere(|fleet, config, how| {
        for (name, graph, iterations, right) in &asked {
            let options = own(json!({ "iterations": iterations }));
            let config = RunConfig { own: options, merge: config.merge, ..RunConfig::default() };
            let answer: Communities = solved("cdlp", fleet, graph, &config);
            assert!(answer.labels == *right, "{name} on {how}, {iterations} iterations");
        }
    });
}

#[test]
fn random_graphs_have_the_labels_of_the_definition() {
    let fleet = common::open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
    for seed in 0..150u64 {
        let draw = |i: u64| hivegraph::operator::Random::new(seed, i);
        let n = 1 + draw(0).below(60) as u32;
        let arcs = draw(1).below(500);
        let end = |i| draw(2 + i).below(n.into()) as u32;
        let arcs: Vec<_> = (0..arcs).map(|i| (end(2 * i), end(2 * i + 1), 1.0)).collect();
        let graph = Arc::new(graph_of(n as usize, &arcs));
        let iterations = 1 + seed as usize % 5;
        let options = own(json!({ "iterations": iterations }));
        let config = RunConfig { own: options, ..RunConfig::default() };
        let answer: Communities = solved("cdlp", &fleet, &graph, &config);
        assert!(answer.labels == propagated(&graph, iterations), "seed {seed}");
    }
}

#[test]
fn ldbc_has_the_same_labels() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for example in common::ldbc_examples(&LoadOptions::default()) {
        let options = own(json!({ "iterations": common::LDBC_ITERATIONS }));
        let config = RunConfig { own: options, ..RunConfig::default() };
        let graph = Arc::new(example.graph);
        let answer: Communities = solved("cdlp", &fleet, &graph, &config);
        assert_eq!(answer.labels, example.communities, "{}", example.name);
    }
}

#[test]
fn no_order_of_nodes_changes_a_label() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let mut known: Option<String> = None;
    for relabel in ["none", "random:3", "degree"] {
        let load = LoadOptions { relabel: relabel.parse().unwrap(), ..LoadOptions::default() };
        let graph = Arc::new(load_with("rmat:10", &load).unwrap());
        let labels = csv_of(&outcome("cdlp", &fleet, &graph, &RunConfig::default()).unwrap());
        let known = known.get_or_insert_with(|| labels.clone());
        assert!(*known == labels, "{relabel} has other labels");
    }
}

#[test]
fn the_checker_names_the_node_that_is_off() {
    let graph = common::grid(6, 5, false, 3);
    let mut labels = propagated(&graph, 3);
    verify::cdlp(&graph, &labels, 3).unwrap();
    let refused = |labels: &[u32], iterations, what: &str| {
        let told = verify::cdlp(&graph, labels, iterations).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    refused(&labels, 2, "cdlp, node ");
    refused(&labels[1..], 3, "29 labels");
    labels[17] = 99;
    refused(&labels, 3, "node 17: its label is");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let rows = ["node,community", "5,5", "7,7", "11,9", "13,9"];
    let record = common::answered("cdlp", "5 7\n9 11\n11 13\n13 9\n", &rows);
    assert_eq!(record["iterations-made"], 10);
    assert_eq!(record["verified"], "yes");
    let ended = common::runs("cdlp", &["--graph", "rmat:8", "--iterations", "0"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("--iterations 0"), "{}", ended.err);
}
