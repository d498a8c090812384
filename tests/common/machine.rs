//! What the machine under the tests has: GPUs, the program, the real graphs.

use super::skips::skipped;
use hivegraph::fleet::{CollectiveKind, Devices, Fleet, FleetConfig};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// GPUs of this machine.
pub fn gpus() -> usize {
    hivegraph::device::probe().devices.len()
}

/// Says loudly, once a test, that there is no GPU to run on.
pub fn has_gpu() -> bool {
    let found = gpus() > 0;
    if !found {
        skipped("no CUDA device, nothing was tested on GPUs");
    }
    found
}

/// Device lists that this machine can drive, with the collectives that fit them. Empty, and said so,
/// without a GPU. `HIVE_FLEETS="cuda:0 cuda:0x2"` names fewer, for the sanitizers.
pub fn cuda_fleets() -> Vec<(String, CollectiveKind)> {
    use CollectiveKind::{Auto, Host, Nccl, Peer};
    if !has_gpu() {
        return Vec::new();
    }
    if let Ok(few) = std::env::var("HIVE_FLEETS") {
        return few.split_whitespace().map(|devices| (devices.into(), Auto)).collect();
    }
    let mut fleets = vec![("cuda:0".into(), Auto)];
    fleets.extend([2, 3, 5, 8, 16].map(|k| (format!("cuda:0x{k}"), Peer)));
    fleets.push(("cuda:0x4".into(), Host));
    fleets.extend(spans(&[2, 3, 4, 8], &[Nccl, Peer, Host]));
    fleets
}

/// `cuda:0-(k-1)` for every k that this machine has GPUs for, with each collective. NCCL only where its
/// multicast is off (docs/design.md, "Failures").
pub fn spans(counts: &[usize], kinds: &[CollectiveKind]) -> Vec<(String, CollectiveKind)> {
    let here = gpus();
    let quiet = std::env::var("NCCL_NVLS_ENABLE").is_ok_and(|value| value == "0");
    if here > 1 && !quiet && kinds.contains(&CollectiveKind::Nccl) {
        skipped("NCCL_NVLS_ENABLE is not 0, nothing was tested through NCCL");
    }
    let there = counts.iter().filter(|k| **k <= here);
    let kinds = kinds.iter().filter(|kind| quiet || **kind != CollectiveKind::Nccl);
    there.flat_map(|k| kinds.clone().map(move |c| (format!("cuda:0-{}", k - 1), *c))).collect()
}

/// Opens a fleet that must open.
pub fn open(devices: &str, collective: CollectiveKind, more: FleetConfig) -> Fleet {
    let config = FleetConfig { devices: devices.parse::<Devices>().unwrap(), collective, ..more };
    Fleet::open(config).unwrap_or_else(|e| panic!("{devices} with {collective}: {e}"))
}

/// What a variable of the environment like `HIVE_FAIL_PART=1/3` says: which part, from 0, and of how many.
pub fn part(variable: &str) -> Option<[usize; 2]> {
    let text = std::env::var(variable).ok()?;
    let numbers = text.split_once('/').map(|(part, parts)| [part.parse(), parts.parse()]);
    match numbers {
        Some([Ok(part), Ok(parts)]) if part < parts => Some([part, parts]),
        _ => panic!("{variable}={text}: give PART/PARTS, as in 1/3"),
    }
}

/// A folder of the real graphs: `HIVE_DATA`, or `shared/data` beside the project. `None`, and said so,
/// where it is not.
pub fn data() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = std::env::var_os("HIVE_DATA").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&format!("no real graphs, {} is not here (set HIVE_DATA)", folder.display()));
    None
}

/// The folder with all real graphs; a GPU machine gets only some of them. `None`, and said so.
pub fn all_data() -> Option<PathBuf> {
    let folder = data()?;
    if folder.join("DATASETS.md").is_file() {
        return Some(folder);
    }
    skipped(&format!("only some of the real graphs are in {}", folder.display()));
    None
}

/// What `body` returns; a test whose `body` has not ended after `limit` fails, and leaves it behind.
pub fn within<T: Send + 'static>(limit: Duration, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || _ = sender.send(body()));
    receiver.recv_timeout(limit).unwrap_or_else(|e| panic!("not ended after {limit:?}: {e}"))
}

/// The program: `HIVE_BIN`, or what cargo has built.
pub fn hive() -> Command {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_hive"));
    let mut command = Command::new(std::env::var_os("HIVE_BIN").map_or(built, PathBuf::from));
    command.stdin(Stdio::null()).env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
    command
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How long it ran.
    pub took: Duration,
}

/// Runs `command`; one that has not ended after `limit` is killed, and the test fails.
pub fn ends_within(limit: Duration, command: &mut Command) -> Ended {
    let (out, err) =
        (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    command.stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
    let start = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let read = |file: &tempfile::NamedTempFile| {
        String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned()
    };
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let (out, err) = (read(&out), read(&err));
            return Ended { code: status.code(), out, err, took: start.elapsed() };
        }
        if start.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{command:?} still ran after {limit:?}; it had said: {}{}",
                read(&out),
                read(&err)
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether NVRTC is here; says loudly where it is not.
pub fn has_nvrtc(what: &str) -> bool {
    let found = hivegraph::device::probe().nvrtc.found;
    if !found {
        let required = std::env::var_os("HIVE_REQUIRE_NVRTC").is_some();
        assert!(!required, "HIVE_REQUIRE_NVRTC is set, but NVRTC was not found");
        super::skipped(&format!("NVRTC is not here, {what} were NOT compiled"));
    }
    found
}
