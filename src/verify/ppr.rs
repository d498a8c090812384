//! Checks personalised PageRank: pushes again, and sorts, or iterates again.

mod power;

pub use power::{PowerCheck, PowerFound, PowerQuestion, ppr_by_power};

use super::pushing::{PushQuestion, number, places, vector};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::collections::HashSet;
use std::ops::Range;

/// What was found, a row a source and node.
#[derive(Debug, Clone, Copy)]
pub struct PprFound<'a> {
    /// `[rows]` sources, in the order of the question.
    pub source: &'a [u32],
    /// `[rows]` nodes.
    pub node: &'a [u32],
    /// `[rows]` values.
    pub value: &'a [f64],
}

/// Certifies the `most` highest values of each source, as bits, and their order. Returns how many sources were looked at: all, if there
/// is time for them. Of the others it is checked that there are at most so many nodes, none twice, and that values are above 0 and fall.
///
/// Takes some 50 bytes and more for each node that a source reaches.
///
/// # Errors
/// [`Error::Verify`] names the first row of the first wrong source, what is found there and what is right.
pub fn ppr(graph: &Graph, question: PushQuestion, most: usize, found: PprFound) -> Result<usize> {
    let PprFound { node, value, .. } = found;
    let rows = rows(graph, question.sources, most, found)?;
    let places = places(graph, &question);
    let row = |at: Option<(u32, f64)>| match at {
        Some((node, value)) => format!("node {} with {value:e}", graph.id(node)),
        None => "no more".into(),
    };
    let off = places.par_iter().find_map_first(|place| {
        let source = question.sources[*place];
        let mut right: Vec<(u32, u128)> =
            vector(graph, source, &question).into_iter().filter(|(_, units)| *units > 0).collect();
        right.sort_by(|a, b| b.1.cmp(&a.1).then(graph.rank(a.0).cmp(&graph.rank(b.0))));
        right.truncate(most);
        let found = rows[*place].clone().map(|at| (node[at], value[at]));
        let found: Vec<(u32, f64)> = found.collect();
        let right: Vec<(u32, f64)> =
            right.into_iter().map(|(node, units)| (node, number(units))).collect();
        let same = |at: usize| {
            let bits = |row: Option<&(u32, f64)>| row.map(|(node, value)| (*node, value.to_bits()));
            bits(found.get(at)) == bits(right.get(at))
        };
        let at = (0..found.len().max(right.len())).find(|at| !same(*at))?;
        let [found, right] = [&found, &right].map(|rows| row(rows.get(at).copied()));
        let source = graph.id(source);
        Some(format!("source {source}: number {} is {found}, and should be {right}", at + 1))
    });
    match off {
        Some(what) => wrong(what),
        None => Ok(places.len()),
    }
}

fn wrong<T>(what: String) -> Result<T> {
    Err(Error::Verify(format!("ppr: {what}")))
}

/// The rows of each source: at most so many, with nodes that are there, none twice, and values above 0 that fall.
fn rows(graph: &Graph, sources: &[u32], most: usize, found: PprFound) -> Result<Vec<Range<usize>>> {
    let PprFound { source, node, value } = found;
    if node.len() != source.len() || value.len() != source.len() {
        let (sources, nodes, values) = (source.len(), node.len(), value.len());
        return wrong(format!("{sources} sources, {nodes} nodes and {values} values of rows"));
    }
    let (mut rows, mut at) = (Vec::new(), 0);
    for own in sources {
        let count = source[at..].iter().take_while(|other| *other == own).count();
        rows.push(at..at + count);
        at += count;
    }
    if let Some(other) = source.get(at) {
        return wrong(format!("row {}: source {} is not next", at + 1, graph.id(*other)));
    }
    let off = rows.par_iter().enumerate().find_map_first(|(place, rows)| {
        let own = || rows.clone().map(|at| (node[at], value[at]));
        // A NaN is not above 0.
        let none = |(node, value): &(u32, f64)| {
            *node as usize >= graph.nodes() || !value.is_finite() || *value <= 0.0
        };
        let bad = match own().find(none) {
            Some((node, value)) => format!("node number {node} with {value:e}"),
            None if rows.len() > most => format!("{} nodes of at most {most}", rows.len()),
            None => {
                let mut met = HashSet::new();
                let twice = own().position(|(node, _)| !met.insert(node));
                let rises =
                    || own().zip(own().skip(1)).position(|(a, b)| a.1 < b.1).map(|at| at + 1);
                let at = twice.or_else(rises)?;
                format!("number {} comes twice, or has more than the one before", at + 1)
            }
        };
        Some(format!("source {}: {bad}", graph.id(sources[place])))
    });
    off.map_or(Ok(rows), wrong)
}
