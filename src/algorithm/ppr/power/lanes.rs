//! Iterations of a batch of sources, as lambdas over ranges: one program for GPUs and host.

use super::plan::{BINS, COPIES, Sizes, WIDE};
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, operators};
use crate::algorithm::push::ONE;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::Resident;
use crate::operator::{Args, Lambda, Over, device, lambda};
use std::ops::Range;

replicated_arrays! {
    /// The state of a replica.
    pub(super) struct State of Sizes {
        /// `[sources]` nodes.
        sources: Replicated<u32> = "sources", Gather, |s| s.sources;
        /// `[n, lanes]` values, in units.
        value: Replicated<u64> = "values of lanes", Gather, |s| s.nodes * s.lanes;
        /// `[n, lanes]` what goes along each arc; of weighted arcs, along all together.
        share: Replicated<u64> = "shares of lanes", Gather, |s| s.nodes * s.lanes;
        /// `[n, lanes]` what has come along arcs; zeros between iterations.
        arrived: Replicated<u64> = "arrivals of lanes", Gather, |s| s.nodes * s.lanes;
        /// `[n]` the factor from a value to a share.
        scale: Replicated<f64> = "factors", Gather, |s| s.nodes;
        /// `[n]` 1 / W, where arcs have weights that count.
        inverse: Replicated<f64> = "inverse weights", Gather, |s| s.weighted_nodes;
        /// `[pieces]` nodes with long rows, and which part of the row.
        piece_node: Replicated<u32> = "nodes of pieces", Gather, |s| s.pieces;
        piece: Replicated<u32> = "pieces", Gather, |s| s.pieces;
        /// `[2, lanes]` what has come to all nodes, and how far their values went; zeros between iterations.
        work: Replicated<u64> = "work", Gather, |s| 2 * s.lanes;
        /// `[lanes]` how far values went in the last iteration.
        change: Replicated<u64> = "changes", Gather, |s| s.lanes;
        /// `[copies, bins]` nodes by the size of their values.
        bins: Replicated<u64> = "bins", Gather, |_| (COPIES * BINS) as usize;
        /// `[n]` nodes and values that are kept of a lane, and how many.
        kept: Replicated<u32> = "kept nodes", Gather, |s| s.nodes.max(1);
        kept_value: Replicated<u64> = "kept values", Gather, |s| s.nodes.max(1);
        count: Replicated<u64> = "kept", Gather, |_| 1;
    }
}

/// Nodes whose values one call renews, of one lane.
const TILE: u64 = 64;

/// Lists the parts of a long row.
#[lambda]
fn cut(
    v: u32,
    g: GraphView,
    part: u64,
    piece_node: Writes<u32>,
    piece: Writes<u32>,
    count: Writes<u64>,
) {
    let degree = g.in_degree(v);
    if degree > part {
        let parts = (degree + part - 1_u64) / part;
        let place = count.add(0_u64, parts);
        for k in 0_u64..parts {
            piece_node[place + k] = v;
            piece[place + k] = k as u32;
        }
    }
}

/// The factor from the value of a node to what goes along each of its arcs.
#[lambda]
fn unweighted(v: u32, g: GraphView, damping: f64, scale: Writes<f64>) {
    let degree = g.degree(v);
    scale[v] = if degree > 0_u64 { damping / degree as f64 } else { 0.0 };
}

/// Source number i of a batch has all in lane i.
#[lambda]
fn begin(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    lanes: u64,
    scale: Reads<f64>,
    value: Writes<u64>,
    share: Writes<u64>,
) {
    let source = sources[first + i];
    let at = source as u64 * lanes + i;
    value[at] = ONE;
    share[at] = (ONE as f64 * scale[source]) as u64;
}

/// A part of what goes along all arcs of a node.
#[device]
fn portion(share: u64, fraction: f64) -> u64 {
    (share as f64 * fraction) as u64
}

