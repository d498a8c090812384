//! Loading: every format, every refusal, and the counts of real graphs.

use crate::common;

use flate2::{Compression, write::GzEncoder};
use hivegraph::graph::{Graph, Origin};
use hivegraph::io;
use proptest::prelude::*;
use std::io::Write;

type Arcs = Vec<(u32, u32, f32)>;

fn arcs(graph: &Graph) -> Arcs {
    (0..graph.nodes())
        .flat_map(|u| graph.neighbors(u).map(move |(v, w)| (u as u32, v, w)))
        .collect()
}

/// Loads `content` from a file called `name`; errors come back without the directory.
fn load(name: &str, content: &[u8]) -> Result<Graph, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    let prefix = format!("{}/", directory.path().display());
    io::load(path.to_str().unwrap()).map_err(|error| {
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        assert!(!message.contains('\n'), "{message}");
        assert!(message.contains(';'), "says what to do next: {message}");
        message.strip_prefix(&prefix).expect("the message starts with the path").to_string()
    })
}

fn mtx(kind: &str, body: &str) -> Result<Graph, String> {
    load("g.mtx", format!("%%MatrixMarket matrix {kind}\n% a comment\n{body}").as_bytes())
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn hive_bin(header: [i32; 3], indptr: &[i32], indices: &[i32], data: &[f32]) -> Vec<u8> {
    let words = header.iter().chain(indptr).chain(indices).flat_map(|word| word.to_le_bytes());
    words.chain(data.iter().flat_map(|word| word.to_le_bytes())).collect()
}

/// Asserts that `result` is an error that contains every one of `parts`.
#[track_caller]
fn refused(result: Result<Graph, String>, parts: &[&str]) {
    let message = result.map(|graph| arcs(&graph)).unwrap_err();
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn a_general_matrix_gives_one_arc_an_entry_from_row_to_column() {
    let graph = mtx("coordinate real general", "3 3 2\n1 2 0.5\n\n3 1 -0\n").unwrap();
    assert_eq!(arcs(&graph), [(0, 1, 0.5), (2, 0, 0.0)]);
    assert!(graph.weights().unwrap()[1].is_sign_positive());
    assert!(!graph.is_symmetric());
    let origin = &graph.origin;
    assert_eq!((origin.format.as_str(), origin.weights.as_str()), ("matrix-market", "file"));
    assert_eq!((origin.id_base, origin.dataset.as_str()), (1, "g"));
}

#[test]
fn a_symmetric_matrix_gives_both_arcs_but_a_diagonal_entry_one() {
    let graph = mtx("coordinate integer symmetric", "3 3 2\n2 1 7\n3 3 1\n").unwrap();
    assert_eq!(arcs(&graph), [(0, 1, 7.0), (1, 0, 7.0), (2, 2, 1.0)]);
    assert!(graph.is_symmetric());
    assert_eq!(graph.origin.self_loops, 1);
}

#[test]
fn a_pattern_matrix_has_no_weights() {
    let graph = mtx("coordinate pattern general", "2 2 2\n1 2\n1 2").unwrap();
    assert!(graph.weights().is_none());
    assert_eq!(graph.origin.weights, "unit");
    assert_eq!(graph.origin.duplicates, 1);
}

#[test]
fn matrices_that_are_no_graphs_are_refused_with_a_word() {
    refused(mtx("coordinate complex general", "1 1 0\n"), &["g.mtx:1:", "complex"]);
    refused(mtx("coordinate real hermitian", "1 1 0\n"), &["g.mtx:1:", "hermitian"]);
    refused(mtx("coordinate real skew-symmetric", "1 1 0\n"), &["g.mtx:1:", "skew-symmetric"]);
    refused(mtx("array real general", "1 1\n1\n"), &["g.mtx:1:", "array", "dense"]);
    refused(mtx("coordinate real", "1 1 0\n"), &["g.mtx:1:", "coordinate real"]);
    refused(mtx("coordinate real general", "2 3 0\n"), &["g.mtx:3:", "rectangular (2 x 3)"]);
    refused(mtx("coordinate real general", "0 0 0\n"), &["g.mtx:3:", "empty"]);
    refused(mtx("coordinate real general", ""), &["no size line"]);
    refused(mtx("coordinate real general", "3 3\n"), &["g.mtx:3:", "not a size line (3 3)"]);
    refused(mtx("coordinate pattern general", "9999999999 9999999999 0\n"), &["32 bits"]);
    refused(load("g.mtx", b"1 2\n"), &["g.mtx:1:", "banner"]);
}

#[test]
fn a_matrix_whose_counts_or_entries_are_wrong_is_refused_at_its_line() {
    let real = |body: &str| mtx("coordinate real general", body);
    refused(real("2 2 3\n1 2 1\n"), &["g.mtx:3:", "1 of 3"]);
    refused(real("2 2 1\n1 2 1\n2 1 1\n"), &["g.mtx:3:", "1 entries promised, 2 found"]);
    refused(real("2 2 1\n0 2 1\n"), &["g.mtx:4:", "id out of range (0)", "from 1 to 2"]);
    refused(real("2 2 2\n1 2 1\n1 3 1\n"), &["g.mtx:5:", "id out of range (3)"]);
    refused(real("2 2 1\n1 4294967296 1\n"), &["g.mtx:4:", "4294967296", "32 bits"]);
    refused(real("2 2 1\n1 x 1\n"), &["g.mtx:4:", "(x)"]);
    refused(real("2 2 1\n1 2\n"), &["g.mtx:4:", "garbage line (1 2)"]);
    refused(real("2 2 1\n1 2 3 4\n"), &["g.mtx:4:", "garbage line"]);
    refused(real("2 2 1\n1 2 -3\n"), &["g.mtx:4:", "negative (-3)"]);
    refused(real("2 2 1\n1 2 nan\n"), &["g.mtx:4:", "not a number (nan)"]);
    refused(real("2 2 1\n1 2 1e99\n"), &["g.mtx:4:", "infinite in 32 bits (1e99)"]);
    refused(real("2 2 1\n1 2 abc\n"), &["g.mtx:4:", "not a weight (abc)"]);
}

#[test]
fn an_edge_list_takes_comments_blanks_tabs_commas_and_carriage_returns() {
    let graph = load("g.txt", b"# c\r\n% c\r\n0\t1\r\n\r\n 2 , 3 \r\n# c\r\n3,0").unwrap();
    assert_eq!(arcs(&graph), [(0, 1, 1.0), (2, 3, 1.0), (3, 0, 1.0)]);
    assert_eq!((graph.nodes(), graph.origin.id_base), (4, 0));
    assert_eq!(graph.origin.format, "edge-list");
    assert!(graph.weights().is_none());
    let bom = load("g.csv", b"\xef\xbb\xbf0 1 2.5\n").unwrap();
    assert_eq!(arcs(&bom), [(0, 1, 2.5)]);
    assert_eq!(bom.origin.weights, "file");
}

#[test]
fn nodes_are_the_ids_that_occur_however_large_or_sparse() {
    let graph = load("g.txt", b"7 900\n900 7\n64 7\n").unwrap();
    assert_eq!((graph.nodes(), graph.names()), (3, Some(&[7, 64, 900][..])));
    assert_eq!(arcs(&graph), [(0, 2, 1.0), (1, 0, 1.0), (2, 0, 1.0)]);
    let (node, id) = (graph.node_of_input_id(64), graph.input_id(2));
    assert_eq!((node, id, graph.node_of_input_id(8)), (Some(1), 900, None));
    for large in [4_294_967_294u64, 4_294_967_295, u64::MAX] {
        let graph = load("g.txt", format!("0 1\n0 {large}\n").as_bytes()).unwrap();
        assert_eq!((graph.nodes(), graph.id_range()), (3, (0, large)));
    }
    let from_1 = load("g.txt", b"1 2\n2 3\n").unwrap();
    assert_eq!((from_1.nodes(), from_1.origin.id_base), (3, 1));
    assert!(from_1.names().is_none());
    let headed = load("g.el", b"5 0\n").unwrap();
    assert_eq!((headed.nodes(), headed.arcs()), (6, 1), "GAP's lists have no header");
    let gap = load("g.el", b"0 1\n5 1\n").unwrap();
    assert_eq!((gap.nodes(), gap.isolated()), (6, 3), "GAP's lists go up to the largest id");
}

#[test]
fn a_binary_file_that_begins_like_a_byte_order_mark_is_read_as_it_is() {
    // The three bytes are the lower ones of this number of rows.
    let rows = 0x00bf_bbef;
    let mut indptr = vec![0; rows as usize + 1];
    indptr[rows as usize] = 1;
    let graph = load("g.bin", &hive_bin([rows, rows, 1], &indptr, &[7], &[2.0])).unwrap();
    assert_eq!((graph.nodes(), arcs(&graph)), (rows as usize, vec![(rows as u32 - 1, 7, 2.0)]));
}

#[test]
fn a_line_of_column_names_says_which_is_which() {
    for text in ["source,target\n0,1\n1,2\n", "\"src\"\tdst\n0\t1\n1\t2\n"] {
        assert_eq!(arcs(&load("g.csv", text.as_bytes()).unwrap()), [(0, 1, 1.0), (1, 2, 1.0)]);
    }
    let weighted = load("g.csv", b"# c\nsrc,dst,w\n0,1,2.5\n").unwrap();
    assert_eq!(arcs(&weighted), [(0, 1, 2.5)]);
    refused(load("g.csv", b"src,dst\n"), &["g.csv:1:", "empty"]);
}

#[test]
fn a_first_line_is_a_header_only_if_what_follows_fits_it() {
    let counts = |text: &str| {
        let graph = load("g.txt", text.as_bytes()).unwrap();
        (graph.nodes(), graph.arcs())
    };
    assert_eq!(counts("5 3\n0 1\n1 2\n2 0\n"), (5, 3), "three arcs follow, ids are below 3");
    assert_eq!(counts("5 3\n0 1\n1 2\n"), (5, 3), "three would have to follow: ids 0 1 2 3 5");
    assert_eq!(counts("2 2\n0 1\n1 2\n"), (3, 3), "2 is no id below 2");
    assert_eq!(counts("5 1\n0 1 0.5\n"), (5, 1), "a third column leaves no doubt");
    assert_eq!(counts("# c\n0 1\n"), (2, 1));
}

#[test]
fn a_header_that_lies_about_counts_is_refused() {
    refused(load("g.txt", b"# c\n5 2\n0 1 0.5\n"), &["g.txt:2:", "2 arcs promised, 1 found"]);
    refused(load("g.txt", b"2 1\n0 2 0.5\n"), &["g.txt:2:", "id out of range (2)"]);
    refused(load("g.txt", b"9999999999 1\n0 2 0.5\n"), &["g.txt:1:", "9999999999"]);
    let cut: String = (0..20).map(|i| format!("{i} {}\n", i + 1)).collect();
    refused(load("g.txt", format!("40 90\n{cut}").as_bytes()), &["g.txt:1:", "90", "20"]);
    let ids_from_1: String = (1..20).map(|i| format!("{i} {}\n{} {i}\n", i + 1, i + 1)).collect();
    // Ids may be 1 to n, but then none is 0.
    let from_1 = format!("20 38\n{ids_from_1}");
    assert_eq!(load("g.txt", from_1.as_bytes()).unwrap().arcs(), 38);
    let from_0 = format!("20 39\n{ids_from_1}0 1\n");
    refused(load("g.txt", from_0.as_bytes()), &["g.txt:38:", "id out of range (20)"]);
}

#[test]
fn an_edge_list_with_a_bad_line_is_refused_at_that_line() {
    refused(load("g.txt", b"0 1\n1 2\nhello big world\n"), &["g.txt:3:", "garbage line"]);
    refused(load("g.txt", b"0 1\n1\n"), &["g.txt:2:", "garbage line (1)"]);
    refused(load("g.txt", b"0 1\n1 2 3\n1 3 3\n"), &["g.txt:1:"]);
    refused(load("g.txt", b"# c\n0 1 2 3\n"), &["g.txt:2:", "4 columns", "(0 1 2 3)"]);
    refused(load("g.txt", b"0 1\n-1 2\n"), &["g.txt:2:", "(-1)"]);
    refused(load("g.txt", b"0 1\n0 99999999999999999999999\n"), &["g.txt:2:", "64 bits"]);
    refused(load("g.el", b"0 1\n0 4294967295\n"), &["g.el:2:", "4294967295", "32 bits"]);
    refused(load("g.txt", b"0 1 1\n0 1 -1\n"), &["g.txt:2:", "negative (-1)"]);
    refused(load("g.txt", b"0 1 1\n0 1 inf\n"), &["g.txt:2:", "infinite"]);
    refused(load("g.txt", b"0 1 1\n0 1 NaN\n"), &["g.txt:2:", "not a number (NaN)"]);
    let long = "0 1\n".repeat(200_000) + "0 -1\n";
    refused(load("g.txt", long.as_bytes()), &["g.txt:200001:", "(-1)"]);
}

#[test]
fn what_is_no_graph_file_is_refused() {
    refused(load("g.txt", b""), &["g.txt:", "empty"]);
    refused(load("g.txt", b"# nothing\n\n"), &["g.txt:1:", "empty"]);
    refused(load("g.bin", &[0; 5]), &["5 bytes"]);
    let missing = io::load("no/such.mtx").unwrap_err().to_string();
    assert!(missing.starts_with("no/such.mtx: no such file"), "{missing}");
    assert!(missing.contains("see --graph in hive run --help"), "{missing}");
    let directory = io::load(env!("CARGO_MANIFEST_DIR")).unwrap_err().to_string();
    assert!(directory.contains("is a directory"), "{directory}");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(file.path()).is_ok() {
        common::skipped("this user may read everything");
        return;
    }
    let message = io::load(file.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(message.contains("permission"), "{message}");
}

#[test]
fn gzip_is_recognised_by_content_and_a_truncated_one_is_named() {
    let packed = gzip("0 1\n1 2\n".repeat(1000).as_bytes());
    assert_eq!(load("g.txt", &packed).unwrap().arcs(), 2000, "no .gz in the name");
    let twice = [packed.clone(), packed.clone()].concat();
    assert_eq!(load("g.txt.gz", &twice).unwrap().arcs(), 4000, "members add up");
    refused(load("g.txt.gz", &packed[..packed.len() - 9]), &["gzip", "truncated"]);
    refused(load("g.txt.gz", &packed[..3]), &["gzip", "truncated"]);
    let mut damaged = packed;
    let last = damaged.len() - 6;
    damaged[last] ^= 0xff;
    refused(load("g.txt.gz", &damaged), &["gzip", "damaged"]);
}

#[test]
fn a_hive_binary_csr_is_read_and_its_rows_are_sorted() {
    let bytes = hive_bin([2, 2, 3], &[0, 2, 3], &[1, 0, 0], &[5.0, -0.0, 2.0]);
    let expected = [(0, 0, 0.0), (0, 1, 5.0), (1, 0, 2.0)];
    assert_eq!(arcs(&load("g.bin", &bytes).unwrap()), expected);
    assert_eq!(arcs(&load("no-ending", &gzip(&bytes)).unwrap()), expected);
}

#[test]
fn a_hive_binary_csr_that_does_not_add_up_is_refused() {
    let good = hive_bin([2, 2, 2], &[0, 1, 2], &[1, 0], &[1.0, 1.0]);
    let size = good.len();
    refused(load("g.bin", &good[..size - 1]), &["truncated", "40 bytes", "39"]);
    refused(load("g.bin", &[&good[..], b"\0"].concat()), &["too long"]);
    let refusal = |header, indptr: &[i32], indices: &[i32], data: &[f32], parts: &[&str]| {
        refused(load("g.bin", &hive_bin(header, indptr, indices, data)), parts);
    };
    refusal([-1, 2, 2], &[0, 1, 2], &[1, 0], &[1.0, 1.0], &["rows -1"]);
    refusal([2, 3, 2], &[0, 1, 2], &[1, 0], &[1.0, 1.0], &["rectangular (2 x 3)"]);
    refusal([0, 0, 0], &[0], &[], &[], &["empty"]);
    refusal([2, 2, 2], &[1, 1, 2], &[1, 0], &[1.0, 1.0], &["start at 1"]);
    refusal([2, 2, 2], &[0, 2, 1], &[1, 0], &[1.0, 1.0], &["never fall"]);
    refusal([2, 2, 2], &[0, 1, 1], &[1, 0], &[1.0, 1.0], &["end at 1"]);
    refusal([2, 2, 2], &[0, 1, 2], &[1, 2], &[1.0, 1.0], &["column 2"]);
    refusal([2, 2, 2], &[0, 1, 2], &[1, -1], &[1.0, 1.0], &["column"]);
    refusal([2, 2, 2], &[0, 1, 2], &[1, 0], &[1.0, f32::NAN], &["arc 1", "NaN"]);
    refusal([2, 2, 2], &[0, 1, 2], &[1, 0], &[-1.0, 1.0], &["arc 0", "-1"]);
}

#[test]
fn generators_are_loaded_by_their_specification() {
    let grid = io::load("grid:3x4").unwrap();
    assert_eq!((grid.nodes(), grid.arcs()), (12, 34));
    assert_eq!(io::load("rmat:9,ef=8,seed=3").unwrap().nodes(), 512);
    assert!(io::load("rmat:99").unwrap_err().to_string().contains("rmat:SCALE"));
}

#[test]
fn a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.txt");
    std::fs::write(&path, "old").unwrap();
    io::write_graph(&io::load("grid:2x2").unwrap(), &path).unwrap();
    assert_eq!(io::load(path.to_str().unwrap()).unwrap().arcs(), 8);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    let nowhere = directory.path().join("no/such/g.bin");
    let message = io::write_graph(&io::load("grid:2x2").unwrap(), nowhere).unwrap_err();
    assert!(message.to_string().contains("cannot be written"));
}

#[test]
fn real_graphs_have_their_published_counts() {
    let Some(data) = common::all_data() else { return };
    for (file, nodes, arcs, self_loops, symmetric) in [
        ("small/chesapeake.mtx", 39, 340, 0, true),
        ("social/email-Enron.txt.gz", 36_692, 367_662, 0, true),
        ("social/wiki-Vote.txt.gz", 7_115, 103_689, 0, false),
        ("social/facebook_combined.txt.gz", 4_039, 88_234, 0, false),
        ("social/soc-Slashdot0902.mtx.gz", 82_168, 948_464, 78_303, false),
        ("social/loc-brightkite.mtx.gz", 58_228, 428_156, 0, true),
        ("web/cnr-2000.mtx.gz", 325_557, 3_216_152, 87_442, false),
        ("small/karate.csv", 34, 156, 0, true),
        ("small/email-Eu-core.csv.gz", 1_005, 25_571, 642, false),
        ("geo/openflights-routes.mtx.gz", 3_214, 36_906, 0, false),
    ] {
        let graph = io::load(data.join(file).to_str().unwrap()).unwrap();
        assert_eq!((graph.nodes(), graph.arcs()), (nodes, arcs), "{file}");
        assert_eq!(graph.origin.self_loops, self_loops, "{file}");
        assert_eq!(graph.is_symmetric(), symmetric, "{file}");
    }
    let vote = io::load(data.join("social/wiki-Vote.txt.gz").to_str().unwrap()).unwrap();
    assert_eq!((vote.isolated(), vote.id_range()), (0, (3, 8297)));
    assert_eq!(vote.input_id(vote.default_source()), 3);
    assert_eq!(vote.origin.dataset, "wiki-Vote");
}

#[test]
fn two_formats_of_one_graph_give_the_same_arcs() {
    let Some(data) = common::all_data() else { return };
    let load = |file: &str| io::load(data.join(file).to_str().unwrap()).unwrap();
    let (el, mtx) = (load("reference/gapbs/4.wel"), load("reference/gapbs/4w.mtx"));
    assert_eq!(arcs(&el), arcs(&mtx));
}

/// Up to 40 nodes and 200 arcs with a few distinct weights, so that duplicates are common.
fn some_arcs() -> impl Strategy<Value = (u32, Arcs)> {
    (1u32..40).prop_flat_map(|nodes| {
        let weight = prop::sample::select(vec![0.0f32, 0.25, 1.0, 3.5e-8, 64.0]);
        (Just(nodes), prop::collection::vec((0..nodes, 0..nodes, weight), 0..200))
    })
}

fn built(nodes: u32, arcs: &Arcs) -> Graph {
    let sources: Vec<u32> = arcs.iter().map(|arc| arc.0).collect();
    let targets: Vec<u32> = arcs.iter().map(|arc| arc.1).collect();
    let weights: Vec<f32> = arcs.iter().map(|arc| arc.2).collect();
    Graph::from_arcs(nodes as usize, &sources, &targets, Some(&weights), Origin::default()).unwrap()
}

fn sorted(mut arcs: Arcs) -> Arcs {
    arcs.sort_by(|a, b| a.partial_cmp(b).unwrap());
    arcs
}

proptest! {
    #[test]
    fn the_csr_equals_the_naively_sorted_arcs((nodes, list) in some_arcs()) {
        let graph = built(nodes, &list);
        let expected = sorted(list);
        prop_assert_eq!(arcs(&graph), expected.clone());
        let loops = expected.iter().filter(|arc| arc.0 == arc.1).count() as u64;
        let pairs: std::collections::HashSet<_> = expected.iter().map(|a| (a.0, a.1)).collect();
        prop_assert_eq!(graph.origin.self_loops, loops);
        prop_assert_eq!(graph.origin.duplicates, (expected.len() - pairs.len()) as u64);
        let turned = sorted(expected.iter().map(|&(u, v, w)| (v, u, w)).collect());
        prop_assert_eq!(graph.is_symmetric(), turned == expected);
        prop_assert_eq!(arcs(&graph.transpose()), turned);
        prop_assert_eq!(arcs(&graph.transpose().transpose()), expected);
        let most = (0..graph.nodes()).map(|v| graph.degree(v)).max().unwrap();
        prop_assert_eq!(graph.max_degree(), most);
    }

    #[test]
    fn what_is_written_is_read_back((nodes, list) in some_arcs()) {
        let graph = built(nodes, &list);
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("g.txt");
        io::write_graph(&graph, &text).unwrap();
        let read = io::load(text.to_str().unwrap()).unwrap();
        prop_assert_eq!((read.nodes(), arcs(&read)), (graph.nodes(), arcs(&graph)));
        let binary = directory.path().join("g.bin");
        io::write_graph(&graph, &binary).unwrap();
        let read = io::load(binary.to_str().unwrap()).unwrap();
        prop_assert_eq!((read.nodes(), arcs(&read)), (graph.nodes(), arcs(&graph)));
    }

    #[test]
    fn garbled_and_truncated_files_never_panic(
        (nodes, list) in some_arcs(),
        cut in 0usize..4000,
        garbage in prop::collection::vec((0usize..4000, any::<u8>()), 0..4),
        packed in any::<bool>(),
    ) {
        let graph = built(nodes, &list);
        let directory = tempfile::tempdir().unwrap();
        let [text, binary] = ["g.txt", "g.bin"].map(|name| {
            let path = directory.path().join(name);
            io::write_graph(&graph, &path).unwrap();
            std::fs::read(&path).unwrap()
        });
        let mut matrix = b"%%MatrixMarket matrix coordinate real general\n".to_vec();
        matrix.extend(format!("{nodes} {nodes} {}\n", list.len()).bytes());
        list.iter().for_each(|(u, v, w)| matrix.extend(format!("{} {} {w}\n", u + 1, v + 1).bytes()));
        for mut bytes in [text, binary, matrix] {
            if packed {
                bytes = gzip(&bytes);
            }
            bytes.truncate(cut.max(1));
            for (at, byte) in &garbage {
                let at = at % bytes.len();
                bytes[at] = *byte;
            }
            let _ = load("g", &bytes);
        }
    }
}
