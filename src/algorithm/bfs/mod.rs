//! Breadth-first search: how many arcs each node is from a source.
//!
//! **Idea.** Level after level, each either *pushed* (the frontier claims its out-neighbours) or *pulled* (a node
//! that is not reached looks for an in-neighbour in the frontier, and stops at the first), whichever promises to
//! look at fewer arcs. On GPUs a search is one launch. Graphs of high diameter have thousands of levels of a few
//! nodes: there levels are distances, worked off out of order within a window by near-far, and unique in the end.
//!
//! **Which way.** With F the arcs out of the frontier (counted where pushes find nodes, else nodes x mean degree) and
//! P what a pull is expected to look at, unreached nodes x min(mean degree, m / F): push turns to pull when
//! F > `do_a` P, pull to push when F < `do_b` P. No pass over anything is made for it. Pulls look at far less than P
//! once a hub is in the frontier, since rows begin with hubs, and at all of it before: with `do_a` = 0.05 R-MAT 18 takes
//! 0.16 ms on an H200, with 1 0.07. Large pushes find most of what is left, each node by an atomic: from 2^23 arcs on they turn
//! at 0.005 of `do_a` (R-MAT 23, 21 M arcs against a P of 57 M: 1.0 ms pushed, 0.31 pulled; R-MAT 27, five of 32 sources:
//! 6 to 10.5 ms at a twentieth, 3.0 to 3.5 so; half as many arcs are better pushed there).
//!
//! **Replicas.** A level's set is the same in whatever order it is found, so replicas push redundantly without a word.
//! Pulls are shared where that pays, and with `--merge split`: GPUs that have a replica each run one joint launch, in which
//! owners store the words they found into everybody's frontier; elsewhere, and on the host, words are gathered after each pull.
//! `--merge dense` is the textbook loop: push the own chunk's frontier and OR the frontiers, pull into the own chunk and gather.
//!
//! **Arrays.** `level: [n] u32`, replicated, and equal without a merge of its own: whoever gets a frontier notes its
//! level; `front, next: [active] bits, replicated, OR`. By label; the id map is applied at the door.
//!
//! **Source.** Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first search", SC 2012; Pan, Wang, Wu, Yang,
//! Owens, "Multi-GPU graph analytics", IPDPS 2017 (do_a, do_b); Davidson and others, IPDPS 2014 (near-far);
//! Graph500's specification, version 2 (sources, TEPS).

mod answer;
mod cuda;
mod driver;
mod host;
mod options;

pub use answer::{Searches, Teps};
pub(crate) use answer::{check_options, start};
pub use options::{BfsOptions, SearchDirection};

use super::MergeMode;
use super::frame::{Repeat, timed};
use super::measure::Measured;
use crate::collective::{Frontier, MergeOp, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::TopologyRows;
use crate::run::{Answer, Choice, Context};
use driver::Driver;
use std::time::Instant;

/// The level of a node that is not reached.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// What a step does; the numbers are those of `kernels/bfs_round.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Everything to the end, redundantly.
    Finish = 0,
    /// Pushes, redundantly, until nothing is left or a pull pays.
    Grow = 1,
    /// One pull into the own chunk.
    Pull = 2,
    /// One push of the own chunk's frontier.
    Push = 3,
    /// Everything by near-far, redundantly.
    NearFar,
    /// Everything to the end, in one launch with the other GPUs.
    Joint = 5,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Task::Finish => "step push-pull",
            Task::Grow => "step push",
            Task::Pull => "step pull",
            Task::Push => "step chunk push",
            Task::NearFar => "step near-far",
            Task::Joint => "step joint push-pull",
        }
    }
}

/// What is known of the frontier: the same on all replicas.
#[derive(Debug, Clone, Copy)]
struct Known {
    nodes: u64,
    /// Arcs out of it, where they were counted.
    arcs: Option<u64>,
    /// Nodes reached so far, these included.
    reached: u64,
    /// Its level.
    depth: u32,
    /// It was found by a pull.
    pulled: bool,
    /// The step before stopped where a pull pays.
    want_pull: bool,
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// The frontier that it left.
    nodes: u64,
    arcs: Option<u64>,
    looked: u64,
    /// Nodes reached in all its levels.
    reached: u64,
    rounds: u64,
    /// It stopped where a pull pays.
    want_pull: bool,
    /// Entries that a device step left in its log.
    logged: u64,
}

/// The replicated state.
struct State {
    level: Replicated<u32>,
    front: Frontier,
    next: Frontier,
}

impl State {
    fn swap(&mut self) {
        std::mem::swap(&mut self.front, &mut self.next);
    }
}

/// How a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    NearFar,
    Redundant,
    /// Redundant pushes, pulls cut by GPUs that meet by themselves.
    Joint,
    Cut,
    Dense,
}

/// Nodes with arcs from which GPUs that can launch jointly do. R-MAT 22 (2.4 M) takes 0.132 ms jointly on two H200s and 0.114
/// repeated, R-MAT 24 (8.9 M) 0.208 and 0.235.
const JOINT_NODES: usize = 1 << 23;

