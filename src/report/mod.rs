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

pub use crate::results::Spread;
pub use crate::table::Table;
pub use crate::time::utc;
pub use document::Document;
pub use estimate::{DeviceFit, Estimate, HostNeed, Outline, estimate_summary};
pub use info::{GraphRecord, graph_summary};
pub use machine::Machine;
pub use needs::{Need, needs, needs_table};
pub use record::{Failure, GpuInfo, GraphFacts, Record, write_json};
pub(crate) use record::{command_line, to_json};
pub use sheet::{Entry, Sheet};
pub use summary::summary;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The git commit that this was built from, `-dirty` when the tree had changes, or `unknown`.
pub const COMMIT: &str = env!("HIVE_COMMIT");
