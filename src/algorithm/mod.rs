//! Workloads, one file each, and what they have in common.

pub mod bc;
pub mod bfs;
pub mod cc;
mod chains;
pub mod filter;
mod frame;
pub mod geo;
pub mod kcore;
mod lists;
mod measure;
mod near_far;
pub mod pagerank;
mod paths;
mod precision;
pub(crate) mod ranking;
mod same;
pub mod scc;
mod seeds;
mod spread;
pub mod sssp;
pub mod triangles;

pub use bc::{BcConfig, Betweenness, betweenness};
pub use bfs::{BfsOptions, Searches};
pub use cc::Components;
pub use geo::{GeoConfig, Geolocation, geolocate};
pub use measure::{Measured, RunTime, TraceEntry};
pub use pagerank::{Pagerank, PagerankConfig, pagerank};
pub use paths::{Lengths, Paths};
pub use precision::Precision;
pub use seeds::{InputId, Seeds};
pub use spread::Spread;
pub(crate) use spread::{median_reset, median_run};
pub use sssp::{MergeMode, Ranked, ShortestPaths, SsspConfig, best_ranked, ranking, sssp};
