//! Roads: a planar graph of high diameter whose weights are lengths.
//!
//! **Model.** Junctions are the nodes of a ROWS x COLS lattice in row-major order. The gaps between rows
//! and between columns differ by up to 16 times (towns and country), and every junction is moved by up
//! to 3/8 of its gap, in x and y. Roads are lattice links that survive: each node has a *parent*, the
//! node above or the one to the left, as in the "binary tree" maze (Buck, "Mazes for Programmers",
//! 2015), which joins all nodes into one tree; [`EXTRA`] of the other links are kept too. [`LEAF`] of
//! the nodes on even rows are dead ends, with the link to their parent alone. [`DIAGONAL`] of the
//! lattice cells get one of their diagonals. Every 64th row and column is a long fast road: all its
//! links are there, at 2/5 of their length, as if driven faster.
//!
//! A weight is the straight distance of the two ends, drawn out by up to 1/4 for bends, as an integer of
//! at least 1. The graph is connected, planar and simple, with degrees up to 8. Whether a road is there
//! is a hash of its lower right end and of its neighbours: nothing is sorted or searched.
//!
//! **Beside a real one.** USA-road-d.NY of the 9th DIMACS challenge (264,346 nodes, 733,846 arcs) and
//! `road:18` (262,144 nodes); shares of nodes by degree, and quantiles of the weights:
//!
//! | | mean | 1 | 2 | 3 | 4 | 5 | 6 and more |
//! |---|---|---|---|---|---|---|---|
//! | NY | 2.78 | 15.5 % | 14.4 % | 47.8 % | 21.7 % | 0.5 % | 0.1 % |
//! | road:18 | 2.76 | 15.7 % | 17.4 % | 42.6 % | 23.9 % | 0.4 % | 0.0 % |
//!
//! | weight | 1 % | 10 % | 25 % | 50 % | 75 % | 90 % | 99 % | mean | largest |
//! |---|---|---|---|---|---|---|---|---|---|
//! | NY | 139 | 418 | 687 | 951 | 1615 | 2432 | 5462 | 1293 | 36946 |
//! | road:18 | 203 | 413 | 637 | 1020 | 1624 | 2753 | 5147 | 1332 | 7639 |
//!
//! Their diameters are at least 720 (NY) and 988 arcs (`hive info`).
//!
//! What it lacks: roads longer than a few gaps (ferries, bridges) and crossings of more than 6.

use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::build::{self, Csr};
use crate::hash::{hash, mix};

const FORM: &str = "road:SCALE[,seed=1] with SCALE 1..=31, or road:ROWSxCOLS[,seed=1] with ROWS * COLS \
1..=4294967294";

/// Shares of 2^16: links that are kept beside the tree's, dead ends on even rows, cells with a diagonal.
const EXTRA: u64 = 38_000;
const LEAF: u64 = 18_000;
const DIAGONAL: u64 = 700;
/// A long fast road every so many rows and columns, and which of them.
const FAST_EVERY: u64 = 64;
const FAST_ROW: u64 = 33; // odd: no dead ends
const FAST_COLUMN: u64 = 32;
/// Rows and columns that share a gap.
const GAP_SPAN: u64 = 16;
/// The heaviest road there can be: both gaps 4096, ends moved apart by 3/8 each, bends 1/4.
const HEAVIEST: u32 = 12_672;

struct Road {
    rows: u64,
    cols: u64,
    seed: u64,
}

/// Reads `rest`, the part of `spec` behind `road:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, FORM)?;
    let mut scale = 0u32;
    let (rows, cols) = match spec::set(&mut scale, size, 1..=31) {
        true => (1 << (scale / 2), 1 << (scale - scale / 2)),
        false => spec::rectangle(spec, size, FORM)?,
    };
    Ok(Box::new(Road { rows, cols, seed }))
}

impl Recipe for Road {
    fn size(&self) -> Size {
        let nodes = self.rows * self.cols;
        // A mean degree of 2.8; small ones scatter.
        let arcs = 3 * nodes + 1024;
        let host_bytes = 8 * nodes + 8 * arcs;
        Size { nodes, arcs, exact: false, weights: Some((1, HEAVIEST)), host_bytes }
    }

