//! Readers and writers: one file a format, recognised by content before name.
//!
//! | format | recognised by | file |
//! |---|---|---|
//! | Matrix Market coordinate | the `%%MatrixMarket` banner | `matrix_market` |
//! | HIVE binary CSR | bytes that are no text | `hive_bin` |
//! | edge list (SNAP, CSV) | any other text | `edge_list` |
//!
//! Any of them may be compressed with gzip, which is recognised by its magic bytes.

pub(crate) mod aside;
mod cache;
pub(crate) mod cache_dir;
mod compact;
mod edge_list;
mod headline;
mod hive_bin;
mod matrix_market;
mod native;
mod options;
mod output;
mod parsed;
mod source;
mod text;

pub use edge_list::write as write_edge_list;
pub use headline::{Headline, headline};
pub use hive_bin::write as write_hive_bin;
pub use native::{check as check_native, write as write_native};
pub use options::{Cache, Duplicates, LoadOptions, Relabel, SelfLoops, Weights};
pub use output::{ResultFormat, write_atomically, write_results};

use crate::error::{Error, Result};
use crate::generate;
use crate::graph::{Graph, Origin, milliseconds};
use parsed::Parsed;
use std::path::Path;
use std::time::Instant;

/// Endings that a data set's name does without.
const ENDINGS: [&str; 11] =
    [".mtx", ".txt", ".csv", ".tsv", ".el", ".wel", ".edges", ".e", ".bin", ".hive", ".dat"];

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
    if generate::is_spec(spec) {
        return parsed::apply_to_generated(generate::generate(spec)?, options);
    }
    let start = Instant::now();
    let entry = cache::entry(spec, options);
    if let Some(mut graph) = entry.as_ref().and_then(|entry| cache::read(entry, options)) {
        graph.origin.graph_file = spec.into();
        graph.origin.cached = true;
        (graph.origin.load_ms, graph.origin.build_ms) = (milliseconds(start), 0.0);
        return Ok(graph);
    }
    let bytes = source::read(spec)?;
    if native::is_native(&bytes) {
        return parsed::apply_to_native(spec, native::open(&bytes), options, start);
    }
    // A byte order mark is what some editors put before text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let origin = Origin { dataset: dataset(spec), graph_file: spec.into(), ..Origin::default() };
    let graph = parsed::assemble(spec, parse(spec, bytes)?, options, origin, start)?;
    if let Some(entry) = entry {
        cache::write(&entry, &graph);
    }
    Ok(graph)
}

/// Finds the reader by content, then by name.
fn parse(path: &str, bytes: &[u8]) -> Result<Parsed> {
    let name = plain_name(path);
    if matrix_market::is_banner(bytes) {
        return matrix_market::parse(path, bytes);
    }
    if bytes.is_empty() {
        return Err(Error::input(format!(
            "{path}: the file is empty (0 bytes); give a graph file"
        )));
    }
    if name.ends_with(".mtx") {
        return Err(Error::input(format!(
            "{path}:1: no `%%MatrixMarket` banner; add it, or rename the file if it is an edge list"
        )));
    }
    if hive_bin::is_likely(bytes) {
        return hive_bin::parse(path, bytes);
    }
    if let Some((_, format)) = UNREAD.iter().find(|(unread, _)| name.ends_with(unread)) {
        return Err(Error::input(format!(
            "{path}: {format} files are not read; convert it to Matrix Market or an edge list"
        )));
    }
    let gap = name.ends_with(".el") || name.ends_with(".wel");
    edge_list::parse(path, bytes, gap)
}

/// Notices, at no cost, a file that is not there or cannot be opened, and a generator specification that
/// makes no sense: what [`load`] would refuse first.
pub fn check(spec: &str) -> Result<()> {
    if generate::is_spec(spec) { generate::check(spec) } else { source::check(spec) }
}

/// Formats that would pass for an edge list and mean something else.
const UNREAD: [(&str, &str); 3] =
    [(".gr", "DIMACS shortest-path"), (".graph", "METIS"), (".metis", "METIS")];

/// The path in lower case without `.gz`.
fn plain_name(path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    lower.strip_suffix(".gz").map_or(lower.clone(), str::to_string)
}

/// The data set's short name: the file's, without directories, `.gz` and the format's ending.
fn dataset(path: &str) -> String {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
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
            ("plain", "plain"),
            (".mtx", ".mtx"),
            ("v1.2/x", "x"),
        ] {
            assert_eq!(dataset(path), name);
        }
    }
}
