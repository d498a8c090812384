//! Breadth-first searches from many sources at a time: one program of operators for GPUs and host.
//!
//! **Idea.** 256 sources are searched from together. A node has four words in which bit i says whether source i has reached it.
//! In a level a node takes over the bits of its neighbours: those that are new say how many sources are at that distance. A level
//! with few arcs is pushed, from nodes with new bits; another one is pulled, by nodes that lack some bit, until they lack none. Bits
//! of sources that reached nobody in the last level are not waited for.
//!
//! **Invariant.** After level k bit i of `seen[v]` is set if and only if v is within k arcs of source i, and bit i of `visit[v]` if it is
//! at exactly k. What a node adds up in a level depends on these alone, so nothing depends on the order of work.
//!
//! **Source.** Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo, "The more the merrier: efficient multi-source graph
//! traversal", PVLDB 8(4), 2014 (bits for sources).

use super::arrays::{OnReplicas, replicated_arrays};
use super::frame::{Log, operators};
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::layout::memory::DeviceArray;
use crate::layout::{Resident, is_flat_graph};
use crate::operator::{Advance, ArcLambda, Args, GraphView, Lambda, Over, Writes, device, lambda};
use std::ops::Range;

/// Words of a node, a bit for each source of a batch: 32 bytes are what a look at memory brings at least.
pub(super) const WORDS: u32 = 4;
const _: () = assert!(WORDS == 4, "`hear` has a variable for each word");
/// Sources of a batch.
pub(super) const LANES: usize = 64 * WORDS as usize;

/// Counters that nodes with new bits add to, so far from each other that threads seldom meet.
const COUNTERS: u32 = 64;
const APART: u32 = 8;
/// A counter has nodes from this bit on, and the arcs out of them below.
const NODES: u32 = 36;
/// Behind the counters are WORDS words: the sources that reach anybody in the level.
const REACHING: u64 = (COUNTERS * APART) as u64;

/// Rows up to so many arcs are pulled by a thread each, longer ones by many. On a GPU all wait for the longest; on a host a thread
/// that pulls a row keeps the node's words in registers.
const LIGHT: u64 = 128;

/// Levels that are queued before it is looked at what they found, where paths are long.
const LEVELS: u64 = 16;

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
        /// What nodes with new bits add to, counters and sources.
        work: Replicated<u64> = "work", Gather, |_| REACHING as usize + WORDS as usize;
        /// That of the last level: nobody will hear of sources that reached nobody.
        past: Replicated<u64> = "past work", Gather, |_| REACHING as usize + WORDS as usize;
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

