//! Searches: the question, and on each replica steps and merges until nothing changes. The idea is in the parent module.

use super::brought::{LeftDistances, brought};
use super::cuda::{Workspace, arrays};
use super::plan::{
    Changes, Exchange, FrontierInfo, Plan, Question, SPARSE, State, StepResult, StepTask, Task,
    Thresholds, inner_pays,
};
use super::{ShortestPaths, Sssp, SsspConfig, Start, check, double, host};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, step, timed};
use crate::algorithm::same::Words;
use crate::algorithm::workload::{Algorithm, Request};
use crate::algorithm::{Precision, files_of, from_nodes, targets};
use crate::collective::{Split, Together};
use crate::error::Result;
use crate::fleet::{Backend, Fleet, Replica};
use crate::graph::Graph;
use crate::layout::TileFacts;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, WeightedGraph, is_small};
use std::path::Path;
use std::sync::Arc;

impl Algorithm for Sssp {
    type Config = SsspConfig;
    type Start = Start;
    type Answer = ShortestPaths;
    const NAME: &'static str = "sssp";
    const ABOUT: &'static str = "Shortest paths from one source to all nodes";
    const EXAMPLES: [&'static str; 2] = [
        "hive run sssp --graph web.mtx --source 1 --target 9",
        "hive run sssp --graph road:10 --benchmark --json record.json",
    ];
    const FORM: Form = Form::Weighted;
    const KERNELS: &'static [&'static str] = &["sssp.cu"];
    const RANKS: Option<&'static str> = Some("the nodes nearest to the source");
    const LEAVES: bool = true;

    fn check(config: &SsspConfig) -> Result<()> {
        check(config)
    }

    fn start(config: &SsspConfig, graph: &Graph) -> Result<Start> {
        let node = match &config.source {
            Some(source) => source.resolve(graph, "--source")?,
            None => graph.default_source(),
        };
        Ok(Start { nodes: vec![node], targets: targets(config.target.as_ref(), graph)? })
    }

    fn started(start: &Start, graph: &Graph) -> String {
        from_nodes(&start.nodes, "source", graph)
    }

    fn several(config: &SsspConfig) -> Option<&'static str> {
        let several =
            [("--target", config.target.is_some()), ("--predecessors", config.predecessors)];
        several.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option)
    }

    fn files(config: &SsspConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--target", &config.target)])
    }

    fn arrays(shape: &GraphShape, _: &SsspConfig, world: usize) -> Vec<DeviceArray> {
        arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<ShortestPaths> {
        let Request { fleet, graph, query, run, extras } = request;
        let config = SsspConfig { run: run.clone(), ..query.config.clone() };
        search(fleet, graph, &query.start, config, [extras, false])
    }
}

/// Shortest distances from the nearest start. `[extras, nominees]`: without extras only the times of runs are wanted.
pub(crate) fn search(
    fleet: &Fleet,
    graph: &Prepared,
    start: &Start,
    config: SsspConfig,
    [extras, nominees]: [bool; 2],
) -> Result<ShortestPaths> {
    let graph = graph.weighted(fleet)?;
    let seeds = start.nodes.iter().map(|v| graph.layout.label(*v)).collect();
    let question = Arc::new(Question { graph, seeds, config });
    let config = &question.config;
    let mut found = match config.precision {
        Precision::F64 => question.in_f64(fleet)?,
        Precision::Auto | Precision::F32 => question.in_f32(fleet)?,
    };
    if config.precision == Precision::Auto && (found.rounded > 0 || found.overflowed > 0) {
        found = ShortestPaths { measured_f32: Some(found.measured), ..question.in_f64(fleet)? };
    }
    let predecessors = config.predecessors || config.target.is_some();
    found.follow(&question.graph, &start.nodes, [predecessors && extras, nominees && extras]);
    Ok(found)
}

