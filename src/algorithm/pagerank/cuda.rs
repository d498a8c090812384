//! The steps of PageRank on a GPU: the arguments of `kernels/pagerank.cu`.

use super::Strategy;
use super::driver::{Seen, State, Wanted};
use super::hubs::Hubs;
use super::plan::{Merging, Plan};
use crate::collective::{Element, Replicated};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, fewer, source};
use crate::error::{Error, Result};
use crate::layout::{DeviceTopology, TopologyRows};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// As in kernels/pagerank.cu and pagerank.cuh.
const THREADS: u32 = 256;
const SLOTS: usize = 4;

/// `kernels/pagerank.cuh`: Turn.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct TurnArgs {
    rank: u64,
    new_rank: u64,
    next: u64,
    divisor: u64,
    personal: u64,
    scalars: u64,
    damping: f64,
    even: f64,
    idle: f64,
    iteration: u32,
    by_length: u32,
}

/// `kernels/pagerank.cu`: RankArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct RankArgs {
    turn: TurnArgs,
    offsets: u64,
    columns: u64,
    shares: u64,
    value: u64,
    over: u64,
    sum: u64,
    lo: u32,
    hi: u32,
    to_sum: u32,
    unused: u32,
}

/// `kernels/pagerank.cu`: DanglingArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct DanglingArgs {
    nodes: u64,
    value: u64,
    scalars: u64,
    count: u32,
    iteration: u32,
}

/// `kernels/pagerank.cu`: EdgeArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct EdgeArgs {
    offsets: u64,
    columns: u64,
    shares: u64,
    value: u64,
    sources: u64,
    pairs: u64,
    sum: u64,
    first: u64,
    end: u64,
    lo: u32,
    hi: u32,
}

/// `kernels/pagerank.cu`: RankStatus.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Status {
    change: u64,
    scale: f64,
    scale_before: f64,
    done: u64,
}

/// `kernels/pagerank.cu`: ReportArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ReportArgs {
    scalars: u64,
    status: u64,
    iteration: u32,
    unused: u32,
}

/// The loaded kernels.
struct Kernels {
    start: Function,
    dangling: Function,
    /// The one that goes over arcs.
    arcs: Function,
    finish: Function,
    report: Function,
}

/// What a replica's steps need beside the replicated state.
pub(super) struct Workspace {
    kernels: Kernels,
    strategy: Strategy,
    merging: Merging,
    /// Blocks that fill the device.
    blocks: u32,
    own: Range<usize>,
    /// Own arcs, as numbered in the graph.
    own_arcs: Range<u64>,
    active: usize,
    damping: f64,
    even: f64,
    idle: f64,
    symmetric: bool,
    warps: (u32, u32),
    /// `kernels/pagerank.cuh`: Scalars.
    scalars: DeviceBuffer<u64>,
    /// `[active]`
    degree: Option<DeviceBuffer<f32>>,
    personal: Option<DeviceBuffer<f32>>,
    /// `[own arcs]`
    shares: Option<DeviceBuffer<f32>>,
    dangling: DeviceBuffer<u32>,
    sources: Option<DeviceBuffer<u32>>,
    pairs: Option<DeviceBuffer<u64>>,
    hubs: Option<Hubs>,
    /// `[SLOTS]`
    status: Pinned<Status>,
}

