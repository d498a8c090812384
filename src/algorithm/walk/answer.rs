//! What is said of walks.

use super::{RandomWalk, WalkKept, Walks};
use crate::algorithm::Measured;
use crate::algorithm::left::LeftColumn;
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{self, Checker, WalkFound, WalkQuestion};
use serde_json::{Map, Value, json};

impl Answer<RandomWalk> for Walks {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, query: &Query<RandomWalk>) -> &'static str {
        let weighted = !query.start.rows.share.is_empty();
        match (weighted, query.config.looks_back()) {
            _ if query.config.greedy => "greedy",
            _ if query.config.scores.is_some() => "by scores",
            (false, false) => "uniform",
            (true, false) => "weighted",
            (false, true) => "node2vec",
            (true, true) => "weighted node2vec",
        }
    }

    fn cuts(&self, _: &Query<RandomWalk>) -> String {
        match self.measured.merge_modes.contains_key("sum") {
            true => "; slices of walkers".into(),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<RandomWalk>) -> Vec<(&'static str, String)> {
        let longest = self.walkers * u64::from(query.config.length);
        let (walks, steps) = (plural(self.walkers, "walk"), plural(self.steps, "step"));
        if !self.left.is_empty() {
            return vec![("answer", format!("{walks}, left on the device"))];
        }
        let early = match self.steps < longest {
            true => "; some walks end where no arc leads on",
            false => "",
        };
        vec![("answer", format!("{walks} of {steps} together{early}"))]
    }

    fn unit(&self) -> &'static str {
        "steps"
    }

    fn rated(&self) -> &'static str {
        "of all walks"
    }

    fn variant(&self, query: &Query<RandomWalk>) -> String {
        format!("variant:{}_length-{}", self.strategy(query), query.config.length)
    }

    /// `walkers` and `steps`, of all walks together.
    fn facts(&self, _: &Query<RandomWalk>) -> Map<String, Value> {
        let steps = self.left.is_empty().then_some(self.steps);
        fields([("walkers", json!(self.walkers)), ("steps", json!(steps))])
    }

    fn ranking(&self, query: &Query<RandomWalk>, k: usize) -> Option<String> {
        let visits = (0u32..).zip(self.visits.iter().copied());
        let most = first(&query.graph, visits, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["node", "visits"], most))
    }

    /// A row a node, or a walk where paths are kept.
    fn table(&self, query: &Query<RandomWalk>) -> Table<'_> {
        match query.config.keep {
            WalkKept::Visits => Table::of_nodes([("visits", Column::Total(&self.visits))]),
            WalkKept::Paths => {
                let steps = self.paths.iter().enumerate();
                let steps = steps.map(|(k, nodes)| (format!("step{k}"), Column::Node(nodes)));
                Table::listed(steps).with_array(self.paths.len())
            }
        }
    }

    fn left(&self, _: &Query<RandomWalk>) -> Vec<LeftColumn> {
        self.left.clone()
    }

    fn verify(&self, query: &Query<RandomWalk>, by: &Checker) -> Result<Checked> {
        query.graph.load()?;
        let (config, start) = (&query.config, &query.start);
        let question = WalkQuestion {
            starts: &start.starts,
            walks: config.walks.into(),
            length: config.length as usize,
            seed: config.seed,
            restart: config.restart as f32,
            p: config.p,
            q: config.q,
            alias: (!start.rows.share.is_empty()).then_some([&start.rows.share, &start.rows.other]),
            scores: start.scores.as_deref(),
            greedy: config.greedy,
        };
        let found = WalkFound { visits: &self.visits, paths: &self.paths };
        let steps = by.by_host(|| verify::walk(&query.graph, question, found))?;
        Ok(Checked { found: fields([("steps", json!(steps))]), ..Checked::default() })
    }
}
