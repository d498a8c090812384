//! How large a graph a file holds, by its header alone, where its format has one.

use super::parsed::Headline;
use super::{dimacs, galois, gap, hive_bin, matrix_market, metis, native, source};
use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};

/// Bytes, after decompression, within which a header must end.
const LONGEST_HEADER: u64 = 1 << 20;
/// The first bytes of a gzip file.
const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// Reads the header of `path`.
///
/// # Errors
/// [`Error::Input`] when the file cannot be read, its header is wrong, or its format has none.
pub fn headline(path: &str) -> Result<Headline> {
    source::check(path)?;
    let (start, length) = beginning(path)
        .map_err(|e| Error::input(format!("{path}: cannot be read ({e}); check the file")))?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    if matrix_market::is_banner(start) {
        let header = matrix_market::header(start).map_err(|fault| fault.into_error(path, start))?;
        return Ok(Headline {
            format: "matrix-market",
            nodes: header.nodes,
            arcs: header.entries.saturating_mul(if header.symmetric { 2 } else { 1 }),
            weighted: header.weighted,
            symmetric: header.symmetric,
        });
    }
    let name = super::plain_name(path);
    let whole = |claimed: Option<u64>| length.is_none_or(|length| claimed == Some(length));
    let found = native::headline(start)
        .or_else(|| galois::headline(start, whole))
        .or_else(|| gap::headline(start, whole, &name))
        .or_else(|| hive(start, length))
        .or_else(|| dimacs::headline(start))
        .or_else(|| metis::headline(start, &name));
    found.ok_or_else(|| {
        Error::input(format!(
            "{path}: no header tells how large the graph is; say it with --nodes N --arcs M"
        ))
    })
}

/// The header of a HIVE binary CSR; believed if the file is as long as it implies, or its length unknown.
fn hive(start: &[u8], length: Option<u64>) -> Option<Headline> {
    let [rows, columns, entries] = hive_bin::header(start)?;
    let whole = length.is_none_or(|length| hive_bin::length(start) == Some(length));
    let believed = whole && hive_bin::is_likely(start) && rows == columns && rows > 0;
    let nodes = u64::try_from(rows).ok().filter(|_| believed)?;
    let arcs = u64::try_from(entries).ok()?;
    Some(Headline { format: "hive-bin", nodes, arcs, weighted: true, symmetric: false })
}

/// The content's first bytes, and its length where it is not compressed.
fn beginning(path: &str) -> io::Result<(Vec<u8>, Option<u64>)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut start = Vec::new();
    file.take(LONGEST_HEADER).read_to_end(&mut start)?;
    if !start.starts_with(GZIP_MAGIC) {
        return Ok((start, Some(length)));
    }
    let mut content = Vec::new();
    MultiGzDecoder::new(File::open(path)?).take(LONGEST_HEADER).read_to_end(&mut content)?;
    Ok((content, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, bytes: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        headline(path.to_str().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn headers_tell_sizes() {
        let found = headline("tests/data/chesapeake.mtx").unwrap();
        assert_eq!((found.format, found.nodes, found.arcs), ("matrix-market", 39, 340));
        assert!(found.symmetric && !found.weighted);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph.bin");
        let graph = crate::generate::generate("rmat:8").unwrap();
        crate::io::write_graph(&graph, &path).unwrap();
        let found = headline(path.to_str().unwrap()).unwrap();
        assert_eq!((found.format, found.nodes, found.arcs), ("hive-bin", 256, graph.arcs()));
        for (name, format) in [("g.hive", "hive"), ("g.wsg", "gap")] {
            let path = dir.path().join(name);
            crate::io::write_graph(&graph, &path).unwrap();
            let found = headline(path.to_str().unwrap()).unwrap();
            assert_eq!((found.format, found.nodes, found.arcs), (format, 256, graph.arcs()));
            assert!(found.weighted && found.symmetric, "{name}");
        }
        for (name, text, sizes) in [
            ("g.gr", "c x\np sp 5 7\n", ("dimacs", 5, 7)),
            ("g.graph", "% x\n5 7 1\n", ("metis", 5, 14)),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            let found = headline(path.to_str().unwrap()).unwrap();
            assert_eq!((found.format, found.nodes, found.arcs), sizes);
            assert!(found.weighted);
        }
    }

    #[test]
    fn what_has_no_header_or_a_wrong_one_is_refused_in_one_line() {
        assert!(refusal("a.txt", b"1 2\n2 3\n").contains("--nodes N --arcs M"));
        assert!(refusal("a.bin", &[1, 0, 0, 0, 1, 0, 0, 0]).contains("--nodes N --arcs M"));
        let rectangular = b"%%MatrixMarket matrix coordinate real general\n3 4 5\n";
        assert!(refusal("a.mtx", rectangular).contains("a.mtx:2: the matrix is rectangular"));
        assert!(headline("no/such/file.mtx").unwrap_err().to_string().contains("no such file"));
    }
}
