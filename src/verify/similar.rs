//! Checks similarities: intersects neighbourhoods again, and lists all nodes with common neighbours by sorting.

use super::wedges::{Sets, Shared, rows_of};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// What was asked.
#[derive(Debug, Clone, Copy)]
pub struct SimilarQuestion<'a> {
    /// `jaccard`, `overlap`, `cosine`, `common` or `adamic-adar`.
    pub measure: &'a str,
    /// Of which pairs.
    pub asked: PairsAsked<'a>,
}

/// The pairs that were asked for; nodes by rising input id.
#[derive(Debug, Clone, Copy)]
pub enum PairsAsked<'a> {
    /// These.
    Given(&'a [[u32; 2]]),
    /// Of each of these nodes so many others of the highest values, of equal ones those of the lowest input ids.
    Best(&'a [u32], usize),
    /// Of each of these nodes the others of higher input ids and of at least this value.
    Least(&'a [u32], f64),
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct PairsFound<'a> {
    /// `[pairs]` nodes.
    pub node: &'a [u32],
    /// `[pairs]` the other node.
    pub other: &'a [u32],
    /// `[pairs]` their value.
    pub value: &'a [f64],
}

/// How far a sum of logarithms may be off, as a share of it.
const SHARE: f64 = 1e-11;

/// The right values.
struct Right<'a> {
    sets: Sets<'a>,
    measure: &'a str,
    /// `[n]` neighbours of each node.
    degree: Vec<u64>,
    /// `[n]` the weight of each as a common neighbour, where there are weights.
    weight: Vec<f64>,
}

impl Right<'_> {
    fn weight(&self, w: u32) -> f64 {
        self.weight.get(w as usize).copied().unwrap_or(1.0)
    }

    fn value(&self, u: u32, shared: &Shared) -> f64 {
        let (c, a, b) = (shared.count, self.degree[u as usize], self.degree[shared.node as usize]);
        match self.measure {
            _ if c == 0 => 0.0,
            "jaccard" => c as f64 / (a + b - c) as f64,
            "overlap" => c as f64 / if a < b { a } else { b } as f64,
            "cosine" => c as f64 / ((a * b) as f64).sqrt(),
            "common" => c as f64,
            _ => shared.sum,
        }
    }

    /// How far a value may be off.
    fn room(&self, right: f64) -> f64 {
        if self.weight.is_empty() { 0.0 } else { right * SHARE }
    }

    fn is(&self, found: f64, right: f64) -> bool {
        (found - right).abs() <= self.room(right)
    }
}

/// Certifies similarities. All values of given pairs are looked at; else every row that there is time for: whether its values are right,
/// and whether no pair is missing. Returns how many rows these were.
///
/// Takes 24 bytes a node, and 8 for each wedge of a row.
///
/// # Errors
/// [`Error::Verify`] names a node, the other one, the value that was found and the right one.
pub fn similar(graph: &Graph, question: SimilarQuestion, found: PairsFound) -> Result<usize> {
    let wrong = |what: String| Err(Error::Verify(format!("similar: {what}")));
    let PairsFound { node, other, value } = found;
    if [other.len(), value.len()] != [node.len(); 2] {
        return wrong(format!(
            "{} nodes, {} others and {} values",
            node.len(),
            other.len(),
            value.len()
        ));
    }
    let sets = Sets::new(graph);
    let nodes = (0..graph.nodes() as u32).into_par_iter();
    let degree = nodes.clone().map(|v| sets.out(v).len() as u64).collect();
    let weight = match question.measure {
        "adamic-adar" => nodes.map(|w| 1.0 / (sets.back(w).len() as f64).ln()).collect(),
        _ => Vec::new(),
    };
    let right = Right { sets, measure: question.measure, degree, weight };
    let told = |u: u32, v: u32, found: f64, right: f64| {
        let [u, v] = [u, v].map(|node| graph.id(node));
        format!("nodes {u} and {v}: value {found:e}, and is {right:e}")
    };
    let (sources, best, least) = match question.asked {
        PairsAsked::Given(pairs) => {
            let listed = node.iter().zip(other).map(|(u, v)| [*u, *v]);
            if !listed.eq(pairs.iter().copied()) {
                return wrong("the rows are not the pairs that were asked for".into());
            }
            let off = pairs.par_iter().zip(value).find_map_first(|([u, v], found)| {
                let others = right.sets.out(*v);
                let both = |w: &u32| *w != *v && others.contains(w);
                let both: Vec<u32> =
                    right.sets.out(*u).into_iter().filter(|w| *w != *u && both(w)).collect();
                let sum = both.iter().map(|w| right.weight(*w)).sum();
                let shared = Shared { node: *v, count: both.len() as u64, sum };
                let value = right.value(*u, &shared);
                (!right.is(*found, value)).then(|| told(*u, *v, *found, value))
            });
            return off.map_or(Ok(pairs.len()), wrong);
        }
        PairsAsked::Best(sources, best) => (sources, Some(best), f64::NEG_INFINITY),
        PairsAsked::Least(sources, least) => (sources, None, least),
    };
    let rows = match rows_of(graph, sources, [node, other]) {
        Ok(rows) => rows,
        Err(what) => return wrong(what),
    };
    let places = right.sets.places(sources);
    let off = places.par_iter().find_map_first(|place| {
        let u = sources[*place];
        let own = rows[*place].clone();
        let list: Vec<(u32, f64)> = own.map(|at| (other[at], value[at])).collect();
        row(&right, (u, &list), (best, least), &told)
    });
    off.map_or(Ok(places.len()), wrong)
}

