//! Minimum spanning forests: the one of the definition, on any number of replicas and in any order of nodes.

use crate::common;
use crate::common::{csv_of, graph_of, outcome, solved, unweighted_graph_of};
use hivegraph::algorithm::SpanningForest;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::operator::Random;
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, ForestFound};
use std::sync::Arc;

/// An edge of the forest: lower end, higher end, bits of the weight.
type Row = (u32, u32, u32);

/// Prim's forest of a graph whose ids are its nodes, by a matrix of weights. It grows a tree from the lowest node that has none by
/// the least (weight, lower end, higher end) that leads out of it.
fn prim(graph: &Graph) -> Vec<Row> {
    let n = graph.nodes();
    let mut matrix = vec![vec![f32::INFINITY; n]; n];
    for (u, row) in matrix.iter_mut().enumerate() {
        for (v, weight) in graph.neighbors(u) {
            row[v as usize] = row[v as usize].min(weight);
        }
    }
    let mut inside = vec![false; n];
    let mut rows = Vec::new();
    for start in 0..n {
        if inside[start] {
            continue;
        }
        let mut tree = vec![start];
        inside[start] = true;
        loop {
            let mut least: Option<((f32, usize, usize), usize)> = None;
            for u in &tree {
                for v in (0..n).filter(|v| !inside[*v] && matrix[*u][*v] < f32::INFINITY) {
                    let key = (matrix[*u][v], *u.min(&v), *u.max(&v));
                    if least.is_none_or(|(other, _)| key < other) {
                        least = Some((key, v));
                    }
                }
            }
            let Some(((weight, low, high), v)) = least else { break };
            rows.push((low as u32, high as u32, weight.to_bits()));
            inside[v] = true;
            tree.push(v);
        }
    }
    rows.sort_unstable();
    rows
}

fn rows_of(forest: &SpanningForest) -> Vec<Row> {
    let ends = forest.sources.iter().zip(&forest.targets);
    ends.zip(&forest.weights).map(|((u, v), weight)| (*u, *v, weight.to_bits())).collect()
}

/// Arcs both ways; a self-loop once.
fn both_ways(edges: &[(u32, u32, f32)]) -> Vec<(u32, u32, f32)> {
    let both = edges.iter().flat_map(|&(u, v, w)| match u == v {
        true => vec![(u, v, w)],
        false => vec![(u, v, w), (v, u, w)],
    });
    both.collect()
}

/// Refuses what is not the forest of these rows, with what is said of it.
fn assert_is(forest: &SpanningForest, right: &[Row], n: usize, told: &str) {
    assert!(rows_of(forest) == right, "other edges: {told}");
    assert_eq!(forest.trees, (n - right.len()) as u64, "{told}");
    let mut total = 0.0;
    right.iter().for_each(|row| total += f64::from(f32::from_bits(row.2)));
    assert_eq!(forest.total.to_bits(), f64::to_bits(total), "{told}");
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_forest_of_the_definition() {
    let odd = [(0, 1, 3.0), (1, 0, 3.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 0.0)];
    let clique: Vec<_> = (0..40).flat_map(|u| (0..u).map(move |v| (u, v, 7.5))).collect();
    let wide = [f32::MAX, f32::MIN_POSITIVE, 1e-45, 0.0, 1.0, 1.0 + f32::EPSILON];
    let far: Vec<_> = (0..300u32).map(|i| (i % 60, i * 7 % 61, wide[i as usize * 5 % 6])).collect();
    let cases = [
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(12, 14, true, 2)),
        ("unit grid", common::grid(12, 14, false, 2)),
        ("star", common::star(600)),
        ("two components", common::two_components(200)),
        ("clique of equal weights", graph_of(40, &both_ways(&clique))),
        ("without weights", unweighted_graph_of(40, &both_ways(&clique))),
        ("huge and tiny", graph_of(61, &both_ways(&far))),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &odd)),
    ]
    .map(|(name, graph)| (name, prim(&graph), Arc::new(graph)));
    common::everywhere(|fleet, config, how| {
        for (name, right, graph) in &cases {
            let config = RunConfig { merge: config.merge, ..RunConfig::default() };
            let forest: SpanningForest = solved("mst", fleet, graph, &config);
            assert_is(&forest, right, graph.nodes(), &format!("{name} on {how}"));
        }
    });
}

