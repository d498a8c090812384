//! Triangles counted again on a GPU.

use super::{TrianglesCheck, accepted, compared};
use crate::device::kernels::check_triangles::TrianglesArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen, prefix_sums};
use bytemuck::Zeroable;

impl Checker<'_> {
    /// What [`super::triangles`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn triangles(&self, graph: &Graph, counts: &[u64]) -> Result<TrianglesCheck> {
        accepted(graph, counts)?;
        let on_gpu = |gpu: &Gpu| match counted(gpu, graph)? {
            None => Ok(Seen::NoRoom),
            // What differs is named.
            Some(right) => compared(graph, counts, &right).map(Seen::Right),
        };
        self.certify(Some(graph), on_gpu, || super::triangles(graph, counts))
    }
}

/// `[n]` the right counts; `None` where there is no room.
fn counted(gpu: &Gpu, graph: &Graph) -> Result<Option<Vec<u64>>> {
    let nodes = graph.nodes();
    // Every arc is kept from one of its ends.
    let arcs = gpu.arcs(graph, false, 24 * nodes as u64 + 2 * graph.arcs() + 8)?;
    let Some(rows) = arcs.as_ref().and_then(|arcs| arcs.all()) else { return Ok(None) };
    let (lengths, counts) = (gpu.alloc::<u64>("lengths", nodes)?, gpu.alloc("counts", nodes)?);
    let args = TrianglesArgs {
        rows,
        lengths: lengths.pointer(),
        counts: counts.pointer(),
        ..TrianglesArgs::zeroed()
    };
    let kernel = |name| gpu.function("check_triangles.cu", name);
    gpu.over_arcs(kernel("check_triangles_count")?, &rows, &args)?;
    let begins = prefix_sums(lengths.to_vec()?);
    let after = gpu.alloc::<u32>("nodes after each", begins[nodes] as usize)?;
    let begins = gpu.copy("rows", &begins)?;
    let args = TrianglesArgs { begins: begins.pointer(), after: after.pointer(), ..args };
    // As many threads as there can be.
    for name in ["check_triangles_fill", "check_triangles_small", "check_triangles_large"] {
        gpu.over_nodes(kernel(name)?, 32 * nodes as u64, &args)?;
    }
    counts.to_vec().map(Some)
}
