//! Checks geolocation: the wave of each node, and that its place is a spatial median.
//!
//! **Waves.** Given nodes have wave 0. Every other node has 1 + the least wave of its out-neighbours, or
//! `u32::MAX` where that is beyond the last wave or no neighbour has a place. If this holds at each
//! node, then each wave is right: from a node of a finite wave a chain of falling waves leads to a given node, so the wave is
//! not too low; and along a shortest chain the rule keeps it from being too high or missing. One pass over
//! the arcs checks it.
//!
//! **Places.** A node of wave i has a place of least summed great-circle distance to those out-neighbours
//! whose waves are below i, at their places in the same answer. So each node is checked by itself:
//! with one neighbour or two by the closed form, with more in two ways.
//!
//! 1. The place of every node with three neighbours or more must be a local minimum of its sum, to within the tolerance. One
//!    pass over the neighbours gives slope and curvature of the sum there. A neighbour's own place is a
//!    minimum if the pull of the others is at most the number of neighbours at that place. Where slope and
//!    curvature do not decide, a descent from the place must not gain more than the tolerance.
//! 2. As many of them as [`WORK`] distances allow are compared with [`spatial_median`], the least sum on the
//!    globe: half of the work on nodes with at most [`FEW`] neighbours, the
//!    rest on the others, each in the order of a hash of the node. [`GeoCheck::checked`] says how many were compared.
//!
//! A sum on a globe has several local minima, and no method is certain to find the least: one median in [`RARE`] may be
//! another local minimum, at most a share of [`ELSEWHERE`] above, as long as all sums together keep the tolerance.

mod globe;
mod gpu;
mod median;

pub use globe::{ErrorKm, error_km, great_circle_km};
pub use median::spatial_median;

use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId};
use globe::{Direction, RADIUS_KM, angle, direction, dot, place, unit};
use median::{HERE, frame};
use rayon::prelude::*;
use std::cell::Cell;
use std::time::Instant;

/// The wave of a node that has no place.
const NEVER: u32 = u32::MAX;
/// About how many distances the oracle may compute.
const WORK: u64 = 400_000_000;
/// Nodes with at most this many located neighbours go first.
const FEW: u64 = 8;
/// One in so many medians of three neighbours and more may be another local minimum of the sum.
const RARE: u64 = 500;
/// The share by which the sum there may exceed the least sum.
const ELSEWHERE: f64 = 0.01;
/// Nodes that the oracle is asked about before its work is counted.
const BATCH: usize = 1024;
/// Located neighbours that are held at once.
const TOGETHER: u64 = 1 << 22;
/// Most nodes that are put in order for the oracle.
const MOST: u64 = 1 << 21;
/// How far a place with a closed form may be off.
const OFF_KM: f64 = 1e-6;
/// What rounding adds to the distance from one neighbour, in radians: a micrometre.
const ROUNDING: f64 = 1e-9 / RADIUS_KM;
/// A minimum farther away than this, in radians, is not looked for: 318 km.
const REACH: f64 = 0.05;

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct GeoCheck {
    /// Nodes whose place was given.
    pub given: u64,
    /// Nodes that were located, without the given ones.
    pub located: u64,
    /// The last wave that located a node.
    pub waves: u32,
    /// Located nodes that were compared with the least sum on the globe: all with one or two neighbours, and of
    /// the others as many as the work allows. The rest are at local minima of their sums. The answer is certified if
    /// `checked` equals `located`.
    pub checked: u64,
    /// Of the checked ones, nodes with three neighbours or more.
    pub medians: u64,
    /// Of the medians, nodes at another local minimum, above the least sum by more than the tolerance.
    pub elsewhere: u64,
    /// Summed distances of all medians, divided by the oracle's, minus 1.
    pub total_excess: f64,
    /// The largest summed distance of a median, divided by the oracle's, minus 1; below 0 where every answer is better.
    pub worst_excess: f64,
    /// Mean distance from a median to one of its neighbours, in km.
    pub mean_km: f64,
    /// Milliseconds that the check took.
    pub ms: f64,
}

