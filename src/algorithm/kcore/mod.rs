//! Core numbers.
//!
//! **Definition.** core(v) = the largest k such that v lies in a subgraph in which every node has degree at least k. Graphs
//! are symmetric; self loops do not count, parallel arcs each do.
//!
//! **Idea.** Peel: for k = 0, 1, ... remove the nodes of degree at most k until none is left; k is the core number of
//! what is removed.
//!
//! **Plans.** *Peel*: every replica peels everything; core numbers are unique, so they end with equal bits. GPUs do so in one
//! launch. *Dense* (`--merge dense`, and several host replicas): numbers start as degrees, and each replica lowers the
//! numbers of its own chunk to the largest h such that h neighbours have at least h, until none falls; owners' numbers
//! are gathered, until nobody's fall.
//!
//! **Invariant of the dense plan.** Numbers are never below the core numbers. When none falls, the nodes of number k or
//! more have k such neighbours each, so they are core numbers.
//!
//! **Arrays.** `core: [active] u32, replicated, GATHER`, by label.
//!
//! **Source.** Matula, Beck, "Smallest-last ordering and clustering", JACM 1983; Dasari, Desh, Zubair, "ParK", IEEE Big
//! Data 2014; Montresor, De Pellegrini, Miorandi, "Distributed k-core decomposition", PODC 2011.

mod answer;
mod cuda;
mod host;

pub use answer::Cores;

use super::arrays::replicated_arrays;
use super::frame::{Engine, Log, ReplicaAnswer, Run, step, tasks, timed, values};
use super::same::Words;
use super::workload::{Algorithm, NoOptions, Request, run};
use super::{MergeMode, RunOptions};
use crate::collective::Replicated;
use crate::device::kernels::kcore as kernel;
use crate::error::Result;
use crate::fleet::{Backend, Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, TopologyRows};
use cuda::{Sizes, Workspace};
use host::Host;

/// The workload.
pub struct Kcore;

/// What core numbers are asked: nothing of their own.
pub type KcoreConfig = NoOptions;

/// The core number of every node of a symmetric graph.
///
/// # Errors
/// [`crate::Error::Input`] for a graph in which some arc lacks its reverse; [`crate::Error::Fault`] when a replica fails;
/// [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn kcore(fleet: &Fleet, graph: &Prepared, config: &KcoreConfig) -> Result<Cores> {
    run::<Kcore>(fleet, graph, config)
}

impl Algorithm for Kcore {
    type Config = KcoreConfig;
    type Start = ();
    type Answer = Cores;
    const NAME: &'static str = "kcore";
    const ABOUT: &'static str =
        "Core numbers: the largest k such that a node lies in a subgraph of minimum degree k";
    const EXAMPLES: [&'static str; 2] = [
        "hive run kcore --graph web.mtx --top 5",
        "hive run kcore --graph rmat:12 --output cores.tsv",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["kcore.cu"];
    const RANKS: Option<&'static str> = Some("the nodes of the highest core numbers");

    fn start(_: &KcoreConfig, graph: &Graph) -> Result<()> {
        super::symmetric(Self::NAME, graph)
    }

    fn arrays(shape: &GraphShape, _: &KcoreConfig, world: usize) -> Vec<DeviceArray> {
        cuda::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Cores> {
        let Request { fleet, graph, run, .. } = request;
        let (rows, run) = (graph.topology(fleet)?, run.clone());
        let shared = rows.clone();
        let answers = fleet.run(move |r| program(r, &shared, &run))?;
        let (mut cores, mut measured) = ReplicaAnswer::first(answers);
        // Nodes without arcs come last, and have none.
        cores.resize(rows.columns.nodes, 0);
        measured.reached = cores.len() as u64;
        measured.reached_arcs = rows.graph.arcs();
        Ok(Cores { cores: rows.columns.to_input_order(cores), measured })
    }
}

tasks! {
    /// What a step does.
    enum Task {
        /// Everything, redundantly.
        Peel(kernel::PEEL) = "step peel",
        /// Numbers start as degrees.
        Degrees(kernel::DEGREES) = "step degrees",
        /// Numbers of the own chunk fall until none does.
        Sweep(kernel::SWEEP) = "step sweep",
    }
}

/// What a step found: arcs looked at, numbers that fell, rounds.
#[derive(Debug, Clone, Copy, Default)]
struct StepResult {
    arcs: u64,
    changed: u64,
    rounds: u64,
}

replicated_arrays! {
    /// The replicated state.
    struct State of Sizes {
        /// `[active]`, by label.
        core: Replicated<u32> = "core", Gather, |s| s.active;
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Vec<u32>>> {
    let cut = match run.merge {
        MergeMode::Auto => matches!(r.backend, Backend::Host(_)),
        merge => merge != MergeMode::Redundant,
    };
    let (dense, rank) = (cut && r.world() > 1, r.rank());
    let columns = &rows.columns;
    let sizes = Sizes { active: columns.active, arcs: columns.out.arcs() };
    let state = State::allocate(r, sizes)?;
    let engine = Engine::new(r, |device| Workspace::new(device, rows, rank), || Ok(()))?;
    let mut peeling = Peeling { rows, dense, state, engine };
    let measured = timed(r, run, &mut peeling)?;
    ReplicaAnswer::new(measured, || values(r, &peeling.state.core))
}

/// One run, to be repeated.
struct Peeling<'a> {
    rows: &'a TopologyRows,
    dense: bool,
    state: State,
    engine: Engine<Workspace, ()>,
}

impl Run for Peeling<'_> {
    /// The first step makes the array from nothing, but finds its counters zero.
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.engine.workspace().map_or(Ok(()), Workspace::reset)
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
            r.gather(&mut self.state.core, &self.rows.chunks)?;
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.core)]
    }
}

impl Peeling<'_> {
    fn step(&mut self, r: &mut Replica, log: &mut Log, task: Task) -> Result<StepResult> {
        let Peeling { rows, state, engine, .. } = self;
        let (rank, chunk) = (r.rank(), rows.chunks.range(r.rank()));
        let own = chunk.start as usize..chunk.end as usize;
        let found = step(
            (r, log, task.name()),
            engine,
            state,
            |device, workspace, state| {
                workspace.launch(device, rows.on_device(rank)?, state, task, chunk)
            },
            |device, workspace| workspace.found(device),
            |(), state, beat| {
                let host = Host { rows, core: state.core.atomics(), beat };
                match task {
                    Task::Peel => host.peel(),
                    Task::Degrees => host.degrees(),
                    Task::Sweep => host.sweep(own),
                }
            },
        )?;
        let merge = if task == Task::Sweep { "gather" } else { "none" };
        let frontier = (self.rows.columns.active as u64, found.arcs);
        log.book(task.name(), (found.rounds, found.arcs), frontier, merge);
        Ok(found)
    }
}