impl Workspace {
    pub fn new(
        device: &mut CudaDevice,
        rows: &TopologyRows,
        plan: &Plan,
        rank: usize,
        beat: &(dyn Fn() + Sync),
    ) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let kernels = kernels(device, graph, plan)?;
        let (own, active) = (plan.own(rank), rows.columns.active);
        let pushes = plan.strategy.pushes();
        let offsets = match pushes {
            true => &rows.columns.out.offsets,
            false => &rows.columns.in_rows().offsets,
        };
        let own_arcs = offsets[own.start]..offsets[own.end];
        let count = (own_arcs.end - own_arcs.start) as usize;
        let hubs = match &plan.segments {
            Some(cut) => {
                let some = (plan.merging != Merging::None).then_some(rank);
                Some(Hubs::new(device, rows.columns.in_rows(), cut, some, beat)?)
            }
            None => None,
        };
        let part = |shares: &[f32]| {
            upload(device, "shares", &shares[own_arcs.start as usize..own_arcs.end as usize])
        };
        let room = |strategy| plan.strategy == strategy;
        let workspace = Workspace {
            kernels,
            strategy: plan.strategy,
            merging: plan.merging,
            blocks: (device.info.multiprocessors * 8 / device.sharers).max(1),
            active,
            damping: plan.damping,
            even: plan.even,
            idle: plan.idle,
            symmetric: plan.symmetric,
            warps: plan.warps,
            scalars: device.alloc("scalars", 3 * SLOTS)?,
            degree: plan.degree.as_ref().map(|d| upload(device, "degrees", d)).transpose()?,
            personal: match &plan.personal {
                Some(personal) => Some(upload(device, "personal", &personal[..active])?),
                None => None,
            },
            shares: plan.shares.as_deref().map(part).transpose()?,
            dangling: upload(device, "dangling nodes", &plan.dangling)?,
            sources: match room(Strategy::EdgeSoa) {
                true => Some(device.alloc("sources", count)?),
                false => None,
            },
            pairs: match room(Strategy::EdgeAos) {
                true => Some(device.alloc("pairs", count)?),
                false => None,
            },
            hubs,
            status: Pinned::new(&device.context, SLOTS)?,
            own,
            own_arcs,
        };
        if workspace.sources.is_some() || workspace.pairs.is_some() {
            let expand =
                device.function(source("pagerank.cu"), &options(graph, plan), "pagerank_expand")?;
            let args = workspace.edges(graph);
            let items = workspace.own.len() as u64 * 32;
            workspace.launch(device, expand, items, None, &args)?;
        }
        device.wait()?;
        Ok(workspace)
    }

    /// Queues ranks p.
    pub fn start(&self, device: &CudaDevice, s: &State) -> Result<()> {
        (0..SLOTS).for_each(|slot| self.status.set(slot, Status::zeroed()));
        let turn = TurnArgs {
            new_rank: pointer(&s.rank[0])?,
            next: pointer(&s.value[0])?,
            ..self.turn(s, 0, Wanted { ranks: false, change: false })?
        };
        let sum = self.sum(s)?;
        let args = RankArgs { turn, sum, hi: self.active as u32, ..RankArgs::zeroed() };
        self.launch(device, self.kernels.start, self.active as u64, None, &args)?;
        self.add_dangling(device, turn.next, 0)
    }

    /// Queues the own part of iteration `t`. `chance` perturbs the number of blocks.
    pub fn step(
        &self,
        device: &CudaDevice,
        graph: &DeviceTopology,
        s: &State,
        t: u32,
        wanted: Wanted,
        chance: Option<u64>,
    ) -> Result<()> {
        let value = pointer(&s.value[t as usize % 2])?;
        if matches!(self.strategy, Strategy::EdgeSoa | Strategy::EdgeAos) {
            let args = EdgeArgs { value, sum: self.sum(s)?, ..self.edges(graph) };
            let items = self.own_arcs.end - self.own_arcs.start;
            return self.launch(device, self.kernels.arcs, items, chance, &args);
        }
        let (turn, sum) = (self.turn(s, t, wanted)?, self.sum(s)?);
        if let Some(hubs) = &self.hubs {
            return hubs.step(device, value, turn, sum, chance);
        }
        let rows = if self.strategy.pushes() { &graph.out } else { graph.in_rows() };
        let by_length = self.symmetric && !self.strategy.divides() && self.shares.is_none();
        let args = RankArgs {
            turn: TurnArgs { by_length: u32::from(by_length), ..turn },
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            shares: self.shares_from_0(),
            value,
            over: self.degree.as_ref().map_or(0, DeviceBuffer::pointer),
            sum,
            lo: self.own.start as u32,
            hi: self.own.end as u32,
            to_sum: u32::from(self.merging == Merging::Sum),
            unused: 0,
        };
        let items = match (self.strategy.by_warps(), self.warps) {
            (true, (width, chunk)) => {
                (self.own.len() as u64).div_ceil(chunk.into()) * u64::from(width)
            }
            (false, _) => self.own.len() as u64,
        };
        self.launch(device, self.kernels.arcs, items, chance, &args)
    }

    /// Queues what everybody does once all is there.
    pub fn conclude(
        &self,
        device: &CudaDevice,
        s: &State,
        t: u32,
        wanted: Wanted,
        chance: Option<u64>,
    ) -> Result<()> {
        let turn = self.turn(s, t, wanted)?;
        if self.merging == Merging::Sum {
            let (sum, hi) = (self.sum(s)?, self.active as u32);
            let args = RankArgs { turn, sum, hi, ..RankArgs::zeroed() };
            self.launch(device, self.kernels.finish, self.active as u64, chance, &args)?;
        }
        self.add_dangling(device, turn.next, t + 1)?;
        if !wanted.change {
            return Ok(());
        }
        let (scalars, status) = (self.scalars.pointer(), self.status.pointer());
        let args = ReportArgs { scalars, status, iteration: t, unused: 0 };
        let one = Launch::of(1, 1);
        device.launch(self.kernels.report, one, &args)
    }

    /// Where rows are dealt in turn.
    pub fn hubs(&self) -> Result<&Hubs> {
        let none = || Error::machine("rows dealt in turn without hubs; this is a bug");
        self.hubs.as_ref().ok_or_else(none)
    }

    /// What iteration `t` reported; waits for it.
    pub fn seen(&self, device: &CudaDevice, t: u32) -> Result<Seen> {
        let (slot, done) = (t as usize % SLOTS, u64::from(t) + 1);
        device.wait_for(|| self.status.get(slot).done == done)?;
        let Status { change, scale, scale_before, done: made } = self.status.get(slot);
        if made != done {
            return Err(Error::machine(format!("iteration {t} reported nothing; this is a bug")));
        }
        Ok(Seen { change, scale, scale_before })
    }

    fn turn(&self, s: &State, t: u32, wanted: Wanted) -> Result<TurnArgs> {
        let (old, new) = (t as usize % 2, (t as usize + 1) % 2);
        let (rank, new_rank) = (pointer(&s.rank[old])?, pointer(&s.rank[new])?);
        let divided = self.degree.as_ref().filter(|_| !self.strategy.divides());
        Ok(TurnArgs {
            rank: if wanted.change { rank } else { 0 },
            new_rank: if wanted.ranks { new_rank } else { 0 },
            next: pointer(&s.value[new])?,
            divisor: divided.map_or(0, DeviceBuffer::pointer),
            personal: self.personal.as_ref().map_or(0, DeviceBuffer::pointer),
            scalars: self.scalars.pointer(),
            damping: self.damping,
            even: self.even,
            idle: self.idle,
            iteration: t,
            by_length: 0,
        })
    }

    fn edges(&self, graph: &DeviceTopology) -> EdgeArgs {
        EdgeArgs {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            shares: self.shares_from_0(),
            value: 0,
            sources: self.sources.as_ref().map_or(0, DeviceBuffer::pointer),
            pairs: self.pairs.as_ref().map_or(0, DeviceBuffer::pointer),
            sum: 0,
            first: self.own_arcs.start,
            end: self.own_arcs.end,
            lo: self.own.start as u32,
            hi: self.own.end as u32,
        }
    }

    /// Where the share of arc 0 would lie: only own ones are there.
    fn shares_from_0(&self) -> u64 {
        let before = self.own_arcs.start * size_of::<f32>() as u64;
        self.shares.as_ref().map_or(0, |shares| shares.pointer().wrapping_sub(before))
    }

    fn sum(&self, s: &State) -> Result<u64> {
        s.sum.as_ref().map_or(Ok(0), pointer)
    }

    /// Queues adding up the ranks of dangling nodes for iteration `t`.
    fn add_dangling(&self, device: &CudaDevice, value: u64, t: u32) -> Result<()> {
        let count = self.dangling.len() as u32;
        if count == 0 {
            return Ok(());
        }
        let (nodes, scalars) = (self.dangling.pointer(), self.scalars.pointer());
        let args = DanglingArgs { nodes, value, scalars, count, iteration: t };
        self.launch(device, self.kernels.dangling, count.into(), None, &args)
    }

    /// Queues a kernel for so many items, a thread each, on no more blocks than fill the device.
    fn launch<A: Pod>(
        &self,
        device: &CudaDevice,
        kernel: Function,
        items: u64,
        chance: Option<u64>,
        args: &A,
    ) -> Result<()> {
        let blocks = items.div_ceil(THREADS.into()).clamp(1, self.blocks.into()) as u32;
        let blocks = fewer(blocks, chance);
        let shape = Launch::of(blocks, THREADS);
        device.launch(kernel, shape, args)
    }
}

