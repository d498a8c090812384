//! Batches on one replica: whole, or level by level with the others.

use super::cuda::Workspace;
use super::host::Lanes;
use super::plan::{Plan, State, StepResult, StepTask, Task, side_by_side};
use super::{
    Bc, BcConfig, Betweenness, Ends, MOST_LANES, Targets, by_weight, cuda, host, scale,
    scale_subset,
};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, begin, step, timed, values};
use crate::algorithm::same::Words;
use crate::algorithm::workload::{Algorithm, Request};
use crate::algorithm::{MergeMode, Precision, files_of, from_nodes};
use crate::collective::{Payload, Split};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, TileFacts, TopologyRows};
use crate::units::plural;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

impl Algorithm for Bc {
    type Config = BcConfig;
    type Start = Ends;
    type Answer = Betweenness;
    const NAME: &'static str = "bc";
    const ABOUT: &'static str = "Betweenness: for each node, the sum over pairs of nodes of the fraction of their shortest paths that pass through it";
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
        if config.weighted && config.batch.given().is_some() {
            return Err(Error::input(
                "--batch: sources are searched from one after another by weight; leave it out, or leave out --weighted",
            ));
        }
        if config.weighted && config.precision == Precision::F32 {
            return Err(Error::input(
                "--precision f32: paths by weight are counted in f64; leave it out, or leave out --weighted",
            ));
        }
        if config.weighted && config.run.merge == MergeMode::Split {
            return Err(Error::input(
                "--merge split: paths by weight have no levels to divide; use auto or redundant",
            ));
        }
        if config.run.merge == MergeMode::Dense {
            return Err(Error::input(
                "--merge dense: betweenness has no frontier to OR; use auto, split or redundant",
            ));
        }
        if config.targets.is_some() && config.endpoints {
            return Err(Error::input(
                "--endpoints: it is for paths to all nodes; leave it out, or leave out --targets",
            ));
        }
        Ok(())
    }

    /// A random choice is one among all nodes, as in NetworkX, whose scale takes it for that.
    fn start(config: &BcConfig, graph: &Graph) -> Result<Ends> {
        let sources = match &config.sources {
            Some(sources) => sources.resolve_of("--sources", graph)?,
            None => vec![graph.default_source()],
        };
        let targets = config.targets.as_ref().map(|targets| targets.resolve_of("--targets", graph));
        Ok(Ends { sources, targets: targets.transpose()? })
    }

    fn started(start: &Ends, graph: &Graph) -> String {
        let to =
            start.targets.as_ref().map(|to| format!(" to {}", plural(to.len() as u64, "target")));
        from_nodes(&start.sources, "source", graph) + &to.unwrap_or_default()
    }

    fn files(config: &BcConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources), ("--targets", &config.targets)])
    }

    fn folder(config: &BcConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &BcConfig, world: usize) -> Vec<DeviceArray> {
        match config.weighted {
            true => by_weight::arrays(shape, world),
            false => cuda::arrays(shape, world),
        }
    }

    fn solve(request: Request<Self>) -> Result<Betweenness> {
        let Request { fleet, graph, query, run, .. } = request;
        let BcConfig { weighted, normalized, endpoints, .. } = query.config;
        let mut found = match weighted {
            true => by_weight::solve(fleet, graph, &query.start, (&query.config, run))?,
            false => {
                let config = BcConfig { run: run.clone(), ..query.config.clone() };
                solve(fleet, &graph.simple(fleet)?, &query.start, config)?
            }
        };
        let (scores, directed) = (&mut found.scores, found.directed);
        match query.start.targets {
            None => scale(scores, &query.start.sources, directed, normalized, endpoints),
            Some(_) => scale_subset(scores, directed, normalized),
        }
        Ok(found)
    }
}

/// What is counted beside the log, over the batches of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    levels: u64,
    reached: u64,
    reached_arcs: u64,
    /// The position of a source with too many paths; nothing after it was counted.
    overflow: Option<usize>,
}

