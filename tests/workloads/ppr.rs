//! Personalised PageRank by push: values to the unit, and how far they are from the exact ones. By power iteration: those of the same
//! iterations in f64, and of NetworkX.

use crate::common;
use crate::common::{csv_of, graph_of, hash, outcome, own, solved};
use hivegraph::algorithm::{MergeMode, PersonalRanks};
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, load_with};
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, PowerFound, PowerQuestion, PprFound, PushQuestion};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

const ONE: u128 = 1 << 62;

/// Graphs of 1 to 24 nodes: with self loops, parallel arcs, nodes without arcs; every other one symmetric.
pub fn random(seed: u64) -> Graph {
    let n = 1 + hash(seed, 0) % 24;
    let arcs = hash(seed, 1) % (3 * n + 1);
    let mut all = Vec::new();
    for k in 0..arcs {
        let (u, v) = ((hash(seed, 2 + 2 * k) % n) as u32, (hash(seed, 3 + 2 * k) % n) as u32);
        // Some nodes have many arcs.
        let v = if k % 4 == 0 { v / 8 } else { v };
        let weight = [1e-30, 1.0, 3e30][k as usize % 3];
        all.push((u, v, weight));
        if seed.is_multiple_of(2) && u != v {
            all.push((v, u, weight));
        }
    }
    graph_of(n as usize, &all)
}

/// `[n][n]` numbers of arcs.
fn matrix(graph: &Graph) -> Vec<Vec<u128>> {
    let n = graph.nodes();
    let mut arcs = vec![vec![0; n]; n];
    for (u, row) in arcs.iter_mut().enumerate() {
        graph.neighbors(u).for_each(|(v, _)| row[v as usize] += 1);
    }
    arcs
}

/// By the definition: p and r, `[n]` each, and how many rounds and pushes there were.
pub fn pushed(graph: &Graph, source: usize, alpha: f64, epsilon: f64) -> [Vec<u128>; 3] {
    let (arcs, n) = (matrix(graph), graph.nodes());
    let alpha = (alpha * 4294967296.0).round() as u128;
    let epsilon = (epsilon * ONE as f64).round() as u128;
    let degree: Vec<u128> = arcs.iter().map(|row| row.iter().sum()).collect();
    let (mut p, mut r, mut made) = (vec![0; n], vec![0; n], vec![0, 0]);
    if degree[source] == 0 {
        p[source] = ONE
    } else {
        r[source] = ONE
    }
    loop {
        let pushes: Vec<bool> =
            (0..n).map(|v| degree[v] > 0 && r[v] >= epsilon * degree[v]).collect();
        let many = pushes.iter().filter(|pushes| **pushes).count() as u128;
        if many == 0 {
            return [p, r, made];
        }
        made[0] += 1;
        made[1] += many;
        let (mut new_p, mut new_r) = (p.clone(), r.clone());
        for v in (0..n).filter(|v| pushes[*v]) {
            let keep = r[v] * alpha / 4294967296;
            let each = (r[v] - keep) / degree[v];
            new_p[v] += keep;
            new_r[v] -= keep + each * degree[v];
            for w in 0..n {
                let to = if degree[w] == 0 { &mut new_p[w] } else { &mut new_r[w] };
                *to += arcs[v][w] * each;
            }
        }
        (p, r) = (new_p, new_r);
        assert_eq!(p.iter().chain(&r).sum::<u128>(), ONE, "the sum is 1 after each round");
    }
}

/// The exact vector: Gaussian elimination.
fn exact(graph: &Graph, source: usize, alpha: f64) -> Vec<f64> {
    let n = graph.nodes();
    let mut arcs = matrix(graph);
    for (v, row) in arcs.iter_mut().enumerate() {
        if row.iter().all(|many| *many == 0) {
            row[v] = 1;
        }
    }
    // Rows of I - (1 - alpha) P^T, and the right side.
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|v| {
            let of = |u: usize| {
                let part = arcs[u][v] as f64 / arcs[u].iter().sum::<u128>() as f64;
                f64::from(u == v) - (1.0 - alpha) * part
            };
            (0..n).map(of).chain([if v == source { alpha } else { 0.0 }]).collect()
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs())).unwrap();
        rows.swap(k, pivot);
        for other in (0..n).filter(|other| *other != k) {
            let factor = rows[other][k] / rows[k][k];
            let pivot = rows[k].clone();
            rows[other].iter_mut().zip(&pivot).for_each(|(x, y)| *x -= factor * y);
        }
    }
    (0..n).map(|v| rows[v][n] / rows[v][v]).collect()
}

