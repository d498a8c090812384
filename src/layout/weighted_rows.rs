//! The weighted layout of a graph: relabelled, rows sorted by weight, packed, transposed. It is made once on the host. Host
//! replicas share it, devices receive copies of its arrays.

use super::{Layout as Choice, PrepareOptions};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::threads::Body;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Arcs of one direction: rows sorted by (weight, column), without self loops, which no shortest
/// path uses.
pub(crate) struct Rows {
    /// `[active + 1]`
    pub offsets: Arc<Vec<u64>>,
    pub arcs: Arcs,
}

/// How an arc is stored.
pub(crate) enum Arcs {
    /// `[m]` one word an arc: `column << bits | weight - bias`; integer weights, or all equal.
    Packed { words: Vec<u32>, bits: u32, bias: u32 },
    /// `[m]` column and the bits of the f32 weight.
    Pairs(Vec<[u32; 2]>),
    /// Either, made on devices and nowhere else.
    OnDevices(Option<Packing>),
}

/// How arcs are packed, when they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packing {
    pub bits: u32,
    pub bias: u32,
}

/// Reads arcs of either form; steps are generic over it, so the form is chosen once a step.
pub(crate) trait ArcView: Copy + Send + Sync {
    fn arc(&self, i: usize) -> (u32, f32);
}

#[derive(Clone, Copy)]
pub(crate) struct PackedView<'a> {
    words: &'a [u32],
    bits: u32,
    mask: u32,
    bias: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct PairView<'a>(&'a [[u32; 2]]);

impl ArcView for PackedView<'_> {
    #[inline(always)]
    fn arc(&self, i: usize) -> (u32, f32) {
        let word = self.words[i];
        (word >> self.bits, ((word & self.mask) + self.bias) as f32)
    }
}

impl ArcView for PairView<'_> {
    #[inline(always)]
    fn arc(&self, i: usize) -> (u32, f32) {
        let [column, weight] = self.0[i];
        (column, f32::from_bits(weight))
    }
}

impl Rows {
    pub fn arc_count(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    pub fn degree(&self, v: usize) -> u64 {
        self.offsets[v + 1] - self.offsets[v]
    }
}

impl Arcs {
    /// The arcs, where they are packed.
    pub fn packed(&self) -> Option<PackedView<'_>> {
        match self {
            Arcs::Packed { words, bits, bias } => {
                Some(PackedView { words, bits: *bits, mask: (1 << bits) - 1, bias: *bias })
            }
            Arcs::Pairs(_) | Arcs::OnDevices(_) => None,
        }
    }

    /// How they are packed, where they are.
    pub fn packing(&self) -> Option<Packing> {
        match self {
            Arcs::Packed { bits, bias, .. } => Some(Packing { bits: *bits, bias: *bias }),
            Arcs::OnDevices(packing) => *packing,
            Arcs::Pairs(_) => None,
        }
    }

    /// The arcs, where they are pairs.
    pub fn pairs(&self) -> Option<PairView<'_>> {
        match self {
            Arcs::Packed { .. } | Arcs::OnDevices(_) => None,
            Arcs::Pairs(pairs) => Some(PairView(pairs)),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Arcs::Packed { words, .. } => words.len() as u64 * 4,
            Arcs::Pairs(pairs) => pairs.len() as u64 * 8,
            Arcs::OnDevices(_) => 0,
        }
    }
}

/// A graph with weights, laid out.
pub struct WeightedLayout {
    /// Nodes of the input.
    pub(crate) nodes: usize,
    /// Nodes with an arc, when they come first; else all.
    pub(crate) active: usize,
    pub(crate) out: Rows,
    /// `None` when the graph is symmetric: rows are the same both ways.
    pub(crate) into: Option<Rows>,
    /// `[n]` input node -> label.
    pub(crate) label_of: Option<Vec<u32>>,
    pub(crate) mean_weight: f64,
    pub(crate) lightest: f32,
    /// Degrees are flat and small: expect a high diameter.
    pub(crate) flat: bool,
    /// Some degree is at least [`HUB`] times the mean.
    pub(crate) has_hubs: bool,
    /// `degree` or `raw`.
    pub(crate) name: &'static str,
    /// Labels are not nodes. Where devices made it, replica 0 alone has them on the host.
    pub(crate) by_degree: bool,
    /// Milliseconds that this took.
    pub(crate) ms: f64,
}

/// What is known of a layout before it is made.
pub(super) struct Sketch {
    /// Largest degree, in and out.
    pub max_degree: u64,
    /// Nodes that get rows.
    pub active: usize,
    pub flat: bool,
    pub has_hubs: bool,
    pub by_degree: bool,
    pub packing: Option<Packing>,
}

