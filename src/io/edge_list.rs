//! Edge lists: a line per arc, `u v` or `u v weight`. Lines that start with `#` or `%` are comments (SNAP's and
//! KONECT's). The nodes are the ids that occur, whole numbers of up to 64 bits or names; with a comment
//! `# nodes N arcs M` above the arcs they are 0 to N-1, and in files named `.el` or `.wel` (GAP's) 0 to the
//! largest.
//!
//! Plain files, two or three columns of numbers separated by blanks, tabs or commas, are read the fast way. All
//! others, and those that turn out not to be plain, are read by `delimited`: other separators, quotes, more
//! columns, a header that names them, names as ids.
//!
//! Some files open with a line `n m`. It looks like an arc, so it is judged by what follows: it counts nodes and
//! arcs if the arcs have a third column and it has not, or if exactly m arcs follow, all ids are below n or they are
//! 1 to n, and m is above them all. Where it fits but m might be an id, the file is refused, and the user says which it is.
//! A first line that would be an odd arc but likely counts (m exceeds every other id, and so
//! does n, or else m is the number of arcs) but does not fit is refused: the file is cut short, or an id is
//! out of range.

use super::compact::{self, Called};
use super::delimited::{self, Asked, Layout, Values, apart, is_comment, misshapen, nothing};
use super::parsed::{Arcs, Nodes, Parsed};
use super::rows::{self, Ends};
use super::text::{self, Fault, Fields, shown};
use super::uplink::Uplink;
use crate::aside::write_aside;
use crate::error::Result;
use crate::graph::options::{CountsLine, Delimiter, FileWeights, Ids, LoadOptions};
use crate::graph::{ArcList, Graph, MAX_NODES, Texts};
use std::io::Write;
use std::path::Path;

/// With fewer arcs than this, a first line that does not fit as counts is an arc.
const ENOUGH_TO_SUSPECT: u64 = 8;

/// A line `n m` at the top of the file, or an arc that looks like one.
struct First {
    at: usize,
    /// Where the line behind it starts.
    next: usize,
    n: u64,
    m: u64,
}

impl First {
    /// What to do if it is an arc, at the end of an error.
    fn doubt(&self) -> String {
        format!(
            ", or give --counts-line no if the first line ({} {}) is an arc, not counts",
            self.n, self.m
        )
    }
}

/// What the top of the file tells.
struct Top {
    /// Where the first line with an arc starts, or one that looks like it.
    body: usize,
    /// The first line, if it might hold counts.
    first: Option<First>,
    /// Whether it certainly does.
    certain: bool,
    /// A comment `# nodes N arcs M`.
    comment: Option<First>,
}

/// An id from 0 as a node.
#[inline]
fn node(field: &[u8], at: usize) -> Result<u32, Fault> {
    Ok(text::id(field, MAX_NODES - 1, at)? as u32)
}

/// How arcs stand in lines.
trait Rows: Sync {
    /// The arcs on these lines, with ids as `id` reads them.
    fn arcs<I>(
        &self,
        lines: &mut dyn Iterator<Item = (usize, &[u8])>,
        id: impl Fn(&[u8], usize) -> Result<I, Fault>,
    ) -> Result<ArcList<I>, Fault>;

    fn weighted(&self) -> bool;
}

/// Two or three columns of numbers, separated by blanks, tabs and commas.
struct Plain {
    weighted: bool,
    weights: FileWeights,
}

/// What [`Layout`] says.
struct Columns<'a> {
    layout: &'a Layout,
    weights: FileWeights,
}

/// Reads the whole content of a file. `gap` says that the nodes go up to the largest id; a third column is
/// passed over unless weights are wanted.
pub(super) fn parse(
    bytes: &[u8],
    gap: bool,
    options: &LoadOptions,
    uplink: Option<&Uplink>,
) -> Result<Parsed, Fault> {
    let ids = match options.ids {
        Ids::Auto if says_text(bytes) => Ids::Text,
        ids => ids,
    };
    let asked = Asked { gap, weights: options.weights.in_file(), options, ids, uplink };
    if options.columns.is_none() {
        delimited::refuse_marked_header(bytes)?;
    }
    match plain(bytes, &asked)? {
        Some(parsed) => Ok(parsed),
        None => by_columns(bytes, &asked),
    }
}

