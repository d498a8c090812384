//! Similarity of nodes: the values of the definitions, all that are above a bound, and the highest of each node.

use crate::common;
use crate::common::{csv_of, graph_of, hash, outcome, own, solved};
use crate::ppr::random;
use hivegraph::algorithm::SimilarPairs;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, PairsAsked, PairsFound, SimilarQuestion};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

const MEASURES: [&str; 5] = ["jaccard", "overlap", "cosine", "common", "adamic-adar"];

fn asked(options: Value) -> RunConfig {
    RunConfig { own: own(options), ..RunConfig::default() }
}

/// `[n]` neighbourhoods.
fn sets(graph: &Graph) -> Vec<BTreeSet<u32>> {
    let set = |u: usize| graph.neighbors(u).map(|arc| arc.0).filter(|v| *v != u as u32).collect();
    (0..graph.nodes()).map(set).collect()
}

/// By the definition; `None` without a common neighbour.
fn naive(sets: &[BTreeSet<u32>], measure: &str, u: usize, v: usize) -> Option<f64> {
    let both: Vec<u32> = sets[u].intersection(&sets[v]).copied().collect();
    let (c, a, b) = (both.len() as f64, sets[u].len() as f64, sets[v].len() as f64);
    let value = match measure {
        "jaccard" => c / sets[u].union(&sets[v]).count() as f64,
        "overlap" => c / a.min(b),
        "cosine" => c / (a * b).sqrt(),
        "common" => c,
        _ => {
            let known = |w: &u32| sets.iter().filter(|set| set.contains(w)).count() as f64;
            both.iter().map(|w| 1.0 / known(w).ln()).sum()
        }
    };
    (!both.is_empty()).then_some(value)
}

/// Equal bits, but for the rounding of logarithms.
fn same(measure: &str, found: f64, right: f64) -> bool {
    match measure {
        "adamic-adar" => (found - right).abs() <= 1e-12 * right,
        _ => found.to_bits() == right.to_bits(),
    }
}

fn rows(found: &SimilarPairs) -> Vec<(u32, u32, f64)> {
    let pairs = found.node.iter().zip(&found.other).zip(&found.value);
    pairs.map(|((u, v), value)| (*u, *v, *value)).collect()
}

/// Asserts that these rows are the right ones, but for ties of values that are rounded.
fn compare(measure: &str, found: &[(u32, u32, f64)], right: &[(u32, u32, f64)], told: &str) {
    assert_eq!(found.len(), right.len(), "{told}: {found:?} for {right:?}");
    for (found, right) in found.iter().zip(right) {
        let tie = measure == "adamic-adar" && found.0 == right.0;
        assert!((found.0, found.1) == (right.0, right.1) || tie, "{told}: {found:?} for {right:?}");
        assert!(same(measure, found.2, right.2), "{told}: {found:?} for {right:?}");
    }
}

/// Graphs of one and two nodes, and random ones of up to 24; those of even seeds are symmetric.
fn small(seed: u64) -> Graph {
    match seed {
        0 => graph_of(2, &[]),
        1 => graph_of(1, &[]),
        2 => graph_of(1, &[(0, 0, 1.0)]),
        3 => graph_of(2, &[(0, 1, 1.0)]),
        4 => graph_of(2, &[(0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)]),
        _ => random(seed),
    }
}

