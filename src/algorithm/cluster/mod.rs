//! Local graph clustering: from each source, the set of nodes around it that few arcs leave.
//!
//! **Definition.** Let d(v) be the number of arcs out of v and 2m their sum. Of a set S of nodes,
//!
//! ~~~text
//! vol(S) = sum over v in S of d(v)
//! cut(S) = the arcs from S to other nodes
//! conductance(S) = cut(S) / min(vol(S), 2m - vol(S)), and 1 where that is 0 / 0
//! ~~~
//!
//! The nodes with p\[v\] > 0, p being the vector of `push` from the source, are put in order of falling p\[v\] / d(v), of equal ones
//! that of the lowest input id first. The cluster is the first so many of them with the least conductance; of several such sets it is
//! the smallest. Quotients are compared as fractions of integers. Graphs are symmetric; parallel arcs and self loops are arcs, of
//! which a self loop leaves no set. Weights do not count. Where the source does not push, since d(s) epsilon > 1, its cluster has no
//! node.
//!
//! **Idea, replicas, arrays.** Those of `push`. A host sweeps over the vectors of a batch, and looks at the rows of their nodes alone.
//!
//! **Source.** That of `push`; Spielman, Teng, "A local clustering algorithm for massive graphs and its application to nearly linear
//! time graph partitioning", SIAM J. Computing 42(1), 2013 (Nibble).

mod answer;
mod sweep;

use super::frame::ReplicaAnswer;
use super::matrix::{is_dealt, parts};
use super::push::{self, Asked, Found, PushStart, Rule};
use super::start::files_of;
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds, symmetric};
use crate::choice::number;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The workload.
pub struct LocalClustering;

/// What local graph clustering is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterConfig {
    /// The sources, of each of which there is a cluster: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) |
    /// 0,5,17 | first:N | file:PATH [default: random:64:1, all of a graph of fewer nodes].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Probability that a walk ends at a step, 0.001 to 0.999; clusters tend to be larger for smaller ones [default: 0.1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub alpha: f64,
    /// A node pushes while its residual is at least this for each of its arcs, 1e-10 to 1; clusters of much more arcs than its inverse
    /// are not found [default: 1e-6].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub epsilon: f64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(ClusterConfig);

impl Default for ClusterConfig {
    fn default() -> Self {
        ClusterConfig { sources: None, alpha: 0.1, epsilon: 1e-6, run: RunOptions::default() }
    }
}

/// The answer of [`cluster`].
#[derive(Debug, Clone, Default)]
pub struct Clusters {
    /// `[sources]` by rising input id.
    pub sources: Vec<u32>,
    /// `[sources]` nodes of each cluster.
    pub sizes: Vec<u64>,
    /// `[sources]` arcs out of the nodes of a cluster.
    pub volumes: Vec<u64>,
    /// `[sources]` those of them that leave the cluster.
    pub cuts: Vec<u64>,
    /// `[sources]` conductance, 0 to 1.
    pub conductances: Vec<f64>,
    /// `[sum of sizes]` the nodes of one cluster after the other, in the order of the sweep.
    pub nodes: Vec<u32>,
    /// `[sum of sizes]` the source of each.
    pub source: Vec<u32>,
    /// `[sum of sizes]` the conductance of its cluster.
    pub conductance: Vec<f64>,
    /// Most rounds of a source.
    pub rounds: u64,
    /// Pushes of all sources together.
    pub pushes: u64,
    /// Timings and counts.
    pub measured: Measured,
}

/// The cluster around each of several sources of a symmetric graph.
///
/// # Errors
/// [`crate::Error::Input`] for options out of range, for sources that the graph does not have or that come twice, and for a graph in
/// which some arc lacks its reverse; [`crate::Error::Machine`] where clusters take more memory than there is;
/// [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds
/// answers that differ.
pub fn cluster(fleet: &Fleet, graph: &Prepared, config: &ClusterConfig) -> Result<Clusters> {
    run::<LocalClustering>(fleet, graph, config)
}

impl Algorithm for LocalClustering {
    type Config = ClusterConfig;
    type Start = PushStart;
    type Answer = Clusters;
    const NAME: &'static str = "cluster";
    const ABOUT: &'static str =
        "Local graph clustering: around each of several nodes, the set that fewest arcs leave";
    const EXAMPLES: [&'static str; 2] = [
        "hive run cluster --graph rmat:12 --sources 5 --verify",
        "hive run cluster --graph web.mtx --symmetrize --sources random:16:1 --output clusters.csv",
    ];
    const FORM: Form = Form::General;

    fn check(config: &ClusterConfig) -> Result<()> {
        Rule::new(config.alpha, config.epsilon).map(drop)
    }

    fn start(config: &ClusterConfig, graph: &Graph) -> Result<PushStart> {
        symmetric(Self::NAME, graph)?;
        // Sweeps are over rows on the host.
        graph.load()?;
        PushStart::new(&config.sources, (config.alpha, config.epsilon), graph)
    }

    fn started(start: &PushStart, graph: &Graph) -> String {
        start.told(graph)
    }

    fn array_columns(_: &ClusterConfig) -> usize {
        3
    }

    fn files(config: &ClusterConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources)])
    }

    fn folder(config: &ClusterConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &ClusterConfig, world: usize) -> Vec<DeviceArray> {
        let sources = push::most_sources(&config.sources, shape.nodes as usize);
        push::arrays(shape, Rule::new(config.alpha, config.epsilon).ok(), sources, world)
    }

    fn solve(request: Request<Self>) -> Result<Clusters> {
        let Request { fleet, graph, query, run, .. } = request;
        let asked = Asked::new((fleet, graph), &query.start, parts(fleet.world(), run));
        let (rows, run, dealt) = (graph.general(fleet)?, run.clone(), is_dealt(fleet, run));
        let own = query.graph.clone();
        let program = move |r: &mut _| {
            let take = |_: u32, vector: Vec<_>, beat: &(dyn Fn() + Sync)| {
                sweep::cluster(&own, vector, beat)
            };
            push::program(r, &rows, &asked, &take, &run)
        };
        let (found, mut measured) = ReplicaAnswer::all(fleet.run(program)?);
        let found = Found::joined(fleet, found, dealt)?;
        crate::memory::room("nodes of clusters", 16 * found.nodes.len() as u64)?;
        measured.reached = found.nodes.len() as u64;
        measured.reached_arcs = found.arcs;
        Ok(Clusters::of(found, &query.start.sources, (query.graph.arcs(), measured)))
    }
}

impl Clusters {
    /// Of a graph of so many arcs.
    fn of(found: Found, sources: &[u32], (arcs, measured): (u64, Measured)) -> Clusters {
        let both = found.words.chunks_exact(2);
        let (cuts, volumes): (Vec<u64>, Vec<u64>) = both.map(|both| (both[0], both[1])).unzip();
        let parts = cuts.iter().zip(&volumes);
        let conductances: Vec<f64> =
            parts.map(|(cut, volume)| sweep::conductance(*cut, *volume, arcs).as_f64()).collect();
        let each = sources.iter().zip(&conductances).zip(&found.counts);
        let each = each.flat_map(|(of, size)| vec![of; *size as usize]);
        let (source, conductance) = each.map(|(source, found)| (*source, *found)).unzip();
        Clusters {
            sources: sources.to_vec(),
            sizes: found.counts,
            volumes,
            cuts,
            conductances,
            nodes: found.nodes,
            source,
            conductance,
            rounds: found.rounds,
            pushes: found.pushes,
            measured,
        }
    }
}
