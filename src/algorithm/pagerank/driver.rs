//! The program of one replica: iterations are queued, merged and looked at until the change is small enough.

use super::cuda::{self, Workspace};
use super::host::HostSide;
use super::plan::{Merging, Plan, State, StateSizes, StepTask};
use super::{PageRank, Pagerank, PagerankConfig};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, begin, timed, values};
use crate::algorithm::left::LeftArray;
use crate::algorithm::same::{Rounded, Words};
use crate::algorithm::workload::{Algorithm, Request};
use crate::collective::{Payload, Replicated};
use crate::device::Recording;
use crate::device::kernels::pagerank::UNITS;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use crate::io::read_weights;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::segments::Segments;
use crate::layout::{Form, TopologyRows};
use crate::units::plural;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

impl Algorithm for PageRank {
    type Config = PagerankConfig;
    /// `[n]` p by node, which sums to 1; `None` where it is the same for all.
    type Start = Option<Vec<f64>>;
    type Answer = Pagerank;
    const NAME: &'static str = "pagerank";
    const ALIASES: &'static [&'static str] = &["pr"];
    const PRIMITIVE: &'static str = "pr";
    const ABOUT: &'static str =
        "PageRank: the share of time that a random walk spends at each node";
    const EXAMPLES: [&'static str; 2] = [
        "hive run pagerank --graph web.mtx --top 10",
        "hive run pagerank --graph rmat:12 --tolerance 1e-7 --output ranks.npz",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] =
        &["pagerank.cu", "pagerank_hubs.cu", "pagerank_bins.cu", "segments.cu", "bins.cu"];
    const RANKS: Option<&'static str> = Some("the nodes of the highest ranks");
    const LEAVES: bool = true;

    fn check(config: &PagerankConfig) -> Result<()> {
        config.check()
    }

    fn start(config: &PagerankConfig, graph: &Graph) -> Result<Option<Vec<f64>>> {
        let (name, mut weights) = match (&config.personalize, &config.personal) {
            (Some(path), _) => (path.display().to_string(), read_weights(path, graph)?),
            (None, Some(weights)) => ("--personalize".into(), weights.clone()),
            (None, None) => return Ok(None),
        };
        let refuse = |what: String| Err(Error::input(format!("{name}: {what}")));
        let (n, given) = (graph.nodes(), weights.len());
        if given != n {
            return refuse(format!("{given} weights for {n} nodes"));
        }
        if let Some(bad) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return refuse(format!("a weight of {bad}; use finite weights >= 0"));
        }
        // Weights near the largest f64 have no sum.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return refuse("no node has a weight above 0; give one".into());
        }
        let total: f64 = weights.iter().map(|weight| weight / largest).sum();
        weights.iter_mut().for_each(|weight| *weight = *weight / largest / total);
        Ok(Some(weights))
    }

    fn started(start: &Option<Vec<f64>>, _: &Graph) -> String {
        let some = |p: &Vec<f64>| p.iter().filter(|share| **share > 0.0).count() as u64;
        let from = |p| format!(", from {}", plural(some(p), "node"));
        start.as_ref().map_or(String::new(), from)
    }

    fn files(config: &PagerankConfig) -> Vec<(&'static str, &Path)> {
        config.personalize.iter().map(|path| ("--personalize", path.as_path())).collect()
    }

    fn arrays(shape: &GraphShape, config: &PagerankConfig, world: usize) -> Vec<DeviceArray> {
        cuda::arrays(shape, config, world)
    }

    fn solve(request: Request<Self>) -> Result<Pagerank> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, start) = (graph.topology(fleet)?, query.start.as_deref());
        let config = PagerankConfig { run: run.clone(), ..query.config.clone() };
        let begin = Instant::now();
        let plan = Arc::new(Plan::new(&rows, &config, start, fleet)?);
        let planned_ms = begin.elapsed().as_secs_f64() * 1e3;
        let layout = plan.words(&config, fleet.info());
        let shared = (rows.clone(), plan.clone(), config);
        let answers = fleet.run(move |r| program(r, &shared.0, &shared.1, &shared.2))?;
        let setups = answers.iter().map(|one| one.measured.setup_ms);
        let setup_ms = planned_ms + setups.fold(0.0, f64::max);
        let ((by_label, left, end), mut measured) = ReplicaAnswer::first(answers);
        let begin = Instant::now();
        let ranks = match left {
            Some(_) => Vec::new(),
            None => plan.by_node(&rows.columns, by_label, end.scale),
        };
        measured.download_ms += begin.elapsed().as_secs_f64() * 1e3;
        measured.setup_ms = setup_ms;
        measured.reached = rows.columns.nodes as u64;
        measured.reached_arcs = rows.graph.arcs() * measured.iterations;
        let (End { iterations, change, .. }, strategy) = (end, plan.strategy);
        Ok(Pagerank { ranks, left, iterations, change, strategy, layout, measured })
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    iterations: u32,
    /// L1 change of the last iteration.
    change: f64,
    /// c of the ranks.
    scale: f64,
}

