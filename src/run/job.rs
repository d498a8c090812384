//! From a configuration to an answer: load, open, prepare, solve, verify. Each stage is a function, so
//! that a sweep can share a graph or a fleet between many runs.

use super::{Answer, Checked, Choice, Context, RunConfig, Start, Verdict, Verification, Workload};
use crate::algorithm::Paths;
use crate::fleet::{Fleet, FleetInfo};
use crate::graph::{Graph, Origin};
use crate::io::ResultFormat;
use crate::layout::{Layouts, PrepareReport, Ready};
use crate::{Error, Result, generate, io};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Timed runs when the program chooses, and when one takes over [`SLOW_MS`].
const RUNS: u32 = 10;
const SLOW_RUNS: u32 = 5;
const SLOW_MS: f64 = 1000.0;

/// A workload, how to run it, and the graph and start to run it on.
#[derive(Clone)]
pub struct Job {
    /// What runs.
    pub workload: &'static Workload,
    /// How, resolved.
    pub config: RunConfig,
    /// On what.
    pub graph: Arc<Graph>,
    /// From where.
    pub start: Start,
    /// The nodes to which paths are asked for, by rising input id.
    pub targets: Vec<u32>,
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
    pub answer: Box<dyn Answer>,
    /// The paths that were asked for.
    pub paths: Option<Paths>,
    /// The check, when it was asked for.
    pub verification: Option<Verification>,
}

impl Outcome {
    /// Writes the rows of the answer, or of the paths where some were asked for, where and how the configuration says.
    pub fn write(&self, path: &Path) -> Result<()> {
        let format = match self.job.config.output_format {
            Some(format) => format,
            None => ResultFormat::of(path)?,
        };
        let graph = &self.job.graph;
        let table = match &self.paths {
            Some(paths) => paths.table(),
            None => self.answer.table(graph),
        };
        io::write_table_as(path, format, graph, &table)
    }

