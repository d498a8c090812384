//! The README and `docs/`: their commands run, their links lead somewhere, and their numbers are those of
//! `docs/measurements`.
//!
//! A block of shell commands says how it is tested by what follows ```` ```sh ````. Nothing: it is run as it is, in a
//! folder with small graphs of the names that it uses. `gpu`: it needs GPUs, so that its options are parsed and its
//! sweeps are planned. `build`: cargo's own commands, whose targets must exist.
#![cfg(unix)]

use crate::common::skipped;
use hivegraph::cli;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// README.md and every page of docs/, by their paths from the root.
fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let mut names: Vec<String> = docs
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().into_string().unwrap()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort();
    ["README.md".into(), "docs/measurements/README.md".into()].into_iter().chain(names).collect()
}

struct Block {
    /// The page and the line of the first fence.
    place: String,
    /// What follows the fence: `sh gpu`.
    kind: String,
    text: String,
}

impl Block {
    /// The source file of which it is a part: `rust src/error.rs`.
    fn file(&self) -> Option<&str> {
        self.kind.strip_prefix("rust ")
    }
}

/// The fenced blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut inside = false;
    for (at, line) in read(page).lines().enumerate() {
        match line.strip_prefix("```") {
            Some(kind) if !inside => {
                let place = format!("{page}:{}", at + 1);
                found.push(Block { place, kind: kind.into(), text: String::new() });
                inside = true;
            }
            Some(_) => inside = false,
            None if inside => found.last_mut().unwrap().text += &format!("{line}\n"),
            None => {}
        }
    }
    assert!(!inside, "{page}: a block does not end");
    found
}

/// A page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in read(page).lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            kept += &format!("{line}\n");
        }
    }
    kept
}

// Commands.

/// A folder to run commands in: the repository's own folders, graphs and files of the names that the pages use, and a
/// `PATH` on which `hive` is the program of this build, or what `hive` says, and `cargo run` runs what is built.
struct Workplace {
    folder: tempfile::TempDir,
}

const CARGO: &str = r#"#!/usr/bin/env bash
# `cargo run`, of what is built.
set -eu
[ "$1 $2" = "run --release" ] || { echo "cargo $*: not run here" >&2; exit 1; }
if [ "$3" = --example ]; then exec "$EXAMPLES/$4" "${@:6}"; fi
[ "$3" = -- ] && exec hive "${@:4}"
"#;

