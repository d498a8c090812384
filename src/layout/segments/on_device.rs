//! The arrays of segments, made on a GPU: the arguments of `kernels/segments.cu`.

use super::cut::Part;
use super::{CHUNK, RowBlocks, Segments};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::kernels::segments::{
    COUNTS, ChunkArgs, Chunks, NO_ROW, OpenArgs, PartArgs, PlaceArgs,
};
use crate::device::{CudaDevice, DeviceBuffer, source};
use crate::error::Result;
use crate::layout::memory::DeviceArray;
use crate::layout::on_device::{Sums, launch};
use crate::layout::{DeviceGraph, DeviceRows};
use std::ops::Range;

/// Near or far runs of a replica, in chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RunShape {
    pub chunks: usize,
    pub runs: usize,
}

impl RunShape {
    /// Adds a part, which has chunks of its own; their numbers.
    fn add(&mut self, arcs: u64, runs: u64) -> Range<u32> {
        let begin = self.chunks as u32;
        self.chunks += arcs.div_ceil(CHUNK as u64) as usize;
        self.runs += runs as usize;
        begin..self.chunks as u32
    }
}

/// What a replica goes over, but for the arcs. A *slot* is the number of a row among the replica's own.
#[derive(Default)]
pub(crate) struct SegmentShape {
    pub near: RunShape,
    pub far: RunShape,
    /// `[groups]` first chunk, chunks; by row block and segment, the far ones last.
    pub groups: Vec<[u32; 2]>,
    /// `[row blocks * segments + 1]` first group of each segment of each block; the last is the first far one.
    pub parts: Vec<u32>,
    /// Own rows.
    pub slots: u32,
    /// `[own row blocks]` their numbers, segments, and first slots.
    own: Vec<u32>,
    depth: Vec<u32>,
    first_slots: Vec<u32>,
    /// `[own row blocks, most + 1]` first chunk of each segment, then of far arcs.
    begin: Vec<u32>,
}

/// Runs in chunks on a device.
#[derive(Clone, Copy)]
pub(crate) struct DeviceRuns<'a> {
    /// `[chunks, CHUNK]` of 16 or 32 bits.
    pub columns: &'a DeviceBuffer<u32>,
    /// `[chunks, 32]` bit i: a run begins at arc i of the lane; from bit 8 on: how many runs begin before it in the chunk.
    pub marks: &'a DeviceBuffer<u16>,
    /// `[chunks]` number of the first run that begins in it.
    pub first: &'a DeviceBuffer<u32>,
    /// `[runs]` slots of their rows.
    pub rows: &'a DeviceBuffer<u32>,
}

impl DeviceRuns<'_> {
    fn args(&self) -> Chunks {
        Chunks {
            columns: self.columns.pointer(),
            marks: self.marks.pointer(),
            first: self.first.pointer(),
            rows: self.rows.pointer(),
        }
    }
}

impl RowBlocks {
    /// `[blocks][most + 1]` what the row blocks have of each segment, and of all sources beyond.
    pub fn count_on(
        &self,
        device: &mut CudaDevice,
        graph: &DeviceGraph,
        rows: &DeviceRows,
    ) -> Result<Vec<Vec<Part>>> {
        let kernel = device.function(source("segments.cu"), &graph.options(), "segments_parts")?;
        let blocks = self.bounds.len() - 1;
        let bounds = uploaded(device, "row blocks", &self.bounds)?;
        let entries = blocks * (self.most + 1);
        let parts = device.alloc::<u32>("parts of row blocks", entries * COUNTS as usize)?;
        let args = PartArgs {
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            bounds: bounds.pointer(),
            parts: parts.pointer(),
            blocks: blocks as u32,
            width: self.width as u32,
            most: self.most as u32,
            unused: 0,
        };
        launch(device, kernel, blocks as u64, 1, &args)?;
        let parts = parts.to_vec()?;
        let part = |of: &[u32]| {
            let [arcs, runs, ends] = [of[0], of[1], of[2]].map(u64::from);
            Part { arcs, runs, ends }
        };
        let parts: Vec<Part> = parts.chunks(COUNTS as usize).map(part).collect();
        Ok(parts.chunks(self.most + 1).map(<[Part]>::to_vec).collect())
    }
}

impl Segments {
    /// What replica `rank` goes over, or a replica that has all rows.
    pub fn shape(&self, rank: Option<usize>) -> SegmentShape {
        let mut made = SegmentShape { parts: vec![0], ..SegmentShape::default() };
        let mut far = Vec::new();
        for block in self.own_blocks(rank) {
            let (depth, parts) = (self.depth[block], &self.parts[block]);
            made.own.push(block as u32);
            made.depth.push(depth as u32);
            made.first_slots.push(made.slots);
            made.slots += (self.bounds[block + 1] - self.bounds[block]) as u32;
            let row = made.begin.len();
            made.begin.resize(row + self.most() + 1, 0);
            for (s, part) in parts[..depth].iter().enumerate() {
                let chunks = made.near.add(part.arcs, part.runs);
                made.begin[row + s] = chunks.start;
                made.groups.extend(groups(chunks, self.span[s]));
                made.parts.push(made.groups.len() as u32);
            }
            made.parts.resize(made.parts.len() + self.count - depth, made.groups.len() as u32);
            let rest: Part = parts[depth..].iter().sum();
            // A row's far arcs are one run.
            let chunks = made.far.add(rest.arcs, rest.ends);
            made.begin[row + depth] = chunks.start;
            far.extend(groups(chunks, self.span[self.count]));
        }
        made.groups.extend(far);
        made
    }
}

