//! What is said of core numbers.

use super::Kcore;
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::Checker;
use serde_json::{Map, Value, json};

/// Core numbers, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Cores {
    /// `[n]`
    pub cores: Vec<u32>,
    /// Timings and counts.
    pub measured: Measured,
}

impl Cores {
    /// The largest core number, and how many nodes have it.
    fn largest(&self) -> (u32, u64) {
        let largest = self.cores.iter().copied().max().unwrap_or(0);
        (largest, self.cores.iter().filter(|core| **core == largest).count() as u64)
    }
}

impl Answer<Kcore> for Cores {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Kcore>) -> &'static str {
        match self.measured.merge_modes.contains_key("gather") {
            true => "h-index",
            false => "peel",
        }
    }

    fn cuts(&self, query: &Query<Kcore>) -> String {
        match self.measured.merge_modes.contains_key("gather") {
            true => format!("; chunks of equal {}", query.prepare.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<Kcore>) -> Vec<(&'static str, String)> {
        let (largest, nodes) = self.largest();
        vec![(
            "answer",
            format!("largest core number {}, of {}", count(largest.into()), plural(nodes, "node")),
        )]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Query<Kcore>) -> String {
        "variant:cores".into()
    }

    /// `max-core`, and the nodes that have it.
    fn facts(&self, _: &Query<Kcore>) -> Map<String, Value> {
        let (largest, nodes) = self.largest();
        fields([("max-core", json!(largest)), ("max-core-nodes", json!(nodes))])
    }

    fn ranking(&self, query: &Query<Kcore>, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.cores.iter().copied());
        let highest = first(&query.graph, values, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["node", "core number"], highest))
    }

    fn table(&self, _: &Query<Kcore>) -> Table<'_> {
        Table::of_nodes([("core", Column::Count(&self.cores))])
    }

    fn verify(&self, query: &Query<Kcore>, by: &Checker) -> Result<Checked> {
        let check = by.kcore(&query.graph, &self.cores)?;
        Ok(Checked { found: fields([("max_core", json!(check.max_core))]), ..Checked::default() })
    }
}
