//! What the text formats share: lines in parallel, fields, numbers, and errors that name the line.

use super::progress;
use super::uplink::Uplink;
use crate::error::Error;
use crate::graph::options::FileWeights;
use crate::graph::{ArcList, MAX_NODES};
use crate::threads::Body;
use memchr::memchr;
use rayon::prelude::*;
use std::fmt::Display;

/// A chunk is long enough to be worth a task, and short enough to spread over the threads.
const CHUNK: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 22;

/// A complaint about one line: where it starts in the file, and what is wrong.
#[derive(Debug)]
pub(super) struct Fault {
    pub at: usize,
    pub what: String,
    /// An id that 32 bits cannot hold and 64 can: worth another try where that is allowed.
    pub wide_id: bool,
    /// An id that is no whole number, which may be a name.
    pub no_number: bool,
}

impl Fault {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into(), wide_id: false, no_number: false }
    }

    /// The error for the user. Lines are counted only now: the fast path never does.
    pub(super) fn into_error(self, path: &str, bytes: &[u8]) -> Error {
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..self.at]).count();
        Error::input(format!("{path}:{line}: {}", self.what))
    }
}

/// The lines of `bytes[start..]`, each with the position where it starts, without its newline.
pub(super) fn lines(bytes: &[u8], start: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = (at, &rest[..length]);
        at += length + 1;
        Some(line)
    })
}

/// Parses `bytes[start..]` in parallel. `parse` gets (position, line) pairs and makes a part; the parts
/// come back in file order, or else the first fault in file order.
pub(super) fn parse_parts<'a, T: Send>(
    bytes: &'a [u8],
    start: usize,
    parse: impl Fn(&mut dyn Iterator<Item = (usize, &'a [u8])>) -> Result<T, Fault> + Sync,
) -> Result<Vec<T>, Fault> {
    let size = (bytes.len() - start) / (4 * rayon::current_num_threads());
    let size = size.clamp(*CHUNK.start(), *CHUNK.end());
    let mut cuts = vec![start];
    let mut end = start;
    while end < bytes.len() {
        let from = (end + size).min(bytes.len());
        end = memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |newline| from + newline + 1);
        cuts.push(end);
    }
    progress::begin(bytes.len() - start);
    let part: Body<&[usize], Result<T, Fault>> = &|cut| {
        let part = parse(&mut lines(&bytes[..cut[1]], cut[0]));
        progress::advance(cut[1] - cut[0]);
        part
    };
    let parts: Vec<_> = cuts.par_windows(2).map(part).collect();
    parts.into_iter().collect()
}

/// [`parse_parts`] of lists of arcs, which go up to a GPU as they are parsed, where there is one.
pub(super) fn parse_arcs<'a>(
    bytes: &'a [u8],
    start: usize,
    uplink: Option<&Uplink>,
    parse: impl Fn(&mut dyn Iterator<Item = (usize, &'a [u8])>) -> Result<ArcList, Fault> + Sync,
) -> Result<Vec<ArcList>, Fault> {
    uplink.inspect(|uplink| uplink.begin());
    parse_parts(bytes, start, |lines| {
        let mut list = parse(lines)?;
        uplink.inspect(|uplink| uplink.send(&mut list));
        Ok(list)
    })
}

/// The fields of a line, separated by blanks, tabs and, if `COMMA`, commas.
pub(super) struct Fields<'a, const COMMA: bool>(pub &'a [u8]);

impl<'a, const COMMA: bool> Iterator for Fields<'a, COMMA> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let separates =
            |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r') || (COMMA && *byte == b',');
        let begin = self.0.iter().position(|byte| !separates(byte))?;
        let rest = &self.0[begin..];
        let length = rest.iter().position(separates).unwrap_or(rest.len());
        self.0 = &rest[length..];
        Some(&rest[..length])
    }
}