impl Workplace {
    fn new() -> Workplace {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for name in ["configs", "docs", "tests", "hive-scripts"] {
            symlink(root().join(name), at.join(name)).unwrap();
        }
        fs::create_dir(at.join("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_hive"), at.join("bin/hive")).unwrap();
        executable(&at.join("bin/cargo"), CARGO);

        // A directed graph whose ids go from 1 to 300, and friends with homes.
        let mut arcs = String::new();
        for i in 1..=300u32 {
            for k in [1, 7, i % 13 + 2] {
                writeln!(arcs, "{i} {} {}", (i * k + k) % 300 + 1, (i + k) % 9 + 1).unwrap();
            }
        }
        let count = arcs.lines().count();
        let web =
            format!("%%MatrixMarket matrix coordinate integer general\n300 300 {count}\n{arcs}");
        fs::write(at.join("web.mtx"), &web).unwrap();
        let gz = fs::File::create(at.join("web.mtx.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, web.as_bytes()).unwrap();
        packed.finish().unwrap();
        fs::write(at.join("friends.csv"), "src,dst\nann,bob\nbob,cleo\ncleo,ann\n").unwrap();
        let friends: String = (2..=60).map(|i| format!("{i} {}\n", i / 2)).collect();
        let header = "%%MatrixMarket matrix coordinate pattern symmetric\n60 60 59\n";
        fs::write(at.join("friends.mtx"), header.to_string() + &friends).unwrap();
        let homes: String = (1..=30).map(|i| format!("{i},{},{}\n", i * 2, i * 5 - 90)).collect();
        fs::write(at.join("homes.csv"), format!("node,lat,lon\n{homes}")).unwrap();
        fs::write(at.join("start.csv"), "node,weight\n1,2\n17,1\n").unwrap();
        // The first configuration of the guide.
        let toml = blocks("docs/guide.md").into_iter().find(|block| block.kind == "toml").unwrap();
        fs::write(at.join("run.toml"), toml.text).unwrap();
        Workplace { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn bash(&self, text: &str) -> Output {
        let path =
            format!("{}:{}", self.path().join("bin").display(), std::env::var("PATH").unwrap());
        let examples = Path::new(env!("CARGO_BIN_EXE_hive")).with_file_name("examples");
        Command::new("bash")
            .args(["-euo", "pipefail", "-c", text])
            .current_dir(self.path())
            .env("PATH", path)
            .env("EXAMPLES", examples)
            .env("HIVE_BIN", self.path().join("bin/hive"))
            .env("HIVE_CACHE_DIR", self.path().join("cache"))
            .env_remove("DATASETS")
            .env_remove("DEVICES")
            .output()
            .unwrap()
    }
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

#[test]
fn every_block_says_what_it_is() {
    let known = ["sh", "sh gpu", "sh build", "rust", "toml", "text"];
    for block in pages().iter().flat_map(|page| blocks(page)) {
        assert!(
            known.contains(&block.kind.as_str()) || block.file().is_some(),
            "{}: a block of '{}'",
            block.place,
            block.kind
        );
    }
    for page in pages() {
        let indented = prose(&page).lines().any(|line| line.starts_with("    "));
        assert!(!indented, "{page}: a block without fences");
    }
}

#[test]
fn parts_of_source_files_stand_there_as_they_are_quoted() {
    let mut quoted = 0;
    for block in pages().iter().flat_map(|page| blocks(page)) {
        let Some(file) = block.file() else { continue };
        assert!(read(file).contains(&block.text), "{}: {file} says otherwise", block.place);
        quoted += 1;
    }
    assert!(quoted >= 5, "{quoted} parts");
}

/// Commands of one page follow each other in one folder.
#[test]
fn commands_that_need_no_gpu_run() {
    let mut ran = 0;
    for page in pages() {
        let place = Workplace::new();
        for block in blocks(&page).into_iter().filter(|block| block.kind == "sh") {
            for example in block.text.lines().filter_map(|line| line.split_once("--example ")) {
                let name = example.1.split(' ').next().unwrap();
                assert!(root().join(format!("examples/{name}.rs")).is_file(), "{name}");
            }
            let examples = Path::new(env!("CARGO_BIN_EXE_hive")).with_file_name("examples");
            if block.text.contains("--example") && !examples.join("heat").is_file() {
                skipped("examples are not built");
                continue;
            }
            let output = place.bash(&block.text);
            assert!(output.status.success(), "{}:\n{}{}", block.place, block.text, said(&output));
            ran += block.text.lines().count();
        }
    }
    assert!(ran >= 30, "{ran} lines ran");
}

/// Options are parsed, sweeps are planned.
#[test]
fn commands_that_need_gpus_are_understood() {
    let place = Workplace::new();
    let list = place.path().join("arguments");
    let hive = place.path().join("bin/hive");
    fs::remove_file(&hive).unwrap();
    let text = format!(
        "#!/usr/bin/env bash\nprintf '%s\\x1f' \"$@\" >>'{}'\necho >>'{0}'\n",
        list.display()
    );
    executable(&hive, &text);
    let mut understood = 0;
    for block in pages().iter().flat_map(|page| blocks(page)).filter(|b| b.kind == "sh gpu") {
        let _ = fs::remove_file(&list);
        let output = place.bash(&block.text);
        assert!(output.status.success(), "{}: {}", block.place, said(&output));
        let calls = fs::read_to_string(&list).unwrap_or_default();
        let commands = block.text.lines().filter(|line| line.starts_with("hive ")).count();
        assert_eq!(calls.lines().count(), commands, "{}: not only hive's commands", block.place);
        for call in calls.lines() {
            let args: Vec<&str> = call.trim_end_matches('\x1f').split('\x1f').collect();
            parses(&block.place, &args);
            if args[0] == "sweep" {
                let planned = Command::new(env!("CARGO_BIN_EXE_hive"))
                    .args(&args)
                    .arg("--dry-run")
                    .current_dir(root())
                    .output()
                    .unwrap();
                assert!(planned.status.success(), "{}: {}", block.place, said(&planned));
            }
            understood += 1;
        }
    }
    assert!(understood >= 3, "{understood} commands");
}

/// A configuration of a sweep is planned, one of a run is run by the guide's own command.
#[test]
fn configurations_of_sweeps_are_understood() {
    let place = Workplace::new();
    let mut planned = 0;
    for block in blocks("docs/sweeps.md").into_iter().filter(|block| block.kind == "toml") {
        fs::write(place.path().join("sweep.toml"), &block.text).unwrap();
        let output = place.bash("hive sweep sweep.toml --output out --dry-run");
        assert!(output.status.success(), "{}: {}", block.place, said(&output));
        planned += 1;
    }
    assert!(planned >= 2, "{planned} configurations");
}

fn parses(place: &str, args: &[&str]) {
    if let Err(error) = cli::command().try_get_matches_from(["hive"].iter().chain(args)) {
        use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand};
        use clap::error::ErrorKind::{MissingRequiredArgument, MissingSubcommand};
        // In prose, commands may be named without what they need.
        let named = [
            DisplayHelp,
            DisplayHelpOnMissingArgumentOrSubcommand,
            MissingRequiredArgument,
            MissingSubcommand,
        ];
        assert!(named.contains(&error.kind()), "{place}: hive {}: {error}", args.join(" "));
    }
}

/// `hive ...` between backquotes, in prose and in tables.
#[test]
fn commands_in_prose_are_understood() {
    let mut understood = 0;
    for page in pages().into_iter().filter(|page| page != "docs/bad-input.md") {
        let prose = prose(&page).replace('\n', " ");
        for span in prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("hive ")) {
            // Names in capitals stand for what the reader chooses; of several words, one.
            let words = span.split_whitespace().skip(1).map(|word| match word.trim_matches('\'') {
                "NAME" | "X" => "bfs",
                word => word,
            });
            let words: Vec<&str> = words.take_while(|word| *word != "-").collect();
            if words.iter().any(|word| word.contains(['[', '|'])) {
                continue;
            }
            parses(&format!("{page}: `{span}`"), &words);
            understood += 1;
        }
    }
    assert!(understood >= 20, "{understood} commands");
}

#[test]
fn cargo_is_asked_for_targets_that_exist() {
    let all: Vec<Block> = pages().iter().flat_map(|page| blocks(page)).collect();
    let inline = pages().iter().map(|page| prose(page).replace('\n', " ")).collect::<String>();
    let spans = inline.split('`').skip(1).step_by(2).map(String::from);
    let builds = all.into_iter().filter(|block| block.kind == "sh build");
    let lines = builds.flat_map(|b| b.text.lines().map(String::from).collect::<Vec<_>>());
    let mut seen = 0;
    for line in spans.filter(|span| span.starts_with("cargo ")).chain(lines) {
        let words: Vec<&str> = line.split(' ').take_while(|word| *word != "#").collect();
        assert_eq!(words[0], "cargo", "{line}: only cargo's commands");
        for (folder, option) in [("benches", "--bench"), ("examples", "--example")] {
            if let Some(at) = words.iter().position(|word| *word == option) {
                let file = root().join(folder).join(format!("{}.rs", words[at + 1]));
                assert!(file.is_file(), "{line}: no {}", file.display());
                seen += 1;
            }
        }
        let fuzz = words.windows(2).position(|pair| pair == ["fuzz", "run"]);
        if let Some(target) = fuzz.and_then(|at| words.get(at + 2)) {
            let named = format!("name = \"{target}\"");
            assert!(read("fuzz/Cargo.toml").contains(&named), "{line}: no target {target}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen} targets");
}

// Links and citations.

/// GitHub's anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut links = 0;
    for page in pages() {
        let folder = root().join(&page).parent().unwrap().to_path_buf();
        for part in prose(&page).replace('\n', " ").split("](").skip(1) {
            let target = part.split(')').next().unwrap();
            if target.starts_with("http") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root().join(&page) } else { folder.join(file) };
            assert!(path.exists(), "{page}: {target} does not exist");
            if !heading.is_empty() {
                let text = fs::read_to_string(&path).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let there =
                    headings.any(|line| anchor(line.trim_start_matches('#').trim()) == heading);
                assert!(there, "{page}: {target} names no heading");
            }
            links += 1;
        }
    }
    assert!(links >= 20, "{links} links");
}

/// Code cites `docs/design.md, "NAME"`: a heading there, or a rule that begins in bold.
#[test]
fn what_code_cites_of_the_design_is_there() {
    let design = read("docs/design.md").replace('\n', " ");
    let mut cited = 0;
    let mut folders = ["src", "kernels", "tests"].map(|name| root().join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let ends =
                ["rs", "cu", "cuh"].iter().any(|end| path.extension().is_some_and(|e| e == *end));
            if !ends || path.ends_with("program/docs.rs") {
                continue;
            }
            let mut text = fs::read_to_string(&path).unwrap();
            for mark in ["\n//! ", "\n/// ", "\n// ", "\n    // ", "\n    /// "] {
                text = text.replace(mark, " ");
            }
            for part in text.split("docs/design.md").skip(1) {
                let name = part.strip_prefix(", \"").and_then(|rest| rest.split('"').next());
                let name = name.unwrap_or_else(|| panic!("{}: cites no section", path.display()));
                let rule = format!("**{name}.**");
                let there = design.contains(&rule) || design.contains(&format!("## {name} "));
                assert!(there, "{}: docs/design.md has no \"{name}\"", path.display());
                cited += 1;
            }
        }
    }
    assert!(cited >= 5, "{cited} citations");
}

/// "(`NAME` in `FILE`": a kernel file, or a path, that has the word.
#[test]
fn kernels_that_the_page_names_are_there() {
    let mut files = BTreeMap::new();
    let mut folders = vec![root().join("kernels")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.file_name().unwrap().to_str().unwrap().to_string();
                files.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    let page = read("docs/kernels.md").replace('\n', " ");
    let spans: Vec<&str> = page.split('`').collect();
    let mut named = 0;
    for window in spans.windows(3).filter(|window| window[1].trim() == "in") {
        let text = match files.get(window[2]) {
            Some(text) => text.clone(),
            None => read(window[2]),
        };
        assert!(text.contains(window[0]), "{} has no {}", window[2], window[0]);
        named += 1;
    }
    assert!(named >= 10, "{named} names");
}

#[test]
fn the_readme_is_short_and_every_workload_has_a_section() {
    let text = read("README.md");
    assert!(text.lines().count() <= 200, "{} lines", text.lines().count());
    let workloads = read("docs/workloads.md");
    for workload in cli::command().find_subcommand("run").unwrap().get_subcommands() {
        let name = workload.get_name();
        assert!(workloads.contains(&format!("\n## {name}\n")), "docs/workloads.md lacks {name}");
    }
}

/// The options that a text names: `--merge` of "`--merge dense`".
fn options(text: &str) -> BTreeSet<String> {
    let named = text.split("--").skip(1).map(|rest| {
        let end = |c: char| !c.is_ascii_lowercase() && c != '-';
        rest.split(end).next().unwrap().trim_end_matches('-').to_string()
    });
    named.filter(|name| !name.is_empty()).collect()
}

/// An option is told in the section of its workload (those of `sssp` also with `vn`), in the introduction or in the guide;
/// and no section tells one that its workload does not have.
#[test]
fn the_pages_tell_the_options_that_there_are() {
    let (page, guide) = (prose("docs/workloads.md"), options(&prose("docs/guide.md")));
    let all_take = options(page.split("\n## ").next().unwrap());
    let section = |name: &str| {
        let rest = page.split_once(&format!("\n## {name}\n")).unwrap().1;
        rest.split("\n## ").next().unwrap()
    };
    let mut all = BTreeSet::new();
    for workload in cli::command().find_subcommand("run").unwrap().get_subcommands() {
        let name = workload.get_name();
        let shown = workload.get_arguments().filter(|arg| !arg.is_hide_set());
        let has: BTreeSet<String> =
            shown.filter_map(|arg| arg.get_long()).map(String::from).collect();
        let own = section(name);
        let mut told = options(own);
        if own.contains("(#vn)") && name == "sssp" {
            told.extend(options(section("vn")));
        } else {
            let wrong: Vec<_> = told.difference(&has).collect();
            assert!(wrong.is_empty(), "docs/workloads.md, {name}: it has no {wrong:?}");
        }
        told.extend(guide.iter().chain(&all_take).cloned());
        let left: Vec<_> = has.difference(&told).collect();
        assert!(
            left.is_empty(),
            "docs/workloads.md, {name}, and docs/guide.md do not tell {left:?}"
        );
        all.extend(has);
    }
    let hive = cli::command();
    for command in hive.get_subcommands().chain([&hive]) {
        all.extend(command.get_arguments().filter_map(|arg| arg.get_long()).map(String::from));
    }
    // Those of other programs, and of hive-scripts/.
    all.extend(["features", "release", "help"].map(String::from));
    let wrong: Vec<_> = guide.difference(&all).collect();
    assert!(wrong.is_empty(), "docs/guide.md: there is no {wrong:?}");
}

/// What `hive run --help` says of each workload.
fn workloads(_: &str) -> String {
    let mut text = head(&["`hive run`", "what it computes"]);
    for workload in cli::command().find_subcommand("run").unwrap().get_subcommands() {
        let names: Vec<String> = std::iter::once(workload.get_name())
            .chain(workload.get_all_aliases())
            .map(|name| format!("`{name}`"))
            .collect();
        text += &row(&names.join(", "), [workload.get_about().unwrap().to_string()]);
    }
    text
}

// Measurements.

#[test]
fn measurements_are_few_small_and_named() {
    let named = read("docs/measurements/README.md");
    let mut bytes = 0;
    let files: Vec<_> = fs::read_dir(root().join("docs/measurements")).unwrap().collect();
    assert!(files.len() <= 12, "{} files", files.len());
    for file in files {
        let file = file.unwrap();
        bytes += file.metadata().unwrap().len();
        let name = file.file_name().into_string().unwrap();
        assert!(name == "README.md" || named.contains(&format!("`{name}`")), "{name} is not named");
    }
    assert!(bytes <= 3_000_000, "{bytes} bytes");
}

/// The cells of an archive, as `hive report --csv` has them: a column's name to its value.
type Cell = BTreeMap<String, String>;

fn cells(archive: &str) -> Vec<Cell> {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("cells.csv");
    let output = Command::new(env!("CARGO_BIN_EXE_hive"))
        .arg("report")
        .arg(root().join("docs/measurements").join(archive))
        .arg("--csv")
        .arg(&csv)
        .output()
        .unwrap();
    assert!(output.status.success(), "{archive}: {}", said(&output));
    let text = fs::read_to_string(csv).unwrap();
    let mut lines = text.lines().map(fields);
    let names = lines.next().unwrap();
    lines.map(|line| names.iter().cloned().zip(line).collect()).collect()
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            c => all.last_mut().unwrap().push(c),
        }
    }
    all
}

/// Options that say how a cell is computed. A cell that a table asks for has those that are named, and no other of these.
const HOW: [&str; 8] =
    ["collective", "merge", "chunks", "placement", "layout", "strategy", "sources", "warp-width"];

/// The only cell of a workload, graph, number of GPUs and options, as in `merge=dense collective=nccl`.
fn cell<'a>(
    cells: &'a [Cell],
    workload: &str,
    dataset: &str,
    gpus: u32,
    options: &str,
) -> &'a Cell {
    let asked: BTreeSet<&str> = options.split_whitespace().collect();
    let wanted = |cell: &&Cell| {
        let has = cell["settings"].split(' ');
        let how: BTreeSet<&str> = has
            .filter(|option| {
                asked.contains(option) || HOW.contains(&option.split('=').next().unwrap())
            })
            .collect();
        cell["workload"] == workload
            && cell["dataset"] == dataset
            && cell["gpus"] == gpus.to_string()
            && cell["replicas"] == gpus.to_string()
            && how == asked
    };
    let found: Vec<&Cell> = cells.iter().filter(wanted).collect();
    let place = format!("{workload} {dataset} {gpus} {options}");
    assert_eq!(found.len(), 1, "{place}: {} cells", found.len());
    found[0]
}

