//! Core numbers: the largest k for which a node is among nodes that each have k arcs to others of them.
//!
//! **Idea.** Remove the nodes with k arcs left, and what that leaves with k, for k = 0, 1, ...; k is the core number
//! of what is removed. Graphs are symmetric; self loops do not count, parallel arcs each do.
//!
//! **Replicas.** Core numbers are unique, so replicas may peel redundantly and end with equal bits (docs/design.md,
//! "Redundant work ends equal"). On GPUs they do, in one launch. `--merge dense`, and the host's own, whose replicas share the cores: numbers start
//! as degrees and fall, over the own chunk until it is quiescent, to the largest h for which h neighbours have at least
//! h; owners' numbers are gathered, until nobody's fall. They are never too small, and where nothing falls any more
//! the nodes with k or more have k such neighbours each: they are core numbers.
//!
//! **Arrays.** `core: [active] u32, replicated, GATHER`, by label.
//!
//! **Source.** Matula, Beck, "Smallest-last ordering and clustering", JACM 1983; Dasari, Desh, Zubair, "ParK", IEEE Big
//! Data 2014; Montresor, De Pellegrini, Miorandi, "Distributed k-core decomposition", PODC 2011.

use super::MergeMode;
use super::frame::{Brought, Log, Repeat, Run, Step, timed};
use super::lists::Lists;
use super::measure::Measured;
use super::same::Words;
use crate::algorithm::ranking::{first, ranked};
use crate::collective::{MergeOp, Replicated};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, tiles, topology};
use crate::layout::{DeviceTopology, TopologyRows};
use crate::run::{Answer, Checked, Context, Job, fields};
use crate::units::{count, plural};
use crate::verify;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::Instant;

/// Core numbers, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Cores {
    /// `[n]`
    pub cores: Vec<u32>,
    /// Timings and counts.
    pub measured: Measured,
}

/// What a step does; the numbers are those of `kernels/kcore.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Everything, redundantly.
    Peel = 0,
    /// Numbers start as degrees.
    Degrees = 1,
    /// Numbers of the own chunk fall until none does.
    Sweep = 2,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Task::Peel => "step peel",
            Task::Degrees => "step degrees",
            Task::Sweep => "step sweep",
        }
    }
}

/// What a step found: arcs looked at, numbers that fell, rounds.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    arcs: u64,
    changed: u64,
    rounds: u64,
}

/// The driver of `hive run kcore`.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let job = context.job;
    let (merge, compare) = (job.config.merge, job.config.verify);
    let repeat = Repeat::of(context);
    let rows = context.ready.topology()?;
    let shared = rows.clone();
    let brought = context.fleet.run(move |r| program(r, &shared, merge, repeat, compare))?;
    let Brought { mut values, mut measured } =
        Brought::first(brought, compare, "other core numbers")?;
    // Nodes without arcs come last, and have none.
    values.resize(rows.columns.nodes, 0);
    measured.reached = values.len() as u64;
    measured.reached_arcs = rows.graph.arcs();
    Ok(Box::new(Cores { cores: rows.columns.to_input_order(values), measured }))
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    merge: MergeMode,
    repeat: Repeat,
    compare: bool,
) -> Result<Brought<u32>> {
    let cuda = matches!(r.backend, Backend::Cuda(_));
    let cut = match merge {
        MergeMode::Auto => !cuda,
        merge => merge != MergeMode::Redundant,
    };
    let dense = cut && r.world() > 1;
    let core = r.array("core", rows.columns.active, MergeOp::Gather)?;
    let rank = r.rank();
    let workspace = match &mut r.backend {
        Backend::Host(_) => None,
        Backend::Cuda(device) => Some(Workspace::new(device, rows, rank)?),
    };
    let mut peeling = Peeling { rows, dense, core, workspace };
    let measured = timed(r, repeat, &mut peeling)?;
    Brought::new(r, &peeling.core, compare, measured)
}

/// One run, to be repeated.
struct Peeling<'a> {
    rows: &'a TopologyRows,
    dense: bool,
    core: Replicated<u32>,
    workspace: Option<Workspace>,
}

impl Run for Peeling<'_> {
    /// The first step makes the array from nothing.
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        if !self.dense {
            return self.step(r, log, Task::Peel).map(drop);
        }
        self.step(r, log, Task::Degrees)?;
        loop {
            let found = self.step(r, log, Task::Sweep)?;
            let all = r.agree("fell", [found.changed, 0, 0, 0])?;
            if all.iter().all(|payload| payload[0] == 0) {
                return Ok(());
            }
            r.gather(&mut self.core, &self.rows.chunks)?;
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.core)]
    }
}

