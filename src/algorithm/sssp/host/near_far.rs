//! Near-far on host threads: a team goes through all rounds together, window of distances by window. Each member keeps the nodes
//! that it has found beyond the window in bins, one for each of the windows that follow. In a round of many nodes, those that
//! improve are marked, and listed in their order when the round is over: their rows are then read in the order in which they lie in
//! memory. A member that finds few nodes goes on with them by itself, without a round.
//!
//! Source: Zhang et al., "Optimizing ordered graph algorithms with GraphIt", CGO 2020 (bins of each thread, bucket fusion).

use super::{Entry, TASK_ARCS, relax};
use crate::algorithm::chains::Length;
use crate::layout::{ArcView, Rows};
use crate::team::{self, Member};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Threads of a team at most, on a graph of long paths: more would meet for longer than they work.
const TEAM: usize = 16;
/// Arcs of a graph that are worth more threads than one.
const WORTH_TEAM: u64 = 1 << 17;
/// Nodes of a round that are worth a member of the team.
const WORTH: usize = 64;

/// Nodes that a member goes on with by itself at most, rather than to share them.
const FUSED: usize = 1 << 10;

/// Times that it does so between signs of life.
const LAPS: u64 = 1 << 10;

/// Nodes from which a round is one of many.
const MANY: usize = 1 << 12;

/// Windows that have a bin each.
const BINS: u64 = 64;

/// The last window: what lies beyond goes with it.
const LAST: u64 = 1 << 60;

/// What members share.
pub(super) struct NearFar<'a, A: ArcView, D: Length> {
    pub rows: &'a Rows,
    pub arcs: A,
    pub dist: &'a [D::Atomic],
    pub beat: &'a (dyn Fn() + Sync),
    /// The nodes to begin with.
    pub seeds: Vec<Entry<D>>,
    pub delta: f64,
    /// Paths are long.
    pub long_paths: bool,
}

/// Entries that a member has found, and how many.
type Part<D> = (RwLock<Vec<Entry<D>>>, AtomicUsize);

/// What members tell each other.
struct Shared<D> {
    /// What each has found for a round, and for the next one, in turn.
    lists: [Vec<Part<D>>; 2],
    /// Nodes that a round of many has improved, as bits.
    marks: Vec<AtomicU64>,
    /// The next window of which each has nodes; `u64::MAX` where it has none.
    next: Vec<AtomicU64>,
    /// Whether there are rows that are too long for one member.
    has_long: bool,
    /// Those of a round.
    long: Mutex<Vec<(D, Range<u64>)>>,
    relaxed: AtomicU64,
}

/// What a member has found.
struct Found<D> {
    /// The width of a window.
    delta: f64,
    /// The window that is searched.
    window: u64,
    /// Where it ends, and where the next one does.
    ends: [D; 2],
    /// In it, or before.
    near: Vec<Entry<D>>,
    /// In the [`BINS`] windows that follow, by the window's remainder.
    bins: Vec<Vec<Entry<D>>>,
    /// Beyond these, and the lowest window there.
    beyond: (Vec<Entry<D>>, u64),
    relaxed: u64,
}

