//! The textbook loop of three workloads (`--merge dense`) beside the same as a program of operators.
//!
//!     cargo bench --bench textbook -- [--workloads NAME ...] [--graphs SPEC ...] [--devices LIST ...] [--runs N] [--json FILE]
//!
//! `bfs`: push along the chunk's arcs, OR the frontiers, settle. `cc`: hook over the chunk's arcs, MIN the parents, join each
//! node with the parent that it had before. `kcore`: peel nodes of degree at most k, SUM the arcs that are lost. Times are
//! medians of runs from a common start to the answer on all devices; answers are compared.
//!
//! Programs' nodes lie by degree unless all degrees are small, as those of workloads do.
//!
//! Beside them programs of `examples/` without a workload of their own: `heat`, a step, beside an iteration of PageRank;
//! `labels`, the rounds of label propagation, beside components.

#![allow(clippy::duplicate_mod)] // each example has its own examples/common

use hivegraph::algorithm::{
    BfsConfig, CcConfig, KcoreConfig, PagerankConfig, bfs, cc, kcore, pagerank,
};
use hivegraph::fleet::{Fleet, FleetConfig};
use hivegraph::prelude::*;
use hivegraph::report::{COMMIT, VERSION, utc, write_json};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Instant, SystemTime};

#[path = "../examples/heat.rs"]
#[allow(dead_code)]
mod heat;
#[path = "../examples/k_core.rs"]
#[allow(dead_code)]
mod k_core;
#[path = "../examples/label_propagation.rs"]
#[allow(dead_code)]
mod label_propagation;
#[path = "../tests/common/levels.rs"]
mod levels;
#[path = "../tests/common/trees.rs"]
mod trees;

/// Steps of `heat` that are timed.
const STEPS: u32 = 20;

