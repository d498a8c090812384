//! The textbook loop of three workloads (`--merge dense`) beside the same as a program of operators.
//!
//!     cargo bench --bench textbook -- [--graphs SPEC ...] [--devices LIST ...] [--runs N] [--json FILE]
//!
//! `bfs`: push along the chunk's arcs, OR the frontiers, settle. `cc`: hook over the chunk's arcs, MIN the parents, join each
//! node with the parent that it had before. `kcore`: peel nodes of degree at most k, SUM the arcs that are lost. Times are
//! medians of runs from a common start to the answer on all devices; answers are compared.

use hivegraph::algorithm::{BfsConfig, CcConfig, KcoreConfig, bfs, cc, kcore};
use hivegraph::fleet::{Fleet, FleetConfig};
use hivegraph::prelude::*;
use hivegraph::report::{COMMIT, VERSION, utc, write_json};
use serde_json::json;
use std::path::Path;
use std::time::{Instant, SystemTime};

#[path = "../examples/k_core.rs"]
#[allow(dead_code)]
mod k_core;

/// Breadth-first search from node `source`: the answer and the milliseconds of the last run.
fn levels(r: &mut Replica, g: &Resident, source: u32, runs: usize) -> Result<(Vec<u32>, Vec<f64>)> {
    let n = g.graph().nodes();
    let seed = Lambda::<()>::new("seed")
        .writes_set("now")
        .writes::<u32>("level")
        .scalar::<u32>("source")
        .cuda("level[v] = v == source ? 0 : ~0u; if (v == source) now.insert(v);")
        .host(|a| {
            let (now, level) = (a.writes_set("now"), a.writes::<u32>("level"));
            let source = a.scalar::<u32>("source") as usize;
            Box::new(move |v| {
                level.set(v, if v == source { 0 } else { u32::MAX });
                if v == source {
                    now.insert(v);
                }
            })
        });
    let unseen = Lambda::<bool>::new("unseen")
        .reads::<u32>("level")
        .cuda("return level[v] == ~0u;")
        .host(|a| {
            let level = a.reads::<u32>("level");
            Box::new(move |v| level.at(v) == u32::MAX)
        });
    let reach =
        ArcLambda::<bool>::new("reach").cuda("return true;").host(|_| Box::new(|_, _, _, _| true));
    let settle = Lambda::<()>::new("settle")
        .writes::<u32>("level")
        .scalar::<u32>("depth")
        .cuda("level[v] = depth;")
        .host(|a| {
            let (level, depth) = (a.writes::<u32>("level"), a.scalar::<u32>("depth"));
            Box::new(move |v| level.set(v, depth))
        });
    let arcs = Lambda::<u64>::new("arcs").cuda("return (u64)g.degree(v);").host(|a| {
        let g = a.graph();
        Box::new(move |v| g.degree(v) as u64)
    });
    let mut level = r.replicated::<u32>("level", n, MergeOp::Min)?;
    let mut now = r.frontier("now", n, MergeOp::Or)?;
    let mut next = r.frontier("next", n, MergeOp::Or)?;
    let mut times = Vec::new();
    for _ in 0..runs {
        r.clear("now", &mut now)?;
        let args = Args::new().writes("level", &mut level).writes_set("now", &mut now);
        r.for_all("seed", Over::nodes(g).whole(), &seed, args.scalar("source", source))?;
        r.settle()?;
        r.barrier("start")?;
        let start = Instant::now();
        let mut depth = 0u32;
        while r.count("now", &now)? > 0 {
            depth += 1;
            r.clear("next", &mut next)?;
            // Most arcs of a large frontier lead to nodes that are settled: look from the others instead.
            let ahead =
                r.reduce("arcs", Over::frontier(g, &now), &arcs, Args::new(), MergeOp::Sum)?;
            let how = Advance::default().only(&unseen, Args::new().reads("level", &level));
            let how = how.output(&mut next);
            let how =
                if ahead > g.graph().arcs() / 15 && g.has_backward() { how.pull() } else { how };
            r.advance("reach", Over::frontier(g, &now), &reach, Args::new(), how)?;
            r.merge(next.words_mut())?;
            let args = Args::new().writes("level", &mut level).scalar("depth", depth);
            r.for_all("settle", Over::frontier(g, &next).whole(), &settle, args)?;
            std::mem::swap(&mut now, &mut next);
        }
        r.settle()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((r.read(&level)?, times))
}

/// Joins two trees: the larger root under the smaller.
const LINK: &str = "
template <typename A> __device__ u32 root(A& parent, u32 v) {
    for (u32 up = fresh_value(parent[v]); up != v; up = fresh_value(parent[v])) v = up;
    return v;
}
template <typename A> __device__ void link(A& parent, u32 u, u32 v) {
    while (true) {
        u = root(parent, u);
        v = root(parent, v);
        if (u == v) return;
        if (u < v) { u32 other = u; u = v; v = other; }
        if (atomic_cas(parent[u], u, v) == u) return;
    }
}
";

fn root(parent: impl Fn(usize) -> u32, mut v: usize) -> usize {
    while parent(v) as usize != v {
        v = parent(v) as usize;
    }
    v
}

/// Connected components by hooking: the smallest node of each node's component, and milliseconds.
fn components(r: &mut Replica, g: &Resident, runs: usize) -> Result<(Vec<u32>, Vec<f64>)> {
    let n = g.graph().nodes();
    let parents = || Lambda::<()>::new("own").writes::<u32>("parent");
    let own = parents().cuda("parent[v] = v;").host(|a| {
        let parent = a.writes::<u32>("parent");
        Box::new(move |v| parent.set(v, v as u32))
    });
    let hook = ArcLambda::<()>::new("hook").writes::<u32>("parent").functions(LINK);
    let hook = hook.cuda("if (u > v) link(parent, u, v);").host(|a| {
        let parent = a.writes::<u32>("parent");
        Box::new(move |u, v, _, _| {
            let (mut u, mut v) = (u, v);
            while u != v {
                (u, v) = (root(|k| parent.at(k), u), root(|k| parent.at(k), v));
                let (high, low) = (u.max(v), u.min(v));
                if high == low || parent.cas(high, high as u32, low as u32) == high as u32 {
                    return;
                }
            }
        })
    });
    let rehook = Lambda::<()>::new("rehook").writes::<u32>("parent").reads::<u32>("old");
    let rehook = rehook.functions(LINK).cuda("link(parent, v, old[v]);").host(|a| {
        let (parent, old) = (a.writes::<u32>("parent"), a.reads::<u32>("old"));
        Box::new(move |v| {
            let (mut u, mut v) = (v, old.at(v) as usize);
            while u != v {
                (u, v) = (root(|k| parent.at(k), u), root(|k| parent.at(k), v));
                let (high, low) = (u.max(v), u.min(v));
                if high == low || parent.cas(high, high as u32, low as u32) == high as u32 {
                    return;
                }
            }
        })
    });
    let flatten = Lambda::<()>::new("flatten").writes::<u32>("parent").functions(LINK);
    let flatten = flatten.cuda("parent[v] = root(parent, v);").host(|a| {
        let parent = a.writes::<u32>("parent");
        Box::new(move |v| parent.set(v, root(|k| parent.at(k), v) as u32))
    });
    let moved = Lambda::<u32>::new("moved").reads::<u32>("parent").reads::<u32>("old");
    let moved = moved.cuda("return parent[v] != old[v];").host(|a| {
        let (parent, old) = (a.reads::<u32>("parent"), a.reads::<u32>("old"));
        Box::new(move |v| u32::from(parent.at(v) != old.at(v)))
    });
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
    Ok((r.read(&parent)?, times))
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
    let (mut fleets, mut rows) = (Vec::new(), Vec::new());
    for devices in or("--devices", "auto") {
        let devices_list = devices.parse()?;
        let fleet = Fleet::open(FleetConfig { devices: devices_list, ..FleetConfig::default() })?;
        fleets.push(json!(fleet.info()));
        for spec in or("--graphs", "rmat:16") {
            let graph = Arc::new(load(spec)?);
            let options = ResidentOptions { weights: false, ..ResidentOptions::default() };
            let g = Resident::new(&fleet, graph.clone(), options)?;
            let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default())?;
            let run = RunOptions {
                merge: MergeMode::Dense,
                runs: runs as u32,
                warmup: 1,
                ..RunOptions::default()
            };
            let source = (0..graph.nodes()).max_by_key(|v| graph.degree(*v)).unwrap_or(0) as u32;
            let seeds = Seeds::of_nodes(&graph, &[source]);
            let config =
                BfsConfig { run: run.clone(), sources: Some(seeds), ..BfsConfig::default() };
            let built_in = bfs(&fleet, &prepared, &config)?;
            let (at, total) = (g.clone(), runs + 1);
            let (found, times) = fleet.run(move |r| levels(r, &at, source, total))?.swap_remove(0);
            same("bfs", built_in.levels.first() == Some(&found))?;
            rows.push(row("bfs", spec, devices, &built_in.measured, times));
            let built_in = cc(&fleet, &prepared, &CcConfig { run: run.clone() })?;
            let at = g.clone();
            let (found, times) = fleet.run(move |r| components(r, &at, total))?.swap_remove(0);
            same("cc", partition(&built_in.labels) == partition(&found))?;
            rows.push(row("cc", spec, devices, &built_in.measured, times));
            let built_in = kcore(&fleet, &prepared, &KcoreConfig { run })?;
            let at = g.clone();
            let (mut times, mut found) = (Vec::new(), Vec::new());
            for _ in 0..total.min(4) {
                let at = at.clone();
                let timed = fleet.run(move |r| {
                    r.barrier("start")?;
                    let start = Instant::now();
                    let core = k_core::k_core(r, &at)?;
                    Ok((core, start.elapsed().as_secs_f64() * 1e3))
                })?;
                let (core, ms) = timed.into_iter().next().unwrap_or_default();
                times.push(ms);
                found = core;
            }
            same("kcore", built_in.cores == found)?;
            rows.push(row("kcore", spec, devices, &built_in.measured, times));
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

fn row(
    what: &str,
    spec: &str,
    devices: &str,
    measured: &hivegraph::algorithm::Measured,
    mut times: Vec<f64>,
) -> serde_json::Value {
    let built_in = median(measured.runs.iter().map(|run| run.total_ms).collect());
    times.remove(0);
    let operators = median(times);
    println!(
        "{what:6} {spec:12} {devices:10} built-in {built_in:9.4} ms, operators {operators:9.4} ms"
    );
    json!({ "workload": what, "graph": spec, "devices": devices, "built-in-ms": built_in, "operators-ms": operators })
}
