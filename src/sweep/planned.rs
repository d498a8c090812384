//! A cell that is to run.

use super::cell::{Cell, Scaling, State};
use crate::collective::MAX_REPLICAS;
use crate::device::device_count;
use crate::fleet::Devices;
use crate::generate::{check_form, is_spec};
use crate::io::dataset_of;
use crate::run::{RunConfig, Workload};
use crate::{Error, Result};

/// A cell that is to run.
#[derive(Clone)]
pub(super) struct Planned {
    /// What runs.
    pub workload: &'static Workload,
    /// The graph as it is configured: braces and all; empty where there is none.
    pub graph: String,
    /// Its short name.
    pub dataset: String,
    /// One that is not there is skipped.
    pub optional: bool,
    /// The series that the graph belongs to.
    pub series: Option<(String, Scaling)>,
    /// The options that are the cell's own, as in `strategy=push`; empty where there are none.
    pub variant: String,
    /// Everything that its run is asked.
    pub config: RunConfig,
    /// Why there is no graph for so many GPUs.
    pub trouble: Option<String>,
    /// Of a workload on an array: how long the graphs' list says that it is.
    pub elements: Option<u64>,
    /// The configuration before an include's options.
    pub base: RunConfig,
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
        }
    }

    /// `sssp rmat18 host:4 auto auto`, as in a table.
    pub(super) fn name(&self) -> String {
        Cell::of(self, String::new(), String::new(), State::Failed { error: String::new() }).name()
    }

    /// The graph for this cell's devices.
    pub(super) fn spec(&self) -> &str {
        self.config.graph.as_deref().unwrap_or_default()
    }

    /// The series' name, empty where there is none.
    pub(super) fn series_name(&self) -> &str {
        self.series.as_ref().map_or("", |(name, _)| name)
    }

    /// As `Job::new` will check it.
    pub(super) fn check(&self) -> Result<()> {
        let named = |e: Error| Error::input(format!("{}: {e}", self.name()));
        if let Some(spec) = self.config.graph.as_deref().filter(|_| self.trouble.is_none())
            && is_spec(spec)
        {
            check_form(spec).map_err(named)?;
        }
        self.config.check(self.workload).map_err(named)
    }

    /// Whether both come to the same run.
    pub(super) fn runs_as(&self, other: &Planned) -> bool {
        self.workload.name == other.workload.name
            && self.series == other.series
            && self.config == other.config
            && self.lacks_as(other)
    }

    /// Whether both have a graph for their GPUs, or lack the same one.
    pub(super) fn lacks_as(&self, other: &Planned) -> bool {
        let lacks = |cell: &Planned| cell.trouble.as_ref().map(|_| cell.graph.clone());
        lacks(self) == lacks(other)
    }

    /// Whether both are the same place of the matrix, whatever an include has given them.
    pub(super) fn is(&self, other: &Planned) -> bool {
        self.workload.name == other.workload.name
            && self.series == other.series
            && self.base == other.base
            && self.lacks_as(other)
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
