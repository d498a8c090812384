//! Communities of high modularity, by the method of Louvain.
//!
//! **Definition, units, arrays.** Those of `communities`.
//!
//! **Idea.** Nodes begin alone, and go to the community of a neighbour where that gains most, again and again; then communities are
//! the nodes of the next level. After the last level single nodes move again, from the communities that were found, and levels follow
//! anew: once, and where the first level has few arcs, until that gains less than 1e-5.
//!
//! **Source.** Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks", J. Stat. Mech. 2008;
//! Lu, Halappanavar, Kalyanaraman, "Parallel heuristics for scalable community detection", Parallel Computing 47, 2015 (two nodes that
//! are alone); Reichardt, Bornholdt, Physical Review E 74, 2006 (resolution).

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
pub struct Louvain;

/// What communities are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LouvainConfig {
    /// How much the weight of whole communities counts: a number above 0; more gives smaller communities [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub resolution: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(LouvainConfig);

impl Default for LouvainConfig {
    fn default() -> Self {
        LouvainConfig { resolution: 1.0, run: RunOptions::default() }
    }
}

/// Communities of a symmetric graph whose modularity is high.
///
/// # Errors
/// [`crate::Error::Input`] for a resolution out of range, for a graph that is not symmetric with its weights, and for one of 2^31
/// arcs or more; [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn louvain(fleet: &Fleet, graph: &Prepared, config: &LouvainConfig) -> Result<Modules> {
    run::<Louvain>(fleet, graph, config)
}

impl Algorithm for Louvain {
    type Config = LouvainConfig;
    type Start = ();
    type Answer = Modules;
    const NAME: &'static str = "louvain";
    const ABOUT: &'static str =
        "Communities of high modularity: nodes join those of their neighbours, level by level";
    const EXAMPLES: [&'static str; 2] = [
        "hive run louvain --graph web.mtx --symmetrize --top 10",
        "hive run louvain --graph rmat:14 --resolution 0.5 --output communities.csv",
    ];
    const FORM: Form = Form::General;
    const KERNELS: &'static [&'static str] = &["moves.cu"];
    const RANKS: Option<&'static str> = Some("the largest communities");

    fn check(config: &LouvainConfig) -> Result<()> {
        communities::check(config.resolution)
    }

    fn start(_: &LouvainConfig, graph: &Graph) -> Result<()> {
        communities::start(Self::NAME, graph)
    }

    fn arrays(shape: &GraphShape, _: &LouvainConfig, world: usize) -> Vec<DeviceArray> {
        communities::arrays::<Self>(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Modules> {
        communities::solve(request)
    }
}

impl Modular for Louvain {
    const REFINES: bool = false;

    fn resolution(config: &LouvainConfig) -> f64 {
        config.resolution
    }

    fn certify(graph: &Graph, found: ModulesFound, resolution: f64) -> Result<f64> {
        verify::louvain(graph, found, resolution)
    }
}
