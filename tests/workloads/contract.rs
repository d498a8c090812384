//! The contract, for every workload over a graph without weights: the same answer to the bit on any number of
//! replicas, by any merge, under any schedule; checked independently; equal to published answers.

use crate::common;

use crate::common::{MERGES, answer_of, csv_of, outcome, own};
use hivegraph::algorithm::bfs::SearchDirection;
use hivegraph::algorithm::{Components, MergeMode, Searches};
use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::io::LoadOptions;
use hivegraph::layout::Layout;
use hivegraph::run::{RunConfig, Verify};
use serde_json::json;
use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;

/// Workloads whose answers do not depend on an order of additions.
const EXACT: [&str; 3] = ["bfs", "cc", "scc"];

/// The zoo, two small R-MATs (one with huge rows and deep hubs), and a graph whose rows hold self loops only.
fn graphs() -> Vec<(&'static str, Arc<Graph>)> {
    let mut graphs: Vec<_> =
        common::zoo().into_iter().map(|(name, graph, _)| (name, Arc::new(graph))).collect();
    graphs.dedup_by_key(|(name, _)| name.split(',').next());
    let loops: Vec<_> = (0..4200).flat_map(|v| vec![(v, v, 1.0); 1 + v as usize % 6]).collect();
    let mut joined = loops.clone();
    joined.extend((0..4199).flat_map(|v| [(v, v + 1, 1.0), (v + 1, v, 1.0)]));
    graphs.push(("self loops", Arc::new(common::graph_of(4200, &loops))));
    graphs.push(("chain with self loops", Arc::new(common::graph_of(4200, &joined))));
    graphs.push(("R-MAT", Arc::new(hivegraph::generate::generate("rmat:13").unwrap())));
    graphs
}

fn config(merge: MergeMode, layout: Layout) -> RunConfig {
    RunConfig { merge, layout, verify: Verify::Yes, ..RunConfig::default() }
}

