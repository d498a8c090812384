//! What a sweep is made of.

use crate::algorithm::MergeMode;
use crate::fleet::{CollectiveKind, Devices};
use crate::run::{RunConfig, Workload, read_toml, workload};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
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
        let lists = [
            ("graphs", self.graphs.len() + self.optional_graphs.len()),
            ("devices", self.devices.len()),
            ("collectives", self.collectives.len()),
            ("merges", self.merges.len()),
            ("workloads", self.workloads.len()),
        ];
        if let Some((name, _)) = lists.iter().find(|(_, length)| *length == 0) {
            return Err(Error::input(format!("{name} is empty: a sweep needs at least one")));
        }
        let (run, unset) = (&self.run, RunConfig::default());
        let set = [
            ("graph", "graphs", run.graph.is_some()),
            ("devices", "devices", run.devices != unset.devices),
            ("collective", "collectives", run.collective != unset.collective),
            ("merge", "merges", run.merge != unset.merge),
            ("json", "--output", run.json.is_some()),
            ("output", "--output", run.output.is_some()),
        ];
        if let Some((key, list, _)) = set.iter().find(|(_, _, set)| *set) {
            return Err(Error::input(format!("run.{key}: a sweep takes this from {list}")));
        }
        for workload in self.workloads()? {
            for merge in self.merges.iter().copied() {
                let graph = Some(self.specs().next().unwrap_or_default().to_string());
                RunConfig { graph, merge, ..self.common(workload) }.check(workload)?;
            }
        }
        Ok(())
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

    /// `[run]` without what this workload does not take.
    pub fn common(&self, workload: &Workload) -> RunConfig {
        self.run.only_of(workload)
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
        assert!(config.common(workload("vn").unwrap()).seeds.is_some());
        assert!(config.common(workload("sssp").unwrap()).seeds.is_none());
    }
}
