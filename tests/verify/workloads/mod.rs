//! The verifiers of the workloads accept what brute force computes, and refuse every other answer by name.

mod bc;
mod bfs;
mod components;
mod kcore;
mod pagerank;

use crate::common::{Arc, unweighted_graph_of};
use hivegraph::Error;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, Relabel, apply};
use proptest::prelude::*;

/// What an answer does not have: a level, a parent.
const NONE: u32 = u32::MAX;

/// The arcs (tail, head) of a graph.
fn arcs(graph: &Graph) -> Vec<(usize, usize)> {
    let row = |u: usize| graph.neighbors(u).map(move |(v, _)| (u, v as usize));
    (0..graph.nodes()).flat_map(row).collect()
}

/// Every pair both ways; self loops once.
fn mirrored(arcs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let back = arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (v, u));
    arcs.iter().copied().chain(back).collect()
}

fn graph_of_pairs(n: u32, pairs: &[(u32, u32)]) -> Graph {
    let arcs: Vec<Arc> = pairs.iter().map(|&(u, v)| (u, v, 1.0)).collect();
    unweighted_graph_of(n as usize, &arcs)
}

/// The same graph with its nodes in another order, so that ranks are not indices.
fn shuffled(graph: Graph, seed: u64) -> Graph {
    apply(graph, &LoadOptions { relabel: Relabel::Random(seed), ..LoadOptions::default() }).unwrap()
}

/// Pairs among 1 to 13 nodes: self loops, parallel arcs, isolated nodes.
fn pairs() -> impl Strategy<Value = (u32, Vec<(u32, u32)>)> {
    (1u32..14).prop_flat_map(|n| (Just(n), prop::collection::vec((0..n, 0..n), 0..32)))
}

/// Directed and undirected graphs, relabelled or not.
fn graphs() -> impl Strategy<Value = Graph> {
    (pairs(), any::<bool>(), prop::option::of(0u64..1000)).prop_map(|((n, pairs), both, order)| {
        let graph = graph_of_pairs(n, &if both { mirrored(&pairs) } else { pairs });
        match order {
            Some(seed) => shuffled(graph, seed),
            None => graph,
        }
    })
}

/// Of the nodes at which two answers differ, the one of the lowest input id.
fn first_difference<T: PartialEq>(graph: &Graph, a: &[T], b: &[T]) -> Option<u64> {
    let wrong = (0..graph.nodes()).filter(|&v| a[v] != b[v]);
    wrong.map(|v| graph.input_id(v as u32)).min()
}

/// Asserts that an answer was refused, that the message names node `id` and says `what`.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: hivegraph::Result<T>, id: u64, what: &str) {
    match result {
        Err(Error::Verify(message)) => {
            assert!(message.contains(&format!("node {id}: ")), "node {id} expected: {message}");
            assert!(message.contains(what), "{what:?} expected: {message}");
        }
        other => panic!("a refusal expected, got {other:?}"),
    }
}

/// Asserts that an answer was refused and that the message says `what`.
#[track_caller]
fn refused_saying<T: std::fmt::Debug>(result: hivegraph::Result<T>, what: &str) {
    match result {
        Err(Error::Verify(message)) => {
            assert!(message.contains(what), "{what:?} expected: {message}")
        }
        other => panic!("a refusal expected, got {other:?}"),
    }
}

/// Asserts that a question was refused as bad input that says `what`.
#[track_caller]
fn no_question<T: std::fmt::Debug>(result: hivegraph::Result<T>, what: &str) {
    match result {
        Err(Error::Input(message)) => {
            assert!(message.contains(what), "{what:?} expected: {message}")
        }
        other => panic!("bad input expected, got {other:?}"),
    }
}
