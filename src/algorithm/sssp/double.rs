//! The search in f64, by every replica alone: near-far on host threads; on a GPU by tiles where these pay (`long_paths`), else
//! near-far (`kernels/sssp/sssp_double.cu`).
//!
//! Distances are unique in f64, too (x -> fl(x + w) is monotone), so replicas end equal without a merge. Sums of whole
//! numbers are exact below 2^53.

use super::cuda::rows;
use super::host;
use super::plan::Question;
use crate::algorithm::arrays::{device_arrays, replicated_arrays};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, step, timed, values};
use crate::algorithm::long_paths::{Rows, Search, Searched, Seeds, Tiled, Widths};
use crate::algorithm::same::Words;
use crate::choice::Choice;
use crate::collective::Replicated;
use crate::device::kernels::sssp_double::{DoubleArgs, DoubleControl, DoubleStatus, THREADS};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape};
use crate::layout::{DeviceWeighted, TileFacts, WeightedLayout};
use bytemuck::Zeroable;

/// Windows of so many mean weights on graphs that are not flat: narrow, as what is relaxed too early is relaxed again.
const SKEWED_WEIGHTS: f64 = 1.0;

/// Widths of windows, as [`Widths::of_weights`].
pub(super) fn widths(
    layout: &WeightedLayout,
    asked: Choice<f32>,
    threads: Option<usize>,
) -> Widths {
    let flat = Widths::of_weights(layout, threads);
    let skewed = (SKEWED_WEIGHTS * layout.mean_weight) as f32;
    let near_far = if layout.flat { flat.near_far } else { skewed };
    Widths { near_far: asked.or(near_far), tiles: asked.or(flat.tiles) }
}

/// What one replica ends with.
pub(super) struct Found {
    /// By label; on rank 0 alone.
    pub distances: Vec<f64>,
    /// Width of the windows.
    pub delta: f32,
    pub tiles: Option<TileFacts>,
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    question: &Question,
    widths: Widths,
) -> Result<ReplicaAnswer<Found>> {
    let (rank, layout, run) = (r.rank(), &question.graph.layout, &question.config.run);
    let state = State::allocate(r, layout.nodes)?;
    let cuda = |device: &mut _| {
        let arcs = layout.out.arc_count();
        Workspace::new(device, question.graph.on_device(rank)?, arcs, &question.seeds, widths)
    };
    let words = layout.nodes.div_ceil(64);
    let engine = Engine::new(r, cuda, || Ok(vec![0; words]))?;
    let mut search = Driver { question, widths, state, engine };
    let measured = timed(r, run, &mut search)?;
    let (delta, tiles) = match search.engine.workspace() {
        Some(Workspace::Tiles(tiles)) => (tiles.width, Some(tiles.search.facts())),
        _ => (widths.near_far, None),
    };
    let read = || Ok(Found { distances: values(r, &search.state.dist)?, delta, tiles });
    ReplicaAnswer::new(measured, read)
}

struct Driver<'a> {
    question: &'a Question,
    widths: Widths,
    state: State,
    /// On the host the nodes to begin with, as bits.
    engine: Engine<Workspace, Vec<u64>>,
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let (Question { graph, seeds, .. }, rank) = (self.question, r.rank());
        self.engine.with(
            r,
            &mut self.state.dist,
            |device, workspace, dist| workspace.reset(device, graph.on_device(rank)?, dist),
            |far, dist, _| {
                let dist = dist.host_mut().unwrap_or_default();
                host::start(dist, far, seeds, graph.layout.active);
            },
        )
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let (Question { graph, seeds, .. }, rank) = (self.question, r.rank());
        let delta = self.widths.near_far.into();
        let name = match self.engine.workspace() {
            Some(Workspace::Tiles(_)) => "step tiles in f64",
            _ => "step near-far in f64",
        };
        let (relaxed, rounds) = step(
            (r, log, name),
            &mut self.engine,
            &mut self.state.dist,
            |device, workspace, dist| workspace.launch(device, graph.on_device(rank)?, dist),
            |device, workspace| workspace.found(device),
            |far, dist, beat| {
                let dist = dist.host_mut().unwrap_or_default();
                host::near_far(&graph.layout.out, dist, far, delta, beat)
            },
        )?;
        log.book(name, (rounds, relaxed), (seeds.len() as u64, 0), "none");
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
enum Workspace {
    Tiles(Box<ByTiles>),
    NearFar(Box<NearFar>),
}