fn parsed(arcs: Arcs, weighted: bool) -> Parsed {
    Parsed::new("edge-list", arcs, weighted)
}

/// The file, if it is a plain one.
fn plain(bytes: &[u8], asked: &Asked) -> Result<Option<Parsed>, Fault> {
    let LoadOptions { columns, delimiter, .. } = asked.options;
    if columns.is_some() || *delimiter != Delimiter::Auto || asked.ids == Ids::Text {
        return Ok(None);
    }
    let comment = comment(bytes);
    let mut lines = text::lines(bytes, 0).filter(|(_, line)| !is_comment(line));
    let Some((mut body, mut line)) = lines.next() else {
        return without_arcs(comment).map(Some);
    };
    let mut headed = false;
    if let Some(count) = standard_names(line) {
        (body, line) = lines.next().ok_or_else(|| nothing(body))?;
        headed = true;
        let yes = asked.options.counts_line == CountsLine::Yes;
        if yes || Fields::<true>(line).count() != count {
            return Ok(None);
        }
    }
    // A value may be missing between two commas; that is for those who count columns.
    let commas = || {
        let find = |what: &[u8]| memchr::memmem::find(&bytes[body..], what).is_some();
        line.contains(&b',') && (line[0] == b',' || find(b",,") || find(b"\n,"))
    };
    let columns = Fields::<true>(line).count();
    let second = lines.next().map(|(_, line)| Fields::<true>(line).count());
    let first = match headed {
        true => None,
        false => first_line(asked, comment.is_some(), (body, line), bytes)?,
    };
    let yes = asked.options.counts_line == CountsLine::Yes;
    let certain = first.is_some() && (second == Some(3) || yes);
    if (!certain && !(2..=3).contains(&columns)) || commas() {
        return Ok(None);
    }
    let third = if certain { second == Some(3) } else { columns == 3 };
    let rows = Plain { weighted: third, weights: asked.weights };
    let top = Top { body, first, certain, comment };
    match numbers(bytes, &top, &rows, asked) {
        Err(fault) if fault.no_number => Ok(None),
        other => other.map(Some),
    }
}

/// A file that has no more than a comment with counts.
fn without_arcs(comment: Option<First>) -> Result<Parsed, Fault> {
    let Some(comment) = comment.filter(|comment| comment.n > 0) else { return Err(nothing(0)) };
    promised(&comment, 0, ", or delete the comment")?;
    few_enough(&comment)?;
    let nodes = Nodes::Declared { count: comment.n, first: 0 };
    Ok(parsed(Arcs::Lists(Vec::new(), nodes), false))
}

/// How many columns a line names, if it names source and target, in this order, and at most a weight.
fn standard_names(line: &[u8]) -> Option<usize> {
    let is = |field: Option<&[u8]>, name: [&str; 2]| {
        field.is_some_and(|field| name.iter().any(|one| field.eq_ignore_ascii_case(one.as_bytes())))
    };
    let mut fields = Fields::<true>(line);
    if !is(fields.next(), ["src", "source"]) || !is(fields.next(), ["dst", "target"]) {
        return None;
    }
    match fields.next() {
        None => Some(2),
        weight if is(weight, ["weight", "w"]) && fields.next().is_none() => Some(3),
        _ => None,
    }
}

/// Whether a comment `# ids text` is above the arcs.
fn says_text(bytes: &[u8]) -> bool {
    let mut comments = text::lines(bytes, 0).take_while(|(_, line)| is_comment(line));
    comments.any(|(_, line)| Fields::<false>(line).eq([&b"#"[..], b"ids", b"text"]))
}

