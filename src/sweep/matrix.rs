//! The loop over the cells.

use super::cell::{Cell, State, merge_word};
use super::config::SweepConfig;
use crate::algorithm::MergeMode;
use crate::fleet::{CollectiveKind, Devices, Fleet};
use crate::graph::Graph;
use crate::prepare::{Form, Layouts, Ready};
use crate::report::{Failure, Record, Spread, command_line, utc, write_json};
use crate::run::{Job, Outcome, RunConfig, Workload, load_on, open_fleet};
use crate::{Error, Result, report};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Runs every cell, writes a record for each into `dir`, and `sweep.json` with all cells so far.
/// `observe` sees each cell as it is done.
///
/// Fleets are the outer loop, so that one is open at a time; graphs are loaded when first needed and
/// kept, and laid out once for all fleets. What goes wrong in a cell stays in that cell; an error of this function is one of writing.
pub fn sweep(
    config: &SweepConfig,
    dir: &Path,
    observe: &mut dyn FnMut(&Cell),
) -> Result<Vec<Cell>> {
    config.check()?;
    std::fs::create_dir_all(dir).map_err(|e| Error::input(format!("{}: {e}", dir.display())))?;
    let graphs = config.specs().enumerate().map(|(place, spec)| Source {
        spec,
        run: &config.run,
        optional: place >= config.graphs.len(),
        loaded: None,
        layouts: Layouts::default(),
    });
    let mut matrix = Matrix {
        config,
        dir,
        graphs: graphs.collect(),
        cells: Vec::new(),
        files: HashSet::from(["sweep".to_string()]),
        observe,
    };
    for devices in &config.devices {
        for collective in &config.collectives {
            matrix.fleet(devices, *collective)?;
        }
    }
    Ok(matrix.cells)
}

/// A graph of the sweep, loaded and laid out at most once.
struct Source<'a> {
    spec: &'a str,
    /// How it is loaded.
    run: &'a RunConfig,
    optional: bool,
    loaded: Option<Result<Arc<Graph>, State>>,
    /// As `[run]` asks for it, the same for all fleets.
    layouts: Layouts,
}

impl Source<'_> {
    /// The graph; a large generated one is made on the fleet that needs it first, where that is sooner.
    fn get(&mut self, fleet: &Fleet) -> Result<Arc<Graph>, State> {
        let (spec, optional, run) = (self.spec, self.optional, self.run);
        let config = RunConfig { graph: Some(spec.to_string()), ..run.clone() };
        self.loaded
            .get_or_insert_with(|| match load_on(&config, fleet) {
                Ok(graph) => Ok(graph),
                Err(_) if optional && !Path::new(spec).exists() => {
                    Err(State::Skipped { error: format!("{spec} is not there") })
                }
                Err(error) => Err(State::Failed { error: error.to_string() }),
            })
            .clone()
    }

    /// The graph's short name, or what the user called it when there is no graph.
    fn dataset(&self) -> String {
        match &self.loaded {
            Some(Ok(graph)) => graph.origin.dataset.clone(),
            _ => {
                let name = Path::new(self.spec).file_name();
                name.map_or(self.spec.into(), |name| name.to_string_lossy().into_owned())
            }
        }
    }
}

/// Where a cell lies.
#[derive(Clone, Copy)]
struct Place<'a> {
    workload: &'static Workload,
    /// Its name, and the options that all its cells have.
    variant: (&'a str, &'a RunConfig),
    graph: usize,
    devices: &'a Devices,
    collective: CollectiveKind,
    merge: MergeMode,
}

/// The fleet in use, or why there is none, and the graph laid out on it.
#[derive(Default)]
struct Bench {
    ready: Option<Ready>,
    fleet: Option<Result<Fleet, State>>,
}

impl Bench {
    /// The fleet, opened at first use; one that does not open is not tried again.
    fn open(&mut self, config: &RunConfig) -> Result<&Fleet, State> {
        let open = || open_fleet(config).map_err(unavailable);
        self.fleet.get_or_insert_with(open).as_ref().map_err(State::clone)
    }

    /// Answers one job. An error of any kind, no room on a device for one, may have poisoned the fleet:
    /// the next cell gets a fresh one.
    fn answer(&mut self, job: Job, layouts: &mut Layouts) -> Result<Outcome, State> {
        // Another workload's form makes room for this one's.
        let ready = self.ready.take().filter(|ready| ready.form() == job.workload.form);
        let fleet = self.open(&job.config)?;
        let result = attempt(job, fleet, layouts, ready);
        match result {
            Ok((outcome, ready)) => {
                self.ready = Some(ready);
                Ok(outcome)
            }
            Err(error) => {
                *self = Bench::default();
                Err(failed(error))
            }
        }
    }
}

/// Gives the fleet its copies, unless it has them, then solves and checks.
fn attempt(
    job: Job,
    fleet: &Fleet,
    layouts: &mut Layouts,
    ready: Option<Ready>,
) -> Result<(Outcome, Ready)> {
    let ready = match ready {
        Some(ready) => ready,
        None => Ready::new(job.workload.form, fleet, &job.graph, job.config.prepare(), layouts)?,
    };
    let answer = job.solve(fleet, &ready)?;
    let check = job.config.verify.then(|| job.verify(&*answer)).transpose()?;
    Ok((job.outcome(fleet, &ready, answer, check), ready))
}

