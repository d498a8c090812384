//! What is said of personalised PageRank.

use super::{PersonalPagerank, PersonalRanks, PprMethod, TOLERANCE};
use crate::algorithm::Measured;
use crate::algorithm::push::checked;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::{self, Checker, PowerFound, PowerQuestion, PprFound, PushQuestion};
use serde_json::{Map, Value, json};

impl PersonalRanks {
    /// The largest L1 distance between the values of the last two iterations of a source.
    fn change(&self) -> f64 {
        self.changes.iter().copied().fold(0.0, f64::max)
    }

    /// Whether all sources ended because the tolerance was met.
    fn met(&self, query: &Query<PersonalPagerank>) -> bool {
        let tolerance = query.config.tolerance.or(TOLERANCE);
        tolerance > 0.0 && self.change() <= tolerance
    }
}

impl Answer<PersonalPagerank> for PersonalRanks {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, query: &Query<PersonalPagerank>) -> &'static str {
        query.config.method.word()
    }

    fn strategy_line(&self, query: &Query<PersonalPagerank>) -> String {
        let config = &query.config;
        match (config.method, config.weighted) {
            (PprMethod::Push, _) => "push".into(),
            (_, true) => format!("power; damping {}, by weights", config.damping),
            (_, false) => format!("power; damping {}, unweighted", config.damping),
        }
    }

    fn cuts(&self, _: &Query<PersonalPagerank>) -> String {
        String::new()
    }

    fn lines(&self, query: &Query<PersonalPagerank>) -> Vec<(&'static str, String)> {
        let most = u64::from(query.config.top_nodes);
        let [values, sources] = [(self.value.len() as u64, "value"), (self.sources, "source")]
            .map(|(number, noun)| plural(number, noun));
        let kept = format!("{values} of {sources}, at most {most} of each");
        let how = match query.config.method {
            PprMethod::Push => {
                let (pushes, rounds) = (count(self.pushes), plural(self.rounds, "round"));
                format!("pushes: {pushes}, in at most {rounds}")
            }
            PprMethod::Power => {
                let iterations = plural(self.rounds, "iteration");
                let met = match (self.met(query), query.config.tolerance.or(TOLERANCE) > 0.0) {
                    (true, _) => " (tolerance met)",
                    (_, true) => " (tolerance not met; it takes more --iterations)",
                    _ => "",
                };
                format!(
                    "at most {iterations}, {:.3e} the largest last change in L1{met}",
                    self.change()
                )
            }
        };
        vec![("answer", format!("{kept}; {how}"))]
    }

    fn rated(&self) -> &'static str {
        match self.iterations.is_empty() {
            true => "out of the nodes that push, each time",
            false => "over all iterations of all sources",
        }
    }

    fn variant(&self, query: &Query<PersonalPagerank>) -> String {
        let (sources, config) = (self.sources, &query.config);
        match config.method {
            PprMethod::Push => format!("variant:sources-{sources}_epsilon-{:e}", config.epsilon),
            PprMethod::Power => format!("variant:sources-{sources}_power-{}", config.iterations),
        }
    }

    /// `sources-pushed`, values `kept`, `push-rounds` of the source that has most, and `pushes` of all. By power iteration
    /// `sources-iterated`, `kept`, `iterations-made` of the source that has most, and the largest `change` in L1 of the last of a source.
    fn facts(&self, query: &Query<PersonalPagerank>) -> Map<String, Value> {
        if query.config.method == PprMethod::Power {
            return fields([
                ("sources-iterated", json!(self.sources)),
                ("kept", json!(self.value.len())),
                ("iterations-made", json!(self.rounds)),
                ("change", json!(self.change())),
            ]);
        }
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
        let found = PprFound { source: &self.source, node: &self.node, value: &self.value };
        let most = config.top_nodes as usize;
        if config.method == PprMethod::Push {
            let question = PushQuestion { sources, alpha: config.alpha, epsilon: config.epsilon };
            let looked = by.by_host(|| verify::ppr(&query.graph, question, most, found))?;
            return Ok(checked(looked, sources.len()));
        }
        let question = PowerQuestion {
            sources,
            damping: config.damping,
            iterations: config.iterations,
            tolerance: config.tolerance.or(TOLERANCE),
            weighted: config.weighted,
        };
        let found =
            PowerFound { rows: found, iterations: &self.iterations, changes: &self.changes };
        let check = by.by_host(|| verify::ppr_by_power(&query.graph, question, most, found))?;
        let mut all = checked(check.sources, sources.len());
        all.found.extend(fields([("residual", json!(check.residual))]));
        all.note = format!("; residual {:.1e}", check.residual);
        Ok(all)
    }
}
