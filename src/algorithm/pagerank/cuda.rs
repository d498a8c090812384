//! The steps of PageRank on a GPU, and device arrays.

use super::bins::{self, TwoPhases};
use super::hubs::Hubs;
use super::plan::{Merging, Plan, State, StateSizes, StepResult, StepTask, choose, sharing_pays};
use super::{PagerankConfig, Strategy, hubs};
use crate::algorithm::MergeMode;
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::pagerank::{
    self as kernel, DanglingArgs, EdgeArgs, RankArgs, RankStatus, ReportArgs, Scalars, THREADS,
    Turn,
};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::{Error, Result};
use crate::layout::memory::{DeviceArray, GraphShape, topology, total};
use crate::layout::{DeviceGraph, TopologyRows};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

const SLOTS: usize = kernel::SLOTS as usize;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
struct Sizes {
    strategy: Strategy,
    active: usize,
    own_arcs: usize,
    dangling: usize,
    personal: bool,
    weighted: bool,
}

/// `length` where the array is needed.
fn needed(needed: bool, length: usize) -> usize {
    if needed { length } else { 0 }
}

device_arrays! {
    /// What a replica's steps need beside rows and state.
    struct Arrays of Sizes {
        scalars: Scalars = "scalars", |_| 1;
        degrees: f32 = "degrees", |s| needed(!s.weighted, s.active);
        personal: f32 = "personal", |s| needed(s.personal, s.active);
        shares: f32 = "shares", |s| needed(s.weighted, s.own_arcs);
        dangling: u32 = "dangling nodes", |s| s.dangling;
        sources: u32 = "sources", |s| needed(s.strategy == Strategy::EdgeSoa, s.own_arcs);
        pairs: u64 = "pairs", |s| needed(s.strategy == Strategy::EdgeAos, s.own_arcs);
    }
}

/// All arrays on the GPU of one of `world` replicas, at most. Nodes of directed graphs may all be without out-arcs.
pub(super) fn arrays(
    shape: &GraphShape,
    config: &PagerankConfig,
    world: usize,
) -> Vec<DeviceArray> {
    let (active, arcs) = (shape.active as usize, shape.all_arcs());
    let (strategy, weighted) = (choose(config, shape.flat), config.weighted);
    let sums = strategy.pushes() || config.run.merge == MergeMode::Dense;
    let shared = match config.run.merge {
        MergeMode::Redundant => sums,
        MergeMode::Auto => sums || sharing_pays(active, arcs, shape.flat, (world, false)),
        MergeMode::Dense | MergeMode::Split => true,
    };
    let own_arcs = (arcs as usize).div_ceil(if shared { world } else { 1 });
    let dangling = needed(!shape.symmetric || weighted, active);
    let personal = config.personalize.is_some() || config.personal.is_some();
    let sizes = Sizes { strategy, active, own_arcs, dangling, personal, weighted };
    // Where these do not fit, `auto` does without.
    let hubs = || hubs::arrays(active, own_arcs, config);
    let bins = || bins::arrays(active, own_arcs, config);
    let arcs = match strategy {
        Strategy::Hubs if config.strategy == Strategy::Auto => {
            let (hubs, bins) = (hubs(), bins());
            if total(&hubs) < total(&bins) { bins } else { hubs }
        }
        Strategy::Hubs => hubs(),
        Strategy::Bins => bins(),
        _ => Vec::new(),
    };
    let state = State::list(StateSizes { active, sums }, world);
    [topology(shape), state, Arrays::list(sizes), arcs].concat()
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
pub(super) struct Workspace<'a> {
    plan: &'a Plan,
    graph: &'a DeviceGraph,
    kernels: Kernels,
    /// Blocks that fill the device.
    blocks: u32,
    own: Range<usize>,
    /// Own arcs, as numbered in the graph.
    own_arcs: Range<u64>,
    active: usize,
    arrays: Arrays,
    hubs: Option<Hubs>,
    bins: Option<TwoPhases>,
    /// Own rows that are in no bin.
    long: Range<usize>,
    /// `[SLOTS]`
    status: Pinned<RankStatus>,
}

