//! The steps of geolocation on host threads. See `algorithm/geo.rs` for the idea and the arrays.

mod median;

pub(crate) use median::{Effort, Point};

use crate::algorithm::geo::{NEVER, Queue, STRIDE, State};
use crate::graph::Graph;
use rayon::prelude::*;
use std::ops::Range;

/// Nodes that one task counts, and that one solves.
const COUNTED: usize = 1024;
const SOLVED: usize = 16;

/// The unlocated nodes that have located neighbours, in node order, with how many.
pub(crate) fn count(graph: &Graph, s: &State, beat: &(dyn Fn() + Sync)) -> Queue {
    let (wave, n) = (s.wave.host().unwrap_or_default(), graph.nodes());
    let part = |first: usize| {
        beat();
        let nodes = (first..n.min(first + COUNTED)).filter(|v| wave[*v] == NEVER);
        nodes.filter_map(|v| {
            let located = graph.neighbors(v).filter(|(u, _)| wave[*u as usize] != NEVER).count();
            (located > 0).then_some((v as u32, located as u64))
        })
    };
    let firsts: Vec<usize> = (0..n).step_by(COUNTED).collect();
    let parts: Vec<Vec<(u32, u64)>> =
        firsts.into_par_iter().map(|first| part(first).collect()).collect();
    Queue::new(parts.concat())
}

/// Medians of the queue's entries `part`, into the same places of `found`. Returns the passes.
pub(crate) fn solve(
    graph: &Graph,
    s: &mut State,
    queue: &Queue,
    part: Range<u64>,
    effort: Effort,
    beat: &(dyn Fn() + Sync),
) -> u64 {
    let wave = s.wave.host().unwrap_or_default();
    let position = s.position.host().unwrap_or_default();
    let found = s.found.host_mut().unwrap_or_default();
    let (first, last) = (part.start as usize, part.end as usize);
    let own = &mut found[3 * first..3 * last];
    let entries = &queue.entries[first..last];
    let task = |(slots, entries): (&mut [f64], &[(u32, u64)])| {
        beat();
        let mut points: Vec<Point> = Vec::new();
        let mut passes = 0;
        for (slot, (v, _)) in slots.chunks_mut(3).zip(entries) {
            points.clear();
            let located = graph.neighbors(*v as usize).map(|(u, _)| u as usize);
            let located = located.filter(|u| wave[*u] != NEVER).map(|u| u * STRIDE);
            points.extend(located.map(|at| [position[at], position[at + 1], position[at + 2]]));
            let (x, took) = median::median(&points, effort);
            slot.copy_from_slice(&x);
            passes += took;
        }
        passes
    };
    own.par_chunks_mut(3 * SOLVED).zip(entries.par_chunks(SOLVED)).map(task).sum()
}

/// Writes what was found for the whole queue where the next wave looks for it.
pub(crate) fn settle(s: &mut State, queue: &Queue, number: u32) {
    let State { position, wave, found, .. } = s;
    let found = found.host().unwrap_or_default();
    let position = position.host_mut().unwrap_or_default();
    let wave = wave.host_mut().unwrap_or_default();
    for (x, (v, _)) in found.chunks(3).zip(&queue.entries) {
        let at = *v as usize * STRIDE;
        position[at..at + 3].copy_from_slice(x);
        wave[*v as usize] = number;
    }
}

/// The state at the start of a run: given nodes are of wave 0, and nobody else is anywhere.
pub(crate) fn reset(s: &mut State, known: &[bool]) {
    let wave = s.wave.host_mut().unwrap_or_default();
    wave.iter_mut().zip(known).for_each(|(wave, known)| *wave = if *known { 0 } else { NEVER });
}
