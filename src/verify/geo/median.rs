//! The point of least summed great-circle distance to given points: the oracle of geolocation.
//!
//! If all points lie in a ball of less than 45 degrees, the sum is convex in that ball, and least inside it (Afsari,
//! "Riemannian L^p center of mass", Proc. AMS 2011). Points spread over the globe give many local minima, of two kinds: at
//! the points themselves, where the sum has a kink, and elsewhere, in wide basins, since only a point makes a basin narrow.
//!
//! Candidates are all points, the mean direction and, for points that do not lie in such a ball, a lattice over the whole
//! globe. Descents start from the best of them, from the mean and from each candidate that has no better one
//! nearby. A descent leaves a point along the pull of the others, if that is stronger than the point's own weight. From
//! there on it follows the simplex method (Nelder and Mead, Computer Journal 1965), restarted until that
//! gains nothing: without derivatives, and without a method that the workload uses. Of many points an even
//! sample is searched, and descents over all points start from the minima found.

use super::globe::{Direction, angle, direction, dot, place, unit};
use rayon::prelude::*;
use std::cell::Cell;
use std::f64::consts::{FRAC_PI_4, PI};

/// Of more points than this, a sample of this size is searched.
const SAMPLE: usize = 384;
/// Points of the lattice; neighbouring ones are about 0.4 radians apart.
const LATTICE: usize = 80;
/// Distance up to which a candidate is nearby, in radians.
const BASIN: f64 = 0.3;
/// The best candidates that start descents of points that lie wide.
const BEST: usize = 4;
/// Most further candidates that start descents, since they have no better one nearby.
const STARTS: usize = 6;
/// A first descent ends when the sums of its simplex differ by less than this share.
const COARSE: f64 = 1e-8;
/// The same for a last descent.
const FINE: f64 = 1e-14;
/// Minima within this share of the least one are polished.
const CLOSE: f64 = 1e-4;
/// Most minima that are polished.
const MOST_POLISHED: usize = 4;
/// Points as near as this have the same place, since degrees are rounded. In radians: a tenth of a millimetre.
pub(super) const HERE: f64 = 1e-11;
/// Most points that one thread sums.
const SERIAL: usize = 1 << 15;

/// The spatial median of places in degrees (latitude, longitude), each counted as often as it occurs: a
/// place of least summed great-circle distance, and that sum in radians, to about 1e-12 of it.
///
/// It does not depend on the order of the points. Where several places have the least sum, it is one of them (of two
/// points, one of the two). Without points it is NaN, with a sum of 0.
pub fn spatial_median(points: &[[f64; 2]]) -> ([f64; 2], f64) {
    if points.is_empty() {
        return ([f64::NAN; 2], 0.0);
    }
    let (median, sum) = search(points.iter().map(|&at| direction(at)).collect(), &Cell::new(0));
    (place(median), sum)
}

/// The same of at least one direction; adds the distances that were computed to `work`.
pub(super) fn search(mut points: Vec<Direction>, work: &Cell<u64>) -> (Direction, f64) {
    sort(&mut points);
    let all = Cloud::merged(&points, work);
    let found = if points.len() <= SAMPLE || all.points.len() <= SAMPLE {
        all.minima()
    } else {
        let even = (0..SAMPLE).map(|i| points[i * points.len() / SAMPLE]);
        let sample = Cloud::merged(&even.collect::<Vec<_>>(), work);
        let minima = sample.minima().into_iter().map(|(x, _)| (x, all.sum(x)));
        by_sum(minima.collect())
    };
    let least = found[0].1;
    let mut close: Vec<(Direction, f64)> = Vec::new();
    for (x, sum) in found {
        let again = close.iter().any(|&(y, _)| angle(x, y) < 1e-3 * least / all.count);
        if sum <= least * (1.0 + CLOSE) && !again && close.len() < MOST_POLISHED {
            close.push((x, sum));
        }
    }
    by_sum(close.into_iter().map(|start| all.polish(start)).collect())[0]
}

/// Where a descent from `start` ends, and the sum of distances there: a local minimum, or `start` itself.
pub(super) fn descent(mut points: Vec<Direction>, start: Direction) -> (Direction, f64) {
    sort(&mut points);
    let work = Cell::new(0);
    let all = Cloud::merged(&points, &work);
    all.polish((start, all.sum(start)))
}

fn sort(points: &mut [Direction]) {
    points.sort_unstable_by(|a, b| {
        a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(a[2].total_cmp(&b[2]))
    });
}

fn by_sum(mut found: Vec<(Direction, f64)>) -> Vec<(Direction, f64)> {
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    found
}

/// Distinct points with their multiplicities.
struct Cloud<'a> {
    points: Vec<(Direction, f64)>,
    count: f64,
    work: &'a Cell<u64>,
}

