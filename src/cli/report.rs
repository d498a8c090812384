//! `hive report`: tables, plots and a page from results, and the guard against slower ones.

use super::console::{out, say};
use crate::io::write_atomically;
use crate::report::Document;
use crate::results::{Case, Comparison, published_tables, read};
use crate::run::writable;
use crate::units::{ms, plural};
use crate::{Error, Result};
use clap::{Parser, ValueHint};
use std::path::{Path, PathBuf};

/// Tables, plots and a page from results: ours and those of HIVE's phase 2
#[derive(Parser)]
#[command(name = "report")]
pub(super) struct Report {
    /// Folders of records, walked whole; such folders as .tar.gz; single .json and .jsonl files
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    results: Vec<PathBuf>,
    /// Write one self-contained page with all tables and plots
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Write one unrounded line for each cell
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    csv: Option<PathBuf>,
    /// Folder for every plot as an SVG file
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plots: Option<PathBuf>,
    /// Results to compare with; may be given several times
    #[arg(long, value_name = "DIR")]
    baseline: Vec<PathBuf>,
    /// Exit with code 1 if the median of a cell is more than RATIO times the baseline's, as in 1.10
    #[arg(long, value_name = "RATIO", requires = "baseline", value_parser = slower)]
    fail_if_slower: Option<f64>,
    /// Title of the report [default: DIR]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Print the tables of HIVE's phase-2 report instead, in its format
    #[arg(long)]
    hive_tables: bool,
}

fn slower(text: &str) -> Result<f64> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    ratio.ok_or_else(|| {
        Error::input(format!(
            "--fail-if-slower {text}: use a ratio above 0, as in 1.10 for a tenth"
        ))
    })
}

/// Exit code 1 when `--fail-if-slower` finds a slower cell.
pub(super) fn report(args: Report) -> Result<()> {
    if let Some(picture) = args.plots.as_ref().filter(|p| p.extension().is_some_and(|e| e == "png"))
    {
        return Err(Error::input(format!(
            "--plots {}: plots are written as .svg files only; name a folder for them",
            picture.display()
        )));
    }
    for (flag, path) in [("--html", &args.html), ("--csv", &args.csv)] {
        path.iter().try_for_each(|path| writable(flag, path))?;
    }
    let set = read(&args.results)?;
    let old = if args.baseline.is_empty() { None } else { Some(read(&args.baseline)?) };
    let baseline = named(&args.baseline);
    let title = args.title.unwrap_or_else(|| named(&args.results));
    let document = Document::new(&title, &set, old.as_ref().map(|old| (baseline.as_str(), old)));
    let mut written = String::new();
    if let Some(path) = &args.csv {
        write_atomically(path, |to| to.write_all(document.csv().as_bytes()))?;
        written += &format!("{}: a line a cell\n", path.display());
    }
    if let Some(path) = &args.html {
        write_atomically(path, |to| to.write_all(document.html().as_bytes()))?;
        written += &format!("{}: {}\n", path.display(), document.overview());
    }
    if let Some(folder) = &args.plots {
        let plots = write_plots(&document, folder)?;
        written += &format!("{}: {}\n", folder.display(), plural(plots, "plot"));
    }
    if args.hive_tables {
        let tables = published_tables(&set.cases);
        let text = tables.iter().map(|(name, table)| format!("## {name}\n\n{table}\n"));
        out(&text.collect::<String>())?;
    } else if written.is_empty() {
        say(&document.markdown())?;
    } else {
        say(&written)?;
    }
    match (document.comparison(), args.fail_if_slower) {
        (Some(comparison), Some(ratio)) => guard(comparison, ratio),
        _ => Ok(()),
    }
}

/// Every plot as .svg; how many there are.
fn write_plots(document: &Document<'_>, folder: &Path) -> Result<u64> {
    let unusable = |e| Error::input(format!("--plots {}: {e}; name a folder", folder.display()));
    std::fs::create_dir_all(folder).map_err(unusable)?;
    let files = document.plot_files();
    for (name, content) in &files {
        write_atomically(&folder.join(name), |to| to.write_all(content.as_bytes()))?;
    }
    Ok(files.len() as u64)
}

/// `standing and geo.tar.gz`.
fn named(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(" and ")
}

/// One line when nothing is slower or broken; else an error that names each cell that is.
fn guard(comparison: &Comparison<'_>, ratio: f64) -> Result<()> {
    let failed = comparison.broken.iter().filter(|case| case.done().is_none()).count();
    let cells = comparison.pairs.len() + failed;
    if cells == 0 {
        return Err(Error::input(format!(
            "--fail-if-slower {ratio}: no cell is in both sets ({} only now, {} only before); compare sweeps of \
             the same workloads, graphs and devices",
            comparison.only_now.len(),
            comparison.only_before.len()
        )));
    }
    let named = complaints(comparison, ratio);
    if named.is_empty() {
        let missed = match comparison.only_before.len() {
            0 => String::new(),
            missed => {
                format!("; {} of the baseline not measured again", plural(missed as u64, "cell"))
            }
        };
        return say(&format!(
            "None of {cells} compared cells takes more than {ratio} times as long{missed}.\n"
        ));
    }
    Err(Error::Verify(format!(
        "{} of {cells} compared cells take more than {ratio} times as long, or are broken: {}",
        named.len(),
        named.join("; ")
    )))
}

/// Each cell that fails, answers wrong or is slower now, in words.
fn complaints(comparison: &Comparison<'_>, ratio: f64) -> Vec<String> {
    let broken = |case: &Case| comparison.broken.iter().any(|other| std::ptr::eq(*other, case));
    let fate = |case: &Case| if case.done().is_some() { "answers wrong now" } else { "fails now" };
    let mut lines: Vec<String> =
        comparison.broken.iter().map(|case| format!("{} {}", case.name(), fate(case))).collect();
    for pair in comparison.slower(ratio).filter(|pair| !broken(pair.case)) {
        let [now, before] =
            [pair.case, pair.baseline].map(|case| ms(case.median().unwrap_or_default()));
        lines.push(format!("{} {:.3} times ({now} after {before})", pair.case.name(), pair.ratio));
    }
    lines
}
