//! What can go wrong, and the exit code that each kind of failure earns.

/// Every failure that this crate reports.
///
/// A message says what, where (file, line, value; rank, device, iteration, operation) and ends with
/// the next thing that the user can do.
#[derive(Debug, Clone, thiserror::Error, serde::Serialize, serde::Deserialize)]
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
    /// Another process of the fleet has gone, and what it did is not gone on with. Exit code 3.
    #[error("{0}")]
    Lost(String),
    /// An answer did not pass its independent check. Exit code 1.
    #[error("{0}")]
    Verify(String),
}

/// The crate's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An [`Error::Input`] from anything printable.
    pub fn input(message: impl Into<String>) -> Self {
        Error::Input(printable(message.into()))
    }

    /// An [`Error::Machine`] from anything printable.
    pub fn machine(message: impl Into<String>) -> Self {
        Error::Machine(printable(message.into()))
    }

    /// The process exit code: 1 verification, 2 input or machine, 3 fault.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Verify(_) => 1,
            Error::Input(_) | Error::Machine(_) => 2,
            Error::Fault { .. } | Error::Device { .. } | Error::Lost(_) => 3,
        }
    }
}

/// For programs that read and write files beside graphs.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        use std::io::ErrorKind as K;
        let words = format!("{error}; check the file's name, its permissions and its content");
        match error.kind() {
            K::NotFound | K::PermissionDenied | K::AlreadyExists => Error::input(words),
            K::InvalidInput | K::InvalidData | K::UnexpectedEof => Error::input(words),
            _ => Error::machine(format!("{error}; check the disk and the memory of this machine")),
        }
    }
}

/// One line that a terminal shows as it is: messages quote files, which may hold anything.
fn printable(message: String) -> String {
    if !message.contains(char::is_control) {
        return message;
    }
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    message.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_becomes_one_of_this_crate() {
        fn length(path: &str) -> Result<usize> {
            Ok(std::fs::read(path)?.len())
        }
        let told = length("/no/such/file").unwrap_err();
        assert!(matches!(told, Error::Input(_)) && told.exit_code() == 2, "{told:?}");
        assert!(told.to_string().contains("o such file"), "{told}");
        let told = Error::from(std::io::Error::other("the disk\nis full"));
        assert!(matches!(told, Error::Machine(_)), "{told:?}");
        assert!(told.to_string().starts_with("the disk\\nis full; "), "{told}");
    }

    #[test]
    fn a_message_is_one_line_whatever_it_quotes() {
        let quoting = |what: &str| Error::input(format!("f: {what}; é")).to_string();
        assert_eq!(quoting("a\nb\u{1b}[2J\u{85}"), "f: a\\nb\\u{1b}[2J\\u{85}; é");
        assert_eq!(quoting("a"), "f: a; é");
    }
}
