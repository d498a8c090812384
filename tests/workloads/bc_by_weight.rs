//! Betweenness by weight: Brandes' algorithm as it was published, on any number of replicas, by any merge, to the bit.

use crate::common;
use crate::common::{graph_of, hash};
use hivegraph::algorithm::bc::{scale, scale_subset};
use hivegraph::algorithm::{BcConfig, Betweenness, MergeMode, Seeds, bc};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::verify::{self, BetweennessQuestion};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What is asked, by node indices.
#[derive(Clone, Default, Debug)]
struct Asked {
    sources: Vec<u32>,
    targets: Option<Vec<u32>>,
    normalized: bool,
    endpoints: bool,
}

impl Asked {
    fn of(sources: impl IntoIterator<Item = u32>) -> Asked {
        Asked { sources: sources.into_iter().collect(), ..Asked::default() }
    }

    fn config(&self, graph: &Graph) -> BcConfig {
        BcConfig {
            sources: Some(Seeds::of_nodes(graph, &self.sources)),
            targets: self.targets.as_ref().map(|targets| Seeds::of_nodes(graph, targets)),
            weighted: true,
            normalized: self.normalized,
            endpoints: self.endpoints,
            ..BcConfig::default()
        }
    }

    fn question(&self) -> BetweennessQuestion<'_> {
        BetweennessQuestion {
            sources: &self.sources,
            targets: self.targets.as_deref(),
            weighted: true,
            normalized: self.normalized,
            endpoints: self.endpoints,
            tolerance: 1e-9,
        }
    }
}

/// The lightest arc from u to v, for each v but u.
fn row(graph: &Graph, u: usize) -> Vec<(usize, f64)> {
    let mut row: Vec<(usize, f64)> = Vec::new();
    for (v, weight) in graph.neighbors(u).map(|(v, weight)| (v as usize, f64::from(weight))) {
        match row.iter_mut().find(|arc| arc.0 == v) {
            Some(arc) => arc.1 = arc.1.min(weight),
            None if v != u => row.push((v, weight)),
            None => {}
        }
    }
    row
}

/// Brandes 2001, figure 1, with the nearest node that is not settled in place of the queue.
fn brandes(graph: &Graph, asked: &Asked) -> Vec<f64> {
    let n = graph.nodes();
    let rows: Vec<_> = (0..n).map(|u| row(graph, u)).collect();
    let directed = (0..n).any(|u| rows[u].iter().any(|(v, w)| !rows[*v].contains(&(u, *w))));
    let is_target =
        |v: usize| asked.targets.as_ref().is_none_or(|targets| targets.contains(&(v as u32)));
    let mut scores = vec![0.0; n];
    for s in asked.sources.iter().map(|s| *s as usize) {
        let (mut sigma, mut dist, mut settled) =
            (vec![0.0; n], vec![f64::INFINITY; n], vec![false; n]);
        let mut tails: Vec<Vec<usize>> = vec![Vec::new(); n];
        (sigma[s], dist[s]) = (1.0, 0.0);
        let mut stack = Vec::new();
        let nearest = |dist: &[f64], settled: &[bool]| {
            let open = (0..n).filter(|v| !settled[*v] && dist[*v].is_finite());
            open.min_by(|a, b| dist[*a].total_cmp(&dist[*b]))
        };
        while let Some(v) = nearest(&dist, &settled) {
            settled[v] = true;
            stack.push(v);
            for &(w, weight) in &rows[v] {
                let far = dist[v] + weight;
                if far < dist[w] {
                    (dist[w], sigma[w]) = (far, 0.0);
                    tails[w].clear();
                }
                if far == dist[w] {
                    sigma[w] += sigma[v];
                    tails[w].push(v);
                }
            }
        }
        let end = f64::from(u8::from(asked.endpoints));
        scores[s] += end * (stack.len() - 1) as f64;
        let mut delta = vec![0.0; n];
        for w in stack.into_iter().rev() {
            for v in &tails[w] {
                let one = f64::from(u8::from(is_target(w)));
                delta[*v] += sigma[*v] / sigma[w] * (one + delta[w]);
            }
            if w != s {
                scores[w] += delta[w] + end;
            }
        }
    }
    match asked.targets {
        Some(_) => scale_subset(&mut scores, directed, asked.normalized),
        None => scale(&mut scores, &asked.sources, directed, asked.normalized, asked.endpoints),
    }
    scores
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
        let slack = 1e-9 * expected.abs().max(1.0);
        let same = found.is_nan() && expected.is_nan() || (found - expected).abs() <= slack;
        assert!(same, "{what}: node {v} has {found}, not {expected}");
    }
}

