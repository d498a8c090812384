//! The same check on a GPU.

use super::ComponentsCheck;
use crate::device::DeviceBuffer;
use crate::device::kernels::check_cc::CcArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen};
use crate::verify::one_a_node;

impl Checker<'_> {
    /// What [`super::cc`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn cc(&self, graph: &Graph, labels: &[u32]) -> Result<ComponentsCheck> {
        one_a_node(graph, super::WHAT, "labels", labels.len())?;
        self.certify(Some(graph), |gpu| check(gpu, graph, labels), || super::cc(graph, labels))
    }
}

fn check(gpu: &Gpu, graph: &Graph, labels: &[u32]) -> Result<Seen<ComponentsCheck>> {
    let nodes = graph.nodes();
    // Labels, trees, sizes and ranks.
    let Some(arcs) = gpu.arcs(graph, false, 16 * nodes as u64)? else { return Ok(Seen::NoRoom) };
    let labels = gpu.copy("labels", labels)?;
    let ranks = gpu.ranks(graph)?;
    let (parent, sizes) = (gpu.alloc::<u32>("trees", nodes)?, gpu.alloc::<u32>("sizes", nodes)?);
    let findings = gpu.findings()?;
    let args = CcArgs {
        rows: arcs.nodes(),
        labels: labels.pointer(),
        ranks: ranks.as_ref().map_or(0, DeviceBuffer::pointer),
        parent: parent.pointer(),
        sizes: sizes.pointer(),
        findings: findings.pointer(),
    };
    let kernel = |name| gpu.function("check_cc.cu", name);
    let over_nodes = |name| gpu.over_nodes(kernel(name)?, nodes as u64, &args);
    over_nodes("check_cc_nodes")?;
    if findings.element(0)?.wrong != 0 {
        return Ok(Seen::Wrong);
    }
    let sample = kernel("check_cc_sample")?;
    arcs.each(|rows| gpu.over_nodes(sample, nodes as u64, &CcArgs { rows: *rows, ..args }))?;
    over_nodes("check_cc_flatten")?;
    let rest = kernel("check_cc_arcs")?;
    arcs.each(|rows| gpu.over_arcs(rest, rows, &CcArgs { rows: *rows, ..args }))?;
    over_nodes("check_cc_trees")?;
    let found = findings.element(0)?;
    // As many labels that are their own as trees: none are merged.
    if found.wrong != 0 || found.reached != found.others {
        return Ok(Seen::Wrong);
    }
    Ok(Seen::Right(ComponentsCheck { components: found.others, largest: found.most }))
}
