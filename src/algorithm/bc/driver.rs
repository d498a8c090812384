//! One run on one replica: batch after batch, whole or level by level. The idea is in the parent module.

use super::Tally;
use super::cuda::{Form, Workspace};
use super::host::Lanes;
use super::plan::Plan;
use crate::algorithm::TraceEntry;
use crate::algorithm::frame::{Log, Step};
use crate::collective::Split;
use crate::collective::{MergeOp, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::TopologyRows;
use std::ops::Range;
use std::time::Instant;

/// What a batch came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    /// The largest distance from a source.
    pub levels: u64,
    /// Nodes, and arcs out of them, added up over the lanes.
    pub reached: u64,
    pub reached_arcs: u64,
    /// Arcs that were looked at.
    pub looked: u64,
    /// A lane with too many paths.
    pub overflow: Option<u32>,
}

/// What replicas tell each other where levels are cut.
pub(crate) struct Exchange {
    /// `[active]` mask of lanes << 32 | label: what a level found.
    pub entries: Replicated<u64>,
    pub values: Values,
}

/// `[active, lanes]`: numbers of paths forward, sums of coefficients backward, by place in the list of a level.
pub(crate) enum Values {
    Single(Replicated<f32>),
    Double(Replicated<f64>),
}

impl Exchange {
    pub fn new(r: &mut Replica, p: &TopologyRows, plan: &Plan) -> Result<Exchange> {
        let active = p.columns.active;
        let entries = r.array("entries", active, MergeOp::Gather)?;
        let length = active * plan.lanes;
        let values = match plan.double {
            true => Values::Double(r.array("values", length, MergeOp::Gather)?),
            false => Values::Single(r.array("values", length, MergeOp::Gather)?),
        };
        Ok(Exchange { entries, values })
    }

    /// Gives everybody the lists of all.
    fn gather_entries(&mut self, r: &mut Replica, split: &Split) -> Result<()> {
        r.gather(&mut self.entries, split)
    }

    /// Gives everybody the values of all.
    fn gather_values(&mut self, r: &mut Replica, split: &Split, lanes: usize) -> Result<()> {
        let lengths = split.bounds().windows(2).map(|pair| (pair[1] - pair[0]) * lanes as u64);
        let split = Split::of_lengths(lengths);
        match &mut self.values {
            Values::Single(values) => r.gather(values, &split),
            Values::Double(values) => r.gather(values, &split),
        }
    }
}

/// The steps of one replica, on whatever it runs on.
pub(super) enum Engine {
    Host(Box<Lanes>),
    Cuda(Box<Workspace>),
}

impl Engine {
    pub fn new(r: &mut Replica, p: &TopologyRows, labels: &[u32], plan: &Plan) -> Result<Engine> {
        let (rank, perturbed) = (r.rank(), r.chance().is_some());
        let chunk = plan.cut.then(|| p.in_chunks.range(rank));
        match &mut r.backend {
            Backend::Host(_) => Ok(Engine::Host(Box::new(Lanes::new(&p.columns, plan.lanes)?))),
            Backend::Cuda(device) => {
                let Plan { lanes, double, .. } = *plan;
                let form = Form { lanes, double, perturbed };
                let workspace = Workspace::new(device, p, p.on_device(rank)?, labels, form, chunk)?;
                Ok(Engine::Cuda(Box::new(workspace)))
            }
        }
    }
}

/// One run.
pub(super) struct Driver<'a> {
    pub r: &'a mut Replica,
    pub p: &'a TopologyRows,
    /// By position, the labels of the sources.
    pub labels: &'a [u32],
    pub plan: &'a Plan,
    pub endpoints: bool,
    pub scores: &'a mut Replicated<f64>,
    pub exchange: &'a mut Option<Exchange>,
    pub engine: &'a mut Engine,
    pub tally: &'a mut Tally,
    pub log: &'a mut Log,
}

