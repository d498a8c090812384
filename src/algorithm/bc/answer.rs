//! How betweenness is asked for, and what is said of its answer.

use super::{BcConfig, Betweenness, Precision, of_rows};
use crate::Result;
use crate::algorithm::Measured;
use crate::algorithm::ranking::{first, ranked};
use crate::graph::{Graph, NodeId};
use crate::io::{Column, Table};
use crate::run::{Answer, Checked, Choice, Context, Job, RunConfig, Start, fields};
use crate::units::{count, plural};
use crate::verify::{self, BetweennessQuestion};
use serde_json::{Map, Value, json};

/// How far off a score may be to pass its check, as a share of it: some thousand roundings, one after another.
const TOLERANCE: f64 = 1e-9;
const TOLERANCE_F32: f64 = 1e-3;

/// [`TOLERANCE`] of dependencies held in 64 bits or in 32.
pub(super) fn tolerance(double: bool) -> f64 {
    if double { TOLERANCE } else { TOLERANCE_F32 }
}

/// Checks what no single option's syntax can.
pub(crate) fn check_options(config: &RunConfig) -> Result<()> {
    driver_options(config).check()?;
    crate::layout::check_align(config.chunk_align)?;
    config.check_format(None)
}

fn driver_options(config: &RunConfig) -> BcConfig {
    let bc = &config.bc;
    BcConfig {
        merge: config.merge,
        normalized: bc.normalized,
        endpoints: bc.endpoints,
        batch: match bc.batch {
            Choice::Auto => None,
            Choice::Is(batch) => Some(batch),
        },
        precision: config.precision,
        trace: config.trace,
        compare: config.verify,
        ..BcConfig::default()
    }
}

/// The sources. A random choice is one among all nodes, as in NetworkX, whose scale takes it for that.
pub(crate) fn start(config: &RunConfig, graph: &Graph) -> Result<Start> {
    let nodes = match &config.sources {
        Some(sources) => sources.resolve_of("--sources", graph)?,
        None => vec![graph.default_source()],
    };
    Ok(Start::Nodes(nodes))
}

/// Runs the driver under the options of the job.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let job = context.job;
    let options = BcConfig {
        runs: context.runs,
        warmup: context.warmup,
        trace: job.config.trace && !context.gauge,
        ..driver_options(&job.config)
    };
    Ok(Box::new(of_rows(context.fleet, context.ready.simple()?, job.start.nodes(), &options)?))
}

impl Betweenness {
    /// The `k` nodes of the highest scores, ties by input id; without those that have none.
    pub fn highest<'a>(&self, graph: &'a Graph, k: usize) -> Vec<(NodeId<'a>, f64)> {
        let scores = (0u32..).zip(self.scores.iter().copied()).filter(|(_, score)| !score.is_nan());
        let highest = first(graph, scores, k, |a, b| b.total_cmp(a));
        highest.into_iter().map(|(node, score)| (graph.id(node), score)).collect()
    }
}

impl Answer for Betweenness {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        if self.cut { "levels" } else { "sources" }
    }

    fn strategy_line(&self, _: &Job) -> String {
        let how = if self.cut { "levels cut" } else { "sources dealt out" };
        format!("{how}, up to {} side by side, paths in {}", self.lanes, self.precision)
    }

    fn cuts(&self, job: &Job) -> String {
        match self.cut {
            true => format!(
                "; chunks of equal {}, aligned to {}",
                job.config.chunks, job.config.chunk_align
            ),
            false => String::new(),
        }
    }

    fn lines(&self, job: &Job) -> Vec<(&'static str, String)> {
        let between = self.scores.iter().filter(|score| **score > 0.0).count() as u64;
        let sources = job.start.nodes();
        let idle = sources.iter().filter(|s| job.graph.degree(**s as usize) == 0).count() as u64;
        let mut answer = format!(
            "{} of {} above 0, from {}",
            count(between),
            plural(self.scores.len() as u64, "node"),
            plural(sources.len() as u64, "source"),
        );
        if idle > 0 {
            answer += &format!(" ({} without out-arcs)", count(idle));
        }
        answer += &format!(", {} deep", plural(self.depth, "level"));
        if let [(node, score)] = self.highest(&job.graph, 1)[..] {
            answer += &format!("; the highest is {score:.6} of node {node}");
        }
        vec![("answer", answer)]
    }

    fn rated(&self) -> &'static str {
        "out of reached nodes, summed over sources"
    }

    fn variant(&self, job: &Job) -> String {
        let bc = &job.config.bc;
        let mut words = format!("variant:num_sources-{}", job.start.nodes().len());
        if bc.normalized {
            words += "_normalized";
        }
        if bc.endpoints {
            words += "_endpoints";
        }
        words
    }

    /// `num-sources`, and `sources` in the input's own ids where they are not all nodes; `normalized` and `endpoints` as asked; `lanes` of a batch, `precision` of paths, `depth`, and
    /// the node of the highest score with it.
    fn facts(&self, job: &Job) -> Map<String, Value> {
        let bc = &job.config.bc;
        let highest = self.highest(&job.graph, 1).first().copied();
        let sources = job.start.nodes();
        let ids = || sources.iter().map(|v| job.graph.id(*v)).collect::<Vec<_>>();
        let named = (sources.len() < job.graph.nodes()).then(ids);
        fields([
            ("num-sources", json!(sources.len())),
            ("sources", json!(named)),
            ("normalized", json!(bc.normalized)),
            ("endpoints", json!(bc.endpoints)),
            ("directed", json!(self.directed)),
            ("lanes", json!(self.lanes)),
            ("precision", json!(self.precision)),
            ("depth", json!(self.depth)),
            ("highest-node", json!(highest.map(|(node, _)| node))),
            ("highest-score", json!(highest.map(|(_, score)| score))),
        ])
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        let scores = (0u32..).zip(self.scores.iter().copied()).filter(|(_, score)| !score.is_nan());
        let highest = first(&job.graph, scores, k, |a, b| b.total_cmp(a));
        Some(ranked(&job.graph, ["node", "betweenness"], highest))
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        Table::of_nodes([("betweenness", Column::F64(&self.scores))])
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let bc = &job.config.bc;
        let question = BetweennessQuestion {
            sources: job.start.nodes(),
            normalized: bc.normalized,
            endpoints: bc.endpoints,
            tolerance: tolerance(self.precision != Precision::F32),
        };
        let seen = verify::betweenness(&job.graph, &self.scores, &question)?;
        let (some, all) = (seen.checked_sources, job.start.nodes().len() as u64);
        let skipped = (some < all).then(|| {
            let rest = match seen.sum_error {
                Some(_) => "of all scores only the sum was compared",
                None => "the sum of all scores was not compared",
            };
            format!("{} of {} recomputed; {rest}", count(some), plural(all, "source"))
        });
        let note = match skipped {
            Some(_) => String::new(),
            None => format!(
                "; {} recomputed, scores off by {:.1e} at most",
                plural(some, "source"),
                seen.worst_error
            ),
        };
        let found = [
            ("checked_sources", json!(seen.checked_sources)),
            ("worst_error", json!(seen.worst_error)),
            ("sum_error", json!(seen.sum_error)),
        ];
        Ok(Checked { skipped, found: fields(found), note })
    }
}
