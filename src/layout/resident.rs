//! A graph on every replica of a fleet, with plain rows, in the order in which it was loaded or by degree.

mod on_device;

use super::rows::{Copies, DeviceGraph, DeviceRows, HostRows, is_wide};
use super::weighted_rows::is_flat_graph;
use super::{Placement, PrepareReport, check_align};
use crate::collective::{ChunkPolicy, Shares, Split};
use crate::device::kernels::operators;
use crate::device::{DeviceBuffer, DeviceCsr};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::graph::{Graph, milliseconds};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

/// In which order the nodes of a graph lie: what lambdas call `v`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeOrder {
    /// As the graph was loaded.
    #[default]
    Loaded,
    /// By falling degree, ties as loaded: what belongs to hubs lies side by side, so that caches keep it.
    Degree,
    /// By degree, unless all degrees are small.
    Auto,
}

/// In which order the arcs of a row lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// By neighbour, as the nodes lie.
    #[default]
    Neighbor,
    /// By rising weight, for lambdas that leave a row at the first arc that is too heavy. Rows backward of a graph that is not
    /// symmetric stay by neighbour.
    Weight,
}

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
    /// In which order nodes lie. In another than that of the input, `g.id(v)` of a lambda and [`Graph::rank`] are a node's place
    /// in the input's, and [`Resident::in_input_order`] puts values into that.
    pub order: NodeOrder,
    /// In which order the arcs of a row lie.
    pub rows: RowOrder,
    /// Whether every GPU holds all arcs, or each those of its chunk. Results are the same; an arc of another GPU
    /// takes longer to read.
    pub placement: Placement,
}

