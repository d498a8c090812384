//! Stand-in for prepared layouts; replaced at merge.

use crate::fleet::{ChunkPolicy, Fleet};
use crate::graph::Graph;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

crate::fleet::words!(
    /// The `--layout` option.
    Layout, "--layout" {
        /// Chosen by the graph.
        #[default]
        Auto = "auto",
        /// As read.
        Raw = "raw",
        /// Relabelled by falling degree.
        Degree = "degree",
    }
);

/// How a graph is prepared.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    /// What a chunk's size counts.
    pub chunks: ChunkPolicy,
    /// Chunks end on multiples of this.
    pub chunk_align: u32,
    /// The layout.
    pub layout: Layout,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        PrepareOptions { chunks: ChunkPolicy::Arcs, chunk_align: 64, layout: Layout::Auto }
    }
}

/// What preparing cost.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PrepareReport {
    /// The layout in use.
    pub layout: String,
    /// Milliseconds to upload.
    pub upload_ms: f64,
    /// Milliseconds to compile.
    pub compile_ms: f64,
    /// Milliseconds to prepare.
    pub prepare_ms: f64,
    /// Bytes a replica.
    pub bytes_per_replica: u64,
}

/// A graph on a fleet.
pub struct Prepared {
    report: PrepareReport,
}

impl Prepared {
    /// Prepares.
    pub fn new(_: &Fleet, _: Arc<Graph>, _: PrepareOptions) -> Result<Prepared> {
        Err(Error::machine("this build has no engine"))
    }

    /// What it cost.
    pub fn report(&self) -> &PrepareReport {
        &self.report
    }
}