/// Checks that `answer` and `wave` are what geolocation computes from `given`. Places are latitudes and longitudes in
/// degrees, `[n]` each, NaN where unknown. `wave` is `[n]`, 0 for a given node and `u32::MAX` for one without a
/// place. `waves` is the largest number of waves that was allowed, `None` without a limit. A summed distance
/// may be (1 + `tolerance`) times the oracle's, and so may all together. One median in 500 may be at another local minimum,
/// up to 1 % above; these are counted. Nodes that the oracle is not asked about are at local minima;
/// [`GeoCheck::checked`] and [`GeoCheck::located`] differ then.
///
/// Takes some passes over the arcs, the oracle's work, which is bounded, and 24 bytes a node, in parallel. Which nodes
/// the oracle is asked about does not change from call to call.
///
/// # Errors
///
/// [`Error::Verify`] names a wrong node by the input's id, the lowest one of its kind of fault and batch,
/// its wave, and for a place both sums. [`Error::Input`] when `given` is not `[n]` or no place on Earth.
pub fn geo(
    graph: &Graph,
    given: [&[f64]; 2],
    answer: [&[f64]; 2],
    wave: &[u32],
    waves: Option<u32>,
    tolerance: f64,
) -> Result<GeoCheck> {
    check(graph, given, answer, wave, (waves, tolerance), WORK)
}

/// The same, with `work` distances for the oracle.
fn check(
    graph: &Graph,
    given: [&[f64]; 2],
    answer: [&[f64]; 2],
    wave: &[u32],
    (waves, tolerance): (Option<u32>, f64),
    work: u64,
) -> Result<GeoCheck> {
    let begin = Instant::now();
    check_lengths(graph, given, answer, wave)?;
    let limit = waves.unwrap_or(NEVER - 1);
    let mut check = Check { graph, given, answer, wave, limit, tolerance, at: Vec::new() };
    check.given_are_places()?;
    check.first(|v| check.wrong_wave(v))?;
    check.first(|v| check.wrong_place(v))?;
    let n = graph.nodes();
    check.at = (0..n).into_par_iter().map(|v| direction([answer[0][v], answer[1][v]])).collect();
    check.first(|v| check.wrong_closed_form(v))?;
    check.first(|v| check.no_minimum(v))?;
    let mut seen = check.totals();
    let nodes = check.asked(&seen);
    check.medians(&mut seen, work, nodes, |batch| {
        check.search(batch, |part| {
            Ok(part.par_iter().map(|one| check.earlier(one.node as usize).collect()).collect())
        })
    })?;
    seen.ms = begin.elapsed().as_secs_f64() * 1e3;
    Ok(seen)
}

fn check_lengths(
    graph: &Graph,
    given: [&[f64]; 2],
    answer: [&[f64]; 2],
    wave: &[u32],
) -> Result<()> {
    let n = graph.nodes();
    let lengths =
        [("latitudes", answer[0].len()), ("longitudes", answer[1].len()), ("waves", wave.len())];
    for (what, length) in [("latitudes", given[0].len()), ("longitudes", given[1].len())] {
        if length != n {
            return Err(Error::input(format!(
                "cannot check geolocation from {length} given {what}: the graph has {n} nodes"
            )));
        }
    }
    match lengths.into_iter().find(|(_, length)| *length != n) {
        None => Ok(()),
        Some((what, length)) => Err(Error::Verify(format!(
            "geolocation: the answer holds {length} {what}, but the graph has {n} nodes"
        ))),
    }
}

/// What the oracle finds at a node.
#[derive(Clone, Copy)]
struct Oracle {
    /// Summed distance at the answer's place, radians.
    sum: f64,
    /// The least summed distance, and where it is.
    least: f64,
    median: Direction,
    /// Distances that were computed.
    work: u64,
}

/// What there is to say of one node.
#[derive(Clone, Default)]
struct Asked {
    excess: f64,
    km: f64,
    least_km: f64,
    neighbors: u64,
    work: u64,
    /// What there is to say of a place that is another local minimum.
    elsewhere: Option<Error>,
}

/// A node that the oracle may be asked about, in the order in which it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Asking {
    /// It has more than [`FEW`] located neighbours.
    many: bool,
    hash: u64,
    node: u32,
    /// Arcs to its located neighbours.
    neighbors: u64,
}

impl Asking {
    fn new(node: u32, neighbors: u64) -> Asking {
        Asking { many: neighbors > FEW, hash: hash(node), node, neighbors }
    }
}

/// Stretches of `nodes` that have at most [`TOGETHER`] neighbours, or are one node.
fn stretches(nodes: &[Asking]) -> impl Iterator<Item = &[Asking]> {
    let mut rest = nodes;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fits = |one: &&Asking| {
            sum += one.neighbors;
            sum <= TOGETHER
        };
        let length = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (stretch, others) = rest.split_at(length);
        rest = others;
        (length > 0).then_some(stretch)
    })
}

