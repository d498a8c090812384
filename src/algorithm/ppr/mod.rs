//! Personalised PageRank for many sources, by push: the nodes of the highest values for each.
//!
//! **Definition.** For a source s, ppr(s) solves, with d(u) the number of arcs out of u,
//!
//! ~~~text
//! ppr(s)[v] = alpha [v = s] + (1 - alpha) sum over arcs u -> v of ppr(s)[u] / d(u)
//! ~~~
//!
//! and a node without arcs out counts as one with a self loop alone. The answer is the approximation p of `push`, whose error at a node
//! v is below epsilon d(v) on symmetric graphs, and of it the `top-nodes` nodes of the highest p\[v\] > 0 for each source: the highest
//! first, of equal ones that of the lowest input id. A value is p\[v\] in units, rounded to f64. Weights do not count.
//!
//! **Idea, replicas, arrays.** Those of `push`. A host sorts the vectors of a batch.
//!
//! **Source.** That of `push`; Jeh, Widom, "Scaling personalized web search", WWW 2003 (many sources).

mod answer;

use super::frame::ReplicaAnswer;
use super::matrix::{is_dealt, parts};
use super::push::{self, Asked, Found, PushStart, Rule, Taken};
use super::start::files_of;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds};
use crate::choice::number;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::path::Path;

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
    /// Probability that a walk ends at a step, 0.001 to 0.999 [default: 0.15].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub alpha: f64,
    /// A node pushes while its residual is at least this for each of its arcs, 1e-10 to 1 [default: 1e-6].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub epsilon: f64,
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
        let run = RunOptions::default();
        PprConfig { sources: None, alpha: 0.15, epsilon: 1e-6, top_nodes: 100, run }
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
    /// Most rounds of a source.
    pub rounds: u64,
    /// Pushes of all sources together.
    pub pushes: u64,
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
        "hive run ppr --graph web.mtx --sources 1,5 --epsilon 1e-8 --output near.csv",
    ];
    const FORM: Form = Form::General;

    fn check(config: &PprConfig) -> Result<()> {
        Rule::new(config.alpha, config.epsilon)?;
        match config.top_nodes {
            0 => Err(Error::input("--top-nodes 0: at least one is needed")),
            _ => Ok(()),
        }
    }

    fn start(config: &PprConfig, graph: &Graph) -> Result<PushStart> {
        let start = PushStart::new(&config.sources, (config.alpha, config.epsilon), graph)?;
        // 12 bytes a row from the replicas, 28 with those of the answer.
        let rows = (config.top_nodes as usize).min(start.rule.touched(graph.nodes()));
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
        push::arrays(shape, Rule::new(config.alpha, config.epsilon).ok(), sources, world)
    }

    fn solve(request: Request<Self>) -> Result<PersonalRanks> {
        let Request { fleet, graph, query, run, .. } = request;
        let asked = Asked::new((fleet, graph), &query.start, parts(fleet.world(), run));
        let (rows, run, dealt) = (graph.general(fleet)?, run.clone(), is_dealt(fleet, run));
        let (own, most) = (query.graph.clone(), query.config.top_nodes as usize);
        let program = move |r: &mut _| {
            let take = |_: u32, vector: Vec<_>, beat: &(dyn Fn() + Sync)| {
                beat();
                highest(&own, vector, most)
            };
            push::program(r, &rows, &asked, &take, &run)
        };
        let (found, mut measured) = ReplicaAnswer::all(fleet.run(program)?);
        let found = Found::joined(fleet, found, dealt)?;
        let each = query.start.sources.iter().zip(found.lists());
        let source = each.flat_map(|(source, nodes)| vec![*source; nodes.len()]).collect();
        measured.reached = found.nodes.len() as u64;
        measured.reached_arcs = found.arcs;
        Ok(PersonalRanks {
            source,
            value: found.words.iter().map(|units| push::value(*units)).collect(),
            node: found.nodes,
            sources: query.start.sources.len() as u64,
            rounds: found.rounds,
            pushes: found.pushes,
            measured,
        })
    }
}
