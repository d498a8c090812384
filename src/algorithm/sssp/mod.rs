//! Multi-source shortest paths: SSSP, and vertex nomination's distances.
//!
//! **Idea.** Distances only ever fall, and f32 distances are unique whatever the order of relaxation
//! (x -> fl(x + w) is monotone), so replicas may relax as they like as long as they agree in the end.
//! Two strategies, chosen by the graph:
//!
//! * *push-pull*, for skewed graphs: push the first and last levels, pull the heavy ones. Rows are
//!   sorted by weight; with L the smallest distance in the frontier, a node scans its in-arcs only
//!   while fl(w + L) < dist: a few arcs a node, whatever its degree.
//! * *near-far*, for flat graphs of high diameter: work off what lies below a threshold, then raise
//!   it by delta. Thousands of small rounds stay on the device.
//!
//! **Replicas.** A push of a small frontier is run whole by every replica, from a snapshot of the
//! source values, so that all replicas stay equal without a word. A pull is cut by node: GPUs that have a
//! replica each run one joint launch, in which owners store distances and marks into everybody's arrays (R-MAT 27 on four
//! H200s: 1.85 ms, 5.38 on one); elsewhere each replica pulls into its own chunk, and owners' values are gathered. Near-far
//! runs to its end on every replica: distances are unique again then. Where cutting would cost more than it saves, push-pull
//! does so too. `--merge dense` is the textbook loop instead: advance the own chunk's frontier, OR
//! the frontiers, MIN the distances.
//!
//! Both strategies stay on the device for many rounds in one cooperative kernel, over rows sorted by weight; an
//! operator of [`crate::operator`] is a launch a round over rows as they are, so they are not made of operators.
//!
//! **Arrays.** `dist: [n] f32, replicated, MIN`; `front: [n] bits, replicated, OR`, the nodes whose
//! out-arcs are not relaxed at their current distance. Both by label; the id map is applied at the
//! door.
//!
//! **Source.** Davidson, Baxter, Garland, Owens, IPDPS 2014 (near-far); Beamer, Asanovic, Patterson,
//! SC 2012 (push and pull); the HIVE phase-2 report (replicas and merges).

mod answer;
mod cuda;
mod double;
mod driver;
mod host;
mod length;
mod whole;

pub use answer::{Ranked, best_ranked, ranking};
pub(crate) use length::Length;

use super::frame::{Brought, Log, Run, timed};
use super::same::Words;
use super::workload::{Algorithm, Query, config, run};
use super::{InputId, Measured, MergeMode, Precision, RunOptions, Seeds, chains};
use crate::choice::Choice;
use crate::collective::{Element, Frontier, MergeOp, Replicated, Together};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{self, DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, WeightedGraph, WeightedLayout};
use driver::{Driver, Engine};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The workload.
pub struct Sssp;

/// What shortest paths from one source are asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SsspConfig {
    /// Where to start, in the input's own ids [default: the lowest id in the largest component].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID", allow_hyphen_values = true))]
    pub source: Option<InputId>,
    /// Say the paths to these nodes, from the source: ID,.. | file:PATH. With --output its rows are the nodes of the
    /// paths: target,position,node,distance.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub target: Option<Seeds>,
    /// Also compute the predecessor of each node.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub predecessors: bool,
    /// Width of a near-far bucket, in units of weight: auto | inf (one bucket) | a number above 0 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WIDTH", allow_hyphen_values = true))]
    pub delta: Choice<f32>,
    /// Width of distances: f32 | f64 | auto (f32, and the run is repeated in f64 where weights are whole numbers and a
    /// distance reaches 2^24, or where a sum is more than f32 holds) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// When push-pull turns.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub turns: Turns,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

/// When push-pull turns, in shares of all arcs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turns {
    /// Push turns to pull when the frontier has more arcs.
    pub pull_above: f64,
    /// Pull turns to push when it has fewer.
    pub push_below: f64,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { pull_above: 1.0 / 32.0, push_below: 1.0 / 128.0 }
    }
}

config!(SsspConfig);

/// Shortest distances from a source.
///
/// # Errors
/// [`Error::Input`] for options out of range and for a source that the graph does not have; [`Error::Fault`] when a
/// replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn sssp(fleet: &Fleet, graph: &Prepared, config: &SsspConfig) -> Result<ShortestPaths> {
    run::<Sssp>(fleet, graph, config)
}

