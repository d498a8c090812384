//! Checks communities by the method of Leiden: what is asked of any, and that each is connected.

use super::modularity::{ModulesFound, modules};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// Certifies that each community is connected, that communities have the modularity that is said, in f64, that no two of them gain as
/// one, that no level has lost, all to 1e-6 of the modularity's terms, and that each is named by its lowest id. Returns the modularity.
///
/// Takes 24 bytes a node, and 24 for each pair of communities with arcs between them.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id, or two nodes of a community without a path in it, or two communities.
/// [`Error::Input`] when the graph is not symmetric.
pub fn leiden(graph: &Graph, found: ModulesFound, resolution: f64) -> Result<f64> {
    modules("leiden", graph, found, resolution, || connected(graph, found.communities))
}

/// Looks for a node that no path inside its community leads to, from the node that names it.
fn connected(graph: &Graph, of: &[u32]) -> Result<()> {
    let mut reached = vec![false; of.len()];
    let mut left = Vec::new();
    for v in (0..graph.nodes() as u32).map(|rank| graph.ranked(rank)) {
        if reached[v as usize] {
            continue;
        }
        // The first of a community has the lowest id.
        let named = of[v as usize];
        if named != v {
            let [named, id] = [named, v].map(|node| graph.id(node));
            return Err(Error::Verify(format!(
                "leiden: community {named} is not connected: no path inside it joins nodes {named} and {id}"
            )));
        }
        reached[v as usize] = true;
        left.push(v);
        while let Some(u) = left.pop() {
            for (next, _) in graph.neighbors(u as usize) {
                if of[next as usize] == named && !reached[next as usize] {
                    reached[next as usize] = true;
                    left.push(next);
                }
            }
        }
    }
    Ok(())
}
