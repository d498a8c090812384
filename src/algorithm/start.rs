//! What runs start from: nodes, and what graphs must be like.

use super::Seeds;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::units::plural;
use std::path::Path;

/// Refuses a graph in which some arc lacks its reverse.
pub(super) fn symmetric(graph: &Graph) -> Result<()> {
    match graph.is_undirected() {
        true => Ok(()),
        false => Err(Error::input(
            "this needs a symmetric graph, and in this one some arc lacks its reverse, or has it less often: load it with --symmetrize",
        )),
    }
}

/// The nodes to which paths are asked for, by rising input id.
pub(super) fn targets(targets: Option<&Seeds>, graph: &Graph) -> Result<Vec<u32>> {
    let nodes = targets.map(|targets| targets.resolve_of("--target", graph));
    let mut nodes = nodes.transpose()?.unwrap_or_default();
    nodes.sort_unstable_by_key(|node| graph.rank(*node));
    Ok(nodes)
}

/// `, from node 1`, as it follows the graph's name in a summary.
pub(super) fn from_nodes(nodes: &[u32], graph: &Graph) -> String {
    match nodes {
        [one] => format!(", from node {}", graph.id(*one)),
        many => format!(", from {}", plural(many.len() as u64, "seed")),
    }
}

/// The files that choices of nodes are read from, with their options.
pub(super) fn files_of<'a, const N: usize>(
    choices: [(&'static str, &'a Option<Seeds>); N],
) -> Vec<(&'static str, &'a Path)> {
    let file = |(option, seeds): (&'static str, &'a Option<Seeds>)| match seeds {
        Some(Seeds::File(path)) => Some((option, path.as_path())),
        _ => None,
    };
    choices.into_iter().filter_map(file).collect()
}

/// The refusal of an option that is for one search.
pub(crate) fn one_search(option: &str, sources: usize) -> Error {
    Error::input(format!(
        "{option} with {sources} sources: it is for one search; give one --source"
    ))
}
