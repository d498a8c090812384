//! METIS graph files (METIS 5 manual, section 4.1): `%` comments, a header `NODES EDGES [FMT [NCON]]`,
//! then a line per node with its neighbours, from 1. An empty line is a node without any.
//!
//! FMT is three digits: vertex sizes, vertex weights (NCON of them), edge weights. Sizes and vertex
//! weights are passed over; an edge's weight stands behind each neighbour.
//!
//! Every edge is listed from both ends and counted once, so EDGES is half the entries; a self-loop,
//! which METIS itself does not know, may be listed once (NetworKit) or twice. Two habits of others:
//! the GAP benchmark's files list directed arcs, and EDGES is their number; and in files of GAP and of
//! the 10th DIMACS challenge the first digit of FMT says that there may be loops and parallel edges,
//! not that sizes are there. The number of fields in the file tells which is meant.

use super::parsed::{Arcs, Headline, Nodes, Parsed};
use super::text::{self, Fault, Fields, shown};
use super::uplink::Uplink;
use crate::graph::ArcList;
use crate::graph::options::FileWeights;

/// The header, and what of it is sure only once the fields are counted.
struct Header {
    at: usize,
    /// Where the first node's line starts.
    body: usize,
    nodes: u64,
    edges: u64,
    weighted: bool,
    /// Fields in front of the neighbours of each node.
    skipped: u64,
    /// Whether the first digit claims sizes.
    sizes: bool,
    /// Where each part of the file begins, and its first row.
    parts: Vec<(usize, u64)>,
}

/// Whether a lower-case name is one of a METIS file: the content alone does not tell it from an edge list.
pub(super) fn is_name(name: &str) -> bool {
    name.ends_with(".graph") || name.ends_with(".metis")
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"%")
}

/// Reads the whole content of a file; edge weights are passed over unless `weights` are wanted.
pub(super) fn parse(
    bytes: &[u8],
    weights: FileWeights,
    uplink: Option<&Uplink>,
) -> Result<Parsed, Fault> {
    let mut header = header(bytes)?;
    count(bytes, &mut header)?;
    let parse =
        |lines: &mut dyn Iterator<Item = (usize, &[u8])>| neighbours(&header, weights, lines);
    let lists = text::parse_arcs(bytes, header.body, uplink, parse)?;
    let found: u64 = lists.iter().map(|list| list.pairs.len() as u64).sum();
    let loops: u64 =
        lists.iter().flat_map(|list| &list.pairs).filter(|(u, v)| u == v).count() as u64;
    let twice = header.edges.saturating_mul(2);
    if found != twice && found + loops != twice && found != header.edges {
        let promised = header.edges;
        return Err(Fault::new(
            header.at,
            format!(
                "the file is truncated or its header lies about counts ({promised} edges promised, each \
                 from both ends, and {found} entries found, {loops} of them self-loops); fetch it again"
            ),
        ));
    }
    let arcs = Arcs::Lists(lists, Nodes::Declared { count: header.nodes, first: 1 });
    Ok(Parsed::new("metis", arcs, header.weighted && weights.read()))
}

/// What the header promises, where the name is a METIS file's: every edge is listed from both ends.
pub(super) fn headline(start: &[u8], name: &str) -> Option<Headline> {
    let mut lines = text::lines(start, 0).filter(|_| is_name(name));
    let (_, line) = lines.find(|(_, line)| !is_comment(line) && !line.trim_ascii().is_empty())?;
    let numbers: Vec<u64> = Fields::<false>(line).map(text::integer).collect::<Option<_>>()?;
    let (nodes, arcs) = (*numbers.first()?, numbers.get(1)?.saturating_mul(2));
    let weighted = numbers.get(2).is_some_and(|format| format % 10 == 1);
    Some(Headline { format: "metis", nodes, arcs, weighted, symmetric: true })
}

