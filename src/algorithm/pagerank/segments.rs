//! In-rows cut by segments of sources, for `kernels/pagerank_hubs.cu`: which arcs lie in segments, who has which
//! rows, and the arrays that a replica's blocks go over.
//!
//! Rows are cut into *row blocks* of about equal arcs, and a block's arcs of one segment into chunks and groups of
//! their own. Replicas have whole blocks. Segments are divided among [`Teams`] of multiprocessors, whose sums of a row are
//! added at last. So the order in which a row's arcs are added up follows from the graph alone, whoever has
//! the row.
//!
//! Blocks are dealt in turn where replicas can write into each other's arrays: then all have as many rows of each
//! kind, and as many altogether. In one piece each, the last replica of four has most rows of a skewed graph, and all
//! others wait for what it sends.

use super::teams::{self, Gpu, Teams};
use crate::collective::Split;
use crate::layout::ColumnRows;
use crate::units::{count as number, plural};
use rayon::prelude::*;
use std::ops::Range;

/// As in kernels/pagerank_hubs.cu.
const LANE: usize = 8;
pub(super) const CHUNK: usize = 32 * LANE;

/// Row blocks at most, eight for each multiprocessor of an H200, and arcs of one at least.
const BLOCKS: u64 = 1056;
const BLOCK_ARCS: u64 = 4096;
/// Segments at most.
pub(super) const MOST: usize = 128;

/// What a GPU takes for an arc that is gathered from L2, and for the addition to a row's sum that a run ends in, its row
/// read before, as far as the sums or contributions of so many nodes fit it, in ps. Gathers by hand from KERNELS.md: 145 G/s
/// from 4 MiB, 132 from 32, 74 from 64, and less from more; runs so that two H200s are as long at R-MAT 22 and 24 (2.27 and
/// 2.45 ms, 9.26 and 9.02).
fn costs(nodes: u64) -> (u64, u64) {
    match (nodes * 4) >> 20 {
        0..=32 => (7, RUN_PS),
        33..=64 => (13, RUN_PS),
        _ => (25, 18),
    }
}
/// For an arc that is gathered from shared memory, at 385 to 580 G/s and 2 bytes from memory.
const NEAR_PS: u64 = 2;
/// For a run, where all its sums fit L2.
const RUN_PS: u64 = 6;
/// What the last additions and the rank of a node take: 71 us for 8.9 M of them.
const ROW_PS: u64 = 8;
/// What a segment takes whatever is in it: 192 KB to every multiprocessor, and the last groups. An estimate.
const SEGMENT_PS: u64 = 8_000_000;

/// How many groups a part should have at most: some for each warp of a GPU, so that the last ones do not count.
const GROUPS: usize = 16384;
/// Chunks of a group at most.
const SPAN: usize = 8;

/// Where rows are cut, for all replicas.
pub(super) struct Segments {
    /// Sources of a segment.
    pub width: usize,
    /// How many segments some block has.
    pub count: usize,
    /// `[blocks + 1]` first row of each row block.
    bounds: Vec<u64>,
    /// `[blocks]` how many segments a block has; what lies beyond is far.
    depth: Vec<usize>,
    /// `[count + 1]` chunks of a group, by segment; the last for far arcs.
    span: Vec<usize>,
    /// Who goes through which segments.
    pub teams: Teams,
    /// The rows of each replica, where each has one piece.
    pub split: Split,
    /// `[blocks]` whose each block is.
    owner: Vec<usize>,
    /// Arcs in segments.
    pub near: u64,
    /// All of them.
    arcs: u64,
}

/// What a row block has of a segment.
#[derive(Clone, Copy, Default)]
struct Part {
    arcs: u64,
    runs: u64,
}

impl Part {
    /// What it saves to have these arcs in a segment, in ps.
    fn gain(self, (far_ps, run_ps): (u64, u64)) -> i64 {
        (self.arcs * (far_ps - NEAR_PS)) as i64 - (self.runs * run_ps) as i64
    }
}

