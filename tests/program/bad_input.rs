//! Bad input, as the program meets it: one line that says what and where, exit code 2, nothing written.

use crate::common;

use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

/// A command line (split at blanks) and the parts that its refusal must contain.
type Case<'a> = (&'a str, &'a [&'a str]);

/// Runs `hive` in a folder with these files; it must refuse with exit code 2 and one line that contains
/// every part, within 5 s, and leave the folder as it was.
#[track_caller]
fn refused(files: &[(&str, &[u8])], (line, parts): Case) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    let before = listing(dir.path());
    let args = line.split_whitespace();
    let ended = common::ends_within(LIMIT, common::hive().current_dir(dir.path()).args(args));
    assert_eq!(ended.code, Some(2), "{line}: {ended:?}");
    let text = ended.err.strip_suffix('\n').unwrap_or_else(|| panic!("{line}: {ended:?}"));
    assert!(text.starts_with("error: ") && !text.contains('\n'), "{line}: not one line: {text}");
    assert!(!text.contains("panicked") && !text.contains("bug"), "{line}: {text}");
    for part in parts {
        assert!(text.contains(part), "{line}: `{part}` is not in: {text}");
    }
    assert_eq!(ended.out, "", "{line}");
    assert_eq!(listing(dir.path()), before, "{line}: wrote or changed a file");
}

fn listing(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        let content = std::fs::read(entry.path()).unwrap_or_default();
        (entry.file_name().to_string_lossy().into_owned(), content)
    };
    let mut all: Vec<_> = entries.map(read).collect();
    all.sort();
    all
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// `run sssp` on a file of this name and content, asked to write both kinds of result.
#[track_caller]
fn file_refused(name: &str, content: &[u8], parts: &[&str]) {
    let line = format!("run sssp --devices host:2 --graph {name} --json out.json --output out.csv");
    refused(&[(name, content)], (&line, parts));
}

const CHAIN: &[u8] = b"0 1 1\n1 2 1\n2 3 1\n";

/// `run vn` on a chain of four nodes with these options, asked to write both kinds of result.
#[track_caller]
fn options_refused(options: &str, parts: &[&str]) {
    let devices = if options.contains("--devices") { "" } else { "--devices host:2" };
    let line = format!("run vn --graph chain.txt --seeds 0 --json out.json {devices} {options}");
    refused(&[("chain.txt", CHAIN)], (&line, parts));
}

const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n";

fn matrix(body: &str) -> Vec<u8> {
    [MATRIX, body].concat().into_bytes()
}

fn hive_bin(header: [i32; 3], indptr: &[i32], indices: &[i32], data: &[f32]) -> Vec<u8> {
    let words = header.iter().chain(indptr).chain(indices).flat_map(|word| word.to_le_bytes());
    words.chain(data.iter().flat_map(|word| word.to_le_bytes())).collect()
}

#[test]
fn an_option_that_is_no_number_is_refused_by_other_workloads() {
    for (line, parts) in [
        ("run closeness --batch 0", ["--batch 0", "1 or more"]),
        ("run closeness --within nan", ["--within NaN", "0 or more"]),
        ("run similar --threshold nan", ["--threshold NaN", "0"]),
        ("run louvain --resolution nan", ["--resolution NaN", "above 0"]),
        ("run ppr --sources 1 --epsilon nan", ["--epsilon NaN", "0"]),
    ] {
        let line = format!("{line} --graph chain.txt --devices host:2 --json out.json");
        refused(&[("chain.txt", CHAIN)], (&line, &parts));
    }
}

#[test]
fn a_missing_file_is_refused() {
    refused(&[], ("run sssp --devices host --graph no/such.mtx", &["no/such.mtx", "no such file"]));
    refused(&[], ("run sssp --devices host --graph .", &["is a directory"]));
}

