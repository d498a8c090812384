//! What is said of communities.

use super::program::Found;
use super::{Modular, Modules};
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked, sizes};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::{Checker, ModulesFound};
use serde_json::{Map, Value, json};

impl Modules {
    /// From a number of each community, by rank.
    pub(super) fn of(graph: &Graph, found: Found, measured: Measured) -> Modules {
        let Found { labels, levels, sweeps } = found;
        // The first that is seen has the lowest id.
        let mut lowest = vec![u32::MAX; graph.nodes()];
        let mut communities = vec![0; graph.nodes()];
        for (rank, label) in (0u32..).zip(labels) {
            let (node, lowest) = (graph.ranked(rank), &mut lowest[label as usize]);
            if *lowest == u32::MAX {
                *lowest = node;
            }
            communities[node as usize] = *lowest;
        }
        let sizes = sizes(&communities);
        let count = sizes.iter().filter(|size| **size > 0).count() as u64;
        let largest = sizes.into_iter().max().unwrap_or(0);
        let modularity = levels.last().map_or(0.0, |level| level.modularity);
        Modules { communities, count, largest, modularity, levels, sweeps, measured }
    }
}

impl<A: Modular> Answer<A> for Modules {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<A>) -> &'static str {
        if self.sweeps == 0 { "one by one" } else { "parts at once, then one by one" }
    }

    fn cuts(&self, _: &Query<A>) -> String {
        match self.measured.merge_modes.contains_key("max") {
            true => "; nodes by a hash".into(),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<A>) -> Vec<(&'static str, String)> {
        let communities = if self.count == 1 { "community" } else { "communities" };
        let answer = format!(
            "{} {communities}, the largest of {}; modularity {:.6} after {}",
            count(self.count),
            plural(self.largest, "node"),
            self.modularity,
            plural(self.levels.len() as u64, "level"),
        );
        vec![("answer", answer)]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, query: &Query<A>) -> String {
        format!("variant:{}-{}", A::NAME, A::resolution(&query.config))
    }

    /// `communities`, nodes of the `largest`, `modularity`, `levels` (communities and modularity of each), `sweeps`.
    fn facts(&self, _: &Query<A>) -> Map<String, Value> {
        fields([
            ("communities", json!(self.count)),
            ("largest", json!(self.largest)),
            ("modularity", json!(self.modularity)),
            ("levels", json!(self.levels)),
            ("sweeps", json!(self.sweeps)),
        ])
    }

    fn ranking(&self, query: &Query<A>, k: usize) -> Option<String> {
        let sizes = (0u32..).zip(sizes(&self.communities)).filter(|(_, size)| *size > 0);
        let largest = first(&query.graph, sizes, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["community", "nodes"], largest))
    }

    fn table(&self, _: &Query<A>) -> Table<'_> {
        Table::of_nodes([("community", Column::Node(&self.communities))])
    }

    fn verify(&self, query: &Query<A>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let levels: Vec<f64> = self.levels.iter().map(|level| level.modularity).collect();
        let found = ModulesFound { communities: &self.communities, levels: &levels };
        let resolution = A::resolution(&query.config);
        let modularity = by.by_host(|| A::certify(&query.graph, found, resolution))?;
        Ok(Checked { found: fields([("modularity", json!(modularity))]), ..Checked::default() })
    }
}
