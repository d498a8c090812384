//! Checks communities by the method of Louvain.

use super::modularity::{ModulesFound, modules};
use crate::error::Result;
use crate::graph::Graph;

/// Certifies that communities have the modularity that is said, in f64, that no two of them gain as one, that no level
/// has lost, all to 1e-6 of the modularity's terms, and that each is named by its lowest id. Returns the modularity.
///
/// Takes 24 bytes a node, and 24 for each pair of communities with arcs between them.
///
/// # Errors
/// [`crate::Error::Verify`] names the wrong node of the lowest input id, or the two communities. [`crate::Error::Input`] when the
/// graph is not symmetric.
pub fn louvain(graph: &Graph, found: ModulesFound, resolution: f64) -> Result<f64> {
    modules("louvain", graph, found, resolution, || Ok(()))
}
