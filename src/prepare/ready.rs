//! A graph in the form that a workload wants.

use super::{LaidOut, PlainGraph, PrepareOptions, PrepareReport, Prepared};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use std::sync::Arc;

/// How a workload wants its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Relabelled, sorted by weight, packed: [`Prepared`].
    ShortestPaths,
    /// As it was loaded: [`PlainGraph`].
    Plain,
}

/// A graph in one of the forms, with the copies that replicas hold.
pub enum Ready {
    /// For shortest paths.
    ShortestPaths(Prepared),
    /// As it was loaded.
    Plain(PlainGraph),
}

impl Ready {
    /// Brings `graph` into this form and gives every replica of `fleet` its copy. `laid_out` is a layout
    /// that was made before, for the form that has one.
    pub fn new(
        form: Form,
        fleet: &Fleet,
        graph: &Arc<Graph>,
        options: PrepareOptions,
        laid_out: Option<Arc<LaidOut>>,
    ) -> Result<Ready> {
        let graph = Arc::clone(graph);
        match (form, laid_out) {
            (Form::ShortestPaths, Some(layout)) => {
                Prepared::with_layout(fleet, graph, layout, options).map(Ready::ShortestPaths)
            }
            (Form::ShortestPaths, None) => {
                Prepared::new(fleet, graph, options).map(Ready::ShortestPaths)
            }
            (Form::Plain, _) => PlainGraph::new(fleet, graph, options).map(Ready::Plain),
        }
    }

    /// Which form it is.
    pub fn form(&self) -> Form {
        match self {
            Ready::ShortestPaths(_) => Form::ShortestPaths,
            Ready::Plain(_) => Form::Plain,
        }
    }

    /// What preparing took.
    pub fn report(&self) -> &PrepareReport {
        match self {
            Ready::ShortestPaths(prepared) => prepared.report(),
            Ready::Plain(plain) => plain.report(),
        }
    }

    /// The form of shortest paths.
    pub(crate) fn shortest_paths(&self) -> Result<&Prepared> {
        match self {
            Ready::ShortestPaths(prepared) => Ok(prepared),
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

/// A workload was handed another form than it asked for.
fn wrong(form: Form) -> Error {
    Error::machine(format!("the graph is prepared as {form:?}; this is a bug"))
}
