//! PageRank: the share of time that a random walk spends at each node.
//!
//! **Definition.** The walk follows an arc with probability d, and restarts otherwise. Let p be the distribution of
//! restarts. r0 = p, and
//!
//! ~~~text
//! r'(v) = (1 - d) p(v) + d (sum over arcs u -> v of r(u) w(u, v) / W(u)  +  D p(v))
//! ~~~
//!
//! W(u) is the total weight of the arcs out of u, and D the rank of all nodes without out-weight. Weights are 1 unless
//! `weighted`. Self-loops and parallel arcs are arcs. The iteration ends when the L1 distance from r to r' is at most
//! `tolerance`, or after `iterations`.
//!
//! **Idea.** An arc out of u carries r(u) / W(u), which is divided once a node. The kernel that adds up the row of v also
//! makes the new rank of v, what its arcs carry next, and its part of the L1 distance. With c = (1 - d) + d D the first and
//! last terms of r' are c p(v). A node without arcs has no row, and its rank is c p. The strategies differ in how they go
//! over the arcs ([`Strategy`]). `hubs` keeps what the most used sources carry in shared memory
//! (`layout::segments`). `bins` writes what arcs carry to bins of rows, and adds up bin by bin: both phases gather from shared
//! memory, and stream all else (`layout::bins`).
//!
//! **Invariant.** After iteration t every replica has what the arcs carry in iteration t + 1, of all nodes with rows. D and
//! the L1 distance are sums of 64-bit integers in units of 2^-60, so that no order of additions changes them.
//!
//! **Plans.** *Redundant*: every replica makes all rows, on GPUs where that takes less time than a gather. *Gathered*: each
//! makes the rows of its chunk, and what arcs carry is gathered. *Handed out*: under `hubs`, GPUs that reach each other's
//! memory have row blocks in turn, and each writes its rows into the arrays of all. *Summed*: pushes, and every strategy
//! under `--merge dense`, leave sums that an all-reduce adds. All replicas count D from what they have. On a device the L1
//! distance is read one iteration late, while the next one runs. The answer is that of the iteration that met the
//! tolerance, and the one too many is dropped.
//!
//! **Arrays.** `value: [active] f32`, what arcs carry, twice, replicated, GATHER. `rank: [active] f32`, twice, own rows
//! until the end, replicated, GATHER. `sum: [active] f64`, where there are sums, replicated, SUM. All by label.
//!
//! **Source.** Page, Brin, Motwani, Winograd, "The PageRank citation ranking: bringing order to the web", Stanford
//! InfoLab 1999-66; Hong, Kim, Oguntebi, Olukotun, "Accelerating CUDA graph algorithms at maximum warp", PPoPP 2011; Zhang,
//! Kiriansky, Mendis, Amarasinghe, Zaharia, "Making caches work for graph analytics", IEEE Big Data 2017 (segments); Beamer,
//! Asanović, Patterson, "Reducing PageRank communication via propagation blocking", IPDPS 2017 (bins).

mod answer;
mod bins;
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
    /// How an iteration goes over the arcs.
    Strategy, "--strategy" {
        /// The one that the degrees of the graph speak for.
        #[default]
        Auto = "auto",
        /// A warp adds up rows whose most used sources lie in shared memory.
        Hubs = "hubs",
        /// Values go to bins of rows, and bins are added up: both through shared memory.
        Bins = "bins",
        /// A thread a node adds its rank over its out-degree to its out-neighbours.
        Push = "push",
        /// A thread a node adds up rank over out-degree of its in-neighbours.
        Pull = "pull",
        /// The same, divided once a node.
        PullNodiv = "pull-nodiv",
        /// A thread an arc; sources and targets in two arrays.
        EdgeSoa = "edge-soa",
        /// A thread an arc; pairs of source and target.
        EdgeAos = "edge-aos",
        /// Push with several threads on a row.
        WarpPush = "warp-push",
        /// Pull with several threads on a row.
        WarpPull = "warp-pull",
        /// The same, divided once a node.
        WarpPullNodiv = "warp-pull-nodiv",
    }
);

impl Strategy {
    /// It adds to out-neighbours, in no fixed order.
    fn pushes(self) -> bool {
        use Strategy::{EdgeAos, EdgeSoa, Push, WarpPush};
        matches!(self, Push | EdgeSoa | EdgeAos | WarpPush)
    }

    /// Several threads share a row.
    fn warps(self) -> bool {
        matches!(self, Strategy::WarpPush | Strategy::WarpPull | Strategy::WarpPullNodiv)
    }

    /// It divides at each arc.
    fn divides(self) -> bool {
        matches!(self, Strategy::Pull | Strategy::WarpPull)
    }
}

/// The workload.
pub struct PageRank;

