//! Counting triangles on host threads.

use crate::collective::Split;
use crate::layout::ColumnRows;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The part of a row that leads to labels below `limit`.
fn below(rows: &ColumnRows, v: usize, limit: u32) -> &[u32] {
    let row = rows.row(v);
    &row[..row.partition_point(|u| *u < limit)]
}

/// Chunks of about equal work.
pub(super) fn equal_costs(rows: &ColumnRows, world: usize, align: u32) -> Split {
    let active = rows.offsets.len() - 1;
    let nodes = (0..active).into_par_iter().with_min_len(TASK);
    let lengths: Vec<u64> = nodes.clone().map(|v| below(rows, v, v as u32).len() as u64).collect();
    let cost = |v: usize| {
        let shorter = |(i, u): (usize, &u32)| lengths[*u as usize].min(i as u64);
        let arcs = below(rows, v, v as u32).iter().enumerate();
        rows.degree(v) + arcs.map(shorter).sum::<u64>()
    };
    let mut before: Vec<u64> = nodes.map(cost).collect();
    before.push(0);
    let mut total = 0;
    before.iter_mut().for_each(|cost| total += std::mem::replace(cost, total));
    Split::by_weight(active as u64, world, align, total, |v| before[v as usize])
}

/// Nodes of one task on host threads.
const TASK: usize = 1 << 8;

/// Counts the triangles whose largest label is in `chunk`.
pub(super) fn count(
    rows: &ColumnRows,
    count: &[AtomicU64],
    chunk: Range<usize>,
    beat: &(dyn Fn() + Sync),
) {
    let credit = |v: u32, found: u64| {
        if found > 0 {
            count[v as usize].fetch_add(found, Relaxed);
        }
    };
    chunk.clone().into_par_iter().step_by(TASK).for_each(|first| {
        beat();
        for v in first..chunk.end.min(first + TASK) {
            let (mut own, mut of_v) = (below(rows, v, v as u32), 0);
            // From the largest neighbour down: what is left of the row lies below it.
            while let Some((u, rest)) = own.split_last() {
                own = rest;
                if rest.last() == Some(u) {
                    continue;
                }
                let mut found = 0;
                common(rest, below(rows, *u as usize, *u), |w| {
                    credit(w, 1);
                    found += 1;
                });
                credit(*u, found);
                of_v += found;
            }
            credit(v as u32, of_v);
        }
    });
}

/// What two rising lists have in common, once each.
fn common(one: &[u32], other: &[u32], mut body: impl FnMut(u32)) {
    let (shorter, mut longer) = if one.len() < other.len() { (one, other) } else { (other, one) };
    for (i, w) in shorter.iter().enumerate() {
        if i > 0 && shorter[i - 1] == *w {
            continue;
        }
        // As far as twice the stretch that is to be passed over.
        let mut reach = 1;
        while reach < longer.len() && longer[reach] < *w {
            reach *= 2;
        }
        let near = &longer[..longer.len().min(reach + 1)];
        longer = &longer[near.partition_point(|x| x < w)..];
        if longer.first() == Some(w) {
            body(*w);
        }
    }
}