/// Digits as a number; `None` for anything else, or beyond u64.
#[inline]
pub(super) fn integer(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A node id as it stands in the file, at most `most`.
#[inline]
pub(super) fn id(field: &[u8], most: u64, at: usize) -> Result<u64, Fault> {
    match integer(field) {
        Some(id) if id <= most => Ok(id),
        Some(_) => Err(Fault { wide_id: true, ..Fault::new(at, beyond(field)) }),
        None => Err(no_id(field, at)),
    }
}

/// An id from 1 to `nodes` as a node.
#[inline]
pub(super) fn id_from_1(field: &[u8], nodes: u64, at: usize) -> Result<u32, Fault> {
    let id = id(field, MAX_NODES, at)?;
    if id == 0 || id > nodes {
        return Err(Fault::new(at, format!("id out of range ({id}); ids run from 1 to {nodes}")));
    }
    Ok((id - 1) as u32)
}

/// Refuses a number of nodes that no graph has.
pub(super) fn node_count(nodes: u64) -> Result<(), String> {
    match nodes {
        0 => Err("the graph is empty (0 nodes); give at least one node".into()),
        1..=MAX_NODES => Ok(()),
        _ => Err(format!("too many nodes ({nodes}); ids are 32 bits wide: at most {MAX_NODES}")),
    }
}

pub(super) fn rectangular(rows: impl Display, columns: impl Display) -> String {
    format!("the matrix is rectangular ({rows} x {columns}); a graph needs a square one")
}

/// Reads arcs `u v`, or `u v weight` where there are weights, one a line. A line whose first field begins with a mark
/// is a comment.
#[inline]
pub(super) fn arcs<const COMMA: bool, I>(
    lines: &mut dyn Iterator<Item = (usize, &[u8])>,
    weights: Option<FileWeights>,
    is_mark: impl Fn(u8) -> bool,
    id: impl Fn(&[u8], usize) -> Result<I, Fault>,
    misshapen: impl Fn(usize, &[u8]) -> Fault,
) -> Result<ArcList<I>, Fault> {
    let mut list = ArcList { pairs: Vec::new(), weights: Vec::new(), copy: None };
    for (at, line) in lines {
        let mut fields = Fields::<COMMA>(line);
        let Some(first) = fields.next().filter(|first| !is_mark(first[0])) else {
            continue;
        };
        let second = fields.next().ok_or_else(|| misshapen(at, line))?;
        let pair = (id(first, at)?, id(second, at)?);
        if let Some(wanted) = weights {
            let field = fields.next().ok_or_else(|| misshapen(at, line))?;
            if wanted.read() {
                list.weights.push(weight(field, at, wanted)?);
            }
        }
        if fields.next().is_some() {
            return Err(misshapen(at, line));
        }
        list.pairs.push(pair);
    }
    Ok(list)
}

/// A node id of 64 bits.
#[inline]
pub(super) fn wide_id(field: &[u8], at: usize) -> Result<u64, Fault> {
    integer(field).ok_or_else(|| no_id(field, at))
}

#[cold]
fn beyond(field: &[u8]) -> String {
    let most = MAX_NODES - 1;
    format!(
        "id beyond 32 bits ({}); ids go up to {most}: renumber the nodes without gaps",
        shown(field)
    )
}

/// A complaint about what is no node id of 64 bits; what looks like a number is not taken for a name.
#[cold]
pub(super) fn no_id(field: &[u8], at: usize) -> Fault {
    let id = shown(field);
    let what = match is_number(field) {
        true if field[0] != b'-' => format!("id beyond 64 bits ({id}); renumber the nodes"),
        _ => format!("not a node id ({id}); ids are whole numbers: number the nodes"),
    };
    Fault { no_number: !is_number(field), ..Fault::new(at, what) }
}

/// Digits, with a sign before them or not.
pub(super) fn is_number(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// From here on f32 does not hold every whole number.
const WHOLE: f32 = 16_777_216.0;

/// A weight: finite and >= 0, with -0 made 0. A whole number that f32 does not hold is an error, unless weights are
/// to be rounded.
#[inline]
pub(super) fn weight(field: &[u8], at: usize, wanted: FileWeights) -> Result<f32, Fault> {
    let Ok(weight) = fast_float2::parse::<f32, _>(field) else {
        return Err(Fault::new(at, format!("not a weight ({}); give a number", shown(field))));
    };
    let wrong = if weight.is_nan() {
        "weight is not a number"
    } else if weight.is_infinite() {
        "weight is infinite in 32 bits"
    } else if weight < 0.0 {
        "weight is negative"
    } else {
        if weight >= WHOLE && wanted != FileWeights::Rounded {
            return held(field, weight, at);
        }
        return Ok(if weight == 0.0 { 0.0 } else { weight });
    };
    let value = shown(field);
    let next = "weights must be finite and >= 0, or are passed over by --weights unit";
    Err(Fault::new(at, format!("{wrong} ({value}); {next}")))
}

/// The weight, which `field` was read as, unless the field is another whole number.
#[cold]
fn held(field: &[u8], weight: f32, at: usize) -> Result<f32, Fault> {
    let digits = std::str::from_utf8(field).ok().and_then(|text| text.parse::<u128>().ok());
    let held = match digits {
        Some(number) => weight as u128 == number,
        None => fast_float2::parse::<f64, _>(field)
            .map_or(true, |number| number.fract() != 0.0 || f64::from(weight) == number),
    };
    if held { Ok(weight) } else { Err(Fault::new(at, rounds(&shown(field)))) }
}

/// What is wrong with the whole number `value` as a weight.
pub(super) fn rounds(value: &str) -> String {
    format!(
        "weight is a whole number that 32-bit floats do not hold ({value}); make weights smaller, or round them \
         with --weights rounded"
    )
}

/// Part of the input inside a one-line message: printable and short.
pub(super) fn shown(field: &[u8]) -> String {
    const MOST: usize = 40;
    let text = field[..field.len().min(MOST)].escape_ascii();
    if field.len() > MOST { format!("{text}...") } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_place_in_the_file_and_the_last_needs_no_newline() {
        let bytes = b"x\na\n\nbc";
        let found: Vec<_> = lines(bytes, 2).collect();
        assert_eq!(found, [(2, &b"a"[..]), (4, b""), (5, b"bc")]);
        assert_eq!(lines(b"a\n", 2).count(), 0);
    }

    #[test]
    fn parallel_parts_see_every_line_once_and_in_order() {
        let text: String = (0..100_000).map(|i| format!("{i}\n")).collect();
        let parts = parse_parts(text.as_bytes(), 0, |lines| {
            Ok(lines.map(|(_, line)| integer(line).unwrap()).collect::<Vec<_>>())
        })
        .unwrap();
        assert!(parts.len() > 1);
        assert!(parts.concat().into_iter().eq(0..100_000));
    }

    #[test]
    fn numbers_are_whole_fields() {
        assert_eq!(integer(b"042"), Some(42));
        assert_eq!(integer(b"18446744073709551615"), Some(u64::MAX));
        for wrong in [&b""[..], b"-1", b"+1", b"1.0", b"1x", b"18446744073709551616"] {
            assert_eq!(integer(wrong), None);
        }
        assert!(weight(b"-0", 0, FileWeights::Exact).unwrap().is_sign_positive());
        assert_eq!(weight(b"1e-3", 0, FileWeights::Exact).unwrap(), 1e-3);
        for wrong in [&b"-1"[..], b"nan", b"inf", b"-inf", b"1e39", b"x", b"1,5", b""] {
            assert!(weight(wrong, 0, FileWeights::Exact).is_err());
        }
    }

    #[test]
    fn whole_weights_that_f32_does_not_hold_are_refused_or_rounded() {
        let big = u128::MAX >> 1;
        let big = big.to_string();
        for (field, rounded) in [
            ("16777217", 16_777_216f32),
            ("16777217.0", 16_777_216.0),
            ("1.6777217e7", 16_777_216.0),
            ("+33554433", 33_554_432.0),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("1e20", 1e20),
            (&big, 1.7014118e38),
        ] {
            let fault = weight(field.as_bytes(), 3, FileWeights::Exact).unwrap_err();
            assert!(fault.what.contains(field) && fault.what.contains("--weights rounded"));
            assert_eq!(fault.at, 3);
            assert_eq!(weight(field.as_bytes(), 0, FileWeights::Rounded).unwrap(), rounded);
        }
        for held in ["16777216", "16777218", "1.6777218e7", "16777217.5", "2500000000", "0.1"] {
            let weight = weight(held.as_bytes(), 0, FileWeights::Exact).unwrap();
            assert_eq!(weight, held.parse::<f32>().unwrap());
        }
    }

    #[test]
    fn shown_values_stay_short_and_on_one_line() {
        assert_eq!(shown(b"a\tb\n\xff"), "a\\tb\\n\\xff");
        assert_eq!(shown(&[b'a'; 100]).len(), 43);
    }
}
