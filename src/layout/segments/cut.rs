//! Where rows are cut, how many segments each row block has, and which replica has which rows.

use super::CHUNK;
use super::teams::{Gpu, Teams, load_ps};
use crate::collective::{Shares, Split};
use crate::device::kernels::{pagerank_hubs as hubs, segments as kernel};
use crate::error::{Error, Result};
use crate::fleet::FleetInfo;
use crate::layout::ColumnRows;
use crate::units::{count as number, plural};
#[cfg(test)]
use rayon::prelude::*;
use std::cmp::Reverse;
use std::iter::Sum;
use std::ops::Range;

/// Row blocks at most: eight for each of 132 multiprocessors.
const BLOCKS: u64 = 1056;
/// Arcs of a row block, at least.
const BLOCK_ARCS: u64 = 4096;
/// Segments at most.
pub(crate) const MOST_SEGMENTS: usize = kernel::SEGMENTS as usize;
/// Sources of a segment at most, on any GPU.
pub(crate) const WIDEST_SEGMENT: u32 = 48_000;

/// Groups that the arcs of a segment are cut into, about: some for each warp of a GPU, so that the last ones do not count.
const GROUPS: usize = 16384;
/// Chunks of a group at most.
const SPAN: usize = 8;

/// Picoseconds that a GPU takes for an arc whose value is gathered from shared memory.
const NEAR_PS: u64 = 2;
/// Picoseconds that it takes for a row's last additions and its new value.
const ROW_PS: u64 = 8;
/// Picoseconds that a segment takes whatever is in it: every multiprocessor fills its shared memory, and waits for the last
/// groups.
const SEGMENT_PS: u64 = 8_000_000;

/// Estimated costs that depend on how much of the values fits the L2 cache of a GPU, in picoseconds.
#[derive(Clone, Copy)]
pub(super) struct Costs {
    /// Of an arc whose value is gathered from L2.
    pub far: u64,
    /// Of a run: it ends in an addition to its row's sum.
    pub run: u64,
}

/// The L2 cache of the GPU on which costs were measured. A larger one is taken for no better, as none was measured.
const MEASURED_L2: u64 = 50 << 20;

impl Costs {
    /// For `nodes` values of 4 bytes.
    fn of(nodes: u64, l2_bytes: u64) -> Costs {
        let bytes = u128::from(nodes) * 4 * u128::from(MEASURED_L2);
        match (bytes / u128::from(l2_bytes.clamp(1, MEASURED_L2))) >> 20 {
            0..=32 => Costs { far: 7, run: 6 },
            33..=64 => Costs { far: 13, run: 6 },
            _ => Costs { far: 25, run: 18 },
        }
    }
}

/// What a row block has of a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Part {
    pub arcs: u64,
    /// Rows with such an arc.
    pub runs: u64,
    /// Rows whose last arc is such an arc.
    pub ends: u64,
}

impl<'a> Sum<&'a Part> for Part {
    fn sum<I: Iterator<Item = &'a Part>>(parts: I) -> Part {
        let add = |sum: Part, part: &Part| Part {
            arcs: sum.arcs + part.arcs,
            runs: sum.runs + part.runs,
            ends: sum.ends + part.ends,
        };
        parts.fold(Part::default(), add)
    }
}

impl Part {
    /// Picoseconds saved if the arcs are near instead of far.
    fn gain(self, costs: Costs) -> i64 {
        (self.arcs * (costs.far - NEAR_PS)) as i64 - (self.runs * costs.run) as i64
    }
}

/// How [`Segments`] are to be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentOptions {
    /// Sources of a segment, a multiple of 4 below 65536.
    pub width: usize,
    /// How many segments; else as many as pay.
    pub segments: Option<usize>,
    /// How many teams; else as the graph says.
    pub teams: Option<usize>,
    /// Multiprocessors of a GPU.
    pub multiprocessors: u32,
    /// Its L2 cache.
    pub l2_bytes: u64,
    /// Every replica has all rows.
    pub redundant: bool,
    /// Row blocks are dealt in turn.
    pub in_turn: bool,
}

