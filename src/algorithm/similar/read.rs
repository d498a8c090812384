//! Pairs of nodes in a file.

use crate::algorithm::seeds::InputId;
use crate::error::{Error, Result};
use crate::graph::Graph;
use std::path::Path;

/// The pairs of a file: two ids of the input a line, with a comma or white space between them. Blank lines and lines that start with
/// `#` are skipped; a name with a comma or a space stands in double quotes.
pub(super) fn pairs(path: &Path, graph: &Graph) -> Result<Vec<[u32; 2]>> {
    let shown = path.display();
    let bytes = crate::io::read_table(&path.to_string_lossy()).map_err(|cause| {
        Error::input(format!("--pairs {shown}: {cause}; name a text file with two ids a line"))
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut pairs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{shown}:{number}");
        let fields = fields(line);
        let [one, other] = &fields[..] else {
            return Err(Error::input(format!(
                "{place}: {} ids; write two ids a line",
                fields.len()
            )));
        };
        let node = |id: &str| -> Result<u32> { id.parse::<InputId>()?.resolve(graph, &place) };
        let pair = [node(one)?, node(other)?];
        if pair[0] == pair[1] {
            return Err(Error::input(format!(
                "{place}: node {} is paired with itself; name two nodes",
                graph.id(pair[0])
            )));
        }
        pairs.push(pair);
    }
    match pairs.is_empty() {
        true => {
            Err(Error::input(format!("--pairs {shown}: it names no pair; write two ids a line")))
        }
        false => Ok(pairs),
    }
}

/// The fields of a line.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => (quoted, begun) = (!quoted, true),
            c if !quoted && (c == ',' || c.is_whitespace()) => {
                if begun {
                    fields.push(std::mem::take(&mut field));
                }
                begun = false;
            }
            c => {
                field.push(c);
                begun = true;
            }
        }
    }
    if begun {
        fields.push(field);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn a_line_is_cut_at_commas_and_spaces_outside_of_quotes() {
        for (line, wanted) in [
            ("1 2", &["1", "2"][..]),
            ("1,2", &["1", "2"]),
            ("1 , 2", &["1", "2"]),
            ("1\t2", &["1", "2"]),
            ("\"a, b\" \"c \"\"d\"\"\"", &["a, b", "c \"d\""]),
            ("\"\",x", &["", "x"]),
            ("1", &["1"]),
            ("1 2 3", &["1", "2", "3"]),
        ] {
            assert_eq!(fields(line), wanted, "{line}");
        }
    }
}
