//! What the operators cost: a simple transform against a device copy, the overhead of a launch, compiling.
//!
//!     cargo bench --bench forall -- [--devices LIST ...] [--elements N] [--only NAME ...] [--json FILE]
//!
//! `transform`: y[i] = 2 x[i] + 1 over N floats, cut over the replicas, 20 launches back to back between two
//! events; with checked indices and without; beside it a copy of the same bytes by the driver. `launch`: 10,000
//! launches of a lambda over one element a replica, by the clock. `compile`: the first launch of a lambda, its
//! text never seen before, and of another lambda of the same text. `schemes`: y[i] from x[i], from x[i - 1], x[i]
//! and x[i + 1], and from x at a random place, over N / 4 floats a lambda, where x and y are replicated, in parts on
//! peers, managed, or mapped into one range of addresses; the replicated y is then gathered. Device lists that the machine lacks are
//! left out, and said.

use hivegraph::collective::MergeOp;
use hivegraph::fleet::{Devices, Fleet, FleetConfig, Replica, Scheme};
use hivegraph::operator::{Args, Lambda, Over, Random};
use hivegraph::report::{COMMIT, VERSION, utc, write_json};
use hivegraph::{Error, Result};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

const LAUNCHES: usize = 20;
const REPEATS: usize = 5;
const OVERHEAD_LAUNCHES: usize = 10_000;

struct Arguments {
    devices: Vec<String>,
    elements: usize,
    only: Vec<String>,
    json: Option<PathBuf>,
}

fn arguments() -> Result<Arguments> {
    let mut found =
        Arguments { devices: Vec::new(), elements: 1 << 30, only: Vec::new(), json: None };
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench").peekable();
    while let Some(arg) = args.next() {
        let mut values = Vec::new();
        while let Some(value) = args.next_if(|next| !next.starts_with("--")) {
            values.push(value);
        }
        let first =
            || values.first().cloned().ok_or_else(|| Error::input(format!("{arg} needs a value")));
        match arg.as_str() {
            "--devices" => found.devices = values,
            "--only" => found.only = values,
            "--json" => found.json = Some(first()?.into()),
            "--elements" => {
                let text = first()?;
                let number = text.parse().ok().filter(|n| *n > 0);
                found.elements =
                    number.ok_or_else(|| Error::input(format!("--elements {text}: from 1")))?;
            }
            _ => return Err(Error::input(format!("{arg}: not an option of this benchmark"))),
        }
    }
    if found.devices.is_empty() {
        let gpus = hivegraph::device::probe().devices.len();
        let lists = [1, 2, 4, 8].into_iter().filter(|k| *k <= gpus);
        found.devices = lists
            .map(|k| if k == 1 { "cuda:0".into() } else { format!("cuda:0-{}", k - 1) })
            .collect();
        if found.devices.is_empty() {
            found.devices = vec!["host:1".into(), "host:2".into()];
        }
    }
    Ok(found)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn double() -> Lambda<()> {
    Lambda::<()>::new("double")
        .reads::<f32>("x")
        .writes::<f32>("y")
        .cuda("y[i] = 2 * x[i] + 1;")
        .host(|a| {
            let (x, y) = (a.reads::<f32>("x"), a.writes::<f32>("y"));
            Box::new(move |i| y.set(i, 2.0 * x.at(i) + 1.0))
        })
}

/// Milliseconds of the slowest replica, medians of some rounds of [`LAUNCHES`].
fn rounds(r: &mut Replica, mut once: impl FnMut(&mut Replica) -> Result<()>) -> Result<f64> {
    once(r)?;
    let mut all = Vec::new();
    for _ in 0..REPEATS {
        r.agree("a round", [0; 4])?;
        let ((), ms) = r.elapsed(|r| (0..LAUNCHES).try_for_each(|_| once(r)))?;
        let slowest = r.agree("a round", [ms.to_bits(), 0, 0, 0])?;
        all.push(slowest.iter().map(|ms| f64::from_bits(ms[0])).fold(0.0, f64::max));
    }
    Ok(median(all) / LAUNCHES as f64)
}

/// Milliseconds of a checked and an unchecked transform, and of a copy of a replica's slice.
fn transform(fleet: &Fleet, n: usize) -> Result<Value> {
    let times = fleet.run(move |r| {
        let x = r.replicated::<f32>("x", n, MergeOp::Gather)?;
        let mut y = r.replicated::<f32>("y", n, MergeOp::Gather)?;
        let (checked, unchecked) = (double(), double().unchecked());
        let mut times = Vec::new();
        for lambda in [&checked, &unchecked] {
            times.push(rounds(r, |r| {
                let args = Args::new().reads("x", &x).writes("y", &mut y);
                r.for_all("double", Over::elements(n), lambda, args)
            })?);
        }
        if r.world() == 1 {
            times.push(rounds(r, |r| r.copy(&x, &mut y))?);
        }
        Ok(times)
    })?;
    let gigabytes = n as f64 * 8.0 / 1e9;
    let rate = |ms: Option<&f64>| ms.map(|ms| gigabytes / (ms / 1e3));
    let [checked, unchecked, copy] = [0, 1, 2].map(|at| times[0].get(at));
    println!(
        "  transform {n} floats: {:.3} ms checked ({:.0} GB/s), {:.3} ms unchecked; copy {}",
        checked.unwrap_or(&0.0),
        rate(checked).unwrap_or(0.0),
        unchecked.unwrap_or(&0.0),
        copy.map_or("-".into(), |ms| format!("{ms:.3} ms")),
    );
    Ok(json!({
        "elements": n, "launches": LAUNCHES, "rounds": REPEATS,
        "checked-ms": checked, "unchecked-ms": unchecked, "copy-ms": copy,
        "checked-gb-per-s": rate(checked), "copy-gb-per-s": rate(copy),
        "of-copy": checked.zip(copy).map(|(ms, copy)| copy / ms),
    }))
}

/// Microseconds of a launch, from its call until the next can be made, and until all have ended.
fn launch(fleet: &Fleet) -> Result<Value> {
    let times = fleet.run(|r| {
        let world = r.world();
        let n = 64 * world;
        let mut x = r.replicated::<u32>("x", n, MergeOp::Gather)?;
        let lambda = Lambda::<()>::new("trivial").writes::<u32>("x").cuda("x[i] = 1;").host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |i| x.set(i, 1))
        });
        let mut once = |r: &mut Replica| {
            r.for_all("trivial", Over::elements(n), &lambda, Args::new().writes("x", &mut x))
        };
        once(r)?;
        let mut all = Vec::new();
        for _ in 0..REPEATS {
            r.agree("a round", [0; 4])?;
            let start = Instant::now();
            r.elapsed(|r| (0..OVERHEAD_LAUNCHES).try_for_each(|_| once(r)))?;
            all.push(start.elapsed().as_secs_f64() * 1e6 / OVERHEAD_LAUNCHES as f64);
        }
        Ok(median(all))
    })?;
    let slowest = times.iter().copied().fold(0.0, f64::max);
    println!("  launch {slowest:.2} us a launch (slowest replica)");
    Ok(json!({ "launches": OVERHEAD_LAUNCHES, "us-a-launch": slowest, "replicas-us": times }))
}

