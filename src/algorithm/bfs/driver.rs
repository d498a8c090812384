//! Searches on one replica: steps and merges until nothing is left. The idea is in the parent module.

use super::cuda::Workspace;
use super::{Found, Known, Plan, Question, SearchDirection, State, Task, UNREACHED, host};
use crate::algorithm::frame::{Log, Repeat, Run, Step};
use crate::algorithm::same::Words;
use crate::algorithm::{BfsOptions, TraceEntry};
use crate::collective::Together;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::TopologyRows;
use rayon::prelude::*;
use std::time::Instant;

pub(super) struct Driver<'a> {
    rows: &'a TopologyRows,
    question: &'a Question,
    plan: Plan,
    /// Everybody's `front` and `next`.
    together: Together<2>,
    state: State,
    workspace: Option<Workspace>,
    /// On the host: nodes reached so far.
    visited: Vec<u64>,
    /// Nodes with an in-arc.
    reachable: u64,
    /// The source of this run.
    source: usize,
    /// Runs before the first that is timed.
    warmup: u64,
    /// Where an edge is two arcs: labels with self loops, and how many, each of which is one.
    loops: Vec<(u32, u64)>,
    /// The number of the last run.
    last: u64,
    levels: Vec<Vec<u32>>,
    counts: Vec<[u64; 3]>,
    reached_loops: Vec<Option<u64>>,
    pub download_ms: f64,
}

/// Everything that a step is told beside the state.
pub(super) struct Told<'a> {
    pub task: Task,
    pub known: Known,
    /// Nodes that the step is for.
    pub chunk: std::ops::Range<u64>,
    pub reachable: u64,
    pub options: &'a BfsOptions,
    pub chance: Option<u64>,
    pub together: Together<2>,
}

impl<'a> Driver<'a> {
    pub fn new(
        r: &mut Replica,
        rows: &'a TopologyRows,
        question: &'a Question,
        plan: Plan,
        state: State,
        repeat: Repeat,
    ) -> Result<Driver<'a>> {
        let rank = r.rank();
        let workspace = match &mut r.backend {
            Backend::Host(_) => None,
            Backend::Cuda(device) => {
                let graph = rows.on_device(rank)?;
                Some(Workspace::new(device, rows, graph, plan == Plan::NearFar, repeat.trace)?)
            }
        };
        let bitmaps = [&state.front, &state.next].map(|words| words.words().address());
        let together = match plan {
            Plan::Joint => r.together([("frontier", bitmaps[0]), ("next frontier", bitmaps[1])])?,
            _ => Together::alone(),
        };
        let into = &rows.columns.in_rows().offsets;
        let reachable = into.windows(2).filter(|pair| pair[0] < pair[1]).count() as u64;
        let many = question.sources.len();
        Ok(Driver {
            rows,
            question,
            plan,
            together,
            state,
            workspace,
            visited: Vec::new(),
            reachable,
            source: 0,
            warmup: repeat.warmup.into(),
            loops: self_loops(rows),
            reached_loops: vec![None; many],
            last: (u64::from(repeat.warmup) + u64::from(repeat.runs)).saturating_sub(1),
            levels: vec![Vec::new(); if question.keep { many } else { 1 }],
            counts: vec![[0; 3]; many],
            download_ms: 0.0,
        })
    }

    /// The levels that were kept, what was counted, and self loops among that, by source.
    pub fn finish(self) -> (Vec<Vec<u32>>, Vec<[u64; 3]>, Vec<u64>) {
        let loops = self.reached_loops.into_iter().map(Option::unwrap_or_default).collect();
        (self.levels, self.counts, loops)
    }
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, number: u64) -> Result<()> {
        // The first run that is timed is from the first source.
        let many = self.question.sources.len() as u64;
        self.source = ((number + many - self.warmup % many) % many) as usize;
        let source = self.question.sources[self.source];
        if let (Backend::Cuda(device), Some(w)) = (&r.backend, &mut self.workspace) {
            let graph = self.rows.on_device(r.rank())?;
            return w.reset(device, graph, &self.state, source);
        }
        self.state.level.host_mut().unwrap_or_default().fill(UNREACHED);
        self.state.level.host_mut().unwrap_or_default()[source as usize] = 0;
        for words in [&mut self.state.front, &mut self.state.next] {
            words.words_mut().host_mut().unwrap_or_default().fill(0);
        }
        let words = self.state.front.words().len();
        self.visited.clear();
        self.visited.resize(words, 0);
        let front = self.state.front.words_mut().host_mut().unwrap_or_default();
        if (source as usize) < self.rows.columns.active {
            for words in [front, &mut self.visited] {
                words[source as usize / 64] |= 1 << (source % 64);
            }
        }
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Some(degree) = self.degree(self.question.sources[self.source]) else {
            return Ok(());
        };
        let start = Known {
            nodes: 1,
            arcs: Some(degree),
            reached: 1,
            depth: 0,
            pulled: false,
            want_pull: false,
        };
        match self.plan {
            Plan::NearFar => self.step(r, log, Task::NearFar, start).map(drop),
            Plan::Redundant => self.step(r, log, Task::Finish, start).map(drop),
            Plan::Joint => self.step(r, log, Task::Joint, start).map(drop),
            Plan::Cut => self.cut(r, log, start),
            Plan::Dense => self.dense(r, log, start),
        }
    }

    fn done(&mut self, r: &mut Replica, number: u64) -> Result<()> {
        let start = Instant::now();
        let kept = if self.question.keep { self.source } else { 0 };
        // One that copies while others wait lets them fall asleep before the next run.
        let wanted =
            (r.rank() == 0 || self.question.compare) && (self.question.keep || number == self.last);
        let alone = self.degree(self.question.sources[self.source]).is_none();
        self.counts[self.source] = match (&r.backend, &self.workspace) {
            _ if alone => [1, 0, 0],
            (Backend::Cuda(device), Some(w)) => {
                w.count(device, self.rows.on_device(r.rank())?, &self.state)?
            }
            _ => host::count(self.rows, self.state.level.host().unwrap_or_default()),
        };
        if r.rank() == 0 && !self.loops.is_empty() && self.reached_loops[self.source].is_none() {
            let levels = self.state.level.to_vec()?;
            let reached = self.loops.iter().filter(|(v, _)| levels[*v as usize] != UNREACHED);
            self.reached_loops[self.source] = Some(reached.map(|(_, count)| count).sum());
        }
        // Another run from the same source ends with the same levels.
        if wanted && (self.levels[kept].is_empty() || !self.question.keep) {
            self.levels[kept] = self.state.level.to_vec()?;
        }
        self.download_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.level)]
    }

    fn question(&self) -> u64 {
        self.source as u64
    }
}

