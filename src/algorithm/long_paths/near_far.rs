//! Near-far on a GPU, for searches by summed weights and by levels: the arguments of `kernels/near_far.cu`.

use super::{Rows, Search, Searched};
use crate::device::kernels::near_far::{NearFarArgs, NearFarControl, NearFarStatus, THREADS};
use crate::device::{CudaDevice, DeviceBuffer, Function, Pinned, source};
use crate::error::Result;
use crate::layout::memory::{CONTROL, DeviceArray};

const _: () = assert!(size_of::<NearFarControl>() <= CONTROL * size_of::<u64>());

/// What the queues are called, and how long both are.
const QUEUES: &str = "near queues";

fn queue_length(most: usize) -> usize {
    2 * most.max(1024)
}

/// What is searched: nodes, of one graph or of copies.
#[derive(Clone, Copy)]
pub(in crate::algorithm) struct Places {
    pub count: u32,
    /// The part of a place that is the node.
    pub mask: u32,
    /// Most that are near at once; others wait.
    pub near: usize,
    /// Rounds of a block by itself before all meet.
    pub local_rounds: u32,
}

/// The kernel and its queues.
pub(in crate::algorithm) struct NearFar {
    run: Function,
    blocks: u32,
    places: Places,
    queue: DeviceBuffer<u64>,
    status: Pinned<NearFarStatus>,
}

impl NearFar {
    pub fn new(device: &mut CudaDevice, rows: &Rows) -> Result<NearFar> {
        let count = rows.of.nodes;
        let places = Places { count, mask: u32::MAX, near: count as usize, local_rounds: 64 };
        NearFar::over(device, rows, places)
    }

    /// Over copies.
    pub fn over(device: &mut CudaDevice, rows: &Rows, places: Places) -> Result<NearFar> {
        let option = |name, on: bool| format!("-DHIVE_{name}={}", u32::from(on));
        let form = [option("PACKED", rows.of.packed), option("WIDE", rows.wide)];
        let levels = (!rows.of.weighted).then(|| option("LEVELS", true));
        let options: Vec<String> = form.into_iter().chain(levels).collect();
        let run = device.function(source("near_far.cu"), &options, "near_far")?;
        Ok(NearFar {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            places,
            queue: device.alloc(QUEUES, queue_length(places.near))?,
            status: Pinned::new(&device.context, 1)?,
        })
    }

    /// What it takes on a GPU.
    pub fn list(most: usize) -> Vec<DeviceArray> {
        vec![DeviceArray::new::<u64>(QUEUES, queue_length(most))]
    }

    /// Queues a search to its end.
    pub fn launch(&self, device: &CudaDevice, rows: &Rows, search: &Search) -> Result<()> {
        let args = NearFarArgs {
            offsets: rows.of.offsets,
            arcs: rows.of.arcs,
            records: rows.records,
            dist: search.dist,
            pending: search.pending,
            queue: self.queue.pointer(),
            control: search.control,
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            log: search.log,
            deadline_ns: device.deadline_ns(),
            capacity: self.queue.len() as u64 / 2,
            places: self.places.count,
            local_rounds: self.places.local_rounds,
            delta: search.width,
            form: rows.of.form,
            mask: self.places.mask,
        };
        device.launch(self.run, device.together(self.blocks, THREADS), &args)
    }

    /// What the last search, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<Searched> {
        let NearFarStatus { relaxed, meetings, windows, stopped } = self.status.get(0);
        device.met(stopped, "near_far")?;
        Ok(Searched { relaxed, rounds: meetings, windows: windows.into() })
    }
}