impl Plan {
    fn new(merge: MergeMode, way: SearchDirection, r: &Replica, rows: &TopologyRows) -> Plan {
        let (columns, alone) = (&rows.columns, r.world() == 1);
        let cuda = matches!(r.backend, Backend::Cuda(_));
        let flat = columns.flat && way == SearchDirection::Auto && cuda;
        match merge {
            MergeMode::Dense => Plan::Dense,
            MergeMode::Auto | MergeMode::Redundant if flat => Plan::NearFar,
            MergeMode::Split if r.can_join() => Plan::Joint,
            MergeMode::Auto if r.can_join() && columns.active >= JOINT_NODES => Plan::Joint,
            MergeMode::Split if !alone => Plan::Cut,
            // Host replicas share the cores, so that nothing redundant is free. GPUs that the host leads from step to step
            // have not been seen to gain: R-MAT 27 takes 1.85 ms on one H200 and 3.74 cut over two.
            MergeMode::Auto if !alone && !cuda => Plan::Cut,
            _ => Plan::Redundant,
        }
    }
}

/// What the programs of all replicas are given.
#[derive(Clone)]
struct Question {
    /// Labels.
    sources: Vec<u32>,
    merge: MergeMode,
    options: BfsOptions,
    /// Bring every source's levels back, not only the last one's.
    keep: bool,
    /// Compare what replicas end with.
    compare: bool,
}

/// What one replica brings back.
struct Brought {
    /// By label, of the sources that are kept; rank 0's, and everybody's where they are compared.
    levels: Vec<Vec<u32>>,
    /// Of each source: nodes reached, arcs out of them, largest level.
    counts: Vec<[u64; 3]>,
    /// Of each source: self loops among the arcs, where an edge is two arcs.
    loops: Vec<u64>,
    near_far: bool,
    measured: Measured,
}

/// The driver of `hive run bfs`.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let job = context.job;
    let rows = context.ready.topology()?;
    let sources = job.start.nodes().to_vec();
    let many = sources.len() as u32;
    // With many sources each is searched from once, as Graph500 does, or as often as was asked for.
    let runs = match job.config.runs {
        _ if context.gauge || many == 1 => context.runs,
        None | Some(Choice::Auto) => many,
        Some(Choice::Is(runs)) => runs.saturating_mul(many),
    };
    let trace = job.config.trace && !context.gauge;
    let compare = job.config.verify && !context.gauge;
    let repeat = Repeat { runs, warmup: context.warmup, trace, compare };
    let question = Question {
        sources: sources.iter().map(|v| rows.columns.label(*v)).collect(),
        merge: job.config.merge,
        options: job.config.bfs.clone(),
        keep: job.config.verify
            || job.config.output.is_some()
            || job.config.target.is_some()
            || job.config.top > 0,
        compare: job.config.verify,
    };
    let shared = rows.clone();
    let mut brought = context.fleet.run(move |r| program(r, &shared, &question, repeat))?;
    let looked = brought.iter().map(|one| one.measured.arcs_relaxed).sum();
    let differs = |one: &Brought| one.levels != brought[0].levels;
    if let Some(other) = brought.iter().skip(1).position(|one| job.config.verify && differs(one)) {
        return Err(Error::Verify(format!(
            "replica {} ended with other levels than replica 0",
            other + 1
        )));
    }
    let Brought { levels, counts, loops, near_far, mut measured } = brought.swap_remove(0);
    measured.arcs_relaxed = looked;
    let start = Instant::now();
    // A gauging run does not come to all sources.
    let in_order = |levels: Vec<u32>| match levels.is_empty() {
        true => levels,
        false => rows.columns.to_input_order(levels),
    };
    let levels: Vec<Vec<u32>> = levels.into_iter().map(in_order).collect();
    measured.download_ms += start.elapsed().as_secs_f64() * 1e3;
    let predecessors = (job.config.predecessors || job.config.target.is_some()) && !context.gauge;
    let counted = (&counts[..], &loops[..]);
    Ok(Box::new(Searches::new(job, levels, counted, near_far, predecessors, measured)))
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    question: &Question,
    repeat: Repeat,
) -> Result<Brought> {
    let (nodes, active) = (rows.columns.nodes, rows.columns.active);
    let plan = Plan::new(question.merge, question.options.direction, r, rows);
    let state = State {
        level: r.array("level", nodes, MergeOp::Min)?,
        front: r.node_set("frontier", active, MergeOp::Or)?,
        next: r.node_set("frontier", active, MergeOp::Or)?,
    };
    let mut search = Driver::new(r, rows, question, plan, state, repeat)?;
    let mut measured = timed(r, repeat, &mut search)?;
    measured.download_ms = search.download_ms;
    let (levels, counts, loops) = search.finish();
    Ok(Brought { levels, counts, loops, near_far: plan == Plan::NearFar, measured })
}
