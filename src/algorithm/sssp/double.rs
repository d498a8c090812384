//! The search in f64: near-far to the end, by every replica alone. Distances are unique in f64 as they are in f32
//! (x -> fl(x + w) is monotone), so that replicas end equal without a word. Sums of whole numbers are exact below 2^53.
//!
//! **Arrays.** `dist: [n] f64, replicated, MIN`; on the host `far` and `marks: [n] bits`, on GPUs what
//! `cuda/double.rs` allocates.

use super::PathOptions;
use super::cuda::Double;
use super::host;
use super::length::Length;
use crate::algorithm::frame::{Brought, Engine, Log, Run, step, timed};
use crate::algorithm::same::Words;
use crate::choice::Choice;
use crate::collective::{MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::{WeightedGraph, WeightedLayout};

/// Buckets of this many mean weights: wide on flat graphs, whose frontiers are small; narrow on skewed ones, where
/// what is relaxed too early is relaxed again.
const DELTA_FLAT: f64 = 16.0;
const DELTA_SKEWED: f64 = 1.0;

/// The width of a bucket.
pub(super) fn delta(layout: &WeightedLayout, asked: Choice<f32>) -> f64 {
    let means = if layout.flat { DELTA_FLAT } else { DELTA_SKEWED };
    asked.given().map_or(means * layout.mean_weight, f64::from)
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    p: &WeightedGraph,
    seeds: &[u32],
    delta: f64,
    options: &PathOptions,
) -> Result<Brought<f64>> {
    let (rank, trace) = (r.rank(), options.run.trace);
    let dist = r.array("dist in f64", p.layout.nodes, MergeOp::Min)?;
    let cuda = |device: &mut _| Double::new(device, p.on_device(rank)?, &p.layout, seeds, trace);
    let words = p.layout.nodes.div_ceil(64);
    let engine = Engine::new(r, cuda, || Ok([vec![0; words], vec![0; words]]))?;
    let mut search = Search { p, seeds, delta, dist, engine };
    let measured = timed(r, &options.run, &mut search)?;
    Brought::new(r, &search.dist, measured)
}

/// One search, to be repeated.
struct Search<'a> {
    p: &'a WeightedGraph,
    seeds: &'a [u32],
    delta: f64,
    dist: Replicated<f64>,
    /// On the host the far pile and marks of what is near, as bits.
    engine: Engine<Double, [Vec<u64>; 2]>,
}

impl Run for Search<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let (p, seeds, rank) = (self.p, self.seeds, r.rank());
        self.engine.with(
            r,
            &mut self.dist,
            |device, double, dist| double.reset(device, p.on_device(rank)?, dist),
            |[far, marks], dist, _| {
                let dist = dist.host_mut().unwrap_or_default();
                dist.fill(f64::INFINITE);
                marks.fill(0);
                far.fill(0);
                for v in seeds.iter().map(|seed| *seed as usize) {
                    dist[v] = f64::ZERO;
                    if v < p.layout.active {
                        far[v / 64] |= 1 << (v % 64);
                    }
                }
            },
        )
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        const NAME: &str = "step near-far in f64";
        let (p, delta, rank) = (self.p, self.delta, r.rank());
        let (relaxed, rounds) = step(
            (r, log, NAME),
            &mut self.engine,
            &mut self.dist,
            |device, double, dist| double.launch(device, p.on_device(rank)?, dist, delta),
            |device, double| double.found(device),
            |[far, marks], dist, beat| {
                let dist = dist.host_mut().unwrap_or_default();
                host::near_far(&p.layout.out, dist, far, marks, delta, beat)
            },
        )?;
        log.book(rounds, relaxed, "none");
        log.note(NAME, (self.seeds.len() as u64, 0), "none");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.dist)]
    }
}
