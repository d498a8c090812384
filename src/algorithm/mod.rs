//! Workloads, one file each, and what they have in common.

mod measure;
pub mod sssp;

pub use measure::{Measured, RunTime, TraceEntry};
pub use sssp::{MergeMode, ShortestPaths, SsspConfig};
