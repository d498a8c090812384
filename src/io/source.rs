//! The bytes of an input file: mapped where that is possible, decompressed where it is needed.

use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use memmap2::Mmap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::ops::Deref;
use std::sync::Arc;

const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// A file's content after decompression.
pub(super) enum Bytes {
    /// A plain file, read by the page as it is parsed.
    Mapped(Arc<Mmap>),
    /// What came out of gzip, or of a pipe.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// Whether `path` is there and can be opened. A pipe is left alone: opening it would wait.
pub(super) fn check(path: &str) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    refuse_directory(path, &metadata)?;
    if metadata.is_file() {
        File::open(path).map_err(|error| unreadable(path, &error))?;
    }
    Ok(())
}

fn refuse_directory(path: &str, metadata: &Metadata) -> Result<()> {
    if metadata.is_dir() {
        return Err(Error::input(format!("{path}: is a directory; name a graph file in it")));
    }
    Ok(())
}

/// Opens `path` and decompresses it if it is gzip.
pub(super) fn read(path: &str) -> Result<Bytes> {
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    refuse_directory(path, &metadata)?;
    let bytes = if metadata.is_file() && metadata.len() > 0 {
        // SAFETY: the map is read only and lives no longer than the parse. Should another program
        // write to the file meanwhile, bytes change under the parser, which checks every value that
        // it uses; should it be cut short, the system ends this process, as it would a reader of any
        // mapped file.
        let map = unsafe { Mmap::map(&file) };
        Bytes::Mapped(Arc::new(map.map_err(|error| unreadable(path, &error))?))
    } else {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
        Bytes::Owned(bytes)
    };
    if bytes.starts_with(GZIP_MAGIC) {
        decompress(path, &bytes).map(Bytes::Owned)
    } else {
        Ok(bytes)
    }
}

fn decompress(path: &str, packed: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(packed.len().saturating_mul(4));
    match MultiGzDecoder::new(packed).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(Error::input(format!(
            "{path}: the gzip file is truncated ({} bytes, good for {} bytes of content); fetch it \
             again",
            packed.len(),
            bytes.len()
        ))),
        Err(error) => Err(Error::input(format!(
            "{path}: the gzip file is damaged ({error}, after {} bytes of content); fetch it again",
            bytes.len()
        ))),
    }
}

fn unreadable(path: &str, error: &io::Error) -> Error {
    let what = match error.kind() {
        ErrorKind::NotFound => {
            let forms = crate::generate::FORMS;
            format!("no such file; check the path, or generate a graph: {forms}")
        }
        ErrorKind::PermissionDenied => {
            format!("cannot be read ({error}); ask its owner for permission")
        }
        _ => format!("cannot be read ({error}); check the path and the disk"),
    };
    Error::input(format!("{path}: {what}"))
}
