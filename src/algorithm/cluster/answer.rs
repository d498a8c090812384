//! What is said of clusters.

use super::{Clusters, LocalClustering};
use crate::algorithm::Measured;
use crate::algorithm::push::checked;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, ClustersFound, PushQuestion};
use serde_json::{Map, Value, json};

/// Most clusters that a record lists.
const LISTED: usize = 100;

impl Clusters {
    /// The first source of the least conductance, and that of the largest.
    fn ends(&self) -> Option<(usize, usize)> {
        let all = || 0..self.sources.len();
        let order = |a: &usize, b: &usize| self.conductances[*a].total_cmp(&self.conductances[*b]);
        Some((all().min_by(order)?, all().max_by(order)?))
    }
}

impl Answer<LocalClustering> for Clusters {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<LocalClustering>) -> &'static str {
        "push and sweep"
    }

    fn cuts(&self, _: &Query<LocalClustering>) -> String {
        String::new()
    }

    fn lines(&self, query: &Query<LocalClustering>) -> Vec<(&'static str, String)> {
        let Some((least, largest)) = self.ends() else { return Vec::new() };
        let size = plural(self.sizes[least], "node");
        let told = format!("conductance {:.4}", self.conductances[least]);
        let arcs =
            format!("{} of {} leave it", self.cuts[least], plural(self.volumes[least], "arc"));
        let text = match self.sources.len() {
            1 => format!("{size}, {told}: {arcs}"),
            many => format!(
                "{}; the least around node {}: {size}, {told}, {arcs}; the largest conductance is {:.4}",
                plural(many as u64, "cluster"),
                query.graph.id(self.sources[least]),
                self.conductances[largest]
            ),
        };
        let mut lines = vec![("answer", text)];
        let empty = self.sizes.iter().filter(|size| **size == 0).count() as u64;
        if empty > 0 {
            let empty = plural(empty, "source");
            lines.push((
                "empty",
                format!("{empty} with more arcs than 1 / epsilon: use a smaller --epsilon"),
            ));
        }
        lines
    }

    fn rated(&self) -> &'static str {
        "out of the nodes that push, each time"
    }

    fn variant(&self, query: &Query<LocalClustering>) -> String {
        let (sources, epsilon) = (self.sources.len(), query.config.epsilon);
        format!("variant:sources-{sources}_epsilon-{epsilon:e}")
    }

    /// `sources-pushed`, `push-rounds` of the source that has most, `pushes` of all; `clusters`, the first 100, each its `source`, `size`,
    /// `volume`, `cut` and `conductance`.
    fn facts(&self, query: &Query<LocalClustering>) -> Map<String, Value> {
        let one = |k: usize| {
            json!({
                "source": query.graph.id(self.sources[k]).to_string(),
                "size": self.sizes[k],
                "volume": self.volumes[k],
                "cut": self.cuts[k],
                "conductance": self.conductances[k],
            })
        };
        let clusters: Vec<Value> = (0..self.sources.len()).take(LISTED).map(one).collect();
        fields([
            ("sources-pushed", json!(self.sources.len())),
            ("push-rounds", json!(self.rounds)),
            ("pushes", json!(self.pushes)),
            ("clusters", json!(clusters)),
        ])
    }

    fn table(&self, _: &Query<LocalClustering>) -> Table<'_> {
        Table::listed([
            ("source", Column::Node(&self.source)),
            ("node", Column::Node(&self.nodes)),
            ("conductance", Column::F64(&self.conductance)),
        ])
    }

    fn verify(&self, query: &Query<LocalClustering>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let (config, sources) = (&query.config, &query.start.sources);
        let question = PushQuestion { sources, alpha: config.alpha, epsilon: config.epsilon };
        let found = ClustersFound {
            sizes: &self.sizes,
            volumes: &self.volumes,
            cuts: &self.cuts,
            conductances: &self.conductances,
            source: &self.source,
            node: &self.nodes,
        };
        let looked = by.by_host(|| verify::cluster(&query.graph, question, found))?;
        Ok(checked(looked, sources.len()))
    }
}
