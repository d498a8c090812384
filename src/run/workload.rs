//! The registry: one entry a workload. Subcommands, help, dispatch and the sweep are derived from it.

use crate::Result;
use crate::algorithm::{ShortestPaths, SsspConfig, sssp};
use crate::fleet::Fleet;
use crate::prepare::Prepared;
use crate::prepare::memory::{self, DeviceArray, GraphShape};

/// Options that only some workloads take; [`Workload::takes`] picks from these.
pub const SOURCE_OPTIONS: &[&str] = &["seeds", "source", "nominee"];

/// A workload as the command line, the sweep and the records know it.
pub struct Workload {
    /// The word after `hive run`, and the record's `primitive`.
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Those of [`SOURCE_OPTIONS`] that it takes.
    pub takes: &'static [&'static str],
    /// The arrays of a run on one GPU of so many replicas; `None` where nobody has reckoned them.
    pub memory: Option<fn(&GraphShape, usize) -> Vec<DeviceArray>>,
    /// The driver.
    pub solve: fn(&Fleet, &Prepared, &[u32], &SsspConfig) -> Result<ShortestPaths>,
}

impl Workload {
    /// Whether it takes this one of [`SOURCE_OPTIONS`].
    pub fn takes(&self, option: &str) -> bool {
        self.takes.contains(&option)
    }
}

/// All workloads.
pub static WORKLOADS: &[Workload] = &[
    Workload {
        name: "vn",
        about: "Vertex nomination: rank all nodes by their distance from the nearest of some seeds",
        takes: &["seeds", "nominee"],
        memory: Some(memory::shortest_paths),
        solve: sssp,
    },
    Workload {
        name: "sssp",
        about: "Shortest paths from one source to all nodes",
        takes: &["source"],
        memory: Some(memory::shortest_paths),
        solve: sssp,
    },
];

/// The workload of that name.
pub fn workload(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}
