use super::*;
use crate::fleet::{Fleet, FleetConfig, FleetInfo, Pretend};
use crate::generate::generate;
use crate::layout::{Columns, Layout, PrepareOptions, Prepared};
use std::sync::Arc;

fn bins_of(spec: &str, width: usize, capacity: usize, world: usize) -> (Columns, Bins) {
    let columns = Columns::new(&generate(spec).unwrap(), Layout::Degree).unwrap();
    let bins = Bins::new(columns.in_rows(), width, capacity, world).unwrap();
    (columns, bins)
}

#[test]
fn bins_hold_all_rows_but_long_ones_and_fit() {
    for (spec, width, capacity) in
        [("uniform:5000", 640, 2000), ("rmat:12", 640, 2000), ("star:3000", 64, 1000)]
    {
        for world in [1, 2, 3, 5] {
            let (columns, bins) = bins_of(spec, width, capacity, world);
            let rows = columns.in_rows();
            let active = columns.active;
            let fits = |begin: u64, end: u64| {
                let arcs = rows.offsets[end as usize] - rows.offsets[begin as usize];
                arcs + 7 * arcs.min(bins.segments as u64) <= capacity as u64
            };
            assert!(bins.bounds.windows(2).all(|bin| fits(bin[0], bin[1])), "{spec}");
            let filled = |bin: &[u64]| bin[2] == active as u64 || !fits(bin[0], bin[1] + 1);
            assert!(bins.bounds.windows(3).all(filled), "{spec}: a bin ends early");
            assert_eq!(*bins.bounds.last().unwrap(), active as u64);
            assert!(bins.bounds[0] == 0 || !fits(bins.bounds[0] - 1, bins.bounds[0]), "{spec}");
            let (mut row, mut next) = (0, 0);
            for rank in 0..world {
                let own = bins.split.range(rank);
                let (own_bins, before) = bins.own(own.start as usize..own.end as usize);
                assert_eq!((own.start, own_bins.start), (row, next), "{spec}, {world}");
                let end =
                    if own_bins.is_empty() { before.end as u64 } else { bins.bounds[own_bins.end] };
                assert_eq!(own.end, end, "{spec}, {world}: rows are left out");
                (row, next) = (own.end, own_bins.end);
            }
            assert_eq!((row, next), (active as u64, bins.bounds.len() - 1), "{spec}, {world}");
        }
    }
    assert!(bins_of("star:3000", 64, 1000, 1).1.bounds[0] > 0, "no row is long");
}

/// Each arc of a row has a slot in its bin, and the group that is written there has its source.
#[test]
fn slots_lead_to_the_sources_of_each_row() {
    let Ok(fleet) =
        Fleet::open(FleetConfig { devices: "cuda:0".parse().unwrap(), ..FleetConfig::default() })
    else {
        return crate::skips::skipped("no CUDA device, bins were NOT made");
    };
    for (spec, width, capacity) in [
        ("uniform:5000", 640, 2000),
        ("rmat:12", 640, 2000),
        ("uniform:2^16", 48_000, 28_000),
        ("star:3000", 64, 1000),
    ] {
        let graph = Arc::new(generate(spec).unwrap());
        let prepared = Prepared::new(&fleet, graph, PrepareOptions::default()).unwrap();
        let topology = prepared.topology(&fleet).unwrap();
        let bins = Bins::new(topology.columns.in_rows(), width, capacity, 1).unwrap();
        let (bins, shared) = (Arc::new(bins), topology.clone());
        let of = bins.clone();
        let made = fleet.run(move |r| {
            let graph = shared.on_device(0)?;
            let own = 0..of.bounds.len() - 1;
            let rows = (graph, graph.in_rows());
            let device = r.device_mut()?;
            let shape = of.shape(device, rows, &own)?;
            let sources = device.alloc::<u32>("sources", shape.groups * on_device::SOURCE_WORDS)?;
            let targets = device.alloc::<u32>("targets", shape.groups)?;
            let slots = device.alloc::<u32>("slots", shape.quads * on_device::SLOT_WORDS)?;
            let arcs = BinArcs { sources: &sources, targets: &targets, slots: &slots };
            of.fill(device, rows, &own, &shape, arcs)?;
            device.wait()?;
            let (begins, starts) = (shape.begins.to_vec()?, shape.starts.to_vec()?);
            Ok((begins, starts, sources.to_vec()?, targets.to_vec()?, slots.to_vec()?))
        });
        let (begins, starts, sources, targets, slots) = made.unwrap().pop().unwrap();
        let half = |words: &[u32], i: usize| words[i / 2] >> (16 * (i % 2)) & 0xffff;
        let count = bins.bounds.len() - 1;
        // What each place of all bins is written.
        let mut staged = vec![u32::MAX; count * capacity];
        for segment in 0..bins.segments {
            let groups = begins[segment * count]..begins[(segment + 1) * count];
            for group in groups {
                let to = targets[group as usize] as usize * GROUP;
                for k in 0..GROUP {
                    let local = half(&sources, group as usize * GROUP + k);
                    assert_eq!(staged[to + k], u32::MAX, "{spec}: written twice");
                    staged[to + k] = (segment * width) as u32 + local;
                }
            }
        }
        let rows = topology.columns.in_rows();
        rows.load().unwrap();
        let first = bins.bounds[0] as usize;
        let mut arcs = 0;
        for bin in 0..count {
            for v in bins.bounds[bin] as usize..bins.bounds[bin + 1] as usize {
                let row = rows.row(v);
                let begin = starts[v - first] as usize * QUAD;
                let end = starts[v - first + 1] as usize * QUAD;
                let slot = |i: usize| half(&slots, i) as usize;
                let found: Vec<u32> =
                    (begin..begin + row.len()).map(|i| staged[bin * capacity + slot(i)]).collect();
                assert_eq!(found, row, "{spec}: row {v}");
                assert!((begin + row.len()..end).all(|i| slot(i) == capacity), "{spec}: row {v}");
                arcs += row.len();
            }
        }
        assert!(arcs > 1000, "{spec}: nothing to do");
    }
}

#[test]
fn two_bins_fit_a_multiprocessor_of_every_gpu() {
    for model in Pretend::all() {
        let gpu = model.info();
        let fleet = FleetInfo {
            backend: "cuda".into(),
            world: 1,
            devices: vec![gpu.clone()],
            ..Default::default()
        };
        let capacity = Bins::capacity_on(&fleet);
        let bytes = 2 * (4 * (capacity as u32 + 4) + 1024);
        assert!(bytes <= gpu.multiprocessor_shared_bytes, "{model}: {capacity}");
        assert!(capacity >= 7_000, "{model}: {capacity}");
    }
}
