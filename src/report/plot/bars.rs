//! Where the time goes: stacked bars of step, merge and other.

use super::frame::{EDGE, Sample, TEXT, WIDTH, legend, patch, title};
use super::ink::Ink;
use super::scene::{Anchor, Scene, Shape};
use super::words::{fitted, width};
use crate::results::Split;

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// As in `4 GPUs`.
    pub label: String,
    pub split: Split,
    /// The time in words.
    pub value: String,
    pub tip: String,
}

/// Runs that are compared with each other.
#[derive(Debug, Clone)]
pub(crate) struct BarGroup {
    pub label: String,
    pub bars: Vec<Bar>,
}

const BAR: f32 = 12.0;
const PITCH: f32 = 16.0;

/// Groups of bars, one below the other; each group's longest bar is as long as there is room.
pub(crate) fn bars(name: &str, groups: &[BarGroup]) -> Option<Scene> {
    let all = || groups.iter().flat_map(|group| &group.bars);
    all().next()?;
    let mut scene = Scene::new(WIDTH, name, describe(groups));
    let mut y = title(&mut scene);
    let widest =
        |texts: &mut dyn Iterator<Item = &str>| texts.map(|t| width(t, TEXT)).fold(0.0, f32::max);
    let left = EDGE + widest(&mut all().map(|bar| bar.label.as_str())).min(140.0) + 8.0;
    let right = WIDTH - EDGE - widest(&mut all().map(|bar| bar.value.as_str())) - 8.0;
    for group in groups {
        let total = |bar: &Bar| bar.split.step + bar.split.merge + bar.split.other;
        let most = group.bars.iter().map(total).fold(f64::MIN_POSITIVE, f64::max);
        y += 17.0;
        let label = fitted(&group.label, TEXT, WIDTH - 2.0 * EDGE);
        scene.text((EDGE, y), TEXT, Anchor::Start, Ink::Text, label);
        y += 6.0;
        for bar in &group.bars {
            let scale = f64::from(right - left) / most;
            row(&mut scene, bar, left, y, scale);
            y += PITCH;
        }
        y += 4.0;
    }
    let (step, merge, other) = (patch(Ink::Step), patch(Ink::Merge), patch(Ink::Other));
    let entries: [(String, Sample<'_>); 3] =
        [("step (computing)".into(), &step), ("merge".into(), &merge), ("other".into(), &other)];
    scene.height = legend(&mut scene, &entries, y);
    Some(scene)
}

fn row(scene: &mut Scene, bar: &Bar, left: f32, y: f32, scale: f64) {
    let label = fitted(&bar.label, TEXT, left - EDGE - 6.0);
    scene.text((left - 8.0, y + BAR - 2.0), TEXT, Anchor::End, Ink::Muted, label);
    let mut x = left;
    let mut shapes = Vec::new();
    let parts =
        [(bar.split.step, Ink::Step), (bar.split.merge, Ink::Merge), (bar.split.other, Ink::Other)];
    for (ms, ink) in parts {
        let long = (ms * scale) as f32;
        if long > 0.0 {
            shapes.push(Shape::Rect { x, y, width: long, height: BAR, ink });
        }
        x += long;
    }
    scene.tipped(bar.tip.clone(), shapes);
    scene.text((x + 6.0, y + BAR - 2.0), TEXT, Anchor::Start, Ink::Text, &bar.value);
}

fn describe(groups: &[BarGroup]) -> String {
    let lines = groups.iter().flat_map(|group| {
        group
            .bars
            .iter()
            .map(move |bar| format!("{}, {}", group.label, bar.tip.replace('\n', ", ")))
    });
    format!("Time in steps, merges and the rest. {}.", lines.collect::<Vec<_>>().join("; "))
}
