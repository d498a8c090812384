//! From a configuration to an answer: load, open, prepare, solve, verify. Each stage is a function, so
//! that a sweep can share a graph or a fleet between many runs.

use super::{Choice, RunConfig, Workload};
use crate::algorithm::{Seeds, ShortestPaths, SsspConfig};
use crate::fleet::{Fleet, FleetInfo};
use crate::graph::Graph;
use crate::prepare::{PrepareReport, Prepared};
use crate::{Error, Result, generate, io, verify};
use std::sync::Arc;
use std::time::Instant;

/// Timed runs when the program chooses, and when one takes over [`SLOW_MS`].
const RUNS: u32 = 10;
const SLOW_RUNS: u32 = 5;
const SLOW_MS: f64 = 1000.0;

/// What the independent check found.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Verification {
    /// Whether the answer holds.
    pub passed: bool,
    /// The first thing wrong, naming a node.
    pub message: Option<String>,
    /// Arcs out of reached nodes whose sum, distance plus weight, overflows f32: they reach nobody.
    pub overflowed_arcs: u64,
    /// Milliseconds that the check took.
    pub ms: f64,
}

/// A workload, how to run it, and the graph and start nodes to run it on.
#[derive(Clone)]
pub struct Job {
    /// What runs.
    pub workload: &'static Workload,
    /// How, resolved.
    pub config: RunConfig,
    /// On what.
    pub graph: Arc<Graph>,
    /// From which nodes (not input ids).
    pub seeds: Vec<u32>,
}

/// Everything about one finished run.
pub struct Outcome {
    /// What ran.
    pub job: Job,
    /// On which replicas.
    pub fleet: FleetInfo,
    /// What laying the graph out cost.
    pub prepare: PrepareReport,
    /// The answer and its timings.
    pub paths: ShortestPaths,
    /// The check, when it was asked for.
    pub verification: Option<Verification>,
}

impl Outcome {
    /// The error of a failed check.
    pub fn verified(&self) -> Result<()> {
        match &self.verification {
            Some(Verification { passed: false, message: Some(message), .. }) => {
                Err(Error::Verify(message.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Loads or generates the graph that the configuration names.
pub fn load(config: &RunConfig) -> Result<Arc<Graph>> {
    let spec = config.graph.as_deref().ok_or_else(|| {
        Error::input("no graph: give --graph FILE or a generator, as in --graph rmat:18")
    })?;
    io::load_with(spec, &config.load).map(Arc::new)
}

/// As [`load`]; a large R-MAT graph is made on `fleet`'s first GPU and copied to the host, which takes a
/// fraction of the time. It is the same graph, to the bit.
pub fn load_on(config: &RunConfig, fleet: &Fleet) -> Result<Arc<Graph>> {
    match config.graph.as_deref() {
        Some(spec) if generate::pays_on(fleet, spec) => {
            let graph = generate::on_device(fleet, spec)?.into_graph(fleet)?;
            io::apply(graph, &config.load).map(Arc::new)
        }
        _ => load(config),
    }
}

/// Notices a graph that is not there, or a generator that makes no sense, without loading anything: a
/// file may take minutes, devices seconds.
pub fn check_graph(config: &RunConfig) -> Result<()> {
    config.graph.as_deref().map_or(Ok(()), io::check)
}

/// Opens the fleet that the configuration names.
pub fn open_fleet(config: &RunConfig) -> Result<Fleet> {
    Fleet::open(config.fleet())
}

/// Lays a graph out on a fleet.
pub fn prepare(config: &RunConfig, fleet: &Fleet, graph: &Arc<Graph>) -> Result<Prepared> {
    Prepared::new(fleet, Arc::clone(graph), config.prepare())
}

/// The nodes that a run starts from. [`RunConfig::check`] has seen to it that there are some.
fn start_nodes(config: &RunConfig, graph: &Graph) -> Result<Vec<u32>> {
    match (&config.seeds, config.source) {
        (Some(seeds), _) => seeds.resolve(graph),
        (None, Some(source)) => source.to_string().parse::<Seeds>()?.resolve(graph),
        (None, None) => Ok(vec![graph.default_source()]),
    }
}

impl Job {
    /// Checks the configuration against the workload and finds the start nodes.
    pub fn new(workload: &'static Workload, config: RunConfig, graph: Arc<Graph>) -> Result<Job> {
        config.check(workload)?;
        let seeds = start_nodes(&config, &graph)?;
        Ok(Job { workload, config, graph, seeds })
    }

    /// The driver's options for this many timed and warm-up runs.
    fn options(&self, runs: u32, warmup: u32) -> SsspConfig {
        let config = &self.config;
        SsspConfig {
            merge: config.merge,
            delta: match config.delta {
                Choice::Auto => None,
                Choice::Is(delta) => Some(delta),
            },
            predecessors: config.predecessors,
            nominee: config.nominee,
            runs,
            warmup,
            trace: config.trace,
            compare: config.verify,
            ..SsspConfig::default()
        }
    }

    /// Runs the workload, warm-up and repetitions included.
    ///
    /// With `runs = auto` one run is made to see how long it takes: 10 timed runs follow, or 5 when
    /// it took over a second (it then counts as one of the warm-up runs).
    pub fn solve(&self, fleet: &Fleet, prepared: &Prepared) -> Result<ShortestPaths> {
        let run =
            |options: &SsspConfig| (self.workload.solve)(fleet, prepared, &self.seeds, options);
        let warmup = self.config.warmup;
        let (runs, warmup) = match self.config.runs {
            Choice::Is(runs) => (runs, warmup),
            Choice::Auto => {
                let gauge = SsspConfig {
                    predecessors: false,
                    nominee: false,
                    trace: false,
                    ..self.options(1, 0)
                };
                let slow = run(&gauge)?.measured.runs.iter().any(|run| run.total_ms > SLOW_MS);
                if slow { (SLOW_RUNS, warmup.saturating_sub(1)) } else { (RUNS, warmup) }
            }
        };
        run(&self.options(runs, warmup))
    }

    /// Checks an answer; a check that fails is a result, one that cannot be made is an error.
    pub fn verify(&self, paths: &ShortestPaths) -> Result<Verification> {
        let start = Instant::now();
        let checked = verify::shortest_paths(&self.graph, &self.seeds, paths);
        let (message, overflowed_arcs) = match checked {
            Ok(checked) => (None, checked.overflowed_arcs),
            Err(Error::Verify(message)) => (Some(message), 0),
            Err(other) => return Err(other),
        };
        let ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Verification { passed: message.is_none(), message, overflowed_arcs, ms })
    }

    /// Puts an answer together with what it took.
    pub fn outcome(
        self,
        fleet: &Fleet,
        prepared: &Prepared,
        paths: ShortestPaths,
        verification: Option<Verification>,
    ) -> Outcome {
        Outcome {
            job: self,
            fleet: fleet.info().clone(),
            prepare: prepared.report().clone(),
            paths,
            verification,
        }
    }
}
