//! Betweenness: how often a node lies on the shortest paths of others, links counted and not weighed.
//!
//! **Idea.** Brandes' two phases for each source s. Forward, level by level: sigma(v), the number of shortest paths
//! from s to v, is the sum over v's in-neighbours of the level before. Backward, from the deepest level up: with
//! c(w) = (1 + delta(w)) / sigma(w), the dependency of s on v is delta(v) = sigma(v) * (sum of c(w) over v's
//! out-neighbours w of the next level). A score is the sum of delta over the sources, but for the source itself.
//!
//! Sources go in batches whose *lanes* lie beside each other, sigma and c as `[active, lanes]`: one gather of a
//! sector serves eight sources for an arc, and sources whose neighbours have about as many arcs are put together, since
//! their levels are large at the same time. Both phases pull, and need not know a neighbour's level: while v is
//! unreached in a lane, an in-neighbour with sigma above 0 is of the level before, since an earlier one would have
//! reached v; and while c is made from the deepest level up, an out-neighbour with c above 0 is of the next level.
//! What a level finds is put into the arrays once all of it is found. A level is a list of (node, mask of lanes); which
//! nodes to pull for is marked by a push along the arcs of the list before, or, where that has many arcs, every node
//! that lacks a lane is looked at. Self loops thus never count. Parallel arcs count once, as in NetworkX: rows that have some are laid
//! out once more without.
//!
//! **Order of addition.** A row is summed in the order of its columns on the host, in partial sums fixed by the row's
//! length and the number of lanes on a device; lanes are added to a score in their order. So scores do
//! not depend on scheduling, nor on the number of replicas where levels are cut.
//!
//! **Replicas.** Sources are dealt out and scores added up once (SUM: another number of replicas adds in another
//! order; the scores of all replicas are the same). Where there are fewer sources than would fill the batches of all
//! replicas, and enough arcs, levels are cut instead: each replica pulls into its own chunk, the lists and their values
//! are gathered, and everybody puts them into its arrays. `--merge redundant` always deals, `split` always cuts.
//!
//! **Arrays.** `scores: [active] f64, replicated, SUM` (equal without a merge where levels are cut); by lane and not
//! replicated: sigma, c, delta `[active, lanes]`; cut levels: `entries: [active] u64` (mask << 32 | label) and
//! `values: [active, lanes]`, replicated, GATHER. Numbers of paths beyond 2^1000 (2^100 in f32) are refused, so that
//! c never underflows; under `--precision auto` f64 is tried first.
//!
//! **Scale.** As `betweenness_centrality` of NetworkX 3.6.1, k being the number of sources: see [`scale`].
//!
//! **Source.** Brandes, "A faster algorithm for betweenness centrality", J. Math. Sociology 25(2), 2001; Sariyuce, Saule,
//! Kaya, Catalyurek, "Regularizing graph centrality computations", JPDC 76, 2015 (sources side by side).

mod answer;
mod cuda;
mod driver;
mod host;
mod plan;
mod scale;

pub(crate) use driver::{Done, Exchange, Values};
pub use scale::scale;

use super::frame::{Log, Run, timed};
use super::same::{Rounded, Words};
use super::workload::{Algorithm, Query, config, run as run_workload};
use super::{Measured, MergeMode, Precision, RunOptions, Seeds};
use crate::choice::Choice;
use crate::collective::{MergeOp, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{self, DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, TopologyRows};
use driver::{Driver, Engine};
use plan::{Plan, side_by_side};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Most lanes of a batch: bits of a mask.
pub(crate) const MOST_LANES: usize = 32;

/// The workload.
pub struct Bc;

/// What betweenness is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BcConfig {
    /// The nodes whose shortest paths to all others are counted: all | random:N:SEED | connected:N:SEED (of those with
    /// out-arcs to others) | 0,5,17 | first:N | file:PATH [default: one, the lowest id in the largest component].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Divide by the number of pairs that a node could lie between.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub normalized: bool,
    /// Count a path for its two ends too.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub endpoints: bool,
    /// Sources that share the reading of arcs: auto | 1 to 32 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub batch: Choice<u32>,
    /// Width of the numbers that paths are held in: f32 | f64 | auto (f64, and f32 on large graphs on GPUs while it holds
    /// the numbers of paths; the host has f64 alone) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(BcConfig);

/// Betweenness, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Betweenness {
    /// `[n]` scores, scaled as [`scale`] says: where there is but one source, without ends, its own is NaN.
    pub scores: Vec<f64>,
    /// What paths were held in: `F32` or `F64`.
    pub precision: Precision,
    /// Whether some arc lacks its reverse: scores are not halved then.
    pub directed: bool,
    /// Lanes of a batch.
    pub lanes: u32,
    /// Levels were cut by chunk, rather than sources dealt out.
    pub cut: bool,
    /// The largest distance from a source.
    pub depth: u64,
    /// Timings and counts. `reached` nodes and `reached_arcs`, the arcs out of them, are added up over the sources.
    pub measured: Measured,
}

