//! Triangles: how many each node is in, and how many there are.
//!
//! **Idea.** A triangle is found once, at the arc from its largest label to its middle one: the third node is in the
//! parts of both rows that lie below the middle one. Labels fall with degrees where these are skewed, so that such
//! parts are short for all nodes. Graphs are symmetric; self loops and parallel arcs do not count.
//!
//! **Replicas.** Each counts the triangles whose largest label is in its chunk, for all three nodes, and counts are
//! summed at the end; whole numbers, so that their order does not matter. Chunks are of equal cost: for each arc to
//! a smaller label the shorter of the two parts. `--merge redundant` is everything by everybody.
//!
//! **Arrays.** `count: [active] u64, replicated, SUM`, by label.
//!
//! **Source.** Schank, Wagner, "Finding, counting and listing all triangles in large graphs", WEA 2005; Hu, Liu, Huang,
//! "TriCore", SC 2018.

use super::MergeMode;
use super::frame::{Brought, Log, Repeat, Run, Step, timed};
use super::measure::Measured;
use super::same::Words;
use crate::algorithm::ranking::{first, ranked};
use crate::collective::Split;
use crate::collective::{MergeOp, Replicated, atomic_words};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, fewer, source};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::layout::memory::{DeviceArray, GraphShape, topology};
use crate::layout::{ColumnRows, DeviceTopology, TopologyRows};
use crate::run::{Answer, Checked, Context, Job, fields};
use crate::units::{count, plural};
use crate::verify;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Triangles, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Triangles {
    /// `[n]` how many each node is in.
    pub counts: Vec<u64>,
    /// How many there are.
    pub total: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// The driver of `hive run triangles`.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let job = context.job;
    let (merge, compare) = (job.config.merge, job.config.verify);
    let repeat = Repeat::of(context);
    let rows = context.ready.topology()?;
    let (shared, world) = (rows.clone(), context.fleet.world());
    let cut = (world > 1 && merge != MergeMode::Redundant)
        .then(|| equal_costs(&rows.columns.out, world, job.config.chunk_align));
    let brought = context.fleet.run(move |r| program(r, &shared, cut.as_ref(), repeat, compare))?;
    let Brought { mut values, mut measured } = Brought::first(brought, compare, "other counts")?;
    // Nodes without arcs come last, and have none.
    values.resize(rows.columns.nodes, 0);
    measured.reached = values.len() as u64;
    measured.reached_arcs = rows.graph.arcs();
    let total = values.par_iter().sum::<u64>() / 3;
    Ok(Box::new(Triangles { counts: rows.columns.to_input_order(values), total, measured }))
}

/// The part of a row that leads to labels below `limit`.
fn below(rows: &ColumnRows, v: usize, limit: u32) -> &[u32] {
    let row = rows.row(v);
    &row[..row.partition_point(|u| *u < limit)]
}

/// Chunks of about equal work.
fn equal_costs(rows: &ColumnRows, world: usize, align: u32) -> Split {
    let active = rows.offsets.len() - 1;
    let nodes = (0..active).into_par_iter().with_min_len(TASK);
    let lengths: Vec<u64> = nodes.clone().map(|v| below(rows, v, v as u32).len() as u64).collect();
    let cost = |v: usize| {
        let shorter = |(i, u): (usize, &u32)| lengths[*u as usize].min(i as u64);
        let arcs = below(rows, v, v as u32).iter().enumerate();
        rows.degree(v) + arcs.map(shorter).sum::<u64>()
    };
    let mut before: Vec<u64> = nodes.map(cost).collect();
    before.push(0);
    let mut total = 0;
    before.iter_mut().for_each(|cost| total += std::mem::replace(cost, total));
    Split::by_weight(active as u64, world, align, total, |v| before[v as usize])
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    cut: Option<&Split>,
    repeat: Repeat,
    compare: bool,
) -> Result<Brought<u64>> {
    let count = r.array("triangles", rows.columns.active, MergeOp::Sum)?;
    let rank = r.rank();
    let chunk = cut.map_or(0..rows.columns.active as u64, |cut| cut.range(rank));
    let workspace = match &mut r.backend {
        Backend::Host(_) => None,
        Backend::Cuda(device) => Some(Workspace::new(device, rows, rank)?),
    };
    let mut counting = Counting { rows, chunk, merged: cut.is_some(), count, workspace };
    let measured = timed(r, repeat, &mut counting)?;
    Brought::new(r, &counting.count, compare, measured)
}

/// One run, to be repeated.
struct Counting<'a> {
    rows: &'a TopologyRows,
    /// Nodes whose triangles with smaller labels are counted.
    chunk: Range<u64>,
    merged: bool,
    count: Replicated<u64>,
    workspace: Option<Workspace>,
}

impl Run for Counting<'_> {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        match self.count.device() {
            Some(buffer) => buffer.clear(),
            None => {
                self.count.host_mut().unwrap_or_default().fill(0);
                Ok(())
            }
        }
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let begin = Instant::now();
        r.begin(log.iteration(), "step count")?;
        let (chance, rank) = (r.chance(), r.rank());
        let offsets = &self.rows.columns.out.offsets;
        let arcs = offsets[self.chunk.start as usize]..offsets[self.chunk.end as usize];
        let step = Step::begin(r)?;
        let rendezvous = r.rendezvous().clone();
        match (&r.backend, &self.workspace) {
            (Backend::Cuda(device), Some(w)) => {
                w.launch(device, self.rows.on_device(rank)?, &self.count, arcs.clone(), chance)?;
            }
            (Backend::Host(worker), _) => {
                let chunk = self.chunk.start as usize..self.chunk.end as usize;
                let rows = &self.rows.columns.out;
                let count = atomic_words(self.count.host_mut().unwrap_or_default());
                let beat = || rendezvous.beat(rank);
                worker.pool.install(|| count_on_host(rows, count, chunk, &beat));
            }
            _ => return Err(Error::machine("a device without a workspace; this is a bug")),
        }
        step.end(r)?;
        if self.merged {
            r.merge(&mut self.count)?;
        }
        let merge = if self.merged { "sum" } else { "none" };
        log.book(1, arcs.end - arcs.start, merge);
        log.note(
            "step count",
            (self.chunk.end - self.chunk.start, arcs.end - arcs.start),
            merge,
            begin,
        );
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.count)]
    }
}