impl Question {
    fn in_f32(self: &Arc<Self>, fleet: &Fleet) -> Result<ShortestPaths> {
        let (question, layout) = (self.clone(), &self.graph.layout);
        let plan = Plan::new(layout, &self.config, fleet);
        let (found, measured) =
            ReplicaAnswer::first(fleet.run(move |r| program(r, &question, plan))?);
        let Found { distances, left, delta, tiles } = found;
        let (graph, mean) = (&self.graph.graph, layout.mean_weight);
        let found = match left {
            Some(left) => ShortestPaths::left_in_f32(graph, left, mean, delta, measured)?,
            None => {
                let distances = layout.to_input_order(distances);
                ShortestPaths::in_f32(graph, distances, mean, delta, measured)
            }
        };
        Ok(ShortestPaths { window: plan.window(), tiles, ..found })
    }

    fn in_f64(self: &Arc<Self>, fleet: &Fleet) -> Result<ShortestPaths> {
        let (question, layout) = (self.clone(), &self.graph.layout);
        let widths = double::widths(layout, self.config.delta, fleet.info().threads());
        let found = fleet.run(move |r| double::program(r, &question, widths))?;
        let (double::Found { distances, left, delta, tiles }, measured) =
            ReplicaAnswer::first(found);
        let found = match left {
            Some(left) => ShortestPaths::left_in_f64(left, delta, measured),
            None => ShortestPaths::in_f64(layout.to_input_order(distances), delta, measured),
        };
        Ok(ShortestPaths { tiles, ..found })
    }
}

/// What one replica ends with.
struct Found {
    /// By label; on rank 0 alone.
    distances: Vec<f32>,
    /// By node, in place of these.
    left: Option<LeftDistances>,
    /// Width of windows that go to the end; infinite where there are none.
    delta: f32,
    tiles: Option<TileFacts>,
}

