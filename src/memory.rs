//! What memory there is: a small file may ask for more than any machine has.

use crate::error::{Error, Result};
use bytemuck::Zeroable;
use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that inputs may ask for, whatever the machine has.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Below this nobody asks how much there is.
const SMALL: u64 = 1 << 20;

/// Bounds what inputs may ask for, for tests that feed this process rubbish.
pub(crate) fn limit(bytes: u64) {
    LIMIT.store(bytes, Relaxed);
}

/// Bytes of memory that this process can still use without swapping: what the machine has left, or what its
/// control group (a container, a batch job) or a limit of its address space (`ulimit -v`) leaves where that is less.
/// `None` where the system does not say.
pub(crate) fn available_memory() -> Option<u64> {
    let machine = kilobytes("/proc/meminfo", "MemAvailable:")?;
    let groups = control_groups().iter().filter_map(|group| group.available());
    let machine = groups.fold(machine, u64::min);
    Some(address_space().map_or(machine, |left| left.min(machine)))
}

/// Bytes that the limit of this process's address space leaves; `None` without a limit.
fn address_space() -> Option<u64> {
    static MOST: OnceLock<Option<u64>> = OnceLock::new();
    let most = MOST.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/self/limits").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        line.split_whitespace().next()?.parse().ok()
    });
    let most = (*most)?;
    Some(most.saturating_sub(kilobytes("/proc/self/status", "VmSize:")?))
}

/// What `file` says of `key` in kB, as bytes.
fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The files of a control group that say how much memory it may use and uses.
struct ControlGroup {
    folder: PathBuf,
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: page cache that the system can take back.
    cached: &'static str,
}

impl ControlGroup {
    fn number(&self, file: &str) -> Option<u64> {
        std::fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }

    /// `None` where the group has no limit.
    fn available(&self) -> Option<u64> {
        let (limit, used) = (self.number(self.limit)?, self.number(self.used)?);
        let stat = std::fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let cached =
            stat.lines().find_map(|line| line.strip_prefix(self.cached)?.trim().parse().ok());
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    }
}

/// The control groups of this process, from its own to the root, of version 2 and of version 1.
fn control_groups() -> &'static [ControlGroup] {
    static GROUPS: OnceLock<Vec<ControlGroup>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        groups_of(&text, Path::new("/sys/fs/cgroup"))
    })
}

/// The groups that `text`, of `/proc/self/cgroup`, names below `root`. A container may see its own group at the
/// root and not at the path that is named, so the root is always among them.
fn groups_of(text: &str, root: &Path) -> Vec<ControlGroup> {
    let mut groups = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, limit, used, cached) = match controllers {
            "" => (root.into(), "memory.max", "memory.current", "inactive_file "),
            list if list.split(',').any(|one| one == "memory") => {
                let (limit, used) = ("memory.limit_in_bytes", "memory.usage_in_bytes");
                (root.join("memory"), limit, used, "total_inactive_file ")
            }
            _ => continue,
        };
        for above in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = root.join(above);
            if folder.join(limit).is_file() {
                groups.push(ControlGroup { folder, limit, used, cached });
            }
        }
    }
    groups
}

/// Bytes that an input may make this process allocate.
pub(crate) fn most() -> u64 {
    available_memory().unwrap_or(u64::MAX).min(LIMIT.load(Relaxed))
}

/// Whether `bytes` can be had.
pub(crate) fn has(bytes: u64) -> bool {
    bytes <= SMALL || bytes <= most()
}

/// The error of `what`, which needs `bytes`.
fn lacking(what: &str, bytes: u128) -> Error {
    let left = available_memory().map_or(String::new(), |left| format!(" and {left} are left"));
    Error::machine(format!(
        "{what}: not enough memory: it needs {bytes} bytes{left}; ask for less, or use a machine with more memory"
    ))
}

/// Refuses what needs `bytes` in all where there are fewer. It is asked before many arrays are made whose sizes
/// depend on the input.
pub(crate) fn room(what: &str, bytes: u64) -> Result<()> {
    if has(bytes) { Ok(()) } else { Err(lacking(what, bytes.into())) }
}

