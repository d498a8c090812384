//! Shortest-path files of the 9th DIMACS Implementation Challenge
//! (<http://www.diag.uniroma1.it/challenge9/format.shtml>): `c` comments, `p sp NODES ARCS`, then a line
//! `a FROM TO LENGTH` per arc, ids from 1.
//!
//! Coordinates come in a file of their own: `p aux sp co NODES`, then `v ID LONGITUDE LATITUDE` in
//! millionths of a degree.

use super::labels::{Locations, Place, place};
use super::parsed::{Arcs, Headline, Nodes, Parsed};
use super::text::{self, Fault, Fields, shown};
use super::uplink::Uplink;
use crate::graph::ArcList;
use crate::graph::options::FileWeights;

/// Units of a degree in a coordinates file.
const PER_DEGREE: f64 = 1e6;

struct Problem<'a> {
    at: usize,
    words: Vec<&'a [u8]>,
    /// Where the line behind it starts.
    body: usize,
}

/// Whether the first line that is no comment poses a shortest-path problem.
pub(super) fn is_problem(bytes: &[u8]) -> bool {
    problem(bytes).is_ok_and(|problem| problem.words.get(1) == Some(&&b"sp"[..]))
}

/// Whether the first line that is no comment announces coordinates.
pub(super) fn is_coordinates(bytes: &[u8]) -> bool {
    problem(bytes).is_ok_and(|problem| problem.words.get(1) == Some(&&b"aux"[..]))
}

/// What the problem line promises.
pub(super) fn headline(start: &[u8]) -> Option<Headline> {
    let problem = problem(start).ok()?;
    let [b"p", b"sp", nodes, arcs] = problem.words[..] else { return None };
    let (nodes, arcs) = (text::integer(nodes)?, text::integer(arcs)?);
    Some(Headline { format: "dimacs", nodes, arcs, weighted: true, symmetric: false })
}

/// Reads the whole content of a file of arcs; lengths are passed over unless `weights` are wanted.
pub(super) fn parse(
    bytes: &[u8],
    weights: FileWeights,
    uplink: Option<&Uplink>,
) -> Result<Parsed, Fault> {
    let problem = problem(bytes)?;
    let [b"p", b"sp", nodes, arcs] = problem.words[..] else {
        return Err(misposed(&problem, "p sp NODES ARCS"));
    };
    let (count, promised) = (count(nodes, problem.at)?, count(arcs, problem.at)?);
    text::node_count(count).map_err(|what| Fault::new(problem.at, what))?;
    let parse = |lines: &mut dyn Iterator<Item = (usize, &[u8])>| arcs_of(count, weights, lines);
    let lists = text::parse_arcs(bytes, problem.body, uplink, parse)?;
    let found = lists.iter().map(|list| list.pairs.len() as u64).sum();
    if found != promised {
        return Err(miscounted(&problem, promised, found, "arcs"));
    }
    let arcs = Arcs::Lists(lists, Nodes::Declared { count, first: 1 });
    Ok(Parsed::new("dimacs", arcs, weights.read()))
}

/// Reads the whole content of a file of coordinates.
pub(super) fn parse_coordinates(bytes: &[u8]) -> Result<Locations, Fault> {
    let problem = problem(bytes)?;
    let [b"p", b"aux", b"sp", b"co", nodes] = problem.words[..] else {
        return Err(misposed(&problem, "p aux sp co NODES"));
    };
    let nodes = count(nodes, problem.at)?;
    let places = text::parse_parts(bytes, problem.body, |lines| places(nodes, lines))?.concat();
    if places.len() as u64 != nodes {
        return Err(miscounted(&problem, nodes, places.len() as u64, "nodes"));
    }
    Locations::of(places, Some(1), |id| format!("id {id}"))
}

/// Finds the `p` line behind the comments.
fn problem(bytes: &[u8]) -> Result<Problem<'_>, Fault> {
    for (at, line) in text::lines(bytes, 0) {
        let mut words = Fields::<false>(line).peekable();
        match words.peek() {
            None => {}
            Some(first) if is_comment(first) => {}
            Some(&b"p") => {
                let body = (at + line.len() + 1).min(bytes.len());
                return Ok(Problem { at, words: words.collect(), body });
            }
            Some(_) => {
                let what = format!("no problem line ({})", shown(line));
                return Err(Fault::new(at, format!("{what}; begin with `p sp NODES ARCS`")));
            }
        }
    }
    Err(Fault::new(bytes.len(), "no problem line; the file is truncated: fetch it again"))
}

fn is_comment(first: &[u8]) -> bool {
    first == b"c"
}

fn misposed(problem: &Problem, wanted: &str) -> Fault {
    let line = shown(&problem.words.join(&b' '));
    Fault::new(problem.at, format!("cannot read this problem ({line}); it must be `{wanted}`"))
}

fn miscounted(problem: &Problem, promised: u64, found: u64, what: &str) -> Fault {
    let fate = if found < promised { "is truncated" } else { "is longer than it should be" };
    Fault::new(
        problem.at,
        format!(
            "the file {fate} or its header lies about counts ({promised} {what} promised, {found} \
             found); fetch it again"
        ),
    )
}

