//! Layouts made on a GPU, from the graph's rows in its memory: the arguments of `kernels/layout.cu`. The same arrays, to the
//! byte, as the host makes ([`super::Columns::new`], [`super::WeightedLayout::new`]).

use super::Layout;
use super::rows::is_wide;
use super::weighted_rows::{Labels, Sketch, weight_facts, word_fits};
use crate::device::kernels::layout::{
    CountArgs, DegreeArgs, GatherArgs, Input, KeyForm, LabelArgs, NarrowArgs, OffsetArgs,
    RepeatArgs, SelectArgs, StoreArgs, WEIGHT_BITS, WEIGHT_NONE, WEIGHT_WHOLE, WeightArgs,
    WeightFacts,
};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{
    CudaDevice, DeviceBuffer, DeviceCsr, Function, Launch, MAX_KEYS, SortKernels, Sorter, room,
    source,
};
use crate::error::Result;
use crate::fleet::Replica;
use crate::graph::{Graph, milliseconds};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Device memory that is left alone.
pub(super) const RESERVE: u64 = 64 << 20;
/// Keys of a range, at least: scratch memory for fewer is not worth a pass.
const FEWEST_KEYS: u64 = 1 << 20;
/// Of all arcs, the part whose keys are sorted at once: keys take four times the bytes of columns, so that scratch is about
/// as large as the rows, or, where that is too much, a quarter of them.
const PARTS: [u64; 2] = [5, 20];
/// Ranges of rows that are gathered, and selected, at most. Beyond them the host is faster.
const MOST_GATHERS: usize = 4096;
pub(super) const MOST_SELECTS: usize = 64;

/// The loaded kernels.
#[derive(Clone, Copy)]
struct Kernels {
    sort: SortKernels,
    in_counts: Function,
    out_counts: Function,
    degrees: Function,
    order_keys: Function,
    labels: Function,
    sums: Sums,
    gather: Function,
    select: Function,
    store: Function,
    repeats: Function,
    weights: Function,
}

impl Kernels {
    fn load(device: &mut CudaDevice) -> Result<Kernels> {
        let (sort, sums) = (SortKernels::load(device)?, Sums::load(device)?);
        let mut load = |name| device.function(source("layout.cu"), &[], name);
        Ok(Kernels {
            sort,
            sums,
            in_counts: load("layout_in_counts")?,
            out_counts: load("layout_out_counts")?,
            degrees: load("layout_degrees")?,
            order_keys: load("layout_order_keys")?,
            labels: load("layout_labels")?,
            gather: load("layout_gather")?,
            select: load("layout_select")?,
            store: load("layout_store")?,
            repeats: load("layout_repeats")?,
            weights: load("layout_weights")?,
        })
    }
}

/// The kernels of a prefix sum.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    sums: Function,
    scan: Function,
    offsets: Function,
    narrow: Function,
}

impl Sums {
    pub fn load(device: &mut CudaDevice) -> Result<Sums> {
        let mut load = |name| device.function(source("layout.cu"), &[], name);
        Ok(Sums {
            sums: load("layout_offset_sums")?,
            scan: load("layout_offset_scan")?,
            offsets: load("layout_offsets")?,
            narrow: load("layout_narrow")?,
        })
    }

    /// Queues the exclusive prefix sums of lengths into `args.offsets`. `args.sums` and `args.tiles` are set here.
    fn queue(&self, device: &CudaDevice, args: OffsetArgs) -> Result<()> {
        let tiles = args.rows.div_ceil(TILE.into());
        let sums = device.alloc::<u64>("sums of row lengths", tiles as usize + 1)?;
        let args = OffsetArgs { sums: sums.pointer(), tiles: tiles as u32, ..args };
        launch(device, self.sums, tiles, 1, &args)?;
        device.launch(self.scan, Launch::of(1, THREADS), &args)?;
        launch(device, self.offsets, tiles, 1, &args)?;
        // What it holds is in use until then.
        device.wait()
    }

