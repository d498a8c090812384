//! Two phases on a GPU, through shared memory, and device arrays.

use super::PagerankConfig;
use super::hubs::{STATE_BYTES, room_of_each};
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::pagerank::Turn;
use crate::device::kernels::pagerank_bins::{SCATTER_THREADS, SUM_THREADS, ScatterArgs, SumArgs};
use crate::device::{CudaDevice, Function, Launch, source};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::layout::DeviceGraph;
use crate::layout::bins::{
    BinArcs, BinShape, Bins, GROUP, LARGEST_BIN, QUAD, SLOT_WORDS, SOURCE_WORDS, scratch,
};
use crate::layout::memory::{DeviceArray, total};
use crate::layout::segments::WIDEST_SEGMENT;
use std::ops::Range;

/// Items of phase 1 that a multiprocessor takes, about: each has a segment to load, and the last ones are to end together.
const ITEMS: u32 = 4;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
struct Sizes {
    bins: usize,
    pieces: usize,
    /// Own rows in bins.
    rows: usize,
    groups: usize,
    quads: usize,
    capacity: usize,
}

impl Sizes {
    /// Of so many rows with so many arcs, at most.
    fn most(rows: usize, arcs: usize, width: usize, capacity: usize) -> Sizes {
        let segments = rows.div_ceil(width).max(1);
        let bins = Bins::most(rows, arcs, segments, capacity);
        let pieces = bins * segments;
        Sizes {
            bins,
            pieces,
            rows,
            groups: arcs.div_ceil(GROUP) + pieces.min(arcs),
            quads: arcs / QUAD + rows.min(arcs),
            capacity,
        }
    }
}

device_arrays! {
    /// The arcs of bins, and where their values go.
    struct ArcArrays of Sizes {
        sources: u32 = "sources in groups", |s| SOURCE_WORDS * s.groups;
        targets: u32 = "targets of groups", |s| s.groups;
        slots: u32 = "slots of arcs", |s| SLOT_WORDS * s.quads;
        staged: f32 = "values in bins", |s| s.bins * s.capacity;
        queues: u32 = "queues", |_| 2;
    }
}

/// What [`BinShape`] has and what making it takes.
fn made(sizes: Sizes) -> Vec<DeviceArray> {
    let kept = vec![
        DeviceArray::new::<u64>("bins", sizes.bins + 1),
        DeviceArray::new::<u32>("pieces", sizes.pieces + 1),
        DeviceArray::new::<u32>("lengths of bins", sizes.bins),
        DeviceArray::new::<u32>("starts of rows", sizes.rows + 1),
    ];
    [kept, scratch(sizes.rows, sizes.pieces)].concat()
}

/// The arrays for `arcs` arcs among `active` nodes, at most.
pub(super) fn arrays(active: usize, arcs: usize, config: &PagerankConfig) -> Vec<DeviceArray> {
    let width = config.segment_width.or(WIDEST_SEGMENT) as usize;
    let sizes = Sizes::most(active, arcs, width, LARGEST_BIN);
    [ArcArrays::list(sizes), made(sizes)].concat()
}

/// Bytes that the bins of all rows take, about.
fn bytes(bins: &Bins, arcs: usize) -> u64 {
    let rows = bins.bounds.last().copied().unwrap_or(0) as usize;
    let count = bins.bounds.len() - 1;
    let pieces = count * bins.segments;
    let sizes = Sizes {
        bins: count,
        pieces,
        rows,
        groups: arcs.div_ceil(GROUP) + pieces,
        quads: arcs / QUAD + rows,
        capacity: bins.capacity,
    };
    total(&[ArcArrays::list(sizes), made(sizes)].concat())
}

/// Whether each GPU of `fleet` has room for the bins of all rows, beside the state of `active` nodes.
pub(super) fn fits(fleet: &Fleet, bins: &Bins, arcs: usize, active: usize) -> Result<bool> {
    let needed = bytes(bins, arcs) + STATE_BYTES * active as u64;
    Ok(room_of_each(fleet)?.into_iter().all(|room| room >= needed))
}

/// What the steps need.
pub(super) struct TwoPhases {
    scatter: Function,
    sum: Function,
    /// Blocks that can be resident, and their shared memory.
    blocks: [u32; 2],
    shared_bytes: [u32; 2],
    shape: BinShape,
    arrays: ArcArrays,
    bins: u32,
    segments: u32,
    width: u32,
    capacity: u32,
    active: u32,
}