/// What one replica ends with: ranks by label, or in place of them those that it leaves on its GPU, by node.
type Ranks = (Vec<f32>, Option<LeftArray>, End);

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    plan: &Plan,
    config: &PagerankConfig,
) -> Result<ReplicaAnswer<Ranks>> {
    let begin = Instant::now();
    let sums = plan.merging == Merging::Sum;
    let state = State::allocate(r, StateSizes { active: rows.columns.active, sums })?;
    let rank = r.rank();
    let engine = Engine::new(
        r,
        |device| Workspace::new(device, rows, plan, rank),
        || Ok(HostSide::new(rows, plan, rank)),
    )?;
    r.settle()?;
    let setup_ms = begin.elapsed().as_secs_f64() * 1e3;
    let everybody = match plan.merging {
        Merging::HandOut => {
            let State { value: [a, b], rank: [c, d], .. } = &state;
            let mut all = vec![[0; 4]; r.world()];
            for (which, array) in [a, b, c, d].map(Replicated::address).into_iter().enumerate() {
                let found = r.addresses("ranks", array)?;
                all.iter_mut().zip(found).for_each(|(to, from)| to[which] = from);
            }
            all
        }
        _ => Vec::new(),
    };
    let mut driver = Driver {
        plan,
        config,
        active: rows.columns.active,
        recordings: Vec::new(),
        state,
        everybody,
        dealt: plan.segments.as_ref().map_or(0, Segments::fingerprint),
        arcs: plan.own_arcs(rank, &rows.columns),
        engine,
        open: None,
        end: End::default(),
    };
    let mut measured = timed(r, &config.run, &mut driver)?;
    measured.setup_ms = setup_ms;
    let ranks = &driver.state.rank[driver.last()];
    ReplicaAnswer::new(measured, || {
        if !config.run.leave || driver.engine.workspace().is_none() {
            return Ok((values(r, ranks)?, None, driver.end));
        }
        let leave = |r: &mut Replica| {
            let rest = plan.rest(ranks.len()..rows.columns.nodes, driver.end.scale);
            rows.order().leave(r, ranks, rest)
        };
        Ok((Vec::new(), r.leads().then(|| leave(r)).transpose()?, driver.end))
    })
}

/// Iterations that are queued at most before a device is waited for.
const QUEUED: u32 = 30;

/// Iterations that are recorded at most.
const RECORDED: u32 = 4 * QUEUED;

/// How far apart the ranks of two runs may be, relative to them: twice what each may be off.
const APART: f64 = 2e-5;
/// Smaller ranks than this lose digits to the range of f32: 2^-100.
const LEAST: f64 = 7.888_609_052_210_118e-31;