/// What one source at distance 1 adds to a harmonic sum of fixed unit: sums of as many as there are nodes are below 2^63.
pub(super) fn unit(nodes: usize) -> u64 {
    1 << (63 - (nodes as u64 + 1).next_power_of_two().trailing_zeros())
}

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(nodes: usize, sources: usize, world: usize) -> Vec<DeviceArray> {
    let mut all = State::list((nodes, sources), world);
    let marks = Marks::words_of(Marked::Lines, nodes.div_ceil(64));
    for label in ["front", "next front", "long rows"] {
        all.extend(Frontier::specs(label, nodes, MergeOp::Or, world));
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
    past: Writes<u64>,
    front: Writes<NodeSet>,
) {
    let v = sources[first + i];
    let word = v as u64 * WORDS as u64 + i / 64_u64;
    let bit = 1_u64 << (i % 64_u64);
    seen.or(word, bit);
    visit.or(word, bit);
    past.or(REACHING + i / 64_u64, bit);
    front.insert(v);
}

/// u tells v of the sources that have just reached it; says whether that was news.
#[lambda]
fn tell(u: u32, v: u32, visit: Reads<u64>, seen: Reads<u64>, next: Writes<u64>) -> bool {
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

/// The arcs out of v, or, `against`, those into it.
#[device]
fn arcs_of(g: GraphView, v: u32, against: bool) -> u64 {
    if against {
        return g.in_degree(v);
    }
    g.degree(v)
}

/// Lists the nodes whose rows are long. `backward`: the rows of arcs out of them, else of those into them.
#[lambda]
fn long_row(v: u32, g: GraphView, backward: u32, heavy: Writes<NodeSet>) {
    if arcs_of(g, v, backward == 0_u32) > LIGHT {
        heavy.insert(v);
    }
}

/// Whether v has a long row, and may hear of a source that it has not heard of.
#[lambda]
fn lacks(v: u32, heavy: Reads<NodeSet>, past: Reads<u64>, seen: Reads<u64>) -> bool {
    if !heavy.contains(v) {
        return false;
    }
    let mut lacking = 0_u64;
    for k in 0_u64..WORDS as u64 {
        lacking |= past[REACHING + k] & !seen[v as u64 * WORDS as u64 + k];
    }
    lacking != 0_u64
}

/// v asks u for the sources that have just reached it; says whether v lacks none any more.
#[lambda]
fn ask(
    u: u32,
    v: u32,
    visit: Reads<u64>,
    past: Reads<u64>,
    seen: Reads<u64>,
    next: Writes<u64>,
) -> bool {
    let mut lacking = 0_u64;
    for k in 0_u64..WORDS as u64 {
        let has = next[v as u64 * WORDS as u64 + k];
        let lacks = past[REACHING + k] & !seen[v as u64 * WORDS as u64 + k] & !has;
        let bits = visit[u as u64 * WORDS as u64 + k] & lacks;
        if bits != 0_u64 {
            next.or(v as u64 * WORDS as u64 + k, bits);
        }
        lacking |= lacks & !bits;
    }
    lacking == 0_u64
}

/// A node has told all.
#[lambda]
fn forget(v: u32, visit: Writes<u64>) {
    for k in 0_u64..WORDS as u64 {
        visit[v as u64 * WORDS as u64 + k] = 0_u64;
    }
}

/// Counts what is new at v, and v among the nodes with new bits; says whether there is any.
#[device]
fn count(
    g: GraphView,
    v: u32,
    backward: u32,
    level: u32,
    share: u64,
    next: Writes<u64>,
    seen: Writes<u64>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) -> bool {
    let mut many = 0_u64;
    for k in 0_u64..WORDS as u64 {
        let bits = next[v as u64 * WORDS as u64 + k];
        if bits != 0_u64 {
            many += bits.count_ones() as u64;
            seen[v as u64 * WORDS as u64 + k] |= bits;
            if bits & !work[REACHING + k] != 0_u64 {
                work.or(REACHING + k, bits);
            }
        }
    }
    if many == 0_u64 {
        return false;
    }
    far[v] += many * level as u64;
    harmonic[v] += many * share;
    reached[v] += many as u32;
    farthest[v] = farthest[v].max(level);
    work.add(v % COUNTERS * APART, (1_u64 << NODES) + arcs_of(g, v, backward != 0_u32));
    true
}

/// A node that was told counts what is new.
#[lambda]
fn take(
    v: u32,
    g: GraphView,
    backward: u32,
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
    count(g, v, backward, level, share, next, seen, far, harmonic, reached, farthest, work);
}

/// A node with a short row asks the neighbours until no source is left that it may hear of, and counts what is new. `backward`: those
/// that it has arcs to, else those that have arcs to it.
#[lambda]
fn hear(
    v: u32,
    g: GraphView,
    heavy: Reads<NodeSet>,
    backward: u32,
    level: u32,
    share: u64,
    visit: Reads<u64>,
    past: Reads<u64>,
    next: Writes<u64>,
    seen: Writes<u64>,
    news: Writes<NodeSet>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    // The words of a node, WORDS of them; bits of sources that it need not ask for are set.
    let at = v as u64 * WORDS as u64;
    let had_a = seen[at] | !past[REACHING];
    let had_b = seen[at + 1_u64] | !past[REACHING + 1_u64];
    let had_c = seen[at + 2_u64] | !past[REACHING + 2_u64];
    let had_d = seen[at + 3_u64] | !past[REACHING + 3_u64];
    if had_a & had_b & had_c & had_d == u64::MAX || heavy.contains(v) {
        return;
    }
    let mut a = had_a;
    let mut b = had_b;
    let mut c = had_c;
    let mut d = had_d;
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
    a &= !had_a;
    b &= !had_b;
    c &= !had_c;
    d &= !had_d;
    if a | b | c | d != 0_u64 {
        next[at] = a;
        next[at + 1_u64] = b;
        next[at + 2_u64] = c;
        next[at + 3_u64] = d;
        news.insert(v);
        count(g, v, backward, level, share, next, seen, far, harmonic, reached, farthest, work);
    }
}

/// A node with a long row, which may have asked, counts what is new.
#[lambda]
fn look(
    v: u32,
    g: GraphView,
    backward: u32,
    level: u32,
    share: u64,
    next: Writes<u64>,
    seen: Writes<u64>,
    news: Writes<NodeSet>,
    far: Writes<u64>,
    harmonic: Writes<u64>,
    reached: Writes<u32>,
    farthest: Writes<u32>,
    work: Writes<u64>,
) {
    if count(g, v, backward, level, share, next, seen, far, harmonic, reached, farthest, work) {
        news.insert(v);
    }
}

struct Lambdas {
    blank: Lambda<()>,
    start: Lambda<()>,
    tell: ArcLambda<bool>,
    lacks: Lambda<bool>,
    ask: ArcLambda<bool>,
    forget: Lambda<()>,
    take: Lambda<()>,
    hear: Lambda<()>,
    look: Lambda<()>,
}

/// The searches of a replica.
pub(super) struct Lanes<'a> {
    g: &'a Resident,
    pub sources: &'a [u32],
    /// Bits go against the arcs.
    backward: bool,
    pub state: State,
    /// Nodes with long rows, on GPUs, and whether there are any.
    heavy: Frontier,
    any_heavy: bool,
    /// Nodes with new bits, of the last level and of this one.
    front: Frontier,
    told: Frontier,
    lambdas: Lambdas,
}

/// What a level has found: its number, the nodes with new bits, and `[n, WORDS]` these bits.
pub(super) struct Level<'s> {
    pub number: u32,
    pub nodes: &'s Frontier,
    pub bits: &'s Replicated<u64>,
}