    fn dataset(&self) -> String {
        format!("road{}x{}", self.rows, self.cols)
    }

    fn csr(&self) -> Csr {
        let map = Map::new(self);
        build::by_rows(&rows::blocks(self.rows * self.cols), true, &|v, out| map.row(v as u64, out))
    }
}

/// The junctions and what is drawn for them.
struct Map {
    rows: u64,
    cols: u64,
    key: u64,
    /// `[rows + 1]` and `[cols + 1]`: where they lie, before junctions are moved.
    y: Vec<i64>,
    x: Vec<i64>,
}

/// A junction's place in the lattice.
type Spot = (u64, u64);

impl Map {
    fn new(road: &Road) -> Map {
        let key = mix(road.seed ^ 0x726f_6164_6d61_7031);
        let lines = |count: u64, which: u64| {
            let own = hash(key, u64::MAX - which);
            let gap = |line: u64| {
                let bits = hash(own, line / GAP_SPAN);
                (256 + (bits & 255)) << OCTAVES[(bits >> 32) as usize % OCTAVES.len()]
            };
            let mut at = 0;
            let place = |line: u64| {
                let here = at;
                at += gap(line) as i64;
                here
            };
            (0..=count).map(place).collect()
        };
        let (rows, cols) = (road.rows, road.cols);
        Map { rows, cols, key, y: lines(rows, 0), x: lines(cols, 1) }
    }

    /// 64 bits of a junction: 0..16 dead end, 16..32 extra link, 32..48 diagonal, 48.. moved in x and y.
    fn bits(&self, (r, c): Spot) -> u64 {
        hash(self.key, r * self.cols + c)
    }

    fn is_leaf(&self, (r, c): Spot) -> bool {
        let inside = r > 0 && r % 2 == 0 && c > 0 && c % FAST_EVERY != FAST_COLUMN;
        inside && self.bits((r, c)) & 0xffff < LEAF
    }

    /// Whether the parent is above and not to the left. It is never a dead end: those lie on even rows,
    /// and where one is to the left, the row above is odd.
    fn parent_is_above(&self, (r, c): Spot) -> bool {
        let choice = || self.bits((r, c)) >> 63 == 0;
        r > 0
            && (c == 0
                || self.is_leaf((r, c))
                || self.is_leaf((r, c - 1))
                || (!self.is_leaf((r - 1, c)) && choice()))
    }

    fn keeps_extra(&self, spot: Spot) -> bool {
        self.bits(spot) >> 16 & 0xffff < EXTRA
    }

    /// Whether there is a road up from (r, c).
    fn goes_up(&self, (r, c): Spot) -> bool {
        if r == 0 || self.is_leaf((r - 1, c)) {
            return false;
        }
        let leaf = self.is_leaf((r, c));
        let fast = c % FAST_EVERY == FAST_COLUMN;
        leaf || fast || self.parent_is_above((r, c)) || self.keeps_extra((r, c))
    }

    /// Whether there is a road from (r, c) to the left.
    fn goes_left(&self, (r, c): Spot) -> bool {
        if c == 0 || self.is_leaf((r, c)) || self.is_leaf((r, c - 1)) {
            return false;
        }
        let fast = r % FAST_EVERY == FAST_ROW;
        fast || !self.parent_is_above((r, c)) || self.keeps_extra((r, c))
    }

    /// The ends of the diagonal in the cell above and left of (r, c).
    fn diagonal(&self, (r, c): Spot) -> Option<(Spot, Spot)> {
        let bits = self.bits((r, c)) >> 32 & 0xffff;
        if r == 0 || c == 0 || r == self.rows || c == self.cols || bits >= DIAGONAL {
            return None;
        }
        let ends = match bits % 2 {
            0 => ((r - 1, c - 1), (r, c)),
            _ => ((r - 1, c), (r, c - 1)),
        };
        (!self.is_leaf(ends.0) && !self.is_leaf(ends.1)).then_some(ends)
    }

