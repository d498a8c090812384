//! Single-source shortest paths, and the search from several sources that vertex nomination makes.
//!
//! **Definition.** Write fl for rounding to the nearest number of f32, or of f64. The length of a path is the sum of its
//! weights, taken forward from its start, fl(... fl(fl(0 + w1) + w2) ... + wk). dist(v) = min over all paths from a source to
//! v of their lengths; +inf where there is none. Weights are 0 or more; an arc without one counts 1.
//!
//! **Idea.** An arc u -> v of weight w is *relaxed* when dist(v) <= fl(dist(u) + w). Relaxing arcs lowers distances until all
//! arcs are relaxed. Three orders of work, chosen by the graph:
//!
//! * *Push-pull*, for skewed degrees. A *push* relaxes the arcs out of the frontier. A *pull* goes over all nodes, and each
//!   relaxes its in-arcs, lightest first: with L the smallest distance in the frontier, it stops at the first arc with
//!   fl(w + L) >= dist(v). That takes a few arcs a node, whatever its degree. The first and last rounds push, the heavy ones
//!   pull: push turns to pull when more than `pull_above` of all arcs leave the frontier, pull to push when no more than
//!   `push_below` do ([`Turns`]). Where weights are wide and fine, GPUs pull the longest rows alone first.
//! * *Windows, then push-pull*, for degrees that are alike, on GPUs. No node is near to all others there, and frontiers that are
//!   pushed as they come relax most arcs many times. So pushes go by windows of distances, each settled before the next, and
//!   from early on only along arcs that lead below a cap. When half of the nodes are settled, a pull follows. A node whose
//!   distance is above the cap looks at all arcs lighter than that distance; others stop as above (`sssp_capped.cuh`).
//! * *Near-far*, for flat degrees and long paths. Relax what lies below a threshold until nothing does, then raise the
//!   threshold by `delta`. Thousands of small rounds stay on the device. If the graph has parts that lie together, GPUs work
//!   on *tiles*, a part at a time in shared memory, and no round is a meeting of all blocks (`kernels/tiles`).
//!
//! **Invariant.** Between rounds every arc out of a node that is not in the frontier is relaxed. Distances only fall, and
//! x -> fl(x + w) is monotone, so the final distances are unique whatever the order of work.
//!
//! **Plans.** *Tiles* or *near-far* where `--delta` is finite, by default on flat graphs, and near-far on one or two
//! host replicas also where degrees are alike: every replica does the whole search.
//! *Redundant*: so does push-pull, after windows or without. *Joint*: for large graphs, GPUs that have a replica each run one
//! launch, push redundantly from snapshots of the distances, and share pulls and the windows of many nodes by node; owners
//! store distances and marks into everybody's arrays. *Cut*: the host leads, pushes are redundant, pulls are cut by chunk, and
//! distances and frontiers are gathered, or lists of what changed where these are short. *Dense* (`--merge dense`) is the
//! textbook loop: push the own chunk's frontier, OR the frontiers, MIN the distances. In f64 every replica searches alone, by
//! tiles or near-far (`double.rs`).
//!
//! **Arrays.** `dist: [n] f32, replicated, MIN`; `front, next: [n] bits, replicated, OR`. All by label; answers are in the
//! graph's node order. Predecessors and nominees follow from the distances on the host.
//!
//! **Source.** Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths",
//! IPDPS 2014 (near-far); Beamer, Asanovic, Patterson, SC 2012 (push and pull); the HIVE phase-2 report (replicas, merges).

mod alone;
mod answer;
mod brought;
mod cuda;
mod double;
mod driver;
mod host;
mod plan;
mod seed_sums;

pub(crate) use alone::{Alone, Each, Reached};
pub use answer::{Ranked, ShortestPaths, best_ranked, ranking};
pub(crate) use answer::{may_overflow, total_weight, weights_are_whole};
pub(crate) use brought::WHOLE;
pub(in crate::algorithm) use cuda::rows as rows_of;
pub(crate) use cuda::{arrays, state_bytes};
pub(crate) use driver::search;
pub use seed_sums::{SeedSums, VnRank};

use super::workload::{config, run};
use super::{InputId, MergeMode, Precision, RunOptions, Seeds};
use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::layout::Prepared;
use serde::{Deserialize, Serialize};

/// The workload.
pub struct Sssp;

/// What shortest paths from one source are asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SsspConfig {
    /// Where to start, in the input's own ids [default: the lowest id in the largest component].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID", allow_hyphen_values = true))]
    pub source: Option<InputId>,
    /// Say the paths to these nodes, from the source: ID,.. | file:PATH. With --output its rows are the nodes of the
    /// paths: target,position,node,distance.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub target: Option<Seeds>,
    /// Also compute the predecessor of each node.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub predecessors: bool,
    /// Width of a window of tiles or near-far, in units of weight: auto | inf (one window) | a number above 0 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WIDTH", allow_hyphen_values = true))]
    pub delta: Choice<f32>,
    /// Width of distances: f32 | f64 | auto (f32, and the run is repeated in f64 where weights are whole numbers and a
    /// distance reaches 2^24, or where a sum is more than f32 holds) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// When push-pull turns.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub turns: Turns,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

/// When push-pull turns, in shares of all arcs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turns {
    /// Push turns to pull when more arcs leave the frontier.
    pub pull_above: f64,
    /// Pull turns to push when no more arcs leave it.
    pub push_below: f64,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { pull_above: 1.0 / 32.0, push_below: 1.0 / 128.0 }
    }
}

config!(SsspConfig);

/// Shortest distances from a source.
///
/// # Errors
/// [`Error::Input`] for options out of range and for a source that the graph does not have; [`Error::Fault`] when a
/// replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn sssp(fleet: &Fleet, graph: &Prepared, config: &SsspConfig) -> Result<ShortestPaths> {
    run::<Sssp>(fleet, graph, config)
}

/// What a search starts from, and the nodes to which paths are asked for, by rising input id.
pub struct Start {
    /// Node indices.
    pub nodes: Vec<u32>,
    /// Node indices.
    pub targets: Vec<u32>,
}

/// Refuses widths out of range, and options that exclude each other.
pub(crate) fn check(config: &SsspConfig) -> Result<()> {
    let (delta, merge) = (config.delta, config.run.merge);
    if let Choice::Is(delta) = delta
        && (delta.is_nan() || delta <= 0.0)
    {
        return Err(Error::input(format!("--delta {delta}: use auto, inf or a number above 0")));
    }
    let more = [("--predecessors", config.predecessors), ("--target", config.target.is_some())];
    let more = more.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option);
    config.run.refuse_left(more)?;
    let why = match (delta, merge) {
        (Choice::Is(_), MergeMode::Dense) => {
            Some("the dense loop has no buckets; leave one of them out")
        }
        (Choice::Is(delta), MergeMode::Split) if delta.is_finite() => {
            Some("buckets are worked off by every replica alone, nothing is split; use --delta inf")
        }
        _ => None,
    };
    if let Some(why) = why {
        return Err(Error::input(format!("--delta {delta} with --merge {merge}: {why}")));
    }
    if config.precision == Precision::F64 && matches!(merge, MergeMode::Dense | MergeMode::Split) {
        return Err(Error::input(format!(
            "--precision f64 with --merge {merge}: in f64 every replica computes alone; use --merge auto"
        )));
    }
    Ok(())
}
