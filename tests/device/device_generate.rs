//! R-MAT made on a GPU is R-MAT made on the host, to the bit, however small its passes.

use crate::common;

use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::generate::{PassLimits, generate, on_device, on_device_in};
use hivegraph::graph::Graph;

fn gpu() -> Option<Fleet> {
    let more = FleetConfig { deadline_s: 60.0, ..FleetConfig::default() };
    common::has_gpu().then(|| common::open("cuda:0", CollectiveKind::Auto, more))
}

/// Not `assert_eq!` on whole arrays: a message of megabytes helps nobody.
fn same(what: &str, device: &Graph, host: &Graph) {
    let bits = |graph: &Graph| -> Vec<u32> {
        graph.weights().expect("weights").iter().map(|weight| weight.to_bits()).collect()
    };
    assert_eq!(device.nodes(), host.nodes(), "{what}: nodes");
    assert_eq!(device.arcs(), host.arcs(), "{what}: arcs");
    let first = device.offsets().iter().zip(host.offsets()).position(|(a, b)| a != b);
    assert_eq!(first, None, "{what}: offsets differ there");
    let first = device.columns().iter().zip(host.columns()).position(|(a, b)| a != b);
    assert_eq!(first, None, "{what}: columns differ there");
    let first = bits(device).iter().zip(bits(host)).position(|(a, b)| *a != b);
    assert_eq!(first, None, "{what}: weights differ there");
}

fn compare(fleet: &Fleet, spec: &str, limits: PassLimits) -> usize {
    let what = format!("{spec} {limits:?}");
    let made = on_device_in(fleet, spec, limits).unwrap_or_else(|e| panic!("{what}: {e}"));
    let (nodes, arcs, report) = (made.nodes(), made.arcs(), *made.report());
    let (device, host) = (made.download(fleet).unwrap(), generate(spec).unwrap());
    assert_eq!((nodes, arcs), (host.nodes() as u64, host.arcs()), "{what}");
    assert_eq!(report.max_degree, host.max_degree(), "{what}: largest degree");
    assert_eq!(device.origin.graph_file, host.origin.graph_file);
    same(&what, &device, &host);
    report.passes
}

#[test]
fn every_scale_up_to_20_equals_the_host_to_the_bit() {
    let Some(fleet) = gpu() else { return };
    for scale in 1..=20 {
        compare(&fleet, &format!("rmat:{scale}"), PassLimits::default());
    }
}

#[test]
fn other_edge_factors_and_seeds_equal_the_host_to_the_bit() {
    let Some(fleet) = gpu() else { return };
    let specs = [
        "rmat:1,ef=1",
        "rmat:1,ef=1024,seed=3",
        "rmat:3,ef=1,seed=18446744073709551615",
        "rmat:7,ef=1024,seed=2",
        "rmat:12,ef=3,seed=0",
        "rmat:13,ef=100,seed=77",
        "rmat:16,ef=1,seed=5",
        "rmat:18,ef=40,seed=6",
    ];
    for spec in specs {
        compare(&fleet, spec, PassLimits::default());
    }
}

#[test]
fn small_passes_and_launches_make_the_same_graph() {
    let Some(fleet) = gpu() else { return };
    for spec in ["rmat:1,ef=64", "rmat:5", "rmat:9,ef=5", "rmat:12", "rmat:14,seed=4"] {
        for (keys, edges) in [(1, 100_000), (100, 1000), (4096, 65_537), (4097, 1 << 20)] {
            let limits = PassLimits { keys: Some(keys), edges: Some(edges) };
            // A pass a row takes as many launches: only where there are few rows.
            if keys < 4096 && spec.len() > "rmat:9,ef=5".len() {
                continue;
            }
            let passes = compare(&fleet, spec, limits);
            assert!(passes > 1 || keys > 1, "{spec} was to take more than one pass");
        }
    }
    for keys in [1 << 20, 3 << 20] {
        let limits = PassLimits { keys: Some(keys), edges: Some(1 << 21) };
        assert!(compare(&fleet, "rmat:19,seed=8", limits) > 4);
    }
}

#[test]
fn a_fleet_makes_one_graph_after_another() {
    let Some(fleet) = gpu() else { return };
    let (first, other) = (on_device(&fleet, "rmat:15"), on_device(&fleet, "rmat:16"));
    let again = on_device(&fleet, "rmat:15").unwrap().download(&fleet).unwrap();
    same("again", &again, &first.unwrap().download(&fleet).unwrap());
    let (kept, _) = other.unwrap().kept(&fleet).unwrap();
    drop(fleet);
    same("after its fleet", &kept, &generate("rmat:16").unwrap());
}

#[test]
fn arcs_that_stay_on_the_gpu_are_there_when_the_host_looks() {
    let Some(fleet) = gpu() else { return };
    for spec in ["rmat:1", "rmat:4,ef=1", "rmat:11,ef=2", "rmat:14", "rmat:15,seed=9"] {
        for released in [false, true] {
            let made = on_device_in(&fleet, spec, PassLimits::default()).unwrap();
            let (graph, kept) = made.kept(&fleet).unwrap();
            if released {
                kept.release(&fleet).unwrap();
            }
            let host = generate(spec).unwrap();
            assert_eq!(graph.default_source(), host.default_source(), "{spec}");
            same(&format!("{spec}, released {released}"), &graph, &host);
        }
    }
}

#[test]
fn the_first_replica_of_several_makes_the_graph() {
    if !common::has_gpu() {
        return;
    }
    let fleet = common::open("cuda:0x2", CollectiveKind::Peer, FleetConfig::default());
    compare(&fleet, "rmat:14", PassLimits::default());
}

#[test]
fn what_does_not_fit_on_the_device_is_refused_before_anything_is_drawn() {
    let Some(fleet) = gpu() else { return };
    let error = on_device(&fleet, "rmat:31,ef=1024").err().expect("refused").to_string();
    assert!(error.contains("device memory") && error.contains("smaller"), "{error}");
}

#[test]
fn a_fleet_of_the_host_is_refused_and_stays_of_use() {
    let fleet = common::open("host:1", CollectiveKind::Auto, FleetConfig::default());
    for (spec, part) in [("rmat:8", "cuda:0"), ("grid:3x3", "only rmat"), ("rmat:99", "write")] {
        let error = on_device(&fleet, spec).err().expect("refused").to_string();
        assert!(error.contains(part), "{spec}: {error}");
    }
    assert_eq!(fleet.run(|replica| Ok(replica.rank())).unwrap(), [0]);
}
