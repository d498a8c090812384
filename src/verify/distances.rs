//! Checks matrices of distances: a search a row, with a queue by distance.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::mix;
use crate::threads::Body;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Display;

/// Nodes and arcs that are looked at, at most: some seconds on two cores.
const MOST: u64 = 1 << 28;
/// Rows that are looked at, at least.
const LEAST: usize = 4;

/// The sum of the weights of a path, of 32 or 64 bits: 0 or more.
pub trait Length: Copy + PartialOrd + Display + Send + Sync {
    /// No path.
    const NONE: Self;
    /// That of a path without arcs.
    const ZERO: Self;
    /// With an arc more, rounded to the nearest number of this type.
    fn with(self, weight: f32) -> Self;
    /// A number that orders them.
    fn order(self) -> u64;
}

impl Length for f32 {
    const NONE: f32 = f32::INFINITY;
    const ZERO: f32 = 0.0;
    fn with(self, weight: f32) -> f32 {
        self + weight
    }
    fn order(self) -> u64 {
        self.to_bits().into()
    }
}

impl Length for f64 {
    const NONE: f64 = f64::INFINITY;
    const ZERO: f64 = 0.0;
    fn with(self, weight: f32) -> f64 {
        self + f64::from(weight)
    }
    fn order(self) -> u64 {
        self.to_bits()
    }
}

/// Certifies `found`, `[sources, targets]`: the lengths of shortest paths by weight, where an arc without one counts 1. Returns how many
/// rows were looked at: all, if that takes at most some seconds, else a random choice of them.
///
/// Takes 4 or 8 bytes a node and thread, beside the queue.
///
/// # Errors
/// [`Error::Verify`] names a wrong distance: the first one of those that were looked at.
pub fn distances<F: Length>(
    graph: &Graph,
    sources: &[u32],
    targets: &[u32],
    found: &[F],
) -> Result<usize> {
    if found.len() != sources.len() * targets.len() {
        return Err(lengths(found.len(), sources, targets));
    }
    let row = |source: u32, place: usize| {
        let right = by_weight::<F>(graph, source);
        let found = &found[place * targets.len()..][..targets.len()];
        let wrong = |at: &usize| found[*at].order() != right[targets[*at] as usize].order();
        let at = (0..targets.len()).find(wrong)?;
        Some((at, found[at].to_string(), right[targets[at] as usize].to_string()))
    };
    looked(graph, sources, targets, MOST, row)
}

pub(super) fn lengths(found: usize, sources: &[u32], targets: &[u32]) -> Error {
    let (rows, columns) = (sources.len(), targets.len());
    Error::Verify(format!("{found} distances of {rows} sources to {columns} targets"))
}

/// Has rows checked, as many as there is time for; `row` says where one is wrong: column, value found and the right one.
pub(super) fn looked(
    graph: &Graph,
    sources: &[u32],
    targets: &[u32],
    most: u64,
    row: impl Fn(u32, usize) -> Option<(usize, String, String)> + Sync,
) -> Result<usize> {
    let most = ((most / (graph.nodes() as u64 + graph.arcs()).max(1)) as usize).max(LEAST);
    let mut places: Vec<usize> = (0..sources.len()).collect();
    if most < places.len() {
        places.sort_unstable_by_key(|place| mix(*place as u64));
        places.truncate(most);
        places.sort_unstable();
    }
    let wrong: Body<&usize, Option<String>> = &|place| {
        let source = sources[*place];
        let (at, value, right) = row(source, *place)?;
        let (from, to) = (graph.id(source), graph.id(targets[at]));
        Some(format!("distance from node {from} to node {to} is {value}, and is {right}"))
    };
    match places.par_iter().map(wrong).find_first(Option::is_some).flatten() {
        Some(what) => Err(Error::Verify(what)),
        None => Ok(places.len()),
    }
}

/// `[n]` lengths of shortest paths from `source` (Dijkstra). The rounded sum rises with the length, so the first to leave the queue is
/// the least.
pub(super) fn by_weight<F: Length>(graph: &Graph, source: u32) -> Vec<F> {
    let mut lengths = vec![F::NONE; graph.nodes()];
    lengths[source as usize] = F::ZERO;
    let mut queue = BinaryHeap::from([Reverse((F::ZERO.order(), source))]);
    while let Some(Reverse((order, u))) = queue.pop() {
        let length = lengths[u as usize];
        if length.order() < order {
            continue;
        }
        for (v, weight) in graph.neighbors(u as usize) {
            let longer = length.with(weight);
            if longer < lengths[v as usize] {
                lengths[v as usize] = longer;
                queue.push(Reverse((longer.order(), v)));
            }
        }
    }
    lengths
}
