//! What is said of communities.

use super::{Cdlp, Communities};
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked, sizes};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker};
use serde_json::{Map, Value, json};

impl Communities {
    /// From labels by rank.
    pub(super) fn of(
        graph: &Graph,
        ranks: Vec<u32>,
        (iterations, changed, sorted): (u32, u64, bool),
        measured: Measured,
    ) -> Communities {
        let labels: Vec<u32> = ranks.into_iter().map(|rank| graph.ranked(rank)).collect();
        let sizes = sizes(&labels);
        let count = sizes.iter().filter(|size| **size > 0).count() as u64;
        let largest = sizes.into_iter().max().unwrap_or(0);
        Communities { labels, count, largest, iterations, changed, sorted, measured }
    }
}

impl Answer<Cdlp> for Communities {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Cdlp>) -> &'static str {
        if self.sorted { "sort" } else { "tables" }
    }

    fn cuts(&self, query: &Query<Cdlp>) -> String {
        match self.measured.merge_modes.contains_key("gather") {
            true => format!("; chunks of equal {}", query.prepare.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<Cdlp>) -> Vec<(&'static str, String)> {
        let iterations = plural(self.iterations.into(), "iteration");
        let last = match self.changed {
            0 => "the last changed nothing".to_string(),
            changed => format!("the last changed {}", plural(changed, "label")),
        };
        let (count, largest) = (self.count, plural(self.largest, "node"));
        let communities = if count == 1 { "community" } else { "communities" };
        let count = crate::units::count(count);
        let answer =
            format!("{count} {communities}, the largest of {largest}, after {iterations}; {last}");
        vec![("answer", answer)]
    }

    fn rated(&self) -> &'static str {
        "over all iterations"
    }

    fn variant(&self, query: &Query<Cdlp>) -> String {
        format!("variant:cdlp-{}", query.config.iterations)
    }

    /// `communities`, nodes of the `largest`, `iterations-made`, and nodes `changed` by the last.
    fn facts(&self, _: &Query<Cdlp>) -> Map<String, Value> {
        fields([
            ("communities", json!(self.count)),
            ("largest", json!(self.largest)),
            ("iterations-made", json!(self.iterations)),
            ("changed", json!(self.changed)),
        ])
    }

    fn ranking(&self, query: &Query<Cdlp>, k: usize) -> Option<String> {
        let sizes = (0u32..).zip(sizes(&self.labels)).filter(|(_, size)| *size > 0);
        let largest = first(&query.graph, sizes, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["community", "nodes"], largest))
    }

    fn table(&self, _: &Query<Cdlp>) -> Table<'_> {
        Table::of_nodes([("community", Column::Node(&self.labels))])
    }

    fn verify(&self, query: &Query<Cdlp>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let (iterations, changed) =
            by.by_host(|| verify::cdlp(&query.graph, &self.labels, query.config.iterations))?;
        if (iterations, changed) != (self.iterations, self.changed) {
            return Err(Error::Verify(format!(
                "cdlp: {iterations} iterations of which the last changes {changed} labels, not {} and {}",
                self.iterations, self.changed
            )));
        }
        Ok(Checked { found: fields([("iterations", json!(iterations))]), ..Checked::default() })
    }
}
