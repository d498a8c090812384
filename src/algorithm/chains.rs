//! Predecessors and nominees: searches over *tight* arcs, dist\[v\] == fl(dist\[u\] + w), once the distances are final.
//!
//! So both are unique: neither depends on the order in which distances fell, and arcs of weight 0 or sums that are rounded
//! down to a distance cannot close a cycle.

use crate::collective::Element;
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A distance: f32, or f64 where f32 does not hold the sums. Sums are taken forward from the source, to nearest.
pub(super) trait Length: Element {
    /// Not reached.
    const INFINITE: Self;
    /// Distance 0.
    const ZERO: Self;

    /// The distance over an arc of `weight` from here.
    fn plus(self, weight: f32) -> Self;

    /// The same number.
    fn real(self) -> f64;

    /// The nearest to a number.
    fn rounded(number: f64) -> Self;

    /// Whether a seed reaches the node.
    fn is_reached(self) -> bool {
        self < Self::INFINITE
    }
}

impl Length for f32 {
    const INFINITE: f32 = f32::INFINITY;
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn plus(self, weight: f32) -> f32 {
        self + weight
    }

    fn real(self) -> f64 {
        self.into()
    }

    fn rounded(number: f64) -> f32 {
        number as f32
    }
}

impl Length for f64 {
    const INFINITE: f64 = f64::INFINITY;
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn plus(self, weight: f32) -> f64 {
        self + f64::from(weight)
    }

    fn real(self) -> f64 {
        self
    }

    fn rounded(number: f64) -> f64 {
        number
    }
}

/// "None": the predecessor and the nominee of an unreached node.
const NONE: u32 = u32::MAX;

fn array(n: usize) -> Vec<AtomicU32> {
    (0..n).into_par_iter().map(|_| AtomicU32::new(NONE)).collect()
}

/// Ranks of input ids, by which "smallest" is meant, as nodes.
fn plain(graph: &Graph, ranks: Vec<AtomicU32>) -> Vec<u32> {
    let node = |rank: u32| if rank == NONE { NONE } else { graph.ranked(rank) };
    ranks.into_par_iter().map(|rank| node(rank.into_inner())).collect()
}

/// Calls `visit(u, v)` for every tight arc out of the frontier; returns the nodes it accepts.
fn advance_tight<D: Length>(
    graph: &Graph,
    dist: &[D],
    frontier: &[u32],
    visit: impl Fn(u32, u32) -> bool + Sync,
) -> Vec<u32> {
    let row = |u: u32, found: &mut Vec<u32>| {
        let from = dist[u as usize];
        for (v, weight) in graph.neighbors(u as usize) {
            let to = dist[v as usize];
            // A sum that overflows to +inf supports nothing: the node is unreached.
            if to.is_reached() && to == from.plus(weight) && visit(u, v) {
                found.push(v);
            }
        }
    };
    if frontier.len() < 256 {
        let mut found = Vec::new();
        frontier.iter().for_each(|u| row(*u, &mut found));
        return found;
    }
    let rows = frontier.par_iter().with_min_len(64);
    let found = rows.fold(Vec::new, |mut found, u| {
        row(*u, &mut found);
        found
    });
    found.reduce(Vec::new, |mut a, mut b| {
        a.append(&mut b);
        a
    })
}

/// `[n]` the smallest node of the previous level with an arc to the node, the source for itself; `levels` are those of a
/// breadth-first search, `u32::MAX` where it did not come.
pub(super) fn parents(graph: &Graph, levels: &[u32]) -> Vec<u32> {
    let parent = array(graph.nodes());
    levels.par_iter().enumerate().filter(|(_, level)| **level != NONE).for_each(|(u, level)| {
        let own = graph.rank(u as u32);
        if *level == 0 {
            parent[u].store(own, Relaxed);
        }
        for (v, _) in graph.neighbors(u).filter(|(v, _)| levels[*v as usize] == level + 1) {
            parent[v as usize].fetch_min(own, Relaxed);
        }
    });
    plain(graph, parent)
}

/// `[n]` the smallest node of the previous tight level with a tight arc to the node, a seed for itself; levels
/// are those of a breadth-first search over tight arcs from the seeds.
pub(super) fn predecessors<D: Length>(graph: &Graph, seeds: &[u32], dist: &[D]) -> Vec<u32> {
    let (level, parent) = (array(graph.nodes()), array(graph.nodes()));
    seeds.iter().for_each(|s| {
        level[*s as usize].store(0, Relaxed);
        parent[*s as usize].store(graph.rank(*s), Relaxed);
    });
    let (mut frontier, mut depth) = (seeds.to_vec(), 0);
    while !frontier.is_empty() {
        depth += 1;
        frontier = advance_tight(graph, dist, &frontier, |u, v| {
            let seen = level[v as usize].compare_exchange(NONE, depth, Relaxed, Relaxed);
            if seen.is_ok() || seen == Err(depth) {
                parent[v as usize].fetch_min(graph.rank(u), Relaxed);
            }
            seen.is_ok()
        });
    }
    plain(graph, parent)
}

/// `[n]` the smallest seed with a chain of tight arcs to the node.
pub(super) fn nominees<D: Length>(graph: &Graph, seeds: &[u32], dist: &[D]) -> Vec<u32> {
    let nominee = array(graph.nodes());
    seeds.iter().for_each(|s| nominee[*s as usize].store(graph.rank(*s), Relaxed));
    let mut frontier = seeds.to_vec();
    while !frontier.is_empty() {
        frontier = advance_tight(graph, dist, &frontier, |u, v| {
            let own = nominee[u as usize].load(Relaxed);
            nominee[v as usize].fetch_min(own, Relaxed) > own
        });
        frontier.par_sort_unstable();
        frontier.dedup();
    }
    plain(graph, nominee)
}