fn asked(options: Value) -> RunConfig {
    RunConfig { own: own(options), ..RunConfig::default() }
}

#[test]
fn random_graphs_have_the_values_of_the_definition() {
    let fleets = ["host:1", "host:2", "host:3", "host:5"]
        .map(|devices| common::open_perturbed(&(devices.into(), CollectiveKind::Host), None));
    let (mut cut, mut absorbed, mut differ) = (0, 0, 0);
    for seed in 0..300 {
        let graph = Arc::new(random(seed));
        let n = graph.nodes();
        let alpha = [0.15, 0.5, 0.001, 0.999, 0.2718_f64][seed as usize % 5];
        let epsilon = [1e-3, 1e-10, 0.05, 1e-6, 0.9, 1.0_f64][seed as usize % 6];
        let epsilon = if alpha < 0.01 { epsilon.max(1e-3) } else { epsilon };
        let most = if seed % 3 == 0 { 3 } else { 100 };
        let options =
            json!({ "sources": "all", "alpha": alpha, "epsilon": epsilon, "top-nodes": most });
        let found: PersonalRanks =
            solved("ppr", &fleets[seed as usize % 4], &graph, &asked(options));
        let (mut rows, mut rounds, mut pushes) = (Vec::new(), 0, 0);
        for source in 0..n {
            let [p, r, made] = pushed(&graph, source, alpha, epsilon);
            rounds = made[0].max(rounds);
            pushes += made[1];
            let mut own: Vec<usize> = (0..n).filter(|v| p[*v] > 0).collect();
            own.sort_by_key(|v| (std::cmp::Reverse(p[*v]), *v));
            cut += usize::from(own.len() > most);
            own.truncate(most);
            rows.extend(own.iter().map(|v| (source as u32, *v as u32, p[*v] as f64 / ONE as f64)));
            // Not only the same, but right: between the exact value and the bound.
            let exact = exact(&graph, source, alpha);
            let (mut lacking, mut left) = (0.0, 0.0);
            for v in 0..n {
                let (value, degree) = (p[v] as f64 / ONE as f64, graph.degree(v) as f64);
                let short = exact[v] - value;
                assert!(
                    short > -1e-9,
                    "seed {seed}, from {source} to {v}: {value} of {}",
                    exact[v]
                );
                let bound = epsilon * degree + 1e-9;
                assert!(
                    seed % 2 > 0 || short < bound,
                    "seed {seed}, from {source} to {v}: {short}"
                );
                lacking += short;
                left += r[v] as f64 / ONE as f64;
                absorbed += usize::from(degree == 0.0 && v != source && value > 0.0);
                differ += usize::from(short > 1e-6);
            }
            assert!((lacking - left).abs() < 1e-9, "seed {seed}, from {source}: {lacking} {left}");
        }
        let all = found.source.iter().zip(&found.node).zip(&found.value);
        let all: Vec<_> = all.map(|((source, node), value)| (*source, *node, *value)).collect();
        assert!(all == rows, "seed {seed}: {all:?} for {rows:?}");
        assert_eq!((found.rounds as u128, found.pushes as u128), (rounds, pushes), "seed {seed}");
    }
    assert!(cut > 100 && absorbed > 100 && differ > 100, "{cut} {absorbed} {differ}");
}