#[test]
fn a_truncated_file_is_refused_plain_or_packed_in_every_format() {
    let whole = matrix("3 3 3\n1 2 1\n2 3 1\n3 1 1\n");
    let cut = |bytes: &[u8], less: usize| bytes[..bytes.len() - less].to_vec();
    file_refused("g.mtx", &cut(&whole, 6), &["g.mtx:2:", "2 of 3 entries", "truncated"]);
    file_refused("g.mtx", &cut(&whole, 8), &["g.mtx:4:", "garbage line"]);
    file_refused("g.mtx", MATRIX.as_bytes(), &["g.mtx:", "truncated"]);
    let packed = gzip(&whole);
    for less in [1, 8, packed.len() - 12] {
        file_refused("g.mtx.gz", &cut(&packed, less), &["g.mtx.gz", "gzip", "truncated"]);
    }
    file_refused("g.mtx.gz", &gzip(&cut(&whole, 6)), &["g.mtx.gz:2:", "2 of 3 entries"]);
    let binary = hive_bin([2, 2, 2], &[0, 1, 2], &[1, 0], &[1.0, 1.0]);
    file_refused("g.bin", &cut(&binary, 4), &["g.bin", "truncated", "40 bytes", "36"]);
    let list = b"4 9\n0 1 1\n1 2 1\n2 3 1\n";
    file_refused("g.txt", list, &["g.txt:1:", "9 arcs promised, 3 found", "truncated"]);
    file_refused("g.txt.gz", &gzip(list), &["g.txt.gz:1:", "9 arcs promised, 3 found"]);
    file_refused("g.txt", b"0 1 1\n1 2 1\n2 3", &["g.txt:3:", "garbage line"]);
}

#[test]
fn a_garbage_line_is_refused_naming_file_and_line() {
    file_refused(
        "g.txt",
        b"# c\n0 1\n1 2\n1 two three\n",
        &["g.txt:4:", "garbage line (1 two three)"],
    );
    file_refused("g.txt", b"0 1 1\n\n1 2 1 extra\n", &["g.txt:3:", "garbage line"]);
    file_refused("g.txt", b"0 1\n\"1.5 2\n", &["g.txt:2:", "does not end on its line"]);
    file_refused("g.mtx", &matrix("% c\n2 2 1\n1 b 1\n"), &["g.mtx:4:", "(b)"]);
    file_refused("g.mtx", &matrix("2 2\n1 2 1\n"), &["g.mtx:2:", "not a size line"]);
    file_refused("g.mtx.gz", &gzip(&matrix("2 2 1\n1 2 x\n")), &["g.mtx.gz:3:", "(x)"]);
    let long = "0 1\n".repeat(100_000) + "0 -3\n";
    file_refused("g.txt", long.as_bytes(), &["g.txt:100001:", "(-3)"]);
}

#[test]
fn a_header_that_lies_about_counts_is_refused() {
    file_refused("g.mtx", &matrix("2 2 1\n1 2 1\n2 1 1\n"), &["g.mtx:2:", "lies about counts"]);
    file_refused("g.mtx", &matrix("2 3 1\n1 2 1\n"), &["g.mtx:2:", "rectangular"]);
    file_refused("g.mtx", &matrix("2 2 99999999999999\n1 2 1\n"), &["g.mtx:2:", "1 of 99999"]);
    file_refused("g.txt", b"4 1\n0 1 1\n1 2 1\n", &["g.txt:1:", "1 arcs promised, 2 found"]);
    let bin = |header| hive_bin(header, &[0, 1, 2], &[1, 0], &[1.0, 1.0]);
    file_refused("g.bin", &bin([3, 3, 2]), &["g.bin", "truncated", "lies"]);
    file_refused("g.bin", &bin([2, 2, 1]), &["g.bin", "too long", "lies"]);
    file_refused("g.bin", &bin([2, 2, -1]), &["g.bin", "nnz -1"]);
    file_refused("g.bin", &bin([i32::MAX, i32::MAX, i32::MAX]), &["g.bin", "truncated"]);
    let falling = hive_bin([2, 2, 2], &[0, 2, 1], &[1, 0], &[1.0, 1.0]);
    file_refused("g.bin", &falling, &["g.bin", "never fall"]);
}

