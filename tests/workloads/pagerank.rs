//! PageRank: every strategy against the definition in f64, equal bits on any number of replicas, the published
//! answers of LDBC Graphalytics.

use crate::common;

use crate::common::{graph_of, unweighted_graph_of};
use hivegraph::algorithm::pagerank::Strategy;
use hivegraph::algorithm::{MergeMode, Pagerank, PagerankConfig, RunOptions, pagerank};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::io;
use hivegraph::layout::{Layout, PrepareOptions, Prepared};
use hivegraph::run::{Choice, RunConfig, Verdict, Verify};
use hivegraph::verify::Checker;
use serde_json::json;
use std::collections::HashMap;
use std::process::{Command, Output};
use std::sync::Arc;

const STRATEGIES: [Strategy; 10] = [
    Strategy::Hubs,
    Strategy::Bins,
    Strategy::Push,
    Strategy::Pull,
    Strategy::PullNodiv,
    Strategy::EdgeSoa,
    Strategy::EdgeAos,
    Strategy::WarpPush,
    Strategy::WarpPull,
    Strategy::WarpPullNodiv,
];

fn pushes(strategy: Strategy) -> bool {
    use Strategy::{EdgeAos, EdgeSoa, Push, WarpPush};
    [Push, EdgeSoa, EdgeAos, WarpPush].contains(&strategy)
}

/// The definition, serially in f64: ranks after each iteration, and by how much it changed them.
fn oracle(graph: &Graph, config: &PagerankConfig) -> Vec<(Vec<f64>, f64)> {
    let n = graph.nodes();
    let weight = |w: f32| if config.weighted { f64::from(w) } else { 1.0 };
    let total: Vec<f64> =
        (0..n).map(|u| graph.neighbors(u).map(|(_, w)| weight(w)).sum()).collect();
    let p: Vec<f64> = match &config.personal {
        None => vec![1.0 / n as f64; n],
        Some(weights) => {
            let sum: f64 = weights.iter().sum();
            weights.iter().map(|w| w / sum).collect()
        }
    };
    let d = config.damping;
    let (mut rank, mut all) = (p.clone(), Vec::new());
    for _ in 0..config.iterations {
        let lost: f64 = (0..n).filter(|u| total[*u] == 0.0).map(|u| rank[u]).sum();
        let mut next: Vec<f64> = p.iter().map(|p| (1.0 - d + d * lost) * p).collect();
        for u in (0..n).filter(|u| total[*u] > 0.0) {
            for (v, w) in graph.neighbors(u) {
                next[v as usize] += d * rank[u] * weight(w) / total[u];
            }
        }
        let change = rank.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        all.push((next.clone(), change));
        rank = next;
    }
    all
}

fn host(replicas: usize) -> Fleet {
    common::open(&format!("host:{replicas}"), CollectiveKind::Auto, FleetConfig::default())
}

fn merged(merge: MergeMode) -> RunOptions {
    RunOptions { merge, ..RunOptions::default() }
}

fn answer(fleet: &Fleet, graph: &Arc<Graph>, config: &PagerankConfig) -> Pagerank {
    answer_as(fleet, graph, config, Layout::Auto)
}

fn answer_as(
    fleet: &Fleet,
    graph: &Arc<Graph>,
    config: &PagerankConfig,
    layout: Layout,
) -> Pagerank {
    let options = PrepareOptions { layout, ..PrepareOptions::default() };
    let prepared = Prepared::new(fleet, graph.clone(), options).unwrap();
    let run = RunOptions { compare: true, ..config.run.clone() };
    let config = PagerankConfig { run, ..config.clone() };
    pagerank(fleet, &prepared, &config)
        .unwrap_or_else(|e| panic!("{}, {:?}: {e}", graph.origin.dataset, config.strategy))
}

/// Checks an answer against the definition.
fn right(name: &str, graph: &Graph, config: &PagerankConfig, found: &Pagerank) {
    is_one_of(name, &oracle(graph, config), config, found);
}

