//! Walks as operators: one program for GPUs and host.

use super::tables::Rows;
use super::{WalkConfig, WalkKept};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::same::Words;
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
    /// Arcs of rows whose order is told, and of those with alias tables.
    pub ordered: usize,
    pub tables: usize,
    /// Values of own paths.
    pub paths: usize,
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[starts]` nodes.
        starts: Replicated<u32> = "starts", Gather, |s| s.starts;
        /// `[m]` or nothing, as [`Rows`] has them.
        order: Replicated<u32> = "order of arcs", Gather, |s| s.ordered;
        share: Replicated<u32> = "shares", Gather, |s| s.tables;
        other: Replicated<u32> = "aliases", Gather, |s| s.tables;
        /// `[n]` how often walkers were at a node.
        visits: Replicated<u64> = "visits", Sum, |s| s.nodes;
        /// `[length + 1, own]` nodes.
        paths: Replicated<u32> = "paths", Gather, |s| s.paths;
    }
}

/// No node.
const NONE: u32 = u32::MAX;

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

/// Walker i's whole walk. `first`: the first walker of this replica, of `own`. `kept`: whether paths are. `ordered`, `weighted`,
/// `second`: whether `order`, the alias tables, and `back` (1/p) and `away` (1/q) count; `most` is the largest of them and 1.
#[lambda]
fn walk(
    g: GraphView,
    i: u64,
    starts: Reads<u32>,
    order: Reads<u32>,
    share: Reads<u32>,
    other: Reads<u32>,
    visits: Writes<u64>,
    paths: Writes<u32>,
    first: u64,
    own: u64,
    walks: u64,
    length: u64,
    seed: u64,
    kept: u32,
    ordered: u32,
    weighted: u32,
    second: u32,
    restart: f32,
    back: f32,
    away: f32,
    most: f32,
) {
    let mut random = Random::new(seed, i);
    let home = starts[i / walks];
    let mut at = home;
    let mut past = NONE;
    let mut step = 0_u64;
    loop {
        visits.add(at, 1_u64);
        if kept != 0_u32 {
            paths[step * own + (i - first)] = at;
        }
        step += 1_u64;
        if step > length {
            return;
        }
        let mut to = NONE;
        if restart > 0.0_f32 && random.unit() < restart {
            past = NONE;
            at = home;
            continue;
        }
        let degree = g.degree(at);
        let mut taken = degree == 0_u64;
        while !taken {
            let mut k = random.below(degree);
            if weighted != 0_u32 {
                let row = g.edge(at, 0_u64).arc;
                let coin = (random.bits() >> 32_u32) as u32;
                if coin >= share[row + k] {
                    k = other[row + k] as u64;
                }
                if k == NONE as u64 {
                    break;
                }
            }
            if ordered != 0_u32 {
                k = order[g.edge(at, 0_u64).arc + k] as u64;
            }
            to = g.edge(at, k).node;
            taken = true;
            if second != 0_u32 && past != NONE && degree > 1_u64 {
                let mut likely = away;
                if to == past {
                    likely = back;
                } else if is_arc(g, past, to) {
                    likely = 1.0_f32;
                }
                taken = random.unit() * most < likely;
            }
        }
        if to == NONE {
            past = NONE;
            if restart > 0.0_f32 {
                at = home;
                continue;
            }
            break;
        }
        past = at;
        at = to;
    }
    if kept != 0_u32 {
        for rest in step..length + 1_u64 {
            paths[rest * own + (i - first)] = NONE;
        }
    }
}

/// The program of one replica: visits, and the paths `[own walkers][length + 1]` of its walkers. `dealt`: these are a slice of all.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &WalkConfig,
    (starts, rows, dealt): (&[u32], &Rows, bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<(Vec<u64>, Vec<u32>)>> {
    let walkers = starts.len() * config.walks as usize;
    let slices = Over::slices(walkers, r.shares());
    let slice = |rank| slices.range(rank).start as usize..slices.range(rank).end as usize;
    let own = if dealt { slice(r.rank()) } else { 0..walkers };
    // Arrays are of one length on all replicas.
    let most = if dealt { (0..r.world()).map(|rank| slice(rank).len()).max() } else { None };
    let sizes = Sizes {
        nodes: g.graph().nodes(),
        starts: starts.len(),
        ordered: rows.order.len(),
        tables: rows.share.len(),
        paths: config.path_values(most.unwrap_or(walkers)),
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
        let visits = values(r, &visits)?;
        let brings = kept > 0 && (dealt || r.leads());
        let found = if brings { paths.to_vec()? } else { Vec::new() };
        let walker = |i: usize| (0..width).map(move |step| (step, i));
        let own = if brings { own.len() } else { 0 };
        let found = (0..own).flat_map(walker).map(|(step, i)| found[step * own + i]).collect();
        Ok((visits, found))
    })
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
        if matches!(r.backend, Backend::Cuda(_)) { self.walk(r, 0..0) } else { Ok(()) }
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        r.fill("visits", &mut self.state.visits, 0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let own = self.own.clone();
        operators((r, log, "step walk"), |r| self.walk(r, own.clone()))?;
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
    /// Whole walks of these walkers.
    fn walk(&mut self, r: &mut Replica, walkers: Range<usize>) -> Result<()> {
        let Driver { g, config, own, state, walk, .. } = self;
        let State { starts, order, share, other, visits, paths } = state;
        let (back, away) = (1.0 / config.p, 1.0 / config.q);
        let args = Args::new()
            .scalar("first", own.start as u64)
            .scalar("own", own.len() as u64)
            .scalar("walks", u64::from(config.walks))
            .scalar("length", u64::from(config.length))
            .scalar("seed", config.seed)
            .scalar("kept", u32::from(config.keep == WalkKept::Paths))
            .scalar("ordered", u32::from(order.len() > 0))
            .scalar("weighted", u32::from(share.len() > 0))
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
