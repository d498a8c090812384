//! What a graph is: a host CSR with 64-bit row offsets, 32-bit column indices and optional weights.

pub(crate) mod array;
pub(crate) mod bits;
pub(crate) mod build;
pub(crate) mod check;
mod components;
mod diameter;
mod names;
pub mod options;
mod policy;
mod statistics;
mod symmetry;

pub use array::SharedSlice;
pub use components::WeakComponents;
pub use diameter::Diameter;
pub use names::NodeId;
pub(crate) use names::Texts;
pub use statistics::{Bin, Components, Degrees, Statistics, Weights};

use crate::error::{Error, Result};
use array::Array;
use build::Csr;
pub(crate) use build::Keep;
use names::Names;
use options::LoadOptions;
use rayon::prelude::*;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// The most nodes a graph may have: ids are u32, and `u32::MAX` itself means "unreached" or "none".
pub const MAX_NODES: u64 = u32::MAX as u64 - 1;

/// Where a graph came from and what was found on the way in; echoed in every result.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Short name, as in `enron` or `rmat24`: the HIVE records' `dataset`.
    pub dataset: String,
    /// The path or generator specification as the user gave it.
    pub graph_file: String,
    /// The format that was recognised, as in `matrix-market` or `rmat`.
    pub format: String,
    /// Smallest id that the input can name: 0, or 1 for Matrix Market. Input id = node + `id_base`, where the
    /// graph has no [`Graph::names`].
    pub id_base: u32,
    /// Where the weights came from: `file`, `unit`, `multiplicity` (arcs that were summed), `generated` or
    /// `random:LO-HI:SEED`.
    pub weights: String,
    /// Whether the first line of an edge list was taken for the numbers of nodes and arcs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counts_line: bool,
    /// Arcs (v, v) that were found; `policies` says whether they stayed.
    pub self_loops: u64,
    /// Arcs beyond the first of the same (source, neighbour) that were found; as above.
    pub duplicates: u64,
    /// What was asked of the load.
    pub policies: LoadOptions,
    /// Whether the graph came from the cache.
    pub cached: bool,
    /// What the file of places counted its nodes from, where that is not what the graph counts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places_first_id: Option<u64>,
    /// Milliseconds spent reading and parsing (or generating).
    pub load_ms: f64,
    /// Milliseconds spent building the CSR.
    pub build_ms: f64,
    /// Where the CSR was built, where a GPU might have built it: `the GPU`, or `the host` and why.
    #[serde(skip)]
    pub built_on: String,
}

/// What the maker of a graph knows of it, so that nobody has to look at its arcs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// [`Graph::default_source`].
    pub source: Option<u32>,
    /// [`Graph::isolated`].
    pub isolated: Option<u64>,
    /// [`Graph::self_loops`].
    pub self_loops: Option<u64>,
    /// [`Graph::is_undirected`].
    pub undirected: Option<bool>,
}

/// A directed graph in compressed sparse rows. Row u lists the arcs u -> v.
///
/// Rows are sorted by (column, weight). Nodes are 0..n-1; isolated nodes are kept. Weights are finite
/// and >= 0 with no negative zero; a graph without weights counts every arc as 1.
#[derive(Debug, Clone)]
pub struct Graph {
    offsets: Array<u64>,
    columns: Array<u32>,
    weights: Option<Array<f32>>,
    symmetric: OnceLock<bool>,
    /// Symmetric but for weights.
    undirected: OnceLock<bool>,
    /// What the input calls its nodes, where that is more than `origin.id_base` above.
    names: Option<Arc<Names>>,
    /// The transpose, where the graph came with it.
    reverse: Option<Arc<Rows>>,
    places: Option<Arc<Places>>,
    /// Rows are sorted by (weight, column).
    by_weight: bool,
    facts: Facts,
    /// [`Graph::default_source`], once it is known.
    source: OnceLock<u32>,
    /// Provenance, echoed in results.
    pub origin: Origin,
}

#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub offsets: Array<u64>,
    pub columns: Array<u32>,
    pub weights: Option<Array<f32>>,
}

/// Where nodes are on the globe, `[n]` in degrees; NaN where it is not known.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub latitude: Array<f64>,
    pub longitude: Array<f64>,
}

