//! Writes a graph's arcs as text, a line each, formatted in parallel by blocks of rows.

use crate::graph::{Graph, NodeId};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

/// Blocks of rows whose text is held in memory at a time.
const BLOCKS: usize = 64;
/// Below this a whole f32 fits into 32 bits.
const WHOLE: f32 = 16_777_216.0;

/// What stands for nodes.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// Numbers from this one on, separated by blanks.
    From(u64),
    /// What the input calls them, separated by commas.
    Names,
}

/// Writes `u v` or, with a weight of 1 where the graph has none, `u v weight` for every arc in row order. Weights parse
/// back to the same bits.
pub(super) fn write(
    graph: &Graph,
    out: &mut BufWriter<&File>,
    ends: Ends,
    weighted: bool,
) -> io::Result<()> {
    for blocks in graph.row_blocks().chunks(BLOCKS) {
        let texts: Vec<Vec<u8>> =
            blocks.par_iter().map(|rows| text(graph, rows.clone(), ends, weighted)).collect();
        texts.iter().try_for_each(|text| out.write_all(text))?;
    }
    Ok(())
}

fn text(graph: &Graph, rows: Range<usize>, ends: Ends, weighted: bool) -> Vec<u8> {
    let (mut text, mut source) = (Vec::new(), Vec::new());
    let push = |text: &mut Vec<u8>, node: u32| match ends {
        Ends::From(first) => push_id(text, NodeId::Number(u64::from(node) + first)),
        Ends::Names => push_id(text, graph.id(node)),
    };
    let separator = if matches!(ends, Ends::Names) { b',' } else { b' ' };
    for u in rows {
        source.clear();
        push(&mut source, u as u32);
        for (v, weight) in graph.neighbors(u) {
            text.extend_from_slice(&source);
            text.push(separator);
            push(&mut text, v);
            if weighted {
                text.push(separator);
                push_weight(&mut text, weight);
            }
            text.push(b'\n');
        }
    }
    text
}

/// A node's id as a value of a CSV: a name in quotes where a reader would take it apart, or for a comment.
pub(super) fn push_id(text: &mut Vec<u8>, id: NodeId) {
    match id {
        NodeId::Number(id) => text.extend_from_slice(itoa::Buffer::new().format(id).as_bytes()),
        NodeId::Text(name) => push_value(text, name),
    }
}

/// A text as a value of a CSV.
pub(super) fn push_value(text: &mut Vec<u8>, value: &str) {
    let apart = value.contains([',', '"', ';', '|']) || value.trim() != value;
    if !apart && !value.starts_with(['#', '%']) {
        return text.extend_from_slice(value.as_bytes());
    }
    text.push(b'"');
    for (place, part) in value.split('"').enumerate() {
        if place > 0 {
            text.extend_from_slice(b"\"\"");
        }
        text.extend_from_slice(part.as_bytes());
    }
    text.push(b'"');
}

/// Text that parses back to `weight`: the whole number that it is, else the shortest.
fn push_weight(text: &mut Vec<u8>, weight: f32) {
    if weight < WHOLE && weight.fract() == 0.0 {
        text.extend_from_slice(itoa::Buffer::new().format(weight as u32).as_bytes());
    } else if weight >= WHOLE {
        // In full: rounded decimals are another whole number.
        text.extend_from_slice(itoa::Buffer::new().format(weight as u128).as_bytes());
    } else {
        text.extend_from_slice(zmij::Buffer::new().format(weight).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_parse_back_to_the_same_bits() {
        let odd = [0.0, 1.0, 3.0, 0.1, 1e-45, f32::MIN_POSITIVE, f32::MAX, 16_777_216.0, 2.5e9];
        for weight in odd.into_iter().chain((1..2000).map(|i| f32::from_bits(i * 1_060_001))) {
            let mut text = Vec::new();
            push_weight(&mut text, weight);
            let back: f32 = fast_float2::parse(&text).unwrap();
            assert_eq!(back.to_bits(), weight.to_bits(), "{}", text.escape_ascii());
        }
        let mut text = Vec::new();
        push_weight(&mut text, 3.0);
        assert_eq!(text, b"3");
    }
}
