//! The steps of strongly connected components on host threads.

use super::{NONE, State, StepResult, StepTask, Task};
use crate::collective::{atomic_words, atomics};
use crate::layout::{ColumnRows, TopologyRows};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Nodes of one task.
const TASK: usize = 1 << 10;

/// What a replica's steps need beside the replicated state.
#[derive(Default)]
pub(super) struct Scratch {
    /// `[active]` components lie within nodes of the same.
    part: Vec<u32>,
    /// `[active]` out- and in-arcs that are left.
    degrees: [Vec<u32>; 2],
    /// `[active]` the colour last passed on.
    told: Vec<u32>,
    /// Own nodes whose arcs have been followed, forward and back.
    done: [Vec<u64>; 2],
}

/// The arrays of a step, shared by its threads.
struct View<'a> {
    rows: &'a TopologyRows,
    comp: &'a [AtomicU32],
    colour: &'a [AtomicU32],
    part: &'a [AtomicU32],
    degrees: [&'a [AtomicU32]; 2],
    told: &'a [AtomicU32],
    left: &'a [AtomicU64],
    /// Reached from the pivot; reaching it, or a root.
    reached: [&'a [AtomicU64]; 2],
    done: [&'a [AtomicU64]; 2],
    chunk: Range<usize>,
    beat: &'a (dyn Fn() + Sync),
}

/// Where an arc leads: out of a node or into it.
const WAYS: [usize; 2] = [0, 1];

/// A bijection that scatters labels. Kernels have the same.
fn rank_of(label: u32) -> u32 {
    let scattered = label.wrapping_mul(0x9e37_79b1);
    (scattered ^ scattered >> 16).wrapping_mul(0x85eb_ca6b)
}

fn label_of(rank: u32) -> u32 {
    let scattered = rank.wrapping_mul(0xa5cb_9243);
    (scattered ^ scattered >> 16).wrapping_mul(0x0e8b_2f51)
}

fn has(bits: &[AtomicU64], v: usize) -> bool {
    bits[v / 64].load(Relaxed) >> (v % 64) & 1 != 0
}

/// True for the one who set the bit.
fn put(bits: &[AtomicU64], v: usize) -> bool {
    let bit = 1 << (v % 64);
    bits[v / 64].fetch_or(bit, Relaxed) & bit == 0
}

/// True for the one who took it away.
fn take(bits: &[AtomicU64], v: usize) -> bool {
    let bit = 1 << (v % 64);
    bits[v / 64].fetch_and(!bit, Relaxed) & bit != 0
}

/// Does a task.
pub(super) fn step(
    rows: &TopologyRows,
    s: &mut State,
    scratch: &mut Scratch,
    told: &StepTask,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    if told.task == Task::Start {
        start(rows, s, scratch);
        return StepResult { rounds: 1, ..StepResult::default() };
    }
    let [out, into] = &mut scratch.degrees;
    let [followed, returned] = &mut scratch.done;
    let view = View {
        rows,
        comp: s.comp.atomics(),
        colour: s.colour.atomics(),
        part: atomics(&mut scratch.part),
        degrees: [atomics(out), atomics(into)],
        told: atomics(&mut scratch.told),
        left: s.left.atomic_words(),
        reached: [s.fore.atomic_words(), s.back.atomic_words()],
        done: [atomic_words(followed), atomic_words(returned)],
        chunk: told.chunk.start as usize..told.chunk.end as usize,
        beat,
    };
    match told.task {
        Task::Trim => view.trim(),
        Task::Reach => view.reach(told.pivot),
        Task::Giant => view.giant(told.pivot),
        Task::Paint => view.paint(),
        Task::Colour => view.spread(),
        Task::Roots => view.roots(),
        Task::Back => view.come_back(),
        Task::Settle => view.settle(),
        Task::Whole | Task::Start => StepResult::default(),
    }
}

/// All nodes are left.
fn start(rows: &TopologyRows, s: &mut State, scratch: &mut Scratch) {
    let active = rows.columns.active;
    s.comp.host_mut().unwrap_or_default().fill(NONE);
    for (i, word) in s.left.words_mut().host_mut().unwrap_or_default().iter_mut().enumerate() {
        let nodes = (active - i * 64).min(64);
        *word = u64::MAX >> (64 - nodes);
    }
    for bits in [&mut s.fore, &mut s.back] {
        bits.words_mut().host_mut().unwrap_or_default().fill(0);
    }
    let [out, into] = &mut scratch.degrees;
    for array in [&mut scratch.part, out, into, &mut scratch.told] {
        array.clear();
        array.resize(active, 0);
    }
    for bits in &mut scratch.done {
        bits.clear();
        bits.resize(active.div_ceil(64), 0);
    }
}

impl View<'_> {
    /// Rows out of nodes, or into them.
    fn rows(&self, way: usize) -> &ColumnRows {
        if way == 0 { &self.rows.columns.out } else { self.rows.columns.in_rows() }
    }

    fn row(&self, way: usize, v: u32) -> &[u32] {
        self.rows(way).row(v as usize)
    }

    fn is_left(&self, v: u32) -> bool {
        has(self.left, v as usize)
    }

    fn own(&self, v: u32) -> bool {
        self.chunk.contains(&(v as usize))
    }

    fn part(&self, v: u32) -> u32 {
        self.part[v as usize].load(Relaxed)
    }

    fn colour(&self, v: u32) -> u32 {
        self.colour[v as usize].load(Relaxed)
    }

    fn degree(&self, way: usize, v: u32) -> u32 {
        self.degrees[way][v as usize].load(Relaxed)
    }

    /// Those of the own nodes for which it holds.
    fn chosen(&self, holds: impl Fn(u32) -> bool + Sync + Send) -> Vec<u32> {
        let own = self.chunk.clone().into_par_iter().with_min_len(TASK);
        own.map(|v| v as u32).filter(|v| holds(*v)).collect()
    }

    /// Follows nodes' arcs, then those of the nodes that `visit` appends, until it appends none. Returns the arcs
    /// that it says it looked at.
    fn follow(
        &self,
        seeds: Vec<u32>,
        visit: impl Fn(u32, &mut Vec<u32>) -> u64 + Sync,
    ) -> StepResult {
        let (mut front, mut found) = (seeds, StepResult::default());
        while !front.is_empty() {
            let task = |part: &[u32]| {
                (self.beat)();
                let mut next = Vec::new();
                let arcs = part.iter().map(|v| visit(*v, &mut next)).sum::<u64>();
                (next, arcs)
            };
            let (next, arcs) = if front.len() <= TASK {
                task(&front)
            } else {
                let join = |mut a: (Vec<u32>, u64), b: (Vec<u32>, u64)| {
                    a.0.extend(b.0);
                    (a.0, a.1 + b.1)
                };
                front.par_chunks(TASK / 4).map(task).reduce(Default::default, join)
            };
            front = next;
            found.arcs += arcs;
            found.rounds += 1;
        }
        found
    }

    /// Removes own nodes without in- or out-arcs among those that are left, and what that leaves so.
    fn trim(&self) -> StepResult {
        let count = |way: usize, v: u32| {
            let part = self.part(v);
            let counts = |u: &&u32| **u != v && self.is_left(**u) && self.part(**u) == part;
            self.row(way, v).iter().filter(counts).count() as u32
        };
        self.chunk.clone().into_par_iter().with_min_len(TASK).for_each(|v| {
            if v % TASK == 0 {
                (self.beat)();
            }
            if has(self.left, v) {
                WAYS.iter().for_each(|way| {
                    self.degrees[*way][v].store(count(*way, v as u32), Relaxed);
                });
            }
        });
        let changed = AtomicU64::new(0);
        let remove = |v: u32| {
            let removed = take(self.left, v as usize);
            if removed {
                self.comp[v as usize].store(v, Relaxed);
                changed.fetch_add(1, Relaxed);
            }
            removed
        };
        let ends =
            self.chosen(|v| self.is_left(v) && WAYS.iter().any(|way| self.degree(*way, v) == 0));
        ends.par_iter().for_each(|v| {
            remove(*v);
        });
        let found = self.follow(ends, |v, next| {
            let part = self.part(v);
            for way in WAYS {
                for u in self.row(way, v) {
                    let concerned = *u != v && self.own(*u) && self.is_left(*u);
                    // An arc out of v is one into u.
                    if concerned
                        && self.part(*u) == part
                        && self.degrees[1 - way][*u as usize].fetch_sub(1, Relaxed) == 1
                        && remove(*u)
                    {
                        next.push(*u);
                    }
                }
            }
            WAYS.iter().map(|way| self.row(*way, v).len() as u64).sum()
        });
        let own = |way: usize| {
            let offsets = &self.rows(way).offsets;
            offsets[self.chunk.end] - offsets[self.chunk.start]
        };
        let arcs = found.arcs + own(0) + own(1);
        StepResult { changed: changed.into_inner(), pivot: self.pivot(), arcs, ..found }
    }

    /// The key of the own node of the most in-arcs times out-arcs that are left.
    fn pivot(&self) -> u64 {
        let own = self.chunk.clone().into_par_iter().with_min_len(TASK).map(|v| v as u32);
        let key = |v: u32| {
            let product = self.degree(0, v) as f32 * self.degree(1, v) as f32;
            u64::from(product.to_bits()) << 32 | u64::from(!v)
        };
        own.filter(|v| self.is_left(*v)).map(key).max().unwrap_or(0)
    }

    /// Goes on from own nodes that have been reached since, both ways.
    fn reach(&self, pivot: u32) -> StepResult {
        let mut found = StepResult::default();
        for way in WAYS {
            let bits = self.reached[way];
            let changed = AtomicU64::new(0);
            // The pivot is its owner's to set.
            if self.own(pivot) && put(bits, pivot as usize) {
                changed.fetch_add(1, Relaxed);
            }
            let seeds = self.chosen(|v| has(bits, v as usize) && put(self.done[way], v as usize));
            let followed = self.follow(seeds, |v, next| {
                let row = self.row(way, v);
                let mut new = 0;
                for u in row {
                    let at = *u as usize;
                    if !has(bits, at) && self.is_left(*u) && put(bits, at) {
                        new += 1;
                        if self.own(*u) {
                            put(self.done[way], at);
                            next.push(*u);
                        }
                    }
                }
                changed.fetch_add(new, Relaxed);
                row.len() as u64
            });
            found.changed += changed.into_inner();
            found.arcs += followed.arcs;
            found.rounds += followed.rounds;
        }
        found
    }

    /// Every node, by tasks.
    fn each(&self, body: impl Fn(u32) + Sync + Send) -> StepResult {
        (self.beat)();
        let all = (0..self.rows.columns.active).into_par_iter().with_min_len(TASK);
        all.for_each(|v| body(v as u32));
        StepResult { rounds: 1, ..StepResult::default() }
    }

    /// The pivot's component, and the parts that the others' lie in.
    fn giant(&self, pivot: u32) -> StepResult {
        let found = self.each(|v| {
            let at = v as usize;
            let [fore, back] = self.reached.map(|bits| u32::from(has(bits, at)));
            match fore | back << 1 {
                _ if !self.is_left(v) => {}
                3 => {
                    self.comp[at].store(pivot, Relaxed);
                    take(self.left, at);
                }
                part => self.part[at].store(part, Relaxed),
            }
        });
        for bits in self.reached.iter().chain(&self.done) {
            bits.iter().for_each(|word| word.store(0, Relaxed));
        }
        found
    }

    /// Everybody's colour is its own rank, which nobody has been told.
    fn paint(&self) -> StepResult {
        let found = self.each(|v| {
            let (at, left) = (v as usize, self.is_left(v));
            self.colour[at].store(if left { rank_of(v) } else { NONE }, Relaxed);
            self.told[at].store(NONE, Relaxed);
            // Others have removed it.
            if !left && self.comp[at].load(Relaxed) == NONE {
                self.comp[at].store(v, Relaxed);
            }
        });
        let left = self.left.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum();
        StepResult { left, ..found }
    }

    /// Spreads colours that own nodes have not passed on yet.
    fn spread(&self) -> StepResult {
        let changed = AtomicU64::new(0);
        let news = |v: u32| self.colour(v) != self.told[v as usize].load(Relaxed);
        let seeds = self.chosen(|v| self.is_left(v) && news(v));
        let found = self.follow(seeds, |v, next| {
            let (colour, part, row) = (self.colour(v), self.part(v), self.row(0, v));
            if self.told[v as usize].swap(colour, Relaxed) == colour {
                return 0;
            }
            let mut new = 0;
            for u in row {
                let at = *u as usize;
                let better = || self.colour[at].fetch_min(colour, Relaxed) > colour;
                let within = self.is_left(*u) && self.part(*u) == part;
                if within && self.colour(*u) > colour && better() {
                    new += 1;
                    if self.own(*u) {
                        next.push(*u);
                    }
                }
            }
            changed.fetch_add(new, Relaxed);
            row.len() as u64
        });
        StepResult { changed: changed.into_inner(), ..found }
    }

    /// Marks the roots of colours.
    fn roots(&self) -> StepResult {
        self.each(|v| {
            if self.is_left(v) && self.colour(v) == rank_of(v) {
                put(self.reached[1], v as usize);
            }
        })
    }

    /// Goes on backward, within colours, from own nodes that are known to reach their root.
    fn come_back(&self) -> StepResult {
        let (bits, done, changed) = (self.reached[1], self.done[1], AtomicU64::new(0));
        let known = |v: u32| self.is_left(v) && has(bits, v as usize);
        let seeds = self.chosen(|v| known(v) && put(done, v as usize));
        let found = self.follow(seeds, |v, next| {
            let (colour, row) = (self.colour(v), self.row(1, v));
            let mut new = 0;
            for u in row {
                let at = *u as usize;
                let within = self.is_left(*u) && self.colour(*u) == colour;
                if within && !has(bits, at) && put(bits, at) {
                    new += 1;
                    if self.own(*u) {
                        put(done, at);
                        next.push(*u);
                    }
                }
            }
            changed.fetch_add(new, Relaxed);
            row.len() as u64
        });
        StepResult { changed: changed.into_inner(), ..found }
    }

    /// Those that reach their root are its component; colours are the parts of the others.
    fn settle(&self) -> StepResult {
        self.each(|v| {
            let (at, colour) = (v as usize, self.colour(v));
            if !self.is_left(v) {
                return;
            }
            if has(self.reached[1], at) {
                self.comp[at].store(label_of(colour), Relaxed);
                take(self.left, at);
            } else {
                self.part[at].store(colour, Relaxed);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_a_bijection() {
        let labels = (0..1 << 16).chain((0..1 << 16).map(|i| u32::MAX - i * 65_521));
        labels.for_each(|v| assert_eq!(label_of(rank_of(v)), v));
    }
}
