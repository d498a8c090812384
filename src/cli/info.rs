//! `hive info GRAPH`: what a graph is like, and what it needs.

use super::console::{note, phase};
use crate::graph::Graph;
use crate::io::{self, Column, LoadOptions, ResultFormat, Table};
use crate::report::{GraphRecord, graph_summary, write_json};
use crate::run::writable;
use crate::units::bytes;
use crate::{Error, Result};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueHint, value_parser};
use std::path::{Path, PathBuf};

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
                .help("Verify the checksums of a .hive file first"),
        )
        .arg(
            Arg::new("degrees")
                .long("degrees")
                .value_name("FILE|-")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(PathBuf))
                .help("Write out-degrees, and in-degrees of directed graphs, one row for each node: .csv .tsv .jsonl .npz .parquet; - is standard output, as csv"),
        )
        .arg(super::arguments::json_argument());
    // The options bring their own description.
    let command = LoadOptions::augment_args_for_update(command);
    command
        .about("Say what a graph is like: degrees, components, diameter, memory per workload")
        .long_about(None)
}

pub(super) fn info(matches: &ArgMatches) -> Result<()> {
    let spec = matches.get_one::<String>("graph").map(String::as_str).unwrap_or_default();
    super::arguments::check_json(matches)?;
    let degrees = matches.get_one::<PathBuf>("degrees").map(PathBuf::as_path);
    check_degrees(degrees, matches.get_one::<PathBuf>("json").map(PathBuf::as_path))?;
    let options = super::arguments::load_options(matches)?;
    if matches.get_flag("check") {
        let checked = phase("comparing checksums", || io::check_native(spec))?;
        note(&format!("{spec}: {} agree with their checksums\n", bytes(checked)));
    }
    let graph = phase("loading the graph", || io::load_with(spec, &options))?;
    let record = phase("looking at the graph", || GraphRecord::of(&graph));
    let text = graph_summary(&record);
    match degrees {
        Some(path) if path == Path::new("-") => note(&text),
        _ => {
            return super::arguments::answer(matches, &text, &record)
                .and_then(|()| write(degrees, &graph));
        }
    }
    if let Some(json) = matches.get_one::<PathBuf>("json") {
        write_json(json, &record)?;
    }
    write(degrees, &graph)
}

/// Refuses before a graph is loaded what the end would refuse.
fn check_degrees(degrees: Option<&Path>, json: Option<&Path>) -> Result<()> {
    let Some(path) = degrees else { return Ok(()) };
    let standard = Path::new("-");
    if path == standard && json == Some(standard) {
        return Err(Error::input(
            "--degrees - with --json -: both are for standard output; write one of them to a file",
        ));
    }
    if path == standard {
        return Ok(());
    }
    ResultFormat::of(path)?.check("--degrees", path, Some("two columns of degrees"))?;
    writable("--degrees", path)
}

fn write(path: Option<&Path>, graph: &Graph) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let out: Vec<u64> = (0..graph.nodes()).map(|v| graph.degree(v)).collect();
    let mut columns = vec![("out-degree", Column::Total(&out))];
    let mut into = Vec::new();
    if !graph.is_undirected() {
        into.resize(graph.nodes(), 0u64);
        graph.columns().iter().for_each(|v| into[*v as usize] += 1);
        columns.push(("in-degree", Column::Total(&into)));
    }
    phase("writing degrees", || io::write_table(path, graph, &Table::of_nodes(columns)))
}
