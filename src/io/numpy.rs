//! SciPy sparse matrices in CSR form, as `scipy.sparse.save_npz` writes them: a zip archive of
//! `format.npy`, `shape.npy`, `indptr.npy`, `indices.npy` and `data.npy`
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).
//!
//! Row is the source, column the neighbour, the stored number the weight; 64-bit fractions are rounded to
//! f32. Stored numbers are arcs, zero or not. Boolean data make a graph without weights.

use super::npy::{self, Array};
use super::parsed::Parsed;
use super::source::Limit;
use super::text;
use crate::aside::write_aside;
use crate::error::Result;
use crate::graph::Graph;
use crate::graph::options::FileWeights;
use crate::memory;
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// Whether the content is a zip archive.
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(ZIP_MAGIC)
}

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Reads the whole content of a file. Refusals come without the path.
pub(super) fn parse(bytes: &[u8], wanted: FileWeights, limit: Limit) -> Result<Parsed, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
        format!("the .npz file is truncated or damaged ({error}); fetch it again")
    })?;
    let format = array(&mut archive, "format", limit)?;
    let format: String =
        format.data().iter().filter(|byte| byte.is_ascii_graphic()).map(|&b| b as char).collect();
    if format != "csr" {
        let format = format.chars().take(20).collect::<String>();
        return Err(format!("the matrix is stored as {format}; save_npz(path, matrix.tocsr())"));
    }
    let shape = integers(&array(&mut archive, "shape", limit)?, "shape")?;
    let [rows, columns] = shape[..] else {
        return Err(format!("shape has {} numbers; a matrix has two", shape.len()));
    };
    if rows != columns {
        return Err(text::rectangular(rows, columns));
    }
    text::node_count(rows)?;
    let offsets = integers(&array(&mut archive, "indptr", limit)?, "indptr")?;
    if offsets.len() as u64 != rows + 1 {
        let what = format!("{rows} rows and {} numbers in indptr", offsets.len());
        return Err(format!("{what}, one too many or too few; save the matrix again"));
    }
    let columns = indices(&array(&mut archive, "indices", limit)?)?;
    let weights = weights(&array(&mut archive, "data", limit)?, wanted)?;
    if let Some(values) = weights.as_ref().filter(|values| values.len() != columns.len()) {
        let what = format!("{} numbers in indices and {} in data", columns.len(), values.len());
        return Err(format!("{what}; save the matrix again"));
    }
    Ok(Parsed::rows("scipy-csr", offsets, columns.into(), weights.map(Into::into)))
}

/// Unpacks `NAME.npy` and checks its header against its length.
fn array(archive: &mut Archive, name: &str, limit: Limit) -> Result<Array, String> {
    let damaged = |what: &dyn std::fmt::Display| {
        format!("{name}.npy of the .npz file cannot be read ({what}); save the matrix again")
    };
    let mut file = archive.by_name(&format!("{name}.npy")).map_err(|error| match error {
        ZipError::FileNotFound => {
            format!("there is no {name}.npy in the .npz file; write it with scipy.sparse.save_npz")
        }
        error => damaged(&error),
    })?;
    let mut content = Vec::new();
    let most = limit.held();
    memory::unpack(&mut file, &mut content, most).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            limit.exceeded(&format!("{name}.npy of the .npz file, unpacked,"), most)
        }
        _ => damaged(&error),
    })?;
    Array::of(content).map_err(|what| damaged(&what))
}

/// Integers of any width. A negative one becomes one that no check lets through.
fn integers(array: &Array, name: &str) -> Result<Vec<u64>, String> {
    Ok(match array.kind() {
        "i4" => array.convert(|word| i64::from(i32::from_le_bytes(word)) as u64),
        "u4" => array.convert(|word| u64::from(u32::from_le_bytes(word))),
        "i8" | "u8" => array.convert(u64::from_le_bytes),
        _ => return Err(format!("{name} has type {}; save it as int32 or int64", array.descr)),
    })
}

/// Column ids; those beyond 32 bits become `u32::MAX`, which is no node.
fn indices(array: &Array) -> Result<Vec<u32>, String> {
    Ok(match array.kind() {
        "i4" | "u4" => array.convert(u32::from_le_bytes),
        "i8" | "u8" => {
            array.convert(|word| u32::try_from(u64::from_le_bytes(word)).unwrap_or(u32::MAX))
        }
        _ => return Err(format!("indices has type {}; save it as int32 or int64", array.descr)),
    })
}

