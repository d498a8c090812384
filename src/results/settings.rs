//! How a cell ran: the options that are not the default's.

use super::fields::Fields;
use crate::Result;
use crate::run::{RunConfig, WORKLOADS, Workload};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Options that leave the measured time alone, or that a record states elsewhere.
const ELSEWHERE: &str = "graph devices benchmark runs warmup verify trace json output output-format deadline fault top \
                         memory-limit";

/// Options of a run that differ from the default, by name: `merge` is `dense`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Settings {
    pub options: BTreeMap<String, String>,
    /// Whether more may have been set.
    pub known: Known,
}

/// How much of its settings a record tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Known {
    /// Nothing: HIVE's records, where the tag `variant:` has to do.
    #[default]
    Nothing,
    /// Collective, merge mode and what its sweep varied: a cell of an older sweep's table.
    Some,
    /// All: a record with its configuration.
    All,
}

impl Settings {
    /// Of the `config` of a record whose `primitive` is this. Older records have options of other workloads in it, which
    /// do not count.
    pub(super) fn of_config(config: Option<&Map<String, Value>>, primitive: &str) -> Settings {
        let Some(config) = config else { return Settings::default() };
        let named = |w: &&Workload| w.primitive == primitive || w.name == primitive;
        let workload = WORKLOADS.iter().find(named);
        let foreign = |name: &str| {
            workload.is_some_and(|workload| !workload.has_own_option(name))
                && WORKLOADS.iter().any(|other| other.has_own_option(name))
        };
        let (mut options, defaults) = (BTreeMap::new(), defaults());
        flatten("", config, &mut options);
        let mut options: BTreeMap<String, String> = options.into_iter().map(as_said_now).collect();
        options.retain(|name, value| {
            let table = name.split('.').next().unwrap_or_default();
            let elsewhere = ELSEWHERE.split(' ').any(|word| word == table) || name == "load.cache";
            !elsewhere && !foreign(name) && defaults.get(name) != Some(value)
        });
        Settings { options: options.into_iter().map(shortened).collect(), known: Known::All }
    }

    /// Of a cell of an older sweep's table: `variant` is as in `sources=connected:8:1 strategy=push`.
    pub(super) fn of_cell(cell: &Fields<'_>) -> Result<Settings> {
        let mut options = BTreeMap::new();
        for name in ["collective", "merge"] {
            if let Some(word) = cell.text(name)?.filter(|word| word != "auto") {
                options.insert(name.to_string(), word);
            }
        }
        let variant = cell.text("variant")?.unwrap_or_default();
        for (name, value) in variant.split(' ').filter_map(|word| word.split_once('=')) {
            options.insert(name.rsplit('.').next().unwrap_or(name).into(), value.into());
        }
        Ok(Settings { options, known: Known::Some })
    }

    /// The value of an option, the default where it was left alone.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.options.get(name).map_or_else(|| default_of(name), String::as_str)
    }

    pub(crate) fn without(&self, name: &str) -> Settings {
        let mut settings = self.clone();
        settings.options.remove(name);
        settings
    }

    /// Whether these could be the settings of one cell, where one side may not tell all.
    pub(crate) fn agrees(&self, other: &Settings) -> bool {
        let (less, more) = if self.known <= other.known { (self, other) } else { (other, self) };
        match (less.known, more.known) {
            (Known::Nothing, _) => true,
            (Known::Some, Known::All) => {
                let told = |name: &str| less.get(name) == more.get(name);
                told("merge") && told("collective") && less.options.keys().all(|name| told(name))
            }
            _ => less.options == more.options,
        }
    }

    /// Options that both have alike, less those that one has alone: the higher, the likelier one cell.
    pub(super) fn likeness(&self, other: &Settings) -> i64 {
        let alike = |(name, value): &(&String, &String)| other.options.get(*name) == Some(*value);
        let shared = self.options.iter().filter(alike).count() as i64;
        3 * shared - (self.options.len() + other.options.len()) as i64
    }
}

impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self.options.iter().map(|(k, v)| format!("{k}={v}")).collect();
        f.write_str(&words.join(" "))
    }
}

/// What an option is where nobody sets it: `auto`, or `default` where there is no word for it.
pub(super) fn default_of(name: &str) -> &'static str {
    let short = |(long, value): (&String, &String)| shortened((long.clone(), value.clone()));
    static SHORT: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    SHORT
        .get_or_init(|| defaults().iter().map(short).collect())
        .get(name)
        .map_or("default", String::as_str)
}

/// An option as older records have it, in the words of today.
fn as_said_now((name, value): (String, String)) -> (String, String) {
    match (name.as_str(), value.as_str()) {
        ("load.symmetrize", "false") => (name, "off".into()),
        ("load.symmetrize", "true") => (name, "keep".into()),
        ("bc.precision", _) => ("precision".into(), value),
        _ => (name, value),
    }
}

/// `pagerank.strategy` is known as `strategy`, as on the command line; `load.` stays. A path is known by its
/// file's name: the folder is the machine's business.
fn shortened((name, value): (String, String)) -> (String, String) {
    let short = name.split_once('.').filter(|(table, _)| *table != "load").map(|(_, rest)| rest);
    let file = value.rsplit('/').next().unwrap_or(&value);
    (short.unwrap_or(&name).to_string(), file.to_string())
}

fn flatten(prefix: &str, table: &Map<String, Value>, into: &mut BTreeMap<String, String>) {
    for (name, value) in table {
        let name = format!("{prefix}{name}");
        match value {
            Value::Null => {}
            Value::Object(table) => flatten(&format!("{name}."), table, into),
            Value::String(text) => drop(into.insert(name, text.clone())),
            other => drop(into.insert(name, other.to_string())),
        }
    }
}

/// Every option's default, those of the workloads' tables included.
fn defaults() -> &'static BTreeMap<String, String> {
    static DEFAULTS: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    DEFAULTS.get_or_init(|| {
        let config = RunConfig::default();
        let mut options = BTreeMap::new();
        let mut add = |prefix: &str, value: serde_json::Result<Value>| {
            if let Ok(Value::Object(table)) = value {
                flatten(prefix, &table, &mut options);
            }
        };
        add("", serde_json::to_value(&config));
        for workload in WORKLOADS {
            // Older records have some of them beside the tables.
            let own = Value::Object(workload.of.defaults());
            add("", Ok(own.clone()));
            add(&format!("{}.", workload.name), Ok(own));
        }
        options
    })
}
