//! The nodes to which most arcs lead.

use rayon::prelude::*;

/// Most nodes: as many values of 4 bytes as no multiprocessor has room for.
const MOST: usize = 1 << 16;
/// Part of all arcs that lead to them at least, else there is none.
const LEAST_PART: f64 = 0.25;
/// Degrees that are told apart.
const DEGREES: usize = 1 << 16;

/// The longest of rows with these offsets, in falling order, of one length by node.
pub(super) fn largest(offsets: &[u64]) -> Vec<u32> {
    let nodes = offsets.len() - 1;
    let degree = |v: usize| offsets[v + 1] - offsets[v];
    let counted = |v: usize| (degree(v) as usize).min(DEGREES - 1);
    let mut counts = (0..nodes)
        .into_par_iter()
        .fold(
            || vec![0u32; DEGREES],
            |mut counts, v| {
                counts[counted(v)] += 1;
                counts
            },
        )
        .reduce(
            || vec![0u32; DEGREES],
            |mut all, counts| {
                all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
                all
            },
        );
    // Of degree 0 there is none.
    counts[0] = 0;
    // All of a degree above `least`, and some of `least`.
    let (mut least, mut more) = (DEGREES - 1, 0);
    while least > 1 && more + counts[least] as usize <= MOST {
        more += counts[least] as usize;
        least -= 1;
    }
    let mut above: Vec<u32> =
        (0..nodes).into_par_iter().filter(|v| counted(*v) > least).map(|v| v as u32).collect();
    above.extend(
        (0..nodes).filter(|v| counted(*v) == least).take(MOST - above.len()).map(|v| v as u32),
    );
    above.par_sort_unstable_by_key(|v| (std::cmp::Reverse(degree(*v as usize)), *v));
    let lead: u64 = above.iter().map(|v| degree(*v as usize)).sum();
    // A place is 31 bits beside the one that says so.
    let fits = nodes < 1 << 31;
    if fits && lead as f64 >= LEAST_PART * offsets[nodes] as f64 { above } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn the_longest_rows_come_first() {
        let offsets = [0, 3, 3, 10, 11, 18];
        assert_eq!(largest(&offsets), [2, 4, 0, 3]);
        // So many rows of one length that most of the arcs are in none that is taken.
        let even: Vec<u64> = (0..=1u64 << 20).map(|v| 8 * v).collect();
        assert!(largest(&even).is_empty());
        let mut skewed = even.clone();
        skewed.iter_mut().skip(70_000).for_each(|end| *end += 1 << 24);
        let found = largest(&skewed);
        assert_eq!((found.len(), &found[..3]), (1 << 16, &[69_999, 0, 1][..]));
    }
}
