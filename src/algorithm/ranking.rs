//! Nodes in the order of a value.

use crate::graph::Graph;
use crate::table::Table;
use std::cmp::Ordering;

/// The first `k` of these nodes in the order of their values, ties by input id.
pub(crate) fn first<T: Copy>(
    graph: &Graph,
    values: impl Iterator<Item = (u32, T)>,
    k: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> Vec<(u32, T)> {
    let mut ranked: Vec<(u32, u32, T)> =
        values.map(|(node, value)| (graph.rank(node), node, value)).collect();
    let order =
        |a: &(u32, u32, T), b: &(u32, u32, T)| order(&a.2, &b.2).then_with(|| a.0.cmp(&b.0));
    if 0 < k && k < ranked.len() {
        ranked.select_nth_unstable_by(k - 1, order);
    }
    ranked.truncate(k);
    ranked.sort_unstable_by(order);
    ranked.into_iter().map(|(_, node, value)| (node, value)).collect()
}

/// A table of nodes and their values, called `what`, in this order.
pub(crate) fn ranked(
    graph: &Graph,
    [node, what]: [&str; 2],
    rows: impl IntoIterator<Item = (u32, impl ToString)>,
) -> String {
    let mut table = Table::new(&["rank", node, what], &[]);
    for (place, (node, value)) in rows.into_iter().enumerate() {
        let id = graph.id(node).to_string();
        table.row([(place + 1).to_string(), id, value.to_string()]);
    }
    table.to_string()
}

/// `[n]` how many nodes are in the community that each names: `named` has a node for each node.
pub(crate) fn sizes(named: &[u32]) -> Vec<u64> {
    let mut sizes = vec![0; named.len()];
    named.iter().for_each(|name| sizes[*name as usize] += 1);
    sizes
}
