//! `hive sweep`: a matrix of runs from a TOML file.

mod live;

use super::console::{err, out, say};
use crate::fleet::Devices;
use crate::sweep::{
    CHILD, Cell, Selection, SweepConfig, SweepOptions, names, scaling_table, sweep as run_matrix,
    table,
};
use crate::units::plural;
use crate::{Error, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use live::Live;
use std::path::PathBuf;
use std::time::Duration;

/// Failed cells that the last line names.
const NAMED: usize = 8;

pub(super) fn command() -> Command {
    let path = |name| Arg::new(name).value_parser(value_parser!(PathBuf));
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("sweep")
        .about("Run a matrix of workloads, graphs, devices and options; resume a sweep that was killed")
        .arg(
            path("config")
                .required(true)
                .value_name("CONFIG")
                .value_hint(ValueHint::FilePath)
                .help("A TOML file, such as configs/smoke.toml; docs/sweeps.md has the format"),
        )
        .arg(
            path("output")
                .long("output")
                .required_unless_present("dry-run")
                .value_name("DIR")
                .value_hint(ValueHint::DirPath)
                .help("Folder of the records: records.jsonl, sweep.json, and one file for each cell in HIVE's layout"),
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
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("COORDINATE=VALUE")
                .action(ArgAction::Append)
                .help("Run only these cells, as in --only workload=bfs --only graph='rmat:*'; a coordinate given twice takes both values"),
        )
        .arg(
            Arg::new("set")
                .long("set")
                .value_name("OPTION=VALUE")
                .action(ArgAction::Append)
                .help("Set an option in place of the file's, as in --set runs=3 --set verify=false"),
        )
        .arg(
            Arg::new("partition")
                .long("partition")
                .value_name("NAME")
                .value_parser(partition)
                .help("Name of this machine in the layout of records [default: the model of its devices]"),
        )
        .arg(flag("rerun").help("Run finished cells again"))
        .arg(flag("isolate").help("Run each cell in a process of its own, so that a crash ends one cell"))
        .arg(
            Arg::new("cell-limit")
                .long("cell-limit")
                .value_name("SECONDS")
                .requires("isolate")
                .value_parser(seconds)
                .help("With --isolate: kill a cell after so many seconds, loading included"),
        )
        .arg(flag("dry-run").help("List the cells and run none"))
}

/// What `--isolate` starts; not for people.
pub(super) fn child_command() -> Command {
    Command::new(CHILD).hide(true)
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
pub(super) fn sweep(matches: &ArgMatches) -> Result<()> {
    let path = |name| matches.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let texts = |name| matches.get_many::<String>(name).into_iter().flatten();
    let mut config = SweepConfig::read(&path("config"))?;
    texts("set").try_for_each(|text| config.set(text))?;
    let mut only = Selection::default();
    texts("only").try_for_each(|text| only.narrow(text))?;
    let options = SweepOptions {
        devices: matches.get_many::<Devices>("devices").map(|devices| devices.cloned().collect()),
        only,
        partition: matches.get_one::<String>("partition").cloned(),
        rerun: matches.get_flag("rerun"),
        isolate: matches.get_flag("isolate"),
        cell_limit: matches.get_one::<Duration>("cell-limit").copied(),
    };
    if matches.get_flag("dry-run") {
        return out(&(names(&config, &options)?.join("\n") + "\n"));
    }
    let mut live = Live::new();
    let cells = run_matrix(&config, &path("output"), &options, &mut |event| live.see(event));
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