impl<'a> Cloud<'a> {
    /// Of sorted points.
    fn merged(sorted: &[Direction], work: &'a Cell<u64>) -> Self {
        let points = sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64));
        Cloud { points: points.collect(), count: sorted.len() as f64, work }
    }

    /// Summed distance to all points, radians.
    fn sum(&self, x: Direction) -> f64 {
        self.work.set(self.work.get() + self.points.len() as u64);
        let sum = |part: &[(Direction, f64)]| part.iter().map(|&(p, w)| w * angle(x, p)).sum();
        if self.points.len() <= SERIAL {
            return sum(&self.points);
        }
        self.points.par_chunks(SERIAL).map(sum).collect::<Vec<f64>>().iter().sum()
    }

    /// Approximate local minima, the best first; never empty.
    fn minima(&self) -> Vec<(Direction, f64)> {
        let mut candidates: Vec<Direction> = self.points.iter().map(|&(p, _)| p).collect();
        let total = self.points.iter().fold([0.0; 3], |sum, &(p, w)| {
            [sum[0] + w * p[0], sum[1] + w * p[1], sum[2] + w * p[2]]
        });
        let mean = unit(total);
        let within = |centre| self.points.iter().all(|&(p, _)| dot(centre, p) > FRAC_PI_4.cos());
        let wide = !mean.is_some_and(within);
        candidates.extend(mean);
        if wide {
            candidates.extend(lattice());
        }
        let summed = |x| (x, self.sum(x));
        let candidates = by_sum(candidates.into_iter().map(summed).collect());
        let mut starts = candidates[..candidates.len().min(if wide { BEST } else { 1 })].to_vec();
        if wide {
            starts.extend(mean.map(summed));
            let alone = |i: &usize| {
                let near = |&(y, _): &(Direction, f64)| dot(candidates[*i].0, y) > BASIN.cos();
                !candidates[..*i].iter().any(near)
            };
            let alone = (BEST..candidates.len()).filter(alone).take(STARTS);
            starts.extend(alone.map(|i| candidates[i]));
        }
        // Small steps, so that no descent leaves the basin of its start.
        let step = |sum: f64| (sum / self.count * 0.1).clamp(1e-9, 0.05);
        let ends = starts.into_iter().map(|start| self.leave(start, step(start.1), COARSE));
        by_sum(ends.collect())
    }

    /// Descends repeatedly, in smaller steps, until that gains nothing.
    fn polish(&self, start: (Direction, f64)) -> (Direction, f64) {
        let mut step = (start.1 / self.count * 0.01).clamp(1e-9, 0.01);
        let (mut best, mut vain) = (start, 0);
        // A simplex may collapse beside the minimum, so two sizes in a row must gain nothing.
        while vain < 2 {
            let found = self.leave(best, step, FINE);
            vain = if best.1 - found.1 > 1e-12 * best.1 { 0 } else { vain + 1 };
            best = found;
            step *= 0.1;
        }
        best
    }

    /// Descends from `start`. If that is one of the points, the sum may be least there, or fall only in a narrow
    /// direction that a simplex would miss: the pull of the other points.
    fn leave(&self, start: (Direction, f64), step: f64, end: f64) -> (Direction, f64) {
        let is_here = |p: Direction| angle(start.0, p) < HERE;
        let held: f64 = self.points.iter().filter(|(p, _)| is_here(*p)).map(|(_, w)| w).sum();
        if held == 0.0 {
            return self.descend(start, step, end);
        }
        let frame = frame(start.0);
        let pull = self.points.iter().fold([0.0, 0.0], |sum, &(p, w)| {
            let [u, v] = frame.map(|axis| dot(axis, p));
            let length = u.hypot(v);
            // The point itself and its antipode do not pull.
            if length < HERE { sum } else { [sum[0] + w * u / length, sum[1] + w * v / length] }
        });
        self.work.set(self.work.get() + self.points.len() as u64);
        let strength = pull[0].hypot(pull[1]).max(f64::MIN_POSITIVE);
        if strength <= held && !self.points.iter().any(|&(p, _)| dot(p, start.0) < -1.0 + 1e-9) {
            return start;
        }
        let (mut best, mut t, mut reached) = (start, step, step);
        for _ in 0..40 {
            let x = exponential(start.0, frame, pull.map(|p| p / strength * t));
            let found = (x, self.sum(x));
            if found.1 < best.1 {
                (best, reached) = (found, t);
            } else if best.1 < start.1 {
                break;
            }
            t /= 2.0;
        }
        self.descend(best, reached / 2.0, end)
    }

    /// The simplex method, on the tangent plane at `start`. The result is never worse than `start`.
    fn descend(&self, start: (Direction, f64), step: f64, end: f64) -> (Direction, f64) {
        let frame = frame(start.0);
        let at = |p: [f64; 2]| (p, self.sum(exponential(start.0, frame, p)));
        let first = ([0.0, 0.0], start.1);
        let mut s = [first, at([step, 0.0]), at([-step / 2.0, step * 0.75f64.sqrt()])];
        for _ in 0..150 {
            s.sort_by(|a, b| a.1.total_cmp(&b.1));
            let [best, good, bad] = s;
            let size = distance(best.0, good.0).max(distance(best.0, bad.0));
            let flat = bad.1 - best.1 <= end * best.1 && size < 1e-2 * step;
            if flat || size < 1e-9 * step {
                break;
            }
            // The point at `t` on the line from the worst through the middle of the others.
            let along = |t: f64| {
                at([0, 1].map(|i| bad.0[i] + t * ((best.0[i] + good.0[i]) / 2.0 - bad.0[i])))
            };
            let mirrored = along(2.0);
            let next = if mirrored.1 < best.1 {
                let far = along(3.0);
                if far.1 < mirrored.1 { far } else { mirrored }
            } else if mirrored.1 < good.1 {
                mirrored
            } else {
                along(if mirrored.1 < bad.1 { 1.5 } else { 0.5 })
            };
            if next.1 < bad.1 {
                s[2] = next;
            } else {
                let halfway = |p: [f64; 2]| at([0, 1].map(|i| (p[i] + best.0[i]) / 2.0));
                s = [best, halfway(good.0), halfway(bad.0)];
            }
        }
        s.sort_by(|a, b| a.1.total_cmp(&b.1));
        let lowest = exponential(start.0, frame, s[0].0);
        if s[0].1 < start.1 { (lowest, s[0].1) } else { start }
    }
}