#[test]
fn an_id_out_of_range_is_refused() {
    file_refused("g.mtx", &matrix("2 2 1\n1 3 1\n"), &["g.mtx:3:", "id out of range (3)"]);
    file_refused("g.mtx", &matrix("2 2 1\n0 1 1\n"), &["g.mtx:3:", "id out of range (0)"]);
    file_refused("g.txt", b"2 1\n0 2 1\n", &["g.txt:2:", "id out of range (2)"]);
    file_refused("g.wel", b"0 1 1\n0 4294967295 1\n", &["g.wel:2:", "4294967295", "32 bits"]);
    file_refused("g.txt", b"0 1\n-1 2\n", &["g.txt:2:", "(-1)"]);
    let binary = hive_bin([2, 2, 2], &[0, 1, 2], &[1, 2], &[1.0, 1.0]);
    file_refused("g.bin", &binary, &["g.bin", "column 2"]);
}

#[test]
fn a_negative_nan_or_infinite_weight_is_refused() {
    for (weight, what) in [
        ("-1", "negative"),
        ("-1e-30", "negative"),
        ("nan", "not a number"),
        ("-nan", "not a number"),
        ("inf", "infinite"),
        ("1e39", "infinite"),
    ] {
        let (list, body) = (format!("0 1 1\n1 2 {weight}\n"), format!("2 2 1\n1 2 {weight}\n"));
        file_refused("g.txt", list.as_bytes(), &["g.txt:2:", what, weight]);
        file_refused("g.mtx", &matrix(&body), &["g.mtx:3:", what, weight]);
    }
    for weight in [-1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let binary = hive_bin([2, 2, 2], &[0, 1, 2], &[1, 0], &[1.0, weight]);
        file_refused("g.bin", &binary, &["g.bin", "arc 1", &weight.to_string()]);
    }
}

#[test]
fn an_empty_graph_is_refused() {
    file_refused("g.txt", b"", &["g.txt", "empty"]);
    file_refused("g.txt", b"# nothing\n\n", &["g.txt", "empty"]);
    file_refused("g.txt", b"0 0\n", &["g.txt", "empty"]);
    file_refused("g.txt.gz", &gzip(b""), &["g.txt.gz", "empty"]);
    file_refused("g.mtx", &matrix("0 0 0\n"), &["g.mtx:2:", "empty"]);
    file_refused("g.bin", &hive_bin([0, 0, 0], &[0], &[], &[]), &["g.bin", "empty"]);
    refused(&[], ("run sssp --devices host --graph grid:0x5", &["grid:0x5"]));
    refused(&[], ("run sssp --devices host --graph rmat:0", &["rmat:0"]));
}

#[test]
fn bad_seeds_are_refused() {
    let seeds = |seeds: &str, parts: &[&str]| {
        let line =
            format!("run vn --devices host:2 --graph chain.txt --json o.json --seeds {seeds}");
        refused(&[("chain.txt", CHAIN), ("seeds.txt", b"0\n9\n")], (&line, parts));
    };
    seeds("4", &["error: --seeds: the graph has no node 4", "0 to 3"]);
    seeds("0,99999999999999999999", &["no node 99999999999999999999", "0 to 3"]);
    seeds("1,2,1", &["1", "listed twice"]);
    seeds("one", &["error: --seeds: the graph has no node one", "0 to 3"]);
    seeds("-1", &["no node -1", "0 to 3"]);
    seeds("1,,2", &["an id is missing"]);
    seeds("first:5", &["error: --seeds `first:5`", "only 4 nodes"]);
    seeds("first:0", &["first:0"]);
    seeds("random:9:1", &["random:9:1", "only 4 nodes"]);
    seeds("random:1", &["random:N:SEED"]);
    seeds("file:seeds.txt", &["seeds.txt:2:", "no node 9"]);
    seeds("file:nowhere.txt", &["nowhere.txt"]);
    seeds("last:1", &["`last` is unknown"]);
    let source = |more: &str, parts: &[&str]| {
        let line = format!("run sssp --devices host --graph chain.txt {more}");
        refused(&[("chain.txt", CHAIN)], (&line, parts));
    };
    source("--source 4", &["error: --source: the graph has no node 4"]);
    for workload in ["bfs", "bc"] {
        let line = |more: &str| format!("run {workload} --devices host --graph chain.txt {more}");
        let files = [("chain.txt", CHAIN)];
        refused(&files, (&line("--sources 4"), &["error: --sources: the graph has no node 4"]));
        refused(&files, (&line("--sources one"), &["error: --sources: the graph has no node one"]));
    }
    source("--source x", &["--source", "x"]);
    source("--source -1", &["--source", "-1"]);
}

