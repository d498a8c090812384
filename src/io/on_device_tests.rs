use super::super::edge_list;
use super::super::parsed::{self, Assembled, Nodes, Numbered, Parsed};
use super::super::uplink::Uplink;
use super::*;
use crate::fleet::FleetConfig;
use crate::generate::Kept;
use crate::graph::options::{Duplicates, LoadOptions, SelfLoops};
use crate::graph::{Graph, Origin};
use crate::hash::mix;
use std::time::Instant;

#[test]
fn bits_tell_so_many_apart() {
    assert_eq!([0, 1, 2, 3, 4, 5, 1 << 32].map(bits), [0, 0, 1, 2, 2, 3, 32]);
}

/// Fleets of GPUs that this machine has.
fn fleets(limit: Option<u64>) -> Vec<Fleet> {
    let open = |devices: &&str| {
        let devices = devices.parse().ok()?;
        Fleet::open(FleetConfig { devices, memory_limit: limit, ..FleetConfig::default() }).ok()
    };
    let fleets: Vec<Fleet> = ["cuda:0", "cuda:0x2"].iter().filter_map(open).collect();
    if fleets.is_empty() {
        crate::skips::skipped("no CUDA device, rows built on GPUs were NOT compared");
    }
    fleets
}

/// What a file of any kind holds: few nodes or many, skewed or not, with isolated nodes, self-loops and parallel arcs, with
/// weights of one of six kinds or without.
struct File {
    seed: u64,
    nodes: u64,
    arcs: u64,
    /// 0 to 5; above, there are none.
    weights: u64,
    mirror: bool,
}

impl File {
    fn any(seed: u64) -> File {
        let draw = |i: u64| mix(mix(seed * 977 + 5).wrapping_add(i));
        let nodes = 1 + draw(0) % [3, 40, 1000, 6000][draw(1) as usize % 4];
        let arcs = draw(2) % (1 + [nodes, 8 * nodes, 20_000][draw(3) as usize % 3]);
        File { seed, nodes, arcs, weights: draw(4) % 8, mirror: draw(5) % 3 == 0 }
    }

    fn lists(&self) -> Vec<ArcList> {
        let draw = |i: u64| mix(mix(self.seed * 977 + 5).wrapping_add(i));
        let skewed = draw(6) % 2 == 0;
        // Of some files every arc has its reverse, of the same weight or another.
        let both = draw(7) % 4;
        let node = |i: u64| match skewed {
            true => {
                ((draw(i) % self.nodes) * (draw(i + (1 << 40)) % self.nodes) / self.nodes) as u32
            }
            false => (draw(i) % self.nodes) as u32,
        };
        let weight = |arc: u64| match (self.weights, draw(arc + (1 << 41))) {
            (0, draw) => (draw % 64) as f32,
            (1, _) => 7.0,
            (2, draw) => (draw % 1000) as f32 / 8.0,
            // Of sums the order decides.
            (3, draw) => f32::from_bits((draw % 0x4a00_0000) as u32),
            (4, draw) => (draw % 5) as f32 * 0.1,
            // Sums are beyond what f32 holds.
            (_, draw) => ((1 << 24) - draw % 2) as f32,
        };
        let mut lists = vec![ArcList::default()];
        for arc in 0..self.arcs {
            let list = lists.len() - 1;
            let (u, v) = (node(100 + 2 * arc), node(101 + 2 * arc));
            lists[list].pairs.push((u, v));
            lists[list].weights.push(weight(arc));
            if both < 2 {
                lists[list].pairs.push((v, u));
                lists[list].weights.push(weight(arc + both));
            }
            if draw(arc + (1 << 42)) % 500 == 0 {
                lists.push(ArcList::default());
            }
        }
        if self.weights > 5 {
            lists.iter_mut().for_each(|list| list.weights.clear());
        }
        lists
    }

    fn read(&self, options: &LoadOptions) -> Result<Box<Numbered>> {
        self.read_beside(options, &Uplink::default())
    }

    /// The same, where some lists go up before they are numbered.
    fn read_beside(&self, options: &LoadOptions, uplink: &Uplink) -> Result<Box<Numbered>> {
        let mut lists = self.lists();
        lists.iter_mut().step_by(1 + self.seed as usize % 3).for_each(|list| uplink.send(list));
        let nodes = match self.seed % 3 {
            0 => Nodes::Declared { count: self.nodes, first: 1 },
            1 => Nodes::UpToLargest,
            _ => Nodes::Occurring,
        };
        let arcs = parsed::Arcs::Lists(lists, nodes);
        let parsed = Parsed::new("edge-list", arcs, self.weights <= 5);
        let parsed = Parsed { mirror: self.mirror, ..parsed };
        match parsed::assemble("file", parsed, options, Origin::default(), Instant::now())? {
            Assembled::Arcs(arcs) => Ok(arcs),
            Assembled::Graph(_) => panic!("a list was built at once"),
        }
    }
}