/// Adds up what comes to a node along a short row, in some lanes.
#[lambda]
fn sum(
    i: u64,
    g: GraphView,
    groups: u64,
    part: u64,
    weighted: u32,
    share: Reads<u64>,
    inverse: Reads<f64>,
    arrived: Writes<u64>,
) {
    let node = i / groups;
    let lane = i % groups * WIDE;
    if g.in_degree(node) > part {
        return;
    }
    let mut a = 0_u64;
    let mut b = 0_u64;
    let mut c = 0_u64;
    let mut d = 0_u64;
    if weighted == 0_u32 {
        for e in g.in_edges(node) {
            let from = e.node as u64 * groups * WIDE + lane;
            a += share[from];
            b += share[from + 1_u64];
            c += share[from + 2_u64];
            d += share[from + 3_u64];
        }
    } else {
        for e in g.in_edges(node) {
            let from = e.node as u64 * groups * WIDE + lane;
            let fraction = e.weight as f64 * inverse[e.node];
            a += portion(share[from], fraction);
            b += portion(share[from + 1_u64], fraction);
            c += portion(share[from + 2_u64], fraction);
            d += portion(share[from + 3_u64], fraction);
        }
    }
    let at = i * WIDE;
    arrived[at] = a;
    arrived[at + 1_u64] = b;
    arrived[at + 2_u64] = c;
    arrived[at + 3_u64] = d;
}

/// The same along a part of a long row.
#[lambda]
fn sum_part(
    i: u64,
    g: GraphView,
    groups: u64,
    part: u64,
    weighted: u32,
    piece_node: Reads<u32>,
    piece: Reads<u32>,
    share: Reads<u64>,
    inverse: Reads<f64>,
    arrived: Writes<u64>,
) {
    let node = piece_node[i / groups] as u64;
    let lane = i % groups * WIDE;
    let first = piece[i / groups] as u64 * part;
    let last = (first + part).min(g.in_degree(node));
    let mut a = 0_u64;
    let mut b = 0_u64;
    let mut c = 0_u64;
    let mut d = 0_u64;
    if weighted == 0_u32 {
        for k in first..last {
            let from = g.in_edge(node, k).node as u64 * groups * WIDE + lane;
            a += share[from];
            b += share[from + 1_u64];
            c += share[from + 2_u64];
            d += share[from + 3_u64];
        }
    } else {
        for k in first..last {
            let e = g.in_edge(node, k);
            let from = e.node as u64 * groups * WIDE + lane;
            let fraction = e.weight as f64 * inverse[e.node];
            a += portion(share[from], fraction);
            b += portion(share[from + 1_u64], fraction);
            c += portion(share[from + 2_u64], fraction);
            d += portion(share[from + 3_u64], fraction);
        }
    }
    let at = node * groups * WIDE + lane;
    arrived.add(at, a);
    arrived.add(at + 1_u64, b);
    arrived.add(at + 2_u64, c);
    arrived.add(at + 3_u64, d);
}

/// From here to there.
#[device]
fn apart(a: u64, b: u64) -> u64 {
    if a > b { a - b } else { b - a }
}

/// What has come is the new value, in one lane of a tile of nodes; all but that of the source.
#[lambda]
fn settle(
    i: u64,
    nodes: u64,
    lanes: u64,
    first: u64,
    lanes_used: u64,
    sources: Reads<u32>,
    scale: Reads<f64>,
    arrived: Writes<u64>,
    value: Writes<u64>,
    share: Writes<u64>,
    work: Writes<u64>,
) {
    let lane = i % lanes;
    if lane >= lanes_used {
        return;
    }
    let source = sources[first + lane] as u64;
    let start = i / lanes * TILE;
    let end = (start + TILE).min(nodes);
    let mut all = 0_u64;
    let mut moved = 0_u64;
    for node in start..end {
        let at = node * lanes + lane;
        let new = arrived[at];
        all += new;
        if node != source {
            let old = value[at];
            moved += apart(new, old);
            arrived[at] = 0_u64;
            value[at] = new;
            share[at] = (new as f64 * scale[node]) as u64;
        }
    }
    if all > 0_u64 {
        work.add(lane, all);
    }
    if moved > 0_u64 {
        work.add(lanes + lane, moved);
    }
}