/// How often nodes lie on the shortest paths out of the sources. Parallel arcs are one, self loops none; a graph in which
/// every arc has its reverse is undirected, however often the two are there and whatever they weigh.
///
/// # Errors
/// [`Error::Input`] for options out of range, for sources that the graph does not have or that come twice, and for a
/// source with more than 2^1000 shortest paths to a node; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds answers that differ.
pub fn bc(fleet: &Fleet, graph: &Prepared, config: &BcConfig) -> Result<Betweenness> {
    run_workload::<Bc>(fleet, graph, config)
}

impl Algorithm for Bc {
    type Config = BcConfig;
    /// Sources, as node indices.
    type Start = Vec<u32>;
    type Answer = Betweenness;
    const NAME: &'static str = "bc";
    const ABOUT: &'static str =
        "Betweenness: the share of shortest paths that pass through each node";
    const EXAMPLES: [&'static str; 2] = [
        "hive run bc --graph web.mtx --sources all --normalized --top 10",
        "hive run bc --graph rmat:10 --sources random:8:1 --output scores.csv",
    ];
    const FORM: Form = Form::Simple;
    const RANKS: Option<&'static str> = Some("the nodes of the highest scores");

    fn check(config: &BcConfig) -> Result<()> {
        if let Some(batch) = config.batch.given()
            && !(1..=MOST_LANES as u32).contains(&batch)
        {
            return Err(Error::input(format!("--batch {batch}: use auto or 1 to {MOST_LANES}")));
        }
        if config.run.merge == MergeMode::Dense {
            return Err(Error::input(
                "--merge dense: betweenness has no frontier to OR; use auto, split or redundant",
            ));
        }
        Ok(())
    }

    /// A random choice is one among all nodes, as in NetworkX, whose scale takes it for that.
    fn start(config: &BcConfig, graph: &Graph) -> Result<Vec<u32>> {
        match &config.sources {
            Some(sources) => sources.resolve_of("--sources", graph),
            None => Ok(vec![graph.default_source()]),
        }
    }

    fn started(start: &Vec<u32>, graph: &Graph) -> String {
        super::from_nodes(start, graph)
    }

    fn files(config: &BcConfig) -> Vec<(&'static str, &Path)> {
        super::files_of([("--sources", &config.sources)])
    }

    fn folder(config: &BcConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, _: &BcConfig, world: usize) -> Vec<DeviceArray> {
        memory::betweenness(shape, world)
    }

    fn solve(
        fleet: &Fleet,
        graph: &Prepared,
        query: &Query<Bc>,
        run: &RunOptions,
        _: bool,
    ) -> Result<Betweenness> {
        let config = BcConfig { run: run.clone(), ..query.config.clone() };
        of_rows(fleet, &graph.simple(fleet)?, &query.start, &config)
    }
}