/// Arcs as a reader found them, in file order; `weights` is empty when there is no value column.
#[derive(Debug, Default)]
pub(crate) struct ArcList<I = u32> {
    pub pairs: Vec<(I, I)>,
    pub weights: Vec<f32>,
    /// The number of the copy that a GPU has, if it has one: of the arcs as they were read.
    pub copy: Option<u64>,
}

impl ArcList {
    /// The pairs as plain numbers.
    pub(crate) fn ends(&self) -> &[[u32; 2]] {
        const {
            let (first, second) = (offset_of!((u32, u32), 0), offset_of!((u32, u32), 1));
            assert!(first == 0 && second == 4 && size_of::<(u32, u32)>() == 8);
        }
        // SAFETY: a pair is two u32, source first, with nothing beside them, as was just asserted; they are aligned alike.
        unsafe { std::slice::from_raw_parts(self.pairs.as_ptr().cast(), self.pairs.len()) }
    }
}

impl Graph {
    /// Differs where rows, weights, places or what the input calls its nodes do. It reads all of them.
    pub(crate) fn fingerprint(&self) -> u64 {
        let sum = |bytes: &[u8]| {
            let parts: Vec<u64> = bytes.par_chunks(1 << 22).map(xxh3_64).collect();
            xxh3_64(bytemuck::cast_slice(&parts))
        };
        let weights = self.weights().map_or(0, |weights| sum(bytemuck::cast_slice(weights)));
        let rows = [bytemuck::cast_slice(self.offsets()), bytemuck::cast_slice(self.columns())];
        let [offsets, columns] = rows.map(sum);
        let names = match self.texts() {
            None => vec![u64::from(self.origin.id_base)],
            Some(_) => {
                let name = |v: u32| xxh3_64(self.id(v).to_string().as_bytes());
                (0..self.nodes() as u32).into_par_iter().map(name).collect()
            }
        };
        let names = sum(bytemuck::cast_slice(&names));
        let numbers = self.names().map_or(0, |ids| sum(bytemuck::cast_slice(ids)));
        let places = self.places().map_or([0; 2], |(latitudes, longitudes)| {
            [latitudes, longitudes].map(|degrees| sum(bytemuck::cast_slice(degrees)))
        });
        let all = [offsets, columns, weights, names, numbers, places[0], places[1]];
        xxh3_64(bytemuck::cast_slice(&all))
    }

    /// Wraps a finished CSR after checking it: offsets start at 0, never fall and end at the arc
    /// count; ids are below n; weights are finite and >= 0 (-0 becomes 0).
    ///
    /// Rows that are not sorted by (column, weight) are sorted. Self loops and duplicates are counted
    /// into `origin`.
    pub fn from_csr(
        offsets: Vec<u64>,
        columns: Vec<u32>,
        weights: Option<Vec<f32>>,
        origin: Origin,
    ) -> Result<Graph> {
        let weights = weights.map(Array::from);
        let rows = Rows { offsets: offsets.into(), columns: columns.into(), weights };
        Graph::sorted(rows, origin)
    }

    /// [`Graph::from_csr`] of arrays that somebody else holds. They are copied only where rows are not sorted, and weights where one
    /// is -0.
    pub fn from_shared_csr(
        offsets: SharedSlice<u64>,
        columns: SharedSlice<u32>,
        weights: Option<SharedSlice<f32>>,
        origin: Origin,
    ) -> Result<Graph> {
        let weights = weights.map(Array::Shared);
        let rows =
            Rows { offsets: Array::Shared(offsets), columns: Array::Shared(columns), weights };
        Graph::sorted(rows, origin)
    }

    /// [`Graph::from_csr`] of arrays that may be parts of a file.
    pub(crate) fn sorted(rows: Rows, origin: Origin) -> Result<Graph> {
        let start = Instant::now();
        check::offsets(&rows.offsets, rows.columns.len())?;
        let mut graph = Graph::of_rows(rows, None, origin);
        graph.check_weight_count()?;
        // One sweep looks at all: where rows rise, no column is above the last of its row.
        let found = check::rows(&graph);
        if !found.sorted || found.last as usize >= graph.nodes() {
            check::ids(&graph.columns, graph.nodes(), "column")?;
        }
        graph.check_weights()?;
        graph.origin.self_loops = found.self_loops;
        graph.origin.duplicates = found.duplicates;
        if !found.sorted {
            let csr = graph.rebuilt(|u, v| (u, v));
            graph = Graph::trusted(csr, graph.origin, None);
        }
        graph.origin.build_ms += milliseconds(start);
        Ok(graph)
    }

