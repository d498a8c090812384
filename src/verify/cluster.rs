//! Checks clusters: counts their arcs, pushes again, and sweeps.

use super::pushing::{PushQuestion, places, vector};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::collections::HashSet;

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct ClustersFound<'a> {
    /// `[sources]` nodes of each cluster.
    pub sizes: &'a [u64],
    /// `[sources]` arcs out of its nodes.
    pub volumes: &'a [u64],
    /// `[sources]` those that leave it.
    pub cuts: &'a [u64],
    /// `[sources]` conductance.
    pub conductances: &'a [f64],
    /// `[sum of sizes]` sources of rows, in the order of the question.
    pub source: &'a [u32],
    /// `[sum of sizes]` nodes, in the order of the sweep.
    pub node: &'a [u32],
}

/// Certifies the arcs and the conductance of every cluster of a symmetric graph, and that it is the first set of least conductance that
/// a sweep finds. Returns how many sources were swept over: all, if there is time for them.
///
/// Takes some 50 bytes and more for each node that a source reaches.
///
/// # Errors
/// [`Error::Verify`] names the first wrong source, the first wrong number or node of it, and the right one.
pub fn cluster(graph: &Graph, question: PushQuestion, found: ClustersFound) -> Result<usize> {
    let wrong = |what: String| Err(Error::Verify(format!("cluster: {what}")));
    let count = question.sources.len();
    let ClustersFound { sizes, volumes, cuts, conductances, source, node } = found;
    if [sizes.len(), volumes.len(), cuts.len(), conductances.len()] != [count; 4] {
        return wrong(format!("numbers of {} clusters for {count} sources", sizes.len()));
    }
    let (mut rows, mut at) = (Vec::with_capacity(count), 0usize);
    for size in sizes {
        let end = at.saturating_add(*size as usize);
        rows.push(at..end);
        at = end;
    }
    if node.len() != at || source.len() != at {
        return wrong(format!("{} nodes in clusters of {at} together", node.len()));
    }
    let all = question.sources.iter().zip(&rows);
    let other = all.flat_map(|(own, rows)| rows.clone().map(move |at| (at, *own)));
    if let Some((at, own)) = other.into_iter().find(|(at, own)| source[*at] != *own) {
        let (found, own) = (graph.id(source[at]), graph.id(own));
        return wrong(format!("row {} has source {found}, and should have {own}", at + 1));
    }
    if let Some(at) = node.iter().position(|v| *v as usize >= graph.nodes()) {
        return wrong(format!("row {} has node number {} of {}", at + 1, node[at], graph.nodes()));
    }
    let of = |place: usize| format!("source {}: ", graph.id(question.sources[place]));
    let counted = (0..count).into_par_iter().find_map_first(|place| {
        let own = &node[rows[place].clone()];
        let inside: HashSet<u32> = own.iter().copied().collect();
        if inside.len() < own.len() {
            return Some(of(place) + "a node is in its cluster twice");
        }
        let volume: u64 = own.iter().map(|v| graph.degree(*v as usize)).sum();
        let leaving = own.iter().flat_map(|v| graph.neighbors(*v as usize));
        let cut = leaving.filter(|(to, _)| !inside.contains(to)).count() as u64;
        let right = quotient(cut, volume, graph.arcs());
        let right = right.0 as f64 / right.1 as f64;
        if volumes[place] != volume {
            Some(format!("{}volume {}, and is {volume}", of(place), volumes[place]))
        } else if cuts[place] != cut {
            Some(format!("{}cut {}, and is {cut}", of(place), cuts[place]))
        } else if conductances[place].to_bits() != right.to_bits() {
            Some(format!("{}conductance {:e}, and is {right:e}", of(place), conductances[place]))
        } else {
            None
        }
    });
    if let Some(what) = counted {
        return wrong(what);
    }
    let places = places(graph, &question);
    let swept = places.par_iter().find_map_first(|place| {
        let right = sweep(graph, question.sources[*place], &question);
        let own = &node[rows[*place].clone()];
        let at = (0..own.len().max(right.len())).find(|at| own.get(*at) != right.get(*at))?;
        let text = |nodes: &[u32]| match nodes.get(at) {
            Some(node) => format!("node {}", graph.id(*node)),
            None => "no more".into(),
        };
        let (own, right) = (text(own), text(&right));
        Some(format!("{}number {} is {own}, and should be {right}", of(*place), at + 1))
    });
    match swept {
        Some(what) => wrong(what),
        None => Ok(places.len()),
    }
}

/// The conductance of a set as a fraction.
fn quotient(cut: u64, volume: u64, arcs: u64) -> (u128, u128) {
    let smaller = if 2 * u128::from(volume) <= arcs.into() { volume } else { arcs - volume };
    if smaller == 0 { (1, 1) } else { (cut.into(), smaller.into()) }
}

/// The cluster of a source, in the order of the sweep.
fn sweep(graph: &Graph, source: u32, question: &PushQuestion) -> Vec<u32> {
    let values = vector(graph, source, question);
    let mut nodes: Vec<(u32, u128)> = values.into_iter().filter(|(_, units)| *units > 0).collect();
    let degree = |v: u32| graph.degree(v as usize);
    nodes.sort_by_key(|(node, _)| graph.rank(*node));
    // Stable: of equal ones the lowest id stays first.
    nodes.sort_by(|(a, p), (b, q)| (q * u128::from(degree(*a))).cmp(&(p * u128::from(degree(*b)))));
    let mut inside = HashSet::new();
    let (mut volume, mut cut, mut least, mut size) = (0, 0, None, 0);
    for (at, (node, _)) in nodes.iter().enumerate() {
        inside.insert(*node);
        volume += degree(*node);
        for (to, _) in graph.neighbors(*node as usize).filter(|(to, _)| to != node) {
            // An arc out of the set, or one from it to this node that leads out no more.
            if inside.contains(&to) { cut -= 1 } else { cut += 1 }
        }
        let own = quotient(cut, volume, graph.arcs());
        if least.is_none_or(|(a, b)| own.0 * b < a * own.1) {
            (least, size) = (Some(own), at + 1);
        }
    }
    nodes.truncate(size);
    nodes.into_iter().map(|(node, _)| node).collect()
}
