//! Checks betweenness centrality against Brandes' algorithm in f64.
//!
//! For a source s, with g(s, t) shortest paths to t, of which g(s, t | v) lead through v, the dependency of s
//! on v is the sum over reached t != s of g(s, t | v) / g(s, t): v is neither s nor t, unless endpoints count,
//! and then each of the two gets 1. Every arc has length 1; by weight, it has that of its weight, which is above 0, and two paths are
//! equally long if their sums in f64 are, added up from s on. Self loops lie on no shortest path; parallel arcs are one, the lightest.
//! The raw score of v sums this over the sources. Where targets are named, t is one of them.
//!
//! Scores are raw scores scaled as networkx 3.6.1 does (`betweenness_centrality(G, k)`, `_rescale`). With n
//! nodes, k sources, N = n if endpoints count and N = n - 1 otherwise, and c = 2 if every arc has its reverse
//! (each pair is met from both ends), otherwise 1 (by weight, if every arc has a
//! reverse of the same weight):
//!
//! | | not normalized | normalized |
//! |---|---|---|
//! | N < 2 | 1 | 1 |
//! | k = n | 1 / c | 1 / (N (N - 1)) |
//! | k < n, endpoints | n / (k c) | 1 / (k (n - 1)) |
//! | k < n, v no source | (n - 1) / (k c) | 1 / (k (n - 2)) |
//! | k < n, v a source | (n - 1) / ((k - 1) c) | 1 / ((k - 1) (n - 2)) |
//!
//! With targets raw scores are scaled as its `betweenness_centrality_subset` does: by 1 / ((n - 1) (n - 2)) where they are
//! normalized and n is above 2, else by 1 / c. Endpoints do not count then.
//!
//! The score of the only source of several nodes, endpoints not counted, is 0 / 0: networkx says NaN, and here
//! NaN and 0 are both right.
//!
//! Where sources times arcs are at most [`WORK`] ([`WEIGHTED_WORK`]), all scores are compared with Brandes'. Also compared, but not by
//! weight, is the sum of all raw scores, which is exactly the sum over pairs of distance - 1 (distance + 1 with endpoints).
//!
//! Where they are more, Brandes' algorithm runs from as many sources as [`WORK`] allows, spread evenly over the list.
//! Dependencies are not negative, so a raw score is at least what these sources give. That certifies no score, and
//! [`BetweennessCheck::checked_sources`] says how many sources were recomputed. If distances from all sources are not
//! too much ([`SUM_WORK`]), the sum is compared too, and raw scores are held between what endpoints give for certain
//! and what all paths together could add: nothing at a node that no path can cross.
//!
//! A score is a sum of terms >= 0, so rounding hurts small scores no more than large ones, and errors are
//! relative to the score. Only what is below the score of one pair (s, t) all of whose paths cross v, a
//! fraction of a pair, is compared as a part of one pair: it may have been lost to the range of f32, or to
//! fixed point. Numbers of paths leave the range of f64 on large grids; here they have exponents of their own.

mod by_weight;
mod gpu;
mod hops;
mod search;

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use search::Search;

