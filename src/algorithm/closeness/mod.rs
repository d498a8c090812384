//! Closeness, harmonic centrality and eccentricity: how far a node is from the others, in arcs or by weight.
//!
//! **Definition.** Let d(s, v) be the number of arcs of a shortest path from source s to node v, or, `weighted`, the least sum of the
//! weights of a path (an arc without a weight counts 1). Let S be the sources other than v, and R those of S from which there is a path
//! to v. Then
//!
//! ~~~text
//! closeness(v)    = |R| / sum over R of d(s, v)  *  |R| / |S|
//! harmonic(v)     = sum over R of 1 / d(s, v)    *  (n - 1) / |S|
//! eccentricity(v) = the largest d(s, v) of R
//! ~~~
//!
//! Distances above `within` count as if there were no path. With `mode` out it is d(v, s). Without sources, or with all nodes as
//! sources, these are the exact values; from k sources drawn at random they are estimates (the eccentricity is too low). Closeness is 0
//! where R is empty or all of it is at distance 0, and sources at distance 0 add nothing to the harmonic sum.
//!
//! **Idea.** Up to 1,024 sources, of like degrees, are searched from together (`lanes`). A node adds up how many reach it in each
//! level. Where degrees are small and alike, so that paths are long, GPUs search from many sources at once in copies of the graph
//! (`copies`). Elsewhere searches by weight are those of `sssp`, up to four side by side on a GPU. After these a node adds up its distances
//! (`sums.rs`).
//!
//! **Replicas.** A replica that has finished a batch of sources takes the next, and searches by itself. In several processes batches are
//! dealt in turn instead. At the end what replicas have added up is summed: whole numbers of a fixed unit and of its parts, so that the
//! bits are the same on any number of replicas. With `--merge redundant` each searches from all sources.
//!
//! **Arrays.** Those of `lanes`; among them `far, harmonic: [n] u64` and `reached: [n] u32`, replicated, SUM; `farthest: [n] u32`,
//! replicated, MAX. Or those of `copies` or of `sssp`; `sources: [sources] u32`; `far, harmonic: [4, n] u64`
//! (words of a sum) and `reached: [n] u32`, replicated, SUM; `farthest: [n] f64`, replicated, MAX; for
//! `vn`, `nearest: [n] f64`, replicated, MIN.
//!
//! **Source.** Wasserman, Faust, "Social network analysis", 1994, 5.2 (closeness of
//! disconnected graphs); Boldi, Vigna, "Axioms for centrality", Internet Mathematics 10, 2014 (harmonic); Eppstein, Wang, "Fast
//! approximation of centrality", J. Graph Algorithms and Applications 8, 2004 (random sources).

mod answer;
mod histogram;
mod program;
mod sums;

use super::batches::{Batches, check_batch};
use super::copies::{Copied, Distance};
use super::frame::ReplicaAnswer;
use super::lanes::{self, LaneShape};
use super::matrix::{COPIES, LEVELS, SEARCHES, is_dealt, parts};
use super::sssp::{self, Each, WHOLE, may_overflow, weights_are_whole};
use super::start::{files_of, most_of};
use super::workload::{Algorithm, Query, Request, config, run};
use super::{Measured, Precision, RunOptions, Seeds};
use crate::choice::Choice;
use crate::choice::number_or_none;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape, total};
use crate::layout::{Form, Prepared, Resident};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use sums::{How, Scales, Wanted};

pub use histogram::Histogram;

words!(
    /// Which way distances are counted.
    ClosenessMode, "--mode" {
        /// From the sources to the node.
        #[default]
        In = "in",
        /// From the node to the sources.
        Out = "out",
    }
);

words!(
    /// What nodes are listed by.
    ClosenessRank, "--rank-by" {
        /// The closest first.
        #[default]
        Closeness = "closeness",
        /// The highest harmonic centrality first.
        Harmonic = "harmonic",
        /// The smallest eccentricity first, of those that most sources reach.
        Eccentricity = "eccentricity",
    }
);

/// The workload.
pub struct ClosenessCentrality;

