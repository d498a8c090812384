//! The last levels, of few arcs, by one thread: nodes move one after another, so that every move sees those before it. All
//! replicas do this alike.

use super::Level;
use crate::operator::Random;
use std::collections::{HashMap, VecDeque};

/// Cycles of levels, at most: nodes move again by themselves from the communities that the last cycle has found.
const MOST_CYCLES: u32 = 8;
/// A cycle that gains less is the last; where communities are refined, two in other orders.
const LEAST_CYCLE: f64 = 1e-5;
/// Graphs of so many arcs are refined from several orders of nodes: the best of few is much better than one where nodes are few.
const TINY: usize = 1 << 14;
const DRAWS: u32 = 4;
/// Gains below this share of all weights are rounding.
const LEAST_GAIN: f64 = 1e-12;

/// What modularity is measured by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measure {
    /// Weights of all arcs, in units.
    pub total: u64,
    pub resolution: f64,
}

impl Measure {
    /// Where arcs between communities weigh `cut`, and the squares of the communities' weights add up to `squares`.
    pub fn modularity(&self, cut: u64, squares: u128) -> f64 {
        let total = self.total as f64;
        (total - cut as f64) / total - self.resolution * (squares as f64 / total / total)
    }

    /// What a unit of a node's weight loses for each unit of a community's.
    pub fn factor(&self) -> f64 {
        self.resolution / self.total as f64
    }

    /// The least gain of a move.
    pub fn least_gain(&self) -> f64 {
        LEAST_GAIN * self.total as f64
    }
}

/// How levels are searched.
pub(super) struct Search<'a> {
    pub by: &'a Measure,
    /// The squares of nodes that are not in the graph, and how many these are.
    pub others: (u128, u64),
    /// Whether the nodes of a next level are parts of communities.
    pub refines: bool,
    /// Of which orders of nodes.
    pub draw: u32,
    /// Says that the search goes on.
    pub beat: &'a (dyn Fn() + Sync),
}

/// A graph without self loops.
pub(super) struct Small {
    /// `[n]` rising.
    pub ids: Vec<u32>,
    /// `[n]` weights of all arcs of each node, those that are left out included.
    weights: Vec<u64>,
    /// `[n + 1]` ends of rows.
    ends: Vec<usize>,
    /// `[m]` by source and target: target and weight.
    arcs: Vec<(u32, u64)>,
}

impl Small {
    /// Of arcs with their source's weight: (source, target, weight, source's weight). Each has its reverse.
    pub fn new(mut arcs: Vec<(u32, u32, u64, u64)>) -> Small {
        arcs.sort_unstable();
        let mut ids: Vec<u32> = arcs.iter().map(|arc| arc.0).collect();
        ids.dedup();
        let mut weights = vec![0; ids.len()];
        let mut ends = vec![0; ids.len() + 1];
        let place = |id: u32| ids.partition_point(|known| *known < id);
        let mut row = 0;
        let mut all = Vec::with_capacity(arcs.len());
        for (source, target, weight, of_source) in arcs {
            while ids[row] != source {
                row += 1;
            }
            weights[row] = of_source;
            all.push((place(target) as u32, weight));
            ends[row + 1] = all.len();
        }
        Small { ids, weights, ends, arcs: all }
    }

    fn row(&self, v: usize) -> &[(u32, u64)] {
        &self.arcs[self.ends[v]..self.ends[v + 1]]
    }

    fn len(&self) -> usize {
        self.weights.len()
    }

    /// `[n]` all nodes, in an order that follows from their ids, another one for each draw.
    fn order(&self, draw: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        let drawn = |v: u32| u64::from(draw) << 32 | u64::from(self.ids[v as usize]);
        order.sort_unstable_by_key(|v| (Random::mix(drawn(*v)), *v));
        order
    }

    /// `[n]` what communities weigh.
    fn totals(&self, community: &[u32]) -> Vec<u64> {
        let mut total = vec![0; self.len()];
        for (c, weight) in community.iter().zip(&self.weights) {
            total[*c as usize] += weight;
        }
        total
    }