    /// `[counts + 1]` sums of the first of them.
    pub fn prefix(
        &self,
        device: &CudaDevice,
        counts: &DeviceBuffer<u64>,
    ) -> Result<DeviceBuffer<u64>> {
        let sums = device.alloc::<u64>("prefix sums", counts.len() + 1)?;
        let (counts, rows) = (counts.pointer(), counts.len() as u64);
        let args = OffsetArgs { counts, offsets: sums.pointer(), rows, ..OffsetArgs::zeroed() };
        self.queue(device, args)?;
        Ok(sums)
    }

    /// Offsets as kernels read them, of rows with so many arcs.
    pub fn words(
        &self,
        device: &CudaDevice,
        offsets: &DeviceBuffer<u64>,
        arcs: u64,
    ) -> Result<DeviceBuffer<u32>> {
        let words = offsets.len() * if is_wide(arcs) { 2 } else { 1 };
        let made = device.alloc::<u32>("row offsets", words)?;
        if is_wide(arcs) {
            made.copy_from(offsets)?;
        } else {
            let (from, to) = (offsets.pointer(), made.pointer());
            let args = NarrowArgs { from, to, count: offsets.len() as u64 };
            launch(device, self.narrow, args.count, THREADS, &args)?;
        }
        Ok(made)
    }

    /// `to[i]`: the sum of the first `i` of `counts`; `to` has their number, or one more. All sums are below 2^32.
    pub fn of_counts(
        &self,
        device: &CudaDevice,
        counts: &DeviceBuffer<u64>,
        to: &DeviceBuffer<u32>,
    ) -> Result<()> {
        let wide = self.prefix(device, counts)?;
        let args = NarrowArgs { from: wide.pointer(), to: to.pointer(), count: to.len() as u64 };
        launch(device, self.narrow, args.count, THREADS, &args)?;
        device.wait()
    }
}

/// `[counts + 1]` sums of the first of them, on the device.
pub(crate) fn prefix_sums(
    device: &mut CudaDevice,
    counts: &DeviceBuffer<u64>,
) -> Result<DeviceBuffer<u64>> {
    Sums::load(device)?.prefix(device, counts)
}

/// Queues a kernel for so many items, `each` a block, on no more blocks than fill the device.
pub(super) fn launch<A: Pod>(
    device: &CudaDevice,
    kernel: Function,
    items: u64,
    each: u32,
    args: &A,
) -> Result<()> {
    let blocks = items.div_ceil(each.into()).clamp(1, device.filling().into()) as u32;
    device.launch(kernel, Launch::of(device.blocks(blocks), THREADS), args)
}

/// What is to be made of a graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub layout: Layout,
    /// Rows are others backward.
    pub directed: bool,
    /// Arcs have their weights beside the column, and no row has self loops.
    pub weights: bool,
    /// The graph has self loops.
    pub self_loops: bool,
}

impl Wanted {
    /// Bytes at the peak for a graph of which `keys` arcs are sorted at once, and an arc takes so many `words`.
    fn peak(&self, graph: &Graph, keys: u64, words: u64) -> u64 {
        let (nodes, arcs) = (graph.nodes() as u64, graph.arcs());
        let both = if self.directed { 2 } else { 1 };
        let input = Wanted::input(graph, self.weights && graph.is_weighted());
        let made = both * (4 * words * arcs + 8 * (nodes + 1));
        // Labels both ways, offsets by label, shifts, lengths of rows.
        let scratch = 8 * nodes + 8 * (nodes + 1) + 24 * nodes;
        input + made + scratch + Sorter::bytes(keys) + RESERVE
    }

    /// Bytes of the graph's rows.
    fn input(graph: &Graph, weights: bool) -> u64 {
        8 * (graph.nodes() as u64 + 1) + graph.arcs() * if weights { 8 } else { 4 }
    }

    /// The keys that are sorted at once where the longest row has `longest` arcs and `free` bytes are left; `None` where there
    /// is no room for as many as are needed.
    fn keys(&self, graph: &Graph, longest: u64, free: u64, words: u64) -> Option<u64> {
        let arcs = graph.arcs();
        // Nodes are sorted by degree.
        let least = longest.max(graph.nodes() as u64);
        let some = PARTS.map(|part| (arcs / part).max(FEWEST_KEYS.min(arcs)).max(least));
        some.into_iter().find(|keys| *keys <= MAX_KEYS && self.peak(graph, *keys, words) <= free)
    }
}

