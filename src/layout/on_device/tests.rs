use super::super::{Columns, Layout, Prepared, WeightedLayout};
use super::*;
use crate::fleet::{Fleet, FleetConfig, Placed};
use crate::generate::PassLimits;
use crate::graph::Origin;
use crate::hash::mix;
use crate::layout::memory::{topology, total};
use crate::layout::{Arcs, ColumnRows, DeviceRows, Rows};
use std::collections::VecDeque;
use std::sync::Arc;

#[test]
fn ranges_take_all_rows_once_and_no_more_arcs_than_fit() {
    let offsets = [0, 0, 3, 3, 7, 12, 12, 13];
    let all = |most, rows| ranges(&offsets, 0..7, most, rows);
    assert_eq!(all(7, 9), [0..4, 4..7]);
    assert_eq!(all(5, 9), [0..3, 3..4, 4..6, 6..7]);
    assert_eq!(all(100, 9), vec![0..7; 1]);
    assert_eq!(all(100, 4), [0..4, 4..7]);
    assert_eq!(ranges(&offsets, 2..6, 5, 9), [2..4, 4..6]);
    assert!(ranges(&offsets, 3..3, 5, 9).is_empty());
    assert!(ranges(&[0], 0..0, 5, 9).is_empty());
    assert_eq!([1, 2, 3, 4, 5].map(bits), [1, 1, 2, 2, 3]);
}

/// Fleets of GPUs that this machine has.
fn fleets(limit: Option<u64>) -> Vec<Fleet> {
    let open = |devices: &&str| {
        let devices = devices.parse().ok()?;
        Fleet::open(FleetConfig { devices, memory_limit: limit, ..FleetConfig::default() }).ok()
    };
    let fleets: Vec<Fleet> = ["cuda:0", "cuda:0x3", "cuda:0-1"].iter().filter_map(open).collect();
    if fleets.is_empty() {
        crate::skips::skipped("no CUDA device, layouts made on GPUs were NOT compared");
    }
    fleets
}

/// A graph of any kind: skewed or not, directed or not, with isolated nodes, self loops and parallel arcs, without weights
/// or with weights that are packed or not.
fn any(seed: u64) -> Graph {
    let draw = |i: u64| mix(mix(seed * 977 + 5).wrapping_add(i));
    let nodes = 1 + draw(0) % [3, 40, 1000, 6000][draw(1) as usize % 4];
    let arcs = draw(2) % (1 + [nodes, 8 * nodes, 40_000][draw(3) as usize % 3]);
    let (skewed, mirrored, weights) = (draw(4) % 2 == 0, draw(5) % 3, draw(6) % 5);
    let node = |i: u64| match skewed {
        true => ((draw(i) % nodes) * (draw(i + (1 << 40)) % nodes) / nodes) as u32,
        false => (draw(i) % nodes) as u32,
    };
    let (mut from, mut to, mut weighs) = (vec![], vec![], vec![]);
    for arc in 0..arcs {
        let (u, v) = (node(100 + 2 * arc), node(101 + 2 * arc));
        let weight = match weights {
            0 | 1 => (1 + draw(arc + (1 << 41)) % 64) as f32,
            2 => 7.0,
            3 => (draw(arc + (1 << 41)) % 1000) as f32 / 8.0,
            _ => 1.0,
        };
        let arcs = if mirrored > 0 { vec![(u, v), (v, u)] } else { vec![(u, v)] };
        for (turned, (u, v)) in arcs.into_iter().enumerate() {
            from.push(u);
            to.push(v);
            // Symmetric but for weights.
            weighs.push(if mirrored == 2 { weight + turned as f32 } else { weight });
        }
    }
    let weighs = (weights < 4).then_some(&*weighs);
    Graph::from_arcs(nodes as usize, &from, &to, weighs, Origin::default()).unwrap()
}

fn graphs() -> Vec<(String, Graph)> {
    let specs = [
        "rmat:10",
        "rmat:17",
        "grid:40x50",
        "star:3000",
        "chain:2000",
        "road:11",
        "geo:3000",
        "uniform:2^16",
    ];
    let mut graphs: Vec<(String, Graph)> =
        specs.map(|spec| (spec.to_string(), crate::generate::generate(spec).unwrap())).into();
    graphs.extend((0..200).map(|seed| (format!("random graph {seed}"), any(seed))));
    let data = std::env::var("HIVE_DATA").unwrap_or("../shared/data".into());
    for file in
        ["road/USA-road-d.NY.gr.gz", "social/email-Enron.txt.gz", "social/soc-Slashdot0902.txt.gz"]
    {
        let path = format!("{data}/{file}");
        if std::path::Path::new(&path).exists() {
            graphs.push((path.clone(), crate::io::load(&path).unwrap()));
        }
    }
    graphs
}

