//! Generators: graphs from a few words, the same for any number of threads.
//!
//! | specification | what |
//! |---|---|
//! | `rmat:SCALE[,ef=16][,seed=1]` | R-MAT with Graph500's probabilities, 2^SCALE nodes |
//! | `grid:ROWSxCOLS[,seed=1]` | a street grid: each node joined to its 4 neighbours |
//!
//! All are symmetric, without self loops or duplicates, and carry integer weights 1..=64 that are a
//! hash of the unordered pair.

mod device;
mod grid;
pub(crate) mod hash;
pub(crate) mod passes;
pub(crate) mod rmat;

pub use device::{DeviceGenerated, DeviceReport, DeviceTimes, PassLimits, on_device, on_device_in};

use crate::error::{Error, Result};
use crate::graph::Graph;
use std::str::FromStr;

/// The accepted forms, for help texts and refusals.
pub const FORMS: &str = "rmat:SCALE[,ef=16][,seed=1] or grid:ROWSxCOLS[,seed=1]";

/// Whether `spec` names a generator rather than a file.
pub fn is_spec(spec: &str) -> bool {
    spec.starts_with("rmat:") || spec.starts_with("grid:")
}

/// A specification, read.
enum Recipe {
    Rmat(rmat::Rmat),
    Grid(grid::Grid),
}

impl Recipe {
    fn parse(spec: &str) -> Result<Recipe> {
        match spec.split_once(':') {
            Some(("rmat", rest)) => rmat::Rmat::parse(spec, rest).map(Recipe::Rmat),
            Some(("grid", rest)) => grid::Grid::parse(spec, rest).map(Recipe::Grid),
            _ => Err(Error::input(format!("`{spec}` is no generator; write {FORMS}"))),
        }
    }

    /// Refuses what the host could not hold while it is made.
    fn check_memory(&self, spec: &str) -> Result<()> {
        check_memory(
            spec,
            match self {
                Recipe::Rmat(rmat) => rmat.host_bytes(),
                Recipe::Grid(grid) => grid.host_bytes(),
            },
        )
    }
}

/// Whether `spec` makes sense and fits into this machine's memory, without generating anything.
pub fn check(spec: &str) -> Result<()> {
    Recipe::parse(spec)?.check_memory(spec)
}

/// Whether `spec` makes sense: the graph may be made on a device that has more memory.
pub fn check_form(spec: &str) -> Result<()> {
    Recipe::parse(spec).map(drop)
}

/// Generates the graph that `spec` describes (see [`FORMS`]).
pub fn generate(spec: &str) -> Result<Graph> {
    let recipe = Recipe::parse(spec)?;
    recipe.check_memory(spec)?;
    let mut graph = match recipe {
        Recipe::Rmat(rmat) => rmat::generate(&rmat)?,
        Recipe::Grid(grid) => grid::generate(&grid)?,
    };
    graph.origin.graph_file = spec.to_string();
    Ok(graph)
}

/// Splits `SIZE,key=value,...` and hands each option to `option`, which says whether it knew the key
/// and liked the value. Returns the size.
fn options<'a>(
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

/// The one refusal of a specification: what, where, and the accepted form.
fn refused(spec: &str, part: &str, form: &str) -> Error {
    Error::input(format!("generator `{spec}`: cannot use `{part}`; write {form}"))
}

/// Parses `text` into `place` if it is a number within `range`.
fn set<T: FromStr + PartialOrd>(
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

/// Refuses what would not fit into memory, where the system tells how much there is.
fn check_memory(spec: &str, bytes: u128) -> Result<()> {
    match available_memory() {
        Some(available) if bytes > u128::from(available) => Err(Error::machine(format!(
            "generator `{spec}`: needs about {:.0} GB of memory and {:.0} GB are available; ask for \
             a smaller graph",
            bytes as f64 * 1e-9,
            available as f64 * 1e-9
        ))),
        _ => Ok(()),
    }
}

/// Bytes that Linux reckons can be had without swapping; `None` elsewhere.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_name_the_dataset() {
        let rmat = generate("rmat:8,ef=4,seed=7").unwrap();
        assert_eq!(rmat.origin.dataset, "rmat8");
        assert_eq!(rmat.origin.graph_file, "rmat:8,ef=4,seed=7");
        assert_eq!(rmat.nodes(), 256);
        let grid = generate("grid:3x5").unwrap();
        assert_eq!(grid.origin.dataset, "grid3x5");
        assert_eq!(grid.nodes(), 15);
    }

    #[test]
    fn bad_specifications_are_refused_in_one_line_that_shows_the_form() {
        let bad = [
            "rmat:",
            "rmat:0",
            "rmat:32",
            "rmat:x",
            "rmat:8,ef=0",
            "rmat:8,ef=1025",
            "rmat:8,ef",
            "rmat:8,e=1",
            "rmat:8,seed=-1",
            "rmat:8,",
            "grid:",
            "grid:3",
            "grid:0x3",
            "grid:3x",
            "grid:65536x65536",
            "grid:99999999999999999999x1",
            "grid:3x3,ef=2",
            "star:5",
            "",
        ];
        for spec in bad {
            let message = generate(spec).unwrap_err().to_string();
            assert!(message.contains("; write "), "{spec}: {message}");
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused_before_it_is_tried() {
        let message = generate("rmat:31,ef=1024").unwrap_err().to_string();
        assert!(message.contains("memory") && message.contains("smaller"), "{message}");
    }
}
