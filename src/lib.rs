//! hivegraph: graph analytics on replicas. Every GPU holds the whole graph, computes its part of every step, and what
//! changed is merged. Without a GPU, threads of this machine take the place of GPUs.
//!
//! A function of one node is written once, in Rust, and runs over all nodes, on GPUs as CUDA C++:
//!
//! ```
//! use hivegraph::prelude::*;
//!
//! #[lambda]
//! fn degree(g: GraphView, v: u32) -> u32 {
//!     g.degree(v) as u32
//! }
//!
//! fn main() -> Result<()> {
//!     let graph = Arc::new(load("rmat:10")?); // a generator, or a file
//!     let devices = "host:4".parse()?; // "cuda:0-3" is four GPUs, "auto" whatever there is
//!     let fleet = Fleet::open(FleetConfig { devices, ..FleetConfig::default() })?;
//!     let g = Resident::new(&fleet, graph, ResidentOptions::default())?;
//!     let largest = fleet.run(move |r| {
//!         r.reduce("largest", Over::nodes(&g), &degree(), Args::new(), MergeOp::Max)
//!     })?;
//!     println!("the largest degree: {}", largest[0]); // one answer a replica, all the same
//!     Ok(())
//! }
//! ```
//!
//! * [`guide`]: how to write such programs, from the first to the whole model; [`operator`] is the reference.
//! * [`algorithm`]: the workloads that come with it, as functions.
//! * [`io`], [`generate`]: where graphs come from; [`graph`], [`layout`]: what they are, here and on devices.
//! * [`fleet`], [`collective`], [`device`]: replicas, how they are made equal, and the GPUs.
//! * [`verify`]: independent checks of answers.
//! * [`run`]: a workload by its name and options, as the program `hive` runs it.
//!
//! # Features
//!
//! * `cli` (default): the program `hive`, with `report`. A library does without:
//!   `hivegraph = { default-features = false }`.
//! * `report`: records of runs as JSON, tables, plots.
//! * `parquet`: reads and writes Parquet files.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
// Some of what the modules have inside serves the program alone.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

// What macros write names the crate, here too.
extern crate self as hivegraph;

pub mod algorithm;
mod aside;
mod byte_count;
mod cache_dir;
mod choice;
#[cfg(feature = "cli")]
pub mod cli;
pub mod collective;
pub mod device;
mod error;
pub mod fleet;
pub mod generate;
pub mod graph;
mod hash;
pub mod io;
pub mod layout;
mod memory;
pub mod operator;
mod processes;
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "report")]
mod results;
pub mod run;
#[cfg(feature = "cli")]
mod sweep;
mod system;
mod table;
mod team;
mod threads;
#[cfg(feature = "report")]
mod time;
mod units;
pub mod verify;
mod words;

pub use error::{Error, Result};

/// What programs need, in one line: `use hivegraph::prelude::*;`. Workloads and what prepares graphs for them,
/// operators for users' own functions, fleets, graphs and errors.
pub mod prelude {
    pub use crate::algorithm::{
        BcConfig, BfsConfig, CcConfig, CdlpConfig, ClosenessConfig, ClusterConfig, FilterConfig,
        GeoConfig, KatzConfig, KcoreConfig, LccConfig, LeidenConfig, LouvainConfig, MergeMode,
        MstConfig, PagerankConfig, PprConfig, Precision, ProjectConfig, RunOptions, SampleConfig,
        ScanConfig, SccConfig, Seeds, SimilarConfig, SsspConfig, TrianglesConfig, VnConfig,
        WalkConfig, bc, best_ranked, bfs, cc, cdlp, closeness, cluster, filter, geo, katz, kcore,
        lcc, leiden, louvain, mst, pagerank, ppr, project, sample, scan, scc, similar, sssp,
        triangles, vn, walk,
    };
    pub use crate::collective::{Frontier, MergeOp, Replicated};
    pub use crate::fleet::{Devices, Fleet, FleetConfig, Replica};
    pub use crate::graph::Graph;
    pub use crate::io::{LoadOptions, Symmetrize, load, load_with};
    pub use crate::layout::{PrepareOptions, Prepared};
    pub use crate::operator::{
        Advance, ArcLambda, Args, Direction, Edge, Fold, FoldLambda, GraphView, Lambda, NodeOrder,
        NodeSet, Order, Over, Queue, Random, Reads, Resident, ResidentOptions, RowOrder, Writes,
        device, lambda,
    };
    pub use crate::{Error, Result};
    pub use std::sync::Arc;
}

#[cfg(test)]
#[path = "../tests/common/npy.rs"]
mod npy;

#[cfg(test)]
#[path = "../tests/common/skips.rs"]
mod skips;

// The guide's and the README's Rust is compiled and run with the documentation's tests.
#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/operators.md")]
pub mod guide {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
