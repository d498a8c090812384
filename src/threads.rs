//! Threads: a system may refuse one. And the bodies of loops that many of them share.

use crate::error::{Error, Result};
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The body of a parallel loop in a generic function. rayon's part of the loop, dozens of functions, is then compiled once for each type of
/// item. If it took the closure itself, it would be compiled for each closure.
pub(crate) type Body<'a, Item, Made = ()> = &'a (dyn Fn(Item) -> Made + Sync);

/// The same for a loop in which each thread has something of its own.
pub(crate) type BodyWith<'a, Own, Item> = &'a (dyn Fn(&mut Own, Item) + Sync);

/// Starts a thread of this name.
///
/// # Errors
/// [`Error::Machine`] where the system has none left.
pub(crate) fn start<T: Send + 'static>(
    name: impl Into<String>,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(body).map_err(refused)
}

/// What `work` makes, on a thread of its own. Meanwhile `lives` is called at least as often as `every` so much time.
///
/// # Errors
/// [`Error::Machine`] where the system has no thread left.
pub(crate) fn beside<T: Send>(
    name: &str,
    every: Duration,
    lives: impl Fn(),
    work: impl FnOnce() -> T + Send,
) -> Result<T> {
    let (ends, ended) = channel::<()>();
    let body = move || {
        // It goes at the end, however that comes.
        let _ends = ends;
        work()
    };
    std::thread::scope(|scope| {
        let worker = Builder::new().name(name.into()).spawn_scoped(scope, body).map_err(refused)?;
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            lives();
        }
        worker.join().or_else(|panic| resume_unwind(panic))
    })
}

/// Starts the threads that all of the host's work shares, so that it is told here if there are none.
///
/// # Errors
/// [`Error::Machine`] where the system has too few left.
#[cfg(feature = "cli")]
pub(crate) fn start_pool() -> Result<()> {
    rayon::ThreadPoolBuilder::new().build_global().map_err(refused)
}

/// The error of threads that cannot be started.
pub(crate) fn refused(cause: impl std::fmt::Display) -> Error {
    Error::machine(format!(
        "cannot start a thread: {cause}; end other programs, or raise the limit of threads (ulimit -u)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_thread_that_waits_for_another_shows_that_it_lives() {
        let (beats, short) = (Cell::new(0), Duration::from_millis(2));
        let lives = || beats.set(beats.get() + 1);
        let made = beside("works", short, lives, || std::thread::sleep(25 * short));
        assert!(made.is_ok() && beats.get() > 5, "{}", beats.get());
        assert_eq!(beside("works", Duration::MAX, || {}, || 7).ok(), Some(7));
    }
}