/// Where rows are cut, for all replicas.
pub(crate) struct Segments {
    /// Sources of a segment.
    pub width: usize,
    /// The largest number of segments that a row block has.
    pub count: usize,
    /// `[blocks + 1]` first row of each row block.
    pub(super) bounds: Vec<u64>,
    /// `[blocks]` segments of each row block; what lies beyond is far.
    pub(super) depth: Vec<usize>,
    /// `[blocks][most + 1]` what they have of each segment, and of all sources beyond.
    pub(super) parts: Vec<Vec<Part>>,
    /// `[count + 1]` chunks of a group, by segment; the last for far arcs.
    pub(super) span: Vec<usize>,
    /// Which multiprocessors go through which segments.
    pub teams: Teams,
    /// The rows of each replica, where each has one piece.
    pub split: Split,
    /// `[blocks]` the rank that has each row block.
    owner: Vec<usize>,
    /// Near arcs.
    pub near: u64,
    /// All arcs.
    arcs: u64,
    /// Estimated picoseconds that a GPU takes for all rows.
    pub cost_ps: u64,
}

/// Rows in blocks of about equal cost, which are to be counted.
pub(crate) struct RowBlocks {
    /// `[blocks + 1]` first row of each.
    pub bounds: Vec<u64>,
    /// Sources of a segment.
    pub width: usize,
    /// Segments that count.
    pub most: usize,
}

impl RowBlocks {
    pub fn new(rows: &ColumnRows, width: usize) -> RowBlocks {
        let active = rows.offsets.len() as u64 - 1;
        let blocks = (rows.arcs() / BLOCK_ARCS).clamp(1, BLOCKS) as usize;
        let cost = |v: u64| rows.offsets[v as usize] + v;
        // Not aligned: 64 of the longest rows have more arcs than any other hundred row blocks.
        let bounds = Split::by_weight(active, blocks, 1, cost(active), cost).bounds().to_vec();
        RowBlocks { bounds, width, most: MOST_SEGMENTS.min((active as usize).div_ceil(width)) }
    }

    /// `[blocks][most + 1]` what the row blocks have of each segment, and of all sources beyond; on the host.
    #[cfg(test)]
    pub fn count(&self, rows: &ColumnRows) -> Vec<Vec<Part>> {
        let parts = |block: &[u64]| {
            let mut parts = vec![Part::default(); self.most + 1];
            for v in block[0] as usize..block[1] as usize {
                let mut last = None;
                super::rows::for_runs(rows.row(v), self.width, self.most, |s, run| {
                    parts[s].arcs += run.len() as u64;
                    parts[s].runs += 1;
                    last = Some(s);
                });
                last.into_iter().for_each(|s| parts[s].ends += 1);
            }
            parts
        };
        self.bounds.par_windows(2).map(parts).collect()
    }
}

