//! The JSON record of a run: the fields of the HIVE phase-2 records, so that scripts made for those
//! read it, and ours.

use super::machine::Machine;
use super::summary::ids_of;
use super::{COMMIT, VERSION, utc};
use crate::algorithm::{Measured, Spread, median_reset};
use crate::fleet::{FleetInfo, ProcessTime};
use crate::graph::{Graph, NodeId, Origin};
use crate::io::write_atomically;
use crate::layout::{Form, PrepareReport};
use crate::run::{Clock, Outcome, RunConfig, Stage, Verdict, Verification};
use crate::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::SystemTime;

/// Which program made a record, called how and when.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Provenance {
    command_line: String,
    /// UTC.
    time: String,
    version: &'static str,
    commit: &'static str,
}

impl Provenance {
    pub(crate) fn now() -> Provenance {
        let (command_line, time) = (command_line(), utc(SystemTime::now()));
        Provenance { command_line, time, version: VERSION, commit: COMMIT }
    }
}

/// One run. The first eleven fields are those of the HIVE phase-2 records; docs/guide.md tells the others.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record<'a> {
    primitive: &'static str,
    dataset: &'a str,
    graph_file: &'a str,
    /// Nodes, isolated ones included; elements of an array where there is no graph.
    graph_nodes: u64,
    /// Arcs: an undirected edge counts twice.
    graph_edges: u64,
    benchmark: bool,
    /// Mean of `process_times`, ms.
    avg_process_time: f64,
    /// Total of each timed run, ms.
    process_times: Vec<f64>,
    /// Median of the resets before the timed runs, ms: in none of `process_times`.
    reset_ms: f64,
    /// `variant:num_seeds-10`, `num-gpus:4` (GPUs, not replicas), `num-replicas:4`.
    tag: Vec<String>,
    gpuinfo: Value,
    #[serde(flatten)]
    provenance: Provenance,
    /// The resolved configuration; readable as a configuration file.
    config: &'a RunConfig,
    fleet: &'a FleetInfo,
    /// What each process took, where there are several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    processes: &'a [ProcessTime],
    prepare: &'a PrepareReport,
    graph: Option<GraphFacts<'a>>,
    /// What only this workload's records have: `seeds` and `delta` of shortest paths, for one.
    #[serde(flatten)]
    own: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Value>,
    process_time: Spread,
    /// Arcs out of reached nodes over the median time.
    arcs_per_second: f64,
    /// Preparing plus the median run: what one source costs.
    prepare_and_run_ms: f64,
    strategy: &'static str,
    measured: &'a Measured,
    /// Milliseconds of the process from its start to this record, by stage, and `total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_to_end: Option<Clock>,
    verified: Option<Verdict>,
    verification: Option<&'a Verification>,
}

/// What is known of a graph besides its size.
#[derive(Debug, Serialize)]
pub(crate) struct GraphFacts<'a> {
    #[serde(flatten)]
    pub origin: &'a Origin,
    isolated: u64,
    /// Whether every arc has its reverse, as often and of the same weight.
    symmetric: bool,
    /// The same, whatever the two weigh: what follows no weights takes an edge for one.
    undirected: bool,
    max_degree: u64,
    /// The lowest and the highest id of the input; names in their byte order.
    id_range: [NodeId<'a>; 2],
    /// The same for people.
    #[serde(skip)]
    pub ids: String,
    text_ids: bool,
    id_gaps: bool,
    /// Nodes whose place on the globe came with the graph.
    pub places: u64,
    /// Whether the transpose came with it.
    pub transpose: bool,
}

impl<'a> GraphFacts<'a> {
    pub(crate) fn of(graph: &'a Graph) -> Self {
        GraphFacts {
            origin: &graph.origin,
            isolated: graph.isolated(),
            symmetric: graph.is_symmetric(),
            undirected: graph.is_undirected(),
            max_degree: graph.max_degree(),
            id_range: graph.id_ends(),
            ids: ids_of(graph),
            text_ids: graph.has_text_ids(),
            id_gaps: graph.has_gaps(),
            places: graph.places().map_or(0, |(latitude, _)| {
                latitude.iter().filter(|degrees| !degrees.is_nan()).count() as u64
            }),
            transpose: graph.has_reverse(),
        }
    }
}

