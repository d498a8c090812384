//! Writes a graph's arcs as text, a line each, formatted in parallel by blocks of rows.

use crate::graph::Graph;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

/// Blocks of rows whose text is held in memory at a time.
const BLOCKS: usize = 64;
/// Below this a whole f32 fits into 32 bits.
const WHOLE: f32 = 16_777_216.0;

/// Whether lines have a third column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weights {
    Never,
    /// 1 where the graph has none.
    Always,
}

/// Writes `u v` or `u v weight` for every arc in row order, ids from `first_id`. Weights parse back to
/// the same bits.
pub(super) fn write(
    graph: &Graph,
    out: &mut BufWriter<&File>,
    first_id: u64,
    weights: Weights,
) -> io::Result<()> {
    for blocks in graph.row_blocks().chunks(BLOCKS) {
        let texts: Vec<Vec<u8>> =
            blocks.par_iter().map(|rows| text(graph, rows.clone(), first_id, weights)).collect();
        for text in texts {
            out.write_all(&text)?;
        }
    }
    Ok(())
}

fn text(graph: &Graph, rows: Range<usize>, first_id: u64, weights: Weights) -> Vec<u8> {
    let mut text = Vec::new();
    let (mut row, mut column) = (itoa::Buffer::new(), itoa::Buffer::new());
    for u in rows {
        let source = row.format(u as u64 + first_id);
        for (v, weight) in graph.neighbors(u) {
            text.extend_from_slice(source.as_bytes());
            text.push(b' ');
            text.extend_from_slice(column.format(u64::from(v) + first_id).as_bytes());
            if weights == Weights::Always {
                text.push(b' ');
                push_weight(&mut text, weight);
            }
            text.push(b'\n');
        }
    }
    text
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
