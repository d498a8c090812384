//! The checkers: they accept what oracles compute, and refuse every other answer by name.

#[path = "../common/mod.rs"]
mod common;

mod geo;
mod mutants;
mod reference;
mod sssp;
mod sssp_large;
mod sssp_properties;
mod workloads;
