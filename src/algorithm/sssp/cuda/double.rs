//! The search in f64 on a GPU: fills in the arguments of `kernels/sssp_double.cu`.

use super::LOG_ENTRIES;
use super::args::{DoubleArgs, DoubleStatus};
use crate::collective::Replicated;
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DoubleLengths, GIANT_ROW, LONG_ROW};
use crate::layout::{DeviceWeighted, WeightedLayout};

const THREADS: u32 = 256;

/// What a replica needs beside the distances.
pub(crate) struct Double {
    seeds: DeviceBuffer<u32>,
    pending: DeviceBuffer<u32>,
    stamp: DeviceBuffer<u32>,
    queue: DeviceBuffer<u32>,
    giants: DeviceBuffer<u32>,
    control: DeviceBuffer<u64>,
    status: Pinned<DoubleStatus>,
    log: Option<Pinned<[u64; 4]>>,
    reset: Function,
    scatter: Function,
    search: Function,
    blocks: u32,
    capacity: usize,
}

impl Double {
    /// Compiles the kernels for the form of `layout` and allocates.
    pub fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        layout: &WeightedLayout,
        seeds: &[u32],
        trace: bool,
    ) -> Result<Double> {
        let options = graph.options();
        let mut kernel = |name| device.function(source("sssp_double.cu"), &options, name);
        let (reset, scatter) = (kernel("sssp_double_reset")?, kernel("sssp_double_seeds")?);
        let search = kernel("sssp_double")?;
        let lengths = DoubleLengths::new(layout.active, layout.out.arc_count());
        let listed = device.alloc("seeds", seeds.len())?;
        listed.upload(seeds)?;
        Ok(Double {
            seeds: listed,
            pending: device.alloc("far pile", lengths.pending)?,
            stamp: device.alloc("rounds of nodes", lengths.stamp)?,
            queue: device.alloc("queues", lengths.queues)?,
            giants: device.alloc("giant rows", lengths.giants)?,
            control: device.alloc("control", CONTROL)?,
            status: Pinned::new(&device.context, 1)?,
            log: if trace { Some(Pinned::new(&device.context, LOG_ENTRIES)?) } else { None },
            reset,
            scatter,
            search,
            blocks: device.resident_blocks(search, THREADS, 0)?,
            capacity: lengths.giants / 2,
        })
    }

    /// All distances infinite, the seeds 0 and pending.
    pub fn reset(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<()> {
        let args = self.args(device, graph, dist, 0.0)?;
        let blocks = |items: u64| items.div_ceil(u64::from(THREADS)).clamp(1, 1 << 16) as u32;
        device.launch(self.reset, Launch::of(blocks(args.nodes), THREADS), &args)?;
        device.launch(self.scatter, Launch::of(blocks(u64::from(args.count)), THREADS), &args)
    }

    /// Queues a search to its end.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
        delta: f64,
    ) -> Result<()> {
        self.control.clear()?;
        let shape = device.together(self.blocks, THREADS);
        device.launch(self.search, shape, &self.args(device, graph, dist, delta)?)
    }

    /// What the last search, which has ended, found: arcs relaxed, and rounds.
    pub fn found(&self, device: &CudaDevice) -> Result<(u64, u64)> {
        let status = self.status.get(0);
        device.met(status.stopped, "sssp_double")?;
        Ok((status.relaxed, status.rounds))
    }

    fn args(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
        delta: f64,
    ) -> Result<DoubleArgs> {
        Ok(DoubleArgs {
            offsets: graph.out.offsets.pointer(),
            arcs: graph.out.arcs.pointer(),
            seeds: self.seeds.pointer(),
            dist: dist.on_device()?,
            pending: self.pending.pointer(),
            stamp: self.stamp.pointer(),
            queue: self.queue.pointer(),
            giants: self.giants.pointer(),
            control: self.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            log: self.log.as_ref().map_or(0, Pinned::pointer),
            deadline_ns: device.deadline_ns(),
            capacity: self.capacity as u64,
            nodes: dist.len() as u64,
            delta,
            active: graph.active,
            count: self.seeds.len() as u32,
            long_row: LONG_ROW as u32,
            giant_row: GIANT_ROW as u32,
            form: graph.form,
        })
    }
}
