//! Bipartite projection: the edges of the definition, and what is no bipartite graph.

use crate::common;
use crate::common::{graph_of, hash, own, solved};
use hivegraph::algorithm::Projection;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::run::RunConfig;
use hivegraph::verify;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

fn asked(options: Value) -> RunConfig {
    RunConfig { own: own(options), ..RunConfig::default() }
}

/// A random graph of two sides, the first of so many nodes; undirected ones have even seeds.
fn random(seed: u64) -> (Graph, u32) {
    let (kept, others) = (1 + hash(seed, 0) % 12, hash(seed, 1) % 12);
    let arcs = if others == 0 { 0 } else { hash(seed, 2) % (2 * (kept + others)) };
    let mut all = Vec::new();
    for k in 0..arcs {
        let u = (hash(seed, 3 + 2 * k) % kept) as u32;
        let w = (kept + hash(seed, 4 + 2 * k) % others) as u32;
        all.push((u, w, 1.0));
        if seed.is_multiple_of(2) {
            all.push((w, u, 1.0));
        }
    }
    (graph_of((kept + others) as usize, &all), kept as u32)
}

fn edges(found: &Projection) -> Vec<[u32; 3]> {
    let edges = found.node.iter().zip(&found.other).zip(&found.common);
    edges.map(|((u, v), common)| [*u, *v, *common]).collect()
}

fn naive(graph: &Graph, kept: u32) -> Vec<[u32; 3]> {
    let set = |u: u32| -> BTreeSet<u32> { graph.neighbors(u as usize).map(|arc| arc.0).collect() };
    let pairs = (0..kept).flat_map(|u| (u + 1..kept).map(move |v| (u, v)));
    let edges = pairs.map(|(u, v)| [u, v, set(u).intersection(&set(v)).count() as u32]);
    edges.filter(|edge| edge[2] > 0).collect()
}

#[test]
fn random_graphs_have_the_projection_of_the_definition() {
    let fleets = ["host:1", "host:2", "host:3", "host:8"]
        .map(|devices| common::open_perturbed(&(devices.into(), CollectiveKind::Host), None));
    let mut many = 0;
    for seed in 0..300 {
        let (graph, kept) = match seed {
            0 => (graph_of(1, &[]), 1),
            1 => (graph_of(2, &[(0, 1, 1.0)]), 1),
            _ => random(seed),
        };
        let graph = Arc::new(graph);
        let right = naive(&graph, kept);
        many += right.len();
        let fleet = &fleets[(seed / 2) as usize % 4];
        let config = asked(json!({ "side": format!("first:{kept}") }));
        let found: Projection = solved("project", fleet, &graph, &config);
        assert_eq!(edges(&found), right, "seed {seed}");
        if seed % 2 == 1 {
            // Arcs of these lead one way.
            let found: Projection = solved("project", fleet, &graph, &asked(json!({})));
            assert_eq!(edges(&found), right, "seed {seed}");
        }
    }
    assert!(many > 2000, "{many}");
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_edges() {
    let star = (common::star(300), "first:1");
    let random = (random(77).0, "first:1");
    let kept = 1 + hash(77, 0) % 12;
    let side = format!("first:{kept}");
    let cases = [
        ("star", star.0, star.1),
        ("random", random.0, &side),
        ("none", graph_of(9, &[]), "first:4"),
    ];
    let leaves: Vec<String> = (1..300).map(|v| v.to_string()).collect();
    let leaves = leaves.join(",");
    let mut cases: Vec<(&str, Arc<Graph>, &str)> =
        cases.into_iter().map(|(name, graph, side)| (name, Arc::new(graph), side)).collect();
    cases.push(("leaves", Arc::new(common::star(300)), &leaves));
    let mut first: HashMap<String, Vec<[u32; 3]>> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph, side) in &cases {
            let config = RunConfig {
                merge: config.merge,
                layout: config.layout,
                ..asked(json!({ "side": side }))
            };
            let found: Projection = solved("project", fleet, graph, &config);
            let known = first.entry(name.to_string()).or_insert_with(|| edges(&found));
            assert_eq!(*known, edges(&found), "{name} on {how}");
        }
    });
    assert_eq!(first["leaves"].len(), 299 * 298 / 2);
}

