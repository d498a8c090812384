//! Ratios of times: a dot a cell, a row a workload, a stroke for the geometric mean.

use super::axis::{Axis, powers};
use super::ink::{AXIS, GRID, TEXT};
use super::marker::marker;
use super::svg::{EDGE, Plot, SIZE, WIDTH, line};
use super::words::{fitted, width};
use crate::results::geometric_mean;

#[derive(Clone)]
pub(crate) struct Dot {
    /// Which of the plot's values it is of.
    pub series: usize,
    pub ratio: f64,
    pub tip: String,
}

/// A row of ratios.
#[derive(Clone)]
pub(crate) struct Strip {
    pub label: String,
    pub dots: Vec<Dot>,
}

impl Strip {
    fn ratios(&self, series: usize) -> Vec<f64> {
        self.dots.iter().filter(|dot| dot.series == series).map(|dot| dot.ratio).collect()
    }
}

/// Height for one value in a row.
const LANE: f32 = 15.0;

/// Rows of ratios around 1; `series` names the values, `sides` what is left and right of 1.
pub(crate) fn strips(
    name: &str,
    series: &[String],
    sides: (&str, &str),
    rows: &[Strip],
) -> Option<Plot> {
    let ratios = || rows.iter().flat_map(|row| &row.dots).map(|dot| dot.ratio);
    ratios().next()?;
    let (ticks, ends) = around_one(ratios().fold(0.8, f64::min), ratios().fold(1.25, f64::max));
    let mut plot = Plot::new(name, describe(series, rows));
    let top = plot.height + 20.0;
    let widest = rows.iter().map(|row| width(&row.label, SIZE)).fold(0.0, f32::max).min(150.0);
    let left = EDGE + widest + 10.0;
    let x = Axis { log: true, values: ends, pixels: (left + 6.0, WIDTH - EDGE - 10.0) };
    let high = LANE * series.len() as f32 + 7.0;
    let bottom = top + high * rows.len() as f32;
    plot.muted((x.at(1.0) - 7.0, top - 7.0), "end", &format!("← {}", sides.0));
    plot.muted((x.at(1.0) + 7.0, top - 7.0), "start", &format!("{} →", sides.1));
    for tick in ticks {
        let place = x.at(tick);
        let ink = if tick == 1.0 { AXIS } else { GRID };
        plot.rule((place, top - 4.0), (place, bottom), ink);
        plot.muted((place, bottom + 15.0), "middle", &format!("{}×", part(tick)));
    }
    let mean_at = |x, y, long| line(&[(x, y - long), (x, y + long)], TEXT, 2.0, "none");
    for (place, row) in rows.iter().enumerate() {
        let y = top + high * place as f32;
        let label = fitted(&row.label, SIZE, left - EDGE - 10.0);
        plot.text((left - 10.0, y + high / 2.0 + 4.0), "end", TEXT, &label);
        plot.rule((left, y + high), (WIDTH - EDGE, y + high), GRID);
        for lane in 0..series.len() {
            let middle = y + 3.5 + LANE * (lane as f32 + 0.5);
            for dot in row.dots.iter().filter(|dot| dot.series == lane) {
                plot.tipped(&dot.tip, &marker(lane, (x.at(dot.ratio), middle)));
            }
            let ratios = row.ratios(lane);
            if let Some(mean) = geometric_mean(&ratios) {
                let tip = format!("geometric mean of {}: {}×", ratios.len(), plain(mean));
                plot.tipped(&tip, &mean_at(x.at(mean), middle, 7.5));
            }
        }
    }
    let entries = series.iter().enumerate().map(|(i, name)| (name.clone(), marker(i, (0.0, 0.0))));
    let mean = [("geometric mean".to_string(), mean_at(0.0, 0.0, 7.0))];
    Some(plot.legend(bottom + 22.0, entries.chain(mean)))
}

/// Ticks with room between them, and the ends of the scale.
fn around_one(least: f64, most: f64) -> (Vec<f64>, (f64, f64)) {
    if most / least <= 3.5 {
        let fine = [0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0];
        let (low, high) = (least * 0.97, most * 1.03);
        let inside = fine.into_iter().filter(|tick| (low..=high).contains(tick));
        return (inside.collect(), (low, high));
    }
    let ticks = powers(least, most);
    let ends = (ticks[0], ticks[ticks.len() - 1]);
    (ticks, ends)
}

/// A power of 2: `1/64`, `0.5`, `16`.
pub(super) fn part(value: f64) -> String {
    if value < 0.2 { format!("1/{}", plain(1.0 / value)) } else { plain(value) }
}

/// `0.25`, `1`, `16`, `1.042`.
pub(super) fn plain(value: f64) -> String {
    let digits = match value {
        10.0.. => 1,
        0.1.. => 3,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn describe(series: &[String], rows: &[Strip]) -> String {
    let mut lines = Vec::new();
    for row in rows {
        for (i, name) in series.iter().enumerate() {
            let ratios = row.ratios(i);
            if let Some(mean) = geometric_mean(&ratios) {
                let (mean, cells) = (plain(mean), ratios.len());
                lines.push(format!("{}, {name}: {mean} over {cells} cells", row.label));
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
        let written = [0.0156, 0.25, 1.0, 1.0417, 16.0].map(plain);
        assert_eq!(written, ["0.0156", "0.25", "1", "1.042", "16"]);
    }
}
