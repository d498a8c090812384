//! A scene as pixels, two for each of its own.

use super::font;
use super::ink::Ink;
use super::scene::{Anchor, Scene, Shape};
use crate::{Error, Result};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};

/// Pixels for one of the scene's.
const SCALE: f32 = 2.0;

impl Scene {
    /// The PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        let failed = |what: &str| Error::machine(format!("plot \"{}\": {what}", self.title));
        let size = ((self.width * SCALE) as u32, (self.height * SCALE) as u32);
        let mut pixels =
            Pixmap::new(size.0, size.1).ok_or_else(|| failed("is too large for a picture"))?;
        pixels.fill(color(Ink::Ground));
        for shape in self.groups.iter().flat_map(|group| &group.shapes) {
            draw(shape, &mut pixels);
        }
        pixels.encode_png().map_err(|e| failed(&e.to_string()))
    }
}

fn color(ink: Ink) -> Color {
    let hex = u32::from_str_radix(&ink.on_white()[1..], 16).unwrap_or(0);
    let [_, red, green, blue] = hex.to_be_bytes();
    Color::from_rgba8(red, green, blue, 255)
}

fn paint(ink: Ink) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(color(ink));
    paint.anti_alias = true;
    paint
}

fn fill(path: Option<Path>, ink: Ink, pixels: &mut Pixmap) {
    if let Some(path) = path {
        let scale = Transform::from_scale(SCALE, SCALE);
        pixels.fill_path(&path, &paint(ink), FillRule::Winding, scale, None);
    }
}

fn polygon(points: &[(f32, f32)], close: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    path.move_to(first.0, first.1);
    rest.iter().for_each(|(x, y)| path.line_to(*x, *y));
    if close {
        path.close();
    }
    path.finish()
}

fn draw(shape: &Shape, pixels: &mut Pixmap) {
    match shape {
        Shape::Line { points, ink, width, dash } => {
            let stroke = Stroke {
                width: *width,
                line_cap: LineCap::Butt,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dash.to_vec(), 0.0),
                ..Stroke::default()
            };
            if let Some(path) = polygon(points, false) {
                let scale = Transform::from_scale(SCALE, SCALE);
                pixels.stroke_path(&path, &paint(*ink), &stroke, scale, None);
            }
        }
        Shape::Area { points, ink } => fill(polygon(points, true), *ink, pixels),
        Shape::Disc { x, y, radius, ink } => {
            fill(PathBuilder::from_circle(*x, *y, *radius), *ink, pixels)
        }
        Shape::Rect { x, y, width, height, ink } => {
            let rect = Rect::from_xywh(*x, *y, *width, *height);
            fill(rect.map(PathBuilder::from_rect), *ink, pixels);
        }
        Shape::Text { x, y, size, anchor, ink, text } => {
            let width = font::width(text, *size);
            let start = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            let mut path = PathBuilder::new();
            font::outline(text, *size, start, *y, &mut path);
            fill(path.finish(), *ink, pixels);
        }
    }
}
