//! GPUs that people have, by what their vendor says of them: for tests of plans, and for `--pretend`.
//!
//! Sources: NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities" (multiprocessors' shared memory), and the data sheets.

use super::{DeviceInfo, can_access};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What plans ask of a GPU of a kind.
#[derive(Debug, PartialEq)]
struct Model {
    name: &'static str,
    /// Multiprocessors.
    sms: u32,
    /// Memory.
    gib: u64,
    /// Shared memory: of a block, of a multiprocessor.
    shared_kib: [u32; 2],
    l2_mib: u64,
    /// Whether kernels read other GPUs' memory.
    peers: bool,
}

/// All of them.
const MODELS: [Model; 11] = [
    Model { name: "v100", sms: 80, gib: 32, shared_kib: [96, 96], l2_mib: 6, peers: true },
    Model { name: "v100-16", sms: 80, gib: 16, shared_kib: [96, 96], l2_mib: 6, peers: true },
    Model { name: "t4", sms: 40, gib: 16, shared_kib: [64, 64], l2_mib: 4, peers: false },
    Model { name: "a100", sms: 108, gib: 80, shared_kib: [163, 164], l2_mib: 40, peers: true },
    Model { name: "a100-40", sms: 108, gib: 40, shared_kib: [163, 164], l2_mib: 40, peers: true },
    Model { name: "l40s", sms: 142, gib: 48, shared_kib: [99, 100], l2_mib: 96, peers: false },
    Model { name: "rtx5090", sms: 170, gib: 32, shared_kib: [99, 100], l2_mib: 96, peers: false },
    Model { name: "h100", sms: 132, gib: 80, shared_kib: [227, 228], l2_mib: 50, peers: true },
    Model { name: "h200", sms: 132, gib: 141, shared_kib: [227, 228], l2_mib: 60, peers: true },
    Model { name: "b200", sms: 148, gib: 180, shared_kib: [227, 228], l2_mib: 126, peers: true },
    Model { name: "gh200", sms: 132, gib: 96, shared_kib: [227, 228], l2_mib: 60, peers: true },
];

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

    /// Whether kernels on GPU `from` can access the memory of GPU `to`, which may both pass for a model.
    pub(crate) fn reaches(pretended: Option<Pretend>, from: u32, to: u32) -> bool {
        from == to || (can_access(from, to) && pretended.is_none_or(|model| model.0.peers))
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
            compute_capability: String::new(),
            clock_khz: 0,
            shared_bytes: u32::MAX,
            multiprocessor_shared_bytes: u32::MAX,
            l2_bytes: u64::MAX,
        })
    }

    /// `real` with no more of anything than a GPU of this model has. It stays the architecture that it is.
    pub(crate) fn limit(self, real: DeviceInfo) -> DeviceInfo {
        let Model { sms, gib, shared_kib: [shared, all_shared], l2_mib, .. } = *self.0;
        DeviceInfo {
            multiprocessors: real.multiprocessors.min(sms),
            shared_bytes: real.shared_bytes.min(shared << 10),
            multiprocessor_shared_bytes: real.multiprocessor_shared_bytes.min(all_shared << 10),
            l2_bytes: real.l2_bytes.min(l2_mib << 20),
            memory_bytes: real.memory_bytes.min(gib << 30),
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
