//! Six programs of readers of `docs/operators.md` alone, beside what is built in, or beside the same lambda in CUDA C++.
//!
//!     cargo bench --bench readers -- [--graph SPEC] [--devices LIST] [--runs N] [--json FILE]
//!
//! Shortest paths and breadth-first search stand beside the built-in ones. Jaccard's similarity of the ends of all arcs, the
//! mean of neighbours' features (GraphSAGE), colouring and an epidemic (SIR) are lambdas of one thread an element: beside them
//! is CUDA C++ that indexes without checks, launched by the same operator. Times are medians of runs from a common start to
//! the answer on all devices, without reading it; answers are compared. The graph should have no parallel arcs.

use hivegraph::algorithm::{BfsConfig, SsspConfig, bfs, sssp};
use hivegraph::collective::Element;
use hivegraph::fleet::{Fleet, FleetConfig};
use hivegraph::prelude::*;
use hivegraph::report::{COMMIT, VERSION, utc, write_json};
use serde_json::json;
use std::path::Path;
use std::time::{Instant, SystemTime};

#[lambda]
fn far(v: u32, dist: Writes<f32>, now: Writes<NodeSet>, source: u32) {
    dist[v] = if v == source { 0.0 } else { f32::INFINITY };
    if v == source {
        now.insert(v);
    }
}

#[lambda]
fn relax(u: u32, v: u32, w: f32, dist: Writes<f32>) -> bool {
    let d = dist[u] + w;
    d < dist.min(v, d)
}

fn paths(r: &mut Replica, g: &Resident, source: u32, held: &mut Held<f32>) -> Result<()> {
    let Held { array: dist, now, next, .. } = held;
    r.clear("now", now)?;
    let args = Args::new().writes("dist", dist).writes_set("now", now).scalar("source", source);
    r.for_all("far", Over::nodes(g).whole(), &far(), args)?;
    let relax = relax();
    r.repeat(|r| {
        r.clear("next", next)?;
        let (args, how) = (Args::new().writes("dist", dist), Advance::default().output(next));
        r.advance("relax", Over::frontier(g, now), &relax, args, how)?;
        r.merge_all(&mut [dist, next])?;
        std::mem::swap(now, next);
        r.left("now", now)
    })?;
    Ok(())
}

#[lambda]
fn unreached(
    v: u32,
    parent: Writes<u32>,
    now: Writes<NodeSet>,
    seen: Writes<NodeSet>,
    source: u32,
) {
    parent[v] = u32::MAX;
    if v == source {
        parent[v] = source;
        now.insert(v);
        seen.insert(v);
    }
}

#[lambda]
fn unseen(v: u32, seen: Reads<NodeSet>) -> bool {
    !seen.contains(v)
}

#[lambda]
fn reach(u: u32, v: u32, parent: Writes<u32>) -> bool {
    parent.min(v, u);
    true
}

#[lambda]
fn settle(v: u32, seen: Writes<NodeSet>) {
    seen.insert(v);
}

/// The lowest neighbour of each node that is one arc nearer to the source. A pull would stop at any.
fn parents(r: &mut Replica, g: &Resident, source: u32, held: &mut Held<u32>) -> Result<()> {
    let Held { array: parent, now, next, seen } = held;
    let (unseen, reach, settle) = (unseen(), reach(), settle());
    r.clear("now", now)?;
    r.clear("seen", seen)?;
    let args = Args::new().writes("parent", parent).writes_set("now", now);
    let args = args.writes_set("seen", seen).scalar("source", source);
    r.for_all("unreached", Over::nodes(g).whole(), &unreached(), args)?;
    r.repeat(|r| {
        r.clear("next", next)?;
        let how =
            Advance::default().only(&unseen, Args::new().reads_set("seen", seen)).output(next);
        let args = Args::new().writes("parent", parent);
        r.advance("reach", Over::frontier(g, now), &reach, args, how)?;
        r.merge_all(&mut [parent, next])?;
        let args = Args::new().writes_set("seen", seen);
        r.for_all("settle", Over::frontier(g, next).whole(), &settle, args)?;
        std::mem::swap(now, next);
        r.left("now", now)
    })?;
    Ok(())
}