/// Source number i of a batch has all that has come nowhere, too.
#[lambda]
fn restart(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    lanes: u64,
    scale: Reads<f64>,
    arrived: Writes<u64>,
    value: Writes<u64>,
    share: Writes<u64>,
    work: Writes<u64>,
    change: Writes<u64>,
) {
    let source = sources[first + i];
    let at = source as u64 * lanes + i;
    let old = value[at];
    let new = arrived[at] + (ONE - work[i]);
    change[i] = work[lanes + i] + apart(new, old);
    arrived[at] = 0_u64;
    value[at] = new;
    share[at] = (new as f64 * scale[source]) as u64;
    work[i] = 0_u64;
    work[lanes + i] = 0_u64;
}

/// The bin of a value above 0: larger ones come first.
#[device]
fn bin(value: u64) -> u64 {
    let zeros = value.leading_zeros() as u64;
    zeros * 4_u64 + (3_u64 - ((value << zeros) >> 61_u64 & 3_u64))
}

/// A value as it is told, in units: to the digits of an f64, so that values that are told as equal are.
#[device]
fn told(value: u64) -> u64 {
    (value as f64) as u64
}

/// Counts the value of node i in a lane.
#[lambda]
fn count_value(i: u64, lanes: u64, lane: u64, value: Reads<u64>, bins: Writes<u64>) {
    let found = told(value[i * lanes + lane]);
    if found > 0_u64 {
        bins.add(i % COPIES * BINS + bin(found), 1_u64);
    }
}

/// Lists the value of node i in a lane if it is in bin `last` or one before.
#[lambda]
fn keep(
    i: u64,
    lanes: u64,
    lane: u64,
    last: u64,
    value: Reads<u64>,
    kept: Writes<u32>,
    kept_value: Writes<u64>,
    count: Writes<u64>,
) {
    let found = told(value[i * lanes + lane]);
    if found > 0_u64 && bin(found) <= last {
        let place = count.add(0_u64, 1_u64);
        kept[place] = i as u32;
        kept_value[place] = found;
    }
}

struct Lambdas {
    cut: Lambda<()>,
    unweighted: Lambda<()>,
    begin: Lambda<()>,
    sum: Lambda<()>,
    sum_part: Lambda<()>,
    settle: Lambda<()>,
    restart: Lambda<()>,
    count_value: Lambda<()>,
    keep: Lambda<()>,
}

/// What the iterations of a replica are asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub damping: f64,
    pub iterations: u32,
    /// The change at which they end, in units; `None`: never.
    pub tolerance: Option<u64>,
    /// Most values that are kept of a source.
    pub most: usize,
}

/// The iterations of a replica.
pub(super) struct Iterations<'a> {
    g: &'a Resident,
    rule: Rule,
    sizes: Sizes,
    state: State,
    lambdas: Lambdas,
    /// Pieces of long rows.
    pieces: usize,
}

/// What has been found of one source of a batch.
pub(super) struct Ended {
    /// Its number in the batch.
    pub lane: usize,
    pub iterations: u32,
    /// The change in the last, in units.
    pub change: u64,
    /// The highest values and their nodes, and some more, in no order.
    pub vector: Vec<(u32, u64)>,
}