/// The trees of a first round hang in chains of thousands.
#[test]
fn long_chains_become_one_tree() {
    let n = 9000u32;
    let rising: Vec<_> = (1..n).map(|v| (v - 1, v, v as f32)).collect();
    let falling: Vec<_> = (1..n).map(|v| (v - 1, v, (n - v) as f32)).collect();
    for devices in ["host:1", "host:2"] {
        let fleet = common::open_perturbed(&(devices.into(), CollectiveKind::Host), None);
        for edges in [&rising, &falling] {
            let graph = Arc::new(graph_of(n as usize, &both_ways(edges)));
            let right: Vec<Row> = edges.iter().map(|(u, v, w)| (*u, *v, w.to_bits())).collect();
            let forest: SpanningForest = solved("mst", &fleet, &graph, &RunConfig::default());
            assert_is(&forest, &right, n as usize, devices);
            assert_eq!(forest.measured.iterations, 1, "all are joined at once");
        }
    }
}

#[test]
fn random_graphs_have_the_forest_of_the_definition() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for seed in 0..300u64 {
        let draw = |i: u64| Random::new(seed, i).bits() >> 11;
        let n = (1 + draw(0) % 30) as u32;
        let edges = draw(1) % 90;
        let weight = |bits: u64| match seed % 5 {
            0 => 1.0,
            1 => (bits % 3) as f32,
            2 => (bits % 1000) as f32 / 7.0,
            3 => f32::from_bits((bits as u32) % 0x7f80_0000),
            _ => [0.0, 1e-45, 1e30, f32::MAX][(bits % 4) as usize],
        };
        let end = |i| (draw(2 + i) % u64::from(n)) as u32;
        let edge = |i| (end(3 * i), end(3 * i + 1), weight(draw(4 + 3 * i)));
        let edges: Vec<_> = (0..edges).map(edge).collect();
        let arcs = both_ways(&edges);
        let graph = match seed % 10 {
            0 => unweighted_graph_of(n as usize, &arcs),
            _ => graph_of(n as usize, &arcs),
        };
        let right = prim(&graph);
        let forest: SpanningForest = solved("mst", &fleet, &Arc::new(graph), &RunConfig::default());
        assert_is(&forest, &right, n as usize, &format!("seed {seed}"));
    }
}

#[test]
fn no_order_of_nodes_changes_the_forest() {
    for (devices, weights) in [("host:1", "unit"), ("host:3", "unit"), ("host:2", "random:1-9:1")] {
        let fleet = common::open_perturbed(&(devices.into(), CollectiveKind::Host), None);
        let mut known: Option<String> = None;
        for relabel in ["none", "random:3", "degree"] {
            let load = LoadOptions {
                relabel: relabel.parse().unwrap(),
                weights: weights.parse().unwrap(),
                ..Default::default()
            };
            let graph = Arc::new(load_with("rmat:8", &load).unwrap());
            // With random weights, arcs and their reverses weigh the same.
            let found = outcome("mst", &fleet, &graph, &RunConfig::default()).unwrap();
            let rows = csv_of(&found);
            assert!(rows.lines().count() > 100, "{rows}");
            let known = known.get_or_insert_with(|| rows.clone());
            assert!(*known == rows, "{relabel} on {devices} has another forest");
        }
    }
}

/// A square with a diagonal, and a pair beside it: 0 - 1 - 2 - 3 - 0, 0 - 2, 4 - 5.
fn square() -> Graph {
    let edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.0), (0, 3, 2.0), (0, 2, 2.5), (4, 5, 4.0)];
    graph_of(6, &both_ways(&edges))
}

