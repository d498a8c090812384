//! Closeness, harmonic centrality and eccentricity: the same bits on any number of replicas, and those of a serial search.

use crate::common;
use crate::common::{graph_of, own, solved};
use hivegraph::algorithm::closeness::Closeness;
use hivegraph::graph::Graph;
use hivegraph::run::RunConfig;
use hivegraph::verify::{self, ClosenessBy, ClosenessFound, ClosenessOf};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;

/// `[n]` distances along the arcs from `source`.
fn distances(graph: &Graph, source: usize) -> Vec<Option<u64>> {
    let mut found = vec![None; graph.nodes()];
    found[source] = Some(0);
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for (v, _) in graph.neighbors(u) {
            if found[v as usize].is_none() {
                found[v as usize] = found[u].map(|d: u64| d + 1);
                queue.push_back(v as usize);
            }
        }
    }
    found
}

/// Closeness, harmonic centrality, eccentricity and reached sources of each node, by the definition.
fn defined(
    graph: &Graph,
    sources: &[usize],
    (out, within): (bool, u64),
) -> Vec<(f64, f64, u64, u64)> {
    let n = graph.nodes();
    let from: Vec<_> = (0..n).map(|u| distances(graph, u)).collect();
    let of = |v: usize| {
        let others: Vec<usize> = sources.iter().copied().filter(|s| *s != v).collect();
        let all = others.iter().filter_map(|s| if out { from[v][*s] } else { from[*s][v] });
        let all: Vec<u64> = all.filter(|d| *d <= within).collect();
        let (reached, many) = (all.len() as f64, others.len().max(1) as f64);
        let far = all.iter().sum::<u64>() as f64;
        let closeness = if far > 0.0 { reached / far * (reached / many) } else { 0.0 };
        let harmonic = all.iter().map(|d| 1.0 / *d as f64).sum::<f64>() * (n as f64 - 1.0) / many;
        (closeness, harmonic, all.iter().copied().max().unwrap_or(0), all.len() as u64)
    };
    (0..n).map(of).collect()
}

fn cases() -> Vec<(&'static str, Graph)> {
    let n = 300u32;
    let path = (1..n).flat_map(|v| [(v - 1, v, 1.0), (v, v - 1, 2.0)]);
    let odd = [(7, 7, 1.0), (8, 9, 1.0), (8, 9, 3.0), (9, 250, 1.0), (299, 4, 1.0)];
    let one_way = (0..n).flat_map(|v| [(v, (v * 7 + 1) % 200, 1.0), (v / 3, v, 0.5)]);
    // One hub has arcs to most nodes, another from them: rows that GPUs deal to many warps.
    let hubs = (3..1400).flat_map(|v| {
        let ring = (v % 5 != 0).then_some((v, v + 1 - 1397 * u32::from(v == 1399), 1.0));
        [Some((0, v, 1.0)), Some((v, 1 + v % 2, 1.0)), ring].into_iter().flatten()
    });
    let hubs: Vec<_> = hubs.chain([(1, 0, 1.0), (2, 7, 1.0)]).collect();
    vec![
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(17, 16, false, 2)),
        ("path", graph_of(n as usize, &path.collect::<Vec<_>>())),
        ("directed", graph_of(n as usize, &one_way.chain(odd).collect::<Vec<_>>())),
        (
            "cycle one way",
            graph_of(130, &(0..130).map(|v| (v, (v + 1) % 130, 1.0)).collect::<Vec<_>>()),
        ),
        ("hubs", graph_of(1400, &hubs)),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("two", graph_of(2, &[(1, 0, 1.0)])),
    ]
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_bits_and_those_of_the_definition() {
    let mut asked = Vec::new();
    for (name, graph) in cases() {
        let graph = Arc::new(graph);
        let n = graph.nodes();
        for out in [false, true] {
            let way = if out { "out" } else { "in" };
            let all: Vec<usize> = (0..n).collect();
            let options = own(json!({ "mode": way }));
            asked.push((name, graph.clone(), options, defined(&graph, &all, (out, u64::MAX))));
            let some: Vec<usize> = (0..n).step_by(3).collect();
            let list = some.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let options = own(json!({ "mode": way, "sources": list, "within": 3.5 }));
            asked.push((name, graph.clone(), options, defined(&graph, &some, (out, 3))));
            // Batches of other lengths, of two words and of part of one; and those whose last level leaves bits.
            for within in [None, Some(2)] {
                let options =
                    own(json!({ "mode": way, "sources": list, "batch": 70, "within": within }));
                let right = defined(&graph, &some, (out, within.unwrap_or(u64::MAX)));
                asked.push((name, graph.clone(), options, right));
            }
        }
    }
    let mut first: Option<Vec<Closeness>> = None;
    common::everywhere(|fleet, config, how| {
        let mut answers = Vec::new();
        for (name, graph, options, right) in &asked {
            let config =
                RunConfig { own: options.clone(), merge: config.merge, ..RunConfig::default() };
            let answer: Closeness = solved("closeness", fleet, graph, &config);
            for (v, (closeness, harmonic, eccentricity, reached)) in right.iter().enumerate() {
                let told = format!("{name} on {how}, {options:?}, node {v}");
                assert!((answer.closeness[v] - closeness).abs() <= 1e-12, "{told}: closeness");
                assert!((answer.harmonic[v] - harmonic).abs() <= 1e-9, "{told}: harmonic");
                assert_eq!(answer.eccentricity.of(v), *eccentricity as f64, "{told}: eccentricity");
                assert_eq!(u64::from(answer.reached[v]), *reached, "{told}: reached");
            }
            answers.push(answer);
        }
        let known = first.get_or_insert_with(|| answers.clone());
        for (known, answer) in known.iter().zip(&answers) {
            assert!(known.closeness == answer.closeness, "other bits on {how}");
            assert!(known.harmonic == answer.harmonic, "other bits on {how}");
        }
    });
}

