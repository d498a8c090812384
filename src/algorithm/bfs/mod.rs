//! Breadth-first search: how many arcs each node is from a source.
//!
//! **Definition.** level(source) = 0; level(v) = 1 + min { level(u) : there is an arc u -> v }. A node that no path from
//! the source leads to has no level.
//!
//! **Idea.** Level after level. A *push* goes over the out-arcs of the frontier and claims the nodes that are not reached
//! yet. A *pull* goes over the nodes that are not reached, and each looks for an in-neighbour in the frontier and stops at
//! the first. Each level takes whichever promises to look at fewer arcs. On GPUs a search is one launch.
//!
//! **Invariant.** After level k, `level` is right for all nodes within k arcs of the source, and the frontier is the set of
//! nodes at level k. Neither depends on the order of work within the level.
//!
//! **Push or pull.** Let F be the number of arcs out of the frontier. It is counted where pushes find nodes, and else
//! estimated from the mean degree. Let P = unreached nodes x min(mean degree, m / F), what a pull is expected to look at. Push
//! turns to pull when F > `do_a` P. Pull turns to push when F < `do_b` P. A large push takes an atomic operation a node, so
//! `do_a` counts less for it (`plan::pulls`).
//!
//! **Plans.** *Tiles* or *near-far* on GPUs for graphs of flat, small degrees (`long_paths`): such graphs have thousands of
//! small levels, so nodes are worked off out of order within a window of levels until none falls any more. *Redundant*: every replica does the
//! whole search. *Joint*: GPUs that have a replica each run one launch, push redundantly and share pulls by words of the
//! bitmap, which owners store into everybody's frontier. *Cut*: the host leads, pulls are shared by chunk and gathered.
//! *Dense* (`--merge dense`) is the textbook loop: push the own chunk's frontier and OR the frontiers, or pull into the own
//! chunk and gather.
//!
//! **Arrays.** `level: [n] u32`, replicated, equal without a merge of its own, since whoever gets a frontier notes its
//! level; `front, next: [active] bits, replicated, OR`. All by label; answers are in the graph's node order.
//!
//! **Source.** Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first search", SC 2012; Pan, Wang, Wu, Yang,
//! Owens, "Multi-GPU graph analytics", IPDPS 2017 (do_a, do_b); Davidson, Baxter, Garland, Owens, IPDPS 2014 (near-far);
//! Graph500 specification, version 2 (sources, TEPS).

mod answer;
mod cuda;
mod driver;
mod host;
mod plan;
mod walk;

pub use answer::{Searches, Teps};

use super::workload::{config, run};
use super::{InputId, RunOptions, Seeds};
use crate::choice::number;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::layout::Prepared;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// Which way a level is expanded.
    SearchDirection, "--direction" {
        /// Whichever promises to look at fewer arcs.
        #[default]
        Auto = "auto",
        /// From the frontier over its out-arcs.
        Push = "push",
        /// From the nodes that are not reached yet over their in-arcs.
        Pull = "pull",
    }
);

/// The workload.
pub struct Bfs;

/// What breadth-first search is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BfsConfig {
    /// Where to start, in the input's own ids [default: the lowest id in the largest component].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID", allow_hyphen_values = true))]
    pub source: Option<InputId>,
    /// Where to start, one run of the search after another: random:N:SEED (of the nodes with out-arcs to others) | all |
    /// connected:N:SEED | 0,5,17 | first:N | file:PATH [default: --source].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Say the paths to these nodes, from the source: ID,.. | file:PATH. With --output its rows are the nodes of the
    /// paths: target,position,node,distance.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub target: Option<Seeds>,
    /// Also compute the predecessor of each node.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub predecessors: bool,
    /// Which way levels are expanded: auto | push (frontiers over out-arcs) | pull (unreached nodes over
    /// in-arcs) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WAY"))]
    pub direction: SearchDirection,
    /// Change from push to pull when the arcs of the frontier exceed A times the arcs that a pull is expected to read
    /// (0.005 A times while the frontier has more than 2^23 arcs): a number from 0 on, or inf [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "A", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub do_a: f64,
    /// Change from pull to push when the arcs of the frontier are at most B times the arcs that a pull is expected to
    /// read: a number from 0 on, or inf [default: 0.1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "B", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub do_b: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

impl Default for BfsConfig {
    fn default() -> Self {
        BfsConfig {
            source: None,
            sources: None,
            target: None,
            predecessors: false,
            direction: SearchDirection::Auto,
            do_a: 1.0,
            do_b: 0.1,
            run: RunOptions::default(),
        }
    }
}

config!(BfsConfig);

/// How many arcs each node is from a source, or from each of several.
///
/// # Errors
/// [`Error::Input`] for options out of range and for sources that the graph does not have; [`Error::Fault`] when a
/// replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn bfs(fleet: &Fleet, graph: &Prepared, config: &BfsConfig) -> Result<Searches> {
    run::<Bfs>(fleet, graph, config)
}

/// The level of a node that is not reached.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// What searches start from, and the nodes to which paths are asked for, by rising input id.
pub struct Sources {
    /// Node indices.
    pub nodes: Vec<u32>,
    /// Node indices.
    pub targets: Vec<u32>,
}
