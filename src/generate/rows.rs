//! From edges or rows to a CSR, for all generators: edges that are drawn, or rows in closed form.

use crate::graph::build::{self, ARCS_PER_BLOCK, Csr, Keep};
use crate::hash::pair_weight;
use std::ops::Range;

/// Rows that are worth a task.
const ROWS_PER_TASK: usize = 1 << 12;

/// The rows, cut into tasks.
pub(super) fn blocks(nodes: u64) -> Vec<Range<usize>> {
    build::blocks(nodes as usize, ROWS_PER_TASK)
}

/// The CSR of edges 0..`edges`, each taken both ways, without self loops and duplicates, without weights.
pub(super) fn drawn(nodes: u64, edges: u64, edge: impl Fn(u64) -> (u32, u32) + Sync) -> Csr {
    let blocks = build::blocks(edges as usize, ARCS_PER_BLOCK);
    let (nodes, arcs, edge) = (nodes as usize, 2 * edges, &edge);
    let csr = build::build(nodes, arcs, Keep::SIMPLE, false, blocks, |_, block| {
        block.flat_map(move |e| {
            let (u, v) = edge(e as u64);
            [(u, v, 1.0, 0), (v, u, 1.0, 0)]
        })
    });
    // Nobody's input had those that were drawn and dropped.
    Csr { self_loops: 0, duplicates: 0, ..csr }
}

/// `csr` with the weight of every arc from its unordered pair.
pub(super) fn with_pair_weights(csr: Csr, seed: u64) -> Csr {
    let blocks = blocks(csr.offsets.len() as u64 - 1);
    let weight = |u, v| pair_weight(seed, u, v);
    let weights = build::weigh(&csr.offsets, &csr.columns, &blocks, weight);
    Csr { weights: Some(weights), ..csr }
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