/// `[bins]` pairs at distances d with k width <= d < (k + 1) width.
fn counted(
    graph: &Graph,
    sources: &[usize],
    (out, within): (bool, f64),
    (weighted, width): (bool, f64),
) -> Vec<u64> {
    let row = |u: usize| -> Vec<f64> {
        match weighted {
            true => common::dijkstra_f32(graph, &[u as u32]).into_iter().map(f64::from).collect(),
            false => distances(graph, u)
                .into_iter()
                .map(|d| d.map_or(f64::INFINITY, |d| d as f64))
                .collect(),
        }
    };
    let n = graph.nodes();
    let from: Vec<Vec<f64>> = (0..n).map(row).collect();
    let mut counts = Vec::new();
    for (v, s) in (0..n).flat_map(|v| sources.iter().map(move |s| (v, *s))).filter(|(v, s)| v != s)
    {
        let distance = if out { from[v][s] } else { from[s][v] };
        if distance <= within.min(f64::MAX) {
            let bin = (distance / width) as usize;
            counts.resize(counts.len().max(bin + 1), 0);
            counts[bin] += 1;
        }
    }
    counts
}

#[test]
fn pairs_are_counted_by_distance_on_any_number_of_replicas() {
    let more = [
        ("zeros", common::zeros_and_parallels(90)),
        ("flat", common::grid(23, 14, true, 5)),
        ("long", graph_of(300, &(1..300).map(|v| (v - 1, v, 0.25)).collect::<Vec<_>>())),
    ];
    let mut asked = Vec::new();
    let hubs = |case: &(&str, Graph)| case.0 != "hubs";
    for (name, graph) in cases().into_iter().filter(hubs).chain(more) {
        let (n, graph) = (graph.nodes(), Arc::new(graph));
        let some: Vec<usize> = (0..n).step_by(2).collect();
        let list = some.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let cases = [
            (false, "auto", false, 1e9, 1.0, 1024),
            (true, "auto", false, 4.0, 2.0, 70),
            (false, "auto", true, 1e9, 0.75, 1024),
            (true, "auto", true, 6.5, 1.0, 1024),
            (true, "f64", true, 1e9, 2.5, 1024),
        ];
        for (out, precision, weighted, within, width, batch) in cases {
            let options = own(json!({
                "mode": if out { "out" } else { "in" }, "sources": list, "weighted": weighted, "precision": precision,
                "within": within, "histogram": width, "batch": batch
            }));
            let right = counted(&graph, &some, (out, within), (weighted, width));
            asked.push((name, graph.clone(), options, right));
        }
    }
    common::everywhere(|fleet, config, how| {
        for (name, graph, options, right) in &asked {
            let config =
                RunConfig { own: options.clone(), merge: config.merge, ..RunConfig::default() };
            let answer: Closeness = solved("closeness", fleet, graph, &config);
            let counts = answer.histogram.map(|histogram| histogram.counts);
            assert_eq!(counts.as_ref(), Some(right), "{name} on {how}, {options:?}");
        }
    });
}

