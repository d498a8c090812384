//! Tiles: a graph of small degrees and long paths, cut into parts of up to [`TILE_NODES`] nodes that lie together. A search
//! works on a part in a multiprocessor's shared memory, where a step along a path is fast. `kernels/tiles/tiles.cu` says how
//! parts are found.
//!
//! Whether a graph has such parts is not known before they are made: a random graph of small degrees has none, and then most
//! arcs lead from tile to tile. [`Tiles::pay`] decides.

mod on_device;

pub(crate) use on_device::{TileRows, arrays};

use crate::device::DeviceBuffer;
use crate::device::kernels::tile::{TILE_NODES, Tile};
use crate::device::kernels::tile_search::TILE_SHARED_DOUBLE;
use crate::units::plural;
use std::fmt;

/// The tiles of a graph whose rows are the same both ways, on one device.
pub(crate) struct Tiles {
    /// `[tiles]`
    pub tiles: DeviceBuffer<Tile>,
    /// `[n, 4]` slots of the first neighbours of each slot; the slot itself where it has fewer.
    pub heads: DeviceBuffer<u32>,
    /// `[n, 4]` weights of these arcs; empty where they are not wanted.
    pub weights: DeviceBuffer<f32>,
    /// `[n + 1]` where the other arcs of each slot begin.
    pub rests: DeviceBuffer<u32>,
    /// `[rests[n]]` slots of the other neighbours.
    pub rest: DeviceBuffer<u32>,
    /// `[rests[n]]` weights of these arcs; empty where they are not wanted.
    pub rest_weights: DeviceBuffer<f32>,
    /// `[n]` slot of each node.
    pub slot_of: DeviceBuffer<u32>,
    /// `[n]` tile of each slot.
    pub tile_of: DeviceBuffer<u32>,
    /// The most arcs beyond the first four that a tile has.
    pub longest: u32,
    pub facts: TileFacts,
}

/// What is said of tiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileFacts {
    /// How many there are.
    pub tiles: u64,
    /// The part of all arcs that lead from one to another.
    pub crossing: f64,
}

impl fmt::Display for TileFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tiles, crossing) = (plural(self.tiles, "tile"), 100.0 * self.crossing);
        write!(f, "{tiles} of up to {TILE_NODES} nodes, {crossing:.1} % of arcs between them")
    }
}

/// Arcs beyond the first four of all nodes of a tile, at most: 64 KiB of shared memory, so that several blocks have room.
const MOST_REST: u32 = 8 << 10;
/// Bytes of shared memory that such an arc takes, at most.
const REST_BYTES: u32 = 8;
/// Tiles do not pay where more than this part of all arcs lead from one to another.
const MOST_CROSSING: f64 = 0.25;
/// A cell of fewer nodes shares a tile with others.
const SMALL: u32 = TILE_NODES / 4;

impl Tiles {
    /// Whether searches are expected to be faster with these tiles than without, on a GPU whose blocks have so much shared memory.
    fn pay(facts: &TileFacts, longest: u32, shared_bytes: u32) -> bool {
        let room = shared_bytes.saturating_sub(TILE_SHARED_DOUBLE) / REST_BYTES;
        facts.crossing <= MOST_CROSSING && longest <= room.min(MOST_REST)
    }
}

/// Tiles of cells of these sizes: the tile of each cell, and where tiles begin, with the end of the last.
fn pack(sizes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut held, mut open): (Vec<u32>, Option<u32>) = (Vec::new(), None);
    let mut tile_of = Vec::with_capacity(sizes.len());
    for size in sizes {
        let shared = open.filter(|tile| *size < SMALL && held[*tile as usize] + size <= TILE_NODES);
        let tile = shared.unwrap_or(held.len() as u32);
        if shared.is_none() {
            held.push(0);
            open = if *size < SMALL { Some(tile) } else { open };
        }
        held[tile as usize] += size;
        tile_of.push(tile);
    }
    let mut bounds = vec![0];
    bounds.extend(held.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    }));
    (tile_of, bounds)
}

/// Tiles that so many nodes make, at most: of two tiles with small cells that follow each other one is half full at least.
pub(crate) fn most(nodes: usize) -> usize {
    nodes.div_ceil(SMALL as usize) + 2
}

#[cfg(test)]
mod tests;
