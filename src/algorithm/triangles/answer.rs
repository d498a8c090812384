//! What is said of triangles.

use super::TriangleCounting;
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::Checker;
use serde_json::{Map, Value, json};

/// Triangles, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Triangles {
    /// `[n]` how many each node is in.
    pub counts: Vec<u64>,
    /// How many there are.
    pub total: u64,
    /// Timings and counts.
    pub measured: Measured,
}

impl Answer<TriangleCounting> for Triangles {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<TriangleCounting>) -> &'static str {
        "oriented intersection"
    }

    fn cuts(&self, _: &Query<TriangleCounting>) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; chunks of equal cost".into(),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<TriangleCounting>) -> Vec<(&'static str, String)> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let text =
            format!("{}, one node in {} of them", plural(self.total, "triangle"), count(most));
        vec![("answer", text)]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Query<TriangleCounting>) -> String {
        "variant:triangles".into()
    }

    /// `triangles`, and the most of one node.
    fn facts(&self, _: &Query<TriangleCounting>) -> Map<String, Value> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        fields([("triangles", json!(self.total)), ("max-triangles", json!(most))])
    }

    fn ranking(&self, query: &Query<TriangleCounting>, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.counts.iter().copied());
        let highest = first(&query.graph, values, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["node", "triangles"], highest))
    }

    fn table(&self, _: &Query<TriangleCounting>) -> Table<'_> {
        Table::of_nodes([("triangles", Column::Total(&self.counts))])
    }

    fn verify(&self, query: &Query<TriangleCounting>, by: &Checker) -> Result<Checked> {
        let check = by.triangles(&query.graph, &self.counts)?;
        Ok(Checked { found: fields([("triangles", json!(check.triangles))]), ..Checked::default() })
    }
}
