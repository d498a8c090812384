//! Geolocation: where nodes are, from where their neighbours are.
//!
//! **Definition.** Given are the places of some nodes; their wave is 0. For every other node v, wave(v) = 1 + min { wave(u) :
//! there is an arc v -> u }, as far as waves are allowed. Its place is a spatial median: a point x of the globe that minimizes
//! the sum over the arcs v -> u with wave(u) < wave(v) of the great-circle distance from x to the place of u. Nodes
//! without a wave have no place.
//!
//! **Idea.** A wave locates every node that has no place yet and has neighbours with a place. All nodes of a wave read the
//! places before it, and a place never changes again.
//!
//! **Invariant.** After wave k, all nodes of waves up to k have their places, and no others. Neither places nor waves depend on
//! the order of work, so any number of replicas computes equal bits.
//!
//! **Median.** The median of one point is that point; of two, the point half-way. Of more, it is found by descents on unit
//! vectors in f64. One pass over the points gives, at x: the sum f of distances, the sum R of unit tangents towards the points
//! (minus the gradient), the sum W of 1 / distance, and the Hessian H. A step is, by default, Newton's along the two axes of
//! H, with the absolute values of its curvatures, so that it leads downhill where the sum is concave, too. It is no
//! longer than a reach, which shrinks when a step does not lower f and grows when one does. When a step fails, the nearest
//! point is tried, since the sum has a kink at every point that derivatives do not show. When the reach has become tiny, the
//! step is Weiszfeld's, R / W, which never raises f. At a point of multiplicity m the step is (1 - m / |R|) R / W, and the point
//! is the median if |R| <= m. A descent ends when its next step would save less than `tolerance` of f.
//!
//! The sum may have several local minima. Up to 32 of the points, their antipodes (whose sums follow from those of the
//! points) and the mean direction are ranked by their sums. Descents start from the best of them that lie 0.2 radians apart, at
//! most eight. A descent ends early when it cannot end below the best one so far, or comes to where that one ended. Of more than
//! 4096 points, descents start from the mean direction and the best of the others. The result may still be another local
//! minimum than the least; `verify` counts these.
//!
//! **Plans.** Every replica has all places, counts the located neighbours of all nodes without a place, and so makes the same
//! queue. *Whole* (`--merge redundant`, or one replica): each replica computes the whole queue. *Cut* (`--merge split`, and on
//! the host): the queue is cut by cost, and what replicas found is gathered by places in the queue. *Cut large* (GPUs): small
//! waves are computed whole, larger ones are cut.
//!
//! The steps are kernels of their own and not [`crate::operator`]s: long rows leave a list of their located neighbours
//! while these are counted, the queue is ordered by class and node, and a median is computed by a thread, a warp or a block.
//!
//! **Arrays.** `position: [n, 4] f64`, unit vectors, and `wave: [n] u32`: replicated, equal without a merge, since all
//! replicas write the same; `found: [queue, 3] f64, replicated, GATHER`. Nodes are in the graph's order.
//!
//! **Source.** Vardi, Zhang, "The multivariate L1-median and associated data depth", PNAS 97(4), 2000;
//! Fletcher, Venkatasubramanian, Joshi, "The geometric median on Riemannian manifolds with application to
//! robust atlas estimation", NeuroImage 45(1), 2009; Jurgens, "That's what friends are for: inferring
//! location in online social media platforms based on social relationships", ICWSM 2013; the HIVE phase-2
//! report (Gunrock's geolocation).

mod answer;
mod cuda;
mod driver;
mod host;
mod plan;

pub use answer::Geolocation;
pub use plan::{KnownPlaces, Locate};

use super::RunOptions;
use super::workload::{config, run};
use crate::choice::Choice;
use crate::device::kernels::geo::NEVER;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::layout::Prepared;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The workload.
pub struct Geo;

/// What geolocation is asked. Options that HIVE has bear HIVE's names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GeoConfig {
    /// A file of known places, by the ids of the graph's input: HIVE .labels, a CSV with columns node, lat and lon, or
    /// DIMACS .co.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub labels: Option<PathBuf>,
    /// The first id in the files of --labels and --truth, from 0 on [default: as the file says, else as the graph counts].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub labels_first_id: Option<u64>,
    /// Make up places, for benchmarks: a share of the nodes, above 0 up to 1, each at a uniformly drawn point of the globe
    /// [default of SEED: 1].
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "SHARE[:SEED]", allow_hyphen_values = true)
    )]
    pub locate: Option<Locate>,
    /// Withhold every N-th of the known places, by rising id, and report the error of the answer there; N from 2 on.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub hide: Option<u32>,
    /// A file of true places, in a format of --labels, from which the error of the answer is reported; the generator geo:
    /// knows them.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub truth: Option<PathBuf>,
    /// Most waves, from 0 on [default: 3].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub geo_iter: u32,
    /// As many waves as it takes to locate all nodes that can be, whatever --geo-iter says.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub geo_complete: bool,
    /// Most passes over a node's neighbours in a descent to their median, from 0 on [default: 1000].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub spatial_iter: u32,
    /// The share of the summed distance below which a step's promise ends a descent: auto (1e-12) | 0 up to below 1
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub tolerance: Choice<f64>,
    /// `[n]` latitudes and longitudes in degrees, NaN where unknown, in place of those of the graph.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub given: Option<[Vec<f64>; 2]>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

impl Default for GeoConfig {
    fn default() -> Self {
        GeoConfig {
            labels: None,
            labels_first_id: None,
            locate: None,
            hide: None,
            truth: None,
            geo_iter: 3,
            geo_complete: false,
            spatial_iter: 1000,
            tolerance: Choice::Auto,
            given: None,
            run: RunOptions::default(),
        }
    }
}

config!(GeoConfig);

impl GeoConfig {
    fn tolerance(&self) -> f64 {
        self.tolerance.or(1e-12)
    }
}

/// Where nodes are, from where their neighbours are.
///
/// # Errors
/// [`crate::Error::Input`] for options out of range, where no node has a place, and for places that are not `[n]` or not on
/// Earth; [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn geo(fleet: &Fleet, graph: &Prepared, config: &GeoConfig) -> Result<Geolocation> {
    run::<Geo>(fleet, graph, config)
}

/// Numbers that a position takes, of which the last is not used: a sector of memory.
const STRIDE: usize = 4;
