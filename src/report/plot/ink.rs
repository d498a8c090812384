//! Colours, apart in hue and in lightness (after Okabe and Ito, *Color Universal Design*, 2008), for white and
//! for dark grounds.

/// What something is drawn with: the class in the style sheet, and `#rrggbb` on white and in the dark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ink {
    pub class: &'static str,
    pub on_white: &'static str,
    pub in_dark: &'static str,
}

const fn ink(class: &'static str, on_white: &'static str, in_dark: &'static str) -> Ink {
    Ink { class, on_white, in_dark }
}

pub(super) const TEXT: Ink = ink("text", "#1b1f24", "#e6e9ee");
/// Words that matter less.
pub(super) const MUTED: Ink = ink("muted", "#57606a", "#a3adba");
/// Lines to read values by.
pub(super) const GRID: Ink = ink("grid", "#dfe3e8", "#343b45");
/// The frame of a plot.
pub(super) const AXIS: Ink = ink("axis", "#8c959f", "#717b88");
/// Perfect scaling.
pub(super) const IDEAL: Ink = ink("ideal", "#57606a", "#a3adba");
pub(super) const GROUND: Ink = ink("ground", "#ffffff", "#15181d");
pub(super) const STEP: Ink = ink("step", "#0072b2", "#4aa8e0");
pub(super) const MERGE: Ink = ink("merge", "#e69f00", "#f2b632");
pub(super) const OTHER: Ink = ink("other", "#8c959f", "#78828f");

const SERIES: [Ink; 8] = [
    ink("s0", "#0072b2", "#4aa8e0"),
    ink("s1", "#d55e00", "#ff8a3d"),
    ink("s2", "#009e73", "#2fcf9f"),
    ink("s3", "#b4568f", "#e593c4"),
    ink("s4", "#b07800", "#f2b632"),
    ink("s5", "#3a93c8", "#9bd4f5"),
    ink("s6", "#30343b", "#e6e9ee"),
    ink("s7", "#7a5cc2", "#b7a2f2"),
];

/// The ink of one of several curves or values.
pub(super) fn series(i: usize) -> Ink {
    SERIES[i % SERIES.len()]
}

pub(crate) fn all_inks() -> impl Iterator<Item = Ink> {
    [TEXT, MUTED, GRID, AXIS, IDEAL, GROUND, STEP, MERGE, OTHER].into_iter().chain(SERIES)
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
        let least = |ink: Ink| {
            let on_white = contrast(ink.on_white, GROUND.on_white);
            on_white.min(contrast(ink.in_dark, GROUND.in_dark))
        };
        for ink in SERIES {
            assert!(least(ink) >= 3.0, "{ink:?}: {}", least(ink));
        }
        assert!(least(TEXT) >= 4.5 && least(MUTED) >= 4.5);
    }
}
