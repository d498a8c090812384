//! What is said of shortest paths, from one node or from several.

use super::Start;
use super::brought::{LeftDistances, WHOLE};
use super::seed_sums::SeedSums;
use crate::Result;
use crate::algorithm::chains::{self, Length};
use crate::algorithm::left::{HostWords, LeftArray, LeftColumn, LeftMeaning};
use crate::algorithm::matrix::strategy_told;
use crate::algorithm::ranking::first;
use crate::algorithm::workload::{Algorithm, Answer, Checked, Config, Query, fields};
use crate::algorithm::{Lengths, Measured, MergeMode, Paths, Precision, Spread};
use crate::choice::Choice;
use crate::graph::{Graph, NodeId};
use crate::io::{Column, Table};
use crate::layout::TileFacts;
use crate::layout::WeightedGraph;
use crate::table::Table as TextTable;
use crate::units::{count, ms, plural};
use crate::verify::{self, Checker};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Shortest paths from the nearest of some nodes, in the input's node order.
#[derive(Debug, Clone, Default)]
pub struct ShortestPaths {
    /// `[n]` distance from the nearest seed; `+inf` where none reaches. Rounded to f32 where it was found in f64.
    pub distances: Vec<f32>,
    /// `[n]` the same in f64, where it was found in f64.
    pub distances_f64: Option<Vec<f64>>,
    /// `[n]` the distances, in place of both, where they were left on a GPU. What the host counts of them is 0 then.
    pub left: Option<LeftArray>,
    /// The search in f32, where f32 did not hold its sums and a search in f64 followed.
    pub measured_f32: Option<Measured>,
    /// Nodes at the distance of a node before them although the arc between weighs more than 0: the sum was rounded.
    pub absorbed: u64,
    /// Arcs out of reached nodes whose sum is more than f32 holds, where f32 was asked for. They reach no node.
    pub overflowed: u64,
    /// Nodes at 2^24 or further, where all weights are whole numbers and f32 was asked for: such sums are rounded.
    pub rounded: u64,
    /// `[n]` the smallest node of the previous level with a tight arc (dist\[v\] == fl(dist\[u\] + w)) to the node; a seed for
    /// itself; `u32::MAX` for unreached nodes.
    pub predecessors: Option<Vec<u32>>,
    /// `[n]` the smallest seed with a chain of tight arcs to the node; `u32::MAX` for unreached nodes.
    pub nominees: Option<Vec<u32>>,
    /// The bucket width that was used, in units of weight; infinite where there was one bucket.
    pub delta: f32,
    /// The width of the windows that were pushed before the first pull, where there were any.
    pub window: Option<f32>,
    /// The tiles that were searched, where there were any.
    pub tiles: Option<TileFacts>,
    /// Sums over all seeds, where nodes are ranked by one.
    pub sums: Option<SeedSums>,
    /// Timings and counts.
    pub measured: Measured,
}

impl ShortestPaths {
    /// Of distances found in f32, with what f32 did to them; `mean` is that of all weights.
    pub(super) fn in_f32(
        graph: &Graph,
        distances: Vec<f32>,
        mean: f64,
        delta: f32,
        measured: Measured,
    ) -> ShortestPaths {
        let beyond = beyond(&distances);
        let rounded = if beyond > 0 && weights_are_whole(graph) { beyond } else { 0 };
        let overflowed = overflowed(graph, &distances, mean);
        let rest = ShortestPaths::default();
        ShortestPaths { distances, rounded, overflowed, delta, measured, ..rest }
    }

    /// Of distances found in f64.
    pub(super) fn in_f64(exact: Vec<f64>, delta: f32, measured: Measured) -> ShortestPaths {
        let distances = exact.par_iter().map(|distance| *distance as f32).collect();
        let (distances_f64, rest) = (Some(exact), ShortestPaths::default());
        ShortestPaths { distances, distances_f64, delta, measured, ..rest }
    }

