//! Readers and writers.

mod output;

pub use output::{ResultFormat, write_atomically, write_results};
