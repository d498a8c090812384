//! Counting triangles on a GPU: the arguments of `kernels/triangles.cu`.

use super::State;
use crate::algorithm::arrays::device_arrays;
use crate::collective::{Shares, Split};
use crate::device::kernels::triangles::{CostArgs, THREADS, TriangleArgs};
use crate::device::{CudaDevice, Function, Launch, room, source};
use crate::error::Result;
use crate::fleet::{Backend, Fleet};
use crate::layout::memory::{DeviceArray, GraphShape, topology};
use crate::layout::{DeviceGraph, TopologyRows, prefix_sums};
use bytemuck::Zeroable;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Device memory that costs of nodes leave alone.
const ROOM: u64 = 64 << 20;

/// What a replica's steps on a GPU need beside the replicated state.
pub(super) struct Workspace {
    run: Function,
    blocks: u32,
    arrays: Arrays,
    active: u32,
}

device_arrays! {
    /// What counting needs beside rows and counts, for so many nodes.
    struct Arrays of usize {
        below: u32 = "arcs to smaller labels", |active| *active;
        next: u64 = "next arcs", |_| 1;
    }
}

/// All arrays on the GPU of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    [topology(shape), State::list(active, world), Arrays::list(active)].concat()
}

/// Estimated: what a GPU goes through in a microsecond, and the microseconds that a sum of counts takes at all and for each, over
/// NVLink and elsewhere.
const COST_RATE: f64 = 30e3;
const FAST_SUM: [f64; 2] = [40.0, 24e-6];
const SLOW_SUM: [f64; 2] = [400.0, 1.6e-3];

/// Whether GPUs gain by dividing so much work, and adding up the counts of so many nodes.
pub(super) fn dividing_pays(cost: u64, active: usize, world: usize, slow_links: bool) -> bool {
    let [all, each] = if slow_links { SLOW_SUM } else { FAST_SUM };
    let saved = cost as f64 / COST_RATE * (1.0 - 1.0 / world as f64);
    saved > all + active as f64 * each
}

/// Chunks of about equal work, from the costs of nodes that the first GPU adds up, and all of that; `None` on the host, or where
/// it has no room.
pub(super) fn equal_costs(
    fleet: &Fleet,
    rows: &Arc<TopologyRows>,
    align: u32,
) -> Result<Option<(Split, u64)>> {
    let shared = rows.clone();
    let shares = fleet.info().shares.clone();
    let cuts = fleet.run(move |r| match (r.leads(), r.rank(), &mut r.backend) {
        (true, rank, Backend::Cuda(device)) => cut(device, (&shared, rank), &shares, align),
        _ => Ok(None),
    })?;
    Ok(cuts.into_iter().flatten().next())
}