/// Nodes of one task on host threads.
const TASK: usize = 1 << 8;

/// Counts the triangles whose largest label is in `chunk`.
fn count_on_host(
    rows: &ColumnRows,
    count: &[AtomicU64],
    chunk: Range<usize>,
    beat: &(dyn Fn() + Sync),
) {
    let credit = |v: u32, found: u64| {
        if found > 0 {
            count[v as usize].fetch_add(found, Relaxed);
        }
    };
    chunk.clone().into_par_iter().step_by(TASK).for_each(|first| {
        beat();
        for v in first..chunk.end.min(first + TASK) {
            let (mut own, mut of_v) = (below(rows, v, v as u32), 0);
            // From the largest neighbour down: what is left of the row lies below it.
            while let Some((u, rest)) = own.split_last() {
                own = rest;
                if rest.last() == Some(u) {
                    continue;
                }
                let mut found = 0;
                common(rest, below(rows, *u as usize, *u), |w| {
                    credit(w, 1);
                    found += 1;
                });
                credit(*u, found);
                of_v += found;
            }
            credit(v as u32, of_v);
        }
    });
}

/// What two rising lists have in common, once each.
fn common(one: &[u32], other: &[u32], mut body: impl FnMut(u32)) {
    let (shorter, mut longer) = if one.len() < other.len() { (one, other) } else { (other, one) };
    for (i, w) in shorter.iter().enumerate() {
        if i > 0 && shorter[i - 1] == *w {
            continue;
        }
        // As far as twice the stretch that is to be passed over.
        let mut reach = 1;
        while reach < longer.len() && longer[reach] < *w {
            reach *= 2;
        }
        let near = &longer[..longer.len().min(reach + 1)];
        longer = &longer[near.partition_point(|x| x < w)..];
        if longer.first() == Some(w) {
            body(*w);
        }
    }
}

const THREADS: u32 = 512; // as in kernels/triangles.cu

/// `kernels/triangles.cu`: TriangleArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Args {
    offsets: u64,
    columns: u64,
    below: u64,
    count: u64,
    next: u64,
    first: u64,
    last: u64,
    active: u32,
    unused: u32,
}

/// What a replica's steps on a GPU need beside the replicated state.
struct Workspace {
    run: Function,
    blocks: u32,
    below: DeviceBuffer<u32>,
    next: DeviceBuffer<u64>,
    active: u32,
}

/// The arrays on one GPU.
pub(crate) fn memory(shape: &GraphShape, _: usize) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let mut arrays = topology(shape);
    arrays.extend([
        DeviceArray::new::<u64>("triangles", active),
        DeviceArray::new::<u32>("arcs to smaller labels", active),
        DeviceArray::new::<u64>("next arcs", 1),
    ]);
    arrays
}

impl Workspace {
    fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let mut kernel = |name| device.function(source("triangles.cu"), &graph.options(), name);
        let (run, below) = (kernel("triangles_count")?, kernel("triangles_below")?);
        let active = rows.columns.active;
        let workspace = Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            below: device.alloc("arcs to smaller labels", active)?,
            next: device.alloc("next arcs", 1)?,
            active: active as u32,
        };
        let blocks = active.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        device.launch(below, shape, &workspace.args(graph, 0, 0..0))?;
        device.wait()?;
        Ok(workspace)
    }

    fn args(&self, graph: &DeviceTopology, count: u64, arcs: Range<u64>) -> Args {
        Args {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            below: self.below.pointer(),
            count,
            next: self.next.pointer(),
            first: arcs.start,
            last: arcs.end,
            active: self.active,
            unused: 0,
        }
    }

    /// Queues counting over these arcs.
    fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceTopology,
        count: &Replicated<u64>,
        arcs: Range<u64>,
        chance: Option<u64>,
    ) -> Result<()> {
        let missing = || Error::machine("host arrays in a device step; this is a bug");
        let count = count.device().ok_or_else(missing)?.pointer();
        self.next.clear()?;
        let blocks = fewer(self.blocks, chance);
        let shape = Launch::of(blocks, THREADS);
        device.launch(self.run, shape, &self.args(graph, count, arcs))
    }
}

impl Answer for Triangles {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        "oriented intersection"
    }

    fn cuts(&self, _: &Job) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; chunks of equal cost".into(),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Job) -> Vec<(&'static str, String)> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let text =
            format!("{}, one node in {} of them", plural(self.total, "triangle"), count(most));
        vec![("answer", text)]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Job) -> String {
        "variant:triangles".into()
    }

    /// `triangles`, and the most of one node.
    fn facts(&self, _: &Job) -> Map<String, Value> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        fields([("triangles", json!(self.total)), ("max-triangles", json!(most))])
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.counts.iter().copied());
        let highest = first(&job.graph, values, k, |a, b| b.cmp(a));
        Some(ranked(&job.graph, ["node", "triangles"], highest))
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        Table::of_nodes([("triangles", Column::Total(&self.counts))])
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let check = verify::triangles(&job.graph, &self.counts)?;
        Ok(Checked { found: fields([("triangles", json!(check.triangles))]), ..Checked::default() })
    }
}