#[test]
fn no_seeds_at_all_are_refused() {
    let files = [("chain.txt", CHAIN), ("none.txt", b"# none\n")];
    refused(&files, ("run vn --graph chain.txt", &["no seeds", "--seeds"]));
    refused(&files, ("run vn --graph chain.txt --seeds=", &["--seeds", "no node is given"]));
    refused(
        &files,
        ("run vn --devices host --graph chain.txt --seeds file:none.txt", &["names no node"]),
    );
    refused(&files, ("run vn --seeds 1", &["no graph", "--graph"]));
}

#[test]
fn devices_that_are_not_there_are_refused() {
    options_refused("--devices cuda:99", &["cuda:99"]);
    options_refused("--devices cuda:0,99", &["cuda:0,99"]);
    options_refused("--devices host:0", &["host:0", "host:N"]);
    options_refused("--devices host:17", &["host:17", "1 to 16"]);
    options_refused("--devices cuda:0x17", &["cuda:0x17", "1 to 16"]);
    options_refused("--devices tpu", &["tpu", "host:N"]);
    options_refused("--devices cuda:3-1", &["cuda:3-1"]);
    if common::gpus() == 0 {
        options_refused("--devices cuda", &["cuda", "no GPU"]);
        options_refused("--devices cuda:0x2", &["cuda:0x2", "no GPU"]);
    }
}

