//! The steps of core numbers on host threads.

use super::StepResult;
use crate::layout::TopologyRows;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Nodes of one task on host threads.
const TASK: usize = 1 << 10;

/// The steps on host threads.
pub(super) struct Host<'a> {
    pub rows: &'a TopologyRows,
    pub core: &'a [AtomicU32],
    pub beat: &'a (dyn Fn() + Sync),
}

impl Host<'_> {
    fn core(&self, v: usize) -> u32 {
        self.core[v].load(Relaxed)
    }

    fn others(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        let row = self.rows.columns.out.row(v).iter();
        row.map(|u| *u as usize).filter(move |u| *u != v)
    }

    pub fn degrees(&self) -> StepResult {
        (self.beat)();
        let all = self.core.par_iter().enumerate().with_min_len(TASK);
        all.for_each(|(v, slot)| slot.store(self.others(v).count() as u32, Relaxed));
        StepResult { rounds: 1, ..StepResult::default() }
    }

    pub fn peel(&self) -> StepResult {
        let mut found = self.degrees();
        let mut left: Vec<u32> = (0..self.core.len() as u32).collect();
        while let Some(k) = left.par_iter().map(|v| self.core(*v as usize)).min() {
            let (kept, mut front): (Vec<u32>, Vec<u32>) =
                left.into_par_iter().partition(|v| self.core(*v as usize) > k);
            left = kept;
            while !front.is_empty() {
                found.rounds += 1;
                let remove = |part: &[u32]| {
                    (self.beat)();
                    part.iter().flat_map(|v| self.remove(*v as usize, k)).collect::<Vec<u32>>()
                };
                found.arcs +=
                    front.iter().map(|v| self.rows.columns.out.degree(*v as usize)).sum::<u64>();
                front = match front.len() <= TASK {
                    true => remove(&front),
                    false => front.par_chunks(TASK / 4).flat_map_iter(remove).collect(),
                };
            }
            // What the others left with k went with them.
            left.retain(|v| self.core(*v as usize) > k);
        }
        found
    }

    /// The neighbours that this leaves with k arcs.
    fn remove(&self, v: usize, k: u32) -> impl Iterator<Item = u32> + '_ {
        let falls = move |u: &usize| {
            let one_less = |core: u32| (core > k).then(|| core - 1);
            self.core[*u].fetch_update(Relaxed, Relaxed, one_less) == Ok(k + 1)
        };
        self.others(v).filter(falls).map(|u| u as u32)
    }

    /// The largest h for which h neighbours have at least h, and at most what the node has now.
    fn h_index(&self, v: usize, counts: &mut Vec<u32>) -> u32 {
        let now = self.core(v) as usize;
        counts.clear();
        counts.resize(now + 1, 0);
        self.others(v).for_each(|u| counts[now.min(self.core(u) as usize)] += 1);
        let (mut h, mut at_least) = (now, counts[now] as usize);
        while at_least < h {
            h -= 1;
            at_least += counts[h] as usize;
        }
        h as u32
    }

    pub fn sweep(&self, chunk: Range<usize>) -> StepResult {
        let (changed, offsets) = (AtomicU64::new(0), &self.rows.columns.out.offsets);
        let mut found = StepResult::default();
        loop {
            let fell = AtomicBool::new(false);
            let parts = (chunk.start..chunk.end).into_par_iter().step_by(TASK / 4).with_max_len(1);
            parts.for_each_init(Vec::new, |counts, first| {
                (self.beat)();
                for v in first..chunk.end.min(first + TASK / 4) {
                    let h = self.h_index(v, counts);
                    if h < self.core(v) {
                        self.core[v].store(h, Relaxed);
                        changed.fetch_add(1, Relaxed);
                        fell.store(true, Relaxed);
                    }
                }
            });
            found.rounds += 1;
            found.arcs += offsets[chunk.end] - offsets[chunk.start];
            if !fell.into_inner() {
                return StepResult { changed: changed.into_inner(), ..found };
            }
        }
    }
}
