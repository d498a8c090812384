//! The answer, and how summaries, records and checks tell it.

use super::{PageRank, Strategy};
use crate::algorithm::left::{LeftArray, LeftColumn, LeftMeaning};
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::algorithm::{Measured, Spread};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::plural;
use crate::verify::{Checker, PagerankQuestion};
use serde_json::{Map, Value, json};

/// Below this a tolerance may be less than the rounding of f32 adds up to.
const FINEST: f64 = 1e-7;

/// The answer of [`super::pagerank`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Pagerank {
    /// `[n]`, which sum to 1.
    pub ranks: Vec<f32>,
    /// `[n]` the same in place of these, where they were left on a GPU.
    pub left: Option<LeftArray>,
    /// Iterations made.
    pub iterations: u32,
    /// The L1 distance between the ranks of the last two iterations.
    pub change: f64,
    /// The strategy that ran; never `auto`.
    pub strategy: Strategy,
    /// What else there is to know of it, in words.
    pub layout: String,
    /// Timings and counts. Its iterations count one that a device had begun when it turned out to be one too many.
    pub measured: Measured,
}

impl Pagerank {
    /// All ranks together.
    pub fn sum(&self) -> f64 {
        self.ranks.iter().map(|rank| f64::from(*rank)).sum()
    }

    /// Milliseconds of an iteration of the median run.
    fn iteration_ms(&self) -> f64 {
        let median = Spread::of_runs(&self.measured).median;
        median / self.measured.iterations.max(1) as f64
    }

    /// Whether it ended because the tolerance was met.
    fn met(&self, query: &Query<PageRank>) -> bool {
        let tolerance = query.config.tolerance();
        tolerance > 0.0 && self.change <= tolerance
    }
}

impl Answer<PageRank> for Pagerank {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<PageRank>) -> &'static str {
        self.strategy.word()
    }

    fn strategy_line(&self, query: &Query<PageRank>) -> String {
        let options = &query.config;
        let layout = match self.layout.as_str() {
            "" => String::new(),
            layout => format!(" ({layout})"),
        };
        format!(
            "{}{layout}; damping {}, {}",
            self.strategy,
            options.damping,
            if options.weighted { "by weights" } else { "unweighted" }
        )
    }

    fn cuts(&self, query: &Query<PageRank>) -> String {
        // Hubs cut rows as they say.
        let chunks = self.strategy != Strategy::Hubs;
        match chunks && self.measured.merge_modes.keys().any(|mode| mode != "none") {
            true => format!("; chunks of equal {}", query.prepare.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<PageRank>) -> Vec<(&'static str, String)> {
        let tolerance = query.config.tolerance();
        let ahead = self.measured.iterations - u64::from(self.iterations);
        let answer = format!(
            "{}{}, {:.3e} the last change in L1{}{}",
            plural(self.iterations.into(), "iteration"),
            if ahead > 0 { " and one that was under way when the last was seen" } else { "" },
            self.change,
            match self.met(query) {
                true => " (tolerance met)",
                false if tolerance >= FINEST => " (tolerance not met; it takes more --iterations)",
                false if tolerance > 0.0 =>
                    " (tolerance not met; ranks in f32 may never come that close)",
                false => "",
            },
            match self.left {
                Some(_) => String::new(),
                None => format!("; ranks sum to {:.7}", self.sum()),
            },
        );
        let each = crate::units::ms(self.iteration_ms());
        vec![("answer", answer), ("each", format!("{each} an iteration"))]
    }

    fn rated(&self) -> &'static str {
        "over all iterations"
    }

    fn variant(&self, query: &Query<PageRank>) -> String {
        format!("variant:pagerank-{}-{}", self.strategy, query.config.iterations)
    }

    /// `damping`, most `iterations`, `tolerance`, `chosen` strategy, `iterations-made`, `change` in L1 of the last,
    /// `iteration-ms`, `sum` of ranks.
    fn facts(&self, query: &Query<PageRank>) -> Map<String, Value> {
        let asked = &query.config;
        fields([
            ("damping", json!(asked.damping)),
            ("iterations", json!(asked.iterations)),
            ("tolerance", json!(asked.tolerance())),
            ("chosen", json!(self.strategy)),
            ("chosen-how", json!(self.layout)),
            ("iterations-made", json!(self.iterations)),
            ("change", json!(self.change)),
            ("iteration-ms", json!(self.iteration_ms())),
            ("sum", json!(self.left.is_none().then(|| self.sum()))),
        ])
    }

    fn ranking(&self, query: &Query<PageRank>, k: usize) -> Option<String> {
        let ranks = (0u32..).zip(self.ranks.iter().copied());
        let highest = first(&query.graph, ranks, k, |a, b| b.total_cmp(a));
        Some(ranked(&query.graph, ["node", "pagerank"], highest))
    }

    fn table(&self, _: &Query<PageRank>) -> Table<'_> {
        Table::of_nodes([("rank", Column::F32(&self.ranks))])
    }

    fn left(&self, _: &Query<PageRank>) -> Vec<LeftColumn> {
        let column = |left: &LeftArray| LeftColumn::new("rank", LeftMeaning::Number, left.clone());
        self.left.iter().map(column).collect()
    }

    fn verify(&self, query: &Query<PageRank>, by: &Checker) -> Result<Checked> {
        let asked = &query.config;
        let question = PagerankQuestion {
            damping: asked.damping,
            iterations: self.iterations,
            tolerance: self.met(query).then_some(asked.tolerance()),
            weighted: asked.weighted,
            personal: query.start.as_deref(),
        };
        let check = by.pagerank(&query.graph, &self.ranks, &question)?;
        let (iterations, residual) = (self.iterations.into(), check.residual);
        let skipped = check.l1_error.is_none().then(|| {
            let many = plural(iterations, "iteration");
            format!("{many} were too much work to make again; of single ranks nothing was compared")
        });
        let note = match (check.l1_error, check.node_error) {
            (Some(l1), Some(node)) => {
                format!(
                    "; {l1:.1e} from f64 in L1, {node:.1e} at most of a rank, residual {residual:.1e}"
                )
            }
            _ => format!("; residual {residual:.1e}"),
        };
        let found = [
            ("l1_error", json!(check.l1_error)),
            ("node_error", json!(check.node_error)),
            ("residual", json!(check.residual)),
            ("sum", json!(check.sum)),
        ];
        Ok(Checked { skipped, found: fields(found), note })
    }
}