/// What one replica ends with.
#[derive(Default)]
struct Found {
    /// `[2, active]` as [`Scores`](super::plan::Scores) has them; on the first of a process alone.
    scores: Vec<f64>,
    /// Of all replicas, by rank.
    tallies: Vec<Tally>,
    tiles: Option<TileFacts>,
}

/// By arcs, in rows without parallel ones; scores are not scaled.
fn solve(
    fleet: &Fleet,
    rows: &Arc<TopologyRows>,
    Ends { sources, targets }: &Ends,
    mut config: BcConfig,
) -> Result<Betweenness> {
    let columns = &rows.columns;
    let to = targets.as_ref().map_or_else(Targets::default, |to| Targets::new(columns, to));
    let to = Arc::new(to);
    // Sources without a row reach nobody but themselves.
    let labels = sources.iter().map(|s| columns.label(*s));
    let labels: Vec<u32> = labels.filter(|l| (*l as usize) < columns.active).collect();
    if labels.len() > 1 && !columns.flat {
        columns.out.load()?;
    }
    let labels = Arc::new(side_by_side(columns, labels));
    let (plan, found, mut measured) = loop {
        let plan = Plan::new(rows, labels.len(), &config, fleet.info());
        let shared = (rows.clone(), labels.clone(), to.clone(), plan.clone(), config.clone());
        let answers = fleet.run(move |r| {
            let (rows, labels, to, plan, config) = &shared;
            program(r, rows, (labels, to), plan, config)
        })?;
        let (found, measured) = ReplicaAnswer::all(answers);
        let tallies = found.first().map(|one| &one.tallies[..]).unwrap_or_default();
        let overflow = tallies.iter().filter_map(|tally| tally.overflow).min();
        let Some(position) = overflow else { break (plan, found, measured) };
        if plan.sizes.double || config.precision != Precision::Auto {
            let source = rows.graph.id(columns.node(labels[position]));
            let (bits, next) = match plan.sizes.double {
                true => (1000, "leave this source out"),
                false => (100, "use --precision f64"),
            };
            return Err(Error::input(format!(
                "source {source}: more than 2^{bits} shortest paths to a node; {next}"
            )));
        }
        config.precision = Precision::F64;
    };
    let found = found.into_iter().next().unwrap_or_default();
    let Found { scores: parts, tallies, tiles } = found;
    let counted = if plan.sizes.cut || plan.alone { &tallies[..1] } else { &tallies[..] };
    let isolated = (sources.len() - labels.len()) as u64;
    measured.reached = counted.iter().map(|tally| tally.reached).sum::<u64>() + isolated;
    measured.reached_arcs = counted.iter().map(|tally| tally.reached_arcs).sum();
    let (coarse, fine) = parts.split_at(parts.len() / 2);
    let mut by_label: Vec<f64> =
        coarse.par_iter().zip(fine).map(|(coarse, fine)| coarse + fine).collect();
    by_label.resize(columns.nodes, 0.0);
    Ok(Betweenness {
        scores: columns.to_input_order(by_label),
        precision: if plan.sizes.double { Precision::F64 } else { Precision::F32 },
        directed: columns.into.is_some(),
        by_weight: false,
        lanes: plan.sizes.lanes as u32,
        cut: plan.sizes.cut,
        tiles,
        depth: tallies.iter().map(|tally| tally.levels).max().unwrap_or(0),
        measured,
    })
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    (labels, targets): (&[u32], &Targets),
    plan: &Plan,
    config: &BcConfig,
) -> Result<ReplicaAnswer<Found>> {
    let (rank, perturbed, sizes) = (r.rank(), r.chance().is_some(), plan.sizes);
    let own = if sizes.cut { rows.in_chunks.range(rank) } else { 0..sizes.active as u64 };
    let state = State::allocate(r, sizes)?;
    let make = |r: &mut Replica, tiles| {
        let cuda = |device: &mut _| {
            let (graph, how) = (rows.on_device(rank)?, (sizes, perturbed, tiles));
            Workspace::new(device, rows, graph, (labels, targets), how, own.clone())
        };
        Engine::new(r, cuda, || Lanes::new(&rows.columns, sizes.lanes, targets))
    };
    let mut engine = make(r, plan.tiles)?;
    if plan.tiles && r.world() > 1 {
        // Whether tiles have room, and pay, may differ. Scores differ in their last bits then.
        let tiled = engine.workspace().is_some_and(|workspace| workspace.tiles().is_some());
        let all = r.agree("tiles", [u64::from(tiled), 0, 0, 0])?;
        if tiled && all.iter().any(|one| one[0] == 0) {
            drop(engine);
            engine = make(r, false)?;
        }
    }
    let endpoints = config.endpoints;
    let tally = Tally::default();
    let mut driver = Driver { rows, labels, plan, endpoints, own, state, engine, tally };
    let measured = timed(r, &config.run, &mut driver)?;
    let tiles = driver.engine.workspace().and_then(Workspace::tiles);
    let Tally { levels, reached, reached_arcs, overflow } = driver.tally;
    let overflow = overflow.map_or(u64::MAX, |position| position as u64);
    let all = r.agree("what all counted", [levels, reached, reached_arcs, overflow])?;
    let tally = |[levels, reached, reached_arcs, overflow]: &Payload| Tally {
        levels: *levels,
        reached: *reached,
        reached_arcs: *reached_arcs,
        overflow: (*overflow != u64::MAX).then_some(*overflow as usize),
    };
    let tallies: Vec<Tally> = all.iter().map(tally).collect();
    let read = || Ok(Found { scores: values(r, &driver.state.sums.scores)?, tallies, tiles });
    ReplicaAnswer::new(measured, read)
}

