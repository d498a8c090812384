//! Where this program keeps what it can make again.

use std::io;
use std::path::{Path, PathBuf};

/// `$HIVE_CACHE_DIR`, else `$XDG_CACHE_HOME/hivegraph`, else `~/.cache/hivegraph`. `None` where an empty
/// `HIVE_CACHE_DIR` turns caches off.
pub(crate) fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    match set("HIVE_CACHE_DIR") {
        Some(path) if path.as_os_str().is_empty() => None,
        Some(path) => Some(path),
        None => set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .map(|base| base.join("hivegraph")),
    }
}

/// Makes `folder` for the user alone.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Whether `folder` is the user's own, and closed to others: what lies in it is believed.
pub(crate) fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Ok(meta) = std::fs::metadata(folder) else { return false };
    let own = std::fs::metadata("/proc/self").map_or(meta.uid(), |me| me.uid());
    meta.uid() == own && meta.permissions().mode() & 0o077 == 0
}

/// A file name that changes with any of `parts`.
pub(crate) fn key(parts: &[&[u8]]) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
