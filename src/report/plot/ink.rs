//! Colours, apart in hue and in lightness (after Okabe and Ito, *Color Universal Design*, 2008), for white and
//! for dark grounds.

/// What something is drawn with; the page gives each another colour in the dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Words and numbers.
    Text,
    /// Words that matter less.
    Muted,
    /// Lines to read values by.
    Grid,
    /// The frame of a plot.
    Axis,
    /// Perfect scaling.
    Ideal,
    /// The ground.
    Ground,
    /// One of several curves or values.
    Series(usize),
    /// Time in steps.
    Step,
    /// Time in merges.
    Merge,
    /// Other time.
    Other,
}

/// Class, on white, in the dark.
const FIXED: [(&str, &str, &str); 9] = [
    ("text", "#1b1f24", "#e6e9ee"),
    ("muted", "#57606a", "#a3adba"),
    ("grid", "#dfe3e8", "#343b45"),
    ("axis", "#8c959f", "#717b88"),
    ("ideal", "#57606a", "#a3adba"),
    ("ground", "#ffffff", "#15181d"),
    ("step", "#0072b2", "#4aa8e0"),
    ("merge", "#e69f00", "#f2b632"),
    ("other", "#8c959f", "#78828f"),
];

const SERIES: [(&str, &str, &str); 8] = [
    ("s0", "#0072b2", "#4aa8e0"),
    ("s1", "#d55e00", "#ff8a3d"),
    ("s2", "#009e73", "#2fcf9f"),
    ("s3", "#b4568f", "#e593c4"),
    ("s4", "#b07800", "#f2b632"),
    ("s5", "#3a93c8", "#9bd4f5"),
    ("s6", "#30343b", "#e6e9ee"),
    ("s7", "#7a5cc2", "#b7a2f2"),
];

impl Ink {
    fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Ink::Text => FIXED[0],
            Ink::Muted => FIXED[1],
            Ink::Grid => FIXED[2],
            Ink::Axis => FIXED[3],
            Ink::Ideal => FIXED[4],
            Ink::Ground => FIXED[5],
            Ink::Step => FIXED[6],
            Ink::Merge => FIXED[7],
            Ink::Other => FIXED[8],
            Ink::Series(i) => SERIES[i % SERIES.len()],
        }
    }

    /// The name of its class in SVG and style sheet.
    pub(crate) fn class(self) -> &'static str {
        self.entry().0
    }

    /// `#rrggbb` on white.
    pub(crate) fn on_white(self) -> &'static str {
        self.entry().1
    }
}

/// Class, colour on white and colour in the dark of every ink.
pub(crate) fn all_inks() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FIXED.into_iter().chain(SERIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(hex: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_curve_stands_out_from_its_ground_and_words_can_be_read() {
        let (_, white, dark) = Ink::Ground.entry();
        for ink in (0..8).map(Ink::Series) {
            let (class, on_white, in_dark) = ink.entry();
            assert!(contrast(on_white, white) >= 3.0, "{class}: {}", contrast(on_white, white));
            assert!(contrast(in_dark, dark) >= 3.0, "{class} in the dark");
        }
        for (class, on_white, in_dark) in [Ink::Text.entry(), Ink::Muted.entry()] {
            assert!(contrast(on_white, white) >= 4.5 && contrast(in_dark, dark) >= 4.5, "{class}");
        }
    }
}
