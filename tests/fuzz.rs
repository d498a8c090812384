//! The properties that `fuzz/` looks for holes in, small enough for every run of the tests: any bytes give a
//! graph that holds together or one printable line that names the file. The corpus of `fuzz/` and what it
//! has found (`tests/data/found`) are gone through as well.

mod common;

use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, rubbish};
use hivegraph::{Error, Result};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// As in `fuzz/src/lib.rs`: what an input may make the readers allocate at a time.
const MEMORY: u64 = 4 << 20;
const LONGEST: Duration = Duration::from_secs(5);

/// Loads `bytes` as a file called `name`, of graphs and of places alike, and asserts what is known of any.
#[track_caller]
fn survives(name: &str, bytes: &[u8]) {
    rubbish::limit_memory(MEMORY);
    let start = Instant::now();
    match name {
        "g.labels" | "g.csv" | "g.co" => match rubbish::parse_locations(name, bytes) {
            Ok(found) => assert!(!found.ids.is_empty() && found.ids.is_sorted_by(|a, b| a < b)),
            Err(error) => refused(name, &error),
        },
        "g.e" => {
            let mut parts = bytes.splitn(3, |byte| *byte == 0);
            let files = [0; 3].map(|_| parts.next().unwrap_or_default());
            graph(name, rubbish::parse_ldbc(files, &LoadOptions::default()));
        }
        _ => graph(name, rubbish::parse_bytes(name, bytes, &LoadOptions::default())),
    }
    assert!(start.elapsed() < LONGEST, "{name}: {:?}", start.elapsed());
}

#[track_caller]
fn graph(name: &str, loaded: Result<Graph>) {
    let graph = match loaded {
        Ok(graph) => graph,
        Err(error) => return refused(name, &error),
    };
    let (offsets, columns) = (graph.offsets(), graph.columns());
    assert_eq!((offsets[0], offsets.len()), (0, graph.nodes() + 1));
    assert!(offsets.is_sorted() && offsets[graph.nodes()] == columns.len() as u64);
    assert!(graph.nodes() > 0 && columns.iter().all(|v| (*v as usize) < graph.nodes()));
    if let Some(weights) = graph.weights() {
        assert_eq!(weights.len(), columns.len());
        assert!(weights.iter().all(|w| w.is_finite() && w.is_sign_positive()));
    }
    // That rows of a native file are sorted is believed.
    if graph.origin.format != "hive" {
        assert!((0..graph.nodes()).all(|v| graph.neighbors(v).is_sorted()));
    }
}

#[track_caller]
fn refused(name: &str, error: &Error) {
    let text = error.to_string();
    assert_eq!(error.exit_code(), 2, "{text}");
    assert!(!text.chars().any(char::is_control), "{text:?}");
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    assert!(text.starts_with(stem) && text.len() < 600, "{text}");
}

