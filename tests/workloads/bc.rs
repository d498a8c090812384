//! Betweenness: against NetworkX, against Brandes' algorithm as it was published, over replicas and batches.

use crate::common;

use crate::common::{Arc as Link, unweighted_graph_of};
use hivegraph::Result;
use hivegraph::algorithm::{BcConfig, Betweenness, MergeMode, Precision, RunOptions, Seeds, bc};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::generate;
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::run::Choice;
use hivegraph::verify;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

fn host(replicas: usize) -> Fleet {
    common::open(&format!("host:{replicas}"), CollectiveKind::Auto, FleetConfig::default())
}

/// From sources that are indices.
fn betweenness(
    fleet: &Fleet,
    graph: &Prepared,
    sources: &[u32],
    config: &BcConfig,
) -> Result<Betweenness> {
    let sources = Some(Seeds::of_nodes(graph.graph(), sources));
    bc(fleet, graph, &BcConfig { sources, ..config.clone() })
}

/// Checks that replicas agree, too.
fn run(fleet: &Fleet, graph: &Arc<Graph>, sources: &[u32], config: &BcConfig) -> Betweenness {
    let prepared = Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap();
    let config = BcConfig { run: common::compared(config.run.merge), ..config.clone() };
    betweenness(fleet, &prepared, sources, &config).unwrap()
}

fn merged(merge: MergeMode) -> BcConfig {
    let run = RunOptions { merge, ..RunOptions::default() };
    BcConfig { run, ..BcConfig::default() }
}

/// Nodes of a component of some size, isolated ones and others, spread over the ids.
fn spread(graph: &Graph, count: usize) -> Vec<u32> {
    let n = graph.nodes();
    (0..count.min(n)).map(|i| (i * n / count.min(n)) as u32).collect()
}

/// Brandes 2001, figure 1, in f64: summed dependencies of all sources, and how often each source reaches.
fn brandes(graph: &Graph, sources: &[u32], endpoints: bool) -> Vec<f64> {
    brandes_to(graph, sources, endpoints, |_| true)
}

/// Of the paths to some nodes.
fn brandes_to(
    graph: &Graph,
    sources: &[u32],
    endpoints: bool,
    is_target: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let n = graph.nodes();
    let mut scores = vec![0.0; n];
    for s in sources.iter().map(|s| *s as usize) {
        let (mut sigma, mut dist) = (vec![0.0; n], vec![usize::MAX; n]);
        let (mut stack, mut queue) = (Vec::new(), VecDeque::from([s]));
        let mut tails: Vec<Vec<usize>> = vec![Vec::new(); n];
        (sigma[s], dist[s]) = (1.0, 0);
        while let Some(v) = queue.pop_front() {
            stack.push(v);
            let mut row: Vec<usize> = graph.neighbors(v).map(|arc| arc.0 as usize).collect();
            row.dedup();
            for w in row {
                if dist[w] == usize::MAX {
                    dist[w] = dist[v] + 1;
                    queue.push_back(w);
                }
                if dist[w] == dist[v] + 1 {
                    sigma[w] += sigma[v];
                    tails[w].push(v);
                }
            }
        }
        if endpoints {
            scores[s] += (stack.len() - 1) as f64;
        }
        let mut delta = vec![0.0; n];
        for w in stack.into_iter().rev() {
            for v in &tails[w] {
                let end = if is_target(w) { 1.0 } else { 0.0 };
                delta[*v] += sigma[*v] / sigma[w] * (end + delta[w]);
            }
            if w != s {
                scores[w] += delta[w] + if endpoints { 1.0 } else { 0.0 };
            }
        }
    }
    scores
}

/// The oracle's sums, scaled for a subset, or half of them for all of an undirected graph's.
fn expected(graph: &Graph, sources: &[u32]) -> Vec<f64> {
    let mut scores = brandes(graph, sources, false);
    let directed = !common::goes_both_ways(graph);
    hivegraph::algorithm::bc::scale(&mut scores, sources, directed, false, false);
    scores
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
        let slack = tolerance * expected.abs().max(1.0);
        let same = found.is_nan() && expected.is_nan() || (found - expected).abs() <= slack;
        assert!(same, "{what}: node {v} has {found}, not {expected}");
    }
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

