//! A plot as SVG: complete alone, and dressed by the page's style sheet where it is part of one. Lengths are in pixels
//! at the plot's own size; y grows downwards.

use super::ink::{GROUND, Ink, MUTED, TEXT};
use super::words::{fitted, width, wrapped};

/// Width of every plot: one fills a telephone, three a desk.
pub(super) const WIDTH: f32 = 420.0;
/// Room at either side.
pub(super) const EDGE: f32 = 12.0;
/// Size of all text but the title.
pub(super) const SIZE: f32 = 12.0;
const TITLE: f32 = 14.5;
/// Fonts to draw with: the first that the reader's machine has.
const FONTS: &str = "Roboto, Arial, Helvetica, sans-serif";

/// A plot under work.
pub(crate) struct Plot {
    pub title: String,
    /// What is seen, for those who do not see it.
    description: String,
    /// Where the title ends, and then the plot.
    pub(super) height: f32,
    marks: String,
}

impl Plot {
    pub(super) fn new(title: &str, description: String) -> Plot {
        let mut plot = Plot { title: title.into(), description, height: 9.0, marks: String::new() };
        for line in wrapped(title, TITLE, WIDTH - 2.0 * EDGE, 2) {
            plot.height += TITLE + 3.0;
            plot.add(&text((EDGE, plot.height), TITLE, "start", TEXT, &line));
        }
        plot.height += 9.0;
        plot
    }

    pub(super) fn add(&mut self, marks: &str) {
        self.marks += marks;
        self.marks.push('\n');
    }

    /// Adds marks that explain themselves when pointed at.
    pub(super) fn tipped(&mut self, tip: &str, marks: &str) {
        self.add(&format!("<g class=\"tip\"><title>{}</title>{marks}</g>", escape(tip)));
    }

    /// Adds a thin straight line.
    pub(super) fn rule(&mut self, from: (f32, f32), to: (f32, f32), ink: Ink) {
        self.add(&line(&[from, to], ink, 1.0, "none"));
    }

    /// Adds words that begin (`start`), have their middle or end at a place.
    pub(super) fn text(&mut self, at: (f32, f32), anchor: &str, ink: Ink, words: &str) {
        self.add(&text(at, SIZE, anchor, ink, words));
    }

    pub(super) fn muted(&mut self, at: (f32, f32), anchor: &str, words: &str) {
        self.text(at, anchor, MUTED, words);
    }

    /// Adds a legend from `y` on, as many entries a line as fit, and ends the plot below it. An entry is its words and
    /// the marks of its sample around (0, 0).
    pub(super) fn legend(
        mut self,
        y: f32,
        entries: impl IntoIterator<Item = (String, String)>,
    ) -> Plot {
        const SAMPLE: f32 = 26.0;
        const LINE: f32 = 18.0;
        let (mut x, mut y) = (EDGE, y + LINE - 4.0);
        for (label, sample) in entries {
            let label = fitted(&label, SIZE, WIDTH - 2.0 * EDGE - SAMPLE - 6.0);
            let room = SAMPLE + 5.0 + width(&label, SIZE);
            if x > EDGE && x + room > WIDTH - EDGE {
                (x, y) = (EDGE, y + LINE);
            }
            let (left, middle) = (short(x + SAMPLE / 2.0), short(y - 4.0));
            self.add(&format!("<g transform=\"translate({left} {middle})\">{sample}</g>"));
            self.text((x + SAMPLE + 5.0, y), "start", TEXT, &label);
            x += room + 14.0;
        }
        self.height = y + 8.0;
        self
    }

    pub(crate) fn svg(&self) -> String {
        let Plot { height, marks, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" role=\"img\" font-family=\"{FONTS}\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{marks}</svg>\n",
            escape(&self.title),
            escape(&self.description),
            GROUND.on_white
        )
    }
}

pub(super) fn line(list: &[(f32, f32)], ink: Ink, width: f32, dash: &str) -> String {
    format!(
        "<polyline class=\"k-{}\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
         stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\"/>",
        ink.class,
        points(list),
        ink.on_white,
        short(width)
    )
}

/// A filled outline.
pub(super) fn area(list: &[(f32, f32)], ink: Ink) -> String {
    filled("polygon", &format!("points=\"{}\"", points(list)), ink)
}

pub(super) fn disc((x, y): (f32, f32), radius: f32, ink: Ink) -> String {
    let place = format!("cx=\"{}\" cy=\"{}\" r=\"{}\"", short(x), short(y), short(radius));
    filled("circle", &place, ink)
}

pub(super) fn rect((x, y): (f32, f32), width: f32, height: f32, ink: Ink) -> String {
    let [x, y, width, height] = [x, y, width, height].map(short);
    filled("rect", &format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""), ink)
}

fn filled(element: &str, place: &str, ink: Ink) -> String {
    format!("<{element} class=\"{}\" {place} fill=\"{}\"/>", ink.class, ink.on_white)
}

fn text((x, y): (f32, f32), size: f32, anchor: &str, ink: Ink, words: &str) -> String {
    format!(
        "<text class=\"{}\" x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
        ink.class,
        short(x),
        short(y),
        short(size),
        ink.on_white,
        escape(words)
    )
}

fn points(list: &[(f32, f32)]) -> String {
    let pairs = list.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Two decimals at most.
fn short(value: f32) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
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
