//! A scene as SVG: complete alone, and dressed by the page's style sheet where it is part of one.

use super::scene::{Anchor, Group, Scene, Shape};
use std::fmt::Write;

/// Fonts to draw with: the first that the reader's machine has.
const FONTS: &str = "Roboto, Arial, Helvetica, sans-serif";

impl Scene {
    /// The SVG document.
    pub(crate) fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" width=\"{width}\" \
             height=\"{height:.0}\" role=\"img\" font-family=\"{FONTS}\">\n<title>{}</title>\n<desc>{}</desc>\n",
            escape(&self.title),
            escape(&self.description)
        );
        let _ = writeln!(
            out,
            "<rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
        );
        for group in &self.groups {
            write_group(group, &mut out);
        }
        out + "</svg>\n"
    }
}

fn write_group(group: &Group, out: &mut String) {
    match &group.tip {
        Some(tip) => {
            let _ = write!(out, "<g class=\"tip\"><title>{}</title>", escape(tip));
            group.shapes.iter().for_each(|shape| write_shape(shape, out));
            out.push_str("</g>\n");
        }
        None => {
            group.shapes.iter().for_each(|shape| write_shape(shape, out));
            out.push('\n');
        }
    }
}

fn points(list: &[(f32, f32)]) -> String {
    let pairs: Vec<String> =
        list.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
    pairs.join(" ")
}

/// Two decimals at most.
fn short(value: f32) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Nothing here can fail: it writes to a string.
fn write_shape(shape: &Shape, out: &mut String) {
    let _ = match shape {
        Shape::Line { points: list, ink, width, dash } => {
            let dash: Vec<String> = dash.iter().map(|length| short(*length)).collect();
            let dash = match dash.is_empty() {
                true => String::new(),
                false => format!(" stroke-dasharray=\"{}\"", dash.join(" ")),
            };
            write!(
                out,
                "<polyline class=\"k-{}\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash} \
                 stroke-linejoin=\"round\"/>",
                ink.class(),
                points(list),
                ink.on_white(),
                short(*width)
            )
        }
        Shape::Area { points: list, ink } => {
            write!(
                out,
                "<polygon class=\"{}\" points=\"{}\" fill=\"{}\"/>",
                ink.class(),
                points(list),
                ink.on_white()
            )
        }
        Shape::Disc { x, y, radius, ink } => write!(
            out,
            "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
            ink.class(),
            short(*x),
            short(*y),
            short(*radius),
            ink.on_white()
        ),
        Shape::Rect { x, y, width, height, ink } => write!(
            out,
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
            ink.class(),
            short(*x),
            short(*y),
            short(*width),
            short(*height),
            ink.on_white()
        ),
        Shape::Text { x, y, size, anchor, ink, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            write!(
                out,
                "<text class=\"{}\" x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
                ink.class(),
                short(*x),
                short(*y),
                short(*size),
                ink.on_white(),
                escape(text)
            )
        }
    };
}

/// Text as XML and HTML take it, in elements and in quoted attributes. Characters that XML has no place for become
/// U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_end_it() {
        let hostile = "</text><script>\"'&\u{0}";
        assert_eq!(escape(hostile), "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\u{fffd}");
    }
}
