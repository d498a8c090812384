//! PageRank: how often a walk that never ends is at each node.
//!
//! **Definition.** r0 = p, the places where walks begin: alike for all n nodes, or as asked. Then
//!
//! ~~~text
//! r'[v] = (1 - d) p[v] + d (sum over arcs u -> v of r[u] w / W[u] + D p[v])
//! ~~~
//!
//! `W[u]` is the out-weight of u and D the rank of all nodes without any. Weights are 1 unless asked for; self loops
//! and parallel arcs are arcs. It stops when the L1 distance from r to r' is at most `tolerance`, or after so
//! many iterations.
//!
//! **Idea.** What an arc carries, `r[u] / W[u]`, is divided once a node, and a node's new rank, the contribution it
//! makes next and its part of the change come out of the kernel that sums its row. Nodes without any arc have
//! no row: their ranks are p times one number (`kernels/pagerank.cuh`). The strategies differ in how they go over
//! the arcs; `docs/workloads.md` tells them apart.
//!
//! **Replicas.** Each makes the rows of its chunk, then chunks are gathered; what arcs carry is all that moves. Under `hubs`,
//! GPUs that reach each other deal blocks of rows in turn, and each writes its rows into everybody's arrays. Small
//! or flat graphs are computed whole by everybody. Pushes, and anything with `--merge dense`, leave sums that
//! an all-reduce adds. D and the change are sums of 64-bit integers in units of 2^-60, so that they are the
//! same whatever the order; D is counted by everybody over what was gathered. On devices the change is read one
//! iteration late, while the next is under way: the answer is that of the iteration that met the tolerance, and the
//! one too many is dropped.
//!
//! **Arrays.** `value` \[active\] f32, twice, what arcs carry: replicated, GATHER; `rank` \[active\] f32, twice, own rows until
//! the end: replicated, GATHER; `sum` \[active\] f64, where there are sums: replicated, SUM. All by label.
//!
//! **Source.** Page, Brin, Motwani, Winograd, "The PageRank citation ranking: bringing order to the web", Stanford
//! InfoLab 1999-66; Hong, Kim, Oguntebi, Olukotun, "Accelerating CUDA graph algorithms at maximum warp", PPoPP 2011.

mod answer;
mod cuda;
mod driver;
mod host;
mod hubs;
mod plan;

pub use answer::Pagerank;

use super::workload::{config, run};
use super::{MergeMode, RunOptions};
use crate::choice::{Choice, number};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::layout::Prepared;
use crate::layout::segments::{MOST_SEGMENTS, MOST_TEAMS, WIDEST_SEGMENT};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

words!(
    /// How an iteration goes over the arcs. All but `hubs` are those of the PageRank strategies paper.
    Strategy, "--strategy" {
        /// The one that promises to be fastest on this graph.
        #[default]
        Auto = "auto",
        /// Blocks of sources whose contributions lie in shared memory, hubs first; ours.
        Hubs = "hubs",
        /// A thread a node adds its share to each out-neighbour.
        Push = "push",
        /// A thread a node sums rank over out-degree of its in-neighbours.
        Pull = "pull",
        /// The same over contributions that were divided once a node.
        PullNodiv = "pull-nodiv",
        /// A thread an arc; sources and targets in two arrays.
        EdgeSoa = "edge-soa",
        /// A thread an arc; pairs of source and target.
        EdgeAos = "edge-aos",
        /// Push with lanes of a warp on a row.
        WarpPush = "warp-push",
        /// Pull with lanes of a warp on a row.
        WarpPull = "warp-pull",
        /// The same over contributions that were divided once a node.
        WarpPullNodiv = "warp-pull-nodiv",
    }
);

impl Strategy {
    /// Adds to its neighbours, in no order.
    pub(crate) fn pushes(self) -> bool {
        use Strategy::{EdgeAos, EdgeSoa, Push, WarpPush};
        matches!(self, Push | EdgeSoa | EdgeAos | WarpPush)
    }

    /// Has lanes that share a row.
    fn warps(self) -> bool {
        matches!(self, Strategy::WarpPush | Strategy::WarpPull | Strategy::WarpPullNodiv)
    }

    /// Divides at each arc.
    fn divides(self) -> bool {
        matches!(self, Strategy::Pull | Strategy::WarpPull)
    }
}

/// The workload.
pub struct PageRank;

