//! Where this program keeps what it can make again.

use std::path::PathBuf;

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
