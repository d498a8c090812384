//! The human summary of a run.

use super::record::arcs_per_second;
use crate::algorithm::{MergeMode, Spread, median_reset, median_run};
use crate::fleet::{DeviceInfo, FleetInfo};
use crate::graph::{Graph, NodeId, Origin};
use crate::io::{Duplicates, SelfLoops};
use crate::layout::Placement;
use crate::results::grouped;
use crate::run::{Outcome, Stage, Verdict, Verification};
use crate::table::Table;
use crate::units::{bare_ms, bytes, count, ms, plural, rate};

/// Trace rows that a summary shows; the record has them all.
const TRACE_ROWS: usize = 40;

/// A dozen lines: what ran, on what, how it was merged, what came out, what it took.
///
/// *Arcs/s* counts the arcs out of reached nodes, once each, over the median time of a run.
/// *Prepare + run* is what a single source costs; a sweep over sources pays only the run again. *Whole* is the time of the
/// process so far.
pub fn summary(outcome: &Outcome) -> String {
    let mut lines = vec![headline(outcome)];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<9} {text}"));
    match outcome.job.elements {
        Some(elements) => line("array", format!("{} of 4 bytes", plural(elements, "element"))),
        _ => line("graph", graph_line(&outcome.job.graph)),
    }
    line("fleet", fleet_line(outcome));
    if !outcome.fleet.lost.is_empty() {
        let lost: Vec<String> = outcome
            .fleet
            .lost
            .iter()
            .map(|(number, host)| format!("process {number} on {host}"))
            .collect();
        line("lost", format!("{}; the run began again without", lost.join(", ")));
    }
    line("strategy", outcome.answer.strategy_line());
    line("merges", merges_line(outcome));
    outcome.answer.lines().into_iter().for_each(|(name, text)| line(name, text));
    line("time", time_line(outcome));
    line("split", split_line(outcome));
    line("before", before_line(outcome));
    let median = Spread::of_runs(outcome.answer.measured()).median;
    line("sum", format!("prepare + run {}", ms(outcome.prepare.prepare_ms + median)));
    if let Some(clock) = &outcome.clock {
        line("whole", clock.now(Stage::Report).words());
    }
    if let Some(check) = &outcome.verification {
        line("verified", verified_line(check));
    }
    let mut text = lines.join("\n") + "\n";
    if let Some(paths) = &outcome.paths {
        text += &format!("\n{}", paths.text(&outcome.job.graph));
    }
    if outcome.job.config.trace {
        text += &trace_table(outcome);
    }
    text
}

fn headline(outcome: &Outcome) -> String {
    let job = &outcome.job;
    let (name, graph) = (job.workload.name, &job.graph);
    let (size, start) = match job.elements {
        Some(elements) => (plural(elements, "element"), String::new()),
        None => {
            let (nodes, arcs) = (plural(job.size(), "node"), plural(graph.arcs(), "arc"));
            (format!("{nodes}, {arcs}"), job.query.started())
        }
    };
    format!("{name} on {} ({size}){start}", graph.origin.dataset)
}

fn graph_line(graph: &Graph) -> String {
    let origin = &graph.origin;
    let asked = origin.policies.shown();
    format!(
        "{}{}: weights {}, {}, {}, {}, {}, largest degree {}{}{}",
        source(origin),
        if graph.is_on_host() { "" } else { ", arcs on GPUs, not on the host" },
        origin.weights,
        ids_of(graph),
        oddities(origin),
        plural(graph.isolated(), "isolated node"),
        direction(graph),
        count(graph.max_degree()),
        match origin.places_first_id {
            Some(first) => format!(", the file of places counts from {first}"),
            None => String::new(),
        },
        if asked.is_empty() { String::new() } else { format!("; {asked}") },
    )
}

/// `web.mtx (matrix-market, from the cache)`.
pub(super) fn source(origin: &Origin) -> String {
    let counts = if origin.counts_line { ", first line taken for counts" } else { "" };
    let cached = if origin.cached { ", from the cache" } else { "" };
    format!("{} ({}{counts}{cached})", origin.graph_file, origin.format)
}

