//! Counting rows on a GPU: the arguments of `kernels/common.cu`.

use super::measure::Measure;
use super::plan::{Batch, FEW, Keep, Plan};
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::common::{CommonArgs, KEPT, PairArgs, SLOTS, THREADS, WARPS, WEDGES};
use crate::device::{CudaDevice, Function, Launch, source};
use crate::error::Result;
use crate::layout::DeviceGraph;
use crate::layout::memory::{DeviceArray, GraphShape, topology};
use std::ops::Range;

/// What lengths of arrays follow from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    pub active: usize,
    pub weighed: bool,
    /// Rows of a replica.
    pub rows: usize,
    /// Kept pairs of a batch.
    pub places: usize,
    /// Rows of a batch of all pairs.
    pub starts: usize,
    /// Pairs of a batch, where values of pairs are asked for.
    pub pairs: usize,
}

device_arrays! {
    /// The arrays of a replica.
    struct Arrays of Sizes {
        degree: u32 = "neighbours", |s| s.active;
        name: u32 = "places by id", |s| s.active;
        weight: u64 = "weights of nodes", |s| if s.weighed { s.active } else { 0 };
        rows: u32 = "rows", |s| s.rows;
        lengths: u32 = "pairs of rows", |s| s.rows;
        starts: u64 = "places of rows", |s| s.starts;
        others: u32 = "others", |s| s.places;
        values: f64 = "values", |s| s.places.max(s.pairs);
        pairs: [u32; 2] = "pairs", |s| s.pairs;
        next: u64 = "next row", |_| 1;
    }
}

/// Kept pairs of a batch, unless one row may have more.
const PLACES: usize = 1 << 24;
/// Pairs whose values are sought at a time.
pub(super) const PAIRS: usize = 1 << 22;

impl Sizes {
    /// Of so many rows of a graph of so many labels with rows.
    pub fn of_rows(active: usize, measure: Measure, keep: Keep, rows: usize) -> Sizes {
        let (places, starts) = match keep {
            Keep::Best(best) => (best.saturating_mul(rows.min((PLACES / best.max(1)).max(1))), 0),
            Keep::Least(_) => (active.saturating_mul(rows).min(PLACES.max(active)), rows),
        };
        Sizes { active, weighed: measure.weighs(), rows, places, starts, pairs: 0 }
    }

    /// Of so many pairs.
    pub fn of_pairs(active: usize, measure: Measure, pairs: usize) -> Sizes {
        Sizes { active, weighed: measure.weighs(), pairs: pairs.min(PAIRS), ..Sizes::default() }
    }
}

/// All arrays on the GPU of a replica that keeps something of so many rows, or finds the values of pairs.
pub(in crate::algorithm) fn arrays(
    shape: &GraphShape,
    measure: Measure,
    rows: Option<(Keep, usize)>,
) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let sizes = match rows {
        Some((keep, rows)) => Sizes::of_rows(active, measure, keep, rows),
        None => Sizes::of_pairs(active, measure, PAIRS),
    };
    [topology(shape), Arrays::list(sizes)].concat()
}

/// Shared memory of a block that counts tiles: two are to fit a multiprocessor.
const SHARED: u32 = 106 << 10;
/// Shared memory that the compiler takes.
const STATIC: u32 = 1 << 10;

/// What a replica's steps on a GPU need.
pub(super) struct Workspace {
    tiles: (Function, Launch),
    tables: (Function, Launch),
    pairs: (Function, Launch),
    tile: u32,
    arrays: Arrays,
    places: usize,
}

impl Workspace {
    /// With the rows in the order in which they are counted.
    pub fn new(
        device: &mut CudaDevice,
        (graph, plan): (&DeviceGraph, &Plan),
        sizes: Sizes,
        rows: &[u32],
    ) -> Result<Workspace> {
        let weighed = sizes.weighed;
        let mut kernel = |name| device.function(source("common.cu"), &graph.options(), name);
        let [tiles, tables, both] = [
            kernel(if weighed { "common_tiles_weighed" } else { "common_tiles" })?,
            kernel(if weighed { "common_tables_weighed" } else { "common_tables" })?,
            kernel("common_pairs")?,
        ];
        let counter = if weighed { 8 } else { 4 };
        // Segments and the buffer.
        let fixed = THREADS * (8 + 4 + 4) + KEPT * (8 + 4);
        let room = SHARED.min(device.info.shared_bytes).saturating_sub(fixed + STATIC) / counter;
        let tile = (room / THREADS * THREADS).max(THREADS);
        let shape = |function, threads, shared_bytes| -> Result<(Function, Launch)> {
            let blocks = device.resident_blocks(function, threads, shared_bytes)?;
            Ok((function, Launch { shared_bytes, ..Launch::of(blocks, threads) }))
        };
        let of_warp = WEDGES * (8 + 4) + SLOTS * (4 + counter);
        let (tiles, tables, both) = (
            shape(tiles, THREADS, fixed + tile * counter)?,
            shape(tables, 32 * WARPS, WARPS * of_warp)?,
            shape(both, 256, 0)?,
        );
        let arrays = Arrays::allocate(device, sizes)?;
        arrays.degree.upload(&plan.degree)?;
        arrays.name.upload(&plan.name)?;
        if weighed {
            arrays.weight.upload(&plan.weight)?;
        }
        arrays.rows.upload_at(0, rows)?;
        device.wait()?;
        Ok(Workspace { tiles, tables, pairs: both, tile, arrays, places: sizes.places })
    }

