//! What every target asserts: no panic, no hang (libFuzzer's `-timeout`), no allocation beyond the bound
//! (`-rss_limit_mb`, `-malloc_limit_mb`), a graph that holds together or else one line of printable text
//! that begins with the file's name.

use hivegraph::graph::Graph;
use hivegraph::io::{
    CountsLine, Delimiter, Duplicates, Ids, LoadOptions, Relabel, SelfLoops, Symmetrize, Weights,
    rubbish,
};
use hivegraph::{Error, Result};
use std::io::{Cursor, Write};
use xxhash_rust::xxh3::xxh3_64;

/// What an input may make the readers allocate at a time. Row offsets of 512 Ki nodes fit: a text header or
/// id may ask for that many isolated nodes in a few bytes. With more, the checks here take seconds.
const MEMORY: u64 = 4 << 20;

/// Once a process: the bound, and one thread, so that runs repeat and are fast.
pub fn start() {
    rubbish::limit_memory(MEMORY);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the first pool");
}

/// Load options that differ from run to run but not for the same bytes.
fn options(bytes: &[u8]) -> LoadOptions {
    let kind = xxh3_64(bytes);
    // Half of all runs as most users load.
    if kind & 1 == 0 {
        return LoadOptions::default();
    }
    let duplicates = [Duplicates::Keep, Duplicates::First, Duplicates::Min, Duplicates::Sum];
    let relabel = [Relabel::None, Relabel::None, Relabel::Random(7), Relabel::Degree];
    let weights =
        [Weights::File, Weights::File, Weights::Unit, Weights::Random { low: 1, high: 9, seed: 1 }];
    let pick = |shift: u32| (kind >> shift) as usize & 3;
    LoadOptions {
        duplicates: duplicates[pick(1)],
        relabel: relabel[pick(3)],
        weights: weights[pick(5)],
        self_loops: if pick(7) == 0 { SelfLoops::Drop } else { SelfLoops::Keep },
        symmetrize: [Symmetrize::Off, Symmetrize::Off, Symmetrize::Min, Symmetrize::Keep][pick(9)],
        largest_component: pick(11) == 0,
        nodes: (pick(13) == 0).then_some(kind >> 48),
        ..LoadOptions::default()
    }
}

fn load(name: &str, bytes: &[u8]) {
    graph(name, rubbish::parse_bytes(name, bytes, &options(bytes)), true);
}

/// Asserts what is known of any load. `sorted`: rows were sorted, not believed to be.
fn graph(name: &str, loaded: Result<Graph>, sorted: bool) {
    match loaded {
        Ok(graph) => holds(&graph, sorted),
        Err(error) => refused(name, &error),
    }
}

fn refused(name: &str, error: &Error) {
    assert_eq!(error.exit_code(), 2, "{error:?}");
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "control characters: {text:?}");
    // LDBC's complaints may be about the file beside the one that was named.
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    assert!(text.starts_with(stem) && text.len() > name.len() + 5, "{text:?}");
    assert!(text.len() < 600, "long: {text}");
}

fn holds(graph: &Graph, sorted: bool) {
    let (offsets, columns) = (graph.offsets(), graph.columns());
    assert_eq!((offsets[0], offsets.len()), (0, graph.nodes() + 1));
    assert!(offsets.is_sorted() && offsets[graph.nodes()] == columns.len() as u64);
    assert!(graph.nodes() > 0 && columns.iter().all(|v| (*v as usize) < graph.nodes()));
    if let Some(weights) = graph.weights() {
        assert_eq!(weights.len(), columns.len());
        assert!(weights.iter().all(|w| w.is_finite() && w.is_sign_positive()));
    }
    if sorted {
        for v in 0..graph.nodes() {
            assert!(graph.neighbors(v).is_sorted(), "row {v}");
        }
    }
    if let Some(names) = graph.names() {
        assert_eq!(names.len(), graph.nodes());
        if sorted {
            let mut all = names.to_vec();
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "a name twice");
        }
    }
    let (low, high) = graph.id_range();
    assert!(low <= high || !sorted);
    if let Some((latitude, longitude)) = graph.places() {
        assert_eq!((latitude.len(), longitude.len()), (graph.nodes(), graph.nodes()));
    }
}

/// Matrix Market.
pub fn matrix_market(bytes: &[u8]) {
    load("g.mtx", bytes);
}

/// Edge lists, by content.
pub fn edge_list(bytes: &[u8]) {
    let kind = xxh3_64(bytes) >> 20;
    let pick = |shift: u32| (kind >> shift) as usize & 3;
    let columns = [None, None, Some("src=2,dst=1,weight=3"), Some("src=src,dst=Target")];
    let delimiters = [Delimiter::Auto, Delimiter::Auto, Delimiter::Space, Delimiter::Byte(b';')];
    let options = LoadOptions {
        ids: [Ids::Auto, Ids::Auto, Ids::Integer, Ids::Text][pick(0)],
        counts_line: [CountsLine::Auto, CountsLine::Auto, CountsLine::Yes, CountsLine::No][pick(2)],
        columns: columns[pick(4)].map(|text| text.parse().expect("columns")),
        delimiter: delimiters[pick(6)],
        ..options(bytes)
    };
    graph("g.txt", rubbish::parse_bytes("g.txt", bytes, &options), true);
}

/// DIMACS and Galois by name.
pub fn dimacs(bytes: &[u8]) {
    load("g.gr", bytes);
}

/// METIS.
pub fn metis(bytes: &[u8]) {
    load("g.graph", bytes);
}

/// GAP's serialised graphs.
pub fn gap(bytes: &[u8]) {
    load("g.sg", bytes);
    load("g.wsg", bytes);
}

