//! Searches in the order of rows as they stand, which are sequential by their definition: answers come in NetworkX's order, and of
//! several shortest paths it is NetworkX's.

use crate::answer::Column;
use crate::arrays::Lent;
use crate::error::bug;
use crate::wait::wait;
use pyo3::prelude::*;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// What a search finds: nodes in the order in which they are found, the place in it of the node from which each was found (its own
/// for a source), and their levels.
type Found = (Column, Column, Column);

/// A search from `sources`, to `most` levels at most, of the graph with these rows.
#[pyfunction]
pub fn bfs_order(
    py: Python<'_>,
    offsets: &Bound<'_, PyAny>,
    columns: &Bound<'_, PyAny>,
    sources: Vec<u32>,
    most: u32,
) -> PyResult<Found> {
    let (offsets, columns) = (Lent::<u64>::of(offsets)?, Lent::<u32>::of(columns)?);
    let nodes = offsets.as_ref().len().saturating_sub(1);
    if sources.iter().any(|source| *source as usize >= nodes) {
        return Err(bug("a source that is no node"));
    }
    wait(py, move || {
        let (offsets, columns) = (offsets.as_ref(), columns.as_ref());
        let (mut order, mut parents, mut levels) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = vec![false; nodes];
        for source in sources {
            if !std::mem::replace(&mut seen[source as usize], true) {
                parents.push(order.len() as u32);
                order.push(source);
                levels.push(0);
            }
        }
        let mut at = 0;
        while at < order.len() && levels[at] < most {
            let row =
                offsets[order[at] as usize] as usize..offsets[order[at] as usize + 1] as usize;
            for &next in &columns[row] {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    order.push(next);
                    parents.push(at as u32);
                    levels.push(levels[at] + 1);
                }
            }
            at += 1;
        }
        Ok((column(order), column(parents), column(levels)))
    })
}

fn column(values: Vec<u32>) -> Column {
    let values = Arc::new(values);
    let (at, length) = (values.as_ptr() as usize, values.len());
    Column::new(values, at, length, "<u4")
}

/// A node of each component, in the order in which a depth-first search leaves them: none is before one that it leads to. `labels`
/// `[n]` says which component is which node's.
#[pyfunction]
pub fn leaving_order(
    py: Python<'_>,
    offsets: &Bound<'_, PyAny>,
    columns: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
) -> PyResult<Column> {
    let (offsets, columns) = (Lent::<u64>::of(offsets)?, Lent::<u32>::of(columns)?);
    let labels = Lent::<u32>::of(labels)?;
    wait(py, move || {
        let (offsets, columns, labels) = (offsets.as_ref(), columns.as_ref(), labels.as_ref());
        let nodes = labels.len();
        let (mut seen, mut entered) = (vec![false; nodes], vec![false; nodes]);
        let mut left = Vec::new();
        // Nodes on the way, where their rows are read on, and whether each is the first of its component.
        let mut way: Vec<(u32, u64, bool)> = Vec::new();
        for source in 0..nodes as u32 {
            let mut next = Some(source).filter(|source| !seen[*source as usize]);
            loop {
                if let Some(node) = next {
                    seen[node as usize] = true;
                    let first =
                        !std::mem::replace(&mut entered[labels[node as usize] as usize], true);
                    way.push((node, offsets[node as usize], first));
                }
                let Some((node, at, first)) = way.last_mut() else { break };
                next = None;
                while next.is_none() && *at < offsets[*node as usize + 1] {
                    let other = columns[*at as usize];
                    next = Some(other).filter(|other| !seen[*other as usize]);
                    *at += 1;
                }
                if next.is_none() {
                    left.extend(first.then_some(*node));
                    way.pop();
                }
            }
        }
        Ok(column(left))
    })
}

/// A node that waits for its turn: the nearest first, of equal ones who came first.
#[derive(PartialEq)]
struct Waiting(f64, u64, u32);

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// One of two searches that go towards each other.
struct Side<'a> {
    offsets: &'a [u64],
    columns: &'a [u32],
    weights: Option<&'a [f64]>,
    /// Distances of nodes that have had their turn, and of those that were seen; whence.
    done: HashMap<u32, f64>,
    seen: HashMap<u32, f64>,
    before: HashMap<u32, u32>,
    waiting: BinaryHeap<Waiting>,
}

/// Length and nodes of a shortest path from `source` to `target`: searches by turns from either end, forward in these rows and
/// backward in those, until one node has had its turn in both (Pohl, "Bi-directional search", Machine Intelligence 6, 1971).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "two graphs of three arrays")]
pub fn meeting_path(
    py: Python<'_>,
    offsets: &Bound<'_, PyAny>,
    columns: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    back_offsets: &Bound<'_, PyAny>,
    back_columns: &Bound<'_, PyAny>,
    back_weights: Option<&Bound<'_, PyAny>>,
    source: u32,
    target: u32,
) -> PyResult<Option<(f64, Vec<u32>)>> {
    let rows = [
        (
            Lent::<u64>::of(offsets)?,
            Lent::<u32>::of(columns)?,
            weights.map(Lent::<f64>::of).transpose()?,
        ),
        (
            Lent::<u64>::of(back_offsets)?,
            Lent::<u32>::of(back_columns)?,
            back_weights.map(Lent::<f64>::of).transpose()?,
        ),
    ];
    wait(py, move || {
        let mut count = 2;
        let side = |at: usize, from: u32| Side {
            offsets: rows[at].0.as_ref(),
            columns: rows[at].1.as_ref(),
            weights: rows[at].2.as_ref().map(AsRef::as_ref),
            done: HashMap::new(),
            seen: HashMap::from([(from, 0.0)]),
            before: HashMap::new(),
            waiting: BinaryHeap::from([Waiting(0.0, at as u64, from)]),
        };
        let mut sides = [side(0, source), side(1, target)];
        let mut best: Option<(f64, u32)> = None;
        let mut turn = 1;
        while sides.iter().all(|side| !side.waiting.is_empty()) {
            turn = 1 - turn;
            let [mut own, mut other] = sides;
            if turn == 1 {
                std::mem::swap(&mut own, &mut other);
            }
            let mut met = false;
            if let Some(Waiting(length, _, node)) = own.waiting.pop()
                && !own.done.contains_key(&node)
            {
                own.done.insert(node, length);
                met = other.done.contains_key(&node);
                let row =
                    own.offsets[node as usize] as usize..own.offsets[node as usize + 1] as usize;
                for arc in row.filter(|_| !met) {
                    let next = own.columns[arc];
                    let longer = length + own.weights.map_or(1.0, |weights| weights[arc]);
                    let seen = own.seen.get(&next).is_some_and(|seen| *seen <= longer);
                    if own.done.contains_key(&next) || seen {
                        continue;
                    }
                    own.seen.insert(next, longer);
                    own.before.insert(next, node);
                    own.waiting.push(Waiting(longer, count, next));
                    count += 1;
                    if let Some(rest) = other.seen.get(&next)
                        && best.is_none_or(|(best, _)| longer + rest < best)
                    {
                        best = Some((longer + rest, next));
                    }
                }
            }
            if turn == 1 {
                std::mem::swap(&mut own, &mut other);
            }
            sides = [own, other];
            if let (true, Some((length, middle))) = (met, best) {
                let mut path = vec![middle];
                while let Some(before) = sides[0].before.get(&path[path.len() - 1]) {
                    path.push(*before);
                }
                path.reverse();
                while let Some(after) = sides[1].before.get(&path[path.len() - 1]) {
                    path.push(*after);
                }
                return Ok(Some((length, path)));
            }
        }
        Ok(None)
    })
}
