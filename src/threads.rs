//! Threads: a system may refuse one.

use crate::error::{Error, Result};
use std::thread::{Builder, JoinHandle};

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
