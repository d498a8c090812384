//! The steps of geolocation on a GPU: the arguments of `kernels/geo/geo.cu`.

use super::host::Effort;
use super::plan::{CLASSES, Deal, Sizes, State, StepResult, UNITS, Wave, is_long};
use crate::algorithm::arrays::device_arrays;
use crate::collective::{Shares, Split};
use crate::device::kernels::geo::{
    GraphArgs, LONE, MIDDLE_THREAD_ROOM, QueueArgs, ResetArgs, SMALL_THREAD_ROOM, SMALL_WARP_ROOM,
    SettleArgs, SolveArgs, Status, TALLIED, THREAD_ROOM, Totals, WARP_ROOM, WARPS,
};
use crate::device::kernels::geo_median::{HUB_THREADS, Point, STAGE};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::Resident;
use crate::layout::memory::{DeviceArray, GraphShape, plain};
use rayon::prelude::*;

/// The solver of each class: its kernel, threads of a block, nodes that a block works on at once, and points of each that
/// it has room for in shared memory.
const SOLVERS: [(&str, u32, u32, u32); CLASSES] = [
    ("geo_hubs", HUB_THREADS, 1, 0),
    ("geo_hubs", HUB_THREADS, 1, 0),
    ("geo_hubs", HUB_THREADS, 1, 0),
    ("geo_warps_kept", 32 * WARPS, WARPS, STAGE),
    ("geo_warps", 32 * WARPS, WARPS, WARP_ROOM),
    ("geo_warps", 32 * WARPS, WARPS, SMALL_WARP_ROOM),
    ("geo_threads", LONE, LONE, THREAD_ROOM),
    ("geo_threads", LONE, LONE, MIDDLE_THREAD_ROOM),
    ("geo_threads", LONE, LONE, SMALL_THREAD_ROOM),
    ("geo_pairs", 256, 256, 0),
];

/// The loaded solver of a class.
struct Solver {
    kernel: Function,
    threads: u32,
    at_once: u32,
    room: u32,
    shared_bytes: u32,
    /// Blocks of it that can be resident.
    resident: u32,
}

device_arrays! {
    /// What a replica's steps need beside rows and state.
    struct Arrays of Sizes {
        /// Bits.
        given: u32 = "given", |s| s.nodes.div_ceil(32);
        located: u32 = "located", |s| s.nodes.div_ceil(32);
        count: u32 = "located neighbours", |s| s.nodes;
        queue: u32 = "queue", |s| s.room;
        longs: u32 = "long rows", |s| s.long_rows;
        kept_at: u64 = "places of long rows", |s| s.long_rows;
        kept: u32 = "neighbours of long rows", |s| s.long_arcs;
        tally: u32 = "tally", |s| CLASSES * s.nodes.div_ceil(TALLIED as usize);
        control: u64 = "control", |_| 4;
    }
}

/// Arrays that estimates leave out, for they are small.
const UNCOUNTED: [&str; 4] = ["long rows", "places of long rows", "tally", "control"];

/// All arrays on the GPU of one of `world` replicas, as if no place were given and all arcs were those of long rows.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let (nodes, long_arcs) = (shape.nodes as usize, shape.all_arcs() as usize);
    let sizes = Sizes { nodes, room: nodes, long_rows: 0, long_arcs };
    let mut own = Arrays::list(sizes);
    own.retain(|array| !UNCOUNTED.contains(&array.label));
    [plain(shape), State::list(sizes, world), own].concat()
}

/// What a replica's steps on a GPU need beside the replicated state.
pub(super) struct Workspace {
    /// Addresses of what a `Resident` holds.
    offsets: u64,
    columns: u64,
    reset: Function,
    count_long: Function,
    count: Function,
    tally: Function,
    scan: Function,
    queue: Function,
    settle: Function,
    /// By class.
    solvers: Vec<Solver>,
    /// Blocks of 256 threads that fill the device.
    blocks: u32,
    arrays: Arrays,
    totals: Pinned<Totals>,
    status: Pinned<Status>,
    /// Of the wave under way.
    deal: Deal,
    nodes: usize,
}

