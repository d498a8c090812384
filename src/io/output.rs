//! Writes results: whole and durable, or not at all.
//!
//! Everything goes aside into a temporary file of the same directory, is synced, and takes the
//! target's name in one rename, so that a reader never sees half a file.

use super::columns::{Column, write_columns};
use crate::algorithm::ShortestPaths;
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Rows that one task formats.
const ROWS: usize = 1 << 14;
/// Tasks whose text is held in memory at a time.
const TASKS: usize = 64;

/// How shortest paths are written, by the extension of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// `.csv`: `node,distance[,predecessor][,nominee]`, ids of the input, `inf` and empty for what
    /// is not there.
    Csv,
    /// `.txt`: one distance a line by rising input id, `inf` for unreached nodes.
    Txt,
    /// `.npy`: the distances as a float32 array `[n]`, by rising input id.
    Npy,
}

impl ResultFormat {
    /// The format that a path asks for; a command line can call this before it computes anything.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for any other extension, naming the three.
    pub fn of(path: &Path) -> Result<ResultFormat> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("csv") => Ok(ResultFormat::Csv),
            Some("txt") => Ok(ResultFormat::Txt),
            Some("npy") => Ok(ResultFormat::Npy),
            _ => Err(Error::input(format!(
                "cannot tell the format of {}; end its name in .csv, .txt or .npy",
                path.display()
            ))),
        }
    }
}

/// Writes an answer to `path` in the format of its extension (see [`ResultFormat`]).
///
/// Distances are printed so that they parse back to the same bits.
///
/// # Errors
///
/// [`Error::Input`] for another extension, an answer of another length than the graph, and as
/// [`write_atomically`].
pub fn write_results(path: &Path, graph: &Graph, answer: &ShortestPaths) -> Result<()> {
    let nodes = [("predecessor", &answer.predecessors), ("nominee", &answer.nominees)];
    let nodes = nodes.into_iter().filter_map(|(name, of)| Some((name, Column::Node(of.as_ref()?))));
    let distances = ("distance", Column::F32(&answer.distances));
    write_columns(path, graph, &[distances].into_iter().chain(nodes).collect::<Vec<_>>())
}

/// Writes a file aside in the same directory, syncs it and renames it to `path`. Until the rename
/// whatever was at `path` stays as it was; a symbolic link stays a link.
///
/// # Errors
///
/// [`Error::Input`] naming the path when the directory or file cannot be written, or `write` fails.
pub fn write_atomically<F>(path: &Path, write: F) -> Result<()>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    replace(path, write).map_err(|cause| {
        Error::input(format!(
            "cannot write {}: {cause}; check the directory and its free space, or choose another path",
            path.display()
        ))
    })
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if target.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    // A device or a pipe is written to; to put a file in its place would take it away, /dev/null from the whole machine.
    if std::fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
        let mut out = BufWriter::with_capacity(1 << 20, File::options().write(true).open(&target)?);
        write(&mut out)?;
        return out.flush();
    }
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut aside = builder().tempfile_in(&directory)?;
    let mut out = BufWriter::with_capacity(1 << 20, aside.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    aside.as_file().sync_all()?;
    aside.persist(&target).map_err(|failed| failed.error)?;
    // The rename itself is durable once the directory is; not every file system can say so.
    if let Ok(directory) = File::open(&directory) {
        let _ = directory.sync_all();
    }
    Ok(())
}

/// Temporary files are private by default; results are as readable as the user's umask allows.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hive-").suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

/// Formats a row a node in parallel and writes them by rising input id, whatever the order of the nodes
/// inside, a bounded number at a time.
pub(super) fn write_rows<R>(out: &mut dyn Write, graph: &Graph, row: R) -> io::Result<()>
where
    R: Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync,
{
    let n = graph.nodes();
    for begin in (0..n).step_by(ROWS * TASKS) {
        let tasks = (n - begin).div_ceil(ROWS).min(TASKS);
        let texts: Vec<Vec<u8>> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let first = begin + task * ROWS;
                let mut text = Vec::with_capacity(ROWS * 24);
                let mut ranks = first..n.min(first + ROWS);
                ranks.try_for_each(|rank| row(graph.ranked(rank as u32) as usize, &mut text))?;
                Ok(text)
            })
            .collect::<io::Result<_>>()?;
        texts.iter().try_for_each(|text| out.write_all(text))?;
    }
    Ok(())
}

