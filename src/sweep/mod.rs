//! A matrix of runs in one process: every graph is loaded once, laid out once a fleet, and run with
//! every workload and merge mode. One JSON record a cell, one table for all.

mod cell;
mod config;
mod matrix;

pub use cell::{Cell, State, table};
pub use config::SweepConfig;
pub use matrix::sweep;
