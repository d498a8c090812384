//! Where a process runs, and whether it still does.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What tells a process from all others. What is not known is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub host: Host,
    /// Its number on its host, and when it started there, by the system's clock: numbers come again.
    pid: i32,
    since: String,
}

/// A host, or a part of one whose processes see each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Host {
    pub name: String,
    boot: String,
    /// Containers of a host need not share processes.
    space: String,
}

/// How long a process may take to die.
const DYING: Duration = Duration::from_secs(2);
/// How long one that is leaving may take to end by itself.
const LEAVING: Duration = Duration::from_secs(1);

/// Where this process runs.
pub(super) fn own_place() -> Place {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let name = read("/proc/sys/kernel/hostname");
    let host = Host {
        name: if name.is_empty() { "this host".into() } else { name },
        boot: read("/proc/sys/kernel/random/boot_id"),
        space: std::fs::read_link("/proc/self/ns/pid").unwrap_or_default().display().to_string(),
    };
    let pid = std::process::id() as i32;
    Place { host, pid, since: started(pid).unwrap_or_default() }
}

/// Where other processes of this host find an open file of this one.
#[cfg(unix)]
pub(crate) fn place_of(file: &std::fs::File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(file))
}

/// No process of such a system finds one.
#[cfg(not(unix))]
pub(crate) fn place_of(_: &std::fs::File) -> String {
    String::new()
}

/// When the process of this number started; none where it has died.
fn started(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    (!["Z", "X"].contains(&state)).then(|| fields.nth(18).map(String::from)).flatten()
}

impl Place {
    /// Kills the process, which is of this host, and says whether it is dead. One that is `leaving` may end by itself first.
    pub fn end(&self, leaving: bool) -> bool {
        if self.since.is_empty() {
            return false;
        }
        let begin = Instant::now();
        while started(self.pid).is_some_and(|since| since == self.since) {
            if !leaving || begin.elapsed() > LEAVING {
                self.strike();
            }
            if begin.elapsed() > DYING {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    #[cfg(unix)]
    fn strike(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Processes of such a system are not known: see `since`.
    #[cfg(not(unix))]
    fn strike(&self) {}
}
