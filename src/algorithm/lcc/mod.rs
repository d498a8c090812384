//! Local clustering coefficients, and the transitivity of the graph.
//!
//! **Definition.** With d(v) neighbours other than v, by arcs of either direction, and a(v) arcs among them,
//!
//! ~~~text
//! lcc(v)       = a(v) / (d(v) (d(v) - 1)), 0 where d(v) is below 2
//! transitivity = sum of a(v) / sum of d(v) (d(v) - 1)
//! ~~~
//!
//! Self loops and parallel arcs do not count. This is what LDBC defines for directed and undirected graphs.
//!
//! **Idea.** In a symmetric graph a(v) is twice the number of triangles that v is in ([`mod@super::triangles`]). For directed ones see
//! `directed.rs`.
//!
//! **Source.** Watts, Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998; LDBC Graphalytics benchmark
//! specification 1.0, 2.3.5.

mod answer;
mod directed;

use super::Measured;
use super::triangles::{counted, neighbours};
use super::workload::{Algorithm, NoOptions, Request, run};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use directed::{Around, around};
use rayon::prelude::*;

/// The workload.
pub struct Lcc;

/// What clustering coefficients are asked: nothing of their own.
pub type LccConfig = NoOptions;

/// The answer of [`lcc`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Clustering {
    /// `[n]` from 0 to 1.
    pub coefficients: Vec<f64>,
    /// Their mean over all nodes; 0 where there are none.
    pub mean: f64,
    /// Of the graph, from 0 to 1; 0 where no node has two neighbours.
    pub transitivity: f64,
    /// Triangles of the graph, whatever the direction of their arcs.
    pub triangles: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// The local clustering coefficient of every node.
///
/// # Errors
/// [`crate::Error::Input`] for a directed graph of more than 2^31 - 2 nodes; [`crate::Error::Fault`] when a replica fails;
/// [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn lcc(fleet: &Fleet, graph: &Prepared, config: &LccConfig) -> Result<Clustering> {
    run::<Lcc>(fleet, graph, config)
}

impl Algorithm for Lcc {
    type Config = LccConfig;
    type Start = ();
    type Answer = Clustering;
    const NAME: &'static str = "lcc";
    const ABOUT: &'static str =
        "Local clustering coefficients: how many of the neighbours of a node know each other";
    const EXAMPLES: [&'static str; 2] = [
        "hive run lcc --graph web.mtx --top 10",
        "hive run lcc --graph rmat:10 --verify --output clustering.csv",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["triangles.cu"];
    const RANKS: Option<&'static str> = Some("the nodes of the highest coefficient");

    fn start(_: &LccConfig, _: &Graph) -> Result<()> {
        Ok(())
    }

    fn arrays(shape: &GraphShape, _: &LccConfig, world: usize) -> Vec<DeviceArray> {
        super::triangles::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Clustering> {
        let Request { fleet, graph, query, run, .. } = request;
        if !query.graph.is_undirected() {
            query.graph.load()?;
            return Ok(Clustering::of(around(fleet, graph, run)?));
        }
        let (mut joined, measured) = counted(fleet, graph, run)?;
        let triangles = joined.par_iter().sum::<u64>() / 3;
        joined.par_iter_mut().for_each(|count| *count *= 2);
        let neighbours = neighbours(&query.graph)?;
        Ok(Clustering::of(Around { joined, neighbours, triangles, measured }))
    }
}
