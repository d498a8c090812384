//! What memory there is: a small file may ask for more than any machine has.

use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that inputs may ask for, whatever the machine has.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Below this nobody asks how much there is.
const SMALL: u64 = 1 << 20;

/// Bounds what inputs may ask for, for tests that feed this process rubbish.
pub(crate) fn limit(bytes: u64) {
    LIMIT.store(bytes, Relaxed);
}

/// Bytes that Linux reckons can be had without swapping; `None` elsewhere.
pub(crate) fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Bytes that an input may make this process allocate.
fn most() -> u64 {
    available().unwrap_or(u64::MAX).min(LIMIT.load(Relaxed))
}

/// Whether `bytes` can be had.
pub(crate) fn has(bytes: u64) -> bool {
    bytes <= SMALL || bytes <= most()
}

/// Appends all of `content`, whose length nobody knows before it is unpacked, as long as there is memory
/// for it.
pub(crate) fn unpack(content: impl Read, to: &mut Vec<u8>) -> io::Result<()> {
    let most = most();
    content.take(most.saturating_add(1)).read_to_end(to)?;
    within(to, most)
}

/// As [`unpack`], for content that comes in pieces: the bound, then the check after each piece.
pub(crate) fn bound() -> impl Fn(&[u8]) -> io::Result<()> {
    let most = most();
    move |content| within(content, most)
}

fn within(content: &[u8], most: u64) -> io::Result<()> {
    if content.len() as u64 <= most {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::OutOfMemory,
        format!("it unpacks to more than the {:.1} GB of memory that are left", most as f64 * 1e-9),
    ))
}
