//! A graph, where it came from, and the layouts that it has on fleets.

use crate::answer::{Answer, Column};
use crate::arrays::{Ids, Lent, Weights, narrowed};
use crate::error::raised;
use crate::fleets::{Shared, fleet, forget, lock};
use crate::place::Place;
use crate::stage::Stage;
use crate::wait::{wait, wait_at, wait_for_arcs};
use hivegraph::fleet::Fleet;
use hivegraph::graph::{NodeId, Origin, SharedSlice};
use hivegraph::io::{LoadOptions, apply, load_with, place, write_graph};
use hivegraph::layout::{Form, Layouts, Prepared, Resident, ResidentOptions};
use hivegraph::run::{Job, RunConfig, Workload, gpus_find_source, prepare, workload};
use hivegraph::{Error, Result};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A graph.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Graph(Arc<Held>);

/// The graph and what is laid out of it.
struct Held {
    /// For workloads that look at no weights, and for all where these came with it.
    graph: Arc<hivegraph::graph::Graph>,
    /// Rows whose weights nobody has looked at.
    rows: Option<Rows>,
    weighted: Mutex<Option<Arc<hivegraph::graph::Graph>>>,
    /// By weights, fleet and options of the layout. The fleet stays as long as the layout.
    prepared: Mutex<HashMap<String, (Arc<Prepared>, Shared)>>,
    /// By weights and options of the layout: what the host has laid out.
    layouts: Mutex<HashMap<String, Arc<Mutex<Layouts>>>>,
    /// By fleet: what operators run over.
    residents: Mutex<HashMap<String, (Arc<Resident>, Shared)>>,
}

/// Compressed sparse rows where Python has them.
struct Rows {
    offsets: SharedSlice<u64>,
    columns: SharedSlice<u32>,
    weights: Weights,
    origin: Origin,
}

/// Of a graph that Python made.
fn origin(name: &str, weighted: bool) -> Origin {
    Origin {
        dataset: name.into(),
        graph_file: name.into(),
        format: "python".into(),
        weights: if weighted { "file" } else { "unit" }.into(),
        ..Origin::default()
    }
}

/// Options as JSON.
fn options<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::input(error.to_string().replace('`', "'")))
}

#[pymethods]
impl Graph {
    /// Of a file or a generator.
    #[staticmethod]
    fn load(py: Python<'_>, spec: String, load: &str) -> PyResult<Graph> {
        let load: LoadOptions = options(load).map_err(|error| raised(py, &error))?;
        wait_at(py, "load", &Stage::default(), move || load_with(&spec, &load).map(Graph::of))
    }

    /// Of compressed sparse rows, which stay where they are if they are sorted: offsets of 64 bits, neighbours of 32 or 64.
    /// `unchanged` lives as long as they are looked at.
    #[staticmethod]
    fn from_csr(
        py: Python<'_>,
        offsets: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        name: &str,
        unchanged: Py<PyAny>,
    ) -> PyResult<Graph> {
        let kept = Arc::new(unchanged);
        let offsets: SharedSlice<u64> = Arc::new(Lent::<u64>::kept(offsets, Some(&kept))?);
        let columns = Ids::of(columns, Some(&kept))?;
        let weights = weights.map(|weights| Weights::of(weights, Some(&kept))).transpose()?;
        let origin = origin(name, weights.is_some());
        let arcs = columns.len();
        wait_for_arcs(py, arcs, move || {
            let columns: SharedSlice<u32> = match columns {
                Ids::Narrow(same) => same,
                Ids::Wide(wide) => Arc::new(narrowed(wide.as_ref(), "columns")?),
            };
            let unweighted = Origin { weights: "unit".into(), ..origin.clone() };
            let graph = hivegraph::graph::Graph::from_shared_csr(
                offsets.clone(),
                columns.clone(),
                None,
                unweighted,
            )?;
            let rows = weights.map(|weights| Rows { offsets, columns, weights, origin });
            Ok(Graph(Arc::new(Held { rows, ..Held::of(graph) })))
        })
    }

