//! A graph as it was loaded: rows and their arcs in the input's order, copied to the devices as they are.

use super::PrepareReport;
use crate::backend::cuda::geo::DeviceRows;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::Graph;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A graph as it is, and the copies that replicas hold: out-arcs, without weights.
pub struct PlainGraph {
    rows: Arc<PlainRows>,
    report: PrepareReport,
}

pub(crate) struct PlainRows {
    pub graph: Arc<Graph>,
    /// By rank; `None` on the host. A replica locks only its own.
    devices: Vec<Mutex<Option<DeviceRows>>>,
}

impl PlainGraph {
    /// Gives every replica of `fleet` its copy.
    pub fn new(fleet: &Fleet, graph: Arc<Graph>) -> Result<PlainGraph> {
        let (start, shared) = (Instant::now(), Arc::clone(&graph));
        let devices = fleet.run(move |r| match &mut r.backend {
            Backend::Host(_) => Ok((None, 0.0)),
            Backend::Cuda(device) => {
                let before = device.compile_ms;
                let rows = DeviceRows::new(device, &shared)?;
                Ok((Some(rows), device.compile_ms - before))
            }
        })?;
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        let compile_ms = devices.iter().map(|d| d.1).fold(0.0, f64::max);
        let report = PrepareReport {
            layout: "plain".into(),
            upload_ms: if devices[0].0.is_some() { (elapsed - compile_ms).max(0.0) } else { 0.0 },
            compile_ms,
            prepare_ms: 0.0,
            bytes_per_replica: match &devices[0].0 {
                Some(rows) => rows.bytes(),
                None => graph.arcs() * 4 + graph.offsets().len() as u64 * 8,
            },
        };
        let devices = devices.into_iter().map(|d| Mutex::new(d.0)).collect();
        Ok(PlainGraph { rows: Arc::new(PlainRows { graph, devices }), report })
    }

    /// What preparing took.
    pub fn report(&self) -> &PrepareReport {
        &self.report
    }

    /// The graph as it was loaded.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.rows.graph
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
        let copy = self.devices[rank].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        body(copy.as_ref().ok_or_else(missing)?)
    }
}