/// What a search starts from, and the nodes to which paths are asked for, by rising input id.
pub struct Start {
    /// Node indices.
    pub nodes: Vec<u32>,
    /// Node indices.
    pub targets: Vec<u32>,
}

impl Algorithm for Sssp {
    type Config = SsspConfig;
    type Start = Start;
    type Answer = ShortestPaths;
    const NAME: &'static str = "sssp";
    const ABOUT: &'static str = "Shortest paths from one source to all nodes";
    const EXAMPLES: [&'static str; 2] = [
        "hive run sssp --graph web.mtx --source 1 --target 9",
        "hive run sssp --graph road:10 --benchmark --json record.json",
    ];
    const FORM: Form = Form::Weighted;
    const RANKS: Option<&'static str> = Some("the nodes nearest to the source");

    fn check(config: &SsspConfig) -> Result<()> {
        check(&PathOptions::of(config))
    }

    fn start(config: &SsspConfig, graph: &Graph) -> Result<Start> {
        let node = match &config.source {
            Some(source) => source.resolve(graph, "--source")?,
            None => graph.default_source(),
        };
        Ok(Start { nodes: vec![node], targets: super::targets(config.target.as_ref(), graph)? })
    }

    fn started(start: &Start, graph: &Graph) -> String {
        super::from_nodes(&start.nodes, graph)
    }

    fn several(config: &SsspConfig) -> Option<&'static str> {
        let several =
            [("--target", config.target.is_some()), ("--predecessors", config.predecessors)];
        several.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option)
    }

    fn files(config: &SsspConfig) -> Vec<(&'static str, &Path)> {
        super::files_of([("--target", &config.target)])
    }

    fn arrays(shape: &GraphShape, _: &SsspConfig, world: usize) -> Vec<DeviceArray> {
        memory::shortest_paths(shape, world)
    }

    fn solve(
        fleet: &Fleet,
        graph: &Prepared,
        query: &Query<Sssp>,
        run: &RunOptions,
        extras: bool,
    ) -> Result<ShortestPaths> {
        let options = PathOptions::of(&query.config);
        search(
            fleet,
            graph,
            &query.start.nodes,
            &PathOptions { run: run.clone(), ..options },
            extras,
        )
    }
}

/// What searches are asked, from one source or from many.
#[derive(Debug, Clone)]
pub(crate) struct PathOptions {
    pub delta: Choice<f32>,
    pub precision: Precision,
    pub predecessors: bool,
    pub nominee: bool,
    pub turns: Turns,
    pub run: RunOptions,
}

impl PathOptions {
    fn of(config: &SsspConfig) -> PathOptions {
        PathOptions {
            delta: config.delta,
            precision: config.precision,
            predecessors: config.predecessors || config.target.is_some(),
            nominee: false,
            turns: config.turns,
            run: config.run.clone(),
        }
    }
}

/// Refuses what makes no sense.
pub(crate) fn check(options: &PathOptions) -> Result<()> {
    let (delta, merge) = (options.delta, options.run.merge);
    if let Choice::Is(delta) = delta
        && (delta.is_nan() || delta <= 0.0)
    {
        return Err(Error::input(format!("--delta {delta}: use auto, inf or a number above 0")));
    }
    let why = match (delta, merge) {
        (Choice::Is(_), MergeMode::Dense) => {
            Some("the dense loop has no buckets; leave one of them out")
        }
        (Choice::Is(delta), MergeMode::Split) if delta.is_finite() => {
            Some("buckets are worked off by every replica alone, nothing is split; use --delta inf")
        }
        _ => None,
    };
    if let Some(why) = why {
        return Err(Error::input(format!("--delta {delta} with --merge {merge}: {why}")));
    }
    if options.precision == Precision::F64 && matches!(merge, MergeMode::Dense | MergeMode::Split) {
        return Err(Error::input(format!(
            "--precision f64 with --merge {merge}: in f64 every replica computes alone; use --merge auto"
        )));
    }
    Ok(())
}

