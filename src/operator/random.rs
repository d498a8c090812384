//! Random numbers for lambdas: the host's side of `Random` in `kernels/lambda.cuh`.

use crate::hash::{below, hash, mix};

/// Numbers that are a function of (seed, stream, how many were drawn): the same for any number of threads and
/// replicas, and the same bits as `Random` in CUDA C++.
#[derive(Debug, Clone, Copy)]
pub struct Random {
    key: u64,
    drawn: u64,
}

impl Random {
    /// The beginning of stream `stream` (a node, say) under `seed`.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random { key: hash(seed, stream), drawn: 0 }
    }

    /// A bijection on 64 bits in which every bit moves every other: `mix` in CUDA C++.
    pub fn mix(bits: u64) -> u64 {
        mix(bits)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.drawn += 1;
        hash(self.key, self.drawn - 1)
    }

    /// A number in [0, 1): one of 2^24, equally likely.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    /// A whole number in 0..n, by the high word of a product: no number is more likely than another by more than
    /// n / 2^64. 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        below(n, self.bits())
    }
}
