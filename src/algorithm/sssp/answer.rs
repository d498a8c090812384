//! What is said of shortest paths, from one node or from several.

use super::{ShortestPaths, Start};
use crate::algorithm::Spread;
use crate::algorithm::ranking::first;
use crate::algorithm::workload::{Algorithm, Answer, Checked, Config, Query, fields};
use crate::algorithm::{Lengths, Measured, MergeMode, Paths, Precision};
use crate::choice::Choice;
use crate::graph::{Graph, NodeId};
use crate::io::{Column, Table};
use crate::table::Table as TextTable;
use crate::units::{count, ms, plural};
use crate::{Result, verify};
use serde_json::{Map, Value, json};

impl ShortestPaths {
    /// What distances were found in.
    fn precision(&self) -> Precision {
        if self.distances_f64.is_some() { Precision::F64 } else { Precision::F32 }
    }

    /// As its check takes it.
    pub fn found(&self) -> verify::PathsFound<'_> {
        verify::PathsFound {
            distances: &self.distances,
            distances_f64: self.distances_f64.as_deref(),
            predecessors: self.predecessors.as_deref(),
            nominees: self.nominees.as_deref(),
        }
    }

    /// What the summary says of it, where there is something to say.
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
        match query.config.run().merge {
            _ if self.distances_f64.is_some() => "near-far",
            MergeMode::Dense => "dense",
            _ if self.delta.is_finite() => "near-far",
            _ => "push-pull",
        }
    }

    fn strategy_line(&self, query: &Query<A>) -> String {
        match self.strategy(query) {
            "near-far" if self.distances_f64.is_some() => {
                format!("near-far in f64, delta {}", self.delta)
            }
            "near-far" => format!("near-far, delta {}", self.delta),
            "push-pull" => "push-pull".into(),
            _ => {
                "dense: push what the chunk's frontier reaches, OR frontiers, MIN distances".into()
            }
        }
    }

    fn cuts(&self, query: &Query<A>) -> String {
        let (modes, prepare) = (&self.measured.merge_modes, &query.prepare);
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
        let answer = format!(
            "{} of {} reached, in {} of {}",
            count(self.measured.reached),
            plural(query.graph.nodes() as u64, "node"),
            plural(self.measured.iterations, "iteration"),
            plural(self.measured.rounds, "round"),
        );
        let mut lines = vec![("answer", answer)];
        let precision = self.precision_line();
        lines.extend((!precision.is_empty()).then_some(("precision", precision)));
        lines
    }

    fn rated(&self) -> &'static str {
        "out of reached nodes"
    }

    fn variant(&self, query: &Query<A>) -> String {
        format!("variant:num_seeds-{}", query.start.nodes.len())
    }

    /// `seeds`: start nodes, in the input's own ids; `delta`: the bucket width in use, a number or `inf`; `precision`
    /// of distances; `absorbed-nodes`, `rounded-nodes` and `overflowed-arcs` as in [`ShortestPaths`]; `process-times-f32`, in ms, where a
    /// search in f32 came first.
    fn facts(&self, query: &Query<A>) -> Map<String, Value> {
        let seeds: Vec<NodeId> = query.start.nodes.iter().map(|v| query.graph.id(*v)).collect();
        let mut facts = fields([
            ("seeds", json!(seeds)),
            ("delta", json!(Choice::Is(self.delta))),
            ("precision", json!(self.precision())),
            ("absorbed-nodes", json!(self.absorbed)),
            ("rounded-nodes", json!(self.rounded)),
            ("overflowed-arcs", json!(self.overflowed)),
        ]);
        if let Some(first) = &self.measured_f32 {
            let times: Vec<f64> = first.runs.iter().map(|run| run.total_ms).collect();
            facts.insert("process-times-f32".into(), json!(times));
        }
        facts
    }

    fn ranking(&self, query: &Query<A>, k: usize) -> Option<String> {
        let best = best_ranked(&query.graph, &query.start.nodes, self, k);
        Some(ranking(&best).to_string())
    }

    fn paths(&self, query: &Query<A>) -> Option<Paths> {
        let predecessors =
            self.predecessors.as_ref().filter(|_| !query.start.targets.is_empty())?;
        let distance = |node: &u32| self.distances[*node as usize];
        let reached = |node: u32| self.is_reached(node);
        let lengths = |nodes: &[u32]| match &self.distances_f64 {
            Some(all) => Lengths::F64(nodes.iter().map(|node| all[*node as usize]).collect()),
            None => Lengths::F32(nodes.iter().map(distance).collect()),
        };
        Some(Paths::walk(&query.start.targets, predecessors, reached, lengths))
    }

    fn table(&self, _: &Query<A>) -> Table<'_> {
        let nodes = [("predecessor", &self.predecessors), ("nominee", &self.nominees)];
        let nodes =
            nodes.into_iter().filter_map(|(name, of)| Some((name, Column::Node(of.as_ref()?))));
        let distances = match &self.distances_f64 {
            Some(distances) => Column::Distance(distances),
            None => Column::F32(&self.distances),
        };
        let distances = ("distance", distances);
        Table::of_nodes([distances].into_iter().chain(nodes))
    }

    fn verify(&self, query: &Query<A>) -> Result<Checked> {
        let checked = verify::shortest_paths(&query.graph, &query.start.nodes, &self.found())?;
        let arcs = checked.overflowed_arcs;
        let note = match arcs {
            0 => String::new(),
            _ => format!(
                "; sums over {} overflow 32-bit floats and reach nobody",
                plural(arcs, "arc")
            ),
        };
        Ok(Checked {
            found: fields([("overflowed_arcs", json!(arcs))]),
            note,
            ..Checked::default()
        })
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
    let distance = |node: u32| match &paths.distances_f64 {
        Some(distances) => distances[node as usize],
        None => f64::from(paths.distances[node as usize]),
    };
    let candidates = (0..paths.distances.len() as u32).map(|node| (node, distance(node)));
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