/// All batches, to be repeated.
struct Driver<'a> {
    rows: &'a TopologyRows,
    /// By position, the labels of the sources.
    labels: &'a [u32],
    plan: &'a Plan,
    endpoints: bool,
    /// Labels in which this replica finds levels.
    own: Range<u64>,
    state: State,
    engine: Engine<Workspace, Lanes>,
    tally: Tally,
}

impl Run for Driver<'_> {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.tally = Tally::default();
        self.state.sums.scores.clear()
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let cut = self.plan.sizes.cut;
        for round in 0..self.plan.rounds() {
            let batch = self.plan.batch(r.rank(), round);
            if cut { self.levels(r, log, batch)? } else { self.whole(r, log, batch)? }
        }
        if !cut && !self.plan.alone && r.world() > 1 {
            begin(r, log, "scores")?;
            r.merge(&mut self.state.sums.scores)?;
            note(log, "scores", "sum", StepResult::default());
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.sums.scores)]
    }
}

impl<'a> Driver<'a> {
    /// A batch by this replica alone. One that has none books it too: all count the same iterations.
    fn whole(&mut self, r: &mut Replica, log: &mut Log, batch: Range<usize>) -> Result<()> {
        let mut done = StepResult::default();
        if batch.is_empty() || self.tally.overflow.is_some() {
            begin(r, log, Task::Whole.name())?;
        } else {
            let whole = self.task(Task::Whole, batch);
            done = self.step(r, log, &whole)?;
            self.count(&whole.batch, done);
        }
        note(log, "batch", "none", done);
        Ok(())
    }

