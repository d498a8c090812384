//! Checks PageRank, by doing it again in f64 and by its residual.
//!
//! One iteration is the map
//!
//! ~~~text
//! F(r)[v] = (1 - d) p[v] + d (sum over arcs u -> v of r[u] w / W[u] + D p[v])
//! ~~~
//!
//! with damping d, teleport p (uniform unless personal), W[u] the out-weights of u together and D the ranks
//! of dangling nodes together, those whose out-weights sum to 0. Weights are 1 unless asked for; self loops
//! and parallel arcs count as arcs. Ranks start at p. F keeps a sum of 1, and brings two vectors closer in
//! L1 by the factor d at least.
//!
//! Three things are checked of ranks r after k iterations:
//!
//! 1. each is finite and not negative, and they sum to 1;
//! 2. they agree in L1, and each by itself, with k iterations in f64, unless that is more than [`WORK`] arcs;
//! 3. the residual |F(r) - r|. Where r has converged, |r - r'| was at most the tolerance for the r' before
//!    it, so |F(r) - r| is at most d times that, plus [`ROUNDING`]. Otherwise, where 2 was too much, it must
//!    have shrunk as F makes it shrink: to d^k |F(p) - p| at most, plus what an error within [`AGREE`]
//!    adds.
//!
//! Rounding errors of an iteration are carried on by the later ones, each time with at most d of their size in L1. So
//! what k iterations may be off grows as the sum of d^i for i < k. The tolerances are for d = 0.85, where that sum is
//! below 1 / 0.15; for a larger d they grow with it, a hundredfold at most ([`Map::growth`]).
//!
//! Sums are added in fixed blocks, so that a check says the same with any number of threads.

mod gpu;

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::threads::Body;
use rayon::prelude::*;

/// Arcs over all iterations up to which they are done again.
const WORK: u64 = 1 << 36;
/// L1 distance to the ranks in f64, relative to their sum, that is taken for rounding.
const AGREE: f64 = 1e-6;
/// How far a rank may be from the rank in f64, relative to it.
const NODE: f64 = 1e-5;
/// How far it may be in any case, 2^-100. Below 2^-126 an f32 has fewer digits, and a term of a sum may lose up to
/// 2^-149: 2^49 of them, more than all arcs of all iterations, lose this.
const LEAST: f64 = 7.888_609_052_210_118e-31;
/// Ranks of dangling nodes are added as whole units of 2^-60: each is off by half a unit at most.
const HALF_UNIT: f64 = 4.336_808_689_942_018e-19;
/// How far the sum of ranks may be from 1.
const SUM: f64 = 1e-5;
/// What one iteration in f32 may add to the residual in L1: 16 roundings of half a unit in the last place,
/// 2^-24 of each rank. That is the share r / W, its product with w, a dozen levels of a tree of partial sums,
/// the teleport and the store.
const ROUNDING: f64 = 16.0 / (1u32 << 24) as f64;
/// Nodes that are added up by one task.
const BLOCK: usize = 1 << 14;

/// What PageRank was asked.
#[derive(Debug, Clone, Copy)]
pub struct PagerankQuestion<'a> {
    /// The share of rank that follows arcs, in [0, 1].
    pub damping: f64,
    /// Iterations that were made.
    pub iterations: u32,
    /// The L1 step at which it said that it had converged; `None`: the count of iterations was fixed.
    pub tolerance: Option<f64>,
    /// Whether weights of arcs count.
    pub weighted: bool,
    /// `[n]`, sums to 1: where ranks start, teleport, and dangling ranks go. `None` is uniform.
    pub personal: Option<&'a [f64]>,
}

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PagerankCheck {
    /// L1 distance to the same iterations in f64, relative to their sum; `None` where they were too many. Ranks are
    /// certified where it is there. A GPU may round what is added up to f32, which moves this by less than 4e-7, or, with a
    /// damping above 0.85, as much more as the bounds grow.
    pub l1_error: Option<f64>,
    /// The largest distance of a rank to that in f64, relative to it; `None` where iterations were too many.
    pub node_error: Option<f64>,
    /// |F(r) - r| in L1, by f64.
    pub residual: f64,
    /// The ranks together.
    pub sum: f64,
}

/// Certifies `ranks` (`[n]`): finite, not negative, a sum within 1e-5 of 1, within 1e-6 in L1 of the same
/// iterations in f64 and each within 1e-5 of itself, and, with a tolerance, a residual of at most that. With a damping
/// above 0.85 the first three bounds grow as the file's header says. Where the iterations are too many to be made again,
/// [`PagerankCheck::l1_error`] is `None`, and the ranks are not certified.
///
/// Takes a transpose (8 bytes an arc, 12 with weights) unless the graph is symmetric, a pass over it for each
/// iteration, at most some 2^36 arcs together, and 32 bytes a node, in parallel.
///
/// # Errors
///
/// [`Error::Verify`] names the node of the lowest input id that has no rank at all, or the one that is
/// furthest off, its rank and the rank that belongs there. [`Error::Input`] for a question that makes no
/// sense.
pub fn pagerank(
    graph: &Graph,
    ranks: &[f32],
    question: &PagerankQuestion,
) -> Result<PagerankCheck> {
    accepted(graph, ranks, question)?;
    check_pagerank(graph, ranks, question, &OnHost::new(graph, question), WORK)
}