impl<'a> Iterations<'a> {
    /// `weights`: what the arcs out of each node weigh together, where that counts.
    pub fn new(
        r: &mut Replica,
        g: &'a Resident,
        sources: &[u32],
        (rule, sizes, weights): (Rule, Sizes, Option<&[f64]>),
    ) -> Result<Iterations<'a>> {
        let mut state = State::allocate(r, sizes)?;
        state.sources.assign(sources)?;
        let lambdas = Lambdas {
            cut: cut(),
            unweighted: unweighted(),
            begin: begin(),
            sum: sum(),
            sum_part: sum_part(),
            settle: settle(),
            restart: restart(),
            count_value: count_value(),
            keep: keep(),
        };
        if let Some(weights) = weights {
            let of = |of: &dyn Fn(f64) -> f64| -> Vec<f64> {
                weights.iter().map(|all| if *all > 0.0 { of(*all) } else { 0.0 }).collect()
            };
            state.scale.assign(&of(&|_| rule.damping))?;
            state.inverse.assign(&of(&|all| 1.0 / all))?;
        } else {
            let args =
                Args::new().scalar("damping", rule.damping).writes("scale", &mut state.scale);
            r.for_all("factors", Over::nodes(g).whole(), &lambdas.unweighted, args)?;
        }
        let args = Args::new()
            .scalar("part", sizes.part)
            .writes("piece_node", &mut state.piece_node)
            .writes("piece", &mut state.piece)
            .writes("count", &mut state.count);
        r.for_all("pieces", Over::nodes(g).whole(), &lambdas.cut, args)?;
        let pieces = r.read(&state.count)?[0] as usize;
        Ok(Iterations { g, rule, sizes, state, lambdas, pieces })
    }

    /// Uses each lambda once: the first use is a meeting, and replicas will not make the same steps.
    pub fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.begin(r, 0..0)?;
        self.iterate(r, &(0..0), 0)?;
        self.kept(r, 0, 0).map(drop)
    }

    pub fn reset(&mut self, r: &mut Replica) -> Result<()> {
        r.fill("work", &mut self.state.work, 0)
    }

    /// Iterates from these sources, at most as many as there are lanes, and hands over each as it ends.
    pub fn batch(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        sources: Range<usize>,
        ended: &mut dyn FnMut(Vec<Ended>),
    ) -> Result<()> {
        operators((r, log, "step begin"), |r| self.begin(r, sources.clone()))?;
        let nodes = self.sizes.nodes as u64;
        log.book("step begin", (0, 0), (sources.len() as u64, 0), "none");
        let (mut left, mut iterations) = ((0..sources.len()).collect::<Vec<_>>(), 0);
        let Rule { iterations: most, tolerance, .. } = self.rule;
        while !left.is_empty() {
            iterations += 1;
            let changes = operators((r, log, "step iterate"), |r| {
                self.iterate(r, &sources, self.sizes.nodes)?;
                r.read(&self.state.change)
            })?;
            let arcs = self.g.graph().arcs() * left.len() as u64;
            log.book("step iterate", (1, arcs), (nodes, arcs), "none");
            let ends = |lane: &usize| {
                iterations == most || tolerance.is_some_and(|tolerance| changes[*lane] <= tolerance)
            };
            let (done, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(ends);
            left = others;
            if done.is_empty() {
                continue;
            }
            let found = operators((r, log, "step keep"), |r| {
                let one = |lane: usize| -> Result<Ended> {
                    let vector = self.kept(r, lane, self.sizes.nodes)?;
                    Ok(Ended { lane, iterations, change: changes[lane], vector })
                };
                done.into_iter().map(one).collect::<Result<Vec<_>>>()
            })?;
            log.book("step keep", (0, 0), (found.len() as u64, 0), "none");
            ended(found);
        }
        Ok(())
    }

    fn begin(&mut self, r: &mut Replica, batch: Range<usize>) -> Result<()> {
        let State { sources, value, share, arrived, scale, .. } = &mut self.state;
        r.fill("values", value, 0)?;
        r.fill("shares", share, 0)?;
        r.fill("arrivals", arrived, 0)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .scalar("lanes", self.sizes.lanes as u64)
            .reads("scale", scale)
            .writes("value", value)
            .writes("share", share);
        r.for_all("begin", Over::range(0..batch.len()), &self.lambdas.begin, args)
    }

    /// An iteration over so many nodes: all, or none.
    fn iterate(&mut self, r: &mut Replica, batch: &Range<usize>, nodes: usize) -> Result<()> {
        let Iterations { g, sizes, state, lambdas, pieces, .. } = self;
        let State {
            sources,
            value,
            share,
            arrived,
            scale,
            inverse,
            piece_node,
            piece,
            work,
            change,
            ..
        } = state;
        let (lanes, weighted) = (sizes.lanes as u64, u32::from(sizes.weighted_nodes > 0));
        let groups = lanes / WIDE;
        let args = Args::new()
            .scalar("groups", groups)
            .scalar("part", sizes.part)
            .scalar("weighted", weighted)
            .reads("share", share)
            .reads("inverse", inverse)
            .writes("arrived", &mut *arrived);
        let all = Over::range(0..nodes * groups as usize).with(g);
        r.for_all("sum", all, &lambdas.sum, args)?;
        let args = Args::new()
            .scalar("groups", groups)
            .scalar("part", sizes.part)
            .scalar("weighted", weighted)
            .reads("piece_node", piece_node)
            .reads("piece", piece)
            .reads("share", share)
            .reads("inverse", inverse)
            .writes("arrived", &mut *arrived);
        let long = if nodes > 0 { *pieces * groups as usize } else { 0 };
        r.for_all("sum of parts", Over::range(0..long).with(g), &lambdas.sum_part, args)?;
        let args = Args::new()
            .scalar("nodes", nodes as u64)
            .scalar("lanes", lanes)
            .scalar("first", batch.start as u64)
            .scalar("lanes_used", batch.len() as u64)
            .reads("sources", sources)
            .reads("scale", scale)
            .writes("arrived", &mut *arrived)
            .writes("value", &mut *value)
            .writes("share", &mut *share)
            .writes("work", &mut *work);
        let tiles = nodes.div_ceil(TILE as usize) * sizes.lanes;
        r.for_all("settle", Over::range(0..tiles), &lambdas.settle, args)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .scalar("lanes", lanes)
            .reads("scale", scale)
            .writes("arrived", arrived)
            .writes("value", value)
            .writes("share", share)
            .writes("work", work)
            .writes("change", change);
        r.for_all("restart", Over::range(0..batch.len()), &lambdas.restart, args)
    }

    /// The highest values of a lane, of so many nodes: all, or none.
    fn kept(&mut self, r: &mut Replica, lane: usize, nodes: usize) -> Result<Vec<(u32, u64)>> {
        let State { value, bins, kept, kept_value, count, .. } = &mut self.state;
        let lanes = self.sizes.lanes as u64;
        r.fill("bins", bins, 0)?;
        r.fill("kept", count, 0)?;
        let all = Over::range(0..nodes);
        let args = Args::new()
            .scalar("lanes", lanes)
            .scalar("lane", lane as u64)
            .reads("value", value)
            .writes("bins", &mut *bins);
        r.for_all("count values", all, &self.lambdas.count_value, args)?;
        let last = last_bin(&r.read(bins)?, self.rule.most);
        let args = Args::new()
            .scalar("lanes", lanes)
            .scalar("lane", lane as u64)
            .scalar("last", last)
            .reads("value", value)
            .writes("kept", &mut *kept)
            .writes("kept_value", &mut *kept_value)
            .writes("count", &mut *count);
        r.for_all("keep", all, &self.lambdas.keep, args)?;
        let found = r.read(count)?[0] as usize;
        let mut nodes: Vec<u32> = crate::memory::zeros("kept nodes", found)?;
        let mut values: Vec<u64> = crate::memory::zeros("kept values", found)?;
        kept.copy_out(&mut nodes)?;
        kept_value.copy_out(&mut values)?;
        Ok(nodes.into_iter().zip(values).collect())
    }
}