    /// Of distances found in f32 and left on a GPU.
    pub(super) fn left_in_f32(
        graph: &Graph,
        (left, reach): LeftDistances,
        mean: f64,
        delta: f32,
        measured: Measured,
    ) -> Result<ShortestPaths> {
        let may_round = reach.beyond > 0 && weights_are_whole(graph);
        let rounded = if may_round { reach.beyond } else { 0 };
        let overflowed = match left.to_host_where(!holds(reach.furthest, mean, graph.arcs()))? {
            Some(HostWords::Four(words)) => {
                overflowed(graph, &bytemuck::cast_vec::<u32, f32>(words), mean)
            }
            _ => 0,
        };
        let found = ShortestPaths::left((left, reach), delta, measured);
        Ok(ShortestPaths { rounded, overflowed, ..found })
    }

    /// Of distances found in f64 and left on a GPU.
    pub(super) fn left_in_f64(
        left: LeftDistances,
        delta: f32,
        measured: Measured,
    ) -> ShortestPaths {
        let found = ShortestPaths::left(left, delta, measured);
        ShortestPaths { distances_f64: Some(Vec::new()), ..found }
    }

    fn left((left, reach): LeftDistances, delta: f32, measured: Measured) -> ShortestPaths {
        let measured = Measured { reached: reach.nodes, reached_arcs: reach.arcs, ..measured };
        ShortestPaths { left: Some(left), delta, measured, ..ShortestPaths::default() }
    }

    /// Whether a seed reaches the node. In f64 that may be further away than f32 can say.
    pub fn is_reached(&self, node: u32) -> bool {
        self.distance(node).is_finite()
    }

    /// The distance of a node, in f64 where it was found so.
    fn distance(&self, node: u32) -> f64 {
        match &self.distances_f64 {
            Some(distances) => distances[node as usize],
            None => self.distances[node as usize].into(),
        }
    }

    /// Of what nodes have added up over all seeds.
    pub(crate) fn summed(
        laid_out: &WeightedGraph,
        seeds: &[u32],
        (nearest, double): (Vec<f64>, bool),
        sums: SeedSums,
        measured: Measured,
    ) -> ShortestPaths {
        let mut found = match double {
            true => ShortestPaths::in_f64(nearest, f32::INFINITY, measured),
            false => {
                let distances = nearest.par_iter().map(|distance| *distance as f32).collect();
                let mean = laid_out.layout.mean_weight;
                let graph = &laid_out.graph;
                ShortestPaths::in_f32(graph, distances, mean, f32::INFINITY, measured)
            }
        };
        found.follow(laid_out, seeds, [false; 2]);
        // A seed counts for itself, too.
        let graph = &laid_out.graph;
        let own = seeds.iter().map(|seed| graph.degree(*seed as usize)).sum::<u64>();
        let arcs = |(v, reached): (usize, &u32)| u64::from(*reached) * graph.degree(v);
        let others = sums.reached.par_iter().enumerate().map(arcs).sum::<u64>();
        found.measured.reached_arcs = own + others;
        ShortestPaths { sums: Some(sums), ..found }
    }

    /// Adds what follows from the distances alone: counts, and `[predecessors, nominees]` where they are wanted.
    pub(super) fn follow(&mut self, laid_out: &WeightedGraph, seeds: &[u32], wanted: [bool; 2]) {
        if self.left.is_some() {
            return;
        }
        let (graph, lightest) = (&laid_out.graph, laid_out.layout.lightest);
        let reached = (0..graph.nodes()).into_par_iter().filter(|v| self.is_reached(*v as u32));
        let (nodes, arcs) =
            reached.map(|v| (1, graph.degree(v))).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let start = Instant::now();
        ([self.predecessors, self.nominees], self.absorbed) = match &self.distances_f64 {
            None => followed(graph, seeds, &self.distances, wanted, lightest),
            Some(distances) => followed(graph, seeds, distances, wanted, lightest),
        };
        self.measured.chains_ms = start.elapsed().as_secs_f64() * 1e3;
        (self.measured.reached, self.measured.reached_arcs) = (nodes, arcs);
    }

