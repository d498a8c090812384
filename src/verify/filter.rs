//! Checks filtering: values and order exactly, by making the array again, one value after another.

mod gpu;

use crate::error::{Error, Result};
use crate::hash::array_value;

/// Certifies that `kept` holds, in order, those of the array's first `elements` values under `seed` that are below
/// `share` of 2^32. Returns how many they are.
///
/// Takes one pass with one thread and no memory.
///
/// # Errors
///
/// [`Error::Verify`] names the first wrong value, its place among the kept ones, and the right one.
pub fn filter(seed: u64, elements: u64, share: f64, kept: &[u32]) -> Result<u64> {
    let below = |value: &u32| f64::from(*value) < share * 4_294_967_296.0;
    let mut right = (0..elements).map(|place| array_value(seed, place)).filter(below);
    for (place, found) in kept.iter().enumerate() {
        match right.next() {
            Some(value) if value == *found => {}
            Some(value) => {
                return Err(Error::Verify(format!(
                    "filter: kept value {place} is {found}, it should be {value}"
                )));
            }
            None => {
                let too_many = kept.len();
                return Err(Error::Verify(format!(
                    "filter: {too_many} values are kept, but only {place} are wanted"
                )));
            }
        }
    }
    match right.count() {
        0 => Ok(kept.len() as u64),
        missing => {
            let found = kept.len();
            Err(Error::Verify(format!("filter: {found} values are kept, {missing} are missing")))
        }
    }
}
