//! What a command line changes of a sweep's file: options of all its cells, and which of them run.

use super::config::SweepConfig;
use super::select::Selection;
use crate::{Error, Result};
use serde_json::{Map, Value};

impl SweepConfig {
    /// Puts an option, as in `runs=3` or `pagerank.iterations=20`, in the place of `[run]`'s. Variants and includes
    /// that name it keep their own.
    pub(crate) fn set(&mut self, text: &str) -> Result<()> {
        let named = |e: Error| Error::input(format!("--set {text}: {e}"));
        let (key, value) = pair(text).ok_or_else(|| {
            Error::input(format!(
                "--set {text}: use OPTION=VALUE, as in runs=3 or pagerank.iterations=20"
            ))
        })?;
        let value = value_of(value);
        // JSON has no number that is not finite.
        if value.is_null() || key.matches('.').count() > 1 {
            return Err(Error::input(format!("--set {text}: there is no such option or value")));
        }
        let (run, _) = self.run.with(&table(key, value)).map_err(named)?;
        self.check_against_lists(&run).map_err(named)?;
        self.run = run;
        Ok(())
    }
}

impl Selection {
    /// Adds a coordinate, as in `workload=bfs`: cells with one of the values of each coordinate that is named.
    pub(crate) fn narrow(&mut self, text: &str) -> Result<()> {
        let refuse = |why: &str| Err(Error::input(format!("--only {text}: {why}")));
        let Some((key, word)) = pair(text) else {
            return refuse("use COORDINATE=VALUE, as in workload=bfs or graph=rmat:*");
        };
        self.add(key, word).or_else(|why| refuse(&why))
    }
}

/// Both sides of the first `=`; a side may not be empty, but for the value of a variant.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    (!key.is_empty() && (!value.is_empty() || key == "variant")).then_some((key, value))
}

/// A number, truth value, list or table as in TOML; any other text is itself.
fn value_of(text: &str) -> Value {
    let read = toml::from_str::<Map<String, Value>>(&format!("value = {text}")).ok();
    read.and_then(|mut table| table.remove("value")).unwrap_or_else(|| text.into())
}

/// `a.b` as the table of a table.
fn table(key: &str, value: Value) -> Map<String, Value> {
    match key.split_once('.') {
        Some((outer, inner)) => {
            Map::from_iter([(outer.into(), Value::Object(table(inner, value)))])
        }
        None => Map::from_iter([(key.into(), value)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;
    use crate::run::{Verify, workload};

    fn config(text: &str) -> SweepConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn options_take_the_place_of_the_files() {
        let mut config = config("graphs = ['rmat:4']\n[run]\nruns = 10\nverify = true\n");
        for text in ["runs=3", "verify=false", "pagerank.iterations=20", "sources=connected:8:1"] {
            config.set(text).unwrap();
        }
        assert_eq!((config.run.runs, config.run.verify), (Some(Choice::Is(3)), Verify::No));
        let options = |name| config.run.options_of(workload(name).unwrap());
        assert_eq!(options("pagerank")["iterations"], 20);
        assert_eq!(options("bfs")["sources"], "connected:8:1");
    }

    #[test]
    fn what_is_no_option_is_told() {
        for (text, told) in [
            ("runs", "OPTION=VALUE"),
            ("=3", "OPTION=VALUE"),
            ("runs=", "OPTION=VALUE"),
            ("runs=many", "runs=many"),
            ("ruins=3", "ruins"),
            ("merge=dense", "takes this from merges"),
            ("runs.deep=3", "runs"),
            ("a.b.c=3", "no such option"),
            ("bfs.do-a=inf", "no such option or value"),
        ] {
            let error = config("graphs = ['rmat:4']").set(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("--set {text}: ")) && error.contains(told),
                "{error}"
            );
        }
    }

    #[test]
    fn coordinates_add_up() {
        let mut only = Selection::default();
        for text in ["workload=bfs", "workload=bc", "graph=rmat:19,ef=*", "variant="] {
            only.narrow(text).unwrap();
        }
        assert_eq!(only.words(), "workload=bfs|bc graph=rmat:19,ef=* variant=");
        for text in ["workload", "workload=", "kind=bfs", "options=3"] {
            let error = only.narrow(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--only {text}: ")), "{error}");
        }
    }
}