/// The same, given the definition's ranks and change after each iteration.
fn is_one_of(name: &str, all: &[(Vec<f64>, f64)], config: &PagerankConfig, found: &Pagerank) {
    // The iterations that it made: a change so near the tolerance that f32 decides otherwise is no fault.
    let (ranks, change) = &all[found.iterations as usize - 1];
    let off: f64 = ranks.iter().zip(&found.ranks).map(|(a, b)| (a - f64::from(*b)).abs()).sum();
    assert!(off <= 1e-6, "{name}, {:?}: {off} from f64 in L1", config.strategy);
    assert!((found.sum() - 1.0).abs() <= 1e-6, "{name}, {:?}: {}", config.strategy, found.sum());
    assert!((found.change - change).abs() <= 1e-6, "{name}: {} is {change}", found.change);
    let tolerance = config.tolerance.or(1e-6);
    let ends = all.iter().position(|(_, change)| tolerance > 0.0 && *change <= tolerance);
    let made = ends.map_or(config.iterations, |last| last as u32 + 1);
    assert!(found.iterations.abs_diff(made) <= 1, "{name}: {} for {made}", found.iterations);
}

fn bits(found: &Pagerank) -> (Vec<u32>, u32, u64) {
    let ranks = found.ranks.iter().map(|rank| rank.to_bits()).collect();
    (ranks, found.iterations, found.change.to_bits())
}

/// Graphs with the trouble that they are named for.
fn graphs() -> Vec<(&'static str, Arc<Graph>)> {
    let rmat = hivegraph::generate::generate("rmat:12").unwrap();
    let dangling = {
        // A third of the nodes have no arc out, some none at all, one only arcs of no weight.
        let arcs: Vec<common::Arc> = (0..20_000u64)
            .map(|i| ((common::hash(1, i) % 4000) as u32, (common::hash(2, i) % 5000) as u32))
            .filter(|(u, v)| u % 3 != 0 && v % 11 != 5)
            .map(|(u, v)| (u, v, if u == 7 { 0.0 } else { 1.0 + (v % 5) as f32 }))
            .collect();
        graph_of(6000, &arcs)
    };
    let all = vec![
        ("R-MAT", rmat),
        ("skewed", common::skewed(12, 8, 1)),
        ("grid", common::grid(66, 64, true, 2)),
        ("star", common::star(4300)),
        ("chain", common::chain(5000)),
        ("dangling", dangling),
        ("loops and parallels", common::zeros_and_parallels(4200)),
        ("directed", common::directed(4500, 3, 6)),
        ("two nodes", unweighted_graph_of(2, &[(0, 1, 1.0)])),
        ("no arcs", unweighted_graph_of(5, &[])),
        ("one node", unweighted_graph_of(1, &[(0, 0, 1.0)])),
    ];
    all.into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect()
}

/// Those with most trouble: many fleets of GPUs take their time.
fn few() -> Vec<(&'static str, Arc<Graph>)> {
    let kept = ["skewed", "star", "dangling", "loops and parallels", "no arcs"];
    graphs().into_iter().filter(|(name, _)| kept.contains(name)).collect()
}

type Graphs = [(&'static str, Arc<Graph>)];

/// Some nodes, some of them thrice.
fn personal(graph: &Graph) -> Option<Vec<f64>> {
    let weight = |v: usize| f64::from([3, 0, 0, 1, 0][v % 5] as u8);
    Some((0..graph.nodes()).map(weight).collect())
}

fn check_strategies(fleet: &Fleet, layout: Layout, graphs: &Graphs) {
    for (name, graph) in graphs {
        for (weighted, aside) in [(false, false), (false, true), (true, false), (true, true)] {
            let personal = if aside { personal(graph) } else { None };
            let iterations = if aside { 20 } else { 60 };
            let plain =
                PagerankConfig { weighted, personal, iterations, ..PagerankConfig::default() };
            let all = oracle(graph, &plain);
            for strategy in STRATEGIES {
                if weighted && matches!(strategy, Strategy::Hubs | Strategy::Bins) {
                    continue;
                }
                let config = PagerankConfig { strategy, ..plain.clone() };
                let found = answer_as(fleet, graph, &config, layout);
                assert_eq!(found.strategy, strategy);
                is_one_of(name, &all, &config, &found);
            }
        }
    }
}

#[test]
fn every_strategy_is_within_a_millionth_of_the_definition_on_the_host() {
    let graphs = graphs();
    check_strategies(&host(1), Layout::Auto, &graphs);
    check_strategies(&host(3), Layout::Auto, &graphs);
    check_strategies(&host(2), Layout::Raw, &graphs);
}

#[test]
fn every_strategy_is_within_a_millionth_of_the_definition_on_gpus() {
    for (devices, collective) in common::cuda_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        check_strategies(&fleet, Layout::Auto, &few());
    }
    if common::has_gpu() {
        let fleet = common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default());
        check_strategies(&fleet, Layout::Degree, &graphs());
        check_strategies(&fleet, Layout::Raw, &graphs());
    }
}

