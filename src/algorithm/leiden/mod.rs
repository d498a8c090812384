//! Communities of high modularity, each connected, by the method of Leiden.
//!
//! **Definition, units, moves, replicas.** Those of `communities`.
//!
//! **Idea.** Nodes move as by the method of Louvain. Then every community is refined: its nodes are alone again, and join parts of it.
//! A node that is still alone joins the part of its community that gains most, ties to the part of the lowest node, if it does not lose,
//! and if both node and part weigh enough to the rest of the community C:
//!
//! ~~~text
//! w(S, C - S) >= resolution k(S) k(C - S) / T
//! ~~~
//!
//! with w the weight of the arcs between two sets and k that of the arcs out of one. The parts are the nodes of the next level, which
//! begins in the communities that were refined. Levels end when each community is one node. Parts are connected, and so is each
//! community. A choice is the best one, not a random one as in the source: the answer is always the same. In levels of few arcs a node
//! may also leave for a community of its own. After the last level single nodes move again, from the communities that were found, and
//! levels follow anew, until that gains less than 1e-4; where the first level has few arcs, until it gains less than 1e-5 twice, each
//! time in another order of nodes. In graphs of at most 2^14 arcs four such searches begin in other orders, and the best is taken.
//!
//! **Arrays.** Those of `communities`, and 20 bytes a node.
//!
//! **Source.** Traag, Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", Scientific Reports 9, 2019;
//! Sahu, "GVE-Leiden: Fast Leiden algorithm for community detection in shared memory setting", arXiv 2312.13936, 2023 (only nodes that
//! are alone join a part).

use super::RunOptions;
use super::communities::{self, Modular, Modules};
use super::workload::{Algorithm, Request, config, run};
use crate::choice::number;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use crate::verify::{self, ModulesFound};
use serde::{Deserialize, Serialize};

/// The workload.
pub struct Leiden;

/// What communities are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LeidenConfig {
    /// How much the weight of whole communities counts: a number above 0; more gives smaller communities [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub resolution: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(LeidenConfig);

impl Default for LeidenConfig {
    fn default() -> Self {
        LeidenConfig { resolution: 1.0, run: RunOptions::default() }
    }
}

/// Connected communities of a symmetric graph whose modularity is high.
///
/// # Errors
/// [`crate::Error::Input`] for a resolution out of range, for a graph that is not symmetric with its weights, and for one of 2^31
/// arcs or more; [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn leiden(fleet: &Fleet, graph: &Prepared, config: &LeidenConfig) -> Result<Modules> {
    run::<Leiden>(fleet, graph, config)
}

impl Algorithm for Leiden {
    type Config = LeidenConfig;
    type Start = ();
    type Answer = Modules;
    const NAME: &'static str = "leiden";
    const ABOUT: &'static str =
        "Communities of high modularity, each connected: those of Louvain, refined at each level";
    const EXAMPLES: [&'static str; 2] = [
        "hive run leiden --graph web.mtx --symmetrize --top 10",
        "hive run leiden --graph road:12 --resolution 0.5 --verify --output communities.csv",
    ];
    const FORM: Form = Form::General;
    const KERNELS: &'static [&'static str] = &["moves.cu"];
    const RANKS: Option<&'static str> = Some("the largest communities");

    fn check(config: &LeidenConfig) -> Result<()> {
        communities::check(config.resolution)
    }

    fn start(_: &LeidenConfig, graph: &Graph) -> Result<()> {
        communities::start(Self::NAME, graph)
    }

    fn arrays(shape: &GraphShape, _: &LeidenConfig, world: usize) -> Vec<DeviceArray> {
        communities::arrays::<Self>(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Modules> {
        communities::solve(request)
    }
}

impl Modular for Leiden {
    const REFINES: bool = true;

    fn resolution(config: &LeidenConfig) -> f64 {
        config.resolution
    }

    fn certify(graph: &Graph, found: ModulesFound, resolution: f64) -> Result<f64> {
        verify::leiden(graph, found, resolution)
    }
}
