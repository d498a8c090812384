//! Minimum spanning forests: the lightest edges that join all nodes of each component.
//!
//! **Definition.** Graphs are symmetric with their weights. The edge {u, v} weighs the least of the arcs between u and v;
//! self-loops are no edges, and without weights every edge weighs 1. Edges are ordered by
//!
//! ~~~text
//! {u, v} < {x, y}  if  (w(u, v), min(u, v), max(u, v)) < (w(x, y), min(x, y), max(x, y))
//! ~~~
//!
//! with the ids of the input. No two edges are equal in this order, so there is one spanning forest whose sorted list of edges is
//! the least: edge {u, v} belongs to it unless a path of lesser edges joins u and v. Its total weight is the least of all spanning
//! forests.
//!
//! **Idea.** Boruvka's: nodes are trees at first. In each round every tree takes the least edge out of it, and the trees that these
//! edges join become one. Since no two edges are equal, the only cycles are of two trees that take the same edge. A round leaves at
//! most half of the trees that have an edge out, so there are at most log2 n rounds. What is kept of a node is its least arc out of
//! its tree. It stays the least until its other end is in the same tree: only then is the row looked at again.
//!
//! **Least arcs.** Among the arcs out of one node u, edges of equal weight are in the order of their other ends. So the bits of the
//! weight, which is not negative, above the rank of v are a key of 64 bits that orders the arcs of a row. Between nodes the key is
//! the bits of the weight, the lower rank, the higher rank: 96 bits. Its upper 64 are minimised first, then its lower 32 among
//! the nodes that have these.
//!
//! **Replicas.** Each finds the least arcs of the nodes of its chunk, and offers them to their trees; what trees are offered is
//! merged by MIN, twice a round. All replicas then join trees alike, without exchange. On one replica, with `--merge redundant`,
//! where links between GPUs are slow, and on GPUs where the graph is small, each does everything.
//!
//! **Arrays.** `tree, next: [n] u32`, `lightest: [n] u64`, each replica's own; `first: [n] u64`, `second: [n] u32`, replicated,
//! MIN; sets of nodes `stale`, `live`, `left`; `rank, node: [n] u32` where ids do not rise with nodes. A tree takes one edge before
//! it is part of another, so the edges of the forest stay in `first` and `second`, at the roots of former trees.
//!
//! **Source.** Nesetril, Milkova, Nesetrilova, "Otakar Boruvka on minimum spanning tree problem: translation of both the 1926
//! papers, comments, history", Discrete Mathematics 233, 2001; Chung, Condon, "Parallel implementation of Boruvka's minimum
//! spanning tree algorithm", IPPS 1996 (hooking and pointer jumping).

mod answer;
mod program;

use super::frame::ReplicaAnswer;
use super::workload::{Algorithm, NoOptions, Request, run};
use super::{Measured, symmetric};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};

/// The workload.
pub struct Mst;

/// What minimum spanning forests are asked: nothing of their own.
pub type MstConfig = NoOptions;

/// The answer of [`mst`]: edges by rising (lower id, higher id), as nodes of the graph.
#[derive(Debug, Clone, Default)]
pub struct SpanningForest {
    /// `[edges]` the end of the lower input id.
    pub sources: Vec<u32>,
    /// `[edges]` the end of the higher input id.
    pub targets: Vec<u32>,
    /// `[edges]` what each weighs; 1 in a graph without weights.
    pub weights: Vec<f32>,
    /// Trees, those of one node included.
    pub trees: u64,
    /// The sum of the weights, added in the order of the edges.
    pub total: f64,
    /// Timings and counts.
    pub measured: Measured,
}

/// The minimum spanning forest of a symmetric graph.
///
/// # Errors
/// [`Error::Input`] for a graph that is not symmetric with its weights; [`Error::Fault`] when a replica fails; [`Error::Verify`]
/// when `compare` finds answers that differ.
pub fn mst(fleet: &Fleet, graph: &Prepared, config: &MstConfig) -> Result<SpanningForest> {
    run::<Mst>(fleet, graph, config)
}

/// Arcs from which GPUs deal the rows: fewer are looked at sooner than trees are merged.
const WORTH_DEALING: u64 = 1 << 26;

impl Algorithm for Mst {
    type Config = MstConfig;
    type Start = ();
    type Answer = SpanningForest;
    const NAME: &'static str = "mst";
    const ABOUT: &'static str =
        "Minimum spanning forest: the lightest edges that join the nodes of each component";
    const EXAMPLES: [&'static str; 2] = [
        "hive run mst --graph road:12 --output forest.csv",
        "hive run mst --graph rmat:12 --weights random:1-9:1 --verify",
    ];
    const FORM: Form = Form::General;

    fn start(_: &MstConfig, graph: &Graph) -> Result<()> {
        symmetric(Self::NAME, graph)?;
        match graph.is_symmetric() {
            true => Ok(()),
            false => Err(Error::input(format!(
                "{} needs arcs that weigh the same both ways, and in this graph some do not: load it with --weights unit",
                Self::NAME
            ))),
        }
    }

    fn arrays(shape: &GraphShape, _: &MstConfig, world: usize) -> Vec<DeviceArray> {
        program::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<SpanningForest> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, run) = (graph.general(fleet)?, run.clone());
        let (info, arcs) = (fleet.info(), query.graph.arcs());
        let little = info.has_slow_links() || info.backend == "cuda" && arcs < WORTH_DEALING;
        let whole = !run.merge.deals(fleet.world(), little);
        let program = move |r: &mut _| program::program(r, &rows, whole, &run);
        let (edges, measured) = ReplicaAnswer::first(fleet.run(program)?);
        Ok(SpanningForest::of(&query.graph, edges, measured))
    }
}
