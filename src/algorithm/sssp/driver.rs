//! One run on one replica: steps and merges until nothing changes. The idea is in the parent module.

use super::cuda::Workspace;
use super::host;
use super::{Counts, Limits, Plan, State, Task, Turns};
use crate::algorithm::TraceEntry;
use crate::algorithm::frame::Log;
use crate::collective::{Payload, Split};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::WeightedGraph;
use crate::layout::memory::SPARSE;
use std::time::Instant;

/// The steps of one replica, on whatever it runs on.
pub(super) struct Engine {
    workspace: Option<Workspace>,
    /// How many seeds a run begins with.
    seeds: u64,
}

impl Engine {
    pub fn new(
        r: &mut Replica,
        p: &WeightedGraph,
        seeds: &[u32],
        plan: Plan,
        trace: bool,
    ) -> Result<Engine> {
        let rank = r.rank();
        let workspace = match &mut r.backend {
            Backend::Host(_) => None,
            Backend::Cuda(device) => {
                let near_far = matches!(plan, Plan::NearFar { .. });
                Some(Workspace::new(device, p.on_device(rank)?, seeds, near_far, trace)?)
            }
        };
        Ok(Engine { workspace, seeds: seeds.len() as u64 })
    }

    pub fn reset(
        &mut self,
        r: &mut Replica,
        p: &WeightedGraph,
        s: &mut State,
        seeds: &[u32],
    ) -> Result<()> {
        let rank = r.rank();
        if let (Backend::Cuda(device), Some(workspace)) = (&r.backend, &mut self.workspace) {
            return workspace.reset(device, p.on_device(rank)?, s);
        }
        s.dist.host_mut().unwrap_or_default().fill(f32::INFINITY);
        for words in [s.front.words_mut(), s.next.words_mut()] {
            words.host_mut().unwrap_or_default().fill(0);
        }
        for seed in seeds {
            let v = *seed as usize;
            s.dist.host_mut().unwrap_or_default()[v] = 0.0;
            if v < p.layout.active {
                s.front.words_mut().host_mut().unwrap_or_default()[v / 64] |= 1 << (v % 64);
            }
        }
        Ok(())
    }

    /// Before a sparse merge: lists what the own pull changed. After it: takes the others' over.
    fn exchange(
        &self,
        r: &mut Replica,
        p: &WeightedGraph,
        s: &mut State,
        lists: &Split,
        pack: bool,
    ) -> Result<()> {
        let (rank, chunk) = (r.rank(), p.pull_chunks.range(r.rank()));
        match (&r.backend, &self.workspace) {
            (Backend::Cuda(device), Some(w)) => w.exchange(device, s, lists, chunk, (rank, pack)),
            _ => {
                host::exchange(s, lists, chunk, rank, pack);
                Ok(())
            }
        }
    }

    /// One step; everything queued before it and itself have ended on return.
    fn step(
        &mut self,
        r: &mut Replica,
        p: &WeightedGraph,
        s: &mut State,
        task: Work,
        limits: Limits,
    ) -> Result<Counts> {
        let chance = r.chance();
        let (rank, start) = (r.rank(), Instant::now());
        let rendezvous = r.rendezvous().clone();
        let all = 0..p.layout.active as u64;
        let pull_chunk = if limits.whole { all } else { p.pull_chunks.range(rank) };
        let push_chunk = p.chunks.range(rank);
        let counts = match (&r.backend, &mut self.workspace) {
            (Backend::Cuda(device), Some(w)) => {
                let graph = p.on_device(rank)?;
                device.mark(0, false)?;
                match task {
                    Work::NearFar(delta) => w.near_far(device, graph, s, delta, chance),
                    Work::Step(task) => {
                        let chunk = if task == Task::Pull { pull_chunk } else { push_chunk };
                        w.step(device, graph, s, (task, chunk), limits, chance)
                    }
                }?
            }
            (Backend::Host(worker), _) => {
                let beat = || rendezvous.beat(rank);
                worker.pool.install(|| match task {
                    Work::NearFar(delta) => {
                        let (rows, (dist, far, marks)) = (&p.layout.out, host::host_arrays(s));
                        let delta = f64::from(delta);
                        let (relaxed, rounds) =
                            host::near_far(rows, dist, far, marks, delta, &beat);
                        Ok(Counts { relaxed, rounds, ..Counts::default() })
                    }
                    Work::Step(Task::Pull) => host::pull(p, s, pull_chunk, limits.lowest, &beat),
                    Work::Step(Task::Push) => host::push(p, s, push_chunk, &beat),
                    Work::Step(_) => host::grow(p, s, limits, &beat),
                })?
            }
            _ => return Err(Error::machine("a device without a workspace; this is a bug")),
        };
        let ms = match &r.backend {
            Backend::Cuda(device) => device.interval_ms(0)?,
            Backend::Host(_) => start.elapsed().as_secs_f64() * 1e3,
        };
        r.settle()?;
        r.book_step(ms);
        Ok(counts)
    }
}

