//! `hive generate SPEC`: makes a graph where the devices are, and says what it is and what it took.

use super::arguments::Json;
use super::console::phase;
use crate::fleet::{Devices, Fleet, FleetConfig, FleetInfo};
use crate::generate::{self, DeviceGenerated, DeviceReport, FORMS, PassLimits};
use crate::graph::{Graph, milliseconds};
use crate::report::{COMMIT, Spread, VERSION, command_line};
use crate::units;
use crate::{Error, Result};
use clap::{Parser, value_parser};
use serde::Serialize;
use std::time::Instant;

/// Generate a graph on a GPU, or on the host, and say what it took
#[derive(Parser)]
#[command(name = "generate")]
pub(super) struct Generate {
    #[arg(value_name = "SPEC", help = FORMS)]
    spec: String,
    /// Device that generates: the first of auto, cuda, cuda:0, host, ...
    #[arg(long, value_name = "DEVICES", default_value = "auto")]
    devices: Devices,
    /// Also generate on the host and compare all bits
    #[arg(long)]
    check: bool,
    /// Number of times to generate, at least 1
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u32).range(1..))]
    repeat: u32,
    #[command(flatten)]
    json: Json,
    /// Seconds after which a silent device counts as failed
    #[arg(long, value_name = "SECONDS", default_value = "6")]
    deadline: f64,
    /// Test hooks: smaller pieces than memory asks for, to the same result
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), hide = true)]
    keys_per_pass: Option<u64>,
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), hide = true)]
    edges_per_launch: Option<u64>,
}

#[derive(Default, Serialize)]
struct Record<'a> {
    spec: &'a str,
    nodes: u64,
    arcs: u64,
    max_degree: u64,
    times_ms: Vec<f64>,
    time_ms: Spread,
    /// Of each generation on a device: phases, passes, bytes.
    runs: Vec<DeviceReport>,
    /// Whether the host's graph is the same; null when nobody asked.
    checked: Option<bool>,
    fleet: FleetInfo,
    command_line: String,
    version: &'static str,
    commit: &'static str,
}

pub(super) fn generate(args: Generate) -> Result<()> {
    let (spec, check) = (args.spec.as_str(), args.check);
    let limits = PassLimits { keys: args.keys_per_pass, edges: args.edges_per_launch };
    let (devices, deadline_s) = (args.devices, args.deadline);
    let config = FleetConfig { devices, deadline_s, ..FleetConfig::default() };
    args.json.check()?;
    generate::check_form(spec)?;
    if check {
        generate::check(spec)?;
    }
    let fleet = phase("opening devices", || Fleet::open(config))?;
    let mut record = Record {
        spec,
        fleet: fleet.info().clone(),
        command_line: command_line(),
        version: VERSION,
        commit: COMMIT,
        ..Record::default()
    };
    let mut difference = None;
    if fleet.info().backend == "cuda" {
        let made = on_device(&fleet, spec, limits, args.repeat, &mut record)?;
        if check {
            difference = phase("comparing with the host's", || compare(&fleet, made))?;
            record.checked = Some(difference.is_none());
        }
    } else if check || limits.keys.is_some() || limits.edges.is_some() {
        return Err(Error::input(
            "--check and --keys-per-pass are for graphs made on a device; use --devices cuda:0",
        ));
    } else {
        on_host(spec, args.repeat, &mut record)?;
    }
    record.time_ms = Spread::of(&record.times_ms);
    args.json.answer(&text(&record), &record)?;
    match difference {
        Some(difference) => Err(Error::Verify(format!("{spec}: {difference}"))),
        None => Ok(()),
    }
}

fn on_device(
    fleet: &Fleet,
    spec: &str,
    limits: PassLimits,
    repeats: u32,
    record: &mut Record,
) -> Result<DeviceGenerated> {
    loop {
        // One at a time: two large graphs do not fit. All but the last are dropped here.
        let made = phase("generating", || generate::on_device_in(fleet, spec, limits))?;
        (record.nodes, record.arcs) = (made.nodes(), made.arcs());
        record.max_degree = made.report().max_degree;
        record.times_ms.push(made.report().times.total_ms);
        record.runs.push(*made.report());
        if record.runs.len() >= repeats as usize {
            return Ok(made);
        }
    }
}