    /// `[n]` the community of each node, from those that there are on, a number below n; every node looks again when a neighbour
    /// has gone elsewhere. Where `leaves`, a node may also go to a community that is empty.
    fn moved(&self, mut community: Vec<u32>, of: &Search, leaves: bool) -> Vec<u32> {
        let (n, by) = (self.len(), of.by);
        let mut total = self.totals(&community);
        let mut size = vec![0u32; n];
        community.iter().for_each(|c| size[*c as usize] += 1);
        let mut empty: Vec<u32> = (0..n as u32).rev().filter(|c| size[*c as usize] == 0).collect();
        let mut queue = VecDeque::from(self.order(of.draw));
        let mut waits = vec![true; n];
        // Weights of arcs from the node at work, by community.
        let (mut to, mut seen) = (vec![0u64; n], Vec::new());
        let (factor, least) = (by.factor(), by.least_gain());
        let mut looks = 0u64;
        while let Some(v) = queue.pop_front() {
            waits[v as usize] = false;
            looks += 1;
            if looks.is_multiple_of(4096) {
                (of.beat)();
            }
            for (u, weight) in self.row(v as usize) {
                let there = community[*u as usize];
                if to[there as usize] == 0 {
                    seen.push(there);
                }
                to[there as usize] += weight;
            }
            let (own, weight) = (community[v as usize], self.weights[v as usize]);
            let (stays, of_own) = (to[own as usize] as f64, total[own as usize] as f64);
            let gain = |c: u32| {
                let others = total[c as usize] as f64 - of_own + weight as f64;
                to[c as usize] as f64 - stays - factor * weight as f64 * others
            };
            let best = seen.iter().filter(|c| **c != own).map(|c| (gain(*c), *c));
            let best = best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            // Of nodes of one community each none is left to be empty.
            let alone = empty.last().filter(|_| leaves && size[own as usize] > 1);
            let alone = alone.map(|c| (gain(*c), *c));
            let best = match (best, alone) {
                (Some(best), Some(alone)) => Some(if alone.0 > best.0 { alone } else { best }),
                (best, alone) => best.or(alone),
            };
            for c in seen.drain(..) {
                to[c as usize] = 0;
            }
            let Some((_, chosen)) = best.filter(|best| best.0 > least) else { continue };
            community[v as usize] = chosen;
            total[own as usize] -= weight;
            total[chosen as usize] += weight;
            if empty.last() == Some(&chosen) {
                empty.pop();
            }
            size[own as usize] -= 1;
            size[chosen as usize] += 1;
            if size[own as usize] == 0 {
                empty.push(own);
            }
            for (u, _) in self.row(v as usize) {
                if community[*u as usize] != chosen && !waits[*u as usize] {
                    waits[*u as usize] = true;
                    queue.push_back(*u);
                }
            }
        }
        community
    }

    /// The graph of communities, each named by its first node; `[n]` the place of each node's.
    fn merged(&self, community: &[u32]) -> (Small, Vec<u32>) {
        let n = self.len();
        let (mut first, mut count) = (vec![u32::MAX; n], 0);
        let place: Vec<u32> = community
            .iter()
            .map(|c| {
                let first = &mut first[*c as usize];
                if *first == u32::MAX {
                    *first = count;
                    count += 1;
                }
                *first
            })
            .collect();
        let mut weights = vec![0; count as usize];
        let mut ids = vec![u32::MAX; count as usize];
        for (to, (weight, id)) in place.iter().zip(self.weights.iter().zip(&self.ids)) {
            weights[*to as usize] += weight;
            ids[*to as usize] = ids[*to as usize].min(*id);
        }
        let rows = (0..n).flat_map(|v| self.row(v).iter().map(move |arc| (v, arc)));
        let named = rows.map(|(v, (u, weight))| (place[v], place[*u as usize], *weight));
        let mut arcs: Vec<(u32, u32, u64)> = named.filter(|arc| arc.0 != arc.1).collect();
        arcs.sort_unstable_by_key(|arc| (arc.0, arc.1));
        let mut merged: Vec<(u32, u32, u64)> = Vec::new();
        for (from, to, weight) in arcs {
            match merged.last_mut() {
                Some(last) if (last.0, last.1) == (from, to) => last.2 += weight,
                _ => merged.push((from, to, weight)),
            }
        }
        let mut ends = vec![0; count as usize + 1];
        for arc in &merged {
            ends[arc.0 as usize + 1] += 1;
        }
        for row in 0..count as usize {
            ends[row + 1] += ends[row];
        }
        let arcs = merged.into_iter().map(|(_, to, weight)| (to, weight)).collect();
        (Small { ids, weights, ends, arcs }, place)
    }

