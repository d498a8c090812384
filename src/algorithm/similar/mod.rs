//! Similarity of nodes by the neighbours that they have in common.
//!
//! **Definition.** N(u) is the set of the nodes that arcs from u lead to, without u itself; d(u) is how many they are, c = c(u, v) how many
//! N(u) and N(v) have in common.
//!
//! ~~~text
//! jaccard      c / (d(u) + d(v) - c)
//! overlap      c / min(d(u), d(v))
//! cosine       c / sqrt(d(u) d(v))
//! common       c
//! adamic-adar  sum over w in N(u) and N(v) of 1 / ln e(w)
//! ~~~
//!
//! e(w) is the number of nodes of which w is a neighbour: d(w) on undirected graphs. It is at least 2, as both u and v are among them,
//! so that no logarithm is 0; on directed graphs, too, where d(w) may be 0 or 1. A value is 0 if c is. Counts are exact, and the first
//! three values are rounded as the formula says: a quotient once, a root once before it. The numbers 1 / ln e(w) are rounded to
//! multiples of a power of two, 2^-60 times the largest d(u) or less, and added up exactly.
//!
//! **Questions.** The values of given pairs; all pairs of at least some value, each once; for each node, or for some, the nodes of the
//! highest values, of equal ones those of the lowest input ids. Only pairs with c > 0 are listed.
//!
//! **Idea, replicas, arrays.** Those of `common`. Of given pairs the shorter row is gone through and the longer one searched, by a warp
//! a pair on GPUs; pairs are dealt in equal slices.
//!
//! **Source.** Jaccard, "Étude comparative de la distribution florale dans une portion des Alpes et des Jura", Bull. Soc. Vaudoise Sci.
//! Nat. 37, 1901; Simpson, "Notes on the measurement of faunal resemblance", American J. Science 258-A, 1960 (overlap, of Szymkiewicz
//! and Simpson); Salton, McGill, "Introduction to modern information retrieval", 1983 (cosine); Adamic, Adar, "Friends and neighbors
//! on the Web", Social Networks 25(3), 2003.

mod answer;
mod read;

use super::common::{self, BYTES, Found, Keep, Measure};
use super::start::{files_of, from_nodes, most_of};
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds};
use crate::choice::number_or_none;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The workload.
pub struct Similarity;

/// What similarity is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SimilarConfig {
    /// What nodes are compared by: jaccard (common neighbours of all of both) | overlap (of all of the smaller set) | cosine (of the
    /// geometric mean) | common (their number) | adamic-adar (those with few neighbours count more) [default: jaccard].
    #[cfg_attr(feature = "cli", arg(long, value_name = "MEASURE"))]
    pub measure: Measure,
    /// Lists the most similar others of each node, so many, from 1 to 512 [default: 10].
    #[cfg_attr(feature = "cli", arg(long, value_name = "K", allow_hyphen_values = true))]
    pub top_k: Option<u64>,
    /// The nodes whose most similar others are listed: all | random:N:SEED | connected:N:SEED (of those with out-arcs to others) |
    /// 0,5,17 | first:N | file:PATH [default: all].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub sources: Option<Seeds>,
    /// Lists all pairs with a common neighbour and at least this value, from 0 on.
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    #[serde(with = "number_or_none")]
    pub threshold: Option<f64>,
    /// Lists the pairs of a file, two ids of the input a line.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath))]
    pub pairs: Option<PathBuf>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(SimilarConfig);

/// Others of a node where nothing is asked, and at most.
const BEST: u64 = 10;
const MOST: u64 = 512;

impl SimilarConfig {
    fn keep(&self) -> Keep {
        match self.threshold {
            Some(least) => Keep::Least(least),
            None => Keep::Best(self.top_k.unwrap_or(BEST) as usize),
        }
    }
}

/// The answer of [`similar`]: pairs of nodes and their values, in the order of the question; else those of a node one after another, by
/// rising input id, and of a node by falling value or, with a threshold, by rising input id.
#[derive(Debug, Clone, Default)]
pub struct SimilarPairs {
    /// `[pairs]` nodes.
    pub node: Vec<u32>,
    /// `[pairs]` the other node.
    pub other: Vec<u32>,
    /// `[pairs]` how alike they are.
    pub value: Vec<f64>,
    /// Timings and counts.
    pub measured: Measured,
}

/// How alike nodes are by their common neighbours.
///
/// # Errors
/// [`Error::Input`] for options that do not go together or are out of range, and for nodes that the graph does not have;
/// [`Error::Machine`] where pairs take more memory than there is; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds answers that differ.
pub fn similar(fleet: &Fleet, graph: &Prepared, config: &SimilarConfig) -> Result<SimilarPairs> {
    run::<Similarity>(fleet, graph, config)
}

/// What a run starts from.
pub struct SimilarStart {
    /// The nodes whose pairs are sought, by rising input id; none where pairs are given.
    pub(super) sources: Vec<u32>,
    /// The pairs of the file.
    pub(super) pairs: Vec<[u32; 2]>,
}

