//! Searches from 256 sources at a time as operators: one program for GPUs and host.

use super::{ClosenessConfig, DistanceDirection, unit};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::{OnReplicas, replicated_arrays};
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::same::Words;
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::Resident;
use crate::layout::memory::DeviceArray;
use crate::operator::{
    Advance, ArcLambda, Args, GraphView, Lambda, Over, Reads, Writes, device, lambda,
};
use std::ops::Range;

/// Words of a node, a bit for each source of a batch: 32 bytes are what a look at memory brings at least.
const WORDS: u32 = 4;
const _: () = assert!(WORDS == 4, "`hear` has a variable for each word");
/// Sources of a batch.
pub(super) const LANES: usize = 64 * WORDS as usize;

/// Counters that nodes with new bits add to, so far from each other that threads seldom meet.
const COUNTERS: u32 = 64;
const APART: u32 = 8;
/// A counter has nodes from this bit on, and the arcs out of them below.
const NODES: u32 = 36;

/// A push looks at the arcs of the frontier, each with an atomic; a pull looks at no more than all arcs. It is pulled where
/// the frontier has more than one in so many of them.
const PULLED: u64 = 4;

replicated_arrays! {
    /// The replicated state, for so many nodes and sources.
    pub(super) struct State of (usize, usize) {
        /// `[sources]` nodes.
        sources: Replicated<u32> = "sources", Gather, |s| s.1;
        /// `[n, WORDS]` sources that have reached a node, one bit each; so have those that the batch lacks.
        seen: Replicated<u64> = "seen", Gather, |s| s.0 * WORDS as usize;
        /// `[n, WORDS]` those that have in the last level.
        visit: Replicated<u64> = "visit", Gather, |s| s.0 * WORDS as usize;
        /// `[n, WORDS]` those that do in this level.
        next: Replicated<u64> = "next visit", Gather, |s| s.0 * WORDS as usize;
        /// What nodes with new bits add to.
        work: Replicated<u64> = "work", Gather, |_| (COUNTERS * APART) as usize;
        /// `[n]` the sum of distances.
        far: Replicated<u64> = "far", Sum, |s| s.0;
        /// `[n]` the sum of 1 / distance, in units.
        harmonic: Replicated<u64> = "harmonic", Sum, |s| s.0;
        /// `[n]` sources at a finite distance above 0.
        reached: Replicated<u32> = "reached", Sum, |s| s.0;
        /// `[n]` the largest distance.
        farthest: Replicated<u32> = "farthest", Max, |s| s.0;
    }
}

/// What a replica's program finds: `[n]` each.
#[derive(Default)]
pub(super) struct Sums {
    pub far: Vec<u64>,
    pub harmonic: Vec<u64>,
    pub reached: Vec<u32>,
    pub farthest: Vec<u32>,
}

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(nodes: usize, world: usize) -> Vec<DeviceArray> {
    let mut all = State::list((nodes, nodes), world);
    let marks = Marks::words_of(Marked::Lines, nodes.div_ceil(64));
    for label in ["front", "next front"] {
        all.extend(Frontier::specs(label, nodes, MergeOp::Or, 1));
        all.push(DeviceArray::new::<u32>("marks of a set", marks));
    }
    all
}

/// Nobody has reached anybody. The batch has `count` sources.
#[lambda]
fn blank(i: u64, count: u64, seen: Writes<u64>, visit: Writes<u64>, next: Writes<u64>) {
    let first = i % WORDS as u64 * 64_u64;
    let mut absent = 0_u64;
    if count <= first {
        absent = u64::MAX;
    } else if count - first < 64_u64 {
        absent = u64::MAX << (count - first);
    }
    seen[i] = absent;
    visit[i] = 0_u64;
    next[i] = 0_u64;
}

/// Source number i of a batch reaches itself.
#[lambda]
fn start(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    seen: Writes<u64>,
    visit: Writes<u64>,
    front: Writes<NodeSet>,
) {
    let v = sources[first + i];
    let word = v as u64 * WORDS as u64 + i / 64_u64;
    let bit = 1_u64 << (i % 64_u64);
    seen.or(word, bit);
    visit.or(word, bit);
    front.insert(v);
}

