//! How many pairs of a source and a node are at which distance.

use crate::algorithm::arrays::replicated_arrays;
use crate::collective::Replicated;
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::layout::memory::DeviceArray;

/// Most bins. GPUs count so many in the memory of a block, with the two below.
pub(super) const BINS: u32 = 8190;
/// Where replicas count distances beyond all bins.
pub(super) const BEYOND: u32 = BINS;
/// Where they count what is no distance.
pub(super) const NOTHING: u32 = BINS + 1;
/// All of them.
pub(super) const ALL: usize = BINS as usize + 2;

/// Numbers of pairs by distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The width of a bin, in arcs or by weight.
    pub width: f64,
    /// `[bins]` pairs of a source and another node: bin k has those at distances d with k width <= d < (k + 1) width. The last bin is
    /// not empty.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// From what replicas have counted, `[ALL]`.
    ///
    /// # Errors
    /// [`Error::Input`] where a distance is beyond all bins; the largest one is `farthest`.
    pub(super) fn new(width: f64, mut counts: Vec<u64>, farthest: f64) -> Result<Histogram> {
        if counts[BEYOND as usize] > 0 {
            let least = farthest / f64::from(BINS);
            let enough = if least < 1.0 {
                2f64.powi(least.log2().floor() as i32 + 1)
            } else {
                least.floor() + 1.0
            };
            return Err(Error::input(format!(
                "--histogram {width}: there are {BINS} bins, and the largest distance is {farthest}; use --histogram {enough} or more"
            )));
        }
        counts.truncate(BINS as usize);
        counts.truncate(counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
        Ok(Histogram { width, counts })
    }

    /// The distance within which this share of the pairs lies, as if those of a bin were spread evenly over it. In `arcs` bin k is spread
    /// over the numbers above k width - 1, up to (k + 1) width - 1.
    pub fn within(&self, share: f64, arcs: bool) -> f64 {
        let wanted = share * self.counts.iter().sum::<u64>() as f64;
        let mut below = 0.0;
        for (bin, count) in self.counts.iter().enumerate() {
            let count = *count as f64;
            if count > 0.0 && below + count >= wanted {
                let part = (wanted - below) / count;
                return ((bin as f64 + part) * self.width - if arcs { 1.0 } else { 0.0 }).max(0.0);
            }
            below += count;
        }
        0.0
    }
}

replicated_arrays! {
    /// What replicas have counted.
    struct Counted of () {
        /// `[ALL]`.
        pairs: Replicated<u64> = "pairs", Sum, |_| ALL;
    }
}

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(world: usize) -> Vec<DeviceArray> {
    Counted::list((), world)
}

/// What a replica counts.
pub(super) struct Pairs {
    width: f64,
    own: Vec<u64>,
    counted: Counted,
}

impl Pairs {
    pub fn new(r: &mut Replica, width: f64) -> Result<Pairs> {
        Ok(Pairs { width, own: vec![0; ALL], counted: Counted::allocate(r, ())? })
    }

    pub fn width(&self) -> f64 {
        self.width
    }

    /// Before a run.
    pub fn reset(&mut self) {
        self.own.fill(0);
    }

    /// So many pairs are so many arcs apart.
    pub fn add(&mut self, arcs: usize, count: u64) {
        self.own[((arcs as f64 / self.width) as usize).min(BEYOND as usize)] += count;
    }

    /// Adds counts, `[ALL]`.
    pub fn add_all(&mut self, counts: &[u64]) {
        self.own.iter_mut().zip(counts).for_each(|(own, count)| *own += count);
    }

    /// Moves what has been counted since the reset to the array.
    pub fn end(&mut self) -> Result<()> {
        self.counted.pairs.assign(&self.own)
    }

    /// Adds up what replicas have counted.
    pub fn merge(&mut self, r: &mut Replica) -> Result<()> {
        r.merge(&mut self.counted.pairs)
    }

    pub fn array(&self) -> &Replicated<u64> {
        &self.counted.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(some: &[(u32, u64)]) -> Vec<u64> {
        let mut all = vec![0; ALL];
        some.iter().for_each(|(bin, count)| all[*bin as usize] = *count);
        all
    }

    #[test]
    fn shares_of_pairs_lie_within_a_distance() {
        let levels = Histogram::new(1.0, counts(&[(1, 50), (2, 25), (3, 25)]), 3.0).unwrap();
        assert_eq!(levels.counts, [0, 50, 25, 25]);
        for (share, distance) in [(0.5, 1.0), (0.75, 2.0), (0.9, 2.6), (1.0, 3.0)] {
            let within = levels.within(share, true);
            assert!((within - distance).abs() < 1e-12, "{share} within {within}");
        }
        let weights = Histogram::new(0.5, counts(&[(0, 1), (2, 1), (NOTHING, 7)]), 1.2).unwrap();
        assert_eq!([0.5, 1.0].map(|share| weights.within(share, false)), [0.5, 1.5]);
        assert_eq!(Histogram::new(2.0, counts(&[]), 0.0).unwrap().within(0.9, false), 0.0);
    }

    #[test]
    fn distances_beyond_all_bins_are_refused() {
        let refused = |width, farthest| {
            let counted = counts(&[(3, 1), (BEYOND, 2)]);
            Histogram::new(width, counted, farthest).unwrap_err().to_string()
        };
        let told = refused(1.0, 16380.0);
        assert!(
            told.contains("the largest distance is 16380; use --histogram 3 or more"),
            "{told}"
        );
        let told = refused(0.01, 100.0);
        assert!(told.contains("use --histogram 0.015625 or more"), "{told}");
    }
}
