//! On the host, where paths are long: a search a thread. What searches from many sources share there is less than what they cost.

use crate::graph::Graph;
use rayon::prelude::*;

/// What a search keeps between sources.
struct Space {
    /// `[n]` numbers of arcs; `u32::MAX` where none is known.
    hops: Vec<u32>,
    /// Nodes in the order in which they were reached.
    order: Vec<u32>,
}

/// Writes a row for each source: `value` of the number of arcs to each target, `u32::MAX` where there is no path. `beat` is called
/// between searches.
pub(super) fn rows<T: Copy + Send>(
    graph: &Graph,
    (sources, targets): (&[u32], &[u32]),
    rows: &mut [T],
    value: impl Fn(u32) -> T + Sync,
    beat: &(dyn Fn() + Sync),
) {
    let space = || Space { hops: vec![u32::MAX; graph.nodes()], order: Vec::new() };
    let pairs = rows.par_chunks_mut(targets.len()).zip(sources);
    pairs.for_each_init(space, |space, (row, source)| {
        beat();
        search(graph, *source, space);
        let found = targets.iter().map(|target| value(space.hops[*target as usize]));
        row.iter_mut().zip(found).for_each(|(to, found)| *to = found);
        let Space { hops, order } = space;
        order.drain(..).for_each(|v| hops[v as usize] = u32::MAX);
    });
}

fn search(graph: &Graph, source: u32, Space { hops, order }: &mut Space) {
    hops[source as usize] = 0;
    order.push(source);
    let mut at = 0;
    while let Some(&u) = order.get(at) {
        at += 1;
        let next = hops[u as usize] + 1;
        for (v, _) in graph.neighbors(u as usize) {
            if hops[v as usize] == u32::MAX {
                hops[v as usize] = next;
                order.push(v);
            }
        }
    }
}