/// The hashes up to which nodes are put in order for the oracle.
fn share(seen: &GeoCheck) -> u64 {
    let due = seen.located - seen.checked;
    if due <= MOST { u64::MAX } else { (u64::MAX / due).saturating_mul(MOST) }
}

/// What is being checked.
struct Check<'a> {
    graph: &'a Graph,
    given: [&'a [f64]; 2],
    answer: [&'a [f64]; 2],
    wave: &'a [u32],
    /// The last wave that may locate a node.
    limit: u32,
    tolerance: f64,
    /// `[n]` directions of the answer, once all of them are places; none where a GPU has them.
    at: Vec<Direction>,
}

impl Check<'_> {
    /// The input's own id of a node.
    fn id(&self, v: usize) -> NodeId<'_> {
        self.graph.id(v as u32)
    }

    fn wrong(&self, v: usize, what: String) -> Error {
        Error::Verify(format!("geolocation, node {}: {what}", self.id(v)))
    }

    /// The fault of the first node that has one.
    fn first(&self, fault: impl Fn(usize) -> Option<Error> + Sync + Send) -> Result<()> {
        (0..self.graph.nodes()).into_par_iter().find_map_first(fault).map_or(Ok(()), Err)
    }

    fn is_given(&self, v: usize) -> bool {
        !self.given[0][v].is_nan() && !self.given[1][v].is_nan()
    }

    fn given_are_places(&self) -> Result<()> {
        self.first(|v| {
            let (lat, lon) = (self.given[0][v], self.given[1][v]);
            let fine = !self.is_given(v) || (lat.abs() <= 90.0 && lon.is_finite());
            (!fine).then(|| {
                let id = self.id(v);
                Error::input(format!("node {id} is given at {lat}, {lon}: no place on Earth"))
            })
        })
    }

    /// The out-neighbour of the least wave, the first of several.
    fn earliest(&self, v: usize) -> Option<usize> {
        let others = self.graph.neighbors(v).map(|(u, _)| u as usize).filter(|&u| u != v);
        others.min_by_key(|&u| self.wave[u]).filter(|&u| self.wave[u] != NEVER)
    }

    fn wrong_wave(&self, v: usize) -> Option<Error> {
        let found = self.wave[v];
        let (right, why) = if self.is_given(v) {
            (0, "its location is given".to_string())
        } else {
            match self.earliest(v) {
                None => (NEVER, "no neighbour of it is located".to_string()),
                Some(u) => {
                    let near = self.wave[u];
                    let right = if near < self.limit { near + 1 } else { NEVER };
                    if found == right {
                        return None;
                    }
                    let beyond = format!(", and {} waves were allowed", self.limit);
                    let beyond = if right == NEVER { &beyond } else { "" };
                    (right, format!("its neighbour {} is of wave {near}{beyond}", self.id(u)))
                }
            }
        };
        let say = |wave| match wave {
            NEVER => "not located".to_string(),
            wave => format!("of wave {wave}"),
        };
        let claim = || format!("it is {}, but belongs {}: {why}", say(found), say(right));
        (found != right).then(|| self.wrong(v, claim()))
    }

    fn wrong_place(&self, v: usize) -> Option<Error> {
        let (lat, lon, wave) = (self.answer[0][v], self.answer[1][v], self.wave[v]);
        if wave == NEVER {
            let fine = lat.is_nan() && lon.is_nan();
            return (!fine).then(|| {
                self.wrong(v, format!("it is not located, but stands at {lat}, {lon}, not at NaN"))
            });
        }
        if !(lat.abs() <= 90.0 && lon.abs() <= 180.0) {
            let what = format!("{lat}, {lon} is not a latitude and a longitude in degrees");
            return Some(self.wrong(v, format!("of wave {wave}: {what}")));
        }
        let given = [self.given[0][v], self.given[1][v]];
        // -180 and 180 are the same meridian.
        let [east, found] = [given[1], lon].map(normalized);
        let moved = wave == 0 && !(lat == given[0] && found == east);
        moved.then(|| {
            let from = format!("{}, {}", given[0], given[1]);
            self.wrong(v, format!("its location was given, {from}, and became {lat}, {lon}"))
        })
    }

    /// The places of the neighbours that `v` was located by, one for each arc.
    fn earlier(&self, v: usize) -> impl Iterator<Item = Direction> + '_ {
        let before = move |u: &usize| self.wave[*u] < self.wave[v];
        self.graph.neighbors(v).map(|(u, _)| u as usize).filter(before).map(|u| self.at[u])
    }

    fn is_located(&self, v: usize) -> bool {
        !matches!(self.wave[v], 0 | NEVER)
    }

    /// The fault of a node with one neighbour or two.
    fn wrong_closed_form(&self, v: usize) -> Option<Error> {
        if !self.is_located(v) {
            return None;
        }
        let mut earlier = self.earlier(v);
        let (a, second, third) = (earlier.next()?, earlier.next(), earlier.next());
        let (found, wave) = (self.at[v], self.wave[v]);
        let (b, what) = match (second, third) {
            (None, _) => (a, "the location of its one neighbour"),
            (Some(b), None) => (b, "the midpoint of its two neighbours"),
            (_, Some(_)) => return None,
        };
        let sum = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        // Near antipodes the midpoint is ill-conditioned: its error is rounding / |a + b|.
        let length = dot(sum, sum).sqrt();
        let off_by = OFF_KM + 4e-15 * RADIUS_KM / length;
        if let Some(middle) = unit(sum) {
            let off = angle(found, middle) * RADIUS_KM;
            let [lat, lon] = place(middle);
            return (off > off_by).then(|| {
                self.wrong(v, format!("of wave {wave}: it is {off} km from {lat}, {lon}, {what}"))
            });
        }
        // Antipodes: every point is of least sum.
        None
    }

    /// The fault of a node with three neighbours or more that is not at a local minimum.
    fn no_minimum(&self, v: usize) -> Option<Error> {
        if !self.is_located(v) || self.earlier(v).nth(2).is_none() {
            return None;
        }
        if Slope::at(self.at[v], self.earlier(v)).is_minimum(self.tolerance) {
            return None;
        }
        self.descends(v, self.earlier(v).collect())
    }

    /// The direction of an answer's place.
    fn direction(&self, v: usize) -> Direction {
        direction([self.answer[0][v], self.answer[1][v]])
    }

    /// The fault of a node from which a descent gains more than the tolerance. Its located neighbours are `near`.
    fn descends(&self, v: usize, near: Vec<Direction>) -> Option<Error> {
        let (found, tolerance) = (self.direction(v), self.tolerance);
        let slope = Slope::at(found, near.iter().copied());
        let (k, wave) = (near.len(), self.wave[v]);
        let (lower, sum) = median::descent(near, found);
        if slope.sum <= sum * (1.0 + tolerance) + k as f64 * ROUNDING {
            return None;
        }
        let [lat, lon] = place(lower);
        let what = format!("its {k} located neighbours are {} km away", slope.sum * RADIUS_KM);
        let best = format!("{} km from {lat}, {lon}, down the slope", sum * RADIUS_KM);
        Some(self.wrong(v, format!("of wave {wave}: {what} in all, but {best}")))
    }

    /// Counts of nodes; of checked ones those that have closed forms.
    fn totals(&self) -> GeoCheck {
        let count = |v: usize| {
            let located = self.is_located(v);
            let closed = located && self.earlier(v).nth(2).is_none();
            [u64::from(self.wave[v] == 0), u64::from(located), u64::from(closed)]
        };
        let add = |a: [u64; 3], b: [u64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        let nodes = (0..self.graph.nodes()).into_par_iter();
        let [given, located, checked] = nodes.map(count).reduce(|| [0; 3], add);
        let last = self.wave.par_iter().copied().filter(|&wave| wave != NEVER).max();
        GeoCheck { given, located, checked, waves: last.unwrap_or(0), ..GeoCheck::default() }
    }

    /// The nodes that the oracle may be asked about.
    fn asked(&self, seen: &GeoCheck) -> Vec<Asking> {
        let share = share(seen);
        let asked = |v: u32| {
            let count = self.earlier(v as usize).count() as u64;
            let due = self.is_located(v as usize) && count > 2 && hash(v) <= share;
            due.then(|| Asking::new(v, count))
        };
        (0..self.graph.nodes() as u32).into_par_iter().filter_map(asked).collect()
    }

    /// Asks the `oracle` about `nodes` with three neighbours or more, in the order of their hashes.
    fn medians(
        &self,
        seen: &mut GeoCheck,
        most: u64,
        mut nodes: Vec<Asking>,
        oracle: impl Fn(&[Asking]) -> Result<Vec<Oracle>>,
    ) -> Result<()> {
        nodes.par_sort_unstable();
        let (few, many) = nodes.split_at(nodes.partition_point(|one| !one.many));
        let (mut all, mut worst, mut work) = (Asked::default(), f64::NEG_INFINITY, 0);
        for (class, bound) in [(few, most / 2), (many, most)] {
            for batch in class.chunks(BATCH) {
                if work >= bound {
                    break;
                }
                for one in self.judged(batch, &oracle(batch)?)? {
                    worst = worst.max(one.excess);
                    work += one.work;
                    all.km += one.km;
                    all.least_km += one.least_km;
                    all.neighbors += one.neighbors;
                    seen.medians += 1;
                    if let Some(error) = one.elsewhere {
                        seen.elsewhere += 1;
                        all.elsewhere.get_or_insert(error);
                    }
                }
            }
        }
        let total = all.km / all.least_km - 1.0;
        let many = seen.elsewhere * RARE > seen.medians || total > self.tolerance;
        if let Some(error) = all.elsewhere.filter(|_| many) {
            return Err(error);
        }
        if seen.medians > 0 {
            seen.checked += seen.medians;
            seen.worst_excess = worst;
            seen.total_excess = total;
            seen.mean_km = all.km / all.neighbors as f64;
        }
        Ok(())
    }

    /// Looks for the least sum of each of `nodes` on the host; `near` brings the located neighbours of some of them.
    fn search(
        &self,
        nodes: &[Asking],
        near: impl Fn(&[Asking]) -> Result<Vec<Vec<Direction>>>,
    ) -> Result<Vec<Oracle>> {
        let search = |(one, near): (&Asking, Vec<Direction>)| {
            let here = self.direction(one.node as usize);
            let work = Cell::new(near.len() as u64);
            let sum = near.iter().map(|&p| angle(here, p)).sum();
            let (median, least) = median::search(near, &work);
            Oracle { sum, least, median, work: work.get() }
        };
        let mut found = Vec::new();
        for part in stretches(nodes) {
            found.par_extend(part.par_iter().zip(near(part)?).with_max_len(1).map(search));
        }
        Ok(found)
    }

    /// What is to be said of nodes, given what the oracle found; the fault of the lowest one that has one.
    fn judged(&self, nodes: &[Asking], found: &[Oracle]) -> Result<Vec<Asked>> {
        let judged: Vec<_> = nodes
            .iter()
            .zip(found)
            .map(|(one, found)| (one.node, self.judge(*one, found)))
            .collect();
        let lowest = judged.iter().filter(|(_, one)| one.is_err()).min_by_key(|(v, _)| *v);
        if let Some((_, Err(error))) = lowest {
            return Err(error.clone());
        }
        Ok(judged.into_iter().filter_map(|(_, one)| one.ok()).collect())
    }

    fn judge(&self, one: Asking, oracle: &Oracle) -> Result<Asked> {
        let (v, k) = (one.node as usize, one.neighbors);
        let Oracle { sum: found, least, median, work } = *oracle;
        let wave = self.wave[v];
        let floor = k as f64 * ROUNDING;
        let mut elsewhere = None;
        if found > least * (1.0 + self.tolerance) + floor {
            let [lat, lon] = place(median);
            let what = format!("its {k} located neighbours are {} km away", found * RADIUS_KM);
            let best = format!("{} km from {lat}, {lon}", least * RADIUS_KM);
            let error = self.wrong(v, format!("of wave {wave}: {what} in all, but {best}"));
            if found > least * (1.0 + ELSEWHERE) + floor {
                return Err(error);
            }
            elsewhere = Some(error);
        }
        let excess = if found <= least + floor && found >= least - floor {
            0.0
        } else {
            found / least - 1.0
        };
        let (km, least_km) = (found * RADIUS_KM, least * RADIUS_KM);
        Ok(Asked { excess, km, least_km, neighbors: k, work, elsewhere })
    }
}

