//! Random walks: from every node, or from some, along random arcs.
//!
//! **Definition.** Walker i begins at start number floor(i / walks), starts in the order of their input ids. A step goes from node
//! t to the other end of arc number k of the row of t, whose arcs are numbered by input id and then by weight. Step number s of
//! walker i, from 1 on, draws from [`crate::operator::Random`], stream i 2^20 + s under the seed, in this order:
//!
//! 1. With `restart` above 0, u = unit(): if u < restart, the walker is at its start again, and the step is over.
//! 2. k = below(degree of t). With `weighted`, where arcs have weights, c = the upper 32 bits of bits(): if c is at least `share[k]`
//!    of the row's alias table, k becomes `other[k]`; so arc k is taken with the probability that its weight has in the row.
//! 3. With p or q other than 1, where the step before came along an arc from s and the row has more than one arc: the node x found
//!    is taken if u < a / max(1/p, 1, 1/q) with u = unit(), where a is 1/p if x is s, 1 if there is an arc from s to x, and else 1/q.
//!    If it is not taken, 2 and 3 are repeated, up to 256 times in all. If none was taken, the first arc is, at which the sum of
//!    a w over the row so far, w being the weight with `weighted` and else 1, exceeds (bits() >> 11) 2^-53 of the sum over the row.
//!
//! With `scores`, the score of the node at an arc's other end is in place of its weight in 2 and what follows. With `greedy` 2 and 3
//! fall away: the step goes to the end of the highest score, of several to that of the lowest input id.
//!
//! A walk ends at a node without an arc out, and with `weighted` without one that weighs anything; with `restart` above 0 it goes on
//! from its start instead.
//!
//! **Replicas.** Walkers are dealt in slices, and each replica walks its own on its copy of the graph: nothing is exchanged but the
//! counts of visits, once, by SUM. Where a walker goes depends on the graph, the seed and the walker's number alone. On one replica,
//! with `--merge redundant`, and where there are few steps on GPUs, each replica walks all.
//!
//! **Arrays.** `starts: [starts] u32`; `order, share, other: [m] u32` where nodes were relabelled, arcs have weights or nodes scores
//! (with `greedy` `other: [n] u32` alone); `visits: [n] u64`, replicated, SUM; `at, before: [own walkers] u32` and `paths: [length + 1, own walkers] u32`, each replica's own.
//!
//! **Source.** Perozzi, Al-Rfou, Skiena, "DeepWalk: online learning of social representations", KDD 2014 (walks from every node);
//! Grover, Leskovec, "node2vec: scalable feature learning for networks", KDD 2016, 3.2 (p and q); Vose, "A linear algorithm for
//! generating random numbers with a given distribution", IEEE Trans. Software Engineering 17(9), 1991 (alias tables); Yang, Zhang,
//! Chen, Ma, Bai, Jiang, "KnightKing: a fast distributed graph random walk engine", SOSP 2019 (rejection for p and q).

mod answer;
mod program;

use super::frame::ReplicaAnswer;
use super::left::LeftColumn;
use super::rows::{Likely, Rows, best_ends};
use super::start::{files_of, most_of};
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds};
use crate::choice::number;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

words!(
    /// What is kept of walks.
    WalkKept, "--keep" {
        /// How often each node was visited.
        #[default]
        Visits = "visits",
        /// Every walk, too.
        Paths = "paths",
    }
);

/// The workload.
pub struct RandomWalk;

/// What random walks are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WalkConfig {
    /// The nodes that walks start from: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) | 0,5,17 |
    /// first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Walks from each of them, 1 to 1000000 [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub walks: u32,
    /// Steps of a walk, 1 to 1000000 [default: 40].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub length: u32,
    /// Takes an arc with a probability in proportion to its weight; else all arcs of a row are equally likely.
    #[cfg_attr(feature = "cli", arg(long))]
    pub weighted: bool,
    /// Takes an arc with a probability in proportion to the score of the node that it leads to: a CSV node,weight; nodes that it does
    /// not name have 0.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub scores: Option<PathBuf>,
    /// Takes the arc to the node of the highest --scores.
    #[cfg_attr(feature = "cli", arg(long))]
    pub greedy: bool,
    /// Probability that a step leads back to the walk's start: 0, or from 1e-7 to 0.9999999 [default: 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub restart: f64,
    /// node2vec's p, 0.05 to 20: a step back to the node before is 1/p as likely as one to a neighbour of that node [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub p: f64,
    /// node2vec's q, 0.05 to 20: a step to a node that is no neighbour of the node before is 1/q as likely as one to a neighbour
    /// [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub q: f64,
    /// Seed of the random numbers [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEED", allow_hyphen_values = true))]
    pub seed: u64,
    /// What is kept: visits (of each node) | paths (every walk, too; --output has a row a walk) [default: visits].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT"))]
    pub keep: WalkKept,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(WalkConfig);

