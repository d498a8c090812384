//! Files that appear whole or not at all: written aside, synced, renamed (docs/design.md, "Failures").

use crate::error::{Error, Result};
use crate::system::open_to_all;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The files that are being written aside.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files that are being written aside, for a process that is about to end: none is made or renamed
/// any more.
pub(crate) fn remove_unfinished() {
    remove(unfinished());
}

fn remove(files: MutexGuard<'_, Vec<PathBuf>>) {
    files.iter().for_each(|path| drop(std::fs::remove_file(path)));
    // Whoever wants to make or rename one waits for the end.
    std::mem::forget(files);
}

/// The same where nobody is making or renaming one: who holds the list may be this thread.
pub(crate) fn remove_unfinished_at_once() {
    UNFINISHED.try_lock().into_iter().for_each(remove);
}

/// A file that is being written aside; gone, unless it is renamed.
pub(crate) struct Unfinished {
    file: Option<NamedTempFile>,
    path: PathBuf,
}

impl Unfinished {
    /// The file that `make` makes.
    pub(crate) fn new(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<Unfinished> {
        let mut files = unfinished();
        let file = make()?;
        let path = file.path().to_path_buf();
        files.push(path.clone());
        Ok(Unfinished { file: Some(file), path })
    }

    /// What is written to.
    pub(crate) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().map(NamedTempFile::as_file).ok_or(io::ErrorKind::NotFound.into())
    }

    /// Gives the file its name, in place of what has it.
    pub(crate) fn rename(mut self, path: &Path) -> io::Result<()> {
        let _files = unfinished();
        match self.file.take() {
            Some(file) => file.persist(path).map(drop).map_err(|failed| failed.error),
            None => Err(io::ErrorKind::NotFound.into()),
        }
        // What is dropped now takes the lock, which is given back first.
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut files = unfinished();
        self.file = None;
        files.retain(|path| *path != self.path);
    }
}

/// Makes temporary files with these ends to their names, as readable as the user's umask allows: they are private by
/// default.
pub(crate) fn builder<'a>(prefix: &'a str, suffix: &'a str) -> tempfile::Builder<'a, 'a> {
    let mut builder = tempfile::Builder::new();
    open_to_all(builder.prefix(prefix).suffix(suffix));
    builder
}

/// Writes a file aside in the same directory, syncs it and renames it to `path`. Until the rename whatever was at `path`
/// stays as it was; a symbolic link stays a link.
pub(crate) fn write_aside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    replace(path, write).map_err(|cause| {
        Error::input(format!(
            "{}: cannot be written ({cause}); check the directory and its free space, or choose another path",
            path.display()
        ))
    })
}

fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let through = |file: &File| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        out.flush()
    };
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if target.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    // A device or a pipe is written to; to put a file in its place would take it away, /dev/null from the whole machine.
    if std::fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
        return through(&File::options().write(true).open(&target)?);
    }
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let aside = Unfinished::new(|| builder(".hive-", ".partial").tempfile_in(directory))?;
    through(aside.file()?)?;
    aside.file()?.sync_all()?;
    aside.rename(&target)?;
    // The rename itself is durable once the directory is; not every file system can say so.
    File::open(directory).and_then(|directory| directory.sync_all()).or(Ok(()))
}
