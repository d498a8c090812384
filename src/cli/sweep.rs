//! `hive sweep`: a matrix of runs from a TOML file.

mod live;

use super::console::{err, out, say};
use crate::fleet::Devices;
use crate::sweep::{
    Cell, Selection, SweepConfig, SweepOptions, names, scaling_table, sweep as run_matrix, table,
};
use crate::units::plural;
use crate::{Error, Result};
use clap::{Parser, ValueHint};
use live::Live;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Device lists to use instead of the file's, as in --devices cuda:0 cuda:0-3
    #[arg(long, value_name = "DEVICES", num_args = 1..)]
    devices: Option<Vec<Devices>>,
    /// Run only these cells, as in --only workload=bfs --only graph='rmat:*'; a coordinate given twice takes both values
    #[arg(long, value_name = "COORDINATE=VALUE")]
    only: Vec<String>,
    /// Set an option in place of the file's, as in --set runs=3 --set verify=false
    #[arg(long, value_name = "OPTION=VALUE")]
    set: Vec<String>,
    /// Name of this machine in the layout of records [default: the model of its devices]
    #[arg(long, value_name = "NAME", value_parser = partition)]
    partition: Option<String>,
    /// Run finished cells again
    #[arg(long)]
    rerun: bool,
    /// Run each cell in a process of its own, so that a crash ends one cell
    #[arg(long)]
    isolate: bool,
    /// With --isolate: kill a cell after so many seconds, loading included
    #[arg(long, value_name = "SECONDS", requires = "isolate", value_parser = seconds)]
    cell_limit: Option<Duration>,
    /// List the cells and run none
    #[arg(long)]
    dry_run: bool,
}

fn partition(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match !text.is_empty() && text.chars().all(plain) && !text.starts_with('.') {
        true => Ok(text.into()),
        false => Err(format!(
            "--partition {text}: use letters, digits, '.', '_' and '-'; it names a folder"
        )),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=1e7).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("--cell-limit {text}: use seconds above 0, as in 600"))
}

/// Exit code 1 when a cell failed, or when none ran: a sweep that measured nothing is no success.
pub(super) fn sweep(args: Sweep) -> Result<()> {
    let mut config = SweepConfig::read(&args.config)?;
    args.set.iter().try_for_each(|text| config.set(text))?;
    let mut only = Selection::default();
    args.only.iter().try_for_each(|text| only.narrow(text))?;
    let options = SweepOptions {
        devices: args.devices,
        only,
        partition: args.partition,
        rerun: args.rerun,
        isolate: args.isolate,
        cell_limit: args.cell_limit,
    };
    if args.dry_run {
        return out(&(names(&config, &options)?.join("\n") + "\n"));
    }
    let output = args.output.unwrap_or_default();
    let mut live = Live::new();
    let cells = run_matrix(&config, &output, &options, &mut |event| live.see(event));
    live.finish();
    let cells = cells?;
    say(&table(&cells).to_string())?;
    if let Some(table) = scaling_table(&cells) {
        say(&format!("\n{table}"))?;
    }
    verdict(&cells)
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
