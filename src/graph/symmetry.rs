//! Symmetry, and the transpose.
//!
//! Symmetric means: as a multiset, the arcs (u, v, w) equal the arcs (v, u, w). It is decided without
//! building the transpose, by a fingerprint: two independent 64-bit hashes of each arc, summed modulo
//! 2^64 in whatever order. Sums of equal multisets are equal always; those of different ones meet by
//! chance about once in 2^128.

use super::Graph;
use crate::hash::mix;
use rayon::prelude::*;

/// Two independent hashes of the arc (u, v, w).
#[inline]
fn arc_hash(u: u32, v: u32, weight: f32) -> (u64, u64) {
    let pair = mix((u64::from(u) << 32 | u64::from(v)) ^ 0x6869_7665_0000_0001);
    let arc = pair ^ u64::from(weight.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mix(arc.wrapping_add(0xd1b5_4a32_d192_ed03)), mix(arc.wrapping_mul(0xda94_2042_e4dd_58b5)))
}

impl Graph {
    /// Whether the reverse of every arc is there as often and with the same weights.
    ///
    /// Known by construction for generators and symmetric matrices; otherwise found once, in one
    /// parallel sweep over the arcs, and remembered.
    pub fn is_symmetric(&self) -> bool {
        *self.symmetric.get_or_init(|| self.has_all_reverses(true))
    }

    /// Whether the reverse of every arc is there as often, whatever the two weigh. Found and remembered alike.
    pub fn is_undirected(&self) -> bool {
        let unweighted = || self.weights().is_some() && self.has_all_reverses(false);
        *self.undirected.get_or_init(|| self.is_symmetric() || unweighted())
    }

    fn has_all_reverses(&self, weighted: bool) -> bool {
        let add = |a: (u64, u64), b: (u64, u64)| (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1));
        let surplus = self
            .row_blocks()
            .into_par_iter()
            .map(|rows| {
                let mut sum = (0u64, 0u64);
                for u in rows {
                    for (v, weight) in self.neighbors(u).filter(|&(v, _)| v as usize != u) {
                        let weight = if weighted { weight } else { 1.0 };
                        let forward = arc_hash(u as u32, v, weight);
                        let back = arc_hash(v, u as u32, weight);
                        sum = add(sum, forward);
                        sum = add(sum, (back.0.wrapping_neg(), back.1.wrapping_neg()));
                    }
                }
                sum
            })
            .reduce(|| (0, 0), add);
        surplus == (0, 0)
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
