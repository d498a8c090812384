//! What a cell is known by from one sweep to the next.

use super::planned::Planned;
use crate::device::probe;
use crate::fleet::Devices;
use crate::generate::is_spec;
use crate::report::{COMMIT, Machine, VERSION};
use crate::run::RunConfig;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The machine and the program under a sweep.
pub(super) struct Surroundings {
    /// Name of the processor, and how many cores.
    host: String,
    gpus: Vec<String>,
    /// Where the commit does not tell the program: what its file is like.
    program: Value,
    /// The folder of this machine in the layout, where the user named one.
    partition: Option<String>,
    /// How many processes run a cell together.
    processes: usize,
}

pub(super) struct Identity {
    /// Of the whole: configuration, files, program, devices. A cell of the same hash need not run again.
    pub cell: String,
    /// Of configuration and partition alone: a record of the same place is of the same experiment, perhaps by
    /// another version or before a file changed.
    pub place: String,
    pub partition: String,
}

impl Surroundings {
    /// Looks; at GPUs only where cells may want some.
    pub(super) fn probe(
        cells: &[Planned],
        partition: Option<String>,
        processes: usize,
    ) -> Surroundings {
        let machine = Machine::probe();
        let host = cells.iter().all(|cell| matches!(cell.config.devices, Devices::Host(_)));
        let gpus = if host { Vec::new() } else { probe().devices };
        let told = COMMIT != "unknown" && !COMMIT.ends_with("-dirty");
        let program = std::env::current_exe().ok().filter(|_| !told);
        Surroundings {
            host: format!("{} x{}", machine.processor, machine.cores),
            gpus: gpus.into_iter().map(|gpu| gpu.name).collect(),
            program: program.map_or(Value::Null, |path| file(&path)),
            partition,
            processes,
        }
    }

    pub(super) fn identify(&self, cell: &Planned) -> Identity {
        let devices = self.names(&cell.config.devices);
        let partition = match (&self.partition, devices.first()) {
            (Some(named), _) => named.clone(),
            (None, Some(name)) if *name == self.host => "host".into(),
            (None, name) => partition_of(name.map_or("", String::as_str)),
        };
        let mut config = serde_json::to_value(&cell.config).unwrap_or_default();
        if let Some(path) = whole(cell.spec()) {
            config["graph"] = path.into();
        }
        // Where processes meet, and what they do in distress, is no part of an experiment.
        for key in ["ranks", "rendezvous", "on-failure"] {
            config.as_object_mut().and_then(|config| config.remove(key));
        }
        let place = json!({
            "workload": cell.workload.name,
            "config": config,
            "series": cell.series_name(),
            "partition": partition,
            "processes": self.processes,
        });
        let whole = json!({
            "place": place,
            "version": VERSION,
            "commit": COMMIT,
            "program": self.program,
            "devices": devices,
            "files": files(&cell.config),
        });
        Identity { cell: hash(&whole), place: hash(&place), partition }
    }

    /// What these devices call themselves.
    fn names(&self, devices: &Devices) -> Vec<String> {
        let gpu = |ordinal: &u32| {
            let name = self.gpus.get(*ordinal as usize);
            name.cloned().unwrap_or_else(|| "no GPU".into())
        };
        match devices {
            Devices::Host(_) => vec![self.host.clone()],
            Devices::Auto if self.gpus.is_empty() => vec![self.host.clone()],
            Devices::AllCuda if self.gpus.is_empty() => vec!["no GPU".into()],
            Devices::Auto | Devices::AllCuda => self.gpus.clone(),
            Devices::Cuda(list) => list.iter().map(gpu).collect(),
        }
    }
}

/// The whole path of a graph file, there or not.
fn whole(spec: &str) -> Option<String> {
    let path = Path::new(spec);
    let name = path.file_name().filter(|_| !is_spec(spec))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    Some(folder.join(name).to_string_lossy().into_owned())
}

/// Files that a run reads: a changed one is another experiment.
fn files(config: &RunConfig) -> Vec<Value> {
    let graph = config.graph.as_deref().filter(|spec| !is_spec(spec)).map(Path::new);
    let asks = config.own_asks();
    graph.into_iter().chain(asks.files.iter().map(|(_, path)| path.as_path())).map(file).collect()
}

/// Path, size and time of the last change; null where it is not there.
fn file(path: &Path) -> Value {
    let Ok(about) = path.metadata() else { return Value::Null };
    let path = path.canonicalize().unwrap_or_else(|_| path.into());
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    json!({
        "path": path.to_string_lossy(),
        "bytes": about.len(),
        "changed": changed.map(|time| time.as_nanos().to_string()),
    })
}

/// Sixteen hexadecimal digits; objects are written with their keys in order.
fn hash(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The folder of a machine by its GPU's name: `h200`, `a100`; `cuda` where that tells no model.
fn partition_of(gpu: &str) -> String {
    let model = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.contains(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let words = gpu.split([' ', '-']).map(str::to_lowercase);
    words.into_iter().find(model).unwrap_or_else(|| "cuda".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::SweepConfig;
    use crate::sweep::plan::plan;

    fn cells(text: &str) -> Vec<Planned> {
        plan(&toml::from_str::<SweepConfig>(text).unwrap(), true).unwrap()
    }

    fn surroundings(gpus: &[&str]) -> Surroundings {
        Surroundings {
            host: "CPU x2".into(),
            gpus: gpus.iter().map(|gpu| gpu.to_string()).collect(),
            program: Value::Null,
            partition: None,
            processes: 1,
        }
    }

    #[test]
    fn a_partition_is_named_after_the_gpu() {
        for (name, partition) in [
            ("NVIDIA H200", "h200"),
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("A100-SXM4-40GB", "a100"),
            ("Tesla V100-SXM3-32GB-H", "v100"),
            ("NVIDIA GB200", "gb200"),
            ("NVIDIA GeForce RTX 4090", "cuda"),
            ("no GPU", "cuda"),
        ] {
            assert_eq!(partition_of(name), partition, "{name}");
        }
    }

    #[test]
    fn a_cell_is_known_by_its_options_its_files_and_its_devices() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "0 1\n").unwrap();
        let text = |more: &str| {
            format!("graphs = ['{}']\ndevices = ['cuda:0', 'cuda:1']\n{more}", path.display())
        };
        let of =
            |text: &str, gpus: &[&str], at: usize| surroundings(gpus).identify(&cells(text)[at]);
        let (plain, two) = (text(""), ["NVIDIA H200", "NVIDIA H200"]);
        let first = of(&plain, &two, 0);
        assert_eq!((first.cell.len(), first.partition.as_str()), (16, "h200"));
        assert_eq!(first.cell, of(&plain, &two, 0).cell);
        assert_ne!(first.cell, of(&plain, &two, 1).cell);
        let other = of(&text("[run]\nruns = 3\n"), &two, 0);
        assert!(first.cell != other.cell && first.place != other.place);
        assert_ne!(first.cell, of(&plain, &["NVIDIA H100"], 0).cell);
        let meets = of(&text("[run]\nrendezvous = 'h:1'\n"), &two, 0);
        assert_eq!(first.cell, meets.cell);
        let several = Surroundings { processes: 2, ..surroundings(&two) };
        assert_ne!(first.place, several.identify(&cells(&plain)[0]).place);
        std::fs::write(&path, "0 1\n1 2\n").unwrap();
        let changed = of(&plain, &two, 0);
        assert_ne!(first.cell, changed.cell);
        assert_eq!(first.place, changed.place);
    }
}
