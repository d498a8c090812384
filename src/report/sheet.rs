//! Tables whose numbers are known as numbers: as Markdown, and for the page.

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// Nothing was measured.
    Blank,
    Text(String),
    /// A number as it is shown, and as it is sorted.
    Number(String, f64),
}

impl Entry {
    pub(crate) fn text(text: impl Into<String>) -> Entry {
        Entry::Text(text.into())
    }

    /// A number that may be missing, shown by `show`.
    pub(crate) fn number(value: Option<f64>, show: impl Fn(f64) -> String) -> Entry {
        value.map_or(Entry::Blank, |value| Entry::Number(show(value), value))
    }

    pub(crate) fn shown(&self) -> &str {
        match self {
            Entry::Blank => "",
            Entry::Text(text) | Entry::Number(text, _) => text,
        }
    }
}

/// A titled table. A column is one of numbers when it holds no words.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    pub title: String,
    /// What to know when reading it: one line of plain text, or empty.
    pub note: String,
    /// Names of the columns, with their units.
    pub columns: Vec<String>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Entry>>,
}

impl Sheet {
    /// An empty table; `columns` has their names, a comma and a blank between.
    pub(crate) fn new(title: impl Into<String>, note: impl Into<String>, columns: &str) -> Sheet {
        let columns = columns.split(", ").map(String::from).collect();
        Sheet { title: title.into(), note: note.into(), columns, rows: Vec::new() }
    }

    /// The table, unless it has no rows.
    pub(crate) fn filled(self) -> Option<Sheet> {
        (!self.rows.is_empty()).then_some(self)
    }

    pub(crate) fn without_blank_columns(mut self) -> Sheet {
        let stands = |c: &usize| self.rows.iter().any(|row| !row[*c].shown().is_empty());
        let keep: Vec<usize> = (0..self.columns.len()).filter(stands).collect();
        fn kept<T: Clone>(list: &mut Vec<T>, keep: &[usize]) {
            *list = keep.iter().map(|c| list[*c].clone()).collect();
        }
        kept(&mut self.columns, &keep);
        self.rows.iter_mut().for_each(|row| kept(row, &keep));
        self
    }

    pub(crate) fn is_numeric(&self, column: usize) -> bool {
        let mut entries = self.rows.iter().map(|row| &row[column]).peekable();
        entries.peek().is_some() && entries.all(|entry| !matches!(entry, Entry::Text(_)))
    }

    /// A heading, the note, and a table with its columns in line.
    pub(crate) fn markdown(&self) -> String {
        let numeric: Vec<bool> = (0..self.columns.len()).map(|c| self.is_numeric(c)).collect();
        let head = self.columns.iter().map(|name| escape(name)).collect::<Vec<_>>();
        let rows = self.rows.iter().map(|row| row.iter().map(|e| escape(e.shown())).collect());
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let wide = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
        let mut out = format!("## {}\n\n", escape(&self.title));
        if !self.note.is_empty() {
            out += &format!("{}\n\n", escape(&self.note));
        }
        let columns: Vec<(bool, usize)> =
            numeric.into_iter().enumerate().map(|(c, n)| (n, wide(c).max(3))).collect();
        for (place, line) in lines.iter().enumerate() {
            for (cell, (numeric, width)) in line.iter().zip(&columns) {
                out += &match numeric {
                    true => format!("| {cell:>width$} "),
                    false => format!("| {cell:<width$} "),
                };
            }
            out += "|\n";
            if place == 0 {
                for (numeric, width) in &columns {
                    let end = if *numeric { ':' } else { ' ' };
                    out += &format!("| {}{end}", "-".repeat(*width));
                }
                out += "|\n";
            }
        }
        out + "\n"
    }
}

/// Text that Markdown shows as it is, on one line.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new("a|b", "", "graph, ms, nothing");
        sheet.rows.push(vec![
            Entry::text("<b>\n|"),
            Entry::number(Some(1.5), |v| v.to_string()),
            Entry::Blank,
        ]);
        sheet.rows.push(vec![Entry::text("x"), Entry::Blank, Entry::Blank]);
        sheet
    }

    #[test]
    fn numbers_stand_right_and_nothing_from_a_record_breaks_the_table() {
        let text = sheet().without_blank_columns().markdown();
        let expected = "## a\\|b\n\n| graph     |  ms |\n| --------- | --: |\n| &lt;b&gt; \\|  | 1.5 |\n| x         |     |\n\n";
        let bare = |text: &str| text.replace([' ', '-'], "");
        assert_eq!(bare(&text), bare(expected), "{text}");
        assert!(text.contains("| 1.5 |"), "{text}");
    }
}
