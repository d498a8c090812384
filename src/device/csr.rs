//! A graph's rows in the memory of one GPU.

use super::buffer::DeviceBuffer;

/// A graph in compressed sparse rows on one device. Columns and weights may have room behind their last arc.
pub(crate) struct DeviceCsr {
    /// `[nodes + 1]`
    pub offsets: DeviceBuffer<u64>,
    /// `[arcs]`
    pub columns: DeviceBuffer<u32>,
    /// `[arcs]`, where they are there.
    pub weights: Option<DeviceBuffer<f32>>,
    /// Where weights are the [`pair_weight`](crate::hash::pair_weight) of an arc's ends, and in no array: their key.
    pub pair_key: Option<u64>,
    pub nodes: u64,
    pub arcs: u64,
}

impl DeviceCsr {
    /// Whether arcs have weights, in an array or by their ends.
    pub fn has_weights(&self) -> bool {
        self.weights.is_some() || self.pair_key.is_some()
    }
}
