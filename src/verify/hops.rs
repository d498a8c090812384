//! Checks matrices of numbers of arcs: a search a row, with a queue.

use super::distances::{lengths, looked};
use crate::error::Result;
use crate::graph::Graph;
use std::collections::VecDeque;

/// Nodes and arcs that are looked at, at most: some seconds on two cores.
const MOST: u64 = 1 << 32;

/// Certifies a matrix `[sources, targets]` of `length` values: `found(place)` is the least number of arcs of a path, `None` where there
/// is none. Returns how many rows were looked at, as [`super::distances`] does.
///
/// Takes 8 bytes a node and thread, beside the queue.
///
/// # Errors
/// As there.
pub fn hops(
    graph: &Graph,
    sources: &[u32],
    targets: &[u32],
    length: usize,
    found: impl Fn(usize) -> Option<u32> + Sync,
) -> Result<usize> {
    if length != sources.len() * targets.len() {
        return Err(lengths(length, sources, targets));
    }
    let text = |hops: Option<u32>| hops.map_or("inf".into(), |hops| hops.to_string());
    let row = |source: u32, place: usize| {
        let right = by_arcs(graph, source);
        let own = |at: usize| found(place * targets.len() + at);
        let wrong = |at: &usize| own(*at) != right[targets[*at] as usize];
        let at = (0..targets.len()).find(wrong)?;
        Some((at, text(own(at)), text(right[targets[at] as usize])))
    };
    looked(graph, sources, targets, MOST, row)
}

/// `[n]` the least number of arcs from `source`.
pub(super) fn by_arcs(graph: &Graph, source: u32) -> Vec<Option<u32>> {
    let mut arcs = vec![None; graph.nodes()];
    arcs[source as usize] = Some(0);
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        let next = arcs[u as usize].map(|arcs: u32| arcs + 1);
        for (v, _) in graph.neighbors(u as usize) {
            if arcs[v as usize].is_none() {
                arcs[v as usize] = next;
                queue.push_back(v);
            }
        }
    }
    arcs
}