/// Sources times arcs up to which Brandes' algorithm is run from all sources.
const WORK: u64 = 1 << 35;
/// The same by weight.
const WEIGHTED_WORK: u64 = 1 << 28;
/// Arcs up to which distances from all sources are summed, 64 sources at a time.
const SUM_WORK: u64 = 1 << 35;
/// Bytes that the searches from several sources at once may take.
const MEMORY: u64 = 1 << 33;
/// Bytes of one search, a node.
const BYTES: u64 = 72;
/// Most searches at once: sums are added in their order, whatever the number of threads.
const GROUPS: u64 = 128;
/// Nodes that are added up by one task.
const BLOCK: usize = 1 << 14;
/// What betweenness was asked.
#[derive(Debug, Clone, Copy)]
pub struct BetweennessQuestion<'a> {
    /// Node indices that were summed over, each once; all nodes for the full score.
    pub sources: &'a [u32],
    /// Node indices that paths lead to, each once; all nodes where there are none.
    pub targets: Option<&'a [u32]>,
    /// Whether paths are those of the least weight, not of the fewest arcs.
    pub weighted: bool,
    /// Whether scores are shares of all pairs.
    pub normalized: bool,
    /// Whether the ends of a path are on it.
    pub endpoints: bool,
    /// How far a score may be off, relative to it.
    pub tolerance: f64,
}

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct BetweennessCheck {
    /// Sources that Brandes' algorithm was run from. Scores are certified where these are all.
    pub checked_sources: u64,
    /// The largest error of a score, relative to the score or to that of one pair, whichever is more; 0 where
    /// no score was compared.
    pub worst_error: f64,
    /// How far the raw scores' sum is off, relative to the right one (to 1 where that is 0); `None` where it was not
    /// compared.
    pub sum_error: Option<f64>,
}

/// Certifies that `scores` (`[n]`) is the betweenness that the file's header defines, if
/// [`BetweennessCheck::checked_sources`] are all sources; otherwise only that nothing wrong was found.
///
/// Brandes' algorithm takes two or three passes over the arcs a source, 72 bytes a node and source at once, in
/// parallel over sources and over the nodes of a level (directed graphs count paths one after another); without it 64 sources share a pass a level.
///
/// # Errors
///
/// [`Error::Verify`] names the wrong node of the lowest input id, its score and the score that belongs there,
/// or both sums. [`Error::Input`] when there is no source, one twice or one that is no node; for such targets, and for targets
/// where endpoints count; for a weight of 0, by weight; and for a tolerance that is none.
pub fn bc(
    graph: &Graph,
    scores: &[f64],
    question: &BetweennessQuestion,
) -> Result<BetweennessCheck> {
    check(graph, scores, question, if question.weighted { WEIGHTED_WORK } else { WORK })
}

/// As [`bc`], with Brandes' algorithm up to `work` sources times arcs.
fn check(
    graph: &Graph,
    scores: &[f64],
    question: &BetweennessQuestion,
    work: u64,
) -> Result<BetweennessCheck> {
    let check = Check { graph, scores, question, scale: Scale::of(graph, question)? };
    one_a_node(graph, "betweenness", "scores", scores.len())?;
    check.are_scores()?;
    if question.weighted && by_weight::some_arc_is_free(graph) {
        return Err(Error::input(
            "cannot check betweenness by weight: an arc weighs 0, so that paths may go round without end",
        ));
    }
    let sources = question.sources.len() as u64;
    if sources.saturating_mul(graph.arcs()) > work {
        return check.part((work / graph.arcs()) as usize);
    }
    if question.weighted {
        let worst_error = check.compare(&brandes_by_weight(graph, question.sources, question))?;
        return Ok(BetweennessCheck { checked_sources: sources, worst_error, sum_error: None });
    }
    let (raw, pairs, hops) = brandes(graph, question.sources, question);
    let worst_error = check.compare(&raw)?;
    let sum_error = Some(check.sum(pairs, hops)?);
    Ok(BetweennessCheck { checked_sources: sources, worst_error, sum_error })
}

/// What raw scores are multiplied by.
struct Scale {
    /// `[n]` whether a node is a source.
    is_source: Vec<bool>,
    /// NaN where the only source has no score.
    source: f64,
    other: f64,
}

