//! What a sweep is made of.

use super::plan::plan;
use super::planned::{AXES, Planned, word_of};
use super::select::Selection;
use super::template;
use crate::algorithm::MergeMode;
use crate::collective::ChunkPolicy;
use crate::fleet::{CollectiveKind, Devices};
use crate::generate::is_spec;
use crate::layout::{Form, Layout, Placement};
use crate::results::Scaling;
use crate::run::{RunConfig, Workload, read_toml, workload};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// A sweep: the product of its lists, less what `[[exclude]]` names, and what `[[include]]` adds, with the options of
/// `[run]` in every cell. `docs/sweeps.md` tells every key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SweepConfig {
    pub graphs: Vec<String>,
    pub optional_graphs: Vec<String>,
    pub series: Vec<Series>,
    pub devices: Vec<Devices>,
    pub collectives: Vec<CollectiveKind>,
    pub merges: Vec<MergeMode>,
    pub chunks: Option<Vec<ChunkPolicy>>,
    pub placements: Option<Vec<Placement>>,
    pub layouts: Option<Vec<Layout>>,
    pub workloads: Vec<String>,
    pub variants: Vec<Map<String, Value>>,
    #[serde(skip_serializing)]
    pub exclude: Vec<Selection>,
    #[serde(skip_serializing)]
    pub include: Vec<Selection>,
    pub run: RunConfig,
    /// Hosts that run each cell together, each with the cell's devices.
    #[serde(skip)]
    pub hosts: usize,
}

/// Graphs whose cells are one study of scaling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Series {
    pub name: String,
    pub scaling: Scaling,
    /// Graphs. `{...}` in one is reckoned from the cell's number of GPUs: `rmat:19,ef={256*gpus}`.
    pub graphs: Vec<String>,
}

impl Default for SweepConfig {
    fn default() -> Self {
        SweepConfig {
            graphs: Vec::new(),
            optional_graphs: Vec::new(),
            series: Vec::new(),
            devices: vec![Devices::default()],
            collectives: vec![CollectiveKind::default()],
            merges: vec![MergeMode::default()],
            chunks: None,
            placements: None,
            layouts: None,
            workloads: vec![crate::algorithm::DEFAULT.into()],
            variants: vec![Map::new()],
            exclude: Vec::new(),
            include: Vec::new(),
            run: RunConfig::default(),
            hosts: 1,
        }
    }
}

impl SweepConfig {
    /// Reads a file, finds the graphs that it names and checks what can be checked before any run.
    pub(crate) fn read(path: &Path) -> Result<SweepConfig> {
        let mut config: SweepConfig = read_toml(path)?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let series = config.series.iter_mut().flat_map(|series| &mut series.graphs);
        let selections = config.include.iter_mut().chain(&mut config.exclude);
        let selected = selections.flat_map(Selection::graphs_mut);
        let graphs = config.graphs.iter_mut().chain(&mut config.optional_graphs);
        for spec in graphs.chain(series).chain(selected) {
            *spec = found(spec, beside);
        }
        config.check().map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
        Ok(config)
    }

