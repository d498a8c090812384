//! Samples as operators: one program for GPUs and host.

use super::SampleConfig;
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed};
use crate::algorithm::left::{LeftArray, LeftColumn, LeftMeaning};
use crate::algorithm::rows::{Rows, in_memory};
use crate::algorithm::same::Words;
use crate::algorithm::start::own_of;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use crate::operator::{Args, Lambda, Over, lambda};
use std::ops::Range;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub sources: usize,
    /// Arcs of rows whose order is told.
    pub ordered: usize,
    /// Places of the own sources.
    pub values: usize,
}

replicated_arrays! {
    /// The state.
    pub(super) struct State of Sizes {
        /// `[sources]` nodes.
        sources: Replicated<u32> = "sources", Gather, |s| s.sources;
        /// `[m]` or nothing, as [`Rows`] has it.
        order: Replicated<u32> = "order of arcs", Gather, |s| s.ordered;
        /// `[hops][own, places]` nodes.
        samples: Replicated<u32> = "samples", Gather, |s| s.values;
    }
}

/// No node.
const NONE: u32 = u32::MAX;
/// Comparisons with arcs drawn before that a launch on a host makes, at most.
const LOOKS: usize = 1 << 28;

/// Parent i of a hop draws its children. Each source has so many `parents` in the hop; those of source 0 come first. In `samples` the
/// parents of this replica begin at `before` and their children at `behind`; `root` is 1 in the first hop, whose parents are the
/// sources. A source has `draws` parents in all hops, of which `number` come before this hop.
#[lambda]
fn draw(
    g: GraphView,
    i: u64,
    sources: Reads<u32>,
    order: Reads<u32>,
    samples: Writes<u32>,
    first: u64,
    parents: u64,
    root: u32,
    before: u64,
    behind: u64,
    fanout: u64,
    number: u64,
    draws: u64,
    seed: u64,
    ordered: u32,
    replace: u32,
) {
    let place = i - first * parents;
    let node = if root != 0_u32 { sources[i] } else { samples[before + place] };
    let at = behind + place * fanout;
    let mut degree = 0_u64;
    if node != NONE {
        degree = g.degree(node);
    }
    let mut random = Random::new(seed, (i / parents) * draws + number + i % parents);
    // Numbers of arcs first, which are looked up among those drawn before.
    for j in 0_u64..fanout {
        let mut k = NONE;
        if degree > 0_u64 {
            if replace != 0_u32 {
                k = random.below(degree) as u32;
            } else if degree <= fanout {
                if j < degree {
                    k = j as u32;
                }
            } else {
                let last = degree - fanout + j;
                k = random.below(last + 1_u64) as u32;
                for c in 0_u64..j {
                    if samples[at + c] == k {
                        k = last as u32;
                    }
                }
            }
        }
        samples[at + j] = k;
    }
    for j in 0_u64..fanout {
        let k = samples[at + j];
        if k != NONE {
            samples[at + j] = g.edge(node, in_memory(g, node, k as u64, ordered, order)).node;
        }
    }
}

/// What one replica ends with: the places `[hops][own, places]` of its sources, or what it leaves on its GPU in place of them.
type Found = (Vec<Vec<u32>>, Vec<LeftColumn>);

