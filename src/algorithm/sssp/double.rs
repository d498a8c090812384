//! The search in f64, by every replica alone: near-far on host threads; on a GPU by tiles where these pay (`long_paths`), else
//! near-far (`kernels/sssp/sssp_double.cu`).
//!
//! Distances are unique in f64, too (x -> fl(x + w) is monotone), so replicas end equal without a merge. Sums of whole
//! numbers are exact below 2^53.

use super::brought::{LeftDistances, brought};
use super::cuda::rows;
use super::host;
use super::plan::Question;
use crate::algorithm::arrays::{device_arrays, replicated_arrays};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, step, timed};
use crate::algorithm::long_paths::{Rows, Search, Searched, Seeds, Tiled, Widths};
use crate::algorithm::same::Words;
use crate::choice::Choice;
use crate::collective::Replicated;
use crate::device::kernels::sssp_double::{DoubleArgs, DoubleControl, DoubleStatus, THREADS};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape};
use crate::layout::{DeviceWeighted, TileFacts, WeightedGraph, WeightedLayout};
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
    /// By node, in place of these.
    pub left: Option<LeftDistances>,
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
    let mut search = Driver::new(r, question, widths)?;
    let measured = timed(r, &question.config.run, &mut search)?;
    let (delta, tiles) = match search.engine.workspace() {
        Some(Workspace { way: Way::Tiles(search, width), .. }) => (*width, Some(search.facts())),
        _ => (widths.near_far, None),
    };
    ReplicaAnswer::new(measured, || {
        let (distances, left) = brought(r, question, &search.state.dist)?;
        Ok(Found { distances, left, delta, tiles })
    })
}

pub(super) struct Driver<'a> {
    graph: &'a WeightedGraph,
    /// Labels.
    seeds: Vec<u32>,
    widths: Widths,
    pub state: State,
    /// On the host the nodes to begin with, as bits.
    engine: Engine<Workspace, Vec<u64>>,
}

