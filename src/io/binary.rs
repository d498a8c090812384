//! What the binary formats share: arrays of numbers, converted in parallel.

use rayon::prelude::*;

/// Numbers that one task converts.
const BLOCK: usize = 1 << 16;

/// Converts an array of `SIZE`-byte numbers, in parallel. A remainder is left alone.
pub(super) fn numbers<const SIZE: usize, T: Copy + Default + Send>(
    bytes: &[u8],
    convert: impl Fn([u8; SIZE]) -> T + Sync,
) -> Vec<T> {
    let mut out = vec![T::default(); bytes.len() / SIZE];
    out.par_chunks_mut(BLOCK).zip(bytes.par_chunks(BLOCK * SIZE)).for_each(|(out, bytes)| {
        for (number, word) in out.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
            *number = convert(*word);
        }
    });
    out
}

/// Where the first number is that is `wrong`.
pub(super) fn first<const SIZE: usize>(
    bytes: &[u8],
    wrong: impl Fn([u8; SIZE]) -> bool + Sync,
) -> Option<usize> {
    bytes.as_chunks::<SIZE>().0.par_iter().position_first(|word| wrong(*word))
}

/// Whether f32 does not hold a whole number that is a weight; negative ones are none.
pub(super) fn rounds(number: i64) -> bool {
    number > 0 && number as f32 as i128 != i128::from(number)
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