/// Looks at `graph`; `in_degrees` `[n]` are those of a directed one.
pub(super) fn sketch(graph: &Graph, in_degrees: Option<&[u64]>, options: PrepareOptions) -> Sketch {
    sketch_of(graph, &|v| graph.degree(v) + in_degrees.map_or(0, |d| d[v]), options)
}

fn sketch_of(
    graph: &Graph,
    degree: &(impl Fn(usize) -> u64 + Sync),
    options: PrepareOptions,
) -> Sketch {
    let n = graph.nodes();
    let max_degree = (0..n).into_par_iter().map(degree).max().unwrap_or(0);
    let connected = (0..n).into_par_iter().filter(|v| degree(*v) > 0).count();
    Sketch::new(graph, [max_degree, connected as u64], packing(graph), options)
}

impl Sketch {
    /// Of `graph`, whose largest degree and whose number of nodes with an arc are these.
    pub fn new(
        graph: &Graph,
        [max_degree, connected]: [u64; 2],
        packing: Option<Packing>,
        options: PrepareOptions,
    ) -> Sketch {
        let (n, connected) = (graph.nodes(), connected.max(1) as usize);
        let flat = is_flat(graph.arcs(), connected, max_degree);
        let has_hubs = max_degree as f64 >= HUB * (graph.arcs() as f64 / connected as f64);
        let by_degree = match options.layout {
            Choice::Auto => !(flat || options.textbook && has_hubs),
            Choice::Raw => false,
            Choice::Degree => true,
        };
        let active = if by_degree { connected.min(n) } else { n };
        Sketch { max_degree, active, flat, has_hubs, by_degree, packing }
    }
}

/// A graph has no hubs if its [`evenness`](WeightedLayout::evenness) is at least this.
pub(crate) const EVEN: f64 = 0.125;

/// Whether barriers take more of a search on a GPU than arcs do, in a graph of so many arcs and of this
/// [`evenness`](WeightedLayout::evenness): fewer of them are looked at where there are hubs.
pub(crate) fn is_small(arcs: u64, evenness: f64) -> bool {
    arcs <= if evenness < EVEN { 1 << 25 } else { 1 << 22 }
}

/// The part of all nodes, by falling degree, that have half of all arcs between them: 1/2 where all degrees are the same,
/// and little where there are hubs.
/// `offsets` of rows out and in.
pub(super) fn half_of_arcs([out, into]: [&[u64]; 2]) -> f64 {
    let active = out.len().saturating_sub(1);
    let end = |v: usize| out[v] + into[v];
    let (mut low, mut high) = (0, active);
    while low < high {
        let middle = (low + high) / 2;
        if 2 * end(middle) < end(active) { low = middle + 1 } else { high = middle }
    }
    low as f64 / active.max(1) as f64
}

/// Mean and largest degrees up to which a graph counts as flat.
pub(super) const FLAT_MEAN: f64 = 8.0;
const FLAT_MAX: u64 = 64;
/// For the textbook loop a graph has hubs if its largest degree, in and out, is at least this many times the mean number of
/// arcs out of a node that has any arc.
///
/// A step of that loop updates distances of 4 bytes by atomic operations, and operations on one cache line of 128 bytes wait
/// for each other. A node of this degree receives twice as many of them as the 32 nodes of a whole line do on average. If
/// labels fall by degree, the hubs share a few lines, for which most operations wait. The labels of the input spread the hubs
/// over many lines. No degree comes near this if the ends of arcs are drawn evenly from all nodes.
const HUB: f64 = 64.0;

/// Whether all degrees are small: no node is worth a place beside others.
pub(super) fn is_flat(arcs: u64, nodes: usize, max_degree: u64) -> bool {
    arcs as f64 <= FLAT_MEAN * nodes as f64 && max_degree <= FLAT_MAX
}

/// Whether all degrees of `graph` are small.
pub(crate) fn is_flat_graph(graph: &Graph) -> bool {
    is_flat(graph.arcs(), graph.nodes(), graph.max_degree())
}

