//! What is said of scan statistics.

use super::{Scan, Scanned};
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker};
use serde_json::{Map, Value, json};

impl Scanned {
    /// The edges around the densest node.
    fn most(&self) -> u64 {
        self.densest.map_or(0, |v| self.edges[v as usize])
    }
}

impl Answer<Scan> for Scanned {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Scan>) -> &'static str {
        "oriented intersection"
    }

    fn cuts(&self, _: &Query<Scan>) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; chunks of equal cost".into(),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<Scan>) -> Vec<(&'static str, String)> {
        let text = match self.densest {
            Some(v) => {
                let edges = plural(self.most(), "edge");
                format!("{edges} around node {}, the most of all", query.graph.id(v))
            }
            None => "no node".into(),
        };
        vec![("answer", text)]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Query<Scan>) -> String {
        "variant:scan".into()
    }

    /// `scan-statistic`, and its `scan-node`.
    fn facts(&self, query: &Query<Scan>) -> Map<String, Value> {
        let node = self.densest.map(|v| query.graph.id(v).to_string());
        fields([("scan-statistic", json!(self.most())), ("scan-node", json!(node))])
    }

    fn ranking(&self, query: &Query<Scan>, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.edges.iter().copied());
        let highest = first(&query.graph, values, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["node", "edges"], highest))
    }

    fn table(&self, _: &Query<Scan>) -> Table<'_> {
        Table::of_nodes([("edges", Column::Total(&self.edges))])
    }

    fn verify(&self, query: &Query<Scan>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        by.by_host(|| verify::scan(&query.graph, &self.edges, self.densest))?;
        Ok(Checked::default())
    }
}
