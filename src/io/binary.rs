//! What the binary formats share: arrays of numbers, converted in parallel.

use super::text;
use crate::graph::check::first;
use crate::graph::options::FileWeights;
use crate::threads::Body;
use rayon::prelude::*;

/// Numbers that one task converts.
const BLOCK: usize = 1 << 16;

/// Converts an array of `SIZE`-byte numbers, in parallel. A remainder is left alone.
pub(super) fn numbers<const SIZE: usize, T: Copy + Default + Send>(
    bytes: &[u8],
    convert: impl Fn([u8; SIZE]) -> T + Sync,
) -> Vec<T> {
    let mut out = vec![T::default(); bytes.len() / SIZE];
    let block: Body<(&mut [T], &[u8])> = &|(out, bytes)| {
        for (number, word) in out.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
            *number = convert(*word);
        }
    };
    out.par_chunks_mut(BLOCK).zip(bytes.par_chunks(BLOCK * SIZE)).for_each(block);
    out
}

/// A number as a file has it, on its way to a weight.
pub(super) trait Number: Copy + std::fmt::Display {
    fn narrowed(self) -> f32;
    /// Whether it is a whole number that is a weight and that f32 does not hold.
    fn rounds(self) -> bool;
}

macro_rules! whole_numbers {
    ($($kind:ty),+) => {$(
        impl Number for $kind {
            #[inline]
            fn narrowed(self) -> f32 {
                self as f32
            }
            #[inline]
            fn rounds(self) -> bool {
                self > 0 && self as f32 as i128 != self as i128
            }
        }
    )+};
}
whole_numbers!(i32, u32, i64, u64);

impl Number for f64 {
    #[inline]
    fn narrowed(self) -> f32 {
        self as f32
    }
    #[inline]
    fn rounds(self) -> bool {
        let round = self as f32;
        self.fract() == 0.0 && round.is_finite() && round > 0.0 && f64::from(round) != self
    }
}

/// Converts an array of weights. A whole number that f32 does not hold is refused, unless weights are to be rounded.
pub(super) fn weights<const SIZE: usize, N: Number>(
    bytes: &[u8],
    wanted: FileWeights,
    convert: impl Fn([u8; SIZE]) -> N + Sync,
) -> Result<Vec<f32>, String> {
    let words = bytes.as_chunks::<SIZE>().0;
    let odd = |word: &[u8; SIZE]| wanted == FileWeights::Exact && convert(*word).rounds();
    match first(words, odd) {
        Some(arc) => Err(format!("arc {arc}: {}", text::rounds(&convert(words[arc]).to_string()))),
        None => Ok(numbers(bytes, |word| convert(word).narrowed())),
    }
}

/// What is said of a file that is longer or shorter than its header implies.
pub(super) fn misfit(what: &str, counts: &str, expected: u64, size: u64) -> String {
    let fate = if size < expected { "truncated" } else { "too long" };
    format!(
        "the {what} is {fate}, or its header lies about counts ({counts} need {expected} bytes, the file has \
         {size}); fetch it again"
    )
}

/// The little-endian u64 at `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| word[i])))
}

/// Splits off the first `count` numbers of `size` bytes; `None` if there are not that many.
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: u64, size: u64) -> Option<&'a [u8]> {
    let length = usize::try_from(count.checked_mul(size)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}
