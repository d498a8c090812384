//! Checks closeness, harmonic centrality and eccentricity: searches from the nodes that they are of.

use super::one_a_node;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::mix;
use rayon::prelude::*;

/// Nodes and arcs that are looked at, at most: some seconds on two cores.
const MOST: u64 = 1 << 32;
/// Nodes that are looked at, at least.
const LEAST: usize = 16;

/// Values of each node, `[n]`.
#[derive(Debug, Clone, Copy)]
pub struct ClosenessFound<'a> {
    /// |R| / (sum of distances) * |R| / |S|, R the sources that reach the node, S those that are not the node.
    pub closeness: &'a [f64],
    /// Sum of 1 / distance * (n - 1) / |S|.
    pub harmonic: &'a [f64],
    /// The largest distance.
    pub eccentricity: &'a [u32],
    /// |R|.
    pub reached: &'a [u32],
}

/// Certifies what was found of distances in arcs from `sources` (distinct) to nodes, or with `out` to the sources. Closeness is right
/// to 1e-12 of itself, harmonic centrality to 1e-12 + n 2^-62 times the eccentricity. Returns how many nodes it has looked at: all, if
/// that takes at most 2^32 looks at nodes and arcs, else a random choice of them.
///
/// Takes 5 bytes a node and thread, and the reverse of a directed graph.
///
/// # Errors
/// [`Error::Verify`] names a wrong node: the first by input id of those that were looked at.
pub fn closeness(
    graph: &Graph,
    sources: &[u32],
    out: bool,
    found: ClosenessFound,
) -> Result<usize> {
    let n = graph.nodes();
    one_a_node(graph, "closeness", "values", found.closeness.len())?;
    one_a_node(graph, "closeness", "values", found.harmonic.len())?;
    one_a_node(graph, "closeness", "values", found.eccentricity.len())?;
    one_a_node(graph, "closeness", "values", found.reached.len())?;
    let reverse = (!out && !graph.is_symmetric()).then(|| graph.transpose());
    let rows = reverse.as_ref().unwrap_or(graph);
    let mut is_source = vec![false; n];
    sources.iter().for_each(|source| is_source[*source as usize] = true);

    let most = ((MOST / (n as u64 + graph.arcs()).max(1)) as usize).max(LEAST);
    let mut ranks: Vec<u32> = (0..n as u32).collect();
    if most < n {
        ranks.sort_unstable_by_key(|rank| mix(u64::from(*rank)));
        ranks.truncate(most);
        ranks.sort_unstable();
    }
    let looked = ranks.len();
    let search = || (vec![false; n], Vec::new());
    let wrong = ranks.into_par_iter().map_init(search, |space, rank| {
        let v = graph.ranked(rank);
        let levels = sources_by_level(rows, &is_source, v, space);
        let others = sources.len() as u64 - u64::from(is_source[v as usize]);
        judged(graph, v as usize, &levels, others, &found)
    });
    match wrong.find_first(Option::is_some).flatten() {
        Some(what) => Err(Error::Verify(what)),
        None => Ok(looked),
    }
}

/// How many sources are at each distance from `v`, along `rows`; itself left out.
fn sources_by_level(
    rows: &Graph,
    is_source: &[bool],
    v: u32,
    (seen, order): &mut (Vec<bool>, Vec<u32>),
) -> Vec<u64> {
    order.clear();
    order.push(v);
    seen[v as usize] = true;
    let (mut levels, mut begin) = (vec![0], 0);
    while begin < order.len() {
        let end = order.len();
        for at in begin..end {
            for (u, _) in rows.neighbors(order[at] as usize) {
                if !std::mem::replace(&mut seen[u as usize], true) {
                    order.push(u);
                }
            }
        }
        levels.push(order[end..].iter().filter(|u| is_source[**u as usize]).count() as u64);
        begin = end;
    }
    order.iter().for_each(|u| seen[*u as usize] = false);
    levels
}

/// What is wrong with the values of node `v`, if anything is.
fn judged(
    graph: &Graph,
    v: usize,
    levels: &[u64],
    others: u64,
    found: &ClosenessFound,
) -> Option<String> {
    let n = graph.nodes() as f64;
    let reached: u64 = levels.iter().sum();
    let farthest = levels.iter().rposition(|count| *count > 0).unwrap_or(0);
    let far: u64 = levels.iter().zip(0u64..).map(|(count, level)| count * level).sum();
    let of = |share: f64| share / others.max(1) as f64;
    let closeness = if far == 0 { 0.0 } else { reached as f64 / far as f64 * of(reached as f64) };
    let inverse = levels.iter().enumerate().skip(1).rev();
    let harmonic =
        of(inverse.map(|(level, count)| *count as f64 / level as f64).sum::<f64>() * (n - 1.0));
    let units = farthest as f64 * n * 0.5f64.powi(62);
    let near = |found: f64, right: f64, share: f64| (found - right).abs() <= share * right;
    let told = [
        (
            u64::from(found.reached[v]) != reached,
            "reached",
            f64::from(found.reached[v]),
            reached as f64,
        ),
        (
            found.eccentricity[v] as usize != farthest,
            "eccentricity",
            f64::from(found.eccentricity[v]),
            farthest as f64,
        ),
        (!near(found.closeness[v], closeness, 1e-12), "closeness", found.closeness[v], closeness),
        (
            !near(found.harmonic[v], harmonic, 1e-12 + units),
            "harmonic",
            found.harmonic[v],
            harmonic,
        ),
    ];
    let (_, what, value, right) = told.into_iter().find(|(wrong, ..)| *wrong)?;
    Some(format!("closeness, node {}: {what} is {value}, and is {right}", graph.id(v as u32)))
}
