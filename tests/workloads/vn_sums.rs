//! Vertex nomination by sums over all seeds: those of a search from each seed, the same bits on any number of replicas.

use crate::common;
use crate::common::{dijkstra_f32, dijkstra_f64, graph_of, hash};
use hivegraph::algorithm::sssp::{SeedSums, VnRank};
use hivegraph::algorithm::{MergeMode, Precision, Seeds, VnConfig, vn};
use hivegraph::fleet::Fleet;
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::verify::{self, SeedSumsFound};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Sums by the definition, and the least distance.
fn defined(graph: &Graph, seeds: &[u32], double: bool) -> Vec<(f64, f64, u32, f64)> {
    let mut all = vec![(0.0, 0.0, 0, f64::INFINITY); graph.nodes()];
    for seed in seeds {
        let distances: Vec<f64> = match double {
            true => dijkstra_f64(graph, &[*seed]),
            false => dijkstra_f32(graph, &[*seed]).into_iter().map(f64::from).collect(),
        };
        for (v, distance) in distances.into_iter().enumerate().filter(|(_, d)| d.is_finite()) {
            let (sum, harmonic, reached, least) = &mut all[v];
            *least = least.min(distance);
            if *seed as usize != v {
                *sum += distance;
                *harmonic += if distance > 0.0 { 1.0 / distance } else { 0.0 };
                *reached += 1;
            }
        }
    }
    all
}

fn cases() -> Vec<(&'static str, Arc<Graph>, Vec<u32>)> {
    let spread = |n: usize, k: usize| (0..k).map(|i| (i * n / k) as u32).collect();
    let cases = [
        ("skewed", common::skewed(9, 6, 1), 11),
        ("grid", common::grid(19, 18, true, 2), 9),
        ("directed", common::directed(400, 3, 6), 7),
        ("two components", common::two_components(300), 5),
        ("zeros and parallels", common::zeros_and_parallels(300), 8),
        ("no arcs", graph_of(40, &[]), 3),
        ("heavy", graph_of(4, &[(0, 1, 16_777_216.0), (1, 2, 1.0), (2, 3, 2.0)]), 2),
    ];
    cases
        .into_iter()
        .map(|(name, graph, k)| {
            let seeds = spread(graph.nodes(), k);
            (name, Arc::new(graph), seeds)
        })
        .collect()
}

fn near(found: f64, right: f64) -> bool {
    found == right || (found - right).abs() <= 1e-12 * right
}

