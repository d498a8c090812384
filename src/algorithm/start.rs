//! What runs start from: nodes, and what graphs must be like.

use super::Seeds;
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::graph::Graph;
use crate::operator::Over;
use crate::units::plural;
use std::ops::Range;
use std::path::Path;

/// Arcs of which one without its reverse is named.
const NAMED_ARCS: usize = 4096;

/// Refuses, for a workload, a graph in which some arc lacks its reverse.
pub(super) fn symmetric(workload: &str, graph: &Graph) -> Result<()> {
    if graph.is_undirected() {
        return Ok(());
    }
    let arcs = (0..graph.nodes()).flat_map(|u| graph.neighbors(u).map(move |(v, _)| (u as u32, v)));
    let alone = |&(u, v): &(u32, u32)| graph.neighbors(v as usize).all(|(w, _)| w != u);
    let arc = match arcs.take(NAMED_ARCS).find(alone) {
        Some((u, v)) => format!("the arc from {} to {} has no reverse", graph.id(u), graph.id(v)),
        None => "some arc lacks its reverse, or has it less often".into(),
    };
    Err(Error::input(format!(
        "{workload} needs a symmetric graph, and in this one {arc}: load it with --symmetrize"
    )))
}

/// The nodes to which paths are asked for, by rising input id.
pub(super) fn targets(targets: Option<&Seeds>, graph: &Graph) -> Result<Vec<u32>> {
    let nodes = targets.map(|targets| targets.resolve_of("--target", graph));
    let mut nodes = nodes.transpose()?.unwrap_or_default();
    nodes.sort_unstable_by_key(|node| graph.rank(*node));
    Ok(nodes)
}

/// `, from node 1` or `, from 2 seeds`, as it follows the graph's name in a summary.
pub(super) fn from_nodes(nodes: &[u32], noun: &str, graph: &Graph) -> String {
    match nodes {
        [one] => format!(", from node {}", graph.id(*one)),
        many => format!(", from {}", plural(many.len() as u64, noun)),
    }
}

/// How many nodes a choice has at most, of so many.
pub(super) fn most_of(chosen: &Option<Seeds>, nodes: usize) -> usize {
    match chosen {
        Some(Seeds::List(ids)) => ids.len(),
        Some(
            Seeds::First(count) | Seeds::Random { count, .. } | Seeds::Connected { count, .. },
        ) => *count as usize,
        Some(Seeds::File(_) | Seeds::All) | None => nodes,
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

/// What this replica takes of `count` starts, a slice if they are `dealt` and else all, and how many a replica takes at most: arrays are
/// of one length on all.
pub(super) fn own_of(r: &Replica, count: usize, dealt: bool) -> (Range<usize>, usize) {
    if !dealt {
        return (0..count, count);
    }
    let slices = Over::slices(count, r.shares());
    let slice = |rank| slices.range(rank).start as usize..slices.range(rank).end as usize;
    let most = (0..r.world()).map(|rank| slice(rank).len()).max();
    (slice(r.rank()), most.unwrap_or(count))
}

/// The refusal of an option that is for one search.
pub(crate) fn one_search(option: &str, sources: usize) -> Error {
    Error::input(format!(
        "{option} with {sources} sources: it is for one search; give one --source"
    ))
}