/// The shortest text that parses back to the same f32; with an exponent where it would be long.
pub(super) fn push_distance(text: &mut Vec<u8>, distance: f32) -> io::Result<()> {
    let plain = distance == 0.0 || !distance.is_finite() || (1e-5..1e16).contains(&distance.abs());
    if plain { write!(text, "{distance}") } else { write!(text, "{distance:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;
    use proptest::prelude::*;
    use tempfile::TempDir;

    fn nodes(n: usize, id_base: u32) -> Graph {
        let origin = Origin { id_base, ..Origin::default() };
        Graph::from_csr(vec![0; n + 1], vec![], None, origin).expect("isolated nodes")
    }

    fn of(distances: Vec<f32>) -> ShortestPaths {
        ShortestPaths { distances, ..Default::default() }
    }

    fn directory() -> TempDir {
        tempfile::tempdir().expect("a temporary directory")
    }

    fn entries(directory: &TempDir) -> usize {
        std::fs::read_dir(directory.path()).expect("a directory").count()
    }

    #[test]
    fn csv_speaks_the_ids_of_the_input_and_leaves_empty_what_is_not_there() {
        let directory = directory();
        let path = directory.path().join("a.csv");
        let mut answer = of(vec![0.0, 1.5, f32::INFINITY]);
        write_results(&path, &nodes(3, 0), &answer).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text, "node,distance\n0,0\n1,1.5\n2,inf\n");
        answer.nominees = Some(vec![0, 0, u32::MAX]);
        write_results(&path, &nodes(3, 1), &answer).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text, "node,distance,nominee\n1,0,1\n2,1.5,1\n3,inf,\n");
        answer.predecessors = Some(vec![0, 0, u32::MAX]);
        write_results(&path, &nodes(3, 1), &answer).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text, "node,distance,predecessor,nominee\n1,0,1,1\n2,1.5,1,1\n3,inf,,\n");
        assert_eq!(entries(&directory), 1);
    }

    #[test]
    fn txt_is_a_distance_a_line_in_node_order_over_many_chunks() {
        let directory = directory();
        let path = directory.path().join("a.txt");
        let n = ROWS * TASKS + ROWS + 3;
        let distances: Vec<f32> = (0..n).map(|v| v as f32 * 0.1).collect();
        write_results(&path, &nodes(n, 0), &of(distances.clone())).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        let read: Vec<f32> = text.lines().map(|line| line.parse().expect("a float")).collect();
        assert_eq!(read, distances);
    }

    #[test]
    fn rows_go_by_the_ids_of_the_input_whatever_the_order_of_nodes() {
        let directory = directory();
        let graph = nodes(3, 1).relabelled(&[2, 0, 1]);
        let answer = of(vec![30.0, 10.0, 20.0]);
        let write = |name: &str| {
            let path = directory.path().join(name);
            write_results(&path, &graph, &answer).expect("written");
            std::fs::read(&path).expect("read")
        };
        assert_eq!(write("a.csv"), b"node,distance\n1,10\n2,20\n3,30\n");
        assert_eq!(write("a.txt"), b"10\n20\n30\n");
        let bytes = write("a.npy");
        let npy = npyz::NpyFile::new(&bytes[..]).expect("npy");
        assert_eq!(npy.into_vec::<f32>().expect("f32"), [10.0, 20.0, 30.0]);
    }

    #[test]
    fn npy_holds_the_bits_as_little_endian_float32() {
        let directory = directory();
        let path = directory.path().join("a.NPY");
        let distances = vec![0.0, 1e-45, f32::MAX, f32::INFINITY];
        write_results(&path, &nodes(4, 0), &of(distances.clone())).expect("written");
        let bytes = std::fs::read(&path).expect("read");
        let npy = npyz::NpyFile::new(&bytes[..]).expect("npy");
        assert_eq!(npy.shape(), &[4]);
        assert_eq!(npy.into_vec::<f32>().expect("f32"), distances);
        assert!(bytes.windows(5).any(|w| w == b"'<f4'"));
    }

    #[test]
    fn other_extensions_are_refused_before_anything_is_written() {
        let directory = directory();
        for name in ["a.json", "a", ".csv", "a.csv.gz"] {
            let path = directory.path().join(name);
            let error = write_results(&path, &nodes(1, 0), &of(vec![0.0])).expect_err(name);
            assert!(error.to_string().ends_with("end its name in .csv, .txt or .npy"), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
        assert_eq!(entries(&directory), 0);
    }

    #[test]
    fn an_answer_of_another_length_is_refused() {
        let path = directory().path().join("a.csv");
        let error = write_results(&path, &nodes(2, 0), &of(vec![0.0])).expect_err("short");
        assert!(error.to_string().contains("for 1 nodes but the graph has 2"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_to_and_stays() {
        use std::os::unix::fs::FileTypeExt;
        let directory = directory();
        let path = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let other = path.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(other).expect("read"));
        write_atomically(&path, |out| out.write_all(b"through")).expect("written");
        assert_eq!(reader.join().expect("a reader"), "through");
        let kind = std::fs::metadata(&path).expect("there").file_type();
        assert!(kind.is_fifo() && entries(&directory) == 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = directory();
        let path = directory.path().join("a.json");
        write_atomically(&path, |out| out.write_all(b"old")).expect("written");
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half of the new")?;
            Err(io::Error::other("the sun went down"))
        });
        let message = failed.expect_err("failed").to_string();
        assert!(message.contains("a.json: the sun went down; "), "{message}");
        assert_eq!(std::fs::read(&path).expect("read"), b"old");
        assert_eq!(entries(&directory), 1);
    }

    #[test]
    fn a_missing_directory_and_a_directory_as_target_are_input_errors() {
        let directory = directory();
        for path in [directory.path().join("no/such/a.csv"), directory.path().to_path_buf()] {
            let error = write_atomically(&path, |_| Ok(())).expect_err("unwritable");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
        assert_eq!(entries(&directory), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_new_file_is_not_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = directory();
        let (file, link) = (directory.path().join("a.txt"), directory.path().join("b.txt"));
        write_atomically(&file, |out| out.write_all(b"old")).expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        write_atomically(&link, |out| out.write_all(b"new")).expect("written");
        assert!(link.symlink_metadata().expect("link").is_symlink());
        assert_eq!(std::fs::read(&file).expect("read"), b"new");
        let plain = directory.path().join("plain");
        std::fs::write(&plain, b"").expect("written");
        let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode(&file), mode(&plain));
    }

    proptest! {
        #[test]
        fn a_printed_distance_parses_back_to_the_same_bits(bits in 0u32..=0x7f80_0000) {
            let mut text = Vec::new();
            push_distance(&mut text, f32::from_bits(bits)).expect("formatted");
            let text = String::from_utf8(text).expect("ascii");
            prop_assert!(text.len() <= 18, "{}", text);
            prop_assert_eq!(text.parse::<f32>().expect("a float").to_bits(), bits);
        }
    }
}
