//! Random walks: the same paths on any number of replicas and in any order of nodes, and the probabilities of the definition.

use crate::common;
use crate::common::{csv_of, graph_of, outcome, own, solved};
use hivegraph::algorithm::walk::Walks;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, WalkFound, WalkQuestion};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

fn cases() -> Vec<(&'static str, Graph)> {
    let one_way = (0..300u32).flat_map(|v| [(v, (v * 7 + 1) % 200, 1.5), (v / 3, v, 0.5)]);
    let odd = [(7, 7, 1.0), (8, 9, 1.0), (8, 9, 3.0), (9, 250, 0.0), (299, 4, 1.0)];
    vec![
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(17, 16, true, 2)),
        ("directed", graph_of(300, &one_way.chain(odd).collect::<Vec<_>>())),
        // Half of the nodes are dead ends, some of them since their arcs weigh nothing.
        (
            "dead ends",
            graph_of(90, &(0..45).map(|v| (v, v + 45, f32::from(v % 2 == 0))).collect::<Vec<_>>()),
        ),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &[(1, 0, 1.0)])),
    ]
}

/// Options of every kind of walk.
fn kinds() -> [Value; 6] {
    [
        json!({ "walks": 3, "length": 7 }),
        json!({ "weighted": true, "seed": 5 }),
        json!({ "restart": 0.3, "length": 12 }),
        json!({ "p": 0.25, "q": 4.0, "length": 9 }),
        json!({ "p": 0.05, "q": 20.0, "weighted": true, "restart": 0.1, "walks": 2, "length": 5 }),
        json!({ "sources": "first:1", "walks": 70, "length": 1 }),
    ]
}

fn with(options: &Value, more: Value) -> Value {
    let mut all = options.as_object().unwrap().clone();
    all.extend(more.as_object().unwrap().clone());
    all.into()
}

#[test]
fn any_number_of_replicas_and_any_merge_walk_the_same_paths() {
    let cases: Vec<_> = cases().into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect();
    let mut first: HashMap<String, Walks> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph) in &cases {
            for options in kinds() {
                for keep in ["visits", "paths"] {
                    let options = own(with(&options, json!({ "keep": keep })));
                    let told = format!("{name}, {options:?}");
                    let merge = config.merge;
                    let config = RunConfig { own: options, merge, ..RunConfig::default() };
                    let walks: Walks = solved("walk", fleet, graph, &config);
                    assert_eq!(walks.paths.is_empty(), keep == "visits", "{told}");
                    let known = first.entry(told.clone()).or_insert_with(|| walks.clone());
                    assert!(known.visits == walks.visits, "other visits on {how}: {told}");
                    assert!(known.paths == walks.paths, "other paths on {how}: {told}");
                }
            }
        }
    });
}

#[test]
fn no_order_of_nodes_changes_a_path() {
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    for options in kinds() {
        let options = own(with(&options, json!({ "keep": "paths" })));
        let mut known: Option<String> = None;
        for relabel in ["none", "random:3", "degree"] {
            let weights = "random:1-9:1".parse().unwrap();
            let load =
                LoadOptions { relabel: relabel.parse().unwrap(), weights, ..Default::default() };
            let graph = Arc::new(load_with("rmat:8", &load).unwrap());
            let config = RunConfig { own: options.clone(), ..RunConfig::default() };
            let paths = csv_of(&outcome("walk", &fleet, &graph, &config).unwrap());
            let known = known.get_or_insert_with(|| paths.clone());
            assert!(*known == paths, "{relabel} has other paths: {options:?}");
        }
    }
}

/// The exact probability of each step to `x` from `t`, when the step before came from `s`.
fn step(graph: &Graph, s: Option<u32>, t: u32, options: &Value) -> HashMap<u32, f64> {
    let number = |name: &str| options[name].as_f64().unwrap_or(1.0);
    let weighted = options["weighted"] == json!(true);
    let mut likely: HashMap<u32, f64> = HashMap::new();
    for (x, weight) in graph.neighbors(t as usize) {
        let alpha = match s {
            None => 1.0,
            Some(s) if x == s => 1.0 / number("p"),
            Some(s) if graph.neighbors(s as usize).any(|(v, _)| v == x) => 1.0,
            Some(_) => 1.0 / number("q"),
        };
        *likely.entry(x).or_default() += alpha * if weighted { f64::from(weight) } else { 1.0 };
    }
    let total: f64 = likely.values().sum();
    likely.into_iter().map(|(x, part)| (x, part / total)).collect()
}