/// Compares a graph whose arcs are on a GPU with the host's.
fn same(what: &str, fleet: &Fleet, made: (Graph, Option<Arc<Kept>>), host: &Graph, release: bool) {
    let (graph, kept) = made;
    let kept = kept.unwrap_or_else(|| panic!("{what}: built on {}", graph.origin.built_on));
    assert_eq!(graph.origin.built_on, "the GPU");
    let facts = |graph: &Graph| {
        let symmetry = (graph.is_symmetric(), graph.is_undirected());
        (symmetry, graph.isolated(), graph.self_loops(), graph.default_source())
    };
    assert_eq!(facts(&graph), facts(host), "{what}: symmetry, isolated nodes, self-loops, source");
    assert!(!graph.is_on_host(), "{what}: the host looked at arcs");
    let origin = |graph: &Graph| {
        let Origin { self_loops, duplicates, weights, policies, .. } = graph.origin.clone();
        (self_loops, duplicates, weights, policies, graph.origin.id_base)
    };
    assert_eq!(origin(&graph), origin(host), "{what}: origin");
    assert_eq!(graph.names(), host.names(), "{what}: names");
    if release {
        kept.release(fleet).unwrap();
        assert!(graph.is_on_host() && kept.rows().is_none(), "{what}: released");
    }
    assert!(graph.offsets() == host.offsets(), "{what}: offsets");
    let first = graph.columns().iter().zip(host.columns()).position(|(a, b)| a != b);
    assert_eq!((first, graph.arcs()), (None, host.arcs()), "{what}: columns");
    let bits = |graph: &Graph| -> Option<Vec<u32>> {
        graph.weights().map(|weights| weights.iter().map(|weight| weight.to_bits()).collect())
    };
    assert!(bits(&graph) == bits(host), "{what}: weights");
}

/// Every choice of policies, with weights drawn.
fn policies(seed: u64) -> Vec<LoadOptions> {
    use Duplicates as D;
    use Symmetrize as S;
    let mut all = Vec::new();
    for duplicates in [D::Keep, D::First, D::Min, D::Sum] {
        for self_loops in [SelfLoops::Keep, SelfLoops::Drop] {
            for symmetrize in [S::Off, S::Keep, S::Min, S::Max, S::Sum] {
                let draw = mix(seed ^ (all.len() as u64) << 32);
                let weights = match draw % 8 {
                    0..4 => Weights::File,
                    4 | 5 => Weights::Rounded,
                    6 => Weights::Unit,
                    7 if draw & 8 == 0 => Weights::Real { low: 0.3, high: 7.1, seed },
                    _ => Weights::Random { low: 3, high: (draw >> 8) as u32 % 90 + 3, seed },
                };
                let options = LoadOptions::default();
                all.push(LoadOptions { duplicates, self_loops, symmetrize, weights, ..options });
            }
        }
    }
    all
}

#[test]
fn rows_built_on_a_gpu_are_those_of_the_host() {
    let (mut built, mut refused, mut ranges) = (0, 0, 0);
    for fleet in fleets(None) {
        for seed in 0..60 {
            let file = File::any(seed);
            for (i, options) in policies(seed).into_iter().enumerate() {
                let what = format!("file {seed} of {} pairs, {}", file.arcs, options.shown());
                let uplink = Uplink::default();
                uplink.open(&fleet).unwrap();
                let Ok(arcs) = file.read_beside(&options, &uplink) else { continue };
                if arcs.needs_host().is_some() {
                    assert_eq!(options.symmetrize, Symmetrize::Keep, "{what}");
                    continue;
                }
                // Rows in one range, in some, and in as many as there are.
                let most_keys = match (seed + i as u64) % 3 {
                    0 => None,
                    1 => Some(1 + file.arcs / 3),
                    _ => Some(if file.nodes < 50 { 1 } else { 1 + file.arcs / 7 }),
                };
                let made = arcs.on(&fleet, uplink.end(), most_keys);
                match (made, file.read(&options).unwrap().on_host()) {
                    (Ok(made), Ok(host)) => {
                        same(&what, &fleet, made, &host, i % 5 == 0);
                        built += 1;
                        ranges += usize::from(most_keys.is_some());
                    }
                    (Err(made), Err(host)) => {
                        assert_eq!(made.to_string(), host.to_string(), "{what}");
                        refused += 1;
                    }
                    (made, host) => panic!("{what}: {:?}, {:?}", made.err(), host.err()),
                }
            }
        }
        assert!(built > 1000 && refused > 10 && ranges > 500, "{built}, {refused}, {ranges}");
    }
}

