//! Policies on a graph: what is done with odd arcs, weights and labels after the arcs are known.

use super::array::Array;
use super::build::{self, InOrder, Keep, Packed, Repeated};
use super::options::Symmetrize;
use super::{ArcList, Graph, Origin, check, milliseconds};
use crate::error::{Error, Result};
use crate::hash::{hash, mix};
use rayon::prelude::*;
use std::ops::Range;
use std::time::Instant;

/// Rows that one task handles where rows are alike.
const ROWS: usize = 1 << 10;

impl Graph {
    /// Builds from lists whose ids and weights a reader has checked already; the lists are freed on the
    /// way. `mirror` adds (v, u) for each (u, v) with u != v, which makes the graph symmetric.
    /// `first` says that `Repeated::First` means the first in the lists rather than the lightest.
    pub(crate) fn from_lists(
        nodes: usize,
        mut lists: Vec<ArcList>,
        mirror: bool,
        (keep, first): (Keep, bool),
        weighted: bool,
        origin: Origin,
    ) -> Result<Graph> {
        fn fill<P: Packed>(list: ArcList, mirror: bool, base: u64, out: &mut Vec<P>) {
            out.reserve(list.pairs.len() << u32::from(mirror));
            for (i, &(u, v)) in list.pairs.iter().enumerate() {
                let weight = list.weights.get(i).copied().unwrap_or(1.0);
                let position = (base + i as u64) as u32;
                out.push(P::pack(u, v, weight, position));
                if mirror && u != v {
                    out.push(P::pack(v, u, weight, position));
                }
            }
        }
        let start = Instant::now();
        check::room(nodes as u64)?;
        if !weighted {
            // Whatever a weight column said.
            lists.iter_mut().for_each(|list| list.weights = Vec::new());
        }
        let mut bases = Vec::with_capacity(lists.len());
        let mut listed = 0u64;
        for list in &lists {
            bases.push(listed);
            listed += list.pairs.len() as u64;
        }
        let m = listed * (1 + u64::from(mirror));
        let summed = keep.repeated == Repeated::Summed;
        let csr = match (weighted, keep.repeated == Repeated::First && first) {
            (true, true) => {
                in_order(listed)?;
                build::build::<InOrder, _>(nodes, m, keep, lists, |i, list, out| {
                    fill(list, mirror, bases[i], out)
                })
            }
            (false, _) if !summed => {
                build::build::<u64, _>(nodes, m, keep, lists, |_, list, out| {
                    fill(list, mirror, 0, out)
                })
            }
            _ => build::build::<u128, _>(nodes, m, keep, lists, |_, list, out| {
                fill(list, mirror, 0, out)
            }),
        };
        finite(SUM, csr.weights.as_deref(), &csr.columns)?;
        let mut graph = Graph::trusted(csr, origin, mirror.then_some(true));
        graph.origin.build_ms += milliseconds(start);
        Ok(graph)
    }