/// What is asked of [`Segments`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Sources of a segment, a multiple of 4 below 65536.
    pub width: usize,
    /// How many segments; else as many as pay.
    pub segments: Option<usize>,
    /// How many teams; else as the graph says.
    pub teams: Option<usize>,
    /// Multiprocessors of a GPU.
    pub multiprocessors: u32,
    /// Whether every replica makes all rows.
    pub redundant: bool,
    /// Whether row blocks are dealt in turn.
    pub in_turn: bool,
}

impl Segments {
    /// Cuts `rows` for a fleet of `world`.
    pub fn new(rows: &ColumnRows, world: usize, cut: Cut) -> Segments {
        let width = cut.width;
        let active = rows.offsets.len() as u64 - 1;
        let costs = costs(active);
        let (far_ps, run_ps) = costs;
        let blocks = (rows.arcs() / BLOCK_ARCS).clamp(1, BLOCKS) as usize;
        let cost = |v: u64| rows.offsets[v as usize] + v;
        // Not aligned: 64 of the largest rows are more than any other hundred blocks.
        let bounds = Split::by_weight(active, blocks, 1, cost(active), cost).bounds().to_vec();
        let most = MOST.min((active as usize).div_ceil(width));
        let count_block =
            |range: &[u64]| count(rows, range[0] as usize..range[1] as usize, width, most);
        let parts: Vec<Vec<Part>> = bounds.par_windows(2).map(count_block).collect();
        let depth = match cut.segments {
            Some(asked) => vec![asked.min(most); blocks],
            None => depths(&parts, most, costs),
        };
        let count = depth.iter().copied().max().unwrap_or(0);
        let near = |b: usize| {
            parts[b][..depth[b]].iter().fold(Part::default(), |sum, part| Part {
                arcs: sum.arcs + part.arcs,
                runs: sum.runs + part.runs,
            })
        };
        let arcs =
            |b: usize| rows.offsets[bounds[b + 1] as usize] - rows.offsets[bounds[b] as usize];
        // Costs of the blocks before each.
        let mut before = vec![0];
        for b in 0..blocks {
            let (near, rows) = (near(b), bounds[b + 1] - bounds[b]);
            let far = arcs(b) - near.arcs;
            let far_runs = rows.min(far);
            let ps = near.arcs * NEAR_PS + far * far_ps + (near.runs + far_runs) * run_ps;
            before.push(before[b] + ps + rows * ROW_PS);
        }
        let dealt =
            Split::by_weight(blocks as u64, world, 1, before[blocks], |b| before[b as usize]);
        let owned =
            dealt.bounds().windows(2).map(|b| bounds[b[1] as usize] - bounds[b[0] as usize]);
        let split = Split::of_lengths(owned);
        let owner = match cut.in_turn {
            true => deal_in_turn(&bounds, world),
            false => (0..world).flat_map(|rank| dealt.range(rank).map(move |_| rank)).collect(),
        };
        let load = |s: usize| {
            let parts = parts.iter().zip(&depth).filter(|(_, depth)| s < **depth);
            parts.fold(Part::default(), |sum, (part, _)| Part {
                arcs: sum.arcs + part[s].arcs,
                runs: sum.runs + part[s].runs,
            })
        };
        let load_ps = |s| {
            let Part { arcs, runs } = load(s);
            teams::load_ps(arcs, runs)
        };
        let load_ps: Vec<u64> = (0..count).map(load_ps).collect();
        let sharers = if cut.redundant { 1 } else { world as u64 };
        // The most that anybody has.
        let own_blocks = match cut.in_turn || cut.redundant {
            true => (blocks as u64).div_ceil(sharers),
            false => longest(&dealt),
        };
        let gpu = Gpu { multiprocessors: cut.multiprocessors, blocks: own_blocks, sharers };
        let teams = Teams::new(&load_ps, cut.teams, gpu);
        let mut chunks = vec![0; count + 1];
        for b in 0..blocks {
            for (s, part) in parts[b][..depth[b]].iter().enumerate() {
                chunks[s] += part.arcs.div_ceil(CHUNK as u64) as usize;
            }
            chunks[count] += (arcs(b) - near(b).arcs).div_ceil(CHUNK as u64) as usize;
        }
        Segments {
            width,
            count,
            teams,
            split,
            owner,
            near: (0..blocks).map(|b| near(b).arcs).sum(),
            arcs: rows.arcs(),
            span: chunks.into_iter().map(|chunks| (chunks / GROUPS).clamp(1, SPAN)).collect(),
            bounds,
            depth,
        }
    }

