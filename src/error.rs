//! What can go wrong, and the exit code that each kind of failure earns.

/// Every failure that this crate reports.
///
/// A message says what, where (file, line, value; rank, device, iteration, operation) and ends with
/// the next thing that the user can do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The user's input cannot be used: a file, an option, an id, a weight. Exit code 2.
    #[error("{0}")]
    Input(String),
    /// The machine lacks something that was asked for: a device, a library, memory. Exit code 2.
    #[error("{0}")]
    Machine(String),
    /// A call into CUDA, NVRTC or NCCL failed. Inside a program the fleet turns it into a
    /// [`Error::Fault`] that says where. Exit code 3.
    #[error("{device}: {call} failed: {code}")]
    Device {
        /// As in `cuda:1`.
        device: String,
        /// What was asked for.
        call: String,
        /// The library's own code and words.
        code: String,
    },
    /// A replica failed, stalled or disagreed with its peers while a program ran. Exit code 3.
    #[error("replica {rank} ({device}), iteration {iteration}, {operation}: {cause}")]
    Fault {
        /// Rank of the replica that failed first.
        rank: usize,
        /// Its device, as in `cuda:1` or `host`.
        device: String,
        /// The driver's iteration, from 0.
        iteration: u64,
        /// What it was doing, as in `merge dist` or `step pull`.
        operation: String,
        /// Why, with the library's own code where there is one.
        cause: String,
    },
    /// An answer did not pass its independent check. Exit code 1.
    #[error("{0}")]
    Verify(String),
}

/// The crate's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An [`Error::Input`] from anything printable.
    pub fn input(message: impl Into<String>) -> Self {
        Error::Input(message.into())
    }

    /// An [`Error::Machine`] from anything printable.
    pub fn machine(message: impl Into<String>) -> Self {
        Error::Machine(message.into())
    }

    /// The process exit code: 1 verification, 2 input or machine, 3 fault.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Verify(_) => 1,
            Error::Input(_) | Error::Machine(_) => 2,
            Error::Fault { .. } | Error::Device { .. } => 3,
        }
    }
}
