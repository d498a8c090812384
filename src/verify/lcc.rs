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
    /// Joined pairs of neighbours among all.
    pub transitivity: f64,
    /// Triangles of the graph.
    pub triangles: u64,
}

/// Certifies the coefficients of a symmetric graph, each to 1e-12 of itself, their mean and the transitivity to 1e-9, and the number of triangles.
///
/// Takes what [`super::triangles`] takes, and 16 bytes a node.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id. [`Error::Input`] when the graph is directed.
pub fn lcc(graph: &Graph, found: ClusteringFound) -> Result<()> {
    if !graph.is_undirected() {
        let what =
            "cannot check clustering coefficients of a directed graph; load it with --symmetrize";
        return Err(Error::input(what));
    }
    let n = graph.nodes();
    one_a_node(graph, "lcc", "coefficients", found.coefficients.len())?;
    let joined = marked(graph);
    let pairs = |v: usize| {
        let others: HashSet<u32> =
            graph.neighbors(v).map(|arc| arc.0).filter(|u| *u as usize != v).collect();
        others.len() as f64 * (others.len() as f64 - 1.0) / 2.0
    };
    let pairs: Vec<f64> = (0..n).into_par_iter().map(pairs).collect();
    let right = |v: usize| if pairs[v] > 0.0 { joined[v] as f64 / pairs[v] } else { 0.0 };
    let close = |found: f64, right: f64, limit: f64| (found - right).abs() <= limit * right;
    let wrong = |what: String| Err(Error::Verify(format!("lcc{what}")));
    if let Some(v) = first_by_id(graph, |v| !close(found.coefficients[v], right(v), 1e-12)) {
        let (id, value, right) = (graph.id(v as u32), found.coefficients[v], right(v));
        return wrong(format!(", node {id}: its coefficient is {right}, not {value}"));
    }
    let mean = (0..n).map(right).sum::<f64>() / n.max(1) as f64;
    let all: f64 = pairs.iter().sum();
    let triangles = joined.iter().sum::<u64>() / 3;
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
