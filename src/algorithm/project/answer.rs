//! What is said of projections.

use super::{BipartiteProjection, Projection};
use crate::algorithm::Measured;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker};
use serde_json::{Map, Value, json};

impl Projection {
    /// The first `k` edges by falling weight, of equal ones as they stand.
    fn ranked(&self, k: usize) -> Vec<usize> {
        let key = |row: &usize| (std::cmp::Reverse(self.common[*row]), *row);
        let mut rows: Vec<usize> = (0..self.common.len()).collect();
        if 0 < k && k < rows.len() {
            rows.select_nth_unstable_by_key(k - 1, key);
        }
        rows.truncate(k);
        rows.sort_unstable_by_key(key);
        rows
    }
}

impl Answer<BipartiteProjection> for Projection {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<BipartiteProjection>) -> &'static str {
        "wedges by row"
    }

    fn cuts(&self, _: &Query<BipartiteProjection>) -> String {
        String::new()
    }

    fn lines(&self, query: &Query<BipartiteProjection>) -> Vec<(&'static str, String)> {
        let nodes = plural(query.start.0.len() as u64, "node");
        let edges = plural(self.common.len() as u64, "edge");
        let most = self.common.iter().copied().max().unwrap_or(0);
        let most = plural(u64::from(most), "common neighbour");
        vec![("answer", format!("{edges} among {nodes}, of up to {most}"))]
    }

    fn unit(&self) -> &'static str {
        "wedges"
    }

    fn rated(&self) -> &'static str {
        "of all rows"
    }

    fn variant(&self, _: &Query<BipartiteProjection>) -> String {
        "variant:weighted".into()
    }

    /// `kept-nodes`, `edges` among them, and the `wedges` that were counted.
    fn facts(&self, query: &Query<BipartiteProjection>) -> Map<String, Value> {
        fields([
            ("kept-nodes", json!(query.start.0.len())),
            ("edges", json!(self.common.len())),
            ("wedges", json!(self.measured.reached_arcs)),
        ])
    }

    fn ranking(&self, query: &Query<BipartiteProjection>, k: usize) -> Option<String> {
        let mut table = crate::table::Table::new(&["rank", "node", "other", "common"], &[]);
        for (place, row) in self.ranked(k).into_iter().enumerate() {
            let [u, v] = [self.node[row], self.other[row]].map(|node| query.graph.id(node));
            let place = (place + 1).to_string();
            table.row([place, u.to_string(), v.to_string(), self.common[row].to_string()]);
        }
        Some(table.to_string())
    }

    fn table(&self, _: &Query<BipartiteProjection>) -> Table<'_> {
        Table::listed([
            ("node", Column::Node(&self.node)),
            ("other", Column::Node(&self.other)),
            ("common", Column::Value(&self.common)),
        ])
    }

    fn verify(&self, query: &Query<BipartiteProjection>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let kept = &query.start.0;
        let found = [&self.node[..], &self.other, &self.common];
        let looked = by.by_host(|| verify::project(&query.graph, kept, found))?;
        let skipped = (looked < kept.len())
            .then(|| format!("{looked} of {} were looked at", plural(kept.len() as u64, "row")));
        let found = fields([("rows", json!(looked))]);
        Ok(Checked { skipped, found, note: String::new() })
    }
}