impl Driver<'_> {
    /// Out-arcs of a label; none of one that lies behind the rows.
    fn degree(&self, v: u32) -> Option<u64> {
        let columns = &self.rows.columns;
        ((v as usize) < columns.active).then(|| columns.out.degree(v as usize))
    }

    /// Whether to pull, as `kernels/bfs.cu` has it.
    fn pulls(&self, known: &Known) -> bool {
        pulls(self.rows, self.reachable, &self.question.options, known)
    }

    /// Redundant pushes, pulls cut by chunk.
    fn cut(&mut self, r: &mut Replica, log: &mut Log, start: Known) -> Result<()> {
        let mut known = start;
        while known.nodes > 0 {
            // A growing step ends where its own reckoning, in f32 on a device, wants a pull: that is final.
            let pull = known.want_pull || (known.pulled && self.pulls(&known));
            known = self.step(r, log, if pull { Task::Pull } else { Task::Grow }, known)?;
        }
        Ok(())
    }

    /// Pushes by chunk and OR, pulls by chunk and gather.
    fn dense(&mut self, r: &mut Replica, log: &mut Log, start: Known) -> Result<()> {
        let mut known = start;
        while known.nodes > 0 {
            let task = if self.pulls(&known) { Task::Pull } else { Task::Push };
            known = self.step(r, log, task, known)?;
        }
        Ok(())
    }

    /// One step, agreement on what it found, the merge where something was found; what is known after.
    fn step(&mut self, r: &mut Replica, log: &mut Log, task: Task, known: Known) -> Result<Known> {
        let begin = Instant::now();
        r.begin(log.iteration(), task.name())?;
        let step = Step::begin(r)?;
        let mut found = self.compute(r, task, known)?;
        step.end(r)?;
        if let (Backend::Cuda(device), Some(w)) = (&r.backend, &mut self.workspace) {
            let swapped;
            (found, swapped) = w.found(device, task)?;
            if swapped {
                self.state.swap();
                self.together.arrays.swap(0, 1);
            }
        }
        let logged = found.logged;
        let (merged, found) = self.merge(r, task, found)?;
        log.book(found.rounds, found.looked, merged);
        self.note(log, task, &known, (logged, merged), begin);
        let (nodes, arcs) = (found.nodes, found.arcs);
        let depth = known.depth + found.rounds as u32;
        let reached = known.reached + found.reached;
        let (pulled, want_pull) = (task == Task::Pull, found.want_pull);
        // A step that did nothing leaves what was known as it was.
        match found.rounds {
            0 => Ok(Known { want_pull, ..known }),
            _ => Ok(Known { nodes, arcs, reached, depth, pulled, want_pull }),
        }
    }

    fn compute(&mut self, r: &mut Replica, task: Task, known: Known) -> Result<Found> {
        let (chance, rank) = (r.chance(), r.rank());
        let rendezvous = r.rendezvous().clone();
        let columns = &self.rows.columns;
        let chunk = match task {
            Task::Pull => self.rows.in_chunks.range(rank),
            Task::Push => self.rows.chunks.range(rank),
            _ => 0..columns.active as u64,
        };
        let (reachable, options) = (self.reachable, &self.question.options);
        let together = self.together;
        let told = Told { task, known, chunk, reachable, options, chance, together };
        match (&r.backend, &mut self.workspace) {
            (Backend::Cuda(device), Some(w)) => {
                w.launch(device, self.rows, self.rows.on_device(rank)?, &self.state, &told)?;
                Ok(Found::default())
            }
            (Backend::Host(worker), _) => {
                let (rows, state, visited) = (self.rows, &mut self.state, &mut self.visited);
                let beat = || rendezvous.beat(rank);
                Ok(worker.pool.install(|| host::step(rows, state, visited, &told, &beat)))
            }
            _ => Err(Error::machine("a device without a workspace; this is a bug")),
        }
    }

    /// After a step of the own chunk: what all found, and everybody's frontier.
    fn merge(&mut self, r: &mut Replica, task: Task, own: Found) -> Result<(&'static str, Found)> {
        match task {
            _ if r.world() == 1 => return Ok(("none", own)),
            Task::Pull | Task::Push => {}
            Task::Joint => return Ok(("joint", own)),
            _ => return Ok(("none", own)),
        }
        let arcs = own.arcs.unwrap_or(0);
        let all = r.agree(task.name(), [own.nodes, arcs, 0, 0])?;
        let sum = |field: usize| all.iter().map(|payload| payload[field]).sum::<u64>();
        // Pushes may have found the same: what they counted together only bounds it.
        let nodes = sum(0).min(self.reachable);
        let found = Found { nodes, reached: nodes, arcs: own.arcs.map(|_| sum(1)), ..own };
        if nodes == 0 {
            return Ok(("none", found));
        }
        if task == Task::Pull {
            let words = self.rows.in_chunks.in_units_of(64);
            r.gather(self.state.front.words_mut(), &words)?;
            return Ok(("gather", found));
        }
        r.merge(self.state.front.words_mut())?;
        Ok(("dense", found))
    }

    /// Adds the iteration to the trace; a device step that logged its levels adds one entry a level.
    fn note(
        &self,
        log: &mut Log,
        task: Task,
        known: &Known,
        (logged, merge): (u64, &str),
        begin: Instant,
    ) {
        let frontier = (known.nodes, known.arcs.unwrap_or(0));
        let levels = self.workspace.as_ref().map(|w| w.levels(logged)).unwrap_or_default();
        if log.trace && (levels.len() > 1 || levels.iter().any(|level| level.1 > 1)) {
            for (step, rounds, [frontier_nodes, frontier_arcs], ms) in levels {
                let shared = task == Task::Joint && step == "pull";
                log.entries.push(TraceEntry {
                    iteration: log.iterations - 1,
                    step: step.into(),
                    rounds,
                    frontier_nodes,
                    frontier_arcs,
                    merge: if shared { "joint" } else { "none" }.into(),
                    ms,
                });
            }
        }
        log.note(task.name(), frontier, merge, begin);
    }
}

