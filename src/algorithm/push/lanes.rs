//! Pushes from a batch of sources, as lambdas over ranges: one program for GPUs and host.

use super::rule::{ONE, Rule};
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, operators};
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::Resident;
use crate::operator::{Args, Lambda, Over, Writes, device, lambda};
use rayon::prelude::*;
use std::ops::Range;

/// What lengths of arrays follow from.
#[derive(Debug, Clone, Copy)]
pub(in crate::algorithm) struct Sizes {
    pub nodes: usize,
    pub sources: usize,
    pub lanes: usize,
    /// Most pairs of a round, of all lanes together.
    pub queued: usize,
    /// Most pairs that are touched.
    pub touched: usize,
}

replicated_arrays! {
    /// The state of a replica.
    pub(super) struct State of Sizes {
        /// `[sources]` nodes.
        sources: Replicated<u32> = "sources", Gather, |s| s.sources;
        /// `[lanes, n]` p, in units; zeros between batches.
        value: Replicated<u64> = "values of lanes", Gather, |s| s.lanes * s.nodes;
        /// `[lanes, n]` r, in units; zeros between batches.
        residual: Replicated<u64> = "residuals of lanes", Gather, |s| s.lanes * s.nodes;
        /// `[queued]` pairs that push in this round, and the first part of each.
        queue: Replicated<u32> = "pairs", Gather, |s| s.queued;
        starts: Replicated<u32> = "first parts", Gather, |s| s.queued;
        /// `[queued]` the same of the next round.
        next: Replicated<u32> = "next pairs", Gather, |s| s.queued;
        next_starts: Replicated<u32> = "next first parts", Gather, |s| s.queued;
        /// `[queued]` what goes along each arc.
        share: Replicated<u64> = "shares", Gather, |s| s.queued;
        /// `[touched]` pairs with a value or a residual.
        touched: Replicated<u32> = "touched pairs", Gather, |s| s.touched;
        /// Counters.
        work: Replicated<u64> = "work", Gather, |_| (ARCS + COUNTERS * APART) as usize;
    }
}

/// Arcs of a part.
pub(super) const PART: u64 = 8;
/// In `work`: pairs of the next round in the upper half, their parts in the lower.
const TAIL: u64 = 0;
/// Pairs that are touched.
const TOUCHED: u64 = 1;
/// Pairs that have a value.
const VALUED: u64 = 2;
/// Counters of arcs, and how far apart they lie.
const ARCS: u64 = 3;
const COUNTERS: u64 = 32;
const APART: u64 = 16;
/// A pair, in the upper half.
const PAIR: u64 = 1 << 32;
/// The lower half.
const LOW: u64 = PAIR - 1;

/// The residual at which a node of this degree pushes. `most`: the largest degree for which it is below 1.
#[device]
fn bound(degree: u64, least: u64, most: u64) -> u64 {
    if degree > most { u64::MAX } else { degree * least }
}

/// Queues a pair whose node has so many arcs.
#[device]
fn enqueue(pair: u32, degree: u64, next: Writes<u32>, next_starts: Writes<u32>, work: Writes<u64>) {
    let tail = work.add(TAIL, PAIR + (degree + (PART - 1_u64)) / PART);
    next[tail >> 32_u32] = pair;
    next_starts[tail >> 32_u32] = (tail & LOW) as u32;
}

/// Source number i of a batch has the residual 1 in lane i.
#[lambda]
fn begin(
    i: u64,
    g: GraphView,
    sources: Reads<u32>,
    first: u64,
    nodes: u32,
    least: u64,
    most: u64,
    value: Writes<u64>,
    residual: Writes<u64>,
    next: Writes<u32>,
    next_starts: Writes<u32>,
    touched: Writes<u32>,
    work: Writes<u64>,
) {
    let source = sources[first + i];
    let pair = i as u32 * nodes + source;
    let place = work.add(TOUCHED, 1_u64);
    touched[place] = pair;
    let degree = g.degree(source);
    if degree == 0_u64 {
        value[pair] = ONE;
    } else {
        residual[pair] = ONE;
        if ONE >= bound(degree, least, most) {
            enqueue(pair, degree, next, next_starts, work);
        }
    }
}

/// Pair i of the queue keeps alpha of its residual, and says what goes along each arc.
#[lambda]
fn settle(
    i: u64,
    g: GraphView,
    queue: Reads<u32>,
    nodes: u32,
    alpha: u64,
    value: Writes<u64>,
    residual: Writes<u64>,
    share: Writes<u64>,
    work: Writes<u64>,
) {
    if i == 0_u64 {
        work[TAIL] = 0_u64;
    }
    let pair = queue[i];
    let degree = g.degree(pair % nodes);
    let all = residual[pair];
    // The product has more than 64 bits.
    let keep = (all >> 32_u32) * alpha + ((all & LOW) * alpha >> 32_u32);
    let each = (all - keep) / degree;
    value[pair] += keep;
    residual[pair] = all - keep - each * degree;
    share[i] = each;
    work.add(ARCS + i % COUNTERS * APART, degree);
}

