//! From edges or rows to a CSR, for all generators: edges that are drawn, or rows in closed form.

use crate::graph::build::{self, Csr, Keep, Packed, split_lengths};
use crate::hash::pair_weight;
use rayon::prelude::*;

/// Edges made by one task before it groups their arcs: two arcs each.
const EDGES_PER_BLOCK: u64 = build::ARCS_PER_BLOCK as u64;
/// Rows that are worth a task.
const ROWS_PER_TASK: usize = 1 << 12;

/// Peak host bytes of [`drawn`] and [`pair_weights`]: two arcs an edge, packed, then as columns and, where
/// `weighted`, weights in the place of the packed arcs.
pub(super) fn drawn_bytes(nodes: u64, edges: u64, weighted: bool) -> u64 {
    edges * if weighted { 20 } else { 18 } + 16 * nodes
}

/// The CSR of edges 0..`edges`, each taken both ways, without self loops and duplicates, without weights.
pub(super) fn drawn(nodes: u64, edges: u64, edge: impl Fn(u64) -> (u32, u32) + Sync) -> Csr {
    let blocks: Vec<u64> = (0..edges).step_by(EDGES_PER_BLOCK as usize).collect();
    let (nodes, arcs) = (nodes as usize, 2 * edges);
    let csr = build::build::<u64, _>(nodes, arcs, Keep::SIMPLE, blocks, |_, first, out| {
        for e in first..(first + EDGES_PER_BLOCK).min(edges) {
            let (u, v) = edge(e);
            out.extend([u64::pack(u, v, 1.0, 0), u64::pack(v, u, 1.0, 0)]);
        }
    });
    // Nobody's input had those that were drawn and dropped.
    Csr { self_loops: 0, duplicates: 0, ..csr }
}

/// The weight of every arc, from its unordered pair.
pub(super) fn pair_weights(csr: &Csr, seed: u64) -> Vec<f32> {
    let mut weights = vec![0f32; csr.columns.len()];
    let pieces = split_lengths(&mut weights, lengths(&csr.offsets));
    pieces.into_par_iter().enumerate().for_each(|(task, place)| {
        let first = task * ROWS_PER_TASK;
        let base = csr.offsets[first] as usize;
        for u in first..(first + ROWS_PER_TASK).min(csr.offsets.len() - 1) {
            for arc in csr.offsets[u] as usize..csr.offsets[u + 1] as usize {
                place[arc - base] = pair_weight(seed, u as u32, csr.columns[arc]);
            }
        }
    });
    weights
}

/// Arcs of each task's rows.
fn lengths(offsets: &[u64]) -> impl Iterator<Item = usize> {
    let n = offsets.len() - 1;
    (0..n)
        .step_by(ROWS_PER_TASK)
        .map(move |first| (offsets[(first + ROWS_PER_TASK).min(n)] - offsets[first]) as usize)
}

/// The CSR whose row v is what `row(v, out)` appends, (neighbour, weight) in rising order; called twice
/// a row, so that nothing but the CSR takes memory.
pub(super) fn closed_form(nodes: u64, row: impl Fn(u32, &mut Vec<(u32, f32)>) + Sync) -> Csr {
    let mut offsets = vec![0u64; nodes as usize + 1];
    offsets[1..].par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(task, degrees)| {
        let mut arcs = Vec::new();
        for (v, degree) in (task * ROWS_PER_TASK..).zip(degrees) {
            arcs.clear();
            row(v as u32, &mut arcs);
            *degree = arcs.len() as u64;
        }
    });
    let mut total = 0;
    for end in &mut offsets[1..] {
        total += *end;
        *end = total;
    }
    let mut columns = vec![0u32; total as usize];
    let mut weights = vec![0f32; total as usize];
    let pieces = (
        split_lengths(&mut columns, lengths(&offsets)),
        split_lengths(&mut weights, lengths(&offsets)),
    );
    pieces.into_par_iter().enumerate().for_each(|(task, (columns, weights))| {
        let mut arcs = Vec::new();
        let first = task * ROWS_PER_TASK;
        (first..(first + ROWS_PER_TASK).min(nodes as usize)).for_each(|v| row(v as u32, &mut arcs));
        for ((column, weight), arc) in columns.iter_mut().zip(weights).zip(arcs) {
            (*column, *weight) = arc;
        }
    });
    Csr { offsets, columns, weights: Some(weights), self_loops: 0, duplicates: 0 }
}

/// Checks for the tests of every generator.
#[cfg(test)]
pub(super) mod tests {
    use crate::generate::generate;
    use crate::graph::{Graph, Origin};

    /// Generates `spec` with 1, 2 and 3 threads; all must be the same, symmetric and simple, with sorted
    /// rows.
    pub fn sound(spec: &str) -> Graph {
        let graph = generate(spec).unwrap();
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| generate(spec).unwrap());
            assert_eq!(again.offsets(), graph.offsets(), "{spec}, {threads} threads");
            assert_eq!(again.columns(), graph.columns(), "{spec}, {threads} threads");
            assert_eq!(again.weights(), graph.weights(), "{spec}, {threads} threads");
        }
        let copy = Graph::from_csr(
            graph.offsets().to_vec(),
            graph.columns().to_vec(),
            graph.weights().map(<[f32]>::to_vec),
            Origin::default(),
        )
        .unwrap();
        assert!(graph.is_symmetric() && copy.is_symmetric(), "{spec}");
        assert_eq!(copy.columns(), graph.columns(), "{spec}: rows are sorted");
        assert_eq!((copy.origin.self_loops, copy.origin.duplicates), (0, 0), "{spec}");
        assert!(graph.weights().is_none_or(|w| w.iter().all(|w| w.fract() == 0.0)), "{spec}");
        let promised = crate::generate::size(spec).unwrap();
        assert_eq!(graph.nodes() as u64, promised.nodes, "{spec}");
        assert!(graph.arcs() <= promised.arcs, "{spec}");
        assert!(!promised.exact || graph.arcs() == promised.arcs, "{spec}");
        let (low, high) = promised.weights.unwrap_or((1, 1));
        let (lightest, heaviest) = graph.weight_range();
        assert!(low as f32 <= lightest && heaviest <= high as f32, "{spec}: {lightest} {heaviest}");
        graph
    }

    /// Nodes by out-degree.
    pub fn degrees(graph: &Graph) -> Vec<u64> {
        let mut counts = vec![0; graph.max_degree() as usize + 1];
        (0..graph.nodes()).for_each(|v| counts[graph.degree(v) as usize] += 1);
        counts
    }
}