    /// As [`Graph::from_csr`], with rows left in the order that they have. For [`Graph::kept`] only.
    pub(crate) fn unsorted(rows: Rows, origin: Origin) -> Result<Graph> {
        check::offsets(&rows.offsets, rows.columns.len())?;
        let mut graph = Graph::of_rows(rows, None, origin);
        check::ids(&graph.columns, graph.nodes(), "column")?;
        graph.check_weight_count()?;
        graph.check_weights()?;
        Ok(graph)
    }

    /// This graph with weights, one an arc in the order of its arcs, in place of those that it has.
    ///
    /// # Errors
    /// [`Error::Input`] for another number of weights, and for weights that are not finite and >= 0.
    pub fn with_shared_weights(&self, weights: SharedSlice<f32>) -> Result<Graph> {
        let start = Instant::now();
        let mut graph = Graph {
            weights: Some(Array::Shared(weights)),
            symmetric: OnceLock::new(),
            undirected: self.known_undirected().map_or_else(OnceLock::new, OnceLock::from),
            reverse: None,
            ..self.clone()
        };
        graph.check_weight_count()?;
        graph.check_weights()?;
        // Parallel arcs come by weight.
        if graph.origin.duplicates > 0 && !check::rows(&graph).sorted {
            let csr = graph.rebuilt(|u, v| (u, v));
            (graph.columns, graph.weights) = (csr.columns.into(), csr.weights.map(Array::from));
        }
        graph.origin.build_ms += milliseconds(start);
        Ok(graph)
    }

    fn check_weight_count(&self) -> Result<()> {
        let weights = self.weights.as_ref().map_or(self.columns.len(), |weights| weights.len());
        check::same_length(self.columns.len(), weights, "weights")
    }

    fn check_weights(&mut self) -> Result<()> {
        self.weights.as_mut().map_or(Ok(()), check::weights)
    }