/// `13.0` or `580.159.03 (CUDA 13.0)` as (13, 0); what is not of that form as (0, 0).
fn major_minor(text: Option<&str>) -> (u32, u32) {
    let text = text.unwrap_or_default().rsplit("CUDA ").next().unwrap_or_default();
    let mut parts = text.trim_end_matches(')').split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// The first device, under the names that the HIVE phase-2 records use; versions of CUDA are 1000 major + 10 minor. For
/// the host backend it describes the processor, and what only a GPU has is 0.
fn gpuinfo(fleet: &FleetInfo) -> Value {
    let cuda_version = |text: &Option<String>| {
        let (major, minor) = major_minor(text.as_deref());
        1000 * major + 10 * minor
    };
    match fleet.devices.first().filter(|device| device.device.starts_with("cuda")) {
        Some(device) => {
            let (major, minor) = major_minor(Some(&device.compute_capability));
            json!({
                "clock_rate": device.clock_khz,
                "compute_version": 10 * major + minor,
                "driver_api": cuda_version(&fleet.driver),
                "driver_version": cuda_version(&fleet.driver),
                "major": major,
                "minor": minor,
                "multi_processor_count": device.multiprocessors,
                "name": device.name,
                "runtime_version": cuda_version(&fleet.nvrtc),
                "total_global_mem": device.memory_bytes,
            })
        }
        None => {
            let machine = Machine::probe();
            json!({
                "clock_rate": machine.clock_khz,
                "compute_version": 0,
                "driver_api": 0,
                "driver_version": 0,
                "major": 0,
                "minor": 0,
                "multi_processor_count": machine.cores,
                "name": machine.processor,
                "runtime_version": 0,
                "total_global_mem": machine.memory_bytes,
            })
        }
    }
}

fn tags(variant: String, fleet: &FleetInfo) -> Vec<String> {
    let mut gpus: Vec<&str> = fleet.devices.iter().map(|device| device.device.as_str()).collect();
    gpus.retain(|device| device.starts_with("cuda"));
    gpus.sort_unstable();
    gpus.dedup();
    vec![variant, format!("num-gpus:{}", gpus.len()), format!("num-replicas:{}", fleet.world)]
}

/// This process's command, quoted where a shell would need it.
pub(crate) fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    let quoted = std::env::args_os().map(|arg| {
        let arg = arg.to_string_lossy().into_owned();
        match !arg.is_empty() && arg.chars().all(plain) {
            true => arg,
            false => format!("'{}'", arg.replace('\'', "'\\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Arcs out of reached nodes over the median time; 0 when nothing was timed.
pub(crate) fn arcs_per_second(measured: &Measured) -> f64 {
    let median = Spread::of_runs(measured).median;
    if median > 0.0 { measured.reached_arcs as f64 / (median / 1e3) } else { 0.0 }
}

impl<'a> Record<'a> {
    /// Of this run, now.
    pub fn of(outcome: &'a Outcome) -> Record<'a> {
        let Outcome { job, fleet, prepare, answer, verification, .. } = outcome;
        let (graph, measured) = (&*job.graph, answer.measured());
        let spread = Spread::of_runs(measured);
        Record {
            primitive: job.workload.primitive,
            dataset: &graph.origin.dataset,
            graph_file: &graph.origin.graph_file,
            graph_nodes: job.size(),
            graph_edges: graph.arcs(),
            benchmark: job.config.benchmarks(),
            avg_process_time: spread.mean,
            process_times: measured.runs.iter().map(|run| run.total_ms).collect(),
            reset_ms: median_reset(measured),
            tag: tags(answer.variant(), fleet),
            gpuinfo: gpuinfo(fleet),
            provenance: Provenance::now(),
            config: &job.config,
            fleet,
            processes: &outcome.processes,
            prepare,
            graph: (job.workload.form != Form::Array).then(|| GraphFacts::of(graph)),
            own: answer.facts(),
            paths: outcome.paths.as_ref().map(|paths| paths.json(graph)),
            process_time: spread,
            arcs_per_second: arcs_per_second(measured),
            prepare_and_run_ms: prepare.prepare_ms + spread.median,
            strategy: answer.strategy(),
            measured,
            end_to_end: outcome.clock.as_ref().map(|clock| clock.now(Stage::Report)),
            verified: verification.as_ref().map(|check| check.verdict),
            verification: verification.as_ref(),
        }
    }
}

/// JSON text of a value, indented, with a final newline.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::input(format!("this result cannot be written as JSON: {e}")))?;
    Ok(text + "\n")
}

/// Writes a value as JSON: aside, synced, renamed.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = to_json(value)?;
    write_atomically(path, |file| file.write_all(text.as_bytes()))
}
