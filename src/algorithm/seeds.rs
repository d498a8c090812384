//! Which nodes a workload starts from: `0,5,17`, `alice,bob`, `first:N`, `random:N:SEED`, `connected:N:SEED`, `file:PATH` or `all`.
//!
//! Ids in lists and files are the input's own; [`Seeds::resolve`] turns them into node indices. A
//! random choice is a Fisher-Yates shuffle cut short, its numbers hash(SEED, counter): every set of
//! N nodes is as likely, the choice depends on nothing but (N, SEED, number of nodes), and
//! `random:N:SEED` is part of `random:M:SEED` for N < M.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::{below, mix};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const FORMS: &str = "write ids as in 0,5,17 or alice,bob, or first:N, random:N:SEED, connected:N:SEED, file:PATH, all";

/// A choice of seed nodes, as the user wrote it; parsed from, printed and serialised as that text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Seeds {
    /// `0,5,17`: the input's own ids. Names that contain commas or colons are for a file.
    List(Vec<InputId>),
    /// `first:N`: the N nodes of the lowest ids.
    First(u64),
    /// `random:N:SEED`: N distinct nodes, isolated ones included.
    Random {
        /// How many nodes.
        count: u64,
        /// What the choice depends on.
        seed: u64,
    },
    /// `connected:N:SEED`: the same among the nodes that have out-arcs to others.
    Connected {
        /// How many nodes.
        count: u64,
        /// What the choice depends on.
        seed: u64,
    },
    /// `file:PATH`: one of the input's own ids a line; blank lines and lines that start with `#` are
    /// skipped. A name may stand in double quotes, as in a CSV.
    File(PathBuf),
    /// `all`: every node.
    All,
}

/// What the user calls a node: a number or a name, as the graph's own ids are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputId(String);

impl InputId {
    /// The node of `graph` that is called so.
    ///
    /// # Errors
    /// [`Error::Input`] that begins with `place` where there is none.
    pub fn resolve(&self, graph: &Graph, place: &str) -> Result<u32> {
        graph.node_of_text(&self.0).ok_or_else(|| no_node(graph, &self.0, place))
    }
}

impl FromStr for InputId {
    type Err = Error;

    fn from_str(text: &str) -> Result<InputId> {
        match text.trim() {
            "" => Err(Error::input("the id of a node is empty; give one of the input's ids")),
            id => Ok(InputId(id.into())),
        }
    }
}

impl From<u64> for InputId {
    fn from(id: u64) -> InputId {
        InputId(id.to_string())
    }
}