impl Default for WalkConfig {
    fn default() -> Self {
        WalkConfig {
            sources: None,
            walks: 1,
            length: 40,
            weighted: false,
            scores: None,
            greedy: false,
            restart: 0.0,
            p: 1.0,
            q: 1.0,
            seed: 1,
            keep: WalkKept::Visits,
            run: RunOptions::default(),
        }
    }
}

/// The answer of [`walk`].
#[derive(Debug, Clone, Default)]
pub struct Walks {
    /// `[n]` how often walkers were at each node, starts included, in the graph's node order.
    pub visits: Vec<u64>,
    /// `[length + 1][walkers]` where each walker was after so many steps; `u32::MAX` behind a walk's end. Empty where paths were not
    /// asked for.
    pub paths: Vec<Vec<u32>>,
    /// What was left on a GPU in place of these: `visits`, or `step0`, `step1`, .. of the paths.
    pub left: Vec<LeftColumn>,
    /// How many walks there are.
    pub walkers: u64,
    /// Steps of all walks together; 0 where the host has neither visits nor paths to count them.
    pub steps: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// Random walks from every node of the graph, or from some.
///
/// # Errors
/// [`Error::Input`] for options out of range and for sources that the graph does not have or that come twice; [`Error::Machine`]
/// where paths or tables would take more memory than there is; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds answers that differ.
pub fn walk(fleet: &Fleet, graph: &Prepared, config: &WalkConfig) -> Result<Walks> {
    run::<RandomWalk>(fleet, graph, config)
}

/// Where walks start, and what rows have beside arcs.
pub struct WalkStart {
    /// Nodes, by rising input id.
    pub(super) starts: Vec<u32>,
    pub(super) rows: Arc<Rows>,
    /// `[n]` the score of each node, where there are scores.
    pub(super) scores: Option<Vec<f64>>,
}

/// Steps from which GPUs deal the walkers: fewer are made sooner than visits are merged.
const WORTH_DEALING: u64 = 1 << 24;

impl WalkConfig {
    /// Whether a step looks at the one before.
    fn looks_back(&self) -> bool {
        (self.p, self.q) != (1.0, 1.0)
    }

    /// Whether so many walkers make few steps.
    fn is_little(&self, walkers: usize) -> bool {
        (walkers as u64).saturating_mul(self.length.into()) < WORTH_DEALING
    }

    /// Values of the paths of so many walkers.
    fn path_values(&self, walkers: usize) -> usize {
        let width = self.length as usize + 1;
        if self.keep == WalkKept::Paths { walkers.saturating_mul(width) } else { 0 }
    }
}

impl Algorithm for RandomWalk {
    type Config = WalkConfig;
    type Start = WalkStart;
    type Answer = Walks;
    const NAME: &'static str = "walk";
    const ABOUT: &'static str =
        "Random walks: uniform, weighted, by scores, with restarts, node2vec";
    const EXAMPLES: [&'static str; 2] = [
        "hive run walk --graph rmat:12 --length 80 --restart 0.15 --top 10",
        "hive run walk --graph web.mtx --walks 10 --p 0.5 --q 2 --keep paths --output paths.npy",
    ];
    const FORM: Form = Form::General;
    const RANKS: Option<&'static str> = Some("the nodes that are visited most");
    const LEAVES: bool = true;

    fn check(config: &WalkConfig) -> Result<()> {
        let refuse = |what: String| Err(Error::input(what));
        for (option, number) in [("--walks", config.walks), ("--length", config.length)] {
            if !(1..=1_000_000).contains(&number) {
                return refuse(format!("{option} {number}: use 1 to 1000000"));
            }
        }
        // As the f32 that is compared with multiples of 2^-24.
        if config.restart != 0.0 && !(1e-7..=0.999_999_9).contains(&config.restart) {
            let given = config.restart;
            return refuse(format!("--restart {given}: use 0, or a number from 1e-7 to 0.9999999"));
        }
        for (option, number) in [("--p", config.p), ("--q", config.q)] {
            if !(0.05..=20.0).contains(&number) {
                return refuse(format!("{option} {number}: use a number from 0.05 to 20"));
            }
        }
        if config.scores.is_some() && (config.weighted || config.looks_back()) {
            let other = if config.weighted { "--weighted" } else { "--p and --q" };
            return refuse(format!(
                "--scores with {other}: a step goes by one of them; leave one out"
            ));
        }
        if config.greedy && config.scores.is_none() {
            return refuse("--greedy without --scores: give a CSV node,weight of scores".into());
        }
        Ok(())
    }

