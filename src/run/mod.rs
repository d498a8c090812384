//! One run: what was asked ([`RunConfig`]), who answers it ([`crate::algorithm::WORKLOADS`]) and what came of it
//! ([`Outcome`]). The command line, the sweep and the JSON record are all made of these three.

mod clock;
mod config;
mod job;
mod own;
mod verification;

pub use crate::algorithm::{WORKLOADS, Workload, workload};
pub use crate::byte_count::ByteCount;
pub use crate::choice::Choice;
pub use clock::{Clock, Stage};
pub(crate) use config::writable;
pub use config::{RunConfig, read_toml};
pub(crate) use job::{Comes, graph_fingerprint, option_files};
pub use job::{
    Job, Loaded, Loading, Outcome, check_graph, compile_ahead, gpus_find_source, load, prepare,
};
pub use own::Own;
pub use verification::{Verdict, Verification, Verify};

/// A GPU for tests.
#[cfg(test)]
pub(crate) fn gpu(rank: usize, ordinal: usize, memory_bytes: u64) -> crate::fleet::DeviceInfo {
    crate::fleet::DeviceInfo {
        rank,
        device: format!("cuda:{ordinal}"),
        uuid: String::new(),
        name: "Some GPU".into(),
        memory_bytes,
        multiprocessors: 132,
        compute_capability: "9.0".into(),
        clock_khz: 1_980_000,
        shared_bytes: 227 << 10,
        multiprocessor_shared_bytes: 228 << 10,
        l2_bytes: 50 << 20,
        memory_bytes_per_s: 4_800_000_000_000,
    }
}