/// Rows in one direction.
pub(super) struct MadeRows {
    /// `[active + 1]`
    pub offsets: Vec<u64>,
    /// The same on the device: u32 or u64 words.
    pub device_offsets: DeviceBuffer<u32>,
    /// `[m]` arcs: columns, columns and weights packed, or columns and weights in two words.
    pub arcs: DeviceBuffer<u32>,
    /// Arcs beyond the first of the same column in a row; not counted where they have weights.
    pub repeats: u64,
}

/// A layout on a device.
pub(super) struct Made {
    pub sketch: Sketch,
    /// On rank 0: label -> node, where arcs have no weights, and node -> label; where labels are not nodes.
    pub labels: Labels,
    pub out: MadeRows,
    pub into: Option<MadeRows>,
    pub lightest: f32,
    pub mean_weight: f64,
    /// Milliseconds to copy the graph to the device.
    pub upload_ms: f64,
    /// Milliseconds to lay it out there.
    pub ms: f64,
    /// Milliseconds to compile and load the kernels for that.
    pub compile_ms: f64,
}

/// Makes on the GPU of every replica what is `wanted` of `graph`. `None` on all of them where one has no room for it, or where
/// rows and weights are so many that their keys have more than 64 bits. A meeting.
///
/// `input` is the graph, where it is on the first replica's GPU.
pub(super) fn make(
    r: &mut Replica,
    graph: &Graph,
    input: Option<&Arc<DeviceCsr>>,
    wanted: Wanted,
) -> Result<Option<Made>> {
    let weighted = wanted.weights && graph.is_weighted();
    let input = input.filter(|input| input.weights.is_some() || !weighted);
    let kernels = Kernels::load(r.device_mut()?)?;
    let compile_ms = std::mem::take(&mut r.device_mut()?.compile_ms);
    r.barrier("memory for a layout")?;
    let device = r.device()?;
    let shared = input.filter(|input| input.columns.is_on(&device.context));
    // What is there already is not needed once more.
    let held = shared.map_or(0, |_| Wanted::input(graph, weighted));
    let free = room(&device.context)? / u64::from(device.sharers) + held;
    let keys = wanted.keys(graph, 0, free, 1);
    if !all(r, keys.is_some())? {
        return Ok(None);
    }
    let start = Instant::now();
    let input = match (shared, input) {
        (Some(shared), _) => shared.clone(),
        (None, Some(other)) => Arc::new(copied(r.device()?, other, weighted)?),
        (None, None) => Arc::new(uploaded(r.device()?, graph, weighted)?),
    };
    let upload_ms = milliseconds(start);
    let begin = Instant::now();
    let making = Making { device: r.device()?, kernels, wanted, weighted, input, labels: None };
    let found = making.look(graph)?;
    let words = if wanted.weights && found.sketch.packing.is_none() { 2 } else { 1 };
    let made = match wanted.keys(graph, found.sketch.max_degree, free, words) {
        Some(keys) => making.make(found, keys, r.rank() == 0)?,
        None => None,
    };
    let (ms, fits) = (milliseconds(begin), all(r, made.is_some())?);
    r.device()?.release_kept();
    Ok(made.filter(|_| fits).map(|made| Made { upload_ms, ms, compile_ms, ..made }))
}

/// Whether it holds on all replicas.
pub(super) fn all(r: &mut Replica, holds: bool) -> Result<bool> {
    let everybody = r.agree("room for a layout", [u64::from(holds), 0, 0, 0])?;
    Ok(everybody.iter().all(|one| one[0] != 0))
}

