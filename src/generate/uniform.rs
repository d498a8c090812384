//! Uniform random edges, the model G(n, m) of Erdos and Renyi ("On random graphs I", 1959) with
//! replacement: `ef * NODES` edges are drawn, both ends of each uniform over all nodes. The opposite of
//! R-MAT at the same size: no hubs, no locality.
//!
//! An end is the upper half of the product of n and 64 hashed bits, so that n need be no power of two;
//! a node is likelier than another by at most n / 2^64. Self loops and duplicates are dropped, which are
//! few: a share of about ef / n.

use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::MAX_NODES;
use crate::graph::build::Csr;
use crate::hash::{below, hash, mix};

const FORM: &str =
    "uniform:NODES[,ef=16][,seed=1] with NODES 1..=4294967294 or as in 2^20, ef 1..=1024";

struct Uniform {
    nodes: u64,
    /// Edges drawn per node, before clean-up, 1..=1024.
    edge_factor: u64,
    seed: u64,
}

/// Reads `rest`, the part of `spec` behind `uniform:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let mut uniform = Uniform { nodes: 0, edge_factor: 16, seed: 1 };
    let size = spec::options(spec, rest, FORM, |key, value| match key {
        "ef" => spec::set(&mut uniform.edge_factor, value, 1..=1024),
        "seed" => spec::set(&mut uniform.seed, value, ..),
        _ => false,
    })?;
    uniform.nodes = spec::count(spec, size, FORM, MAX_NODES)?;
    Ok(Box::new(uniform))
}

impl Uniform {
    fn edges(&self) -> u64 {
        self.edge_factor * self.nodes
    }

    /// Edge `e` under `key`.
    #[inline]
    fn edge(&self, key: u64, e: u64) -> (u32, u32) {
        let own = hash(key, e);
        let end = |which| below(self.nodes, hash(own, which)) as u32;
        (end(0), end(1))
    }

    /// Keeps these edges apart from those of other generators of the same seed.
    fn key(&self) -> u64 {
        mix(self.seed ^ 0x756e_6966_6f72_6d31)
    }
}

impl Recipe for Uniform {
    fn size(&self) -> Size {
        Size::drawn(self.nodes, self.edges(), true)
    }

    fn dataset(&self) -> String {
        format!("uniform{}", self.nodes)
    }

    fn csr(&self) -> Csr {
        let key = self.key();
        let csr = rows::drawn(self.nodes, self.edges(), |e| self.edge(key, e));
        rows::with_pair_weights(csr, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::{degrees, sound};
    use super::*;

    #[test]
    fn degrees_are_spread_like_poissons() {
        let graph = sound("uniform:50000,ef=8");
        let mean = graph.arcs() as f64 / 50_000.0;
        assert!((15.97..=16.0).contains(&mean), "{mean}");
        let variance = (0..50_000).map(|v| (graph.degree(v) as f64 - mean).powi(2)).sum::<f64>();
        assert!((0.95..1.05).contains(&(variance / 50_000.0 / mean)), "{:?}", degrees(&graph));
    }

    #[test]
    fn every_size_is_sound_and_another_seed_is_another_graph() {
        for spec in ["uniform:1", "uniform:2,ef=3", "uniform:3,ef=100", "uniform:1000,ef=1"] {
            sound(spec);
        }
        assert_ne!(sound("uniform:100").columns(), sound("uniform:100,seed=2").columns());
    }

    #[test]
    fn the_first_edges_of_a_seed_never_change() {
        let uniform = Uniform { nodes: 1_000_000, edge_factor: 16, seed: 1 };
        let edges: Vec<_> = (0..3).map(|e| uniform.edge(uniform.key(), e)).collect();
        assert_eq!(edges, [(797_794, 501_338), (53_231, 495_068), (25_595, 828_190)]);
    }
}