#[test]
fn random_graphs_have_the_similar_nodes_of_the_definition() {
    let fleets = ["host:1", "host:2", "host:3", "host:8"]
        .map(|devices| common::open_perturbed(&(devices.into(), CollectiveKind::Host), None));
    let (mut best, mut above, mut none, mut full) = (0, 0, 0, 0);
    for seed in 0..300 {
        let graph = Arc::new(small(seed));
        let (sets, n) = (sets(&graph), graph.nodes());
        let fleet = &fleets[(seed / 4) as usize % 4];
        let measure = MEASURES[seed as usize % 5];
        let k = [1, 3, 10, 512][seed as usize % 4];
        let options = json!({ "measure": measure, "top-k": k });
        let mut right = Vec::new();
        for u in 0..n {
            let others = (0..n).filter(|v| *v != u);
            let value = |v: usize| Some((u as u32, v as u32, naive(&sets, measure, u, v)?));
            let mut all: Vec<(u32, u32, f64)> = others.filter_map(value).collect();
            all.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.1.cmp(&b.1)));
            full += usize::from(all.len() > k);
            all.truncate(k);
            none += usize::from(all.is_empty());
            right.extend(all);
        }
        best += right.len();
        let found: SimilarPairs = solved("similar", fleet, &graph, &asked(options));
        compare(measure, &rows(&found), &right, &format!("seed {seed}, {k} best"));
        let least = [0.0, 0.3, 1.0, 2.0][(seed / 5) as usize % 4];
        let options = json!({ "measure": measure, "threshold": least });
        let mut right = Vec::new();
        for (u, v) in (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))) {
            let value = naive(&sets, measure, u, v).filter(|value| *value >= least);
            right.extend(value.map(|value| (u as u32, v as u32, value)));
        }
        above += right.len();
        let found: SimilarPairs = solved("similar", fleet, &graph, &asked(options));
        compare(measure, &rows(&found), &right, &format!("seed {seed}, {measure} from {least}"));
    }
    let all = [best, above, none, full];
    assert!(all.iter().all(|many| *many > 300), "{all:?}");
}

#[test]
fn given_pairs_have_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs");
    let fleet = common::open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
    let mut zeros = 0;
    for seed in 5..45 {
        let graph = Arc::new(small(seed));
        let n = graph.nodes() as u64;
        if n == 1 {
            continue;
        }
        // No node and itself.
        let pair = |k: u64| {
            let u = hash(seed, 2 * k) % n;
            [u, (u + 1 + hash(seed, 2 * k + 1) % (n - 1)) % n]
        };
        let pairs: Vec<[u64; 2]> = (0..50).map(pair).collect();
        let text: String = pairs.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let measure = MEASURES[seed as usize % 5];
        let options = json!({ "measure": measure, "pairs": path.to_str().unwrap() });
        let found: SimilarPairs = solved("similar", &fleet, &graph, &asked(options));
        let sets = sets(&graph);
        let right = pairs.iter().map(|[u, v]| {
            let value = naive(&sets, measure, *u as usize, *v as usize).unwrap_or(0.0);
            (*u as u32, *v as u32, value)
        });
        let right: Vec<_> = right.collect();
        zeros += right.iter().filter(|row| row.2 == 0.0).count();
        compare(measure, &rows(&found), &right, &format!("seed {seed}"));
    }
    assert!((100..1900).contains(&zeros), "{zeros}");
}

/// Of published values: NetworkX's documentation of adamic_adar_index and jaccard_coefficient on the complete graph of five nodes.
#[test]
fn the_complete_graph_has_the_values_that_networkx_documents() {
    let pairs = (0..5u32).flat_map(|u| (0..5).filter(move |v| *v != u).map(move |v| (u, v, 1.0)));
    let graph = Arc::new(graph_of(5, &pairs.collect::<Vec<_>>()));
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for (measure, value) in [("jaccard", 0.6), ("adamic-adar", 2.164_042_561_333_445)] {
        let options = json!({ "measure": measure, "sources": "0", "top-k": 1 });
        let found: SimilarPairs = solved("similar", &fleet, &graph, &asked(options));
        compare(measure, &rows(&found), &[(0, 1, value)], measure);
    }
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_pairs() {
    let cases = [
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(17, 16, true, 2)),
        ("star", common::star(700)),
        ("directed", common::directed(300, 5, 3)),
        ("parallels", common::zeros_and_parallels(40)),
        ("no arcs", graph_of(70, &[])),
        // More nodes than a block has counters for.
        ("wide", common::skewed(16, 8, 2)),
    ];
    let cases = cases.map(|(name, graph)| (name, Arc::new(graph)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs");
    let text: String = (0..200).map(|k| format!("{},{}\n", k % 7, 7 + hash(1, k) % 33)).collect();
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let mut first: HashMap<String, SimilarPairs> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph) in &cases {
            let few = [
                json!({ "sources": "connected:9:1", "top-k": 300 }),
                json!({ "measure": "adamic-adar", "sources": "connected:9:2" }),
            ];
            let all = [
                json!({ "top-k": 3 }),
                json!({ "measure": "adamic-adar", "top-k": 200 }),
                json!({ "measure": "cosine", "threshold": 0.4 }),
                json!({ "measure": "adamic-adar", "pairs": path }),
            ];
            for options in if *name == "wide" { few.to_vec() } else { all.to_vec() } {
                let told = format!("{name}, {options}");
                let config =
                    RunConfig { merge: config.merge, layout: config.layout, ..asked(options) };
                let found: SimilarPairs = solved("similar", fleet, graph, &config);
                let known = first.entry(told.clone()).or_insert_with(|| found.clone());
                assert!(
                    (&known.node, &known.other) == (&found.node, &found.other),
                    "{told} on {how}"
                );
                let bits = |found: &SimilarPairs| -> Vec<u64> {
                    found.value.iter().map(|value| value.to_bits()).collect()
                };
                assert_eq!(bits(known), bits(&found), "{told} on {how}");
            }
        }
    });
    assert!(first.values().filter(|found| found.node.len() > 100).count() > 10);
}