#[lambda]
fn jaccard(g: GraphView, u: u32, v: u32, e: u64, out: Writes<f32>) {
    let mut a = 0_u64;
    let mut b = 0_u64;
    let mut both = 0_u64;
    while a < g.degree(u) && b < g.degree(v) {
        let x = g.edge(u, a).node;
        let y = g.edge(v, b).node;
        if x == y {
            both += 1;
        }
        if x <= y {
            a += 1;
        }
        if y <= x {
            b += 1;
        }
    }
    out[e] = both as f32 / (g.degree(u) + g.degree(v) - both) as f32;
}

const JACCARD: &str = "
    const offset_t* offsets = g.out.offsets;
    const u32* columns = g.out.columns;
    u64 a = offsets[u], ends = offsets[u + 1], b = offsets[v], end = offsets[v + 1], both = 0;
    u64 all = (ends - a) + (end - b);
    while (a < ends && b < end) {
        u32 x = __ldg(columns + a), y = __ldg(columns + b);
        both += x == y;
        a += x <= y;
        b += y <= x;
    }
    out.data[e] = (float)both / (float)(all - both);";

/// Numbers of a node's features.
const FEATURES: usize = 8;

#[lambda]
fn mean(g: GraphView, i: u64, x: Reads<f32>, y: Writes<f32>) {
    let v = i / 8;
    let mut sum = 0.0_f32;
    for e in g.edges(v) {
        sum += x[e.node as u64 * 8 + i % 8];
    }
    y[i] = if g.degree(v) > 0 { sum / g.degree(v) as f32 } else { 0.0 };
}

const MEAN: &str = "
    u32 at = (u32)(i / 8), k = (u32)(i % 8);
    u64 first = g.out.offsets[at], last = g.out.offsets[at + 1];
    float sum = 0;
    for (u64 e = first; e < last; e++) sum += __ldg(x.data + (u64)__ldg(g.out.columns + e) * 8 + k);
    y.data[i] = last > first ? sum / (float)(last - first) : 0.0f;";

/// Whether a comes before b.
#[device]
fn before(a: u32, b: u32) -> bool {
    let x = Random::mix(a as u64);
    let y = Random::mix(b as u64);
    x > y || x == y && a > b
}

#[lambda]
fn colour(g: GraphView, v: u32, colour: Writes<u32>) {
    if colour[v] != u32::MAX {
        return;
    }
    for e in g.edges(v) {
        if e.node != v && colour[e.node] == u32::MAX && before(e.node, v) {
            return;
        }
    }
    let mut base = 0_u32;
    loop {
        let mut used = 0_u64;
        for e in g.edges(v) {
            let c = colour[e.node];
            if c / 64 == base {
                used |= 1_u64 << (c % 64);
            }
        }
        if used != u64::MAX {
            colour[v] = base * 64 + (!used).trailing_zeros();
            return;
        }
        base += 1;
    }
}

const COLOUR: &str = "
    volatile u32* c = colour.data;
    const u32* columns = g.out.columns;
    if (c[v] != ~0u) return;
    u64 first = g.out.offsets[v], last = g.out.offsets[v + 1], own = mix(v);
    for (u64 e = first; e < last; e++) {
        u32 n = __ldg(columns + e);
        if (n == v || c[n] != ~0u) continue;
        u64 other = mix(n);
        if (other > own || (other == own && n > v)) return;
    }
    for (u32 base = 0;; base++) {
        u64 used = 0;
        for (u64 e = first; e < last; e++) {
            u32 x = c[__ldg(columns + e)];
            if (x / 64 == base) used |= 1ull << (x % 64);
        }
        if (~used) {
            c[v] = base * 64 + (__ffsll((long long)~used) - 1);
            return;
        }
    }";

