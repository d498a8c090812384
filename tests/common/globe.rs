//! Places on the globe.

use super::hash;
use hivegraph::verify::great_circle_km;

/// Latitude and longitude, degrees.
pub type Place = [f64; 2];

/// Kilometres in a radian.
pub const RADIUS_KM: f64 = 6371.0088;

/// Great-circle distance.
pub fn km(a: Place, b: Place) -> f64 {
    great_circle_km(a[0], a[1], b[0], b[1])
}

/// Summed distance from `x`, radians.
pub fn sum(x: Place, points: &[Place]) -> f64 {
    points.iter().map(|&p| km(x, p)).sum::<f64>() / RADIUS_KM
}

/// A number in [0, 1).
pub fn fraction(seed: u64, index: u64) -> f64 {
    (hash(seed, index) >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform over the globe.
pub fn anywhere(seed: u64, index: u64) -> Place {
    let z = 2.0 * fraction(seed, 2 * index) - 1.0;
    [z.asin().to_degrees(), 360.0 * fraction(seed, 2 * index + 1) - 180.0]
}

/// The unit vector.
pub fn vector([lat, lon]: Place) -> [f64; 3] {
    let (lat, lon) = (lat.to_radians(), lon.to_radians());
    [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
}

/// Where a vector points.
pub fn place([x, y, z]: [f64; 3]) -> Place {
    [z.atan2(x.hypot(y)).to_degrees(), y.atan2(x).to_degrees()]
}

/// The middle of the geodesic.
pub fn midpoint(a: Place, b: Place) -> Place {
    let (a, b) = (vector(a), vector(b));
    place([a[0] + b[0], a[1] + b[1], a[2] + b[2]])
}
