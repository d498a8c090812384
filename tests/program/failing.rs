//! Every failure once: of each kind of call that can fail the k-th does, for all k of a small run. The run then ends in one line
//! and its exit code, or goes on; it never hangs, aborts or leaves a file half-written. `tests/failing/shim.rs` makes them fail.

use crate::common::{ends_within, hive, skipped};
use hivegraph::run::WORKLOADS;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// The library that makes calls fail; none where it cannot be made.
fn shim(folder: &Path) -> Option<PathBuf> {
    let made = folder.join("libfailing.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/failing/shim.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-C", "opt-level=1"]);
    rustc.args(["-C", "panic=abort", "-o"]).arg(&made).arg(source);
    let ended = rustc.output().ok()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Some(made)
}

/// A run in a folder of its own.
struct Walk<'a> {
    shim: &'a Path,
    folder: tempfile::TempDir,
    arguments: Vec<String>,
    /// Which of two processes fails; none where there is one.
    rank: Option<usize>,
}

impl Walk<'_> {
    fn new<'a>(shim: &'a Path, workload: &str, rank: Option<usize>) -> Walk<'a> {
        let own = match workload {
            "vn" => "--seeds 1,5",
            "bc" => "--sources 1",
            "hops" | "distances" => "--sources first:4 --targets first:50",
            "geo" => "--locate 0.5:1",
            "filter" => "--elements 20000",
            "sample" => "--sources first:9 --fanouts 3,2",
            "ppr" | "cluster" => "--sources 1,5 --epsilon 1e-3",
            _ => "",
        };
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/power.graph.gz");
        let graph = if workload == "filter" { String::new() } else { format!("--graph {file}") };
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "run {workload} {graph} {own} --devices host:2 --deadline 1 --verify --json record.json --output rows.csv"
        );
        let launch = if rank.is_some() { "launch --procs 2 -- " } else { "" };
        let arguments = format!("{launch}{text}").split_whitespace().map(String::from).collect();
        Walk { shim, folder, arguments, rank }
    }

    /// Runs with the k-th call of this kind failing; what was struck, if so many were made.
    fn step(&self, kind: &str, at: usize, whole: Option<&[u8]>) -> Option<String> {
        let log = self.folder.path().join("struck");
        let mut command = hive();
        command.args(&self.arguments).current_dir(self.folder.path());
        command.env("LD_PRELOAD", self.shim).env("FAIL_KIND", kind).env("FAIL_LOG", &log);
        command.env("FAIL_AT", at.to_string());
        if let Some(rank) = self.rank {
            command.env("FAIL_RANK", rank.to_string());
        }
        let ended = ends_within(LIMIT, &mut command);
        let struck = std::fs::read_to_string(&log).ok();
        let _ = std::fs::remove_file(&log);
        let told = format!("{:?}, {kind} {at} ({struck:?}): {ended:?}", self.arguments);
        let rows = std::fs::read(self.folder.path().join("rows.csv")).ok();
        match ended.code {
            Some(0) => assert!(rows.is_some(), "{told}"),
            Some(2 | 3) => {
                assert_eq!(ended.err.lines().count(), 1, "{told}");
                assert!(ended.err.starts_with("error: "), "{told}");
                assert!(!ended.err.contains("itself failed"), "{told}");
            }
            _ => panic!("{told}"),
        }
        if let (Some(rows), Some(whole)) = (&rows, whole) {
            assert!(rows == whole, "another answer: {told}");
        }
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(
                ["rows.csv", "record.json"].iter().any(|known| name == *known),
                "{name:?}: {told}"
            );
            std::fs::remove_file(self.folder.path().join(name)).unwrap();
        }
        struck
    }

    /// Fails each call once; how many there are.
    fn walk(&self, kind: &str) -> usize {
        let rows = self.folder.path().join("rows.csv");
        let mut command = hive();
        let ended =
            ends_within(LIMIT, command.args(&self.arguments).current_dir(self.folder.path()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let whole = std::fs::read(&rows).unwrap();
        let mut at = 1;
        while self.step(kind, at, Some(&whole)).is_some() {
            at += 1;
        }
        at - 1
    }
}

#[test]
fn every_call_of_a_run_fails_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else {
        return skipped("there is no rustc to make calls fail with");
    };
    let kinds = ["memory", "file", "thread"];
    let all = WORKLOADS.iter().flat_map(|workload| kinds.map(|kind| (workload.name, kind)));
    let walks: Vec<_> = all.chain([("cc", "system")]).collect();
    walks.into_par_iter().for_each(|(workload, kind)| {
        let calls = Walk::new(&shim, workload, None).walk(kind);
        assert!(calls > 4, "{workload}: {calls} of {kind}");
    });
}

#[test]
fn every_call_of_a_process_among_others_fails_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else {
        return skipped("there is no rustc to make calls fail with");
    };
    let all = [0, 1].into_iter().flat_map(|rank| ["message", "thread"].map(|kind| (rank, kind)));
    all.collect::<Vec<_>>().into_par_iter().for_each(|(rank, kind)| {
        let calls = Walk::new(&shim, "cc", Some(rank)).walk(kind);
        assert!(calls > 4, "process {rank}: {calls} of {kind}");
    });
}
