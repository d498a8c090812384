//! Communities of high modularity, as its workloads share it.
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
//! **Moves.** A level of many arcs is swept. In a sweep nodes move in four turns, a quarter of them, drawn anew for each sweep, at
//! once: they add up by community, in a table of their own, what their arcs weigh, and the best gain wins, then the lowest community.
//! A sweep that loses is taken back; if it is the first, the level is tried in more turns. In levels of at most 2^17 arcs nodes move
//! one after another, until none gains: no two communities are better as one. A turn reads the rows of the nodes that move: a GPU takes
//! each by a few threads, a warp, a block or several (`kernels/moves.cu`). After a sweep modularity follows from the rows of the nodes
//! that moved, which are cut into pieces of 32 arcs for that.
//!
//! **Replicas.** Each finds the moves of its part of the nodes, by a hash; moves are merged as a maximum, and all make them. GPUs each
//! find all moves of levels of fewer than 2^23 arcs. All else is done alike by all; where one thread does it, by one replica of a
//! process for the others. Nodes are numbered by rising ids: any number of replicas and any order of nodes give the same communities.
//!
//! **Arrays.** 52.4 bytes an arc and 96 bytes a node.

mod alike;
mod answer;
mod cuda;
mod finish;
mod lambdas;
mod moves;
mod pieces;
mod program;
mod refine;
mod refine_lambdas;
mod state;

use super::frame::ReplicaAnswer;
use super::workload::{Algorithm, Request};
use super::{Measured, MergeMode, symmetric};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::verify::ModulesFound;
use serde::Serialize;

/// What a level ends with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Communities, of one node each where that has no neighbours.
    pub communities: u64,
    /// Their modularity.
    pub modularity: f64,
}

/// Communities, in the graph's node order.
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

/// A workload that finds communities.
pub trait Modular: Algorithm<Start = (), Answer = Modules> {
    /// Whether the nodes of a next level are parts of communities that were refined, not the communities.
    const REFINES: bool;

    /// How much the weight of whole communities counts.
    fn resolution(config: &Self::Config) -> f64;

    /// Checks an answer; its modularity.
    fn certify(graph: &Graph, found: ModulesFound, resolution: f64) -> Result<f64>;
}

/// Arcs of a graph, at most: tables have twice as many places, below 2^32.
const MOST_ARCS: u64 = (1 << 31) - 1;

/// Arcs of a level from which GPUs deal its moves.
const WORTH_DEALING: usize = 1 << 23;

/// Refuses a resolution out of range.
pub(super) fn check(resolution: f64) -> Result<()> {
    match resolution > 0.0 && resolution <= 1e6 {
        true => Ok(()),
        false => Err(Error::input(format!(
            "--resolution {resolution}: use a number above 0 and up to 1e6, as in 1.0"
        ))),
    }
}

/// Refuses a graph that is not symmetric with its weights, or too large.
pub(super) fn start(name: &'static str, graph: &Graph) -> Result<()> {
    symmetric(name, graph)?;
    if !graph.is_symmetric() {
        return Err(Error::input(format!(
            "{name} needs arcs that weigh the same both ways, and in this graph some do not: load it with --weights unit"
        )));
    }
    let arcs = graph.arcs();
    match arcs <= MOST_ARCS {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{name} takes at most {MOST_ARCS} arcs, and this graph has {arcs}: use cdlp"
        ))),
    }
}

/// The arrays of one of `world` replicas.
pub(super) fn arrays<A: Modular>(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    program::arrays(shape, A::REFINES, world)
}

/// Finds communities.
pub(super) fn solve<A: Modular>(request: Request<A>) -> Result<Modules> {
    let Request { fleet, graph, query, run, .. } = request;
    let (rows, run) = (graph.general(fleet)?, run.clone());
    let info = fleet.info();
    let worth = match run.merge {
        MergeMode::Redundant => usize::MAX,
        MergeMode::Auto if info.has_slow_links() => usize::MAX,
        // GPUs find the moves of smaller levels sooner than they exchange them.
        MergeMode::Auto if info.backend == "cuda" => WORTH_DEALING,
        _ => 0,
    };
    let resolution = A::resolution(&query.config);
    let asked = program::Asked { resolution, refines: A::REFINES, worth, few: program::FEW };
    let alike = program::SmallLevels::new();
    let program = move |r: &mut _| program::program(r, (&rows, &alike), asked, &run);
    let (found, mut measured) = ReplicaAnswer::first(fleet.run(program)?);
    measured.reached = query.graph.nodes() as u64;
    measured.reached_arcs = query.graph.arcs();
    Ok(Modules::of(&query.graph, found, measured))
}
