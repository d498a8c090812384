//! Counting triangles on host threads.

use crate::collective::{Shares, Split};
use crate::layout::{ColumnRows, RowView, SHORT_ROW};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// The part of a row that leads to labels below `limit`.
fn below(rows: RowView<'_>, v: usize, limit: u32) -> &[u32] {
    let row = rows.row(v);
    let end = match row.len() {
        // Without a branch.
        0..=SHORT_ROW => row.iter().map(|u| usize::from(*u < limit)).sum(),
        _ => row.partition_point(|u| *u < limit),
    };
    &row[..end]
}

/// Chunks of about equal work, and all of it.
pub(super) fn equal_costs(rows: &ColumnRows, shares: &Shares, align: u32) -> (Split, u64) {
    let (active, view) = (rows.offsets.len() - 1, rows.view());
    let nodes = (0..active).into_par_iter().with_min_len(TASK);
    let lengths: Vec<u64> = nodes.clone().map(|v| below(view, v, v as u32).len() as u64).collect();
    let cost = |v: usize| {
        let shorter = |(i, u): (usize, &u32)| lengths[*u as usize].min(i as u64);
        let arcs = below(view, v, v as u32).iter().enumerate();
        rows.degree(v) + arcs.map(shorter).sum::<u64>()
    };
    by_cost(nodes.map(cost).collect(), shares, align)
}

/// The same by middle labels, as [`count`] goes over them.
pub(super) fn equal_middles(rows: &ColumnRows, shares: &Shares, align: u32) -> Split {
    let (active, view) = (rows.offsets.len() - 1, rows.view());
    let costs: Vec<AtomicU64> = (0..active).map(|v| AtomicU64::new(rows.degree(v))).collect();
    (0..active).into_par_iter().with_min_len(TASK).for_each(|v| {
        let smaller = below(view, v, v as u32);
        (0..).zip(smaller).for_each(|(i, u)| _ = costs[*u as usize].fetch_add(i, Relaxed));
    });
    by_cost(costs.into_iter().map(AtomicU64::into_inner).collect(), shares, align).0
}

/// Chunks of nodes of about equal cost together, and all of it.
fn by_cost(mut costs: Vec<u64>, shares: &Shares, align: u32) -> (Split, u64) {
    let active = costs.len() as u64;
    costs.push(0);
    let mut total = 0;
    costs.iter_mut().for_each(|cost| total += std::mem::replace(cost, total));
    (Split::by_weight(active, shares, align, total, |v| costs[v as usize]), total)
}

/// Nodes of one task on host threads; fewer where their triangles are counted, down to FEW where they have ARCS together: hubs
/// are beside each other, and each has many.
const TASK: usize = 1 << 8;
const FEW: usize = 1 << 3;
const ARCS: usize = 1 << 9;

/// The same on flat graphs.
const FLAT_TASK: usize = 1 << 12;

/// Labels whose counts each thread keeps by itself: where labels fall by degree, most triangles are theirs.
const OFTEN: usize = 1 << 16;

/// Labels that are looked up at once.
const BLOCK: usize = 1 << 10;

/// What a thread keeps.
struct Marks {
    /// `[active]` bits: neighbours of the node at hand, with smaller labels.
    bits: Vec<u64>,
    /// `[OFTEN]` triangles by their smallest label.
    often: Vec<u64>,
    /// Of a block of labels those that are marked.
    hits: [u32; BLOCK],
}

impl Marks {
    fn set(&mut self, labels: &[u32]) {
        labels.iter().for_each(|w| self.bits[*w as usize / 64] |= 1 << (w % 64));
    }

    fn clear(&mut self, labels: &[u32]) {
        labels.iter().for_each(|w| self.bits[*w as usize / 64] = 0);
    }

