//! Serial shortest paths, written from the definitions of docs/design.md, "Semantics".

use hivegraph::algorithm::ShortestPaths;
use hivegraph::graph::Graph;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// No predecessor, no nominee.
pub const NONE: u32 = u32::MAX;

/// Whether every arc has its reverse, however often the two are there and whatever they weigh.
pub fn goes_both_ways(graph: &Graph) -> bool {
    let heads = |u: usize| graph.neighbors(u).map(move |(v, _)| (u as u32, v));
    let arcs: BTreeSet<(u32, u32)> = (0..graph.nodes()).flat_map(heads).collect();
    arcs.iter().all(|(u, v)| arcs.contains(&(*v, *u)))
}

/// Shortest f32 distances, the oracle for bits: binary heap, sums forward from the seeds.
pub fn dijkstra_f32(graph: &Graph, seeds: &[u32]) -> Vec<f32> {
    let mut dist = vec![f32::INFINITY; graph.nodes()];
    let mut heap = BinaryHeap::new();
    for &s in seeds {
        dist[s as usize] = 0.0;
        heap.push(Reverse((Ordered(0.0), s)));
    }
    while let Some(Reverse((Ordered(d), u))) = heap.pop() {
        if d as f32 > dist[u as usize] {
            continue;
        }
        for (v, w) in graph.neighbors(u as usize) {
            let sum = dist[u as usize] + w;
            if sum < dist[v as usize] {
                dist[v as usize] = sum;
                heap.push(Reverse((Ordered(f64::from(sum)), v)));
            }
        }
    }
    dist
}

/// Shortest f64 distances over the f32 weights, the oracle for tolerance.
pub fn dijkstra_f64(graph: &Graph, seeds: &[u32]) -> Vec<f64> {
    let mut dist = vec![f64::INFINITY; graph.nodes()];
    let mut heap = BinaryHeap::new();
    for &s in seeds {
        dist[s as usize] = 0.0;
        heap.push(Reverse((Ordered(0.0), s)));
    }
    while let Some(Reverse((Ordered(d), u))) = heap.pop() {
        if d > dist[u as usize] {
            continue;
        }
        for (v, w) in graph.neighbors(u as usize) {
            let sum = d + f64::from(w);
            if sum < dist[v as usize] {
                dist[v as usize] = sum;
                heap.push(Reverse((Ordered(sum), v)));
            }
        }
    }
    dist
}

/// Tight arcs u -> v of final distances: u reached, dist[v] == fl(dist[u] + w).
pub fn tight_arcs(graph: &Graph, dist: &[f32]) -> Vec<(u32, u32)> {
    let mut tight = Vec::new();
    for u in 0..graph.nodes() {
        for (v, w) in graph.neighbors(u) {
            if dist[v as usize].is_finite() && dist[u] + w == dist[v as usize] {
                tight.push((u as u32, v));
            }
        }
    }
    tight
}

/// `[n]` level of each node in a BFS over tight arcs from the seeds; [`NONE`] for unreached nodes.
pub fn tight_levels(graph: &Graph, seeds: &[u32], dist: &[f32]) -> Vec<u32> {
    let mut level = vec![NONE; graph.nodes()];
    let mut queue: Vec<u32> = seeds.to_vec();
    for &s in seeds {
        level[s as usize] = 0;
    }
    let mut head = 0;
    while head < queue.len() {
        let u = queue[head] as usize;
        head += 1;
        for (v, w) in graph.neighbors(u) {
            let tight = dist[v as usize].is_finite() && dist[u] + w == dist[v as usize];
            if tight && level[v as usize] == NONE {
                level[v as usize] = level[u] + 1;
                queue.push(v);
            }
        }
    }
    level
}

/// Smallest node in the previous tight level with a tight arc; a seed for itself; [`NONE`] for unreached nodes.
pub fn predecessors(graph: &Graph, seeds: &[u32], dist: &[f32]) -> Vec<u32> {
    let level = tight_levels(graph, seeds, dist);
    let mut predecessor = vec![NONE; graph.nodes()];
    for (u, v) in tight_arcs(graph, dist) {
        let (from, to) = (level[u as usize], level[v as usize]);
        if from != NONE && from + 1 == to {
            predecessor[v as usize] = predecessor[v as usize].min(u);
        }
    }
    seeds.iter().for_each(|s| predecessor[*s as usize] = *s);
    predecessor
}