/// The program of one replica. `dealt`: its sources are a slice of all.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &SampleConfig,
    (sources, rows, dealt): (&[u32], &Rows, bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Found>> {
    let (own, most) = own_of(r, sources.len(), dealt);
    let places = config.fanouts.places();
    let values = most * config.fanouts.all_places();
    let sizes = Sizes { sources: sources.len(), ordered: rows.order.len(), values };
    let mut state = State::allocate(r, sizes)?;
    state.sources.assign(sources)?;
    state.order.assign(&rows.order)?;
    let mut driver = Driver { g, config, places, own, dealt, state, draw: draw() };
    let measured = timed(r, run, &mut driver)?;
    let Driver { state: State { sources, samples, .. }, places, own, .. } = driver;
    ReplicaAnswer::new(measured, || {
        if !dealt && !r.leads() {
            return Ok(Default::default());
        }
        if run.leave {
            return Ok((Vec::new(), left(r, sources, samples, &places)?));
        }
        let mut all = samples.to_vec()?;
        all.truncate(own.len() * places.iter().sum::<usize>());
        let mut hops: Vec<Vec<u32>> = Vec::new();
        for places in places.iter().rev() {
            hops.push(all.split_off(all.len() - own.len() * places));
        }
        hops.reverse();
        Ok((hops, Vec::new()))
    })
}

/// What a replica that has all sources leaves on its GPU.
fn left(
    r: &Replica,
    sources: Replicated<u32>,
    samples: Replicated<u32>,
    places: &[usize],
) -> Result<Vec<LeftColumn>> {
    let (sources, samples) = (LeftArray::of(r, sources)?, LeftArray::of(r, samples)?);
    let (many, mut first) = (sources.len(), 0);
    let mut columns = vec![LeftColumn::new("source", LeftMeaning::Node, sources)];
    for (hop, width) in places.iter().enumerate() {
        let array = samples.part(first..first + many * width);
        first += array.len();
        let column = LeftColumn::new(format!("hop{}", hop + 1), LeftMeaning::Node, array);
        columns.push(LeftColumn { width: Some(*width), ..column });
    }
    Ok(columns)
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    config: &'a SampleConfig,
    /// Places of each hop.
    places: Vec<usize>,
    /// Sources of this replica.
    own: Range<usize>,
    dealt: bool,
    state: State,
    draw: Lambda<()>,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if matches!(r.backend, Backend::Cuda(_)) { self.hops(r, 0..0) } else { Ok(()) }
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        r.fill("samples", &mut self.state.samples, NONE)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let own = self.own.clone();
        let draws = (own.len() * self.places.iter().sum::<usize>()) as u64;
        operators((r, log, "step draw"), |r| self.hops(r, own.clone()))?;
        let hops = self.places.len() as u64;
        log.book("step draw", (hops, draws), (own.len() as u64, draws), "none");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.samples)]
    }

    fn everybody(&self) -> bool {
        !self.dealt
    }
}

impl Driver<'_> {
    /// All hops of these sources, which begin where the own ones do.
    fn hops(&mut self, r: &mut Replica, sources: Range<usize>) -> Result<()> {
        let on_host = matches!(r.backend, Backend::Host(_));
        let Driver { g, config, places, own, state, draw, .. } = self;
        let State { sources: roots, order, samples } = state;
        let draws = 1 + places[..places.len() - 1].iter().sum::<usize>();
        let (mut parents, mut number, mut before, mut behind) = (1, 0, 0, 0);
        for (hop, fanout) in config.fanouts.numbers().iter().enumerate() {
            let all = sources.start * parents..sources.end * parents;
            // A host gives no sign of life within a launch's block of nodes, and each may compare this often.
            let looks = (*fanout as usize).pow(2);
            let most = if on_host { (LOOKS / looks).max(1) } else { usize::MAX };
            let pieces = all.len().div_ceil(most).max(1);
            for piece in 0..pieces {
                let begin = all.start + piece * all.len() / pieces;
                let end = all.start + (piece + 1) * all.len() / pieces;
                let args = Args::new()
                    .scalar("first", own.start as u64)
                    .scalar("parents", parents as u64)
                    .scalar("root", u32::from(hop == 0))
                    .scalar("before", before as u64)
                    .scalar("behind", behind as u64)
                    .scalar("fanout", u64::from(*fanout))
                    .scalar("number", number as u64)
                    .scalar("draws", draws as u64)
                    .scalar("seed", config.seed)
                    .scalar("ordered", u32::from(!order.is_empty()))
                    .scalar("replace", u32::from(config.replace))
                    .reads("sources", roots)
                    .reads("order", order)
                    .writes("samples", samples);
                r.for_all("draw", Over::range(begin..end).with(g), draw, args)?;
            }
            number += parents;
            before = behind;
            behind += own.len() * places[hop];
            parents = places[hop];
        }
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
        draw().compile("sm_90").unwrap();
    }
}