    /// Of arcs between nodes 0 to `nodes` - 1, in any order; `undirected`: each stands for itself and its reverse.
    #[staticmethod]
    fn from_arcs(
        py: Python<'_>,
        nodes: u64,
        sources: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        undirected: bool,
        name: &str,
    ) -> PyResult<Graph> {
        let ends = [Ids::of(sources, None)?, Ids::of(targets, None)?];
        let weights = weights.map(|weights| Weights::of(weights, None)).transpose()?;
        let origin = origin(name, weights.is_some());
        let arcs = ends[0].len();
        wait_for_arcs(py, arcs, move || {
            let [mut sources, mut targets] = [Vec::new(), Vec::new()];
            for ((ids, all), what) in
                ends.into_iter().zip([&mut sources, &mut targets]).zip(["sources", "targets"])
            {
                *all = match ids {
                    Ids::Narrow(same) => (*same).as_ref().to_vec(),
                    Ids::Wide(wide) => narrowed(wide.as_ref(), what)?,
                };
            }
            let mut weights = weights.map(|weights| (*weights.rounded()).as_ref().to_vec());
            if undirected && sources.len() == targets.len() {
                for arc in 0..sources.len() {
                    let (u, v) = (sources[arc], targets[arc]);
                    if u != v {
                        sources.push(v);
                        targets.push(u);
                        if let Some(all) = &mut weights {
                            let weight = all.get(arc).copied();
                            all.extend(weight);
                        }
                    }
                }
            }
            let weights = weights.as_deref();
            let graph = hivegraph::graph::Graph::from_arcs(
                nodes as usize,
                &sources,
                &targets,
                weights,
                origin,
            );
            graph.map(Graph::of)
        })
    }

    /// This graph under options of loading: symmetrized, without loops, and so on.
    fn applied(&self, py: Python<'_>, load: &str) -> PyResult<Graph> {
        let load: LoadOptions = options(load).map_err(|error| raised(py, &error))?;
        let held = self.0.clone();
        wait(py, move || apply((*held.whole()?).clone(), &load).map(Graph::of))
    }

    /// Writes it, in the format that the ending of the path names.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let held = self.0.clone();
        wait(py, move || write_graph(&*held.whole()?, &path))
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.0.graph.nodes()
    }

    #[getter]
    fn arcs(&self) -> u64 {
        self.0.graph.arcs()
    }

    #[getter]
    fn weighted(&self) -> bool {
        self.0.rows.is_some() || self.0.graph.is_weighted()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.graph.origin.dataset
    }

    /// Whether each arc has its reverse.
    fn undirected(&self, py: Python<'_>) -> PyResult<bool> {
        let graph = self.0.graph.clone();
        wait(py, move || Ok(graph.is_undirected()))
    }

    /// The input's ids: the first, where they are numbers that rise by one; else all of them, numbers or texts.
    fn ids(&self) -> (Option<u64>, Option<Vec<u64>>, Option<Vec<String>>) {
        let graph = &self.0.graph;
        let all = 0..graph.nodes() as u32;
        if graph.has_text_ids() {
            let text = |v| match graph.id(v) {
                NodeId::Text(name) => name.to_string(),
                NodeId::Number(id) => id.to_string(),
            };
            return (None, None, Some(all.map(text).collect()));
        }
        match graph.names() {
            None => (Some(graph.id_range().0), None, None),
            Some(_) => (None, Some(all.map(|v| graph.input_id(v)).collect()), None),
        }
    }

    /// Where each node's row begins, its neighbours, and the weights of these arcs.
    fn csr(&self, py: Python<'_>) -> PyResult<(Column, Column, Option<Column>)> {
        let held = self.0.clone();
        wait(py, move || {
            let graph = held.whole()?;
            let column = |at, length, kind| Column::new(graph.clone(), at, length, kind);
            let (offsets, columns) = (graph.offsets(), graph.columns());
            let weights = graph.weights();
            Ok((
                column(offsets.as_ptr() as usize, offsets.len(), "<u8"),
                column(columns.as_ptr() as usize, columns.len(), "<u4"),
                weights.map(|all| column(all.as_ptr() as usize, all.len(), "<f4")),
            ))
        })
    }

    /// Runs a workload, with options as in a configuration file. `leave`: where it runs on GPUs, its answer stays there.
    #[pyo3(signature = (name, options, leave=false))]
    fn run(&self, py: Python<'_>, name: &str, options: &str, leave: bool) -> PyResult<Answer> {
        let workload = known(py, name)?;
        let (held, text) = (self.0.clone(), options.to_string());
        let stage = Stage::default();
        let at = stage.clone();
        wait_at(py, workload.name, &stage, move || held.run(workload, &text, leave, &at))
    }

    /// The graph on a fleet, for operators.
    fn placed(&self, py: Python<'_>, options: &str, backward: bool) -> PyResult<Place> {
        let (held, text) = (self.0.clone(), options.to_string());
        let stage = Stage::default();
        let at = stage.clone();
        wait_at(py, "operators", &stage, move || {
            at.opens();
            let (name, fleet) = fleet(config_of(&self::options(&text)?)?.fleet())?;
            let open = lock(&fleet);
            at.lays_out();
            let there = lock(&held.residents)
                .get(&name)
                .filter(|(there, on)| {
                    Arc::ptr_eq(on, &fleet) && (there.has_backward() || !backward)
                })
                .map(|(resident, _)| resident.clone());
            let resident = match there {
                Some(resident) => resident,
                None => {
                    let options = ResidentOptions { backward, ..ResidentOptions::default() };
                    let made = Resident::new(&open, held.whole()?, options)
                        .inspect_err(|_| forget(&name, &fleet))?;
                    lock(&held.residents).insert(name.clone(), (made.clone(), fleet.clone()));
                    made
                }
            };
            let shares = open.info().shares.clone();
            let on_gpus = open.info().backend == "cuda";
            drop(open);
            Ok(Place { name, fleet, resident, on_gpus, shares })
        })
    }

    /// Lets go of what is laid out of it, on all fleets.
    fn release(&self) {
        lock(&self.0.residents).clear();
        lock(&self.0.prepared).clear();
        lock(&self.0.layouts).clear();
    }
}