#[test]
fn the_checker_names_what_is_off() {
    // Two kept nodes share two others, a third shares one.
    let arcs = [(0, 3), (0, 4), (1, 3), (1, 4), (2, 4)];
    let arcs: Vec<_> = arcs.iter().flat_map(|(u, v)| [(*u, *v, 1.0), (*v, *u, 1.0)]).collect();
    let graph = graph_of(5, &arcs);
    let right = [[0, 1, 2], [0, 2, 1], [1, 2, 1]];
    let checked = |kept: &[u32], edges: &[[u32; 3]]| {
        let column = |at: usize| edges.iter().map(|edge| edge[at]).collect::<Vec<u32>>();
        let [node, other, common] = [0, 1, 2].map(column);
        verify::project(&graph, kept, [&node, &other, &common])
    };
    let kept = [0, 1, 2];
    assert_eq!(checked(&kept, &right).unwrap(), 3);
    let refused = |kept: &[u32], edges: &[[u32; 3]], what: &str| {
        let told = checked(kept, edges).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    refused(&kept, &[[0, 1, 3], right[1], right[2]], "edge 0 to 1: weight 3, and is 2");
    refused(&kept, &[right[0], right[2]], "edge 0 to 2 of weight 1 is not in its place");
    refused(
        &kept,
        &[right[0], right[1], right[2], [2, 1, 1]],
        "edge 2 to 1: weight 1, and there is none",
    );
    refused(&kept, &[right[2], right[0]], "row 2 is one of node 0");
    refused(&kept, &[[0, 9, 1]], "row 1 has node number 9 of 5");
    refused(&[0, 1], &right[..1], "the arc from 2 to 4 is within a side");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, csv) = (folder.path().join("g.txt"), folder.path().join("edges.csv"));
    let (path, csv) = (graph.to_str().unwrap(), csv.to_str().unwrap());
    // Three readers of three books.
    std::fs::write(&graph, "1 11\n1 12\n2 11\n2 12\n2 13\n3 13\n").unwrap();
    let args = ["--graph", path, "--verify", "--output", csv, "--json", "-"];
    let ended = common::runs("project", &args);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(csv).unwrap(), "node,other,common\n1,2,2\n2,3,1\n");
    let record: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&record["kept-nodes"], &record["edges"]), (&json!(3), &json!(2)));
    assert_eq!(record["verified"], json!("yes"));
    // The other side.
    let side =
        ["--graph", path, "--symmetrize", "--side", "11,12,13", "--output", csv, "--top", "1"];
    let ended = common::runs("project", &side);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(
        std::fs::read_to_string(csv).unwrap(),
        "node,other,common\n11,12,2\n11,13,1\n12,13,1\n"
    );
    let lines: Vec<Vec<&str>> =
        ended.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["1", "11", "12", "2"]), "{}", ended.out);
    let cases: [(&[&str], &str); 5] = [
        (&["--symmetrize"], "the arc from 1 to 11 leads to a node with arcs of its own"),
        (&["--side", "1,2"], "--side: the arc from 3 to 13 does not join the two sides"),
        (&["--side", "1,2,3,11"], "--side: the arc from 1 to 11 does not join the two sides"),
        (&["--side", "1,99"], "the graph has no node 99"),
        (&["--side", "file:/nowhere"], "--side file:/nowhere"),
    ];
    for (args, what) in cases {
        let ended = common::runs("project", &[&["--graph", path], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        assert!(ended.err.contains(what), "{args:?}: {}", ended.err);
        assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    }
}