/// What each format begins with, and a file name under which its reader is found.
fn beginnings() -> Vec<(&'static str, Vec<u8>)> {
    let text = |name, text: &str| (name, text.as_bytes().to_vec());
    let words = |name, words: &[u32]| {
        (name, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    };
    vec![
        text("g.txt", ""),
        text("g.txt", "5 3\n0 1 2\n"),
        text("g.mtx", "%%MatrixMarket matrix coordinate real general\n"),
        text("g.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 "),
        text("g.gr", "p sp 3 2\na 1 2 "),
        text("g.co", "p aux sp co 2\nv 1 "),
        text("g.graph", "3 2\n2 "),
        text("g.graph", "3 2 111 2\n"),
        text("g.wel", "0 1 2\n"),
        text("g.e", "1\n2\n\0"),
        text("g.labels", "3 2 2\n"),
        text("g.csv", "node,lat,lon\n"),
        words("g.bin", &[2, 2, 1]),
        ("g.sg", [&[0u8][..], &1u64.to_le_bytes(), &2u64.to_le_bytes()].concat()),
        words("g.gr", &[1, 0, 4, 0, 2, 0, 1, 0]),
        text("g.npz", "PK\x03\x04"),
        text("g.hive", "HIVEGRPH\x01\0\0\0\x03\0\0\0"),
        text("g.txt.gz", "\x1f"),
        ("g.txt.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec()),
        ("g.txt.bz2", b"BZh91AY&SY".to_vec()),
        ("g.txt.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec()),
        ("g.txt.zst", b"\x28\xb5\x2f\xfd".to_vec()),
        text("g.txt", "dst;\"src\";w\n\"a, b\";c;1\n"),
        text("g.txt", "from\tto\nalice\tbob\n"),
        text("g.txt", "# nodes 3 arcs 2\n0 1\n"),
    ]
}

/// The good files, with those that are apart in [`common::good_files`].
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let good = common::good_files().into_iter().map(|(_, name, content)| (name, content));
    let [vertices, edges] = common::ldbc();
    good.chain([
        ("g.e", [&vertices[..], b"\0", &edges, b"\0graph.g.directed = true\n"].concat()),
        ("g.labels", common::labels()),
        ("g.csv", common::csv_places()),
        ("g.co", common::coordinates()),
    ])
    .collect()
}

/// A change of a file: where (a fraction of its length), what.
#[derive(Debug, Clone)]
enum Change {
    Flip(u8),
    Set(u8),
    Insert(Vec<u8>),
    Remove(usize),
    Copy(usize, f64),
    /// A number of 8, 4 or fewer bytes, or its digits, in place of what is there.
    Number(u64, u8),
}

fn change() -> impl Strategy<Value = (f64, Change)> {
    let number = prop_oneof![
        prop::sample::select(vec![0, 1, 2, 12, 13, 255, 1 << 16, (1 << 31) - 1, 1 << 31]),
        prop::sample::select(vec![u64::from(u32::MAX) - 2, u64::from(u32::MAX), 1 << 32]),
        prop::sample::select(vec![1 << 60, 1 << 61, i64::MAX as u64, 1 << 63, u64::MAX]),
    ];
    let change = prop_oneof![
        (0u8..8).prop_map(Change::Flip),
        any::<u8>().prop_map(Change::Set),
        prop::sample::select(b"\0\n\r\t ,%#-.:09eainf\"".to_vec()).prop_map(Change::Set),
        prop::collection::vec(any::<u8>(), 1..9).prop_map(Change::Insert),
        (1usize..40).prop_map(Change::Remove),
        (1usize..40, 0.0..1.0).prop_map(|(length, from)| Change::Copy(length, from)),
        (number, prop::sample::select(vec![0u8, 4, 8]))
            .prop_map(|(n, size)| Change::Number(n, size)),
    ];
    (0.0..1.0, change)
}

fn apply(bytes: &mut Vec<u8>, (place, change): &(f64, Change)) {
    let at = (place * bytes.len() as f64) as usize;
    let upto = |length: usize| at..(at + length).min(bytes.len());
    match change {
        Change::Flip(bit) => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << bit),
        Change::Set(value) => bytes.get_mut(at).into_iter().for_each(|byte| *byte = *value),
        Change::Insert(some) => drop(bytes.splice(at..at, some.iter().copied())),
        Change::Remove(length) => drop(bytes.drain(upto(*length))),
        Change::Copy(length, from) => {
            let from = (from * bytes.len() as f64) as usize;
            let some = bytes[from..(from + length).min(bytes.len())].to_vec();
            drop(bytes.splice(at..at, some));
        }
        Change::Number(number, 0) => {
            let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            drop(bytes.splice(at..at + digits, number.to_string().into_bytes()));
        }
        Change::Number(number, size) => {
            let word = number.to_le_bytes()[..usize::from(*size)].to_vec();
            drop(bytes.splice(upto(word.len()), word));
        }
    }
}

/// A native file's header is believed only with its checksum, which is made anew here.
fn summed(name: &str, bytes: &mut [u8]) {
    let count = bytes.get(12..16).map_or(0, |n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
    let head = bytes.get_mut(..64 + 40 * count.min(1024) as usize);
    if let Some(head) = head.filter(|_| name == "g.hive") {
        head[40..48].fill(0);
        let sum = xxhash_rust::xxh3::xxh3_64(head);
        head[40..48].copy_from_slice(&sum.to_le_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_behind_any_beginning_are_a_graph_or_a_line(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        digits in "([0-9]{1,3}[ \n,\t]){0,60}",
    ) {
        for (name, beginning) in beginnings() {
            for rest in [&bytes[..], digits.as_bytes()] {
                survives(name, &[&beginning[..], rest].concat());
            }
        }
    }

    #[test]
    fn a_good_file_changed_in_some_places_is_a_graph_or_a_line(
        changes in prop::collection::vec(change(), 1..5),
    ) {
        for (name, mut bytes) in files() {
            changes.iter().for_each(|change| apply(&mut bytes, change));
            summed(name, &mut bytes);
            survives(name, &bytes);
        }
    }
}

/// The name under which a target of `fuzz/` loads its inputs.
fn name_of(target: &str) -> &'static str {
    match target {
        "matrix_market" => "g.mtx",
        "dimacs" | "galois" => "g.gr",
        "coordinates" => "g.co",
        "metis" => "g.graph",
        "gap" => "g.sg",
        "gap_list" => "g.el",
        "hive_bin" => "g.bin",
        "ldbc" => "g.e",
        "npz" => "g.npz",
        "native" => "g.hive",
        "labels" => "g.labels",
        "csv_places" => "g.csv",
        "gzip" => "g.txt.gz",
        "bzip2" => "g.txt.bz2",
        "xz" => "g.txt.xz",
        "zstd" => "g.txt.zst",
        _ => "g.txt",
    }
}

/// Loads every file of `folder/TARGET/`; says how many there were.
fn go_through(folder: &Path) -> usize {
    let within = |folder: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let mut count = 0;
    for target in within(folder) {
        let reader = target.file_name().unwrap().to_string_lossy();
        for path in within(&target) {
            let bytes = std::fs::read(path).unwrap();
            match &*reader {
                "messages" => drop(rubbish::messages(&bytes)),
                reader => survives(name_of(reader), &bytes),
            }
            count += 1;
        }
    }
    count
}

#[test]
fn the_corpus_is_a_graph_or_a_line_each() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    if !folder.is_dir() {
        return common::skipped("fuzz/corpus is not here, a package leaves it out");
    }
    assert!(go_through(&folder) > 50);
}

/// `HIVE_WRITE_SEEDS=1 cargo test --test fuzz -- --ignored` writes the good files into the
/// corpus, each for its target.
#[test]
#[ignore = "writes into the working tree"]
fn the_seeds_are_written() {
    if std::env::var_os("HIVE_WRITE_SEEDS").is_none() {
        return common::skipped("HIVE_WRITE_SEEDS is not set, no seed was written");
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let write = |target: &str, name: &str, content: &[u8]| {
        std::fs::create_dir_all(corpus.join(target)).unwrap();
        std::fs::write(corpus.join(target).join(name), content).unwrap();
    };
    for (name, content) in files() {
        let target = match name {
            "g.mtx" => "matrix_market",
            "g.gr" => "dimacs",
            "galois.gr" => "galois",
            "g.wel" => "gap_list",
            "g.wsg" => "gap",
            "g.graph" => "metis",
            "g.bin" => "hive_bin",
            "g.npz" => "npz",
            "g.hive" => "native",
            "g.e" => "ldbc",
            "g.labels" => "labels",
            "g.csv" => "csv_places",
            "g.co" => "coordinates",
            "g.txt.gz" => "gzip",
            "g.txt.bz2" => "bzip2",
            "g.txt.xz" => "xz",
            "g.txt.zst" => "zstd",
            _ => "edge_list",
        };
        write(target, &format!("ring-{name}"), &content);
    }
    let small = hivegraph::graph::Graph::from_arcs(
        3,
        &[0, 1, 2],
        &[1, 1, 0],
        None,
        hivegraph::graph::Origin::default(),
    );
    let small = small.unwrap();
    for (target, name) in [
        ("matrix_market", "small.mtx"),
        ("edge_list", "small.txt"),
        ("gap_list", "small.el"),
        ("gap", "small.sg"),
        ("hive_bin", "small.bin"),
        ("npz", "small.npz"),
        ("native", "small.hive"),
    ] {
        write(target, name, &common::written(&small, name));
    }
    for (number, (name, content)) in beginnings().into_iter().enumerate() {
        let targets =
            ["matrix_market", "edge_list", "dimacs", "coordinates", "metis", "gap", "gap_list"];
        let targets =
            targets.iter().chain(&["hive_bin", "galois", "ldbc", "npz", "native", "labels"]);
        let targets = targets.chain(&["csv_places", "gzip", "bzip2", "xz", "zstd"]);
        let target = targets.into_iter().find(|target| name_of(target) == name);
        write(target.unwrap_or(&"gap_list"), &format!("beginning-{number}"), &content);
    }
}

/// What fuzzing and reading found. Each was refused wrongly, or ended the program, once.
#[test]
fn what_was_found_stays_fixed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/found");
    assert!(go_through(&folder) >= 6);
}
