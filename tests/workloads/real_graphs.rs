//! Real graphs: verified, and equal to a serial f32 Dijkstra to the bit, on the host and on GPUs.
//!
//! Needs the data folder (`HIVE_DATA`); without it, or without GPUs, what is left out is said.

use crate::common;

use hivegraph::algorithm::{MergeMode, VnConfig};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::{io, verify};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A graph, two choices of seeds, and what Dijkstra says of each.
struct Real {
    name: &'static str,
    graph: Arc<Graph>,
    asked: Vec<(Vec<u32>, Vec<f32>)>,
}

/// Nodes, arcs, and whether the arcs have weights of their own.
type Facts = (usize, u64, bool);

const FILES: [(&str, Facts); 4] = [
    ("small/chesapeake.mtx", (39, 340, false)),
    ("social/email-Enron.txt.gz", (36_692, 367_662, false)),
    ("social/wiki-Vote.txt.gz", (7_115, 103_689, false)),
    ("social/soc-Slashdot0902.mtx.gz", (82_168, 948_464, false)),
];
const ROAD: Facts = (264_346, 733_846, true);

fn load(path: &Path, (nodes, arcs, weighted): Facts) -> Arc<Graph> {
    let graph = io::load(path.to_str().unwrap()).unwrap();
    assert_eq!((graph.nodes(), graph.arcs()), (nodes, arcs), "{}", path.display());
    assert_eq!(graph.weights().is_some(), weighted, "{}", path.display());
    Arc::new(graph)
}

/// DIMACS arcs (`a FROM TO LENGTH`, ids from 1) as an edge list with ids from 0, lengths kept. Where
/// only the converted file travelled along, that.
fn road(data: &Path, folder: &Path) -> PathBuf {
    let (dimacs, ready) =
        (data.join("road/USA-road-d.NY.gr.gz"), data.join("road/USA-road-d.NY.txt.gz"));
    if !dimacs.is_file() {
        return ready;
    }
    let packed = flate2::read::MultiGzDecoder::new(std::fs::File::open(dimacs).unwrap());
    let path = folder.join("USA-road-d.NY.txt");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for line in std::io::BufReader::new(packed).lines() {
        let line = line.unwrap();
        let Some(arc) = line.strip_prefix("a ") else { continue };
        let numbers: Vec<u64> = arc.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let [from, to, length] = numbers[..] else { panic!("not a DIMACS arc: {line}") };
        writeln!(out, "{} {} {length}", from - 1, to - 1).unwrap();
    }
    out.flush().unwrap();
    path
}

/// The default source, and three seeds: one in the middle, the last node with arcs, and the source.
fn asked(graph: &Graph) -> Vec<(Vec<u32>, Vec<f32>)> {
    let source = graph.default_source();
    let others: Vec<u32> = (0..graph.nodes() as u32)
        .filter(|v| graph.degree(*v as usize) > 0 && *v != source)
        .collect();
    let (middle, last) = (others[others.len() / 2], others[others.len() - 1]);
    let three = vec![source, middle, last];
    [vec![source], three].map(|s| (s.clone(), common::dijkstra_f32(graph, &s))).into()
}

/// All graphs with their oracles, or `None` where there is no data.
fn reals() -> Option<Vec<Real>> {
    let data = common::data()?;
    let folder = tempfile::tempdir().unwrap();
    let mut reals: Vec<(&str, Arc<Graph>)> =
        FILES.iter().map(|(file, facts)| (*file, load(&data.join(file), *facts))).collect();
    reals.push(("USA-road-d.NY", load(&road(&data, folder.path()), ROAD)));
    let real = |(name, graph): (&'static str, Arc<Graph>)| {
        let asked = asked(&graph);
        for (seeds, distances) in &asked {
            let reached = distances.iter().filter(|d| d.is_finite()).count();
            assert!(reached * 4 > graph.nodes(), "{name} from {seeds:?} reaches only {reached}");
        }
        Real { name, graph, asked }
    };
    Some(reals.into_iter().map(real).collect())
}

/// Runs every graph from both choices of seeds under each mode on the fleet.
fn check(reals: &[Real], devices: &str, collective: CollectiveKind, modes: &[MergeMode]) {
    let fleet =
        common::open(devices, collective, FleetConfig { deadline_s: 60.0, ..Default::default() });
    for real in reals {
        let prepared =
            Prepared::new(&fleet, real.graph.clone(), PrepareOptions::default()).unwrap();
        for (seeds, oracle) in &real.asked {
            for merge in modes {
                let case = format!("{} on {devices}, {collective}, {merge}, {seeds:?}", real.name);
                one(&fleet, &prepared, real, seeds, oracle, *merge)
                    .unwrap_or_else(|e| panic!("{case}: {e}"));
            }
        }
    }
}

fn one(
    fleet: &Fleet,
    prepared: &Prepared,
    real: &Real,
    seeds: &[u32],
    oracle: &[f32],
    merge: MergeMode,
) -> hivegraph::Result<()> {
    let run = common::compared(merge);
    let config = VnConfig { predecessors: true, nominee: true, run, ..VnConfig::default() };
    let answer = common::paths_from(fleet, prepared, seeds, &config)?;
    verify::distances_bits_equal(&answer.distances, oracle)?;
    verify::sssp(&real.graph, seeds, &answer.found())?;
    Ok(())
}

#[test]
fn real_graphs_are_answered_and_verified_to_the_bit_on_host_replicas() {
    let Some(reals) = reals() else { return };
    for devices in ["host:1", "host:4", "host:16"] {
        check(&reals, devices, CollectiveKind::Auto, &[MergeMode::Auto]);
    }
    check(&reals[..4], "host:4", CollectiveKind::Auto, &[MergeMode::Dense, MergeMode::Split]);
}

#[test]
fn real_graphs_are_answered_and_verified_to_the_bit_on_gpus() {
    use CollectiveKind::{Auto, Nccl, Peer};
    if !common::has_gpu() {
        return;
    }
    let Some(reals) = reals() else { return };
    let mut fleets = vec![("cuda:0".to_string(), Auto), ("cuda:0x4".to_string(), Peer)];
    fleets.extend(common::spans(&[2, 3, 4, 8], &[Nccl, Peer]));
    for (devices, collective) in &fleets {
        check(&reals, devices, *collective, &[MergeMode::Auto, MergeMode::Split]);
        check(&reals[..4], devices, *collective, &[MergeMode::Dense]);
    }
}
