//! Options whose values are words.

use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;
use std::str::FromStr;

/// What an option may be in TOML or JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a word, a number, true or false")]
pub(crate) enum Scalar {
    Flag(bool),
    Integer(u64),
    Float(f64),
    Text(String),
}

/// As on a command line.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Flag(flag) => flag.fmt(f),
            Scalar::Integer(number) => number.fmt(f),
            Scalar::Float(number) => number.fmt(f),
            Scalar::Text(text) => f.write_str(text),
        }
    }
}

/// Reads an option from any [`Scalar`]. For `#[serde(deserialize_with)]`.
pub(crate) fn scalar<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Scalar::deserialize(deserializer)?.to_string().parse().map_err(de::Error::custom)
}

/// An option with a fixed set of words, and with other words for the same.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $flag:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal $(| $alias:literal)?),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                match text {
                    $($word $(| $alias)? => Ok($name::$variant),)+
                    _ => Err(Error::input(format!(
                        concat!($flag, " {}: not understood; use {}"), text, crate::words::either(&[$($word),+])))),
                }
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(crate) use words;

/// `a, b or c`.
pub(crate) fn either(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// Serde's form of options that are a text there too: through `FromStr` and `Display`. They say
/// `#[serde(try_from = "String", into = "String")]`.
macro_rules! as_text {
    ($($name:ident),+) => {$(
        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<$name> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    )+};
}
pub(crate) use as_text;
