//! What is said of personalised PageRank.

use super::{PersonalPagerank, PersonalRanks};
use crate::algorithm::Measured;
use crate::algorithm::push::checked;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::{self, Checker, PprFound, PushQuestion};
use serde_json::{Map, Value, json};

impl Answer<PersonalPagerank> for PersonalRanks {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<PersonalPagerank>) -> &'static str {
        "push"
    }

    fn cuts(&self, _: &Query<PersonalPagerank>) -> String {
        String::new()
    }

    fn lines(&self, query: &Query<PersonalPagerank>) -> Vec<(&'static str, String)> {
        let most = u64::from(query.config.top_nodes);
        let [values, sources] = [(self.value.len() as u64, "value"), (self.sources, "source")]
            .map(|(number, noun)| plural(number, noun));
        let (pushes, rounds) = (count(self.pushes), plural(self.rounds, "round"));
        let kept = format!("{values} of {sources}, at most {most} of each");
        vec![("answer", format!("{kept}; pushes: {pushes}, in at most {rounds}"))]
    }

    fn rated(&self) -> &'static str {
        "out of the nodes that push, each time"
    }

    fn variant(&self, query: &Query<PersonalPagerank>) -> String {
        format!("variant:sources-{}_epsilon-{:e}", self.sources, query.config.epsilon)
    }

    /// `sources-pushed`, values `kept`, `push-rounds` of the source that has most, and `pushes` of all.
    fn facts(&self, _: &Query<PersonalPagerank>) -> Map<String, Value> {
        fields([
            ("sources-pushed", json!(self.sources)),
            ("kept", json!(self.value.len())),
            ("push-rounds", json!(self.rounds)),
            ("pushes", json!(self.pushes)),
        ])
    }

    fn table(&self, _: &Query<PersonalPagerank>) -> Table<'_> {
        Table::listed([
            ("source", Column::Node(&self.source)),
            ("node", Column::Node(&self.node)),
            ("value", Column::F64(&self.value)),
        ])
    }

    fn verify(&self, query: &Query<PersonalPagerank>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let (config, sources) = (&query.config, &query.start.sources);
        let question = PushQuestion { sources, alpha: config.alpha, epsilon: config.epsilon };
        let found = PprFound { source: &self.source, node: &self.node, value: &self.value };
        let most = config.top_nodes as usize;
        let looked = by.by_host(|| verify::ppr(&query.graph, question, most, found))?;
        Ok(checked(looked, sources.len()))
    }
}