/// One run, to be repeated.
struct Driver<'a> {
    plan: &'a Plan,
    config: &'a PagerankConfig,
    /// Nodes with rows.
    active: usize,
    /// Of [`QUEUED`] iterations each, where the host has no part in them. Dropped before the arrays that they name.
    recordings: Vec<Recording>,
    state: State,
    /// By rank, the addresses of both `value` and both `rank`, where replicas write into each other's.
    everybody: Vec<Payload>,
    /// A fingerprint of who makes which rows then.
    dealt: u64,
    /// Arcs that an iteration goes over here.
    arcs: u64,
    engine: Engine<Workspace<'a>, HostSide<'a>>,
    /// When the step began that is not booked yet.
    open: Option<Instant>,
    end: End,
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, run: u64) -> Result<()> {
        self.engine.with(
            r,
            &mut self.state,
            |device, workspace, state| workspace.start(device, state),
            |host, state, _| host.start(state),
        )?;
        // A single run does not wait for it.
        if run == 1 { self.record(r) } else { Ok(()) }
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let (tolerance, most) = (self.config.tolerance(), self.config.iterations);
        // On a device the next iteration is under way before the change of one is known.
        let late = u32::from(self.engine.workspace().is_some());
        let mut met = None;
        for t in 0..most {
            self.iteration(r, log, t)?;
            if tolerance > 0.0 && t >= late {
                let end = self.end_of(r, t - late)?;
                if end.change <= tolerance {
                    met = Some(end);
                    break;
                }
            }
        }
        self.drain(r)?;
        self.end = match met {
            Some(end) => end,
            None => self.end_of(r, most - 1)?,
        };
        let last = self.last();
        match self.plan.merging {
            _ if self.active == 0 => Ok(()),
            Merging::Gather => r.gather(&mut self.state.rank[last], &self.plan.split),
            Merging::HandOut => self.hand_out(r, 2 + last),
            Merging::None | Merging::Sum => Ok(()),
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let scale = std::slice::from_ref(&self.end.scale);
        let ranks = &self.state.rank[self.last()];
        vec![Words::of(ranks), Words::Host(bytemuck::cast_slice(scale))]
    }

    /// Pushes add in no fixed order.
    fn rounded(&self, _: &Replica) -> Result<Option<Rounded>> {
        if !self.plan.strategy.pushes() {
            return Ok(None);
        }
        let ranks = self.state.rank[self.last()].to_vec()?.into_iter().map(f64::from);
        let values = ranks.chain([self.end.scale]).collect();
        let (step, iterations) = (self.config.tolerance(), self.end.iterations.into());
        Ok(Some(Rounded { values, relative: APART, absolute: LEAST, iterations, step }))
    }
}

