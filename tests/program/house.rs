//! The rules of the house: what may import what, where a workload may be named, and what comments may say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Modules, lowest first. A module imports only from those before it.
const ORDER: [&str; 30] = [
    "error",
    "words",
    "hash",
    "units",
    "choice",
    "byte_count",
    "time",
    "table",
    "system",
    "aside",
    "team",
    "cache_dir",
    "memory",
    "threads",
    "graph",
    "device",
    "processes",
    "collective",
    "fleet",
    "generate",
    "io",
    "verify",
    "layout",
    "operator",
    "algorithm",
    "run",
    "results",
    "report",
    "sweep",
    "cli",
];

/// Path below src/ and text of every file, without tests.
type Files = BTreeMap<String, String>;

fn files() -> Files {
    fn walk(folder: &Path, below: &str, all: &mut Files) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{below}{name}");
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &format!("{path}/"), all);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let heads = ["mod ", "pub(super) mod ", "pub(crate) mod ", "#[path"];
                let end = heads.map(|head| text.find(&format!("\n#[cfg(test)]\n{head}")));
                let end = end.into_iter().flatten().min().unwrap_or(text.len());
                all.insert(path, text[..end].to_string());
            }
        }
    }
    let mut all = Files::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut all);
    assert!(all.len() > 150, "src/ was not found");
    all
}

/// These files and one more.
fn planted(path: &str, text: &str) -> Files {
    let mut all = files();
    let before = all.get(path).cloned().unwrap_or_default();
    all.insert(path.into(), format!("{before}\n{text}\n"));
    all
}

/// The lines that are no comments.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What stands behind each `head` in the code: one path, or the paths of a list in braces, nested ones opened.
fn imports(code: &str, head: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(head) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        open(&code[at + head.len()..], "", &mut found);
    }
    found
}

/// Adds the paths with which `text` begins; returns what follows them.
fn open<'a>(text: &'a str, before: &str, found: &mut Vec<String>) -> &'a str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
    let (path, mut rest) = text.split_at(end.unwrap_or(text.len()));
    let path = format!("{before}{path}");
    if !rest.starts_with('{') {
        found.push(path);
        return rest;
    }
    rest = &rest[1..];
    loop {
        rest = rest.trim_start_matches([',', ' ', '\n']);
        match rest.chars().next() {
            None => return rest,
            Some('}') => return &rest[1..],
            Some(_) => {
                let after = open(rest, &path, found);
                // ` as name` and what else is there.
                rest = &after[after.find([',', '}']).unwrap_or(after.len())..];
            }
        }
    }
}

fn module(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

/// Imports that do not go down, as `a/b.rs imports c`.
fn upward(files: &Files) -> Vec<String> {
    let rank = |name: &str| ORDER.iter().position(|other| *other == name);
    let mut wrong = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !["lib.rs", "main.rs"].contains(&&***path))
    {
        let own = rank(module(path));
        if own.is_none() {
            wrong.push(format!("{path} is of no module that has a place in the order"));
        }
        for import in imports(&code(text), "crate::") {
            let name = import.split("::").next().unwrap_or_default();
            if rank(name).is_some_and(|other| other > own.unwrap_or(0)) {
                wrong.push(format!("{path} imports {name}"));
            }
        }
    }
    wrong
}

#[test]
fn imports_run_downward() {
    assert_eq!(upward(&files()), Vec::<String>::new());
    let wrong = upward(&planted("graph/mod.rs", "use crate::{\n    hash::mix,\n    io::load,\n};"));
    assert_eq!(wrong, ["graph/mod.rs imports io"]);
    assert_eq!(upward(&planted("extra/mod.rs", "")).len(), 1);
}

/// The folder of a file, and its module in it.
fn place(path: &str) -> (String, String) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    (folder.into(), file.trim_end_matches(".rs").into())
}

