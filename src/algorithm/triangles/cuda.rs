//! Counting triangles on a GPU: the arguments of `kernels/triangles.cu`.

use super::State;
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::triangles::{THREADS, TriangleArgs};
use crate::device::{CudaDevice, Function, Launch, source};
use crate::error::Result;
use crate::layout::memory::{DeviceArray, GraphShape, topology};
use crate::layout::{DeviceGraph, TopologyRows};
use std::ops::Range;

/// What a replica's steps on a GPU need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    arrays: Arrays,
    active: u32,
}

device_arrays! {
    /// What counting needs beside rows and counts, for so many nodes.
    struct Arrays of usize {
        below: u32 = "arcs to smaller labels", |active| *active;
        next: u64 = "next arcs", |_| 1;
    }
}

/// All arrays on the GPU of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    [topology(shape), State::list(active, world), Arrays::list(active)].concat()
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let mut kernel = |name| device.function(source("triangles.cu"), &graph.options(), name);
        let (run, below) = (kernel("triangles_count")?, kernel("triangles_below")?);
        let active = rows.columns.active;
        let workspace = Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            arrays: Arrays::allocate(device, active)?,
            active: active as u32,
        };
        let blocks = active.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        device.launch(below, shape, &workspace.args(graph, 0, 0..0))?;
        device.wait()?;
        Ok(workspace)
    }

    fn args(&self, graph: &DeviceGraph, count: u64, arcs: Range<u64>) -> TriangleArgs {
        TriangleArgs {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            below: self.arrays.below.pointer(),
            count,
            next: self.arrays.next.pointer(),
            first: arcs.start,
            last: arcs.end,
            active: self.active,
            unused: 0,
        }
    }

    /// Queues counting over these arcs.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceGraph,
        state: &State,
        arcs: Range<u64>,
    ) -> Result<()> {
        let count = state.count.on_device()?;
        self.arrays.next.clear()?;
        let shape = Launch::of(device.blocks(self.blocks), THREADS);
        device.launch(self.run, shape, &self.args(graph, count, arcs))
    }
}
