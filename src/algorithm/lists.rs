//! What kernels that include `kernels/deal.cuh` are given.

use crate::backend::cuda::DeviceBuffer;
use crate::prepare::DeviceTopology;
use bytemuck::{Pod, Zeroable};

/// `kernels/deal.cuh`: Lists.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Lists {
    out_offsets: u64,
    out_columns: u64,
    in_offsets: u64,
    in_columns: u64,
    counts: u64,
    tiles: u64,
    tile_room: u64,
}

impl Lists {
    /// Of a graph, with room for tiles of [`crate::prepare::memory::tiles`], twice, and the address of ListCounts:
    /// 40 bytes, zeroed before each launch.
    pub fn new(graph: &DeviceTopology, tiles: &DeviceBuffer<u64>, counts: u64) -> Lists {
        let (out, into) = (&graph.out, graph.in_rows());
        Lists {
            out_offsets: out.offsets.pointer(),
            out_columns: out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            counts,
            tiles: tiles.pointer(),
            tile_room: tiles.len() as u64 / 2,
        }
    }
}
