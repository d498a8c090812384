//! One good file of every format, and what becomes of it when it is damaged in each of a fixed list of ways:
//! the same graph, where the damage is harmless; else one line that names the file, and exit code 2. A file
//! whose values were changed to other sound values loads, for nothing in it tells; never one that has not
//! what its own header declares. docs/bad-input.md lists all of it, and is compared here.

use crate::common;

use hivegraph::io::{Cache, LoadOptions, Locations, load_with, read_locations};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);
/// Where the written part of the document ends.
const MARK: &str = "<!-- From here on written by tests/graphs/damaged.rs: HIVE_WRITE_DOCS=1 cargo test --test graphs damaged -->\n";

/// Whether a damage must leave the graph as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    Same,
    Any,
}
use Expected::{Any, Same};

type Damages = Vec<(&'static str, Expected, Vec<u8>)>;

/// What a file holds, for what may be done to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Text,
    Binary,
    Places,
}

struct Format {
    name: &'static str,
    file: &'static str,
    kind: Kind,
    good: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    Same,
    /// Sound, but not what the file was made from: nodes, arcs.
    Other(u64, u64),
    Refused(String),
}

fn formats() -> Vec<Format> {
    let kind = |name: &str| match name {
        "Matrix Market" | "DIMACS" | "METIS" => Kind::Text,
        name if name.contains("edge list") => Kind::Text,
        _ => Kind::Binary,
    };
    let graphs = common::good_files().into_iter().map(|(name, file, good)| Format {
        name,
        file,
        kind: kind(name),
        good,
    });
    let [_, edges] = common::ldbc();
    let ldbc = Format { name: "LDBC edges", file: "g.e", kind: Kind::Text, good: edges };
    let places = [
        ("HIVE labels", "g.labels", common::labels()),
        ("CSV of places", "g.csv", common::csv_places()),
        ("DIMACS coordinates", "g.co", common::coordinates()),
    ];
    let places = places.map(|(name, file, good)| Format { name, file, kind: Kind::Places, good });
    graphs.chain([ldbc]).chain(places).collect()
}

/// What a header declares: nodes and arcs; `None` where there is none that says.
fn declared(format: &Format, bytes: &[u8]) -> Option<(u64, u64)> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let header = text.lines().find(|line| !line.starts_with(['%', 'c']) && !line.is_empty());
    let numbers = header.unwrap_or("").split_whitespace().filter_map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    let word = |at: usize, size: usize| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[at..at + size]);
        u64::from_le_bytes(word)
    };
    Some(match format.file {
        "g.mtx" => (numbers[0], numbers[2]),
        // A line `12 3` and nothing else is an arc.
        "g.txt" if text.lines().count() == 1 => return None,
        "g.txt" | "g.gr" => (numbers[0], numbers[1]),
        "g.wsg" => (word(9, 8), word(1, 8)),
        "g.bin" => (word(0, 4), word(8, 4)),
        "galois.gr" => (word(16, 8), word(24, 8)),
        "g.hive" => (word(16, 8), word(24, 8)),
        _ => return None,
    })
}

/// Replaces the only, or the first, `from`.
fn with(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "{from} is not there");
    text.replacen(from, to, 1).into_bytes()
}

/// The lines of a text, with one of them changed.
fn with_line(bytes: &[u8], number: usize, change: impl Fn(&str) -> String) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let lines = text.lines().enumerate();
    lines
        .map(|(i, line)| if i == number { change(line) } else { line.into() } + "\n")
        .collect::<String>()
        .into()
}

