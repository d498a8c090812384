//! Weak components, as far as a graph needs them to name a sensible source.
//!
//! Union-find with one parent array, `parent[v] <= v`, hooked by compare-and-swap: the higher root
//! always under the lower, so that the root of a component is its lowest id. After Afforest (Sutton,
//! Ben-Nun, Barak, IPDPS 2018): two neighbours of each node already join most of a giant component,
//! and in a symmetric graph the rows inside it need no further look.

use super::Graph;
use super::bits::Bits;
use crate::hash::hash;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Neighbours of each node that are joined before the giant component is guessed.
const SAMPLED_NEIGHBORS: usize = 2;
/// Nodes that are asked for their root to guess it.
const SAMPLED_NODES: u64 = 1024;

/// The weakly connected components of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakComponents {
    /// How many there are.
    pub count: u64,
    /// Nodes in the largest; of equally large ones, that with the lowest id.
    pub nodes: u64,
    /// The node of the lowest id in it.
    pub lowest: u32,
    /// `[n]` the lowest node of each node's component, by which components are told apart.
    pub roots: Vec<u32>,
}

impl WeakComponents {
    /// Whether node `v` is in the largest component.
    pub fn holds(&self, v: u32) -> bool {
        self.roots[v as usize] == self.roots[self.lowest as usize]
    }
}

impl Graph {
    /// Number of nodes without any arc, in or out.
    pub fn isolated(&self) -> u64 {
        if let Some(isolated) = self.facts.isolated {
            return isolated;
        }
        let n = self.nodes();
        let no_row = |v: usize| self.degree(v) == 0;
        if self.symmetric.get() == Some(&true) {
            return (0..n).into_par_iter().filter(|&v| no_row(v)).count() as u64;
        }
        let named = Bits::new(n);
        self.columns.par_iter().for_each(|&v| {
            named.add(v);
        });
        (0..n).into_par_iter().filter(|&v| no_row(v) && !named.has(v as u32)).count() as u64
    }

    /// The node of the lowest id in the largest weakly connected component; of equally large ones, in
    /// that which has the lowest id.
    pub fn default_source(&self) -> u32 {
        if let Some(source) = self.source.get() {
            return *source;
        }
        let found = self.search_source();
        *self.source.get_or_init(|| found)
    }

    /// Whether the default source is known already.
    pub(crate) fn knows_source(&self) -> bool {
        self.source.get().is_some()
    }

    /// Remembers the default source, which somebody has found.
    pub(crate) fn tell_source(&self, source: u32) {
        let _ = self.source.set(source);
    }

    fn search_source(&self) -> u32 {
        let (roots, giant) = self.weak_roots();
        let alone = |v: usize| self.symmetric.get() == Some(&true) && self.degree(v) == 0;
        let count = |inside: bool| {
            let nodes = roots.par_iter().enumerate();
            let counts = |(v, root): &(usize, &AtomicU32)| {
                (root.load(Relaxed) == giant) == inside && (inside || !alone(*v))
            };
            nodes.filter(counts).count()
        };
        // A root is the lowest node of its component.
        match self.names_rise() && count(true) > count(false).max(1) {
            true => giant,
            false => self.components_of(roots, giant).lowest,
        }
    }

    /// The weakly connected components; an isolated node is one of its own.
    pub fn weak_components(&self) -> WeakComponents {
        let (roots, giant) = self.weak_roots();
        self.components_of(roots, giant)
    }

    /// The components with these roots, of which `giant` may be that of the largest.
    fn components_of(&self, roots: Vec<AtomicU32>, giant: u32) -> WeakComponents {
        // The giant is counted apart: a million increments of one counter would queue up.
        let sizes: Vec<AtomicU32> = (0..self.nodes()).map(|_| AtomicU32::new(0)).collect();
        let in_giant = roots
            .par_iter()
            .map(|root| root.load(Relaxed))
            .filter(|&root| {
                if root != giant {
                    sizes[root as usize].fetch_add(1, Relaxed);
                }
                root == giant
            })
            .count();
        sizes[giant as usize].store(in_giant as u32, Relaxed);
        let sizes: Vec<u32> = sizes.into_par_iter().map(AtomicU32::into_inner).collect();
        let roots: Vec<u32> = roots.into_par_iter().map(AtomicU32::into_inner).collect();
        let nodes = sizes.par_iter().copied().max().unwrap_or(0);
        let count = sizes.par_iter().filter(|size| **size > 0).count() as u64;
        let largest = |v: &u32| sizes[roots[*v as usize] as usize] == nodes;
        let all = (0..self.nodes() as u32).into_par_iter();
        let lowest = if self.names_rise() {
            all.find_first(largest)
        } else {
            all.filter(largest).min_by_key(|v| self.rank(*v))
        };
        WeakComponents { count, nodes: nodes.into(), lowest: lowest.unwrap_or(0), roots }
    }

    /// For each node the lowest id of its weak component, and a guess at the largest component.
    fn weak_roots(&self) -> (Vec<AtomicU32>, u32) {
        let n = self.nodes();
        let parent: Vec<AtomicU32> = (0..n as u32).into_par_iter().map(AtomicU32::new).collect();
        let blocks = self.row_blocks();
        blocks.par_iter().cloned().flatten_iter().for_each(|u| {
            for (v, _) in self.neighbors(u).take(SAMPLED_NEIGHBORS) {
                hook(&parent, u as u32, v);
            }
        });
        compress(&parent);
        let giant = guess_giant(&parent);
        // An arc out of the giant appears again in the row of its other end, if rows go both ways.
        let skip_giant = self.symmetric.get() == Some(&true);
        blocks.par_iter().cloned().flatten_iter().for_each(|u| {
            if skip_giant && parent[u].load(Relaxed) == giant {
                return;
            }
            for (v, _) in self.neighbors(u).skip(SAMPLED_NEIGHBORS) {
                hook(&parent, u as u32, v);
            }
        });
        compress(&parent);
        let giant = parent[giant as usize].load(Relaxed);
        (parent, giant)
    }
}

/// Joins the trees of u and v, the higher root under the lower.
fn hook(parent: &[AtomicU32], u: u32, v: u32) {
    let up = |v: u32| parent[v as usize].load(Relaxed);
    let (mut a, mut b) = (up(u), up(v));
    while a != b {
        let (low, high) = (a.min(b), a.max(b));
        let above = up(high);
        if above == low {
            return;
        }
        if above == high
            && parent[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok()
        {
            return;
        }
        (a, b) = (up(up(high)), up(low));
    }
}

/// Points every node straight at its root. No hook may run meanwhile.
fn compress(parent: &[AtomicU32]) {
    parent.par_iter().for_each(|own| {
        let mut root = own.load(Relaxed);
        loop {
            let above = parent[root as usize].load(Relaxed);
            if above == root {
                break;
            }
            root = above;
        }
        own.store(root, Relaxed);
    });
}

/// The root that most of a fixed sample of nodes has. A wrong guess costs time, not correctness.
fn guess_giant(parent: &[AtomicU32]) -> u32 {
    let mut votes: HashMap<u32, u32> = HashMap::new();
    for sample in 0..SAMPLED_NODES {
        let node = hash(0, sample) % parent.len() as u64;
        *votes.entry(parent[node as usize].load(Relaxed)).or_default() += 1;
    }
    votes.into_iter().max_by_key(|&(root, count)| (count, root)).map_or(0, |(root, _)| root)
}