    /// What distances were found in.
    fn precision(&self) -> Precision {
        if self.distances_f64.is_some() { Precision::F64 } else { Precision::F32 }
    }

    /// What the check takes.
    pub fn found(&self) -> verify::PathsFound<'_> {
        verify::PathsFound {
            distances: &self.distances,
            distances_f64: self.distances_f64.as_deref(),
            predecessors: self.predecessors.as_deref(),
            nominees: self.nominees.as_deref(),
        }
    }

    /// The summary's line on precision; empty where nothing was lost.
    fn precision_line(&self) -> String {
        let mut parts = Vec::new();
        if let Some(first) = &self.measured_f32 {
            parts.push(format!(
                "f64: f32 does not hold the sums (whole numbers from 2^24 on, or any above 3.4e38); the run in f32 \
                 before it took {}",
                ms(Spread::of_runs(first).median)
            ));
        }
        if self.overflowed > 0 {
            let arcs = plural(self.overflowed, "arc");
            parts.push(format!(
                "sums over {arcs} are more than f32 holds and reach nobody; --precision f64 holds them"
            ));
        }
        if self.rounded > 0 {
            let nodes = plural(self.rounded, "node");
            parts.push(format!(
                "f32 rounds distances from 2^24 on, of {nodes}; --precision f64 does not"
            ));
        }
        if self.absorbed > 0 {
            let (nodes, width) = (plural(self.absorbed, "node"), self.precision());
            parts.push(format!(
                "a weight above 0 is lost beside the distance in {width}, on {nodes}"
            ));
        }
        parts.join("; ")
    }
}

