//! Breadth-first search: how many arcs each node is from a source.
//!
//! **Idea.** Level after level, each either *pushed* (the frontier claims its out-neighbours) or *pulled* (a node
//! that is not reached looks for an in-neighbour in the frontier, and stops at the first), whichever promises to
//! look at fewer arcs. On GPUs a search is one launch. Graphs of high diameter have thousands of levels of a few
//! nodes: there levels are distances, worked off out of order within a window by near-far, and unique in the end.
//!
//! **Which way.** With F the arcs out of the frontier (counted where pushes find nodes, else nodes x mean degree) and
//! P what a pull is expected to look at, unreached nodes x min(mean degree, m / F): push turns to pull when
//! F > `do_a` P, pull to push when F < `do_b` P. No pass over anything is made for it. Pulls look at far less than P
//! once a hub is in the frontier, since rows begin with hubs, and at all of it before: with `do_a` = 0.05 R-MAT 18 takes
//! 0.16 ms on an H200, with 1 0.07. Large pushes find most of what is left, each node by an atomic: from 2^23 arcs on they turn
//! at 0.005 of `do_a` (R-MAT 23, 21 M arcs against a P of 57 M: 1.0 ms pushed, 0.31 pulled; R-MAT 27, five of 32 sources:
//! 6 to 10.5 ms at a twentieth, 3.0 to 3.5 so; half as many arcs are better pushed there).
//!
//! **Replicas.** A level's set is the same in whatever order it is found, so replicas push redundantly without a word.
//! Pulls are shared where that pays, and with `--merge split`: GPUs that have a replica each run one joint launch, in which
//! owners store the words they found into everybody's frontier; elsewhere, and on the host, words are gathered after each pull.
//! `--merge dense` is the textbook loop: push the own chunk's frontier and OR the frontiers, pull into the own chunk and gather.
//!
//! **Arrays.** `level: [n] u32`, replicated, and equal without a merge of its own: whoever gets a frontier notes its
//! level; `front, next: [active] bits, replicated, OR`. By label; the id map is applied at the door.
//!
//! **Source.** Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first search", SC 2012; Pan, Wang, Wu, Yang,
//! Owens, "Multi-GPU graph analytics", IPDPS 2017 (do_a, do_b); Davidson and others, IPDPS 2014 (near-far);
//! Graph500's specification, version 2 (sources, TEPS).

mod answer;
mod cuda;
mod driver;
mod host;
mod plan;

pub use answer::{Searches, Teps};

use super::workload::{Algorithm, Query, config, run};
use super::{InputId, RunOptions, Seeds};
use crate::choice::number;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

words!(
    /// Which way a level is expanded.
    SearchDirection, "--direction" {
        /// Whichever promises to look at fewer arcs.
        #[default]
        Auto = "auto",
        /// From the frontier over its out-arcs.
        Push = "push",
        /// From the nodes that are not reached yet over their in-arcs.
        Pull = "pull",
    }
);

/// The workload.
pub struct Bfs;

/// What breadth-first search is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BfsConfig {
    /// Where to start, in the input's own ids [default: the lowest id in the largest component].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID", allow_hyphen_values = true))]
    pub source: Option<InputId>,
    /// Where to start, one run of the search after another: random:N:SEED (of the nodes with out-arcs to others) | all |
    /// connected:N:SEED | 0,5,17 | first:N | file:PATH [default: --source].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Say the paths to these nodes, from the source: ID,.. | file:PATH. With --output its rows are the nodes of the
    /// paths: target,position,node,distance.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub target: Option<Seeds>,
    /// Also compute the predecessor of each node.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub predecessors: bool,
    /// Which way levels are expanded: auto | push (frontiers over out-arcs) | pull (unreached nodes over
    /// in-arcs) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WAY"))]
    pub direction: SearchDirection,
    /// Push turns to pull when the arcs of the frontier are more than A times those that a pull is expected
    /// to look at, were their order none, and for more than 2^23 arcs than 0.005 of that; from 0 on, or inf [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "A", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub do_a: f64,
    /// Pull turns to push when the arcs of the frontier are expected to be fewer than B times those of a
    /// pull; from 0 on, or inf [default: 0.1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "B", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub do_b: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

