//! How near nodes are to several seeds together.

use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::Checked;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::io::Column;
use crate::units::plural;
use crate::verify::{self, Checker, SeedSumsFound};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

words!(
    /// What nodes are ranked by.
    VnRank, "--rank" {
        /// The distance from the nearest seed, the least first.
        #[default]
        Min = "min",
        /// The sum of the distances from all seeds, the least first, of those that most seeds reach.
        Sum = "sum",
        /// The sum of the inverses of these distances, the highest first.
        Harmonic = "harmonic",
    }
);

/// Sums over the seeds that reach a node, itself not counted; `[n]` each.
#[derive(Debug, Clone, Default)]
pub struct SeedSums {
    /// Which of the sums nodes are ranked by.
    pub by: VnRank,
    /// Of distances.
    pub sum: Vec<f64>,
    /// Of 1 / distance, where that is not 0.
    pub harmonic: Vec<f64>,
    /// How many seeds these are.
    pub reached: Vec<u32>,
    /// How distances were found: `copies`, many seeds at a time, or `searches`, one after another.
    pub strategy: &'static str,
}

impl SeedSums {
    /// The first `k` nodes that are no seeds, as a table.
    pub(super) fn ranking(&self, graph: &Graph, seeds: &[u32], k: usize) -> String {
        let mut seeds = seeds.to_vec();
        seeds.sort_unstable();
        let reached = |v: &u32| self.reached[*v as usize];
        let others = (0..self.reached.len() as u32)
            .filter(|v| reached(v) > 0 && seeds.binary_search(v).is_err());
        match self.by {
            VnRank::Harmonic => {
                let values = others.map(|v| (v, self.harmonic[v as usize]));
                let shown = first(graph, values, k, |a, b| b.total_cmp(a));
                ranked(graph, ["node", "harmonic"], shown)
            }
            VnRank::Min | VnRank::Sum => {
                // No sum is below 0, so bits are in the order of numbers.
                let of = |v: u32| (Reverse(reached(&v)), self.sum[v as usize].to_bits());
                let least = first(graph, others.map(|v| (v, of(v))), k, Ord::cmp);
                let shown: Vec<(u32, f64)> =
                    least.into_iter().map(|(v, (_, bits))| (v, f64::from_bits(bits))).collect();
                ranked(graph, ["node", "sum"], shown)
            }
        }
    }

    pub(super) fn columns(&self) -> [(&'static str, Column<'_>); 3] {
        [
            ("sum", Column::F64(&self.sum)),
            ("harmonic", Column::F64(&self.harmonic)),
            ("seeds", Column::Count(&self.reached)),
        ]
    }

    /// Has them checked; `double`: distances had 64 bits.
    pub(super) fn verify(
        &self,
        (graph, seeds, double): (&Graph, &[u32], bool),
        by: &Checker,
    ) -> Result<Checked> {
        let SeedSums { sum, harmonic, reached, .. } = self;
        let found = SeedSumsFound { sum, harmonic, reached };
        let searched = by.by_host(|| match double {
            true => verify::seed_sums::<f64>(graph, seeds, found),
            false => verify::seed_sums::<f32>(graph, seeds, found),
        })?;
        let all = seeds.len();
        let skipped = (searched < all)
            .then(|| format!("sums hold what {searched} of {} give", plural(all as u64, "seed")));
        Ok(Checked { skipped, ..Checked::default() })
    }
}