/// Shortest paths from the nearest of some nodes, in the input's node order.
#[derive(Debug, Clone, Default)]
pub struct ShortestPaths {
    /// `[n]` distance from the nearest seed; `+inf` where none reaches. Rounded to f32 where it was found in f64.
    pub distances: Vec<f32>,
    /// `[n]` the same in f64, where it was found in f64.
    pub distances_f64: Option<Vec<f64>>,
    /// The search in f32 that came first and did not do, where the search in f64 repeated it.
    pub measured_f32: Option<Measured>,
    /// Nodes at the distance of the node before them although the arc between weighs more: the sum was rounded.
    pub absorbed: u64,
    /// Arcs out of reached nodes whose sum is more than f32 holds: f32, asked for. They reach nobody.
    pub overflowed: u64,
    /// Nodes whose distance was rounded although all weights are whole numbers: f32, asked for, from 2^24 on.
    pub rounded: u64,
    /// `[n]` smallest node of the previous tight level; a seed for itself; `u32::MAX` for unreached nodes.
    pub predecessors: Option<Vec<u32>>,
    /// `[n]` smallest seed with a tight chain to the node; `u32::MAX` for unreached nodes.
    pub nominees: Option<Vec<u32>>,
    /// The bucket width that was used; infinite when there was one bucket.
    pub delta: f32,
    /// Timings and counts.
    pub measured: Measured,
}

/// What a step of push-pull does; the numbers are those of `kernels/sssp.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Everything to the end, redundantly and in place.
    Finish = 0,
    /// Whole frontiers from snapshots, until none is left or a pull pays.
    Grow = 1,
    /// One pull into the own chunk.
    Pull = 2,
    /// One push of the own chunk's frontier.
    Push = 3,
    /// Everything to the end, in one launch with the other GPUs.
    Joint = 5,
}

/// What a step found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Nodes in the frontier it left.
    pub nodes: u64,
    /// Arcs out of it, 0 where unknown.
    pub arcs: u64,
    /// Smallest distance in it.
    pub lowest: f32,
    pub relaxed: u64,
    pub rounds: u64,
    /// Entries that a device step left in its log.
    pub logged: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Counts { nodes: 0, arcs: 0, lowest: f32::INFINITY, relaxed: 0, rounds: 0, logged: 0 }
    }
}

/// What a step must know beside the state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub pull_above: u64,
    pub push_below: u64,
    /// Smallest distance in the frontier.
    pub lowest: f32,
    /// Pull into all nodes, not only the own chunk.
    pub whole: bool,
}

/// The replicated state.
pub(crate) struct State {
    pub dist: Replicated<f32>,
    pub front: Frontier,
    pub next: Frontier,
    /// `[active / SPARSE] u64`, replicated, GATHER: distance << 32 | node of what a pull changed, where
    /// pulls are cut.
    pub changed: Option<Replicated<u64>>,
    /// Where joint launches are made: everybody's `dist`, `front` and `next`.
    pub together: Option<Together<3>>,
}

impl State {
    fn new(r: &mut Replica, p: &WeightedGraph, plan: Plan) -> Result<State> {
        let nodes = p.layout.nodes;
        let room = memory::changed(p.layout.active);
        let changed = match plan {
            Plan::Cut => Some(r.array("changed", room, MergeOp::Gather)?),
            _ => None,
        };
        let mut state = State {
            changed,
            dist: r.array("dist", nodes, MergeOp::Min)?,
            front: r.node_set("frontier", nodes, MergeOp::Or)?,
            next: r.node_set("frontier", nodes, MergeOp::Or)?,
            together: None,
        };
        if plan == Plan::Joint {
            let bitmaps = [&state.front, &state.next].map(|words| words.words().address());
            state.together = Some(r.together([
                ("dist", state.dist.address()),
                ("frontier", bitmaps[0]),
                ("next frontier", bitmaps[1]),
            ])?);
        }
        Ok(state)
    }

    pub fn swap(&mut self) {
        std::mem::swap(&mut self.front, &mut self.next);
        if let Some(together) = &mut self.together {
            together.arrays.swap(1, 2);
        }
    }
}

/// How a run goes, decided once from the graph, the fleet and the options.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plan {
    /// Near-far with this bucket width, redundantly.
    NearFar { delta: f32 },
    /// Push-pull by every replica alone.
    Redundant,
    /// Push-pull with pulls cut by GPUs that meet by themselves.
    Joint,
    /// Push-pull with pulls cut by chunk, led by the host.
    Cut,
    /// The textbook loop.
    Dense,
}

