//! Scores from sums over sources, and what is said of them.

use super::Bc;
use crate::Result;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::algorithm::{Measured, Precision};
use crate::graph::{Graph, NodeId};
use crate::io::{Column, Table};
use crate::layout::TileFacts;
use crate::units::{count, plural};
use crate::verify::{BetweennessQuestion, Checker};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// Betweenness, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Betweenness {
    /// `[n]` scores, scaled as [`scale`] says: where there is but one source, without ends, its own is NaN.
    pub scores: Vec<f64>,
    /// What paths were held in: `F32` or `F64`.
    pub precision: Precision,
    /// Whether some arc lacks its reverse: scores are not halved then.
    pub directed: bool,
    /// Lanes of a batch.
    pub lanes: u32,
    /// Levels were cut by chunk, rather than sources dealt out.
    pub cut: bool,
    /// Paths were measured by weight.
    pub by_weight: bool,
    /// The tiles that were searched, where there were any.
    pub tiles: Option<TileFacts>,
    /// The largest distance from a source.
    pub depth: u64,
    /// Timings and counts. `reached` nodes and `reached_arcs`, the arcs out of them, are added up over the sources.
    pub measured: Measured,
}

/// Scales sums over k `sources` as `_rescale` of NetworkX 3.6.1 does.
///
/// Let N be n where endpoints count, and n - 1 where they do not. Let c be 1 in a directed graph, and 2 in an undirected
/// one, where every pair of ends is met from both. A score is multiplied by:
///
/// | | not normalized | normalized |
/// |---|---|---|
/// | where all nodes are sources | 1 / c | 1 / (N (N - 1)) |
/// | where k are | N / (k c) | 1 / (k (N - 1)) |
/// | of a source, where k are and endpoints do not count | N / ((k - 1) c) | 1 / ((k - 1) (N - 1)) |
///
/// The last is NaN for a single source. Nothing is scaled where N < 2. A sum over some sources estimates the one over all
/// nodes if they are drawn from all nodes at random.
pub fn scale(
    scores: &mut [f64],
    sources: &[u32],
    directed: bool,
    normalized: bool,
    endpoints: bool,
) {
    let (n, k) = (scores.len() as f64, sources.len() as f64);
    let others = if endpoints { n } else { n - 1.0 };
    if others < 2.0 {
        return;
    }
    let all = sources.len() == scores.len();
    let both_ways = if directed { 1.0 } else { 2.0 };
    let factor = |k: f64| match normalized {
        true => 1.0 / (k * (others - 1.0)),
        false => others / (k * both_ways),
    };
    let common = factor(if all { others } else { k });
    let own = match all || endpoints {
        true => common,
        false if sources.len() == 1 => f64::NAN,
        false => factor(k - 1.0),
    };
    let at_sources: Vec<f64> = sources.iter().map(|s| scores[*s as usize] * own).collect();
    if common != 1.0 {
        scores.par_iter_mut().for_each(|score| *score *= common);
    }
    sources.iter().zip(at_sources).for_each(|(s, score)| scores[*s as usize] = score);
}

/// Scales sums over the paths from some nodes to some as `betweenness_centrality_subset` of NetworkX 3.6.1 does: normalized, by
/// 1 / ((n - 1) (n - 2)), where n is above 2; else by 1 / 2 in an undirected graph.
pub fn scale_subset(scores: &mut [f64], directed: bool, normalized: bool) {
    let n = scores.len() as f64;
    let factor = match normalized {
        true if n > 2.0 => 1.0 / ((n - 1.0) * (n - 2.0)),
        false if !directed => 0.5,
        _ => return,
    };
    scores.par_iter_mut().for_each(|score| *score *= factor);
}

/// How far off a score may be to pass its check, as a share of it, where dependencies are held in f64 or f32: some
/// thousand roundings, one after another.
fn tolerance(double: bool) -> f64 {
    if double { 1e-9 } else { 1e-3 }
}

impl Betweenness {
    /// The `k` nodes of the highest scores, ties by input id; without those that have none.
    pub fn highest<'a>(&self, graph: &'a Graph, k: usize) -> Vec<(NodeId<'a>, f64)> {
        let highest = self.first(graph, k);
        highest.into_iter().map(|(node, score)| (graph.id(node), score)).collect()
    }

    fn first(&self, graph: &Graph, k: usize) -> Vec<(u32, f64)> {
        let scores = (0u32..).zip(self.scores.iter().copied()).filter(|(_, score)| !score.is_nan());
        first(graph, scores, k, |a, b| b.total_cmp(a))
    }
}