/// Sets of more than three files of one folder that import each other in a circle.
fn circles(files: &Files) -> Vec<BTreeSet<String>> {
    let mut folders: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in files {
        let (folder, name) = place(path);
        folders.entry(folder).or_default().insert(name, code(text));
    }
    let mut found = Vec::new();
    for (folder, members) in folders.iter().filter(|(folder, _)| !folder.is_empty()) {
        let defines = |name: &str, member: &str| {
            let kinds =
                ["struct", "enum", "fn", "const", "trait", "type", "static", "macro_rules!"];
            kinds.iter().any(|kind| {
                members[member].match_indices(&format!("{kind} {name}")).any(|(at, found)| {
                    let next = members[member][at + found.len()..].chars().next();
                    !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
                })
            })
        };
        // The file of the folder that an import from it leads to.
        let target = |import: &str| -> Option<String> {
            let mut parts = import.split("::");
            let first = parts.next()?;
            if members.contains_key(first) {
                return Some(first.into());
            }
            members.keys().find(|member| defines(first, member)).cloned()
        };
        let mut edges: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (name, text) in members {
            let here = format!("crate::{}::", folder.replace('/', "::"));
            let mut all = imports(text, &here);
            match name.as_str() {
                // Its own imports of its files; what it only passes on is none.
                "mod" => {
                    let private: Vec<&str> =
                        text.lines().filter(|line| !line.trim_start().starts_with("pub")).collect();
                    let private = private.join("\n");
                    for other in members.keys() {
                        all.extend(
                            imports(&private, &format!("{other}::")).iter().map(|_| other.clone()),
                        );
                    }
                }
                _ => all.extend(
                    imports(text, "super::").into_iter().filter(|i| !i.starts_with("super")),
                ),
            }
            let own = edges.entry(name).or_default();
            own.extend(all.iter().filter_map(|import| target(import)).filter(|to| to != name));
        }
        // Files that reach each other.
        let reach = |from: &str| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_string()]);
            while let Some(at) = left.pop() {
                for next in edges.get(at.as_str()).into_iter().flatten() {
                    if seen.insert(next.clone()) {
                        left.push(next.clone());
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<&String, BTreeSet<String>> =
            members.keys().map(|name| (name, reach(name))).collect();
        let mut known = BTreeSet::new();
        for (name, to) in &reached {
            let circle: BTreeSet<String> =
                to.iter().filter(|other| reached[other].contains(*name)).cloned().collect();
            if circle.len() > 3 && known.insert(circle.clone()) {
                found.push(circle.iter().map(|name| format!("{folder}/{name}")).collect());
            }
        }
    }
    found
}

#[test]
fn no_circle_has_more_than_three_files() {
    assert_eq!(circles(&files()), Vec::<BTreeSet<String>>::new());
    let mut four = files();
    for (name, next) in [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")] {
        four.insert(format!("graph/{name}_.rs"), format!("use super::{next}_::X;"));
    }
    assert_eq!(circles(&four).len(), 1);
}

/// Where a workload is named that is not its place.
fn named_elsewhere(files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    let exports = code(&files["algorithm/mod.rs"]);
    for workload in hivegraph::run::WORKLOADS {
        let folder = files.keys().find_map(|path| {
            let own = format!("const NAME: &'static str = \"{}\";", workload.name);
            files[path].contains(&own).then(|| place(path).0)
        });
        let folder = folder.unwrap_or_else(|| panic!("{} has no folder", workload.name));
        let module = folder.rsplit('/').next().unwrap().to_string();
        let checker = format!("verify/{module}");
        for (path, text) in files {
            let own = path.starts_with(&format!("{folder}/"))
                || *path == format!("{checker}.rs")
                || path.starts_with(&format!("{checker}/"));
            // Its line, and its names for users of the library.
            let listed = ["algorithm/registry.rs", "algorithm/mod.rs", "lib.rs"];
            if own || listed.contains(&path.as_str()) {
                continue;
            }
            let code = code(text);
            for name in std::iter::once(&workload.name).chain(workload.aliases) {
                // An operator and a generator are called like workloads.
                let namesake = *name == "filter" && path.starts_with("operator/")
                    || *name == "geo" && path.starts_with("generate/");
                let says = |text: &str| code.contains(&format!("\"{text}\""));
                if (says(name) || says(&format!("--{name}"))) && !namesake {
                    wrong.push(format!("{path} says \"{name}\""));
                }
            }
            // One workload may call another's library function.
            if path.starts_with("algorithm/") {
                continue;
            }
            let exported = imports(&exports, &format!("pub use {module}::"));
            for import in imports(&code, "crate::algorithm::") {
                let first = import.split("::").next().unwrap_or_default();
                if first == module || exported.iter().any(|name| name == first) {
                    wrong.push(format!("{path} imports algorithm::{import}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn a_workload_is_named_in_its_folder_and_in_the_registry() {
    assert_eq!(named_elsewhere(&files()), Vec::<String>::new());
    let wrong = named_elsewhere(&planted("sweep/plan.rs", "const X: &str = \"kcore\";"));
    assert_eq!(wrong, ["sweep/plan.rs says \"kcore\""]);
    let wrong = named_elsewhere(&planted("run/job.rs", "use crate::algorithm::kcore::Kcore;"));
    assert_eq!(wrong, ["run/job.rs imports algorithm::kcore::Kcore"]);
    let wrong =
        named_elsewhere(&planted("run/job.rs", "use crate::algorithm::{\n    KcoreConfig,\n};"));
    assert_eq!(wrong, ["run/job.rs imports algorithm::KcoreConfig"]);
}

/// Comments that say what another place says, and times that belong into docs/results.md.
fn second_hand(files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in files {
        let comments = text.lines().enumerate();
        for (line, comment) in comments.filter(|(_, line)| line.trim_start().starts_with("//")) {
            let low = comment.to_lowercase();
            let copied = low.contains("as in kernels/") || low.contains("as in `kernels/");
            if copied || low.contains("as in design") {
                wrong.push(format!("{path}:{}: {}", line + 1, comment.trim()));
            }
            let words: Vec<&str> = comment.split_whitespace().collect();
            let timed = words.windows(2).any(|pair| {
                let number = pair[0].trim_matches(|c: char| !c.is_ascii_digit() && c != '.');
                let unit = pair[1].trim_matches(|c: char| !c.is_alphanumeric());
                number.parse::<f64>().is_ok() && ["ms", "us", "µs"].contains(&unit)
            });
            let machine = ["H100", "H200", "A100", "V100"].iter().any(|gpu| comment.contains(gpu));
            if timed && machine {
                wrong.push(format!("{path}:{}: {}", line + 1, comment.trim()));
            }
        }
    }
    wrong
}

/// Cargo looks for no test by itself: a file that no program has as a module would not be compiled.
#[test]
fn every_file_of_tests_is_in_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let entries = |folder: &Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut programs = 0;
    for path in entries(&root.join("tests")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_file() {
            assert!(manifest.contains(&format!("\"tests/{name}.rs\"")), "{}", path.display());
        } else if path.join("main.rs").is_file() {
            assert!(manifest.contains(&format!("\"tests/{name}/main.rs\"")), "{}", path.display());
            let main = std::fs::read_to_string(path.join("main.rs")).unwrap();
            for module in entries(&path) {
                let module = module.file_stem().unwrap().to_str().unwrap();
                assert!(module == "main" || main.contains(&format!("mod {module};")), "{module}");
            }
            programs += 1;
        }
    }
    assert!((4..8).contains(&programs), "{programs} programs");
}

#[test]
fn a_fact_has_one_place() {
    assert_eq!(second_hand(&files()), Vec::<String>::new());
    assert_eq!(second_hand(&planted("graph/mod.rs", "/// As in kernels/bfs.cu.")).len(), 1);
    let timed = "/// R-MAT 24 takes 0.097 ms jointly on four H200s.";
    assert_eq!(second_hand(&planted("graph/mod.rs", timed)).len(), 1);
}