    /// A batch by all replicas together.
    fn levels(&mut self, r: &mut Replica, log: &mut Log, batch: Range<usize>) -> Result<()> {
        if self.tally.overflow.is_some() {
            return Ok(());
        }
        let (rank, lanes) = (r.rank(), self.plan.sizes.lanes);
        let seed = self.task(Task::Seed, batch);
        let batch = &seed.batch;
        self.step(r, log, &seed)?;
        // Where the list of each level begins, and, from level 1 on, who found which part of it.
        let (mut first, mut parts) = (vec![0, batch.len() as u64], Vec::<Split>::new());
        loop {
            let level = parts.len() + 1;
            let told = StepTask { level, ..seed.clone() };
            let list = first[level - 1]..first[level];
            let found = self.step(r, log, &StepTask { task: Task::Find, list, ..told.clone() })?;
            let all = r.agree("nodes of a level", [found.reached, 0, 0, 0])?;
            let split = Split::of_lengths(all.iter().map(|payload| payload[0]));
            let nodes = split.bounds().last().copied().unwrap_or(0);
            if nodes == 0 {
                note(log, "forward", "none", found);
                break;
            }
            let place = split.range(rank);
            self.step(r, log, &StepTask { task: Task::Pack, place, ..told.clone() })?;
            self.state.exchange.gather(r, &split, lanes, true)?;
            first.push(first[level] + nodes);
            let list = first[level]..first[level + 1];
            let done = self.step(r, log, &StepTask { task: Task::Commit, list, ..told })?;
            note(log, "forward", "gather", StepResult { looked: found.looked, ..done });
            if done.overflow.is_some() {
                self.count(batch, done);
                return Ok(());
            }
            parts.push(split);
        }
        let deepest = parts.len();
        let own = |level: usize| {
            let part = parts[level - 1].range(rank);
            first[level] + part.start..first[level] + part.end
        };
        for level in (1..=deepest).rev() {
            let told = StepTask { level, deepest, ..seed.clone() };
            let (mut done, mut merge) = (StepResult::default(), "none");
            // Below the deepest level there is nothing to sum.
            if level < deepest {
                let (part, list) = (&parts[level - 1], own(level));
                let back =
                    StepTask { task: Task::Back, list, place: part.range(rank), ..told.clone() };
                done = self.step(r, log, &back)?;
                self.step(r, log, &StepTask { task: Task::PackBack, ..back })?;
                self.state.exchange.gather(r, part, lanes, false)?;
                merge = "gather";
            }
            let list = first[level]..first[level + 1];
            let above = if level > 1 { own(level - 1) } else { 0..0 };
            self.step(r, log, &StepTask { task: Task::Settle, list, above, ..told })?;
            note(log, "backward", merge, done);
        }
        let done = self.step(r, log, &StepTask { task: Task::Score, ..seed.clone() })?;
        self.count(batch, StepResult { levels: deepest as u64, ..done });
        Ok(())
    }

    /// The task about a batch.
    fn task(&self, task: Task, batch: Range<usize>) -> StepTask<'a> {
        let (sources, endpoints) = (&self.labels[batch.clone()], self.endpoints);
        let (grids, list, above, place) = (self.plan.grids, 0..0, 0..0, 0..0);
        StepTask {
            task,
            batch,
            sources,
            endpoints,
            grids,
            level: 0,
            deepest: 0,
            list,
            above,
            place,
        }
    }

    fn step(&mut self, r: &mut Replica, log: &mut Log, told: &StepTask<'_>) -> Result<StepResult> {
        let (columns, own) = (&*self.rows.columns, self.own.clone());
        step(
            (r, log, told.task.name()),
            &mut self.engine,
            &mut self.state,
            |device, workspace, state| workspace.launch(device, state, told),
            |device, workspace| workspace.found(device, told.task),
            |lanes, state, beat| host::step(columns, own, lanes, state, told, beat),
        )
    }

    fn count(&mut self, batch: &Range<usize>, done: StepResult) {
        let tally = &mut self.tally;
        tally.levels = tally.levels.max(done.levels);
        tally.reached += done.reached;
        tally.reached_arcs += done.reached_arcs;
        tally.overflow = done.overflow.map(|lane| batch.start + lane as usize);
    }
}

/// Books an iteration.
fn note(log: &mut Log, name: &str, merge: &str, done: StepResult) {
    let rounds = if name == "batch" { 2 * done.levels } else { 1 };
    log.book(name, (rounds, done.looked), (done.reached, done.reached_arcs), merge);
}