/// A comment `# nodes N arcs M` above the arcs.
fn comment(bytes: &[u8]) -> Option<First> {
    let comments = text::lines(bytes, 0).take_while(|(_, line)| is_comment(line));
    comments.into_iter().find_map(|(at, line)| {
        let fields: Vec<&[u8]> = Fields::<false>(line).take(6).collect();
        let [b"#", b"nodes", n, b"arcs", m] = fields[..] else { return None };
        let number = |field: &[u8]| {
            let digits = field.iter().all(u8::is_ascii_digit);
            text::integer(field).or(digits.then_some(u64::MAX))
        };
        Some(First { at, next: at, n: number(n)?, m: number(m)? })
    })
}

/// The first line, if it might hold counts; `counted` says that a comment does.
fn first_line(
    asked: &Asked,
    counted: bool,
    (at, line): (usize, &[u8]),
    bytes: &[u8],
) -> Result<Option<First>, Fault> {
    let fields: Vec<Option<u64>> = apart(line).take(3).map(text::integer).collect();
    let next = (at + line.len() + 1).min(bytes.len());
    let likely = !asked.gap && !counted && asked.options.columns.is_none();
    match (&fields[..], asked.options.counts_line) {
        (&[Some(n), Some(m)], CountsLine::Yes) => Ok(Some(First { at, next, n, m })),
        (&[Some(n), Some(m)], CountsLine::Auto) if likely => Ok(Some(First { at, next, n, m })),
        (_, CountsLine::Yes) => {
            let what = format!("the first line ({}) is no pair of counts", shown(line));
            Err(Fault::new(at, format!("{what}; leave --counts-line yes out")))
        }
        _ => Ok(None),
    }
}

/// The file, if its ids are whole numbers.
fn numbers<R: Rows>(bytes: &[u8], top: &Top, rows: &R, asked: &Asked) -> Result<Parsed, Fault> {
    let fault = match narrow(bytes, top, rows, asked) {
        Err(fault) if fault.wide_id && !asked.gap && !top.certain && top.comment.is_none() => fault,
        other => return other,
    };
    // Once more, for an id needs 64 bits.
    let lists = text::parse_parts(bytes, top.body, |lines| rows.arcs(lines, text::wide_id))?;
    let found = found(&lists);
    // Counts that the arcs' number confirms were not meant to be followed by such ids.
    let confirmed = |first: &First| found.checked_sub(1) == Some(first.m);
    if top.first.as_ref().is_some_and(confirmed) && found > ENOUGH_TO_SUSPECT {
        return Err(fault);
    }
    Ok(parsed(Arcs::Wide(lists), rows.weighted() && asked.weights.read()))
}

/// The file, if its ids fit into 32 bits.
fn narrow<R: Rows>(bytes: &[u8], top: &Top, rows: &R, asked: &Asked) -> Result<Parsed, Fault> {
    let body = top.first.as_ref().map_or(top.body, |first| first.next);
    let parse = |lines: &mut dyn Iterator<Item = (usize, &[u8])>| rows.arcs(lines, node);
    let mut lists = text::parse_arcs(bytes, body, asked.uplink, parse)?;
    let mut nodes = if asked.gap { Nodes::UpToLargest } else { Nodes::Occurring };
    let counts = top.first.as_ref().map(|first| Counts::of(first, &lists));
    let taken = match &counts {
        Some(counts) => counts.hold(top.certain, bytes)?,
        None => false,
    };
    if let Some(Counts { first, bound, from_1, .. }) = counts.filter(|_| taken) {
        if bound > first.n && !from_1 {
            return Err(out_of_range(bytes, first, &first.doubt(), rows));
        }
        if first.n == 0 {
            let what = "the graph is empty (0 nodes); give at least one arc";
            return Err(Fault::new(first.at, what));
        }
        nodes = match from_1 {
            true => Nodes::Counted { count: first.n },
            false => Nodes::Declared { count: first.n, first: 0 },
        };
    } else if let Some(first) = &top.first {
        let mut line = text::lines(&bytes[..first.next], first.at);
        lists.insert(0, rows.arcs(&mut line, node)?);
    }
    if let Some(comment) = &top.comment {
        promised(comment, found(&lists), ", or delete the comment")?;
        few_enough(comment)?;
        let first = u64::from(matches!(nodes, Nodes::Counted { .. }));
        if compact::bound(&lists) - first > comment.n {
            return Err(out_of_range(bytes, comment, "", rows));
        }
        if !taken {
            nodes = Nodes::Declared { count: comment.n, first: 0 };
        }
    }
    let weighted = rows.weighted() && asked.weights.read();
    Ok(Parsed { counts_line: taken, ..parsed(Arcs::Lists(lists, nodes), weighted) })
}

