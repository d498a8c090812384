//! The native format and the cache: what is written is what is read; what is damaged is not believed.

use crate::common;

use hivegraph::graph::Graph;
use hivegraph::io::{self, Cache, LoadOptions, Relabel, Symmetrize};
use std::path::{Path, PathBuf};
use std::process::Output;

fn off() -> LoadOptions {
    LoadOptions { cache: Cache::Off, ..LoadOptions::default() }
}

fn load(path: &Path, options: &LoadOptions) -> Result<Graph, String> {
    io::load_with(path.to_str().unwrap(), options).map_err(|error| {
        assert_eq!(error.exit_code(), 2, "{error}");
        let message = error.to_string();
        assert!(!message.contains('\n') && message.contains("g.hive"), "{message}");
        message
    })
}

fn same(a: &Graph, b: &Graph) {
    assert_eq!(a.offsets(), b.offsets());
    assert_eq!(a.columns(), b.columns());
    assert_eq!(a.weights(), b.weights());
    assert_eq!(a.names(), b.names());
    assert_eq!(a.is_symmetric(), b.is_symmetric());
    assert_eq!(a.origin.dataset, b.origin.dataset);
    assert_eq!(
        (a.origin.self_loops, a.origin.duplicates),
        (b.origin.self_loops, b.origin.duplicates)
    );
}

/// Graphs that need every section between them.
fn graphs(folder: &Path) -> Vec<Graph> {
    let sparse = folder.join("sparse.txt");
    std::fs::write(&sparse, "7 900 0.5\n900 7 2\n64 7 1\n64 64 3\n7 900 0.25\n").unwrap();
    let relabelled = LoadOptions { relabel: Relabel::Random(3), ..off() };
    let labels = folder.join("places.csv");
    std::fs::write(&labels, "node,lat,lon\n0,50.5,8.25\n2,-33,151\n").unwrap();
    let chain = io::load_with("chain:3", &off()).unwrap();
    vec![
        io::load_with("rmat:8", &off()).unwrap(),
        io::load_with("geo:500", &off()).unwrap(),
        io::load_with(sparse.to_str().unwrap(), &off()).unwrap(),
        io::load_with(sparse.to_str().unwrap(), &relabelled).unwrap(),
        io::place(chain, labels.to_str().unwrap(), None).unwrap(),
    ]
}

#[test]
fn a_native_file_gives_back_the_graph_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.hive");
    for graph in graphs(folder.path()) {
        io::write_graph(&graph, &path).unwrap();
        let read = load(&path, &off()).unwrap();
        same(&graph, &read);
        let places = |graph: &Graph| {
            graph.places().map(|(a, b)| (a.to_vec(), b.to_vec())).map(|all| format!("{all:?}"))
        };
        assert_eq!(places(&graph), places(&read));
        assert!(io::check_native(path.to_str().unwrap()).unwrap() > 0);
    }
}

#[test]
fn policies_hold_for_native_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let (text, path) = (folder.path().join("g.txt"), folder.path().join("g.hive"));
    std::fs::write(&text, "3 4 5\n3 4 2\n4 3 7\n4 4 1\n9 3 1\n").unwrap();
    io::write_graph(&io::load_with(text.to_str().unwrap(), &off()).unwrap(), &path).unwrap();
    for options in [
        LoadOptions { duplicates: io::Duplicates::Sum, self_loops: io::SelfLoops::Drop, ..off() },
        LoadOptions { symmetrize: Symmetrize::Min, relabel: Relabel::Degree, ..off() },
        LoadOptions { weights: io::Weights::Unit, largest_component: true, ..off() },
        LoadOptions {
            weights: io::Weights::Random { low: 1, high: 9, seed: 5 },
            symmetrize: Symmetrize::Min,
            ..off()
        },
        LoadOptions { weights: io::Weights::Unit, duplicates: io::Duplicates::Sum, ..off() },
    ] {
        let from_text = io::load_with(text.to_str().unwrap(), &options).unwrap();
        let from_native = load(&path, &options).unwrap();
        assert_eq!(from_text.columns(), from_native.columns());
        assert_eq!(from_text.weights(), from_native.weights());
        assert_eq!(from_text.id_range(), from_native.id_range());
        assert_eq!(from_text.origin.weights, from_native.origin.weights);
    }
}

