//! The native format, `.hive`: what a graph is made of, as it lies in memory, so that it is mapped rather
//! than read.
//!
//! Little-endian. A header of 64 bytes, a table of 40 bytes a section, then the sections, each on a
//! multiple of 64 bytes:
//!
//! | header bytes | what |
//! |---|---|
//! | 0..8 | `HIVEGRPH` |
//! | 8..12, 12..16 | version (1; 2 where ids are names), number of sections: u32 |
//! | 16..24, 24..32 | nodes n, arcs m: u64 |
//! | 32..40 | bits: 1 symmetric, 2 not symmetric (neither: not known) |
//! | 40..48 | XXH3-64 of header and table with this field 0 |
//! | 48..64 | 0 |
//!
//! An entry of the table is kind: u32, size of an element: u32, offset, bytes, XXH3-64 of the content,
//! 0: u64 each. Kinds: 1 row offsets `[n + 1] u64`, 2 columns `[m] u32`, 3 weights `[m] f32`, 4 ids `[n] u64`,
//! 5 and 6 latitudes and longitudes `[n] f64`, 7 to 9 the transpose's offsets, columns and weights, 10 the
//! origin (JSON), 11 and 12 names: where each ends, `[n + 1] u64` from 0 on, and their bytes, UTF-8 in byte order;
//! ids are places among them then. Kinds that a reader does not know are skipped.
//!
//! Opening checks the header's sum, every section's place and size, and every offset, id and weight: what
//! a kernel follows is in range. That rows are sorted is believed; [`check`] compares all sums.

use super::parsed::Headline;
use super::source::Bytes;
use crate::aside::write_aside;
use crate::error::{Error, Result};
use crate::graph::array::Array;
use crate::graph::{Graph, Origin, Rows, Texts, check as checks};
use crate::threads::Body;
use bytemuck::Pod;
use rayon::prelude::*;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

// Arrays are mapped as they lie.
const _: () = assert!(cfg!(target_endian = "little"));

const MAGIC: &[u8; 8] = b"HIVEGRPH";
/// The newest version that is read.
pub(crate) const VERSION: u32 = 2;
/// What a program that knows of no names reads.
const WITHOUT_NAMES: u32 = 1;
const HEADER: usize = 64;
const ENTRY: usize = 40;
const SUM: Range<usize> = 40..48;
const ALIGN: usize = 64;
/// More sections than any version will have.
const MOST_SECTIONS: u32 = 1 << 10;

const OFFSETS: u32 = 1;
const COLUMNS: u32 = 2;
const WEIGHTS: u32 = 3;
const IDS: u32 = 4;
const LATITUDES: u32 = 5;
const LONGITUDES: u32 = 6;
/// Added to the kinds of a CSR for its transpose's.
const REVERSE: u32 = 6;
const ORIGIN: u32 = 10;
const NAME_ENDS: u32 = 11;
const NAMES: u32 = 12;

/// What a section is called in messages.
fn called(kind: u32) -> &'static str {
    match kind {
        OFFSETS => "row offsets",
        COLUMNS => "columns",
        WEIGHTS => "weights",
        IDS => "ids",
        LATITUDES => "latitudes",
        LONGITUDES => "longitudes",
        7 => "transposed row offsets",
        8 => "transposed columns",
        9 => "transposed weights",
        ORIGIN => "origin",
        NAME_ENDS => "ends of names",
        NAMES => "names",
        _ => "unknown section",
    }
}

