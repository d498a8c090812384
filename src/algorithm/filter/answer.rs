//! What is said of filtering.

use super::{Filter, FilterConfig};
use crate::algorithm::Measured;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::hash::mix;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::Checker;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

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

impl Answer<Filter> for Filtered {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Filter>) -> &'static str {
        "one pass"
    }

    fn cuts(&self, _: &Query<Filter>) -> String {
        match self.measured.merge_modes.contains_key("slices") {
            true => ", each kept by its owner".into(),
            false => String::new(),
        }
    }

    fn lines(&self, _: &Query<Filter>) -> Vec<(&'static str, String)> {
        let kept = plural(self.kept.len() as u64, "value");
        vec![("answer", format!("{kept} kept, checksum {:016x}", self.checksum))]
    }

    fn unit(&self) -> &'static str {
        "elements"
    }

    fn rated(&self) -> &'static str {
        "of the array"
    }

    fn variant(&self, query: &Query<Filter>) -> String {
        format!("variant:share-{}", query.config.share)
    }

    /// `kept`, and the `checksum` as 16 digits.
    fn facts(&self, _: &Query<Filter>) -> Map<String, Value> {
        let checksum = format!("{:016x}", self.checksum);
        fields([("kept", json!(self.kept.len())), ("checksum", json!(checksum))])
    }

    fn table(&self, _: &Query<Filter>) -> Table<'_> {
        Table::listed([("value", Column::Value(&self.kept))])
    }

    fn verify(&self, query: &Query<Filter>, by: &Checker) -> Result<Checked> {
        let FilterConfig { elements, share, seed, .. } = query.config;
        let kept = by.filter(seed, elements, share, &self.kept)?;
        let note = format!("; {} of {} values", count(kept), count(elements));
        Ok(Checked { found: fields([("kept", json!(kept))]), note, ..Checked::default() })
    }
}