/// The summed distance at a place, with its slope and curvature.
#[derive(Default)]
struct Slope {
    /// Summed distance, radians.
    sum: f64,
    /// All neighbours.
    count: f64,
    /// Neighbours at the same place.
    here: f64,
    /// Whether one is at the antipode, which makes the sum concave.
    opposite: bool,
    /// The pull of the others: the sum of unit vectors towards them, on two axes.
    pull: [f64; 2],
    /// The second derivatives: along the first axis, mixed, along the second.
    bend: [f64; 3],
}

impl Slope {
    fn at(x: Direction, neighbors: impl Iterator<Item = Direction>) -> Slope {
        let axes = frame(x);
        let mut slope = Slope::default();
        for p in neighbors {
            let far = angle(x, p);
            slope.sum += far;
            slope.count += 1.0;
            if far < HERE {
                slope.here += 1.0;
                continue;
            }
            let [u, v] = axes.map(|axis| dot(axis, p));
            let across = u.hypot(v);
            if across < HERE {
                slope.opposite = true;
                continue;
            }
            let (u, v, bend) = (u / across, v / across, dot(x, p) / across);
            slope.pull = [slope.pull[0] + u, slope.pull[1] + v];
            let [a, b, c] = slope.bend;
            slope.bend = [a + bend * v * v, b - bend * u * v, c + bend * u * u];
        }
        slope
    }

