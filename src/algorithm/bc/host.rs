//! The steps of betweenness on host threads.

mod walk;

use super::plan::{State, StepResult, StepTask, Task};
use super::{MOST_LANES, Targets};
use crate::collective::{atomics, cells};
use crate::error::Result;
use crate::layout::{Columns, RowView};
use crate::memory::zeros;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Entries of a list that are quick to look at and not worth another thread.
const FEW: usize = 1 << 11;
/// The same of what goes over rows: so many nodes, and arcs.
const ALONE: [usize; 2] = [1 << 11, 1 << 12];
/// Rows that one task goes over, at most.
const SEVERAL: usize = 256;
/// Arcs that one task works on.
const ARCS: usize = 1 << 14;
/// "Has no level".
const UNSEEN: u32 = u32::MAX;
/// Numbers of paths beyond this are refused.
const MOST_PATHS: f64 = f64::from_bits((1023 + 1000) << 52);

/// A node and a mask of lanes, as lists of levels have them.
fn entry(v: usize, mask: u32) -> u64 {
    u64::from(mask) << 32 | v as u64
}

fn node(entry: u64) -> usize {
    entry as u32 as usize
}

fn mask(entry: u64) -> u32 {
    (entry >> 32) as u32
}

fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lowest
        })
    })
}

/// What a replica's steps need on the host beside rows and replicated state: a batch of sources side by side.
pub(super) struct Lanes {
    lanes: usize,
    targets: Targets,
    /// Lanes that have a source.
    full: u32,
    /// `[active, lanes]` numbers of paths; 0 where unreached.
    sigma: Vec<f64>,
    /// `[active, lanes]` (1 + delta) / sigma; 0 until the backward phase has come by.
    coef: Vec<f64>,
    /// `[active, lanes]` dependencies.
    delta: Vec<f64>,
    /// `[active]` lanes that have reached a node.
    seen: Vec<u32>,
    /// `[active]` the level of a node, [`UNSEEN`] where there is none; of one lane alone, else empty.
    level: Vec<u32>,
    /// `[active]` lanes that the next level reaches it in; zeros between levels.
    marks: Vec<AtomicU32>,
    /// Lists of the levels, one after another.
    entries: Vec<u64>,
    /// Nodes reached in each lane.
    reached: [u64; MOST_LANES],
    /// Arcs out of the last level.
    arcs: u64,
    /// Arcs into nodes of the last level that are reached in all lanes since.
    closed: u64,
    /// Arcs into nodes that some lane has not reached.
    open: u64,
    /// What the batch has come to.
    done: StepResult,
    /// What a step found, to be put into the arrays or handed to the others.
    found: (Vec<u64>, Vec<f64>),
}

/// What a part of a level adds to the counts.
#[derive(Default)]
struct Level {
    reached: [u64; MOST_LANES],
    reached_arcs: u64,
    /// Arcs out of its nodes.
    arcs: u64,
    /// Arcs into nodes that are reached in all lanes now.
    closed: u64,
    /// A lane with more paths than can be counted.
    overflow: Option<u32>,
}

