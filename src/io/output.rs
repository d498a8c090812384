//! The formats of results, and files that appear whole and durable, or not at all.

use crate::aside::write_aside;
use crate::error::{Error, Result};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

words!(
    /// How rows of results are written; [`write_table`](super::write_table) says what each format holds.
    ResultFormat, "--output-format" {
        /// Values with commas between them.
        #[default]
        Csv = "csv",
        /// The same with tabulators.
        Tsv = "tsv",
        /// A JSON object a row.
        Jsonl = "jsonl",
        /// One column, a value a line.
        Txt = "txt",
        /// One column as a NumPy array.
        Npy = "npy",
        /// All columns as NumPy arrays in an archive.
        Npz = "npz",
        /// All columns in an Apache Parquet file, with the cargo feature `parquet`.
        Parquet = "parquet",
    }
);

impl ResultFormat {
    /// The format that a path's ending asks for, `.csv` where the path is `-`; a command line can call this before it
    /// computes anything.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for any other ending, naming those that there are.
    pub fn of(path: &Path) -> Result<ResultFormat> {
        if path == Path::new("-") {
            return Ok(ResultFormat::Csv);
        }
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let format = extension.and_then(|extension| extension.parse().ok());
        format.ok_or_else(|| {
            Error::input(format!(
                "cannot tell the format of {}; end its name in .csv, .tsv, .jsonl, .txt, .npy, .npz or .parquet, \
                 or give --output-format",
                path.display()
            ))
        })
    }

    /// Refuses a format that this program cannot write, and one that has no room for `several` columns, where there
    /// are to be several: an option asks for them, or words say what they are.
    pub(crate) fn check(self, option: &str, path: &Path, several: Option<&str>) -> Result<()> {
        let path = path.display();
        if self == ResultFormat::Parquet && !cfg!(feature = "parquet") {
            return Err(Error::input(format!(
                "{option} {path}: this program was built without Parquet; build it with `--features parquet`, or \
                 name another ending"
            )));
        }
        match several.filter(|_| !self.holds_columns()) {
            Some(several) => Err(Error::input(format!(
                "{option} {path}: has room for one column only, not for {several}; name a .csv or .npz"
            ))),
            None => Ok(()),
        }
    }

    /// Whether it has room for more than one column.
    pub fn holds_columns(self) -> bool {
        !matches!(self, ResultFormat::Txt | ResultFormat::Npy)
    }
}

/// Writes a file aside in the same directory, syncs it and renames it to `path`. Until the rename
/// whatever was at `path` stays as it was; a symbolic link stays a link.
///
/// # Errors
/// [`Error::Input`] naming the path when the directory or file cannot be written, or `write` fails.
pub fn write_atomically<F>(path: &Path, write: F) -> Result<()>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    write_aside(path, |out| write(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn directory() -> TempDir {
        tempfile::tempdir().expect("a temporary directory")
    }

    fn entries(directory: &TempDir) -> usize {
        std::fs::read_dir(directory.path()).expect("a directory").count()
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_to_and_stays() {
        use std::os::unix::fs::FileTypeExt;
        let directory = directory();
        let path = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let other = path.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(other).expect("read"));
        write_atomically(&path, |out| out.write_all(b"through")).expect("written");
        assert_eq!(reader.join().expect("a reader"), "through");
        let kind = std::fs::metadata(&path).expect("there").file_type();
        assert!(kind.is_fifo() && entries(&directory) == 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = directory();
        let path = directory.path().join("a.json");
        write_atomically(&path, |out| out.write_all(b"old")).expect("written");
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half of the new")?;
            Err(io::Error::other("the sun went down"))
        });
        let message = failed.expect_err("failed").to_string();
        assert!(message.contains("a.json: cannot be written (the sun went down); "), "{message}");
        assert_eq!(std::fs::read(&path).expect("read"), b"old");
        assert_eq!(entries(&directory), 1);
    }

    #[test]
    fn a_missing_directory_and_a_directory_as_target_are_input_errors() {
        let directory = directory();
        for path in [directory.path().join("no/such/a.csv"), directory.path().to_path_buf()] {
            let error = write_atomically(&path, |_| Ok(())).expect_err("unwritable");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
        assert_eq!(entries(&directory), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_new_file_is_not_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = directory();
        let (file, link) = (directory.path().join("a.txt"), directory.path().join("b.txt"));
        write_atomically(&file, |out| out.write_all(b"old")).expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        write_atomically(&link, |out| out.write_all(b"new")).expect("written");
        assert!(link.symlink_metadata().expect("link").is_symlink());
        assert_eq!(std::fs::read(&file).expect("read"), b"new");
        let plain = directory.path().join("plain");
        std::fs::write(&plain, b"").expect("written");
        let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode(&file), mode(&plain));
    }
}
