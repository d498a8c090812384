//! R-MAT (Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004), with
//! the probabilities A, B, C, D = .57, .19, .19, .05 of Graph500 (`params=graph500`), those of GTgraph,
//! .45, .15, .15, .25 (`params=gtgraph`; Bader, Madduri, 2006), or one's own `a`, `b`, `c`, D the rest.
//!
//! Edge e descends SCALE levels; at each, 16 bits of hash(seed, e, level) fall into one of four
//! ranges and give one bit of the source and one of the target. A 64-bit hash serves four levels, so
//! a probability is right to 2^-17. Ids are then permuted by a keyed bijection on [0, 2^SCALE), the
//! edge is taken both ways, and self loops and duplicates are dropped. Every step is integer
//! arithmetic on (seed, e): any thread, or a GPU, makes the same edge.

use super::permutation::Permutation;
use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::build::Csr;
use crate::hash::{hash, mix};

/// A, B and C of the parameter sets that have a name.
const NAMED: [(&str, [f64; 3]); 2] =
    [("graph500", [0.57, 0.19, 0.19]), ("gtgraph", [0.45, 0.15, 0.15])];
/// Levels that one 64-bit hash serves.
const LEVELS_PER_HASH: u32 = 4;
const FORM: &str = "rmat:SCALE[,ef=16][,seed=1][,params=graph500|gtgraph][,a=0.57,b=0.19,c=0.19] with \
SCALE 1..=31, ef 1..=4096, a + b + c at most 1";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rmat {
    /// log2 of the node count, 1..=31.
    pub scale: u32,
    /// Edges generated per node, before clean-up, 1..=4096.
    pub edge_factor: u64,
    /// Another seed is another graph.
    pub seed: u64,
    /// A, B and C, each 0..=1 and at most 1 together.
    pub shares: [f64; 3],
}

/// Reads `rest`, the part of `spec` behind `rmat:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    Ok(Box::new(parse(spec, rest)?))
}

/// As [`read`].
pub(super) fn parse(spec: &str, rest: &str) -> Result<Rmat> {
    let mut rmat = Rmat { scale: 0, edge_factor: 16, seed: 1, shares: NAMED[0].1 };
    let size = spec::options(spec, rest, FORM, |key, value| match key {
        "ef" => spec::set(&mut rmat.edge_factor, value, 1..=4096),
        "seed" => spec::set(&mut rmat.seed, value, ..),
        "params" => match NAMED.iter().find(|(name, _)| *name == value) {
            Some((_, shares)) => {
                rmat.shares = *shares;
                true
            }
            None => false,
        },
        "a" => spec::set(&mut rmat.shares[0], value, 0.0..=1.0),
        "b" => spec::set(&mut rmat.shares[1], value, 0.0..=1.0),
        "c" => spec::set(&mut rmat.shares[2], value, 0.0..=1.0),
        _ => false,
    })?;
    if !spec::set(&mut rmat.scale, size, 1..=31) {
        return Err(spec::refused(spec, size, FORM));
    }
    let total: f64 = rmat.shares.iter().sum();
    if total > 1.0 {
        return Err(spec::refused(spec, &format!("a + b + c = {total}"), FORM));
    }
    Ok(rmat)
}

impl Recipe for Rmat {
    fn size(&self) -> Size {
        Size::drawn(1 << self.scale, self.edges(), true)
    }

    /// The parameters follow where they are not Graph500's.
    fn dataset(&self) -> String {
        let [a, b, c] = self.shares;
        match NAMED.iter().position(|(_, shares)| *shares == self.shares) {
            Some(0) => format!("rmat{}", self.scale),
            Some(named) => format!("rmat{}-{}", self.scale, NAMED[named].0),
            None => format!("rmat{}-a{a}-b{b}-c{c}", self.scale),
        }
    }

    fn csr(&self) -> Csr {
        let sampler = Sampler::new(self);
        let csr = rows::drawn(1 << self.scale, self.edges(), |e| sampler.edge(e));
        rows::with_pair_weights(csr, self.seed)
    }
}

