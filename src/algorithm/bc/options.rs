//! The options of `hive run bc` alone.

use crate::run::Choice;
use clap::ArgAction::Set;
use clap::Args;
use serde::{Deserialize, Serialize};

/// What only betweenness is asked; a table `bc` in a configuration file.
#[derive(Debug, Clone, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BcOptions {
    /// Divide by the number of pairs that a node could lie between.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub normalized: bool,
    /// Count a path for its two ends too.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub endpoints: bool,
    /// Sources that share the reading of arcs: auto | 1 to 32 [default: auto].
    #[arg(long, value_name = "SOURCES", allow_hyphen_values = true)]
    pub batch: Choice<u32>,
}

impl BcOptions {
    /// Whether nothing was asked: records of other workloads do without.
    pub(crate) fn is_default(&self) -> bool {
        *self == BcOptions::default()
    }
}
