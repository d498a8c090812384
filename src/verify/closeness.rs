//! Checks closeness, harmonic centrality and eccentricity: searches from the nodes that they are of.

use super::one_a_node;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::mix;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Nodes and arcs that are looked at, at most: some seconds on two cores.
const MOST: u64 = 1 << 32;
/// Nodes that are looked at, at least.
const LEAST: usize = 16;

/// Values of each node, `[n]`.
#[derive(Debug, Clone, Copy)]
pub struct ClosenessFound<'a> {
    /// |R| / (sum of distances) * |R| / |S|, R the sources that reach the node, S those that are not the node.
    pub closeness: &'a [f64],
    /// Sum of 1 / distance * (n - 1) / |S|.
    pub harmonic: &'a [f64],
    /// The largest distance.
    pub eccentricity: &'a [f64],
    /// |R|.
    pub reached: &'a [u32],
    /// A width, and `[bins]` pairs at distances d with k width <= d < (k + 1) width.
    pub histogram: Option<(f64, &'a [u64])>,
}

/// Which distances are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosenessBy {
    /// Numbers of arcs.
    Arcs,
    /// Sums of weights, added up in 32 bits.
    Weights32,
    /// The same in 64 bits.
    Weights64,
}

/// Which distances count.
#[derive(Debug, Clone, Copy)]
pub struct ClosenessOf {
    /// What they are.
    pub by: ClosenessBy,
    /// From the node to the sources.
    pub out: bool,
    /// None above this.
    pub within: Option<f64>,
}

/// Certifies what was found of distances from `sources` (distinct) to nodes, or with `out` to the sources. Distances in arcs are exact.
/// By weight they are too large by at most 2 h 2^-24 of themselves (2^-53 in 64 bits), where shortest paths have at most h arcs, and too
/// small by at most 2 n 2^-24, since a path of more arcs may lose more by rounding; those above 3.4e38 are none in 32 bits. Closeness is
/// right to that and 1e-12, harmonic centrality of distances in arcs to 1e-12 + n 2^-62 times the eccentricity. A pair may be in any bin that
/// such an error leads to. Returns how many nodes it has looked at: all, if that takes at most 2^32 looks at nodes and arcs (2^28 by
/// weight), else a random choice of them; a bin must then have at least their pairs.
///
/// Takes 5 bytes a node and thread, 16 and a queue by weight, and the reverse of a directed graph.
///
/// # Errors
/// [`Error::Verify`] names a wrong node: the first by input id of those that were looked at.
pub fn closeness(
    graph: &Graph,
    sources: &[u32],
    ClosenessOf { by, out, within }: ClosenessOf,
    found: ClosenessFound,
) -> Result<usize> {
    let n = graph.nodes();
    one_a_node(graph, "closeness", "values", found.closeness.len())?;
    one_a_node(graph, "closeness", "values", found.harmonic.len())?;
    one_a_node(graph, "closeness", "values", found.eccentricity.len())?;
    one_a_node(graph, "closeness", "values", found.reached.len())?;
    let reverse = (!out && !graph.is_symmetric()).then(|| graph.transpose());
    let rows = reverse.as_ref().unwrap_or(graph);
    let mut is_source = vec![false; n];
    sources.iter().for_each(|source| is_source[*source as usize] = true);

    let most = if by == ClosenessBy::Arcs { MOST } else { MOST / 16 };
    let most = ((most / (n as u64 + graph.arcs()).max(1)) as usize).max(LEAST);
    let mut ranks: Vec<u32> = (0..n as u32).collect();
    if most < n {
        ranks.sort_unstable_by_key(|rank| mix(u64::from(*rank)));
        ranks.truncate(most);
        ranks.sort_unstable();
    }
    let (looked, uncertain) = (ranks.len(), AtomicBool::new(false));
    let search = || (vec![false; if by == ClosenessBy::Arcs { n } else { 0 }], Vec::new());
    let bounds =
        found.histogram.map(|(width, counts)| Bounds::new(width, counts.len(), exact(graph, by)));
    let wrong = ranks.into_par_iter().map_init(search, |space, rank| {
        let v = graph.ranked(rank);
        let right: Option<(Right, Vec<(f64, u64)>)> = match by {
            ClosenessBy::Arcs => {
                let mut levels = sources_by_level(rows, &is_source, v, space);
                levels.truncate(
                    within.map_or(usize::MAX, |within| (within as usize).saturating_add(1)),
                );
                let lengths = levels.iter().enumerate();
                let lengths = lengths.map(|(level, count)| (level as f64, *count)).collect();
                Some((of_levels(&levels, n), lengths))
            }
            ClosenessBy::Weights32 => of_weights(rows, &is_source, v, (0.5f64.powi(24), within)),
            ClosenessBy::Weights64 => of_weights(rows, &is_source, v, (0.5f64.powi(53), within)),
        };
        let Some((right, lengths)) = right else {
            uncertain.store(true, Relaxed);
            return None;
        };
        if let Some(bounds) = &bounds {
            lengths.iter().for_each(|(length, count)| bounds.add(*length, *count, right.off));
        }
        let others = sources.len() as u64 - u64::from(is_source[v as usize]);
        judged(graph, v as usize, &right, others, &found)
    });
    if let Some(what) = wrong.find_first(Option::is_some).flatten() {
        return Err(Error::Verify(what));
    }
    let all = looked == n && !uncertain.into_inner();
    let pairs = found.reached.iter().map(|reached| u64::from(*reached)).sum();
    match (found.histogram, bounds) {
        (Some((_, counts)), Some(bounds)) => {
            bounds.judged(counts, (all, pairs)).map_or(Ok(looked), Err)
        }
        _ => Ok(looked),
    }
}

