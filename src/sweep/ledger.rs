//! `records.jsonl`: a line a finished cell, and what makes a killed sweep go on where it was.
//!
//! A line is written whole and synced before its cell counts as finished. What a kill leaves behind is at most a
//! torn last line, which is dropped. One process at a time: the folder is locked, by the kernel, until the
//! process ends, however it ends.

use crate::aside::{Unfinished, builder};
use crate::report::to_json;
use crate::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

pub(super) const RECORDS: &str = "records.jsonl";
const LOCK: &str = ".hive-sweep.lock";

/// The records of a folder, held for one sweep.
pub(super) struct Ledger {
    dir: PathBuf,
    pub records: Vec<Value>,
    out: File,
    pub torn: bool,
    _lock: Option<File>,
}

/// What another process, or one that was killed, has written of a file. Under the lock it is nobody's.
const PARTIAL: [&str; 2] = [".hive-sweep-", ".partial"];

impl Ledger {
    /// Makes the folder if need be, locks it and reads what is there.
    pub(super) fn open(dir: &Path) -> Result<Ledger> {
        let refuse = |cause: std::io::Error| {
            Error::input(format!("--output {}: {cause}; choose another folder", dir.display()))
        };
        if dir.exists() && !dir.is_dir() {
            return Err(refuse(std::io::Error::other("is no folder")));
        }
        std::fs::create_dir_all(dir).map_err(refuse)?;
        let lock = lock(dir)?;
        let path = dir.join(RECORDS);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == ErrorKind::NotFound => Vec::new(),
            Err(cause) => return Err(unusable(&path, cause)),
        };
        let (records, torn) = read(&path, &text)?;
        if lock.is_some() {
            remove_partial(dir);
        }
        if torn || text.last().is_some_and(|byte| *byte != b'\n') {
            replace(dir, &path, lines(&records).as_bytes())?;
        }
        let out = append(&path)?;
        Ok(Ledger { dir: dir.into(), records, out, torn, _lock: lock })
    }

    pub(super) fn of(&self, cell: &str) -> Option<&Value> {
        self.records.iter().find(|record| record["cell"] == cell)
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Value) -> bool) -> Result<()> {
        let before = self.records.len();
        self.records.retain(keep);
        if self.records.len() < before { self.rewrite() } else { Ok(()) }
    }

    fn rewrite(&mut self) -> Result<()> {
        let path = self.dir.join(RECORDS);
        replace(&self.dir, &path, lines(&self.records).as_bytes())?;
        self.out = append(&path)?;
        Ok(())
    }

    /// Adds a record, durably, as a line and as its file, in the place of one of the same experiment. A measurement
    /// stays where the new one was skipped, or failed under the very build and files that measured it (a limit, a crash).
    pub(super) fn add(&mut self, file: &str, record: Value) -> Result<()> {
        let path = self.dir.join(RECORDS);
        let same = |other: &Value| record["place"].is_string() && other["place"] == record["place"];
        let kept = |other: &Value| {
            let measured = other["status"] == "done";
            let again = other["cell"] == record["cell"] && record["verified"] != "no";
            measured && (record["status"] == "skipped" || record["status"] == "failed" && again)
        };
        if self.records.iter().any(|other| same(other) && kept(other)) {
            return Ok(());
        }
        // The line is what makes the cell count; the file before it, so that a finished cell has one.
        self.write(file, &record)?;
        if self.records.iter().any(same) {
            self.records.retain(|other| !same(other));
            self.records.push(record);
            return self.rewrite();
        }
        let line = format!("{record}\n");
        let written = self.out.write_all(line.as_bytes()).and_then(|()| self.out.sync_data());
        written.map_err(|cause| unusable(&path, cause))?;
        self.records.push(record);
        Ok(())
    }

    /// Writes a value as JSON to a file of the folder: whole or not at all.
    pub(super) fn write(&self, file: &str, value: &impl Serialize) -> Result<()> {
        let path = self.dir.join(file);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|cause| unusable(folder, cause))?;
        }
        replace(&self.dir, &path, to_json(value)?.as_bytes())
    }
}

/// Writes aside in `dir`, syncs and renames.
fn replace(dir: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let attempt = || {
        let aside = Unfinished::new(|| builder(PARTIAL[0], PARTIAL[1]).tempfile_in(dir))?;
        let mut file = aside.file()?;
        file.write_all(bytes)?;
        file.sync_all()?;
        aside.rename(path)?;
        // The rename itself is durable once the directory is; not every file system can say so.
        let _ = path.parent().map(|folder| File::open(folder)?.sync_all());
        Ok(())
    };
    attempt().map_err(|cause| unusable(path, cause))
}

fn remove_partial(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(PARTIAL[0]) && name.ends_with(PARTIAL[1]) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn unusable(path: &Path, cause: std::io::Error) -> Error {
    Error::input(format!(
        "{}: {cause}; check the folder and its free space, or choose another",
        path.display()
    ))
}

fn append(path: &Path) -> Result<File> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.map_err(|cause| unusable(path, cause))
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// The records of the lines, of a cell that comes twice the last one; whether the last line was torn.
fn read(path: &Path, text: &[u8]) -> Result<(Vec<Value>, bool)> {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let last = lines.iter().rposition(|line| !line.is_empty());
    let mut records: Vec<Value> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        match serde_json::from_slice::<Value>(line) {
            Ok(record) if record.is_object() => {
                let same =
                    |other: &Value| record["cell"].is_string() && other["cell"] == record["cell"];
                records.retain(|other| !same(other));
                records.push(record);
            }
            _ if Some(at) == last => return Ok((records, true)),
            _ => {
                return Err(Error::input(format!(
                    "{}:{}: is no record of a sweep; mend the line, or move the file away",
                    path.display(),
                    at + 1
                )));
            }
        }
    }
    Ok((records, false))
}

