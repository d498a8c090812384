//! Multi-source shortest paths.

use super::Measured;
use serde::{Deserialize, Serialize};

/// How replicas are made equal after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMode {
    /// Redundant where that is cheaper, else exchange only what changed.
    #[default]
    Auto,
    /// The textbook loop: advance the chunk, OR the frontiers, MIN the distances.
    Dense,
}

/// Options of [`sssp`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SsspConfig {
    /// How replicas are made equal.
    pub merge: MergeMode,
    /// Width of a near-far bucket; `None` chooses it, `inf` is a single bucket.
    pub delta: Option<f32>,
    /// Also compute predecessors.
    pub predecessors: bool,
    /// Also compute nominees (the seed that each node is nearest to).
    pub nominee: bool,
    /// Timed runs.
    pub runs: u32,
    /// Runs before the timed ones.
    pub warmup: u32,
    /// Record an entry per iteration.
    pub trace: bool,
}

impl Default for SsspConfig {
    fn default() -> Self {
        SsspConfig {
            merge: MergeMode::Auto,
            delta: None,
            predecessors: false,
            nominee: false,
            runs: 1,
            warmup: 0,
            trace: false,
        }
    }
}

/// The answer of [`sssp`], in the input's node order.
#[derive(Debug, Clone, Default)]
pub struct ShortestPaths {
    /// `[n]` distance from the nearest seed; `+inf` where none reaches.
    pub distances: Vec<f32>,
    /// `[n]` smallest node of the previous tight level; `u32::MAX` for seeds and unreached nodes.
    pub predecessors: Option<Vec<u32>>,
    /// `[n]` smallest seed with a tight chain to the node; `u32::MAX` for unreached nodes.
    pub nominees: Option<Vec<u32>>,
    /// The bucket width that was used; infinite when there was one bucket.
    pub delta: f32,
    /// Timings and counts.
    pub measured: Measured,
}

/// Stand-in; replaced at merge.
pub fn sssp(
    _: &crate::fleet::Fleet,
    _: &crate::prepare::Prepared,
    _: &[u32],
    _: &SsspConfig,
) -> crate::Result<ShortestPaths> {
    Err(crate::Error::machine("this build has no engine"))
}