/// Milliseconds of the first launch of a lambda; `salt` makes its text one that was never seen.
fn first_launch(r: &mut Replica, salt: u64) -> Result<f64> {
    let mut sum = r.replicated::<f32>("sum", 1024, MergeOp::Gather)?;
    let text = format!(
        "float total = {salt}u;
         for (u32 k = 0; k < 100; k++) total += sum[(i * k) % 1024] * 0.5f;
         if (total > 3) atomic_min(sum[i], total); else sum[i] = total;"
    );
    let lambda = Lambda::<()>::new("first").writes::<f32>("sum").cuda(&text).host(|a| {
        let sum = a.writes::<f32>("sum");
        Box::new(move |i| sum.set(i, 1.0))
    });
    r.agree("a first launch", [0; 4])?;
    let start = Instant::now();
    r.for_all("first", Over::elements(1024), &lambda, Args::new().writes("sum", &mut sum))?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    r.settle()?;
    Ok(ms)
}

fn compile(fleet: &Fleet) -> Result<Value> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let salt = now.as_nanos() as u64 % 1_000_000_000;
    let times = fleet.run(move |r| {
        let mut all = Vec::new();
        for k in 0..REPEATS as u64 {
            // The second lambda has the first one's text, but is another one.
            all.push([first_launch(r, salt + k)?, first_launch(r, salt + k)?]);
        }
        Ok(all)
    })?;
    let of = |at: usize| median(times.iter().flatten().map(|pair| pair[at]).collect());
    println!("  first launch of a lambda {:.1} ms cold, {:.3} ms cached", of(0), of(1));
    Ok(json!({ "cold-ms": of(0), "cached-ms": of(1), "all": times }))
}

