//! What a run starts from and what it finds, whatever the workload.

use super::Job;
use crate::Result;
use crate::algorithm::geo::Known;
use crate::algorithm::{Measured, Paths};
use crate::graph::Graph;
use crate::io::Table;
use crate::units::plural;
use serde::Serialize;
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::Arc;

/// What a run starts from, beside the graph.
#[derive(Debug, Clone, Default)]
pub enum Start {
    /// The graph alone.
    #[default]
    Graph,
    /// Nodes (not input ids).
    Nodes(Vec<u32>),
    /// An array of so many elements, and no graph.
    Array(u64),
    /// Places on the globe.
    Places(Arc<Known>),
    /// `[n]` how much each node has of the start.
    Weights(Arc<Vec<f64>>),
}

impl Start {
    /// The start nodes; none where a workload has none.
    pub fn nodes(&self) -> &[u32] {
        match self {
            Start::Nodes(nodes) => nodes,
            _ => &[],
        }
    }

    /// `, from node 1`, as it follows the graph's name in a summary.
    pub(crate) fn words(&self, graph: &Graph) -> String {
        match self {
            Start::Graph | Start::Array(_) => String::new(),
            Start::Nodes(nodes) => match nodes.as_slice() {
                [one] => format!(", from node {}", graph.id(*one)),
                many => format!(", from {}", plural(many.len() as u64, "seed")),
            },
            Start::Weights(weights) => {
                let some = weights.iter().filter(|weight| **weight > 0.0).count();
                format!(", from {}", plural(some as u64, "node"))
            }
            Start::Places(known) => {
                format!(", from {}", plural(known.count(), "located node"))
            }
        }
    }
}

/// The answer of a workload, as summary, record, sweep and result files need it. What is common to all
/// workloads is in [`Measured`]; the rest is each answer's own to tell.
pub trait Answer: Any + Send + Sync {
    /// Timings and counts.
    fn measured(&self) -> &Measured;

    /// What ran, in a word: the record's `strategy`.
    fn strategy(&self, job: &Job) -> &'static str;

    /// The same for people.
    fn strategy_line(&self, job: &Job) -> String {
        self.strategy(job).into()
    }

    /// What was cut for the merges that took place, as it follows their counts: `; chunks of ...`.
    fn cuts(&self, job: &Job) -> String;

    /// Lines of the summary, name and text: what came out.
    fn lines(&self, job: &Job) -> Vec<(&'static str, String)>;

    /// What a rate is of.
    fn unit(&self) -> &'static str {
        "arcs"
    }

    /// What a rate counts, as in `2.5 Garcs/s out of reached nodes`.
    fn rated(&self) -> &'static str;

    /// The first tag of the record: `variant:num_seeds-10`.
    fn variant(&self, job: &Job) -> String;

    /// The record's own fields, by name.
    fn facts(&self, job: &Job) -> Map<String, Value>;

    /// The first `k` of the ranking as a table, where the workload ranks nodes or components.
    fn ranking(&self, _job: &Job, _k: usize) -> Option<String> {
        None
    }

    /// The paths to the job's targets, where some were asked for.
    fn paths(&self, _job: &Job) -> Option<Paths> {
        None
    }

    /// What was found, as rows: one a node, where there are nodes.
    fn table(&self, graph: &Graph) -> Table<'_>;

    /// Checks it independently: [`crate::Error::Verify`] for a wrong answer.
    fn verify(&self, job: &Job) -> Result<Checked>;
}

/// How far the independent check vouches for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All of it was looked at, and is right within the stated tolerance.
    Yes,
    /// Some of it was not looked at; nothing wrong was found in the rest.
    Partly,
    /// It is wrong.
    No,
}

impl Verdict {
    /// As tables and summaries show it.
    pub fn shown(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::Partly => "partly",
            Verdict::No => "NO",
        }
    }

    /// A record's `verified`: a word, or true or false in records of version 0.1.
    pub(crate) fn read(value: &Value) -> Option<Verdict> {
        match value {
            Value::Bool(true) => Some(Verdict::Yes),
            Value::Bool(false) => Some(Verdict::No),
            Value::String(word) => match word.as_str() {
                "yes" => Some(Verdict::Yes),
                "partly" => Some(Verdict::Partly),
                "no" => Some(Verdict::No),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a check that found nothing wrong has to say.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// What was not looked at, in one sentence; `None` where everything was.
    pub skipped: Option<String>,
    /// Fields of the record's `verification`.
    pub found: Map<String, Value>,
    /// More for the summary, as in `; sums over 3 arcs overflow`.
    pub note: String,
}

/// What the independent check found.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// Whether the answer holds.
    pub verdict: Verdict,
    /// `no`: the first thing wrong, naming a node. `partly`: what was not looked at.
    pub message: Option<String>,
    /// What else this workload's check tells.
    #[serde(flatten)]
    pub found: Map<String, Value>,
    /// The same for people.
    #[serde(skip)]
    pub note: String,
    /// Milliseconds that the check took.
    pub ms: f64,
}

/// A map of JSON from names and values.
pub(crate) fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