#[test]
fn no_order_of_nodes_changes_a_pair() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for options in [json!({ "sources": "0,7,200" }), json!({ "threshold": 0.3 })] {
        let mut known: Option<String> = None;
        for relabel in ["none", "random:3", "degree"] {
            let load = LoadOptions { relabel: relabel.parse().unwrap(), ..Default::default() };
            let graph = Arc::new(load_with("grid:20x20", &load).unwrap());
            let rows =
                csv_of(&outcome("similar", &fleet, &graph, &asked(options.clone())).unwrap());
            let known = known.get_or_insert_with(|| rows.clone());
            assert!(*known == rows, "{relabel} has other rows");
            assert!(known.lines().count() > 12);
        }
    }
}

#[test]
fn the_checker_names_what_is_off() {
    let graph = common::grid(6, 5, false, 3);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let found_by = |options: Value| -> SimilarPairs {
        solved("similar", &fleet, &Arc::new(graph.clone()), &asked(options))
    };
    let refused = |asked: PairsAsked, measure: &str, rows: &[(u32, u32, f64)], what: &str| {
        let node: Vec<u32> = rows.iter().map(|row| row.0).collect();
        let other: Vec<u32> = rows.iter().map(|row| row.1).collect();
        let value: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let found = PairsFound { node: &node, other: &other, value: &value };
        let told = verify::similar(&graph, SimilarQuestion { measure, asked }, found);
        match what {
            "" => _ = told.unwrap(),
            what => {
                let told = told.unwrap_err().to_string();
                assert!(told.contains(what), "{told}");
            }
        }
    };
    // The nodes at two steps from 7 in a grid of 6 rows of 5.
    let best = PairsAsked::Best(&[7, 12], 4);
    let all = rows(&found_by(json!({ "measure": "common", "sources": "7,12", "top-k": 4 })));
    assert_eq!(all[0], (7, 1, 2.0));
    refused(best, "common", &all, "");
    let off = |at: usize, row: (u32, u32, f64)| {
        let mut rows = all.clone();
        rows[at] = row;
        rows
    };
    refused(best, "common", &off(1, (7, 3, 3.0)), "nodes 7 and 3: value 3e0, and is 2e0");
    refused(best, "common", &off(3, (7, 29, 1.0)), "nodes 7 and 29: value 1e0, and is 0e0");
    refused(best, "common", &off(3, (7, 5, 1.0)), "node 7: 13 of value 2e0 is missing");
    refused(
        best,
        "common",
        &[&all[..1], &all[..1], &all[2..]].concat(),
        "node 7: 1 stands before 1",
    );
    refused(best, "common", &[&all[..3], &all[4..]].concat(), "is missing");
    refused(best, "common", &[&all[4..], &all[..4]].concat(), "row 5 is one of node 7");
    refused(best, "common", &off(0, (7, 99, 2.0)), "row 1 has node number 99 of 30");
    let many = PairsAsked::Best(&[7, 12], 3);
    refused(many, "common", &all, "node 7: 4 others are listed");
    // Of equal ones the lowest ids.
    refused(
        PairsAsked::Best(&[7], 1),
        "common",
        &[(7, 3, 2.0)],
        "node 7: 1 of value 2e0 is missing",
    );

    let sources: Vec<u32> = (0..30).collect();
    let least = PairsAsked::Least(&sources, 0.4);
    let all = rows(&found_by(json!({ "measure": "cosine", "threshold": 0.4 })));
    refused(least, "cosine", &all, "");
    refused(least, "cosine", &all[1..], "is missing");
    let mut rows_off = all.clone();
    rows_off[5].2 = f64::from_bits(rows_off[5].2.to_bits() + 1);
    refused(least, "cosine", &rows_off, ", and is ");
    let mut rows_off = all.clone();
    rows_off.swap(0, 1);
    refused(least, "cosine", &rows_off, if all[0].0 == all[1].0 { "out of order" } else { "row " });
    refused(PairsAsked::Least(&sources, 0.9), "cosine", &all, "is not to be listed");

    let given = PairsAsked::Given(&[[0, 6], [0, 29]]);
    let weight = 1.0 / 3.0_f64.ln();
    refused(given, "adamic-adar", &[(0, 6, 2.0 * weight), (0, 29, 0.0)], "");
    refused(given, "adamic-adar", &[(0, 6, weight), (0, 29, 0.0)], "nodes 0 and 6: value");
    refused(
        given,
        "jaccard",
        &[(0, 6, 0.5), (0, 29, 0.1)],
        "nodes 0 and 29: value 1e-1, and is 0e0",
    );
    refused(given, "jaccard", &[(0, 29, 0.0), (0, 6, 0.5)], "not the pairs that were asked for");
}

