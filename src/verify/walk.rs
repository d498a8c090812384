//! Checks random walks: walks them again.

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::{below, hash};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was asked: how walks are drawn.
#[derive(Debug, Clone, Copy)]
pub struct WalkQuestion<'a> {
    /// Nodes, by rising input id.
    pub starts: &'a [u32],
    /// Walks from each.
    pub walks: u64,
    /// Steps of each.
    pub length: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Probability of a step back to the start.
    pub restart: f32,
    /// node2vec's p and q.
    pub p: f64,
    /// See `p`.
    pub q: f64,
    /// `share` and `other` of the alias tables, `[m]`, where weights count: arc k of a row, by input id and weight, stays if a random
    /// u32 is below `share[k]`, and becomes `other[k]` else; `u32::MAX` throughout a row whose arcs weigh nothing.
    pub alias: Option<[&'a [u32]; 2]>,
    /// `[n]` scores of nodes, which are in place of the weights of the arcs that lead to them.
    pub scores: Option<&'a [f64]>,
    /// Whether a step goes to the neighbour of the highest score, of several to that of the lowest input id.
    pub greedy: bool,
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct WalkFound<'a> {
    /// `[n]` how often walkers were at each node.
    pub visits: &'a [u64],
    /// `[length + 1][walkers]` where they were, `u32::MAX` behind an end; or nothing.
    pub paths: &'a [Vec<u32>],
}

/// Arcs that are drawn for a step before all are looked at.
const TRIES: u32 = 256;

/// Certifies visits and paths, and that the alias tables have the probabilities of the weights: each to 2^-29 of a row's mean for
/// itself and for each arc that gives it a part, and to what sums of f64 are rounded. Returns the number of steps.
///
/// Takes 8 bytes a node, and where nodes were relabelled 8 bytes an arc.
///
/// # Errors
/// [`Error::Verify`] names the node of the lowest input id with a wrong table, then the first wrong walk, then the node of the
/// lowest input id with a wrong count.
pub fn walk(graph: &Graph, question: WalkQuestion, found: WalkFound) -> Result<u64> {
    one_a_node(graph, "walk", "visits", found.visits.len())?;
    let wrong = |what: String| Err(Error::Verify(format!("walk: {what}")));
    let walkers = question.starts.len() * question.walks as usize;
    let widths = found.paths.iter().map(Vec::len).collect::<Vec<_>>();
    if !found.paths.is_empty() && widths != vec![walkers; question.length + 1] {
        return wrong(format!("paths are not {walkers} walks of {} nodes", question.length + 1));
    }
    let rows = Rows::new(graph);
    if let Some(tables) = question.alias
        && let Some(row) =
            first_by_id(graph, |row| !table_is_right(&rows, row, (tables, question.scores)))
    {
        let node = graph.id(row as u32);
        return wrong(format!(
            "node {node}: the alias table of its arcs does not have their weights"
        ));
    }
    let best = match question.scores {
        Some(scores) if question.greedy => best_ends(&rows, scores),
        _ => Vec::new(),
    };
    let visits: Vec<AtomicU64> = (0..graph.nodes()).map(|_| AtomicU64::new(0)).collect();
    let off = (0..walkers).into_par_iter().find_map_first(|i| {
        let mut walker = Walker::new((&rows, &best), &question, i);
        for step in 0..=question.length {
            let at = walker.at;
            if let Some(at) = at {
                visits[at as usize].fetch_add(1, Ordering::Relaxed);
            }
            let told = found.paths.get(step).map(|nodes| nodes[i]);
            if told.is_some_and(|told| told != at.unwrap_or(u32::MAX)) {
                return Some((i, step, at));
            }
            walker.go(step as u64 + 1);
        }
        None
    });
    if let Some((i, step, at)) = off {
        let name =
            |node: Option<u32>| node.map_or("at its end".into(), |v| format!("at {}", graph.id(v)));
        let told = Some(found.paths[step][i]).filter(|told| (*told as usize) < graph.nodes());
        return wrong(format!(
            "walk {i}, step {step}: it is {}, and the answer has it {}",
            name(at),
            name(told)
        ));
    }
    let right = |v: usize| visits[v].load(Ordering::Relaxed);
    if let Some(v) = first_by_id(graph, |v| found.visits[v] != right(v)) {
        let node = graph.id(v as u32);
        return wrong(format!(
            "node {node}: {} visits, where there are {}",
            found.visits[v],
            right(v)
        ));
    }
    Ok(found.visits.iter().sum::<u64>() - walkers as u64)
}

