//! Readers and writers: one file a format, recognised by content before name.
//!
//! | format | recognised by | file |
//! |---|---|---|
//! | native, `.hive` | its magic; mapped, not parsed | `native` |
//! | Matrix Market coordinate | the `%%MatrixMarket` banner | `matrix_market` |
//! | Galois binary, version 1 | its first number, and a length that fits its header | `galois` |
//! | GAP serialised graph | a length that fits its header | `gap` |
//! | Parquet edge list | its magic, with the cargo feature `parquet` | `parquet` |
//! | SciPy CSR, `.npz` | the magic of a zip archive | `numpy` |
//! | DIMACS shortest path | the `p sp` line | `dimacs` |
//! | METIS | the name: `.graph`, `.metis` | `metis` |
//! | LDBC Graphalytics | the name: `.e` with a `.v` beside it | `ldbc` |
//! | HIVE binary CSR | bytes that are no text | `hive_bin` |
//! | GAP edge list | the name: `.el`, `.wel` | `gap` |
//! | edge list (SNAP, CSV) | any other text | `edge_list` |
//!
//! Any of them may be compressed with gzip, bzip2, xz or zstd, recognised by their magic bytes.

mod binary;
mod cache;
mod columns;
mod compact;
mod delimited;
mod dimacs;
mod edge_list;
mod galois;
mod gap;
mod headline;
mod hive_bin;
mod labels;
mod ldbc;
mod matrix_market;
mod metis;
pub(crate) mod native;
mod node_weights;
mod npy;
mod numpy;
mod on_device;
mod output;
mod parquet;
mod parsed;
pub(crate) mod progress;
mod row_file;
mod rows;
#[doc(hidden)]
pub mod rubbish;
mod source;
mod text;
mod uplink;
mod writers;

pub use crate::graph::options::{
    Cache, ColumnName, Columns, CountsLine, Delimiter, Duplicates, Ids, LoadOptions, Relabel,
    SelfLoops, Symmetrize, Weights,
};
pub(crate) use columns::write_table_as;
pub use columns::{Column, Grid, Table, write_ids, write_table};
pub use headline::headline;
pub use labels::{Locations, read_locations};
pub use native::check as check_native;
pub(crate) use native::{is_native_file, native_bytes, native_file};
pub(crate) use native::{of_native_bytes, of_native_file};
pub use node_weights::read_weights;
pub use output::{ResultFormat, write_atomically};
pub use parsed::Headline;
pub(crate) use row_file::{RowFile, RowShape, Sum};
pub(crate) use source::check_table;
pub(crate) use uplink::Uplink;
pub use writers::{check_writer, write_graph};

use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::generate;
use crate::generate::Kept;
use crate::graph::{Graph, Origin, milliseconds};
use parsed::{Assembled, Numbered, Parsed};
use source::{Bytes, Limit};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a file whose copy takes longer than the start of several threads.
const LARGE_FILE: u64 = 32 << 20;

/// Endings that a data set's name does without.
const ENDINGS: [&str; 19] = [
    ".mtx", ".txt", ".csv", ".tsv", ".el", ".wel", ".edges", ".e", ".v", ".bin", ".hive", ".dat",
    ".gr", ".graph", ".metis", ".sg", ".wsg", ".npz", ".parquet",
];

/// Loads a graph as it is: a generator specification (`rmat:24`, `grid:4096x4096`) or the path of a file.
///
/// # Errors
/// One line, `path:line: what (value); what to do next`.
pub fn load(spec: &str) -> Result<Graph> {
    load_with(spec, &LoadOptions::default())
}

/// [`load`] under the given policies.
///
/// # Errors
/// As [`load`]; also a policy that cannot be followed.
pub fn load_with(spec: &str, options: &LoadOptions) -> Result<Graph> {
    match begin(spec, options, None)? {
        Begun::Graph(graph) => Ok(*graph),
        Begun::Arcs(arcs) => arcs.on_host(),
    }
}

