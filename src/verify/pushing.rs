//! Pushes a source's vector again, one node after another, for the checkers of what is made of it.

use crate::graph::Graph;
use crate::hash::mix;
use std::collections::HashMap;

/// How vectors are pushed.
#[derive(Debug, Clone, Copy)]
pub struct PushQuestion<'a> {
    /// Nodes, by rising input id.
    pub sources: &'a [u32],
    /// The part of a residual that a node keeps.
    pub alpha: f64,
    /// A node pushes while its residual is at least this for each of its arcs.
    pub epsilon: f64,
}

/// Bits behind the point of values, of alpha, and as a value.
const BITS: i32 = 62;
const ALPHA_BITS: i32 = 32;
const WHOLE: u128 = 1 << BITS;
/// Arcs that are looked at, at most, unless one source takes more: some seconds on two cores.
const MOST: f64 = (1u64 << 28) as f64;
/// Sources that are looked at in any case.
const LEAST: usize = 1;

/// The numbers of sources that there is time for, rising.
pub(super) fn places(graph: &Graph, question: &PushQuestion) -> Vec<usize> {
    let PushQuestion { sources, alpha, epsilon } = question;
    // As many arcs as residuals pay for; in a small graph all of them, while residuals decay.
    let all = (graph.arcs() + 1) as f64 * (1.0 - epsilon.ln()) / alpha;
    let most = ((MOST / all.min(1.0 / (alpha * epsilon))) as usize).max(LEAST);
    let mut places: Vec<usize> = (0..sources.len()).collect();
    if most < places.len() {
        places.sort_unstable_by_key(|place| mix(*place as u64));
        places.truncate(most);
        places.sort_unstable();
    }
    places
}

/// The values of a source, all above 0.
pub(super) fn vector(graph: &Graph, source: u32, question: &PushQuestion) -> HashMap<u32, u128> {
    let whole = |x: f64, bits: i32| (x * 2f64.powi(bits)).round() as u128;
    let alpha = whole(question.alpha, ALPHA_BITS);
    let epsilon = whole(question.epsilon, BITS);
    let mut values: HashMap<u32, u128> = HashMap::new();
    if graph.degree(source as usize) == 0 {
        return HashMap::from([(source, WHOLE)]);
    }
    let mut residuals = HashMap::from([(source, WHOLE)]);
    let mut changed = vec![source];
    loop {
        let bound = |node: u32| epsilon * u128::from(graph.degree(node as usize));
        changed.sort_unstable();
        changed.dedup();
        let pushing: Vec<(u32, u128)> = (changed.iter())
            .map(|node| (*node, residuals[node]))
            .filter(|(node, residual)| *residual >= bound(*node))
            .collect();
        if pushing.is_empty() {
            return values;
        }
        changed.clear();
        // All of them give what they had before the round.
        for (node, residual) in &pushing {
            residuals.insert(*node, 0);
            *values.entry(*node).or_default() += (residual * alpha) >> ALPHA_BITS;
        }
        for (node, residual) in pushing {
            let rest = residual - ((residual * alpha) >> ALPHA_BITS);
            let arcs = u128::from(graph.degree(node as usize));
            *residuals.entry(node).or_default() += rest % arcs;
            for (to, _) in graph.neighbors(node as usize) {
                if graph.degree(to as usize) == 0 {
                    *values.entry(to).or_default() += rest / arcs;
                } else {
                    *residuals.entry(to).or_default() += rest / arcs;
                    changed.push(to);
                }
            }
        }
    }
}

/// A value as a number.
pub(super) fn number(units: u128) -> f64 {
    units as f64 / WHOLE as f64
}
