//! How fast graph files load, from open to finished CSR, with a warm file cache: every format that can be
//! written, the second load from the cache, and beside them what SciPy and NumPy take for the same files; and
//! how much memory a load holds at its peak, against the finished CSR.
//!
//!     cargo bench --bench load -- [--graph SPEC] [--runs N] [--folder DIR] [--json FILE] [--no-peers]
//!
//! Peers run where `$HIVE_PYTHON`, else `python3`, has SciPy and NumPy; NumPy's loadtxt reads a tenth of the
//! edge list, since it is slow. Files are made in DIR (default: a temporary folder) and left there if it
//! was named.

use hivegraph::graph::Graph;
use hivegraph::io::{Cache, LoadOptions, Relabel, Weights, load_with, write_graph};
use hivegraph::{Error, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

struct Arguments {
    graph: String,
    runs: usize,
    folder: Option<PathBuf>,
    json: Option<PathBuf>,
    peers: bool,
}

fn arguments() -> Result<Arguments> {
    let mut found =
        Arguments { graph: "rmat:22,ef=8".into(), runs: 3, folder: None, json: None, peers: true };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| Error::input(format!("{arg} needs a value")));
        match arg.as_str() {
            "--bench" => {}
            "--graph" => found.graph = value()?,
            "--runs" => {
                let text = value()?;
                let runs = text.parse().ok().filter(|runs| *runs > 0);
                found.runs = runs.ok_or_else(|| Error::input(format!("--runs {text}: from 1")))?;
            }
            "--folder" => found.folder = Some(value()?.into()),
            "--json" => found.json = Some(value()?.into()),
            "--no-peers" => found.peers = false,
            _ => return Err(Error::input(format!("{arg}: not an option of this benchmark"))),
        }
    }
    Ok(found)
}

/// Seconds of each of `runs` loads, and the arcs that were found.
fn loads(path: &str, runs: usize, options: &LoadOptions) -> Result<(Vec<f64>, u64)> {
    let mut seconds = Vec::new();
    let mut arcs = 0;
    for _ in 0..runs {
        let start = Instant::now();
        let graph = load_with(path, options)?;
        seconds.push(start.elapsed().as_secs_f64());
        arcs = graph.arcs();
    }
    seconds.sort_unstable_by(f64::total_cmp);
    Ok((seconds, arcs))
}

/// Has the system read the file once, so that it is in its cache.
fn warm(path: &Path) -> Result<u64> {
    let copied = std::fs::File::open(path)
        .and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
    copied.map_err(|e| Error::input(format!("{}: {e}", path.display())))
}

fn row(name: &str, bytes: u64, seconds: &[f64], arcs: u64) -> Value {
    let median = seconds[seconds.len() / 2];
    let rate = bytes as f64 / median / 1e6;
    println!(
        "{name:<28} {:>9.1} MB  {:>9.1} ms  {rate:>8.0} MB/s",
        bytes as f64 / 1e6,
        median * 1e3
    );
    json!({"what": name, "bytes": bytes, "arcs": arcs, "seconds": seconds, "mb_per_second": rate})
}

/// The most anonymous memory (what is not a mapped file) that `hive convert FROM TO MORE` had, in bytes: its
/// load, and the transposing that `--relabel` does.
fn peak(from: &str, to: &Path, more: &[&str]) -> Option<u64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hive"));
    command.args(["convert", from]).arg(to).args(["--cache", "off"]).args(more);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().ok()?;
    let mut most = 0;
    while child.try_wait().ok()?.is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let text = status.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) * 1024);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (most > 0).then_some(most)
}

/// Adds to a row what the load holds at its peak, against the finished CSR.
fn with_peak(row: &mut Value, found: Option<u64>, graph: &Graph) {
    let weights = graph.weights().map_or(0, |weights| 4 * weights.len());
    let csr = (8 * graph.offsets().len() + 4 * graph.columns().len() + weights) as u64;
    let share = found.map(|found| found as f64 / csr as f64);
    println!("{:<28} peak {:.2} of the CSR's {csr} bytes", "", share.unwrap_or(f64::NAN));
    row["peak_bytes"] = json!(found);
    row["csr_bytes"] = json!(csr);
    row["peak_share"] = json!(share);
}

/// What Python's readers take for the same files.
fn peer(name: &str, code: &str, path: &Path, bytes: u64) -> Value {
    let python = std::env::var("HIVE_PYTHON").unwrap_or_else(|_| "python3".into());
    let told = Command::new(python).arg("-c").arg(code).arg(path).output();
    let seconds =
        told.ok().and_then(|told| String::from_utf8_lossy(&told.stdout).trim().parse::<f64>().ok());
    match seconds {
        Some(seconds) => row(name, bytes, &[seconds], 0),
        None => {
            println!("{name:<28} not measured: no python3 with SciPy and NumPy here");
            json!({"what": name, "bytes": bytes, "seconds": null})
        }
    }
}