/// Every bit of a small file: opening refuses, or finds a graph; the full check finds all but what lies
/// between sections.
#[test]
fn a_flipped_bit_is_refused_or_found_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.hive");
    let graph = io::load_with("rmat:4", &off()).unwrap();
    io::write_graph(&graph, &path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let (mut refused, mut found, mut unseen) = (0, 0, 0);
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bad).unwrap();
        let opened = load(&path, &off());
        if let Ok(graph) = &opened {
            assert!(graph.columns().iter().all(|v| (*v as usize) < graph.nodes()));
            assert_eq!(graph.offsets().last(), Some(&graph.arcs()));
        }
        match (opened, io::check_native(path.to_str().unwrap())) {
            (Err(_), _) => refused += 1,
            (Ok(_), Err(error)) => {
                assert!(error.to_string().contains("checksum"), "{error}");
                found += 1;
            }
            (Ok(graph), Ok(_)) => {
                same(&graph, &io::load_with("rmat:4", &off()).unwrap());
                unseen += 1;
            }
        }
    }
    assert!(refused > 1000 && found > 1000, "{refused} refused, {found} found");
    assert!(unseen <= 8 * 64 * 6, "only padding may go unseen: {unseen} bits");
    for length in [0, 1, 8, 63, 64, 100, good.len() / 2, good.len() - 65] {
        std::fs::write(&path, &good[..length]).unwrap();
        assert!(load(&path, &off()).is_err(), "{length} bytes");
    }
}

#[test]
fn a_header_reserves_nothing_that_the_file_has_not_got() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.hive");
    io::write_graph(&io::load_with("chain:4", &off()).unwrap(), &path).unwrap();
    let good = std::fs::read(&path).unwrap();
    for (at, word) in [(16, u64::MAX), (16, 1 << 40), (24, u64::MAX), (24, 1 << 61)] {
        let mut bad = good.clone();
        bad[at..at + 8].copy_from_slice(&word.to_le_bytes());
        // The header's own sum, so that it is the counts that are refused.
        bad[40..48].fill(0);
        let sections = u32::from_le_bytes(bad[12..16].try_into().unwrap()) as usize;
        let sum = xxhash_rust::xxh3::xxh3_64(&bad[..64 + 40 * sections]);
        bad[40..48].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&path, &bad).unwrap();
        assert!(load(&path, &off()).is_err(), "{at}: {word}");
    }
}