impl Workspace {
    /// Makes room for waves from the nodes that are `known`.
    pub fn new(
        device: &mut CudaDevice,
        graph: &Resident,
        rank: usize,
        known: &[bool],
        sizes: Sizes,
    ) -> Result<Workspace> {
        let (rows, graph) = (graph.on_device(rank)?, graph.graph());
        let options = rows.options();
        let mut solvers = Vec::new();
        for (name, threads, at_once, room) in SOLVERS {
            let kernel = device.function(source("geo.cu"), &options, name)?;
            let shared_bytes = at_once * room * size_of::<Point>() as u32;
            let resident = device.resident_blocks(kernel, threads, shared_bytes)?;
            solvers.push(Solver { kernel, threads, at_once, room, shared_bytes, resident });
        }
        let mut kernel = |name| device.function(source("geo.cu"), &options, name);
        let bits = |part: &[bool]| {
            part.iter().enumerate().fold(0, |bits, (i, known)| bits | u32::from(*known) << i)
        };
        let bits: Vec<u32> = known.par_chunks(32).map(bits).collect();
        let longs = (0..known.len() as u32).into_par_iter();
        let longs: Vec<u32> = longs.filter(|v| is_long(graph, known, *v as usize)).collect();
        let mut total = 0;
        let place = |v: &u32| {
            let first = total;
            total += graph.degree(*v as usize);
            first
        };
        let kept_at: Vec<u64> = longs.iter().map(place).collect();
        let workspace = Workspace {
            offsets: rows.out.offsets.pointer(),
            columns: rows.out.columns.pointer(),
            reset: kernel("geo_reset")?,
            count_long: kernel("geo_count_long")?,
            count: kernel("geo_count")?,
            tally: kernel("geo_tally")?,
            scan: kernel("geo_scan")?,
            queue: kernel("geo_queue")?,
            settle: kernel("geo_settle")?,
            solvers,
            arrays: Arrays::allocate(device, sizes)?,
            totals: Pinned::new(&device.context, 1)?,
            status: Pinned::new(&device.context, 1)?,
            blocks: device.filling(),
            deal: Deal::new(&[0; CLASSES + 1], &Shares::equal(1)),
            nodes: known.len(),
        };
        workspace.arrays.given.upload(&bits)?;
        workspace.arrays.longs.upload(&longs)?;
        workspace.arrays.kept_at.upload(&kept_at)?;
        Ok(workspace)
    }

    fn graph(&self, s: &State) -> Result<GraphArgs> {
        Ok(GraphArgs {
            offsets: self.offsets,
            columns: self.columns,
            located: self.arrays.located.pointer(),
            wave: s.wave.on_device()?,
            count: self.arrays.count.pointer(),
            position: s.position.on_device()?,
            longs: self.arrays.longs.pointer(),
            kept_at: self.arrays.kept_at.pointer(),
            kept: self.arrays.kept.pointer(),
            queue: self.arrays.queue.pointer(),
            found: s.found.on_device()?,
            control: self.arrays.control.pointer(),
            nodes: self.nodes as u32,
            long_rows: self.arrays.longs.len() as u32,
        })
    }

    /// Queues the state at the start of a run.
    pub fn reset(&self, device: &CudaDevice, s: &State) -> Result<()> {
        self.arrays.control.clear()?;
        let args = ResetArgs { g: self.graph(s)?, given: self.arrays.given.pointer() };
        device.launch(self.reset, shape(self.nodes as u64, self.blocks), &args)
    }

