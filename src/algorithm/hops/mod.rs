//! Distances in arcs from several sources to several targets: a matrix.
//!
//! **Definition.** hops(s, v) is the least number of arcs of a path from source s to target v, whatever the arcs weigh; 0 if they are the
//! same node. Where there is no path it is the largest number of the matrix's type.
//!
//! **Idea.** Up to 1,024 sources are searched from together (`lanes`). At the end of a level each node that has new bits writes the level
//! into its column, at the rows of these bits. Where degrees are small and alike, so that paths are long, the sources of such a batch share
//! little: GPUs search from many sources at once in copies of the graph instead (`copies`), and the host from a source a thread
//! (`host.rs`).
//!
//! **Replicas.** Batches of sources are dealt in slices, and each replica searches by itself and brings its rows. Nothing is exchanged.
//! With `--merge redundant` each searches from all sources.
//!
//! **Arrays.** Those of `lanes`; `rows: [lanes, targets] u8 or u32`, `column: [n] u32` and `beyond: [1] u32`, each replica's own.
//! Or those of `copies`.
//!
//! **Source.** That of `lanes`, and of `copies`.

mod host;
mod program;

use super::batches::check_batch;
use super::copies::{self, Copied, Distance, matrix_arrays};
use super::frame::ReplicaAnswer;
use super::lanes::{self, LaneShape};
use super::matrix::{
    Asked, COPIES, DistanceMatrix, Ends, LEVELS, SEARCHES, check_into, check_nearest, file_of,
    is_dealt, parts,
};
use super::start::{files_of, most_of};
use super::workload::{Algorithm, Request, config, run};
use super::{RunOptions, Seeds};
use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, is_flat_graph};
use crate::words::words;
use program::Hops;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

words!(
    /// The type of the values.
    HopType, "--dtype" {
        /// The smallest that has room for a path through all nodes.
        #[default]
        Auto = "auto",
        /// Up to 254 arcs.
        U8 = "u8",
        /// Up to 65,534 arcs.
        U16 = "u16",
        /// Any number of arcs.
        U32 = "u32",
    }
);

impl HopType {
    /// What it is for a graph of so many nodes.
    fn of(self, nodes: usize) -> HopType {
        match self {
            HopType::Auto if nodes <= usize::from(u8::MAX) => HopType::U8,
            HopType::Auto if nodes <= usize::from(u16::MAX) => HopType::U16,
            HopType::Auto => HopType::U32,
            asked => asked,
        }
    }

    /// Bytes of a value.
    fn bytes(self) -> usize {
        match self {
            HopType::U8 => 1,
            HopType::U16 => 2,
            HopType::U32 | HopType::Auto => 4,
        }
    }
}

/// The workload.
pub struct HopMatrix;

/// What a matrix of distances in arcs is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HopsConfig {
    /// The nodes of the rows, from which paths lead: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) |
    /// 0,5,17 | first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// The nodes of the columns, to which paths lead, in the same way [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub targets: Option<Seeds>,
    /// Of each source the so many nearest targets alone, itself not counted, those of one distance by rising id [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "M"))]
    pub nearest: Option<u32>,
    /// Type of the values, the largest of which says that there is no path: u8 | u16 | u32 | auto (the smallest that has room for a
    /// path through all nodes). A distance that it has no room for stops the run [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub dtype: HopType,
    /// Most sources that are searched from together: auto (up to 1,024, and as many as memory has room for) | 1 and more [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub batch: Choice<u32>,
    /// Writes rows to this .npy as they are found, in place of holding them in memory. Until all are there it is PATH.part, with a
    /// list in PATH.rows, and the same command goes on with it.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PATH"))]
    pub into: Option<PathBuf>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(HopsConfig);

/// Distances in arcs from several sources to several targets.
///
/// # Errors
/// [`Error::Input`] for nodes that the graph does not have or that come twice, and for a distance that the type has no room for;
/// [`Error::Machine`] where a matrix takes more memory than there is; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds answers that differ.
pub fn hops(fleet: &Fleet, graph: &Prepared, config: &HopsConfig) -> Result<DistanceMatrix> {
    run::<HopMatrix>(fleet, graph, config)
}