fn found<I>(lists: &[ArcList<I>]) -> u64 {
    lists.iter().map(|list| list.pairs.len() as u64).sum()
}

/// A first line that may hold counts, and the arcs behind it.
struct Counts<'a> {
    first: &'a First,
    found: u64,
    /// One more than their largest id.
    bound: u64,
    /// Whether ids are 1 to n.
    from_1: bool,
}

impl Counts<'_> {
    fn of<'a>(first: &'a First, lists: &[ArcList]) -> Counts<'a> {
        let bound = compact::bound(lists);
        let zero = || lists.iter().flat_map(|list| &list.pairs).any(|&(u, v)| u == 0 || v == 0);
        let from_1 = bound == first.n.saturating_add(1) && !zero();
        Counts { first, found: found(lists), bound, from_1 }
    }

    /// Whether the line holds counts.
    fn hold(&self, certain: bool, bytes: &[u8]) -> Result<bool, Fault> {
        let Counts { first, found, bound, from_1 } = *self;
        let fits = found == first.m && (bound <= first.n || from_1);
        let above = found > 0 && first.m >= bound;
        let beyond = found == first.m && bound == first.n.saturating_add(1);
        let odd = found >= ENOUGH_TO_SUSPECT && (first.n >= bound || found == first.m);
        if !certain && fits && !above {
            return Err(ambiguous(first, bytes));
        }
        if !certain && !fits && !(above && (odd || beyond)) {
            return Ok(false);
        }
        promised(first, found, &first.doubt())?;
        few_enough(first)?;
        Ok(true)
    }
}

/// Refuses more nodes than there can be.
fn few_enough(first: &First) -> Result<(), Fault> {
    if first.n <= MAX_NODES {
        return Ok(());
    }
    let what = format!("too many nodes ({}); ids are 32 bits wide", first.n);
    Err(Fault::new(first.at, format!("{what}: renumber the nodes without gaps")))
}

fn ambiguous(first: &First, bytes: &[u8]) -> Fault {
    let line = shown(bytes[first.at..first.next].trim_ascii());
    let empty = if first.n == 0 { ", an empty graph," } else { "" };
    let what = format!(
        "the first line ({line}) may be an arc or count {} nodes and {} arcs{empty}; say which: --counts-line \
         yes or --counts-line no",
        first.n, first.m
    );
    Fault::new(first.at, what)
}

/// Refuses counts that are not so.
fn promised(first: &First, found: u64, next: &str) -> Result<(), Fault> {
    if found == first.m {
        return Ok(());
    }
    Err(Fault::new(
        first.at,
        format!(
            "the file is truncated or its header lies about counts ({} arcs promised, {found} found); fetch \
             it again{next}",
            first.m
        ),
    ))
}

/// Finds the first line with an id that the counts do not allow: only on the way to an error.
fn out_of_range<R: Rows>(bytes: &[u8], first: &First, doubt: &str, rows: &R) -> Fault {
    for line in text::lines(bytes, first.next) {
        let at = line.0;
        let list = rows.arcs(&mut std::iter::once(line), text::wide_id).unwrap_or_default();
        let mut ids = list.pairs.into_iter().flat_map(|(u, v)| [u, v]);
        if let Some(id) = ids.find(|id| *id >= first.n) {
            let n = first.n;
            let what = format!("id out of range ({id}); the header promises {n} nodes, ids from 0");
            return Fault::new(at, format!("{what}{doubt}"));
        }
    }
    Fault::new(first.at, "the header lies about the ids; correct it")
}