#[lambda]
fn uncoloured(v: u32, colour: Reads<u32>) -> u64 {
    (colour[v] == u32::MAX) as u64
}

/// Node `source` begins, infected.
#[lambda]
fn healthy(v: u32, state: Writes<u32>, ill: Writes<NodeSet>, source: u32) {
    state[v] = if v == source { 1 } else { 0 };
    if v == source {
        ill.insert(v);
    }
}

#[lambda]
fn susceptible(v: u32, state: Reads<u32>) -> bool {
    state[v] == 0
}

#[lambda]
fn infect(u: u32, v: u32, e: u64, step: u64, p: f32) -> bool {
    let mut random = Random::new(2 * step, e);
    random.unit() < p
}

const INFECT: &str = "return Random(2 * step, e).unit() < p;";

#[lambda]
fn recover(
    v: u32,
    state: Writes<u32>,
    ill: Writes<NodeSet>,
    caught: Reads<NodeSet>,
    step: u64,
    q: f32,
) {
    let mut random = Random::new(2 * step + 1, v);
    if caught.contains(v) {
        state[v] = 1;
        ill.insert(v);
    } else if ill.contains(v) && random.unit() < q {
        state[v] = 2;
        ill.erase(v);
    }
}

/// Steps of the epidemic.
const STEPS: u64 = 20;

fn epidemic(
    r: &mut Replica,
    g: &Resident,
    source: u32,
    infect: &ArcLambda<bool>,
    held: &mut Held<u32>,
) -> Result<()> {
    let Held { array: state, now: ill, next: caught, .. } = held;
    let (susceptible, recover) = (susceptible(), recover());
    r.clear("ill", ill)?;
    let args = Args::new().writes("state", state).writes_set("ill", ill).scalar("source", source);
    r.for_all("healthy", Over::nodes(g).whole(), &healthy(), args)?;
    for step in 0..STEPS {
        r.clear("caught", caught)?;
        let only = Args::new().reads("state", state);
        let how = Advance::default().only(&susceptible, only).output(caught);
        let args = Args::new().scalar("step", step).scalar("p", 0.1f32);
        r.advance("infect", Over::frontier(g, ill), infect, args, how)?;
        r.merge(caught)?;
        let args = Args::new().writes("state", state).writes_set("ill", ill);
        let args = args.reads_set("caught", caught).scalar("step", step).scalar("q", 0.1f32);
        r.for_all("recover", Over::nodes(g).whole(), &recover, args)?;
    }
    Ok(())
}

/// What searches hold.
struct Held<T: Element> {
    array: Replicated<T>,
    now: Frontier,
    next: Frontier,
    seen: Frontier,
}

impl<T: Element> Held<T> {
    fn new(r: &mut Replica, g: &Resident, op: MergeOp) -> Result<Held<T>> {
        let n = g.graph().nodes();
        let array = r.node_array::<T>("array", g, op)?;
        let mut set = |label| r.frontier(label, n, MergeOp::Or);
        Ok(Held { now: set("now")?, next: set("next")?, seen: set("seen")?, array })
    }
}

/// Median milliseconds of `run`, which is called once more, first.
fn timed(
    r: &mut Replica,
    runs: usize,
    mut run: impl FnMut(&mut Replica) -> Result<()>,
) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..=runs {
        r.settle()?;
        r.barrier("start")?;
        let start = Instant::now();
        run(r)?;
        r.settle()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// What all programs are given.
struct Setting {
    fleet: Fleet,
    g: Arc<Resident>,
    source: u32,
    runs: usize,
}

impl Setting {
    /// Milliseconds of a program, and its answer.
    fn run<T: Send + 'static>(
        &self,
        program: impl Fn(&mut Replica, &Resident, u32, usize) -> Result<(f64, T)>
        + Send
        + Sync
        + 'static,
    ) -> Result<(f64, T)> {
        let (g, source, runs) = (self.g.clone(), self.source, self.runs);
        Ok(self.fleet.run(move |r| program(r, &g, source, runs))?.swap_remove(0))
    }
}

