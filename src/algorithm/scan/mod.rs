//! Scan statistics: how many edges there are around each node.
//!
//! **Definition.** scan(v) = the edges among v and its neighbours: d(v) edges to its d(v) neighbours other than v, and an edge for
//! each triangle that v is in. Graphs are symmetric; self loops and parallel arcs do not count. The scan statistic of the graph is the
//! largest.
//!
//! **Idea.** Triangles are counted ([`mod@super::triangles`]).
//!
//! **Source.** Priebe, Conroy, Marchette, Park, "Scan statistics on Enron graphs", Computational & Mathematical Organization Theory
//! 11, 2005 (the locality statistic of order 1).

mod answer;

use super::triangles::{counted, neighbours};
use super::workload::{Algorithm, NoOptions, Request, run};
use super::{Measured, symmetric};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use rayon::prelude::*;

/// The workload.
pub struct Scan;

/// What scan statistics are asked: nothing of their own.
pub type ScanConfig = NoOptions;

/// The answer of [`scan`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Scanned {
    /// `[n]` edges around each node.
    pub edges: Vec<u64>,
    /// The node of the most, of several that of the lowest id; none in a graph without nodes.
    pub densest: Option<u32>,
    /// Timings and counts.
    pub measured: Measured,
}

/// How many edges there are among each node of a symmetric graph and its neighbours.
///
/// # Errors
/// [`crate::Error::Input`] for a graph in which some arc lacks its reverse; [`crate::Error::Fault`] when a replica fails;
/// [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn scan(fleet: &Fleet, graph: &Prepared, config: &ScanConfig) -> Result<Scanned> {
    run::<Scan>(fleet, graph, config)
}

impl Algorithm for Scan {
    type Config = ScanConfig;
    type Start = ();
    type Answer = Scanned;
    const NAME: &'static str = "scan";
    const ABOUT: &'static str = "Scan statistics: the edges among each node and its neighbours";
    const EXAMPLES: [&'static str; 2] = [
        "hive run scan --graph web.mtx --symmetrize --top 5",
        "hive run scan --graph rmat:10 --verify --output scan.csv",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["triangles.cu"];
    const RANKS: Option<&'static str> = Some("the nodes with most edges around them");

    fn start(_: &ScanConfig, graph: &Graph) -> Result<()> {
        symmetric(Self::NAME, graph)
    }

    fn arrays(shape: &GraphShape, _: &ScanConfig, world: usize) -> Vec<DeviceArray> {
        super::triangles::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Scanned> {
        let Request { fleet, graph, query, run, .. } = request;
        let (counts, measured) = counted(fleet, graph, run)?;
        let degrees = neighbours(&query.graph)?;
        let edges: Vec<u64> = counts.par_iter().zip(degrees).map(|(t, d)| t + d).collect();
        let mut ranks = (0..query.graph.nodes() as u32).map(|rank| query.graph.ranked(rank));
        let first = ranks.next();
        let denser =
            |best: u32, v: u32| if edges[v as usize] > edges[best as usize] { v } else { best };
        let densest = first.map(|first| ranks.fold(first, denser));
        Ok(Scanned { edges, densest, measured })
    }
}