/// The same of the least sums of weights. Sources at distance 0 have no inverse.
fn defined_by_weight(
    graph: &Graph,
    sources: &[usize],
    (out, within): (bool, f64),
) -> Vec<[f64; 4]> {
    let n = graph.nodes();
    let from: Vec<Vec<f32>> = (0..n).map(|u| common::dijkstra_f32(graph, &[u as u32])).collect();
    let of = |v: usize| {
        let others: Vec<usize> = sources.iter().copied().filter(|s| *s != v).collect();
        let all = others.iter().map(|s| if out { from[v][*s] } else { from[*s][v] });
        let all: Vec<f64> = all.map(f64::from).filter(|d| *d <= within).collect();
        let (reached, many) = (all.len() as f64, others.len().max(1) as f64);
        let far = all.iter().sum::<f64>();
        let closeness = if far > 0.0 { reached / far * (reached / many) } else { 0.0 };
        let inverse = all.iter().map(|d| if *d > 0.0 { 1.0 / d } else { 0.0 }).sum::<f64>();
        let farthest = all.iter().copied().fold(0.0, f64::max);
        [closeness, inverse * (n as f64 - 1.0) / many, farthest, reached]
    };
    (0..n).map(of).collect()
}

#[test]
fn weights_are_added_up_to_the_same_bits_on_any_number_of_replicas() {
    let mut asked = Vec::new();
    let more = [
        ("zeros", common::zeros_and_parallels(90)),
        // What loops weigh is in no path.
        ("loops", {
            let loops = (0..100).map(|_| (2, 2, 0.0));
            graph_of(9, &loops.chain([(0, 1, 1.0), (1, 5, 2.0)]).collect::<Vec<_>>())
        }),
        // The least sum is nothing beside the largest.
        ("far apart", graph_of(5, &[(0, 1, 1e-9), (1, 2, 3.0), (2, 3, 1e6), (4, 2, 7.5)])),
        ("flat", common::grid(23, 14, true, 5)),
        ("fractions", {
            let weight = |v: u32| 0.001 + (v * 7919 % 1000) as f32 / 37.0;
            let arcs = (0..200).flat_map(|v| {
                [(v, (v + 1) % 200, weight(v)), (v, v * v % 200, weight(v + 3) * 4.0)]
            });
            graph_of(200, &arcs.collect::<Vec<_>>())
        }),
    ];
    let hubs = |case: &(&str, Graph)| case.0 != "hubs";
    for (name, graph) in cases().into_iter().filter(hubs).chain(more) {
        let (n, graph) = (graph.nodes(), Arc::new(graph));
        let ways =
            [(false, "auto", 1e9), (true, "auto", 1e9), (false, "f64", 1e9), (true, "f64", 6.5)];
        for (out, precision, within) in ways {
            let way = if out { "out" } else { "in" };
            let some: Vec<usize> = (0..n).step_by(2).collect();
            let list = some.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let options = own(json!({
                "mode": way, "sources": list, "weighted": true, "precision": precision, "within": within
            }));
            let right = defined_by_weight(&graph, &some, (out, within));
            asked.push((name, graph.clone(), options, right));
        }
    }
    let mut first: Option<Vec<Closeness>> = None;
    common::everywhere(|fleet, config, how| {
        let mut answers = Vec::new();
        for (name, graph, options, right) in &asked {
            let config =
                RunConfig { own: options.clone(), merge: config.merge, ..RunConfig::default() };
            let answer: Closeness = solved("closeness", fleet, graph, &config);
            for (v, right) in right.iter().enumerate() {
                let [closeness, harmonic, eccentricity] =
                    [answer.closeness[v], answer.harmonic[v], answer.eccentricity.of(v)];
                let found = [closeness, harmonic, eccentricity, answer.reached[v].into()];
                let near = |at: usize| (found[at] - right[at]).abs() <= 1e-5 * right[at];
                let all = (0..4).all(near) && found[3] == right[3];
                assert!(all, "{name} on {how}, {options:?}, node {v}: {found:?}, not {right:?}");
            }
            if *name == "flat" && fleet.info().backend == "cuda" && fleet.world() < 4 {
                let copies = format!("{options:?}").contains("auto");
                assert_eq!(answer.strategy == "copies", copies, "{how}, {options:?}");
            }
            answers.push(answer);
        }
        let known = first.get_or_insert_with(|| answers.clone());
        for (known, answer) in known.iter().zip(&answers) {
            assert!(known.closeness == answer.closeness, "other bits on {how}");
            assert!(known.harmonic == answer.harmonic, "other bits on {how}");
            assert!(known.eccentricity == answer.eccentricity, "other bits on {how}");
        }
    });
}