/// Locks the folder; the lock goes with the process. File systems without locks go without, `None`.
fn lock(dir: &Path) -> Result<Option<File>> {
    let path = dir.join(LOCK);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = file.map_err(|cause| unusable(&path, cause))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let holder = Some(holder.trim()).filter(|holder| !holder.is_empty());
            return Err(Error::input(format!(
                "--output {}: another sweep is at work there (process {}); wait for it, or choose another folder",
                dir.display(),
                holder.unwrap_or("unknown")
            )));
        }
        // A file system without locks.
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    let note = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(format!("{}\n", std::process::id()).as_bytes())
    };
    note(&mut file).map_err(|cause| unusable(&path, cause))?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cells(ledger: &Ledger) -> Vec<&str> {
        ledger.records.iter().filter_map(|record| record["cell"].as_str()).collect()
    }

    #[test]
    fn what_was_added_is_there_again_and_a_torn_line_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("new/out");
        let path = dir.join(RECORDS);
        let mut ledger = Ledger::open(&dir).unwrap();
        ledger.add("x.json", json!({ "cell": "a", "n": 1 })).unwrap();
        ledger.add("x.json", json!({ "cell": "b" })).unwrap();
        drop(ledger);
        let whole = std::fs::read(&path).unwrap();
        // A kill may leave any part of the last line, even all but its end.
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in first..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let ledger = Ledger::open(&dir).unwrap();
            let kept = if end + 1 == whole.len() { vec!["a", "b"] } else { vec!["a"] };
            let torn = end + 1 < whole.len() && whole[end - 1] != b'\n';
            assert_eq!((cells(&ledger), ledger.torn), (kept, torn), "{end}");
            drop(ledger);
            assert_eq!(std::fs::read(&path).unwrap().last(), Some(&b'\n'));
        }
        let mut ledger = Ledger::open(&dir).unwrap();
        ledger.add("x.json", json!({ "cell": "c" })).unwrap();
        ledger.retain(|record| record["cell"] != "a").unwrap();
        ledger.add("x.json", json!({ "cell": "d" })).unwrap();
        drop(ledger);
        let ledger = Ledger::open(&dir).unwrap();
        assert!(cells(&ledger).ends_with(&["c", "d"]) && ledger.of("a").is_none());
        drop(ledger);
        let mut ledger = Ledger::open(&dir).unwrap();
        for cell in ["old", "new"] {
            ledger.add("x.json", json!({ "cell": cell, "place": "p" })).unwrap();
        }
        ledger.add("x.json", json!({ "cell": "e" })).unwrap();
        drop(ledger);
        assert!(cells(&Ledger::open(&dir).unwrap()).ends_with(&["d", "new", "e"]));
    }

    #[test]
    fn a_folder_takes_one_sweep_at_a_time_and_a_file_of_rubbish_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = || Ledger::open(folder.path()).err().unwrap().to_string();
        let first = Ledger::open(folder.path()).unwrap();
        assert!(refusal().contains(&format!("process {}", std::process::id())));
        drop(first);
        std::fs::write(folder.path().join(RECORDS), "{}\nrubbish\n{}\n").unwrap();
        assert!(refusal().contains("records.jsonl:2: is no record"));
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        assert!(Ledger::open(&path).err().unwrap().to_string().contains("--output"));
    }

    #[test]
    fn of_a_cell_that_comes_twice_the_last_line_counts() {
        let text = b"{\"cell\":\"a\",\"n\":1}\n\n{\"n\":0}\n{\"n\":0}\n{\"cell\":\"a\",\"n\":2}\n";
        let (records, torn) = read(Path::new("x"), text).unwrap();
        assert_eq!((records.len(), torn), (3, false));
        assert_eq!(records[2]["n"], 2);
    }

    #[test]
    fn a_measurement_stays_where_a_later_run_was_skipped_or_crashed() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let record =
            |cell: &str, status: &str| json!({ "cell": cell, "place": "p", "status": status });
        let kept = |ledger: &Ledger| ledger.records[0].clone();
        for (cell, status, stays) in [
            ("1", "failed", false),
            ("1", "done", false),
            ("1", "failed", true),
            ("2", "skipped", true),
            ("2", "failed", false),
            ("2", "done", false),
        ] {
            let before = ledger.records.first().cloned();
            ledger.add("x.json", record(cell, status)).unwrap();
            let expected = if stays { before.unwrap() } else { record(cell, status) };
            assert_eq!(kept(&ledger), expected, "{cell} {status}");
            let file = std::fs::read_to_string(folder.path().join("x.json")).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&file).unwrap(), expected);
        }
        let mut wrong = record("2", "failed");
        wrong["verified"] = "no".into();
        ledger.add("x.json", wrong.clone()).unwrap();
        assert_eq!((ledger.records.len(), kept(&ledger)), (1, wrong), "a wrong answer is told");
    }
}