fn same_rows(made: &ColumnRows, host: &ColumnRows, what: &str) {
    made.load().unwrap();
    assert_eq!(made.offsets, host.offsets, "{what}: offsets");
    assert!(made.columns() == host.columns(), "{what}: columns");
}

fn same_columns(made: &Columns, host: &Columns, what: &str) {
    let facts = |c: &Columns| (c.nodes, c.active, c.flat, c.name(), c.into.is_some());
    assert_eq!(facts(made), facts(host), "{what}");
    assert!((0..made.nodes as u32).all(|v| made.label(v) == host.label(v)), "{what}: labels");
    assert!((0..made.nodes as u32).all(|v| made.node(v) == host.node(v)), "{what}: nodes");
    same_rows(&made.out, &host.out, what);
    if let Some((made, host)) = made.into.as_ref().zip(host.into.as_ref()) {
        same_rows(made, host, &format!("{what}, backward"));
    }
}

/// Rows of fewer than 2^32 arcs on a device.
fn same_on_device(device: &DeviceRows, host: &ColumnRows, what: &str) {
    let Placed::Own(columns) = &device.columns else { panic!("{what}: sharded") };
    columns.bind().unwrap();
    let offsets: Vec<u32> = host.offsets.iter().map(|offset| *offset as u32).collect();
    assert!(device.offsets.to_vec().unwrap() == offsets, "{what}: offsets on the device");
    assert!(columns.to_vec().unwrap() == host.columns(), "{what}: columns on the device");
}

fn words(rows: &Rows) -> &[u32] {
    match &rows.arcs {
        Arcs::Packed { words, .. } => words,
        Arcs::Pairs(pairs) => bytemuck::cast_slice(pairs),
        Arcs::OnDevices(_) => &[],
    }
}

