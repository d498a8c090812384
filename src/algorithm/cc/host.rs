//! The steps of connected components on host threads.

use super::StepResult;
use crate::collective::atomics;
use crate::hash::hash;
use crate::layout::TopologyRows;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Nodes of one task.
const TASK: usize = 1 << 12;
/// Nodes that are asked which tree is the largest.
const VOTERS: u64 = 1 << 10;
/// Arcs of each node that join trees before the largest is looked for.
const SAMPLED: usize = 2;

type Beat<'a> = &'a (dyn Fn() + Sync);

/// Joins the trees of `u` and `v`: hooks the larger root under the smaller.
fn link(comp: &[AtomicU32], u: u32, v: u32) {
    let at = |v: u32| comp[v as usize].load(Relaxed);
    let (mut p, mut q) = (at(u), at(v));
    while p != q {
        let (high, low) = (p.max(q), p.min(q));
        match comp[high as usize].compare_exchange(high, low, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(above) if above == low => return,
            Err(above) => {
                // Whoever walks here next is there sooner.
                let further = at(above);
                if further != above {
                    comp[high as usize].store(further, Relaxed);
                }
                (p, q) = (further, at(low));
            }
        }
    }
}

/// Points every node to its root.
fn compress(comp: &[AtomicU32]) {
    let root = |slot: &AtomicU32| {
        let first = slot.load(Relaxed);
        let mut p = first;
        loop {
            let q = comp[p as usize].load(Relaxed);
            if q == p {
                break;
            }
            p = q;
        }
        if p != first {
            slot.store(p, Relaxed);
        }
    };
    comp.par_iter().with_min_len(TASK).for_each(root);
}

/// Does `node` for all of `chunk`, which adds up arcs.
fn over(chunk: Range<usize>, beat: Beat<'_>, node: impl Fn(usize) -> u64 + Sync) -> u64 {
    let tasks = chunk.clone().into_par_iter().step_by(TASK);
    tasks
        .map(|first| {
            beat();
            (first..(first + TASK).min(chunk.end)).map(&node).sum::<u64>()
        })
        .sum()
}

/// Joins over the out-arcs of `chunk`, and keeps a copy, since the merge that follows forgets some.
pub(super) fn hook(
    rows: &TopologyRows,
    comp: &mut [u32],
    old: &mut Vec<u32>,
    chunk: Range<usize>,
    beat: Beat<'_>,
) -> StepResult {
    let out = &rows.columns.out;
    let shared = alone(comp);
    let arcs = over(chunk, beat, |v| link_row(shared, v, out.row(v)));
    compress(shared);
    old.clear();
    old.extend_from_slice(comp);
    StepResult { arcs, rounds: 1, ..StepResult::default() }
}

/// Every node a tree of its own.
fn alone(comp: &mut [u32]) -> &[AtomicU32] {
    comp.par_iter_mut().enumerate().with_min_len(TASK).for_each(|(v, slot)| *slot = v as u32);
    atomics(comp)
}

fn link_row(comp: &[AtomicU32], v: usize, row: &[u32]) -> u64 {
    row.iter().for_each(|u| link(comp, v as u32, *u));
    row.len() as u64
}

/// Everything: joins over the first arcs of each node, and then over all arcs of the nodes that are not in the largest tree.
/// What an arc joins with that tree has the arc in a row of its own.
pub(super) fn whole(rows: &TopologyRows, comp: &mut [u32], beat: Beat<'_>) -> StepResult {
    let (out, into) = (&rows.columns.out, rows.columns.into.as_ref());
    let (all, shared) = (0..comp.len(), alone(comp));
    let mut arcs = 0;
    for k in 0..SAMPLED {
        arcs += over(all.clone(), beat, |v| {
            let row = out.row(v);
            link_row(shared, v, &row[row.len().min(k)..row.len().min(k + 1)])
        });
        compress(shared);
    }
    let largest = largest(shared);
    arcs += over(all, beat, |v| {
        // The root of the largest tree may be hooked meanwhile; its nodes are known by their pointers.
        if shared[v].load(Relaxed) == largest {
            return 0;
        }
        let row = out.row(v);
        let arcs = link_row(shared, v, &row[row.len().min(SAMPLED)..]);
        arcs + into.map_or(0, |into| link_row(shared, v, into.row(v)))
    });
    compress(shared);
    StepResult { arcs, rounds: SAMPLED as u64 + 1, ..StepResult::default() }
}

/// The root that most of some nodes have; all point to their roots.
fn largest(comp: &[AtomicU32]) -> u32 {
    let mut votes: HashMap<u32, u32> = HashMap::new();
    for i in 0..VOTERS {
        let Some(v) = hash(0, i).checked_rem(comp.len() as u64) else { break };
        *votes.entry(comp[v as usize].load(Relaxed)).or_default() += 1;
    }
    votes.into_iter().max_by_key(|(_, votes)| *votes).map_or(0, |(root, _)| root)
}

/// Joins every node with its own parent from before the merge, which `old` holds.
pub(super) fn rehook(comp: &mut [u32], old: &mut [u32], beat: Beat<'_>) -> StepResult {
    beat();
    let merged = comp.to_vec();
    let shared = atomics(comp);
    old.par_iter().enumerate().with_min_len(TASK).for_each(|(v, own)| link(shared, v as u32, *own));
    compress(shared);
    old.copy_from_slice(comp);
    let pairs = old.par_iter().zip(&merged).with_min_len(TASK);
    let changed = pairs.filter(|(now, said)| now != said).count() as u64;
    StepResult { changed, rounds: 1, ..StepResult::default() }
}
