//! The oracle of geolocation finds the median, wherever the points lie.

use crate::common::*;
use hivegraph::verify::{great_circle_km, spatial_median};
use proptest::prelude::*;

/// The median is at `expected`, and the sum is the sum there.
fn median_is(points: &[Place], expected: Place) {
    let (found, least) = spatial_median(points);
    assert!(km(found, expected) < 1e-3, "{points:?}: {found:?}, not {expected:?}");
    assert!((least - sum(expected, points)).abs() <= 1e-11 * least + 1e-15, "{points:?}: {least}");
    assert!((least - sum(found, points)).abs() <= 1e-11 * least + 1e-15, "{points:?}: {least}");
}

#[test]
fn distances_are_right_for_neighbours_and_for_antipodes() {
    let quarter = RADIUS_KM * std::f64::consts::FRAC_PI_2;
    assert!((great_circle_km(0.0, 0.0, 0.0, 90.0) - quarter).abs() < 1e-9);
    assert!((great_circle_km(90.0, 17.0, -90.0, -120.0) - 2.0 * quarter).abs() < 1e-9);
    // A microdegree from the same place and from the antipode.
    let near = 1e-6f64.to_radians() * RADIUS_KM;
    assert!((great_circle_km(10.0, 20.0, 10.000001, 20.0) - near).abs() < 1e-11);
    assert!((great_circle_km(10.0, 20.0, -10.000001, -160.0) + near - 2.0 * quarter).abs() < 1e-11);
    assert!(great_circle_km(5.0, 180.0, 5.0, -180.0) < 1e-11);
    // Paris to New York, by another formula (haversine).
    let (a, b) = ([48.8566f64, 2.3522f64], [40.7128f64, -74.0060f64]);
    let half = |x: f64, y: f64| ((y - x).to_radians() / 2.0).sin().powi(2);
    let cosines = a[0].to_radians().cos() * b[0].to_radians().cos();
    let h = half(a[0], b[0]) + cosines * half(a[1], b[1]);
    assert!((km(a, b) - 2.0 * RADIUS_KM * h.sqrt().asin()).abs() < 1e-8);
    assert!(great_circle_km(f64::NAN, 0.0, 0.0, 0.0).is_nan());
}

#[test]
fn known_medians_are_found() {
    // On a line, the middle one; with multiplicities, the weighted middle.
    median_is(&[[0.0, 1.0], [0.0, 7.0], [0.0, 2.0], [0.0, 50.0], [0.0, 3.0]], [0.0, 3.0]);
    median_is(&[[0.0, 0.0], [0.0, 10.0], [0.0, 10.0], [0.0, 10.0], [5.0, 3.0]], [0.0, 10.0]);
    // An equilateral triangle around a pole and around (0, 180), and four corners around it.
    median_is(&[[60.0, 0.0], [60.0, 120.0], [60.0, -120.0]], [90.0, 0.0]);
    median_is(&[[-89.0, 0.0], [-89.0, 90.0], [-89.0, 180.0], [-89.0, -90.0]], [-90.0, 0.0]);
    median_is(&[[3.0, 177.0], [-3.0, 177.0], [3.0, -177.0], [-3.0, -177.0]], [0.0, 180.0]);
    // A vertex with an angle over 120 degrees is the median.
    median_is(&[[0.0, 0.0], [2.0, 10.0], [2.0, -10.0]], [0.0, 0.0]);
    median_is(&[[0.0, 180.0], [0.02, -179.9], [0.02, 179.9]], [0.0, 180.0]);
    // All at one place.
    median_is(&[[12.0, 34.0]; 7], [12.0, 34.0]);
    median_is(&[[-90.0, 34.0]; 3], [-90.0, 0.0]);
}

#[test]
fn ties_have_the_least_sum_wherever_they_are() {
    let least = |points: &[Place], expected: f64| {
        let (found, least) = spatial_median(points);
        assert!((least - expected).abs() < 1e-12, "{points:?}: {least}, not {expected}");
        assert!((sum(found, points) - expected).abs() < 1e-12, "{points:?}: {found:?}");
    };
    use std::f64::consts::PI;
    least(&[[10.0, 20.0], [-10.0, -160.0]], PI);
    least(&[[90.0, 0.0], [-90.0, 0.0], [0.0, 5.0]], PI);
    // Two pairs of antipodes on the equator: every place has the same sum.
    least(&[[0.0, 0.0], [0.0, 90.0], [0.0, 180.0], [0.0, -90.0]], 2.0 * PI);
    least(&[[0.0, 0.0], [0.0, 40.0]], 40f64.to_radians());
    let (none, zero) = spatial_median(&[]);
    assert!(none[0].is_nan() && zero == 0.0);
}