fn cases() -> Vec<(&'static str, Graph)> {
    let one_way = (0..300u32).flat_map(|v| [(v, (v * 7 + 1) % 200, 1.5), (v / 3, v, 0.5)]);
    vec![
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(17, 16, true, 2)),
        ("star", common::star(700)),
        ("directed", graph_of(300, &one_way.collect::<Vec<_>>())),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &[(1, 0, 1.0)])),
    ]
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_values() {
    let cases: Vec<_> = cases().into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect();
    let mut first: HashMap<String, PersonalRanks> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph) in &cases {
            for options in [json!({ "epsilon": 1e-3 }), json!({ "top-nodes": 5, "epsilon": 0.01 })]
            {
                let told = format!("{name}, {options}");
                let config = RunConfig { merge: config.merge, ..asked(options) };
                let found: PersonalRanks = solved("ppr", fleet, graph, &config);
                let known = first.entry(told.clone()).or_insert_with(|| found.clone());
                assert!(
                    known.source == found.source && known.node == found.node,
                    "{told} on {how}"
                );
                assert!(known.value == found.value, "other values on {how}: {told}");
                let made = |found: &PersonalRanks| (found.sources, found.rounds, found.pushes);
                assert_eq!(made(known), made(&found), "{told} on {how}");
            }
        }
    });
}

#[test]
fn no_order_of_nodes_changes_a_row() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let mut known: Option<String> = None;
    for relabel in ["none", "random:3", "degree"] {
        let load = LoadOptions { relabel: relabel.parse().unwrap(), ..Default::default() };
        let graph = Arc::new(load_with("rmat:8", &load).unwrap());
        let config = asked(json!({ "sources": "0,7,200", "epsilon": 1e-5 }));
        let rows = csv_of(&outcome("ppr", &fleet, &graph, &config).unwrap());
        let known = known.get_or_insert_with(|| rows.clone());
        assert!(*known == rows, "{relabel} has other rows");
        assert!(known.lines().count() > 200);
    }
}

/// More sources than are pushed from at a time.
#[test]
fn batches_change_nothing() {
    let graph = Arc::new(common::skewed(8, 4, 3));
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let of = |sources: &str| -> PersonalRanks {
        let options = json!({ "sources": sources, "epsilon": 1e-3, "top-nodes": 4 });
        solved("ppr", &fleet, &graph, &asked(options))
    };
    let all = of("all");
    assert_eq!(all.sources, 256);
    for source in [0, 63, 64, 255] {
        let one = of(&source.to_string());
        let rows = (0..all.source.len()).filter(|row| all.source[*row] == source);
        let rows: Vec<_> = rows.map(|row| (all.node[row], all.value[row])).collect();
        assert!(rows == one.node.into_iter().zip(one.value).collect::<Vec<_>>(), "{source}");
    }
}

