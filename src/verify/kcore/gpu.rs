//! A check of core numbers on a GPU, from the numbers alone.

use super::{CoresCheck, accepted};
use crate::device::kernels::check_kcore::KcoreArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen};
use bytemuck::Zeroable;

impl Checker<'_> {
    /// What [`super::kcore`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn kcore(&self, graph: &Graph, cores: &[u32]) -> Result<CoresCheck> {
        accepted(graph, cores)?;
        self.certify(Some(graph), |gpu| check(gpu, graph, cores), || super::kcore(graph, cores))
    }
}

fn check(gpu: &Gpu, graph: &Graph, cores: &[u32]) -> Result<Seen<CoresCheck>> {
    let nodes = graph.nodes();
    // Core numbers, arcs left, and the queue.
    let arcs = gpu.arcs(graph, false, 12 * nodes as u64)?;
    let Some((arcs, all)) = arcs.and_then(|arcs| arcs.all().map(|all| (arcs, all))) else {
        return Ok(Seen::NoRoom);
    };
    let cores = gpu.copy("core numbers", cores)?;
    let (left, queue) = (gpu.alloc::<u32>("arcs left", nodes)?, gpu.alloc::<u32>("queue", nodes)?);
    let (tail, findings) = (gpu.alloc::<u32>("tail", 1)?, gpu.findings()?);
    let args = KcoreArgs {
        rows: all,
        cores: cores.pointer(),
        left: left.pointer(),
        queue: queue.pointer(),
        tail: tail.pointer(),
        findings: findings.pointer(),
        ..KcoreArgs::zeroed()
    };
    let kernel = gpu.function("check_kcore.cu", "check_kcore_arcs")?;
    arcs.each(|rows| gpu.over_arcs(kernel, rows, &KcoreArgs { rows: *rows, ..args }))?;
    gpu.over_nodes(gpu.function("check_kcore.cu", "check_kcore_nodes")?, nodes as u64, &args)?;
    let peel = gpu.function("check_kcore.cu", "check_kcore_peel")?;
    let found = findings.element(0)?;
    if found.wrong != 0 {
        return Ok(Seen::Wrong);
    }
    let (mut first, mut end) = (0, tail.element(0)?);
    while first < end {
        gpu.over_nodes(peel, 32 * u64::from(end - first), &KcoreArgs { first, end, ..args })?;
        (first, end) = (end, tail.element(0)?);
    }
    match end as usize == nodes {
        true => Ok(Seen::Right(CoresCheck { max_core: found.most as u32 })),
        false => Ok(Seen::Wrong),
    }
}