/// The options of PageRank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PagerankConfig {
    /// The probability with which the walk follows an arc: 0 to 1 [default: 0.85].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub damping: f64,
    /// Most iterations, at least 1; with --tolerance 0 exactly as many [default: 100].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub iterations: u32,
    /// Stop when the L1 distance between the ranks of two iterations is at most X: auto (1e-6) | 0 (never) | a number above 0
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub tolerance: Choice<f64>,
    /// Where the walk restarts, in proportion to weights: a CSV `node,weight`, ids of the input [default: uniform].
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub personalize: Option<PathBuf>,
    /// Follow arcs in proportion to their weights [default: all arcs alike].
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub weighted: bool,
    /// How an iteration goes over the arcs: auto (by degrees) | hubs (the most used sources in shared memory) | bins (two phases
    /// through shared memory) | push | pull | pull-nodiv | edge-soa | edge-aos | warp-push | warp-pull | warp-pull-nodiv
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub strategy: Strategy,
    /// Threads that share a row in the strategies warp-*: 1, 2, 4, ... 64 [default: 32].
    #[cfg_attr(feature = "cli", arg(long, value_name = "LANES", allow_hyphen_values = true))]
    pub warp_width: u32,
    /// Rows that these threads take at a time: 1 to 10 [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ROWS", allow_hyphen_values = true))]
    pub warp_chunk: u32,
    /// Segments of sources that hubs has on GPUs: auto (as many as save time) | 0 to 128 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub segments: Choice<u32>,
    /// Sources of a segment, of hubs and bins: auto (as many as fit shared memory) | a multiple of 4 up to 48000
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NODES", allow_hyphen_values = true))]
    pub segment_width: Choice<u32>,
    /// Teams of multiprocessors among which segments are divided: auto (4 from 16 segments on, else 1) | 1 to 8
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub segment_teams: Choice<u32>,
    /// Fix the order of every addition: any number of replicas gives the same bits. Refuses strategies that add in none.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub deterministic: bool,
    /// `[n]` weights of the nodes where the walk restarts, finite and >= 0, not all 0, in place of a file.
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
    /// The L1 distance at which it ends; 0 never.
    fn tolerance(&self) -> f64 {
        self.tolerance.or(1e-6)
    }

    /// Checks what no single option's syntax can.
    fn check(&self) -> Result<()> {
        let PagerankConfig { damping, strategy, weighted, .. } = *self;
        let (tolerance, width, chunk) = (self.tolerance(), self.warp_width, self.warp_chunk);
        let (segments, sources, teams) =
            (self.segments.or(0), self.segment_width.or(4), self.segment_teams.or(1));
        let unset = PagerankConfig::default();
        let asks_warps = (width, chunk) != (unset.warp_width, unset.warp_chunk);
        let asks = |choices: &[Choice<u32>]| choices.iter().any(|choice| choice.given().is_some());
        let asks_segments = asks(&[self.segments, self.segment_teams]);
        let asks_width = self.segment_width.given().is_some();
        let auto = strategy == Strategy::Auto;
        // With weights, auto takes such a strategy where degrees are skewed.
        let has_warps = strategy.warps() || auto && weighted;
        let has_hubs = strategy == Strategy::Hubs || auto && !weighted;
        let has_width = has_hubs || strategy == Strategy::Bins;
        let (pushes, merge) = (strategy.pushes(), self.run.merge);
        let wrong = [
            (
                !(0.0..=1.0).contains(&damping),
                format!("--damping {damping}: use 0 to 1, as in 0.85"),
            ),
            (
                !(tolerance >= 0.0 && tolerance.is_finite()),
                format!("--tolerance {tolerance}: use 0 (never) or a number above"),
            ),
            (self.iterations == 0, "--iterations 0: at least one is needed".into()),
            (
                !(width.is_power_of_two() && width <= 64),
                format!("--warp-width {width}: use 1, 2, 4, 8, 16, 32 or 64"),
            ),
            (!(1..=10).contains(&chunk), format!("--warp-chunk {chunk}: use 1 to 10")),
            (
                asks_warps && !has_warps,
                format!(
                    "--strategy {strategy} with --warp-width or --warp-chunk: it has none; use warp-push, warp-pull or warp-pull-nodiv"
                ),
            ),
            (
                (asks_segments && !has_hubs) || (asks_width && !has_width),
                format!(
                    "--strategy {strategy} with --segments, --segment-width or --segment-teams: hubs alone has them (bins the width), and takes no --weighted"
                ),
            ),
            (
                segments > MOST_SEGMENTS as u32,
                format!("--segments {segments}: use auto or 0 to {MOST_SEGMENTS}"),
            ),
            (
                !(sources.is_multiple_of(4) && (4..=WIDEST_SEGMENT).contains(&sources)),
                format!(
                    "--segment-width {sources}: use auto or a multiple of 4 up to {WIDEST_SEGMENT}"
                ),
            ),
            (
                !(1..=MOST_TEAMS as u32).contains(&teams),
                format!("--segment-teams {teams}: use auto or 1 to {MOST_TEAMS}"),
            ),
            (
                matches!(strategy, Strategy::Hubs | Strategy::Bins) && weighted,
                format!("--strategy {strategy} has no room for weights; use auto with --weighted"),
            ),
            (
                pushes && self.deterministic,
                format!(
                    "--deterministic: {strategy} adds in no fixed order; use --strategy auto, hubs, bins or a pull"
                ),
            ),
            (
                pushes && matches!(merge, MergeMode::Split | MergeMode::Redundant),
                format!(
                    "--merge {merge}: {strategy} leaves sums for a SUM all-reduce; use auto or dense"
                ),
            ),
        ];
        let first = wrong.into_iter().find(|(wrong, _)| *wrong);
        first.map_or(Ok(()), |(_, what)| Err(Error::input(what)))
    }
}

/// The rank of every node: the share of time that a random walk spends there.
///
/// # Errors
/// [`Error::Input`] for options out of range; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare` finds
/// answers that differ.
pub fn pagerank(fleet: &Fleet, graph: &Prepared, config: &PagerankConfig) -> Result<Pagerank> {
    run::<PageRank>(fleet, graph, config)
}