fn text_damages(format: &Format) -> Damages {
    let good = &format.good;
    let text = String::from_utf8(good.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (half, last) = (lines.len() / 2, lines[lines.len() - 1]);
    let middle: usize = lines[..half].iter().map(|line| line.len() + 1).sum();
    let comma = format.file == "g.csv";
    let separator = if comma { "," } else { " " };
    let fields = |line: &str| {
        line.rsplit_once(separator)
            .map(|(rest, last)| (rest.to_string(), last.to_string()))
            .unwrap()
    };
    let last_field = |to: &str| with_line(good, half, |line| fields(line).0 + separator + to);
    let joined = |end: &[u8]| [&good[..], end].concat();
    let rows = if format.file == "g.graph" { Any } else { Same };
    let flipped = |at: usize, bit: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << bit;
        bytes
    };
    let mut damages: Damages = vec![
        ("CRLF line ends", Same, text.replace('\n', "\r\n").into()),
        ("a byte order mark in front", Same, ["\u{feff}", &text].concat().into()),
        ("no newline at the end", Same, text.trim_end().into()),
        ("empty lines at the end", Same, joined(b"\n\n\r\n")),
        ("empty lines between", rows, text.replace('\n', "\n\n").into()),
        (
            "blanks at the ends of lines",
            if comma { Any } else { Same },
            text.replace('\n', " \n").into(),
        ),
        ("an empty file", Any, Vec::new()),
        ("cut inside the first line", Any, good[..lines[0].len().min(5) - 1].into()),
        ("cut inside a number in the middle", Any, good[..middle + 1].into()),
        ("cut behind a line in the middle", Any, good[..middle].into()),
        ("the last line missing", Any, good[..good.len() - last.len() - 1].into()),
        ("the last line's last digit missing", Any, good[..good.len() - 2].into()),
        ("the last line twice", Any, joined(format!("{last}\n").as_bytes())),
        ("the file twice", Any, joined(good)),
        ("words at the end", Any, joined(b"-- end of file --\n")),
        ("binary at the end", Any, joined(b"\x07\xff\x00\x9a\x01")),
        ("64 NULs at the end", Any, joined(&[0; 64])),
        ("a NUL in the middle", Any, [&good[..middle], b"\0", &good[middle..]].concat()),
        (
            "UTF-16",
            Any,
            ["\u{feff}", &text].concat().encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        (
            "a column too many on one line",
            Any,
            with_line(good, half, |line| format!("{line}{separator}7")),
        ),
        ("a column too few on one line", Any, with_line(good, half, |line| fields(line).0)),
        ("a word for a number", Any, last_field("many")),
        ("a bit of the first byte flipped", Any, flipped(0, 6)),
        ("a high bit in the middle flipped", Any, flipped(middle, 7)),
    ];
    if format.kind == Kind::Text {
        for (name, weight) in [
            ("a negative weight", "-3"),
            ("a weight that is nan", "nan"),
            ("an infinite weight", "inf"),
            ("a weight beyond 32 bits", "1e39"),
            ("a whole weight that 32 bits do not hold", "16777217"),
        ] {
            damages.push((name, Any, last_field(weight)));
        }
        let id = |to: &str| {
            with_line(good, half, |line| {
                let mut fields: Vec<&str> = line.split(' ').collect();
                fields[usize::from(format.file == "g.gr")] = to;
                fields.join(" ")
            })
        };
        damages.push(("an id out of range", Any, id("99")));
        damages.push(("an id beyond 64 bits", Any, id("99999999999999999999")));
        damages.push(("a negative id", Any, id("-1")));
    } else {
        damages.push(("degrees out of range", Any, last_field("2000000000")));
        damages.push(("degrees that are nan", Any, last_field("nan")));
    }
    let counts =
        |damages: &mut Damages, from: &str, [few, many, huge, less, more, most]: [&str; 6]| {
            for (name, to) in [
                ("too few arcs declared", few),
                ("too many arcs declared", many),
                ("99999999999999999999 arcs declared", huge),
                ("too few nodes declared", less),
                ("more nodes declared than arcs use", more),
                ("99999999999 nodes declared", most),
            ] {
                damages.push((name, Any, with(good, from, to)));
            }
        };
    let e20 = "99999999999999999999";
    let big = "99999999999";
    match format.file {
        "g.mtx" => counts(
            &mut damages,
            "12 12 30",
            [
                "12 12 29",
                "12 12 31",
                &format!("12 12 {e20}"),
                "11 11 30",
                "20 20 30",
                &format!("{big} {big} 30"),
            ],
        ),
        "g.txt" => counts(
            &mut damages,
            "12 arcs 30",
            [
                "12 arcs 29",
                "12 arcs 31",
                &format!("12 arcs {e20}"),
                "11 arcs 30",
                "20 arcs 30",
                &format!("{big} arcs 30"),
            ],
        ),
        "g.gr" => counts(
            &mut damages,
            "sp 12 30",
            [
                "sp 12 29",
                "sp 12 31",
                &format!("sp 12 {e20}"),
                "sp 11 30",
                "sp 20 30",
                &format!("sp {big} 30"),
            ],
        ),
        "g.graph" => counts(
            &mut damages,
            "12 15 001",
            [
                "12 14 001",
                "12 16 001",
                &format!("12 {e20} 001"),
                "11 15 001",
                "20 15 001",
                &format!("{big} 15 001"),
            ],
        ),
        "g.labels" => {
            damages.push(("too few nodes declared", Any, with(good, "12 2 2", "11 2 2")));
            damages.push((
                "more nodes declared than have a place",
                Same,
                with(good, "12 2 2", "20 2 2"),
            ));
            damages.push((
                "18446744073709551615 nodes declared",
                Same,
                with(good, "12 2 2", "18446744073709551615 2 2"),
            ));
        }
        "g.co" => {
            damages.push(("too few nodes declared", Any, with(good, "co 12", "co 11")));
            damages.push(("too many nodes declared", Any, with(good, "co 12", "co 20")));
        }
        _ => {}
    }
    damages
}

fn binary_damages(format: &Format) -> Damages {
    let good = &format.good;
    let size = good.len();
    let joined = |end: &[u8]| [&good[..], end].concat();
    let flipped = |at: usize, bit: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << bit;
        bytes
    };
    let filled = |range: std::ops::Range<usize>, value: u8| {
        let mut bytes = good.clone();
        bytes[range].fill(value);
        bytes
    };
    let crlf: Vec<u8> = good
        .iter()
        .flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] })
        .collect();
    let mut damages: Damages = vec![
        ("an empty file", Any, Vec::new()),
        ("the first byte alone", Any, good[..1].into()),
        ("cut at 8 bytes", Any, good[..8].into()),
        ("cut at a quarter", Any, good[..size / 4].into()),
        ("cut in the middle", Any, good[..size / 2].into()),
        ("the last 4 bytes missing", Any, good[..size - 4].into()),
        ("the last byte missing", Any, good[..size - 1].into()),
        ("the first byte missing", Any, good[1..].into()),
        ("one byte more", Any, joined(b"x")),
        ("words at the end", Any, joined(b"-- end of file --\n")),
        ("64 NULs at the end", Any, joined(&[0; 64])),
        ("the file twice", Any, joined(good)),
        ("a byte order mark in front", Any, [b"\xef\xbb\xbf", &good[..]].concat()),
        ("an empty line in front", Any, [b"\n", &good[..]].concat()),
        ("a bit of the first byte flipped", Any, flipped(0, 3)),
        ("a bit of the tenth byte flipped", Any, flipped(9, 2)),
        ("a bit at a quarter flipped", Any, flipped(size / 4, 1)),
        ("a low bit in the middle flipped", Any, flipped(size / 2, 0)),
        ("a high bit in the middle flipped", Any, flipped(size / 2, 7)),
        ("a bit at three quarters flipped", Any, flipped(3 * size / 4, 5)),
        ("a high bit of the last byte flipped", Any, flipped(size - 1, 7)),
        ("16 bytes in the middle all ones", Any, filled(size / 2..size / 2 + 16, 0xff)),
        ("16 bytes in the middle all zero", Any, filled(size / 2..size / 2 + 16, 0)),
        ("NULs throughout", Any, filled(0..size, 0)),
    ];
    if crlf != *good {
        damages.push(("sent as text, so that LF became CRLF", Any, crlf));
    }
    // (first byte of nodes, of arcs, bytes of each)
    let counts = match format.file {
        "g.bin" => Some((0, 8, 4)),
        "g.wsg" => Some((9, 1, 8)),
        "galois.gr" => Some((16, 24, 8)),
        "g.hive" => Some((16, 24, 8)),
        _ => None,
    };
    if let Some((nodes, arcs, size)) = counts {
        for (name, at, number) in [
            ("too few nodes declared", nodes, 11u64),
            ("too many nodes declared", nodes, 13),
            ("2^31 - 1 nodes declared", nodes, (1 << 31) - 1),
            ("-1 nodes declared", nodes, u64::MAX),
            ("too few arcs declared", arcs, 29),
            ("too many arcs declared", arcs, 31),
            ("2^31 - 1 arcs declared", arcs, (1 << 31) - 1),
            ("-1 arcs declared", arcs, u64::MAX),
        ] {
            let mut bytes = good.clone();
            bytes[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
            if format.file == "g.bin" && at == nodes {
                let columns = bytes[..4].to_vec();
                bytes[4..8].copy_from_slice(&columns);
            }
            if format.file == "g.hive" {
                let count = u32::from_le_bytes([12, 13, 14, 15].map(|i| bytes[i])) as usize;
                bytes[40..48].fill(0);
                let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..64 + 40 * count]);
                bytes[40..48].copy_from_slice(&sum.to_le_bytes());
            }
            damages.push((name, Any, bytes));
        }
    }
    damages
}