/// Breadth-first search from node `source`: the answer and the milliseconds of each run.
fn levels(r: &mut Replica, g: &Resident, source: u32, runs: usize) -> Result<(Vec<u32>, Vec<f64>)> {
    let (mut state, mut times) = (levels::Levels::new(r, g)?, Vec::new());
    for _ in 0..runs {
        state.begin(r, g, source)?;
        r.settle()?;
        r.barrier("start")?;
        let start = Instant::now();
        state.search(r, g)?;
        r.settle()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((g.in_input_order(r.read(&state.level)?)?, times))
}

#[lambda]
fn rehook(v: u32, parent: Writes<u32>, old: Reads<u32>) {
    trees::link(parent, v, old[v]);
}

#[lambda]
fn moved(v: u32, parent: Reads<u32>, old: Reads<u32>) -> u32 {
    if parent[v] != old[v] { 1 } else { 0 }
}

/// Connected components by hooking: the smallest node of each node's component, and milliseconds.
fn components(r: &mut Replica, g: &Resident, runs: usize) -> Result<(Vec<u32>, Vec<f64>)> {
    let n = g.graph().nodes();
    let (own, hook, flatten) = (trees::own(), trees::hook(), trees::flatten());
    let (rehook, moved) = (rehook(), moved());
    let mut parent = r.replicated::<u32>("parent", n, MergeOp::Min)?;
    let mut old = r.replicated::<u32>("old", n, MergeOp::Min)?;
    let (all, mut times) = (Over::nodes(g).whole(), Vec::new());
    for _ in 0..runs {
        r.settle()?;
        r.barrier("start")?;
        let start = Instant::now();
        r.for_all("own", all, &own, Args::new().writes("parent", &mut parent))?;
        r.for_all("hook", Over::arcs(g), &hook, Args::new().writes("parent", &mut parent))?;
        r.for_all("flatten", all, &flatten, Args::new().writes("parent", &mut parent))?;
        while r.world() > 1 {
            r.copy(&parent, &mut old)?;
            r.merge(&mut parent)?;
            let args = Args::new().writes("parent", &mut parent).reads("old", &old);
            r.for_all("rehook", all, &rehook, args)?;
            r.for_all("flatten", all, &flatten, Args::new().writes("parent", &mut parent))?;
            let args = Args::new().reads("parent", &parent).reads("old", &old);
            let here = r.reduce("moved", all, &moved, args, MergeOp::Max)?;
            let everywhere = r.agree("moved", [here.into(), 0, 0, 0])?;
            if everywhere.iter().all(|moved| moved[0] == 0) {
                break;
            }
        }
        r.settle()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((g.in_input_order(r.read(&parent)?)?, times))
}

/// Milliseconds of a step of `heat`, several times.
fn heat_steps(r: &mut Replica, g: &Resident, times: usize) -> Result<Vec<f64>> {
    let mut state = heat::State::new(r, g)?;
    state.steps(r, g, 1, 0.5)?;
    let mut all = Vec::new();
    for _ in 0..times {
        r.settle()?;
        r.barrier("start")?;
        let start = Instant::now();
        state.steps(r, g, STEPS, 0.5)?;
        r.settle()?;
        all.push(start.elapsed().as_secs_f64() * 1e3 / f64::from(STEPS));
    }
    Ok(all)
}

/// Label propagation: the labels, its rounds, and milliseconds of each time; the first, which compiles, too.
fn label_rounds(r: &mut Replica, g: &Resident, times: usize) -> Result<(Vec<u32>, u64, Vec<f64>)> {
    let mut state = label_propagation::State::new(r, g)?;
    let (mut rounds, mut all) = (0, Vec::new());
    for _ in 0..times {
        r.settle()?;
        r.barrier("start")?;
        let start = Instant::now();
        rounds = state.spread(r, g)?;
        r.settle()?;
        all.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((g.in_input_order(r.read(&state.label)?)?, rounds, all))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let of = |name: &str| -> Vec<&str> {
        let after = args.iter().skip_while(|arg| *arg != name).skip(1);
        after.take_while(|arg| !arg.starts_with("--")).map(String::as_str).collect()
    };
    let or = |name: &str, default: &'static str| {
        let given = of(name);
        if given.is_empty() { vec![default] } else { given }
    };
    let runs: usize = or("--runs", "8")[0].parse().map_err(|_| Error::input("--runs: a number"))?;
    let workloads = match of("--workloads").as_slice() {
        [] => WORKLOADS.to_vec(),
        some => some.to_vec(),
    };
    let (mut fleets, mut rows) = (Vec::new(), Vec::new());
    for devices in or("--devices", "auto") {
        let devices_list = devices.parse()?;
        let fleet = Fleet::open(FleetConfig { devices: devices_list, ..FleetConfig::default() })?;
        fleets.push(json!(fleet.info()));
        for spec in or("--graphs", "rmat:16") {
            let graph = Arc::new(load(spec)?);
            let order = NodeOrder::Auto;
            let options = ResidentOptions { weights: false, order, ..ResidentOptions::default() };
            let g = Resident::new(&fleet, graph.clone(), options)?;
            let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default())?;
            let setting = Setting { fleet: &fleet, prepared: &prepared, g: &g, runs };
            for what in &workloads {
                let (built_in, times) = setting.compare(what)?;
                rows.push(row(what, spec, devices, built_in, times));
            }
        }
    }
    let record = json!({
        "version": VERSION, "commit": COMMIT, "time": utc(SystemTime::now()).trim_end(),
        "command-line": std::env::args().collect::<Vec<_>>().join(" "),
        "fleets": fleets, "rows": rows,
    });
    if let Some(path) = of("--json").first() {
        write_json(Path::new(path), &record)?;
    }
    Ok(())
}

const WORKLOADS: [&str; 5] = ["bfs", "cc", "kcore", "heat", "labels"];

/// What is compared, and on what.
struct Setting<'a> {
    fleet: &'a Fleet,
    prepared: &'a Prepared,
    g: &'a Arc<Resident>,
    runs: usize,
}