impl Graph {
    fn of(graph: hivegraph::graph::Graph) -> Graph {
        Graph(Arc::new(Held::of(graph)))
    }
}

impl Held {
    fn of(graph: hivegraph::graph::Graph) -> Held {
        let (weighted, prepared, layouts, residents) = Default::default();
        Held { graph: Arc::new(graph), rows: None, weighted, prepared, layouts, residents }
    }

    /// The graph with its weights.
    fn whole(&self) -> Result<Arc<hivegraph::graph::Graph>> {
        let Some(Rows { offsets, columns, weights, origin }) = &self.rows else {
            return Ok(self.graph.clone());
        };
        let mut made = lock(&self.weighted);
        if let Some(whole) = &*made {
            return Ok(whole.clone());
        }
        let (rows, weights) = ((offsets.clone(), columns.clone()), weights.rounded());
        // The graph without weights looks at the same columns, unless they had to be sorted.
        let whole = match std::ptr::eq(self.graph.columns(), (**columns).as_ref()) {
            true => {
                let mut whole = self.graph.with_shared_weights(weights)?;
                whole.origin.weights = origin.weights.clone();
                whole
            }
            false => hivegraph::graph::Graph::from_shared_csr(
                rows.0,
                rows.1,
                Some(weights),
                origin.clone(),
            )?,
        };
        Ok(made.insert(Arc::new(whole)).clone())
    }

