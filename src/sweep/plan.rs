//! Which cells a sweep has, and in which order they run.

use super::cell::Scaling;
use super::config::{Series, SweepConfig, known};
use super::planned::{Planned, replicas};
use super::select::{Selection, Words, matches};
use super::template;
use crate::algorithm::MergeMode;
use crate::collective::ChunkPolicy;
use crate::fleet::{CollectiveKind, Devices};
use crate::io::{LoadOptions, dataset_of};
use crate::layout::{Form, Layout, Placement};
use crate::run::{Job, RunConfig, Workload};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Whether one fleet serves both.
pub(super) fn same_fleet(a: &RunConfig, b: &RunConfig) -> bool {
    let of =
        |run: &RunConfig| (run.collective, run.deadline, run.memory_limit, run.fault, run.perturb);
    a.devices == b.devices && of(a) == of(b)
}

/// Whether both load the same graph.
pub(super) fn same_graph(a: &RunConfig, b: &RunConfig) -> bool {
    let of = |run: &RunConfig| (run.graph.clone(), run.load.clone(), run.own_asks().places);
    of(a) == of(b)
}

/// Whether both lay it out alike.
pub(super) fn same_preparation(a: &RunConfig, b: &RunConfig) -> bool {
    let of = |run: &RunConfig| (run.chunks, run.chunk_align, run.layout, run.placement);
    of(a) == of(b)
}

/// The product of the lists, less what is excluded, with what is included, as it is to run: a fleet after
/// another, on each a graph after another. With `strict` a selection that changes nothing is refused.
pub(super) fn plan(config: &SweepConfig, strict: bool) -> Result<Vec<Planned>> {
    let axes = Axes::of(config)?;
    let product = axes.product(config)?;
    if strict {
        for (at, selection) in (1..).zip(&config.exclude) {
            check_exclude(at, selection, &product)?;
        }
    }
    let kept = |cell: &Planned| !config.exclude.iter().any(|selection| selection.takes(cell));
    let mut cells: Vec<Planned> = product.into_iter().filter(kept).collect();
    for (at, selection) in (1..).zip(&config.include) {
        include(config, &axes, selection, &mut cells, strict)
            .map_err(|e| Error::input(format!("include {at} ({}): {e}", selection.words())))?;
    }
    let mut distinct: Vec<Planned> = Vec::new();
    for cell in cells {
        if !distinct.iter().any(|other| other.runs_as(&cell)) {
            distinct.push(cell);
        }
    }
    Ok(in_order(distinct))
}

fn check_exclude(at: usize, selection: &Selection, product: &[Planned]) -> Result<()> {
    let refuse = |why| Err(Error::input(format!("exclude {at} ({}): {why}", selection.words())));
    if !selection.options.is_empty() {
        return refuse("options are for [[include]]; an exclude has coordinates alone");
    }
    match product.iter().any(|cell| selection.takes(cell)) {
        true => Ok(()),
        false => refuse("fits no cell of the lists; mend it or leave it out"),
    }
}

/// Gives the cells that fit the include's options, and adds those that are not there yet.
fn include(
    config: &SweepConfig,
    axes: &Axes<'_>,
    selection: &Selection,
    cells: &mut Vec<Planned>,
    strict: bool,
) -> Result<()> {
    let mut candidates = axes.narrowed(config, selection)?.product(config)?;
    candidates.retain(|cell| selection.takes(cell));
    let (mut found, mut changed) = (false, false);
    for candidate in candidates {
        found = true;
        let at = cells.iter().position(|cell| cell.is(&candidate)).unwrap_or_else(|| {
            changed = true;
            cells.push(candidate);
            cells.len() - 1
        });
        if selection.options.is_empty() {
            continue;
        }
        let cell = &mut cells[at];
        let (extended, words) = selection.extend(&cell.config)?;
        let extended = RunConfig { benchmark: true, ..extended.only_of(cell.workload) };
        if cell.elements.is_some() && extended.own_asks().elements != cell.elements {
            return Err(Error::input(format!(
                "options {words}: {} says how long it is",
                cell.graph
            )));
        }
        if extended != cell.config {
            changed = true;
            cell.config = extended;
            cell.variant = [cell.variant.as_str(), &words].join(" ").trim_start().to_string();
        }
    }
    match (strict, found, changed) {
        (true, false, _) => Err(Error::input("fits no cell; mend it or leave it out")),
        (true, true, false) => {
            Err(Error::input("changes nothing: its cells are in the lists already; leave it out"))
        }
        _ => Ok(()),
    }
}

