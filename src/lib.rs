//! hivegraph: graph analytics on replicas.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod algorithm;
pub mod backend;
pub mod cli;
pub mod collective;
pub mod error;
pub mod fleet;
pub mod generate;
pub mod graph;
pub mod io;
mod memory;
pub mod operator;
pub mod prepare;
pub mod report;
pub mod run;
pub mod sweep;
pub mod verify;
mod words;

pub use error::{Error, Result};
