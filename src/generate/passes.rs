//! How a graph that a device makes is cut into passes over its rows.
//!
//! Idea: arcs are counted per *bucket* of rows (equal, power-of-two widths); a *pass* takes consecutive
//! buckets that together fit into the key buffers. Keys are not stored between passes but made again, from a
//! generator's edges or the arcs of a file.

use crate::device::kernels::rmat;

/// Buckets at most.
const MAX_BUCKETS_LOG2: u32 = rmat::MAX_BUCKETS.ilog2();

/// Rows that are sorted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pass {
    pub first_row: u32,
    pub rows: u32,
    /// Arcs with such a row, duplicates counted. A generator leaves self loops out.
    pub arcs: u64,
}

/// log2 of the rows in a bucket of a graph of 2^`scale` nodes: bucket = row >> shift.
pub(crate) fn bucket_shift(scale: u32) -> u32 {
    scale.saturating_sub(MAX_BUCKETS_LOG2)
}

/// Groups buckets of 2^`shift` rows, which hold `arcs` arcs, into passes of like size and at most `most`
/// arcs each. A bucket with more than that is a pass of its own. Every row is in exactly one pass.
pub(crate) fn passes(arcs: &[u64], shift: u32, most: u64) -> Vec<Pass> {
    let total: u64 = arcs.iter().sum();
    let most = most.max(1);
    let fair = total.div_ceil(total.div_ceil(most).max(1));
    let mut passes = Vec::new();
    let mut first = 0;
    while first < arcs.len() {
        let (mut sum, mut end) = (arcs[first], first + 1);
        while end < arcs.len() && sum < fair && sum + arcs[end] <= most {
            sum += arcs[end];
            end += 1;
        }
        // Buckets without arcs cost nothing where they are, and a whole pass of their own.
        while end < arcs.len() && arcs[end] == 0 {
            end += 1;
        }
        passes.push(Pass {
            first_row: (first as u32) << shift,
            rows: ((end - first) as u32) << shift,
            arcs: sum,
        });
        first = end;
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row once, in order, no pass over the limit unless it is one bucket.
    fn check(arcs: &[u64], shift: u32, most: u64) -> Vec<Pass> {
        let passes = passes(arcs, shift, most);
        let mut row = 0u64;
        for pass in &passes {
            assert_eq!(u64::from(pass.first_row), row);
            assert!(pass.rows > 0);
            let buckets = (row >> shift) as usize..((row + u64::from(pass.rows)) >> shift) as usize;
            assert_eq!(arcs[buckets.clone()].iter().sum::<u64>(), pass.arcs);
            let filled = arcs[buckets].iter().filter(|arcs| **arcs > 0).count();
            assert!(pass.arcs <= most.max(1) || filled == 1, "{pass:?} is above {most}");
            row += u64::from(pass.rows);
        }
        assert_eq!(row, (arcs.len() as u64) << shift);
        passes
    }

    #[test]
    fn every_row_is_in_one_pass_and_no_pass_is_too_large() {
        let arcs: Vec<u64> = (0..4096u64).map(|b| b * 7919 % 1000 * (b % 3)).collect();
        for most in [0, 1, 10, 999, 5000, 100_000, u64::MAX] {
            check(&arcs, 3, most);
        }
        assert_eq!(check(&arcs, 3, u64::MAX).len(), 1);
    }

    #[test]
    fn passes_are_of_like_size() {
        let passes = check(&[100; 4096], 16, 205_000);
        assert_eq!(passes.len(), 2);
        assert_eq!(passes[0].arcs, passes[1].arcs);
    }

    #[test]
    fn a_large_graph_takes_as_many_passes_as_its_arcs_need() {
        // R-MAT 28, edge factor 16: 2^33 arcs less some self loops over 4096 buckets, unevenly.
        let arcs: Vec<u64> = (0..4096u64).map(|b| (1 << 21) - 1000 + b * 7919 % 1999).collect();
        assert_eq!(check(&arcs, 16, (1 << 30) + (1 << 26)).len(), 8);
    }

    #[test]
    fn a_bucket_above_the_limit_and_empty_ones_are_passes_that_end() {
        assert_eq!(check(&[5, 900, 5, 0, 0], 0, 100).len(), 3);
        assert_eq!(check(&[0, 0, 0, 0], 4, 100).len(), 1);
        assert_eq!(check(&[0, 0, 7], 0, 1).len(), 2);
    }

    #[test]
    fn the_largest_graph_has_row_numbers_that_fit() {
        let shift = bucket_shift(31);
        let passes = check(&vec![1 << 22; 1 << (31 - shift)], shift, 1 << 30);
        assert_eq!(passes.len(), 16);
        assert_eq!(check(&vec![1; 1 << (31 - shift)], shift, 1 << 30)[0].rows, 1 << 31);
        assert_eq!((bucket_shift(1), bucket_shift(12), bucket_shift(13)), (0, 0, 1));
    }
}
