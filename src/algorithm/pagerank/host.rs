//! The steps of PageRank on host threads: one honest form each of pull, push and arcs. Sums are f64, added in the
//! order of the columns.

use super::driver::{Seen, State};
use super::plan::{Merging, Plan};
use super::{Strategy, UNITS};
use crate::collective::{Element, cells};
use crate::layout::{ColumnRows, TopologyRows};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// Rows of one task.
const ROWS: usize = 256;
/// Arcs of one task.
const ARCS: usize = 1 << 14;

/// What holds for all nodes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HostScalars {
    /// Units: rank of nodes with a row and no out-weight, before the iteration to come.
    dangling: u64,
    seen: Seen,
}

impl HostScalars {
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// The iteration's c: see `kernels/pagerank.cuh`.
    fn turn(&mut self, plan: &Plan) -> f64 {
        let before = self.seen.scale;
        let dangling = self.dangling as f64 / UNITS + plan.idle * before;
        let scale = (1.0 - plan.damping) + plan.damping * dangling;
        self.seen = Seen { change: 0, scale, scale_before: before };
        scale
    }
}

fn units(rank: f64) -> u64 {
    (rank * UNITS).round() as u64
}

/// Contributions of dangling nodes are their ranks.
fn dangling(plan: &Plan, value: &[f32]) -> u64 {
    plan.dangling.par_iter().map(|v| units(f64::from(value[*v as usize]))).sum()
}

/// What an arc out of `v` carries.
fn carried(plan: &Plan, v: usize, rank: f32) -> f32 {
    match &plan.degree {
        Some(degree) if !plan.strategy.divides() => rank / degree[v],
        _ => rank,
    }
}

/// Ranks p.
pub(super) fn start(plan: &Plan, s: &mut State) -> HostScalars {
    let State { value: [value, _], rank: [rank, _], sum } = s;
    let (value, rank) = (value.host_mut().unwrap_or_default(), rank.host_mut().unwrap_or_default());
    rank.par_iter_mut().zip(value.par_iter_mut()).enumerate().for_each(|(v, (rank, value))| {
        *rank = plan.teleport(v) as f32;
        *value = carried(plan, v, *rank);
    });
    if let Some(sum) = sum.as_mut().and_then(|sum| sum.host_mut()) {
        sum.par_iter_mut().for_each(|sum| *sum = 0.0);
    }
    let seen = Seen { change: 0, scale: 1.0, scale_before: 1.0 };
    HostScalars { dangling: dangling(plan, value), seen }
}

/// Own arcs in the form that the strategy wants.
pub(super) enum HostArcs {
    Rows,
    /// Sources beside the rows' targets.
    Sources(Vec<u32>),
    /// Source and target.
    Pairs(Vec<[u32; 2]>),
}

impl HostArcs {
    pub fn new(rows: &TopologyRows, plan: &Plan, rank: usize) -> HostArcs {
        let (out, own) = (&rows.columns.out, plan.own(rank));
        let row = |u: usize| out.row(u).iter().map(move |v| [u as u32, *v]);
        match plan.strategy {
            Strategy::EdgeSoa => HostArcs::Sources(own.flat_map(row).map(|arc| arc[0]).collect()),
            Strategy::EdgeAos => HostArcs::Pairs(own.flat_map(row).collect()),
            _ => HostArcs::Rows,
        }
    }

    /// Goes over the own arcs of iteration `t`, in the replica's pool.
    #[allow(clippy::too_many_arguments)]
    pub fn step(
        &self,
        plan: &Plan,
        rows: &TopologyRows,
        s: &mut State,
        scalars: &mut HostScalars,
        t: u32,
        own: Range<usize>,
        beat: &(dyn Fn() + Sync),
    ) {
        let (old, new) = turned(s, t);
        let (value, columns) = (old.value, &rows.columns);
        let shares = plan.shares.as_deref();
        if plan.strategy.pushes() {
            let sum = new.sum.map_or(&[][..], cells);
            let first = columns.out.offsets[own.start] as usize;
            let arcs = Pushed { value, shares, sum };
            let targets = &columns.out.columns[first..];
            return match self {
                HostArcs::Rows => arcs.rows(&columns.out, own, beat),
                HostArcs::Sources(sources) => {
                    arcs.arcs(first, sources.len(), |i| [sources[i], targets[i]], beat);
                }
                HostArcs::Pairs(pairs) => arcs.arcs(first, pairs.len(), |i| pairs[i], beat),
            };
        }
        let over = plan.degree.as_deref().filter(|_| plan.strategy.divides());
        let pulled = Pulled { rows: columns.in_rows(), value, shares, over };
        match new.sum {
            Some(sum) => sum[own.clone()].par_chunks_mut(ROWS).enumerate().for_each(|(i, part)| {
                beat();
                let first = own.start + i * ROWS;
                part.iter_mut().enumerate().for_each(|(i, sum)| *sum = pulled.sum(first + i));
            }),
            None => {
                let scale = scalars.turn(plan);
                let made = Made { next: new.value, rank: new.rank, before: old.rank };
                scalars.seen.change = finish(plan, scale, made, own, &|v| pulled.sum(v), beat);
            }
        }
    }
}

