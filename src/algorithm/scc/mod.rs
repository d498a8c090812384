//! Strongly connected components: which nodes lead to each other along arcs.
//!
//! **Definition.** component(v) = the smallest input id in the strongly connected component of v: among the nodes that v
//! leads to and that lead to v. On symmetric graphs the strongly connected components are the connected components.
//!
//! **Idea (Multistep).** *Trim*: a node without in-arcs or without out-arcs among the nodes that are left is a component
//! of its own. *Giant*: the pivot is the node with the largest product of in-degree and out-degree; the nodes that it
//! reaches and that reach it are a component. *Colour*, in stages until no node is left: trim; spread the smallest rank
//! forward as a colour; the nodes that reach the root of their colour, over nodes of that colour, are the root's component.
//! Ranks are labels scattered by a bijection, so that chains of components take logarithmically many stages.
//!
//! **Invariant.** Nodes of different colours are never in one component, so arcs between them do not count any more.
//!
//! **Plans.** Each phase ends in a fixpoint that does not depend on the order of work (docs/design.md, "Redundant work ends
//! equal"). *Whole*: one launch on each GPU, redundantly. *Redundant*: the same step by step on the host. *Dense* is the
//! textbook form, and that of several host replicas: each works over its own chunk's arcs to its fixpoint, then sets are
//! merged by OR and colours by MIN, and again until nothing changes. With `auto`, symmetric graphs go to [`cc`].
//!
//! **Arrays.** By label: `comp: [active] u32`, equal without a merge; `colour: [active] u32, replicated, MIN`;
//! `left: [active] bits, replicated, GATHER`; `fore, back: [active] bits, replicated, OR`.
//!
//! **Source.** Slota, Rajamanickam, Madduri, "BFS and coloring-based parallel algorithms for strongly connected
//! components and related problems", IPDPS 2014; Fleischer, Hendrickson, Pinar, "On identifying strongly connected
//! components in parallel", IPDPS workshops 2000; Orzan, "On distributed verification and verified distribution",
//! 2004 (colouring).

mod cuda;
mod host;

use super::arrays::replicated_arrays;
use super::cc::{self, CcConfig, Components};
use super::frame::{Engine, Log, ReplicaAnswer, Run, step, tasks, timed, values};
use super::same::Words;
use super::workload::{Algorithm, Answer, Checked, NoOptions, Query, Request, fields, run};
use super::{Measured, MergeMode, RunOptions};
use crate::collective::{Frontier, Replicated};
use crate::device::kernels::scc as kernel;
use crate::error::Result;
use crate::fleet::{Backend, Fleet, Replica};
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, TopologyRows};
use crate::verify::Checker;
use cuda::{Sizes, Workspace};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// The workload.
pub struct Scc;

/// What strongly connected components are asked: nothing of their own.
pub type SccConfig = NoOptions;

/// Strongly connected components, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct StrongComponents {
    /// Labels, sizes, timings and counts.
    pub components: Components,
    /// Whether each arc has its reverse as often, and they were found as connected components are.
    pub undirected: bool,
}

/// The strongly connected components of a graph.
///
/// # Errors
/// [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn scc(fleet: &Fleet, graph: &Prepared, config: &SccConfig) -> Result<StrongComponents> {
    run::<Scc>(fleet, graph, config)
}

impl Algorithm for Scc {
    type Config = SccConfig;
    type Start = ();
    type Answer = StrongComponents;
    const NAME: &'static str = "scc";
    const ABOUT: &'static str =
        "Strongly connected components: the smallest node in the component of each node";
    const EXAMPLES: [&'static str; 2] =
        ["hive run scc --graph web.mtx --top 5", "hive run scc --graph rmat:12 --verify"];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["scc.cu"];
    const RANKS: Option<&'static str> = Some("the largest components");

    fn start(_: &SccConfig, _: &Graph) -> Result<()> {
        Ok(())
    }

    fn arrays(shape: &GraphShape, _: &SccConfig, world: usize) -> Vec<DeviceArray> {
        cuda::arrays(shape, world)
    }

    /// On symmetric graphs the strongly connected components are the connected components.
    fn solve(request: Request<Self>) -> Result<StrongComponents> {
        let Request { fleet, graph, run, .. } = request;
        let (rows, run) = (graph.topology(fleet)?, run.clone());
        if rows.columns.into.is_none() && run.merge == MergeMode::Auto {
            let components = cc::cc(fleet, graph, &CcConfig { run })?;
            return Ok(StrongComponents { components, undirected: true });
        }
        let shared = rows.clone();
        let answers = fleet.run(move |r| program(r, &shared, &run))?;
        let components = Components::of_roots(&rows, ReplicaAnswer::first(answers));
        Ok(StrongComponents { components, undirected: false })
    }
}

impl Answer<Scc> for StrongComponents {
    fn measured(&self) -> &Measured {
        &self.components.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.components.measured
    }

