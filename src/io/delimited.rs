//! The columns of an edge list that is more than plain numbers: what separates them, what they are called,
//! values in quotes.
//!
//! A value may stand in double quotes; a quote inside is doubled. A quoted value ends on its line. Blanks
//! around a value are no part of it, unless they are in quotes.

use super::text::{self, Fault, shown};
use super::uplink::Uplink;
use crate::graph::options::{ColumnName, Columns, Delimiter, FileWeights, Ids, LoadOptions};
use std::borrow::Cow;

/// Lines at the top of the file that say what separates columns.
const SAMPLE: usize = 20;
/// Names of columns, in lower case.
const SOURCES: [&str; 4] = ["src", "source", "from", "u"];
const TARGETS: [&str; 5] = ["dst", "dest", "target", "to", "v"];
const WEIGHTS: [&str; 5] = ["weight", "w", "cost", "length", "distance"];
/// How columns are named.
const FLAG: &str = "--columns src=NAME|N,dst=NAME|N[,weight=NAME|N]";

/// The values of a line.
pub(super) type Values<'a> = Vec<Cow<'a, [u8]>>;

/// What separates values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// Blanks and tabs, any number of them.
    Blanks,
    /// This byte, once.
    Byte(u8),
}

impl Separator {
    /// Puts the values of `line` into `values`; none for an empty line.
    pub(super) fn split<'a>(
        self,
        line: &'a [u8],
        at: usize,
        values: &mut Values<'a>,
    ) -> Result<(), Fault> {
        values.clear();
        let mut rest = line.strip_suffix(b"\r").unwrap_or(line);
        if rest.iter().all(|byte| self.is_blank(*byte)) {
            return Ok(());
        }
        loop {
            rest = &rest[rest.iter().take_while(|byte| self.is_blank(**byte)).count()..];
            let quoted = rest.first() == Some(&b'"');
            let (value, length) = match quoted {
                true => quoted_value(rest, at)?,
                false => {
                    let length =
                        rest.iter().position(|byte| self.ends(*byte)).unwrap_or(rest.len());
                    let blanks = rest[..length].iter().rev();
                    let blanks = blanks.take_while(|byte| self.is_blank(**byte)).count();
                    (Cow::Borrowed(&rest[..length - blanks]), length)
                }
            };
            values.push(value);
            let behind = rest[length..].iter().take_while(|byte| self.is_blank(**byte)).count();
            let more = &rest[length + behind..];
            rest = match (self, more.split_first()) {
                (_, None) => return Ok(()),
                (Separator::Blanks, _) if behind > 0 => more,
                (Separator::Byte(byte), Some((first, more))) if *first == byte => more,
                _ => {
                    let what = format!("text behind a closing quote ({})", shown(line));
                    return Err(Fault::new(
                        at,
                        format!("{what}; double the quotes inside a value"),
                    ));
                }
            };
        }
    }

    fn is_blank(self, byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && self != Separator::Byte(b'\t'))
    }

    fn ends(self, byte: u8) -> bool {
        match self {
            Separator::Blanks => matches!(byte, b' ' | b'\t'),
            Separator::Byte(separator) => byte == separator,
        }
    }

    /// What the first lines of a file agree on. Commas come last: they are in numbers and texts, too.
    fn of(bytes: &[u8], body: usize) -> Separator {
        let lines = text::lines(bytes, body).filter(|(_, line)| !is_comment(line));
        let lines: Vec<_> = lines.take(SAMPLE).collect();
        let count = |separator: Separator, (at, line): (usize, &[u8])| {
            let mut values = Vec::new();
            separator.split(line, at, &mut values).map_or(0, |()| values.len())
        };
        let agree = |separator: &Separator| {
            let counts: Vec<usize> = lines.iter().map(|line| count(*separator, *line)).collect();
            let rows = &counts[(counts.len() > 1) as usize..];
            counts.iter().all(|count| *count >= 2) && rows.iter().all(|count| *count == rows[0])
        };
        let there =
            |separator: &Separator| lines.first().is_some_and(|line| count(*separator, *line) >= 2);
        let bytes = [b'\t', b';', b'|', b','].map(Separator::Byte);
        let all = [bytes[0], bytes[1], bytes[2], bytes[3], Separator::Blanks];
        let found = all.iter().find(|one| agree(one)).or_else(|| all.iter().find(|one| there(one)));
        found.copied().unwrap_or(Separator::Blanks)
    }
}

