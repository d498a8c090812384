//! Options that belong to workloads, as a file or flags have them: by name, or in a table of the workload's name.

use crate::algorithm::{WORKLOADS, Workload, workload};
use crate::io::LoadOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Options of workloads: `source = 3` is for all that have it, the tables `bfs = { source = 3 }` for one. Every name and
/// value is one that some workload takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Own(Map<String, Value>);

impl Own {
    /// The options of one workload.
    pub(crate) fn of(workload: &Workload, options: Map<String, Value>) -> Own {
        Own(Map::from_iter([(workload.name.to_string(), Value::Object(options))]))
    }

    /// These with the options of `workload` in the place of what is set for it.
    #[cfg(feature = "cli")]
    pub(crate) fn replaced(&self, workload: &Workload, options: Map<String, Value>) -> Own {
        let known = workload.of.defaults();
        let mut others = self.clone();
        others.0.retain(|name, _| {
            let named = name == workload.name || workload.aliases.contains(&name.as_str());
            !named && !known.contains_key(name)
        });
        others.0.insert(workload.name.into(), Value::Object(options));
        others
    }

    /// What is set for `workload`: by name, and over that in its tables.
    pub(crate) fn for_one(&self, workload: &Workload) -> Map<String, Value> {
        let known = workload.of.defaults();
        let mut options: Map<String, Value> =
            self.0.iter().filter(|(name, _)| known.contains_key(*name)).map(own).collect();
        for name in std::iter::once(&workload.name).chain(workload.aliases) {
            if let Some(Value::Object(table)) = self.0.get(*name) {
                options.extend(table.iter().map(own));
            }
        }
        options
    }

    /// Options that are set here and not those of `workload`, less those that are set to their default.
    pub(crate) fn foreign(&self, workload: &Workload) -> Vec<String> {
        let known = workload.of.defaults();
        let foreign = |(name, value): (&String, &Value)| match (self::workload(name), value) {
            (Some(other), Value::Object(table)) if other.name != workload.name => {
                let defaults = other.of.defaults();
                let set = |(name, value): &(&String, &Value)| {
                    !known.contains_key(*name) && defaults.get(*name) != Some(*value)
                };
                table.iter().filter(set).map(|(name, _)| name.clone()).collect()
            }
            (Some(_), Value::Object(_)) => Vec::new(),
            _ => {
                let default = |w: &Workload| w.of.defaults().get(name) == Some(value);
                let foreign = !known.contains_key(name) && !WORKLOADS.iter().any(default);
                if foreign { vec![name.clone()] } else { Vec::new() }
            }
        };
        self.0.iter().flat_map(foreign).collect()
    }

    /// Whether `option` is set, for all or in a table.
    pub(crate) fn sets(&self, option: &str) -> bool {
        let inside = |value: &Value| value.as_object().is_some_and(|t| t.contains_key(option));
        self.0.contains_key(option) || self.0.values().any(inside)
    }

    /// Sets one option of one workload.
    pub(crate) fn set_one(&mut self, workload: &Workload, option: &str, value: Value) {
        let mut options = self.for_one(workload);
        options.insert(option.into(), value);
        self.0.insert(workload.name.into(), Value::Object(options));
    }

    /// Takes `option` out of the tables of workloads: it was set for all of them.
    pub(crate) fn unset_in_tables(values: &mut Value, option: &str) {
        for workload in WORKLOADS {
            for name in std::iter::once(&workload.name).chain(workload.aliases) {
                if let Some(table) = values.get_mut(*name).and_then(Value::as_object_mut) {
                    table.remove(option);
                }
            }
        }
    }

    /// The tables that are set, with their workloads.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&'static Workload, Map<String, Value>)> {
        WORKLOADS.iter().filter_map(|workload| {
            let table = self.0.get(workload.name)?.as_object()?;
            Some((workload, table.clone()))
        })
    }
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Whether some workload has an option of this name, or this is the name of one.
pub(crate) fn is_own(name: &str) -> bool {
    workload(name).is_some() || WORKLOADS.iter().any(|workload| workload.has_own_option(name))
}

/// Whether this is an option of loading.
fn loads(one: &Map<String, Value>) -> bool {
    let read = serde_json::from_value::<LoadOptions>(Value::Object(one.clone()));
    read.map_or_else(|error| !error.to_string().starts_with("unknown field"), |_| true)
}

/// Checks the name of an option, and its value by the type that it has.
fn check(name: &str, value: &Value) -> Result<(), String> {
    let one = Map::from_iter([(name.to_string(), value.clone())]);
    let taken = WORKLOADS.iter().filter(|workload| workload.has_own_option(name));
    let mut taken = taken.map(|workload| workload.of.whole(&one)).peekable();
    match (workload(name), value) {
        (Some(workload), Value::Object(table)) => workload.of.whole(table).map(drop),
        (Some(workload), _) => Err(format!("{name}: this is the table of {}", workload.name)),
        (None, _) if taken.peek().is_none() => Err(match loads(&one) {
            true => format!("unknown field '{name}' here: it belongs into the table [load]"),
            false => format!("unknown field '{name}'"),
        }),
        (None, _) => match taken.next() {
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        },
    }
}

impl TryFrom<Map<String, Value>> for Own {
    type Error = String;

    fn try_from(all: Map<String, Value>) -> Result<Own, String> {
        all.iter().try_for_each(|(name, value)| check(name, value).map_err(|e| named(name, e)))?;
        Ok(Own(all))
    }
}

/// The message with the name of the option, where it does not say it.
fn named(name: &str, message: String) -> String {
    match message.contains(name) {
        true => message,
        false => format!("{message} (key '{name}')"),
    }
}
