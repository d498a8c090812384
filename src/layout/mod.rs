//! Layouts for a device and a workload, and the copies that replicas hold.

pub mod memory;
mod plain;
mod ready;
mod resident;
mod topology;
mod weighted_cuda;
mod weighted_rows;

pub use plain::PlainGraph;
pub(crate) use plain::PlainRows;
pub use ready::{Form, Layouts, Ready};
pub(crate) use resident::DeviceRows;
pub use resident::{Resident, ResidentOptions};
pub(crate) use topology::{ColumnRows, DeviceTopology, TopologyRows};
pub use topology::{Columns, Topology};
pub(crate) use weighted_cuda::{ArcForm, DeviceGraph};
pub use weighted_rows::LaidOut;
pub(crate) use weighted_rows::{ArcView, Arcs, Rows};

use crate::collective::{ChunkPolicy, Split};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::Graph;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use weighted_cuda::Owners;

words!(
    /// The `--layout` option: how nodes are labelled inside.
    Layout, "--layout" {
        /// By falling degree where degrees are skewed, else the input's labels.
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
        /// Once over the GPUs of this process: each chunk's rows on their owner, mapped into one range of
        /// addresses. Chunks are fixed. Host replicas share one layout anyway.
        Sharded = "sharded",
    }
);

/// How a graph is prepared.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
}

impl Default for PrepareOptions {
    fn default() -> Self {
        PrepareOptions {
            chunks: ChunkPolicy::Arcs,
            chunk_align: 64,
            layout: Layout::Auto,
            placement: Placement::Replicated,
        }
    }
}

/// What preparing took.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PrepareReport {
    /// `degree` or `raw`.
    pub layout: String,
    /// Where arcs lie.
    pub placement: Placement,
    /// Milliseconds to copy the graph to the devices.
    pub upload_ms: f64,
    /// Milliseconds to compile and load kernels, the slowest replica's.
    pub compile_ms: f64,
    /// Milliseconds to relabel, sort, pack and transpose.
    pub prepare_ms: f64,
    /// Bytes that a replica holds of the graph; where they differ, the most that one does. What replicas
    /// of the host share counts for each.
    pub bytes_per_replica: u64,
}

/// A graph laid out and, on devices, uploaded: what algorithms run on.
pub struct Prepared {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The number of the fleet that it was prepared for.
    fleet: u64,
    pub graph: Arc<Graph>,
    pub layout: Arc<LaidOut>,
    /// Chunks for steps that follow out-arcs.
    pub chunks: Split,
    /// Chunks for pulls, which stop early: about equal nodes.
    pub pull_chunks: Split,
    report: PrepareReport,
    /// By rank; `None` on the host. A replica locks only its own.
    pub devices: Vec<Mutex<Option<DeviceGraph>>>,
}

impl Inner {
    /// Runs `body` with rank's copy on its device.
    pub fn on_device<T>(
        &self,
        rank: usize,
        body: impl FnOnce(&DeviceGraph) -> Result<T>,
    ) -> Result<T> {
        let copy = self.devices[rank].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        body(copy.as_ref().ok_or_else(missing)?)
    }
}

/// Chunks are whole words of bitmaps.
pub(crate) fn check_align(align: u32) -> Result<()> {
    if align.is_power_of_two() && (64..=1 << 20).contains(&align) {
        return Ok(());
    }
    Err(Error::input(format!(
        "--chunk-align {align}: chunks hold whole 64-node words; use a power of two from 64 to 1048576"
    )))
}

/// Refuses `fleet` unless it is that of this number: its replicas have other chunks, or no copy at all.
fn check_fleet(made_for: u64, fleet: &Fleet) -> Result<()> {
    if made_for == fleet.id() {
        return Ok(());
    }
    Err(Error::input(
        "the graph was prepared for another fleet; prepare it for the fleet that runs on it",
    ))
}

impl Prepared {
    /// Lays `graph` out and gives every replica of `fleet` its copy.
    pub fn new(fleet: &Fleet, graph: Arc<Graph>, options: PrepareOptions) -> Result<Prepared> {
        let layout = Arc::new(LaidOut::new(&graph, options.layout)?);
        Prepared::with_layout(fleet, graph, layout, options)
    }

    /// As [`Prepared::new`] with a layout made before: fleets of a sweep share it.
    pub fn with_layout(
        fleet: &Fleet,
        graph: Arc<Graph>,
        layout: Arc<LaidOut>,
        options: PrepareOptions,
    ) -> Result<Prepared> {
        let (world, align) = (fleet.world(), options.chunk_align);
        check_align(align)?;
        let offsets = &layout.out.offsets;
        let chunks = Split::of(offsets, world, align, options.chunks);
        let into = &layout.in_rows().offsets;
        // A pull reads a record and a few arcs a node, somewhat more where rows are long.
        let cost = |v: u64| v * 8 + into[v as usize] / 8;
        let active = layout.active as u64;
        let pull_chunks = Split::by_weight(active, world, align, cost(active), cost);
        let sharded = options.placement == Placement::Sharded;
        let owners = sharded.then(|| Owners {
            out: chunks.clone(),
            // By arcs, not as pulls are cut: what matters here is that memory is spread.
            into: Split::of(into, world, align, options.chunks),
        });
        let start = Instant::now();
        let shared = layout.clone();
        let devices = fleet.run(move |r| match &r.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(_) => DeviceGraph::new(r, &shared, owners.as_ref()).map(Some),
        })?;
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        let arcs = layout.out.arcs.bytes() + layout.into.as_ref().map_or(0, |i| i.arcs.bytes());
        let most = devices.iter().flatten().map(DeviceGraph::bytes).max();
        let report = PrepareReport {
            layout: layout.name.into(),
            placement: options.placement,
            upload_ms: if most.is_some() { elapsed } else { 0.0 },
            compile_ms: 0.0,
            prepare_ms: layout.ms,
            bytes_per_replica: most.unwrap_or(arcs + offsets.len() as u64 * 8),
        };
        let devices = devices.into_iter().map(Mutex::new).collect();
        let inner =
            Inner { fleet: fleet.id(), graph, layout, chunks, pull_chunks, report, devices };
        Ok(Prepared { inner: Arc::new(inner) })
    }

    /// What preparing took.
    pub fn report(&self) -> &PrepareReport {
        &self.inner.report
    }

    /// The graph as it was loaded.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.inner.graph
    }

    /// Refuses `fleet` unless it is the one that this was prepared for.
    pub(crate) fn check_fleet(&self, fleet: &Fleet) -> Result<()> {
        check_fleet(self.inner.fleet, fleet)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}
