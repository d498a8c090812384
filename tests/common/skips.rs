//! What was not tested: said where it happens, and kept for the line at the end (`tests/zz_skipped.rs`).
//!
//! The test programs of one `cargo test` have one parent, cargo. Each appends to the file of that parent, so that
//! another run, even at the same time, has a file of its own. Nothing of the crate is used here, so that its own unit
//! tests can have this file too.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = "skipped-";

/// Says what was not tested. Past the capture of the test harness, which would swallow what a passing
/// test prints.
pub fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
    let Some(own) = program() else { return };
    let name = own.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let test = match std::thread::current().name() {
        Some(test) if test != "main" => test.to_string(),
        // `--test-threads=1` runs all tests on the main thread: each call counts as a test.
        _ => {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            CALLS.fetch_add(1, Ordering::Relaxed).to_string()
        }
    };
    let file = fs::OpenOptions::new().create(true).append(true).open(record(&own));
    // One write: lines of tests that run at the same time do not mix.
    let kept =
        file.and_then(|mut file| file.write_all(format!("{name} {test}\t{what}\n").as_bytes()));
    if let Err(error) = kept {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: the line at the end will not count this: {error}"
        );
    }
}

fn program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// Cargo's process id, and when it started, where the system says: ids are used again.
fn run() -> String {
    let parent = std::os::unix::process::parent_id();
    format!("{parent}-{}", started(parent).unwrap_or_default())
}

fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is a name in brackets, which may hold spaces; the start is the 22nd.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The file of this run, beside the test programs.
fn record(program: &Path) -> PathBuf {
    program.with_file_name(format!("{PREFIX}{}", run()))
}

/// The line at the end: how many tests were skipped in this run, and why. Forgets what it has counted, and runs that
/// have ended without it.
pub fn taken() -> String {
    let Some(own) = program() else { return "skipped: not known".into() };
    let text = fs::read_to_string(record(&own)).unwrap_or_default();
    let _ = fs::remove_file(record(&own));
    for other in
        own.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten()
    {
        let name = other.file_name().to_string_lossy().into_owned();
        let parts = name.strip_prefix(PREFIX).and_then(|run| run.split_once('-'));
        let Some((process, start)) = parts else { continue };
        let lives = process.parse().ok().and_then(started);
        if lives.is_none() || lives != start.parse().ok() {
            let _ = fs::remove_file(other.path());
        }
    }
    summary(&text)
}

/// `text` has a line a test and reason, apart by a tab; a test may be there several times.
fn summary(text: &str) -> String {
    let mut tests = BTreeSet::new();
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (test, why) in text.lines().filter_map(|line| line.split_once('\t')) {
        tests.insert(test);
        reasons.entry(why).or_default().insert(test);
    }
    if tests.is_empty() {
        return "skipped: nothing, by the test programs that ran before in this run".into();
    }
    let mut counts: Vec<(usize, &str)> = reasons.iter().map(|(why, of)| (of.len(), *why)).collect();
    counts.sort_by(|a, b| b.cmp(a));
    let counts: Vec<String> = counts.iter().map(|(count, why)| format!("{count} {why}")).collect();
    let plural = if tests.len() == 1 { "" } else { "s" };
    format!("skipped, in whole or in part: {} test{plural}: {}", tests.len(), counts.join("; "))
}

/// Checks what the line says: part of the program that prints it, which has no tests of its own.
pub fn check_summary() {
    let text = "a one\tno GPU\na two\tno GPU\na one\tno GPU\nb one\tno GPU\nb one\tno data, /x\n";
    assert_eq!(summary(text), "skipped, in whole or in part: 3 tests: 3 no GPU; 1 no data, /x");
    assert_eq!(summary("a one\tx\n"), "skipped, in whole or in part: 1 test: 1 x");
    assert!(summary("").starts_with("skipped: nothing"));
}