/// `hive info FILE MORE...` with a cache in `cache`.
fn info(cache: &Path, file: &Path, more: &[&str]) -> Output {
    let mut command = common::hive();
    command.args(["info", "--json", "-"]).arg(file).args(more).env("HIVE_CACHE_DIR", cache);
    // However fast the machine is.
    command.env("HIVE_CACHE_FROM_MS", "0");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn field(output: &Output, name: &str) -> serde_json::Value {
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = [&record, &record["graph"]].into_iter().find_map(|r| r.get(name).cloned());
    found.unwrap_or_else(|| panic!("no {name} in {record:#}"))
}

#[test]
fn a_second_load_comes_from_the_cache_until_file_or_options_change() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("g.txt"));
    io::write_graph(&io::load_with("rmat:12", &off()).unwrap(), &file).unwrap();
    let entries = || -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(cache.join("graphs")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let cached = |output: &Output| {
        let told = String::from_utf8_lossy(&output.stderr).contains(", from the cache)");
        assert_eq!(field(output, "cached"), told, "the page and the record agree");
        told
    };
    let first = info(&cache, &file, &[]);
    assert!(!cached(&first));
    assert_eq!(entries().len(), 1);
    let second = info(&cache, &file, &[]);
    assert!(cached(&second));
    for name in ["graph-nodes", "graph-edges", "dataset", "graph-file"] {
        assert_eq!(field(&first, name), field(&second, name), "{name}");
    }
    assert!(!cached(&info(&cache, &file, &["--cache", "off"])));
    assert!(!cached(&info(&cache, &file, &["--cache", "refresh"])));
    assert!(!cached(&info(&cache, &file, &["--weights", "unit"])), "other options, other entry");
    assert_eq!(entries().len(), 2);
    // A damaged entry is not believed, and mended.
    let good: Vec<Vec<u8>> = entries().iter().map(|path| std::fs::read(path).unwrap()).collect();
    for (path, good) in entries().iter().zip(&good) {
        let mut bad = good.clone();
        bad[50] ^= 1;
        std::fs::write(path, &bad[..good.len() / 2]).unwrap();
    }
    let mended = info(&cache, &file, &[]);
    assert!(!cached(&mended));
    assert_eq!(field(&first, "graph-edges"), field(&mended, "graph-edges"));
    assert!(cached(&info(&cache, &file, &[])));
    // A flip that leaves every id in range is seen too.
    for path in entries() {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
    }
    assert!(!cached(&info(&cache, &file, &[])), "a damaged entry was believed");
    assert!(cached(&info(&cache, &file, &[])));
    // Another content of the same length at another time.
    let time = std::fs::metadata(&file).unwrap().modified().unwrap();
    let handle = std::fs::File::options().append(true).open(&file).unwrap();
    handle.set_modified(time + std::time::Duration::from_secs(5)).unwrap();
    assert!(!cached(&info(&cache, &file, &[])));
    // A link of another name is read by another reader.
    let (list, link) = (folder.path().join("h.txt"), folder.path().join("h.wel"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&list, text.split_once('\n').unwrap().1).unwrap();
    std::os::unix::fs::symlink(&list, &link).unwrap();
    info(&cache, &list, &[]);
    assert!(cached(&info(&cache, &list, &[])));
    let linked = info(&cache, &link, &[]);
    let plain = info(&cache, &link, &["--cache", "off"]);
    assert!(!cached(&linked));
    assert_eq!(field(&linked, "graph-nodes"), field(&plain, "graph-nodes"));
    // Nothing of it is open to others.
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(cache.join("graphs")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn a_file_whose_time_was_restored_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("g.txt"));
    let cached =
        |output: &Output| String::from_utf8_lossy(&output.stderr).contains(", from the cache)");
    let with_time = |path: &Path, text: &str, time: std::time::SystemTime| {
        std::fs::write(path, text).unwrap();
        let handle = std::fs::File::options().append(true).open(path).unwrap();
        handle.set_modified(time).unwrap();
    };
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 30);
    with_time(&file, "0 1\n1 2\n2 0\n", time);
    assert!(!cached(&info(&cache, &file, &[])));
    assert!(cached(&info(&cache, &file, &[])));
    // In place: the inode stays.
    with_time(&file, "0 1\n1 2\n2 1\n", time);
    let second = info(&cache, &file, &[]);
    assert!(!cached(&second), "the time of modification alone was believed");
    assert!(cached(&info(&cache, &file, &[])));
    // Another file in its place.
    let other = folder.path().join("h.txt");
    with_time(&other, "0 1\n1 2\n2 2\n", time);
    std::fs::rename(&other, &file).unwrap();
    assert!(!cached(&info(&cache, &file, &[])));
    // A file beside the one that is named.
    let (edges, vertices) = (folder.path().join("l.e"), folder.path().join("l.v"));
    with_time(&vertices, "1\n2\n3\n", time);
    with_time(&edges, "1 2\n", time);
    info(&cache, &edges, &[]);
    assert!(cached(&info(&cache, &edges, &[])));
    with_time(&vertices, "1\n2\n4\n", time);
    assert!(!cached(&info(&cache, &edges, &[])));
}

#[test]
fn a_native_file_tells_of_the_oddities_that_are_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let (text, path) = (folder.path().join("g.txt"), folder.path().join("g.hive"));
    std::fs::write(&text, "0 1\n0 1\n1 1\n2 2\n").unwrap();
    for (options, expected) in [
        (off(), (2, 1)),
        (LoadOptions { self_loops: io::SelfLoops::Drop, ..off() }, (0, 1)),
        (LoadOptions { duplicates: io::Duplicates::Min, ..off() }, (2, 0)),
    ] {
        let graph = io::load_with(text.to_str().unwrap(), &options).unwrap();
        assert_eq!((graph.origin.self_loops, graph.origin.duplicates), (2, 1), "as found");
        io::write_graph(&graph, &path).unwrap();
        let read = load(&path, &off()).unwrap();
        assert_eq!((read.origin.self_loops, read.origin.duplicates), expected);
    }
}

