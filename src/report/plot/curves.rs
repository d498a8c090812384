//! Speed-up and efficiency over the number of replicas.

use super::axis::{Axis, powers, round, spaced};
use super::ink::{AXIS, GRID, IDEAL, series};
use super::marker::{dash, marker};
use super::strips::part;
use super::svg::{EDGE, Plot, SIZE, WIDTH, line};
use super::words::width;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Times as fast; ideal is the diagonal.
    SpeedUp,
    /// Of 1; ideal is 1.
    Efficiency,
}

#[derive(Clone)]
pub(crate) struct Point {
    pub n: u64,
    pub speed_up: Option<f64>,
    pub efficiency: Option<f64>,
    /// What perfect scaling would give.
    pub ideal: f64,
    pub tip: String,
}

impl Point {
    fn value(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::SpeedUp => self.speed_up,
            Measure::Efficiency => self.efficiency,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Curve {
    pub label: String,
    /// By `n`.
    pub points: Vec<Point>,
}

const HEIGHT: f32 = 210.0;
/// Least room for the numbers at the left.
const LEFT: f32 = 38.0;

/// At most [`super::MOST_CURVES`] curves over the number of `noun` (GPUs or replicas). `None` where no curve has a
/// point.
pub(crate) fn curves(name: &str, measure: Measure, noun: &str, lines: &[Curve]) -> Option<Plot> {
    let measured = |point: &&Point| point.value(measure).is_some();
    let points = || lines.iter().flat_map(|line| &line.points).filter(measured);
    let mut numbers: Vec<u64> = points().map(|point| point.n).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let (first, last) = (*numbers.first()? as f64, *numbers.last()? as f64);
    let ideal = points().map(|point| point.ideal).fold(1.0, f64::max);
    let values = || points().filter_map(|point| point.value(measure));
    let log = measure == Measure::SpeedUp;
    let ticks = match measure {
        Measure::SpeedUp => {
            let all = || values().chain(points().map(|point| point.ideal)).chain([1.0]);
            powers(all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max))
        }
        Measure::Efficiency => round(values().fold(1.0, f64::max)),
    };
    let named = |tick: f64| match measure {
        Measure::SpeedUp => format!("{}×", part(tick)),
        Measure::Efficiency => format!("{:.0} %", 100.0 * tick),
    };
    let mut plot = Plot::new(name, describe(measure, noun, lines));
    let top = plot.height + 8.0;
    let bottom = top + HEIGHT;
    let left = ticks.iter().map(|tick| width(&named(*tick), SIZE)).fold(LEFT, f32::max) + 10.0;
    let (right, x_ends) = (WIDTH - EDGE, (left + 12.0, WIDTH - EDGE - 12.0));
    let x = Axis { log: true, values: (first, last), pixels: x_ends };
    let y = Axis { log, values: (ticks[0], ticks[ticks.len() - 1]), pixels: (bottom, top) };
    for tick in ticks {
        let place = y.at(tick);
        plot.rule((left, place), (right, place), GRID);
        plot.muted((left - 6.0, place + 4.0), "end", &named(tick));
    }
    plot.rule((left, bottom), (right, bottom), AXIS);
    for n in spaced(&numbers, &x, 22.0) {
        let place = x.at(n as f64);
        plot.rule((place, bottom), (place, bottom + 4.0), AXIS);
        plot.muted((place, bottom + 17.0), "middle", &n.to_string());
    }
    plot.muted(((x_ends.0 + x_ends.1) / 2.0, bottom + 33.0), "middle", noun);
    let perfect = match measure {
        // The best of what several starts allow.
        Measure::SpeedUp => {
            [(x.at(first), y.at(ideal / (last / first))), (x.at(last), y.at(ideal))]
        }
        Measure::Efficiency => [(left, y.at(1.0)), (right, y.at(1.0))],
    };
    plot.add(&line(&perfect, IDEAL, 1.5, "4 4"));
    for (i, curve) in lines.iter().enumerate() {
        let at = |point: &Point| Some((x.at(point.n as f64), y.at(point.value(measure)?)));
        let places: Vec<(f32, f32)> = curve.points.iter().filter_map(at).collect();
        if places.len() > 1 {
            plot.add(&line(&places, series(i), 2.0, dash(i)));
        }
        for (point, place) in curve.points.iter().filter(measured).zip(places) {
            plot.tipped(&point.tip, &marker(i, place));
        }
    }
    let stroke = |ink, width, dash| line(&[(-13.0, 0.0), (13.0, 0.0)], ink, width, dash);
    let entries = lines.iter().enumerate().map(|(i, curve)| {
        (curve.label.clone(), stroke(series(i), 2.0, dash(i)) + &marker(i, (0.0, 0.0)))
    });
    let ideal = [("ideal".to_string(), stroke(IDEAL, 1.5, "4 4"))];
    Some(plot.legend(bottom + 39.0, entries.chain(ideal)))
}

fn describe(measure: Measure, noun: &str, lines: &[Curve]) -> String {
    let what = if measure == Measure::SpeedUp { "Speed-up" } else { "Efficiency" };
    let ends = lines.iter().filter_map(|line| {
        let last = line.points.iter().rfind(|point| point.value(measure).is_some())?;
        let value = last.value(measure)?;
        let value = match measure {
            Measure::SpeedUp => format!("{value:.2} times"),
            Measure::Efficiency => format!("{:.0} %", 100.0 * value),
        };
        Some(format!("{}: {value} on {}", line.label, last.n))
    });
    format!("{what} by number of {noun}. {}.", ends.collect::<Vec<_>>().join("; "))
}
