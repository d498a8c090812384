//! Edge lists: a line per arc, `u v` or `u v weight`, separated by blanks, tabs or commas. Lines that start
//! with `#` or `%` are comments (SNAP's and KONECT's). The nodes are the ids that occur, of up to 64 bits;
//! with a header `n m` they are 0 to n-1, and in files named `.el` or `.wel` (GAP's) 0 to the largest.
//!
//! A first line of column names, as CSV files have it, is skipped.
//!
//! Some files open with a line `n m`. It looks like an arc, so it is judged by what follows: it is a
//! header if the arcs have a third column and it has not, or if exactly m arcs follow and all ids are
//! below n. A first line that would be an odd arc but a likely header (m exceeds every other id, and so
//! does n, or else m is the number of arcs) but does not fit is refused: the file is cut short, or its
//! ids start at 1.

use super::aside::write_aside;
use super::compact::WideList;
use super::options::FileWeights;
use super::parsed::{Arcs, Nodes, Parsed};
use super::rows::{self, Weights};
use super::text::{self, Fault, Fields, shown};
use crate::error::Result;
use crate::graph::{ArcList, Graph, MAX_NODES};
use std::io::Write;
use std::path::Path;

/// With fewer arcs than this, a first line is never suspected to be a header that lies.
const ENOUGH_TO_SUSPECT: u64 = 8;

/// A line `n m` at the top of the file, or an arc that looks like one.
struct First {
    at: usize,
    /// Where the line behind it starts.
    next: usize,
    n: u64,
    m: u64,
}

/// What the top of the file tells.
struct Shape {
    /// Where the first line that is no comment starts.
    body: usize,
    weighted: bool,
    /// Whether weights are wanted.
    weights: FileWeights,
    /// The first line, if it might be a header.
    first: Option<First>,
    /// Whether it certainly is one, for the lines behind it have another column.
    certain: bool,
}

/// A stretch of the file; ids are u32 or u64.
struct Part<I> {
    pairs: Vec<(I, I)>,
    weights: Vec<f32>,
    /// The largest id, if there is any arc.
    largest: Option<I>,
}

/// An id as wide as it has to be.
trait Id: Copy + Ord + Send {
    fn parse(field: &[u8], at: usize) -> Result<Self, Fault>;
}

impl Id for u32 {
    #[inline]
    fn parse(field: &[u8], at: usize) -> Result<u32, Fault> {
        node(field, at)
    }
}

impl Id for u64 {
    #[inline]
    fn parse(field: &[u8], at: usize) -> Result<u64, Fault> {
        text::wide_id(field, at)
    }
}

/// Reads the whole content of a file. `gap` says that the nodes go up to the largest id; a third column is
/// passed over unless `weights` are wanted.
pub(super) fn parse(path: &str, bytes: &[u8], gap: bool, weights: FileWeights) -> Result<Parsed> {
    let read = || -> Result<Parsed, Fault> {
        let shape = Shape { weights, ..shape(bytes, !gap)? };
        match narrow(bytes, &shape, gap) {
            Err(fault) if fault.wide_id && !gap && !shape.certain => wide(bytes, &shape, fault),
            other => other,
        }
    };
    read().map_err(|fault| fault.into_error(path, bytes))
}

fn parsed(arcs: Arcs, nodes: Nodes, weighted: bool) -> Parsed {
    Parsed { format: "edge-list", arcs, nodes, weighted, mirror: false }
}

/// The file, if its ids fit into 32 bits.
fn narrow(bytes: &[u8], shape: &Shape, gap: bool) -> Result<Parsed, Fault> {
    let body = shape.first.as_ref().map_or(shape.body, |first| first.next);
    let mut parts = text::parse_parts(bytes, body, |lines| arcs::<u32>(shape, lines))?;
    let largest = parts.iter().filter_map(|part| part.largest).max();
    let bound = largest.map_or(0, |largest| u64::from(largest) + 1);
    let mut nodes = if gap { Nodes::UpToLargest } else { Nodes::Occurring };
    if let Some(first) = &shape.first {
        let found = parts.iter().map(|part| part.pairs.len() as u64).sum();
        if is_header(shape, first, found, bound)? {
            if bound > first.n {
                return Err(out_of_range(bytes, first));
            }
            if first.n == 0 {
                let what = "the graph is empty (0 nodes); give at least one arc";
                return Err(Fault::new(first.at, what));
            }
            nodes = Nodes::Declared { count: first.n, first_id: 0 };
        } else {
            let mut line = text::lines(&bytes[..first.next], first.at);
            parts.insert(0, arcs(shape, &mut line)?);
        }
    }
    let list = |part: Part<u32>| ArcList { pairs: part.pairs, weights: part.weights };
    let lists = parts.into_iter().map(list).collect();
    Ok(parsed(Arcs::Lists(lists), nodes, shape.weighted && shape.weights.read()))
}

/// The file again, for an id needs 64 bits; `fault` is the complaint about that one.
fn wide(bytes: &[u8], shape: &Shape, fault: Fault) -> Result<Parsed, Fault> {
    let parts = text::parse_parts(bytes, shape.body, |lines| arcs::<u64>(shape, lines))?;
    let found = parts.iter().map(|part| part.pairs.len() as u64).sum::<u64>();
    // A header that the arcs' number confirms was not meant to be followed by such ids.
    if shape
        .first
        .as_ref()
        .is_some_and(|first| found.checked_sub(1) == Some(first.m) && found > ENOUGH_TO_SUSPECT)
    {
        return Err(fault);
    }
    let list = |part: Part<u64>| WideList { pairs: part.pairs, weights: part.weights };
    let lists = parts.into_iter().map(list).collect();
    Ok(parsed(Arcs::Wide(lists), Nodes::Occurring, shape.weighted && shape.weights.read()))
}

