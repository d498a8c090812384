//! Policies on a graph: what is done with odd arcs, weights and labels after the arcs are known.

use super::build::{self, Keep, Repeated};
use super::options::Symmetrize;
use super::{ArcList, Graph, Origin, check, milliseconds, row_blocks};
use crate::error::{Error, Result};
use crate::hash::{Draw, hash, mix};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::time::Instant;

/// Rows that one task handles where rows are alike.
const ROWS: usize = 1 << 10;

impl Graph {
    /// Builds from lists whose ids and weights a reader has checked already; the lists are freed on the
    /// way. `mirror` adds (v, u) for each (u, v) with u != v, which makes the graph symmetric.
    pub(crate) fn from_lists(
        nodes: usize,
        mut lists: Vec<ArcList>,
        mirror: bool,
        keep: Keep,
        weighted: bool,
        origin: Origin,
    ) -> Result<Graph> {
        let start = Instant::now();
        check::room(nodes as u64)?;
        if !weighted {
            // Whatever a weight column said.
            lists.iter_mut().for_each(|list| list.weights = Vec::new());
        }
        let mut listed = 0u64;
        let base = |list: ArcList| {
            listed += list.pairs.len() as u64;
            (listed - list.pairs.len() as u64, list)
        };
        let lists: Vec<(u64, ArcList)> = lists.into_iter().map(base).collect();
        let m = listed * (1 + u64::from(mirror));
        let in_order = in_order(keep, weighted, listed)?;
        let weighted = weighted || keep.repeated == Repeated::Summed;
        let csr = build::build(nodes, m, keep, weighted, lists, |_, (base, list)| {
            list.pairs.into_iter().enumerate().flat_map(move |(i, (u, v))| {
                let weight = list.weights.get(i).copied().unwrap_or(1.0);
                let place = if in_order { (base + i as u64) as u32 } else { 0 };
                let back = (mirror && u != v).then_some((v, u, weight, place));
                std::iter::once((u, v, weight, place)).chain(back)
            })
        });
        finite(SUM, csr.weights.as_deref(), &csr.columns)?;
        let mut graph = Graph::trusted(csr, origin, mirror.then_some(true));
        graph.origin.build_ms += milliseconds(start);
        Ok(graph)
    }

    /// This graph with only what is kept of self loops and repeated pairs; as in
    /// [`Graph::from_lists`], with the order of arcs in rows for the order in the file.
    pub(crate) fn kept(self, keep: Keep) -> Result<Graph> {
        if keep.self_loops && keep.repeated == Repeated::Kept {
            return Ok(self);
        }
        let (n, m, blocks) = (self.nodes(), self.arcs(), self.row_blocks());
        let in_order = in_order(keep, self.weights.is_some(), m)?;
        let weighted = self.weights.is_some() || keep.repeated == Repeated::Summed;
        let csr = build::build(n, m, keep, weighted, blocks, |_, rows| {
            let begin = self.offsets[rows.start];
            let graph = &self;
            let arcs = rows.flat_map(move |u| graph.neighbors(u).map(move |arc| (u as u32, arc)));
            arcs.enumerate().map(move |(i, (u, (v, weight)))| {
                (u, v, weight, if in_order { (begin + i as u64) as u32 } else { 0 })
            })
        });
        finite(SUM, csr.weights.as_deref(), &csr.columns)?;
        let mut graph = Graph::trusted(csr, self.origin, None);
        (graph.names, graph.places) = (self.names, self.places);
        Ok(graph)
    }

    /// The graph without self-loops, and with the lightest of parallel arcs alone; `None` where it has neither.
    pub(crate) fn simple(&self) -> Result<Option<Graph>> {
        if self.origin.self_loops == 0 && self.origin.duplicates == 0 {
            return Ok(None);
        }
        self.load()?;
        // What was found on the way in may have been left out.
        let found = check::rows(self);
        match found.self_loops == 0 && found.duplicates == 0 {
            true => Ok(None),
            false => self.clone().kept(Keep::SIMPLE).map(Some),
        }
    }