fn damages(format: &Format) -> Damages {
    if format.kind == Kind::Binary { binary_damages(format) } else { text_damages(format) }
}

/// What `hive run sssp` made of a file.
#[derive(PartialEq)]
struct Answer {
    nodes: u64,
    arcs: u64,
    distances: Vec<String>,
    /// What the library makes of the same file.
    offsets: Vec<u64>,
    columns: Vec<u32>,
    weights: Option<Vec<f32>>,
}

/// Runs the program on `bytes`; an error is its one line without `error: `, and the folder has nothing new.
fn run(folder: &Path, format: &Format, bytes: &[u8]) -> Result<Answer, String> {
    std::fs::write(folder.join(format.file), bytes).unwrap();
    if format.file == "g.e" {
        std::fs::write(folder.join("g.v"), &common::ldbc()[0]).unwrap();
    }
    let (json, csv) = (folder.join("out.json"), folder.join("out.csv"));
    let mut command = common::hive();
    command.current_dir(folder).env("HIVE_CACHE_DIR", "");
    command.args(
        "run sssp --devices host --runs 1 --warmup 0 --json out.json --output out.csv".split(' '),
    );
    let ended = common::ends_within(LIMIT, command.args(["--graph", format.file]));
    if ended.code == Some(0) {
        let record: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        let number = |key: &str| record[key].as_u64().unwrap();
        let rows = std::fs::read_to_string(&csv).unwrap();
        let distances = rows.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().to_string());
        let options = LoadOptions { cache: Cache::Off, ..LoadOptions::default() };
        let graph = load_with(folder.join(format.file).to_str().unwrap(), &options).unwrap();
        let answer = Answer {
            nodes: number("graph-nodes"),
            arcs: number("graph-edges"),
            distances: distances.collect(),
            offsets: graph.offsets().to_vec(),
            columns: graph.columns().to_vec(),
            weights: graph.weights().map(<[f32]>::to_vec),
        };
        std::fs::remove_file(json).unwrap();
        std::fs::remove_file(csv).unwrap();
        return Ok(answer);
    }
    assert_eq!(ended.code, Some(2), "{}: {ended:?}", format.file);
    assert!(ended.out.is_empty() && !json.exists() && !csv.exists(), "{ended:?}");
    let line = ended.err.strip_prefix("error: ").and_then(|text| text.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("{ended:?}"));
    assert!(!line.contains(char::is_control) && !line.contains("panicked"), "{line}");
    Err(line.into())
}

