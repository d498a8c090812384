//! Distances from many sources at once, summed: breadth-first search with a bit a source.
//!
//! 64 sources share each look at an arc (Then et al., The more the merrier, VLDB 2014): a node holds a word
//! of the sources that have seen it, and passes on the bits that it got in the last level.

use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sources of one search: bits of a word.
const BATCH: usize = 64;
/// Nodes of a level below which one thread expands it.
const SERIAL_NODES: usize = 1024;

/// Over pairs (s, t) of a source and another node that it reaches.
pub(super) struct Hops {
    /// Pairs.
    pub pairs: u64,
    /// Their distances together.
    pub hops: u128,
    /// `[n]` sources that reach a node, itself not counted.
    pub reachers: Vec<u32>,
    /// `[sources]` other nodes that a source reaches.
    pub reached: Vec<u32>,
}

/// Counts arcs of shortest paths from `sources`, distinct node indices.
pub(super) fn count(graph: &Graph, sources: &[u32]) -> Hops {
    let n = graph.nodes();
    let mut all = Hops { pairs: 0, hops: 0, reachers: vec![0; n], reached: Vec::new() };
    for batch in sources.chunks(BATCH) {
        search(graph, batch, &mut all);
    }
    all
}

fn words(n: usize) -> Vec<AtomicU64> {
    (0..n).into_par_iter().map(|_| AtomicU64::new(0)).collect()
}

fn search(graph: &Graph, sources: &[u32], all: &mut Hops) {
    let n = graph.nodes();
    let (seen, mut fresh, mut next) = (words(n), words(n), words(n));
    for (bit, &s) in sources.iter().enumerate() {
        seen[s as usize].store(1 << bit, Relaxed);
        fresh[s as usize].store(1 << bit, Relaxed);
    }
    let mut reached = vec![0u32; sources.len()];
    let mut frontier = sources.to_vec();
    for level in 1u128.. {
        let grown = expand(graph, &frontier, &seen, &fresh, &next);
        frontier.iter().for_each(|&u| fresh[u as usize].store(0, Relaxed));
        for &v in &grown {
            let v = v as usize;
            let mut bits = next[v].load(Relaxed);
            seen[v].fetch_or(bits, Relaxed);
            all.pairs += u64::from(bits.count_ones());
            all.hops += level * u128::from(bits.count_ones());
            all.reachers[v] += bits.count_ones();
            while bits != 0 {
                reached[bits.trailing_zeros() as usize] += 1;
                bits &= bits - 1;
            }
        }
        std::mem::swap(&mut fresh, &mut next);
        frontier = grown;
        if frontier.is_empty() {
            break;
        }
    }
    all.reached.extend(reached);
}

/// Nodes that get bits which they have not seen; the bits are in `next`.
fn expand(
    graph: &Graph,
    frontier: &[u32],
    seen: &[AtomicU64],
    fresh: &[AtomicU64],
    next: &[AtomicU64],
) -> Vec<u32> {
    let grow = |nodes: &[u32]| {
        let mut grown = Vec::new();
        for &u in nodes {
            let bits = fresh[u as usize].load(Relaxed);
            for (v, _) in graph.neighbors(u as usize) {
                let new = bits & !seen[v as usize].load(Relaxed);
                let slot = &next[v as usize];
                if new & !slot.load(Relaxed) != 0 && slot.fetch_or(new, Relaxed) == 0 {
                    grown.push(v);
                }
            }
        }
        grown
    };
    if frontier.len() < SERIAL_NODES {
        return grow(frontier);
    }
    frontier.par_chunks(SERIAL_NODES / 4).map(grow).collect::<Vec<_>>().concat()
}
