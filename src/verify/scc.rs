//! Checks strongly connected components: labels exactly.
//!
//! A node's label is the member of its component with the lowest input id. The right ones are computed with
//! one thread, by Tarjan's algorithm (SIAM J. Computing 1972) on a stack of its own, and compared: no cheaper
//! look at labels shows that a component is not split.

mod gpu;

use super::components::{ComponentsCheck, compare, count};
use super::one_a_node;
use crate::error::Result;
use crate::graph::Graph;

/// A node that was not visited; one that has no label yet.
const NONE: u32 = u32::MAX;

const WHAT: &str = "strongly connected components";

/// Certifies that `labels` (`[n]`, node indices) names, for each node, the node with the lowest input id of
/// its strongly connected component.
///
/// Takes one pass over the arcs with one thread and 28 bytes a node at most.
///
/// # Errors
///
/// [`crate::Error::Verify`] names the wrong node of the lowest input id, the label found and the right one.
pub fn scc(graph: &Graph, labels: &[u32]) -> Result<ComponentsCheck> {
    one_a_node(graph, WHAT, "labels", labels.len())?;
    compare(graph, "strongly connected", labels, &tarjan(graph))?;
    Ok(count(labels))
}

/// A depth-first search under way.
struct Search<'a> {
    graph: &'a Graph,
    /// `[n]` when a node was first visited, from 0.
    visit: Vec<u32>,
    /// `[n]` the earliest visit to a node of an open component that is known to be reached.
    low: Vec<u32>,
    /// `[n]` label of a node whose component is complete.
    label: Vec<u32>,
    /// Visited nodes of open components.
    open: Vec<u32>,
    /// The path to the current node, and the next arc to follow from each node on it.
    path: Vec<(u32, u64)>,
}

/// `[n]` the right labels.
fn tarjan(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let mut search = Search {
        graph,
        visit: vec![NONE; n],
        low: vec![NONE; n],
        label: vec![NONE; n],
        open: Vec::new(),
        path: Vec::new(),
    };
    let mut visits = 0;
    for root in 0..n as u32 {
        if search.visit[root as usize] == NONE {
            search.enter(root, &mut visits);
            search.run(&mut visits);
        }
    }
    search.label
}

impl Search<'_> {
    fn enter(&mut self, v: u32, visits: &mut u32) {
        self.visit[v as usize] = *visits;
        self.low[v as usize] = *visits;
        *visits += 1;
        self.open.push(v);
        self.path.push((v, self.graph.offsets()[v as usize]));
    }

    fn run(&mut self, visits: &mut u32) {
        let (offsets, columns) = (self.graph.offsets(), self.graph.columns());
        while let Some((u, arc)) = self.path.last_mut() {
            let u = *u as usize;
            if *arc == offsets[u + 1] {
                self.path.pop();
                self.leave(u);
                continue;
            }
            let v = columns[*arc as usize];
            *arc += 1;
            if self.visit[v as usize] == NONE {
                self.enter(v, visits);
            } else if self.label[v as usize] == NONE {
                self.low[u] = self.low[u].min(self.visit[v as usize]);
            }
        }
    }

    /// All arcs of `u` were followed.
    fn leave(&mut self, u: usize) {
        if self.low[u] == self.visit[u] {
            self.complete(u as u32);
        }
        if let Some(&(above, _)) = self.path.last() {
            // That of a complete component is a later visit, and changes nothing.
            self.low[above as usize] = self.low[above as usize].min(self.low[u]);
        }
    }

    /// Takes the component that was entered at `first` off the open nodes.
    fn complete(&mut self, first: u32) {
        let Some(begin) = self.open.iter().rposition(|&v| v == first) else { return };
        let members = &self.open[begin..];
        let smallest = members.iter().map(|&v| self.graph.rank(v)).min();
        let label = smallest.map_or(first, |rank| self.graph.ranked(rank));
        members.iter().for_each(|&v| self.label[v as usize] = label);
        self.open.truncate(begin);
    }
}