/// What a step of a batch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// All levels of both phases, and the scores.
    Whole,
    /// The sources, as level 0.
    Seed,
    /// What the next level holds of the own chunk.
    Find,
    /// The list of a level, gathered, into the arrays.
    Commit { nodes: usize },
    /// Sums of coefficients for the own part of a level.
    Back { level: usize },
    /// The sums of a level, gathered, into the arrays and, on GPUs, the scores.
    Settle { level: usize },
    /// The rest of what the batch adds to the scores: on GPUs the ends of paths.
    Score,
}

impl Driver<'_> {
    pub fn go(&mut self) -> Result<()> {
        for round in 0..self.plan.rounds() {
            self.r.begin(self.log.iteration(), "batch")?;
            let batch = self.plan.batch(self.r.rank(), round);
            if self.plan.cut {
                self.levels(batch)?;
            } else {
                self.whole(batch)?;
            }
        }
        if !self.plan.cut && !self.plan.alone && self.r.world() > 1 {
            self.r.begin(self.log.iteration(), "scores")?;
            let begin = Instant::now();
            self.r.merge(self.scores)?;
            self.note("scores", "sum", Done::default(), begin);
        }
        Ok(())
    }

    /// A batch by this replica alone. One that has none books it too: all count the same iterations.
    fn whole(&mut self, batch: Range<usize>) -> Result<()> {
        let begin = Instant::now();
        let mut done = Done::default();
        if !batch.is_empty() && self.tally.overflow.is_none() {
            done = self.step(Task::Whole, &batch)?;
            self.count(&batch, done);
        }
        self.note("batch", "none", done, begin);
        Ok(())
    }

    /// A batch by all replicas together.
    fn levels(&mut self, batch: Range<usize>) -> Result<()> {
        if self.tally.overflow.is_some() {
            return Ok(());
        }
        self.step(Task::Seed, &batch)?;
        let mut parts: Vec<Split> = Vec::new();
        loop {
            let begin = Instant::now();
            self.r.begin(self.log.iteration(), "level")?;
            let found = self.step(Task::Find, &batch)?;
            let all = self.r.agree("nodes of a level", [found.reached, 0, 0, 0])?;
            let split = Split::of_lengths(all.iter().map(|payload| payload[0]));
            let nodes = split.bounds().last().copied().unwrap_or(0);
            if nodes == 0 {
                self.note("forward", "none", found, begin);
                break;
            }
            self.exchange(&split, None)?;
            let done = self.step(Task::Commit { nodes: nodes as usize }, &batch)?;
            self.note("forward", "gather", Done { looked: found.looked, ..done }, begin);
            if done.overflow.is_some() {
                self.count(&batch, done);
                return Ok(());
            }
            parts.push(split);
        }
        for (level, split) in parts.iter().enumerate().rev().map(|(i, split)| (i + 1, split)) {
            let begin = Instant::now();
            self.r.begin(self.log.iteration(), "level")?;
            let (mut done, mut merge) = (Done::default(), "none");
            // Below the deepest level there is nothing to sum.
            if level < parts.len() {
                done = self.step(Task::Back { level }, &batch)?;
                self.exchange(split, Some(level))?;
                merge = "gather";
            }
            self.step(Task::Settle { level }, &batch)?;
            self.note("backward", merge, done, begin);
        }
        let done = self.step(Task::Score, &batch)?;
        self.count(&batch, done);
        Ok(())
    }

    /// Puts the own part of a level, the one just found or `back` on the way back, where the others get it from, and
    /// gets theirs.
    fn exchange(&mut self, split: &Split, back: Option<usize>) -> Result<()> {
        let (own, chance) = (split.range(self.r.rank()), self.r.chance());
        let Some(exchange) = self.exchange else { return Err(no_room()) };
        let step = Step::begin(self.r)?;
        match &mut *self.engine {
            Engine::Host(lanes) => lanes.pack(exchange, own, back.is_none()),
            Engine::Cuda(w) => w.pack(self.r.device()?, exchange, own, back, chance)?,
        }
        step.end(self.r)?;
        if back.is_none() {
            exchange.gather_entries(self.r, split)?;
        }
        exchange.gather_values(self.r, split, self.plan.lanes)
    }

    fn step(&mut self, task: Task, batch: &Range<usize>) -> Result<Done> {
        let step = Step::begin(self.r)?;
        let done = match self.engine {
            Engine::Host(_) => self.host_step(task, batch)?,
            Engine::Cuda(_) => self.device_step(task, batch)?,
        };
        step.end(self.r)?;
        Ok(done)
    }

    fn device_step(&mut self, task: Task, batch: &Range<usize>) -> Result<Done> {
        let chance = self.r.chance();
        let (device, Engine::Cuda(w)) = (self.r.device()?, &mut *self.engine) else {
            return Err(no_room());
        };
        let exchange = || self.exchange.as_ref().ok_or_else(no_room);
        match task {
            Task::Whole => w.whole(device, batch, self.scores, self.endpoints, chance),
            Task::Seed => w.seed(device, batch),
            Task::Find => w.find(device, chance),
            Task::Commit { nodes } => w.commit(device, exchange()?, nodes as u64, chance),
            Task::Back { level } => w.back(device, level, chance),
            Task::Settle { level } => w.settle(device, exchange()?, level, self.scores, chance),
            Task::Score => w.score(device, self.scores, self.endpoints, chance),
        }
    }

    fn host_step(&mut self, task: Task, batch: &Range<usize>) -> Result<Done> {
        let (rank, rendezvous) = (self.r.rank(), self.r.rendezvous().clone());
        let beat = || rendezvous.beat(rank);
        let (p, sources) = (self.p, &self.labels[batch.clone()]);
        let own = p.in_chunks.range(rank);
        let own = own.start as usize..own.end as usize;
        let (Backend::Host(worker), Engine::Host(lanes)) = (&self.r.backend, &mut *self.engine)
        else {
            return Err(no_room());
        };
        let scores = self.scores.host_mut().unwrap_or_default();
        let exchange = self.exchange.as_ref();
        let (columns, endpoints) = (&*p.columns, self.endpoints);
        worker.pool.install(|| match task {
            Task::Whole => Ok(lanes.whole(columns, sources, endpoints, scores, &beat)),
            Task::Seed => Ok(lanes.seed(columns, sources)),
            Task::Find => Ok(lanes.find(columns, own, &beat)),
            Task::Commit { nodes } => {
                let (entries, values) = exchange.and_then(host_arrays).ok_or_else(no_room)?;
                Ok(lanes.commit(columns, &entries[..nodes], values, &beat))
            }
            Task::Back { level } => Ok(lanes.back(columns, level, true, &beat)),
            Task::Settle { level } => {
                let (_, values) = exchange.and_then(host_arrays).ok_or_else(no_room)?;
                lanes.settle(level, values, &beat);
                Ok(Done::default())
            }
            Task::Score => Ok(lanes.score(sources, endpoints, scores)),
        })
    }

    fn count(&mut self, batch: &Range<usize>, done: Done) {
        let tally = &mut *self.tally;
        tally.levels = tally.levels.max(done.levels);
        tally.reached += done.reached;
        tally.reached_arcs += done.reached_arcs;
        tally.overflow = done.overflow.map(|lane| batch.start + lane as usize);
    }

    fn note(&mut self, step: &str, merge: &str, done: Done, begin: Instant) {
        let rounds = if step == "batch" { 2 * done.levels } else { 1 };
        if self.log.trace {
            self.log.entries.push(TraceEntry {
                iteration: self.log.iterations,
                step: step.into(),
                rounds,
                frontier_nodes: done.reached,
                frontier_arcs: done.reached_arcs,
                merge: merge.into(),
                ms: begin.elapsed().as_secs_f64() * 1e3,
            });
        }
        self.log.book(rounds, done.looked, merge);
    }
}

fn host_arrays(exchange: &Exchange) -> Option<(&[u64], &[f64])> {
    match &exchange.values {
        Values::Single(_) => None,
        Values::Double(values) => Some((exchange.entries.host()?, values.host()?)),
    }
}

fn no_room() -> Error {
    Error::machine("a step without its arrays; this is a bug")
}
