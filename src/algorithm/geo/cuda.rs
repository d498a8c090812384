//! The steps of geolocation on a GPU: a thin hand that fills in the arguments of `kernels/geo.cu`.

mod args;
mod deal;

use super::{Done, State, Wave};
use crate::algorithm::geo::host::Effort;
use crate::collective::Replicated;
use crate::collective::Split;
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::{Error, Result};
use crate::layout::{DeviceRows, Resident};
use args::{CLASSES, GraphArgs, QueueArgs, ResetArgs, SettleArgs, SolveArgs, Status, Totals};
use bytemuck::{Pod, Zeroable};
use deal::{Deal, UNITS};
use rayon::prelude::*;

/// As in kernels/geo.cu and geo_median.cuh.
const LONG: u64 = 512;
const TALLIED: usize = 4096;
const WARPS: u32 = 4;
const LONE: u32 = 128;
const HUB_THREADS: u32 = 256;
const STAGE: u32 = 512;
/// Bytes of a point.
const POINT: u32 = 24;

/// The solver of a class.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Hubs,
    Kept,
    Warps,
    Threads,
    Pairs,
}

/// The solver of each class and the points that a warp or thread of it has room for.
const FORMS: [(Form, u32); CLASSES] = [
    (Form::Hubs, 0),
    (Form::Hubs, 0),
    (Form::Hubs, 0),
    (Form::Kept, STAGE),
    (Form::Warps, 512),
    (Form::Warps, 128),
    (Form::Threads, 16),
    (Form::Threads, 8),
    (Form::Threads, 4),
    (Form::Pairs, 0),
];

/// The loaded kernels.
#[derive(Clone, Copy)]
struct Kernels {
    reset: Function,
    count_long: Function,
    count: Function,
    tally: Function,
    scan: Function,
    queue: Function,
    settle: Function,
    solvers: [Function; 5],
}

/// A graph's out-arcs on one device, in the input's order, with the kernels for its offsets.
struct Rows {
    /// Addresses of what a `Resident` holds.
    offsets: u64,
    columns: u64,
    kernels: Kernels,
    /// Blocks of 256 threads that fill the device.
    blocks: u32,
}

impl Rows {
    /// Loads the kernels for `rows`, whose offsets are 64-bit words where `wide`.
    fn new(device: &mut CudaDevice, rows: &DeviceRows, wide: bool) -> Result<Rows> {
        let options = [format!("-DHIVE_WIDE={}", u32::from(wide))];
        let mut kernel = |name| device.function(source("geo.cu"), &options, name);
        let kernels = Kernels {
            reset: kernel("geo_reset")?,
            count_long: kernel("geo_count_long")?,
            count: kernel("geo_count")?,
            tally: kernel("geo_tally")?,
            scan: kernel("geo_scan")?,
            queue: kernel("geo_queue")?,
            settle: kernel("geo_settle")?,
            solvers: [
                kernel("geo_hubs")?,
                kernel("geo_warps_kept")?,
                kernel("geo_warps")?,
                kernel("geo_threads")?,
                kernel("geo_pairs")?,
            ],
        };
        let blocks = (device.info.multiprocessors * 8 / device.sharers).max(1);
        let (offsets, columns) = (rows.offsets.pointer(), rows.columns.pointer());
        Ok(Rows { offsets, columns, kernels, blocks })
    }
}

/// What a replica's steps need beside the replicated state.
pub(crate) struct Workspace {
    rows: Rows,
    /// `[n / 32]` bits.
    given: DeviceBuffer<u32>,
    located: DeviceBuffer<u32>,
    /// `[n]`
    count: DeviceBuffer<u32>,
    queue: DeviceBuffer<u32>,
    longs: DeviceBuffer<u32>,
    kept_at: DeviceBuffer<u64>,
    kept: DeviceBuffer<u32>,
    tally: DeviceBuffer<u32>,
    control: DeviceBuffer<u64>,
    totals: Pinned<Totals>,
    status: Pinned<Status>,
    /// Blocks that can be resident, by class.
    resident: [u32; CLASSES],
    nodes: usize,
    rank: usize,
    world: usize,
}

