//! Distances by weight from several sources to several targets: a matrix.
//!
//! **Definition.** distance(s, v) is dist(v) of [shortest paths](mod@super::sssp) from source s, in f32 or in f64: the same bits as a search
//! from s alone finds. It is 0 if they are the same node, infinite where there is no path.
//!
//! **Idea.** Where degrees are flat and small, so that paths are long and a search alone leaves a GPU idle, GPUs search from many sources
//! at once (`copies`). Elsewhere the searches are those of `sssp` (`single.rs`): in f32 four go side by side on a GPU; in f64, and on
//! hosts, one fills a GPU, or all threads. In the end the distances of the targets are put side by side.
//!
//! **Replicas.** Sources are dealt in slices, and each replica searches by itself and brings its rows. Nothing is exchanged. With
//! `--merge redundant` each searches from all sources.
//!
//! **Arrays.** Those of `sssp`; `labels: [targets] u32` and `rows: [some sources, targets] f32 or f64`. Or `sources: [sources] u32`,
//! `targets: [targets] u32`, `rows: [some sources, targets] f32` and those of `copies`. Each replica's own.
//!
//! **Source.** That of `sssp`, and of `copies`.

mod single;

use super::batches::check_batch;
use super::copies::{self, Copied, Distance, matrix_arrays};
use super::frame::ReplicaAnswer;
use super::matrix::{
    Asked, COPIES, DistanceMatrix, Ends, MatrixValues, SEARCHES, check_into, check_nearest,
    file_of, is_dealt, parts,
};
use super::sssp::{self, Each, WHOLE, may_overflow, total_weight, weights_are_whole};
use super::start::{files_of, most_of};
use super::workload::{Algorithm, Query, Request, config, run};
use super::{Precision, RunOptions, Seeds};
use crate::choice::Choice;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape, total};
use crate::layout::{Form, Prepared, WeightedGraph};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use single::Width;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The workload.
pub struct WeightMatrix;

/// What a matrix of distances by weight is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DistancesConfig {
    /// The nodes of the rows, from which paths lead: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) |
    /// 0,5,17 | first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// The nodes of the columns, to which paths lead, in the same way [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TARGETS", allow_hyphen_values = true))]
    pub targets: Option<Seeds>,
    /// Width of distances: f32 | f64 | auto (f32, and the run is repeated in f64 where weights are whole numbers and a distance reaches
    /// 2^24; f64 where a sum may be more than f32 holds) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// Of each source the so many nearest targets alone, itself not counted, those of one distance by rising id [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "M"))]
    pub nearest: Option<u32>,
    /// Most sources that are searched from together: auto (up to 1,024, and as many as memory has room for) | 1 and more [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub batch: Choice<u32>,
    /// Writes rows to this .npy as they are found, in place of holding them in memory; auto is then f64 wherever a sum of whole
    /// numbers may reach 2^24. Until all are there it is PATH.part, with a list in PATH.rows, and the same command goes on with it.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PATH"))]
    pub into: Option<PathBuf>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(DistancesConfig);

/// Distances by weight from several sources to several targets.
///
/// # Errors
/// [`crate::Error::Input`] for nodes that the graph does not have or that come twice; [`crate::Error::Machine`] where a matrix takes
/// more memory than there is; [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that
/// differ.
pub fn distances(
    fleet: &Fleet,
    graph: &Prepared,
    config: &DistancesConfig,
) -> Result<DistanceMatrix> {
    run::<WeightMatrix>(fleet, graph, config)
}

