//! A run's iterations: how large the frontier was, how replicas were merged, how long it took.

use super::axis::{Axis, decades, round};
use super::frame::{EDGE, Sample, TEXT, WIDTH, legend, patch, title};
use super::ink::Ink;
use super::scene::{Anchor, Scene, Shape};
use crate::results::Iteration;
use crate::units::{bare_ms, count, rate};
use std::collections::BTreeMap;

/// Height of the frontier's field, and of the times'.
const HEIGHTS: (f32, f32) = (110.0, 60.0);
/// Room for numbers at the left.
const LEFT: f32 = 52.0;
/// Most columns: what is more is put together.
const MOST: usize = 120;

/// One column: an iteration, or several.
struct Column<'a> {
    first: usize,
    last: usize,
    frontier: u64,
    ms: f64,
    mode: &'a str,
    steps: Vec<&'a str>,
}

/// The trace of one run; `None` of no iterations.
pub(crate) fn trace(name: &str, iterations: &[Iteration]) -> Option<Scene> {
    let columns = columns(iterations);
    let most = columns.iter().map(|column| column.frontier).max()?;
    let modes = modes(iterations);
    let mut scene = Scene::new(WIDTH, name, describe(iterations));
    let top = title(&mut scene) + 24.0;
    let frontiers = decades(1.0, (most as f64).max(2.0));
    let y = Axis {
        log: true,
        values: (0.8, frontiers[frontiers.len() - 1]),
        pixels: (top + HEIGHTS.0, top),
    };
    scene.text((EDGE, top - 13.0), TEXT, Anchor::Start, Ink::Muted, "nodes in the frontier");
    for tick in &frontiers {
        grid(
            &mut scene,
            y.at(*tick),
            if *tick < 1e3 { format!("{tick:.0}") } else { short(*tick) },
        );
    }
    let middle = top + HEIGHTS.0 + 36.0;
    let longest = columns.iter().map(|column| column.ms).fold(0.0, f64::max);
    let times = round(longest);
    let t = Axis {
        log: false,
        values: (0.0, times[times.len() - 1]),
        pixels: (middle + HEIGHTS.1, middle),
    };
    scene.text((EDGE, middle - 13.0), TEXT, Anchor::Start, Ink::Muted, "ms, step and merge");
    for tick in [times[0], times[times.len() - 1]] {
        grid(&mut scene, t.at(tick), super::strips::plain(tick));
    }
    let wide = (WIDTH - EDGE - LEFT - 4.0) / columns.len() as f32;
    for (place, column) in columns.iter().enumerate() {
        let x = LEFT + 4.0 + wide * place as f32;
        let ink = modes.get(column.mode).copied().unwrap_or(Ink::Other);
        let bar = |top: f32, bottom: f32| Shape::Rect {
            x,
            y: top.min(bottom - 1.0),
            width: (wide * 0.86).clamp(0.8, 34.0),
            height: (bottom - top).max(1.0),
            ink,
        };
        let frontier = bar(y.at(column.frontier as f64), y.pixels.0);
        scene.tipped(tip(column), vec![frontier, bar(t.at(column.ms), t.pixels.0)]);
    }
    let bottom = t.pixels.0 + 16.0;
    ends(&mut scene, columns.len(), wide, iterations.len(), bottom);
    let patches: Vec<_> = modes.iter().map(|(mode, ink)| (mode.to_string(), patch(*ink))).collect();
    let entries: Vec<(String, Sample<'_>)> = patches
        .iter()
        .map(|(mode, patch)| (format!("merge: {mode}"), patch as Sample<'_>))
        .collect();
    scene.height = legend(&mut scene, &entries, bottom + 22.0);
    Some(scene)
}

/// The first and the last iteration under the columns, and what they are.
fn ends(scene: &mut Scene, columns: usize, wide: f32, iterations: usize, y: f32) {
    let at = |column: usize| LEFT + 4.0 + wide * column as f32 + (wide * 0.43).min(17.0);
    scene.text((at(0), y), TEXT, Anchor::Middle, Ink::Muted, "0");
    if columns > 1 {
        let last = (iterations - 1).to_string();
        scene.text((at(columns - 1), y), TEXT, Anchor::Middle, Ink::Muted, last);
    }
    let middle = (LEFT + WIDTH - EDGE) / 2.0;
    scene.text((middle, y + 14.0), TEXT, Anchor::Middle, Ink::Muted, "iteration");
}

fn grid(scene: &mut Scene, y: f32, text: String) {
    scene.rule((LEFT, y), (WIDTH - EDGE, y), Ink::Grid, &[]);
    scene.text((LEFT - 5.0, y + 4.0), TEXT, Anchor::End, Ink::Muted, text);
}

/// `1 k`, `10 M`.
fn short(value: f64) -> String {
    rate(value).replace(".00", "")
}

fn columns(iterations: &[Iteration]) -> Vec<Column<'_>> {
    let each = iterations.len().div_ceil(MOST).max(1);
    iterations.chunks(each).enumerate().map(|(i, chunk)| column(i * each, chunk)).collect()
}

fn column(first: usize, chunk: &[Iteration]) -> Column<'_> {
    let longest = chunk.iter().max_by(|a, b| a.ms.total_cmp(&b.ms));
    let mut steps: Vec<&str> = chunk.iter().map(|entry| entry.step.as_str()).collect();
    steps.dedup();
    Column {
        first,
        last: first + chunk.len() - 1,
        frontier: chunk.iter().map(|entry| entry.frontier).max().unwrap_or(0),
        ms: chunk.iter().map(|entry| entry.ms).sum(),
        mode: longest.map_or("", |entry| entry.merge.as_str()),
        steps,
    }
}

fn tip(column: &Column<'_>) -> String {
    let which = match column.first == column.last {
        true => format!("iteration {}", column.first),
        false => format!("iterations {} to {}", column.first, column.last),
    };
    let mut steps = column.steps.join(", ");
    if steps.chars().count() > 60 {
        steps = steps.chars().take(60).collect::<String>() + "…";
    }
    let (nodes, ms, mode) = (count(column.frontier), bare_ms(column.ms), column.mode);
    format!("{which}\n{nodes} nodes\nstep {steps}, merge {mode}\n{ms} ms")
}

/// The usual modes always have the same inks; others take what is left.
fn modes(iterations: &[Iteration]) -> BTreeMap<&str, Ink> {
    let usual = |mode: &str| match mode {
        "none" => Some(Ink::Other),
        "sparse" => Some(Ink::Series(5)),
        "gather" => Some(Ink::Series(2)),
        "dense" => Some(Ink::Series(1)),
        _ => None,
    };
    let mut free = [0, 3, 4, 7, 6].into_iter().cycle();
    let mut inks = BTreeMap::new();
    for entry in iterations {
        inks.entry(entry.merge.as_str()).or_insert_with_key(|mode| {
            usual(mode).unwrap_or_else(|| Ink::Series(free.next().unwrap_or(0)))
        });
    }
    inks
}

fn describe(iterations: &[Iteration]) -> String {
    let mut merges: BTreeMap<&str, usize> = BTreeMap::new();
    iterations.iter().for_each(|entry| *merges.entry(entry.merge.as_str()).or_default() += 1);
    let merges: Vec<String> = merges.iter().map(|(mode, n)| format!("{n} {mode}")).collect();
    let most = iterations.iter().map(|entry| entry.frontier).max().unwrap_or(0);
    let n = iterations.len();
    format!(
        "{n} iterations; the largest frontier has {} nodes; merges: {}.",
        count(most),
        merges.join(", ")
    )
}