/// Runs all on a fleet; answers must equal those in `seen`, which is filled by the first.
fn check(
    devices: &str,
    collective: CollectiveKind,
    graphs: &[(&'static str, Arc<Graph>)],
    seen: &mut HashMap<(String, &'static str), String>,
) {
    let schedules = [(None, Layout::Auto), (Some(3), Layout::Raw), (Some(7), Layout::Degree)];
    // Host replicas share the cores of a CI machine: one schedule for all counts, all schedules for one.
    let many = devices == "host:3" || devices.starts_with("cuda");
    for (perturb, layout) in schedules.into_iter().take(if many { 3 } else { 1 }) {
        let fleet = common::open(devices, collective, common::perturbed(perturb));
        for (name, graph) in graphs {
            for workload in EXACT {
                for merge in MERGES {
                    let what = format!("{workload} of {name} on {devices}, {merge}, {layout}");
                    let found = outcome(workload, &fleet, graph, &config(merge, layout))
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    found.verified().unwrap_or_else(|e| panic!("{what}: {e}"));
                    let text = csv_of(&found);
                    let first = seen.entry((workload.into(), name)).or_insert_with(|| text.clone());
                    assert!(*first == text, "{what}: another answer than the first fleet's");
                }
            }
        }
    }
}

#[test]
fn host_replicas_agree_to_the_bit_for_any_count_merge_and_schedule() {
    let (graphs, mut seen) = (graphs(), HashMap::new());
    for world in [1, 3, 5] {
        check(&format!("host:{world}"), CollectiveKind::Host, &graphs, &mut seen);
    }
}

#[test]
fn gpu_replicas_agree_to_the_bit_for_any_count_merge_and_schedule() {
    let (graphs, mut seen) = (graphs(), HashMap::new());
    for (devices, collective) in common::cuda_fleets() {
        check(&devices, collective, &graphs, &mut seen);
    }
}

/// Fleets for the tests below: two of the host, and one of each kind that the machine has.
fn few_fleets() -> Vec<(String, CollectiveKind)> {
    let host = [1, 3].map(|world| (format!("host:{world}"), CollectiveKind::Host));
    let gpus = common::cuda_fleets();
    let few =
        gpus.into_iter().filter(|(name, _)| ["cuda:0", "cuda:0x3", "cuda:0-1"].contains(&&**name));
    host.into_iter().chain(few).collect()
}

#[test]
fn levels_and_parents_are_those_of_a_serial_search_whichever_way_and_from_any_source() {
    for (devices, collective) in few_fleets() {
        let more = FleetConfig { deadline_s: 60.0, ..FleetConfig::default() };
        let fleet = common::open(&devices, collective, more);
        for (name, graph) in graphs() {
            for direction in [SearchDirection::Auto, SearchDirection::Push, SearchDirection::Pull] {
                for merge in [MergeMode::Auto, MergeMode::Dense] {
                    // Arcs that lead nowhere are not drawn for.
                    let sources = if name == "self loops" { "first:5" } else { "random:5:9" };
                    let asked = RunConfig {
                        own: own(json!({
                            "predecessors": true,
                            "sources": sources,
                            "direction": direction,
                        })),
                        ..config(merge, Layout::Auto)
                    };
                    let what = format!("{name} on {devices}, {direction}, {merge}");
                    let found = outcome("bfs", &fleet, &graph, &asked)
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    found.verified().unwrap_or_else(|e| panic!("{what}: {e}"));
                    let searches: &Searches = answer_of(&found);
                    assert_eq!(searches.levels.len(), 5, "{what}");
                    for (source, levels) in searches.sources.iter().zip(&searches.levels) {
                        assert!(*levels == serial(&graph, *source), "{what} from {source}");
                    }
                    assert!(searches.teps.harmonic_mean <= searches.teps.max, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_source_without_arcs_reaches_itself() {
    let graph = Arc::new(hivegraph::generate::generate("rmat:12").unwrap());
    let lonely = (0..graph.nodes()).find(|v| graph.degree(*v) == 0).unwrap() as u32;
    let sources = format!("{},{lonely}", graph.default_source());
    for (devices, collective) in few_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        for direction in [SearchDirection::Auto, SearchDirection::Push, SearchDirection::Pull] {
            for (merge, layout) in MERGES.into_iter().flat_map(|merge| {
                [Layout::Auto, Layout::Raw, Layout::Degree].map(|layout| (merge, layout))
            }) {
                let asked = RunConfig {
                    own: own(json!({
                        "predecessors": true,
                        "sources": sources,
                        "direction": direction,
                    })),
                    ..config(merge, layout)
                };
                let what = format!("{devices}, {direction}, {merge}, {layout}");
                let found = outcome("bfs", &fleet, &graph, &asked).unwrap();
                found.verified().unwrap_or_else(|e| panic!("{what}: {e}"));
                let searches: &Searches = answer_of(&found);
                let at = searches.sources.iter().position(|s| *s == lonely).unwrap();
                assert_eq!(searches.counts[at], [1, 0, 0], "{what}");
                assert!(searches.counts[1 - at][0] > 1000, "{what}");
            }
        }
    }
}

/// Each edge once, a self loop as one: the rate says how many there were.
#[test]
fn an_edge_is_two_arcs_or_a_self_loop() {
    let arcs = [(0, 1, 1.0), (1, 0, 1.0), (0, 0, 1.0), (1, 1, 1.0), (1, 1, 1.0), (2, 2, 1.0)];
    let graph = Arc::new(common::graph_of(3, &arcs));
    for (devices, collective) in few_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        let asked =
            RunConfig { own: own(json!({ "source": 0 })), ..config(MergeMode::Auto, Layout::Auto) };
        let found = outcome("bfs", &fleet, &graph, &asked).unwrap();
        let searches: &Searches = answer_of(&found);
        let fastest =
            searches.measured.runs.iter().map(|run| run.total_ms).fold(f64::MAX, f64::min);
        let edges = searches.teps.max * fastest / 1e3;
        assert!((edges - 4.0).abs() < 1e-9, "{devices}: {edges}");
    }
}

/// Levels by a queue.
fn serial(graph: &Graph, source: u32) -> Vec<u32> {
    let mut levels = vec![u32::MAX; graph.nodes()];
    levels[source as usize] = 0;
    let mut queue = std::collections::VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for (v, _) in graph.neighbors(u as usize) {
            if levels[v as usize] == u32::MAX {
                levels[v as usize] = levels[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    levels
}

#[test]
fn published_levels_and_components_are_met() {
    for (devices, collective) in few_fleets() {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        for example in common::ldbc_examples(&LoadOptions::default()) {
            let graph = Arc::new(example.graph);
            let source = graph.input_id(example.source);
            let asked = RunConfig {
                own: own(json!({ "source": source })),
                ..config(MergeMode::Auto, Layout::Auto)
            };
            let found = outcome("bfs", &fleet, &graph, &asked).unwrap();
            assert_eq!(answer_of::<Searches>(&found).levels[0], example.levels, "{}", example.name);
            let found =
                outcome("cc", &fleet, &graph, &config(MergeMode::Auto, Layout::Auto)).unwrap();
            let labels = &answer_of::<Components>(&found).labels;
            assert!(same_parts(labels, &example.components), "{}", example.name);
        }
        for (name, known) in common::networkx() {
            let Some(graph) = known.graph(&LoadOptions::default()) else { continue };
            let graph = Arc::new(graph);
            let levels = known.levels(&graph);
            let source = levels.iter().position(|level| *level == 0).unwrap() as u32;
            let source = graph.input_id(source);
            let asked = RunConfig {
                own: own(json!({ "source": source })),
                ..config(MergeMode::Auto, Layout::Auto)
            };
            let found = outcome("bfs", &fleet, &graph, &asked).unwrap();
            assert_eq!(answer_of::<Searches>(&found).levels[0], levels, "{name}");
            let found =
                outcome("cc", &fleet, &graph, &config(MergeMode::Auto, Layout::Auto)).unwrap();
            assert_eq!(answer_of::<Components>(&found).count, known.components, "{name}");
        }
    }
}

/// Thousands of circles of friends, a hundred in a row joined by an arc each: chains of smallest neighbours end in as many
/// hubs, no tree has a share worth naming, and long rows are left over.
#[test]
fn components_without_a_giant_are_found() {
    let (size, row, circles) = (64, 100, 2048);
    let n = size * circles;
    for directed in [true, false] {
        let mut arcs = Vec::new();
        for v in 0..n {
            let (circle, first) = (v / size, v - v % size);
            let friends = if v % 1000 == 0 { 300 } else { 12 };
            let within = (0..friends)
                .map(|k| first + common::hash(circle.into(), (v * 512 + k).into()) as u32 % size);
            // Whom everybody knows, so that circles hold together.
            arcs.extend(within.chain([first]).map(|u| (v, u, 1.0)));
            if v % size == 17 && (circle + 1) % row != 0 && circle + 1 < circles {
                arcs.push((v, v + size, 1.0));
            }
        }
        if !directed {
            arcs.extend(arcs.clone().into_iter().map(|(u, v, w)| (v, u, w)));
        }
        let graph = Arc::new(common::unweighted_graph_of(n as usize, &arcs));
        let expected: Vec<u32> = (0..n).map(|v| v - v % (size * row)).collect();
        for (devices, collective) in few_fleets() {
            let fleet = common::open(&devices, collective, FleetConfig::default());
            let layouts = [Layout::Auto, Layout::Raw, Layout::Degree];
            for (layout, merge) in layouts.into_iter().flat_map(|layout| {
                [MergeMode::Auto, MergeMode::Split].map(move |merge| (layout, merge))
            }) {
                let what = format!("{devices}, {layout}, {merge}, directed: {directed}");
                let found = outcome("cc", &fleet, &graph, &config(merge, layout)).unwrap();
                found.verified().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(answer_of::<Components>(&found).labels == expected, "{what}");
            }
        }
    }
}

/// Few arcs and many: those that a sample of each node's arcs leaves out count as well.
#[test]
fn components_of_random_graphs_are_those_of_a_union() {
    let fleet = common::open("host:2", CollectiveKind::Host, FleetConfig::default());
    for seed in 0..200 {
        let draw = |i: u64| common::hash(seed, i);
        let n = 2 + draw(0) as u32 % 300;
        let count = draw(1) % (1 + u64::from(n) * [1, 2, 8][draw(2) as usize % 3]);
        let node = |i| draw(i) as u32 % n;
        let mut arcs: Vec<_> =
            (0..count).map(|i| (node(2 * i + 3), node(2 * i + 4), 1.0)).collect();
        if draw(2) % 2 == 0 {
            arcs.extend(arcs.clone().into_iter().map(|(u, v, w)| (v, u, w)));
        }
        let mut expected: Vec<u32> = (0..n).collect();
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for (u, v, _) in &arcs {
                let least = expected[*u as usize].min(expected[*v as usize]);
                for v in [*u, *v] {
                    moved |= std::mem::replace(&mut expected[v as usize], least) != least;
                }
            }
        }
        let graph = Arc::new(common::unweighted_graph_of(n as usize, &arcs));
        for layout in [Layout::Raw, Layout::Degree] {
            let found = outcome("cc", &fleet, &graph, &config(MergeMode::Auto, layout)).unwrap();
            assert!(answer_of::<Components>(&found).labels == expected, "{seed}, {layout}");
        }
    }
}

/// Whether two labellings part the nodes alike, whatever the labels.
fn same_parts(a: &[u32], b: &[u32]) -> bool {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    a.iter()
        .zip(b)
        .all(|(a, b)| *there.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a)
}

fn refusal(args: &[&str]) -> String {
    let mut command: Command = common::hive();
    let output = command.args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn bad_questions_get_one_line() {
    let on = |more: &[&str]| refusal(&[&["run", "bfs", "--graph", "rmat:8"], more].concat());
    for (args, part) in [
        (&["--do-a", "-1"][..], "--do-a -1"),
        (&["--direction", "sideways"], "--direction"),
        (&["--direction", "push", "--do-b", "3"], "--direction push with --do-a or --do-b"),
        (&["--source", "1", "--sources", "2"], "--source with --sources"),
        (
            &["--sources", "1,2", "--output", "x.npy"],
            "one column only, not for the results of 2 searches",
        ),
        (
            &["--sources", "1,2", "--output", "x.txt"],
            "one column only, not for the results of 2 searches",
        ),
        (&["--source", "999"], "999"),
        (&["--sources", "random:256:1"], "have out-arcs to others; ask for 1 to"),
        (&["--predecessors", "--output", "x.npy"], "name a .csv"),
        (&["--output", "x.json"], ".txt, .npy, .npz"),
        (&["--seeds", "1"], "bfs does not take --seeds"),
        (&["--damping", "0.5"], "bfs does not take --damping"),
    ] {
        let line = on(args);
        assert!(line.contains(part), "no {part} in {line}");
    }
    let line = refusal(&["run", "cc", "--graph", "rmat:8", "--output", "x.json"]);
    assert!(line.contains(".txt, .npy, .npz"), "{line}");
}
