//! How wide text is, about: a browser draws it with the font that it has.

/// Width of a line of text in pixels, between that of Arial and that of wider fonts such as DejaVu Sans.
pub(crate) fn width(text: &str, size: f32) -> f32 {
    size * text.chars().map(advance).sum::<f32>()
}

/// Width of a character over the size of the font.
fn advance(c: char) -> f32 {
    match c {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '!' | '|' | '/' => 0.31,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '—' | '←' | '→' => 0.95,
        'A'..='Z' => 0.72,
        // Chinese, Japanese, Korean, pictures.
        '\u{1100}'.. => 1.0,
        _ => 0.6,
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
        assert!(width("\u{1F41D}", 12.0) > 0.0, "a picture takes room too");
        let cut = fitted("a very long name of a data set", 12.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 60.0, "{cut}");
        let lines = wrapped("one two three four five six", 12.0, 60.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 60.0), "{lines:?}");
    }
}
