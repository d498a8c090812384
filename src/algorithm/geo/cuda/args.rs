//! The kernels' arguments and results, field for field as in `kernels/geo.cu`.

use crate::collective::MAX_REPLICAS;
use bytemuck::{Pod, Zeroable};

/// Classes of the queue.
pub(super) const CLASSES: usize = 10;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct GraphArgs {
    pub offsets: u64,
    pub columns: u64,
    pub located: u64,
    pub wave: u64,
    pub count: u64,
    pub position: u64,
    pub longs: u64,
    pub kept_at: u64,
    pub kept: u64,
    pub queue: u64,
    pub found: u64,
    pub control: u64,
    pub nodes: u32,
    pub long_rows: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct ResetArgs {
    pub graph: GraphArgs,
    pub given: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct QueueArgs {
    pub graph: GraphArgs,
    pub tally: u64,
    pub totals: u64,
    pub blocks: u32,
    pub unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Totals {
    pub start: [u32; CLASSES + 1],
    pub unused: u32,
    pub arcs: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct SolveArgs {
    pub graph: GraphArgs,
    pub tolerance: f64,
    pub passes: u32,
    pub start: u32,
    pub items: u32,
    pub unit: u32,
    pub world: u32,
    pub rank: u32,
    pub found: u32,
    pub room: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Status {
    pub passes: u64,
    pub arcs: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct SettleArgs {
    pub graph: GraphArgs,
    pub status: u64,
    pub start: [u32; CLASSES + 1],
    pub unit: [u32; CLASSES],
    pub base: [[u32; CLASSES]; MAX_REPLICAS],
    pub world: u32,
    pub number: u32,
    pub unused: u32,
}
