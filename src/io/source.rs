//! The bytes of an input file: mapped where that is possible, decompressed where it is needed.

use super::progress::{self, Watched};
use crate::byte_count::ByteCount;
use crate::error::{Error, Result};
use crate::graph::array::Array;
use crate::memory;
use crate::system::kind_of;
use crate::units;
use bytemuck::Pod;
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
    /// Appends the content, up to so many bytes; what was unpacked before an error stays.
    unpack: fn(&[u8], &mut Vec<u8>, u64) -> io::Result<()>,
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

/// How many bytes an input may hold. Without `--input-limit` it is what memory allows: all that is available for
/// a plain file, whose arcs take about as much as its text; half of it for what is unpacked or comes through
/// a pipe, whose text stays in memory beside the arcs.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    asked: Option<u64>,
    /// Whether there is an option to ask for more.
    option: bool,
}

impl Limit {
    /// That of a graph.
    pub(super) fn of_graph(asked: Option<ByteCount>) -> Limit {
        Limit { asked: asked.map(|asked| asked.0), option: true }
    }

    /// That of another file.
    pub(super) fn of_table() -> Limit {
        Limit { asked: None, option: false }
    }

    /// Most bytes that are held in memory.
    pub(super) fn held(self) -> u64 {
        self.asked.unwrap_or_else(|| memory::most() / 2)
    }

    fn of_file(self) -> u64 {
        self.asked.unwrap_or_else(memory::most)
    }

    /// What is said of an input beyond `most` bytes; `how` says how it came to be so long.
    pub(super) fn exceeded(self, how: &str, most: u64) -> String {
        let next = match self.option {
            true => "where the machine has memory for more, allow it with --input-limit BYTES",
            false => "take a machine with more memory",
        };
        let cause = if self.asked.is_some() { "" } else { ", which is what memory allows" };
        format!("{how} holds more than {}{cause}; {next}", units::bytes(most))
    }
}

/// A file's content after decompression.
pub(super) enum Bytes {
    /// A plain file, read by the page as it is parsed.
    Mapped(Arc<Mmap>),
    /// What came out of a compressed file, or of a pipe.
    Owned(Vec<u8>),
}

impl Bytes {
    /// The little-endian numbers that `part` of this is: mapped where that is possible.
    pub(super) fn numbers<T: Pod>(&self, part: &[u8]) -> Array<T> {
        if let Bytes::Mapped(map) = self {
            let first = part.as_ptr().addr().wrapping_sub(map.as_ptr().addr());
            if let Some(array) = Array::mapped(map, first..first.wrapping_add(part.len())) {
                return array;
            }
        }
        bytemuck::allocation::pod_collect_to_vec::<u8, T>(part).into()
    }
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
    refuse_other(path, &metadata)?;
    if metadata.is_file() {
        File::open(path).map_err(|error| unreadable(path, &error))?;
    }
    Ok(())
}

/// Refuses what is neither a file nor a pipe.
fn refuse_other(path: &str, metadata: &Metadata) -> Result<()> {
    let what = match (metadata.is_dir(), kind_of(metadata.file_type())) {
        (true, _) => "is a directory; name a graph file in it",
        (_, Some("socket")) => "is a socket; give a file or a pipe",
        (_, Some(_)) => {
            "is a device, which need not end; give a file, or a pipe that ends within --input-limit"
        }
        (_, None) => return Ok(()),
    };
    Err(Error::input(format!("{path}: {what}")))
}

/// Text without the byte order mark that some editors put before it.
pub(super) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// As [`check`], of a file that is no graph.
pub(crate) fn check_table(path: &str) -> Result<()> {
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
    read(path, Limit::of_table())
}

