//! The kernel's arguments and results, field for field as in `kernels/bc.cu`.

use crate::device::MEETING_WORDS;
use crate::layout::memory::CONTROL;
use bytemuck::{Pod, Zeroable};

/// What a launch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Whole = 0,
    Seed = 1,
    Find = 2,
    Pack = 3,
    Commit = 4,
    Back = 5,
    PackBack = 6,
    Settle = 7,
    Ends = 8,
}

// `BcControl`, whose last word is a half, and `BcMeeting`.
const _: () = assert!(3 * 3 + 4 + 32 < CONTROL && MEETING_WORDS + 3 <= CONTROL);

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Status {
    pub found: u64,
    pub levels: u64,
    pub reached: u64,
    pub reached_arcs: u64,
    pub looked: u64,
    pub overflow: u32,
    pub stopped: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Args {
    pub out_offsets: u64,
    pub out_columns: u64,
    pub in_offsets: u64,
    pub in_columns: u64,
    pub out_long: u64,
    pub in_long: u64,
    pub sources: u64,
    pub paths: u64,
    pub sums: u64,
    pub coef: u64,
    pub parts: u64,
    pub seen: u64,
    pub mark: u64,
    pub candidate: u64,
    pub stamp: u64,
    pub lists: u64,
    pub first: u64,
    pub upto: u64,
    pub scores: u64,
    pub entries: u64,
    pub values: u64,
    pub control: u64,
    pub meeting: u64,
    pub status: u64,
    pub abort: u64,
    pub deadline_ns: u64,
    pub in_arcs: u64,
    pub begin: u64,
    pub end: u64,
    pub place: u64,
    pub nodes: u64,
    pub announced: u64,
    pub announced_end: u64,
    pub active: u32,
    pub count: u32,
    pub out_segments: u32,
    pub in_segments: u32,
    pub lo: u32,
    pub hi: u32,
    pub task: u32,
    pub level: u32,
    pub deepest: u32,
    pub endpoints: u32,
    pub stamped: u32,
    pub simple: u32,
}