    /// A number that differs when the rows are dealt otherwise.
    pub fn fingerprint(&self) -> u64 {
        Split::of_lengths(self.owner.iter().map(|rank| *rank as u64 + 1)).fingerprint()
    }

    /// The blocks of replica `rank`, or all; rising.
    fn own_blocks(&self, rank: Option<usize>) -> Vec<usize> {
        let own = |b: &usize| rank.is_none_or(|rank| self.owner[*b] == rank);
        (0..self.depth.len()).filter(own).collect()
    }

    /// The rows of replica `rank`, or all, in the order of their slots.
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

    /// The arrays for the rows of replica `rank`, or for all rows. `beat` is called now and then.
    pub fn lay_out(
        &self,
        rows: &ColumnRows,
        rank: Option<usize>,
        beat: &(dyn Fn() + Sync),
    ) -> SegmentRows {
        let own = self.own_blocks(rank);
        let mut slots = Vec::with_capacity(own.len() + 1);
        slots.push(0);
        for b in &own {
            slots.push(slots[slots.len() - 1] + self.bounds[*b + 1] - self.bounds[*b]);
        }
        let block = |(b, first): (&usize, &u64)| {
            beat();
            self.block(rows, *b, *first)
        };
        let blocks: Vec<BlockRows> = own.par_iter().zip(&slots).map(block).collect();
        let slots = slots[own.len()] as u32;
        let mut made = SegmentRows {
            near: Arcs { columns: vec![], marks: vec![], first: vec![], rows: vec![] },
            far: Arcs { columns: vec![], marks: vec![], first: vec![], rows: vec![] },
            groups: vec![],
            parts: vec![0],
            carries: vec![],
            slots,
        };
        // Where the groups of each part of each block will be: the far ones behind all others.
        let mut starts = vec![Vec::with_capacity(self.count + 1); blocks.len()];
        let mut chunk = 0u32;
        for (block, starts) in blocks.iter().zip(&mut starts) {
            for groups in &block.groups[..self.count] {
                starts.push(made.groups.len() as u32);
                made.groups.extend(groups.iter().map(|group| [group[0] + chunk, group[1]]));
                made.parts.push(made.groups.len() as u32);
            }
            chunk += block.near.first.len() as u32;
        }
        let mut chunk = 0u32;
        for (block, starts) in blocks.iter().zip(&mut starts) {
            starts.push(made.groups.len() as u32);
            let groups = block.groups[self.count].iter();
            made.groups.extend(groups.map(|group| [group[0] + chunk, group[1]]));
            chunk += block.far.first.len() as u32;
        }
        for (block, starts) in blocks.into_iter().zip(starts) {
            let carry = |(row, part, group): &(u32, usize, u32)| (*row, starts[*part] + group);
            made.carries.extend(block.carries.iter().map(carry));
            made.near.append(block.near);
            made.far.append(block.far);
        }
        debug_assert!(made.carries.is_sorted() && made.near.rows.iter().all(|row| *row < slots));
        made
    }