    /// The error of a failed check.
    pub fn verified(&self) -> Result<()> {
        match &self.verification {
            Some(Verification { verdict: Verdict::No, message: Some(message), .. }) => {
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
    load_with_places(config, spec).map(Arc::new)
}

/// The graph of `spec`, with nodes where the configuration's file of places has them.
pub(crate) fn load_with_places(config: &RunConfig, spec: &str) -> Result<Graph> {
    match &config.geo.labels {
        Some(labels) => {
            let labels = labels.to_string_lossy();
            io::load_placed(spec, &labels, config.geo.labels_first_id, &config.load)
        }
        None => io::load_with(spec, &config.load),
    }
}

/// As [`load`]; a large R-MAT graph is made on `fleet`'s first GPU and copied to the host, which takes a
/// fraction of the time. It is the same graph, to the bit.
pub fn load_on(config: &RunConfig, fleet: &Fleet) -> Result<Arc<Graph>> {
    match config.graph.as_deref() {
        Some(spec) if config.geo.labels.is_none() && generate::pays_on(fleet, spec) => {
            let graph = generate::on_device(fleet, spec)?.into_graph(fleet)?;
            io::apply(graph, &config.load).map(Arc::new)
        }
        _ => load(config),
    }
}

/// Notices a graph that is not there, or a generator that makes no sense, without loading anything: a
/// file may take minutes, devices seconds.
pub fn check_graph(config: &RunConfig) -> Result<()> {
    config.graph.as_deref().map_or(Ok(()), io::check)?;
    let places = [&config.geo.labels, &config.geo.truth];
    places.into_iter().flatten().try_for_each(|path| io::check_table(&path.to_string_lossy()))
}

/// Opens the fleet that the configuration names.
pub fn open_fleet(config: &RunConfig) -> Result<Fleet> {
    Fleet::open(config.fleet())
}

/// Brings a job's graph into the form that its workload wants, on a fleet.
pub fn prepare(job: &Job, fleet: &Fleet) -> Result<Ready> {
    Ready::new(job.workload.form, fleet, &job.graph, job.config.prepare(), &mut Layouts::default())
}

impl Job {
    /// Checks the configuration against the workload and finds what it starts from.
    pub fn new(workload: &'static Workload, config: RunConfig, graph: Arc<Graph>) -> Result<Job> {
        config.check(workload)?;
        let start = (workload.start)(&config, &graph)?;
        let targets = config.target.as_ref().map(|targets| targets.resolve_of("--target", &graph));
        let mut targets = targets.transpose()?.unwrap_or_default();
        targets.sort_unstable_by_key(|node| graph.rank(*node));
        Ok(Job { workload, config, graph, start, targets })
    }

    /// A job of a workload on an array, which needs no graph.
    pub fn on_array(workload: &'static Workload, config: RunConfig) -> Result<Job> {
        let job = Job::new(workload, config, Arc::new(Graph::empty(Origin::default())))?;
        let Start::Array(elements) = job.start else {
            return Err(Error::input(format!("{} needs a graph: load one for it", workload.name)));
        };
        let name = match elements.is_power_of_two() {
            true => format!("array-2^{}", elements.trailing_zeros()),
            false => format!("array-{elements}"),
        };
        let origin = Origin { dataset: name.clone(), graph_file: name, ..Origin::default() };
        Ok(Job { graph: Arc::new(Graph::empty(origin)), ..job })
    }

    /// Nodes of the graph, or elements of the array.
    pub fn size(&self) -> u64 {
        match self.start {
            Start::Array(elements) => elements,
            _ => self.graph.nodes() as u64,
        }
    }

    /// Runs the workload: once, or as often as a benchmark asks for.
    ///
    /// A benchmark with `runs = auto` makes one run to see how long it takes. Ten timed runs follow, or five when
    /// that run took over a second; it then counts as one of the warm-up runs.
    pub fn solve(&self, fleet: &Fleet, ready: &Ready) -> Result<Box<dyn Answer>> {
        ready.check_fleet(fleet)?;
        let run = |runs, warmup, gauge| {
            (self.workload.solve)(&Context { job: self, fleet, ready, runs, warmup, gauge })
        };
        if !self.config.benchmarks() {
            return run(1, 0, false);
        }
        let warmup = self.config.warmup.unwrap_or(1);
        let (runs, warmup) = match self.config.runs.unwrap_or_default() {
            Choice::Is(runs) => (runs, warmup),
            Choice::Auto => {
                let gauged = run(1, 0, true)?;
                let slow = gauged.measured().runs.iter().any(|run| run.total_ms > SLOW_MS);
                if slow { (SLOW_RUNS, warmup.saturating_sub(1)) } else { (RUNS, warmup) }
            }
        };
        run(runs, warmup, false)
    }

    /// Checks an answer; a check that fails is a result, one that cannot be made is an error.
    pub fn verify(&self, answer: &dyn Answer) -> Result<Verification> {
        let begin = Instant::now();
        let checked = match &answer.measured().differing {
            Some(message) => Err(Error::Verify(message.clone())),
            None => answer.verify(self),
        };
        let (verdict, message, checked) = match checked {
            Ok(Checked { skipped: Some(skipped), found, note }) => {
                (Verdict::Partly, Some(skipped), Checked { skipped: None, found, note })
            }
            Ok(checked) => (Verdict::Yes, None, checked),
            Err(Error::Verify(message)) => (Verdict::No, Some(message), Checked::default()),
            Err(other) => return Err(other),
        };
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        let Checked { found, note, .. } = checked;
        Ok(Verification { verdict, message, found, note, ms })
    }

    /// Puts an answer together with what it took.
    pub fn outcome(
        self,
        fleet: &Fleet,
        ready: &Ready,
        answer: Box<dyn Answer>,
        verification: Option<Verification>,
    ) -> Outcome {
        let paths = answer.paths(&self);
        Outcome {
            paths,
            job: self,
            fleet: fleet.info().clone(),
            prepare: PrepareReport {
                compile_ms: answer.measured().compile_ms,
                ..ready.report().clone()
            },
            answer,
            verification,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetConfig;
    use crate::run::workload;
    use std::sync::Mutex;

    /// (timed runs, warm-up runs, whether only a time was wanted) of every call of the driver.
    static CALLS: Mutex<Vec<(u32, u32, bool)>> = Mutex::new(Vec::new());

    fn counted(context: &Context<'_>) -> Result<Box<dyn Answer>> {
        CALLS.lock().unwrap().push((context.runs, context.warmup, context.gauge));
        (workload("pagerank").unwrap().solve)(context)
    }

    static COUNTED: std::sync::LazyLock<Workload> = std::sync::LazyLock::new(|| {
        let known = workload("pagerank").unwrap();
        Workload { solve: counted, ..*known }
    });

    #[test]
    fn a_question_is_computed_once_and_a_benchmark_repeats_it() {
        let fleet = Fleet::open(FleetConfig {
            devices: "host:2".parse().unwrap(),
            ..FleetConfig::default()
        })
        .unwrap();
        let graph = Arc::new(generate::generate("rmat:8").unwrap());
        let asked = |text: &str| {
            let config: RunConfig = toml::from_str(&format!("graph = 'rmat:8'\n{text}")).unwrap();
            let job = Job::new(&COUNTED, config, graph.clone()).unwrap();
            let ready = prepare(&job, &fleet).unwrap();
            CALLS.lock().unwrap().clear();
            let timed = job.solve(&fleet, &ready).unwrap().measured().runs.len();
            (CALLS.lock().unwrap().clone(), timed)
        };
        assert_eq!(asked(""), (vec![(1, 0, false)], 1), "one call of the driver, one run");
        assert_eq!(asked("verify = true"), (vec![(1, 0, false)], 1));
        let benchmark = (vec![(1, 0, true), (10, 1, false)], 10);
        assert_eq!(asked("benchmark = true"), benchmark);
        assert_eq!(asked("runs = 'auto'"), benchmark, "it implies a benchmark");
        assert_eq!(asked("runs = 3"), (vec![(3, 1, false)], 3), "with its warm-up");
        assert_eq!(asked("runs = 3\nwarmup = 0"), (vec![(3, 0, false)], 3));
        assert_eq!(asked("warmup = 2").0[1], (10, 2, false));
    }
}