/// u tells v of the sources that have just reached it; says whether that was news.
#[device]
fn told(u: u32, v: u32, visit: Reads<u64>, seen: Reads<u64>, next: Writes<u64>) -> bool {
    let mut news = false;
    for k in 0_u64..WORDS as u64 {
        let bits = visit[u as u64 * WORDS as u64 + k] & !seen[v as u64 * WORDS as u64 + k];
        if bits != 0_u64 {
            next.or(v as u64 * WORDS as u64 + k, bits);
            news = true;
        }
    }
    news
}

#[lambda]
fn tell(u: u32, v: u32, visit: Reads<u64>, seen: Reads<u64>, next: Writes<u64>) -> bool {
    told(u, v, visit, seen, next)
}

/// The same against the arcs, from a node to those that have arcs to it.
#[lambda]
fn tell_back(
    v: u32,
    g: GraphView,
    visit: Reads<u64>,
    seen: Reads<u64>,
    next: Writes<u64>,
    news: Writes<NodeSet>,
) {
    for e in g.in_edges(v) {
        if told(v, e.node, visit, seen, next) {
            news.insert(e.node);
        }
    }
}

/// A node has told all.
#[lambda]
fn forget(v: u32, visit: Writes<u64>) {
    for k in 0_u64..WORDS as u64 {
        visit[v as u64 * WORDS as u64 + k] = 0_u64;
    }
}

/// Counts what is new at v, and v among the nodes with new bits.
#[device]
fn count(
    g: GraphView,
    v: u32,
    level: u32,
    share: u64,
    next: Writes<u64>,
    seen: Writes<u64>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    let mut many = 0_u64;
    for k in 0_u64..WORDS as u64 {
        let bits = next[v as u64 * WORDS as u64 + k];
        many += bits.count_ones() as u64;
        seen[v as u64 * WORDS as u64 + k] |= bits;
    }
    far[v] += many * level as u64;
    harmonic[v] += many * share;
    reached[v] += many as u32;
    farthest[v] = farthest[v].max(level);
    work.add(v % COUNTERS * APART, (1_u64 << NODES) + g.degree(v));
}

/// A node that was told counts what is new.
#[lambda]
fn take(
    v: u32,
    g: GraphView,
    level: u32,
    share: u64,
    next: Writes<u64>,
    seen: Writes<u64>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    count(g, v, level, share, next, seen, far, harmonic, reached, farthest, work);
}

/// A node asks its neighbours until no source is left that it has not heard of, and counts what is new. `backward`: those that it
/// has arcs to, else those that have arcs to it.
#[lambda]
fn hear(
    v: u32,
    g: GraphView,
    backward: u32,
    level: u32,
    share: u64,
    visit: Reads<u64>,
    next: Writes<u64>,
    seen: Writes<u64>,
    news: Writes<NodeSet>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    // The words of a node, WORDS of them.
    let at = v as u64 * WORDS as u64;
    let mut a = seen[at];
    let mut b = seen[at + 1_u64];
    let mut c = seen[at + 2_u64];
    let mut d = seen[at + 3_u64];
    if a & b & c & d != u64::MAX {
        if backward == 0_u32 {
            for e in g.in_edges(v) {
                let from = e.node as u64 * WORDS as u64;
                a |= visit[from];
                b |= visit[from + 1_u64];
                c |= visit[from + 2_u64];
                d |= visit[from + 3_u64];
                if a & b & c & d == u64::MAX {
                    break;
                }
            }
        } else {
            for e in g.edges(v) {
                let from = e.node as u64 * WORDS as u64;
                a |= visit[from];
                b |= visit[from + 1_u64];
                c |= visit[from + 2_u64];
                d |= visit[from + 3_u64];
                if a & b & c & d == u64::MAX {
                    break;
                }
            }
        }
    }
    a &= !seen[at];
    b &= !seen[at + 1_u64];
    c &= !seen[at + 2_u64];
    d &= !seen[at + 3_u64];
    next[at] = a;
    next[at + 1_u64] = b;
    next[at + 2_u64] = c;
    next[at + 3_u64] = d;
    if a | b | c | d != 0_u64 {
        news.insert(v);
        count(g, v, level, share, next, seen, far, harmonic, reached, farthest, work);
    }
}

