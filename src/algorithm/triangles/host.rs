//! Counting triangles on host threads.

use crate::collective::Split;
use crate::layout::ColumnRows;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

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

/// A row that is this many times as long as the other is not gone over, but searched.
const LONGER: usize = 8;

/// Counters for what is not counted.
const SPARE: usize = 16;

/// What a thread keeps of the node at hand.
struct Marks {
    /// `[active]` the place of a smaller neighbour among them, from 1 on; else 0.
    place: Vec<u32>,
    /// Triangles by place; then what belongs to no neighbour, in SPARE places by turns, since a counter is not added to again
    /// before it is written.
    found: Vec<u64>,
}

impl Marks {
    /// Triangles of the marked node, `u` and a label below it, where `rest` are the marked labels below `u`.
    fn with(&mut self, rest: &[u32], of_u: &[u32]) -> u64 {
        let Marks { place, found } = self;
        let mut count = 0;
        if rest.len() * LONGER < of_u.len() {
            common(rest, of_u, |w| {
                found[place[w as usize] as usize] += 1;
                count += 1;
            });
            return count;
        }
        let (mut before, spare) = (u32::MAX, found.len() - SPARE);
        for (i, w) in of_u.iter().enumerate() {
            let place = if *w == before { 0 } else { place[*w as usize] };
            let to = if place == 0 { spare + i % SPARE } else { place as usize };
            found[to] += 1;
            count += u64::from(place != 0);
            before = *w;
        }
        count
    }
}

/// Counts the triangles whose largest label is in `chunk`.
pub(super) fn count(
    rows: &ColumnRows,
    count: &[AtomicU64],
    chunk: Range<usize>,
    beat: &(dyn Fn() + Sync),
) {
    let active = rows.offsets.len() - 1;
    let credit = |v: u32, found: u64| {
        if found > 0 {
            count[v as usize].fetch_add(found, Relaxed);
        }
    };
    let marks = || Mutex::new(Marks { place: vec![0; active], found: Vec::new() });
    let threads: Vec<_> = (0..rayon::current_num_threads()).map(|_| marks()).collect();
    chunk.clone().into_par_iter().step_by(TASK).for_each(|first| {
        beat();
        let own = &threads[rayon::current_thread_index().unwrap_or(0)];
        let mut marks = own.lock().unwrap_or_else(PoisonError::into_inner);
        for v in first..chunk.end.min(first + TASK) {
            let own = below(rows, v, v as u32);
            marks.found.clear();
            marks.found.resize(own.len() + 1 + SPARE, 0);
            (1..).zip(own).for_each(|(place, w)| marks.place[*w as usize] = place);
            let mut of_v = 0;
            for (i, u) in own.iter().enumerate().filter(|(i, u)| own.get(i + 1) != Some(*u)) {
                let found = marks.with(&own[..i], below(rows, *u as usize, *u));
                credit(*u, found);
                of_v += found;
            }
            credit(v as u32, of_v);
            for (place, w) in (1..).zip(own) {
                credit(*w, marks.found[place]);
                marks.place[*w as usize] = 0;
            }
        }
    });
}

/// What two rising lists have in common, once each; `longer` is searched.
fn common(shorter: &[u32], mut longer: &[u32], mut body: impl FnMut(u32)) {
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