thread_local! {
    /// Whether this thread asks for memory that it can do without.
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

/// Asks for memory; the answer may be that there is none.
fn asking<T>(ask: impl FnOnce() -> T) -> T {
    ASKS.set(true);
    let answer = ask();
    ASKS.set(false);
    answer
}

/// How a program ends that has no memory left.
static END: OnceLock<fn(usize) -> !> = OnceLock::new();

/// Says how the program ends where it has no memory left.
#[cfg(feature = "cli")]
pub(crate) fn ends_by(end: fn(usize) -> !) {
    let _ = END.set(end);
}

/// Ends the process, which needs `bytes` more: as any allocation that fails.
#[cold]
pub(crate) fn none_left(bytes: usize) -> ! {
    if let Some(end) = END.get() {
        end(bytes);
    }
    let layout = std::alloc::Layout::array::<u8>(bytes);
    std::alloc::handle_alloc_error(layout.unwrap_or(std::alloc::Layout::new::<u8>()))
}

/// Whether this thread asks for memory that it can do without.
#[cfg(feature = "cli")]
pub(crate) fn asks() -> bool {
    ASKS.get()
}

/// An empty vector with room for `length` elements.
pub(crate) fn reserved<T>(what: &str, length: usize) -> Result<Vec<T>> {
    let bytes = length as u128 * size_of::<T>() as u128;
    let mut made = Vec::new();
    let fits = has(u64::try_from(bytes).unwrap_or(u64::MAX));
    match fits && asking(|| made.try_reserve_exact(length).is_ok()) {
        true => Ok(made),
        false => Err(lacking(what, bytes)),
    }
}

/// `length` zeros, which cost no time before they are written.
pub(crate) fn zeros<T: Zeroable>(what: &str, length: usize) -> Result<Vec<T>> {
    let bytes = length as u128 * size_of::<T>() as u128;
    let fits = has(u64::try_from(bytes).unwrap_or(u64::MAX));
    let made = fits.then(|| asking(|| bytemuck::try_zeroed_slice_box(length).ok())).flatten();
    made.map(Vec::from).ok_or_else(|| lacking(what, bytes))
}

/// A copy of `values`.
pub(crate) fn copied<T: Copy>(what: &str, values: &[T]) -> Result<Vec<T>> {
    let mut made = reserved(what, values.len())?;
    made.extend_from_slice(values);
    Ok(made)
}

/// Appends all of `content`, whose length nobody knows before it is unpacked, up to `most` bytes and one more.
pub(crate) fn unpack(content: impl Read, to: &mut Vec<u8>, most: u64) -> io::Result<()> {
    content.take(most.saturating_add(1)).read_to_end(to)?;
    within(to, most)
}

/// Refuses `content` beyond `most` bytes: a kind of its own, [`ErrorKind::FileTooLarge`].
pub(crate) fn within(content: &[u8], most: u64) -> io::Result<()> {
    if content.len() as u64 <= most { Ok(()) } else { Err(ErrorKind::FileTooLarge.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(folder).unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    }

    #[test]
    fn a_control_group_has_left_what_its_limit_and_those_above_it_leave() {
        let root = tempfile::tempdir().unwrap();
        let stat = "anon 5\ninactive_file 300\nactive_file 7\n";
        let job = [("memory.max", "max\n"), ("memory.current", "900\n"), ("memory.stat", stat)];
        write(&root.path().join("jobs/one"), &job);
        write(&root.path().join("jobs"), &[("memory.max", "5000\n"), ("memory.current", "1000\n")]);
        let left = |text: &str| {
            let groups = groups_of(text, root.path());
            groups.iter().filter_map(ControlGroup::available).collect::<Vec<u64>>()
        };
        assert_eq!(left("0::/jobs/one\n"), [4000]);
        write(&root.path().join("jobs/one"), &[("memory.max", "1000\n")]);
        assert_eq!(left("0::/jobs/one\n"), [400, 4000]);
        assert!(left("0::/elsewhere\n").is_empty());
        let old = [("memory.limit_in_bytes", "700\n"), ("memory.usage_in_bytes", "800\n")];
        write(&root.path().join("memory"), &old);
        assert_eq!(left("4:cpu,memory:/process/5\n3:cpuset:/\n0::/\n"), [0]);
    }

    #[test]
    fn this_machine_says_how_much_memory_is_left() {
        let left = available_memory();
        assert!(left.is_none_or(|bytes| bytes > 1 << 20), "{left:?}");
        assert!(left.is_some() || !cfg!(target_os = "linux"));
    }
}
