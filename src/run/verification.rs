//! What a check of an answer comes to.

use crate::words::Scalar;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// Whether answers are checked, and where. Written `true`, `false` or `host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Scalar", into = "Scalar")]
pub enum Verify {
    /// They are not.
    #[default]
    No,
    /// On the first GPU of the fleet, or on the host where that cannot be.
    Yes,
    /// On the host.
    Host,
}

impl Verify {
    /// Whether they are checked.
    pub fn is_wanted(self) -> bool {
        self != Verify::No
    }
}

impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verify::No => "false",
            Verify::Yes => "true",
            Verify::Host => "host",
        })
    }
}

impl FromStr for Verify {
    type Err = String;

    fn from_str(text: &str) -> Result<Verify, String> {
        let all = [Verify::No, Verify::Yes, Verify::Host];
        let found = all.into_iter().find(|verify| verify.to_string() == text);
        found.ok_or_else(|| format!("--verify {text}: not understood; use true, false or host"))
    }
}

impl TryFrom<Scalar> for Verify {
    type Error = String;

    fn try_from(scalar: Scalar) -> Result<Verify, String> {
        scalar.to_string().parse()
    }
}

impl From<Verify> for Scalar {
    fn from(verify: Verify) -> Scalar {
        match verify {
            Verify::No => Scalar::Flag(false),
            Verify::Yes => Scalar::Flag(true),
            Verify::Host => Scalar::Text(verify.to_string()),
        }
    }
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
    /// Where it was checked: `host`, or a GPU as in `cuda:0`.
    pub on: String,
    /// Milliseconds that the check took.
    pub ms: f64,
    /// Of these, milliseconds in which the graph was copied to the GPU.
    pub copy_ms: f64,
}
