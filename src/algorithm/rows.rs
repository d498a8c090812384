//! What rows have beside arcs: the order of their arcs in the input, alias tables, and which arc leads to the best node.

use crate::error::Result;
use crate::graph::Graph;
use crate::operator::{GraphView, Reads, device};
use rayon::prelude::*;

/// Rows that one task goes through.
const ROWS: usize = 1024;

/// What rows have beside arcs. An array is empty where nothing says what it would.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// `[m]` which arc of a row in memory is number k by input id and then by weight.
    pub order: Vec<u32>,
    /// `[m]` the alias table of each row: a random arc k stays if a random u32 is below `share[k]`, and becomes `other[k]` else.
    /// `other` is `u32::MAX` throughout a row whose arcs weigh nothing.
    pub share: Vec<u32>,
    pub other: Vec<u32>,
}

/// What makes some arcs of a row likelier than others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Likely<'a> {
    /// Nothing does.
    Alike,
    /// Their weights, where arcs have some.
    Weights,
    /// What the nodes at their other ends have of something, `[n]`.
    Scores(&'a [f64]),
}

impl Rows {
    pub fn new(graph: &Graph, likely: Likely) -> Result<Rows> {
        let weighted = match likely {
            Likely::Alike => false,
            Likely::Weights => graph.is_weighted(),
            Likely::Scores(_) => true,
        };
        if graph.names_rise() && !weighted {
            return Ok(Rows::default());
        }
        graph.load()?;
        let arcs = graph.arcs() as usize;
        // Tables are made as pairs first.
        let arrays = u64::from(!graph.names_rise()) + 4 * u64::from(weighted);
        crate::memory::room("orders and weights of rows", 4 * arrays * arcs as u64)?;
        let mut order = vec![0; if graph.names_rise() { 0 } else { arcs }];
        for_rows(graph, &mut order, |row, order| {
            let arcs: Vec<(u32, f32)> = graph.neighbors(row).collect();
            (0..).zip(order.iter_mut()).for_each(|(k, place)| *place = k);
            order.sort_by(|a, b| {
                let of = |k: u32| arcs[k as usize];
                let (a, b) = (of(*a), of(*b));
                graph.rank(a.0).cmp(&graph.rank(b.0)).then(a.1.total_cmp(&b.1))
            });
        });
        let tables = if weighted { arcs } else { 0 };
        let (mut share, mut other) = (vec![0; tables], vec![0; tables]);
        let order_of = |row: usize| match order.is_empty() {
            true => None,
            false => Some(&order[graph.offsets()[row] as usize..graph.offsets()[row + 1] as usize]),
        };
        let weights = |row: usize| -> Vec<f64> {
            let part = |(to, weight): (u32, f32)| match likely {
                Likely::Scores(scores) => scores[to as usize],
                _ => f64::from(weight),
            };
            let arcs: Vec<f64> = graph.neighbors(row).map(part).collect();
            match order_of(row) {
                Some(order) => order.iter().map(|k| arcs[*k as usize]).collect(),
                None => arcs,
            }
        };
        let mut both: Vec<(u32, u32)> = vec![(0, 0); tables];
        for_rows(graph, &mut both, |row, table| alias(&weights(row), table));
        share.par_iter_mut().zip(&mut other).zip(&both).for_each(|((share, other), both)| {
            (*share, *other) = *both;
        });
        Ok(Rows { order, share, other })
    }
}

/// Which arc of a row in memory is number k by input id and weight; `ordered`: whether `order`, as [`Rows`] has it, counts.
#[device]
pub(crate) fn in_memory(g: GraphView, u: u32, k: u64, ordered: u32, order: Reads<u32>) -> u64 {
    if ordered == 0_u32 {
        return k;
    }
    order[g.edge(u, 0_u64).arc + k] as u64
}

/// `[n]` where the arc out of each node leads whose end has the highest score, of several that of the lowest input id; `u32::MAX` where
/// there is no arc.
pub(crate) fn best_ends(graph: &Graph, scores: &[f64]) -> Result<Vec<u32>> {
    graph.load()?;
    let better = |a: &u32, b: &u32| {
        let score = |v: &u32| scores[*v as usize];
        score(a).total_cmp(&score(b)).then_with(|| graph.rank(*b).cmp(&graph.rank(*a)))
    };
    let best = |row| graph.neighbors(row).map(|arc| arc.0).max_by(better).unwrap_or(u32::MAX);
    Ok((0..graph.nodes()).into_par_iter().map(best).collect())
}

