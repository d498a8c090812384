//! What is said of clustering coefficients.

use super::directed::Around;
use super::{Clustering, Lcc};
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, ClusteringFound};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

impl Clustering {
    /// From what there is around each node.
    pub(super) fn of(around: Around) -> Clustering {
        let Around { joined, neighbours, triangles, measured } = around;
        let pairs: Vec<u64> = neighbours.into_par_iter().map(|d| d * d.saturating_sub(1)).collect();
        let share = |(count, pairs): (&u64, &u64)| match *pairs {
            0 => 0.0,
            pairs => *count as f64 / pairs as f64,
        };
        let coefficients: Vec<f64> = joined.iter().zip(&pairs).map(share).collect();
        let (joined, all) = (
            joined.iter().map(|count| u128::from(*count)).sum::<u128>(),
            pairs.iter().map(|pairs| u128::from(*pairs)).sum::<u128>(),
        );
        let mean = coefficients.iter().sum::<f64>() / coefficients.len().max(1) as f64;
        let transitivity = if all == 0 { 0.0 } else { joined as f64 / all as f64 };
        Clustering { coefficients, mean, transitivity, triangles, measured }
    }
}

impl Answer<Lcc> for Clustering {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Lcc>) -> &'static str {
        "oriented intersection"
    }

    fn cuts(&self, _: &Query<Lcc>) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; chunks of equal cost".into(),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<Lcc>) -> Vec<(&'static str, String)> {
        let triangles = plural(self.triangles, "triangle");
        let text = format!(
            "{triangles}; mean coefficient {:.6}, transitivity {:.6}",
            self.mean, self.transitivity
        );
        vec![("answer", text)]
    }

    fn rated(&self) -> &'static str {
        "of the whole graph"
    }

    fn variant(&self, _: &Query<Lcc>) -> String {
        "variant:lcc".into()
    }

    /// `mean-coefficient`, `transitivity` and `triangle-count` of the graph.
    fn facts(&self, _: &Query<Lcc>) -> Map<String, Value> {
        fields([
            ("mean-coefficient", json!(self.mean)),
            ("transitivity", json!(self.transitivity)),
            ("triangle-count", json!(self.triangles)),
        ])
    }

    fn ranking(&self, query: &Query<Lcc>, k: usize) -> Option<String> {
        let values = (0u32..).zip(self.coefficients.iter().copied());
        let highest = first(&query.graph, values, k, |a, b| b.total_cmp(a));
        Some(ranked(&query.graph, ["node", "coefficient"], highest))
    }

    fn table(&self, _: &Query<Lcc>) -> Table<'_> {
        Table::of_nodes([("clustering", Column::F64(&self.coefficients))])
    }

    fn verify(&self, query: &Query<Lcc>, by: &Checker) -> Result<Checked> {
        let found = ClusteringFound {
            coefficients: &self.coefficients,
            mean: self.mean,
            transitivity: self.transitivity,
            triangles: self.triangles,
        };
        query.graph.load()?;
        by.by_host(|| verify::lcc(&query.graph, found))?;
        Ok(Checked::default())
    }
}
