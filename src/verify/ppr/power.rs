//! Checks what power iteration has found, by iterating again in f64, one source after another.
//!
//! One iteration is the map
//!
//! ~~~text
//! F(x)[v] = (1 - d) [v = s] + d (sum over arcs u -> v of x[u] w / W[u] + D [v = s])
//! ~~~
//!
//! with the source s, W[u] the out-weights of u together and D the sum of x over nodes whose out-weights sum to 0. F keeps a sum of 1.
//! Of the x after as many iterations as were made it is checked that
//!
//! 1. the last went as far as is said, and no other already ended it;
//! 2. every row has the value of its node, and no other node has a higher value than the last row;
//! 3. the residual |F(x) - x| is at most d times as far as the last went: x solves the equation to the tolerance.
//!
//! What is checked is in whole units of 2^-62. Each iteration rounds off less than a unit an arc, which comes to the source.

use super::{PprFound, rows, wrong};
use crate::error::Result;
use crate::graph::Graph;
use crate::hash::mix;
use rayon::prelude::*;

/// What power iteration was asked.
#[derive(Debug, Clone, Copy)]
pub struct PowerQuestion<'a> {
    /// Nodes, by rising input id.
    pub sources: &'a [u32],
    /// The share that follows arcs, in [0, 1).
    pub damping: f64,
    /// Most iterations of a source.
    pub iterations: u32,
    /// The L1 distance of two iterations at which a source ends; 0: never.
    pub tolerance: f64,
    /// Whether weights of arcs count.
    pub weighted: bool,
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct PowerFound<'a> {
    /// The highest values of each source.
    pub rows: PprFound<'a>,
    /// `[sources]` iterations that were made.
    pub iterations: &'a [u32],
    /// `[sources]` the L1 distance between the values of the last two.
    pub changes: &'a [f64],
}

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerCheck {
    /// Sources that were looked at.
    pub sources: usize,
    /// The largest |F(x) - x| in L1 of a source.
    pub residual: f64,
}

/// Arcs that are looked at, at most, unless one source takes more: some seconds on two cores.
const MOST: u64 = 1 << 31;
/// A unit.
const UNIT: f64 = 1.0 / (1u64 << 62) as f64;

/// Certifies the `most` highest values of each source, but for rounding, their order, and how many iterations there were. Of many sources
/// a random choice is looked at; of the others as [`super::ppr()`] does.
///
/// Takes 32 bytes a node for each thread.
///
/// # Errors
/// [`crate::Error::Verify`] names the first wrong source, what is found there and what is right.
pub fn ppr_by_power(
    graph: &Graph,
    question: PowerQuestion,
    most: usize,
    found: PowerFound,
) -> Result<PowerCheck> {
    let PowerFound { rows: all, iterations, changes } = found;
    let (sources, made) = (question.sources, iterations.len());
    if made != sources.len() || changes.len() != made {
        let changes = changes.len();
        return wrong(format!(
            "{made} iterations and {changes} changes of {} sources",
            sources.len()
        ));
    }
    let rows = rows(graph, sources, most, all)?;
    let map = Map::new(graph, &question);
    let each = graph.arcs() + graph.nodes() as u64 + 1;
    let mut places: Vec<usize> = (0..sources.len()).collect();
    places.sort_unstable_by_key(|place| mix(*place as u64));
    let mut work = 0;
    let in_time = places.iter().take_while(|place| {
        let before = work;
        work += each * u64::from(iterations[**place] + 1);
        before == 0 || work <= MOST
    });
    let many = in_time.count();
    places.truncate(many);
    let look = |place: &usize| {
        let own = rows[*place].clone();
        let one = One {
            source: sources[*place],
            nodes: &all.node[own.clone()],
            values: &all.value[own],
            iterations: iterations[*place],
            change: changes[*place],
        };
        map.residual(&one, most).map_err(|what| (*place, what))
    };
    let looked: Vec<_> = places.par_iter().map(look).collect();
    let mut residual: f64 = 0.0;
    let mut first: Option<(usize, String)> = None;
    for one in looked {
        match one {
            Ok(own) => residual = residual.max(own),
            Err(off) if first.as_ref().is_none_or(|first| off.0 < first.0) => first = Some(off),
            Err(_) => {}
        }
    }
    match first {
        Some((place, what)) => wrong(format!("source {}: {what}", graph.id(sources[place]))),
        None => Ok(PowerCheck { sources: many, residual }),
    }
}

/// What was found of one source.
struct One<'a> {
    source: u32,
    nodes: &'a [u32],
    values: &'a [f64],
    iterations: u32,
    change: f64,
}

/// The map F, but for the source.
struct Map<'a> {
    graph: &'a Graph,
    question: &'a PowerQuestion<'a>,
    weighted: bool,
    /// `[n]` the weights of the arcs out of a node.
    out: Vec<f64>,
    /// Most arcs into a node.
    longest: u64,
}

