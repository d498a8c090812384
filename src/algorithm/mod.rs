//! Workloads: one folder each, and what they have in common. Each is a function of a fleet, a graph on it, and a config.
//!
//! ```
//! use hivegraph::prelude::*;
//!
//! fn main() -> Result<()> {
//!     let fleet = Fleet::open(FleetConfig { devices: "host:2".parse()?, ..FleetConfig::default() })?;
//!     let graph = Prepared::new(&fleet, Arc::new(load("rmat:8")?), PrepareOptions::default())?;
//!     let ranks = pagerank(&fleet, &graph, &PagerankConfig::default())?.ranks;
//!     let cores = kcore(&fleet, &graph, &KcoreConfig::default())?.cores;
//!     println!("node 0: rank {}, core number {}", ranks[0], cores[0]);
//!     Ok(())
//! }
//! ```

mod arrays;
mod batches;
pub mod bc;
pub mod bfs;
pub mod cc;
pub mod cdlp;
mod chains;
pub mod closeness;
pub mod cluster;
pub mod common;
pub mod communities;
mod copies;
pub mod distances;
pub mod filter;
mod frame;
pub mod geo;
pub mod hops;
pub mod katz;
pub mod kcore;
mod lanes;
pub mod lcc;
pub(crate) mod left;
pub mod leiden;
mod lists;
mod long_paths;
pub mod louvain;
pub mod matrix;
mod measure;
pub mod mst;
mod nearest;
mod options;
pub mod pagerank;
mod paths;
pub mod ppr;
pub mod project;
pub mod push;
pub(crate) mod ranking;
mod registry;
mod rounds;
mod rows;
mod same;
pub mod sample;
pub mod scan;
pub mod scc;
mod seeds;
pub mod similar;
mod spread;
pub mod sssp;
mod start;
pub mod triangles;
pub mod vn;
pub mod walk;
mod workload;

pub use bc::{BcConfig, Betweenness, bc};
pub use bfs::{BfsConfig, Searches, bfs};
pub use cc::{CcConfig, Components, cc};
pub use cdlp::{CdlpConfig, Communities, cdlp};
pub use closeness::{Closeness, ClosenessConfig, closeness};
pub use cluster::{ClusterConfig, Clusters, cluster};
pub use common::Measure;
pub use communities::{Level, Modular, Modules};
pub use distances::{DistancesConfig, distances};
pub use filter::{FilterConfig, Filtered, filter};
pub use geo::{GeoConfig, Geolocation, geo};
pub use hops::{HopsConfig, hops};
pub use katz::{Centralities, KatzConfig, katz};
pub use kcore::{Cores, KcoreConfig, kcore};
pub use lcc::{Clustering, LccConfig, lcc};
pub use left::{HostWords, LeftArray, LeftColumn, LeftMeaning};
pub use leiden::{LeidenConfig, leiden};
pub use louvain::{LouvainConfig, louvain};
pub use matrix::{DistanceMatrix, MatrixValues, NearestPairs};
pub use measure::{Measured, RunTime, TraceEntry};
pub use mst::{MstConfig, SpanningForest, mst};
pub use options::{MergeMode, Precision, RunOptions};
pub use pagerank::{Pagerank, PagerankConfig, pagerank};
pub use paths::{Lengths, Paths};
pub use ppr::{PersonalRanks, PprConfig, PprMethod, ppr};
pub use project::{ProjectConfig, Projection, project};
pub(crate) use registry::DEFAULT;
pub use registry::{WORKLOADS, workload};
pub use sample::{Fanouts, SampleConfig, Samples, sample};
pub use scan::{ScanConfig, Scanned, scan};
pub use scc::{SccConfig, StrongComponents, scc};
pub use seeds::{InputId, Seeds};
pub use similar::{SimilarConfig, SimilarPairs, similar};
pub use spread::Spread;
pub(crate) use spread::{median_reset, median_run};
pub(crate) use sssp::state_bytes;
pub use sssp::{ShortestPaths, SsspConfig, best_ranked, sssp};
pub(crate) use start::one_search;
use start::{files_of, from_nodes, symmetric, targets};
pub use triangles::{Triangles, TrianglesConfig, triangles};
pub use vn::{VnConfig, vn};
pub use walk::{WalkConfig, Walks, walk};
pub(crate) use workload::Asks;
pub use workload::{Algorithm, Answer, AnyAnswer, AnyQuery, Checked, Config, Query, Workload};
#[cfg(test)]
pub(crate) use workload::{answered, fields};
