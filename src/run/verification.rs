//! What a check of an answer comes to.

use serde::Serialize;
use serde_json::{Map, Value};

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
            Value::String(word) => {
                let all = [Verdict::Yes, Verdict::Partly, Verdict::No];
                all.into_iter().find(|verdict| verdict.shown().to_lowercase() == *word)
            }
            _ => None,
        }
    }
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
