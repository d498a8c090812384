//! A run's iterations: how large the frontier was, how replicas were merged, how long it took.

use super::axis::{Axis, decades, round};
use super::ink::{GRID, Ink, OTHER, series};
use super::strips::plain;
use super::svg::{EDGE, Plot, WIDTH, rect};
use crate::results::Iteration;
use crate::units::{bare_ms, count, rate};
use std::collections::BTreeMap;

/// Height of the frontier's field, and of the times'.
const HEIGHTS: (f32, f32) = (110.0, 60.0);
const LEFT: f32 = 52.0;
/// Most columns: what is more is put together.
const MOST: usize = 120;

/// The trace of one run; `None` of no iterations.
pub(crate) fn trace(name: &str, iterations: &[Iteration]) -> Option<Plot> {
    let most = iterations.iter().map(|entry| entry.frontier).max()?;
    let modes = modes(iterations);
    let each = iterations.len().div_ceil(MOST);
    let columns: Vec<&[Iteration]> = iterations.chunks(each).collect();
    let time = |column: &[Iteration]| column.iter().map(|entry| entry.ms).sum::<f64>();
    let longest = columns.iter().map(|column| time(column)).fold(0.0, f64::max);
    let (frontiers, times) = (decades(1.0, (most as f64).max(2.0)), round(longest));
    let ends = |ticks: &[f64]| (ticks[0], ticks[ticks.len() - 1]);

    let mut plot = Plot::new(name, describe(iterations, most));
    let top = plot.height + 24.0;
    let bottom = top + HEIGHTS.0;
    let y = Axis { log: true, values: (0.8, ends(&frontiers).1), pixels: (bottom, top) };
    plot.muted((EDGE, top - 13.0), "start", "nodes in the frontier");
    for tick in frontiers {
        let text = if tick < 1e3 { format!("{tick:.0}") } else { rate(tick).replace(".00", "") };
        grid(&mut plot, y.at(tick), &text);
    }
    let (top, bottom) = (bottom + 36.0, bottom + 36.0 + HEIGHTS.1);
    let t = Axis { log: false, values: ends(&times), pixels: (bottom, top) };
    plot.muted((EDGE, top - 13.0), "start", "ms, step and merge");
    for tick in [ends(&times).0, ends(&times).1] {
        grid(&mut plot, t.at(tick), &plain(tick));
    }
    let wide = (WIDTH - EDGE - LEFT - 4.0) / columns.len() as f32;
    for (place, column) in columns.iter().enumerate() {
        let x = LEFT + 4.0 + wide * place as f32;
        let slowest = column.iter().max_by(|a, b| a.ms.total_cmp(&b.ms))?;
        let ink = modes.get(slowest.merge.as_str()).copied().unwrap_or(OTHER);
        let bar = |axis: &Axis, value: f64| {
            let (top, bottom) = (axis.at(value), axis.pixels.0);
            let wide = (wide * 0.86).clamp(0.8, 34.0);
            rect((x, top.min(bottom - 1.0)), wide, (bottom - top).max(1.0), ink)
        };
        let frontier = column.iter().map(|entry| entry.frontier).max()?;
        let marks = bar(&y, frontier as f64) + &bar(&t, time(column));
        let steps = steps(column);
        let (first, last) = (place * each, place * each + column.len() - 1);
        let which = match first == last {
            true => format!("iteration {first}"),
            false => format!("iterations {first} to {last}"),
        };
        let (nodes, ms, mode) = (count(frontier), bare_ms(time(column)), &slowest.merge);
        let tip = format!("{which}\n{nodes} nodes\nstep {steps}, merge {mode}\n{ms} ms");
        plot.tipped(&tip, &marks);
    }
    // The first and the last iteration under the columns, and what they are.
    let under = bottom + 16.0;
    let at = |column: usize| LEFT + 4.0 + wide * column as f32 + (wide * 0.43).min(17.0);
    plot.muted((at(0), under), "middle", "0");
    if columns.len() > 1 {
        let last = (iterations.len() - 1).to_string();
        plot.muted((at(columns.len() - 1), under), "middle", &last);
    }
    plot.muted(((LEFT + WIDTH - EDGE) / 2.0, under + 14.0), "middle", "iteration");
    let patch = |ink| rect((-9.0, -5.0), 18.0, 10.0, ink);
    let entries = modes.iter().map(|(mode, ink)| (format!("merge: {mode}"), patch(*ink)));
    Some(plot.legend(under + 22.0, entries))
}

fn grid(plot: &mut Plot, y: f32, text: &str) {
    plot.rule((LEFT, y), (WIDTH - EDGE, y), GRID);
    plot.muted((LEFT - 5.0, y + 4.0), "end", text);
}

/// The steps of these iterations, cut where they are many.
fn steps(column: &[Iteration]) -> String {
    let mut steps: Vec<&str> = column.iter().map(|entry| entry.step.as_str()).collect();
    steps.dedup();
    let steps = steps.join(", ");
    match steps.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &steps[..end]),
        None => steps,
    }
}

/// The usual modes always have the same inks; others take what is left.
fn modes(iterations: &[Iteration]) -> BTreeMap<&str, Ink> {
    let mut free = [0, 3, 4, 7, 6].into_iter().cycle();
    let mut inks = BTreeMap::new();
    for entry in iterations {
        inks.entry(entry.merge.as_str()).or_insert_with_key(|mode| match *mode {
            "none" => OTHER,
            "sparse" => series(5),
            "gather" => series(2),
            "dense" => series(1),
            _ => series(free.next().unwrap_or(0)),
        });
    }
    inks
}

fn describe(iterations: &[Iteration], most: u64) -> String {
    let mut merges: BTreeMap<&str, usize> = BTreeMap::new();
    iterations.iter().for_each(|entry| *merges.entry(entry.merge.as_str()).or_default() += 1);
    let merges: Vec<String> = merges.iter().map(|(mode, n)| format!("{n} {mode}")).collect();
    format!(
        "{} iterations; the largest frontier has {} nodes; merges: {}.",
        iterations.len(),
        count(most),
        merges.join(", ")
    )
}