/// The value in quotes with which `rest` begins, and how many bytes it takes.
fn quoted_value(rest: &[u8], at: usize) -> Result<(Cow<'_, [u8]>, usize), Fault> {
    let mut whole: Option<Vec<u8>> = None;
    let mut from = 1;
    loop {
        let Some(length) = memchr::memchr(b'"', &rest[from..]) else {
            let what = format!("a quoted value does not end on its line ({})", shown(rest));
            return Err(Fault::new(at, format!("{what}; close the quotes")));
        };
        let part = &rest[from..from + length];
        let end = from + length + 1;
        let doubled = rest.get(end) == Some(&b'"');
        match (&mut whole, doubled) {
            (None, false) => return Ok((Cow::Borrowed(part), end)),
            (Some(whole), false) => {
                whole.extend_from_slice(part);
                return Ok((Cow::Owned(std::mem::take(whole)), end));
            }
            (whole, true) => {
                let whole = whole.get_or_insert_with(Vec::new);
                whole.extend_from_slice(part);
                whole.push(b'"');
            }
        }
        from = end + 1;
    }
}

/// Whether a line is empty or begins with `#` or `%`.
pub(super) fn is_comment(line: &[u8]) -> bool {
    let first = line.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    first.is_none_or(|byte| matches!(byte, b'#' | b'%'))
}

/// Refuses a comma as what separates where it leaves numbers with blanks between them in one column: it may be a
/// decimal comma.
fn refuse_decimal_commas(bytes: &[u8], body: usize) -> Result<(), Fault> {
    let numbers = |value: &[u8]| {
        let mut parts = value.split(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        let parts: Vec<&[u8]> = parts.by_ref().filter(|part| !part.is_empty()).collect();
        parts.len() > 1 && parts.into_iter().all(is_real)
    };
    let mut lines = text::lines(bytes, body).filter(|(_, line)| !is_comment(line)).take(SAMPLE);
    let apart =
        |line: &[u8]| !line.contains(&b'"') && line.split(|byte| *byte == b',').any(numbers);
    let Some((at, line)) = lines.find(|(_, line)| apart(line)) else { return Ok(()) };
    let what = format!("blanks or commas may separate the columns ({})", shown(line));
    Err(Fault::new(at, format!("{what}; say --delimiter space or --delimiter comma")))
}

/// The fields of a line, whatever separates them.
pub(super) fn apart(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let separates = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b',' | b';' | b'|');
    line.split(separates).filter(|field| !field.is_empty())
}

/// Refuses a comment directly above the arcs that names columns in another order than the one that is assumed.
pub(super) fn refuse_marked_header(bytes: &[u8]) -> Result<(), Fault> {
    let fields = |line: &[u8]| -> Vec<String> {
        apart(line)
            .take(8)
            .map(|field| String::from_utf8_lossy(field).to_ascii_lowercase())
            .collect()
    };
    let kind = |name: &String| {
        let kinds = [(&SOURCES[..], "fromnodeid"), (&TARGETS[..], "tonodeid"), (&WEIGHTS[..], "w")];
        kinds.iter().position(|(names, other)| name == other || names.contains(&name.as_str()))
    };
    let mut last = None;
    for (at, line) in text::lines(bytes, 0) {
        if !is_comment(line) {
            // Below a line of names a comment decides nothing.
            if fields(line).iter().any(|name| name.len() > 1 && kind(name).is_some()) {
                return Ok(());
            }
            break;
        }
        if !line.trim_ascii().is_empty() {
            last = Some((at, line));
        }
    }
    let Some((at, line)) = last else { return Ok(()) };
    let marks = line.iter().take_while(|byte| b" \t#%".contains(byte)).count();
    let Some(kinds) = fields(&line[marks..]).iter().map(kind).collect::<Option<Vec<usize>>>()
    else {
        return Ok(());
    };
    let usual = kinds[..] == [0, 1] || kinds[..] == [0, 1, 2];
    if usual || !kinds.contains(&0) || !kinds.contains(&1) {
        return Ok(());
    }
    let what =
        format!("a comment that names columns in another order ({})", shown(line.trim_ascii()));
    let next = "take its mark away, or say --columns src=N,dst=N, counted from 1";
    Err(Fault::new(at, format!("{what} than source, target, weight; {next}")))
}

