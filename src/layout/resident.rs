//! A graph on every replica of a fleet as it was loaded: in the input's node order, with plain rows.

use super::rows::{Copies, DeviceGraph, DeviceRows, HostRows, is_wide};
use super::{Placement, PrepareReport, check_align};
use crate::collective::{ChunkPolicy, Split};
use crate::device::kernels::operators;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
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
    /// Whether the rows backward are there, for pulls and `in_edges`. A symmetric graph has them anyway.
    pub backward: bool,
    /// Whether every GPU holds all arcs, or each those of its chunk. Results are the same; an arc of another GPU
    /// takes longer to read.
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
    /// The transpose, where it is wanted and is another graph.
    turned: Option<Arc<Graph>>,
    symmetric: bool,
    chunks: Split,
    /// Slices that `kernels/operators.cuh` cuts long rows into, in the direction that has more.
    hub_slices: usize,
    report: PrepareReport,
    devices: Copies,
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
        check_align(options.chunk_align)?;
        let (world, align) = (fleet.world(), options.chunk_align);
        let symmetric = graph.is_symmetric();
        let chunks = Split::of(graph.offsets(), world, align, options.chunks);
        if options.backward && !symmetric {
            let (rows, arcs) = (8 * graph.nodes() as u64, graph.arcs());
            crate::memory::room("the rows backward", rows + 8 * arcs)?;
        }
        let turned = (options.backward && !symmetric).then(|| Arc::new(graph.transpose()));
        let hub_slices = slices(&graph).max(turned.as_deref().map_or(0, slices));
        let rows = |graph: &Graph| {
            let weights = if options.weights && graph.is_weighted() { 4 } else { 0 };
            graph.arcs() * (4 + weights) + graph.offsets().len() as u64 * 8
        };
        let report = PrepareReport {
            layout: "plain".into(),
            placement: options.placement,
            bytes_per_replica: rows(&graph) + turned.as_deref().map_or(0, rows),
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
            devices: Copies::default(),
        };
        if fleet.info().backend == "cuda" {
            let start = Instant::now();
            let (graph, turned) = (resident.graph.clone(), resident.turned.clone());
            let sharded = options.placement == Placement::Sharded;
            let chunks = sharded.then(|| resident.chunks.clone());
            resident.devices = Copies::new(fleet.run(move |r| {
                let owners = chunks.as_ref().map(|chunks| [chunks; 2]);
                let out = HostRows::new(&graph, options.weights);
                let into = turned.as_deref().map(|turned| HostRows::new(turned, options.weights));
                DeviceGraph::upload(r, out, into, owners).map(Some)
            })?);
            resident.report.upload_ms = start.elapsed().as_secs_f64() * 1e3;
            resident.report.bytes_per_replica = resident.devices.most_bytes().unwrap_or(0);
        }
        Ok(Arc::new(resident))
    }

    /// What placing it took.
    pub fn report(&self) -> &PrepareReport {
        &self.report
    }

    /// The copy of replica `rank`, which is on a device.
    pub(crate) fn on_device(&self, rank: usize) -> Result<&DeviceGraph> {
        self.devices.on_device(rank)
    }

    /// The number of the fleet that it was placed for.
    pub(crate) fn fleet(&self) -> u64 {
        self.fleet
    }

    /// Whether offsets on devices are 64-bit words.
    pub(crate) fn wide(&self) -> bool {
        is_wide(self.graph.arcs())
    }

    /// The graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The nodes of each replica, for [`crate::fleet::Replica::gather`] of arrays that were written over nodes,
    /// arcs or a set.
    pub fn chunks(&self) -> &Split {
        &self.chunks
    }

    /// Whether the rows backward are there.
    pub fn has_backward(&self) -> bool {
        self.symmetric || self.turned.is_some()
    }

    /// Slices of long rows, which are dealt to several warps.
    pub(crate) fn hub_slices(&self) -> usize {
        self.hub_slices
    }

    /// The rows backward, on the host.
    pub(crate) fn rows_in(&self) -> Option<&Graph> {
        self.turned.as_deref().or_else(|| self.symmetric.then_some(&*self.graph))
    }

    /// The rows of replica `rank` on a device, forward and backward; `None` where they are not there.
    pub(crate) fn device_rows(&self, rank: usize) -> [Option<&DeviceRows>; 2] {
        let copy = self.devices.get(rank);
        let into = copy.filter(|_| self.has_backward()).map(DeviceGraph::in_rows);
        [copy.map(|copy| &copy.out), into]
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