    /// Kept pairs that a batch has room for.
    pub fn places(&self) -> u64 {
        self.places as u64
    }

    /// The weights on the device.
    fn weight(&self, plan: &Plan) -> u64 {
        if plan.weight.is_empty() { 0 } else { self.arrays.weight.pointer() }
    }

    /// Queues the counting of some rows, the first of which has so many wedges. With `starts` all pairs of a least value are written,
    /// those of each row from its start on; else they are counted.
    pub fn launch(
        &self,
        device: &CudaDevice,
        (graph, plan): (&DeviceGraph, &Plan),
        (rows, wedges): (Range<usize>, u64),
        (keep, starts): (Keep, Option<&[u64]>),
    ) -> Result<()> {
        let arrays = &self.arrays;
        arrays.next.clear()?;
        if let Some(starts) = starts {
            arrays.starts.upload_at(0, starts)?;
        }
        let (best, least) = match keep {
            Keep::Best(best) => (best as u32, 0.0),
            Keep::Least(least) => (0, least),
        };
        let (out, into) = (&graph.out, graph.in_rows());
        let args = CommonArgs {
            out_offsets: out.offsets.pointer(),
            out_columns: out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            degree: arrays.degree.pointer(),
            name: arrays.name.pointer(),
            weight: self.weight(plan),
            rows: arrays.rows.pointer(),
            next: arrays.next.pointer(),
            lengths: arrays.lengths.pointer(),
            starts: starts.map_or(0, |_| arrays.starts.pointer()),
            others: arrays.others.pointer(),
            values: arrays.values.pointer(),
            least,
            unit: plan.unit,
            first: rows.start as u32,
            last: rows.end as u32,
            active: plan.active() as u32,
            tile: self.tile,
            best,
            measure: plan.measure.code(),
            backward: u32::from(plan.measure.divides()),
            loops: u32::from(plan.loops),
        };
        let (function, shape) = if wedges <= FEW { self.tables } else { self.tiles };
        device.launch(function, Launch { blocks: device.blocks(shape.blocks), ..shape }, &args)
    }

    /// Pairs of each of the first rows of the last batch.
    pub fn counts(&self, rows: usize) -> Result<Vec<u32>> {
        self.arrays.lengths.part(0..rows)
    }

    /// What the last batch of so many rows has kept.
    pub fn batch(&self, rows: usize, keep: Keep) -> Result<Batch> {
        let counts = self.counts(rows)?;
        let pairs: usize = counts.iter().map(|count| *count as usize).sum();
        let all = if let Keep::Best(best) = keep { rows * best } else { pairs };
        let (others, values) = (self.arrays.others.part(0..all)?, self.arrays.values.part(0..all)?);
        let Keep::Best(best) = keep else { return Ok(Batch { counts, others, values }) };
        let mut kept = Batch { counts, ..Batch::default() };
        for (row, count) in kept.counts.iter().enumerate() {
            let own = row * best..row * best + *count as usize;
            kept.others.extend(&others[own.clone()]);
            kept.values.extend(&values[own]);
        }
        Ok(kept)
    }

    /// Queues the values of some pairs.
    pub fn launch_pairs(
        &self,
        device: &CudaDevice,
        (graph, plan): (&DeviceGraph, &Plan),
        pairs: &[[u32; 2]],
    ) -> Result<()> {
        let arrays = &self.arrays;
        arrays.next.clear()?;
        arrays.pairs.upload(pairs)?;
        let args = PairArgs {
            offsets: graph.out.offsets.pointer(),
            columns: graph.out.columns.pointer(),
            degree: arrays.degree.pointer(),
            weight: self.weight(plan),
            pairs: arrays.pairs.pointer(),
            values: arrays.values.pointer(),
            next: arrays.next.pointer(),
            unit: plan.unit,
            count: pairs.len() as u64,
            measure: plan.measure.code(),
            unused: 0,
        };
        let (function, shape) = self.pairs;
        device.launch(function, Launch { blocks: device.blocks(shape.blocks), ..shape }, &args)
    }

    /// What that has found, of so many pairs.
    pub fn values(&self, pairs: usize) -> Result<Vec<f64>> {
        self.arrays.values.part(0..pairs)
    }
}