/// Opens `path` and decompresses it if it is compressed. Native files are mapped and not read, so that their length has
/// no limit.
pub(super) fn read(path: &str, limit: Limit) -> Result<Bytes> {
    if path != STANDARD_INPUT {
        // Before it is opened: that has effects on some devices, and fails on sockets.
        let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        refuse_other(path, &metadata)?;
    }
    let file = open(path)?;
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    // Of standard input as much is read as the limit allows, whatever it is: often it is /dev/null.
    if path != STANDARD_INPUT {
        refuse_other(path, &metadata)?;
    }
    let bytes = if metadata.is_file() && metadata.len() > 0 {
        let map = mapped(path, &file)?;
        let most = limit.of_file();
        if map.len() as u64 > most && !super::native::is_native(&map) {
            return Err(Error::input(format!("{path}: {}", limit.exceeded("the file", most))));
        }
        Bytes::Mapped(Arc::new(map))
    } else {
        Bytes::Owned(drain(path, file, limit)?)
    };
    unpacked(path, bytes, limit)
}

/// A file of this program's, as it is.
pub(super) fn read_own(path: &str) -> Result<Bytes> {
    Ok(Bytes::Mapped(Arc::new(mapped(path, &open(path)?)?)))
}

fn mapped(path: &str, file: &File) -> Result<Mmap> {
    // SAFETY: the map is read only. It lives as long as the parse, for files that hold a graph's arrays as they are in memory as long
    // as the graph, and for a matrix as long as the answer. Should another program write to the file meanwhile, bytes change under who
    // reads them: parsers check every value that they use, a graph's indices are checked where they are used on the host (this
    // program's writers replace files whole), and of a matrix any bytes are values. Should it be cut short, the system ends this
    // process, as it would a reader of any mapped file.
    let map = unsafe { Mmap::map(file) };
    map.map_err(|error| unreadable(path, &error))
}

/// All that comes through a pipe.
fn drain(path: &str, mut pipe: File, limit: Limit) -> Result<Vec<u8>> {
    let most = limit.held();
    let mut bytes = Vec::new();
    let mut block = vec![0; 1 << 16];
    let _shown = progress::Piped::begin();
    loop {
        match pipe.read(&mut block) {
            Ok(0) => return Ok(bytes),
            Ok(read) => {
                bytes.extend_from_slice(&block[..read]);
                progress::Piped::advance(read);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(path, &error)),
        }
        if memory::within(&bytes, most).is_err() {
            return Err(Error::input(format!("{path}: {}", limit.exceeded("the input", most))));
        }
    }
}

/// Decompresses the content of `path`, if it is compressed.
pub(super) fn unpacked(path: &str, bytes: Bytes, limit: Limit) -> Result<Bytes> {
    match PACKINGS.iter().find(|packing| bytes.starts_with(packing.magic)) {
        Some(packing) => decompress(path, packing, &bytes, limit).map(Bytes::Owned),
        None => Ok(bytes),
    }
}

fn decompress(path: &str, packing: &Packing, packed: &[u8], limit: Limit) -> Result<Vec<u8>> {
    let (name, most) = (packing.name, limit.held());
    let room = packed.len().saturating_mul(4).min(usize::try_from(most).unwrap_or(usize::MAX));
    let mut bytes = Vec::with_capacity(room);
    progress::begin(packed.len());
    match (packing.unpack)(packed, &mut bytes, most) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            let size = units::bytes(packed.len() as u64);
            let how = format!("the {name} file ({size}), unpacked,");
            Err(Error::input(format!("{path}: {}", limit.exceeded(&how, most))))
        }
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

fn gunzip(packed: &[u8], bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    memory::unpack(MultiGzDecoder::new(Watched(packed)), bytes, most)
}

fn bunzip(packed: &[u8], bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    memory::unpack(MultiBzDecoder::new(Watched(packed)), bytes, most)
}

fn unxz(packed: &[u8], bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    // The decoder's own tables take some of the limit, which is in KiB.
    let limit = (WINDOW >> 10) as u32 + (1 << 10);
    memory::unpack(XzReader::new_mem_limit(Watched(packed), true, limit), bytes, most)
}

fn unzstd(mut packed: &[u8], bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
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
            memory::within(bytes, most)?;
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
            "no such file; check the path (generators: see --graph in hive run --help)".into()
        }
        ErrorKind::PermissionDenied => {
            format!("cannot be read ({error}); ask its owner for permission")
        }
        _ => format!("cannot be read ({error}); check the path and the disk"),
    };
    Error::input(format!("{path}: {what}"))
}