/// Whether the content starts as a native file does.
pub(super) fn is_native(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Whether the file is native, so that it is mapped.
pub(crate) fn is_native_file(path: &str) -> bool {
    let mut start = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && is_native(&start)
}

/// A section, as the table has it.
struct Section {
    kind: u32,
    element: u32,
    place: Range<usize>,
    sum: u64,
}

/// A file whose header and table hold.
struct Opened {
    nodes: u64,
    arcs: u64,
    symmetric: Option<bool>,
    sections: Vec<Section>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::input(format!("the native file is damaged ({what}); make it anew with hive convert"))
}

impl Opened {
    fn new(bytes: &[u8]) -> Result<Opened> {
        if bytes.len() < HEADER {
            return Err(damaged(format!("{} bytes, less than a header", bytes.len())));
        }
        let (version, count) = (u32_at(bytes, 8), u32_at(bytes, 12));
        if !(WITHOUT_NAMES..=VERSION).contains(&version) {
            return Err(Error::input(format!(
                "native format version {version}; this program reads up to version {VERSION}: make it anew \
                 with hive convert"
            )));
        }
        let table = HEADER + ENTRY * count.min(MOST_SECTIONS) as usize;
        if count > MOST_SECTIONS || bytes.len() < table {
            return Err(damaged(format!("{count} sections in {} bytes", bytes.len())));
        }
        let mut head = bytes[..table].to_vec();
        head[SUM].fill(0);
        if xxh3_64(&head) != u64_at(bytes, SUM.start) {
            return Err(damaged("the header's checksum differs"));
        }
        let sections = (0..count as usize).map(|i| section(bytes, HEADER + ENTRY * i));
        let sections: Vec<Section> = sections.collect::<Result<_>>()?;
        let end = sections.iter().map(|section| section.place.end).fold(table, usize::max);
        let end = end.next_multiple_of(ALIGN);
        if bytes.len() != end {
            let size = bytes.len();
            return Err(damaged(format!("{end} bytes are described, the file has {size}")));
        }
        let symmetric = match u64_at(bytes, 32) & 3 {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        };
        Ok(Opened { nodes: u64_at(bytes, 16), arcs: u64_at(bytes, 24), symmetric, sections })
    }

    /// Section `kind` with `length` elements, if it is there.
    fn array<T: Pod>(&self, bytes: &Bytes, kind: u32, length: u64) -> Result<Option<Array<T>>> {
        let Some(section) = self.sections.iter().find(|section| section.kind == kind) else {
            return Ok(None);
        };
        let (found, wanted) =
            (section.place.len() as u64, length.checked_mul(size_of::<T>() as u64));
        if section.element as usize != size_of::<T>() || wanted != Some(found) {
            let what = called(kind);
            return Err(damaged(format!("{found} bytes of {what} for {length} elements")));
        }
        let array = match bytes {
            Bytes::Mapped(map) => Array::mapped(map, section.place.clone()),
            Bytes::Owned(bytes) => {
                Some(bytemuck::allocation::pod_collect_to_vec(&bytes[section.place.clone()]).into())
            }
        };
        array.map(Some).ok_or_else(|| damaged(format!("{} out of place", called(kind))))
    }

    fn needed<T: Pod>(&self, bytes: &Bytes, kind: u32, length: u64) -> Result<Array<T>> {
        let found = self.array(bytes, kind, length)?;
        found.ok_or_else(|| damaged(format!("no {}", called(kind))))
    }

    /// The names of all nodes, if ids are names.
    fn texts(&self, bytes: &Bytes) -> Result<Option<Texts>> {
        let ends = self.array::<u64>(bytes, NAME_ENDS, self.nodes.saturating_add(1))?;
        let length = ends.as_ref().and_then(|ends| ends.last().copied());
        let Some((ends, length)) = ends.zip(length) else { return Ok(None) };
        let names = self.needed::<u8>(bytes, NAMES, length)?;
        Texts::checked(ends, names).map(Some).map_err(damaged)
    }

    /// A CSR whose values are in range. `from` is added to the kinds.
    fn rows(&self, bytes: &Bytes, from: u32) -> Result<Rows> {
        let offsets = self.needed::<u64>(bytes, from + OFFSETS, self.nodes.saturating_add(1))?;
        let columns = self.needed::<u32>(bytes, from + COLUMNS, self.arcs)?;
        let weights = self.array::<f32>(bytes, from + WEIGHTS, self.arcs)?;
        checks::offsets(&offsets, columns.len())?;
        checks::ids(&columns, self.nodes as usize, "column")?;
        if let Some(at) = weights.as_ref().and_then(|w| checks::first_odd_weight(w)) {
            return Err(damaged(format!("weight of arc {at}")));
        }
        Ok(Rows { offsets, columns, weights })
    }
}

fn section(bytes: &[u8], at: usize) -> Result<Section> {
    let (offset, length) = (u64_at(bytes, at + 8), u64_at(bytes, at + 16));
    let kind = u32_at(bytes, at);
    let end = offset.checked_add(length).filter(|end| *end <= bytes.len() as u64);
    let Some(end) = end.filter(|_| offset % ALIGN as u64 == 0) else {
        let (what, size) = (called(kind), bytes.len());
        return Err(damaged(format!(
            "{what} at {offset}, {length} bytes, in a file of {size}: cut short, or badly copied"
        )));
    };
    let place = offset as usize..end as usize;
    Ok(Section { kind, element: u32_at(bytes, at + 4), place, sum: u64_at(bytes, at + 24) })
}

/// Opens a native file. Arrays are part of the map, where the file is mapped.
pub(super) fn open(bytes: &Bytes) -> Result<Graph> {
    let opened = Opened::new(bytes)?;
    checks::node_count(opened.nodes)?;
    let rows = opened.rows(bytes, 0)?;
    let has_reverse = opened.sections.iter().any(|section| section.kind == REVERSE + OFFSETS);
    let reverse = if has_reverse { Some(opened.rows(bytes, REVERSE)?) } else { None };
    let latitude = opened.array::<f64>(bytes, LATITUDES, opened.nodes)?;
    let longitude = opened.array::<f64>(bytes, LONGITUDES, opened.nodes)?;
    let names = opened.array::<u64>(bytes, IDS, opened.nodes)?;
    let texts = opened.texts(bytes)?;
    if texts.is_some()
        && names.as_ref().is_none_or(|names| names.iter().any(|i| *i >= opened.nodes))
    {
        return Err(damaged("an id that is no place among the names"));
    }
    let mut graph = Graph::of_rows(rows, opened.symmetric, origin(bytes, &opened)?);
    graph = graph.with_names(names, texts.map(Arc::new));
    if let Some((latitude, longitude)) = latitude.zip(longitude) {
        graph = graph.with_places(latitude, longitude);
    }
    Ok(graph.reversed_by(reverse))
}

/// What the header and the table promise.
pub(super) fn headline(start: &[u8]) -> Option<Headline> {
    if !is_native(start) || start.len() < HEADER {
        return None;
    }
    let kinds = (0..u32_at(start, 12).min(MOST_SECTIONS) as usize)
        .map(|i| HEADER + ENTRY * i)
        .filter(|at| at + ENTRY <= start.len())
        .map(|at| u32_at(start, at));
    Some(Headline {
        format: "hive",
        nodes: u64_at(start, 16),
        arcs: u64_at(start, 24),
        weighted: kinds.into_iter().any(|kind| kind == WEIGHTS),
        symmetric: u64_at(start, 32) & 3 == 1,
    })
}

fn origin(bytes: &[u8], opened: &Opened) -> Result<Origin> {
    let section = opened.sections.iter().find(|section| section.kind == ORIGIN);
    let Some(section) = section else { return Ok(Origin::default()) };
    serde_json::from_slice(&bytes[section.place.clone()])
        .map_err(|e| damaged(format!("origin: {}", e.to_string().replace('\n', " "))))
}

/// As [`open`], after comparing every section with its checksum.
pub(super) fn open_compared(bytes: &Bytes) -> Result<Graph> {
    compared(bytes, &Opened::new(bytes)?)?;
    open(bytes)
}

/// Compares sections with their checksums, in parallel.
fn compared(bytes: &[u8], opened: &Opened) -> Result<()> {
    let differs = |section: &&Section| xxh3_64(&bytes[section.place.clone()]) != section.sum;
    match opened.sections.par_iter().find_first(differs) {
        None => Ok(()),
        Some(section) => {
            let what = called(section.kind);
            Err(damaged(format!("the checksum of the {what} differs")))
        }
    }
}

/// Compares every section with its checksum, in parallel; says how many bytes were compared. For
/// `hive info --check`.
///
/// # Errors
/// [`Error::Input`] for a file that is not native, is damaged, or cannot be read.
pub fn check(path: &str) -> Result<u64> {
    let name = |error| super::parsed::name_file(path, error);
    let bytes = super::source::read(path, super::source::Limit::of_table())?;
    if !is_native(&bytes) {
        let what = "not a native file: only .hive files have checksums";
        return Err(Error::input(format!("{path}: {what}; hive convert makes one")));
    }
    let opened = Opened::new(&bytes).map_err(name)?;
    compared(&bytes, &opened).map_err(name)?;
    open(&bytes).map_err(name)?;
    Ok(opened.sections.iter().map(|section| section.place.len() as u64).sum())
}

/// Writes `graph` in the native format, with all that it has: weights, ids, places, transpose. Self-loops and
/// duplicates are those that are in it, whatever its own input had.
pub(super) fn write(graph: &Graph, path: &Path) -> Result<()> {
    let found = checks::rows(graph);
    let (self_loops, duplicates) = (found.self_loops, found.duplicates);
    write_as(graph, &Origin { self_loops, duplicates, ..graph.origin.clone() }, path)
}

/// As [`write`], with another origin.
pub(super) fn write_as(graph: &Graph, origin: &Origin, path: &Path) -> Result<()> {
    put(graph, origin, |write| write_aside(path, |out| write(out)))
}

/// A graph as the bytes of a native file, for another process.
pub(crate) fn native_bytes(graph: &Graph) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(graph, &graph.origin, |write| {
        write(&mut bytes).map_err(|e| Error::machine(format!("the graph cannot be sent ({e})")))
    })?;
    Ok(bytes)
}