impl<'a> Workspace<'a> {
    pub fn new(
        device: &mut CudaDevice,
        rows: &'a TopologyRows,
        plan: &'a Plan,
        rank: usize,
    ) -> Result<Workspace<'a>> {
        let (graph, columns) = (rows.on_device(rank)?, &rows.columns);
        let options = options(graph, plan);
        let kernels = kernels(device, &options, plan.strategy)?;
        let (own, active) = (plan.own(rank), columns.active);
        let host_rows = if plan.strategy.pushes() { &columns.out } else { columns.in_rows() };
        let own_arcs = host_rows.offsets[own.start]..host_rows.offsets[own.end];
        let some = (plan.merging != Merging::None).then_some(rank);
        let hubs = plan.segments.as_ref();
        let hubs =
            hubs.map(|cut| Hubs::new(device, graph, columns.active, cut, some)).transpose()?;
        let (own_bins, long) =
            plan.bins.as_ref().map_or((0..0, 0..0), |bins| bins.own(own.clone()));
        let bins = plan.bins.as_ref();
        let bins = bins
            .map(|bins| TwoPhases::new(device, graph, columns.active, bins, &own_bins))
            .transpose()?;
        let arrays = Arrays::allocate(
            device,
            Sizes {
                strategy: plan.strategy,
                active,
                own_arcs: (own_arcs.end - own_arcs.start) as usize,
                dangling: plan.dangling.len(),
                personal: plan.personal.is_some(),
                weighted: plan.shares.is_some(),
            },
        )?;
        if let Some(degree) = &plan.degree {
            arrays.degrees.upload(degree)?;
        }
        if let Some(personal) = &plan.personal {
            arrays.personal.upload(&personal[..active])?;
        }
        if let Some(shares) = &plan.shares {
            arrays.shares.upload(&shares[own_arcs.start as usize..own_arcs.end as usize])?;
        }
        arrays.dangling.upload(&plan.dangling)?;
        let workspace = Workspace {
            plan,
            graph,
            kernels,
            blocks: (device.info.multiprocessors * 8 / device.sharers).max(1),
            own,
            own_arcs,
            active,
            arrays,
            hubs,
            bins,
            long,
            status: Pinned::new(&device.context, SLOTS)?,
        };
        if matches!(plan.strategy, Strategy::EdgeSoa | Strategy::EdgeAos) {
            let expand = device.function(source("pagerank.cu"), &options, "pagerank_expand")?;
            let items = workspace.own.len() as u64 * 32;
            workspace.launch(device, expand, items, &workspace.edges())?;
        }
        device.wait()?;
        Ok(workspace)
    }

    /// Queues ranks p.
    pub fn start(&self, device: &CudaDevice, s: &State) -> Result<()> {
        (0..SLOTS).for_each(|slot| self.status.set(slot, RankStatus::zeroed()));
        let turn = Turn {
            new_rank: s.rank[0].on_device()?,
            next: s.value[0].on_device()?,
            ..self.turn(s, StepTask { t: 0, ranks: false, change: false })?
        };
        let args = self.rows(turn, s);
        self.launch(device, self.kernels.start, self.active as u64, &args)?;
        self.add_dangling(device, turn.next, 0)
    }

    /// Queues the own part of an iteration.
    pub fn step(&self, device: &CudaDevice, s: &State, task: StepTask) -> Result<()> {
        let (plan, value) = (self.plan, s.value[task.t as usize % 2].on_device()?);
        if matches!(plan.strategy, Strategy::EdgeSoa | Strategy::EdgeAos) {
            let args = EdgeArgs { value, sum: self.sum(s), ..self.edges() };
            let items = self.own_arcs.end - self.own_arcs.start;
            return self.launch(device, self.kernels.arcs, items, &args);
        }
        let turn = self.turn(s, task)?;
        if let Some(hubs) = &self.hubs {
            return hubs.step(device, value, turn, self.sum(s));
        }
        if let Some(bins) = &self.bins {
            bins.step(device, value, turn, self.sum(s))?;
        }
        let own = match &self.bins {
            Some(_) if self.long.is_empty() => return Ok(()),
            Some(_) => &self.long,
            None => &self.own,
        };
        let rows = if plan.strategy.pushes() { &self.graph.out } else { self.graph.in_rows() };
        let by_length = plan.symmetric && !plan.strategy.divides() && plan.shares.is_none();
        let args = RankArgs {
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            shares: self.shares_from_0(),
            value,
            over: given(&self.arrays.degrees),
            lo: own.start as u32,
            hi: own.end as u32,
            to_sum: u32::from(plan.merging == Merging::Sum),
            ..self.rows(Turn { by_length: u32::from(by_length), ..turn }, s)
        };
        let items = match (plan.strategy.warps(), plan.warps) {
            (true, (width, chunk)) => (own.len() as u64).div_ceil(chunk.into()) * u64::from(width),
            (false, _) if self.bins.is_some() => own.len() as u64 * 32,
            (false, _) => own.len() as u64,
        };
        self.launch(device, self.kernels.arcs, items, &args)
    }

    /// Queues what follows once all rows are there.
    pub fn conclude(&self, device: &CudaDevice, s: &State, task: StepTask) -> Result<()> {
        let turn = self.turn(s, task)?;
        if self.plan.merging == Merging::Sum {
            let args = self.rows(turn, s);
            self.launch(device, self.kernels.finish, self.active as u64, &args)?;
        }
        self.add_dangling(device, turn.next, task.t + 1)?;
        if !task.change {
            return Ok(());
        }
        let (scalars, status) = (self.arrays.scalars.pointer(), self.status.pointer());
        let args = ReportArgs { scalars, status, iteration: task.t, unused: 0 };
        device.launch(self.kernels.report, Launch::of(1, 1), &args)
    }

    /// Queues writing the own rows of an array, whose copies are at these addresses, into all others.
    pub fn hand_out(&self, device: &CudaDevice, copies: &[u64], rank: usize) -> Result<()> {
        self.hubs.as_ref().map_or(Ok(()), |hubs| hubs.hand_out(device, copies, rank))
    }

    /// What iteration `t` reported; waits for it.
    pub fn found(&self, device: &CudaDevice, t: u32) -> Result<StepResult> {
        let (slot, done) = (t as usize % SLOTS, u64::from(t) + 1);
        device.wait_for(|| self.status.get(slot).done == done)?;
        let RankStatus { change, scale, scale_before, done: made } = self.status.get(slot);
        if made != done {
            return Err(Error::machine(format!("iteration {t} reported nothing; this is a bug")));
        }
        Ok(StepResult { change, scale, scale_before })
    }

    fn turn(&self, s: &State, task: StepTask) -> Result<Turn> {
        let (plan, arrays) = (self.plan, &self.arrays);
        let (old, new) = (task.t as usize % 2, (task.t as usize + 1) % 2);
        let (rank, new_rank) = (s.rank[old].on_device()?, s.rank[new].on_device()?);
        Ok(Turn {
            rank: if task.change { rank } else { 0 },
            new_rank: if task.ranks { new_rank } else { 0 },
            next: s.value[new].on_device()?,
            divisor: if plan.strategy.divides() { 0 } else { given(&arrays.degrees) },
            personal: given(&arrays.personal),
            scalars: arrays.scalars.pointer(),
            damping: plan.damping,
            even: plan.even,
            idle: plan.idle,
            iteration: task.t,
            by_length: 0,
        })
    }

    /// For a kernel that goes over all rows, but not over arcs.
    fn rows(&self, turn: Turn, s: &State) -> RankArgs {
        RankArgs { turn, sum: self.sum(s), hi: self.active as u32, ..RankArgs::zeroed() }
    }

    fn edges(&self) -> EdgeArgs {
        let out = &self.graph.out;
        EdgeArgs {
            offsets: out.offsets.pointer(),
            columns: out.columns.pointer(),
            shares: self.shares_from_0(),
            value: 0,
            sources: given(&self.arrays.sources),
            pairs: given(&self.arrays.pairs),
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
        match self.plan.shares {
            Some(_) => self.arrays.shares.pointer().wrapping_sub(before),
            None => 0,
        }
    }

    /// The sums that are added over replicas; 0 where there are none.
    fn sum(&self, s: &State) -> u64 {
        if self.plan.merging == Merging::Sum { s.sum.address() } else { 0 }
    }

    /// Queues adding up the ranks of dangling nodes for iteration `t`.
    fn add_dangling(&self, device: &CudaDevice, value: u64, t: u32) -> Result<()> {
        let count = self.arrays.dangling.len() as u32;
        if count == 0 {
            return Ok(());
        }
        let (nodes, scalars) = (self.arrays.dangling.pointer(), self.arrays.scalars.pointer());
        let args = DanglingArgs { nodes, value, scalars, count, iteration: t };
        self.launch(device, self.kernels.dangling, count.into(), &args)
    }

    /// Queues a kernel for so many items, a thread each, on no more blocks than fill the device.
    fn launch<A: Pod>(
        &self,
        device: &CudaDevice,
        kernel: Function,
        items: u64,
        args: &A,
    ) -> Result<()> {
        let blocks = items.div_ceil(THREADS.into()).clamp(1, self.blocks.into()) as u32;
        device.launch(kernel, Launch::of(device.blocks(blocks), THREADS), args)
    }
}

