//! Communities by label propagation, as LDBC Graphalytics defines it.
//!
//! **Definition.** Every node begins with its own id as label. In an iteration all nodes take, at once, the label that most of their
//! neighbours have; of several, the smallest. On a directed graph an arc counts for both of its ends, so that a neighbour both ways
//! counts twice. Parallel arcs and self loops are arcs; weights do not count. A node without arcs keeps its label.
//!
//! **Idea.** A node with few arcs compares the labels of its neighbours with each other. The neighbours of others count in a table of
//! the node, by label: with open addressing, a label and its count in a word, and room for half as many entries more than arcs. The
//! largest count wins. Hosts sort the labels of each node's neighbours instead. An iteration that changes nothing is the last.
//!
//! **Replicas.** Each finds the labels of its chunk, then chunks are gathered. On one replica, with `--merge redundant`, and in
//! small graphs on GPUs each finds all. Counts are whole numbers: any number of replicas gives the same labels.
//!
//! **Arrays.** `rank, label, next: [n] u32`, `best: [n] u64`, `at: [n + 1] u64`; `table: [up to 1.5 m] u64` for the own rows, of a
//! directed graph up to 3 m.
//!
//! **Source.** LDBC Graphalytics benchmark specification 1.0, 2.3.4; Raghavan, Albert, Kumara, "Near linear time algorithm to detect
//! community structures in large-scale networks", Physical Review E 76, 2007 (label propagation).

mod answer;
mod host;
mod program;

use super::frame::ReplicaAnswer;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};

/// The workload.
pub struct Cdlp;

/// What label propagation is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CdlpConfig {
    /// Most iterations, at least 1 [default: 10].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub iterations: u32,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(CdlpConfig);

impl Default for CdlpConfig {
    fn default() -> Self {
        CdlpConfig { iterations: 10, run: RunOptions::default() }
    }
}

/// The answer of [`cdlp`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Communities {
    /// `[n]` the node whose id is each node's label.
    pub labels: Vec<u32>,
    /// How many labels there are.
    pub count: u64,
    /// Nodes of the largest community.
    pub largest: u64,
    /// Iterations made.
    pub iterations: u32,
    /// Nodes whose label the last changed.
    pub changed: u64,
    /// Hosts sorted labels; else GPUs counted them in tables.
    pub sorted: bool,
    /// Timings and counts.
    pub measured: Measured,
}

/// The community of every node, by label propagation.
///
/// # Errors
/// [`Error::Input`] for options out of range; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare` finds answers
/// that differ.
pub fn cdlp(fleet: &Fleet, graph: &Prepared, config: &CdlpConfig) -> Result<Communities> {
    run::<Cdlp>(fleet, graph, config)
}

/// Arcs from which GPUs deal the nodes: labels of fewer are found sooner than gathered.
const WORTH_DEALING: u64 = 1 << 21;

impl Algorithm for Cdlp {
    type Config = CdlpConfig;
    type Start = ();
    type Answer = Communities;
    const NAME: &'static str = "cdlp";
    const ABOUT: &'static str =
        "Communities by label propagation: the label that most neighbours have, again and again";
    const EXAMPLES: [&'static str; 2] = [
        "hive run cdlp --graph web.mtx --iterations 10 --top 10",
        "hive run cdlp --graph rmat:12 --iterations 5 --output communities.csv",
    ];
    const FORM: Form = Form::General;
    const RANKS: Option<&'static str> = Some("the largest communities");

    fn check(config: &CdlpConfig) -> Result<()> {
        match config.iterations {
            0 => Err(Error::input("--iterations 0: at least one is needed")),
            _ => Ok(()),
        }
    }

    fn start(_: &CdlpConfig, _: &Graph) -> Result<()> {
        Ok(())
    }

    fn arrays(shape: &GraphShape, config: &CdlpConfig, world: usize) -> Vec<DeviceArray> {
        let shared = config.run.merge.deals(world, shape.all_arcs() < WORTH_DEALING);
        program::arrays(shape, if shared { world } else { 1 }, world)
    }

    fn solve(request: Request<Self>) -> Result<Communities> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config, run) = (graph.general(fleet)?, query.config.clone(), run.clone());
        let sorts = fleet.info().backend == "host";
        let little = !sorts && query.graph.arcs() < WORTH_DEALING;
        let whole = !run.merge.deals(fleet.world(), little);
        let program = move |r: &mut _| program::program(r, &rows, &config, (whole, sorts), &run);
        let (found, mut measured) = ReplicaAnswer::first(fleet.run(program)?);
        let (labels, iterations, changed) = found;
        measured.reached = query.graph.nodes() as u64;
        measured.reached_arcs = query.graph.arcs() * u64::from(iterations);
        Ok(Communities::of(&query.graph, labels, (iterations, changed, sorts), measured))
    }
}
