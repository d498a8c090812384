//! A star: node 0, the hub, joined to nodes 1 to LEAVES. Diameter 2, and all arcs but one a node in one
//! row: the hardest case for balance.

use super::recipe::{Recipe, Size};
use super::spec;
use crate::error::Result;
use crate::graph::MAX_NODES;
use crate::graph::build::Csr;
use crate::hash::pair_weight;
use rayon::prelude::*;

const FORM: &str = "star:LEAVES[,seed=1] with LEAVES 1..=4294967293 or as in 2^20";

struct Star {
    leaves: u64,
    /// Another seed gives other weights.
    seed: u64,
}

/// Reads `rest`, the part of `spec` behind `star:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let (size, seed) = spec::seeded(spec, rest, FORM)?;
    Ok(Box::new(Star { leaves: spec::count(spec, size, FORM, MAX_NODES - 1)?, seed }))
}

impl Recipe for Star {
    fn size(&self) -> Size {
        Size::exact(self.leaves + 1, 2 * self.leaves)
    }

    fn dataset(&self) -> String {
        format!("star{}", self.leaves)
    }

    fn csr(&self) -> Csr {
        let leaves = self.leaves;
        // Row 0 lists the leaves 1, 2, ...; then every leaf lists the hub.
        let leaf = |arc: u64| if arc < leaves { arc + 1 } else { arc - leaves + 1 } as u32;
        let column = |arc: u64| if arc < leaves { leaf(arc) } else { 0 };
        let arcs = || (0..2 * leaves).into_par_iter();
        Csr {
            offsets: [0].into_par_iter().chain(leaves..=2 * leaves).collect(),
            columns: arcs().map(column).collect(),
            weights: Some(arcs().map(|arc| pair_weight(self.seed, 0, leaf(arc))).collect()),
            self_loops: 0,
            duplicates: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::sound;

    #[test]
    fn the_hub_has_all_leaves_and_every_leaf_the_hub() {
        for leaves in [1u64, 2, 5, 10_000] {
            let graph = sound(&format!("star:{leaves}"));
            assert_eq!(graph.degree(0), leaves);
            assert!((1..graph.nodes()).all(|v| graph.neighbors(v).all(|arc| arc.0 == 0)));
            assert!((1..graph.nodes()).all(|v| graph.degree(v) == 1));
        }
    }

    #[test]
    fn the_first_arcs_of_a_seed_never_change() {
        let row: Vec<_> = sound("star:3").neighbors(0).collect();
        assert_eq!(row, [(1, 35.0), (2, 31.0), (3, 43.0)]);
    }
}