    /// Whether its arcs are part of a file, from where they are there as soon as from a cache.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.columns, Array::Mapped { .. })
    }

    /// A graph of arrays that were checked. `symmetric` is what their maker knows.
    pub(crate) fn of_rows(rows: Rows, symmetric: Option<bool>, origin: Origin) -> Graph {
        Graph {
            offsets: rows.offsets,
            columns: rows.columns,
            weights: rows.weights,
            symmetric: symmetric.map_or_else(OnceLock::new, OnceLock::from),
            undirected: OnceLock::new(),
            names: None,
            reverse: None,
            places: None,
            by_weight: false,
            facts: Facts::default(),
            source: OnceLock::new(),
            origin,
        }
    }

    /// This graph, of which its maker knows these facts.
    pub(crate) fn with_facts(mut self, facts: Facts) -> Graph {
        self.facts = facts;
        facts.source.into_iter().for_each(|source| self.tell_source(source));
        if let Some(undirected) = facts.undirected {
            self.undirected = undirected.into();
        }
        self
    }

    /// Refuses a graph whose rows lie by weight: whoever asks believes them sorted by neighbour.
    pub(crate) fn check_rows(&self) -> Result<()> {
        if !self.by_weight {
            return Ok(());
        }
        let what = "the graph's rows lie by weight (RowOrder::Weight of ResidentOptions); give the graph that was loaded";
        Err(Error::input(what))
    }

    /// The arrays.
    pub(crate) fn into_rows(self) -> Rows {
        Rows { offsets: self.offsets, columns: self.columns, weights: self.weights }
    }

    /// Whether the transpose came with the graph.
    pub fn has_reverse(&self) -> bool {
        self.reverse.is_some()
    }

    /// The transpose's arrays, where the graph came with them.
    pub(crate) fn reverse(&self) -> Option<&Rows> {
        self.reverse.as_deref()
    }

    /// Latitudes and longitudes of nodes, `[n]` in degrees, where the graph came with them; NaN where a
    /// node's is not known.
    pub fn places(&self) -> Option<(&[f64], &[f64])> {
        self.places.as_ref().map(|places| (&*places.latitude, &*places.longitude))
    }

    /// This graph with its transpose kept beside it, for [`Graph::transpose`] to hand out.
    pub(crate) fn with_reverse(self) -> Graph {
        if self.reverse.is_none() && !self.is_symmetric() {
            let Graph { offsets, columns, weights, .. } = self.transpose();
            return self.reversed_by(Some(Rows { offsets, columns, weights }));
        }
        self
    }

    /// This graph with these rows of its transpose kept beside it.
    pub(crate) fn reversed_by(mut self, reverse: Option<Rows>) -> Graph {
        self.reverse = reverse.map(Arc::new);
        self
    }

    /// This graph with nodes at these places, `[n]` in degrees, NaN where unknown.
    pub(crate) fn with_places(
        mut self,
        latitude: impl Into<Array<f64>>,
        longitude: impl Into<Array<f64>>,
    ) -> Graph {
        let places = Places { latitude: latitude.into(), longitude: longitude.into() };
        self.places = Some(Arc::new(places));
        self
    }

    /// Every arc counts 1.
    pub(crate) fn without_weights(mut self) -> Graph {
        (self.weights, self.reverse) = (None, None);
        if self.symmetric.get() == Some(&false) {
            self.symmetric = std::mem::take(&mut self.undirected);
        }
        self
    }

    /// Builds the CSR of `nodes` nodes from arcs `sources[i] -> targets[i]` in any order.
    ///
    /// `weights` is `[m]`, or `None` when every arc counts 1. Self loops and duplicates are kept, and
    /// counted into `origin`.
    pub fn from_arcs(
        nodes: usize,
        sources: &[u32],
        targets: &[u32],
        weights: Option<&[f32]>,
        origin: Origin,
    ) -> Result<Graph> {
        let start = Instant::now();
        check::room(nodes as u64)?;
        let packed = if weights.is_some() { 20 } else { 8 };
        crate::memory::room("building a graph", 8 * nodes as u64 + packed * sources.len() as u64)?;
        check::same_length(sources.len(), targets.len(), "targets")?;
        check::ids(sources, nodes, "source")?;
        check::ids(targets, nodes, "target")?;
        let mut owned = weights.map(|weights| Array::from(weights.to_vec()));
        if let Some(weights) = &mut owned {
            check::same_length(sources.len(), weights.len(), "weights")?;
            check::weights(weights)?;
        }
        let parts = build::blocks(sources.len(), build::ARCS_PER_BLOCK);
        let m = sources.len() as u64;
        let csr = build::build(nodes, m, Keep::ALL, owned.is_some(), parts, |_, part| {
            part.map(|i| (sources[i], targets[i], owned.as_ref().map_or(1.0, |w| w[i]), 0))
        });
        let mut graph = Graph::trusted(csr, origin, None);
        graph.origin.build_ms += milliseconds(start);
        Ok(graph)
    }

    /// No nodes at all: what stands for a graph where a workload has none.
    pub(crate) fn empty(origin: Origin) -> Graph {
        let csr = Csr { offsets: vec![0], ..Csr::default() };
        Graph::trusted(csr, origin, Some(true))
    }

    /// Wraps what this crate has just built. `symmetric` is what its maker knows.
    pub(crate) fn trusted(csr: Csr, origin: Origin, symmetric: Option<bool>) -> Graph {
        let (self_loops, duplicates) = (csr.self_loops, csr.duplicates);
        Graph::of_csr(csr, Origin { self_loops, duplicates, ..origin }, symmetric)
    }

    /// The same, with what `origin` says of self-loops and duplicates.
    fn of_csr(csr: Csr, origin: Origin, symmetric: Option<bool>) -> Graph {
        let weights = csr.weights.map(Array::from);
        let rows = Rows { offsets: csr.offsets.into(), columns: csr.columns.into(), weights };
        Graph::of_rows(rows, symmetric, origin)
    }

    /// The CSR of the arcs `turn(u, v)` for each arc (u, v), with their weights.
    fn rebuilt(&self, turn: impl Fn(u32, u32) -> (u32, u32) + Sync) -> Csr {
        let (weighted, turn) = (self.weights.is_some(), &turn);
        let (n, m, blocks) = (self.nodes(), self.arcs(), self.row_blocks());
        build::build(n, m, Keep::ALL, weighted, blocks, |_, rows| {
            rows.flat_map(move |u| {
                self.neighbors(u).map(move |(v, weight)| {
                    let (row, column) = turn(u as u32, v);
                    (row, column, weight, 0)
                })
            })
        })
    }

    /// Cuts the rows into ranges of like work (rows + arcs), for parallel sweeps.
    pub(crate) fn row_blocks(&self) -> Vec<Range<usize>> {
        row_blocks(&self.offsets)
    }

    /// Number of nodes n.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of arcs (directed edges) m.
    pub fn arcs(&self) -> u64 {
        self.columns.len() as u64
    }

    /// Row offsets, `[n + 1]`.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Brings columns and weights to the host, if they are elsewhere.
    ///
    /// # Errors
    /// [`crate::Error::Machine`] where there is no room for them.
    pub(crate) fn load(&self) -> Result<()> {
        self.columns.load()?;
        self.weights.as_ref().map_or(Ok(()), Array::load)
    }

    /// Whether the host holds the columns: those of a graph that GPUs made come when they are asked for.
    pub fn is_on_host(&self) -> bool {
        self.columns.is_here()
    }

    /// Column indices, `[m]`.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Arc weights, `[m]`, or `None` when every arc counts 1.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Whether arcs have weights; else every arc counts 1.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Out-degree of node `v`.
    pub fn degree(&self, v: usize) -> u64 {
        self.offsets[v + 1] - self.offsets[v]
    }

    /// The largest out-degree.
    pub fn max_degree(&self) -> u64 {
        self.offsets.par_windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }

    /// The arcs out of `v` as (neighbour, weight).
    pub fn neighbors(&self, v: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let row = self.offsets[v] as usize..self.offsets[v + 1] as usize;
        let weights = self.weights.as_ref().map(|weights| &weights[row.clone()]);
        let columns = self.columns[row].iter().enumerate();
        columns.map(move |(e, column)| (*column, weights.map_or(1.0, |weights| weights[e])))
    }

    /// Arcs from a node to itself that are there; where the input had any, and their number is not known, all rows are looked at.
    pub(crate) fn self_loops(&self) -> u64 {
        match self.facts.self_loops {
            Some(loops) => loops,
            None if self.origin.self_loops == 0 => 0,
            None => check::rows(self).self_loops,
        }
    }

    /// The smallest and the largest weight; (1, 1) for a graph without weights or arcs.
    pub fn weight_range(&self) -> (f32, f32) {
        let Some(weights) = self.weights.as_ref().filter(|weights| !weights.is_empty()) else {
            return (1.0, 1.0);
        };
        weights
            .par_iter()
            .fold(|| (f32::INFINITY, 0.0f32), |(l, h), &w| (l.min(w), h.max(w)))
            .reduce(|| (f32::INFINITY, 0.0), |a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The mean arc weight; 1 for a graph without weights or arcs. Added in f64 over fixed blocks in
    /// block order, so that it does not depend on the thread count.
    pub fn mean_weight(&self) -> f64 {
        let Some(weights) = self.weights.as_ref().filter(|weights| !weights.is_empty()) else {
            return 1.0;
        };
        let sums: Vec<f64> = weights
            .par_chunks(1 << 16)
            .map(|block| block.iter().map(|&w| f64::from(w)).sum())
            .collect();
        sums.iter().sum::<f64>() / weights.len() as f64
    }

    /// What the input calls `node`.
    #[inline]
    pub fn id(&self, node: u32) -> NodeId<'_> {
        let id = self.input_id(node);
        self.texts().map_or(NodeId::Number(id), |texts| NodeId::Text(texts.get(id)))
    }

    /// The node that the input calls `text`, be its ids numbers or names.
    pub fn node_of_text(&self, text: &str) -> Option<u32> {
        match self.texts() {
            Some(texts) => self.node_of_input_id(texts.find(text)?),
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.node_of_input_id(text.parse().ok()?)
            }
            None => None,
        }
    }

    /// Whether the input's ids are names.
    pub fn has_text_ids(&self) -> bool {
        self.texts().is_some()
    }

    /// The input's ids in byte order, where they are names. Then [`Graph::input_id`] is a place among them.
    pub(crate) fn texts(&self) -> Option<&Texts> {
        self.names.as_ref()?.texts.as_deref()
    }

    /// The id that the input uses for `node`; where ids are names, its place among these in byte order, from 0.
    #[inline]
    pub fn input_id(&self, node: u32) -> u64 {
        match &self.names {
            None => u64::from(node) + u64::from(self.origin.id_base),
            Some(names) => names.all[node as usize],
        }
    }

    /// The node that the input calls `id`, or `None` when the input calls none so.
    pub fn node_of_input_id(&self, id: u64) -> Option<u32> {
        if let Some(names) = &self.names {
            return names.node(id);
        }
        let node = id.checked_sub(u64::from(self.origin.id_base))?;
        (node < self.nodes() as u64).then_some(node as u32)
    }

    /// The lowest and the highest id that the input uses.
    pub fn id_range(&self) -> (u64, u64) {
        let last = (self.nodes() - 1) as u32;
        (self.input_id(self.ranked(0)), self.input_id(self.ranked(last)))
    }

    /// The first and the last id that the input uses.
    pub fn id_ends(&self) -> [NodeId<'_>; 2] {
        let last = (self.nodes() - 1) as u32;
        [self.id(self.ranked(0)), self.id(self.ranked(last))]
    }

    /// Whether ids between the lowest and the highest are no node's.
    pub fn has_gaps(&self) -> bool {
        let (low, high) = self.id_range();
        high - low != self.nodes() as u64 - 1
    }

    /// How many nodes the input calls by a lower id than `node`: `node` itself, unless nodes were
    /// relabelled.
    #[inline]
    pub fn rank(&self, node: u32) -> u32 {
        self.names.as_ref().map_or(node, |names| names.rank(node))
    }

    /// The node with `rank` lower input ids: the inverse of [`Graph::rank`].
    #[inline]
    pub fn ranked(&self, rank: u32) -> u32 {
        self.names.as_ref().map_or(rank, |names| names.ranked(rank))
    }

    /// Whether input ids rise with nodes, so that ranks are nodes.
    pub(crate) fn names_rise(&self) -> bool {
        self.names.as_ref().is_none_or(|names| names.rise())
    }

    /// The input's ids as [`Graph::input_id`] has them, `[n]`, where they are more than `origin.id_base` above the
    /// nodes.
    pub fn names(&self) -> Option<&[u64]> {
        self.names.as_ref().map(|names| &*names.all)
    }

    /// This graph with nodes called `names`, `[n]` and distinct; they are places in `texts`, if there are any.
    pub(crate) fn with_names(
        mut self,
        names: Option<Array<u64>>,
        texts: Option<Arc<Texts>>,
    ) -> Graph {
        self.names = names.map(|names| Arc::new(Names::new(names, texts)));
        self.source = OnceLock::new();
        self
    }

    /// This graph with nodes called `texts`, `[n]`.
    pub(crate) fn with_texts(self, texts: Texts) -> Graph {
        let names: Vec<u64> = (0..self.nodes() as u64).collect();
        self.with_names(Some(names.into()), Some(Arc::new(texts)))
    }

    /// The names' texts, for another graph of these nodes.
    pub(crate) fn shared_texts(&self) -> Option<Arc<Texts>> {
        self.names.as_ref()?.texts.clone()
    }
}

/// Cuts rows with these offsets into ranges of like work (rows + arcs).
fn row_blocks(offsets: &[u64]) -> Vec<Range<usize>> {
    let work = |v: usize| offsets[v] + v as u64;
    let n = offsets.len() - 1;
    let blocks = (work(n) / build::ARCS_PER_BLOCK as u64 + 1).min(n as u64);
    let cut = |block: u64| {
        let wanted = (work(n) as u128 * block as u128 / blocks as u128) as u64;
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = low + (high - low) / 2;
            if work(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        low
    };
    let cuts: Vec<usize> = (0..=blocks).map(cut).collect();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Milliseconds since `start`.
pub(crate) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
