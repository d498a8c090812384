//! `hive sweep` from outside: folders, resuming, kills, isolation, failures, series.

use crate::common::hive;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with `sweep.toml`, and `out` for its records.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(config: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        place.configure(config);
        place
    }

    fn configure(&self, config: &str) {
        std::fs::write(self.config(), config).unwrap();
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("sweep.toml")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn command(&self, more: &[&str]) -> std::process::Command {
        let mut command = hive();
        command.arg("sweep").arg(self.config()).arg("--output").arg(self.out()).args(more);
        command
    }

    fn sweep(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    fn begin(&self, more: &[&str]) -> Child {
        let mut command = self.command(more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Lines of `records.jsonl` that a reader would take: whole ones.
    fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.out().join("records.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).expect("a whole line is JSON"))
            .collect()
    }

    fn cells(&self) -> Vec<String> {
        self.records().iter().map(|record| record["cell"].as_str().unwrap().into()).collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Lines that tell of a cell that ran.
fn ran(output: &Output) -> usize {
    stderr(output).lines().filter(|line| line.starts_with('[')).count()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { all.extend(files(&entry)) } else { all.push(entry) }
    }
    all
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} took over a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

const FOUR: &str = "graphs = ['rmat:6', 'graph.txt']\ndevices = ['host:1', 'host:2']\n[run]\nruns = 1\nverify = true\n";

#[test]
fn finished_cells_are_skipped_failed_ones_and_changed_ones_run_again() {
    let place = Place::new(FOUR);
    let first = place.sweep(&[]);
    assert_eq!((first.status.code(), ran(&first)), (Some(1), 4), "{}", stderr(&first));
    assert!(stderr(&first).contains("2 of 4 cells failed"), "{}", stderr(&first));
    let again = place.sweep(&[]);
    assert_eq!((again.status.code(), ran(&again)), (Some(1), 2), "the missing graph alone");
    assert_eq!(place.cells().len(), 4);

    let graph = place.folder.path().join("graph.txt");
    std::fs::write(&graph, "0 1\n1 2\n").unwrap();
    let found = place.sweep(&[]);
    assert_eq!((found.status.code(), ran(&found)), (Some(0), 2), "{}", stderr(&found));
    let idle = place.sweep(&[]);
    assert_eq!((idle.status.code(), ran(&idle)), (Some(0), 0), "{}", stderr(&idle));
    assert!(stderr(&idle).contains("4 of 4 cells finished before"), "{}", stderr(&idle));
    assert_eq!(found.stdout, idle.stdout, "the table is of all cells");
    let before: HashSet<String> = place.cells().into_iter().collect();

    std::fs::write(&graph, "0 1\n1 2\n2 3\n").unwrap();
    let changed = place.sweep(&[]);
    assert_eq!((changed.status.code(), ran(&changed)), (Some(0), 2), "another graph of that name");
    let after: HashSet<String> = place.cells().into_iter().collect();
    assert_eq!(
        (after.len(), after.intersection(&before).count()),
        (4, 2),
        "the old ones made room"
    );
    assert_eq!(ran(&place.sweep(&["--rerun"])), 4);
    assert_eq!(place.records().len(), 4);

    // Another sweep into the same folder: its cells beside these.
    place.configure(&FOUR.replace("runs = 1", "runs = 2"));
    assert_eq!(ran(&place.sweep(&[])), 4);
    assert_eq!(place.records().len(), 8);
    let paths: HashSet<String> =
        place.records().iter().map(|record| record["file"].as_str().unwrap().into()).collect();
    assert_eq!(paths.len(), 8, "{paths:?}");
    // A lost file of a finished cell comes back from its line.
    for path in &paths {
        std::fs::remove_file(place.out().join(path)).unwrap();
    }
    assert_eq!(ran(&place.sweep(&[])), 0);
    assert_eq!(files(&place.out().join("sssp_eval_mgpu")).len(), 4);
}

#[test]
fn records_are_lines_and_files_in_the_hive_layout_and_say_the_same() {
    let place = Place::new(
        "graphs = ['rmat:7', 'rmat:7,ef=4']\ndevices = ['host:4']\nworkloads = ['vn', 'geo']\n\
         [[include]]\nworkload = 'vn'\ngraph = 'rmat:7'\nmerge = 'dense'\n\
         [run]\nruns = 1\nseeds = 'first:10'\n\
         [run.geo]\nlocate = '0.5:1'\ngeo-iter = 10\n",
    );
    let output = place.sweep(&["--partition", "laptop"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut paths: Vec<String> =
        place.records().iter().map(|record| record["file"].as_str().unwrap().into()).collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "geo_eval_mgpu/laptop/geo-10_spatial-1000/geo__rmat7-ef4__GPU4.json",
            "geo_eval_mgpu/laptop/geo-10_spatial-1000/geo__rmat7__GPU4.json",
            "vn_eval_mgpu/laptop/10/vn__rmat7-ef4__GPU4.json",
            "vn_eval_mgpu/laptop/10/vn__rmat7__GPU4.json",
            "vn_eval_mgpu/laptop/10/vn__rmat7__GPU4__merge-dense.json",
        ]
    );
    for record in place.records() {
        let path = place.out().join(record["file"].as_str().unwrap());
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(file, record);
        let graph =
            if record["file"].as_str().unwrap().contains("-ef4") { "rmat7-ef4" } else { "rmat7" };
        assert_eq!((&record["status"], &record["dataset"]), (&"done".into(), &graph.into()));
        assert_eq!(record["tag"][2], "num-replicas:4");
    }
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_every_cell_once() {
    let place = Place::new(
        "graphs = ['rmat:11', 'grid:60x60', 'star:5000', 'chain:800']\ndevices = ['host:1', 'host:2', 'host:3']\n\
         workloads = ['sssp', 'bfs', 'cc', 'pagerank', 'bc']\n[run]\nruns = 10\nverify = true\n",
    );
    let mut seen: HashSet<String> = HashSet::new();
    let mut kills = 0;
    for round in 1..=6 {
        let mut child = place.begin(&[]);
        let enough = round * 6;
        wait_until("a few cells", || place.records().len() >= enough);
        // In the middle of one: at another moment each time.
        std::thread::sleep(Duration::from_millis(round as u64 * 3));
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
        let now: HashSet<String> = place.cells().into_iter().collect();
        assert_eq!(now.len(), place.cells().len(), "a cell came twice");
        assert!(seen.is_subset(&now), "a finished cell was lost");
        seen = now;
    }
    assert_eq!(kills, 6, "none of them ended by itself");
    assert!(seen.len() < 60, "the last kill was in the middle");
    let last = place.sweep(&[]);
    assert!(last.status.success(), "{}", stderr(&last));
    assert_eq!(ran(&last), 60 - seen.len(), "what was finished did not run again");
    let cells = place.cells();
    assert_eq!((cells.len(), cells.iter().collect::<HashSet<_>>().len()), (60, 60));
    let mut json = 0;
    for path in files(&place.out()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            let value: Value =
                serde_json::from_slice(&std::fs::read(&path).unwrap()).expect("whole");
            json += usize::from(value.is_object());
        } else {
            assert!(["records.jsonl", ".hive-sweep.lock"].contains(&&*name), "left over: {name}");
        }
    }
    assert_eq!(json, 60);

    // What is run again keeps its record until there is a new one.
    let before = place.records();
    let mut child = place.begin(&["--rerun"]);
    wait_until("a few new records", || {
        place.records().iter().filter(|now| !before.contains(now)).count() > 5
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let cells: HashSet<String> = place.cells().into_iter().collect();
    assert_eq!((cells.len(), place.records().len()), (60, 60));
    assert_eq!(ran(&place.sweep(&[])), 0);
}

#[test]
fn a_torn_last_line_costs_its_cell_alone() {
    let place = Place::new(
        "graphs = ['rmat:6']\ndevices = ['host:1', 'host:2', 'host:3']\n[run]\nruns = 1\n",
    );
    assert!(place.sweep(&[]).status.success());
    let path = place.out().join("records.jsonl");
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 40]).unwrap();
    std::fs::write(place.out().join(".hive-sweep-1.partial"), "{").unwrap();
    let output = place.sweep(&[]);
    assert!(output.status.success() && ran(&output) == 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("torn"), "{}", stderr(&output));
    assert_eq!(place.records().len(), 3);
    assert!(!place.out().join(".hive-sweep-1.partial").exists());
    std::fs::write(&path, [b"rubbish\n", &text[..]].concat()).unwrap();
    let output = place.sweep(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("records.jsonl:1: is no record of a sweep"),
        "{}",
        stderr(&output)
    );
}

/// A cell whose replica never answers, and two good ones around it.
fn stalling(deadline: f64) -> Place {
    Place::new(&format!(
        "graphs = ['rmat:6', 'rmat:7', 'rmat:8']\ndevices = ['host:2']\n\
         [[include]]\ngraph = 'rmat:7'\noptions = {{ fault = '1:0:stall', deadline = {deadline} }}\n[run]\nruns = 1\n"
    ))
}

#[test]
fn one_sweep_at_a_time_works_in_a_folder_and_a_dead_one_does_not_count() {
    let place = stalling(60.0);
    let mut first = place.begin(&[]);
    wait_until("the first cell", || place.records().len() == 1);
    let second = place.sweep(&[]);
    assert_eq!(second.status.code(), Some(2));
    let message = stderr(&second);
    assert!(message.contains(&format!("process {}", first.id())), "{message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    first.kill().unwrap();
    first.wait().unwrap();
    place.configure("graphs = ['rmat:6']\ndevices = ['host:2']\n[run]\nruns = 1\n");
    let third = place.sweep(&[]);
    assert!(third.status.success() && ran(&third) == 0, "{}", stderr(&third));
}

#[test]
fn a_fault_in_a_cell_is_that_cells_failure_in_one_process_or_in_many() {
    for kind in ["fail", "panic", "stall"] {
        for more in [&[][..], &["--isolate"]] {
            let place = stalling(0.3);
            let text = std::fs::read_to_string(place.config()).unwrap();
            place.configure(&text.replace("stall", kind));
            let output = place.sweep(more);
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{kind}: {message}");
            let last = message.lines().last().unwrap();
            assert!(
                last.starts_with("error: 1 of 3 cells failed: sssp rmat7 host:2"),
                "{kind}: {last}"
            );
            assert!(message.contains("FAILED: replica 1"), "{kind}: {message}");
            let states: Vec<Value> =
                place.records().iter().map(|record| record["status"].clone()).collect();
            assert_eq!(
                states,
                ["done", "done", "failed"],
                "{kind} {more:?}: a fleet without faults comes first"
            );
        }
    }
}

/// The children of a process.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default().to_string();
        after.split_whitespace().nth(1).and_then(|id| id.parse().ok()) == Some(parent)
    };
    ids.filter(of).collect()
}

#[cfg(target_os = "linux")]
fn signal(id: u32, name: &str) {
    let status = std::process::Command::new("kill").args([name, &id.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_dies_is_its_cells_failure_and_children_do_not_outlive_a_sweep() {
    for (name, part) in
        [("-KILL", "was killed by signal 9"), ("-ABRT", "was killed by signal 6 (SIGABRT)")]
    {
        let place = stalling(60.0);
        let mut sweep = place.begin(&["--isolate"]);
        wait_until("the good cells", || place.records().len() == 2);
        wait_until("a child", || !children(sweep.id()).is_empty());
        children(sweep.id()).into_iter().for_each(|child| signal(child, name));
        assert_eq!(sweep.wait().unwrap().code(), Some(1));
        let error = place.records()[2]["error"].as_str().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    let place = stalling(60.0);
    let mut sweep = place.begin(&["--isolate"]);
    wait_until("the good cells", || place.records().len() == 2);
    let mut orphans = Vec::new();
    wait_until("a child", || {
        orphans = children(sweep.id());
        !orphans.is_empty()
    });
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    let state = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let gone = |id: &u32| state(id).is_empty() || state(id).contains(") Z ");
    wait_until("the end of the child", || orphans.iter().all(gone));
}

#[test]
fn a_cell_over_its_limit_is_killed() {
    let place = stalling(60.0);
    let output = place.sweep(&["--isolate", "--cell-limit", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("took longer than --cell-limit 2 s"), "{}", stderr(&output));
    assert_eq!(place.records().len(), 3);
    let output = place.sweep(&["--cell-limit", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--isolate"), "{}", stderr(&output));
}

#[test]
fn a_process_a_run_finds_what_one_process_finds() {
    let config = "graphs = ['rmat:7']\ndevices = ['host:2', 'cuda:63']\nworkloads = ['sssp', 'cc', 'filter']\n\
                  optional-graphs = ['not-here.mtx']\n[run]\nruns = 1\nverify = true\n[run.filter]\nelements = 1000\n";
    let place = Place::new(config);
    let of = |more: &[&str]| {
        let output = place.sweep(more);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(ran(&output), 10);
        let brief = |record: &Value| {
            let keys =
                ["cell", "status", "file", "verified", "error", "strategy", "tag", "coordinates"];
            let reached = record["measured"]["reached"].clone();
            (keys.map(|key| record[key].clone()), reached)
        };
        place.records().iter().map(brief).collect::<Vec<_>>()
    };
    assert_eq!(of(&["--rerun"]), of(&["--rerun", "--isolate"]));
}

#[test]
fn cells_that_differ_in_merge_alone_have_the_layout_of_their_own_merge() {
    // Shared layouts of the host, one after another on each fleet, and a graph where both are the same.
    for merges in ["'auto', 'dense'", "'dense', 'auto'"] {
        let place = Place::new(&format!(
            "graphs = ['rmat:14', 'uniform:4096']\ndevices = ['host:2', 'host:3']\n\
             workloads = ['sssp', 'bfs', 'vn']\nmerges = [{merges}]\n\
             [run]\nruns = 1\nverify = true\nseeds = 'first:3'\n"
        ));
        let output = place.sweep(&[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let records = place.records();
        assert_eq!(records.len(), 24);
        for record in &records {
            let coordinates = &record["coordinates"];
            let of = |name: &str| coordinates[name].as_str().unwrap();
            let textbook = of("workload") != "bfs" && of("merge") == "dense";
            let raw = textbook && of("graph") == "rmat:14";
            let layout = if raw { "raw" } else { "degree" };
            assert_eq!(record["prepare"]["layout"], layout, "{coordinates}");
            assert_eq!(record["verified"], "yes", "{coordinates}");
            assert_eq!(coordinates["layout"], "auto");
        }
    }
}

#[test]
fn two_failing_cells_do_not_stop_the_others_and_are_named_at_the_end() {
    let place = Place::new(
        "graphs = ['missing.mtx', 'chain:20']\ndevices = ['host:2']\nworkloads = ['vn', 'cc']\n\
         [[exclude]]\ngraph = 'missing.mtx'\nworkload = 'vn'\n\
         [run]\nruns = 1\nverify = true\nseeds = 'first:21'\n",
    );
    let output = place.sweep(&[]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    let failed: Vec<&str> = message.lines().filter(|line| line.starts_with("failed: ")).collect();
    assert_eq!(failed.len(), 2, "{message}");
    assert!(
        failed
            .iter()
            .any(|line| line.contains("cc missing host:2") && line.contains("missing.mtx"))
    );
    assert!(
        failed.iter().any(|line| line.contains("vn chain20 host:2") && line.contains("first:21"))
    );
    assert!(
        message.lines().last().unwrap().starts_with("error: 2 of 3 cells failed: "),
        "{message}"
    );
    let done: Vec<Value> =
        place.records().into_iter().filter(|record| record["status"] == "done").collect();
    assert_eq!((done.len(), &done[0]["verified"]), (1, &"yes".into()));
}

#[test]
fn weak_series_grow_with_the_devices_and_skip_what_has_no_graph_or_no_gpu() {
    let place = Place::new(
        "devices = ['host:1', 'host:3', 'host:4', 'cuda:0-15']\n\
         [[series]]\nname = 'edge'\nscaling = 'weak'\ngraphs = ['rmat:6,ef={4*gpus}']\n\
         [[series]]\nname = 'g500'\nscaling = 'weak'\ngraphs = ['rmat:{6+log2(gpus)}']\n[run]\nruns = 1\nverify = true\n\
         [[include]]\nworkload = 'filter'\nseries = 'array'\n[[series]]\nname = 'array'\nscaling = 'weak'\n\
         graphs = ['array:{1000*gpus}']\n",
    );
    let output = place.sweep(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("efficiency") && table.contains("merge ms"), "{table}");
    let records = place.records();
    let of = |series: &'static str| records.iter().filter(move |record| record["series"] == series);
    assert_eq!((of("edge").count(), of("g500").count(), of("array").count()), (4, 4, 4));
    let lengths: Vec<&Value> =
        of("array").map(|record| &record["config"]["filter"]["elements"]).collect();
    assert_eq!(lengths, [1000, 3000, 4000, 16000]);
    assert!(records.iter().all(|record| record["scaling"] == "weak"));
    let drawn: Vec<Value> = of("edge").map(|record| record["config"]["graph"].clone()).collect();
    assert_eq!(drawn, ["rmat:6,ef=4", "rmat:6,ef=12", "rmat:6,ef=16", "rmat:6,ef=64"]);
    let nodes: Vec<Value> = of("g500").map(|record| record["graph-nodes"].clone()).collect();
    assert_eq!(nodes, [Value::from(64), Value::Null, Value::from(256), Value::Null]);
    let why: Vec<String> = records
        .iter()
        .filter(|record| record["status"] == "skipped")
        .map(|record| record["error"].as_str().unwrap().into())
        .collect();
    assert_eq!(why.len(), 4, "{why:?}");
    assert!(why[0].contains("has no value for 3 GPUs: log2(3)"), "{why:?}");
    assert!(why[1..].iter().all(|why| why.contains("cuda:0-15")), "{why:?}");
}

#[test]
fn a_sweep_that_cannot_begin_says_so_in_a_line() {
    let place = Place::new("graphs = ['rmat:5']\ndevices = ['host:1']\n");
    std::fs::write(place.out(), "a file").unwrap();
    for (more, part) in [
        (&[][..], "--output"),
        (&["--partition", "a/b"], "--partition a/b"),
        (&["--devices", "gpu"], "--devices gpu"),
        (&["--isolate", "--cell-limit", "0"], "--cell-limit 0"),
        (&["--only", "workload=bfs"], "--only workload=bfs: fits no cell"),
        (&["--only", "kind=bfs"], "--only kind=bfs"),
        (&["--set", "runs=many"], "--set runs=many"),
        (&["--set", "merge=dense"], "takes this from merges"),
    ] {
        let output = place.sweep(more);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part) && message.trim_end().lines().count() == 1, "{message}");
    }
    let names = place.sweep(&["--dry-run"]);
    assert_eq!(String::from_utf8_lossy(&names.stdout), "sssp rmat5 host:1 auto auto\n");
    assert!(place.out().is_file(), "nothing was touched");
}

#[test]
fn a_command_line_narrows_a_sweep_and_sets_options_of_all_its_cells() {
    let place = Place::new(
        "graphs = ['rmat:5', 'rmat:6']\ndevices = ['host:1']\nworkloads = ['bfs', 'cc', 'sssp']\n[run]\nruns = 2\n",
    );
    let only = ["--only", "workload=bfs", "--only", "workload=cc", "--only", "graph=*6"];
    let output = place.sweep(&[&only[..], &["--set", "runs=3", "--set", "verify=true"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let names: Vec<String> =
        place.records().iter().map(|r| format!("{} {}", r["primitive"], r["dataset"])).collect();
    assert_eq!(names, [r#""bfs" "rmat6""#, r#""cc" "rmat6""#]);
    for record in place.records() {
        assert_eq!(record["process-times"].as_array().map(Vec::len), Some(3));
        assert_eq!(record["verified"], "yes");
    }
    // The rest of the matrix later, in the same folder.
    assert!(place.sweep(&[]).status.success());
    assert_eq!(place.records().len(), 8, "six cells, two of them with other options, too");
}

#[test]
fn foreign_files_of_the_folder_stay_as_they_are() {
    let place = Place::new("graphs = ['rmat:5']\ndevices = ['host:1']\n[run]\nruns = 1\n");
    let out = place.out();
    std::fs::create_dir_all(out.join("sssp_eval_mgpu/host/default")).unwrap();
    let foreign = ["notes.txt", "other.json", "sssp_eval_mgpu/host/default/sssp__rmat9__GPU1.json"];
    foreign.iter().for_each(|name| std::fs::write(out.join(name), "{\"mine\": 1}").unwrap());
    std::fs::write(out.join("records.jsonl"), "{\"primitive\":\"of another program\"}\n").unwrap();
    for _ in 0..2 {
        assert!(place.sweep(&["--rerun"]).status.success());
    }
    assert!(foreign.iter().all(|name| std::fs::read(out.join(name)).unwrap() == b"{\"mine\": 1}"));
    let records = place.records();
    assert_eq!((records.len(), &records[0]["primitive"]), (2, &"of another program".into()));
}
