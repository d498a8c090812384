//! Sets of ids, a bit each, that any number of threads add to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Some of the ids below a bound.
pub(crate) struct Bits(Vec<AtomicU64>);

impl Bits {
    /// None of the ids below `bound`.
    pub(crate) fn new(bound: usize) -> Bits {
        Bits((0..bound.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    pub(crate) fn has(&self, id: u32) -> bool {
        self.0[id as usize / 64].load(Relaxed) >> (id % 64) & 1 == 1
    }

    /// Adds `id`; says whether it is new.
    #[inline]
    pub(crate) fn add(&self, id: u32) -> bool {
        !self.has(id)
            && self.0[id as usize / 64].fetch_or(1 << (id % 64), Relaxed) >> (id % 64) & 1 == 0
    }

    /// 64 ids a word, the lowest first.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.0.into_iter().map(AtomicU64::into_inner).collect()
    }
}
