//! In-rows cut by segments of sources, so that a block of GPU threads can hold a segment's values in shared memory while
//! it goes over the arcs that come from there.
//!
//! **Near and far arcs.** Labels fall by degree where degrees are skewed: the first segments hold the hubs, from which most
//! arcs come. Arcs that come from a segment are *near*, and 16 bits wide; all others are *far*. How many segments there
//! are is what the estimated savings pay for.
//!
//! **Order of additions.** Rows are cut into *row blocks* of about equal cost. The arcs of a row block that come from one
//! segment lie in *chunks*, which make up *groups*. A replica has whole row blocks, and *teams* of multiprocessors have
//! whole segments and a sum of each row. So the order in which the arcs of a row are added up follows from the graph and
//! the width of segments alone, whichever replica has the row.
//!
//! **Owners.** Where replicas can write into each other's arrays, row blocks are dealt in turn, so that all replicas have
//! about as many rows of each length. Elsewhere each has one piece of about equal cost; the last of four pieces of a
//! skewed graph then has most of the rows.

mod cut;
mod on_device;
#[cfg(test)]
mod rows;
mod teams;
#[cfg(test)]
mod tests;

pub(crate) use cut::{
    MOST_SEGMENTS, Part, RowBlocks, SegmentOptions, Segments, WIDEST_SEGMENT, far_ps, most_blocks,
    segment_words,
};
pub(crate) use on_device::{DeviceRuns, RunShape, SegmentShape, scratch};
pub(crate) use teams::{MOST_TEAMS, TEAMS, Teams};

use crate::device::kernels::chunks;

/// Consecutive arcs that one thread of a warp adds up.
pub(crate) const LANE: usize = chunks::LANE as usize;
/// Arcs of a chunk: a warp adds them up at once.
pub(crate) const CHUNK: usize = chunks::CHUNK as usize;
