//! Local clustering coefficients, and the transitivity of the graph.
//!
//! **Definition.** With d(v) neighbours other than v, of which t(v) pairs are joined,
//!
//! ~~~text
//! lcc(v)       = t(v) / (d(v) (d(v) - 1) / 2), 0 where d(v) is below 2
//! transitivity = sum of t(v) / sum of d(v) (d(v) - 1) / 2
//! ~~~
//!
//! Graphs are symmetric; self loops and parallel arcs do not count. This is what LDBC defines for undirected graphs.
//!
//! **Idea.** t(v) is the number of triangles that v is in ([`mod@super::triangles`]).
//!
//! **Source.** Watts, Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998; LDBC Graphalytics benchmark
//! specification 1.0, 2.3.5.

mod answer;

use super::triangles::counted;
use super::workload::{Algorithm, NoOptions, Request, run};
use super::{Measured, symmetric};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};

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
    /// Triangles of the graph.
    pub triangles: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// The local clustering coefficient of every node of a symmetric graph.
///
/// # Errors
/// [`crate::Error::Input`] for a graph in which some arc lacks its reverse; [`crate::Error::Fault`] when a replica fails;
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
        "hive run lcc --graph web.mtx --symmetrize --top 10",
        "hive run lcc --graph rmat:10 --verify --output clustering.csv",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["triangles.cu"];
    const RANKS: Option<&'static str> = Some("the nodes of the highest coefficient");

    fn start(_: &LccConfig, graph: &Graph) -> Result<()> {
        symmetric(Self::NAME, graph)
    }

    fn arrays(shape: &GraphShape, _: &LccConfig, world: usize) -> Vec<DeviceArray> {
        super::triangles::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Clustering> {
        let Request { fleet, graph, query, run, .. } = request;
        let (counts, measured) = counted(fleet, graph, run)?;
        Clustering::of(&query.graph, &counts, measured)
    }
}
