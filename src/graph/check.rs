//! Checks at the door: what a CSR from outside must satisfy before anything indexes with it.

use super::{Graph, MAX_NODES};
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Refuses 0 nodes and more than [`MAX_NODES`].
pub(crate) fn node_count(nodes: u64) -> Result<()> {
    if nodes == 0 {
        return Err(Error::input("the graph is empty: it has no nodes; give at least one arc"));
    }
    if nodes > MAX_NODES {
        return Err(Error::input(format!(
            "the graph has {nodes} nodes and ids are u32: at most {MAX_NODES}; renumber the nodes \
             without gaps"
        )));
    }
    Ok(())
}

/// Refuses, besides, more nodes than there is memory to index: one huge count or id in a small file asks
/// for gigabytes of offsets. Find out here, not by an abort or by the system's killer.
pub(crate) fn room(nodes: u64) -> Result<()> {
    node_count(nodes)?;
    if !crate::memory::has((nodes + 1) * 8) {
        return Err(Error::machine(format!(
            "{nodes} nodes need {:.1} GB for row offsets alone, and this machine has not got them; \
             renumber the nodes without gaps",
            nodes as f64 * 8e-9
        )));
    }
    Ok(())
}

/// Offsets start at 0, never fall, and end at the arc count.
pub(crate) fn offsets(offsets: &[u64], arcs: usize) -> Result<()> {
    node_count(offsets.len().saturating_sub(1) as u64)?;
    if offsets[0] != 0 {
        return Err(Error::input(format!(
            "row offsets start at {} and not at 0; write the CSR anew",
            offsets[0]
        )));
    }
    if let Some(v) = offsets.par_windows(2).position_first(|pair| pair[0] > pair[1]) {
        return Err(Error::input(format!(
            "row offsets fall from {} to {} at node {v}; write the CSR anew: they must never fall",
            offsets[v],
            offsets[v + 1]
        )));
    }
    let last = offsets[offsets.len() - 1];
    if last != arcs as u64 {
        return Err(Error::input(format!(
            "row offsets end at {last} and there are {arcs} arcs; write the CSR anew with equal counts"
        )));
    }
    Ok(())
}

/// Every id is below `nodes`.
pub(crate) fn ids(ids: &[u32], nodes: usize, what: &str) -> Result<()> {
    match ids.par_iter().position_first(|&id| id as usize >= nodes) {
        None => Ok(()),
        Some(arc) => Err(Error::input(format!(
            "arc {arc} has {what} {} and the graph has {nodes} nodes; ids run from 0 to {}",
            ids[arc],
            nodes - 1
        ))),
    }
}

/// Arrays that belong together are equally long.
pub(super) fn same_length(arcs: usize, length: usize, what: &str) -> Result<()> {
    if arcs == length {
        return Ok(());
    }
    Err(Error::input(format!("there are {arcs} arcs and {length} {what}; give one for each arc")))
}

/// Weights are finite and >= 0; -0 becomes 0.
pub(super) fn weights(weights: &mut [f32]) -> Result<()> {
    if let Some(arc) = weights.par_iter().position_first(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(Error::input(format!(
            "arc {arc} has weight {}; weights must be finite and >= 0",
            weights[arc]
        )));
    }
    weights.par_iter_mut().filter(|w| **w == 0.0).for_each(|w| *w = 0.0);
    Ok(())
}

/// What a sweep over the rows finds.
pub(super) struct Found {
    /// Whether every row is sorted by (column, weight).
    pub sorted: bool,
    /// Arcs (v, v).
    pub self_loops: u64,
    /// Arcs beyond the first of a pair, provided that `sorted`.
    pub duplicates: u64,
}

/// Looks at every row once, in parallel.
pub(super) fn rows(graph: &Graph) -> Found {
    let none = || Found { sorted: true, self_loops: 0, duplicates: 0 };
    graph
        .row_blocks()
        .into_par_iter()
        .map(|rows| {
            let mut found = none();
            for u in rows {
                let mut previous = None;
                for (v, weight) in graph.neighbors(u) {
                    found.self_loops += u64::from(v as usize == u);
                    if let Some((column, lighter)) = previous {
                        found.sorted &= (column, lighter) <= (v, weight);
                        found.duplicates += u64::from(column == v);
                    }
                    previous = Some((v, weight));
                }
            }
            found
        })
        .reduce(none, |a, b| Found {
            sorted: a.sorted && b.sorted,
            self_loops: a.self_loops + b.self_loops,
            duplicates: a.duplicates + b.duplicates,
        })
}
