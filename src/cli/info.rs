//! `hive info GRAPH`: what a graph is like, and what it needs.

use super::console::phase;
use crate::report::{GraphRecord, graph_summary};
use crate::{Result, io};
use clap::{Arg, ArgMatches, Command, ValueHint};

pub(super) fn command() -> Command {
    Command::new("info")
        .about("Say what a graph is like: degrees, components, diameter, memory per workload")
        .arg(
            Arg::new("graph")
                .value_name("GRAPH")
                .value_hint(ValueHint::FilePath)
                .required(true)
                .help("A graph file or a generator, as for hive run --graph"),
        )
        .arg(super::json_argument())
}

pub(super) fn info(matches: &ArgMatches) -> Result<()> {
    let spec = matches.get_one::<String>("graph").map(String::as_str).unwrap_or_default();
    super::check_json(matches)?;
    let graph = phase("loading the graph", || io::load(spec))?;
    let record = phase("looking at the graph", || GraphRecord::of(&graph));
    let text = graph_summary(&record);
    super::answer(matches, &text, &record)
}
