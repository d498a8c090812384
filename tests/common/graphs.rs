//! Small deterministic graphs, each with the trouble that it is named for.

use hivegraph::graph::{Graph, Origin};

/// An arc: tail, head, weight.
pub type Arc = (u32, u32, f32);

/// Many levels of several hundred nodes, with arcs to the next level, within the level and back: what teams of threads walk. One
/// node has a long row, of leaves.
pub fn layers() -> Graph {
    let (count, width, leaves) = (90u32, 500u32, 9000u32);
    let at = |layer: u32, place: u32| layer * width + place % width;
    let mut arcs: Vec<Arc> = Vec::new();
    for (layer, place) in (0..count).flat_map(|layer| (0..width).map(move |place| (layer, place))) {
        let draw = hash(u64::from(layer), u64::from(place));
        let (near, far) = (draw as u32 % width, (draw >> 32) as u32);
        let weight = |k: u32| (1 + (draw >> (8 * k)) % 50) as f32;
        let heads =
            [(layer + 1, place), (layer + 1, place + 1), (layer, near), (far % (layer + 1), near)];
        let inner = heads.iter().zip(0..).filter(|((to, _), _)| *to < count);
        arcs.extend(inner.map(|((to, head), k)| (at(layer, place), at(*to, *head), weight(k))));
    }
    // One node leads to the whole first level.
    let source = count * width;
    arcs.extend((0..width).map(|place| (source, at(0, place), 3.0)));
    let hub = at(count / 2, 7);
    arcs.extend((1..=leaves).map(|leaf| (hub, source + leaf, leaf as f32)));
    graph_of((source + leaves + 1) as usize, &arcs)
}

/// The CSR of a list of arcs, rows sorted by (column, weight). Weights -0 become 0.
pub fn graph_of(n: usize, arcs: &[Arc]) -> Graph {
    build(n, arcs, true, 0)
}

/// The same graph without weights.
pub fn unweighted(graph: &Graph) -> Graph {
    let (offsets, columns) = (graph.offsets().to_vec(), graph.columns().to_vec());
    Graph::from_csr(offsets, columns, None, Origin::default()).expect("the rows of a graph")
}

/// As [`graph_of`], without weights: every arc counts 1.
pub fn unweighted_graph_of(n: usize, arcs: &[Arc]) -> Graph {
    build(n, arcs, false, 0)
}

/// As [`graph_of`], for an input whose smallest id is `id_base`.
pub fn graph_from_base(n: usize, arcs: &[Arc], id_base: u32) -> Graph {
    build(n, arcs, true, id_base)
}

fn build(n: usize, arcs: &[Arc], weighted: bool, id_base: u32) -> Graph {
    let mut arcs: Vec<Arc> = arcs.iter().map(|&(u, v, w)| (u, v, w + 0.0)).collect();
    arcs.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    let mut offsets = vec![0u64; n + 1];
    for arc in &arcs {
        offsets[arc.0 as usize + 1] += 1;
    }
    for v in 0..n {
        offsets[v + 1] += offsets[v];
    }
    let columns = arcs.iter().map(|arc| arc.1).collect();
    let weights = weighted.then(|| arcs.iter().map(|arc| arc.2).collect());
    let origin = Origin { dataset: "test".into(), id_base, ..Origin::default() };
    Graph::from_csr(offsets, columns, weights, origin).expect("a well-formed test graph")
}

/// Counter-based random bits: the same for the same (seed, index).
pub fn hash(seed: u64, index: u64) -> u64 {
    let mut z =
        seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}

/// A uniform f32 in [0, 1).
pub fn uniform(seed: u64, index: u64) -> f32 {
    (hash(seed, index) >> 40) as f32 / (1u32 << 24) as f32
}

fn both_ways(arcs: &mut Vec<Arc>, u: u32, v: u32, w: f32) {
    arcs.push((u, v, w));
    arcs.push((v, u, w));
}

/// Skewed like R-MAT (a quarter of the ids get most arcs, level by level), symmetric, weights in
/// [0, 1); many nodes are isolated, some arcs parallel.
pub fn skewed(scale: u32, edge_factor: u64, seed: u64) -> Graph {
    let n = 1usize << scale;
    let mut arcs = Vec::new();
    for edge in 0..(n as u64 * edge_factor) {
        let (mut u, mut v) = (0, 0);
        for level in 0..u64::from(scale) {
            let roll = uniform(seed, edge * 64 + level);
            u = u << 1 | u32::from(roll >= 0.76);
            v = v << 1 | u32::from((0.57..0.76).contains(&roll) || roll >= 0.95);
        }
        both_ways(&mut arcs, u, v, uniform(seed ^ 0xabcd, edge));
    }
    graph_of(n, &arcs)
}

