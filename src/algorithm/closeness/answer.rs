//! What is said of closeness.

use super::{
    Closeness, ClosenessCentrality, ClosenessMode, ClosenessRank, Eccentricity, Found, Histogram,
    Sums,
};
use crate::algorithm::Measured;
use crate::algorithm::matrix::strategy_told;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, ClosenessBy, ClosenessFound, ClosenessOf};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;

/// The share of the pairs that are within the effective diameter.
const EFFECTIVE: f64 = 0.9;

impl Closeness {
    /// From what nodes have added up.
    ///
    /// # Errors
    /// [`Histogram::new`].
    pub(super) fn of(found: Found, query: &Query<ClosenessCentrality>) -> Result<Closeness> {
        let Found { sums, double, strategy, measured } = found;
        let (nodes, sources) = (query.graph.nodes(), query.start.len() as u64);
        let mut others = vec![sources; nodes];
        query.start.iter().for_each(|source| others[*source as usize] -= 1);
        let Sums { far, harmonic, reached, farthest, pairs: counted, .. } = sums;
        let most = || farthest.iter().copied().fold(0.0, f64::max);
        let histogram = query.config.histogram.filter(|_| !counted.is_empty());
        let histogram =
            histogram.map(|width| Histogram::new(width, counted, most())).transpose()?;
        let pairs: u64 = reached.iter().map(|reached| u64::from(*reached)).sum();
        let mean_distance = far.iter().sum::<f64>() / pairs.max(1) as f64;
        let closeness = (0..nodes).map(|v| {
            let (reached, far, others) = (f64::from(reached[v]), far[v], others[v]);
            if far == 0.0 { 0.0 } else { reached / far * (reached / others as f64) }
        });
        let harmonic = (0..nodes).map(|v| {
            let all = (nodes as f64 - 1.0) / others[v].max(1) as f64;
            harmonic[v] * all
        });
        Ok(Closeness {
            closeness: closeness.collect(),
            harmonic: harmonic.collect(),
            eccentricity: match query.config.weighted {
                true => Eccentricity::Weight(farthest),
                false => Eccentricity::Arcs(farthest.into_iter().map(|arcs| arcs as u32).collect()),
            },
            reached,
            mean_distance,
            histogram,
            sources,
            double,
            strategy,
            measured,
        })
    }

    /// The largest distance of all.
    fn farthest(&self) -> f64 {
        (0..self.reached.len()).map(|v| self.eccentricity.of(v)).fold(0.0, f64::max)
    }

    /// The least eccentricity of the nodes that most sources reach.
    fn radius(&self) -> f64 {
        let most = self.reached.iter().max().copied().unwrap_or(0);
        let nodes = (0..self.reached.len()).filter(|v| self.reached[*v] == most);
        nodes.map(|v| self.eccentricity.of(v)).reduce(f64::min).unwrap_or(0.0)
    }

    fn by_arcs(&self) -> bool {
        matches!(self.eccentricity, Eccentricity::Arcs(_))
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
        self.strategy
    }

    fn strategy_line(&self, _: &Query<ClosenessCentrality>) -> String {
        strategy_told(self.strategy)
    }

