//! The same check with sums from a GPU.

use super::judged;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::arriving::{Along, arriving};
use crate::verify::gpu::{Checker, Gpu, Seen};
use crate::verify::one_a_node;

impl Checker<'_> {
    /// What [`super::katz`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn katz(&self, graph: &Graph, values: &[f64], alpha: f64, limit: f64) -> Result<f64> {
        one_a_node(graph, "katz", "values", values.len())?;
        let on_gpu = |gpu: &Gpu| {
            let Some([sums, degrees]) = sums(gpu, graph, values)? else { return Ok(Seen::NoRoom) };
            let into = |v: usize| (sums[v], degrees[v] as u64);
            // What it finds wrong it names.
            judged(graph, values, alpha, limit, into).map(Seen::Right)
        };
        self.certify(Some(graph), on_gpu, || super::katz(graph, values, alpha, limit))
    }
}

/// `[nodes]` values that arrive at each node, and arcs; `None` where there is no room.
fn sums(gpu: &Gpu, graph: &Graph, values: &[f64]) -> Result<Option<[Vec<f64>; 2]>> {
    let nodes = graph.nodes();
    let Some(arcs) = gpu.arcs(graph, false, 24 * nodes as u64)? else { return Ok(None) };
    let along = if graph.is_undirected() { Along::Back } else { Along::In };
    let values = gpu.copy("values", values)?;
    let (sums, degrees) = (gpu.alloc("sums", nodes)?, gpu.alloc("in-degrees", nodes)?);
    arriving(gpu, &arcs, along, false, Some(&values), &sums)?;
    arriving(gpu, &arcs, along, false, None, &degrees)?;
    Ok(Some([sums.to_vec()?, degrees.to_vec()?]))
}