#[test]
fn collectives_that_cannot_merge_these_devices_are_refused() {
    options_refused("--devices host:2 --collective nccl", &["--collective nccl", "needs GPUs"]);
    options_refused("--devices host:2 --collective peer", &["--collective peer", "needs GPUs"]);
    options_refused("--collective mpi", &["mpi", "nccl", "peer", "host"]);
    let probe = hivegraph::device::probe();
    match (probe.devices.len(), probe.nccl.found) {
        (0, _) => common::skipped("no CUDA device, NCCL on GPUs was not asked for"),
        (1, false) => common::skipped("one GPU only, its lack of NCCL cannot show"),
        (_, false) => {
            let parts = ["--collective nccl", "NCCL was not found"];
            options_refused("--devices cuda:0-1 --collective nccl", &parts);
        }
        (_, true) => {
            options_refused("--devices cuda:0x2 --collective nccl", &["two ranks on one GPU"]);
        }
    }
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_is_opened() {
    options_refused("--frobnicate 3", &["--frobnicate"]);
    options_refused("--runs", &["--runs"]);
    options_refused("extra", &["extra"]);
    for (option, parts) in [
        ("--chunk-align 7", ["--chunk-align 7", "64"]),
        ("--chunk-align 0", ["--chunk-align 0", "64"]),
        ("--chunk-align 1", ["--chunk-align 1", "64"]),
        ("--chunk-align -64", ["--chunk-align", "-64"]),
        ("--delta 0", ["--delta 0", "inf"]),
        ("--delta nan", ["--delta NaN", "inf"]),
        ("--delta -1", ["--delta -1", "inf"]),
        ("--delta wide", ["--delta", "wide"]),
        ("--runs 0", ["--runs 0", "auto or 1 to 1000000"]),
        ("--runs 1000001", ["--runs 1000001", "auto or 1 to 1000000"]),
        ("--runs -3", ["--runs", "-3"]),
        ("--runs 1.5", ["--runs", "1.5"]),
        ("--top -1", ["--top", "-1"]),
        ("--top many", ["--top", "many"]),
        ("--warmup -1", ["--warmup", "-1"]),
        ("--warmup 4294967295", ["--warmup 4294967295", "0 to 1000000"]),
        ("--delta 3 --merge dense", ["--delta 3 with --merge dense", "leave one"]),
        ("--delta 3 --merge split", ["--delta 3 with --merge split", "--delta inf"]),
        ("--deadline 0", ["--deadline 0", "seconds"]),
        ("--deadline nan", ["--deadline NaN", "seconds"]),
        ("--deadline 1e99", ["--deadline", "seconds"]),
        ("--merge sparse", ["--merge", "sparse"]),
        ("--chunks edges", ["edges", "nodes"]),
        ("--layout best", ["best", "degree"]),
        ("--source 1", ["--source", "--seeds"]),
        ("--fault 9:0:fail --devices host:2", ["--fault 9:0:fail", "2 replicas"]),
        ("--fault 1:0:explode", ["--fault", "explode"]),
    ] {
        options_refused(option, &parts);
        // Nor is the graph looked for first, which might take minutes to load.
        let line = format!("run vn --devices host --graph not-there.mtx --seeds 0 {option}");
        if !option.contains("--devices") {
            refused(&[], (&line, &parts));
        }
    }
}

#[test]
fn results_that_could_not_be_written_are_refused_before_anything_is_opened() {
    for (option, parts) in [
        ("--output x.foo", ["x.foo", ".csv"]),
        ("--output x", ["x", ".npy"]),
        ("--output no/such/x.csv", ["--output no/such/x.csv", "no directory no/such"]),
        ("--output chain.txt/x.csv", ["chain.txt", "directory"]),
        ("--json no/such/x.json", ["--json no/such/x.json", "no directory no/such"]),
        ("--json .", ["--json .", "is a directory"]),
        ("--output x.npy --nominee", ["--output x.npy", "not for --nominee"]),
        ("--output x.txt --predecessors", ["--output x.txt", "not for --predecessors"]),
    ] {
        let line = format!("run vn --devices host --graph not-there.mtx --seeds 0 {option}");
        refused(&[("chain.txt", CHAIN)], (&line, &parts));
    }
}

#[test]
fn results_that_would_replace_an_input_or_each_other_are_refused() {
    let files: [(&str, &[u8]); 2] = [("chain.txt", CHAIN), ("seeds.txt", b"0\n")];
    for (results, part) in [
        ("--output chain.txt", "--output chain.txt: is also the graph"),
        ("--output ./chain.txt", "--output ./chain.txt: is also the graph"),
        ("--json chain.txt", "--json chain.txt: is also the graph"),
        ("--output seeds.txt", "--output seeds.txt: is also the file of --seeds"),
        ("--json x.csv --output ./x.csv", "--json x.csv: is also --output"),
    ] {
        let line =
            format!("run vn --devices host --graph chain.txt --seeds file:seeds.txt {results}");
        refused(&files, (&line, &[part]));
    }
}

#[test]
fn a_bad_configuration_file_is_refused_naming_file_line_and_key() {
    for (text, parts) in [
        ("runs = 2\nsedes = '1'\n", ["run.toml:2:", "'sedes'"]),
        ("graph = 'chain.txt'\ndevices = 'host:0'\n", ["run.toml:2:", "host:0"]),
        ("runs = 2\nruns = 3\n", ["run.toml:2:", "runs"]),
        ("graph =\n", ["run.toml:1:", "graph"]),
        ("verify = 'yes'\n", ["run.toml:1:", "verify"]),
        ("\nchunk-align = -1\n", ["run.toml:2:", "chunk-align"]),
        ("[run]\nruns = 2\n", ["run.toml: 'run'", "hive sweep run.toml"]),
        ("graphs = ['rmat:4']\n", ["run.toml: 'graphs'", "the file of a sweep"]),
        ("graph = 'chain.txt'\nseeds = '0'\ndelta = -1\n", ["--delta -1", "delta"]),
        ("graph = 'chain.txt'\nseeds = '0'\nchunk-align = 7\n", ["--chunk-align 7", "64"]),
        ("graph = 'chain.txt'\nseeds = '0,0'\ndevices = 'host'\n", ["0", "listed twice"]),
    ] {
        let files = [("chain.txt", CHAIN), ("run.toml", text.as_bytes())];
        refused(&files, ("run vn --config run.toml --json out.json", &parts));
    }
    refused(&[], ("run vn --config no-such.toml", &["no-such.toml"]));
    refused(&[("run.toml", b"\xff\xfe")], ("run vn --config run.toml", &["run.toml"]));
}

#[test]
fn what_is_neither_file_nor_pipe_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let socket = socket.to_str().unwrap();
    for (path, parts) in [
        ("/dev/zero", ["/dev/zero: is a device", "--input-limit"]),
        ("/dev/urandom", ["/dev/urandom: is a device", "--input-limit"]),
        (socket, ["socket: is a socket", "give a file or a pipe"]),
        ("/tmp", ["/tmp: is a directory", "name a graph file"]),
    ] {
        refused(&[], (&format!("run sssp --devices host --graph {path}"), &parts));
        refused(&[], (&format!("info {path}"), &parts));
        refused(&[], (&format!("convert {path} out.hive"), &parts));
    }
    refused(&[], ("run vn --config /dev/zero", &["/dev/zero: is longer than"]));
    let line = "run geo --devices host --graph chain.txt --labels /dev/zero";
    refused(&[("chain.txt", CHAIN)], (line, &["/dev/zero: is a device"]));
    let line = "run vn --devices host --graph chain.txt --seeds file:/dev/zero";
    refused(&[("chain.txt", CHAIN)], (line, &["/dev/zero: is a device"]));
}