/// What closeness is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClosenessConfig {
    /// The nodes that distances are counted from: all (exact values) | random:N:SEED (estimates) | connected:N:SEED (of those
    /// with out-arcs to others) | 0,5,17 | first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Which way distances are counted: in (from the sources to the node) | out (from the node to the sources) [default: in].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WAY"))]
    pub mode: ClosenessMode,
    /// Distances are sums of weights, not numbers of arcs.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub weighted: bool,
    /// Width of distances by weight: f32 | f64 | auto (f32, and the run is repeated in f64 where weights are whole numbers and a distance
    /// reaches 2^24; f64 where a sum may be more than f32 holds) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub precision: Precision,
    /// Sources farther than this do not count, as if there were no path [default: all count].
    #[cfg_attr(feature = "cli", arg(long, value_name = "DISTANCE", allow_hyphen_values = true))]
    #[serde(with = "number_or_none")]
    pub within: Option<f64>,
    /// Counts pairs of a source and a node by distance, in bins of this width: 1 counts each number of arcs [default: not counted].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WIDTH", allow_hyphen_values = true))]
    #[serde(with = "number_or_none")]
    pub histogram: Option<f64>,
    /// Most sources that are searched from together: auto (up to 1,024, and as many as memory has room for) | 1 and more [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub batch: Choice<u32>,
    /// What --top lists nodes by: closeness | harmonic | eccentricity (the smallest first) [default: closeness].
    #[cfg_attr(feature = "cli", arg(long, value_name = "MEASURE"))]
    pub rank_by: ClosenessRank,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(ClosenessConfig);

/// The answer of [`closeness`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Closeness {
    /// `[n]` closeness, 0 to 1.
    pub closeness: Vec<f64>,
    /// `[n]` harmonic centrality, 0 to n - 1.
    pub harmonic: Vec<f64>,
    /// `[n]` the largest distance.
    pub eccentricity: Eccentricity,
    /// `[n]` how many sources other than the node are at a finite distance, and no farther than wanted.
    pub reached: Vec<u32>,
    /// The mean of these distances, of all nodes together; 0 where there are none.
    pub mean_distance: f64,
    /// How many of these pairs are at which distance, where that was asked.
    pub histogram: Option<Histogram>,
    /// How many sources there are.
    pub sources: u64,
    /// Distances by weight were added up in 64 bits.
    pub double: bool,
    /// How it was found: `levels` (up to 1,024 sources at a time), `copies` (as many) or `searches` (one at a time, or up to four).
    pub strategy: &'static str,
    /// Timings and counts.
    pub measured: Measured,
}

/// Largest distances, `[n]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Eccentricity {
    /// In arcs.
    Arcs(Vec<u32>),
    /// By weight.
    Weight(Vec<f64>),
}

impl Default for Eccentricity {
    fn default() -> Eccentricity {
        Eccentricity::Arcs(Vec::new())
    }
}

impl Eccentricity {
    /// Of one node.
    pub fn of(&self, node: usize) -> f64 {
        match self {
            Eccentricity::Arcs(all) => all[node].into(),
            Eccentricity::Weight(all) => all[node],
        }
    }
}

/// How close every node is to the others, or to some sources.
///
/// # Errors
/// [`Error::Input`] for sources that the graph does not have or that come twice; [`Error::Fault`] when a replica fails;
/// [`Error::Verify`] when `compare` finds answers that differ.
pub fn closeness(fleet: &Fleet, graph: &Prepared, config: &ClosenessConfig) -> Result<Closeness> {
    run::<ClosenessCentrality>(fleet, graph, config)
}