fn undirected(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Graph {
    let arcs: Vec<Link> = edges.into_iter().flat_map(|(u, v)| [(u, v, 1.0), (v, u, 1.0)]).collect();
    unweighted_graph_of(n, &arcs)
}

/// `rungs` times two ways to go on: 2^rungs shortest paths from node 0 to the last node.
fn ladder(rungs: u32) -> Graph {
    let rung = |i: u32| {
        [(3 * i, 3 * i + 1), (3 * i, 3 * i + 2), (3 * i + 1, 3 * i + 3), (3 * i + 2, 3 * i + 3)]
    };
    undirected(3 * rungs as usize + 1, (0..rungs).flat_map(rung))
}

fn chain(n: u32) -> Graph {
    undirected(n as usize, (1..n).map(|v| (v - 1, v)))
}

fn cases() -> Vec<(&'static str, Arc<Graph>)> {
    let hub = (1..6000u32).map(|v| (0, v)).chain((1..5999).step_by(3).map(|v| (v, v + 1)));
    let cases = vec![
        ("skewed", common::skewed(12, 8, 1)),
        ("rmat", generate::generate("rmat:10").unwrap()),
        ("grid", common::grid(20, 20, false, 2)),
        ("long grid", common::grid(3, 1500, false, 2)),
        ("star", common::star(4300)),
        ("one hub", undirected(6000, hub)),
        ("chain", chain(3000)),
        ("directed chain", common::chain(3000)),
        ("two components", common::two_components(4200)),
        ("loops and parallels", common::zeros_and_parallels(4200)),
        ("directed", common::directed(4500, 3, 6)),
        ("dense directed", common::directed(600, 60, 7)),
    ];
    cases.into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect()
}

#[test]
fn scores_are_those_of_networkx() {
    let text = include_str!("../data/bc-networkx.json");
    let data: Value = serde_json::from_str(text).unwrap();
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 84);
    let mut fleets = vec![host(1), host(3)];
    if common::has_gpu() {
        fleets.push(common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default()));
    }
    for case in cases {
        let n = case["nodes"].as_u64().unwrap() as usize;
        let ids = |value: &Value| -> Vec<u32> {
            value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
        };
        let edges =
            case["edges"].as_array().unwrap().iter().map(ids).map(|edge| (edge[0], edge[1]));
        let graph = match case["directed"].as_bool().unwrap() {
            true => unweighted_graph_of(n, &edges.map(|(u, v)| (u, v, 1.0)).collect::<Vec<_>>()),
            false => undirected(n, edges),
        };
        let sources = match &case["sources"] {
            Value::Null => (0..n as u32).collect(),
            some => ids(some),
        };
        let scores = case["scores"].as_array().unwrap();
        let scores: Vec<f64> = scores.iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect();
        let flag = |name: &str| case[name].as_bool().unwrap();
        let (normalized, endpoints) = (flag("normalized"), flag("endpoints"));
        let config = BcConfig { normalized, endpoints, ..BcConfig::default() };
        let graph = Arc::new(graph);
        for fleet in &fleets {
            let found = run(fleet, &graph, &sources, &config).scores;
            let name = case["name"].as_str().unwrap();
            let what = format!("{name} from {sources:?}, {normalized} {endpoints}");
            close(&found, &scores, 1e-12, &what);
        }
    }
}

#[test]
fn scores_are_brandes_whatever_the_batch() {
    let fleet = host(1);
    for (name, graph) in cases() {
        let sources = spread(&graph, 33);
        let expected = expected(&graph, &sources);
        let mut first = None;
        for batch in [1u32, 2, 5, 8, 32] {
            let config = BcConfig { batch: Choice::Is(batch), ..BcConfig::default() };
            let found = run(&fleet, &graph, &sources, &config);
            assert_eq!(found.lanes, batch.next_power_of_two(), "{name}");
            close(&found.scores, &expected, 1e-9, &format!("{name}, batches of {batch}"));
            let first = first.get_or_insert_with(|| bits(&found.scores));
            assert_eq!(&bits(&found.scores), first, "{name}, batches of {batch}");
        }
    }
}

