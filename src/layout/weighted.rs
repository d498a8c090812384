//! A graph in the weighted layout, with the copies that replicas hold.

use super::on_device::{self, Wanted};
use super::rows::{Copies, LabelsOnDevice, ToNodes};
use super::weighted_cuda::{DeviceWeighted, Owners};
use super::{PrepareOptions, PrepareReport, WeightedLayout, check_align};
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::generate::DeviceArcs;
use crate::graph::{Graph, milliseconds};
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
    labels: LabelsOnDevice,
    /// By rank; `None` on the host.
    devices: Copies<DeviceWeighted>,
}

impl WeightedGraph {
    /// Lays `graph` out on the GPU of every replica; `None` where one has no room for that, where rows and weights are
    /// too many, and on the host.
    pub fn made_on_devices(
        fleet: &Fleet,
        graph: &Arc<Graph>,
        (kept, finds_source): (Option<DeviceArcs>, bool),
        options: PrepareOptions,
    ) -> Result<Option<WeightedGraph>> {
        if fleet.info().backend != "cuda" {
            return Ok(None);
        }
        check_align(options.chunk_align)?;
        let wanted = Wanted {
            options,
            directed: match kept {
                Some(_) => Some(!graph.is_symmetric()),
                None => graph.known_symmetric().map(|symmetric| !symmetric),
            },
            weights: true,
            self_loops: graph.self_loops() > 0,
            finds_source,
        };
        let shared = graph.clone();
        let made = fleet.run(move |r| {
            let made = on_device::make(r, &shared, kept.as_ref(), wanted)?;
            made.map(|made| DeviceWeighted::made(r, &shared, made, options)).transpose()
        })?;
        let Some(made) = made.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let (mut layouts, devices): (Vec<(WeightedLayout, _)>, Vec<_>) = made.into_iter().unzip();
        let label_of = layouts.iter_mut().find_map(|(layout, _)| layout.label_of.take());
        let took = |what: usize| layouts.iter().map(|(_, ms)| ms[what]).fold(0.0, f64::max);
        let (upload_ms, compile_ms) = (took(0), took(1));
        let ms = layouts.iter().map(|(layout, _)| layout.ms).fold(0.0, f64::max);
        let first = layouts.into_iter().next();
        let nothing = || Error::machine("a layout of no replica; this is a bug");
        let layout = WeightedLayout { ms, label_of, ..first.ok_or_else(nothing)?.0 };
        let devices = devices.into_iter().map(Some).collect();
        let mut made = Self::of(fleet, graph.clone(), Arc::new(layout), options, devices);
        (made.report.upload_ms, made.report.compile_ms) = (upload_ms, compile_ms);
        made.report.on_devices = true;
        Ok(Some(made))
    }

    /// Gives every replica of `fleet` its copy of `layout`, which is that of `graph`.
    pub fn new(
        fleet: &Fleet,
        graph: Arc<Graph>,
        layout: Arc<WeightedLayout>,
        options: PrepareOptions,
    ) -> Result<WeightedGraph> {
        check_align(options.chunk_align)?;
        let owners = Owners::new(&layout, &fleet.info().shares, options);
        let start = Instant::now();
        let shared = layout.clone();
        let devices = fleet.run(move |r| match &r.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(_) => DeviceWeighted::new(r, &shared, owners.as_ref()).map(Some),
        })?;
        let elapsed = milliseconds(start);
        let uploaded = devices.iter().any(Option::is_some);
        let mut made = Self::of(fleet, graph, layout, options, devices);
        made.report.upload_ms = if uploaded { elapsed } else { 0.0 };
        Ok(made)
    }

    fn of(
        fleet: &Fleet,
        graph: Arc<Graph>,
        layout: Arc<WeightedLayout>,
        options: PrepareOptions,
        devices: Vec<Option<DeviceWeighted>>,
    ) -> WeightedGraph {
        let (shares, align) = (&fleet.info().shares, options.chunk_align);
        let offsets = &layout.out.offsets;
        let chunks = Split::of(offsets, shares, align, options.chunks);
        let into = &layout.in_rows().offsets;
        // A pull reads a record and a few arcs a node, somewhat more where rows are long.
        let cost = |v: u64| v * 8 + into[v as usize] / 8;
        let active = layout.active as u64;
        let pull_chunks = Split::by_weight(active, shares, align, cost(active), cost);
        let arcs = layout.out.arcs.bytes() + layout.into.as_ref().map_or(0, |i| i.arcs.bytes());
        let most = devices.iter().flatten().map(DeviceWeighted::bytes).max();
        let report = PrepareReport {
            layout: layout.name.into(),
            placement: options.placement,
            on_devices: false,
            upload_ms: 0.0,
            compile_ms: 0.0,
            prepare_ms: layout.ms,
            bytes_per_replica: most.unwrap_or(arcs + offsets.len() as u64 * 8),
        };
        let devices = Copies::new(fleet, devices);
        let labels = LabelsOnDevice::default();
        WeightedGraph { graph, layout, chunks, pull_chunks, report, labels, devices }
    }

    /// How answers by label come into the order of nodes.
    pub fn order(&self) -> ToNodes<'_> {
        let (nodes, label_of) = (self.layout.nodes, self.layout.label_of.as_deref());
        ToNodes { nodes, label_of, on_device: &self.labels }
    }

    /// The copy of replica `rank`, which is on a device.
    pub fn on_device(&self, rank: usize) -> Result<&DeviceWeighted> {
        self.devices.on_device(rank)
    }
}