/// A number of a cell, if it was measured.
fn number(cell: &Cell, column: &str) -> Option<f64> {
    if cell["status"] == "failed" {
        return None;
    }
    Some(cell[column].parse().unwrap_or_else(|_| panic!("{column} of {cell:?}")))
}

fn ms(cell: &Cell) -> Option<f64> {
    number(cell, "median_ms")
}

/// Four significant digits, and at most four behind the point.
fn shown(value: Option<f64>) -> String {
    let Some(value) = value else { return "refused".into() };
    let digits = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 4.0);
    format!("{value:.*}", digits as usize)
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

fn row(first: &str, rest: impl IntoIterator<Item = String>) -> String {
    let rest: Vec<String> = rest.into_iter().collect();
    format!("| {first} | {} |\n", rest.join(" | "))
}

fn head(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()))
}

/// A file of an archive, as JSON.
fn json_of(archive: &str, name: &str) -> serde_json::Value {
    let file = fs::File::open(root().join("docs/measurements").join(archive)).unwrap();
    let mut files = tar::Archive::new(flate2::read::MultiGzDecoder::new(file));
    for entry in files.entries().unwrap() {
        let entry = entry.unwrap();
        if entry.path().unwrap().ends_with(name) {
            return serde_json::from_reader(entry).unwrap();
        }
    }
    panic!("{archive} has no {name}")
}

/// Lines of a file of an archive, which are records.
fn records(archive: &str, name: &str) -> Vec<serde_json::Value> {
    let file = fs::File::open(root().join("docs/measurements").join(archive)).unwrap();
    let mut files = tar::Archive::new(flate2::read::MultiGzDecoder::new(file));
    for entry in files.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().ends_with(name) {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
            return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        }
    }
    panic!("{archive} has no {name}")
}

const SETS: [&str; 7] =
    ["rmat18", "rmat20", "rmat22", "rmat24", "grid4096x4096", "USA-road-d.NY", "email-Enron"];
const EIGHT: &str = "sources=connected:8:1";
/// What the standing set measures: a title, the workload's name in reports, and its options.
const STANDING: [(&str, &str, &str); 6] = [
    ("sssp", "sssp", ""),
    ("bfs", "bfs", ""),
    ("cc", "cc", ""),
    ("pagerank, 10 iterations", "pr", ""),
    ("bc, 1 source", "bc", ""),
    ("bc, 8 sources", "bc", EIGHT),
];

fn standing(archive: &str, gpus: &[u32]) -> String {
    let cells = cells(archive);
    let mut text = head(&[&["ms, median", "GPUs"], &SETS[..]].concat());
    for (title, workload, options) in STANDING {
        for &count in gpus {
            let times = SETS.map(|set| shown(ms(cell(&cells, workload, set, count, options))));
            text += &row(title, [count.to_string()].into_iter().chain(times));
        }
    }
    text
}

fn resets(archive: &str) -> String {
    let records = records(archive, "records.jsonl");
    let mut text = head(&[&["ms, median"], &SETS[..]].concat());
    for (title, workload, options) in STANDING {
        let times = SETS.map(|set| {
            let found = records.iter().find(|record| {
                record["primitive"] == workload
                    && record["dataset"] == set
                    && record["coordinates"]["devices"] == "cuda:0"
                    && (workload != "bc" || record["coordinates"]["variant"] == options)
            });
            let record = found.unwrap_or_else(|| panic!("{title} {set}: no record"));
            shown(record["reset-ms"].as_f64())
        });
        text += &row(title, times);
    }
    text
}

const AT_27: [(&str, &str, &str); 8] = [
    ("sssp", "sssp", ""),
    ("bfs", "bfs", ""),
    ("cc", "cc", ""),
    ("pagerank, 10 iterations", "pr", ""),
    ("bc, 1 source", "bc", ""),
    ("bc, 32 sources", "bc", "sources=connected:32:1"),
    ("bc, 128 sources", "bc", "sources=connected:128:1"),
    ("bc, 256 sources", "bc", "sources=connected:256:1"),
];

fn scaling_27(archive: &str) -> String {
    let cells = cells(archive);
    let mut text = head(&["ms, median", "1 GPU", "4 GPUs", "8 GPUs", "speed-up by 4", "by 8"]);
    for (title, workload, options) in AT_27 {
        let of = |gpus| ms(cell(&cells, workload, "rmat27", gpus, options));
        let [one, four, eight] = [1, 4, 8].map(of);
        let [by_four, gain] = [four, eight].map(|more| ratio(one.unwrap() / more.unwrap()));
        text += &row(title, [shown(one), shown(four), shown(eight), by_four, gain]);
    }
    text
}

/// Bars of the speed-ups on eight GPUs, the ideal a dashed line.
fn picture() -> String {
    let cells = cells("scaling-27-0740e20.tar.gz");
    let (left, wide, step) = (190.0, 400.0, 26.0);
    let tall = 44.0 + step * AT_27.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 660 {tall}\" width=\"660\" height=\"{tall}\" \
         role=\"img\" font-family=\"Arial, Helvetica, sans-serif\" font-size=\"13\">\n\
         <title>Speed-up of eight GPUs over one, R-MAT 27</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"14.5\" fill=\"#1b1f24\">Speed-up of eight H200s over one, R-MAT 27: 4.2 G \
         arcs (dashed: ideal)</text>\n"
    );
    for (at, (title, workload, options)) in AT_27.iter().enumerate() {
        let [one, eight] =
            [1, 8].map(|gpus| ms(cell(&cells, workload, "rmat27", gpus, options)).unwrap());
        let (top, long) = (38.0 + step * at as f64, one / eight / 8.0 * wide);
        write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#1b1f24\">{title}</text>\n\
             <rect x=\"{left}\" y=\"{top}\" width=\"{long:.1}\" height=\"16\" fill=\"#2f6fb5\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" text-anchor=\"end\" fill=\"#ffffff\">{:.2}</text>\n",
            left - 8.0,
            top + 12.5,
            left + long - 6.0,
            top + 12.5,
            one / eight
        )
        .unwrap();
    }
    let (end, bottom) = (left + wide, tall - 6.0);
    writeln!(
        svg,
        "<path d=\"M {end} 32 V {bottom}\" stroke=\"#57606a\" stroke-dasharray=\"4 3\" fill=\"none\"/>"
    )
    .unwrap();
    svg + "</svg>\n"
}

fn all_workloads(archive: &str) -> String {
    let cells = cells(archive);
    let mut text = head(&["ms, median", "1 GPU", "2 GPUs", "4 GPUs", "speed-up of 4"]);
    let rows = [
        ("vn, 10 seeds", "vn", "rmat22", ""),
        ("sssp", "sssp", "rmat22", ""),
        ("geo, 10 waves", "geolocation", "rmat22", ""),
        ("bfs", "bfs", "rmat22", ""),
        ("cc", "cc", "rmat22", ""),
        ("scc", "scc", "rmat22", ""),
        ("kcore", "kcore", "rmat22", ""),
        ("triangles", "triangles", "rmat22", ""),
        ("bc, 8 sources", "bc", "rmat22", EIGHT),
        ("closeness, 1024 sources", "closeness", "rmat22", "sources=connected:1024:1"),
        ("pagerank, 10 iterations", "pr", "rmat22", ""),
        ("katz", "katz", "rmat22", ""),
        ("filter, 2^28 elements", "filter", "array-2^28", "elements=268435456"),
    ];
    for (title, workload, set, options) in rows {
        let times = [1, 2, 4].map(|gpus| ms(cell(&cells, workload, set, gpus, options)));
        let gain = ratio(times[0].unwrap() / times[2].unwrap());
        text += &row(title, times.map(shown).into_iter().chain([gain]));
    }
    text
}

/// `scc` has changed since its series were measured, and is not in this table.
fn weak(archive: &str) -> String {
    let cells = cells(archive);
    let gpus = ["1 GPU", "2 GPUs", "4 GPUs", "8 GPUs"];
    let mut text = head(&[&["series", "workload"], &gpus[..], &["efficiency", "rate"]].concat());
    let series = [
        ("edge-weak", ["rmat19-ef256", "rmat19-ef512", "rmat19-ef1024", "rmat19-ef2048"]),
        ("vertex-weak", ["rmat19-ef256", "rmat20-ef256", "rmat21-ef256", "rmat22-ef256"]),
        ("graph500", ["rmat22", "rmat23", "rmat24", "rmat25"]),
        ("array", ["array-2^24", "array-2^25", "array-2^26", "array-2^27"]),
    ];
    for (name, sets) in series {
        for workload in [
            "vn",
            "sssp",
            "geolocation",
            "bfs",
            "cc",
            "cdlp",
            "kcore",
            "triangles",
            "bc",
            "closeness",
            "pr",
            "katz",
            "walk",
            "filter",
        ] {
            let found: Vec<&Cell> = [1, 2, 4, 8]
                .iter()
                .zip(sets)
                .filter_map(|(gpus, set)| {
                    cells.iter().find(|cell| {
                        cell["series"] == name
                            && cell["workload"] == workload
                            && cell["dataset"] == set
                            && cell["gpus"] == gpus.to_string()
                    })
                })
                .collect();
            let [one, two, four, eight] = found[..] else { continue };
            let rate = |cell| number(cell, "arcs_per_s").unwrap();
            let efficiency = ratio(ms(one).unwrap() / ms(eight).unwrap());
            let times = [one, two, four, eight].map(|cell| shown(ms(cell)));
            let short = match workload {
                "pr" => "pagerank",
                "geolocation" => "geo",
                other => other,
            };
            let first = [short.to_string()].into_iter().chain(times);
            text += &row(name, first.chain([efficiency, ratio(rate(eight) / rate(one))]));
        }
    }
    text
}

