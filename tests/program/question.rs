//! One question, asked once: paths to targets, rankings, rows in every format, streams, quiet runs, help.

use crate::common::{Ended, ends_within, hive};
use hivegraph::graph::Graph;
use hivegraph::run::WORKLOADS;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const GRAPH: &str = "tests/data/chesapeake.mtx";

fn ends(command: &mut Command) -> Ended {
    ends_within(Duration::from_secs(60), command)
}

fn asked(line: &str) -> Ended {
    ends(hive().args(line.split_whitespace()))
}

/// What a command that succeeds puts on standard output.
fn answered(line: &str) -> String {
    let ended = asked(line);
    assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
    ended.out
}

fn record(line: &str) -> Value {
    serde_json::from_str(&answered(&format!("{line} --json -"))).unwrap()
}

fn refused(line: &str, part: &str) {
    let ended = asked(line);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{line}: {}", ended.err);
    assert!(ended.err.starts_with("error: ") && ended.err.contains(part), "{line}: {}", ended.err);
    assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
}

/// The lightest arc from one node to another.
fn weight(graph: &Graph, from: u64, to: u64) -> Option<f32> {
    let node = |id| graph.node_of_input_id(id).unwrap();
    let arcs = graph.neighbors(node(from) as usize).filter(|(v, _)| *v == node(to));
    arcs.map(|(_, weight)| weight).min_by(f32::total_cmp)
}

