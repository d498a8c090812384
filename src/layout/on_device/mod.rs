//! Layouts made on GPUs, from the graph's arcs in their memory: the arguments of `kernels/layout.cu`. The same arrays, to the
//! byte, as the host makes ([`super::Columns::new`], [`super::WeightedLayout::new`]).
//!
//! Every GPU looks at all degrees and orders all nodes, which is little. Rows are dealt: each GPU makes those of its chunk
//! (`rows`). Arcs are sharded by the same chunks, or GPUs then exchange them.

mod input;
mod kernels;
mod rows;

pub(crate) use kernels::prefix_sums;
pub(super) use kernels::{Sums, launch};
pub(super) use rows::{MOST_SELECTS, MadeRows, ranges};

use super::memory::{ArcsFrom, GraphShape};
use super::weighted_rows::{Labels, Sketch, weight_facts, word_fits};
use super::{Placement, PrepareOptions};
use crate::device::kernels::layout::{
    CountArgs, DegreeArgs, Input, KeyForm, LabelArgs, WEIGHT_BITS, WEIGHT_NONE, WEIGHT_WHOLE,
    WeightArgs, WeightFacts,
};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{
    CudaDevice, DeviceBuffer, DeviceCsr, Function, MAX_KEYS, Sorter, SymmetryKernel, room,
};
use crate::error::Result;
use crate::fleet::Replica;
use crate::generate::DeviceArcs;
use crate::generate::giant_cuda::{giant, giant_bytes, load_giant};
use crate::graph::{Graph, milliseconds};
use bytemuck::{Pod, Zeroable};
use input::InputArcs;
use kernels::Kernels;
use rows::Work;
use std::time::Instant;

/// Device memory that is left alone.
pub(super) const RESERVE: u64 = 64 << 20;
/// Keys of a range, at least: scratch memory for fewer is not worth a pass.
const FEWEST_KEYS: u64 = 1 << 20;
/// Of the arcs that a replica makes, the part whose keys are sorted at once: keys take four times the bytes of columns, so that
/// scratch is about as large as the rows, or, where that is too much, a quarter of them.
const PARTS: [u64; 3] = [5, 10, 20];

/// What is to be made of a graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub options: PrepareOptions,
    /// Rows are others backward; `None`: nobody has looked. Known where arcs are not on the host.
    pub directed: Option<bool>,
    /// Arcs have their weights beside the column, and no row has self loops.
    pub weights: bool,
    /// The graph has self loops.
    pub self_loops: bool,
    /// The default source, where it is not known, is found on the way.
    pub finds_source: bool,
}

/// What memory is needed for.
#[derive(Clone, Copy)]
struct Sizes {
    nodes: u64,
    /// Nodes that get rows, at least.
    active: u64,
    /// Arcs that this replica makes.
    own: u64,
    /// Arcs that this replica keeps in the end.
    kept: u64,
    /// Bytes of the input's arcs.
    input: u64,
    both: bool,
    /// Arcs are drawn: rows need neither lengths nor places in the input.
    drawn: bool,
    /// Keys that are sorted at once, at least.
    fewest: u64,
}

impl Sizes {
    /// Of a graph of so many `nodes` and `arcs`, on one of `world` replicas, whose arcs are in memory.
    fn new([nodes, arcs]: [u64; 2], both: bool, placement: Placement, world: u64) -> Sizes {
        let own = arcs.div_ceil(world);
        let kept = match placement {
            Placement::Sharded => own,
            Placement::Replicated => arcs,
        };
        let fewest = FEWEST_KEYS.min(arcs);
        Sizes { nodes, active: nodes, own, kept, input: 0, both, drawn: false, fewest }
    }

    /// Bytes at the peak where so many `keys` are sorted at once, and an arc takes so many `words`.
    fn peak(&self, keys: u64, words: u64) -> u64 {
        let Sizes { nodes, active, .. } = *self;
        let labels = 8 * nodes;
        // In-degrees, lengths, shifts.
        let lengths = if self.drawn { 0 } else { 24 * nodes };
        let ordering = Sorter::bytes(nodes.max(keys));
        let rows = 4 * words * self.kept + 8 * (active + 1);
        let made = if self.both { 2 } else { 1 } * rows;
        // The offsets of the rows at work are there twice.
        let making = made + 8 * (active + 1) + Sorter::bytes(keys);
        self.input + labels + lengths + ordering.max(making) + RESERVE
    }

    /// The keys that are sorted at once where the longest row has `longest` arcs and `free` bytes are left; `None` where there
    /// is no room for as many as are needed.
    fn keys(&self, longest: u64, free: u64, words: u64) -> Option<u64> {
        let part = |part: u64| (self.own / part).max(self.fewest).max(longest);
        let fits = |keys: &u64| *keys <= MAX_KEYS && self.peak(*keys, words) <= free;
        // Nodes are sorted by degree: in the same room, or in room of their own.
        let shared = PARTS.map(|parts| part(parts).max(self.nodes));
        shared.into_iter().chain(PARTS.map(part)).find(fits)
    }
}