#[test]
fn lanes_and_rows_of_a_group_change_nothing() {
    if !common::has_gpu() {
        return;
    }
    let fleet = common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default());
    for (name, graph) in graphs() {
        for (warp_width, warp_chunk) in
            [(1, 10), (2, 3), (4, 1), (8, 7), (16, 2), (64, 1), (64, 10)]
        {
            for strategy in [Strategy::WarpPush, Strategy::WarpPull, Strategy::WarpPullNodiv] {
                let plain = PagerankConfig { iterations: 10, ..PagerankConfig::default() };
                let config = PagerankConfig { strategy, warp_width, warp_chunk, ..plain };
                right(name, &graph, &config, &answer(&fleet, &graph, &config));
            }
        }
    }
}

/// Small graphs have no segments of their own accord.
#[test]
fn segments_of_any_width_give_right_ranks_and_equal_bits_on_gpus() {
    let is = Choice::Is;
    let forms = [(1, Choice::Auto), (3, is(64)), (64, is(256)), (2, is(1000)), (0, Choice::Auto)];
    let graphs = graphs();
    // By form and graph, the first fleet's.
    let mut first = HashMap::new();
    for (devices, collective) in common::cuda_fleets() {
        for (merge, perturb) in [(MergeMode::Split, None), (MergeMode::Auto, Some(5))] {
            let more = common::perturbed(perturb);
            let fleet = common::open(&devices, collective, more);
            for ((segments, segment_width), (name, graph)) in
                forms.into_iter().flat_map(|form| graphs.iter().map(move |graph| (form, graph)))
            {
                let config = PagerankConfig {
                    strategy: Strategy::Hubs,
                    deterministic: true,
                    segments: Choice::Is(segments),
                    segment_width,
                    run: merged(merge),
                    iterations: 20,
                    ..PagerankConfig::default()
                };
                let found = answer_as(&fleet, graph, &config, Layout::Degree);
                right(name, graph, &config, &found);
                let key = (segments, segment_width.given(), *name);
                let expected = first.entry(key).or_insert_with(|| bits(&found));
                assert!(bits(&found) == *expected, "{key:?}, {devices}, {merge:?}");
            }
        }
    }
}

/// Sums are cut by teams; their bits follow from the graph and from how many teams there are, whoever has the rows. Several
/// runs one after another write into the same arrays of all replicas.
#[test]
fn any_number_of_teams_gives_right_ranks_and_bits_of_its_own_on_gpus() {
    let graphs = graphs();
    let mut first = HashMap::new();
    for (devices, collective) in common::cuda_fleets() {
        for perturb in [None, Some(5)] {
            let more = common::perturbed(perturb);
            let fleet = common::open(&devices, collective, more);
            for (teams, tolerance) in [(1, 1e-5), (2, 1e-5), (3, 0.0), (8, 1e-5)] {
                for (name, graph) in &graphs {
                    let config = PagerankConfig {
                        strategy: Strategy::Hubs,
                        segments: Choice::Is(8),
                        segment_width: Choice::Is(64),
                        segment_teams: Choice::Is(teams),
                        iterations: 20,
                        tolerance: Choice::Is(tolerance),
                        run: RunOptions { runs: 3, warmup: 1, ..merged(MergeMode::Split) },
                        ..PagerankConfig::default()
                    };
                    let found = answer_as(&fleet, graph, &config, Layout::Degree);
                    right(name, graph, &config, &found);
                    let expected = first.entry((teams, *name)).or_insert_with(|| bits(&found));
                    assert!(bits(&found) == *expected, "{teams} teams, {name}, {devices}");
                }
            }
        }
    }
}

