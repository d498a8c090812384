//! Stand-in for seeds; replaced at merge.

use crate::graph::Graph;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Seeds as the user wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seeds(String);

impl std::str::FromStr for Seeds {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Ok(Seeds(text.into()))
    }
}

impl std::fmt::Display for Seeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Seeds {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Seeds> for String {
    fn from(seeds: Seeds) -> String {
        seeds.0
    }
}

impl Seeds {
    /// The nodes.
    pub fn resolve(&self, _: &Graph) -> Result<Vec<u32>> {
        Err(Error::machine("this build has no engine"))
    }
}