fn ablations(archive: &str) -> String {
    let cells = cells(archive);
    let columns = [
        ("`auto`", ""),
        ("`auto`, NCCL", "collective=nccl"),
        ("`dense`, NCCL", "collective=nccl CUT"),
        ("`dense`, peer", "collective=peer CUT"),
        ("`dense`, chunks of nodes", "chunks=nodes CUT"),
        ("`sharded`", "placement=sharded"),
        ("layout `raw`", "layout=raw"),
    ];
    let titles: Vec<&str> =
        ["ms, median"].into_iter().chain(columns.map(|(title, _)| title)).collect();
    let mut text = head(&titles);
    let rows = [
        ("vn", "vn"),
        ("sssp", "sssp"),
        ("geo", "geolocation"),
        ("bfs", "bfs"),
        ("cc", "cc"),
        ("kcore", "kcore"),
        ("triangles", "triangles"),
        ("bc, 1 source", "bc"),
        ("pagerank", "pr"),
    ];
    for (title, workload) in rows {
        let cut = if ["bc", "geolocation"].contains(&workload) { "split" } else { "dense" };
        let times = columns.map(|(_, options)| {
            let options = options.replace("CUT", &format!("merge={cut}"));
            let has = |cell: &&Cell| {
                let how: BTreeSet<&str> = cell["settings"]
                    .split(' ')
                    .filter(|option| HOW.contains(&option.split('=').next().unwrap()))
                    .collect();
                cell["workload"] == workload && how == options.split_whitespace().collect()
            };
            let found: Vec<&Cell> = cells.iter().filter(has).collect();
            assert!(found.len() <= 1, "{title}, {options}: {} cells", found.len());
            found.first().map_or("-".into(), |cell| shown(ms(cell)))
        });
        text += &row(title, times);
    }
    text
}

fn strategies(archive: &str) -> String {
    let cells = cells(archive);
    let mut text = head(&[&["ms an iteration"], &SETS[..]].concat());
    let rows = [
        ("`auto`", "", ""),
        ("`hubs`", "hubs", ""),
        ("`push`", "push", ""),
        ("`pull`", "pull", ""),
        ("`pull-nodiv`", "pull-nodiv", ""),
        ("`edge-soa`", "edge-soa", ""),
        ("`edge-aos`", "edge-aos", ""),
        ("`warp-push`, width 32", "warp-push", ""),
        ("`warp-pull`, width 32", "warp-pull", ""),
        ("`warp-pull-nodiv`, width 4", "warp-pull-nodiv", "warp-width=4"),
        ("`warp-pull-nodiv`, width 8, chunk 4", "warp-pull-nodiv", "warp-chunk=4 warp-width=8"),
        ("`warp-pull-nodiv`, width 16", "warp-pull-nodiv", "warp-width=16"),
        ("`warp-pull-nodiv`, width 32", "warp-pull-nodiv", ""),
        ("`warp-pull-nodiv`, width 32, chunk 10", "warp-pull-nodiv", "warp-chunk=10"),
        ("`warp-pull-nodiv`, width 64", "warp-pull-nodiv", "warp-width=64"),
    ];
    for (title, strategy, more) in rows {
        let strategy = if strategy.is_empty() { "".into() } else { format!("strategy={strategy}") };
        let wanted: BTreeSet<&str> =
            strategy.split_whitespace().chain(more.split_whitespace()).collect();
        let times = SETS.map(|set| {
            let has = |cell: &&Cell| {
                let options = cell["settings"].split(' ');
                let options: BTreeSet<&str> = options
                    .filter(|option| option.starts_with("strategy=") || option.starts_with("warp-"))
                    .collect();
                cell["dataset"] == set && options == wanted
            };
            let cell = cells.iter().find(has).unwrap_or_else(|| panic!("{title} {set}"));
            shown(ms(cell).map(|ms| ms / 10.0))
        });
        text += &row(title, times);
    }
    text
}

fn geolocation(archive: &str) -> String {
    let cells = cells(archive);
    let mut text = head(&["ms, median", "1 GPU", "2 GPUs", "3 GPUs", "4 GPUs", "speed-up of 4"]);
    for set in ["rmat20", "rmat22", "grid4096x4096"] {
        let times = [1, 2, 3, 4].map(|gpus| ms(cell(&cells, "geolocation", set, gpus, "")));
        let gain = ratio(times[0].unwrap() / times[3].unwrap());
        text += &row(set, times.map(shown).into_iter().chain([gain]));
    }
    text
}

fn verified(archive: &str) -> String {
    let cells = cells(archive);
    let mut text = head(&["workload", "cells", "verified"]);
    for (name, workload) in [
        ("sssp", "sssp"),
        ("bfs", "bfs"),
        ("cc", "cc"),
        ("scc", "scc"),
        ("pagerank", "pr"),
        ("bc", "bc"),
    ] {
        let of: Vec<&Cell> = cells.iter().filter(|cell| cell["workload"] == workload).collect();
        let yes = of.iter().filter(|cell| cell["verified"] == "yes").count();
        text += &row(name, [of.len().to_string(), yes.to_string()]);
    }
    text
}

fn operators(archive: &str) -> String {
    let forall = json_of(archive, "forall.json");
    let mut text = head(&["", "1 GPU", "2 GPUs", "4 GPUs"]);
    let rows = [
        ("`y[i] = 2 * x[i] + 1` over 2^30 floats, ms", "/transform/checked-ms"),
        ("the same, `unchecked`, ms", "/transform/unchecked-ms"),
        ("a copy of as many bytes by the driver, ms", "/transform/copy-ms"),
        ("one launch of many, us", "/launch/us-a-launch"),
        ("the first launch of a lambda, with compiling, ms", "/compile/cold-ms"),
        ("the first launch of a lambda whose text is cached, ms", "/compile/cached-ms"),
    ];
    for (title, pointer) in rows {
        let values = forall["rows"].as_array().unwrap().iter().map(|row| {
            row.pointer(pointer)
                .and_then(|value| value.as_f64())
                .map_or("-".into(), |v| shown(Some(v)))
        });
        text += &row(title, values);
    }
    text
}

fn schemes(archive: &str) -> String {
    let forall = json_of(archive, "forall.json");
    let mut text =
        head(&["scheme", "GPUs", "local, ms", "neighbour, ms", "random, ms", "gather, ms"]);
    for row_of in forall["rows"].as_array().unwrap() {
        let gpus = row_of["fleet"]["world"].to_string();
        for scheme in row_of["schemes"].as_array().unwrap() {
            let values = ["local-ms", "neighbor-ms", "random-ms", "merge-ms"];
            let values = values.map(|name| match scheme[name].as_f64() {
                Some(value) if value > 0.0 => shown(Some(value)),
                _ => "-".into(),
            });
            let name = scheme["scheme"].as_str().unwrap();
            text += &row(name, [gpus.clone()].into_iter().chain(values));
        }
    }
    text
}

fn textbook(archive: &str) -> String {
    beside(archive, "textbook.json")
}

fn programs(archive: &str) -> String {
    beside(archive, "programs.json")
}

/// Programs of operators beside what is built in.
fn beside(archive: &str, file: &str) -> String {
    let textbook = json_of(archive, file);
    let mut text = head(&["workload", "graph", "replicas", "built-in ms", "operators ms"]);
    for cell in textbook["rows"].as_array().unwrap() {
        let word = |name: &str| cell[name].as_str().unwrap().to_string();
        let ms = |name: &str| shown(cell[name].as_f64());
        let values = [word("graph"), format!("`{}`", word("devices"))];
        let values = values.into_iter().chain([ms("built-in-ms"), ms("operators-ms")]);
        text += &row(&word("workload"), values);
    }
    text
}

/// Programs of readers of the guide.
fn readers(archive: &str) -> String {
    let mut text = head(&["program", "ms", "beside it", "ms"]);
    let found = json_of(archive, "readers.json");
    for cell in found["rows"].as_array().unwrap() {
        let word = |name: &str| cell[name].as_str().unwrap().to_string();
        let ms = |name: &str| shown(cell[name].as_f64());
        text += &row(&word("program"), [ms("ms"), word("beside"), ms("other-ms")]);
    }
    text
}

/// Functions of NetworkX: its own, the backend's and SciPy's.
fn python(archive: &str) -> String {
    let mut text =
        head(&["function", "graph", "NetworkX", "backend, first", "backend, again", "SciPy"]);
    for cell in json_of(archive, "python.json")["rows"].as_array().unwrap() {
        let word = |name: &str| cell[name].as_str().unwrap().to_string();
        let ms = |name: &str| cell[name].as_f64().map_or("-".into(), |ms| shown(Some(ms)));
        let times = ["networkx-ms", "first-ms", "again-ms", "scipy-ms"].map(ms);
        text += &row(&format!("`{}`", word("function")), [word("graph")].into_iter().chain(times));
    }
    text
}

/// What it takes to have the package, and a matrix in it.
fn python_start(archive: &str) -> String {
    let found = json_of(archive, "python.json");
    let mut text = head(&["what", "how much"]);
    let (start, csr) = (&found["start"], &found["csr"]);
    let number = |of: &serde_json::Value, name: &str| of[name].as_f64().unwrap();
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let arcs = (number(csr, "arcs") / 1e6).round();
    for (what, much) in [
        ("the wheel".to_string(), megabytes(number(start, "wheel-bytes"))),
        ("importing it, beyond NumPy".into(), format!("{:.1} ms", number(start, "import-ms"))),
        ("memory of the import, beyond NumPy".into(), megabytes(number(start, "import-bytes"))),
        (
            format!("CSR of {arcs} million arcs: from the call to the start of the layout"),
            format!("{:.3} s", number(csr, "until-layout-s")),
        ),
        ("its layout for PageRank".into(), format!("{:.3} s", number(csr, "layout-s"))),
        (
            "peak memory beyond what was held before, as a multiple of the layout".into(),
            format!("{:.2}", number(csr, "peak-bytes") / number(csr, "layout-bytes")),
        ),
    ] {
        text += &row(&what, [much]);
    }
    text
}