    /// The union of this graph and its transpose. With `min`, `max` and `sum` a pair is left with one arc each
    /// way, which weighs what all its arcs in both directions make; a self-loop has one direction. With
    /// `keep` the union is arc by arc: of the arcs (u, v) of one weight there are as many as in whichever of
    /// the two has more; where pairs are not repeated before, they are not after: `kept` says which
    /// weight counts where the two directions differ.
    pub(crate) fn symmetrized(self, how: Symmetrize, kept: Keep) -> Result<Graph> {
        let Keep { repeated, rounded, .. } = kept;
        let done = match how {
            Symmetrize::Off => true,
            Symmetrize::Keep => self.is_symmetric(),
            Symmetrize::Sum if self.weights.is_some() => false,
            _ => self.is_symmetric() && check::rows(&self).duplicates == 0,
        };
        if done {
            return Ok(self);
        }
        let back = self.transpose();
        let union = how == Symmetrize::Keep;
        let rule = match (how, repeated) {
            (Symmetrize::Max, _) => Rule::Greatest,
            (Symmetrize::Sum, _) => Rule::Sum,
            (Symmetrize::Keep, Repeated::Kept) => Rule::All,
            (Symmetrize::Keep, Repeated::Summed) => Rule::Sum,
            _ => Rule::Least,
        };
        let csr = build::by_rows(&self.row_blocks(), self.weights.is_some(), &|u, out| {
            let mut sum = 0f64;
            let other = back.neighbors(u).filter(|(v, _)| union || *v as usize != u);
            let (mut own, mut other) = (self.neighbors(u).peekable(), other.peekable());
            loop {
                let next = match (own.peek(), other.peek()) {
                    (Some(a), Some(b)) if a == b && union => {
                        own.next();
                        other.next()
                    }
                    (Some(a), Some(b)) if a < b => own.next(),
                    (Some(_), None) => own.next(),
                    _ => other.next(),
                };
                let Some((v, weight)) = next else { break };
                match out.last_mut().filter(|last| rule != Rule::All && last.0 == v) {
                    None => {
                        sum = f64::from(weight);
                        out.push((v, weight));
                    }
                    Some(last) => {
                        sum += f64::from(weight);
                        match rule {
                            Rule::All | Rule::Least => {}
                            Rule::Greatest => last.1 = weight,
                            Rule::Sum => last.1 = build::narrowed(sum, rounded),
                        }
                    }
                }
            }
        });
        drop(back);
        let flag = if how == Symmetrize::Sum { "--symmetrize=sum" } else { SUM };
        finite(flag, csr.weights.as_deref(), &csr.columns)?;
        let mut graph = Graph::of_csr(csr, self.origin, Some(true));
        graph.undirected = true.into();
        (graph.names, graph.places) = (self.names, self.places);
        // Two directions of different weights are two arcs each way now.
        if rule == Rule::All {
            graph.origin.duplicates = check::rows(&graph).duplicates;
        }
        Ok(graph)
    }

    /// Every arc gets what is drawn for its pair: for the unordered pair where the graph is symmetric without its weights.
    pub(crate) fn with_random_weights(mut self, draw: Draw) -> Graph {
        self = self.without_weights();
        let unordered = self.is_symmetric();
        // By place among the input's ids, so that no order of nodes inside changes a weight.
        let weight = |u: u32, v: u32| {
            let (u, v) = (self.rank(u), self.rank(v));
            let (a, b) = if unordered { (u.min(v), u.max(v)) } else { (u, v) };
            draw.weight(a, b)
        };
        let weights = build::weigh(&self.offsets, &self.columns, &self.row_blocks(), weight);
        self.weights = Some(weights.into());
        self
    }

    /// The part of the graph on the nodes of its largest weakly connected component; of equally large
    /// ones, that with the lowest id. What was kept of self loops and repeated pairs is counted again.
    pub(crate) fn largest_component(self, kept: Keep) -> Graph {
        let components = self.weak_components();
        let inside: Vec<u32> =
            (0..self.nodes() as u32).into_par_iter().filter(|v| components.holds(*v)).collect();
        if inside.len() == self.nodes() {
            return self;
        }
        let mut label = vec![u32::MAX; self.nodes()];
        inside.iter().enumerate().for_each(|(new, old)| label[*old as usize] = new as u32);
        // Arcs do not leave a component: whole rows are taken over, in order.
        let blocks = build::blocks(inside.len(), ROWS);
        let csr = build::by_rows(&blocks, self.weights.is_some(), &|v, out| {
            let row = self.neighbors(inside[v] as usize);
            out.extend(row.map(|(v, weight)| (label[v as usize], weight)));
        });
        let mut names: Vec<u64> = inside.par_iter().map(|v| self.input_id(*v)).collect();
        // Names that go leave no gap: numbers are places among those that are there.
        let texts = self.texts().map(|texts| {
            let mut kept = names.clone();
            kept.par_sort_unstable();
            names.par_iter_mut().for_each(|name| {
                *name = kept.partition_point(|other| *other < *name) as u64;
            });
            std::sync::Arc::new(texts.only(&kept))
        });
        let known = self.known_symmetric().filter(|symmetric| *symmetric);
        let mut graph = Graph::of_csr(csr, self.origin.clone(), known);
        let found = check::rows(&graph);
        if kept.self_loops {
            graph.origin.self_loops = found.self_loops;
        }
        if kept.repeated == Repeated::Kept {
            graph.origin.duplicates = found.duplicates;
        }
        graph.with_names(Some(names.into()), texts).placed_as(&self, &inside)
    }

