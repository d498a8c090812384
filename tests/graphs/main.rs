//! Where graphs come from: formats, edge lists, the native format, damaged files, what load options do.

#[path = "../common/mod.rs"]
mod common;

mod damaged;
mod edge_lists;
mod formats;
mod inputs;
mod native;
mod policies;