/// Weights, or `None` for boolean data, all of it true.
fn weights(array: &Array, wanted: FileWeights) -> Result<Option<Vec<f32>>, String> {
    Ok(Some(match array.kind() {
        "b1" => {
            if let Some(arc) = array.data().iter().position(|&byte| byte == 0) {
                return Err(format!(
                    "entry {arc} is a stored False; call matrix.eliminate_zeros() before save_npz"
                ));
            }
            return Ok(None);
        }
        "i1" => array.convert(|word| f32::from(i8::from_le_bytes(word))),
        "u1" => array.convert(|word| f32::from(u8::from_le_bytes(word))),
        "i2" => array.convert(|word| f32::from(i16::from_le_bytes(word))),
        "u2" => array.convert(|word| f32::from(u16::from_le_bytes(word))),
        "i4" => array.weights(wanted, i32::from_le_bytes)?,
        "u4" => array.weights(wanted, u32::from_le_bytes)?,
        "i8" => array.weights(wanted, i64::from_le_bytes)?,
        "u8" => array.weights(wanted, u64::from_le_bytes)?,
        "f2" => array.convert(|word| npy::half(u16::from_le_bytes(word))),
        "f4" => array.convert(f32::from_le_bytes),
        "f8" => array.weights(wanted, f64::from_le_bytes)?,
        _ => {
            let what = format!("data has type {}", array.descr);
            return Err(format!("{what}; save the matrix as .astype('float32')"));
        }
    }))
}

/// Writes `graph` as a CSR matrix that `scipy.sparse.load_npz` reads: float32 data, or boolean where the
/// graph has no weights.
pub(super) fn write(graph: &Graph, path: &Path) -> Result<()> {
    let (n, m) = (graph.nodes() as u64, graph.arcs());
    // SciPy wants both index arrays of one type.
    let narrow = n.max(m) <= i32::MAX as u64;
    let (index, size) = if narrow { ("<i4", 4) } else { ("<i8", 8) };
    let push = |number: u64, out: &mut Vec<u8>| out.extend(&number.to_le_bytes()[..size]);
    write_aside(path, |out| {
        let mut zip = ZipWriter::new(out);
        member(&mut zip, ("indices", index), graph.columns(), |&v, out| push(v.into(), out))?;
        member(&mut zip, ("indptr", index), graph.offsets(), |&offset, out| push(offset, out))?;
        member(&mut zip, ("shape", "<i8"), &[n, n], |n, out| out.extend(n.to_le_bytes()))?;
        match graph.weights() {
            Some(weights) => {
                member(&mut zip, ("data", "<f4"), weights, |w, out| out.extend(w.to_le_bytes()))?;
            }
            None => member(&mut zip, ("data", "|b1"), graph.columns(), |_, out| out.push(1))?,
        }
        start(&mut zip, "format", "|S3", "()")?;
        zip.write_all(b"csr")?;
        zip.finish()?;
        Ok(())
    })
}

type Out<'a, 'b> = ZipWriter<&'a mut BufWriter<&'b File>>;

/// Adds an array of one dimension.
fn member<T>(
    zip: &mut Out,
    (name, kind): (&str, &str),
    elements: &[T],
    push: impl Fn(&T, &mut Vec<u8>),
) -> io::Result<()> {
    start(zip, name, kind, &format!("({},)", elements.len()))?;
    let mut bytes = Vec::new();
    for block in elements.chunks(1 << 16) {
        bytes.clear();
        block.iter().for_each(|element| push(element, &mut bytes));
        zip.write_all(&bytes)?;
    }
    Ok(())
}

/// Opens a member and writes its header.
fn start(zip: &mut Out, name: &str, kind: &str, shape: &str) -> io::Result<()> {
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options)?;
    zip.write_all(&npy::header(kind, shape))
}

#[cfg(test)]
mod tests {
    use super::super::parsed::tests::rows;
    use super::*;

    fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        [&npy::header(kind, shape), data].concat()
    }

    fn words(numbers: &[i32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The members of a sound matrix of two rows.
    fn members() -> Vec<(&'static str, Vec<u8>)> {
        let shape: Vec<u8> = [2u64, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
        vec![
            ("format", npy("|S3", "()", b"csr")),
            ("shape", npy("<i8", "(2,)", &shape)),
            ("indptr", npy("<i4", "(3,)", &words(&[0, 1, 2]))),
            ("indices", npy("<i4", "(2,)", &words(&[1, 0]))),
            ("data", npy("<f4", "(2,)", &[0, 0, 0, 63, 0, 0, 128, 63])),
        ]
    }

    fn zipped(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for (name, content) in members {
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// The sound matrix with one member replaced.
    fn with(name: &str, content: Vec<u8>) -> Result<Parsed, String> {
        let mut members = members();
        members.iter_mut().filter(|member| member.0 == name).for_each(|m| m.1 = content.clone());
        parse(&zipped(&members), FileWeights::Exact, Limit::of_table())
    }

    #[test]
    fn indices_and_data_of_any_width_and_order_are_read() {
        let sound = (vec![0, 1, 2], vec![1, 0], Some(vec![0.5, 1.0]));
        assert_eq!(rows(with("", vec![]).unwrap()), sound);
        for (kind, data, expected) in [
            ("|b1", vec![1, 1], None),
            ("|u1", vec![1, 200], Some(vec![1.0, 200.0])),
            ("|i1", vec![1, 255], Some(vec![1.0, -1.0])),
            ("<i2", vec![1, 0, 0, 1], Some(vec![1.0, 256.0])),
            (">i2", vec![1, 0, 0, 1], Some(vec![256.0, 1.0])),
            ("<f2", vec![0, 56, 1, 0], Some(vec![0.5, 2f32.powi(-24)])),
            (">f8", [1.5f64, 2.0].map(f64::to_be_bytes).concat(), Some(vec![1.5, 2.0])),
            ("<u8", [1u64 << 40, 2].map(u64::to_le_bytes).concat(), Some(vec![2f32.powi(40), 2.0])),
        ] {
            assert_eq!(rows(with("data", npy(kind, "(2,)", &data)).unwrap()).2, expected);
        }
        let wide: Vec<u8> = [1u64, 1 << 32].iter().flat_map(|n| n.to_le_bytes()).collect();
        let columns = rows(with("indices", npy("<i8", "(2,)", &wide)).unwrap()).1;
        assert_eq!(columns, [1, u32::MAX], "2^32 is refused by the graph, not wrapped to 0");
    }

    #[test]
    fn an_archive_that_is_no_sound_matrix_is_refused() {
        let refused = |result: Result<Parsed, String>, part: &str| {
            let message = result.map(|_| ()).unwrap_err();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
            assert!(message.contains(';'), "{message}");
        };
        refused(with("format", npy("|S3", "()", b"coo")), "stored as coo");
        refused(with("format", npy("|S3", "()", b"csc")), "tocsr()");
        refused(with("format", vec![1, 2, 3]), "no .npy header");
        let shape: Vec<u8> = [2u64, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
        refused(with("shape", npy("<i8", "(2,)", &shape)), "rectangular (2 x 3)");
        refused(with("shape", npy("<i8", "(1,)", &shape[..8])), "two");
        refused(with("shape", npy("<i8", "(2,)", &[0; 16])), "empty");
        refused(with("shape", npy("<i8", "(2,)", &[255; 16])), "too many nodes");
        refused(with("indptr", npy("<i4", "(2,)", &words(&[0, 2]))), "indptr");
        refused(with("indptr", npy("<i4", "(9999999999999,)", &words(&[0, 2]))), "elements of 4");
        refused(with("indptr", npy("<i4", "(9999999999999, 9999999999999)", &[])), "no .npy");
        refused(with("indices", npy("<f4", "(2,)", &words(&[0, 1]))), "<f4");
        refused(with("data", npy("<f4", "(1,)", &words(&[0]))), "2 numbers in indices and 1");
        refused(with("data", npy("|b1", "(2,)", &[1, 0])), "entry 1 is a stored False");
        refused(with("data", npy("<c8", "(2,)", &[0; 16])), "<c8");
        refused(with("data", npy("é", "(2,)", &[0; 16])), "data.npy");
        refused(parse(&zipped(&members()[..4]), FileWeights::Exact, Limit::of_table()), "data.npy");
        let whole = zipped(&members());
        for length in [4, 30, 100, whole.len() / 2, whole.len() - 1] {
            refused(
                parse(&whole[..length], FileWeights::Exact, Limit::of_table()),
                "fetch it again",
            );
        }
    }
}
