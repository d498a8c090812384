//! The spatial median on a sphere: the point of least summed great-circle distance to given ones. The
//! solver of `kernels/geo_median.cuh`, step for step; `algorithm/geo.rs` tells its idea.

use rayon::prelude::*;
use std::f64::consts::PI;

/// A unit vector.
pub(crate) type Point = [f64; 3];

/// Points that are candidates, at most.
pub(crate) const CANDIDATES: usize = 32;
/// Points over which candidates' sums are taken, at most.
pub(crate) const SAMPLE: usize = 512;
/// Starts of a descent, at most, and for more than [`MANY`] points.
pub(crate) const STARTS: usize = 6;
pub(crate) const FEW_STARTS: usize = 2;
pub(crate) const MANY: usize = 4096;
/// Starts lie this far apart: the cosine of 0.2 radians.
const APART: f64 = 0.980_066_577_841_241_6;
/// A start is at most this much worse than the best one, radians a point.
const WORSE: f64 = 0.35;
/// Points nearer than this coincide, and so do a point and another's antipode.
const SAME: f64 = 1e-12;
/// No step is longer, radians.
const LONGEST: f64 = 1.0;
/// Least curvature that is divided by where the sum bends both ways, of Weiszfeld's.
const FLATTEST: f64 = 0.05;
/// Points that are summed one after the other; sums of blocks are added in their order.
const BLOCK: usize = 1024;
/// Points from which on blocks are dealt to threads.
const PARALLEL: usize = 1 << 14;

/// When the solver stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Passes over the points in one descent, the first not counted.
    pub passes: u32,
    /// Share of the sum that the next step must promise to save.
    pub tolerance: f64,
}

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn scaled(a: Point, by: f64) -> Point {
    a.map(|c| c * by)
}

fn normal(a: Point) -> Point {
    scaled(a, 1.0 / dot(a, a).sqrt())
}

/// The vector from `x` to `p`, or from its antipode where that is nearer, and which.
fn offset(x: Point, p: Point) -> (Point, bool) {
    let near = dot(x, p) >= 0.0;
    let d = |i: usize| if near { p[i] - x[i] } else { p[i] + x[i] };
    ([d(0), d(1), d(2)], near)
}

/// The angle across a chord, or the rest of half a turn.
fn angle_of(chord: f64, near: bool) -> f64 {
    let angle = 2.0 * (0.5 * chord).min(1.0).asin();
    if near { angle } else { PI - angle }
}

/// Great-circle distance in radians.
pub(crate) fn angle(x: Point, p: Point) -> f64 {
    let (d, near) = offset(x, p);
    angle_of(dot(d, d).sqrt(), near)
}

/// What one pass over the points finds at a place.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// Summed distance.
    f: f64,
    /// Sum of unit tangents towards the points: minus the gradient.
    r: [f64; 2],
    /// Sum of 1 / distance: Weiszfeld's curvature.
    w: f64,
    /// The Hessian: (0, 0), (0, 1), (1, 1).
    h: [f64; 3],
    /// Points here.
    here: f64,
}

impl Sums {
    fn add(&mut self, o: &Sums) {
        self.f += o.f;
        self.w += o.w;
        self.here += o.here;
        (0..2).for_each(|i| self.r[i] += o.r[i]);
        (0..3).for_each(|i| self.h[i] += o.h[i]);
    }

    fn include(&mut self, at: &Place, p: Point) {
        let (d, near) = offset(at.x, p);
        let square = dot(d, d);
        let chord = square.sqrt();
        let angle = angle_of(chord, near);
        self.f += angle;
        if chord <= SAME {
            self.here += if near { 1.0 } else { 0.0 };
            return;
        }
        // d and the tangent x (x.p) - p have the same part across x.
        let (t, s) = (dot(d, at.e), dot(d, at.g));
        let inverse = 1.0 / (t * t + s * s).sqrt();
        let (u, v) = (t * inverse, s * inverse);
        let cosine = if near { 1.0 - 0.5 * square } else { 0.5 * square - 1.0 };
        let cotangent = cosine * inverse;
        self.r[0] += u;
        self.r[1] += v;
        self.w += 1.0 / angle;
        self.h[0] += cotangent * v * v;
        self.h[1] -= cotangent * u * v;
        self.h[2] += cotangent * u * u;
    }
}

