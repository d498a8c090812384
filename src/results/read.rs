//! Folders, archives and files of results.

use super::fields::wrong;
use super::record::{is_cell, is_record, of_cell, of_record};
use super::{Case, ResultSet};
use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest file that is taken for results.
const MOST_BYTES: u64 = 1 << 30;

/// Reads every result at `paths`: folders (their `.json` and `.jsonl` files, walked whole), such folders as
/// `.tar.gz`, and single files.
pub(crate) fn read(paths: &[PathBuf]) -> Result<ResultSet> {
    let (mut cases, mut foreign) = (Vec::new(), 0);
    for path in paths {
        let found = read_one(path)?;
        foreign += found.foreign;
        cases.extend(found.all());
    }
    Ok(ResultSet::of(cases, foreign))
}

fn read_one(path: &Path) -> Result<Found> {
    let name = path.display().to_string();
    let kind = std::fs::metadata(path).map_err(|e| {
        Error::input(format!("{name}: {e}; name a folder, a .tar.gz, .json or .jsonl of results"))
    })?;
    let mut found = Found::default();
    if kind.is_dir() {
        for file in walk(path)? {
            found.file(&file.display().to_string(), &open(&file)?)?;
        }
    } else if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
        archive(path, &mut found)?;
    } else if is_results(&name) {
        found.file(&name, &open(path)?)?;
    } else {
        let what = "is no folder, .tar.gz, .json or .jsonl; name what hive sweep --output wrote";
        return Err(Error::input(format!("{name}: {what}")));
    }
    if found.cases.is_empty() && found.cells.is_empty() {
        let files = found.foreign;
        return Err(Error::input(format!(
            "{name}: no records here ({files} other JSON files); name what hive sweep --output wrote"
        )));
    }
    Ok(found)
}

fn is_results(name: &str) -> bool {
    name.ends_with(".json") || name.ends_with(".jsonl")
}

/// All result files below a folder, in order; hidden ones are being written or are not ours.
fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e: std::io::Error| Error::input(format!("{}: {e}", folder.display()));
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = entries.map_err(unreadable)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with('.') {
            continue;
        }
        // A link to a folder could lead back here.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            files.extend(walk(&path)?);
        } else if is_results(&name) && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

fn open(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
    text(file, &path.display().to_string())
}

fn text(from: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let read = from.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|e| wrong(name, &format!("cannot be read ({e})")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong(name, "is larger than 1 GiB, which no result is"));
    }
    String::from_utf8(bytes).map_err(|_| wrong(name, "is not text"))
}

fn archive(path: &Path, found: &mut Found) -> Result<()> {
    let shown = path.display();
    let damaged = |e: std::io::Error| {
        Error::input(format!("{shown}: no whole .tar.gz ({e}); get or pack the archive again"))
    };
    let file = File::open(path).map_err(|e| Error::input(format!("{shown}: {e}")))?;
    let mut archive = tar::Archive::new(MultiGzDecoder::new(file));
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let inner = entry.path().map_err(damaged)?.to_string_lossy().into_owned();
        let hidden = inner.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
        if entry.header().entry_type().is_file() && is_results(&inner) && !hidden {
            let name = format!("{shown}/{inner}");
            found.file(&name, &text(entry, &name)?)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Found {
    cases: Vec<Case>,
    /// Cells of older tables, with the path that their record would have.
    cells: Vec<(Case, Option<String>)>,
    files: HashSet<String>,
    foreign: usize,
}

impl Found {
    fn file(&mut self, name: &str, text: &str) -> Result<()> {
        if name.ends_with(".jsonl") {
            let lines = text.lines().count();
            let unended = name.ends_with("records.jsonl") && !text.ends_with('\n');
            for (number, line) in
                text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
            {
                let at = format!("{name}:{}", number + 1);
                match parse(&at, line) {
                    Ok(value) => self.value(&at, &value)?,
                    // What a sweep that was killed, or is at work, has not written whole.
                    Err(_) if number + 1 == lines && unended => self.foreign += 1,
                    Err(torn) => return Err(torn),
                }
            }
            return Ok(());
        }
        self.files.insert(name.to_string());
        self.value(name, &parse(name, text)?)
    }

    fn value(&mut self, at: &str, value: &Value) -> Result<()> {
        match value {
            Value::Object(map) if is_record(map) => {
                self.cases.push(of_record(map, at)?);
                // A line of `records.jsonl` names the file that says the same, whether that is here or not.
                let file = map.get("file").and_then(Value::as_str);
                self.files.extend(file.map(|file| folder_of(at) + file));
            }
            Value::Array(cells) if !cells.is_empty() && cells.iter().all(is_cell_value) => {
                let folder = folder_of(at);
                for map in cells.iter().filter_map(Value::as_object) {
                    let (case, file) = of_cell(map, at)?;
                    self.cells.push((case, file.map(|file| folder.clone() + &file)));
                }
            }
            _ => self.foreign += 1,
        }
        Ok(())
    }

    /// A cell whose record is here is not counted again.
    fn all(self) -> impl Iterator<Item = Case> {
        let Found { cases, cells, files, .. } = self;
        let alone =
            move |file: &Option<String>| file.as_ref().is_none_or(|file| !files.contains(file));
        cases.into_iter().chain(cells.into_iter().filter(move |c| alone(&c.1)).map(|c| c.0))
    }
}

/// `DIR/` of what is at `DIR/NAME`.
fn folder_of(at: &str) -> String {
    at.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}

fn is_cell_value(value: &Value) -> bool {
    value.as_object().is_some_and(is_cell)
}

fn parse(at: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| wrong(at, &format!("no whole JSON ({e})")))
}
