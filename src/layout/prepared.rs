//! A graph on a fleet, in the forms that workloads want.

use super::topology::Topology;
use super::{
    Columns, Form, Layout, PrepareOptions, PrepareReport, Resident, ResidentOptions, TopologyRows,
    WeightedGraph, WeightedLayout, check_align,
};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use std::sync::{Arc, Mutex, PoisonError};

/// What was laid out of a graph on the host, under one [`Layout`], for all fleets.
#[derive(Default)]
pub struct Layouts {
    weighted: Option<Arc<WeightedLayout>>,
    topology: Option<Arc<Columns>>,
    simple: Option<Arc<Columns>>,
}

impl Layouts {
    fn weighted(&mut self, graph: &Graph, layout: Layout) -> Result<Arc<WeightedLayout>> {
        made(&mut self.weighted, || WeightedLayout::new(graph, layout).map(Arc::new))
    }

    fn topology(&mut self, graph: &Graph, layout: Layout) -> Result<Arc<Columns>> {
        made(&mut self.topology, || Columns::new(graph, layout).map(Arc::new))
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

/// The forms that are on the fleet.
#[derive(Default)]
struct Made {
    weighted: Option<Arc<WeightedGraph>>,
    topology: Option<Arc<Topology>>,
    simple: Option<Arc<Topology>>,
    plain: Option<Arc<Resident>>,
    general: Option<Arc<Resident>>,
}

/// A graph on a fleet. Each form that a workload wants is laid out and uploaded when it is first wanted, and stays.
pub struct Prepared {
    fleet: u64,
    graph: Arc<Graph>,
    options: PrepareOptions,
    layouts: Arc<Mutex<Layouts>>,
    made: Mutex<Made>,
}

impl Prepared {
    /// Of `graph`, for `fleet`.
    ///
    /// # Errors
    /// [`Error::Input`] for options out of range. Workloads that want a form first report [`Error::Machine`] where
    /// a device has no room for it.
    pub fn new(fleet: &Fleet, graph: Arc<Graph>, options: PrepareOptions) -> Result<Prepared> {
        Prepared::with_layouts(fleet, graph, options, Arc::default())
    }

    /// As [`Prepared::new`]. What `layouts` has of this graph and layout is used, what it lacks is added.
    pub fn with_layouts(
        fleet: &Fleet,
        graph: Arc<Graph>,
        options: PrepareOptions,
        layouts: Arc<Mutex<Layouts>>,
    ) -> Result<Prepared> {
        check_align(options.chunk_align)?;
        Ok(Prepared { fleet: fleet.id(), graph, options, layouts, made: Mutex::default() })
    }

    /// The graph as it was loaded.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// How it is laid out.
    pub fn options(&self) -> &PrepareOptions {
        &self.options
    }

    /// Makes `form` and lets go of all others; what that took.
    pub fn only(&self, fleet: &Fleet, form: Form) -> Result<PrepareReport> {
        {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let Made { weighted, topology, simple, plain, general } = std::mem::take(&mut *made);
            match form {
                Form::Weighted => made.weighted = weighted,
                Form::Topology => made.topology = topology,
                Form::Simple => made.simple = simple,
                Form::Plain => made.plain = plain,
                Form::General => made.general = general,
                Form::Array => {}
            }
        }
        self.report(fleet, form)
    }

    /// What making `form` took; it is made where it is not there yet.
    pub fn report(&self, fleet: &Fleet, form: Form) -> Result<PrepareReport> {
        Ok(match form {
            Form::Weighted => self.weighted(fleet)?.report.clone(),
            Form::Topology => self.made_topology(fleet)?.report().clone(),
            Form::Simple => self.made_simple(fleet)?.report().clone(),
            Form::Plain => self.plain(fleet)?.report().clone(),
            Form::General => self.general(fleet)?.report().clone(),
            Form::Array => PrepareReport { layout: "none".into(), ..PrepareReport::default() },
        })
    }

    /// Refuses `fleet` unless it is the one that this was prepared for: its replicas have other chunks, or no copy at
    /// all.
    pub(crate) fn check_fleet(&self, fleet: &Fleet) -> Result<()> {
        if self.fleet == fleet.id() {
            return Ok(());
        }
        Err(Error::input(
            "the graph was prepared for another fleet; prepare it for the fleet that runs on it",
        ))
    }

    /// Its rows sorted by weight.
    pub(crate) fn weighted(&self, fleet: &Fleet) -> Result<Arc<WeightedGraph>> {
        self.form(
            fleet,
            |made| &mut made.weighted,
            |graph, layouts| {
                let layout = layouts.weighted(&graph, self.options.layout)?;
                WeightedGraph::new(fleet, graph, layout, self.options)
            },
        )
    }

    /// Its rows without weights.
    pub(crate) fn topology(&self, fleet: &Fleet) -> Result<Arc<TopologyRows>> {
        Ok(self.made_topology(fleet)?.rows().clone())
    }

    fn made_topology(&self, fleet: &Fleet) -> Result<Arc<Topology>> {
        self.form(
            fleet,
            |made| &mut made.topology,
            |graph, layouts| {
                let columns = layouts.topology(&graph, self.options.layout)?;
                Topology::new(fleet, graph, columns, self.options)
            },
        )
    }

    /// Its rows without weights and parallel arcs.
    pub(crate) fn simple(&self, fleet: &Fleet) -> Result<Arc<TopologyRows>> {
        Ok(self.made_simple(fleet)?.rows().clone())
    }

    fn made_simple(&self, fleet: &Fleet) -> Result<Arc<Topology>> {
        self.form(
            fleet,
            |made| &mut made.simple,
            |graph, layouts| {
                let columns = layouts.simple(&graph, self.options.layout)?;
                Topology::new(fleet, graph, columns, self.options)
            },
        )
    }

    /// Its rows as they are, forward and without weights.
    pub(crate) fn plain(&self, fleet: &Fleet) -> Result<Arc<Resident>> {
        self.resident(fleet, |made| &mut made.plain, false)
    }

    /// The graph as operators run on it, with weights and rows backward.
    ///
    /// # Errors
    /// [`Error::Input`] for another fleet; [`Error::Machine`] where a device has no room for it.
    pub fn general(&self, fleet: &Fleet) -> Result<Arc<Resident>> {
        self.resident(fleet, |made| &mut made.general, true)
    }

    fn resident(
        &self,
        fleet: &Fleet,
        slot: impl FnOnce(&mut Made) -> &mut Option<Arc<Resident>>,
        whole: bool,
    ) -> Result<Arc<Resident>> {
        self.check_fleet(fleet)?;
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let PrepareOptions { chunks, chunk_align, placement, .. } = self.options;
        let options =
            ResidentOptions { chunks, chunk_align, weights: whole, backward: whole, placement };
        made(slot(&mut all), || Resident::new(fleet, self.graph.clone(), options))
    }

    fn form<T>(
        &self,
        fleet: &Fleet,
        slot: impl FnOnce(&mut Made) -> &mut Option<Arc<T>>,
        make: impl FnOnce(Arc<Graph>, &mut Layouts) -> Result<T>,
    ) -> Result<Arc<T>> {
        self.check_fleet(fleet)?;
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made(slot(&mut all), || {
            let mut layouts = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
            make(self.graph.clone(), &mut layouts).map(Arc::new)
        })
    }
}

fn made<T>(slot: &mut Option<Arc<T>>, make: impl FnOnce() -> Result<Arc<T>>) -> Result<Arc<T>> {
    match slot {
        Some(made) => Ok(made.clone()),
        None => Ok(slot.insert(make()?).clone()),
    }
}