fn python_on_gpu(archive: &str) -> String {
    let columns = [
        ("program after CUDA's start", "program", "after-cuda-ms"),
        ("first matrix", "package", "first-ms"),
        ("a matrix", "package", "to-distances-ms"),
        ("another source, left on the GPU", "package", "source-on-device-ms"),
        ("in NumPy", "package", "source-on-host-ms"),
        ("its search", "package", "run-ms"),
    ];
    let names: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    let mut text = head(&[&["turn"], &names[..], &["matrix / program"]].concat());
    for (turn, found) in (1..).zip(records(archive, "resident.jsonl")) {
        let ms = |part: &str, name: &str| found[part][name].as_f64().unwrap();
        let mut cells: Vec<String> =
            columns.iter().map(|(_, part, name)| shown(Some(ms(part, name)))).collect();
        let ratio = ms("package", "to-distances-ms") / ms("program", "after-cuda-ms");
        cells.push(format!("{ratio:.2}"));
        text += &row(&turn.to_string(), cells);
    }
    text
}

/// The textbook loop beside what is chosen.
fn dense(archive: &str) -> String {
    let records = records(archive, "dense.jsonl");
    let columns = [
        ("one GPU, `auto`", 1, "nccl", "auto"),
        ("one GPU, `dense`", 1, "nccl", "dense"),
        ("two GPUs, `auto`", 2, "peer", "auto"),
        ("two GPUs, `dense`, NCCL", 2, "nccl", "dense"),
        ("two GPUs, `dense`, peer", 2, "peer", "dense"),
    ];
    let titles = columns.map(|(title, ..)| title);
    let mut text = head(&[&["ms, median", "graph"][..], &titles].concat());
    for workload in ["vn", "sssp", "bfs", "cc"] {
        for (graph, dataset) in
            [("rmat:22", "rmat22"), ("rmat:24", "rmat24"), ("uniform:2^22", "uniform4194304")]
        {
            let times = columns.map(|(title, count, collective, merge)| {
                let found = records.iter().find(|record| {
                    let of = &record["coordinates"];
                    record["dataset"] == dataset
                        && of["replicas"] == count
                        && [&of["workload"], &of["collective"], &of["merge"]]
                            == [workload, collective, merge]
                });
                let found = found.unwrap_or_else(|| panic!("{workload} of {graph}, {title}"));
                assert_eq!(found["verified"], "yes", "{workload} of {graph}, {title}");
                shown(found["process-time"]["median"].as_f64())
            });
            text += &row(workload, [graph.to_string()].into_iter().chain(times));
        }
    }
    text
}

/// GPUs that pass for smaller ones beside what they are, and two beside one: the geometric mean over graphs, and the worst.
/// Records of a sweep, by what they are of.
struct Sweep(Vec<serde_json::Value>);

impl Sweep {
    /// `[workload, graph, devices, collective, variant]` of a record.
    fn coordinates(record: &serde_json::Value) -> [&str; 5] {
        ["workload", "graph", "devices", "collective", "variant"]
            .map(|name| record["coordinates"][name].as_str().unwrap())
    }

    /// The median time in ms, of a run that was verified.
    fn ms(&self, wanted: [&str; 5]) -> Option<f64> {
        let record = self.0.iter().find(|record| Sweep::coordinates(record) == wanted)?;
        assert_ne!(record["verified"], "no", "{wanted:?}");
        record["process-time"]["median"].as_f64()
    }

    /// Times of one `[devices, collective, variant]` beside those of another, over all graphs: their mean, and the largest.
    fn beside(&self, workload: &str, one: [&str; 3], other: [&str; 3]) -> [String; 2] {
        let graphs: BTreeSet<&str> = self.0.iter().map(|r| Sweep::coordinates(r)[1]).collect();
        let time = |graph, [devices, collective, variant]: [&str; 3]| {
            self.ms([workload, graph, devices, collective, variant])
        };
        let all = graphs.into_iter().filter_map(|g| Some(time(g, one)? / time(g, other)?));
        let all: Vec<f64> = all.collect();
        let mean = (all.iter().map(|x| x.ln()).sum::<f64>() / all.len() as f64).exp();
        let worst = all.into_iter().reduce(f64::max);
        [ratio(mean), worst.map_or("-".into(), ratio)]
    }
}

/// The workloads that were measured, those of the standing set first.
const WORKLOADS: [&str; 12] = [
    "sssp",
    "bfs",
    "cc",
    "pagerank",
    "bc",
    "scc",
    "kcore",
    "triangles",
    "katz",
    "geo",
    "vn",
    "filter",
];

fn pretend(archive: &str) -> String {
    let sweep = Sweep(records(archive, "pretend.jsonl"));
    let models = ["v100", "a100", "l40s", "t4"];
    let titles = models.map(|model| format!("{model}, mean"));
    let mut text = head(&[
        "time beside that of one H100",
        &titles[0],
        &titles[1],
        &titles[2],
        &titles[3],
        "two l40s beside one, mean",
        "worst",
        "two t4 beside one, mean",
        "worst",
    ]);
    for workload in WORKLOADS {
        let alone = models.map(|model| {
            let variant = format!("pretend={model}");
            let [one, whole] = [["cuda:0", "auto", &variant], ["cuda:0", "auto", ""]];
            sweep.beside(workload, one, whole)[0].clone()
        });
        let two = ["pretend=l40s", "pretend=t4"].map(|variant| {
            let of = |devices| [devices, "auto", variant];
            sweep.beside(workload, of("cuda:0-1"), of("cuda:0"))
        });
        text += &row(workload, alone.into_iter().chain(two.concat()));
    }
    text
}

fn apart(archive: &str) -> String {
    let sweep = Sweep(records(archive, "apart.jsonl"));
    let mut text =
        head(&["two GPUs beside one", "through NCCL, mean", "worst", "by size, mean", "worst"]);
    for workload in WORKLOADS {
        let all = ["nccl", "auto"].map(|collective| {
            let of = |devices| [devices, collective, ""];
            sweep.beside(workload, of("cuda:0-1"), of("cuda:0"))
        });
        text += &row(workload, all.concat());
    }
    text
}

