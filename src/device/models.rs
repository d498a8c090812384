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

/// What a GPU passes for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Guise {
    Itself,
    /// Itself, without access to its peers.
    Apart,
    Model(&'static Model),
    /// One of so many equal parts of itself, and as much slower: on the host, too.
    Part(u32),
}

/// What GPUs pass for: one guise for all replicas, or one for each, as in `t4` and `itself,1/3`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pretend(Vec<Guise>);

impl Pretend {
    /// One for each model.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Pretend> {
        MODELS.iter().map(|model| Pretend(vec![Guise::Model(model)]))
    }

    /// Whether kernels on GPU `from` can access the memory of GPU `to`, as far as it is known what all pass for.
    pub(crate) fn reaches(pretended: Option<&Pretend>, from: u32, to: u32) -> bool {
        let refuses = |guise: &Guise| match guise {
            Guise::Apart => true,
            Guise::Model(model) => !model.peers,
            _ => false,
        };
        let refused = pretended.is_some_and(|all| all.0.iter().any(refuses));
        from == to || (can_access(from, to) && !refused)
    }

    /// Of how many equal parts of a device replica `rank` has one.
    pub(crate) fn parts(&self, rank: usize) -> u64 {
        match self.of(rank) {
            Guise::Part(of) => of.into(),
            _ => 1,
        }
    }

    fn of(&self, rank: usize) -> Guise {
        self.0[rank % self.0.len()]
    }

    /// One GPU of the model.
    #[cfg(test)]
    pub(crate) fn info(&self) -> DeviceInfo {
        self.limit(DeviceInfo {
            rank: 0,
            device: "cuda:0".into(),
            uuid: String::new(),
            name: self.to_string(),
            memory_bytes: u64::MAX,
            multiprocessors: u32::MAX,
            compute_capability: String::new(),
            clock_khz: 0,
            shared_bytes: u32::MAX,
            multiprocessor_shared_bytes: u32::MAX,
            l2_bytes: u64::MAX,
            memory_bytes_per_s: u64::MAX,
        })
    }

    /// `real` with no more of anything than what its replica passes for. It stays the architecture that it is.
    pub(crate) fn limit(&self, real: DeviceInfo) -> DeviceInfo {
        let model = match self.of(real.rank) {
            Guise::Itself | Guise::Apart => return real,
            Guise::Part(of) => {
                return DeviceInfo {
                    multiprocessors: real.multiprocessors.div_ceil(of),
                    l2_bytes: real.l2_bytes / u64::from(of),
                    memory_bytes: real.memory_bytes / u64::from(of),
                    memory_bytes_per_s: real.memory_bytes_per_s / u64::from(of),
                    ..real
                };
            }
            Guise::Model(model) => model,
        };
        let Model { sms, gib, shared_kib: [shared, all_shared], l2_mib, .. } = *model;
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

impl FromStr for Guise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Guise> {
        let part = text.strip_prefix("1/").and_then(|of| of.parse().ok());
        if let Some(of) = part.filter(|of| (2..=16).contains(of)) {
            return Ok(Guise::Part(of));
        }
        match text {
            "itself" => return Ok(Guise::Itself),
            "apart" => return Ok(Guise::Apart),
            _ => {}
        }
        let all = || MODELS.map(|model| model.name).join(" | ");
        let found = MODELS.iter().find(|model| model.name == text).map(Guise::Model);
        found.ok_or_else(|| {
            let known = all();
            Error::input(format!("--pretend {text}: use {known} | itself | apart | 1/2 to 1/16, one for all or one for each replica"))
        })
    }
}

impl fmt::Display for Guise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guise::Itself => f.write_str("itself"),
            Guise::Apart => f.write_str("apart"),
            Guise::Model(model) => f.write_str(model.name),
            Guise::Part(of) => write!(f, "1/{of}"),
        }
    }
}

impl FromStr for Pretend {
    type Err = Error;

    fn from_str(text: &str) -> Result<Pretend> {
        Ok(Pretend(text.split(',').map(str::parse).collect::<Result<_>>()?))
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
        let all: Vec<String> = self.0.iter().map(Guise::to_string).collect();
        f.write_str(&all.join(","))
    }
}
