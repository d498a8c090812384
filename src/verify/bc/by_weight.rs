//! Brandes' algorithm by weight, from one source after another: Dijkstra's search, and then its nodes in their order and back.

use super::search::Paths;
use crate::graph::Graph;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One source after the other (Brandes, J. Math. Sociology 2001, algorithm 1 with a priority queue).
pub(super) struct Search<'a> {
    graph: &'a Graph,
    distance: Vec<f64>,
    paths: Vec<Paths>,
    dependency: Vec<f64>,
    /// Reached nodes, the nearest first.
    order: Vec<u32>,
    /// Raw scores so far.
    pub scores: Vec<f64>,
}

impl Search<'_> {
    pub(super) fn new(graph: &Graph) -> Search<'_> {
        let n = graph.nodes();
        Search {
            graph,
            distance: vec![f64::INFINITY; n],
            paths: vec![Paths::NONE; n],
            dependency: vec![0.0; n],
            order: Vec::new(),
            scores: vec![0.0; n],
        }
    }

    /// Adds what a source contributes by its paths to `targets` (`[n]`), or to all nodes.
    pub(super) fn add(&mut self, source: usize, endpoints: bool, targets: Option<&[bool]>) {
        self.search(source);
        self.paths[source] = Paths::ONE;
        for i in 0..self.order.len() {
            let u = self.order[i] as usize;
            let paths = self.paths[u];
            for v in tight(self.graph, &self.distance, u) {
                self.paths[v].add(paths);
            }
        }
        let end = if endpoints { 1.0 } else { 0.0 };
        self.scores[source] += end * (self.order.len() - 1) as f64;
        for u in self.order.iter().rev().map(|u| *u as usize) {
            let paths = self.paths[u];
            let through = |v: usize| {
                let ends = targets.is_none_or(|targets| targets[v]);
                paths.share(self.paths[v]) * (f64::from(u8::from(ends)) + self.dependency[v])
            };
            self.dependency[u] = tight(self.graph, &self.distance, u).map(through).sum();
            if u != source {
                self.scores[u] += self.dependency[u] + end;
            }
        }
    }

    /// Distances, each the sum of its path's weights from the source on.
    fn search(&mut self, source: usize) {
        for v in self.order.drain(..) {
            self.distance[v as usize] = f64::INFINITY;
            self.paths[v as usize] = Paths::NONE;
        }
        self.distance[source] = 0.0;
        // No distance is below 0, so bits are in the order of numbers.
        let mut heap = BinaryHeap::from([Reverse((0, source as u32))]);
        while let Some(Reverse((bits, u))) = heap.pop() {
            let from = f64::from_bits(bits);
            if from > self.distance[u as usize] {
                continue;
            }
            self.order.push(u);
            for (v, weight) in self.graph.neighbors(u as usize) {
                let to = from + f64::from(weight);
                if to < self.distance[v as usize] {
                    self.distance[v as usize] = to;
                    heap.push(Reverse((to.to_bits(), v)));
                }
            }
        }
    }
}

/// Where shortest paths go on from a node, each once.
fn tight<'a>(graph: &'a Graph, distance: &'a [f64], u: usize) -> impl Iterator<Item = usize> + 'a {
    let mut last = None;
    let on = move |(v, weight): &(u32, f32)| {
        let is_tight =
            *v as usize != u && distance[u] + f64::from(*weight) == distance[*v as usize];
        is_tight && last.replace(*v) != Some(*v)
    };
    graph.neighbors(u).filter(on).map(|(v, _)| v as usize)
}

/// Whether an arc from a node to another weighs 0.
pub(super) fn some_arc_is_free(graph: &Graph) -> bool {
    let free = |u: usize| graph.neighbors(u).any(|(v, weight)| weight == 0.0 && v as usize != u);
    (0..graph.nodes()).into_par_iter().any(free)
}

/// Whether every arc has its reverse, and the lightest of one pair weighs what that of the other does.
pub(super) fn goes_both_ways(graph: &Graph) -> bool {
    let lightest = |u: usize, v: u32| {
        let begin = graph.offsets()[u] as usize;
        let row = &graph.columns()[begin..graph.offsets()[u + 1] as usize];
        let at = row.partition_point(|column| *column < v);
        (row.get(at) == Some(&v))
            .then(|| graph.weights().map_or(1.0, |weights| weights[begin + at]))
    };
    let both = |u: usize| {
        let mut last = None;
        let mut first = graph.neighbors(u).filter(|arc| last.replace(arc.0) != Some(arc.0));
        first.all(|(v, weight)| lightest(v as usize, u as u32) == Some(weight))
    };
    (0..graph.nodes()).into_par_iter().all(both)
}