    /// One row block, whose rows have the slots from `first` on.
    fn block(&self, rows: &ColumnRows, b: usize, first: u64) -> BlockRows {
        let (own, depth) = (self.bounds[b] as usize..self.bounds[b + 1] as usize, self.depth[b]);
        let slot = |row: usize| (row as u64 - self.bounds[b] + first) as u32;
        let mut block = BlockRows::default();
        let mut runs: Vec<Vec<(u32, &[u32])>> = vec![vec![]; depth + 1];
        for v in own {
            for_runs(rows.row(v), self.width, depth, |s, run| runs[s].push((slot(v), run)));
        }
        block.groups = vec![vec![]; self.count + 1];
        for (s, runs) in runs.iter().enumerate() {
            let (part, start) = match s < depth {
                true => (s, s * self.width),
                false => (self.count, 0),
            };
            let begin = match s < depth {
                true => block.near.first.len(),
                false => block.far.first.len(),
            };
            let pads = match s < depth {
                true => self.width as u32,
                false => active(rows),
            };
            let end = match s < depth {
                true => {
                    block.near.lay(runs, pads as u16, |column| (column as usize - start) as u16)
                }
                false => block.far.lay(runs, pads, |column| column),
            };
            let span = self.span[part];
            for first in (begin..end).step_by(span) {
                let group = block.groups[part].len() as u32;
                let carries = match s < depth {
                    true => block.near.goes_on(first),
                    false => block.far.goes_on(first),
                };
                block.carries.extend(carries.map(|row| (row, part, group)));
                block.groups[part].push([first as u32, span.min(end - first) as u32]);
            }
        }
        block.far.reorder();
        block.carries.sort_unstable();
        block
    }
}

/// `[blocks]` whose each block is: in every round one goes to each replica, the one with most rows to whoever has
/// fewest so far. The last round, of which there may be less, is of the largest rows.
fn deal_in_turn(bounds: &[u64], world: usize) -> Vec<usize> {
    let blocks = bounds.len() - 1;
    let rows = |b: &usize| bounds[b + 1] - bounds[*b];
    let (mut owner, mut owned) = (vec![0; blocks], vec![0; world]);
    let order: Vec<usize> = (0..blocks).rev().collect();
    for round in order.chunks(world) {
        let (mut round, mut ranks) = (round.to_vec(), (0..world).collect::<Vec<_>>());
        round.sort_by_key(|b| std::cmp::Reverse(rows(b)));
        ranks.sort_by_key(|rank| owned[*rank]);
        for (b, rank) in round.into_iter().zip(ranks) {
            owner[b] = rank;
            owned[rank] += rows(&b);
        }
    }
    owner
}