impl<A> Answer<A> for ShortestPaths
where
    A: Algorithm<Start = Start, Answer = ShortestPaths>,
{
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, query: &Query<A>) -> &'static str {
        if let Some(sums) = &self.sums {
            return sums.strategy;
        }
        match query.config.run().merge {
            MergeMode::Dense => "dense",
            _ if self.tiles.is_some() => "tiles",
            _ if self.delta.is_finite() || self.distances_f64.is_some() => "near-far",
            _ if self.window.is_some() => "windows",
            _ => "push-pull",
        }
    }

    fn strategy_line(&self, query: &Query<A>) -> String {
        if let Some(sums) = &self.sums {
            return strategy_told(sums.strategy);
        }
        let in_f64 = if self.distances_f64.is_some() { ", in f64" } else { "" };
        match self.strategy(query) {
            "near-far" => {
                format!("near-far{in_f64}, delta {}", self.delta)
            }
            "tiles" => {
                let facts = self.tiles.map(|facts| facts.to_string()).unwrap_or_default();
                format!("{facts}{in_f64}, delta {}", self.delta)
            }
            "dense" => {
                "dense: push what the chunk's frontier reaches, OR frontiers, MIN distances".into()
            }
            other => match self.window {
                Some(width) => format!("windows of {width}, then push-pull: the graph has no hubs"),
                None => other.into(),
            },
        }
    }

    fn cuts(&self, query: &Query<A>) -> String {
        let (modes, prepare) = (&self.measured.merge_modes, &query.prepare);
        if self.sums.is_some() {
            return if modes.contains_key("sum") { "; seeds dealt" } else { "" }.into();
        }
        let align = prepare.chunk_align;
        if modes.contains_key("joint") {
            "; pulls shared by words in turn".into()
        } else if modes.contains_key("dense") {
            format!("; chunks of equal {}, aligned to {align}", prepare.chunks)
        } else if modes.keys().any(|mode| mode != "none") {
            // A pull stops early, so that its cost follows nodes: `--chunks` does not rule it.
            format!("; pulls cut into chunks of about equal nodes, aligned to {align}")
        } else {
            String::new()
        }
    }

    fn lines(&self, query: &Query<A>) -> Vec<(&'static str, String)> {
        let mut answer = format!(
            "{} of {} reached",
            count(self.measured.reached),
            plural(query.graph.nodes() as u64, "node")
        );
        answer += &match &self.sums {
            Some(_) => format!(
                ", by a search from each of {}",
                plural(query.start.nodes.len() as u64, "seed")
            ),
            None => format!(
                ", in {} of {}",
                plural(self.measured.iterations, "iteration"),
                plural(self.measured.rounds, "round"),
            ),
        };
        let mut lines = vec![("answer", answer)];
        let precision = self.precision_line();
        lines.extend((!precision.is_empty()).then_some(("precision", precision)));
        lines
    }

    fn rated(&self) -> &'static str {
        if self.sums.is_some() {
            "out of reached nodes, summed over seeds"
        } else {
            "out of reached nodes"
        }
    }

    fn variant(&self, query: &Query<A>) -> String {
        let by = self.sums.as_ref().map(|sums| format!("_rank-{}", sums.by));
        format!("variant:num_seeds-{}{}", query.start.nodes.len(), by.unwrap_or_default())
    }

    /// `seeds`: start nodes, in the input's own ids; `delta`: the bucket width in use, a number or `inf`; `precision`
    /// of distances; `absorbed-nodes`, `rounded-nodes` and `overflowed-arcs` of [`ShortestPaths`]; `process-times-f32`, in
    /// ms, where a search in f32 came first; `rank`, where nodes are ranked by a sum.
    fn facts(&self, query: &Query<A>) -> Map<String, Value> {
        let seeds: Vec<NodeId> = query.start.nodes.iter().map(|v| query.graph.id(*v)).collect();
        let mut facts = fields([
            ("seeds", json!(seeds)),
            ("delta", json!(Choice::Is(self.delta))),
            ("precision", json!(self.precision())),
            ("absorbed-nodes", json!(self.left.is_none().then_some(self.absorbed))),
            ("rounded-nodes", json!(self.rounded)),
            ("overflowed-arcs", json!(self.overflowed)),
        ]);
        if let Some(sums) = &self.sums {
            facts.insert("rank".into(), json!(sums.by));
        }
        if let Some(first) = &self.measured_f32 {
            let times: Vec<f64> = first.runs.iter().map(|run| run.total_ms).collect();
            facts.insert("process-times-f32".into(), json!(times));
        }
        facts
    }

    fn ranking(&self, query: &Query<A>, k: usize) -> Option<String> {
        if let Some(sums) = &self.sums {
            return Some(sums.ranking(&query.graph, &query.start.nodes, k));
        }
        let best = best_ranked(&query.graph, &query.start.nodes, self, k);
        Some(ranking(&best).to_string())
    }

    fn paths(&self, query: &Query<A>) -> Option<Paths> {
        let targets = Some(&query.start.targets).filter(|targets| !targets.is_empty())?;
        let lengths = |nodes: &[u32]| match &self.distances_f64 {
            Some(all) => Lengths::F64(nodes.iter().map(|v| all[*v as usize]).collect()),
            None => Lengths::F32(nodes.iter().map(|v| self.distances[*v as usize]).collect()),
        };
        Some(Paths::walk(targets, self.predecessors.as_ref()?, |v| self.is_reached(v), lengths))
    }

    fn table(&self, _: &Query<A>) -> Table<'_> {
        let distances = match &self.distances_f64 {
            Some(distances) => Column::Distance(distances),
            None => Column::F32(&self.distances),
        };
        let predecessors = self.predecessors.as_ref().map(|all| ("predecessor", Column::Node(all)));
        let nominees = self.nominees.as_ref().map(|all| ("nominee", Column::Node(all)));
        let sums = self.sums.iter().flat_map(SeedSums::columns);
        let columns = [("distance", distances)].into_iter().chain(predecessors).chain(nominees);
        Table::of_nodes(columns.chain(sums))
    }

    fn left(&self, _: &Query<A>) -> Vec<LeftColumn> {
        let column =
            |left: &LeftArray| LeftColumn::new("distance", LeftMeaning::Number, left.clone());
        self.left.iter().map(column).collect()
    }

    fn verify(&self, query: &Query<A>, by: &Checker) -> Result<Checked> {
        let checked = by.sssp(&query.graph, &query.start.nodes, &self.found())?;
        let arcs = checked.overflowed_arcs;
        let overflow = || {
            format!("; sums over {} overflow 32-bit floats and reach nobody", plural(arcs, "arc"))
        };
        let note = if arcs == 0 { String::new() } else { overflow() };
        let found = fields([("overflowed_arcs", json!(arcs))]);
        let sums = match &self.sums {
            Some(sums) => {
                let double = self.precision() == Precision::F64;
                sums.verify((&query.graph, &query.start.nodes, double), by)?
            }
            None => Checked::default(),
        };
        Ok(Checked { found, note, ..sums })
    }
}