/// The same of a workload without a graph.
fn on_array(
    place: &Place<'_>,
    config: &RunConfig,
    bench: &mut Bench,
) -> (String, Result<Outcome, State>) {
    match Job::on_array(place.workload, config.clone()) {
        Ok(job) => {
            let name = job.graph.origin.dataset.clone();
            (name, bench.answer(job, &mut Layouts::default()))
        }
        Err(error) => ("array".into(), Err(failed(error))),
    }
}

fn failed(error: Error) -> State {
    State::Failed { error: error.to_string() }
}

/// A fleet that does not open because the machine lacks something is skipped, loudly.
fn unavailable(error: Error) -> State {
    match error {
        Error::Machine(error) => State::Skipped { error },
        other => failed(other),
    }
}

struct Matrix<'a> {
    config: &'a SweepConfig,
    dir: &'a Path,
    graphs: Vec<Source<'a>>,
    cells: Vec<Cell>,
    files: HashSet<String>,
    observe: &'a mut dyn FnMut(&Cell),
}

impl Matrix<'_> {
    /// All cells of one fleet.
    fn fleet(&mut self, devices: &Devices, collective: CollectiveKind) -> Result<()> {
        let mut bench = Bench::default();
        for graph in 0..self.graphs.len().max(1) {
            bench.ready = None;
            // Workloads that have no graph run once, not on each.
            let due = |workload: &&Workload| workload.form != Form::Array || graph == 0;
            for workload in self.config.workloads()?.into_iter().filter(due) {
                for (name, common) in &self.config.variants_of(workload)? {
                    for merge in self.config.merges.iter().copied() {
                        let variant = (name.as_str(), common);
                        let place = Place { workload, variant, graph, devices, collective, merge };
                        self.cell(place, &mut bench)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn cell(&mut self, place: Place<'_>, bench: &mut Bench) -> Result<()> {
        let array = place.workload.form == Form::Array;
        let config = RunConfig {
            graph: (!array).then(|| self.graphs[place.graph].spec.to_string()),
            devices: place.devices.clone(),
            collective: place.collective,
            merge: place.merge,
            ..place.variant.1.clone()
        };
        let (dataset, result) = if array {
            on_array(&place, &config, bench)
        } else {
            self.on_graph(&place, &config, bench)
        };
        let file = self.file(&place, &dataset);
        let path = self.dir.join(&file);
        let state = match result {
            Ok(outcome) => {
                write_json(&path, &Record::of(&outcome))?;
                done(&outcome)
            }
            Err(state) => {
                write_json(&path, &failure(&place, &dataset, &state, &config))?;
                state
            }
        };
        let Place { workload, variant, devices, collective, merge, .. } = place;
        let (workload, variant, devices) = (workload.name, variant.0.to_string(), devices.clone());
        let cell = Cell { workload, dataset, devices, collective, merge, variant, file, state };
        (self.observe)(&cell);
        self.cells.push(cell);
        write_json(&self.dir.join("sweep.json"), &self.cells)
    }

    /// The graph's short name, and what came of the cell.
    fn on_graph(
        &mut self,
        place: &Place<'_>,
        config: &RunConfig,
        bench: &mut Bench,
    ) -> (String, Result<Outcome, State>) {
        let source = &mut self.graphs[place.graph];
        // Devices first: no graph is generated for a machine that cannot run it.
        let result = bench
            .open(config)
            .and_then(|fleet| source.get(fleet))
            .and_then(|graph| Job::new(place.workload, config.clone(), graph).map_err(failed))
            .and_then(|job| bench.answer(job, &mut source.layouts));
        (source.dataset(), result)
    }

    /// `vn__rmat18__host-4__auto__dense.json`, with a number where two cells would share a name.
    fn file(&mut self, place: &Place<'_>, dataset: &str) -> String {
        let word = |text: &str| -> String {
            let safe = |c: char| match c {
                ',' => '_',
                c if c.is_ascii_alphanumeric() || "._-".contains(c) => c,
                _ => '-',
            };
            text.chars().map(safe).collect()
        };
        let words = [
            word(place.workload.name),
            word(dataset),
            word(&place.devices.to_string()),
            word(&place.collective.to_string()),
            word(&merge_word(place.merge)),
        ];
        let variant = place.variant.0.split_terminator(' ').map(word);
        let stem = words.into_iter().chain(variant).collect::<Vec<_>>().join("__");
        let mut name = stem.clone();
        for copy in 2.. {
            if self.files.insert(name.clone()) {
                break;
            }
            name = format!("{stem}__{copy}");
        }
        name + ".json"
    }
}

fn done(outcome: &Outcome) -> State {
    let measured = outcome.answer.measured();
    State::Done {
        reached: measured.reached,
        time: Spread::of_runs(measured),
        verified: outcome.verification.as_ref().map(|check| check.passed),
        used: outcome.fleet.collective.clone(),
        error: outcome.verification.as_ref().and_then(|check| check.message.clone()),
    }
}

fn failure<'a>(
    place: &Place<'_>,
    dataset: &'a str,
    state: &'a State,
    config: &'a RunConfig,
) -> Failure<'a> {
    let (status, error) = match state {
        State::Skipped { error } => ("skipped", error.as_str()),
        State::Failed { error } => ("failed", error.as_str()),
        State::Done { .. } => ("done", ""),
    };
    Failure {
        primitive: place.workload.primitive,
        dataset,
        status,
        error,
        config,
        command_line: command_line(),
        time: utc(SystemTime::now()),
        version: report::VERSION,
        commit: report::COMMIT,
    }
}