#[test]
fn ends_count_once_for_each_path() {
    for (name, graph) in cases() {
        let sources = spread(&graph, 9);
        let mut expected = brandes(&graph, &sources, true);
        hivegraph::algorithm::bc::scale(&mut expected, &sources, !graph.is_symmetric(), true, true);
        let config = BcConfig { endpoints: true, normalized: true, ..BcConfig::default() };
        for fleet in [host(1), host(3)] {
            close(&run(&fleet, &graph, &sources, &config).scores, &expected, 1e-9, name);
        }
    }
}

/// Also by each merge, where some sources are targets and some targets are not reached; all nodes as targets change nothing but the
/// scale.
#[test]
fn paths_to_some_nodes_count_alone() {
    let mut first: HashMap<String, Vec<u64>> = HashMap::new();
    let cases: Vec<_> = cases().into_iter().filter(|(name, _)| !name.contains("chain")).collect();
    common::everywhere(|fleet, asked, how| {
        let merge = asked.merge;
        if merge == MergeMode::Dense {
            return;
        }
        for (name, graph) in &cases {
            let (n, directed) = (graph.nodes(), !common::goes_both_ways(graph));
            let some: Vec<u32> = (0..n as u32)
                .filter(|v| common::hash(3, u64::from(*v)).is_multiple_of(5))
                .collect();
            let all: Vec<u32> = (0..n as u32).collect();
            let asked = [(9, &some, false), (9, &some, true), (9, &all, false), (1, &some, false)];
            for (count, targets, normalized) in asked {
                let sources = spread(graph, count);
                let what = format!("{name}, {count} to {} of {n}, {normalized}", targets.len());
                let config = BcConfig {
                    targets: Some(Seeds::of_nodes(graph, targets)),
                    normalized,
                    // As many lanes everywhere: the same bits.
                    batch: Choice::Is(8),
                    run: common::compared(merge),
                    ..BcConfig::default()
                };
                let prepared =
                    Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap();
                let found = betweenness(fleet, &prepared, &sources, &config).unwrap().scores;
                let mut right = brandes_to(graph, &sources, false, |v| {
                    targets.binary_search(&(v as u32)).is_ok()
                });
                hivegraph::algorithm::bc::scale_subset(&mut right, directed, normalized);
                close(&found, &right, 1e-9, &format!("{what} on {how}"));
                let device = how.contains("cuda");
                let known = first.entry(format!("{what} {device}")).or_insert_with(|| bits(&found));
                assert!(*known == bits(&found), "other bits: {what} on {how}");
                let question = verify::BetweennessQuestion {
                    sources: &sources,
                    targets: Some(targets),
                    weighted: false,
                    normalized,
                    endpoints: false,
                    tolerance: 1e-9,
                };
                let seen = prepared.checker(fleet).unwrap().bc(graph, &found, &question).unwrap();
                assert_eq!(seen.checked_sources, sources.len() as u64, "{what}");
                let mut wrong = found;
                if let Some(v) = (0..n).find(|v| wrong[*v] > 0.0) {
                    wrong[v] *= 1.001;
                    let told =
                        prepared.checker(fleet).unwrap().bc(graph, &wrong, &question).unwrap_err();
                    assert!(told.to_string().contains("too high"), "{what}: {told}");
                }
            }
        }
    });
}

#[test]
fn dealing_sources_out_changes_no_bit() {
    for (name, graph) in cases() {
        let sources = spread(&graph, 33);
        let alone = run(&host(1), &graph, &sources, &BcConfig::default());
        for replicas in [2, 3, 5] {
            let found = run(&host(replicas), &graph, &sources, &merged(MergeMode::Redundant));
            assert!(!found.cut && found.measured.merge_modes["sum"] == 1, "{name}");
            assert_eq!(bits(&found.scores), bits(&alone.scores), "{name} on {replicas}");
            let (a, b) = (&found.measured, &alone.measured);
            assert_eq!((a.reached, a.reached_arcs), (b.reached, b.reached_arcs), "{name}");
            assert_eq!(found.depth, alone.depth);
        }
    }
}