impl Answer<Bc> for Betweenness {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Bc>) -> &'static str {
        match self.tiles {
            _ if self.by_weight => "searches",
            Some(_) => "tiles",
            None if self.cut => "levels",
            None => "sources",
        }
    }

    fn strategy_line(&self, _: &Query<Bc>) -> String {
        if self.by_weight {
            return "searches by weight, one source after another".into();
        }
        if let Some(tiles) = self.tiles {
            return format!("{tiles}, paths in {}", self.precision);
        }
        let how = if self.cut { "levels cut" } else { "sources dealt out" };
        format!("{how}, up to {} side by side, paths in {}", self.lanes, self.precision)
    }

    fn cuts(&self, query: &Query<Bc>) -> String {
        match self.cut {
            true => format!(
                "; chunks of equal {}, aligned to {}",
                query.prepare.chunks, query.prepare.chunk_align
            ),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<Bc>) -> Vec<(&'static str, String)> {
        let between = self.scores.iter().filter(|score| **score > 0.0).count() as u64;
        let sources = &query.start.sources;
        let idle = sources.iter().filter(|s| query.graph.degree(**s as usize) == 0).count() as u64;
        let mut answer = format!(
            "{} of {} above 0, from {} of {}",
            count(between),
            plural(self.scores.len() as u64, "node"),
            count(sources.len() as u64),
            plural(self.scores.len() as u64, "source"),
        );
        if let Some(targets) = &query.start.targets {
            answer += &format!(" to {}", plural(targets.len() as u64, "target"));
        }
        if idle > 0 {
            answer += &format!(" ({} without out-arcs)", count(idle));
        }
        answer += &format!(", {} deep", plural(self.depth, "level"));
        if let [(node, score)] = self.highest(&query.graph, 1)[..] {
            answer += &format!("; the highest is {score:.6} of node {node}");
        }
        vec![("answer", answer)]
    }

    fn rated(&self) -> &'static str {
        "out of reached nodes, summed over sources"
    }

    fn variant(&self, query: &Query<Bc>) -> String {
        let bc = &query.config;
        let by = if bc.weighted { "weight_" } else { "" };
        let mut words = format!("variant:{by}num_sources-{}", query.start.sources.len());
        if bc.normalized {
            words += "_normalized";
        }
        if bc.endpoints {
            words += "_endpoints";
        }
        if let Some(targets) = &query.start.targets {
            words += &format!("_num_targets-{}", targets.len());
        }
        words
    }

    /// `num-sources`, and `sources` in the input's own ids where they are not all nodes; of targets, where some were asked for,
    /// `num-targets` and `targets`; `weighted`, `normalized` and
    /// `endpoints` as asked; `lanes` of a batch, `precision` of paths, `depth`, and the node of the highest score with it.
    fn facts(&self, query: &Query<Bc>) -> Map<String, Value> {
        let bc = &query.config;
        let highest = self.highest(&query.graph, 1).first().copied();
        let sources = &query.start.sources;
        let targets = query.start.targets.as_ref();
        let ids = |nodes: &Vec<u32>| nodes.iter().map(|v| query.graph.id(*v)).collect::<Vec<_>>();
        let named = (sources.len() < query.graph.nodes()).then(|| ids(sources));
        fields([
            ("num-sources", json!(sources.len())),
            ("sources", json!(named)),
            ("num-targets", json!(targets.map(Vec::len))),
            ("targets", json!(targets.map(ids))),
            ("weighted", json!(bc.weighted)),
            ("normalized", json!(bc.normalized)),
            ("endpoints", json!(bc.endpoints)),
            ("directed", json!(self.directed)),
            ("lanes", json!(self.lanes)),
            ("precision", json!(self.precision)),
            ("depth", json!(self.depth)),
            ("highest-node", json!(highest.map(|(node, _)| node))),
            ("highest-score", json!(highest.map(|(_, score)| score))),
        ])
    }

    fn ranking(&self, query: &Query<Bc>, k: usize) -> Option<String> {
        Some(ranked(&query.graph, ["node", "betweenness"], self.first(&query.graph, k)))
    }

    fn table(&self, _: &Query<Bc>) -> Table<'_> {
        Table::of_nodes([("betweenness", Column::F64(&self.scores))])
    }

    fn verify(&self, query: &Query<Bc>, by: &Checker) -> Result<Checked> {
        let bc = &query.config;
        let question = BetweennessQuestion {
            sources: &query.start.sources,
            targets: query.start.targets.as_deref(),
            weighted: bc.weighted,
            normalized: bc.normalized,
            endpoints: bc.endpoints,
            tolerance: tolerance(self.precision != Precision::F32),
        };
        let seen = by.bc(&query.graph, &self.scores, &question)?;
        let (some, all) = (seen.checked_sources, query.start.sources.len() as u64);
        let skipped = (some < all).then(|| {
            let rest = match seen.sum_error {
                Some(_) => "of all scores only the sum was compared",
                None => "the sum of all scores was not compared",
            };
            format!("{} of {} recomputed; {rest}", count(some), plural(all, "source"))
        });
        let note = match skipped {
            Some(_) => String::new(),
            None => format!(
                "; {} recomputed, scores off by {:.1e} at most",
                plural(some, "source"),
                seen.worst_error
            ),
        };
        let found = [
            ("checked_sources", json!(seen.checked_sources)),
            ("worst_error", json!(seen.worst_error)),
            ("sum_error", json!(seen.sum_error)),
        ];
        Ok(Checked { skipped, found: fields(found), note })
    }
}
