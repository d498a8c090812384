//! Chunks: the half-open node ranges that replicas compute on.

use crate::device::kernels::hive;
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

/// What part of divided work each replica is dealt: small whole numbers, by how fast its device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "Vec<u64>")]
pub struct Shares {
    /// `[world + 1]` sums of the shares of the ranks before.
    before: Vec<u64>,
}

/// The share of the fastest, before common factors are taken out.
const FASTEST: u64 = hive::SHARES as u64;

impl Shares {
    /// As much for everybody.
    pub fn equal(world: usize) -> Shares {
        Shares { before: (0..=world as u64).collect() }
    }

    /// In proportion to `speeds`, by rank, to a sixteenth of the fastest; the least is one.
    pub fn of(speeds: &[u64]) -> Shares {
        let most = speeds.iter().copied().max().unwrap_or(0);
        let share = |speed: &u64| {
            let (speed, most) = (u128::from(*speed), u128::from(most.max(1)));
            ((2 * speed * u128::from(FASTEST) + most) / (2 * most)).max(1) as u64
        };
        let shares: Vec<u64> = speeds.iter().map(share).collect();
        let common = (1..=FASTEST).rev().find(|by| shares.iter().all(|share| share % by == 0));
        let mut before = vec![0];
        for share in &shares {
            before.push(before[before.len() - 1] + share / common.unwrap_or(1));
        }
        Shares { before }
    }

    /// Number of replicas.
    pub fn world(&self) -> usize {
        self.before.len() - 1
    }

    /// The sum of all shares.
    pub fn total(&self) -> u64 {
        self.before[self.world()]
    }

    /// The ranks before `rank` have so much together.
    pub fn before(&self, rank: usize) -> u64 {
        self.before[rank]
    }

    /// What `rank` has.
    pub fn share(&self, rank: usize) -> u64 {
        self.before[rank + 1] - self.before[rank]
    }

    /// `[total]`: in turns of so many equal things, whose turn each is. A rank's are spread over them.
    pub fn turns(&self) -> Vec<usize> {
        let mut given = vec![0; self.world()];
        let mut next = || {
            let done = |rank: &usize| (given[*rank] + 1) * self.total() / self.share(*rank);
            let rank = (0..self.world()).min_by_key(done).unwrap_or(0);
            given[rank] += 1;
            rank
        };
        (0..self.total()).map(|_| next()).collect()
    }

    /// The most that a rank has.
    pub fn most(&self) -> u64 {
        (0..self.world()).map(|rank| self.share(rank)).max().unwrap_or(1)
    }

    /// Whether all have as much.
    pub fn are_equal(&self) -> bool {
        self.total() == self.world() as u64
    }
}

impl From<usize> for Shares {
    fn from(world: usize) -> Shares {
        Shares::equal(world)
    }
}

impl From<&Shares> for Shares {
    fn from(shares: &Shares) -> Shares {
        shares.clone()
    }
}

impl From<Shares> for Vec<u64> {
    fn from(shares: Shares) -> Vec<u64> {
        (0..shares.world()).map(|rank| shares.share(rank)).collect()
    }
}

impl Default for Shares {
    fn default() -> Shares {
        Shares::equal(1)
    }
}

/// Cuts `[0, n)` into one chunk a replica. `bounds[r]..bounds[r + 1]` is rank r's; chunks may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    bounds: Vec<u64>,
}

impl Split {
    /// Chunks of node counts in proportion to `shares` (equal ones for a number of replicas), ends rounded to multiples of `align`.
    pub fn nodes(n: u64, shares: impl Into<Shares>, align: u32) -> Split {
        Split::by_weight(n, shares, align, n, |v| v)
    }

    /// Chunks by `policy` over CSR `offsets` (`[n + 1]`), in proportion to `shares`.
    pub fn of(
        offsets: &[u64],
        shares: impl Into<Shares>,
        align: u32,
        policy: ChunkPolicy,
    ) -> Split {
        let n = offsets.len() as u64 - 1;
        match policy {
            ChunkPolicy::Nodes => Split::nodes(n, shares, align),
            ChunkPolicy::Arcs => {
                // A node costs something even without arcs, so that isolated tails spread too.
                let cost = |v: u64| offsets[v as usize] + v;
                Split::by_weight(n, shares, align, cost(n), cost)
            }
        }
    }

    /// Chunks of cost in proportion to `shares`, where `cost_before(v)` is the cost of all nodes below v (monotone).
    pub fn by_weight(
        n: u64,
        shares: impl Into<Shares>,
        align: u32,
        total: u64,
        cost_before: impl Fn(u64) -> u64,
    ) -> Split {
        let (shares, align) = (shares.into(), u64::from(align.max(1)));
        let mut bounds = vec![0];
        for rank in 1..shares.world() {
            let before = u128::from(total) * u128::from(shares.before(rank));
            let target = (before / u128::from(shares.total())) as u64;
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = (low + high) / 2;
                if cost_before(middle) < target { low = middle + 1 } else { high = middle }
            }
            let rounded = ((low + align / 2) / align * align).min(n);
            bounds.push(rounded.max(bounds[rank - 1]));
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
    fn shares_follow_speeds() {
        let shares = |speeds: &[u64]| Vec::from(Shares::of(speeds));
        assert_eq!(shares(&[4800, 4800, 4800]), [1, 1, 1]);
        assert_eq!(shares(&[4800, 1600]), [16, 5]);
        assert_eq!(shares(&[4800, 2400, 2400]), [2, 1, 1]);
        assert_eq!(shares(&[3350, 4800]), [11, 16]);
        assert_eq!(shares(&[1, 4800]), [1, 16]);
        assert_eq!(shares(&[0, 0]), [1, 1]);
        assert_eq!(shares(&[u64::MAX, u64::MAX / 4]), [4, 1]);
        assert_eq!(Shares::of(&[4800, 1600]).turns()[..8], [0, 0, 0, 1, 0, 0, 0, 1]);
        assert_eq!(Shares::equal(3).turns(), [0, 1, 2]);
        let split = Split::nodes(2100, Shares::of(&[4800, 1600]), 1);
        assert_eq!(split.bounds(), [0, 1600, 2100]);
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