/// The program of one replica.
fn program(r: &mut Replica, question: &Question, plan: Plan) -> Result<ReplicaAnswer<Found>> {
    let mut search = Driver::new(r, question, (plan, 1))?;
    let measured = timed(r, &question.config.run, &mut search)?;
    let long_paths = search.engine.workspace().and_then(|w| w.long_paths.as_ref());
    let tiles = long_paths.and_then(|(long_paths, _)| long_paths.tiles());
    let delta = match long_paths {
        Some((_, width)) => *width,
        None => plan.widths().map_or(f32::INFINITY, |widths| widths.near_far),
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
    plan: Plan,
    thresholds: Thresholds,
    /// Everybody's `dist`, `front` and `next`, and the lists of what others found.
    together: Together<5>,
    /// Where pulls are cut.
    changes: Option<Changes>,
    pub state: State,
    engine: Engine<Workspace, ()>,
}

impl<'a> Driver<'a> {
    /// `beside`: searches that go on at the same time, each with its part of the GPU.
    pub fn new(
        r: &mut Replica,
        question: &'a Question,
        (plan, beside): (Plan, u32),
    ) -> Result<Driver<'a>> {
        let Question { graph, seeds, config } = question;
        let (rank, world, layout) = (r.rank(), r.world(), &graph.layout);
        let changes = match plan {
            Plan::Cut => Some(Changes::allocate(r, layout.active)?),
            _ => None,
        };
        let state = State::allocate(r, layout.nodes)?;
        let joint = matches!(plan, Plan::Joint { .. });
        let small = is_small(layout.out.arc_count(), layout.evenness());
        let options = [joint, config.run.trace, plan.window().is_some(), small, inner_pays(layout)];
        let cuda = |device: &mut _| {
            Workspace::new(device, graph.on_device(rank)?, seeds, (plan.widths(), beside), options)
        };
        let engine = Engine::new(r, cuda, || Ok(()))?;
        let bitmaps = [&state.front, &state.next].map(|words| words.words().address());
        let together = match engine.workspace() {
            Some(workspace) if joint => {
                let [nodes, distances] = workspace.lists();
                r.together([
                    ("dist", state.dist.address()),
                    ("frontier", bitmaps[0]),
                    ("next frontier", bitmaps[1]),
                    ("list of nodes", nodes),
                    ("list of distances", distances),
                ])?
            }
            _ => Together::alone(),
        };
        // Where replicas share the cores, on the host, or pulls, redundant pushes are kept small.
        let alone = engine.workspace().is_some() && !joint;
        let share = if alone { 1.0 } else { 1.0 / world as f64 };
        let arcs = |part: f64| (layout.out.arc_count() as f64 * part * share) as u64;
        let thresholds = Thresholds {
            pull_above: arcs(config.turns.pull_above),
            push_below: arcs(config.turns.push_below),
        };
        let seeds = seeds.clone();
        Ok(Driver { graph, seeds, plan, thresholds, together, changes, state, engine })
    }

    /// Begins a search from this label alone.
    pub fn begin_at(&mut self, r: &mut Replica, label: u32) -> Result<()> {
        self.seeds = vec![label];
        let Driver { graph, state, engine, .. } = self;
        match (&r.backend, engine) {
            (Backend::Cuda(device), Engine::Cuda(workspace)) => {
                workspace.begin_at(device, graph.on_device(r.rank())?, state, label)
            }
            _ => self.reset(r, 0),
        }
    }

    /// Queues a whole search from this label, which says at `place` what it found.
    pub fn queue(&mut self, r: &mut Replica, label: u32, place: usize) -> Result<()> {
        self.begin_at(r, label)?;
        let told = self.told(r.rank(), Task::Finish, FrontierInfo::of(1));
        let told = StepTask { place, ..told };
        let Driver { graph, state, engine, .. } = self;
        engine.on_device(r, |device, workspace| {
            workspace.launch(device, graph.on_device(r.rank())?, state, &told)
        })
    }

    /// What a queued search, which has ended, says at `place`.
    pub fn found(&mut self, r: &Replica, place: usize) -> Result<StepResult> {
        self.engine.on_device(r, |device, workspace| {
            workspace.found(device, place).map(|(found, _)| found)
        })
    }
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let (graph, seeds, rank) = (self.graph, &self.seeds, r.rank());
        self.engine.with(
            r,
            &mut self.state,
            |device, workspace, state| workspace.reset(device, graph.on_device(rank)?, state),
            |(), state, _| {
                let (dist, front, next) = host::host_arrays(state);
                next.fill(0);
                host::start(dist, front, seeds, graph.layout.active);
            },
        )
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let start = FrontierInfo::of(self.seeds.len());
        match self.plan {
            Plan::LongPaths(_) => self.step(r, log, Task::LongPaths, start).map(drop),
            Plan::Redundant { .. } if self.engine.workspace().is_some() => {
                self.step(r, log, Task::Finish, start).map(drop)
            }
            Plan::Joint { .. } => self.step(r, log, Task::Joint, start).map(drop),
            Plan::Redundant { .. } | Plan::Cut => self.push_pull(r, log, start),
            Plan::Dense => self.dense(r, log, start),
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.dist)]
    }
}