fn processes(archive: &str) -> String {
    let all = records(archive, "processes.jsonl");
    // The better of two turns.
    let ms = |wanted: [&str; 5], processes: u64| {
        let of = |record: &&serde_json::Value| {
            Sweep::coordinates(record) == wanted && record["fleet"]["processes"] == processes
        };
        let times = all.iter().filter(of).map(|r| r["process-time"]["median"].as_f64().unwrap());
        times.reduce(f64::min).unwrap()
    };
    let mut text = head(&["two processes beside one", "cells", "mean", "worst"]);
    for workload in &WORKLOADS[..5] {
        let cells: BTreeSet<[&str; 5]> = all.iter().map(Sweep::coordinates).collect();
        let of = cells.into_iter().filter(|cell| cell[0] == *workload);
        let ratios: Vec<f64> = of.map(|cell| ms(cell, 2) / ms(cell, 1)).collect();
        let mean = (ratios.iter().map(|x| x.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let worst = ratios.iter().copied().reduce(f64::max).unwrap();
        let values = [ratios.len().to_string(), format!("{mean:.3}"), format!("{worst:.3}")];
        text += &row(workload, values);
    }
    text
}

fn unequal(archive: &str) -> String {
    let sweep = Sweep(records(archive, "unequal.jsonl"));
    let mut text = head(&[
        "ms, R-MAT 22",
        "one GPU",
        "a third",
        "two GPUs",
        "one and a third",
        "beside the ideal",
        "one, and one that two replicas share",
        "one, and one that three share",
    ]);
    for workload in ["pagerank", "bc", "geo"] {
        let ms =
            |devices, variant| sweep.ms([workload, "rmat:22", devices, "auto", variant]).unwrap();
        let (one, two) = (ms("cuda:0", ""), ms("cuda:0-1", ""));
        let third = ms("cuda:0-1", "pretend=itself,1/3");
        let ideal = 0.75 * one + (two - 0.5 * one);
        let all = [one, ms("cuda:0", "pretend=1/3"), two, third].map(|ms| format!("{ms:.2}"));
        let shared =
            ["cuda:0,1,1", "cuda:0,1,1,1"].map(|devices| format!("{:.2}", ms(devices, "")));
        text += &row(workload, all.into_iter().chain([ratio(third / ideal)]).chain(shared));
    }
    text
}

fn loading(archive: &str) -> String {
    let load = json_of(archive, "load.json");
    let mut text = head(&["file", "MB", "ms, median", "MB/s", "peak memory / CSR"]);
    for load in load["loads"].as_array().unwrap() {
        let mut seconds: Vec<f64> =
            load["seconds"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
        seconds.sort_by(f64::total_cmp);
        let peak = load["peak_share"].as_f64().map_or("-".into(), ratio);
        let values = [
            format!("{:.0}", load["bytes"].as_f64().unwrap() / 1e6),
            format!("{:.0}", seconds[seconds.len() / 2] * 1e3),
            format!("{:.0}", load["mb_per_second"].as_f64().unwrap()),
            peak,
        ];
        text += &row(load["what"].as_str().unwrap(), values);
    }
    text
}

fn host(archive: &str) -> String {
    let host = json_of(archive, "host.json");
    let mut text = head(&["R-MAT 18", "median, ms", "min, ms", "max, ms"]);
    for line in host["rows"].as_array().unwrap() {
        let times = ["median", "min", "max"].map(|name| shown(line["time"][name].as_f64()));
        text += &row(line["name"].as_str().unwrap(), times);
    }
    text
}

fn beside_gap(archive: &str, cores: u64) -> String {
    let mut lines = records(archive, "gap.jsonl");
    lines.retain(|line| line["cores"] == cores);
    let mut graphs: Vec<&str> = lines.iter().map(|line| line["graph"].as_str().unwrap()).collect();
    graphs.dedup();
    let sides = graphs.iter().flat_map(|graph| [format!("{graph}: GAP"), "hive".into()]);
    let first = [format!("{cores} cores, ms, median")];
    let names: Vec<String> = first.into_iter().chain(sides).collect();
    let mut text = head(&names.iter().map(|name| &**name).collect::<Vec<_>>());
    for workload in ["bfs", "sssp", "cc", "bc", "pagerank", "triangles"] {
        let of = |graph: &&str| {
            let found = |line: &&serde_json::Value| {
                (&line["graph"], &line["workload"]) == (&(*graph).into(), &workload.into())
            };
            let line = lines.iter().find(found).unwrap();
            ["gap_ms", "hive_ms"].map(|side| shown(line[side].as_f64()))
        };
        text += &row(workload, graphs.iter().flat_map(of));
    }
    text
}

/// What whole processes are asked, and of which graph.
const WHOLE: [(&str, &str); 4] =
    [("bfs", "bfs"), ("cc", "cc"), ("sssp", "sssp"), ("pagerank", "pr")];
const WHOLE_OF: [(&str, &str); 2] = [("`r24.bin`", "r24"), ("`rmat:24`", "rmat24")];

/// The record of a process that answered one question on one GPU.
fn process(records: &[serde_json::Value], workload: &str, dataset: &str) -> serde_json::Value {
    let found = records.iter().find(|record| {
        record["primitive"] == workload
            && record["dataset"] == dataset
            && record["coordinates"]["devices"] == "cuda:0"
    });
    found.unwrap_or_else(|| panic!("no {workload} of {dataset}")).clone()
}

/// The run beside the process around it.
fn whole(archive: &str) -> String {
    let records = records(archive, "end-to-end.jsonl");
    let columns = ["ms", "run", "process, `r24.bin`", "process, `rmat:24`"];
    let mut text = head(&columns);
    for (title, workload) in WHOLE {
        let [file, made] = WHOLE_OF.map(|(_, set)| process(&records, workload, set));
        let whole = |of: &serde_json::Value| shown(of["end-to-end"]["total"].as_f64());
        let run = shown(file["process-time"]["median"].as_f64());
        text += &row(title, [run, whole(&file), whole(&made)]);
    }
    text
}

/// The stages of the same processes.
fn stages(archive: &str) -> String {
    let records = records(archive, "end-to-end.jsonl");
    let stages = [
        "start", "devices", "read", "build", "copy", "lay-out", "choose", "compile", "set-up",
        "run", "download", "report", "total",
    ];
    let mut text = head(&[&["ms", "graph"], &stages[..]].concat());
    for (title, workload) in WHOLE {
        for (graph, set) in WHOLE_OF {
            let of = process(&records, workload, set);
            let stage = |stage: &str| match of["end-to-end"][stage].as_f64() {
                Some(ms) if ms >= 0.05 => format!("{ms:.1}"),
                _ => "-".into(),
            };
            text += &row(title, [graph.to_string()].into_iter().chain(stages.map(stage)));
        }
    }
    text
}

/// A graph that is larger than a GPU.
fn rmat_30(archive: &str) -> String {
    let records = records(archive, "rmat-30.jsonl");
    assert!(records.iter().all(|record| record["verified"] == "yes"));
    drawn(&records, ["R-MAT 30", "rmat30"], &WHOLE)
}

/// Single processes on a graph that is drawn, by its title and its name in records.
fn drawn(
    records: &[serde_json::Value],
    [title, dataset]: [&str; 2],
    workloads: &[(&str, &str)],
) -> String {
    let columns =
        [title, "run, ms", "arcs, GiB a GPU", "laid out, s", "verified in, s", "process, s"];
    let mut text = head(&columns);
    for (title, workload) in workloads {
        let of = records.iter().find(|record| record["primitive"] == *workload);
        let of = of.unwrap_or_else(|| panic!("no {workload} of {dataset}"));
        assert_eq!(of["dataset"], dataset, "{title}");
        let seconds = |ms: &serde_json::Value| format!("{:.1}", ms.as_f64().unwrap() / 1e3);
        let bytes = of["prepare"]["bytes_per_replica"].as_f64().unwrap();
        let stages = &of["end-to-end"];
        let verified = match of["verified"] == "yes" {
            true => seconds(&stages["verify"]),
            false => "not verified".into(),
        };
        let cells = [
            shown(of["process-time"]["median"].as_f64()),
            format!("{:.1}", bytes / f64::from(1 << 30)),
            seconds(&stages["lay-out"]),
            verified,
            seconds(&stages["total"]),
        ];
        text += &row(title, cells);
    }
    text
}

/// Graphs whose communities are found: a title, and the name in records.
const DIVIDED: [(&str, &str); 6] = [
    ("email-Enron", "email-Enron"),
    ("soc-Slashdot0902", "soc-Slashdot0902"),
    ("USA-road-d.NY", "USA-road-d.NY"),
    ("rmat:20", "rmat20"),
    ("rmat:22", "rmat22"),
    ("rmat:24", "rmat24"),
];

fn communities(archive: &str) -> String {
    let records = records(archive, "communities.jsonl");
    let columns = [
        "graph",
        "workload",
        "arcs",
        "modularity",
        "one GPU, ms",
        "two GPUs, ms",
        "G arcs/s on one",
    ];
    let mut text = head(&columns);
    let both = DIVIDED.iter().flat_map(|of| ["louvain", "leiden"].map(|workload| (of, workload)));
    for ((title, dataset), workload) in both {
        let [one, two] = [1, 2].map(|gpus| verified_cell(&records, (workload, dataset, ""), gpus));
        let (Some(one), Some(two)) = (one, two) else {
            // It takes too long to be in configs/communities.toml.
            assert!(workload == "leiden" && *dataset == "rmat24", "{workload} of {dataset}");
            continue;
        };
        let ms = |record: &serde_json::Value| record["process-time"]["median"].as_f64();
        let arcs = one["graph-edges"].as_f64().unwrap();
        let [modularity, other] = [one, two].map(|record| record["modularity"].as_f64().unwrap());
        assert_eq!(modularity.to_bits(), other.to_bits(), "{dataset}");
        let cells = [
            workload.to_string(),
            format!("{:.1} M", arcs / 1e6),
            format!("{modularity:.4}"),
            shown(ms(one)),
            shown(ms(two)),
            format!("{:.3}", arcs / ms(one).unwrap() / 1e6),
        ];
        text += &row(title, cells);
    }
    text
}

/// An application of HIVE's report: the name, its graph, its milliseconds on one and sixteen V100s (gunrock/docs, hive_phase2, plots),
/// the workload and the graph here, and whether both compute the same.
type Application =
    (&'static str, &'static str, [&'static str; 2], (&'static str, &'static str), &'static str);

const HIVE: [Application; 6] = [
    ("vertex nomination, 10 seeds", "rmat22", ["17.28", "9.432"], ("vn", "rmat22"), "yes"),
    ("scan statistics", "pokec", ["89", "101"], ("scan", "rmat21"), "yes"),
    ("GraphSAGE", "pokec", ["923", "927"], ("sample", "uniform2097152-ef11"), "samples alone"),
    ("graph search, uniform", "Twitter", ["484.3", "831.9"], ("walk", "uniform8388608-ef3"), "yes"),
    ("local clustering", "hollywood", ["1.6", "14.7"], ("cluster", "rmat20-ef64"), "another rule"),
    ("communities, Louvain", "-", ["failed", "failed"], ("louvain", "rmat21"), "yes"),
];

fn hive_applications(archive: &str) -> String {
    let records = records(archive, "hive.jsonl");
    let columns = [
        "application",
        "HIVE's graph",
        "one V100, ms",
        "16 V100s, ms",
        "workload",
        "graph",
        "one H200, ms",
        "two H200s, ms",
        "the same computation",
    ];
    let mut text = head(&columns);
    for (title, theirs, [one, sixteen], (workload, dataset), same) in HIVE {
        let [ours, two] = [1, 2].map(|gpus| {
            let found = verified_cell(&records, (workload, dataset, ""), gpus);
            let found = found.unwrap_or_else(|| panic!("no {workload} of {dataset} on {gpus}"));
            shown(found["process-time"]["median"].as_f64())
        });
        let cells = [theirs, one, sixteen, workload, dataset].map(String::from);
        text += &row(title, cells.into_iter().chain([ours, two, same.into()]));
    }
    text
}

/// Graphs of the applications: a title, and the name in records.
const PEOPLE: [(&str, &str); 4] = [
    ("rmat:22", "rmat22"),
    ("rmat:24", "rmat24"),
    ("email-Enron", "email-Enron"),
    ("USA-road-d.NY", "USA-road-d.NY"),
];

fn applications(archive: &str) -> String {
    let records = records(archive, "applications.jsonl");
    let columns = PEOPLE.map(|(title, _)| [format!("{title}, one GPU"), "two".into()]).concat();
    let titles: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut text = head(&[&["ms"], &titles[..]].concat());
    for workload in ["cdlp", "lcc", "scan", "walk", "sample", "ppr", "mst", "similar"] {
        let ms = PEOPLE.map(|(_, dataset)| {
            [1, 2].map(|gpus| {
                // Of ppr some sources are checked, of large graphs' similar nodes some rows.
                let some = workload == "ppr" || workload == "similar" && dataset == "rmat22";
                let all = if some { "partly" } else { "yes" };
                let many = workload == "sample" && dataset.starts_with("rmat");
                let variant = if many { "sources=connected:524288:1" } else { "" };
                let found = cell_of(&records, (workload, dataset, variant), gpus);
                let found = found.inspect(|found| assert_eq!(found["verified"], all, "{dataset}"));
                found.map_or("-".into(), |found| shown(found["process-time"]["median"].as_f64()))
            })
        });
        text += &row(workload, ms.concat());
    }
    text
}

/// Graphs of which distances are found: a title, and the name in records.
const FAR: [(&str, &str); 4] = [
    ("rmat:20", "rmat20"),
    ("rmat:22", "rmat22"),
    ("road:18", "road512x512"),
    ("USA-road-d.NY", "USA-road-d.NY"),
];

fn matrices(archive: &str) -> String {
    let records = records(archive, "matrices.jsonl");
    let mut text = head(&[
        "one H200, ms a source",
        "hops",
        "two GPUs: hops",
        "distances",
        "two GPUs: distances",
    ]);
    for (title, dataset) in FAR {
        let cells = ["hops", "distances"].map(|workload| {
            let ms = [1, 2].map(|gpus| {
                let found = records.iter().find(|record| {
                    record["coordinates"]["replicas"] == gpus
                        && record["dataset"] == dataset
                        && record["coordinates"]["workload"] == workload
                });
                let found = found.unwrap_or_else(|| panic!("no {workload} of {dataset} on {gpus}"));
                assert!(["yes", "partly"].contains(&found["verified"].as_str().unwrap()));
                let sources = found["sources-searched"].as_f64().unwrap();
                found["process-time"]["median"].as_f64().unwrap() / sources
            });
            [shown(Some(ms[0])), format!("{:.2}", ms[0] / ms[1])]
        });
        text += &row(title, cells.concat());
    }
    text
}

fn from_many(archive: &str) -> String {
    let records = records(archive, "matrices.jsonl");
    let mut text = head(&["closeness by arcs", "one H200, ms", "a source", "two, ms", "as fast"]);
    for (dataset, sources) in
        ["rmat22", "rmat24"].map(|d| [1024, 4096, 8192].map(|n| (d, n))).concat()
    {
        let ms = [1, 2].map(|gpus| {
            let found = records.iter().find(|record| {
                record["coordinates"]["replicas"] == gpus
                    && record["dataset"] == dataset
                    && record["coordinates"]["workload"] == "closeness"
                    && record["sources-searched"] == sources
            });
            let found = found.unwrap_or_else(|| panic!("no closeness of {dataset} on {gpus}"));
            assert_eq!(found["verified"], "partly");
            found["process-time"]["median"].as_f64().unwrap()
        });
        let title = format!("{dataset}, {sources} sources");
        let each = format!("{:.4}", ms[0] / f64::from(sources));
        let cells = [shown(Some(ms[0])), each, shown(Some(ms[1])), format!("{:.2}", ms[0] / ms[1])];
        text += &row(&title, cells);
    }
    text
}

fn all_pairs(archive: &str) -> String {
    let records = records(archive, "matrices.jsonl");
    let mut text = head(&["closeness of every node", "one H200, s", "two, s", "largest", "mean"]);
    for (title, dataset, weighted) in [
        ("USA-road-d.NY, by weight", "USA-road-d.NY", true),
        ("USA-road-d.NY, by arcs", "USA-road-d.NY", false),
        ("email-Enron, all weights 1", "email-Enron", true),
        ("email-Enron, by arcs", "email-Enron", false),
    ] {
        let [one, two] = [1, 2].map(|gpus| {
            let found = records.iter().find(|record| {
                record["coordinates"]["replicas"] == gpus
                    && record["dataset"] == dataset
                    && record["coordinates"]["workload"] == "closeness"
                    && record["config"]["closeness"]["weighted"] == weighted
            });
            let found = found.unwrap_or_else(|| panic!("no {title} on {gpus}"));
            assert!(["yes", "partly"].contains(&found["verified"].as_str().unwrap()));
            found
        });
        let seconds = |record: &serde_json::Value| {
            shown(record["process-time"]["median"].as_f64().map(|ms| ms / 1e3))
        };
        let cells = [
            seconds(one),
            seconds(two),
            one["farthest"].to_string(),
            shown(one["mean-distance"].as_f64()),
        ];
        text += &row(title, cells);
    }
    text
}

fn beside_igraph(archive: &str) -> String {
    let records = records(archive, "igraph.jsonl");
    let mut text = head(&[
        "2 cores",
        "workload",
        "edges",
        "modularity",
        "igraph's mean",
        "igraph's best",
        "ms",
        "igraph, ms",
    ]);
    for record in &records {
        assert_eq!(record["verified"], "yes", "{}", record["graph"]);
        let value = |name: &str| record[name].as_f64().unwrap();
        let theirs = |name: &str| record["igraph"][name].as_f64().unwrap();
        let title = record["graph"].as_str().unwrap().split('.').next().unwrap();
        let cells = [
            record["workload"].as_str().unwrap().to_string(),
            value("edges").to_string(),
            format!("{:.4}", value("modularity")),
            format!("{:.4}", theirs("mean")),
            format!("{:.4}", theirs("best")),
            shown(Some(value("ms"))),
            shown(Some(theirs("ms"))),
        ];
        text += &row(title, cells);
    }
    text
}

fn beside_libraries(archive: &str) -> String {
    let mut text = head(&["2 cores", "graph", "ms", "the other, ms", "which", "answers"]);
    for record in &records(archive, "beside.jsonl") {
        assert_eq!(record["verified"], "yes", "{}", record["graph"]);
        let word = |name: &str| record[name].as_str().unwrap().to_string();
        let answers = match record["equal"].as_bool() {
            Some(true) => "equal",
            Some(false) => {
                panic!("{} of {} is another answer", record["workload"], record["graph"])
            }
            None => "not compared",
        };
        let cells = [
            word("graph").split('.').next().unwrap().to_string(),
            shown(record["ms"].as_f64()),
            shown(record["its ms"].as_f64()),
            format!("{} {}", word("library"), word("version")),
            answers.to_string(),
        ];
        text += &row(&word("workload"), cells);
    }
    text
}

fn rmat_31(archive: &str) -> String {
    let rows = [("bfs", "bfs"), ("pagerank, 2 iterations", "pr")];
    drawn(&records(archive, "rmat-31.jsonl"), ["R-MAT 31", "rmat31"], &rows)
}

/// The record of a workload on a dataset, loaded or run as the variant says, on so many GPUs.
fn verified_cell<'a>(
    records: &'a [serde_json::Value],
    (workload, dataset, variant): (&str, &str, &str),
    count: u64,
) -> Option<&'a serde_json::Value> {
    let found = cell_of(records, (workload, dataset, variant), count)?;
    assert_eq!(found["verified"], "yes", "{workload} of {dataset}");
    Some(found)
}

fn cell_of<'a>(
    records: &'a [serde_json::Value],
    (workload, dataset, variant): (&str, &str, &str),
    count: u64,
) -> Option<&'a serde_json::Value> {
    records.iter().find(|record| {
        let of = &record["coordinates"];
        of["replicas"] == count
            && record["dataset"] == dataset
            && (&of["workload"], &of["variant"]) == (&workload.into(), &variant.into())
    })
}