/// The graph of such a file, as it was.
pub(crate) fn of_native_file(path: &str) -> Result<Graph> {
    open(&super::source::read(path, super::source::Limit::of_table())?)
}

/// A graph as a native file that has no name, for processes of this host.
pub(crate) fn native_file(graph: &Graph) -> Result<File> {
    let refuse =
        |e| Error::machine(format!("the graph cannot be written for other processes ({e})"));
    let file = tempfile::tempfile().map_err(refuse)?;
    let mut out = BufWriter::with_capacity(1 << 20, &file);
    put(graph, &graph.origin, |write| write(&mut out).map_err(refuse))?;
    out.flush().map_err(refuse)?;
    drop(out);
    Ok(file)
}

/// The graph of such bytes.
pub(crate) fn of_native_bytes(bytes: Vec<u8>) -> Result<Graph> {
    open(&Bytes::Owned(bytes))
}

/// Hands what writes the file to `to`.
fn put(
    graph: &Graph,
    origin: &Origin,
    to: impl FnOnce(&mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) -> Result<()>,
) -> Result<()> {
    let origin = serde_json::to_vec(origin)
        .map_err(|e| Error::machine(format!("the graph's origin cannot be written ({e})")))?;
    let mut sections: Vec<(u32, usize, &[u8])> = Vec::new();
    fn add<'a, T: Pod>(to: &mut Vec<(u32, usize, &'a [u8])>, kind: u32, values: Option<&'a [T]>) {
        to.extend(values.map(|values| (kind, size_of::<T>(), bytemuck::cast_slice(values))));
    }
    add(&mut sections, OFFSETS, Some(graph.offsets()));
    add(&mut sections, COLUMNS, Some(graph.columns()));
    add(&mut sections, WEIGHTS, graph.weights());
    add(&mut sections, IDS, graph.names());
    add(&mut sections, LATITUDES, graph.places().map(|places| places.0));
    add(&mut sections, LONGITUDES, graph.places().map(|places| places.1));
    if let Some(rows) = graph.reverse() {
        add(&mut sections, REVERSE + OFFSETS, Some(&*rows.offsets));
        add(&mut sections, REVERSE + COLUMNS, Some(&*rows.columns));
        add(&mut sections, REVERSE + WEIGHTS, rows.weights.as_deref());
    }
    add(&mut sections, ORIGIN, Some(&origin));
    let texts = graph.texts().map(Texts::arrays);
    add(&mut sections, NAME_ENDS, texts.map(|texts| texts.0));
    add(&mut sections, NAMES, texts.map(|texts| texts.1));

    let sum: Body<&(u32, usize, &[u8]), u64> = &|(_, _, content)| xxh3_64(content);
    let sums: Vec<u64> = sections.par_iter().map(sum).collect();
    let bits = graph.known_symmetric().map_or(0u64, |symmetric| if symmetric { 1 } else { 2 });
    let mut head = Vec::with_capacity(HEADER + ENTRY * sections.len());
    head.extend(MAGIC);
    let version = if texts.is_some() { VERSION } else { WITHOUT_NAMES };
    head.extend(version.to_le_bytes());
    head.extend((sections.len() as u32).to_le_bytes());
    for word in [graph.nodes() as u64, graph.arcs(), bits, 0, 0, 0] {
        head.extend(word.to_le_bytes());
    }
    let mut end = (HEADER + ENTRY * sections.len()).next_multiple_of(ALIGN);
    for ((kind, element, content), sum) in sections.iter().zip(sums) {
        head.extend(kind.to_le_bytes());
        head.extend((*element as u32).to_le_bytes());
        for word in [end as u64, content.len() as u64, sum, 0] {
            head.extend(word.to_le_bytes());
        }
        end = (end + content.len()).next_multiple_of(ALIGN);
    }
    let sum = xxh3_64(&head);
    head[SUM].copy_from_slice(&sum.to_le_bytes());
    to(&mut |out| {
        let pad = |length: usize| &[0u8; ALIGN][..length.next_multiple_of(ALIGN) - length];
        out.write_all(&head)?;
        out.write_all(pad(head.len()))?;
        sections.iter().try_for_each(|(_, _, content)| {
            out.write_all(content)?;
            out.write_all(pad(content.len()))
        })
    })
}