/// A grid with four neighbours a node, symmetric, weights in [0, 1) or 1 where `weighted` is false.
pub fn grid(rows: u32, columns: u32, weighted: bool, seed: u64) -> Graph {
    let mut arcs = Vec::new();
    for r in 0..rows {
        for c in 0..columns {
            let v = r * columns + c;
            if c + 1 < columns {
                both_ways(&mut arcs, v, v + 1, uniform(seed, u64::from(v) * 2));
            }
            if r + 1 < rows {
                both_ways(&mut arcs, v, v + columns, uniform(seed, u64::from(v) * 2 + 1));
            }
        }
    }
    build((rows * columns) as usize, &arcs, weighted, 0)
}

/// Node 0 joined to all others, both ways: one row of n - 1 arcs.
pub fn star(n: u32) -> Graph {
    let mut arcs = Vec::new();
    for v in 1..n {
        both_ways(&mut arcs, 0, v, 0.5 + uniform(3, u64::from(v)));
    }
    graph_of(n as usize, &arcs)
}

/// 0 -> 1 -> ... -> n-1: as many levels as nodes.
pub fn chain(n: u32) -> Graph {
    let arcs: Vec<Arc> = (1..n).map(|v| (v - 1, v, 0.1 + uniform(4, u64::from(v)))).collect();
    graph_of(n as usize, &arcs)
}

/// Even nodes are one component, odd ones another, every 16th is isolated.
pub fn two_components(n: u32) -> Graph {
    let mut arcs = Vec::new();
    for i in 0..u64::from(n) * 4 {
        let u = (hash(5, i) % u64::from(n)) as u32;
        let v = (hash(6, i) % u64::from(n)) as u32 & !1 | u & 1;
        let kept = |x: u32| x < n && !x.is_multiple_of(16);
        if kept(u) && kept(v) {
            both_ways(&mut arcs, u, v, uniform(7, i));
        }
    }
    graph_of(n as usize, &arcs)
}

/// Directed, weights 0, 0.25, 0.5 or 0.75: zero-weight cycles, parallel arcs, self loops, many ties.
pub fn zeros_and_parallels(n: u32) -> Graph {
    let mut arcs = Vec::new();
    for i in 0..u64::from(n) * 4 {
        let u = (hash(8, i) % u64::from(n)) as u32;
        let v = if i % 13 == 0 { u } else { (hash(9, i) % u64::from(n)) as u32 };
        let weight = |salt: u64| (hash(10 + salt, i) % 4) as f32 * 0.25;
        arcs.push((u, v, weight(0)));
        if i % 5 == 0 {
            arcs.push((u, v, weight(1)));
        }
        if i % 7 == 0 {
            both_ways(&mut arcs, u, v, 0.0);
        }
    }
    graph_of(n as usize, &arcs)
}

/// Directed and random, `degree` arcs a node on average, weights in [0, 10).
pub fn directed(n: u32, degree: u64, seed: u64) -> Graph {
    let pick = |salt, i| (hash(seed ^ salt, i) % u64::from(n)) as u32;
    let arcs: Vec<Arc> = (0..u64::from(n) * degree)
        .map(|i| (pick(0x11, i), pick(0x22, i), uniform(seed ^ 0x33, i) * 10.0))
        .collect();
    graph_of(n as usize, &arcs)
}

/// Absorption: one arc of weight 2^20 leads into a random part with weights so small that
/// fl(d + w) == d, so every arc there is tight, cycles included. Denormal weights among them.
pub fn absorbing(n: u32) -> Graph {
    let mut arcs = vec![(0, 1, 1_048_576.0)];
    for i in 0..u64::from(n) * 3 {
        let u = 1 + (hash(12, i) % u64::from(n - 1)) as u32;
        let v = 1 + (hash(13, i) % u64::from(n - 1)) as u32;
        let tiny = [1e-3, 1e-30, f32::MIN_POSITIVE, 1e-45][(hash(14, i) % 4) as usize];
        both_ways(&mut arcs, u, v, tiny);
    }
    graph_of(n as usize, &arcs)
}

/// Every graph above at test size (4,096 nodes or more), with seeds that suit it.
pub fn zoo() -> Vec<(&'static str, Graph, Vec<u32>)> {
    vec![
        ("skewed", skewed(12, 8, 1), vec![0, 1, 77]),
        ("weighted grid", grid(64, 70, true, 2), vec![0, 2240, 4479]),
        ("unit grid", grid(66, 64, false, 2), vec![5, 4000]),
        ("star", star(4300), vec![17]),
        ("star from its hub", star(4300), vec![0]),
        ("chain", chain(5000), vec![0, 2500]),
        ("two components", two_components(4200), vec![1, 3]),
        ("zeros and parallels", zeros_and_parallels(4200), vec![3, 9, 27, 81, 4000]),
        ("directed", directed(4500, 3, 6), vec![4, 8, 2000]),
        ("absorbing", absorbing(4100), vec![0]),
        ("absorbing, many seeds", absorbing(4100), vec![0, 7, 4099]),
    ]
}