/// Whether values can only be names of columns or of nodes: none that begins with a digit or a sign.
fn are_words(values: &Values) -> bool {
    let word =
        |value: &Cow<[u8]>| value[0].is_ascii_alphabetic() || value[0] == b'_' || value[0] >= 128;
    let mut some = values.iter().filter(|value| !value.is_empty()).peekable();
    some.peek().is_some() && some.all(word)
}

fn is_real(value: &[u8]) -> bool {
    fast_float2::parse::<f64, _>(value).is_ok()
}

/// Which columns are what.
#[derive(Debug)]
pub(super) struct Layout {
    pub separator: Separator,
    pub src: usize,
    pub dst: usize,
    pub weight: Option<usize>,
    /// How many columns the first line has.
    pub columns: usize,
    /// How many columns there are, where that matters.
    count: Count,
    /// The names of source and target in the header, where they are so short that nodes may have them.
    pub letters: Option<[Vec<u8>; 2]>,
    /// The first arc's ids, where they may be names of columns: source and target.
    pub doubtful: Option<[Vec<u8>; 2]>,
    /// Where arcs begin.
    pub body: usize,
}

#[derive(Debug, Clone, Copy)]
enum Count {
    /// As many as the first line has.
    Exactly(usize),
    /// As many as the header names, or fewer.
    Named(usize),
    /// Enough for those that were chosen.
    Any,
}

/// What the user asked of the file.
pub(super) struct Asked<'a> {
    /// Nodes go up to the largest id, and no line holds counts.
    pub gap: bool,
    pub weights: FileWeights,
    pub options: &'a LoadOptions,
    /// What ids are: what the options say, or else a comment `# ids text`.
    pub ids: Ids,
    /// Where arcs go as they are parsed.
    pub uplink: Option<&'a Uplink>,
}

impl Layout {
    /// Looks at the lines from `body` on, of which the first is no comment.
    pub(super) fn of(bytes: &[u8], body: usize, asked: &Asked) -> Result<Layout, Fault> {
        let LoadOptions { columns, delimiter, .. } = asked.options;
        let separator = match *delimiter {
            Delimiter::Auto => Separator::of(bytes, body),
            Delimiter::Space => Separator::Blanks,
            Delimiter::Byte(byte) => Separator::Byte(byte),
        };
        let mut lines = text::lines(bytes, body).filter(|(_, line)| !is_comment(line));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let (at, line) = lines.next().ok_or_else(|| nothing(body))?;
        if *delimiter == Delimiter::Auto && separator == Separator::Byte(b',') {
            refuse_decimal_commas(bytes, body)?;
        }
        separator.split(line, at, &mut first)?;
        let behind = lines.next();
        if let Some((at, line)) = behind {
            separator.split(line, at, &mut second)?;
        }
        let look = Look { first: &first, second: &second, at, line, asked };
        let (header, [src, dst], weight) = match columns {
            Some(columns) => look.chosen(columns)?,
            None => look.usual()?,
        };
        let by_number = columns.as_ref().is_some_and(|columns| !names(columns));
        let next = (at + line.len() + 1).min(bytes.len());
        let pair = || [first[src].to_vec(), first[dst].to_vec()];
        let inside = src.max(dst) < first.len();
        let letters = (header && inside && first[src].len().max(first[dst].len()) == 1).then(pair);
        let doubtful = !header && columns.is_none() && are_words(&first);
        Ok(Layout {
            separator,
            src,
            dst,
            weight,
            columns: first.len(),
            count: match (by_number, header) {
                (true, _) => Count::Any,
                (_, true) => Count::Named(first.len()),
                (_, false) => Count::Exactly(first.len()),
            },
            letters,
            doubtful: (doubtful && inside).then(pair),
            body: if header { next } else { at },
        })
    }

    /// Refuses a line that has not got the columns.
    #[inline]
    pub(super) fn check(&self, values: &Values, at: usize, line: &[u8]) -> Result<(), Fault> {
        let found = values.len();
        let needed = self.src.max(self.dst).max(self.weight.unwrap_or(0));
        let missing = || {
            let what = format!("no column {} ({})", needed + 1, shown(line));
            Fault::new(
                at,
                format!("{what}; every line needs the columns of source, target and weight"),
            )
        };
        match self.count {
            Count::Exactly(count) if found != count => Err(misshapen(at, line)),
            Count::Named(count) if values.iter().skip(count).any(|value| !value.is_empty()) => {
                let what = format!("{found} columns where the first line names {count}");
                let next = "name as many, or count columns with --columns src=N,dst=N";
                Err(Fault::new(at, format!("{what} ({}); {next}", shown(line))))
            }
            _ if needed >= found => Err(missing()),
            _ => Ok(()),
        }
    }
}

