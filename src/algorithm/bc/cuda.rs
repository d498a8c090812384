//! The steps of betweenness on a GPU: by tiles, or by levels with the arguments of `kernels/bc/bc.cu` (`bc_batch.cuh`), and
//! device arrays.

use super::Targets;
use super::plan::{SINGLE_FROM, Sizes, State, StepResult, StepTask, Task};
use super::tiles::ByTiles;
use crate::algorithm::arrays::device_arrays;
use crate::algorithm::long_paths::Rows;
use crate::device::kernels::bc_batch::{self, BcArgs, BcControl, BcMeeting, BcStatus, THREADS};
use crate::device::{CudaDevice, DeviceBuffer, Function, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, topology};
use crate::layout::{ColumnRows, DeviceGraph, TileFacts, TopologyRows};
use bytemuck::Zeroable;
use std::ops::Range;

const SEGMENT: u64 = bc_batch::SEGMENT as u64;

const _: () = assert!(size_of::<BcControl>() <= CONTROL * size_of::<u64>());
const _: () = assert!(size_of::<BcMeeting>() <= CONTROL * size_of::<u64>());

/// What is zeroed before a batch, in one piece: where each array begins in it, in bytes.
struct BatchState {
    /// `[active, lanes]` f32 or f64, each.
    paths: u64,
    sums: u64,
    coef: u64,
    /// `[active]` of a bit a lane.
    seen: u64,
    /// `[active] u32`
    mark: u64,
    /// `[stamped] u64`
    stamp: u64,
    /// [`CONTROL`] words each: what the kernel counts, and where it meets. The latter is the last, since it is zeroed
    /// before every other launch too, from here to the end.
    control: u64,
    meeting: u64,
    /// Of all.
    bytes: u64,
}

impl BatchState {
    fn new(batch: &Batch) -> BatchState {
        let Sizes { active, lanes, .. } = batch.sizes;
        let mut bytes = 0;
        let mut take = |length: usize, size: usize| {
            let at = bytes;
            bytes += (length * size).next_multiple_of(256) as u64;
            at
        };
        let number = 4 * batch.words();
        BatchState {
            paths: take(active * lanes, number),
            sums: take(active * lanes, number),
            coef: take(active * lanes, number),
            seen: take(active, lanes.div_ceil(8)),
            mark: take(active, 4),
            stamp: take(batch.stamped, 8),
            control: take(CONTROL, 8),
            meeting: take(CONTROL, 8),
            bytes,
        }
    }
}

/// What lengths of a batch's arrays follow from.
#[derive(Clone, Copy)]
struct Batch {
    sizes: Sizes,
    /// Labels below may have long rows.
    stamped: usize,
    /// Of long rows, the direction that has more.
    segments: usize,
}

impl Batch {
    /// Words of a number of paths.
    fn words(&self) -> usize {
        if self.sizes.double { 2 } else { 1 }
    }
}

device_arrays! {
    /// What a batch needs beside rows and replicated state.
    struct Arrays of Batch {
        /// As [`BatchState`] lays it out.
        state: u64 = "state of a batch", |b| BatchState::new(b).bytes as usize / 8;
        /// `[segments, lanes]` f32 or f64.
        parts: u32 = "sums of segments", |b| b.segments * b.sizes.lanes * b.words();
        candidate: u32 = "candidates", |b| b.sizes.active;
        lists: u64 = "lists of levels", |b| b.sizes.active * b.sizes.lanes;
        /// `[2, active + 2]` where the list of a level begins, and arcs out of what was reached up to it.
        first: u64 = "first of levels", |b| 2 * (b.sizes.active + 2);
    }
}

device_arrays! {
    /// `[segments, 2]` (row, segment of the row) of all rows that are too long for one warp.
    struct LongRows of usize {
        list: u32 = "long rows", |segments| 2 * segments;
    }
}

/// Segments of long rows, of so many arcs, at most: a row of just more than one segment takes two.
pub(super) fn most_segments(arcs: u64) -> usize {
    (2 * arcs / SEGMENT) as usize
}

/// What a batch needs on the GPU of one of `world` replicas beside the graph and its long rows, where there are at most
/// `arcs` arcs each way.
pub(super) fn batch_arrays(sizes: Sizes, arcs: u64, world: usize) -> Vec<DeviceArray> {
    let batch = Batch { sizes, stamped: sizes.active, segments: most_segments(arcs) };
    [State::list(sizes, world), Arrays::list(batch)].concat()
}

/// The least that betweenness takes on the GPU of one of `world` replicas: a batch of one lane, cut levels reckoned
/// with where there are several. More lanes are taken, and tiles made, where there is room.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let (active, arcs) = (shape.active as usize, shape.all_arcs());
    let double = arcs.saturating_sub(shape.repeats) < SINGLE_FROM;
    let sizes = Sizes { active, lanes: 1, double, cut: world > 1 };
    let long = LongRows::list(most_segments(arcs)).repeat(if shape.symmetric { 1 } else { 2 });
    [topology(shape), long, batch_arrays(sizes, arcs, world)].concat()
}

