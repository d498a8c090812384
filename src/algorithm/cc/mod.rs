//! Connected components: which nodes are joined by arcs, whichever way these point.
//!
//! **Definition.** component(v) = the smallest input id among the nodes that a path of arcs, each taken either way, joins
//! with v.
//!
//! **Idea.** A forest whose pointers `comp` only fall, so that a root is the smallest label of its tree. Two trees are joined
//! by hooking the larger root under the smaller. On GPUs few arcs are looked at: each node points to its smallest
//! neighbour first, which already makes a forest. Where labels fall by degree and there are hubs, its largest tree holds nearly
//! all nodes, and only the arcs of nodes outside of it are linked. Where a sample finds many trees, roots look for a smaller
//! neighbour first, and a few arcs join what is left.
//!
//! **Invariant.** A tree never spans two components. When no arc joins two trees, trees are components.
//!
//! **Plans.** *Redundant*: every replica does everything; the finished forest is unique, so they end with equal bits.
//! *Joint* and *Cut*: each replica follows the pointers of its own nodes, only a bitmap moves ("ends in the largest tree"),
//! and every replica finishes the few nodes that do not. GPUs with a replica each do that in one launch (*Joint*). *Dense* is
//! the textbook form: hook over the own chunk's arcs, MIN the labels, join each node with the parent that it had before MIN,
//! and repeat until nothing changes (docs/design.md, "MIN loses links").
//!
//! **Arrays.** `comp: [active] u32, replicated, MIN`; `settled: [active] bits, replicated, GATHER`. Both by label;
//! answers name a component by its member with the smallest input id.
//!
//! **Source.** Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling",
//! IPDPS 2018 (Afforest); Shiloach, Vishkin, "An O(log n) parallel connectivity algorithm", J. Algorithms 3, 1982.

mod answer;
mod cuda;
mod host;

pub use answer::Components;
pub(crate) use answer::{cuts, facts, lines, ranking};

use super::arrays::replicated_arrays;
use super::frame::{Engine, Log, ReplicaAnswer, Run, step, tasks, timed, values};
use super::same::Words;
use super::workload::{Algorithm, NoOptions, Request, run};
use super::{MergeMode, RunOptions};
use crate::collective::{Frontier, Replicated, Split, Together};
use crate::device::kernels::cc_forest as kernel;
use crate::error::Result;
use crate::fleet::{Backend, Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, TopologyRows};
use cuda::Workspace;

/// The workload.
pub struct Cc;

/// What connected components are asked: nothing of their own.
pub type CcConfig = NoOptions;

/// The connected components of a graph, arcs taken both ways.
///
/// # Errors
/// [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn cc(fleet: &Fleet, graph: &Prepared, config: &CcConfig) -> Result<Components> {
    run::<Cc>(fleet, graph, config)
}

impl Algorithm for Cc {
    type Config = CcConfig;
    type Start = ();
    type Answer = Components;
    const NAME: &'static str = "cc";
    const ABOUT: &'static str =
        "Connected components: the smallest node in the component of each node";
    const EXAMPLES: [&'static str; 2] =
        ["hive run cc --graph web.mtx --top 5", "hive run cc --graph rmat:12 --output parts.csv"];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["cc.cu"];
    const RANKS: Option<&'static str> = Some("the largest components");

    fn start(_: &CcConfig, _: &Graph) -> Result<()> {
        Ok(())
    }

    fn arrays(shape: &GraphShape, _: &CcConfig, world: usize) -> Vec<DeviceArray> {
        cuda::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Components> {
        let Request { fleet, graph, run, .. } = request;
        let (rows, run) = (graph.topology(fleet)?, run.clone());
        let shared = rows.clone();
        let answers = fleet.run(move |r| program(r, &shared, &run))?;
        Ok(Components::of_roots(&rows, ReplicaAnswer::first(answers)))
    }
}

tasks! {
    /// What a step does.
    enum Task {
        /// Everything, redundantly.
        Whole(kernel::WHOLE) = "step whole",
        /// Follow the chains of the own chunk.
        Roots(kernel::ROOTS) = "step roots",
        /// The rest, redundantly, once it is known who ends in the largest tree.
        Finish(kernel::FINISH) = "step finish",
        /// Join over the own chunk's arcs.
        Hook(kernel::HOOK) = "step hook",
        /// Join each node with its own parent from before the merge.
        Rehook(kernel::REHOOK) = "step rehook",
        /// Everything, in one launch with the other GPUs.
        Joint(kernel::JOINT) = "step joint",
    }
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default)]
struct StepResult {
    /// Arcs that were looked at.
    arcs: u64,
    /// Nodes that ended elsewhere than the merge said.
    changed: u64,
    /// A chain was too long to be followed at once.
    deep: bool,
    rounds: u64,
}

replicated_arrays! {
    /// The replicated state, for so many nodes.
    struct State of usize {
        /// `[active]` parent by label.
        comp: Replicated<u32> = "comp", Min, |active| *active;
        /// Nodes that end in the largest tree.
        settled: Frontier = "settled", Gather, |active| *active;
    }
}

/// How a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Redundant,
    /// Chains followed together by GPUs that meet by themselves.
    Joint,
    Cut,
    Dense,
}

