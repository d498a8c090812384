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
    let points = [place(1.0, 179.0), place(1.0, -179.0), place(-1.0, -179.0), place(-1.0, 179.0)];
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