/// What must follow a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nothing: every replica did the same.
    None,
    /// Owners' values: whole chunks, or only what changed when that is less.
    Gather,
    /// OR of frontiers, MIN of distances.
    Dense,
}

/// A step of either strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    NearFar(f32),
    Step(Task),
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::NearFar(_) => "step near-far",
            Work::Step(Task::Finish) => "step push-pull",
            Work::Step(Task::Grow) => "step push",
            Work::Step(Task::Pull) => "step pull",
            Work::Step(Task::Push) => "step dense push",
            Work::Step(Task::Joint) => "step joint push-pull",
        }
    }
}

/// One run: steps and merges until nothing changes.
pub(super) struct Driver<'a> {
    pub r: &'a mut Replica,
    pub p: &'a WeightedGraph,
    pub engine: &'a mut Engine,
    pub state: &'a mut State,
    pub log: &'a mut Log,
    pub turns: Turns,
}

impl Driver<'_> {
    pub fn go(&mut self, plan: Plan) -> Result<()> {
        match plan {
            Plan::NearFar { delta } => self.alone(Work::NearFar(delta)),
            Plan::Redundant if self.engine.workspace.is_some() => {
                self.alone(Work::Step(Task::Finish))
            }
            Plan::Joint => self.alone(Work::Step(Task::Joint)),
            Plan::Redundant | Plan::Cut => self.push_pull(plan == Plan::Cut),
            Plan::Dense => self.dense(),
        }
    }

    /// The frontier that a run begins with.
    fn seeds(&self) -> Counts {
        Counts { nodes: self.engine.seeds, lowest: 0.0, ..Counts::default() }
    }

    /// One redundant step to the end.
    fn alone(&mut self, work: Work) -> Result<()> {
        let limits = self.limits(0.0);
        self.step(work, limits, self.seeds(), Mode::None)?;
        Ok(())
    }

    /// Redundant pushes, pulls cut by chunk (or redundant too). Every decision that leads to a merge
    /// is from numbers that all replicas share: a push counts the same everywhere, a pull's counts
    /// are summed.
    fn push_pull(&mut self, cut: bool) -> Result<()> {
        let mut counts = self.seeds();
        loop {
            let limits = self.limits(counts.lowest);
            counts = self.step(Work::Step(Task::Grow), limits, counts, Mode::None)?;
            while counts.nodes > 0 {
                let limits = self.limits(counts.lowest);
                let limits = Limits { whole: !cut, ..limits };
                let mode = if cut { Mode::Gather } else { Mode::None };
                counts = self.step(Work::Step(Task::Pull), limits, counts, mode)?;
                if counts.arcs <= limits.push_below {
                    break;
                }
            }
            if counts.nodes == 0 {
                return Ok(());
            }
        }
    }

    /// The textbook loop of the HIVE report.
    fn dense(&mut self) -> Result<()> {
        let mut counts = self.seeds();
        loop {
            let limits = self.limits(0.0);
            counts = self.step(Work::Step(Task::Push), limits, counts, Mode::Dense)?;
            if counts.nodes == 0 {
                return Ok(());
            }
        }
    }

    /// Thresholds in arcs. Where replicas share the cores, on the host, or pulls, redundant pushes are kept small.
    fn limits(&self, lowest: f32) -> Limits {
        let arcs = self.p.layout.out.arc_count() as f64;
        let alone = self.engine.workspace.is_some() && self.state.together.is_none();
        let share = if alone { 1.0 } else { 1.0 / self.r.world() as f64 };
        let of = |part: f64| (arcs * part * share) as u64;
        Limits {
            pull_above: of(self.turns.pull_above),
            push_below: of(self.turns.push_below),
            lowest,
            whole: false,
        }
    }

    /// One iteration: a step, agreement on what it found, and the merge where something changed.
    fn step(&mut self, work: Work, limits: Limits, before: Counts, mode: Mode) -> Result<Counts> {
        let start = Instant::now();
        let iteration = self.log.iteration();
        self.r.begin(iteration, work.name())?;
        let mut counts = self.engine.step(self.r, self.p, self.state, work, limits)?;
        let relaxed = counts.relaxed;
        let mut merged = if work == Work::Step(Task::Joint) { "joint" } else { "none" };
        if mode != Mode::None && self.r.world() > 1 {
            let payload = [counts.nodes, counts.arcs, u64::from(counts.lowest.to_bits()), 0];
            let all = self.r.agree(work.name(), payload)?;
            counts = total(&all, counts);
            merged = self.merge(mode, &all, counts.nodes)?;
        }
        self.log.book(counts.rounds, relaxed, merged);
        if self.log.trace {
            self.r.settle()?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            self.note(work, before, counts, merged, ms);
        }
        Ok(counts)
    }

    /// Makes replicas equal after a step that changed `nodes` nodes, `found` by rank. Says how.
    fn merge(&mut self, mode: Mode, found: &[Payload], nodes: u64) -> Result<&'static str> {
        if nodes == 0 {
            return Ok("none");
        }
        let (state, split) = (&mut *self.state, &self.p.pull_chunks);
        if mode == Mode::Dense {
            self.r.merge(state.front.words_mut())?;
            self.r.merge(&mut state.dist)?;
            return Ok("dense");
        }
        if nodes as usize > self.p.layout.active / SPARSE {
            self.r.gather(&mut state.dist, split)?;
            self.r.gather(state.front.words_mut(), &split.in_units_of(64))?;
            return Ok("gather");
        }
        let lists = Split::of_lengths(found.iter().map(|payload| payload[0]));
        self.engine.exchange(self.r, self.p, state, &lists, true)?;
        if let Some(changed) = &mut state.changed {
            self.r.gather(changed, &lists)?;
        }
        self.engine.exchange(self.r, self.p, state, &lists, false)?;
        Ok("sparse")
    }

    /// Adds an iteration to the trace; a device step that logged its rounds adds one entry a round.
    fn note(&mut self, work: Work, before: Counts, after: Counts, mode: &str, ms: f64) {
        let iteration = self.log.iterations - 1;
        let inside = self.engine.workspace.as_ref().map(|w| w.rounds(after.logged));
        let inside = inside.unwrap_or_default();
        let many = inside.len() > 1 || inside.iter().any(|(_, rounds, ..)| *rounds > 1);
        let inside = if many { inside } else { Vec::new() };
        for (step, rounds, [frontier_nodes, frontier_arcs], ms) in inside {
            let shared = work == Work::Step(Task::Joint) && step == "pull";
            let (step, merge) = (step.into(), if shared { "joint" } else { "none" }.into());
            let entry =
                TraceEntry { iteration, step, rounds, frontier_nodes, frontier_arcs, merge, ms };
            self.log.entries.push(entry);
        }
        self.log.entries.push(TraceEntry {
            iteration,
            step: work.name().trim_start_matches("step ").into(),
            rounds: after.rounds,
            frontier_nodes: before.nodes,
            frontier_arcs: before.arcs,
            merge: mode.into(),
            ms,
        });
    }
}

/// Sums what replicas found in their chunks.
fn total(all: &[Payload], own: Counts) -> Counts {
    let lowest = all.iter().map(|p| p[2] as u32).min().unwrap_or(u32::MAX);
    Counts {
        nodes: all.iter().map(|p| p[0]).sum(),
        arcs: all.iter().map(|p| p[1]).sum(),
        lowest: f32::from_bits(lowest),
        ..own
    }
}
