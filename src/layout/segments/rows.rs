//! The arrays of segments, as the kernels of `kernels/pagerank/pagerank_hubs.cu` read them, made on the host: what those
//! that GPUs make are compared with.

use super::{CHUNK, LANE, Segments};
use crate::layout::ColumnRows;
use rayon::prelude::*;

/// Calls `each` with the segment of every run of a row, and the run: arcs from one segment, or from all beyond the first
/// `most`.
pub(super) fn for_runs<'a>(
    row: &'a [u32],
    width: usize,
    most: usize,
    mut each: impl FnMut(usize, &'a [u32]),
) {
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

/// Runs in chunks.
#[derive(Default)]
pub(crate) struct Runs<C> {
    /// `[chunks, CHUNK]`
    pub columns: Vec<C>,
    /// `[chunks, 32]` bit i: a run begins at arc i of the lane; from bit 8 on: how many runs begin before it in the chunk.
    pub marks: Vec<u16>,
    /// `[chunks]` number of the first run that begins in it.
    pub first: Vec<u32>,
    /// `[runs]` slots of their rows.
    pub rows: Vec<u32>,
}

impl<C: Copy> Runs<C> {
    /// Adds runs, each with the slot of its row, from a new chunk on; `pads` fills the last. Cuts the chunks into groups of
    /// `span`: the first chunk of each, how many, and the slot whose run goes on into it from the group before.
    fn lay(
        &mut self,
        runs: &[(u32, &[u32])],
        pads: C,
        column: impl Fn(u32) -> C,
        span: usize,
    ) -> Vec<([u32; 2], Option<u32>)> {
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
        let end = self.first.len();
        let group = |chunk: usize| {
            let begins = self.marks[chunk * 32] & 1 != 0;
            let open = (!begins).then(|| self.rows[self.first[chunk] as usize - 1]);
            ([chunk as u32, span.min(end - chunk) as u32], open)
        };
        (begin..end).step_by(span).map(group).collect()
    }

    fn append(&mut self, mut other: Runs<C>) {
        let runs = self.rows.len() as u32;
        self.first.extend(other.first.iter().map(|run| run + runs));
        self.columns.append(&mut other.columns);
        self.marks.append(&mut other.marks);
        self.rows.append(&mut other.rows);
    }
}

impl Runs<u32> {
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

/// One row block; chunks and runs are counted from its own first.
#[derive(Default)]
struct BlockRows {
    near: Runs<u16>,
    far: Runs<u32>,
    /// By segment, the far ones last: first chunk, chunks.
    groups: Vec<Vec<[u32; 2]>>,
    /// (slot, segment, group of the segment), sorted: the group begins inside a run of the row.
    carries: Vec<(u32, usize, u32)>,
}

/// What a replica goes over. A *slot* is the number of a row among the replica's own.
#[derive(Default)]
pub(crate) struct SegmentRows {
    /// Columns less the first of their segment; the width of a segment where a chunk is padded.
    pub near: Runs<u16>,
    /// Columns; the number of rows where a chunk is padded.
    pub far: Runs<u32>,
    /// `[groups]` first chunk, chunks; by row block and segment, the far ones last.
    pub groups: Vec<[u32; 2]>,
    /// `[row blocks * segments + 1]` first group of each segment of each block; the last is the first far one.
    pub parts: Vec<u32>,
    /// (slot, group), sorted: the group begins inside a run of the row.
    pub carries: Vec<(u32, u32)>,
    /// Own rows.
    pub slots: u32,
}

impl Segments {
    /// The arrays for the rows of replica `rank`, or for all rows.
    pub fn lay_out(&self, rows: &ColumnRows, rank: Option<usize>) -> SegmentRows {
        let own = self.own_blocks(rank);
        let mut slots = vec![0];
        for b in &own {
            slots.push(slots[slots.len() - 1] + self.bounds[*b + 1] - self.bounds[*b]);
        }
        let block = |(b, first): (&usize, &u64)| self.block(rows, *b, *first);
        let blocks: Vec<BlockRows> = own.par_iter().zip(&slots).map(block).collect();
        let slots = slots[own.len()] as u32;
        let mut made = SegmentRows { parts: vec![0], slots, ..SegmentRows::default() };
        // Where the groups of each part of each block will be: the far ones behind all others.
        let mut starts = vec![Vec::with_capacity(self.count + 1); blocks.len()];
        let parts = [0..self.count, self.count..self.count + 1];
        for (is_far, parts) in parts.into_iter().enumerate() {
            let mut chunk = 0;
            for (block, starts) in blocks.iter().zip(&mut starts) {
                for groups in &block.groups[parts.clone()] {
                    starts.push(made.groups.len() as u32);
                    made.groups.extend(groups.iter().map(|group| [group[0] + chunk, group[1]]));
                    if is_far == 0 {
                        made.parts.push(made.groups.len() as u32);
                    }
                }
                chunk += [&block.near.first, &block.far.first][is_far].len() as u32;
            }
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

    /// Row block `b`, whose rows have the slots from `first` on.
    fn block(&self, rows: &ColumnRows, b: usize, first: u64) -> BlockRows {
        let (own, depth) = (self.bounds[b] as usize..self.bounds[b + 1] as usize, self.depth[b]);
        let slot = |row: usize| (row as u64 - self.bounds[b] + first) as u32;
        let mut runs: Vec<Vec<(u32, &[u32])>> = vec![vec![]; depth + 1];
        for v in own {
            for_runs(rows.row(v), self.width, depth, |s, run| runs[s].push((slot(v), run)));
        }
        let groups = vec![vec![]; self.count + 1];
        let mut block = BlockRows { groups, ..BlockRows::default() };
        for (s, runs) in runs.iter().enumerate() {
            let part = if s < depth { s } else { self.count };
            let (span, start) = (self.span[part], (s * self.width) as u32);
            let groups = match s < depth {
                true => block.near.lay(runs, self.width as u16, |u| (u - start) as u16, span),
                false => block.far.lay(runs, rows.offsets.len() as u32 - 1, |u| u, span),
            };
            for (group, (chunks, open)) in (0..).zip(groups) {
                block.groups[part].push(chunks);
                block.carries.extend(open.map(|row| (row, part, group)));
            }
        }
        block.far.reorder();
        block.carries.sort_unstable();
        block
    }
}
