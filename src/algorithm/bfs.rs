//! Breadth-first search.

mod options;

pub use options::{BfsOptions, SearchDirection};
