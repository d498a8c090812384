//! How far the present load is: for whoever draws a bar. One count for the process, since it is for looking
//! at only; loads that run side by side add up.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static DONE: AtomicU64 = AtomicU64::new(0);
static TOTAL: AtomicU64 = AtomicU64::new(0);

/// `bytes` more are about to be worked through; work that was finished no longer counts.
pub(super) fn begin(bytes: usize) {
    if DONE.load(Relaxed) >= TOTAL.load(Relaxed) {
        DONE.store(0, Relaxed);
        TOTAL.store(0, Relaxed);
    }
    TOTAL.fetch_add(bytes as u64, Relaxed);
}

/// `bytes` of them are done.
pub(super) fn advance(bytes: usize) {
    DONE.fetch_add(bytes as u64, Relaxed);
}

/// Bytes done and to be done by the loads under way; `None` where that is not known.
pub(crate) fn current() -> Option<(u64, u64)> {
    let (done, total) = (DONE.load(Relaxed), TOTAL.load(Relaxed));
    (done < total).then_some((done, total))
}

/// Bytes read from pipes, and pipes that are read: nobody knows how much will come.
static PIPED: AtomicU64 = AtomicU64::new(0);
static PIPES: AtomicU64 = AtomicU64::new(0);

/// A pipe is read as long as this lives.
pub(super) struct Piped(());

impl Piped {
    pub(super) fn begin() -> Piped {
        if PIPES.fetch_add(1, Relaxed) == 0 {
            PIPED.store(0, Relaxed);
        }
        Piped(())
    }

    pub(super) fn advance(bytes: usize) {
        PIPED.fetch_add(bytes as u64, Relaxed);
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        PIPES.fetch_sub(1, Relaxed);
    }
}

/// Bytes that came through pipes so far; `None` where none is read.
pub(crate) fn piped() -> Option<u64> {
    (PIPES.load(Relaxed) > 0).then(|| PIPED.load(Relaxed))
}

/// Counts what is read from a file's bytes.
pub(super) struct Watched<'a>(pub &'a [u8]);

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        advance(read);
        Ok(read)
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        advance(self.0.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_shows_how_much_came_as_long_as_it_is_read() {
        let pipe = Piped::begin();
        Piped::advance(5);
        Piped::advance(7);
        assert_eq!(piped(), Some(12));
        drop(pipe);
        assert_eq!(piped(), None);
    }
}
