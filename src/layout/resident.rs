//! A graph on every replica of a fleet, as it is: the input's node order, plain rows.

use super::PrepareReport;
use super::memory::{DeviceArray, GraphShape};
use crate::collective::{ChunkPolicy, Split};
use crate::device::DeviceBuffer;
use crate::device::kernels::operators;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Placed, Replica, VmmArray};
use crate::graph::Graph;
use crate::layout::Placement;
use bytemuck::Pod;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// What of a graph operators need, and how it is cut.
#[derive(Debug, Clone, Copy)]
pub struct ResidentOptions {
    /// What a chunk's size counts.
    pub chunks: ChunkPolicy,
    /// Chunks end on multiples of this many nodes: a power of two from 64 on.
    pub chunk_align: u32,
    /// Whether lambdas see weights; else every arc counts 1.
    pub weights: bool,
    /// Whether the rows backward are there too, for pulls and `in_edges`. A symmetric graph has them anyway.
    pub backward: bool,
    /// Whether every GPU holds all arcs, or each those out of its chunk. Lambdas do not see the difference, except
    /// in time: an arc of another GPU is read over NVLink.
    pub placement: Placement,
}

impl Default for ResidentOptions {
    fn default() -> Self {
        let chunks = ChunkPolicy::Arcs;
        let placement = Placement::Replicated;
        ResidentOptions { chunks, chunk_align: 64, weights: true, backward: false, placement }
    }
}

/// A graph that the replicas of a fleet hold. On the host all of them share it.
pub struct Resident {
    /// The fleet's number.
    fleet: u64,
    graph: Arc<Graph>,
    /// The transpose, where it was asked for and is another graph.
    turned: Option<Graph>,
    symmetric: bool,
    chunks: Split,
    /// Slices of long rows, of either direction, as kernels/operators.cuh cuts them.
    hub_slices: usize,
    report: PrepareReport,
    /// By rank; `None` on the host.
    devices: Vec<Option<DeviceCsr>>,
}

/// Rows on a device.
pub(crate) struct DeviceRows {
    /// u32 or u64 words, by the number of arcs.
    pub offsets: DeviceBuffer<u32>,
    pub columns: Placed<u32>,
    pub weights: Option<Placed<f32>>,
}

impl DeviceRows {
    /// What this replica holds of them.
    pub fn bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, Placed::bytes);
        self.offsets.len() as u64 * 4 + self.columns.bytes() + weights
    }
}

pub(crate) struct DeviceCsr {
    pub out: DeviceRows,
    pub into: Option<DeviceRows>,
}

impl DeviceCsr {
    fn bytes(&self) -> u64 {
        self.out.bytes() + self.into.as_ref().map_or(0, DeviceRows::bytes)
    }
}

impl Resident {
    /// Gives every replica of `fleet` the graph.
    ///
    /// # Errors
    /// [`crate::Error::Machine`] where a device has no room for it.
    pub fn new(
        fleet: &Fleet,
        graph: Arc<Graph>,
        options: ResidentOptions,
    ) -> Result<Arc<Resident>> {
        crate::layout::check_align(options.chunk_align)?;
        let (world, align) = (fleet.world(), options.chunk_align);
        let symmetric = graph.is_symmetric();
        let chunks = Split::of(graph.offsets(), world, align, options.chunks);
        if options.backward && !symmetric {
            let (rows, arcs) = (8 * graph.nodes() as u64, graph.arcs());
            crate::memory::room("the rows backward", rows + 8 * arcs)?;
        }
        let turned = (options.backward && !symmetric).then(|| graph.transpose());
        let hub_slices = slices(&graph).max(turned.as_ref().map_or(0, slices));
        let rows = |graph: &Graph| {
            let weights = if options.weights && graph.weights().is_some() { 4 } else { 0 };
            graph.arcs() * (4 + weights) + graph.offsets().len() as u64 * 8
        };
        let report = PrepareReport {
            layout: "plain".into(),
            placement: options.placement,
            bytes_per_replica: rows(&graph) + turned.as_ref().map_or(0, rows),
            ..PrepareReport::default()
        };
        let mut resident = Resident {
            fleet: fleet.id(),
            graph,
            turned,
            symmetric,
            chunks,
            hub_slices,
            report,
            devices: Vec::new(),
        };
        if fleet.info().backend == "cuda" {
            let start = Instant::now();
            let source = Arc::new(resident);
            let shared = Arc::clone(&source);
            let devices = fleet.run(move |r| shared.upload(r, &options).map(Some))?;
            // The programs have ended: nobody else holds it.
            resident = Arc::try_unwrap(source).unwrap_or_else(|shared| shared.bare());
            resident.report.upload_ms = start.elapsed().as_secs_f64() * 1e3;
            resident.report.bytes_per_replica =
                devices.iter().flatten().map(DeviceCsr::bytes).max().unwrap_or(0);
            resident.devices = devices;
        }
        Ok(Arc::new(resident))
    }

    /// The same without device copies.
    fn bare(&self) -> Resident {
        Resident {
            fleet: self.fleet,
            graph: self.graph.clone(),
            turned: self.turned.clone(),
            symmetric: self.symmetric,
            chunks: self.chunks.clone(),
            hub_slices: self.hub_slices,
            report: self.report.clone(),
            devices: Vec::new(),
        }
    }

