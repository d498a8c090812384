//! One cell of a sweep, done or not.

use super::planned::{Planned, replicas};
use crate::algorithm::MergeMode;
use crate::collective::ChunkPolicy;
use crate::fleet::{CollectiveKind, Devices};
use crate::layout::{Layout, Placement};
use crate::report::Spread;
use crate::results::median_split;
use crate::run::Verdict;
use crate::words::words;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

words!(
    /// What a study keeps as devices are added.
    Scaling, "scaling" {
        /// The graph: n devices are to take an n-th of the time.
        #[default]
        Strong = "strong",
        /// The share of each device: n devices are to take the same time.
        Weak = "weak",
    }
);

/// Why a cell has no record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "status", content = "error")]
pub(super) enum Refusal {
    /// It ran into an error.
    Failed(String),
    /// The machine, an optional file or a template lacks it.
    Skipped(String),
}

/// What became of a cell.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case", tag = "status")]
pub(crate) enum State {
    /// It ran.
    Done(Done),
    /// It ran into an error.
    Failed {
        /// Which.
        error: String,
    },
    /// The machine or an optional file lacks it.
    Skipped {
        /// Why.
        error: String,
    },
}

/// What a record says of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Done {
    /// Nodes reached.
    pub reached: u64,
    /// Milliseconds.
    pub time: Spread,
    /// The check's result, when it was asked for.
    pub verified: Option<Verdict>,
    /// The collective in use.
    pub used: String,
    /// What the check said when it failed.
    pub error: Option<String>,
    /// Arcs of the graph.
    pub arcs: u64,
    /// Arcs out of reached nodes over the median time.
    pub arcs_per_second: f64,
    /// The median run's milliseconds in steps, in merges, and the rest.
    pub split: [f64; 3],
}

impl State {
    /// What a record of `records.jsonl` says.
    pub(super) fn of(record: &Value) -> State {
        let error = record["error"].as_str().map(String::from);
        let why = || error.clone().unwrap_or_default();
        match record["status"].as_str() {
            Some("skipped") => State::Skipped { error: why() },
            Some("failed") if record["process-time"].is_null() => State::Failed { error: why() },
            _ => State::Done(Done::of(record, error)),
        }
    }
}

impl Done {
    fn of(record: &Value, error: Option<String>) -> Done {
        let number = |value: &Value| value.as_f64().unwrap_or_default();
        let time = &record["process-time"];
        Done {
            reached: record["measured"]["reached"].as_u64().unwrap_or_default(),
            time: Spread {
                median: number(&time["median"]),
                min: number(&time["min"]),
                max: number(&time["max"]),
                mean: number(&time["mean"]),
            },
            verified: Verdict::read(&record["verified"]),
            used: record["fleet"]["collective"].as_str().unwrap_or_default().into(),
            error,
            arcs: record["graph-edges"].as_u64().unwrap_or_default(),
            arcs_per_second: number(&record["arcs-per-second"]),
            split: median_split(&record["measured"])
                .map_or([0.0; 3], |split| [split.step, split.merge, split.other]),
        }
    }
}

/// A cell: a workload on a graph, on devices, with a collective, a merge mode and options of its own.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cell {
    /// What identifies it: a hash of the resolved configuration, the files that it names, version, commit and
    /// devices.
    pub cell: String,
    /// The workload's name.
    pub workload: &'static str,
    /// The graph as it is configured.
    pub graph: String,
    /// The graph's short name.
    pub dataset: String,
    /// The series that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// What the series keeps as devices are added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// As configured.
    pub devices: Devices,
    /// How many replicas that is.
    pub replicas: usize,
    /// As configured.
    pub collective: CollectiveKind,
    /// As configured.
    pub merge: MergeMode,
    /// As configured.
    pub chunks: ChunkPolicy,
    /// As configured.
    pub placement: Placement,
    /// As configured.
    pub layout: Layout,
    /// The options that are its own, as in `strategy=push`; empty where there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The record's file, from the sweep's folder.
    pub file: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: State,
}

impl Cell {
    /// A cell of the plan, with what became of it.
    pub(super) fn of(planned: &Planned, cell: String, file: String, state: State) -> Cell {
        let config = &planned.config;
        Cell {
            cell,
            workload: planned.workload.name,
            graph: planned.graph.clone(),
            dataset: planned.dataset.clone(),
            series: planned.series.as_ref().map(|(name, _)| name.clone()),
            scaling: planned.series.as_ref().map(|(_, scaling)| *scaling),
            devices: config.devices.clone(),
            replicas: replicas(&config.devices),
            collective: config.collective,
            merge: config.merge,
            chunks: config.chunks,
            placement: config.placement,
            layout: config.layout,
            variant: planned.variant.clone(),
            file,
            state,
        }
    }

    /// Whether this must be named at the end: it failed, or its answer did not pass.
    pub(crate) fn is_bad(&self) -> bool {
        match &self.state {
            State::Failed { .. } => true,
            State::Done(done) => done.verified == Some(Verdict::No),
            State::Skipped { .. } => false,
        }
    }

    /// Whether it ran and passed what it was asked to pass.
    pub(crate) fn is_good(&self) -> bool {
        matches!(self.state, State::Done(_)) && !self.is_bad()
    }

    /// Why it is bad or was skipped.
    pub(crate) fn error(&self) -> Option<&str> {
        match &self.state {
            State::Done(done) => done.error.as_deref(),
            State::Failed { error } | State::Skipped { error } => Some(error),
        }
    }

    /// What a run found, if there was one.
    pub(crate) fn done(&self) -> Option<&Done> {
        match &self.state {
            State::Done(done) => Some(done),
            _ => None,
        }
    }

    /// The median time, ms.
    pub(crate) fn median(&self) -> Option<f64> {
        self.done().map(|done| done.time.median).filter(|median| *median > 0.0)
    }

    /// `vn rmat18 host:4 auto dense`, and what else is not as usual.
    pub(crate) fn name(&self) -> String {
        let words = [
            self.workload.to_string(),
            self.dataset.clone(),
            self.devices.to_string(),
            self.collective.to_string(),
            self.merge.to_string(),
            axis("chunks", self.chunks),
            axis("placement", self.placement),
            axis("layout", self.layout),
            self.variant.clone(),
            self.series.clone().unwrap_or_default(),
        ];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The measured cell of the same study with the fewest replicas: the same but for devices, and for what grows with
    /// them.
    pub(super) fn base_of<'a>(&self, cells: &'a [Cell]) -> Option<&'a Cell> {
        let study = cells.iter().filter(|other| self.same_but_for_devices(other));
        study.filter(|other| other.median().is_some()).min_by_key(|other| other.replicas)
    }

    /// Whether both are of one study.
    pub(super) fn same_but_for_devices(&self, other: &Cell) -> bool {
        let place = |cell: &Cell| {
            (cell.workload, cell.collective, cell.merge, cell.chunks, cell.placement, cell.layout)
        };
        let text = |cell: &Cell| (cell.graph.clone(), cell.variant.clone(), cell.series.clone());
        place(self) == place(other) && text(self) == text(other)
    }

    /// How many times faster than the one with the fewest replicas of its study.
    pub(crate) fn speed_up(&self, cells: &[Cell]) -> Option<f64> {
        Some(self.base_of(cells)?.median()? / self.median()?)
    }
}

/// `chunks=nodes`; empty for the usual.
fn axis<T: Default + PartialEq + std::fmt::Display>(name: &str, value: T) -> String {
    if value == T::default() { String::new() } else { format!("{name}={value}") }
}