impl<'a> Driver<'a> {
    pub fn new(r: &mut Replica, question: &'a Question, widths: Widths) -> Result<Driver<'a>> {
        let Question { graph, seeds, .. } = question;
        let (rank, layout) = (r.rank(), &graph.layout);
        let state = State::allocate(r, layout.nodes)?;
        let arcs = layout.out.arc_count();
        let cuda =
            |device: &mut _| Workspace::new(device, graph.on_device(rank)?, arcs, seeds, widths);
        let words = layout.nodes.div_ceil(64);
        let engine = Engine::new(r, cuda, || Ok(vec![0; words]))?;
        Ok(Driver { graph, seeds: seeds.clone(), widths, state, engine })
    }

    /// Begins a search from this label alone.
    pub fn begin_at(&mut self, r: &mut Replica, label: u32) -> Result<()> {
        self.seeds = vec![label];
        if let Engine::Cuda(workspace) = &self.engine {
            workspace.seeds.upload(&[label])?;
        }
        self.reset(r, 0)
    }
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let (graph, seeds, rank) = (self.graph, &self.seeds, r.rank());
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
        let (graph, seeds, rank) = (self.graph, &self.seeds, r.rank());
        let delta = self.widths.near_far.into();
        let name = match self.engine.workspace() {
            Some(Workspace { way: Way::Tiles(..), .. }) => "step tiles in f64",
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
                host::near_far(&graph.layout, dist, far, delta, beat)
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
struct Workspace {
    /// All distances infinite; then the seeds 0. Tiles say nothing of nodes without arcs: these have their distances from here.
    before: [Function; 2],
    seeds: DeviceBuffer<u32>,
    way: Way,
}

/// How a GPU searches.
enum Way {
    /// In windows of this width.
    Tiles(Box<Tiled>, f32),
    NearFar(Box<NearFar>),
}

/// The kernel of near-far, and what it needs.
struct NearFar {
    run: Function,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<DoubleStatus>,
    delta: f64,
}

impl Workspace {
    fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        arcs: u64,
        seeds: &[u32],
        widths: Widths,
    ) -> Result<Workspace> {
        let options = graph.options();
        let mut kernel = |name| device.function(source("sssp_double.cu"), &options, name);
        let before = [kernel("sssp_double_reset")?, kernel("sssp_double_seeds")?];
        let run = kernel("sssp_double")?;
        let way = match Tiled::of(device, &Rows { double: true, ..rows(graph, false) })? {
            Some(search) => Way::Tiles(Box::new(search), widths.tiles),
            None => Way::NearFar(Box::new(NearFar {
                run,
                blocks: device.resident_blocks(run, THREADS, 0)?,
                arrays: Arrays::allocate(device, Sizes { active: graph.active as usize, arcs })?,
                status: Pinned::new(&device.context, 1)?,
                delta: widths.near_far.into(),
            })),
        };
        let starts = device.alloc("seeds", seeds.len())?;
        starts.upload(seeds)?;
        Ok(Workspace { before, seeds: starts, way })
    }

    /// Queues what comes before a search.
    fn reset(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<()> {
        let args = self.args(device, graph, dist)?;
        for (kernel, items) in self.before.into_iter().zip([args.nodes, args.count.into()]) {
            let blocks = items.div_ceil(u64::from(THREADS)).clamp(1, 1 << 16) as u32;
            device.launch(kernel, Launch::of(blocks, THREADS), &args)?;
        }
        match &self.way {
            Way::Tiles(search, width) => {
                search.reset(device, Seeds::Many(args.seeds, args.count), *width)
            }
            Way::NearFar(_) => Ok(()),
        }
    }

    /// Queues a search to its end.
    fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<()> {
        match &self.way {
            Way::Tiles(search, width) => {
                let (dist, infinite) = (dist.on_device()?, f64::INFINITY.to_bits());
                let unreached = (infinite >> 32) as u32;
                let asked = Search { dist, unreached, width: *width, ..Search::default() };
                search.launch(device, &asked)
            }
            Way::NearFar(near_far) => {
                let NearFar { run, blocks, arrays, .. } = &**near_far;
                arrays.control.clear()?;
                let shape = device.together(*blocks, THREADS);
                device.launch(*run, shape, &self.args(device, graph, dist)?)
            }
        }
    }

    /// What the last search, which has ended, found: arcs relaxed, and rounds.
    fn found(&self, device: &CudaDevice) -> Result<(u64, u64)> {
        match &self.way {
            Way::Tiles(search, _) => {
                let Searched { relaxed, rounds, .. } = search.found(device)?;
                Ok((relaxed, rounds))
            }
            Way::NearFar(near_far) => {
                let DoubleStatus { relaxed, rounds, stopped, .. } = near_far.status.get(0);
                device.met(stopped, "sssp_double")?;
                Ok((relaxed, rounds))
            }
        }
    }

    /// Those of near-far; with tiles what comes before them reads.
    fn args(
        &self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        dist: &Replicated<f64>,
    ) -> Result<DoubleArgs> {
        let args = DoubleArgs {
            seeds: self.seeds.pointer(),
            count: self.seeds.len() as u32,
            dist: dist.on_device()?,
            nodes: dist.len() as u64,
            ..DoubleArgs::zeroed()
        };
        let Way::NearFar(near_far) = &self.way else { return Ok(args) };
        let NearFar { arrays, status, delta, .. } = &**near_far;
        Ok(DoubleArgs {
            offsets: graph.out.offsets.pointer(),
            arcs: graph.out.arcs.pointer(),
            pending: arrays.pending.pointer(),
            stamp: arrays.stamp.pointer(),
            queue: arrays.queue.pointer(),
            giants: arrays.giants.pointer(),
            control: arrays.control.pointer(),
            status: status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            capacity: arrays.giants.len() as u64 / 2,
            delta: *delta,
            active: graph.active,
            long_row: LONG_ROW as u32,
            giant_row: GIANT_ROW as u32,
            form: graph.form,
            ..args
        })
    }
}

replicated_arrays! {
    /// The replicated state, for so many nodes.
    pub(super) struct State of usize {
        /// `[n]`, by label.
        dist: Replicated<f64> = "dist in f64", Min, |nodes| *nodes;
    }
}

/// What lengths of arrays follow from.
struct Sizes {
    active: usize,
    arcs: u64,
}

device_arrays! {
    /// What near-far needs beside rows, seeds and state.
    struct Arrays of Sizes {
        pending: u32 = "far pile", |s| s.active.div_ceil(32);
        stamp: u32 = "rounds of nodes", |s| s.active;
        queue: u32 = "queues", |s| 2 * s.active;
        giants: u32 = "giant rows", |s| 2 * ((s.arcs / GIANT_ROW) as usize).max(1);
        control: u64 = "control", |_| CONTROL;
    }
}

/// State and workspace on a GPU, for a single seed; without tiles, which are made where there is room.
pub(super) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
    let sizes = Sizes { active: shape.active as usize, arcs: shape.arcs };
    let seeds = vec![DeviceArray::new::<u32>("seeds", 1)];
    [State::list(shape.nodes as usize, 1), seeds, Arrays::list(sizes)].concat()
}