/// `ids 1 to 9 with gaps`, or `9 names as ids, a to z`.
pub(super) fn ids_of(graph: &Graph) -> String {
    let [low, high] = graph.id_ends();
    match (graph.has_text_ids(), graph.has_gaps()) {
        (true, _) => {
            let names = plural(graph.nodes() as u64, "name");
            format!("{names} as ids, {} to {}", brief(low), brief(high))
        }
        (_, true) => format!("ids {low} to {high} with gaps"),
        _ => format!("ids {low} to {high}"),
    }
}

/// An id, cut where it is long.
fn brief(id: NodeId) -> String {
    const MOST: usize = 40;
    let text = id.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn direction(graph: &Graph) -> &'static str {
    match (graph.is_symmetric(), graph.is_undirected()) {
        (true, _) => "symmetric",
        (false, true) => "symmetric but for weights",
        (false, false) => "directed",
    }
}

/// `1 self-loop and 0 duplicates kept`, or what became of either.
pub(super) fn oddities(origin: &Origin) -> String {
    let loops = plural(origin.self_loops, "self-loop");
    let duplicates = plural(origin.duplicates, "duplicate");
    let fate = match origin.policies.duplicates {
        Duplicates::Keep if origin.policies.keeps_duplicates() => "kept",
        Duplicates::Keep => "merged",
        Duplicates::Sum => "summed",
        Duplicates::First | Duplicates::Min => "dropped",
    };
    match origin.policies.self_loops {
        SelfLoops::Keep if fate == "kept" => format!("{loops} and {duplicates} kept"),
        SelfLoops::Keep => format!("{loops} kept, {duplicates} {fate}"),
        SelfLoops::Drop => format!("{loops} dropped, {duplicates} {fate}"),
    }
}

/// `4 x NVIDIA H200 (cuda:0, cuda:1, ...)`, devices of one name together.
fn device_names(fleet: &FleetInfo) -> String {
    let group = |devices: Vec<&DeviceInfo>| {
        let mut members: Vec<&str> = devices.iter().map(|device| device.device.as_str()).collect();
        members.dedup();
        format!("{} x {} ({})", devices.len(), devices[0].name, members.join(", "))
    };
    let groups = grouped(&fleet.devices, |device| device.name.clone());
    groups.into_iter().map(group).collect::<Vec<_>>().join(", ")
}

fn fleet_line(outcome: &Outcome) -> String {
    let fleet = &outcome.fleet;
    format!(
        "{} on {}: {}; collective {}",
        plural(fleet.world as u64, "replica"),
        fleet.backend,
        device_names(fleet),
        fleet.collective,
    )
}

/// How often replicas were made equal how, and what was cut into chunks for it.
fn merges_line(outcome: &Outcome) -> String {
    let (modes, config) = (&outcome.answer.measured().merge_modes, &outcome.job.config);
    if outcome.fleet.world == 1 {
        return format!("{}: one replica, nothing to merge", config.merge);
    }
    // A step that is cut and changes nothing has nothing to exchange either.
    let nothing = match (config.merge, modes.len()) {
        (MergeMode::Dense, _) => "nothing changed",
        (_, 1) => "redundant, no communication",
        _ => "redundant or nothing changed, no communication",
    };
    let times = |(mode, times): (&String, &u64)| match mode.as_str() {
        "none" => format!("none {} ({nothing})", count(*times)),
        mode => format!("{mode} {}", count(*times)),
    };
    let counts: Vec<String> = modes.iter().map(times).collect();
    let counts = if counts.is_empty() { "none".into() } else { counts.join(", ") };
    format!("{}: {counts}{}", config.merge, outcome.answer.cuts())
}