/// Whether the first line is a header, given the number of arcs behind it and their ids' bound.
fn is_header(shape: &Shape, first: &First, found: u64, bound: u64) -> Result<bool, Fault> {
    let fits = found == first.m && bound <= first.n;
    let unseen = first.m >= bound && (first.n >= bound || found == first.m);
    let suspect = found >= ENOUGH_TO_SUSPECT && unseen;
    if !shape.certain && !fits && !suspect {
        return Ok(false);
    }
    if found != first.m {
        let doubt = if shape.certain { "" } else { ", or write the line last if it is an arc" };
        return Err(Fault::new(
            first.at,
            format!(
                "the file is truncated or its header lies about counts ({} arcs promised, {found} \
                 found); fetch it again{doubt}",
                first.m
            ),
        ));
    }
    if first.n > MAX_NODES {
        let what = format!("too many nodes ({}); ids are 32 bits wide", first.n);
        return Err(Fault::new(first.at, format!("{what}: renumber the nodes without gaps")));
    }
    Ok(true)
}

/// Finds the first line with an id that the header does not allow: only on the way to an error.
fn out_of_range(bytes: &[u8], first: &First) -> Fault {
    for (at, line) in text::lines(bytes, first.next).filter(|(_, line)| !is_comment(line)) {
        let ids = Fields::<true>(line).take(2).filter_map(text::integer);
        if let Some(id) = ids.into_iter().find(|&id| id >= first.n) {
            let n = first.n;
            let what = format!("id out of range ({id}); the header promises {n} nodes, ids from 0");
            return Fault::new(at, what);
        }
    }
    Fault::new(first.at, "the header lies about the ids; correct it")
}

fn is_comment(line: &[u8]) -> bool {
    Fields::<true>(line).next().is_none_or(|field| matches!(field[0], b'#' | b'%'))
}

/// `headed` says that there may be a line `n m`: GAP's lists have none.
fn shape(bytes: &[u8], headed: bool) -> Result<Shape, Fault> {
    let mut lines = text::lines(bytes, 0).filter(|(_, line)| !is_comment(line)).peekable();
    let empty = "the graph is empty (no arcs in the file); give at least one";
    let Some((mut body, mut line)) = lines.next() else { return Err(Fault::new(0, empty)) };
    if is_column_names(line) && lines.peek().is_none_or(|(_, next)| !is_column_names(next)) {
        (body, line) = lines.next().ok_or_else(|| Fault::new(body, empty))?;
    }
    let columns = Fields::<true>(line).count();
    let second = lines.next().map(|(_, line)| Fields::<true>(line).count());
    let numbers: Vec<_> = Fields::<true>(line).take(3).map(text::integer).collect();
    let first = match numbers[..] {
        [Some(n), Some(m)] if headed => {
            Some(First { at: body, next: (body + line.len() + 1).min(bytes.len()), n, m })
        }
        _ => None,
    };
    let certain = first.is_some() && second == Some(3);
    if !certain && !(2..=3).contains(&columns) {
        return Err(misshapen(body, line));
    }
    Ok(Shape {
        body,
        weighted: certain || columns == 3,
        weights: FileWeights::Exact,
        first,
        certain,
    })
}

/// Whether a line can only be the names of columns: two or more words, none with a digit in front.
fn is_column_names(line: &[u8]) -> bool {
    let name = |field: &[u8]| field[0].is_ascii_alphabetic() || matches!(field[0], b'"' | b'_');
    Fields::<true>(line).count() >= 2 && Fields::<true>(line).all(name)
}

fn misshapen(at: usize, line: &[u8]) -> Fault {
    let what = format!("garbage line ({}); write `u v` or `u v weight`", shown(line));
    Fault::new(at, format!("{what}, alike on every line"))
}

fn arcs<I: Id>(
    shape: &Shape,
    lines: &mut dyn Iterator<Item = (usize, &[u8])>,
) -> Result<Part<I>, Fault> {
    let mut part = Part { pairs: Vec::new(), weights: Vec::new(), largest: None };
    for (at, line) in lines {
        let mut fields = Fields::<true>(line);
        let Some(first) = fields.next() else { continue };
        if matches!(first[0], b'#' | b'%') {
            continue;
        }
        let u = I::parse(first, at)?;
        let v = I::parse(fields.next().ok_or_else(|| misshapen(at, line))?, at)?;
        if shape.weighted {
            let weight = fields.next().ok_or_else(|| misshapen(at, line))?;
            if shape.weights.read() {
                part.weights.push(text::weight(weight, at, shape.weights)?);
            }
        }
        if fields.next().is_some() {
            return Err(misshapen(at, line));
        }
        part.largest = part.largest.max(Some(u.max(v)));
        part.pairs.push((u, v));
    }
    Ok(part)
}

/// An id from 0 as a node.
#[inline]
fn node(field: &[u8], at: usize) -> Result<u32, Fault> {
    let id = text::id(field, at)?;
    if id == MAX_NODES {
        let what = format!("id beyond 32 bits ({id}); ids go up to {}", MAX_NODES - 1);
        let what = format!("{what}: renumber the nodes without gaps");
        return Err(Fault { wide_id: true, ..Fault::new(at, what) });
    }
    Ok(id as u32)
}

/// Writes `graph` as an edge list: a header `n m`, then `u v` or `u v weight` with ids from 0,
/// whatever its input's ids were.
pub fn write(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    write_aside(path.as_ref(), |out| {
        writeln!(out, "{} {}", graph.nodes(), graph.arcs())?;
        let weights = match graph.weights() {
            Some(_) => Weights::Always,
            None => Weights::Never,
        };
        rows::write(graph, out, 0, weights)
    })
}
