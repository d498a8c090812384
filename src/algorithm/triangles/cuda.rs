//! Counting triangles on a GPU: the arguments of `kernels/triangles.cu`.

use crate::collective::Replicated;
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, source};
use crate::error::Result;
use crate::layout::memory::{DeviceArray, GraphShape, topology};
use crate::layout::{DeviceTopology, TopologyRows};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

const THREADS: u32 = 512; // as in kernels/triangles.cu

/// `kernels/triangles.cu`: TriangleArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Args {
    offsets: u64,
    columns: u64,
    below: u64,
    count: u64,
    next: u64,
    first: u64,
    last: u64,
    active: u32,
    unused: u32,
}

/// What a replica's steps on a GPU need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    below: DeviceBuffer<u32>,
    next: DeviceBuffer<u64>,
    active: u32,
}

/// The arrays on one GPU.
pub(super) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let mut arrays = topology(shape);
    arrays.extend([
        DeviceArray::new::<u64>("triangles", active),
        DeviceArray::new::<u32>("arcs to smaller labels", active),
        DeviceArray::new::<u64>("next arcs", 1),
    ]);
    arrays
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
            below: device.alloc("arcs to smaller labels", active)?,
            next: device.alloc("next arcs", 1)?,
            active: active as u32,
        };
        let blocks = active.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        device.launch(below, shape, &workspace.args(graph, 0, 0..0))?;
        device.wait()?;
        Ok(workspace)
    }

    fn args(&self, graph: &DeviceTopology, count: u64, arcs: Range<u64>) -> Args {
        Args {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            below: self.below.pointer(),
            count,
            next: self.next.pointer(),
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
        graph: &DeviceTopology,
        count: &Replicated<u64>,
        arcs: Range<u64>,
    ) -> Result<()> {
        let count = count.on_device()?;
        self.next.clear()?;
        let shape = Launch::of(device.blocks(self.blocks), THREADS);
        device.launch(self.run, shape, &self.args(graph, count, arcs))
    }
}
