//! The options of `hive run bfs` alone.

use crate::error::{Error, Result};
use crate::words::words;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// Which way a level is expanded.
    SearchDirection, "--direction" {
        /// Whichever promises to look at fewer arcs.
        #[default]
        Auto = "auto",
        /// From the frontier over its out-arcs.
        Push = "push",
        /// From the nodes that are not reached yet over their in-arcs.
        Pull = "pull",
    }
);

/// What only breadth-first search is asked; a table `bfs` in a configuration file.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BfsOptions {
    /// Which way levels are expanded: auto | push (frontiers over out-arcs) | pull (unreached nodes over
    /// in-arcs) [default: auto].
    #[arg(long, value_name = "WAY")]
    pub direction: SearchDirection,
    /// Push turns to pull when the arcs of the frontier are more than A times those that a pull is expected
    /// to look at, were their order none, and for more than 2^23 arcs than 0.005 of that [default: 1].
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    #[serde(with = "crate::run::number")]
    pub do_a: f64,
    /// Pull turns to push when the arcs of the frontier are expected to be fewer than B times those of a
    /// pull [default: 0.1].
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    #[serde(with = "crate::run::number")]
    pub do_b: f64,
}

impl Default for BfsOptions {
    fn default() -> Self {
        BfsOptions { direction: SearchDirection::Auto, do_a: 1.0, do_b: 0.1 }
    }
}

impl BfsOptions {
    /// Whether nothing was asked: records of other workloads do without.
    pub(crate) fn is_default(&self) -> bool {
        *self == BfsOptions::default()
    }
}
