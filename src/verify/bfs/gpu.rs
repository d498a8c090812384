//! The same check on a GPU.

use super::{LevelsCheck, NONE, check_shape};
use crate::device::DeviceBuffer;
use crate::device::kernels::check_bfs::BfsArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen};
use bytemuck::Zeroable;

impl Checker<'_> {
    /// What [`super::bfs`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn bfs(
        &self,
        graph: &Graph,
        source: u32,
        levels: &[u32],
        parents: Option<&[u32]>,
    ) -> Result<LevelsCheck> {
        check_shape(graph, source, levels, parents)?;
        self.certify(
            |gpu| check(gpu, graph, source, levels, parents),
            || super::bfs(graph, source, levels, parents),
        )
    }
}

fn check(
    gpu: &Gpu,
    graph: &Graph,
    source: u32,
    levels: &[u32],
    parents: Option<&[u32]>,
) -> Result<Seen<LevelsCheck>> {
    let nodes = graph.nodes();
    // Levels, support, parents and ranks.
    let Some(arcs) = gpu.arcs(graph, false, 16 * nodes as u64)? else { return Ok(Seen::NoRoom) };
    let levels = gpu.copy("levels", levels)?;
    let parents = parents.map(|parents| gpu.copy("parents", parents)).transpose()?;
    let ranks = gpu.ranks(graph)?;
    let support = gpu.alloc::<u32>("support", nodes)?;
    support.fill_words(NONE)?;
    let findings = gpu.findings()?;
    let args = BfsArgs {
        rows: arcs.nodes(),
        levels: levels.pointer(),
        parents: parents.as_ref().map_or(0, DeviceBuffer::pointer),
        ranks: ranks.as_ref().map_or(0, DeviceBuffer::pointer),
        support: support.pointer(),
        findings: findings.pointer(),
        source,
        ..BfsArgs::zeroed()
    };
    let kernel = gpu.function("check_bfs.cu", "check_bfs_arcs")?;
    arcs.each(|rows| gpu.over_arcs(kernel, rows, &BfsArgs { rows: *rows, ..args }))?;
    let kernel = gpu.function("check_bfs.cu", "check_bfs_nodes")?;
    gpu.over_nodes(kernel, nodes as u64, &args)?;
    let found = findings.element(0)?;
    if found.wrong != 0 {
        return Ok(Seen::Wrong);
    }
    let parents = parents.is_some();
    let (reached, reached_arcs, depth) = (found.reached, found.arcs, found.most as u32);
    Ok(Seen::Right(LevelsCheck { reached, reached_arcs, depth, parents }))
}