/// A node of the ranking, in the input's own ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The node.
    pub node: String,
    /// Its distance from the nearest seed.
    pub distance: f64,
    /// The seed it is nearest to, when nominees were asked for.
    pub nominee: Option<String>,
}

/// The `k` reached nodes nearest to the seeds that are not seeds, by distance, ties by input id.
pub fn best_ranked(graph: &Graph, seeds: &[u32], paths: &ShortestPaths, k: usize) -> Vec<Ranked> {
    let mut seeds = seeds.to_vec();
    seeds.sort_unstable();
    let candidates = (0..paths.distances.len() as u32).map(|node| (node, paths.distance(node)));
    let candidates = candidates
        .filter(|(node, distance)| distance.is_finite() && seeds.binary_search(node).is_err());
    let nearest = first(graph, candidates, k, f64::total_cmp);
    let named = |node: u32| graph.id(node).to_string();
    let nominee = |node: u32| paths.nominees.as_ref().map(|all| named(all[node as usize]));
    let rank = |(node, distance)| Ranked { node: named(node), distance, nominee: nominee(node) };
    nearest.into_iter().map(rank).collect()
}

/// The ranking as a table.
pub fn ranking(ranked: &[Ranked]) -> String {
    let nominees = ranked.iter().any(|r| r.nominee.is_some());
    let header = ["rank", "node", "distance", "nominee"];
    let mut table = TextTable::new(&header[..if nominees { 4 } else { 3 }], &[]);
    for (place, r) in ranked.iter().enumerate() {
        let nominee = r.nominee.clone();
        // A distance that f32 holds is printed as one of f32.
        let short = r.distance as f32;
        let distance = match f64::from(short) == r.distance {
            true => short.to_string(),
            false => r.distance.to_string(),
        };
        let cells = [(place + 1).to_string(), r.node.clone(), distance];
        table.row(cells.into_iter().chain(nominee));
    }
    table.to_string()
}

/// Predecessors and nominees where they are wanted, and the nodes that [`absorbed`] counts.
fn followed<D: Length>(
    graph: &Graph,
    seeds: &[u32],
    distances: &[D],
    [predecessors, nominees]: [bool; 2],
    lightest: f32,
) -> ([Option<Vec<u32>>; 2], u64) {
    let predecessors = predecessors.then(|| chains::predecessors(graph, seeds, distances));
    let nominees = nominees.then(|| chains::nominees(graph, seeds, distances));
    ([predecessors, nominees], absorbed(graph, distances, lightest))
}

/// Whether every weight is a whole number; an arc without one counts 1.
pub(crate) fn weights_are_whole(graph: &Graph) -> bool {
    graph.weights().is_none_or(|weights| weights.par_iter().all(|w| w.fract() == 0.0))
}

