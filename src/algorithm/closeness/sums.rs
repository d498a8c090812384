//! Searches by weight or in copies, whose distances each node adds up.

use super::Sums;
use super::histogram::{ALL, BEYOND, BINS, NOTHING, Pairs};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::batches::Batches;
use crate::algorithm::copies::{Copied, Copies, Distance};
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::lanes::unit;
use crate::algorithm::same::Words;
use crate::algorithm::sssp::{Alone, Each, Reached, total_weight};
use crate::collective::{Dtype, Replicated};
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::graph::Graph;
use crate::layout::WeightedGraph;
use crate::layout::memory::DeviceArray;
use crate::operator::{Args, Lambda, Over, Writes, device, lambda};
use rayon::prelude::*;
use std::ops::Range;

/// Words of a sum, of which each counts what the one before is too coarse for.
const WORDS: u64 = 4;
/// Units of a word in one of the word before.
const PARTS: f64 = 4_294_967_296.0;
/// Sums are below 2^62 units of the first word.
const UNITS: i32 = 62;
/// Bits that the least distance, or inverse, has below its first one.
const BITS: i32 = 44;

replicated_arrays! {
    /// What nodes add up, for so many nodes and sources; and nodes that have a least distance.
    struct State of (usize, usize, usize) {
        /// `[sources]` where searches begin, by label.
        sources: Replicated<u32> = "sources", Gather, |s| s.1;
        /// `[WORDS, n]` the sum of distances.
        far: Replicated<u64> = "far", Sum, |s| s.0 * WORDS as usize;
        /// `[WORDS, n]` the sum of 1 / distance.
        harmonic: Replicated<u64> = "harmonic", Sum, |s| s.0 * WORDS as usize;
        /// `[n]` sources other than the node that count.
        reached: Replicated<u32> = "reached", Sum, |s| s.0;
        /// `[n]` the largest distance.
        farthest: Replicated<f64> = "farthest", Max, |s| s.0;
        /// `[n]` the least distance, where it is wanted.
        nearest: Replicated<f64> = "nearest", Min, |s| s.2;
    }
}

/// Device arrays of one of `world` replicas; `nearest`: the least distance is wanted.
pub(super) fn arrays(
    (nodes, sources): (usize, usize),
    nearest: bool,
    world: usize,
) -> Vec<DeviceArray> {
    State::list((nodes, sources, if nearest { nodes } else { 0 }), world)
}

/// Units of the first word in 1, of distances and of their inverses. Sums of whole numbers of units have no order.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    far: f64,
    harmonic: f64,
}

impl Scales {
    /// For what is found in `graph`.
    pub fn new(how: &How, graph: &Graph) -> Result<Scales> {
        let (nodes, rows) = (graph.nodes() as f64, how.graph());
        if let How::Copies(Copied { distance: Distance::Arcs, .. }) = how {
            return Ok(Scales { far: 1.0, harmonic: unit(graph.nodes()) as f64 });
        }
        // No path is longer than all arcs, and none that is longer than 0 is shorter than the least weight above 0.
        let longest = total_weight(rows);
        let mut least = rows.layout.lightest;
        if least == 0.0 {
            graph.load()?;
            let weights = graph.weights().unwrap_or_default().par_iter().copied();
            least = weights.filter(|weight| *weight > 0.0).reduce(|| f32::INFINITY, f32::min);
        }
        let least = f64::from(least);
        if longest == 0.0 || least.is_infinite() {
            return Ok(Scales { far: 1.0, harmonic: 1.0 });
        }
        // What a sum may be is a power of two that many more times what it may have in it.
        let power = |number: f64| number.log2().ceil() as i32;
        if power(nodes) + power(longest) - power(least) > UNITS + 32 * (WORDS as i32 - 1) - BITS {
            return Err(Error::input(format!(
                "sums of distances: the least weight is {least}, and all together are {longest}: they do not hold both; leave arcs \
                 out, or give them weights that lie closer together"
            )));
        }
        let fits = |power: i32| 2f64.powi(UNITS - power);
        Ok(Scales {
            far: fits(power(nodes) + power(longest)),
            harmonic: fits(power(nodes) - power(least) + 1),
        })
    }