#[test]
fn what_the_program_writes_and_refuses() {
    // A square with one diagonal.
    let edges = "2 3\n3 4\n4 5\n5 2\n2 4\n";
    let record = common::answered("similar", edges, &["node,other,value", "3,5,1.0", "2,4,0.5"]);
    assert_eq!((&record["pairs-listed"], &record["verified"]), (&json!(12), &json!("yes")));
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let graph = written("g.txt", edges);
    let (good, three) = (written("good", "# ids\n3 5\n\n2,4\n"), written("three", "3 5\n2 4 5\n"));
    let (none, other) = (written("none", "#\n"), written("other", "3 5\n3 77\n"));
    let itself = written("itself", "3 5\n4 4\n");
    let cases: [(&[&str], &str); 13] = [
        (&["--pairs", &itself], "itself:2: node 4 is paired with itself"),
        (&["--pairs", &three], "three:2: 3 ids; write two ids a line"),
        (&["--pairs", &none], "it names no pair"),
        (&["--pairs", &other], "other:2: the graph has no node 77"),
        (&["--pairs", "/nowhere"], "--pairs /nowhere"),
        (&["--pairs", &good, "--top-k", "3"], "--pairs and --top-k do not go together"),
        (&["--threshold", "0.5", "--sources", "3"], "--threshold and --sources do not go together"),
        (&["--threshold", "-1"], "--threshold -1: use a number from 0 on"),
        (&["--threshold", "nan"], "--threshold"),
        (&["--top-k", "0"], "--top-k 0: use a number from 1 to 512"),
        (&["--top-k", "513"], "--top-k 513"),
        (&["--measure", "dice"], "--measure dice"),
        (&["--sources", "5,5"], "listed twice"),
    ];
    for (args, what) in cases {
        let ended = common::runs("similar", &[&["--graph", &graph, "--symmetrize"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        assert!(ended.err.contains(what), "{args:?}: {}", ended.err);
        assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    }
    let csv = folder.path().join("pairs.csv");
    let csv = csv.to_str().unwrap();
    let args = ["--graph", &graph, "--symmetrize", "--pairs", &good, "--output", csv, "--top", "1"];
    let ended = common::runs("similar", &args);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(csv).unwrap(), "node,other,value\n3,5,1.0\n2,4,0.5\n");
    let lines: Vec<Vec<&str>> =
        ended.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["1", "3", "5", "1"]), "{}", ended.out);
}