/// Nodes with arcs from which GPUs that can launch jointly do: below, meetings cost more than shared chains save.
const JOINT_NODES: usize = 1 << 25;

impl Plan {
    fn new(merge: MergeMode, r: &Replica, rows: &TopologyRows) -> Plan {
        let cuda = matches!(r.backend, Backend::Cuda(_));
        // Elsewhere there are no chains that lead to hubs.
        let joint = r.can_join() && rows.columns.name() == "degree";
        match merge {
            _ if r.world() == 1 => Plan::Redundant,
            MergeMode::Redundant => Plan::Redundant,
            MergeMode::Dense => Plan::Dense,
            MergeMode::Split if !cuda => Plan::Dense,
            MergeMode::Split if joint => Plan::Joint,
            MergeMode::Auto if joint && rows.columns.active >= JOINT_NODES => Plan::Joint,
            MergeMode::Split => Plan::Cut,
            // Led by the host, a cut run costs more in meetings than it saves; on the host a merge costs more than all.
            MergeMode::Auto => Plan::Redundant,
        }
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Vec<u32>>> {
    let (rank, joins) = (r.rank(), r.can_join());
    let plan = Plan::new(run.merge, r, rows);
    let state = State::allocate(r, rows.columns.active)?;
    let engine =
        Engine::new(r, |device| Workspace::new(device, rows, rank, joins), || Ok(Vec::new()))?;
    let together = match plan {
        Plan::Joint => r.together([("settled", state.settled.words().address())])?,
        _ => Together::alone(),
    };
    let mut search = Search { rows, plan, state, together, engine };
    let measured = timed(r, run, &mut search)?;
    ReplicaAnswer::new(measured, || values(r, &search.state.comp))
}

/// One run, to be repeated.
struct Search<'a> {
    rows: &'a TopologyRows,
    plan: Plan,
    state: State,
    /// Everybody's `settled`.
    together: Together<1>,
    /// On the host: own parents before the merge.
    engine: Engine<Workspace, Vec<u32>>,
}

impl Run for Search<'_> {
    /// Every plan makes its arrays from nothing, but finds its counters zero.
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.engine.workspace().map_or(Ok(()), Workspace::reset)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        match self.plan {
            Plan::Redundant => self.step(r, log, Task::Whole, "none").map(drop),
            Plan::Joint => self.step(r, log, Task::Joint, "joint").map(drop),
            Plan::Cut => self.cut(r, log),
            Plan::Dense => self.dense(r, log),
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.comp)]
    }
}

impl Search<'_> {
    /// Own chains, a bitmap, the rest by everybody.
    fn cut(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let found = self.step(r, log, Task::Roots, "gather")?;
        let all = r.agree("chains", [u64::from(found.deep), 0, 0, 0])?;
        if all.iter().any(|payload| payload[0] != 0) {
            return self.step(r, log, Task::Whole, "none").map(drop);
        }
        let words = self.rows.chunks.in_units_of(64);
        r.gather(self.state.settled.words_mut(), &words)?;
        self.step(r, log, Task::Finish, "none").map(drop)
    }

    /// The textbook form.
    fn dense(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        self.step(r, log, Task::Hook, "dense")?;
        loop {
            let equal = Split::nodes(self.state.comp.len() as u64, r.world(), 64);
            r.merge_by(&mut self.state.comp, &equal)?;
            let found = self.step(r, log, Task::Rehook, "dense")?;
            let all = r.agree("joined", [found.changed, 0, 0, 0])?;
            if all.iter().all(|payload| payload[0] == 0) {
                return Ok(());
            }
        }
    }

    fn step(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        merge: &'static str,
    ) -> Result<StepResult> {
        let Search { rows, state, together, engine, .. } = self;
        let (rank, chunk, together) = (r.rank(), rows.chunks.range(r.rank()), *together);
        let own = chunk.start as usize..chunk.end as usize;
        let found = step(
            (r, log, task.name()),
            engine,
            state,
            |device, workspace, state| {
                let graph = rows.on_device(rank)?;
                workspace.launch(device, graph, (state, together), task, chunk)
            },
            |device, workspace| workspace.found(device),
            |old, state, beat| {
                let comp = state.comp.host_mut().unwrap_or_default();
                match task {
                    Task::Rehook => host::rehook(comp, old, beat),
                    Task::Whole => host::whole(rows, comp, beat),
                    _ => host::hook(rows, comp, old, own, beat),
                }
            },
        )?;
        let merge = if r.world() > 1 { merge } else { "none" };
        let frontier = (self.rows.columns.active as u64, found.arcs);
        log.book(task.name(), (found.rounds, found.arcs), frontier, merge);
        Ok(found)
    }
}
