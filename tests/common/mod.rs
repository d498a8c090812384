//! Oracles, small graphs and the machine for the integration tests; every test program has this module.
//!
//! Graphs and oracles are serial, naive and made from [`Graph::from_csr`] alone, so that a test that
//! compares with it compares with something that shares no code with the crate.
#![allow(dead_code, unused_imports)]

mod files;
mod globe;
mod graphs;
mod machine;
mod modules;
mod npy;
mod oracle;
mod reference;
mod skips;
mod workload;

pub use files::*;
pub use globe::*;
pub use graphs::*;
pub use machine::*;
pub use modules::*;
pub use npy::npy;
pub use oracle::*;
pub use reference::*;
pub use skips::skipped;
pub use workload::*;