    /// Those of the first replica: processes may have added weights up in another order.
    fn agreed(self, r: &mut Replica) -> Result<Scales> {
        let own = [self.far.to_bits(), self.harmonic.to_bits(), 0, 0];
        let first = r.agree("scales", own)?[0];
        Ok(Scales { far: f64::from_bits(first[0]), harmonic: f64::from_bits(first[1]) })
    }
}

/// Node i adds up its distances in arcs in so many copies.
#[lambda]
fn add_arcs(
    i: u64,
    dist: Reads<u32>,
    count: u64,
    shift: u64,
    unit: f64,
    within: f64,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    let mut sum = 0_u64;
    let mut inverse = 0_u64;
    let mut many = 0_u32;
    let mut most = 0_u32;
    for lane in 0_u64..count {
        let level = dist[(lane << shift) + i];
        if level != 0_u32 && level != u32::MAX && level as f64 <= within {
            sum += level as u64;
            inverse += (unit as u64 + level as u64 / 2_u64) / level as u64;
            many += 1_u32;
            most = most.max(level);
        }
    }
    far[i] += sum;
    harmonic[i] += inverse;
    reached[i] += many;
    farthest[i] = farthest[i].max(most as f64);
}

/// v adds so many units to its sum.
#[device]
fn put(v: u64, nodes: u64, units: f64, sums: Writes<u64>) {
    let mut rest = units;
    for k in 0_u64..WORDS {
        let whole = rest as u64;
        if whole != 0_u64 {
            sums[k * nodes + v] += whole;
        }
        rest = (rest - whole as f64) * PARTS;
    }
}

/// v adds a distance up. What is at distance 0 has no inverse.
#[device]
fn note(
    v: u64,
    nodes: u64,
    found: f64,
    far_unit: f64,
    harmonic_unit: f64,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    put(v, nodes, found * far_unit, far);
    if found > 0.0_f64 {
        put(v, nodes, harmonic_unit / found, harmonic);
    }
    reached[v] += 1_u32;
    farthest[v] = farthest[v].max(found);
}

/// Node i adds up its distances by weight from so many sources, those from `first` on.
#[lambda]
fn add(
    i: u64,
    nodes: u64,
    dist: Reads<f32>,
    sources: Reads<u32>,
    first: u64,
    count: u64,
    shift: u64,
    far_unit: f64,
    harmonic_unit: f64,
    within: f64,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    for lane in 0_u64..count {
        let found = dist[(lane << shift) + i] as f64;
        if found <= within && sources[first + lane] as u64 != i {
            note(i, nodes, found, far_unit, harmonic_unit, far, harmonic, reached, farthest);
        }
    }
}

/// The same of distances in 64 bits from one source.
#[lambda]
fn add_double(
    i: u64,
    nodes: u64,
    dist: Reads<f64>,
    sources: Reads<u32>,
    first: u64,
    far_unit: f64,
    harmonic_unit: f64,
    within: f64,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    let found = dist[i];
    if found <= within && sources[first] as u64 != i {
        note(i, nodes, found, far_unit, harmonic_unit, far, harmonic, reached, farthest);
    }
}

/// The least distance of node i.
#[lambda]
fn near(i: u64, dist: Reads<f32>, count: u64, shift: u64, nearest: Writes<f64>) {
    let mut least = nearest[i];
    for lane in 0_u64..count {
        least = least.min(dist[(lane << shift) + i] as f64);
    }
    nearest[i] = least;
}

/// The same of distances in 64 bits from one source.
#[lambda]
fn near_double(i: u64, dist: Reads<f64>, nearest: Writes<f64>) {
    nearest[i] = nearest[i].min(dist[i]);
}

/// The bin of a distance.
#[device]
fn bin_of(found: f64, width: f64) -> u32 {
    let bin = found / width;
    if bin < BINS as f64 { bin as u32 } else { BEYOND }
}

/// The bin of element i of copies of `1 << shift` numbers: of a distance in arcs, if a node adds it up.
#[lambda]
fn bin_arcs(i: u64, nodes: u64, dist: Reads<u32>, shift: u64, within: f64, width: f64) -> u32 {
    let level = dist[i];
    let v = i & ((1_u64 << shift) - 1_u64);
    if v < nodes && level != 0_u32 && level != u32::MAX && level as f64 <= within {
        return bin_of(level as f64, width);
    }
    NOTHING
}