/// What a replica's steps need on its GPU beside rows and replicated state.
pub(super) enum Workspace {
    Levels(Box<ByLevels>),
    Tiles(Box<ByTiles>),
}

impl Workspace {
    /// Makes room for batches of the sources `labels`, by tiles where they pay and are wanted; else levels are found in the
    /// labels of `own`.
    pub fn new(
        device: &mut CudaDevice,
        p: &TopologyRows,
        rows: &DeviceGraph,
        (labels, targets): (&[u32], &Targets),
        (sizes, perturbed, tiles): (Sizes, bool, bool),
        own: Range<u64>,
    ) -> Result<Workspace> {
        let by_tiles = match tiles {
            true => ByTiles::new(device, &Rows::levels(p, rows, 0), labels, sizes)?,
            false => None,
        };
        Ok(match by_tiles {
            Some(by_tiles) => Workspace::Tiles(Box::new(by_tiles)),
            None => {
                let (ends, how) = ((labels, targets), (sizes, perturbed));
                let by_levels = ByLevels::new(device, p, rows, ends, how, own)?;
                Workspace::Levels(Box::new(by_levels))
            }
        })
    }

    /// The tiles, where there are any.
    pub fn tiles(&self) -> Option<TileFacts> {
        match self {
            Workspace::Levels(_) => None,
            Workspace::Tiles(by_tiles) => Some(by_tiles.facts()),
        }
    }

    /// Queues a task; by tiles, whole batches.
    pub fn launch(&mut self, device: &CudaDevice, s: &State, told: &StepTask<'_>) -> Result<()> {
        match self {
            Workspace::Levels(by_levels) => by_levels.launch(device, s, told),
            Workspace::Tiles(by_tiles) => by_tiles.launch(device, s, told),
        }
    }

    /// What the last launch, which has ended, found.
    pub fn found(&mut self, device: &CudaDevice, task: Task) -> Result<StepResult> {
        match self {
            Workspace::Levels(by_levels) => by_levels.found(device, task),
            Workspace::Tiles(by_tiles) => by_tiles.found(device),
        }
    }
}

/// The same where batches go level by level.
pub(super) struct ByLevels {
    kernel: Function,
    /// Blocks that can be resident.
    blocks: u32,
    /// `[sources]` labels, by position.
    sources: DeviceBuffer<u32>,
    /// As [`Targets`] has them; none where all nodes are.
    targets: Option<DeviceBuffer<u32>>,
    arrays: Arrays,
    /// The word of `state` from which on it is zeroed before every launch but a batch's first.
    meeting: usize,
    out_long: LongRows,
    /// Where rows differ by direction.
    in_long: Option<LongRows>,
    status: Pinned<BcStatus>,
    /// What depends on nothing but the graph and the arrays.
    fixed: BcArgs,
    /// Arcs that the batch has looked at.
    looked: u64,
}

/// Whether gathers had better ask which neighbours have anything: where what they gather, f32 in so many lanes, is
/// beyond the L2 cache, and hubs, which most arcs lead to, are too.
fn asking_pays(active: usize, lanes: usize) -> bool {
    active >= 1 << 22 && active * lanes >= 12 << 20
}

/// Which kernels are compiled: those that never ask, that ask where most is 0, or, on perturbed fleets, always.
fn asks(sizes: Sizes, perturbed: bool) -> u32 {
    match (sizes.double, perturbed) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => u32::from(asking_pays(sizes.active, sizes.lanes)),
    }
}

/// As [`LongRows`] lists them, by label.
fn segments(rows: &ColumnRows, active: usize) -> Vec<u32> {
    let long = (0..active).filter(|v| rows.degree(*v) > SEGMENT);
    let cut =
        |v: usize| (0..rows.degree(v).div_ceil(SEGMENT)).flat_map(move |i| [v as u32, i as u32]);
    long.flat_map(cut).collect()
}

