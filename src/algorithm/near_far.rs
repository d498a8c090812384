//! Near-far on a GPU, for searches by summed weights and by levels: the arguments of `kernels/near_far.cu`.

use crate::device::kernels::hive::ArcForm;
use crate::device::kernels::near_far::{NearFarArgs, NearFarControl, NearFarStatus, THREADS};
use crate::device::{CudaDevice, DeviceBuffer, Function, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray};

const _: () = assert!(size_of::<NearFarControl>() <= CONTROL * size_of::<u64>());

/// What the search runs on, by device address.
pub(super) struct Searched {
    pub offsets: u64,
    pub arcs: u64,
    /// Four out-arcs a node.
    pub records: u64,
    pub form: ArcForm,
    pub active: u32,
    /// `[n]` f32 distances or u32 levels.
    pub dist: u64,
    /// `[active]` bits.
    pub pending: u64,
    /// [`CONTROL`] words, zeroed.
    pub control: u64,
    /// Entries of the trace, or 0.
    pub log: u64,
}

/// What a search found.
pub(super) struct NearFarFound {
    pub relaxed: u64,
    pub rounds: u64,
    pub windows: u64,
}

/// What the queues are called, and how long both are.
const QUEUES: &str = "near queues";

fn queue_length(active: usize) -> usize {
    2 * active.max(1024)
}

/// The kernel and its queues.
pub(super) struct NearFar {
    run: Function,
    blocks: u32,
    queue: DeviceBuffer<u64>,
    status: Pinned<NearFarStatus>,
}

impl NearFar {
    /// `options` are the kernel's: the form of rows, weights or levels.
    pub fn new(device: &mut CudaDevice, options: &[String], active: usize) -> Result<NearFar> {
        let run = device.function(source("near_far.cu"), options, "near_far")?;
        Ok(NearFar {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            queue: device.alloc(QUEUES, queue_length(active))?,
            status: Pinned::new(&device.context, 1)?,
        })
    }

    /// What it takes on a GPU.
    pub fn list(active: usize) -> Vec<DeviceArray> {
        vec![DeviceArray::new::<u64>(QUEUES, queue_length(active))]
    }

    /// Queues a search to its end with windows of width `delta`.
    pub fn launch(&self, device: &CudaDevice, on: Searched, delta: f32) -> Result<()> {
        let args = NearFarArgs {
            offsets: on.offsets,
            arcs: on.arcs,
            records: on.records,
            dist: on.dist,
            pending: on.pending,
            queue: self.queue.pointer(),
            control: on.control,
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            log: on.log,
            deadline_ns: device.deadline_ns(),
            capacity: self.queue.len() as u64 / 2,
            active: on.active,
            local_rounds: 64,
            delta,
            form: on.form,
            unused: 0,
        };
        device.launch(self.run, device.together(self.blocks, THREADS), &args)
    }

    /// What the last search, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<NearFarFound> {
        let NearFarStatus { relaxed, meetings, windows, stopped } = self.status.get(0);
        device.met(stopped, "near_far")?;
        Ok(NearFarFound { relaxed, rounds: meetings, windows: windows.into() })
    }
}
