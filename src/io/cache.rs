//! The cache of loaded graphs: native files in the user's cache directory, one for each (path, size, times of
//! modification and change, inode, load options, version of the readers). It holds what can be made again, so that whatever is wrong
//! with it is passed over in silence: a damaged entry is not used, and replaced.

use super::source::{self, Limit};
use super::{ldbc, native};
use crate::cache_dir;
use crate::graph::Graph;
use crate::graph::options::{Cache, LoadOptions};
use crate::system;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A graph that was ready sooner is not worth a file, in ms.
const WORTH_KEEPING_MS: f64 = 100.0;
/// Bytes that all entries together may take; the least recently used go first. `HIVE_CACHE_LIMIT` in the
/// environment is another number of bytes.
const LIMIT: u64 = 32 << 30;

/// Where the graph of `path` under `options` is kept, or would be. `None` where the cache is off, or the
/// path is no plain file.
pub(super) fn entry(path: &str, options: &LoadOptions) -> Option<PathBuf> {
    if options.cache == Cache::Off {
        return None;
    }
    let folder = cache_dir::directory()?.join("graphs");
    let file = fs::canonicalize(path).ok()?;
    let meta = fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
    let options = LoadOptions { cache: Cache::On, input_limit: None, ..options.clone() };
    let options = serde_json::to_vec(&options).ok()?;
    let mut parts = vec![file.as_os_str().as_encoded_bytes().to_vec(), options];
    parts.push(system::state_of(&meta));
    parts.push(native::VERSION.to_le_bytes().to_vec());
    parts.push(env!("HIVE_READERS").into());
    // The reader goes by the name that was given: a link may have another than its file.
    let name = super::plain_name(path);
    let plain = Path::new(&name).file_name()?;
    parts.push(plain.as_encoded_bytes().to_vec());
    // Formats of several files: a change of the ones beside it is a change.
    for beside in ldbc::files(path, &name).iter().flat_map(|files| files.all()) {
        if let Ok(meta) = fs::metadata(beside) {
            parts.push(fs::canonicalize(beside).ok()?.as_os_str().as_encoded_bytes().to_vec());
            parts.push(system::state_of(&meta));
        }
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Some(folder.join(format!("{}.hive", cache_dir::key(&parts))))
}

/// The graph in `entry`, if it is there and whole.
pub(super) fn read(entry: &Path, options: &LoadOptions) -> Option<Graph> {
    if options.cache == Cache::Refresh || !system::is_private(entry.parent()?) {
        return None;
    }
    let bytes = source::read(entry.to_str()?, Limit::of_table()).ok()?;
    let graph = native::open_compared(&bytes).ok()?;
    // Used now: the oldest go first.
    if let Ok(file) = fs::File::options().append(true).open(entry) {
        let _ = file.set_modified(SystemTime::now());
    }
    Some(graph)
}

/// Keeps `graph`, if it took long enough and there is room. What cannot be kept is no error.
pub(super) fn write(entry: &Path, graph: &Graph) {
    let Some(folder) = entry.parent() else { return };
    let size = graph.arcs() * 8 + graph.nodes() as u64 * 16;
    let slow = graph.origin.load_ms + graph.origin.build_ms >= worth_keeping_ms();
    if !slow || size > limit() || system::make_private(folder).is_err() {
        return;
    }
    // Its arcs may be on a GPU.
    if graph.load().is_err() {
        return;
    }
    make_room(folder, limit() - size);
    let _ = native::write_as(graph, &graph.origin, entry);
}

fn limit() -> u64 {
    setting("HIVE_CACHE_LIMIT").unwrap_or(LIMIT)
}

fn worth_keeping_ms() -> f64 {
    setting("HIVE_CACHE_FROM_MS").unwrap_or(WORTH_KEEPING_MS)
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Removes the least recently used entries until the rest take at most `room` bytes.
fn make_room(folder: &Path, room: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "hive"))
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            Some((meta.modified().ok()?, meta.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut taken: u64 = files.iter().map(|file| file.1).sum();
    for (_, size, path) in files {
        if taken <= room {
            break;
        }
        if fs::remove_file(path).is_ok() {
            taken -= size;
        }
    }
}
