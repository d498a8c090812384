//! Which cells a sweep has, and in which order they run.

use super::config::{Series, SweepConfig, known};
use super::planned::{Planned, replicas};
use super::select::{Selection, matches};
use super::template;
use crate::fleet::Devices;
use crate::io::{LoadOptions, dataset_of};
use crate::layout::{Form, Placement};
use crate::results::Scaling;
use crate::run::{Job, RunConfig, Workload};
use crate::{Error, Result};
use serde_json::{Map, Value};

pub(super) fn same_fleet(a: &RunConfig, b: &RunConfig) -> bool {
    let of =
        |run: &RunConfig| (run.collective, run.deadline, run.memory_limit, run.fault, run.perturb);
    a.devices == b.devices && of(a) == of(b) && a.pretend == b.pretend
}

pub(super) fn same_graph(a: &RunConfig, b: &RunConfig) -> bool {
    let of = |run: &RunConfig| (run.graph.clone(), run.load.clone(), run.own_asks().places);
    of(a) == of(b)
}

pub(super) fn same_preparation(a: &RunConfig, b: &RunConfig) -> bool {
    a.prepare() == b.prepare()
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
    workloads: Vec<&'static Workload>,
    options: Vec<(&'static str, Vec<Value>)>,
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
            workloads: config.workloads()?,
            options: config.axes(),
        })
    }

    /// These axes with what an include names in the place of its lists.
    fn narrowed(&self, config: &'a SweepConfig, selection: &Selection) -> Result<Axes<'a>> {
        let words = |name| selection.words_of(name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let options = self.options.iter().map(|(axis, values)| {
            Ok((*axis, narrow(words(axis), values, text, |word| Ok(word.into()))?))
        });
        Ok(Axes {
            graphs: self.included_graphs(config, selection)?,
            devices: narrow(words("devices"), &self.devices, Devices::to_string, str::parse)?,
            workloads: narrow(words("workload"), &self.workloads, |w| w.name.into(), known)?,
            options: options.collect::<Result<_>>()?,
        })
    }

    fn included_graphs(
        &self,
        config: &'a SweepConfig,
        selection: &Selection,
    ) -> Result<Vec<Listed<'a>>> {
        let Some(words) = selection.words_of("graph") else { return Ok(self.graphs.clone()) };
        let named = selection.words_of("series").unwrap_or_default();
        let series = named.iter().find_map(|name| config.series.iter().find(|s| s.name == *name));
        let mut graphs = Vec::new();
        for word in words {
            let before = graphs.len();
            graphs.extend(self.graphs.iter().filter(|graph| matches(word, &graph.spec)).cloned());
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
            let mut variants = Vec::new();
            for (name, common) in config.variants_of(workload)? {
                variants
                    .extend(self.under(common)?.into_iter().map(|config| (name.clone(), config)));
            }
            // Arrays are for workloads on arrays; without one these take any graph for what `[run]` says.
            let fits = |graph: &&Listed<'_>| template::is_array(&graph.spec) == array;
            let mut graphs: Vec<&Listed<'_>> = self.graphs.iter().filter(fits).collect();
            if graphs.is_empty() && array {
                graphs =
                    if self.graphs.is_empty() { none.iter() } else { self.graphs.iter() }.collect();
            }
            for devices in &self.devices {
                for graph in &graphs {
                    let stem = stem(workload, (devices, config.hosts), graph)?;
                    for (name, config) in &variants {
                        let mut cell = stem.clone();
                        cell.variant = name.clone();
                        cell.take(RunConfig { devices: devices.clone(), ..config.clone() });
                        if !cells.iter().any(|other| other.is(&cell)) {
                            cells.push(cell);
                        }
                    }
                }
            }
        }
        Ok(cells)
    }

    /// `common` under every combination of the options.
    fn under(&self, common: RunConfig) -> Result<Vec<RunConfig>> {
        let mut all = vec![common];
        for (axis, values) in &self.options {
            let mut next = Vec::new();
            for config in &all {
                for value in values {
                    let one = Map::from_iter([(axis.to_string(), value.clone())]);
                    next.push(config.with(&one)?.0);
                }
            }
            all = next;
        }
        Ok(all)
    }
}

/// A cell without options.
fn stem(
    workload: &'static Workload,
    (devices, hosts): (&Devices, usize),
    graph: &Listed<'_>,
) -> Result<Planned> {
    let array = workload.form == Form::Array;
    let resolved = match graph.series {
        Some(_) => template::resolve(&graph.spec, replicas(devices) * hosts),
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
    let config = RunConfig { graph: (!array).then_some(spec.clone()), ..RunConfig::default() };
    Ok(Planned {
        graph: if graphless { String::new() } else { graph.spec.clone() },
        dataset: if array { "array".into() } else { dataset_of(&spec) },
        series: series.map(|series| (series.name.clone(), series.scaling)),
        trouble: trouble.filter(|_| !graphless),
        elements,
        hosts,
        ..Planned::alone(workload, config, graph.optional)
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
    words: Option<&[String]>,
    list: &[T],
    name: impl Fn(&T) -> String,
    read: impl Fn(&str) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(words) = words else { return Ok(list.to_vec()) };
    let mut all = Vec::new();
    for word in words {
        match word.contains('*') {
            true => all.extend(list.iter().filter(|value| matches(word, &name(value))).cloned()),
            false => all.push(read(word)?),
        }
    }
    Ok(all)
}

/// Fleets in the order in which they are first met, on each the graphs likewise, and how they are prepared:
/// what is open, loaded and laid out serves as many cells as it can.
fn in_order(cells: Vec<Planned>) -> Vec<Planned> {
    let same: [fn(&Planned, &Planned) -> bool; 4] = [
        |a, b| same_fleet(&a.config, &b.config),
        |a, b| same_graph(&a.config, &b.config),
        |a, b| same_preparation(&a.config, &b.config),
        |a, b| a.workload.form == b.workload.form,
    ];
    // For each, the number of the first cell that shares it.
    let key = |cell: &Planned| same.map(|same| cells.iter().position(|other| same(other, cell)));
    let mut order: Vec<_> = cells.iter().map(|cell| (key(cell), cell.clone())).collect();
    order.sort_by_key(|(key, _)| *key);
    order.into_iter().map(|(_, cell)| cell).collect()
}