/// The graph's rows, copied from the host.
fn uploaded(device: &CudaDevice, graph: &Graph, weights: bool) -> Result<DeviceCsr> {
    fn copy<T: Pod>(device: &CudaDevice, label: &str, values: &[T]) -> Result<DeviceBuffer<T>> {
        let buffer = device.alloc(label, values.len())?;
        buffer.upload(values)?;
        Ok(buffer)
    }
    let weights = if weights { graph.weights() } else { None };
    Ok(DeviceCsr {
        offsets: copy(device, "row offsets", graph.offsets())?,
        columns: copy(device, "columns", graph.columns())?,
        weights: weights.map(|weights| copy(device, "weights", weights)).transpose()?,
        nodes: graph.nodes() as u64,
        arcs: graph.arcs(),
    })
}

/// The graph's rows, copied from another GPU.
fn copied(device: &CudaDevice, from: &DeviceCsr, weights: bool) -> Result<DeviceCsr> {
    fn copy<T: Pod>(
        device: &CudaDevice,
        label: &str,
        from: &DeviceBuffer<T>,
        length: u64,
    ) -> Result<DeviceBuffer<T>> {
        let buffer = device.alloc(label, length as usize)?;
        buffer.copy_from(from)?;
        Ok(buffer)
    }
    let DeviceCsr { nodes, arcs, .. } = *from;
    let weights = from.weights.as_ref().filter(|_| weights);
    Ok(DeviceCsr {
        offsets: copy(device, "row offsets", &from.offsets, nodes + 1)?,
        columns: copy(device, "columns", &from.columns, arcs)?,
        weights: weights.map(|from| copy(device, "weights", from, arcs)).transpose()?,
        nodes,
        arcs,
    })
}

/// What is known once all nodes and weights have been looked at.
struct Found {
    sketch: Sketch,
    /// `[nodes]` in-degrees of a directed graph.
    in_degrees: Option<DeviceBuffer<u64>>,
    lightest: f32,
    mean_weight: f64,
    /// How weights are in keys.
    weights: KeyForm,
}

struct Making<'a> {
    device: &'a CudaDevice,
    kernels: Kernels,
    wanted: Wanted,
    /// Weights are wanted, and there.
    weighted: bool,
    input: Arc<DeviceCsr>,
    /// Label -> node, node -> label.
    labels: Option<[DeviceBuffer<u32>; 2]>,
}