fn jaccards(
    plain: bool,
) -> impl Fn(&mut Replica, &Resident, u32, usize) -> Result<(f64, Vec<f32>)> {
    move |r, g, _, runs| {
        let mut out = r.arc_array::<f32>("similarity", g, MergeOp::Gather)?;
        let lambda = match plain {
            true => {
                ArcLambda::<()>::new("plain_jaccard").writes::<f32>("out").cuda(JACCARD).unchecked()
            }
            false => jaccard(),
        };
        let ms = timed(r, runs, |r| {
            r.for_all("jaccard", Over::arcs(g), &lambda, Args::new().writes("out", &mut out))?;
            r.merge(&mut out)
        })?;
        Ok((ms, r.read(&out)?))
    }
}

fn means(plain: bool) -> impl Fn(&mut Replica, &Resident, u32, usize) -> Result<(f64, Vec<f32>)> {
    move |r, g, _, runs| {
        let size = FEATURES * g.graph().nodes();
        let mut x = r.replicated::<f32>("x", size, MergeOp::Gather)?;
        let mut y = r.replicated::<f32>("y", size, MergeOp::Gather)?;
        x.assign(&(0..size).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect::<Vec<f32>>())?;
        let lambda = match plain {
            true => Lambda::<()>::new("plain_mean")
                .reads::<f32>("x")
                .writes::<f32>("y")
                .cuda(MEAN)
                .unchecked(),
            false => mean(),
        };
        let ms = timed(r, runs, |r| {
            let args = Args::new().reads("x", &x).writes("y", &mut y);
            r.for_all("mean", Over::elements(size).with(g), &lambda, args)?;
            r.merge(&mut y)
        })?;
        Ok((ms, r.read(&y)?))
    }
}

fn colours(plain: bool) -> impl Fn(&mut Replica, &Resident, u32, usize) -> Result<(f64, Vec<u32>)> {
    move |r, g, _, runs| {
        let mut c = r.node_array::<u32>("colour", g, MergeOp::Gather)?;
        let lambda = match plain {
            true => {
                Lambda::<()>::new("plain_colour").writes::<u32>("colour").cuda(COLOUR).unchecked()
            }
            false => colour(),
        };
        let left = uncoloured();
        let ms = timed(r, runs, |r| {
            r.fill("colour", &mut c, u32::MAX)?;
            loop {
                let args = Args::new().writes("colour", &mut c);
                r.for_all("colour", Over::nodes(g), &lambda, args)?;
                r.merge(&mut c)?;
                let args = Args::new().reads("colour", &c);
                if r.reduce("left", Over::nodes(g), &left, args, MergeOp::Sum)? == 0 {
                    return Ok(());
                }
            }
        })?;
        Ok((ms, r.read(&c)?))
    }
}

fn epidemics(
    plain: bool,
) -> impl Fn(&mut Replica, &Resident, u32, usize) -> Result<(f64, Vec<u32>)> {
    move |r, g, source, runs| {
        let lambda = match plain {
            true => ArcLambda::<bool>::new("plain_infect")
                .scalar::<u64>("step")
                .scalar::<f32>("p")
                .cuda(INFECT)
                .unchecked(),
            false => infect(),
        };
        let mut held = Held::new(r, g, MergeOp::Max)?;
        let ms = timed(r, runs, |r| epidemic(r, g, source, &lambda, &mut held))?;
        Ok((ms, r.read(&held.array)?))
    }
}