    /// No list may be empty, `[run]` may not set what the lists set, and every cell must make sense.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_lists()?;
        self.check_series()?;
        for variant in &self.variants {
            let named = |e: Error| Error::input(format!("variants: {e}"));
            self.check_against_lists(&self.run.with(variant).map_err(named)?.0)?;
        }
        for (name, selections) in [("exclude", &self.exclude), ("include", &self.include)] {
            for (at, selection) in (1..).zip(selections) {
                selection.check(&format!("{name} {at}"))?;
            }
        }
        let cells = plan(self, true)?;
        if cells.is_empty() {
            return Err(Error::input(match self.exclude.is_empty() {
                true => {
                    "graphs: there is none for these workloads; array:LENGTH is for those without a graph"
                }
                false => "exclude: leaves no cell; a sweep needs at least one",
            }));
        }
        cells.iter().try_for_each(Planned::check)
    }

    fn check_lists(&self) -> Result<()> {
        let workloads = self.workloads()?;
        let graphless = !workloads.is_empty() && workloads.iter().all(|w| w.form == Form::Array);
        let lists = json(self);
        let empty = |name: &&str| match *name {
            "graphs" => self.graphs().next().is_none() && !graphless,
            name => lists[name].as_array().is_some_and(Vec::is_empty),
        };
        let names = ["graphs", "devices", "workloads", "variants"];
        match names.into_iter().chain(AXES.map(|(_, list)| list)).find(empty) {
            Some(name) => Err(Error::input(format!("{name} is empty: a sweep needs at least one"))),
            None => Ok(()),
        }
    }

    /// The values of every axis; without its list, what `[run]` says.
    pub(super) fn axes(&self) -> Vec<(&'static str, Vec<Value>)> {
        let lists = json(self);
        let values = |(axis, list): (&'static str, &str)| {
            let values = lists[list].as_array().cloned();
            (axis, values.unwrap_or_else(|| vec![word_of(&self.run, axis).into()]))
        };
        AXES.into_iter().map(values).collect()
    }

    fn check_series(&self) -> Result<()> {
        if let Some(spec) =
            self.graphs.iter().chain(&self.optional_graphs).find(|s| template::is_template(s))
        {
            return Err(Error::input(format!(
                "graphs: '{spec}': what depends on the number of GPUs belongs into a [[series]]"
            )));
        }
        for (at, series) in self.series.iter().enumerate() {
            let name = &series.name;
            let refuse = |why: &str| Err(Error::input(format!("series '{name}': {why}")));
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                return refuse("a name is made of letters, digits, - and _");
            }
            if self.series[..at].iter().any(|other| other.name == *name) {
                return refuse("there are two of this name");
            }
            if series.graphs.is_empty() {
                return refuse("graphs is empty: a series needs at least one");
            }
            for spec in &series.graphs {
                template::check(spec).map_err(|e| Error::input(format!("series '{name}': {e}")))?;
                if series.scaling == Scaling::Weak && !template::is_template(spec) {
                    return refuse(&format!(
                        "'{spec}' stays as it is, which is strong scaling; a weak one grows, as in \
                         rmat:19,ef={{256*gpus}}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Graph files and generators, as they are configured: the required ones, the optional ones, those of series.
    pub(super) fn graphs(&self) -> impl Iterator<Item = (&str, bool, Option<&Series>)> {
        let of = |spec| (spec, false, None);
        let optional = self.optional_graphs.iter().map(|spec| (spec.as_str(), true, None));
        let series = self.series.iter().flat_map(|series| {
            series.graphs.iter().map(move |spec| (spec.as_str(), false, Some(series)))
        });
        self.graphs.iter().map(String::as_str).map(of).chain(optional).chain(series)
    }

    /// The registry's entries of the workloads; `all` alone is every one.
    pub(crate) fn workloads(&self) -> Result<Vec<&'static Workload>> {
        if self.workloads == ["all"] {
            return Ok(crate::run::WORKLOADS.iter().collect());
        }
        self.workloads.iter().map(|name| known(name)).collect()
    }

    /// `[run]` under each variant, without what this workload does not take, and what the variant is called; those
    /// that come to the same run once.
    pub(crate) fn variants_of(&self, workload: &Workload) -> Result<Vec<(String, RunConfig)>> {
        let mut all: Vec<(String, RunConfig)> = Vec::new();
        for variant in &self.variants {
            let (config, _) = self.run.with(variant)?;
            // What it is called by: the options that this workload takes.
            let (_, name) = self.run.with(&RunConfig::taken(variant, workload))?;
            let config = config.only_of(workload);
            if all.iter().all(|(_, other)| *other != config) {
                all.push((name, config));
            }
        }
        Ok(all)
    }

    /// Refuses what a sweep takes from its lists.
    pub(super) fn check_against_lists(&self, run: &RunConfig) -> Result<()> {
        let (lists, set, unset) = (json(self), json(run), json(&RunConfig::default()));
        let elsewhere = [
            ("graph", "graphs"),
            ("devices", "devices"),
            ("json", "--output"),
            ("output", "--output"),
            ("output-format", "--output"),
        ];
        let mut listed = AXES.iter().filter(|(_, list)| !lists[list].is_null()).chain(&elsewhere);
        let refuse = |key: &str, list: &str| {
            Err(Error::input(format!("run.{key}: a sweep takes this from {list}")))
        };
        if let Some((key, list)) = listed.find(|(key, _)| set[key] != unset[key]) {
            return refuse(key, list);
        }
        let arrays = self.graphs().any(|(spec, ..)| template::is_array(spec));
        match arrays && run.own.sets("elements") {
            true => refuse("elements", "graphs, as in array:1000000,"),
            false => Ok(()),
        }
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A graph file beside the configuration, in the current folder, or, for the message, beside the configuration
/// again. What is no path stays as it is.
fn found(spec: &str, beside: &Path) -> String {
    let candidate = beside.join(spec);
    let here = !candidate.is_file() && Path::new(spec).exists();
    if here || is_spec(spec) || template::is_array(spec) || spec.contains(['{', '*']) {
        return spec.into();
    }
    candidate.to_string_lossy().into_owned()
}

pub(super) fn known(name: &str) -> Result<&'static Workload> {
    workload(name).ok_or_else(|| {
        let names: Vec<&str> = crate::run::WORKLOADS.iter().map(|workload| workload.name).collect();
        Error::input(format!("there is no workload '{name}'; there are {}", names.join(", ")))
    })
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