impl Rmat {
    /// Edges drawn, before clean-up.
    pub(crate) fn edges(&self) -> u64 {
        self.edge_factor << self.scale
    }

    /// Upper ends of the ranges A, B, C of 16 bits; D is the rest.
    fn upper(&self) -> [u64; 3] {
        let [a, b, c] = self.shares;
        [a, a + b, a + b + c].map(|share| (65536.0 * share).round() as u64)
    }
}

/// Draws edges: the state that depends on the configuration only.
///
/// kernels/rmat.cu has the same arithmetic and gets this state.
pub(crate) struct Sampler {
    pub key: u64,
    pub scale: u32,
    /// As [`Rmat::upper`].
    pub upper: [u64; 3],
    pub permutation: Permutation,
}

impl Sampler {
    pub(crate) fn new(rmat: &Rmat) -> Sampler {
        Sampler {
            key: mix(rmat.seed ^ 0x726d_6174_6564_6765),
            scale: rmat.scale,
            upper: rmat.upper(),
            permutation: Permutation::new(1 << rmat.scale, rmat.seed),
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
                let past = self.upper.map(|upper| u32::from(draw >= upper));
                u = u << 1 | past[1]; // C or D
                v = v << 1 | (past[0] - past[1] + past[2]); // B or D
            }
            left -= left.min(LEVELS_PER_HASH);
        }
        (self.permutation.of(u), self.permutation.of(v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::rows::tests::sound;

    const GRAPH500: [f64; 3] = NAMED[0].1;

    fn rmat(scale: u32, seed: u64) -> Rmat {
        Rmat { scale, edge_factor: 16, seed, shares: GRAPH500 }
    }

    #[test]
    fn another_seed_makes_another_graph_for_any_number_of_threads() {
        assert_ne!(sound("rmat:10").columns(), sound("rmat:10,seed=2").columns());
        sound("rmat:16,seed=3");
    }

    #[test]
    fn each_quadrant_gets_its_share_of_edges() {
        for shares in [GRAPH500, NAMED[1].1, [0.25, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.2, 0.3]] {
            let mut sampler = Sampler::new(&Rmat { shares, ..rmat(1, 5) });
            sampler.permutation = Permutation::identity(2);
            let mut counts = [0f64; 4];
            let draws = 1_000_000;
            for e in 0..draws {
                let (u, v) = sampler.edge(e);
                counts[(u * 2 + v) as usize] += 1.0;
            }
            let [a, b, c] = shares;
            for (count, share) in counts.iter().zip([a, b, c, 1.0 - a - b - c]) {
                let deviation = (draws as f64 * (share * (1.0 - share)).max(0.0)).sqrt();
                let expected = draws as f64 * share;
                assert!(
                    (count - expected).abs() <= 5.0 * deviation + 1e-6,
                    "{shares:?} {counts:?}"
                );
            }
        }
    }

    #[test]
    fn thresholds_are_integers_of_16_bits() {
        assert_eq!(rmat(1, 1).upper(), [37_356, 49_807, 62_259]);
        assert_eq!(Rmat { shares: NAMED[1].1, ..rmat(1, 1) }.upper(), [29_491, 39_322, 49_152]);
    }

    #[test]
    fn there_are_hubs_and_gtgraphs_parameters_are_less_skewed() {
        let (graph, other) = (sound("rmat:12"), sound("rmat:12,params=gtgraph"));
        assert_eq!(graph.weight_range(), (1.0, 64.0));
        assert!(graph.max_degree() > 20 * graph.arcs() / graph.nodes() as u64, "no hubs");
        assert!(other.max_degree() < graph.max_degree() / 2);
    }

    #[test]
    fn the_first_edges_of_a_seed_never_change() {
        let sampler = Sampler::new(&rmat(20, 1));
        let edges: Vec<_> = (0..3).map(|e| sampler.edge(e)).collect();
        assert_eq!(edges, [(859_796, 555_162), (664_150, 994_085), (642_907, 242_276)]);
    }
}
