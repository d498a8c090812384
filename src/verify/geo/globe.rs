//! Places on a spherical Earth: directions, distances, and how far an answer is from the truth.
//!
//! Distances are atan2(|a x b|, a . b) of unit vectors in f64. Their absolute error is about 1e-16 of the
//! radius at any distance, near antipodes, too, where an arccosine or the haversine loses half of the digits.

use rayon::prelude::*;

/// Kilometres in a radian: the mean radius of the Earth (IUGG R1).
pub(super) const RADIUS_KM: f64 = 6371.0088;

/// A unit vector: x to (0, 0), y to (0, 90 east), z to the north pole.
pub(super) type Direction = [f64; 3];

/// The direction of a latitude and longitude in degrees.
pub(super) fn direction([lat, lon]: [f64; 2]) -> Direction {
    let (lat_sin, lat_cos) = lat.to_radians().sin_cos();
    let (lon_sin, lon_cos) = lon.to_radians().sin_cos();
    [lat_cos * lon_cos, lat_cos * lon_sin, lat_sin]
}

/// Latitude and longitude in degrees; the longitude of a pole is 0 or 180.
pub(super) fn place([x, y, z]: Direction) -> [f64; 2] {
    [z.atan2(x.hypot(y)).to_degrees(), y.atan2(x).to_degrees()]
}

pub(super) fn dot(a: Direction, b: Direction) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The angle between two directions, 0 to pi.
pub(super) fn angle(a: Direction, b: Direction) -> f64 {
    let x = a[1] * b[2] - a[2] * b[1];
    let y = a[2] * b[0] - a[0] * b[2];
    let z = a[0] * b[1] - a[1] * b[0];
    (x * x + y * y + z * z).sqrt().atan2(dot(a, b))
}

/// `a` as a direction; `None` where it is too short to have one.
pub(super) fn unit(a: Direction) -> Option<Direction> {
    let length = dot(a, a).sqrt();
    (length > 1e-12).then(|| a.map(|x| x / length))
}

/// The distance in km of two places in degrees, along a great circle of the mean Earth (6371.0088 km).
/// NaN where a coordinate is.
pub fn great_circle_km(lat1: f64, lon1: f64, lat2: f64, lon2: f64) -> f64 {
    angle(direction([lat1, lon1]), direction([lat2, lon2])) * RADIUS_KM
}

/// Distances of an answer from the truth, in km.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ErrorKm {
    /// The middle error, or the mean of the two middle ones.
    pub median: f64,
    /// The smallest error that at least 90 % of the nodes do not exceed.
    pub p90: f64,
    /// The mean error.
    pub mean: f64,
    /// The largest error.
    pub max: f64,
    /// Nodes asked for that have a truth and an answer.
    pub count: u64,
    /// Nodes asked for that have a truth, but no answer.
    pub missing: u64,
}

/// Great-circle errors of `answer` at the nodes that are `asked` for. `truth` and `answer` are latitudes and longitudes in
/// degrees, `[n]` each, NaN where unknown. `None` when no such node has both. Nodes beyond the end of the shortest
/// array are left out.
pub fn error_km(
    truth: [&[f64]; 2],
    answer: [&[f64]; 2],
    asked: impl Fn(usize) -> bool + Sync,
) -> Option<ErrorKm> {
    let n = [truth, answer].as_flattened().iter().map(|a| a.len()).min()?;
    let known = |at: [&[f64]; 2], v: usize| at[0][v].is_finite() && at[1][v].is_finite();
    let due = |v: &usize| asked(*v) && known(truth, *v);
    let asked_for = (0..n).into_par_iter().filter(due).count();
    let distance = |v| great_circle_km(truth[0][v], truth[1][v], answer[0][v], answer[1][v]);
    let mut errors: Vec<f64> =
        (0..n).into_par_iter().filter(|v| due(v) && known(answer, *v)).map(distance).collect();
    errors.par_sort_unstable_by(f64::total_cmp);
    let count = errors.len();
    Some(ErrorKm {
        max: *errors.last()?,
        median: (errors[(count - 1) / 2] + errors[count / 2]) / 2.0,
        p90: errors[(9 * count).div_ceil(10) - 1],
        mean: errors.iter().sum::<f64>() / count as f64,
        count: count as u64,
        missing: (asked_for - count) as u64,
    })
}
