//! A graph on a fleet, in the forms that workloads want.

use super::{
    Columns, Form, Layout, NodeOrder, PrepareOptions, PrepareReport, Resident, ResidentOptions,
    RowOrder, TopologyRows, WeightedGraph, WeightedLayout, check_align,
};
use crate::device::room;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::generate::{DeviceArcs, Kept};
use crate::graph::Graph;
use crate::verify::Checker;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The layouts of a graph on the host, under one [`Layout`], for all fleets, and for runs of the textbook loop and others.
#[derive(Default)]
pub struct Layouts {
    /// For the textbook loop, and for all else.
    weighted: [Option<Arc<WeightedLayout>>; 2],
    topology: Option<Arc<Columns>>,
    simple: Option<Arc<Columns>>,
}

impl Layouts {
    fn weighted(&mut self, graph: &Graph, options: PrepareOptions) -> Result<Arc<WeightedLayout>> {
        let [textbook, other] = &mut self.weighted;
        let (own, other) = if options.textbook { (textbook, other) } else { (other, textbook) };
        // Both have the same labels, unless these depend on hubs.
        let depends = |made: &&Arc<WeightedLayout>| options.layout == Layout::Auto && made.has_hubs;
        if let Some(same) = other.as_ref().filter(|made| !depends(made)) {
            return Ok(same.clone());
        }
        made(own, || WeightedLayout::new(graph, options).map(Arc::new))
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
    topology: Option<Arc<TopologyRows>>,
    simple: Option<Arc<TopologyRows>>,
    plain: Option<Arc<Resident>>,
    general: Option<Arc<Resident>>,
}

/// A graph on a fleet. Each form is laid out and uploaded when a workload first wants it, and stays.
pub struct Prepared {
    fleet: u64,
    graph: Arc<Graph>,
    options: PrepareOptions,
    layouts: Arc<Mutex<Layouts>>,
    made: Mutex<Made>,
    /// Where the graph's arcs are, if not on the host.
    input: Option<Arc<Kept>>,
    /// GPUs that lay the graph out look for its default source first.
    finds_source: bool,
}

impl Prepared {
    /// Of `graph`, for `fleet`.
    ///
    /// # Errors
    /// [`Error::Input`] for options out of range. The first workload that wants a form reports [`Error::Machine`] where
    /// a device has no room for it.
    pub fn new(fleet: &Fleet, graph: Arc<Graph>, options: PrepareOptions) -> Result<Prepared> {
        Prepared::with_layouts(fleet, graph, options, Arc::default())
    }

    /// The same with the `layouts` of this graph under this option's layout; what they lack is added to them.
    pub fn with_layouts(
        fleet: &Fleet,
        graph: Arc<Graph>,
        options: PrepareOptions,
        layouts: Arc<Mutex<Layouts>>,
    ) -> Result<Prepared> {
        check_align(options.chunk_align)?;
        graph.check_rows()?;
        let made = Mutex::default();
        let (input, finds_source) = (None, false);
        Ok(Prepared { fleet: fleet.id(), graph, options, layouts, made, input, finds_source })
    }

    /// The same, of a graph whose arcs are not on the host.
    pub(crate) fn with_input(self, input: Option<Arc<Kept>>) -> Prepared {
        Prepared { input, ..self }
    }

    /// The same, where the default source will be asked for: GPUs that lay the graph out find it on the way.
    pub fn finding_source(self, finds_source: bool) -> Prepared {
        Prepared { finds_source, ..self }
    }

    /// What a layout on GPUs is given.
    fn given(&self) -> (Option<DeviceArcs>, bool) {
        (self.input(), self.finds_source)
    }

    /// Where the graph's arcs are, if not on the host.
    fn input(&self) -> Option<DeviceArcs> {
        self.input.as_ref()?.arcs()
    }

