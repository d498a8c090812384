//! A JSON object's fields, with errors that say where.

use crate::run::Verdict;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The fields of one object of a file.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub map: &'a Map<String, Value>,
    /// The file, and the line where it has many records.
    pub at: &'a str,
}

impl<'a> Fields<'a> {
    /// The value; `None` where it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// What the object says of itself is not what records say.
    pub(super) fn wrong(&self, name: &str, expected: &str, found: &Value) -> Error {
        let found: String = found.to_string().chars().take(40).collect();
        wrong(self.at, &format!("\"{name}\" should be {expected}, not {found}"))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        let text = |v: &Value| v.as_str().map(String::from);
        self.optional(name, "text", text)
    }

    pub(super) fn required_text(&self, name: &str) -> Result<String> {
        self.text(name)?.ok_or_else(|| wrong(self.at, &format!("\"{name}\" is missing")))
    }

    /// A finite number that is not negative.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>> {
        self.optional(name, "a number of at least 0", amount)
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u64>> {
        self.optional(name, "a whole number", Value::as_u64)
    }

    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>> {
        self.optional(name, "true or false", Value::as_bool)
    }

    pub(super) fn verdict(&self, name: &str) -> Result<Option<Verdict>> {
        self.optional(name, "\"yes\", \"partly\" or \"no\"", Verdict::read)
    }

    /// An object within; empty where it is absent.
    pub(super) fn object(&self, name: &str) -> Result<Fields<'a>> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        let Some(value) = self.get(name) else { return Ok(Fields { map: &NONE, at: self.at }) };
        let map = value.as_object().ok_or_else(|| self.wrong(name, "an object", value))?;
        Ok(Fields { map, at: self.at })
    }

    /// A list within; empty where it is absent.
    pub(super) fn list(&self, name: &str) -> Result<&'a [Value]> {
        let Some(value) = self.get(name) else { return Ok(&[]) };
        value.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong(name, "a list", value))
    }

    pub(super) fn objects(&self, name: &str) -> Result<Vec<Fields<'a>>> {
        let object = |value: &'a Value| {
            let map = value.as_object();
            map.map(|map| Fields { map, at: self.at })
                .ok_or_else(|| self.wrong(name, "a list of objects", value))
        };
        self.list(name)?.iter().map(object).collect()
    }

    fn optional<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.wrong(name, expected, value))
    }
}

/// A finite number that is not negative.
pub(super) fn amount(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

/// The one line about a record that cannot be used.
pub(super) fn wrong(at: &str, what: &str) -> Error {
    Error::input(format!(
        "{at}: {what}; run that cell again with hive sweep, or take the record out of the folder"
    ))
}