    fn start(config: &WalkConfig, graph: &Graph) -> Result<WalkStart> {
        let sources = config.sources.as_ref().unwrap_or(&Seeds::All);
        let mut starts = sources.resolve_of("--sources", graph)?;
        starts.sort_unstable_by_key(|node| graph.rank(*node));
        let walkers = starts.len() as u64 * u64::from(config.walks);
        // At the most three copies on the way from the replicas.
        let values = config.path_values(walkers as usize) as u64;
        crate::memory::room("paths of walks", values.saturating_mul(12))?;
        let read = |path: &PathBuf| crate::io::read_weights(path, graph);
        let scores = config.scores.as_ref().map(read).transpose()?;
        let rows = match &scores {
            Some(scores) if config.greedy => {
                Rows { other: best_ends(graph, scores)?, ..Rows::default() }
            }
            Some(scores) => Rows::new(graph, Likely::Scores(scores))?,
            None if config.weighted => Rows::new(graph, Likely::Weights)?,
            None => Rows::new(graph, Likely::Alike)?,
        };
        Ok(WalkStart { starts, rows: Arc::new(rows), scores })
    }

    fn started(start: &WalkStart, graph: &Graph) -> String {
        match start.starts.len() == graph.nodes() {
            true => String::new(),
            false => super::from_nodes(&start.starts, "source", graph),
        }
    }

    fn array_columns(config: &WalkConfig) -> usize {
        if config.keep == WalkKept::Paths { config.length as usize + 1 } else { 1 }
    }

    fn files(config: &WalkConfig) -> Vec<(&'static str, &Path)> {
        let scores = config.scores.iter().map(|path| ("--scores", path.as_path()));
        files_of([("--sources", &config.sources)]).into_iter().chain(scores).collect()
    }

    fn folder(config: &WalkConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &WalkConfig, world: usize) -> Vec<DeviceArray> {
        let (nodes, arcs) = (shape.nodes as usize, shape.all_arcs() as usize);
        let starts = most_of(&config.sources, nodes);
        let walkers = starts.saturating_mul(config.walks as usize);
        // As on GPUs, where a replica has all where it walks all.
        let shared = config.run.deals(world, config.is_little(walkers));
        // Slices end at multiples of 64.
        let slice = walkers.div_ceil(world).saturating_add(64);
        let own = if shared { slice.min(walkers) } else { walkers };
        let alias = config.scores.is_some() || config.weighted && shape.weighted;
        let (ordered, shares, others) = match (config.greedy, alias) {
            (true, _) => (0, 0, nodes),
            (false, true) => (arcs, arcs, arcs),
            (false, false) => (arcs, 0, 0),
        };
        let paths = config.path_values(own);
        let sizes = program::Sizes { nodes, starts, ordered, shares, others, own, paths };
        program::State::list(sizes, world)
    }

    fn solve(request: Request<Self>) -> Result<Walks> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config) = (graph.general(fleet)?, query.config.clone());
        let on_gpus = fleet.info().backend == "cuda";
        let run = RunOptions { leave: run.leave && on_gpus, ..run.clone() };
        let WalkStart { starts, rows: own, .. } = &query.start;
        let (starts, own) = (starts.clone(), own.clone());
        let walkers = starts.len() as u64 * u64::from(config.walks);
        let little = on_gpus && query.config.is_little(walkers as usize);
        let dealt = run.deals(fleet.world(), little);
        let program =
            move |r: &mut _| program::program(r, &rows, &config, (&starts, &own, dealt), &run);
        let (found, mut measured) = ReplicaAnswer::all(fleet.run(program)?);
        let mut found = found;
        let left =
            found.iter_mut().flat_map(|one| std::mem::take(&mut one.left)).collect::<Vec<_>>();
        if !left.is_empty() {
            // As many as there are at most: nobody counts them.
            measured.reached_arcs = walkers * u64::from(query.config.length);
            return Ok(Walks { left, walkers, measured, ..Walks::default() });
        }
        let (visits, paths): (Vec<_>, Vec<_>) =
            found.into_iter().map(|one| (one.visits, one.paths)).unzip();
        let visits = visits.into_iter().next().unwrap_or_default();
        // Where all walk everything, the first replica of a process brings all.
        let paths = if dealt { fleet.concat("paths", paths.concat())? } else { paths.concat() };
        let steps = visits.iter().sum::<u64>() - walkers;
        measured.reached = visits.iter().filter(|visits| **visits > 0).count() as u64;
        measured.reached_arcs = steps;
        let paths = columns(paths, query.config.length as usize + 1);
        Ok(Walks { visits, paths, left, walkers, steps, measured })
    }
}

/// `[width][rows]` the columns of `values`, `[rows][width]`.
fn columns(values: Vec<u32>, width: usize) -> Vec<Vec<u32>> {
    if values.is_empty() {
        return Vec::new();
    }
    (0..width).map(|column| values.iter().skip(column).step_by(width).copied().collect()).collect()
}
