//! The steps of core numbers on a GPU: the arguments of `kernels/kcore.cu`.

use super::{State, StepResult, Task};
use crate::algorithm::arrays::device_arrays;
use crate::algorithm::lists::Lists;
use crate::device::kernels::kcore::{KcoreArgs, KcoreControl, KcoreStatus, THREADS};
use crate::device::{CudaDevice, Function, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, tiles, topology};
use crate::layout::{DeviceGraph, TopologyRows};
use std::mem::offset_of;
use std::ops::Range;

const _: () = Lists::check::<KcoreControl>(offset_of!(KcoreControl, counts));

/// What a replica's steps on a GPU need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<KcoreStatus>,
    active: u32,
}

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub active: usize,
    pub arcs: u64,
}

device_arrays! {
    /// What a replica's steps need beside rows and core numbers.
    struct Arrays of Sizes {
        rest: u32 = "rest", |s| 2 * s.active;
        queue: u32 = "queue", |s| s.active;
        tiles: u64 = "tiles", |s| 2 * tiles(s.arcs);
        control: u64 = "control", |_| CONTROL;
    }
}

/// All arrays on the GPU of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let sizes = Sizes { active: shape.active as usize, arcs: shape.all_arcs() };
    [topology(shape), State::list(sizes, world), Arrays::list(sizes)].concat()
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let run = device.function(source("kcore.cu"), &graph.options(), "kcore_run")?;
        let active = rows.columns.active;
        Ok(Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            arrays: Arrays::allocate(device, Sizes { active, arcs: rows.columns.out.arcs() })?,
            status: Pinned::new(&device.context, 1)?,
            active: active as u32,
        })
    }

    /// Before a run. All else is made from nothing by its first task.
    pub fn reset(&self) -> Result<()> {
        self.arrays.control.zero_ahead()
    }

    /// Queues one task of `kernels/kcore.cu`.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceGraph,
        state: &State,
        task: Task,
        chunk: Range<u64>,
    ) -> Result<()> {
        let args = KcoreArgs {
            lists: Lists::new(graph, &self.arrays.tiles, &self.arrays.control),
            core: state.core.on_device()?,
            rest: self.arrays.rest.pointer(),
            queue: self.arrays.queue.pointer(),
            control: self.arrays.control.zeroed()?,
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            active: self.active,
            lo: chunk.start as u32,
            hi: chunk.end as u32,
            task: task as u32,
        };
        device.launch(self.run, device.together(self.blocks, THREADS), &args)
    }

    /// What the last launch, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<StepResult> {
        let KcoreStatus { arcs, changed, rounds, stopped } = self.status.get(0);
        device.met(stopped, "kcore_run")?;
        Ok(StepResult { arcs, changed, rounds: rounds.into() })
    }
}