#[test]
fn layouts_made_on_gpus_are_those_of_the_host() {
    let fleets = fleets(None);
    let graphs = if fleets.is_empty() { vec![] } else { graphs() };
    let (mut packed, mut pairs, mut without_repeats) = (0, 0, 0);
    for ((name, graph), layout, textbook) in graphs.into_iter().flat_map(|graph| {
        let kinds = [Layout::Auto, Layout::Raw, Layout::Degree].map(|layout| (layout, false));
        let kinds = kinds.into_iter().chain([(Layout::Auto, true)]);
        kinds.map(move |(layout, textbook)| (graph.clone(), layout, textbook))
    }) {
        let unseen = graph.clone();
        let graph = Arc::new(graph);
        let host = Columns::new(&graph, layout).unwrap();
        let once = host.without_repeats();
        let kind = PrepareOptions { textbook, ..layout.into() };
        let weighted = WeightedLayout::new(&graph, kind).unwrap();
        let placements = [Placement::Replicated, Placement::Sharded];
        for (fleet, placement) in fleets.iter().flat_map(|fleet| placements.map(|p| (fleet, p))) {
            let world = fleet.world();
            let what = format!("{name}, {layout}, {textbook}, {placement}, {world} replicas");
            let options = PrepareOptions { placement, ..kind };
            // Of a graph that the host has not looked at GPUs say whether arcs have their reverses.
            let graph_there = Arc::new(unseen.clone());
            let prepared = Prepared::new(fleet, graph_there.clone(), options).unwrap();
            let made = prepared.topology(fleet).unwrap();
            assert_eq!(graph_there.known_undirected(), Some(graph.is_undirected()), "{what}");
            assert!(!made.columns.out.is_loaded(), "{what}: not made on the device");
            same_columns(&made.columns, &host, &what);
            let simple = prepared.simple(fleet).unwrap();
            assert_eq!(Arc::ptr_eq(&simple, &made), once.is_none(), "{what}: repeats");
            let what_once = format!("{what}, simple");
            let replicated = placement == Placement::Replicated;
            if once.is_some() && replicated {
                assert!(!simple.columns.out.is_loaded(), "{what_once}: not made on the device");
                without_repeats += 1;
            }
            let host_once = once.as_ref().unwrap_or(&host);
            same_columns(&simple.columns, host_once, &what_once);
            for rank in (0..fleet.world()).filter(|_| replicated) {
                let device = simple.on_device(rank).unwrap();
                same_on_device(&device.out, &host_once.out, &what_once);
                if let Some((device, host)) = device.into.as_ref().zip(host_once.into.as_ref()) {
                    same_on_device(device, host, &what_once);
                }
            }
            let made = prepared.weighted(fleet).unwrap();
            assert_eq!(graph_there.known_symmetric(), Some(graph.is_symmetric()), "{what}");
            let (laid, devices) = (&made.layout, 0..fleet.world());
            let facts = |l: &WeightedLayout| {
                let bits = (l.mean_weight.to_bits(), l.lightest.to_bits());
                let rows = (l.into.is_some(), l.out.arcs.packing());
                (l.nodes, l.active, l.flat, l.has_hubs, l.name, rows, bits)
            };
            assert_eq!(facts(laid), facts(&weighted), "{what}");
            let nodes = 0..laid.nodes as u32;
            assert!(nodes.clone().all(|v| laid.label(v) == weighted.label(v)), "{what}: labels");
            match &laid.out.arcs {
                Arcs::OnDevices(Some(_)) => packed += 1,
                Arcs::OnDevices(None) => pairs += 1,
                _ => panic!("{what}: made on the host"),
            }
            for device in devices.map(|rank| made.on_device(rank).unwrap()) {
                let directions = [
                    (Some(&laid.out), Some(&weighted.out), Some(&device.out)),
                    (laid.into.as_ref(), weighted.into.as_ref(), device.into.as_ref()),
                ];
                for (laid, host, device) in directions {
                    let Some(((laid, host), device)) = laid.zip(host).zip(device) else { continue };
                    assert_eq!(laid.offsets, host.offsets, "{what}: weighted offsets");
                    assert!(
                        device.read_arcs(words(host).len()) == words(host),
                        "{what}: weighted arcs"
                    );
                }
            }
        }
    }
    assert!(fleets.is_empty() || (packed > 300 && pairs > 100), "{packed} packed, {pairs} pairs");
    assert!(fleets.is_empty() || without_repeats > 100, "{without_repeats} without repeats");
}

/// Rows of fewer than 2^32 arcs on a device.
fn same_plain(device: &DeviceRows, host: &Graph, what: &str) {
    let Placed::Own(columns) = &device.columns else { panic!("{what}: sharded") };
    columns.bind().unwrap();
    let offsets: Vec<u32> = host.offsets().iter().map(|offset| *offset as u32).collect();
    assert!(device.offsets.to_vec().unwrap() == offsets, "{what}: offsets");
    assert!(columns.to_vec().unwrap() == host.columns(), "{what}: columns");
    let weights = device.weights.as_ref().map(|weights| match weights {
        Placed::Own(weights) => weights.to_vec().unwrap(),
        Placed::Sharded(_) => panic!("{what}: sharded"),
    });
    let bits = |weights: &[f32]| weights.iter().map(|w| w.to_bits()).collect::<Vec<u32>>();
    assert!(weights.as_deref().map(bits) == host.weights().map(bits), "{what}: weights");
}

#[test]
fn plain_rows_on_gpus_are_those_of_the_host_forward_and_backward() {
    let fleets = fleets(None);
    let graphs = if fleets.is_empty() { vec![] } else { graphs() };
    let host = FleetConfig { devices: "host:1".parse().unwrap(), ..FleetConfig::default() };
    let host = Fleet::open(host).unwrap();
    let mut turned = 0;
    for (name, graph) in graphs {
        let graph = Arc::new(graph);
        let back = graph.transpose();
        let options = PrepareOptions::default();
        let on_host = Prepared::new(&host, graph.clone(), options).unwrap();
        let on_host = on_host.general(&host).unwrap();
        for fleet in &fleets {
            let what = format!("{name}, {} replicas", fleet.world());
            let prepared = Prepared::new(fleet, graph.clone(), options).unwrap();
            let general = prepared.general(fleet).unwrap();
            turned += usize::from(general.report().on_devices);
            for backward in [false, true] {
                let slices = general.hubs(backward).slices();
                assert_eq!(slices, on_host.hubs(backward).slices(), "{what}: slices");
            }
            assert!(general.has_backward(), "{what}");
            for rank in 0..fleet.world() {
                let device = general.on_device(rank).unwrap();
                same_plain(&device.out, &graph, &what);
                assert_eq!(device.into.is_some(), !graph.is_symmetric(), "{what}");
                same_plain(device.in_rows(), &back, &format!("{what}, backward"));
            }
        }
    }
    assert!(fleets.is_empty() || turned > 40, "{turned} turned around on GPUs");
}

