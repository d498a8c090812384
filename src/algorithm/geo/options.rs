//! The options of `hive run geo` alone.

use super::{GeoConfig, Locate};
use clap::ArgAction::Set;
use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What only geolocation is asked; a table `geo` in a configuration file. Names are HIVE's where HIVE has
/// them.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GeoOptions {
    /// Where nodes are, by the ids of the graph's input: HIVE .labels, a CSV with columns node, lat and lon, or
    /// DIMACS .co.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// The files of --labels and --truth count nodes from N, whatever the graph's ids count from.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_first_id: Option<u64>,
    /// Make places up, for benchmarks: a share of the nodes, each anywhere on the globe, as in 0.5:1.
    #[arg(long, value_name = "SHARE[:SEED]", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locate: Option<Locate>,
    /// Withhold every N-th of the known places, by rising id, and report how far off the answer is there.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hide: Option<u32>,
    /// Where nodes really are, in the formats of --labels: how far off the answer is; geo: knows it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<PathBuf>,
    /// Most waves [default: 3].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub geo_iter: u32,
    /// Go on until nobody is left who can be located, whatever --geo-iter says.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub geo_complete: bool,
    /// Most passes over a node's neighbours in one descent to their median [default: 1000].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub spatial_iter: u32,
}

impl Default for GeoOptions {
    fn default() -> Self {
        let GeoConfig { geo_iter, geo_complete, spatial_iter, .. } = GeoConfig::default();
        GeoOptions {
            labels: None,
            labels_first_id: None,
            locate: None,
            hide: None,
            truth: None,
            geo_iter,
            geo_complete,
            spatial_iter,
        }
    }
}

impl GeoOptions {
    /// Whether nothing was asked: records of other workloads do without.
    pub(crate) fn is_default(&self) -> bool {
        *self == GeoOptions::default()
    }
}