/// Chi-square of all steps, by where they came from, against the definition.
#[test]
fn steps_have_the_probabilities_of_the_definition() {
    let arcs = [
        (0, 1, 1.0),
        (0, 2, 2.0),
        (0, 3, 5.5),
        (1, 0, 1.0),
        (1, 2, 3.0),
        (2, 0, 0.5),
        (2, 1, 1.0),
        (2, 3, 7.0),
        (2, 4, 1.0),
        (3, 0, 2.0),
        (3, 4, 2.0),
        (3, 4, 1.0),
        (4, 2, 1.0),
        (4, 3, 9.0),
        (4, 5, 0.1),
        (5, 4, 1.0),
        (5, 5, 3.0),
    ];
    let graph = Arc::new(graph_of(6, &arcs));
    let fleet = common::open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
    for options in [
        json!({}),
        json!({ "weighted": true }),
        json!({ "p": 0.25, "q": 4.0 }),
        json!({ "p": 4.0, "q": 0.25, "weighted": true }),
    ] {
        let asked = json!({ "walks": 20_000, "length": 20, "keep": "paths", "seed": 11 });
        let config = RunConfig { own: own(with(&options, asked)), ..RunConfig::default() };
        let walks: Walks = solved("walk", &fleet, &graph, &config);
        let mut counts: HashMap<(Option<u32>, u32), HashMap<u32, u64>> = HashMap::new();
        let second = options.get("p").is_some();
        for i in 0..walks.walkers as usize {
            for k in 1..walks.paths.len() {
                let s = (second && k > 1).then(|| walks.paths[k - 2][i]);
                let from = counts.entry((s, walks.paths[k - 1][i])).or_default();
                *from.entry(walks.paths[k][i]).or_default() += 1;
            }
        }
        let (mut statistic, mut freedom) = (0.0, 0.0);
        for ((s, t), found) in &counts {
            let likely = step(&graph, *s, *t, &options);
            let all = found.values().sum::<u64>() as f64;
            assert!(found.keys().all(|x| likely.contains_key(x)), "{options}: a step along no arc");
            // Cells that are seldom expected have no chi-square distribution.
            let cells: Vec<_> = likely.iter().filter(|(_, part)| *part * all >= 8.0).collect();
            for (x, part) in &cells {
                let found = found.get(x).copied().unwrap_or(0) as f64;
                statistic += (found - *part * all).powi(2) / (*part * all);
            }
            freedom += cells.len().saturating_sub(1) as f64;
        }
        let limit = freedom + 5.0 * (2.0f64 * freedom).sqrt();
        assert!(freedom > 5.0 && statistic < limit, "{options}: {statistic} of {freedom}");
    }
}

/// Greedy walks, and those in proportion to scores, against the definition.
#[test]
fn walks_go_by_the_scores_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scores.csv");
    let score = |v: u64| if v.is_multiple_of(5) { 0 } else { v * 7 % 9 };
    let rows: String = (0..128).map(|v| format!("{v},{}\n", score(v))).collect();
    std::fs::write(&path, format!("node,weight\n{rows}")).unwrap();
    for relabel in ["none", "random:3", "degree"] {
        let load = LoadOptions { relabel: relabel.parse().unwrap(), ..Default::default() };
        let graph = Arc::new(load_with("rmat:7", &load).unwrap());
        let scored = |v: u32| score(graph.input_id(v));
        for devices in ["host:1", "host:3"] {
            let fleet = common::open_perturbed(&(devices.into(), CollectiveKind::Host), None);
            let asked = |more: Value| -> Walks {
                let options = json!({ "scores": path, "keep": "paths", "length": 12 });
                let config = RunConfig { own: own(with(&options, more)), ..RunConfig::default() };
                solved("walk", &fleet, &graph, &config)
            };
            let greedy = asked(json!({ "greedy": true }));
            for step in 1..greedy.paths.len() {
                for (from, to) in greedy.paths[step - 1].iter().zip(&greedy.paths[step]) {
                    let row = match *from {
                        u32::MAX => Vec::new(),
                        v => graph.neighbors(v as usize).map(|arc| arc.0).collect(),
                    };
                    let by = |v: &u32| (scored(*v), std::cmp::Reverse(graph.rank(*v)));
                    assert_eq!(row.into_iter().max_by_key(by).unwrap_or(u32::MAX), *to);
                }
            }
            let walks = asked(json!({ "walks": 120, "restart": 0.01 }));
            let hub = (0..128).max_by_key(|v| graph.degree(*v as usize)).unwrap();
            let mut counts: HashMap<u32, f64> = HashMap::new();
            for i in 0..walks.walkers as usize {
                let start = walks.paths[0][i];
                for step in walks.paths.windows(2).filter(|step| step[0][i] == hub && start != hub)
                {
                    // A restart leads to the start.
                    if step[1][i] != start {
                        *counts.entry(step[1][i]).or_default() += 1.0;
                    }
                }
            }
            let mut likely: HashMap<u32, f64> = HashMap::new();
            for (v, _) in graph.neighbors(hub as usize) {
                *likely.entry(v).or_default() += scored(v) as f64;
            }
            assert!(counts.keys().all(|v| likely.get(v).is_some_and(|part| *part > 0.0)));
            let (all, total) = (counts.values().sum::<f64>(), likely.values().sum::<f64>());
            let cells = likely.iter().filter(|(_, part)| *part / total * all > 20.0);
            for (v, part) in cells {
                let (found, right) = (counts.get(v).copied().unwrap_or(0.0), part / total * all);
                assert!((found - right).abs() < 7.0 * right.sqrt(), "{v}: {found} for {right}");
            }
            assert!(all > 2000.0, "{all}");
        }
    }
}