/// A layout on a device.
pub(super) struct Made {
    pub sketch: Sketch,
    /// Label -> node, on the first replica and where arcs have no weights; node -> label, on the second, or the only one.
    /// Where labels are not nodes.
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

/// Bytes at the peak on one of `world` replicas while it lays out a graph, with weights or without, with as little scratch
/// memory as it does that with.
pub(super) fn least_peak(
    shape: &GraphShape,
    weights: bool,
    placement: Placement,
    world: usize,
    input: ArcsFrom,
) -> u64 {
    let size = [shape.nodes, shape.all_arcs()];
    let sizes = Sizes::new(size, !shape.symmetric, placement, world as u64);
    let arc = match input {
        ArcsFrom::Host if weights && shape.weighted => 8,
        ArcsFrom::Host | ArcsFrom::Gpus => 4,
        ArcsFrom::Draws => 0,
    };
    let drawn = input == ArcsFrom::Draws;
    let input = 8 * (shape.nodes + 1) + arc * shape.all_arcs();
    let keys = (sizes.own / PARTS[PARTS.len() - 1]).max(sizes.fewest);
    let sizes = Sizes { input, drawn, active: shape.active, ..sizes };
    sizes.peak(keys, if weights && !shape.packed { 2 } else { 1 })
}

/// Makes on the GPU of every replica what is `wanted` of `graph`. `None` on all of them where one has no room for it, or where
/// rows and weights are so many that their keys have more than 64 bits. A meeting.
///
/// `kept` says where the arcs are, if not on the host.
pub(super) fn make(
    r: &mut Replica,
    graph: &Graph,
    kept: Option<&DeviceArcs>,
    wanted: Wanted,
) -> Result<Option<Made>> {
    let weighted = wanted.weights && graph.is_weighted();
    let kept = kept.filter(|kept| !weighted || kept.has_weights());
    // Replicas may have counted differently in what they did before.
    r.meet_as(0);
    let kernels = Kernels::load(r.device_mut()?)?;
    let symmetry = match wanted.directed {
        Some(_) => None,
        None => Some(SymmetryKernel::load(r.device_mut()?)?),
    };
    if wanted.finds_source {
        load_giant(r.device_mut()?)?;
    }
    let compile_ms = std::mem::take(&mut r.device_mut()?.compile_ms);
    r.barrier("memory for a layout")?;
    let device = r.device()?;
    let [input, held] = InputArcs::bytes(device, graph, kept, weighted);
    let free = room(&device.context)? / u64::from(device.sharers) + held;
    let size = [graph.nodes() as u64, graph.arcs()];
    let placement = wanted.options.placement;
    let sizes = Sizes::new(size, wanted.directed == Some(true), placement, r.world() as u64);
    // Arcs may be drawn more than once.
    let drawn = matches!(kept, Some(DeviceArcs::Drawn(_)));
    let fewest = if drawn { FEWEST_KEYS } else { sizes.fewest };
    // How many nodes have arcs is seen later.
    let sizes = Sizes { input, fewest, drawn, active: 0, ..sizes };
    if !all(r, sizes.keys(0, free, 1).is_some())? {
        return Ok(None);
    }
    let start = Instant::now();
    let input = InputArcs::new(r, graph, kept, weighted)?;
    // Copies do not say that they were queued.
    r.device()?.queued();
    r.device()?.wait()?;
    let upload_ms = milliseconds(start);
    let begin = Instant::now();
    let directed = match symmetry {
        Some(symmetry) => {
            let [with, without] = symmetry.look(r.device()?, &input.csr)?;
            graph.tell_symmetry((weighted || !graph.is_weighted()).then_some(with), without);
            if wanted.weights { !with } else { !without }
        }
        None => wanted.directed == Some(true),
    };
    if wanted.finds_source && r.leads() && input.drawn.is_none() {
        find_source(r.device_mut()?, graph, &input.csr)?;
    }
    let making = Making { r, kernels, wanted, directed, weighted, input, labels: None };
    let found = making.look(graph)?;
    let words = if wanted.weights && found.sketch.packing.is_none() { 2 } else { 1 };
    let sizes = Sizes { active: found.sketch.active as u64, both: directed, ..sizes };
    let keys = sizes.keys(found.sketch.max_degree, free, words);
    let fits = all(making.r, keys.is_some())?;
    let made = match keys.filter(|_| fits) {
        Some(keys) => making.make(found, keys)?,
        None => None,
    };
    let ms = milliseconds(begin);
    r.device()?.release_kept();
    Ok(made.map(|made| Made { upload_ms, ms, compile_ms, ..made }))
}

/// Finds the default source of `graph`, whose rows are `csr`, if that is the lowest node and there is room to look for it.
fn find_source(device: &mut CudaDevice, graph: &Graph, csr: &DeviceCsr) -> Result<()> {
    let room = room(&device.context)? / u64::from(device.sharers);
    let fits = giant_bytes(csr.nodes) + RESERVE <= room && csr.nodes > 0;
    if fits && graph.names_rise() && !graph.knows_source() {
        graph.tell_source(giant(device, csr, graph.is_undirected())?.lowest);
    }
    Ok(())
}

/// The labels that replicas have read, both ways.
pub(super) fn labels<'a>(read: impl Iterator<Item = &'a mut Labels>) -> Labels {
    read.fold((None, None), |all, read| (all.0.or(read.0.take()), all.1.or(read.1.take())))
}

