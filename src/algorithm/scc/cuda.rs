//! The steps of strongly connected components on a GPU: the arguments of `kernels/scc.cu`.

use super::{State, StepResult, StepTask, Task};
use crate::algorithm::arrays::device_arrays;
use crate::algorithm::lists::Lists;
use crate::collective::Frontier;
use crate::device::kernels::scc::{LoopArgs, SccArgs, SccControl, SccStatus, THREADS};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, tiles, topology};
use crate::layout::{DeviceGraph, TopologyRows};
use std::mem::offset_of;

const _: () = Lists::check::<SccControl>(offset_of!(SccControl, counts));

/// What a replica's steps need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<SccStatus>,
    active: u32,
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let run = device.function(source("scc.cu"), &graph.options(), "scc_run")?;
        let loops_of = device.function(source("scc.cu"), &graph.options(), "scc_loops")?;
        let active = rows.columns.active;
        let sizes = Sizes { active, arcs: rows.columns.out.arcs() };
        let arrays = Arrays::allocate(device, sizes)?;
        let args = LoopArgs {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            loops: arrays.loops.pointer(),
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
            arrays,
            status: Pinned::new(&device.context, 1)?,
            active: active as u32,
        })
    }

    /// Before a run. All else is made from nothing by its first task.
    pub fn reset(&self) -> Result<()> {
        self.arrays.control.zero_ahead()
    }

    /// Queues one task of `kernels/scc.cu`.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceGraph,
        s: &State,
        told: &StepTask,
    ) -> Result<()> {
        let words = |bits: &Frontier| bits.words().on_device();
        // Alone, everything is the own chunk.
        let (lo, hi) = match told.task {
            Task::Whole => (0, self.active),
            _ => (told.chunk.start as u32, told.chunk.end as u32),
        };
        let args = SccArgs {
            lists: Lists::new(graph, &self.arrays.tiles, &self.arrays.control),
            loops: self.arrays.loops.pointer(),
            comp: s.comp.on_device()?,
            colour: s.colour.on_device()?,
            part: self.arrays.part.pointer(),
            degrees: self.arrays.degrees.pointer(),
            left: words(&s.left)?,
            fore: words(&s.fore)?,
            back: words(&s.back)?,
            done: self.arrays.done.pointer(),
            rest: self.arrays.rest.pointer(),
            queue: self.arrays.queue.pointer(),
            control: self.arrays.control.zeroed()?,
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

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub active: usize,
    pub arcs: u64,
}

device_arrays! {
    /// What a replica's steps need beside rows and state.
    struct Arrays of Sizes {
        loops: u32 = "self loops", |s| s.active;
        part: u32 = "parts", |s| s.active;
        degrees: u32 = "degrees left", |s| 2 * s.active;
        done: u32 = "followed", |s| 2 * s.active.div_ceil(32);
        rest: u32 = "rest", |s| s.active;
        queue: u32 = "queues", |s| 2 * s.active;
        tiles: u64 = "tiles", |s| 2 * tiles(s.arcs);
        control: u64 = "control", |_| CONTROL;
    }
}

/// All arrays on the GPU of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let sizes = Sizes { active: shape.active as usize, arcs: shape.all_arcs() };
    [topology(shape), State::list(sizes, world), Arrays::list(sizes)].concat()
}