#[test]
fn places_follow_their_nodes_through_policies() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_string()
    };
    let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n";
    let matrix = at("g.mtx", &format!("{banner}5 5 3\n2 1\n4 3\n5 4\n"));
    let list = at("g.txt", "1 2\n3 4\n4 5\n");
    let from_0 = at("p0.csv", "node,lat,lon\n0,10,1\n2,30,3\n4,50,5\n");
    let by_id = at("p1.csv", "node,lat,lon\n1,10,1\n3,30,3\n5,50,5\n");
    let options = [
        off(),
        LoadOptions { relabel: Relabel::Random(4), ..off() },
        LoadOptions { relabel: Relabel::Degree, largest_component: true, ..off() },
        LoadOptions { symmetrize: Symmetrize::Min, largest_component: true, ..off() },
    ];
    for options in &options {
        for (graph, places, first) in
            [(&matrix, &by_id, None), (&matrix, &from_0, Some(0)), (&list, &by_id, None)]
        {
            let graph = io::load_placed(graph, places, first, options).unwrap();
            let (latitude, _) = graph.places().unwrap();
            for v in 0..graph.nodes() as u32 {
                let id = graph.input_id(v);
                let expected = if id % 2 == 1 { 10.0 * id as f64 } else { f64::NAN };
                let found = latitude[v as usize];
                assert!(
                    found == expected || (found.is_nan() && expected.is_nan()),
                    "{id}: {found}"
                );
            }
        }
    }
    let geo = io::load_with("geo:300,hidden=0.5", &off()).unwrap();
    let truth = hivegraph::generate::geo_locations("geo:300,hidden=0.5").unwrap();
    let shown = geo.places().unwrap().0.iter().zip(&truth.hidden);
    assert!(shown.clone().all(|(latitude, hidden)| latitude.is_nan() == *hidden));
}

#[test]
fn nodes_for_nothing_are_refused_unless_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.wel");
    std::fs::write(&path, "1 100000000 1\n").unwrap();
    let error = io::load_with(path.to_str().unwrap(), &off()).unwrap_err();
    assert!(error.to_string().contains("--nodes 100000001"), "{error}");
    assert_eq!(error.exit_code(), 2);
    let asked = LoadOptions { nodes: Some(100_000_001), ..off() };
    assert_eq!(io::load_with(path.to_str().unwrap(), &asked).unwrap().nodes(), 100_000_001);
}

#[test]
fn conversions_keep_the_graph_and_say_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let convert = |from: &str, to: &str, more: &[&str]| {
        let mut command = common::hive();
        command.args(["convert", from, to]).args(more).env("HIVE_CACHE_DIR", "");
        command.output().unwrap()
    };
    let ok = |output: Output| {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    ok(convert("rmat:9", &at("a.hive"), &[]));
    let original = io::load_with(&at("a.hive"), &off()).unwrap();
    for ending in ["hive", "mtx", "txt", "wsg", "bin", "npz"] {
        let path = at(&format!("b.{ending}"));
        ok(convert(&at("a.hive"), &path, &[]));
        let read = io::load_with(&path, &off()).unwrap();
        assert_eq!(read.offsets(), original.offsets(), "{ending}");
        assert_eq!(read.columns(), original.columns(), "{ending}");
        assert_eq!(read.weights(), original.weights(), "{ending}");
    }
    std::fs::write(at("gaps.txt"), "5 900\n900 7\n").unwrap();
    assert!(ok(convert(&at("gaps.txt"), &at("c.mtx"), &[])).contains("5 to 900 with gaps"));
    assert!(!ok(convert(&at("gaps.txt"), &at("c.hive"), &[])).contains("note"));
    let turned = ok(convert(&at("gaps.txt"), &at("d.hive"), &["--transpose"]));
    assert!(turned.contains("written"));
    let with = io::load_with(&at("d.hive"), &off()).unwrap();
    let without = io::load_with(&at("c.hive"), &off()).unwrap();
    assert_eq!(with.transpose().columns(), without.transpose().columns());
    assert_eq!(with.transpose().offsets(), without.transpose().offsets());
    for (from, to, more, part) in [
        (at("a.hive"), at("x.gif"), &[][..], "x.gif"),
        (at("none.txt"), at("x.hive"), &[], "none.txt"),
        (at("a.hive"), at("a.hive"), &[], "is the input"),
        (at("a.hive"), at("no/such/x.hive"), &[], "make it first"),
        (at("a.hive"), at("x.mtx"), &["--transpose"], "only .hive"),
    ] {
        let output = convert(&from, &to, more);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(part) && err.lines().count() == 1, "{err}");
    }
}