    /// Appends the roads of node `v`, neighbours in rising order.
    fn row(&self, v: u64, out: &mut Vec<(u32, f32)>) {
        let (r, c) = (v / self.cols, v % self.cols);
        let mut add = |(r, c): Spot, fast: bool| {
            let u = r * self.cols + c;
            out.push((u as u32, self.weight(v.min(u), v.max(u), fast)));
        };
        let (fast_row, fast_column) = (r % FAST_EVERY == FAST_ROW, c % FAST_EVERY == FAST_COLUMN);
        if self.goes_up((r, c)) {
            add((r - 1, c), fast_column);
        }
        if self.goes_left((r, c)) {
            add((r, c - 1), fast_row);
        }
        if c + 1 < self.cols && self.goes_left((r, c + 1)) {
            add((r, c + 1), fast_row);
        }
        if r + 1 < self.rows && self.goes_up((r + 1, c)) {
            add((r + 1, c), fast_column);
        }
        for cell in [(r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)] {
            match self.diagonal(cell) {
                Some((a, b)) if a == (r, c) => add(b, false),
                Some((a, b)) if b == (r, c) => add(a, false),
                _ => {}
            }
        }
        out.sort_unstable_by_key(|arc| arc.0);
    }

    /// Where a junction lies.
    fn coordinates(&self, v: u64) -> (i64, i64) {
        let (r, c) = ((v / self.cols) as usize, (v % self.cols) as usize);
        let bits = hash(self.bits((r as u64, c as u64)), 0);
        let moved = |lines: &[i64], i: usize, bits: u64| {
            let after = lines[i + 1] - lines[i];
            let gap = if i > 0 { after.min(lines[i] - lines[i - 1]) } else { after };
            lines[i] + gap * 3 * ((bits & 0xffff) as i64 - 0x8000) / (8 * 0x8000)
        };
        (moved(&self.x, c, bits), moved(&self.y, r, bits >> 16))
    }

    /// The weight of the road between `u` and `v`, `u < v`.
    fn weight(&self, u: u64, v: u64, fast: bool) -> f32 {
        let ((ux, uy), (vx, vy)) = (self.coordinates(u), self.coordinates(v));
        let (dx, dy) = (ux - vx, uy - vy);
        let straight = ((dx * dx + dy * dy) as f64).sqrt() as u64; // exact below 2^53
        let bends = hash(hash(self.key, v), u) >> 58; // 0..64: up to a quarter more
        let length = straight * (256 + bends) / 256;
        (if fast { length * 2 / 5 } else { length }).max(1) as f32
    }
}

/// Gaps are 256 to 511 times two to one of these.
const OCTAVES: [u32; 8] = [0, 0, 1, 1, 1, 1, 2, 3];

#[cfg(test)]
mod tests {
    use super::super::rows::tests::{degrees, sound};

    #[test]
    fn every_shape_is_sound_and_connected() {
        for shape in ["1", "2", "1x1", "1x70", "70x1", "2x2", "3x3", "64x65", "200x3", "12", "13"] {
            for seed in 1..=3 {
                let graph = sound(&format!("road:{shape},seed={seed}"));
                assert_eq!(graph.weak_components().count, 1, "{shape}, seed {seed}");
                assert!(graph.max_degree() <= 8);
            }
        }
    }

    #[test]
    fn degrees_and_weights_are_near_those_of_real_roads() {
        let graph = sound("road:16");
        let share = |d: usize| degrees(&graph)[d] as f64 / graph.nodes() as f64;
        let mut weights = graph.weights().unwrap().to_vec();
        weights.sort_by(f32::total_cmp);
        let at = |q: f64| weights[(weights.len() as f64 * q) as usize];
        let mean = graph.arcs() as f64 / graph.nodes() as f64;
        assert!((2.7..2.85).contains(&mean), "{mean}");
        for (degree, near) in [(1, 0.155), (2, 0.17), (3, 0.45), (4, 0.22)] {
            assert!((share(degree) - near).abs() < 0.04, "{degree}: {}", share(degree));
        }
        assert!((600.0..1300.0).contains(&at(0.5)) && (3000.0..8000.0).contains(&at(0.99)));
    }

    #[test]
    fn the_first_roads_of_a_seed_never_change() {
        let graph = sound("road:10");
        let row: Vec<_> = graph.neighbors(2).collect();
        assert_eq!(row, [(1, 499.0), (3, 469.0), (34, 575.0), (35, 798.0)]);
    }
}