#[test]
fn the_checker_knows_weights_and_what_rounding_may_do() {
    let weight = |v: u32| (2 + v % 5) as f32;
    let arcs = (0..30).flat_map(|v| [(v, (v + 1) % 30, weight(v)), ((v + 4) % 30, v, weight(v))]);
    let graph = graph_of(30, &arcs.collect::<Vec<_>>());
    let sources: Vec<u32> = (0..30).collect();
    let right = defined_by_weight(&graph, &(0..30).collect::<Vec<_>>(), (false, f64::MAX));
    let column = |at: usize| right.iter().map(|of| of[at]).collect::<Vec<f64>>();
    let reached: Vec<u32> = column(3).into_iter().map(|many| many as u32).collect();
    let [closeness, harmonic, eccentricity] = [0, 1, 2].map(column);
    let found = ClosenessFound {
        closeness: &closeness,
        harmonic: &harmonic,
        eccentricity: &eccentricity,
        reached: &reached,
        histogram: None,
    };
    for by in [ClosenessBy::Weights32, ClosenessBy::Weights64] {
        assert_eq!(verify::closeness(&graph, &sources, of(by), found).unwrap(), 30);
    }
    let mut wrong = harmonic.clone();
    wrong[17] *= 1.0 + 1e-7;
    let nearly = ClosenessFound { harmonic: &wrong, ..found };
    let by = |by| verify::closeness(&graph, &sources, of(by), nearly);
    by(ClosenessBy::Weights32).unwrap();
    let told = by(ClosenessBy::Weights64).unwrap_err().to_string();
    assert!(told.contains("node 17: harmonic is"), "{told}");
    let told =
        verify::closeness(&graph, &sources, of(ClosenessBy::Arcs), found).unwrap_err().to_string();
    assert!(told.contains("node 0: eccentricity is"), "{told}");
}

fn of(by: ClosenessBy) -> ClosenessOf {
    ClosenessOf { by, out: false, within: None }
}

