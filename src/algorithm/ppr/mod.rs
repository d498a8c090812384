//! Personalised PageRank for many sources, by push or by power iteration: the nodes of the highest values for each.
//!
//! **Definition.** For a source s, ppr(s) solves, with d(u) the number of arcs out of u,
//!
//! ~~~text
//! ppr(s)[v] = alpha [v = s] + (1 - alpha) sum over arcs u -> v of ppr(s)[u] / d(u)
//! ~~~
//!
//! By push, a node without arcs out counts as one with a self loop alone. The answer is the approximation p of `push`, whose error at a
//! node v is below epsilon d(v) on symmetric graphs. Weights do not count. By power iteration, such a node counts as one with an arc to
//! the source, and 1 - alpha is called damping; `power` has the equation with weights. On symmetric graphs both solve the same equation.
//!
//! Of a vector the `top-nodes` nodes of the highest values above 0 are the answer: the highest first, of equal ones that of the lowest
//! input id. A value is an integer of units of 2^-62, rounded to f64.
//!
//! **Idea, replicas, arrays.** Those of `push` and `power`. A host sorts what is kept of the vectors of a batch.
//!
//! **Source.** That of `push`, and that of `power`; Jeh, Widom, "Scaling personalized web search", WWW 2003 (many sources).

mod answer;
mod power;

use super::frame::ReplicaAnswer;
use super::matrix::{is_dealt, parts};
use super::push::{self, Asked, Found, PushStart, Rule, Taken};
use super::start::files_of;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds};
use crate::choice::{Choice, number};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use crate::words::words;
use power::Solved;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The L1 distance of two iterations at which a source ends.
const TOLERANCE: f64 = 1e-6;

words!(
    /// How vectors are found.
    PprMethod, "--method" {
        /// Nodes push what they have, while it is enough.
        #[default]
        Push = "push",
        /// All nodes add up what their rows bring, again and again.
        Power = "power",
    }
);

/// The workload.
pub struct PersonalPagerank;

/// What personalised PageRank is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PprConfig {
    /// The sources: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) | 0,5,17 | first:N | file:PATH
    /// [default: random:64:1, all of a graph of fewer nodes].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// How vectors are found: push (from the source on, as far as --epsilon says) | power (iterations over all nodes, for many sources
    /// at a time) [default: push].
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub method: PprMethod,
    /// Of push: probability that a walk ends at a step, 0.001 to 0.999 [default: 0.15].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub alpha: f64,
    /// Of push: a node pushes while its residual is at least this for each of its arcs, 1e-10 to 1 [default: 1e-6].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub epsilon: f64,
    /// Of power: the share of rank that follows arcs, 0 to 0.999; the rest restarts at the source [default: 0.85].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub damping: f64,
    /// Of power: most iterations from a source, at least 1; with --tolerance 0 exactly as many [default: 100].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub iterations: u32,
    /// Of power: a source ends when the L1 distance between its values of two iterations is at most X: auto (1e-6) | 0 (never) | a
    /// number above 0 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub tolerance: Choice<f64>,
    /// Of power: follow arcs in proportion to their weights [default: all arcs alike].
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub weighted: bool,
    /// Most nodes that are kept of a source, those of the highest values, at least 1 [default: 100].
    #[cfg_attr(feature = "cli", arg(long, value_name = "K", allow_hyphen_values = true))]
    pub top_nodes: u32,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(PprConfig);

impl Default for PprConfig {
    fn default() -> Self {
        PprConfig {
            sources: None,
            method: PprMethod::Push,
            alpha: 0.15,
            epsilon: 1e-6,
            damping: 0.85,
            iterations: 100,
            tolerance: Choice::Auto,
            weighted: false,
            top_nodes: 100,
            run: RunOptions::default(),
        }
    }
}

impl PprConfig {
    /// Refuses an option of the other method. Sweeps give iterations and a tolerance to all workloads: push has no use for them.
    fn check_method(&self) -> Result<()> {
        let unset = PprConfig::default();
        let of_push = (self.alpha, self.epsilon) != (unset.alpha, unset.epsilon);
        let of_power = (self.damping, self.weighted) != (unset.damping, unset.weighted);
        match self.method {
            PprMethod::Push if of_power => Err(Error::input(
                "--method push with --damping or --weighted: these are of power; leave them out, or use --method power",
            )),
            PprMethod::Power if of_push => Err(Error::input(
                "--method power with --alpha or --epsilon: these are of push; use --damping (1 - alpha) and --tolerance",
            )),
            _ => Ok(()),
        }
    }
}

/// The answer of [`ppr`]: a row a source and node, by rising input id of the source and falling value.
#[derive(Debug, Clone, Default)]
pub struct PersonalRanks {
    /// `[rows]` the source of a row.
    pub source: Vec<u32>,
    /// `[rows]` the node.
    pub node: Vec<u32>,
    /// `[rows]` its value, above 0.
    pub value: Vec<f64>,
    /// How many sources there are.
    pub sources: u64,
    /// Most rounds of a source, or iterations.
    pub rounds: u64,
    /// Pushes of all sources together.
    pub pushes: u64,
    /// By power iteration `[sources]` iterations from each source; else nothing.
    pub iterations: Vec<u32>,
    /// `[sources]` the L1 distance between the values of the last two of them.
    pub changes: Vec<f64>,
    /// Timings and counts.
    pub measured: Measured,
}

