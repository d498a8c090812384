//! Which writer a file's name asks for.

use super::{edge_list, gap, hive_bin, matrix_market, native, numpy};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::words::either;
use std::path::Path;

type Writer = fn(&Graph, &Path) -> Result<()>;

/// Every writer, by the ending of a lower-case name.
const WRITERS: [(&str, Writer); 9] = [
    (".hive", native::write),
    (".mtx", matrix_market::write),
    (".txt", edge_list::write),
    (".el", gap::write_el),
    (".wel", gap::write_wel),
    (".sg", gap::write_sg),
    (".wsg", gap::write_wsg),
    (".bin", hive_bin::write),
    (".npz", numpy::write),
];

/// Writes `graph` in the format that the path's ending asks for. Nothing is compressed, weights read back to the same
/// bits, and a file of that name is replaced only once the new one is on disk.
///
/// | ending | format | what it cannot hold |
/// |---|---|---|
/// | `.hive` | native, with ids, places and the transpose | |
/// | `.mtx` | Matrix Market, ids from 1 | |
/// | `.txt` | edge list, ids from 0, or names | nodes without arcs, where ids are names |
/// | `.npz` | SciPy CSR, boolean data where there are no weights | |
/// | `.el` | GAP edge list, ids from 0 | weights; a last node without arcs |
/// | `.wel` | the same with weights, 1 where there are none | a last node without arcs |
/// | `.sg` | GAP serialised graph, ids from 0 | weights; more than 2^31 nodes |
/// | `.wsg` | the same with weights, 1 where there are none | weights that are no 32-bit integers |
/// | `.bin` | HIVE binary CSR, weights 1 where there are none | 2^31 nodes or arcs |
///
/// # Errors
/// [`Error::Input`] for any other ending, naming these; for a graph that the format cannot hold; and when the file cannot
/// be written.
pub fn write_graph(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    graph.check_rows()?;
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
        Error::input(format!(
            "{}: cannot tell the graph's format; end its name in {}",
            path.display(),
            either(&WRITERS.map(|(ending, _)| ending))
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