impl Rows for Plain {
    fn arcs<I>(
        &self,
        lines: &mut dyn Iterator<Item = (usize, &[u8])>,
        id: impl Fn(&[u8], usize) -> Result<I, Fault>,
    ) -> Result<ArcList<I>, Fault> {
        let weights = self.weighted.then_some(self.weights);
        text::arcs::<true, I>(lines, weights, |byte| matches!(byte, b'#' | b'%'), id, no_plain)
    }

    fn weighted(&self) -> bool {
        self.weighted
    }
}

/// A line of other columns than its file: it may make sense where blanks do not separate.
#[cold]
fn no_plain(at: usize, line: &[u8]) -> Fault {
    Fault { no_number: true, ..misshapen(at, line) }
}

impl Columns<'_> {
    /// The values of source and target on a line that is no comment, and its weight; `None` for an empty line.
    fn read<'a>(
        &self,
        at: usize,
        line: &'a [u8],
        values: &mut Values<'a>,
    ) -> Result<Option<f32>, Fault> {
        self.layout.separator.split(line, at, values)?;
        self.layout.check(values, at, line)?;
        for (column, what) in [(self.layout.src, "source"), (self.layout.dst, "target")] {
            if values[column].is_empty() {
                let what = format!("no {what} ({})", shown(line));
                return Err(Fault::new(at, format!("{what}; leave the line out, or give one")));
            }
        }
        match self.layout.weight.filter(|_| self.weights.read()) {
            Some(column) => text::weight(&values[column], at, self.weights).map(Some),
            None => Ok(None),
        }
    }
}

impl Rows for Columns<'_> {
    fn arcs<I>(
        &self,
        lines: &mut dyn Iterator<Item = (usize, &[u8])>,
        id: impl Fn(&[u8], usize) -> Result<I, Fault>,
    ) -> Result<ArcList<I>, Fault> {
        let mut list = ArcList { pairs: Vec::new(), weights: Vec::new(), copy: None };
        let mut values = Vec::new();
        for (at, line) in lines {
            if is_comment(line) {
                continue;
            }
            list.weights.extend(self.read(at, line, &mut values)?);
            let u = id(&values[self.layout.src], at)?;
            list.pairs.push((u, id(&values[self.layout.dst], at)?));
        }
        Ok(list)
    }

    fn weighted(&self) -> bool {
        self.layout.weight.is_some()
    }
}

/// The file, whatever its columns.
fn by_columns(bytes: &[u8], asked: &Asked) -> Result<Parsed, Fault> {
    let options = asked.options;
    let comment = comment(bytes);
    let mut lines = text::lines(bytes, 0).filter(|(_, line)| !is_comment(line));
    let Some((at, line)) = lines.next() else { return without_arcs(comment) };
    refuse_slashes(asked, at, line)?;
    let second = lines.next();
    let first = first_line(asked, comment.is_some(), (at, line), bytes)?;
    let yes = options.counts_line == CountsLine::Yes;
    // A line of counts tells nothing of the columns.
    let behind = match (&first, second) {
        (Some(_), Some((at, _))) => Some(Layout::of(bytes, at, asked)),
        (Some(_), None) if yes => return Err(nothing(at)),
        _ => None,
    };
    let (layout, certain) = match behind {
        Some(Ok(layout)) if yes || layout.columns > 2 => (layout, true),
        Some(Err(fault)) if yes => return Err(fault),
        _ => (Layout::of(bytes, at, asked)?, false),
    };
    let body = layout.body;
    let first = first.map(|first| if certain { First { next: body, ..first } } else { first });
    let mut top = Top { body, first, certain, comment };
    let rows = Columns { layout: &layout, weights: asked.weights };
    if asked.ids == Ids::Text {
        top.certain = certain || counts_above_numbers(bytes, &top, &rows)?;
        return names(bytes, &top, &rows, asked);
    }
    match numbers(bytes, &top, &rows, asked) {
        Err(fault) if fault.no_number && asked.ids == Ids::Auto => names(bytes, &top, &rows, asked),
        other => other,
    }
}

