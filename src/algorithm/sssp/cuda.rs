//! The steps of shortest paths on a GPU: a thin hand that fills in the kernels' arguments.

mod args;
mod double;

pub(crate) use double::Double;

use super::{Counts, Limits, State, Task};
use crate::algorithm::near_far::{NearFar, NearFarFound, Searched};
use crate::collective::Replicated;
use crate::collective::{Split, Together};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, fewer, source};
use crate::error::{Error, Result};
use crate::layout::DeviceWeighted;
use crate::layout::memory::{CONTROL, QUEUE, WorkspaceLengths};
use args::{ExchangeArgs, SeedArgs, Status, StepArgs};
use std::ops::Range;

/// As in kernels/hive.cuh.
const LOG_ENTRIES: usize = 4096;
const STEP_THREADS: u32 = 512;
const STEP_SHARED: u32 = 41_472; // as checked in kernels/sssp.cu
/// "Sweep the bitmap": no queue is ready.
const UNQUEUED: u32 = u32::MAX;

/// The kernels for a layout's form.
struct Kernels {
    step: Function,
    joint: Function,
    scatter: Function,
    pack: Function,
    apply: Function,
}

impl Kernels {
    fn load(device: &mut CudaDevice, graph: &DeviceWeighted) -> Result<Kernels> {
        let options = graph.options();
        let mut kernel = |name| device.function(source("sssp.cu"), &options, name);
        Ok(Kernels {
            step: kernel("sssp_step")?,
            joint: kernel("sssp_joint")?,
            scatter: kernel("sssp_scatter")?,
            pack: kernel("sssp_pack")?,
            apply: kernel("sssp_apply")?,
        })
    }
}

/// What a replica's steps need beside the replicated state.
pub(crate) struct Workspace {
    kernels: Kernels,
    step_blocks: u32,
    seeds: DeviceBuffer<u32>,
    queue: DeviceBuffer<u32>,
    parts: DeviceBuffer<u64>,
    slice_first: DeviceBuffer<u32>,
    control: DeviceBuffer<u64>,
    scan_node: DeviceBuffer<u32>,
    scan_dist: DeviceBuffer<u32>,
    scan_prefix: DeviceBuffer<u64>,
    near_far: Option<NearFar>,
    status: Pinned<Status>,
    /// `kernels/hive.cuh`: RoundLog, one entry a round.
    log: Option<Pinned<[u64; 4]>>,
    /// Entries of the seeds' queue, or [`UNQUEUED`] once the frontier lives in the bitmap.
    queued: u32,
    /// Every seed has arcs: the queue that the seeds make has no hole.
    all_active: bool,
}