impl Driver<'_> {
    /// Redundant pushes, pulls cut by chunk (or redundant too). Every decision that leads to a merge is from numbers that
    /// all replicas share: a push counts the same everywhere, a pull's counts are summed.
    fn push_pull(&mut self, r: &mut Replica, log: &mut Log, start: FrontierInfo) -> Result<()> {
        let mut known = start;
        while known.nodes > 0 {
            known = self.step(r, log, Task::Grow, known)?;
            while known.nodes > 0 {
                known = self.step(r, log, Task::Pull, known)?;
                if known.arcs <= self.thresholds.push_below {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The textbook loop: push the own chunk's frontier, OR the frontiers, MIN the distances.
    fn dense(&mut self, r: &mut Replica, log: &mut Log, start: FrontierInfo) -> Result<()> {
        let mut known = start;
        while known.nodes > 0 {
            known = self.step(r, log, Task::Push, known)?;
        }
        Ok(())
    }

    /// One step, agreement on what it found, the merge where something changed; what is known after.
    fn step(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        known: FrontierInfo,
    ) -> Result<FrontierInfo> {
        let (found, swapped) = self.compute(r, log, task, known)?;
        if swapped {
            self.state.swap();
            self.together.arrays.swap(1, 2);
        }
        let (merged, left) = self.merge(r, task, found.left)?;
        if log.trace {
            // The time of the entry is that of step and merge.
            r.settle()?;
        }
        if let Some(workspace) = self.engine.workspace() {
            workspace.rounds.tell(log, found.logged, "push scan", task == Task::Joint);
        }
        let looked = (found.rounds, found.relaxed);
        log.book(task.name(), looked, (known.nodes, known.arcs), merged);
        Ok(left)
    }

    /// What the step found, and whether `front` and `next` have changed places.
    fn compute(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        known: FrontierInfo,
    ) -> Result<(StepResult, bool)> {
        let (graph, rank) = (self.graph, r.rank());
        let told = self.told(rank, task, known);
        step(
            (r, log, task.name()),
            &mut self.engine,
            &mut self.state,
            |device, workspace, state| {
                workspace.launch(device, graph.on_device(rank)?, state, &told)
            },
            |device, workspace| workspace.found(device, told.place),
            |(), state, beat| host::step(graph, state, &told, beat),
        )
    }

    /// What a step of replica `rank` is told.
    fn told(&self, rank: usize, task: Task, known: FrontierInfo) -> StepTask {
        let graph = self.graph;
        let chunk = match task {
            Task::Pull if self.plan == Plan::Cut => graph.pull_chunks.range(rank),
            Task::Push => graph.chunks.range(rank),
            _ => 0..graph.layout.active as u64,
        };
        // Where there are windows to the end, the host's.
        let near_far = self.plan.widths().map(|widths| widths.near_far);
        let delta = self.plan.window().or(near_far).unwrap_or(f32::INFINITY);
        let thresholds = self.thresholds;
        StepTask { task, known, chunk, thresholds, delta, together: self.together, place: 0 }
    }

    /// Makes replicas equal after a step of the own chunk: how, and what all found.
    fn merge(
        &mut self,
        r: &mut Replica,
        task: Task,
        own: FrontierInfo,
    ) -> Result<(&'static str, FrontierInfo)> {
        match task {
            Task::Joint => return Ok(("joint", own)),
            Task::Push if r.world() > 1 => {}
            Task::Pull if self.plan == Plan::Cut => {}
            _ => return Ok(("none", own)),
        }
        let payload = [own.nodes, own.arcs, own.lowest.to_bits().into(), 0];
        let all = r.agree(task.name(), payload)?;
        let left = all.iter().fold(FrontierInfo::default(), |sum, &[nodes, arcs, lowest, _]| {
            sum.and(FrontierInfo { nodes, arcs, lowest: f32::from_bits(lowest as u32) })
        });
        if left.nodes == 0 {
            return Ok(("none", left));
        }
        let (state, split) = (&mut self.state, &self.graph.pull_chunks);
        if task == Task::Push {
            r.merge(state.front.words_mut())?;
            r.merge(&mut state.dist)?;
            return Ok(("dense", left));
        }
        if left.nodes as usize > self.graph.layout.active / SPARSE {
            r.gather(&mut state.dist, split)?;
            r.gather(state.front.words_mut(), &split.in_units_of(64))?;
            return Ok(("gather", left));
        }
        let lists = Split::of_lengths(all.iter().map(|payload| payload[0]));
        self.exchange(r, &lists, true)?;
        if let Some(changes) = &mut self.changes {
            r.gather(&mut changes.list, &lists)?;
        }
        self.exchange(r, &lists, false)?;
        Ok(("sparse", left))
    }

    /// Before a sparse merge (`pack`): lists what the own pull changed. After it: takes the others' over.
    fn exchange(&mut self, r: &mut Replica, lists: &Split, pack: bool) -> Result<()> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        let (rank, chunk) = (r.rank(), self.graph.pull_chunks.range(r.rank()));
        let own = lists.range(rank);
        let total = lists.bounds().last().copied().unwrap_or(0);
        let told = Exchange { own, total, chunk, pack };
        self.engine.with(
            r,
            &mut (&mut self.state, &mut changes.list),
            |device, workspace, (state, list)| workspace.exchange(device, state, list, &told),
            |(), (state, list), _| host::exchange(state, list, &told),
        )
    }
}
