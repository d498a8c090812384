//! One run: what was asked ([`RunConfig`]), who answers it ([`WORKLOADS`]) and what came of it
//! ([`Outcome`]). The command line, the sweep and the JSON record are all made of these three.

mod byte_count;
mod choice;
mod config;
mod job;
mod workload;

pub use byte_count::ByteCount;
pub use choice::Choice;
pub(crate) use config::writable;
pub use config::{RunConfig, read_toml};
pub use job::{Job, Outcome, Verification, check_graph, load, load_on, open_fleet, prepare};
pub use workload::{SOURCE_OPTIONS, WORKLOADS, Workload, workload};