fn usizes(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Does the task; `own` is the own chunk.
pub(super) fn step(
    p: &Columns,
    own: Range<u64>,
    lanes: &mut Lanes,
    s: &mut State,
    told: &StepTask<'_>,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    let (list, place) = (usizes(&told.list), usizes(&told.place));
    let scores = s.sums.scores.host_mut().unwrap_or_default();
    let (entries, values) = s.exchange.on_host();
    match told.task {
        Task::Whole => lanes.whole(p, told, scores, beat),
        Task::Seed => lanes.seed(p, told.sources),
        Task::Find => lanes.find(p, list, usizes(&own), beat),
        Task::Pack | Task::PackBack => {
            let (found, sums) = std::mem::take(&mut lanes.found);
            values[place.start * lanes.lanes..place.end * lanes.lanes].copy_from_slice(&sums);
            if told.task == Task::Pack {
                entries[place].copy_from_slice(&found);
            }
            StepResult::default()
        }
        Task::Commit => lanes.commit(p, &entries[..list.len()], values, beat),
        Task::Back => lanes.back(p, list, beat),
        Task::Settle => lanes.settle(list, told.level == told.deepest, values, beat),
        Task::Score => lanes.score(told, scores),
    }
}

/// Adds the entries of `array` in a row to `sum`, lane by lane. A long row is added up by several threads; the order of additions
/// depends on its length alone.
fn add_row(array: &[f64], row: &[u32], sum: &mut [f64]) {
    let lanes = sum.len();
    if row.len() > ARCS {
        let part = |part: &[u32]| {
            let mut sum = vec![0.0; lanes];
            add_row(array, part, &mut sum);
            sum
        };
        for part in row.par_chunks(ARCS).map(part).collect::<Vec<_>>() {
            sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
    } else if let [sum] = sum {
        *sum += row.iter().map(|u| array[*u as usize]).sum::<f64>();
    } else {
        for u in row {
            let from = &array[*u as usize * lanes..][..lanes];
            sum.iter_mut().zip(from).for_each(|(sum, x)| *sum += x);
        }
    }
}

/// Cuts a list, whose rows have so many arcs together, into parts of at most SEVERAL nodes and about ARCS arcs.
fn by_arcs<'a>(rows: RowView<'_>, mut list: &'a [u64], all: u64) -> Vec<&'a [u64]> {
    if all <= ALONE[1] as u64 && list.len() <= ALONE[0] {
        return vec![list];
    }
    if all <= ARCS as u64 {
        return list.chunks(SEVERAL).collect();
    }
    let mut parts = Vec::with_capacity(list.len() / SEVERAL + 1);
    while !list.is_empty() {
        let (mut arcs, mut count) = (0, 0);
        while count < list.len().min(SEVERAL) && arcs < ARCS {
            arcs += rows.row(node(list[count])).len();
            count += 1;
        }
        let (part, rest) = list.split_at(count);
        parts.push(part);
        list = rest;
    }
    parts
}

impl Lanes {
    pub fn new(p: &Columns, lanes: usize, targets: &Targets) -> Result<Lanes> {
        let active = p.active;
        let paths = || zeros("the paths of all sources of a batch", active * lanes);
        Ok(Lanes {
            lanes,
            targets: targets.clone(),
            full: 0,
            sigma: paths()?,
            coef: paths()?,
            delta: paths()?,
            seen: vec![0; active],
            level: vec![UNSEEN; if lanes == 1 { active } else { 0 }],
            marks: (0..active).map(|_| AtomicU32::new(0)).collect(),
            entries: Vec::new(),
            reached: [0; MOST_LANES],
            arcs: 0,
            closed: 0,
            open: 0,
            done: StepResult::default(),
            found: Default::default(),
        })
    }

    /// Both phases, added to `scores`.
    fn whole(
        &mut self,
        p: &Columns,
        told: &StepTask<'_>,
        scores: &mut [f64],
        beat: &(dyn Fn() + Sync),
    ) -> StepResult {
        self.seed(p, told.sources);
        // Where the list of each level begins.
        let (mut first, mut looked) = (vec![0, self.entries.len()], 0);
        loop {
            let last = first[first.len() - 2]..self.entries.len();
            let over = if self.walks(last.len()) {
                let (walked, over) = self.walk(p, &mut first, beat);
                looked += walked;
                over
            } else {
                looked += self.find(p, last.clone(), 0..p.active, beat).looked;
                let (entries, values) = std::mem::take(&mut self.found);
                self.commit(p, &entries, &values, beat);
                if self.lanes == 1 {
                    let level = first.len() as u32 - 1;
                    entries.iter().for_each(|e| self.level[node(*e)] = level);
                }
                if !entries.is_empty() {
                    first.push(self.entries.len());
                }
                entries.is_empty()
            };
            if self.done.overflow.is_some() {
                return StepResult { looked, ..self.done };
            }
            if over {
                break;
            }
        }
        let deepest = first.len() - 2;
        let length = |level: &usize| first[level + 1] - first[*level];
        let mut above = deepest + 1;
        while above > 1 {
            let level = above - 1;
            let list = first[level]..first[above];
            let narrow = |level: &usize| self.lanes == 1 && length(level) <= ALONE[0];
            if let Some(lowest) = (1..above).rev().take_while(narrow).last() {
                looked += self.walk_back(p, &first, lowest..=level, beat);
                above = lowest;
                continue;
            }
            above = level;
            if level < deepest {
                looked += self.back(p, list.clone(), beat).looked;
            }
            let (_, sums) = std::mem::take(&mut self.found);
            self.settle(list, level == deepest, &sums, beat);
        }
        StepResult { looked, levels: deepest as u64, ..self.score(told, scores) }
    }

    /// Level 0: the sources (labels, distinct), each in its lane.
    fn seed(&mut self, p: &Columns, sources: &[u32]) -> StepResult {
        for array in [&mut self.sigma, &mut self.coef, &mut self.delta] {
            array.par_iter_mut().with_min_len(1 << 14).for_each(|x| *x = 0.0);
        }
        self.seen.fill(0);
        self.level.fill(UNSEEN);
        self.entries.clear();
        self.full = (0..sources.len()).fold(0, |full, lane| full | 1 << lane);
        (self.reached, self.open) = ([0; MOST_LANES], p.in_rows().arcs());
        self.done = StepResult::default();
        self.found = Default::default();
        let mut level = Vec::new();
        let mut paths = vec![0.0; sources.len() * self.lanes];
        for (lane, s) in sources.iter().enumerate() {
            level.push(entry(*s as usize, 1 << lane));
            paths[lane * self.lanes + lane] = 1.0;
        }
        if self.lanes == 1 {
            self.level[sources[0] as usize] = 0;
        }
        self.commit(p, &level, &paths, &|| ())
    }

    /// Finds what the level after that of the list `last` holds of the nodes in `own`; `reached` of the result are
    /// those nodes.
    fn find(
        &mut self,
        p: &Columns,
        last: Range<usize>,
        own: Range<usize>,
        beat: &(dyn Fn() + Sync),
    ) -> StepResult {
        let marking = self.arcs * 8 < self.open + p.active as u64;
        let wanted = if marking { self.mark(p, last, &own, beat) } else { self.lacking(&own) };
        let rows = p.in_rows().view();
        let degrees = wanted.par_iter().with_min_len(FEW).map(|e| rows.row(node(*e)).len() as u64);
        let looked: u64 = degrees.sum();
        self.found = self.pull(rows, &self.sigma, (&wanted, looked), true, beat);
        wanted.par_iter().with_min_len(FEW).for_each(|e| self.marks[node(*e)].store(0, Relaxed));
        let pushed = if marking { self.arcs } else { 0 };
        let (reached, looked) = (self.found.0.len() as u64, looked + pushed);
        StepResult { reached, looked, ..StepResult::default() }
    }

    /// Nodes of `own` that out-arcs of the list `last` lead to, with the lanes that reach them first.
    fn mark(
        &self,
        p: &Columns,
        last: Range<usize>,
        own: &Range<usize>,
        beat: &(dyn Fn() + Sync),
    ) -> Vec<u64> {
        let out = p.out.view();
        let part = |part: &[u64]| {
            beat();
            let mut marked = Vec::new();
            for e in part {
                let heads = out.row(node(*e)).iter().map(|v| *v as usize);
                for v in heads.filter(|v| own.contains(v)) {
                    let lanes = mask(*e) & !self.seen[v];
                    if lanes != 0 && self.marks[v].fetch_or(lanes, Relaxed) == 0 {
                        marked.push(v as u64);
                    }
                }
            }
            marked
        };
        let parts = by_arcs(out, &self.entries[last], self.arcs);
        let parts: Vec<Vec<u64>> = parts.into_par_iter().map(part).collect();
        let mut wanted = parts.concat();
        // Who marked a node first is chance.
        wanted.par_sort_unstable();
        let full = |v: &mut u64| *v = entry(*v as usize, self.marks[*v as usize].load(Relaxed));
        wanted.par_iter_mut().with_min_len(FEW).for_each(full);
        wanted
    }

    /// Nodes of `own` that some lane has not reached.
    fn lacking(&self, own: &Range<usize>) -> Vec<u64> {
        let lanes = |v: usize| self.full & !self.seen[v];
        let nodes = own.clone().into_par_iter().with_min_len(FEW).filter(|v| lanes(*v) != 0);
        nodes.map(|v| entry(v, lanes(v))).collect()
    }

    /// For each of `wanted`, whose rows have so many `arcs` together, the sums of `array` over its row, in the lanes that it
    /// wants; `forward`: only entries and lanes with a sum above 0.
    fn pull(
        &self,
        rows: RowView<'_>,
        array: &[f64],
        (wanted, arcs): (&[u64], u64),
        forward: bool,
        beat: &(dyn Fn() + Sync),
    ) -> (Vec<u64>, Vec<f64>) {
        let lanes = self.lanes;
        let part = |part: &[u64]| {
            beat();
            let (mut entries, mut sums) = (Vec::new(), Vec::new());
            let mut room = [0.0; MOST_LANES];
            let sum = &mut room[..lanes];
            for e in part {
                sum.fill(0.0);
                add_row(array, rows.row(node(*e)), sum);
                let some = (0..lanes).filter(|b| sum[*b] > 0.0).fold(0, |some, b| some | 1 << b);
                let kept = mask(*e) & if forward { some } else { u32::MAX };
                if kept == 0 {
                    continue;
                }
                entries.push(entry(node(*e), kept));
                sums.extend((0..lanes).map(|b| if kept >> b & 1 != 0 { sum[b] } else { 0.0 }));
            }
            (entries, sums)
        };
        let parts: Vec<_> = by_arcs(rows, wanted, arcs).into_par_iter().map(part).collect();
        let (entries, sums): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (entries.concat(), sums.concat())
    }

    /// Puts a level, `entries` with their numbers of paths, into the arrays.
    fn commit(
        &mut self,
        p: &Columns,
        entries: &[u64],
        paths: &[f64],
        beat: &(dyn Fn() + Sync),
    ) -> StepResult {
        let (into, out, lanes, full) = (p.in_rows().view(), p.out.view(), self.lanes, self.full);
        // A node is in the list once, so that nobody else has its places.
        let (sigma, seen) = (cells(&mut self.sigma), atomics(&mut self.seen));
        let part = |(part, paths): (&[u64], &[f64])| {
            beat();
            let mut level = Level::default();
            for (e, paths) in part.iter().zip(paths.chunks(lanes)) {
                let (v, mask) = (node(*e), mask(*e));
                let degree = out.row(v).len() as u64;
                for b in bits(mask) {
                    if paths[b] > MOST_PATHS {
                        level.overflow.get_or_insert(b as u32);
                    }
                    sigma[v * lanes + b].store(paths[b].to_bits(), Relaxed);
                    level.reached[b] += 1;
                    level.reached_arcs += degree;
                }
                level.arcs += degree;
                if seen[v].fetch_or(mask, Relaxed) | mask == full {
                    level.closed += into.row(v).len() as u64;
                }
            }
            level
        };
        let parts = entries.par_chunks(FEW).zip(paths.par_chunks(FEW * lanes));
        let parts: Vec<Level> = parts.map(part).collect();
        (self.arcs, self.closed) = (0, 0);
        for level in parts {
            self.done.overflow = self.done.overflow.or(level.overflow);
            self.reached.iter_mut().zip(level.reached).for_each(|(sum, x)| *sum += x);
            self.done.reached += level.reached.iter().sum::<u64>();
            self.done.reached_arcs += level.reached_arcs;
            self.arcs += level.arcs;
            self.closed += level.closed;
            self.open -= level.closed;
        }
        self.entries.extend_from_slice(entries);
        self.done
    }

    /// Sums of coefficients for the nodes of a list.
    fn back(&mut self, p: &Columns, list: Range<usize>, beat: &(dyn Fn() + Sync)) -> StepResult {
        let wanted = &self.entries[list];
        let looked = wanted.par_iter().with_min_len(FEW).map(|e| p.out.degree(node(*e))).sum();
        self.found = self.pull(p.out.view(), &self.coef, (wanted, looked), false, beat);
        StepResult { looked, ..StepResult::default() }
    }

    /// Puts the sums of coefficients of a level's list into the arrays; those of the deepest level are 0.
    fn settle(
        &mut self,
        list: Range<usize>,
        deepest: bool,
        sums: &[f64],
        beat: &(dyn Fn() + Sync),
    ) -> StepResult {
        let (lanes, sigma) = (self.lanes, &self.sigma);
        // A node is in the list once, so that nobody else has its places.
        let (delta, coef) = (cells(&mut self.delta), cells(&mut self.coef));
        let part = |(first, part): (usize, &[u64])| {
            beat();
            for (i, e) in (first * FEW..).zip(part) {
                for b in bits(mask(*e)) {
                    let at = node(*e) * lanes + b;
                    let sum = if deepest { 0.0 } else { sums[i * lanes + b] };
                    let dependency = sigma[at] * sum;
                    delta[at].store(dependency.to_bits(), Relaxed);
                    let end = self.targets.count(node(*e));
                    coef[at].store(((end + dependency) / sigma[at]).to_bits(), Relaxed);
                }
            }
        };
        self.entries[list].par_chunks(FEW).enumerate().for_each(part);
        StepResult::default()
    }

    /// Adds the batch to `scores`, lane by lane.
    fn score(&mut self, told: &StepTask<'_>, scores: &mut [f64]) -> StepResult {
        let (lanes, sources) = (self.lanes, told.sources);
        let (coarse, fine) = scores.split_at_mut(scores.len() / 2);
        let add = |(v, (coarse, fine)): (usize, (&mut f64, &mut f64))| {
            let mut add = |x| {
                let gain = told.grids.split(x);
                (*coarse, *fine) = (*coarse + gain[0], *fine + gain[1]);
            };
            for (b, source) in sources.iter().enumerate() {
                add(self.delta[v * lanes + b]);
                if told.endpoints && self.sigma[v * lanes + b] > 0.0 && *source as usize != v {
                    add(1.0);
                }
            }
        };
        let both = coarse.par_iter_mut().zip(&mut fine[..]);
        both.enumerate().with_min_len(1 << 12).for_each(add);
        if told.endpoints {
            for (source, reached) in sources.iter().zip(self.reached) {
                let gain = told.grids.split((reached - 1) as f64);
                coarse[*source as usize] += gain[0];
                fine[*source as usize] += gain[1];
            }
        }
        self.done
    }
}
