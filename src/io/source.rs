//! The bytes of an input file: mapped where that is possible, decompressed where it is needed.

use super::progress::{self, Watched};
use crate::error::{Error, Result};
use crate::memory;
use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use memmap2::Mmap;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::ops::Deref;
use std::sync::Arc;

/// A way to compress files.
struct Packing {
    name: &'static str,
    magic: &'static [u8],
    /// Appends the content; what was unpacked before an error stays.
    unpack: fn(&[u8], &mut Vec<u8>) -> io::Result<()>,
}

const PACKINGS: [Packing; 4] = [
    Packing { name: "gzip", magic: b"\x1f\x8b", unpack: gunzip },
    Packing { name: "bzip2", magic: b"BZh", unpack: bunzip },
    Packing { name: "xz", magic: b"\xfd7zXZ\0", unpack: unxz },
    Packing { name: "zstd", magic: b"\x28\xb5\x2f\xfd", unpack: unzstd },
];

/// What compression adds to a file's name.
pub(super) const ENDINGS: [&str; 4] = [".gz", ".bz2", ".xz", ".zst"];

/// A file may ask for a window of this size, which it need not fill: `xz -9` and `zstd --ultra -22` do
/// with less.
const WINDOW: u64 = 128 << 20;

/// A file's content after decompression.
pub(super) enum Bytes {
    /// A plain file, read by the page as it is parsed.
    Mapped(Arc<Mmap>),
    /// What came out of a compressed file, or of a pipe.
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

/// The path that means standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// Opens a path; `-` is standard input.
fn open(path: &str) -> Result<File> {
    if path != STANDARD_INPUT {
        return File::open(path).map_err(|error| unreadable(path, &error));
    }
    let input = io::stdin();
    if input.is_terminal() {
        return Err(Error::input(
            "-: standard input is a terminal; pipe a graph into it, or name a file",
        ));
    }
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let owned = input.as_fd().try_clone_to_owned();
        owned.map(File::from).map_err(|error| unreadable(path, &error))
    }
    #[cfg(not(unix))]
    Err(Error::input("-: a graph is read from standard input on Unix only; name a file"))
}

/// Whether `path` is there and can be opened. A pipe is left alone: opening it would wait.
pub(super) fn check(path: &str) -> Result<()> {
    if path == STANDARD_INPUT {
        return open(path).map(drop);
    }
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

/// Text without the byte order mark that some editors put before it.
pub(super) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// As [`check`], of a file that is no graph.
pub(super) fn check_table(path: &str) -> Result<()> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::input(format!("{path}: no such file; check the path")))
        }
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::input(format!("{path}: is a directory; name a file in it")))
        }
        _ => check(path),
    }
}

/// As [`read`], of a file that is no graph.
pub(super) fn read_table(path: &str) -> Result<Bytes> {
    check_table(path)?;
    read(path)
}

/// Opens `path` and decompresses it if it is compressed.
pub(super) fn read(path: &str) -> Result<Bytes> {
    let mut file = open(path)?;
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    refuse_directory(path, &metadata)?;
    let bytes = if metadata.is_file() && metadata.len() > 0 {
        // SAFETY: the map is read only. It lives as long as the parse, and for a native file as long as
        // the graph. Should another program write to the file meanwhile, bytes change under who reads
        // them: parsers check every value that they use, and a graph's indices are checked where they
        // are used on the host (writers of native files replace them whole). Should it be cut short, the
        // system ends this process, as it would a reader of any mapped file.
        let map = unsafe { Mmap::map(&file) };
        Bytes::Mapped(Arc::new(map.map_err(|error| unreadable(path, &error))?))
    } else {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
        Bytes::Owned(bytes)
    };
    unpacked(path, bytes)
}

/// Decompresses the content of `path`, if it is compressed. How much comes out is bounded by the memory
/// that is left, and by nothing else.
pub(super) fn unpacked(path: &str, bytes: Bytes) -> Result<Bytes> {
    match PACKINGS.iter().find(|packing| bytes.starts_with(packing.magic)) {
        Some(packing) => decompress(path, packing, &bytes).map(Bytes::Owned),
        None => Ok(bytes),
    }
}

fn decompress(path: &str, packing: &Packing, packed: &[u8]) -> Result<Vec<u8>> {
    let name = packing.name;
    let mut bytes = Vec::with_capacity(packed.len().saturating_mul(4));
    progress::begin(packed.len());
    match (packing.unpack)(packed, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(Error::input(format!(
            "{path}: the {name} file is truncated ({} bytes, good for {} bytes of content); fetch it \
             again",
            packed.len(),
            bytes.len()
        ))),
        Err(error) if error.kind() == ErrorKind::OutOfMemory => Err(Error::machine(format!(
            "{path}: the {name} file cannot be unpacked ({error}); take a machine with more"
        ))),
        Err(error) => Err(Error::input(format!(
            "{path}: the {name} file is damaged ({error}, after {} bytes of content); fetch it again",
            bytes.len()
        ))),
    }
}

fn gunzip(packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    memory::unpack(MultiGzDecoder::new(Watched(packed)), bytes)
}

fn bunzip(packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    memory::unpack(MultiBzDecoder::new(Watched(packed)), bytes)
}

fn unxz(packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    // The decoder's own tables take some of the limit, which is in KiB.
    let limit = (WINDOW >> 10) as u32 + (1 << 10);
    memory::unpack(XzReader::new_mem_limit(Watched(packed), true, limit), bytes)
}

fn unzstd(mut packed: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    let check = memory::bound();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW);
    let length = packed.len();
    let mut seen = 0;
    while !packed.is_empty() {
        match decoder.reset(&mut packed) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                packed = packed.get(length as usize..).ok_or(ErrorKind::UnexpectedEof)?;
                continue;
            }
            reset => reset.map_err(|error| zstd_error(&error, packed))?,
        }
        while !decoder.is_finished() {
            let some = BlockDecodingStrategy::UptoBytes(1 << 20);
            let decoded = decoder.decode_blocks(&mut packed, some);
            decoded.map_err(|error| zstd_error(&error, packed))?;
            decoder.collect_to_writer(&mut *bytes)?;
            check(bytes)?;
            progress::advance(length - packed.len() - seen);
            seen = length - packed.len();
        }
        decoder.collect_to_writer(&mut *bytes)?;
        let expected = decoder.get_checksum_from_data();
        if expected.is_some() && expected != decoder.get_calculated_checksum() {
            return Err(io::Error::other("the checksum does not fit"));
        }
    }
    Ok(())
}

/// The decoder wraps what it meets at the end of the input in kinds of its own.
fn zstd_error(error: &FrameDecoderError, rest: &[u8]) -> io::Error {
    if rest.is_empty() {
        return ErrorKind::UnexpectedEof.into();
    }
    io::Error::other(error.to_string().replace('\n', " "))
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
