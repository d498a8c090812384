//! The steps of geolocation on host threads, and the spatial median on a sphere: the solver of
//! `kernels/geo/geo_median.cuh`, step for step. The parent module tells its idea.

use super::plan::{Queue, State, StepResult};
use super::{NEVER, STRIDE};
use crate::device::kernels::geo_median::{
    AHEAD, APART, CANDIDATES, CUT, FEW_STARTS, FLATTEST, LONGEST, MANY, SAME, SAMPLE, SHORTEST,
    STARTS, THERE, WORSE,
};
use crate::graph::Graph;
use rayon::prelude::*;
use std::f64::consts::PI;
use std::ops::Range;

/// Nodes that one task counts, and that one solves.
const COUNTED: usize = 1024;
const SOLVED: usize = 16;

/// The state at the start of a run: given nodes are of wave 0, and no other node has a place.
pub(super) fn reset(s: &mut State, known: &[bool]) {
    let wave = s.wave.host_mut().unwrap_or_default();
    wave.iter_mut().zip(known).for_each(|(wave, known)| *wave = if *known { 0 } else { NEVER });
}

/// The nodes without a place that have located neighbours, in node order, with how many.
pub(super) fn count(graph: &Graph, s: &State, beat: &(dyn Fn() + Sync)) -> Queue {
    let (wave, n) = (s.wave.host().unwrap_or_default(), graph.nodes());
    let part = |first: usize| {
        beat();
        let nodes = (first..n.min(first + COUNTED)).filter(|v| wave[*v] == NEVER);
        nodes.filter_map(|v| {
            let located = graph.neighbors(v).filter(|(u, _)| wave[*u as usize] != NEVER).count();
            (located > 0).then_some((v as u32, located as u64))
        })
    };
    let firsts: Vec<usize> = (0..n).step_by(COUNTED).collect();
    let parts: Vec<Vec<(u32, u64)>> =
        firsts.into_par_iter().map(|first| part(first).collect()).collect();
    Queue::new(parts.concat())
}

/// Medians of the queue's entries `part`, into the same places of `found`.
pub(super) fn solve(
    graph: &Graph,
    s: &mut State,
    queue: &Queue,
    part: Range<u64>,
    effort: Effort,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    let wave = s.wave.host().unwrap_or_default();
    let position = s.position.host().unwrap_or_default();
    let found = s.found.host_mut().unwrap_or_default();
    let (first, last) = (part.start as usize, part.end as usize);
    let own = &mut found[3 * first..3 * last];
    let entries = &queue.entries[first..last];
    let task = |(slots, entries): (&mut [f64], &[(u32, u64)])| {
        beat();
        let mut points: Vec<Point> = Vec::new();
        let mut passes = 0;
        for (slot, (v, _)) in slots.chunks_mut(3).zip(entries) {
            points.clear();
            let located = graph.neighbors(*v as usize).map(|(u, _)| u as usize);
            let located = located.filter(|u| wave[*u] != NEVER).map(|u| u * STRIDE);
            points.extend(located.map(|at| [position[at], position[at + 1], position[at + 2]]));
            let (x, took) = median(&points, effort);
            slot.copy_from_slice(&x);
            passes += took;
        }
        passes
    };
    let tasks = own.par_chunks_mut(3 * SOLVED).zip(entries.par_chunks(SOLVED));
    StepResult { arcs: entries.iter().map(|(_, k)| k).sum(), passes: tasks.map(task).sum() }
}

/// Writes what was found for the whole queue to where the next wave looks for it.
pub(super) fn settle(s: &mut State, queue: &Queue, number: u32) {
    let State { position, wave, found } = s;
    let found = found.host().unwrap_or_default();
    let position = position.host_mut().unwrap_or_default();
    let wave = wave.host_mut().unwrap_or_default();
    for (x, (v, _)) in found.chunks(3).zip(&queue.entries) {
        let at = *v as usize * STRIDE;
        position[at..at + 3].copy_from_slice(x);
        wave[*v as usize] = number;
    }
}

