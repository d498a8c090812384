//! R-MAT (Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004) with
//! Graph500's probabilities A, B, C, D = .57, .19, .19, .05.
//!
//! Edge e descends SCALE levels; at each, 16 bits of hash(seed, e, level) fall into one of four
//! ranges and give one bit of the source and one of the target. A 64-bit hash serves four levels, so
//! a probability is right to 2^-17. Ids are then permuted by a keyed bijection on [0, 2^SCALE), the
//! edge is taken both ways, and self loops and duplicates are dropped. Every step is integer
//! arithmetic on (seed, e): any thread, or a GPU, makes the same edge.

use super::hash::{hash, mix, pair_weight};
use crate::error::Result;
use crate::graph::build::{self, Csr, Keep, Packed};
use crate::graph::{Graph, Origin, check, milliseconds};
use rayon::prelude::*;
use std::time::Instant;

/// Upper ends of the ranges A, B, C of 16 bits; D is the rest.
const UPPER: [u64; 3] = [37_356, 49_807, 62_259]; // round(65536 * (.57, .76, .95))
/// Levels that one 64-bit hash serves.
const LEVELS_PER_HASH: u32 = 4;
/// Edges made by one task before it groups their arcs: two arcs each.
const EDGES_PER_BLOCK: u64 = build::ARCS_PER_BLOCK as u64;
const FORM: &str = "rmat:SCALE[,ef=16][,seed=1] with SCALE 1..=31, ef 1..=1024";

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rmat {
    /// log2 of the node count, 1..=31.
    pub scale: u32,
    /// Edges generated per node, before clean-up, 1..=1024.
    pub edge_factor: u64,
    /// Another seed is another graph.
    pub seed: u64,
}

impl Rmat {
    /// Reads `rest`, the part of `spec` behind `rmat:`.
    pub(super) fn parse(spec: &str, rest: &str) -> Result<Rmat> {
        let mut rmat = Rmat { scale: 0, edge_factor: 16, seed: 1 };
        let size = super::options(spec, rest, FORM, |key, value| match key {
            "ef" => super::set(&mut rmat.edge_factor, value, 1..=1024),
            "seed" => super::set(&mut rmat.seed, value, ..),
            _ => false,
        })?;
        if !super::set(&mut rmat.scale, size, 1..=31) {
            return Err(super::refused(spec, size, FORM));
        }
        Ok(rmat)
    }

    /// Bytes of host memory that [`generate`] takes, about.
    pub(super) fn host_bytes(&self) -> u128 {
        u128::from(self.edges()) * 24 + (16 << self.scale)
    }

    /// Where a graph like this came from.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            dataset: format!("rmat{}", self.scale),
            graph_file: format!("rmat:{},ef={},seed={}", self.scale, self.edge_factor, self.seed),
            format: "rmat".into(),
            weights: "generated".into(),
            ..Origin::default()
        }
    }

    /// Edges drawn, before clean-up.
    pub fn edges(&self) -> u64 {
        self.edge_factor << self.scale
    }
}

/// Draws edges: the state that depends on the configuration only.
///
/// kernels/rmat.cu has the same arithmetic and gets this state.
pub(crate) struct Sampler {
    pub key: u64,
    pub scale: u32,
    pub mask: u32,
    /// (added, multiplied by) of each round of the permutation.
    pub rounds: [(u32, u32); 4],
}

impl Sampler {
    pub fn new(rmat: &Rmat) -> Sampler {
        let round = |i: u64| {
            let bits = hash(mix(rmat.seed ^ 0x7065_726d_7574_6531), i);
            (bits as u32, (bits >> 32) as u32 | 1)
        };
        Sampler {
            key: mix(rmat.seed ^ 0x726d_6174_6564_6765),
            scale: rmat.scale,
            mask: (1 << rmat.scale) - 1,
            rounds: std::array::from_fn(|i| round(i as u64)),
        }
    }

    /// Edge `e` as (source, target), permuted.
    #[inline]
    fn edge(&self, e: u64) -> (u32, u32) {
        let own = hash(self.key, e);
        let (mut u, mut v) = (0u32, 0u32);
        let mut left = self.scale;
        let mut group = 0;
        while left > 0 {
            let mut bits = hash(own, group);
            group += 1;
            for _ in 0..left.min(LEVELS_PER_HASH) {
                let draw = bits & 0xffff;
                bits >>= 16;
                let past = UPPER.map(|upper| u32::from(draw >= upper));
                u = u << 1 | past[1]; // C or D
                v = v << 1 | (past[0] - past[1] + past[2]); // B or D
            }
            left -= left.min(LEVELS_PER_HASH);
        }
        (self.permuted(u), self.permuted(v))
    }

    /// A bijection on [0, 2^scale): adding, multiplying by an odd number and xoring with the own upper
    /// half can each be undone.
    #[inline]
    fn permuted(&self, mut id: u32) -> u32 {
        let shift = self.scale.div_ceil(2);
        for (add, odd) in self.rounds {
            id = id.wrapping_add(add).wrapping_mul(odd) & self.mask;
            id ^= id >> shift;
        }
        id
    }
}

