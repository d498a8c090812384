//! One small graph in every format: what the tests of bad input damage.

use hivegraph::graph::{Graph, Origin};
use hivegraph::io;
use std::io::Write;

/// A ring of 12 nodes with three chords, 30 arcs; whole weights of two digits, the same both ways.
pub fn ring() -> Graph {
    let ring = (0..12).map(|v| (v, (v + 1) % 12, 10 + v));
    let edges = ring.chain([(0, 6, 40), (2, 9, 41), (4, 11, 42)]);
    let arcs: Vec<(u32, u32, u32)> = edges.flat_map(|(u, v, w)| [(u, v, w), (v, u, w)]).collect();
    let sources: Vec<u32> = arcs.iter().map(|arc| arc.0).collect();
    let targets: Vec<u32> = arcs.iter().map(|arc| arc.1).collect();
    let weights: Vec<f32> = arcs.iter().map(|arc| arc.2 as f32).collect();
    Graph::from_arcs(12, &sources, &targets, Some(&weights), Origin::default()).unwrap()
}

/// What the writer for files of this name makes of `graph`.
pub fn written(graph: &Graph, name: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    io::write_graph(graph, &path).unwrap();
    std::fs::read(path).unwrap()
}

/// The ring as text, a line an arc, ids from `first`.
fn lines(start: &str, first: u32) -> String {
    let graph = ring();
    let arcs = (0..12)
        .flat_map(|u| graph.neighbors(u).map(move |arc| (u as u32, arc)).collect::<Vec<_>>());
    arcs.map(|(u, (v, w))| format!("{start}{} {} {w}\n", u + first, v + first)).collect()
}

/// DIMACS.
pub fn dimacs() -> Vec<u8> {
    format!("c the ring\np sp 12 30\n{}", lines("a ", 1)).into_bytes()
}

/// METIS, with the weights of edges.
pub fn metis() -> Vec<u8> {
    let graph = ring();
    let row = |v| graph.neighbors(v).map(|(u, w)| format!("{} {w} ", u + 1)).collect::<String>();
    let rows: String = (0..12).map(|v| format!("{}\n", row(v).trim_end())).collect();
    format!("% the ring\n12 15 001\n{rows}").into_bytes()
}

/// Galois, with weights.
pub fn galois() -> Vec<u8> {
    let graph = ring();
    let words = [1, 4, 12, 30].iter().chain(&graph.offsets()[1..]);
    let weights = graph.weights().unwrap().iter().map(|w| *w as u32);
    let rest = graph.columns().iter().copied().chain(weights);
    words.flat_map(|w| w.to_le_bytes()).chain(rest.flat_map(u32::to_le_bytes)).collect()
}

/// An LDBC data set: vertices, edges.
pub fn ldbc() -> [Vec<u8>; 2] {
    let vertices: String = (0..12).map(|v| format!("{}\n", v + 100)).collect();
    [vertices.into_bytes(), lines("", 100).into_bytes()]
}

/// HIVE labels.
pub fn labels() -> Vec<u8> {
    let rows: String = (0..12).map(|v| format!("{v} {}.5 {}.25\n", v * 5, v * 10)).collect();
    format!("% Node (0-based) latitude longitude\n12 2 2\n{rows}").into_bytes()
}

/// Places in a CSV.
pub fn csv_places() -> Vec<u8> {
    let rows: String =
        (0..12).map(|v| format!("{v},\"a, {v}\",{}.5,{}.25\n", v * 5, v * 10)).collect();
    format!("node,name,lat,lon\n{rows}").into_bytes()
}

/// DIMACS coordinates.
pub fn coordinates() -> Vec<u8> {
    let rows: String =
        (0..12).map(|v| format!("v {} {}250000 {}500000\n", v + 1, v * 10, v * 5)).collect();
    format!("c places\np aux sp co 12\n{rows}").into_bytes()
}

/// An edge list with a header, as its writer makes it.
fn list() -> Vec<u8> {
    written(&ring(), "g.txt")
}

/// The list, packed by gzip.
pub fn gzip() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&list()).unwrap();
    encoder.finish().unwrap()
}

/// The list, packed by bzip2.
pub fn bzip2() -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(&list()).unwrap();
    encoder.finish().unwrap()
}

/// The list, packed by xz.
pub fn xz() -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(&list()).unwrap();
    encoder.finish().unwrap()
}

/// The list, packed by zstd.
pub fn zstd() -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(&list()[..], ruzstd::encoding::CompressionLevel::Fastest)
}

/// The ring as a Matrix Market file, an edge list with a header, one without, and so on: (name of the
/// format, name of a file, content). LDBC, which is two files, and places are apart.
pub fn good_files() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let ring = ring();
    let of = |name| written(&ring, name);
    vec![
        ("Matrix Market", "g.mtx", of("g.mtx")),
        ("edge list with a header", "g.txt", of("g.txt")),
        ("edge list without", "list.txt", lines("", 0).into_bytes()),
        ("GAP edge list", "g.wel", of("g.wel")),
        ("DIMACS", "g.gr", dimacs()),
        ("METIS", "g.graph", metis()),
        ("GAP serialised", "g.wsg", of("g.wsg")),
        ("HIVE binary CSR", "g.bin", of("g.bin")),
        ("Galois", "galois.gr", galois()),
        ("SciPy CSR", "g.npz", of("g.npz")),
        ("native", "g.hive", of("g.hive")),
        ("gzip", "g.txt.gz", gzip()),
        ("bzip2", "g.txt.bz2", bzip2()),
        ("xz", "g.txt.xz", xz()),
        ("zstd", "g.txt.zst", zstd()),
    ]
}
