//! `hive info GRAPH`: what a graph is like, and what it needs.

use super::arguments::Json;
use super::console::{note, phase};
use crate::graph::Graph;
use crate::io::{self, Column, LoadOptions, ResultFormat, Table};
use crate::report::{GraphRecord, graph_summary, write_json};
use crate::run::writable;
use crate::units::bytes;
use crate::{Error, Result};
use clap::{Parser, ValueHint};
use std::path::{Path, PathBuf};

/// Say what a graph is like: degrees, components, diameter, memory per workload
#[derive(Parser)]
#[command(name = "info")]
pub(super) struct Info {
    /// A graph file or a generator, as for hive run --graph
    #[arg(value_name = "GRAPH", value_hint = ValueHint::FilePath)]
    graph: String,
    /// Verify the checksums of a .hive file first
    #[arg(long)]
    check: bool,
    /// Write out-degrees, and in-degrees of directed graphs, one row for each node: .csv .tsv .jsonl .npz .parquet; - is
    /// standard output, as csv
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    degrees: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

pub(super) fn info(args: Info, options: LoadOptions) -> Result<()> {
    let (spec, degrees) = (args.graph.as_str(), args.degrees.as_deref());
    args.json.check()?;
    check_degrees(degrees, args.json.is_standard())?;
    if args.check {
        let checked = phase("comparing checksums", || io::check_native(spec))?;
        note(&format!("{spec}: {} agree with their checksums\n", bytes(checked)));
    }
    let graph = phase("loading the graph", || io::load_with(spec, &options))?;
    let record = phase("looking at the graph", || GraphRecord::of(&graph));
    let text = graph_summary(&record);
    if degrees == Some(Path::new("-")) {
        note(&text);
        args.json.json.iter().try_for_each(|path| write_json(path, &record))?;
    } else {
        args.json.answer(&text, &record)?;
    }
    write(degrees, &graph)
}

/// Refuses before a graph is loaded what the end would refuse.
fn check_degrees(degrees: Option<&Path>, json_is_standard: bool) -> Result<()> {
    let Some(path) = degrees else { return Ok(()) };
    let standard = Path::new("-");
    if path == standard && json_is_standard {
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
