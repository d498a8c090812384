//! Checks breadth-first search: levels, and parents exactly.
//!
//! The rules are Graph500's, for arcs instead of edges. Levels are right if and only if
//!
//! 1. the source has level 0;
//! 2. no arc u -> v of a reached u jumps: v is reached, `level[v] <= level[u] + 1` (so nothing is too
//!    high or missing);
//! 3. every other reached node has an in-neighbour one level above it (so nothing is too low: a chain
//!    of falling levels ends at level 0, and only the source is there without support).
//!
//! One pass over the arcs out of reached nodes checks 2 and gathers, for 3 and for parents, the least
//! rank among the in-neighbours one level above, merged by MIN.

mod gpu;

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Level of an unreached node; a parent that is not there; no support.
const NONE: u32 = u32::MAX;

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LevelsCheck {
    /// Nodes with a level, the source included.
    pub reached: u64,
    /// Arcs out of those nodes.
    pub reached_arcs: u64,
    /// The deepest level.
    pub depth: u32,
    /// Whether parents were there and were checked.
    pub parents: bool,
}

/// Certifies that `levels` (`[n]`, `u32::MAX` where unreached) counts the fewest arcs from `source`, a node
/// index, and that `parents` (`[n]`, node indices) holds the in-neighbour of the previous level with the
/// lowest input id, the source for itself, `u32::MAX` for unreached nodes.
///
/// Takes one pass over the arcs of reached nodes and 4 bytes a node, in parallel.
///
/// # Errors
///
/// [`Error::Verify`] names the wrong node of the lowest input id, the value found and the value that
/// belongs there. To name it, a failed check computes the right levels with one thread.
/// [`Error::Input`] when the source is not a node.
pub fn bfs(
    graph: &Graph,
    source: u32,
    levels: &[u32],
    parents: Option<&[u32]>,
) -> Result<LevelsCheck> {
    check_shape(graph, source, levels, parents)?;
    let check = Check { graph, source: source as usize, levels };
    let support = check.support().ok_or_else(|| check.explain_levels())?;
    if let Some(parents) = parents {
        check.parents(&support, parents)?;
    }
    let (reached, reached_arcs, depth) = check.totals();
    Ok(LevelsCheck { reached, reached_arcs, depth, parents: parents.is_some() })
}

/// Refuses a source that is no node, and answers that have not one value a node.
fn check_shape(graph: &Graph, source: u32, levels: &[u32], parents: Option<&[u32]>) -> Result<()> {
    if source as usize >= graph.nodes() {
        return Err(Error::input(format!(
            "cannot check levels from node index {source}: the graph has {} nodes",
            graph.nodes()
        )));
    }
    one_a_node(graph, "breadth-first search", "levels", levels.len())?;
    if let Some(parents) = parents {
        one_a_node(graph, "breadth-first search", "parents", parents.len())?;
    }
    Ok(())
}

/// What is being checked.
struct Check<'a> {
    graph: &'a Graph,
    source: usize,
    levels: &'a [u32],
}

impl Check<'_> {
    fn wrong(&self, v: usize, what: String) -> Error {
        let id = self.graph.id(v as u32);
        Error::Verify(format!("breadth-first search, node {id}: {what}"))
    }

    /// The input's own id of a claimed node, which may be none or no node at all.
    fn id_or_none(&self, v: u32) -> String {
        match v {
            NONE => "none".into(),
            v if (v as usize) < self.graph.nodes() => self.graph.id(v).to_string(),
            v => format!("index {v}, which is no node,"),
        }
    }

    /// `[n]` the least rank among in-neighbours one level above, or [`NONE`]; `None` where a rule is broken.
    fn support(&self) -> Option<Vec<AtomicU32>> {
        let n = self.graph.nodes();
        let support: Vec<AtomicU32> =
            (0..n).into_par_iter().map(|_| AtomicU32::new(NONE)).collect();
        let jumps = AtomicBool::new(false);
        self.graph.row_blocks().into_par_iter().for_each(|rows| {
            for u in rows.filter(|&u| self.levels[u] != NONE) {
                let (below, rank) = (self.levels[u] + 1, self.graph.rank(u as u32));
                for (v, _) in self.graph.neighbors(u) {
                    let level = self.levels[v as usize];
                    if level == NONE || level > below {
                        jumps.store(true, Relaxed);
                    }
                    let slot = &support[v as usize];
                    if level == below && slot.load(Relaxed) > rank {
                        slot.fetch_min(rank, Relaxed);
                    }
                }
            }
        });
        let stands = |v: usize| match self.levels[v] {
            NONE => true,
            0 => v == self.source,
            _ => support[v].load(Relaxed) != NONE,
        };
        let right = self.levels[self.source] == 0 && !jumps.into_inner();
        (right && (0..n).into_par_iter().all(stands)).then_some(support)
    }

    /// The levels are known to be right.
    fn parents(&self, support: &[AtomicU32], parents: &[u32]) -> Result<()> {
        let expected = |v: usize| match (self.levels[v], support[v].load(Relaxed)) {
            (0, _) => v as u32,
            (NONE, _) => NONE,
            (_, rank) => self.graph.ranked(rank),
        };
        let Some(v) = first_by_id(self.graph, |v| parents[v] != expected(v)) else {
            return Ok(());
        };
        let why = match self.levels[v] {
            0 => "it is the source, its own parent".to_string(),
            NONE => "it is unreached and has none".to_string(),
            level => format!(
                "the smallest node of level {} with an arc to it is {}",
                level - 1,
                self.id_or_none(expected(v))
            ),
        };
        Err(self.wrong(v, format!("parent {} is wrong: {why}", self.id_or_none(parents[v]))))
    }

    fn totals(&self) -> (u64, u64, u32) {
        let nodes = (0..self.graph.nodes()).into_par_iter();
        nodes
            .filter(|&v| self.levels[v] != NONE)
            .map(|v| (1, self.graph.degree(v), self.levels[v]))
            .reduce(|| (0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2.max(b.2)))
    }

    /// Names the lowest wrong level, by a search with one queue.
    fn explain_levels(&self) -> Error {
        let (right, via) = self.search();
        let Some(v) = first_by_id(self.graph, |v| self.levels[v] != right[v]) else {
            let oops = "breadth-first search: the check contradicts itself; report it";
            return Error::Verify(oops.into());
        };
        let why = match right[v] {
            0 => "it is the source, of level 0".to_string(),
            NONE => "no path from the source leads to it".to_string(),
            level => {
                let from = self.graph.id(via[v]);
                format!("it is {level}, by the arc from {from} of level {}", level - 1)
            }
        };
        let fault = match self.levels[v] {
            NONE => "unreached is wrong".to_string(),
            level if level > right[v] => format!("level {level} is too high"),
            level => format!("level {level} is too low"),
        };
        self.wrong(v, format!("{fault}: {why}"))
    }

    /// Levels by one thread, and the tail of the arc that set each.
    fn search(&self) -> (Vec<u32>, Vec<u32>) {
        let n = self.graph.nodes();
        let (mut level, mut via) = (vec![NONE; n], vec![NONE; n]);
        level[self.source] = 0;
        let mut queue = VecDeque::from([self.source]);
        while let Some(u) = queue.pop_front() {
            for (v, _) in self.graph.neighbors(u) {
                if level[v as usize] == NONE {
                    level[v as usize] = level[u] + 1;
                    via[v as usize] = u as u32;
                    queue.push_back(v as usize);
                }
            }
        }
        (level, via)
    }
}
