//! The font of the plots: Roboto Regular (Apache License 2.0, Google), cut down to Latin, Greek and a few signs, so
//! that a picture looks the same on a machine without fonts and text can be measured.

use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, MetadataProvider};
use std::sync::OnceLock;

/// The font file.
pub(crate) const FONT: &[u8] = include_bytes!("Roboto-Regular-subset.ttf");

fn font() -> Option<&'static FontRef<'static>> {
    static PARSED: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    PARSED.get_or_init(|| FontRef::new(FONT).ok()).as_ref()
}

/// What stands for a character that the font lacks.
const UNKNOWN: char = '?';

fn glyph(font: &FontRef<'static>, c: char) -> Option<skrifa::GlyphId> {
    let map = font.charmap();
    map.map(c).or_else(|| map.map(UNKNOWN))
}

/// Width of a line of text in pixels.
pub(crate) fn width(text: &str, size: f32) -> f32 {
    let Some(font) = font() else { return 0.55 * size * text.chars().count() as f32 };
    let metrics = font.glyph_metrics(Size::new(size), LocationRef::default());
    let advance = |c| metrics.advance_width(glyph(font, c)?);
    text.chars().filter_map(advance).sum()
}

/// Draws a line of text from `x` on the baseline `y`.
pub(crate) fn outline(text: &str, size: f32, x: f32, y: f32, into: &mut tiny_skia::PathBuilder) {
    let Some(font) = font() else { return };
    let metrics = font.glyph_metrics(Size::new(size), LocationRef::default());
    let outlines = font.outline_glyphs();
    let mut x = x;
    for glyph in text.chars().filter_map(|c| glyph(font, c)) {
        if let Some(outline) = outlines.get(glyph) {
            let settings = DrawSettings::unhinted(Size::new(size), LocationRef::default());
            // A glyph that cannot be drawn leaves a gap.
            let _ = outline.draw(settings, &mut Pen { x, y, into });
        }
        x += metrics.advance_width(glyph).unwrap_or(0.0);
    }
}

struct Pen<'a> {
    x: f32,
    y: f32,
    into: &'a mut tiny_skia::PathBuilder,
}

impl OutlinePen for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.into.move_to(self.x + x, self.y - y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.into.line_to(self.x + x, self.y - y);
    }
    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.into.quad_to(self.x + cx, self.y - cy, self.x + x, self.y - y);
    }
    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        let (px, py) = (self.x, self.y);
        self.into.cubic_to(px + ax, py - ay, px + bx, py - by, px + x, py - y);
    }
    fn close(&mut self) {
        self.into.close();
    }
}

/// The text, cut to `most` pixels with an ellipsis.
pub(crate) fn fitted(text: &str, size: f32, most: f32) -> String {
    if width(text, size) <= most {
        return text.into();
    }
    let mut short: Vec<char> = text.chars().collect();
    while short.pop().is_some() {
        let candidate = format!("{}…", short.iter().collect::<String>().trim_end());
        if width(&candidate, size) <= most {
            return candidate;
        }
    }
    String::new()
}

/// The text in lines of at most `most` pixels, broken at blanks; the last of `lines` is cut.
pub(crate) fn wrapped(text: &str, size: f32, most: f32, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = out.len() - 1;
        let longer =
            if out[last].is_empty() { word.to_string() } else { format!("{} {word}", out[last]) };
        if width(&longer, size) <= most || out[last].is_empty() || out.len() == lines {
            out[last] = longer;
        } else {
            out.push(word.into());
        }
    }
    out.into_iter().map(|line| fitted(&line, size, most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_width_and_is_cut_to_fit() {
        assert!(width("speed-up", 12.0) > 30.0 && width("speed-up", 12.0) < 70.0);
        assert!(width("\u{1F41D}", 12.0) > 0.0, "what the font lacks still takes room");
        let cut = fitted("a very long name of a data set", 12.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 60.0, "{cut}");
        let lines = wrapped("one two three four five six", 12.0, 60.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 60.0), "{lines:?}");
    }

    #[test]
    fn digits_have_outlines() {
        let mut path = tiny_skia::PathBuilder::new();
        outline("8", 12.0, 0.0, 12.0, &mut path);
        let bounds = path.finish().unwrap().bounds();
        assert!(bounds.height() > 7.0 && bounds.bottom() <= 12.5, "{bounds:?}");
    }
}