/// Rows by input id and then by weight.
pub(super) struct Rows<'a> {
    graph: &'a Graph,
    /// `[m]` targets and weights, where they are in another order in memory.
    sorted: Vec<(u32, f32)>,
}

impl Rows<'_> {
    pub fn new(graph: &Graph) -> Rows<'_> {
        let mut sorted = Vec::new();
        if !graph.names_rise() {
            for row in 0..graph.nodes() {
                let first = sorted.len();
                sorted.extend(graph.neighbors(row));
                sorted[first..].sort_by(|a, b| {
                    graph.rank(a.0).cmp(&graph.rank(b.0)).then(a.1.total_cmp(&b.1))
                });
            }
        }
        Rows { graph, sorted }
    }

    /// Arcs of a row.
    pub fn degree(&self, row: usize) -> u64 {
        self.graph.degree(row)
    }

    /// Where arc k of a row leads, and its weight.
    pub fn arc(&self, row: usize, k: usize) -> (u32, f32) {
        let at = self.graph.offsets()[row] as usize + k;
        match self.sorted.get(at) {
            Some(arc) => *arc,
            None => {
                (self.graph.columns()[at], self.graph.weights().map_or(1.0, |weights| weights[at]))
            }
        }
    }
}

/// Where greedy walks go from each node: the first of the best ends, by input id.
fn best_ends(rows: &Rows, scores: &[f64]) -> Vec<u32> {
    let best = |row: usize| {
        let mut best = u32::MAX;
        for k in 0..rows.degree(row) as usize {
            let to = rows.arc(row, k).0;
            if best == u32::MAX || scores[to as usize] > scores[best as usize] {
                best = to;
            }
        }
        best
    };
    (0..rows.graph.nodes()).into_par_iter().map(best).collect()
}

/// Whether a row's alias table gives each arc the probability of its weight.
fn table_is_right(
    rows: &Rows,
    row: usize,
    ([share, other], scores): ([&[u32]; 2], Option<&[f64]>),
) -> bool {
    let graph = rows.graph;
    let own = graph.offsets()[row] as usize..graph.offsets()[row + 1] as usize;
    let own_len = own.len();
    let (share, other) = (&share[own.clone()], &other[own]);
    let weight = |(to, weight): (u32, f32)| scores.map_or(weight.into(), |all| all[to as usize]);
    let arcs: Vec<f64> = (0..own_len).map(|k| weight(rows.arc(row, k))).collect();
    // So that no sum is too large.
    let largest = arcs.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let arcs: Vec<f64> = arcs.iter().map(|weight| weight / largest).collect();
    let total: f64 = arcs.iter().sum();
    if total <= 0.0 {
        return share.iter().all(|share| *share == 0)
            && other.iter().all(|other| *other == u32::MAX);
    }
    // In units of a mean; each share may be off by 2^-32, those given away as well.
    let mut parts = vec![0.0; arcs.len()];
    let mut givers = vec![1.0; arcs.len()];
    for (k, (share, other)) in share.iter().zip(other).enumerate() {
        let Some(part) = parts.get_mut(*other as usize) else { return false };
        let stays = if *other as usize == k { 1.0 } else { f64::from(*share) / 4_294_967_296.0 };
        *part += 1.0 - stays;
        givers[*other as usize] += 1.0;
        parts[k] += stays;
    }
    let mean = total / arcs.len() as f64;
    let right = |k: usize| {
        let wanted = arcs[k] / mean;
        // The one that gave to the others lost a rounding each time.
        let rounded = 1e-15 * arcs.len() as f64 * (1.0 + givers[k]);
        (parts[k] - wanted).abs() <= givers[k] / 536_870_912.0 + 1e-9 * wanted + rounded
    };
    (0..arcs.len()).all(right)
}