/// What PageRank is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PagerankConfig {
    /// The share of a rank that follows arcs: 0 to 1 [default: 0.85].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub damping: f64,
    /// Most iterations, at least 1; with --tolerance 0 exactly as many [default: 100].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub iterations: u32,
    /// Stop when the L1 norm of the change of all ranks is at most X: auto (1e-6) | 0 (never) | a number above 0
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub tolerance: Choice<f64>,
    /// Where walks begin and go from nodes without out-arcs: a CSV `node,weight`, ids of the input
    /// [default: uniform].
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub personalize: Option<PathBuf>,
    /// Walks follow arcs in proportion to their weights, not all alike.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub weighted: bool,
    /// How an iteration goes over the arcs: auto | hubs (ours: blocks of sources in shared memory) | push | pull |
    /// pull-nodiv | edge-soa | edge-aos | warp-push | warp-pull | warp-pull-nodiv [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub strategy: Strategy,
    /// Lanes that share a row in the warp-centric strategies: 1, 2, 4, ... 64 [default: 32].
    #[cfg_attr(feature = "cli", arg(long, value_name = "LANES", allow_hyphen_values = true))]
    pub warp_width: u32,
    /// Rows that such lanes take at a time: 1 to 10 [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ROWS", allow_hyphen_values = true))]
    pub warp_chunk: u32,
    /// Segments of sources that hubs has on GPUs: auto (as many as pay) | 0 to 128 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub segments: Choice<u32>,
    /// Sources of a segment: auto (what shared memory has room for) | a multiple of 4 up to 48000 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NODES", allow_hyphen_values = true))]
    pub segment_width: Choice<u32>,
    /// Teams of multiprocessors among which the segments are divided: auto (4 from 16 segments on, else 1) | 1 to 8 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub segment_teams: Choice<u32>,
    /// Fix the order of every addition, so that any number of replicas gives the same bits.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub deterministic: bool,
    /// `[n]` weights of the nodes where walks begin, finite and >= 0, not all 0, in place of a file.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub personal: Option<Vec<f64>>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(PagerankConfig);

impl Default for PagerankConfig {
    fn default() -> Self {
        PagerankConfig {
            damping: 0.85,
            iterations: 100,
            tolerance: Choice::Auto,
            personalize: None,
            personal: None,
            weighted: false,
            strategy: Strategy::Auto,
            warp_width: 32,
            warp_chunk: 1,
            segments: Choice::Auto,
            segment_width: Choice::Auto,
            segment_teams: Choice::Auto,
            deterministic: false,
            run: RunOptions::default(),
        }
    }
}

impl PagerankConfig {
    /// The L1 change at which it ends; 0 never.
    fn tolerance(&self) -> f64 {
        self.tolerance.or(1e-6)
    }

    /// Refuses what makes no sense.
    fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::input(what));
        let (damping, tolerance, strategy) = (self.damping, self.tolerance(), self.strategy);
        if !(0.0..=1.0).contains(&damping) {
            return refuse(format!("--damping {damping}: use 0 to 1, as in 0.85"));
        }
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return refuse(format!("--tolerance {tolerance}: use 0 (never) or a number above"));
        }
        if self.iterations == 0 {
            return refuse("--iterations 0: at least one is needed".into());
        }
        let width = self.warp_width;
        if !(width.is_power_of_two() && width <= 64) {
            return refuse(format!("--warp-width {width}: use 1, 2, 4, 8, 16, 32 or 64"));
        }
        if !(1..=10).contains(&self.warp_chunk) {
            return refuse(format!("--warp-chunk {}: use 1 to 10", self.warp_chunk));
        }
        let unset = PagerankConfig::default();
        let asked = (width, self.warp_chunk) != (unset.warp_width, unset.warp_chunk);
        // What auto takes for weights where degrees are skewed.
        let warps = strategy.warps() || strategy == Strategy::Auto && self.weighted;
        if asked && !warps {
            return refuse(format!(
                "--strategy {strategy} with --warp-width or --warp-chunk: it has none; use warp-push, warp-pull or warp-pull-nodiv"
            ));
        }
        let asked = self.segments.given().is_some() || self.segment_width.given().is_some();
        let hubs = strategy == Strategy::Hubs || strategy == Strategy::Auto && !self.weighted;
        if (asked || self.segment_teams.given().is_some()) && !hubs {
            return refuse(format!(
                "--strategy {strategy} with --segments, --segment-width or --segment-teams: hubs alone has them, and takes no --weighted"
            ));
        }
        if let Some(segments) =
            self.segments.given().filter(|segments| *segments > MOST_SEGMENTS as u32)
        {
            return refuse(format!("--segments {segments}: use auto or 0 to {MOST_SEGMENTS}"));
        }
        if let Some(width) = self.segment_width.given()
            && !(width.is_multiple_of(4) && (4..=WIDEST_SEGMENT).contains(&width))
        {
            return refuse(format!(
                "--segment-width {width}: use auto or a multiple of 4 up to {WIDEST_SEGMENT}"
            ));
        }
        if let Some(teams) =
            self.segment_teams.given().filter(|t| !(1..=MOST_TEAMS as u32).contains(t))
        {
            return refuse(format!("--segment-teams {teams}: use auto or 1 to {MOST_TEAMS}"));
        }
        if strategy == Strategy::Hubs && self.weighted {
            return refuse(
                "--strategy hubs has no room for weights; use auto with --weighted".into(),
            );
        }
        if strategy.pushes() && self.deterministic {
            return refuse(format!(
                "--deterministic: {strategy} adds in no fixed order; use --strategy auto, hubs or a pull"
            ));
        }
        if strategy.pushes() && matches!(self.run.merge, MergeMode::Split | MergeMode::Redundant) {
            return refuse(format!(
                "--merge {}: {strategy} leaves sums for a SUM all-reduce; use auto or dense",
                self.run.merge
            ));
        }
        Ok(())
    }
}

/// The rank of every node: how often a random walk is there.
///
/// # Errors
/// [`Error::Input`] for options out of range; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare` finds
/// answers that differ.
pub fn pagerank(fleet: &Fleet, graph: &Prepared, config: &PagerankConfig) -> Result<Pagerank> {
    run::<PageRank>(fleet, graph, config)
}