/// Refuses questions that make no sense, and ranks that are none.
fn accepted(graph: &Graph, ranks: &[f32], question: &PagerankQuestion) -> Result<()> {
    makes_sense(graph, question)?;
    one_a_node(graph, "PageRank", "ranks", ranks.len())?;
    are_ranks(graph, ranks)
}

/// As [`pagerank`], by this `map`, with iterations done again up to `work` arcs.
fn check_pagerank(
    graph: &Graph,
    ranks: &[f32],
    question: &PagerankQuestion,
    map: &impl Map,
    work: u64,
) -> Result<PagerankCheck> {
    let ranks: Vec<f64> = ranks.par_iter().copied().map(f64::from).collect();
    let sum = total(&ranks, |_, rank| rank);
    let growth = map.growth(question.iterations);
    let [agree, node, off] = [AGREE, NODE, SUM].map(|bound| bound * growth);
    if graph.nodes() > 0 && (sum - 1.0).abs() > off {
        let sum = format!("the ranks sum to {sum}, not to 1 (within {off:.3e})");
        return Err(Error::Verify(format!("PageRank: {sum}")));
    }
    let redone = (u64::from(question.iterations).saturating_mul(graph.arcs()) <= work)
        .then(|| map.iterated(question.iterations))
        .transpose()?;
    let mut check = PagerankCheck { l1_error: None, node_error: None, residual: 0.0, sum };
    if let Some(right) = &redone {
        let error = distance(&ranks, right) / total(right, |_, rank| rank).max(f64::MIN_POSITIVE);
        let k = question.iterations;
        if error > agree {
            let from = format!("from {k} iterations in f64 (at most {agree:.3e})");
            return Err(furthest(graph, &ranks, right, format!("{error:.3e} in L1 {from}")));
        }
        let mut worst = worst(&ranks, right, &|_| LEAST);
        if worst > node {
            // Ranks that fall towards 0 may lose what dangling nodes lose to whole units.
            let lost = map.lost_in_units(k)?;
            let least = |v: usize| LEAST + lost[v];
            worst = self::worst(&ranks, right, &least);
            if worst > node {
                let by =
                    format!("by {worst:.3e} of it from {k} iterations in f64 (at most {node:.3e})");
                let off = |v: usize| off_by(ranks[v], right[v], least(v));
                let v = first_by_id(graph, |v| off(v) == worst).unwrap_or_default();
                return Err(worst_node(graph, v, (ranks[v], right[v]), &by));
            }
        }
        (check.l1_error, check.node_error) = (Some(error), Some(worst));
    }
    let next = map.applied(ranks.clone(), 1)?;
    check.residual = distance(&next, &ranks);
    let bound = match question.tolerance {
        Some(tolerance) => tolerance + ROUNDING * growth,
        None if redone.is_some() => f64::INFINITY,
        None => map.shrunk(question.iterations)?,
    };
    if check.residual > bound {
        let residual = format!("residual {:.3e} in L1 (at most {bound:.3e})", check.residual);
        return Err(furthest(graph, &ranks, &next, residual));
    }
    Ok(check)
}

fn makes_sense(graph: &Graph, question: &PagerankQuestion) -> Result<()> {
    let PagerankQuestion { damping, tolerance, personal, .. } = *question;
    if !(0.0..=1.0).contains(&damping) {
        return Err(Error::input(format!(
            "cannot check PageRank with damping {damping}: use 0 to 1"
        )));
    }
    if let Some(tolerance) = tolerance.filter(|t| !(t.is_finite() && *t >= 0.0)) {
        let what = format!("cannot check PageRank to a tolerance of {tolerance}");
        return Err(Error::input(format!("{what}: use a small number, as in 1e-6")));
    }
    let Some(personal) = personal else { return Ok(()) };
    let (n, length) = (graph.nodes(), personal.len());
    if length != n {
        let lengths = format!("the graph has {n} nodes, the teleport {length} values");
        return Err(Error::input(format!("cannot check personalised PageRank: {lengths}")));
    }
    let sum = total(personal, |_, p| p);
    let shares = personal.par_iter().all(|p| p.is_finite() && *p >= 0.0);
    if n > 0 && !(shares && (sum - 1.0).abs() <= 1e-9) {
        let what = format!("the teleport sums to {sum}; give values >= 0 that sum to 1");
        return Err(Error::input(format!("cannot check personalised PageRank: {what}")));
    }
    Ok(())
}

