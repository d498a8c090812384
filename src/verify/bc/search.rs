//! Brandes' algorithm on a host, from one source after another.

use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Fewest nodes of a level that are one task.
const GRAIN: usize = 256;
/// Level of a node that a search has not reached.
const UNSEEN: u32 = u32::MAX;

/// A number of paths: `digits * 2^(512 * exponent)`.
#[derive(Clone, Copy)]
pub(super) struct Paths {
    /// 0, or at least 1 and below 2^512.
    digits: f64,
    exponent: u32,
}

impl Paths {
    pub(super) const NONE: Paths = Paths { digits: 0.0, exponent: 0 };
    pub(super) const ONE: Paths = Paths { digits: 1.0, exponent: 0 };

    fn base() -> f64 {
        2f64.powi(512)
    }

    pub(super) fn add(&mut self, other: Paths) {
        let (high, low) =
            if self.exponent >= other.exponent { (*self, other) } else { (other, *self) };
        *self = high;
        // Further apart, the lower one is below the last place.
        match high.exponent - low.exponent {
            0 => self.digits += low.digits,
            1 => self.digits += low.digits / Self::base(),
            _ => {}
        }
        if self.digits >= Self::base() {
            self.digits /= Self::base();
            self.exponent += 1;
        }
    }

    /// The share that these are of `all`, which are no fewer.
    pub(super) fn share(self, all: Paths) -> f64 {
        match all.exponent.checked_sub(self.exponent) {
            Some(0) => self.digits / all.digits,
            Some(1) => self.digits / all.digits / Self::base(),
            Some(_) => 0.0,
            // They are more: the graph is not what it says.
            None => f64::NAN,
        }
    }
}

/// One source after the other (Brandes, J. Math. Sociology 2001), large levels by all threads.
pub(super) struct Search<'a> {
    graph: &'a Graph,
    level: Vec<AtomicU32>,
    paths: Vec<Paths>,
    dependency: Vec<f64>,
    /// Reached nodes, by level.
    pub order: Vec<u32>,
    /// Where each level begins in `order`, and the end of the last.
    begins: Vec<usize>,
    /// Raw scores so far.
    pub scores: Vec<f64>,
    /// Of a source and another node that it reaches, so far.
    pub pairs: u64,
    /// Their distances together.
    pub hops: u128,
}

impl Search<'_> {
    pub(super) fn new(graph: &Graph) -> Search<'_> {
        let n = graph.nodes();
        Search {
            graph,
            level: (0..n).map(|_| AtomicU32::new(UNSEEN)).collect(),
            paths: vec![Paths::NONE; n],
            dependency: vec![0.0; n],
            order: Vec::new(),
            begins: Vec::new(),
            scores: vec![0.0; n],
            pairs: 0,
            hops: 0,
        }
    }

    /// Adds what a source contributes by its paths to `targets` (`[n]`), or to all nodes.
    pub(super) fn add(&mut self, source: usize, endpoints: bool, targets: Option<&[bool]>) {
        self.count_paths(source);
        let is_target = |v: usize| v != source && targets.is_none_or(|targets| targets[v]);
        let end = if endpoints { 1.0 } else { 0.0 };
        self.scores[source] += end * (self.order.len() - 1) as f64;
        for level in (0..self.begins.len() - 1).rev() {
            let nodes = &self.order[self.begins[level]..self.begins[level + 1]];
            let ends = nodes.iter().filter(|v| is_target(**v as usize)).count();
            self.pairs += ends as u64;
            self.hops += level as u128 * ends as u128;
            let below = level as u32 + 1;
            let dependency = |&u: &u32| -> f64 {
                let paths = self.paths[u as usize];
                let one = |v: usize| f64::from(u8::from(is_target(v)));
                let through = |v: usize| paths.share(self.paths[v]) * (one(v) + self.dependency[v]);
                self.next(u).filter(|&v| self.at(v) == below).map(through).sum()
            };
            let sums: Vec<f64> = nodes.par_iter().with_min_len(GRAIN).map(dependency).collect();
            for (&u, sum) in nodes.iter().zip(sums) {
                self.dependency[u as usize] = sum;
                if u as usize != source {
                    self.scores[u as usize] += sum + end;
                }
            }
        }
    }

    /// The level of a node.
    pub(super) fn at(&self, v: usize) -> u32 {
        self.level[v].load(Relaxed)
    }

    /// Where the arcs out of a node lead.
    fn next(&self, u: u32) -> impl Iterator<Item = usize> {
        neighbors_once(self.graph, u)
    }

    pub(super) fn count_paths(&mut self, source: usize) {
        // Of an earlier source.
        self.level.par_iter_mut().for_each(|level| *level.get_mut() = UNSEEN);
        *self.level[source].get_mut() = 0;
        self.paths[source] = Paths::ONE;
        (self.order, self.begins) = (vec![source as u32], vec![0]);
        while self.begins[self.begins.len() - 1] < self.order.len() {
            let frontier = &self.order[self.begins[self.begins.len() - 1]..];
            let below = self.begins.len() as u32;
            let first = |&v: &usize| {
                self.at(v) == UNSEEN
                    && self.level[v].compare_exchange(UNSEEN, below, Relaxed, Relaxed).is_ok()
            };
            let found = |&u: &u32| self.next(u).filter(first).map(|v| v as u32);
            let mut found: Vec<u32> =
                frontier.par_iter().with_min_len(GRAIN).flat_map_iter(found).collect();
            if !self.graph.is_undirected() {
                // Their order is that of sums, and must not depend on who was first.
                found.par_sort_unstable();
            }
            self.begins.push(self.order.len());
            self.order.extend(&found);
            self.count_level(&found, below);
        }
    }

    /// Paths to the nodes of a level, which are `found`: the sum over the level above.
    fn count_level(&mut self, found: &[u32], level: u32) {
        if self.graph.is_undirected() {
            // Every arc is there in both directions.
            let sum = |&v: &u32| {
                let above = self.next(v).filter(|&u| self.at(u) == level - 1);
                above.fold(Paths::NONE, |mut sum, u| {
                    sum.add(self.paths[u]);
                    sum
                })
            };
            let sums: Vec<Paths> = found.par_iter().with_min_len(GRAIN).map(sum).collect();
            found.iter().zip(sums).for_each(|(&v, sum)| self.paths[v as usize] = sum);
            return;
        }
        found.iter().for_each(|&v| self.paths[v as usize] = Paths::NONE);
        let above = self.begins.len() - 2;
        for i in self.begins[above]..self.begins[above + 1] {
            let (u, graph) = (self.order[i], self.graph);
            let paths = self.paths[u as usize];
            for v in neighbors_once(graph, u) {
                if self.at(v) == level {
                    self.paths[v].add(paths);
                }
            }
        }
    }
}

/// A row's columns, which rise, without repetitions.
fn neighbors_once(graph: &Graph, u: u32) -> impl Iterator<Item = usize> {
    let mut last = None;
    let new = move |v: &u32| last.replace(*v) != Some(*v);
    graph.neighbors(u as usize).map(|(v, _)| v).filter(new).map(|v| v as usize)
}