/// A place and two unit vectors that span its tangent plane.
#[derive(Debug, Clone, Copy)]
struct Place {
    x: Point,
    e: Point,
    g: Point,
}

impl Place {
    fn new(x: Point) -> Place {
        let [a, b, c] = x.map(f64::abs);
        let e = if a <= b && a <= c {
            [0.0, -x[2], x[1]]
        } else if b <= c {
            [x[2], 0.0, -x[0]]
        } else {
            [-x[1], x[0], 0.0]
        };
        let e = normal(e);
        let cross = |i: usize, j: usize| x[i] * e[j] - x[j] * e[i];
        Place { x, e, g: [cross(1, 2), cross(2, 0), cross(0, 1)] }
    }

    /// Along the great circle that begins with the tangent `s`.
    fn moved(&self, s: [f64; 2]) -> Place {
        let length = (s[0] * s[0] + s[1] * s[1]).sqrt();
        let (sine, cosine) = length.sin_cos();
        let (by, to) = (sine / length, |i: usize| s[0] * self.e[i] + s[1] * self.g[i]);
        let y = |i: usize| cosine * self.x[i] + by * to(i);
        Place::new(normal([y(0), y(1), y(2)]))
    }

    fn pass(&self, points: &[Point]) -> Sums {
        let block = |points: &[Point]| {
            let mut sums = Sums::default();
            points.iter().for_each(|p| sums.include(self, *p));
            sums
        };
        let mut total = Sums::default();
        if points.len() < PARALLEL {
            points.chunks(BLOCK).for_each(|part| total.add(&block(part)));
        } else {
            let parts: Vec<Sums> = points.par_chunks(BLOCK).map(block).collect();
            parts.iter().for_each(|part| total.add(part));
        }
        total
    }
}

/// The next step: a tangent, what it promises to save, and whether it is Newton's.
struct Step {
    s: [f64; 2],
    saves: f64,
    newton: bool,
}

/// `None` where the place is least.
fn next_step(sums: &Sums, newton: bool) -> Option<Step> {
    let r = sums.r;
    let length = (r[0] * r[0] + r[1] * r[1]).sqrt();
    if length <= sums.here || length == 0.0 {
        return None;
    }
    let newton = newton && sums.here == 0.0;
    let s = if newton {
        newtons(sums)
    } else {
        let by = (1.0 - sums.here / length) / sums.w;
        [by * r[0], by * r[1]]
    };
    let long = (s[0] * s[0] + s[1] * s[1]).sqrt();
    let s = if long > LONGEST { [s[0] / long, s[1] / long] } else { s };
    Some(Step { s, saves: 0.5 * (s[0] * r[0] + s[1] * r[1]), newton })
}

/// Newton's step, downhill also where the sum bends the other way: curvatures then count by their size.
fn newtons(sums: &Sums) -> [f64; 2] {
    let (r, [a, b, c]) = (sums.r, sums.h);
    let determinant = a * c - b * b;
    if a > 0.0 && determinant > 0.0 {
        return [(c * r[0] - b * r[1]) / determinant, (a * r[1] - b * r[0]) / determinant];
    }
    let (middle, half) = (0.5 * (a + c), 0.5 * (a - c));
    let radius = (half * half + b * b).sqrt();
    let floor = FLATTEST * sums.w;
    let size = |curvature: f64| curvature.abs().max(floor);
    // The direction of the larger curvature, from the row of the matrix that does not cancel.
    let (x, y) = if half >= 0.0 { (half + radius, b) } else { (b, radius - half) };
    let length = (x * x + y * y).sqrt();
    let (x, y) = if length > 0.0 { (x / length, y / length) } else { (1.0, 0.0) };
    let along = (x * r[0] + y * r[1]) / size(middle + radius);
    let across = (x * r[1] - y * r[0]) / size(middle - radius);
    [x * along - y * across, y * along + x * across]
}

