//! Local graph clustering: sets of least conductance by the definition, from vectors of the definition.

use crate::common;
use crate::common::{csv_of, graph_of, hash, outcome, own, solved};
use crate::ppr::{pushed, random};
use hivegraph::algorithm::Clusters;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, ClustersFound, PushQuestion};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

fn asked(options: Value) -> RunConfig {
    RunConfig { own: own(options), ..RunConfig::default() }
}

/// Cut and volume of a set, each arc looked at.
fn counted(graph: &Graph, set: &[u32]) -> (u64, u64) {
    let out: Vec<u32> =
        set.iter().flat_map(|v| graph.neighbors(*v as usize).map(|arc| arc.0)).collect();
    (out.iter().filter(|to| !set.contains(to)).count() as u64, out.len() as u64)
}

/// The lower part of a conductance.
fn smaller(graph: &Graph, volume: u64) -> u64 {
    volume.min(graph.arcs() - volume)
}

/// The cluster: every prefix is counted from scratch.
fn naive(graph: &Graph, source: u32, alpha: f64, epsilon: f64) -> Vec<u32> {
    let [p, ..] = pushed(graph, source as usize, alpha, epsilon);
    let mut nodes: Vec<u32> = (0..graph.nodes() as u32).filter(|v| p[*v as usize] > 0).collect();
    // Insertion by exact fractions.
    let before = |a: u32, b: u32| {
        let of = |v: u32| (p[v as usize], u128::from(graph.degree(v as usize)));
        let ((x, c), (y, d)) = (of(a), of(b));
        (y * c, a) < (x * d, b)
    };
    for k in 1..nodes.len() {
        for at in (1..=k).rev() {
            if before(nodes[at], nodes[at - 1]) {
                nodes.swap(at, at - 1);
            }
        }
    }
    let mut best: Option<(usize, u128, u128)> = None;
    for size in 1..=nodes.len() {
        let (cut, volume) = counted(graph, &nodes[..size]);
        let (above, below) = match smaller(graph, volume) {
            0 => (1, 1),
            smaller => (u128::from(cut), u128::from(smaller)),
        };
        if best.is_none_or(|(_, a, b)| above * b < a * below) {
            best = Some((size, above, below));
        }
    }
    nodes.truncate(best.map_or(0, |best| best.0));
    nodes
}

/// Rows of each source.
fn lists(found: &Clusters) -> Vec<Vec<u32>> {
    let mut at = 0;
    let list = |size: &u64| {
        at += *size as usize;
        found.nodes[at - *size as usize..at].to_vec()
    };
    found.sizes.iter().map(list).collect()
}

#[test]
fn random_graphs_have_the_clusters_of_the_definition() {
    let fleets = ["host:1", "host:2", "host:3", "host:5"]
        .map(|devices| common::open_perturbed(&(devices.into(), CollectiveKind::Host), None));
    let (mut proper, mut empty, mut alone, mut whole) = (0, 0, 0, 0);
    for seed in 0..300 {
        // Seeds of symmetric graphs are even.
        let graph = random(2 * seed);
        // Self loops do not spoil symmetry.
        let loops =
            (0..graph.nodes() as u32).filter(|v| hash(seed, 900 + u64::from(*v)).is_multiple_of(5));
        let arcs =
            (0..graph.nodes()).flat_map(|u| graph.neighbors(u).map(move |a| (u as u32, a.0, a.1)));
        let arcs: Vec<_> = arcs.chain(loops.map(|v| (v, v, 1.0))).collect();
        let graph = Arc::new(graph_of(graph.nodes(), &arcs));
        let alpha = [0.1, 0.01, 0.5, 0.9_f64][seed as usize % 4];
        let epsilon = [1e-3, 1e-8, 0.03, 0.2, 1.0_f64][seed as usize % 5];
        let options = json!({ "sources": "all", "alpha": alpha, "epsilon": epsilon });
        let found: Clusters =
            solved("cluster", &fleets[seed as usize % 4], &graph, &asked(options));
        for (source, list) in (0..).zip(lists(&found)) {
            let right = naive(&graph, source, alpha, epsilon);
            assert!(list == right, "seed {seed}, source {source}: {list:?} for {right:?}");
            let k = source as usize;
            let (cut, volume) = counted(&graph, &list);
            assert_eq!((found.cuts[k], found.volumes[k]), (cut, volume), "seed {seed}, {source}");
            let right = match smaller(&graph, volume) {
                0 => 1.0,
                smaller => cut as f64 / smaller as f64,
            };
            assert_eq!(found.conductances[k].to_bits(), right.to_bits(), "seed {seed}, {source}");
            empty += usize::from(list.is_empty());
            alone += usize::from(list.len() == 1);
            proper += usize::from(list.len() > 1 && cut > 0);
            whole += usize::from(list.len() > 1 && cut == 0);
        }
    }
    let all = [proper, empty, alone, whole];
    assert!(all.iter().all(|many| *many > 100), "{all:?}");
}

