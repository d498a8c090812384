//! Reading a specification, `NAME:SIZE,key=value,...`, and refusing what cannot be made.

use crate::error::{Error, Result};
use crate::graph::MAX_NODES;
use crate::memory::available_memory;
use std::str::FromStr;

/// Splits `SIZE,key=value,...` and hands each option to `option`, which says whether it knew the key
/// and liked the value. Returns the size.
pub(super) fn options<'a>(
    spec: &str,
    rest: &'a str,
    form: &str,
    mut option: impl FnMut(&str, &str) -> bool,
) -> Result<&'a str> {
    let mut parts = rest.split(',').map(str::trim);
    let size = parts.next().unwrap_or_default();
    for part in parts {
        if !part.split_once('=').is_some_and(|(key, value)| option(key.trim(), value.trim())) {
            return Err(refused(spec, part, form));
        }
    }
    Ok(size)
}

/// [`options`] of a generator that has none but `seed`, 1 if it is left out: the size and the seed.
pub(super) fn seeded<'a>(spec: &str, rest: &'a str, form: &str) -> Result<(&'a str, u64)> {
    let mut seed = 1;
    let size = options(spec, rest, form, |key, value| key == "seed" && set(&mut seed, value, ..))?;
    Ok((size, seed))
}

/// The one refusal of a specification: what, where, and the accepted form.
pub(super) fn refused(spec: &str, part: &str, form: &str) -> Error {
    Error::input(format!("generator `{spec}`: cannot use `{part}`; write {form}"))
}

/// Parses `text` into `place` if it is a number within `range`.
pub(super) fn set<T: FromStr + PartialOrd>(
    place: &mut T,
    text: &str,
    range: impl std::ops::RangeBounds<T>,
) -> bool {
    match text.parse() {
        Ok(value) if range.contains(&value) => {
            *place = value;
            true
        }
        _ => false,
    }
}

/// The size of `spec`: a count from 1 to `most`, as in `1000` or `2^20`.
pub(super) fn count(spec: &str, size: &str, form: &str, most: u64) -> Result<u64> {
    let count = match size.strip_prefix("2^") {
        Some(exponent) => exponent.parse().ok().and_then(|bits| 1u64.checked_shl(bits)),
        None => size.parse().ok(),
    };
    count.filter(|n| (1..=most).contains(n)).ok_or_else(|| refused(spec, size, form))
}

/// The size of `spec`: `ROWSxCOLS`, both at least 1 and at most [`MAX_NODES`] nodes in all.
pub(super) fn rectangle(spec: &str, size: &str, form: &str) -> Result<(u64, u64)> {
    let sides = size.split_once('x');
    let sides = sides.and_then(|(r, c)| r.parse::<u64>().ok().zip(c.parse::<u64>().ok()));
    let fits = |(r, c): &(u64, u64)| (1..=MAX_NODES).contains(&r.saturating_mul(*c));
    sides.filter(fits).ok_or_else(|| refused(spec, size, form))
}

/// Refuses what would not fit into memory, where the system tells how much there is.
pub(super) fn check_memory(spec: &str, bytes: u64) -> Result<()> {
    match available_memory() {
        Some(available) if bytes > available => Err(Error::machine(format!(
            "generator `{spec}`: needs about {:.0} GB of memory and {:.0} GB are available; ask for \
             a smaller graph",
            bytes as f64 * 1e-9,
            available as f64 * 1e-9
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_or_powers_of_two_within_their_bounds() {
        let read = |text: &str| count("", text, "", MAX_NODES).ok();
        assert_eq!((read("1"), read("1000"), read("2^20")), (Some(1), Some(1000), Some(1 << 20)));
        for bad in ["0", "", "2^", "2^32", "2^99", "3^2", "-1", "4294967295", "1e6"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