#[test]
fn the_checker_names_what_is_off() {
    let graph = common::grid(6, 5, false, 3);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let config = asked(json!({ "sources": "3,9,20", "top-nodes": 4, "epsilon": 1e-4 }));
    let ranks: PersonalRanks = solved("ppr", &fleet, &Arc::new(graph.clone()), &config);
    let question = PushQuestion { sources: &[3, 9, 20], alpha: 0.15, epsilon: 1e-4 };
    let found = PprFound { source: &ranks.source, node: &ranks.node, value: &ranks.value };
    assert_eq!(verify::ppr(&graph, question, 4, found).unwrap(), 3);
    let refused = |question: PushQuestion, most: usize, found: PprFound, what: &str| {
        let told = verify::ppr(&graph, question, most, found).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let mut value = ranks.value.clone();
    value[6] = f64::from_bits(value[6].to_bits() + 1);
    refused(question, 4, PprFound { value: &value, ..found }, "source 9: number 3 is node");
    let mut node = ranks.node.clone();
    node.swap(8, 9);
    refused(question, 4, PprFound { node: &node, ..found }, "source 20: number 1 is node");
    refused(question, 5, found, "source 3: number 5 is no more, and should be node");
    refused(question, 3, found, "source 3: 4 nodes of at most 3");
    let mut node = ranks.node.clone();
    node[5] = node[4];
    refused(question, 4, PprFound { node: &node, ..found }, "source 9: number 2 comes twice");
    node[5] = 30;
    refused(question, 4, PprFound { node: &node, ..found }, "source 9: node number 30");
    refused(PushQuestion { alpha: 0.16, ..question }, 4, found, "source 3: number 1");
    refused(PushQuestion { epsilon: 0.01, ..question }, 4, found, "source 3: number 1");
    refused(
        PushQuestion { sources: &[3, 9], ..question },
        4,
        found,
        "row 9: source 20 is not next",
    );
    refused(
        PushQuestion { sources: &[3, 20], ..question },
        4,
        found,
        "row 5: source 9 is not next",
    );
    refused(question, 4, PprFound { value: &value[1..], ..found }, "11 values");
    let less =
        PprFound { source: &found.source[..8], node: &found.node[..8], value: &found.value[..8] };
    refused(question, 4, less, "source 20: number 1 is no more");
}

/// Out-weights, and shares of arcs by ends: `[n][n]`.
fn shares(graph: &Graph, weighted: bool) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = graph.nodes();
    let mut arcs = vec![vec![0.0; n]; n];
    for (u, row) in arcs.iter_mut().enumerate() {
        graph
            .neighbors(u)
            .for_each(|(v, w)| row[v as usize] += if weighted { f64::from(w) } else { 1.0 });
    }
    let out: Vec<f64> = arcs.iter().map(|row| row.iter().sum()).collect();
    for (row, out) in arcs.iter_mut().zip(&out).filter(|(_, out)| **out > 0.0) {
        row.iter_mut().for_each(|arc| *arc /= out);
    }
    (out, arcs)
}

/// By the definition, `[n]` values, the iterations that were made, and the change in the last.
fn iterated(
    (out, arcs): &(Vec<f64>, Vec<Vec<f64>>),
    source: usize,
    d: f64,
    (most, tolerance): (u32, f64),
) -> (Vec<f64>, u32, f64) {
    let n = out.len();
    let mut x = vec![0.0; n];
    x[source] = 1.0;
    for made in 1.. {
        let dangling: f64 = (0..n).filter(|u| out[*u] == 0.0).map(|u| x[u]).sum();
        let come = |v: usize| -> f64 {
            let walks = (0..n).filter(|u| out[*u] > 0.0).map(|u| x[u] * arcs[u][v]).sum::<f64>();
            d * walks + if v == source { 1.0 - d + d * dangling } else { 0.0 }
        };
        let next: Vec<f64> = (0..n).map(come).collect();
        let change: f64 = x.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        x = next;
        if made == most || tolerance > 0.0 && change <= tolerance {
            return (x, made, change);
        }
    }
    unreachable!()
}

/// Rows of one source.
fn rows_of(found: &PersonalRanks, source: u32) -> Vec<(u32, f64)> {
    let all = (0..found.source.len()).filter(|row| found.source[*row] == source);
    all.map(|row| (found.node[row], found.value[row])).collect()
}

