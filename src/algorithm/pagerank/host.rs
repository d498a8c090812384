//! The steps of PageRank on host threads: one form each of pull, push and arcs. Sums are f64; the order in which a row is added
//! up depends on its length alone.

use super::Strategy;
use super::plan::{Merging, Plan, State, StepResult, StepTask};
use crate::collective::{Element, cells};
use crate::device::kernels::pagerank::UNITS;
use crate::layout::{Columns, RowView, SHORT_ROW, TopologyRows};
use crate::threads::Body;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// Rows of one task, at most.
const ROWS: usize = 1 << 10;
/// Arcs of one task; a longer row is added up by several.
const ARCS: usize = 1 << 14;

/// Arcs from which a row is added up in several sums, which do not wait for each other. Shorter rows lose more by a second loop.
const LONG: usize = 128;
/// Rows of one task that merges or pushes.
const MERGED: usize = 256;

type Beat<'a> = &'a (dyn Fn() + Sync);

/// What a replica's steps need beside the replicated state.
pub(super) struct HostSide<'a> {
    plan: &'a Plan,
    columns: &'a Columns,
    own: Range<usize>,
    arcs: OwnArcs,
    /// First rows of tasks that pull, own rows or, where sums are merged, all; and the end.
    tasks: Vec<usize>,
    /// The rank of nodes with a row and no out-weight before the iteration to come, in units.
    dangling: u64,
    /// What the last iteration found.
    pub found: StepResult,
}

/// Own arcs in the form that the strategy wants.
enum OwnArcs {
    Rows,
    /// Sources beside the rows' targets.
    Sources(Vec<u32>),
    /// Source and target.
    Pairs(Vec<[u32; 2]>),
}