impl Scale {
    fn of(graph: &Graph, question: &BetweennessQuestion) -> Result<Scale> {
        let BetweennessQuestion { sources, targets, weighted, normalized, endpoints, tolerance } =
            *question;
        let is_source = marked(graph, "source", sources)?;
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            let what = format!("cannot check betweenness to a tolerance of {tolerance}");
            return Err(Error::input(format!("{what}: use a small number, as in 1e-6")));
        }
        let n = graph.nodes() as f64;
        let undirected = || match weighted {
            true => graph.is_symmetric() || by_weight::goes_both_ways(graph),
            false => graph.is_undirected() || goes_both_ways(graph),
        };
        if let Some(targets) = targets {
            marked(graph, "target", targets)?;
            if endpoints {
                let what = "cannot check betweenness: endpoints count for paths to all nodes alone";
                return Err(Error::input(format!("{what}; leave them or the targets out")));
            }
            let scale = match normalized {
                true if n > 2.0 => 1.0 / ((n - 1.0) * (n - 2.0)),
                false if undirected() => 0.5,
                _ => 1.0,
            };
            return Ok(Scale { is_source, source: scale, other: scale });
        }
        let pair_nodes = if endpoints { n } else { n - 1.0 };
        if pair_nodes < 2.0 {
            return Ok(Scale { is_source, source: 1.0, other: 1.0 });
        }
        let all = sources.len() == graph.nodes();
        let k = if all { pair_nodes } else { sources.len() as f64 };
        let turns = if undirected() { 2.0 } else { 1.0 };
        let over = |k: f64| match (k, normalized) {
            (0.0, _) => f64::NAN,
            (k, true) => 1.0 / (k * (pair_nodes - 1.0)),
            (k, false) => pair_nodes / (k * turns),
        };
        // A source is never between itself and another node: one source less can see it.
        let source = if all || endpoints { over(k) } else { over(k - 1.0) };
        Ok(Scale { is_source, source, other: over(k) })
    }

    fn at(&self, v: usize) -> f64 {
        if self.is_source[v] { self.source } else { self.other }
    }
}

/// Whether every arc has its reverse, however often the two are there and whatever they weigh.
fn goes_both_ways(graph: &Graph) -> bool {
    let row = |v: usize| {
        let (begin, end) = (graph.offsets()[v] as usize, graph.offsets()[v + 1] as usize);
        &graph.columns()[begin..end]
    };
    let reversed =
        |u: usize| row(u).iter().all(|v| row(*v as usize).binary_search(&(u as u32)).is_ok());
    (0..graph.nodes()).into_par_iter().all(reversed)
}

/// `[n]` whether a node is among these sources or targets; each must be a node, and there once.
fn marked(graph: &Graph, kind: &str, nodes: &[u32]) -> Result<Vec<bool>> {
    let cannot = |what: String| Err(Error::input(format!("cannot check betweenness: {what}")));
    let n = graph.nodes();
    let mut marked = vec![false; n];
    for &v in nodes {
        if v as usize >= n {
            return cannot(format!("{kind} index {v} is no node, the graph has {n}"));
        }
        if std::mem::replace(&mut marked[v as usize], true) {
            return cannot(format!("{kind} {} is there twice", graph.id(v)));
        }
    }
    if nodes.is_empty() {
        return cannot(format!("there is no {kind}, name at least one"));
    }
    Ok(marked)
}

/// What is being checked.
struct Check<'a> {
    graph: &'a Graph,
    scores: &'a [f64],
    question: &'a BetweennessQuestion<'a>,
    scale: Scale,
}

