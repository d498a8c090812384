//! Points of a curve: every curve has a shape and a dash of its own, so that colour is not needed.

use super::ink::Ink;
use super::scene::Shape;

/// Dashes of curve `i`.
pub(crate) fn dash(i: usize) -> &'static [f32] {
    const DASHES: [&[f32]; 4] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[8.0, 3.0, 2.0, 3.0]];
    DASHES[(i / 2 + i % 2) % DASHES.len()]
}

/// The marker of curve `i` around a place.
pub(crate) fn marker(i: usize, x: f32, y: f32) -> Vec<Shape> {
    let ink = Ink::Series(i);
    let area = |corners: &[(f32, f32)]| {
        let points = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        vec![Shape::Area { points, ink }]
    };
    match i % 8 {
        0 => vec![Shape::Disc { x, y, radius: 3.6, ink }],
        1 => area(&[(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)]),
        2 => area(&[(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)]),
        3 => area(&[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]),
        4 => area(&[(0.0, 4.4), (4.2, -3.2), (-4.2, -3.2)]),
        5 => vec![
            Shape::Disc { x, y, radius: 4.2, ink },
            Shape::Disc { x, y, radius: 2.2, ink: Ink::Ground },
        ],
        6 => cross(x, y, ink, true),
        _ => cross(x, y, ink, false),
    }
}

fn cross(x: f32, y: f32, ink: Ink, upright: bool) -> Vec<Shape> {
    let (a, b) = if upright { (4.4, 0.0) } else { (3.4, 3.4) };
    let line = |from: (f32, f32), to: (f32, f32)| Shape::Line {
        points: vec![(x + from.0, y + from.1), (x + to.0, y + to.1)],
        ink,
        width: 2.0,
        dash: &[],
    };
    vec![line((-a, -b), (a, b)), line((b, -a), (-b, a))]
}