/// What becomes of every damage of a format.
fn outcomes_of(format: &Format) -> Vec<(&'static str, Expected, Outcome)> {
    let folder = tempfile::tempdir().unwrap();
    let damages = damages(format).into_iter();
    if format.kind == Kind::Places {
        let path = folder.path().join(format.file);
        let read = |bytes: &[u8]| -> Result<Locations, String> {
            std::fs::write(&path, bytes).unwrap();
            read_locations(path.to_str().unwrap()).map_err(|error| {
                assert_eq!(error.exit_code(), 2);
                error.to_string().replace(&format!("{}/", folder.path().display()), "")
            })
        };
        let good = read(&format.good).unwrap();
        assert_eq!(good.ids.len(), 12);
        return damages
            .map(|(name, expected, bytes)| match read(&bytes) {
                Ok(found) if found == good => (name, expected, Outcome::Same),
                Ok(found) => (name, expected, Outcome::Other(found.ids.len() as u64, 0)),
                Err(line) => (name, expected, Outcome::Refused(line)),
            })
            .collect();
    }
    let good = run(folder.path(), format, &format.good).unwrap_or_else(|line| panic!("{line}"));
    assert_eq!((good.nodes, good.arcs), (12, 30), "{}", format.name);
    damages
        .map(|(name, expected, bytes)| {
            let outcome = match run(folder.path(), format, &bytes) {
                Ok(answer) => {
                    if let Some(counts) = declared(format, &bytes) {
                        let found = (answer.nodes, answer.arcs);
                        assert_eq!(found, counts, "{}, {name}: not as declared", format.name);
                    }
                    let same = answer == good;
                    if same { Outcome::Same } else { Outcome::Other(answer.nodes, answer.arcs) }
                }
                Err(line) => Outcome::Refused(line),
            };
            (name, expected, outcome)
        })
        .collect()
}

