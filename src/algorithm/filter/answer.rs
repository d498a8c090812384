//! How filtering is asked for, and what is said of it.

use super::FilterOptions;
use crate::algorithm::{Measured, MergeMode};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::mix;
use crate::io::{Column, Table};
use crate::run::{Answer, Checked, Job, RunConfig, Start, fields};
use crate::units::{count, plural};
use crate::verify;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// Most values that are asked for: 256 GiB.
const MOST: u64 = 1 << 36;

/// What was kept of the array, in its order.
#[derive(Debug, Clone, Default)]
pub struct Filtered {
    /// The values.
    pub kept: Vec<u32>,
    /// A number that depends on each value and its place.
    pub checksum: u64,
    /// Timings and counts.
    pub measured: Measured,
}

impl Filtered {
    pub(super) fn new(kept: Vec<u32>, measured: Measured) -> Filtered {
        let term = |(i, value): (usize, &u32)| mix((i as u64) << 32 ^ u64::from(*value));
        let checksum = kept.par_iter().enumerate().map(term).reduce(|| 0, u64::wrapping_add);
        Filtered { kept, checksum, measured }
    }
}

/// Checks what no single option's syntax can.
pub(crate) fn check_options(config: &RunConfig) -> Result<()> {
    let FilterOptions { elements, share, .. } = config.filter;
    if !(1..=MOST).contains(&elements) {
        return Err(Error::input(format!("--elements {elements}: use 1 to {MOST}")));
    }
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::input(format!("--share {share}: use 0 to 1")));
    }
    if config.merge == MergeMode::Dense {
        return Err(Error::input(
            "--merge dense: filter leaves what it keeps with the owners of the slices, nothing is merged; use auto",
        ));
    }
    config.check_format(None)
}

/// The array.
pub(crate) fn start(config: &RunConfig, _: &Graph) -> Result<Start> {
    Ok(Start::Array(config.filter.elements))
}

impl Answer for Filtered {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        "one pass"
    }

    fn cuts(&self, _: &Job) -> String {
        match self.measured.merge_modes.contains_key("slices") {
            true => ", each kept by its owner".into(),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Job) -> Vec<(&'static str, String)> {
        let kept = plural(self.kept.len() as u64, "value");
        vec![("answer", format!("{kept} kept, checksum {:016x}", self.checksum))]
    }

    fn unit(&self) -> &'static str {
        "elements"
    }

    fn rated(&self) -> &'static str {
        "of the array"
    }

    fn variant(&self, job: &Job) -> String {
        format!("variant:share-{}", job.config.filter.share)
    }

    /// `kept`, and the `checksum` as 16 digits.
    fn facts(&self, _: &Job) -> Map<String, Value> {
        let checksum = format!("{:016x}", self.checksum);
        fields([("kept", json!(self.kept.len())), ("checksum", json!(checksum))])
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        Table::listed([("value", Column::Value(&self.kept))])
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let FilterOptions { elements, share, seed } = job.config.filter;
        let kept = verify::filter(seed, elements, share, &self.kept)?;
        let note = format!("; {} of {} values", count(kept), count(elements));
        Ok(Checked { found: fields([("kept", json!(kept))]), note, ..Checked::default() })
    }
}
