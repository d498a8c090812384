//! Vertex nomination: all nodes ranked by their distance from the nearest of some seeds.
//!
//! **Definition.** d(v) = min over seeds s of the length of the shortest path from s to v. Nodes that are not seeds are
//! ranked by d, ties by input id. The nominee of a node is the seed that it is nearest to.
//!
//! With `rank` sum they are ranked by the sum of d(s, v) over the seeds s that reach them, those that most seeds reach first; with
//! `rank` harmonic by the sum of 1 / d(s, v), the highest first.
//!
//! **Idea.** Shortest paths from all seeds at once: every seed begins at distance 0. The search is that of
//! [`sssp`](mod@super::sssp); plans, replicas and arrays are described there. Sums take a search from each seed, as those of
//! [`closeness`](mod@super::closeness).
//!
//! **Source.** The HIVE phase-2 report (vertex nomination).

use super::closeness::{Found, Sums, summed, summed_arrays};
use super::sssp::{self, SeedSums, ShortestPaths, SsspConfig, Start, Turns, VnRank};
use super::start::most_of;
use super::workload::{Algorithm, Request, config, run};
use super::{MergeMode, Precision, RunOptions, Seeds, files_of, from_nodes, targets};
use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The workload.
pub struct Vn;

/// What vertex nomination is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct VnConfig {
    /// Start nodes, in the input's own ids (required): 0,5,17 | first:N | random:N:SEED | connected:N:SEED (of those
    /// with out-arcs to others) | file:PATH | all.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEEDS", allow_hyphen_values = true))]
    pub seeds: Option<Seeds>,
    /// What nodes are ranked by: min (the distance from the nearest seed) | sum (of the distances from all seeds, of the nodes that most
    /// seeds reach) | harmonic (the sum of the inverses of these distances, the highest first) [default: min].
    #[cfg_attr(feature = "cli", arg(long, value_name = "MEASURE"))]
    pub rank: VnRank,
    /// Say the paths to these nodes, from the nearest seed: ID,.. | file:PATH. With --output its rows are the nodes of
    /// the paths: target,position,node,distance.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub target: Option<Seeds>,
    /// Also compute the nominee of each node: the seed it is nearest to.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub nominee: bool,
    /// Also compute the predecessor of each node.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub predecessors: bool,
    /// Width of a window of tiles or near-far, in units of weight: auto | inf (one window) | a number above 0 [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WIDTH", allow_hyphen_values = true))]
    pub delta: Choice<f32>,
    /// Width of distances: f32 | f64 | auto (f32, and the run is repeated in f64 where weights are whole numbers and a
    /// distance reaches 2^24, or where a sum is more than f32 holds) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// When push-pull turns.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub turns: Turns,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(VnConfig);

/// Shortest distances from the nearest of some seeds; [`super::best_ranked`] ranks nodes by them.
///
/// # Errors
/// [`Error::Input`] for options out of range, where there are no seeds, and for seeds that the graph does not have or that
/// come twice; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn vn(fleet: &Fleet, graph: &Prepared, config: &VnConfig) -> Result<ShortestPaths> {
    run::<Vn>(fleet, graph, config)
}

impl VnConfig {
    /// The options of its search.
    fn search(&self) -> SsspConfig {
        SsspConfig {
            source: None,
            target: self.target.clone(),
            predecessors: self.predecessors,
            delta: self.delta,
            precision: self.precision,
            turns: self.turns,
            run: self.run.clone(),
        }
    }
}

impl Algorithm for Vn {
    type Config = VnConfig;
    type Start = Start;
    type Answer = ShortestPaths;
    const NAME: &'static str = "vn";
    const ABOUT: &'static str =
        "Vertex nomination: rank all nodes by their distance from the nearest of some seeds";
    const EXAMPLES: [&'static str; 2] = [
        "hive run vn --graph web.mtx --seeds 1,5 --top 10",
        "hive run vn --graph rmat:12 --seeds first:10 --nominee --verify --output nominees.csv",
    ];
    const FORM: Form = Form::Weighted;
    const KERNELS: &'static [&'static str] = &["sssp.cu"];
    const RANKS: Option<&'static str> = Some("the nodes nearest to the seeds");

    fn check(config: &VnConfig) -> Result<()> {
        if config.seeds.is_none() {
            return Err(Error::input(
                "no seeds for vn: give --seeds (in a sweep `seeds` of [run]) 0,5,17 | first:N | random:N:SEED | file:PATH",
            ));
        }
        if config.rank != VnRank::Min {
            let option =
                Vn::several(config).or((config.delta != Choice::Auto).then_some("--delta"));
            if let Some(option) = option {
                return Err(Error::input(format!(
                    "{option}: it is for the nearest seed; leave it out, or --rank {}",
                    config.rank
                )));
            }
            if matches!(config.run.merge, MergeMode::Dense | MergeMode::Split) {
                return Err(Error::input(format!(
                    "--merge {}: seeds are dealt where nodes are ranked by a sum; use auto or redundant",
                    config.run.merge
                )));
            }
        }
        sssp::check(&config.search())
    }

    fn start(config: &VnConfig, graph: &Graph) -> Result<Start> {
        let nodes = config.seeds.as_ref().map(|seeds| seeds.resolve_of("--seeds", graph));
        let nodes = nodes.transpose()?.unwrap_or_default();
        Ok(Start { nodes, targets: targets(config.target.as_ref(), graph)? })
    }

    fn started(start: &Start, graph: &Graph) -> String {
        from_nodes(&start.nodes, "seed", graph)
    }

    fn several(config: &VnConfig) -> Option<&'static str> {
        let several = [
            ("--target", config.target.is_some()),
            ("--predecessors", config.predecessors),
            ("--nominee", config.nominee),
        ];
        several.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option)
    }

    fn files(config: &VnConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--seeds", &config.seeds), ("--target", &config.target)])
    }

    fn folder(config: &VnConfig) -> Option<String> {
        config.seeds.as_ref().map(Seeds::many)
    }

    fn arrays(shape: &GraphShape, config: &VnConfig, world: usize) -> Vec<DeviceArray> {
        let seeds = || most_of(&config.seeds, shape.nodes as usize);
        match config.rank {
            VnRank::Min => sssp::arrays(shape, world),
            VnRank::Sum | VnRank::Harmonic => summed_arrays(shape, (seeds(), true), world),
        }
    }

    fn solve(request: Request<Self>) -> Result<ShortestPaths> {
        let Request { fleet, graph, query, run, extras } = request;
        let by = query.config.rank;
        if by != VnRank::Min {
            let seeds = &query.start.nodes;
            let found = summed(fleet, graph, (seeds, query.config.precision), run)?;
            let Found { sums, double, strategy, measured } = found;
            let Sums { far, harmonic, reached, nearest, .. } = sums;
            let sums = SeedSums { by, sum: far, harmonic, reached, strategy };
            let (rows, nearest) = (graph.weighted(fleet)?, (nearest, double));
            return Ok(ShortestPaths::summed(&rows, seeds, nearest, sums, measured));
        }
        let config = SsspConfig { run: run.clone(), ..query.config.search() };
        sssp::search(fleet, graph, &query.start, config, [extras, query.config.nominee])
    }
}
