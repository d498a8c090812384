//! Replicas: the contract, faults, merges, memory.

#[path = "../common/mod.rs"]
mod common;

mod faults;
#[cfg(target_os = "linux")]
mod hosts;
mod memory;
mod memory_limit;
mod merges;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod processes_sweeps;
mod replicas;
