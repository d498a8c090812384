//! The steps of PageRank on host threads: one form each of pull, push and arcs. Sums are f64, added in the order of the
//! columns.

use super::Strategy;
use super::plan::{Merging, Plan, State, StepResult, StepTask};
use crate::collective::{Element, cells};
use crate::device::kernels::pagerank::UNITS;
use crate::layout::{Columns, TopologyRows};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// Rows of one task.
const ROWS: usize = 256;
/// Arcs of one task.
const ARCS: usize = 1 << 14;

type Beat<'a> = &'a (dyn Fn() + Sync);

/// What a replica's steps need beside the replicated state.
pub(super) struct HostSide<'a> {
    plan: &'a Plan,
    columns: &'a Columns,
    own: Range<usize>,
    arcs: OwnArcs,
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
        HostSide { plan, columns, own, arcs, dangling: 0, found: StepResult::default() }
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
            let own = sum[self.own.clone()].par_chunks_mut(ROWS).enumerate();
            own.for_each(|(i, part)| {
                beat();
                let first = self.own.start + i * ROWS;
                part.iter_mut().enumerate().for_each(|(i, sum)| *sum = self.pull(value, first + i));
            });
        } else {
            self.finish(turned(s, task.t), self.own.clone(), beat);
        }
    }

    /// What follows once all rows are there.
    pub fn conclude(&mut self, s: &mut State, task: StepTask, beat: Beat<'_>) {
        if self.plan.merging == Merging::Sum {
            let all = 0..s.sum.len();
            self.finish(turned(s, task.t), all, beat);
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

    /// Ranks of `rows` from their sums, and how far they went together.
    fn finish(&mut self, turned: Turned<'_>, rows: Range<usize>, beat: Beat<'_>) {
        let (plan, before) = (self.plan, self.found.scale);
        let dangling = self.dangling as f64 / UNITS + plan.idle * before;
        let scale = (1.0 - plan.damping) + plan.damping * dangling;
        let summed = plan.merging == Merging::Sum;
        let sum = |v: usize| if summed { turned.sum[v] } else { self.pull(turned.value, v) };
        let next = turned.next[rows.clone()].par_chunks_mut(ROWS);
        let rank = turned.rank[rows.clone()].par_chunks_mut(ROWS);
        let tasks = next.zip(rank).enumerate();
        let change = tasks.map(|(i, (next, rank))| {
            beat();
            let first = rows.start + i * ROWS;
            let mut moved = 0;
            for (v, (next, rank)) in (first..).zip(next.iter_mut().zip(rank)) {
                *rank = (scale * plan.teleport(v) + plan.damping * sum(v)) as f32;
                *next = self.carried(v, *rank);
                moved += units((f64::from(*rank) - f64::from(turned.rank_before[v])).abs());
            }
            moved
        });
        self.found = StepResult { change: change.sum(), scale, scale_before: before };
    }

    /// The sum of an in-row.
    fn pull(&self, value: &[f32], v: usize) -> f64 {
        let (rows, plan) = (self.columns.in_rows(), self.plan);
        let row = rows.row(v).iter().map(|u| *u as usize);
        match (&plan.shares, &plan.degree) {
            (Some(shares), _) => row
                .zip(&shares[rows.offsets[v] as usize..])
                .map(|(u, share)| f64::from(value[u]) * f64::from(*share))
                .sum(),
            (None, Some(degree)) if plan.strategy.divides() => {
                row.map(|u| f64::from(value[u] / degree[u])).sum()
            }
            (None, _) => row.map(|u| f64::from(value[u])).sum(),
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
            OwnArcs::Rows => in_tasks(own, ROWS, beat, |u| {
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

fn units(rank: f64) -> u64 {
    (rank * UNITS).round() as u64
}

/// Calls `each` for all items, so many a task.
fn in_tasks(items: Range<usize>, many: usize, beat: Beat<'_>, each: impl Fn(usize) + Sync) {
    let tasks: Vec<usize> = items.clone().step_by(many).collect();
    tasks.into_par_iter().for_each(|first| {
        beat();
        (first..(first + many).min(items.end)).for_each(&each);
    });
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
