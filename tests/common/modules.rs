//! Graphs of communities, and what communities are measured by.

use super::graph_of;
use hivegraph::graph::Graph;
use hivegraph::operator::Random;

/// The modularity of communities, pair by pair of nodes.
pub fn modularity(graph: &Graph, communities: &[u32], resolution: f64) -> f64 {
    let n = graph.nodes();
    let mut arcs = vec![vec![0.0; n]; n];
    for (u, row) in arcs.iter_mut().enumerate() {
        for (v, w) in graph.neighbors(u) {
            row[v as usize] += f64::from(w) * if u == v as usize { 2.0 } else { 1.0 };
        }
    }
    let weights: Vec<f64> = arcs.iter().map(|row| row.iter().sum()).collect();
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    for u in 0..n {
        for v in (0..n).filter(|v| communities[*v] == communities[u]) {
            sum += arcs[u][v] - resolution * weights[u] * weights[v] / total;
        }
    }
    if total == 0.0 { 0.0 } else { sum / total }
}

/// An undirected graph of these edges.
pub fn undirected(n: u32, edges: impl Iterator<Item = (u32, u32, f32)>) -> Graph {
    let both = edges.flat_map(|(u, v, w)| match u == v {
        true => vec![(u, v, w)],
        false => vec![(u, v, w), (v, u, w)],
    });
    graph_of(n as usize, &both.collect::<Vec<_>>())
}

/// Groups of `size` nodes, of which so many in a thousand are joined, inside and outside; nodes are shuffled by a factor.
pub fn planted(
    groups: u32,
    size: u32,
    [inside, outside]: [u64; 2],
    seed: u64,
) -> (Graph, Vec<u32>) {
    let n = groups * size;
    let name = |v: u32| (u64::from(v) * 7919 % u64::from(n)) as u32;
    let mut group = vec![0; n as usize];
    (0..n).for_each(|v| group[name(v) as usize] = v / size);
    let mut edges = Vec::new();
    for u in 0..n {
        for v in u + 1..n {
            let of = if u / size == v / size { inside } else { outside };
            if Random::new(seed, u64::from(u) << 32 | u64::from(v)).below(1000) < of {
                edges.push((name(u), name(v), 1.0));
            }
        }
    }
    (undirected(n, edges.into_iter()), group)
}