/// The address of an array, 0 where it has no elements: kernels do without it.
fn given<T: Pod>(array: &DeviceBuffer<T>) -> u64 {
    if array.is_empty() { 0 } else { array.pointer() }
}

/// The options that the kernels of a plan are compiled with.
fn options(graph: &DeviceGraph, plan: &Plan) -> Vec<String> {
    let mut options = graph.options().to_vec();
    if plan.shares.is_some() {
        options.push("-DHIVE_WEIGHTED=1".into());
    }
    if plan.strategy.warps() {
        let (width, chunk) = plan.warps;
        options.extend([format!("-DWIDTH={width}"), format!("-DCHUNK={chunk}")]);
    }
    options
}

fn kernels(device: &mut CudaDevice, options: &[String], strategy: Strategy) -> Result<Kernels> {
    let mut kernel = |name| device.function(source("pagerank.cu"), options, name);
    Ok(Kernels {
        start: kernel("pagerank_start")?,
        dangling: kernel("pagerank_dangling")?,
        arcs: kernel(match strategy {
            Strategy::Push => "pagerank_push",
            Strategy::Pull => "pagerank_pull",
            Strategy::EdgeSoa => "pagerank_edge_soa",
            Strategy::EdgeAos => "pagerank_edge_aos",
            Strategy::WarpPush => "pagerank_warp_push",
            Strategy::WarpPull => "pagerank_warp_pull",
            // Of rows that are too long for bins.
            Strategy::WarpPullNodiv | Strategy::Bins => "pagerank_warp_pull_nodiv",
            Strategy::Auto | Strategy::Hubs | Strategy::PullNodiv => "pagerank_pull_nodiv",
        })?,
        finish: kernel("pagerank_finish")?,
        report: kernel("pagerank_report")?,
    })
}
