//! Samples of neighbourhoods: the same on any number of replicas and in any order of nodes, and as likely as the definition says.

use crate::common;
use crate::common::{csv_of, graph_of, outcome, own, solved};
use hivegraph::algorithm::sample::Samples;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, SampleQuestion};
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
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &[(1, 0, 1.0)])),
    ]
}

fn kinds() -> [Value; 5] {
    [
        json!({}),
        json!({ "fanouts": "4,3,2", "replace": true, "seed": 5 }),
        json!({ "fanouts": "1" }),
        json!({ "fanouts": "2,40" }),
        json!({ "fanouts": "1,2,1,2", "seed": 9 }),
    ]
}

#[test]
fn any_number_of_replicas_and_any_merge_draw_the_same() {
    let cases: Vec<_> = cases().into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect();
    let mut first: HashMap<String, Samples> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph) in &cases {
            for options in kinds() {
                let told = format!("{name}, {options}");
                let merge = config.merge;
                let config = RunConfig { own: own(options), merge, ..RunConfig::default() };
                let samples: Samples = solved("sample", fleet, graph, &config);
                let known = first.entry(told.clone()).or_insert_with(|| samples.clone());
                assert!(known.hops == samples.hops, "others on {how}: {told}");
                assert_eq!((known.drawn, known.nodes), (samples.drawn, samples.nodes), "{told}");
            }
        }
    });
}

#[test]
fn no_order_of_nodes_changes_a_sample() {
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    for options in kinds() {
        let mut known: Option<String> = None;
        for relabel in ["none", "random:3", "degree"] {
            let load = LoadOptions { relabel: relabel.parse().unwrap(), ..Default::default() };
            let graph = Arc::new(load_with("rmat:7", &load).unwrap());
            // Rows are by rising id.
            let mut all = options.as_object().unwrap().clone();
            all.insert("sources".into(), json!("99,3,120,5"));
            let config = RunConfig { own: own(all.into()), ..RunConfig::default() };
            let rows = csv_of(&outcome("sample", &fleet, &graph, &config).unwrap());
            let starts: Vec<_> = rows.lines().map(|row| row.split(',').next().unwrap()).collect();
            assert_eq!(starts, ["source", "3", "5", "99", "120"]);
            let known = known.get_or_insert_with(|| rows.clone());
            assert!(*known == rows, "{relabel} has other samples: {options}");
        }
    }
}

/// What a tree must be like by the definition, whatever the numbers: ends of arcs, none oftener than it may be, none left out.
#[test]
fn samples_are_trees_of_arcs() {
    let fleet = common::open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
    for seed in 0..150u64 {
        let n = 1 + seed % 40;
        let end = |k: u64| (common::hash(seed, k) % n) as u32;
        let arcs: Vec<_> = (0..seed * 7 % 200).map(|k| (end(2 * k), end(2 * k + 1), 1.0)).collect();
        let graph = Arc::new(graph_of(n as usize, &arcs));
        for replace in [false, true] {
            let fanouts = [3usize, 4, 2];
            let options = json!({ "fanouts": "3,4,2", "replace": replace, "seed": seed });
            let config = RunConfig { own: own(options), ..RunConfig::default() };
            let samples: Samples = solved("sample", &fleet, &graph, &config);
            let mut parents: Vec<u32> = samples.sources.clone();
            for (hop, fanout) in samples.hops.iter().zip(fanouts) {
                assert_eq!(hop.len(), parents.len() * fanout);
                for (parent, children) in parents.iter().zip(hop.chunks(fanout)) {
                    let mut row: Vec<u32> = match *parent {
                        u32::MAX => Vec::new(),
                        v => graph.neighbors(v as usize).map(|arc| arc.0).collect(),
                    };
                    let full = if replace && !row.is_empty() { fanout } else { row.len() };
                    let there: Vec<_> = children.iter().filter(|v| **v != u32::MAX).collect();
                    assert_eq!(there.len(), full.min(fanout), "seed {seed}, {replace}");
                    assert!(children[there.len()..].iter().all(|v| *v == u32::MAX));
                    for child in there {
                        let at = row.iter().position(|v| v == child);
                        let at = at.expect("no arc leads there, or it was drawn before");
                        if !replace {
                            row.swap_remove(at);
                        }
                    }
                }
                parents = hop.clone();
            }
        }
    }
}

