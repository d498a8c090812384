//! A graph as it was loaded: rows and their arcs in the input's order, copied to the devices as they are.

use super::{PrepareOptions, PrepareReport, check_fleet};
use crate::backend::cuda::geo::DeviceRows;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::Graph;
use crate::operator::{Resident, ResidentOptions};
use std::sync::Arc;
use std::time::Instant;

/// A graph as it is, and the copies that replicas hold: out-arcs, without weights.
pub struct PlainGraph {
    rows: Arc<PlainRows>,
    report: PrepareReport,
}

pub(crate) struct PlainRows {
    pub graph: Arc<Graph>,
    /// By rank; `None` on the host.
    devices: Vec<Option<DeviceRows>>,
    /// What the device rows are part of.
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
        let (elapsed, shared) = (start.elapsed().as_secs_f64() * 1e3, resident.clone());
        let devices = fleet.run(move |r| {
            let rank = r.rank();
            match (&mut r.backend, shared.on_device(rank)) {
                (Backend::Cuda(device), Some(csr)) => {
                    let before = device.compile_ms;
                    let rows = DeviceRows::new(device, &csr.out, shared.wide())?;
                    Ok((Some(rows), device.compile_ms - before))
                }
                _ => Ok((None, 0.0)),
            }
        })?;
        let on_host = graph.arcs() * 4 + graph.offsets().len() as u64 * 8;
        let bytes = |rank: usize| resident.on_device(rank).map_or(on_host, |csr| csr.out.bytes());
        let report = PrepareReport {
            layout: "plain".into(),
            placement: options.placement,
            upload_ms: if devices[0].0.is_some() { elapsed } else { 0.0 },
            compile_ms: devices.iter().map(|d| d.1).fold(0.0, f64::max),
            prepare_ms: 0.0,
            bytes_per_replica: (0..devices.len()).map(bytes).max().unwrap_or(0),
        };
        let devices = devices.into_iter().map(|d| d.0).collect();
        let rows = Arc::new(PlainRows { graph, devices, resident });
        Ok(PlainGraph { rows, report })
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
    /// Runs `body` with rank's copy on its device.
    pub fn on_device<T>(
        &self,
        rank: usize,
        body: impl FnOnce(&DeviceRows) -> Result<T>,
    ) -> Result<T> {
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        body(self.devices[rank].as_ref().ok_or_else(missing)?)
    }
}