fn cut(
    device: &mut CudaDevice,
    (rows, rank): (&TopologyRows, usize),
    shares: &Shares,
    align: u32,
) -> Result<Option<(Split, u64)>> {
    let (graph, active) = (rows.on_device(rank)?, rows.columns.active);
    // Parts of rows, costs, and their sums.
    if 24 * active as u64 + ROOM > room(&device.context)? {
        return Ok(None);
    }
    let mut kernel = |name| device.function(source("triangles.cu"), &graph.options(), name);
    let (below, costs) = (kernel("triangles_below")?, kernel("triangles_costs")?);
    let parts = device.alloc::<u32>("arcs to smaller labels", active)?;
    let cost = device.alloc::<u64>("costs of nodes", active)?;
    let args = TriangleArgs {
        offsets: graph.out.offsets.pointer(),
        columns: graph.out.columns.pointer(),
        below: parts.pointer(),
        active: active as u32,
        ..TriangleArgs::zeroed()
    };
    device.launch(below, Launch::of(active.div_ceil(256).clamp(1, 1 << 14) as u32, 256), &args)?;
    let args = CostArgs {
        offsets: args.offsets,
        columns: args.columns,
        below: args.below,
        cost: cost.pointer(),
        active: args.active,
        unused: 0,
    };
    device.launch(costs, Launch::of(active.div_ceil(8).clamp(1, 1 << 14) as u32, 256), &args)?;
    let before = prefix_sums(device, &cost)?;
    // A search for a bound reads some thirty of them.
    let failed = Cell::new(None);
    let read = |v: u64| {
        before.element(v as usize).unwrap_or_else(|error| {
            failed.set(Some(error));
            0
        })
    };
    let total = read(active as u64);
    let split = Split::by_weight(active as u64, shares, align, total, read);
    failed.into_inner().map_or(Ok(Some((split, total))), Err)
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, rows: &TopologyRows, rank: usize) -> Result<Workspace> {
        let graph = rows.on_device(rank)?;
        let mut kernel = |name| device.function(source("triangles.cu"), &graph.options(), name);
        let (run, below) = (kernel("triangles_count")?, kernel("triangles_below")?);
        let active = rows.columns.active;
        let workspace = Workspace {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            arrays: Arrays::allocate(device, active)?,
            active: active as u32,
        };
        let blocks = active.div_ceil(256).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, 256);
        device.launch(below, shape, &workspace.args(graph, 0, 0..0))?;
        device.wait()?;
        Ok(workspace)
    }

    fn args(&self, graph: &DeviceGraph, count: u64, arcs: Range<u64>) -> TriangleArgs {
        TriangleArgs {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            below: self.arrays.below.pointer(),
            count,
            next: self.arrays.next.pointer(),
            first: arcs.start,
            last: arcs.end,
            active: self.active,
            unused: 0,
        }
    }

    /// Queues counting over these arcs.
    pub fn launch(
        &self,
        device: &CudaDevice,
        graph: &DeviceGraph,
        state: &State,
        arcs: Range<u64>,
    ) -> Result<()> {
        let count = state.count.on_device()?;
        self.arrays.next.clear()?;
        let shape = Launch::of(device.blocks(self.blocks), THREADS);
        device.launch(self.run, shape, &self.args(graph, count, arcs))
    }
}

#[cfg(test)]
mod tests {
    use super::super::host;
    use super::*;
    use crate::fleet::FleetConfig;
    use crate::layout::{PrepareOptions, Prepared};

    #[test]
    fn little_work_is_not_divided() {
        for (spec, wanted) in [
            ("chain:2^16", false),
            ("star:2^18", false),
            ("road:18", false),
            ("rmat:12", false),
            ("rmat:16,ef=64", true),
            ("geo:2^18", true),
            ("grid:2048x2048", true),
        ] {
            let graph = crate::generate::generate(spec).unwrap();
            let columns = crate::layout::Columns::new(&graph, crate::layout::Layout::Auto).unwrap();
            let (_, cost) = host::equal_costs(&columns.out, &Shares::equal(2), 64);
            assert_eq!(dividing_pays(cost, columns.active, 2, false), wanted, "{spec}: {cost}");
            assert!(!dividing_pays(cost, columns.active, 2, true) || wanted, "{spec}: {cost}");
        }
    }

    #[test]
    fn a_gpu_cuts_as_the_host() {
        let mut fleets = 0;
        for devices in ["cuda:0x3", "cuda:0-1"] {
            let config =
                FleetConfig { devices: devices.parse().unwrap(), ..FleetConfig::default() };
            let Ok(fleet) = Fleet::open(config) else { continue };
            fleets += 1;
            for spec in ["rmat:14", "grid:70x90", "star:3000", "geo:3000", "uniform:2^14"] {
                let graph = Arc::new(crate::generate::generate(spec).unwrap());
                let prepared = Prepared::new(&fleet, graph, PrepareOptions::default()).unwrap();
                let rows = prepared.topology(&fleet).unwrap();
                let (cut, cost) = equal_costs(&fleet, &rows, 64).unwrap().expect("there is room");
                rows.columns.out.load().unwrap();
                let (right, sum) = host::equal_costs(&rows.columns.out, &fleet.info().shares, 64);
                assert_eq!(cut.bounds(), right.bounds(), "{spec} on {devices}");
                assert_eq!(cost, sum, "{spec} on {devices}");
            }
        }
        if fleets == 0 {
            crate::skips::skipped("no CUDA device, chunks of triangles were NOT compared");
        }
    }
}
