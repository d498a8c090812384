//! A chain: node v joined to v - 1 and v + 1. Diameter NODES - 1: as many levels as a graph can have.

use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::MAX_NODES;
use crate::graph::build::Csr;
use crate::hash::{PAIR_WEIGHTS, pair_weight};

const FORM: &str = "chain:NODES[,seed=1] with NODES 1..=4294967294 or as in 2^20";

/// What to generate.
struct Chain {
    nodes: u64,
    /// Another seed gives other weights.
    seed: u64,
}

/// Reads `rest`, the part of `spec` behind `chain:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, FORM)?;
    let mut nodes = 0;
    if !spec::set_count(&mut nodes, size, MAX_NODES) {
        return Err(spec::refused(spec, size, FORM));
    }
    Ok(Box::new(Chain { nodes, seed }))
}

impl Recipe for Chain {
    fn size(&self) -> Size {
        let (nodes, arcs) = (self.nodes, 2 * (self.nodes - 1));
        let host_bytes = 8 * nodes + 8 * arcs;
        Size { nodes, arcs, exact: true, weights: Some(PAIR_WEIGHTS), host_bytes }
    }

    fn dataset(&self) -> String {
        format!("chain{}", self.nodes)
    }

    fn csr(&self) -> Csr {
        let last = (self.nodes - 1) as u32;
        rows::closed_form(self.nodes, |v, out| {
            let around = [(v > 0).then(|| v - 1), (v < last).then(|| v + 1)];
            out.extend(around.into_iter().flatten().map(|u| (u, pair_weight(self.seed, v, u))));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::{degrees, sound};

    #[test]
    fn all_nodes_but_the_ends_have_two_neighbours() {
        assert_eq!(degrees(&sound("chain:1")), [1]);
        assert_eq!(degrees(&sound("chain:2")), [0, 2]);
        assert_eq!(degrees(&sound("chain:10000")), [0, 2, 9998]);
    }

    #[test]
    fn the_first_arcs_of_a_seed_never_change() {
        let graph = sound("chain:4");
        let weights: Vec<_> = (0..3).map(|v| graph.neighbors(v).last().unwrap()).collect();
        assert_eq!(weights, [(1, 35.0), (2, 12.0), (3, 18.0)]);
    }
}
