//! A torus: the grid of ROWS x COLS nodes in row-major order whose last row is joined to the first and
//! whose last column is joined to the first. Every node has the same degree: 4, or 1 less a dimension of
//! length 2, and 2 less one of length 1. Diameter ROWS / 2 + COLS / 2, each rounded down.

use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::build::Csr;
use crate::hash::{PAIR_WEIGHTS, pair_weight};

const FORM: &str = "torus:ROWSxCOLS[,seed=1] with ROWS * COLS 1..=4294967294";

/// What to generate.
struct Torus {
    rows: u64,
    cols: u64,
    /// Another seed gives other weights.
    seed: u64,
}

/// Reads `rest`, the part of `spec` behind `torus:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, FORM)?;
    let refused = || spec::refused(spec, size, FORM);
    let (rows, cols) = spec::rectangle(size).ok_or_else(refused)?;
    Ok(Box::new(Torus { rows, cols, seed }))
}

impl Torus {
    /// Appends the arcs of node `v`, neighbours in rising order.
    fn row(&self, v: u32, out: &mut Vec<(u32, f32)>) {
        let first = out.len();
        let (r, c) = (u64::from(v) / self.cols, u64::from(v) % self.cols);
        let (up, down) = ((r + self.rows - 1) % self.rows, (r + 1) % self.rows);
        let (left, right) = ((c + self.cols - 1) % self.cols, (c + 1) % self.cols);
        for (r, c) in [(up, c), (r, left), (r, right), (down, c)] {
            let u = (r * self.cols + c) as u32;
            if u != v && !out[first..].iter().any(|arc| arc.0 == u) {
                out.push((u, pair_weight(self.seed, v, u)));
            }
        }
        out[first..].sort_unstable_by_key(|arc| arc.0);
    }
}

impl Recipe for Torus {
    fn size(&self) -> Size {
        let nodes = self.rows * self.cols;
        let arcs = nodes * ((self.rows - 1).min(2) + (self.cols - 1).min(2));
        let host_bytes = 8 * nodes + 8 * arcs;
        Size { nodes, arcs, exact: true, weights: Some(PAIR_WEIGHTS), host_bytes }
    }

    fn dataset(&self) -> String {
        format!("torus{}x{}", self.rows, self.cols)
    }

    fn csr(&self) -> Csr {
        rows::closed_form(self.rows * self.cols, |v, out| self.row(v, out))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::sound;

    #[test]
    fn every_node_of_every_shape_has_the_same_degree() {
        for (shape, degree) in [
            ("1x1", 0),
            ("1x2", 1),
            ("2x2", 2),
            ("1x7", 2),
            ("7x2", 3),
            ("3x3", 4),
            ("70x90", 4),
            ("3x5000", 4),
        ] {
            let graph = sound(&format!("torus:{shape}"));
            assert!((0..graph.nodes()).all(|v| graph.degree(v) == degree), "{shape}");
        }
    }

    #[test]
    fn the_first_arcs_of_a_seed_never_change() {
        let graph = sound("torus:4x6");
        let row: Vec<_> = graph.neighbors(0).collect();
        assert_eq!(row, [(1, 35.0), (5, 14.0), (6, 46.0), (18, 33.0)]);
    }
}
