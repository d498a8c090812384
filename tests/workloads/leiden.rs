//! Communities, each connected: the same on any number of replicas, of the modularity that the definition has, and those that were
//! planted.

use crate::common;
use crate::common::{
    csv_of, graph_of, in_pieces, mixed, modularity, outcome, own, planted, rand_index, solved,
    undirected,
};
use hivegraph::algorithm::{MergeMode, Modules};
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::layout::Layout;
use hivegraph::operator::Random;
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, ModulesFound};
use serde_json::json;
use std::sync::Arc;

/// Zachary's karate club, "An information flow model for conflict and fission in small groups", J. Anthropological Research 33, 1977:
/// the neighbours of higher number of each node.
const KARATE: [&[u32]; 33] = [
    &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
    &[2, 3, 7, 13, 17, 19, 21, 30],
    &[3, 7, 8, 9, 13, 27, 28, 32],
    &[7, 12, 13],
    &[6, 10],
    &[6, 10, 16],
    &[16],
    &[],
    &[30, 32, 33],
    &[33],
    &[],
    &[],
    &[],
    &[33],
    &[32, 33],
    &[32, 33],
    &[],
    &[],
    &[32, 33],
    &[33],
    &[32, 33],
    &[],
    &[32, 33],
    &[25, 27, 29, 32, 33],
    &[25, 27, 31],
    &[31],
    &[29, 33],
    &[33],
    &[31, 33],
    &[32, 33],
    &[32, 33],
    &[32, 33],
    &[33],
];

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same() {
    // Beyond 2^17 arcs nodes move at once.
    let many = common::unweighted(&common::skewed(13, 10, 3));
    assert!(many.arcs() > 1 << 17);
    let (groups, _) = planted(12, 30, [300, 10], 4);
    let cases = [("many arcs", many), ("planted", groups), ("star", common::star(300))];
    let cases = cases.map(|(name, graph)| (name, Arc::new(graph)));
    let mut known: Vec<Option<(Vec<u32>, f64)>> = vec![None; cases.len()];
    let mut same = |fleet: &_, config: RunConfig, how: &str, chosen: &dyn Fn(&str) -> bool| {
        for ((name, graph), known) in cases.iter().zip(&mut known) {
            if !chosen(name) {
                continue;
            }
            let answer: Modules = solved("leiden", fleet, graph, &config);
            assert_eq!(answer.sweeps > 0, *name == "many arcs", "{name} on {how}");
            let found = (answer.communities, answer.modularity);
            let known = known.get_or_insert_with(|| found.clone());
            assert!(*known == found, "{name} on {how}");
        }
    };
    common::everywhere(|fleet, config, how| {
        // Hosts take long where many move at once: once on each, and by each merge on one.
        let whole = config.layout == Layout::Auto || how.contains("cuda");
        let auto = config.merge == MergeMode::Auto && whole;
        let first = how.contains("host:3");
        let (layout, merge) = (config.layout, config.merge);
        let config = RunConfig { merge, ..RunConfig::default() };
        let chosen = |name: &str| name != "many arcs" || auto || first && layout == Layout::Auto;
        same(fleet, config, how, &chosen);
    });
    for devices in ["host:2", "host:8"] {
        let fleet = common::open_perturbed(&(devices.into(), CollectiveKind::Host), None);
        same(&fleet, RunConfig::default(), devices, &|_| true);
    }
}

#[test]
fn random_graphs_have_connected_communities_of_the_modularity_of_the_definition() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for seed in 0..300u64 {
        let draw = |i: u64| Random::new(seed, i);
        let n = (1 + draw(0).below(40)) as u32;
        let edges = draw(1).below(120);
        let end = |i| draw(2 + i).below(n.into()) as u32;
        // Whole weights, fractions, and none; loops and parallel edges.
        let weight = |i| match seed % 3 {
            0 => 1.0,
            1 => draw(1000 + i).below(9) as f32,
            _ => draw(1000 + i).unit() * 1e-3,
        };
        let edges = (0..edges).map(|i| (end(2 * i), end(2 * i + 1), weight(i)));
        let graph = Arc::new(undirected(n, edges));
        let resolution = [1.0, 0.5, 2.0][seed as usize / 3 % 3];
        let config =
            RunConfig { own: own(json!({ "resolution": resolution })), ..RunConfig::default() };
        let answer: Modules = solved("leiden", &fleet, &graph, &config);
        assert_eq!(in_pieces(&graph, &answer.communities), None, "seed {seed}");
        let right = modularity(&graph, &answer.communities, resolution);
        if answer.levels.is_empty() {
            assert_eq!(answer.count, graph.nodes() as u64, "seed {seed}");
        } else {
            assert!((answer.modularity - right).abs() < 1e-6, "seed {seed}: {right}");
        }
        // No node is better in another community, or alone, but for what ends the search.
        for v in 0..graph.nodes() {
            let there = graph.neighbors(v).map(|(u, _)| answer.communities[u as usize]);
            for to in there.chain([u32::MAX]) {
                let mut moved = answer.communities.clone();
                moved[v] = to;
                let moved = modularity(&graph, &moved, resolution);
                assert!(moved < right + 2e-5, "seed {seed}, node {v}: {right} to {moved}");
            }
        }
    }
}