#[test]
fn input_beyond_the_limit_ends_in_one_line_that_names_limit_and_option() {
    let bomb = gzip(&b"0 1\n".repeat(8 << 20));
    assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
    let parts = ["bomb.txt.gz: the gzip file", "unpacked, holds more than", "--input-limit"];
    let files: [(&str, &[u8]); 2] = [("bomb.txt.gz", &bomb), ("chain.txt", CHAIN)];
    refused(&files, ("run sssp --devices host --input-limit 1M --graph bomb.txt.gz", &parts));
    refused(&files, ("info --input-limit 33554431 bomb.txt.gz", &parts));
    let parts = ["chain.txt: the file holds more than", "--input-limit"];
    refused(&files, ("info --input-limit 17 chain.txt", &parts));
    refused(&files, ("info --input-limit 0 chain.txt", &["--input-limit"]));
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    for (name, content) in files {
        std::fs::write(at(name), content).unwrap();
    }
    let succeeds = |args: &[&str]| {
        let output = common::hive().args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    succeeds(&["info", "--input-limit", "18", &at("chain.txt")]);
    // Native files are mapped.
    succeeds(&["convert", &at("chain.txt"), &at("chain.hive")]);
    succeeds(&["info", "--input-limit", "1", &at("chain.hive")]);
    // A pipe that never ends.
    let pipe = at("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let endless = format!("exec yes '0 1' > {pipe}");
    let mut writer = std::process::Command::new("sh")
        .args(["-c", &endless])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let parts = ["pipe: the input holds more than", "--input-limit"];
    refused(&[], (&format!("info --input-limit 4M {pipe}"), &parts));
    writer.wait().unwrap();
}
