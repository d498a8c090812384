//! Lambdas that are written once: what their operations are, the same on the host and on every GPU.

use crate::common::{self, cuda_fleets, open};
use crate::turned;
use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::prelude::*;
use random_lambdas::random_lambdas;

#[path = "../common/trees.rs"]
mod trees;

/// Half way from one number to another.
#[device]
pub fn blend(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return b;
    }
    a + 0.5 * (b - a)
}

/// Bits of both.
#[device]
pub fn spread(a: u32, b: u64) -> u32 {
    let mut x = a as u64 ^ (b >> 7);
    for k in 0_u32..3 {
        x = x * 0x9e37_79b9 + k as u64;
    }
    (x >> 16) as u32
}

/// These fleets of the host, and all that GPUs make.
fn fleets(hosts: &[&str]) -> Vec<String> {
    let cuda = cuda_fleets().into_iter().filter(|(_, kind)| matches!(kind, CollectiveKind::Auto));
    let hosts = hosts.iter().map(|host| host.to_string());
    hosts.chain(cuda.map(|(name, _)| name)).collect()
}

/// Those on which long tests run.
const WANTED: [&str; 4] = ["host:3", "cuda:0", "cuda:0x4", "cuda:0-1"];

random_lambdas!(200, 1);

/// The bits of all outputs of a lambda, `[5][256]`; NaNs, whose bits are not promised, alike.
fn outputs(r: &mut Replica, g: &Resident, lambda: &Lambda) -> Result<Vec<Vec<u64>>> {
    const N: usize = 256;
    let mut random = Random::new(7, 0);
    let mut a32 = r.replicated::<u32>("a32", N, MergeOp::Gather)?;
    let mut a64 = r.replicated::<u64>("a64", N, MergeOp::Gather)?;
    let mut ai = r.replicated::<i32>("ai", N, MergeOp::Gather)?;
    let mut af = r.replicated::<f32>("af", N, MergeOp::Gather)?;
    let mut ad = r.replicated::<f64>("ad", N, MergeOp::Gather)?;
    // Small and large, and a few that are special.
    let whole: Vec<u64> = (0..N).map(|_| random.bits() >> random.below(64)).collect();
    a32.assign(&whole.iter().map(|x| *x as u32).collect::<Vec<_>>())?;
    a64.assign(&whole)?;
    ai.assign(&whole.iter().rev().map(|x| *x as i32).collect::<Vec<_>>())?;
    let special =
        [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0, 1e300, -1e-320, 3e9, -3e9, 1e38];
    let floats: Vec<f64> = (0..N)
        .map(|k| match special.get(k) {
            Some(x) => *x,
            None => (f64::from(random.unit()) - 0.5) * 10f64.powi(random.below(14) as i32 - 4),
        })
        .collect();
    af.assign(&floats.iter().map(|x| *x as f32).collect::<Vec<_>>())?;
    ad.assign(&floats)?;
    let mut s = r.frontier("s", N, MergeOp::Or)?;
    let mut o32 = r.replicated::<u32>("o32", N, MergeOp::Gather)?;
    let mut o64 = r.replicated::<u64>("o64", N, MergeOp::Gather)?;
    let mut oi = r.replicated::<i32>("oi", N, MergeOp::Gather)?;
    let mut of = r.replicated::<f32>("of", N, MergeOp::Gather)?;
    let mut od = r.replicated::<f64>("od", N, MergeOp::Gather)?;
    let args = Args::new().reads("a32", &a32).writes_set("s", &mut s);
    r.for_all("every third", Over::nodes(g).whole(), &every_third(), args)?;
    let args = Args::new().reads("a32", &a32).reads("a64", &a64).reads("ai", &ai);
    let args = args.reads("af", &af).reads("ad", &ad).reads_set("s", &s);
    let args = args.writes("o32", &mut o32).writes("o64", &mut o64).writes("oi", &mut oi);
    let args = args.writes("of", &mut of).writes("od", &mut od);
    let args = args.scalar("p", 3u32).scalar("q", 0.3f32);
    r.for_all("random", Over::nodes(g).whole(), lambda, args)?;
    let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    Ok(vec![
        r.read(&o32)?.into_iter().map(u64::from).collect(),
        r.read(&o64)?,
        r.read(&oi)?.into_iter().map(|x| x as u32 as u64).collect(),
        r.read(&of)?.into_iter().map(|x| bits(x.into())).collect(),
        r.read(&od)?.into_iter().map(bits).collect(),
    ])
}