impl<'a> HostSide<'a> {
    pub fn new(rows: &'a TopologyRows, plan: &'a Plan, rank: usize) -> HostSide<'a> {
        let (columns, own) = (&*rows.columns, plan.own(rank));
        let row = |u: usize| columns.out.row(u).iter().map(move |v| [u as u32, *v]);
        let arcs = own.clone().flat_map(row);
        let arcs = match plan.strategy {
            Strategy::EdgeSoa => OwnArcs::Sources(arcs.map(|arc| arc[0]).collect()),
            Strategy::EdgeAos => OwnArcs::Pairs(arcs.collect()),
            _ => OwnArcs::Rows,
        };
        let pulled = if plan.merging == Merging::Sum { 0..columns.active } else { own.clone() };
        let tasks = tasks(&columns.in_rows().offsets, pulled);
        HostSide { plan, columns, own, arcs, tasks, dangling: 0, found: StepResult::default() }
    }

    /// Ranks p.
    pub fn start(&mut self, s: &mut State) {
        let State { value: [value, _], rank: [rank, _], sum } = s;
        let value = value.host_mut().unwrap_or_default();
        let rank = rank.host_mut().unwrap_or_default();
        rank.par_iter_mut().zip(value.par_iter_mut()).enumerate().for_each(|(v, (rank, value))| {
            *rank = self.plan.teleport(v) as f32;
            *value = self.carried(v, *rank);
        });
        sum.host_mut().unwrap_or_default().par_iter_mut().for_each(|sum| *sum = 0.0);
        self.found = StepResult { change: 0, scale: 1.0, scale_before: 1.0 };
        self.dangling = self.dangling(value);
    }

    /// Goes over the own arcs of an iteration.
    pub fn step(&mut self, s: &mut State, task: StepTask, beat: Beat<'_>) {
        let Turned { value, sum, .. } = turned(s, task.t);
        if self.plan.strategy.pushes() {
            self.push(value, cells(sum), beat);
        } else if self.plan.merging == Merging::Sum {
            let own = sum[self.own.clone()].par_chunks_mut(MERGED).enumerate();
            own.for_each(|(i, part)| {
                beat();
                self.pull(value, self.own.start + i * MERGED, part);
            });
        } else {
            self.finish(turned(s, task.t), self.own.clone(), task, beat);
        }
    }

    /// What follows once all rows are there.
    pub fn conclude(&mut self, s: &mut State, task: StepTask, beat: Beat<'_>) {
        if self.plan.merging == Merging::Sum {
            let all = 0..s.sum.len();
            self.finish(turned(s, task.t), all, task, beat);
            s.sum.host_mut().unwrap_or_default().par_iter_mut().for_each(|sum| *sum = 0.0);
        }
        self.dangling = self.dangling(turned(s, task.t).next);
    }

    /// The rank of dangling nodes: what they carry is their rank, since nothing divides it.
    fn dangling(&self, value: &[f32]) -> u64 {
        self.plan.dangling.par_iter().map(|v| units(f64::from(value[*v as usize]))).sum()
    }

    /// What an arc out of `v` carries.
    fn carried(&self, v: usize, rank: f32) -> f32 {
        match &self.plan.degree {
            Some(degree) if !self.plan.strategy.divides() => rank / degree[v],
            _ => rank,
        }
    }

    /// What `rows` carry, from their sums; their ranks and how far these went together, where `task` wants them.
    fn finish(&mut self, turned: Turned<'_>, rows: Range<usize>, task: StepTask, beat: Beat<'_>) {
        let (plan, before) = (self.plan, self.found.scale);
        let dangling = self.dangling as f64 / UNITS + plan.idle * before;
        let scale = (1.0 - plan.damping) + plan.damping * dangling;
        let (tasks, value) = (&self.tasks, turned.value);
        let ready = (plan.merging == Merging::Sum).then_some(&*turned.sum);
        let next = cut(&mut turned.next[rows.clone()], tasks);
        let rank = cut(&mut turned.rank[rows], tasks);
        let change = next.into_par_iter().zip(rank).zip(tasks).map(|((next, rank), first)| {
            beat();
            let rows = *first..*first + rank.len();
            let (mut own, mut own_rank) = ([0.0; ROWS], [0.0; ROWS]);
            let rank = if task.ranks { rank } else { &mut own_rank[..rank.len()] };
            let sums = match ready {
                Some(sums) => &sums[rows.clone()],
                None => {
                    self.pull(value, rows.start, &mut own[..rank.len()]);
                    &own[..rank.len()]
                }
            };
            // What hangs on a sum comes when many are there, so that no row waits for the one before.
            for ((v, rank), sum) in rows.clone().zip(rank.iter_mut()).zip(sums) {
                *rank = (scale * plan.teleport(v) + plan.damping * sum) as f32;
            }
            for ((v, next), rank) in rows.clone().zip(next).zip(&*rank) {
                *next = self.carried(v, *rank);
            }
            if !task.change {
                return 0;
            }
            let moved =
                |(rank, before): (&f32, &f32)| units((f64::from(*rank) - f64::from(*before)).abs());
            rank.iter().zip(&turned.rank_before[rows]).map(moved).sum::<u64>()
        });
        self.found = StepResult { change: change.sum(), scale, scale_before: before };
    }

    /// The sums of the in-rows from `first` on.
    fn pull(&self, value: &[f32], first: usize, sums: &mut [f64]) {
        let rows = self.columns.in_rows().view();
        match (&self.plan.shares, &self.plan.degree) {
            (Some(shares), _) => {
                add_rows(rows, first, sums, |arc, u| f64::from(value[u]) * f64::from(shares[arc]));
            }
            (None, Some(degree)) if self.plan.strategy.divides() => {
                add_rows(rows, first, sums, |_, u| f64::from(value[u] / degree[u]));
            }
            (None, _) => add_rows(rows, first, sums, |_, u| f64::from(value[u])),
        }
    }

    /// Adds what the own arcs carry to sums that many threads add to.
    fn push(&self, value: &[f32], sum: &[AtomicU64], beat: Beat<'_>) {
        let (out, own) = (&self.columns.out, self.own.clone());
        let push = |arc: usize, u: u32, v: u32| {
            let share = self.plan.shares.as_ref().map_or(1.0, |shares| f64::from(shares[arc]));
            let brought = f64::from(value[u as usize]) * share;
            f64::update(&sum[v as usize], |sum| Some(sum + brought));
        };
        let first = out.offsets[own.start] as usize;
        let targets = &out.columns()[first..];
        match &self.arcs {
            OwnArcs::Rows => in_tasks(own, MERGED, beat, |u| {
                let arcs = out.offsets[u] as usize..;
                arcs.zip(out.row(u)).for_each(|(arc, v)| push(arc, u as u32, *v));
            }),
            OwnArcs::Sources(sources) => in_tasks(0..sources.len(), ARCS, beat, |i| {
                push(first + i, sources[i], targets[i]);
            }),
            OwnArcs::Pairs(pairs) => in_tasks(0..pairs.len(), ARCS, beat, |i| {
                push(first + i, pairs[i][0], pairs[i][1]);
            }),
        }
    }
}

