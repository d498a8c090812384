//! Checks Katz centrality: every value against the equation that it solves.

mod gpu;

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// Certifies that `values` (`[n]`) solve `x[v] = 1 + alpha (sum over arcs u -> v of x[u])`, each but for a residual of at most
/// `limit` times itself and the rounding of its sum in f64. Returns the largest such share.
///
/// Takes 8 bytes a node, and the reverse of a directed graph.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id.
pub fn katz(graph: &Graph, values: &[f64], alpha: f64, limit: f64) -> Result<f64> {
    one_a_node(graph, "katz", "values", values.len())?;
    let reverse = (!graph.is_symmetric()).then(|| graph.transpose());
    let into = reverse.as_ref().unwrap_or(graph);
    let arriving =
        |v: usize| (into.neighbors(v).map(|(u, _)| values[u as usize]).sum(), into.degree(v));
    judged(graph, values, alpha, limit, arriving)
}

/// [`katz`] by the sum of what arrives at each node, and its in-degree.
fn judged(
    graph: &Graph,
    values: &[f64],
    alpha: f64,
    limit: f64,
    arriving: impl Fn(usize) -> (f64, u64) + Sync,
) -> Result<f64> {
    let residual = |v: usize| {
        let (sum, degree) = arriving(v);
        let right = 1.0 + alpha * sum;
        // Every addition may be off by a half unit in the last place, here and in what is checked.
        let rounding = f64::EPSILON * (degree + 2) as f64;
        let share = (values[v] - right).abs() / values[v].abs().max(f64::MIN_POSITIVE);
        (share, right, share.is_finite() && share <= limit + rounding)
    };
    if let Some(v) = first_by_id(graph, |v| !residual(v).2) {
        let (share, right, _) = residual(v);
        return Err(Error::Verify(format!(
            "katz, node {}: {} stands for {right} by its neighbours, {share:.1e} off where {limit:.1e} is allowed",
            graph.id(v as u32),
            values[v]
        )));
    }
    Ok((0..values.len()).into_par_iter().map(|v| residual(v).0).reduce(|| 0.0, f64::max))
}
