//! A graph in the form that a workload wants.

use super::{
    Columns, LaidOut, Layout, PlainGraph, PrepareOptions, PrepareReport, Prepared, Topology,
    TopologyRows,
};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use std::sync::Arc;

/// How a workload wants its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Relabelled, sorted by weight, packed: [`Prepared`].
    ShortestPaths,
    /// Relabelled, without weights: [`Topology`].
    Topology,
    /// As that, parallel arcs being one.
    Simple,
    /// As it was loaded: [`PlainGraph`].
    Plain,
    /// Not at all: the workload works on an array of so many elements.
    Array,
}

/// What was laid out of a graph on the host, for all fleets of a sweep.
#[derive(Default)]
pub struct Layouts {
    shortest_paths: Option<Arc<LaidOut>>,
    topology: Option<Arc<Columns>>,
    simple: Option<Arc<Columns>>,
}

impl Layouts {
    fn topology(&mut self, graph: &Graph, layout: Layout) -> Result<Arc<Columns>> {
        made(&mut self.topology, || Columns::new(graph, layout))
    }

    fn simple(&mut self, graph: &Graph, layout: Layout) -> Result<Arc<Columns>> {
        if let Some(made) = &self.simple {
            return Ok(made.clone());
        }
        let all = self.topology(graph, layout)?;
        let once = all.without_repeats().map_or(all, Arc::new);
        Ok(self.simple.insert(once).clone())
    }
}

/// A graph in one of the forms, with the copies that replicas hold.
pub enum Ready {
    /// For shortest paths.
    ShortestPaths(Prepared),
    /// Without weights.
    Topology(Topology),
    /// Without weights and parallel arcs.
    Simple(Topology),
    /// As it was loaded.
    Plain(PlainGraph),
    /// Nothing.
    Array(PrepareReport),
}

impl Ready {
    /// Brings `graph` into this form and gives every replica of `fleet` its copy. What `layouts` has is used,
    /// what it lacks is added.
    pub fn new(
        form: Form,
        fleet: &Fleet,
        graph: &Arc<Graph>,
        options: PrepareOptions,
        layouts: &mut Layouts,
    ) -> Result<Ready> {
        let source = Arc::clone(graph);
        match form {
            Form::ShortestPaths => {
                let layout =
                    made(&mut layouts.shortest_paths, || LaidOut::new(graph, options.layout))?;
                Prepared::with_layout(fleet, source, layout, options).map(Ready::ShortestPaths)
            }
            Form::Topology => {
                let columns = layouts.topology(graph, options.layout)?;
                Topology::with_columns(fleet, source, columns, options).map(Ready::Topology)
            }
            Form::Simple => {
                let columns = layouts.simple(graph, options.layout)?;
                Topology::with_columns(fleet, source, columns, options).map(Ready::Simple)
            }
            Form::Plain => PlainGraph::new(fleet, source, options).map(Ready::Plain),
            Form::Array => {
                Ok(Ready::Array(PrepareReport { layout: "none".into(), ..Default::default() }))
            }
        }
    }

    /// Which form it is.
    pub fn form(&self) -> Form {
        match self {
            Ready::ShortestPaths(_) => Form::ShortestPaths,
            Ready::Topology(_) => Form::Topology,
            Ready::Simple(_) => Form::Simple,
            Ready::Plain(_) => Form::Plain,
            Ready::Array(_) => Form::Array,
        }
    }

    /// Refuses `fleet` unless it is the one that this was prepared for.
    pub(crate) fn check_fleet(&self, fleet: &Fleet) -> Result<()> {
        match self {
            Ready::ShortestPaths(prepared) => prepared.check_fleet(fleet),
            Ready::Topology(topology) | Ready::Simple(topology) => topology.check_fleet(fleet),
            Ready::Plain(plain) => plain.check_fleet(fleet),
            Ready::Array(_) => Ok(()),
        }
    }

    /// What preparing took.
    pub fn report(&self) -> &PrepareReport {
        match self {
            Ready::ShortestPaths(prepared) => prepared.report(),
            Ready::Topology(topology) | Ready::Simple(topology) => topology.report(),
            Ready::Plain(plain) => plain.report(),
            Ready::Array(report) => report,
        }
    }

    /// The form of shortest paths.
    pub(crate) fn shortest_paths(&self) -> Result<&Prepared> {
        match self {
            Ready::ShortestPaths(prepared) => Ok(prepared),
            other => Err(wrong(other.form())),
        }
    }

    /// The rows without weights.
    pub(crate) fn topology(&self) -> Result<&Arc<TopologyRows>> {
        match self {
            Ready::Topology(topology) => Ok(topology.rows()),
            other => Err(wrong(other.form())),
        }
    }

    /// The rows without weights and parallel arcs.
    pub(crate) fn simple(&self) -> Result<&Arc<TopologyRows>> {
        match self {
            Ready::Simple(topology) => Ok(topology.rows()),
            other => Err(wrong(other.form())),
        }
    }

    /// The graph as it was loaded.
    pub(crate) fn plain(&self) -> Result<&PlainGraph> {
        match self {
            Ready::Plain(plain) => Ok(plain),
            other => Err(wrong(other.form())),
        }
    }
}

fn made<T>(slot: &mut Option<Arc<T>>, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
    match slot {
        Some(made) => Ok(made.clone()),
        None => Ok(slot.insert(Arc::new(make()?)).clone()),
    }
}

/// A workload was handed another form than it asked for.
fn wrong(form: Form) -> Error {
    Error::machine(format!("the graph is prepared as {form:?}; this is a bug"))
}
