//! Data sets of the LDBC Graphalytics benchmark (specification 1.0, section 2.2.3): `NAME.v`, a vertex
//! id a line, and `NAME.e`, a line `u v` or `u v weight` an edge. Ids are any 64-bit numbers, and a
//! vertex may occur in no edge. Naming either file loads both.
//!
//! A file `NAME.properties` beside them may say `graph.NAME.directed = false`: then each edge is listed
//! once and means both arcs. Without such a line the arcs are as listed. Either file may be compressed.

use super::compact::Called;
use super::parsed::{Arcs, Nodes, Parsed};
use super::source::{self, Limit};
use super::text::{self, Fault, Fields, shown};
use crate::error::Result;
use crate::graph::options::FileWeights;
use crate::graph::{ArcList, MAX_NODES};
use rayon::prelude::*;
use std::path::Path;

/// The files of a data set.
pub(super) struct Files {
    vertices: String,
    edges: String,
    properties: String,
}

impl Files {
    /// All of them; the last need not be there.
    pub(super) fn all(&self) -> [&str; 3] {
        [&self.vertices, &self.edges, &self.properties]
    }
}

/// The data set that `path` belongs to, given its plain, lower-case name: `None` unless it ends in
/// `.e` or `.v` and the other file is there.
pub(super) fn files(path: &str, name: &str) -> Option<Files> {
    if !name.ends_with(".e") && !name.ends_with(".v") {
        return None;
    }
    let stem = path.get(..name.len() - 2)?;
    let beside = |ending: &str| {
        let names =
            [""].iter().chain(&source::ENDINGS).map(|packed| format!("{stem}{ending}{packed}"));
        names.into_iter().find(|name: &String| Path::new(name).is_file())
    };
    let (vertices, edges) = if name.ends_with(".e") {
        (beside(".v")?, path.to_string())
    } else {
        (path.to_string(), beside(".e")?)
    };
    Some(Files { vertices, edges, properties: format!("{stem}.properties") })
}

/// Reads a data set; `bytes` is the content of `path`, one of its two files. Weights are passed over unless
/// `weights` are wanted.
pub(super) fn parse(
    files: &Files,
    path: &str,
    bytes: &[u8],
    weights: FileWeights,
    limit: Limit,
) -> Result<Parsed> {
    let of_edges = path == files.edges;
    let other = source::read(if of_edges { &files.vertices } else { &files.edges }, limit)?;
    let (vertices, edges) = if of_edges { (&other[..], bytes) } else { (bytes, &other[..]) };
    let (vertices, edges) = (source::unmarked(vertices), source::unmarked(edges));
    if !Path::new(&files.properties).is_file() {
        return join(files, [vertices, edges, b""], weights);
    }
    let properties = source::read(&files.properties, Limit::of_table())?;
    join(files, [vertices, edges, &properties], weights)
}

/// The graph of these vertices, edges and properties.
fn join(
    files: &Files,
    [vertices, edges, properties]: [&[u8]; 3],
    weights: FileWeights,
) -> Result<Parsed> {
    let names = names(vertices).map_err(|fault| fault.into_error(&files.vertices, vertices))?;
    let (weighted, lists) = read_edges(&names, edges, weights)
        .map_err(|fault| fault.into_error(&files.edges, edges))?;
    let directed =
        directed(properties).map_err(|fault| fault.into_error(&files.properties, properties))?;
    let arcs = Arcs::Lists(lists, Nodes::Listed(Called::Named(names)));
    let parsed = Parsed::new("ldbc", arcs, weighted && weights.read());
    Ok(Parsed { mirror: directed == Some(false), ..parsed })
}

/// As [`parse`], from memory.
pub(super) fn parse_bytes(contents: [&[u8]; 3]) -> Result<Parsed> {
    let [vertices, edges, properties] = ["g.v", "g.e", "g.properties"].map(String::from);
    join(&Files { vertices, edges, properties }, contents, FileWeights::Exact)
}

fn names(bytes: &[u8]) -> Result<Vec<u64>, Fault> {
    let parts = text::parse_parts(bytes, 0, |lines| {
        let mut names = Vec::new();
        for (at, line) in lines {
            let mut fields = Fields::<false>(line);
            let Some(field) = fields.next() else { continue };
            match (text::integer(field), fields.next()) {
                (Some(name), None) => names.push((name, at)),
                _ => {
                    let what = format!("not a vertex id ({})", shown(line));
                    return Err(Fault::new(at, format!("{what}; write one integer a line")));
                }
            }
        }
        Ok(names)
    })?;
    let mut names = parts.concat();
    names.par_sort_unstable();
    let repeated = names.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    if let Some(pair) = repeated.min_by_key(|pair| pair[1].1) {
        let what = format!("vertex {} is listed twice; list it once", pair[1].0);
        return Err(Fault::new(pair[1].1, what));
    }
    if names.is_empty() {
        return Err(Fault::new(0, "the graph is empty (no vertices); list at least one"));
    }
    if names.len() as u64 > MAX_NODES {
        let what = format!("too many vertices ({}); nodes are 32 bits wide", names.len());
        return Err(Fault::new(0, format!("{what}: at most {MAX_NODES}")));
    }
    Ok(names.into_iter().map(|(name, _)| name).collect())
}