    /// Whether no sum within reach is lower by more than a share of `tolerance`. A convex sum falls by at most its slope
    /// times the distance; a concave one by half of its curvature times the squared
    /// distance more. No sum farther away than twice the mean distance is lower than here.
    fn is_minimum(&self, tolerance: f64) -> bool {
        let reach = REACH.min(2.0 * self.sum / self.count);
        let slope = (self.pull[0].hypot(self.pull[1]) - self.here).max(0.0);
        let [a, b, c] = self.bend;
        let least = (a + c) / 2.0 - ((a - c) / 2.0).hypot(b);
        let down = (-least).max(0.0);
        let falls = slope * reach + down * reach * reach / 2.0;
        !self.opposite && falls <= tolerance * self.sum + self.count * ROUNDING
    }
}

/// The same meridian in (-180, 180]. Exact, since remainder and difference are.
fn normalized(lon: f64) -> f64 {
    match lon % 360.0 {
        lon if lon > 180.0 => lon - 360.0,
        lon if lon <= -180.0 => lon + 360.0,
        lon => lon,
    }
}

/// Scrambles a node's index (splitmix64).
fn hash(v: u32) -> u64 {
    let mut z = (u64::from(v) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;
    use crate::hash::hash;

    #[test]
    fn a_place_moved_by_300_km_is_refused_where_the_oracle_is_not_asked() {
        // 60 nodes that are given, all over Europe, and 40 with 3 to 12 of them for neighbours.
        let share = |i: u64| (hash(3, i) >> 11) as f64 / (1u64 << 53) as f64;
        let places: Vec<[f64; 2]> = (0..60)
            .map(|i| [36.0 + 28.0 * share(2 * i), -10.0 + 40.0 * share(2 * i + 1)])
            .collect();
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        let mut answer: Vec<[f64; 2]> = places.clone();
        for v in 60..100u64 {
            let near: Vec<u64> = (0..3 + v % 10).map(|i| hash(v, i) % 60).collect();
            sources.extend(near.iter().map(|_| v as u32));
            targets.extend(near.iter().map(|u| *u as u32));
            let near: Vec<[f64; 2]> = near.iter().map(|u| places[*u as usize]).collect();
            answer.push(spatial_median(&near).0);
        }
        let graph = Graph::from_arcs(100, &sources, &targets, None, Origin::default()).unwrap();
        let wave: Vec<u32> = (0..100).map(|v| u32::from(v >= 60)).collect();
        let column = |places: &[[f64; 2]], i: usize| -> Vec<f64> {
            places.iter().map(|place| place[i]).chain([f64::NAN; 100]).take(100).collect()
        };
        let given = [column(&places, 0), column(&places, 1)];
        let check = |answer: &[[f64; 2]], work| {
            let answer = [column(answer, 0), column(answer, 1)];
            let [given, answer] =
                [&given, &answer].map(|[north, east]| [north.as_slice(), east.as_slice()]);
            check(&graph, given, answer, &wave, (None, 1e-6), work)
        };
        let seen = check(&answer, 0).unwrap();
        assert_eq!((seen.checked, seen.located), (0, 40));
        let seen = check(&answer, WORK).unwrap();
        assert_eq!((seen.checked, seen.located), (40, 40));
        for v in 60..100 {
            for degrees in [2.698, -2.698, 0.5] {
                let mut moved = answer.clone();
                moved[v][0] += degrees;
                let error = check(&moved, 0).unwrap_err().to_string();
                assert!(error.contains(&format!("node {v}: of wave 1")), "{error}");
                assert!(error.contains("down the slope"), "{error}");
            }
        }
    }
}