impl WeightedLayout {
    /// Lays `graph` out. Of `options` only `layout` and `textbook` count.
    pub fn new(graph: &Graph, options: PrepareOptions) -> Result<WeightedLayout> {
        let start = Instant::now();
        let n = graph.nodes();
        let symmetric = graph.is_symmetric();
        let (offsets, arcs) = (8 * n as u64, graph.arcs());
        // The rows of each direction, packed; a directed graph is transposed first.
        let least = offsets + 4 * arcs + if symmetric { 0 } else { 2 * offsets + 12 * arcs };
        crate::memory::room("the layout with weights", least)?;
        let transpose = if symmetric { None } else { Some(graph.transpose()) };
        let degree = |v: usize| graph.degree(v) + transpose.as_ref().map_or(0, |t| t.degree(v));
        let (sketch, (input_of, label_of)) = labels(graph, &degree, options);
        let Sketch { active, flat, has_hubs, by_degree, packing, .. } = sketch;
        let map = (input_of.as_deref(), label_of.as_deref());
        let out = rows(graph, map, active, packing)?;
        let into = transpose.map(|t| rows(&t, map, active, packing)).transpose()?;
        let (lightest, mean_weight) = weight_facts(graph);
        let name = if by_degree { "degree" } else { "raw" };
        let ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(WeightedLayout {
            nodes: n,
            active,
            out,
            into,
            label_of,
            mean_weight,
            lightest,
            flat,
            has_hubs,
            name,
            by_degree,
            ms,
        })
    }

    /// In-arcs, sorted by weight.
    pub(crate) fn in_rows(&self) -> &Rows {
        self.into.as_ref().unwrap_or(&self.out)
    }

    /// The part of all nodes, by falling degree, that have half of all arcs between them; 0 where labels do not fall by degree,
    /// as then offsets do not tell.
    pub(crate) fn evenness(&self) -> f64 {
        match self.by_degree {
            true => half_of_arcs([&self.out, self.in_rows()].map(|rows| rows.offsets.as_slice())),
            false => 0.0,
        }
    }

    /// The label of an input node.
    pub(crate) fn label(&self, node: u32) -> u32 {
        self.label_of.as_ref().map_or(node, |map| map[node as usize])
    }

    /// Values by label, put in the input's order.
    pub(crate) fn to_input_order<T: Copy + Send + Sync>(&self, by_label: Vec<T>) -> Vec<T> {
        match &self.label_of {
            None => by_label,
            Some(map) => map.par_iter().map(|label| by_label[*label as usize]).collect(),
        }
    }
}

pub(super) fn weight_facts(graph: &Graph) -> (f32, f64) {
    match graph.weights() {
        None => (1.0, 1.0),
        Some([]) => (1.0, 1.0),
        Some(weights) => {
            let lightest = weights.par_iter().copied().reduce(|| f32::INFINITY, f32::min);
            let sum: f64 = weights
                .par_chunks(1 << 16)
                .map(|c| c.iter().map(|w| f64::from(*w)).sum::<f64>())
                .sum();
            (lightest, sum / weights.len() as f64)
        }
    }
}

/// `[n]` label -> input node and `[n]` input node -> label; `None` where labels are the input's.
pub(super) type Labels = (Option<Vec<u32>>, Option<Vec<u32>>);

/// What the layout will be like, and its labels; `degree` is in and out.
pub(super) fn labels(
    graph: &Graph,
    degree: &(impl Fn(usize) -> u64 + Sync),
    options: PrepareOptions,
) -> (Sketch, Labels) {
    let sketch = sketch_of(graph, degree, options);
    let labels = match sketch.by_degree {
        true => relabel(graph.nodes(), sketch.max_degree, degree),
        false => (None, None),
    };
    (sketch, labels)
}

/// Labels by falling degree, ties by input id: a counting sort over blocks of nodes.
fn relabel(n: usize, max_degree: u64, degree: &(impl Fn(usize) -> u64 + Sync)) -> Labels {
    // Degrees above the cap are rare; they are sorted among themselves.
    let cap = (max_degree + 1).min(1 << 16) as usize;
    let bucket = |v: usize| cap - 1 - (degree(v) as usize).min(cap - 1);
    let block = n.div_ceil(rayon::current_num_threads() * 4).max(1 << 14);
    let blocks: Vec<usize> = (0..n).step_by(block).collect();
    let mut counts: Vec<Vec<u32>> = blocks
        .par_iter()
        .map(|first| {
            let mut count = vec![0u32; cap];
            (*first..(first + block).min(n)).for_each(|v| count[bucket(v)] += 1);
            count
        })
        .collect();
    let mut next = 0;
    for b in 0..cap {
        for count in &mut counts {
            next += std::mem::replace(&mut count[b], next);
        }
    }
    let label_of: Vec<AtomicU32> = (0..n).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    let input_of: Vec<AtomicU32> = (0..n).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    blocks.par_iter().zip(counts).for_each(|(first, mut at)| {
        for v in *first..(first + block).min(n) {
            let label = &mut at[bucket(v)];
            input_of[*label as usize].store(v as u32, Ordering::Relaxed);
            *label += 1;
        }
    });
    let mut input_of: Vec<u32> = input_of.into_par_iter().map(AtomicU32::into_inner).collect();
    let capped = input_of.iter().take_while(|v| degree(**v as usize) as usize >= cap - 1).count();
    input_of[..capped].sort_by_key(|v| (std::cmp::Reverse(degree(*v as usize)), *v));
    input_of
        .par_iter()
        .enumerate()
        .for_each(|(label, v)| label_of[*v as usize].store(label as u32, Ordering::Relaxed));
    (Some(input_of), Some(label_of.into_par_iter().map(AtomicU32::into_inner).collect()))
}