impl Algorithm for WeightMatrix {
    type Config = DistancesConfig;
    type Start = Ends;
    type Answer = DistanceMatrix;
    const NAME: &'static str = "distances";
    const ABOUT: &'static str =
        "A matrix of distances by weight, from several sources to several targets";
    const EXAMPLES: [&'static str; 2] = [
        "hive run distances --graph road:6 --output distances.npy",
        "hive run distances --graph web.mtx --sources 1,5 --targets 1,9 --output distances.csv",
    ];
    const FORM: Form = Form::Weighted;
    const KERNELS: &'static [&'static str] = &["sssp.cu"];

    fn check(config: &DistancesConfig) -> Result<()> {
        check_batch(config.batch)?;
        check_nearest(config.nearest, config.into.as_deref())
    }

    fn start(config: &DistancesConfig, graph: &Graph) -> Result<Ends> {
        let bytes = match (&config.into, config.precision) {
            (Some(_), _) => 0,
            (None, Precision::F64) => 8,
            (None, _) => 4,
        };
        Ends::new([&config.sources, &config.targets], config.nearest, graph, bytes)
    }

    fn started(start: &Ends, graph: &Graph) -> String {
        start.told(graph)
    }

    fn array_columns(_: &DistancesConfig) -> usize {
        2
    }

    fn files(config: &DistancesConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources), ("--targets", &config.targets)])
    }

    fn writes(config: &Self::Config) -> Option<(&'static str, &Path)> {
        config.into.as_deref().map(|path| ("--into", path))
    }

    fn folder(config: &DistancesConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, config: &DistancesConfig, world: usize) -> Vec<DeviceArray> {
        let nodes = shape.nodes as usize;
        let ends = [&config.sources, &config.targets].map(|chosen| most_of(chosen, nodes));
        let mut all = sssp::arrays(shape, world);
        all.extend(single::arrays(ends, config.precision == Precision::F64, world));
        all
    }

    fn solve(request: Request<Self>) -> Result<DistanceMatrix> {
        let Request { fleet, graph, query, run, extras } = request;
        let (rows, config) = (graph.weighted(fleet)?, &query.config);
        let into = config.into.as_deref();
        check_into(fleet, into, (run, extras))?;
        let searched = Searched { fleet, graph, query, run, rows: &rows };
        match config.precision {
            Precision::F32 => searched.of::<f32>(),
            Precision::F64 => searched.of::<f64>(),
            Precision::Auto if may_overflow(&rows) => searched.of::<f64>(),
            // Rows that are in a file stay as they are.
            Precision::Auto if into.is_some() && may_round(&query.graph, &rows) => {
                searched.of::<f64>()
            }
            Precision::Auto => match searched.of::<f32>()? {
                found if is_rounded(&query.graph, &found.values) => searched.of::<f64>(),
                found => Ok(found),
            },
        }
    }
}

/// A question on its way to an answer.
struct Searched<'a> {
    fleet: &'a Fleet,
    graph: &'a Prepared,
    query: &'a Query<WeightMatrix>,
    run: &'a RunOptions,
    rows: &'a Arc<WeightedGraph>,
}

impl Searched<'_> {
    /// With distances of this width.
    fn of<T: Width>(&self) -> Result<DistanceMatrix> {
        let Searched { fleet, graph, query, run, rows } = self;
        let (ends, into) = (query.start.clone(), query.config.into.as_deref());
        let file = file_of::<T>(into, WeightMatrix::NAME, (&ends, &query.graph))?;
        let sizes = (ends.sources.len(), parts(fleet.world(), run), query.config.batch);
        let beside = |copies| matrix_arrays::<f32>(&ends, copies);
        let copied = match T::DOUBLE {
            true => None,
            false => Copied::new((fleet, graph), sizes, beside, (Distance::Weight, false))?,
        };
        let (dealt, run) = (is_dealt(fleet, run), (*run).clone());
        let asked = Asked { ends, file: file.clone(), dealt };
        let (strategy, answers) = match copied {
            Some(copied) => {
                let program = move |r: &mut _| copies::matrix::<f32>(r, &copied, &asked, &run);
                (COPIES, fleet.run(program)?)
            }
            None => {
                let ends = [asked.ends.sources.len(), asked.ends.targets.len()];
                let used = total(&single::arrays(ends, T::DOUBLE, 1));
                let each = Each::new(fleet, (*rows).clone(), T::DOUBLE);
                let each = each.side_by_side(fleet, sizes, used);
                let program = move |r: &mut _| single::program::<T>(r, &each, &asked, &run);
                (SEARCHES, fleet.run(program)?)
            }
        };
        let (parts, measured) = ReplicaAnswer::all(answers);
        let question = (&query.start, &*query.graph);
        DistanceMatrix::of::<T>(fleet, question, (parts, file, dealt), (strategy, measured))
    }
}

/// Whether a sum of whole numbers may be one that f32 rounds.
fn may_round(graph: &Graph, rows: &WeightedGraph) -> bool {
    total_weight(rows) >= WHOLE.into() && weights_are_whole(graph)
}

/// Whether sums in f32 that should be whole numbers may not be exact.
fn is_rounded(graph: &Graph, values: &MatrixValues) -> bool {
    let MatrixValues::F32(all) = values else { return false };
    all.par_iter().any(|value| *value >= WHOLE && value.is_finite()) && weights_are_whole(graph)
}
