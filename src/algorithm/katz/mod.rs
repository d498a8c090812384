//! Katz centrality: how many walks end at a node, long ones counted for less.
//!
//! **Definition.** x solves
//!
//! ~~~text
//! x[v] = 1 + alpha (sum over arcs u -> v of x[u])
//! ~~~
//!
//! So `x[v]` is the sum over k of alpha^k times the number of walks of k arcs that end at v. Self loops and parallel arcs are
//! arcs; weights do not count. The sum is finite if alpha is below 1 / rho, rho being the spectral radius of the adjacency
//! matrix. `auto` takes 1 / (1 + largest in-degree), which is always below.
//!
//! **Idea.** Jacobi iteration from x = 1: every node adds up its in-neighbours' values. It stops when no value changes by
//! more than `tolerance` times itself, or after so many iterations.
//!
//! **Replicas.** Each sums the rows of its chunk, then chunks are gathered. The largest change is reduced over all nodes. On one
//! replica, with `--merge redundant`, and where links between GPUs are slow, each computes everything. The order of additions
//! depends on degrees alone, so any number of replicas gives the same bits.
//!
//! **Source.** Katz, "A new status index derived from sociometric analysis", Psychometrika 1953.

mod answer;
mod program;

use super::frame::ReplicaAnswer;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, MergeMode, RunOptions};
use crate::choice::{Choice, number};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};

/// The workload.
pub struct Katz;

/// What Katz centrality is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KatzConfig {
    /// Factor for each arc of a walk: auto (1 / (1 + largest in-degree)) | a number above 0 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub alpha: Choice<f64>,
    /// Most iterations, at least 1 [default: 1000].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub iterations: u32,
    /// Stop when no value changes by more than this share of itself: a number from 0 on [default: 1e-9].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub tolerance: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(KatzConfig);

impl Default for KatzConfig {
    fn default() -> Self {
        let run = RunOptions::default();
        KatzConfig { alpha: Choice::Auto, iterations: 1000, tolerance: 1e-9, run }
    }
}

/// The answer of [`katz`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Centralities {
    /// `[n]`, each at least 1.
    pub values: Vec<f64>,
    /// The factor of each arc.
    pub alpha: f64,
    /// Iterations made.
    pub iterations: u32,
    /// The largest change in the last, as a share of the value.
    pub change: f64,
    /// Timings and counts.
    pub measured: Measured,
}

/// The Katz centrality of every node.
///
/// # Errors
/// [`Error::Input`] for options out of range and for an `alpha` with which values grow beyond f64; [`Error::Fault`] when a
/// replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn katz(fleet: &Fleet, graph: &Prepared, config: &KatzConfig) -> Result<Centralities> {
    run::<Katz>(fleet, graph, config)
}

impl Algorithm for Katz {
    type Config = KatzConfig;
    /// The factor of each arc.
    type Start = f64;
    type Answer = Centralities;
    const NAME: &'static str = "katz";
    const ABOUT: &'static str =
        "Katz centrality: walks that end at a node, shorter ones counting more";
    const EXAMPLES: [&'static str; 2] = [
        "hive run katz --graph web.mtx --top 10",
        "hive run katz --graph rmat:12 --alpha 1e-4 --output katz.tsv",
    ];
    const FORM: Form = Form::General;
    const RANKS: Option<&'static str> = Some("the nodes of the highest centrality");

    fn check(config: &KatzConfig) -> Result<()> {
        let refuse = |what: String| Err(Error::input(what));
        if let Some(alpha) = config.alpha.given().filter(|alpha| !(*alpha > 0.0 && *alpha < 1e9)) {
            return refuse(format!("--alpha {alpha}: use auto or a number above 0, as in 0.01"));
        }
        let tolerance = config.tolerance;
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return refuse(format!("--tolerance {tolerance}: use a number from 0 on, as in 1e-9"));
        }
        match config.iterations {
            0 => refuse("--iterations 0: at least one is needed".into()),
            _ => Ok(()),
        }
    }

    fn start(config: &KatzConfig, graph: &Graph) -> Result<f64> {
        let largest = match graph.in_degrees() {
            Some(degrees) => degrees.into_iter().max(),
            None => (0..graph.nodes()).map(|v| graph.degree(v)).max(),
        };
        Ok(config.alpha.or(1.0 / (1 + largest.unwrap_or(0)) as f64))
    }

    fn arrays(shape: &GraphShape, _: &KatzConfig, world: usize) -> Vec<DeviceArray> {
        program::State::list(shape.nodes as usize, world)
    }

    fn solve(request: Request<Self>) -> Result<Centralities> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config, run) = (graph.general(fleet)?, query.config.clone(), run.clone());
        let alpha = query.start;
        let whole = match run.merge {
            MergeMode::Auto => fleet.world() == 1 || fleet.info().has_slow_links(),
            merge => fleet.world() == 1 || merge == MergeMode::Redundant,
        };
        let program = move |r: &mut _| program::program(r, &rows, &config, (alpha, whole), &run);
        let (found, mut measured) = ReplicaAnswer::first(fleet.run(program)?);
        let (values, iterations, change) = found;
        measured.reached = query.graph.nodes() as u64;
        measured.reached_arcs = query.graph.arcs() * u64::from(iterations);
        Ok(Centralities { values, alpha, iterations, change, measured })
    }
}