#[test]
fn a_path_to_a_target_adds_up_and_is_the_same_on_any_number_of_replicas() {
    let graph = hivegraph::io::load("rmat:9,seed=4").unwrap();
    let reached: Vec<u32> = (0..512).filter(|v| graph.degree(*v as usize) > 0).collect();
    let alone = (0..512).find(|v| graph.degree(*v as usize) == 0).expect("an isolated node");
    let [a, b, c] = [reached[3], reached[reached.len() / 2], reached[reached.len() - 1]];
    for (ask, starts) in [
        (format!("sssp --source {a}"), vec![a]),
        (format!("bfs --source {a}"), vec![a]),
        (format!("vn --seeds {a},{b}"), vec![a, b]),
    ] {
        let mut first: Option<Value> = None;
        for devices in ["host:1", "host:3", "host:5"] {
            let line = format!(
                "run {ask} --graph rmat:9,seed=4 --devices {devices} --target {c},{alone},{a} --verify"
            );
            let record = record(&line);
            assert_eq!(record["verified"], "yes");
            let paths = record["paths"].clone();
            let of =
                |id: u32| paths.as_array().unwrap().iter().find(|p| p["target"] == id).unwrap();
            let nodes = |id: u32| -> Vec<u64> {
                of(id)["nodes"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
            };
            assert!(nodes(alone).is_empty() && of(alone)["distance"].is_null(), "{ask}");
            assert_eq!(nodes(a), [u64::from(a)]);
            let path = nodes(c);
            assert!(starts.contains(&(path[0] as u32)) && path.last() == Some(&c.into()), "{ask}");
            let arcs = path.windows(2).map(|arc| weight(&graph, arc[0], arc[1]).expect("an arc"));
            let length = if ask.starts_with("bfs") { arcs.count() as f32 } else { arcs.sum() };
            assert_eq!(of(c)["distance"].as_f64().unwrap() as f32, length, "{ask}");
            assert_eq!(*first.get_or_insert_with(|| paths.clone()), paths, "{ask} {devices}");
        }
    }
}

#[test]
fn paths_are_told_on_a_terminal_and_are_the_rows_of_the_output() {
    let text = answered("run sssp --graph chain:40 --source 0 --target 3,39 --weights unit");
    assert!(text.contains("path to 3: 3 arcs, distance 3\n  0 -> 1 -> 2 -> 3\n"), "{text}");
    assert!(text.contains("path to 39: 39 arcs, distance 39\n  0 -> 1 -> "), "{text}");
    assert!(text.contains(" more ... -> 36 -> 37 -> 38 -> 39\n"), "{text}");
    let rows = answered("run bfs --graph chain:40 --source 4 --target 2,6 --output -");
    let expected =
        "target,position,node,distance\n2,0,4,0\n2,1,3,1\n2,2,2,2\n6,0,4,0\n6,1,5,1\n6,2,6,2\n";
    assert_eq!(rows, expected);
    let folder = tempfile::tempdir().unwrap();
    let (graph, targets) = (folder.path().join("g.txt"), folder.path().join("t.txt"));
    std::fs::write(&graph, "10 20 1.5\n20 30 2\n40 10 1\n").unwrap();
    std::fs::write(&targets, "30\n40\n").unwrap();
    let line = format!(
        "run sssp --graph {} --source 10 --target file:{}",
        graph.display(),
        targets.display()
    );
    let text = answered(&line);
    assert!(text.contains("path to 30: 2 arcs, distance 3.5\n  10 -> 20 -> 30\n"), "{text}");
    assert!(text.contains("path to 40: none, it was not reached\n"), "{text}");
    let rows = answered(&format!("{line} --output -"));
    assert_eq!(rows, "target,position,node,distance\n30,0,10,0\n30,1,20,1.5\n30,2,30,3.5\n");
    refused("run sssp --graph chain:4 --target 9", "--target: the graph has no node 9");
    refused("run sssp --graph chain:4 --target 1,x", "--target: the graph has no node x");
    refused("run bfs --graph chain:4 --sources 0,1 --target 2", "--target with 2 sources");
    refused("run sssp --graph chain:4 --target 2 --output x.npy", "not for --target");
    refused("run pagerank --graph chain:4 --target 2", "pagerank does not take --target");
}

#[test]
fn rows_are_written_in_every_format_and_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("run bfs --graph {GRAPH} --source 1 --predecessors --output");
    let to = |name: &str| {
        let path = folder.path().join(name);
        answered(&format!("{line} {}", path.display()));
        std::fs::read(path).unwrap()
    };
    let csv = String::from_utf8(to("a.csv")).unwrap();
    assert!(csv.starts_with("node,level,predecessor\n1,0,"), "{csv}");
    assert_eq!(String::from_utf8(to("a.tsv")).unwrap(), csv.replace(',', "\t"));
    for (row, json) in csv.lines().skip(1).zip(String::from_utf8(to("a.jsonl")).unwrap().lines()) {
        let json: Value = serde_json::from_str(json).unwrap();
        let cells = ["node", "level", "predecessor"].map(|name| json[name].to_string());
        assert_eq!(cells.join(","), row);
    }
    assert!(to("a.npz").starts_with(b"PK"));
    let streamed = asked(&format!("{line} -"));
    assert_eq!((streamed.code, streamed.out), (Some(0), csv.clone()));
    assert!(streamed.err.starts_with("bfs on chesapeake"), "the summary: {}", streamed.err);
    let lines = answered(&format!("{line} - --output-format tsv"));
    assert_eq!(lines, csv.replace(',', "\t"));
    refused(&format!("{line} - --json -"), "--output - with --json -");
    refused(&format!("run cc --graph {GRAPH} --output-format csv"), "there is no --output");
    if cfg!(not(feature = "parquet")) {
        refused(&format!("{line} x.parquet"), "built without Parquet");
    }
}

#[test]
fn a_graph_comes_from_standard_input() {
    let text = std::fs::read(GRAPH).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&text).unwrap();
    let expected = answered(&format!("run cc --graph {GRAPH} --output -"));
    for content in [text, packed.finish().unwrap()] {
        let mut child = hive()
            .args(["run", "cc", "--graph", "-", "--output", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&content).unwrap();
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success() && told.starts_with("cc on stdin (39 nodes"), "{told}");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), expected);
    }
    let empty = ends(hive().args(["run", "cc", "--graph", "-"]).stdin(Stdio::null()));
    assert_eq!(empty.code, Some(2), "{}", empty.err);
    assert!(empty.err.contains("-: the file is empty"), "{}", empty.err);
}