impl Algorithm for HopMatrix {
    type Config = HopsConfig;
    type Start = Ends;
    type Answer = DistanceMatrix;
    const NAME: &'static str = "hops";
    const ABOUT: &'static str =
        "A matrix of distances in arcs, from several sources to several targets";
    const EXAMPLES: [&'static str; 2] = [
        "hive run hops --graph grid:8x8 --output hops.npy",
        "hive run hops --graph rmat:12 --sources random:256:1 --targets first:99 --dtype u8",
    ];
    const FORM: Form = Form::General;
    const KERNELS: &'static [&'static str] = &["lanes.cu"];

    fn check(config: &HopsConfig) -> Result<()> {
        check_batch(config.batch)?;
        check_nearest(config.nearest, config.into.as_deref())
    }

    fn start(config: &HopsConfig, graph: &Graph) -> Result<Ends> {
        let held = config.into.is_none();
        let bytes = if held { config.dtype.of(graph.nodes()).bytes() } else { 0 };
        Ends::new([&config.sources, &config.targets], config.nearest, graph, bytes)
    }

    fn started(start: &Ends, graph: &Graph) -> String {
        start.told(graph)
    }

    fn array_columns(_: &HopsConfig) -> usize {
        2
    }

    fn files(config: &HopsConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources), ("--targets", &config.targets)])
    }

    fn writes(config: &Self::Config) -> Option<(&'static str, &Path)> {
        config.into.as_deref().map(|path| ("--into", path))
    }

    fn folder(config: &HopsConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &HopsConfig, world: usize) -> Vec<DeviceArray> {
        let nodes = shape.nodes as usize;
        let (sources, targets) = (most_of(&config.sources, nodes), most_of(&config.targets, nodes));
        let least = LaneShape::least(sources);
        let mut all = lanes::arrays(shape, sources, least, world);
        let values = least.lanes * targets;
        let small = config.dtype.of(nodes) == HopType::U8;
        all.extend(program::arrays(nodes, values, small, world));
        all
    }

    fn solve(request: Request<Self>) -> Result<DistanceMatrix> {
        match request.query.config.dtype.of(request.query.graph.nodes()) {
            HopType::U8 => solved::<u8>(request),
            HopType::U16 => solved::<u16>(request),
            HopType::U32 | HopType::Auto => solved::<u32>(request),
        }
    }
}

fn solved<T: Hops>(request: Request<HopMatrix>) -> Result<DistanceMatrix> {
    let Request { fleet, graph, query, run, extras } = request;
    let into = query.config.into.as_deref();
    check_into(fleet, into, (run, extras))?;
    let (ends, dealt) = (query.start.clone(), is_dealt(fleet, run));
    let file = file_of::<T>(into, HopMatrix::NAME, (&ends, &query.graph))?;
    let sizes = (ends.sources.len(), parts(fleet.world(), run), query.config.batch);
    let beside = |copies| matrix_arrays::<T>(&ends, copies);
    let copied = Copied::new((fleet, graph), sizes, beside, (Distance::Arcs, false))?;
    let (asked, run) = (Asked { ends, file: file.clone(), dealt }, run.clone());
    let (strategy, answers) = match copied {
        Some(copied) => {
            let program = move |r: &mut _| copies::matrix::<T>(r, &copied, &asked, &run);
            (COPIES, fleet.run(program)?)
        }
        None => {
            let rows = graph.general(fleet)?;
            let by_threads = fleet.info().backend != "cuda" && is_flat_graph(rows.graph());
            let beside =
                |lanes| program::matrix_arrays::<T>(&asked.ends, lanes, rows.graph().nodes());
            let shape = LaneShape::new((fleet, rows.graph()), sizes, beside);
            let shape = if by_threads { shape.without_bits() } else { shape };
            let program =
                move |r: &mut _| program::program::<T>(r, &rows, (&asked, by_threads, shape), &run);
            (if by_threads { SEARCHES } else { LEVELS }, fleet.run(program)?)
        }
    };
    let (parts, measured) = ReplicaAnswer::all(answers);
    let found = (parts, file, dealt);
    DistanceMatrix::of::<T>(fleet, (&query.start, &query.graph), found, (strategy, measured))
}
