//! Checks scan statistics: counts the edges around every node.

use super::triangles::marked;
use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use std::collections::HashSet;

/// Certifies that `edges` (`[n]`) are those among each node of a symmetric graph and its neighbours, and that `densest` is the node of
/// the most, of the lowest id among several.
///
/// Takes what [`super::triangles`] takes.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id. [`Error::Input`] when the graph is directed.
pub fn scan(graph: &Graph, edges: &[u64], densest: Option<u32>) -> Result<()> {
    if !graph.is_undirected() {
        let what = "cannot check scan statistics of a directed graph; load it with --symmetrize";
        return Err(Error::input(what));
    }
    one_a_node(graph, "scan", "numbers of edges", edges.len())?;
    let joined = marked(graph);
    let right = |v: usize| {
        let others = graph.neighbors(v).map(|arc| arc.0).filter(|u| *u as usize != v);
        others.collect::<HashSet<u32>>().len() as u64 + joined[v]
    };
    if let Some(v) = first_by_id(graph, |v| edges[v] != right(v)) {
        let (id, found, right) = (graph.id(v as u32), edges[v], right(v));
        return Err(Error::Verify(format!(
            "scan, node {id}: there are {right} edges around it, not {found}"
        )));
    }
    let most = edges.iter().max();
    let first = first_by_id(graph, |v| Some(&edges[v]) == most);
    if first != densest.map(|v| v as usize) {
        let id = |v: Option<u32>| v.map_or("no node".into(), |v| graph.id(v).to_string());
        return Err(Error::Verify(format!(
            "scan: the densest is {}, not {}",
            id(first.map(|v| v as u32)),
            id(densest)
        )));
    }
    Ok(())
}