    fn run(
        &self,
        workload: &'static Workload,
        text: &str,
        leave: bool,
        stage: &Stage,
    ) -> Result<Answer> {
        let asked: Map<String, Value> = options(text)?;
        let mut config = RunConfig { leave, ..config_of(&asked)? };
        config.graph = Some(self.graph.origin.graph_file.clone());
        let weighted = asked.get("weighted").is_some_and(|weighted| *weighted == true);
        let looks = weighted || matches!(workload.form, Form::Weighted | Form::General);
        let graph = if looks { self.whole()? } else { self.graph.clone() };
        // Places belong to the graph, which then is this run's alone.
        let places = asked.get("labels").filter(|_| workload.has_own_option("labels"));
        if let Some(path) = places.and_then(Value::as_str) {
            let first_id = asked.get("labels-first-id").and_then(Value::as_u64);
            let placed = Arc::new(place((*graph).clone(), path, first_id)?);
            let job = Job::new(workload, config, placed)?;
            stage.opens();
            let (name, fleet) = fleet(job.config.fleet())?;
            return alone(job, (&name, &fleet), stage);
        }
        // What can be refused is refused before devices open. GPUs that lay the graph out find where to start sooner than the host.
        config.check(workload)?;
        let job = || Job::new(workload, config.clone(), graph.clone());
        let started = (!config.starts_by_default(workload)).then(job).transpose()?;
        stage.opens();
        let (name, fleet) = fleet(config.fleet())?;
        let open = lock(&fleet);
        stage.lays_out();
        let options = config.prepare();
        let finds_source = gpus_find_source(&config, workload, &open, &graph);
        let layout = format!("{looks} {:?}", options.layout);
        let key = format!("{looks} {name} {options:?}");
        // One that was laid out for a fleet that has failed since is of no use.
        let there = lock(&self.prepared)
            .get(&key)
            .filter(|(_, on)| Arc::ptr_eq(on, &fleet))
            .map(|(prepared, _)| prepared.clone());
        let prepared = match there {
            Some(prepared) => prepared,
            None => {
                let layouts = lock(&self.layouts).entry(layout).or_default().clone();
                let made = Prepared::with_layouts(&open, graph.clone(), options, layouts)?;
                let made = Arc::new(made.finding_source(finds_source));
                lock(&self.prepared).insert(key.clone(), (made.clone(), fleet.clone()));
                made
            }
        };
        let forgets = |_: &Error| {
            lock(&self.prepared).remove(&key);
            forget(&name, &fleet);
        };
        let job = match started {
            Some(job) => job,
            None => {
                if finds_source {
                    prepared.report(&open, workload.form).inspect_err(forgets)?;
                }
                job()?
            }
        };
        answered(job, &open, &prepared, stage).inspect_err(forgets)
    }
}

/// The answer of a job on a graph that is laid out for it, or will be.
fn answered(job: Job, open: &Fleet, prepared: &Prepared, stage: &Stage) -> Result<Answer> {
    job.query.check_memory(open.info())?;
    let report = prepared.report(open, job.workload.form)?;
    stage.runs();
    let answer = job.solve(open, prepared)?;
    stage.checks();
    let verification = job.check(open, prepared, &*answer)?;
    let outcome = job.outcome(open, &report, answer, verification);
    outcome.verified()?;
    Ok(Answer(Arc::new(outcome)))
}

/// The same where nothing of the layout stays.
fn alone(job: Job, (name, fleet): (&str, &Shared), stage: &Stage) -> Result<Answer> {
    let open = lock(fleet);
    stage.lays_out();
    let prepared = prepare(&job, None, &open)?;
    answered(job, &open, &prepared, stage).inspect_err(|_| forget(name, fleet))
}

/// A workload on an array, which needs no graph.
#[pyfunction]
pub fn run_on_array(py: Python<'_>, name: &str, options: &str) -> PyResult<Answer> {
    let (workload, text) = (known(py, name)?, options.to_string());
    let stage = Stage::default();
    let at = stage.clone();
    wait_at(py, workload.name, &stage, move || {
        let job = Job::on_array(workload, config_of(&self::options(&text)?)?)?;
        at.opens();
        let (name, fleet) = fleet(job.config.fleet())?;
        alone(job, (&name, &fleet), &at)
    })
}

/// Options of a run. Several processes are the program's: here each is by itself.
fn config_of(asked: &Map<String, Value>) -> Result<RunConfig> {
    let mut config = RunConfig::default().with(asked)?.0;
    config.ranks = "none".parse()?;
    Ok(config)
}

fn known(py: Python<'_>, name: &str) -> PyResult<&'static Workload> {
    workload(name).ok_or_else(|| raised(py, &Error::input(format!("{name}: no workload"))))
}
