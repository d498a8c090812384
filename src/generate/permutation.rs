//! A keyed bijection on [0, n): labels that tell nothing about how a node was made, without a shuffle.

use crate::hash::{hash, mix};

/// The bijection. For an n that is no power of two, what falls outside is sent through again ("cycle
/// walking": Black, Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002): less than once more
/// on average.
pub(crate) struct Permutation {
    nodes: u64,
    pub mask: u32,
    shift: u32,
    /// (added, multiplied by) of each round.
    pub rounds: [(u32, u32); 4],
}

impl Permutation {
    /// Of `nodes` ids, 1 to 2^32; another seed is another bijection.
    pub(crate) fn new(nodes: u64, seed: u64) -> Permutation {
        let bits = nodes.next_power_of_two().trailing_zeros();
        let round = |i: u64| {
            let bits = hash(mix(seed ^ 0x7065_726d_7574_6531), i);
            (bits as u32, (bits >> 32) as u32 | 1)
        };
        Permutation {
            nodes,
            mask: ((1u64 << bits) - 1) as u32,
            shift: bits.div_ceil(2),
            rounds: std::array::from_fn(|i| round(i as u64)),
        }
    }

    /// The bijection that changes nothing.
    #[cfg(test)]
    pub fn identity(nodes: u64) -> Permutation {
        Permutation { rounds: [(0, 1); 4], shift: 31, ..Permutation::new(nodes, 0) }
    }

    /// Where `id` goes.
    #[inline]
    pub(crate) fn of(&self, mut id: u32) -> u32 {
        loop {
            id = self.turned(id);
            if u64::from(id) < self.nodes {
                return id;
            }
        }
    }

    /// A bijection on the next power of two: adding, multiplying by an odd number and xoring with the
    /// own upper half can each be undone.
    #[inline]
    fn turned(&self, mut id: u32) -> u32 {
        for (add, odd) in self.rounds {
            id = id.wrapping_add(add).wrapping_mul(odd) & self.mask;
            id ^= id >> self.shift;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_hit_once_whatever_the_number_of_nodes() {
        for nodes in (1..=40).chain([1 << 10, 1000, 65_535, 65_536, 65_537]) {
            let permutation = Permutation::new(nodes, 9);
            let mut hit = vec![false; nodes as usize];
            (0..nodes as u32).for_each(|id| hit[permutation.of(id) as usize] = true);
            assert!(hit.iter().all(|&hit| hit), "{nodes}");
        }
    }
}