impl fmt::Display for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A whole number as a number, everything else as a text.
impl Serialize for InputId {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        match self.0.parse::<u64>() {
            Ok(id) if id.to_string() == self.0 && i64::try_from(id).is_ok() => {
                serializer.serialize_u64(id)
            }
            _ => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for InputId {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<InputId, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a node's id: a whole number from 0 or a name")]
        enum Either {
            Number(u64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(id) => Ok(id.into()),
            Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl Seeds {
    /// These nodes of `graph`.
    pub fn of_nodes(graph: &Graph, nodes: &[u32]) -> Seeds {
        Seeds::List(nodes.iter().map(|node| InputId(graph.id(*node).to_string())).collect())
    }

    /// How many nodes they are, as far as the choice tells: the folder's name in HIVE's layout.
    pub(crate) fn many(&self) -> String {
        match self {
            Seeds::List(ids) => ids.len().to_string(),
            Seeds::First(count) | Seeds::Random { count, .. } | Seeds::Connected { count, .. } => {
                count.to_string()
            }
            Seeds::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into(),
            Seeds::All => "all".into(),
        }
    }

    /// As [`Seeds::resolve`], but a random choice is one among the nodes that have out-arcs to others, as Graph500 has it.
    ///
    /// # Errors
    ///
    /// As there; also when fewer nodes than are asked for have out-arcs to others.
    pub fn resolve_sources(&self, graph: &Graph) -> Result<Vec<u32>> {
        self.sources_of("sources", graph)
    }

    /// As [`Seeds::resolve_sources`]; errors name `option`, as in `--sources`.
    pub(crate) fn sources_of(&self, option: &str, graph: &Graph) -> Result<Vec<u32>> {
        match self {
            Seeds::Random { count, seed } => self.connected(*count, *seed, option, graph),
            other => other.resolve_of(option, graph),
        }
    }

    fn connected(&self, count: u64, seed: u64, option: &str, graph: &Graph) -> Result<Vec<u32>> {
        self.check_count(count, option, graph)?;
        let n = graph.nodes() as u64;
        let mut drawn = count;
        loop {
            drawn = (2 * drawn).min(n);
            let nodes = draw(drawn, seed, n).into_iter().map(|rank| graph.ranked(rank));
            // A loop leads nowhere.
            let leads = |v: &u32| graph.neighbors(*v as usize).any(|(u, _)| u != *v);
            let with_arcs = nodes.filter(leads);
            let mut sources: Vec<u32> = with_arcs.take(count as usize).collect();
            if sources.len() as u64 == count {
                sources.sort_unstable();
                return Ok(sources);
            }
            if drawn == n {
                return Err(Error::input(match sources.len() {
                    0 => format!("{option} `{self}`: no node has an arc to another; name ids"),
                    found => format!(
                        "{option} `{self}`: only {found} nodes have out-arcs to others; ask for 1 to {found}"
                    ),
                }));
            }
        }
    }

    /// The nodes of `graph` that are meant: indices, sorted, distinct, at least one.
    ///
    /// # Errors
    ///
    /// [`Error::Input`], one line: an id that the graph does not have or that comes twice, more
    /// nodes than there are, a file that cannot be read, a line that is no number (`file:line`), no
    /// seed at all.
    pub fn resolve(&self, graph: &Graph) -> Result<Vec<u32>> {
        self.resolve_of("seeds", graph)
    }

    /// As [`Seeds::resolve`]; errors name `option`, as in `--source`.
    pub(crate) fn resolve_of(&self, option: &str, graph: &Graph) -> Result<Vec<u32>> {
        let mut nodes = match self {
            Seeds::List(ids) => {
                let mut nodes = Nodes::of(graph);
                for (position, id) in (1..).zip(ids) {
                    let (place, before) = (option.to_string(), |p| format!("at position {p}"));
                    nodes.add(&id.0, position, || place, before)?;
                }
                nodes.into_indices()
            }
            Seeds::First(count) => {
                self.check_count(*count, option, graph)?;
                (0..*count as u32).map(|rank| graph.ranked(rank)).collect()
            }
            Seeds::Random { count, seed } => {
                self.check_count(*count, option, graph)?;
                let ranks = draw(*count, *seed, graph.nodes() as u64);
                ranks.into_iter().map(|rank| graph.ranked(rank)).collect()
            }
            Seeds::Connected { count, seed } => self.connected(*count, *seed, option, graph)?,
            Seeds::File(path) => read_file(path, option, graph)?,
            Seeds::All => (0..graph.nodes() as u32).collect(),
        };
        if nodes.is_empty() {
            return Err(Error::input(format!("{option} `{self}`: no node is given; {FORMS}")));
        }
        nodes.sort_unstable();
        Ok(nodes)
    }

    fn check_count(&self, count: u64, option: &str, graph: &Graph) -> Result<()> {
        let n = graph.nodes() as u64;
        let fault = match count {
            0 => "no node is asked for".to_string(),
            _ if count > n => format!("the graph has only {n} nodes"),
            _ => return Ok(()),
        };
        Err(Error::input(format!("{option} `{self}`: {fault}; ask for 1 to {n}")))
    }
}

/// Seeds on their way from ids to indices, with the place where each was named.
struct Nodes<'a> {
    graph: &'a Graph,
    named: HashMap<u32, u64>,
}

impl Nodes<'_> {
    fn of(graph: &Graph) -> Nodes<'_> {
        Nodes { graph, named: HashMap::new() }
    }

    /// Adds the node called `id`. `place` says where the user wrote it and `before` where position
    /// such-and-such is.
    fn add(
        &mut self,
        id: &str,
        position: u64,
        place: impl FnOnce() -> String,
        before: impl FnOnce(u64) -> String,
    ) -> Result<()> {
        let Some(index) = self.graph.node_of_text(id) else {
            return Err(no_node(self.graph, id, &place()));
        };
        match self.named.insert(index, position) {
            None => Ok(()),
            Some(first) => Err(Error::input(format!(
                "{}: node {} is listed twice, first {}; list it once",
                place(),
                shorten(id),
                before(first)
            ))),
        }
    }

    fn into_indices(self) -> Vec<u32> {
        self.named.into_keys().collect()
    }
}

fn no_node(graph: &Graph, id: &str, place: &str) -> Error {
    let [low, high] = graph.id_ends().map(|end| shorten(&end.to_string()));
    let among = match (graph.has_text_ids(), graph.names().is_some()) {
        (true, _) => "are names from",
        (_, true) => "lie among",
        _ => "are",
    };
    let id = shorten(id);
    Error::input(format!("{place}: the graph has no node {id}; its nodes {among} {low} to {high}"))
}

fn read_file(path: &Path, option: &str, graph: &Graph) -> Result<Vec<u32>> {
    let shown = path.display();
    // A pipe has no end that anybody knows, and a device need not have one.
    let endless = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    let piped = endless.then(|| crate::io::read_table(&path.to_string_lossy())).transpose()?;
    let text = piped.map_or_else(|| std::fs::read(path), Ok).map_err(|cause| {
        Error::input(format!("{option} file:{shown}: {cause}; name a text file with one id a line"))
    })?;
    let mut nodes = Nodes::of(graph);
    for (number, line) in (1u64..).zip(text.split(|&byte| byte == b'\n')) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = || format!("{shown}:{number}");
        let bare = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
        let bare = bare.filter(|_| graph.node_of_text(line).is_none());
        let id = bare.map_or_else(|| line.to_string(), |bare| bare.replace("\"\"", "\""));
        if matches!(parse_id(&id), Id::Not) && !graph.has_text_ids() {
            let what = shorten(line);
            return Err(Error::input(format!(
                "{}: `{what}` is not a node id; write one whole number a line",
                place()
            )));
        }
        nodes.add(&id, number, place, |first| format!("on line {first}"))?;
    }
    if nodes.named.is_empty() {
        return Err(Error::input(format!(
            "{option} file:{shown}: it names no node; write one id a line"
        )));
    }
    Ok(nodes.into_indices())
}

/// What a text says of a node.
enum Id {
    Number(u64),
    /// A whole number past 64 bits.
    Huge,
    Not,
}

fn parse_id(text: &str) -> Id {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Id::Not;
    }
    text.parse().map_or(Id::Huge, Id::Number)
}