impl Workspace {
    /// Makes room for waves from the nodes that are `known`.
    pub fn new(
        device: &mut CudaDevice,
        graph: &Resident,
        known: &[bool],
        (rank, world): (usize, usize),
    ) -> Result<Workspace> {
        let rows = Rows::new(device, graph.rows(rank)?, graph.wide())?;
        let (nodes, graph) = (known.len(), graph.graph());
        let bits = |part: &[bool]| {
            part.iter().enumerate().fold(0, |bits, (i, known)| bits | u32::from(*known) << i)
        };
        let bits: Vec<u32> = known.par_chunks(32).map(bits).collect();
        let open = |v: &usize| !known[*v] && graph.degree(*v) > 0;
        let room = (0..nodes).into_par_iter().filter(open).count();
        let long = |v: &usize| !known[*v] && graph.degree(*v) > LONG;
        let longs: Vec<u32> = (0..nodes).into_par_iter().filter(long).map(|v| v as u32).collect();
        let mut total = 0;
        let kept_at: Vec<u64> = longs
            .iter()
            .map(|v| {
                let first = total;
                total += graph.degree(*v as usize);
                first
            })
            .collect();
        let workspace = Workspace {
            given: device.alloc("given", bits.len())?,
            located: device.alloc("located", bits.len())?,
            count: device.alloc("located neighbours", nodes)?,
            queue: device.alloc("queue", room)?,
            longs: device.alloc("long rows", longs.len())?,
            kept_at: device.alloc("places of long rows", longs.len())?,
            kept: device.alloc("neighbours of long rows", total as usize)?,
            tally: device.alloc("tally", CLASSES * nodes.div_ceil(TALLIED))?,
            control: device.alloc("control", 4)?,
            totals: Pinned::new(&device.context, 1)?,
            status: Pinned::new(&device.context, 1)?,
            resident: resident(device, &rows)?,
            rows,
            nodes,
            rank,
            world,
        };
        workspace.given.upload(&bits)?;
        workspace.longs.upload(&longs)?;
        workspace.kept_at.upload(&kept_at)?;
        Ok(workspace)
    }

    fn graph(&self, s: &State) -> Result<GraphArgs> {
        fn device<T: crate::collective::Element>(array: &Replicated<T>) -> Result<u64> {
            let host = || Error::machine("host arrays in a device step; this is a bug");
            array.device().map(DeviceBuffer::pointer).ok_or_else(host)
        }
        Ok(GraphArgs {
            offsets: self.rows.offsets,
            columns: self.rows.columns,
            located: self.located.pointer(),
            wave: device(&s.wave)?,
            count: self.count.pointer(),
            position: device(&s.position)?,
            longs: self.longs.pointer(),
            kept_at: self.kept_at.pointer(),
            kept: self.kept.pointer(),
            queue: self.queue.pointer(),
            found: device(&s.found)?,
            control: self.control.pointer(),
            nodes: self.nodes as u32,
            long_rows: self.longs.len() as u32,
        })
    }

    /// Queues the state at the start of a run.
    pub fn reset(&mut self, device: &CudaDevice, s: &State) -> Result<()> {
        let rows = &self.rows;
        self.control.clear()?;
        let args = ResetArgs { graph: self.graph(s)?, given: self.given.pointer() };
        launch(device, rows.kernels.reset, self.nodes as u64, 256, rows.blocks, &args)
    }

    /// Makes the queue of a wave and waits for its size.
    pub fn count(&mut self, device: &CudaDevice, s: &State) -> Result<Wave> {
        let rows = &self.rows;
        let (graph, kernels) = (self.graph(s)?, &rows.kernels);
        let blocks = self.nodes.div_ceil(TALLIED) as u32;
        let args = QueueArgs {
            graph,
            tally: self.tally.pointer(),
            totals: self.totals.pointer(),
            blocks,
            unused: 0,
        };
        if graph.long_rows > 0 {
            let items = u64::from(graph.long_rows) * 256;
            launch(device, kernels.count_long, items, 256, 4 * rows.blocks, &graph)?;
        }
        launch(device, kernels.count, self.nodes as u64, 256, 4 * rows.blocks, &graph)?;
        let items = u64::from(blocks) * 256;
        launch(device, kernels.tally, items, 256, rows.blocks, &args)?;
        launch(device, kernels.scan, 1, 1024, 1, &args)?;
        launch(device, kernels.queue, items, 256, rows.blocks, &args)?;
        device.wait()?;
        let totals = self.totals.get(0);
        Ok(Wave { nodes: u64::from(totals.start[CLASSES]), arcs: totals.arcs })
    }

