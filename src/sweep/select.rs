//! `[[include]]` and `[[exclude]]`: which cells of a matrix.

use super::planned::Planned;
use crate::fleet::Devices;
use crate::run::RunConfig;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Coordinates of cells. A key that is left out fits every cell; a list fits what one of its words fits; `*`
/// in a word stands for any text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Selection {
    /// Names of workloads.
    pub workload: Option<Words>,
    /// Graphs, as the file has them.
    pub graph: Option<Words>,
    /// Short names of graphs.
    pub dataset: Option<Words>,
    /// Names of series.
    pub series: Option<Words>,
    /// Device lists.
    pub devices: Option<Words>,
    /// Collectives.
    pub collective: Option<Words>,
    /// Merge modes.
    pub merge: Option<Words>,
    /// What chunks count.
    pub chunks: Option<Words>,
    /// Placements.
    pub placement: Option<Words>,
    /// Layouts.
    pub layout: Option<Words>,
    /// Variants, as tables name them: `strategy=push`; empty for the one without options.
    pub variant: Option<Words>,
    /// Of an include: options, as in `variants`, that the cells get.
    pub options: Map<String, Value>,
}

/// A word, or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a word or a list of words")]
pub(crate) enum Words {
    /// One.
    One(String),
    /// Some.
    Some(Vec<String>),
}

impl Words {
    /// One or many, as a list.
    pub(super) fn list(&self) -> &[String] {
        match self {
            Words::One(word) => std::slice::from_ref(word),
            Words::Some(words) => words,
        }
    }

    /// The same, to be changed.
    pub(super) fn list_mut(&mut self) -> &mut [String] {
        match self {
            Words::One(word) => std::slice::from_mut(word),
            Words::Some(words) => words,
        }
    }
}

/// Whether a word fits a text; without words, always.
pub(super) fn fits(words: &Option<Words>, text: &str) -> bool {
    words.as_ref().is_none_or(|words| words.list().iter().any(|word| matches(word, text)))
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
        let config = &cell.config;
        let devices = config.devices.to_string();
        let same_devices = |word: &String| {
            word.parse::<Devices>().map_or(matches(word, &devices), |of| of == config.devices)
        };
        fits(&self.workload, cell.workload.name)
            && (fits(&self.graph, &cell.graph) || fits(&self.graph, cell.spec()))
            && fits(&self.dataset, &cell.dataset)
            && fits(&self.series, cell.series_name())
            && self.devices.as_ref().is_none_or(|words| words.list().iter().any(same_devices))
            && fits(&self.collective, config.collective.word())
            && fits(&self.merge, config.merge.word())
            && fits(&self.chunks, config.chunks.word())
            && fits(&self.placement, config.placement.word())
            && fits(&self.layout, config.layout.word())
            && fits(&self.variant, &cell.variant)
    }

    /// Refuses what says nothing. `place` is `exclude 2`, for one.
    pub(super) fn check(&self, place: &str) -> Result<()> {
        let refuse = |why: &str| Err(Error::input(format!("{place}: {why}")));
        let keys = self.keys();
        if keys.is_empty() {
            return refuse("has no coordinates; name a workload, graph, devices, ...");
        }
        match keys.iter().find(|(_, words)| words.list().is_empty()) {
            Some((key, _)) => refuse(&format!("{key} is empty; name one, or leave it out")),
            None => Ok(()),
        }
    }

    /// The coordinates that are given, by name.
    pub(super) fn keys(&self) -> Vec<(&'static str, &Words)> {
        let all = [
            ("workload", &self.workload),
            ("graph", &self.graph),
            ("dataset", &self.dataset),
            ("series", &self.series),
            ("devices", &self.devices),
            ("collective", &self.collective),
            ("merge", &self.merge),
            ("chunks", &self.chunks),
            ("placement", &self.placement),
            ("layout", &self.layout),
            ("variant", &self.variant),
        ];
        all.into_iter().filter_map(|(name, words)| Some((name, words.as_ref()?))).collect()
    }

    /// `workload=vn devices=cuda:0`, for messages.
    pub(super) fn words(&self) -> String {
        let word = |(name, words): (&str, &Words)| format!("{name}={}", words.list().join("|"));
        self.keys().into_iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// The cell's configuration with the options of this include.
    pub(super) fn extend(&self, config: &RunConfig) -> Result<(RunConfig, String)> {
        let (extended, words) = config.with(&self.options)?;
        let axes = |run: &RunConfig| RunConfig {
            graph: run.graph.clone(),
            devices: run.devices.clone(),
            collective: run.collective,
            merge: run.merge,
            chunks: run.chunks,
            placement: run.placement,
            layout: run.layout,
            json: run.json.clone(),
            output: run.output.clone(),
            ..RunConfig::default()
        };
        match axes(&extended) == axes(config) {
            true => Ok((extended, words)),
            false => Err(Error::input(format!(
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