/// Goes downhill from `start`: the place and its sum. Adds the passes to `count`.
fn descend(points: &[Point], start: Point, effort: Effort, count: &mut u64) -> (Point, f64) {
    let mut at = Place::new(start);
    let mut here = at.pass(points);
    let (mut left, mut newton) = (effort.passes, true);
    *count += 1;
    let mut try_at = |place: Place, left: &mut u32| {
        *left -= 1;
        *count += 1;
        let sums = place.pass(points);
        (place, sums)
    };
    while left > 0 {
        let Some(step) = next_step(&here, newton) else { break };
        if step.saves <= effort.tolerance * here.f {
            break;
        }
        let (place, sums) = try_at(at.moved(step.s), &mut left);
        if sums.f < here.f {
            (at, here, newton) = (place, sums, true);
            continue;
        }
        if !step.newton {
            break; // Weiszfeld's step never raises the sum: this is rounding.
        }
        // Newton does not see the kinks at the points: the nearest may be lower.
        newton = false;
        if left > 0
            && let Some(nearest) = nearest(points, at.x)
        {
            let (place, sums) = try_at(Place::new(nearest), &mut left);
            if sums.f <= here.f {
                (at, here, newton) = (place, sums, true);
                continue;
            }
        }
        for part in [0.25, 0.0625] {
            if left == 0 {
                break;
            }
            let (place, sums) = try_at(at.moved([part * step.s[0], part * step.s[1]]), &mut left);
            if sums.f < here.f {
                (at, here, newton) = (place, sums, true);
                break;
            }
        }
    }
    (at.x, here.f)
}

/// The nearest point that is not here already, the first of several; by squared chords.
fn nearest(points: &[Point], x: Point) -> Option<Point> {
    let mut best = (f64::INFINITY, None);
    for p in points {
        let d = [p[0] - x[0], p[1] - x[1], p[2] - x[2]];
        let square = dot(d, d);
        if square < best.0 && square > SAME * SAME {
            best = (square, Some(*p));
        }
    }
    best.1
}

/// The spatial median of at least one point, and the passes that it took.
pub(crate) fn median(points: &[Point], effort: Effort) -> (Point, u64) {
    match points {
        [one] => return (*one, 0),
        [one, two] => {
            let sum = [one[0] + two[0], one[1] + two[1], one[2] + two[2]];
            let antipodal = dot(sum, sum).sqrt() <= SAME;
            return (if antipodal { *one } else { normal(sum) }, 0);
        }
        _ => {}
    }
    let mut passes = 0;
    let mut best: Option<(Point, f64)> = None;
    for start in starts(points) {
        let found = descend(points, start, effort, &mut passes);
        if best.is_none_or(|best| found.1 < best.1) {
            best = Some(found);
        }
    }
    (best.map_or(points[0], |best| best.0), passes)
}

/// Where descents start, best first: points, their antipodes (whose sums are known with theirs) and the
/// mean direction, by their sums over a sample; ties in that order.
fn starts(points: &[Point]) -> Vec<Point> {
    let k = points.len();
    let (candidates, sample) = (k.min(CANDIDATES), k.min(SAMPLE));
    let sum = |x: Point| {
        let mut sum = 0.0;
        (0..sample).for_each(|i| sum += angle(x, points[i * k / sample]));
        sum
    };
    let mut listed: Vec<(f64, Point)> = Vec::with_capacity(2 * candidates + 1);
    for j in 0..candidates {
        let x = points[j * k / candidates];
        let f = sum(x);
        listed.push((f, x));
        listed.push((PI * sample as f64 - f, scaled(x, -1.0)));
    }
    let mean = mean(points);
    let length = dot(mean, mean).sqrt();
    if length > 1e-9 * k as f64 {
        let x = scaled(mean, 1.0 / length);
        listed.push((sum(x), x));
    }
    let most = if k > MANY { FEW_STARTS } else { STARTS };
    let mut found: Vec<Point> = Vec::with_capacity(most);
    let mut limit = f64::INFINITY;
    while found.len() < most {
        let mut best: Option<(f64, Point)> = None;
        for &(f, x) in &listed {
            if best.is_none_or(|best| f < best.0) && found.iter().all(|s| dot(*s, x) < APART) {
                best = Some((f, x));
            }
        }
        let Some((f, x)) = best.filter(|best| best.0 <= limit) else { break };
        limit = limit.min(f + WORSE * sample as f64);
        found.push(x);
    }
    found
}

/// The sum of the points, by blocks.
fn mean(points: &[Point]) -> Point {
    let mut total = [0.0; 3];
    for block in points.chunks(BLOCK) {
        let mut sum = [0.0; 3];
        block.iter().for_each(|p| (0..3).for_each(|i| sum[i] += p[i]));
        (0..3).for_each(|i| total[i] += sum[i]);
    }
    total
}

#[cfg(test)]
#[path = "median_tests.rs"]
mod tests;
