//! Galois binary graphs (`.gr` version 1, `FileGraph.cpp` of Galois; what Groute reads), little-endian:
//! `version: u64 = 1, size of an arc's data: u64, nodes: u64, arcs: u64, ends: [nodes] u64, targets:
//! [arcs] u32`, 4 bytes of padding if the number of arcs is odd, then the data. Row v ends at `ends[v]`.
//!
//! Data of 4 bytes are weights, taken for i32 as in the inputs of Groute and of Galois' own benchmarks:
//! the file does not say which type they have. So data of 8 bytes are refused, and so is version 2, with
//! its 64-bit targets.

use super::binary::{self, numbers, take, word};
use super::parsed::{Headline, Parsed};
use super::source::Bytes;
use super::text;
use crate::graph::array::Array;
use crate::graph::options::FileWeights;

/// Bytes in front of the ends.
const HEADER: usize = 32;

struct Header {
    data: u64,
    nodes: u64,
    arcs: u64,
}

/// The header, if the file has one of this version.
fn header(bytes: &[u8]) -> Option<Header> {
    let [version, data, nodes, arcs] = [0, 8, 16, 24].map(|at| word(bytes, at));
    (version? == 1).then_some(Header { data: data?, nodes: nodes?, arcs: arcs? })
}

impl Header {
    /// The file lengths that the header implies: without data the padding may be missing.
    fn lengths(&self) -> Option<[u64; 2]> {
        let ends = self.nodes.checked_mul(8)?;
        let targets = self.arcs.checked_mul(4)?;
        let bare = ends.checked_add(targets)?.checked_add(HEADER as u64)?;
        let whole = bare.checked_add(4 * (self.arcs % 2))?;
        let whole = whole.checked_add(self.data.checked_mul(self.arcs)?)?;
        Some([whole, if self.data == 0 { bare } else { whole }])
    }
}

/// Whether the content starts with the version and is exactly as long as its header would have it.
pub(super) fn is_likely(bytes: &[u8]) -> bool {
    let lengths = header(bytes).and_then(|header| header.lengths());
    lengths.is_some_and(|lengths| lengths.contains(&(bytes.len() as u64)))
}

/// What the header promises, where it fits the file.
pub(super) fn headline(start: &[u8], whole: impl Fn(Option<u64>) -> bool) -> Option<Headline> {
    let header = header(start)?;
    let fits = header.lengths()?.iter().any(|length| whole(Some(*length)));
    let (nodes, arcs) = (header.nodes, header.arcs);
    let weighted = header.data > 0;
    fits.then_some(Headline { format: "galois", nodes, arcs, weighted, symmetric: false })
}

/// Whether a file of the name `.gr` is a binary one, sound or not.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(HEADER)].contains(&0)
}

/// Reads `bytes`, the whole content of a `file`. Refusals come without the path.
pub(super) fn parse(bytes: &[u8], file: &Bytes, wanted: FileWeights) -> Result<Parsed, String> {
    let size = bytes.len() as u64;
    let Some(header) = header(bytes) else {
        let version = word(bytes, 0).map_or("none".into(), |version| version.to_string());
        return Err(format!(
            "no Galois graph of version 1 ({size} bytes, version {version}); convert it to version 1"
        ));
    };
    let counts = format!("{} nodes, {} arcs of {} bytes", header.nodes, header.arcs, header.data);
    let Some(lengths) = header.lengths() else {
        return Err(format!("the header makes no sense ({counts}); check what the file is"));
    };
    if !lengths.contains(&size) {
        return Err(binary::misfit("Galois graph", &counts, lengths[0], size));
    }
    text::node_count(header.nodes)?;
    let mut rest = &bytes[HEADER..];
    let (Some(ends), Some(targets)) =
        (take(&mut rest, header.nodes, 8), take(&mut rest, header.arcs, 4))
    else {
        return Err(binary::misfit("Galois graph", &counts, lengths[0], size));
    };
    let mut offsets = numbers(ends, u64::from_le_bytes);
    offsets.insert(0, 0);
    let data = &rest[rest.len() - (header.data * header.arcs) as usize..];
    let weights = match header.data {
        0 => None,
        4 => Some(binary::weights(data, wanted, i32::from_le_bytes)?),
        bytes => {
            return Err(format!(
                "arcs carry {bytes} bytes of data of an unknown type; convert it to 32-bit integer weights"
            ));
        }
    };
    Ok(Parsed::rows("galois", offsets, file.numbers(targets), weights.map(Array::from)))
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn galois(words: [u64; 4], ends: &[u64], targets: &[u32], data: &[i32]) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            words.iter().chain(ends).flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(targets.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(&[0; 4][..4 * (targets.len() % 2)]);
        bytes.extend(data.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn rows(bytes: &[u8]) -> (Vec<u64>, Vec<u32>, Option<Vec<f32>>) {
        assert!(is_likely(bytes) && is_binary(bytes));
        parsed::tests::rows(parse(bytes, &Bytes::Owned(vec![]), FileWeights::Exact).unwrap())
    }

    #[test]
    fn targets_and_weights_are_read_with_and_without_padding() {
        let odd = galois([1, 4, 2, 3], &[2, 3], &[0, 1, 0], &[5, 6, 7]);
        let expected = (vec![0, 2, 3], vec![0, 1, 0]);
        assert_eq!(rows(&odd), (expected.0.clone(), expected.1.clone(), Some(vec![5.0, 6.0, 7.0])));
        let even = galois([1, 4, 1, 2], &[2], &[0, 0], &[5, -6]);
        assert_eq!(rows(&even).2, Some(vec![5.0, -6.0]), "-6 is refused by the graph");
        let bare = galois([1, 0, 2, 3], &[2, 3], &[0, 1, 0], &[]);
        for bytes in [&bare[..], &bare[..bare.len() - 4]] {
            assert_eq!(rows(bytes), (expected.0.clone(), expected.1.clone(), None));
        }
    }

    #[test]
    fn a_file_that_does_not_fit_its_header_is_refused() {
        let refused = |bytes: &[u8], part: &str| {
            let message =
                parse(bytes, &Bytes::Owned(vec![]), FileWeights::Exact).map(|_| ()).unwrap_err();
            assert!(message.contains(part), "{message}");
        };
        let good = galois([1, 4, 2, 3], &[2, 3], &[0, 1, 0], &[5, 6, 7]);
        refused(&good[..good.len() - 1], "truncated");
        refused(&good[..33], "truncated");
        refused(&good[..31], "no Galois graph");
        refused(&[&good[..], &[0]].concat(), "too long");
        refused(&galois([2, 4, 2, 3], &[2, 3], &[0, 1, 0], &[5, 6, 7]), "version 2");
        refused(&galois([1, 8, 1, 1], &[1], &[0], &[5, 0]), "8 bytes of data");
        refused(&galois([1, 4, u64::MAX, 3], &[], &[], &[]), "makes no sense");
        refused(&galois([1, 4, 1 << 40, 1 << 40], &[], &[], &[]), "truncated");
        refused(&galois([1, 0, 0, 0], &[], &[], &[]), "empty");
    }
}
