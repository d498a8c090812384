//! The nearest targets of each source, in place of a whole row.

use super::matrix::{Cell, Ends};
use rayon::prelude::*;
use std::collections::BinaryHeap;
use std::ops::Range;

/// No target: fewer have a path.
pub(super) const NONE: u32 = u32::MAX;

/// Rows on their way, and what stays of them.
pub(super) struct Nearest<T> {
    /// Of each row.
    pub most: usize,
    sources: Vec<u32>,
    targets: Vec<u32>,
    /// Rows that have come together.
    block: Vec<T>,
    /// `[rows, most]` nodes, the nearest first, those of one distance by rising input id.
    pub nodes: Vec<u32>,
}

impl<T: Cell> Nearest<T> {
    /// For so many rows of the replica, of which at most `together` come at a time; none where whole rows are wanted.
    pub fn new(
        ends: &Ends,
        rows: usize,
        together: usize,
    ) -> crate::error::Result<Option<Nearest<T>>> {
        let Some(most) = ends.nearest else { return Ok(None) };
        let (sources, targets) = (ends.sources.clone(), ends.targets.clone());
        let block = crate::memory::zeros("rows", together.min(rows) * targets.len())?;
        let nodes = crate::memory::zeros("nearest nodes", rows * most)?;
        Ok(Some(Nearest { most, sources, targets, block, nodes }))
    }

    /// Room for so many rows that come together.
    pub fn block(&mut self, rows: usize) -> &mut [T] {
        &mut self.block[..rows * self.targets.len()]
    }

    /// Keeps the nearest of the rows of these sources, which have come. `first` is the first of them in `values`, `[rows, most]`.
    pub fn keep(&mut self, rows: Range<usize>, first: usize, values: &mut [T]) {
        let Nearest { most, sources, targets, block, nodes } = self;
        let (most, columns) = (*most, targets.len());
        let places = first * most..(first + rows.len()) * most;
        let kept = nodes[places.clone()].par_chunks_mut(most);
        let kept = kept.zip(values[places].par_chunks_mut(most));
        let came = block.par_chunks(columns.max(1)).zip(&sources[rows]);
        kept.zip(came).for_each(|((nodes, values), (row, source))| {
            let columns = nearest(row, most, |column| targets[column] != *source);
            nodes.fill(NONE);
            for (at, column) in columns.into_iter().enumerate() {
                (nodes[at], values[at]) = (targets[column], row[column]);
            }
        });
    }
}

/// The columns of the least values of a row, of those that are `wanted` and have a path, in order.
fn nearest<T: Cell>(row: &[T], most: usize, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut best = BinaryHeap::with_capacity(most + 1);
    for (column, value) in row.iter().enumerate() {
        let length = value.length();
        // No distance is below 0, so bits are in the order of numbers.
        let key = (length.to_bits(), column);
        let is_near = best.len() < most || best.peek().is_some_and(|worst| key < *worst);
        if is_near && length.is_finite() && wanted(column) {
            best.push(key);
            if best.len() > most {
                best.pop();
            }
        }
    }
    best.into_sorted_vec().into_iter().map(|(_, column)| column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_and_equal_ones_in_the_order_of_columns() {
        let row = [3.0f32, 1.0, f32::INFINITY, 1.0, 0.0, 2.0, 1.0];
        assert_eq!(nearest(&row, 3, |_| true), [4, 1, 3]);
        assert_eq!(nearest(&row, 4, |column| column != 4), [1, 3, 6, 5]);
        assert_eq!(nearest(&row, 9, |_| true), [4, 1, 3, 6, 5, 0]);
        assert_eq!(nearest(&[u8::MAX, 7], 2, |_| true), [1]);
        assert_eq!(nearest::<f64>(&[], 2, |_| true), [0usize; 0]);
    }
}