/// Part i of the queue: some arcs of a pair.
#[lambda]
fn spread(
    i: u64,
    g: GraphView,
    queue: Reads<u32>,
    starts: Reads<u32>,
    share: Reads<u64>,
    pairs: u64,
    nodes: u32,
    least: u64,
    most: u64,
    value: Writes<u64>,
    residual: Writes<u64>,
    next: Writes<u32>,
    next_starts: Writes<u32>,
    touched: Writes<u32>,
    work: Writes<u64>,
) {
    // The last pair that begins at part i or before.
    let mut low = 0_u64;
    let mut high = pairs;
    while high - low > 1_u64 {
        let middle = (low + high) / 2_u64;
        if starts[middle] as u64 <= i {
            low = middle;
        } else {
            high = middle;
        }
    }
    let pair = queue[low];
    let from = pair % nodes;
    let each = share[low];
    let begin = (i - starts[low] as u64) * PART;
    let end = (begin + PART).min(g.degree(from));
    for k in begin..end {
        let to = g.edge(from, k).node;
        let at = pair - from + to;
        let degree = g.degree(to);
        let keeps = degree == 0_u64;
        let before = if keeps { value.add(at, each) } else { residual.add(at, each) };
        let needed = bound(degree, least, most);
        // Of all additions of a round one lifts it to its bound.
        if before < needed && before + each >= needed {
            enqueue(at, degree, next, next_starts, work);
        }
        // A node that has pushed has a value.
        if before == 0_u64 && (keeps || value[at] == 0_u64) {
            let place = work.add(TOUCHED, 1_u64);
            touched[place] = at;
        }
    }
}

/// Touched pair i is as it was, and listed with its value if it has one.
#[lambda]
fn collect(
    i: u64,
    touched: Reads<u32>,
    value: Writes<u64>,
    residual: Writes<u64>,
    queue: Writes<u32>,
    share: Writes<u64>,
    work: Writes<u64>,
) {
    let pair = touched[i];
    let found = value[pair];
    if found > 0_u64 {
        let place = work.add(VALUED, 1_u64);
        queue[place] = pair;
        share[place] = found;
    }
    value[pair] = 0_u64;
    residual[pair] = 0_u64;
}

struct Lambdas {
    begin: Lambda<()>,
    settle: Lambda<()>,
    spread: Lambda<()>,
    collect: Lambda<()>,
}

/// The pushes of a replica.
pub(super) struct Pushes<'a> {
    g: &'a Resident,
    rule: Rule,
    sizes: Sizes,
    state: State,
    lambdas: Lambdas,
}

/// What a batch has found.
pub(super) struct Batch {
    pub rounds: u64,
    pub pushes: u64,
    /// Arcs pushed along.
    pub arcs: u64,
    /// The nodes with a value from each source, in no order.
    pub vectors: Vec<Vec<(u32, u64)>>,
}