impl Setting<'_> {
    /// Milliseconds of what is built in, and of several runs of the program.
    fn compare(&self, what: &str) -> Result<(f64, Vec<f64>)> {
        let Setting { fleet, prepared, g, runs } = *self;
        let (at, total) = (g.clone(), runs + 1);
        let plain = RunOptions { runs: runs as u32, warmup: 1, ..RunOptions::default() };
        let dense = RunOptions { merge: MergeMode::Dense, ..plain.clone() };
        let graph = prepared.graph().clone();
        let (built_in, times) = match what {
            "bfs" => {
                let most = (0..graph.nodes()).max_by_key(|v| graph.degree(*v)).unwrap_or(0) as u32;
                let sources = Some(Seeds::of_nodes(&graph, &[most]));
                let config = BfsConfig { run: dense, sources, ..BfsConfig::default() };
                let built_in = bfs(fleet, prepared, &config)?;
                let source = at.graph().ranked(most);
                let (found, times) =
                    fleet.run(move |r| levels(r, &at, source, total))?.swap_remove(0);
                same(what, built_in.levels.first() == Some(&found))?;
                (built_in.measured, times)
            }
            "cc" => {
                let built_in = cc(fleet, prepared, &CcConfig { run: dense })?;
                let (found, times) = fleet.run(move |r| components(r, &at, total))?.swap_remove(0);
                same(what, partition(&built_in.labels) == partition(&found))?;
                (built_in.measured, times)
            }
            "kcore" => {
                let built_in = kcore(fleet, prepared, &KcoreConfig { run: dense })?;
                let (found, times) = fleet.run(move |r| cores(r, &at, total))?.swap_remove(0);
                same(what, built_in.cores == found)?;
                (built_in.measured, times)
            }
            "heat" => {
                let config = PagerankConfig { iterations: STEPS, run: plain, ..Default::default() };
                let built_in = pagerank(fleet, prepared, &config)?;
                let times = fleet.run(move |r| heat_steps(r, &at, total))?.swap_remove(0);
                (built_in.measured, times)
            }
            "labels" => {
                let built_in = cc(fleet, prepared, &CcConfig { run: plain })?;
                let (found, rounds, times) =
                    fleet.run(move |r| label_rounds(r, &at, total))?.swap_remove(0);
                same(what, partition(&built_in.labels) == partition(&found))?;
                println!("labels: {rounds} rounds");
                (built_in.measured, times)
            }
            other => {
                let all = WORKLOADS.join(", ");
                return Err(Error::input(format!("--workloads {other}: use {all}")));
            }
        };
        let per = if what == "heat" { f64::from(STEPS) } else { 1.0 };
        let built_in = median(built_in.runs.iter().map(|run| run.total_ms / per).collect());
        // The first compiles.
        Ok((built_in, times[1..].to_vec()))
    }
}

/// Core numbers, and milliseconds.
fn cores(r: &mut Replica, g: &Resident, runs: usize) -> Result<(Vec<u32>, Vec<f64>)> {
    let (mut found, mut times) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        r.barrier("start")?;
        let start = Instant::now();
        found = k_core::k_core(r, g)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((found, times))
}

/// The smallest node of each node's component.
fn partition(labels: &[u32]) -> Vec<u32> {
    let mut first = vec![u32::MAX; labels.len()];
    for (v, label) in labels.iter().enumerate().rev() {
        first[*label as usize] = v as u32;
    }
    labels.iter().map(|label| first[*label as usize]).collect()
}

fn same(what: &str, same: bool) -> Result<()> {
    if same { Ok(()) } else { Err(Error::Verify(format!("{what}: other answers"))) }
}

fn row(what: &str, spec: &str, devices: &str, built_in: f64, times: Vec<f64>) -> Value {
    let operators = median(times);
    println!(
        "{what:6} {spec:12} {devices:10} built-in {built_in:9.4} ms, operators {operators:9.4} ms"
    );
    json!({ "workload": what, "graph": spec, "devices": devices, "built-in-ms": built_in, "operators-ms": operators })
}