impl<A: ArcView, D: Length> NearFar<'_, A, D> {
    /// Searches to the end. Returns arcs relaxed, and rounds.
    pub fn search(&self) -> (u64, u64) {
        let several = self.rows.arc_count() >= WORTH_TEAM;
        let most = if self.long_paths { TEAM } else { usize::MAX };
        let members = if several { team::size(most) } else { 1 };
        let list = || (0..members).map(|_| Default::default()).collect();
        let shared = Shared {
            lists: [list(), list()],
            marks: (0..self.dist.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            next: (0..members).map(|_| AtomicU64::new(0)).collect(),
            has_long: several
                && self.rows.offsets.par_windows(2).any(|row| is_long(row[1] - row[0])),
            long: Mutex::default(),
            relaxed: AtomicU64::new(0),
        };
        let rounds = team::run(members, |member| self.work(member, &shared));
        (shared.relaxed.into_inner(), rounds)
    }

    fn work(&self, member: &Member<'_>, shared: &Shared<D>) -> u64 {
        let seeds = if member.is_first() { self.seeds.clone() } else { Vec::new() };
        let mut found = Found::new(seeds, self.delta);
        let (mut own, mut rounds, mut turn) = (Vec::new(), 0, 0);
        loop {
            shared.tell(member, turn, &mut found.near);
            member.meet();
            while let count @ 1.. = shared.count(turn) {
                if member.is_first() {
                    (self.beat)();
                }
                rounds += 1;
                let marks = if count < MANY { None } else { Some(&*shared.marks) };
                let mut go_on = |part| {
                    shared.read(turn, part, &mut own);
                    self.go_on(&mut own, shared, marks, &mut found);
                };
                match marks {
                    None => go_on(member.part(count, WORTH)),
                    Some(_) => member.deal(count, WORTH, |part| {
                        (self.beat)();
                        go_on(part);
                    }),
                }
                if shared.has_long {
                    member.meet();
                    let long = locked(&shared.long).clone();
                    for (from, row) in long {
                        let part = member.part((row.end - row.start) as usize, WORTH);
                        let part = row.start + part.start as u64..row.start + part.end as u64;
                        self.relax(from, part, marks, &mut found);
                    }
                    member.meet();
                    if member.is_first() {
                        locked(&shared.long).clear();
                    }
                }
                // What a member finds, while that is little, it goes on with by itself.
                let alone = marks.is_none() && !shared.has_long;
                for lap in 1.. {
                    if !alone || !(1..=FUSED).contains(&found.near.len()) {
                        break;
                    }
                    if lap % LAPS == 0 {
                        (self.beat)();
                    }
                    std::mem::swap(&mut own, &mut found.near);
                    self.go_on(&mut own, shared, None, &mut found);
                }
                if let Some(marks) = marks {
                    member.meet();
                    member.deal(marks.len(), WORTH, |part| {
                        self.list(&marks[part.clone()], part.start, &mut found);
                    });
                }
                turn += 1;
                shared.tell(member, turn, &mut found.near);
                member.meet();
            }
            shared.next[member.index()].store(found.next(), Relaxed);
            member.meet();
            let next = shared.next.iter().map(|next| next.load(Relaxed));
            let Some(next) = next.min().filter(|next| *next < u64::MAX) else { break };
            // A node is told of whenever it improves; the last time counts.
            found.begin(next, |e| D::load(&self.dist[e.0 as usize]) == e.1);
        }
        shared.relaxed.fetch_add(found.relaxed, Relaxed);
        rounds
    }

    /// Relaxes the rows of `entries`, but for long ones, which are listed.
    fn go_on(
        &self,
        entries: &mut Vec<Entry<D>>,
        shared: &Shared<D>,
        marks: Option<&[AtomicU64]>,
        found: &mut Found<D>,
    ) {
        for (v, from) in entries.drain(..) {
            // A node that has improved since it was told of is told of again, and waits for that.
            if D::load(&self.dist[v as usize]) < from {
                continue;
            }
            let row = self.rows.offsets[v as usize]..self.rows.offsets[v as usize + 1];
            if shared.has_long && is_long(row.end - row.start) {
                locked(&shared.long).push((from, row));
            } else {
                self.relax(from, row, marks, found);
            }
        }
    }

    /// Relaxes arcs of a row. Nodes that improve are marked, where there are marks, or found.
    fn relax(&self, from: D, arcs: Range<u64>, marks: Option<&[AtomicU64]>, found: &mut Found<D>) {
        found.relaxed += arcs.end - arcs.start;
        relax(self.arcs, self.dist, from, arcs, |(v, distance)| match marks {
            None => found.add((v, distance)),
            Some(marks) => {
                let (word, bit) = (&marks[v as usize / 64], 1 << (v % 64));
                if word.load(Relaxed) & bit == 0 {
                    word.fetch_or(bit, Relaxed);
                }
            }
        });
    }

    /// Finds the nodes that are marked in words from `first` on, and takes the marks away.
    fn list(&self, words: &[AtomicU64], first: usize, found: &mut Found<D>) {
        for (i, word) in words.iter().enumerate() {
            let mut bits = word.load(Relaxed);
            if bits != 0 {
                word.store(0, Relaxed);
            }
            while bits != 0 {
                let v = (first + i) * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                found.add((v as u32, D::load(&self.dist[v])));
            }
        }
    }
}

