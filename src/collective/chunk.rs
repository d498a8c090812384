//! Chunks: the half-open node ranges that replicas compute on.

use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

words!(
    /// The `--chunks` option: what a chunk's size counts.
    ChunkPolicy, "--chunks" {
        /// Equal numbers of arcs.
        #[default]
        Arcs = "arcs",
        /// Equal numbers of nodes, as in the HIVE report.
        Nodes = "nodes",
    }
);

/// Cuts `[0, n)` into one chunk a replica. `bounds[r]..bounds[r + 1]` is rank r's; chunks may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    bounds: Vec<u64>,
}

impl Split {
    /// Chunks of equal node counts, ends rounded to multiples of `align`.
    pub fn nodes(n: u64, world: usize, align: u32) -> Split {
        Split::by_weight(n, world, align, n, |v| v)
    }

    /// Chunks by `policy` over CSR `offsets` (`[n + 1]`).
    pub fn of(offsets: &[u64], world: usize, align: u32, policy: ChunkPolicy) -> Split {
        let n = offsets.len() as u64 - 1;
        match policy {
            ChunkPolicy::Nodes => Split::nodes(n, world, align),
            ChunkPolicy::Arcs => {
                // A node costs something even without arcs, so that isolated tails spread too.
                let cost = |v: u64| offsets[v as usize] + v;
                Split::by_weight(n, world, align, cost(n), cost)
            }
        }
    }

    /// Chunks of equal cost, where `cost_before(v)` is the cost of all nodes below v (monotone).
    pub fn by_weight(
        n: u64,
        world: usize,
        align: u32,
        total: u64,
        cost_before: impl Fn(u64) -> u64,
    ) -> Split {
        let align = u64::from(align.max(1));
        let mut bounds = vec![0];
        for rank in 1..world as u64 {
            let target = (u128::from(total) * u128::from(rank) / world as u128) as u64;
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = (low + high) / 2;
                if cost_before(middle) < target { low = middle + 1 } else { high = middle }
            }
            let rounded = ((low + align / 2) / align * align).min(n);
            bounds.push(rounded.max(bounds[rank as usize - 1]));
        }
        bounds.push(n);
        Split { bounds }
    }

    /// Ranges of these lengths, one after another.
    pub fn of_lengths(lengths: impl IntoIterator<Item = u64>) -> Split {
        let mut bounds = vec![0];
        for length in lengths {
            bounds.push(bounds[bounds.len() - 1] + length);
        }
        Split { bounds }
    }

    /// The bounds, `[world + 1]`.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// Rank r's range.
    pub fn range(&self, rank: usize) -> Range<u64> {
        self.bounds[rank]..self.bounds[rank + 1]
    }

    /// The same split counted in units of `size` elements (bits to words); bounds must be multiples
    /// of `size`, except the last, which is rounded up.
    pub fn in_units_of(&self, size: u64) -> Split {
        Split { bounds: self.bounds.iter().map(|b| b.div_ceil(size)).collect() }
    }

    /// A number that differs when the split does: part of a merge's ticket.
    pub fn fingerprint(&self) -> u64 {
        self.bounds
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_node_once_and_end_on_aligned_nodes() {
        for n in [1u64, 63, 64, 65, 4096, 5000] {
            for world in 1..=16 {
                let split = Split::nodes(n, world, 64);
                assert_eq!((split.bounds()[0], *split.bounds().last().unwrap()), (0, n));
                assert!(split.bounds().windows(2).all(|w| w[0] <= w[1]));
                assert!(split.bounds()[1..world].iter().all(|b| b % 64 == 0 || *b == n));
            }
        }
    }

    #[test]
    fn arc_chunks_hold_about_equal_arcs_on_a_skewed_graph() {
        let mut offsets = vec![0u64];
        for v in 0..10_000u64 {
            offsets.push(offsets[v as usize] + 100_000 / (v + 1));
        }
        let split = Split::of(&offsets, 4, 1, ChunkPolicy::Arcs);
        let arcs: Vec<u64> = (0..4)
            .map(|r| split.range(r))
            .map(|c| offsets[c.end as usize] - offsets[c.start as usize] + c.end - c.start)
            .collect();
        assert!(arcs.iter().max().unwrap() - arcs.iter().min().unwrap() < 120_000, "{arcs:?}");
    }
}
