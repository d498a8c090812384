//! What a generator is asked.

use super::geo::GeoTruth;
use crate::graph::build::Csr;

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