/// What follows once everybody has everything.
pub(super) fn conclude(
    plan: &Plan,
    s: &mut State,
    scalars: &mut HostScalars,
    t: u32,
    beat: &(dyn Fn() + Sync),
) {
    let (old, new) = turned(s, t);
    if plan.merging == Merging::Sum {
        let sum = new.sum.unwrap_or_default();
        let scale = scalars.turn(plan);
        let made = Made { next: &mut *new.value, rank: new.rank, before: old.rank };
        let all = 0..sum.len();
        scalars.seen.change = finish(plan, scale, made, all, &|v| sum[v], beat);
        sum.par_iter_mut().for_each(|sum| *sum = 0.0);
    }
    scalars.dangling = dangling(plan, new.value);
}

/// The arrays before an iteration.
struct Old<'a> {
    value: &'a [f32],
    rank: &'a [f32],
}

/// And those that it writes.
struct New<'a> {
    value: &'a mut [f32],
    rank: &'a mut [f32],
    sum: Option<&'a mut [f64]>,
}

fn turned(s: &mut State, t: u32) -> (Old<'_>, New<'_>) {
    let State { value, rank, sum } = s;
    let ([value_a, value_b], [rank_a, rank_b]) = (value, rank);
    let (value, next, before, rank) = match t % 2 {
        0 => (value_a, value_b, rank_a, rank_b),
        _ => (value_b, value_a, rank_b, rank_a),
    };
    let old =
        Old { value: value.host().unwrap_or_default(), rank: before.host().unwrap_or_default() };
    let new = New {
        value: next.host_mut().unwrap_or_default(),
        rank: rank.host_mut().unwrap_or_default(),
        sum: sum.as_mut().and_then(|sum| sum.host_mut()),
    };
    (old, new)
}

struct Made<'a> {
    next: &'a mut [f32],
    rank: &'a mut [f32],
    before: &'a [f32],
}

/// Ranks of rows `own` from their sums; how far they went together, in units.
fn finish(
    plan: &Plan,
    scale: f64,
    made: Made<'_>,
    own: Range<usize>,
    sum: &(dyn Fn(usize) -> f64 + Sync),
    beat: &(dyn Fn() + Sync),
) -> u64 {
    let next = made.next[own.clone()].par_chunks_mut(ROWS);
    let rank = made.rank[own.clone()].par_chunks_mut(ROWS);
    let tasks = next.zip(rank).enumerate();
    tasks
        .map(|(i, (next, rank))| {
            beat();
            let first = own.start + i * ROWS;
            let mut moved = 0;
            for (v, (next, rank)) in (first..).zip(next.iter_mut().zip(rank)) {
                *rank = (scale * plan.teleport(v) + plan.damping * sum(v)) as f32;
                *next = carried(plan, v, *rank);
                moved += units((f64::from(*rank) - f64::from(made.before[v])).abs());
            }
            moved
        })
        .sum()
}

/// In-rows to be summed.
struct Pulled<'a> {
    rows: &'a ColumnRows,
    value: &'a [f32],
    shares: Option<&'a [f32]>,
    /// What each arc divides by.
    over: Option<&'a [f32]>,
}

impl Pulled<'_> {
    fn sum(&self, v: usize) -> f64 {
        let row = self.rows.row(v).iter().map(|u| *u as usize);
        let first = self.rows.offsets[v] as usize;
        match (self.shares, self.over) {
            (Some(shares), _) => row
                .zip(&shares[first..])
                .map(|(u, share)| f64::from(self.value[u]) * f64::from(*share))
                .sum(),
            (None, Some(over)) => row.map(|u| f64::from(self.value[u] / over[u])).sum(),
            (None, None) => row.map(|u| f64::from(self.value[u])).sum(),
        }
    }
}

/// Sums that many threads add to.
struct Pushed<'a> {
    value: &'a [f32],
    shares: Option<&'a [f32]>,
    sum: &'a [AtomicU64],
}

impl Pushed<'_> {
    fn push(&self, arc: usize, u: u32, v: u32) {
        let share = self.shares.map_or(1.0, |shares| f64::from(shares[arc]));
        let brought = f64::from(self.value[u as usize]) * share;
        f64::update(&self.sum[v as usize], |sum| Some(sum + brought));
    }

    fn rows(&self, out: &ColumnRows, own: Range<usize>, beat: &(dyn Fn() + Sync)) {
        let tasks: Vec<usize> = own.clone().step_by(ROWS).collect();
        tasks.into_par_iter().for_each(|first| {
            beat();
            for u in first..(first + ROWS).min(own.end) {
                let arcs = out.offsets[u] as usize..;
                arcs.zip(out.row(u)).for_each(|(arc, v)| self.push(arc, u as u32, *v));
            }
        });
    }

    /// Over a list of `count` arcs, which are the graph's from `first` on.
    fn arcs(
        &self,
        first: usize,
        count: usize,
        arc: impl Fn(usize) -> [u32; 2] + Sync,
        beat: &(dyn Fn() + Sync),
    ) {
        let tasks: Vec<usize> = (0..count).step_by(ARCS).collect();
        tasks.into_par_iter().for_each(|begin| {
            beat();
            for i in begin..(begin + ARCS).min(count) {
                let [u, v] = arc(i);
                self.push(first + i, u, v);
            }
        });
    }
}
