//! Checks triangles: counts exactly.
//!
//! Nodes are taken by falling degree, ties by index. A node marks its neighbours that come after it; each of these
//! looks among the neighbours that come after itself for marked ones, and every one is a triangle, found at its
//! first node (Chiba and Nishizeki, Arboricity and subgraph listing algorithms, SIAM J. Computing 1985, where nodes are
//! deleted instead). That takes time of order arcs times arboricity. Self loops do not count, and of parallel arcs one
//! does.

mod gpu;

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Nodes that a thread takes at a time.
const BLOCK: usize = 64;

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct TrianglesCheck {
    /// Triangles of the graph.
    pub triangles: u64,
}

/// Certifies that `counts` (`[n]`) holds the number of triangles through each node of an undirected graph: one in
/// which each arc has its reverse.
///
/// Takes 32 bytes a node, 2 an arc, and 4 a node and thread.
///
/// # Errors
///
/// [`Error::Verify`] names the wrong node of the lowest input id, its number and the right one. [`Error::Input`] when
/// the graph is directed.
pub fn triangles(graph: &Graph, counts: &[u64]) -> Result<TrianglesCheck> {
    accepted(graph, counts)?;
    compared(graph, counts, &marked(graph))
}

/// Refuses directed graphs, and answers that have not one count a node.
fn accepted(graph: &Graph, counts: &[u64]) -> Result<()> {
    if !graph.is_undirected() {
        let what = "cannot check triangles of a directed graph; load it with --symmetrize";
        return Err(Error::input(what));
    }
    one_a_node(graph, "triangles", "counts", counts.len())
}

/// Compares counts with the right ones.
fn compared(graph: &Graph, counts: &[u64], right: &[u64]) -> Result<TrianglesCheck> {
    if let Some(v) = first_by_id(graph, |v| counts[v] != right[v]) {
        let (id, found, right) = (graph.id(v as u32), counts[v], right[v]);
        let fault = if found > right { "too many" } else { "too few" };
        let what = format!("triangles, node {id}: {found} are {fault}, it is in {right}");
        return Err(Error::Verify(what));
    }
    Ok(TrianglesCheck { triangles: right.par_iter().sum::<u64>() / 3 })
}

/// `[n]` each node's neighbours that come after it, once each.
fn followers(graph: &Graph) -> Vec<Vec<u32>> {
    let place = |v: usize| (Reverse(graph.degree(v)), v);
    let after = |v: usize| {
        let others = graph.neighbors(v).map(|(u, _)| u);
        let mut after: Vec<u32> = others.filter(|u| place(*u as usize) > place(v)).collect();
        after.sort_unstable();
        after.dedup();
        after
    };
    (0..graph.nodes()).into_par_iter().map(after).collect()
}

/// `[n]` the right counts.
pub(super) fn marked(graph: &Graph) -> Vec<u64> {
    let (n, after) = (graph.nodes(), followers(graph));
    let counts: Vec<AtomicU64> = (0..n).into_par_iter().map(|_| AtomicU64::new(0)).collect();
    let credit = |v: u32, found: u64| counts[v as usize].fetch_add(found, Relaxed);
    let next = AtomicUsize::new(0);
    (0..rayon::current_num_threads()).into_par_iter().for_each(|_| {
        // The last node that marked it.
        let mut mark = vec![u32::MAX; n];
        loop {
            let first = next.fetch_add(BLOCK, Relaxed);
            if first >= n {
                return;
            }
            for v in first..n.min(first + BLOCK) {
                after[v].iter().for_each(|u| mark[*u as usize] = v as u32);
                for &u in &after[v] {
                    let mut found = 0;
                    for &w in after[u as usize].iter().filter(|w| mark[**w as usize] == v as u32) {
                        credit(w, 1);
                        found += 1;
                    }
                    credit(u, found);
                    credit(v as u32, found);
                }
            }
        }
    });
    counts.into_iter().map(AtomicU64::into_inner).collect()
}
