//! Files that appear whole or not at all: written aside, synced, renamed (DESIGN section 12).

use crate::error::{Error, Result};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes `path` through `write`. A file of that name is replaced only once the new one is on disk.
pub(crate) fn write_aside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    let attempt = || -> io::Result<()> {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            // What open() would give, less the umask: tempfile's default would hide it from the group.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let aside = builder.prefix(".hive-").tempfile_in(directory)?;
        let mut writer = BufWriter::with_capacity(1 << 20, aside.as_file());
        write(&mut writer)?;
        writer.flush()?;
        drop(writer);
        aside.as_file().sync_all()?;
        aside.persist(path).map_err(|error| error.error)?;
        File::open(directory)?.sync_all()
    };
    attempt().map_err(|error| {
        Error::input(format!(
            "{}: cannot be written ({error}); check the directory and its free space",
            path.display()
        ))
    })
}
