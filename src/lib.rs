//! hivegraph: graph analytics on replicas.
//!
//! Users' own functions on every replica: [`operator`], with `docs/forall.md` as the guide; [`prelude`] has what
//! such programs need. The workloads that come with it: [`algorithm`].
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
// Some of what the modules have inside serves the program alone.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

pub mod algorithm;
mod aside;
mod byte_count;
mod cache_dir;
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
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "report")]
mod results;
pub mod run;
#[cfg(feature = "cli")]
mod sweep;
mod table;
#[cfg(feature = "report")]
mod time;
mod units;
pub mod verify;
mod words;

pub use error::{Error, Result};

/// What programs need, in one line: `use hivegraph::prelude::*;`. Workloads and what prepares graphs for them,
/// operators for users' own functions, fleets, graphs and errors.
pub mod prelude {
    pub use crate::algorithm::best_ranked;
    pub use crate::algorithm::{
        BcConfig, Betweenness, GeoConfig, Geolocation, MergeMode, Pagerank, PagerankConfig, Seeds,
        ShortestPaths, SsspConfig, betweenness, geolocate, pagerank, sssp,
    };
    pub use crate::collective::{Frontier, MergeOp, Replicated};
    pub use crate::fleet::{Devices, Fleet, FleetConfig, Replica};
    pub use crate::graph::Graph;
    pub use crate::io::{LoadOptions, Symmetrize, load, load_with};
    pub use crate::layout::{PrepareOptions, Prepared, Topology};
    pub use crate::operator::{
        Advance, ArcLambda, Args, Direction, Lambda, Order, Over, Queue, Random, Resident,
        ResidentOptions,
    };
    pub use crate::{Error, Result};
    pub use std::sync::Arc;
}

#[cfg(test)]
#[path = "../tests/common/skips.rs"]
mod skips;

// The guide's and the README's Rust is compiled and run with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/forall.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
