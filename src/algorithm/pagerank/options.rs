//! The options of `hive run pagerank` alone.

use super::Strategy;
use crate::run::Choice;
use clap::ArgAction::Set;
use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What only PageRank is asked; a table `pagerank` in a configuration file.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PagerankOptions {
    /// The share of a rank that follows arcs [default: 0.85].
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub damping: f64,
    /// Most iterations; with --tolerance 0 exactly as many [default: 100].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub iterations: u32,
    /// Where walks begin and go from nodes without out-arcs: a CSV `node,weight`, ids of the input
    /// [default: anywhere alike].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personalize: Option<PathBuf>,
    /// Walks follow arcs in proportion to their weights, not all alike.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub weighted: bool,
    /// How an iteration goes over the arcs: auto | hubs (ours: blocks of sources in shared memory) | push | pull |
    /// pull-nodiv | edge-soa | edge-aos | warp-push | warp-pull | warp-pull-nodiv [default: auto].
    #[arg(long, value_name = "NAME")]
    pub strategy: Strategy,
    /// Lanes that share a row in the warp-centric strategies: 1, 2, 4, ... 64 [default: 32].
    #[arg(long, value_name = "LANES", allow_hyphen_values = true)]
    pub warp_width: u32,
    /// Rows that such lanes take at a time: 1 to 10 [default: 1].
    #[arg(long, value_name = "ROWS", allow_hyphen_values = true)]
    pub warp_chunk: u32,
    /// Segments of sources that hubs has on GPUs: auto (as many as pay) | N [default: auto].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub segments: Choice<u32>,
    /// Sources of a segment: auto (what shared memory has room for) | a multiple of 4 up to 48000 [default: auto].
    #[arg(long, value_name = "NODES", allow_hyphen_values = true)]
    pub segment_width: Choice<u32>,
    /// Teams of multiprocessors among which the segments are divided: auto (4 from 16 segments on, else 1) | 1 to 8 [default: auto].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub segment_teams: Choice<u32>,
    /// Fix the order of every addition, so that any number of replicas gives the same bits.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub deterministic: bool,
}

impl Default for PagerankOptions {
    fn default() -> Self {
        PagerankOptions {
            damping: 0.85,
            iterations: 100,
            personalize: None,
            weighted: false,
            strategy: Strategy::Auto,
            warp_width: 32,
            warp_chunk: 1,
            segments: Choice::Auto,
            segment_width: Choice::Auto,
            segment_teams: Choice::Auto,
            deterministic: false,
        }
    }
}

impl PagerankOptions {
    /// Whether nothing was asked: records of other workloads do without.
    pub(crate) fn is_default(&self) -> bool {
        *self == PagerankOptions::default()
    }
}
