//! Independent checkers, one file and one function a workload, named like it.
//!
//! A checker shares no code with what it checks. It decides from the structure of the answer (can an
//! arc still be relaxed? does a chain of arcs support this value?), so it works on a graph of any
//! size, and only once an answer is known to be wrong does it compute the right one, to name the
//! lowest wrong node and the value that belongs there.

mod arriving;
mod bc;
mod bfs;
mod cc;
mod cdlp;
mod closeness;
mod cluster;
mod components;
mod distances;
mod filter;
mod geo;
mod gpu;
mod hops;
mod katz;
mod kcore;
mod lcc;
mod leiden;
mod louvain;
mod modularity;
mod mst;
mod nearest;
mod pagerank;
mod ppr;
mod project;
mod pushing;
mod sample;
mod scan;
mod scc;
mod seed_sums;
mod similar;
mod sssp;
mod triangles;
mod walk;
mod wedges;

pub use bc::{BetweennessCheck, BetweennessQuestion, bc};
pub use bfs::{LevelsCheck, bfs};
pub use cc::cc;
pub use cdlp::cdlp;
pub use closeness::{ClosenessBy, ClosenessFound, ClosenessOf, closeness};
pub use cluster::{ClustersFound, cluster};
pub use components::ComponentsCheck;
pub use distances::{Length, distances};
pub use filter::filter;
pub use geo::{ErrorKm, GeoCheck, error_km, geo, great_circle_km, spatial_median};
pub use gpu::Checker;
pub use hops::hops;
pub use katz::katz;
pub use kcore::{CoresCheck, kcore};
pub use lcc::{ClusteringFound, lcc};
pub use leiden::leiden;
pub use louvain::louvain;
pub use modularity::ModulesFound;
pub use mst::{ForestFound, mst};
pub use nearest::{NearestBy, NearestFound, nearest};
pub use pagerank::{PagerankCheck, PagerankQuestion, pagerank};
pub use ppr::{PowerCheck, PowerFound, PowerQuestion, PprFound, ppr, ppr_by_power};
pub use project::project;
pub use pushing::PushQuestion;
pub use sample::{SampleQuestion, sample};
pub use scan::scan;
pub use scc::scc;
pub use seed_sums::{SeedSumsFound, seed_sums};
pub use similar::{PairsAsked, PairsFound, SimilarQuestion, similar};
pub use sssp::{PathsCheck, PathsFound, distances_bits_equal, sssp};
pub use triangles::{TrianglesCheck, triangles};
pub use walk::{WalkFound, WalkQuestion, walk};

use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// The node of the lowest input id that is `wrong`.
fn first_by_id(graph: &Graph, wrong: impl Fn(usize) -> bool + Sync + Send) -> Option<usize> {
    first_of(graph, &|v| wrong(*v))
}

/// The same, compiled once for all conditions.
fn first_of(graph: &Graph, wrong: &(dyn Fn(&usize) -> bool + Sync)) -> Option<usize> {
    let ranks = (0..graph.nodes() as u32).into_par_iter();
    ranks.map(|rank| graph.ranked(rank) as usize).find_first(wrong)
}

/// Refuses an answer that has not one value a node.
fn one_a_node(graph: &Graph, workload: &str, what: &str, length: usize) -> Result<()> {
    let n = graph.nodes();
    if length == n {
        return Ok(());
    }
    let lengths = format!("the answer holds {length} {what}, but the graph has {n} nodes");
    Err(Error::Verify(format!("{workload}: {lengths}")))
}
