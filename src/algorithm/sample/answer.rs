//! What is said of samples.

use super::{NeighborSampling, Samples};
use crate::algorithm::Measured;
use crate::algorithm::left::LeftColumn;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, SampleQuestion};
use serde_json::{Map, Value, json};

impl Answer<NeighborSampling> for Samples {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, query: &Query<NeighborSampling>) -> &'static str {
        if query.config.replace { "with replacement" } else { "without replacement" }
    }

    fn cuts(&self, _: &Query<NeighborSampling>) -> String {
        String::new()
    }

    fn lines(&self, query: &Query<NeighborSampling>) -> Vec<(&'static str, String)> {
        if let Some(sources) = self.left.first() {
            let of = plural(sources.array.len() as u64, "node");
            return vec![("answer", format!("samples of {of}, left on the device"))];
        }
        let places = self.sources.len() as u64 * query.config.fanouts.all_places() as u64;
        let (drawn, nodes) = (plural(self.drawn, "neighbour"), plural(self.nodes, "node"));
        let empty = match places - self.drawn {
            0 => String::new(),
            1 => "; 1 place is empty".into(),
            empty => format!("; {empty} places are empty"),
        };
        vec![("answer", format!("{drawn} drawn, {nodes} among them{empty}"))]
    }

    fn unit(&self) -> &'static str {
        "samples"
    }

    fn rated(&self) -> &'static str {
        "of all hops"
    }

    fn variant(&self, query: &Query<NeighborSampling>) -> String {
        format!("variant:fanouts-{}", query.config.fanouts)
    }

    /// `sources`, `drawn`, and how many `nodes` are among the drawn.
    fn facts(&self, _: &Query<NeighborSampling>) -> Map<String, Value> {
        let counted = |count: u64| json!(self.left.is_empty().then_some(count));
        let (drawn, nodes) = (counted(self.drawn), counted(self.nodes));
        let sources = self.left.first().map_or(self.sources.len(), |left| left.array.len());
        fields([("sources", json!(sources)), ("drawn", drawn), ("nodes", nodes)])
    }

    /// A row a source: the source, then the places of each hop.
    fn table(&self, _: &Query<NeighborSampling>) -> Table<'_> {
        let mut columns = vec![("source".to_string(), Column::Node(&self.sources))];
        for (hop, (nodes, width)) in self.hops.iter().zip(&self.places).enumerate() {
            let place = |at| (format!("hop{}.{at}", hop + 1), Column::Part(nodes, *width, at));
            columns.extend((0..*width).map(place));
        }
        let array = columns.len();
        Table::listed(columns).with_array(array)
    }

    fn left(&self, _: &Query<NeighborSampling>) -> Vec<LeftColumn> {
        self.left.clone()
    }

    fn verify(&self, query: &Query<NeighborSampling>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let config = &query.config;
        let question = SampleQuestion {
            sources: &query.start.sources,
            fanouts: config.fanouts.numbers(),
            replace: config.replace,
            seed: config.seed,
        };
        by.by_host(|| verify::sample(&query.graph, question, &self.hops))?;
        Ok(Checked::default())
    }
}