#[test]
fn planted_communities_are_found() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for seed in 0..5 {
        let (graph, group) = planted(15, 40, [300, 8], seed);
        let graph = Arc::new(graph);
        let answer: Modules = solved("leiden", &fleet, &graph, &RunConfig::default());
        assert!(answer.modularity > modularity(&graph, &group, 1.0) - 1e-9, "seed {seed}");
        assert_eq!(answer.count, 15, "seed {seed}");
        let alike = rand_index(&group, &answer.communities);
        assert!(alike > 0.97, "seed {seed}: {alike}");
    }
    for (mixing, least) in [(0.1, 0.98), (0.2, 0.95), (0.3, 0.95), (0.5, 0.8)] {
        for seed in 0..3 {
            let (graph, group) = mixed(2000, [20.0, 100.0], mixing, seed);
            let graph = Arc::new(graph);
            let answer: Modules = solved("leiden", &fleet, &graph, &RunConfig::default());
            let alike = rand_index(&group, &answer.communities);
            assert!(alike > least, "mixing {mixing}, seed {seed}: {alike}");
        }
    }
    // Where many move at once.
    let (graph, group) = mixed(12_000, [200.0, 1000.0], 0.3, 1);
    assert!(graph.arcs() > 1 << 17);
    let answer: Modules = solved("leiden", &fleet, &Arc::new(graph), &RunConfig::default());
    let alike = rand_index(&group, &answer.communities);
    assert!(answer.sweeps > 0 && alike > 0.98, "{alike}");
}

#[test]
fn known_graphs_have_the_modularity_that_is_published() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let edges = (0u32..).zip(KARATE).flat_map(|(u, row)| row.iter().map(move |v| (u, *v, 1.0)));
    let karate = Arc::new(undirected(34, edges));
    assert_eq!(karate.arcs(), 2 * 78);
    let answer: Modules = solved("leiden", &fleet, &karate, &RunConfig::default());
    // The optimum, by Brandes et al., "On modularity clustering", IEEE TKDE 20, 2008, is 0.4198.
    assert!((answer.modularity - 0.4198).abs() < 5e-5, "{}", answer.modularity);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
    // The best that igraph 1.0's community_leiden found in five runs to their ends.
    for (file, best) in [("jazz.graph", 0.4451), ("power.graph.gz", 0.9406)] {
        let load = LoadOptions::default();
        let graph = Arc::new(load_with(&format!("{folder}{file}"), &load).unwrap());
        let answer: Modules = solved("leiden", &fleet, &graph, &RunConfig::default());
        assert!(answer.modularity > best - 0.005 * best, "{file}: {}", answer.modularity);
    }
}

#[test]
fn weights_and_resolution_decide() {
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    // A ring of four nodes, two heavy edges: pairs. The other way round with other weights.
    let ring = |a, b| undirected(4, [(0, 1, a), (1, 2, b), (2, 3, a), (3, 0, b)].into_iter());
    let found = |graph: Graph, resolution: f64| {
        let config =
            RunConfig { own: own(json!({ "resolution": resolution })), ..RunConfig::default() };
        solved::<Modules>("leiden", &fleet, &Arc::new(graph), &config).communities
    };
    assert_eq!(found(ring(5.0, 1.0), 1.0), [0, 0, 2, 2]);
    assert_eq!(found(ring(0.25, 0.75), 1.0), [0, 1, 1, 0]);
    assert_eq!(found(ring(5.0, 1.0), 0.01), [0, 0, 0, 0]);
    assert_eq!(found(ring(5.0, 1.0), 100.0), [0, 1, 2, 3]);
    // The same where many move at once.
    let many = Arc::new(common::unweighted(&common::skewed(13, 10, 3)));
    let config = RunConfig { own: own(json!({ "resolution": 1e6 })), ..RunConfig::default() };
    let alone: Modules = solved("leiden", &fleet, &many, &config);
    assert!(alone.count == many.nodes() as u64 && alone.modularity < -1.0);
}