/// Half of all rank is in one row, whose million values are equal: one after another they would all be rounded the same way.
#[test]
fn a_row_of_a_million_equal_values_is_added_up_right_on_gpus() {
    let graph = Arc::new(hivegraph::io::load("star:2^20").unwrap());
    for (devices, collective) in common::cuda_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        for strategy in [Strategy::Hubs, Strategy::Bins] {
            let tolerance = Choice::Is(0.0);
            let config =
                PagerankConfig { strategy, iterations: 10, tolerance, ..PagerankConfig::default() };
            right("star:2^20", &graph, &config, &answer(&fleet, &graph, &config));
        }
    }
}

/// From the second run on iterations are queued as they were recorded, 30 at a time, where nothing is merged.
#[test]
fn recorded_iterations_give_the_bits_of_others_on_gpus() {
    let graphs = graphs();
    for (devices, collective) in common::cuda_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        let hubs = (Strategy::Hubs, Choice::Is(8), Choice::Is(64));
        let bins = (Strategy::Bins, Choice::Auto, Choice::Is(64));
        let rows = (Strategy::PullNodiv, Choice::Auto, Choice::Auto);
        for (strategy, segments, segment_width) in [hubs, bins, rows] {
            for iterations in [1, 2, 29, 30, 31, 60, 61, 120, 121] {
                for (name, graph) in &graphs {
                    let once = PagerankConfig {
                        strategy,
                        segments,
                        segment_width,
                        iterations,
                        tolerance: Choice::Is(0.0),
                        run: merged(MergeMode::Redundant),
                        ..PagerankConfig::default()
                    };
                    let run = RunOptions { runs: 3, ..once.run.clone() };
                    let often = PagerankConfig { run, ..once.clone() };
                    let found = answer_as(&fleet, graph, &often, Layout::Degree);
                    assert_eq!(found.iterations, iterations);
                    let expected = bits(&answer_as(&fleet, graph, &once, Layout::Degree));
                    assert!(
                        bits(&found) == expected,
                        "{strategy:?}, {iterations}, {name}, {devices}"
                    );
                }
            }
        }
    }
}

