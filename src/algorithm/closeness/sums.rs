//! Searches in copies, or one after another, whose distances each node adds up.

use super::Sums;
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::copies::{Copied, Copies, Distance};
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::lanes::unit;
use crate::algorithm::same::Words;
use crate::algorithm::sssp::{Alone, Each, Reached};
use crate::collective::{Dtype, Replicated};
use crate::error::Result;
use crate::fleet::Replica;
use crate::graph::Graph;
use crate::layout::WeightedGraph;
use crate::layout::memory::DeviceArray;
use crate::operator::{Args, Lambda, Over, Writes, device, lambda};
use rayon::prelude::*;
use std::ops::Range;

/// One of so many parts of a unit is what the lower words count.
const PARTS: f64 = 4_294_967_296.0;
/// Sums are below 2^62 units.
const UNITS: i32 = 62;

replicated_arrays! {
    /// What nodes add up, for so many nodes and sources.
    struct State of (usize, usize) {
        /// `[sources]` where searches begin, by label.
        sources: Replicated<u32> = "sources", Gather, |s| s.1;
        /// `[n]` the sum of distances, in units, and in parts of a unit.
        far: Replicated<u64> = "far", Sum, |s| s.0;
        far_parts: Replicated<u64> = "parts of far", Sum, |s| s.0;
        /// `[n]` the sum of 1 / distance, in units, and in parts of a unit.
        harmonic: Replicated<u64> = "harmonic", Sum, |s| s.0;
        harmonic_parts: Replicated<u64> = "parts of harmonic", Sum, |s| s.0;
        /// `[n]` sources other than the node at a finite distance.
        reached: Replicated<u32> = "reached", Sum, |s| s.0;
        /// `[n]` the largest distance.
        farthest: Replicated<f64> = "farthest", Max, |s| s.0;
    }
}

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(nodes: usize, sources: usize, world: usize) -> Vec<DeviceArray> {
    State::list((nodes, sources), world)
}

/// What a unit is: so many of them are 1, of distances and of their inverses. Sums of a finite number of units have no order.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    far: f64,
    harmonic: f64,
}