const MMREAD: &str = "import sys, time, scipy.io
t = time.perf_counter(); a = scipy.io.mmread(sys.argv[1]).tocsr(); print(time.perf_counter() - t)";
const LOADTXT: &str = "import sys, time, numpy
t = time.perf_counter(); a = numpy.loadtxt(sys.argv[1], dtype=numpy.int64, skiprows=1)
print(time.perf_counter() - t)";

/// The first tenth of a text file, by lines.
fn tenth(from: &Path, to: &Path) -> Result<u64> {
    let failed = |e: std::io::Error| Error::input(format!("{}: {e}", to.display()));
    let text = std::fs::read(from).map_err(failed)?;
    let end = text[text.len() / 10..].iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let part = &text[..text.len() / 10 + end + 1];
    std::fs::write(to, part).map_err(failed)?;
    Ok(part.len() as u64)
}

fn main() {
    if let Err(error) = measure() {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}

fn measure() -> Result<()> {
    let asked = arguments()?;
    let temporary =
        tempfile::tempdir().map_err(|e| Error::machine(format!("temporary folder: {e}")))?;
    let folder = asked.folder.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    let off = LoadOptions { cache: Cache::Off, ..LoadOptions::default() };
    let graph = load_with(&asked.graph, &off)?;
    let unit = load_with(&asked.graph, &LoadOptions { weights: Weights::Unit, ..off.clone() })?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{}: {} nodes, {} arcs; {threads} cores", asked.graph, graph.nodes(), graph.arcs());
    let mut rows = Vec::new();
    for (ending, weighted) in [
        ("txt", false),
        ("txt", true),
        ("el", false),
        ("mtx", true),
        ("bin", true),
        ("hive", true),
        ("hive", false),
        ("wsg", true),
        ("npz", true),
    ] {
        let name = if weighted { "weighted" } else { "pattern" };
        let path = folder.join(format!("{name}.{ending}"));
        let shown = path.display().to_string();
        // A last node without arcs cannot be told in a GAP edge list: then there is no such file.
        if let Err(error) = write_graph(if weighted { &graph } else { &unit }, &path) {
            println!(".{ending}: not measured: {error}");
            continue;
        }
        let bytes = warm(&path)?;
        let (seconds, arcs) = loads(&shown, asked.runs, &off)?;
        let mut own = row(&format!(".{ending}, {name}"), bytes, &seconds, arcs);
        let made = if weighted { &graph } else { &unit };
        let copy = folder.join("copy.hive");
        with_peak(&mut own, peak(&shown, &copy, &[]), made);
        rows.push(own);
        if ending == "hive" {
            let options = LoadOptions { relabel: Relabel::Random(1), ..off.clone() };
            let (seconds, arcs) = loads(&shown, 1, &options)?;
            let mut turned = row(&format!(".{ending}, {name}, relabelled"), bytes, &seconds, arcs);
            with_peak(&mut turned, peak(&shown, &copy, &["--relabel", "random:1"]), made);
            rows.push(turned);
        }
        if ending == "txt" {
            let refresh = LoadOptions { cache: Cache::Refresh, ..off.clone() };
            loads(&shown, 1, &refresh)?;
            let on = LoadOptions { cache: Cache::On, ..off.clone() };
            loads(&shown, 1, &on)?;
            let (seconds, arcs) = loads(&shown, asked.runs, &on)?;
            rows.push(row(&format!(".{ending}, {name}, cached"), bytes, &seconds, arcs));
        }
        if asked.peers && ending == "mtx" {
            rows.push(peer("SciPy mmread + tocsr, .mtx", MMREAD, &path, bytes));
        }
        if asked.peers && ending == "txt" && !weighted {
            let part = folder.join("tenth.txt");
            let bytes = tenth(&path, &part)?;
            rows.push(peer("NumPy loadtxt, .txt / 10", LOADTXT, &part, bytes));
        }
    }
    let record = json!({
        "graph": asked.graph, "nodes": graph.nodes(), "arcs": graph.arcs(), "cores": threads,
        "runs": asked.runs, "command-line": std::env::args().collect::<Vec<_>>().join(" "),
        "version": env!("CARGO_PKG_VERSION"), "commit": hivegraph::report::COMMIT, "loads": rows,
    });
    if let Some(path) = &asked.json {
        let text = format!("{record:#}\n");
        std::fs::write(path, text).map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
    }
    Ok(())
}