/// A unit vector.
type Point = [f64; 3];

/// Points of a block, summed one after the other; the sums of blocks are added in their order.
const BLOCK: usize = 1024;
/// Points from which blocks are summed by several threads.
const PARALLEL: usize = 1 << 14;

/// When a descent stops.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Passes over the points in one descent, the first not counted.
    pub passes: u32,
    /// The share of the sum that the next step must promise to save.
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

/// The angle of a chord between points, or between a point and the antipode of the other.
fn angle_of(chord: f64, near: bool) -> f64 {
    let angle = 2.0 * (0.5 * chord).min(1.0).asin();
    if near { angle } else { PI - angle }
}

/// Great-circle distance in radians.
fn angle(x: Point, p: Point) -> f64 {
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
        let parts: Vec<Sums> = match points.len() < PARALLEL {
            true => points.chunks(BLOCK).map(block).collect(),
            false => points.par_chunks(BLOCK).map(block).collect(),
        };
        parts.iter().for_each(|part| total.add(part));
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

/// Newton's step with the absolute values of the Hessian's curvatures, so that it leads downhill where the sum is concave,
/// too; along each axis no longer than `reach`.
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

/// Descends from `start`: where it ends, and the sum there. Adds its passes to `count`. It ends early when it cannot end
/// below `best`, the end of an earlier descent, or comes to it.
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
        // Derivatives do not show the kinks at the points: the sum at the nearest may be lower.
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

/// Whether a descent that has come to `at` is given up for `best`: its sum is too far above at this slope, or it is where
/// the other ended.
fn is_lost(at: &Place, here: &Sums, best: (Point, f64)) -> bool {
    let slope = (here.r[0] * here.r[0] + here.r[1] * here.r[1]).sqrt();
    let above = here.f - best.1;
    above > AHEAD * slope + here.here || (above >= 0.0 && dot(at.x, best.0) > THERE)
}

/// The nearest point that does not stand here already, the first of several; by squared chords.
fn nearest(points: &[Point], x: Point) -> Option<Point> {
    let square = |p: &Point| {
        let d = [p[0] - x[0], p[1] - x[1], p[2] - x[2]];
        dot(d, d)
    };
    let others = points.iter().map(|p| (square(p), *p)).filter(|(square, _)| *square > SAME * SAME);
    others.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, p)| p)
}

/// The spatial median of at least one point, and the passes that it took.
fn median(points: &[Point], effort: Effort) -> (Point, u64) {
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
        best = Some(best.filter(|best| best.1 <= found.1).unwrap_or(found));
    }
    (best.map_or(points[0], |best| best.0), passes)
}