impl<'a> Lanes<'a> {
    /// Searches along the arcs of `g`, or `backward`. A meeting of all replicas, since the first use of a lambda is one, and replicas
    /// will not make the same steps.
    pub fn new(
        r: &mut Replica,
        g: &'a Resident,
        sources: &'a [u32],
        backward: bool,
    ) -> Result<Lanes<'a>> {
        let nodes = g.graph().nodes();
        let mut state = State::allocate(r, (nodes, sources.len()))?;
        state.sources.assign(sources)?;
        let front = r.frontier("front", nodes, MergeOp::Or)?;
        let told = r.frontier("next front", nodes, MergeOp::Or)?;
        let mut heavy = r.frontier("long rows", nodes, MergeOp::Or)?;
        let backward = backward && !g.graph().is_symmetric();
        if matches!(r.backend, Backend::Cuda(_)) {
            let args =
                Args::new().scalar("backward", u32::from(backward)).writes_set("heavy", &mut heavy);
            r.for_all("long rows", Over::nodes(g).whole(), &long_row(), args)?;
        }
        let lambdas = Lambdas {
            blank: blank(),
            start: start(),
            tell: tell(),
            lacks: lacks(),
            ask: ask(),
            forget: forget(),
            take: take(),
            hear: hear(),
            look: look(),
        };
        let any_heavy = r.count("long rows", &heavy)? > 0;
        Ok(Lanes { g, sources, backward, state, heavy, any_heavy, front, told, lambdas })
    }

    /// Uses each lambda once, those of `found` among them. What it leaves is reset.
    pub fn meet(
        &mut self,
        r: &mut Replica,
        mut found: impl FnMut(&mut Replica, Level) -> Result<()>,
    ) -> Result<()> {
        self.start(r, 0..0)?;
        self.push(r, 1, 0)?;
        self.pull(r, 1, 0)?;
        found(r, Level { number: 0, nodes: &self.told, bits: &self.state.next })
    }

    /// Nobody has heard of any source.
    pub fn reset(&mut self, r: &mut Replica) -> Result<()> {
        let State { far, harmonic, reached, farthest, .. } = &mut self.state;
        r.fill("far", far, 0)?;
        r.fill("harmonic", harmonic, 0)?;
        r.fill("reached", reached, 0)?;
        r.fill("farthest", farthest, 0)
    }

    /// What is searched.
    pub fn graph(&self) -> &'a Resident {
        self.g
    }

    /// Searches from these sources, at most [`LANES`], up to a level, and adds up what nodes find. Each level's work ends with `found`.
    pub fn search(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        (batch, limit): (Range<usize>, u32),
        mut found: impl FnMut(&mut Replica, Level) -> Result<()>,
    ) -> Result<()> {
        let unit = unit(self.g.graph().nodes());
        operators((r, log, "step start"), |r| self.start(r, batch.clone()))?;
        let own = &self.sources[batch.clone()];
        let degrees = own.iter().map(|v| self.g.graph().degree(*v as usize));
        let (mut nodes, mut arcs) = (batch.len() as u64, degrees.sum::<u64>());
        // Where paths are long a look at what a level has found takes as long as the level.
        let long = matches!(r.backend, Backend::Cuda(_)) && is_flat_graph(self.g.graph());
        let levels = if long { LEVELS } else { 1 };
        let mut level = 0u32;
        while level < limit {
            let levels = levels.min(u64::from(limit - level));
            let pull = !long && arcs * PULLED > self.g.graph().arcs();
            let looked = if pull { self.g.graph().arcs() } else { arcs };
            let name = if pull { "step pull" } else { "step push" };
            let counted = operators((r, log, name), |r| {
                for _ in 0..levels {
                    level += 1;
                    let share = (unit + u64::from(level) / 2) / u64::from(level);
                    r.fill("work", &mut self.state.work, 0)?;
                    r.clear("next front", &mut self.told)?;
                    match pull {
                        true => self.pull(r, level, share)?,
                        false => self.push(r, level, share)?,
                    }
                    let (nodes, bits) = (&self.told, &self.state.next);
                    found(r, Level { number: level, nodes, bits })?;
                    std::mem::swap(&mut self.front, &mut self.told);
                    std::mem::swap(&mut self.state.visit, &mut self.state.next);
                    std::mem::swap(&mut self.state.work, &mut self.state.past);
                }
                r.read(&self.state.past)
            })?;
            log.book(name, (levels, looked), (nodes, arcs), "none");
            let counters = &counted[..REACHING as usize];
            nodes = counters.iter().map(|counter| counter >> NODES).sum();
            arcs = counters.iter().map(|counter| counter & ((1 << NODES) - 1)).sum();
            if nodes == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The sources of a batch have reached themselves, and nobody else.
    fn start(&mut self, r: &mut Replica, batch: Range<usize>) -> Result<()> {
        let State { sources, seen, visit, next, past, .. } = &mut self.state;
        let args = Args::new()
            .scalar("count", batch.len() as u64)
            .writes("seen", &mut *seen)
            .writes("visit", &mut *visit)
            .writes("next", next);
        let all = Over::elements(self.g.graph().nodes() * WORDS as usize).whole();
        r.for_all("blank", all, &self.lambdas.blank, args)?;
        r.clear("front", &mut self.front)?;
        r.fill("past work", past, 0)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .writes("seen", seen)
            .writes("visit", visit)
            .writes("past", past)
            .writes_set("front", &mut self.front);
        r.for_all("start", Over::range(0..batch.len()), &self.lambdas.start, args)
    }

    /// Nodes with new bits tell their neighbours. It leaves `visit` empty, which becomes the `next` of the next level.
    fn push(&mut self, r: &mut Replica, level: u32, share: u64) -> Result<()> {
        let Lanes { g, backward, state, front, told, lambdas, .. } = self;
        let State { seen, visit, next, .. } = state;
        let over = Over::frontier(g, front).whole();
        let args = Args::new().reads("visit", visit).reads("seen", seen).writes("next", next);
        let how = Advance { backward: *backward, ..Advance::default() };
        r.advance("tell", over, &lambdas.tell, args, how.output(told))?;
        r.for_all("forget", over, &lambdas.forget, Args::new().writes("visit", visit))?;
        let args = counting(state, level, share, *backward).0;
        r.for_all("take", Over::frontier(g, told).whole(), &lambdas.take, args)
    }

    /// Nodes that lack some bit ask their neighbours. It leaves `visit` empty, as a push does.
    fn pull(&mut self, r: &mut Replica, level: u32, share: u64) -> Result<()> {
        let Lanes { g, backward, state, heavy, any_heavy, front, told, lambdas, .. } = self;
        let State { seen, visit, next, past, .. } = state;
        let over = Over::frontier(g, front).whole();
        if *any_heavy {
            let lacking =
                Args::new().reads_set("heavy", heavy).reads("past", past).reads("seen", seen);
            let args = Args::new()
                .reads("visit", visit)
                .reads("past", past)
                .reads("seen", seen)
                .writes("next", next);
            let how = Advance { backward: *backward, ..Advance::default() }.pull();
            r.advance("ask", over, &lambdas.ask, args, how.only(&lambdas.lacks, lacking))?;
            let args = counting(state, level, share, *backward).0.writes_set("news", told);
            r.for_all("look", Over::frontier(g, heavy).whole(), &lambdas.look, args)?;
        }
        let (args, visit, past) = counting(state, level, share, *backward);
        let args = args
            .writes_set("news", told)
            .reads_set("heavy", heavy)
            .reads("visit", visit)
            .reads("past", past);
        r.for_all("hear", Over::nodes(g).whole(), &lambdas.hear, args)?;
        r.for_all("forget", over, &lambdas.forget, Args::new().writes("visit", &mut state.visit))
    }
}

/// What a node that counts what is new reads and writes; then `visit` and `past`.
fn counting(
    state: &mut State,
    level: u32,
    share: u64,
    backward: bool,
) -> (Args<'_>, &Replicated<u64>, &Replicated<u64>) {
    let State { visit, next, seen, far, harmonic, reached, farthest, work, past, .. } = state;
    let args = Args::new()
        .scalar("backward", u32::from(backward))
        .scalar("level", level)
        .scalar("share", share)
        .writes("next", next)
        .writes("seen", seen)
        .writes("far", far)
        .writes("harmonic", harmonic)
        .writes("reached", reached)
        .writes("farthest", farthest)
        .writes("work", work);
    (args, visit, past)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        for lambda in [blank(), start(), long_row(), forget(), take(), hear(), look()] {
            lambda.compile("sm_90").unwrap();
        }
        tell().compile("sm_90").unwrap();
        ask().compile("sm_90").unwrap();
        lacks().compile("sm_90").unwrap();
    }
}