/// Nodes with arcs from which GPUs that can launch jointly do. R-MAT 20 (646 K) takes 0.214 ms jointly on two H200s and 0.217
/// repeated, R-MAT 22 (2.4 M) 0.39 and 0.49; at R-MAT 18 it is 0.165 against 0.152.
const JOINT_NODES: usize = 1 << 20;

/// Buckets of this many mean weights: wide enough to fill a GPU, narrow enough to waste little.
const DELTA_MEAN_WEIGHTS: f64 = 16.0;

impl Plan {
    fn new(layout: &WeightedLayout, options: &PathOptions, fleet: &Fleet) -> Plan {
        let (world, cuda) = (fleet.world(), fleet.info().backend == "cuda");
        let joint = fleet.info().can_join();
        let automatic =
            if layout.flat { DELTA_MEAN_WEIGHTS * layout.mean_weight } else { f64::INFINITY };
        let delta = options.delta.or(automatic as f32);
        match options.run.merge {
            MergeMode::Dense => Plan::Dense,
            _ if delta.is_finite() => Plan::NearFar { delta },
            MergeMode::Split if joint => Plan::Joint,
            MergeMode::Auto if joint && layout.active >= JOINT_NODES => Plan::Joint,
            MergeMode::Split if world > 1 => Plan::Cut,
            MergeMode::Auto if world > 1 && cutting_pays(layout, world, cuda) => Plan::Cut,
            _ => Plan::Redundant,
        }
    }
}

/// Whether cutting pulls by chunk costs less than it saves.
///
/// On the host replicas share the cores, so redundant work is never free. On GPUs the constants are an
/// estimate by hand, from one R-MAT 24 run on 4 H200s, not a fit: all pulls of a run take about 0.09 ns a
/// node, of which cutting saves about two thirds; it costs some 0.6 ms of launches and meetings and 0.03 ns
/// a node of exchange. That it keeps R-MAT 20 to 24 redundant is right by the merge ablation; that cutting
/// pays from some tens of millions of nodes on has not been measured.
fn cutting_pays(layout: &WeightedLayout, world: usize, cuda: bool) -> bool {
    let nodes = layout.active as f64;
    let saved_us = nodes * 0.06e-3 * (1.0 - 1.0 / world as f64);
    let cost_us = 600.0 + nodes * 0.03e-3;
    !cuda || saved_us > cost_us
}

/// Shortest distances from the nearest of `seeds` (node indices, distinct). Without `extras` only the times of runs are
/// wanted.
pub(crate) fn search(
    fleet: &Fleet,
    graph: &Prepared,
    seeds: &[u32],
    options: &PathOptions,
    extras: bool,
) -> Result<ShortestPaths> {
    let inner = graph.weighted(fleet)?;
    let options = PathOptions {
        predecessors: options.predecessors && extras,
        nominee: options.nominee && extras,
        ..options.clone()
    };
    let search = Asked {
        labels: Arc::new(seeds.iter().map(|s| inner.layout.label(*s)).collect()),
        fleet,
        inner,
        options: &options,
    };
    let mut found = match options.precision {
        Precision::F64 => search.in_f64()?,
        Precision::Auto | Precision::F32 => search.in_f32()?,
    };
    let graph = graph.graph();
    if found.distances_f64.is_none() {
        let beyond = whole::beyond(&found.distances);
        let rounded = beyond > 0 && whole::weights_are_whole(graph);
        let overflowed =
            whole::overflowed(graph, &found.distances, search.inner.layout.mean_weight);
        if options.precision == Precision::Auto && (rounded || overflowed > 0) {
            found = ShortestPaths { measured_f32: Some(found.measured), ..search.in_f64()? };
        } else {
            found.rounded = if rounded { beyond } else { 0 };
            found.overflowed = overflowed;
        }
    }
    found.finish(&search.inner, seeds, &options);
    Ok(found)
}

/// A question, ready for replicas.
struct Asked<'a> {
    fleet: &'a Fleet,
    inner: Arc<WeightedGraph>,
    labels: Arc<Vec<u32>>,
    options: &'a PathOptions,
}