#[lambda]
fn every_third(v: u32, a32: Reads<u32>, s: Writes<NodeSet>) {
    if a32[v] % 3 == 0 {
        s.insert(v);
    }
}

#[lambda]
fn light_arcs(g: GraphView, v: u32, light: Writes<u32>, most: f32) {
    let mut arcs = 0_u32;
    for e in g.edges(v) {
        if e.weight > most {
            break;
        }
        arcs += 1;
    }
    light[v] = arcs;
}

#[test]
fn rows_by_weight_can_be_left_at_the_first_arc_that_is_too_heavy() {
    for graph in [common::directed(500, 9, 4), common::grid(20, 30, true, 4)] {
        let graph = Arc::new(graph);
        let all = |v| graph.neighbors(v).filter(|(_, weight)| *weight <= 4.0).count() as u32;
        let expected: Vec<u32> = (0..graph.nodes()).map(all).collect();
        assert!(expected.iter().any(|light| *light > 1));
        for devices in fleets(&["host:1", "host:3"]) {
            let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
            for order in [NodeOrder::Loaded, NodeOrder::Degree] {
                let (rows, chosen) = (RowOrder::Weight, ResidentOptions::default());
                let options = ResidentOptions { order, rows, backward: true, ..chosen };
                let g = Resident::new(&fleet, graph.clone(), options).unwrap();
                let sorted = [
                    Prepared::new(&fleet, g.graph().clone(), PrepareOptions::default()).err(),
                    Resident::new(&fleet, g.graph().clone(), ResidentOptions::default()).err(),
                    hivegraph::io::write_graph(g.graph(), "never-written.hive").err(),
                ];
                assert!(sorted.iter().flatten().filter(|e| e.exit_code() == 2).count() == 3);
                let found = fleet.run(move |r| {
                    let mut light = r.node_array::<u32>("light", &g, MergeOp::Gather)?;
                    let args = Args::new().writes("light", &mut light).scalar("most", 4.0f32);
                    r.for_all("light", Over::nodes(&g), &light_arcs(), args)?;
                    r.merge(&mut light)?;
                    g.in_input_order(r.read(&light)?)
                });
                assert!(found.unwrap().iter().all(|found| *found == expected), "{devices}");
            }
        }
    }
}

#[lambda]
fn by_place(g: GraphView, v: u32, off: Writes<u32>) {
    let mut k = 0_u64;
    for e in g.in_edges(v) {
        let same = g.in_edge(v, k);
        if same.node != e.node || same.arc != e.arc || same.weight != e.weight {
            off[v] += 1;
        }
        k += 1;
    }
    if k != g.in_degree(v) {
        off[v] += 1;
    }
}

#[lambda]
fn past_the_row(g: GraphView, v: u32, found: Writes<u32>) {
    found[v] = g.in_edge(v, g.in_degree(v)).node;
}

#[test]
fn arcs_into_a_node_are_found_by_their_places() {
    for graph in [common::directed(500, 9, 4), common::grid(20, 30, true, 4)] {
        let graph = Arc::new(graph);
        for devices in fleets(&["host:1", "host:3"]) {
            let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
            let options = ResidentOptions { backward: true, ..ResidentOptions::default() };
            let g = Arc::new(Resident::new(&fleet, graph.clone(), options).unwrap());
            let own = g.clone();
            let off = fleet.run(move |r| {
                let mut off = r.node_array::<u32>("off", &own, MergeOp::Gather)?;
                let args = Args::new().writes("off", &mut off);
                r.for_all("by place", Over::nodes(&own).whole(), &by_place(), args)?;
                r.read(&off)
            });
            assert!(off.unwrap().concat().iter().all(|off| *off == 0), "{devices:?}");
            let told = fleet.run(move |r| {
                let mut found = r.node_array::<u32>("found", &g, MergeOp::Gather)?;
                let args = Args::new().writes("found", &mut found);
                r.for_all("past the row", Over::nodes(&g).whole(), &past_the_row(), args)?;
                r.read(&found)
            });
            let told = told.unwrap_err().to_string();
            assert!(told.contains("lambda past_the_row") && told.contains("index"), "{told}");
        }
    }
}

