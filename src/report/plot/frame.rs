//! What plots have in common: title, legend.

use super::ink::Ink;
use super::scene::{Anchor, Scene, Shape};
use super::words::{fitted, width, wrapped};

/// Width of every plot, pixels: one fills a telephone, three a desk.
pub(crate) const WIDTH: f32 = 420.0;
/// Room at either side.
pub(crate) const EDGE: f32 = 12.0;
/// Size of a title.
const TITLE: f32 = 14.5;
/// Size of all other text.
pub(crate) const TEXT: f32 = 12.0;

/// Writes the title; returns where it ends.
pub(crate) fn title(scene: &mut Scene) -> f32 {
    let lines = wrapped(&scene.title, TITLE, WIDTH - 2.0 * EDGE, 2);
    let mut y = 9.0;
    for line in lines {
        y += TITLE + 3.0;
        scene.text((EDGE, y), TITLE, Anchor::Start, Ink::Text, line);
    }
    y + 9.0
}

/// What an entry of a legend shows before its words.
pub(crate) type Sample<'a> = &'a dyn Fn(f32, f32) -> Vec<Shape>;

/// Room for a sample.
const SAMPLE: f32 = 26.0;
/// Height of a line of a legend.
const LINE: f32 = 18.0;

/// Writes a legend from `y` on, as many entries a line as fit; returns where it ends. A sample is drawn around the
/// middle of its room.
pub(crate) fn legend(scene: &mut Scene, entries: &[(String, Sample<'_>)], y: f32) -> f32 {
    let (mut x, mut y) = (EDGE, y + LINE - 4.0);
    for (label, sample) in entries {
        let label = fitted(label, TEXT, WIDTH - 2.0 * EDGE - SAMPLE - 6.0);
        let room = SAMPLE + 5.0 + width(&label, TEXT);
        if x > EDGE && x + room > WIDTH - EDGE {
            (x, y) = (EDGE, y + LINE);
        }
        for shape in sample(x + SAMPLE / 2.0, y - 4.0) {
            scene.add(shape);
        }
        scene.text((x + SAMPLE + 5.0, y), TEXT, Anchor::Start, Ink::Text, label);
        x += room + 14.0;
    }
    y + 8.0
}

/// A patch of colour for a legend.
pub(crate) fn patch(ink: Ink) -> impl Fn(f32, f32) -> Vec<Shape> {
    move |x, y| vec![Shape::Rect { x: x - 9.0, y: y - 5.0, width: 18.0, height: 10.0, ink }]
}
