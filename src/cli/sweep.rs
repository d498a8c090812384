//! `hive sweep`: a matrix of runs from a TOML file.

use super::console::{err, out};
use crate::fleet::Devices;
use crate::report::units;
use crate::sweep::{Cell, State, SweepConfig, sweep as run_matrix, table};
use crate::{Error, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

pub(super) fn command() -> Command {
    let file = |name| Arg::new(name).required(true).value_parser(value_parser!(PathBuf));
    Command::new("sweep")
        .about("Run a matrix of workloads, graphs, devices, collectives and merge modes")
        .arg(file("config").value_name("CONFIG").help("A TOML file, such as configs/smoke.toml"))
        .arg(
            file("output")
                .long("output")
                .value_name("DIR")
                .help("Where the records go: one JSON file a cell, and sweep.json"),
        )
        .arg(
            Arg::new("devices")
                .long("devices")
                .value_name("DEVICES")
                .num_args(1..)
                .action(ArgAction::Append)
                .value_parser(value_parser!(Devices))
                .help("Device lists to use instead of the file's, as in --devices cuda:0 cuda:0-3"),
        )
}

/// Exit code 1 when a cell failed, or when none ran: a sweep that measured nothing is no success.
pub(super) fn sweep(matches: &ArgMatches) -> Result<()> {
    let path = |name| matches.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let mut config = SweepConfig::read(&path("config"))?;
    if let Some(devices) = matches.get_many::<Devices>("devices") {
        config.devices = devices.cloned().collect();
    }
    let variants = config.workloads()?.into_iter().map(|workload| config.variants_of(workload));
    let variants: Vec<_> = variants.collect::<Result<_>>()?;
    let total = config.specs().count()
        * config.devices.len()
        * config.collectives.len()
        * config.merges.len()
        * variants.iter().map(Vec::len).sum::<usize>();
    let mut place = 0;
    let cells = run_matrix(&config, &path("output"), &mut |cell| {
        place += 1;
        err(&format!("[{place}/{total}] {}: {}\n", cell.name(), in_short(cell)));
    })?;
    out(&table(&cells).to_string())?;
    verdict(&cells)
}

fn in_short(cell: &Cell) -> String {
    match &cell.state {
        State::Done { time, verified, .. } => {
            let verified =
                verified.map_or("", |passed| if passed { ", verified" } else { ", WRONG" });
            format!("{}{verified}", units::ms(time.median))
        }
        State::Failed { error } => format!("FAILED: {error}"),
        State::Skipped { error } => format!("skipped: {error}"),
    }
}

fn verdict(cells: &[Cell]) -> Result<()> {
    let named = |cells: Vec<&Cell>| {
        let lines =
            cells.iter().map(|c| format!("{}: {}", c.name(), c.error().unwrap_or_default()));
        lines.collect::<Vec<_>>().join("; ")
    };
    let bad: Vec<&Cell> = cells.iter().filter(|cell| cell.is_bad()).collect();
    if !bad.is_empty() {
        let counts = format!("{} of {} cells failed", bad.len(), cells.len());
        return Err(Error::Verify(format!("{counts}: {}", named(bad))));
    }
    if !cells.iter().any(Cell::is_good) {
        let all = named(cells.iter().take(1).collect());
        return Err(Error::Verify(format!("no cell ran: all were skipped, the first is {all}")));
    }
    Ok(())
}
