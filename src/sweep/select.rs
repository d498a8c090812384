//! `[[include]]`, `[[exclude]]` and `--only`: which cells of a matrix.

use super::planned::Planned;
use crate::fleet::Devices;
use crate::run::RunConfig;
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

const COORDINATES: [&str; 11] = [
    "workload",
    "graph",
    "dataset",
    "series",
    "devices",
    "collective",
    "merge",
    "chunks",
    "placement",
    "layout",
    "variant",
];

/// Coordinates of cells. A coordinate that is left out fits every cell; a list fits what one of its words fits; `*` in
/// a word stands for any text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(crate) struct Selection {
    coordinates: Vec<(&'static str, Vec<String>)>,
    /// Of an include: options, as in `variants`, that the cells get.
    pub(super) options: Map<String, Value>,
}

impl TryFrom<Map<String, Value>> for Selection {
    type Error = String;

    fn try_from(mut table: Map<String, Value>) -> Result<Selection, String> {
        let mut selection = Selection::default();
        match table.remove("options") {
            None => {}
            Some(Value::Object(options)) => selection.options = options,
            Some(_) => return Err("expected a table of options (key 'options')".into()),
        }
        for name in COORDINATES {
            let Some(words) = table.remove(name) else { continue };
            let words = if words.is_string() { Value::Array(vec![words]) } else { words };
            let words = serde_json::from_value(words)
                .map_err(|_| format!("expected a word or a list of words (key '{name}')"))?;
            selection.coordinates.push((name, words));
        }
        match table.keys().next() {
            Some(name) => Err(unknown(name)),
            None => Ok(selection),
        }
    }
}

fn unknown(name: &str) -> String {
    format!("unknown field '{name}', expected one of {}", COORDINATES.join(", "))
}

/// Whether `pattern`, in which `*` is any text, is all of `text`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(head) else { return false };
    let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.any(|at| matches(tail, &rest[at..]))
}

impl Selection {
    /// Whether this cell is meant.
    pub(super) fn takes(&self, cell: &Planned) -> bool {
        let fits = |name: &str, word: &str| match (name, word.parse::<Devices>()) {
            ("devices", Ok(devices)) => devices == cell.config.devices,
            ("graph", _) if matches(word, cell.spec()) => true,
            _ => matches(word, &cell.coordinate(name)),
        };
        self.coordinates.iter().all(|(name, words)| words.iter().any(|word| fits(name, word)))
    }

    /// Adds a value of a coordinate: cells with one of the values of each coordinate that is named.
    pub(super) fn add(&mut self, name: &str, word: &str) -> Result<(), String> {
        let rank = |name: &str| COORDINATES.iter().position(|other| *other == name);
        let at = rank(name).ok_or_else(|| unknown(name))?;
        match self.coordinates.iter_mut().find(|(known, _)| *known == name) {
            Some((_, words)) => words.push(word.into()),
            None => self.coordinates.push((COORDINATES[at], vec![word.into()])),
        }
        self.coordinates.sort_by_key(|(name, _)| rank(name));
        Ok(())
    }

    /// Refuses what says nothing. `place` is `exclude 2`, for one.
    pub(super) fn check(&self, place: &str) -> Result<()> {
        let refuse = |why: &str| Err(Error::input(format!("{place}: {why}")));
        if self.coordinates.is_empty() {
            return refuse("has no coordinates; name a workload, graph, devices, ...");
        }
        match self.coordinates.iter().find(|(_, words)| words.is_empty()) {
            Some((name, _)) => refuse(&format!("{name} is empty; name one, or leave it out")),
            None => Ok(()),
        }
    }

    /// The words of a coordinate, where it is given.
    pub(super) fn words_of(&self, name: &str) -> Option<&[String]> {
        let found = self.coordinates.iter().find(|(known, _)| *known == name);
        found.map(|(_, words)| words.as_slice())
    }

    pub(super) fn graphs_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.coordinates
            .iter_mut()
            .filter(|(name, _)| *name == "graph")
            .flat_map(|(_, words)| words)
    }

    /// `workload=vn devices=cuda:0`, for messages.
    pub(super) fn words(&self) -> String {
        let words =
            self.coordinates.iter().map(|(name, words)| format!("{name}={}", words.join("|")));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The cell's configuration with the options of this include, and these in words.
    pub(super) fn extend(&self, config: &RunConfig) -> Result<(RunConfig, String)> {
        let (extended, words) = config.with(&self.options)?;
        let named = |name: &String| {
            ["json", "output"].contains(&name.as_str()) || COORDINATES.contains(&name.as_str())
        };
        match self.options.keys().any(named) {
            false => Ok((extended, words)),
            true => Err(Error::input(format!(
                "options {words}: graph, devices, collective, merge, chunks, placement and layout are coordinates; \
                 name them beside options, not in them"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text) in [
            ("a", "a"),
            ("*", ""),
            ("rmat:*", "rmat:18"),
            ("*road*", "USA-road-d"),
            ("a*c*e", "abcde"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("", "a"), ("rmat:*", "grid:2x2"), ("a*c", "abd")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
