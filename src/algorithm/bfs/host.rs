//! The steps of breadth-first search on host threads.

use super::UNREACHED;
use super::plan::{FrontierInfo, State, StepResult, StepTask, Task, pulls};
use super::walk::walk;
use crate::collective::{atomic_words, atomics};
use crate::layout::TopologyRows;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Words (64 nodes each) of one task.
const TASK: usize = 32;
/// Arcs below which a level is not worth waking other threads for.
pub(super) const SERIAL_ARCS: u64 = 1 << 13;

/// The source at level 0 and in the frontier, all others not reached.
pub(super) fn reset(rows: &TopologyRows, s: &mut State, visited: &mut Vec<u64>, source: u32) {
    let level = s.level.host_mut().unwrap_or_default();
    level.fill(UNREACHED);
    level[source as usize] = 0;
    for words in [&mut s.front, &mut s.next] {
        words.words_mut().host_mut().unwrap_or_default().fill(0);
    }
    visited.clear();
    visited.resize(s.front.words().len(), 0);
    let front = s.front.words_mut().host_mut().unwrap_or_default();
    if (source as usize) < rows.columns.active {
        for words in [front, visited] {
            words[source as usize / 64] |= 1 << (source % 64);
        }
    }
}

/// Takes over what others found, then does the task. The frontier is in `front` before and after.
pub(super) fn step(
    rows: &TopologyRows,
    s: &mut State,
    visited: &mut [u64],
    told: &StepTask<'_>,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    absorb(s, visited, told.known.depth);
    let words = told.chunk.start as usize / 64..(told.chunk.end as usize).div_ceil(64);
    let mut found = StepResult::default();
    let mut known = told.known;
    let everything = words == (0..visited.len());
    let several = everything && !matches!(told.task, Task::Pull | Task::Push);
    loop {
        let narrow = |known: &FrontierInfo| {
            known.nodes > 0
                && known.arcs.is_some_and(|arcs| arcs < SERIAL_ARCS)
                && !pulls(rows, told.reachable, told.config, known)
        };
        if several && narrow(&known) {
            found = walk(rows, s, visited, (&mut known, found), narrow, beat);
            if known.nodes == 0 {
                break;
            }
        }
        let pull = match told.task {
            Task::Pull => true,
            Task::Push => false,
            _ => pulls(rows, told.reachable, told.config, &known),
        };
        if pull && told.task == Task::Grow {
            found.want_pull = true;
            break;
        }
        let (nodes, arcs, looked) = match pull {
            true => self::pull(rows, s, visited, words.clone(), known.depth + 1, beat),
            false => push(rows, s, visited, words.clone(), &known, beat),
        };
        s.swap();
        found.rounds += 1;
        found.looked += looked;
        found.reached += nodes;
        known = after(&known, nodes, arcs, pull);
        if nodes == 0 || matches!(told.task, Task::Pull | Task::Push) {
            break;
        }
    }
    StepResult { nodes: known.nodes, arcs: known.arcs, ..found }
}

fn absorb(s: &mut State, visited: &mut [u64], depth: u32) {
    let level = s.level.host_mut().unwrap_or_default();
    let front = s.front.words().host().unwrap_or_default();
    for (i, (seen, word)) in visited.iter_mut().zip(front).enumerate() {
        let mut new = word & !*seen;
        *seen |= new;
        while new != 0 {
            level[i * 64 + new.trailing_zeros() as usize] = depth;
            new &= new - 1;
        }
    }
}

/// (nodes found, arcs out of them, arcs looked at)
type Counted = (u64, u64, u64);

fn sum(a: Counted, b: Counted) -> Counted {
    (a.0 + b.0, a.1 + b.1, a.2 + b.2)
}

/// What is known once the level after `known` has so many nodes and arcs.
pub(super) fn after(known: &FrontierInfo, nodes: u64, arcs: u64, pulled: bool) -> FrontierInfo {
    let (reached, depth) = (known.reached + nodes, known.depth + 1);
    FrontierInfo { nodes, arcs: Some(arcs), reached, depth, pulled, want_pull: false }
}

