//! One run: what was asked ([`RunConfig`]), who answers it ([`WORKLOADS`]) and what came of it
//! ([`Outcome`]). The command line, the sweep and the JSON record are all made of these three.

mod answer;
mod choice;
mod config;
mod job;
mod workload;

pub use crate::byte_count::ByteCount;
pub(crate) use answer::fields;
pub use answer::{Answer, Checked, Start, Verdict, Verification};
pub use choice::Choice;
pub(crate) use choice::number;
pub(crate) use config::writable;
pub use config::{RunConfig, read_toml};
pub use job::{Job, Outcome, check_graph, load, load_on, open_fleet, prepare};
pub use workload::{Context, OWN_OPTIONS, WORKLOADS, Workload, table, workload};
