//! Workloads, one file each, and what they have in common.

mod measure;
pub mod seeds;
pub mod sssp;

pub use measure::{Measured, RunTime, TraceEntry};
pub use seeds::Seeds;
pub use sssp::{MergeMode, ShortestPaths, SsspConfig, sssp};
