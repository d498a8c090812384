//! A graph as it was loaded: rows and their arcs in the input's order, copied to the devices as they are.

use super::{DeviceRows, PrepareOptions, PrepareReport, Resident, ResidentOptions, check_fleet};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use std::sync::Arc;
use std::time::Instant;

/// A graph as it is, and the copies that replicas hold: out-arcs, without weights.
pub struct PlainGraph {
    rows: Arc<PlainRows>,
    report: PrepareReport,
}

pub(crate) struct PlainRows {
    pub graph: Arc<Graph>,
    resident: Arc<Resident>,
}

impl PlainGraph {
    /// Gives every replica of `fleet` its copy, or its part where arcs are sharded.
    pub fn new(fleet: &Fleet, graph: Arc<Graph>, options: PrepareOptions) -> Result<PlainGraph> {
        let start = Instant::now();
        let resident = ResidentOptions {
            chunks: options.chunks,
            chunk_align: options.chunk_align,
            weights: false,
            backward: false,
            placement: options.placement,
        };
        let resident = Resident::new(fleet, graph.clone(), resident)?;
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        let on_host = graph.arcs() * 4 + graph.offsets().len() as u64 * 8;
        let bytes = |rank: usize| resident.on_device(rank).map_or(on_host, |csr| csr.out.bytes());
        let report = PrepareReport {
            layout: "plain".into(),
            placement: options.placement,
            upload_ms: if resident.on_device(0).is_some() { elapsed } else { 0.0 },
            compile_ms: 0.0,
            prepare_ms: 0.0,
            bytes_per_replica: (0..fleet.world()).map(bytes).max().unwrap_or(0),
        };
        Ok(PlainGraph { rows: Arc::new(PlainRows { graph, resident }), report })
    }

    /// What preparing took.
    pub fn report(&self) -> &PrepareReport {
        &self.report
    }

    /// The graph as it was loaded.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.rows.graph
    }

    /// Refuses `fleet` unless it is the one that this was prepared for.
    pub(crate) fn check_fleet(&self, fleet: &Fleet) -> Result<()> {
        check_fleet(self.rows.resident.fleet(), fleet)
    }

    pub(crate) fn rows(&self) -> &Arc<PlainRows> {
        &self.rows
    }
}

impl PlainRows {
    /// The copy of replica `rank` on its device.
    pub fn on_device(&self, rank: usize) -> Result<&DeviceRows> {
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        Ok(&self.resident.on_device(rank).ok_or_else(missing)?.out)
    }

    /// Whether offsets on devices are words of 64 bits.
    pub fn wide(&self) -> bool {
        self.resident.wide()
    }
}