#[test]
fn every_workload_with_a_ranking_prints_the_first_of_it() {
    for workload in WORKLOADS.iter().filter(|workload| workload.takes_shared_option("top")) {
        let seeds = if workload.has_own_option("seeds") { " --seeds 1" } else { "" };
        let graph = match workload.has_own_option("side") {
            true => "chain:9 --side 0,2,4,6,8",
            false => GRAPH,
        };
        let line = format!("run {} --graph {graph}{seeds} --top 3", workload.name);
        let text = answered(&line);
        let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("rank")).collect();
        // The graph is in one piece.
        let parts = ["cc", "scc", "cdlp"].contains(&workload.name);
        let rows = if parts { 1 } else { 3 };
        assert_eq!(table.len(), rows + 1, "{line}: {text}");
        // That of a pair follows its nodes.
        let place = if table[0].contains("other") { 3 } else { 2 };
        let value = |row: &str| row.split_whitespace().nth(place).unwrap().parse::<f64>().unwrap();
        let values: Vec<f64> = table[1..].iter().map(|row| value(row)).collect();
        let nearest = ["vn", "sssp"].contains(&workload.name);
        assert!(
            values.is_sorted_by(|a, b| if nearest { a <= b } else { a >= b }),
            "{line}: {text}"
        );
        // The first of the ranking is the extreme of the rows.
        let csv = answered(&format!("{line} --output -"));
        let cells = csv.lines().skip(1).map(|row| row.split(',').nth(place - 1).unwrap());
        // Betweenness leaves the source without a score.
        let cells = cells.filter(|cell| !cell.is_empty());
        // Betweenness leaves the source without a score.
        let cells = cells.filter(|cell| !cell.is_empty());
        let cells: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
        match workload.name {
            "vn" | "sssp" => assert_eq!(values[0], 1.0, "{text}"),
            _ if parts => assert_eq!(values[0], 39.0, "{text}"),
            // Their rows name communities, of all nodes together.
            "louvain" | "leiden" => assert_eq!(values.iter().sum::<f64>(), 39.0, "{text}"),
            _ => assert_eq!(values[0], cells.iter().copied().fold(0.0, f64::max), "{line}: {text}"),
        }
    }
    refused("run bfs --graph chain:9 --sources 0,1 --top 2", "--top with 2 sources");
}

#[test]
fn degrees_are_written_of_every_node() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("g.txt");
    std::fs::write(&graph, "5 7\n5 9\n7 9\n").unwrap();
    let info = |more: &str| answered(&format!("info {} {more}", graph.display()));
    let directed = "node,out-degree,in-degree\n5,2,0\n7,1,1\n9,0,2\n";
    assert_eq!(info("--degrees -"), directed);
    assert_eq!(info("--symmetrize --degrees -"), "node,out-degree\n5,2\n7,2\n9,2\n");
    let path = folder.path().join("d.tsv");
    let text = info(&format!("--degrees {}", path.display()));
    assert!(text.contains("3 nodes"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), directed.replace(',', "\t"));
    refused("info chain:4 --degrees x.npy", "--degrees x.npy");
    refused("info chain:4 --degrees - --json -", "--degrees - with --json -");
}