    /// `[n]` the part of each node's community that it is in, named by a node of it. Nodes are parts of their own at first. Each that
    /// still is one is asked once, and joins the part of its community that gains most, if it does not lose.
    ///
    /// **Every part is connected.** A node alone is. A node joins a part only by an arc into it. It leaves none behind: it was alone,
    /// and once others have joined it, it is asked no more. So parts grow by nodes with an arc into them, and nothing else changes them.
    ///
    /// **Some node joins another** where a community has several nodes, none of which gains by leaving it. For the first that is asked,
    /// the gains of joining each of the others add up to that of being in the community, which is not below 0; so the best is not.
    /// It is that of a neighbour, since all others lose.
    fn parts(&self, community: &[u32], of: &Search) -> Vec<u32> {
        let (n, factor) = (self.len(), of.by.factor());
        let total = self.totals(community);
        let same = |u: u32, v: u32| u != v && community[u as usize] == community[v as usize];
        let inner = |v: u32| {
            let row = self.row(v as usize).iter();
            row.filter(|(u, _)| same(*u, v)).map(|(_, weight)| weight).sum::<u64>()
        };
        let mut part: Vec<u32> = (0..n as u32).collect();
        let mut size = vec![1u32; n];
        // Weights of parts, and of the arcs from each to the rest of its community.
        let (mut own, mut cut) =
            (self.weights.clone(), (0..n as u32).map(inner).collect::<Vec<_>>());
        let (mut to, mut seen) = (vec![0u64; n], Vec::new());
        for v in self.order(of.draw) {
            let all = total[community[v as usize] as usize];
            // Whether a part weighs enough to the rest of the community.
            let holds = |cut: u64, own: u64| cut as f64 >= factor * own as f64 * (all - own) as f64;
            let (weight, inner) = (self.weights[v as usize], cut[v as usize]);
            if part[v as usize] != v || size[v as usize] > 1 || !holds(inner, weight) {
                continue;
            }
            for (u, weight) in self.row(v as usize).iter().filter(|(u, _)| same(*u, v)) {
                let there = part[*u as usize];
                if to[there as usize] == 0 {
                    seen.push(there);
                }
                to[there as usize] += weight;
            }
            let fits = seen.iter().map(|s| *s as usize).filter(|s| holds(cut[*s], own[*s]));
            let gains = fits.map(|s| (to[s] as f64 - factor * weight as f64 * own[s] as f64, s));
            let gains = gains.filter(|(gain, s)| to[*s] > 0 && *gain >= 0.0);
            let best = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            if let Some((_, s)) = best {
                part[v as usize] = s as u32;
                (size[s], size[v as usize]) = (size[s] + 1, 0);
                own[s] += weight;
                // What v weighs to the rest, but for what it weighs to the part, which is no longer outside for either.
                cut[s] = cut[s] + inner - 2 * to[s];
            }
            for s in seen.drain(..) {
                to[s as usize] = 0;
            }
        }
        part
    }

    /// `[n]` the connected piece of each node's community that it is in, named by its first node. Whole communities, but for those that
    /// gain in pieces.
    fn pieces(&self, community: &[u32]) -> Vec<u32> {
        let mut piece = vec![u32::MAX; self.len()];
        for first in 0..self.len() as u32 {
            let mut left = vec![first];
            while let Some(v) = left.pop() {
                if piece[v as usize] == u32::MAX {
                    piece[v as usize] = first;
                    let row = self.row(v as usize).iter().map(|arc| arc.0);
                    left.extend(row.filter(|u| community[*u as usize] == community[v as usize]));
                }
            }
        }
        piece
    }

    /// What communities of nodes end a level with.
    fn level(&self, community: &[u32], of: &Search) -> Level {
        let rows = (0..self.len()).flat_map(|v| self.row(v).iter().map(move |arc| (v, arc)));
        let apart = rows.filter(|(v, (u, _))| community[*v] != community[*u as usize]);
        let cut = apart.map(|(_, (_, weight))| weight).sum();
        let mut there = vec![false; self.len()];
        community.iter().for_each(|c| there[*c as usize] = true);
        let squares: u128 =
            self.totals(community).into_iter().map(|weight| u128::from(weight).pow(2)).sum();
        Level {
            communities: there.into_iter().filter(|there| *there).count() as u64 + of.others.1,
            modularity: of.by.modularity(cut, of.others.0 + squares),
        }
    }

    /// The levels from communities on, of which each is a node of the next one; `[n]` the last node of each.
    fn joined(&self, at: Vec<u32>, of: &Search, levels: &mut Vec<Level>) -> Vec<u32> {
        let (mut graph, mut found) = self.merged(&self.moved(at, of, false));
        loop {
            let alone = graph.alone();
            levels.push(graph.level(&alone, of));
            let (next, place) = graph.merged(&graph.moved(alone, of, false));
            if next.len() == graph.len() {
                return found;
            }
            found.iter_mut().for_each(|v| *v = place[*v as usize]);
            graph = next;
        }
    }

