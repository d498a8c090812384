//! Breadth-first search in the order of rows as they stand, which is sequential by its definition: NetworkX promises that order.

use crate::answer::Column;
use crate::arrays::Lent;
use crate::error::bug;
use crate::wait::wait;
use pyo3::prelude::*;
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
            let row = offsets[order[at] as usize] as usize..offsets[order[at] as usize + 1] as usize;
            for &next in &columns[row] {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    order.push(next);
                    parents.push(at as u32);
                    levels.push(levels[at] + 1);
                }
            }
            at += 1;
        }
        let column = |values: Vec<u32>| {
            let values = Arc::new(values);
            let (at, length) = (values.as_ptr() as usize, values.len());
            Column::new(values, at, length, "<u4")
        };
        Ok((column(order), column(parents), column(levels)))
    })
}
