//! The options of `hive run filter` alone.

use clap::Args;
use serde::{Deserialize, Serialize};

/// What only filtering is asked; a table `filter` in a configuration file.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FilterOptions {
    /// Values of the array [default: 16777216].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub elements: u64,
    /// The share of all values that is kept, the smallest ones: 0 to 1 [default: 0.5].
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub share: f64,
    /// What the values are made from [default: 1].
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    pub seed: u64,
}

impl Default for FilterOptions {
    fn default() -> Self {
        FilterOptions { elements: 1 << 24, share: 0.5, seed: 1 }
    }
}

impl FilterOptions {
    /// Whether nothing was asked: records of other workloads do without.
    pub(crate) fn is_default(&self) -> bool {
        *self == FilterOptions::default()
    }

    /// Values below it are kept.
    pub(crate) fn threshold(&self) -> u64 {
        (self.share * 2f64.powi(32)).ceil() as u64
    }
}
