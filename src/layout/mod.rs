//! Layouts for a device and a workload, and the copies that replicas hold.

pub(crate) mod bins;
pub mod memory;
pub(crate) mod on_device;
mod prepared;
mod resident;
mod rows;
pub(crate) mod segments;
pub(crate) mod tiles;
mod topology;
mod weighted;
mod weighted_cuda;
mod weighted_rows;

pub(crate) use on_device::prefix_sums;
pub use prepared::{Layouts, Prepared};
pub(crate) use resident::most_slices;
pub use resident::{NodeOrder, Resident, ResidentOptions, RowOrder};
pub(crate) use rows::{DeviceGraph, DeviceRows, ToNodes};
pub use tiles::TileFacts;
pub use topology::Columns;
pub(crate) use topology::{ColumnRows, RowView, SHORT_ROW, TopologyRows};
pub(crate) use weighted::WeightedGraph;
pub(crate) use weighted_cuda::DeviceWeighted;
pub use weighted_rows::WeightedLayout;
pub(crate) use weighted_rows::{ArcView, Arcs, EVEN, Rows, is_flat_graph, is_small};

use crate::collective::ChunkPolicy;
use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// The `--layout` option: how nodes are labelled inside.
    Layout, "--layout" {
        /// By falling degree where degrees are skewed, else the input's labels. Rows with weights have the input's
        /// labels in the textbook loop, too, where the graph has hubs.
        #[default]
        Auto = "auto",
        /// The input's labels.
        Raw = "raw",
        /// By falling degree.
        Degree = "degree",
    }
);

words!(
    /// The `--placement` option: where the arcs of a graph lie.
    Placement, "--placement" {
        /// All of them on every replica.
        #[default]
        Replicated = "replicated",
        /// Once over all GPUs of this process: each chunk's rows are on their owner and mapped into one range of
        /// addresses. Host replicas share one layout anyway.
        Sharded = "sharded",
    }
);

/// How a workload wants its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Relabelled, rows sorted by weight, packed.
    Weighted,
    /// Relabelled, without weights.
    Topology,
    /// Relabelled, without weights, parallel arcs being one.
    Simple,
    /// As it was loaded, without weights, rows forward.
    Plain,
    /// As it was loaded, weights and rows backward included: what operators run on.
    General,
    /// Not at all: the workload works on an array of so many elements.
    Array,
}

impl Form {
    /// Whether rows are relabelled and weights left out.
    pub(crate) fn is_topology(self) -> bool {
        matches!(self, Form::Topology | Form::Simple)
    }

    /// Whether this option of a run, by the name of its key, has an effect on it.
    pub fn takes(self, option: &str) -> bool {
        let relabelled = self == Form::Weighted || self.is_topology();
        match option {
            "layout" => relabelled,
            "chunks" | "chunk-align" => relabelled || self == Form::General,
            "graph" | "placement" => self != Form::Array,
            _ => true,
        }
    }
}

/// How a graph is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PrepareOptions {
    /// What a chunk's size counts.
    pub chunks: ChunkPolicy,
    /// Chunks end on multiples of this many nodes.
    pub chunk_align: u32,
    /// How nodes are labelled.
    pub layout: Layout,
    /// Where arcs lie.
    pub placement: Placement,
    /// The workload runs the textbook loop, `MergeMode::Dense`. [`Layout::Auto`] then labels rows with weights for it.
    pub textbook: bool,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        PrepareOptions {
            chunks: ChunkPolicy::Arcs,
            chunk_align: 64,
            layout: Layout::Auto,
            placement: Placement::Replicated,
            textbook: false,
        }
    }
}

impl From<Layout> for PrepareOptions {
    /// The default with this layout.
    fn from(layout: Layout) -> Self {
        PrepareOptions { layout, ..PrepareOptions::default() }
    }
}

/// Times and sizes of a prepared graph.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PrepareReport {
    /// `degree` or `raw`.
    pub layout: String,
    /// Where arcs lie.
    pub placement: Placement,
    /// Whether each GPU made the layout for itself; else the host did, for all.
    pub on_devices: bool,
    /// Milliseconds to copy the graph to the devices.
    pub upload_ms: f64,
    /// Milliseconds to compile and load kernels, the slowest replica's.
    pub compile_ms: f64,
    /// Milliseconds to relabel, sort, pack and transpose.
    pub prepare_ms: f64,
    /// The most bytes that a replica holds of the graph. What replicas of the host share counts for each.
    pub bytes_per_replica: u64,
}

/// Refuses an alignment with which chunks would not be whole words of bitmaps.
pub(crate) fn check_align(align: u32) -> Result<()> {
    if align.is_power_of_two() && (64..=1 << 20).contains(&align) {
        return Ok(());
    }
    Err(Error::input(format!(
        "--chunk-align {align}: chunks hold whole 64-node words; use a power of two from 64 to 1048576"
    )))
}
