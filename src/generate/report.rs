//! What making a graph on GPUs is told, and tells.

use serde::Serialize;

/// Milliseconds of a generation on a device, by the host's clock with the device idle at both ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DeviceTimes {
    /// Compiling (or reading from the cache) and loading the kernels; not in the total.
    pub compile_ms: f64,
    /// Allocating and clearing device memory.
    pub alloc_ms: f64,
    /// Drawing edges: once to count, once a pass.
    pub draw_ms: f64,
    /// Sorting keys.
    pub sort_ms: f64,
    /// Dropping duplicates; writing offsets, columns and weights.
    pub unique_ms: f64,
    /// From nothing but loaded kernels to the finished arrays.
    pub total_ms: f64,
}

/// What a generation on a device took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviceReport {
    /// Time, by phase.
    pub times: DeviceTimes,
    /// Passes over the rows.
    pub passes: usize,
    /// Arcs drawn, self loops left out, duplicates counted.
    pub drawn_arcs: u64,
    /// The largest out-degree.
    pub max_degree: u64,
    /// Device bytes of the graph's arrays, with their room for duplicates.
    pub graph_bytes: u64,
    /// Device bytes at the peak.
    pub peak_bytes: u64,
}

/// Test hooks: smaller passes than memory asks for, to the same result.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassLimits {
    /// Keys that are sorted at once; rows that have more are sorted together all the same.
    pub keys: Option<u64>,
    /// Edges that one launch draws.
    pub edges: Option<u64>,
}
