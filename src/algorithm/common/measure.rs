//! What is made of a number of common neighbours.

use crate::device::kernels::common;
use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// How alike two nodes are whose neighbourhoods have c nodes in common, of d(u) and d(v).
    Measure, "--measure" {
        /// c / (d(u) + d(v) - c).
        #[default]
        Jaccard = "jaccard",
        /// c / min(d(u), d(v)), of Szymkiewicz and Simpson.
        Overlap = "overlap",
        /// c / sqrt(d(u) d(v)), Salton's.
        Cosine = "cosine",
        /// c.
        Common = "common",
        /// The sum over the common neighbours w of 1 / ln of the number of nodes of which w is a neighbour.
        AdamicAdar = "adamic-adar",
    }
);

impl Measure {
    /// Its number in the kernels.
    pub(super) fn code(self) -> u32 {
        match self {
            Measure::Jaccard => common::JACCARD,
            Measure::Overlap => common::OVERLAP,
            Measure::Cosine => common::COSINE,
            Measure::Common | Measure::AdamicAdar => common::SUM,
        }
    }

    /// Whether nodes of fewer neighbours have higher values.
    pub(super) fn divides(self) -> bool {
        matches!(self, Measure::Jaccard | Measure::Overlap | Measure::Cosine)
    }

    /// Whether common neighbours have weights.
    pub(super) fn weighs(self) -> bool {
        self == Measure::AdamicAdar
    }

    /// The value, from a count above 0 in units.
    pub(super) fn value(self, unit: f64, common: u64, one: u32, other: u32) -> f64 {
        let (found, [one, other]) = (common as f64, [one, other].map(u64::from));
        match self {
            Measure::Jaccard => found / (one + other - common) as f64,
            Measure::Overlap => found / one.min(other) as f64,
            Measure::Cosine => found / ((one * other) as f64).sqrt(),
            Measure::Common | Measure::AdamicAdar => found * unit,
        }
    }
}