fn fleet(devices: &str) -> Fleet {
    common::open(devices, CollectiveKind::Auto, FleetConfig::default())
}

fn found(fleet: &Fleet, graph: &Arc<Graph>, config: &BcConfig) -> hivegraph::Result<Betweenness> {
    let prepared = Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap();
    bc(fleet, &prepared, config)
}

/// A graph of few weights, so that many paths are equally long; with loops and parallel arcs.
fn drawn(seed: u64) -> Graph {
    let draw = |i: u64, below: u64| hash(seed, i) % below;
    let n = [1, 2, 3, 9, 25, 60][draw(0, 6) as usize];
    let weights =
        [&[1.0, 2.0, 3.0][..], &[0.5, 0.75, 1.25], &[0.1, 0.2, 0.3], &[1.0], &[3e7, 1.0, 2.0]]
            [draw(1, 5) as usize];
    let mut arcs = Vec::new();
    for i in 0..n * draw(2, 6) {
        let (u, v) = (draw(10 + 3 * i, n) as u32, draw(11 + 3 * i, n) as u32);
        let weight = weights[draw(12 + 3 * i, weights.len() as u64) as usize];
        arcs.push((u, v, weight));
        if seed.is_multiple_of(2) && u != v {
            arcs.push((v, u, weight));
        }
    }
    graph_of(n as usize, &arcs)
}