/// Distances up to this one are not rounded: their type holds such whole numbers.
fn exact(graph: &Graph, by: ClosenessBy) -> f64 {
    let whole = |of: f64| match graph.weights() {
        Some(weights) if weights.par_iter().any(|weight| weight.fract() != 0.0) => 0.0,
        _ => of,
    };
    match by {
        ClosenessBy::Arcs => f64::INFINITY,
        ClosenessBy::Weights32 => whole(2f64.powi(24)),
        ClosenessBy::Weights64 => whole(2f64.powi(53)),
    }
}

/// How many pairs may be in the bins of a histogram, of those that were looked at.
struct Bounds {
    width: f64,
    /// Distances up to this one are right.
    exact: f64,
    /// `[bins + 1]` that are in a bin; those beyond all come last.
    least: Vec<AtomicU64>,
    /// `[bins + 1]` that are, or may be by rounding.
    most: Vec<AtomicU64>,
}

impl Bounds {
    fn new(width: f64, bins: usize, exact: f64) -> Bounds {
        let zeros = || (0..=bins).map(|_| AtomicU64::new(0)).collect();
        Bounds { width, exact, least: zeros(), most: zeros() }
    }

    /// So many pairs at this distance; what was found may be too small and too large by these parts of it.
    fn add(&self, length: f64, count: u64, [below, above]: [f64; 2]) {
        let bin = |length: f64| ((length / self.width) as usize).min(self.least.len() - 1);
        let (mut first, mut last) = (bin(length * (1.0 - below)), bin(length * (1.0 + above)));
        if length <= self.exact {
            (first, last) = (bin(length), bin(length));
        }
        if first == last {
            self.least[first].fetch_add(count, Relaxed);
        }
        self.most[first..=last].iter().for_each(|most| _ = most.fetch_add(count, Relaxed));
    }

    /// What is wrong with the counts, if anything is; `all`: all of the `pairs` were looked at.
    fn judged(&self, counts: &[u64], (all, pairs): (bool, u64)) -> Option<Error> {
        let of = |some: &[AtomicU64], bin: usize| some[bin].load(Relaxed);
        let sum: u64 = counts.iter().sum();
        let counted = counts.iter().copied().chain([0]).enumerate();
        let wrong =
            counted.map(|(bin, count)| (bin, count, of(&self.least, bin), of(&self.most, bin)));
        let mut wrong =
            wrong.filter(|(_, count, least, most)| count < least || all && count > most);
        let told = match wrong.next() {
            Some((bin, count, least, most)) => {
                let most = if all { format!(" to {most}") } else { " or more".into() };
                format!("bin {bin} has {count} pairs, and should have {least}{most}")
            }
            None if sum != pairs => format!("bins have {sum} pairs, and nodes have {pairs}"),
            None => return None,
        };
        Some(Error::Verify(format!("closeness, histogram: {told}")))
    }
}

/// How many sources are at each distance from `v`, along `rows`; itself left out.
fn sources_by_level(
    rows: &Graph,
    is_source: &[bool],
    v: u32,
    (seen, order): &mut (Vec<bool>, Vec<u32>),
) -> Vec<u64> {
    order.clear();
    order.push(v);
    seen[v as usize] = true;
    let (mut levels, mut begin) = (vec![0], 0);
    while begin < order.len() {
        let end = order.len();
        for at in begin..end {
            for (u, _) in rows.neighbors(order[at] as usize) {
                if !std::mem::replace(&mut seen[u as usize], true) {
                    order.push(u);
                }
            }
        }
        levels.push(order[end..].iter().filter(|u| is_source[**u as usize]).count() as u64);
        begin = end;
    }
    order.iter().for_each(|u| seen[*u as usize] = false);
    levels
}