/// Whether the first line holds counts in a file of names that are all whole numbers.
fn counts_above_numbers(bytes: &[u8], top: &Top, rows: &Columns) -> Result<bool, Fault> {
    let Some(first) = top.first.as_ref().filter(|_| !top.certain) else { return Ok(false) };
    match text::parse_parts(bytes, first.next, |lines| rows.arcs(lines, node)) {
        Ok(lists) => Counts::of(first, &lists).hold(false, bytes),
        Err(_) => Ok(false),
    }
}

/// Refuses a line that looks like a comment and is none.
fn refuse_slashes(asked: &Asked, at: usize, line: &[u8]) -> Result<(), Fault> {
    let slashes = line.trim_ascii_start().starts_with(b"//");
    if !slashes || asked.ids != Ids::Auto || asked.options.columns.is_some() {
        return Ok(());
    }
    let what = format!("a line that begins with // ({}), which marks no comment here", shown(line));
    let next = "begin comments with # or %, or say --ids text if it is a name";
    Err(Fault::new(at, format!("{what}; {next}")))
}

/// Refuses `1` and `1.0` as two names: tables of numbers write one id both ways.
fn refuse_twins(bytes: &[u8], top: &Top, rows: &Columns, texts: &Texts) -> Result<(), Fault> {
    let whole = |name: &str| {
        let (whole, zeros) = name.split_once('.')?;
        let digits = text::is_number(whole.as_bytes()) && !zeros.is_empty();
        let twin = digits && zeros.bytes().all(|byte| byte == b'0');
        (twin && texts.find(whole).is_some()).then(|| whole.to_string())
    };
    let all = (0..texts.len() as u64).map(|i| texts.get(i));
    let Some((name, whole)) = all.into_iter().find_map(|name| Some((name, whole(name)?))) else {
        return Ok(());
    };
    let mut values = Vec::new();
    let mut lines = text::lines(bytes, top.body).filter(|(_, line)| !is_comment(line));
    let at = lines.find(|(at, line)| {
        rows.read(*at, line, &mut values).is_ok()
            && [rows.layout.src, rows.layout.dst]
                .iter()
                .any(|end| *values[*end] == *name.as_bytes())
    });
    let what = format!("the ids {name} and {whole} may be one node or two");
    let next = "write the id alike everywhere, or say --ids text if they are two";
    Err(Fault::new(at.map_or(top.body, |(at, _)| at), format!("{what}; {next}")))
}

/// The file with names as ids.
fn names(bytes: &[u8], top: &Top, rows: &Columns, asked: &Asked) -> Result<Parsed, Fault> {
    let body = top.first.as_ref().map_or(top.body, |first| first.next);
    let mut parts = text::parse_parts(bytes, body, |lines| named_arcs(rows, asked, lines))?;
    let found = parts.iter().map(|part| part.pairs.len() as u64).sum();
    let mut taken = false;
    if let Some(first) = &top.first {
        let mut line = text::lines(&bytes[..first.next], first.at);
        let own = named_arcs(rows, asked, &mut line);
        let counts = [first.n.to_string(), first.m.to_string()];
        let again = || {
            let all = parts.iter().flat_map(|part| &part.names);
            all.into_iter().any(|name| counts.iter().any(|count| count.as_bytes() == &name[..]))
        };
        if !top.certain && found == first.m && !again() {
            return Err(ambiguous(first, bytes));
        }
        taken = top.certain;
        match taken {
            true => promised(first, found, &first.doubt())?,
            false => parts.insert(0, own?),
        }
    }
    let arcs: u64 = parts.iter().map(|part| part.pairs.len() as u64).sum();
    let (lists, texts) = compact::named(parts);
    for counts in [top.comment.as_ref(), top.first.as_ref().filter(|_| taken)].into_iter().flatten()
    {
        promised(counts, arcs, ", or delete the line of counts")?;
        if counts.n != texts.len() as u64 {
            let what = format!("{} nodes are promised, {} have names", counts.n, texts.len());
            return Err(Fault::new(counts.at, format!("{what}; delete the line of counts")));
        }
    }
    if asked.ids == Ids::Auto {
        refuse_twins(bytes, top, rows, &texts)?;
    }
    let has = |pair: &[Vec<u8>; 2]| pair.each_ref().map(|name| texts.find(name));
    if let Some(pair) = &rows.layout.letters
        && has(pair).iter().any(Option::is_some)
    {
        return Err(maybe_columns(pair, bytes));
    }
    if let Some(pair) = &rows.layout.doubtful
        && let [Some(u), Some(v)] = has(pair)
        && arcs > 1
    {
        let ends = lists.iter().flat_map(|list| &list.pairs).flat_map(|&(a, b)| [a, b]);
        let own = ends.filter(|end| u64::from(*end) == u || u64::from(*end) == v).take(3).count();
        if own == 2 {
            return Err(maybe_columns(pair, bytes));
        }
    }
    let arcs = Arcs::Lists(lists, Nodes::Listed(Called::Texts(texts)));
    Ok(Parsed { counts_line: taken, ..parsed(arcs, rows.weighted() && asked.weights.read()) })
}

