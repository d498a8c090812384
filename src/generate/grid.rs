//! A street grid: ROWS x COLS nodes in row-major order, each joined to the nodes above, left, right
//! and below. High diameter and degree 4: the opposite of R-MAT. The CSR is written in closed form.

use super::recipe::{Recipe, Size};
use super::spec;
use crate::error::Result;
use crate::graph::build::{Csr, split_lengths};
use crate::hash::{PAIR_WEIGHTS, pair_weight};
use rayon::prelude::*;

/// Nodes that are worth a task.
const NODES_PER_TASK: usize = 1 << 16;
const FORM: &str = "grid:ROWSxCOLS[,seed=1] with ROWS * COLS 1..=4294967294";

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Rows, at least 1.
    pub rows: u64,
    /// Columns, at least 1.
    pub cols: u64,
    /// Another seed gives other weights.
    pub seed: u64,
}

/// Reads `rest`, the part of `spec` behind `grid:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, FORM)?;
    let refused = || spec::refused(spec, size, FORM);
    let (rows, cols) = spec::rectangle(size).ok_or_else(refused)?;
    Ok(Box::new(Grid { rows, cols, seed }))
}

impl Recipe for Grid {
    fn size(&self) -> Size {
        let (nodes, arcs) = (self.rows * self.cols, self.arcs_before(self.rows));
        let host_bytes = 8 * nodes + 8 * arcs;
        Size { nodes, arcs, exact: true, weights: Some(PAIR_WEIGHTS), host_bytes }
    }

    fn dataset(&self) -> String {
        format!("grid{}x{}", self.rows, self.cols)
    }

    fn csr(&self) -> Csr {
        csr(self)
    }
}

impl Grid {
    /// Arcs out of the grid rows before `r`.
    fn arcs_before(&self, r: u64) -> u64 {
        // Every row but the first has arcs up; every row before r has arcs down, the last row aside.
        let up = r.saturating_sub(1);
        let down = r.min(self.rows - 1);
        2 * (self.cols - 1) * r + self.cols * (up + down)
    }
}

/// Writes the grid's arrays.
fn csr(grid: &Grid) -> Csr {
    let (nodes, cols) = ((grid.rows * grid.cols) as usize, grid.cols as usize);
    let arcs = grid.arcs_before(grid.rows) as usize;
    let mut offsets = vec![0u64; nodes + 1];
    let mut columns = vec![0u32; arcs];
    let mut weights = vec![0f32; arcs];
    // A task takes whole grid rows, and many of them where they are short.
    let step = (NODES_PER_TASK / cols).max(1);
    let starts = || (0..grid.rows).step_by(step);
    let last = |first: u64| (first + step as u64).min(grid.rows);
    let lengths =
        || starts().map(|first| (grid.arcs_before(last(first)) - grid.arcs_before(first)) as usize);
    (
        offsets[1..].par_chunks_mut(cols * step),
        split_lengths(&mut columns, lengths()),
        split_lengths(&mut weights, lengths()),
    )
        .into_par_iter()
        .enumerate()
        .for_each(|(task, (ends, columns, weights))| {
            write_rows(grid, (task * step) as u64, ends, columns, weights);
        });
    Csr { offsets, columns, weights: Some(weights), self_loops: 0, duplicates: 0 }
}

/// Writes the arcs of the grid rows from `first` on: `ends` per node, neighbours in rising order.
fn write_rows(grid: &Grid, first: u64, ends: &mut [u64], columns: &mut [u32], weights: &mut [f32]) {
    let base = grid.arcs_before(first);
    let mut at = 0;
    for (v, end) in (first * grid.cols..).zip(ends) {
        let (r, c) = (v / grid.cols, v % grid.cols);
        let around = [
            (r > 0).then(|| v - grid.cols),
            (c > 0).then(|| v - 1),
            (c + 1 < grid.cols).then(|| v + 1),
            (r + 1 < grid.rows).then(|| v + grid.cols),
        ];
        for neighbor in around.into_iter().flatten() {
            columns[at] = neighbor as u32;
            weights[at] = pair_weight(grid.seed, v as u32, neighbor as u32);
            at += 1;
        }
        *end = base + at as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Origin};

    fn trusted(grid: &Grid) -> Graph {
        Graph::trusted(grid.csr(), Origin::default(), Some(true))
    }

    #[test]
    fn every_shape_of_grid_is_a_valid_symmetric_csr() {
        for (rows, cols) in
            [(1, 1), (1, 5), (5, 1), (2, 2), (3, 4), (17, 9), (70_000, 2), (3, 70_000)]
        {
            let graph = trusted(&Grid { rows, cols, seed: 1 });
            let checked = Graph::from_csr(
                graph.offsets().to_vec(),
                graph.columns().to_vec(),
                graph.weights().map(<[f32]>::to_vec),
                Origin::default(),
            )
            .unwrap();
            assert_eq!(checked.columns(), graph.columns(), "rows are sorted");
            assert!(checked.is_symmetric());
            assert_eq!((checked.origin.self_loops, checked.origin.duplicates), (0, 0));
            assert_eq!(graph.arcs(), 2 * (rows * (cols - 1) + cols * (rows - 1)));
        }
    }

    #[test]
    fn neighbours_are_one_step_away_on_the_grid() {
        let graph = trusted(&Grid { rows: 4, cols: 7, seed: 1 });
        for u in 0..28i64 {
            for (v, _) in graph.neighbors(u as usize) {
                let (dr, dc) = (u / 7 - i64::from(v) / 7, u % 7 - i64::from(v) % 7);
                assert_eq!(dr.abs() + dc.abs(), 1);
            }
        }
    }
}
