//! Runs cells in this process, or its part of them: the fleet, graphs, layouts and device copies of one cell serve the next.

use super::cell::Refusal;
use super::plan::{same_fleet, same_graph, same_preparation};
use super::planned::Planned;
use crate::algorithm::Spread;
use crate::fleet::{Company, Fleet};
use crate::generate::Kept;
use crate::layout::{Form, Layout, Layouts, Prepared};
use crate::report::Record;
use crate::run::{Clock, Job, Loaded, Loading, Outcome, RunConfig, Stage, compile_ahead};
use crate::run::{Comes, gpus_find_source, graph_fingerprint, option_files};
use crate::{Error, Result};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// What is open and loaded. A fleet that did not open, and a graph that did not load, are not tried again.
#[derive(Default)]
pub(super) struct Bench {
    /// The graph on the fleet; goes before the fleet does.
    ready: Option<(RunConfig, Prepared)>,
    fleet: Option<(RunConfig, Result<Fleet, Refusal>)>,
    graphs: Vec<Source>,
    /// The process's, where it runs one cell.
    clock: Option<Clock>,
}

/// A graph, loaded at most once, and its layouts on the host, for all fleets.
struct Source {
    config: RunConfig,
    loaded: Result<Loaded, Refusal>,
    layouts: Vec<(Layout, Arc<Mutex<Layouts>>)>,
}

impl Bench {
    /// One for the only cell of this process.
    pub(super) fn of_one_cell() -> Bench {
        Bench { clock: Some(Clock::of_process()), ..Bench::default() }
    }

    /// Runs a cell on all processes of the company, each of which calls it; the record is that of the first.
    pub(super) fn run(&mut self, cell: &Planned, company: &Company) -> Result<Value, Refusal> {
        // A panic is a bug; it costs this cell and what is open, not the sweep.
        let run = catch_unwind(AssertUnwindSafe(|| self.attempt(cell, company)));
        let run = run.unwrap_or_else(|_| {
            *self = Bench::default();
            Err(Refusal::Failed("hive itself failed; please report this cell".into()))
        });
        // Others may wait for this process where it will not come.
        if let Err(Refusal::Failed(why)) = &run {
            company.fails(Error::machine(why.clone()));
        }
        run
    }

    fn attempt(&mut self, cell: &Planned, company: &Company) -> Result<Value, Refusal> {
        let config = &cell.config;
        let same = |of: &RunConfig| same_graph(of, config) && same_preparation(of, config);
        self.ready.take_if(|(of, _)| !same_fleet(of, config) || !same(of));
        self.fleet.take_if(|(of, _)| !same_fleet(of, config));
        let clock = &mut self.clock;
        // A process of one cell ends where devices do not open. Elsewhere no graph is loaded for them meanwhile.
        let alone = clock.is_some() && cell.workload.form != Form::Array && !cell.is_absent();
        let loading = alone.then(|| Loading::begin(config, cell.workload)).transpose()?;
        if !cell.is_absent() {
            compile_ahead(config, cell.workload);
        }
        lap(clock, |clock| clock.lap(Stage::Start));
        let refuse = |error| match company.is_of_several() {
            true => Refusal::from(error),
            false => Refusal::of_fleet(error),
        };
        let open = || (config.clone(), company.open(config.fleet()).map_err(refuse));
        let (_, fleet) = self.fleet.get_or_insert_with(open);
        let fleet = fleet.as_ref().map_err(Refusal::clone)?;
        lap(clock, |clock| clock.lap(Stage::Devices));
        if let Some(trouble) = &cell.trouble {
            return Err(Refusal::Skipped(trouble.clone()));
        }
        company.same("file", || option_files(config, cell.workload))?;
        let mut ready = self.ready.take().map(|(_, ready)| ready);
        let (job, layouts, kept) = match cell.workload.form {
            Form::Array => (Job::on_array(cell.workload, config.clone())?, Arc::default(), None),
            _ => {
                let source = source(&mut self.graphs, cell, (fleet, company), loading);
                let Loaded { graph, kept } = source.loaded.clone()?;
                company.same("graph", || graph_fingerprint(config, &graph))?;
                lap(clock, |clock| clock.lap_of_load(&graph));
                if alone && gpus_find_source(config, cell.workload, fleet, &graph) {
                    let prepared = Prepared::new(fleet, graph.clone(), config.prepare())?;
                    let prepared = prepared.with_input(kept.clone()).finding_source(true);
                    let report = prepared.report(fleet, cell.workload.form)?;
                    lap(clock, |clock| clock.lap_of_prepare(&report));
                    ready = Some(prepared);
                }
                let job = Job::new(cell.workload, config.clone(), graph)?;
                (job, source.layouts(config.layout), kept)
            }
        };
        lap(clock, |clock| clock.lap(Stage::Choose));
        match answer(job, fleet, (layouts, kept), ready, clock) {
            Ok((outcome, ready)) => {
                let record = match outcome {
                    Some(outcome) => {
                        let outcome = Outcome { clock: clock.clone(), ..outcome };
                        serde_json::to_value(Record::of(&outcome))
                    }
                    None => Ok(Value::Null),
                };
                self.ready = Some((config.clone(), ready));
                record.map_err(|e| {
                    Refusal::Failed(format!("the record cannot be written as JSON: {e}"))
                })
            }
            Err(error) => {
                // It may have poisoned the fleet, no room on a device for one: the next cell gets a fresh one.
                self.fleet = None;
                Err(error.into())
            }
        }
    }

