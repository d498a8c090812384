//! What is said of minimum spanning forests.

use super::{Mst, SpanningForest};
use crate::algorithm::Measured;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, ForestFound};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::time::Instant;

impl SpanningForest {
    /// From what the program leaves: (bits of the weight above the lower rank, higher rank) where the former is not `u64::MAX`.
    pub(super) fn of(
        graph: &Graph,
        (first, second): (Vec<u64>, Vec<u32>),
        mut measured: Measured,
    ) -> SpanningForest {
        let start = Instant::now();
        let edges = first.into_par_iter().zip(second).filter(|(first, _)| *first != u64::MAX);
        // The weights are the upper halves, so the lower ones lead.
        let mut edges: Vec<(u64, u32)> = edges
            .map(|(first, high)| (first << 32 | u64::from(high), (first >> 32) as u32))
            .collect();
        edges.par_sort_unstable();
        let sources = edges.par_iter().map(|(ends, _)| graph.ranked((ends >> 32) as u32));
        let targets = edges.par_iter().map(|(ends, _)| graph.ranked(*ends as u32));
        let weights = edges.par_iter().map(|(_, bits)| f32::from_bits(*bits));
        let (sources, targets) = (sources.collect(), targets.collect());
        let weights: Vec<f32> = weights.collect();
        let total = weights.iter().fold(0.0, |sum, weight| sum + f64::from(*weight));
        let trees = (graph.nodes() - weights.len()) as u64;
        measured.reached = graph.nodes() as u64;
        measured.reached_arcs = graph.arcs();
        measured.download_ms += start.elapsed().as_secs_f64() * 1e3;
        SpanningForest { sources, targets, weights, trees, total, measured }
    }
}

impl Answer<Mst> for SpanningForest {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Mst>) -> &'static str {
        "boruvka"
    }

    fn cuts(&self, query: &Query<Mst>) -> String {
        match self.measured.merge_modes.contains_key("min") {
            true => format!("; chunks of equal {}", query.prepare.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<Mst>) -> Vec<(&'static str, String)> {
        let edges = plural(self.weights.len() as u64, "edge");
        let trees = plural(self.trees, "tree");
        vec![("answer", format!("{edges} in {trees}, weight {} together", self.total))]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Query<Mst>) -> String {
        "variant:spanning-forest".into()
    }

    /// `edges` and `trees` of the forest, and its `total-weight`.
    fn facts(&self, _: &Query<Mst>) -> Map<String, Value> {
        fields([
            ("edges", json!(self.weights.len())),
            ("trees", json!(self.trees)),
            ("total-weight", json!(self.total)),
        ])
    }

    fn table(&self, _: &Query<Mst>) -> Table<'_> {
        Table::listed([
            ("source", Column::Node(&self.sources)),
            ("target", Column::Node(&self.targets)),
            ("weight", Column::F32(&self.weights)),
        ])
    }

    fn verify(&self, query: &Query<Mst>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let found = ForestFound {
            sources: &self.sources,
            targets: &self.targets,
            weights: &self.weights,
            trees: self.trees,
            total: self.total,
        };
        by.by_host(|| verify::mst(&query.graph, found))?;
        Ok(Checked::default())
    }
}
