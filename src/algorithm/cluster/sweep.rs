//! The sweep: of the first so many nodes of a vector those with the least conductance.

use crate::algorithm::push::Taken;
use crate::graph::Graph;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Nodes between signs of life.
const BEAT: u32 = 256;

/// A fraction of integers, the lower one above 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fraction(u64, u64);

impl Fraction {
    fn order(self, other: Fraction) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.0, other.1).cmp(&product(other.0, self.1))
    }

    pub fn as_f64(self) -> f64 {
        self.0 as f64 / self.1 as f64
    }
}

/// Of a set with so many arcs out of it and in all, in a graph of so many `arcs`.
pub(super) fn conductance(cut: u64, volume: u64, arcs: u64) -> Fraction {
    match volume.min(arcs - volume) {
        0 => Fraction(1, 1),
        smaller => Fraction(cut, smaller),
    }
}

/// Where each of some nodes stands in a list: a table with open addressing, twice as long or more.
struct Places {
    /// Node and place; `u32::MAX` is no place.
    entries: Vec<(u32, u32)>,
    shift: u32,
}

impl Places {
    fn new(nodes: &[(u32, u64)]) -> Places {
        let length = (2 * nodes.len()).next_power_of_two().max(2);
        let shift = 64 - length.trailing_zeros();
        let mut places = Places { entries: vec![(0, u32::MAX); length], shift };
        for (place, (node, _)) in (0..).zip(nodes) {
            let at = places.entry(*node);
            places.entries[at] = (*node, place);
        }
        places
    }

    /// Where a node is, or would be.
    fn entry(&self, node: u32) -> usize {
        let mut at = (u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.entries[at].1 != u32::MAX && self.entries[at].0 != node {
            at = (at + 1) % self.entries.len();
        }
        at
    }

    /// The place of a node; `u32::MAX` of others.
    fn of(&self, node: u32) -> u32 {
        self.entries[self.entry(node)].1
    }
}

/// The nodes of the cluster in the order of the sweep, its cut and its volume.
pub(super) fn cluster(
    graph: &Graph,
    mut vector: Vec<(u32, u64)>,
    beat: &(dyn Fn() + Sync),
) -> Taken {
    let degree = |node: u32| graph.degree(node as usize);
    beat();
    vector.par_sort_unstable_by(|(a, p), (b, q)| {
        Fraction(*q, degree(*b))
            .order(Fraction(*p, degree(*a)))
            .then(graph.rank(*a).cmp(&graph.rank(*b)))
    });
    let places = Places::new(&vector);
    // Arcs to nodes before it join the cut no more, and self loops never do.
    let inner = |(place, (node, _)): (u32, &(u32, u64))| {
        if place.is_multiple_of(BEAT) {
            beat();
        }
        let arcs = graph.neighbors(*node as usize);
        arcs.map(|(to, _)| match places.of(to).cmp(&place) {
            Ordering::Less => 2,
            Ordering::Equal => 1,
            Ordering::Greater => 0,
        })
        .sum::<u64>()
    };
    let numbers = 0..vector.len() as u32;
    let inner: Vec<u64> = numbers.into_par_iter().zip(&vector).map(inner).collect();
    let (mut cut, mut volume) = (0, 0);
    let (mut best, mut found) = (None::<Fraction>, (0, 0, 0));
    for ((node, _), (inner, size)) in vector.iter().zip(inner.iter().zip(1..)) {
        cut = cut + degree(*node) - inner;
        volume += degree(*node);
        let own = conductance(cut, volume, graph.arcs());
        if best.is_none_or(|best| own.order(best) == Ordering::Less) {
            (best, found) = (Some(own), (size, cut, volume));
        }
    }
    let (size, cut, volume) = found;
    let nodes = vector[..size].iter().map(|(node, _)| *node).collect();
    Taken { nodes, words: vec![cut, volume] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_list() {
        let nodes: Vec<(u32, u64)> = (0..1000u32).map(|k| (k.wrapping_mul(4096), 1)).collect();
        let places = Places::new(&nodes);
        for (place, (node, _)) in (0..).zip(&nodes) {
            assert_eq!(places.of(*node), place);
        }
        assert_eq!((places.of(1), Places::new(&[]).of(0)), (u32::MAX, u32::MAX));
    }

    #[test]
    fn fractions_are_compared_as_they_are() {
        // As f64 they are equal.
        let (a, b) = (Fraction(1 << 62, (1 << 62) + 1), Fraction((1 << 62) - 1, 1 << 62));
        assert_eq!((a.as_f64(), a.order(b)), (b.as_f64(), Ordering::Greater));
    }
}