#[test]
fn power_iteration_has_the_values_of_the_definition() {
    let fleets = ["host:1", "host:2", "host:3", "host:5"]
        .map(|devices| common::open_perturbed(&(devices.into(), CollectiveKind::Host), None));
    let (mut dangling, mut weighing, mut cut, mut ran_out, mut met) = (0, 0, 0, 0, 0);
    for seed in 0..300u64 {
        let graph = Arc::new(match seed {
            0 => graph_of(3, &[]),
            1 => graph_of(1, &[]),
            2 => graph_of(1, &[(0, 0, 1.0)]),
            3 => graph_of(2, &[(1, 0, 0.5)]),
            4 => graph_of(2, &[(0, 1, 0.0)]),
            _ => random(seed),
        });
        let n = graph.nodes();
        let damping = [0.85, 0.5, 0.0, 0.99, 0.2718_f64][seed as usize % 5];
        let (iterations, tolerance) =
            [(100, 1e-6), (3, 1e-6), (7, 0.0), (1000, 1e-12), (50, 1e-3)][seed as usize / 5 % 5];
        let weighted = seed % 3 == 0;
        let most = if seed % 4 == 0 { 3 } else { 100 };
        let options = json!({
            "sources": "all", "method": "power", "damping": damping, "iterations": iterations,
            "tolerance": tolerance, "weighted": weighted, "top-nodes": most,
        });
        let found: PersonalRanks =
            solved("ppr", &fleets[seed as usize % 4], &graph, &asked(options.clone()));
        assert_eq!(found.sources, n as u64);
        let known = shares(&graph, weighted);
        for source in 0..n {
            let (right, made, change) = iterated(&known, source, damping, (iterations, tolerance));
            let told = format!("seed {seed}, source {source}: {options}");
            // A change may be at the tolerance but for rounding.
            assert!(found.iterations[source].abs_diff(made) <= 1, "{told}");
            if found.iterations[source] != made {
                assert!((change - tolerance).abs() < 1e-14, "{told}");
                continue;
            }
            assert!((found.changes[source] - change).abs() < 1e-13, "{told}");
            let rows = rows_of(&found, source as u32);
            for (node, value) in &rows {
                assert!((value - right[*node as usize]).abs() < 1e-13, "{told}, node {node}");
            }
            let mut order: Vec<usize> = (0..n).filter(|v| right[*v] > 1e-18).collect();
            order.sort_by(|a, b| right[*b].total_cmp(&right[*a]).then(a.cmp(b)));
            cut += usize::from(order.len() > most);
            order.truncate(most);
            assert!(rows.len() >= order.len() && rows.len() <= most, "{told}");
            for ((_, value), v) in rows.iter().zip(&order) {
                assert!((value - right[*v]).abs() < 1e-13, "{told}");
            }
            assert!(rows.is_sorted_by_key(|(node, value)| (Reverse(value.to_bits()), *node)));
            if rows.len() < most {
                let sum: f64 = rows.iter().map(|(_, value)| value).sum();
                assert!((sum - 1.0).abs() < 1e-12, "{told}: {sum}");
            }
            let others = (0..n).filter(|v| *v != source && known.0[*v] == 0.0);
            dangling += others.filter(|v| right[*v] > 0.0).count();
            weighing +=
                usize::from(weighted && known.1[source].iter().any(|x| *x > 0.0 && *x < 1.0));
            ran_out += usize::from(tolerance > 0.0 && change > tolerance);
            met += usize::from(tolerance > 0.0 && change <= tolerance);
        }
        let question = PowerQuestion {
            sources: &(0..n as u32).collect::<Vec<_>>(),
            damping,
            iterations,
            tolerance,
            weighted,
        };
        let rows = PprFound { source: &found.source, node: &found.node, value: &found.value };
        let found = PowerFound { rows, iterations: &found.iterations, changes: &found.changes };
        let check = verify::ppr_by_power(&graph, question, most, found).unwrap();
        assert_eq!(check.sources, n, "seed {seed}");
    }
    assert!(dangling > 100 && weighing > 100 && cut > 100, "{dangling} {weighing} {cut}");
    assert!(ran_out > 100 && met > 100, "{ran_out} {met}");
}

/// On symmetric graphs both methods solve one equation.
#[test]
fn push_and_power_iteration_find_the_same() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for (name, graph) in cases().into_iter().filter(|(name, _)| !["directed", "two"].contains(name))
    {
        let graph = Arc::new(graph);
        let of =
            |options: Value| -> PersonalRanks { solved("ppr", &fleet, &graph, &asked(options)) };
        let some = json!({ "sources": "first:1", "epsilon": 1e-10, "top-nodes": 1000 });
        let pushed = of(some);
        let some = json!({
            "sources": "first:1", "method": "power", "tolerance": 1e-13, "iterations": 1000,
            "top-nodes": 1000,
        });
        let powered = of(some);
        let values: HashMap<_, _> = powered.node.iter().zip(&powered.value).collect();
        for (node, value) in pushed.node.iter().zip(&pushed.value) {
            let other = *values[node];
            let bound = 1e-10 * graph.degree(*node as usize) as f64 + 1e-11;
            assert!((value - other).abs() < bound, "{name}, node {node}: {value} {other}");
        }
        assert!(powered.changes[0] <= 1e-13 && pushed.changes.is_empty());
    }
}