/// What is wrong with the pairs of a node.
fn row(
    right: &Right,
    (u, list): (u32, &[(u32, f64)]),
    (best, least): (Option<usize>, f64),
    told: &impl Fn(u32, u32, f64, f64) -> String,
) -> Option<String> {
    let graph = right.sets.graph;
    let rank = |v: u32| graph.rank(v);
    let all = right.sets.sharing(u, |w| right.weight(w));
    let value = |v: u32| match all.binary_search_by_key(&rank(v), |shared| rank(shared.node)) {
        Ok(at) => right.value(u, &all[at]),
        Err(_) => 0.0,
    };
    for (v, found) in list {
        let value = value(*v);
        if value == 0.0 || !right.is(*found, value) {
            return Some(told(u, *v, *found, value));
        }
        if best.is_none() && (*found < least || rank(*v) <= rank(u)) {
            let v = graph.id(*v);
            return Some(format!(
                "node {}: {v} of value {found:e} is not to be listed",
                graph.id(u)
            ));
        }
    }
    let key = |(v, found): &(u32, f64)| {
        let value = if best.is_some() { -*found } else { 0.0 };
        (value, rank(*v))
    };
    if let Some(two) = list.windows(2).find(|two| key(&two[0]) >= key(&two[1])) {
        let [v, w] = [two[0].0, two[1].0].map(|node| graph.id(node));
        return Some(format!("node {}: {v} stands before {w}, out of order", graph.id(u)));
    }
    let mut listed: Vec<u32> = list.iter().map(|pair| pair.0).collect();
    listed.sort_unstable();
    let full = best.is_some_and(|best| list.len() >= best);
    if best.is_some_and(|best| list.len() > best) {
        return Some(format!("node {}: {} others are listed", graph.id(u), list.len()));
    }
    let wanted = |shared: &&Shared| {
        if listed.binary_search(&shared.node).is_ok() {
            return false;
        }
        let value = right.value(u, shared);
        match (best, list.last()) {
            (None, _) => rank(shared.node) > rank(u) && value - right.room(value) >= least,
            (Some(_), Some(last)) if full && right.weight.is_empty() => {
                key(&(shared.node, value)) < key(last)
            }
            (Some(_), Some(last)) if full => value - 2.0 * right.room(value) > last.1,
            (Some(_), _) => true,
        }
    };
    let missing = all.iter().find(wanted)?;
    let (id, value) = (graph.id(missing.node), right.value(u, missing));
    Some(format!("node {}: {id} of value {value:e} is missing", graph.id(u)))
}
