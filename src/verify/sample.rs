//! Checks samples of neighbourhoods: draws them again.

use super::walk::Rows;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::{below, hash};
use rayon::prelude::*;
use std::collections::HashSet;

/// What was asked: how neighbours are drawn.
#[derive(Debug, Clone, Copy)]
pub struct SampleQuestion<'a> {
    /// Nodes, by rising input id.
    pub sources: &'a [u32],
    /// Nodes that each node of a hop draws for the next.
    pub fanouts: &'a [u32],
    /// Whether an arc may be drawn several times.
    pub replace: bool,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Certifies samples: `hops` are `[hops][sources, places]` nodes, `u32::MAX` in empty places.
///
/// Takes 8 bytes an arc where nodes were relabelled.
///
/// # Errors
/// [`Error::Verify`] names the first source with a wrong place, the first of its wrong places, and the node that belongs there.
pub fn sample(graph: &Graph, question: SampleQuestion, hops: &[Vec<u32>]) -> Result<()> {
    let wrong = |what: String| Err(Error::Verify(format!("sample: {what}")));
    let places: Vec<usize> = (1..=question.fanouts.len())
        .map(|hop| question.fanouts[..hop].iter().map(|number| *number as usize).product())
        .collect();
    let lengths: Vec<usize> = places.iter().map(|places| places * question.sources.len()).collect();
    if hops.iter().map(Vec::len).ne(lengths) {
        let (sources, hops) = (question.sources.len(), places.len());
        return wrong(format!(
            "the answer does not have the places of {sources} sources and {hops} hops"
        ));
    }
    let rows = Rows::new(graph);
    let off = (0..question.sources.len()).into_par_iter().find_map_first(|source| {
        let right = tree(&rows, &question, source);
        right.iter().zip(hops).zip(&places).enumerate().find_map(|(hop, ((right, told), width))| {
            let told = &told[source * width..][..*width];
            let place = (0..*width).find(|place| told[*place] != right[*place])?;
            Some((source, hop, place, told[place], right[place]))
        })
    });
    let Some((source, hop, place, told, right)) = off else { return Ok(()) };
    let name = |node: u32| match (node as usize) < graph.nodes() {
        true => format!("node {}", graph.id(node)),
        false => "nothing".into(),
    };
    let (source, hop) = (graph.id(question.sources[source]), hop + 1);
    wrong(format!(
        "source {source}, hop {hop}, place {place}: {} was drawn, and the answer has {}",
        name(right),
        name(told)
    ))
}

/// `[hops][places]` what a source draws.
fn tree(rows: &Rows, question: &SampleQuestion, source: usize) -> Vec<Vec<u32>> {
    let mut hops: Vec<Vec<u32>> = Vec::new();
    let mut parents = vec![question.sources[source]];
    // Nodes with children, of one source.
    let mut all = 1;
    let mut places = 1;
    for number in &question.fanouts[..question.fanouts.len() - 1] {
        places *= u64::from(*number);
        all += places;
    }
    let mut stream = source as u64 * all;
    for fanout in question.fanouts {
        let mut children = Vec::new();
        for parent in parents {
            children.extend(drawn(rows, question, (parent, u64::from(*fanout)), stream));
            stream += 1;
        }
        hops.push(children.clone());
        parents = children;
    }
    hops
}

/// What a node draws.
fn drawn(
    rows: &Rows,
    question: &SampleQuestion,
    (node, fanout): (u32, u64),
    stream: u64,
) -> Vec<u32> {
    let degree = if node == u32::MAX { 0 } else { rows.degree(node as usize) };
    let key = hash(question.seed, stream);
    let arcs: Vec<Option<u64>> = match degree {
        0 => vec![None; fanout as usize],
        _ if question.replace => (0..fanout).map(|j| Some(below(degree, hash(key, j)))).collect(),
        _ if degree <= fanout => (0..fanout).map(|j| (j < degree).then_some(j)).collect(),
        _ => {
            let mut met = HashSet::new();
            let floyd = |j: u64| {
                let last = degree - fanout + j;
                let k = below(last + 1, hash(key, j));
                let k = if met.insert(k) { k } else { last };
                met.insert(k);
                Some(k)
            };
            (0..fanout).map(floyd).collect()
        }
    };
    let end = |k: Option<u64>| k.map_or(u32::MAX, |k| rows.arc(node as usize, k as usize).0);
    arcs.into_iter().map(end).collect()
}
