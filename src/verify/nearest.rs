//! Checks the nearest targets of several sources: a search a source.

use super::distances::{by_weight, looked};
use super::hops::by_arcs;
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::ops::Range;

/// Nodes and arcs that are looked at, at most: some seconds on two cores.
const MOST: u64 = 1 << 28;

/// What distances are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NearestBy {
    /// The least numbers of arcs.
    Arcs,
    /// The least sums of weights, in f32.
    Weight32,
    /// The same in f64.
    Weight64,
}

/// Pairs: sources in their order, and of each its targets, the nearest first, those of one distance in their order.
#[derive(Debug, Clone, Copy)]
pub struct NearestFound<'a> {
    /// How many of each source, at most.
    pub most: usize,
    /// `[pairs]` sources.
    pub source: &'a [u32],
    /// `[pairs]` targets.
    pub target: &'a [u32],
}

/// Certifies that `found` are the nearest of the targets to each source, itself not counted, and `value` of a pair's place its distance.
/// Returns how many sources were searched from: all, if that takes at most some seconds, else a random choice of them.
///
/// # Errors
/// [`Error::Verify`] names a wrong pair.
pub fn nearest(
    graph: &Graph,
    (sources, targets): (&[u32], &[u32]),
    by: NearestBy,
    found: NearestFound,
    value: impl Fn(usize) -> f64 + Sync,
) -> Result<usize> {
    let NearestFound { most, source, target } = found;
    if source.len() != target.len() {
        return Err(Error::Verify(format!("{} sources of {} targets", source.len(), target.len())));
    }
    // Where the pairs of each source lie.
    let (mut rows, mut at): (Vec<Range<usize>>, usize) = (Vec::with_capacity(sources.len()), 0);
    for own in sources {
        let pairs = source[at..].iter().take_while(|source| *source == own).count();
        rows.push(at..at + pairs);
        at += pairs;
    }
    if at < source.len() {
        let (source, target) = (graph.id(source[at]), graph.id(target[at]));
        return Err(Error::Verify(format!(
            "the pair of node {source} and node {target} is out of order"
        )));
    }
    let row = |own: u32, place: usize| {
        let distances: Vec<f64> = match by {
            NearestBy::Arcs => {
                let hops = by_arcs(graph, own).into_iter();
                hops.map(|hops| hops.map_or(f64::INFINITY, f64::from)).collect()
            }
            NearestBy::Weight32 => {
                by_weight::<f32>(graph, own).into_iter().map(f64::from).collect()
            }
            NearestBy::Weight64 => by_weight::<f64>(graph, own),
        };
        let mut right: Vec<(usize, f64)> =
            targets.iter().map(|target| distances[*target as usize]).enumerate().collect();
        right.retain(|(at, distance)| distance.is_finite() && targets[*at] != own);
        // Stable: equal ones stay in the order of targets.
        right.par_sort_by(|a, b| a.1.total_cmp(&b.1));
        right.truncate(most);
        let told = |target: u32, distance: f64| format!("{distance} of node {}", graph.id(target));
        let pairs = rows[place].clone();
        for number in 0..right.len().max(pairs.len()) {
            let own = pairs.clone().nth(number).map(|at| (target[at], value(at)));
            let pair = right.get(number).map(|(at, distance)| (targets[*at], *distance));
            if own != pair {
                let text = |pair: Option<(u32, f64)>| {
                    pair.map_or("none".into(), |(target, distance)| told(target, distance))
                };
                let at = right.get(number).map_or(0, |(at, _)| *at);
                return Some((at, text(own), text(pair)));
            }
        }
        None
    };
    looked(graph, sources, targets, MOST, row)
}