pub(super) fn nothing(at: usize) -> Fault {
    Fault::new(at, "the graph is empty (no arcs in the file); give at least one")
}

pub(super) fn misshapen(at: usize, line: &[u8]) -> Fault {
    let what = format!("garbage line ({}); write `u v` or `u v weight`", shown(line));
    Fault::new(at, format!("{what}, alike on every line"))
}

fn names(columns: &Columns) -> bool {
    let all = [Some(&columns.src), Some(&columns.dst), columns.weight.as_ref()];
    all.into_iter().flatten().any(|column| matches!(column, ColumnName::Name(_)))
}

/// Whether there is a header, the columns of source and target, that of the weight.
type Found = (bool, [usize; 2], Option<usize>);

/// The first lines of a file.
struct Look<'a> {
    first: &'a Values<'a>,
    second: &'a Values<'a>,
    at: usize,
    line: &'a [u8],
    asked: &'a Asked<'a>,
}

impl Look<'_> {
    fn fault(&self, what: String) -> Fault {
        Fault::new(self.at, what)
    }

    /// The columns whose names are among these.
    fn called(&self, among: &[&str]) -> Vec<usize> {
        let is = |name: &[u8]| among.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(name));
        (0..self.first.len()).filter(|column| is(&self.first[*column])).collect()
    }

    /// Whether numbers follow a word in this column.
    fn turns(&self, column: usize, number: fn(&[u8]) -> bool) -> bool {
        let is = |values: &Values| values.get(column).is_some_and(|value| number(value));
        !is(self.first) && is(self.second)
    }

    fn chosen(&self, columns: &Columns) -> Result<Found, Fault> {
        let find = |column: &ColumnName| match column {
            ColumnName::Number(number) => Ok(number - 1),
            ColumnName::Name(name) => self.named(name),
        };
        let (src, dst) = (find(&columns.src)?, find(&columns.dst)?);
        if src == dst {
            let what = format!("source and target are both column {}", src + 1);
            return Err(self.fault(format!("{what}; correct --columns")));
        }
        let weight = columns.weight.as_ref().map(find).transpose()?;
        let usual = |column: usize, among: &[&str]| {
            self.called(among).contains(&column) && self.first[column].len() > 1
        };
        let named =
            |among: &[&str]| self.called(among).iter().any(|column| self.first[*column].len() > 1);
        let words = are_words(self.first);
        let missing = |value: &[u8]| {
            let words = ["", "na", "n/a", "null", "none"];
            words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        };
        let passed_over = |column: &usize| ![Some(src), Some(dst), weight].contains(&Some(*column));
        let above_numbers = (0..self.first.len())
            .filter(passed_over)
            .any(|column| !missing(&self.first[column]) && self.turns(column, is_real));
        let header = names(columns)
            || (words && (named(&SOURCES) || named(&TARGETS) || named(&WEIGHTS)))
            || (words && above_numbers)
            || (usual(src, &SOURCES) && usual(dst, &TARGETS))
            || weight.is_some_and(|weight| self.turns(weight, is_real))
            || (self.asked.ids != Ids::Text
                && words
                && [src, dst].iter().all(|column| self.turns(*column, text::is_number)));
        Ok((header, [src, dst], weight))
    }

    fn named(&self, name: &str) -> Result<usize, Fault> {
        let exact = |value: &&Cow<[u8]>| ***value == *name.as_bytes();
        let alike = |value: &&Cow<[u8]>| value.eq_ignore_ascii_case(name.as_bytes());
        let places = |is: &dyn Fn(&&Cow<[u8]>) -> bool| -> Vec<usize> {
            (0..self.first.len()).filter(|column| is(&&self.first[*column])).collect()
        };
        let (exact, alike) = (places(&exact), places(&alike));
        match (&exact[..], &alike[..]) {
            ([column], _) | ([], [column]) => Ok(*column),
            ([], []) => Err(self.fault(format!(
                "no column is called {} in the first line ({}); correct --columns, or count them from 1",
                shown(name.as_bytes()),
                shown(self.line)
            ))),
            _ => Err(self.fault(format!(
                "several columns are called {} ({}); count them from 1, as in --columns src=1,dst=2",
                shown(name.as_bytes()),
                shown(self.line)
            ))),
        }
    }

    /// The columns by their usual names, or by their places where no line names them.
    fn usual(&self) -> Result<Found, Fault> {
        let (sources, targets) = (self.called(&SOURCES), self.called(&TARGETS));
        let weights = self.called(&WEIGHTS);
        let long = |found: &[usize]| found.iter().any(|column| self.first[*column].len() > 1);
        let words = are_words(self.first) || (long(&sources) && long(&targets));
        if let ([src], [dst]) = (&sources[..], &targets[..])
            && words
        {
            let weight = match weights[..] {
                _ if !self.asked.weights.read() => None,
                [] => None,
                [weight] => Some(weight),
                _ => return Err(self.several("weight")),
            };
            return Ok((true, [*src, *dst], weight));
        }
        let several = [(&sources, "source"), (&targets, "target")];
        if let Some((_, what)) = several.iter().find(|(found, _)| found.len() > 1)
            && words
            && !sources.is_empty()
            && !targets.is_empty()
        {
            return Err(self.several(what));
        }
        let columns = self.first.len();
        let usual = long(&sources) || long(&targets) || long(&weights);
        let text = self.asked.ids == Ids::Text;
        let numbers = !text && (0..2).all(|column| self.turns(column, text::is_number));
        if words && (usual || numbers || (columns == 3 && self.turns(2, is_real))) {
            return Err(self.fault(format!(
                "the first line ({}) names no column a source or no column a target (src, source, from, u; dst, \
                 dest, target, to, v); say {FLAG}",
                shown(self.line)
            )));
        }
        match columns {
            2 => Ok((false, [0, 1], None)),
            3 => Ok((false, [0, 1], Some(2))),
            0 | 1 => Err(misshapen(self.at, self.line)),
            _ => Err(self.fault(format!(
                "{columns} columns without names ({}); say {FLAG}, columns counted from 1",
                shown(self.line)
            ))),
        }
    }

    fn several(&self, what: &str) -> Fault {
        let line = shown(self.line);
        self.fault(format!("several columns may be the {what} ({line}); say {FLAG}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(separator: Separator, line: &str) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        separator.split(line.as_bytes(), 0, &mut values).map_err(|fault| fault.what)?;
        Ok(values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect())
    }

    #[test]
    fn values_are_split_at_separators_outside_quotes() {
        let comma = Separator::Byte(b',');
        assert_eq!(
            split(comma, "a, b ,\"c, d\",\"e \"\"f\"\"\"\r").unwrap(),
            ["a", "b", "c, d", "e \"f\""]
        );
        assert_eq!(split(comma, "a,,").unwrap(), ["a", "", ""]);
        assert_eq!(split(comma, "\"\",5\" disk").unwrap(), ["", "5\" disk"]);
        assert_eq!(split(comma, " \t\r").unwrap().len(), 0);
        assert_eq!(split(Separator::Byte(b'\t'), "a b\t\t c").unwrap(), ["a b", "", "c"]);
        assert_eq!(split(Separator::Blanks, "  a \t \"b c\" d ").unwrap(), ["a", "b c", "d"]);
        for (line, part) in [("\"a", "does not end"), ("\"a\" b,c", "behind a closing quote")] {
            assert!(split(comma, line).unwrap_err().contains(part));
        }
        assert!(split(Separator::Blanks, "\"a\"b").unwrap_err().contains("behind"));
    }

    #[test]
    fn the_first_lines_say_what_separates() {
        for (text, separator) in [
            ("a;b;0,5\nc;d;1,5\n", Separator::Byte(b';')),
            ("src,dst\nNew York,Boston\n", Separator::Byte(b',')),
            ("src,dst\na;b,c;d\n", Separator::Byte(b',')),
            ("a|b\nb|c\n", Separator::Byte(b'|')),
            ("New York\tBoston, MA\nA\tB, C\n", Separator::Byte(b'\t')),
            ("a b\nb c\n", Separator::Blanks),
            ("\"a b\" c\n", Separator::Blanks),
            ("a,b\n# c\nc\n", Separator::Byte(b',')),
        ] {
            assert_eq!(Separator::of(text.as_bytes(), 0), separator, "{text}");
        }
    }
}