    /// Lets go of arcs on GPUs that the host is about to lay out: there was no room for a layout beside them.
    fn let_go(&self, fleet: &Fleet) -> Result<()> {
        let Some((input, arcs)) = self.input.as_ref().zip(self.input()) else { return Ok(()) };
        let loaded = self.graph.load();
        match arcs {
            DeviceArcs::Rows(_) => loaded?,
            DeviceArcs::Drawn(_) => loaded.map_err(|error| {
                Error::machine(format!(
                    "the GPUs have no room to lay the graph out; on the host: {error}"
                ))
            })?,
        }
        input.release(fleet)
    }

    /// Lets go of arcs that were made on GPUs, if one of these has no room for `bytes` more beside them and the layout, which is
    /// there; `looked_at` says whether the host will want them.
    ///
    /// # Errors
    /// [`Error::Machine`] where the host has no room for them, or when the fleet has failed.
    pub fn make_room(&self, fleet: &Fleet, bytes: u64, looked_at: bool) -> Result<()> {
        let Some((input, arcs)) = self.input.as_ref().zip(self.input()) else { return Ok(()) };
        let free = fleet.alone(|replica| match &replica.backend {
            Backend::Cuda(device) => Ok(room(&device.context)? / u64::from(device.sharers)),
            Backend::Host(_) => Ok(u64::MAX),
        })?;
        if free.into_iter().all(|free| free >= bytes) {
            return Ok(());
        }
        // What is drawn can be drawn again.
        if looked_at && matches!(arcs, DeviceArcs::Rows(_)) {
            self.graph.load()?;
        }
        input.release(fleet)
    }

    /// The graph as it was loaded.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// How it is laid out.
    pub fn options(&self) -> &PrepareOptions {
        &self.options
    }

    /// Makes `form` and drops all others; what that took.
    pub fn only(&self, fleet: &Fleet, form: Form) -> Result<PrepareReport> {
        {
            let mut made = self.locked();
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

    /// Who checks answers that `fleet` found: its first GPU, if it has any.
    ///
    /// # Errors
    /// [`Error::Machine`] when the fleet has failed.
    pub fn checker<'f>(&self, fleet: &'f Fleet) -> Result<Checker<'f>> {
        Checker::of(fleet, self.input())
    }

    /// What making `form` took. It is made if it is not there yet.
    pub fn report(&self, fleet: &Fleet, form: Form) -> Result<PrepareReport> {
        Ok(match form {
            Form::Weighted => self.weighted(fleet)?.report.clone(),
            Form::Topology => self.topology(fleet)?.report.clone(),
            Form::Simple => self.simple(fleet)?.report.clone(),
            Form::Plain => self.plain(fleet)?.report().clone(),
            Form::General => self.general(fleet)?.report().clone(),
            Form::Array => PrepareReport { layout: "none".into(), ..PrepareReport::default() },
        })
    }