    /// This graph with node i where node `old[i]` of `other` is.
    fn placed_as(self, other: &Graph, old: &[u32]) -> Graph {
        let Some((latitude, longitude)) = other.places() else { return self };
        let of = |values: &[f64]| -> Vec<f64> { old.iter().map(|v| values[*v as usize]).collect() };
        self.with_places(of(latitude), of(longitude))
    }

    /// The same graph with node `order[i]` as node i; nodes keep their names.
    pub(crate) fn relabelled(&self, order: &[u32]) -> Graph {
        self.laid_out(order, |a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
    }

    /// The same, with rows by weight and then by neighbour.
    pub(crate) fn relabelled_by_weight(&self, order: &[u32]) -> Graph {
        let before = |a: &(u32, f32), b: &(u32, f32)| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0));
        Graph { by_weight: true, ..self.laid_out(order, before) }
    }

    /// The same, with rows in the order of `before`.
    fn laid_out(
        &self,
        order: &[u32],
        before: impl Fn(&(u32, f32), &(u32, f32)) -> Ordering + Sync,
    ) -> Graph {
        let mut label = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(new, old)| label[*old as usize] = new as u32);
        let mut offsets = vec![0u64];
        offsets.extend(order.iter().scan(0, |end, old| {
            *end += self.degree(*old as usize);
            Some(*end)
        }));
        let blocks = row_blocks(&offsets);
        let csr = build::with_offsets(offsets, &blocks, self.weights.is_some(), &|v, row| {
            let old = self.neighbors(order[v] as usize);
            row.extend(old.map(|(v, weight)| (label[v as usize], weight)));
            row.sort_unstable_by(&before);
        });
        let names: Vec<u64> = order.par_iter().map(|v| self.input_id(*v)).collect();
        let graph = Graph::of_csr(csr, self.origin.clone(), self.known_symmetric());
        graph.with_names(Some(names.into()), self.shared_texts()).placed_as(self, order)
    }

    /// Nodes in an order that depends on the seed only.
    pub(crate) fn random_order(&self, seed: u64) -> Vec<u32> {
        let key = mix(seed ^ 0x7265_6c61_6265_6c31);
        let mut order: Vec<u32> = (0..self.nodes() as u32).collect();
        order.par_sort_unstable_by_key(|v| (hash(key, u64::from(*v)), *v));
        order
    }

    /// Nodes by falling out-degree, ties in order.
    pub(crate) fn degree_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.nodes() as u32).collect();
        order.par_sort_unstable_by_key(|v| (std::cmp::Reverse(self.degree(*v as usize)), *v));
        order
    }
}

/// What a union of rows makes of arcs of one pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// All stay.
    All,
    /// One stays, as light as the lightest.
    Least,
    /// One stays, as heavy as the heaviest.
    Greatest,
    /// One stays and weighs as much as all together.
    Sum,
}

/// Whether the order of `arcs` arcs decides which stay. Places in it are counted in 32 bits.
fn in_order(keep: Keep, weighted: bool, arcs: u64) -> Result<bool> {
    let decides = weighted && keep.repeated == Repeated::First;
    if !decides || arcs <= 1 << 32 {
        return Ok(decides);
    }
    Err(Error::input(format!(
        "--duplicates first: the file has {arcs} arcs and their order is kept for at most 2^32; use \
         min, or take duplicates out beforehand"
    )))
}

const SUM: &str = "--duplicates sum";

/// Sums may leave the range of f32; `flag` asked for them.
fn finite(flag: &str, weights: Option<&[f32]>, columns: &[u32]) -> Result<()> {
    let weights = weights.unwrap_or_default();
    match weights.par_iter().position_first(|weight| !weight.is_finite()) {
        None => Ok(()),
        Some(arc) if weights[arc].is_nan() => Err(Error::input(format!(
            "{flag}: the weights of the arcs to node {} add up to a whole number that 32-bit floats do not hold; \
             scale the weights down, or load them rounded with --weights rounded",
            columns[arc]
        ))),
        Some(arc) => Err(Error::input(format!(
            "{flag}: the weights of the arcs to node {} add up to more than f32 holds; \
             scale the weights down",
            columns[arc]
        ))),
    }
}
