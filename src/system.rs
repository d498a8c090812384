//! What differs between operating systems: owners of files, kinds of files, signals. Elsewhere than on Unix a file is what its
//! length and time say, no cache is believed, and a program that is interrupted leaves what it was writing.

#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(not(unix))]
pub(crate) use other::*;

#[cfg(unix)]
mod unix {
    use std::fs::{FileType, Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
    use std::path::Path;

    /// Makes temporary files as readable as the user's umask allows: they are private by default.
    pub(crate) fn open_to_all(builder: &mut tempfile::Builder) {
        builder.permissions(Permissions::from_mode(0o666));
    }

    /// Makes `folder` for the user alone.
    pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Whether `folder` is the user's own, and closed to others: what lies in it is believed.
    pub(crate) fn is_private(folder: &Path) -> bool {
        let Ok(meta) = std::fs::metadata(folder) else { return false };
        let own = std::fs::metadata("/proc/self").map_or(meta.uid(), |me| me.uid());
        meta.uid() == own && meta.permissions().mode() & 0o077 == 0
    }

    /// What differs where a file is another than it was. A program may set the time of modification (`cp -p`, `tar` and
    /// `rsync -t` restore it), but not that of change.
    pub(crate) fn state_of(meta: &Metadata) -> Vec<u8> {
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        let words = [meta.len(), meta.dev(), meta.ino()].into_iter().chain(times.map(|t| t as u64));
        words.flat_map(u64::to_le_bytes).collect()
    }

    /// What a file is that is neither a plain one, nor a directory, nor a pipe.
    pub(crate) fn kind_of(kind: FileType) -> Option<&'static str> {
        let device = kind.is_block_device() || kind.is_char_device();
        if kind.is_socket() { Some("socket") } else { device.then_some("device") }
    }

    /// The signal that ended a process.
    #[cfg(feature = "cli")]
    pub(crate) fn signal_of(status: std::process::ExitStatus) -> Option<i32> {
        std::os::unix::process::ExitStatusExt::signal(&status)
    }
}

#[cfg(not(unix))]
mod other {
    use std::fs::{FileType, Metadata};
    use std::io;
    use std::path::Path;
    use std::time::UNIX_EPOCH;

    pub(crate) fn open_to_all(_builder: &mut tempfile::Builder) {}

    pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)
    }

    pub(crate) fn is_private(_folder: &Path) -> bool {
        false
    }

    pub(crate) fn state_of(meta: &Metadata) -> Vec<u8> {
        let time = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let words = [meta.len(), time.map_or(0, |time| time.as_nanos() as u64)];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    pub(crate) fn kind_of(_kind: FileType) -> Option<&'static str> {
        None
    }

    #[cfg(feature = "cli")]
    pub(crate) fn signal_of(_status: std::process::ExitStatus) -> Option<i32> {
        None
    }
}
