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
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct WalkFound<'a> {
    /// `[n]` how often walkers were at each node.
    pub visits: &'a [u64],
    /// `[length + 1][walkers]` where they were, `u32::MAX` behind an end; or nothing.
    pub paths: &'a [Vec<u32>],
}

/// Certifies visits and paths, and that the alias tables have the probabilities of the weights, each to 2^-29 of a row's mean. Returns
/// the number of steps.
///
/// Takes 8 bytes a node.
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
    if let Some(tables) = question.alias
        && let Some(row) = first_by_id(graph, |row| !table_is_right(graph, row, tables))
    {
        let node = graph.id(row as u32);
        return wrong(format!(
            "node {node}: the alias table of its arcs does not have their weights"
        ));
    }
    let visits: Vec<AtomicU64> = (0..graph.nodes()).map(|_| AtomicU64::new(0)).collect();
    let off = (0..walkers).into_par_iter().find_map_first(|i| {
        let mut walker = Walker::new(graph, &question, i);
        for step in 0..=question.length {
            let at = walker.at;
            if let Some(at) = at {
                visits[at as usize].fetch_add(1, Ordering::Relaxed);
            }
            let told = found.paths.get(step).map(|nodes| nodes[i]);
            if told.is_some_and(|told| told != at.unwrap_or(u32::MAX)) {
                return Some((i, step, at));
            }
            walker.go();
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

/// The arcs of a row by input id and then by weight: targets and weights.
fn arcs(graph: &Graph, row: usize) -> Vec<(u32, f32)> {
    let mut arcs: Vec<_> = graph.neighbors(row).collect();
    if !graph.names_rise() {
        arcs.sort_by(|a, b| graph.rank(a.0).cmp(&graph.rank(b.0)).then(a.1.total_cmp(&b.1)));
    }
    arcs
}

/// Whether a row's alias table gives each arc the probability of its weight.
fn table_is_right(graph: &Graph, row: usize, [share, other]: [&[u32]; 2]) -> bool {
    let own = graph.offsets()[row] as usize..graph.offsets()[row + 1] as usize;
    let (share, other) = (&share[own.clone()], &other[own]);
    let arcs = arcs(graph, row);
    let total: f64 = arcs.iter().map(|arc| f64::from(arc.1)).sum();
    if total <= 0.0 {
        return other.iter().all(|other| *other == u32::MAX);
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
        let wanted = f64::from(arcs[k].1) / mean;
        (parts[k] - wanted).abs() <= givers[k] / 536_870_912.0 + 1e-9 * wanted
    };
    (0..arcs.len()).all(right)
}

/// The random numbers of a walker.
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
    graph: &'a Graph,
    question: &'a WalkQuestion<'a>,
    draws: Draws,
    home: u32,
    /// `None` behind the end.
    at: Option<u32>,
    before: Option<u32>,
}

impl<'a> Walker<'a> {
    fn new(graph: &'a Graph, question: &'a WalkQuestion, i: usize) -> Walker<'a> {
        let home = question.starts[i / question.walks as usize];
        let draws = Draws { key: hash(question.seed, i as u64), drawn: 0 };
        Walker { graph, question, draws, home, at: Some(home), before: None }
    }

    /// A step.
    fn go(&mut self) {
        let Some(at) = self.at else { return };
        let restart = self.question.restart;
        if restart > 0.0 && self.draws.unit() < restart {
            (self.at, self.before) = (Some(self.home), None);
            return;
        }
        let next = self.next(at);
        self.before = next.map(|_| at);
        self.at = next.or((restart > 0.0).then_some(self.home));
    }

    /// Where an arc leads.
    fn next(&mut self, at: u32) -> Option<u32> {
        let WalkQuestion { p, q, alias, .. } = *self.question;
        let row = at as usize;
        let degree = self.graph.degree(row);
        if degree == 0 {
            return None;
        }
        let first = self.graph.offsets()[row] as usize;
        // Only nodes that were relabelled have their arcs in another order in memory.
        let sorted = (!self.graph.names_rise()).then(|| arcs(self.graph, row));
        let (back, away) = ((1.0 / p) as f32, (1.0 / q) as f32);
        loop {
            let mut k = below(degree, self.draws.bits()) as usize;
            if let Some([share, other]) = alias {
                let coin = (self.draws.bits() >> 32) as u32;
                if coin >= share[first + k] {
                    k = other[first + k] as usize;
                }
                if k == u32::MAX as usize {
                    return None;
                }
            }
            let to = match &sorted {
                Some(arcs) => arcs[k].0,
                None => self.graph.columns()[first + k],
            };
            let Some(before) = self.before.filter(|_| (p, q) != (1.0, 1.0) && degree > 1) else {
                return Some(to);
            };
            let near = || self.graph.neighbors(before as usize).any(|(v, _)| v == to);
            let likely = if to == before {
                back
            } else if near() {
                1.0
            } else {
                away
            };
            if self.draws.unit() * back.max(away).max(1.0) < likely {
                return Some(to);
            }
        }
    }
}