impl<'a> Pushes<'a> {
    pub fn new(
        r: &mut Replica,
        g: &'a Resident,
        sources: &[u32],
        (rule, lanes): (Rule, usize),
    ) -> Result<Pushes<'a>> {
        let shape = (g.graph().nodes(), g.graph().arcs());
        let sizes = rule.sizes(shape, (sources.len(), lanes));
        let mut state = State::allocate(r, sizes)?;
        state.sources.assign(sources)?;
        let lambdas =
            Lambdas { begin: begin(), settle: settle(), spread: spread(), collect: collect() };
        Ok(Pushes { g, rule, sizes, state, lambdas })
    }

    /// Uses each lambda once: the first use is a meeting, and replicas will not make the same steps.
    pub fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.begin(r, 0..0)?;
        self.round(r, (0, 0))?;
        self.collect(r, 0..0)
    }

    pub fn reset(&mut self, r: &mut Replica) -> Result<()> {
        r.fill("values", &mut self.state.value, 0)?;
        r.fill("residuals", &mut self.state.residual, 0)
    }

    /// Pushes from these sources, at most as many as there are lanes.
    pub fn batch(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        sources: Range<usize>,
    ) -> Result<Batch> {
        let count = sources.len();
        let mut work = operators((r, log, "step begin"), |r| {
            self.begin(r, sources)?;
            r.read(&self.state.work)
        })?;
        log.book("step begin", (0, 0), (count as u64, 0), "none");
        let (mut rounds, mut pushes, mut arcs) = (0, 0, 0);
        while work[TAIL as usize] > 0 {
            let tail = work[TAIL as usize];
            let pairs = tail >> 32;
            std::mem::swap(&mut self.state.queue, &mut self.state.next);
            std::mem::swap(&mut self.state.starts, &mut self.state.next_starts);
            work = operators((r, log, "step push"), |r| {
                self.round(r, (pairs as usize, (tail & LOW) as usize))?;
                r.read(&self.state.work)
            })?;
            let counters = work[ARCS as usize..].iter().sum::<u64>();
            log.book("step push", (1, counters - arcs), (pairs, counters - arcs), "none");
            (rounds, pushes, arcs) = (rounds + 1, pushes + pairs, counters);
        }
        let touched = work[TOUCHED as usize] as usize;
        let pairs = operators((r, log, "step collect"), |r| self.collected(r, touched))?;
        log.book("step collect", (0, 0), (touched as u64, 0), "none");
        let vectors = by_lane(&pairs, count, self.sizes.nodes as u32);
        Ok(Batch { rounds, pushes, arcs, vectors })
    }

    fn begin(&mut self, r: &mut Replica, batch: Range<usize>) -> Result<()> {
        let Pushes { g, rule, sizes, state, lambdas } = self;
        let State { sources, value, residual, next, next_starts, touched, work, .. } = state;
        r.fill("work", work, 0)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .scalar("nodes", sizes.nodes as u32)
            .scalar("least", rule.least)
            .scalar("most", ONE / rule.least)
            .writes("value", value)
            .writes("residual", residual)
            .writes("next", next)
            .writes("next_starts", next_starts)
            .writes("touched", touched)
            .writes("work", work);
        r.for_all("begin", Over::range(0..batch.len()).with(g), &lambdas.begin, args)
    }

    /// A round of so many pairs with so many parts.
    fn round(&mut self, r: &mut Replica, (pairs, parts): (usize, usize)) -> Result<()> {
        let Pushes { g, rule, sizes, state, lambdas } = self;
        let State {
            value, residual, queue, starts, next, next_starts, share, touched, work, ..
        } = state;
        let args = Args::new()
            .reads("queue", queue)
            .scalar("nodes", sizes.nodes as u32)
            .scalar("alpha", rule.alpha)
            .writes("value", &mut *value)
            .writes("residual", &mut *residual)
            .writes("share", &mut *share)
            .writes("work", &mut *work);
        r.for_all("settle", Over::range(0..pairs).with(g), &lambdas.settle, args)?;
        let args = Args::new()
            .reads("queue", queue)
            .reads("starts", starts)
            .reads("share", share)
            .scalar("pairs", pairs as u64)
            .scalar("nodes", sizes.nodes as u32)
            .scalar("least", rule.least)
            .scalar("most", ONE / rule.least)
            .writes("value", value)
            .writes("residual", residual)
            .writes("next", next)
            .writes("next_starts", next_starts)
            .writes("touched", touched)
            .writes("work", work);
        r.for_all("spread", Over::range(0..parts).with(g), &lambdas.spread, args)
    }

    /// Pairs with their values, of which the queue has room for a part.
    fn collected(&mut self, r: &mut Replica, touched: usize) -> Result<Vec<(u32, u64)>> {
        let (room, mut all) = (self.sizes.queued, Vec::new());
        for first in (0..touched).step_by(room) {
            self.collect(r, first..touched.min(first + room))?;
            let found = r.read(&self.state.work)?[VALUED as usize] as usize;
            let mut pairs: Vec<u32> = crate::memory::zeros("pairs", found)?;
            let mut values: Vec<u64> = crate::memory::zeros("values", found)?;
            self.state.queue.copy_out(&mut pairs)?;
            self.state.share.copy_out(&mut values)?;
            all.extend(pairs.into_iter().zip(values));
        }
        Ok(all)
    }

    fn collect(&mut self, r: &mut Replica, part: Range<usize>) -> Result<()> {
        let State { value, residual, queue, share, touched, work, .. } = &mut self.state;
        r.fill("work", work, 0)?;
        let args = Args::new()
            .reads("touched", touched)
            .writes("value", value)
            .writes("residual", residual)
            .writes("queue", queue)
            .writes("share", share)
            .writes("work", work);
        r.for_all("collect", Over::range(part), &self.lambdas.collect, args)
    }
}

/// Pairs and values by lane, as nodes and values.
fn by_lane(pairs: &[(u32, u64)], lanes: usize, nodes: u32) -> Vec<Vec<(u32, u64)>> {
    let split = |part: &[(u32, u64)]| {
        let mut own = vec![Vec::new(); lanes];
        for (pair, value) in part {
            own[(pair / nodes) as usize].push((pair % nodes, *value));
        }
        own
    };
    let parts: Vec<Vec<Vec<_>>> = pairs.par_chunks(1 << 18).map(split).collect();
    let of_lane = |lane: usize| parts.iter().flat_map(|part| &part[lane]).copied().collect();
    (0..lanes).into_par_iter().map(of_lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        for lambda in [begin(), settle(), spread(), collect()] {
            lambda.compile("sm_90").unwrap();
        }
    }
}