/// Cliques on a ring: each node's cluster is its clique, or a run of cliques.
#[test]
fn cliques_on_a_ring_are_found() {
    let (cliques, size) = (12u32, 10u32);
    let mut arcs = Vec::new();
    for clique in 0..cliques {
        let first = clique * size;
        for u in first..first + size {
            arcs.extend((first..first + size).filter(|v| *v != u).map(|v| (u, v, 1.0)));
        }
        let next = (first + size) % (cliques * size);
        arcs.extend([(first + 1, next, 1.0), (next, first + 1, 1.0)]);
    }
    let graph = Arc::new(graph_of((cliques * size) as usize, &arcs));
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    // Much of a walk stays in its clique, which few others reach.
    let options = json!({ "sources": "all", "alpha": 0.5, "epsilon": 3e-4 });
    let found: Clusters = solved("cluster", &fleet, &graph, &asked(options));
    for (source, mut list) in (0..).zip(lists(&found)) {
        list.sort_unstable();
        assert!(list.len() % size as usize == 0 && list.len() <= 60, "{source}: {list:?}");
        assert!(list.contains(&source), "{source}: {list:?}");
        let cut = found.cuts[source as usize];
        assert_eq!(cut, 2, "{source}: {list:?}");
    }
}

fn cases() -> Vec<(&'static str, Graph)> {
    vec![
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(17, 16, true, 2)),
        ("star", common::star(700)),
        ("two components", common::two_components(60)),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &[(1, 0, 1.0), (0, 1, 2.0)])),
    ]
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_clusters() {
    let cases = cases().into_iter().filter(|(_, graph)| graph.is_undirected());
    let cases: Vec<_> = cases.map(|(name, graph)| (name, Arc::new(graph))).collect();
    assert!(cases.len() >= 6);
    let mut first: HashMap<String, Clusters> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph) in &cases {
            for options in [json!({ "epsilon": 1e-3 }), json!({ "alpha": 0.5, "epsilon": 0.03 })] {
                let told = format!("{name}, {options}");
                let config = RunConfig { merge: config.merge, ..asked(options) };
                let found: Clusters = solved("cluster", fleet, graph, &config);
                let known = first.entry(told.clone()).or_insert_with(|| found.clone());
                assert!(
                    known.nodes == found.nodes && known.sizes == found.sizes,
                    "{told} on {how}"
                );
                let numbers = |found: &Clusters| {
                    (found.cuts.clone(), found.volumes.clone(), found.rounds, found.pushes)
                };
                assert_eq!(numbers(known), numbers(&found), "{told} on {how}");
            }
        }
    });
}

#[test]
fn no_order_of_nodes_changes_a_cluster() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let mut known: Option<String> = None;
    for relabel in ["none", "random:3", "degree"] {
        let load = LoadOptions { relabel: relabel.parse().unwrap(), ..Default::default() };
        let graph = Arc::new(load_with("grid:30x30", &load).unwrap());
        let config = asked(json!({ "sources": "0,7,200", "epsilon": 1e-4 }));
        let rows = csv_of(&outcome("cluster", &fleet, &graph, &config).unwrap());
        let known = known.get_or_insert_with(|| rows.clone());
        assert!(*known == rows, "{relabel} has other rows");
        assert!(known.lines().count() > 20);
    }
}