/// Personalised PageRank from several sources.
///
/// # Errors
/// [`Error::Input`] for options out of range and for sources that the graph does not have or that come twice; [`Error::Machine`]
/// where an answer would take more memory than there is; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare`
/// finds answers that differ.
pub fn ppr(fleet: &Fleet, graph: &Prepared, config: &PprConfig) -> Result<PersonalRanks> {
    run::<PersonalPagerank>(fleet, graph, config)
}

/// Of a vector the `most` highest values, the highest first.
fn highest(graph: &Graph, mut vector: Vec<(u32, u64)>, most: usize) -> Taken {
    let order = |(node, value): &(u32, u64)| (Reverse(*value), graph.rank(*node));
    if vector.len() > most {
        vector.select_nth_unstable_by_key(most - 1, order);
        vector.truncate(most);
    }
    vector.sort_unstable_by_key(order);
    let (nodes, words) = vector.into_iter().unzip();
    Taken { nodes, words }
}

impl Algorithm for PersonalPagerank {
    type Config = PprConfig;
    type Start = PushStart;
    type Answer = PersonalRanks;
    const NAME: &'static str = "ppr";
    const ABOUT: &'static str =
        "Personalised PageRank of many sources: the nodes that random walks from each end at";
    const EXAMPLES: [&'static str; 2] = [
        "hive run ppr --graph rmat:12 --sources random:16:1 --output ppr.csv",
        "hive run ppr --graph web.mtx --sources 1,5 --method power --output near.csv",
    ];
    const FORM: Form = Form::General;

    fn check(config: &PprConfig) -> Result<()> {
        Rule::new(config.alpha, config.epsilon)?;
        let PprConfig { damping, iterations, .. } = *config;
        let tolerance = config.tolerance.or(TOLERANCE);
        let wrong = [
            (
                !(0.0..=0.999).contains(&damping),
                format!("--damping {damping}: use 0 to 0.999, as in 0.85"),
            ),
            (iterations == 0, "--iterations 0: at least one is needed".into()),
            (
                !(tolerance >= 0.0 && tolerance.is_finite()),
                format!("--tolerance {tolerance}: use 0 (never) or a number above"),
            ),
            (config.top_nodes == 0, "--top-nodes 0: at least one is needed".into()),
        ];
        match wrong.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(Error::input(what)),
            None => config.check_method(),
        }
    }

    fn start(config: &PprConfig, graph: &Graph) -> Result<PushStart> {
        let start = PushStart::new(&config.sources, (config.alpha, config.epsilon), graph)?;
        // 12 bytes a row from the replicas, 28 with those of the answer.
        let touched = match config.method {
            PprMethod::Push => start.rule.touched(graph.nodes()),
            PprMethod::Power => graph.nodes(),
        };
        let rows = (config.top_nodes as usize).min(touched);
        let rows = rows as u64 * start.sources.len() as u64;
        crate::memory::room("values of all sources", rows.saturating_mul(28))?;
        Ok(start)
    }

    fn started(start: &PushStart, graph: &Graph) -> String {
        start.told(graph)
    }

    fn array_columns(_: &PprConfig) -> usize {
        3
    }

    fn files(config: &PprConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources)])
    }

    fn folder(config: &PprConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &PprConfig, world: usize) -> Vec<DeviceArray> {
        let sources = push::most_sources(&config.sources, shape.nodes as usize);
        if config.method == PprMethod::Power {
            return power::arrays(shape, (sources, config.weighted), world);
        }
        push::arrays(shape, Rule::new(config.alpha, config.epsilon).ok(), sources, world)
    }

    fn solve(request: Request<Self>) -> Result<PersonalRanks> {
        let Request { fleet, graph, query, run, .. } = request;
        let (own, dealt) = (query.graph.clone(), is_dealt(fleet, run));
        let (rows, parts, sources) =
            (graph.general(fleet)?, parts(fleet.world(), run), &query.start.sources);
        let run = run.clone();
        let (solved, mut measured) = if query.config.method == PprMethod::Power {
            let asked = power::Asked::new((fleet, graph), (sources, parts), &query.config)?;
            let program = move |r: &mut _| power::program(r, &rows, &asked, &run);
            let (found, measured) = ReplicaAnswer::all(fleet.run(program)?);
            (Solved::joined(fleet, found, dealt)?, measured)
        } else {
            let asked = Asked::new((fleet, graph), &query.start, parts);
            let most = query.config.top_nodes as usize;
            let program = move |r: &mut _| {
                let take = |_: u32, vector: Vec<_>, beat: &(dyn Fn() + Sync)| {
                    beat();
                    highest(&own, vector, most)
                };
                push::program(r, &rows, &asked, &take, &run)
            };
            let (found, measured) = ReplicaAnswer::all(fleet.run(program)?);
            let found = Found::joined(fleet, found, dealt)?;
            (Solved { found, ..Solved::default() }, measured)
        };
        let Solved { found, iterations, changes } = solved;
        let each = sources.iter().zip(found.lists());
        let source = each.flat_map(|(source, nodes)| vec![*source; nodes.len()]).collect();
        measured.reached = found.nodes.len() as u64;
        measured.reached_arcs = found.arcs;
        let numbers = |units: &[u64]| units.iter().map(|units| push::value(*units)).collect();
        Ok(PersonalRanks {
            source,
            value: numbers(&found.words),
            node: found.nodes,
            sources: sources.len() as u64,
            rounds: found.rounds,
            pushes: found.pushes,
            iterations,
            changes: numbers(&changes),
            measured,
        })
    }
}
