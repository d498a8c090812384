//! Which writer a file's name asks for.

use super::{edge_list, gap, hive_bin, matrix_market, native, numpy};
use crate::error::{Error, Result};
use crate::graph::Graph;
use std::path::Path;

type Writer = fn(&Graph, &Path) -> Result<()>;

/// Every writer, by the ending of a lower-case name.
const WRITERS: [(&str, Writer); 9] = [
    (".hive", |graph, path| native::write(graph, path)),
    (".mtx", |graph, path| matrix_market::write(graph, path)),
    (".txt", |graph, path| edge_list::write(graph, path)),
    (".el", |graph, path| gap::write_el(graph, path)),
    (".wel", |graph, path| gap::write_wel(graph, path)),
    (".sg", |graph, path| gap::write_sg(graph, path)),
    (".wsg", |graph, path| gap::write_wsg(graph, path)),
    (".bin", |graph, path| hive_bin::write(graph, path)),
    (".npz", |graph, path| numpy::write(graph, path)),
];

/// Writes `graph` in the format that the path's ending asks for: `.hive` native, `.mtx` Matrix Market, `.txt` edge list,
/// `.el`, `.wel`, `.sg` and `.wsg` as the GAP benchmark has them, `.bin` HIVE binary CSR, `.npz` SciPy
/// CSR. Nothing is compressed. A file of that name is replaced only once the new one is on disk.
///
/// # Errors
///
/// [`Error::Input`] for any other ending, naming these; for a graph that the format cannot hold (see each
/// writer); and when the file cannot be written.
pub fn write_graph(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    writer(path)?(graph, path)
}

/// Refuses a path whose ending asks for no writer, as [`write_graph`] would: before a graph is made.
///
/// # Errors
/// [`Error::Input`], naming the endings that there are.
pub fn check_writer(path: impl AsRef<Path>) -> Result<()> {
    writer(path.as_ref()).map(drop)
}

fn writer(path: &Path) -> Result<Writer> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let found = WRITERS.iter().find(|(ending, _)| name.ends_with(ending));
    found.map(|(_, writer)| *writer).ok_or_else(|| {
        let endings: Vec<&str> = WRITERS.iter().map(|(ending, _)| *ending).collect();
        let (last, others) = endings.split_last().unwrap_or((&"", &[]));
        Error::input(format!(
            "{}: cannot tell the graph's format; end its name in {} or {last}",
            path.display(),
            others.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_ending_is_refused_naming_those_that_exist() {
        assert!(writer(Path::new("a.b/G.MTX")).is_ok());
        for name in ["g", "g.graph", "g.mtx.gz", "el"] {
            let message = writer(Path::new(name)).map(|_| ()).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{name}: ")), "{message}");
            assert!(
                message.contains(".hive, .mtx, .txt") && message.ends_with("or .npz"),
                "{message}"
            );
        }
    }
}