impl Algorithm for Similarity {
    type Config = SimilarConfig;
    type Start = SimilarStart;
    type Answer = SimilarPairs;
    const NAME: &'static str = "similar";
    const ABOUT: &'static str = "Similarity: the nodes that have most neighbours in common, by Jaccard and four other measures";
    const EXAMPLES: [&'static str; 2] = [
        "hive run similar --graph rmat:10 --top-k 5 --verify",
        "hive run similar --graph web.mtx --symmetrize --measure cosine --threshold 0.5 --output pairs.csv",
    ];
    const FORM: Form = Form::Simple;
    const RANKS: Option<&'static str> = Some("the most similar pairs");
    const KERNELS: &'static [&'static str] = &["common.cu"];

    fn check(config: &SimilarConfig) -> Result<()> {
        let SimilarConfig { top_k, sources, threshold, pairs, .. } = config;
        let set = [
            ("--pairs", pairs.is_some()),
            ("--threshold", threshold.is_some()),
            ("--top-k", top_k.is_some()),
            ("--sources", sources.is_some()),
        ];
        let mut set = set.iter().filter(|option| option.1).map(|option| option.0);
        if let (Some(first @ ("--pairs" | "--threshold")), Some(second)) = (set.next(), set.next())
        {
            return Err(Error::input(format!(
                "{first} and {second} do not go together; ask for --pairs, for a --threshold, or for --top-k of --sources"
            )));
        }
        if let Some(least) = threshold.filter(|least| !(0.0..f64::INFINITY).contains(least)) {
            return Err(Error::input(format!(
                "--threshold {least}: use a number from 0 on, as in 0.5"
            )));
        }
        match top_k {
            Some(best) if !(1..=MOST).contains(best) => {
                Err(Error::input(format!("--top-k {best}: use a number from 1 to {MOST}")))
            }
            _ => Ok(()),
        }
    }

    fn start(config: &SimilarConfig, graph: &Graph) -> Result<SimilarStart> {
        if let Some(path) = &config.pairs {
            return Ok(SimilarStart { sources: Vec::new(), pairs: read::pairs(path, graph)? });
        }
        let sources = match &config.sources {
            Some(sources) => {
                let mut sources = sources.resolve_of("--sources", graph)?;
                sources.sort_unstable_by_key(|node| graph.rank(*node));
                sources
            }
            None => (0..graph.nodes() as u32).map(|rank| graph.ranked(rank)).collect(),
        };
        if let Keep::Best(best) = config.keep() {
            let (rows, best) = (sources.len() as u64, best.min(graph.nodes()) as u64);
            crate::memory::room(&format!("{best} others of {rows} nodes"), BYTES * best * rows)?;
        }
        Ok(SimilarStart { sources, pairs: Vec::new() })
    }

    fn started(start: &SimilarStart, graph: &Graph) -> String {
        match start.sources.len() {
            0 => String::new(),
            many if many == graph.nodes() => String::new(),
            _ => from_nodes(&start.sources, "source", graph),
        }
    }

    fn array_columns(_: &SimilarConfig) -> usize {
        3
    }

    fn files(config: &SimilarConfig) -> Vec<(&'static str, &Path)> {
        let mut files = files_of([("--sources", &config.sources)]);
        files.extend(config.pairs.as_deref().map(|path| ("--pairs", path)));
        files
    }

    fn folder(config: &SimilarConfig) -> Option<String> {
        Some(config.measure.to_string())
    }

    fn arrays(shape: &GraphShape, config: &SimilarConfig, _: usize) -> Vec<DeviceArray> {
        // Slices have about as many wedges, whatever number of rows that is.
        let rows = most_of(&config.sources, shape.nodes as usize).min(shape.active as usize);
        let rows = config.pairs.is_none().then_some((config.keep(), rows));
        common::arrays(shape, config.measure, rows)
    }

    fn solve(request: Request<Self>) -> Result<SimilarPairs> {
        let Request { fleet, graph, query, run, .. } = request;
        let (SimilarStart { sources, pairs }, config) = (&query.start, &query.config);
        if config.pairs.is_some() {
            let asked = (&pairs[..], config.measure);
            let (value, mut measured) = common::pairs((fleet, graph), asked, run)?;
            measured.reached = value.len() as u64;
            measured.reached_arcs = measured.arcs_relaxed;
            let (node, other) = pairs.iter().map(|[u, v]| (*u, *v)).unzip();
            return Ok(SimilarPairs { node, other, value, measured });
        }
        let asked = (&sources[..], config.measure, config.keep());
        let (found, mut measured) = common::rows((fleet, graph), asked, run)?;
        let Found { counts, others, values, wedges } = found;
        measured.reached = values.len() as u64;
        measured.reached_arcs = wedges;
        let each = sources.iter().zip(counts);
        let node = each.flat_map(|(node, count)| std::iter::repeat_n(*node, count as usize));
        Ok(SimilarPairs { node: node.collect(), other: others, value: values, measured })
    }
}
