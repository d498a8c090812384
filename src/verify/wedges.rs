//! Pairs of nodes with common neighbours, found anew by sorting, for the checkers of what is made of them.

use crate::graph::Graph;
use crate::hash::mix;
use rayon::prelude::*;

/// Wedges that are looked at, at most, of all rows and of one: some seconds on two cores.
const MOST: u64 = 1 << 27;
const OF_ONE: u64 = 1 << 25;

/// A graph, and what leads to its nodes.
pub(super) struct Sets<'a> {
    pub graph: &'a Graph,
    turned: Option<Graph>,
}

/// A node that shares neighbours with another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub node: u32,
    pub count: u64,
    /// The sum of a weight of the neighbours.
    pub sum: f64,
}

impl<'a> Sets<'a> {
    pub fn new(graph: &'a Graph) -> Sets<'a> {
        Sets { graph, turned: (!graph.is_symmetric()).then(|| graph.transpose()) }
    }

    fn set(graph: &Graph, v: u32) -> Vec<u32> {
        let mut set: Vec<u32> =
            graph.neighbors(v as usize).map(|arc| arc.0).filter(|u| *u != v).collect();
        set.sort_unstable();
        set.dedup();
        set
    }

    /// The nodes that arcs from `v` lead to, but for itself, rising.
    pub fn out(&self, v: u32) -> Vec<u32> {
        Self::set(self.graph, v)
    }

    /// The nodes from which arcs lead to `v`.
    pub fn back(&self, v: u32) -> Vec<u32> {
        Self::set(self.turned.as_ref().unwrap_or(self.graph), v)
    }

    /// The numbers of the rows that there is time for, rising.
    pub fn places(&self, nodes: &[u32]) -> Vec<usize> {
        let into = self.turned.as_ref().unwrap_or(self.graph);
        let wedges = |node: &u32| -> u64 {
            self.graph.neighbors(*node as usize).map(|(w, _)| 1 + into.degree(w as usize)).sum()
        };
        let wedges: Vec<u64> = nodes.par_iter().map(wedges).collect();
        let mut places: Vec<usize> = (0..nodes.len()).collect();
        places.sort_unstable_by_key(|place| mix(*place as u64));
        let mut all = 0;
        places.retain(|place| {
            let fits = wedges[*place] <= OF_ONE && all + wedges[*place] <= MOST;
            all += if fits { wedges[*place] } else { 0 };
            fits
        });
        places.sort_unstable();
        places
    }

    /// The nodes that share neighbours with `u`, by rising input id.
    pub fn sharing(&self, u: u32, weight: impl Fn(u32) -> f64) -> Vec<Shared> {
        let mut wedges: Vec<(u32, u32)> = Vec::new();
        for w in self.out(u) {
            let nodes = self.back(w).into_iter().filter(|v| *v != u);
            wedges.extend(nodes.map(|v| (self.graph.rank(v), w)));
        }
        wedges.sort_unstable();
        let of_one = |wedges: &[(u32, u32)]| Shared {
            node: self.graph.ranked(wedges[0].0),
            count: wedges.len() as u64,
            sum: wedges.iter().map(|(_, w)| weight(*w)).sum(),
        };
        wedges.chunk_by(|a, b| a.0 == b.0).map(of_one).collect()
    }
}

/// The rows of each of these nodes in a list, whose rows stand in their order; what is wrong where they do not.
pub(super) fn rows_of(
    graph: &Graph,
    nodes: &[u32],
    [list, others]: [&[u32]; 2],
) -> Result<Vec<std::ops::Range<usize>>, String> {
    if let Some(at) = (0..list.len()).find(|at| others[*at] as usize >= graph.nodes()) {
        return Err(format!("row {} has node number {} of {}", at + 1, others[at], graph.nodes()));
    }
    let (mut rows, mut at) = (Vec::with_capacity(nodes.len()), 0);
    for node in nodes {
        let many = list[at..].iter().take_while(|own| *own == node).count();
        rows.push(at..at + many);
        at += many;
    }
    match list.get(at) {
        None => Ok(rows),
        Some(node) if (*node as usize) < graph.nodes() => {
            Err(format!("row {} is one of node {}, and none comes there", at + 1, graph.id(*node)))
        }
        Some(node) => Err(format!("row {} has node number {node} of {}", at + 1, graph.nodes())),
    }
}