/// What processes tell each other.
pub fn messages(bytes: &[u8]) {
    rubbish::messages(bytes);
}

/// GAP's edge lists.
pub fn gap_list(bytes: &[u8]) {
    load("g.el", bytes);
    load("g.wel", bytes);
}

/// HIVE binary CSR. What follows the header is as long as the header says, half of the time.
pub fn hive_bin(bytes: &[u8]) {
    load("g.bin", bytes);
    if let Some(counts) = bytes.get(..2) {
        let (rows, nnz) = (u32::from(counts[0] % 16), u32::from(counts[1] % 32));
        let mut fitted: Vec<u8> = [rows, rows, nnz].iter().flat_map(|n| n.to_le_bytes()).collect();
        fitted.extend(bytes[2..].iter().copied());
        fitted.resize(12 + 4 * (rows + 1 + 2 * nnz) as usize, 0);
        load("g.bin", &fitted);
    }
}

/// Galois binary, as it is and with a header that fits.
pub fn galois(bytes: &[u8]) {
    load("g.gr", bytes);
    if let Some(counts) = bytes.get(..2) {
        let (nodes, arcs) = (u64::from(counts[0] % 16), u64::from(counts[1] % 32));
        let data = if counts[0] >= 128 { 4 } else { 0 };
        let mut fitted: Vec<u8> =
            [1, data, nodes, arcs].iter().flat_map(|n| n.to_le_bytes()).collect();
        fitted.extend(bytes[2..].iter().copied());
        let length = 32 + 8 * nodes + 4 * arcs + 4 * (arcs % 2) + data * arcs;
        fitted.resize(length as usize, 0);
        load("g.gr", &fitted);
    }
}

/// LDBC: vertices, edges and properties, cut at NUL bytes.
pub fn ldbc(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let files = [0; 3].map(|_| parts.next().unwrap_or_default());
    graph("g.e", rubbish::parse_ldbc(files, &options(bytes)), true);
}

/// NumPy: an archive as it is, or arrays that are put into a sound one, cut where each begins.
pub fn npz(bytes: &[u8]) {
    load("g.npz", bytes);
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let magic = b"\x93NUMPY";
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(magic))
        .chain([bytes.len()])
        .collect();
    for (name, place) in
        ["format", "shape", "indptr", "indices", "data"].iter().zip(starts.windows(2))
    {
        let started = zip.start_file(format!("{name}.npy"), stored);
        started.expect("a member");
        zip.write_all(&bytes[place[0]..place[1]]).expect("in memory");
    }
    load("g.npz", zip.finish().expect("in memory").get_ref());
}

/// Native: as it is, and with a header whose checksum holds.
pub fn native(bytes: &[u8]) {
    let read = |bytes: &[u8]| {
        graph("g.hive", rubbish::parse_bytes("g.hive", bytes, &options(bytes)), false);
    };
    read(bytes);
    let mut summed = bytes.to_vec();
    let count = bytes.get(12..16).map_or(0, |n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
    // As long as its sections reach, where that is not far.
    let word = |at: usize| {
        bytes.get(at..at + 8).map_or(0, |w| u64::from_le_bytes(std::array::from_fn(|i| w[i])))
    };
    let ends =
        (0..count.min(1024) as usize).map(|i| word(72 + 40 * i).saturating_add(word(80 + 40 * i)));
    let end = ends.max().unwrap_or(0).max(64 + 40 * u64::from(count.min(1024)));
    if end < 1 << 17 {
        summed.resize(end.next_multiple_of(64) as usize, 0);
    }
    if let Some(head) = summed.get_mut(..64 + 40 * count.min(1024) as usize) {
        head[..8].copy_from_slice(b"HIVEGRPH");
        head[40..48].fill(0);
        let sum = xxh3_64(head);
        head[40..48].copy_from_slice(&sum.to_le_bytes());
        read(&summed);
    }
}

fn places(name: &str, bytes: &[u8]) {
    match rubbish::parse_locations(name, bytes) {
        Ok(found) => {
            assert!(!found.ids.is_empty() && found.ids.is_sorted_by(|a, b| a < b));
            let lengths = (found.latitude.len(), found.longitude.len());
            assert_eq!(lengths, (found.ids.len(), found.ids.len()));
            assert!(found.latitude.iter().all(|x| (-90.0..=90.0).contains(x)));
            assert!(found.longitude.iter().all(|x| (-180.0..=180.0).contains(x)));
            assert!(found.ids[0] >= found.first_id.map_or(0, u64::from));
        }
        Err(error) => refused(name, &error),
    }
}

/// DIMACS coordinates.
pub fn coordinates(bytes: &[u8]) {
    places("g.co", bytes);
}

/// HIVE labels.
pub fn labels(bytes: &[u8]) {
    places("g.labels", bytes);
}

/// Places in a CSV.
pub fn csv_places(bytes: &[u8]) {
    places("g.csv", bytes);
}

/// Unpacking, with the magic number in front whatever the bytes are.
fn packed(name: &str, magic: &[u8], bytes: &[u8]) {
    load(name, bytes);
    if !bytes.starts_with(magic) {
        load(name, &[magic, bytes].concat());
    }
}

/// gzip.
pub fn gzip(bytes: &[u8]) {
    packed("g.txt.gz", b"\x1f\x8b", bytes);
}

/// bzip2.
pub fn bzip2(bytes: &[u8]) {
    packed("g.txt.bz2", b"BZh9", bytes);
}

/// xz.
pub fn xz(bytes: &[u8]) {
    packed("g.txt.xz", b"\xfd7zXZ\0", bytes);
}

/// zstd.
pub fn zstd(bytes: &[u8]) {
    packed("g.txt.zst", b"\x28\xb5\x2f\xfd", bytes);
}
