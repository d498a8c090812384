//! What a sweep is made of.

use crate::algorithm::MergeMode;
use crate::algorithm::geo::GeoOptions;
use crate::fleet::{CollectiveKind, Devices};
use crate::prepare::Form;
use crate::run::{RunConfig, Workload, read_toml, workload};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// A sweep: the product of its lists, with the options of `[run]` in every cell. TOML, for example
/// `configs/standing.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SweepConfig {
    /// Graph files and generators. A relative path is looked for beside the configuration file, then
    /// in the current directory.
    pub graphs: Vec<String>,
    /// The same; one that is not there is recorded as skipped.
    pub optional_graphs: Vec<String>,
    /// Device lists; speed-ups are against the first. One that the machine lacks is skipped.
    pub devices: Vec<Devices>,
    /// Collectives.
    pub collectives: Vec<CollectiveKind>,
    /// Merge modes.
    pub merges: Vec<MergeMode>,
    /// Workloads of the registry.
    pub workloads: Vec<String>,
    /// Tables of options that take the place of those in `[run]`, one after another: `{ pagerank = { strategy = "push" } }`.
    /// A workload that takes none of them runs once.
    pub variants: Vec<Map<String, Value>>,
    /// What every cell has in common: seeds, runs, verify, ... Options that a workload does not take
    /// are left out for it.
    pub run: RunConfig,
}

impl Default for SweepConfig {
    fn default() -> Self {
        SweepConfig {
            graphs: Vec::new(),
            optional_graphs: Vec::new(),
            devices: vec![Devices::default()],
            collectives: vec![CollectiveKind::default()],
            merges: vec![MergeMode::default()],
            workloads: vec!["sssp".into()],
            variants: vec![Map::new()],
            run: RunConfig::default(),
        }
    }
}

impl SweepConfig {
    /// Reads a file, finds the graphs that it names and checks what can be checked before any run.
    pub fn read(path: &Path) -> Result<SweepConfig> {
        let mut config: SweepConfig = read_toml(path)?;
        let beside = path.parent().unwrap_or(Path::new(""));
        for spec in config.graphs.iter_mut().chain(&mut config.optional_graphs) {
            let candidate = beside.join(&*spec);
            if candidate.is_file() {
                *spec = candidate.to_string_lossy().into_owned();
            }
        }
        config.check().map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
        Ok(config)
    }

    /// No list may be empty, and `[run]` may not set what the lists set.
    pub fn check(&self) -> Result<()> {
        let graphless = self.workloads()?.iter().all(|workload| workload.form == Form::Array);
        let graphs = self.graphs.len() + self.optional_graphs.len();
        let lists = [
            ("graphs", graphs + usize::from(graphless && !self.workloads.is_empty())),
            ("devices", self.devices.len()),
            ("collectives", self.collectives.len()),
            ("merges", self.merges.len()),
            ("workloads", self.workloads.len()),
            ("variants", self.variants.len()),
        ];
        if let Some((name, _)) = lists.iter().find(|(_, length)| *length == 0) {
            return Err(Error::input(format!("{name} is empty: a sweep needs at least one")));
        }
        for variant in &self.variants {
            let named = |e: Error| Error::input(format!("variants: {e}"));
            let (run, name) = self.run.with(variant).map_err(named)?;
            from_lists(&run)?;
            self.shares_graph(&run, &name)?;
        }
        for workload in self.workloads()? {
            for (_, common) in self.variants_of(workload)? {
                for merge in self.merges.iter().copied() {
                    let graph = self.specs().next().filter(|_| workload.form != Form::Array);
                    let graph = graph.map(String::from);
                    RunConfig { graph, merge, ..common.clone() }.check(workload)?;
                }
            }
        }
        Ok(())
    }

    /// Graphs are loaded and laid out once, and fleets are opened once, for all variants.
    fn shares_graph(&self, variant: &RunConfig, name: &str) -> Result<()> {
        let common = |run: &RunConfig| RunConfig {
            load: run.load.clone(),
            layout: run.layout,
            chunks: run.chunks,
            chunk_align: run.chunk_align,
            placement: run.placement,
            memory_limit: run.memory_limit,
            deadline: run.deadline,
            fault: run.fault,
            perturb: run.perturb,
            geo: GeoOptions { labels: run.geo.labels.clone(), ..GeoOptions::default() },
            ..RunConfig::default()
        };
        if common(variant) == common(&self.run) {
            return Ok(());
        }
        Err(Error::input(format!(
            "variants: {name}: a sweep loads, lays out and opens alike for all; put it into [run]"
        )))
    }

    /// Graph files and generators, the optional ones last.
    pub fn specs(&self) -> impl Iterator<Item = &str> {
        self.graphs.iter().chain(&self.optional_graphs).map(String::as_str)
    }

    /// The registry's entries of the workloads.
    pub fn workloads(&self) -> Result<Vec<&'static Workload>> {
        let find = |name: &String| {
            workload(name).ok_or_else(|| Error::input(format!("there is no workload '{name}'")))
        };
        self.workloads.iter().map(find).collect()
    }

    /// `[run]` under each variant, without what this workload does not take, and what the variant is called; those
    /// that come to the same run once.
    pub fn variants_of(&self, workload: &Workload) -> Result<Vec<(String, RunConfig)>> {
        let mut all: Vec<(String, RunConfig)> = Vec::new();
        for variant in &self.variants {
            let (config, name) = self.run.with(variant)?;
            let config = config.only_of(workload);
            if all.iter().all(|(_, other)| *other != config) {
                all.push((name, config));
            }
        }
        Ok(all)
    }
}