fn read_edges(
    names: &[u64],
    bytes: &[u8],
    weights: FileWeights,
) -> Result<(bool, Vec<ArcList>), Fault> {
    let columns =
        text::lines(bytes, 0).map(|(_, line)| Fields::<false>(line).count()).find(|&c| c > 0);
    let weighted = columns == Some(3);
    let misshapen = |at: usize, line: &[u8]| {
        let what = format!("garbage line ({})", shown(line));
        Fault::new(at, format!("{what}; write `u v` or `u v weight`, alike on every line"))
    };
    let id = |field: &[u8], at: usize| node(names, field, at);
    let lists = text::parse_parts(bytes, 0, |lines| {
        text::arcs::<false, u32>(lines, weighted.then_some(weights), |_| false, id, misshapen)
    })?;
    Ok((weighted, lists))
}

/// The node of a vertex id: at once where ids have no gaps, else by bisection.
#[inline]
fn node(names: &[u64], field: &[u8], at: usize) -> Result<u32, Fault> {
    let found = text::integer(field).and_then(|name| {
        let offset = name.checked_sub(names[0])?;
        match names.get(offset.min(u64::from(u32::MAX)) as usize) {
            Some(&there) if there == name => Some(offset as u32),
            _ => names.binary_search(&name).ok().map(|node| node as u32),
        }
    });
    found.ok_or_else(|| {
        let what = format!("no vertex of the .v file ({})", shown(field));
        Fault::new(at, format!("{what}; list it there, or correct the line"))
    })
}

/// What properties say of `directed`, if they do.
fn directed(bytes: &[u8]) -> Result<Option<bool>, Fault> {
    for (at, line) in text::lines(bytes, 0) {
        let line = String::from_utf8_lossy(line);
        let Some((key, value)) = line.split_once('=') else { continue };
        if key.trim().starts_with("graph.") && key.trim().ends_with(".directed") {
            return value.trim().parse().map(Some).map_err(|_| {
                let what = format!("not true or false ({})", shown(value.trim().as_bytes()));
                Fault::new(at, format!("{what}; correct the line"))
            });
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vertices: &str, edges: &str, properties: &str) -> Result<Parsed, String> {
        parse_bytes([vertices, edges, properties].map(str::as_bytes))
            .map_err(|error| error.to_string())
    }

    fn pairs(parsed: &Parsed) -> (Vec<u64>, Vec<(u32, u32)>) {
        let Arcs::Lists(lists, Nodes::Listed(Called::Named(names))) = &parsed.arcs else {
            unreachable!()
        };
        (names.clone(), lists.iter().flat_map(|list| list.pairs.clone()).collect())
    }

    #[test]
    fn vertices_have_any_ids_and_need_no_edge() {
        let vertices = "900\n7\n\n18446744073709551615\n8\n";
        let parsed = read(vertices, "7 900 0.5\n900 8 1\n", "").unwrap();
        assert_eq!(pairs(&parsed), (vec![7, 8, 900, u64::MAX], vec![(0, 2), (2, 1)]));
        assert!(parsed.weighted && !parsed.mirror);
    }

    #[test]
    fn properties_tell_whether_edges_mean_both_arcs() {
        let with = |text: &str| read("1\n2\n", "1 2\n", text).map(|parsed| parsed.mirror);
        assert_eq!(with("# c\ngraph.g.directed = false\n"), Ok(true));
        assert_eq!(with("graph.g.directed=true\n"), Ok(false));
        assert_eq!(with("graph.g.meta.vertices = 2\n"), Ok(false));
        let message = with("x\ngraph.g.directed = maybe\n").unwrap_err();
        assert!(message.starts_with("g.properties:2: not true or false (maybe)"), "{message}");
    }

    #[test]
    fn bad_lines_are_refused_in_the_file_that_has_them() {
        for (vertices, edges, part) in [
            ("1\n2\n1\n", "1 2\n", "g.v:3: vertex 1 is listed twice"),
            ("1\n2 3\n", "1 2\n", "g.v:2: not a vertex id (2 3)"),
            ("1\n-2\n", "1 2\n", "g.v:2: not a vertex id (-2)"),
            ("\n", "1 2\n", "g.v:1: the graph is empty"),
            ("1\n2\n", "1 2\n1 3\n", "g.e:2: no vertex of the .v file (3)"),
            ("1\n2\n", "1 2\n0 2\n", "g.e:2: no vertex of the .v file (0)"),
            ("1\n2\n", "1 2\n1 x\n", "g.e:2: no vertex of the .v file (x)"),
            ("1\n2\n", "1 2\n1\n", "g.e:2: garbage line (1)"),
            ("1\n2\n", "1 2 1\n1 2\n", "g.e:2: garbage line (1 2)"),
            ("1\n2\n", "1 2\n1 2 5\n", "g.e:2: garbage line (1 2 5)"),
            ("1\n2\n", "1 2 1\n1 2 -5\n", "g.e:2: weight is negative (-5)"),
        ] {
            let message = read(vertices, edges, "").map(|_| ()).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }
}