#[test]
fn the_checker_accepts_what_is_right_and_names_the_value_that_is_off() {
    let graph = common::grid(6, 5, false, 3);
    let sources: Vec<u32> = (0..30).collect();
    let all: Vec<usize> = (0..30).collect();
    let right = defined(&graph, &all, (false, u64::MAX));
    let closeness: Vec<f64> = right.iter().map(|of| of.0).collect();
    let harmonic: Vec<f64> = right.iter().map(|of| of.1).collect();
    let eccentricity: Vec<f64> = right.iter().map(|of| of.2 as f64).collect();
    let reached: Vec<u32> = right.iter().map(|of| of.3 as u32).collect();
    let found = ClosenessFound {
        closeness: &closeness,
        harmonic: &harmonic,
        eccentricity: &eccentricity,
        reached: &reached,
        histogram: None,
    };
    assert_eq!(verify::closeness(&graph, &sources, of(ClosenessBy::Arcs), found).unwrap(), 30);
    let refused = |found: ClosenessFound, what: &str| {
        let told = verify::closeness(&graph, &sources, of(ClosenessBy::Arcs), found)
            .unwrap_err()
            .to_string();
        assert!(told.contains(what), "{told}");
    };
    let mut wrong = closeness.clone();
    wrong[4] *= 1.0 + 1e-9;
    refused(ClosenessFound { closeness: &wrong, ..found }, "node 4: closeness is");
    let mut wrong = harmonic.clone();
    wrong[29] = f64::NAN;
    refused(ClosenessFound { harmonic: &wrong, ..found }, "node 29: harmonic is NaN");
    let mut wrong = eccentricity.clone();
    wrong[0] -= 1.0;
    refused(ClosenessFound { eccentricity: &wrong, ..found }, "node 0: eccentricity is");
    let mut wrong = reached.clone();
    wrong[7] += 1;
    refused(ClosenessFound { reached: &wrong, ..found }, "node 7: reached is 30, and is 29");
    refused(ClosenessFound { reached: &wrong[..3], ..found }, "3 values");
    let mut counts = counted(&graph, &all, (false, f64::MAX), (false, 2.0));
    let by_two = ClosenessFound { histogram: Some((2.0, &counts)), ..found };
    verify::closeness(&graph, &sources, of(ClosenessBy::Arcs), by_two).unwrap();
    (counts[1], counts[2]) = (counts[1] + 1, counts[2] - 1);
    refused(ClosenessFound { histogram: Some((2.0, &counts)), ..found }, "histogram: bin 1 has");
    (counts[1], counts[2]) = (counts[1] - 1, counts[2] + 1);
    counts.pop();
    refused(ClosenessFound { histogram: Some((2.0, &counts)), ..found }, "should have");
}

#[test]
fn what_the_program_writes_and_refuses() {
    let record = common::answered(
        "closeness",
        "5 7\n7 9\n9 11\n",
        &[
            "node,closeness,harmonic,eccentricity,reached",
            "7,0.75,2.5,2,3",
            "11,0.5,1.8333333333333333,3,3",
        ],
    );
    assert_eq!(record["sources-searched"], 4);
    assert_eq!(record["farthest"], 3);
    assert_eq!(record["radius"], 2);
    assert_eq!(record["mean-distance"], 20.0 / 12.0);
    assert_eq!(record["verified"], "yes");
    let cases: [(&[&str], &str); 9] = [
        (&["--sources", "5,5"], "listed twice"),
        (&["--sources", "first:0"], "--sources"),
        (&["--sources", "999999"], "999999"),
        (&["--mode", "up"], "--mode"),
        (&["--within", "-1"], "--within -1: a distance is 0 or more"),
        (&["--precision", "f64"], "use it with --weighted"),
        (&["--histogram", "0.5"], "--histogram 0.5: a width is a whole number of arcs, 1 or more"),
        (&["--weighted", "--histogram", "0"], "--histogram 0: a width is a number above 0"),
        (&["--weighted", "--histogram", "0.00001"], "; use --histogram 0.0"),
    ];
    for (args, what) in cases {
        let ended = common::runs("closeness", &[&["--graph", "rmat:8"], args].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what), "{}", ended.err);
    }
    let path: String = (0..8).map(|v| format!("{v} {}\n", v + 1)).collect();
    let record = common::answered_with("closeness", &path, &["--histogram", "1"], &[]);
    assert_eq!(
        record["histogram"],
        json!({ "width": 1.0, "counts": [0, 16, 14, 12, 10, 8, 6, 4, 2] })
    );
    // Of 72 pairs 64.8 are within it: 60 within 5 arcs, and 4.8 of the 6 at 6.
    assert_eq!(record["effective-diameter"], 5.8);
    for (rank, first) in
        [("closeness", "closeness"), ("harmonic", "harmonic"), ("eccentricity", "eccentricity")]
    {
        let ended =
            common::runs("closeness", &["--graph", "star:9", "--rank-by", rank, "--top", "1"]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.out.contains(first) && ended.out.contains('0'), "{}", ended.out);
    }
}