/// A graph, or what a file says of it, from which the CSR is still to be built.
pub(crate) enum Begun {
    Graph(Box<Graph>),
    Arcs(Box<Unbuilt>),
}

impl Begun {
    /// A graph that is there.
    pub(crate) fn built(graph: Graph) -> Begun {
        Begun::Graph(Box::new(graph))
    }

    /// The same for a fleet of GPUs: the host builds what it builds sooner, and what an option needs there.
    pub(crate) fn for_gpus(self) -> Result<Begun> {
        let Begun::Arcs(mut unbuilt) = self else { return Ok(self) };
        if unbuilt.arcs.pairs() >= WORTH_A_DEVICE {
            let Some(option) = unbuilt.arcs.needs_host() else { return Ok(Begun::Arcs(unbuilt)) };
            unbuilt.arcs.say_built_on(format!("the host, for {option}"));
        }
        unbuilt.on_host().map(Begun::built)
    }
}

/// The arcs of a file.
pub(crate) struct Unbuilt {
    spec: String,
    /// Where the cache keeps the graph.
    entry: Option<PathBuf>,
    options: LoadOptions,
    arcs: Box<Numbered>,
    /// What went up while the file was parsed.
    uplink: Option<Arc<Uplink>>,
}

/// Pairs from which a GPU builds the CSR sooner than the host: below, the host takes as long as a few copies and launches.
const WORTH_A_DEVICE: u64 = 1 << 22;
/// Bytes of a text file of as many pairs, packed, at least.
const BYTES_WORTH_A_DEVICE: u64 = 4 << 20;

/// Whether a GPU may build the CSR of `spec`, as far as its length says.
pub(crate) fn may_build_on_device(spec: &str, options: &LoadOptions) -> bool {
    let long =
        |spec: &str| std::fs::metadata(spec).is_ok_and(|file| file.len() >= BYTES_WORTH_A_DEVICE);
    let cached = || cache::entry(spec, options).is_some_and(|entry| entry.exists());
    !generate::is_spec(spec) && long(spec) && !cached()
}

impl Unbuilt {
    /// The graph, built on the host.
    pub(crate) fn on_host(self) -> Result<Graph> {
        let graph = self.arcs.on_host()?;
        cached(&self.spec, self.entry, &self.options, &graph);
        Ok(graph)
    }

    /// The graph, built on the first GPU of `fleet`, where its arcs stay until the host looks at them; or on the host, where
    /// that GPU has no room.
    pub(crate) fn on(self, fleet: &Fleet) -> Result<(Graph, Option<Arc<Kept>>)> {
        if fleet.info().backend != "cuda" {
            return self.on_host().map(|graph| (graph, None));
        }
        let copies = self.uplink.and_then(|uplink| uplink.end());
        let (graph, kept) = self.arcs.on(fleet, copies, None)?;
        cached(&self.spec, self.entry, &self.options, &graph);
        Ok((graph, kept))
    }
}

/// Keeps a graph in the cache, at `entry`.
fn cached(spec: &str, entry: Option<PathBuf>, options: &LoadOptions, graph: &Graph) {
    // A file that changed meanwhile may have been read half old and half new.
    let steady = |entry: &Path| cache::entry(spec, options).as_deref() == Some(entry);
    if let Some(entry) = entry.filter(|entry| !graph.is_mapped() && steady(entry)) {
        cache::write(&entry, graph);
    }
}