/// The same of distances by weight from the sources from number `first` on.
#[lambda]
fn bin(
    i: u64,
    nodes: u64,
    dist: Reads<f32>,
    sources: Reads<u32>,
    first: u64,
    shift: u64,
    within: f64,
    width: f64,
) -> u32 {
    let found = dist[i] as f64;
    let v = i & ((1_u64 << shift) - 1_u64);
    if v < nodes && found <= within && sources[first + (i >> shift)] as u64 != v {
        return bin_of(found, width);
    }
    NOTHING
}

/// The same of distances in 64 bits from one source.
#[lambda]
fn bin_double(
    i: u64,
    dist: Reads<f64>,
    sources: Reads<u32>,
    first: u64,
    within: f64,
    width: f64,
) -> u32 {
    let found = dist[i];
    if found <= within && sources[first] as u64 != i {
        return bin_of(found, width);
    }
    NOTHING
}

/// How distances are found.
#[derive(Clone)]
pub(super) enum How {
    Copies(Copied),
    /// By weight.
    Searches(Each),
}

impl How {
    /// Whether distances are added up in 64 bits.
    pub fn is_double(&self) -> bool {
        matches!(self, How::Searches(each) if each.is_double())
    }

    /// Most sources of a batch.
    pub fn at_once(&self) -> usize {
        match self {
            How::Copies(copied) => copied.shape.copies,
            How::Searches(each) => each.beside(),
        }
    }

    fn graph(&self) -> &WeightedGraph {
        match self {
            How::Copies(copied) => &copied.graph,
            How::Searches(each) => each.graph(),
        }
    }
}

/// What replicas find out.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub scales: Scales,
    /// No distance beyond it counts.
    pub within: f64,
    /// The least distance of each node as well, by weight.
    pub least: bool,
    /// Pairs are counted in bins of this width.
    pub width: Option<f64>,
}

/// The program of one replica. It works on its `batches` of sources.
pub(super) fn program(
    r: &mut Replica,
    (how, wanted): (&How, Wanted),
    (sources, batches): (&[u32], &Batches),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Sums>> {
    let Wanted { scales, within, least, width } = wanted;
    let layout = &how.graph().layout;
    let nodes = how.graph().graph.nodes();
    let scales = scales.agreed(r)?;
    let mut state = State::allocate(r, (nodes, sources.len(), if least { nodes } else { 0 }))?;
    let labels: Vec<u32> = sources.iter().map(|source| layout.label(*source)).collect();
    state.sources.assign(&labels)?;
    let at_once = how.at_once();
    let way = match how {
        How::Copies(copied) => Way::Copies(Box::new(Copies::new(r, copied)?)),
        How::Searches(each) => Way::Searches(each.on(r)?),
    };
    let adds = match how {
        How::Copies(Copied { distance: Distance::Arcs, .. }) => add_arcs(),
        How::Copies(_) => add(),
        How::Searches(each) if each.is_double() => add_double(),
        How::Searches(_) => add(),
    };
    let near = match how.is_double() {
        _ if !least => None,
        true => Some(near_double()),
        false => Some(near()),
    };
    let bins = match how {
        How::Copies(Copied { distance: Distance::Arcs, .. }) => bin_arcs(),
        How::Searches(each) if each.is_double() => bin_double(),
        How::Copies(_) | How::Searches(_) => bin(),
    };
    let pairs = width.map(|width| Pairs::new(r, width)).transpose()?.map(|pairs| (bins, pairs));
    let mut driver =
        Driver { way, labels, batches, nodes, at_once, scales, within, state, adds, near, pairs };
    let measured = timed(r, run, &mut driver)?;
    let Driver { state: State { far, harmonic, reached, farthest, nearest, .. }, pairs, .. } =
        driver;
    ReplicaAnswer::new(measured, || {
        let sum = |words: &Replicated<u64>, scale: f64| -> Result<Vec<f64>> {
            let words = values(r, words)?;
            if words.is_empty() {
                return Ok(Vec::new());
            }
            let of = |v: usize| {
                // The last word first: so small numbers are not lost.
                let words = words[v..].iter().step_by(nodes).rev();
                words.fold(0.0, |lower, word| lower / PARTS + *word as f64) / scale
            };
            Ok(layout.to_input_order((0..nodes).map(of).collect()))
        };
        let (reached, farthest) = (values(r, &reached)?, values(r, &farthest)?);
        let nearest = values(r, &nearest)?;
        let there = !reached.is_empty();
        Ok(Sums {
            far: sum(&far, scales.far)?,
            harmonic: sum(&harmonic, scales.harmonic)?,
            reached: if there { layout.to_input_order(reached) } else { reached },
            farthest: if there { layout.to_input_order(farthest) } else { farthest },
            nearest: if nearest.is_empty() { nearest } else { layout.to_input_order(nearest) },
            pairs: pairs.map_or(Ok(Vec::new()), |(_, pairs)| values(r, pairs.array()))?,
        })
    })
}

enum Way<'a> {
    Copies(Box<Copies>),
    Searches(Alone<'a>),
}

impl Way<'_> {
    /// `args`, and the distances by weight from the last `count` sources, or from number `number` of those that were searched from
    /// side by side.
    fn found<'b>(&'b self, args: Args<'b>, (number, count): (usize, u64)) -> Args<'b> {
        let lanes = |args: Args<'b>, shift: u32| {
            args.scalar("count", count).scalar("shift", u64::from(shift))
        };
        match self {
            Way::Copies(copies) => {
                let args = args.reads_bits("dist", copies.distances(), Dtype::F32);
                lanes(args, copies.shift())
            }
            Way::Searches(alone) => match alone.reached_of(number) {
                Reached::F32(dist) => lanes(args.reads("dist", dist), 0),
                Reached::F64(dist) => args.reads("dist", dist),
            },
        }
    }
}