impl Workspace {
    fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        arcs: u64,
        seeds: &[u32],
        widths: Widths,
    ) -> Result<Workspace> {
        let begin = Begin::load(device, graph)?;
        let rows = Rows { double: true, ..rows(graph) };
        if let Some(search) = Tiled::of(device, &rows)? {
            let starts = device.alloc("seeds", seeds.len())?;
            starts.upload(seeds)?;
            let by_tiles = ByTiles { begin, search, seeds: starts, width: widths.tiles };
            return Ok(Workspace::Tiles(Box::new(by_tiles)));
        }
        let near_far = NearFar::new(device, graph, begin, (arcs, seeds), widths.near_far)?;
        Ok(Workspace::NearFar(Box::new(near_far)))
    }

    /// Queues what comes before a search.
    fn reset(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<()> {
        match self {
            Workspace::Tiles(tiles) => tiles.reset(device, dist),
            Workspace::NearFar(near_far) => near_far.reset(device, graph, dist),
        }
    }

    /// Queues a search to its end.
    fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<()> {
        match self {
            Workspace::Tiles(tiles) => tiles.launch(device, dist),
            Workspace::NearFar(near_far) => near_far.launch(device, graph, dist),
        }
    }

    /// What the last search, which has ended, found: arcs relaxed, and rounds.
    fn found(&self, device: &CudaDevice) -> Result<(u64, u64)> {
        match self {
            Workspace::Tiles(tiles) => {
                let Searched { relaxed, rounds, .. } = tiles.search.found(device)?;
                Ok((relaxed, rounds))
            }
            Workspace::NearFar(near_far) => near_far.found(device),
        }
    }
}

/// The kernels before a search: all distances infinite, and the seeds 0.
struct Begin {
    reset: Function,
    scatter: Function,
}

impl Begin {
    fn load(device: &mut CudaDevice, graph: &DeviceWeighted) -> Result<Begin> {
        let options = graph.options();
        let mut kernel = |name| device.function(source("sssp_double.cu"), &options, name);
        Ok(Begin { reset: kernel("sssp_double_reset")?, scatter: kernel("sssp_double_seeds")? })
    }

    /// Queues them. The first `args.active` nodes also leave the rounds of near-far, and seeds among them are pending.
    fn launch(&self, device: &CudaDevice, args: &DoubleArgs) -> Result<()> {
        let blocks = |items: u64| items.div_ceil(u64::from(THREADS)).clamp(1, 1 << 16) as u32;
        device.launch(self.reset, Launch::of(blocks(args.nodes), THREADS), args)?;
        device.launch(self.scatter, Launch::of(blocks(u64::from(args.count)), THREADS), args)
    }
}

/// A search by tiles.
struct ByTiles {
    begin: Begin,
    search: Tiled,
    seeds: DeviceBuffer<u32>,
    width: f32,
}

impl ByTiles {
    /// Of nodes without arcs, tiles say nothing: they have their distances from here.
    fn reset(&self, device: &CudaDevice, dist: &Replicated<f64>) -> Result<()> {
        let (seeds, count) = (self.seeds.pointer(), self.seeds.len() as u32);
        let (nodes, dist) = (dist.len() as u64, dist.on_device()?);
        self.begin
            .launch(device, &DoubleArgs { seeds, dist, nodes, count, ..DoubleArgs::zeroed() })?;
        self.search.reset(device, Seeds::Many(seeds, count), self.width)
    }

    fn launch(&self, device: &CudaDevice, dist: &Replicated<f64>) -> Result<()> {
        let dist = dist.on_device()?;
        let unreached = (f64::INFINITY.to_bits() >> 32) as u32;
        let search = Search { dist, unreached, width: self.width, ..Search::default() };
        self.search.launch(device, &search)
    }
}

/// The kernels of near-far, and what they need.
struct NearFar {
    begin: Begin,
    search: Function,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<DoubleStatus>,
    delta: f64,
}

impl NearFar {
    fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        begin: Begin,
        (arcs, seeds): (u64, &[u32]),
        delta: f32,
    ) -> Result<NearFar> {
        let options = graph.options();
        let search = device.function(source("sssp_double.cu"), &options, "sssp_double")?;
        let sizes = Sizes { active: graph.active as usize, arcs, seeds: seeds.len() };
        let arrays = Arrays::allocate(device, sizes)?;
        arrays.seeds.upload(seeds)?;
        Ok(NearFar {
            delta: delta.into(),
            begin,
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
        self.begin.launch(device, &self.args(device, graph, dist)?)
    }

    /// Queues a search to its end.
    fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<()> {
        self.arrays.control.clear()?;
        let shape = device.together(self.blocks, THREADS);
        device.launch(self.search, shape, &self.args(device, graph, dist)?)
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
            delta: self.delta,
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