    /// This graph with only what is kept of self loops and repeated pairs; as in
    /// [`Graph::from_lists`], with the order of arcs in rows for the order in the file.
    pub(crate) fn kept(self, (keep, first): (Keep, bool)) -> Result<Graph> {
        fn fill<P: Packed>(graph: &Graph, rows: Range<usize>, out: &mut Vec<P>) {
            let begin = graph.offsets[rows.start];
            let arcs = rows.flat_map(|u| graph.neighbors(u).map(move |arc| (u, arc)));
            for (i, (u, (v, weight))) in arcs.enumerate() {
                out.push(P::pack(u as u32, v, weight, (begin + i as u64) as u32));
            }
        }
        if keep == Keep::ALL {
            return Ok(self);
        }
        let (n, m, rows) = (self.nodes(), self.arcs(), self.row_blocks());
        let weighted = self.weights.is_some();
        let csr = match (weighted, keep.repeated == Repeated::First && first) {
            (true, true) => {
                in_order(m)?;
                build::build::<InOrder, _>(n, m, keep, rows, |_, rows, out| fill(&self, rows, out))
            }
            (false, _) if keep.repeated != Repeated::Summed => {
                build::build::<u64, _>(n, m, keep, rows, |_, rows, out| fill(&self, rows, out))
            }
            _ => build::build::<u128, _>(n, m, keep, rows, |_, rows, out| fill(&self, rows, out)),
        };
        finite(SUM, csr.weights.as_deref(), &csr.columns)?;
        let mut graph = Graph::trusted(csr, self.origin, None);
        (graph.names, graph.places) = (self.names, self.places);
        Ok(graph)
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
        let join = |u: usize, out: &mut Joined<'_>| {
            let other = back.neighbors(u).filter(|(v, _)| union || *v as usize != u);
            let (mut own, mut other) = (self.neighbors(u).peekable(), other.peekable());
            loop {
                let next = match (own.peek(), other.peek()) {
                    (None, None) => break,
                    (Some(_), None) => own.next(),
                    (None, Some(_)) => other.next(),
                    (Some(a), Some(b)) if a == b && union => {
                        own.next();
                        other.next()
                    }
                    (Some(a), Some(b)) => {
                        if a < b {
                            own.next()
                        } else {
                            other.next()
                        }
                    }
                };
                let Some((v, weight)) = next else { break };
                out.add(v, weight, rule, rounded);
            }
        };
        let blocks = self.row_blocks();
        let lengths: Vec<u64> = blocks
            .par_iter()
            .cloned()
            .flat_map_iter(|rows| {
                rows.map(|u| {
                    let mut out = Joined::default();
                    join(u, &mut out);
                    out.length as u64
                })
            })
            .collect();
        let offsets = offsets_of(&lengths);
        let m = offsets[offsets.len() - 1] as usize;
        let mut columns = vec![0u32; m];
        let mut weights = vec![0f32; if self.weights.is_some() { m } else { 0 }];
        let lengths = || blocks.iter().map(|r| (offsets[r.end] - offsets[r.start]) as usize);
        let weighted = self.weights.is_some();
        let places = build::split_lengths(&mut columns, lengths());
        let weight_places =
            build::split_lengths(&mut weights, lengths().map(|l| if weighted { l } else { 0 }));
        places.into_par_iter().zip(weight_places).zip(&blocks).for_each(
            |((columns, weights), rows)| {
                let begin = offsets[rows.start];
                for u in rows.clone() {
                    let place = (offsets[u] - begin) as usize..(offsets[u + 1] - begin) as usize;
                    let weights = weighted.then(|| &mut weights[place.clone()]);
                    let columns = Some(&mut columns[place]);
                    join(u, &mut Joined { columns, weights, ..Joined::default() });
                }
            },
        );
        drop(back);
        let flag = if how == Symmetrize::Sum { "--symmetrize=sum" } else { SUM };
        finite(flag, Some(&weights), &columns)?;
        let mut graph = Graph {
            offsets: offsets.into(),
            columns: columns.into(),
            weights: weighted.then(|| weights.into()),
            symmetric: true.into(),
            undirected: true.into(),
            names: self.names,
            reverse: None,
            places: self.places,
            origin: self.origin,
        };
        // Two directions of different weights are two arcs each way now.
        if rule == Rule::All {
            graph.origin.duplicates = check::rows(&graph).duplicates;
        }
        Ok(graph)
    }

    /// Every arc gets a whole number in `low..=high`, a hash of the seed and the pair: of the unordered
    /// pair where the graph is symmetric without its weights.
    pub(crate) fn with_random_weights(mut self, low: u32, high: u32, seed: u64) -> Graph {
        self = self.without_weights();
        let unordered = self.is_symmetric();
        let key = mix(seed ^ 0x7765_6967_6874_7331);
        let span = u64::from(high - low) + 1;
        // By place among the input's ids, so that no order of nodes inside changes a weight.
        let weight = |u: u32, v: u32| {
            let (u, v) = (self.rank(u), self.rank(v));
            let (a, b) = if unordered { (u.min(v), u.max(v)) } else { (u, v) };
            let draw = hash(key, u64::from(a) << 32 | u64::from(b));
            (u64::from(low) + ((u128::from(draw) * u128::from(span)) >> 64) as u64) as f32
        };
        let mut weights = vec![0f32; self.columns.len()];
        let blocks = self.row_blocks();
        let lengths = blocks.iter().map(|r| (self.offsets[r.end] - self.offsets[r.start]) as usize);
        build::split_lengths(&mut weights, lengths).into_par_iter().zip(&blocks).for_each(
            |(place, rows)| {
                let arcs = rows
                    .clone()
                    .flat_map(|u| self.neighbors(u).map(move |(v, _)| weight(u as u32, v)));
                place.iter_mut().zip(arcs).for_each(|(to, weight)| *to = weight);
            },
        );
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
        let lengths: Vec<u64> = inside.par_iter().map(|v| self.degree(*v as usize)).collect();
        let offsets = offsets_of(&lengths);
        // Arcs do not leave a component: whole rows are taken over, in order.
        let rows = || inside.chunks(ROWS).map(|c| c.iter().map(|v| self.degree(*v as usize)).sum());
        let rows = || rows().map(|length: u64| length as usize);
        let mut columns = vec![0u32; offsets[offsets.len() - 1] as usize];
        build::split_lengths(&mut columns, rows())
            .into_par_iter()
            .zip(inside.par_chunks(ROWS))
            .for_each(|(place, nodes)| {
                let ends = nodes.iter().flat_map(|v| self.neighbors(*v as usize));
                place.iter_mut().zip(ends).for_each(|(to, (v, _))| *to = label[v as usize]);
            });
        let weights = self.weights.is_some().then(|| {
            let mut weights = vec![0f32; columns.len()];
            build::split_lengths(&mut weights, rows())
                .into_par_iter()
                .zip(inside.par_chunks(ROWS))
                .for_each(|(place, nodes)| {
                    let ends = nodes.iter().flat_map(|v| self.neighbors(*v as usize));
                    place.iter_mut().zip(ends).for_each(|(to, (_, weight))| *to = weight);
                });
            Array::from(weights)
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
        let known = self.symmetric.get().copied().filter(|symmetric| *symmetric);
        let mut graph = Graph {
            offsets: offsets.into(),
            columns: columns.into(),
            weights,
            symmetric: known.map_or_else(std::sync::OnceLock::new, std::sync::OnceLock::from),
            undirected: std::sync::OnceLock::new(),
            names: None,
            reverse: None,
            places: None,
            origin: self.origin.clone(),
        };
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
        let of = |values: &[f64]| old.iter().map(|v| values[*v as usize]).collect();
        let (latitude, longitude) = (of(latitude), of(longitude));
        self.with_places(latitude, longitude)
    }

    /// The same graph with node `order[i]` as node i; nodes keep their names.
    pub(crate) fn relabelled(self, order: &[u32]) -> Graph {
        let mut label = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(new, old)| label[*old as usize] = new as u32);
        let csr = self.rebuilt(|u, v| (label[u as usize], label[v as usize]));
        let names: Vec<u64> = order.par_iter().map(|v| self.input_id(*v)).collect();
        let found = (self.origin.self_loops, self.origin.duplicates);
        let known = self.symmetric.get().copied();
        let mut graph = Graph::trusted(csr, self.origin.clone(), known);
        (graph.origin.self_loops, graph.origin.duplicates) = found;
        graph.with_names(Some(names.into()), self.shared_texts()).placed_as(&self, order)
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

/// A row on its way out of a union: counted only, or written.
#[derive(Default)]
struct Joined<'a> {
    columns: Option<&'a mut [u32]>,
    weights: Option<&'a mut [f32]>,
    length: usize,
    last: Option<u32>,
    /// The weights of the last column's arcs so far.
    sum: f64,
}

impl Joined<'_> {
    /// Appends an arc; arcs come by (column, weight).
    fn add(&mut self, v: u32, weight: f32, rule: Rule, rounded: bool) {
        if rule != Rule::All && self.last == Some(v) {
            self.sum += f64::from(weight);
            if let Some(weights) = &mut self.weights {
                match rule {
                    Rule::All | Rule::Least => {}
                    Rule::Greatest => weights[self.length - 1] = weight,
                    Rule::Sum => weights[self.length - 1] = build::narrowed(self.sum, rounded),
                }
            }
            return;
        }
        (self.last, self.sum) = (Some(v), f64::from(weight));
        if let Some(columns) = &mut self.columns {
            columns[self.length] = v;
        }
        if let Some(weights) = &mut self.weights {
            weights[self.length] = weight;
        }
        self.length += 1;
    }
}

fn offsets_of(lengths: &[u64]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    let mut end = 0;
    offsets.push(end);
    offsets.extend(lengths.iter().map(|length| {
        end += length;
        end
    }));
    offsets
}

/// Positions in a file are counted in 32 bits.
fn in_order(arcs: u64) -> Result<()> {
    if arcs <= 1 << 32 {
        return Ok(());
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
