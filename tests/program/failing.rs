//! Every failure once: of each kind of call that can fail the k-th does, for all k of a small run. The run then ends in one line
//! and its exit code, or goes on; it never hangs, aborts or leaves a file half-written. `tests/failing/shim.rs` makes them fail.

use crate::common::{ends_within, gpus, has_gpu, hash, hive, part, skipped};
use hivegraph::run::WORKLOADS;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);

/// The library that makes calls fail, or that of `HIVE_FAILING`; none where it cannot be made.
fn shim(folder: &Path) -> Option<PathBuf> {
    if let Some(made) = std::env::var_os("HIVE_FAILING") {
        return Some(made.into());
    }
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
    /// Calls of this function alone are counted.
    function: Option<String>,
}

impl Walk<'_> {
    fn new<'a>(shim: &'a Path, workload: &str, devices: &str, rank: Option<usize>) -> Walk<'a> {
        let own = match workload {
            "vn" => "--seeds 1,5",
            "bc" => "--sources 1",
            "hops" | "distances" => "--sources first:4 --targets first:50",
            "geo" => "--locate 0.5:1",
            "filter" => "--elements 20000",
            "sample" => "--sources first:9 --fanouts 3,2",
            "ppr" | "cluster" => "--sources 1,5 --epsilon 1e-3",
            "similar" => "--sources first:50 --top-k 3",
            "project" => "--side 0,2,4,6,8",
            "leiden" => "--resolution 0.001",
            _ => "",
        };
        // Tests may run on another machine than that which compiled them.
        let data = std::env::current_dir().unwrap().join("tests/data");
        let data = data.display();
        let graph = match workload {
            "filter" => String::new(),
            "project" => "--graph chain:9".into(),
            // These take long on a graph of many levels.
            "closeness" | "leiden" => format!("--graph {data}/jazz.graph"),
            _ => format!("--graph {data}/power.graph.gz"),
        };
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "run {workload} {graph} {own} --devices {devices} --verify --json record.json --output rows.csv"
        );
        let launch = if rank.is_some() { "launch --procs 2 -- " } else { "" };
        let arguments = format!("{launch}{text}").split_whitespace().map(String::from).collect();
        Walk { shim, folder, arguments, rank, function: None }
    }

    /// A run whose calls of this kind are counted.
    fn command(&self, kind: &str, log: &Path) -> Command {
        let mut command = hive();
        command.args(&self.arguments).current_dir(self.folder.path());
        command.env("LD_PRELOAD", self.shim).env("FAIL_KIND", kind).env("FAIL_LOG", log);
        command.envs(self.rank.map(|rank| ("FAIL_RANK", rank.to_string())));
        command.envs(self.function.iter().map(|name| ("FAIL_NAME", name)));
        command
    }

    fn rows(&self) -> Option<Vec<u8>> {
        std::fs::read(self.folder.path().join("rows.csv")).ok()
    }

    /// Runs with the k-th call of this kind failing; what was struck, if so many were made.
    fn step(&self, kind: &str, at: usize, whole: Option<&[u8]>) -> Option<String> {
        let log = self.folder.path().join("struck");
        let ended = ends_within(LIMIT, self.command(kind, &log).env("FAIL_AT", at.to_string()));
        let struck = std::fs::read_to_string(&log).ok();
        let _ = std::fs::remove_file(&log);
        let told = format!("{:?}, {kind} {at} ({struck:?}): {ended:?}", self.arguments);
        let rows = self.rows();
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
        let mut command = hive();
        let ended =
            ends_within(LIMIT, command.args(&self.arguments).current_dir(self.folder.path()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let whole = self.rows().unwrap();
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
        let calls = Walk::new(&shim, workload, "host:2 --deadline 1", None).walk(kind);
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
        let calls = Walk::new(&shim, "cc", "host:2 --deadline 1", Some(rank)).walk(kind);
        assert!(calls > 4, "process {rank}: {calls} of {kind}");
    });
}

/// A GPU is not needed for what is asked of the compiler first.
#[test]
fn a_compiler_that_does_not_answer_is_none() {
    let folder = tempfile::tempdir().unwrap();
    if !cfg!(target_arch = "x86_64") {
        return skipped("calls to the compiler fail on x86-64 alone");
    }
    let Some(shim) = shim(folder.path()) else {
        return skipped("there is no rustc to make calls fail with");
    };
    let log = folder.path().join("struck");
    for function in ["nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"] {
        let mut command = hive();
        command.args(["doctor"]).env("LD_PRELOAD", &shim).env("FAIL_LOG", &log);
        command.envs([("FAIL_KIND", "gpu"), ("FAIL_NAME", function), ("FAIL_AT", "1")]);
        let ended = ends_within(LIMIT, &mut command);
        if std::fs::remove_file(&log).is_err() {
            return skipped("there is no NVRTC whose calls could fail");
        }
        assert_eq!(ended.code, Some(0), "{function}: {ended:?}");
        assert!(!ended.out.contains("nvrtc     0.0"), "{function}: {ended:?}");
    }
}

