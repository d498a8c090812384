//! Stand-in for writers; replaced at merge.

use crate::algorithm::ShortestPaths;
use crate::graph::Graph;
use crate::{Error, Result};
use std::io::Write;
use std::path::Path;

/// Formats.
pub enum ResultFormat {
    /// CSV.
    Csv,
}

impl ResultFormat {
    /// By extension.
    pub fn of(_: &Path) -> Result<ResultFormat> {
        Ok(ResultFormat::Csv)
    }
}

/// Writes results.
pub fn write_results(_: &Path, _: &Graph, _: &ShortestPaths) -> Result<()> {
    Err(Error::machine("this build has no writers"))
}

/// Writes a file aside and renames it.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = std::fs::File::create(path)
        .map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
    fill(&mut file).map_err(|e| Error::input(format!("{}: {e}", path.display())))
}