impl Scales {
    /// For what is found in `graph`.
    pub fn new(how: &How, graph: &Graph) -> Scales {
        let (nodes, layout) = (graph.nodes() as f64, &how.graph().layout);
        if let How::Copies(Copied { distance: Distance::Arcs, .. }) = how {
            return Scales { far: 1.0, harmonic: unit(graph.nodes()) as f64 };
        }
        // No path is longer than all arcs, and none that is longer than 0 is shorter than the least weight above 0.
        let longest = layout.mean_weight * layout.out.arc_count() as f64;
        let least = match graph.weights() {
            Some(weights) => {
                let positive = weights.par_iter().copied().filter(|weight| *weight > 0.0);
                positive.reduce(|| f32::INFINITY, f32::min)
            }
            None => 1.0,
        };
        let fits = |most: f64| match most.is_normal() {
            true => 2f64.powi(UNITS - most.log2().ceil() as i32),
            false => 1.0,
        };
        Scales { far: fits(nodes * longest), harmonic: fits(nodes / f64::from(least)) }
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
        if level != 0_u32 && level != u32::MAX {
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

/// v adds a distance up. What is at distance 0 has no inverse.
#[device]
fn note(
    v: u64,
    found: f64,
    far_unit: f64,
    harmonic_unit: f64,
    far: Writes<u64>,
    far_parts: Writes<u64>,
    harmonic: Writes<u64>,
    harmonic_parts: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    let units = found * far_unit;
    far[v] += units as u64;
    far_parts[v] += ((units - (units as u64) as f64) * PARTS) as u64;
    if found > 0.0_f64 {
        let inverse = harmonic_unit / found;
        harmonic[v] += inverse as u64;
        harmonic_parts[v] += ((inverse - (inverse as u64) as f64) * PARTS) as u64;
    }
    reached[v] += 1_u32;
    farthest[v] = farthest[v].max(found);
}

/// Node i adds up its distances by weight from so many sources, those from `first` on.
#[lambda]
fn add(
    i: u64,
    dist: Reads<f32>,
    sources: Reads<u32>,
    first: u64,
    count: u64,
    shift: u64,
    far_unit: f64,
    harmonic_unit: f64,
    far: Writes<u64>,
    far_parts: Writes<u64>,
    harmonic: Writes<u64>,
    harmonic_parts: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    for lane in 0_u64..count {
        let found = dist[(lane << shift) + i] as f64;
        if found < f64::INFINITY && sources[first + lane] as u64 != i {
            note(
                i,
                found,
                far_unit,
                harmonic_unit,
                far,
                far_parts,
                harmonic,
                harmonic_parts,
                reached,
                farthest,
            );
        }
    }
}

/// The same of distances in 64 bits from one source.
#[lambda]
fn add_double(
    i: u64,
    dist: Reads<f64>,
    sources: Reads<u32>,
    first: u64,
    far_unit: f64,
    harmonic_unit: f64,
    far: Writes<u64>,
    far_parts: Writes<u64>,
    harmonic: Writes<u64>,
    harmonic_parts: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<f64>,
) {
    let found = dist[i];
    if found < f64::INFINITY && sources[first] as u64 != i {
        note(
            i,
            found,
            far_unit,
            harmonic_unit,
            far,
            far_parts,
            harmonic,
            harmonic_parts,
            reached,
            farthest,
        );
    }
}

/// How distances are found.
#[derive(Clone)]
pub(super) enum How {
    Copies(Copied),
    /// By weight.
    OneByOne(Each),
}

impl How {
    /// Whether distances are added up in 64 bits.
    pub fn is_double(&self) -> bool {
        matches!(self, How::OneByOne(each) if each.is_double())
    }

    fn graph(&self) -> &WeightedGraph {
        match self {
            How::Copies(copied) => &copied.graph,
            How::OneByOne(each) => each.graph(),
        }
    }
}

/// The program of one replica. `dealt`: it has every `world`-th batch of sources, else all.
pub(super) fn program(
    r: &mut Replica,
    (how, scales): (&How, Scales),
    (sources, dealt): (&[u32], bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Sums>> {
    let layout = &how.graph().layout;
    let nodes = how.graph().graph.nodes();
    let mut state = State::allocate(r, (nodes, sources.len()))?;
    let labels: Vec<u32> = sources.iter().map(|source| layout.label(*source)).collect();
    state.sources.assign(&labels)?;
    let (way, at_once) = match how {
        How::Copies(copied) => (Way::Copies(Copies::new(r, copied)?), copied.shape.copies),
        How::OneByOne(each) => (Way::OneByOne(each.on(r)?), 1),
    };
    let adds = match how {
        How::Copies(Copied { distance: Distance::Arcs, .. }) => add_arcs(),
        How::Copies(_) => add(),
        How::OneByOne(each) if each.is_double() => add_double(),
        How::OneByOne(_) => add(),
    };
    let mut driver = Driver { way, labels, nodes, at_once, scales, state, adds, dealt };
    let measured = timed(r, run, &mut driver)?;
    let State { far, far_parts, harmonic, harmonic_parts, reached, farthest, .. } = driver.state;
    ReplicaAnswer::new(measured, || {
        let sum = |units: &Replicated<u64>, parts: &Replicated<u64>, scale: f64| -> Result<_> {
            let (units, parts) = (values(r, units)?, values(r, parts)?);
            let each = units.into_iter().zip(parts);
            let all: Vec<f64> =
                each.map(|(units, parts)| (units as f64 + parts as f64 / PARTS) / scale).collect();
            Ok(if all.is_empty() { all } else { layout.to_input_order(all) })
        };
        let (reached, farthest) = (values(r, &reached)?, values(r, &farthest)?);
        let there = !reached.is_empty();
        Ok(Sums {
            far: sum(&far, &far_parts, scales.far)?,
            harmonic: sum(&harmonic, &harmonic_parts, scales.harmonic)?,
            reached: if there { layout.to_input_order(reached) } else { reached },
            farthest: if there { layout.to_input_order(farthest) } else { farthest },
        })
    })
}

enum Way<'a> {
    Copies(Copies),
    OneByOne(Alone<'a>),
}

/// One run, to be repeated.
struct Driver<'a> {
    way: Way<'a>,
    /// Of the sources.
    labels: Vec<u32>,
    nodes: usize,
    /// Most sources of a batch.
    at_once: usize,
    scales: Scales,
    state: State,
    adds: Lambda<()>,
    dealt: bool,
}

impl Run for Driver<'_> {
    /// The first use of a lambda is a meeting of all replicas, and these will not make the same steps.
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if let Way::Copies(copies) = &mut self.way {
            copies.search(r, &self.state.sources, 0..0)?;
        }
        self.add(r, 0..0, 0)
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let State { far, far_parts, harmonic, harmonic_parts, reached, farthest, .. } =
            &mut self.state;
        for sums in [far, far_parts, harmonic, harmonic_parts] {
            r.fill("sums", sums, 0)?;
        }
        r.fill("reached", reached, 0)?;
        r.fill("farthest", farthest, 0.0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let batches = self.labels.len().div_ceil(self.at_once);
        let (first, each) = if self.dealt { (r.rank(), r.world()) } else { (0, 1) };
        for batch in (first..batches).step_by(each) {
            let first = batch * self.at_once;
            let sources = first..self.labels.len().min(first + self.at_once);
            match &mut self.way {
                Way::Copies(copies) => {
                    copies.searched((r, log), &self.state.sources, sources.clone())?;
                }
                Way::OneByOne(alone) => alone.search(r, log, self.labels[sources.start])?,
            }
            operators((r, log, "step add"), |r| self.add(r, sources, self.nodes))?;
            log.book("step add", (0, 0), (0, 0), "none");
        }
        if !self.dealt {
            return Ok(());
        }
        let State { far, far_parts, harmonic, harmonic_parts, reached, farthest, .. } =
            &mut self.state;
        // Replicas have made different numbers of steps, and meet under a number that is the same for all.
        r.meet_as(batches as u64);
        r.merge_all(&mut [far, far_parts, harmonic, harmonic_parts, reached, farthest])?;
        log.book("step sums", (0, 0), (0, 0), "sum");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let State { far, far_parts, harmonic, harmonic_parts, reached, farthest, .. } = &self.state;
        let sums = [far, far_parts, harmonic, harmonic_parts].map(|sums| Words::of(sums));
        sums.into_iter().chain([Words::of(reached), Words::of(farthest)]).collect()
    }
}

impl Driver<'_> {
    /// The first `nodes` nodes add up what the last searches, from these sources, have found.
    fn add(&mut self, r: &mut Replica, sources: Range<usize>, nodes: usize) -> Result<()> {
        let Scales { far: far_unit, harmonic: harmonic_unit } = self.scales;
        let State { sources: labels, far, far_parts, harmonic, harmonic_parts, reached, farthest } =
            &mut self.state;
        let over = Over::range(0..nodes);
        let args = Args::new()
            .writes("far", far)
            .writes("harmonic", harmonic)
            .writes("reached", reached)
            .writes("farthest", farthest);
        let (count, first) = (sources.len() as u64, sources.start as u64);
        let args = match &self.way {
            Way::Copies(copies) if !copies.is_weighted() => args
                .reads("dist", copies.distances())
                .scalar("count", count)
                .scalar("shift", u64::from(copies.shift()))
                .scalar("unit", harmonic_unit),
            way => {
                let args = args
                    .writes("far_parts", far_parts)
                    .writes("harmonic_parts", harmonic_parts)
                    .reads("sources", labels)
                    .scalar("first", first)
                    .scalar("far_unit", far_unit)
                    .scalar("harmonic_unit", harmonic_unit);
                match way {
                    Way::Copies(copies) => args
                        .reads_bits("dist", copies.distances(), Dtype::F32)
                        .scalar("count", count)
                        .scalar("shift", u64::from(copies.shift())),
                    Way::OneByOne(alone) => match alone.reached() {
                        Reached::F32(dist) => {
                            args.reads("dist", dist).scalar("count", count).scalar("shift", 0_u64)
                        }
                        Reached::F64(dist) => args.reads("dist", dist),
                    },
                }
            }
        };
        r.for_all("add", over, &self.adds, args)
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
        for lambda in [add_arcs(), add(), add_double()] {
            lambda.compile("sm_90").unwrap();
        }
    }
}