impl Default for ResidentOptions {
    fn default() -> Self {
        let chunks = ChunkPolicy::Arcs;
        let (order, rows) = (NodeOrder::Loaded, RowOrder::Neighbor);
        ResidentOptions {
            chunks,
            chunk_align: 64,
            weights: true,
            backward: false,
            order,
            rows,
            placement: Placement::Replicated,
        }
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A graph that the replicas of a fleet hold. On the host all of them share it.
pub struct Resident {
    /// The fleet's number.
    fleet: u64,
    /// Its own: another for each graph of the process.
    number: u64,
    graph: Arc<Graph>,
    /// The transpose, where it is wanted, is another graph, and the host has it.
    turned: Option<Arc<Graph>>,
    /// By rank, `[n]`: the place of each node's id among the input's; on devices, where these are not the nodes.
    ids: Copies<DeviceBuffer<u32>>,
    /// Rows backward are there.
    backward: bool,
    /// Lambdas see weights.
    weighted: bool,
    chunks: Split,
    /// The slices of long rows, forward and backward; `None` backward where these are the same.
    hubs: (Hubs, Option<Hubs>),
    report: PrepareReport,
    devices: Copies<DeviceGraph>,
    /// Who pulls into which nodes, forward and backward ([`Resident::pull_chunks`]).
    pulls: [OnceLock<Option<Split>>; 2],
    /// Itself, for those that know a reference.
    me: Weak<Resident>,
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
        Resident::of(fleet, graph, None, options)
    }

    /// The same, of a graph whose rows may be on the fleet's first GPU: `input`.
    pub(super) fn of(
        fleet: &Fleet,
        graph: Arc<Graph>,
        input: Option<Arc<DeviceCsr>>,
        options: ResidentOptions,
    ) -> Result<Arc<Resident>> {
        check_align(options.chunk_align)?;
        graph.check_rows()?;
        let (shares, align) = (&fleet.info().shares, options.chunk_align);
        let graph = ordered(graph, &options)?;
        let symmetric = graph.is_symmetric();
        let chunks = Split::of(graph.offsets(), shares, align, options.chunks);
        let turns = options.backward && !symmetric;
        let on_gpus = fleet.info().backend == "cuda";
        let sharded = options.placement == Placement::Sharded;
        let mut resident = Resident {
            fleet: fleet.id(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            graph,
            turned: None,
            ids: Copies::default(),
            backward: symmetric || turns,
            weighted: options.weights,
            chunks,
            hubs: Default::default(),
            report: PrepareReport {
                layout: "plain".into(),
                placement: options.placement,
                ..PrepareReport::default()
            },
            devices: Copies::default(),
            pulls: Default::default(),
            me: Weak::new(),
        };
        match (on_gpus, sharded) {
            (true, false) => resident.fill_gpus(fleet, input, turns, options.weights)?,
            (on_gpus, _) => {
                resident.turn(turns)?;
                if on_gpus {
                    resident.share(fleet, options.weights)?;
                }
                resident.hubs.1 =
                    resident.turned.as_deref().map(|turned| Hubs::new(turned.offsets()));
            }
        }
        resident.hubs.0 = Hubs::new(resident.graph.offsets());
        if on_gpus {
            resident.hubs.0.upload(fleet)?;
            resident.hubs.1.as_mut().map_or(Ok(()), |hubs| hubs.upload(fleet))?;
            resident.upload_ids(fleet)?;
        }
        let rows = |graph: &Graph| {
            let weights = if options.weights && graph.is_weighted() { 4 } else { 0 };
            graph.arcs() * (4 + weights) + graph.offsets().len() as u64 * 8
        };
        let host = rows(&resident.graph) + resident.turned.as_deref().map_or(0, rows);
        let held = resident.devices.most_bytes();
        resident.report.bytes_per_replica = if on_gpus { held.unwrap_or(0) } else { host };
        Ok(Arc::new_cyclic(|me| Resident { me: me.clone(), ..resident }))
    }

    /// Nodes for each replica that take as long where few arcs of a row are looked at, forward or backward; `None` where the host does
    /// not have the rows.
    pub(crate) fn pull_chunks(&self, shares: &Shares, backward: bool) -> Option<&Split> {
        let split = || {
            let rows = if backward { self.rows_in()? } else { &self.graph };
            let blocks = rows.nodes().div_ceil(PULLED);
            let cost = |v: usize| 1 + rows.degree(v).min(LOOKED_AT);
            let block = |at: usize| (at * PULLED..rows.nodes().min((at + 1) * PULLED)).map(cost);
            let mut before: Vec<u64> =
                (0..blocks).into_par_iter().map(|at| block(at).sum()).collect();
            let mut total = 0;
            for cost in &mut before {
                total += std::mem::replace(cost, total);
            }
            before.push(total);
            let of = |at: u64| before[at as usize];
            let split = Split::by_weight(blocks as u64, shares, 1, total, of);
            let ends =
                split.bounds().iter().map(|at| (at * PULLED as u64).min(rows.nodes() as u64));
            let ends: Vec<u64> = ends.collect();
            Some(Split::of_lengths(ends.windows(2).map(|w| w[1] - w[0])))
        };
        self.pulls[usize::from(backward)].get_or_init(split).as_ref()
    }

    /// Itself, for as long as somebody holds it.
    pub(crate) fn me(&self) -> Weak<Resident> {
        self.me.clone()
    }

    /// Tells GPUs where nodes lie that are not in the input's order.
    fn upload_ids(&mut self, fleet: &Fleet) -> Result<()> {
        if self.graph.names_rise() {
            return Ok(());
        }
        let nodes = (0..self.graph.nodes() as u32).into_par_iter();
        let ids = nodes.map(|v| self.graph.rank(v)).collect();
        self.ids = everywhere(fleet, "ids of nodes", ids)?;
        Ok(())
    }

    /// Turns the graph around on the host, if that is wanted.
    fn turn(&mut self, wanted: bool) -> Result<()> {
        if wanted {
            let (rows, arcs) = (8 * self.graph.nodes() as u64, self.graph.arcs());
            crate::memory::room("the rows backward", rows + 8 * arcs)?;
            self.turned = Some(Arc::new(self.graph.transpose()));
        }
        Ok(())
    }

    /// Gives each GPU the arcs of its chunk.
    fn share(&mut self, fleet: &Fleet, weights: bool) -> Result<()> {
        let start = Instant::now();
        let (graph, turned) = (self.graph.clone(), self.turned.clone());
        let chunks = self.chunks.clone();
        let made = fleet.run(move |r| {
            let out = HostRows::new(&graph, weights);
            let into = turned.as_deref().map(|turned| HostRows::new(turned, weights));
            DeviceGraph::upload(r, out, into, Some([&chunks; 2])).map(Some)
        })?;
        self.devices = Copies::new(fleet, made);
        self.report.upload_ms = milliseconds(start);
        Ok(())
    }

    /// Gives each GPU all arcs, from where they are, and has it turn them around.
    fn fill_gpus(
        &mut self,
        fleet: &Fleet,
        input: Option<Arc<DeviceCsr>>,
        turns: bool,
        weights: bool,
    ) -> Result<()> {
        let start = Instant::now();
        let graph = self.graph.clone();
        let wide = is_wide(graph.arcs());
        // A transpose that came with the graph is as good.
        let on_gpus = turns && !graph.has_reverse();
        let copies = input.is_some();
        let made = fleet.run(move |r| {
            let out = match &input {
                Some(input) => on_device::copied(r, &graph, input, weights)?,
                None => uploaded(r, &graph, weights)?,
            };
            let into = match on_gpus {
                true => on_device::turned(r, &graph, &out)?,
                false => None,
            };
            Ok((out, into))
        })?;
        let mut missing = turns;
        let mut devices = Vec::new();
        for (out, into) in made {
            if let Some(into) = &into {
                missing = false;
                self.hubs.1.get_or_insert_with(|| Hubs::new(&into.offsets));
                let report = &mut self.report;
                report.prepare_ms = report.prepare_ms.max(into.ms);
                report.compile_ms = report.compile_ms.max(into.compile_ms);
            }
            devices.push(DeviceGraph { out, into: into.map(|into| into.rows), wide });
        }
        self.report.on_devices = copies || turns && !missing;
        let mut other = self.report.prepare_ms + self.report.compile_ms;
        if missing {
            let begin = Instant::now();
            self.turn(true)?;
            self.report.prepare_ms = milliseconds(begin);
            other += self.report.prepare_ms;
            let turned = self.turned.clone();
            let rows = fleet.run(move |r| match turned.as_deref() {
                Some(turned) => uploaded(r, turned, weights).map(Some),
                None => Ok(None),
            })?;
            devices.iter_mut().zip(rows).for_each(|(device, rows)| device.into = rows);
            self.hubs.1 = self.turned.as_deref().map(|turned| Hubs::new(turned.offsets()));
        }
        self.devices = Copies::new(fleet, devices.into_iter().map(Some).collect());
        self.report.upload_ms = (milliseconds(start) - other).max(0.0);
        Ok(())
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

    /// Its number among the graphs of this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
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

    /// The arcs of each replica, those out of its nodes, for [`crate::fleet::Replica::gather`] of arrays that were written at the
    /// places of arcs.
    pub fn arc_chunks(&self) -> Split {
        let end = |row: &u64| self.graph.offsets()[*row as usize];
        let ends: Vec<u64> = self.chunks.bounds().iter().map(end).collect();
        Split::of_lengths(ends.windows(2).map(|w| w[1] - w[0]))
    }

    /// Values of nodes, `[n]`, in the order of the input's ids.
    ///
    /// # Errors
    /// [`Error::Input`] unless there are as many values as nodes.
    pub fn in_input_order<T: Copy + Send + Sync>(&self, values: Vec<T>) -> Result<Vec<T>> {
        let (given, nodes) = (values.len(), self.graph.nodes());
        if given != nodes {
            let what = format!("{given} values for {nodes} nodes; give a value for each node");
            return Err(Error::input(format!("in_input_order: {what}")));
        }
        if self.graph.names_rise() {
            return Ok(values);
        }
        let ranks = (0..nodes as u32).into_par_iter();
        Ok(ranks.map(|rank| values[self.graph.ranked(rank) as usize]).collect())
    }

    /// The address of the places of ids on the device of replica `rank`; 0 where these are the nodes.
    pub(crate) fn ids(&self, rank: usize) -> u64 {
        self.ids.get(rank).map_or(0, DeviceBuffer::pointer)
    }

    /// Whether the rows backward are there.
    pub fn has_backward(&self) -> bool {
        self.backward
    }

    /// Whether lambdas see weights; else every arc counts 1.
    pub(crate) fn weighted(&self) -> bool {
        self.weighted
    }

    /// The long rows, forward or backward.
    pub(crate) fn hubs(&self, backward: bool) -> &Hubs {
        self.hubs.1.as_ref().filter(|_| backward).unwrap_or(&self.hubs.0)
    }

    /// The rows backward, if they are on the host: a GPU that turned a graph around has them alone.
    pub fn rows_in(&self) -> Option<&Graph> {
        self.turned.as_deref().or_else(|| self.graph.is_symmetric().then_some(&*self.graph))
    }

    /// The rows of replica `rank` on a device, forward and backward; `None` where they are not there.
    pub(crate) fn device_rows(&self, rank: usize) -> [Option<&DeviceRows>; 2] {
        let copy = self.devices.get(rank);
        let into = copy.filter(|_| self.has_backward()).map(DeviceGraph::in_rows);
        [copy.map(|copy| &copy.out), into]
    }
}

/// The graph in the order that is asked for.
fn ordered(graph: Arc<Graph>, options: &ResidentOptions) -> Result<Arc<Graph>> {
    let by_degree = match options.order {
        NodeOrder::Loaded => false,
        NodeOrder::Degree => true,
        NodeOrder::Auto => !is_flat_graph(&graph),
    };
    let by_weight = options.rows == RowOrder::Weight && graph.is_weighted();
    if !by_degree && !by_weight {
        return Ok(graph);
    }
    graph.load()?;
    // It is found in rows by neighbour.
    graph.is_symmetric();
    let each = if graph.is_weighted() { 8 } else { 4 };
    crate::memory::room("the graph in order", 32 * graph.nodes() as u64 + each * graph.arcs())?;
    let order = match by_degree {
        true => graph.degree_order(),
        false => (0..graph.nodes() as u32).collect(),
    };
    Ok(Arc::new(match by_weight {
        true => graph.relabelled_by_weight(&order),
        false => graph.relabelled(&order),
    }))
}

/// Nodes of a word of a set, which one replica pulls into.
const PULLED: usize = 64;

/// Arcs of a row that a pull looks at, at most, as far as that is foretold.
const LOOKED_AT: u64 = 16;

/// Arcs from which a row is a hub, and of a slice of it.
const HUB: u64 = operators::HUB as u64;

/// The most slices that rows of `arcs` arcs are cut into: a row of just more than one takes two.
pub(crate) fn most_slices(arcs: u64) -> usize {
    (2 * arcs / HUB) as usize
}

/// The long rows of a graph in one direction, which are dealt to warps in slices of [`HUB`] arcs.
#[derive(Default)]
pub(crate) struct Hubs {
    /// `[hubs]`, rising.
    nodes: Vec<u32>,
    /// `[hubs + 1]`: slices of the hubs before.
    before: Vec<u64>,
    /// The arcs of the longest row.
    pub longest: u64,
    /// By rank, `[slices, 2]`: hub, and number of the slice among those of the hub; where there are slices, on devices.
    devices: Copies<DeviceBuffer<u32>>,
}

impl Hubs {
    /// Those of rows with these offsets.
    fn new(offsets: &[u64]) -> Hubs {
        let long = |v: &usize| offsets[v + 1] - offsets[*v] > HUB;
        let rows = 0..offsets.len().saturating_sub(1);
        let nodes: Vec<u32> = rows.into_par_iter().filter(long).map(|v| v as u32).collect();
        let mut before = vec![0];
        before.extend(nodes.iter().scan(0, |slices, v| {
            let v = *v as usize;
            *slices += (offsets[v + 1] - offsets[v]).div_ceil(HUB);
            Some(*slices)
        }));
        let longest = offsets.par_windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        Hubs { nodes, before, longest, devices: Copies::default() }
    }

    /// Gives every GPU the list of slices.
    fn upload(&mut self, fleet: &Fleet) -> Result<()> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        let hubs = self.nodes.iter().zip(self.before.windows(2));
        let each = hubs.flat_map(|(v, ends)| (0..ends[1] - ends[0]).map(|k| [*v, k as u32]));
        self.devices = everywhere(fleet, "slices of long rows", each.flatten().collect())?;
        Ok(())
    }

    /// How many slices there are.
    pub fn slices(&self) -> usize {
        self.before.last().map_or(0, |all| *all as usize)
    }

    /// The places in the list of the slices of hubs among `nodes`.
    pub fn slices_of(&self, nodes: &Range<u64>) -> Range<u64> {
        let before = |node: u64| {
            let hub = self.nodes.partition_point(|v| u64::from(*v) < node);
            self.before.get(hub).copied().unwrap_or(0)
        };
        before(nodes.start)..before(nodes.end)
    }

    /// The address of the list on the device of replica `rank`.
    pub fn list(&self, rank: usize) -> u64 {
        self.devices.get(rank).map_or(0, DeviceBuffer::pointer)
    }
}

/// A copy of `values` on the GPU of each replica.
fn everywhere(
    fleet: &Fleet,
    label: &'static str,
    values: Vec<u32>,
) -> Result<Copies<DeviceBuffer<u32>>> {
    let values = Arc::new(values);
    let made = fleet.run(move |r| {
        let buffer = r.device()?.alloc(label, values.len())?;
        buffer.upload(&values)?;
        r.device()?.wait()?;
        Ok(Some(buffer))
    })?;
    Ok(Copies::new(fleet, made))
}

/// The rows of `graph`, copied from the host.
fn uploaded(r: &mut Replica, graph: &Graph, weights: bool) -> Result<DeviceRows> {
    let rows = DeviceRows::upload(r, HostRows::new(graph, weights), is_wide(graph.arcs()), None)?;
    r.device()?.wait()?;
    Ok(rows)
}