/// What distances to a node add up to, and by what part distances may be too small and too large, harmonic centrality the other way
/// round.
struct Right {
    reached: u64,
    far: f64,
    inverse: f64,
    farthest: f64,
    off: [f64; 2],
    /// By what part harmonic centrality may be off beside.
    unit: f64,
}

/// From how many sources there are at each number of arcs.
fn of_levels(levels: &[u64], nodes: usize) -> Right {
    let farthest = levels.iter().rposition(|count| *count > 0).unwrap_or(0) as f64;
    let far: u64 = levels.iter().zip(0u64..).map(|(count, level)| count * level).sum();
    let inverse = levels.iter().enumerate().skip(1).rev();
    Right {
        reached: levels.iter().sum(),
        far: far as f64,
        inverse: inverse.map(|(level, count)| *count as f64 / level as f64).sum(),
        farthest,
        off: [0.0; 2],
        unit: farthest * nodes as f64 * 0.5f64.powi(62),
    }
}

/// From sums of weights along `rows` up to `within`, of which each addition may be `off` by this part (Dijkstra); and these sums, each
/// with 1. Nothing where it follows from rounding whether a source counts.
fn of_weights(
    rows: &Graph,
    is_source: &[bool],
    v: u32,
    (off, within): (f64, Option<f64>),
) -> Option<(Right, Vec<(f64, u64)>)> {
    let mut found = Vec::new();
    let mut lengths = vec![(f64::INFINITY, 0u32); rows.nodes()];
    lengths[v as usize].0 = 0.0;
    let mut queue = BinaryHeap::from([Reverse((0u64, v))]);
    let mut right =
        Right { reached: 0, far: 0.0, inverse: 0.0, farthest: 0.0, off: [0.0; 2], unit: 0.0 };
    let mut most = 0;
    let most_length = if off > 1e-10 { f64::from(f32::MAX) } else { f64::MAX };
    while let Some(Reverse((order, u))) = queue.pop() {
        let (length, arcs) = lengths[u as usize];
        if length.to_bits() < order {
            continue;
        }
        if u != v && is_source[u as usize] {
            // Whole numbers are not rounded.
            let rounded = 2.0 * off * f64::from(arcs) * length;
            if let Some(within) = within {
                if length != within && (length - within).abs() <= rounded && length.fract() != 0.0 {
                    return None;
                }
                if length > within {
                    continue;
                }
            }
            right.reached += 1;
            found.push((length, 1));
            right.far += length;
            right.inverse += if length > 0.0 { 1.0 / length } else { 0.0 };
            right.farthest = length;
            most = most.max(arcs);
        }
        for (w, weight) in rows.neighbors(u as usize) {
            let longer = length + f64::from(weight);
            if longer <= most_length && longer < lengths[w as usize].0 {
                lengths[w as usize] = (longer, arcs + 1);
                queue.push(Reverse((longer.to_bits(), w)));
            }
        }
    }
    right.off = [rows.nodes() as f64, f64::from(most)].map(|arcs| 2.0 * off * arcs);
    Some((right, found))
}

/// What is wrong with the values of node `v`, if anything is.
fn judged(
    graph: &Graph,
    v: usize,
    right: &Right,
    others: u64,
    found: &ClosenessFound,
) -> Option<String> {
    let (n, reached) = (graph.nodes() as f64, right.reached as f64);
    let of = |share: f64| share / others.max(1) as f64;
    let closeness = if right.far == 0.0 { 0.0 } else { reached / right.far * of(reached) };
    let harmonic = of(right.inverse * (n - 1.0));
    let near = |found: f64, value: f64, [below, above]: [f64; 2]| {
        found >= value * (1.0 - below) && found <= value * (1.0 + above)
    };
    let (far, [below, above]) = (right.off, right.off);
    let inverse = |more: f64| [above + more, below / (1.0 - below.min(0.5)) + more];
    let told = [
        (
            u64::from(found.reached[v]) == right.reached,
            "reached",
            f64::from(found.reached[v]),
            reached,
        ),
        (
            near(found.eccentricity[v], right.farthest, far),
            "eccentricity",
            found.eccentricity[v],
            right.farthest,
        ),
        (
            near(found.closeness[v], closeness, inverse(1e-12)),
            "closeness",
            found.closeness[v],
            closeness,
        ),
        (
            near(found.harmonic[v], harmonic, inverse(1e-12 + right.unit)),
            "harmonic",
            found.harmonic[v],
            harmonic,
        ),
    ];
    let (_, what, value, right) = told.into_iter().find(|(right, ..)| !right)?;
    Some(format!("closeness, node {}: {what} is {value}, and is {right}", graph.id(v as u32)))
}