fn are_ranks(graph: &Graph, ranks: &[f32]) -> Result<()> {
    let fine = |v: usize| ranks[v].is_finite() && ranks[v] >= 0.0;
    let Some(v) = first_by_id(graph, |v| !fine(v)) else { return Ok(()) };
    let (id, rank) = (graph.id(v as u32), ranks[v]);
    let fault = if rank < 0.0 { "is negative" } else { "is not a finite number" };
    Err(Error::Verify(format!("PageRank, node {id}: rank {rank:?} {fault}")))
}

/// The refusal that names the node whose rank is furthest off; of several, that of the lowest input id.
fn furthest(graph: &Graph, ranks: &[f64], right: &[f64], what: String) -> Error {
    let off = |v: usize| (ranks[v] - right[v]).abs();
    let most = (0..ranks.len()).into_par_iter().map(off).reduce(|| 0.0, f64::max);
    match first_by_id(graph, |v| off(v) == most) {
        None => Error::Verify(format!("PageRank: {what}")),
        Some(v) => {
            let (id, rank, right) = (graph.id(v as u32), ranks[v], right[v]);
            let worst = format!("rank {rank:e} is furthest off: it is {right:e}");
            Error::Verify(format!("PageRank, node {id}: {worst}; the ranks are off by {what}"))
        }
    }
}

/// How far a rank is off, relative to the right one, beyond what it may be off in any case.
fn off_by(rank: f64, right: f64, least: f64) -> f64 {
    ((rank - right).abs() - least).max(0.0) / right.max(least)
}

/// The largest relative error of a rank, beyond `least` of a node.
fn worst(ranks: &[f64], right: &[f64], least: &(impl Fn(usize) -> f64 + Sync)) -> f64 {
    let errors = (0..ranks.len()).into_par_iter().map(|v| off_by(ranks[v], right[v], least(v)));
    errors.reduce(|| 0.0, f64::max)
}

/// The refusal that names node `v`, whose relative error is too large.
fn worst_node(graph: &Graph, v: usize, (rank, right): (f64, f64), by: &str) -> Error {
    let id = graph.id(v as u32);
    Error::Verify(format!("PageRank, node {id}: rank {rank:e} is off, it is {right:e}: {by}"))
}

/// The sum of `of(v, values[v])`, in blocks of nodes.
fn total(values: &[f64], of: impl Fn(usize, f64) -> f64 + Sync) -> f64 {
    let block: Body<(usize, &[f64]), f64> =
        &|(i, block)| block.iter().enumerate().map(|(j, &value)| of(i * BLOCK + j, value)).sum();
    values.par_chunks(BLOCK).enumerate().map(block).collect::<Vec<f64>>().iter().sum()
}

/// |a - b| in L1.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    total(a, |v, value| (value - b[v]).abs())
}

/// The map F.
trait Map {
    fn damping(&self) -> f64;

    /// `[n]` 1 / W; 0 where nothing leaves.
    fn share(&self) -> &[f64];

    /// The teleport.
    fn personal(&self, v: usize) -> f64;

    /// Ranks after so many more iterations.
    fn applied(&self, ranks: Vec<f64>, iterations: u32) -> Result<Vec<f64>>;

    fn start(&self) -> Vec<f64> {
        (0..self.share().len()).map(|v| self.personal(v)).collect()
    }

    fn iterated(&self, iterations: u32) -> Result<Vec<f64>> {
        self.applied(self.start(), iterations)
    }

    /// `[n]` how much the ranks after so many iterations may have lost by adding the ranks of dangling nodes in whole
    /// units: each iteration maps what was lost before, and loses half a unit a dangling node more.
    fn lost_in_units(&self, iterations: u32) -> Result<Vec<f64>> {
        let dangling = self.share().par_iter().filter(|share| **share == 0.0).count() as f64;
        let (d, mut lost) = (self.damping(), vec![0.0; self.share().len()]);
        for _ in 0..iterations {
            lost = self.applied(lost, 1)?;
            let begun = |v: usize| (1.0 - d - d * dangling * HALF_UNIT) * self.personal(v);
            lost.iter_mut().enumerate().for_each(|(v, lost)| *lost = (*lost - begun(v)).max(0.0));
        }
        Ok(lost)
    }

    /// How much more rounding may add up to in so many iterations than with a damping of 0.85, where that is more.
    fn growth(&self, iterations: u32) -> f64 {
        let d = self.damping();
        let sum = match 1.0 - d {
            0.0 => f64::from(iterations),
            gap => (1.0 - d.powf(f64::from(iterations))) / gap,
        };
        (0.15 * sum).clamp(1.0, 100.0)
    }