    /// The levels from communities on, of which parts are the nodes of the next one, until each is one node; `[n]` the last node of
    /// each. So each is a part of parts, and connected.
    fn refined(&self, mut at: Vec<u32>, of: &Search, levels: &mut Vec<Level>) -> Vec<u32> {
        let (mut smaller, mut found): (Option<Small>, _) = (None, self.alone());
        loop {
            let graph = smaller.as_ref().unwrap_or(self);
            // Until a look at every node in turn moves none.
            loop {
                let next = graph.moved(at.clone(), of, true);
                if next == at {
                    break;
                }
                at = next;
            }
            let level = graph.level(&at, of);
            if levels.last() != Some(&level) {
                levels.push(level);
            }
            if level.communities - of.others.1 == graph.len() as u64 {
                return found;
            }
            let mut parts = graph.parts(&at, of);
            if parts == graph.alone() {
                // None joins another, but for rounding: gains down to the least count as none.
                parts = graph.pieces(&at);
                at.clone_from(&parts);
            }
            let (next, place) = graph.merged(&parts);
            let mut first = vec![u32::MAX; graph.len()];
            let mut inside = vec![0; next.len()];
            for (c, to) in at.iter().zip(&place) {
                let first = &mut first[*c as usize];
                *first = (*first).min(*to);
                inside[*to as usize] = *first;
            }
            at = inside;
            found.iter_mut().for_each(|v| *v = place[*v as usize]);
            smaller = Some(next);
        }
    }

    /// `[n]` the community of each node, of which `kept` has that of each of `sources`, as a number below n.
    pub fn numbered(&self, sources: &[u32], kept: &[u32]) -> Vec<u32> {
        let (mut number, mut row) = (HashMap::new(), 0);
        let mut community = vec![0; self.len()];
        let mut known: Vec<(u32, u32)> =
            sources.iter().copied().zip(kept.iter().copied()).collect();
        known.sort_unstable();
        for (source, kept) in known {
            // Nodes of self loops alone are not here.
            row += usize::from(self.ids.get(row).is_some_and(|id| *id < source));
            if self.ids.get(row) == Some(&source) {
                community[row] = *number.entry(kept).or_insert(row as u32);
            }
        }
        community
    }

    /// `[n]` each node a community.
    pub fn alone(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }

    /// `[n]` the last node of each when no move gains any more, and the levels.
    fn searched(&self, mut at: Vec<u32>, of: &Search) -> (Vec<u32>, Vec<Level>) {
        let (mut levels, mut vain) = (Vec::<Level>::new(), 0);
        for cycle in 0..MOST_CYCLES {
            let (before, last) = (levels.len(), levels.last().copied());
            let found = match of.refines {
                false => self.joined(at.clone(), of, &mut levels),
                true => {
                    let of = Search { draw: of.draw + cycle, ..*of };
                    self.refined(at.clone(), &of, &mut levels)
                }
            };
            let gained = |last: Level| levels[levels.len() - 1].modularity - last.modularity;
            if last.is_none_or(|last| gained(last) >= LEAST_CYCLE) {
                (at, vain) = (found, 0);
                continue;
            }
            levels.truncate(before);
            vain += 1;
            if vain > u32::from(of.refines) {
                break;
            }
        }
        (at, levels)
    }

    /// `[n]` the id of the community of each node, the lowest in it, when no move gains any more, and the levels.
    pub fn finished(self, from: Vec<u32>, of: &Search) -> (Vec<u32>, Vec<Level>) {
        let draws = if of.refines && self.arcs.len() <= TINY { DRAWS } else { 1 };
        let draws = (0..draws).map(|draw| of.draw + draw * MOST_CYCLES);
        let all = draws.map(|draw| self.searched(from.clone(), &Search { draw, ..*of }));
        let ends = |levels: &[Level]| levels[levels.len() - 1].modularity;
        // Of equal ones the first.
        let best = all.reduce(|a, b| if ends(&b.1) > ends(&a.1) { b } else { a });
        let (at, levels) = best.unwrap_or_default();
        let mut lowest = vec![u32::MAX; at.len()];
        for (c, id) in at.iter().zip(&self.ids) {
            lowest[*c as usize] = lowest[*c as usize].min(*id);
        }
        (at.into_iter().map(|c| lowest[c as usize]).collect(), levels)
    }

    /// The squares of the nodes' weights, and how many nodes there are.
    pub fn size(&self) -> (u128, u64) {
        let squares = self.weights.iter().map(|weight| u128::from(*weight).pow(2)).sum();
        (squares, self.len() as u64)
    }
}
