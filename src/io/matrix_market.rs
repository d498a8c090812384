//! Matrix Market coordinate files (NIST, "The Matrix Market exchange formats", Boisvert, Pozo,
//! Remington 1996): a banner, `%` comments, `rows columns entries`, then `row column [value]` from 1.
//!
//! Row is the source, column the neighbour. A `symmetric` file lists each pair once and means both
//! arcs. `pattern` has no values: every arc counts 1.

use super::parsed::{Arcs, Nodes, Parsed};
use super::rows::{self, Ends};
use super::text::{self, Fault, Fields, shown};
use super::uplink::Uplink;
use crate::aside::write_aside;
use crate::error::Result;
use crate::graph::Graph;
use crate::graph::options::FileWeights;
use std::cmp::Ordering;
use std::io::Write;
use std::path::Path;

const BANNER: &[u8] = b"%%MatrixMarket";

/// Whether the content starts as a Matrix Market file does.
pub(super) fn is_banner(bytes: &[u8]) -> bool {
    bytes.get(..BANNER.len()).is_some_and(|start| start.eq_ignore_ascii_case(BANNER))
}

/// What the banner and the size line say.
pub(super) struct Header {
    pub weighted: bool,
    pub symmetric: bool,
    pub nodes: u64,
    pub entries: u64,
    /// Where the size line starts, and where the entries do.
    at: usize,
    body: usize,
}

/// Reads the whole content of a file; values are passed over unless `weights` are wanted.
pub(super) fn parse(
    bytes: &[u8],
    weights: FileWeights,
    uplink: Option<&Uplink>,
) -> Result<Parsed, Fault> {
    let header = header(bytes)?;
    let id = |field: &[u8], at: usize| text::id_from_1(field, header.nodes, at);
    let wanted = if header.weighted { "row column value" } else { "row column" };
    let misshapen = |at: usize, line: &[u8]| {
        Fault::new(at, format!("garbage line ({}); write `{wanted}`", shown(line)))
    };
    let weights = header.weighted.then_some(weights);
    let lists = text::parse_arcs(bytes, header.body, uplink, |lines| {
        text::arcs::<false, u32>(lines, weights, |byte| byte == b'%', id, misshapen)
    })?;
    let (found, entries) = (lists.iter().map(|list| list.pairs.len() as u64).sum(), header.entries);
    let wrong = match entries.cmp(&found) {
        Ordering::Greater => format!(
            "the file ends early ({found} of {entries} entries); it is truncated or its header lies about counts: \
             fetch it again"
        ),
        Ordering::Less => format!(
            "the header lies about counts ({entries} entries promised, {found} found); correct it"
        ),
        Ordering::Equal => {
            let arcs = Arcs::Lists(lists, Nodes::Declared { count: header.nodes, first: 1 });
            let parsed = Parsed::new("matrix-market", arcs, weights.is_some_and(FileWeights::read));
            return Ok(Parsed { mirror: header.symmetric, ..parsed });
        }
    };
    Err(Fault::new(header.at, wrong))
}

pub(super) fn header(bytes: &[u8]) -> Result<Header, Fault> {
    let mut lines = text::lines(bytes, 0);
    let (_, banner) = lines.next().unwrap_or_default();
    let (weighted, symmetric) = banner_words(banner)?;
    let size = lines.find(|(_, line)| {
        Fields::<false>(line).next().is_some_and(|field| !field.starts_with(b"%"))
    });
    let Some((at, line)) = size else {
        let end = bytes.len();
        return Err(Fault::new(end, "no size line; the file is truncated: fetch it again"));
    };
    let fields: Vec<Option<u64>> = Fields::<false>(line).map(text::integer).collect();
    let [Some(rows), Some(columns), Some(entries)] = fields[..] else {
        let what = format!("not a size line ({}); write `rows columns entries`", shown(line));
        return Err(Fault::new(at, what));
    };
    if rows != columns {
        return Err(Fault::new(at, text::rectangular(rows, columns)));
    }
    text::node_count(rows).map_err(|what| Fault::new(at, what))?;
    let body = (at + line.len() + 1).min(bytes.len());
    Ok(Header { weighted, symmetric, nodes: rows, entries, at, body })
}

/// (weighted, symmetric) from `%%MatrixMarket matrix coordinate FIELD SYMMETRY`.
fn banner_words(banner: &[u8]) -> Result<(bool, bool), Fault> {
    let words: Vec<String> = Fields::<false>(banner)
        .skip(1)
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect();
    let refused = |value: &str, next: &str| {
        Err(Fault::new(0, format!("cannot read this matrix ({}); {next}", shown(value.as_bytes()))))
    };
    let [object, format, field, symmetry] = &words[..] else {
        let next = "write `%%MatrixMarket matrix coordinate real general`, for one";
        return refused(&words.join(" "), next);
    };
    if object != "matrix" {
        return refused(object, "the banner's first word must be `matrix`");
    }
    if format != "coordinate" {
        return refused(format, "a dense array is no graph: store it as `coordinate`");
    }
    let weighted = match field.as_str() {
        "pattern" => false,
        "real" | "integer" | "double" => true,
        _ => return refused(field, "values must be pattern, real or integer"),
    };
    let symmetric = match symmetry.as_str() {
        "general" => false,
        "symmetric" => true,
        _ => return refused(symmetry, "symmetry must be general or symmetric"),
    };
    Ok((weighted, symmetric))
}

/// Writes `graph` as a general matrix, real or, where it has no weights, pattern, with ids from 1
/// whatever its input's ids were.
pub(super) fn write(graph: &Graph, path: &Path) -> Result<()> {
    let weighted = graph.is_weighted();
    let field = if weighted { "real" } else { "pattern" };
    let (n, m) = (graph.nodes(), graph.arcs());
    write_aside(path, |out| {
        writeln!(out, "%%MatrixMarket matrix coordinate {field} general\n{n} {n} {m}")?;
        rows::write(graph, out, Ends::From(1), weighted)
    })
}