/// The sum of all weights, than which no path is longer.
pub(crate) fn total_weight(graph: &WeightedGraph) -> f64 {
    graph.layout.mean_weight * graph.graph.arcs() as f64
}

/// Whether a sum of weights may be more than f32 holds.
pub(crate) fn may_overflow(graph: &WeightedGraph) -> bool {
    total_weight(graph) > f64::from(f32::MAX)
}

/// Reached nodes at 2^24 or further.
fn beyond(distances: &[f32]) -> u64 {
    distances.par_iter().filter(|d| **d >= WHOLE && d.is_finite()).count() as u64
}

/// Whether f32 holds the sum over any arc behind the `furthest` distance: no weight is more than the sum of all.
fn holds(furthest: f64, mean: f64, arcs: u64) -> bool {
    furthest + mean * arcs as f64 <= f64::from(f32::MAX)
}

/// Arcs out of reached nodes whose sum is more than f32 holds. `mean` is that of all weights.
fn overflowed(graph: &Graph, distances: &[f32], mean: f64) -> u64 {
    let reached = distances.par_iter().copied().filter(|d| d.is_finite());
    let furthest = reached.reduce(|| 0.0, f32::max);
    if holds(furthest.into(), mean, graph.arcs()) {
        return 0;
    }
    let rows = (0..graph.nodes()).into_par_iter().filter(|u| distances[*u].is_finite());
    rows.map(|u| {
        graph.neighbors(u).filter(|(_, w)| (distances[u] + w).is_infinite()).count() as u64
    })
    .sum()
}

/// Nodes at the distance d of a node before them although the arc between weighs w > 0: fl(d + w) == d.
/// `lightest` is the smallest weight, 0 included.
fn absorbed<D: Length>(graph: &Graph, distances: &[D], lightest: f32) -> u64 {
    let reached = |d: &&D| d.is_reached();
    let furthest = distances
        .par_iter()
        .filter(reached)
        .copied()
        .reduce(|| D::ZERO, |a, b| if b > a { b } else { a });
    let positive = |w: &&f32| **w > 0.0;
    let lightest = match graph.is_weighted() && lightest == 0.0 {
        true => {
            let weights = graph.weights().unwrap_or_default().par_iter();
            weights.filter(positive).copied().reduce(|| f32::INFINITY, f32::min)
        }
        false => lightest,
    };
    // What is not lost beside the largest distance is not lost beside a smaller one.
    if lightest == f32::INFINITY || furthest.plus(lightest) > furthest {
        return 0;
    }
    let lost: Vec<AtomicBool> = distances.par_iter().map(|_| AtomicBool::new(false)).collect();
    graph.row_blocks().into_par_iter().for_each(|rows| {
        for u in rows.filter(|u| distances[*u].is_reached()) {
            for (v, weight) in graph.neighbors(u).filter(|(v, w)| *w > 0.0 && *v as usize != u) {
                let (from, to) = (distances[u], distances[v as usize]);
                if to == from && from.plus(weight) == from {
                    lost[v as usize].store(true, Relaxed);
                }
            }
        }
    });
    lost.into_par_iter().filter(|lost| lost.load(Relaxed)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    #[test]
    fn a_weight_that_is_lost_beside_the_distance_is_counted_on_the_node_it_leads_to() {
        let (from, to) = ([0, 1, 2, 0], [1, 2, 3, 4]);
        let weights = [3e7, 0.5, 4.0, 0.5];
        let graph = Graph::from_arcs(5, &from, &to, Some(&weights), Origin::default()).unwrap();
        let single = [0.0f32, 3e7, 3e7, 3e7 + 4.0, 0.5];
        assert_eq!(absorbed(&graph, &single, 0.5), 1);
        assert_eq!(absorbed(&graph, &[0.0f64, 3e7, 3e7 + 0.5, 3e7 + 4.5, 0.5], 0.5), 0);
        assert!(!weights_are_whole(&graph));
        assert_eq!(beyond(&single), 3);
    }
}