impl Making<'_> {
    fn launch<A: Pod>(&self, kernel: Function, items: u64, each: u32, args: &A) -> Result<()> {
        launch(self.device, kernel, items, each, args)
    }

    fn input(&self) -> Input {
        let DeviceCsr { offsets, columns, weights, nodes, .. } = &*self.input;
        let weights = weights.as_ref().filter(|_| self.weighted);
        Input {
            offsets: offsets.pointer(),
            columns: columns.pointer(),
            weights: weights.map_or(0, DeviceBuffer::pointer),
            labels: self.labels.as_ref().map_or(0, |[_, label_of]| label_of.pointer()),
            nodes: *nodes,
        }
    }

    /// Looks at all degrees and weights.
    fn look(&self, graph: &Graph) -> Result<Found> {
        let nodes = self.input.nodes;
        let in_degrees = self.wanted.directed.then(|| self.in_degrees(false)).transpose()?;
        let facts = self.device.alloc::<u64>("facts of degrees", 2)?;
        let args = DegreeArgs {
            most: facts.pointer(),
            connected: facts.pointer() + 8,
            ..self.degree_args(in_degrees.as_ref())
        };
        self.launch(self.kernels.degrees, nodes, THREADS, &args)?;
        let facts = facts.to_vec()?;
        let weights = self.input.weights.as_ref().filter(|_| self.weighted);
        let (whole, odd, lightest, mean_weight) = match weights {
            Some(weights) if self.input.arcs > 0 => {
                let found = self.device.alloc::<WeightFacts>("facts of weights", 1)?;
                found.upload(&[WeightFacts { low: u32::MAX, ..WeightFacts::zeroed() }])?;
                let (weights, count) = (weights.pointer(), self.input.arcs);
                let args = WeightArgs { weights, facts: found.pointer(), count };
                self.launch(self.kernels.weights, count, THREADS, &args)?;
                let found = found.element(0)?;
                let [low, high] = [found.low, found.high].map(f32::from_bits);
                let whole = (found.odd == 0).then_some((low as u32, high as u32));
                let mean = match whole {
                    Some(_) => found.sum as f64 / count as f64,
                    None => weight_facts(graph).1,
                };
                (whole, (found.low, found.high), low, mean)
            }
            _ => (Some((1, 1)), (0, 0), 1.0, 1.0),
        };
        let packing = whole.and_then(|(low, high)| word_fits(nodes, low, high));
        let ((low, high), weight) = match (self.wanted.weights, whole) {
            (false, _) => ((0, 0), WEIGHT_NONE),
            (true, Some(ends)) => (ends, WEIGHT_WHOLE),
            (true, None) => (odd, WEIGHT_BITS),
        };
        let weight_bits = if low == high { 0 } else { bits(u64::from(high - low) + 1) };
        let weights = KeyForm { column_bits: 0, weight_bits, bias: low, weight };
        let (max_degree, connected) = (facts[0], facts[1] as usize);
        let sketch =
            Sketch::new(graph, [max_degree, connected as u64], packing, self.wanted.layout);
        Ok(Found { sketch, in_degrees, lightest, mean_weight, weights })
    }

    fn degree_args(&self, in_degrees: Option<&DeviceBuffer<u64>>) -> DegreeArgs {
        DegreeArgs {
            offsets: self.input.offsets.pointer(),
            counts: in_degrees.map_or(0, DeviceBuffer::pointer),
            nodes: self.input.nodes,
            node_bits: bits(self.input.nodes),
            ..DegreeArgs::zeroed()
        }
    }

    /// `[nodes]` arcs into each node, those from itself left out or not.
    fn in_degrees(&self, drop_loops: bool) -> Result<DeviceBuffer<u64>> {
        let counts = self.device.alloc::<u64>("in-degrees", self.input.nodes as usize)?;
        let args = self.count_args(&counts, drop_loops);
        self.launch(self.kernels.in_counts, self.input.arcs, TILE, &args)?;
        Ok(counts)
    }

    fn count_args(&self, counts: &DeviceBuffer<u64>, drop_loops: bool) -> CountArgs {
        CountArgs {
            input: self.input(),
            counts: counts.pointer(),
            arcs: self.input.arcs,
            drop_loops: u32::from(drop_loops),
            unused: 0,
        }
    }

    /// Makes it; `read` says whether labels are wanted on the host.
    fn make(mut self, found: Found, keys: u64, read: bool) -> Result<Option<Made>> {
        let Found { sketch, in_degrees, lightest, mean_weight, weights } = found;
        let mut sorter = Sorter::new(self.device, self.kernels.sort, keys)?;
        if sketch.by_degree {
            self.labels = Some(self.order(&sketch, in_degrees.as_ref(), &mut sorter)?);
        }
        let drop_loops = self.wanted.weights && self.wanted.self_loops;
        let active = sketch.active as u64;
        let form = KeyForm { column_bits: bits(active), ..weights };
        let pairs = self.wanted.weights && sketch.packing.is_none();
        let work = Work { form, pairs, active, drop_loops };
        let into = match (self.wanted.directed, drop_loops) {
            (false, _) => None,
            (true, true) => Some(self.in_degrees(true)?),
            (true, false) => in_degrees,
        };
        let into = into.map(|lengths| self.rows(&work, true, Some(lengths), &mut sorter));
        let into = match into.transpose()? {
            Some(None) => return Ok(None),
            into => into.flatten(),
        };
        let lengths = drop_loops.then(|| self.out_lengths()).transpose()?;
        let out = match self.labels.is_none() && !self.wanted.weights {
            true => Some(self.as_they_are()?),
            false => self.rows(&work, false, lengths, &mut sorter)?,
        };
        let Some(out) = out else { return Ok(None) };
        self.device.wait()?;
        drop(sorter);
        let host = |labels: &DeviceBuffer<u32>| labels.to_vec();
        let labels = match self.labels.as_ref().filter(|_| read) {
            Some([node_of, label_of]) => {
                let wanted = (!self.wanted.weights).then(|| host(node_of));
                (wanted.transpose()?, Some(host(label_of)?))
            }
            None => (None, None),
        };
        Ok(Some(Made {
            sketch,
            labels,
            out,
            into,
            lightest,
            mean_weight,
            upload_ms: 0.0,
            ms: 0.0,
            compile_ms: 0.0,
        }))
    }

    /// Labels by falling degree, ties by node.
    fn order(
        &self,
        sketch: &Sketch,
        in_degrees: Option<&DeviceBuffer<u64>>,
        sorter: &mut Sorter,
    ) -> Result<[DeviceBuffer<u32>; 2]> {
        let nodes = self.input.nodes;
        let args = DegreeArgs {
            keys: sorter.keys.pointer(),
            limit: sketch.max_degree,
            ..self.degree_args(in_degrees)
        };
        self.launch(self.kernels.order_keys, nodes, THREADS, &args)?;
        let from = args.node_bits;
        // Keys are in the order of nodes, and stay so where degrees are equal.
        sorter.sort(self.device, nodes, from..from + bits(sketch.max_degree + 1))?;
        let node_of = self.device.alloc::<u32>("nodes of labels", nodes as usize)?;
        let label_of = self.device.alloc::<u32>("labels of nodes", nodes as usize)?;
        let args = LabelArgs {
            keys: sorter.keys.pointer(),
            node_of: node_of.pointer(),
            label_of: label_of.pointer(),
            nodes,
            node_bits: from,
            unused: 0,
        };
        self.launch(self.kernels.labels, nodes, THREADS, &args)?;
        Ok([node_of, label_of])
    }

    /// `[nodes]` arcs out of each node, without those to itself.
    fn out_lengths(&self) -> Result<DeviceBuffer<u64>> {
        let counts = self.device.alloc::<u64>("lengths of rows", self.input.nodes as usize)?;
        let args = self.count_args(&counts, true);
        self.launch(self.kernels.out_counts, self.input.nodes, THREADS, &args)?;
        Ok(counts)
    }

    /// The input's rows.
    fn as_they_are(&mut self) -> Result<MadeRows> {
        let arcs = match Arc::get_mut(&mut self.input) {
            Some(own) => std::mem::replace(&mut own.columns, self.device.alloc("columns", 0)?),
            None => {
                let arcs = self.device.alloc("columns", self.input.arcs as usize)?;
                arcs.copy_from(&self.input.columns)?;
                arcs
            }
        };
        let device_offsets = self.words(&self.input.offsets, self.input.arcs)?;
        let repeats = self.repeats(&self.input.offsets, &arcs)?;
        Ok(MadeRows { offsets: self.input.offsets.to_vec()?, device_offsets, arcs, repeats })
    }

    /// Offsets as kernels read them, of rows with so many arcs.
    fn words(&self, offsets: &DeviceBuffer<u64>, arcs: u64) -> Result<DeviceBuffer<u32>> {
        self.kernels.sums.words(self.device, offsets, arcs)
    }

    /// Rows of labels, forward or backward; `None` where they take too many ranges. `lengths` are those of nodes where they are
    /// not the input's.
    fn rows(
        &self,
        work: &Work,
        turned: bool,
        lengths: Option<DeviceBuffer<u64>>,
        sorter: &mut Sorter,
    ) -> Result<Option<MadeRows>> {
        let (device, active) = (self.device, work.active);
        let offsets = device.alloc::<u64>("row offsets", active as usize + 1)?;
        let gathers = lengths.is_none();
        let shift =
            device.alloc::<u64>("shifts of rows", if gathers { active as usize } else { 0 })?;
        let node_of = self.labels.as_ref().map_or(0, |[node_of, _]| node_of.pointer());
        let args = OffsetArgs {
            from: self.input.offsets.pointer(),
            counts: lengths.as_ref().map_or(0, DeviceBuffer::pointer),
            node_of,
            offsets: offsets.pointer(),
            shift: if gathers { shift.pointer() } else { 0 },
            rows: active,
            ..OffsetArgs::zeroed()
        };
        self.kernels.sums.queue(device, args)?;
        let ends = offsets.to_vec()?;
        let total = ends[active as usize];
        let form = work.form;
        let most_rows = 1u64 << (64 - form.weight_bits - form.column_bits).min(32);
        let ranges = ranges(&ends, sorter.keys.len() as u64, most_rows as usize);
        // To select a range, all arcs are looked at.
        if ranges.len() > if gathers { MOST_GATHERS } else { MOST_SELECTS } {
            return Ok(None);
        }
        let words = if work.pairs { 2 } else { 1 };
        let arcs = device.alloc::<u32>("arcs", words * total as usize)?;
        let cursor = device.alloc::<u64>("cursor", 1)?;
        for labels in ranges {
            let [first, end] = [labels.start, labels.end].map(|label| label as u32);
            let (begin, count) = (ends[labels.start], ends[labels.end] - ends[labels.start]);
            let keys = sorter.keys.pointer();
            if gathers {
                let (offsets, shift) = (offsets.pointer(), shift.pointer());
                let input = self.input();
                let args =
                    GatherArgs { input, form, offsets, shift, keys, begin, count, first, end };
                self.launch(self.kernels.gather, count, TILE, &args)?;
            } else {
                cursor.clear()?;
                let args = SelectArgs {
                    input: self.input(),
                    form,
                    keys,
                    cursor: cursor.pointer(),
                    capacity: sorter.keys.len() as u64,
                    arcs: self.input.arcs,
                    first,
                    end,
                    turned: u32::from(turned),
                    drop_loops: u32::from(work.drop_loops),
                };
                self.launch(self.kernels.select, args.arcs, TILE, &args)?;
            }
            let row_bits = bits(labels.len() as u64);
            sorter.sort(device, count, 0..row_bits + form.weight_bits + form.column_bits)?;
            let (keys, out) = (sorter.keys.pointer(), arcs.pointer());
            let pairs = u32::from(work.pairs);
            let args = StoreArgs { form, keys, out, begin, count, pairs, unused: 0 };
            self.launch(self.kernels.store, count, THREADS, &args)?;
        }
        let device_offsets = self.words(&offsets, total)?;
        let repeats = if self.wanted.weights { 0 } else { self.repeats(&offsets, &arcs)? };
        Ok(Some(MadeRows { offsets: ends, device_offsets, arcs, repeats }))
    }

    fn repeats(&self, offsets: &DeviceBuffer<u64>, columns: &DeviceBuffer<u32>) -> Result<u64> {
        let repeats = self.device.alloc::<u64>("repeated arcs", 1)?;
        let args = RepeatArgs {
            offsets: offsets.pointer(),
            columns: columns.pointer(),
            repeats: repeats.pointer(),
            arcs: columns.len() as u64,
            rows: offsets.len() as u32 - 1,
            unused: 0,
        };
        self.launch(self.kernels.repeats, args.arcs, TILE, &args)?;
        repeats.element(0)
    }
}

/// What rows are made of.
struct Work {
    form: KeyForm,
    /// Arcs have two words.
    pairs: bool,
    active: u64,
    drop_loops: bool,
}

/// Bits that tell so many apart; at least one.
pub(super) fn bits(count: u64) -> u32 {
    count.saturating_sub(1).checked_ilog2().map_or(1, |b| b + 1)
}

/// Ranges of at most so many rows with at most `most` arcs each; no row has more.
pub(super) fn ranges(offsets: &[u64], most: u64, rows: usize) -> Vec<Range<usize>> {
    let (mut ranges, mut first) = (Vec::new(), 0);
    while first + 1 < offsets.len() {
        let last = offsets.partition_point(|end| *end <= offsets[first] + most) - 1;
        let last = last.max(first + 1).min(first.saturating_add(rows));
        ranges.push(first..last);
        first = last;
    }
    ranges
}

#[cfg(test)]
#[path = "on_device_tests.rs"]
mod tests;
