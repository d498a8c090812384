//! In-rows cut into bins, and the arcs of each bin ordered by the segments of sources that they come from: so that a block of
//! GPU threads can hold the values of a segment in shared memory while it writes what its arcs carry into bins, and then the
//! values of a bin while it adds up the bin's rows.
//!
//! **Pieces.** The arcs of a bin that come from one segment are a *piece*. Pieces lie in *groups* of 8 arcs, by segment and
//! then by bin, where their sources are read; and by bin and then by segment, where their values are written. An arc of a row
//! has a *slot*: where its value lies in its bin.
//!
//! **Order of additions.** The slots of a row are in the order of its arcs, and bins are cut where the graph says: sums are the
//! same for any number of replicas. A replica has whole bins.
//!
//! **Long rows.** A row with more arcs than a bin has room for belongs to none. Where labels fall by degree such rows come
//! first. Bins begin behind the last of them, and the rows before are added up another way.
//!
//! **Source.** Beamer, Asanović, Patterson, "Reducing PageRank communication via propagation blocking", IPDPS 2017.

mod on_device;
#[cfg(test)]
mod tests;

pub(crate) use on_device::{BinArcs, BinShape, SLOT_WORDS, SOURCE_WORDS, scratch};

use super::ColumnRows;
use crate::collective::{Shares, Split};
use crate::device::kernels::bins;
use crate::fleet::FleetInfo;
use crate::units::{count, plural};
use rayon::prelude::*;
use std::ops::Range;

/// Arcs of a group.
pub(crate) const GROUP: usize = bins::GROUP as usize;
/// Arcs of a row that one thread reads at once.
pub(crate) const QUAD: usize = bins::QUAD as usize;
/// Values of a bin at most, on any GPU.
pub(crate) const LARGEST_BIN: usize = 28_000;
/// Rows of a bin at most, so that rows without arcs do not all end up in one.
const MOST_ROWS: u64 = 1 << 16;

/// Picoseconds that a GPU takes for an arc of a bin, and for a row.
const ARC_PS: u64 = 4;
const ROW_PS: u64 = 12;
/// Picoseconds that an arc of a long row takes the warp that has the row: what no other warp shortens.
const WARP_PS: u64 = 8_400;
/// Picoseconds that two phases take whatever there is to do.
const PHASES_PS: u64 = 25_000_000;

/// Where rows are cut, for all replicas.
pub(crate) struct Bins {
    /// Sources of a segment.
    pub width: usize,
    /// Segments.
    pub segments: usize,
    /// Values of a bin at most, a multiple of 8.
    pub capacity: usize,
    /// `[bins + 1]` first row of each bin. The rows before the first bin are long ones, and others among them.
    pub bounds: Vec<u64>,
    /// The rows of each replica.
    pub split: Split,
    /// Arcs of bins, and of the rows before.
    arcs: [u64; 2],
    /// The most arcs that one of the rows before has.
    longest: u64,
}

impl Bins {
    /// Cuts `rows` for a fleet of `world`, with segments of `width` sources. `None` where segments are so many that groups which
    /// are not full may take half of a bin.
    pub fn new(
        rows: &ColumnRows,
        width: usize,
        capacity: usize,
        shares: impl Into<Shares>,
    ) -> Option<Bins> {
        let (active, offsets) = (rows.offsets.len() - 1, &rows.offsets);
        let segments = active.div_ceil(width).max(1);
        // Each piece may end in a group that is not full.
        let spare = (GROUP as u64 - 1) * segments as u64;
        let slots = |arcs: u64| arcs + spare.min((GROUP as u64 - 1) * arcs);
        let most = (capacity as u64).saturating_sub(spare);
        if most < capacity as u64 / 2 {
            return None;
        }
        let is_long = |v: &usize| slots(offsets[v + 1] - offsets[*v]) > capacity as u64;
        let last = (0..active).into_par_iter().find_last(is_long);
        let first = last.map_or(0, |last| last as u64 + 1);
        let mut bounds = vec![first];
        let mut begin = first;
        while begin < active as u64 {
            let rest = &offsets[begin as usize..];
            let fits = rest.partition_point(|end| slots(end - rest[0]) <= capacity as u64) as u64;
            // The first offset of `rest` is that of `begin` itself.
            begin += (fits - 1).clamp(1, MOST_ROWS);
            bounds.push(begin);
        }
        let cuts: Vec<u64> = (0..first).chain(bounds.iter().copied()).collect();
        let weight = |cut: u64| {
            let row = cuts[cut as usize];
            offsets[row as usize] * ARC_PS + row * ROW_PS
        };
        let pieces = cuts.len() as u64 - 1;
        let split = Split::by_weight(pieces, shares, 1, weight(pieces), weight);
        let row = |cut: &u64| cuts[*cut as usize];
        let lengths = split.bounds().windows(2).map(|piece| row(&piece[1]) - row(&piece[0]));
        let (before, all) = (offsets[first as usize], offsets[active]);
        let arcs = [all - before, before];
        let longest = offsets[..=first as usize].windows(2).map(|row| row[1] - row[0]).max();
        let longest = longest.unwrap_or(0);
        let split = Split::of_lengths(lengths);
        Some(Bins { width, segments, capacity, bounds, split, arcs, longest })
    }

    /// The most bins that rows with so many arcs are cut into.
    pub fn most(rows: usize, arcs: usize, segments: usize, capacity: usize) -> usize {
        let sure = capacity.saturating_sub((GROUP - 1) * segments).max(capacity / 2);
        // The rows of two neighbouring bins are too many for one, or one of the bins has as many rows as there may be.
        (2 * arcs / sure + 2 * rows / MOST_ROWS as usize + 2).min(rows + 1)
    }

    /// Values of a bin that leave room for two blocks of threads on each multiprocessor of the GPUs of `fleet`.
    pub fn capacity_on(fleet: &FleetInfo) -> usize {
        let shared_bytes = fleet.least(|gpu| gpu.multiprocessor_shared_bytes).unwrap_or(0) as usize;
        // A block takes 1 KiB beside what it has.
        let words = (shared_bytes / 2).saturating_sub(1024 + 64) / 4;
        (words / 1000 * 1000).clamp(1000, LARGEST_BIN)
    }

    /// The bins whose rows are these of a replica, and its rows before them.
    pub fn own(&self, rows: Range<usize>) -> (Range<usize>, Range<usize>) {
        let (start, end) = (rows.start as u64, rows.end as u64);
        let begin = self.bounds.partition_point(|bound| *bound < start);
        let stop = self.bounds.partition_point(|bound| *bound <= end).saturating_sub(1).max(begin);
        let first = (self.bounds[0] as usize).clamp(rows.start, rows.end);
        (begin..stop, rows.start..first)
    }

    /// Estimated picoseconds that a GPU takes for all rows, if an arc of a long one takes `far`.
    pub fn cost_ps(&self, far: u64) -> u64 {
        let rows = self.bounds.last().copied().unwrap_or(0);
        let long = self.arcs[1] * far + self.longest * WARP_PS;
        self.arcs[0] * ARC_PS + long + rows * ROW_PS + PHASES_PS
    }

    /// `42 bins of 28,000 values, 3 segments of 48,000 sources`.
    pub fn words(&self) -> String {
        let long = match self.arcs[1] {
            0 => String::new(),
            arcs => format!(", {} of long rows apart", plural(arcs, "arc")),
        };
        format!(
            "{} of {} values, {} of {} sources{long}",
            plural(self.bounds.len() as u64 - 1, "bin"),
            count(self.capacity as u64),
            plural(self.segments as u64, "segment"),
            count(self.width as u64),
        )
    }
}