#[test]
fn cut_levels_give_the_same_bits_on_any_number_of_replicas() {
    for (name, graph) in cases().into_iter().filter(|(name, _)| !name.contains("chain")) {
        let sources = spread(&graph, 11);
        let alone = run(&host(1), &graph, &sources, &BcConfig::default());
        for replicas in [2, 3, 5] {
            let found = run(&host(replicas), &graph, &sources, &merged(MergeMode::Split));
            assert!(found.cut && found.measured.merge_modes["gather"] > 0, "{name}");
            assert_eq!(bits(&found.scores), bits(&alone.scores), "{name} on {replicas}");
            let (a, b) = (&found.measured, &alone.measured);
            assert_eq!((a.reached, a.reached_arcs), (b.reached, b.reached_arcs), "{name}");
        }
    }
}

#[test]
fn fewer_sources_than_replicas_cut_levels_by_themselves() {
    let graph = Arc::new(generate::generate("rmat:12").unwrap());
    let source = graph.default_source();
    let found = run(&host(3), &graph, &[source], &BcConfig::default());
    let dealt = run(&host(3), &graph, &[source], &merged(MergeMode::Redundant));
    assert!(found.cut && !dealt.cut);
    assert_eq!(bits(&found.scores), bits(&dealt.scores), "one source");
    assert!(found.scores[source as usize].is_nan(), "nothing is known of a single source");
    let many = run(&host(3), &graph, &spread(&graph, 3), &BcConfig::default());
    assert!(!many.cut);
}

#[test]
fn all_sources_of_a_skewed_graph() {
    let graph = Arc::new(generate::generate("rmat:10").unwrap());
    let sources: Vec<u32> = (0..graph.nodes() as u32).collect();
    let expected = expected(&graph, &sources);
    for replicas in [1, 3] {
        let found = run(&host(replicas), &graph, &sources, &BcConfig::default());
        close(&found.scores, &expected, 1e-9, "rmat:10");
        let arcs = |v: &u32| graph.degree(*v as usize);
        assert!(found.measured.reached_arcs > sources.iter().map(arcs).sum::<u64>());
    }
}

#[test]
fn an_odd_number_of_random_sources() {
    let graph = Arc::new(generate::generate("rmat:12").unwrap());
    let sources = "random:33:1".parse::<Seeds>().unwrap().resolve(&graph).unwrap();
    let expected = expected(&graph, &sources);
    let mut first = None;
    for replicas in [1, 2, 5] {
        let found = run(&host(replicas), &graph, &sources, &BcConfig::default());
        close(&found.scores, &expected, 1e-9, "random:33:1");
        let first = first.get_or_insert_with(|| bits(&found.scores));
        assert_eq!(&bits(&found.scores), first, "on {replicas}");
    }
}

#[test]
fn what_is_known_of_stars_and_chains() {
    let star = Arc::new(common::star(100));
    let all: Vec<u32> = (0..100).collect();
    let found = run(&host(2), &star, &all, &BcConfig::default()).scores;
    assert_eq!(found[0], 99.0 * 98.0 / 2.0);
    assert!(found[1..].iter().all(|score| *score == 0.0));
    let chain = Arc::new(chain(50));
    let all: Vec<u32> = (0..50).collect();
    let found = run(&host(2), &chain, &all, &BcConfig::default()).scores;
    for (v, score) in found.iter().enumerate() {
        assert_eq!(*score, (v * (49 - v)) as f64, "node {v}");
    }
}

