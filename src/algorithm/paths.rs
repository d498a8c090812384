//! Paths from where a search began to the nodes that were asked for.
//!
//! A path goes back from its target along predecessors. Predecessors are unique ([`super::chains`]), so paths are
//! the same on any number of replicas.

use crate::graph::{Graph, NodeId};
use crate::io::{Column, Table};
use serde_json::{Value, json};

/// Nodes of a path that a terminal shows at its start, and at its end.
const SHOWN: (usize, usize) = (12, 4);

/// How far the nodes of paths are from the start.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengths {
    /// Arcs.
    Arcs(Vec<u32>),
    /// Summed weights.
    F32(Vec<f32>),
    /// The same, summed in f64.
    F64(Vec<f64>),
}

impl Lengths {
    fn column(&self) -> Column<'_> {
        match self {
            Lengths::Arcs(values) => Column::Value(values),
            Lengths::F32(values) => Column::F32(values),
            Lengths::F64(values) => Column::Distance(values),
        }
    }

    fn text(&self, row: usize) -> String {
        match self {
            Lengths::Arcs(values) => values[row].to_string(),
            Lengths::F32(values) => values[row].to_string(),
            Lengths::F64(values) => values[row].to_string(),
        }
    }

    fn json(&self, row: usize) -> Value {
        match self {
            Lengths::Arcs(values) => json!(values[row]),
            Lengths::F32(values) => json!(values[row]),
            Lengths::F64(values) => json!(values[row]),
        }
    }
}

/// A path to each target, one after another, a row a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Paths {
    /// The targets, and how many rows belong to each: none for a target that was not reached.
    pub targets: Vec<(u32, usize)>,
    /// `[rows]` the target of the path.
    target: Vec<u32>,
    /// `[rows]` from 0, the start.
    position: Vec<u32>,
    /// `[rows]`
    pub nodes: Vec<u32>,
    /// `[rows]`
    lengths: Lengths,
}

impl Paths {
    /// Walks from each target back along `predecessors`, to a node that has none or is its own. `reached` says which
    /// nodes have a path, `lengths` how far nodes are from the start.
    pub(crate) fn walk(
        targets: &[u32],
        predecessors: &[u32],
        reached: impl Fn(u32) -> bool,
        lengths: impl FnOnce(&[u32]) -> Lengths,
    ) -> Paths {
        let (mut counts, mut nodes, mut of, mut position) = (vec![], vec![], vec![], vec![]);
        for &target in targets {
            let begin = nodes.len();
            let mut at = reached(target).then_some(target);
            while let Some(node) = at {
                nodes.push(node);
                let before = predecessors[node as usize];
                // No path is longer than the graph has nodes.
                let more = before != u32::MAX && before != node;
                at = (more && nodes.len() - begin <= predecessors.len()).then_some(before);
            }
            nodes[begin..].reverse();
            let rows = nodes.len() - begin;
            of.extend(std::iter::repeat_n(target, rows));
            position.extend(0..rows as u32);
            counts.push((target, rows));
        }
        let lengths = lengths(&nodes);
        Paths { targets: counts, target: of, position, nodes, lengths }
    }

    /// The paths, (target, rows) in the order of the targets.
    fn each(&self) -> impl Iterator<Item = (u32, std::ops::Range<usize>)> + '_ {
        self.targets.iter().scan(0, |begin, (target, rows)| {
            let range = *begin..*begin + rows;
            *begin = range.end;
            Some((*target, range))
        })
    }

    /// A row a node of a path: `target,position,node,distance`.
    pub fn table(&self) -> Table<'_> {
        Table::listed([
            ("target", Column::Node(&self.target)),
            ("position", Column::Value(&self.position)),
            ("node", Column::Node(&self.nodes)),
            ("distance", self.lengths.column()),
        ])
    }

    /// For a terminal: a line a target; of a long path the start and the end.
    pub fn text(&self, graph: &Graph) -> String {
        let name = |node: u32| graph.id(node).to_string();
        let line = |(target, rows): (u32, std::ops::Range<usize>)| {
            let Some(last) = rows.clone().last() else {
                return format!("path to {}: none, it was not reached\n", name(target));
            };
            let (nodes, (head, tail)) = (&self.nodes[rows.clone()], SHOWN);
            let shown = |nodes: &[u32]| nodes.iter().map(|v| name(*v)).collect::<Vec<_>>();
            let ids = match nodes.len().checked_sub(head + tail) {
                Some(more @ 1..) => {
                    let between = format!("... {more} more ...");
                    [shown(&nodes[..head]), vec![between], shown(&nodes[head + more..])].concat()
                }
                _ => shown(nodes),
            };
            format!(
                "path to {}: {}, distance {}\n  {}\n",
                name(target),
                crate::units::plural(nodes.len() as u64 - 1, "arc"),
                self.lengths.text(last),
                ids.join(" -> ")
            )
        };
        self.each().map(line).collect()
    }

    /// For a record: `target`, `nodes` in order (none where it was not reached), `distance` or null.
    pub fn json(&self, graph: &Graph) -> Value {
        let path = |(target, rows): (u32, std::ops::Range<usize>)| {
            let nodes: Vec<NodeId> =
                self.nodes[rows.clone()].iter().map(|v| graph.id(*v)).collect();
            let distance = rows.last().map_or(Value::Null, |row| self.lengths.json(row));
            json!({ "target": graph.id(target), "nodes": nodes, "distance": distance })
        };
        self.each().map(path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    #[test]
    fn a_path_ends_at_a_node_that_is_its_own_predecessor_or_has_none() {
        let graph = Graph::from_csr(vec![0; 6], vec![], None, Origin::default()).unwrap();
        for first in [0, u32::MAX] {
            let before = [first, 0, 1, u32::MAX, 2];
            let lengths =
                |nodes: &[u32]| Lengths::F32(nodes.iter().map(|v| *v as f32 / 2.0).collect());
            let paths = Paths::walk(&[4, 3, 0], &before, |v| v != 3, lengths);
            assert_eq!(paths.nodes, [0, 1, 2, 4, 0]);
            assert_eq!(paths.targets, [(4, 4), (3, 0), (0, 1)]);
            assert_eq!(
                paths.text(&graph),
                "path to 4: 3 arcs, distance 2\n  0 -> 1 -> 2 -> 4\n\
                 path to 3: none, it was not reached\n\
                 path to 0: 0 arcs, distance 0\n  0\n"
            );
            assert_eq!(
                paths.json(&graph)[0],
                json!({ "target": 4, "nodes": [0, 1, 2, 4], "distance": 2.0 })
            );
            assert_eq!(
                paths.json(&graph)[1],
                json!({ "target": 3, "nodes": [], "distance": null })
            );
        }
    }

    #[test]
    fn a_terminal_shows_the_ends_of_a_long_path_and_how_much_is_between() {
        let n = 30;
        let graph = Graph::from_csr(vec![0; n + 1], vec![], None, Origin::default()).unwrap();
        let before: Vec<u32> = (0..n as u32).map(|v| v.saturating_sub(1)).collect();
        let arcs = |nodes: &[u32]| Lengths::Arcs(nodes.to_vec());
        let text = Paths::walk(&[29], &before, |_| true, arcs).text(&graph);
        assert!(text.starts_with("path to 29: 29 arcs, distance 29\n  0 -> 1 -> "), "{text}");
        assert!(text.contains(" 11 -> ... 14 more ... -> 26 -> 27 -> 28 -> 29\n"), "{text}");
    }
}
