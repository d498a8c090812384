//! Communities of high modularity, by the method of Louvain.
//!
//! **Definition.** With A(u, v) the weights of the arcs from u to v (of a self loop twice), k(u) the sum of A(u, v) over all v, and
//! T the sum of all k,
//!
//! ~~~text
//! Q = sum over pairs of nodes of one community of (A(u, v) - resolution k(u) k(v) / T) / T
//! ~~~
//!
//! The graph is symmetric, with its weights. They count in units: a weight of 1 is one unit where all are whole and T is below 2^41,
//! else units are a power of two such that T is 2^40 to 2^41 of them. Sums are of whole numbers, so that their order does not matter.
//!
//! **Idea.** Nodes begin alone, and go to the community of a neighbour where that gains most, again and again; then communities are
//! the nodes of the next level. A level of many arcs is swept. In a sweep nodes move in four turns, a quarter of them, drawn anew for
//! each sweep, at once: they add up by community, in a table of their own, what their arcs weigh, and the best gain wins, then the
//! lowest community. A sweep that loses is taken back; if it is the first, the level is tried in more turns. In levels of at most 2^17
//! arcs nodes move one after another, until none gains: no two communities are better as one. After the last level single nodes move
//! again, from the communities that were found, and levels follow anew: once, and where the first level has few arcs, until that gains
//! less than 1e-5.
//!
//! **Replicas.** Each finds the moves of its part of the nodes, by a hash; moves are merged as a maximum, and all make them. GPUs each
//! find all moves of levels of fewer than 2^23 arcs. All else is done alike by all. Nodes are numbered by rising ids: any number of
//! replicas and any order of nodes give the same communities.
//!
//! **Arrays.** 52 bytes an arc and 88 bytes a node.
//!
//! **Source.** Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", J. Stat. Mech. 2008;
//! Lu, Halappanavar, Kalyanaraman, "Parallel heuristics for scalable community detection", Parallel Computing 47, 2015 (two nodes that
//! are alone); Reichardt, Bornholdt, Physical Review E 74, 2006 (resolution).

mod answer;
mod finish;
mod lambdas;
mod program;

use super::frame::ReplicaAnswer;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, MergeMode, RunOptions, symmetric};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};

/// The workload.
pub struct Louvain;

/// What communities are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LouvainConfig {
    /// How much the weight of whole communities counts: a number above 0; more gives smaller communities [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub resolution: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(LouvainConfig);

impl Default for LouvainConfig {
    fn default() -> Self {
        LouvainConfig { resolution: 1.0, run: RunOptions::default() }
    }
}

/// What a level ends with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Communities, of one node each where that has no neighbours.
    pub communities: u64,
    /// Their modularity.
    pub modularity: f64,
}

/// The answer of [`louvain`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Modules {
    /// `[n]` the node of the lowest id in the community of each.
    pub communities: Vec<u32>,
    /// How many communities there are.
    pub count: u64,
    /// Nodes of the largest.
    pub largest: u64,
    /// At most 1; 0 of a graph whose arcs weigh nothing.
    pub modularity: f64,
    /// What each level ended with, in the order in which they were made; the last is the answer's.
    pub levels: Vec<Level>,
    /// Sweeps in which many nodes moved at once.
    pub sweeps: u32,
    /// Timings and counts.
    pub measured: Measured,
}

/// Communities of a symmetric graph whose modularity is high.
///
/// # Errors
/// [`Error::Input`] for a resolution out of range, for a graph that is not symmetric with its weights, and for one of 2^31
/// arcs or more; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn louvain(fleet: &Fleet, graph: &Prepared, config: &LouvainConfig) -> Result<Modules> {
    run::<Louvain>(fleet, graph, config)
}

/// Arcs of a graph, at most: tables have twice as many places, below 2^32.
const MOST_ARCS: u64 = (1 << 31) - 1;

/// Arcs of a level from which GPUs deal its moves.
const WORTH_DEALING: usize = 1 << 23;

impl Algorithm for Louvain {
    type Config = LouvainConfig;
    type Start = ();
    type Answer = Modules;
    const NAME: &'static str = "louvain";
    const ABOUT: &'static str =
        "Communities of high modularity: nodes join those of their neighbours, level by level";
    const EXAMPLES: [&'static str; 2] = [
        "hive run louvain --graph web.mtx --symmetrize --top 10",
        "hive run louvain --graph rmat:14 --resolution 0.5 --output communities.csv",
    ];
    const FORM: Form = Form::General;
    const RANKS: Option<&'static str> = Some("the largest communities");

    fn check(config: &LouvainConfig) -> Result<()> {
        let resolution = config.resolution;
        match resolution > 0.0 && resolution <= 1e6 {
            true => Ok(()),
            false => Err(Error::input(format!(
                "--resolution {resolution}: use a number above 0 and up to 1e6, as in 1.0"
            ))),
        }
    }

    fn start(_: &LouvainConfig, graph: &Graph) -> Result<()> {
        symmetric(Self::NAME, graph)?;
        if !graph.is_symmetric() {
            return Err(Error::input(
                "louvain needs arcs that weigh the same both ways, and in this graph some do not: load it with --weights unit",
            ));
        }
        let arcs = graph.arcs();
        match arcs <= MOST_ARCS {
            true => Ok(()),
            false => Err(Error::input(format!(
                "louvain takes at most {MOST_ARCS} arcs, and this graph has {arcs}: use cdlp"
            ))),
        }
    }

    fn arrays(shape: &GraphShape, _: &LouvainConfig, world: usize) -> Vec<DeviceArray> {
        program::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Modules> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config, run) = (graph.general(fleet)?, query.config.clone(), run.clone());
        let info = fleet.info();
        let worth = match run.merge {
            MergeMode::Redundant => usize::MAX,
            MergeMode::Auto if info.has_slow_links() => usize::MAX,
            // GPUs find the moves of smaller levels sooner than they exchange them.
            MergeMode::Auto if info.backend == "cuda" => WORTH_DEALING,
            _ => 0,
        };
        let program =
            move |r: &mut _| program::program(r, &rows, &config, (worth, program::FEW), &run);
        let (found, mut measured) = ReplicaAnswer::first(fleet.run(program)?);
        measured.reached = query.graph.nodes() as u64;
        measured.reached_arcs = query.graph.arcs();
        Ok(Modules::of(&query.graph, found, measured))
    }
}
