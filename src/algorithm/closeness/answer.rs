//! What is said of closeness.

use super::program::Sums;
use super::{Closeness, ClosenessCentrality, ClosenessMode, ClosenessRank};
use crate::algorithm::Measured;
use crate::algorithm::lanes::{LANES, unit};
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, ClosenessFound};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;

impl Closeness {
    /// From what nodes have added up.
    pub(super) fn of(
        sums: Sums,
        query: &Query<ClosenessCentrality>,
        measured: Measured,
    ) -> Closeness {
        let (nodes, sources) = (query.graph.nodes(), query.start.len() as u64);
        let mut others = vec![sources; nodes];
        query.start.iter().for_each(|source| others[*source as usize] -= 1);
        let Sums { far, harmonic, reached, farthest } = sums;
        let closeness = (0..nodes).map(|v| {
            let (reached, far, others) = (f64::from(reached[v]), far[v], others[v]);
            if far == 0 { 0.0 } else { reached / far as f64 * (reached / others as f64) }
        });
        let unit = unit(nodes) as f64;
        let harmonic = (0..nodes).map(|v| {
            let all = (nodes as f64 - 1.0) / others[v].max(1) as f64;
            harmonic[v] as f64 / unit * all
        });
        Closeness {
            closeness: closeness.collect(),
            harmonic: harmonic.collect(),
            eccentricity: farthest,
            reached,
            sources,
            measured,
        }
    }

    /// Whether all nodes are sources, so that values are exact.
    fn is_exact(&self) -> bool {
        self.sources == self.closeness.len() as u64
    }
}

impl Answer<ClosenessCentrality> for Closeness {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<ClosenessCentrality>) -> &'static str {
        "batches"
    }

    fn strategy_line(&self, _: &Query<ClosenessCentrality>) -> String {
        format!("{LANES} sources at a time")
    }

    fn cuts(&self, _: &Query<ClosenessCentrality>) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; batches dealt in turn".into(),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<ClosenessCentrality>) -> Vec<(&'static str, String)> {
        let farthest = self.eccentricity.iter().max().copied().unwrap_or(0);
        let way = match query.config.mode {
            ClosenessMode::In => "from",
            ClosenessMode::Out => "to",
        };
        let sources = match self.is_exact() {
            true => "all nodes".into(),
            false => plural(self.sources, "source"),
        };
        vec![(
            "answer",
            format!("distances {way} {sources}, the largest {}", plural(farthest.into(), "arc")),
        )]
    }

    fn rated(&self) -> &'static str {
        "once for each source"
    }

    fn variant(&self, query: &Query<ClosenessCentrality>) -> String {
        format!("variant:{}_sources-{}", query.config.mode, self.sources)
    }

    /// `sources-searched`, and the largest distance found, `farthest`: with all sources the diameter of the reachable pairs.
    fn facts(&self, _: &Query<ClosenessCentrality>) -> Map<String, Value> {
        let farthest = self.eccentricity.iter().max();
        fields([("sources-searched", json!(self.sources)), ("farthest", json!(farthest))])
    }

    fn ranking(&self, query: &Query<ClosenessCentrality>, k: usize) -> Option<String> {
        let nodes = 0..self.closeness.len() as u32;
        let highest = |values: &[f64], name| {
            let values = nodes.clone().zip(values.iter().copied());
            ranked(
                &query.graph,
                ["node", name],
                first(&query.graph, values, k, |a, b| b.total_cmp(a)),
            )
        };
        Some(match query.config.rank_by {
            ClosenessRank::Closeness => highest(&self.closeness, "closeness"),
            ClosenessRank::Harmonic => highest(&self.harmonic, "harmonic"),
            ClosenessRank::Eccentricity => {
                let of =
                    |v: u32| (Reverse(self.reached[v as usize]), self.eccentricity[v as usize]);
                let least = first(&query.graph, nodes.map(|v| (v, of(v))), k, Ord::cmp);
                let shown: Vec<(u32, u32)> =
                    least.into_iter().map(|(v, (_, farthest))| (v, farthest)).collect();
                ranked(&query.graph, ["node", "eccentricity"], shown)
            }
        })
    }

    fn table(&self, _: &Query<ClosenessCentrality>) -> Table<'_> {
        Table::of_nodes([
            ("closeness", Column::F64(&self.closeness)),
            ("harmonic", Column::F64(&self.harmonic)),
            ("eccentricity", Column::Count(&self.eccentricity)),
            ("reached", Column::Count(&self.reached)),
        ])
    }

    fn verify(&self, query: &Query<ClosenessCentrality>, by: &Checker) -> Result<Checked> {
        let found = ClosenessFound {
            closeness: &self.closeness,
            harmonic: &self.harmonic,
            eccentricity: &self.eccentricity,
            reached: &self.reached,
        };
        let out = query.config.mode == ClosenessMode::Out;
        let looked = by.by_host(|| verify::closeness(&query.graph, &query.start, out, found))?;
        let nodes = self.closeness.len();
        let skipped = (looked < nodes)
            .then(|| format!("{looked} of {} were looked at", plural(nodes as u64, "node")));
        Ok(Checked { skipped, found: fields([("nodes", json!(looked))]), note: String::new() })
    }
}
