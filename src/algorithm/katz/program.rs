//! Katz centrality as operators: one program for GPUs and host.

use super::KatzConfig;
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::same::Words;
use crate::collective::{MergeOp, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use crate::operator::{ArcLambda, Args, Fold, FoldLambda, Lambda, Over, lambda};

replicated_arrays! {
    /// The replicated state, for so many nodes.
    pub(super) struct State of usize {
        /// `[n]` the values that an iteration begins with.
        value: Replicated<f64> = "value", Gather, |n| *n;
        /// `[n]` those that it ends with.
        next: Replicated<f64> = "next value", Gather, |n| *n;
    }
}

/// The value at the other end of an arc into a node. In a fold, u is the node and v its neighbour.
#[lambda]
fn incoming(u: u32, v: u32, value: Reads<f64>) -> f64 {
    value[v]
}

/// From the sum of what came to the new value.
#[lambda]
fn renew(v: u32, folded: f64, next: Writes<f64>, alpha: f64) {
    next[v] = 1.0 + alpha * folded;
}

/// How far a value went, as a share of it; infinite where it is beyond f64.
#[lambda]
fn change(v: u32, value: Reads<f64>, next: Reads<f64>) -> f64 {
    let x = next[v];
    if x == f64::INFINITY { x } else { (x - value[v]).abs() / x }
}

/// The program of one replica: iterations made, the last change, and the values. `whole`: each replica computes everything.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &KatzConfig,
    (alpha, whole): (f64, bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<(Vec<f64>, u32, f64)>> {
    let state = State::allocate(r, g.graph().nodes())?;
    let lambdas = (incoming(), renew(), change());
    let mut driver = Driver { g, config, alpha, whole, state, lambdas, iterations: 0, change: 0.0 };
    let measured = timed(r, run, &mut driver)?;
    let Driver { state, iterations, change, .. } = driver;
    ReplicaAnswer::new(measured, || Ok((values(r, &state.value)?, iterations, change)))
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    config: &'a KatzConfig,
    alpha: f64,
    /// Every replica computes everything.
    whole: bool,
    state: State,
    lambdas: (ArcLambda<f64>, FoldLambda<f64>, Lambda<f64>),
    iterations: u32,
    change: f64,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if matches!(r.backend, Backend::Cuda(_)) {
            self.sum(r)?;
            self.change(r)?;
        }
        Ok(())
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        r.fill("value", &mut self.state.value, 1.0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        self.iterations = 0;
        loop {
            self.change = self.iterate(r, log)?;
            self.iterations += 1;
            std::mem::swap(&mut self.state.value, &mut self.state.next);
            if !self.change.is_finite() {
                let (alpha, iterations) = (self.alpha, self.iterations);
                return Err(Error::input(format!(
                    "--alpha {alpha}: values grow beyond f64 after {iterations} iterations; use a smaller one or auto"
                )));
            }
            if self.change <= self.config.tolerance || self.iterations == self.config.iterations {
                return Ok(());
            }
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.value)]
    }
}

impl Driver<'_> {
    /// Makes the next values of all nodes; the largest change.
    fn iterate(&mut self, r: &mut Replica, log: &mut Log) -> Result<f64> {
        let g = self.g;
        let own = if self.whole { 0..g.graph().nodes() as u64 } else { g.chunks().range(r.rank()) };
        operators((r, log, "step sum"), |r| self.sum(r))?;
        if !self.whole {
            r.gather(&mut self.state.next, g.chunks())?;
        }
        let change = self.change(r)?;
        let merge = if self.whole { "none" } else { "gather" };
        let offsets = g.graph().offsets();
        let arcs = offsets[own.end as usize] - offsets[own.start as usize];
        log.book("step sum", (1, arcs), (own.end - own.start, arcs), merge);
        Ok(change)
    }

    /// Makes the next values of a replica's nodes.
    fn sum(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { g, whole, alpha, state, lambdas: (incoming, renew, _), .. } = self;
        let State { value, next } = state;
        let args = Args::new().writes("next", next).scalar("alpha", *alpha);
        let fold = Fold::then(renew, args, MergeOp::Sum).backward();
        let args = Args::new().reads("value", value);
        r.neighbor_reduce("sum", nodes(g, *whole), incoming, args, fold)
    }

    /// The largest change of a value.
    fn change(&self, r: &mut Replica) -> Result<f64> {
        let State { value, next } = &self.state;
        let args = Args::new().reads("value", value).reads("next", next);
        r.reduce("change", nodes(self.g, self.whole), &self.lambdas.2, args, MergeOp::Max)
    }
}

/// The nodes that a replica computes.
fn nodes(g: &Resident, whole: bool) -> Over<'_> {
    if whole { Over::nodes(g).whole() } else { Over::nodes(g) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        incoming().compile("sm_90").unwrap();
        renew().compile("sm_90").unwrap();
        change().compile("sm_90").unwrap();
    }
}