    fn strategy(&self, _: &Query<Scc>) -> &'static str {
        match (self.undirected, self.components.hooked()) {
            (false, _) => "forward-backward",
            (true, true) => "hook, MIN",
            (true, false) => "skip the giant",
        }
    }

    fn cuts(&self, query: &Query<Scc>) -> String {
        cc::cuts(self.measured(), query)
    }

    fn lines(&self, _: &Query<Scc>) -> Vec<(&'static str, String)> {
        cc::lines(&self.components, "strongly connected component")
    }

    fn rated(&self) -> &'static str {
        match !self.undirected || self.components.hooked() {
            true => "of the whole graph",
            false => "of the whole graph, most of them never looked at",
        }
    }

    fn variant(&self, _: &Query<Scc>) -> String {
        "variant:strong-components".into()
    }

    fn facts(&self, query: &Query<Scc>) -> Map<String, Value> {
        cc::facts(&self.components, &query.graph)
    }

    fn ranking(&self, query: &Query<Scc>, k: usize) -> Option<String> {
        Some(cc::ranking(&self.components, &query.graph, k))
    }

    fn table(&self, _: &Query<Scc>) -> Table<'_> {
        Table::of_nodes([("component", Column::Node(&self.components.labels))])
    }

    fn verify(&self, query: &Query<Scc>, by: &Checker) -> Result<Checked> {
        let check = by.scc(&query.graph, &self.components.labels)?;
        let found = [("components", json!(check.components)), ("largest", json!(check.largest))];
        Ok(Checked { found: fields(found), ..Checked::default() })
    }
}

/// "Not known": of a component.
const NONE: u32 = u32::MAX;
/// Rounds of trimming between merges, after which colours do the rest.
const TRIMS: u32 = 16;

tasks! {
    /// What a step does.
    enum Task {
        /// Everything, redundantly.
        Whole(kernel::WHOLE) = "step whole",
        /// All nodes are left.
        Start(kernel::START) = "step start",
        /// Trim the own chunk, and find its best pivot.
        Trim(kernel::TRIM) = "step trim",
        /// Follow arcs from and to the pivot, of the own chunk's nodes.
        Reach(kernel::REACH) = "step reach",
        /// Take the pivot's component away.
        Giant(kernel::GIANT) = "step giant",
        /// Everybody is its own colour.
        Paint(kernel::PAINT) = "step paint",
        /// Spread colours from the own chunk's nodes.
        Colour(kernel::COLOUR) = "step colour",
        /// Mark the roots of colours.
        Roots(kernel::ROOTS) = "step roots",
        /// Follow arcs back from the own chunk's nodes that reach their root.
        Back(kernel::BACK) = "step back",
        /// Take the roots' components away.
        Settle(kernel::SETTLE) = "step settle",
    }
}

/// What a step is told beside the state.
struct StepTask {
    task: Task,
    /// Nodes that the step is for.
    chunk: Range<u64>,
    pivot: u32,
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default)]
struct StepResult {
    /// Arcs that were looked at.
    arcs: u64,
    /// Nodes removed, reached or told of another colour.
    changed: u64,
    /// Nodes that are left (Paint).
    left: u64,
    /// The key of the best pivot among the own nodes (Trim): degrees' product as f32 bits, label inverted; 0 is none.
    pivot: u64,
    rounds: u64,
}

replicated_arrays! {
    /// The replicated state.
    struct State of Sizes {
        /// `[active]` a member of the component, by label.
        comp: Replicated<u32> = "comp", Min, |s| s.active;
        /// `[active]` smallest rank that leads here.
        colour: Replicated<u32> = "colour", Min, |s| s.active;
        /// Nodes whose component is not known.
        left: Frontier = "left", Gather, |s| s.active;
        /// Reached from the pivot.
        fore: Frontier = "reached", Or, |s| s.active;
        /// Reach the pivot, or the root of their colour.
        back: Frontier = "reaching", Or, |s| s.active;
    }
}

/// How a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// One launch.
    Whole,
    /// Steps, each over everything.
    Redundant,
    /// Steps over the own chunk, and merges.
    Dense,
}

