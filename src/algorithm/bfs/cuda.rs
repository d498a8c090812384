//! The steps of breadth-first search on a GPU: the arguments of `kernels/bfs/bfs.cu` (`bfs_round.cuh`).

use super::plan::{State, StepResult, StepTask, Task};
use super::{SearchDirection, UNREACHED};
use crate::algorithm::arrays::device_arrays;
use crate::algorithm::long_paths::{LongPaths, Rows, Search, Searched, Seeds, Widths};
use crate::algorithm::rounds::Rounds;
use crate::device::kernels::bfs::{BfsCountArgs, BfsRecordArgs, BfsStartArgs};
use crate::device::kernels::bfs_round::{
    AUTO, BfsArgs, BfsControl, BfsStatus, ONLY_PULL, ONLY_PUSH, THREADS,
};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, QUEUE, topology};
use crate::layout::{DeviceGraph, EVEN, TopologyRows, is_small};

const _: () = assert!(size_of::<BfsControl>() <= CONTROL * size_of::<u64>());
/// "Not in a queue".
const UNQUEUED: u32 = u32::MAX;
/// Arcs of a graph without hubs from which it is worth while to compile the search that may push blindly.
const BLIND_ARCS: u64 = 1 << 26;
/// Levels of a window.
const WIDTHS: Widths = Widths { near_far: 32.0, tiles: 256.0 };

/// What a replica's steps need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    /// Where GPUs launch together.
    joint: Option<Function>,
    start: Function,
    count: Function,
    blocks: u32,
    arrays: Arrays,
    pub long_paths: Option<LongPaths>,
    status: Pinned<BfsStatus>,
    pub rounds: Rounds,
    active: u32,
    queued: u32,
    /// `next` is not all zero.
    dirty: bool,
}

impl Workspace {
    pub fn new(
        device: &mut CudaDevice,
        rows: &TopologyRows,
        graph: &DeviceGraph,
        long_paths: bool,
        [joins, trace]: [bool; 2],
    ) -> Result<Workspace> {
        let (arcs, evenness) = (rows.columns.out.arcs(), rows.columns.evenness());
        let blind = arcs >= BLIND_ARCS && evenness >= EVEN;
        let blind = blind.then(|| "-DHIVE_BLIND=1".to_string());
        let options: Vec<String> = graph.options().into_iter().chain(blind).collect();
        let joint = device.joint(joins, source("bfs_joint.cu"), &options, "bfs_joint")?;
        let mut kernel = |name| device.function(source("bfs.cu"), &options, name);
        let run = kernel("bfs_run")?;
        let (start, count) = (kernel("bfs_start")?, kernel("bfs_count")?);
        let (pairs, fours) = (kernel("bfs_pairs")?, kernel("bfs_fours")?);
        let active = rows.columns.active;
        let long_paths = match long_paths {
            true => Some(LongPaths::new(device, &Rows::levels(rows, graph, 0))?),
            false => None,
        };
        let (record, width, from) = match &long_paths {
            None => (pairs, 2, graph.in_rows()),
            Some(LongPaths::NearFar(_)) => (fours, 4, &graph.out),
            Some(LongPaths::Tiled(_)) => (fours, 0, &graph.out),
        };
        let sizes = Sizes { nodes: rows.columns.nodes, active, record: width };
        let arrays = Arrays::allocate(device, sizes)?;
        let most = device.resident_blocks_of([Some(run), joint], THREADS, 0)?;
        let args = BfsRecordArgs {
            offsets: from.offsets.pointer(),
            columns: from.columns.pointer(),
            records: arrays.records.pointer(),
            active: if width > 0 { active as u32 } else { 0 },
            unused: 0,
        };
        device.launch(record, plain(active), &args)?;
        device.wait()?;
        Ok(Workspace {
            run,
            joint,
            start,
            count,
            blocks: device.searching(most, is_small(arcs, evenness)),
            arrays,
            long_paths,
            status: Pinned::new(&device.context, 1)?,
            rounds: Rounds::new(device, trace)?,
            active: active as u32,
            queued: UNQUEUED,
            dirty: false,
        })
    }

    /// The source at level 0 and in the frontier, all others not reached.
    pub fn reset(
        &mut self,
        device: &CudaDevice,
        graph: &DeviceGraph,
        s: &State,
        source: u32,
    ) -> Result<()> {
        let [level, front, _] = pointers(s)?;
        if let Some(buffer) = s.level.device() {
            buffer.fill_words(UNREACHED)?;
        }
        for words in [s.front.words().device(), s.next.words().device()].into_iter().flatten() {
            words.clear()?;
        }
        self.arrays.visited.clear()?;
        self.arrays.control.zero_ahead()?;
        let args = BfsStartArgs {
            level,
            front,
            visited: self.arrays.visited.pointer(),
            queue: self.arrays.queue.pointer(),
            out_offsets: graph.out.offsets.pointer(),
            source,
            active: self.active,
        };
        let shape = Launch::of(1, 1);
        device.launch(self.start, shape, &args)?;
        self.queued = if source < self.active { 1 } else { UNQUEUED };
        self.dirty = false;
        match &self.long_paths {
            Some(search) => search.reset(device, Seeds::One(source), search.width(WIDTHS)),
            None => Ok(()),
        }
    }

