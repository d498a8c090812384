//! How PageRank is asked for, and what is said of its answer.

use super::{Pagerank, PagerankConfig, Strategy, ranks};
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::graph::Graph;
use crate::io::{Column, Table, read_weights};
use crate::run::{Answer, Checked, Context, Job, RunConfig, Start, fields};
use crate::units::plural;
use crate::verify::{self, PagerankQuestion};
use crate::{Error, Result};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Checks what no single option's syntax can.
pub(crate) fn check_options(config: &RunConfig) -> Result<()> {
    asked(config, None).check()?;
    config.check_format(None)
}

fn asked(config: &RunConfig, personal: Option<Vec<f64>>) -> PagerankConfig {
    let options = &config.pagerank;
    let unset = PagerankConfig::default();
    PagerankConfig {
        merge: config.merge,
        damping: options.damping,
        iterations: options.iterations,
        tolerance: config.tolerance.or(unset.tolerance),
        weighted: options.weighted,
        personal,
        strategy: options.strategy,
        warp_width: options.warp_width,
        warp_chunk: options.warp_chunk,
        segments: options.segments.given(),
        segment_width: options.segment_width.given(),
        segment_teams: options.segment_teams.given(),
        deterministic: options.deterministic,
        compare: config.verify,
        ..unset
    }
}

/// Where walks begin: anywhere, or as the file of `--personalize` says.
pub(crate) fn start(config: &RunConfig, graph: &Graph) -> Result<Start> {
    let Some(path) = &config.pagerank.personalize else { return Ok(Start::Graph) };
    let weights = read_weights(path, graph)?;
    if weights.iter().all(|weight| *weight == 0.0) {
        let name = path.display();
        return Err(Error::input(format!("{name}: no node has a weight above 0; give one")));
    }
    Ok(Start::Weights(Arc::new(weights)))
}

fn personal(job: &Job) -> Option<Vec<f64>> {
    match &job.start {
        Start::Weights(weights) => Some(weights.to_vec()),
        _ => None,
    }
}

/// Runs the driver under the options of the job.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let job = context.job;
    let options = PagerankConfig {
        runs: context.runs,
        warmup: context.warmup,
        trace: job.config.trace && !context.gauge,
        ..asked(&job.config, personal(job))
    };
    Ok(Box::new(ranks(context.fleet, context.ready.topology()?, &options)?))
}

/// Below this a tolerance asks for more than ranks in f32 may have (docs/pagerank.md).
const FINEST: f64 = 1e-7;

impl Pagerank {
    /// All ranks together.
    pub fn sum(&self) -> f64 {
        self.ranks.iter().map(|rank| f64::from(*rank)).sum()
    }

    /// Milliseconds of an iteration of the median run.
    fn iteration_ms(&self) -> f64 {
        let median = crate::algorithm::Spread::of_runs(&self.measured).median;
        median / self.measured.iterations.max(1) as f64
    }

    /// Whether it ended because the tolerance was met.
    fn met(&self, job: &Job) -> bool {
        let tolerance = asked(&job.config, None).tolerance;
        tolerance > 0.0 && self.change <= tolerance
    }
}

impl Answer for Pagerank {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        self.strategy.word()
    }

    fn strategy_line(&self, job: &Job) -> String {
        let options = &job.config.pagerank;
        let layout = match self.layout.as_str() {
            "" => String::new(),
            layout => format!(" ({layout})"),
        };
        format!(
            "{}{layout}; damping {}, {}",
            self.strategy,
            options.damping,
            if options.weighted { "by weights" } else { "arcs all alike" }
        )
    }

    fn cuts(&self, job: &Job) -> String {
        // Hubs cut rows as they say.
        let chunks = self.strategy != Strategy::Hubs;
        match chunks && self.measured.merge_modes.keys().any(|mode| mode != "none") {
            true => format!("; chunks of equal {}", job.config.chunks),
            false => String::new(),
        }
    }

    fn lines(&self, job: &Job) -> Vec<(&'static str, String)> {
        let tolerance = asked(&job.config, None).tolerance;
        let ahead = self.measured.iterations - u64::from(self.iterations);
        let answer = format!(
            "{}{}, {:.3e} the last change in L1{}; ranks sum to {:.7}",
            plural(self.iterations.into(), "iteration"),
            if ahead > 0 { " and one that was under way when the last was seen" } else { "" },
            self.change,
            match self.met(job) {
                true => " (tolerance met)",
                false if tolerance >= FINEST => " (tolerance not met; it takes more --iterations)",
                false if tolerance > 0.0 =>
                    " (tolerance not met; ranks in f32 may never come that close)",
                false => "",
            },
            self.sum(),
        );
        let each = crate::units::ms(self.iteration_ms());
        vec![("answer", answer), ("each", format!("{each} an iteration"))]
    }

    fn rated(&self) -> &'static str {
        "over all iterations"
    }

    fn variant(&self, job: &Job) -> String {
        format!("variant:pagerank-{}-{}", self.strategy, job.config.pagerank.iterations)
    }

    /// `damping`, most `iterations`, `tolerance`, `chosen` strategy, `iterations-made`, `change` in L1 of the last,
    /// `iteration-ms`, `sum` of ranks.
    fn facts(&self, job: &Job) -> Map<String, Value> {
        let asked = asked(&job.config, None);
        fields([
            ("damping", json!(asked.damping)),
            ("iterations", json!(asked.iterations)),
            ("tolerance", json!(asked.tolerance)),
            ("chosen", json!(self.strategy)),
            ("chosen-how", json!(self.layout)),
            ("iterations-made", json!(self.iterations)),
            ("change", json!(self.change)),
            ("iteration-ms", json!(self.iteration_ms())),
            ("sum", json!(self.sum())),
        ])
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        let ranks = (0u32..).zip(self.ranks.iter().copied());
        let highest = first(&job.graph, ranks, k, |a, b| b.total_cmp(a));
        Some(ranked(&job.graph, ["node", "pagerank"], highest))
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        Table::of_nodes([("rank", Column::F32(&self.ranks))])
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let (asked, personal) = (asked(&job.config, None), personal(job));
        let personal = personal.map(|mut weights| {
            let largest = weights.iter().copied().fold(0.0, f64::max);
            let total: f64 = weights.iter().map(|weight| weight / largest).sum();
            weights.iter_mut().for_each(|weight| *weight = *weight / largest / total);
            weights
        });
        let question = PagerankQuestion {
            damping: asked.damping,
            iterations: self.iterations,
            tolerance: self.met(job).then_some(asked.tolerance),
            weighted: asked.weighted,
            personal: personal.as_deref(),
        };
        let check = verify::pagerank(&job.graph, &self.ranks, &question)?;
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
