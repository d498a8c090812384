//! Checks weakly connected components: labels exactly.
//!
//! A node's label is the member of its component with the lowest input id. Labels are right if and only if
//!
//! 1. both ends of every arc have the same label (no component is split);
//! 2. each label names itself and has no higher id than the node (so it is in the class that it names, and
//!    is the lowest there);
//! 3. there are as many labels that name themselves as components, counted by a union-find (none are
//!    merged).
//!
//! The union-find is this file's own, in parallel: trees hang from lower indices, a root is hooked by
//! compare-and-swap, so each success joins two trees, and there are n less as many components. Paths are
//! halved on the way up (Tarjan and van Leeuwen, JACM 1984; Jayanti and Tarjan, PODC 2016).

mod gpu;

use super::components::{ComponentsCheck, compare, count};
use super::one_a_node;
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const WHAT: &str = "weakly connected components";

/// Certifies that `labels` (`[n]`, node indices) names, for each node, the node with the lowest input id of
/// its weakly connected component.
///
/// Takes two passes over the arcs and 8 bytes a node, in parallel.
///
/// # Errors
///
/// [`Error::Verify`] names the wrong node of the lowest input id, the label found and the right one.
pub fn cc(graph: &Graph, labels: &[u32]) -> Result<ComponentsCheck> {
    one_a_node(graph, WHAT, "labels", labels.len())?;
    let trees = Trees::of(graph);
    let held = hold(graph, labels).filter(|&roots| roots == trees.count());
    if held.is_none() {
        compare(graph, "weakly connected", labels, &trees.labels(graph))?;
        let oops = "weakly connected components: the check contradicts itself; report it";
        return Err(Error::Verify(oops.into()));
    }
    Ok(count(labels))
}

/// Labels that name themselves, where rules 1 and 2 hold.
fn hold(graph: &Graph, labels: &[u32]) -> Option<u64> {
    let n = graph.nodes();
    let lowest = |v: usize| {
        let label = labels[v];
        (label as usize) < n
            && labels[label as usize] == label
            && graph.rank(label) <= graph.rank(v as u32)
    };
    let agree = |u: usize| graph.neighbors(u).all(|(v, _)| labels[v as usize] == labels[u]);
    let blocks = graph.row_blocks();
    let right = (0..n).into_par_iter().all(lowest)
        && blocks.into_par_iter().all(|mut rows| rows.all(agree));
    right.then(|| (0..n).into_par_iter().filter(|&v| labels[v] as usize == v).count() as u64)
}

/// A forest over the nodes, a tree a component.
struct Trees {
    /// `[n]`, never above the node itself.
    parent: Vec<AtomicU32>,
}

impl Trees {
    fn of(graph: &Graph) -> Trees {
        let n = graph.nodes() as u32;
        let trees = Trees { parent: (0..n).into_par_iter().map(AtomicU32::new).collect() };
        graph.row_blocks().into_par_iter().for_each(|rows| {
            for u in rows {
                graph.neighbors(u).for_each(|(v, _)| trees.join(u as u32, v));
            }
        });
        trees
    }

    fn root(&self, mut v: u32) -> u32 {
        loop {
            let parent = self.parent[v as usize].load(Relaxed);
            let above = self.parent[parent as usize].load(Relaxed);
            if above == parent {
                return parent;
            }
            let slot = &self.parent[v as usize];
            // Whoever came first has put something as good.
            let _ = slot.compare_exchange(parent, above, Relaxed, Relaxed);
            v = above;
        }
    }

    fn join(&self, u: u32, v: u32) {
        let (mut a, mut b) = (self.root(u), self.root(v));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            let slot = &self.parent[high as usize];
            if slot.compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return;
            }
            (a, b) = (self.root(low), self.root(high));
        }
    }

    fn count(&self) -> u64 {
        let roots = self.parent.par_iter().enumerate();
        roots.filter(|(v, parent)| parent.load(Relaxed) as usize == *v).count() as u64
    }

    /// `[n]` the right labels.
    fn labels(&self, graph: &Graph) -> Vec<u32> {
        let n = graph.nodes() as u32;
        let lowest: Vec<AtomicU32> =
            (0..n).into_par_iter().map(|_| AtomicU32::new(u32::MAX)).collect();
        (0..n).into_par_iter().for_each(|v| {
            let (slot, rank) = (&lowest[self.root(v) as usize], graph.rank(v));
            if slot.load(Relaxed) > rank {
                slot.fetch_min(rank, Relaxed);
            }
        });
        let label = |v| graph.ranked(lowest[self.root(v) as usize].load(Relaxed));
        (0..n).into_par_iter().map(label).collect()
    }
}
