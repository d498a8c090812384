//! `hive sweep`: a matrix of runs from a TOML file.

mod live;

use super::console::{err, out, say};
use crate::processes::Process;
use crate::sweep::{
    Cell, Event, SweepConfig, SweepOptions, names, scaling_table, sweep as run_matrix, table,
};
use crate::units::plural;
use crate::{Error, Result};
use clap::{Parser, ValueHint};
use live::Live;
use std::path::PathBuf;

/// Failed cells that the last line names.
const NAMED: usize = 8;

/// Run a matrix of workloads, graphs, devices and options; resume a sweep that was killed
#[derive(Parser)]
#[command(name = "sweep")]
pub(super) struct Sweep {
    /// A TOML file, such as configs/smoke.toml; docs/sweeps.md has the format
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    config: PathBuf,
    /// Folder of the records: records.jsonl, sweep.json, and one file for each cell in HIVE's layout
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Run only these cells, as in --only workload=bfs --only graph='rmat:*'; a coordinate given twice takes both values
    #[arg(long, value_name = "COORDINATE=VALUE")]
    only: Vec<String>,
    /// Set an option in place of the file's, as in --set runs=3 --set verify=false
    #[arg(long, value_name = "OPTION=VALUE")]
    set: Vec<String>,
    /// List the cells and run none
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: SweepOptions,
}

/// Exit code 1 when a cell failed, or when none ran: a sweep that measured nothing is no success.
pub(super) fn sweep(args: Sweep) -> Result<()> {
    let mut config = SweepConfig::read(&args.config)?;
    args.set.iter().try_for_each(|text| config.set(text))?;
    let mut options = args.options;
    args.only.iter().try_for_each(|text| options.only.narrow(text))?;
    if args.dry_run {
        Process::refuse("hive sweep --dry-run")?;
        return out(&(names(&config, &options)?.join("\n") + "\n"));
    }
    let output = args.output.unwrap_or_default();
    let mut live: Option<Live> = None;
    let mut observe = |event: Event<'_>| live.get_or_insert_with(Live::new).see(event);
    let cells = run_matrix(&config, &output, &options, &mut observe);
    live.iter().for_each(Live::finish);
    let Some(cells) = cells? else { return Ok(()) };
    say(&table(&cells).to_string())?;
    if let Some(table) = scaling_table(&cells) {
        say(&format!("\n{table}"))?;
    }
    verdict(&cells)
}

/// Whether a sweep goes on without processes that fail.
#[cfg(unix)]
pub(super) fn goes_on(args: Sweep) -> Result<bool> {
    let mut config = SweepConfig::read(&args.config)?;
    args.set.iter().try_for_each(|text| config.set(text))?;
    Ok(config.run.on_failure == crate::fleet::OnFailure::Continue)
}

/// Failed cells: one in the last line, more a line each and then one line for all.
fn verdict(cells: &[Cell]) -> Result<()> {
    let bad: Vec<&Cell> = cells.iter().filter(|cell| cell.is_bad()).collect();
    let told = |cell: &Cell| format!("{}: {}", cell.name, cell.text("error"));
    let counts = format!("{} of {} failed", bad.len(), plural(cells.len() as u64, "cell"));
    match bad.as_slice() {
        [] => {}
        [one] => return Err(Error::Verify(format!("{counts}: {}", told(one)))),
        many => {
            many.iter().for_each(|cell| err(&format!("failed: {}\n", told(cell))));
            let mut names: Vec<String> =
                many.iter().take(NAMED).map(|cell| cell.name.clone()).collect();
            if many.len() > NAMED {
                names.push(format!("and {} more, above", many.len() - NAMED));
            }
            return Err(Error::Verify(format!("{counts}: {}", names.join("; "))));
        }
    }
    match cells.first() {
        Some(first) if !cells.iter().any(Cell::is_good) => Err(Error::Verify(format!(
            "no cell ran: all were skipped, the first is {}",
            told(first)
        ))),
        _ => Ok(()),
    }
}