/// Chi-square against the exact probabilities: of single draws, and of the sets that are drawn without replacement.
#[test]
fn draws_have_the_probabilities_of_the_definition() {
    // Node 0 has seven arcs, two of them to node 1.
    let arcs: Vec<_> = [1, 1, 2, 3, 4, 5, 6].map(|v| (0, v, 1.0)).into();
    let back = (1..7).map(|v| (v, 0, 1.0));
    let graph = Arc::new(graph_of(7, &arcs.into_iter().chain(back).collect::<Vec<_>>()));
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let asked = |fanouts: &str, replace: bool, seed: u64| -> Samples {
        let options = json!({
            "sources": "0", "fanouts": fanouts, "replace": replace, "seed": seed
        });
        let config = RunConfig { own: own(options), ..RunConfig::default() };
        solved("sample", &fleet, &graph, &config)
    };
    let chi = |counts: &HashMap<Vec<u32>, f64>, likely: &HashMap<Vec<u32>, f64>, what: &str| {
        let all: f64 = counts.values().sum();
        assert!(counts.keys().all(|found| likely.contains_key(found)), "{what}: impossible");
        let cell = |(key, part): (&Vec<u32>, &f64)| {
            let found = counts.get(key).copied().unwrap_or(0.0);
            (found - part * all).powi(2) / (part * all)
        };
        let (statistic, freedom) =
            (likely.iter().map(cell).sum::<f64>(), likely.len() as f64 - 1.0);
        let limit = freedom + 5.0 * (2.0 * freedom).sqrt();
        assert!(statistic < limit, "{what}: {statistic} of {freedom}");
    };
    // Every second hop is node 0 again: 343 independent draws a run.
    for (fanout, replace) in [(2usize, true), (2, false), (3, false)] {
        let (mut sets, mut places) = (HashMap::new(), vec![HashMap::new(); fanout]);
        for seed in 0..12 {
            let samples = asked(&format!("7,1,7,1,7,1,{fanout}"), replace, seed);
            assert!(samples.hops[5].iter().all(|v| *v == 0));
            for children in samples.hops[6].chunks(fanout) {
                let mut set = children.to_vec();
                set.sort_unstable();
                *sets.entry(set).or_default() += 1.0;
                for (count, child) in places.iter_mut().zip(children) {
                    *count.entry(vec![*child]).or_default() += 1.0;
                }
            }
        }
        let ends = [1, 1, 2, 3, 4, 5, 6];
        let mut likely: HashMap<Vec<u32>, f64> = HashMap::new();
        let choices = 7usize.pow(fanout as u32);
        for choice in 0..choices {
            let arcs: Vec<usize> = (0..fanout).map(|j| choice / 7usize.pow(j as u32) % 7).collect();
            let differ = (0..fanout).all(|j| !arcs[..j].contains(&arcs[j]));
            if replace || differ {
                let mut set: Vec<u32> = arcs.iter().map(|arc| ends[*arc]).collect();
                set.sort_unstable();
                *likely.entry(set).or_default() += 1.0;
            }
        }
        let total: f64 = likely.values().sum();
        likely.values_mut().for_each(|part| *part /= total);
        chi(&sets, &likely, &format!("sets of {fanout}, replace {replace}"));
        if replace {
            let single = (1..7).map(|v| (vec![v], if v == 1 { 2.0 } else { 1.0 } / 7.0)).collect();
            places.iter().for_each(|counts| chi(counts, &single, "a place"));
        }
    }
}

#[test]
fn the_checker_names_what_is_off() {
    let graph = common::grid(6, 5, true, 3);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let options = json!({ "fanouts": "2,3", "seed": 2, "sources": "7,4" });
    let config = RunConfig { own: own(options), ..RunConfig::default() };
    let samples: Samples = solved("sample", &fleet, &Arc::new(graph.clone()), &config);
    let question = SampleQuestion { sources: &[4, 7], fanouts: &[2, 3], replace: false, seed: 2 };
    verify::sample(&graph, question, &samples.hops).unwrap();
    let refused = |question: SampleQuestion, hops: &[Vec<u32>], what: &str| {
        let told = verify::sample(&graph, question, hops).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let mut hops = samples.hops.clone();
    hops[1][2] = u32::MAX;
    refused(question, &hops, "source 4, hop 2, place 2: node ");
    refused(question, &hops, "the answer has nothing");
    let mut hops = samples.hops.clone();
    hops[0].swap(0, 1);
    refused(question, &hops, "source 4, hop 1, place 0");
    refused(question, &samples.hops[..1], "2 sources and 2 hops");
    hops[1].pop();
    refused(question, &hops, "does not have the places");
    refused(SampleQuestion { seed: 3, ..question }, &samples.hops, "source ");
    refused(SampleQuestion { replace: true, ..question }, &samples.hops, "source ");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, csv] = ["g.txt", "out.csv"].map(|name| folder.path().join(name));
    std::fs::write(&graph, "5 7\n5 9\n7 9\n9 11\n").unwrap();
    let [graph, csv] = [&graph, &csv].map(|path| path.to_str().unwrap());
    let asked = ["--sources", "7,5", "--fanouts", "3,1", "--verify", "--json", "-"];
    let ended =
        common::runs("sample", &[&["--graph", graph, "--output", csv], &asked[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let record: Value = serde_json::from_str(&ended.out).unwrap();
    let rows = std::fs::read_to_string(csv).unwrap();
    let right = "source,hop1.0,hop1.1,hop1.2,hop2.0,hop2.1,hop2.2\n5,7,9,,9,11,\n7,9,,,11,,\n";
    assert_eq!(rows, right);
    assert_eq!((&record["sources"], &record["drawn"]), (&json!(2), &json!(6)));
    assert_eq!((&record["nodes"], &record["verified"]), (&json!(3), &json!("yes")));
    let cases: [(&[&str], &str); 7] = [
        (&["--fanouts", "0"], "--fanouts 0: '0' is no number from 1 to 1024"),
        (&["--fanouts", "3,,1"], "'' is no number"),
        (&["--fanouts", "-3"], "'-3' is no number"),
        (&["--fanouts", "1,1,1,1,1,1,1,1,1"], "9 hops"),
        (&["--fanouts", "1024,1024"], "more than 1048576 places"),
        (&["--sources", "5,5"], "listed twice"),
        (&["--sources", "5000"], "no node 5000"),
    ];
    for (args, what) in cases {
        let ended = common::runs("sample", &[&["--graph", "rmat:8"], args].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what), "{}", ended.err);
    }
}
