//! `hive convert IN OUT`: a graph from one format, or a generator, into another.

use super::console::{phase, say};
use crate::io::{self, LoadOptions};
use crate::report::units::{bytes, count, ms};
use crate::{Error, Result};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueHint, value_parser};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(super) fn command() -> Command {
    let command = Command::new("convert")
        .arg(
            Arg::new("in")
                .value_name("IN")
                .value_hint(ValueHint::FilePath)
                .required(true)
                .help("A graph file or a generator, as for hive run --graph"),
        )
        .arg(
            Arg::new("out")
                .value_name("OUT")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(PathBuf))
                .required(true)
                .help("Its ending says the format: .hive .mtx .txt .el .wel .sg .wsg .bin .npz"),
        )
        .arg(
            Arg::new("labels")
                .long("labels")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("Put the places of nodes beside the graph (.labels, .csv, .co); .hive only"),
        )
        .arg(
            Arg::new("transpose")
                .long("transpose")
                .action(ArgAction::SetTrue)
                .help("Put the transpose of a directed graph beside it; .hive only"),
        );
    // The options bring their own description.
    let command = LoadOptions::augment_args_for_update(command);
    command
        .about("Convert a graph file, or what a generator makes, into another format")
        .long_about(None)
}

pub(super) fn convert(matches: &ArgMatches) -> Result<()> {
    let options = super::load_options(matches)?;
    let input = matches.get_one::<String>("in").map(String::as_str).unwrap_or_default();
    let output = matches.get_one::<PathBuf>("out").map(PathBuf::as_path).unwrap_or(Path::new(""));
    let labels = matches.get_one::<String>("labels");
    let transpose = matches.get_flag("transpose");
    check(input, output, labels.is_some() || transpose)?;
    let mut graph = phase("loading the graph", || match labels {
        Some(labels) => io::load_placed(input, labels, &options),
        None => io::load_with(input, &options),
    })?;
    if transpose {
        graph = phase("transposing", || graph.with_reverse());
    }
    let start = Instant::now();
    phase("writing the graph", || io::write_graph(&graph, output))?;
    let seconds = start.elapsed().as_secs_f64();
    let size = std::fs::metadata(output).map_or(0, |meta| meta.len());
    let origin = &graph.origin;
    let mut text = format!(
        "{input} ({}{}): {} nodes, {} arcs, loaded in {}\n{}: {} written in {}, {}/s\n",
        origin.format,
        if origin.cached { ", from the cache" } else { "" },
        count(graph.nodes() as u64),
        count(graph.arcs()),
        ms(origin.load_ms + origin.build_ms),
        output.display(),
        bytes(size),
        ms(seconds * 1e3),
        bytes((size as f64 / seconds) as u64),
    );
    text += &lost(&graph, output);
    say(&text)
}

/// Refuses before anything is loaded what the end would refuse.
fn check(input: &str, output: &Path, extras: bool) -> Result<()> {
    io::check_writer(output)?;
    io::check(input)?;
    let shown = output.display();
    if extras && !is_native(output) {
        return Err(Error::input(format!(
            "{shown}: only .hive files hold places and a transpose; leave --labels and --transpose out, \
             or name a .hive file"
        )));
    }
    let same = || Some(output.canonicalize().ok()? == Path::new(input).canonicalize().ok()?);
    if same() == Some(true) {
        return Err(Error::input(format!("{shown}: is the input; name another file")));
    }
    crate::run::writable("OUT", output)
}

fn is_native(path: &Path) -> bool {
    lower(path).ends_with(".hive")
}

/// What the format has no room for: said, since it is gone.
fn lost(graph: &crate::graph::Graph, output: &Path) -> String {
    if is_native(output) {
        return String::new();
    }
    let mut notes = Vec::new();
    let (low, high) = graph.id_range();
    if graph.names().is_some() || low != first_id(output) {
        let gaps = if graph.has_gaps() { " with gaps" } else { "" };
        notes.push(format!(
            "the input's ids, {low} to {high}{gaps}, became {} on",
            first_id(output)
        ));
    }
    if graph.places().is_some() {
        notes.push("the places of nodes are left out".into());
    }
    if graph.has_reverse() {
        notes.push("the transpose is left out".into());
    }
    let weighs = [".wel", ".wsg", ".bin"].iter().any(|ending| lower(output).ends_with(ending));
    if weighs && graph.weights().is_none() {
        notes.push("every arc was given a weight of 1, which the format has to have".into());
    }
    notes.iter().map(|note| format!("note: {note}; a .hive file keeps what there is\n")).collect()
}

/// The lowest id in a file of this name.
fn first_id(output: &Path) -> u64 {
    u64::from(lower(output).ends_with(".mtx"))
}

fn lower(path: &Path) -> String {
    path.to_string_lossy().to_ascii_lowercase()
}