/// Claims for level `known.depth + 1` what the frontier in `words` reaches; the frontier is cleared.
fn push(
    rows: &TopologyRows,
    s: &mut State,
    visited: &mut [u64],
    words: Range<usize>,
    known: &FrontierInfo,
    beat: &(dyn Fn() + Sync),
) -> Counted {
    let out = &rows.columns.out;
    let level: &[AtomicU32] = s.level.host_mut().map_or(&[], |level| atomics(level));
    let front = s.front.words_mut().host_mut().unwrap_or_default();
    let next = s.next.words_mut().host_mut().unwrap_or_default();
    next.fill(0);
    let (found, seen) = (atomic_words(next), &*visited);
    let reach = |(first, words): (usize, &[u64])| {
        beat();
        let mut looked = 0;
        for (i, word) in words.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let u = (first + i) * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                for v in out.row(u) {
                    looked += 1;
                    let (at, bit) = (*v as usize / 64, 1u64 << (v % 64));
                    if (seen[at] | found[at].load(Relaxed)) & bit == 0 {
                        found[at].fetch_or(bit, Relaxed);
                    }
                }
            }
        }
        looked
    };
    // What is found is looked at in order, not where an arc happens to lead.
    let settle = |(first, (next, seen)): (usize, (&[u64], &mut [u64]))| {
        let (mut nodes, mut arcs) = (0, 0);
        for (i, (word, seen)) in next.iter().zip(seen).enumerate() {
            let mut bits = *word;
            *seen |= bits;
            nodes += u64::from(bits.count_ones());
            while bits != 0 {
                let v = (first + i) * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                level[v].store(known.depth + 1, Relaxed);
                arcs += out.degree(v);
            }
        }
        (nodes, arcs)
    };
    let (own, start) = (&front[words.clone()], words.start);
    let (looked, (nodes, arcs)) = if known.arcs.is_some_and(|arcs| arcs < SERIAL_ARCS) {
        let looked = reach((start, own));
        (looked, settle((0, (&*next, visited))))
    } else {
        let tasks = own.par_chunks(TASK).enumerate();
        let looked = tasks.map(|(i, words)| reach((start + i * TASK, words))).sum();
        let all = next.par_chunks(TASK).zip(visited.par_chunks_mut(TASK)).enumerate();
        let settled = all.map(|(i, words)| settle((i * TASK, words)));
        (looked, settled.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1)))
    };
    front.fill(0);
    (nodes, arcs, looked)
}

/// Nodes of `words` that are not reached look for an in-neighbour in the frontier.
fn pull(
    rows: &TopologyRows,
    s: &mut State,
    visited: &mut [u64],
    words: Range<usize>,
    depth: u32,
    beat: &(dyn Fn() + Sync),
) -> Counted {
    let (into, out) = (rows.columns.in_rows(), &rows.columns.out);
    let active = rows.columns.active;
    let level: &[AtomicU32] = s.level.host_mut().map_or(&[], |level| atomics(level));
    let front = s.front.words().host().unwrap_or_default();
    let next = s.next.words_mut().host_mut().unwrap_or_default();
    let own = next[words.clone()].par_chunks_mut(TASK).enumerate();
    let task = |(i, (next, seen)): (usize, (&mut [u64], &mut [u64]))| {
        beat();
        let (mut nodes, mut arcs, mut looked) = (0, 0, 0);
        for (j, (word, seen)) in next.iter_mut().zip(seen).enumerate() {
            let base = (words.start + i * TASK + j) * 64;
            *word = 0;
            for (v, slot) in level.iter().enumerate().take((base + 64).min(active)).skip(base) {
                if *seen >> (v - base) & 1 != 0 {
                    continue;
                }
                let found = into.row(v).iter().any(|u| {
                    looked += 1;
                    front[*u as usize / 64] >> (u % 64) & 1 != 0
                });
                if found {
                    *word |= 1 << (v - base);
                    slot.store(depth, Relaxed);
                    nodes += 1;
                    arcs += out.degree(v);
                }
            }
            *seen |= *word;
        }
        (nodes, arcs, looked)
    };
    let seen = visited[words.clone()].par_chunks_mut(TASK);
    let zipped = own.zip(seen).map(|((i, next), seen)| (i, (next, seen)));
    zipped.map(task).reduce(|| (0, 0, 0), sum)
}

/// Nodes reached, arcs out of them, the largest level.
pub(super) fn count(rows: &TopologyRows, level: &[u32]) -> [u64; 3] {
    let active = &level[..rows.columns.active];
    let one = |(v, level): (usize, &u32)| match *level {
        UNREACHED => [0, 0, 0],
        level => [1, rows.columns.out.degree(v), u64::from(level)],
    };
    let add = |a: [u64; 3], b: [u64; 3]| [a[0] + b[0], a[1] + b[1], a[2].max(b[2])];
    active.par_iter().enumerate().map(one).reduce(|| [0; 3], add)
}