/// Where descents start, best first: points, their antipodes (whose sums follow from theirs) and the
/// mean direction, by their sums over a sample, of equal ones the first.
fn starts(points: &[Point]) -> Vec<Point> {
    let k = points.len();
    let (candidates, sample) = (k.min(CANDIDATES as usize), k.min(SAMPLE as usize));
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
    let mut found: Vec<Point> = Vec::with_capacity(STARTS as usize);
    if length > 1e-9 * k as f64 {
        let x = scaled(mean, 1.0 / length);
        if k > MANY as usize {
            found.push(x);
        } else {
            listed.push((sum(x), x));
        }
    }
    let most = if k > MANY as usize { FEW_STARTS } else { STARTS };
    let mut limit = f64::INFINITY;
    while found.len() < most as usize {
        let apart = |(_, x): &&(f64, Point)| found.iter().all(|s| dot(*s, *x) < APART);
        let best = listed.iter().filter(apart).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(f, x)) = best.filter(|best| best.0 <= limit) else { break };
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
mod tests {
    use super::*;
    use crate::hash::{hash, mix};

    const EFFORT: Effort = Effort { passes: 1000, tolerance: 1e-12 };

    fn place(latitude: f64, longitude: f64) -> Point {
        let (a, b) = (latitude.to_radians(), longitude.to_radians());
        [a.cos() * b.cos(), a.cos() * b.sin(), a.sin()]
    }

    fn random(seed: u64, i: u64) -> Point {
        let unit = |which| (hash(mix(seed), 3 * i + which) >> 11) as f64 / (1u64 << 53) as f64;
        let z = 2.0 * unit(0) - 1.0;
        let (sine, cosine) = (2.0 * PI * unit(1)).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cosine, r * sine, z]
    }

    fn sum(points: &[Point], x: Point) -> f64 {
        points.iter().map(|p| angle(x, *p)).sum()
    }

    fn found(points: &[Point]) -> Point {
        let (x, _) = median(points, EFFORT);
        assert!((dot(x, x) - 1.0).abs() < 1e-14);
        x
    }

    #[test]
    fn distances_are_right_near_and_far() {
        assert_eq!(angle(place(0.0, 10.0), place(0.0, 10.0)), 0.0);
        assert!((angle(place(0.0, -90.0), place(0.0, 90.0)) - PI).abs() < 1e-15);
        for tiny in [1e-3, 1e-8, 1e-12] {
            let (a, b) = (place(0.0, 0.0), place(0.0, tiny));
            assert!((angle(a, b) / f64::to_radians(tiny) - 1.0).abs() < 1e-12, "{tiny}");
        }
    }

    #[test]
    fn three_points_meet_at_120_degrees_or_at_the_widest_corner() {
        // A small equilateral triangle around the pole: its centre.
        let x = found(&[place(89.0, 0.0), place(89.0, 120.0), place(89.0, 240.0)]);
        assert!(angle(x, [0.0, 0.0, 1.0]) < 1e-7, "{x:?}");
        // An angle beyond 120 degrees: that corner, to the bit.
        let corner = place(0.1, 0.0);
        assert_eq!(found(&[place(0.0, -5.0), corner, place(0.0, 5.0)]), corner);
    }

    #[test]
    fn a_point_with_half_of_the_multiplicity_is_the_median() {
        let (home, far) = (place(50.0, 10.0), [place(-20.0, 30.0), place(10.0, 200.0)]);
        assert_eq!(found(&[home, far[0], home, far[1]]), home);
        assert_eq!(found(&[home; 7]), home);
    }

    #[test]
    fn four_points_in_convex_position_meet_where_the_diagonals_cross() {
        let points =
            [place(1.0, 179.0), place(1.0, -179.0), place(-1.0, -179.0), place(-1.0, 179.0)];
        assert!(angle(found(&points), place(0.0, 180.0)) < 1e-6);
    }

    #[test]
    fn no_place_of_many_is_better_than_what_is_found() {
        for k in [3usize, 4, 5, 9, 20, 33, 100, 700] {
            for seed in 0..12 {
                let points: Vec<Point> = (0..k as u64).map(|i| random(seed, i)).collect();
                let least = sum(&points, found(&points));
                let others = (0..2000).map(|i| random(seed + 99, i)).chain(points.iter().copied());
                let other = others.map(|x| sum(&points, x)).fold(f64::INFINITY, f64::min);
                assert!(least <= other * (1.0 + 1e-9), "{k} points, seed {seed}: {least} {other}");
            }
        }
    }

    #[test]
    fn a_few_dozen_passes_are_enough() {
        for k in [3usize, 8, 30, 64, 1000] {
            let points: Vec<Point> = (0..k as u64).map(|i| random(7, i)).collect();
            let passes = median(&points, EFFORT).1;
            assert!(passes <= 120, "{k} points took {passes} passes");
        }
    }

    #[test]
    fn fewer_passes_are_made_where_fewer_are_allowed() {
        let points: Vec<Point> = (0..50).map(|i| random(3, i)).collect();
        let (x, passes) = median(&points, Effort { passes: 1, tolerance: 0.0 });
        assert!(passes <= 2 * u64::from(STARTS));
        assert!(sum(&points, x) >= sum(&points, found(&points)));
    }
}
