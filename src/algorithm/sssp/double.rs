//! The search in f64: near-far to the end, by every replica alone. Distances are unique in f64 as they are in f32
//! (x -> fl(x + w) is monotone), so that replicas end equal without a word. Sums of whole numbers are exact below 2^53.
//!
//! **Arrays.** `dist: [n] f64, replicated, MIN`; on the host `far` and `marks: [n] bits`, on GPUs what
//! `backend/cuda/sssp/double.rs` allocates.

use super::cuda::Double;
use super::host;
use super::length::Length;
use super::{Answer, SsspConfig, brought};
use crate::algorithm::frame::{Log, Repeat, Run, Step, timed};
use crate::algorithm::same::Words;
use crate::collective::{Frontier, MergeOp, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::{Inner, LaidOut};
use std::time::Instant;

/// Buckets of this many mean weights: wide on flat graphs, whose frontiers are small; narrow on skewed ones, where
/// what is relaxed too early is relaxed again.
const DELTA_FLAT: f64 = 16.0;
const DELTA_SKEWED: f64 = 1.0;

/// The width of a bucket.
pub(super) fn delta(layout: &LaidOut, asked: Option<f32>) -> f64 {
    let means = if layout.flat { DELTA_FLAT } else { DELTA_SKEWED };
    asked.map_or(means * layout.mean_weight, f64::from)
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    p: &Inner,
    seeds: &[u32],
    delta: f64,
    config: &SsspConfig,
) -> Result<Answer<f64>> {
    let (rank, trace) = (r.rank(), config.trace);
    let dist = r.array("dist in f64", p.layout.nodes, MergeOp::Min)?;
    let steps = match &mut r.backend {
        Backend::Host(_) => Steps::Host {
            far: r.node_set("far", p.layout.nodes, MergeOp::Or)?,
            marks: r.node_set("marks", p.layout.nodes, MergeOp::Or)?,
        },
        Backend::Cuda(device) => Steps::Cuda(
            p.on_device(rank, |graph| Double::new(device, graph, &p.layout, seeds, trace))?,
        ),
    };
    let repeat = Repeat::asked(config.runs, config.warmup, config.trace, config.compare);
    let mut search = Search { p, seeds, delta, dist, steps };
    let measured = timed(r, repeat, &mut search)?;
    brought(r, &search.dist, config.compare, measured)
}

/// Who relaxes.
enum Steps {
    Host { far: Frontier, marks: Frontier },
    Cuda(Double),
}

/// One search, to be repeated.
struct Search<'a> {
    p: &'a Inner,
    seeds: &'a [u32],
    delta: f64,
    dist: Replicated<f64>,
    steps: Steps,
}

impl Run for Search<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        match (&mut self.steps, &r.backend) {
            (Steps::Host { far, marks }, _) => {
                let dist = self.dist.host_mut().unwrap_or_default();
                dist.fill(f64::INFINITE);
                marks.words_mut().host_mut().unwrap_or_default().fill(0);
                let far = far.words_mut().host_mut().unwrap_or_default();
                far.fill(0);
                for v in self.seeds.iter().map(|seed| *seed as usize) {
                    dist[v] = f64::ZERO;
                    if v < self.p.layout.active {
                        far[v / 64] |= 1 << (v % 64);
                    }
                }
                Ok(())
            }
            (Steps::Cuda(double), Backend::Cuda(device)) => {
                let rank = r.rank();
                self.p.on_device(rank, |graph| double.reset(device, graph, &self.dist))
            }
            (Steps::Cuda(_), Backend::Host(_)) => Err(mismatch()),
        }
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        const NAME: &str = "step near-far in f64";
        let begin = Instant::now();
        r.begin(log.iteration(), NAME)?;
        let (rank, chance, rendezvous) = (r.rank(), r.chance(), r.rendezvous().clone());
        let step = Step::begin(r)?;
        let (relaxed, rounds) = match (&mut self.steps, &r.backend) {
            (Steps::Host { far, marks }, Backend::Host(worker)) => {
                let dist = self.dist.host_mut().unwrap_or_default();
                let far = far.words_mut().host_mut().unwrap_or_default();
                let marks = marks.words_mut().host_mut().unwrap_or_default();
                let beat = || rendezvous.beat(rank);
                let rows = &self.p.layout.out;
                worker.pool.install(|| host::near_far(rows, dist, far, marks, self.delta, &beat))
            }
            (Steps::Cuda(double), Backend::Cuda(device)) => self.p.on_device(rank, |graph| {
                double.run(device, graph, &self.dist, self.delta, chance)
            })?,
            _ => return Err(mismatch()),
        };
        step.end(r)?;
        log.book(rounds, relaxed, "none");
        log.note(NAME, (self.seeds.len() as u64, 0), "none", begin);
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.dist)]
    }
}

fn mismatch() -> Error {
    Error::machine("steps of another backend; this is a bug")
}