fn maybe_columns([src, dst]: &[Vec<u8>; 2], bytes: &[u8]) -> Fault {
    let at = text::lines(bytes, 0).find(|(_, line)| !is_comment(line)).map_or(0, |(at, _)| at);
    let (src, dst) = (shown(src), shown(dst));
    Fault::new(
        at,
        format!(
            "the first line ({src}, {dst}) may name columns or be an arc; say --columns src={src},dst={dst} if \
             they are columns, --columns src=1,dst=2 if they are nodes"
        ),
    )
}

fn named_arcs<'a>(
    rows: &Columns,
    asked: &Asked,
    lines: &mut dyn Iterator<Item = (usize, &'a [u8])>,
) -> Result<compact::NamedList<'a>, Fault> {
    let mut list = compact::NamedList::default();
    let mut values = Vec::new();
    for (at, line) in lines {
        if is_comment(line) {
            refuse_marked_name(rows, at, line)?;
            continue;
        }
        refuse_slashes(asked, at, line)?;
        list.weights.extend(rows.read(at, line, &mut values)?);
        let mut ends = [0; 2];
        for (end, column) in ends.iter_mut().zip([rows.layout.src, rows.layout.dst]) {
            let name = std::mem::take(&mut values[column]);
            if asked.ids == Ids::Auto && text::is_number(&name) && text::integer(&name).is_none() {
                return Err(Fault { no_number: false, ..text::no_id(&name, at) });
            }
            *end = list.number(name, at)?;
        }
        list.pairs.push((ends[0], ends[1]));
    }
    Ok(list)
}

/// Refuses a comment among arcs that is likely one of them, as in `#rust,#cargo`.
fn refuse_marked_name(rows: &Columns, at: usize, line: &[u8]) -> Result<(), Fault> {
    let start = line.trim_ascii_start();
    if start.len() < 2 || !start[1].is_ascii_alphanumeric() {
        return Ok(());
    }
    let mut values = Vec::new();
    let fits = rows.read(at, line, &mut values).is_ok();
    if !fits {
        return Ok(());
    }
    let what =
        format!("a comment, or an arc from a name that begins with its mark ({})", shown(line));
    Err(Fault::new(at, format!("{what}; put the name in quotes, or a blank behind the mark")))
}

/// Writes `graph` as an edge list: a comment `# nodes N arcs M`, then `u v` or `u v weight` with ids from 0,
/// whatever its input's ids were; or, where ids are names, a comment `# ids text`, that comment, a header `src,dst[,weight]` and rows of these, names
/// in quotes where they have to be. Nodes without arcs have no name in such a file.
pub(super) fn write(graph: &Graph, path: &Path) -> Result<()> {
    write_aside(path, |out| {
        let weighted = graph.is_weighted();
        if graph.texts().is_some() {
            let named = graph.nodes() as u64 - graph.isolated();
            writeln!(out, "# ids text\n# nodes {named} arcs {}", graph.arcs())?;
            let weight = if weighted { ",weight" } else { "" };
            writeln!(out, "src,dst{weight}")?;
            return rows::write(graph, out, Ends::Names, weighted);
        }
        writeln!(out, "# nodes {} arcs {}", graph.nodes(), graph.arcs())?;
        rows::write(graph, out, Ends::From(0), weighted)
    })
}
