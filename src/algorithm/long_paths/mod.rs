//! Searches of graphs of small degrees and long paths on a GPU, to their end: by tiles, where rows are the same both ways and
//! the graph has parts that lie together, else near-far. Both go by windows of distances; summed weights or levels. Tiles also
//! find sums in f64; what is near-far in f64 (`sssp/double.rs`) is for any graph.

mod near_far;
mod tiled;

use crate::device::CudaDevice;
use crate::device::kernels::hive::ArcForm;
use crate::error::Result;
use crate::layout::memory::DeviceArray;
use crate::layout::tiles::TileRows;
use crate::layout::{DeviceGraph, TileFacts, TopologyRows};
pub(super) use near_far::{NearFar, Places};
pub(super) use tiled::Tiled;

/// What is searched, by device address.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Without weights every arc counts one, and distances are levels.
    pub of: TileRows,
    /// Four out-arcs a node; near-far alone reads them.
    pub records: u64,
    /// Offsets have 64 bits.
    pub wide: bool,
    /// Degrees are small and flat, rows the same both ways, and each GPU has all of them.
    pub tileable: bool,
    /// Sums of weights are in f64; of tiles alone.
    pub double: bool,
}

impl Rows {
    /// Those of a graph without weights; `records` are its first four columns.
    pub fn levels(rows: &TopologyRows, graph: &DeviceGraph, records: u64) -> Rows {
        let columns = &rows.columns;
        let of = TileRows {
            offsets: graph.out.offsets.pointer(),
            arcs: graph.out.columns.pointer(),
            form: ArcForm { bits: 0, bias: 1 },
            packed: true,
            weighted: false,
            nodes: columns.active as u32,
            count: columns.out.arcs(),
        };
        let tileable = columns.flat && columns.into.is_none() && graph.out.columns.is_own();
        Rows { of, records, wide: graph.wide, tileable, double: false }
    }
}

/// Widths of windows, in units of weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Widths {
    pub near_far: f32,
    pub tiles: f32,
}

/// A search from seeds.
#[derive(Clone, Copy, Default)]
pub(super) struct Search {
    /// `[n]` f32 or f64 distances or u32 levels, by label; with tiles 0 where they are not wanted so.
    pub dist: u64,
    /// `[n]` bits: near-far starts from these nodes, and uses it.
    pub pending: u64,
    /// [`crate::layout::memory::CONTROL`] words, zeroed.
    pub control: u64,
    /// What `dist` says of nodes that are not reached; of f64 the upper word.
    pub unreached: u32,
    /// Entries of the trace, or 0.
    pub log: u64,
    /// Width of a window.
    pub width: f32,
}

/// What a search found.
pub(super) struct Searched {
    pub relaxed: u64,
    pub rounds: u64,
    pub windows: u64,
}

/// Seeds, by label.
#[derive(Clone, Copy)]
pub(super) enum Seeds {
    One(u32),
    /// Device address and number.
    Many(u64, u32),
}

/// How such a graph is searched.
pub(super) enum LongPaths {
    Tiled(Box<Tiled>),
    NearFar(NearFar),
}

impl LongPaths {
    /// Makes tiles, or does without.
    pub fn new(device: &mut CudaDevice, rows: &Rows) -> Result<LongPaths> {
        match Tiled::of(device, rows)? {
            Some(tiled) => Ok(LongPaths::Tiled(Box::new(tiled))),
            None => Ok(LongPaths::NearFar(NearFar::new(device, rows)?)),
        }
    }

    /// The tiles, where there are any.
    pub fn tiles(&self) -> Option<TileFacts> {
        match self {
            LongPaths::Tiled(tiled) => Some(tiled.facts()),
            LongPaths::NearFar(_) => None,
        }
    }

    /// The width of its windows.
    pub fn width(&self, widths: Widths) -> f32 {
        match self {
            LongPaths::Tiled(_) => widths.tiles,
            LongPaths::NearFar(_) => widths.near_far,
        }
    }

    /// Queues what comes before a search: the seeds are at distance 0, others not reached.
    pub fn reset(&self, device: &CudaDevice, seeds: Seeds, width: f32) -> Result<()> {
        match self {
            LongPaths::Tiled(tiled) => tiled.reset(device, seeds, width),
            LongPaths::NearFar(_) => Ok(()),
        }
    }

    /// Queues a search to its end.
    pub fn launch(&self, device: &CudaDevice, rows: &Rows, search: &Search) -> Result<()> {
        match self {
            LongPaths::Tiled(tiled) => tiled.launch(device, search),
            LongPaths::NearFar(near_far) => near_far.launch(device, rows, search),
        }
    }

    /// What the last search, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<Searched> {
        match self {
            LongPaths::Tiled(tiled) => tiled.found(device),
            LongPaths::NearFar(near_far) => near_far.found(device),
        }
    }

    /// What it takes on a GPU at least: without tiles, which are made where there is room.
    pub fn least(nodes: usize) -> Vec<DeviceArray> {
        NearFar::list(nodes)
    }
}
