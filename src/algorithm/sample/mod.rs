//! Neighbour sampling: some neighbours of each source, some of each of theirs, and so on, as GraphSAGE's layers take them.
//!
//! **Definition.** A sample is a tree: its root is the source, and a node of hop h - 1 has `fanouts[h - 1]` places for nodes of hop h.
//! The places of hop h are numbered along the tree: the children of place k are the places k F to k F + F - 1, F being the fan-out.
//! A node fills its places with ends of its arcs. The arcs of a node are numbered by input id and then by weight; d is how many there
//! are.
//!
//! 1. With `replace`, each place draws k = below(d), and gets the other end of arc k.
//! 2. Else, with d <= F, place k gets that of arc k, and places from d on are empty.
//! 3. Else place j = 0, 1, .. draws k = below(d - F + j + 1), and gets arc k, or arc d - F + j where arc k was drawn before (Floyd).
//!    Every set of F arcs is equally likely; their order is not.
//!
//! Places of an empty place are empty, as are those of a node without arcs out. Draws of source number i by input id, of the node that is number
//! q of those with children (the root, all of hop 1, ..; Q in all), are from [`crate::operator::Random`], stream i Q + q under the seed.
//!
//! **Replicas.** Sources are dealt in slices, and nothing is exchanged: what is drawn depends on the graph, the seed and the number of
//! the source alone. On one replica and with `--merge redundant` each replica draws all.
//!
//! **Arrays.** `sources: [sources] u32`; `order: [m] u32` where nodes were relabelled; `samples: [hops][own sources, places] u32`, each
//! replica's own.
//!
//! **Source.** Hamilton, Ying, Leskovec, "Inductive representation learning on large graphs", NIPS 2017, 3.1 and appendix A; Floyd's
//! algorithm in Bentley, "Programming pearls: a sample of brilliance", CACM 30(9), 1987.

mod answer;
mod fanouts;
mod program;

pub use fanouts::Fanouts;

use super::frame::ReplicaAnswer;
use super::left::LeftColumn;
use super::rows::{Likely, Rows};
use super::start::{files_of, from_nodes, most_of};
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The workload.
pub struct NeighborSampling;

/// What neighbour sampling is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SampleConfig {
    /// The nodes whose neighbourhoods are sampled: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) |
    /// 0,5,17 | first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Nodes that each node of a hop draws for the next, a number a hop, as in 25,10: 1 to 8 hops of 1 to 1024 [default: 25,10].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N,N", allow_hyphen_values = true))]
    pub fanouts: Fanouts,
    /// Draws with replacement: a node may draw an arc several times.
    #[cfg_attr(feature = "cli", arg(long))]
    pub replace: bool,
    /// Seed of the random numbers [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEED", allow_hyphen_values = true))]
    pub seed: u64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(SampleConfig);

impl Default for SampleConfig {
    fn default() -> Self {
        let (fanouts, run) = (Fanouts::default(), RunOptions::default());
        SampleConfig { sources: None, fanouts, replace: false, seed: 1, run }
    }
}

/// The answer of [`sample`].
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// `[sources]` the nodes that were asked for, by rising input id.
    pub sources: Vec<u32>,
    /// `[hops][sources, places of the hop]` nodes, row after row; `u32::MAX` in empty places. Hop h has the product of the first h
    /// fan-outs as places.
    pub hops: Vec<Vec<u32>>,
    /// What was left on a GPU in place of both: `source`, `hop1`, `hop2`, .., each hop with its places as rows.
    pub left: Vec<LeftColumn>,
    /// Places of each hop.
    pub places: Vec<usize>,
    /// Places that are not empty; 0 where the host has none to look at.
    pub drawn: u64,
    /// Different nodes in them; likewise.
    pub nodes: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// Samples of the neighbourhoods of every node of the graph, or of some.
///
/// # Errors
/// [`crate::Error::Input`] for sources that the graph does not have or that come twice; [`crate::Error::Machine`] where samples would
/// take more memory than there is; [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers
/// that differ.
pub fn sample(fleet: &Fleet, graph: &Prepared, config: &SampleConfig) -> Result<Samples> {
    run::<NeighborSampling>(fleet, graph, config)
}

/// Whose neighbourhoods are sampled, and the order of arcs in rows.
pub struct SampleStart {
    /// Nodes, by rising input id.
    pub(super) sources: Vec<u32>,
    pub(super) rows: Arc<Rows>,
}

