//! Searches from 256 sources at a time, for graphs of long paths: one program of operators for GPUs and host.
//!
//! A node has a distance from each source, and a bit that says whether that distance has fallen since the node last told its neighbours.
//! In a round it tells those that lie in a window. The window of a source begins at the least distance that any node had to tell in
//! the round before. So no source waits for another, and none runs far ahead of what is settled.

use super::Asked;
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::{OnReplicas, replicated_arrays};
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed};
use crate::algorithm::matrix::{Ends, Kept, MatrixValues, hash_of_all, part};
use crate::algorithm::same::Words;
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::Resident;
use crate::layout::memory::DeviceArray;
use crate::operator::{Advance, ArcLambda, Args, Lambda, Over, lambda};
use std::ops::Range;

/// Words of a node's bits.
const WORDS: u64 = crate::algorithm::lanes::WORDS as u64;
/// Sources of a batch.
const LANES: u64 = 64 * WORDS;
/// Mean weights of a window: on roads and grids searches then take a third more rounds than paths have arcs, and half of the nodes tell
/// twice.
const WINDOW: f64 = 8.0;
/// The part of a window that is its front.
const FRONT: f32 = 0.125;
/// Rounds that are queued before it is asked whether any node has something to tell.
const ROUNDS: u32 = 32;

replicated_arrays! {
    /// The replicated state, for so many nodes, sources and targets.
    struct State of (usize, usize, usize) {
        /// `[sources]` nodes.
        sources: Replicated<u32> = "sources", Gather, |s| s.1;
        /// `[targets]` nodes.
        targets: Replicated<u32> = "targets", Gather, |s| s.2;
        /// `[n, LANES]` distances.
        dist: Replicated<f32> = "distances", Gather, |s| s.0 * LANES as usize;
        /// `[n, WORDS]` sources whose distances have fallen since they were told.
        fallen: Replicated<u64> = "fallen", Gather, |s| s.0 * WORDS as usize;
        /// `[n, WORDS]` those that are told in this round.
        telling: Replicated<u64> = "telling", Gather, |s| s.0 * WORDS as usize;
        /// `[LANES]` where the window begins: no distance that is to be told is less.
        base: Replicated<f32> = "windows", Gather, |_| LANES as usize;
        /// `[LANES]` the least of those that are to be told in this round, as far as somebody has looked.
        least: Replicated<f32> = "least", Gather, |_| LANES as usize;
        /// `[LANES]` whether all have to look.
        lost: Replicated<u32> = "lost", Gather, |_| LANES as usize;
        /// `[sources of a batch, targets]` distances.
        rows: Replicated<f32> = "rows", Gather, |s| s.2 * s.1.min(LANES as usize);
    }
}

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(nodes: usize, ends: [usize; 2], world: usize) -> Vec<DeviceArray> {
    let mut all = State::list((nodes, ends[0], ends[1]), world);
    let marks = Marks::words_of(Marked::Lines, nodes.div_ceil(64));
    for label in ["pending", "next pending"] {
        all.extend(Frontier::specs(label, nodes, MergeOp::Or, world));
        all.push(DeviceArray::new::<u32>("marks of a set", marks));
    }
    all
}

/// Source number i of a batch is at no distance from itself.
#[lambda]
fn start(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    dist: Writes<f32>,
    fallen: Writes<u64>,
    pending: Writes<NodeSet>,
) {
    let v = sources[first + i];
    dist[v as u64 * LANES + i] = 0.0_f32;
    fallen.or(v as u64 * WORDS + i / 64_u64, 1_u64 << (i % 64_u64));
    pending.insert(v);
}

