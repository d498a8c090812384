//! How much each node has of something: a CSV `node,weight`, with or without that header.

use super::delimited::Separator;
use super::source;
use super::text::{self, Fault, Fields, shown};
use crate::error::Result;
use crate::graph::Graph;
use std::path::Path;

/// The weights `[n]` that the CSV at `path` gives to nodes of `graph`, by ids of its input; 0 for the others.
///
/// # Errors
/// [`crate::Error::Input`] that names the line: a row that is no `node,weight`, a weight that is negative or not finite, a
/// node that the graph has not got or that comes twice.
pub fn read_weights(path: &Path, graph: &Graph) -> Result<Vec<f64>> {
    let name = path.to_string_lossy();
    let bytes = source::read_table(&name)?;
    weights_in(source::unmarked(&bytes), graph).map_err(|fault| fault.into_error(&name, &bytes))
}

fn weights_in(bytes: &[u8], graph: &Graph) -> Result<Vec<f64>, Fault> {
    let mut weights = vec![f64::NAN; graph.nodes()];
    let mut values = Vec::new();
    for (at, line) in text::lines(bytes, 0) {
        let fields: Vec<&[u8]> = match graph.has_text_ids() {
            true => {
                Separator::Byte(b',').split(line, at, &mut values)?;
                values.iter().map(|value| &**value).collect()
            }
            false => Fields::<true>(line).take(3).collect(),
        };
        let names_columns = |node: &[u8], weight: &[u8]| {
            node.eq_ignore_ascii_case(b"node") && weight.eq_ignore_ascii_case(b"weight")
        };
        let (id, weight) = match fields[..] {
            [] => continue,
            [node, weight] if at == 0 && names_columns(node, weight) => continue,
            [node, _] if at == 0 && text::integer(node).is_none() && !graph.has_text_ids() => {
                return Err(misshapen(at, line));
            }
            [node, weight] if graph.has_text_ids() => (String::from_utf8_lossy(node), weight),
            [node, weight] => (text::wide_id(node, at)?.to_string().into(), weight),
            _ => return Err(misshapen(at, line)),
        };
        let weight = match fast_float2::parse::<f64, _>(weight) {
            Ok(weight) if weight.is_finite() && weight >= 0.0 => weight + 0.0,
            _ => {
                let what = format!("a weight of {}; use a finite number >= 0", shown(weight));
                return Err(Fault::new(at, what));
            }
        };
        let Some(node) = graph.node_of_text(&id) else {
            let id = shown(id.as_bytes());
            let what = format!("the graph has no node {id} ({} nodes)", graph.nodes());
            return Err(Fault::new(at, format!("{what}; leave the line out")));
        };
        let slot = &mut weights[node as usize];
        if !slot.is_nan() {
            let id = shown(id.as_bytes());
            return Err(Fault::new(at, format!("node {id} comes twice; keep one line for it")));
        }
        *slot = weight;
    }
    weights.iter_mut().filter(|weight| weight.is_nan()).for_each(|weight| *weight = 0.0);
    Ok(weights)
}

fn misshapen(at: usize, line: &[u8]) -> Fault {
    Fault::new(at, format!("garbage line ({}); write `node,weight`", shown(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    fn read(text: &str) -> Result<Vec<f64>, String> {
        let origin = Origin { id_base: 1, ..Origin::default() };
        let graph = Graph::from_csr(vec![0; 5], vec![], None, origin).unwrap();
        weights_in(text.as_bytes(), &graph)
            .map_err(|fault| fault.into_error("x", text.as_bytes()).to_string())
    }

    #[test]
    fn weights_go_to_the_nodes_of_their_ids_with_a_header_or_without() {
        assert_eq!(read("node,weight\n4,0.5\n\n1, 2\r\n").unwrap(), [2.0, 0.0, 0.0, 0.5]);
        assert_eq!(read("2,1e300").unwrap(), [0.0, 1e300, 0.0, 0.0]);
        assert_eq!(read("").unwrap(), [0.0; 4]);
    }

    #[test]
    fn bad_weights_are_refused_at_their_line() {
        for (text, part) in [
            ("1,1\n2,-1\n", "x:2: a weight of -1"),
            ("1,inf\n", "x:1: a weight of inf"),
            ("1,x\n", "x:1: a weight of x"),
            ("node,rank\n", "x:1: garbage line (node,rank)"),
            ("1\n", "x:1: garbage line (1)"),
            ("1,2,3\n", "x:1: garbage line"),
            ("1,1\nx,1\n", "x:2: not a node id (x)"),
            ("5,1\n", "x:1: the graph has no node 5 (4 nodes)"),
            ("0,1\n", "x:1: the graph has no node 0"),
            ("1,1\n1,1\n", "x:2: node 1 comes twice"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }
}
