//! Every format: real files with their published counts, round trips through every writer, every
//! compression, and damaged files.

use crate::common;

use hivegraph::graph::{Graph, Origin};
use hivegraph::io::{LoadOptions, Weights};
use hivegraph::{Error, io};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Offsets, columns, weights.
type Parts = (Vec<u64>, Vec<u32>, Option<Vec<f32>>);

fn parts(graph: &Graph) -> Parts {
    (graph.offsets().to_vec(), graph.columns().to_vec(), graph.weights().map(<[f32]>::to_vec))
}

fn load(path: &Path) -> Graph {
    io::load(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder to write into, and loads from.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        // Truncating what is there would make ext4 write it to disk at once.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Loads `content` under `name`; checks that an error is one line of the right kind that names the
    /// file, or one beside it, and gives it back without the folder.
    #[track_caller]
    fn try_load(&self, name: &str, content: &[u8]) -> Result<Graph, String> {
        let path = self.with(name, content);
        io::load(path.to_str().unwrap()).map_err(|error| {
            assert!(matches!(error, Error::Input(_) | Error::Machine(_)), "{error:?}");
            let message = error.to_string();
            assert!(!message.contains('\n') && message.contains([';', ':']), "{message}");
            let prefix = format!("{}/", self.0.path().display());
            message.strip_prefix(&prefix).unwrap_or_else(|| panic!("{message}")).to_string()
        })
    }

    #[track_caller]
    fn refused(&self, name: &str, content: &[u8], part: &str) {
        let message = self.try_load(name, content).map(|graph| parts(&graph)).unwrap_err();
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// 9 nodes with self-loops, duplicates (of equal and of other weight), an isolated node in the middle
/// and one that is only pointed to.
fn odd_graph(weights: Option<[f32; 10]>) -> Graph {
    let sources = [0, 0, 0, 1, 2, 2, 2, 4, 4, 8];
    let targets = [1, 8, 8, 1, 0, 3, 3, 4, 7, 0];
    let weights = weights.as_ref().map(|weights| &weights[..]);
    Graph::from_arcs(9, &sources, &targets, weights, Origin::default()).unwrap()
}

const REAL: [f32; 10] = [0.1, 1.0, 1.0, 0.0, 1e-45, 3.5e-8, f32::MAX, 2.0, 16_777_217.0, 1e20];
const WHOLE: [f32; 10] = [0.0, 1.0, 1.0, 7.0, 3.0, 12.0, 16_777_216.0, 2.0, 2_147_483_520.0, 9.0];

#[test]
fn what_is_written_is_read_back_the_same_in_every_format() {
    let folder = Folder::new();
    let (plain, real, whole) = (odd_graph(None), odd_graph(Some(REAL)), odd_graph(Some(WHOLE)));
    for (ending, graphs) in [
        (".mtx", vec![&plain, &real, &whole]),
        (".txt", vec![&plain, &real, &whole]),
        (".npz", vec![&plain, &real, &whole]),
        (".el", vec![&plain]),
        (".sg", vec![&plain]),
        (".wel", vec![&real, &whole]),
        (".wsg", vec![&whole]),
        (".bin", vec![&real, &whole]),
    ] {
        for graph in graphs {
            let path = folder.path(&format!("g{ending}"));
            io::write_graph(graph, &path).unwrap();
            assert_eq!(parts(&load(&path)), parts(graph), "{ending}");
        }
    }
}

#[test]
fn large_and_symmetric_graphs_are_read_back_the_same() {
    let folder = Folder::new();
    let graphs = [
        io::load("rmat:12,ef=8,seed=5").unwrap(),
        common::zeros_and_parallels(4200),
        io::load("grid:40x50").unwrap(),
    ];
    for graph in &graphs {
        for ending in [".mtx", ".txt", ".npz", ".bin", ".wsg", ".wel"] {
            let path = folder.path(&format!("g{ending}"));
            match io::write_graph(graph, &path) {
                Ok(()) => assert_eq!(parts(&load(&path)), parts(graph), "{ending}"),
                // 0.25 is no weight of a .wsg, and .wel cannot tell of a last node without arcs.
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains("write .wel") || message.contains("write .txt"));
                }
            }
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let refused = |graph: &Graph, name: &str, part: &str| {
        let path = folder.path(name);
        let message = io::write_graph(graph, &path).unwrap_err().to_string();
        assert!(message.starts_with(path.to_str().unwrap()) && message.contains(part), "{message}");
        assert!(!path.exists());
    };
    let real = odd_graph(Some(REAL));
    refused(&real, "g.el", "weights would be lost");
    refused(&real, "g.sg", "weights would be lost");
    refused(&real, "g.wsg", "no 32-bit integer");
    refused(&real, "g.graph", "end its name in");
    let last = Graph::from_arcs(3, &[0], &[1], None, Origin::default()).unwrap();
    refused(&last, "g.el", "the last node (2) has no arc");
    refused(&last, "g.wel", "the last node (2) has no arc");
}

#[test]
fn every_real_file_has_its_published_counts() {
    let Some(data) = common::all_data() else { return };
    for (file, nodes, arcs, weighted) in [
        ("road/USA-road-d.NY.gr.gz", 264_346, 733_846, true),
        ("web/cnr-2000.mtx.gz", 325_557, 3_216_152, false),
        ("social/email-Enron.txt.gz", 36_692, 367_662, false),
        ("social/facebook_combined.txt.gz", 4_039, 88_234, false),
        ("social/soc-Slashdot0902.mtx.gz", 82_168, 948_464, false),
        ("social/loc-brightkite.mtx.gz", 58_228, 2 * 214_078, false),
        ("geo/openflights-routes.mtx.gz", 3_214, 36_906, true),
        ("geo/loc-gowalla-p4515.mtx.gz", 76_917, 2 * 282_611, false),
        ("small/chesapeake.mtx", 39, 340, false),
        ("small/karate.csv", 34, 156, true),
        ("small/dolphins.csv", 62, 318, true),
        ("small/polbooks.csv", 105, 882, true),
        ("small/email-Eu-core.csv.gz", 1_005, 25_571, true),
        ("small/lagraph-jagmesh7.mtx", 1_138, 7_450, false),
        ("small/lagraph-karate.mtx", 34, 156, false),
        ("small/lagraph-cover.mtx", 7, 12, true),
        ("small/lagraph-ldbc-directed-example.mtx", 10, 17, true),
        ("small/lagraph-ldbc-undirected-example.mtx", 9, 24, true),
        ("small/networkit-power.graph", 4_941, 2 * 6_594, false),
        ("small/networkit-PGPgiantcompo.graph.gz", 10_680, 2 * 24_316, false),
        ("small/networkit-celegans_metabolic.graph", 453, 2 * 2_025, false),
        ("small/networkit-jazz.graph", 198, 2 * 2_742, false),
        ("small/networkit-lesmis.graph", 77, 2 * 254, true),
        ("reference/gapbs/4.el", 14, 256, false),
        ("reference/gapbs/4.wel", 14, 256, true),
        ("reference/gapbs/4.gr", 14, 256, true),
        ("reference/gapbs/4.mtx", 14, 256, false),
        ("reference/gapbs/4w.mtx", 14, 256, true),
        ("reference/gapbs/4.graph", 14, 53, false),
        ("reference/gapbs/4w.graph", 14, 53, true),
        ("reference/ldbc-example/example-directed.e", 10, 17, true),
        ("reference/ldbc-example/example-directed.v", 10, 17, true),
        ("reference/ldbc-example/example-undirected.e", 9, 12, true),
    ] {
        let graph = load(&data.join(file));
        assert_eq!((graph.nodes(), graph.arcs()), (nodes, arcs), "{file}");
        assert_eq!(graph.weights().is_some(), weighted, "{file}");
        if file.contains("networkit") {
            assert!(graph.is_symmetric(), "{file}");
        }
    }
    // Ids with gaps: what counts is the nodes that have arcs.
    for (file, nodes, arcs) in
        [("social/wiki-Vote.txt.gz", 7_115, 103_689), ("small/netscience.csv", 1_461, 5_484)]
    {
        let graph = load(&data.join(file));
        assert_eq!(
            (graph.nodes() as u64 - graph.isolated(), graph.arcs()),
            (nodes, arcs),
            "{file}"
        );
    }
}

#[test]
fn real_matrices_with_negative_values_are_refused_at_a_line() {
    let Some(data) = common::all_data() else { return };
    for (file, nodes) in [
        ("bips98_606.mtx.gz", 7_135),
        ("lagraph-bcsstk13.mtx.gz", 2_003),
        ("lagraph-cryg2500.mtx.gz", 2_500),
        ("lagraph-west0067.mtx", 67),
    ] {
        let path = data.join("small").join(file);
        let message = io::load(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(message.contains("weight is negative"), "{message}");
        let unit = LoadOptions { weights: Weights::Unit, ..LoadOptions::default() };
        let graph = io::load_with(path.to_str().unwrap(), &unit).unwrap();
        assert_eq!(graph.nodes(), nodes, "{file}: without its weights it is a graph");
    }
}

/// The first arc of each (source, target), the lightest, without self-loops: what GAP's builder keeps.
fn squished(graph: &Graph) -> Vec<(u32, u32, f32)> {
    let mut arcs = Vec::new();
    for u in 0..graph.nodes() {
        let mut last = None;
        for (v, weight) in graph.neighbors(u) {
            if v as usize != u && last != Some(v) {
                arcs.push((u as u32, v, weight));
            }
            last = Some(v);
        }
    }
    arcs
}

#[test]
fn the_forms_of_one_gap_graph_are_equal() {
    let Some(data) = common::all_data() else { return };
    let read = |file: &str| load(&data.join("reference/gapbs").join(file));
    let (plain, weighted) = (read("4.el"), read("4.wel"));
    assert_eq!(parts(&read("4.mtx")), parts(&plain));
    assert_eq!(parts(&read("4.gr")), parts(&weighted));
    assert_eq!(parts(&read("4w.mtx")), parts(&weighted));
    assert_eq!((&weighted.offsets(), &weighted.columns()), (&plain.offsets(), &plain.columns()));
    // The METIS forms are what is left without self-loops and duplicates.
    assert_eq!(squished(&read("4.graph")), squished(&plain));
    assert_eq!(squished(&read("4w.graph")), squished(&weighted));
    assert_eq!(read("4.graph").arcs() as usize, squished(&plain).len());
    let folder = Folder::new();
    for (graph, name) in [(&plain, "4.sg"), (&weighted, "4.wsg"), (&weighted, "4.wel")] {
        io::write_graph(graph, folder.path(name)).unwrap();
        assert_eq!(parts(&load(&folder.path(name))), parts(graph), "{name}");
    }
}

#[test]
fn an_ldbc_data_set_keeps_its_names_and_agrees_with_lagraphs_matrix() {
    let Some(data) = common::all_data() else { return };
    let read = |file: &str| load(&data.join(file));
    let (named, matrix) = (
        read("reference/ldbc-example/example-directed.e"),
        read("small/lagraph-ldbc-directed-example.mtx"),
    );
    assert_eq!(named.columns(), matrix.columns());
    let undirected = data.join("reference/ldbc-example");
    let folder = Folder::new();
    for ending in ["e", "v"] {
        let content = std::fs::read(undirected.join(format!("example-undirected.{ending}")));
        folder.with(&format!("x.{ending}"), &content.unwrap());
    }
    assert_eq!(load(&folder.path("x.e")).arcs(), 12, "as listed");
    folder.with("x.properties", b"graph.x.directed = false\n");
    let (graph, matrix) =
        (load(&folder.path("x.e")), read("small/lagraph-ldbc-undirected-example.mtx"));
    assert_eq!((graph.arcs(), graph.is_symmetric()), (24, true));
    assert_eq!(graph.columns(), matrix.columns());
    std::fs::remove_file(folder.path("x.v")).unwrap();
    assert_eq!(load(&folder.path("x.e")).origin.format, "edge-list", "no vertices beside it");
    folder.refused("y.v", b"1\n2\n", "no .e file is beside it");
}

#[test]
fn real_places_are_read_from_all_three_formats() {
    let Some(data) = common::all_data() else { return };
    let read = |file: &str| io::read_locations(data.join(file).to_str().unwrap()).unwrap();
    for (file, places, first_id) in [
        ("road/USA-road-d.NY.co.gz", 264_346, Some(1)),
        ("geo/openflights-airports.csv", 3_214, None),
        ("geo/loc-gowalla-p4515-home.csv.gz", 30_679, None),
        ("small/gunrock-geolocation-sample.labels", 26, Some(0)),
        ("small/gunrock-geolocation-locations.labels", 11, Some(0)),
    ] {
        let found = read(file);
        assert_eq!((found.ids.len(), found.first_id), (places, first_id), "{file}");
        assert!(found.ids.windows(2).all(|pair| pair[0] < pair[1]), "{file}");
    }
    let road = read("road/USA-road-d.NY.co.gz");
    assert_eq!((road.latitude[0], road.longitude[0]), (41.085396, -73.530767));
    let path = data.join("road/USA-road-d.NY.co.gz");
    let message = io::load(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(message.contains("coordinates, not arcs"), "{message}");
}

/// What this machine's gzip, bzip2, xz and zstd made of `0 1\n1 2\n`, in hexadecimal.
const PACKED: [(&str, &str); 3] = [
    (
        "bzip2",
        "425a6839314159265359ffa0410000000258000010400070002000221e8d0668152a185dc914e14243fe810400",
    ),
    (
        "xz",
        "fd377a585a000004e6d6b4460200210116000000742fe5a30100073020310a3120320a00a7408506e084aa3400\
         012008bb19d9bb1fb6f37d010000000004595a",
    ),
    ("zstd", "28b52ffd24084100003020310a3120320a50bbb44b"),
];

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn files_of_the_usual_programs_are_unpacked_and_damaged_ones_named() {
    let folder = Folder::new();
    for (name, hexadecimal) in PACKED {
        let packed = bytes(hexadecimal);
        assert_eq!(folder.try_load("g.txt", &packed).unwrap().arcs(), 2, "{name}");
        let twice = [&packed[..], &packed[..]].concat();
        assert_eq!(folder.try_load("g.txt", &twice).unwrap().arcs(), 4, "{name}: members add up");
        for less in [1, 3, packed.len() / 2] {
            let what = format!("the {name} file is truncated");
            folder.refused("g.txt", &packed[..packed.len() - less], &what);
        }
        // The last bytes of a file of one block: no program's checksum is behind them in xz's index.
        let mut damaged = packed.clone();
        let at = if name == "zstd" { packed.len() - 2 } else { packed.len() / 2 };
        damaged[at] ^= 0x10;
        folder.refused("g.txt", &damaged, &format!("the {name} file is"));
        for at in 0..packed.len() {
            for byte in [0, 1, 0x7f, 0xff, packed[at] ^ 0x80] {
                let mut damaged = packed.clone();
                damaged[at] = byte;
                let _ = folder.try_load("g.txt", &damaged);
            }
        }
    }
}

#[test]
fn every_compression_of_one_file_loads_equal() {
    let folder = Folder::new();
    let graph = io::load("rmat:12,ef=8,seed=5").unwrap();
    io::write_graph(&graph, folder.path("g.mtx")).unwrap();
    let plain = std::fs::read(folder.path("g.mtx")).unwrap();
    for (name, packed) in [
        ("g.mtx.gz", gzip(&plain)),
        ("g.mtx.bz2", bzip2(&plain)),
        ("g.mtx.xz", xz(&plain)),
        ("g.mtx.zst", zstd(&plain)),
    ] {
        assert!(packed.len() < plain.len());
        let read = folder.try_load(name, &packed).unwrap();
        assert_eq!(parts(&read), parts(&graph), "{name}");
        assert_eq!(read.origin.dataset, "g");
        for length in [20, packed.len() / 3, packed.len() - 1] {
            folder.refused(name, &packed[..length], "file is truncated");
        }
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn xz(content: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
}

/// A small sound file of every format.
fn samples(folder: &Folder) -> Vec<(&'static str, Vec<u8>)> {
    let mut samples = vec![
        ("d.gr", b"c x\np sp 3 3\na 1 2 7\na 2 3 1\na 3 1 20\n".to_vec()),
        ("m.graph", b"% x\n4 2 011\n5 2 7\n5 1 7 4 12\n5\n5 2 12\n".to_vec()),
        ("l.e", b"1 5 0.5\n5 9 1\n9 1 0.25\n".to_vec()),
        ("g.gr", {
            let words = [1u64, 4, 3, 3, 1, 2, 3].into_iter().flat_map(u64::to_le_bytes);
            let rest = [1u32, 2, 0, 0, 7, 1, 20].into_iter().flat_map(u32::to_le_bytes);
            words.chain(rest).collect()
        }),
    ];
    folder.with("l.v", b"1\n5\n9\n7\n");
    for (name, graph) in [
        ("o.sg", odd_graph(None)),
        ("o.wsg", odd_graph(Some(WHOLE))),
        ("o.npz", odd_graph(Some(REAL))),
        ("o.bin", odd_graph(Some(REAL))),
        ("o.mtx", odd_graph(Some(REAL))),
        ("o.wel", odd_graph(Some(WHOLE))),
    ] {
        io::write_graph(&graph, folder.path(name)).unwrap();
        samples.push((name, std::fs::read(folder.path(name)).unwrap()));
    }
    samples
}

#[test]
fn a_file_cut_short_is_refused_naming_it() {
    let folder = Folder::new();
    for (name, content) in samples(&folder) {
        assert!(folder.try_load(name, &content).is_ok(), "{name} is sound");
        for length in
            [content.len() / 4, content.len() / 2, content.len() * 3 / 4, content.len() - 4]
        {
            let found = folder.try_load(name, &content[..length]);
            // Edge lists promise no number of arcs: one that ends with a whole line is a shorter graph.
            let whole_lines = matches!(name, "l.e" | "o.wel");
            assert!(found.is_err() || whole_lines, "{name}, {length} bytes");
        }
        for length in 0..content.len() {
            let _ = folder.try_load(name, &content[..length]);
        }
    }
}

#[test]
fn a_damaged_byte_anywhere_gives_a_graph_or_one_line() {
    let folder = Folder::new();
    for (name, content) in samples(&folder) {
        // Zips have long stretches of padding; every third byte will do.
        for at in (0..content.len()).step_by(if name == "o.npz" { 3 } else { 1 }) {
            for byte in [0, b'\n', b' ', b'-', b'9', 0x7f, 0xff] {
                let mut damaged = content.clone();
                damaged[at] = byte;
                let _ = folder.try_load(name, &damaged);
            }
        }
        for garbage in [&b"\0"[..], b"\xff\xff\xff\xff", b"x", b"-1 -1\n"] {
            let _ = folder.try_load(name, garbage);
            let _ = folder.try_load(name, &[&content[..], garbage].concat());
            let _ = folder.try_load(name, &[garbage, &content[..]].concat());
        }
    }
}

#[test]
fn wrong_counts_and_negative_numbers_are_refused_in_every_format() {
    let folder = Folder::new();
    folder.with("l.v", b"1\n5\n");
    folder.refused("d.gr", b"p sp 3 2\na 1 2 7\n", "d.gr:1: the file is truncated");
    folder.refused("d.gr", b"p sp 3 1\na 1 -2 7\n", "d.gr:2: not a node id (-2)");
    folder.refused("d.gr", b"p sp 3 1\na 1 2 -7\n", "d.gr:2: weight is negative (-7)");
    folder.refused("d.gr", b"0 1\n1 2\n", "d.gr:1: no problem line (0 1)");
    folder.refused("m.metis", b"3 3\n2\n1 3\n2\n", "m.metis:1:");
    folder.refused("m.graph", b"2 1 1\n2 -1\n1 -1\n", "m.graph:2: weight is negative");
    folder.refused("l.e", b"1 5 -1\n", "l.e:1: weight is negative");
    folder.refused("l.e", b"1 6\n", "l.e:1: no vertex of the .v file (6)");
    folder.refused("g.gr", &[1, 0, 0, 0, 0, 0, 0, 0], "no Galois graph");
    folder.refused("o.sg", b"0 1\n1 2\n", "no serialised graph");
    folder.refused("o.npz", b"0 1\n1 2\n", "truncated or damaged");
    let words = [1u64, 4, 1, 1, 1].into_iter().flat_map(u64::to_le_bytes);
    let negative: Vec<u8> =
        words.chain([0, 0, -7].into_iter().flat_map(i32::to_le_bytes)).collect();
    folder.refused("g.gr", &negative, "arc 0 has weight -7");
    let serialised = |entries: [i32; 2]| -> Vec<u8> {
        let words = [1u64, 1, 0, 1].into_iter().flat_map(u64::to_le_bytes);
        [0].into_iter().chain(words).chain(entries.into_iter().flat_map(i32::to_le_bytes)).collect()
    };
    folder.refused("o.wsg", &serialised([0, -7]), "arc 0 has weight -7");
    folder.refused("o.wsg", &serialised([-1, 7]), "arc 0 has column 4294967295");
}

/// A CSR matrix of one row with one number, as SciPy saves it.
fn one_number(descr: &str, data: &[u8]) -> Vec<u8> {
    let member = |descr: &str, shape: &str, data: &[u8]| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (text.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), data].concat()
    };
    let words = |numbers: &[i64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in [
        ("indices", member("<i8", "(1,)", &words(&[0]))),
        ("indptr", member("<i8", "(2,)", &words(&[0, 1]))),
        ("shape", member("<i8", "(2,)", &words(&[1, 1]))),
        ("data", member(descr, "(1,)", data)),
        ("format", member("|S3", "()", b"csr")),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn whole_weights_that_f32_does_not_hold_are_refused_at_their_line_and_rounded_on_request() {
    let folder = Folder::new();
    folder.with("l.v", b"1\n5\n");
    let big = 16_777_217i32;
    let galois = [1u64, 4, 1, 1, 1].into_iter().flat_map(u64::to_le_bytes);
    let galois: Vec<u8> =
        galois.chain([0, 0, big].into_iter().flat_map(i32::to_le_bytes)).collect();
    let gap = [1u64, 1, 0, 1].into_iter().flat_map(u64::to_le_bytes);
    let gap = [0].into_iter().chain(gap).chain([0, big].into_iter().flat_map(i32::to_le_bytes));
    let mut cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a.txt", b"0 1 16777217\n".into(), "a.txt:1: "),
        ("a.csv", b"src,dst,weight\n0,1,1\n1,0,16777217.0\n".into(), "a.csv:3: "),
        ("a.wel", b"0 1 1.6777217e7\n".into(), "a.wel:1: "),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 16777217\n".into(),
            "a.mtx:3: ",
        ),
        ("d.gr", b"p sp 3 1\na 1 2 16777217\n".into(), "d.gr:2: "),
        ("m.graph", b"2 1 1\n2 16777217\n1 16777217\n".into(), "m.graph:2: "),
        ("l.e", b"1 5 16777217\n".into(), "l.e:1: "),
        ("g.gr", galois, "g.gr: arc 0: "),
        ("o.wsg", gap.collect(), "o.wsg: arc 0: "),
    ];
    let npz = [
        ("<i4", 16_777_217i32.to_le_bytes().to_vec()),
        ("<u4", 16_777_217u32.to_le_bytes().to_vec()),
        ("<i8", 16_777_217i64.to_le_bytes().to_vec()),
        (">i8", 16_777_217i64.to_be_bytes().to_vec()),
        ("<u8", 16_777_217u64.to_le_bytes().to_vec()),
        ("<f8", 16_777_217f64.to_le_bytes().to_vec()),
    ];
    for (descr, data) in npz {
        cases.push(("o.npz", one_number(descr, &data), "o.npz: arc 0: "));
    }
    for (name, content, place) in cases {
        let message = folder.try_load(name, &content).map(|graph| parts(&graph)).unwrap_err();
        assert!(message.starts_with(place), "{message}");
        assert!(message.contains("16777217") || message.contains("1.6777217e7"), "{message}");
        assert!(message.contains("--weights rounded"), "{message}");
        let path = folder.with(name, &content);
        let load = |weights| {
            let options = LoadOptions { weights, ..LoadOptions::default() };
            io::load_with(path.to_str().unwrap(), &options).unwrap()
        };
        let graph = load(Weights::Rounded);
        assert!(graph.weights().unwrap().contains(&16_777_216.0), "{name}");
        assert_eq!(graph.origin.weights, "rounded");
        assert_eq!(graph.origin.policies.shown(), "--weights rounded");
        assert_eq!(load(Weights::Unit).weights(), None, "{name}");
    }
    for held in ["16777216", "16777218", "16777217.5", "2500000000", "1.5e9"] {
        assert!(folder.try_load("a.txt", format!("0 1 {held}\n").as_bytes()).is_ok(), "{held}");
    }
}

#[test]
fn a_data_set_with_nodes_and_without_edges_is_a_graph() {
    let folder = Folder::new();
    for (edges, properties) in [(&b""[..], None), (b"\n\n", None), (b"", Some("false"))] {
        let (v, e) = (folder.with("l.v", b"7\n1\n5\n"), folder.with("l.e", edges));
        if let Some(directed) = properties {
            folder.with("l.properties", format!("graph.l.directed = {directed}\n").as_bytes());
        }
        for path in [e, v] {
            let graph = load(&path);
            assert_eq!((graph.nodes(), graph.arcs()), (3, 0));
            assert_eq!(graph.names(), Some(&[1, 5, 7][..]));
        }
    }
    let packed = folder.with("p.e.gz", &gzip(b""));
    folder.with("p.v.gz", &gzip(b"3\n4\n"));
    assert_eq!(load(&packed).nodes(), 2);
    folder.with("n.v", b"");
    folder.refused("n.e", b"", "n.v:1: the graph is empty (no vertices)");
    folder.refused("alone.txt", b"", "the file is empty");
}

/// Written by PyArrow 26: src 0 1 2 2, dst 1 2 0 2, weight 0.5 1 2 3.
const PARQUET: &[u8] = include_bytes!("../data/tiny.parquet");

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_edge_list_is_read_and_a_damaged_one_refused() {
    let folder = Folder::new();
    let graph = folder.try_load("g.parquet", PARQUET).unwrap();
    let expected = (vec![0, 1, 2, 4], vec![1, 2, 0, 2], Some(vec![0.5, 1.0, 2.0, 3.0]));
    assert_eq!(parts(&graph), expected);
    for length in [4, 40, PARQUET.len() / 2, PARQUET.len() - 1] {
        folder.refused("g.parquet", &PARQUET[..length], "truncated or damaged");
    }
    for at in 0..PARQUET.len() {
        let mut damaged = PARQUET.to_vec();
        damaged[at] ^= 0xff;
        let _ = folder.try_load("g.parquet", &damaged);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_parquet_file_is_refused_where_parquet_is_not_built_in() {
    Folder::new().refused("g.parquet", PARQUET, "--features parquet");
}