type Outcomes = Vec<(Format, Vec<(&'static str, Expected, Outcome)>)>;

/// All outcomes, found once, by a thread a core.
fn outcomes() -> &'static Outcomes {
    static ALL: OnceLock<Outcomes> = OnceLock::new();
    ALL.get_or_init(|| {
        let formats = formats();
        let (next, threads) = (AtomicUsize::new(0), std::thread::available_parallelism());
        let work = || {
            let mut found = Vec::new();
            while let Some(format) = formats.get(next.fetch_add(1, Ordering::Relaxed)) {
                found.push((format.name, outcomes_of(format)));
            }
            found
        };
        let mut found: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads.map_or(1, |n| n.get())).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let of = |name: &str, found: &mut Vec<(&str, Vec<_>)>| {
            let place = found.iter().position(|(other, _)| *other == name).unwrap();
            found.swap_remove(place).1
        };
        formats
            .into_iter()
            .map(|format| {
                let list = of(format.name, &mut found);
                (format, list)
            })
            .collect()
    })
}

#[test]
fn harmless_damage_changes_nothing() {
    for (format, damages) in outcomes() {
        for (name, expected, outcome) in damages {
            assert!(
                *expected == Any || *outcome == Outcome::Same,
                "{}, {name}: {outcome:?}",
                format.name
            );
        }
    }
}

#[test]
fn a_refusal_names_the_file_and_in_text_the_line_and_says_what_to_do() {
    for (format, damages) in outcomes() {
        assert!(damages.len() >= 20, "{}: {}", format.name, damages.len());
        for (name, _, outcome) in damages {
            let Outcome::Refused(line) = outcome else { continue };
            let rest = line.strip_prefix(format.file).and_then(|rest| rest.strip_prefix(':'));
            let rest = rest.unwrap_or_else(|| panic!("{}, {name}: {line}", format.name));
            assert!(
                line.contains(';') || line.contains(": fetch it again"),
                "{}, {name}: {line}",
                format.name
            );
            let numbered = rest.starts_with(|c: char| c.is_ascii_digit());
            // Of a whole file that is empty, or that is no text any more, no line is to blame.
            let whole =
                ["is empty", "places no node", "not text", "binary CSR", "no Galois", "UTF-16"]
                    .iter()
                    .any(|part| rest.contains(part));
            assert!(
                numbered || whole || format.kind == Kind::Binary,
                "{}, {name}: {line}",
                format.name
            );
        }
    }
}

/// A packed or native file that was cut, or whose bytes changed, never loads as another graph.
#[test]
fn what_has_checksums_never_loads_as_another_graph() {
    for (format, damages) in outcomes() {
        let summed = ["gzip", "bzip2", "xz"].contains(&format.name);
        for (name, _, outcome) in damages.iter().filter(|_| summed) {
            assert!(!matches!(outcome, Outcome::Other(..)), "{}, {name}: {outcome:?}", format.name);
        }
    }
}

/// The tables of the document.
fn tables() -> String {
    let mut text = String::new();
    for (format, damages) in outcomes() {
        text += &format!(
            "\n## {}, `{}`\n\n| bad input | what is said |\n|---|---|\n",
            format.name, format.file
        );
        let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
        for (name, _, outcome) in damages {
            let said = match outcome {
                Outcome::Same => "*(loads, the same)*".to_string(),
                Outcome::Other(nodes, _) if format.kind == Kind::Places => {
                    format!("*(loads, {nodes} places: nothing in the file tells)*")
                }
                Outcome::Other(nodes, arcs) => {
                    format!("*(loads, {nodes} nodes and {arcs} arcs: nothing in the file tells)*")
                }
                Outcome::Refused(line) => line
                    .replace('\\', "\\\\")
                    .replace('|', "\\|")
                    .replace('*', "\\*")
                    .replace('<', "&lt;"),
            };
            match rows.iter_mut().find(|row| row.1 == said) {
                Some(row) => row.0.push(name),
                None => rows.push((vec![name], said)),
            }
        }
        for (names, said) in rows {
            text += &format!("| {} | {said} |\n", names.join("; "));
        }
    }
    text
}

#[test]
fn the_document_says_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/bad-input.md");
    let there = std::fs::read_to_string(&path).unwrap();
    let (prose, there) = there.split_once(MARK).expect("the mark is there");
    let tables = tables();
    if std::env::var_os("HIVE_WRITE_DOCS").is_some() {
        std::fs::write(&path, [prose, MARK, &tables].concat()).unwrap();
        return;
    }
    for (line, (is, says)) in tables.lines().zip(there.lines()).enumerate() {
        assert_eq!(says, is, "table line {line}; HIVE_WRITE_DOCS=1 writes docs/bad-input.md anew");
    }
    assert_eq!(tables.len(), there.len(), "HIVE_WRITE_DOCS=1 writes docs/bad-input.md anew");
}