impl Default for BfsConfig {
    fn default() -> Self {
        BfsConfig {
            source: None,
            sources: None,
            target: None,
            predecessors: false,
            direction: SearchDirection::Auto,
            do_a: 1.0,
            do_b: 0.1,
            run: RunOptions::default(),
        }
    }
}

config!(BfsConfig);

/// How many arcs each node is from a source, or from each of several.
///
/// # Errors
/// [`Error::Input`] for options out of range and for sources that the graph does not have; [`Error::Fault`] when a
/// replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn bfs(fleet: &Fleet, graph: &Prepared, config: &BfsConfig) -> Result<Searches> {
    run::<Bfs>(fleet, graph, config)
}

/// What searches start from, and the nodes to which paths are asked for, by rising input id.
pub struct Sources {
    /// Node indices.
    pub nodes: Vec<u32>,
    /// Node indices.
    pub targets: Vec<u32>,
}

impl Algorithm for Bfs {
    type Config = BfsConfig;
    type Start = Sources;
    type Answer = Searches;
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str =
        "Breadth-first search: the least number of arcs from a source to each node";
    const EXAMPLES: [&'static str; 2] = [
        "hive run bfs --graph web.mtx --source 1 --top 5",
        "hive run bfs --graph rmat:12 --sources random:16:1 --runs 1",
    ];
    const FORM: Form = Form::Topology;
    const RANKS: Option<&'static str> = Some("the nodes farthest from the source");

    fn check(config: &BfsConfig) -> Result<()> {
        for (flag, value) in [("--do-a", config.do_a), ("--do-b", config.do_b)] {
            if value.is_nan() || value < 0.0 {
                return Err(Error::input(format!(
                    "{flag} {value}: use a number from 0 on, or inf"
                )));
            }
        }
        if config.source.is_some() && config.sources.is_some() {
            return Err(Error::input("--source with --sources: leave one of them out"));
        }
        let BfsConfig { do_a, do_b, .. } = BfsConfig::default();
        let way = config.direction;
        if way != SearchDirection::Auto && (config.do_a, config.do_b) != (do_a, do_b) {
            return Err(Error::input(format!(
                "--direction {way} with --do-a or --do-b: nothing is chosen; leave one of them out"
            )));
        }
        Ok(())
    }

    fn start(config: &BfsConfig, graph: &Graph) -> Result<Sources> {
        let nodes = match (&config.sources, &config.source) {
            (Some(sources), _) => sources.sources_of("--sources", graph)?,
            (None, Some(source)) => vec![source.resolve(graph, "--source")?],
            (None, None) => vec![graph.default_source()],
        };
        if nodes.len() > 1 && config.target.is_some() {
            return Err(super::one_search("--target", nodes.len()));
        }
        let targets = super::targets(config.target.as_ref(), graph)?;
        Ok(Sources { nodes, targets })
    }

    fn started(start: &Sources, graph: &Graph) -> String {
        super::from_nodes(&start.nodes, graph)
    }

    fn questions(start: &Sources) -> u32 {
        start.nodes.len() as u32
    }

    fn several(config: &BfsConfig) -> Option<&'static str> {
        let several =
            [("--target", config.target.is_some()), ("--predecessors", config.predecessors)];
        several.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option)
    }

    fn files(config: &BfsConfig) -> Vec<(&'static str, &Path)> {
        super::files_of([("--sources", &config.sources), ("--target", &config.target)])
    }

    fn folder(config: &BfsConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, _: &BfsConfig, world: usize) -> Vec<DeviceArray> {
        cuda::arrays(shape, world)
    }

    fn solve(
        fleet: &Fleet,
        graph: &Prepared,
        query: &Query<Bfs>,
        run: &RunOptions,
        extras: bool,
    ) -> Result<Searches> {
        driver::solve(fleet, graph, query, run, extras)
    }
}

/// The level of a node that is not reached.
pub(crate) const UNREACHED: u32 = u32::MAX;
