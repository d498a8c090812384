//! What the checks of communities share: adds up their modularity, and looks for two that are better as one.

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::collections::HashMap;

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct ModulesFound<'a> {
    /// `[n]` the node of the lowest id in the community of each.
    pub communities: &'a [u32],
    /// The modularity of each level, the answer's last; none where every node is alone.
    pub levels: &'a [f64],
}

/// How far each of the two terms of the modularity may be off; two communities may gain that as one, and a level may lose it.
const TOLERANCE: f64 = 1e-6;

/// Certifies that communities have the modularity that is said, in f64, that no two of them gain as one, that no level has lost, all to
/// 1e-6 of the modularity's terms, and that each is named by its lowest id. `also` looks at communities that are. Returns the modularity.
///
/// Takes 24 bytes a node, and 24 for each pair of communities with arcs between them.
pub(super) fn modules(
    workload: &str,
    graph: &Graph,
    found: ModulesFound,
    resolution: f64,
    also: impl Fn() -> Result<()>,
) -> Result<f64> {
    if !graph.is_symmetric() {
        return Err(Error::input("cannot check communities of a graph that is not symmetric"));
    }
    let n = graph.nodes();
    let of = found.communities;
    one_a_node(graph, workload, "communities", of.len())?;
    let wrong = |what: String| Err(Error::Verify(format!("{workload}{what}")));
    let outside = |v: usize| {
        let named = of[v] as usize;
        named >= n || of[named] != of[v] || graph.rank(of[v]) > graph.rank(v as u32)
    };
    if let Some(v) = first_by_id(graph, outside) {
        let id = graph.id(v as u32);
        return wrong(format!(", node {id}: its community is not named by its lowest id"));
    }
    also()?;
    // A self loop has both ends at its node.
    let weight =
        |u: usize, (v, w): (u32, f32)| f64::from(w) * if u == v as usize { 2.0 } else { 1.0 };
    let weights: Vec<f64> = (0..n)
        .into_par_iter()
        .map(|u| graph.neighbors(u).map(|arc| weight(u, arc)).sum())
        .collect();
    let total: f64 = weights.iter().sum();
    let mut of_community = vec![0.0; n];
    for v in 0..n {
        of_community[of[v] as usize] += weights[v];
    }
    let (mut inside, mut between) = (0.0, HashMap::<(u32, u32), f64>::new());
    for u in 0..n {
        for (v, w) in graph.neighbors(u) {
            let (from, to) = (of[u], of[v as usize]);
            match from == to {
                true => inside += weight(u, (v, w)),
                false => *between.entry((from, to)).or_default() += f64::from(w),
            }
        }
    }
    if total == 0.0 {
        return match found.levels {
            [] => Ok(0.0),
            _ => wrong(": arcs weigh nothing, and there is a level".into()),
        };
    }
    let squares: f64 = of_community.iter().map(|weight| (weight / total).powi(2)).sum();
    let modularity = inside / total - resolution * squares;
    let said = found.levels.last().copied().unwrap_or(modularity);
    // Both terms are rounded.
    let limit = TOLERANCE * (1.0 + resolution * squares);
    if said.is_nan() || (said - modularity).abs() > limit {
        return wrong(format!(": the modularity is {modularity}, not {said}"));
    }
    if let Some(pair) = found.levels.windows(2).find(|pair| pair[1] < pair[0] - limit) {
        return wrong(format!(": a level of modularity {} ends with {}", pair[0], pair[1]));
    }
    let gain = |((a, b), arcs): (&(u32, u32), &f64)| {
        let product = of_community[*a as usize] / total * of_community[*b as usize];
        (2.0 * (arcs - resolution * product) / total, (*a, *b))
    };
    let gains = between.iter().map(gain);
    let best = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match best.filter(|best| best.0 > limit) {
        None => Ok(modularity),
        Some((gain, (a, b))) => {
            let [a, b] = [a, b].map(|node| graph.id(node));
            wrong(format!(": communities {a} and {b} gain {gain} as one"))
        }
    }
}