fn cases() -> Vec<(&'static str, Arc<Graph>, Asked)> {
    let hub = (1..1500u32).flat_map(|v| {
        let ring = (v, 1 + v % 1499, 1.0);
        [(0, v, 2.0), (v, 0, 2.0), ring, (ring.1, ring.0, 1.0)]
    });
    let asked = |n: usize, count: usize| Asked::of((0..count).map(|i| (i * n / count) as u32));
    let cases = [
        ("skewed", common::skewed(9, 6, 1), 12),
        ("grid", common::grid(13, 12, true, 2), 9),
        ("long grid", common::grid(3, 120, true, 2), 5),
        ("hub", graph_of(1500, &hub.collect::<Vec<_>>()), 5),
        ("directed", common::directed(400, 3, 6), 7),
        ("two components", common::two_components(300), 9),
        ("no arcs", graph_of(40, &[]), 3),
    ];
    let cases = cases.into_iter();
    cases
        .map(|(name, graph, k)| {
            let of = asked(graph.nodes(), k);
            (name, Arc::new(graph), of)
        })
        .collect()
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_bits_and_those_of_brandes() {
    // Hosts go in rounds from one source, and take several a thread each.
    let cases = cases().into_iter().flat_map(|(name, graph, asked)| {
        let one = Asked::of([asked.sources[1]]);
        [asked, one].map(|asked| (name, graph.clone(), brandes(&graph, &asked), asked))
    });
    let cases: Vec<_> = cases.collect();
    let mut first: HashMap<String, Vec<u64>> = HashMap::new();
    common::everywhere(|fleet, run, how| {
        if run.merge == MergeMode::Dense || run.merge == MergeMode::Split {
            return;
        }
        for (name, graph, right, asked) in &cases {
            let config = BcConfig { run: common::compared(run.merge), ..asked.config(graph) };
            let answer = found(fleet, graph, &config).unwrap();
            close(&answer.scores, right, &format!("{name} on {how}"));
            let bits: Vec<u64> = answer.scores.iter().map(|score| score.to_bits()).collect();
            let device = how.contains("cuda");
            let known =
                first.entry(format!("{name} {asked:?} {device}")).or_insert_with(|| bits.clone());
            assert!(*known == bits, "other bits: {name} on {how}");
        }
    });
}

#[test]
fn random_graphs_have_the_scores_of_brandes_and_pass_the_check() {
    let mut fleets = vec![fleet("host:1"), fleet("host:3")];
    if common::has_gpu() {
        fleets.push(fleet("cuda:0"));
    }
    for seed in 0..300 {
        let graph = Arc::new(drawn(seed));
        let n = graph.nodes() as u32;
        let some: Vec<u32> =
            (0..n).filter(|v| hash(seed, u64::from(*v)).is_multiple_of(3)).collect();
        let flag = |bit: u64| hash(seed, 99) >> bit & 1 == 1;
        let mut asked = Asked { normalized: flag(0), ..Asked::of(0..n) };
        if flag(1) && !some.is_empty() {
            asked.sources = if flag(4) { vec![some[0]] } else { some.clone() };
        }
        if flag(2) && !some.is_empty() {
            asked.targets = Some(some);
        } else {
            asked.endpoints = flag(3);
        }
        let right = brandes(&graph, &asked);
        let what = format!("seed {seed}: {asked:?}");
        for fleet in &fleets {
            let answer = found(fleet, &graph, &asked.config(&graph)).unwrap();
            close(&answer.scores, &right, &what);
            verify::bc(&graph, &answer.scores, &asked.question())
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            if let Some(v) = (0..n as usize).find(|v| answer.scores[*v] > 0.0) {
                let mut wrong = answer.scores;
                wrong[v] *= 1.001;
                assert!(verify::bc(&graph, &wrong, &asked.question()).is_err(), "{what}");
            }
        }
    }
}

#[test]
fn whole_weights_whose_sums_pass_what_f32_holds_are_added_up_in_f64() {
    // In f32 2^24 + 1 is 2^24, and both ways to node 3 were equally long.
    let heavy = 16_777_216.0;
    let arcs = [(0, 1, heavy), (1, 3, 1.0), (0, 2, heavy), (2, 3, 2.0), (3, 4, 1.0)];
    let graph = Arc::new(graph_of(5, &arcs));
    let asked = Asked::of(0..5);
    let answer = found(&fleet("host:2"), &graph, &asked.config(&graph)).unwrap();
    assert_eq!(answer.scores, brandes(&graph, &asked));
    assert_eq!(answer.scores, [0.0, 2.0, 0.0, 3.0, 0.0]);
}

#[test]
fn what_has_no_answer_is_refused() {
    let refusal = |arcs: &[common::Arc], n: usize| {
        let graph = Arc::new(graph_of(n, arcs));
        let config = Asked::of([0]).config(&graph);
        found(&fleet("host:2"), &graph, &config).unwrap_err().to_string()
    };
    let free = refusal(&[(0, 1, 0.0), (1, 2, 1.0)], 3);
    assert!(free.contains("an arc weighs 0"), "{free}");
    let lost = refusal(&[(0, 1, 1e20), (1, 2, 1.0)], 3);
    assert!(lost.contains("source 0") && lost.contains("is lost in it"), "{lost}");
    // Twice as many paths at each rung.
    let rung = |i: u32| {
        let from = 3 * i;
        [
            (from, from + 1, 1.0),
            (from, from + 2, 1.0),
            (from + 1, from + 3, 1.0),
            (from + 2, from + 3, 1.0),
        ]
    };
    let many = refusal(&(0..1010).flat_map(rung).collect::<Vec<_>>(), 3031);
    assert!(many.contains("source 0") && many.contains("more than 2^1000"), "{many}");
}

#[test]
fn the_program_answers_and_refuses() {
    let hive =
        |args: &[&str]| common::ends_within(Duration::from_secs(60), common::hive().args(args));
    let mut fleets = vec!["host:1", "host:3"];
    if common::has_gpu() {
        fleets.extend(["cuda:0", "cuda:0x4"]);
    }
    for devices in fleets {
        for more in [
            &["--graph", "rmat:9", "--sources", "random:20:3"][..],
            &["--graph", "road:8", "--sources", "first:9", "--normalized", "--targets", "first:50"],
        ] {
            let args = [
                "run",
                "bc",
                "--weighted",
                "--devices",
                devices,
                "--runs",
                "1",
                "--verify",
                "--json",
                "-",
            ];
            let ended = hive(&[&args[..], more].concat());
            assert_eq!(ended.code, Some(0), "{devices} {more:?}: {}", ended.err);
            let record: Value = serde_json::from_str(&ended.out).unwrap();
            assert_eq!(record["verification"]["verdict"], "yes", "{more:?}");
            assert_eq!(
                (&record["weighted"], &record["strategy"]),
                (&true.into(), &"searches".into())
            );
        }
    }
    // One source takes longer than the deadline, and its thread gives signs of life.
    let long = ["run", "bc", "--weighted", "--graph", "grid:900x900", "--sources", "0"];
    let ended =
        hive(&[&long[..], &["--devices", "host:2", "--deadline", "0.3", "--runs", "1"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let on = ["run", "bc", "--weighted", "--graph", "grid:8x8", "--devices", "host:1"];
    for (more, part) in [
        (&["--batch", "8"][..], "--batch: "),
        (&["--precision", "f32"], "--precision f32: "),
        (&["--merge", "split"], "--merge split: "),
    ] {
        let ended = hive(&[&on[..], more].concat());
        assert_eq!(ended.code, Some(2), "{more:?}: {}", ended.err);
        assert!(
            ended.err.contains(part) && ended.err.trim_end().lines().count() == 1,
            "{}",
            ended.err
        );
    }
}
