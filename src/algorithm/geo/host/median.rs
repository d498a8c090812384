//! The spatial median on a sphere: the point of least summed great-circle distance to given ones. The
//! solver of `kernels/geo_median.cuh`, step for step; `algorithm/geo.rs` tells its idea.

use rayon::prelude::*;
use std::f64::consts::PI;

/// A unit vector.
pub(crate) type Point = [f64; 3];

/// Points that are candidates, at most.
pub(crate) const CANDIDATES: usize = 32;
/// Points over which candidates' sums are taken, at most.
pub(crate) const SAMPLE: usize = 4096;
/// Starts of a descent, at most. More than [`MANY`] points have [`FEW_STARTS`]: the mean direction, since a sample
/// of so many ranks no candidates, and the best of the others.
pub(crate) const STARTS: usize = 8;
pub(crate) const FEW_STARTS: usize = 2;
pub(crate) const MANY: usize = 4096;
/// Starts lie this far apart: the cosine of 0.2 radians.
const APART: f64 = 0.980_066_577_841_241_6;
/// A start is at most this much worse than the best one, radians a point.
const WORSE: f64 = 0.35;
/// Points nearer than this coincide, and so do a point and another's antipode.
const SAME: f64 = 1e-12;
/// No step is longer, radians.
const LONGEST: f64 = 0.3;
/// Newton's steps that fail are cut to this share; when none is longer than `SHORTEST`, Weiszfeld's is taken.
const CUT: f64 = 0.125;
const SHORTEST: f64 = 1e-7;
/// Curvatures below this share of a point's count as this.
const FLATTEST: f64 = 1e-9;
/// A descent that is this near to where a better one ended ends there too: the cosine of 0.05 radians.
const THERE: f64 = 0.998_75;
/// A descent goes on where it would be the best if the sum kept falling as it does for this far, radians.
const AHEAD: f64 = 0.7;
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
    /// All points.
    points: f64,
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
        let mut total = Sums { points: points.len() as f64, ..Sums::default() };
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

/// `None` where the place is least. Newton's step reaches no farther than `reach`; 0 asks for Weiszfeld's.
fn next_step(sums: &Sums, reach: f64) -> Option<Step> {
    let r = sums.r;
    let length = (r[0] * r[0] + r[1] * r[1]).sqrt();
    if length <= sums.here || length == 0.0 {
        return None;
    }
    let newton = reach > 0.0 && sums.here == 0.0;
    let s = if newton {
        newtons(sums, reach)
    } else {
        let by = ((1.0 - sums.here / length) / sums.w).min(LONGEST / length);
        [by * r[0], by * r[1]]
    };
    Some(Step { s, saves: 0.5 * (s[0] * r[0] + s[1] * r[1]), newton })
}

/// Newton's step, downhill also where the sum bends the other way: along each of the two axes of the Hessian,
/// curvatures count by their size, and no step is longer than `reach`.
fn newtons(sums: &Sums, reach: f64) -> [f64; 2] {
    let (r, [a, b, c]) = (sums.r, sums.h);
    let (middle, half) = (0.5 * (a + c), 0.5 * (a - c));
    let radius = (half * half + b * b).sqrt();
    // The direction of the larger curvature, from the row of the matrix that does not cancel.
    let (x, y) = if half >= 0.0 { (half + radius, b) } else { (b, radius - half) };
    let length = (x * x + y * y).sqrt();
    let (x, y) = if length > 0.0 { (x / length, y / length) } else { (1.0, 0.0) };
    let floor = FLATTEST * sums.points;
    let step =
        |slope: f64, curvature: f64| (slope / curvature.abs().max(floor)).max(-reach).min(reach);
    let along = step(x * r[0] + y * r[1], middle + radius);
    let across = step(x * r[1] - y * r[0], middle - radius);
    [x * along - y * across, y * along + x * across]
}

/// Goes downhill from `start`: the place and its sum. Adds the passes to `count`. Ends early where it cannot end
/// below `best`, an earlier descent's, or comes to it.
fn descend(
    points: &[Point],
    start: Point,
    effort: Effort,
    best: Option<(Point, f64)>,
    count: &mut u64,
) -> (Point, f64) {
    let mut at = Place::new(start);
    let mut here = at.pass(points);
    *count += 1;
    let (mut left, mut reach, mut looked) = (effort.passes, LONGEST, false);
    while left > 0 {
        if best.is_some_and(|best| is_lost(&at, &here, best)) {
            break;
        }
        let Some(step) = next_step(&here, reach) else { break };
        if step.saves <= effort.tolerance * here.f {
            break;
        }
        let long = step.s[0].hypot(step.s[1]);
        let next = at.moved(step.s);
        let sums = next.pass(points);
        *count += 1;
        left -= 1;
        if sums.f < here.f {
            (at, here, looked) = (next, sums, false);
            reach = if step.newton { reach.max(2.0 * long) } else { 2.0 * long };
            reach = reach.min(LONGEST);
            continue;
        }
        if !step.newton {
            break; // Weiszfeld's step never raises the sum: this is rounding.
        }
        reach = CUT * long;
        if reach < SHORTEST {
            reach = 0.0;
        }
        // Newton does not see the kinks at the points: the nearest may be lower.
        if !looked
            && left > 0
            && let Some(nearest) = nearest(points, at.x)
        {
            let next = Place::new(nearest);
            let sums = next.pass(points);
            *count += 1;
            left -= 1;
            if sums.f <= here.f {
                (at, here, looked, reach) = (next, sums, false, LONGEST);
                continue;
            }
        }
        looked = true;
    }
    (at.x, here.f)
}

/// Whether a descent that is at `at` would not end below `best`: at this slope it is too far above, or
/// it is where the other ended.
fn is_lost(at: &Place, here: &Sums, best: (Point, f64)) -> bool {
    let slope = (here.r[0] * here.r[0] + here.r[1] * here.r[1]).sqrt();
    let above = here.f - best.1;
    above > AHEAD * slope + here.here || (above >= 0.0 && dot(at.x, best.0) > THERE)
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
        let found = descend(points, start, effort, best, &mut passes);
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
    let mut found: Vec<Point> = Vec::with_capacity(STARTS);
    if length > 1e-9 * k as f64 {
        let x = scaled(mean, 1.0 / length);
        if k > MANY {
            found.push(x);
        } else {
            listed.push((sum(x), x));
        }
    }
    let most = if k > MANY { FEW_STARTS } else { STARTS };
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
