//! The steps of shortest paths on host threads.

mod near_far;

use super::plan::{Exchange, FrontierInfo, State, StepResult, StepTask, Task};
use crate::algorithm::chains::Length;
use crate::collective::{Replicated, atomic_words, atomics, cells};
use crate::layout::{ArcView, Rows, WeightedGraph, WeightedLayout};
use near_far::NearFar;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Arcs below which a round is not worth waking other threads for.
const SERIAL_ARCS: u64 = 1 << 14;
/// Arcs of one parallel task: rows longer than this are cut.
const TASK_ARCS: u64 = 1 << 12;
/// Words (64 nodes each) of one task that looks for marks.
const MARKS: usize = 1 << 8;
/// Words (64 nodes each) of one pull task.
const TASK_WORDS: usize = 16;

/// A frontier entry: the node and its distance when the round began (the snapshot that makes a round
/// the same on every replica).
type Entry<D> = (u32, D);

/// One replica's view while it steps.
struct Round<'a, A: ArcView, D: Length> {
    dist: &'a [D::Atomic],
    marks: &'a [AtomicU64],
    rows: &'a Rows,
    arcs: A,
    beat: &'a (dyn Fn() + Sync),
    relaxed: u64,
}

impl<'a, A: ArcView, D: Length> Round<'a, A, D> {
    fn new(
        dist: &'a mut [D],
        marks: &'a mut [u64],
        rows: &'a Rows,
        arcs: A,
        beat: &'a (dyn Fn() + Sync),
    ) -> Self {
        Round { dist: cells(dist), marks: atomic_words(marks), rows, arcs, beat, relaxed: 0 }
    }

    fn entry(&self, v: u32) -> Entry<D> {
        (v, D::load(&self.dist[v as usize]))
    }

    fn arcs_of(&self, frontier: &[Entry<D>]) -> u64 {
        frontier.iter().map(|(v, _)| self.rows.degree(*v as usize)).sum()
    }

    /// Relaxes arcs `range` of one row; pushes the nodes that improved first time in this round.
    fn relax(&self, from: D, range: Range<u64>, improved: &mut Vec<u32>) {
        relax(self.arcs, self.dist, from, range, |(v, _)| {
            let bit = 1u64 << (v % 64);
            if self.marks[v as usize / 64].fetch_or(bit, Relaxed) & bit == 0 {
                improved.push(v);
            }
        });
    }

    /// Relaxes all arcs out of `frontier`. Returns the nodes that improved, each once, with their new distances; marks are
    /// clean again.
    fn advance(&mut self, frontier: &[Entry<D>]) -> Vec<Entry<D>> {
        let total = self.arcs_of(frontier);
        self.relaxed += total;
        (self.beat)();
        let mut improved = Vec::new();
        if total < SERIAL_ARCS {
            for (v, from) in frontier {
                let v = *v as usize;
                self.relax(*from, self.rows.offsets[v]..self.rows.offsets[v + 1], &mut improved);
            }
        } else {
            let tasks = self.tasks(frontier);
            let this = &*self;
            improved = tasks
                .into_par_iter()
                .fold(Vec::new, |mut improved, task| {
                    (this.beat)();
                    task.into_iter().for_each(|(from, arcs)| this.relax(from, arcs, &mut improved));
                    improved
                })
                .reduce(Vec::new, |mut a, mut b| {
                    a.append(&mut b);
                    a
                });
        }
        if improved.len() < self.marks.len() {
            improved.iter().for_each(|v| self.marks[*v as usize / 64].store(0, Relaxed));
            return improved.into_iter().map(|v| self.entry(v)).collect();
        }
        // So many that their order, in which rows are read, is worth a look at all words.
        let this = &*self;
        let task = |(i, words): (usize, &[AtomicU64])| {
            let mut entries = Vec::new();
            for (k, word) in words.iter().enumerate() {
                let mut bits = word.swap(0, Relaxed);
                while bits != 0 {
                    let v = ((i * MARKS + k) * 64) as u32 + bits.trailing_zeros();
                    entries.push(this.entry(v));
                    bits &= bits - 1;
                }
            }
            entries
        };
        this.marks.par_chunks(MARKS).enumerate().flat_map_iter(task).collect()
    }

    /// Cuts a frontier's arcs into tasks of about equal size, long rows included.
    fn tasks(&self, frontier: &[Entry<D>]) -> Vec<Vec<(D, Range<u64>)>> {
        let (mut tasks, mut task, mut room) = (Vec::new(), Vec::new(), TASK_ARCS);
        for (v, from) in frontier {
            let v = *v as usize;
            let (mut start, end) = (self.rows.offsets[v], self.rows.offsets[v + 1]);
            while start < end {
                let stop = end.min(start + room);
                task.push((*from, start..stop));
                room -= stop - start;
                start = stop;
                if room == 0 {
                    tasks.push(std::mem::take(&mut task));
                    room = TASK_ARCS;
                }
            }
        }
        tasks.push(task);
        tasks
    }