#[test]
fn plain_rows_of_a_generated_graph_are_copied_from_gpu_to_gpu() {
    for fleet in &fleets(None) {
        let limits = crate::generate::PassLimits::default();
        let made = crate::generate::on_device_in(fleet, "rmat:14", limits).unwrap();
        let (graph, kept) = made.kept(fleet).unwrap();
        let right = crate::generate::generate("rmat:14").unwrap();
        let prepared = Prepared::new(fleet, Arc::new(graph), PrepareOptions::default()).unwrap();
        let prepared = prepared.with_input(Some(kept));
        let what = format!("{} replicas", fleet.world());
        let plain = prepared.plain(fleet).unwrap();
        assert!(plain.report().on_devices, "{what}");
        let general = prepared.general(fleet).unwrap();
        for rank in 0..fleet.world() {
            let device = plain.on_device(rank).unwrap();
            let Placed::Own(columns) = &device.out.columns else { panic!("{what}: sharded") };
            columns.bind().unwrap();
            assert!(columns.to_vec().unwrap() == right.columns(), "{what}: plain columns");
            assert!(device.out.weights.is_none(), "{what}");
            same_plain(&general.on_device(rank).unwrap().out, &right, &what);
        }
    }
}

#[test]
fn without_room_for_scratch_a_layout_is_made_on_the_host() {
    let graph = Arc::new(crate::generate::generate("rmat:16").unwrap());
    let shape = GraphShape::of_topology(&graph, Layout::Auto);
    let needs = total(&topology(&shape)) + (1 << 20);
    for (spare, on_host) in [(1 << 20, true), (1 << 30, false)] {
        for fleet in fleets(Some(3 * needs + spare)) {
            let options = PrepareOptions::default();
            let prepared = Prepared::new(&fleet, graph.clone(), options).unwrap();
            let made = prepared.topology(&fleet).unwrap();
            assert_eq!(made.columns.out.is_loaded(), on_host, "{spare} for {}", fleet.world());
            same_columns(&made.columns, &Columns::new(&graph, Layout::Auto).unwrap(), "limited");
        }
    }
}

#[test]
fn nodes_are_sorted_in_room_of_their_own_where_memory_is_short() {
    let sizes = Sizes::new([1 << 31, 1 << 36], false, Placement::Sharded, 8);
    let sizes = Sizes { input: 8 << 31, drawn: true, active: 1 << 30, ..sizes };
    let free = |keys: u64| sizes.peak(keys, 1);
    let own = sizes.own;
    assert_eq!(sizes.keys(0, u64::MAX, 1), Some(1 << 31));
    assert_eq!(sizes.keys(0, free(1 << 31), 1), Some(1 << 31));
    assert_eq!(sizes.keys(0, free(1 << 31) - 1, 1), Some(own / 5));
    assert_eq!(sizes.keys(0, free(own / 20), 1), Some(own / 20));
    assert_eq!(sizes.keys(0, free(own / 20) - 1, 1), None);
    // A row is sorted at once.
    assert_eq!(sizes.keys(own / 3, free(own / 3), 1), Some(own / 3));
    assert_eq!(sizes.keys(own / 3, free(own / 3) - 1, 1), None);
    // Where rows are few, sorting nodes takes the most.
    let few = Sizes::new([1 << 31, 1 << 31], false, Placement::Sharded, 8);
    assert!(few.peak(1 << 20, 1) >= few.input + Sorter::bytes(1 << 31));
}

