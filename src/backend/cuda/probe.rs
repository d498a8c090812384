//! Stand-in; replaced at merge.

use crate::fleet::DeviceInfo;
use serde::Serialize;

/// What was looked for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Finding {
    /// Whether it is there.
    pub found: bool,
    /// Its version.
    pub version: Option<String>,
    /// Where.
    pub path: Option<String>,
    /// What to do when it is not.
    pub advice: Option<String>,
}

/// What this machine has.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CudaProbe {
    /// The driver.
    pub driver: Finding,
    /// The GPUs.
    pub devices: Vec<DeviceInfo>,
    /// `[from][to]`: whether one reads the other's memory.
    pub peer_access: Vec<Vec<bool>>,
    /// The run-time compiler.
    pub nvrtc: Finding,
    /// The collective library.
    pub nccl: Finding,
}

/// Looks.
pub fn probe() -> CudaProbe {
    CudaProbe::default()
}
