//! Checks at the door: what a CSR from outside must satisfy before anything indexes with it.

use super::array::Array;
use super::{Graph, MAX_NODES};
use crate::error::{Error, Result};
use crate::threads::Body;
use rayon::prelude::*;
use std::ops::Range;

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
    let falls = |pair: &[u64]| pair[0] > pair[1];
    let blocks = offsets.par_chunks(BLOCK).zip(offsets[1..].par_chunks(BLOCK));
    let steady = |(a, b): (&[u64], &[u64])| a.iter().zip(b).fold(true, |s, (a, b)| s & (a <= b));
    if !blocks.map(steady).all(|steady| steady)
        && let Some(v) = offsets.par_windows(2).position_first(falls)
    {
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

/// Values that one task looks at, without a branch, so that several are looked at at once.
const BLOCK: usize = 1 << 15;

/// Where the first value is that is `wrong`.
pub(crate) fn first<T: Sync>(values: &[T], wrong: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    let any: Body<&[T], bool> =
        &|block| block.iter().fold(false, |found, value| found | wrong(value));
    let block = values.par_chunks(BLOCK).position_first(any)?;
    let within = values[block * BLOCK..].iter().position(&wrong)?;
    Some(block * BLOCK + within)
}

/// Every id is below `nodes`.
pub(crate) fn ids(ids: &[u32], nodes: usize, what: &str) -> Result<()> {
    let bound = u32::try_from(nodes).unwrap_or(u32::MAX);
    match first(ids, |id| *id >= bound) {
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

/// As bits, every weight that is allowed is below this; -0 is not, nor are negative ones and NaN.
const INFINITE: u32 = 0x7f80_0000;
const MINUS_ZERO: u32 = 0x8000_0000;

/// Weights are finite and >= 0; -0 becomes 0.
pub(super) fn weights(weights: &mut Array<f32>) -> Result<()> {
    if first_odd_weight(weights).is_none() {
        return Ok(());
    }
    let wrong = |w: &f32| w.to_bits() >= INFINITE && w.to_bits() != MINUS_ZERO;
    if let Some(arc) = first(weights, wrong) {
        return Err(Error::input(format!(
            "arc {arc} has weight {}; weights must be finite and >= 0",
            weights[arc]
        )));
    }
    let mut owned = crate::memory::copied("weights", weights)?;
    owned.par_iter_mut().filter(|w| **w == 0.0).for_each(|w| *w = 0.0);
    *weights = owned.into();
    Ok(())
}

/// Where the first weight is that is not finite and >= 0, or is -0.
pub(crate) fn first_odd_weight(weights: &[f32]) -> Option<usize> {
    first(weights, |w| w.to_bits() >= INFINITE)
}

/// What a sweep over the rows finds.
pub(crate) struct Found {
    /// Whether every row is sorted by (column, weight).
    pub sorted: bool,
    /// The largest column that is the last of its row: of all, provided that `sorted`.
    pub last: u32,
    /// Arcs (v, v).
    pub self_loops: u64,
    /// Arcs beyond the first of a pair, provided that `sorted`.
    pub duplicates: u64,
}

/// Rows that are looked at together: as many as a cache holds.
const TOGETHER: usize = 256;

/// Looks at every row once, in parallel.
pub(crate) fn rows(graph: &Graph) -> Found {
    let none = || Found { sorted: true, last: 0, self_loops: 0, duplicates: 0 };
    // What lies in others' arrays is asked for once and not for every row.
    let weights = graph.weights();
    let arrays = Arrays { offsets: graph.offsets(), columns: graph.columns(), weights };
    graph
        .row_blocks()
        .into_par_iter()
        .map(|rows| {
            let mut found = none();
            for first in rows.clone().step_by(TOGETHER) {
                arrays.look(first..rows.end.min(first + TOGETHER), &mut found);
            }
            found
        })
        .reduce(none, |a, b| Found {
            sorted: a.sorted && b.sorted,
            last: a.last.max(b.last),
            self_loops: a.self_loops + b.self_loops,
            duplicates: a.duplicates + b.duplicates,
        })
}

struct Arrays<'a> {
    offsets: &'a [u64],
    columns: &'a [u32],
    weights: Option<&'a [f32]>,
}

impl Arrays<'_> {
    fn row(&self, u: usize) -> Range<usize> {
        self.offsets[u] as usize..self.offsets[u + 1] as usize
    }

    /// Most rows rise: then columns fall, or stay, only where one row ends and the next begins.
    fn look(&self, rows: Range<usize>, found: &mut Found) {
        let arcs = self.offsets[rows.start] as usize..self.offsets[rows.end] as usize;
        let (mut between, mut last, mut loops) = (0, 0, 0);
        for u in rows.clone() {
            let row = self.row(u);
            let columns = &self.columns[row.clone()];
            if let (Some(lowest), Some(highest)) = (columns.first(), columns.last()) {
                let before = row.start > arcs.start && self.columns[row.start - 1] >= *lowest;
                between += u64::from(before);
                last = last.max(*highest);
                loops += u64::from(columns.binary_search(&(u as u32)).is_ok());
            }
        }
        found.last = found.last.max(last);
        match falls(&self.columns[arcs]) == between {
            true => found.self_loops += loops,
            false => rows.for_each(|u| self.look_closely(u, found)),
        }
    }

    fn look_closely(&self, u: usize, found: &mut Found) {
        let row = self.row(u);
        let columns = &self.columns[row.clone()];
        if falls(columns) == 0 {
            found.self_loops += u64::from(columns.binary_search(&(u as u32)).is_ok());
            return;
        }
        let mut previous = None;
        for arc in row {
            let (v, weight) = (self.columns[arc], self.weights.map_or(1.0, |weights| weights[arc]));
            found.self_loops += u64::from(v as usize == u);
            if let Some((column, lighter)) = previous {
                found.sorted &= (column, lighter) <= (v, weight);
                found.duplicates += u64::from(column == v);
            }
            previous = Some((v, weight));
        }
    }
}

/// How many columns are not above the one before: seen without a branch.
fn falls(columns: &[u32]) -> u64 {
    let piece = |first: usize| {
        let columns = &columns[first..columns.len().min(first + BLOCK + 1)];
        let pairs = columns.iter().zip(columns.get(1..).unwrap_or_default());
        u64::from(pairs.fold(0u32, |falls, (a, b)| falls + u32::from(a >= b)))
    };
    (0..columns.len()).step_by(BLOCK).map(piece).sum()
}
