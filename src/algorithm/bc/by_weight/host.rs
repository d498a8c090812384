//! On the host: a source a thread, by Dijkstra's search, and then its nodes in their order and back.

use super::Question;
use super::tight::{MOST_PATHS, TOO_FAR, TOO_MANY};
use crate::graph::Graph;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Nodes after which a search gives a sign of life.
const OFTEN: usize = 1 << 14;

/// What all sources add to.
pub(super) struct Sums<'a> {
    /// `[2, n]` scores on either grid, the bits of f64.
    pub scores: &'a [AtomicU64],
    pub reached: &'a [AtomicU32],
    pub bad: &'a [AtomicU32],
}

/// What a thread keeps between sources: `[n]` each.
struct Space {
    far: Vec<f64>,
    paths: Vec<f64>,
    /// What a path to the node has in those to targets.
    share: Vec<f64>,
    /// Arcs of the longest of the shortest paths.
    depth: Vec<u32>,
    /// Nodes, the nearest first.
    order: Vec<u32>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Space {
    fn new(nodes: usize) -> Space {
        Space {
            far: vec![f64::INFINITY; nodes],
            paths: vec![0.0; nodes],
            share: vec![0.0; nodes],
            depth: vec![0; nodes],
            order: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// Distances, each the sum of its path's weights from the source on.
    fn search(&mut self, graph: &Graph, source: u32, beat: &dyn Fn()) {
        let Space { far, order, queue, .. } = self;
        far[source as usize] = 0.0;
        // No distance is below 0, so bits are in the order of numbers.
        queue.push(Reverse((0, source)));
        while let Some(Reverse((bits, u))) = queue.pop() {
            let from = f64::from_bits(bits);
            if from > far[u as usize] {
                continue;
            }
            if order.len().is_multiple_of(OFTEN) {
                beat();
            }
            order.push(u);
            for (v, weight) in graph.neighbors(u as usize) {
                let to = from + f64::from(weight);
                if to < far[v as usize] {
                    far[v as usize] = to;
                    queue.push(Reverse((to.to_bits(), v)));
                }
            }
        }
    }

    /// Where tight arcs lead from a node.
    fn next(&self, graph: &Graph, u: usize) -> impl Iterator<Item = usize> {
        let tight = move |(v, weight): &(u32, f32)| {
            self.far[u] + f64::from(*weight) == self.far[*v as usize]
        };
        graph.neighbors(u).filter(tight).map(|(v, _)| v as usize)
    }

    /// Counts paths; the most that a node has, and the arcs of the longest.
    fn count(&mut self, graph: &Graph, source: u32, beat: &dyn Fn()) -> (f64, u32) {
        self.paths[source as usize] = 1.0;
        let (mut most, mut deepest) = (0.0, 0);
        let (mut paths, mut depth) =
            (std::mem::take(&mut self.paths), std::mem::take(&mut self.depth));
        for (at, u) in self.order.iter().map(|u| *u as usize).enumerate() {
            if at.is_multiple_of(OFTEN) {
                beat();
            }
            (most, deepest) = (f64::max(most, paths[u]), deepest.max(depth[u]));
            for v in self.next(graph, u) {
                paths[v] += paths[u];
                depth[v] = depth[v].max(depth[u] + 1);
            }
        }
        (self.paths, self.depth) = (paths, depth);
        (most, deepest)
    }

    /// Adds what the source gives to the scores.
    fn settle(
        &mut self,
        (question, is_target): (&Question, &[u32]),
        source: u32,
        sums: &Sums,
        beat: &dyn Fn(),
    ) {
        let (graph, nodes) = (question.graph.graph(), self.far.len());
        let mut share = std::mem::take(&mut self.share);
        for (at, u) in self.order.iter().rev().map(|u| *u as usize).enumerate() {
            if at.is_multiple_of(OFTEN) {
                beat();
            }
            let beyond: f64 = self.next(graph, u).map(|v| share[v]).sum();
            let dependency = self.paths[u] * beyond;
            let gain = match (u == source as usize, question.endpoints) {
                (true, false) => 0.0,
                (true, true) => dependency.round(),
                (false, false) => dependency,
                (false, true) => dependency + 1.0,
            };
            let [coarse, fine] = question.grids.split(gain);
            add(&sums.scores[u], coarse);
            add(&sums.scores[nodes + u], fine);
            sums.reached[u].fetch_add(1, Relaxed);
            let ends = if question.targets.is_none() { 1.0 } else { f64::from(is_target[u]) };
            share[u] = (ends + dependency) / self.paths[u];
        }
        self.share = share;
    }

    /// As before the search.
    fn clear(&mut self) {
        for u in self.order.drain(..).map(|u| u as usize) {
            self.far[u] = f64::INFINITY;
            (self.paths[u], self.share[u], self.depth[u]) = (0.0, 0.0, 0);
        }
    }
}

/// Sums on a grid are exact, so that no order changes them.
fn add(cell: &AtomicU64, gain: f64) {
    if gain != 0.0 {
        let sum = |bits| Some((f64::from_bits(bits) + gain).to_bits());
        let _ = cell.fetch_update(Relaxed, Relaxed, sum);
    }
}

/// Adds what the sources at these positions give; the arcs of the longest of all shortest paths. `is_target`, `[n]`, is 1 for a target,
/// where not all are. `beat` is called often.
pub(super) fn add_all(
    question: &Question,
    positions: &[usize],
    is_target: &[u32],
    sums: &Sums,
    beat: &(dyn Fn() + Sync),
) -> u64 {
    let graph = question.graph.graph();
    let all = positions.par_iter().with_max_len(1);
    let one = |space: &mut Space, position: &usize| {
        let source = question.sources[*position];
        space.search(graph, source, beat);
        let farthest = space.order.last().map_or(0.0, |v| space.far[*v as usize]);
        let (most, deepest) = space.count(graph, source, beat);
        let bad = |why: u64| {
            sums.bad[why as usize].fetch_min(*position as u32, Relaxed);
        };
        if farthest >= question.limit {
            bad(TOO_FAR);
        }
        if most > MOST_PATHS {
            bad(TOO_MANY);
        } else {
            space.settle((question, is_target), source, sums, beat);
        }
        space.clear();
        deepest
    };
    let deepest = all.map_init(|| Space::new(graph.nodes()), one).max();
    deepest.unwrap_or(0).into()
}
