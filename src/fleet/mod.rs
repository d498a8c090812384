//! Stand-in for the fleet; replaced at merge.

mod devices;

use crate::{Error, Result};
pub(crate) use devices::words;
pub use devices::{ChunkPolicy, CollectiveKind, Devices, Fault, FaultKind};
use serde::Serialize;

/// How a fleet is opened.
#[derive(Debug, Clone)]
pub struct FleetConfig {
    /// Which devices.
    pub devices: Devices,
    /// Which collective.
    pub collective: CollectiveKind,
    /// Seconds that a replica waits for its peers.
    pub deadline_s: f64,
    /// Injected fault.
    pub fault: Option<Fault>,
    /// Perturbation seed.
    pub perturb: Option<u64>,
    /// First rank of this process.
    pub rank_offset: usize,
    /// Replicas of the whole fleet.
    pub world_size: Option<usize>,
}

impl Default for FleetConfig {
    fn default() -> Self {
        FleetConfig {
            devices: Devices::default(),
            collective: CollectiveKind::default(),
            deadline_s: 6.0,
            fault: None,
            perturb: None,
            rank_offset: 0,
            world_size: None,
        }
    }
}

/// What a fleet is made of.
#[derive(Debug, Clone, Serialize)]
pub struct FleetInfo {
    /// `host` or `cuda`.
    pub backend: String,
    /// The collective in use.
    pub collective: String,
    /// Replicas.
    pub world: usize,
    /// One entry a replica.
    pub devices: Vec<DeviceInfo>,
    /// Driver version.
    pub driver: Option<String>,
    /// NVRTC version.
    pub nvrtc: Option<String>,
    /// NCCL version.
    pub nccl: Option<String>,
    /// Milliseconds to open the fleet.
    pub startup_ms: f64,
}

/// One device.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceInfo {
    /// Rank of the replica.
    pub rank: usize,
    /// `cuda:0` or `host`.
    pub device: String,
    /// Its name.
    pub name: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// As in `9.0`.
    pub compute_capability: String,
    /// Clock in kHz.
    pub clock_khz: u32,
}

/// The replicas of a run.
pub struct Fleet {
    info: FleetInfo,
}

impl Fleet {
    /// Opens a fleet.
    pub fn open(config: FleetConfig) -> Result<Fleet> {
        Err(Error::machine(format!("{}: this build has no engine", config.devices)))
    }

    /// Replicas.
    pub fn world(&self) -> usize {
        self.info.world
    }

    /// What it is made of.
    pub fn info(&self) -> &FleetInfo {
        &self.info
    }
}