impl Algorithm for ClosenessCentrality {
    type Config = ClosenessConfig;
    /// Sources by node index, rising.
    type Start = Vec<u32>;
    type Answer = Closeness;
    const NAME: &'static str = "closeness";
    const ABOUT: &'static str =
        "Closeness, harmonic centrality and eccentricity: how far every node is from the others";
    const EXAMPLES: [&'static str; 2] = [
        "hive run closeness --graph rmat:12 --top 10",
        "hive run closeness --graph web.mtx --sources random:16:1 --rank-by harmonic --output close.tsv",
    ];
    const FORM: Form = Form::General;
    const KERNELS: &'static [&'static str] = &["lanes.cu"];
    const RANKS: Option<&'static str> = Some("the nodes that are closest");

    fn start(config: &ClosenessConfig, graph: &Graph) -> Result<Vec<u32>> {
        let mut nodes =
            config.sources.as_ref().unwrap_or(&Seeds::All).resolve_of("--sources", graph)?;
        nodes.sort_unstable();
        Ok(nodes)
    }

    fn started(start: &Vec<u32>, graph: &Graph) -> String {
        match start.len() == graph.nodes() {
            true => String::new(),
            false => super::from_nodes(start, "source", graph),
        }
    }

    fn array_columns(_: &ClosenessConfig) -> usize {
        4
    }

    fn files(config: &ClosenessConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources)])
    }

    fn folder(config: &ClosenessConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn check(config: &ClosenessConfig) -> Result<()> {
        check_batch(config.batch)?;
        if let Some(within) = config.within.filter(|within| within.is_nan() || *within < 0.0) {
            return Err(Error::input(format!("--within {within}: a distance is 0 or more")));
        }
        if let Some(width) = config.histogram {
            let what = match config.weighted {
                true => "a width is a number above 0",
                false => "a width is a whole number of arcs, 1 or more",
            };
            let least = if config.weighted { f64::MIN_POSITIVE } else { 1.0 };
            let is_whole = config.weighted || width.fract() == 0.0;
            if !(width.is_finite() && width >= least && is_whole) {
                return Err(Error::input(format!("--histogram {width}: {what}")));
            }
        }
        match config.weighted || config.precision == Precision::Auto {
            true => Ok(()),
            false => {
                Err(Error::input("--precision is of distances by weight; use it with --weighted"))
            }
        }
    }

    fn arrays(shape: &GraphShape, config: &ClosenessConfig, world: usize) -> Vec<DeviceArray> {
        let sources = most_of(&config.sources, shape.nodes as usize);
        let mut all = match config.weighted {
            true => summed_arrays(shape, (sources, false), world),
            false => lanes::arrays(shape, sources, LaneShape::least(sources), world),
        };
        all.extend(config.histogram.iter().flat_map(|_| histogram::arrays(world)));
        all
    }

    fn solve(request: Request<Self>) -> Result<Closeness> {
        let Request { fleet, graph, query, run, .. } = request;
        let asked = Asked { fleet, graph, query, run, least: false };
        let found = if query.config.weighted { asked.by_weight()? } else { asked.by_arcs()? };
        Closeness::of(found, query)
    }
}

/// A question on its way to an answer.
struct Asked<'a> {
    fleet: &'a Fleet,
    graph: &'a Prepared,
    query: &'a Query<ClosenessCentrality>,
    run: &'a RunOptions,
    /// The least distance is wanted.
    least: bool,
}

impl Asked<'_> {
    fn by_arcs(&self) -> Result<Found> {
        let Asked { fleet, graph, query, run, .. } = self;
        let backward = query.config.mode == ClosenessMode::Out;
        let of = (Distance::Arcs, backward);
        if let Some(copied) = Copied::new((fleet, graph), self.sizes(), |_| self.arrays(), of)? {
            return self.summed(How::Copies(copied));
        }
        let (rows, config, run) = (graph.general(fleet)?, query.config.clone(), (*run).clone());
        let sources = alike_together(&query.start, &rows, backward);
        let shape = LaneShape::new((fleet, &query.graph), self.sizes(), |_| Vec::new());
        let batches = self.batches(shape.lanes);
        let program =
            move |r: &mut _| program::program(r, &rows, &config, (&sources, shape, &batches), &run);
        Ok(self.found(fleet.run(program)?, LEVELS))
    }

    fn by_weight(&self) -> Result<Found> {
        let Asked { fleet, graph, query, .. } = self;
        let rows = graph.weighted(fleet)?;
        let backward = query.config.mode == ClosenessMode::Out && !query.graph.is_symmetric();
        // Distances to the sources are those from them in the graph turned around.
        let searches = |double| -> Result<Found> {
            let rows = match backward {
                true => {
                    let turned = Arc::new(query.graph.transpose());
                    Prepared::new(fleet, turned, *graph.options())?.weighted(fleet)?
                }
                false => rows.clone(),
            };
            let each = Each::new(fleet, rows, double);
            let used = total(&self.arrays());
            self.summed(How::Searches(each.side_by_side(fleet, self.sizes(), used)))
        };
        let double = || searches(true);
        let single = || {
            let of = (Distance::Weight, backward);
            match Copied::new((fleet, graph), self.sizes(), |_| self.arrays(), of)? {
                Some(copied) => self.summed(How::Copies(copied)),
                None => searches(false),
            }
        };
        match query.config.precision {
            Precision::F32 => single(),
            Precision::F64 => double(),
            Precision::Auto if may_overflow(&rows) => double(),
            Precision::Auto => match single()? {
                found if found.is_far() && weights_are_whole(&query.graph) => double(),
                found => Ok(found),
            },
        }
    }

    fn summed(&self, how: How) -> Result<Found> {
        let Asked { fleet, query, run, .. } = self;
        let (run, sources) = ((*run).clone(), query.start.clone());
        let double = how.is_double();
        let strategy = if matches!(how, How::Copies(_)) { COPIES } else { SEARCHES };
        let wanted = Wanted {
            scales: Scales::new(&how, &query.graph)?,
            within: query.config.within.unwrap_or(f64::MAX),
            least: self.least,
            width: query.config.histogram,
        };
        let batches = self.batches(how.at_once());
        let program = move |r: &mut _| sums::program(r, (&how, wanted), (&sources, &batches), &run);
        Ok(Found { double, ..self.found(fleet.run(program)?, strategy) })
    }

    fn found(&self, answers: Vec<ReplicaAnswer<Sums>>, strategy: &'static str) -> Found {
        let query = self.query;
        let (sums, mut measured) = ReplicaAnswer::first(answers);
        measured.reached = query.graph.nodes() as u64;
        measured.reached_arcs = query.graph.arcs() * query.start.len() as u64;
        Found { sums, double: false, strategy, measured }
    }

    /// Of a replica beside what searches need.
    fn arrays(&self) -> Vec<DeviceArray> {
        sums::arrays((self.query.graph.nodes(), self.query.start.len()), self.least, 1)
    }

    /// Sources, among how many replicas they are dealt, and how many of them go together.
    fn sizes(&self) -> (usize, usize, Choice<u32>) {
        let Query { start, config, .. } = self.query;
        (start.len(), parts(self.fleet.world(), self.run), config.batch)
    }

    /// Of at most so many sources.
    fn batches(&self, at_once: usize) -> Batches {
        let count = self.query.start.len().div_ceil(at_once);
        Batches::new(self.fleet, count, is_dealt(self.fleet, self.run))
    }
}

