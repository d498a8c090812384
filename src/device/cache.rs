//! The cubin cache: executable code on disk, so private to the user and checksummed.

use crate::aside::Unfinished;
use crate::cache_dir;
use crate::system;
use sha2::{Digest, Sha256};
use std::io::Write;

/// A file name that changes with anything that changes the code.
pub(super) fn key(parts: &[&str]) -> String {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    cache_dir::key(&parts)
}

/// The cached bytes, if they are there and whole. A damaged or foreign entry is not used.
pub(super) fn read(key: &str) -> Option<Vec<u8>> {
    let folder = cache_dir::directory().filter(|folder| system::is_private(folder))?;
    let bytes = std::fs::read(folder.join(format!("{key}.cubin"))).ok()?;
    let (sum, body) = bytes.split_at_checked(32)?;
    (Sha256::digest(body).as_slice() == sum).then(|| body.to_vec())
}

/// Stores `bytes`; a cache that cannot be written is no error.
pub(super) fn write(key: &str, bytes: &[u8]) {
    let _ = try_write(key, bytes);
}

fn try_write(key: &str, bytes: &[u8]) -> std::io::Result<()> {
    let Some(folder) = cache_dir::directory() else { return Ok(()) };
    system::make_private(&folder)?;
    let aside = Unfinished::new(|| tempfile::NamedTempFile::new_in(&folder))?;
    let mut file = aside.file()?;
    file.write_all(&Sha256::digest(bytes))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    aside.rename(&folder.join(format!("{key}.cubin")))
}
