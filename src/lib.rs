//! hivegraph: graph analytics on replicas.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod algorithm;
pub mod error;
pub mod generate;
pub mod graph;
pub mod io;
pub mod verify;

pub use error::{Error, Result};