#[test]
fn the_checker_names_what_is_off() {
    let graph = common::grid(6, 5, false, 3);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let config = asked(json!({ "sources": "3,9,20", "epsilon": 1e-4 }));
    let all: Clusters = solved("cluster", &fleet, &Arc::new(graph.clone()), &config);
    let question = PushQuestion { sources: &[3, 9, 20], alpha: 0.1, epsilon: 1e-4 };
    let found = ClustersFound {
        sizes: &all.sizes,
        volumes: &all.volumes,
        cuts: &all.cuts,
        conductances: &all.conductances,
        source: &all.source,
        node: &all.nodes,
    };
    assert_eq!(verify::cluster(&graph, question, found).unwrap(), 3);
    let refused = |question: PushQuestion, found: ClustersFound, what: &str| {
        let told = verify::cluster(&graph, question, found).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let off = |values: &[u64], at: usize| {
        let mut values = values.to_vec();
        values[at] += 1;
        values
    };
    let (volumes, cuts) = (off(&all.volumes, 1), off(&all.cuts, 2));
    refused(question, ClustersFound { volumes: &volumes, ..found }, "source 9: volume");
    refused(question, ClustersFound { cuts: &cuts, ..found }, "source 20: cut");
    let mut conductances = all.conductances.clone();
    conductances[0] = f64::from_bits(conductances[0].to_bits() + 1);
    refused(
        question,
        ClustersFound { conductances: &conductances, ..found },
        "source 3: conductance",
    );
    let mut node = all.nodes.clone();
    node[1] = node[0];
    refused(
        question,
        ClustersFound { node: &node, ..found },
        "source 3: a node is in its cluster twice",
    );
    let mut node = all.nodes.clone();
    node.swap(0, 1);
    refused(question, ClustersFound { node: &node, ..found }, "source 3: number 1 is node");
    let mut source = all.source.clone();
    source[0] = 9;
    refused(
        question,
        ClustersFound { source: &source, ..found },
        "row 1 has source 9, and should have 3",
    );
    refused(question, ClustersFound { node: &node[1..], ..found }, "nodes in clusters of");
    refused(
        question,
        ClustersFound { sizes: &all.sizes[1..], ..found },
        "2 clusters for 3 sources",
    );
    // A set that is counted well, but is not the best: the source and its first neighbour.
    let set = &all.nodes[..2];
    let (cut, volume) = counted(&graph, set);
    let small = ClustersFound {
        sizes: &[2],
        volumes: &[volume],
        cuts: &[cut],
        conductances: &[cut as f64 / volume as f64],
        source: &[3, 3],
        node: set,
    };
    let one = PushQuestion { sources: &[3], ..question };
    refused(one, small, "source 3: number 3 is no more, and should be node");
}

#[test]
fn what_the_program_writes_and_refuses() {
    // Two triangles and an edge between them.
    let edges = "2 3\n3 4\n2 4\n4 5\n5 6\n6 7\n5 7\n";
    let record = common::answered("cluster", edges, &["source,node,conductance"]);
    assert_eq!((&record["sources-pushed"], &record["verified"]), (&json!(6), &json!("yes")));
    let first = &record["clusters"][0];
    assert_eq!((&first["source"], &first["size"]), (&json!("2"), &json!(3)));
    assert_eq!((&first["cut"], &first["volume"]), (&json!(1), &json!(7)));
    common::refuses("cluster");
    let cases: [(&[&str], &str); 5] = [
        (&["--alpha", "0"], "--alpha 0"),
        (&["--epsilon", "0"], "--epsilon 0"),
        (&["--epsilon", "nan"], "--epsilon"),
        (&["--sources", "5,5"], "listed twice"),
        (&["--top-nodes", "3"], "--top"),
    ];
    for (args, what) in cases {
        let ended = common::runs("cluster", &[&["--graph", "rmat:8"], args].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what), "{}", ended.err);
    }
    // What does not push has no cluster, and the summary says why.
    let ended = common::runs("cluster", &["--graph", "star:9", "--sources", "0", "--epsilon", "1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!((ended.out + &ended.err).contains("use a smaller --epsilon"));
}