/// What `each` says of arcs and their sources, added up for the rows from `first` on.
fn add_rows(
    rows: RowView<'_>,
    first: usize,
    sums: &mut [f64],
    each: impl Fn(usize, usize) -> f64 + Sync,
) {
    let arcs = rows.offsets[first + sums.len()] - rows.offsets[first];
    let short = arcs as usize <= SHORT_ROW * sums.len();
    for (v, sum) in (first..).zip(sums) {
        if let Some(all) = short.then(|| rows.add_short(v, &each)).flatten() {
            *sum = all;
            continue;
        }
        let (begin, row) = (rows.offsets[v] as usize, rows.row(v));
        *sum = match row.len() {
            0..=ARCS => added(begin, row, &each),
            _ => {
                let parts = row.par_chunks(ARCS).enumerate();
                let part: Body<(usize, &[u32]), f64> =
                    &|(k, part)| added(begin + k * ARCS, part, &each);
                parts.map(part).collect::<Vec<f64>>().iter().sum()
            }
        };
    }
}

/// What `each` says of a row's arcs, of which the first is number `begin`, added up.
#[inline(always)]
fn added(begin: usize, row: &[u32], each: &impl Fn(usize, usize) -> f64) -> f64 {
    let (mut sums, mut sum, mut done) = ([0.0; 4], 0.0, 0);
    if row.len() >= LONG {
        for four in row.chunks_exact(4) {
            for (k, (sum, u)) in sums.iter_mut().zip(four).enumerate() {
                *sum += each(begin + done + k, *u as usize);
            }
            done += 4;
        }
        sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    let rest = row[done..].iter().enumerate();
    rest.fold(sum, |sum, (k, u)| sum + each(begin + done + k, *u as usize))
}

/// The nearest whole number of units, which is below 2^62.
fn units(rank: f64) -> u64 {
    (rank * UNITS + 0.5) as i64 as u64
}

/// Cuts `rows` into tasks of at most ROWS rows and about ARCS arcs: the first row of each, and the end.
fn tasks(offsets: &[u64], rows: Range<usize>) -> Vec<usize> {
    let mut tasks = vec![rows.start];
    let mut row = rows.start;
    while row < rows.end {
        let most = rows.end.min(row + ROWS);
        let full = offsets[row] + ARCS as u64;
        row += offsets[row + 1..=most].partition_point(|end| *end <= full).max(1);
        tasks.push(row);
    }
    tasks
}

/// `[tasks]` the parts of an array that has a place for each row of `tasks`.
fn cut<'a, T>(mut array: &'a mut [T], tasks: &[usize]) -> Vec<&'a mut [T]> {
    let part = |ends: &[usize]| array.split_off_mut(..ends[1] - ends[0]).unwrap_or_default();
    tasks.windows(2).map(part).collect()
}

/// Calls `each` for all items, so many a task.
fn in_tasks(items: Range<usize>, many: usize, beat: Beat<'_>, each: impl Fn(usize) + Sync) {
    let tasks: Vec<usize> = items.clone().step_by(many).collect();
    let task: Body<usize> = &|first| {
        beat();
        (first..(first + many).min(items.end)).for_each(&each);
    };
    tasks.into_par_iter().for_each(task);
}

/// The arrays of an iteration: those that it reads, and those that it writes.
struct Turned<'a> {
    value: &'a [f32],
    rank_before: &'a [f32],
    next: &'a mut [f32],
    rank: &'a mut [f32],
    sum: &'a mut [f64],
}

fn turned(s: &mut State, t: u32) -> Turned<'_> {
    let State { value: [value_a, value_b], rank: [rank_a, rank_b], sum } = s;
    let (value, next, before, rank) = match t % 2 {
        0 => (value_a, value_b, rank_a, rank_b),
        _ => (value_b, value_a, rank_b, rank_a),
    };
    Turned {
        value: value.host().unwrap_or_default(),
        rank_before: before.host().unwrap_or_default(),
        next: next.host_mut().unwrap_or_default(),
        rank: rank.host_mut().unwrap_or_default(),
        sum: sum.host_mut().unwrap_or_default(),
    }
}
