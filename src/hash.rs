//! Counter-based hashing: random numbers that are a function of (seed, counter) and nothing else.
//!
//! No stream is ever advanced, so any thread, replica or GPU that asks for the same counter gets the
//! same bits. The mixer is the 64-bit finaliser "variant 13" of Stafford as used by SplitMix64
//! (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).

/// 2^64 divided by the golden ratio, odd: steps counters far apart before they are mixed.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection on 64 bits in which every input bit moves every output bit.
#[inline]
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 64 bits for a `counter` under a `key`.
#[inline]
pub(crate) const fn hash(key: u64, counter: u64) -> u64 {
    mix(key.wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// The key of the values of an array under `seed`.
pub(crate) const fn array_key(seed: u64) -> u64 {
    const DOMAIN: u64 = 0x6172_7261_7976_616c; // keeps arrays apart from graphs
    mix(seed ^ DOMAIN)
}

/// The value of an array at `place` under `seed`.
#[inline]
pub const fn array_value(seed: u64, place: u64) -> u32 {
    (hash(array_key(seed), place) >> 32) as u32
}

/// A number below `n` from 64 bits, each as likely as the others to n / 2^64: the upper half of the
/// product (Lemire, "Fast random integer generation in an interval", TOMACS 2019).
#[inline]
pub(crate) const fn below(n: u64, bits: u64) -> u64 {
    ((bits as u128 * n as u128) >> 64) as u64
}

/// The key of the weights under `seed`.
pub(crate) const fn weight_key(seed: u64) -> u64 {
    const DOMAIN: u64 = 0x7765_6967_6874_7331; // keeps weights apart from the edge stream
    mix(seed ^ DOMAIN)
}

/// How weights are drawn: `low` + k `step`, with k below `span` from a hash of the key and the pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draw {
    pub key: u64,
    pub span: u64,
    pub low: f32,
    pub step: f32,
}

impl Draw {
    /// The weight of an arc between these places among the input's ids.
    pub(crate) fn weight(&self, u: u32, v: u32) -> f32 {
        let bits = hash(self.key, u64::from(u) << 32 | u64::from(v));
        self.low + below(self.span, bits) as f32 * self.step
    }
}

/// The lightest and the heaviest [`pair_weight`].
pub(crate) const PAIR_WEIGHTS: (u32, u32) = (1, 64);

/// The integer weight 1..=64 of the unordered pair {u, v} under `seed`.
///
/// Both arcs of an edge get the same weight, and every generator uses this one function.
#[inline]
pub(crate) const fn pair_weight(seed: u64, u: u32, v: u32) -> f32 {
    let (low, high) = if u < v { (u, v) } else { (v, u) };
    let pair = (low as u64) << 32 | high as u64;
    (1 + (hash(weight_key(seed), pair) >> 58)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_do_not_depend_on_the_direction_and_fill_1_to_64_evenly() {
        let mut seen = [0u32; 65];
        for u in 0..256 {
            for v in 0..256 {
                let w = pair_weight(7, u, v);
                assert_eq!(w, pair_weight(7, v, u));
                seen[w as usize] += 1;
            }
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|&count| (800..1250).contains(&count)), "{seen:?}");
    }

    #[test]
    fn another_seed_gives_other_bits() {
        let differ = (0..1000).filter(|&c| hash(1, c) & 1 != hash(2, c) & 1).count();
        assert!((400..600).contains(&differ), "{differ}");
    }
}