    /// Takes the set bits of words `range` out of `words`, as entries in node order.
    fn take(&self, words: &mut [u64], range: Range<usize>) -> Vec<Entry<D>> {
        let mut entries = Vec::new();
        for (i, word) in words[range.clone()].iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                entries.push(self.entry(((range.start + i) * 64) as u32 + bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        entries
    }
}

/// Relaxes arcs out of a node at distance `from`, and tells of nodes that improve.
#[inline(always)]
fn relax<A: ArcView, D: Length>(
    arcs: A,
    dist: &[D::Atomic],
    from: D,
    range: Range<u64>,
    mut improves: impl FnMut(Entry<D>),
) {
    for i in range.start as usize..range.end as usize {
        let (v, weight) = arcs.arc(i);
        let candidate = from.plus(weight);
        let slot = &dist[v as usize];
        let lower = |held: D| (candidate < held).then_some(candidate);
        if candidate < D::load(slot) && candidate < D::update(slot, lower) {
            improves((v, candidate));
        }
    }
}

fn lowest<D: Length>(frontier: &[Entry<D>]) -> D {
    frontier.iter().map(|e| e.1).fold(D::INFINITE, |a, b| if b < a { b } else { a })
}

fn put<D: Length>(words: &mut [u64], frontier: &[Entry<D>]) {
    frontier.iter().for_each(|(v, _)| words[*v as usize / 64] |= 1 << (v % 64));
}

/// Runs a step over whichever form the arcs have.
macro_rules! with_arcs {
    ($rows:expr, |$view:ident| $body:expr) => {
        match ($rows.arcs.packed(), $rows.arcs.pairs()) {
            (Some($view), _) => $body,
            (None, Some($view)) => $body,
            (None, None) => unreachable!("arcs are packed or pairs"),
        }
    };
}

/// All distances infinite, the seeds 0 and in `front`.
pub(super) fn start<D: Length>(dist: &mut [D], front: &mut [u64], seeds: &[u32], active: usize) {
    dist.fill(D::INFINITE);
    front.fill(0);
    for v in seeds.iter().map(|seed| *seed as usize) {
        dist[v] = D::ZERO;
        if v < active {
            front[v / 64] |= 1 << (v % 64);
        }
    }
}

/// Runs a task: what it found, and whether `front` and `next` have changed places.
pub(super) fn step(
    graph: &WeightedGraph,
    s: &mut State,
    told: &StepTask,
    beat: &(dyn Fn() + Sync),
) -> (StepResult, bool) {
    match told.task {
        Task::Pull => (pull(graph, s, told, beat), true),
        Task::LongPaths => {
            let (dist, front, _) = host_arrays(s);
            let delta = f64::from(told.delta);
            let (relaxed, rounds) = near_far(&graph.layout, dist, front, delta, beat);
            (StepResult { relaxed, rounds, ..StepResult::default() }, false)
        }
        Task::Push => (push(graph, s, told.chunk.clone(), beat), false),
        Task::Finish | Task::Grow | Task::Joint => {
            (grow(graph, s, told.thresholds.pull_above, beat), false)
        }
    }
}

/// Pushes whole frontiers, redundantly and from snapshots, until none is left or a pull pays.
fn grow(
    graph: &WeightedGraph,
    s: &mut State,
    pull_above: u64,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    let rows = &graph.layout.out;
    with_arcs!(rows, |arcs| {
        let (dist, front, next) = host_arrays(s);
        let words = front.len();
        let mut round = Round::new(dist, next, rows, arcs, beat);
        let mut frontier = round.take(front, 0..words);
        let mut rounds = 0;
        let arcs = loop {
            let arcs = round.arcs_of(&frontier);
            if frontier.is_empty() || arcs > pull_above {
                break arcs;
            }
            frontier = round.advance(&frontier);
            rounds += 1;
        };
        let (nodes, lowest) = (frontier.len() as u64, lowest(&frontier));
        put(front, &frontier);
        let left = FrontierInfo { nodes, arcs, lowest };
        StepResult { left, relaxed: round.relaxed, rounds, logged: 0 }
    })
}

/// The textbook push: relaxes the arcs of the own chunk's frontier; OR and MIN must follow.
fn push(
    graph: &WeightedGraph,
    s: &mut State,
    chunk: Range<u64>,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    let rows = &graph.layout.out;
    with_arcs!(rows, |arcs| {
        let (dist, front, next) = host_arrays(s);
        let end = (chunk.end as usize).div_ceil(64).min(front.len());
        let mut round = Round::new(dist, next, rows, arcs, beat);
        let frontier = round.take(front, (chunk.start as usize / 64).min(end)..end);
        let improved = round.advance(&frontier);
        let (nodes, arcs) = (improved.len() as u64, round.arcs_of(&frontier));
        front.fill(0);
        put(front, &improved);
        let left = FrontierInfo { nodes, arcs, ..FrontierInfo::default() };
        StepResult { left, relaxed: round.relaxed, rounds: 1, logged: 0 }
    })
}

/// Pulls into the chunk: node v scans its in-arcs, lightest first, while one can still help. Distances and words of `next`
/// are then the chunk's alone.
fn pull(
    graph: &WeightedGraph,
    s: &mut State,
    told: &StepTask,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    let (rows, out) = (graph.layout.in_rows(), &graph.layout.out);
    let (active, lightest) = (graph.layout.active, graph.layout.lightest);
    let (chunk, lowest) = (&told.chunk, told.known.lowest);
    with_arcs!(rows, |arcs| {
        let (dist, front, next) = host_arrays(s);
        let dist = atomics(dist);
        let first = chunk.start as usize / 64;
        let last = (chunk.end as usize).div_ceil(64).min(next.len()).max(first);
        let task = |(task, words): (usize, &mut [u64])| {
            beat();
            let (mut left, mut relaxed) = (FrontierInfo::default(), 0);
            for (i, word) in words.iter_mut().enumerate() {
                let base = (first + task * TASK_WORDS + i) * 64;
                let mut bits = 0u64;
                for v in base..(base + 64).min(active) {
                    let before = dist[v].load(Relaxed);
                    if (lowest + lightest).to_bits() >= before {
                        continue;
                    }
                    let mut best = before;
                    for i in rows.offsets[v] as usize..rows.offsets[v + 1] as usize {
                        let (u, weight) = arcs.arc(i);
                        if (weight + lowest).to_bits() >= best {
                            break;
                        }
                        relaxed += 1;
                        let from = f32::from_bits(dist[u as usize].load(Relaxed));
                        best = best.min((from + weight).to_bits());
                    }
                    if best < before {
                        dist[v].store(best, Relaxed);
                        bits |= 1 << (v - base);
                        left.lowest = left.lowest.min(f32::from_bits(best));
                        left.arcs += out.degree(v);
                        left.nodes += 1;
                    }
                }
                *word = bits;
            }
            (left, relaxed)
        };
        let own = next[first..last].par_chunks_mut(TASK_WORDS).enumerate();
        let (left, relaxed) =
            own.map(task).reduce(|| (FrontierInfo::default(), 0), |a, b| (a.0.and(b.0), a.1 + b.1));
        front.fill(0);
        StepResult { left, relaxed, rounds: 1, logged: 0 }
    })
}

/// Lists the chunk's improved nodes with their distances, or takes over the others' lists.
pub(super) fn exchange(s: &mut State, list: &mut Replicated<u64>, told: &Exchange) {
    let (dist, front, _) = host_arrays(s);
    let pairs = list.host_mut().unwrap_or_default();
    if !told.pack {
        let others = (0..told.total).filter(|i| !told.own.contains(i));
        for pair in others.map(|i| pairs[i as usize]) {
            let v = pair as u32 as usize;
            dist[v] = f32::from_bits((pair >> 32) as u32);
            front[v / 64] |= 1 << (v % 64);
        }
        return;
    }
    let mut at = told.own.start as usize;
    let (first, last) = (told.chunk.start as usize / 64, (told.chunk.end as usize).div_ceil(64));
    for (i, word) in front.iter().enumerate().take(last).skip(first) {
        let mut bits = *word;
        while bits != 0 {
            let v = i * 64 + bits.trailing_zeros() as usize;
            pairs[at] = u64::from(dist[v].to_bits()) << 32 | v as u64;
            at += 1;
            bits &= bits - 1;
        }
    }
}

/// Near-far to the end, redundantly: distances are unique again when nothing is pending. `far` is the frontier to
/// begin with. Returns arcs relaxed, and rounds.
pub(super) fn near_far<D: Length>(
    layout: &WeightedLayout,
    dist: &mut [D],
    far: &mut [u64],
    delta: f64,
    beat: &(dyn Fn() + Sync),
) -> (u64, u64) {
    let (rows, long_paths) = (&layout.out, layout.flat);
    with_arcs!(rows, |arcs| {
        let words = far.len();
        let round = Round::new(dist, &mut [], rows, arcs, beat);
        let seeds = round.take(far, 0..words);
        NearFar { rows, arcs, dist: round.dist, beat, seeds, delta, long_paths }.search()
    })
}

/// Distances, frontier and next frontier in host memory.
pub(super) fn host_arrays(s: &mut State) -> (&mut [f32], &mut [u64], &mut [u64]) {
    let dist = s.dist.host_mut().unwrap_or_default();
    let front = s.front.words_mut().host_mut().unwrap_or_default();
    (dist, front, s.next.words_mut().host_mut().unwrap_or_default())
}