fn header(bytes: &[u8]) -> Result<Header, Fault> {
    let found =
        text::lines(bytes, 0).find(|(_, line)| !is_comment(line) && !line.trim_ascii().is_empty());
    let Some((at, line)) = found else {
        return Err(Fault::new(bytes.len(), "no header; the file is truncated: fetch it again"));
    };
    let fields: Vec<&[u8]> = Fields::<false>(line).collect();
    let misshapen = || {
        let what = format!("not a header ({})", shown(line));
        Fault::new(at, format!("{what}; write `NODES EDGES [FMT [NCON]]`, FMT of digits 0 and 1"))
    };
    if !(2..=4).contains(&fields.len()) {
        return Err(misshapen());
    }
    let number = |index: usize, otherwise: u64| {
        fields.get(index).map_or(Ok(otherwise), |f| text::integer(f).ok_or_else(misshapen))
    };
    let (nodes, edges, format, constraints) =
        (number(0, 0)?, number(1, 0)?, number(2, 0)?, number(3, 1)?);
    let (sizes, of_vertices, of_edges) = (format / 100, format / 10 % 10, format % 10);
    if [sizes, of_vertices, of_edges].iter().any(|&digit| digit > 1) {
        return Err(misshapen());
    }
    text::node_count(nodes).map_err(|what| Fault::new(at, what))?;
    // Each needs a line, if only an empty one. The last may do without its newline.
    if nodes > bytes.len() as u64 {
        let what = format!("the file is truncated ({nodes} nodes promised); fetch it again");
        return Err(Fault::new(at, what));
    }
    Ok(Header {
        at,
        body: (at + line.len() + 1).min(bytes.len()),
        nodes,
        edges,
        weighted: of_edges == 1,
        skipped: of_vertices.saturating_mul(constraints),
        sizes: sizes == 1,
        parts: Vec::new(),
    })
}

/// Counts rows, so that every part knows its first one, and fields, which tell whether sizes are there.
fn count(bytes: &[u8], header: &mut Header) -> Result<(), Fault> {
    let counts = text::parse_parts(bytes, header.body, |lines| {
        let (mut start, mut rows, mut fields) = (None, 0u64, 0u64);
        for (at, line) in lines {
            start.get_or_insert(at);
            if !is_comment(line) {
                rows += 1;
                fields += Fields::<false>(line).count() as u64;
            }
        }
        Ok((start, rows, fields))
    })?;
    let fields: u64 = counts.iter().map(|part| part.2).sum();
    if header.sizes {
        let of_edges = header.edges.saturating_mul(2 + 2 * u64::from(header.weighted));
        let of_nodes = header.nodes.saturating_mul(header.skipped);
        let without = of_edges.saturating_add(of_nodes);
        header.skipped = header.skipped.saturating_add(u64::from(fields > without));
    }
    let mut first_row = 0;
    for (start, rows, _) in counts {
        header.parts.extend(start.map(|at| (at, first_row)));
        first_row += rows;
    }
    Ok(())
}