impl Algorithm for NeighborSampling {
    type Config = SampleConfig;
    type Start = SampleStart;
    type Answer = Samples;
    const NAME: &'static str = "sample";
    const ABOUT: &'static str =
        "Neighbour sampling: some neighbours of each node, and of those, hop by hop, for GraphSAGE";
    const EXAMPLES: [&'static str; 2] = [
        "hive run sample --graph rmat:12 --sources random:1024:1 --output samples.npy",
        "hive run sample --graph web.mtx --sources 1,5 --fanouts 15,10,5 --replace",
    ];
    const FORM: Form = Form::General;
    const LEAVES: bool = true;

    fn start(config: &SampleConfig, graph: &Graph) -> Result<SampleStart> {
        let sources = config.sources.as_ref().unwrap_or(&Seeds::All);
        let mut sources = sources.resolve_of("--sources", graph)?;
        sources.sort_unstable_by_key(|node| graph.rank(*node));
        let places = config.fanouts.all_places() as u64;
        // At the most three copies on the way from the replicas.
        let what = format!("samples of {} nodes", sources.len());
        crate::memory::room(&what, 12 * places * sources.len() as u64)?;
        Ok(SampleStart { sources, rows: Arc::new(Rows::new(graph, Likely::Alike)?) })
    }

    fn started(start: &SampleStart, graph: &Graph) -> String {
        match start.sources.len() == graph.nodes() {
            true => String::new(),
            false => from_nodes(&start.sources, "source", graph),
        }
    }

    fn array_columns(config: &SampleConfig) -> usize {
        1 + config.fanouts.all_places()
    }

    fn files(config: &SampleConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources)])
    }

    fn folder(config: &SampleConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &SampleConfig, world: usize) -> Vec<DeviceArray> {
        let sources = most_of(&config.sources, shape.nodes as usize);
        let shared = config.run.deals(world, false);
        // Slices end at multiples of 64.
        let slice = sources.div_ceil(world).saturating_add(64).min(sources);
        let own = if shared { slice } else { sources };
        let sizes = program::Sizes {
            sources,
            ordered: shape.all_arcs() as usize,
            values: own.saturating_mul(config.fanouts.all_places()),
        };
        program::State::list(sizes, world)
    }

    fn solve(request: Request<Self>) -> Result<Samples> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config) = (graph.general(fleet)?, query.config.clone());
        let leave = run.leave && fleet.info().backend == "cuda";
        let run = RunOptions { leave, ..run.clone() };
        let SampleStart { sources, rows: own } = &query.start;
        let (starts, own) = (sources.clone(), own.clone());
        let dealt = run.deals(fleet.world(), false);
        let program =
            move |r: &mut _| program::program(r, &rows, &config, (&starts, &own, dealt), &run);
        let (found, mut measured) = ReplicaAnswer::all(fleet.run(program)?);
        let places = query.config.fanouts.places();
        let (found, left): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let left = left.concat();
        if !left.is_empty() {
            // All places: nobody counts those that are empty.
            measured.reached_arcs = (sources.len() * query.config.fanouts.all_places()) as u64;
            return Ok(Samples { left, places, measured, ..Samples::default() });
        }
        let mut hops = Vec::new();
        for hop in 0..places.len() {
            // Where all draw everything, the first replica of a process brings all.
            let own = found.iter().flat_map(|hops| hops.get(hop)).flatten().copied().collect();
            hops.push(if dealt { fleet.concat("samples", own)? } else { own });
        }
        let (drawn, nodes) = counted(&hops, query.graph.nodes());
        measured.reached = nodes;
        measured.reached_arcs = drawn;
        Ok(Samples { sources: sources.clone(), hops, left, places, drawn, nodes, measured })
    }
}

/// Places that are not empty, and how many of so many nodes are in them.
fn counted(hops: &[Vec<u32>], nodes: usize) -> (u64, u64) {
    let met: Vec<AtomicBool> = (0..nodes).map(|_| AtomicBool::new(false)).collect();
    let drawn = hops.par_iter().flatten().filter(|node| match met.get(**node as usize) {
        Some(met) if !met.load(Ordering::Relaxed) => {
            met.store(true, Ordering::Relaxed);
            true
        }
        Some(_) => true,
        None => false,
    });
    let drawn = drawn.count() as u64;
    (drawn, met.par_iter().filter(|met| met.load(Ordering::Relaxed)).count() as u64)
}
