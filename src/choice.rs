//! A number, or `auto`.

use crate::words::Scalar;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An option that is a number unless it is left to the program. Written `auto` or the number, on the
/// command line, in a configuration file and in a record; `inf` is a number where `T` has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    try_from = "Scalar",
    into = "Scalar",
    bound(serialize = "T: fmt::Display + Clone", deserialize = "T: FromStr, T::Err: fmt::Display")
)]
pub enum Choice<T> {
    /// Chosen by the program, which reports what it chose.
    #[default]
    Auto,
    /// As the user says.
    Is(T),
}

impl<T> Choice<T> {
    /// The number, or `default` where it is left to the program.
    pub fn or(self, default: T) -> T {
        match self {
            Choice::Auto => default,
            Choice::Is(value) => value,
        }
    }

    /// The number, where it is not left to the program.
    pub fn given(self) -> Option<T> {
        match self {
            Choice::Auto => None,
            Choice::Is(value) => Some(value),
        }
    }
}

impl<T: FromStr> FromStr for Choice<T>
where
    T::Err: fmt::Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Choice::Auto),
            _ => text.parse().map(Choice::Is).map_err(|_: T::Err| {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                match "0.5".parse::<T>() {
                    _ if digits => format!("'{text}' is too large"),
                    Ok(_) => format!("'{text}' is not auto or a number"),
                    Err(_) => format!("'{text}' is not auto or a whole number from 0 on"),
                }
            }),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Is(value) => value.fmt(f),
        }
    }
}

impl<T: FromStr> TryFrom<Scalar> for Choice<T>
where
    T::Err: fmt::Display,
{
    type Error = String;

    fn try_from(scalar: Scalar) -> Result<Self, String> {
        scalar.to_string().parse()
    }
}

impl<T: fmt::Display> From<Choice<T>> for Scalar {
    fn from(choice: Choice<T>) -> Scalar {
        let text = choice.to_string();
        match (text.parse(), text.parse::<f64>()) {
            (Ok(integer), _) => Scalar::Integer(integer),
            (_, Ok(float)) if float.is_finite() => Scalar::Float(float),
            _ => Scalar::Text(text),
        }
    }
}

/// Of numbers that may be infinite, which JSON does not write: `inf` there. For `#[serde(with)]`.
pub(crate) mod number {
    use super::{Choice, Deserialize, Serialize};
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Choice::Is(*number).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let number = Choice::deserialize(deserializer)?.given();
        number.ok_or_else(|| D::Error::custom("expected a number"))
    }
}

/// The same where there may be none. What is not finite would be none in JSON, too, and is not to pass for it.
pub(crate) mod number_or_none {
    use super::{Choice, Deserialize, Serialize};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(
        number: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number.map(Choice::Is).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Choice<f64>>::deserialize(deserializer)?.and_then(Choice::given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_written_as_it_is_read() {
        for (choice, json) in [
            (Choice::Auto, "\"auto\""),
            (Choice::Is(f32::INFINITY), "\"inf\""),
            (Choice::Is(0.1), "0.1"),
            (Choice::Is(3.0), "3"),
        ] {
            assert_eq!(serde_json::to_string(&choice).unwrap(), json);
            assert_eq!(serde_json::from_str::<Choice<f32>>(json).unwrap(), choice);
            assert_eq!(choice.to_string().parse::<Choice<f32>>().unwrap(), choice);
        }
    }

    #[test]
    fn what_is_neither_auto_nor_a_number_is_refused() {
        assert!("ten".parse::<Choice<u32>>().is_err());
        assert!("-1".parse::<Choice<u32>>().is_err());
        assert!(serde_json::from_str::<Choice<u32>>("[1]").is_err());
    }
}
