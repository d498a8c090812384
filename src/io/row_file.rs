//! A matrix in a `.npy` file whose rows are written as they are found, in any order. Until all are there it has another name, and a
//! list beside it says which rows are there: a program that was ended goes on with it.

use super::npy;
use super::source;
use crate::error::{Error, Result};
use crate::graph::array::Array;
use bytemuck::Pod;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a file holds.
#[derive(Debug, Clone)]
pub(crate) struct RowShape {
    pub rows: usize,
    pub columns: usize,
    /// The type of the values, as NumPy writes it: `<f4`.
    pub descr: &'static str,
    /// Bytes of a value.
    pub bytes: usize,
    /// Differs where other values belong into it.
    pub question: u64,
}

/// What is known of the rows that are there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    /// Values without a path.
    pub unreached: u64,
    /// The largest of the others.
    pub farthest: f64,
}

impl Sum {
    /// Of both.
    pub fn and(self, other: Sum) -> Sum {
        Sum {
            unreached: self.unreached + other.unreached,
            farthest: self.farthest.max(other.farthest),
        }
    }
}

/// The file, until all rows are there.
pub(crate) struct RowFile {
    path: PathBuf,
    shape: RowShape,
    /// Bytes before the first row.
    header: u64,
    state: Mutex<State>,
}

struct State {
    rows: File,
    list: File,
    done: Vec<bool>,
    sum: Sum,
}

/// `PATH.part`, where rows are, and `PATH.rows`, the list of those.
fn beside(path: &Path) -> [PathBuf; 2] {
    ["part", "rows"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(end);
        name.into()
    })
}

impl RowShape {
    fn row(&self) -> u64 {
        (self.columns * self.bytes) as u64
    }

    /// The first line of a list.
    fn line(&self) -> String {
        let RowShape { rows, columns, descr, question, .. } = self;
        format!("hivegraph rows 1 {question:016x} {rows} {columns} {descr}\n")
    }
}

impl RowFile {
    /// Begins a file that will be `path`, or goes on with one of the same question.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be written, and where an unfinished file is of another question.
    pub fn open(path: &Path, shape: RowShape) -> Result<RowFile> {
        let header = npy::header(shape.descr, &format!("({}, {})", shape.rows, shape.columns));
        let [part, list] = beside(path);
        let both = part.exists() && list.exists();
        let made = if both { go_on(path, &shape) } else { begin(path, &shape, &header) };
        let state = made.map_err(|cause| unwritable(path, &cause))??;
        let header = header.len() as u64;
        Ok(RowFile { path: path.into(), shape, header, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether these rows are there.
    pub fn has(&self, rows: Range<usize>) -> bool {
        self.state().done[rows].iter().all(|done| *done)
    }

    /// Writes rows from `first` on; when it returns they are on the disk, and the list says so.
    pub fn put(&self, first: usize, values: &[u8], sum: Sum) -> Result<()> {
        let count = values.len() / self.shape.row().max(1) as usize;
        let mut state = self.state();
        let place = self.header + first as u64 * self.shape.row();
        let mut write = || -> io::Result<()> {
            state.rows.seek(SeekFrom::Start(place))?;
            state.rows.write_all(values)?;
            state.rows.sync_data()?;
            let Sum { unreached, farthest } = sum;
            state
                .list
                .write_all(format!("{first} {count} {unreached} {farthest:?}\n").as_bytes())?;
            state.list.sync_data()
        };
        write().map_err(|cause| unwritable(&self.path, &cause))?;
        state.done[first..first + count].fill(true);
        state.sum = state.sum.and(sum);
        Ok(())
    }

    /// Gives the file its name, now that all rows are there. What is known of them.
    pub fn finish(&self) -> Result<Sum> {
        let state = self.state();
        if !state.done.iter().all(|done| *done) {
            return Err(Error::machine("a matrix without all of its rows; this is a bug"));
        }
        let [part, list] = beside(&self.path);
        let rename = || -> io::Result<()> {
            state.rows.sync_all()?;
            std::fs::rename(&part, &self.path)?;
            std::fs::remove_file(&list)
        };
        rename().map_err(|cause| unwritable(&self.path, &cause))?;
        Ok(state.sum)
    }

    /// The values, mapped, once the file has its name.
    pub fn values<T: Pod>(&self) -> Result<Array<T>> {
        let bytes = source::read_own(&self.path.to_string_lossy())?;
        Ok(bytes.numbers(&bytes[self.header as usize..]))
    }
}

fn unwritable(path: &Path, cause: &io::Error) -> Error {
    Error::input(format!(
        "--into {}: cannot be written ({cause}); check the directory and its free space, or choose another path",
        path.display()
    ))
}

/// A file without rows.
fn begin(path: &Path, shape: &RowShape, header: &[u8]) -> io::Result<Result<State>> {
    let [part, list] = beside(path);
    let open =
        |path| OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
    let (mut rows, mut list) = (open(part)?, open(list)?);
    rows.write_all(header)?;
    rows.set_len(header.len() as u64 + shape.rows as u64 * shape.row())?;
    rows.sync_all()?;
    list.write_all(shape.line().as_bytes())?;
    list.sync_all()?;
    Ok(Ok(State { rows, list, done: vec![false; shape.rows], sum: Sum::default() }))
}

/// The file with the rows that its list has.
fn go_on(path: &Path, shape: &RowShape) -> io::Result<Result<State>> {
    let [part, name] = beside(path);
    let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path);
    let (rows, mut list) = (open(&part)?, open(&name)?);
    let mut text = String::new();
    list.read_to_string(&mut text)?;
    let (mut done, mut sum) = (vec![false; shape.rows], Sum::default());
    // What was being written when the program ended is not there.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let known = text[..whole].strip_prefix(&shape.line()).and_then(|lines| {
        for line in lines.lines() {
            let (block, of) = row_of(line)?;
            done.get_mut(block)?.fill(true);
            sum = sum.and(of);
        }
        Some(())
    });
    if known.is_none() {
        return Ok(Err(Error::input(format!(
            "--into {}: {} is of another question, or damaged; remove both files of that name, .part and .rows, or name another \
             file",
            path.display(),
            part.display()
        ))));
    }
    list.set_len(whole as u64)?;
    list.seek(SeekFrom::End(0))?;
    Ok(Ok(State { rows, list, done, sum }))
}

/// `first count unreached farthest`.
fn row_of(line: &str) -> Option<(Range<usize>, Sum)> {
    let mut words = line.split(' ');
    let first: usize = words.next()?.parse().ok()?;
    let count: usize = words.next()?.parse().ok()?;
    let sum = Sum { unreached: words.next()?.parse().ok()?, farthest: words.next()?.parse().ok()? };
    Some((first..first.checked_add(count)?, sum))
}