    /// Queues a task.
    pub fn launch(
        &mut self,
        device: &CudaDevice,
        rows: &TopologyRows,
        graph: &DeviceGraph,
        s: &State,
        told: &StepTask<'_>,
    ) -> Result<()> {
        let control = self.arrays.control.zeroed()?;
        let [level, front, next] = pointers(s)?;
        let log = self.rounds.pointer();
        if let Some(long_paths) = &self.long_paths {
            let search = Search {
                dist: level,
                pending: front,
                control,
                unreached: UNREACHED,
                log,
                width: long_paths.width(WIDTHS),
            };
            let rows = Rows::levels(rows, graph, self.arrays.records.pointer());
            return long_paths.launch(device, &rows, &search);
        }
        let (out, into) = (&graph.out, graph.in_rows());
        let args = BfsArgs {
            out_offsets: out.offsets.pointer(),
            out_columns: out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            pairs: self.arrays.records.pointer(),
            level,
            front,
            next,
            visited: self.arrays.visited.pointer(),
            queue: self.arrays.queue.pointer(),
            huge: self.arrays.huge.pointer(),
            control,
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            log,
            deadline_ns: device.deadline_of(told.task == Task::Joint),
            arcs: rows.columns.out.arcs(),
            nodes_in: told.known.nodes,
            arcs_in: told.known.arcs.unwrap_or(u64::MAX),
            reached: told.known.reached,
            reachable: told.reachable,
            do_a: told.config.do_a as f32,
            do_b: told.config.do_b as f32,
            active: self.active,
            lo: told.chunk.start as u32,
            hi: told.chunk.end as u32,
            depth: told.known.depth,
            task: told.task as u32,
            way: match told.config.direction {
                SearchDirection::Auto => AUTO,
                SearchDirection::Push => ONLY_PUSH,
                SearchDirection::Pull => ONLY_PULL,
            },
            queued: std::mem::replace(&mut self.queued, UNQUEUED),
            absorb: u32::from(told.known.depth > 0),
            dirty: u32::from(self.dirty),
            pulled: u32::from(told.known.pulled),
            joint: told.together.joint,
            bitmaps: told.together.arrays,
        };
        let shape = device.together(self.blocks, THREADS);
        let joint = self.joint.filter(|_| told.task == Task::Joint);
        device.launch(joint.unwrap_or(self.run), shape, &args)
    }

    /// What the last launch, which has ended, found; and whether `front` and `next` have changed places.
    pub fn found(&mut self, device: &CudaDevice, task: Task) -> Result<(StepResult, bool)> {
        if let Some(long_paths) = &self.long_paths {
            let Searched { relaxed: looked, rounds, windows: logged } = long_paths.found(device)?;
            return Ok((StepResult { looked, rounds, logged, ..StepResult::default() }, false));
        }
        let status = self.status.get(0);
        device.met(status.stopped, "bfs_run")?;
        // A pull wrote all of its words, or those of the own chunk; what it read is left as it was.
        self.dirty = task == Task::Pull || (self.dirty && status.rounds == 0);
        let found = StepResult {
            nodes: status.nodes,
            arcs: (status.arcs != u64::MAX).then_some(status.arcs),
            looked: status.looked,
            reached: status.found,
            rounds: status.rounds.into(),
            want_pull: status.want_pull != 0,
            logged: status.meetings.into(),
        };
        Ok((found, status.parity == 1))
    }

    /// Nodes reached, arcs out of them, the largest level. Waits.
    pub fn count(&self, device: &CudaDevice, graph: &DeviceGraph, s: &State) -> Result<[u64; 3]> {
        let [level, ..] = pointers(s)?;
        self.arrays.totals.clear()?;
        let args = BfsCountArgs {
            level,
            offsets: graph.out.offsets.pointer(),
            totals: self.arrays.totals.pointer(),
            active: self.active,
            unused: 0,
        };
        device.launch(self.count, plain(self.active as usize / 4), &args)?;
        let totals = self.arrays.totals.to_vec()?;
        Ok([totals[0], totals[1], totals[2]])
    }
}

/// A launch of a thread an item.
fn plain(items: usize) -> Launch {
    let blocks = items.div_ceil(256).clamp(1, 1 << 14) as u32;
    Launch::of(blocks, 256)
}

/// Device addresses of levels, frontier and next frontier.
fn pointers(s: &State) -> Result<[u64; 3]> {
    let words = [&s.front, &s.next].map(|set| set.words().on_device());
    let [front, next] = words;
    Ok([s.level.on_device()?, front?, next?])
}

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub nodes: usize,
    pub active: usize,
    /// Neighbours in a record.
    pub record: usize,
}

device_arrays! {
    /// What a replica's steps need beside rows and state.
    struct Arrays of Sizes {
        visited: u32 = "visited", |s| 2 * s.active.div_ceil(64);
        queue: u32 = "queue", |_| 4 * QUEUE;
        huge: u32 = "huge rows", |s| s.active;
        control: u64 = "control", |_| CONTROL;
        totals: u64 = "totals", |_| 3;
        /// Two in-neighbours a node, four out-neighbours for near-far, or none for tiles.
        records: u32 = "first neighbours", |s| s.active * s.record;
    }
}

/// All arrays on the GPU of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let (nodes, active) = (shape.nodes as usize, shape.active as usize);
    let of = |record, more| {
        let sizes = Sizes { nodes, active, record };
        [topology(shape), State::list(sizes, world), Arrays::list(sizes), more].concat()
    };
    if shape.flat { of(4, LongPaths::least(active)) } else { of(2, Vec::new()) }
}