/// The length of the longest range.
fn longest(split: &Split) -> u64 {
    split.bounds().windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

fn active(rows: &ColumnRows) -> u32 {
    rows.offsets.len() as u32 - 1
}

/// Calls `each` with the segment of every run of a row, and the run; what lies in segment `most` or beyond is one.
fn for_runs<'a>(row: &'a [u32], width: usize, most: usize, mut each: impl FnMut(usize, &'a [u32])) {
    let mut rest = row;
    while let Some(column) = rest.first() {
        let segment = (*column as usize / width).min(most);
        let end = match segment < most {
            true => rest.partition_point(|column| (*column as usize) < (segment + 1) * width),
            false => rest.len(),
        };
        let (run, later) = rest.split_at(end);
        each(segment, run);
        rest = later;
    }
}

/// What each segment has of the rows.
fn count(rows: &ColumnRows, own: Range<usize>, width: usize, most: usize) -> Vec<Part> {
    let mut parts = vec![Part::default(); most + 1];
    for v in own {
        for_runs(rows.row(v), width, most, |s, run| {
            parts[s].arcs += run.len() as u64;
            parts[s].runs += 1;
        });
    }
    parts
}

/// How many segments each block should have: those that save more than they cost everybody, and of these as many as
/// the block gains by.
fn depths(parts: &[Vec<Part>], most: usize, costs: (u64, u64)) -> Vec<usize> {
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

/// Runs in chunks.
#[derive(Default)]
pub(super) struct Arcs<C> {
    /// `[chunks, CHUNK]`
    pub columns: Vec<C>,
    /// `[chunks, 32]` where runs begin among a lane's arcs; from bit 8: how many began in the chunk before.
    pub marks: Vec<u16>,
    /// `[chunks]` number of the first run that begins in it.
    pub first: Vec<u32>,
    /// `[runs]` slots
    pub rows: Vec<u32>,
}

impl<C: Copy> Arcs<C> {
    /// Adds runs from a new chunk on; where the chunks end.
    fn lay(&mut self, runs: &[(u32, &[u32])], pads: C, column: impl Fn(u32) -> C) -> usize {
        let begin = self.first.len();
        let mut at = 0;
        for (row, run) in runs {
            for (i, source) in run.iter().enumerate() {
                let place = at % CHUNK;
                if place == 0 {
                    self.first.push(self.rows.len() as u32);
                    self.columns.resize(self.columns.len() + CHUNK, pads);
                    self.marks.resize(self.marks.len() + 32, 0);
                }
                if i == 0 {
                    self.rows.push(*row);
                    let lane = self.marks.len() - 32 + place / LANE;
                    self.marks[lane] |= 1 << (place % LANE);
                }
                let slot = self.columns.len() - CHUNK + place;
                self.columns[slot] = column(*source);
                at += 1;
            }
        }
        for marks in self.marks[begin * 32..].chunks_mut(32) {
            let mut before = 0;
            for mark in marks {
                let begun = mark.count_ones() as u16;
                *mark |= before << 8;
                before += begun;
            }
        }
        self.first.len()
    }

    /// The row whose run goes on into chunk `chunk` from the one before, if one does.
    fn goes_on(&self, chunk: usize) -> Option<u32> {
        let begins = self.marks[chunk * 32] & 1 != 0;
        (!begins).then(|| self.rows[self.first[chunk] as usize - 1])
    }

    fn append(&mut self, mut other: Arcs<C>) {
        let runs = self.rows.len() as u32;
        self.first.extend(other.first.iter().map(|run| run + runs));
        self.columns.append(&mut other.columns);
        self.marks.append(&mut other.marks);
        self.rows.append(&mut other.rows);
    }
}

impl Arcs<u32> {
    /// Puts the first four arcs of all lanes of a chunk before their second four: a warp reads 512 bytes at once.
    fn reorder(&mut self) {
        let half = LANE / 2;
        for chunk in self.columns.chunks_mut(CHUNK) {
            let lanes: Vec<u32> = chunk.to_vec();
            for (at, slot) in chunk.iter_mut().enumerate() {
                let (plane, rest) = (at / (CHUNK / 2), at % (CHUNK / 2));
                *slot = lanes[rest / half * LANE + plane * half + rest % half];
            }
        }
    }
}

/// One row block; chunks and runs counted from its own first.
#[derive(Default)]
struct BlockRows {
    near: Arcs<u16>,
    far: Arcs<u32>,
    /// By segment, the far ones last: first chunk, chunks.
    groups: Vec<Vec<[u32; 2]>>,
    /// (slot, segment, group of that): the group begins inside of a run of the row.
    carries: Vec<(u32, usize, u32)>,
}

/// What a replica goes over.
pub(super) struct SegmentRows {
    pub near: Arcs<u16>,
    pub far: Arcs<u32>,
    /// `[groups]` first chunk, chunks; by row block and segment, the far ones last.
    pub groups: Vec<[u32; 2]>,
    /// `[row blocks * segments + 1]` first group of each segment of each block; the last is the first far one.
    pub parts: Vec<u32>,
    /// (slot, group) sorted: the group begins inside of a run of the row.
    pub carries: Vec<(u32, u32)>,
    /// Own rows.
    pub slots: u32,
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