    /// Makes the queue of a wave and waits for its size.
    pub fn count(&self, device: &CudaDevice, s: &State) -> Result<Wave> {
        let graph = self.graph(s)?;
        let blocks = self.nodes.div_ceil(TALLIED as usize) as u32;
        let args = QueueArgs {
            g: graph,
            tally: self.arrays.tally.pointer(),
            totals: self.totals.pointer(),
            blocks,
            unused: 0,
        };
        if graph.long_rows > 0 {
            let items = u64::from(graph.long_rows) * 256;
            device.launch(self.count_long, shape(items, 4 * self.blocks), &graph)?;
        }
        device.launch(self.count, shape(self.nodes as u64, 4 * self.blocks), &graph)?;
        let tallies = shape(u64::from(blocks) * 256, self.blocks);
        device.launch(self.tally, tallies, &args)?;
        device.launch(self.scan, Launch::of(1, 1024), &args)?;
        device.launch(self.queue, tallies, &args)?;
        device.wait()?;
        let totals = self.totals.get(0);
        Ok(Wave { nodes: totals.start[CLASSES].into(), arcs: totals.arcs })
    }

    /// Queues the medians of the places that `rank` is dealt; who is dealt how many.
    pub fn solve(
        &mut self,
        device: &CudaDevice,
        s: &State,
        (rank, shares): (usize, Shares),
        effort: Effort,
    ) -> Result<Split> {
        let (graph, start) = (self.graph(s)?, self.totals.get(0).start);
        self.deal = Deal::new(&start, &shares);
        let own = self.deal.own(rank);
        for (class, solver) in self.solvers.iter().enumerate() {
            let items = self.deal.items[rank][class];
            if items == 0 {
                continue;
            }
            let args = SolveArgs {
                g: graph,
                tolerance: effort.tolerance,
                passes: effort.passes,
                start: start[class],
                items,
                unit: UNITS[class],
                own,
                found: self.deal.base[rank][class],
                room: solver.room,
            };
            let &Solver { threads, shared_bytes, .. } = solver;
            // Some blocks more than fit: those that end sooner make room for them.
            let blocks = items.div_ceil(solver.at_once).clamp(1, 4 * solver.resident);
            let blocks = device.blocks(blocks);
            // A lane a class: hubs take long on few blocks, the others fill the device meanwhile.
            device.switch(1 + class)?;
            let shape = Launch { blocks, threads, shared_bytes, cooperative: false };
            device.launch(solver.kernel, shape, &args)?;
        }
        device.switch(0)?;
        device.join()?;
        Ok(self.deal.split())
    }

    /// Queues writing what all found to where the next wave looks for it.
    pub fn settle(&self, device: &CudaDevice, s: &State, number: u32) -> Result<()> {
        let start = self.totals.get(0).start;
        let args = SettleArgs {
            g: self.graph(s)?,
            status: self.status.pointer(),
            start,
            unit: UNITS,
            base: self.deal.base,
            turns: self.deal.turns(),
            number,
            unused: 0,
        };
        device.launch(self.settle, shape(start[CLASSES].into(), 4 * self.blocks), &args)
    }

    /// What the own part of the last wave took, once the device is quiet.
    pub fn found(&self) -> StepResult {
        match self.totals.get(0).start[CLASSES] {
            // Nothing was settled.
            0 => StepResult::default(),
            _ => {
                let Status { passes, arcs } = self.status.get(0);
                StepResult { arcs, passes }
            }
        }
    }
}

/// A thread an item, on at most so many blocks of 256.
fn shape(items: u64, most: u32) -> Launch {
    Launch::of(items.div_ceil(256).clamp(1, most.into()) as u32, 256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Pretend;

    #[test]
    fn solvers_fit_the_shared_memory_of_every_gpu() {
        for model in Pretend::all() {
            for (name, _, at_once, room) in SOLVERS {
                let bytes = at_once * room * size_of::<Point>() as u32;
                assert!(bytes <= model.info().shared_bytes, "{model}, {name}: {bytes}");
            }
        }
    }
}
