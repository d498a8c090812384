//! Points of a curve: every curve has a shape and a dash of its own, so that colour is not needed.

use super::ink::{GROUND, series};
use super::svg::{area, disc, line};

/// The dash of curve `i`.
pub(super) fn dash(i: usize) -> &'static str {
    ["none", "7 3", "2 2.5", "8 3 2 3"][(i / 2 + i % 2) % 4]
}

/// The marker of curve `i` around a place.
pub(super) fn marker(i: usize, (x, y): (f32, f32)) -> String {
    let ink = series(i);
    let area = |corners: &[(f32, f32)]| {
        let corners: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        area(&corners, ink)
    };
    let cross = |a: f32, b: f32| {
        let stroke =
            |dx: f32, dy: f32| line(&[(x - dx, y - dy), (x + dx, y + dy)], ink, 2.0, "none");
        stroke(a, b) + &stroke(-b, a)
    };
    match i % 8 {
        0 => disc((x, y), 3.6, ink),
        1 => area(&[(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)]),
        2 => area(&[(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)]),
        3 => area(&[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]),
        4 => area(&[(0.0, 4.4), (4.2, -3.2), (-4.2, -3.2)]),
        5 => disc((x, y), 4.2, ink) + &disc((x, y), 2.2, GROUND),
        6 => cross(4.4, 0.0),
        _ => cross(3.4, 3.4),
    }
}