fn count(field: &[u8], at: usize) -> Result<u64, Fault> {
    text::integer(field)
        .ok_or_else(|| Fault::new(at, format!("not a count ({}); correct the line", shown(field))))
}

/// The fields of a line `KIND x y z`, or `None` for a comment or an empty line.
fn fields<'a>(kind: &str, line: &'a [u8], at: usize) -> Result<Option<[&'a [u8]; 3]>, Fault> {
    let mut fields = Fields::<false>(line);
    let Some(first) = fields.next() else { return Ok(None) };
    if is_comment(first) {
        return Ok(None);
    }
    let numbers = (fields.next(), fields.next(), fields.next(), fields.next());
    match numbers {
        (Some(x), Some(y), Some(z), None) if first == kind.as_bytes() => Ok(Some([x, y, z])),
        _ => {
            let wanted = if kind == "a" { "a FROM TO LENGTH" } else { "v ID LONGITUDE LATITUDE" };
            Err(Fault::new(at, format!("garbage line ({}); write `{wanted}`", shown(line))))
        }
    }
}

fn arcs_of(
    nodes: u64,
    weights: FileWeights,
    lines: &mut dyn Iterator<Item = (usize, &[u8])>,
) -> Result<ArcList, Fault> {
    let mut list = ArcList::default();
    for (at, line) in lines {
        let Some([u, v, length]) = fields("a", line, at)? else { continue };
        list.pairs.push((text::id_from_1(u, nodes, at)?, text::id_from_1(v, nodes, at)?));
        if weights.read() {
            list.weights.push(text::weight(length, at, weights)?);
        }
    }
    Ok(list)
}

fn places(
    nodes: u64,
    lines: &mut dyn Iterator<Item = (usize, &[u8])>,
) -> Result<Vec<Place>, Fault> {
    let mut places = Vec::new();
    for (at, line) in lines {
        let Some([id, x, y]) = fields("v", line, at)? else { continue };
        let id = u64::from(text::id_from_1(id, nodes, at)?) + 1;
        places.push(place(id, y, x, PER_DEGREE, at)?);
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::parsed::tests::{Found, found};

    fn arcs(text: &str) -> Result<Found, String> {
        found("g.gr", text.as_bytes(), parse(text.as_bytes(), FileWeights::Exact, None))
    }

    #[test]
    fn arcs_are_read_with_ids_from_1_and_comments_anywhere() {
        let text = "c a comment\n\np sp 3 2\nc more\na 1 3 7\r\na 3 3 0\n";
        assert!(is_problem(text.as_bytes()) && !is_coordinates(text.as_bytes()));
        assert_eq!(arcs(text).unwrap(), (3, vec![(0, 2), (2, 2)], vec![7.0, 0.0]));
    }

    #[test]
    fn what_does_not_add_up_is_refused_at_its_line() {
        for (text, part) in [
            ("c x\np sp 3 3\na 1 2 1\n", "g.gr:2: the file is truncated"),
            ("p sp 3 0\na 1 2 1\n", "g.gr:1: the file is longer"),
            ("p sp 2 1\na 1 3 1\n", "g.gr:2: id out of range (3)"),
            ("p sp 2 1\na 0 1 1\n", "g.gr:2: id out of range (0)"),
            ("p sp 2 1\na 1 2 -1\n", "g.gr:2: weight is negative (-1)"),
            ("p sp 2 1\na 1 2\n", "g.gr:2: garbage line (a 1 2)"),
            ("p sp 2 1\ne 1 2 1\n", "g.gr:2: garbage line (e 1 2 1)"),
            ("p sp 0 0\n", "g.gr:1: the graph is empty"),
            ("p sp 99999999999 0\n", "g.gr:1: too many nodes"),
            ("p max 2 1\n", "g.gr:1: cannot read this problem (p max 2 1)"),
            ("p sp x 1\n", "g.gr:1: not a count (x)"),
            ("c only\n", "g.gr:2: no problem line"),
            ("1 2 3\n", "g.gr:1: no problem line (1 2 3)"),
        ] {
            let message = arcs(text).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }

    #[test]
    fn coordinates_are_degrees_by_id() {
        let text = b"c\np aux sp co 2\nv 2 -73530767 41085396\nv 1 0 -90000000\n";
        assert!(is_coordinates(text));
        let found = parse_coordinates(text).unwrap();
        assert_eq!((found.ids, found.first_id), (vec![1, 2], Some(1)));
        assert_eq!(found.latitude, [-90.0, 41.085396]);
        assert_eq!(found.longitude, [0.0, -73.530767]);
        for (text, part) in [
            ("p aux sp co 2\nv 1 0 0\n", "g.co:1: the file is truncated"),
            ("p aux sp co 2\nv 1 0 0\nv 1 1 1\n", "g.co:3: id 1 is placed twice"),
            ("p aux sp co 1\nv 1 0 91000000\n", "g.co:2: latitude"),
            ("p aux sp co 1\nv 1 x 0\n", "g.co:2: not a longitude (x)"),
        ] {
            let fault = parse_coordinates(text.as_bytes()).unwrap_err();
            let message = fault.into_error("g.co", text.as_bytes()).to_string();
            assert!(message.starts_with(part), "{message}");
        }
    }
}