/// Of rows without parallel arcs.
fn of_rows(
    fleet: &Fleet,
    rows: &Arc<TopologyRows>,
    sources: &[u32],
    config: &BcConfig,
) -> Result<Betweenness> {
    let columns = &rows.columns;
    // Sources without a row reach nobody but themselves.
    let labels = sources.iter().map(|s| columns.label(*s));
    let labels = labels.filter(|l| (*l as usize) < columns.active).collect();
    let labels = Arc::new(side_by_side(columns, labels));
    let mut plan = Plan::new(rows, labels.len(), config, fleet.info());
    let mut answers = run(fleet, rows, &labels, &plan, config)?;
    if overflow(&answers).is_some() && !plan.double && config.precision == Precision::Auto {
        plan = Plan::new(
            rows,
            labels.len(),
            &BcConfig { precision: Precision::F64, ..config.clone() },
            fleet.info(),
        );
        answers = run(fleet, rows, &labels, &plan, config)?;
    }
    if let Some(position) = overflow(&answers) {
        let source = rows.graph.id(columns.node(labels[position]));
        let (bits, next) = match plan.double {
            true => (1000, "leave this source out"),
            false => (100, "use --precision f64"),
        };
        return Err(Error::input(format!(
            "source {source}: more than 2^{bits} shortest paths to a node; {next}"
        )));
    }
    let counted = if plan.cut || plan.alone { &answers[..1] } else { &answers[..] };
    let isolated = (sources.len() - labels.len()) as u64;
    let reached = counted.iter().map(|a| a.tally.reached).sum::<u64>() + isolated;
    let reached_arcs = counted.iter().map(|a| a.tally.reached_arcs).sum();
    let depth = answers.iter().map(|a| a.tally.levels).max().unwrap_or(0);
    let relaxed = answers.iter().map(|a| a.measured.arcs_relaxed).sum();
    let first = answers.into_iter().next().ok_or_else(|| Error::machine("a fleet of none"))?;
    let (mut by_label, mut measured) = (first.scores, first.measured);
    (measured.reached, measured.reached_arcs, measured.arcs_relaxed) =
        (reached, reached_arcs, relaxed);
    by_label.resize(columns.nodes, 0.0);
    let mut scores = columns.to_input_order(by_label);
    let directed = columns.into.is_some();
    scale(&mut scores, sources, directed, config.normalized, config.endpoints);
    let precision = if plan.double { Precision::F64 } else { Precision::F32 };
    let (lanes, cut) = (plan.lanes as u32, plan.cut);
    Ok(Betweenness { scores, precision, directed, lanes, cut, depth, measured })
}

/// What one replica brings back.
struct Brought {
    /// By label; only rank 0's are copied back.
    scores: Vec<f64>,
    /// Of the last run.
    tally: Tally,
    measured: Measured,
}

/// What a run counts beside the log, over its batches.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    levels: u64,
    reached: u64,
    reached_arcs: u64,
    /// The position of a source with too many paths; nothing after it was counted.
    overflow: Option<usize>,
}

fn overflow(answers: &[Brought]) -> Option<usize> {
    answers.iter().filter_map(|a| a.tally.overflow).min()
}

fn run(
    fleet: &Fleet,
    rows: &Arc<TopologyRows>,
    labels: &Arc<Vec<u32>>,
    plan: &Plan,
    config: &BcConfig,
) -> Result<Vec<Brought>> {
    let (rows, labels, plan, config) = (rows.clone(), labels.clone(), plan.clone(), config.clone());
    fleet.run(move |r| program(r, &rows, &labels, &plan, &config))
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    p: &TopologyRows,
    labels: &[u32],
    plan: &Plan,
    config: &BcConfig,
) -> Result<Brought> {
    let scores = r.array("scores", p.columns.active, MergeOp::Sum)?;
    let exchange = plan.cut.then(|| Exchange::new(r, p, plan)).transpose()?;
    let engine = Engine::new(r, p, labels, plan)?;
    let mut search =
        Search { p, labels, plan, config, scores, exchange, engine, tally: Tally::default() };
    let mut measured = timed(r, &config.run, &mut search)?;
    let Search { scores, tally, .. } = search;
    let start = Instant::now();
    let scores = if r.rank() == 0 { scores.to_vec()? } else { Vec::new() };
    measured.download_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(Brought { scores, tally, measured })
}

/// All batches, to be repeated.
struct Search<'a> {
    p: &'a TopologyRows,
    labels: &'a [u32],
    plan: &'a Plan,
    config: &'a BcConfig,
    scores: Replicated<f64>,
    exchange: Option<Exchange>,
    engine: Engine,
    tally: Tally,
}

impl Run for Search<'_> {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.tally = Tally::default();
        if let Some(scores) = self.scores.host_mut() {
            scores.fill(0.0);
        }
        self.scores.device().map_or(Ok(()), |scores| scores.clear())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Search { p, labels, plan, config, scores, exchange, engine, tally } = self;
        let endpoints = config.endpoints;
        Driver { r, p, labels, plan, endpoints, scores, exchange, engine, tally, log }.go()
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.scores)]
    }

    /// Sums over replicas are added in an order that is not promised.
    fn rounded(&self, r: &Replica) -> Result<Option<Rounded>> {
        if r.world() == 1 || self.plan.cut {
            return Ok(None);
        }
        let off = answer::tolerance(self.plan.double);
        let values = self.scores.to_vec()?;
        Ok(Some(Rounded { values, relative: off, absolute: off, iterations: 0, step: 0.0 }))
    }
}