/// Whether column and weight fit one word, and how.
fn packing(graph: &Graph) -> Option<Packing> {
    let Some(weights) = graph.weights() else {
        return word_fits(graph.nodes() as u64, 1, 1);
    };
    let exact = |w: f32| w.fract() == 0.0 && w < 16_777_216.0;
    let range = weights
        .par_iter()
        .map(|w| if exact(*w) { Some((*w as u32, *w as u32)) } else { None })
        .try_reduce(|| (u32::MAX, 0), |a, b| Some((a.0.min(b.0), a.1.max(b.1))))?;
    let (low, high) = if weights.is_empty() { (1, 1) } else { range };
    word_fits(graph.nodes() as u64, low, high)
}

/// How a column below `nodes` and an integer weight from `low` to `high` share a word, if they do.
pub(super) fn word_fits(nodes: u64, low: u32, high: u32) -> Option<Packing> {
    let id_bits = nodes.saturating_sub(1).checked_ilog2().map_or(1, |b| b + 1);
    let bits = (high - low).checked_ilog2().map_or(0, |b| b + 1);
    (id_bits + bits <= 32 && bits < 32).then_some(Packing { bits, bias: low })
}

/// The rows of the first `active` labels.
fn rows(
    graph: &Graph,
    (input_of, label_of): (Option<&[u32]>, Option<&[u32]>),
    active: usize,
    packing: Option<Packing>,
) -> Result<Rows> {
    let input = |v: usize| input_of.map_or(v, |map| map[v] as usize);
    let label = |v: u32| label_of.map_or(v, |map| map[v as usize]);
    let proper = |v: usize| graph.neighbors(v).filter(|(u, _)| *u as usize != v).count() as u64;
    let degrees: Vec<u64> = (0..active).into_par_iter().map(|v| proper(input(v))).collect();
    let mut offsets = Vec::with_capacity(active + 1);
    let mut total = 0u64;
    offsets.push(0);
    for degree in degrees {
        total += degree;
        offsets.push(total);
    }
    let length = usize::try_from(total)
        .map_err(|_| Error::machine(format!("{total} arcs do not fit this machine's memory")))?;
    let sorted = |v: usize, row: &mut Vec<(u32, u32)>| {
        row.clear();
        let u = input(v);
        let arcs = graph.neighbors(u).filter(|(x, _)| *x as usize != u);
        // Bits of non-negative floats sort like the floats.
        row.extend(arcs.map(|(x, w)| (w.to_bits(), label(x))));
        row.sort_unstable();
    };
    let arcs = match packing {
        Some(Packing { bits, bias }) => {
            let mut words = vec![0u32; length];
            fill(&mut words, &offsets, &sorted, |(w, x)| {
                x << bits | (f32::from_bits(w) as u32 - bias)
            });
            Arcs::Packed { words, bits, bias }
        }
        None => {
            let mut pairs = vec![[0u32; 2]; length];
            fill(&mut pairs, &offsets, &sorted, |(w, x)| [x, w]);
            Arcs::Pairs(pairs)
        }
    };
    Ok(Rows { offsets: Arc::new(offsets), arcs })
}

/// Fills rows in parallel; rows are dealt in runs of about equal arcs.
pub(super) fn fill<A: Send, B: Copy>(
    arcs: &mut [A],
    offsets: &[u64],
    sorted: &(impl Fn(usize, &mut Vec<B>) + Sync),
    store: impl Fn(B) -> A + Sync,
) {
    let pieces = rayon::current_num_threads() * 16;
    let share = (arcs.len() / pieces + 1) as u64;
    let mut jobs = Vec::new();
    let (mut rest, mut first) = (arcs, 0);
    while first + 1 < offsets.len() {
        let goal = offsets[first] + share;
        let last = offsets.partition_point(|o| *o < goal).clamp(first + 1, offsets.len() - 1);
        let (own, other) = rest.split_at_mut((offsets[last] - offsets[first]) as usize);
        jobs.push((first..last, own));
        (rest, first) = (other, last);
    }
    let job: Body<(Range<usize>, &mut [A])> = &|(range, mut own)| {
        let mut row = Vec::new();
        for v in range {
            sorted(v, &mut row);
            let (now, later) = own.split_at_mut(row.len());
            now.iter_mut().zip(&row).for_each(|(slot, arc)| *slot = store(*arc));
            own = later;
        }
    };
    jobs.into_par_iter().for_each(job);
}
