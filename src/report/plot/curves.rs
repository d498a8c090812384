//! Speed-up and efficiency over the number of replicas.

use super::axis::{Axis, powers, round, spaced};
use super::frame::{EDGE, Sample, TEXT, WIDTH, legend, title};
use super::ink::Ink;
use super::marker::{dash, marker};
use super::scene::{Anchor, Scene, Shape};
use super::words::width;

/// What is plotted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Times as fast; ideal is the diagonal.
    SpeedUp,
    /// Of 1; ideal is 1.
    Efficiency,
}

/// A measured point.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub n: u64,
    pub value: f64,
    /// What perfect scaling would give.
    pub ideal: f64,
    pub tip: String,
}

/// One line of a plot.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub label: String,
    /// By `n`.
    pub points: Vec<Point>,
}

/// Height of the field in which curves are.
const HEIGHT: f32 = 210.0;
/// Least room for the numbers at the left.
const LEFT: f32 = 48.0;

/// At most [`super::MOST_CURVES`] curves over the number of `noun` (GPUs or replicas). `None` where no curve has a
/// point.
pub(crate) fn curves(name: &str, measure: Measure, noun: &str, lines: &[Curve]) -> Option<Scene> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let mut numbers: Vec<u64> = points().map(|point| point.n).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let mut scene = Scene::new(WIDTH, name, describe(measure, noun, lines));
    let top = title(&mut scene) + 8.0;
    let ticks = ticks(measure, points());
    let names = ticks.iter().map(|tick| width(&tick_name(measure, *tick), TEXT));
    let left = names.fold(LEFT - 10.0, f32::max) + 10.0;
    let x = Axis {
        log: true,
        values: (first as f64, last as f64),
        pixels: (left + 12.0, WIDTH - EDGE - 12.0),
    };
    let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
    let log = measure == Measure::SpeedUp;
    let y = Axis { log, values: (low, high), pixels: (top + HEIGHT, top) };
    scaffold(&mut scene, measure, &y, (left, &ticks));
    for n in spaced(&numbers, &x, 22.0) {
        let place = x.at(n as f64);
        scene.rule((place, top + HEIGHT), (place, top + HEIGHT + 4.0), Ink::Axis, &[]);
        scene.text((place, top + HEIGHT + 17.0), TEXT, Anchor::Middle, Ink::Muted, n.to_string());
    }
    let below = top + HEIGHT + 33.0;
    let middle = (x.pixels.0 + x.pixels.1) / 2.0;
    scene.text((middle, below), TEXT, Anchor::Middle, Ink::Muted, noun);
    ideal(&mut scene, measure, &x, &y, points());
    for (i, line) in lines.iter().enumerate() {
        draw(&mut scene, i, line, &x, &y);
    }
    scene.height = key(&mut scene, lines, below + 6.0);
    Some(scene)
}

fn ticks<'a>(measure: Measure, points: impl Iterator<Item = &'a Point> + Clone) -> Vec<f64> {
    let values = points.clone().map(|point| point.value);
    match measure {
        Measure::SpeedUp => {
            let all = values.chain(points.map(|point| point.ideal)).chain([1.0]);
            let (least, most) = all.fold((f64::MAX, 0.0f64), |(l, m), v| (l.min(v), m.max(v)));
            powers(least, most)
        }
        Measure::Efficiency => round(values.fold(1.0, f64::max)),
    }
}

fn tick_name(measure: Measure, tick: f64) -> String {
    match measure {
        Measure::SpeedUp => format!("{}×", super::strips::part(tick)),
        Measure::Efficiency => format!("{:.0} %", 100.0 * tick),
    }
}

/// Lines to read values by, the frame, and what is measured.
fn scaffold(scene: &mut Scene, measure: Measure, y: &Axis, (left, ticks): (f32, &[f64])) {
    for tick in ticks {
        let place = y.at(*tick);
        scene.rule((left, place), (WIDTH - EDGE, place), Ink::Grid, &[]);
        let text = tick_name(measure, *tick);
        scene.text((left - 6.0, place + 4.0), TEXT, Anchor::End, Ink::Muted, text);
    }
    scene.rule((left, y.pixels.0), (WIDTH - EDGE, y.pixels.0), Ink::Axis, &[]);
}

/// The dashed line of perfect scaling, from the fewest to the most.
fn ideal<'a>(
    scene: &mut Scene,
    measure: Measure,
    x: &Axis,
    y: &Axis,
    points: impl Iterator<Item = &'a Point>,
) {
    let (first, last) = x.values;
    let line = match measure {
        Measure::SpeedUp => {
            // The best of what several starts allow.
            let most = points.map(|point| point.ideal).fold(1.0, f64::max);
            vec![(x.at(first), y.at(most / (last / first))), (x.at(last), y.at(most))]
        }
        Measure::Efficiency => vec![(x.pixels.0 - 12.0, y.at(1.0)), (WIDTH - EDGE, y.at(1.0))],
    };
    scene.add(Shape::Line { points: line, ink: Ink::Ideal, width: 1.5, dash: &[4.0, 4.0] });
}

fn draw(scene: &mut Scene, i: usize, line: &Curve, x: &Axis, y: &Axis) {
    let at = |point: &Point| (x.at(point.n as f64), y.at(point.value));
    let places: Vec<(f32, f32)> = line.points.iter().map(at).collect();
    if places.len() > 1 {
        scene.add(Shape::Line {
            points: places.clone(),
            ink: Ink::Series(i),
            width: 2.0,
            dash: dash(i),
        });
    }
    for (point, (px, py)) in line.points.iter().zip(places) {
        scene.tipped(point.tip.clone(), marker(i, px, py));
    }
}

fn key(scene: &mut Scene, lines: &[Curve], y: f32) -> f32 {
    let sample = |i: usize| {
        move |x: f32, y: f32| {
            let points = vec![(x - 13.0, y), (x + 13.0, y)];
            let mut shapes =
                vec![Shape::Line { points, ink: Ink::Series(i), width: 2.0, dash: dash(i) }];
            shapes.extend(marker(i, x, y));
            shapes
        }
    };
    let perfect = |x: f32, y: f32| {
        let points = vec![(x - 13.0, y), (x + 13.0, y)];
        vec![Shape::Line { points, ink: Ink::Ideal, width: 1.5, dash: &[4.0, 4.0] }]
    };
    let samples: Vec<_> = (0..lines.len()).map(sample).collect();
    let mut entries: Vec<(String, Sample<'_>)> =
        lines.iter().zip(&samples).map(|(line, s)| (line.label.clone(), s as Sample<'_>)).collect();
    entries.push(("ideal".into(), &perfect));
    legend(scene, &entries, y)
}

fn describe(measure: Measure, noun: &str, lines: &[Curve]) -> String {
    let what = if measure == Measure::SpeedUp { "Speed-up" } else { "Efficiency" };
    let ends = lines.iter().filter_map(|line| {
        let last = line.points.last()?;
        let value = match measure {
            Measure::SpeedUp => format!("{:.2} times", last.value),
            Measure::Efficiency => format!("{:.0} %", 100.0 * last.value),
        };
        Some(format!("{}: {value} on {}", line.label, last.n))
    });
    format!("{what} by number of {noun}. {}.", ends.collect::<Vec<_>>().join("; "))
}
