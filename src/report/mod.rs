//! What a run leaves behind: a summary for people, a record for programs, tables.

mod csv;
mod document;
mod estimate;
mod info;
mod labels;
mod machine;
mod needs;
mod page;
mod plot;
mod plots;
mod record;
mod sheet;
mod summary;
mod tables;

pub use crate::algorithm::Spread;
pub use crate::table::Table;
pub use crate::time::utc;
pub(crate) use document::Document;
pub(crate) use estimate::{Estimate, Outline, estimate_summary};
pub(crate) use info::{GraphRecord, graph_summary};
pub use machine::Machine;
pub use record::{Record, write_json};
pub(crate) use record::{command_line, to_json};
pub use summary::summary;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The git commit that this was built from, `-dirty` when the tree had changes, or `unknown`.
pub const COMMIT: &str = env!("HIVE_COMMIT");