/// Reads a graph as far as that needs no fleet. The arcs of a text file go to `uplink` as they are parsed.
pub(crate) fn begin(
    spec: &str,
    options: &LoadOptions,
    uplink: Option<Arc<Uplink>>,
) -> Result<Begun> {
    if generate::is_spec(spec) {
        return apply_to_generated(generate::generate(spec)?, options).map(Begun::built);
    }
    let start = Instant::now();
    let entry = cache::entry(spec, options);
    if let Some(mut graph) = entry.as_ref().and_then(|entry| cache::read(entry, options)) {
        (graph.origin.dataset, graph.origin.graph_file) = (dataset(spec), spec.into());
        // A refreshed entry remembers that it was.
        graph.origin.policies = options.clone();
        graph.origin.cached = true;
        (graph.origin.load_ms, graph.origin.build_ms) = (milliseconds(start), 0.0);
        return Ok(Begun::built(graph));
    }
    let bytes = source::read(spec, Limit::of_graph(options.input_limit))?;
    Ok(match make(spec, &bytes, options, start, uplink.as_deref())? {
        Assembled::Graph(graph) => {
            cached(spec, entry, options, &graph);
            Begun::Graph(graph)
        }
        Assembled::Arcs(arcs) => {
            let (spec, options) = (spec.into(), options.clone());
            Begun::Arcs(Box::new(Unbuilt { spec, entry, options, arcs, uplink }))
        }
    })
}

/// A file that says where nodes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacesFile {
    /// HIVE .labels, a CSV with columns node, lat and lon, or DIMACS .co.
    pub path: PathBuf,
    /// It counts nodes from this number, whatever the graph's ids count from.
    pub first_id: Option<u64>,
}

/// [`load_with`], with nodes where the file of places `labels` has them (see [`place`]): before a component is cut out or
/// nodes are relabelled, which places then follow.
///
/// # Errors
/// As [`load_with`] and [`place`].
pub fn load_placed(
    spec: &str,
    labels: &str,
    first_id: Option<u64>,
    options: &LoadOptions,
) -> Result<Graph> {
    let plain = LoadOptions {
        relabel: Relabel::None,
        largest_component: false,
        symmetrize: Symmetrize::Off,
        // Random ones come last; the file's are not looked at for them either.
        weights: if options.weights.in_file().read() { options.weights } else { Weights::Unit },
        ..options.clone()
    };
    let graph = place(load_with(spec, &plain)?, labels, first_id)?;
    parsed::apply(graph, options)
}

/// A graph under the given policies, wherever it came from.
///
/// # Errors
/// [`Error::Input`] for a policy that cannot be followed.
pub fn apply(graph: Graph, options: &LoadOptions) -> Result<Graph> {
    graph.check_rows()?;
    parsed::apply_to_any(graph, options)
}

/// The same for a graph that a generator made, of which more is known.
pub(crate) fn apply_to_generated(graph: Graph, options: &LoadOptions) -> Result<Graph> {
    parsed::apply_to_generated(graph, options)
}

/// Whether [`apply`] leaves the arcs of a graph as they are, so that it need not look at them.
pub(crate) fn leaves_arcs(options: &LoadOptions) -> bool {
    parsed::leaves_arcs(options)
}

/// The graph of the unpacked content of a file, or its arcs; reading began at `start`.
fn make(
    path: &str,
    bytes: &Bytes,
    options: &LoadOptions,
    start: Instant,
    uplink: Option<&Uplink>,
) -> Result<Assembled> {
    if native::is_native(bytes) {
        let graph = parsed::apply_to_native(path, native::open(bytes), options, start);
        return graph.map(|graph| Assembled::Graph(Box::new(graph)));
    }
    let origin = Origin { dataset: dataset(path), graph_file: path.into(), ..Origin::default() };
    let parsed = parse(path, bytes, options, uplink)?;
    if parsed.format != "edge-list" {
        let refused = options.refuse_columns(&format!("a {} file", parsed.format));
        refused.map_err(|error| parsed::name_file(path, error))?;
    }
    parsed::assemble(path, parsed, options, origin, start)
}