fn neighbours(
    header: &Header,
    weights: FileWeights,
    lines: &mut dyn Iterator<Item = (usize, &[u8])>,
) -> Result<ArcList, Fault> {
    let mut list = ArcList::default();
    let mut lines = lines.peekable();
    let Some(&(start, _)) = lines.peek() else { return Ok(list) };
    let mut row = header.parts.iter().find(|part| part.0 == start).map_or(0, |part| part.1);
    for (at, line) in lines.filter(|(_, line)| !is_comment(line)) {
        let mut fields = Fields::<false>(line);
        if row >= header.nodes {
            if fields.next().is_some() {
                let what = format!("a line beyond the {} nodes of the header", header.nodes);
                return Err(Fault::new(at, format!("{what} ({}); correct either", shown(line))));
            }
            continue;
        }
        for _ in 0..header.skipped {
            if fields.next().is_none() {
                let what = format!("garbage line ({})", shown(line));
                let next = "give the node's sizes and weights first, as the header promises";
                return Err(Fault::new(at, format!("{what}; {next}")));
            }
        }
        while let Some(field) = fields.next() {
            list.pairs.push((row as u32, text::id_from_1(field, header.nodes, at)?));
            if header.weighted {
                let Some(weight) = fields.next() else {
                    let what = format!("neighbour {} has no weight", shown(field));
                    return Err(Fault::new(at, format!("{what}; the header promises weights")));
                };
                if weights.read() {
                    list.weights.push(text::weight(weight, at, weights)?);
                }
            }
        }
        row += 1;
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::parsed::tests::{Found, found};

    fn arcs(text: &str) -> Result<Found, String> {
        found("g", text.as_bytes(), parse(text.as_bytes(), FileWeights::Exact, None))
    }

    #[test]
    fn a_line_lists_a_nodes_neighbours_and_an_empty_one_is_a_node_too() {
        let text = "% c\n4 2\n2 \n% between rows\n1 4\n\n2";
        assert_eq!(arcs(text).unwrap(), (4, vec![(0, 1), (1, 0), (1, 3), (3, 1)], vec![]));
        assert_eq!(
            arcs("3 1\n2\n1\n").unwrap().0,
            3,
            "the last line may be wanting if it is empty"
        );
        assert_eq!(arcs("2 1\n2\n1\n\n\n").unwrap().0, 2, "and so may the end of file");
    }

    #[test]
    fn sizes_and_vertex_weights_are_passed_over_and_edge_weights_read() {
        let plain = arcs("2 1 001\n2 7\n1 7\n").unwrap();
        assert_eq!(plain, (2, vec![(0, 1), (1, 0)], vec![7.0, 7.0]));
        assert_eq!(arcs("2 1 11\n5 2 7\n5 1 7\n").unwrap(), plain);
        assert_eq!(arcs("2 1 111 2\n9 5 5 2 7\n9 5 5 1 7\n").unwrap(), plain);
        assert_eq!(arcs("2 1 100\n9 2\n9 1\n").unwrap().1, plain.1, "sizes are there");
        assert_eq!(arcs("2 1 100\n2\n1\n").unwrap().1, plain.1, "they are not: DIMACS10");
        assert_eq!(arcs("2 1 10\n9 2\n9 1\n").unwrap().1, plain.1);
    }

    #[test]
    fn edges_are_counted_once_loops_either_way_and_gap_counts_arcs() {
        assert_eq!(arcs("2 2\n1 2\n1\n").unwrap().1.len(), 3, "a loop listed once");
        assert_eq!(arcs("2 2\n1 1 2\n1\n").unwrap().1.len(), 4, "a loop listed twice");
        assert_eq!(arcs("3 2\n2 3\n\n\n").unwrap().1, [(0, 1), (0, 2)], "directed arcs");
        assert_eq!(arcs("3 2 100\n2 3\n\n\n").unwrap().1, [(0, 1), (0, 2)]);
    }

    #[test]
    fn what_does_not_add_up_is_refused_at_its_line() {
        for (text, part) in [
            ("3 3\n2\n1 3\n2\n", "g:1: the file is truncated or its header lies about counts (3 "),
            ("% c\n2 1\n2 2\n1\n", "g:2: the file is truncated or its header lies"),
            ("2 1\n2\n1\n\n1\n", "g:5: a line beyond the 2 nodes of the header (1)"),
            ("2 1\n3\n1\n", "g:2: id out of range (3)"),
            ("2 1\n0\n1\n", "g:2: id out of range (0)"),
            ("2 1\nx\n1\n", "g:2: not a node id (x)"),
            ("2 1 1\n2\n1 5\n", "g:2: neighbour 2 has no weight"),
            ("2 1 1\n2 -5\n1 5\n", "g:2: weight is negative (-5)"),
            ("2 1 10\n9 2\n\n", "g:3: garbage line ()"),
            ("2 1 2\n2\n1\n", "g:1: not a header (2 1 2)"),
            ("2\n2\n1\n", "g:1: not a header (2)"),
            ("9999999 1\n2\n1\n", "g:1: the file is truncated (9999999 nodes"),
            ("99999999999 1\n2\n1\n", "g:1: too many nodes"),
            ("0 0\n", "g:1: the graph is empty"),
            ("% c\n", "g:2: no header"),
        ] {
            let message = arcs(text).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }

    #[test]
    fn rows_keep_their_numbers_across_parallel_parts() {
        let n = 200_000u32;
        let rows: String = (0..n).map(|u| format!("{}\n", (u ^ 1) + 1)).collect();
        let (_, pairs, _) = arcs(&format!("{n} {}\n% c\n{rows}", n / 2)).unwrap();
        assert!(pairs.into_iter().eq((0..n).map(|u| (u, u ^ 1))));
    }
}