fn distance(p: [f64; 2], q: [f64; 2]) -> f64 {
    (p[0] - q[0]).hypot(p[1] - q[1])
}

/// Two directions at right angles to `x` and to each other.
pub(super) fn frame(x: Direction) -> [Direction; 2] {
    let cross = |a: Direction, b: Direction| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let axis = if x[2].abs() < 0.7 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
    let east = unit(cross(axis, x)).unwrap_or(axis);
    [east, cross(x, east)]
}

/// The direction |p| radians from `x` along the tangent p.
fn exponential(x: Direction, frame: [Direction; 2], p: [f64; 2]) -> Direction {
    let length = p[0].hypot(p[1]);
    if length == 0.0 {
        return x;
    }
    let (sin, cos) = length.sin_cos();
    let (u, v) = (p[0] / length * sin, p[1] / length * sin);
    let to = [0, 1, 2].map(|i| cos * x[i] + u * frame[0][i] + v * frame[1][i]);
    unit(to).unwrap_or(to)
}

/// Points spread evenly over the globe, along a spiral of the golden angle.
fn lattice() -> impl Iterator<Item = Direction> {
    let turn = PI * (3.0 - 5f64.sqrt());
    (0..LATTICE).map(move |i| {
        let z = 1.0 - (2 * i + 1) as f64 / LATTICE as f64;
        let (sin, cos) = (turn * i as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash;

    #[test]
    fn a_kink_is_a_minimum_for_a_place_that_is_off_by_rounding() {
        // Points all over the globe: the sum is concave between kinks, so that lower places lie near some of them.
        let share = |i: u64| (hash(1, i) >> 11) as f64 / (1u64 << 53) as f64;
        let (mut off, mut lower) = (0, 0);
        for cloud in 0..60 {
            let at = |i: u64| [2.0 * share(2 * i) - 1.0, 2.0 * PI * share(2 * i + 1)];
            let spread = |[z, turn]: [f64; 2]| {
                let ((sin, cos), r) = (turn.sin_cos(), (1.0 - z * z).sqrt());
                [r * cos, r * sin, z]
            };
            let points: Vec<Direction> = (0..400).map(|i| spread(at(400 * cloud + i))).collect();
            let pull = |x: Direction| {
                let sum = points.iter().filter(|&&p| p != x).fold([0.0; 2], |sum, &p| {
                    let [u, v] = frame(x).map(|axis| dot(axis, p));
                    [sum[0] + u / u.hypot(v), sum[1] + v / u.hypot(v)]
                });
                sum[0].hypot(sum[1])
            };
            for &kink in points.iter().filter(|&&p| pull(p) < 1.0) {
                let start = direction(place(kink));
                off += u32::from(start != kink);
                let (_, sum) = descent(points.clone(), start);
                let held: f64 = points.iter().map(|&p| angle(kink, p)).sum();
                lower += u32::from(sum < held * (1.0 - 1e-9));
            }
        }
        assert!(off > 10, "{off}");
        assert_eq!(lower, 0);
    }
}