/// Refuses what a sweep takes from its lists.
fn from_lists(run: &RunConfig) -> Result<()> {
    let unset = RunConfig::default();
    let set = [
        ("graph", "graphs", run.graph.is_some()),
        ("devices", "devices", run.devices != unset.devices),
        ("collective", "collectives", run.collective != unset.collective),
        ("merge", "merges", run.merge != unset.merge),
        ("json", "--output", run.json.is_some()),
        ("output", "--output", run.output.is_some()),
    ];
    match set.iter().find(|(_, _, set)| *set) {
        Some((key, list, _)) => {
            Err(Error::input(format!("run.{key}: a sweep takes this from {list}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SweepConfig> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sweep.toml");
        std::fs::write(dir.path().join("here.mtx"), "").unwrap();
        std::fs::write(&path, text).unwrap();
        SweepConfig::read(&path)
    }

    fn refusal(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn graphs_are_looked_for_beside_the_file_and_left_alone_when_they_are_not_there() {
        let config = read("graphs = ['rmat:4', 'here.mtx', 'there.mtx']\n").unwrap();
        assert_eq!(config.graphs[0], "rmat:4");
        assert!(config.graphs[1].ends_with("/here.mtx") && config.graphs[1].len() > 9);
        assert_eq!(config.graphs[2], "there.mtx");
    }

    #[test]
    fn a_sweep_that_cannot_run_is_refused_before_it_starts() {
        assert!(refusal("").contains("graphs is empty"));
        assert!(refusal("graphs = ['rmat:4']\ndevices = []\n").contains("devices is empty"));
        assert!(refusal("graphs = ['rmat:4']\nworkloads = ['x']\n").contains("no workload 'x'"));
        assert!(refusal("graphs = ['rmat:4']\nworkloads = ['vn']\n").contains("no seeds for vn"));
        assert!(refusal("graphs = ['rmat:4']\n[run]\nruns = 0\n").contains("--runs 0"));
        assert!(refusal("graphs = ['rmat:4']\n[run]\nmerge = 'dense'\n").contains("merges"));
        let buckets = "graphs = ['rmat:4']\nmerges = ['auto', 'dense']\n[run]\ndelta = 8\n";
        assert!(refusal(buckets).contains("--delta 8 with --merge dense"));
        assert!(refusal("graphs = ['rmat:4']\ndevice = 'host'\n").contains("sweep.toml:2:"));
    }

    #[test]
    fn a_workload_gets_only_the_common_options_that_it_takes() {
        let text = "graphs = ['rmat:4']\nworkloads = ['vn', 'sssp']\n[run]\nseeds = 'first:10'\n";
        let config = read(text).unwrap();
        let seeds = |name| {
            let variants = config.variants_of(workload(name).unwrap()).unwrap();
            assert_eq!(variants.len(), 1);
            variants[0].1.seeds.clone()
        };
        assert!(seeds("vn").is_some() && seeds("sssp").is_none());
    }

    #[test]
    fn variants_take_the_place_of_common_options_and_are_named_by_them() {
        let text = "graphs = ['rmat:4']\nworkloads = ['pagerank', 'sssp']\n\
                    variants = [{ pagerank = { strategy = 'push' } }, { pagerank = { strategy = 'warp-pull', \
                    warp-width = 8 }, tolerance = 0.5 }]\n[run.pagerank]\niterations = 7\n";
        let config = read(text).unwrap();
        let of = |name| config.variants_of(workload(name).unwrap()).unwrap();
        let (one, two) = (&of("pagerank")[0], &of("pagerank")[1]);
        assert_eq!(one.0, "strategy=push");
        assert_eq!(two.0, "strategy=warp-pull warp-width=8 tolerance=0.5");
        assert_eq!((one.1.pagerank.iterations, two.1.pagerank.iterations), (7, 7));
        assert_eq!((one.1.pagerank.warp_width, two.1.pagerank.warp_width), (32, 8));
        assert_eq!(of("sssp").len(), 1, "it takes none of them");
    }

    #[test]
    fn a_variant_that_makes_no_sense_is_refused_before_a_sweep_starts() {
        let with =
            |variant: &str| refusal(&format!("graphs = ['rmat:4']\nvariants = [{variant}]\n"));
        assert!(with("{ pagrank = 1 }").contains("unknown field 'pagrank'"));
        assert!(with("{ pagerank = { strategy = 'x' } }").contains("strategy=x"));
        assert!(with("{ devices = 'host:2' }").contains("run.devices"));
        assert!(with("{ layout = 'raw' }").contains("layout=raw: a sweep loads"));
        assert!(with("{ load = { weights = 'unit' } }").contains("weights=unit: a sweep loads"));
        assert!(refusal("graphs = ['rmat:4']\nvariants = []\n").contains("variants is empty"));
    }
}