impl<'a> Map<'a> {
    fn new(graph: &'a Graph, question: &'a PowerQuestion<'a>) -> Map<'a> {
        let weighted = question.weighted && graph.is_weighted();
        let out = |v: usize| match weighted {
            true => graph.neighbors(v).map(|(_, w)| f64::from(w)).sum(),
            false => graph.degree(v) as f64,
        };
        let mut into = vec![0u64; graph.nodes()];
        (0..graph.nodes())
            .for_each(|v| graph.neighbors(v).for_each(|(to, _)| into[to as usize] += 1));
        Map {
            graph,
            question,
            weighted,
            out: (0..graph.nodes()).into_par_iter().map(out).collect(),
            longest: into.into_iter().max().unwrap_or(0),
        }
    }

    /// F of the values `x`, in `next`; how far it goes.
    fn apply(&self, source: usize, x: &[f64], next: &mut [f64]) -> f64 {
        let d = self.question.damping;
        next.fill(0.0);
        let mut dangling = 0.0;
        for (u, all) in self.out.iter().enumerate() {
            if *all == 0.0 {
                dangling += x[u];
            } else if x[u] > 0.0 {
                let share = d * x[u] / all;
                for (v, w) in self.graph.neighbors(u) {
                    next[v as usize] += share * if self.weighted { f64::from(w) } else { 1.0 };
                }
            }
        }
        next[source] += 1.0 - d + d * dangling;
        x.iter().zip(&*next).map(|(a, b)| (a - b).abs()).sum()
    }

    /// The residual of a source; what is wrong, where something is.
    fn residual(&self, one: &One, most: usize) -> Result<f64, String> {
        let PowerQuestion { damping, tolerance, iterations: limit, .. } = *self.question;
        let (n, source) = (self.graph.nodes(), one.source as usize);
        let (mut x, mut next) = (vec![0.0; n], vec![0.0; n]);
        x[source] = 1.0;
        if one.iterations == 0 || one.iterations > limit {
            return Err(format!("{} iterations, of 1 to {limit}", one.iterations));
        }
        let made = f64::from(one.iterations);
        // Each iteration passes on the share d of what earlier ones have rounded off.
        let growth = (1.0 - damping.powf(made)) / (1.0 - damping);
        // What nodes round off to units and to f64 comes to the source.
        let lost = 2.0 * (self.graph.arcs() + 1) as f64 * UNIT + 4.0 * f64::EPSILON;
        let absolute = growth * lost;
        let relative = made * (self.longest + 16) as f64 * f64::EPSILON;
        // In L1.
        let rounding = absolute + relative;
        let mut went = 0.0;
        for k in 1..=one.iterations {
            went = self.apply(source, &x, &mut next);
            std::mem::swap(&mut x, &mut next);
            if k < one.iterations && tolerance > 0.0 && went < tolerance - 2.0 * rounding {
                return Err(format!(
                    "{} iterations, but number {k} went only {went:e} in L1",
                    one.iterations
                ));
            }
        }
        let off = (went - one.change).abs();
        if off.is_nan() || off > 2.0 * rounding {
            return Err(format!("a last change of {:e}, and it should be {went:e}", one.change));
        }
        let ended = one.iterations == limit || tolerance > 0.0 && one.change <= tolerance;
        if !ended {
            return Err(format!("{} iterations, the last of which went {went:e}", one.iterations));
        }
        let bound = |right: f64| absolute + relative * right;
        let mut listed = vec![false; n];
        for (k, (node, value)) in one.nodes.iter().zip(one.values).enumerate() {
            let right = x[*node as usize];
            listed[*node as usize] = true;
            if (value - right).abs() > bound(right) {
                let node = self.graph.id(*node);
                return Err(format!(
                    "number {} is node {node} with {value:e}, and should have {right:e}",
                    k + 1
                ));
            }
            let before = k.checked_sub(1).map(|k| (one.nodes[k], one.values[k]));
            let rank = |node| self.graph.rank(node);
            if before.is_some_and(|(other, same)| same == *value && rank(other) > rank(*node)) {
                let node = self.graph.id(*node);
                return Err(format!("number {} is node {node}, of as much as one before", k + 1));
            }
        }
        let least = match one.values.last().filter(|_| one.values.len() == most) {
            Some(last) => *last,
            None => 0.0,
        };
        let missed = (0..n).find(|v| !listed[*v] && x[*v] > least + bound(x[*v]) + UNIT);
        if let Some(v) = missed {
            let (node, right) = (self.graph.id(v as u32), x[v]);
            return Err(format!("node {node} with {right:e} is not listed"));
        }
        let residual = self.apply(source, &x, &mut next);
        if residual > damping * one.change + 2.0 * rounding {
            return Err(format!("a residual of {residual:e}"));
        }
        Ok(residual)
    }
}