#[test]
fn rows_of_many_blocks_are_those_of_the_host() {
    for fleet in fleets(None) {
        for (weights, mirror) in [(3, false), (0, true), (2, false), (7, false), (7, true)] {
            let file = File { seed: 1, nodes: 1 << 19, arcs: 3_000_000, weights, mirror };
            for (duplicates, most_keys) in [
                (Duplicates::Keep, None),
                (Duplicates::Keep, Some(1 << 20)),
                (Duplicates::First, Some(1 << 20)),
                (Duplicates::Sum, None),
            ] {
                let options = LoadOptions { duplicates, ..LoadOptions::default() };
                let what = format!("weights {weights}, {}", options.shown());
                let made = file.read(&options).unwrap().on(&fleet, None, most_keys).unwrap();
                let host = file.read(&options).unwrap().on_host().unwrap();
                same(&what, &fleet, made, &host, false);
            }
        }
    }
}

#[test]
fn without_room_on_the_gpu_the_host_builds() {
    for fleet in fleets(Some(RESERVE)) {
        let file = File { seed: 1, nodes: 1000, arcs: 5000, weights: 2, mirror: false };
        let options = LoadOptions::default();
        let (graph, kept) = file.read(&options).unwrap().on(&fleet, None, None).unwrap();
        assert!(kept.is_none() && graph.origin.built_on.contains("no room"));
        let host = file.read(&options).unwrap().on_host().unwrap();
        assert!(graph.columns() == host.columns() && graph.weights() == host.weights());
        assert_eq!(fleet.run(|replica| Ok(replica.rank())).unwrap()[0], 0, "it stays of use");
    }
}

/// Zeroing waits behind what the stream has to do, and other streams do not.
#[test]
fn what_another_stream_puts_into_a_new_array_stays() {
    for fleet in fleets(None).into_iter().take(1) {
        let side = fleet.side().unwrap().unwrap();
        let found = fleet.run(move |r| {
            let device = r.device()?;
            // The driver may wait where it makes memory: that of an array before is there.
            let values = side.copy("values", &[7u64; 64])?;
            let work = device.alloc::<u64>("work", 1 << 27)?;
            drop(device.alloc::<u64>("array", 64)?);
            device.wait()?;
            (0..40).try_for_each(|_| work.clear())?;
            let array = device.alloc::<u64>("array", 64)?;
            device.wait()?;
            values.copy_to(array.pointer(), 0..64)?;
            side.wait()?;
            array.to_vec()
        });
        assert_eq!(found.unwrap()[0], [7; 64]);
    }
}

/// A text of many parts with ids from `first` on and gaps of `step`: what is above the arcs, and what comes last.
fn text(above: &str, [first, step]: [u32; 2], weighted: bool, last: &str) -> String {
    let mut text = above.to_string();
    for arc in 0..400_000u32 {
        let [u, v] = [0, 1].map(|end| first + step * (mix((2 * arc + end).into()) % 50_000) as u32);
        let weight = if weighted { format!(" {}", arc % 97) } else { String::new() };
        text += &format!("{u} {v}{weight}\n");
    }
    text + last
}

#[test]
fn text_that_goes_up_while_it_is_parsed_becomes_the_same_rows() {
    // Whether copies are of use: not where ids of 64 bits or names turn up behind arcs that went up.
    let texts = [
        ("ids from 0", text("", [0, 1], false, ""), true),
        ("ids from 7", text("", [7, 1], true, ""), true),
        ("gaps", text("", [3, 5], true, ""), true),
        ("counts and ids from 1", text("50000 400000\n", [1, 1], false, ""), true),
        ("a first line that is an arc", text("5 2\n", [0, 3], false, ""), true),
        ("an id of 64 bits", text("", [0, 3], true, "5 9999999999 3\n"), false),
        ("a name", text("", [0, 3], false, "5 zoe\n"), false),
    ];
    for fleet in fleets(None) {
        for (what, text, carried) in &texts {
            let read = |uplink: Option<&Uplink>| {
                let options = LoadOptions::default();
                let parsed = edge_list::parse(text.as_bytes(), false, &options, uplink).unwrap();
                let origin = Origin::default();
                match parsed::assemble("file", parsed, &options, origin, Instant::now()).unwrap() {
                    Assembled::Arcs(arcs) => arcs,
                    Assembled::Graph(_) => panic!("a list was built at once"),
                }
            };
            let uplink = Uplink::default();
            uplink.open(&fleet).unwrap();
            let arcs = read(Some(&uplink));
            let copies = uplink.end().unwrap();
            assert_eq!(arcs.copied(&copies), *carried, "{what}");
            let made = arcs.on(&fleet, Some(copies), None).unwrap();
            same(what, &fleet, made, &read(None).on_host().unwrap(), false);
        }
    }
}