/// Everything that promises it, on these fleets, equals the first one's answer.
fn check_bits(fleets: &[Fleet], names: &[String], graphs: &Graphs) {
    for (name, graph) in graphs {
        for strategy in STRATEGIES.into_iter().filter(|strategy| !pushes(*strategy)) {
            for tolerance in [1e-5, 0.0].map(Choice::Is) {
                let plain =
                    PagerankConfig { iterations: 25, tolerance, ..PagerankConfig::default() };
                let config = PagerankConfig { strategy, deterministic: true, ..plain };
                let first = bits(&answer(&fleets[0], graph, &config));
                for (fleet, devices) in fleets.iter().zip(names) {
                    for merge in
                        [MergeMode::Auto, MergeMode::Split, MergeMode::Redundant, MergeMode::Dense]
                    {
                        let config = PagerankConfig { run: merged(merge), ..config.clone() };
                        let found = bits(&answer(fleet, graph, &config));
                        assert!(found == first, "{name}, {strategy:?}, {devices}, {merge:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn pulls_give_equal_bits_on_any_number_of_host_replicas_by_any_merge() {
    let names: Vec<String> = [1, 2, 3, 5].map(|replicas| format!("host:{replicas}")).into();
    let fleets: Vec<Fleet> = [1, 2, 3, 5].map(host).into();
    check_bits(&fleets, &names, &graphs());
}

#[test]
fn pulls_give_equal_bits_on_any_number_of_gpu_replicas_by_any_merge() {
    let all = common::cuda_fleets();
    for (devices, collective) in &all {
        let alone = common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default());
        let perturbed = FleetConfig { perturb: Some(7), ..FleetConfig::default() };
        let names = ["cuda:0".to_string(), devices.clone()];
        let fleets = [alone, common::open(devices, *collective, perturbed)];
        check_bits(&fleets, &names, &few());
    }
}

/// `node value` a line.
fn published(path: &std::path::Path) -> Vec<(u64, f64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let (node, value) = line.split_once(' ').unwrap();
        (node.parse().unwrap(), value.trim().parse().unwrap())
    };
    text.lines().map(pair).collect()
}

#[test]
fn the_example_graphs_of_graphalytics_have_the_published_ranks() {
    let Some(data) = common::all_data() else { return };
    for name in ["example-directed", "example-undirected"] {
        let folder = data.join("reference/ldbc-example");
        let edges = folder.join(format!("{name}.e"));
        let mut graph = io::load(edges.to_str().unwrap()).unwrap();
        if name == "example-undirected" && !graph.is_symmetric() {
            // Each edge is listed once.
            let ids: Vec<u64> = (0..graph.nodes() as u32).map(|v| graph.input_id(v)).collect();
            let mut arcs = Vec::new();
            for u in 0..graph.nodes() {
                for (v, w) in graph.neighbors(u) {
                    arcs.extend([(u as u32, v, w), (v, u as u32, w)]);
                }
            }
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            graph = graph_of(graph.nodes(), &arcs);
        }
        let graph = Arc::new(graph);
        let expected = published(&folder.join(format!("{name}-PR")));
        assert_eq!(expected.len(), graph.nodes());
        for strategy in STRATEGIES {
            let tolerance = Choice::Is(0.0);
            let plain = PagerankConfig { iterations: 2, tolerance, ..PagerankConfig::default() };
            let config = PagerankConfig { strategy, ..plain };
            let found = answer(&host(3), &graph, &config);
            assert_eq!(found.iterations, 2);
            let mut order: Vec<usize> = (0..graph.nodes()).collect();
            order.sort_by_key(|v| graph.input_id(*v as u32));
            for ((node, value), v) in expected.iter().zip(order) {
                let rank = f64::from(found.ranks[v]);
                assert!(
                    (rank - value).abs() <= 1e-4 * value,
                    "{name}, node {node}: {rank} is {value}"
                );
            }
        }
    }
}

#[test]
fn ranks_are_those_of_networkx() {
    let fleets = [host(1), host(3)];
    for (name, known) in common::networkx() {
        let relabelled = io::LoadOptions { relabel: io::Relabel::Random(5), ..Default::default() };
        for options in [io::LoadOptions::default(), relabelled] {
            let Some(graph) = known.graph(&options).map(Arc::new) else { continue };
            for (asked, fleet) in known.pagerank.iter().zip(fleets.iter().cycle()) {
                let personal = asked.personal.as_ref().map(|shares| known.by_node(&graph, shares));
                let config = PagerankConfig {
                    damping: asked.damping,
                    weighted: asked.weighted,
                    personal,
                    tolerance: Choice::Is(1e-7),
                    ..PagerankConfig::default()
                };
                let found = answer(fleet, &graph, &config);
                let right = known.by_node(&graph, &asked.ranks);
                let off: f64 =
                    right.iter().zip(&found.ranks).map(|(a, b)| (a - f64::from(*b)).abs()).sum();
                assert!(off <= 2e-6, "{name}: {off} in L1");
            }
        }
    }
}

#[test]
fn auto_is_a_thread_a_row_on_flat_graphs_and_hubs_on_skewed_ones() {
    let fleet = host(2);
    let chosen = |graph: Graph, weighted| {
        let config = PagerankConfig { weighted, ..PagerankConfig::default() };
        answer(&fleet, &Arc::new(graph), &config).strategy
    };
    assert_eq!(chosen(common::grid(66, 64, false, 2), false), Strategy::PullNodiv);
    assert_eq!(chosen(common::skewed(12, 8, 1), false), Strategy::Hubs);
    assert_eq!(chosen(common::skewed(12, 8, 1), true), Strategy::WarpPullNodiv);
}

fn hive(args: &[&str]) -> Output {
    let mut command: Command = common::hive();
    command.args(["run", "pagerank", "--devices", "host:2"]).args(args).output().unwrap()
}

fn refused(args: &[&str], part: &str) {
    let output = hive(args);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    assert!(err.contains(part), "{args:?}: no '{part}' in {err}");
}

#[test]
fn bad_input_gets_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let graph = file("g.txt", "0 1\n1 2\n");
    for (args, part) in [
        (&["--damping", "1.5"][..], "--damping 1.5"),
        (&["--damping", "nan"], "--damping NaN"),
        (&["--tolerance", "-1"], "--tolerance -1"),
        (&["--tolerance", "inf"], "--tolerance inf"),
        (&["--iterations", "0"], "--iterations 0"),
        (&["--strategy", "fast"], "--strategy fast"),
        (&["--warp-width", "3"], "--warp-width 3"),
        (&["--warp-width", "128"], "--warp-width 128"),
        (&["--warp-chunk", "11"], "--warp-chunk 11"),
        (&["--strategy", "pull", "--warp-width", "4"], "--strategy pull with --warp-width"),
        (&["--warp-chunk", "4"], "--strategy auto with --warp-width or --warp-chunk"),
        (&["--strategy", "push", "--segments", "5"], "--strategy push with --segments"),
        (&["--weighted", "--segment-teams", "2"], "--strategy auto with --segments"),
        (&["--strategy", "push", "--deterministic"], "--deterministic: push"),
        (&["--strategy", "edge-soa", "--merge", "split"], "--merge split: edge-soa"),
        (&["--strategy", "hubs", "--weighted"], "--strategy hubs has no room for weights"),
        (&["--strategy", "bins", "--weighted"], "--strategy bins has no room for weights"),
        (&["--strategy", "bins", "--segments", "2"], "hubs alone has them"),
        (&["--segments", "129"], "--segments 129"),
        (&["--segment-teams", "0"], "--segment-teams 0"),
        (&["--segment-teams", "9"], "--segment-teams 9"),
        (&["--segment-width", "50000"], "--segment-width 50000"),
        (&["--segment-width", "6"], "--segment-width 6"),
        (&["--source", "1"], "pagerank does not take --source"),
        (&["--personalize", "no-such.csv"], "no-such.csv"),
        (
            &["--personalize", &file("a.csv", "node,weight\n9,1\n")],
            "a.csv:2: the graph has no node 9",
        ),
        (&["--personalize", &file("b.csv", "0,-1\n")], "b.csv:1: a weight of -1"),
        (&["--personalize", &file("c.csv", "0,0\n")], "c.csv: no node has a weight above 0"),
        (&["--output", "x.pdf"], ".txt, .npy, .npz"),
    ] {
        refused(&[&["--graph", &graph], args].concat(), part);
    }
}

#[test]
fn the_program_writes_ranks_in_the_ids_of_the_input_and_ranks_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let (graph, out, record) = (path("g.txt"), path("r.csv"), path("r.json"));
    std::fs::write(&graph, "5 7\n6 7\n7 5\n").unwrap();
    std::fs::write(path("p.csv"), "node,weight\n6,2\n").unwrap();
    let alias = common::hive()
        .args(["run", "pr", "--devices", "host:1", "--graph", &graph, "--top", "2"])
        .args(["--output", &out, "--json", &record, "--verify"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&alias.stdout).into_owned();
    assert!(alias.status.success(), "{alias:?}");
    assert!(text.contains("pagerank on g") && text.contains("tolerance met"), "{text}");
    assert!(text.contains("verified  yes, independently"), "{text}");
    let best: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(best[1].trim_start().starts_with("1     7"), "{text}");
    let csv = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("node,rank", 4), "{csv}");
    assert!(lines[1].starts_with("5,0.") && lines[2].starts_with("6,0.05"), "{csv}");
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    assert_eq!(record["primitive"], "pr");
    assert_eq!(record["damping"], 0.85);
    assert_eq!(record["chosen"], "pull-nodiv");
    assert!(record["change"].as_f64().unwrap() <= 1e-6);
    assert!(record["iterations-made"].as_u64().unwrap() > 10);

    // Walks begin at 6 alone, to which no arc leads.
    let personal = path("p.csv");
    let output =
        hive(&["--graph", &graph, "--personalize", &personal, "--output", &out, "--verify"]);
    assert!(output.status.success(), "{output:?}");
    let csv = std::fs::read_to_string(&out).unwrap();
    let value = csv.lines().nth(2).unwrap().strip_prefix("6,").unwrap().parse::<f64>().unwrap();
    assert!((value - 0.15).abs() < 1e-6, "{csv}");
}

#[test]
fn rounding_that_adds_up_without_a_teleport_passes_the_check_and_a_changed_rank_does_not() {
    let more = FleetConfig::default();
    let fleet = common::open("host:1", CollectiveKind::Host, more);
    let graph = Arc::new(hivegraph::generate::generate("road:6").unwrap());
    let own = common::own(json!({ "damping": 1.0, "iterations": 20_000, "tolerance": 0.0 }));
    let config = RunConfig { own, verify: Verify::Yes, ..RunConfig::default() };
    let mut found = common::outcome("pagerank", &fleet, &graph, &config).unwrap();
    let verification = found.verification.as_ref().unwrap();
    assert_eq!((verification.verdict, &verification.message), (Verdict::Yes, &None));
    let ranks = &mut found.answer.own_mut().downcast_mut::<Pagerank>().unwrap().ranks;
    let last = (0..ranks.len()).max_by(|a, b| ranks[*a].total_cmp(&ranks[*b])).unwrap();
    ranks[last] *= 1.01;
    assert_eq!(found.job.verify(&*found.answer, &Checker::host()).unwrap().verdict, Verdict::No);
    // A walk leaves node 2 for ever, whose rank falls to 0.
    let arcs = [(0, 1, 1.0), (0, 1, 3.0), (1, 0, 2.0), (1, 1, 1.0), (2, 1, 0.0)];
    let graph = Arc::new(common::graph_of(3, &arcs));
    let own = common::own(json!({ "damping": 1.0, "weighted": true }));
    let config = RunConfig { own, verify: Verify::Yes, ..RunConfig::default() };
    let found = common::outcome("pagerank", &fleet, &graph, &config).unwrap();
    assert_eq!(found.verification.unwrap().message, None);
}

#[test]
fn a_sweep_runs_every_variant_and_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let text = "graphs = ['star:500']\ndevices = ['host:1']\nworkloads = ['pagerank', 'sssp']\n\
                variants = [{ pagerank = { strategy = 'push' } }, { pagerank = { strategy = 'pull' } }]\n\
                [run]\nruns = 1\nverify = true\n";
    std::fs::write(path("s.toml"), text).unwrap();
    let sweep = ["sweep", &path("s.toml"), "--output", &path("out")];
    let output = common::hive().args(sweep).output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains("strategy=push") && table.contains("strategy=pull"), "{table}");
    let record =
        path("out/pagerank_eval_mgpu/host/default/pagerank__star500__GPU1__strategy-push.json");
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    assert_eq!((&record["strategy"], &record["verified"]), (&"push".into(), &"yes".into()));
}

#[test]
fn the_sweep_of_strategies_has_them_all() {
    let config = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/pagerank.toml");
    let config: toml::Table = toml::from_str(&std::fs::read_to_string(config).unwrap()).unwrap();
    let variants = config["variants"].as_array().unwrap();
    let named = |v: &toml::Value| v["pagerank"]["strategy"].as_str().unwrap().parse().unwrap();
    let named: Vec<Strategy> = variants.iter().map(named).collect();
    assert!(named.contains(&Strategy::Auto) && STRATEGIES.iter().all(|s| named.contains(s)));
}