fn checked(
    fleet: &Fleet,
    graph: &Arc<Graph>,
    seeds: &[u32],
    config: VnConfig,
    what: &str,
) -> (SeedSums, Vec<u64>) {
    let config = VnConfig { seeds: Some(Seeds::of_nodes(graph, seeds)), ..config };
    let prepared = Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap();
    let found = vn(fleet, &prepared, &config).unwrap_or_else(|e| panic!("{what}: {e}"));
    let double = found.distances_f64.is_some();
    let sums = found.sums.unwrap();
    let right = defined(graph, seeds, double);
    for (v, (sum, harmonic, reached, least)) in right.into_iter().enumerate() {
        let distance = found.distances_f64.as_ref().map_or(found.distances[v].into(), |all| all[v]);
        assert!(near(sums.sum[v], sum) && near(sums.harmonic[v], harmonic), "{what}: node {v}");
        assert_eq!((sums.reached[v], distance), (reached, least), "{what}: node {v}");
    }
    let SeedSums { sum, harmonic, reached, .. } = &sums;
    let of = SeedSumsFound { sum, harmonic, reached };
    let seen = match double {
        true => verify::seed_sums::<f64>(graph, seeds, of),
        false => verify::seed_sums::<f32>(graph, seeds, of),
    };
    assert_eq!(seen.unwrap(), seeds.len(), "{what}");
    let bits = sum.iter().chain(harmonic).map(|x| x.to_bits()).collect();
    (sums, bits)
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_bits_and_those_of_the_definition() {
    let mut first: HashMap<String, Vec<u64>> = HashMap::new();
    common::everywhere(|fleet, run, how| {
        if matches!(run.merge, MergeMode::Dense | MergeMode::Split) {
            return;
        }
        for (name, graph, seeds) in cases() {
            for precision in [Precision::Auto, Precision::F64] {
                let what = format!("{name}, {precision} on {how}");
                let run = common::compared(run.merge);
                let config = VnConfig { rank: VnRank::Sum, precision, run, ..VnConfig::default() };
                let (_, bits) = checked(fleet, &graph, &seeds, config, &what);
                let known =
                    first.entry(format!("{name} {precision}")).or_insert_with(|| bits.clone());
                assert!(*known == bits, "other bits: {what}");
            }
        }
    });
}

#[test]
fn random_graphs_have_the_sums_of_the_definition() {
    let fleet = common::open("host:2", Default::default(), Default::default());
    for seed in 0..200 {
        let draw = |i: u64, below: u64| hash(seed, i) % below;
        let n = 1 + draw(0, 40);
        let arcs = (0..n * draw(1, 5)).map(|i| {
            let weight = [0.0, 1.0, 2.5, 0.1][draw(9 + 3 * i, 4) as usize];
            (draw(10 + 3 * i, n) as u32, draw(11 + 3 * i, n) as u32, weight)
        });
        let graph = Arc::new(graph_of(n as usize, &arcs.collect::<Vec<_>>()));
        let seeds: Vec<u32> =
            (0..n as u32).filter(|v| *v == 0 || draw(5000 + u64::from(*v), 3) == 0).collect();
        let config = VnConfig { rank: VnRank::Harmonic, ..VnConfig::default() };
        checked(&fleet, &graph, &seeds, config, &format!("seed {seed}"));
    }
}

#[test]
fn the_program_ranks_by_what_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, csv) = (folder.path().join("friends.csv"), folder.path().join("ranks.csv"));
    // bob and eve both know dan well; carl is next to alice alone.
    let rows = "alice,carl,1\nalice,dan,2\nbob,dan,2\nbob,eve,9\ncarl,dan,9\n";
    std::fs::write(&graph, format!("source,target,weight\n{rows}")).unwrap();
    let (graph, csv) = (graph.to_str().unwrap(), csv.to_str().unwrap());
    let run = |more: &[&str]| {
        let args = [
            "run",
            "vn",
            "--graph",
            graph,
            "--symmetrize",
            "--seeds",
            "alice,bob",
            "--devices",
            "host:2",
        ];
        common::ends_within(Duration::from_secs(60), common::hive().args(args).args(more))
    };
    for (by, best) in [("min", "carl"), ("sum", "dan"), ("harmonic", "carl")] {
        let ended = run(&["--rank", by, "--top", "1", "--verify", "--output", csv, "--json", "-"]);
        assert_eq!(ended.code, Some(0), "{by}: {}", ended.err);
        let listed =
            ended.err.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap_or_default();
        assert!(listed.contains(best), "{by}: {}", ended.err);
        let record: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(record["verification"]["verdict"], "yes", "{by}");
        assert_eq!(record["rank"], if by == "min" { Value::Null } else { by.into() });
    }
    let text = std::fs::read_to_string(csv).unwrap();
    assert!(text.starts_with("node,distance,sum,harmonic,seeds\nalice,0,4.0,0.25,1\n"), "{text}");
    for (more, part) in [
        (&["--rank", "sum", "--nominee"][..], "--nominee: it is for the nearest seed"),
        (&["--rank", "harmonic", "--target", "dan"], "--target: it is for the nearest seed"),
        (&["--rank", "sum", "--delta", "3"], "--delta: it is for the nearest seed"),
        (&["--rank", "sum", "--merge", "dense"], "--merge dense"),
        (&["--rank", "mean"], "--rank mean"),
    ] {
        let ended = run(more);
        assert_eq!(ended.code, Some(2), "{more:?}: {}", ended.err);
        assert!(
            ended.err.contains(part) && ended.err.trim_end().lines().count() == 1,
            "{}",
            ended.err
        );
    }
}