#[test]
fn no_order_of_nodes_changes_a_community() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for spec in ["rmat:10", "rmat:13"] {
        let mut known: Option<String> = None;
        for relabel in ["none", "random:3", "degree"] {
            let load = LoadOptions { relabel: relabel.parse().unwrap(), ..LoadOptions::default() };
            let graph = Arc::new(load_with(spec, &load).unwrap());
            let found = csv_of(&outcome("leiden", &fleet, &graph, &RunConfig::default()).unwrap());
            let known = known.get_or_insert_with(|| found.clone());
            assert!(*known == found, "{spec}, {relabel} has other communities");
        }
    }
}

#[test]
fn graphs_without_arcs_or_weights_are_nodes_alone() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for (graph, right) in [
        (graph_of(1, &[]), vec![0]),
        (graph_of(2, &[]), vec![0, 1]),
        (graph_of(3, &[]), vec![0, 1, 2]),
        (graph_of(1, &[(0, 0, 1.0)]), vec![0]),
        (undirected(3, [(0, 1, 0.0)].into_iter()), vec![0, 1, 2]),
        (undirected(2, [(0, 1, 1.0)].into_iter()), vec![0, 0]),
    ] {
        let answer: Modules = solved("leiden", &fleet, &Arc::new(graph), &RunConfig::default());
        assert_eq!((answer.communities, answer.modularity), (right, 0.0));
    }
}

#[test]
fn the_checker_names_what_is_off() {
    let (graph, _) = planted(4, 10, [800, 20], 2);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let graph = Arc::new(graph);
    let answer: Modules = solved("leiden", &fleet, &graph, &RunConfig::default());
    let right = answer.modularity;
    let checked = |communities: &[u32], levels: &[f64]| {
        verify::leiden(&graph, ModulesFound { communities, levels }, 1.0)
    };
    checked(&answer.communities, &[0.1, right]).unwrap();
    let refused = |communities: &[u32], levels: &[f64], what: &str| {
        let told = checked(communities, levels).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    refused(&answer.communities, &[right + 1e-3], "the modularity is");
    refused(&answer.communities, &[right + 0.1, right], "a level of modularity");
    refused(&answer.communities[1..], &[right], "39 communities");
    let alone: Vec<u32> = (0..40).collect();
    refused(&alone, &[modularity(&graph, &alone, 1.0)], "as one");
    let mut wrong = answer.communities.clone();
    wrong[39] = 40;
    refused(&wrong, &[right], "node 39: its community is not named");
    // Two ends of a path of three, whose middle is alone: what joins them is outside.
    let path = undirected(5, [(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0)].into_iter());
    let communities = [0, 1, 0, 3, 3];
    let levels = [modularity(&path, &communities, 1.0)];
    let found = ModulesFound { communities: &communities, levels: &levels };
    let told = verify::leiden(&path, found, 1.0).unwrap_err().to_string();
    assert!(told.contains("no path inside it joins nodes 0 and 2"), "{told}");
    let directed = graph_of(2, &[(0, 1, 1.0)]);
    let found = ModulesFound { communities: &[0, 0], levels: &[0.0] };
    let told = verify::leiden(&directed, found, 1.0).unwrap_err().to_string();
    assert!(told.contains("not symmetric"), "{told}");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let rows = ["node,community", "5,5", "7,5", "9,5", "11,11", "13,11", "15,11"];
    let edges = "5 7\n7 9\n9 5\n9 11\n11 13\n13 15\n15 11\n";
    let record = common::answered("leiden", edges, &rows);
    assert_eq!(record["communities"], 2);
    assert_eq!(record["verified"], "yes");
    assert!((record["modularity"].as_f64().unwrap() - 5.0 / 14.0).abs() < 1e-12);
    assert_eq!(record["levels"].as_array().unwrap().last().unwrap()["communities"], 2);
    let refused = |arguments: &[&str], what: &str| {
        let ended = common::runs("leiden", arguments);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what), "{}", ended.err);
    };
    for bad in ["0", "-1", "nan", "2e6"] {
        let what = "use a number above 0 and up to 1e6";
        refused(&["--graph", "rmat:8", "--resolution", bad], what);
    }
    common::refuses("leiden");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("one-way.txt");
    std::fs::write(&file, "0 1 2\n1 0 3\n").unwrap();
    refused(&["--graph", file.to_str().unwrap()], "weigh the same both ways");
}
