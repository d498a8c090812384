//! Scan statistics: those of the definition on any number of replicas.

use crate::common;
use crate::common::{graph_of, solved};
use hivegraph::algorithm::Scanned;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::operator::Random;
use hivegraph::run::RunConfig;
use hivegraph::verify;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The edges among a node and its neighbours, each looked at.
fn around(graph: &Graph, v: usize) -> u64 {
    let mut near: BTreeSet<usize> = graph.neighbors(v).map(|arc| arc.0 as usize).collect();
    near.insert(v);
    let of = |u: usize| graph.neighbors(u).map(move |arc| (u, arc.0 as usize));
    let edges = near.iter().flat_map(|u| of(*u)).filter(|(u, w)| u < w && near.contains(w));
    edges.collect::<BTreeSet<_>>().len() as u64
}

/// The definition's answer.
fn scanned(graph: &Graph) -> (Vec<u64>, Option<u32>) {
    let edges: Vec<u64> = (0..graph.nodes()).map(|v| around(graph, v)).collect();
    let most = edges.iter().max();
    let densest = edges.iter().position(|edges| Some(edges) == most);
    (edges, densest.map(|v| v as u32))
}

fn both_ways(n: u32, edges: impl Iterator<Item = (u32, u32)>) -> Graph {
    let both = edges.flat_map(|(u, v)| match u == v {
        true => vec![(u, v, 1.0)],
        false => vec![(u, v, 1.0), (v, u, 1.0)],
    });
    graph_of(n as usize, &both.collect::<Vec<_>>())
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_edges_of_the_definition() {
    let cases = [
        ("skewed", common::skewed(9, 6, 1)),
        ("grid", common::grid(12, 14, false, 2)),
        ("star", common::star(300)),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", both_ways(2, [(0, 1), (0, 1), (1, 1)].into_iter())),
    ]
    .map(|(name, graph)| (name, scanned(&graph), Arc::new(graph)));
    common::everywhere(|fleet, config, how| {
        for (name, right, graph) in &cases {
            let config = RunConfig { merge: config.merge, ..RunConfig::default() };
            let answer: Scanned = solved("scan", fleet, graph, &config);
            assert!((answer.edges, answer.densest) == *right, "{name} on {how}");
        }
    });
}

#[test]
fn random_graphs_have_the_edges_of_the_definition() {
    let fleet = common::open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
    for seed in 0..300u64 {
        let draw = |i: u64| Random::new(seed, i);
        let n = (1 + draw(0).below(30)) as u32;
        let edges = draw(1).below(150);
        let end = |i| draw(2 + i).below(n.into()) as u32;
        let graph = Arc::new(both_ways(n, (0..edges).map(|i| (end(2 * i), end(2 * i + 1)))));
        let answer: Scanned = solved("scan", &fleet, &graph, &RunConfig::default());
        assert!((answer.edges, answer.densest) == scanned(&graph), "seed {seed}");
    }
}

#[test]
fn the_checker_names_the_node_that_is_off() {
    let graph = both_ways(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)].into_iter());
    let right = [3, 3, 4, 2, 1];
    verify::scan(&graph, &right, Some(2)).unwrap();
    let refused = |edges: &[u64], densest, what: &str| {
        let told = verify::scan(&graph, edges, densest).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    refused(&[3, 3, 4, 3, 1], Some(2), "node 3: there are 2 edges around it, not 3");
    refused(&right[1..], Some(2), "4 numbers of edges");
    refused(&right, Some(1), "the densest is 2, not 1");
    let one_way = graph_of(3, &[(0, 1, 1.0)]);
    let told = verify::scan(&one_way, &[0; 3], Some(0)).unwrap_err().to_string();
    assert!(told.contains("--symmetrize"), "{told}");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let rows = ["node,edges", "5,4", "7,3", "9,3", "11,1"];
    let record = common::answered("scan", "5 7\n7 9\n9 5\n5 11\n", &rows);
    assert_eq!((&record["scan-statistic"], &record["scan-node"]), (&4.into(), &"5".into()));
    assert_eq!(record["verified"], "yes");
    common::refuses("scan");
}