impl Asked<'_> {
    fn in_f32(&self) -> Result<ShortestPaths> {
        let (inner, labels, options) =
            (self.inner.clone(), self.labels.clone(), self.options.clone());
        let plan = Plan::new(&inner.layout, &options, self.fleet);
        let answers = self.fleet.run(move |r| program(r, &inner, &labels, plan, &options))?;
        let (distances, measured) = self.first(answers);
        let delta = if let Plan::NearFar { delta } = plan { delta } else { f32::INFINITY };
        Ok(ShortestPaths { distances, delta, measured, ..ShortestPaths::default() })
    }

    fn in_f64(&self) -> Result<ShortestPaths> {
        let (inner, labels, options) =
            (self.inner.clone(), self.labels.clone(), self.options.clone());
        let delta = double::delta(&inner.layout, options.delta);
        let program = move |r: &mut Replica| double::program(r, &inner, &labels, delta, &options);
        let (exact, measured) = self.first(self.fleet.run(program)?);
        let distances = exact.par_iter().map(|distance| *distance as f32).collect();
        let (distances_f64, delta) = (Some(exact), delta as f32);
        Ok(ShortestPaths { distances, distances_f64, delta, measured, ..ShortestPaths::default() })
    }

    /// Rank 0's distances in the input's order, and what all replicas measured.
    fn first<D: Element>(&self, brought: Vec<Brought<D>>) -> (Vec<D>, Measured) {
        let Brought { values, measured } = Brought::first(brought);
        (self.inner.layout.to_input_order(values), measured)
    }
}

impl ShortestPaths {
    /// Whether a seed reaches the node. In f64 that may be further away than f32 can say.
    pub fn is_reached(&self, node: u32) -> bool {
        match &self.distances_f64 {
            Some(distances) => distances[node as usize].is_finite(),
            None => self.distances[node as usize].is_finite(),
        }
    }

    /// What follows from the distances alone.
    fn finish(&mut self, p: &WeightedGraph, seeds: &[u32], config: &PathOptions) {
        let graph = &p.graph;
        let reached = (0..graph.nodes()).into_par_iter().filter(|v| self.is_reached(*v as u32));
        let (nodes, arcs) =
            reached.map(|v| (1, graph.degree(v))).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let start = Instant::now();
        match self.distances_f64.take() {
            None => {
                let distances = std::mem::take(&mut self.distances);
                self.follow(p, seeds, &distances, config);
                self.distances = distances;
            }
            Some(distances) => {
                self.follow(p, seeds, &distances, config);
                self.distances_f64 = Some(distances);
            }
        }
        self.measured.chains_ms = start.elapsed().as_secs_f64() * 1e3;
        (self.measured.reached, self.measured.reached_arcs) = (nodes, arcs);
    }

    fn follow<D: Length>(
        &mut self,
        p: &WeightedGraph,
        seeds: &[u32],
        distances: &[D],
        config: &PathOptions,
    ) {
        let graph = &p.graph;
        self.predecessors =
            config.predecessors.then(|| chains::predecessors(graph, seeds, distances));
        self.nominees = config.nominee.then(|| chains::nominees(graph, seeds, distances));
        self.absorbed = whole::absorbed(graph, distances, p.layout.lightest);
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    p: &WeightedGraph,
    seeds: &[u32],
    plan: Plan,
    options: &PathOptions,
) -> Result<Brought<f32>> {
    let state = State::new(r, p, plan)?;
    let engine = Engine::new(r, p, seeds, plan, options.run.trace)?;
    let turns = options.turns;
    let mut search = Search { p, seeds, plan, turns, state, engine };
    let measured = timed(r, &options.run, &mut search)?;
    Brought::new(r, &search.state.dist, measured)
}

/// One search, to be repeated.
struct Search<'a> {
    p: &'a WeightedGraph,
    seeds: &'a [u32],
    plan: Plan,
    turns: Turns,
    state: State,
    engine: Engine,
}

impl Run for Search<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.engine.reset(r, self.p, &mut self.state, self.seeds)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Search { p, plan, turns, state, engine, .. } = self;
        Driver { r, p, engine, state, log, turns: *turns }.go(*plan)
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.dist)]
    }
}