/// The options that the kernels of a plan are compiled with.
fn options(graph: &DeviceTopology, plan: &Plan) -> Vec<String> {
    let mut options = graph.options().to_vec();
    if plan.shares.is_some() {
        options.push("-DHIVE_WEIGHTED=1".into());
    }
    if plan.strategy.by_warps() {
        let (width, chunk) = plan.warps;
        options.extend([format!("-DWIDTH={width}"), format!("-DCHUNK={chunk}")]);
    }
    options
}

fn kernels(device: &mut CudaDevice, graph: &DeviceTopology, plan: &Plan) -> Result<Kernels> {
    let options = options(graph, plan);
    let mut kernel = |name| device.function(source("pagerank.cu"), &options, name);
    Ok(Kernels {
        start: kernel("pagerank_start")?,
        dangling: kernel("pagerank_dangling")?,
        arcs: kernel(match plan.strategy {
            Strategy::Push => "pagerank_push",
            Strategy::Pull => "pagerank_pull",
            Strategy::EdgeSoa => "pagerank_edge_soa",
            Strategy::EdgeAos => "pagerank_edge_aos",
            Strategy::WarpPush => "pagerank_warp_push",
            Strategy::WarpPull => "pagerank_warp_pull",
            Strategy::WarpPullNodiv => "pagerank_warp_pull_nodiv",
            Strategy::Auto | Strategy::Hubs | Strategy::PullNodiv => "pagerank_pull_nodiv",
        })?,
        finish: kernel("pagerank_finish")?,
        report: kernel("pagerank_report")?,
    })
}

pub(super) fn upload<T: Pod>(
    device: &CudaDevice,
    label: &str,
    values: &[T],
) -> Result<DeviceBuffer<T>> {
    let buffer = device.alloc(label, values.len())?;
    buffer.upload(values)?;
    Ok(buffer)
}

pub(super) fn pointer<T: Element>(array: &Replicated<T>) -> Result<u64> {
    let host = || Error::machine("host arrays in a device step; this is a bug");
    array.device().map(DeviceBuffer::pointer).ok_or_else(host)
}
