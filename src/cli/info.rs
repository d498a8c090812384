//! `hive info GRAPH`: what a graph is like, and what it needs.

use super::console::{note, phase};
use crate::Result;
use crate::io::{self, LoadOptions};
use crate::report::units::bytes;
use crate::report::{GraphRecord, graph_summary};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueHint};

pub(super) fn command() -> Command {
    let command = Command::new("info")
        .arg(
            Arg::new("graph")
                .value_name("GRAPH")
                .value_hint(ValueHint::FilePath)
                .required(true)
                .help("A graph file or a generator, as for hive run --graph"),
        )
        .arg(
            Arg::new("check")
                .long("check")
                .action(ArgAction::SetTrue)
                .help("Compare a .hive file with its checksums first"),
        )
        .arg(super::json_argument());
    // The options bring their own description.
    let command = LoadOptions::augment_args_for_update(command);
    command
        .about("Say what a graph is like: degrees, components, diameter, memory per workload")
        .long_about(None)
}

pub(super) fn info(matches: &ArgMatches) -> Result<()> {
    let spec = matches.get_one::<String>("graph").map(String::as_str).unwrap_or_default();
    super::check_json(matches)?;
    let options = super::load_options(matches)?;
    if matches.get_flag("check") {
        let checked = phase("comparing checksums", || io::check_native(spec))?;
        note(&format!("{spec}: {} agree with their checksums\n", bytes(checked)));
    }
    let graph = phase("loading the graph", || io::load_with(spec, &options))?;
    let record = phase("looking at the graph", || GraphRecord::of(&graph));
    let text = graph_summary(&record);
    super::answer(matches, &text, &record)
}