impl Segments {
    /// Cuts `rows` for a fleet of `world`; `parts` are what their `blocks` have.
    pub fn new(
        rows: &ColumnRows,
        blocks: &RowBlocks,
        parts: Vec<Vec<Part>>,
        shares: impl Into<Shares>,
        options: SegmentOptions,
    ) -> Segments {
        let shares = shares.into();
        let world = shares.world();
        let RowBlocks { bounds, width, most } = blocks;
        let (bounds, width, most) = (bounds.clone(), *width, *most);
        let costs = Costs::of(rows.offsets.len() as u64 - 1, options.l2_bytes);
        let blocks = bounds.len() - 1;
        let depth = match options.segments {
            Some(segments) => vec![segments.min(most); blocks],
            None => depths(&parts, most, costs),
        };
        let count = depth.iter().copied().max().unwrap_or(0);
        // Of each row block: its parts, near and far.
        let cut: Vec<(&[Part], &[Part])> =
            parts.iter().zip(&depth).map(|(parts, depth)| parts.split_at(*depth)).collect();
        let mut cost_before = vec![0];
        for (b, (near, far)) in cut.iter().enumerate() {
            let (near, far) = (near.iter().sum::<Part>(), far.iter().sum::<Part>().arcs);
            let rows = bounds[b + 1] - bounds[b];
            let arcs_ps = near.arcs * NEAR_PS + far * costs.far;
            let runs_ps = (near.runs + rows.min(far)) * costs.run;
            cost_before.push(cost_before[b] + arcs_ps + runs_ps + rows * ROW_PS);
        }
        let before = |b: u64| cost_before[b as usize];
        let pieces = Split::by_weight(blocks as u64, &shares, 1, cost_before[blocks], before);
        let rows_of = |b: &[u64]| bounds[b[1] as usize] - bounds[b[0] as usize];
        let owner = match options.in_turn {
            true => deal_in_turn(&bounds, &shares),
            false => (0..world).flat_map(|rank| pieces.range(rank).map(move |_| rank)).collect(),
        };
        // How many times the largest share goes into all.
        let sharers = if options.redundant { 1 } else { shares.total() / shares.most() };
        // The most row blocks that a replica has.
        let of = |rank: usize| owner.iter().filter(|of| **of == rank).count();
        let own_blocks = match options.redundant {
            true => blocks,
            false => (0..world).map(of).max().unwrap_or(0),
        } as u64;
        let gpu = Gpu { multiprocessors: options.multiprocessors, blocks: own_blocks, sharers };
        let segment = |s: usize| cut.iter().filter_map(move |(near, _)| near.get(s));
        let load = |part: Part| load_ps(part.arcs, part.runs);
        let loads: Vec<u64> = (0..count).map(|s| load(segment(s).sum())).collect();
        let chunks = |part: &Part| part.arcs.div_ceil(CHUNK as u64) as usize;
        let near_chunks = (0..count).map(|s| segment(s).map(chunks).sum::<usize>());
        let far_chunks = cut.iter().map(|(_, far)| chunks(&far.iter().sum())).sum();
        Segments {
            width,
            count,
            teams: Teams::new(&loads, options.teams, gpu),
            split: Split::of_lengths(pieces.bounds().windows(2).map(rows_of)),
            owner,
            near: cut.iter().flat_map(|(near, _)| *near).sum::<Part>().arcs,
            arcs: rows.arcs(),
            cost_ps: cost_before[blocks] + count as u64 * SEGMENT_PS,
            span: near_chunks
                .chain([far_chunks])
                .map(|chunks| (chunks / GROUPS).clamp(1, SPAN))
                .collect(),
            bounds,
            depth,
            parts,
        }
    }

    /// Sources beyond this segment count as one more.
    pub(super) fn most(&self) -> usize {
        self.parts[0].len() - 1
    }

    /// Sources of a segment on the GPUs of `fleet`: as many f32 values as a block's shared memory has room for beside what
    /// its warps keep. The least of all GPUs, since the order of additions follows from it. `asked` is taken where it fits.
    pub fn width_on(fleet: &FleetInfo, asked: Option<u32>) -> Result<usize> {
        let shared_bytes = fleet.least(|device| device.shared_bytes).unwrap_or(0);
        let most = widest(shared_bytes);
        match asked {
            Some(asked) if asked > most => Err(Error::input(format!(
                "--segment-width {asked}: the shared memory of these GPUs has room for {most}"
            ))),
            _ => Ok(asked.unwrap_or(most) as usize),
        }
    }

    /// A number that differs when the rows are dealt otherwise.
    pub fn fingerprint(&self) -> u64 {
        Split::of_lengths(self.owner.iter().map(|rank| *rank as u64 + 1)).fingerprint()
    }

    /// The row blocks of replica `rank`, or all; rising.
    pub(super) fn own_blocks(&self, rank: Option<usize>) -> Vec<usize> {
        let own = |b: &usize| rank.is_none_or(|rank| self.owner[*b] == rank);
        (0..self.depth.len()).filter(own).collect()
    }