/// Graphs without hubs: a title, and the name in records.
const FLAT: [(&str, &str); 3] = [
    ("uniform:2^22", "uniform4194304"),
    ("uniform:2^24", "uniform16777216"),
    ("rmat:24,params=gtgraph", "rmat24-gtgraph"),
];

fn flat(archive: &str) -> String {
    let records = records(archive, "flat.jsonl");
    let columns = FLAT.map(|(title, _)| [format!("{title}, median"), "worst".into()]).concat();
    let gains = FLAT.map(|(title, _)| format!("two GPUs, {title}"));
    let first = [String::from("one H200, ms")];
    let names: Vec<&str> = first.iter().chain(&columns).chain(&gains).map(|n| &**n).collect();
    let mut text = head(&names);
    for (title, workload, weights) in [
        ("sssp, weights 1 to 64", "sssp", ""),
        ("sssp, weights 1 to 8", "sssp", "weights=random:1-8:1"),
        ("sssp, weights 0 to 10^6", "sssp", "weights=random:0-1000000:1"),
        ("bfs", "bfs", ""),
        ("cc", "cc", ""),
        ("pagerank, 10 iterations", "pagerank", ""),
    ] {
        let time = |dataset: &str, count: u64, which: &str| {
            let of = verified_cell(&records, (workload, dataset, weights), count);
            let of = of.unwrap_or_else(|| panic!("no {title} of {dataset} on {count} GPUs"));
            of["process-time"][which].as_f64().unwrap()
        };
        let on_one = |(_, dataset): (_, &str)| {
            ["median", "max"].map(|which| shown(Some(time(dataset, 1, which))))
        };
        let gain = |(_, dataset): (_, &str)| {
            let [one, two] = [1, 2].map(|count| time(dataset, count, "median"));
            ratio(one / two)
        };
        text += &row(title, FLAT.map(on_one).concat().into_iter().chain(FLAT.map(gain)));
    }
    text
}

/// Graphs of long paths: a title, the name in records, and the variant.
const LONG: [(&str, &str, &str); 6] = [
    ("grid:4096x4096", "grid4096x4096", ""),
    ("the same, ids at random", "grid4096x4096", "relabel=random:1"),
    ("road:24", "road4096x4096", ""),
    ("road:20", "road1024x1024", ""),
    ("USA-road-d.NY", "USA-road-d.NY", ""),
    ("chain:2^16", "chain65536", ""),
];

fn long_paths(archive: &str) -> String {
    let records = records(archive, "long.jsonl");
    let drawn = "sources=connected:8:1";
    let mut text = head(&[
        "one H200, ms, median",
        "sssp",
        "bfs",
        "bfs, drawn sources",
        "worst",
        "bc, 1 source",
        "bc, 8 sources",
        "two GPUs: sssp",
        "bfs",
        "bc, 8 sources",
    ]);
    for (title, dataset, own) in LONG {
        let time = |workload: &str, variant: &str, count: u64, which: &str| {
            let of = verified_cell(&records, (workload, dataset, variant), count)?;
            assert_eq!(of["strategy"], "tiles", "{title}, {workload}");
            of["process-time"][which].as_f64()
        };
        let one = |workload, variant, which| {
            time(workload, variant, 1, which).map_or("-".into(), |ms| shown(Some(ms)))
        };
        let gain = |workload, variant| {
            let [one, two] = [1, 2].map(|count| time(workload, variant, count, "median"));
            one.zip(two).map_or("-".into(), |(one, two)| ratio(one / two))
        };
        // Others than the default source, and paths, are for the graph as it is.
        let drawn = if own.is_empty() { drawn } else { "none" };
        let source = if own.is_empty() { own } else { "none" };
        let cells = [
            one("sssp", own, "median"),
            one("bfs", own, "median"),
            one("bfs", drawn, "median"),
            one("bfs", drawn, "max"),
            one("bc", source, "median"),
            one("bc", drawn, "median"),
            gain("sssp", own),
            gain("bfs", own),
            gain("bc", drawn),
        ];
        text += &row(title, cells);
    }
    text
}