/// Which of its distances v tells in this round. Only those at the front of the window look for the least one, as all would meet there.
#[lambda]
fn choose(
    v: u32,
    width: f32,
    front: f32,
    dist: Reads<f32>,
    base: Reads<f32>,
    lost: Reads<u32>,
    least: Writes<f32>,
    fallen: Writes<u64>,
    telling: Writes<u64>,
    next: Writes<NodeSet>,
) {
    let mut waits = false;
    for k in 0_u64..WORDS {
        let at = v as u64 * WORDS + k;
        let all = fallen[at];
        let mut bits = all;
        let mut taken = 0_u64;
        while bits != 0_u64 {
            let others = bits & (bits - 1_u64);
            let lane = k * 64_u64 + bits.trailing_zeros() as u64;
            let distance = dist[v as u64 * LANES + lane];
            if distance < base[lane] + front || lost[lane] != 0_u32 {
                least.min(lane, distance);
            }
            if distance <= base[lane] + width {
                taken |= bits & !others;
            }
            bits = others;
        }
        if all != 0_u64 {
            fallen[at] = all & !taken;
        }
        telling[at] = taken;
        waits = waits || taken != all;
    }
    if waits {
        next.insert(v);
    }
}

/// The window of source i moves to the least distance; past its front, where there was none.
#[lambda]
fn advance(i: u64, front: f32, base: Writes<f32>, least: Writes<f32>, lost: Writes<u32>) {
    let found = least[i];
    if found == f32::INFINITY {
        base[i] += front;
        lost[i] = 1_u32;
    } else {
        base[i] = found;
        lost[i] = 0_u32;
        least[i] = f32::INFINITY;
    }
}

/// u tells v; says whether a distance of v has fallen.
#[lambda]
fn tell(
    u: u32,
    v: u32,
    w: f32,
    telling: Reads<u64>,
    dist: Writes<f32>,
    fallen: Writes<u64>,
) -> bool {
    let mut news = false;
    for k in 0_u64..WORDS {
        let mut bits = telling[u as u64 * WORDS + k];
        let mut better = 0_u64;
        while bits != 0_u64 {
            let others = bits & (bits - 1_u64);
            let lane = k * 64_u64 + bits.trailing_zeros() as u64;
            let distance = dist[u as u64 * LANES + lane] + w;
            if dist.min(v as u64 * LANES + lane, distance) > distance {
                better |= bits & !others;
            }
            bits = others;
        }
        if better != 0_u64 {
            fallen.or(v as u64 * WORDS + k, better);
            news = true;
        }
    }
    news
}

/// Target i becomes a column.
#[lambda]
fn put(i: u64, targets: Reads<u32>, dist: Reads<f32>, count: u64, columns: u64, rows: Writes<f32>) {
    let first = targets[i] as u64 * LANES;
    for lane in 0_u64..count {
        rows[lane * columns + i] = dist[first + lane];
    }
}

/// The program of one replica: its rows. `mean` is that of the weights.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    (asked, mean): (&Asked, f64),
    run: &RunOptions,
) -> Result<ReplicaAnswer<MatrixValues>> {
    let Asked { ends: Ends { sources, targets }, file, dealt } = asked;
    let nodes = g.graph().nodes();
    let mut state = State::allocate(r, (nodes, sources.len(), targets.len()))?;
    state.sources.assign(sources)?;
    state.targets.assign(targets)?;
    let pending = r.frontier("pending", nodes, MergeOp::Or)?;
    let next = r.frontier("next pending", nodes, MergeOp::Or)?;
    let own = part(sources.len(), *dealt, (r.rank(), r.world()));
    let kept = Kept::new(own, targets.len(), LANES as usize, file.clone())?;
    let mut driver = Driver {
        g,
        state,
        pending,
        next,
        sources: sources.len(),
        width: (WINDOW * mean) as f32,
        lambdas: Lambdas {
            start: start(),
            choose: choose(),
            tell: tell(),
            advance: advance(),
            put: put(),
        },
        kept,
        compared: [run.compare, *dealt],
        hash: [0; 2],
    };
    let measured = timed(r, run, &mut driver)?;
    let found = driver.kept.brought(r, *dealt);
    ReplicaAnswer::new(measured, || Ok(found))
}

struct Lambdas {
    start: Lambda<()>,
    choose: Lambda<()>,
    tell: ArcLambda<bool>,
    advance: Lambda<()>,
    put: Lambda<()>,
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    state: State,
    /// Nodes with something to tell, in this round and in the next.
    pending: Frontier,
    next: Frontier,
    sources: usize,
    /// Of a window.
    width: f32,
    lambdas: Lambdas,
    /// The rows of this replica.
    kept: Kept<f32>,
    /// Whether answers are compared; whether replicas have slices.
    compared: [bool; 2],
    /// Of all rows of all replicas.
    hash: [u32; 2],
}

