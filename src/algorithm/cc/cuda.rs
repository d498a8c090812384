//! The steps of connected components on a GPU: the arguments of `kernels/cc/cc.cu` (`cc_forest.cuh`).

use super::{State, StepResult, Task};
use crate::algorithm::arrays::device_arrays;
use crate::collective::Together;
use crate::device::kernels::cc::FirstArgs;
use crate::device::kernels::cc_forest::{CcArgs, CcControl, CcStatus, THREADS, VOTERS};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, topology};
use crate::layout::{DeviceGraph, EVEN, TopologyRows};
use std::ops::Range;

const _: () = assert!(size_of::<CcControl>() <= CONTROL * size_of::<u64>());

/// Of the nodes that are asked, those whose chains have to end in one root for it to be the giant's.
const VOTES: u32 = VOTERS / 4 * 3;
/// Nodes with arcs from which many roots are joined first. That takes more meetings of the grid than a small graph is worth.
const SCATTERED: u32 = 1 << 17;
/// Steps of a chain that are followed at once; more where labels fall by degree and chains are short.
const HOPS: [u32; 2] = [32, 8];

/// What a replica's steps need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    /// Where GPUs launch together.
    joint: Option<Function>,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<CcStatus>,
    active: u32,
    hops: u32,
    sampled: bool,
    flat: bool,
    /// Whether many roots may be joined first. Where there are hubs, chains lead to these, and little is left besides.
    scattered: bool,
}

impl Workspace {
    pub fn new(
        device: &mut CudaDevice,
        rows: &TopologyRows,
        rank: usize,
        joins: bool,
    ) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let run = device.function(source("cc.cu"), &graph.options(), "cc_run")?;
        let options = graph.options();
        let joint = device.joint(joins, source("cc_joint.cu"), &options, "cc_joint")?;
        let first_of = device.function(source("cc.cu"), &graph.options(), "cc_first")?;
        let active = rows.columns.active;
        let by_degree = rows.columns.name() == "degree";
        let flat = !by_degree && rows.columns.flat;
        let arrays = Arrays::allocate(device, active)?;
        let (out, into) = (&graph.out, graph.in_rows());
        let args = FirstArgs {
            out_offsets: out.offsets.pointer(),
            out_columns: out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            first: arrays.first.pointer(),
            active: active as u32,
            nearest: u32::from(flat),
        };
        let blocks = active.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        device.launch(first_of, shape, &args)?;
        device.wait()?;
        Ok(Workspace {
            run,
            joint,
            blocks: device.resident_blocks_of([Some(run), joint], THREADS, 0)?,
            arrays,
            status: Pinned::new(&device.context, 1)?,
            active: active as u32,
            hops: HOPS[usize::from(!by_degree)],
            // Smallest neighbours of skewed rows in no order make a forest of long chains.
            sampled: !by_degree && !flat,
            flat,
            scattered: active >= SCATTERED as usize && rows.columns.evenness() >= EVEN,
        })
    }

    /// Before a run. All else is made from nothing by its first task.
    pub fn reset(&self) -> Result<()> {
        self.arrays.control.zero_ahead()
    }

    /// Queues one task of `kernels/cc/cc.cu`.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceGraph,
        (s, together): (&State, Together<1>),
        task: Task,
        chunk: Range<u64>,
    ) -> Result<()> {
        let (out, into) = (&graph.out, graph.in_rows());
        let args = CcArgs {
            out_offsets: out.offsets.pointer(),
            out_columns: out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            first: self.arrays.first.pointer(),
            comp: s.comp.on_device()?,
            old: self.arrays.old.pointer(),
            settled: s.settled.words().on_device()?,
            longs: self.arrays.longs.pointer(),
            control: self.arrays.control.zeroed()?,
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_of(task == Task::Joint),
            active: self.active,
            lo: chunk.start as u32,
            hi: chunk.end as u32,
            hops: self.hops,
            sampled: u32::from(self.sampled),
            flat: u32::from(self.flat),
            task: task as u32,
            votes: if self.scattered { VOTES } else { 0 },
            joint: together.joint,
            bitmaps: together.arrays[0],
        };
        let shape = device.together(self.blocks, THREADS);
        let joint = self.joint.filter(|_| task == Task::Joint);
        device.launch(joint.unwrap_or(self.run), shape, &args)
    }

    /// What the last launch, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<StepResult> {
        let status = self.status.get(0);
        device.met(status.stopped, "cc_run")?;
        Ok(StepResult {
            arcs: status.arcs,
            changed: status.changed,
            deep: status.deep != 0,
            rounds: status.rounds.into(),
        })
    }
}

device_arrays! {
    /// What a replica's steps need beside rows and state, for so many nodes.
    struct Arrays of usize {
        first: u32 = "smallest neighbours", |active| *active;
        old: u32 = "old parents", |active| *active;
        longs: u32 = "long rows", |active| *active;
        control: u64 = "control", |_| CONTROL;
    }
}

/// All arrays on the GPU of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    [topology(shape), State::list(active, world), Arrays::list(active)].concat()
}