/// One run, to be repeated.
struct Driver<'a> {
    way: Way<'a>,
    /// Of the sources.
    labels: Vec<u32>,
    batches: &'a Batches,
    nodes: usize,
    /// Most sources of a batch.
    at_once: usize,
    scales: Scales,
    /// Distances above it do not count.
    within: f64,
    state: State,
    adds: Lambda<()>,
    /// Where the least distance is wanted.
    near: Option<Lambda<()>>,
    /// Where pairs are counted: the bin of one.
    pairs: Option<(Lambda<u32>, Pairs)>,
}

impl Run for Driver<'_> {
    /// The first use of a lambda is a meeting of all replicas, and these will not make the same steps.
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if let Way::Copies(copies) = &mut self.way {
            copies.search(r, &self.state.sources, 0..0)?;
        }
        self.add(r, (0, 0..0), 0)
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.batches.reset();
        self.pairs.iter_mut().for_each(|(_, pairs)| pairs.reset());
        let State { far, harmonic, reached, farthest, nearest, .. } = &mut self.state;
        r.fill("far", far, 0)?;
        r.fill("harmonic", harmonic, 0)?;
        r.fill("reached", reached, 0)?;
        r.fill("nearest", nearest, f64::INFINITY)?;
        r.fill("farthest", farthest, 0.0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for batch in self.batches.of(r) {
            let first = batch * self.at_once;
            let sources = first..self.labels.len().min(first + self.at_once);
            match &mut self.way {
                Way::Copies(copies) => {
                    copies.searched((r, log), &self.state.sources, sources.clone())?;
                }
                Way::Searches(alone) => {
                    alone.search_all(r, log, &self.labels[sources.clone()], |_, _, _| Ok(()))?;
                }
            }
            operators((r, log, "step add"), |r| self.add_all(r, sources))?;
            log.book("step add", (0, 0), (0, 0), "none");
        }
        self.pairs.iter_mut().try_for_each(|(_, pairs)| pairs.end())?;
        if !self.batches.are_dealt() {
            return Ok(());
        }
        let State { far, harmonic, reached, farthest, nearest, .. } = &mut self.state;
        // Replicas have made different numbers of steps, and meet under a number that is the same for all.
        r.meet_as(self.labels.len() as u64);
        r.merge_all(&mut [far, harmonic, reached, farthest])?;
        if self.near.is_some() {
            r.merge(nearest)?;
        }
        self.pairs.iter_mut().try_for_each(|(_, pairs)| pairs.merge(r))?;
        log.book("step sums", (0, 0), (0, 0), "sum");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let State { far, harmonic, reached, farthest, nearest, .. } = &self.state;
        let sums = [far, harmonic].map(Words::of);
        let ends = [farthest, nearest].map(Words::of);
        let pairs = self.pairs.iter().map(|(_, pairs)| Words::of(pairs.array()));
        sums.into_iter().chain([Words::of(reached)]).chain(ends).chain(pairs).collect()
    }
}