impl TwoPhases {
    /// For the bins `own`.
    pub fn new(
        device: &mut CudaDevice,
        graph: &DeviceGraph,
        active: usize,
        bins: &Bins,
        own: &Range<usize>,
    ) -> Result<TwoPhases> {
        let mut kernel = |name| device.function(source("pagerank_bins.cu"), &[], name);
        let (scatter, sum) = (kernel("pagerank_scatter")?, kernel("pagerank_sum")?);
        let rows = (graph, graph.in_rows());
        let shape = bins.shape(device, rows, own)?;
        let sizes = Sizes {
            bins: own.len(),
            pieces: own.len() * bins.segments,
            rows: (bins.bounds[own.end] - bins.bounds[own.start]) as usize,
            groups: shape.groups,
            quads: shape.quads,
            capacity: bins.capacity,
        };
        let arrays = ArcArrays::allocate(device, sizes)?;
        let ArcArrays { sources, targets, slots, .. } = &arrays;
        bins.fill(device, rows, own, &shape, BinArcs { sources, targets, slots })?;
        device.wait()?;
        // Behind the values of a bin there is a 0.
        let shared_bytes = [bins.width as u32 * 4, (bins.capacity as u32 + 4) * 4];
        Ok(TwoPhases {
            blocks: [
                device.resident_blocks(scatter, SCATTER_THREADS, shared_bytes[0])?,
                device.resident_blocks(sum, SUM_THREADS, shared_bytes[1])?,
            ],
            scatter,
            sum,
            shared_bytes,
            shape,
            arrays,
            bins: own.len() as u32,
            segments: bins.segments as u32,
            width: bins.width as u32,
            capacity: bins.capacity as u32,
            active: active as u32,
        })
    }

    /// Queues the sums of the own bins' rows, and their ranks; or, where `sum` is an address, f64 sums there.
    pub fn step(&self, device: &CudaDevice, value: u64, turn: Turn, sum: u64) -> Result<()> {
        let Self { shape, arrays, .. } = self;
        let groups = shape.groups as u32;
        let args = ScatterArgs {
            sources: arrays.sources.pointer(),
            targets: arrays.targets.pointer(),
            begins: shape.begins.pointer(),
            value,
            staged: arrays.staged.pointer(),
            queues: arrays.queues.pointer(),
            segments: self.segments,
            bins: self.bins,
            width: self.width,
            filled: self.active.next_multiple_of(4),
            groups,
            item: groups.div_ceil(self.blocks[0] * ITEMS).max(SCATTER_THREADS),
        };
        self.launch(device, 0, self.scatter, SCATTER_THREADS, &args)?;
        let args = SumArgs {
            turn,
            bounds: shape.bounds.pointer(),
            lengths: shape.lengths.pointer(),
            starts: shape.starts.pointer(),
            slots: arrays.slots.pointer(),
            staged: arrays.staged.pointer(),
            queues: arrays.queues.pointer(),
            sum,
            bins: self.bins,
            capacity: self.capacity,
        };
        self.launch(device, 1, self.sum, SUM_THREADS, &args)
    }

    fn launch<A: bytemuck::Pod>(
        &self,
        device: &CudaDevice,
        phase: usize,
        kernel: Function,
        threads: u32,
        args: &A,
    ) -> Result<()> {
        let blocks = device.blocks(self.blocks[phase]);
        let shared_bytes = self.shared_bytes[phase];
        device.launch(kernel, Launch { shared_bytes, ..Launch::of(blocks, threads) }, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::layout::{Columns, Layout};

    #[test]
    fn no_replica_takes_more_than_is_estimated() {
        for spec in ["rmat:10", "rmat:14", "star:5000", "geo:5000", "uniform:3000", "chain:1000"] {
            let graph = generate(spec).unwrap();
            let columns = Columns::new(&graph, Layout::Degree).unwrap();
            let (rows, active) = (columns.in_rows(), columns.active);
            let arcs = rows.arcs() as usize;
            for width in [48_000, 256] {
                let capacity = LARGEST_BIN;
                let bins = Bins::new(rows, width, capacity, 1).unwrap();
                let most = Sizes::most(active, arcs, width, capacity);
                let count = bins.bounds.len() - 1;
                assert!(count <= most.bins, "{spec}: {count} bins of {}", most.bins);
                let taken = bytes(&bins, arcs);
                let estimated = total(&[ArcArrays::list(most), made(most)].concat());
                assert!(taken <= estimated, "{spec}, {width}: {taken} of {estimated}");
            }
        }
    }
}