/// Finds the reader by content, then by name.
fn parse(
    path: &str,
    whole: &Bytes,
    options: &LoadOptions,
    uplink: Option<&Uplink>,
) -> Result<Parsed> {
    // In binary the three bytes of a mark are part of a number.
    let bytes = if hive_bin::is_likely(whole) { whole } else { source::unmarked(whole) };
    let weights = options.weights.in_file();
    let limit = Limit::of_graph(options.input_limit);
    let name = plain_name(path);
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let input = |what: String| Error::input(format!("{path}: {what}"));
    let at_line = |fault: text::Fault| fault.into_error(path, bytes);
    if matrix_market::is_banner(bytes) {
        return matrix_market::parse(bytes, weights, uplink).map_err(at_line);
    }
    if bytes.is_empty() {
        // Of a data set of two files, that of the edges may be.
        return match ldbc::files(path, &name) {
            Some(files) => ldbc::parse(&files, path, bytes, weights, limit),
            None => Err(input("the file is empty (0 bytes); give a graph file".into())),
        };
    }
    if ends(&[".mtx"]) {
        return Err(Error::input(format!(
            "{path}:1: no `%%MatrixMarket` banner; add it, or rename the file if it is an edge list"
        )));
    }
    if parquet::is_parquet(bytes) {
        return parquet::parse(bytes, weights).map_err(input);
    }
    if numpy::is_zip(bytes) || ends(&[".npz"]) {
        return numpy::parse(bytes, weights, limit).map_err(input);
    }
    if galois::is_likely(bytes) || (ends(&[".gr"]) && galois::is_binary(bytes)) {
        return galois::parse(bytes, whole, weights).map_err(input);
    }
    if gap::is_likely(bytes) || gap::is_name(&name) {
        return gap::parse(&name, bytes, whole, weights).map_err(input);
    }
    if hive_bin::is_likely(bytes) {
        return hive_bin::parse(bytes, whole).map_err(input);
    }
    if dimacs::is_coordinates(bytes) {
        return Err(input("holds coordinates, not arcs; name the .gr file of this graph".into()));
    }
    if ends(&[".gr"]) || dimacs::is_problem(bytes) {
        return dimacs::parse(bytes, weights, uplink).map_err(at_line);
    }
    if metis::is_name(&name) {
        return metis::parse(bytes, weights, uplink).map_err(at_line);
    }
    if let Some(files) = ldbc::files(path, &name) {
        return ldbc::parse(&files, path, bytes, weights, limit);
    }
    if ends(&[".v"]) {
        return Err(input(
            "a list of vertices, and no .e file is beside it; name a file of edges".into(),
        ));
    }
    // GAP's lists have no header: their nodes are those up to the largest id.
    edge_list::parse(bytes, ends(&[".el", ".wel"]), options, uplink).map_err(at_line)
}

/// Puts nodes where the file of places `path` has them (see [`read_locations`]), by the ids of the graph's input. With
/// `first_id` the file counts its nodes from there, where the graph counts from `origin.id_base`.
///
/// # Errors
/// As [`read_locations`]; also a place for a node that the graph does not have.
pub fn place(graph: Graph, path: &str, first_id: Option<u64>) -> Result<Graph> {
    let found = places_of(&graph, path, first_id)?;
    let mut graph = graph.with_places(found.latitude, found.longitude);
    graph.origin.places_first_id = found.first_id;
    Ok(graph)
}

/// Where a file of places has the nodes of a graph.
pub(crate) struct Placed {
    /// `[n]`, NaN where the file has none.
    pub latitude: Vec<f64>,
    pub longitude: Vec<f64>,
    /// What the file counts from, where that is not what the graph counts from.
    pub first_id: Option<u64>,
}

