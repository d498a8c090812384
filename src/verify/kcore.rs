//! Checks core numbers, against a peeling with one thread.
//!
//! The core number of a node is the largest k for which it is in a subgraph where every node has k arcs to
//! others of the subgraph. Self loops do not count, parallel arcs count once each. Nodes are removed in the
//! order of what is left of their degrees, kept sorted by swaps between buckets (Batagelj and Zaversnik, An
//! O(m) algorithm for cores decomposition of networks, 2003): what is left when its turn comes is its core
//! number.

mod gpu;

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct CoresCheck {
    /// The largest core number.
    pub max_core: u32,
}

/// Certifies that `cores` (`[n]`) holds the core numbers of an undirected graph: one in which each arc has its
/// reverse.
///
/// Takes two passes over the arcs with one thread and 16 bytes a node.
///
/// # Errors
///
/// [`Error::Verify`] names the wrong node of the lowest input id, its core number and the right one.
/// [`Error::Input`] when the graph is directed.
pub fn kcore(graph: &Graph, cores: &[u32]) -> Result<CoresCheck> {
    accepted(graph, cores)?;
    let right = peel(graph);
    if let Some(v) = first_by_id(graph, |v| cores[v] != right[v]) {
        let (id, core, right) = (graph.id(v as u32), cores[v], right[v]);
        let fault = if core > right { "too high" } else { "too low" };
        let what = format!("core numbers, node {id}: {core} is {fault}, it is {right}");
        return Err(Error::Verify(what));
    }
    Ok(CoresCheck { max_core: right.into_iter().max().unwrap_or(0) })
}

/// Refuses directed graphs, and answers that have not one number a node.
fn accepted(graph: &Graph, cores: &[u32]) -> Result<()> {
    if !graph.is_undirected() {
        return Err(Error::input(
            "cannot check core numbers of a directed graph; load it with --symmetrize",
        ));
    }
    one_a_node(graph, "core numbers", "core numbers", cores.len())
}

/// `[n]` the right core numbers.
fn peel(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let degree = |v: usize| graph.neighbors(v).filter(|(u, _)| *u as usize != v).count() as u32;
    let mut left: Vec<u32> = (0..n).into_par_iter().map(degree).collect();
    let mut order = Order::by(&left);
    for turn in 0..n {
        let v = order.nodes[turn] as usize;
        for (u, _) in graph.neighbors(v) {
            let u = u as usize;
            if left[u] > left[v] {
                order.lower(u, left[u]);
                left[u] -= 1;
            }
        }
    }
    left
}

/// Nodes by what is left of their degrees.
struct Order {
    /// `[n]` nodes, those of the lowest degrees first.
    nodes: Vec<u32>,
    /// `[n]` where in `nodes` a node is.
    place: Vec<u32>,
    /// `[highest degree + 2]` where in `nodes` those of a degree begin.
    begin: Vec<u32>,
}

impl Order {
    fn by(degrees: &[u32]) -> Order {
        let highest = degrees.iter().copied().max().unwrap_or(0) as usize;
        let mut begin = vec![0u32; highest + 2];
        degrees.iter().for_each(|&degree| begin[degree as usize + 1] += 1);
        for degree in 0..=highest {
            begin[degree + 1] += begin[degree];
        }
        let (mut nodes, mut place) = (vec![0; degrees.len()], vec![0; degrees.len()]);
        let mut next = begin.clone();
        for (v, &degree) in degrees.iter().enumerate() {
            let at = &mut next[degree as usize];
            (nodes[*at as usize], place[v]) = (v as u32, *at);
            *at += 1;
        }
        Order { nodes, place, begin }
    }

    /// Moves `v` from those of `degree` to those of one less: to the front of its bucket, which then begins
    /// behind it.
    fn lower(&mut self, v: usize, degree: u32) {
        let front = self.begin[degree as usize];
        let (first, at) = (self.nodes[front as usize], self.place[v]);
        self.nodes.swap(front as usize, at as usize);
        (self.place[first as usize], self.place[v]) = (at, front);
        self.begin[degree as usize] += 1;
    }
}
