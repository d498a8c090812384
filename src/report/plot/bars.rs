//! Where the time goes: stacked bars of step, merge and other.

use super::ink::{MERGE, MUTED, OTHER, STEP, TEXT};
use super::svg::{EDGE, Plot, SIZE, WIDTH, rect};
use super::words::{fitted, width};
use crate::results::Split;

#[derive(Clone)]
pub(crate) struct Bar {
    /// As in `4 GPUs`.
    pub label: String,
    pub split: Split,
    /// The time in words.
    pub value: String,
    pub tip: String,
}

/// Runs that are compared with each other.
#[derive(Clone)]
pub(crate) struct BarGroup {
    pub label: String,
    pub bars: Vec<Bar>,
}

const HEIGHT: f32 = 12.0;
const PITCH: f32 = 16.0;

/// Groups of bars, one below the other; each group's longest bar is as long as there is room.
pub(crate) fn bars(name: &str, groups: &[BarGroup]) -> Option<Plot> {
    let all = || groups.iter().flat_map(|group| &group.bars);
    all().next()?;
    let mut plot = Plot::new(name, describe(groups));
    let mut y = plot.height;
    let widest =
        |text: fn(&Bar) -> &str| all().map(|bar| width(text(bar), SIZE)).fold(0.0, f32::max);
    let left = EDGE + widest(|bar| &bar.label).min(140.0) + 8.0;
    let right = WIDTH - EDGE - widest(|bar| &bar.value) - 8.0;
    for group in groups {
        let total = |bar: &Bar| bar.split.step + bar.split.merge + bar.split.other;
        let most = group.bars.iter().map(total).fold(f64::MIN_POSITIVE, f64::max);
        let scale = f64::from(right - left) / most;
        y += 17.0;
        let label = fitted(&group.label, SIZE, WIDTH - 2.0 * EDGE);
        plot.text((EDGE, y), "start", TEXT, &label);
        y += 6.0;
        for bar in &group.bars {
            let below = y + HEIGHT - 2.0;
            let label = fitted(&bar.label, SIZE, left - EDGE - 6.0);
            plot.text((left - 8.0, below), "end", MUTED, &label);
            let Split { step, merge, other } = bar.split;
            let (mut x, mut marks) = (left, String::new());
            for (ms, ink) in [(step, STEP), (merge, MERGE), (other, OTHER)] {
                let long = (ms * scale) as f32;
                if long > 0.0 {
                    marks += &rect((x, y), long, HEIGHT, ink);
                }
                x += long;
            }
            plot.tipped(&bar.tip, &marks);
            plot.text((x + 6.0, below), "start", TEXT, &bar.value);
            y += PITCH;
        }
        y += 4.0;
    }
    let entries = [("step (computing)", STEP), ("merge", MERGE), ("other", OTHER)];
    let patch = |ink| rect((-9.0, -5.0), 18.0, 10.0, ink);
    Some(plot.legend(y, entries.map(|(label, ink)| (label.into(), patch(ink)))))
}

fn describe(groups: &[BarGroup]) -> String {
    let lines = groups.iter().flat_map(|group| {
        let tips = group.bars.iter().map(|bar| bar.tip.replace('\n', ", "));
        tips.map(move |tip| format!("{}, {tip}", group.label))
    });
    format!("Time in steps, merges and the rest. {}.", lines.collect::<Vec<_>>().join("; "))
}