/// Keeps a message to one short line, whatever the file holds.
fn shorten(text: &str) -> String {
    const KEPT: usize = 40;
    let mut short: String = text.chars().take(KEPT).flat_map(char::escape_debug).collect();
    if text.chars().nth(KEPT).is_some() {
        short.push_str("...");
    }
    short
}

/// The first `count` cards of 0..n, shuffled; only cards that moved are stored.
fn draw(count: u64, seed: u64, n: u64) -> Vec<u32> {
    let mut moved: HashMap<u64, u64> = HashMap::new();
    (0..count)
        .map(|i| {
            let j = i + below(n - i, hash(seed, i));
            let at_i = moved.remove(&i).unwrap_or(i);
            let card = if i == j { at_i } else { moved.insert(j, at_i).unwrap_or(j) };
            card as u32
        })
        .collect()
}

/// 64 random bits for (seed, counter): SplitMix64's finaliser, once for each.
fn hash(seed: u64, counter: u64) -> u64 {
    mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ counter)
}

impl FromStr for Seeds {
    type Err = Error;

    fn from_str(text: &str) -> Result<Seeds> {
        let refuse = |what: String| Error::input(format!("seeds `{}`: {what}", shorten(text)));
        let number = |part: &str| match parse_id(part.trim()) {
            Id::Number(number) => Ok(number),
            Id::Huge => Err(refuse(format!("{} is out of range; {FORMS}", shorten(part.trim())))),
            Id::Not => Err(refuse(format!("`{}` is not a number; {FORMS}", shorten(part.trim())))),
        };
        match text.trim().split_once(':') {
            None if text.trim() == "all" => Ok(Seeds::All),
            None if text.trim().is_empty() => Err(refuse(format!("no node is given; {FORMS}"))),
            None => {
                let id = |part: &str| {
                    let what = || refuse(format!("an id is missing between commas; {FORMS}"));
                    part.parse().map_err(|_| what())
                };
                Ok(Seeds::List(text.split(',').map(id).collect::<Result<_>>()?))
            }
            Some(("first", count)) => Ok(Seeds::First(number(count)?)),
            Some((kind @ ("random" | "connected"), rest)) => match rest.split_once(':') {
                Some((count, seed)) => {
                    let (count, seed) = (number(count)?, number(seed)?);
                    Ok(match kind {
                        "random" => Seeds::Random { count, seed },
                        _ => Seeds::Connected { count, seed },
                    })
                }
                None => Err(refuse(format!("the SEED is missing; write {kind}:N:SEED"))),
            },
            Some(("file", "")) => Err(refuse("the path is missing; write file:PATH".into())),
            Some(("file", path)) => Ok(Seeds::File(path.into())),
            Some((kind, _)) => Err(refuse(format!("`{}` is unknown; {FORMS}", shorten(kind)))),
        }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seeds::List(ids) => {
                for (position, id) in ids.iter().enumerate() {
                    write!(f, "{}{id}", if position == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Seeds::First(count) => write!(f, "first:{count}"),
            Seeds::Random { count, seed } => write!(f, "random:{count}:{seed}"),
            Seeds::Connected { count, seed } => write!(f, "connected:{count}:{seed}"),
            Seeds::File(path) => write!(f, "file:{}", path.display()),
            Seeds::All => write!(f, "all"),
        }
    }
}

crate::words::as_text!(Seeds);

#[cfg(test)]
mod tests;
