//! The host backend against a one-thread binary-heap Dijkstra, on this machine: what replicas on CPU
//! threads are worth, and what sixteen of them cost.
//!
//!     cargo run --release --example host_against_dijkstra -- --json FILE
//!
//! Both find all distances from the default source. Timed are the runs alone, warm, the distances left
//! where they are: loading, hivegraph's prepared layout and the resetting of distances are left out on
//! both sides. Dijkstra is the standard library's binary heap with lazy deletion over the CSR; its
//! entries are one word (the distance's bits above the node: floats that are not negative order as their
//! bits do), so that comparing them is one instruction.

use clap::{Arg, ArgMatches, Command, value_parser};
use hivegraph::algorithm::InputId;
use hivegraph::layout::Form;
use hivegraph::prelude::*;
use hivegraph::report::{COMMIT, Machine, Spread, Table, VERSION, utc, write_json};
use hivegraph::verify::distances_bits_equal;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// One line of the table.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row {
    name: String,
    replicas: usize,
    merge: Option<MergeMode>,
    prepare_ms: f64,
    time: Spread,
    process_times: Vec<f64>,
}

/// A figure that was asked for: `of` over `per`, by medians.
#[derive(Serialize)]
struct Ratio {
    what: String,
    value: f64,
    asked: String,
    met: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Record {
    version: &'static str,
    commit: &'static str,
    time: String,
    command_line: String,
    machine: Machine,
    /// Of the machine, over the last minute, when the measuring began: others may have been at work.
    load_average: Option<f64>,
    graph_file: String,
    nodes: usize,
    arcs: u64,
    source: u64,
    reached: usize,
    runs: u32,
    rows: Vec<Row>,
    ratios: Vec<Ratio>,
}

/// Distances from `source` into `dist`, which holds +inf everywhere.
fn dijkstra(graph: &Graph, source: u32, dist: &mut [f32], heap: &mut BinaryHeap<Reverse<u64>>) {
    let (offsets, columns) = (graph.offsets(), graph.columns());
    let weights = graph.weights().expect("generated graphs have weights");
    let entry =
        |distance: f32, node: u32| Reverse(u64::from(distance.to_bits()) << 32 | u64::from(node));
    dist[source as usize] = 0.0;
    heap.push(entry(0.0, source));
    while let Some(Reverse(nearest)) = heap.pop() {
        let (u, from) = (nearest as u32 as usize, f32::from_bits((nearest >> 32) as u32));
        if from > dist[u] {
            continue;
        }
        let row = offsets[u] as usize..offsets[u + 1] as usize;
        for (&v, &weight) in columns[row.clone()].iter().zip(&weights[row]) {
            let to = from + weight;
            if to < dist[v as usize] {
                dist[v as usize] = to;
                heap.push(entry(to, v));
            }
        }
    }
}

/// Dijkstra's line, and its distances.
fn one_thread(graph: &Graph, source: u32, runs: u32) -> (Row, Vec<f32>) {
    let (mut dist, mut heap) = (vec![f32::INFINITY; graph.nodes()], BinaryHeap::new());
    let mut times = Vec::new();
    for run in 0..=runs {
        dist.fill(f32::INFINITY);
        let start = Instant::now();
        dijkstra(graph, source, &mut dist, &mut heap);
        if run > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    (row("Dijkstra, one thread", 1, None, 0.0, times), dist)
}

fn row(
    name: &str,
    replicas: usize,
    merge: Option<MergeMode>,
    prepare_ms: f64,
    times: Vec<f64>,
) -> Row {
    Row {
        name: name.into(),
        replicas,
        merge,
        prepare_ms,
        time: Spread::of(&times),
        process_times: times,
    }
}

/// hivegraph's line on these devices; its distances must be Dijkstra's to the bit.
fn replicas(
    devices: &str,
    graph: &Arc<Graph>,
    source: u32,
    runs: u32,
    oracle: &[f32],
) -> hivegraph::Result<Row> {
    let devices: Devices = devices.parse()?;
    let fleet = Fleet::open(FleetConfig { devices: devices.clone(), ..FleetConfig::default() })?;
    let prepared = Prepared::new(&fleet, Arc::clone(graph), PrepareOptions::default())?;
    let run = RunOptions { runs, warmup: 1, ..RunOptions::default() };
    let source = Some(InputId::from(graph.input_id(source)));
    let config = SsspConfig { source, run, ..SsspConfig::default() };
    let answer = sssp(&fleet, &prepared, &config)?;
    distances_bits_equal(&answer.distances, oracle)?;
    let times = answer.measured.runs.iter().map(|run| run.total_ms).collect();
    let prepare_ms = prepared.report(&fleet, Form::Weighted)?.prepare_ms;
    Ok(row(&devices.to_string(), fleet.world(), Some(config.run.merge), prepare_ms, times))
}

/// What issue 2 asks of the host backend.
fn ratios(rows: &[Row]) -> Vec<Ratio> {
    let median =
        |name: &str| rows.iter().find(|row| row.name.starts_with(name)).map(|r| r.time.median);
    let mut ratios = Vec::new();
    if let (Some(dijkstra), Some(two)) = (median("Dijkstra"), median("host:2")) {
        let value = dijkstra / two;
        let what = "Dijkstra over host:2".into();
        ratios.push(Ratio { what, value, asked: "at least 3".into(), met: value >= 3.0 });
    }
    if let (Some(two), Some(sixteen)) = (median("host:2"), median("host:16")) {
        let value = sixteen / two;
        let what = "host:16 over host:2".into();
        ratios.push(Ratio { what, value, asked: "at most 3".into(), met: value <= 3.0 });
    }
    ratios
}

fn show(record: &Record) {
    let Record { graph_file, nodes, arcs, source, reached, runs, machine, .. } = record;
    println!("{graph_file}: {nodes} nodes, {arcs} arcs, from node {source}, {reached} reached");
    let load = record.load_average.map_or("unknown".into(), |load| load.to_string());
    println!("{}, {} cores, load {load}; {runs} runs each", machine.processor, machine.cores);
    let mut table = Table::new(&["what", "median ms", "min", "max", "prepare ms"], &[0]);
    for row in &record.rows {
        let numbers = [row.time.median, row.time.min, row.time.max, row.prepare_ms];
        let cells = numbers.map(|ms| format!("{ms:.2}"));
        table.row(std::iter::once(row.name.clone()).chain(cells));
    }
    println!("\n{table}");
    for Ratio { what, value, asked, met } in &record.ratios {
        println!("{what}: {value:.2} ({asked}: {})", if *met { "met" } else { "MISSED" });
    }
}

fn arguments() -> ArgMatches {
    let option = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    Command::new("host_against_dijkstra")
        .arg(option("graph", "A generator").default_value("rmat:18"))
        .arg(
            option("devices", "Host fleets to time")
                .num_args(1..)
                .default_values(["host:1", "host:2", "host:16"]),
        )
        .arg(
            option("runs", "Timed runs")
                .value_parser(value_parser!(u32).range(1..))
                .default_value("10"),
        )
        .arg(option("json", "Write the record").value_parser(value_parser!(PathBuf)))
        .get_matches()
}

fn main() -> hivegraph::Result<()> {
    let arguments = arguments();
    let spec = arguments.get_one::<String>("graph").expect("has a default");
    let runs = *arguments.get_one::<u32>("runs").expect("has a default");
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let graph = Arc::new(hivegraph::io::load(spec)?);
    let source = graph.default_source();
    let (first, oracle) = one_thread(&graph, source, runs);
    let mut rows = vec![first];
    for devices in arguments.get_many::<String>("devices").expect("has a default") {
        rows.push(replicas(devices, &graph, source, runs, &oracle)?);
    }
    let record = Record {
        version: VERSION,
        commit: COMMIT,
        time: utc(SystemTime::now()).trim_end().into(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        machine: Machine::probe(),
        load_average: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        graph_file: spec.clone(),
        nodes: graph.nodes(),
        arcs: graph.arcs(),
        source: graph.input_id(source),
        reached: oracle.iter().filter(|d| d.is_finite()).count(),
        runs,
        ratios: ratios(&rows),
        rows,
    };
    show(&record);
    match arguments.get_one::<PathBuf>("json") {
        Some(path) => write_json(path, &record),
        None => Ok(()),
    }
}