    /// Refuses a `fleet` that this was not prepared for: its replicas have other chunks, or no copy.
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
                if let Some(made) =
                    WeightedGraph::made_on_devices(fleet, &graph, self.given(), self.options)?
                {
                    return Ok(Arc::new(made));
                }
                self.let_go(fleet)?;
                let layout = layouts.weighted(&graph, self.options)?;
                WeightedGraph::new(fleet, graph, layout, self.options).map(Arc::new)
            },
        )
    }

    /// Its rows without weights.
    pub(crate) fn topology(&self, fleet: &Fleet) -> Result<Arc<TopologyRows>> {
        self.form(
            fleet,
            |made| &mut made.topology,
            |graph, layouts| {
                if let Some(rows) =
                    TopologyRows::made_on_devices(fleet, &graph, self.given(), self.options)?
                {
                    return Ok(Arc::new(rows));
                }
                self.let_go(fleet)?;
                let columns = layouts.topology(&graph, self.options.layout)?;
                TopologyRows::new(fleet, graph, columns, self.options).map(Arc::new)
            },
        )
    }

    /// Its rows without weights and parallel arcs.
    pub(crate) fn simple(&self, fleet: &Fleet) -> Result<Arc<TopologyRows>> {
        self.check_fleet(fleet)?;
        let (there, all) = {
            let made = self.locked();
            (made.simple.clone(), made.topology.clone())
        };
        if let Some(there) = there {
            return Ok(there);
        }
        // Where GPUs make it, and there are no parallel arcs, it is the form with those. Where there are, there may be no room
        // for both.
        let all = match all {
            Some(all) => Some(all),
            None => TopologyRows::made_on_devices(fleet, &self.graph, self.given(), self.options)?
                .map(Arc::new),
        };
        let once = match all {
            Some(all) if !all.columns.may_have_repeats() => {
                self.locked().topology.get_or_insert_with(|| all.clone());
                Some(all)
            }
            Some(all) => all.once_on_devices(fleet, self.options)?.map(Arc::new),
            None => None,
        };
        if let Some(once) = once {
            return self.form(fleet, |made| &mut made.simple, |_, _| Ok(once));
        }
        self.form(
            fleet,
            |made| &mut made.simple,
            |graph, layouts| {
                self.let_go(fleet)?;
                let columns = layouts.simple(&graph, self.options.layout)?;
                TopologyRows::new(fleet, graph, columns, self.options).map(Arc::new)
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
        let PrepareOptions { chunks, chunk_align, placement, .. } = self.options;
        let options = ResidentOptions {
            chunks,
            chunk_align,
            weights: whole,
            backward: whole,
            order: NodeOrder::Loaded,
            rows: RowOrder::Neighbor,
            placement,
        };
        let rows = self.input.as_ref().and_then(|kept| kept.rows());
        self.form(fleet, slot, |graph, _| Resident::of(fleet, graph, rows, options))
    }

    fn locked(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn form<T>(
        &self,
        fleet: &Fleet,
        slot: impl FnOnce(&mut Made) -> &mut Option<Arc<T>>,
        make: impl FnOnce(Arc<Graph>, &mut Layouts) -> Result<Arc<T>>,
    ) -> Result<Arc<T>> {
        self.check_fleet(fleet)?;
        let mut all = self.locked();
        made(slot(&mut all), || {
            let mut layouts = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
            make(self.graph.clone(), &mut layouts)
        })
    }
}

fn made<T>(slot: &mut Option<Arc<T>>, make: impl FnOnce() -> Result<Arc<T>>) -> Result<Arc<T>> {
    match slot {
        Some(made) => Ok(made.clone()),
        None => Ok(slot.insert(make()?).clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn layouts_of_the_textbook_loop_are_others_where_there_are_hubs_alone() {
        for (spec, layout, names) in [
            ("rmat:14", Layout::Auto, ["degree", "raw"]),
            ("rmat:14", Layout::Degree, ["degree", "degree"]),
            ("rmat:14", Layout::Raw, ["raw", "raw"]),
            ("uniform:4096", Layout::Auto, ["degree", "degree"]),
            ("grid:60x60", Layout::Auto, ["raw", "raw"]),
        ] {
            let graph = generate(spec).unwrap();
            for order in [[false, true], [true, false]] {
                let mut layouts = Layouts::default();
                let mut made = order.map(|textbook| {
                    let options = PrepareOptions { textbook, ..layout.into() };
                    let made = layouts.weighted(&graph, options).unwrap();
                    let again = layouts.weighted(&graph, options).unwrap();
                    assert!(Arc::ptr_eq(&made, &again), "{spec}, {layout}");
                    made
                });
                if order[0] {
                    made.reverse();
                }
                assert_eq!(made.each_ref().map(|made| made.name), names, "{spec}, {layout}");
                let shared = Arc::ptr_eq(&made[0], &made[1]);
                assert_eq!(shared, names[0] == names[1], "{spec}, {layout}: made twice");
            }
        }
    }
}