impl Check<'_> {
    fn wrong(&self, v: usize, what: String) -> Error {
        Error::Verify(format!("betweenness, node {}: {what}", self.graph.id(v as u32)))
    }

    /// Whether nothing is known of the score of `v`: of the only source.
    fn is_undefined(&self, v: usize) -> bool {
        self.scale.at(v).is_nan()
    }

    fn are_scores(&self) -> Result<()> {
        let fine = |v: usize| match self.scores[v] {
            score if self.is_undefined(v) => score.is_nan() || score == 0.0,
            score => score.is_finite() && score >= 0.0,
        };
        let Some(v) = first_by_id(self.graph, |v| !fine(v)) else { return Ok(()) };
        let fault = match self.scores[v] {
            _ if self.is_undefined(v) => "is not NaN or 0, but it is the only source's, 0/0",
            score if score < 0.0 => "is negative",
            _ => "is not a finite number",
        };
        Err(self.wrong(v, format!("score {:?} {fault}", self.scores[v])))
    }

    /// A score without its scale.
    fn raw(&self, v: usize) -> f64 {
        if self.is_undefined(v) { 0.0 } else { self.scores[v] / self.scale.at(v) }
    }

    /// Compares each score with the right one; the worst error.
    fn compare(&self, raw: &[f64]) -> Result<f64> {
        let error = |v: usize| match self.is_undefined(v) {
            true => 0.0,
            // Of a raw score, one pair is 1.
            false => (self.raw(v) - raw[v]).abs() / raw[v].max(1.0),
        };
        // Not a number is wrong, too.
        let fine = |v: usize| error(v) <= self.question.tolerance;
        if let Some(v) = first_by_id(self.graph, |v| !fine(v)) {
            let (score, right) = (self.scores[v], raw[v] * self.scale.at(v));
            let fault = if score > right { "too high" } else { "too low" };
            let bound = self.question.tolerance;
            let by = format!("by {:.3e} of it or of one pair (at most {bound:e})", error(v));
            return Err(self.wrong(v, format!("score {score} is {fault}, it is {right}: {by}")));
        }
        Ok((0..raw.len()).into_par_iter().map(error).reduce(|| 0.0, f64::max))
    }

    /// Compares the sum of all raw scores with what distances say; the error.
    fn sum(&self, pairs: u64, hops: u128) -> Result<f64> {
        // Nodes on a path of `hops` arcs: one less between its ends, one more with them.
        let right = match self.question.endpoints {
            true => hops + u128::from(pairs),
            false => hops - u128::from(pairs),
        } as f64;
        let nodes = self.graph.nodes();
        let block = |first: usize| {
            let some = first..nodes.min(first + BLOCK);
            some.map(|v| self.raw(v)).sum::<f64>()
        };
        let blocks = (0..nodes).into_par_iter().step_by(BLOCK);
        let sum: f64 = blocks.map(block).collect::<Vec<f64>>().iter().sum();
        let error = (sum - right).abs() / right.max(1.0);
        // Adding up rounds too: some 2^-53 a node at worst.
        let bound = self.question.tolerance + nodes as f64 * f64::EPSILON;
        if error > bound {
            let what = "the scores sum, without their scale,";
            let is = format!("but the distances from the sources say {right}");
            let off = format!("{error:.3e} of it off (at most {bound:.3e})");
            return Err(Error::Verify(format!("betweenness: {what} to {sum}, {is}: {off}")));
        }
        Ok(error)
    }

    /// What can be said with paths counted from `some` of the sources.
    fn part(&self, some: usize) -> Result<BetweennessCheck> {
        let BetweennessQuestion { sources, targets, weighted, tolerance, .. } = *self.question;
        let spread =
            |i: usize| sources[(i as u128 * sources.len() as u128 / some as u128) as usize];
        let some_sources: Vec<u32> = (0..some).map(spread).collect();
        let least = match weighted {
            true => brandes_by_weight(self.graph, &some_sources, self.question),
            false => brandes(self.graph, &some_sources, self.question).0,
        };
        let low = |v: usize| {
            !self.is_undefined(v) && self.raw(v) < least[v] - tolerance * least[v].max(1.0)
        };
        if let Some(v) = first_by_id(self.graph, low) {
            let (score, right) = (self.scores[v], least[v] * self.scale.at(v));
            let from = format!("{some} of {} sources give {right}", sources.len());
            return Err(self.wrong(v, format!("score {score} is too low: {from}")));
        }
        let passes = (sources.len() as u64).div_ceil(64);
        let affordable =
            passes.saturating_mul(self.graph.arcs()) <= SUM_WORK && targets.is_none() && !weighted;
        let sum_error = affordable.then(|| self.bounds()).transpose()?;
        Ok(BetweennessCheck { checked_sources: some as u64, worst_error: 0.0, sum_error })
    }

    /// What can be said without counting paths.
    fn bounds(&self) -> Result<f64> {
        let BetweennessQuestion { sources, endpoints, tolerance, .. } = *self.question;
        let seen = hops::count(self.graph, sources);
        let mut ends = vec![0u64; self.graph.nodes()];
        if endpoints {
            let reachers = seen.reachers.iter().map(|&count| u64::from(count));
            ends.iter_mut().zip(reachers).for_each(|(ends, reachers)| *ends = reachers);
            let reached = sources.iter().zip(&seen.reached);
            reached.for_each(|(&s, &reached)| ends[s as usize] += u64::from(reached));
        }
        let most = |v: usize| {
            let onward = self.graph.neighbors(v).any(|(u, _)| u as usize != v);
            let targets = if onward { self.graph.nodes().saturating_sub(2) } else { 0 };
            ends[v] as f64 + f64::from(seen.reachers[v]) * targets as f64
        };
        let high = |v: usize| self.raw(v) > most(v) + tolerance * most(v).max(1.0);
        let low = |v: usize| self.raw(v) < ends[v] as f64 - tolerance * ends[v].max(1) as f64;
        let out = |v: usize| !self.is_undefined(v) && (high(v) || low(v));
        if let Some(v) = first_by_id(self.graph, out) {
            let (score, scale) = (self.scores[v], self.scale.at(v));
            let fault = match high(v) {
                true => format!("too high: all paths give at most {}", most(v) * scale),
                false => format!("too low: ends of paths give {}", ends[v] as f64 * scale),
            };
            return Err(self.wrong(v, format!("score {score} is {fault}")));
        }
        self.sum(seen.pairs, seen.hops)
    }
}

