//! What a generator is asked.

use super::geo::GeoTruth;
use crate::graph::build::Csr;
use crate::hash::PAIR_WEIGHTS;

/// A graph to be, read from a specification: symmetric, without self loops or duplicates.
pub(super) trait Recipe {
    /// What it will be.
    fn size(&self) -> Size;
    /// Its short name, as in `rmat24`.
    fn dataset(&self) -> String;
    /// Makes its arrays; whoever asks has checked that they fit.
    fn csr(&self) -> Csr;
    /// Where its nodes are, if they are anywhere.
    fn places(&self) -> Option<GeoTruth> {
        None
    }
}

/// What a generator will make, known before it is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Nodes, isolated ones included.
    pub nodes: u64,
    /// Arcs: as many, or at most as many, before duplicates are dropped.
    pub arcs: u64,
    /// Whether there will be exactly `arcs`.
    pub exact: bool,
    /// No weight is below the first or above the second; `None` without weights. All are integers.
    pub weights: Option<(u32, u32)>,
    /// Bytes of host memory at the peak, about.
    pub host_bytes: u64,
}

impl Size {
    /// Of what is written in place, weighted by pair.
    pub(super) fn exact(nodes: u64, arcs: u64) -> Size {
        let weights = Some(PAIR_WEIGHTS);
        Size { nodes, arcs, exact: true, weights, host_bytes: 8 * (nodes + arcs) }
    }

    /// Of `edges` that are drawn: two arcs each, packed, then as columns and, where `weighted` by pair, weights in the
    /// place of the packed arcs.
    pub(super) fn drawn(nodes: u64, edges: u64, weighted: bool) -> Size {
        let host_bytes = edges * if weighted { 20 } else { 18 } + 16 * nodes;
        let weights = weighted.then_some(PAIR_WEIGHTS);
        Size { nodes, arcs: 2 * edges, exact: false, weights, host_bytes }
    }
}
