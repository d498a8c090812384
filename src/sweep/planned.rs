//! A cell that is to run.

use crate::collective::MAX_REPLICAS;
use crate::device::device_count;
use crate::fleet::Devices;
use crate::generate::{check_form, is_spec};
use crate::io::dataset_of;
use crate::results::Scaling;
use crate::run::{RunConfig, Workload};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// The options that a sweep has lists of, and the names of the lists, the slowest to change first.
pub(super) const AXES: [(&str, &str); 5] = [
    ("collective", "collectives"),
    ("layout", "layouts"),
    ("chunks", "chunks"),
    ("placement", "placements"),
    ("merge", "merges"),
];

/// What an axis is set to.
pub(super) fn word_of(config: &RunConfig, axis: &str) -> &'static str {
    match axis {
        "merge" => config.merge.word(),
        "collective" => config.collective.word(),
        "chunks" => config.chunks.word(),
        "placement" => config.placement.word(),
        _ => config.layout.word(),
    }
}

#[derive(Clone)]
pub(super) struct Planned {
    pub workload: &'static Workload,
    /// The graph as it is configured: braces and all; empty where there is none.
    pub graph: String,
    pub dataset: String,
    /// One that is not there is skipped.
    pub optional: bool,
    pub series: Option<(String, Scaling)>,
    /// The options that are the cell's own, as in `strategy=push`; empty where there are none.
    pub variant: String,
    pub config: RunConfig,
    /// Why there is no graph for so many GPUs.
    pub trouble: Option<String>,
    /// Of a workload on an array: how long the graphs' list says that it is.
    pub elements: Option<u64>,
    /// The configuration before an include's options.
    pub base: RunConfig,
    /// Hosts that run it together.
    pub hosts: usize,
}

impl Planned {
    /// A cell that is in no matrix.
    pub(super) fn alone(workload: &'static Workload, config: RunConfig, optional: bool) -> Planned {
        let graph = config.graph.clone().unwrap_or_default();
        Planned {
            workload,
            dataset: dataset_of(&graph),
            graph,
            optional,
            series: None,
            variant: String::new(),
            base: config.clone(),
            config,
            trouble: None,
            elements: None,
            hosts: 1,
        }
    }

    /// Its replicas on all hosts.
    pub(super) fn replicas(&self) -> usize {
        replicas(&self.config.devices) * self.hosts
    }

    /// Its GPUs on all hosts.
    pub(super) fn gpus(&self) -> usize {
        gpus(&self.config.devices) * self.hosts
    }

    pub(super) fn coordinate(&self, name: &str) -> String {
        match name {
            "workload" => self.workload.name.into(),
            "graph" => self.graph.clone(),
            "dataset" => self.dataset.clone(),
            "series" => self.series_name().into(),
            "devices" => self.config.devices.to_string(),
            "variant" => self.variant.clone(),
            axis => word_of(&self.config, axis).into(),
        }
    }

    /// The axis and its value, unless that is the default.
    pub(super) fn unusual(&self, axis: &str) -> Option<(String, &'static str)> {
        let word = word_of(&self.config, axis);
        (word != word_of(&RunConfig::default(), axis)).then(|| (axis.to_string(), word))
    }

    /// `sssp rmat18 host:4 auto auto`, and what else is not as usual.
    pub(super) fn name(&self) -> String {
        let mut words = ["workload", "dataset", "devices", "collective", "merge"]
            .map(|c| self.coordinate(c))
            .to_vec();
        let unusual =
            ["chunks", "placement", "layout"].iter().filter_map(|axis| self.unusual(axis));
        words.extend(unusual.map(|(axis, word)| format!("{axis}={word}")));
        words.extend([self.variant.clone(), self.series_name().into()]);
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }

    /// The graph for this cell's devices.
    pub(super) fn spec(&self) -> &str {
        self.config.graph.as_deref().unwrap_or_default()
    }

    /// Whether its graph may be missing and is.
    pub(super) fn is_absent(&self) -> bool {
        self.optional && !is_spec(self.spec()) && !Path::new(self.spec()).exists()
    }

    pub(super) fn series_name(&self) -> &str {
        self.series.as_ref().map_or("", |(name, _)| name)
    }

    /// As `Job::new` will check it.
    pub(super) fn check(&self) -> Result<()> {
        let named = |e: Error| Error::input(format!("{}: {e}", self.name()));
        if self.trouble.is_none() && is_spec(self.spec()) {
            check_form(self.spec()).map_err(named)?;
        }
        self.config.check(self.workload).map_err(named)
    }

    /// Whether both come to the same run.
    pub(super) fn runs_as(&self, other: &Planned) -> bool {
        self.config == other.config && self.lacks_as(other)
    }

    /// Whether both are the same place of the matrix, whatever an include has given them.
    pub(super) fn is(&self, other: &Planned) -> bool {
        self.base == other.base && self.lacks_as(other)
    }

    /// Whether both are of one workload and series, and have a graph for their GPUs or lack the same one.
    fn lacks_as(&self, other: &Planned) -> bool {
        let lacks = |cell: &Planned| cell.trouble.as_ref().map(|_| cell.graph.clone());
        let same = self.workload.name == other.workload.name && self.series == other.series;
        same && lacks(self) == lacks(other)
    }
}

/// Replicas that these devices mean on this machine, at least one.
pub(super) fn replicas(devices: &Devices) -> usize {
    match devices {
        Devices::Host(count) => *count,
        Devices::Cuda(list) => list.len(),
        Devices::Auto | Devices::AllCuda => (device_count() as usize).clamp(1, MAX_REPLICAS),
    }
}

/// GPUs that these devices mean on this machine.
fn gpus(devices: &Devices) -> usize {
    match devices {
        Devices::Host(_) => 0,
        Devices::Cuda(list) => list.iter().collect::<BTreeSet<_>>().len(),
        Devices::Auto | Devices::AllCuda => replicas(devices),
    }
}
