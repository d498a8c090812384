//! Plain-text tables.

/// Rows under a header; words are aligned left, numbers right.
#[derive(Debug, Clone)]
pub struct Table {
    rows: Vec<Vec<String>>,
    words: Vec<usize>,
}

impl Table {
    /// An empty table with these column names; the columns at `words` hold words, the others numbers.
    pub fn new(header: &[&str], words: &[usize]) -> Table {
        let header = header.iter().map(|name| name.to_string()).collect();
        Table { rows: vec![header], words: words.to_vec() }
    }

    /// Adds a row; missing cells are blank.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// How many rows there are below the header.
    pub fn len(&self) -> usize {
        self.rows.len() - 1
    }

    /// Whether there are no rows below the header.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, c: usize| row.get(c).cloned().unwrap_or_default();
        let width = |c| self.rows.iter().map(|row| cell(row, c).chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = widths.iter().enumerate().map(|(c, width)| match self.words.contains(&c) {
                true => format!("{:<width$}", cell(row, c)),
                false => format!("{:>width$}", cell(row, c)),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_no_line_ends_in_blanks() {
        let mut table = Table::new(&["cell", "ms", "error"], &[0, 2]);
        table.row(["a".into(), "10.5".into()]);
        table.row(["longer".into(), "1".into(), "no".into()]);
        assert_eq!(table.to_string(), "cell      ms  error\na       10.5\nlonger     1  no\n");
    }
}