#[test]
fn the_checker_names_the_edge_that_is_off() {
    let graph = square();
    let right: &[(u32, u32, f32)] = &[(0, 1, 1.0), (0, 3, 2.0), (2, 3, 1.0), (4, 5, 4.0)];
    let check = |graph: &Graph, rows: &[(u32, u32, f32)], trees, total| {
        let sources: Vec<u32> = rows.iter().map(|row| row.0).collect();
        let targets: Vec<u32> = rows.iter().map(|row| row.1).collect();
        let weights: Vec<f32> = rows.iter().map(|row| row.2).collect();
        let (sources, targets, weights) = (&sources, &targets, &weights);
        verify::mst(graph, ForestFound { sources, targets, weights, trees, total })
    };
    check(&graph, right, 2, 8.0).unwrap();
    let refused = |rows: &[(u32, u32, f32)], what: &str| {
        let total = rows.iter().map(|row| f64::from(row.2)).sum();
        let trees = 6_u64.saturating_sub(rows.len() as u64);
        let told = check(&graph, rows, trees, total).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let with = |at: usize, row| {
        let mut rows = right.to_vec();
        rows[at] = row;
        rows
    };
    let without = |at: usize| {
        let mut rows = right.to_vec();
        rows.remove(at);
        rows
    };
    // As light in all, but not the one that is preferred.
    refused(
        &[(0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.0), (4, 5, 4.0)],
        "edge 0 - 3 is missing: greater edges join its ends",
    );
    refused(&with(1, (0, 2, 2.5)), "edge 0 - 2 does not belong to the forest: lesser edges");
    refused(&with(1, (1, 3, 1.0)), "the graph has no edge 1 - 3");
    refused(&with(1, (0, 3, 1.5)), "edge 0 - 3 weighs 2, not 1.5");
    refused(&with(1, (0, 3, f32::NAN)), "edge 0 - 3 weighs 2, not NaN");
    refused(&without(2), "the forest does not span the graph: edge 2 - 3");
    refused(&without(3), "the forest does not span the graph: edge 4 - 5");
    refused(&[], "the forest does not span the graph: edge 0 - 1");
    let cycle = [(0, 1, 1.0), (0, 3, 2.0), (1, 2, 2.0), (2, 3, 1.0), (4, 5, 4.0)];
    refused(&cycle, "this is no forest, edge 2 - 3 closes a cycle");
    refused(&with(0, (1, 0, 1.0)), "edge 1 - 0 has not its lower end first");
    refused(&with(0, (0, 0, 1.0)), "edge 0 - 0 has not its lower end first");
    refused(&with(3, (4, 6, 4.0)), "row 3 has node 6 of a graph of 6");
    let turned = [right[1], right[0], right[2], right[3]];
    refused(&turned, "edge 0 - 1 stands behind 0 - 3");
    refused(&with(1, right[0]), "edge 0 - 1 stands behind 0 - 1");
    let told = check(&graph, right, 3, 8.0).unwrap_err().to_string();
    assert!(told.contains("4 edges leave 2 trees, not 3"), "{told}");
    let told = check(&graph, right, 2, 8.5).unwrap_err().to_string();
    assert!(told.contains("weigh 8 together, not 8.5"), "{told}");
    let short = ForestFound { sources: &[0], targets: &[], weights: &[1.0], trees: 5, total: 1.0 };
    let told = verify::mst(&graph, short).unwrap_err().to_string();
    assert!(told.contains("1 sources and 0 targets of 1 weights"), "{told}");
    let one_way = graph_of(2, &[(0, 1, 1.0)]);
    let told = check(&one_way, &[(0, 1, 1.0)], 1, 1.0).unwrap_err().to_string();
    assert!(told.contains("--symmetrize"), "{told}");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let rows = ["source,target,weight", "5,7,1", "5,9,1", "5,11,1"];
    let record = common::answered("mst", "5 7\n7 9\n9 5\n5 11\n", &rows);
    assert_eq!((&record["edges"], &record["trees"]), (&3.into(), &1.into()));
    assert_eq!((&record["total-weight"], &record["verified"]), (&3.0.into(), &"yes".into()));
    common::refuses("mst");
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("uneven.txt");
    std::fs::write(&graph, "5 7 1\n7 5 2\n").unwrap();
    let ended = common::runs("mst", &["--graph", graph.to_str().unwrap()]);
    assert_eq!((ended.code, ended.err.trim_end().lines().count()), (Some(2), 1), "{}", ended.err);
    assert!(ended.err.contains("weigh the same both ways"), "{}", ended.err);
    let ended = common::runs("mst", &["--graph", "rmat:6", "--top", "3"]);
    assert_eq!((ended.code, ended.err.trim_end().lines().count()), (Some(2), 1), "{}", ended.err);
    assert!(ended.err.contains("does not take --top"), "{}", ended.err);
}
