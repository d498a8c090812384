//! The nearest targets of each source: those of the whole matrix, the same on any number of replicas.

use crate::common;
use crate::common::{graph_of, hash};
use hivegraph::algorithm::{
    DistanceMatrix, DistancesConfig, HopsConfig, MatrixValues, NearestPairs, Seeds, distances, hops,
};
use hivegraph::fleet::Fleet;
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::verify::{self, NearestBy, NearestFound};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Matrices of whole rows and of the nearest: by arcs, by weight.
fn both(
    fleet: &Fleet,
    graph: &Arc<Graph>,
    ends: [&[u32]; 2],
    most: u32,
) -> Vec<[DistanceMatrix; 2]> {
    let prepared = Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap();
    let [sources, targets] = ends.map(|nodes| Some(Seeds::of_nodes(graph, nodes)));
    let arcs = [None, Some(most)].map(|nearest| {
        let (sources, targets) = (sources.clone(), targets.clone());
        hops(fleet, &prepared, &HopsConfig { sources, targets, nearest, ..Default::default() })
            .unwrap()
    });
    let weights = [None, Some(most)].map(|nearest| {
        let (sources, targets) = (sources.clone(), targets.clone());
        let config = DistancesConfig { sources, targets, nearest, ..Default::default() };
        distances(fleet, &prepared, &config).unwrap()
    });
    vec![arcs, weights]
}

/// Pairs of a whole matrix, each row sorted.
fn defined(whole: &DistanceMatrix, most: usize) -> Vec<(u32, u32, f64)> {
    let mut pairs = Vec::new();
    for (row, source) in whole.sources.iter().enumerate() {
        let columns = whole.targets.iter().enumerate();
        let mut own: Vec<(u32, f64)> =
            columns.map(|(column, target)| (*target, whole.at(row, column))).collect();
        own.retain(|(target, distance)| target != source && distance.is_finite());
        own.sort_by(|a, b| a.1.total_cmp(&b.1));
        pairs.extend(
            own.into_iter().take(most).map(|(target, distance)| (*source, target, distance)),
        );
    }
    pairs
}

fn listed(found: &DistanceMatrix) -> Vec<(u32, u32, f64)> {
    let NearestPairs { source, target, .. } = found.nearest.as_ref().unwrap();
    assert_eq!(found.values.len(), source.len());
    let pairs = source.iter().zip(target).enumerate();
    pairs.map(|(at, (source, target))| (*source, *target, found.values.get(at))).collect()
}

fn check(
    graph: &Graph,
    found: &DistanceMatrix,
    pairs: &[(u32, u32, f64)],
) -> hivegraph::Result<usize> {
    let by = match found.values {
        MatrixValues::F32(_) => NearestBy::Weight32,
        MatrixValues::F64(_) => NearestBy::Weight64,
        _ => NearestBy::Arcs,
    };
    let (source, target): (Vec<u32>, Vec<u32>) = pairs.iter().map(|pair| (pair.0, pair.1)).unzip();
    let of = NearestFound {
        most: found.nearest.as_ref().unwrap().most,
        source: &source,
        target: &target,
    };
    verify::nearest(graph, (&found.sources, &found.targets), by, of, |at| pairs[at].2)
}

#[test]
fn they_are_those_of_the_whole_matrix_on_any_number_of_replicas() {
    let mut fleets = vec!["host:1", "host:3"];
    if common::has_gpu() {
        fleets.extend(["cuda:0", "cuda:0x4"]);
    }
    let fleets: Vec<Fleet> = fleets
        .into_iter()
        .map(|devices| common::open(devices, Default::default(), Default::default()))
        .collect();
    for seed in 0..60 {
        let draw = |i: u64, below: u64| hash(seed, i) % below;
        let graph = match seed {
            0 => common::grid(31, 30, true, 2),
            1 => common::skewed(9, 6, 1),
            _ => {
                let n = 1 + draw(0, 50);
                let arc = |i: u64| {
                    let weight = [0.0, 1.0, 2.5, 0.5][draw(9 + 3 * i, 4) as usize];
                    (draw(10 + 3 * i, n) as u32, draw(11 + 3 * i, n) as u32, weight)
                };
                graph_of(n as usize, &(0..n * draw(1, 5)).map(arc).collect::<Vec<_>>())
            }
        };
        let graph = Arc::new(graph);
        let some = |salt: u64, share: u64| -> Vec<u32> {
            let nodes = 0..graph.nodes() as u32;
            nodes
                .filter(|v| *v == 0 || hash(seed + salt, u64::from(*v)).is_multiple_of(share))
                .collect()
        };
        let (sources, targets) = (some(1000, 9), some(2000, 1 + seed % 3));
        let most = 1 + draw(1, 12) as u32;
        for fleet in &fleets {
            for [whole, nearest] in both(fleet, &graph, [&sources, &targets], most) {
                let (right, pairs) = (defined(&whole, most as usize), listed(&nearest));
                assert_eq!(pairs, right, "seed {seed}, {most} on {}", fleet.world());
                assert_eq!(check(&graph, &nearest, &pairs).unwrap(), sources.len());
                // Another target, another distance, one too few.
                if let Some(last) = pairs.len().checked_sub(1) {
                    let mut wrong = [pairs.clone(), pairs.clone(), pairs.clone()];
                    wrong[0][last].1 = sources[0];
                    wrong[1][last].2 += 1.0;
                    wrong[2].pop();
                    for wrong in wrong.iter().filter(|wrong| **wrong != pairs) {
                        assert!(check(&graph, &nearest, wrong).is_err(), "seed {seed}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_program_writes_pairs_and_refuses_what_has_no_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("near.csv");
    let csv = csv.to_str().unwrap();
    let run = |name: &str, more: &[&str]| {
        let args = ["run", name, "--graph", "grid:3x3", "--devices", "host:2", "--sources", "4,0"];
        common::ends_within(Duration::from_secs(60), common::hive().args(args).args(more))
    };
    for name in ["hops", "distances"] {
        let ended = run(name, &["--nearest", "3", "--output", csv, "--verify", "--json", "-"]);
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
        let record: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(
            (&record["verification"]["verdict"], &record["nearest"]),
            (&"yes".into(), &3.into())
        );
        let text = std::fs::read_to_string(csv).unwrap();
        assert_eq!(text.lines().count(), 7, "{name}: {text}");
        if name == "hops" {
            assert_eq!(text, "source,target,distance\n0,1,1\n0,3,1\n0,2,2\n4,1,1\n4,3,1\n4,5,1\n");
        }
        let refused = run(name, &["--nearest", "0"]);
        assert!(
            refused.code == Some(2) && refused.err.contains("--nearest 0: use 1 or more"),
            "{}",
            refused.err
        );
        let refused = run(name, &["--nearest", "2", "--into", "x.npy"]);
        assert!(
            refused.code == Some(2) && refused.err.contains("--into with --nearest 2"),
            "{}",
            refused.err
        );
    }
}