    /// Closes the fleet. Several processes forget their graphs, too: some may lack what others have.
    pub(super) fn close(&mut self, company: &Company) {
        self.ready = None;
        self.fleet = None;
        if company.is_of_several() {
            self.graphs.clear();
        }
    }

    /// Lets go of the graphs that none of these cells needs.
    pub(super) fn keep_for(&mut self, cells: &[&Planned]) {
        let needed = |of: &RunConfig| cells.iter().any(|cell| same_graph(of, &cell.config));
        self.graphs.retain(|source| needed(&source.config));
        self.ready.take_if(|(of, _)| !needed(of));
    }
}

impl Source {
    fn layouts(&mut self, layout: Layout) -> Arc<Mutex<Layouts>> {
        let at = self.layouts.iter().position(|(of, _)| *of == layout).unwrap_or_else(|| {
            self.layouts.push((layout, Arc::default()));
            self.layouts.len() - 1
        });
        self.layouts[at].1.clone()
    }
}

/// The cell's graph; a large generated one is made on the fleet that needs it first, where that is sooner.
fn source<'a>(
    graphs: &'a mut Vec<Source>,
    cell: &Planned,
    (fleet, company): (&Fleet, &Company),
    loading: Option<Loading>,
) -> &'a mut Source {
    let config = &cell.config;
    let known = graphs.iter().position(|source| same_graph(&source.config, config));
    let at = known.unwrap_or_else(|| {
        let begin = || Loading::begin(config, cell.workload);
        let comes = Comes::of(config, company);
        let own = comes == Comes::ByItself;
        let loaded = match cell.is_absent() && own {
            true => Err(Refusal::Skipped(format!("{} is not there", cell.spec()))),
            false => {
                let alone = loading.is_some();
                let load = || {
                    let loading = loading.map_or_else(begin, Ok)?;
                    loading.end(config, cell.workload, fleet)
                };
                let own = own.then(load);
                let shared =
                    |loaded: Loaded| if alone { Ok(loaded) } else { loaded.on_host(fleet) };
                let loaded = own
                    .transpose()
                    .and_then(|own| Loaded::on_all(own, comes == Comes::Lent, company));
                loaded.and_then(shared).map_err(Refusal::from)
            }
        };
        graphs.push(Source { config: config.clone(), loaded, layouts: Vec::new() });
        graphs.len() - 1
    });
    &mut graphs[at]
}

/// Gives the fleet its copies, unless it has them, then solves and checks. Of several processes the first has the outcome.
fn answer(
    job: Job,
    fleet: &Fleet,
    (layouts, kept): (Arc<Mutex<Layouts>>, Option<Arc<Kept>>),
    prepared: Option<Prepared>,
    clock: &mut Option<Clock>,
) -> Result<(Option<Outcome>, Prepared)> {
    job.query.check_memory(fleet.info())?;
    let prepared = match prepared {
        Some(prepared) => prepared,
        None => Prepared::with_layouts(fleet, job.graph.clone(), job.config.prepare(), layouts)?
            .with_input(kept),
    };
    let report = prepared.only(fleet, job.workload.form)?;
    lap(clock, |clock| clock.lap_of_prepare(&report));
    job.make_room(fleet, &prepared)?;
    let answer = job.solve(fleet, &prepared)?;
    let processes = fleet.each_process(Spread::of_runs(answer.measured()).median)?;
    if fleet.info().process != 0 {
        return Ok((None, prepared));
    }
    lap(clock, |clock| clock.lap_of_solve(answer.measured()));
    let check = job.check(fleet, &prepared, &*answer)?;
    lap(clock, |clock| clock.lap(Stage::Verify));
    let report = prepared.report(fleet, job.workload.form)?;
    let outcome = job.outcome(fleet, &report, answer, check);
    Ok((Some(Outcome { processes, ..outcome }), prepared))
}

/// Books time, where a clock runs.
fn lap(clock: &mut Option<Clock>, book: impl FnOnce(&mut Clock)) {
    if let Some(clock) = clock {
        book(clock);
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failed(error.to_string())
    }
}

impl Refusal {
    /// A fleet that does not open because the machine lacks something is skipped, loudly.
    fn of_fleet(error: Error) -> Refusal {
        match error {
            Error::Machine(error) => Refusal::Skipped(error),
            other => other.into(),
        }
    }
}
