//! Serialised graphs of the GAP benchmark suite (Beamer, Asanovic, Patterson 2015; `reader.h` and
//! `writer.h` of gapbs), little-endian without padding:
//! `directed: u8, num_edges: i64, num_nodes: i64, offsets: [num_nodes + 1] i64, neighbours`, and for a
//! directed graph the offsets and neighbours of the transpose, which are not used here.
//!
//! A neighbour is `i32` in `.sg` and `{ node: i32, weight: i32 }` in `.wsg`. `num_edges` counts the
//! neighbours that are stored, in an undirected graph two an edge. There is no magic number, so the
//! header is believed only if the file has exactly the length that it implies; the length also tells
//! whether there are weights. Without any neighbour the name tells.
//!
//! The suite's text forms `.el` and `.wel` are edge lists without a header: nodes up to the largest id.

use super::binary::{self, numbers, take, word};
use super::parsed::{Headline, Parsed};
use super::rows::{self, Ends};
use super::source::Bytes;
use super::text;
use crate::aside::write_aside;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::graph::options::FileWeights;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Bytes of the flag and the two counts.
const HEADER: usize = 17;
/// Nodes that the format's 31-bit ids can name.
const MOST_NODES: u64 = 1 << 31;

struct Header {
    directed: bool,
    arcs: u64,
    nodes: u64,
}

/// The header, if the file is long enough to have one and its flag is a bool.
fn header(bytes: &[u8]) -> Option<Header> {
    let (arcs, nodes) = (word(bytes, 1)?, word(bytes, 9)?);
    let directed = *bytes.first()?;
    (directed <= 1).then_some(Header { directed: directed == 1, arcs, nodes })
}

impl Header {
    fn length(&self, weighted: bool) -> Option<u64> {
        let neighbours = self.arcs.checked_mul(if weighted { 8 } else { 4 })?;
        let offsets = self.nodes.checked_add(1)?.checked_mul(8)?;
        let copies = 1 + u64::from(self.directed);
        offsets.checked_add(neighbours)?.checked_mul(copies)?.checked_add(HEADER as u64)
    }
}

/// What the header promises, where it fits the file and the name.
pub(super) fn headline(
    start: &[u8],
    whole: impl Fn(Option<u64>) -> bool,
    name: &str,
) -> Option<Headline> {
    let header = header(start).filter(|_| is_name(name))?;
    let weighted = name.ends_with(".wsg");
    let (nodes, arcs) = (header.nodes, header.arcs);
    let fits = whole(header.length(weighted));
    fits.then_some(Headline { format: "gap", nodes, arcs, weighted, symmetric: !header.directed })
}

/// Whether a lower-case name is one of a serialised graph.
pub(super) fn is_name(name: &str) -> bool {
    name.ends_with(".sg") || name.ends_with(".wsg")
}

/// Whether the content is exactly as long as its header would have it.
pub(super) fn is_likely(bytes: &[u8]) -> bool {
    let size = Some(bytes.len() as u64);
    header(bytes).is_some_and(|h| [false, true].iter().any(|&weighted| h.length(weighted) == size))
}

/// Reads `bytes`, the whole content of a `file` with a serialised graph, called `name`. Refusals come without the path.
pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    file: &Bytes,
    wanted: FileWeights,
) -> Result<Parsed, String> {
    let size = bytes.len() as u64;
    let Some(header) = header(bytes) else {
        return Err(format!(
            "no serialised graph of the GAP benchmark ({size} bytes); check what the file is"
        ));
    };
    let named = name.ends_with(".wsg");
    let Some(weighted) = [named, !named].into_iter().find(|&w| header.length(w) == Some(size))
    else {
        return Err(misfit(&header, named, size));
    };
    text::node_count(header.nodes)?;
    if header.nodes > MOST_NODES {
        let nodes = header.nodes;
        return Err(format!("too many nodes ({nodes}); the format's ids are 31 bits wide"));
    }
    let mut rest = &bytes[HEADER..];
    let entry = if weighted { 8 } else { 4 };
    let (Some(offsets), Some(entries)) =
        (take(&mut rest, header.nodes + 1, 8), take(&mut rest, header.arcs, entry))
    else {
        return Err(misfit(&header, weighted, size));
    };
    // A negative number becomes one that no check lets through: ids and offsets >= 2^31.
    let offsets = numbers(offsets, u64::from_le_bytes);
    if !weighted {
        return Ok(Parsed::rows("gap-sg", offsets, file.numbers(entries), None));
    }
    let columns = numbers(entries, |e: [u8; 8]| u64::from_le_bytes(e) as u32);
    let weight = |e: [u8; 8]| (u64::from_le_bytes(e) >> 32) as i32;
    let weights = binary::weights(entries, wanted, weight)?;
    Ok(Parsed::rows("gap-wsg", offsets, columns.into(), Some(weights.into())))
}

fn misfit(header: &Header, weighted: bool, size: u64) -> String {
    let (nodes, arcs) = (header.nodes as i64, header.arcs as i64);
    let kind = if header.directed { "directed" } else { "undirected" };
    let counts = format!("{kind}, {nodes} nodes, {arcs} neighbours");
    match header.length(weighted).filter(|_| nodes >= 0 && arcs >= 0) {
        None => format!("the header makes no sense ({counts}); check what the file is"),
        Some(expected) => binary::misfit("serialised graph", &counts, expected, size),
    }
}

pub(super) fn write_sg(graph: &Graph, path: &Path) -> Result<()> {
    refuse_weights(graph, path, ".wsg or .wel")?;
    serialise(graph, path, false)
}