fn time_line(outcome: &Outcome) -> String {
    let measured = outcome.answer.measured();
    let spread = Spread::of_runs(measured);
    let time = match measured.runs.len() {
        1 if !outcome.job.config.benchmarks() => {
            format!("{}, one run without warm-up", ms(spread.median))
        }
        runs => format!(
            "median {} (min {}, max {}) of {}",
            ms(spread.median),
            ms(spread.min),
            ms(spread.max),
            plural(runs as u64, "run"),
        ),
    };
    let rate = rate(arcs_per_second(measured));
    let space = if rate.ends_with(|c: char| c.is_ascii_digit()) { " " } else { "" };
    format!("{time}; {rate}{space}{}/s {}", outcome.answer.unit(), outcome.answer.rated(),)
}

fn split_line(outcome: &Outcome) -> String {
    let run = median_run(outcome.answer.measured());
    format!(
        "run {} = step {} + merge {} + other {}; reset {} before it",
        ms(run.total_ms),
        ms(run.step_ms),
        ms(run.merge_ms),
        ms(run.other_ms),
        ms(median_reset(outcome.answer.measured())),
    )
}

fn before_line(outcome: &Outcome) -> String {
    let (origin, prepare) = (&outcome.job.graph.origin, &outcome.prepare);
    let measured = outcome.answer.measured();
    let setup = match measured.setup_ms {
        0.0 => String::new(),
        took => format!(", set-up {}", ms(took)),
    };
    // Of a form that needs no layout there is nothing to say.
    let made = match (outcome.fleet.backend.as_str(), prepare.on_devices, prepare.prepare_ms) {
        ("cuda", true, _) => "on the GPUs: ",
        ("cuda", false, took) if took > 0.0 => "on the host: ",
        _ => "",
    };
    format!(
        "load {}, build {}{}, fleet {}, prepare {} ({}layout {}, {}), upload {}, compile {}{}; \
         download {} after",
        ms(origin.load_ms),
        ms(origin.build_ms),
        match (outcome.fleet.backend.as_str(), origin.built_on.as_str()) {
            ("cuda", place) if !place.is_empty() => format!(" on {place}"),
            _ => String::new(),
        },
        ms(outcome.fleet.startup_ms),
        ms(prepare.prepare_ms),
        made,
        prepare.layout,
        placement(outcome),
        ms(prepare.upload_ms),
        ms(prepare.compile_ms),
        setup,
        ms(measured.download_ms),
    )
}

/// `2.1 GiB a replica`, or how it is spread.
fn placement(outcome: &Outcome) -> String {
    let held = bytes(outcome.prepare.bytes_per_replica);
    match (outcome.prepare.placement, outcome.fleet.backend.as_str()) {
        (Placement::Replicated, _) => format!("{held} a replica"),
        (Placement::Sharded, "host") => format!("sharded: {held}, which host replicas share"),
        (Placement::Sharded, _) => format!("sharded: {held} on the GPU replica that holds most"),
    }
}

fn verified_line(check: &Verification) -> String {
    let (message, note) = (check.message.as_deref().unwrap_or_default(), &check.note);
    let took = match check.copy_ms {
        0.0 => format!("in {} on {}", ms(check.ms), check.on),
        copied => format!("in {} on {} ({} to copy the graph)", ms(check.ms), check.on, ms(copied)),
    };
    match check.verdict {
        Verdict::No => format!("NO: {message}"),
        Verdict::Partly => format!("partly, {took}: {message}{note}"),
        Verdict::Yes => format!("yes, independently, {took}{note}"),
    }
}

fn trace_table(outcome: &Outcome) -> String {
    let trace = &outcome.answer.measured().trace;
    let header = ["step", "merge", "iteration", "rounds", "nodes", "arcs", "ms"];
    let mut table = Table::new(&header, &[0, 1]);
    for entry in trace.iter().take(TRACE_ROWS) {
        table.row([
            entry.step.clone(),
            entry.merge.clone(),
            count(entry.iteration),
            count(entry.rounds),
            count(entry.frontier_nodes),
            count(entry.frontier_arcs),
            bare_ms(entry.ms),
        ]);
    }
    match trace.len() - table.len() {
        0 => format!("\n{table}"),
        more => {
            format!("\n{table}... and {}: --json has them all\n", plural(more as u64, "more row"))
        }
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