fn on_host(spec: &str, repeats: u32, record: &mut Record) -> Result<()> {
    for _ in 0..repeats {
        let start = Instant::now();
        let graph = phase("generating", || generate::generate(spec))?;
        record.times_ms.push(milliseconds(start));
        (record.nodes, record.arcs) = (graph.nodes() as u64, graph.arcs());
        record.max_degree = graph.max_degree();
    }
    Ok(())
}

/// The first difference between the device's graph and the host's.
fn compare(fleet: &Fleet, made: DeviceGenerated) -> Result<Option<String>> {
    let spec = made.spec().to_string();
    let device = made.download(fleet)?;
    let host = generate::generate(&spec)?;
    Ok(first_difference(&device, &host))
}

fn first_difference(device: &Graph, host: &Graph) -> Option<String> {
    fn differ<T: PartialEq + std::fmt::Debug>(what: &str, a: &[T], b: &[T]) -> Option<String> {
        if let Some(i) = a.iter().zip(b).position(|(a, b)| a != b) {
            let (a, b) = (&a[i], &b[i]);
            return Some(format!("{what}[{i}] is {a:?} on the device and {b:?} on the host"));
        }
        let (a, b) = (a.len(), b.len());
        (a != b).then(|| format!("{what}: {a} on the device and {b} on the host"))
    }
    let weights = |graph: &Graph| -> Vec<u32> {
        graph.weights().unwrap_or_default().iter().map(|weight| weight.to_bits()).collect()
    };
    differ("offsets", device.offsets(), host.offsets())
        .or_else(|| differ("columns", device.columns(), host.columns()))
        .or_else(|| differ("bits of weights", &weights(device), &weights(host)))
}

fn text(record: &Record) -> String {
    let device = record.fleet.devices.first();
    let (name, product) = device.map_or(("", ""), |d| (d.device.as_str(), d.name.as_str()));
    let mut text = format!("{} on {name} ({product})\n", record.spec);
    let mut line = |name: &str, what: String| text += &format!("  {name:<11} {what}\n");
    line("nodes", units::count(record.nodes));
    line("arcs", units::count(record.arcs));
    line("max degree", units::count(record.max_degree));
    let Spread { median, min, max, .. } = record.time_ms;
    let (runs, rate) = (record.times_ms.len() as u64, record.arcs as f64 / median * 1e3);
    line(
        "time",
        format!(
            "{} ({} to {}, {}): {} arcs/s",
            units::ms(median),
            units::ms(min),
            units::ms(max),
            units::plural(runs, "run"),
            units::rate(rate)
        ),
    );
    if let Some(run) = record.runs.last() {
        let t = &run.times;
        let phases = [
            ("allocate", t.alloc_ms),
            ("draw", t.draw_ms),
            ("sort", t.sort_ms),
            ("unique", t.unique_ms),
        ];
        let split = phases.map(|(name, ms)| format!("{name} {}", units::ms(ms))).join(", ");
        line("last run", format!("{split}; compile {} apart", units::ms(t.compile_ms)));
        line(
            "memory",
            format!(
                "{} of arrays, {} at the peak, {}",
                units::bytes(run.graph_bytes),
                units::bytes(run.peak_bytes),
                if run.passes == 1 { "1 pass".into() } else { format!("{} passes", run.passes) }
            ),
        );
    }
    if let Some(checked) = record.checked {
        let words = if checked { "the same as the host's, to the bit" } else { "DIFFERENT" };
        line("checked", words.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named_by_array_and_place() {
        let graph = |spec| generate::generate(spec).unwrap();
        let one = graph("rmat:6,seed=1");
        assert_eq!(first_difference(&one, &graph("rmat:6,seed=1")), None);
        let found = first_difference(&one, &graph("rmat:6,seed=2")).unwrap();
        assert!(found.starts_with("offsets["), "{found}");
        let found = first_difference(&graph("grid:3x3"), &graph("grid:3x3,seed=2")).unwrap();
        assert!(found.starts_with("bits of weights["), "{found}");
        let found = first_difference(&one, &graph("rmat:7,seed=1")).unwrap();
        assert!(found.contains("on the device and"), "{found}");
    }
}