#[test]
fn parallel_arcs_are_one_and_loops_none() {
    // 0 to 3 by 1 and by 2.
    let edges = [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3), (1, 1), (3, 3)];
    let arcs: Vec<Link> = edges.iter().map(|(u, v)| (*u, *v, 1.0)).collect();
    let graph = Arc::new(unweighted_graph_of(4, &arcs));
    let found = run(&host(1), &graph, &[0, 1, 2, 3], &BcConfig::default()).scores;
    close(&found, &[0.0, 0.5, 0.5, 0.0], 1e-15, "parallels");
}

#[test]
fn how_often_an_arc_is_there_does_not_say_what_is_directed() {
    let edges = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (2, 2)];
    let arcs: Vec<Link> = edges.iter().map(|(u, v)| (*u, *v, 1.0)).collect();
    let graph = Arc::new(unweighted_graph_of(4, &arcs));
    assert!(!graph.is_undirected());
    for replicas in [1, 3] {
        let found = run(&host(replicas), &graph, &[0, 1, 2, 3], &BcConfig::default()).scores;
        close(&found, &[0.0, 2.0, 2.0, 0.0], 1e-15, "a chain");
    }
}

#[test]
fn weights_do_not_say_what_is_directed() {
    let arcs = [(0, 1, 1.0), (1, 0, 5.0), (1, 2, 3.0), (2, 1, 1.0)];
    let graph = Arc::new(common::graph_of(3, &arcs));
    assert!(!graph.is_symmetric() && graph.is_undirected());
    for replicas in [1, 3] {
        let found = run(&host(replicas), &graph, &[0, 1, 2], &BcConfig::default()).scores;
        close(&found, &[0.0, 1.0, 0.0], 1e-15, "a chain");
    }
}

#[test]
fn graphs_of_few_nodes_and_no_arcs() {
    for n in [1, 2, 3, 70] {
        let graph = Arc::new(unweighted_graph_of(n, &[]));
        for (replicas, merge) in [(1, MergeMode::Auto), (3, MergeMode::Auto), (3, MergeMode::Split)]
        {
            let all: Vec<u32> = (0..n as u32).collect();
            let found = run(&host(replicas), &graph, &all, &merged(merge));
            assert!(found.scores.iter().all(|score| *score == 0.0));
            assert_eq!((found.measured.reached, found.measured.reached_arcs), (n as u64, 0));
        }
    }
}

