//! How many nodes each hop draws.

use crate::error::{Error, Result};
use crate::words::scalar;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// Hops of a sample.
const HOPS: usize = 8;
/// Nodes that one draws.
const FANOUT: u32 = 1024;
/// Places of a sample.
const PLACES: usize = 1 << 20;

/// Nodes that each node of a hop draws for the next, a number a hop; parsed from, printed and serialised as `25,10`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fanouts(Vec<u32>);

impl Fanouts {
    /// The number of each hop.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// Places of each hop: the product of the numbers up to its own.
    pub fn places(&self) -> Vec<usize> {
        let product = |places: &mut usize, number: &u32| {
            *places *= *number as usize;
            Some(*places)
        };
        self.0.iter().scan(1, product).collect()
    }

    /// Places of all hops.
    pub fn all_places(&self) -> usize {
        self.places().iter().sum()
    }
}

impl Default for Fanouts {
    fn default() -> Self {
        Fanouts(vec![25, 10])
    }
}

impl FromStr for Fanouts {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fanouts> {
        let refuse = |what: String| Error::input(format!("--fanouts {text}: {what}"));
        let number = |part: &str| match part.trim().parse() {
            Ok(number) if (1..=FANOUT).contains(&number) => Ok(number),
            _ => Err(refuse(format!(
                "'{}' is no number from 1 to {FANOUT}; give one a hop, as in 25,10",
                part.trim()
            ))),
        };
        let numbers: Vec<u32> = text.split(',').map(number).collect::<Result<_>>()?;
        if numbers.len() > HOPS {
            return Err(refuse(format!("{} hops; use at most {HOPS}", numbers.len())));
        }
        let mut places = 0;
        let mut last = 1;
        for number in &numbers {
            last *= *number as usize;
            places += last;
            if places > PLACES {
                return Err(refuse(format!("more than {PLACES} places a source; use less")));
            }
        }
        Ok(Fanouts(numbers))
    }
}

impl fmt::Display for Fanouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

impl Serialize for Fanouts {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fanouts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        scalar(deserializer)
    }
}