    fn upload(&self, r: &mut Replica, options: &ResidentOptions) -> Result<DeviceCsr> {
        let mut rows = |graph: &Graph, owners: &Split| -> Result<DeviceRows> {
            let offsets = self.upload_offsets(r, graph)?;
            let owners = (options.placement == Placement::Sharded).then_some((graph, owners));
            let columns = place(r, "columns", graph.columns(), owners)?;
            let given = graph.weights().filter(|_| options.weights);
            let weights = given.map(|given| place(r, "weights", given, owners));
            Ok(DeviceRows { offsets, columns, weights: weights.transpose()? })
        };
        let out = rows(&self.graph, &self.chunks)?;
        let into = self.turned.as_ref().map(|turned| rows(turned, &self.chunks)).transpose()?;
        if options.placement == Placement::Sharded {
            r.barrier("arcs of all owners")?;
        }
        Ok(DeviceCsr { out, into })
    }

    fn upload_offsets(&self, r: &mut Replica, graph: &Graph) -> Result<DeviceBuffer<u32>> {
        let device = r.device()?;
        let words = (graph.nodes() + 1) * if self.wide() { 2 } else { 1 };
        let offsets = device.alloc::<u32>("row offsets", words)?;
        if self.wide() {
            offsets.upload(bytemuck::cast_slice(graph.offsets()))?;
        } else {
            let narrow: Vec<u32> = graph.offsets().iter().map(|o| *o as u32).collect();
            offsets.upload(&narrow)?;
        }
        Ok(offsets)
    }

    /// The device arrays of a graph of this shape with everything that a graph may have.
    pub(crate) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
        let arcs = shape.all_arcs();
        let wide = if arcs > u64::from(u32::MAX) { 2 } else { 1 };
        let mut rows = vec![
            DeviceArray::new::<u32>("row offsets", (shape.nodes as usize + 1) * wide),
            DeviceArray::new::<u32>("columns", arcs as usize),
        ];
        if shape.weighted {
            rows.push(DeviceArray::new::<f32>("weights", arcs as usize));
        }
        rows.repeat(if shape.symmetric { 1 } else { 2 })
    }

    /// What placing it took.
    pub fn report(&self) -> &PrepareReport {
        &self.report
    }

    /// The copy of replica `rank`, which is on a device.
    pub(crate) fn rows(&self, rank: usize) -> Result<&DeviceRows> {
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        Ok(&self.on_device(rank).ok_or_else(missing)?.out)
    }

    /// The number of the fleet that it was placed for.
    pub(crate) fn fleet(&self) -> u64 {
        self.fleet
    }

    /// Whether offsets on devices are 64-bit words.
    pub(crate) fn wide(&self) -> bool {
        self.graph.arcs() > u64::from(u32::MAX)
    }

    /// The graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Who owns which nodes: what [`crate::fleet::Replica::gather`] takes for arrays that were written over nodes,
    /// arcs or a set.
    pub fn chunks(&self) -> &Split {
        &self.chunks
    }

    /// Whether the rows backward are there.
    pub fn has_backward(&self) -> bool {
        self.symmetric || self.turned.is_some()
    }

    /// Slices of rows that are dealt to several warps.
    pub(crate) fn hub_slices(&self) -> usize {
        self.hub_slices
    }

    /// The rows backward, on the host.
    pub(crate) fn rows_in(&self) -> Option<&Graph> {
        self.turned.as_ref().or_else(|| self.symmetric.then_some(&*self.graph))
    }

    pub(crate) fn on_device(&self, rank: usize) -> Option<&DeviceCsr> {
        self.devices.get(rank).and_then(Option::as_ref)
    }

    /// The rows backward on a device.
    pub(crate) fn device_rows_in(&self, rank: usize) -> Option<&DeviceRows> {
        let csr = self.on_device(rank)?;
        csr.into.as_ref().or_else(|| self.symmetric.then_some(&csr.out))
    }
}

/// An array of arcs: a copy, or, where rows have owners, the own part of one over all GPUs.
fn place<T: Pod>(
    r: &mut Replica,
    label: &'static str,
    values: &[T],
    owners: Option<(&Graph, &Split)>,
) -> Result<Placed<T>> {
    match owners {
        None => {
            let buffer = r.device()?.alloc::<T>(label, values.len())?;
            buffer.upload(values)?;
            Ok(Placed::Own(buffer))
        }
        Some((graph, owners)) => {
            let end = |row: &u64| graph.offsets()[*row as usize] * size_of::<T>() as u64;
            let array =
                VmmArray::new(r, label, &owners.bounds().iter().map(end).collect::<Vec<_>>())?;
            array.upload_own(r, bytemuck::cast_slice(values))?;
            Ok(Placed::Sharded(array))
        }
    }
}

/// Arcs from which a row is a hub, and of a slice of it.
const HUB: u64 = operators::HUB as u64;

/// The most slices that rows of `arcs` arcs are cut into: a row of just more than one takes two.
pub(crate) fn most_slices(arcs: u64) -> usize {
    (2 * arcs / HUB) as usize
}

fn slices(graph: &Graph) -> usize {
    let slices = |v: usize| match graph.degree(v) {
        degree if degree > HUB => degree.div_ceil(HUB) as usize,
        _ => 0,
    };
    (0..graph.nodes()).into_par_iter().map(slices).sum()
}
