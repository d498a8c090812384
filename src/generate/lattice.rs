//! Lattices: nodes in rows and columns, in row-major order, each joined to the nodes above, left, right and below. High
//! diameter and degree 4: the opposite of R-MAT.
//!
//! * `grid` ends at its edges.
//! * `torus` joins the last row to the first and the last column to the first. Every node has the same degree: 4, or 1
//!   less a dimension of length 2, and 2 less one of length 1. Diameter ROWS / 2 + COLS / 2, each rounded down.
//! * `chain` is a grid of one row. Diameter NODES - 1: as many levels as a graph can have.

use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::MAX_NODES;
use crate::graph::build::{self, Csr};

const GRID: &str = "grid:ROWSxCOLS[,seed=1] with ROWS * COLS 1..=4294967294";
const TORUS: &str = "torus:ROWSxCOLS[,seed=1] with ROWS * COLS 1..=4294967294";
const CHAIN: &str = "chain:NODES[,seed=1] with NODES 1..=4294967294 or as in 2^20";

struct Lattice {
    rows: u64,
    cols: u64,
    /// Whether it is a torus.
    closed: bool,
    /// Another seed gives other weights.
    seed: u64,
    dataset: String,
}

/// Reads `rest`, the part of `spec` behind `grid:`.
pub(super) fn grid(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, GRID)?;
    let (rows, cols) = spec::rectangle(spec, size, GRID)?;
    Ok(Box::new(Lattice { rows, cols, closed: false, seed, dataset: format!("grid{rows}x{cols}") }))
}

/// Reads `rest`, the part of `spec` behind `torus:`.
pub(super) fn torus(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, TORUS)?;
    let (rows, cols) = spec::rectangle(spec, size, TORUS)?;
    Ok(Box::new(Lattice { rows, cols, closed: true, seed, dataset: format!("torus{rows}x{cols}") }))
}

/// Reads `rest`, the part of `spec` behind `chain:`.
pub(super) fn chain(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, CHAIN)?;
    let cols = spec::count(spec, size, CHAIN, MAX_NODES)?;
    Ok(Box::new(Lattice { rows: 1, cols, closed: false, seed, dataset: format!("chain{cols}") }))
}

impl Recipe for Lattice {
    fn size(&self) -> Size {
        let (rows, cols) = (self.rows, self.cols);
        Size::exact(
            rows * cols,
            match self.closed {
                true => rows * cols * ((rows - 1).min(2) + (cols - 1).min(2)),
                false => 2 * (rows * (cols - 1) + cols * (rows - 1)),
            },
        )
    }

    fn dataset(&self) -> String {
        self.dataset.clone()
    }

    fn csr(&self) -> Csr {
        let blocks = rows::blocks(self.rows * self.cols);
        let csr = build::by_rows(&blocks, false, &|v, out| self.row(v as u64, out));
        rows::with_pair_weights(csr, self.seed)
    }
}

impl Lattice {
    /// Appends the neighbours of node `v`, in rising order.
    fn row(&self, v: u64, out: &mut Vec<(u32, f32)>) {
        let (r, c) = (v / self.cols, v % self.cols);
        let before = |at: u64, length: u64| match at {
            0 => self.closed.then_some(length - 1),
            _ => Some(at - 1),
        };
        let after = |at: u64, length: u64| match at + 1 == length {
            true => self.closed.then_some(0),
            false => Some(at + 1),
        };
        let around = [
            before(r, self.rows).map(|r| (r, c)),
            before(c, self.cols).map(|c| (r, c)),
            after(c, self.cols).map(|c| (r, c)),
            after(r, self.rows).map(|r| (r, c)),
        ];
        for (r, c) in around.into_iter().flatten() {
            let arc = ((r * self.cols + c) as u32, 1.0);
            if !self.closed || (u64::from(arc.0) != v && !out.contains(&arc)) {
                out.push(arc);
            }
        }
        if self.closed {
            out.sort_unstable_by_key(|arc| arc.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::{degrees, sound};

    #[test]
    fn all_nodes_of_a_chain_but_the_ends_have_two_neighbours() {
        assert_eq!(degrees(&sound("chain:1")), [1]);
        assert_eq!(degrees(&sound("chain:2")), [0, 2]);
        assert_eq!(degrees(&sound("chain:10000")), [0, 2, 9998]);
    }

    #[test]
    fn neighbours_are_one_step_away_on_every_shape_of_grid() {
        for shape in ["1x1", "1x5", "5x1", "2x2", "3x4", "17x9", "70000x2", "3x70000"] {
            let graph = sound(&format!("grid:{shape}"));
            let cols: u32 = shape.split_once('x').unwrap().1.parse().unwrap();
            for u in 0..graph.nodes() as u32 {
                for (v, _) in graph.neighbors(u as usize) {
                    let (dr, dc) = ((u / cols).abs_diff(v / cols), (u % cols).abs_diff(v % cols));
                    assert_eq!(dr + dc, 1);
                }
            }
        }
    }

    #[test]
    fn every_node_of_every_shape_of_torus_has_the_same_degree() {
        let shapes = [("1x1", 0), ("1x2", 1), ("2x2", 2), ("1x7", 2), ("7x2", 3), ("3x3", 4)];
        for (shape, degree) in shapes.into_iter().chain([("70x90", 4), ("3x5000", 4)]) {
            let graph = sound(&format!("torus:{shape}"));
            assert!((0..graph.nodes()).all(|v| graph.degree(v) == degree), "{shape}");
        }
    }

    #[test]
    fn the_first_arcs_of_a_seed_never_change() {
        let row = |spec: &str| sound(spec).neighbors(0).collect::<Vec<_>>();
        assert_eq!(row("torus:4x6"), [(1, 35.0), (5, 14.0), (6, 46.0), (18, 33.0)]);
        assert_eq!(row("grid:4x6"), [(1, 35.0), (6, 46.0)]);
        let chain = sound("chain:4");
        let weights: Vec<_> = (0..3).map(|v| chain.neighbors(v).last().unwrap()).collect();
        assert_eq!(weights, [(1, 35.0), (2, 12.0), (3, 18.0)]);
    }
}
