//! Checks clustering coefficients: counts the arcs among the neighbours of each node.

use super::triangles::marked;
use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::collections::HashSet;

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct ClusteringFound<'a> {
    /// `[n]`.
    pub coefficients: &'a [f64],
    /// Their mean.
    pub mean: f64,
    /// Arcs among neighbours, of as many as there might be.
    pub transitivity: f64,
    /// Triangles of the graph, whatever the direction of their arcs.
    pub triangles: u64,
}

/// Certifies the coefficients of a graph, each to 1e-12 of itself, their mean and the transitivity to 1e-9, and the number of triangles.
///
/// Takes what [`super::triangles`] takes, and 16 bytes a node; of a directed graph the transpose, and 4 bytes a node and thread.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id.
pub fn lcc(graph: &Graph, found: ClusteringFound) -> Result<()> {
    let n = graph.nodes();
    one_a_node(graph, "lcc", "coefficients", found.coefficients.len())?;
    // Arcs among neighbours, and pairs of neighbours of which either may have an arc to the other; and triangles.
    let (joined, pairs, triangles) = match graph.is_undirected() {
        true => {
            let pairs = |v: usize| {
                let others: HashSet<u32> =
                    graph.neighbors(v).map(|arc| arc.0).filter(|u| *u as usize != v).collect();
                others.len() as f64 * (others.len() as f64 - 1.0)
            };
            let triangles = marked(graph);
            let joined = triangles.iter().map(|count| 2 * count).collect();
            let pairs = (0..n).into_par_iter().map(pairs).collect();
            (joined, pairs, triangles.iter().sum::<u64>() / 3)
        }
        false => directed(graph),
    };
    let (joined, pairs): (Vec<u64>, Vec<f64>) = (joined, pairs);
    let right = |v: usize| if pairs[v] > 0.0 { joined[v] as f64 / pairs[v] } else { 0.0 };
    let close = |found: f64, right: f64, limit: f64| (found - right).abs() <= limit * right;
    let wrong = |what: String| Err(Error::Verify(format!("lcc{what}")));
    if let Some(v) = first_by_id(graph, |v| !close(found.coefficients[v], right(v), 1e-12)) {
        let (id, value, right) = (graph.id(v as u32), found.coefficients[v], right(v));
        return wrong(format!(", node {id}: its coefficient is {right}, not {value}"));
    }
    let mean = (0..n).map(right).sum::<f64>() / n.max(1) as f64;
    let all: f64 = pairs.iter().sum();
    if found.triangles != triangles {
        return wrong(format!(": there are {triangles} triangles, not {}", found.triangles));
    }
    let joined: f64 = joined.iter().map(|count| *count as f64).sum();
    let transitivity = if all > 0.0 { joined / all } else { 0.0 };
    for (what, found, right) in
        [("mean", found.mean, mean), ("transitivity", found.transitivity, transitivity)]
    {
        if !close(found, right, 1e-9) {
            return wrong(format!(": the {what} is {right}, not {found}"));
        }
    }
    Ok(())
}

/// Of a directed graph: of each node the arcs among its neighbours, in whichever direction these are, and how many there might be; and
/// the triangles of the graph.
fn directed(graph: &Graph) -> (Vec<u64>, Vec<f64>, u64) {
    let n = graph.nodes();
    let back = graph.transpose();
    let around = |v: usize| {
        let ends = graph.neighbors(v).chain(back.neighbors(v)).map(|arc| arc.0);
        let mut around: Vec<u32> = ends.filter(|u| *u as usize != v).collect();
        around.sort_unstable();
        around.dedup();
        around
    };
    // Whose neighbour a node is, the last time that it was looked at.
    let marks = || vec![u32::MAX; n];
    let count = |marks: &mut Vec<u32>, v: usize| {
        let around = around(v);
        around.iter().for_each(|u| marks[*u as usize] = v as u32);
        let (mut arcs, mut joined) = (0u64, 0u64);
        for u in &around {
            let other = |arc: &u32| *arc != *u && marks[*arc as usize] == v as u32;
            let mut to: Vec<u32> =
                graph.neighbors(*u as usize).map(|arc| arc.0).filter(other).collect();
            to.dedup();
            let from = back.neighbors(*u as usize).map(|arc| arc.0).filter(other);
            let mut either: Vec<u32> = to.iter().copied().chain(from).collect();
            either.sort_unstable();
            either.dedup();
            (arcs, joined) = (arcs + to.len() as u64, joined + either.len() as u64);
        }
        let many = around.len() as f64;
        (arcs, many * (many - 1.0), joined / 2)
    };
    let counts: Vec<(u64, f64, u64)> = (0..n).into_par_iter().map_init(marks, count).collect();
    let triangles = counts.iter().map(|count| count.2).sum::<u64>() / 3;
    let (joined, pairs) = counts.iter().map(|count| (count.0, count.1)).unzip();
    (joined, pairs, triangles)
}