    /// What the residual is at most after so many iterations.
    fn shrunk(&self, iterations: u32) -> Result<f64> {
        let start = self.start();
        let first = distance(&self.applied(start.clone(), 1)?, &start);
        let agree = AGREE * self.growth(iterations);
        Ok(self.damping().powf(f64::from(iterations)) * first + (1.0 + self.damping()) * agree)
    }
}

/// The map on the host.
struct OnHost<'a> {
    damping: f64,
    share: Vec<f64>,
    personal: Option<&'a [f64]>,
    weighted: bool,
    /// Arcs turned around; the graph's own where it is symmetric.
    turned: Option<Graph>,
    graph: &'a Graph,
}

impl OnHost<'_> {
    fn new<'a>(graph: &'a Graph, question: &PagerankQuestion<'a>) -> OnHost<'a> {
        let weighted = question.weighted && graph.is_weighted();
        let out = |v: usize| match weighted {
            true => graph.neighbors(v).map(|(_, w)| f64::from(w)).sum(),
            false => graph.degree(v) as f64,
        };
        let share = |v: usize| match out(v) {
            0.0 => 0.0,
            weight => 1.0 / weight,
        };
        OnHost {
            damping: question.damping,
            share: (0..graph.nodes()).into_par_iter().map(share).collect(),
            personal: question.personal,
            weighted,
            turned: (!graph.is_symmetric()).then(|| graph.transpose()),
            graph,
        }
    }

    fn apply(&self, ranks: &[f64]) -> Vec<f64> {
        let arcs = self.turned.as_ref().unwrap_or(self.graph);
        let dangling = total(ranks, |v, rank| if self.share[v] == 0.0 { rank } else { 0.0 });
        let leaving: Vec<f64> = ranks.par_iter().zip(&self.share).map(|(r, s)| r * s).collect();
        let arriving = |v: usize| -> f64 {
            let arrive =
                |(u, w)| leaving[u as usize] * if self.weighted { f64::from(w) } else { 1.0 };
            arcs.neighbors(v).map(arrive).sum()
        };
        let next = |v: usize| {
            let p = self.personal(v);
            (1.0 - self.damping) * p + self.damping * (arriving(v) + dangling * p)
        };
        let blocks = arcs.row_blocks();
        let rows: Vec<Vec<f64>> =
            blocks.into_par_iter().map(|rows| rows.map(next).collect()).collect();
        rows.concat()
    }
}

impl Map for OnHost<'_> {
    fn damping(&self) -> f64 {
        self.damping
    }

    fn share(&self) -> &[f64] {
        &self.share
    }

    fn personal(&self, v: usize) -> f64 {
        self.personal.map_or(1.0 / self.share.len() as f64, |p| p[v])
    }

    fn applied(&self, ranks: Vec<f64>, iterations: u32) -> Result<Vec<f64>> {
        Ok((0..iterations).fold(ranks, |ranks, _| self.apply(&ranks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    /// A ring of 50 with chords, directed.
    fn ring() -> Graph {
        let arcs: Vec<(u32, u32)> =
            (0..50).map(|v| (v, (v + 1) % 50)).chain((0..25).map(|v| (v, v * 3 % 7))).collect();
        let (sources, targets): (Vec<u32>, Vec<u32>) = arcs.into_iter().unzip();
        Graph::from_arcs(50, &sources, &targets, None, Origin::default()).unwrap()
    }

    #[test]
    fn too_much_to_do_again_leaves_the_residual_which_must_have_shrunk() {
        let graph = ring();
        let mut question = PagerankQuestion {
            damping: 0.85,
            iterations: 20,
            tolerance: None,
            weighted: false,
            personal: None,
        };
        let after = |k| -> Vec<f32> {
            let ranks = OnHost::new(&graph, &question).iterated(k).unwrap();
            ranks.into_iter().map(|rank| rank as f32).collect()
        };
        let (few, enough) = (after(5), after(20));
        let check = |ranks: &[f32], question: &PagerankQuestion, work| {
            check_pagerank(&graph, ranks, question, &OnHost::new(&graph, question), work)
        };
        let seen = check(&enough, &question, 0).unwrap();
        assert_eq!(seen.l1_error, None);
        let more = check(&enough, &question, WORK).unwrap();
        assert!(more.l1_error.is_some_and(|error| error < 1e-7));
        assert_eq!(more.residual, seen.residual);
        let refused = |ranks: &[f32], question: &PagerankQuestion, work| {
            let error = check(ranks, question, work).unwrap_err().to_string();
            assert!(error.contains("furthest off"), "{error}");
            error
        };
        assert!(refused(&few, &question, 0).contains("residual"));
        assert!(refused(&few, &question, WORK).contains("20 iterations"));
        question.tolerance = Some(1e-9);
        assert!(refused(&enough, &question, 0).contains("residual"));
    }
}
