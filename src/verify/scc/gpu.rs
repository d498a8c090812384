//! A check of strongly connected components on a GPU, from the labels alone.

use super::ComponentsCheck;
use crate::device::DeviceBuffer;
use crate::device::kernels::check_scc::SccArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen, prefix_sums};
use crate::verify::one_a_node;
use bytemuck::Zeroable;

/// Rounds of a search, at most: where there are more the host is faster.
const ROUNDS: usize = 1 << 15;
/// Bytes of a node: labels, ranks, sizes, marks, members and two queues; outer arcs, rows and cursors of both kinds.
const SCRATCH: u64 = 7 * 4 + 5 * 8;

impl Checker<'_> {
    /// What [`super::scc`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn scc(&self, graph: &Graph, labels: &[u32]) -> Result<ComponentsCheck> {
        one_a_node(graph, super::WHAT, "labels", labels.len())?;
        if graph.is_undirected() {
            // They are the connected ones then.
            return self.cc(graph, labels);
        }
        self.certify(Some(graph), |gpu| check(gpu, graph, labels), || super::scc(graph, labels))
    }
}

fn check(gpu: &Gpu, graph: &Graph, labels: &[u32]) -> Result<Seen<ComponentsCheck>> {
    let (n, nodes) = (graph.nodes(), graph.nodes() as u64);
    let arcs = gpu.arcs(graph, false, SCRATCH * nodes + 4 * graph.arcs())?;
    let Some(rows) = arcs.as_ref().and_then(|arcs| arcs.all()) else { return Ok(Seen::NoRoom) };
    let words = |label: &str| gpu.alloc::<u32>(label, n);
    let labels = gpu.copy("labels", labels)?;
    let ranks = gpu.ranks(graph)?;
    let (sizes, outer) = (words("sizes")?, gpu.alloc::<u64>("arcs into labels", n)?);
    let (seen, queue, removed) = (words("seen")?, words("queue")?, words("removed labels")?);
    let (members, inner) = (words("members")?, gpu.alloc::<u64>("arcs inside labels", n)?);
    let (tail, findings) = (gpu.alloc::<u32>("tails", 2)?, gpu.findings()?);
    let mut args = SccArgs {
        rows,
        labels: labels.pointer(),
        ranks: ranks.as_ref().map_or(0, DeviceBuffer::pointer),
        sizes: sizes.pointer(),
        inner: inner.pointer(),
        outer: outer.pointer(),
        members: members.pointer(),
        seen: seen.pointer(),
        queue: queue.pointer(),
        tail: tail.pointer(),
        removed: removed.pointer(),
        findings: findings.pointer(),
        ..SccArgs::zeroed()
    };
    let over = |name, items, args: &SccArgs| {
        gpu.over_nodes(gpu.function("check_scc.cu", name)?, items, args)
    };
    let over_arcs =
        |name, args: &SccArgs| gpu.over_arcs(gpu.function("check_scc.cu", name)?, &rows, args);
    over("check_scc_nodes", nodes, &args)?;
    // Labels are places from here on.
    if findings.element(0)?.wrong != 0 {
        return Ok(Seen::Wrong);
    }
    over_arcs("check_scc_count", &args)?;
    let turned = prefix_sums(inner.to_vec()?);
    inner.upload(&turned[..n])?;
    let sources = gpu.alloc::<u32>("sources", turned[n] as usize)?;
    let turned = gpu.copy("rows backward", &turned)?;
    let begins = prefix_sums(sizes.to_vec()?.into_iter().map(u64::from).collect());
    let cursors = gpu.copy("cursors", &begins[..n])?;
    let begins = gpu.copy("members of labels", &begins)?;
    (args.turned, args.sources) = (turned.pointer(), sources.pointer());
    (args.begins, args.cursors) = (begins.pointer(), cursors.pointer());
    over_arcs("check_scc_turn", &args)?;
    over("check_scc_begin", nodes, &args)?;
    // Both searches come to all nodes.
    let ends = |at: usize| tail.element(at);
    for (search, again) in [("check_scc_forward", false), ("check_scc_backward", true)] {
        if again {
            tail.upload(&[0])?;
            over("check_scc_again", nodes, &args)?;
        }
        let (mut first, mut end) = (0, ends(0)?);
        for _ in 0..ROUNDS {
            if first == end {
                break;
            }
            over(search, 32 * u64::from(end - first), &SccArgs { first, end, ..args })?;
            (first, end) = (end, ends(0)?);
        }
        match (first == end, end as usize == n) {
            (true, true) => {}
            (true, false) => return Ok(Seen::Wrong),
            (false, _) => return Ok(Seen::NoRoom),
        }
    }
    tail.upload(&[0])?;
    let (mut first, mut end, mut gone) = (0, ends(1)?, 0);
    for _ in 0..ROUNDS {
        if first == end {
            break;
        }
        over("check_scc_gather", 32 * u64::from(end - first), &SccArgs { first, end, ..args })?;
        let members = ends(0)?;
        let nodes = SccArgs { first: gone, end: members, ..args };
        over("check_scc_remove", 32 * u64::from(members - gone), &nodes)?;
        (first, end, gone) = (end, ends(1)?, members);
    }
    let found = findings.element(0)?;
    let (components, largest) = (found.others, found.most);
    Ok(match (first == end, u64::from(end) == components) {
        (true, true) => Seen::Right(ComponentsCheck { components, largest }),
        (true, false) => Seen::Wrong,
        (false, _) => Seen::NoRoom,
    })
}