impl Driver<'_> {
    /// Which of the two arrays of ranks is the answer.
    fn last(&self) -> usize {
        self.end.iterations as usize % 2
    }

    /// Nothing comes between iterations.
    fn alone(&self, r: &Replica) -> bool {
        r.world() == 1 || self.plan.merging == Merging::None
    }

    /// Iteration `t`. Ranks are wanted where their change is, and at the end.
    fn task(&self, t: u32) -> StepTask {
        let always = self.config.tolerance() > 0.0;
        let left = self.config.iterations - t;
        StepTask { t, ranks: always || left <= 2, change: always || left == 1 }
    }

    /// Records all iterations, if nobody looks at them before the last.
    fn record(&mut self, r: &Replica) -> Result<()> {
        let (most, alone) = (self.config.iterations, self.alone(r));
        let unseen = self.config.tolerance() == 0.0 && !self.config.run.trace;
        let (Backend::Cuda(device), Some(w)) = (&r.backend, self.engine.workspace()) else {
            return Ok(());
        };
        if !unseen || !alone || most > RECORDED || device.is_perturbed() {
            return Ok(());
        }
        let one = |t| {
            w.step(device, &self.state, self.task(t))?;
            w.conclude(device, &self.state, self.task(t))
        };
        let queued = |first: u32| first..most.min(first + QUEUED);
        let record = |first| device.record(|| queued(first).try_for_each(one));
        let recorded: Result<_> = (0..most).step_by(QUEUED as usize).map(record).collect();
        // Without room for a recording, all iterations are queued one by one.
        self.recordings = recorded.unwrap_or_default();
        Ok(())
    }

    fn iteration(&mut self, r: &mut Replica, log: &mut Log, t: u32) -> Result<()> {
        begin(r, log, "iterate")?;
        let (alone, task) = (self.alone(r), self.task(t));
        self.open(r)?;
        let recording = self.recordings.get((t / QUEUED) as usize);
        let recorded = recording.is_some();
        if let (Some(recording), Backend::Cuda(device), 0) = (recording, &r.backend, t % QUEUED) {
            device.replay(recording)?;
        }
        if !recorded {
            self.engine.with(
                r,
                &mut self.state,
                |device, workspace, state| workspace.step(device, state, task),
                |host, state, beat| host.step(state, task, beat),
            )?;
        }
        if !alone && self.active > 0 {
            self.close(r)?;
            let new = (t as usize + 1) % 2;
            match self.plan.merging {
                Merging::Sum => r.merge(&mut self.state.sum)?,
                Merging::HandOut => self.hand_out(r, new)?,
                _ => r.gather(&mut self.state.value[new], &self.plan.split)?,
            }
            self.open(r)?;
        }
        if !recorded {
            self.engine.with(
                r,
                &mut self.state,
                |device, workspace, state| workspace.conclude(device, state, task),
                |host, state, beat| host.conclude(state, task, beat),
            )?;
        }
        // Marks between iterations cost time: without merges one pair is around all that is queued.
        if !alone {
            self.close(r)?;
        }
        let merge = if alone { "none" } else { self.plan.merging.word() };
        if log.trace || (t + 1).is_multiple_of(QUEUED) {
            self.drain(r)?;
        }
        r.leave();
        log.book("iterate", (1, self.arcs), (self.active as u64, self.arcs), merge);
        Ok(())
    }

    /// Own rows of the array, by its number in `everybody`, become everybody's. Nobody reads the others' meanwhile: they
    /// are those of the iteration before last.
    fn hand_out(&mut self, r: &mut Replica, array: usize) -> Result<()> {
        let copies: Vec<u64> = self.everybody.iter().map(|addresses| addresses[array]).collect();
        let (rank, workspace) = (r.rank(), self.engine.workspace());
        let State { value, rank: ranks, .. } = &self.state;
        let own = [&value[0], &value[1], &ranks[0], &ranks[1]][array];
        r.hand_out(own, self.dealt, |device| match workspace {
            Some(workspace) => workspace.hand_out(device, &copies, rank),
            None => Ok(()),
        })
    }

    /// How things stood after iteration `t`, the same on all replicas.
    fn end_of(&mut self, r: &mut Replica, t: u32) -> Result<End> {
        let found = self.engine.with(
            r,
            &mut self.state,
            |device, workspace, _| workspace.found(device, t),
            |host, _, _| host.found,
        )?;
        let mut units = found.change;
        if matches!(self.plan.merging, Merging::Gather | Merging::HandOut) {
            let all = r.agree("change", [units, 0, 0, 0])?;
            units = all.iter().map(|payload| payload[0]).sum();
        }
        let without_row = self.plan.idle * (found.scale - found.scale_before).abs();
        let change = units as f64 / UNITS + without_row;
        Ok(End { iterations: t + 1, change, scale: found.scale })
    }

    /// A step goes on from here.
    fn open(&mut self, r: &Replica) -> Result<()> {
        if self.open.is_none() {
            self.open = Some(Instant::now());
            if let Backend::Cuda(device) = &r.backend {
                device.mark(0, false)?;
            }
        }
        Ok(())
    }

    /// It has ended, or all of it has been queued.
    fn close(&mut self, r: &mut Replica) -> Result<()> {
        let Some(since) = self.open.take() else { return Ok(()) };
        match &r.backend {
            Backend::Cuda(device) => device.mark(0, true)?,
            Backend::Host(_) => r.book_step(since.elapsed().as_secs_f64() * 1e3),
        }
        Ok(())
    }

    /// Waits for all that is queued, and books its time.
    fn drain(&mut self, r: &mut Replica) -> Result<()> {
        self.close(r)?;
        r.settle()?;
        r.book_marks()
    }
}