impl Driver<'_> {
    /// All nodes add up what the last searches, from these sources, have found.
    fn add_all(&mut self, r: &mut Replica, sources: Range<usize>) -> Result<()> {
        match self.way {
            Way::Copies(_) => self.add(r, (0, sources), self.nodes),
            Way::Searches(_) => sources
                .enumerate()
                .try_for_each(|(i, source)| self.add(r, (i, source..source + 1), self.nodes)),
        }
    }

    /// The first `nodes` nodes add up what was found from these sources, the first of which is number `number` of the last searches.
    fn add(
        &mut self,
        r: &mut Replica,
        (number, sources): (usize, Range<usize>),
        nodes: usize,
    ) -> Result<()> {
        let Scales { far: far_unit, harmonic: harmonic_unit } = self.scales;
        let State { sources: labels, far, harmonic, reached, farthest, nearest } = &mut self.state;
        let over = Over::range(0..nodes);
        let args = Args::new()
            .writes("far", far)
            .writes("harmonic", harmonic)
            .writes("reached", reached)
            .writes("farthest", farthest)
            .scalar("within", self.within);
        let (count, first) = (sources.len() as u64, sources.start as u64);
        let args = match &self.way {
            Way::Copies(copies) if !copies.is_weighted() => args
                .reads("dist", copies.distances())
                .scalar("count", count)
                .scalar("shift", u64::from(copies.shift()))
                .scalar("unit", harmonic_unit),
            way => way
                .found(args, (number, count))
                .scalar("nodes", self.nodes as u64)
                .reads("sources", labels)
                .scalar("first", first)
                .scalar("far_unit", far_unit)
                .scalar("harmonic_unit", harmonic_unit),
        };
        r.for_all("add", over, &self.adds, args)?;
        if let Some(near) = &self.near {
            let args = self.way.found(Args::new().writes("nearest", nearest), (number, count));
            r.for_all("near", over, near, args)?;
        }
        self.count(r, (number, sources), nodes)
    }

    /// Counts the distances that the first `nodes` nodes have added up, where that is wanted.
    fn count(
        &mut self,
        r: &mut Replica,
        (number, sources): (usize, Range<usize>),
        nodes: usize,
    ) -> Result<()> {
        let Some((bins, pairs)) = &mut self.pairs else { return Ok(()) };
        let args = Args::new().scalar("within", self.within).scalar("width", pairs.width());
        let all = self.nodes as u64;
        let of = |args| {
            Args::reads(args, "sources", &self.state.sources).scalar("first", sources.start as u64)
        };
        let mut elements = nodes;
        let args = match &self.way {
            Way::Copies(copies) => {
                let shift = copies.shift();
                elements = if nodes == 0 { 0 } else { sources.len() << shift };
                let args = args.scalar("nodes", all).scalar("shift", u64::from(shift));
                match copies.is_weighted() {
                    true => of(args.reads_bits("dist", copies.distances(), Dtype::F32)),
                    false => args.reads("dist", copies.distances()),
                }
            }
            Way::Searches(alone) => match alone.reached_of(number) {
                // A single copy.
                Reached::F32(dist) => {
                    of(args.scalar("nodes", all).scalar("shift", 63_u64).reads("dist", dist))
                }
                Reached::F64(dist) => of(args.reads("dist", dist)),
            },
        };
        let over = Over::elements(elements).whole();
        pairs.add_all(&r.histogram("count", over, bins, args, ALL)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        for lambda in [add_arcs(), add(), add_double(), near(), near_double()] {
            lambda.compile("sm_90").unwrap();
        }
        for lambda in [bin_arcs(), bin(), bin_double()] {
            lambda.compile("sm_90").unwrap();
        }
    }
}