impl Peeling<'_> {
    fn step(&mut self, r: &mut Replica, log: &mut Log, task: Task) -> Result<Found> {
        let begin = Instant::now();
        r.begin(log.iteration(), task.name())?;
        let (chance, rank) = (r.chance(), r.rank());
        let step = Step::begin(r)?;
        let rendezvous = r.rendezvous().clone();
        let chunk = self.rows.chunks.range(rank);
        let mut found = Found::default();
        match (&r.backend, &self.workspace) {
            (Backend::Cuda(device), Some(w)) => {
                w.launch(device, self.rows.on_device(rank)?, &self.core, task, chunk, chance)?;
            }
            (Backend::Host(worker), _) => {
                let (rows, core) = (self.rows, self.core.atomics());
                let host = Host { rows, core, beat: &|| rendezvous.beat(rank) };
                found = worker.pool.install(|| match task {
                    Task::Peel => host.peel(),
                    Task::Degrees => host.degrees(),
                    Task::Sweep => host.sweep(chunk.start as usize..chunk.end as usize),
                });
            }
            _ => return Err(Error::machine("a device without a workspace; this is a bug")),
        }
        step.end(r)?;
        if let (Backend::Cuda(device), Some(w)) = (&r.backend, &self.workspace) {
            found = w.found(device)?;
        }
        let merge = if task == Task::Sweep { "gather" } else { "none" };
        log.book(found.rounds, found.arcs, merge);
        log.note(task.name(), (self.rows.columns.active as u64, found.arcs), merge, begin);
        Ok(found)
    }
}

/// Nodes of one task on host threads.
const TASK: usize = 1 << 10;

/// The steps on host threads.
struct Host<'a> {
    rows: &'a TopologyRows,
    core: &'a [AtomicU32],
    beat: &'a (dyn Fn() + Sync),
}

impl Host<'_> {
    fn core(&self, v: usize) -> u32 {
        self.core[v].load(Relaxed)
    }

    fn others(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        let row = self.rows.columns.out.row(v).iter();
        row.map(|u| *u as usize).filter(move |u| *u != v)
    }

    fn degrees(&self) -> Found {
        (self.beat)();
        let all = self.core.par_iter().enumerate().with_min_len(TASK);
        all.for_each(|(v, slot)| slot.store(self.others(v).count() as u32, Relaxed));
        Found { rounds: 1, ..Found::default() }
    }

    fn peel(&self) -> Found {
        let mut found = self.degrees();
        let mut left: Vec<u32> = (0..self.core.len() as u32).collect();
        while let Some(k) = left.par_iter().map(|v| self.core(*v as usize)).min() {
            let (kept, mut front): (Vec<u32>, Vec<u32>) =
                left.into_par_iter().partition(|v| self.core(*v as usize) > k);
            left = kept;
            while !front.is_empty() {
                found.rounds += 1;
                let remove = |part: &[u32]| {
                    (self.beat)();
                    part.iter().flat_map(|v| self.remove(*v as usize, k)).collect::<Vec<u32>>()
                };
                found.arcs +=
                    front.iter().map(|v| self.rows.columns.out.degree(*v as usize)).sum::<u64>();
                front = match front.len() <= TASK {
                    true => remove(&front),
                    false => front.par_chunks(TASK / 4).flat_map_iter(remove).collect(),
                };
            }
            // What the others left with k went with them.
            left.retain(|v| self.core(*v as usize) > k);
        }
        found
    }

    /// The neighbours that this leaves with k arcs.
    fn remove(&self, v: usize, k: u32) -> impl Iterator<Item = u32> + '_ {
        let falls = move |u: &usize| {
            let one_less = |core: u32| (core > k).then(|| core - 1);
            self.core[*u].fetch_update(Relaxed, Relaxed, one_less) == Ok(k + 1)
        };
        self.others(v).filter(falls).map(|u| u as u32)
    }

    /// The largest h for which h neighbours have at least h, and at most what the node has now.
    fn h_index(&self, v: usize, counts: &mut Vec<u32>) -> u32 {
        let now = self.core(v) as usize;
        counts.clear();
        counts.resize(now + 1, 0);
        self.others(v).for_each(|u| counts[now.min(self.core(u) as usize)] += 1);
        let (mut h, mut at_least) = (now, counts[now] as usize);
        while at_least < h {
            h -= 1;
            at_least += counts[h] as usize;
        }
        h as u32
    }

    fn sweep(&self, chunk: Range<usize>) -> Found {
        let (changed, offsets) = (AtomicU64::new(0), &self.rows.columns.out.offsets);
        let mut found = Found::default();
        loop {
            let fell = AtomicBool::new(false);
            let parts = (chunk.start..chunk.end).into_par_iter().step_by(TASK / 4);
            parts.for_each_init(Vec::new, |counts, first| {
                (self.beat)();
                for v in first..chunk.end.min(first + TASK / 4) {
                    let h = self.h_index(v, counts);
                    if h < self.core(v) {
                        self.core[v].store(h, Relaxed);
                        changed.fetch_add(1, Relaxed);
                        fell.store(true, Relaxed);
                    }
                }
            });
            found.rounds += 1;
            found.arcs += offsets[chunk.end] - offsets[chunk.start];
            if !fell.into_inner() {
                return Found { changed: changed.into_inner(), ..found };
            }
        }
    }
}

