//! What kernels that include `kernels/deal.cuh` are given.

pub(super) use crate::device::kernels::deal::Lists;
use crate::device::{DeviceBuffer, MEETING_WORDS};
use crate::layout::DeviceGraph;
use crate::layout::memory::CONTROL;

impl Lists {
    /// Refuses a control of a type that is too large or does not have its counts, at `counts`, where they are sought.
    pub(super) const fn check<C>(counts: usize) {
        assert!(size_of::<C>() <= CONTROL * size_of::<u64>());
        assert!(counts == MEETING_WORDS * size_of::<u64>());
    }

    /// Of a graph, with room for tiles of [`crate::layout::memory::tiles`], twice, and the kernel's control, zeroed
    /// before each launch: ListCounts are in it behind Meeting.
    pub(super) fn new(
        graph: &DeviceGraph,
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
