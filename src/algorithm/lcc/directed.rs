//! Arcs among the neighbours of each node of a directed graph.
//!
//! **Idea.** Let U be the graph with an edge between two nodes that some arc joins, and M that with one where arcs go both ways. Among
//! the neighbours of v there are as many arcs as there are edges of U and of M among them. Those of U are the triangles of v in U. Those of
//! M are the triangles of v in a graph with a copy u' of each node u: v is joined to the copies of its neighbours in U, and copies are joined
//! where their nodes are in M. So both are counted as triangles of symmetric graphs are.

use crate::algorithm::triangles::counted;
use crate::algorithm::{Measured, RunOptions};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::{Graph, Keep, Origin};
use crate::io::Symmetrize;
use crate::layout::Prepared;
use rayon::prelude::*;
use std::sync::Arc;

/// What there is around the nodes of a directed graph, in its node order.
pub(super) struct Around {
    /// `[n]` arcs among the neighbours of each node.
    pub joined: Vec<u64>,
    /// `[n]` neighbours.
    pub neighbours: Vec<u64>,
    /// Triangles of the graph, whatever the direction of their arcs.
    pub triangles: u64,
    pub measured: Measured,
}

/// Counts what is around the nodes of `graph`, whose arcs are on the host.
pub(super) fn around(fleet: &Fleet, graph: &Prepared, run: &RunOptions) -> Result<Around> {
    let (own, options) = (graph.graph(), *graph.options());
    let simple = (**own).clone().without_weights().kept(Keep::SIMPLE)?;
    let back = simple.transpose();
    let both = |u: usize, v: &u32| {
        let row = back.offsets()[u] as usize..back.offsets()[u + 1] as usize;
        back.columns()[row].binary_search(v).is_ok()
    };
    let mutual = |u: usize| {
        let own = simple.neighbors(u).map(|arc| arc.0);
        own.filter(|v| both(u, v)).map(|v| (u as u32, v)).collect::<Vec<_>>()
    };
    let mutual: Vec<(u32, u32)> =
        (0..simple.nodes()).into_par_iter().flat_map_iter(mutual).collect();
    drop(back);
    let union = Arc::new(simple.symmetrized(Symmetrize::Keep, Keep::SIMPLE)?);
    let of = |graph| Prepared::new(fleet, graph, options);
    let (triangles, mut measured) = counted(fleet, &of(union.clone())?, run)?;
    let neighbours = (0..union.nodes()).into_par_iter().map(|v| union.degree(v)).collect();
    let total = triangles.par_iter().sum::<u64>() / 3;
    let mut joined = triangles;
    if !mutual.is_empty() {
        let copied = Arc::new(copied(&union, &mutual)?);
        let (twice, more) = counted(fleet, &of(copied)?, run)?;
        joined.par_iter_mut().zip(twice).for_each(|(joined, twice)| *joined += twice);
        measured = measured.and(more);
    }
    measured.reached = own.nodes() as u64;
    measured.reached_arcs = own.arcs();
    Ok(Around { joined, neighbours, triangles: total, measured })
}

/// The graph of nodes and their copies, which come after them.
fn copied(union: &Graph, mutual: &[(u32, u32)]) -> Result<Graph> {
    let n = union.nodes();
    let to_copies = (0..n).into_par_iter().flat_map_iter(|v| {
        union.neighbors(v).flat_map(move |(u, _)| {
            let (v, copy) = (v as u32, n as u32 + u);
            [(v, copy), (copy, v)]
        })
    });
    let among = mutual.par_iter().map(|(u, v)| (n as u32 + u, n as u32 + v));
    let (sources, targets): (Vec<u32>, Vec<u32>) = to_copies.chain(among).unzip();
    Graph::from_arcs(2 * n, &sources, &targets, None, Origin::default())
}