pub(super) fn write_wsg(graph: &Graph, path: &Path) -> Result<()> {
    let whole = |weight: f32| weight.fract() == 0.0 && weight < i32::MAX as f32;
    let odd = graph.weights().and_then(|weights| weights.iter().find(|&&w| !whole(w)));
    if let Some(weight) = odd {
        return Err(Error::input(format!(
            "{}: weight {weight} is no 32-bit integer, and .wsg has no others; write .wel",
            path.display()
        )));
    }
    serialise(graph, path, true)
}

pub(super) fn write_el(graph: &Graph, path: &Path) -> Result<()> {
    refuse_weights(graph, path, ".wel")?;
    write_list(graph, path, false)
}

pub(super) fn write_wel(graph: &Graph, path: &Path) -> Result<()> {
    write_list(graph, path, true)
}

fn refuse_weights(graph: &Graph, path: &Path, instead: &str) -> Result<()> {
    if !graph.is_weighted() {
        return Ok(());
    }
    let path = path.display();
    Err(Error::input(format!("{path}: the graph's weights would be lost; write {instead}")))
}

fn write_list(graph: &Graph, path: &Path, weighted: bool) -> Result<()> {
    let bound = graph.columns().iter().max().map_or(0, |&v| v as usize + 1);
    let last = graph.nodes() - 1;
    if bound <= last && graph.degree(last) == 0 {
        return Err(Error::input(format!(
            "{}: the last node ({last}) has no arc, which this format cannot tell; write .txt or .sg",
            path.display()
        )));
    }
    write_aside(path, |out| rows::write(graph, out, Ends::From(0), weighted))
}

fn serialise(graph: &Graph, path: &Path, weighted: bool) -> Result<()> {
    if graph.nodes() as u64 > MOST_NODES {
        return Err(Error::input(format!(
            "{}: {} nodes are too many for 31-bit ids; write Matrix Market",
            path.display(),
            graph.nodes()
        )));
    }
    let directed = !graph.is_symmetric();
    write_aside(path, |out| {
        out.write_all(&[u8::from(directed)])?;
        out.write_all(&graph.arcs().to_le_bytes())?;
        out.write_all(&(graph.nodes() as u64).to_le_bytes())?;
        csr(graph, out, weighted)?;
        if directed { csr(&graph.transpose(), out, weighted) } else { Ok(()) }
    })
}

fn csr(graph: &Graph, out: &mut BufWriter<&File>, weighted: bool) -> io::Result<()> {
    graph.offsets().iter().try_for_each(|offset| out.write_all(&offset.to_le_bytes()))?;
    for (arc, column) in graph.columns().iter().enumerate() {
        out.write_all(&column.to_le_bytes())?;
        if weighted {
            let weight = graph.weights().map_or(1, |weights| weights[arc] as i32);
            out.write_all(&weight.to_le_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn serialised(directed: u8, counts: [i64; 2], offsets: &[i64], entries: &[i32]) -> Vec<u8> {
        let words = counts.iter().chain(offsets).flat_map(|word| word.to_le_bytes());
        let once: Vec<u8> = words.chain(entries.iter().flat_map(|e| e.to_le_bytes())).collect();
        let again = if directed == 1 { &once[16..] } else { &[] };
        [&[directed], &once[..], again].concat()
    }

    fn rows(name: &str, bytes: &[u8]) -> (Vec<u64>, Vec<u32>, Option<Vec<f32>>) {
        assert!(is_likely(bytes));
        parsed::tests::rows(parse(name, bytes, &Bytes::Owned(vec![]), FileWeights::Exact).unwrap())
    }

    #[test]
    fn the_length_tells_whether_there_are_weights_whatever_the_name() {
        for directed in [0, 1] {
            let plain = serialised(directed, [2, 2], &[0, 1, 2], &[1, 0]);
            assert_eq!(rows("g.wsg", &plain), (vec![0, 1, 2], vec![1, 0], None));
            let weighted = serialised(directed, [2, 2], &[0, 1, 2], &[1, 7, 0, -3]);
            let expected = (vec![0, 1, 2], vec![1, 0], Some(vec![7.0, -3.0]));
            assert_eq!(rows("g.sg", &weighted), expected, "-3 is refused by the graph");
        }
        let none = serialised(0, [0, 1], &[0, 0], &[]);
        assert_eq!(rows("g.sg", &none).2, None);
        assert_eq!(rows("g.wsg", &none).2, Some(vec![]));
    }

    #[test]
    fn a_file_that_does_not_fit_its_header_is_refused() {
        let good = serialised(1, [2, 2], &[0, 1, 2], &[1, 0]);
        let refused = |bytes: &[u8], part: &str| {
            let message = parse("g.sg", bytes, &Bytes::Owned(vec![]), FileWeights::Exact)
                .map(|_| ())
                .unwrap_err();
            assert!(message.contains(part), "{message}");
        };
        refused(&good[..good.len() - 1], "truncated");
        refused(&good[..20], "truncated");
        refused(&good[..9], "no serialised graph");
        refused(&[&good[..], &[0]].concat(), "too long");
        refused(&[&[2], &good[1..]].concat(), "no serialised graph");
        refused(&serialised(0, [-1, 2], &[0, 1, 2], &[1, 0]), "makes no sense");
        refused(&serialised(0, [2, i64::MAX], &[0, 1, 2], &[1, 0]), "makes no sense");
        refused(&serialised(0, [2, i64::MAX / 32], &[0, 1, 2], &[1, 0]), "truncated");
        refused(&serialised(0, [0, 0], &[0], &[]), "empty");
    }
}
