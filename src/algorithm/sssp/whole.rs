//! What f32 does to distances: where whole numbers end, and which weights are lost.

use super::length::Length;
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// 2^24: f32 holds every whole number up to here, and not the next one.
pub(super) const WHOLE: f32 = 16_777_216.0;

/// Whether every weight is a whole number; an arc without one counts 1.
pub(super) fn weights_are_whole(graph: &Graph) -> bool {
    graph.weights().is_none_or(|weights| weights.par_iter().all(|w| w.fract() == 0.0))
}

/// Reached nodes at 2^24 or further.
pub(super) fn beyond(distances: &[f32]) -> u64 {
    distances.par_iter().filter(|d| **d >= WHOLE && d.is_finite()).count() as u64
}

/// Arcs out of reached nodes whose sum is more than f32 holds. `mean` is that of all weights.
pub(super) fn overflowed(graph: &Graph, distances: &[f32], mean: f64) -> u64 {
    let reached = distances.par_iter().copied().filter(|d| d.is_finite());
    let furthest = reached.reduce(|| 0.0, f32::max);
    // No weight is more than all together.
    if f64::from(furthest) + mean * graph.arcs() as f64 <= f64::from(f32::MAX) {
        return 0;
    }
    let rows = (0..graph.nodes()).into_par_iter().filter(|u| distances[*u].is_finite());
    rows.map(|u| {
        graph.neighbors(u).filter(|(_, w)| (distances[u] + w).is_infinite()).count() as u64
    })
    .sum()
}

/// Nodes at the distance of a neighbour before them although the arc between weighs more than 0: fl(d + w) == d.
/// `lightest` is the smallest weight, 0 included.
pub(super) fn absorbed<D: Length>(graph: &Graph, distances: &[D], lightest: f32) -> u64 {
    let reached = |d: &&D| d.is_reached();
    let furthest = distances
        .par_iter()
        .filter(reached)
        .copied()
        .reduce(|| D::ZERO, |a, b| if b > a { b } else { a });
    let positive = |w: &&f32| **w > 0.0;
    let lightest = match graph.weights() {
        Some(weights) if lightest == 0.0 => {
            weights.par_iter().filter(positive).copied().reduce(|| f32::INFINITY, f32::min)
        }
        _ => lightest,
    };
    // What is not lost beside the largest distance is not lost beside a smaller one.
    if lightest == f32::INFINITY || furthest.plus(lightest) > furthest {
        return 0;
    }
    let lost: Vec<AtomicBool> = distances.par_iter().map(|_| AtomicBool::new(false)).collect();
    graph.row_blocks().into_par_iter().for_each(|rows| {
        for u in rows.filter(|u| distances[*u].is_reached()) {
            for (v, weight) in graph.neighbors(u).filter(|(v, w)| *w > 0.0 && *v as usize != u) {
                let (from, to) = (distances[u], distances[v as usize]);
                if to == from && from.plus(weight) == from {
                    lost[v as usize].store(true, Relaxed);
                }
            }
        }
    });
    lost.into_par_iter().filter(|lost| lost.load(Relaxed)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    #[test]
    fn a_weight_that_is_lost_beside_the_distance_is_counted_on_the_node_it_leads_to() {
        let (from, to) = ([0, 1, 2, 0], [1, 2, 3, 4]);
        let weights = [3e7, 0.5, 4.0, 0.5];
        let graph = Graph::from_arcs(5, &from, &to, Some(&weights), Origin::default()).unwrap();
        let single = [0.0f32, 3e7, 3e7, 3e7 + 4.0, 0.5];
        assert_eq!(absorbed(&graph, &single, 0.5), 1);
        assert_eq!(absorbed(&graph, &[0.0f64, 3e7, 3e7 + 0.5, 3e7 + 4.5, 0.5], 0.5), 0);
        assert!(!weights_are_whole(&graph));
        assert_eq!(beyond(&single), 3);
    }
}