fn same(what: &str, same: bool) -> Result<()> {
    if same { Ok(()) } else { Err(Error::Verify(format!("{what}: other answers"))) }
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let of = |name: &str, default: &str| {
        let found = args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
        found.cloned().unwrap_or_else(|| default.into())
    };
    let (spec, devices) = (of("--graph", "rmat:14"), of("--devices", "auto"));
    let runs = of("--runs", "5").parse().map_err(|_| Error::input("--runs: a number"))?;
    let graph = Arc::new(load(&spec)?);
    let fleet = Fleet::open(FleetConfig { devices: devices.parse()?, ..FleetConfig::default() })?;
    let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default())?;
    let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default())?;
    let source = (0..graph.nodes()).max_by_key(|v| graph.degree(*v)).unwrap_or(0) as u32;
    let seeds = || Some(Seeds::of_nodes(&graph, &[source]));
    let run = RunOptions { runs: runs as u32, warmup: 1, ..RunOptions::default() };
    let median = |runs: &[hivegraph::algorithm::RunTime]| {
        let mut all: Vec<f64> = runs.iter().map(|run| run.total_ms).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    // The host has no CUDA C++: the same program again.
    let on_gpus = fleet.info().backend == "cuda";
    let at = Setting { fleet, g, source, runs };
    let mut rows = Vec::new();
    let mut row = |what: &str, ms: f64, beside: &str, other: f64| {
        println!("{what:10} {ms:9.4} ms, {beside} {other:9.4} ms");
        rows.push(json!({ "program": what, "ms": ms, "beside": beside, "other-ms": other }));
    };

    let config = SsspConfig {
        run: run.clone(),
        source: Some(graph.input_id(source).into()),
        ..SsspConfig::default()
    };
    let built_in = sssp(&at.fleet, &prepared, &config)?;
    let (ms, found) = at.run(|r, g, source, runs| {
        let mut held = Held::new(r, g, MergeOp::Min)?;
        let ms = timed(r, runs, |r| paths(r, g, source, &mut held))?;
        Ok((ms, r.read(&held.array)?))
    })?;
    same("sssp", built_in.distances == found)?;
    row("sssp", ms, "built in", median(&built_in.measured.runs));

    let config = BfsConfig { run, sources: seeds(), ..BfsConfig::default() };
    let built_in = bfs(&at.fleet, &prepared, &config)?;
    let (ms, found) = at.run(|r, g, source, runs| {
        let mut held = Held::new(r, g, MergeOp::Min)?;
        let ms = timed(r, runs, |r| parents(r, g, source, &mut held))?;
        Ok((ms, r.read(&held.array)?))
    })?;
    let levels = built_in.levels.first().ok_or_else(|| Error::Verify("bfs: no levels".into()))?;
    let nearer = |v: usize| {
        let least =
            graph.neighbors(v).map(|(u, _)| u).filter(|u| levels[*u as usize] + 1 == levels[v]);
        let least = if levels[v] == u32::MAX { None } else { least.min() };
        found[v] == if v as u32 == source { source } else { least.unwrap_or(u32::MAX) }
    };
    same("bfs", (0..graph.nodes()).all(nearer))?;
    row("bfs", ms, "built in", median(&built_in.measured.runs));

    let cuda = "CUDA C++";
    let (own, plain) = (at.run(jaccards(false))?, at.run(jaccards(on_gpus))?);
    same("jaccard", own.1 == plain.1)?;
    row("jaccard", own.0, cuda, plain.0);
    let (own, plain) = (at.run(means(false))?, at.run(means(on_gpus))?);
    same("graphsage", own.1 == plain.1)?;
    row("graphsage", own.0, cuda, plain.0);
    let (own, plain) = (at.run(colours(false))?, at.run(colours(on_gpus))?);
    same("colouring", own.1 == plain.1)?;
    row("colouring", own.0, cuda, plain.0);
    let (own, plain) = (at.run(epidemics(false))?, at.run(epidemics(on_gpus))?);
    same("sir", own.1 == plain.1)?;
    row("sir", own.0, cuda, plain.0);

    let record = json!({
        "version": VERSION, "commit": COMMIT, "time": utc(SystemTime::now()).trim_end(),
        "command-line": std::env::args().collect::<Vec<_>>().join(" "),
        "graph": spec, "fleet": at.fleet.info(), "rows": rows,
    });
    match of("--json", "").as_str() {
        "" => Ok(()),
        path => write_json(Path::new(path), &record),
    }
}