    /// How many of the rising `row` below `limit` are marked, each counted once; they are told to `count`.
    fn common(&mut self, row: &[u32], limit: u32, count: &[AtomicU64]) -> u64 {
        let (mut before, mut sum) = (u32::MAX, 0);
        for block in row.chunks(BLOCK) {
            let mut found = 0;
            for w in block {
                if *w >= limit {
                    break;
                }
                let marked = self.bits[*w as usize / 64] >> (w % 64) & 1;
                // Without a branch: whether a node is marked cannot be foretold.
                self.hits[found] = *w;
                found += marked as usize & usize::from(*w != before);
                before = *w;
            }
            for w in &self.hits[..found] {
                match self.often.get_mut(*w as usize) {
                    Some(often) => *often += 1,
                    None => _ = count[*w as usize].fetch_add(1, Relaxed),
                }
            }
            sum += found as u64;
            if block.last().is_some_and(|last| *last >= limit) {
                break;
            }
        }
        sum
    }
}

/// Counts the triangles whose largest label is in `chunk`, on a flat graph: most nodes have fewer than two neighbours with smaller
/// labels, and the rows of others are short.
pub(super) fn count_flat(
    rows: &ColumnRows,
    count: &[AtomicU64],
    chunk: Range<usize>,
    beat: &(dyn Fn() + Sync),
) {
    let view = rows.view();
    chunk.clone().into_par_iter().step_by(FLAT_TASK).for_each(|first| {
        beat();
        for v in first..chunk.end.min(first + FLAT_TASK) {
            let smaller = below(view, v, v as u32);
            for k in 1..smaller.len() {
                let u = smaller[k];
                // The last of several that are the same stands for all.
                let others = smaller[..k].iter().zip(&smaller[1..]);
                for (w, _) in others.filter(|(w, next)| w != next) {
                    if u != smaller[k - 1] && view.row(u as usize).contains(w) {
                        for node in [v, u as usize, *w as usize] {
                            count[node].fetch_add(1, Relaxed);
                        }
                    }
                }
            }
        }
    });
}

/// Counts the triangles whose middle label is in `chunk`: that of u, at hand, which is joined to both others. The third
/// label is looked for in the row of the largest. That takes fewer steps than a row of u's would: where labels fall by
/// degree, large labels have short rows.
pub(super) fn count(
    rows: &ColumnRows,
    count: &[AtomicU64],
    chunk: Range<usize>,
    beat: &(dyn Fn() + Sync),
) {
    let (active, view) = (rows.offsets.len() - 1, rows.view());
    let credit = |v: usize, found: u64| {
        if found > 0 {
            count[v].fetch_add(found, Relaxed);
        }
    };
    let marks = || {
        let (bits, often) = (vec![0; active.div_ceil(64)], vec![0; active.min(OFTEN)]);
        Mutex::new(Marks { bits, often, hits: [0; BLOCK] })
    };
    let threads: Vec<_> = (0..rayon::current_num_threads()).map(|_| marks()).collect();
    let arcs = view.offsets[active] as usize;
    let nodes = (ARCS * active / arcs.max(1)).clamp(FEW, TASK);
    // Hubs come first. A part that is not cut to single tasks would leave most of the work to the thread that begins.
    chunk.clone().into_par_iter().step_by(nodes).with_max_len(1).for_each(|first| {
        beat();
        let own = &threads[rayon::current_thread_index().unwrap_or(0)];
        let mut marks = own.lock().unwrap_or_else(PoisonError::into_inner);
        for u in first..chunk.end.min(first + nodes) {
            let smaller = below(view, u, u as u32);
            if smaller.is_empty() {
                continue;
            }
            let larger = &view.row(u)[smaller.len()..];
            marks.set(smaller);
            let (mut of_u, mut before) = (0, u as u32);
            for v in larger {
                if *v != before {
                    let found = marks.common(view.row(*v as usize), u as u32, count);
                    credit(*v as usize, found);
                    of_u += found;
                }
                before = *v;
            }
            marks.clear(smaller);
            credit(u, of_u);
        }
    });
    let often =
        |marks: Mutex<Marks>| marks.into_inner().unwrap_or_else(PoisonError::into_inner).often;
    let often: Vec<Vec<u64>> = threads.into_iter().map(often).collect();
    let labels = (0..active.min(OFTEN)).into_par_iter().with_min_len(TASK);
    labels.for_each(|w| credit(w, often.iter().map(|own| own[w]).sum()));
}