impl<D: Length> Found<D> {
    /// The seeds, to be searched, and nothing yet.
    fn new(seeds: Vec<Entry<D>>, delta: f64) -> Found<D> {
        let bins = (0..BINS).map(|_| Vec::new()).collect();
        let beyond = (Vec::new(), u64::MAX);
        // Where all weights are 0, so is their mean.
        let delta = if delta > 0.0 { delta } else { f64::INFINITY };
        let ends = Found::ends(0, delta);
        Found { delta, window: 0, ends, near: seeds, bins, beyond, relaxed: 0 }
    }

    /// Where this window ends, and where the next one does.
    fn ends(window: u64, delta: f64) -> [D; 2] {
        [1, 2].map(|further| D::rounded((window + further) as f64 * delta))
    }

    fn add(&mut self, entry: Entry<D>) {
        if entry.1 < self.ends[0] {
            return self.near.push(entry);
        }
        let next = self.window + 1;
        let window = match entry.1 < self.ends[1] {
            true => next,
            false => ((entry.1.real() / self.delta) as u64).clamp(next, LAST.max(next)),
        };
        if window < next + BINS {
            self.bins[(window % BINS) as usize].push(entry);
        } else {
            self.beyond.0.push(entry);
            self.beyond.1 = self.beyond.1.min(window);
        }
    }

    /// The next window of which there are nodes.
    fn next(&self) -> u64 {
        let filled = |window: &u64| !self.bins[(window % BINS) as usize].is_empty();
        let bin = (self.window + 1..=self.window + BINS).find(filled);
        bin.unwrap_or(u64::MAX).min(self.beyond.1)
    }

    /// Goes on with this window, before which there is nothing left, and with those nodes of it that improved for the `last`
    /// time when they were found.
    fn begin(&mut self, window: u64, last: impl Fn(&Entry<D>) -> bool) {
        let bin = &mut self.bins[(window % BINS) as usize];
        if window <= self.window + BINS {
            self.near.extend(bin.drain(..).filter(&last));
        }
        (self.window, self.ends) = (window, Found::ends(window, self.delta));
        if self.beyond.1 <= window {
            let (beyond, _) = std::mem::replace(&mut self.beyond, (Vec::new(), u64::MAX));
            beyond.into_iter().filter(last).for_each(|entry| self.add(entry));
        }
    }
}

impl<D: Length> Shared<D> {
    /// Makes what `member` has found, and forgets, its part of the list of `turn`.
    fn tell(&self, member: &Member<'_>, turn: usize, found: &mut Vec<Entry<D>>) {
        let (list, count) = &self.lists[turn % 2][member.index()];
        let mut list = list.write().unwrap_or_else(PoisonError::into_inner);
        list.clear();
        std::mem::swap(&mut *list, found);
        count.store(list.len(), Relaxed);
    }

    fn count(&self, turn: usize) -> usize {
        self.lists[turn % 2].iter().map(|(_, count)| count.load(Relaxed)).sum()
    }

    /// Reads entries of the list of `turn`, which is what the members found, one after another.
    fn read(&self, turn: usize, range: Range<usize>, entries: &mut Vec<Entry<D>>) {
        let mut begin = 0;
        for (list, count) in &self.lists[turn % 2] {
            let count = count.load(Relaxed);
            let of = |at: usize| at.clamp(begin, begin + count) - begin;
            let own = of(range.start)..of(range.end);
            if !own.is_empty() {
                let list = list.read().unwrap_or_else(PoisonError::into_inner);
                entries.extend_from_slice(&list[own]);
            }
            begin += count;
        }
    }
}

fn is_long(arcs: u64) -> bool {
    arcs > TASK_ARCS
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
