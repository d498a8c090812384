//! The search in f64: near-far to the end, by every replica alone, on host threads or by `kernels/sssp/sssp_double.cu`.
//!
//! Distances are unique in f64, too (x -> fl(x + w) is monotone), so replicas end equal without a merge. Sums of whole
//! numbers are exact below 2^53.

use super::host;
use super::plan::Question;
use crate::algorithm::arrays::{device_arrays, replicated_arrays};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, step, timed, values};
use crate::algorithm::same::Words;
use crate::choice::Choice;
use crate::collective::Replicated;
use crate::device::kernels::sssp_double::{DoubleArgs, DoubleControl, DoubleStatus, THREADS};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape};
use crate::layout::{DeviceWeighted, WeightedLayout};

/// Buckets of this many mean weights: wide on flat graphs, whose frontiers are small; narrow on skewed ones, where
/// what is relaxed too early is relaxed again.
const DELTA_FLAT: f64 = 16.0;
const DELTA_SKEWED: f64 = 1.0;

/// The width of a bucket.
pub(super) fn delta(layout: &WeightedLayout, asked: Choice<f32>) -> f64 {
    let means = if layout.flat { DELTA_FLAT } else { DELTA_SKEWED };
    asked.given().map_or(means * layout.mean_weight, f64::from)
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    question: &Question,
    delta: f64,
) -> Result<ReplicaAnswer<Vec<f64>>> {
    let (rank, layout, run) = (r.rank(), &question.graph.layout, &question.config.run);
    let state = State::allocate(r, layout.nodes)?;
    let cuda = |device: &mut _| {
        let arcs = layout.out.arc_count();
        Workspace::new(device, question.graph.on_device(rank)?, arcs, &question.seeds)
    };
    let words = layout.nodes.div_ceil(64);
    let engine = Engine::new(r, cuda, || Ok([vec![0; words], vec![0; words]]))?;
    let mut search = Driver { question, delta, state, engine };
    let measured = timed(r, run, &mut search)?;
    ReplicaAnswer::new(measured, || values(r, &search.state.dist))
}

struct Driver<'a> {
    question: &'a Question,
    delta: f64,
    state: State,
    /// On the host the far pile and marks of what is near, as bits.
    engine: Engine<Workspace, [Vec<u64>; 2]>,
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let (Question { graph, seeds, .. }, rank) = (self.question, r.rank());
        self.engine.with(
            r,
            &mut self.state.dist,
            |device, workspace, dist| workspace.reset(device, graph.on_device(rank)?, dist),
            |[far, marks], dist, _| {
                marks.fill(0);
                let dist = dist.host_mut().unwrap_or_default();
                host::start(dist, far, seeds, graph.layout.active);
            },
        )
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        const NAME: &str = "step near-far in f64";
        let (Question { graph, seeds, .. }, delta, rank) = (self.question, self.delta, r.rank());
        let (relaxed, rounds) = step(
            (r, log, NAME),
            &mut self.engine,
            &mut self.state.dist,
            |device, workspace, dist| workspace.launch(device, graph.on_device(rank)?, dist, delta),
            |device, workspace| workspace.found(device),
            |[far, marks], dist, beat| {
                let dist = dist.host_mut().unwrap_or_default();
                host::near_far(&graph.layout.out, dist, [far, marks], delta, beat)
            },
        )?;
        log.book(NAME, (rounds, relaxed), (seeds.len() as u64, 0), "none");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.dist)]
    }
}

const _: () = assert!(size_of::<DoubleControl>() <= CONTROL * size_of::<u64>());
/// A row of more arcs is given a block.
const LONG_ROW: u64 = 256;
/// A row of more arcs is given all blocks together.
const GIANT_ROW: u64 = 16_384;

/// What a replica needs on a GPU beside the distances.
struct Workspace {
    reset: Function,
    scatter: Function,
    search: Function,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<DoubleStatus>,
}

impl Workspace {
    fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        arcs: u64,
        seeds: &[u32],
    ) -> Result<Workspace> {
        let options = graph.options();
        let mut kernel = |name| device.function(source("sssp_double.cu"), &options, name);
        let (reset, scatter) = (kernel("sssp_double_reset")?, kernel("sssp_double_seeds")?);
        let search = kernel("sssp_double")?;
        let sizes = Sizes { active: graph.active as usize, arcs, seeds: seeds.len() };
        let arrays = Arrays::allocate(device, sizes)?;
        arrays.seeds.upload(seeds)?;
        Ok(Workspace {
            reset,
            scatter,
            search,
            blocks: device.resident_blocks(search, THREADS, 0)?,
            arrays,
            status: Pinned::new(&device.context, 1)?,
        })
    }

    /// All distances infinite, the seeds 0 and pending.
    fn reset(
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
    fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
        delta: f64,
    ) -> Result<()> {
        self.arrays.control.clear()?;
        let shape = device.together(self.blocks, THREADS);
        device.launch(self.search, shape, &self.args(device, graph, dist, delta)?)
    }

    /// What the last search, which has ended, found: arcs relaxed, and rounds.
    fn found(&self, device: &CudaDevice) -> Result<(u64, u64)> {
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
        let arrays = &self.arrays;
        Ok(DoubleArgs {
            offsets: graph.out.offsets.pointer(),
            arcs: graph.out.arcs.pointer(),
            seeds: arrays.seeds.pointer(),
            dist: dist.on_device()?,
            pending: arrays.pending.pointer(),
            stamp: arrays.stamp.pointer(),
            queue: arrays.queue.pointer(),
            giants: arrays.giants.pointer(),
            control: arrays.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            log: 0,
            deadline_ns: device.deadline_ns(),
            capacity: arrays.giants.len() as u64 / 2,
            nodes: dist.len() as u64,
            delta,
            active: graph.active,
            count: arrays.seeds.len() as u32,
            long_row: LONG_ROW as u32,
            giant_row: GIANT_ROW as u32,
            form: graph.form,
        })
    }
}

replicated_arrays! {
    /// The replicated state, for so many nodes.
    struct State of usize {
        /// `[n]`, by label.
        dist: Replicated<f64> = "dist in f64", Min, |nodes| *nodes;
    }
}

/// What lengths of arrays follow from.
struct Sizes {
    active: usize,
    arcs: u64,
    seeds: usize,
}

device_arrays! {
    /// What a replica's steps need beside rows and state.
    struct Arrays of Sizes {
        seeds: u32 = "seeds", |s| s.seeds;
        pending: u32 = "far pile", |s| s.active.div_ceil(32);
        stamp: u32 = "rounds of nodes", |s| s.active;
        queue: u32 = "queues", |s| 2 * s.active;
        giants: u32 = "giant rows", |s| 2 * ((s.arcs / GIANT_ROW) as usize).max(1);
        control: u64 = "control", |_| CONTROL;
    }
}

/// State and workspace on a GPU, for a single seed.
pub(super) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
    let sizes = Sizes { active: shape.active as usize, arcs: shape.arcs, seeds: 1 };
    [State::list(shape.nodes as usize, 1), Arrays::list(sizes)].concat()
}
