//! Ratios of times: a dot a cell, a row a workload, a stroke for the geometric mean.

use super::axis::{Axis, powers};
use super::frame::{EDGE, Sample, TEXT, WIDTH, legend, title};
use super::ink::Ink;
use super::marker::marker;
use super::scene::{Anchor, Scene, Shape};
use super::words::{fitted, width};
use crate::results::geometric_mean;

/// One ratio.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    /// Which of the plot's values it is of.
    pub series: usize,
    pub ratio: f64,
    pub tip: String,
}

/// A row of ratios.
#[derive(Debug, Clone)]
pub(crate) struct Strip {
    pub label: String,
    pub dots: Vec<Dot>,
}

/// Height for one value in a row.
const LANE: f32 = 15.0;

/// Rows of ratios around 1; `series` names the values, `left_is` and `right_is` the sides.
pub(crate) fn strips(
    name: &str,
    series: &[String],
    sides: (&str, &str),
    rows: &[Strip],
) -> Option<Scene> {
    let ratios = || rows.iter().flat_map(|row| &row.dots).map(|dot| dot.ratio);
    ratios().next()?;
    let (least, most) =
        ratios().fold((0.8f64, 1.25f64), |(l, m), ratio| (l.min(ratio), m.max(ratio)));
    let mut scene = Scene::new(WIDTH, name, describe(series, rows));
    let top = title(&mut scene) + 20.0;
    let widest = rows.iter().map(|row| width(&row.label, TEXT)).fold(0.0, f32::max).min(150.0);
    let left = EDGE + widest + 10.0;
    let (ticks, edges) = around_one(least, most);
    let x = Axis { log: true, values: edges, pixels: (left + 6.0, WIDTH - EDGE - 10.0) };
    let high = LANE * series.len().max(1) as f32 + 7.0;
    let bottom = top + high * rows.len() as f32;
    scene.text(
        (x.at(1.0) - 7.0, top - 7.0),
        TEXT,
        Anchor::End,
        Ink::Muted,
        format!("← {}", sides.0),
    );
    scene.text(
        (x.at(1.0) + 7.0, top - 7.0),
        TEXT,
        Anchor::Start,
        Ink::Muted,
        format!("{} →", sides.1),
    );
    for tick in ticks {
        let place = x.at(tick);
        let ink = if tick == 1.0 { Ink::Axis } else { Ink::Grid };
        scene.rule((place, top - 4.0), (place, bottom), ink, &[]);
        scene.text(
            (place, bottom + 15.0),
            TEXT,
            Anchor::Middle,
            Ink::Muted,
            format!("{}×", part(tick)),
        );
    }
    for (place, row) in rows.iter().enumerate() {
        strip(&mut scene, row, &x, top + high * place as f32, (left, series.len(), high));
    }
    scene.height = key(&mut scene, series, bottom + 22.0);
    Some(scene)
}

fn strip(scene: &mut Scene, row: &Strip, x: &Axis, y: f32, (left, lanes, high): (f32, usize, f32)) {
    let label = fitted(&row.label, TEXT, left - EDGE - 10.0);
    scene.text((left - 10.0, y + high / 2.0 + 4.0), TEXT, Anchor::End, Ink::Text, label);
    scene.rule((left, y + high), (WIDTH - EDGE, y + high), Ink::Grid, &[]);
    for lane in 0..lanes.max(1) {
        let middle = y + 3.5 + LANE * (lane as f32 + 0.5);
        let mut ratios = Vec::new();
        for dot in row.dots.iter().filter(|dot| dot.series == lane) {
            ratios.push(dot.ratio);
            scene.tipped(dot.tip.clone(), marker(lane, x.at(dot.ratio), middle));
        }
        if let Some(mean) = geometric_mean(&ratios) {
            let place = x.at(mean);
            let points = vec![(place, middle - 7.5), (place, middle + 7.5)];
            let shape = Shape::Line { points, ink: Ink::Text, width: 2.0, dash: &[] };
            scene.tipped(
                format!("geometric mean of {}: {}×", ratios.len(), plain(mean)),
                vec![shape],
            );
        }
    }
}

/// Ticks with room between them, and the ends of the scale.
fn around_one(least: f64, most: f64) -> (Vec<f64>, (f64, f64)) {
    if most / least <= 3.5 {
        let fine = [0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0];
        let (low, high) = (least * 0.97, most * 1.03);
        let inside: Vec<f64> =
            fine.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        return (inside, (low, high));
    }
    let ticks = powers(least, most);
    let ends = (ticks[0], ticks[ticks.len() - 1]);
    (ticks, ends)
}

fn key(scene: &mut Scene, series: &[String], y: f32) -> f32 {
    let sample = |i: usize| move |x: f32, y: f32| marker(i, x, y);
    let mean = |x: f32, y: f32| {
        let points = vec![(x, y - 7.0), (x, y + 7.0)];
        vec![Shape::Line { points, ink: Ink::Text, width: 2.0, dash: &[] }]
    };
    let samples: Vec<_> = (0..series.len()).map(sample).collect();
    let mut entries: Vec<(String, Sample<'_>)> =
        series.iter().zip(&samples).map(|(name, s)| (name.clone(), s as Sample<'_>)).collect();
    entries.push(("geometric mean".into(), &mean));
    legend(scene, &entries, y)
}

/// A power of 2: `1/64`, `0.5`, `16`.
pub(crate) fn part(value: f64) -> String {
    if value < 0.2 { format!("1/{}", plain(1.0 / value)) } else { plain(value) }
}

/// `0.25`, `1`, `16`, `1.042`.
pub(crate) fn plain(value: f64) -> String {
    let digits = if value >= 10.0 {
        1
    } else if value >= 0.1 {
        3
    } else {
        5
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn describe(series: &[String], rows: &[Strip]) -> String {
    let mut lines = Vec::new();
    for row in rows {
        for (i, name) in series.iter().enumerate() {
            let ratios: Vec<f64> =
                row.dots.iter().filter(|d| d.series == i).map(|d| d.ratio).collect();
            if let Some(mean) = geometric_mean(&ratios) {
                lines.push(format!(
                    "{}, {name}: {} over {} cells",
                    row.label,
                    plain(mean),
                    ratios.len()
                ));
            }
        }
    }
    format!("Ratios of times, geometric means. {}.", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_narrow_range_are_inside_it() {
        let (ticks, (low, high)) = around_one(0.9, 1.3);
        assert!(ticks.contains(&1.0) && ticks.iter().all(|t| (low..=high).contains(t)));
    }

    #[test]
    fn ratios_are_written_plainly() {
        assert_eq!(
            [0.0156, 0.25, 1.0, 1.0417, 16.0].map(plain),
            ["0.0156", "0.25", "1", "1.042", "16"]
        );
    }
}