#[test]
fn random_lambdas_give_the_same_bits_on_the_host_and_on_gpus() {
    let graph = Arc::new(load("rmat:8").unwrap());
    let on = |devices: &str| {
        let fleet = open(devices, CollectiveKind::Auto, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let all = |r: &mut Replica, g: &Resident| {
            lambdas().iter().map(|lambda| outputs(r, g, lambda)).collect::<Result<Vec<_>>>()
        };
        fleet.run(move |r| all(r, &g)).unwrap().swap_remove(0)
    };
    let host = on("host:1");
    // They do something, and not all the same.
    let distinct: std::collections::HashSet<_> = host.iter().collect();
    assert!(distinct.len() > 150, "{} of 200 differ", distinct.len());
    for devices in fleets(&["host:3"]).iter().filter(|name| WANTED.contains(&name.as_str())) {
        let found = on(devices);
        for (k, (found, expected)) in found.iter().zip(&host).enumerate() {
            assert!(found == expected, "random_{k} on {devices}");
        }
    }
}

#[test]
fn random_lambdas_compile() {
    if !common::has_nvrtc("random lambdas") {
        return;
    }
    for lambda in lambdas().iter().step_by(25) {
        lambda.compile("sm_90").unwrap();
    }
}

/// What operations are: wrapping, saturating, and so on.
#[lambda]
#[allow(clippy::excessive_precision)]
fn operations(i: u64, out: Writes<u64>, zero: u32) {
    let one = zero + 1;
    let low = -2147483647_i32 - one as i32;
    let nan = (zero as f32) / (zero as f32);
    let x: u64 = match i {
        0 => (zero - 1) as u64,
        1 => (low - 1) as u32 as u64,
        2 => (low / -1) as u32 as u64,
        3 => (low % -1) as u32 as u64,
        4 => low.abs() as u32 as u64,
        5 => (one << 33) as u64,
        6 => (low >> 31) as u32 as u64,
        7 => (3e9_f32 * one as f32) as i32 as u64,
        8 => (-3e9_f32 * one as f32) as u64,
        9 => nan as u32 as u64,
        10 => (1e20_f64 * one as f64) as u64,
        11 => (300.0_f32 * one as f32) as u8 as u64,
        12 => nan.max(2.0) as u64,
        13 => 5.0_f32.min(nan) as u64,
        14 => (0xffff_ffff_u32 * (one + one)) as u64,
        15 => zero.leading_zeros() as u64 * 100 + zero.trailing_zeros() as u64,
        16 => limits::FAR + one as u64,
        17 => (-1.5_f32 * one as f32).to_bits() as u64,
        18 => (-1.5_f64 * one as f64).to_bits(),
        _ => 0,
    };
    out[i] = x;
}

mod limits {
    pub const FAR: u64 = 1 << 40;
}

const EXPECTED: [u64; 19] = [
    0xffff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0,
    0x8000_0000,
    2,
    0xffff_ffff,
    i32::MAX as u64,
    0,
    0,
    u64::MAX,
    255,
    2,
    5,
    0xffff_fffe,
    3232,
    (1 << 40) + 1,
    0xbfc0_0000,
    0xbff8_0000_0000_0000,
];

#[test]
fn operations_are_those_that_the_guide_says() {
    for devices in fleets(&["host:1", "host:3"]) {
        let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
        let found = fleet.run(|r| {
            let mut out = r.replicated::<u64>("out", 19, MergeOp::Gather)?;
            let args = Args::new().writes("out", &mut out).scalar("zero", 0u32);
            r.for_all("operations", Over::elements(19), &operations(), args)?;
            r.merge(&mut out)?;
            r.read(&out)
        });
        assert_eq!(found.unwrap().swap_remove(0), EXPECTED, "{devices}");
    }
    if common::has_nvrtc("operations") {
        operations().compile("sm_90").unwrap();
    }
}

/// Not a sum: its name is that of an operation.
#[device]
fn add(a: u32, b: u32) -> u32 {
    a * b
}

/// Names that the text in CUDA C++ could take for others, and ranges to the end of their types.
#[lambda]
fn names(i: u64, out: Writes<u64>, match_: u64, k_: u64) {
    let at: u64 = 3;
    out[i] += at;
    let mut x: u64 = 0;
    for q in 0..=2_u64 {
        for k in 0..2_u64 {
            x += q * 10 + k;
        }
    }
    let x_2: u64 = match_;
    for q in -2..=2_i32 {
        if q == 1 {
            continue;
        }
        x += (q + 2) as u64;
    }
    for q in 18446744073709551614_u64..=u64::MAX {
        x += q & 1;
    }
    {
        let x: u64 = 1;
        out[i] += x + x_2 + k_;
    }
    for _ in 0..3_u32 {
        let product: u32 = add(2_u32, 5_u32);
        x += product as u64;
    }
    out[i] += x;
}

/// The least of floats, NaNs and both zeros among them.
#[lambda]
fn extremes(i: u64, least: Writes<f32>, most: Writes<f32>) {
    let nan = 0.0_f32 / 0.0;
    least.min(
        i,
        if i == 0 {
            -0.0
        } else if i == 1 {
            nan
        } else {
            -2.0
        },
    );
    most.max(
        i,
        if i == 0 {
            -0.0
        } else if i == 1 {
            nan
        } else {
            -2.0
        },
    );
}

#[test]
fn names_and_extremes_are_the_same_everywhere() {
    for devices in fleets(&["host:1"]) {
        let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
        let found = fleet.run(|r| {
            let mut out = r.replicated::<u64>("out", 1, MergeOp::Gather)?;
            let args = Args::new().writes("out", &mut out).scalar("match_", 7u64);
            r.for_all("names", Over::elements(1).whole(), &names(), args.scalar("k_", 9u64))?;
            let mut least = r.replicated::<f32>("least", 4, MergeOp::Min)?;
            let mut most = r.replicated::<f32>("most", 4, MergeOp::Max)?;
            least.assign(&[1.0, 1.0, f32::NAN, -f32::NAN])?;
            most.assign(&[-1.0, 1.0, f32::NAN, -f32::NAN])?;
            let args = Args::new().writes("least", &mut least).writes("most", &mut most);
            r.for_all("extremes", Over::elements(4).whole(), &extremes(), args)?;
            let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            Ok((r.read(&out)?, bits(r.read(&least)?), bits(r.read(&most)?)))
        });
        let low = (-2f32).to_bits();
        let one = 1f32.to_bits();
        let expected = (vec![3 + 17 + 71 + 30], vec![0, one, low, low], vec![0, one, low, low]);
        assert_eq!(found.unwrap().swap_remove(0), expected, "{devices}");
    }
    if common::has_nvrtc("names") {
        names().compile("sm_90").unwrap();
        extremes().compile("sm_90").unwrap();
    }
}

/// Functions that are given arrays, and call each other.
#[test]
fn trees_are_joined_by_functions_of_arrays() {
    let graph = Arc::new(load("rmat:8,ef=1").unwrap());
    let mut expected: Vec<u32> = (0..graph.nodes() as u32).collect();
    for _ in 0..graph.nodes() {
        for u in 0..graph.nodes() {
            for (v, _) in graph.neighbors(u) {
                let least = expected[u].min(expected[v as usize]);
                (expected[u], expected[v as usize]) = (least, least);
            }
        }
    }
    for devices in fleets(&["host:1"]) {
        let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let found = fleet.run(move |r| {
            let mut parent = r.replicated::<u32>("parent", g.graph().nodes(), MergeOp::Min)?;
            let (nodes, arcs) = (Over::nodes(&g).whole(), Over::arcs(&g).whole());
            r.for_all("own", nodes, &trees::own(), Args::new().writes("parent", &mut parent))?;
            r.for_all("hook", arcs, &trees::hook(), Args::new().writes("parent", &mut parent))?;
            r.for_all(
                "flatten",
                nodes,
                &trees::flatten(),
                Args::new().writes("parent", &mut parent),
            )?;
            r.read(&parent)
        });
        assert!(found.unwrap().swap_remove(0) == expected, "{devices}");
    }
    if common::has_nvrtc("functions of arrays") {
        trees::hook().compile("sm_90").unwrap();
        trees::flatten().compile("sm_90").unwrap();
    }
}

/// Each writes where another replica owns, or where its arcs are.
#[lambda]
fn told(u: u32, v: u32, heard: Writes<u32>) {
    heard.max(v, u);
}

#[lambda]
fn pairs(u: u32, v: u32, e: u64, sum: Writes<u32>) {
    sum[e] = u + v;
}

#[test]
fn what_others_own_is_not_gathered() {
    let graph = Arc::new(load("rmat:8").unwrap());
    let (offsets, columns) = (graph.offsets().to_vec(), graph.columns().to_vec());
    let row = |e: u64| offsets.partition_point(|end| *end <= e) as u32 - 1;
    let expected: Vec<u32> = (0..columns.len()).map(|e| row(e as u64) + columns[e]).collect();
    for devices in ["host:1", "host:3"] {
        let fleet = open(devices, CollectiveKind::Auto, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let at = g.clone();
        let error = fleet.run(move |r| {
            let mut heard = r.node_array::<u32>("heard", &at, MergeOp::Gather)?;
            r.for_all("told", Over::arcs(&at), &told(), Args::new().writes("heard", &mut heard))?;
            r.merge(&mut heard)
        });
        let refused = error.unwrap_err().to_string();
        assert!(refused.contains("merge it by Min, Max or Sum"), "{devices}: {refused}");
        let fleet = open(devices, CollectiveKind::Auto, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        // Merged another way it is the same everywhere, and anybody's.
        let at = g.clone();
        let merged = fleet.run(move |r| {
            let mut heard = r.node_array::<u32>("heard", &at, MergeOp::Max)?;
            r.for_all("told", Over::arcs(&at), &told(), Args::new().writes("heard", &mut heard))?;
            r.merge(&mut heard)?;
            r.gather(&mut heard, at.chunks())
        });
        merged.unwrap();
        let found = fleet.run(move |r| {
            let mut sum = r.arc_array::<u32>("sum", &g, MergeOp::Gather)?;
            r.for_all("pairs", Over::arcs(&g), &pairs(), Args::new().writes("sum", &mut sum))?;
            r.merge(&mut sum)?;
            r.read(&sum)
        });
        assert_eq!(found.unwrap().swap_remove(0), expected, "{devices}");
    }
}

#[lambda]
fn weight_of(u: u32, v: u32, w: f32) -> f32 {
    w
}

/// A graph that was placed without its weights has none, on the host as on GPUs.
#[test]
fn weights_that_are_left_out_are_ones() {
    let graph = Arc::new(load("star:100").unwrap());
    for devices in fleets(&["host:2"]) {
        let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
        let options = ResidentOptions { weights: false, ..ResidentOptions::default() };
        let g = Resident::new(&fleet, graph.clone(), options).unwrap();
        let found = fleet.run(move |r| {
            let mut sums = r.node_array::<f32>("sums", &g, MergeOp::Gather)?;
            let (nodes, fold) = (Over::nodes(&g), Fold::to(&mut sums, MergeOp::Sum));
            r.neighbor_reduce("sum", nodes, &weight_of(), Args::new(), fold)?;
            r.merge(&mut sums)?;
            r.read(&sums)
        });
        let found = found.unwrap().swap_remove(0);
        assert!(graph.is_weighted() && found[0] == 100.0 && found[1] == 1.0, "{devices}");
    }
}

const DIVIDES: u32 = line!() + 2;
#[lambda]
fn divides(v: u32, x: Writes<u32>, by: u32) {
    x[v] = 10 / by;
}

const BEYOND: u32 = line!() + 2;
#[lambda]
fn beyond(v: u32, x: Writes<u32>) {
    x[v + 1] = v;
}

/// What fails when it runs names the line of the Rust.
#[test]
fn a_fault_names_the_lambda_and_its_line() {
    let graph = Arc::new(load("star:100").unwrap());
    for devices in fleets(&["host:2"]) {
        for zero in [true, false] {
            let fleet = open(&devices, CollectiveKind::Auto, FleetConfig::default());
            let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
            let n = graph.nodes();
            let told = fleet.run(move |r| {
                let mut x = r.replicated::<u32>("x", n, MergeOp::Gather)?;
                let args = Args::new().writes("x", &mut x);
                match zero {
                    true => r.for_all("a", Over::nodes(&g), &divides(), args.scalar("by", 0u32))?,
                    false => r.for_all("a", Over::nodes(&g), &beyond(), args)?,
                }
                r.read(&x)
            });
            let told = told.unwrap_err().to_string();
            let line = format!("tests/device/lambdas.rs:{}", if zero { DIVIDES } else { BEYOND });
            let what = match zero {
                true => "divided by zero",
                false => "argument x: index 101 is outside the array",
            };
            assert!(told.contains(&line) && told.contains(what), "{devices}: {told}");
        }
    }
}

/// Values of two types at the neighbour, and one at the node.
#[lambda]
fn drawn(u: u32, v: u32, x: Reads<f64>, y: Reads<u32>, own: Reads<u32>) -> u64 {
    (x[v] as u64) * 3 + (y[v] ^ own[u]) as u64
}

#[lambda]
fn least(u: u32, v: u32, y: Reads<u32>, w: f32) -> u32 {
    y[v] + w as u32
}

/// Rows of many slices, on GPUs alone.
#[test]
fn folds_of_large_graphs_are_those_of_the_host() {
    if !common::has_gpu() {
        return;
    }
    let mut random = Random::new(3, 0);
    let n = 300_000u64;
    // Arcs that lead to few nodes, from all.
    let arcs: Vec<(u32, u32, f32)> = (0..9 << 20)
        .map(|_| {
            let (u, v) = (random.below(n), random.below(n) * random.below(n) / n);
            (u as u32, (v * random.below(n) / n) as u32, random.below(50) as f32)
        })
        .collect();
    let directed = Arc::new(common::graph_of(n as usize, &arcs));
    let graphs = [("rmat:19", Arc::new(load("rmat:19").unwrap())), ("directed", directed)];
    let on = |devices: &str, graph: &Arc<Graph>, backward: bool| {
        let fleet = open(devices, CollectiveKind::Auto, FleetConfig::default());
        let options = ResidentOptions { backward: true, ..ResidentOptions::default() };
        let g = Resident::new(&fleet, graph.clone(), options).unwrap();
        let all = fleet.run(move |r| {
            let n = g.graph().nodes();
            let mut x = r.node_array::<f64>("x", &g, MergeOp::Gather)?;
            let mut y = r.node_array::<u32>("y", &g, MergeOp::Gather)?;
            x.assign(&(0..n).map(|v| (v * 7 % 1001) as f64).collect::<Vec<_>>())?;
            y.assign(&(0..n).map(|v| (v * 2_654_435_761 % 65_537) as u32).collect::<Vec<_>>())?;
            let mut own = r.node_array::<u32>("own", &g, MergeOp::Gather)?;
            own.assign(&(0..n as u32).collect::<Vec<_>>())?;
            let mut sums = r.node_array::<u64>("sums", &g, MergeOp::Gather)?;
            let mut mins = r.node_array::<u32>("mins", &g, MergeOp::Gather)?;
            let nodes = Over::nodes(&g);
            let args = Args::new().reads("x", &x).reads("y", &y).reads("own", &own);
            let fold = turned(Fold::to(&mut sums, MergeOp::Sum), backward);
            r.neighbor_reduce("sum", nodes, &drawn(), args, fold)?;
            let args = Args::new().reads("y", &y);
            let fold = turned(Fold::to(&mut mins, MergeOp::Min), backward);
            r.neighbor_reduce("least", nodes, &least(), args, fold)?;
            r.merge(&mut sums)?;
            r.merge(&mut mins)?;
            Ok((r.read(&sums)?, r.read(&mins)?))
        });
        all.unwrap().swap_remove(0)
    };
    for (name, graph) in &graphs {
        for backward in [false, true] {
            let expected = on("host:1", graph, backward);
            for devices in fleets(&[]).iter().filter(|name| WANTED.contains(&name.as_str())) {
                let found = on(devices, graph, backward);
                assert!(found == expected, "{name} on {devices}, backward: {backward}");
            }
        }
    }
}
