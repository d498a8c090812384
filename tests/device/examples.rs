//! The examples on every fleet of this machine, against what serial code makes of the same graph.

#![allow(clippy::duplicate_mod)] // each example has its own examples/common

use crate::common;

#[allow(dead_code)]
#[path = "../../examples/degree_count.rs"]
mod degree_count;
#[allow(dead_code)]
#[path = "../../examples/heat.rs"]
mod heat;
#[allow(dead_code)]
#[path = "../../examples/k_core.rs"]
mod k_core;
#[allow(dead_code)]
#[path = "../../examples/label_propagation.rs"]
mod label_propagation;
#[allow(dead_code)]
#[path = "../../examples/random_walks.rs"]
mod random_walks;

use crate::common::{graph_of, grid, has_nvrtc, open};
use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::prelude::*;
use std::sync::Arc;

/// R-MATs, isolated nodes and hubs among them; a grid; and what generators do not make: several components,
/// nodes without arcs between them, self-loops, parallel arcs, rows of more than 4096 arcs.
fn graphs() -> Vec<(&'static str, Arc<Graph>)> {
    let generated = |spec: &str| hivegraph::io::load(spec).unwrap();
    let mut odd = Vec::new();
    for i in 0..9000u32 {
        let (u, v) = match i % 5 {
            // A hub, 64, and a part of nodes 0 (mod 3); small parts of nodes 2 (mod 3); nodes 1 (mod 3) are alone.
            0..=2 => (64, i - i % 3),
            3 => (i - i % 3, (i * 7) % 9000 / 3 * 3),
            _ => (i / 2 * 6 % 9000 + 2, i * 11 % 9000 / 30 * 30 + 2),
        };
        odd.extend([(u, v, 1.0), (v, u, 1.0)]);
    }
    odd.extend([(1, 1, 1.0), (4, 4, 1.0), (4, 4, 1.0), (3, 3, 1.0), (64, 64, 1.0)]);
    vec![
        ("rmat:10", Arc::new(generated("rmat:10"))),
        ("rmat:12", Arc::new(generated("rmat:12,ef=8"))),
        ("grid", Arc::new(grid(65, 70, true, 1))),
        ("odd", Arc::new(graph_of(9001, &odd))),
        ("empty", Arc::new(graph_of(5000, &[]))),
    ]
}

fn fleets() -> Vec<(String, CollectiveKind)> {
    use CollectiveKind::{Auto, Peer};
    let wanted = ["cuda:0", "cuda:0x4", "cuda:0-1", "cuda:0-2", "cuda:0-3"];
    let mut all: Vec<_> = ["host:1", "host:5"].map(|name| (name.into(), Auto)).into();
    let cuda = common::cuda_fleets().into_iter();
    all.extend(
        cuda.filter(|(name, kind)| wanted.contains(&&**name) && matches!(kind, Auto | Peer)),
    );
    all
}

/// In which nodes may lie; answers are in the input's.
const ORDERS: [NodeOrder; 2] = [NodeOrder::Loaded, NodeOrder::Degree];

/// Runs an example on every graph in these orders and fleet, and hands each answer to `check` after comparing all replicas'.
fn on_all<T, E>(
    orders: &[NodeOrder],
    program: fn(&mut Replica, &Resident) -> Result<T>,
    expected: fn(&Graph) -> E,
    check: impl Fn(&str, &T, &E),
) where
    T: PartialEq + std::fmt::Debug + Send + 'static,
{
    let graphs: Vec<_> =
        graphs().into_iter().map(|(name, graph)| (name, expected(&graph), graph)).collect();
    // The first answers of each backend, by graph and order.
    let mut first: [Vec<T>; 2] = [Vec::new(), Vec::new()];
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let first = &mut first[usize::from(devices.starts_with("cuda"))];
        let cases = graphs.iter().flat_map(|graph| orders.iter().map(move |order| (graph, *order)));
        for (at, ((name, expected, graph), order)) in cases.enumerate() {
            let options = ResidentOptions { order, ..ResidentOptions::default() };
            let resident = Resident::new(&fleet, graph.clone(), options).unwrap();
            let answers = fleet.run(move |r| program(r, &resident));
            let mut answers = answers.unwrap_or_else(|e| panic!("{devices}, {name}: {e}"));
            let same = answers.windows(2).all(|pair| pair[0] == pair[1]);
            assert!(same, "{devices}, {name}: replicas differ");
            let answer = answers.swap_remove(0);
            check(&format!("{devices}, {name}"), &answer, expected);
            match first.get(at) {
                Some(first) => assert!(*first == answer, "{devices}, {name}: other bits"),
                None => first.push(answer),
            }
        }
    }
}

#[test]
fn degrees_are_counted() {
    let serial = |graph: &Graph| {
        let degrees: Vec<usize> = (0..graph.nodes()).map(|v| graph.neighbors(v).count()).collect();
        let largest = *degrees.iter().max().unwrap();
        let mut counts = vec![0u64; largest + 1];
        degrees.iter().for_each(|degree| counts[*degree] += 1);
        let hub = degrees.iter().position(|degree| *degree == largest).unwrap() as u32;
        degree_count::Degrees { counts, largest: largest as u32, hub }
    };
    on_all(&ORDERS, degree_count::degree_count, serial, |on, found, expected| {
        assert_eq!(found, expected, "{on}");
    });
}