    fn cuts(&self, _: &Query<ClosenessCentrality>) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; batches dealt".into(),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<ClosenessCentrality>) -> Vec<(&'static str, String)> {
        let (farthest, mean) = (self.farthest(), self.mean_distance);
        let way = match query.config.mode {
            ClosenessMode::In => "from",
            ClosenessMode::Out => "to",
        };
        let sources = match self.is_exact() {
            true => "all nodes".into(),
            false => plural(self.sources, "source"),
        };
        let answer = (
            "answer",
            match self.eccentricity {
                Eccentricity::Arcs(_) => {
                    let arcs = plural(farthest as u64, "arc");
                    format!("distances {way} {sources}, the largest {arcs}, the mean {mean:.4}")
                }
                Eccentricity::Weight(_) => {
                    format!(
                        "distances by weight {way} {sources}, the largest {farthest}, the mean {mean:.4}"
                    )
                }
            },
        );
        let spread = self.histogram.as_ref().map(|histogram| {
            let [half, most] =
                [0.5, EFFECTIVE].map(|share| histogram.within(share, self.by_arcs()));
            let told = format!(
                "half of the pairs are within {half:.4}, {:.0} % within {most:.4}",
                100.0 * EFFECTIVE
            );
            ("histogram", told)
        });
        [answer].into_iter().chain(spread).collect()
    }

    fn rated(&self) -> &'static str {
        "once for each source"
    }

    fn variant(&self, query: &Query<ClosenessCentrality>) -> String {
        let by = if query.config.weighted { "weight-" } else { "" };
        format!("variant:{by}{}_sources-{}", query.config.mode, self.sources)
    }

    /// `sources-searched`; the largest distance found, `farthest`, the mean of all, `mean-distance`, and the least eccentricity of the
    /// nodes that most sources reach, `radius`: with all sources the diameter and the average path length of the reachable pairs, and the
    /// radius. With a histogram, its `width` and `counts`, and the distance within which 90 % of the pairs are, `effective-diameter`.
    fn facts(&self, _: &Query<ClosenessCentrality>) -> Map<String, Value> {
        let told = |distance: f64| match self.eccentricity {
            Eccentricity::Arcs(_) => json!(distance as u32),
            Eccentricity::Weight(_) => json!(distance),
        };
        let counted = self.histogram.iter().flat_map(|histogram| {
            let Histogram { width, counts } = histogram;
            let effective = histogram.within(EFFECTIVE, self.by_arcs());
            [
                ("effective-diameter", json!(effective)),
                ("histogram", json!({ "width": width, "counts": counts })),
            ]
        });
        let mut facts = fields([
            ("sources-searched", json!(self.sources)),
            ("farthest", told(self.farthest())),
            ("radius", told(self.radius())),
            ("mean-distance", json!(self.mean_distance)),
        ]);
        facts.extend(counted.map(|(name, value)| (name.to_string(), value)));
        facts
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
                // No distance is below 0, so bits are in the order of numbers.
                let of = |v: u32| {
                    let farthest = self.eccentricity.of(v as usize);
                    (Reverse(self.reached[v as usize]), farthest.to_bits())
                };
                let least = first(&query.graph, nodes.map(|v| (v, of(v))), k, Ord::cmp);
                let shown: Vec<(u32, f64)> = least
                    .into_iter()
                    .map(|(v, (_, farthest))| (v, f64::from_bits(farthest)))
                    .collect();
                ranked(&query.graph, ["node", "eccentricity"], shown)
            }
        })
    }

    fn table(&self, _: &Query<ClosenessCentrality>) -> Table<'_> {
        Table::of_nodes([
            ("closeness", Column::F64(&self.closeness)),
            ("harmonic", Column::F64(&self.harmonic)),
            (
                "eccentricity",
                match &self.eccentricity {
                    Eccentricity::Arcs(all) => Column::Count(all),
                    Eccentricity::Weight(all) => Column::F64(all),
                },
            ),
            ("reached", Column::Count(&self.reached)),
        ])
    }

    fn verify(&self, query: &Query<ClosenessCentrality>, by: &Checker) -> Result<Checked> {
        let eccentricity: Vec<f64> =
            (0..self.reached.len()).map(|v| self.eccentricity.of(v)).collect();
        let found = ClosenessFound {
            closeness: &self.closeness,
            harmonic: &self.harmonic,
            eccentricity: &eccentricity,
            reached: &self.reached,
            histogram: self.histogram.as_ref().map(|of| (of.width, &*of.counts)),
        };
        let distances = match (query.config.weighted, self.double) {
            (false, _) => ClosenessBy::Arcs,
            (true, false) => ClosenessBy::Weights32,
            (true, true) => ClosenessBy::Weights64,
        };
        let out = query.config.mode == ClosenessMode::Out;
        let of = ClosenessOf { by: distances, out, within: query.config.within };
        let looked = by.by_host(|| verify::closeness(&query.graph, &query.start, of, found))?;
        let nodes = self.closeness.len();
        let skipped = (looked < nodes)
            .then(|| format!("{looked} of {} were looked at", plural(nodes as u64, "node")));
        Ok(Checked { skipped, found: fields([("nodes", json!(looked))]), note: String::new() })
    }
}
