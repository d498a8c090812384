//! Graphs of communities, and what communities are measured by.

use super::graph_of;
use hivegraph::graph::Graph;
use hivegraph::operator::Random;
use std::collections::HashMap;

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

/// Groups as Lancichinetti, Fortunato and Radicchi plant them: degrees and sizes of groups follow power laws (exponents 2 and 1), and of
/// the arcs of a node a share `mixing` leaves its group. Ends of arcs are drawn, and joined in pairs; loops and parallels are left out.
pub fn mixed(n: u32, sizes: [f64; 2], mixing: f64, seed: u64) -> (Graph, Vec<u32>) {
    let mut draw = {
        let mut random = Random::new(seed, 0);
        move || f64::from(random.unit())
    };
    // From `low` to `high`.
    let inverse_square =
        |x: f64, low: f64, high: f64| 1.0 / (1.0 / low - x * (1.0 / low - 1.0 / high));
    let inverse = |x: f64, low: f64, high: f64| low * (high / low).powf(x);
    let mut group = Vec::new();
    let mut groups = 0;
    while group.len() < n as usize {
        let size = inverse(draw(), sizes[0], sizes[1]) as usize;
        group.extend(vec![groups; size.min(n as usize - group.len())]);
        groups += 1;
    }
    let (mut inside, mut outside) = (vec![Vec::new(); groups as usize], Vec::new());
    for (v, group) in (0..n).zip(&group) {
        let degree = inverse_square(draw(), 8.0, 50.0);
        let leave = (0..degree as u32).filter(|_| draw() < mixing).count();
        outside.extend(vec![v; leave]);
        inside[*group as usize].extend(vec![v; degree as usize - leave]);
    }
    let mut edges = Vec::new();
    for ends in inside.iter_mut().chain([&mut outside]) {
        for k in (1..ends.len()).rev() {
            ends.swap(k, (draw() * (k + 1) as f64) as usize);
        }
        edges.extend(ends.chunks_exact(2).map(|ends| (ends[0].min(ends[1]), ends[0].max(ends[1]))));
    }
    edges.retain(|(u, v)| u != v);
    edges.sort_unstable();
    edges.dedup();
    (undirected(n, edges.into_iter().map(|(u, v)| (u, v, 1.0))), group)
}

/// How alike two partitions are, but for chance: the adjusted Rand index, 1 of the same.
pub fn rand_index(a: &[u32], b: &[u32]) -> f64 {
    fn pairs(names: impl Iterator<Item = (u32, u32)>) -> f64 {
        let mut counts = HashMap::<_, u64>::new();
        names.for_each(|name| *counts.entry(name).or_default() += 1);
        counts.into_values().map(|count| (count * (count - 1) / 2) as f64).sum()
    }
    let both = pairs(a.iter().copied().zip(b.iter().copied()));
    let all = pairs(a.iter().map(|_| (0, 0)));
    let [a, b] = [a, b].map(|names| pairs(names.iter().map(|name| (*name, 0))));
    let chance = a * b / all;
    (both - chance) / ((a + b) / 2.0 - chance)
}

/// A community that is in pieces: its name and a node that no path inside it leads to.
pub fn in_pieces(graph: &Graph, communities: &[u32]) -> Option<(u32, u32)> {
    let mut seen = vec![false; communities.len()];
    let mut begun = Vec::new();
    for v in 0..communities.len() as u32 {
        let of = communities[v as usize];
        if seen[v as usize] {
            continue;
        }
        if begun.contains(&of) {
            return Some((of, v));
        }
        begun.push(of);
        let mut left = vec![v];
        seen[v as usize] = true;
        while let Some(u) = left.pop() {
            for (w, _) in graph.neighbors(u as usize) {
                if communities[w as usize] == of && !seen[w as usize] {
                    seen[w as usize] = true;
                    left.push(w);
                }
            }
        }
    }
    None
}