#[test]
fn labels_are_a_node_of_each_component() {
    // By search from each node that has not been found yet: the first to find a component is its smallest.
    let serial = |graph: &Graph| {
        let mut label = vec![u32::MAX; graph.nodes()];
        for seed in 0..graph.nodes() {
            let mut open = vec![seed];
            while let Some(u) = open.pop() {
                if label[u] == u32::MAX {
                    label[u] = seed as u32;
                    open.extend(graph.neighbors(u).map(|(v, _)| v as usize));
                }
            }
        }
        label
    };
    // How many rounds it takes is the replicas' own affair: labels fall within a round, too. A component's label is its smallest
    // node if nodes lie as in the input; the smallest of those with one label, always.
    let labels = |r: &mut Replica, g: &Resident| {
        let (label, _) = label_propagation::label_propagation(r, g)?;
        let mut smallest = vec![u32::MAX; label.len()];
        let all = label.iter().enumerate().rev();
        all.for_each(|(v, label)| smallest[*label as usize] = v as u32);
        assert!(label.iter().all(|l| label[*l as usize] == *l), "a label of another component");
        let in_order = g.graph().rank(0) == 0 && g.graph().names().is_none();
        assert!(
            !in_order
                || (0..label.len()).all(|l| smallest[l] == u32::MAX || smallest[l] == l as u32)
        );
        Ok(label.iter().map(|l| smallest[*l as usize]).collect::<Vec<u32>>())
    };
    on_all(&ORDERS, labels, serial, |on, found, expected| assert!(found == expected, "{on}"));
}

#[test]
fn coreness_is_that_of_removing_the_least_node_one_by_one() {
    let serial = |graph: &Graph| {
        let mut left: Vec<usize> = (0..graph.nodes()).map(|v| graph.neighbors(v).count()).collect();
        let mut core = vec![u32::MAX; graph.nodes()];
        let mut queue: std::collections::BTreeSet<(usize, usize)> =
            left.iter().enumerate().map(|(v, left)| (*left, v)).collect();
        let mut k = 0;
        while let Some((least, u)) = queue.pop_first() {
            k = k.max(least);
            core[u] = k as u32;
            for (v, _) in graph.neighbors(u) {
                let v = v as usize;
                if queue.remove(&(left[v], v)) {
                    left[v] -= 1;
                    queue.insert((left[v], v));
                }
            }
        }
        core
    };
    on_all(&ORDERS, k_core::k_core, serial, |on, found, expected| {
        assert!(found == expected, "{on}")
    });
}

const STEPS: u32 = 40;

#[test]
fn heat_flows_as_in_double_precision_and_is_kept() {
    let serial = |graph: &Graph| {
        let n = graph.nodes();
        let mut heat: Vec<f64> = (0..n).map(|v| if v < n / 8 { 100.0 } else { 0.0 }).collect();
        for _ in 0..STEPS {
            let mean = |u: usize| {
                let sum: f64 = graph.neighbors(u).map(|(v, _)| heat[v as usize]).sum();
                sum / graph.neighbors(u).count() as f64
            };
            let next = |u: usize| match graph.neighbors(u).count() {
                0 => heat[u],
                _ => 0.75 * heat[u] + 0.25 * mean(u),
            };
            heat = (0..n).map(next).collect();
        }
        heat
    };
    let program = |r: &mut Replica, g: &Resident| heat::heat(r, g, STEPS, 0.25);
    on_all(&ORDERS, program, serial, |on, (found, [before, after]), expected| {
        let far = |(found, expected): (&f32, &f64)| (f64::from(*found) - expected).abs();
        let farthest = found.iter().zip(expected).map(far).fold(0.0, f64::max);
        assert!(farthest < 1e-3, "{on}: {farthest} degrees off");
        assert!((before - after).abs() <= 1e-5 * before, "{on}: {before} became {after}");
    });
}

#[test]
fn walkers_go_where_their_random_numbers_send_them() {
    // The generator again, from its definition: hash(key, counter) with the key hash(seed, stream).
    fn hash(key: u64, counter: u64) -> u64 {
        let mut x = key.wrapping_add((counter + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    let serial = |graph: &Graph| {
        let n = graph.nodes();
        let mut visits = vec![0u64; n];
        for walker in 0..2 * n {
            let (home, mut at, mut drawn) = (walker % n, walker % n, 0);
            let mut draw = || {
                drawn += 1;
                hash(hash(7, walker as u64), drawn - 1)
            };
            for _ in 0..30 {
                visits[at] += 1;
                let row: Vec<(u32, f32)> = graph.neighbors(at).collect();
                let anew = ((draw() >> 40) as f64) < 0.15f32 as f64 * 16_777_216.0;
                at = if anew || row.is_empty() {
                    home
                } else {
                    row[((draw() as u128 * row.len() as u128) >> 64) as usize].0 as usize
                };
            }
        }
        visits
    };
    let program = |r: &mut Replica, g: &Resident| random_walks::random_walks(r, g, 2, 30, 7);
    on_all(&ORDERS[..1], program, serial, |on, found, expected| assert!(found == expected, "{on}"));
}

/// Without a GPU too.
#[test]
fn every_lambda_of_the_examples_compiles_for_every_architecture() {
    if !has_nvrtc("the examples' lambdas") {
        return;
    }
    for arch in ["sm_80", "sm_90", "sm_100"] {
        degree_count::degree().compile(arch).unwrap();
        degree_count::who_has().compile(arch).unwrap();
        label_propagation::start().compile(arch).unwrap();
        label_propagation::tell().compile(arch).unwrap();
        k_core::peel().compile(arch).unwrap();
        k_core::lose().compile(arch).unwrap();
        k_core::stays().compile(arch).unwrap();
        heat::flow().compile(arch).unwrap();
        heat::warm().compile(arch).unwrap();
        heat::energy().compile(arch).unwrap();
        random_walks::walk().compile(arch).unwrap();
    }
}