impl Workspace {
    pub fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        seeds: &[u32],
        near_far: bool,
        trace: bool,
    ) -> Result<Workspace> {
        let kernels = Kernels::load(device, graph)?;
        let steps = [kernels.step, kernels.joint];
        let step_blocks = device.resident_blocks_of(&steps, STEP_THREADS, STEP_SHARED)?;
        let (active, blocks) = (graph.active as usize, step_blocks as usize);
        let lengths = WorkspaceLengths::new(active, blocks, near_far);
        let listed = device.alloc("seeds", seeds.len())?;
        listed.upload(seeds)?;
        let near_far = match near_far {
            true => Some(NearFar::new(device, &graph.options(), active)?),
            false => None,
        };
        Ok(Workspace {
            kernels,
            step_blocks,
            seeds: listed,
            queue: device.alloc("queue", 4 * QUEUE)?,
            parts: device.alloc("parts", lengths.parts)?,
            slice_first: device.alloc("slices", lengths.slices)?,
            control: device.alloc("control", CONTROL)?,
            scan_node: device.alloc("frontier list", lengths.frontier)?,
            scan_dist: device.alloc("frontier distances", lengths.frontier)?,
            scan_prefix: device.alloc("frontier degrees", lengths.degrees)?,
            near_far,
            status: Pinned::new(&device.context, 1)?,
            log: if trace { Some(Pinned::new(&device.context, LOG_ENTRIES)?) } else { None },
            queued: UNQUEUED,
            all_active: seeds.iter().all(|s| *s < graph.active),
        })
    }

    /// The rounds of the last launch, where the workspace traces: what, frontier nodes and arcs, ms.
    pub fn rounds(&self, count: u64) -> Vec<(&'static str, u64, [u64; 2], f64)> {
        let Some(log) = &self.log else { return Vec::new() };
        let last = (count as usize).min(LOG_ENTRIES - 1);
        let round = |i: usize| {
            let ([before, ..], [now, kind, nodes, arcs]) = (log.get(i - 1), log.get(i));
            let names = ["", "push queue", "push scan", "pull", "push solo", "near-far"];
            let (name, rounds) = (names[(kind & 255) as usize % 6], (kind >> 8).max(1));
            let arcs = if arcs == u64::MAX { 0 } else { arcs };
            (name, rounds, [nodes, arcs], now.saturating_sub(before) as f64 / 1e6)
        };
        (1..=last).map(round).collect()
    }

    /// All distances infinite, the seeds 0 and in the frontier.
    pub fn reset(&mut self, device: &CudaDevice, graph: &DeviceWeighted, s: &State) -> Result<()> {
        let [dist, front, _] = pointers(s)?;
        if let Some(buffer) = s.dist.device() {
            buffer.fill_words(f32::INFINITY.to_bits())?;
        }
        for words in [s.front.words().device(), s.next.words().device()].into_iter().flatten() {
            words.clear()?;
        }
        let count = self.seeds.len() as u32;
        let args = SeedArgs {
            seeds: self.seeds.pointer(),
            dist,
            front,
            out_offsets: graph.out.offsets.pointer(),
            queue: self.queue.pointer(),
            count,
            active: graph.active,
        };
        let shape = Launch {
            blocks: count.div_ceil(256).max(1),
            threads: 256,
            shared_bytes: 0,
            cooperative: false,
        };
        device.launch(self.kernels.scatter, shape, &args)?;
        self.queued = if self.all_active && self.seeds.len() <= QUEUE { count } else { UNQUEUED };
        Ok(())
    }

    /// Runs one task of `kernels/sssp.cu` and waits for it.
    pub fn step(
        &mut self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        s: &mut State,
        (task, chunk): (Task, Range<u64>),
        limits: Limits,
        blocks: Option<u64>,
    ) -> Result<Counts> {
        let [dist, front, next] = pointers(s)?;
        let into = graph.into.as_ref().unwrap_or(&graph.out);
        let together = s.together.unwrap_or_else(Together::alone);
        let args = StepArgs {
            out_offsets: graph.out.offsets.pointer(),
            out_arcs: graph.out.arcs.pointer(),
            in_offsets: into.offsets.pointer(),
            in_arcs: into.arcs.pointer(),
            in_records: into.records.pointer(),
            dist,
            front,
            next,
            queue: self.queue.pointer(),
            parts: self.parts.pointer(),
            scan_node: self.scan_node.pointer(),
            scan_dist: self.scan_dist.pointer(),
            scan_prefix: self.scan_prefix.pointer(),
            slice_first: self.slice_first.pointer(),
            control: self.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            log: self.log.as_ref().map_or(0, Pinned::pointer),
            deadline_ns: device.deadline_of(task == Task::Joint),
            pull_above: limits.pull_above,
            push_below: limits.push_below,
            active: graph.active,
            giants: graph.giants,
            hubs: graph.hubs,
            lo: (chunk.start as u32).min(graph.active),
            hi: (chunk.end as u32).min(graph.active),
            lowest: limits.lowest.to_bits(),
            task: task as u32,
            queued: std::mem::replace(&mut self.queued, UNQUEUED),
            lightest: graph.lightest,
            form: graph.form,
            unused: 0,
            joint: together.joint,
            dists: together.arrays[0],
            bitmaps: [together.arrays[1], together.arrays[2]],
        };
        self.control.clear()?;
        let shape = Launch {
            blocks: fewer(self.step_blocks, blocks),
            threads: STEP_THREADS,
            shared_bytes: STEP_SHARED,
            cooperative: true,
        };
        let kernel = if task == Task::Joint { self.kernels.joint } else { self.kernels.step };
        device.launch(kernel, shape, &args)?;
        device.mark(0, true)?;
        device.wait()?;
        let status = self.status.get(0);
        device.met(status.stopped, "sssp_step")?;
        if status.parity == 1 {
            s.swap();
        }
        Ok(Counts {
            nodes: status.nodes,
            arcs: if status.arcs == u64::MAX { 0 } else { status.arcs },
            relaxed: status.relaxed,
            rounds: u64::from(status.rounds),
            logged: u64::from(status.meetings),
            lowest: f32::from_bits(status.lowest),
        })
    }

    /// Queues listing the chunk's improved nodes in `pairs` (`pack`), or taking over the others' lists.
    pub fn exchange(
        &self,
        device: &CudaDevice,
        s: &State,
        lists: &Split,
        chunk: Range<u64>,
        (rank, pack): (usize, bool),
    ) -> Result<()> {
        let [dist, front, _] = pointers(s)?;
        let pairs = s.changed.as_ref().and_then(Replicated::device);
        let pairs = pairs.ok_or_else(|| Error::machine("no room for lists; this is a bug"))?;
        let (own, total) = (lists.range(rank), lists.bounds().last().copied().unwrap_or(0));
        let args = ExchangeArgs {
            dist,
            front,
            pairs: pairs.pointer(),
            counter: self.control.pointer(),
            first: own.start,
            last: own.end,
            total,
            lo: (chunk.start / 32) as u32,
            hi: chunk.end.div_ceil(32) as u32,
        };
        let items = if pack { u64::from(args.hi - args.lo) } else { total };
        let blocks = items.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        if pack {
            self.control.clear()?;
        }
        device.launch(if pack { self.kernels.pack } else { self.kernels.apply }, shape, &args)
    }

    /// Runs `kernels/near_far.cu` to the end and waits for it.
    pub fn near_far(
        &mut self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        s: &mut State,
        delta: f32,
        blocks: Option<u64>,
    ) -> Result<Counts> {
        let [dist, pending, _] = pointers(s)?;
        let missing = || Error::machine("near-far without its queues; this is a bug");
        let near_far = self.near_far.as_ref().ok_or_else(missing)?;
        self.control.clear()?;
        let on = Searched {
            offsets: graph.out.offsets.pointer(),
            arcs: graph.out.arcs.pointer(),
            records: graph.out.records.pointer(),
            form: graph.form,
            active: graph.active,
            dist,
            pending,
            control: self.control.pointer(),
            log: self.log.as_ref().map_or(0, Pinned::pointer),
        };
        device.perturb(blocks);
        near_far.launch(device, on, delta)?;
        device.mark(0, true)?;
        device.wait()?;
        let NearFarFound { relaxed, rounds, windows } = near_far.found(device)?;
        Ok(Counts { relaxed, rounds, logged: windows, lowest: f32::INFINITY, ..Counts::default() })
    }
}

/// Device addresses of distances, frontier and next frontier.
fn pointers(s: &State) -> Result<[u64; 3]> {
    match (s.dist.device(), s.front.words().device(), s.next.words().device()) {
        (Some(d), Some(f), Some(n)) => Ok([d.pointer(), f.pointer(), n.pointer()]),
        _ => Err(Error::machine("host arrays in a device step; this is a bug")),
    }
}