    fn deal(&self, whole: bool) -> Deal {
        Deal::new(&self.totals.get(0).start, if whole { 1 } else { self.world })
    }

    /// How many places of the queue each replica has.
    pub fn split(&self, whole: bool) -> Split {
        self.deal(whole).split()
    }

    /// Queues the medians of the own places. `chance` perturbs the number of blocks.
    pub fn solve(
        &mut self,
        device: &mut CudaDevice,
        s: &State,
        whole: bool,
        effort: Effort,
        chance: Option<u64>,
    ) -> Result<()> {
        let (deal, start) = (self.deal(whole), self.totals.get(0).start);
        let rank = if whole { 0 } else { self.rank };
        let graph = self.graph(s)?;
        for class in 0..CLASSES {
            let items = deal.items[rank][class];
            if items == 0 {
                continue;
            }
            let (form, room) = FORMS[class];
            let args = SolveArgs {
                graph,
                tolerance: effort.tolerance,
                passes: effort.passes,
                start: start[class],
                items,
                unit: UNITS[class],
                world: deal.world as u32,
                rank: rank as u32,
                found: deal.base[rank][class],
                room,
            };
            let (threads, at_once, shared_bytes) = form.shape(room);
            // Some blocks more than fit: the sooner done make room.
            let most = chance.map_or(4 * self.resident[class], |c| 1 + (c % 97) as u32);
            let blocks = items.div_ceil(at_once).clamp(1, most.max(1));
            let shape = Launch { blocks, threads, shared_bytes, cooperative: false };
            // A lane a class: hubs take long on few blocks, the others fill the device meanwhile.
            device.switch(1 + class)?;
            device.launch(self.rows.kernels.solvers[form as usize], shape, &args)?;
        }
        device.switch(0)?;
        device.join()
    }

    /// Queues putting what all found where the next wave looks for it.
    pub fn settle(
        &mut self,
        device: &CudaDevice,
        s: &State,
        whole: bool,
        number: u32,
    ) -> Result<()> {
        let (deal, start) = (self.deal(whole), self.totals.get(0).start);
        let args = SettleArgs {
            graph: self.graph(s)?,
            status: self.status.pointer(),
            start,
            unit: UNITS,
            base: deal.base,
            world: deal.world as u32,
            number,
            unused: 0,
        };
        launch(
            device,
            self.rows.kernels.settle,
            start[CLASSES].into(),
            256,
            4 * self.rows.blocks,
            &args,
        )
    }

    /// What the own part of the last wave took; once the device is quiet. A wave of nobody takes nothing.
    pub fn done(&self) -> Done {
        match self.totals.get(0).start[CLASSES] {
            0 => Done::default(),
            _ => {
                let Status { passes, arcs } = self.status.get(0);
                Done { arcs, passes }
            }
        }
    }
}

impl Form {
    /// Threads of a block, nodes it works on at once, and its dynamic shared memory.
    fn shape(self, room: u32) -> (u32, u32, u32) {
        match self {
            Form::Hubs => (HUB_THREADS, 1, 0),
            Form::Kept | Form::Warps => (32 * WARPS, WARPS, WARPS * room * POINT),
            Form::Threads => (LONE, LONE, LONE * room * POINT),
            Form::Pairs => (256, 256, 0),
        }
    }
}

fn resident(device: &CudaDevice, rows: &Rows) -> Result<[u32; CLASSES]> {
    let mut blocks = [0; CLASSES];
    for (blocks, (form, room)) in blocks.iter_mut().zip(FORMS) {
        let (threads, _, shared_bytes) = form.shape(room);
        let solver = rows.kernels.solvers[form as usize];
        *blocks = device.resident_blocks(solver, threads, shared_bytes)?;
    }
    Ok(blocks)
}

/// Queues a kernel for so many items, a thread each, on at most so many blocks.
fn launch<A: Pod + Zeroable>(
    device: &CudaDevice,
    kernel: Function,
    items: u64,
    threads: u32,
    most: u32,
    args: &A,
) -> Result<()> {
    let blocks = items.div_ceil(threads.into()).clamp(1, most.max(1).into()) as u32;
    device.launch(kernel, Launch { blocks, threads, shared_bytes: 0, cooperative: false }, args)
}
