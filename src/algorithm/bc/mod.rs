//! Betweenness: for each node, the sum over pairs of nodes of the fraction of their shortest paths that pass through it.
//!
//! **Definition.** Let sigma(s, t) be the number of shortest paths from s to t, every arc being of length 1 or, `weighted`, of its
//! weight, and sigma(s, t | v) the number of those that pass through v. The score of v is the sum of sigma(s, t | v) / sigma(s, t)
//! over the sources s and the targets t, which are all nodes unless some are named, where s, v and t differ. It is then scaled
//! ([`scale`], [`scale_subset`]). Self-loops lie on no shortest path. Parallel arcs count once, as the lightest: rows that have some are
//! laid out once more without the others.
//!
//! **Idea.** Two phases for each source s (Brandes). Forward, level by level: sigma(v), the number of shortest paths from
//! s to v, is the sum of sigma over the in-neighbours of v in the level before. Backward, from the deepest level up: let
//! c(w) = (1 + delta(w)) / sigma(w), without the 1 where w is no target. The dependency of s on v is delta(v) = sigma(v) x (sum of c
//! over the out-neighbours of v in the next level). The sum of delta over the sources, each source's own left out, is the score.
//!
//! A batch of sources is worked on at once. Each source has a *lane*: sigma and c are `[active, lanes]`, so that one read
//! of an arc serves all sources of the batch. Sources whose levels are large at the same time are put into one batch.
//!
//! **Invariant.** Both phases pull, and need not know the level of a neighbour. While v is not reached in a lane, an
//! in-neighbour with sigma above 0 is in the level before, since an earlier one would have reached v. While c is computed
//! from the deepest level up, an out-neighbour with c above 0 is in the next level; one there with c = 0, from which no path leads to a
//! target, adds nothing. What a level finds is put into the
//! arrays when all of it is found.
//!
//! **Which nodes pull.** A level is a list of (node, mask of lanes). Forward, a push over the arcs of the list before
//! marks the nodes that pull. Where that list has many arcs, every node that lacks a lane pulls instead. Backward, the
//! nodes of the list pull. The host and `kernels/bc/bc.cu` weigh these costs with constants of their own.
//!
//! **Order of addition.** On the host a row is summed in the order of its columns. On a device it is summed in partial
//! sums that follow from the length of the row and the number of lanes. What a source adds to a score is rounded to two
//! grids, on which every sum is exact (`grids.rs`): scores depend neither on scheduling nor on who works on which sources.
//!
//! **Plans.** *Dealt*: each replica works on its own batches, and scores are added up once at the end. *Cut*: where there
//! are fewer sources than replicas, and enough arcs, all replicas work on the same batch. Each pulls into its own chunk,
//! lists and values are gathered, and everybody puts them into its arrays. `--merge redundant` always deals, `split` always
//! cuts. On the host scores have the same bits on any number of replicas; on GPUs where the number of lanes is the same.
//!
//! **Tiles.** On graphs of small degrees and long paths a level has few nodes, and there are thousands. GPUs do not go by
//! levels there (`kernels/tiles/tile_paths.cu`): once a search by tiles has found the level of every node, a node's sigma is
//! computed as soon as those of its neighbours are known, and so is c. Sources follow one another.
//!
//! **By weight.** Sources follow one another, and nodes go in the order in which their paths come together (`by_weight/`).
//!
//! **Arrays.** `scores: [2, active] f64, replicated, SUM`, equal without a merge where levels are cut. For cut levels
//! `entries: [active] u64` (mask << 32 | label) and `values: [active, lanes]`, replicated, GATHER. sigma, c and delta are
//! not replicated. Numbers of paths beyond 2^1000 (2^100 in f32) are refused, so that c never underflows. Under
//! `--precision auto` a run in f32 that comes to such a number is repeated in f64.
//!
//! **Source.** Brandes, "A faster algorithm for betweenness centrality", J. Math. Sociology 25(2), 2001; Sariyuce, Saule,
//! Kaya, Catalyurek, "Regularizing graph centrality computations", JPDC 76, 2015 (sources side by side).

mod answer;
mod by_weight;
mod cuda;
mod driver;
mod grids;
mod host;
mod plan;
mod tiles;

pub use answer::{Betweenness, scale, scale_subset};

use super::workload::{config, run};
use super::{Precision, RunOptions, Seeds};
use crate::choice::Choice;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::layout::{Columns, Prepared};
use serde::{Deserialize, Serialize};

/// Most lanes of a batch: bits of a mask.
const MOST_LANES: usize = 32;

/// The workload.
pub struct Bc;

/// What betweenness is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BcConfig {
    /// The nodes whose shortest paths to all others are counted: all | random:N:SEED | connected:N:SEED (of those with
    /// out-arcs to others) | 0,5,17 | first:N | file:PATH [default: one, the lowest id in the largest component].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Count the paths to these nodes alone, chosen as sources are [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub targets: Option<Seeds>,
    /// Shortest paths are those of the least weight, not of the fewest arcs.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub weighted: bool,
    /// Divide by the number of pairs that a node could lie between.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub normalized: bool,
    /// Count a path for its two ends too.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub endpoints: bool,
    /// Sources that share the reading of arcs: auto | 1 to 32 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub batch: Choice<u32>,
    /// Width of the numbers that paths are held in: f32 | f64 | auto (f64, and f32 on large graphs on GPUs while it holds
    /// the numbers of paths; the host, and paths by weight, have f64 alone) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(BcConfig);

/// The nodes at which paths begin and end, as node indices.
#[derive(Debug, Clone)]
pub struct Ends {
    sources: Vec<u32>,
    /// All nodes where there are none.
    targets: Option<Vec<u32>>,
}

/// Which nodes are targets.
#[derive(Debug, Clone, Default)]
struct Targets {
    /// `[active / 32]` a bit a label; empty where all are.
    words: Vec<u32>,
}

impl Targets {
    fn new(columns: &Columns, nodes: &[u32]) -> Targets {
        let mut words = vec![0; columns.active.div_ceil(32).max(1)];
        let labels = nodes.iter().map(|node| columns.label(*node) as usize);
        labels
            .filter(|label| *label < columns.active)
            .for_each(|label| words[label / 32] |= 1 << (label % 32));
        Targets { words }
    }

    /// 1 for a target, else 0.
    fn count(&self, label: usize) -> f64 {
        self.words.get(label / 32).map_or(1.0, |word| f64::from(word >> (label % 32) & 1))
    }
}

/// For each node, the sum over sources and targets of the fraction of their shortest paths that pass through it. A
/// graph in which every arc has its reverse is undirected, however often the two are there and whatever they weigh; `weighted`, where
/// they weigh the same.
///
/// # Errors
/// [`crate::Error::Input`] for options out of range, for sources that the graph does not have or that come twice, for
/// a source with more than 2^1000 shortest paths to a node, and, `weighted`, for a weight of 0 or one that is lost in a sum;
/// [`crate::Error::Fault`] when a replica fails;
/// [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn bc(fleet: &Fleet, graph: &Prepared, config: &BcConfig) -> Result<Betweenness> {
    run::<Bc>(fleet, graph, config)
}