/// Where the file of places `path` has the nodes of `graph`; `first_id` as in [`place`].
pub(crate) fn places_of(graph: &Graph, path: &str, first_id: Option<u64>) -> Result<Placed> {
    let counted = graph.names().is_none();
    if let Some(first) = first_id.filter(|_| !counted) {
        return Err(Error::input(format!(
            "--labels-first-id {first}: the ids of the graph have gaps or are names, so that places go by them; leave \
             it out"
        )));
    }
    let found = match graph.has_text_ids() {
        true => labels::read_named(path, graph)?,
        false => read_locations(path)?,
    };
    let base = u64::from(graph.origin.id_base);
    let stated = found.first_id.map(u64::from).filter(|_| counted);
    let first = first_id.or(stated).filter(|first| *first != base);
    let unknown = vec![f64::NAN; graph.nodes()];
    let mut placed = Placed { latitude: unknown.clone(), longitude: unknown, first_id: first };
    for (i, &id) in found.ids.iter().enumerate() {
        let own = match first {
            Some(first) => id.checked_sub(first).and_then(|place| place.checked_add(base)),
            None => Some(id),
        };
        let Some(node) = own.and_then(|id| graph.node_of_input_id(id)) else {
            return Err(misplaced(graph, path, id, first));
        };
        placed.latitude[node as usize] = found.latitude[i];
        placed.longitude[node as usize] = found.longitude[i];
    }
    Ok(placed)
}

/// The file of places `path`, which counts from `first` where that is not as the graph does, has a node that the
/// graph does not have.
fn misplaced(graph: &Graph, path: &str, id: u64, first: Option<u64>) -> Error {
    let (low, high) = graph.id_range();
    let from = first.map(|first| format!(" counted from {first}")).unwrap_or_default();
    let next = match graph.names() {
        Some(_) => "give its own file of places",
        None => {
            "give its own file of places, or say with --labels-first-id N from where the file counts"
        }
    };
    Error::input(format!(
        "{path}: places node {id}{from}, which the graph does not have (ids {low} to {high}); {next}"
    ))
}

/// Notices, at no cost, a file that is not there or cannot be opened, and a generator specification that
/// makes no sense: what [`load`] would refuse first.
pub fn check(spec: &str) -> Result<()> {
    if generate::is_spec(spec) { generate::check(spec) } else { source::check(spec) }
}

/// Whether a graph takes so much memory that copying it takes time: told by its file's size, or by its generator.
pub(crate) fn is_large(spec: &str) -> bool {
    match generate::is_spec(spec) {
        true => generate::may_pay_on_device(spec),
        false => std::fs::metadata(spec).is_ok_and(|file| file.len() >= LARGE_FILE),
    }
}

/// The unpacked content of a file that is no graph.
pub(crate) fn read_table(path: &str) -> Result<Vec<u8>> {
    source::read_table(path).map(|bytes| bytes.to_vec())
}

/// The path in lower case, without what compression adds.
fn plain_name(path: &str) -> String {
    unpacked(&path.to_ascii_lowercase()).to_string()
}

/// A name without what compression adds to it.
fn unpacked(name: &str) -> &str {
    source::ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// The short name that the graph of `spec` will have, without making or reading it.
pub(crate) fn dataset_of(spec: &str) -> String {
    match generate::is_spec(spec) {
        true => generate::dataset(spec).unwrap_or_else(|_| spec.into()),
        false => dataset(spec),
    }
}

/// The data set's short name: the file's, without directories, compression and the format's ending.
fn dataset(path: &str) -> String {
    if path == source::STANDARD_INPUT {
        return "stdin".into();
    }
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    let stem = unpacked(&name);
    let ending = ENDINGS.iter().find(|ending| stem.len() > ending.len() && stem.ends_with(*ending));
    stem[..stem.len() - ending.map_or(0, |ending| ending.len())].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_set_is_named_after_its_file_without_endings() {
        for (path, name) in [
            ("data/chesapeake.mtx", "chesapeake"),
            ("../email-Enron.txt.gz", "email-Enron"),
            ("a.b.mtx.gz", "a.b"),
            ("a.graph.zst", "a"),
            ("plain", "plain"),
            (".mtx", ".mtx"),
            ("v1.2/x", "x"),
        ] {
            assert_eq!(dataset(path), name);
        }
    }
}
