//! Checks minimum spanning forests: sorts all edges, and takes those that join two trees.

use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// What was found: edges by rising (lower input id, higher input id).
#[derive(Debug, Clone, Copy)]
pub struct ForestFound<'a> {
    /// `[edges]` the end of the lower input id.
    pub sources: &'a [u32],
    /// `[edges]` the end of the higher one.
    pub targets: &'a [u32],
    /// `[edges]` what each weighs.
    pub weights: &'a [f32],
    /// Trees, those of one node included.
    pub trees: u64,
    /// The sum of the weights, added in the order of the edges.
    pub total: f64,
}

/// An edge by the ranks of its ends, the lower first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    /// Of the weight; those of numbers from 0 on are in their order.
    bits: u32,
    ends: (u32, u32),
}

impl Edge {
    fn weight(&self) -> f32 {
        f32::from_bits(self.bits)
    }
}

/// Sets that become one.
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Sets {
        Sets((0..count as u32).collect())
    }

    fn root(&mut self, mut v: u32) -> u32 {
        while self.0[v as usize] != v {
            let above = self.0[self.0[v as usize] as usize];
            self.0[v as usize] = above;
            v = above;
        }
        v
    }

    /// Makes one set of those of a and b; whether they were two.
    fn join(&mut self, (a, b): (u32, u32)) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a != b
    }
}

/// Certifies that these edges are the minimum spanning forest of a symmetric graph, of edges of equal weight preferring the one
/// whose (lower input id, higher input id) comes first, and that trees and the total weight are those of the edges.
///
/// Takes 24 bytes an edge of the graph.
///
/// # Errors
/// [`Error::Verify`] names the first edge that closes a cycle, that the graph does not have, that weighs something else, that does
/// not belong to the forest, or that it lacks. [`Error::Input`] when the graph is not symmetric with its weights;
/// [`Error::Machine`] where the edges of the graph do not fit memory.
pub fn mst(graph: &Graph, found: ForestFound) -> Result<()> {
    if !graph.is_symmetric() {
        return Err(Error::input(
            "cannot check a spanning forest of a graph whose arcs differ from their reverses; load it with --symmetrize",
        ));
    }
    let wrong = |what: String| Err(Error::Verify(format!("mst: {what}")));
    let (n, count) = (graph.nodes(), found.weights.len());
    let lengths = [found.sources.len(), found.targets.len()];
    if lengths != [count; 2] {
        let [sources, targets] = lengths;
        return wrong(format!("{sources} sources and {targets} targets of {count} weights"));
    }
    let mut edges = Vec::with_capacity(count);
    for (i, weight) in found.weights.iter().enumerate() {
        let nodes = [found.sources[i], found.targets[i]];
        if let Some(node) = nodes.iter().find(|v| **v as usize >= n) {
            return wrong(format!("row {i} has node {node} of a graph of {n}"));
        }
        let [low, high] = nodes.map(|v| graph.rank(v));
        edges.push(Edge { ends: (low, high), bits: weight.to_bits() });
    }
    if let Some(edge) = edges.iter().find(|edge| edge.ends.0 >= edge.ends.1) {
        return wrong(format!("edge {} has not its lower end first", named(graph, edge.ends)));
    }
    if let Some(pair) = edges.windows(2).find(|pair| pair[0].ends >= pair[1].ends) {
        let [before, edge] = [pair[0], pair[1]].map(|edge| named(graph, edge.ends));
        return wrong(format!("edge {edge} stands behind {before}; they are to rise"));
    }
    let mut joined = Sets::new(n);
    if let Some(edge) = edges.iter().find(|edge| !joined.join(edge.ends)) {
        return wrong(format!(
            "this is no forest, edge {} closes a cycle",
            named(graph, edge.ends)
        ));
    }
    let right = forest(graph)?;
    if edges != right {
        return wrong(difference(graph, (&edges, joined), &right));
    }
    let trees = (n - count) as u64;
    if found.trees != trees {
        return wrong(format!("{count} edges leave {trees} trees, not {}", found.trees));
    }
    let total = right.iter().fold(0.0, |sum, edge| sum + f64::from(edge.weight()));
    match found.total.to_bits() == total.to_bits() {
        true => Ok(()),
        false => wrong(format!("the edges weigh {total} together, not {}", found.total)),
    }
}

/// The ids of two ranks.
fn named(graph: &Graph, (a, b): (u32, u32)) -> String {
    let [a, b] = [a, b].map(|rank| graph.id(graph.ranked(rank)));
    format!("{a} - {b}")
}

/// What is wrong with the edges of a forest, whose trees are `joined`.
fn difference(graph: &Graph, (edges, mut joined): (&[Edge], Sets), right: &[Edge]) -> String {
    if let Some(edge) = edges.iter().find(|edge| !is_edge(graph, edge.ends)) {
        return format!("the graph has no edge {}", named(graph, edge.ends));
    }
    let same = edges.iter().zip(right).take_while(|(edge, right)| edge == right).count();
    match (edges.get(same), right.get(same)) {
        (Some(edge), Some(right)) if edge.ends == right.ends => {
            let (found, weight) = (edge.weight(), right.weight());
            format!("edge {} weighs {weight}, not {found}", named(graph, edge.ends))
        }
        (Some(edge), right) if right.is_none_or(|right| edge.ends < right.ends) => {
            let edge = named(graph, edge.ends);
            format!("edge {edge} does not belong to the forest: lesser edges join its ends")
        }
        (_, Some(lacking)) if joined.root(lacking.ends.0) != joined.root(lacking.ends.1) => {
            let lacking = named(graph, lacking.ends);
            format!(
                "the forest does not span the graph: edge {lacking}, or another between its trees, is missing"
            )
        }
        (_, lacking) => {
            let lacking = lacking.map_or_else(String::new, |edge| named(graph, edge.ends));
            format!("edge {lacking} is missing: greater edges join its ends")
        }
    }
}

/// Whether some arc joins nodes of these ranks.
fn is_edge(graph: &Graph, (low, high): (u32, u32)) -> bool {
    let (u, v) = (graph.ranked(low), graph.ranked(high));
    let [shorter, other] = match graph.degree(u as usize) <= graph.degree(v as usize) {
        true => [u, v],
        false => [v, u],
    };
    graph.neighbors(shorter as usize).any(|arc| arc.0 == other)
}

/// Kruskal's forest, by rising ends.
fn forest(graph: &Graph) -> Result<Vec<Edge>> {
    let n = graph.nodes();
    // Edges as threads find them, and all together.
    let arcs = size_of::<Edge>() as u64 * graph.arcs();
    crate::memory::room("edges to check a spanning forest", arcs + 8 * n as u64)?;
    let upward = |u: usize| {
        let low = graph.rank(u as u32);
        let arcs = graph.neighbors(u).map(move |(v, weight)| (low, graph.rank(v), weight));
        let upward = arcs.filter(|(low, high, _)| low < high);
        upward.map(|(low, high, weight)| Edge { bits: weight.to_bits(), ends: (low, high) })
    };
    let mut edges: Vec<Edge> = (0..n).into_par_iter().flat_map_iter(upward).collect();
    edges.par_sort_unstable();
    let mut joined = Sets::new(n);
    edges.retain(|edge| joined.join(edge.ends));
    edges.par_sort_unstable_by_key(|edge| edge.ends);
    Ok(edges)
}