impl ByLevels {
    /// Makes room for batches of the sources `labels`, whose levels are found in the labels of `own`.
    fn new(
        device: &mut CudaDevice,
        p: &TopologyRows,
        rows: &DeviceGraph,
        (labels, targets): (&[u32], &Targets),
        (sizes, perturbed): (Sizes, bool),
        own: Range<u64>,
    ) -> Result<ByLevels> {
        let options = [
            format!("-DHIVE_LANES={}", sizes.lanes),
            format!("-DHIVE_DOUBLE={}", u32::from(sizes.double)),
            format!("-DHIVE_ASKS={}", asks(sizes, perturbed)),
        ];
        let options = [&rows.options()[..], &options[..]].concat();
        let kernel = device.function(source("bc.cu"), &options, "bc_batch")?;
        let columns = &p.columns;
        let out = segments(&columns.out, sizes.active);
        let into = columns.into.as_ref().map(|rows| segments(rows, sizes.active));
        let most = into.as_ref().map_or(0, Vec::len).max(out.len()) / 2;
        let stamped = out.chunks(2).last().map_or(0, |last| last[0] as usize + 1);
        let batch = Batch { sizes, stamped, segments: most };
        let sources = device.alloc("sources", labels.len())?;
        sources.upload(labels)?;
        let targets = match &targets.words[..] {
            [] => None,
            words => {
                let targets = device.alloc("targets", words.len())?;
                targets.upload(words)?;
                Some(targets)
            }
        };
        let blocks = device.resident_blocks(kernel, THREADS, 0)?;
        let arrays = Arrays::allocate(device, batch)?;
        let listed = |segments: &[u32]| -> Result<LongRows> {
            let long = LongRows::allocate(device, segments.len() / 2)?;
            long.list.upload(segments)?;
            Ok(long)
        };
        let (out_long, in_long) = (listed(&out)?, into.as_deref().map(listed).transpose()?);
        let status = Pinned::new(&device.context, 1)?;
        let state = BatchState::new(&batch);
        let mut workspace = ByLevels {
            kernel,
            blocks,
            sources,
            targets,
            arrays,
            meeting: state.meeting as usize / 8,
            out_long,
            in_long,
            status,
            fixed: BcArgs::zeroed(),
            looked: 0,
        };
        let lengths = BcArgs {
            deadline_ns: device.deadline_ns(),
            abort: device.abort.pointer(),
            in_arcs: columns.in_rows().arcs(),
            active: sizes.active as u32,
            lo: own.start as u32,
            hi: own.end as u32,
            stamped: stamped as u32,
            ..BcArgs::zeroed()
        };
        workspace.fixed = workspace.arguments(rows, &state, lengths);
        Ok(workspace)
    }

    /// `lengths` with the addresses of all arrays.
    fn arguments(&self, rows: &DeviceGraph, state: &BatchState, lengths: BcArgs) -> BcArgs {
        let at = |offset: u64| self.arrays.state.pointer() + offset;
        let (out_long, into) = (&self.out_long.list, rows.in_rows());
        let in_long = self.in_long.as_ref().map_or(out_long, |long| &long.list);
        BcArgs {
            out_offsets: rows.out.offsets.pointer(),
            out_columns: rows.out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            out_long: out_long.pointer(),
            in_long: in_long.pointer(),
            paths: at(state.paths),
            sums: at(state.sums),
            coef: at(state.coef),
            targets: self.targets.as_ref().map_or(0, DeviceBuffer::pointer),
            parts: self.arrays.parts.pointer(),
            seen: at(state.seen),
            mark: at(state.mark),
            candidate: self.arrays.candidate.pointer(),
            stamp: at(state.stamp),
            lists: self.arrays.lists.pointer(),
            first: self.arrays.first.pointer(),
            upto: self.arrays.first.pointer() + 8 * (u64::from(lengths.active) + 2),
            control: at(state.control),
            meeting: at(state.meeting),
            status: self.status.pointer(),
            out_segments: out_long.len() as u32 / 2,
            in_segments: in_long.len() as u32 / 2,
            ..lengths
        }
    }

    /// Queues a task.
    fn launch(&mut self, device: &CudaDevice, s: &State, told: &StepTask<'_>) -> Result<()> {
        if matches!(told.task, Task::Whole | Task::Seed) {
            self.arrays.state.clear()?;
            self.looked = 0;
        } else {
            self.arrays.state.clear_from(self.meeting)?;
        }
        let [entries, values] = s.exchange.addresses();
        let args = BcArgs {
            sources: self.sources.pointer() + 4 * told.batch.start as u64,
            scores: s.sums.scores.on_device()?,
            entries,
            values,
            begin: told.list.start,
            end: told.list.end,
            place: told.place.start,
            nodes: told.list.end - told.list.start,
            announced: told.above.start,
            announced_end: told.above.end,
            count: told.batch.len() as u32,
            task: told.task as u32,
            level: told.level as u32,
            deepest: told.deepest as u32,
            endpoints: u32::from(told.endpoints),
            coarse: told.grids.coarse,
            fine: told.grids.fine,
            ..self.fixed
        };
        device.launch(self.kernel, device.together(self.blocks, THREADS), &args)
    }

    /// What the last launch, which has ended, found.
    fn found(&mut self, device: &CudaDevice, task: Task) -> Result<StepResult> {
        let status = self.status.get(0);
        device.met(status.stopped, "bc_batch")?;
        let before = std::mem::replace(&mut self.looked, status.looked);
        Ok(StepResult {
            levels: status.levels,
            reached: if task == Task::Find { status.found } else { status.reached },
            reached_arcs: status.reached_arcs,
            looked: status.looked - before,
            overflow: status.overflow.checked_sub(1),
        })
    }
}