impl Plan {
    fn new(merge: MergeMode, r: &Replica) -> Plan {
        let cuda = matches!(r.backend, Backend::Cuda(_));
        match merge {
            MergeMode::Dense | MergeMode::Split if r.world() > 1 => Plan::Dense,
            MergeMode::Auto if r.world() > 1 && !cuda => Plan::Dense,
            _ if cuda => Plan::Whole,
            _ => Plan::Redundant,
        }
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Vec<u32>>> {
    let rank = r.rank();
    let plan = Plan::new(run.merge, r);
    let columns = &rows.columns;
    let sizes = Sizes { active: columns.active, arcs: columns.out.arcs() };
    let state = State::allocate(r, sizes)?;
    let host = || Ok(host::Scratch::default());
    let engine = Engine::new(r, |device| Workspace::new(device, rows, rank), host)?;
    let mut search = Search { rows, plan, state, engine };
    let measured = timed(r, run, &mut search)?;
    ReplicaAnswer::new(measured, || values(r, &search.state.comp))
}

/// One run, to be repeated.
struct Search<'a> {
    rows: &'a TopologyRows,
    plan: Plan,
    state: State,
    engine: Engine<Workspace, host::Scratch>,
}

/// What a fixpoint over chunks merges.
#[derive(Clone, Copy)]
enum Merged {
    Reached,
    Reaching,
    Colours,
}

impl Run for Search<'_> {
    /// The first step makes all arrays from nothing, but finds its counters zero.
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.engine.workspace().map_or(Ok(()), Workspace::reset)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        if self.plan == Plan::Whole {
            return self.step(r, log, Task::Whole, NONE).map(drop);
        }
        self.step(r, log, Task::Start, NONE)?;
        if let Some(pivot) = self.trim(r, log)? {
            self.fixpoint(r, log, Task::Reach, pivot, &[Merged::Reached, Merged::Reaching])?;
            self.step(r, log, Task::Giant, pivot)?;
            self.trim(r, log)?;
        }
        while self.step(r, log, Task::Paint, NONE)?.left > 0 {
            self.fixpoint(r, log, Task::Colour, NONE, &[Merged::Colours])?;
            self.step(r, log, Task::Roots, NONE)?;
            self.fixpoint(r, log, Task::Back, NONE, &[Merged::Reaching])?;
            self.step(r, log, Task::Settle, NONE)?;
            self.trim(r, log)?;
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.comp)]
    }
}

impl Search<'_> {
    /// Trims, and returns the best pivot of what is left.
    fn trim(&mut self, r: &mut Replica, log: &mut Log) -> Result<Option<u32>> {
        let mut key = 0;
        for _ in 0..TRIMS {
            let found = self.step(r, log, Task::Trim, NONE)?;
            key = found.pivot;
            if self.plan == Plan::Redundant {
                break;
            }
            let all = r.agree("trimmed", [found.changed, found.pivot, 0, 0])?;
            key = all.iter().map(|payload| payload[1]).max().unwrap_or(0);
            if all.iter().all(|payload| payload[0] == 0) {
                break;
            }
            let words = self.rows.chunks.in_units_of(64);
            r.gather(self.state.left.words_mut(), &words)?;
        }
        Ok((key != 0).then_some(!(key as u32)))
    }

    /// Repeats a step and its merges until nobody changes anything.
    fn fixpoint(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        pivot: u32,
        merged: &[Merged],
    ) -> Result<()> {
        loop {
            let found = self.step(r, log, task, pivot)?;
            // Over everything, one step comes to the fixpoint.
            if self.plan == Plan::Redundant {
                return Ok(());
            }
            let all = r.agree(task.name(), [found.changed, 0, 0, 0])?;
            if all.iter().all(|payload| payload[0] == 0) {
                return Ok(());
            }
            for what in merged {
                match what {
                    Merged::Reached => r.merge(self.state.fore.words_mut())?,
                    Merged::Reaching => r.merge(self.state.back.words_mut())?,
                    Merged::Colours => r.merge(&mut self.state.colour)?,
                }
            }
        }
    }

    fn step(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        pivot: u32,
    ) -> Result<StepResult> {
        let Search { rows, plan, state, engine } = self;
        let (rows, rank) = (*rows, r.rank());
        let chunk = match plan {
            Plan::Dense => rows.chunks.range(rank),
            _ => 0..rows.columns.active as u64,
        };
        let told = StepTask { task, chunk, pivot };
        let found = step(
            (r, log, task.name()),
            engine,
            state,
            |device, workspace, state| {
                workspace.launch(device, rows.on_device(rank)?, state, &told)
            },
            |device, workspace| workspace.found(device),
            |scratch, state, beat| host::step(rows, state, scratch, &told, beat),
        )?;
        let merge = match task {
            Task::Trim | Task::Reach | Task::Colour | Task::Back if self.plan == Plan::Dense => {
                "dense"
            }
            _ => "none",
        };
        let frontier = (self.rows.columns.active as u64, found.arcs);
        log.book(task.name(), (found.rounds, found.arcs), frontier, merge);
        Ok(found)
    }
}
