//! Edge lists: a line per arc, `u v` or `u v weight`, separated by blanks, tabs or commas, ids from 0.
//! Lines that start with `#` or `%` are comments (SNAP's and KONECT's).
//!
//! Some files open with a line `n m`. It looks like an arc, so it is judged by what follows: it is a
//! header if the arcs have a third column and it has not, or if exactly m arcs follow and all ids are
//! below n. A first line that would be an odd arc but a likely header (m exceeds every other id, and so
//! does n, or else m is the number of arcs) but does not fit is refused: the file is cut short, or its
//! ids start at 1.

use super::aside::write_aside;
use super::parsed::{Arcs, Nodes, Parsed};
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
    /// The first line, if it might be a header.
    first: Option<First>,
    /// Whether it certainly is one, for the lines behind it have another column.
    certain: bool,
}

/// A stretch of the file.
struct Part {
    list: ArcList,
    /// The largest id, if there is any arc.
    largest: Option<u32>,
}

/// Reads the whole content of a file.
pub(super) fn parse(path: &str, bytes: &[u8]) -> Result<Parsed> {
    let (nodes, weighted, lists) = read(bytes).map_err(|fault| fault.into_error(path, bytes))?;
    Ok(Parsed {
        format: "edge-list",
        arcs: Arcs::Lists(lists),
        nodes: Nodes::Declared { count: nodes, first_id: 0 },
        weighted,
        mirror: false,
    })
}

/// (nodes, weighted, arcs)
fn read(bytes: &[u8]) -> Result<(u64, bool, Vec<ArcList>), Fault> {
    let shape = shape(bytes)?;
    let body = shape.first.as_ref().map_or(shape.body, |first| first.next);
    let parts = text::parse_parts(bytes, body, |lines| arcs(shape.weighted, lines))?;
    let largest = parts.iter().filter_map(|part| part.largest).max();
    let mut lists: Vec<ArcList> = parts.into_iter().map(|part| part.list).collect();
    let mut nodes = largest.map_or(0, |largest| u64::from(largest) + 1);
    if let Some(first) = &shape.first {
        let found = lists.iter().map(|list| list.pairs.len() as u64).sum();
        if is_header(&shape, first, found, nodes)? {
            if nodes > first.n {
                return Err(out_of_range(bytes, first));
            }
            nodes = first.n;
        } else {
            let mut line = text::lines(&bytes[..first.next], first.at);
            let part = arcs(shape.weighted, &mut line)?;
            nodes = nodes.max(part.largest.map_or(0, |largest| u64::from(largest) + 1));
            lists.insert(0, part.list);
        }
        if nodes == 0 {
            return Err(Fault::new(
                first.at,
                "the graph is empty (0 nodes); give at least one arc",
            ));
        }
    }
    Ok((nodes, shape.weighted, lists))
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

fn shape(bytes: &[u8]) -> Result<Shape, Fault> {
    let mut lines = text::lines(bytes, 0).filter(|(_, line)| !is_comment(line));
    let Some((body, line)) = lines.next() else {
        return Err(Fault::new(0, "the graph is empty (no arcs in the file); give at least one"));
    };
    let columns = Fields::<true>(line).count();
    let second = lines.next().map(|(_, line)| Fields::<true>(line).count());
    let numbers: Vec<_> = Fields::<true>(line).take(3).map(text::integer).collect();
    let first = match numbers[..] {
        [Some(n), Some(m)] => {
            Some(First { at: body, next: (body + line.len() + 1).min(bytes.len()), n, m })
        }
        _ => None,
    };
    let certain = first.is_some() && second == Some(3);
    if !certain && !(2..=3).contains(&columns) {
        return Err(misshapen(body, line));
    }
    Ok(Shape { body, weighted: certain || columns == 3, first, certain })
}

fn misshapen(at: usize, line: &[u8]) -> Fault {
    let what = format!("garbage line ({}); write `u v` or `u v weight`", shown(line));
    Fault::new(at, format!("{what}, alike on every line"))
}

fn arcs(weighted: bool, lines: &mut dyn Iterator<Item = (usize, &[u8])>) -> Result<Part, Fault> {
    let mut list = ArcList::default();
    let mut largest = None;
    for (at, line) in lines {
        let mut fields = Fields::<true>(line);
        let Some(first) = fields.next() else { continue };
        if matches!(first[0], b'#' | b'%') {
            continue;
        }
        let u = node(first, at)?;
        let v = node(fields.next().ok_or_else(|| misshapen(at, line))?, at)?;
        if weighted {
            let weight = fields.next().ok_or_else(|| misshapen(at, line))?;
            list.weights.push(text::weight(weight, at)?);
        }
        if fields.next().is_some() {
            return Err(misshapen(at, line));
        }
        largest = largest.max(Some(u.max(v)));
        list.pairs.push((u, v));
    }
    Ok(Part { list, largest })
}

/// An id from 0 as a node.
#[inline]
fn node(field: &[u8], at: usize) -> Result<u32, Fault> {
    let id = text::id(field, at)?;
    if id == MAX_NODES {
        let what = format!("id beyond 32 bits ({id}); ids go up to {}", MAX_NODES - 1);
        return Err(Fault::new(at, format!("{what}: renumber the nodes without gaps")));
    }
    Ok(id as u32)
}

/// Writes `graph` as an edge list: a header `n m`, then `u v` or `u v weight` with ids from 0,
/// whatever its input's ids were.
pub fn write(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    write_aside(path.as_ref(), |out| {
        writeln!(out, "{} {}", graph.nodes(), graph.arcs())?;
        for u in 0..graph.nodes() {
            for (v, weight) in graph.neighbors(u) {
                match graph.weights() {
                    Some(_) => writeln!(out, "{u} {v} {weight}")?,
                    None => writeln!(out, "{u} {v}")?,
                }
            }
        }
        Ok(())
    })
}