#[test]
fn power_iteration_has_the_same_bits_on_any_number_of_replicas_in_any_batch() {
    let mut cases = cases();
    // Rows that are added up in parts.
    cases.push(("hub", common::star(17_000)));
    let cases: Vec<_> = cases.into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect();
    let mut first: HashMap<String, PersonalRanks> = HashMap::new();
    common::everywhere(|fleet, config, how| {
        for (name, graph) in &cases {
            for options in [
                json!({ "method": "power" }),
                json!({ "method": "power", "weighted": true, "top-nodes": 5, "tolerance": 1e-3 }),
                // One source is a batch of its own.
                json!({ "method": "power", "sources": "0" }),
                json!({ "method": "power", "sources": "0", "weighted": true, "tolerance": 1e-3 }),
            ] {
                let (merge, all) = (config.merge, options.get("sources").is_none());
                let long = all && options.get("tolerance").is_none();
                // Hosts take long where all nodes are sources: they do it by one merge.
                let skipped = long && merge != MergeMode::Auto && fleet.info().backend == "host";
                if *name == "hub" && all || skipped {
                    continue;
                }
                let told = format!("{name}, {options}");
                let config = RunConfig { merge, ..asked(options) };
                let found: PersonalRanks = solved("ppr", fleet, graph, &config);
                let known = first.entry(told.clone()).or_insert_with(|| found.clone());
                assert!(
                    known.source == found.source && known.node == found.node,
                    "{told} on {how}"
                );
                assert!(known.value == found.value, "other values on {how}: {told}");
                let made = |found: &PersonalRanks| {
                    (found.iterations.clone(), found.changes.clone(), found.rounds)
                };
                assert_eq!(made(known), made(&found), "{told} on {how}");
            }
        }
    });
    // The first source, alone and among others.
    for (name, _) in cases.iter().filter(|(name, _)| !["hub", "skewed", "directed"].contains(name))
    {
        let of = |options: Value| &first[&format!("{name}, {options}")];
        let (all, alone) =
            (of(json!({ "method": "power" })), of(json!({ "method": "power", "sources": "0" })));
        let zero = rows_of(all, 0);
        assert!(zero.is_empty() || zero == rows_of(alone, 0), "{name}");
    }
}

/// More sources than are iterated from at a time, and fewer than there are lanes.
#[test]
fn batches_of_power_iteration_change_nothing() {
    let graph = Arc::new(common::skewed(8, 4, 3));
    let of = |devices: &str, sources: &str, weighted: bool| -> PersonalRanks {
        let fleet = common::open_perturbed(&(devices.into(), CollectiveKind::Host), None);
        let options = json!({
            "method": "power", "sources": sources, "top-nodes": 4, "weighted": weighted,
        });
        solved("ppr", &fleet, &graph, &asked(options))
    };
    for weighted in [false, true] {
        let all = of("host:1", "all", weighted);
        assert_eq!((all.sources, all.iterations.len()), (256, 256));
        assert!(all.iterations.iter().any(|made| *made != all.iterations[0]));
        for source in [0u32, 31, 32, 63, 64, 255] {
            let one = of("host:1", &source.to_string(), weighted);
            assert_eq!(rows_of(&all, source), rows_of(&one, source), "{source}");
            assert_eq!(all.iterations[source as usize], one.iterations[0], "{source}");
            assert_eq!(all.changes[source as usize], one.changes[0], "{source}");
        }
        for devices in ["host:2", "host:3", "host:5"] {
            let other = of(devices, "all", weighted);
            assert_eq!(all.node, other.node, "{devices}");
            assert_eq!(all.value, other.value, "{devices}");
            assert_eq!(all.iterations, other.iterations, "{devices}");
        }
    }
}

