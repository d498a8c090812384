//! The last levels, of few arcs, by one thread: nodes move one after another, so that every move sees those before it. All
//! replicas do this alike.

use super::Level;
use crate::operator::Random;
use std::collections::VecDeque;

/// Cycles of levels, at most: nodes move again by themselves from the communities that the last cycle has found.
const MOST_CYCLES: u32 = 8;
/// A cycle that gains less is the last.
const LEAST_CYCLE: f64 = 1e-5;
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

    /// `[n]` the community of each node, from those that there are on, a number below n; every node looks again when a neighbour
    /// has gone elsewhere.
    fn moved(&self, mut community: Vec<u32>, by: &Measure, beat: &(dyn Fn() + Sync)) -> Vec<u32> {
        let n = self.len();
        let mut total = vec![0; n];
        for (c, weight) in community.iter().zip(&self.weights) {
            total[*c as usize] += weight;
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by_key(|v| (Random::mix(u64::from(self.ids[*v as usize])), *v));
        let mut queue = VecDeque::from(order);
        let mut waits = vec![true; n];
        // Weights of arcs from the node at work, by community.
        let (mut to, mut seen) = (vec![0u64; n], Vec::new());
        let (factor, least) = (by.factor(), by.least_gain());
        let mut looks = 0u64;
        while let Some(v) = queue.pop_front() {
            waits[v as usize] = false;
            looks += 1;
            if looks.is_multiple_of(4096) {
                beat();
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
            for c in seen.drain(..) {
                to[c as usize] = 0;
            }
            let Some((_, chosen)) = best.filter(|best| best.0 > least) else { continue };
            community[v as usize] = chosen;
            total[own as usize] -= weight;
            total[chosen as usize] += weight;
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

    fn squares(&self) -> u128 {
        self.weights.iter().map(|weight| u128::from(*weight).pow(2)).sum()
    }

    fn cut(&self) -> u64 {
        self.arcs.iter().map(|arc| arc.1).sum()
    }

    /// `[n]` the id of the community of each node, the lowest in it, when no move gains any more, and the levels.
    /// `others` are the squares of nodes that are not here, and how many these are.
    pub fn finished(
        self,
        by: &Measure,
        others: (u128, u64),
        beat: &(dyn Fn() + Sync),
    ) -> (Vec<u32>, Vec<Level>) {
        let alone = |graph: &Small| (0..graph.len() as u32).collect::<Vec<u32>>();
        let (mut at, mut levels) = (alone(&self), Vec::<Level>::new());
        for _ in 0..MOST_CYCLES {
            let (before, last) = (levels.len(), levels.last().copied());
            let (first, place) = self.merged(&self.moved(at.clone(), by, beat));
            let (mut graph, mut found) = (first, place);
            loop {
                let modularity = by.modularity(graph.cut(), others.0 + graph.squares());
                levels.push(Level { communities: graph.len() as u64 + others.1, modularity });
                let (next, place) = graph.merged(&graph.moved(alone(&graph), by, beat));
                if next.len() == graph.len() {
                    break;
                }
                found.iter_mut().for_each(|v| *v = place[*v as usize]);
                graph = next;
            }
            let gained = |last: Level| levels[levels.len() - 1].modularity - last.modularity;
            if last.is_some_and(|last| gained(last) < LEAST_CYCLE) {
                levels.truncate(before);
                break;
            }
            at = found;
        }
        let mut lowest = vec![u32::MAX; at.len()];
        for (c, id) in at.iter().zip(&self.ids) {
            lowest[*c as usize] = lowest[*c as usize].min(*id);
        }
        (at.into_iter().map(|c| lowest[c as usize]).collect(), levels)
    }

    /// The squares of the nodes' weights, and how many nodes there are.
    pub fn size(&self) -> (u128, u64) {
        (self.squares(), self.len() as u64)
    }
}