/// The first bin up to which there are at least so many values; the last, where there are fewer.
fn last_bin(bins: &[u64], most: usize) -> u64 {
    let of = |bin: u64| -> u64 { bins.iter().skip(bin as usize).step_by(BINS as usize).sum() };
    let sums = (0..BINS).scan(0, |sum, bin| {
        *sum += of(bin);
        Some((bin, *sum))
    });
    let mut enough = sums.filter(|(_, sum)| *sum >= most as u64);
    enough.next().map_or(BINS - 1, |(bin, _)| bin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        let all = [cut(), unweighted(), begin(), sum(), sum_part(), settle(), restart()];
        for lambda in all.into_iter().chain([count_value(), keep()]) {
            lambda.compile("sm_90").unwrap();
        }
    }

    #[test]
    fn larger_values_are_in_earlier_bins() {
        let values: Vec<u64> = (0..64).flat_map(|k| [1 << k, (1 << k) + (1 << k) / 2]).collect();
        assert!(values.windows(2).all(|pair| pair[0] > pair[1] || bin(pair[0]) >= bin(pair[1])));
        assert_eq!((bin(u64::MAX), bin(1)), (0, 255));
        let mut bins = vec![0; (COPIES * BINS) as usize];
        (bins[7], bins[BINS as usize + 9], bins[200]) = (3, 2, 1);
        for (most, last) in [(1, 7), (3, 7), (4, 9), (6, 200), (7, 255)] {
            assert_eq!(last_bin(&bins, most), last);
        }
    }
}