impl Run for Driver<'_> {
    /// The first use of a lambda is a meeting of all replicas, and these will not make the same steps.
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.start(r, 0..0)?;
        self.round(r)?;
        self.put(r, 0, 0..0)
    }

    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for sources in self.kept.lacking(LANES as usize) {
            self.batch(r, log, sources)?;
        }
        let rows = bytemuck::cast_slice(self.kept.values());
        self.hash = hash_of_all(r, rows, self.sources, self.compared)?;
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}

impl Driver<'_> {
    /// Searches from these sources, and keeps their rows.
    fn batch(&mut self, r: &mut Replica, log: &mut Log, sources: Range<usize>) -> Result<()> {
        operators((r, log, "step start"), |r| self.start(r, sources.clone()))?;
        let mut nodes = sources.len() as u64;
        while nodes > 0 {
            let told = nodes;
            nodes = operators((r, log, "step windows"), |r| {
                for _ in 0..ROUNDS {
                    self.round(r)?;
                }
                r.count("pending", &self.pending)
            })?;
            log.book("step windows", (ROUNDS.into(), 0), (told, 0), "none");
        }
        let targets = self.state.targets.len();
        operators((r, log, "step rows"), |r| {
            self.put(r, sources.len() as u64, 0..targets)?;
            r.settle()?;
            let Driver { state, kept, .. } = self;
            kept.put(sources, |to| state.rows.copy_out(to))
        })?;
        log.book("step rows", (0, 0), (0, 0), "none");
        Ok(())
    }

    /// The sources of a batch are at no distance from themselves, and all else is infinitely far.
    fn start(&mut self, r: &mut Replica, batch: Range<usize>) -> Result<()> {
        let State { sources, dist, fallen, base, least, lost, .. } = &mut self.state;
        r.fill("distances", dist, f32::INFINITY)?;
        r.fill("fallen", fallen, 0)?;
        r.fill("windows", base, 0.0)?;
        r.fill("least", least, f32::INFINITY)?;
        r.fill("lost", lost, 0)?;
        r.clear("pending", &mut self.pending)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .writes("dist", dist)
            .writes("fallen", fallen)
            .writes_set("pending", &mut self.pending);
        r.for_all("start", Over::range(0..batch.len()), &self.lambdas.start, args)
    }

    /// Nodes tell what lies in the window.
    fn round(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { g, state, pending, next, width, lambdas, .. } = self;
        let State { dist, fallen, telling, base, least, lost, .. } = state;
        let front = *width * FRONT;
        let over = Over::frontier(g, pending).whole();
        r.clear("next pending", next)?;
        let args = Args::new()
            .scalar("width", *width)
            .scalar("front", front)
            .reads("dist", dist)
            .reads("base", base)
            .reads("lost", lost)
            .writes("least", least)
            .writes("fallen", fallen)
            .writes("telling", telling)
            .writes_set("next", next);
        r.for_all("choose", over, &lambdas.choose, args)?;
        let args =
            Args::new().reads("telling", telling).writes("dist", dist).writes("fallen", fallen);
        r.advance("tell", over, &lambdas.tell, args, Advance::default().output(next))?;
        std::mem::swap(pending, next);
        let args = Args::new()
            .scalar("front", front)
            .writes("base", base)
            .writes("least", least)
            .writes("lost", lost);
        r.for_all("advance", Over::range(0..LANES as usize), &lambdas.advance, args)
    }

    /// Distances of these targets become columns of so many rows.
    fn put(&mut self, r: &mut Replica, count: u64, targets: Range<usize>) -> Result<()> {
        let State { targets: nodes, dist, rows, .. } = &mut self.state;
        let args = Args::new()
            .scalar("columns", nodes.len() as u64)
            .scalar("count", count)
            .reads("targets", nodes)
            .reads("dist", dist)
            .writes("rows", rows);
        r.for_all("put", Over::range(targets), &self.lambdas.put, args)
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
        for lambda in [start(), choose(), advance(), put()] {
            lambda.compile("sm_90").unwrap();
        }
        tell().compile("sm_90").unwrap();
    }
}
