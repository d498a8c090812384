//! PageRank.

mod options;

pub use options::PagerankOptions;

use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// How an iteration goes over the arcs. All but `hubs` are those of the PageRank strategies paper.
    Strategy, "--strategy" {
        /// The one that promises to be fastest on this graph.
        #[default]
        Auto = "auto",
        /// Blocks of sources whose contributions lie in shared memory, hubs first; ours.
        Hubs = "hubs",
        /// A thread a node adds its share to each out-neighbour.
        Push = "push",
        /// A thread a node sums rank over out-degree of its in-neighbours.
        Pull = "pull",
        /// The same over contributions that were divided once a node.
        PullNodiv = "pull-nodiv",
        /// A thread an arc; sources and targets in two arrays.
        EdgeSoa = "edge-soa",
        /// A thread an arc; pairs of source and target.
        EdgeAos = "edge-aos",
        /// Push with lanes of a warp on a row.
        WarpPush = "warp-push",
        /// Pull with lanes of a warp on a row.
        WarpPull = "warp-pull",
        /// The same over contributions that were divided once a node.
        WarpPullNodiv = "warp-pull-nodiv",
    }
);
