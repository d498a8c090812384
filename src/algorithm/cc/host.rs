//! The steps of connected components on host threads.

use super::StepResult;
use crate::collective::atomics;
use crate::layout::TopologyRows;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Nodes of one task.
const TASK: usize = 1 << 12;

/// Joins the trees of `u` and `v`: hooks the larger root under the smaller.
fn link(comp: &[AtomicU32], u: u32, v: u32) {
    let at = |v: u32| comp[v as usize].load(Relaxed);
    let (mut p, mut q) = (at(u), at(v));
    while p != q {
        let (high, low) = (p.max(q), p.min(q));
        match comp[high as usize].compare_exchange(high, low, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(above) if above == low => return,
            Err(above) => (p, q) = (at(above), at(low)),
        }
    }
}

/// Points every node to its root and keeps a copy.
fn compress(comp: &[AtomicU32], old: &mut Vec<u32>) {
    let root = |v: usize| {
        let mut p = comp[v].load(Relaxed);
        loop {
            let q = comp[p as usize].load(Relaxed);
            if q == p {
                comp[v].store(p, Relaxed);
                return p;
            }
            p = q;
        }
    };
    (0..comp.len()).into_par_iter().with_min_len(TASK).map(root).collect_into_vec(old);
}

/// Joins over the out-arcs of `chunk`.
pub(super) fn hook(
    rows: &TopologyRows,
    comp: &mut [u32],
    old: &mut Vec<u32>,
    chunk: Range<usize>,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    comp.par_iter_mut().enumerate().for_each(|(v, slot)| *slot = v as u32);
    let (comp, out) = (atomics(comp), &rows.columns.out);
    let arcs = out.offsets[chunk.end] - out.offsets[chunk.start];
    let tasks: Vec<usize> = chunk.clone().step_by(TASK).collect();
    tasks.into_par_iter().for_each(|first| {
        beat();
        for v in first..(first + TASK).min(chunk.end) {
            out.row(v).iter().for_each(|u| link(comp, v as u32, *u));
        }
    });
    compress(comp, old);
    StepResult { arcs, rounds: 1, ..StepResult::default() }
}

/// Joins every node with its own parent from before the merge.
pub(super) fn rehook(comp: &mut [u32], old: &mut Vec<u32>, beat: &(dyn Fn() + Sync)) -> StepResult {
    beat();
    let merged = comp.to_vec();
    let comp = atomics(comp);
    old.par_iter().enumerate().with_min_len(TASK).for_each(|(v, own)| link(comp, v as u32, *own));
    compress(comp, old);
    let changed = old.par_iter().zip(&merged).filter(|(now, said)| now != said).count() as u64;
    StepResult { changed, rounds: 1, ..StepResult::default() }
}