    /// The rows of replica `rank`, or all, rising.
    pub fn own_rows(&self, rank: Option<usize>) -> Vec<Range<u64>> {
        let mut own: Vec<Range<u64>> = Vec::new();
        for b in self.own_blocks(rank) {
            let (start, end) = (self.bounds[b], self.bounds[b + 1]);
            match own.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => own.push(start..end),
            }
        }
        own
    }

    /// `3 segments of 48,000 sources, with 70 of 100 arcs`.
    pub fn words(&self) -> String {
        let teams = match self.teams.count() {
            1 => String::new(),
            many => format!(", by {many} teams of multiprocessors"),
        };
        format!(
            "{} of {} sources, with {} of {}{teams}",
            plural(self.count as u64, "segment"),
            number(self.width as u64),
            number(self.near),
            plural(self.arcs, "arc"),
        )
    }
}

/// Sources of a segment for which a block with so much shared memory has room, in thousands.
fn widest(shared_bytes: u32) -> u32 {
    let left = (shared_bytes / 4).saturating_sub(segment_words(0) + STATIC_WORDS);
    (left / 1000 * 1000).clamp(1000, WIDEST_SEGMENT)
}

/// Words of shared memory that a block takes for a segment of so many sources, and what its warps keep.
pub(crate) fn segment_words(width: u32) -> u32 {
    width + 4 + hubs::NEAR_THREADS / 32 * hubs::SUMS
}

/// Words that kernels have for themselves, at most.
const STATIC_WORDS: u32 = 64;

/// Estimated picoseconds that a GPU takes for an arc whose value it gathers from L2, where there are so many values.
pub(crate) fn far_ps(nodes: u64, l2_bytes: u64) -> u64 {
    Costs::of(nodes, l2_bytes).far
}

/// The most row blocks, and the most segments, that a replica with `arcs` arcs has, where `segments` are asked for or else
/// as many as pay.
pub(crate) fn most_blocks(arcs: u64, segments: Option<u32>) -> (usize, usize) {
    let blocks = (arcs / BLOCK_ARCS + 1).min(BLOCKS);
    let paying = arcs * (Costs::of(u64::MAX >> 2, MEASURED_L2).far - NEAR_PS) / SEGMENT_PS;
    let segments = segments.map_or(paying, u64::from);
    (blocks as usize, segments.min(MOST_SEGMENTS as u64) as usize)
}

/// `[blocks]` segments of each row block: of those that save all row blocks together more than a segment costs, as many as
/// save the row block most.
pub(super) fn depths(parts: &[Vec<Part>], most: usize, costs: Costs) -> Vec<usize> {
    let gains = |s: usize| parts.iter().map(|part| part[s].gain(costs).max(0) as u64).sum::<u64>();
    let count = (0..most).take_while(|s| gains(*s) > SEGMENT_PS).count();
    let depth = |parts: &Vec<Part>| {
        let (mut best, mut total) = ((0, 0), 0);
        for (s, part) in parts[..count].iter().enumerate() {
            total += part.gain(costs);
            if total > best.0 {
                best = (total, s + 1);
            }
        }
        best.1
    };
    parts.iter().map(depth).collect()
}

/// `[blocks]` the rank that has each row block. In every round each replica gets one, the one with most rows going to the
/// replica with fewest rows so far. The last round, which may be short, is of the longest rows.
fn deal_in_turn(bounds: &[u64], shares: &Shares) -> Vec<usize> {
    let blocks = bounds.len() - 1;
    let rows = |b: &usize| bounds[b + 1] - bounds[*b];
    let (mut owner, mut owned) = (vec![0; blocks], vec![0; shares.world()]);
    let order: Vec<usize> = (0..blocks).rev().collect();
    let turns = shares.turns();
    for round in order.chunks(turns.len()) {
        let (mut round, mut ranks) = (round.to_vec(), turns[..round.len()].to_vec());
        round.sort_by_key(|b| Reverse(rows(b)));
        ranks.sort_by_key(|rank| owned[*rank] / shares.share(*rank));
        for (b, rank) in round.into_iter().zip(ranks) {
            owner[b] = rank;
            owned[rank] += rows(&b);
        }
    }
    owner
}