#[test]
fn as_much_memory_as_is_estimated_suffices() {
    let spec = "rmat:22,ef=2";
    for fleet in fleets(Some(4 << 30)) {
        let (drawn, kept) = crate::generate::drawn(&fleet, spec, PassLimits::default()).unwrap();
        let (placement, world) = (Placement::Sharded, fleet.world());
        let shape = GraphShape::of_topology(&drawn, Layout::Auto);
        // The input is there already; arrays are rounded.
        let needs = least_peak(&shape, false, placement, world, ArcsFrom::Draws) - 8 * shape.nodes
            + (24 << 20);
        let rooms = fleet.run(|r| {
            let device = r.device()?;
            Ok(room(&device.context)? / u64::from(device.sharers))
        });
        let rooms = rooms.unwrap();
        let ballast = fleet.run(move |r| {
            let rest = rooms[r.rank()].saturating_sub(needs);
            r.device()?.alloc::<u8>("ballast", rest as usize)
        });
        let ballast = ballast.unwrap();
        assert!(ballast.iter().all(|ballast| ballast.len() > 1 << 30));
        let options = PrepareOptions { placement, ..PrepareOptions::default() };
        let prepared = Prepared::new(&fleet, Arc::new(drawn), options).unwrap();
        let prepared = prepared.with_input(Some(kept));
        let rows = prepared.topology(&fleet).unwrap();
        let what = format!("{spec}, {world} replicas");
        assert!(rows.report.on_devices, "{what}: not made on the device");
        let made = crate::generate::generate(spec).unwrap();
        same_columns(&rows.columns, &Columns::new(&made, Layout::Auto).unwrap(), &what);
    }
}

/// Arcs from `source` to each node, `u32::MAX` where there is no path.
fn levels(graph: &Graph, source: u32) -> Vec<u32> {
    let mut levels = vec![u32::MAX; graph.nodes()];
    levels[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for (v, _) in graph.neighbors(u as usize) {
            if levels[v as usize] == u32::MAX {
                levels[v as usize] = levels[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    levels
}

#[test]
fn a_graph_that_is_drawn_is_laid_out_like_one_that_is_made() {
    for fleet in fleets(None) {
        for spec in [
            "rmat:1",
            "rmat:5",
            "rmat:10,seed=3",
            "rmat:13",
            "rmat:12,ef=200",
            "rmat:16,params=gtgraph",
        ] {
            let limits = PassLimits { keys: Some(50_000), edges: Some(7_000) };
            let (drawn, kept) = crate::generate::drawn(&fleet, spec, limits).unwrap();
            let made = crate::generate::generate(spec).unwrap();
            assert_eq!(drawn.offsets(), made.offsets(), "{spec}");
            assert_eq!(drawn.default_source(), made.default_source(), "{spec}");
            let drawn = Arc::new(drawn);
            for (layout, placement) in [
                (Layout::Auto, Placement::Sharded),
                (Layout::Raw, Placement::Sharded),
                (Layout::Degree, Placement::Replicated),
            ] {
                let what = format!("{spec}, {layout}, {placement}, {} replicas", fleet.world());
                let options = PrepareOptions { layout, placement, ..PrepareOptions::default() };
                let prepared = Prepared::new(&fleet, drawn.clone(), options).unwrap();
                let prepared = prepared.with_input(Some(kept.clone()));
                let rows = prepared.topology(&fleet).unwrap();
                assert!(rows.report.on_devices, "{what}: not made on the device");
                same_columns(&rows.columns, &Columns::new(&made, layout).unwrap(), &what);
                kept.release(&fleet).unwrap();
                assert!(!drawn.is_on_host(), "{what}: the host looked");
            }
            let prepared = Prepared::new(&fleet, drawn.clone(), PrepareOptions::default()).unwrap();
            let prepared = prepared.with_input(Some(kept.clone()));
            let checker = prepared.checker(&fleet).unwrap();
            let source = drawn.default_source();
            let levels = levels(&made, source);
            let found = checker.bfs(&drawn, source, &levels, None).unwrap();
            assert_eq!(found, crate::verify::bfs(&made, source, &levels, None).unwrap(), "{spec}");
            assert!(!drawn.is_on_host(), "{spec}: the host looked");
            let far = (0..levels.len()).max_by_key(|v| levels[*v].wrapping_add(1)).unwrap();
            if levels[far] > 1 {
                let mut wrong = levels.clone();
                wrong[far] -= 1;
                assert!(checker.bfs(&drawn, source, &wrong, None).is_err(), "{spec}");
            }
        }
    }
}