#[test]
fn too_many_paths_are_refused_and_the_source_is_named() {
    let fits = Arc::new(ladder(1000));
    let expected = expected(&fits, &[0]);
    close(&run(&host(1), &fits, &[0], &BcConfig::default()).scores, &expected, 1e-9, "2^1000");
    let graph = Arc::new(ladder(1010));
    for (replicas, merge) in
        [(1, MergeMode::Auto), (3, MergeMode::Redundant), (3, MergeMode::Split)]
    {
        let fleet = host(replicas);
        let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
        // From the middle there are fewer.
        let refusal = betweenness(&fleet, &prepared, &[3030, 1515], &merged(merge)).unwrap_err();
        assert_eq!(refusal.exit_code(), 2);
        let message = refusal.to_string();
        assert!(message.starts_with("source 3030: more than 2^1000 shortest paths"), "{message}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let graph = Arc::new(chain(5));
    let fleet = host(1);
    let prepared = Prepared::new(&fleet, graph, PrepareOptions::default()).unwrap();
    let refusal = |sources: &[u64], config: &BcConfig| {
        let sources = Seeds::List(sources.iter().map(|source| (*source).into()).collect());
        let config = BcConfig { sources: Some(sources), ..config.clone() };
        bc(&fleet, &prepared, &config).unwrap_err().to_string()
    };
    let config = BcConfig::default();
    assert!(refusal(&[], &config).contains("--sources ``: no node is given"));
    assert!(refusal(&[5], &config).contains("--sources: the graph has no node 5"));
    assert!(refusal(&[1, 2, 1], &config).contains("--sources: node 1 is listed twice"));
    assert!(refusal(&[1], &merged(MergeMode::Dense)).contains("--merge dense"));
    let to = |targets: &str| BcConfig { targets: Some(targets.parse().unwrap()), ..config.clone() };
    assert!(refusal(&[1], &to("7")).contains("--targets: the graph has no node 7"));
    let ends = BcConfig { endpoints: true, ..to("2") };
    assert!(refusal(&[1], &ends).contains("--endpoints: it is for paths to all nodes"));
    for batch in [0, 33] {
        let bad = BcConfig { batch: Choice::Is(batch), ..config.clone() };
        assert!(refusal(&[1], &bad).contains(&format!("--batch {batch}: use auto or 1 to 32")));
    }
}

/// Devices find what the host does, dealt out and cut, and with as many lanes the bits of one device.
#[test]
fn gpus_find_the_same_scores() {
    let fleets = common::cuda_fleets();
    for (name, graph) in cases().into_iter().filter(|_| !fleets.is_empty()) {
        let sources = spread(&graph, 11);
        let expected = expected(&graph, &sources);
        let deep = name.contains("chain") || name.contains("long");
        let mut first = HashMap::new();
        for (devices, collective) in &fleets {
            let fleet = common::open(devices, *collective, FleetConfig::default());
            let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
            for (batch, merge) in [
                (1, MergeMode::Redundant),
                (8, MergeMode::Redundant),
                (32, MergeMode::Redundant),
                (2, MergeMode::Split),
                (8, MergeMode::Split),
            ] {
                // Every level is a meeting.
                if deep && merge == MergeMode::Split && (fleet.world() > 3 || batch < 8) {
                    continue;
                }
                let run = common::compared(merge);
                let config = BcConfig { batch: Choice::Is(batch), run, ..BcConfig::default() };
                let found = betweenness(&fleet, &prepared, &sources, &config).unwrap();
                let what = format!("{name} on {devices}, {collective}, {batch}, {merge}");
                assert_eq!(found.precision, Precision::F64, "{what}");
                close(&found.scores, &expected, 1e-9, &what);
                let first = first.entry(batch).or_insert_with(|| bits(&found.scores));
                assert_eq!(&bits(&found.scores), first, "{what}");
            }
        }
    }
}

#[test]
fn hosts_find_the_scores_of_graphs_of_many_wide_levels() {
    let grid = generate::generate("grid:300x300").unwrap();
    for (name, graph, source) in [("grid", grid, 0), ("layers", common::layers(), 45_000)] {
        let graph = Arc::new(graph);
        let expected = expected(&graph, &[source]);
        let mut first = None;
        for devices in ["host:1", "host:2", "host:3"] {
            let fleet = common::open(devices, CollectiveKind::Auto, FleetConfig::default());
            let found = run(&fleet, &graph, &[source], &merged(MergeMode::Auto));
            close(&found.scores, &expected, 1e-9, &format!("{name} on {devices}"));
            let first = first.get_or_insert_with(|| bits(&found.scores));
            assert_eq!(&bits(&found.scores), first, "{name} on {devices}");
        }
    }
}

#[test]
fn gpus_find_the_scores_of_graphs_of_long_paths_by_tiles() {
    if !common::has_gpu() {
        return;
    }
    // Rows of more than four; several tiles, one, and the last of them with what is left of many.
    for spec in ["road:11", "torus:30x41", "chain:1500", "grid:6x9"] {
        let graph = Arc::new(generate::generate(spec).unwrap());
        for count in [1, 5] {
            let sources = spread(&graph, count);
            let mut first = HashMap::new();
            for devices in ["cuda:0", "cuda:0x3"] {
                let fleet = common::open(devices, CollectiveKind::Auto, FleetConfig::default());
                for endpoints in [false, true] {
                    let what = format!("{spec} on {devices}, {count}, {endpoints}");
                    let config = BcConfig { endpoints, ..merged(MergeMode::Auto) };
                    let found = run(&fleet, &graph, &sources, &config);
                    assert!(found.tiles.is_some(), "{what}");
                    let mut expected = brandes(&graph, &sources, endpoints);
                    hivegraph::algorithm::bc::scale(
                        &mut expected,
                        &sources,
                        false,
                        false,
                        endpoints,
                    );
                    close(&found.scores, &expected, 1e-9, &what);
                    let single = BcConfig { precision: Precision::F32, ..config };
                    close(&run(&fleet, &graph, &sources, &single).scores, &expected, 1e-3, &what);
                    let first = first.entry(endpoints).or_insert_with(|| bits(&found.scores));
                    assert_eq!(&bits(&found.scores), first, "{what}");
                }
            }
        }
    }
}

#[test]
fn gpus_count_paths_in_32_bits_while_these_hold_them() {
    if !common::has_gpu() {
        return;
    }
    for devices in ["cuda:0", "cuda:0x3"] {
        let fleet = common::open(devices, CollectiveKind::Auto, FleetConfig::default());
        for (name, graph) in cases() {
            let sources = spread(&graph, 11);
            let expected = expected(&graph, &sources);
            for merge in [MergeMode::Redundant, MergeMode::Split] {
                if merge == MergeMode::Split && (name.contains("chain") || name.contains("long")) {
                    continue;
                }
                let config = BcConfig { precision: Precision::F32, ..merged(merge) };
                let found = run(&fleet, &graph, &sources, &config);
                assert_eq!(found.precision, Precision::F32);
                close(&found.scores, &expected, 1e-4, &format!("{name} on {devices}, {merge}"));
            }
        }
        let refusal = |graph: Graph, precision| {
            let prepared = Prepared::new(&fleet, graph.into(), PrepareOptions::default()).unwrap();
            let config = BcConfig { precision, ..BcConfig::default() };
            betweenness(&fleet, &prepared, &[0], &config).unwrap_err().to_string()
        };
        let single = refusal(ladder(110), Precision::F32);
        assert!(single.contains("source 0: more than 2^100 shortest paths"), "{single}");
        assert!(single.ends_with("use --precision f64"), "{single}");
        let double = refusal(ladder(1010), Precision::Auto);
        assert!(double.contains("source 0: more than 2^1000 shortest paths"), "{double}");
    }
}

#[test]
fn perturbed_gpus_find_the_same_bits() {
    if !common::has_gpu() {
        return;
    }
    let graph = Arc::new(common::skewed(12, 8, 1));
    let sources = spread(&graph, 11);
    let open = |perturb| {
        // Replicas that are dealt other sources add up in another order.
        let more = FleetConfig { pretend: None, ..common::perturbed(perturb) };
        common::open("cuda:0x4", CollectiveKind::Peer, more)
    };
    for merge in [MergeMode::Split, MergeMode::Redundant] {
        let plain = run(&open(None), &graph, &sources, &merged(merge));
        for seed in 1..4 {
            let found = run(&open(Some(seed)), &graph, &sources, &merged(merge));
            assert_eq!(bits(&found.scores), bits(&plain.scores), "seed {seed}, {merge}");
        }
    }
}

/// Perturbed fleets compile kernels whose gathers always ask first, in f32; others, on graphs so small, never do.
#[test]
fn gathers_that_ask_first_find_the_same_bits() {
    for devices in ["cuda:0", "cuda:0x3"].into_iter().filter(|_| common::has_gpu()) {
        let open = |perturb| {
            let more = common::perturbed(perturb);
            common::open(devices, CollectiveKind::Auto, more)
        };
        for (name, graph) in cases() {
            let sources = spread(&graph, 33);
            for (batch, merge) in [
                (1, MergeMode::Redundant),
                (8, MergeMode::Redundant),
                (16, MergeMode::Redundant),
                (32, MergeMode::Redundant),
                (8, MergeMode::Split),
            ] {
                if merge == MergeMode::Split && (name.contains("chain") || name.contains("long")) {
                    continue;
                }
                let batch = Choice::Is(batch);
                let config = BcConfig { precision: Precision::F32, batch, ..merged(merge) };
                let plain = run(&open(None), &graph, &sources, &config);
                let asking = run(&open(Some(1)), &graph, &sources, &config);
                let what = format!("{name} on {devices}, {batch:?}, {merge}");
                assert_eq!(bits(&asking.scores), bits(&plain.scores), "{what}");
            }
        }
    }
}

fn hive(args: &[&str]) -> common::Ended {
    common::ends_within(Duration::from_secs(60), common::hive().args(args))
}

fn refused(args: &[&str], part: &str) {
    let ended = hive(&[&["run", "bc", "--devices", "host:1"], args].concat());
    let err = &ended.err;
    assert_eq!(ended.code, Some(2), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    assert!(err.contains(part), "{args:?}: no '{part}' in {err}");
}

#[test]
fn bad_input_gets_one_line() {
    let on = |more: &[&'static str]| [&["--graph", "grid:8x8"], more].concat();
    refused(&on(&["--batch", "0"]), "--batch 0: use auto or 1 to 32");
    refused(&on(&["--batch", "33"]), "--batch 33");
    refused(&on(&["--batch", "x"]), "--batch");
    refused(&on(&["--precision", "f16"]), "--precision f16");
    refused(&on(&["--merge", "dense"]), "--merge dense");
    refused(&on(&["--sources", "0,0"]), "listed twice");
    refused(&on(&["--sources", "64"]), "no node 64");
    refused(&on(&["--sources", "random:3"]), "SEED");
    refused(&on(&["--sources", "random:65:1"]), "only 64 nodes");
    refused(&on(&["--seeds", "1"]), "bc does not take --seeds");
    refused(&on(&["--deterministic"]), "bc does not take --deterministic");
    refused(&on(&["--output", "x.json"]), ".txt, .npy, .npz");
    refused(&on(&["--chunk-align", "3"]), "--chunk-align 3");
    refused(&["--sources", "all"], "no graph");
    let ended = hive(&["run", "sssp", "--graph", "grid:8x8", "--normalized"]);
    assert!(ended.err.contains("sssp does not take --normalized"), "{}", ended.err);
}

#[test]
fn the_program_s_scores_pass_their_check() {
    let mut fleets = vec!["host:1", "host:3"];
    if common::has_gpu() {
        fleets.extend(["cuda:0", "cuda:0x4"]);
    }
    for devices in fleets {
        for more in [
            &["--graph", "rmat:11", "--sources", "random:20:3"][..],
            &["--graph", "rmat:9", "--sources", "all", "--normalized"],
            &["--graph", "rmat:12", "--endpoints", "--merge", "split"],
            &["--graph", "road:10", "--sources", "0,7", "--precision", "f32", "--endpoints"],
        ] {
            let args = ["run", "bc", "--devices", devices, "--runs", "1", "--verify"];
            let ended = hive(&[&args[..], &["--json", "-"], more].concat());
            assert_eq!(ended.code, Some(0), "{devices} {more:?}: {}", ended.err);
            let record: Value = serde_json::from_str(&ended.out).unwrap();
            assert_eq!(record["verification"]["verdict"], "yes", "{more:?}");
            assert_eq!(record["verification"]["checked_sources"], record["num-sources"]);
        }
    }
}

#[test]
fn the_record_and_the_columns_speak_the_ids_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, csv) = (folder.path().join("g.mtx"), folder.path().join("x.csv"));
    let header = "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n";
    std::fs::write(&graph, format!("{header}2 1\n3 2\n4 3\n")).unwrap();
    let (graph, csv) = (graph.to_str().unwrap(), csv.to_str().unwrap());
    let args = ["run", "bc", "--graph", graph, "--sources", "all"];
    let more = ["--devices", "host:2", "--runs", "1", "--json", "-", "--output", csv, "--top", "2"];
    let ended = hive(&[&args[..], &more].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let record: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&record["primitive"], &record["num-sources"]), (&"bc".into(), &4.into()));
    assert_eq!((&record["highest-node"], &record["precision"]), (&2.into(), &"f64".into()));
    assert_eq!(record["measured"]["reached"], 16);
    let text = std::fs::read_to_string(csv).unwrap();
    assert_eq!(text, "node,betweenness\n1,0.0\n2,2.0\n3,2.0\n4,0.0\n");
    assert!(ended.err.contains("betweenness") && ended.err.contains("node 2"), "{}", ended.err);
}
