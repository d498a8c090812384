//! The binary CSR of the HIVE programs, little-endian without padding:
//! `rows: i32, cols: i32, nnz: i32, indptr: [rows + 1] i32, indices: [nnz] i32, data: [nnz] f32`.
//!
//! There is no magic number, so the header is believed only if the file has exactly the length that it
//! implies.

use super::binary::{self, numbers};
use super::parsed::Parsed;
use super::source::Bytes;
use super::text;
use crate::aside::write_aside;
use crate::error::{Error, Result};
use crate::graph::Graph;
use std::io::Write;
use std::path::Path;

/// Bytes of the header, and of every number in the file.
const HEADER: usize = 12;
const NUMBER: usize = 4;

/// Bytes of the header and the first row's offset, which is 0: they are no text in a file that is sound so
/// far. Text with rubbish further on is left to the readers of text, who name the line.
const START: usize = HEADER + NUMBER;

/// Whether the content begins as no text does, or is exactly as long as its header would have it.
pub(super) fn is_likely(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(START)];
    sample.iter().any(|&byte| byte < b'\t') || length(bytes) == Some(bytes.len() as u64)
}

/// The header's numbers, if the file is long enough to have them.
pub(super) fn header(bytes: &[u8]) -> Option<[i32; 3]> {
    let header = bytes.get(..HEADER)?;
    Some([0, 4, 8].map(|at| i32::from_le_bytes([0, 1, 2, 3].map(|i| header[at + i]))))
}

pub(super) fn length(bytes: &[u8]) -> Option<u64> {
    let [rows, _, nnz] = header(bytes)?.map(|number| u64::try_from(number).ok());
    Some(HEADER as u64 + NUMBER as u64 * (rows? + 1 + 2 * nnz?))
}

/// Reads `bytes`, the whole content of a `file`. Refusals come without the path.
pub(super) fn parse(bytes: &[u8], file: &Bytes) -> Result<Parsed, String> {
    let size = bytes.len();
    let (Some([rows, cols, nnz]), expected) = (header(bytes), length(bytes)) else {
        return Err(format!(
            "no graph file that is read here ({size} bytes, not text); give Matrix Market, an edge \
             list or a HIVE binary CSR"
        ));
    };
    let counts = format!("rows {rows}, cols {cols}, nnz {nnz}");
    let Some(expected) = expected else {
        return Err(format!(
            "not text, and no HIVE binary CSR either ({counts}); check what the file is"
        ));
    };
    if expected != size as u64 {
        let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
        return Err(match utf16 {
            true => "text in UTF-16; save it as UTF-8".into(),
            false => binary::misfit("HIVE binary CSR", &counts, expected, size as u64),
        });
    }
    if rows != cols {
        return Err(text::rectangular(rows, cols));
    }
    text::node_count(rows as u64)?;
    let (indptr, rest) = bytes[HEADER..].split_at(NUMBER * (rows as usize + 1));
    let (indices, data) = rest.split_at(NUMBER * nnz as usize);
    // A negative number becomes one that no check lets through: sign bits are ids and offsets >= 2^31.
    let offsets = numbers(indptr, |word| u64::from(u32::from_le_bytes(word)));
    Ok(Parsed::rows("hive-bin", offsets, file.numbers(indices), Some(file.numbers(data))))
}

/// Writes `graph` as a HIVE binary CSR, weights 1 where it has none. The format's 32-bit counts bound
/// it to fewer than 2^31 nodes and arcs.
pub(super) fn write(graph: &Graph, path: &Path) -> Result<()> {
    let (Ok(rows), Ok(nnz)) = (i32::try_from(graph.nodes()), i32::try_from(graph.arcs())) else {
        return Err(Error::input(format!(
            "{}: the HIVE binary CSR counts in 31 bits ({} nodes, {} arcs); write an edge list",
            path.display(),
            graph.nodes(),
            graph.arcs()
        )));
    };
    write_aside(path, |out| {
        [rows, rows, nnz].iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
        let mut offsets = graph.offsets().iter();
        offsets.try_for_each(|offset| out.write_all(&(*offset as u32).to_le_bytes()))?;
        graph.columns().iter().try_for_each(|column| out.write_all(&column.to_le_bytes()))?;
        (0..nnz as usize).try_for_each(|arc| {
            let weight = graph.weights().map_or(1.0, |weights| weights[arc]);
            out.write_all(&weight.to_le_bytes())
        })
    })
}