const THREADS: u32 = 512; // as in kernels/kcore.cu

/// `kernels/kcore.cu`: KcoreArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Args {
    lists: Lists,
    core: u64,
    rest: u64,
    queue: u64,
    control: u64,
    status: u64,
    abort: u64,
    deadline_ns: u64,
    active: u32,
    lo: u32,
    hi: u32,
    task: u32,
}

/// `kernels/kcore.cu`: KcoreStatus.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Status {
    arcs: u64,
    changed: u64,
    rounds: u32,
    stopped: u32,
}

/// What a replica's steps on a GPU need beside the replicated state.
struct Workspace {
    run: Function,
    blocks: u32,
    rest: DeviceBuffer<u32>,
    queue: DeviceBuffer<u32>,
    tiles: DeviceBuffer<u64>,
    control: DeviceBuffer<u64>,
    status: Pinned<Status>,
    active: u32,
}

/// The arrays on one GPU.
pub(crate) fn memory(shape: &GraphShape, _: usize) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let mut arrays = topology(shape);
    arrays.extend([
        DeviceArray::new::<u32>("core", active),
        DeviceArray::new::<u32>("rest", 2 * active),
        DeviceArray::new::<u32>("queue", active),
        DeviceArray::new::<u64>("tiles", 2 * tiles(shape.arcs)),
        DeviceArray::new::<u64>("control", CONTROL),
    ]);
    arrays
}

impl Workspace {
    fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let run = device.function(source("kcore.cu"), &graph.options(), "kcore_run")?;
        let active = rows.columns.active;
        Ok(Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            rest: device.alloc("rest", 2 * active)?,
            queue: device.alloc("queue", active)?,
            tiles: device.alloc("tiles", 2 * tiles(rows.columns.out.arcs()))?,
            control: device.alloc("control", CONTROL)?,
            status: Pinned::new(&device.context, 1)?,
            active: active as u32,
        })
    }

    /// Queues one task of `kernels/kcore.cu`.
    fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceTopology,
        core: &Replicated<u32>,
        task: Task,
        chunk: Range<u64>,
        chance: Option<u64>,
    ) -> Result<()> {
        let missing = || Error::machine("host arrays in a device step; this is a bug");
        let args = Args {
            lists: Lists::new(graph, &self.tiles, &self.control),
            core: core.device().ok_or_else(missing)?.pointer(),
            rest: self.rest.pointer(),
            queue: self.queue.pointer(),
            control: self.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            active: self.active,
            lo: chunk.start as u32,
            hi: chunk.end as u32,
            task: task as u32,
        };
        self.control.clear()?;
        let shape = Launch::together(self.blocks, chance, THREADS);
        device.launch(self.run, shape, &args)
    }

    /// What the last launch, which has ended, found.
    fn found(&self, device: &CudaDevice) -> Result<Found> {
        let Status { arcs, changed, rounds, stopped } = self.status.get(0);
        device.met(stopped, "kcore_run")?;
        Ok(Found { arcs, changed, rounds: rounds.into() })
    }
}

impl Cores {
    /// The largest core number, and how many nodes have it.
    fn largest(&self) -> (u32, u64) {
        let largest = self.cores.iter().copied().max().unwrap_or(0);
        (largest, self.cores.iter().filter(|core| **core == largest).count() as u64)
    }
}

impl Answer for Cores {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        match self.measured.merge_modes.contains_key("gather") {
            true => "h-index",
            false => "peel",
        }
    }

    fn cuts(&self, job: &Job) -> String {
        match self.measured.merge_modes.contains_key("gather") {
            true => format!("; chunks of equal {}", job.config.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Job) -> Vec<(&'static str, String)> {
        let (largest, nodes) = self.largest();
        vec![(
            "answer",
            format!("largest core number {}, of {}", count(largest.into()), plural(nodes, "node")),
        )]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Job) -> String {
        "variant:cores".into()
    }

    /// `max-core`, and the nodes that have it.
    fn facts(&self, _: &Job) -> Map<String, Value> {
        let (largest, nodes) = self.largest();
        fields([("max-core", json!(largest)), ("max-core-nodes", json!(nodes))])
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.cores.iter().copied());
        let highest = first(&job.graph, values, k, |a, b| b.cmp(a));
        Some(ranked(&job.graph, ["node", "core number"], highest))
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        Table::of_nodes([("core", Column::Count(&self.cores))])
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let check = verify::cores(&job.graph, &self.cores)?;
        Ok(Checked { found: fields([("max_core", json!(check.max_core))]), ..Checked::default() })
    }
}
