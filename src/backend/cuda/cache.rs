//! The cubin cache: executable code on disk, so private to the user and checksummed.

use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::PathBuf;

/// `$HIVE_CACHE_DIR`, else `$XDG_CACHE_HOME/hivegraph`, else `~/.cache/hivegraph`. An empty
/// `HIVE_CACHE_DIR` turns the cache off.
fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    match set("HIVE_CACHE_DIR") {
        Some(path) if path.as_os_str().is_empty() => None,
        Some(path) => Some(path),
        None => set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .map(|base| base.join("hivegraph")),
    }
}

/// A file name that changes with anything that changes the code.
pub(super) fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The cached bytes, if they are there and whole. A damaged or foreign entry is not used.
pub(super) fn read(key: &str) -> Option<Vec<u8>> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = directory()?;
    let meta = std::fs::metadata(&folder).ok()?;
    let own = std::fs::metadata("/proc/self").map_or(meta.uid(), |me| me.uid());
    if meta.uid() != own || meta.permissions().mode() & 0o077 != 0 {
        return None;
    }
    let bytes = std::fs::read(folder.join(format!("{key}.cubin"))).ok()?;
    let (sum, body) = bytes.split_at_checked(32)?;
    (Sha256::digest(body).as_slice() == sum).then(|| body.to_vec())
}

/// Stores `bytes`; a cache that cannot be written is no error.
pub(super) fn write(key: &str, bytes: &[u8]) {
    let _ = try_write(key, bytes);
}

fn try_write(key: &str, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(folder) = directory() else { return Ok(()) };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(&Sha256::digest(bytes))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(format!("{key}.cubin")))?;
    Ok(())
}