/// Whether it holds on all replicas. A meeting.
pub(super) fn all(r: &mut Replica, holds: bool) -> Result<bool> {
    let everybody = r.agree("room for a layout", [u64::from(holds), 0, 0, 0])?;
    Ok(everybody.iter().all(|one| one[0] != 0))
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
    r: &'a mut Replica,
    kernels: Kernels,
    wanted: Wanted,
    /// Rows are others backward.
    directed: bool,
    /// Weights are wanted, and there.
    weighted: bool,
    input: InputArcs,
    /// Label -> node, node -> label.
    labels: Option<[DeviceBuffer<u32>; 2]>,
}

impl Making<'_> {
    fn launch<A: Pod>(&self, kernel: Function, items: u64, each: u32, args: &A) -> Result<()> {
        launch(self.r.device()?, kernel, items, each, args)
    }

    /// As kernels know it.
    fn input(&self) -> Input {
        let rows = &self.input.csr;
        let weights = rows.weights.as_ref().filter(|_| self.weighted);
        Input {
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            weights: weights.map_or(0, DeviceBuffer::pointer),
            labels: self.labels.as_ref().map_or(0, |[_, label_of]| label_of.pointer()),
            node_of: self.labels.as_ref().map_or(0, |[node_of, _]| node_of.pointer()),
            nodes: rows.nodes,
            pair_key: rows.pair_key.unwrap_or(0),
        }
    }

    /// Looks at all degrees and weights.
    fn look(&self, graph: &Graph) -> Result<Found> {
        let nodes = self.input.csr.nodes;
        let in_degrees = self.directed.then(|| self.in_degrees(false)).transpose()?;
        let facts = self.r.device()?.alloc::<u64>("facts of degrees", 2)?;
        let args = DegreeArgs {
            most: facts.pointer(),
            connected: facts.pointer() + 8,
            ..self.degree_args(in_degrees.as_ref())
        };
        self.launch(self.kernels.degrees, nodes, THREADS, &args)?;
        let facts = facts.to_vec()?;
        let (whole, odd, lightest, mean_weight) = match self.weighted && self.input.csr.arcs > 0 {
            true => {
                let found = self.r.device()?.alloc::<WeightFacts>("facts of weights", 1)?;
                found.upload(&[WeightFacts { low: u32::MAX, ..WeightFacts::zeroed() }])?;
                let (input, arcs) = (self.input(), self.input.csr.arcs);
                let args = WeightArgs { input, arcs, facts: found.pointer(), to: 0 };
                self.launch(self.kernels.weights, arcs, TILE, &args)?;
                let found = found.element(0)?;
                let [low, high] = [found.low, found.high].map(f32::from_bits);
                let whole = (found.odd == 0).then_some((low as u32, high as u32));
                let mean = match whole {
                    Some(_) => found.sum as f64 / arcs as f64,
                    None => weight_facts(graph).1,
                };
                (whole, (found.low, found.high), low, mean)
            }
            false => (Some((1, 1)), (0, 0), 1.0, 1.0),
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
        let Wanted { options, weights: with_weights, .. } = self.wanted;
        let options = PrepareOptions { textbook: options.textbook && with_weights, ..options };
        let sketch = Sketch::new(graph, [max_degree, connected as u64], packing, options);
        Ok(Found { sketch, in_degrees, lightest, mean_weight, weights })
    }

    fn degree_args(&self, in_degrees: Option<&DeviceBuffer<u64>>) -> DegreeArgs {
        DegreeArgs {
            offsets: self.input.csr.offsets.pointer(),
            counts: in_degrees.map_or(0, DeviceBuffer::pointer),
            nodes: self.input.csr.nodes,
            node_bits: bits(self.input.csr.nodes),
            ..DegreeArgs::zeroed()
        }
    }

    /// `[nodes]` arcs into each node, those from itself left out or not.
    fn in_degrees(&self, drop_loops: bool) -> Result<DeviceBuffer<u64>> {
        let counts = self.r.device()?.alloc::<u64>("in-degrees", self.input.csr.nodes as usize)?;
        let args = self.count_args(&counts, drop_loops);
        self.launch(self.kernels.in_counts, self.input.csr.arcs, TILE, &args)?;
        Ok(counts)
    }

    fn count_args(&self, counts: &DeviceBuffer<u64>, drop_loops: bool) -> CountArgs {
        CountArgs {
            input: self.input(),
            counts: counts.pointer(),
            arcs: self.input.csr.arcs,
            drop_loops: u32::from(drop_loops),
            unused: 0,
        }
    }

    /// Makes it. A meeting.
    fn make(mut self, found: Found, keys: u64) -> Result<Option<Made>> {
        let Found { sketch, in_degrees, lightest, mean_weight, weights } = found;
        let sorter =
            |making: &Self, keys| Sorter::new(making.r.device()?, making.kernels.sort, keys);
        let nodes = self.input.csr.nodes;
        let mut kept = (keys >= nodes).then(|| sorter(&self, keys)).transpose()?;
        if sketch.by_degree {
            let mut own = None;
            let room = match &mut kept {
                Some(kept) => kept,
                None => own.insert(sorter(&self, nodes)?),
            };
            self.labels = Some(self.order(&sketch, in_degrees.as_ref(), room)?);
        }
        let mut sorter = kept.map_or_else(|| sorter(&self, keys), Ok)?;
        let drop_loops = self.wanted.weights && self.wanted.self_loops;
        let active = sketch.active as u64;
        let columns = self.input.drawn.as_ref().map_or(bits(active), |(drawn, _)| drawn.id_bits());
        let form = KeyForm { column_bits: columns, ..weights };
        let pairs = self.wanted.weights && sketch.packing.is_none();
        let work = Work { form, pairs, active, drop_loops };
        let into = match (self.directed, drop_loops) {
            (false, _) => None,
            (true, true) => Some(self.in_degrees(true)?),
            (true, false) => in_degrees,
        };
        let into = match into {
            None => None,
            Some(lengths) => match self.rows(&work, true, Some(lengths), &mut sorter)? {
                None => return Ok(None),
                made => made,
            },
        };
        let lengths = drop_loops.then(|| self.out_lengths()).transpose()?;
        let as_they_are =
            self.labels.is_none() && !self.wanted.weights && self.input.drawn.is_none();
        let out = match as_they_are {
            true => Some(self.as_they_are()?),
            false => self.rows(&work, false, lengths, &mut sorter)?,
        };
        let Some(out) = out else { return Ok(None) };
        self.r.device()?.wait()?;
        drop(sorter);
        let labels = self.read_labels()?;
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

    /// The labels that this replica is to read: two read one direction each, over links of their own.
    fn read_labels(&self) -> Result<Labels> {
        let Some([node_of, label_of]) = &self.labels else { return Ok((None, None)) };
        let (place, replicas) = self.r.local();
        let nodes = (place == 0 && !self.wanted.weights).then(|| node_of.to_vec()).transpose()?;
        Ok((nodes, (place == 1 % replicas).then(|| label_of.to_vec()).transpose()?))
    }

    /// Labels by falling degree, ties by node.
    fn order(
        &self,
        sketch: &Sketch,
        in_degrees: Option<&DeviceBuffer<u64>>,
        sorter: &mut Sorter,
    ) -> Result<[DeviceBuffer<u32>; 2]> {
        let nodes = self.input.csr.nodes;
        let args = DegreeArgs {
            keys: sorter.keys.pointer(),
            limit: sketch.max_degree,
            ..self.degree_args(in_degrees)
        };
        self.launch(self.kernels.order_keys, nodes, THREADS, &args)?;
        let from = args.node_bits;
        // Keys are in the order of nodes, and stay so where degrees are equal.
        sorter.sort(self.r.device()?, nodes, from..from + bits(sketch.max_degree + 1))?;
        let node_of = self.r.device()?.alloc::<u32>("nodes of labels", nodes as usize)?;
        let label_of = self.r.device()?.alloc::<u32>("labels of nodes", nodes as usize)?;
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
        let counts =
            self.r.device()?.alloc::<u64>("lengths of rows", self.input.csr.nodes as usize)?;
        let args = self.count_args(&counts, true);
        self.launch(self.kernels.out_counts, self.input.csr.nodes, THREADS, &args)?;
        Ok(counts)
    }
}

/// Bits that tell so many apart; at least one.
pub(super) fn bits(count: u64) -> u32 {
    count.saturating_sub(1).checked_ilog2().map_or(1, |b| b + 1)
}

#[cfg(test)]
mod tests;
