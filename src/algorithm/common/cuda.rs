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
        lengths: u32 = "pairs of rows", |s| s.rows.max(PARTS);
        starts: u64 = "places of rows", |s| s.starts;
        others: u32 = "others", |s| s.places;
        values: f64 = "values", |s| s.places.max(s.pairs);
        pairs: [u32; 2] = "pairs", |s| s.pairs;
        next: u64 = "next row", |_| 1;
    }
}

/// Kept pairs of a batch, unless one row may have more.
const PLACES: usize = 1 << 24;
/// Parts of a batch of few rows, whose tiles are dealt to several blocks.
const PARTS: usize = 1 << 12;
/// Pairs whose values are sought at a time.
pub(super) const PAIRS: usize = 1 << 22;

impl Sizes {
    /// Of so many rows of a graph of so many labels with rows.
    pub fn of_rows(active: usize, measure: Measure, keep: Keep, rows: usize) -> Sizes {
        let (places, starts) = match keep {
            Keep::Best(best) => {
                let most = (PLACES / best.max(1)).max(1);
                (best.saturating_mul(rows.max(PARTS).min(most)), 0)
            }
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
    /// Parts of each row of the last batch.
    parts: usize,
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
        let places = sizes.places;
        Ok(Workspace { tiles, tables, pairs: both, tile, arrays, places, parts: 1 })
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
        &mut self,
        device: &CudaDevice,
        (graph, plan): (&DeviceGraph, &Plan),
        (rows, wedges): (Range<usize>, u64),
        (keep, starts): (Keep, Option<&[u64]>),
    ) -> Result<()> {
        let few = wedges <= FEW;
        let blocks = self.tiles.1.blocks as usize;
        self.parts = match keep {
            Keep::Best(best) if !few => {
                let tiles = plan.active().div_ceil(self.tile as usize);
                let room = PARTS.min(self.places / best) / rows.len();
                // Tiles of hubs take longer than others.
                tiles.min(4 * blocks / rows.len()).min(room).max(1)
            }
            _ => 1,
        };
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
            parts: self.parts as u32,
            unused: 0,
        };
        let (function, shape) = if few { self.tables } else { self.tiles };
        device.launch(function, Launch { blocks: device.blocks(shape.blocks), ..shape }, &args)
    }

    /// Pairs of each of the first rows of the last batch.
    pub fn counts(&self, rows: usize) -> Result<Vec<u32>> {
        self.arrays.lengths.part(0..rows)
    }

    /// What the last batch of so many rows has kept.
    pub fn batch(&self, plan: &Plan, rows: usize, keep: Keep) -> Result<Batch> {
        let counts = self.counts(rows * self.parts)?;
        let pairs: usize = counts.iter().map(|count| *count as usize).sum();
        let all = if let Keep::Best(best) = keep { counts.len() * best } else { pairs };
        let (others, values) = (self.arrays.others.part(0..all)?, self.arrays.values.part(0..all)?);
        let Keep::Best(best) = keep else { return Ok(Batch { counts, others, values }) };
        Ok(best_of_parts(&plan.name, (&counts, &others, &values), (self.parts, best)))
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

/// The best of each row, from those of its parts, each of which has room for as many.
fn best_of_parts(
    name: &[u32],
    (counts, others, values): (&[u32], &[u32], &[f64]),
    (parts, best): (usize, usize),
) -> Batch {
    let mut kept = Batch::default();
    for (row, counts) in counts.chunks(parts).enumerate() {
        let places = counts.iter().enumerate().flat_map(|(part, count)| {
            let first = (row * parts + part) * best;
            first..first + *count as usize
        });
        let mut places: Vec<usize> = places.collect();
        if parts > 1 {
            places.sort_unstable_by(|a, b| {
                let name = |place: usize| name[others[place] as usize];
                values[*b].total_cmp(&values[*a]).then_with(|| name(*a).cmp(&name(*b)))
            });
            places.truncate(best);
        }
        kept.counts.push(places.len() as u32);
        kept.others.extend(places.iter().map(|place| others[*place]));
        kept.values.extend(places.iter().map(|place| values[*place]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_a_row_are_those_of_its_parts() {
        // Labels in the order of their names: 3, 2, 1, 0.
        let name = [3, 2, 1, 0];
        // Two rows of two parts, of which two pairs each may be kept.
        let others = [1, 2, 0, 3, 2, 9, 9, 9];
        let values = [0.5, 0.25, 0.75, 0.5, 1.0, 9.0, 9.0, 9.0];
        let found = best_of_parts(&name, (&[2, 2, 1, 0], &others, &values), (2, 2));
        assert_eq!((found.counts, found.others), (vec![2, 1], vec![0, 3, 2]));
        assert_eq!(found.values, [0.75, 0.5, 1.0]);
        let found = best_of_parts(&name, (&[2, 1, 0, 0], &others, &values), (1, 2));
        assert_eq!((found.counts, found.others), (vec![2, 1, 0, 0], vec![1, 2, 0]));
    }
}
