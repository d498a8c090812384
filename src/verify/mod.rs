//! Stand-in for verification; replaced at merge.

use crate::algorithm::ShortestPaths;
use crate::graph::Graph;
use crate::{Error, Result};

/// What was checked.
pub struct Checked {}

/// Checks.
pub fn shortest_paths(_: &Graph, _: &[u32], _: &ShortestPaths) -> Result<Checked> {
    Err(Error::Verify("this build has no verifier".into()))
}