/// The labels that have self loops, and how many, where rows are the same both ways.
fn self_loops(rows: &TopologyRows) -> Vec<(u32, u64)> {
    let columns = &rows.columns;
    if columns.into.is_some() || rows.graph.origin.self_loops == 0 {
        return Vec::new();
    }
    let of = |v: u32| {
        let row = columns.out.row(v as usize);
        let first = row.partition_point(|u| *u < v);
        let count = row[first..].partition_point(|u| *u == v) as u64;
        (count > 0).then_some((v, count))
    };
    (0..columns.active as u32).into_par_iter().filter_map(of).collect()
}

/// Arcs from which a push is a large one; as in `kernels/bfs_round.cuh`.
const MANY: f64 = (1u64 << 23) as f64;
/// What of `do_a` counts for one.
const MANY_SHARE: f64 = 0.005;

/// Whether to pull, from what is known of the frontier.
pub(super) fn pulls(
    rows: &TopologyRows,
    reachable: u64,
    options: &BfsOptions,
    known: &Known,
) -> bool {
    match options.direction {
        SearchDirection::Push => return false,
        SearchDirection::Pull => return true,
        SearchDirection::Auto => {}
    }
    let arcs = rows.columns.out.arcs() as f64;
    let mean = arcs / reachable.max(1) as f64;
    let forward = known.arcs.map_or(known.nodes as f64 * mean, |arcs| arcs as f64);
    let open = reachable.saturating_sub(known.reached) as f64;
    let backward = open * mean.min(arcs / forward.max(1.0));
    let (mut pushing, mut pulling) = (options.do_a, options.do_b);
    if forward > MANY {
        pushing *= MANY_SHARE;
        pulling = pulling.min(pushing);
    }
    forward > backward * if known.pulled { pulling } else { pushing }
}