/// The three ways to read, in both languages.
fn access(name: &str) -> Lambda<()> {
    let lambda = Lambda::<()>::new(name).reads::<f32>("x").writes::<f32>("y");
    match name {
        "local" => lambda.cuda("y[i] = x[i] + 1;").host(|a| {
            let (x, y) = (a.reads::<f32>("x"), a.writes::<f32>("y"));
            Box::new(move |i| y.set(i, x.at(i) + 1.0))
        }),
        "neighbor" => lambda
            .cuda("u64 n = x.size(); y[i] = x[i == 0 ? n - 1 : i - 1] + x[i] + x[i + 1 == n ? 0 : i + 1];")
            .host(|a| {
                let (x, y) = (a.reads::<f32>("x"), a.writes::<f32>("y"));
                Box::new(move |i| {
                    let n = x.len();
                    y.set(i, x.at((i + n - 1) % n) + x.at(i) + x.at((i + 1) % n));
                })
            }),
        _ => lambda.cuda("y[i] = x[__umul64hi(mix(i), x.size())];").host(|a| {
            let (x, y) = (a.reads::<f32>("x"), a.writes::<f32>("y"));
            Box::new(move |i| {
                let place = (u128::from(Random::mix(i as u64)) * x.len() as u128) >> 64;
                y.set(i, x.at(place as usize));
            })
        }),
    }
}

const ACCESSES: [&str; 3] = ["local", "neighbor", "random"];
const SCHEMES: [Scheme; 4] = [Scheme::Replicated, Scheme::Peer, Scheme::Managed, Scheme::Vmm];

/// Milliseconds of each access with arrays of `scheme`, and of the merge that it needs.
fn scheme_times(r: &mut Replica, n: usize, scheme: Scheme) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    if scheme == Scheme::Replicated {
        let x = r.replicated::<f32>("x", n, MergeOp::Gather)?;
        let mut y = r.replicated::<f32>("y", n, MergeOp::Gather)?;
        for name in ACCESSES {
            let lambda = access(name);
            times.push(rounds(r, |r| {
                let args = Args::new().reads("x", &x).writes("y", &mut y);
                r.for_all("access", Over::elements(n), &lambda, args)
            })?);
        }
        times.push(if r.world() == 1 { 0.0 } else { rounds(r, |r| r.merge(&mut y))? });
    } else {
        let x = r.shared::<f32>("x", n, scheme)?;
        let mut y = r.shared::<f32>("y", n, scheme)?;
        let own = Over::range(x.own());
        for name in ACCESSES {
            let lambda = access(name);
            times.push(rounds(r, |r| {
                r.for_all("access", own, &lambda, Args::new().reads("x", &x).writes("y", &mut y))
            })?);
        }
        times.push(0.0);
    }
    r.barrier("accesses are done")?;
    Ok(times)
}

fn schemes(fleet: &Fleet, n: usize) -> Result<Value> {
    let mut rows = Vec::new();
    for scheme in SCHEMES {
        let row = match fleet.run(move |r| scheme_times(r, n, scheme)) {
            Ok(times) => {
                let [local, neighbor, random, merge] = [0, 1, 2, 3].map(|at| times[0][at]);
                println!(
                    "  {scheme:<10} {n} floats: local {local:.3} ms, neighbor {neighbor:.3} ms, random {random:.3} \
                     ms, merge {merge:.3} ms"
                );
                json!({ "scheme": scheme, "elements": n, "local-ms": local, "neighbor-ms": neighbor,
                        "random-ms": random, "merge-ms": merge })
            }
            Err(error) => {
                println!("  {scheme}: {error}");
                json!({ "scheme": scheme, "error": error.to_string() })
            }
        };
        rows.push(row);
    }
    Ok(json!(rows))
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let mut rows = Vec::new();
    for devices in &arguments.devices {
        let config = FleetConfig { devices: devices.parse::<Devices>()?, ..FleetConfig::default() };
        let fleet = match Fleet::open(config) {
            Ok(fleet) => fleet,
            Err(error) => {
                println!("{devices}: left out: {error}");
                continue;
            }
        };
        println!("{devices}:");
        let mut row = json!({ "devices": devices, "fleet": fleet.info() });
        if wanted("transform") {
            row["transform"] = transform(&fleet, arguments.elements)?;
        }
        if wanted("launch") {
            row["launch"] = launch(&fleet)?;
        }
        if wanted("schemes") {
            row["schemes"] = schemes(&fleet, arguments.elements / 4)?;
        }
        if wanted("compile") {
            row["compile"] = compile(&fleet)?;
        }
        rows.push(row);
    }
    let record = json!({
        "version": VERSION, "commit": COMMIT, "time": utc(SystemTime::now()).trim_end(),
        "command-line": std::env::args().collect::<Vec<_>>().join(" "), "rows": rows,
    });
    arguments.json.as_ref().map_or(Ok(()), |path| write_json(path, &record))
}