/// The program of one replica. `dealt`: it has every `world`-th batch of sources, else all.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &ClosenessConfig,
    (sources, dealt): (&[u32], bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Sums>> {
    let nodes = g.graph().nodes();
    let mut state = State::allocate(r, (nodes, sources.len()))?;
    state.sources.assign(sources)?;
    let front = r.frontier("front", nodes, MergeOp::Or)?;
    let told = r.frontier("next front", nodes, MergeOp::Or)?;
    let backward = config.distances == DistanceDirection::Out && !g.graph().is_symmetric();
    let lambdas = Lambdas {
        blank: blank(),
        start: start(),
        tell: tell(),
        tell_back: tell_back(),
        forget: forget(),
        take: take(),
        hear: hear(),
    };
    let mut driver = Driver { g, sources, dealt, backward, state, front, told, lambdas };
    driver.meet(r)?;
    let measured = timed(r, run, &mut driver)?;
    let State { far, harmonic, reached, farthest, .. } = driver.state;
    ReplicaAnswer::new(measured, || {
        Ok(Sums {
            far: values(r, &far)?,
            harmonic: values(r, &harmonic)?,
            reached: values(r, &reached)?,
            farthest: values(r, &farthest)?,
        })
    })
}

struct Lambdas {
    blank: Lambda<()>,
    start: Lambda<()>,
    tell: ArcLambda<bool>,
    tell_back: Lambda<()>,
    forget: Lambda<()>,
    take: Lambda<()>,
    hear: Lambda<()>,
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    sources: &'a [u32],
    dealt: bool,
    /// Bits go against the arcs.
    backward: bool,
    state: State,
    /// Nodes with new bits, of the last level and of this one.
    front: Frontier,
    told: Frontier,
    lambdas: Lambdas,
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let State { far, harmonic, reached, farthest, .. } = &mut self.state;
        r.fill("far", far, 0)?;
        r.fill("harmonic", harmonic, 0)?;
        r.fill("reached", reached, 0)?;
        r.fill("farthest", farthest, 0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let batches = self.sources.len().div_ceil(LANES);
        let (first, each) = if self.dealt { (r.rank(), r.world()) } else { (0, 1) };
        for batch in (first..batches).step_by(each) {
            self.search(r, log, batch)?;
        }
        if !self.dealt {
            return Ok(());
        }
        let State { far, harmonic, reached, farthest, .. } = &mut self.state;
        // Replicas have made different numbers of steps, and meet under a number that is the same for all.
        r.meet_as(batches as u64);
        r.merge_all(&mut [far, harmonic, reached, farthest])?;
        log.book("step sums", (0, 0), (0, 0), "sum");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let State { far, harmonic, reached, farthest, .. } = &self.state;
        vec![Words::of(far), Words::of(harmonic), Words::of(reached), Words::of(farthest)]
    }
}

impl Driver<'_> {
    /// Searches from the sources of a batch, and adds up what nodes find.
    fn search(&mut self, r: &mut Replica, log: &mut Log, batch: usize) -> Result<()> {
        let first = batch * LANES;
        let count = LANES.min(self.sources.len() - first);
        let unit = unit(self.g.graph().nodes());
        operators((r, log, "step start"), |r| self.start(r, first..first + count))?;
        let degrees =
            self.sources[first..first + count].iter().map(|v| self.g.graph().degree(*v as usize));
        let (mut nodes, mut arcs) = (count as u64, degrees.sum::<u64>());
        let mut level = 0u32;
        loop {
            level += 1;
            let share = (unit + u64::from(level) / 2) / u64::from(level);
            let pull = arcs * PULLED > self.g.graph().arcs();
            let looked = if pull { self.g.graph().arcs() } else { arcs };
            let name = if pull { "step pull" } else { "step push" };
            let found = operators((r, log, name), |r| {
                r.fill("work", &mut self.state.work, 0)?;
                r.clear("next front", &mut self.told)?;
                match pull {
                    true => self.pull(r, level, share)?,
                    false => self.push(r, level, share)?,
                }
                r.read(&self.state.work)
            })?;
            log.book(name, (1, looked), (nodes, arcs), "none");
            std::mem::swap(&mut self.front, &mut self.told);
            std::mem::swap(&mut self.state.visit, &mut self.state.next);
            nodes = found.iter().map(|counter| counter >> NODES).sum();
            arcs = found.iter().map(|counter| counter & ((1 << NODES) - 1)).sum();
            if nodes == 0 {
                return Ok(());
            }
        }
    }

    /// Launches each lambda with nothing to do: the first use of one is a meeting of all replicas, and these will not make the same
    /// steps.
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.start(r, 0..0)?;
        self.push(r, 1, 0)?;
        self.pull(r, 1, 0)
    }

    /// The sources of a batch have reached themselves, and nobody else.
    fn start(&mut self, r: &mut Replica, batch: Range<usize>) -> Result<()> {
        let State { sources, seen, visit, next, .. } = &mut self.state;
        let args = Args::new()
            .scalar("count", batch.len() as u64)
            .writes("seen", &mut *seen)
            .writes("visit", &mut *visit)
            .writes("next", next);
        let all = Over::elements(self.g.graph().nodes() * WORDS as usize).whole();
        r.for_all("blank", all, &self.lambdas.blank, args)?;
        r.clear("front", &mut self.front)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .writes("seen", seen)
            .writes("visit", visit)
            .writes_set("front", &mut self.front);
        r.for_all("start", Over::range(0..batch.len()), &self.lambdas.start, args)
    }

    /// Nodes with new bits tell their neighbours. It leaves `visit` empty, which becomes the `next` of the next level.
    fn push(&mut self, r: &mut Replica, level: u32, share: u64) -> Result<()> {
        let Driver { g, backward, state, front, told, lambdas, .. } = self;
        let State { seen, visit, next, far, harmonic, reached, farthest, work, .. } = state;
        let over = Over::frontier(g, front).whole();
        match backward {
            false => {
                let args =
                    Args::new().reads("visit", visit).reads("seen", seen).writes("next", next);
                r.advance("tell", over, &lambdas.tell, args, Advance::default().output(told))?;
            }
            true => {
                let args = Args::new()
                    .reads("visit", visit)
                    .reads("seen", seen)
                    .writes("next", next)
                    .writes_set("news", told);
                r.for_all("tell back", over, &lambdas.tell_back, args)?;
            }
        }
        r.for_all("forget", over, &lambdas.forget, Args::new().writes("visit", visit))?;
        let args = Args::new()
            .scalar("level", level)
            .scalar("share", share)
            .writes("next", next)
            .writes("seen", seen)
            .writes("far", far)
            .writes("harmonic", harmonic)
            .writes("reached", reached)
            .writes("farthest", farthest)
            .writes("work", work);
        r.for_all("take", Over::frontier(g, told).whole(), &lambdas.take, args)
    }

    /// Nodes that lack some bit ask their neighbours. It leaves `visit` empty, as a push does.
    fn pull(&mut self, r: &mut Replica, level: u32, share: u64) -> Result<()> {
        let Driver { g, backward, state, front, told, lambdas, .. } = self;
        let State { seen, visit, next, far, harmonic, reached, farthest, work, .. } = state;
        let args = Args::new()
            .scalar("backward", u32::from(*backward))
            .scalar("level", level)
            .scalar("share", share)
            .reads("visit", visit)
            .writes("next", next)
            .writes("seen", seen)
            .writes_set("news", told)
            .writes("far", far)
            .writes("harmonic", harmonic)
            .writes("reached", reached)
            .writes("farthest", farthest)
            .writes("work", work);
        r.for_all("hear", Over::nodes(g).whole(), &lambdas.hear, args)?;
        let args = Args::new().writes("visit", visit);
        r.for_all("forget", Over::frontier(g, front).whole(), &lambdas.forget, args)
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
        for lambda in [blank(), start(), tell_back(), forget(), take(), hear()] {
            lambda.compile("sm_90").unwrap();
        }
        tell().compile("sm_90").unwrap();
    }
}
