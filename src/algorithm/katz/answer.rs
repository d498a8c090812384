//! What is said of Katz centrality.

use super::{Centralities, Katz};
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::Checker;
use serde_json::{Map, Value, json};

impl Centralities {
    /// Whether it ended because the tolerance was met.
    fn met(&self, query: &Query<Katz>) -> bool {
        self.change <= query.config.tolerance
    }
}

impl Answer<Katz> for Centralities {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Katz>) -> &'static str {
        "jacobi"
    }

    fn strategy_line(&self, _: &Query<Katz>) -> String {
        format!("jacobi; alpha {}", self.alpha)
    }

    fn cuts(&self, query: &Query<Katz>) -> String {
        match self.measured.merge_modes.contains_key("gather") {
            true => format!("; chunks of equal {}", query.prepare.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<Katz>) -> Vec<(&'static str, String)> {
        let met = match self.met(query) {
            true => "tolerance met",
            false => "tolerance not met; it takes more --iterations, or a smaller --alpha",
        };
        let iterations = plural(self.iterations.into(), "iteration");
        vec![("answer", format!("{iterations}, {:.3e} the largest change ({met})", self.change))]
    }

    fn rated(&self) -> &'static str {
        "over all iterations"
    }

    fn variant(&self, query: &Query<Katz>) -> String {
        format!("variant:katz-{}", query.config.iterations)
    }

    /// `alpha`, `iterations-made`, and `change` in the last, as a share of the value.
    fn facts(&self, _: &Query<Katz>) -> Map<String, Value> {
        fields([
            ("alpha", json!(self.alpha)),
            ("iterations-made", json!(self.iterations)),
            ("change", json!(self.change)),
        ])
    }

    fn ranking(&self, query: &Query<Katz>, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.values.iter().copied());
        let highest = first(&query.graph, values, k, |a, b| b.total_cmp(a));
        Some(ranked(&query.graph, ["node", "centrality"], highest))
    }

    fn table(&self, _: &Query<Katz>) -> Table<'_> {
        Table::of_nodes([("katz", Column::F64(&self.values))])
    }

    fn verify(&self, query: &Query<Katz>, by: &Checker) -> Result<Checked> {
        let limit = query.config.tolerance.max(self.change);
        let residual = by.katz(&query.graph, &self.values, self.alpha, limit)?;
        let skipped = (!self.met(query)).then(|| {
            let iterations = plural(self.iterations.into(), "iteration");
            format!("values after {iterations} are not the solution")
        });
        let note = format!("; residual {residual:.1e}");
        Ok(Checked { skipped, found: fields([("residual", json!(residual))]), note })
    }
}