/// The least sum by looking everywhere, then ever closer around the best places.
fn brute_force(points: &[Place]) -> f64 {
    let mut best: Vec<(f64, Place)> = points.iter().map(|&p| (sum(p, points), p)).collect();
    let steps = |n: i32| move |i: i32| f64::from(i) / f64::from(n);
    for i in (0..=90).map(steps(90)) {
        best.extend((0..180).map(steps(180)).map(|j| {
            let x = [180.0 * i - 90.0, 360.0 * j - 180.0];
            (sum(x, points), x)
        }));
    }
    let mut width = 4.0;
    while width > 1e-7 {
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        best.truncate(if width > 1.0 { 30 } else { 8 });
        for (_, [lat, lon]) in best.clone() {
            for (i, j) in (-3..=3).flat_map(|i| (-3..=3).map(move |j| (i, j))) {
                // Square cells even near the poles.
                let wider = 1.0 / lat.to_radians().cos().max(1e-3);
                let x = [lat + width * steps(3)(i), lon + width * wider * steps(3)(j)];
                best.push((sum(x, points), x));
            }
        }
        width *= 0.5;
    }
    best.iter().map(|b| b.0).fold(f64::INFINITY, f64::min)
}

#[test]
fn the_oracle_is_never_above_a_fine_grid_and_never_below_what_there_is() {
    for trial in 0..60 {
        let k = 3 + trial % 9;
        let centre = anywhere(1, trial);
        let points: Vec<Place> = (0..k)
            .map(|i| {
                let [far, near] = [anywhere(trial + 2, i), anywhere(trial + 100, i)];
                let city =
                    [(centre[0] + near[0] * 0.002).clamp(-90.0, 90.0), centre[1] + near[1] * 0.002];
                match trial % 3 {
                    0 => far,
                    1 => city,
                    _ if i % 4 == 0 => far,
                    _ => city,
                }
            })
            .collect();
        let ((found, least), brute) = (spatial_median(&points), brute_force(&points));
        assert!(least <= brute * (1.0 + 1e-10), "trial {trial}: {least} above {brute}: {points:?}");
        assert!((sum(found, &points) - least).abs() <= 1e-9 * least, "trial {trial}: {found:?}");
    }
}

#[test]
fn the_median_of_many_points_is_found_from_a_sample_and_a_heavy_point_is_seen() {
    let around = |i| [0, 1].map(|j| 10.0 + 4.0 * fraction(7 + j, i));
    let mut points: Vec<Place> = (0..3000)
        .flat_map(|i| {
            let [lat, lon] = around(i);
            [[lat, lon], [20.0 - lat, lon], [lat, 20.0 - lon], [20.0 - lat, 20.0 - lon]]
        })
        .collect();
    let (found, least) = spatial_median(&points);
    let around = |d: f64| {
        (0..8).map(move |i| (f64::from(i) * 0.8).sin_cos()).map(move |(s, c)| (d * s, d * c))
    };
    for d in [1e-3, 0.1, 3.0] {
        for (s, c) in around(d) {
            assert!(least <= sum([found[0] + s, found[1] + c], &points) * (1.0 + 1e-13), "{d}");
        }
    }
    points.extend([[11.0, 9.0]; 12_100]);
    median_is(&points, [11.0, 9.0]);
}

/// Turns a place by the angles of three turns, degrees, about z, x and z.
fn turned(at: Place, [a, b, c]: [f64; 3]) -> Place {
    let about = |v: [f64; 3], angle: f64, [i, j]: [usize; 2]| {
        let (sin, cos) = angle.to_radians().sin_cos();
        let mut turned = v;
        (turned[i], turned[j]) = (cos * v[i] - sin * v[j], sin * v[i] + cos * v[j]);
        turned
    };
    place(about(about(about(vector(at), a, [0, 1]), b, [1, 2]), c, [0, 1]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn turning_all_points_turns_the_median(
        points in prop::collection::vec((-40.0f64..40.0, -40.0f64..40.0), 3..12),
        turns in prop::array::uniform3(-180.0f64..180.0),
    ) {
        // Within 45 degrees of (0, 0), or nearly: the median is unique unless the points are on a line.
        let points: Vec<Place> = points.iter().map(|p| [p.0 * 0.75, p.1 * 0.75]).collect();
        let moved: Vec<Place> = points.iter().map(|&p| turned(p, turns)).collect();
        let ((x, least), (y, there)) = (spatial_median(&points), spatial_median(&moved));
        prop_assert!((least - there).abs() <= 1e-12 * least, "{least} and {there}");
        prop_assert!((sum(turned(x, turns), &moved) - there).abs() <= 1e-12 * there);
        prop_assert!((sum(y, &moved) - there).abs() <= 1e-12 * there);
    }

    #[test]
    fn the_order_of_points_and_a_meridian_written_otherwise_change_nothing(
        mut points in prop::collection::vec((-90i32..=90, -180i32..=180), 1..9),
    ) {
        let places = |p: &[(i32, i32)]| -> Vec<Place> {
            p.iter().map(|p| [f64::from(p.0), f64::from(p.1)]).collect()
        };
        let one = spatial_median(&places(&points));
        points.reverse();
        prop_assert_eq!(one, spatial_median(&places(&points)));
        let west: Vec<(i32, i32)> =
            points.iter().map(|p| (p.0, if p.1 == 180 { -180 } else { p.1 })).collect();
        prop_assert!((spatial_median(&places(&west)).1 - one.1).abs() <= 1e-12);
    }
}