/// Generates the graph: symmetric, no self loops, no duplicates, integer weights 1..=64.
///
/// Memory at the peak: about 24 bytes an edge drawn (6.5 GB at scale 24, edge factor 16).
pub fn generate(rmat: &Rmat) -> Result<Graph> {
    let start = Instant::now();
    let sampler = Sampler::new(rmat);
    let nodes = 1usize << rmat.scale;
    check::node_count(nodes as u64)?;
    let edges = rmat.edges();
    let blocks: Vec<u64> = (0..edges).step_by(EDGES_PER_BLOCK as usize).collect();
    let mut csr =
        build::build::<u64, _>(nodes, 2 * edges, Keep::SIMPLE, blocks, |_, first, out| {
            for e in first..(first + EDGES_PER_BLOCK).min(edges) {
                let (u, v) = sampler.edge(e);
                out.extend([u64::pack(u, v, 1.0, 0), u64::pack(v, u, 1.0, 0)]);
            }
        });
    csr.weights = Some(weights(&csr, rmat.seed));
    (csr.self_loops, csr.duplicates) = (0, 0); // nobody's input had those that were drawn
    // Drawing and building are one pipeline.
    let origin = Origin { load_ms: milliseconds(start), ..rmat.origin() };
    Ok(Graph::trusted(csr, origin, Some(true)))
}

/// The weight of every arc, from its unordered pair.
fn weights(csr: &Csr, seed: u64) -> Vec<f32> {
    const ROWS: usize = 1 << 10;
    let mut weights = vec![0f32; csr.columns.len()];
    let lengths = (0..csr.offsets.len() - 1).step_by(ROWS).map(|first| {
        let last = (first + ROWS).min(csr.offsets.len() - 1);
        (csr.offsets[last] - csr.offsets[first]) as usize
    });
    build::split_lengths(&mut weights, lengths).into_par_iter().enumerate().for_each(
        |(block, place)| {
            let first = block * ROWS;
            let base = csr.offsets[first] as usize;
            for u in first..(first + ROWS).min(csr.offsets.len() - 1) {
                for arc in csr.offsets[u] as usize..csr.offsets[u + 1] as usize {
                    place[arc - base] = pair_weight(seed, u as u32, csr.columns[arc]);
                }
            }
        },
    );
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(scale: u32, seed: u64) -> Graph {
        generate(&Rmat { scale, edge_factor: 16, seed }).unwrap()
    }

    #[test]
    fn any_number_of_threads_makes_the_same_graph() {
        let expected = generated(16, 3);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let graph = pool.install(|| generated(16, 3));
            assert_eq!(graph.offsets(), expected.offsets());
            assert_eq!(graph.columns(), expected.columns());
            assert_eq!(graph.weights(), expected.weights());
        }
    }

    #[test]
    fn another_seed_makes_another_graph() {
        assert_ne!(generated(10, 1).columns(), generated(10, 2).columns());
    }

    #[test]
    fn the_permutation_of_ids_is_a_bijection_at_every_scale() {
        for scale in 1..=16 {
            let sampler = Sampler::new(&Rmat { scale, edge_factor: 1, seed: 9 });
            let mut hit = vec![false; 1 << scale];
            (0..1 << scale).for_each(|id| hit[sampler.permuted(id) as usize] = true);
            assert!(hit.iter().all(|&hit| hit), "scale {scale}");
        }
    }

    #[test]
    fn each_quadrant_gets_its_share_of_edges() {
        let mut sampler = Sampler::new(&Rmat { scale: 1, edge_factor: 16, seed: 5 });
        sampler.rounds = [(0, 1); 4];
        // With a scale of 1 a round without addition or multiplication is the identity.
        let mut counts = [0f64; 4];
        let draws = 1_000_000;
        for e in 0..draws {
            let (u, v) = sampler.edge(e);
            counts[(u * 2 + v) as usize] += 1.0;
        }
        for (count, share) in counts.iter().zip([0.57, 0.19, 0.19, 0.05]) {
            let deviation = (draws as f64 * share * (1.0 - share)).sqrt();
            assert!((count - draws as f64 * share).abs() < 5.0 * deviation, "{counts:?}");
        }
    }

    #[test]
    fn the_graph_is_symmetric_and_simple_with_integer_weights() {
        let graph = generated(12, 1);
        let copy = Graph::from_csr(
            graph.offsets().to_vec(),
            graph.columns().to_vec(),
            graph.weights().map(<[f32]>::to_vec),
            Origin::default(),
        )
        .unwrap();
        assert!(graph.is_symmetric() && copy.is_symmetric());
        assert_eq!((copy.origin.self_loops, copy.origin.duplicates), (0, 0));
        assert!(graph.weights().unwrap().iter().all(|w| w.fract() == 0.0));
        assert_eq!(graph.weight_range(), (1.0, 64.0));
        assert!(graph.max_degree() > 20 * graph.arcs() / graph.nodes() as u64, "no hubs");
    }

    #[test]
    fn the_first_edges_of_a_seed_never_change() {
        let sampler = Sampler::new(&Rmat { scale: 20, edge_factor: 16, seed: 1 });
        let edges: Vec<_> = (0..3).map(|e| sampler.edge(e)).collect();
        assert_eq!(edges, [(859_796, 555_162), (664_150, 994_085), (642_907, 242_276)]);
    }
}
