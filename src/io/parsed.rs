//! What every reader hands over: the arcs as the file has them. Ids, policies and the CSR come after, the
//! same for all formats (`assemble`).

use crate::error::{Error, Result};
use crate::graph::{ArcList, Graph, Origin, milliseconds};
use std::time::Instant;

/// A file's content, read and checked, before any policy.
pub(super) struct Parsed {
    /// The format's name in results, as in `matrix-market`.
    pub format: &'static str,
    pub arcs: Arcs,
    /// Which nodes there are.
    pub nodes: Nodes,
    /// Whether arcs carry weights.
    pub weighted: bool,
    /// Whether each pair (u, v) with u != v means the arc (v, u) as well.
    pub mirror: bool,
}

/// The arcs of a file.
pub(super) enum Arcs {
    /// (source, target) pairs in file order, in as many parts as suited the reader.
    Lists(Vec<ArcList>),
    /// A finished CSR: offsets `[n + 1]`, columns `[m]`, weights `[m]`. Not trusted: checked before use.
    Rows { offsets: Vec<u64>, columns: Vec<u32>, weights: Option<Vec<f32>> },
}

/// Which nodes a file speaks of. The ids in `Arcs` are counted from 0 in any case.
pub(super) enum Nodes {
    /// As many as it declares, ids in the file from `first_id` on; the reader has checked the arcs' ids.
    Declared { count: u64, first_id: u32 },
    /// Those up to the largest id that occurs, ids from 0.
    UpToLargest,
    /// Node v is called `names[v]` in the file; the arcs speak of v. Names rise.
    Named(Vec<u64>),
}

/// Makes the graph of what was found in `path`; reading began at `start`.
pub(super) fn assemble(
    path: &str,
    parsed: Parsed,
    origin: Origin,
    start: Instant,
) -> Result<Graph> {
    let first_id = match parsed.nodes {
        Nodes::Declared { first_id, .. } => first_id,
        _ => 0,
    };
    let origin = Origin {
        format: parsed.format.into(),
        id_base: first_id,
        weights: if parsed.weighted { "file" } else { "unit" }.into(),
        load_ms: milliseconds(start),
        ..origin
    };
    let graph = match parsed.arcs {
        Arcs::Rows { offsets, columns, weights } => {
            Graph::from_csr(offsets, columns, weights, origin)
        }
        Arcs::Lists(lists) => {
            let nodes = match parsed.nodes {
                Nodes::Declared { count, .. } => count,
                Nodes::UpToLargest => bound(&lists),
                Nodes::Named(names) => names.len() as u64,
            };
            if nodes == 0 {
                let what = "the graph is empty (0 nodes); give at least one node";
                return Err(Error::input(format!("{path}: {what}")));
            }
            Graph::from_lists(nodes as usize, &lists, parsed.weighted, parsed.mirror, origin)
        }
    };
    graph.map_err(|error| name_file(path, error))
}

/// One more than the largest id.
fn bound(lists: &[ArcList]) -> u64 {
    let pairs = lists.iter().flat_map(|list| &list.pairs);
    pairs.map(|&(u, v)| u64::from(u.max(v)) + 1).max().unwrap_or(0)
}

/// Puts the file's name before an error of the graph that was made from it.
fn name_file(path: &str, error: Error) -> Error {
    match error {
        Error::Input(what) => Error::Input(format!("{path}: {what}")),
        Error::Machine(what) => Error::Machine(format!("{path}: {what}")),
        other => other,
    }
}
