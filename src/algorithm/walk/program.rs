//! Walks as operators: one program for GPUs and host.

use super::{WalkConfig, WalkKept};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::left::{LeftArray, LeftColumn, LeftMeaning};
use crate::algorithm::rows::{Rows, in_memory};
use crate::algorithm::same::Words;
use crate::algorithm::start::own_of;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use crate::operator::{Args, GraphView, Lambda, Over, device, lambda};
use std::ops::Range;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub nodes: usize,
    pub starts: usize,
    /// Arcs of rows whose order is told, and of those with alias tables; or nodes of which the best neighbour is known.
    pub ordered: usize,
    pub shares: usize,
    pub others: usize,
    /// Own walkers.
    pub own: usize,
    /// Values of their paths.
    pub paths: usize,
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[starts]` nodes.
        starts: Replicated<u32> = "starts", Gather, |s| s.starts;
        /// `[m]` or nothing, as [`Rows`] has them; of greedy walks `other` is `[n]`, where each node leads.
        order: Replicated<u32> = "order of arcs", Gather, |s| s.ordered;
        share: Replicated<u32> = "shares", Gather, |s| s.shares;
        other: Replicated<u32> = "aliases", Gather, |s| s.others;
        /// `[n]` how often walkers were at a node.
        visits: Replicated<u64> = "visits", Sum, |s| s.nodes;
        /// `[own]` where walkers are, and where they were before.
        at: Replicated<u32> = "nodes of walkers", Gather, |s| s.own;
        before: Replicated<u32> = "nodes before", Gather, |s| s.own;
        /// `[length + 1, own]` nodes.
        paths: Replicated<u32> = "paths", Gather, |s| s.paths;
    }
}

/// No node.
const NONE: u32 = u32::MAX;
/// Arcs of node2vec that are drawn for a step before all are looked at.
const TRIES: u32 = 256;
/// Steps of a launch. A host gives no sign of life while it makes those of a block of walkers.
const STEPS: u64 = 256;
/// The same for node2vec, whose steps draw several arcs and look for each of them in a row.
const STEPS_BACK: u64 = 4;

/// Whether there is an arc from u to v. Rows are in the order of nodes in memory.
#[device]
fn is_arc(g: GraphView, u: u32, v: u32) -> bool {
    let mut low = 0_u64;
    let mut high = g.degree(u);
    while low < high {
        let middle = (low + high) / 2_u64;
        if g.edge(u, middle).node < v {
            low = middle + 1_u64;
        } else {
            high = middle;
        }
    }
    low < g.degree(u) && g.edge(u, low).node == v
}

/// How likely arc k of u in memory is beside the others of the row, after a step that came from `past`.
#[device]
fn part(g: GraphView, past: u32, u: u32, k: u64, weighted: u32, back: f32, away: f32) -> f64 {
    let e = g.edge(u, k);
    let mut likely = away;
    if e.node == past {
        likely = back;
    } else if is_arc(g, past, e.node) {
        likely = 1.0_f32;
    }
    if weighted == 0_u32 {
        return likely as f64;
    }
    likely as f64 * e.weight as f64
}

/// Steps `from` to `till` of walker i; it comes to its start before step 1, if `from` is 0. `first`: the first walker of this replica,
/// of `own`. `kept`: whether paths are. `ordered`, `weighted`, `greedy`, `second`: whether `order`, the alias tables, `other` as the best
/// neighbour of each node, and `back` (1/p) and `away` (1/q) count; `most` is the largest of these two and 1.
#[lambda]
fn walk(
    g: GraphView,
    i: u64,
    starts: Reads<u32>,
    order: Reads<u32>,
    share: Reads<u32>,
    other: Reads<u32>,
    visits: Writes<u64>,
    at: Writes<u32>,
    before: Writes<u32>,
    paths: Writes<u32>,
    first: u64,
    own: u64,
    walks: u64,
    from: u64,
    till: u64,
    seed: u64,
    kept: u32,
    ordered: u32,
    weighted: u32,
    greedy: u32,
    second: u32,
    restart: f32,
    back: f32,
    away: f32,
    most: f32,
) {
    let place = i - first;
    let home = starts[i / walks];
    let mut here = home;
    let mut past = NONE;
    let mut step = from;
    if from == 0_u64 {
        visits.add(here, 1_u64);
        if kept != 0_u32 {
            paths[place] = here;
        }
        step = 1_u64;
    } else {
        here = at[place];
        past = before[place];
    }
    while step <= till && here != NONE {
        let mut random = Random::new(seed, (i << 20_u32) + step);
        let degree = g.degree(here);
        let mut to = NONE;
        let mut anew = false;
        if restart > 0.0_f32 {
            anew = random.unit() < restart;
        }
        let looks_back = second != 0_u32 && past != NONE && degree > 1_u64;
        let mut taken = anew || degree == 0_u64;
        if greedy != 0_u32 && !taken {
            to = other[here];
            taken = true;
        }
        let mut tries = 0_u32;
        while !taken && tries < TRIES {
            let mut k = random.below(degree);
            if weighted != 0_u32 {
                let row = g.edge(here, 0_u64).arc;
                let coin = (random.bits() >> 32_u32) as u32;
                if coin >= share[row + k] {
                    k = other[row + k] as u64;
                }
                if k == NONE as u64 {
                    to = NONE;
                    break;
                }
            }
            to = g.edge(here, in_memory(g, here, k, ordered, order)).node;
            taken = true;
            if looks_back {
                // Most draws are decided without a look at the row of the node before.
                let bound = random.unit() * most;
                if to == past {
                    taken = bound < back;
                } else {
                    taken = bound < away.min(1.0_f32);
                    if !taken && bound < away.max(1.0_f32) {
                        taken = is_arc(g, past, to) == (away < 1.0_f32);
                    }
                }
            }
            tries += 1_u32;
        }
        if !taken && tries == TRIES {
            let mut all = 0.0_f64;
            for k in 0_u64..degree {
                let e = in_memory(g, here, k, ordered, order);
                all += part(g, past, here, e, weighted, back, away);
            }
            let bound = (random.bits() >> 11_u32) as f64 * (1.0_f64 / 9007199254740992.0_f64) * all;
            let mut sum = 0.0_f64;
            for k in 0_u64..degree {
                let e = in_memory(g, here, k, ordered, order);
                let one = part(g, past, here, e, weighted, back, away);
                if one > 0.0_f64 && sum <= bound {
                    to = g.edge(here, e).node;
                }
                sum += one;
            }
        }
        past = here;
        here = to;
        if anew || (to == NONE && restart > 0.0_f32) {
            past = NONE;
            here = home;
        }
        if here != NONE {
            visits.add(here, 1_u64);
        }
        if kept != 0_u32 {
            paths[step * own + place] = here;
        }
        step += 1_u64;
    }
    if kept != 0_u32 {
        while step <= till {
            paths[step * own + place] = NONE;
            step += 1_u64;
        }
    }
    at[place] = here;
    before[place] = past;
}

/// What one replica ends with.
#[derive(Default)]
pub(super) struct Found {
    pub visits: Vec<u64>,
    /// `[own walkers][length + 1]`
    pub paths: Vec<u32>,
    /// What it leaves on its GPU in place of these.
    pub left: Vec<LeftColumn>,
}

/// The program of one replica. `dealt`: its walkers are a slice of all.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &WalkConfig,
    (starts, rows, dealt): (&[u32], &Rows, bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Found>> {
    let walkers = starts.len() * config.walks as usize;
    let (own, most) = own_of(r, walkers, dealt);
    let sizes = Sizes {
        nodes: g.graph().nodes(),
        starts: starts.len(),
        ordered: rows.order.len(),
        shares: rows.share.len(),
        others: rows.other.len(),
        own: most,
        paths: config.path_values(most),
    };
    let mut state = State::allocate(r, sizes)?;
    state.starts.assign(starts)?;
    state.order.assign(&rows.order)?;
    state.share.assign(&rows.share)?;
    state.other.assign(&rows.other)?;
    let width = config.length as usize + 1;
    let kept = config.path_values(own.len());
    let mut driver = Driver { g, config, own, dealt, state, walk: walk() };
    let measured = timed(r, run, &mut driver)?;
    let Driver { state: State { visits, paths, .. }, own, .. } = driver;
    ReplicaAnswer::new(measured, || {
        if run.leave {
            let left = if r.leads() { left(r, config, visits, paths)? } else { Vec::new() };
            return Ok(Found { left, ..Found::default() });
        }
        let visits = values(r, &visits)?;
        let brings = kept > 0 && (dealt || r.leads());
        let found = if brings { paths.to_vec()? } else { Vec::new() };
        let walker = |i: usize| (0..width).map(move |step| (step, i));
        let own = if brings { own.len() } else { 0 };
        let found = (0..own).flat_map(walker).map(|(step, i)| found[step * own + i]).collect();
        Ok(Found { visits, paths: found, left: Vec::new() })
    })
}

/// What a replica that has all walkers leaves on its GPU.
fn left(
    r: &Replica,
    config: &WalkConfig,
    visits: Replicated<u64>,
    paths: Replicated<u32>,
) -> Result<Vec<LeftColumn>> {
    if config.keep == WalkKept::Visits {
        let visits = LeftArray::of(r, visits)?;
        return Ok(vec![LeftColumn::new("visits", LeftMeaning::Number, visits)]);
    }
    let paths = LeftArray::of(r, paths)?;
    let width = config.length as usize + 1;
    let walkers = paths.len() / width;
    let step = |k: usize| paths.part(k * walkers..(k + 1) * walkers);
    let column = |k: usize| LeftColumn::new(format!("step{k}"), LeftMeaning::Node, step(k));
    Ok((0..width).map(column).collect())
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    config: &'a WalkConfig,
    /// Walkers of this replica.
    own: Range<usize>,
    dealt: bool,
    state: State,
    walk: Lambda<()>,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if matches!(r.backend, Backend::Cuda(_)) { self.walk(r, 0..0, 0..1) } else { Ok(()) }
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        r.fill("visits", &mut self.state.visits, 0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let own = self.own.clone();
        let length = u64::from(self.config.length);
        let steps = if self.config.looks_back() { STEPS_BACK } else { STEPS };
        operators((r, log, "step walk"), |r| {
            let mut from = 0;
            while from <= length {
                let end = (from + steps).min(length + 1);
                self.walk(r, own.clone(), from..end)?;
                from = end;
            }
            Ok(())
        })?;
        if self.dealt {
            r.merge(&mut self.state.visits)?;
        }
        let steps = own.len() as u64 * u64::from(self.config.length);
        let merge = if self.dealt { "sum" } else { "none" };
        log.book("step walk", (1, steps), (own.len() as u64, steps), merge);
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.visits)]
    }
}

impl Driver<'_> {
    /// These steps of these walkers.
    fn walk(&mut self, r: &mut Replica, walkers: Range<usize>, steps: Range<u64>) -> Result<()> {
        let Driver { g, config, own, state, walk, .. } = self;
        let State { starts, order, share, other, visits, at, before, paths } = state;
        let (back, away) = (1.0 / config.p, 1.0 / config.q);
        let args = Args::new()
            .scalar("first", own.start as u64)
            .scalar("own", own.len() as u64)
            .scalar("walks", u64::from(config.walks))
            .scalar("from", steps.start)
            .scalar("till", steps.end - 1)
            .scalar("seed", config.seed)
            .scalar("kept", u32::from(config.keep == WalkKept::Paths))
            .scalar("ordered", u32::from(!order.is_empty()))
            .scalar("weighted", u32::from(!share.is_empty()))
            .scalar("greedy", u32::from(config.greedy))
            .scalar("second", u32::from(config.looks_back()))
            .scalar("restart", config.restart as f32)
            .scalar("back", back as f32)
            .scalar("away", away as f32)
            .scalar("most", back.max(away).max(1.0) as f32)
            .reads("starts", starts)
            .reads("order", order)
            .reads("share", share)
            .reads("other", other)
            .writes("visits", visits)
            .writes("at", at)
            .writes("before", before)
            .writes("paths", paths);
        r.for_all("walk", Over::range(walkers).with(g), walk, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        walk().compile("sm_90").unwrap();
    }
}
