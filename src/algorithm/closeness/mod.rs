//! Closeness, harmonic centrality and eccentricity: how far a node is from the others, in arcs.
//!
//! **Definition.** Let d(s, v) be the number of arcs of a shortest path from source s to node v, S the sources other than v,
//! and R those of S from which there is a path to v. Then
//!
//! ~~~text
//! closeness(v)    = |R| / sum over R of d(s, v)  *  |R| / |S|
//! harmonic(v)     = sum over R of 1 / d(s, v)    *  (n - 1) / |S|
//! eccentricity(v) = the largest d(s, v) of R
//! ~~~
//!
//! With `mode` out it is d(v, s). Without sources, or with all nodes as sources, these are the exact values; from k sources
//! drawn at random they are estimates (the eccentricity is too low). Closeness is 0 where R is empty.
//!
//! **Idea.** 256 sources are searched from together (`lanes.rs`). A node adds up how many of them reach it in each level.
//!
//! **Replicas.** Batches of sources are dealt in turn, and each replica searches by itself. At the end what they have added up is
//! summed: whole numbers, and fractions of a fixed unit, so that the bits are the same on any number of replicas. With `--merge
//! redundant` each searches from all sources.
//!
//! **Arrays.** `seen, visit, next: [n, 4] u64`, `work, past: [516] u64` (counters, and the sources that reach anybody) and the set of
//! nodes with long rows, each replica's own; `far, harmonic: [n] u64` and `reached: [n] u32`, replicated,
//! SUM; `farthest: [n] u32`, replicated, MAX.
//!
//! **Source.** Wasserman, Faust, "Social network analysis", 1994, 5.2 (closeness of
//! disconnected graphs); Boldi, Vigna, "Axioms for centrality", Internet Mathematics 10, 2014 (harmonic); Eppstein, Wang, "Fast
//! approximation of centrality", J. Graph Algorithms and Applications 8, 2004 (random sources).

mod answer;
mod program;

use super::frame::ReplicaAnswer;
use super::lanes;
use super::start::files_of;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, MergeMode, RunOptions, Seeds};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

words!(
    /// Which way distances are counted.
    ClosenessMode, "--mode" {
        /// From the sources to the node.
        #[default]
        In = "in",
        /// From the node to the sources.
        Out = "out",
    }
);

words!(
    /// What nodes are listed by.
    ClosenessRank, "--rank-by" {
        /// The closest first.
        #[default]
        Closeness = "closeness",
        /// The highest harmonic centrality first.
        Harmonic = "harmonic",
        /// The smallest eccentricity first, of those that most sources reach.
        Eccentricity = "eccentricity",
    }
);

/// The workload.
pub struct ClosenessCentrality;

/// What closeness is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClosenessConfig {
    /// The nodes that distances are counted from: all (exact values) | random:N:SEED (estimates) | connected:N:SEED (of those
    /// with out-arcs to others) | 0,5,17 | first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Which way distances are counted: in (from the sources to the node) | out (from the node to the sources) [default: in].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WAY"))]
    pub mode: ClosenessMode,
    /// What --top lists nodes by: closeness | harmonic | eccentricity (the smallest first) [default: closeness].
    #[cfg_attr(feature = "cli", arg(long, value_name = "MEASURE"))]
    pub rank_by: ClosenessRank,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(ClosenessConfig);

/// The answer of [`closeness`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Closeness {
    /// `[n]` closeness, 0 to 1.
    pub closeness: Vec<f64>,
    /// `[n]` harmonic centrality, 0 to n - 1.
    pub harmonic: Vec<f64>,
    /// `[n]` the largest distance, in arcs.
    pub eccentricity: Vec<u32>,
    /// `[n]` how many sources other than the node are at a finite distance.
    pub reached: Vec<u32>,
    /// How many sources there are.
    pub sources: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// How close every node is to the others, or to some sources.
///
/// # Errors
/// [`Error::Input`] for sources that the graph does not have or that come twice; [`Error::Fault`] when a replica fails;
/// [`Error::Verify`] when `compare` finds answers that differ.
pub fn closeness(fleet: &Fleet, graph: &Prepared, config: &ClosenessConfig) -> Result<Closeness> {
    run::<ClosenessCentrality>(fleet, graph, config)
}

impl Algorithm for ClosenessCentrality {
    type Config = ClosenessConfig;
    /// Sources by node index, rising.
    type Start = Vec<u32>;
    type Answer = Closeness;
    const NAME: &'static str = "closeness";
    const ABOUT: &'static str =
        "Closeness, harmonic centrality and eccentricity: how far every node is from the others";
    const EXAMPLES: [&'static str; 2] = [
        "hive run closeness --graph rmat:12 --top 10",
        "hive run closeness --graph web.mtx --sources random:16:1 --rank-by harmonic --output close.tsv",
    ];
    const FORM: Form = Form::General;
    const RANKS: Option<&'static str> = Some("the nodes that are closest");

    fn start(config: &ClosenessConfig, graph: &Graph) -> Result<Vec<u32>> {
        let mut nodes =
            config.sources.as_ref().unwrap_or(&Seeds::All).resolve_of("--sources", graph)?;
        nodes.sort_unstable();
        Ok(nodes)
    }

    fn started(start: &Vec<u32>, graph: &Graph) -> String {
        match start.len() == graph.nodes() {
            true => String::new(),
            false => super::from_nodes(start, "source", graph),
        }
    }

    fn array_columns(_: &ClosenessConfig) -> usize {
        4
    }

    fn files(config: &ClosenessConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources)])
    }

    fn folder(config: &ClosenessConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, _: &ClosenessConfig, world: usize) -> Vec<DeviceArray> {
        lanes::arrays(shape.nodes as usize, shape.nodes as usize, world)
    }

    fn solve(request: Request<Self>) -> Result<Closeness> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config, run) = (graph.general(fleet)?, query.config.clone(), run.clone());
        let sources = query.start.clone();
        let dealt = fleet.world() > 1 && run.merge != MergeMode::Redundant;
        let program = move |r: &mut _| program::program(r, &rows, &config, (&sources, dealt), &run);
        let (sums, mut measured) = ReplicaAnswer::first(fleet.run(program)?);
        measured.reached = query.graph.nodes() as u64;
        measured.reached_arcs = query.graph.arcs() * query.start.len() as u64;
        Ok(Closeness::of(sums, query, measured))
    }
}