/// The random numbers of a step.
struct Draws {
    key: u64,
    drawn: u64,
}

impl Draws {
    fn bits(&mut self) -> u64 {
        self.drawn += 1;
        hash(self.key, self.drawn - 1)
    }

    /// One of 2^24 numbers in [0, 1).
    fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / 16_777_216.0
    }
}

/// A walker on its way.
struct Walker<'a> {
    rows: &'a Rows<'a>,
    /// `[n]` where greedy walks go from each node; else nothing.
    best: &'a [u32],
    question: &'a WalkQuestion<'a>,
    number: u64,
    home: u32,
    /// `None` behind the end.
    at: Option<u32>,
    before: Option<u32>,
}

impl<'a> Walker<'a> {
    fn new(
        (rows, best): (&'a Rows, &'a [u32]),
        question: &'a WalkQuestion,
        i: usize,
    ) -> Walker<'a> {
        let home = question.starts[i / question.walks as usize];
        Walker { rows, best, question, number: i as u64, home, at: Some(home), before: None }
    }

    /// Step number `step`.
    fn go(&mut self, step: u64) {
        let Some(at) = self.at else { return };
        let key = hash(self.question.seed, (self.number << 20) + step);
        let mut draws = Draws { key, drawn: 0 };
        let restart = self.question.restart;
        if restart > 0.0 && draws.unit() < restart {
            (self.at, self.before) = (Some(self.home), None);
            return;
        }
        let next = self.next(at as usize, &mut draws);
        self.before = next.map(|_| at);
        self.at = next.or((restart > 0.0).then_some(self.home));
    }

    /// Where an arc out of a node leads.
    fn next(&self, row: usize, draws: &mut Draws) -> Option<u32> {
        let (rows, graph) = (self.rows, self.rows.graph);
        let WalkQuestion { p, q, alias, .. } = *self.question;
        let degree = graph.degree(row);
        if degree == 0 {
            return None;
        }
        if let Some(best) = self.best.get(row) {
            return Some(*best);
        }
        let first = graph.offsets()[row] as usize;
        let (back, away) = ((1.0 / p) as f32, (1.0 / q) as f32);
        let before = self.before.filter(|_| (p, q) != (1.0, 1.0) && degree > 1);
        let likely = |before: u32, to: u32| {
            let ends = [before as usize, before as usize + 1].map(|v| graph.offsets()[v] as usize);
            let near = || graph.columns()[ends[0]..ends[1]].binary_search(&to).is_ok();
            if to == before {
                back
            } else if near() {
                1.0
            } else {
                away
            }
        };
        for _ in 0..TRIES {
            let mut k = below(degree, draws.bits()) as usize;
            if let Some([share, other]) = alias {
                let coin = (draws.bits() >> 32) as u32;
                if coin >= share[first + k] {
                    k = other[first + k] as usize;
                }
                if k == u32::MAX as usize {
                    return None;
                }
            }
            let to = rows.arc(row, k).0;
            let Some(before) = before else { return Some(to) };
            if draws.unit() * back.max(away).max(1.0) < likely(before, to) {
                return Some(to);
            }
        }
        let before = before?;
        let part = |k: usize| {
            let (to, weight) = rows.arc(row, k);
            let weight = if alias.is_some() { weight } else { 1.0 };
            (to, f64::from(likely(before, to)) * f64::from(weight))
        };
        let all: f64 = (0..degree as usize).map(|k| part(k).1).fold(0.0, |sum, part| sum + part);
        let bound = (draws.bits() >> 11) as f64 / 9_007_199_254_740_992.0 * all;
        let (mut sum, mut found) = (0.0, None);
        for (to, part) in (0..degree as usize).map(part) {
            if sum > bound {
                break;
            }
            if part > 0.0 {
                found = Some(to);
            }
            sum += part;
        }
        found
    }
}