#[test]
fn no_order_of_nodes_changes_a_row_of_power_iteration() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for weighted in [false, true] {
        let mut known: Option<String> = None;
        for relabel in ["none", "random:3", "degree"] {
            let load = LoadOptions { relabel: relabel.parse().unwrap(), ..Default::default() };
            let graph = Arc::new(load_with("rmat:8", &load).unwrap());
            let options = json!({ "sources": "0,7,200", "method": "power", "weighted": weighted });
            let rows = csv_of(&outcome("ppr", &fleet, &graph, &asked(options)).unwrap());
            let known = known.get_or_insert_with(|| rows.clone());
            assert!(*known == rows, "{relabel} has other rows");
            assert!(known.lines().count() > 200);
        }
    }
}

/// Values of `pagerank(personalization={s: 1})` of NetworkX, which leads dangling nodes to where walks restart, too.
#[test]
fn power_iteration_has_the_values_of_networkx() {
    let fleets = ["host:1", "host:3"]
        .map(|devices| common::open_perturbed(&(devices.into(), CollectiveKind::Host), None));
    let known: Value = serde_json::from_str(include_str!("../data/ppr-networkx.json")).unwrap();
    let cases = known["cases"].as_array().unwrap();
    assert!(cases.len() > 20);
    for (case, fleet) in cases.iter().zip(fleets.iter().cycle()) {
        let number = |value: &Value| value.as_u64().unwrap() as u32;
        let arcs = case["arcs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arc| (number(&arc[0]), number(&arc[1]), arc[2].as_f64().unwrap() as f32));
        let graph = Arc::new(graph_of(number(&case["nodes"]) as usize, &arcs.collect::<Vec<_>>()));
        let source = number(&case["source"]);
        let options = json!({
            "sources": source.to_string(), "method": "power", "damping": case["damping"],
            "weighted": case["weighted"], "tolerance": 1e-13, "iterations": 10000,
        });
        let found: PersonalRanks = solved("ppr", fleet, &graph, &asked(options));
        let mut values = vec![0.0; graph.nodes()];
        rows_of(&found, source).iter().for_each(|(node, value)| values[*node as usize] = *value);
        let right = case["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap());
        let off: f64 = values.iter().zip(right).map(|(a, b)| (a - b).abs()).sum();
        assert!(off < 1e-10, "{} from {source}: {off} in L1", case["name"]);
    }
}

#[test]
fn the_checker_of_power_iteration_names_what_is_off() {
    let graph = common::grid(6, 5, false, 3);
    let fleet = common::open_perturbed(&("host:1".into(), CollectiveKind::Host), None);
    let config = asked(json!({ "sources": "3,9,20", "top-nodes": 4, "method": "power" }));
    let ranks: PersonalRanks = solved("ppr", &fleet, &Arc::new(graph.clone()), &config);
    let question = PowerQuestion {
        sources: &[3, 9, 20],
        damping: 0.85,
        iterations: 100,
        tolerance: 1e-6,
        weighted: false,
    };
    let rows = PprFound { source: &ranks.source, node: &ranks.node, value: &ranks.value };
    let found = PowerFound { rows, iterations: &ranks.iterations, changes: &ranks.changes };
    let check = verify::ppr_by_power(&graph, question, 4, found).unwrap();
    assert!(check.sources == 3 && check.residual > 0.0 && check.residual <= 1e-6);
    let (node, value) = (&ranks.node[..], &ranks.value[..]);
    let (made, changes) = (&ranks.iterations[..], &ranks.changes[..]);
    let refused = |(question, most): (PowerQuestion, usize),
                   (node, value): (&[u32], &[f64]),
                   (iterations, changes): (&[u32], &[f64]),
                   what: &str| {
        let rows = PprFound { source: &ranks.source, node, value };
        let found = PowerFound { rows, iterations, changes };
        let told = verify::ppr_by_power(&graph, question, most, found).unwrap_err().to_string();
        assert!(told.contains(what), "{told}");
    };
    let asked = (question, 4);
    let changed = |at: usize, to: f64| {
        let mut value = value.to_vec();
        value[at] = to;
        value
    };
    let off = changed(6, value[6] * (1.0 - 1e-10));
    refused(asked, (node, &off), (made, changes), "source 9: number 3 is node");
    refused(asked, (node, &changed(0, f64::NAN)), (made, changes), "source 3: node number");
    let mut others = node.to_vec();
    others.swap(8, 11);
    refused(asked, (&others, value), (made, changes), "source 20: number 1 is node");
    // Another node than that of the fourth value.
    let mut others = node.to_vec();
    others[3] = 29;
    refused(asked, (&others, value), (made, changes), "source 3: number 4 is node");
    refused((question, 5), (node, value), (made, changes), "is not listed");
    refused((question, 3), (node, value), (made, changes), "source 3: 4 nodes of at most 3");
    let with = |question: PowerQuestion, what: &str| {
        refused((question, 4), (node, value), (made, changes), what)
    };
    with(PowerQuestion { damping: 0.84, ..question }, "source 3: ");
    with(PowerQuestion { iterations: 10, ..question }, "of 1 to 10");
    with(PowerQuestion { tolerance: 1e-9, ..question }, "the last of which went");
    with(PowerQuestion { tolerance: 1e-3, ..question }, "but number");
    with(PowerQuestion { sources: &[3, 9], ..question }, "of 2 sources");
    let more: Vec<u32> = made.iter().map(|made| made + 1).collect();
    refused(asked, (node, value), (&more, changes), "source 3: ");
    let less: Vec<f64> = changes.iter().map(|change| change * 0.99).collect();
    refused(asked, (node, value), (made, &less), "a last change of");
}

#[test]
fn what_the_program_writes_and_refuses() {
    // A path: 7 is in the middle.
    let record = common::answered("ppr", "5 7\n7 9\n9 11\n", &["source,node,value"]);
    assert_eq!((&record["sources-pushed"], &record["kept"]), (&json!(4), &json!(16)));
    assert_eq!((&record["verified"], &record["strategy"]), (&json!("yes"), &json!("push")));
    let record = common::answered_with(
        "ppr",
        "5 7\n7 9\n9 11\n",
        &["--method", "power"],
        &["source,node,value"],
    );
    assert_eq!((&record["sources-iterated"], &record["kept"]), (&json!(4), &json!(16)));
    assert_eq!((&record["verified"], &record["strategy"]), (&json!("yes"), &json!("power")));
    let power = |option, value| vec!["--method", "power", option, value];
    let cases: [(&[&str], &str); 20] = [
        (&["--alpha", "0"], "--alpha 0"),
        (&["--alpha", "1"], "--alpha 1"),
        (&["--alpha", "nan"], "--alpha"),
        (&["--epsilon", "0"], "--epsilon 0"),
        (&["--epsilon", "2"], "--epsilon 2"),
        (&["--epsilon", "-1e-3"], "--epsilon -0.001"),
        (&["--top-nodes", "0"], "--top-nodes 0"),
        (&["--sources", "5,5"], "listed twice"),
        (&["--sources", "256"], "no node 256"),
        (&["--top", "3"], "--top"),
        (&["--method", "pull"], "--method pull: not understood; use push or power"),
        (&power("--damping", "1"), "--damping 1: use 0 to 0.999"),
        (&power("--damping", "nan"), "--damping NaN"),
        (&power("--damping", "-0.1"), "--damping -0.1"),
        (&power("--iterations", "0"), "--iterations 0"),
        (&power("--tolerance", "-1"), "--tolerance -1"),
        (&power("--tolerance", "inf"), "--tolerance inf"),
        (&power("--epsilon", "1e-3"), "--method power with --alpha or --epsilon"),
        (&["--damping", "0.5"], "--method push with --damping"),
        (&["--weighted"], "--method push with --damping"),
    ];
    for (args, what) in cases {
        let ended = common::runs("ppr", &[&["--graph", "rmat:8"], args].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what), "{}", ended.err);
        assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    }
}
