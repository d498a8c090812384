//! Matrix Market coordinate files (NIST, "The Matrix Market exchange formats", Boisvert, Pozo,
//! Remington 1996): a banner, `%` comments, `rows columns entries`, then `row column [value]` from 1.
//!
//! Row is the source, column the neighbour. A `symmetric` file lists each pair once and means both
//! arcs. `pattern` has no values: every arc counts 1.

use super::parsed::{Arcs, Nodes, Parsed};
use super::rows::{self, Ends, Weights};
use super::text::{self, Fault, Fields, shown};
use crate::aside::write_aside;
use crate::error::Result;
use crate::graph::options::FileWeights;
use crate::graph::{ArcList, Graph, MAX_NODES};
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
pub(super) fn parse(path: &str, bytes: &[u8], weights: FileWeights) -> Result<Parsed> {
    let (header, lists) = read(bytes, weights).map_err(|fault| fault.into_error(path, bytes))?;
    Ok(Parsed {
        format: "matrix-market",
        arcs: Arcs::Lists(lists),
        nodes: Nodes::Declared { count: header.nodes, first_id: 1 },
        weighted: header.weighted && weights.read(),
        mirror: header.symmetric,
    })
}

fn read(bytes: &[u8], weights: FileWeights) -> Result<(Header, Vec<ArcList>), Fault> {
    let header = header(bytes)?;
    let lists = text::parse_parts(bytes, header.body, |lines| entries(&header, weights, lines))?;
    let found: u64 = lists.iter().map(|list| list.pairs.len() as u64).sum();
    if found < header.entries {
        return Err(Fault::new(
            header.at,
            format!(
                "the file ends early ({found} of {} entries); it is truncated or its header lies \
                 about counts: fetch it again",
                header.entries
            ),
        ));
    }
    if found > header.entries {
        return Err(Fault::new(
            header.at,
            format!(
                "the header lies about counts ({} entries promised, {found} found); correct it",
                header.entries
            ),
        ));
    }
    Ok((header, lists))
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
    let wrong = if rows != columns {
        format!("the matrix is rectangular ({rows} x {columns}); a graph needs a square one")
    } else if rows == 0 {
        "the graph is empty (0 nodes); give at least one node".to_string()
    } else if rows > MAX_NODES {
        format!("too many nodes ({rows}); ids are 32 bits wide: at most {MAX_NODES}")
    } else {
        let body = (at + line.len() + 1).min(bytes.len());
        return Ok(Header { weighted, symmetric, nodes: rows, entries, at, body });
    };
    Err(Fault::new(at, wrong))
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

fn entries(
    header: &Header,
    weights: FileWeights,
    lines: &mut dyn Iterator<Item = (usize, &[u8])>,
) -> Result<ArcList, Fault> {
    let mut list = ArcList::default();
    for (at, line) in lines {
        let mut fields = Fields::<false>(line);
        let Some(first) = fields.next() else { continue };
        if first.starts_with(b"%") {
            continue;
        }
        let wanted = if header.weighted { "row column value" } else { "row column" };
        let misshapen =
            || Fault::new(at, format!("garbage line ({}); write `{wanted}`", shown(line)));
        let row = text::id_from_1(first, header.nodes, at)?;
        let column = text::id_from_1(fields.next().ok_or_else(misshapen)?, header.nodes, at)?;
        if header.weighted {
            let value = fields.next().ok_or_else(misshapen)?;
            if weights.read() {
                list.weights.push(text::weight(value, at, weights)?);
            }
        }
        if fields.next().is_some() {
            return Err(misshapen());
        }
        list.pairs.push((row, column));
    }
    Ok(list)
}

/// Writes `graph` as a general matrix, real or, where it has no weights, pattern, with ids from 1
/// whatever its input's ids were. Weights read back to the same bits.
///
/// # Errors
///
/// [`Error::Input`](crate::Error::Input) when the file cannot be written.
pub fn write(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    let (field, weights) = match graph.weights() {
        Some(_) => ("real", Weights::Always),
        None => ("pattern", Weights::Never),
    };
    let (n, m) = (graph.nodes(), graph.arcs());
    write_aside(path.as_ref(), |out| {
        writeln!(out, "%%MatrixMarket matrix coordinate {field} general\n{n} {n} {m}")?;
        rows::write(graph, out, Ends::From(1), weights)
    })
}
