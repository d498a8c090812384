//! Symmetry, and the transpose.
//!
//! Symmetric means: as a multiset, the arcs (u, v, w) equal the arcs (v, u, w). It is decided without
//! building the transpose, by a fingerprint: a 64-bit hash of each edge {u, v} of weight w, added modulo 2^64 where u < v and
//! subtracted where u > v, in whatever order. The sum is 0 where the two multisets are equal, and by chance about once in
//! 2^64 where they differ.

use super::Graph;
use crate::hash::mix;
use rayon::prelude::*;
use std::ops::Range;

/// The hash of the edge {u, v} of weight w, u < v.
#[inline]
fn edge_hash(u: u32, v: u32, weight: f32) -> u64 {
    let pair = u64::from(u) << 32 | u64::from(v);
    let weight = u64::from(weight.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mix(mix(pair ^ 0x6869_7665_0000_0001).wrapping_add(weight))
}

impl Graph {
    /// Whether the reverse of every arc is there as often and with the same weights.
    ///
    /// Known by construction for generators and symmetric matrices; otherwise found once, in one
    /// parallel sweep over the arcs or by GPUs that lay the graph out, and remembered.
    pub fn is_symmetric(&self) -> bool {
        *self.symmetric.get_or_init(|| self.has_all_reverses(true))
    }

    /// Whether the reverse of every arc is there as often, whatever the two weigh. Found and remembered alike.
    pub fn is_undirected(&self) -> bool {
        let unweighted = || self.is_weighted() && self.has_all_reverses(false);
        *self.undirected.get_or_init(|| self.is_symmetric() || unweighted())
    }

    /// [`Graph::is_symmetric`], if it is known.
    pub(crate) fn known_symmetric(&self) -> Option<bool> {
        self.symmetric.get().copied()
    }

    /// [`Graph::is_undirected`], if it is known.
    pub(crate) fn known_undirected(&self) -> Option<bool> {
        let symmetric =
            self.known_symmetric().filter(|symmetric| *symmetric || !self.is_weighted());
        self.undirected.get().copied().or(symmetric)
    }

    /// Remembers what somebody has found: whether the graph is symmetric, if that is known, and whether it is but for weights.
    pub(crate) fn tell_symmetry(&self, symmetric: Option<bool>, undirected: bool) {
        if let Some(symmetric) = symmetric {
            let _ = self.symmetric.set(symmetric);
        }
        let _ = self.undirected.set(undirected);
    }

    fn has_all_reverses(&self, weighted: bool) -> bool {
        let weights = self.weights.as_deref().filter(|_| weighted);
        // What lies in others' arrays is asked for once and not for every row.
        let (offsets, columns) = (self.offsets(), self.columns());
        let surplus = |rows: Range<usize>| {
            let mut sum = 0u64;
            for u in rows {
                let row = offsets[u] as usize..offsets[u + 1] as usize;
                let u = u as u32;
                let mut add = |v: u32, weight: f32| {
                    let hash = edge_hash(u.min(v), u.max(v), weight);
                    // A self loop is its own reverse.
                    let sign = u64::from(u < v).wrapping_sub(u64::from(u > v));
                    sum = sum.wrapping_add(hash.wrapping_mul(sign));
                };
                let columns = &columns[row.clone()];
                match weights {
                    Some(weights) => {
                        columns.iter().zip(&weights[row]).for_each(|(v, weight)| add(*v, *weight))
                    }
                    None => columns.iter().for_each(|v| add(*v, 1.0)),
                }
            }
            sum
        };
        self.row_blocks().into_par_iter().map(surplus).reduce(|| 0, u64::wrapping_add) == 0
    }

    /// The graph with every arc turned around. A graph already known to be symmetric is copied.
    pub fn transpose(&self) -> Graph {
        if self.symmetric.get() == Some(&true) {
            return self.clone();
        }
        let (known, origin) = (self.known_symmetric(), self.origin.clone());
        let mut turned = match &self.reverse {
            Some(rows) => Graph::of_rows((**rows).clone(), known, origin),
            None => Graph::trusted(self.rebuilt(|u, v| (v, u)), origin, known),
        };
        turned.names.clone_from(&self.names);
        turned.places.clone_from(&self.places);
        turned
    }
}
