//! What the runs of every workload have in common.

use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// The width of the numbers that an answer is found in.
    Precision, "--precision" {
        /// The workload chooses by the graph and by what it finds.
        #[default]
        Auto = "auto",
        /// 32 bits.
        F32 = "f32",
        /// 64 bits.
        F64 = "f64",
    }
);

words!(
    /// How replicas are made equal after a step.
    MergeMode, "--merge" {
        /// Redundant where that is cheaper, else exchange only what changed.
        #[default]
        Auto = "auto",
        /// The textbook loop: advance the chunk, OR the frontiers, MIN the distances.
        Dense = "dense",
        /// Always cut pulls by chunk, where auto would weigh it: one end of an ablation.
        Split = "split",
        /// Never communicate: every replica computes everything. The other end.
        Redundant = "redundant",
    }
);

impl MergeMode {
    /// Whether replicas, `world` of them, each do a part of work that may be done whole; `little`: it takes less time than to merge.
    pub(crate) fn deals(self, world: usize, little: bool) -> bool {
        match self {
            MergeMode::Redundant => false,
            MergeMode::Auto => world > 1 && !little,
            MergeMode::Dense | MergeMode::Split => world > 1,
        }
    }
}

/// How often a workload runs, how its replicas are made equal, and what is kept of a run. The same for all workloads;
/// on the command line these are options of `hive run` itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// How replicas are made equal.
    pub merge: MergeMode,
    /// Timed runs, at least one. A workload that searches from several sources, one run each, makes at least one run
    /// from each.
    pub runs: u32,
    /// Runs before the timed ones.
    pub warmup: u32,
    /// Keep an entry for each iteration of the last run.
    pub trace: bool,
    /// Compare what all runs and all replicas end with.
    pub compare: bool,
    /// Leave the arrays of the answer on the GPU of the first replica: `left` of the answer has them, and what the host has is
    /// empty. On the host arrays are as always. Workloads that cannot refuse it.
    pub leave: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            merge: MergeMode::Auto,
            runs: 1,
            warmup: 0,
            trace: false,
            compare: false,
            leave: false,
        }
    }
}

impl RunOptions {
    /// Whether replicas each do a part of what may be done whole, as [`MergeMode::deals`]. What is left on one GPU is made there.
    pub(crate) fn deals(&self, world: usize, little: bool) -> bool {
        !self.leave && self.merge.deals(world, little)
    }

    /// Refuses an `option` whose values the host finds, where values are left on a GPU.
    pub(crate) fn refuse_left(&self, option: Option<&str>) -> Result<()> {
        match option.filter(|_| self.leave) {
            Some(option) => Err(Error::input(format!(
                "{option} is found on the host, and the answer is to be left on the device; leave one of them out"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        match self.runs {
            0 => Err(Error::input("--runs 0: at least one run is needed")),
            _ => Ok(()),
        }
    }
}