/// The sources in the order in which batches take them: by degree, the smallest first. Sources of like degrees reach other nodes in
/// the same levels more often, so that their batch has fewer full levels. Batches of small degrees tend to take the longest.
fn alike_together(sources: &[u32], graph: &Resident, backward: bool) -> Vec<u32> {
    let rows = if backward { graph.rows_in() } else { Some(&**graph.graph()) };
    let mut sources = sources.to_vec();
    sources.sort_by_cached_key(|source| rows.map(|rows| rows.degree(*source as usize)));
    sources
}

/// What nodes have added up.
pub(super) struct Found {
    pub sums: Sums,
    /// Distances by weight had 64 bits.
    pub double: bool,
    pub strategy: &'static str,
    pub measured: Measured,
}

impl Found {
    /// Whether f32 may have rounded whole numbers.
    fn is_far(&self) -> bool {
        self.sums.farthest.iter().any(|farthest| *farthest >= WHOLE.into())
    }
}

/// What a replica's program finds: `[n]` each.
#[derive(Default)]
pub(super) struct Sums {
    pub far: Vec<f64>,
    /// Of 1 / distance.
    pub harmonic: Vec<f64>,
    pub reached: Vec<u32>,
    pub farthest: Vec<f64>,
    /// The least distance, where it was wanted; infinite where there is none.
    pub nearest: Vec<f64>,
    /// `[histogram::ALL]` pairs by distance, where they were counted.
    pub pairs: Vec<u64>,
}

/// The sums by weight of the distances from some nodes, and the least of these.
pub(super) fn summed(
    fleet: &Fleet,
    graph: &Prepared,
    (sources, precision): (&[u32], Precision),
    run: &RunOptions,
) -> Result<Found> {
    let mut start = sources.to_vec();
    start.sort_unstable();
    let config = ClosenessConfig { weighted: true, precision, ..ClosenessConfig::default() };
    let (of, prepare) = (graph.graph().clone(), *graph.options());
    let query = Query { config, graph: of, prepare, start };
    Asked { fleet, graph, query: &query, run, least: true }.by_weight()
}

/// What that takes of one of `world` replicas; `least`: with the least distance.
pub(super) fn summed_arrays(
    shape: &GraphShape,
    (sources, least): (usize, bool),
    world: usize,
) -> Vec<DeviceArray> {
    let sizes = (shape.nodes as usize, sources);
    [sssp::arrays(shape, world), sums::arrays(sizes, least, world)].concat()
}
