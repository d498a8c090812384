//! GPUs that people have, by what their vendor says of them: for tests of plans, and for `--pretend`.
//!
//! Sources: NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities" (multiprocessors' shared memory), and the data sheets.

use super::DeviceInfo;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What plans ask of a GPU of a kind.
#[derive(Debug, PartialEq)]
struct Model {
    name: &'static str,
    capability: &'static str,
    multiprocessors: u32,
    memory_gib: u64,
    /// Shared memory in KiB: of a block, of a multiprocessor.
    shared_kib: [u32; 2],
    l2_mib: u64,
    /// Memory bandwidth in GB/s.
    gb_per_s: u64,
    /// Whether kernels read other GPUs' memory.
    peers: bool,
}

/// All of them.
const MODELS: [Model; 11] = [
    model("v100", "7.0", 80, 32, [96, 96], 6, 900, true),
    model("v100-16", "7.0", 80, 16, [96, 96], 6, 900, true),
    model("t4", "7.5", 40, 16, [64, 64], 4, 320, false),
    model("a100", "8.0", 108, 80, [163, 164], 40, 2039, true),
    model("a100-40", "8.0", 108, 40, [163, 164], 40, 1555, true),
    model("l40s", "8.9", 142, 48, [99, 100], 96, 864, false),
    model("rtx5090", "12.0", 170, 32, [99, 100], 96, 1792, false),
    model("h100", "9.0", 132, 80, [227, 228], 50, 3350, true),
    model("h200", "9.0", 132, 141, [227, 228], 60, 4800, true),
    model("b200", "10.0", 148, 180, [227, 228], 126, 8000, true),
    model("gh200", "9.0", 132, 96, [227, 228], 60, 4000, true),
];

#[allow(clippy::too_many_arguments, reason = "a row of the table")]
const fn model(
    name: &'static str,
    capability: &'static str,
    multiprocessors: u32,
    memory_gib: u64,
    shared_kib: [u32; 2],
    l2_mib: u64,
    gb_per_s: u64,
    peers: bool,
) -> Model {
    Model { name, capability, multiprocessors, memory_gib, shared_kib, l2_mib, gb_per_s, peers }
}

/// The model that GPUs pass for, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pretend(&'static Model);

impl Pretend {
    /// One for each model.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Pretend> {
        MODELS.iter().map(Pretend)
    }

    /// Whether kernels on one GPU read the memory of another.
    pub(crate) fn has_peers(self) -> bool {
        self.0.peers
    }

    /// One GPU of the model.
    #[cfg(test)]
    pub(crate) fn info(self) -> DeviceInfo {
        self.limit(DeviceInfo {
            rank: 0,
            device: "cuda:0".into(),
            name: self.0.name.into(),
            memory_bytes: u64::MAX,
            multiprocessors: u32::MAX,
            compute_capability: self.0.capability.into(),
            clock_khz: 0,
            shared_bytes: u32::MAX,
            multiprocessor_shared_bytes: u32::MAX,
            l2_bytes: u64::MAX,
            bandwidth: u64::MAX,
        })
    }

    /// `real` with no more of anything than a GPU of this model has. It stays the architecture that it is.
    pub(crate) fn limit(self, real: DeviceInfo) -> DeviceInfo {
        let Model { multiprocessors, shared_kib: [shared, all_shared], l2_mib, .. } = *self.0;
        DeviceInfo {
            multiprocessors: real.multiprocessors.min(multiprocessors),
            shared_bytes: real.shared_bytes.min(shared << 10),
            multiprocessor_shared_bytes: real.multiprocessor_shared_bytes.min(all_shared << 10),
            l2_bytes: real.l2_bytes.min(l2_mib << 20),
            bandwidth: real.bandwidth.min(self.0.gb_per_s * 1_000_000_000),
            memory_bytes: real.memory_bytes.min(self.0.memory_gib << 30),
            ..real
        }
    }
}

impl FromStr for Pretend {
    type Err = Error;

    fn from_str(text: &str) -> Result<Pretend> {
        let all = || MODELS.map(|model| model.name).join(" | ");
        let found = MODELS.iter().find(|model| model.name == text).map(Pretend);
        found.ok_or_else(|| Error::input(format!("--pretend {text}: use {}", all())))
    }
}

impl TryFrom<String> for Pretend {
    type Error = Error;

    fn try_from(text: String) -> Result<Pretend> {
        text.parse()
    }
}

impl From<Pretend> for String {
    fn from(pretend: Pretend) -> String {
        pretend.to_string()
    }
}

impl fmt::Display for Pretend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}