/// A walk with restarts is at its start as often as a geometric distribution says.
#[test]
fn restarts_come_as_often_as_they_should() {
    let chain: Vec<_> = (0..40).map(|v| (v, v + 1, 1.0)).collect();
    let graph = Arc::new(graph_of(41, &chain));
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let asked = json!({ "sources": "0", "walks": 50_000, "length": 30, "restart": 0.2 });
    let config = RunConfig { own: own(asked), ..RunConfig::default() };
    let walks: Walks = solved("walk", &fleet, &graph, &config);
    assert_eq!(walks.steps, 50_000 * 30);
    // At depth d after k steps with probability 0.8^d 0.2, and at depth k with 0.8^k.
    for depth in 0..8u32 {
        let at = |k: u32| 0.8f64.powi(depth as i32) * if k == depth { 1.0 } else { 0.2 };
        let right = 50_000.0 * (depth..=30).map(at).sum::<f64>();
        let found = walks.visits[depth as usize] as f64;
        assert!((found - right).abs() < 6.0 * right.sqrt(), "{found} visits for {right}");
    }
}

#[test]
fn the_checker_names_what_is_off() {
    let graph = common::grid(6, 5, true, 3);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let options = json!({ "keep": "paths", "length": 6, "seed": 2 });
    let config = RunConfig { own: own(options), ..RunConfig::default() };
    let walks: Walks = solved("walk", &fleet, &Arc::new(graph.clone()), &config);
    let starts: Vec<u32> = (0..30).collect();
    let question = WalkQuestion {
        starts: &starts,
        walks: 1,
        length: 6,
        seed: 2,
        restart: 0.0,
        p: 1.0,
        q: 1.0,
        alias: None,
        scores: None,
        greedy: false,
    };
    let found = WalkFound { visits: &walks.visits, paths: &walks.paths };
    assert_eq!(verify::walk(&graph, question, found).unwrap(), 180);
    let refused = |question: WalkQuestion, found: WalkFound, what: &str| {
        let told = verify::walk(&graph, question, found).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let mut visits = walks.visits.clone();
    visits[9] += 1;
    refused(question, WalkFound { visits: &visits, paths: &[] }, "node 9: ");
    refused(question, WalkFound { visits: &visits[1..], ..found }, "29 visits");
    let mut paths = walks.paths.clone();
    paths[4][17] = u32::MAX;
    refused(question, WalkFound { paths: &paths, ..found }, "walk 17, step 4");
    refused(question, WalkFound { paths: &paths[1..], ..found }, "paths are not 30 walks");
    refused(WalkQuestion { seed: 3, ..question }, found, "walk ");
    let arcs = graph.arcs() as usize;
    let (share, other) = (vec![u32::MAX; arcs], vec![0; arcs]);
    refused(WalkQuestion { alias: Some([&share, &other]), ..question }, found, "alias table");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let record = common::answered("walk", "5 7\n7 9\n9 11\n", &["node,visits"]);
    assert_eq!((&record["walkers"], &record["steps"]), (&json!(4), &json!(160)));
    assert_eq!(record["verified"], "yes");
    let cases: [(&[&str], &str); 11] = [
        (&["--walks", "0"], "--walks 0"),
        (&["--length", "0"], "--length 0"),
        (&["--restart", "1"], "--restart 1"),
        (&["--restart", "-0.5"], "--restart -0.5"),
        (&["--p", "0"], "--p 0"),
        (&["--q", "inf"], "--q"),
        (&["--restart", "1e-50"], "--restart"),
        (&["--sources", "5,5"], "listed twice"),
        (&["--keep", "all"], "--keep"),
        (&["--greedy"], "--greedy without --scores"),
        (&["--scores", "x.csv", "--weighted"], "--scores with --weighted"),
    ];
    for (args, what) in cases {
        let ended = common::runs("walk", &[&["--graph", "rmat:8"], args].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what), "{}", ended.err);
    }
}
