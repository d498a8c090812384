//! Independent checkers, one file a workload.
//!
//! A checker shares no code with what it checks. It decides from the structure of the answer (can an
//! arc still be relaxed? does a chain of arcs support this value?), so it works on a graph of any
//! size, and only once an answer is known to be wrong does it compute the right one, to name the
//! lowest wrong node and the value that belongs there.

mod betweenness;
mod bfs;
mod components;
mod cores;
mod filter;
mod geo;
mod globe;
mod hops;
mod katz;
mod labels;
mod levels;
mod median;
mod pagerank;
mod sssp;
mod strong;
mod triangles;

pub use betweenness::{BetweennessCheck, BetweennessQuestion, betweenness};
pub use bfs::{LevelsCheck, levels};
pub use components::components;
pub use cores::{CoresCheck, cores};
pub use filter::filter;
pub use geo::{GeoCheck, geolocation};
pub use globe::{ErrorKm, error_km, great_circle_km};
pub use katz::katz;
pub use labels::ComponentsCheck;
pub use median::spatial_median;
pub use pagerank::{PagerankCheck, PagerankQuestion, pagerank};
pub use sssp::{Checked, PathsFound, distances_bits_equal, shortest_paths};
pub use strong::strong_components;
pub use triangles::{TrianglesCheck, triangles};

use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// The node of the lowest input id that is `wrong`.
fn first_by_id(graph: &Graph, wrong: impl Fn(usize) -> bool + Sync + Send) -> Option<usize> {
    let ranks = (0..graph.nodes() as u32).into_par_iter();
    ranks.map(|rank| graph.ranked(rank) as usize).find_first(|&v| wrong(v))
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