/// Chunks in groups of `span`: the first of each, and how many.
fn groups(chunks: Range<u32>, span: usize) -> impl Iterator<Item = [u32; 2]> {
    let end = chunks.end;
    chunks.step_by(span).map(move |chunk| [chunk, (span as u32).min(end - chunk)])
}

impl SegmentShape {
    /// Groups before the far ones.
    pub fn near_groups(&self) -> u32 {
        self.parts.last().copied().unwrap_or(0)
    }

    /// Fills the arrays of `near` and `far` runs, whose lengths are this shape's and whose marks are 0, from `rows` of `graph`.
    /// Gives (slot, group), sorted: the group begins inside a run of the row.
    pub fn fill(
        &self,
        device: &mut CudaDevice,
        (graph, rows): (&DeviceGraph, &DeviceRows),
        cut: &Segments,
        [near, far]: [DeviceRuns<'_>; 2],
    ) -> Result<Vec<(u32, u32)>> {
        let options = graph.options();
        let mut load = |name| device.function(source("segments.cu"), &options, name);
        let [place, chunks, open] =
            [load("segments_place")?, load("segments_chunks")?, load("segments_open")?];
        let sums = Sums::load(device)?;
        let device = &*device;
        // Where a chunk is not full.
        near.columns.fill_words(cut.width as u32 * 0x1_0001)?;
        far.columns.fill_words(cut.bounds.last().copied().unwrap_or(0) as u32)?;
        let bounds = uploaded(device, "row blocks", &cut.bounds)?;
        let own = uploaded(device, "own row blocks", &self.own)?;
        let depth = uploaded(device, "segments of row blocks", &self.depth)?;
        let begin = uploaded(device, "first chunks", &self.begin)?;
        let slots = uploaded(device, "first slots", &self.first_slots)?;
        let args = PlaceArgs {
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            bounds: bounds.pointer(),
            own: own.pointer(),
            depth: depth.pointer(),
            begin: begin.pointer(),
            slots: slots.pointer(),
            near: near.args(),
            far: far.args(),
            count: self.own.len() as u32,
            width: cut.width as u32,
            most: cut.most() as u32,
            names: 0,
        };
        let blocks = self.own.len() as u64;
        launch(device, place, blocks, 1, &args)?;
        for (runs, shape) in [(near, self.near), (far, self.far)] {
            if shape.chunks > 0 {
                let counts = device.alloc::<u64>("runs of chunks", shape.chunks)?;
                let args = ChunkArgs {
                    marks: runs.marks.pointer(),
                    counts: counts.pointer(),
                    chunks: shape.chunks as u64,
                };
                launch(device, chunks, args.chunks, THREADS / 32, &args)?;
                sums.of_counts(device, &counts, runs.first)?;
            }
        }
        launch(device, place, blocks, 1, &PlaceArgs { names: 1, ..args })?;
        let groups = uploaded(device, "groups", bytemuck::cast_slice::<_, u32>(&self.groups))?;
        let rows_of = device.alloc::<u32>("open rows", self.groups.len())?;
        let args = OpenArgs {
            groups: groups.pointer(),
            open: rows_of.pointer(),
            near: near.args(),
            far: far.args(),
            near_groups: self.near_groups(),
            count: self.groups.len() as u32,
        };
        let whole = crate::device::Launch::of(args.count.div_ceil(THREADS).max(1), THREADS);
        device.launch(open, whole, &args)?;
        let open = rows_of.to_vec()?.into_iter().zip(0..);
        let mut carries: Vec<(u32, u32)> = open.filter(|(row, _)| *row != NO_ROW).collect();
        carries.sort_unstable();
        Ok(carries)
    }
}

/// Arrays that making them takes besides, for so many row blocks, segments, chunks and groups.
pub(crate) fn scratch(
    blocks: usize,
    segments: usize,
    chunks: usize,
    groups: usize,
) -> Vec<DeviceArray> {
    let parts = blocks * (segments + 1);
    vec![
        DeviceArray::new::<u64>("row blocks", blocks + 1),
        DeviceArray::new::<u32>("parts of row blocks", parts * COUNTS as usize),
        DeviceArray::new::<u32>("own row blocks", 3 * blocks + 256),
        DeviceArray::new::<u64>("runs of chunks", 2 * chunks + 1),
        DeviceArray::new::<u64>("sums of row lengths", chunks.div_ceil(TILE as usize) + 1),
        DeviceArray::new::<u32>("groups to open", 3 * groups + 256),
    ]
}

fn uploaded<T: bytemuck::Pod>(
    device: &CudaDevice,
    label: &str,
    values: &[T],
) -> Result<DeviceBuffer<T>> {
    let buffer = device.alloc(label, values.len())?;
    buffer.upload(values)?;
    Ok(buffer)
}
