//! What kernels that include `kernels/deal.cuh` are given.

use crate::device::{DeviceBuffer, MEETING_WORDS};
use crate::layout::DeviceTopology;
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
    /// Of a graph, with room for tiles of [`crate::layout::memory::tiles`], twice, and the kernel's control, zeroed
    /// before each launch: ListCounts are in it behind Meeting.
    pub fn new(
        graph: &DeviceTopology,
        tiles: &DeviceBuffer<u64>,
        control: &DeviceBuffer<u64>,
    ) -> Lists {
        let (out, into) = (&graph.out, graph.in_rows());
        Lists {
            out_offsets: out.offsets.pointer(),
            out_columns: out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            counts: control.pointer() + (MEETING_WORDS * size_of::<u64>()) as u64,
            tiles: tiles.pointer(),
            tile_room: tiles.len() as u64 / 2,
        }
    }
}
