//! Sums that no order of addition changes.
//!
//! **Idea.** A number is rounded to a multiple of a coarse unit, and what is left to a multiple of a fine one. Both units are so
//! large that no sum of such numbers has more than 53 bits. So additions are exact, in any order and grouping.
//!
//! **Source.** Demmel, Nguyen, "Fast reproducible floating-point summation", ARITH 2013 (pre-rounding).

/// For each of the two units, 1.5 x 2^52 of it: x + grid - grid is x, rounded to a multiple of the unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grids {
    pub coarse: f64,
    pub fine: f64,
}

impl Grids {
    /// For the scores of so many nodes, to which so many sources add.
    pub fn new(nodes: usize, sources: usize) -> Grids {
        // A source adds a dependency below `nodes`, and up to `nodes` ends, to a score; twice that is room for their rounding.
        let (nodes, sources) = (nodes as f64, sources as f64 + 1.0);
        let (coarse, unit) = grid(4.0 * nodes * sources);
        // Either addition leaves at most half a unit.
        let (fine, _) = grid(2.0 * sources * unit);
        Grids { coarse, fine }
    }

    /// `x` on both grids.
    pub fn split(self, x: f64) -> [f64; 2] {
        let coarse = x + self.coarse - self.coarse;
        [coarse, x - coarse + self.fine - self.fine]
    }
}

/// The grid on which numbers add up exactly while their sum is at most `most`, and its unit.
fn grid(most: f64) -> (f64, f64) {
    let unit = most.log2().ceil().exp2() * f64::EPSILON;
    (1.5 * unit / f64::EPSILON, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_the_order() {
        for (nodes, sources) in [(1, 1), (5, 3), (1 << 12, 1000), (1 << 27, 1 << 14)] {
            let grids = Grids::new(nodes, sources);
            // Of all magnitudes, up to the largest there is.
            let draw = |i: usize| crate::hash::hash(1, i as u64) as f64 / u64::MAX as f64;
            let gains: Vec<f64> = (0..sources)
                .map(|i| nodes as f64 * (-40.0 * draw(i)).exp2() * (0.5 + draw(i + sources)) / 1.5)
                .collect();
            let sum = |order: &mut dyn Iterator<Item = usize>| {
                order.fold([0.0, 0.0], |[coarse, fine], i| {
                    let gain = grids.split(gains[i]);
                    [coarse + gain[0], fine + gain[1]]
                })
            };
            let forward = sum(&mut (0..sources));
            assert_eq!(forward, sum(&mut (0..sources).rev()));
            let parts = [sum(&mut (0..sources / 3)), sum(&mut (sources / 3..sources))];
            assert_eq!(forward, [parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]]);
            // As near as plain addition, and nearer for most.
            let right: f64 = gains.iter().sum();
            let off = (forward[0] + forward[1] - right).abs();
            assert!(off <= 1e-13 * right, "{nodes} {sources}: {off} of {right}");
        }
    }

    #[test]
    fn the_largest_scores_are_exact() {
        let (nodes, sources) = (1 << 20, 1 << 20);
        let grids = Grids::new(nodes, sources);
        let [coarse, fine] = grids.split(nodes as f64);
        let mut sum = [0.0, 0.0];
        for _ in 0..2 * sources {
            sum = [sum[0] + coarse, sum[1] + fine];
        }
        assert_eq!(sum[0] + sum[1], 2.0 * (nodes * sources) as f64);
    }
}