/// Raw scores of what is asked, from these sources, and over pairs of a source and another node that it reaches, or a target: how many,
/// and distances together.
fn brandes(graph: &Graph, sources: &[u32], asked: &BetweennessQuestion) -> (Vec<f64>, u64, u128) {
    let (targets, groups) = (targets_of(graph, asked), groups(graph, sources));
    let group = |first: usize| {
        let mut search = Search::new(graph);
        for &source in sources.iter().skip(first).step_by(groups) {
            search.add(source as usize, asked.endpoints, targets.as_deref());
        }
        (search.scores, search.pairs, search.hops)
    };
    let sums: Vec<_> = (0..groups).into_par_iter().with_max_len(1).map(group).collect();
    let raw = |v: usize| sums.iter().map(|sum| sum.0[v]).sum();
    let raw = (0..graph.nodes()).into_par_iter().map(raw).collect();
    (raw, sums.iter().map(|sum| sum.1).sum(), sums.iter().map(|sum| sum.2).sum())
}

/// The same by weight: raw scores.
fn brandes_by_weight(graph: &Graph, sources: &[u32], asked: &BetweennessQuestion) -> Vec<f64> {
    let (targets, groups) = (targets_of(graph, asked), groups(graph, sources));
    let group = |first: usize| {
        let mut search = by_weight::Search::new(graph);
        for &source in sources.iter().skip(first).step_by(groups) {
            search.add(source as usize, asked.endpoints, targets.as_deref());
        }
        search.scores
    };
    let sums: Vec<_> = (0..groups).into_par_iter().with_max_len(1).map(group).collect();
    let raw = |v: usize| sums.iter().map(|sum| sum[v]).sum();
    (0..graph.nodes()).into_par_iter().map(raw).collect()
}

/// `[n]` whether a node is a target, where not all are.
fn targets_of(graph: &Graph, asked: &BetweennessQuestion) -> Option<Vec<bool>> {
    asked.targets.map(|targets| {
        let mut all = vec![false; graph.nodes()];
        targets.iter().for_each(|target| all[*target as usize] = true);
        all
    })
}

/// How many searches there is room for at once.
fn groups(graph: &Graph, sources: &[u32]) -> usize {
    let room = (MEMORY / (BYTES * graph.nodes().max(1) as u64)).clamp(1, GROUPS);
    (room as usize).min(sources.len())
}

#[cfg(test)]
mod tests;
