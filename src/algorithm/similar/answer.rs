//! What is said of similar nodes.

use super::{SimilarPairs, Similarity};
use crate::algorithm::Measured;
use crate::algorithm::common::Keep;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, PairsAsked, PairsFound, SimilarQuestion};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

impl SimilarPairs {
    /// The first `k` rows by falling value, of equal ones as they stand; a pair that is there several times, once.
    fn ranked(&self, k: usize) -> Vec<usize> {
        let order = |a: &usize, b: &usize| self.value[*b].total_cmp(&self.value[*a]).then(a.cmp(b));
        let all = self.value.len();
        // Both ways, as nearly all are.
        let mut most = k.saturating_mul(2);
        loop {
            let mut rows: Vec<usize> = (0..all).collect();
            if 0 < most && most < all {
                rows.select_nth_unstable_by(most - 1, order);
            }
            rows.truncate(most);
            rows.sort_unstable_by(order);
            let mut met = HashSet::new();
            rows.retain(|row| {
                let (u, v) = (self.node[*row], self.other[*row]);
                met.insert((u.min(v), u.max(v)))
            });
            if rows.len() >= k || most >= all {
                rows.truncate(k);
                return rows;
            }
            most = most.saturating_mul(8);
        }
    }
}

impl Answer<Similarity> for SimilarPairs {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, query: &Query<Similarity>) -> &'static str {
        if query.config.pairs.is_some() { "rows of pairs" } else { "wedges by row" }
    }

    fn cuts(&self, _: &Query<Similarity>) -> String {
        String::new()
    }

    fn lines(&self, query: &Query<Similarity>) -> Vec<(&'static str, String)> {
        let pairs = plural(self.value.len() as u64, "pair");
        let text = match self.ranked(1).first() {
            Some(&row) => {
                let [u, v] = [self.node[row], self.other[row]].map(|node| query.graph.id(node));
                format!("{pairs}; the most similar are {u} and {v}: {:.4}", self.value[row])
            }
            None => pairs,
        };
        vec![("answer", text)]
    }

    fn unit(&self) -> &'static str {
        "wedges"
    }

    fn rated(&self) -> &'static str {
        "of all rows"
    }

    fn variant(&self, query: &Query<Similarity>) -> String {
        format!("variant:{}", query.config.measure)
    }

    /// `pairs-listed`, and `wedges` that were counted, or arcs that were looked up.
    fn facts(&self, _: &Query<Similarity>) -> Map<String, Value> {
        let wedges = json!(self.measured.reached_arcs);
        fields([("pairs-listed", json!(self.value.len())), ("wedges", wedges)])
    }

    fn ranking(&self, query: &Query<Similarity>, k: usize) -> Option<String> {
        let mut table = crate::table::Table::new(&["rank", "node", "other", "value"], &[]);
        for (place, row) in self.ranked(k).into_iter().enumerate() {
            let [u, v] = [self.node[row], self.other[row]].map(|node| query.graph.id(node));
            table.row([
                (place + 1).to_string(),
                u.to_string(),
                v.to_string(),
                self.value[row].to_string(),
            ]);
        }
        Some(table.to_string())
    }

    fn table(&self, _: &Query<Similarity>) -> Table<'_> {
        Table::listed([
            ("node", Column::Node(&self.node)),
            ("other", Column::Node(&self.other)),
            ("value", Column::F64(&self.value)),
        ])
    }

    fn verify(&self, query: &Query<Similarity>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let start = &query.start;
        let asked = match query.config.keep() {
            _ if query.config.pairs.is_some() => PairsAsked::Given(&start.pairs),
            Keep::Best(best) => PairsAsked::Best(&start.sources, best),
            Keep::Least(least) => PairsAsked::Least(&start.sources, least),
        };
        let question = SimilarQuestion { measure: query.config.measure.word(), asked };
        let found = PairsFound { node: &self.node, other: &self.other, value: &self.value };
        let looked = by.by_host(|| verify::similar(&query.graph, question, found))?;
        let all = start.sources.len();
        let skipped = (looked < all)
            .then(|| format!("{looked} of {} were looked at", plural(all as u64, "row")));
        let found = fields([("rows", json!(looked))]);
        Ok(Checked { skipped, found, note: String::new() })
    }
}