/// Calls `make` for each row with its part of `values`, `[m]` or empty.
fn for_rows<T: Send>(graph: &Graph, values: &mut [T], make: impl Fn(usize, &mut [T]) + Sync) {
    if values.is_empty() {
        return;
    }
    let offsets = graph.offsets();
    let mut parts = Vec::new();
    let mut rest = values;
    for first in (0..graph.nodes()).step_by(ROWS) {
        let end = (first + ROWS).min(graph.nodes());
        let (part, behind) = rest.split_at_mut((offsets[end] - offsets[first]) as usize);
        parts.push((first..end, part));
        rest = behind;
    }
    parts.into_par_iter().for_each(|(rows, mut part)| {
        for row in rows {
            let (own, behind) = part.split_at_mut((offsets[row + 1] - offsets[row]) as usize);
            make(row, own);
            part = behind;
        }
    });
}

/// Fills the alias table of a row: (share, other) of each of its arcs.
fn alias(weights: &[f64], table: &mut [(u32, u32)]) {
    // Sums of the largest numbers would be no number, and means of the smallest would be 0.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let scale = match largest {
        _ if largest > 1e200 => 1e-200,
        _ if largest < 1e-200 => 1e200,
        _ => 1.0,
    };
    let weights: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        table.fill((0, u32::MAX));
        return;
    }
    // In units of what each arc would have if all were equal.
    let mean = total / weights.len() as f64;
    let mut parts: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
    let arcs = 0..weights.len() as u32;
    let (mut small, mut large): (Vec<u32>, Vec<u32>) =
        arcs.partition(|arc| parts[*arc as usize] < 1.0);
    for (k, entry) in (0..).zip(table.iter_mut()) {
        *entry = (u32::MAX, k);
    }
    while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
        let share = parts[low as usize];
        table[low as usize] = ((share * 4_294_967_296.0) as u32, high);
        let left = &mut parts[high as usize];
        *left -= 1.0 - share;
        if *left < 1.0 {
            large.pop();
            small.push(high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of each arc by its table.
    fn probabilities(table: &[(u32, u32)]) -> Vec<f64> {
        let mut sums = vec![0.0; table.len()];
        for (k, (share, other)) in table.iter().enumerate() {
            let share = if *other == k as u32 { 1.0 } else { f64::from(*share) / 4_294_967_296.0 };
            sums[k] += share / table.len() as f64;
            sums[*other as usize] += (1.0 - share) / table.len() as f64;
        }
        sums
    }

    #[test]
    fn alias_tables_have_the_probabilities_of_the_weights() {
        let hash = |k: u32| f64::from(k.wrapping_mul(2_654_435_761) >> 8);
        let rows: Vec<Vec<f64>> = vec![
            vec![3.0],
            vec![1.0; 7],
            vec![0.0, 2.0, 0.0],
            vec![1e-30, 1e30, 1.0],
            vec![1e-300, 5e-301],
            vec![5e-324, 0.0, 0.0],
            (0..1000).map(hash).collect(),
            (0..1000).map(|k| if k == 77 { 1e6 } else { 1.0 }).collect(),
        ];
        for weights in rows {
            let mut table = vec![(0, 0); weights.len()];
            alias(&weights, &mut table);
            let total: f64 = weights.iter().sum();
            for (found, weight) in probabilities(&table).iter().zip(&weights) {
                let right = *weight / total;
                assert!((found - right).abs() < 1e-9, "{found} for {right}");
            }
        }
        let mut table = vec![(0, 0); 2];
        alias(&[f64::MAX, f64::MAX], &mut table);
        assert_eq!(probabilities(&table), [0.5, 0.5]);
        let mut table = vec![(1, 1); 2];
        alias(&[0.0, 0.0], &mut table);
        assert_eq!(table, [(0, u32::MAX); 2]);
    }
}