/// Every function of the driver, NVRTC and NCCL that a run calls: its first calls, one in the middle, the last. All workloads on two
/// replicas of a GPU, and one over NCCL and in two processes. `HIVE_FAIL_SECONDS` ends it earlier, after calls of a random choice;
/// `HIVE_FAIL_ONLY=nccl` asks only the questions with this in their options; `HIVE_FAIL_PART=1/3` makes every third call fail, from the
/// second on: three parts are all.
#[test]
fn every_call_to_a_gpu_fails_once() {
    let folder = tempfile::tempdir().unwrap();
    if !has_gpu() {
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        return skipped("calls to a GPU fail on x86-64 alone");
    }
    let Some(shim) = shim(folder.path()) else {
        return skipped("there is no rustc to make calls fail with");
    };
    let seconds = std::env::var("HIVE_FAIL_SECONDS").map_or(3600, |text| text.parse().unwrap());
    let (began, limit) = (Instant::now(), Duration::from_secs(seconds));
    let mut questions: Vec<_> =
        WORKLOADS.iter().map(|workload| (workload.name, "cuda:0x2 --deadline 3", None)).collect();
    questions.extend([("pagerank", "cuda:0-1 --collective nccl --deadline 3", None)]);
    questions.extend([0, 1].map(|rank| ("sssp", "cuda:0x2 --deadline 3", Some(rank))));
    questions.retain(|(_, devices, _)| gpus() > 1 || !devices.contains("0-1"));
    let only = std::env::var("HIVE_FAIL_ONLY").unwrap_or_default();
    questions.retain(|(_, devices, _)| devices.contains(&only));
    // What each calls, how often, and its answer where two runs end with the same.
    let counted = |question: &(&'static str, &'static str, Option<usize>)| {
        let (workload, devices, rank) = *question;
        let walk = Walk::new(&shim, workload, devices, rank);
        let log = folder.path().join(format!("{workload} {devices} {rank:?}"));
        let answers = [(); 2].map(|()| {
            let _ = std::fs::remove_file(&log);
            let ended = ends_within(LIMIT, &mut walk.command("gpu", &log));
            assert_eq!(ended.code, Some(0), "{:?}: {ended:?}", walk.arguments);
            walk.rows().unwrap()
        });
        let mut calls = BTreeMap::new();
        for line in std::fs::read_to_string(&log).unwrap().lines() {
            let (name, count) = line.split_once(' ').unwrap();
            calls.insert(name.to_string(), count.parse::<usize>().unwrap());
        }
        let [one, other] = answers;
        (*question, calls, (one == other).then_some(one))
    };
    let counted: Vec<_> = questions.par_iter().map(counted).collect();
    type Step<'a> = ((&'static str, &'static str, Option<usize>), &'a str, usize, Option<&'a [u8]>);
    let mut steps: Vec<Step> = Vec::new();
    for (question, calls, whole) in &counted {
        for (name, count) in calls {
            let some =
                [1, 2, 3, count / 2, *count].into_iter().filter(|at| (1..=*count).contains(at));
            let some: BTreeSet<usize> = some.collect();
            steps.extend(
                some.into_iter().map(|at| (*question, name.as_str(), at, whole.as_deref())),
            );
        }
    }
    let seed = std::env::var("HIVE_FAIL_SEED").map_or(1, |text| text.parse().unwrap());
    let [part, parts] = part("HIVE_FAIL_PART").unwrap_or([0, 1]);
    let mut steps: Vec<_> = (0u64..).zip(steps).skip(part).step_by(parts).collect();
    steps.sort_by_key(|(number, _)| hash(seed, *number));
    let done = AtomicUsize::new(0);
    let fails = |(_, step): &(u64, Step)| {
        let ((workload, devices, rank), name, at, whole) = step;
        if began.elapsed() >= limit {
            return None;
        }
        let mut walk = Walk::new(&shim, workload, devices, *rank);
        walk.function = Some(name.to_string());
        let step = AssertUnwindSafe(|| walk.step("gpu", *at, *whole));
        let ended = std::panic::catch_unwind(step);
        done.fetch_add(1, Relaxed);
        ended.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    };
    // NCCL takes half a minute to start beside 30 other processes. So runs over NCCL come last, four at a time.
    let (over_nccl, others): (Vec<_>, Vec<_>) =
        steps.iter().partition(|(_, ((_, devices, _), ..))| devices.contains("nccl"));
    let mut wrong: Vec<String> = others.into_par_iter().filter_map(fails).collect();
    let quarter = over_nccl.len().div_ceil(4).max(1);
    wrong.par_extend(over_nccl.into_par_iter().with_min_len(quarter).filter_map(fails));
    println!("{} of {} calls failed, HIVE_FAIL_SEED={seed}", done.into_inner(), steps.len());
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n\n"));
}