/// A graph of the lists.
#[derive(Clone)]
struct Listed<'a> {
    spec: String,
    optional: bool,
    series: Option<&'a Series>,
}

/// The lists that a matrix is the product of.
struct Axes<'a> {
    graphs: Vec<Listed<'a>>,
    devices: Vec<Devices>,
    collectives: Vec<CollectiveKind>,
    merges: Vec<MergeMode>,
    chunks: Vec<ChunkPolicy>,
    placements: Vec<Placement>,
    layouts: Vec<Layout>,
    workloads: Vec<&'static Workload>,
}

impl<'a> Axes<'a> {
    fn of(config: &'a SweepConfig) -> Result<Axes<'a>> {
        let listed = |(spec, optional, series): (&str, bool, Option<&'a Series>)| Listed {
            spec: spec.into(),
            optional,
            series,
        };
        Ok(Axes {
            graphs: config.graphs().map(listed).collect(),
            devices: config.devices.clone(),
            collectives: config.collectives.clone(),
            merges: config.merges.clone(),
            chunks: config.chunks.clone().unwrap_or_else(|| vec![config.run.chunks]),
            placements: config.placements.clone().unwrap_or_else(|| vec![config.run.placement]),
            layouts: config.layouts.clone().unwrap_or_else(|| vec![config.run.layout]),
            workloads: config.workloads()?,
        })
    }

    /// These axes with what an include names in the place of its lists.
    fn narrowed(&self, config: &'a SweepConfig, selection: &Selection) -> Result<Axes<'a>> {
        let by_name = |name: &str| known(name);
        Ok(Axes {
            graphs: self.included_graphs(config, selection)?,
            devices: narrow(&selection.devices, &self.devices, Devices::to_string, word)?,
            collectives: narrow(&selection.collective, &self.collectives, |c| c.to_string(), word)?,
            merges: narrow(&selection.merge, &self.merges, |m| m.word().into(), word)?,
            chunks: narrow(&selection.chunks, &self.chunks, |c| c.to_string(), word)?,
            placements: narrow(&selection.placement, &self.placements, |p| p.to_string(), word)?,
            layouts: narrow(&selection.layout, &self.layouts, |l| l.to_string(), word)?,
            workloads: narrow(&selection.workload, &self.workloads, |w| w.name.into(), by_name)?,
        })
    }

    fn included_graphs(
        &self,
        config: &'a SweepConfig,
        selection: &Selection,
    ) -> Result<Vec<Listed<'a>>> {
        let Some(words) = &selection.graph else { return Ok(self.graphs.clone()) };
        let series = selection.series.iter().flat_map(|names| names.list());
        let mut series =
            series.flat_map(|name| config.series.iter().filter(move |s| s.name == *name));
        let series = series.next();
        let mut graphs = Vec::new();
        for word in words.list() {
            let listed = self.graphs.iter().filter(|graph| matches(word, &graph.spec));
            let before = graphs.len();
            graphs.extend(listed.cloned());
            if graphs.len() == before && !word.contains('*') {
                template::check(word)?;
                if template::is_template(word) && series.is_none() {
                    return Err(Error::input(format!(
                        "'{word}' needs a series; name one beside it"
                    )));
                }
                graphs.push(Listed { spec: word.clone(), optional: false, series });
            }
        }
        Ok(graphs)
    }

    fn product(&self, config: &SweepConfig) -> Result<Vec<Planned>> {
        let none = [Listed { spec: String::new(), optional: false, series: None }];
        let mut cells: Vec<Planned> = Vec::new();
        for workload in &self.workloads {
            let array = workload.form == Form::Array;
            let variants = config.variants_of(workload)?;
            // Arrays are for workloads on arrays; without one these take any graph for what `[run]` says.
            let mut graphs: Vec<&Listed<'_>> = self
                .graphs
                .iter()
                .filter(|graph| template::is_array(&graph.spec) == array)
                .collect();
            if graphs.is_empty() && array {
                graphs =
                    if self.graphs.is_empty() { none.iter() } else { self.graphs.iter() }.collect();
            }
            for devices in &self.devices {
                for graph in graphs.iter().copied() {
                    let stem = stem(workload, devices, graph)?;
                    for (name, common) in &variants {
                        for config in self.options(common) {
                            let mut cell = stem.clone();
                            cell.variant = name.clone();
                            cell.take(RunConfig { devices: devices.clone(), ..config });
                            if !cells.iter().any(|other| other.is(&cell)) {
                                cells.push(cell);
                            }
                        }
                    }
                }
            }
        }
        Ok(cells)
    }

    /// `common` under every combination of the other lists.
    fn options(&self, common: &RunConfig) -> Vec<RunConfig> {
        let mut all = Vec::new();
        for collective in self.collectives.iter().copied() {
            for layout in self.layouts.iter().copied() {
                for chunks in self.chunks.iter().copied() {
                    for placement in self.placements.iter().copied() {
                        for merge in self.merges.iter().copied() {
                            let rest = common.clone();
                            all.push(RunConfig {
                                collective,
                                layout,
                                chunks,
                                placement,
                                merge,
                                ..rest
                            });
                        }
                    }
                }
            }
        }
        all
    }
}

/// A cell without options.
fn stem(workload: &'static Workload, devices: &Devices, graph: &Listed<'_>) -> Result<Planned> {
    let array = workload.form == Form::Array;
    let resolved = match graph.series {
        Some(_) => template::resolve(&graph.spec, replicas(devices)),
        None => Ok(graph.spec.clone()),
    };
    let (spec, trouble) = match resolved {
        Ok(spec) => (spec, None),
        Err(why) => (graph.spec.clone(), Some(why)),
    };
    let elements = if trouble.is_none() { template::elements(&spec)? } else { None };
    let graphless = array && !template::is_array(&graph.spec);
    // An array of one length is the same whatever the devices: strong scaling.
    let series = graph.series.filter(|series| !graphless || series.scaling == Scaling::Strong);
    Ok(Planned {
        workload,
        graph: if graphless { String::new() } else { graph.spec.clone() },
        dataset: if array { "array".into() } else { dataset_of(&spec) },
        optional: graph.optional,
        series: series.map(|series| (series.name.clone(), series.scaling)),
        variant: String::new(),
        config: RunConfig { graph: (!array).then_some(spec), ..RunConfig::default() },
        trouble: trouble.filter(|_| !graphless),
        elements,
        base: RunConfig::default(),
    })
}

impl Planned {
    /// Takes these options, but for those that the workload has no use for, and its own graph.
    fn take(&mut self, config: RunConfig) {
        let mut config = config.only_of(self.workload);
        // Cells are compared with each other, so all of them are measured.
        config.benchmark = true;
        config.graph = self.config.graph.take();
        if self.workload.form == Form::Array {
            config.load = LoadOptions::default();
            config.placement = Placement::default();
            if let Some(elements) = self.elements {
                config.own.set_one(self.workload, "elements", elements.into());
            }
            if self.trouble.is_none()
                && let Ok(job) = Job::on_array(self.workload, config.clone())
            {
                self.dataset = job.graph.origin.dataset.clone();
            }
        }
        self.base = config.clone();
        self.config = config;
    }
}

/// The list that an include's words mean: what is in the list for a `*`, what a word says, or all.
fn narrow<T: Clone>(
    words: &Option<Words>,
    list: &[T],
    name: impl Fn(&T) -> String,
    read: impl Fn(&str) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(words) = words else { return Ok(list.to_vec()) };
    let mut all = Vec::new();
    for word in words.list() {
        match word.contains('*') {
            true => all.extend(list.iter().filter(|value| matches(word, &name(value))).cloned()),
            false => all.push(read(word)?),
        }
    }
    Ok(all)
}

/// A value of an enum by its word.
fn word<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_value(Value::String(text.into()))
        .map_err(|e| Error::input(e.to_string().replace('`', "'")))
}

/// Fleets in the order in which they are first met, on each the graphs likewise, and how they are prepared:
/// what is open, loaded and laid out serves as many cells as it can.
fn in_order(cells: Vec<Planned>) -> Vec<Planned> {
    let fleets = first_met(&cells, |a, b| same_fleet(&a.config, &b.config));
    let graphs = first_met(&cells, |a, b| same_graph(&a.config, &b.config));
    let layouts = first_met(&cells, |a, b| same_preparation(&a.config, &b.config));
    let forms = first_met(&cells, |a, b| a.workload.form == b.workload.form);
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|at| (fleets[*at], graphs[*at], layouts[*at], forms[*at]));
    let mut cells: Vec<Option<Planned>> = cells.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| cells[at].take()).collect()
}

/// For each cell the number of the first one that it shares something with.
fn first_met(cells: &[Planned], same: impl Fn(&Planned, &Planned) -> bool) -> Vec<usize> {
    let first = |cell: &Planned| cells.iter().position(|other| same(other, cell));
    cells.iter().map(|cell| first(cell).unwrap_or_default()).collect()
}