/// Smallest seed with a tight chain to each node: a worklist run to its fixpoint.
pub fn nominees(graph: &Graph, seeds: &[u32], dist: &[f32]) -> Vec<u32> {
    let mut out = vec![Vec::new(); graph.nodes()];
    for (u, v) in tight_arcs(graph, dist) {
        out[u as usize].push(v);
    }
    let mut nominee = vec![NONE; graph.nodes()];
    let mut work: BTreeSet<(u32, u32)> = BTreeSet::new();
    for &s in seeds {
        nominee[s as usize] = s;
        work.insert((s, s));
    }
    while let Some((seed, u)) = work.pop_first() {
        if nominee[u as usize] < seed {
            continue;
        }
        for &v in &out[u as usize] {
            if seed < nominee[v as usize] {
                nominee[v as usize] = seed;
                work.insert((seed, v));
            }
        }
    }
    nominee
}

/// Predecessors and nominees for distances in f64 over weights above 0, where tight arcs make no cycle: nodes by rising
/// distance take the smallest of what their tight in-arcs offer.
pub fn chains_f64(graph: &Graph, seeds: &[u32], dist: &[f64]) -> (Vec<u32>, Vec<u32>) {
    let n = graph.nodes();
    let mut order: Vec<u32> = (0..n as u32).filter(|v| dist[*v as usize].is_finite()).collect();
    order.sort_by(|a, b| dist[*a as usize].total_cmp(&dist[*b as usize]));
    let tight = |u: u32| {
        let from = dist[u as usize];
        graph.neighbors(u as usize).filter(move |(v, w)| dist[*v as usize] == from + f64::from(*w))
    };
    let (mut level, mut parent, mut nominee) = (vec![NONE; n], vec![NONE; n], vec![NONE; n]);
    for &s in seeds {
        (level[s as usize], parent[s as usize], nominee[s as usize]) = (0, s, s);
    }
    for &u in &order {
        for (v, _) in tight(u) {
            level[v as usize] = level[v as usize].min(level[u as usize] + 1);
            nominee[v as usize] = nominee[v as usize].min(nominee[u as usize]);
        }
    }
    for &u in &order {
        for (v, _) in tight(u).filter(|(v, _)| level[*v as usize] == level[u as usize] + 1) {
            parent[v as usize] = parent[v as usize].min(u);
        }
    }
    (parent, nominee)
}

/// The whole answer, predecessors and nominees included.
pub fn answer(graph: &Graph, seeds: &[u32]) -> ShortestPaths {
    let distances = dijkstra_f32(graph, seeds);
    let predecessors = predecessors(graph, seeds, &distances);
    let nominees = nominees(graph, seeds, &distances);
    ShortestPaths {
        distances,
        predecessors: Some(predecessors),
        nominees: Some(nominees),
        delta: f32::INFINITY,
        ..ShortestPaths::default()
    }
}

/// A float that is no NaN, ordered.
#[derive(PartialEq, Clone, Copy)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A number for each node's strongly connected component: Kosaraju's two searches, on a stack.
pub fn strong_parts(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let back = graph.transpose();
    let (mut left, mut seen) = (Vec::new(), vec![false; n]);
    for root in 0..n {
        let mut stack = vec![(root, false)];
        while let Some((v, done)) = stack.pop() {
            if done {
                left.push(v);
            } else if !std::mem::replace(&mut seen[v], true) {
                stack.push((v, true));
                stack.extend(graph.neighbors(v).map(|(u, _)| (u as usize, false)));
            }
        }
    }
    let mut part = vec![u32::MAX; n];
    for &root in left.iter().rev() {
        let mut stack = vec![root];
        while let Some(v) = stack.pop() {
            if part[v] == u32::MAX {
                part[v] = root as u32;
                stack.extend(back.neighbors(v).map(|(u, _)| u as usize));
            }
        }
    }
    part
}
