//! Numbers of bytes, as people write them.

use crate::error::Error;
use crate::words::Scalar;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes above 0, as in `1073741824`, `1024M`, `1GiB` or `1g`: powers of 1024. In a
/// configuration file or a record a number or such a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Scalar", into = "String")]
pub struct ByteCount(pub u64);

const UNITS: [(&str, u32); 4] = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];

impl FromStr for ByteCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let named = |name: &str| {
            unit.eq_ignore_ascii_case(name) || unit.eq_ignore_ascii_case(&format!("{name}iB"))
        };
        let shift = match unit {
            "" => Some(0),
            _ => UNITS.iter().find(|(name, _)| named(name)).map(|(_, shift)| *shift),
        };
        let number = number.parse::<u64>().ok().filter(|number| *number > 0);
        let bytes = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
        bytes.map(ByteCount).ok_or_else(|| {
            Error::input(format!(
                "'{text}' is no number of bytes; use one above 0, as in 1073741824, 512M, 80G or 80GiB"
            ))
        })
    }
}

/// Exact: with a unit where that loses nothing.
impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, shift): &&(&str, u32)| self.0.is_multiple_of(1 << shift);
        match UNITS.iter().rev().find(whole) {
            Some((unit, shift)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

impl TryFrom<Scalar> for ByteCount {
    type Error = Error;

    fn try_from(scalar: Scalar) -> Result<Self, Error> {
        scalar.to_string().parse()
    }
}

impl From<ByteCount> for String {
    fn from(count: ByteCount) -> String {
        count.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_in_powers_of_1024_and_written_exactly() {
        for (text, bytes, written) in [
            ("1", 1, "1"),
            ("1023", 1023, "1023"),
            ("2048", 2048, "2K"),
            ("512M", 512 << 20, "512M"),
            ("512MiB", 512 << 20, "512M"),
            ("80g", 80 << 30, "80G"),
            ("80gib", 80 << 30, "80G"),
            ("3KiB", 3072, "3K"),
            ("1T", 1 << 40, "1T"),
        ] {
            let count: ByteCount = text.parse().unwrap();
            assert_eq!((count.0, count.to_string().as_str()), (bytes, written), "{text}");
            assert_eq!(written.parse::<ByteCount>().unwrap(), count);
        }
        assert_eq!(serde_json::from_str::<ByteCount>("4096").unwrap(), ByteCount(4096));
        assert_eq!(serde_json::to_string(&ByteCount(4096)).unwrap(), "\"4K\"");
        assert_eq!(serde_json::from_str::<ByteCount>("\"4K\"").unwrap(), ByteCount(4096));
    }

    #[test]
    fn what_is_no_number_of_bytes_is_refused_with_the_accepted_forms() {
        for text in ["", "0", "0G", "-1", "1.5G", "G", "12MB", "12 M", "99999999T", "1e9", "é"] {
            let message = text.parse::<ByteCount>().unwrap_err().to_string();
            assert!(message.contains("512M, 80G"), "{text}: {message}");
        }
        assert!(serde_json::from_str::<ByteCount>("0").is_err());
        assert!(serde_json::from_str::<ByteCount>("[1]").is_err());
    }
}
