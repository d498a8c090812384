//! One measured cell, whoever wrote it.

use super::Settings;
use crate::run::Verdict;
use crate::units::plural;
use crate::words::words;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A workload on a graph, on devices, with settings, and what became of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Case {
    /// The file that it was read from, with the line where a file holds many.
    pub origin: String,
    /// The sweep's hash of the cell, where it gives one.
    pub cell: Option<String>,
    /// The workload under the name of the records: `vn`, `geolocation`, ...
    pub workload: String,
    pub dataset: String,
    /// The graph as a sweep's file has it: in a study whose graphs grow, the form of all.
    pub graph: Option<String>,
    /// Nodes of the graph; elements where there is none.
    pub nodes: Option<u64>,
    pub arcs: Option<u64>,
    /// What the tag `variant:` says.
    pub variant: Option<String>,
    /// GPUs; 0 on the host.
    pub gpus: u64,
    pub replicas: u64,
    /// As the first device calls itself; empty where nobody says.
    pub machine: String,
    /// The study that this belongs to, such as `edge-weak`.
    pub series: Option<String>,
    pub scaling: Scaling,
    pub settings: Settings,
    pub outcome: Outcome,
    /// Whether the answer was computed once, without warm-up. Such a time is not compared with measured ones.
    pub single: bool,
    /// Version and commit of what measured.
    pub build: String,
    /// When, seconds since 1970, where the record says.
    pub moment: Option<i64>,
}

words!(
    /// What a study keeps as devices are added.
    #[derive(PartialOrd, Ord, Hash)]
    Scaling, "scaling" {
        /// The graph: n devices are to take an n-th of the time.
        #[default]
        Strong = "strong",
        /// The share of each device: n devices are to take the same time.
        Weak = "weak",
    }
);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Done(Box<Done>),
    Failed(String),
    /// It was not tried, and why.
    Skipped(String),
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome::Done(Box::default())
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Done {
    pub time: Times,
    /// How the middle run divides.
    pub split: Option<Split>,
    pub rate: Option<f64>,
    pub reached: Option<u64>,
    pub strategy: Option<String>,
    pub used: Option<String>,
    pub prepare_ms: Option<f64>,
    /// What the check of the answer ended in, where there was one.
    pub verified: Option<Verdict>,
    pub trace: Vec<Iteration>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Times {
    /// The middle run; the mean where a record has no more.
    pub median: f64,
    pub mean: f64,
    /// The fastest, where there were several.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Putting arrays to their start before a run, in none of the above; where the record has it.
    pub reset: Option<f64>,
    pub runs: usize,
}

/// Where a run's milliseconds went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Split {
    /// Kernels and host functions.
    pub step: f64,
    /// Merging, waiting included.
    pub merge: f64,
    pub other: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Iteration {
    pub step: String,
    pub merge: String,
    /// Nodes in the frontier.
    pub frontier: u64,
    pub arcs: u64,
    pub ms: f64,
}

impl Case {
    pub(crate) fn done(&self) -> Option<&Done> {
        match &self.outcome {
            Outcome::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Milliseconds of the middle run.
    pub(crate) fn median(&self) -> Option<f64> {
        self.done().map(|done| done.time.median)
    }

    /// `4 GPUs`, `4 replicas on 1 GPU`, `host:4`.
    pub(crate) fn devices(&self) -> String {
        let gpus = plural(self.gpus, "GPU");
        match self.gpus {
            0 => format!("host:{}", self.replicas),
            gpu if gpu == self.replicas => gpus,
            _ => format!("{} replicas on {gpus}", self.replicas),
        }
    }

    /// `vn rmat18 num_seeds-10 4 GPUs merge=dense`: what names it in a message.
    pub(crate) fn name(&self) -> String {
        let words = [
            self.workload.clone(),
            self.dataset.clone(),
            self.variant.clone().unwrap_or_default(),
            self.devices(),
            self.settings.to_string(),
            self.series.clone().unwrap_or_default(),
        ];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
