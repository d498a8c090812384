//! A finished cell in short, as `sweep.json` and the tables of a sweep have it.

use super::planned::{AXES, Planned};
use crate::results::median_split;
use crate::run::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a cell has no record of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Refusal {
    Failed(String),
    /// The machine, an optional file or a template lacks it.
    Skipped(String),
}

/// What the record of a cell says in short.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct Cell {
    #[serde(skip)]
    pub name: String,
    pub brief: Value,
}

impl Cell {
    pub(super) fn of(planned: &Planned, record: &Value) -> Cell {
        let mut brief = record["coordinates"].clone();
        for key in ["cell", "dataset", "series", "scaling", "file", "status", "error", "verified"] {
            if let Some(value) = record.get(key) {
                brief[key] = value.clone();
            }
        }
        brief["time"] = record["process-time"].clone();
        brief["reached"] = record["measured"]["reached"].clone();
        brief["used"] = record["fleet"]["collective"].clone();
        brief["arcs_per_second"] = record["arcs-per-second"].clone();
        brief["arcs"] = record["graph-edges"].clone();
        let split = median_split(&record["measured"]);
        brief["split"] = split.map(|split| vec![split.step, split.merge, split.other]).into();
        Cell { name: planned.name(), brief }
    }

    /// A text of the record; empty where it is not there.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.brief[key].as_str().unwrap_or_default()
    }

    /// Whether this must be named at the end: it failed, or its answer did not pass.
    pub(crate) fn is_bad(&self) -> bool {
        self.text("status") == "failed"
    }

    /// Whether it ran and passed what it was asked to pass.
    pub(crate) fn is_good(&self) -> bool {
        self.text("status") == "done"
    }

    pub(crate) fn verified(&self) -> Option<Verdict> {
        Verdict::read(&self.brief["verified"])
    }

    /// The median time of a run, ms.
    pub(crate) fn median(&self) -> Option<f64> {
        self.brief["time"]["median"].as_f64()
    }

    /// The measured cell of the same study with the fewest replicas: the same but for devices, and for what grows with
    /// them.
    pub(super) fn base_of<'a>(&self, cells: &'a [Cell]) -> Option<&'a Cell> {
        let measured = |other: &&Cell| other.median().is_some_and(|median| median > 0.0);
        let own = self.study();
        let study = cells.iter().filter(|other| other.study() == own);
        study.filter(measured).min_by_key(|other| other.brief["replicas"].as_u64())
    }

    /// What is the same in all cells of a study.
    pub(super) fn study(&self) -> Vec<&str> {
        let study = ["workload", "graph", "variant", "series"].into_iter();
        study.chain(AXES.map(|(axis, _)| axis)).map(|key| self.text(key)).collect()
    }

    /// How many times faster than the one with the fewest replicas of its study.
    pub(crate) fn speed_up(&self, cells: &[Cell]) -> Option<f64> {
        Some(self.base_of(cells)?.median()? / self.median().filter(|median| *median > 0.0)?)
    }
}