/// The commit before kernels were tuned on other kinds than Graph500's R-MAT and grids.
const BEFORE_KINDS: &str = "249a466";

/// The longest time an arc among all kinds of graphs over the shortest.
fn kinds(archive: &str) -> String {
    let records = records(archive, "kinds.jsonl");
    let gpus =
        ["one GPU, before", "after", "the longest", "two GPUs, before", "after", "the longest"];
    let mut text =
        head(&["longest over shortest time an arc"].into_iter().chain(gpus).collect::<Vec<_>>());
    for workload in ["sssp", "bfs", "cc", "pagerank", "bc", "scc", "kcore", "triangles"] {
        let spread = |count: u64, before: bool| {
            let of = records.iter().filter(|record| {
                let commit = record["commit"].as_str().unwrap();
                let at = &record["coordinates"];
                at["workload"] == workload
                    && at["replicas"] == count
                    && commit.starts_with(BEFORE_KINDS) == before
            });
            let mut each: Vec<(f64, String)> = of
                .map(|record| {
                    let at = &record["coordinates"];
                    assert_eq!(record["verified"], "yes", "{at}");
                    let median = record["process-time"]["median"].as_f64().unwrap();
                    let variant = at["variant"].as_str().unwrap().replace("weights=", ", ");
                    let kind = at["graph"].as_str().unwrap().rsplit('/').next().unwrap();
                    (median / record["graph-edges"].as_f64().unwrap(), format!("{kind}{variant}"))
                })
                .collect();
            assert!(each.len() > 10, "{workload} on {count}: {}", each.len());
            each.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (least, most) = (&each[0], &each[each.len() - 1]);
            (format!("{:.0}", most.0 / least.0), most.1.clone())
        };
        let cells = [1, 2].map(|count| {
            let (after, longest) = spread(count, false);
            [spread(count, true).0, after, longest]
        });
        text += &row(workload, cells.concat());
    }
    text
}

/// Graphs on which launches are most of a run.
fn small(archive: &str) -> String {
    let records = records(archive, "small.jsonl");
    let graphs = ["star:64", "wiki-Vote", "email-Enron", "soc-Slashdot0902"];
    let titles = ["arcs", "sssp", "rounds", "bfs", "rounds", "cc", "rounds"];
    let mut text = head(&["ms, median"].into_iter().chain(titles).collect::<Vec<_>>());
    for graph in graphs {
        let of = |workload: &str| {
            let found = records.iter().find(|record| {
                let at = &record["coordinates"];
                at["workload"] == workload && at["graph"].as_str().unwrap().contains(graph)
            });
            let found = found.unwrap_or_else(|| panic!("no {workload} of {graph}"));
            assert_eq!(found["verified"], "yes", "{workload} of {graph}");
            found
        };
        let cells = ["sssp", "bfs", "cc"].map(|workload| {
            let record = of(workload);
            let rounds = record["measured"]["rounds"].to_string();
            [shown(record["process-time"]["median"].as_f64()), rounds]
        });
        let arcs = of("sssp")["graph-edges"].to_string();
        text += &row(graph, [arcs].into_iter().chain(cells.concat()));
    }
    text
}

fn generating(archive: &str) -> String {
    let mut text = head(&["graph", "million arcs", "ms, median"]);
    for scale in [24, 26, 28] {
        let made = json_of(archive, &format!("generate-{scale}.json"));
        let arcs = format!("{:.0}", made["arcs"].as_f64().unwrap() / 1e6);
        text += &row(&format!("`rmat:{scale}`"), [arcs, shown(made["time_ms"]["median"].as_f64())]);
    }
    text
}

/// A table's name, its archive or command, and what makes it.
type Table = (&'static str, &'static str, fn(&str) -> String);

const TABLES: [Table; 45] = [
    ("workloads", "hive run --help", workloads),
    ("results", "standing-0740e20.tar.gz", |archive| standing(archive, &[1, 8])),
    ("standing set", "standing-0740e20.tar.gz", |archive| standing(archive, &[1, 2, 3, 4, 8])),
    ("resets", "standing-0740e20.tar.gz", resets),
    ("R-MAT 27", "scaling-27-0740e20.tar.gz", scaling_27),
    ("all workloads", "strong-scaling-88d3e2b.tar.gz", all_workloads),
    ("weak scaling", "weak-scaling-0740e20.tar.gz", weak),
    ("ablations", "ablations-6f3ef07.tar.gz", ablations),
    ("strategies", "pagerank-bf16fe6.tar.gz", strategies),
    ("geolocation", "geo-69455a9.tar.gz", geolocation),
    ("verified", "real-bf16fe6.tar.gz", verified),
    ("operators", "benches.tar.gz", operators),
    ("textbook", "benches.tar.gz", textbook),
    ("programs", "benches.tar.gz", programs),
    ("readers", "benches.tar.gz", readers),
    ("dense", "benches.tar.gz", dense),
    ("pretend", "benches.tar.gz", pretend),
    ("apart", "benches.tar.gz", apart),
    ("unequal", "benches.tar.gz", unequal),
    ("several processes", "benches.tar.gz", processes),
    ("schemes", "benches.tar.gz", schemes),
    ("loading", "benches.tar.gz", loading),
    ("host", "benches.tar.gz", host),
    ("beside GAP", "benches.tar.gz", |archive| beside_gap(archive, 2)),
    ("beside GAP on 16 cores", "benches.tar.gz", |archive| beside_gap(archive, 16)),
    ("generating", "benches.tar.gz", generating),
    ("processes", "benches.tar.gz", whole),
    ("stages", "benches.tar.gz", stages),
    ("R-MAT 30", "benches.tar.gz", rmat_30),
    ("R-MAT 31", "benches.tar.gz", rmat_31),
    ("communities", "benches.tar.gz", communities),
    ("applications", "benches.tar.gz", applications),
    ("HIVE's applications", "benches.tar.gz", hive_applications),
    ("matrices", "benches.tar.gz", matrices),
    ("from many sources", "benches.tar.gz", from_many),
    ("all pairs", "benches.tar.gz", all_pairs),
    ("beside igraph", "benches.tar.gz", beside_igraph),
    ("beside other libraries", "benches.tar.gz", beside_libraries),
    ("flat", "benches.tar.gz", flat),
    ("long paths", "benches.tar.gz", long_paths),
    ("kinds", "benches.tar.gz", kinds),
    ("small", "benches.tar.gz", small),
    ("Python", "benches.tar.gz", python),
    ("Python at its start", "benches.tar.gz", python_start),
    ("Python on a GPU", "benches.tar.gz", python_on_gpu),
];

const WRITE: &str = "HIVE_WRITE_DOCS=1 cargo test docs writes it anew";

/// A table stands below `<!-- table NAME: ARCHIVE -->`, and is what the archive makes it. `HIVE_WRITE_DOCS=1` writes
/// the tables and the picture.
#[test]
fn every_number_of_the_results_is_that_of_its_archive() {
    let write = std::env::var_os("HIVE_WRITE_DOCS").is_some();
    let mut seen = BTreeSet::new();
    for page in ["README.md", "docs/results.md"] {
        let text = read(page);
        let mut parts = text.split("<!-- table ");
        let mut new = parts.next().unwrap().to_string();
        for part in parts {
            let (mark, rest) = part.split_once(" -->\n").unwrap();
            let (name, archive) = mark.split_once(": ").unwrap();
            let known = TABLES.iter().find(|table| (table.0, table.1) == (name, archive));
            let table = (known.unwrap_or_else(|| panic!("{page}: no table {mark}")).2)(archive);
            assert!(seen.insert(name.to_string()), "{name} is there twice");
            let rest = rest.trim_start_matches('\n');
            let (is, rest) = match rest.starts_with('|') {
                true => rest.split_once("\n\n").unwrap_or((rest.trim_end(), "")),
                false => ("", rest),
            };
            let is = if is.is_empty() { String::new() } else { format!("{is}\n") };
            if !write {
                for (is, says) in is.lines().zip(table.lines()) {
                    assert_eq!(is, says, "{page}, {name}; {WRITE}");
                }
                assert_eq!(is.len(), table.len(), "{page}, {name}; {WRITE}");
            }
            let end = if rest.is_empty() { String::new() } else { format!("\n{rest}") };
            new += &format!("<!-- table {mark} -->\n\n{table}{end}");
        }
        if write {
            fs::write(root().join(page), new).unwrap();
        }
    }
    assert_eq!(seen.len(), TABLES.len(), "{seen:?}");
    let svg = picture();
    if write {
        fs::write(root().join("docs/speed-up.svg"), svg).unwrap();
    } else {
        assert_eq!(read("docs/speed-up.svg"), svg, "docs/speed-up.svg; {WRITE}");
    }
}

/// No other table of results.md has numbers, and no sentence there or in the README states a measured one.
#[test]
fn numbers_are_in_tables_alone() {
    let units = ["ms", "us", "s", "seconds", "minutes", "times", "%", "GB/s", "G/s", "MB/s", "x"];
    for page in ["README.md", "docs/results.md"] {
        let prose = prose(page);
        let mut made = false;
        for line in prose.lines() {
            made = line.starts_with("<!-- table ")
                || made && (line.is_empty() || line.starts_with('|'));
            if made {
                continue;
            }
            assert!(
                page == "README.md" || !line.starts_with('|'),
                "{page}: a table by hand: {line}"
            );
            let words: Vec<&str> = line
                .split_whitespace()
                .map(|word| word.trim_matches(&['(', ')', ',', ';', '.', ':'][..]))
                .collect();
            for pair in words.windows(2) {
                let counts = pair[0].parse::<f64>().is_ok();
                assert!(!(counts && units.contains(&pair[1])), "{page}: {} {}", pair[0], pair[1]);
            }
            let joined = |word: &&&str| {
                units
                    .iter()
                    .any(|unit| word.strip_suffix(unit).is_some_and(|n| n.parse::<f64>().is_ok()))
            };
            assert_eq!(words.iter().find(joined), None, "{page}: {line}");
        }
    }
}
