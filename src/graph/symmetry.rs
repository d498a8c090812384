//! Symmetry, and the transpose.
//!
//! Symmetric means: as a multiset, the arcs (u, v, w) equal the arcs (v, u, w). It is decided without
//! building the transpose, by a fingerprint: a 64-bit hash of each edge {u, v} of weight w, added modulo 2^64 where u < v and
//! subtracted where u > v, in whatever order. The sum is 0 where the two multisets are equal, and by chance about once in
//! 2^64 where they differ.

use super::Graph;
use super::build::{self, Csr, Keep};
use crate::hash::mix;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Arcs from which a transpose without weights is made in slices, and how many.
const SLICED: u64 = 1 << 25;
const SLICES: u64 = 8;

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
    /// parallel sweep over the arcs, and remembered.
    pub fn is_symmetric(&self) -> bool {
        *self.symmetric.get_or_init(|| self.has_all_reverses(true))
    }

    /// Whether the reverse of every arc is there as often, whatever the two weigh. Found and remembered alike.
    pub fn is_undirected(&self) -> bool {
        let unweighted = || self.is_weighted() && self.has_all_reverses(false);
        *self.undirected.get_or_init(|| self.is_symmetric() || unweighted())
    }

    fn has_all_reverses(&self, weighted: bool) -> bool {
        let weights = self.weights.as_deref().filter(|_| weighted);
        let surplus = |rows: Range<usize>| {
            let mut sum = 0u64;
            for u in rows {
                let row = self.offsets[u] as usize..self.offsets[u + 1] as usize;
                let u = u as u32;
                let mut add = |v: u32, weight: f32| {
                    let hash = edge_hash(u.min(v), u.max(v), weight);
                    // A self loop is its own reverse.
                    let sign = u64::from(u < v).wrapping_sub(u64::from(u > v));
                    sum = sum.wrapping_add(hash.wrapping_mul(sign));
                };
                let columns = &self.columns[row.clone()];
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
            None if self.is_weighted() || self.arcs() < SLICED => {
                Graph::trusted(self.rebuilt(|u, v| (v, u)), origin, known)
            }
            None => Graph::trusted(self.turned_by_slices(SLICES), origin, known),
        };
        turned.names.clone_from(&self.names);
        turned.places.clone_from(&self.places);
        turned
    }

    /// The transpose without weights, so many rows at a time that little memory is taken beside it: packed arcs are twice as long
    /// as columns.
    fn turned_by_slices(&self, slices: u64) -> Csr {
        let (n, m) = (self.nodes(), self.arcs());
        let degrees: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
        self.columns.par_iter().for_each(|v| _ = degrees[*v as usize].fetch_add(1, Relaxed));
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0);
        let mut columns = Vec::with_capacity(m as usize);
        let (mut begin, mut total) = (0, 0u64);
        for end in 1..=n {
            total += degrees[end - 1].load(Relaxed);
            offsets.push(total);
            let arcs = total - offsets[begin];
            if end < n && arcs < m.div_ceil(slices) {
                continue;
            }
            let rows = begin as u32..end as u32;
            let (rows, arcs_of) = (&rows, |u: usize| {
                self.columns[self.offsets[u] as usize..self.offsets[u + 1] as usize].iter().copied()
            });
            let slice =
                build::build(end - begin, arcs, Keep::ALL, false, self.row_blocks(), |_, us| {
                    us.flat_map(move |u| {
                        let inside = arcs_of(u).filter(|v| rows.contains(v));
                        inside.map(move |v| (v - rows.start, u as u32, 1.0, 0))
                    })
                });
            columns.extend_from_slice(&slice.columns);
            begin = end;
        }
        let Graph { origin, .. } = self;
        let (self_loops, duplicates) = (origin.self_loops, origin.duplicates);
        Csr { offsets, columns, weights: None, self_loops, duplicates }
    }
}

#[cfg(test)]
mod tests {
    use crate::generate::generate;

    #[test]
    fn a_transpose_by_slices_is_the_transpose() {
        for spec in ["rmat:10", "star:500", "chain:300", "uniform:1000"] {
            let graph = generate(spec).unwrap().without_weights();
            // One way: both are the transpose of what is not symmetric.
            let directed = graph.rebuilt(|u, v| (u.min(v), u.max(v)));
            let graph = super::Graph::trusted(directed, graph.origin, None);
            let whole = graph.rebuilt(|u, v| (v, u));
            for slices in [1, 3, 8, 1000] {
                let csr = graph.turned_by_slices(slices);
                assert_eq!(csr.offsets, whole.offsets, "{spec} {slices}");
                assert_eq!(csr.columns, whole.columns, "{spec} {slices}");
                assert_eq!(csr.duplicates, whole.duplicates, "{spec} {slices}");
                assert_eq!(csr.self_loops, whole.self_loops, "{spec} {slices}");
            }
        }
    }
}
