//! Clustering coefficients: those of the definition on any number of replicas, LDBC's, and published ones.

use crate::common;
use crate::common::{graph_of, solved};
use hivegraph::algorithm::lcc::Clustering;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::LoadOptions;
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, ClusteringFound};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A graph of these edges, both ways.
fn of_edges(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Graph {
    let both =
        |(u, v): (u32, u32)| [(u, v, 1.0), (v, u, 1.0)].into_iter().take(1 + usize::from(u != v));
    graph_of(n as usize, &edges.into_iter().flat_map(both).collect::<Vec<_>>())
}

/// Pairs of neighbours that are joined, and all, of each node.
fn pairs(graph: &Graph) -> Vec<(u64, u64)> {
    let others = |v: usize| graph.neighbors(v).map(|arc| arc.0 as usize).filter(move |u| *u != v);
    let rows: Vec<BTreeSet<usize>> = (0..graph.nodes()).map(|v| others(v).collect()).collect();
    let of = |row: &BTreeSet<usize>| {
        let joined: usize = row.iter().map(|u| rows[*u].intersection(row).count()).sum();
        let degree = row.len() as u64;
        (joined as u64 / 2, degree * degree.saturating_sub(1) / 2)
    };
    rows.iter().map(of).collect()
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_coefficients_of_the_definition() {
    let hubs = (0..2000).flat_map(|v| [(v, 0), (v, 1), (v, 1999), (v, (v + 1) % 2000)]);
    let cases = [
        ("skewed", common::skewed(10, 8, 1)),
        ("grid", common::grid(20, 14, false, 2)),
        ("hubs, twice", of_edges(2000, hubs)),
        ("star", common::star(900)),
        ("no arcs", of_edges(70, [])),
        ("one node", of_edges(1, [(0, 0)])),
        ("a triangle", of_edges(3, [(0, 1), (1, 2), (2, 0), (0, 1), (1, 1)])),
    ]
    .map(|(name, graph)| (name, pairs(&graph), Arc::new(graph)));
    common::everywhere(|fleet, config, how| {
        for (name, right, graph) in &cases {
            let config = RunConfig { merge: config.merge, ..RunConfig::default() };
            let answer: Clustering = solved("lcc", fleet, graph, &config);
            for (v, (joined, all)) in right.iter().enumerate() {
                let right = if *all == 0 { 0.0 } else { *joined as f64 / *all as f64 };
                assert_eq!(answer.coefficients[v], right, "{name} on {how}, node {v}");
            }
            let sum = |of: fn(&(u64, u64)) -> u64| right.iter().map(of).sum::<u64>();
            let (joined, all) = (sum(|pair| pair.0), sum(|pair| pair.1));
            assert_eq!(answer.triangles, joined / 3, "{name} on {how}");
            assert_eq!(answer.transitivity, joined as f64 / all.max(1) as f64, "{name} on {how}");
        }
    });
}

#[test]
fn ldbc_has_the_same_coefficients() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for example in common::ldbc_examples(&LoadOptions::default()) {
        let graph = Arc::new(example.graph);
        let answer: Clustering = solved("lcc", &fleet, &graph, &RunConfig::default());
        for (v, (found, right)) in answer.coefficients.iter().zip(&example.clustering).enumerate() {
            let name = example.name;
            assert!((found - right).abs() <= 1e-15, "{name}, node {v}: {found}, not {right}");
        }
    }
}

/// Arcs among the neighbours of each node, and all that there might be; triangles of the graph.
fn arcs_around(graph: &Graph) -> (Vec<(u64, u64)>, u64) {
    let n = graph.nodes();
    let arcs: BTreeSet<(usize, usize)> =
        (0..n).flat_map(|u| graph.neighbors(u).map(move |arc| (u, arc.0 as usize))).collect();
    let joins = |u: usize, v: usize| arcs.contains(&(u, v)) || arcs.contains(&(v, u));
    let (mut all, mut triangles) = (Vec::new(), 0);
    for v in 0..n {
        let around: Vec<usize> = (0..n).filter(|u| *u != v && joins(*u, v)).collect();
        let pairs = || around.iter().flat_map(|u| around.iter().map(move |w| (*u, *w)));
        let joined = pairs().filter(|(u, w)| u != w && arcs.contains(&(*u, *w))).count() as u64;
        triangles += pairs().filter(|(u, w)| u < w && joins(*u, *w)).count() as u64;
        let many = around.len() as u64;
        all.push((joined, many * many.saturating_sub(1)));
    }
    (all, triangles / 3)
}

#[test]
fn arcs_of_directed_graphs_count_by_their_directions() {
    let mut fleets = vec!["host:1", "host:3"];
    if common::has_gpu() {
        fleets.extend(["cuda:0", "cuda:0x4"]);
    }
    let open = |devices| common::open(devices, CollectiveKind::Auto, Default::default());
    let fleets: Vec<_> = fleets.into_iter().map(open).collect();
    for seed in 0..100 {
        let draw = |i: u64, below: u64| common::hash(seed, i) % below;
        let graph = match seed {
            0 => common::directed(150, 6, 6),
            1 => graph_of(
                90,
                &(1..90)
                    .flat_map(|v| [(0, v, 1.0), (v, v % 89 + 1, 1.0), (v, 1, 1.0)])
                    .collect::<Vec<_>>(),
            ),
            _ => {
                let n = 1 + draw(0, 30);
                let arc = |i: u64| (draw(1 + 2 * i, n) as u32, draw(2 + 2 * i, n) as u32, 1.0);
                graph_of(n as usize, &(0..n * draw(0, 6)).map(arc).collect::<Vec<_>>())
            }
        };
        let (right, triangles) = arcs_around(&graph);
        let graph = Arc::new(graph);
        for fleet in &fleets {
            let answer: Clustering = solved("lcc", fleet, &graph, &RunConfig::default());
            let (mut joined, mut all) = (0, 0);
            for (v, (arcs, pairs)) in right.iter().enumerate() {
                let right = if *pairs == 0 { 0.0 } else { *arcs as f64 / *pairs as f64 };
                assert_eq!(answer.coefficients[v], right, "seed {seed}, node {v}");
                (joined, all) = (joined + arcs, all + pairs);
            }
            assert_eq!(answer.triangles, triangles, "seed {seed}");
            assert_eq!(answer.transitivity, joined as f64 / all.max(1) as f64, "seed {seed}");
            // The check finds what is wrong with directed graphs, too.
            let found = ClusteringFound {
                coefficients: &answer.coefficients,
                mean: answer.mean,
                transitivity: answer.transitivity,
                triangles: triangles + 1,
            };
            assert!(verify::lcc(&graph, found).is_err(), "seed {seed}");
            let mut wrong = answer.coefficients.clone();
            wrong[0] += 0.25;
            let found = ClusteringFound { coefficients: &wrong, triangles, ..found };
            assert!(verify::lcc(&graph, found).is_err(), "seed {seed}");
        }
    }
}

#[test]
fn the_checker_names_the_value_that_is_off() {
    let graph = of_edges(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (0, 3)]);
    let coefficients = [2.0 / 3.0, 1.0, 2.0 / 3.0, 1.0 / 3.0, 0.0];
    let mean = coefficients.iter().sum::<f64>() / 5.0;
    let found =
        ClusteringFound { coefficients: &coefficients, mean, transitivity: 0.6, triangles: 2 };
    verify::lcc(&graph, found).unwrap();
    let refused = |found: ClusteringFound, what: &str| {
        let told = verify::lcc(&graph, found).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let mut wrong = coefficients;
    wrong[3] += 1e-9;
    refused(ClusteringFound { coefficients: &wrong, ..found }, "node 3: its coefficient is");
    wrong[3] = f64::NAN;
    refused(ClusteringFound { coefficients: &wrong, ..found }, "not NaN");
    refused(ClusteringFound { coefficients: &wrong[1..], ..found }, "4 coefficients");
    refused(ClusteringFound { mean: 0.5, ..found }, "the mean is");
    refused(ClusteringFound { transitivity: 0.61, ..found }, "the transitivity is 0.6");
    refused(ClusteringFound { triangles: 3, ..found }, "2 triangles, not 3");
}

#[test]
fn what_the_program_writes() {
    let rows = ["node,clustering", "5,0.3333333333333333", "7,1.0", "11,0.0"];
    let record = common::answered("lcc", "5 7\n7 9\n9 5\n5 11\n", &rows);
    assert_eq!(record["transitivity"], 0.6);
    assert_eq!(record["verified"], "yes");
}
