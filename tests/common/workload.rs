//! Workloads of the registry, run as `hive run` runs them.

use super::{Ended, cuda_fleets, ends_within, hive, open};
use hivegraph::Result;
use hivegraph::algorithm::{MergeMode, RunOptions, Seeds, ShortestPaths, VnConfig, vn};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{Layout, Prepared};
use hivegraph::run::{Choice, Job, Outcome, Own, RunConfig, Verify, prepare, workload};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What replicas of workloads are tested on: the host, and the GPUs of this machine.
pub fn all_fleets() -> Vec<(String, CollectiveKind)> {
    let host = ["host:1", "host:3", "host:5"].map(|fleet| (fleet.into(), CollectiveKind::Host));
    host.into_iter().chain(cuda_fleets()).collect()
}

/// Random delays and numbers of blocks, from a seed, on replicas of which some pass for slower ones.
pub fn perturbed(perturb: Option<u64>) -> FleetConfig {
    let pretend = perturb.map(|_| "1/3,itself,1/2".parse().unwrap());
    FleetConfig { perturb, pretend, deadline_s: 60.0, ..FleetConfig::default() }
}

/// Opens one of them so.
pub fn open_perturbed(fleet: &(String, CollectiveKind), perturb: Option<u64>) -> Fleet {
    open(&fleet.0, fleet.1, perturbed(perturb))
}

/// Every way of merging.
pub const MERGES: [MergeMode; 4] =
    [MergeMode::Auto, MergeMode::Dense, MergeMode::Split, MergeMode::Redundant];

/// Once, and checks that replicas agree.
pub fn compared(merge: MergeMode) -> RunOptions {
    RunOptions { merge, compare: true, ..RunOptions::default() }
}

/// Shortest paths from several nodes, which are indices.
pub fn paths_from(
    fleet: &Fleet,
    graph: &Prepared,
    seeds: &[u32],
    config: &VnConfig,
) -> Result<ShortestPaths> {
    let seeds = Some(Seeds::of_nodes(graph.graph(), seeds));
    vn(fleet, graph, &VnConfig { seeds, ..config.clone() })
}

/// Calls `body` on each of [`all_fleets`] under every merge and layout, and with what these are in words. Host replicas
/// share the cores of a CI machine: one layout for all counts, all layouts for one; of one replica, whose merges do nothing, those
/// merges of which the steps differ; and of perturbed ones, half of the merges each.
pub fn everywhere(mut body: impl FnMut(&Fleet, &RunConfig, &str)) {
    let schedules = [(None, Layout::Auto), (Some(5), Layout::Raw), (Some(9), Layout::Degree)];
    for fleet in all_fleets() {
        let count = if ["host:1", "host:5"].contains(&fleet.0.as_str()) { 1 } else { 3 };
        for (at, (perturb, layout)) in schedules.into_iter().take(count).enumerate() {
            let opened = open_perturbed(&fleet, perturb);
            let merges = match (fleet.0.as_str(), at) {
                ("host:1", _) => MERGES[..2].to_vec(),
                ("host:3", 1..) => MERGES.into_iter().skip(at - 1).step_by(2).collect(),
                _ => MERGES.to_vec(),
            };
            for merge in merges {
                let config = RunConfig { merge, layout, ..RunConfig::default() };
                body(&opened, &config, &format!("{fleet:?}, {merge} {layout}"));
            }
        }
    }
}

/// Whether replicas of such a fleet share the work of an iteration, for workloads that `auto` cuts on the host alone.
pub fn cuts_on_hosts(fleet: &Fleet, merge: MergeMode) -> bool {
    let cut = match merge {
        MergeMode::Auto => fleet.info().backend == "host",
        merge => merge != MergeMode::Redundant,
    };
    cut && fleet.world() > 1
}

/// Runs the workload called `name`, and checks its answer independently where
/// that is.
pub fn outcome(
    name: &str,
    fleet: &Fleet,
    graph: &Arc<Graph>,
    config: &RunConfig,
) -> Result<Outcome> {
    let workload = workload(name).unwrap_or_else(|| panic!("no workload {name}"));
    let config = RunConfig { graph: Some("a test's graph".into()), ..config.clone() };
    let job = Job::new(workload, config, graph.clone())?;
    let ready = prepare(&job, None, fleet)?;
    let answer = job.solve(fleet, &ready)?;
    let check = job.check(fleet, &ready, &*answer)?;
    let report = ready.report(fleet, workload.form)?;
    Ok(job.outcome(fleet, &report, answer, check))
}

/// Options of workloads, by name.
pub fn own(options: Value) -> Own {
    serde_json::from_value(options).unwrap_or_else(|e| panic!("{e}"))
}

/// The answer of the second of two runs on `graph`, with equal bits on all replicas, and accepted by the workload's
/// own check.
pub fn solved<A: Clone + 'static>(
    name: &str,
    fleet: &Fleet,
    graph: &Arc<Graph>,
    config: &RunConfig,
) -> A {
    let config = RunConfig {
        runs: Some(Choice::Is(2)),
        warmup: Some(0),
        verify: Verify::Yes,
        ..config.clone()
    };
    let outcome = outcome(name, fleet, graph, &config).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(outcome.verification.as_ref().unwrap().message, None, "{name}");
    answer_of::<A>(&outcome).clone()
}

/// What the answer would write to a CSV.
pub fn csv_of(outcome: &Outcome) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.csv");
    outcome.write(&path).unwrap();
    std::fs::read_to_string(&path).unwrap()
}

/// The answer as the type that this workload's answers have.
pub fn answer_of<A: 'static>(outcome: &Outcome) -> &A {
    outcome.answer.own().downcast_ref().expect("an answer of this type")
}

/// `hive run NAME` on two host replicas.
pub fn runs(name: &str, args: &[&str]) -> Ended {
    let all = [&["run", name, "--devices", "host:2", "--runs", "1"], args].concat();
    ends_within(Duration::from_secs(60), hive().args(all))
}

/// What a workload of undirected graphs writes, and records, of the graph with these edges in a file.
pub fn answered(name: &str, edges: &str, rows: &[&str]) -> serde_json::Value {
    answered_with(name, edges, &[], rows)
}

/// The same with more options.
pub fn answered_with(
    name: &str,
    edges: &str,
    options: &[&str],
    rows: &[&str],
) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let (graph, csv) = (folder.path().join("g.txt"), folder.path().join("answer.csv"));
    std::fs::write(&graph, edges).unwrap();
    let (graph, csv) = (graph.to_str().unwrap(), csv.to_str().unwrap());
    let args = ["--graph", graph, "--symmetrize", "--verify", "--output", csv, "--json", "-"];
    let ended = runs(name, &[&args, options].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let text = std::fs::read_to_string(csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    rows.iter().for_each(|row| assert!(lines.contains(row), "{row} in {text}"));
    serde_json::from_str(&ended.out).unwrap()
}

/// What a workload of undirected graphs refuses, each in one line.
pub fn refuses(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("directed.txt");
    std::fs::write(&graph, "5 7\n7 9\n").unwrap();
    let source = format!("{name} does not take --source");
    for (args, part) in [
        (&["--graph", graph.to_str().unwrap()][..], "--symmetrize"),
        (&["--graph", "rmat:6", "--source", "1"], source.as_str()),
        (&["--graph", "rmat:6", "--output", "x.pdf"], "x.pdf"),
        (&[], "no graph"),
    ] {
        let ended = runs(name, args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
        assert!(ended.err.contains(part), "{args:?}: {}", ended.err);
        assert_eq!((ended.err.trim_end().lines().count(), ended.out.as_str()), (1, ""));
    }
}
