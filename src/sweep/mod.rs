//! A matrix of runs: every graph is loaded once, laid out once a fleet, and run with every workload and option;
//! or a process a run. A sweep that was killed goes on where it was. `docs/sweeps.md` tells the whole.

mod bench;
mod cell;
mod config;
mod hive_layout;
mod identity;
mod isolate;
mod ledger;
mod matrix;
mod narrow;
mod plan;
mod planned;
mod record;
mod select;
mod table;
mod template;
mod together;

pub(crate) use cell::Cell;
pub(crate) use config::SweepConfig;
pub(crate) use isolate::{CHILD, child};
pub(crate) use matrix::{Event, SweepOptions, names, sweep};
pub(crate) use table::{scaling_table, table};
