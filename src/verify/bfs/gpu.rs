//! The same check on a GPU.

use super::{LevelsCheck, NONE, check_shape};
use crate::device::DeviceBuffer;
use crate::device::kernels::check_bfs::{BfsArgs, DEEPEST};
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
            Some(graph),
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
    // Levels, also as bytes, support, parents and ranks.
    let Some(arcs) = gpu.arcs(graph, false, 17 * nodes as u64)? else { return Ok(Seen::NoRoom) };
    let levels = gpu.copy("levels", levels)?;
    let parents = parents.map(|parents| gpu.copy("parents", parents)).transpose()?;
    let ranks = gpu.ranks(graph)?;
    let near = gpu.alloc::<u8>("levels as bytes", nodes)?;
    let findings = gpu.findings()?;
    let args = BfsArgs {
        rows: arcs.nodes(),
        levels: levels.pointer(),
        parents: parents.as_ref().map_or(0, DeviceBuffer::pointer),
        ranks: ranks.as_ref().map_or(0, DeviceBuffer::pointer),
        near: near.pointer(),
        findings: findings.pointer(),
        source,
        ..BfsArgs::zeroed()
    };
    let kernel = |name| gpu.function("check_bfs.cu", name);
    gpu.over_nodes(kernel("check_bfs_near")?, nodes as u64, &args)?;
    let deep = findings.element(0)?.most > DEEPEST.into();
    // Without parents, a byte says whether a node has support.
    let support = match deep || parents.is_some() {
        true => {
            let support = gpu.alloc::<u32>("support", nodes)?;
            support.fill_words(NONE)?;
            Some(support)
        }
        false => None,
    };
    let args = BfsArgs { support: support.as_ref().map_or(0, DeviceBuffer::pointer), ..args };
    let by_arcs = kernel(if deep { "check_bfs_arcs" } else { "check_bfs_near_arcs" })?;
    arcs.each(|rows| gpu.over_arcs(by_arcs, rows, &BfsArgs { rows: *rows, ..args }))?;
    gpu.over_nodes(kernel("check_bfs_nodes")?, nodes as u64, &args)?;
    let found = findings.element(0)?;
    if found.wrong != 0 {
        return Ok(Seen::Wrong);
    }
    let parents = parents.is_some();
    let (reached, reached_arcs, depth) = (found.reached, found.arcs, found.most as u32);
    Ok(Seen::Right(LevelsCheck { reached, reached_arcs, depth, parents }))
}