#[test]
fn a_quiet_command_prints_nothing_but_errors_and_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let sweep = path("sweep.toml");
    std::fs::write(&sweep, "graphs = ['chain:9']\ndevices = ['host:1']\n[run]\nruns = 1\n")
        .unwrap();
    for line in [
        format!("run bfs --graph {GRAPH} --quiet --json {} --verify", path("r.json")),
        format!("--quiet run bfs --graph {GRAPH} --fault 0:9999:fail"),
        format!("info {GRAPH} -q"),
        format!("convert {GRAPH} {} --quiet", path("g.hive")),
        format!("sweep {sweep} --output {} --quiet", path("out")),
        format!("report {} --quiet --html {}", path("out"), path("r.html")),
        "generate rmat:6 --devices host --quiet".into(),
        "estimate rmat:6 --devices host --quiet".into(),
    ] {
        let ended = asked(&line);
        assert_eq!(
            (ended.code, ended.out.as_str(), ended.err.as_str()),
            (Some(0), "", ""),
            "{line}"
        );
    }
    assert!(Path::new(&path("r.json")).is_file() && Path::new(&path("g.hive")).is_file());
    let rows = asked(&format!("run cc --graph {GRAPH} --output - --quiet"));
    assert!(rows.out.starts_with("node,component\n") && rows.err.is_empty(), "{}", rows.err);
    refused("run bfs --graph no.mtx --quiet", "no.mtx");
}

/// The two examples at the end of a help.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    lines.take_while(|line| line.starts_with("  hive ")).map(|line| line.trim().into()).collect()
}

#[test]
fn every_example_of_the_help_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(GRAPH, folder.path().join("web.mtx")).unwrap();
    let sweep = "graphs = ['chain:9']\ndevices = ['host:1', 'host:2']\nworkloads = ['bfs']\n[run]\nruns = 1\n";
    std::fs::write(folder.path().join("sweep.toml"), sweep).unwrap();
    let commands = [
        "list",
        "sweep",
        "generate",
        "info",
        "report",
        "convert",
        "estimate",
        "doctor",
        "completions",
        "man",
    ];
    let mut helps: Vec<String> = commands.iter().map(|name| format!("{name} --help")).collect();
    helps.extend(["--help".into(), "run --help".into()]);
    helps.extend(WORKLOADS.iter().map(|workload| format!("run {} --help", workload.name)));
    for help in helps {
        let text = answered(&help);
        let lines = examples(&text);
        assert_eq!(lines.len(), 2, "{help}: {text}");
        for line in lines {
            let words = line.split_whitespace().skip(1);
            let ended = ends(hive().current_dir(folder.path()).args(words));
            assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
        }
    }
}

#[test]
fn shells_and_man_know_the_commands_and_their_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = answered(&format!("completions {shell}"));
        assert!(text.contains("pagerank") && text.contains("target"), "{shell}");
    }
    refused("completions csh", "csh");
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    answered(&format!("man {}", pages.display()));
    for name in ["hive", "hive-run", "hive-info", "hive-report"] {
        assert!(pages.join(format!("{name}.1")).is_file(), "{name}");
    }
    for workload in WORKLOADS {
        let page = std::fs::read_to_string(pages.join(format!("hive-run-{}.1", workload.name)));
        let page = page.unwrap();
        assert!(page.starts_with(".ie") || page.starts_with(".TH"), "{page}");
        assert!(page.contains("benchmark") && !page.contains("\\-\\-fault"), "{}", workload.name);
    }
    refused(&format!("man {GRAPH}"), "chesapeake.mtx");
}

#[test]
fn a_report_lists_single_runs_apart_and_compares_them_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = |devices: &str, more: &str, name: &str| {
        let json = folder.path().join(name).display().to_string();
        answered(&format!("run bfs --graph {GRAPH} --devices {devices} {more} --json {json}"));
    };
    run("host:1", "--benchmark", "one.json");
    run("host:2", "--benchmark", "two.json");
    run("host:2", "", "single.json");
    run("host:3", "", "three.json");
    let text = answered(&format!("report {}", folder.path().display()));
    let (measured, single) = text.split_once("## Single runs").expect("a table of their own");
    assert!(measured.contains("2 of 2 cells were measured; 2 single runs"), "{text}");
    let rows = |text: &str| text.lines().filter(|line| line.contains(" host:")).count();
    assert!(measured.contains("host:2") && !measured.contains("host:3"), "{text}");
    assert_eq!(rows(single), 2, "{text}");
    assert!(!single.contains("speed-up") && single.contains("compared with nothing"), "{text}");
}
