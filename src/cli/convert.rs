//! `hive convert IN OUT`: a graph from one format, or a generator, into another.

use super::console::{self, phase, say};
use crate::io::{self, LoadOptions};
use crate::units::{bytes, count, ms, plural};
use crate::{Error, Result};
use clap::{Parser, ValueHint};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Convert a graph file, or what a generator makes, into another format
#[derive(Parser)]
#[command(name = "convert")]
pub(super) struct Convert {
    /// A graph file or a generator, as for hive run --graph
    #[arg(id = "in", value_name = "IN", value_hint = ValueHint::FilePath)]
    input: String,
    /// The file to write; its ending gives the format: .hive .mtx .txt .el .wel .sg .wsg .bin .npz
    #[arg(id = "out", value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Store places of nodes (.labels, .csv, .co) with the graph; .hive only
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    labels: Option<String>,
    /// The file of --labels counts nodes from N, a whole number from 0 on, whatever the graph's ids count from
    #[arg(long, value_name = "N", requires = "labels")]
    labels_first_id: Option<u64>,
    /// Store the transpose of a directed graph with it; .hive only
    #[arg(long)]
    transpose: bool,
    /// Write the id in the input of each node of OUT: a CSV `node,id`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ids_out: Option<PathBuf>,
}

pub(super) fn convert(args: Convert, options: LoadOptions) -> Result<()> {
    let Convert { input, output, labels, labels_first_id, transpose, ids_out } = &args;
    let (input, output, ids, transpose) = (&**input, &**output, ids_out.as_deref(), *transpose);
    check(input, output, labels.is_some() || transpose)?;
    check_ids(input, output, ids)?;
    let mut graph = phase("loading the graph", || match labels {
        Some(labels) => io::load_placed(input, labels, *labels_first_id, &options),
        None => io::load_with(input, &options),
    })?;
    if transpose {
        graph = phase("transposing", || graph.with_reverse());
    }
    let start = Instant::now();
    phase("writing the graph", || io::write_graph(&graph, output))?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(ids) = ids {
        phase("writing the ids", || io::write_ids(&graph, first_id(output), ids))?;
    }
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
    if let Some(first) = origin.places_first_id {
        text += &format!("note: the file of places counts from {first}\n");
    }
    text += &lost(&graph, output);
    if let (true, None) = (graph.has_text_ids() && renumbers(&graph, output), ids) {
        let shown = output.display();
        console::err(&format!(
            "note: {shown}: names became numbers from {} on; --ids-out FILE writes which\n",
            first_id(output)
        ));
    }
    let isolated = if keeps_names(output) { graph.isolated() } else { 0 };
    if graph.has_text_ids() && isolated > 0 {
        console::err(&format!(
            "note: {}: {} without arcs cannot be named in an edge list; .hive keeps them\n",
            output.display(),
            plural(isolated, "node")
        ));
    }
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

/// The same for the file of ids.
fn check_ids(input: &str, output: &Path, ids: Option<&Path>) -> Result<()> {
    let Some(ids) = ids else { return Ok(()) };
    let shown = ids.display();
    if !lower(ids).ends_with(".csv") {
        return Err(Error::input(format!("--ids-out {shown}: is a CSV; end its name in .csv")));
    }
    if is_native(output) {
        return Err(Error::input(format!(
            "--ids-out {shown}: a .hive file keeps the input's ids; leave it out"
        )));
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if real(ids) == real(output) || real(ids) == real(Path::new(input)) {
        return Err(Error::input(format!(
            "--ids-out {shown}: is also the graph; name another file"
        )));
    }
    crate::run::writable("--ids-out", ids)
}

/// Whether a file of this name has names of nodes, where ids are names.
fn keeps_names(path: &Path) -> bool {
    lower(path).ends_with(".txt")
}

/// Whether the nodes of `graph` are called otherwise in a file of this name.
fn renumbers(graph: &crate::graph::Graph, output: &Path) -> bool {
    if is_native(output) || (graph.has_text_ids() && keeps_names(output)) {
        return false;
    }
    graph.names().is_some() || graph.id_range().0 != first_id(output)
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
    if renumbers(graph, output) {
        let [low, high] = graph.id_ends();
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
    if weighs && !graph.is_weighted() {
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
