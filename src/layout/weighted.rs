//! A graph in the weighted layout, with the copies that replicas hold.

use super::weighted_cuda::{DeviceWeighted, Owners};
use super::{Placement, PrepareOptions, PrepareReport, WeightedLayout, check_align};
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::Graph;
use std::sync::Arc;
use std::time::Instant;

/// A graph in the weighted layout, on devices uploaded.
pub(crate) struct WeightedGraph {
    pub graph: Arc<Graph>,
    pub layout: Arc<WeightedLayout>,
    /// Chunks for steps that follow out-arcs.
    pub chunks: Split,
    /// Chunks for pulls, which stop early: about equal nodes.
    pub pull_chunks: Split,
    pub report: PrepareReport,
    /// By rank; `None` on the host.
    devices: Vec<Option<DeviceWeighted>>,
}

impl WeightedGraph {
    /// Gives every replica of `fleet` its copy of `layout`, which is that of `graph`.
    pub fn new(
        fleet: &Fleet,
        graph: Arc<Graph>,
        layout: Arc<WeightedLayout>,
        options: PrepareOptions,
    ) -> Result<WeightedGraph> {
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
            Backend::Cuda(_) => DeviceWeighted::new(r, &shared, owners.as_ref()).map(Some),
        })?;
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        let arcs = layout.out.arcs.bytes() + layout.into.as_ref().map_or(0, |i| i.arcs.bytes());
        let most = devices.iter().flatten().map(DeviceWeighted::bytes).max();
        let report = PrepareReport {
            layout: layout.name.into(),
            placement: options.placement,
            upload_ms: if most.is_some() { elapsed } else { 0.0 },
            compile_ms: 0.0,
            prepare_ms: layout.ms,
            bytes_per_replica: most.unwrap_or(arcs + offsets.len() as u64 * 8),
        };
        Ok(WeightedGraph { graph, layout, chunks, pull_chunks, report, devices })
    }

    /// The copy of replica `rank`, which is on a device.
    pub fn on_device(&self, rank: usize) -> Result<&DeviceWeighted> {
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        self.devices[rank].as_ref().ok_or_else(missing)
    }
}
