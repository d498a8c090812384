//! The steps of core numbers on a GPU: the arguments of `kernels/kcore.cu`.

use super::{StepResult, Task};
use crate::algorithm::lists::Lists;
use crate::collective::Replicated;
use crate::device::{CudaDevice, DeviceBuffer, Function, Pinned, source};
use crate::error::{Error, Result};
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, tiles, topology};
use crate::layout::{DeviceTopology, TopologyRows};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

const THREADS: u32 = 512; // as in kernels/kcore.cu

/// `kernels/kcore.cu`: KcoreArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Args {
    lists: Lists,
    core: u64,
    rest: u64,
    queue: u64,
    control: u64,
    status: u64,
    abort: u64,
    deadline_ns: u64,
    active: u32,
    lo: u32,
    hi: u32,
    task: u32,
}

/// `kernels/kcore.cu`: KcoreStatus.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Status {
    arcs: u64,
    changed: u64,
    rounds: u32,
    stopped: u32,
}

/// What a replica's steps on a GPU need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    rest: DeviceBuffer<u32>,
    queue: DeviceBuffer<u32>,
    tiles: DeviceBuffer<u64>,
    control: DeviceBuffer<u64>,
    status: Pinned<Status>,
    active: u32,
}

/// The arrays on one GPU.
pub(super) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let mut arrays = topology(shape);
    arrays.extend([
        DeviceArray::new::<u32>("core", active),
        DeviceArray::new::<u32>("rest", 2 * active),
        DeviceArray::new::<u32>("queue", active),
        DeviceArray::new::<u64>("tiles", 2 * tiles(shape.arcs)),
        DeviceArray::new::<u64>("control", CONTROL),
    ]);
    arrays
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let run = device.function(source("kcore.cu"), &graph.options(), "kcore_run")?;
        let active = rows.columns.active;
        Ok(Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            rest: device.alloc("rest", 2 * active)?,
            queue: device.alloc("queue", active)?,
            tiles: device.alloc("tiles", 2 * tiles(rows.columns.out.arcs()))?,
            control: device.alloc("control", CONTROL)?,
            status: Pinned::new(&device.context, 1)?,
            active: active as u32,
        })
    }

    /// Queues one task of `kernels/kcore.cu`.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceTopology,
        core: &Replicated<u32>,
        task: Task,
        chunk: Range<u64>,
    ) -> Result<()> {
        let missing = || Error::machine("host arrays in a device step; this is a bug");
        let args = Args {
            lists: Lists::new(graph, &self.tiles, &self.control),
            core: core.device().ok_or_else(missing)?.pointer(),
            rest: self.rest.pointer(),
            queue: self.queue.pointer(),
            control: self.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            active: self.active,
            lo: chunk.start as u32,
            hi: chunk.end as u32,
            task: task as u32,
        };
        self.control.clear()?;
        device.launch(self.run, device.together(self.blocks, THREADS), &args)
    }

    /// What the last launch, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<StepResult> {
        let Status { arcs, changed, rounds, stopped } = self.status.get(0);
        device.met(stopped, "kcore_run")?;
        Ok(StepResult { arcs, changed, rounds: rounds.into() })
    }
}
