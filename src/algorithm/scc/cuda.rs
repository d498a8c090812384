//! The steps of strongly connected components on a GPU: the arguments of `kernels/scc.cu`.

use super::{State, StepResult, StepTask, Task};
use crate::algorithm::lists::Lists;
use crate::collective::Frontier;
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, tiles, topology};
use crate::layout::{DeviceTopology, TopologyRows};
use bytemuck::{Pod, Zeroable};

const THREADS: u32 = 512; // as in kernels/scc.cu

/// `kernels/scc.cu`: SccArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Args {
    lists: Lists,
    loops: u64,
    comp: u64,
    colour: u64,
    part: u64,
    degrees: u64,
    left: u64,
    fore: u64,
    back: u64,
    done: u64,
    rest: u64,
    queue: u64,
    control: u64,
    status: u64,
    abort: u64,
    deadline_ns: u64,
    active: u32,
    lo: u32,
    hi: u32,
    pivot: u32,
    task: u32,
    unused: u32,
}

/// `kernels/scc.cu`: SccStatus.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Status {
    arcs: u64,
    changed: u64,
    left: u64,
    pivot: u64,
    rounds: u32,
    stopped: u32,
}

/// `kernels/scc.cu`: LoopArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LoopArgs {
    offsets: u64,
    columns: u64,
    loops: u64,
    active: u32,
    unused: u32,
}

/// What a replica's steps need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    loops: DeviceBuffer<u32>,
    part: DeviceBuffer<u32>,
    degrees: DeviceBuffer<u32>,
    done: DeviceBuffer<u32>,
    rest: DeviceBuffer<u32>,
    queue: DeviceBuffer<u32>,
    tiles: DeviceBuffer<u64>,
    control: DeviceBuffer<u64>,
    status: Pinned<Status>,
    active: u32,
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let run = device.function(source("scc.cu"), &graph.options(), "scc_run")?;
        let loops_of = device.function(source("scc.cu"), &graph.options(), "scc_loops")?;
        let active = rows.columns.active;
        let loops = device.alloc::<u32>("self loops", active)?;
        let args = LoopArgs {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            loops: loops.pointer(),
            active: active as u32,
            unused: 0,
        };
        let blocks = active.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        device.launch(loops_of, shape, &args)?;
        device.wait()?;
        Ok(Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            loops,
            part: device.alloc("parts", active)?,
            degrees: device.alloc("degrees left", 2 * active)?,
            done: device.alloc("followed", 2 * active.div_ceil(32))?,
            rest: device.alloc("rest", active)?,
            queue: device.alloc("queues", 2 * active)?,
            tiles: device.alloc("tiles", 2 * tiles(rows.columns.out.arcs()))?,
            control: device.alloc("control", CONTROL)?,
            status: Pinned::new(&device.context, 1)?,
            active: active as u32,
        })
    }

    /// Queues one task of `kernels/scc.cu`.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceTopology,
        s: &State,
        told: &StepTask,
    ) -> Result<()> {
        let words = |bits: &Frontier| bits.words().on_device();
        // Alone, everything is the own chunk.
        let (lo, hi) = match told.task {
            Task::Whole => (0, self.active),
            _ => (told.chunk.start as u32, told.chunk.end as u32),
        };
        let args = Args {
            lists: Lists::new(graph, &self.tiles, &self.control),
            loops: self.loops.pointer(),
            comp: s.comp.on_device()?,
            colour: s.colour.on_device()?,
            part: self.part.pointer(),
            degrees: self.degrees.pointer(),
            left: words(&s.left)?,
            fore: words(&s.fore)?,
            back: words(&s.back)?,
            done: self.done.pointer(),
            rest: self.rest.pointer(),
            queue: self.queue.pointer(),
            control: self.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            active: self.active,
            lo,
            hi,
            pivot: told.pivot,
            task: told.task as u32,
            unused: 0,
        };
        self.control.clear()?;
        let shape = device.together(self.blocks, THREADS);
        device.launch(self.run, shape, &args)
    }

    /// What the last launch, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<StepResult> {
        let status = self.status.get(0);
        device.met(status.stopped, "scc_run")?;
        Ok(StepResult {
            arcs: status.arcs,
            changed: status.changed,
            left: status.left,
            pivot: status.pivot,
            rounds: status.rounds.into(),
        })
    }
}

/// The arrays of strongly connected components on one GPU.
pub(super) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let words = active.div_ceil(64);
    let mut arrays = topology(shape);
    arrays.extend([
        DeviceArray::new::<u32>("comp", active),
        DeviceArray::new::<u32>("colour", active),
        DeviceArray::new::<u64>("left", words),
        DeviceArray::new::<u64>("reached", words),
        DeviceArray::new::<u64>("reaching", words),
        DeviceArray::new::<u32>("self loops", active),
        DeviceArray::new::<u32>("parts", active),
        DeviceArray::new::<u32>("degrees left", 2 * active),
        DeviceArray::new::<u32>("followed", 2 * active.div_ceil(32)),
        DeviceArray::new::<u32>("rest", active),
        DeviceArray::new::<u32>("queues", 2 * active),
        DeviceArray::new::<u64>("tiles", 2 * tiles(shape.all_arcs())),
        DeviceArray::new::<u64>("control", CONTROL),
    ]);
    arrays
}
