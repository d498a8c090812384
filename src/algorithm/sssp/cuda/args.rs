//! The kernels' arguments and results, field for field as in `kernels/`.

use crate::collective::{JointArgs, MAX_REPLICAS};
use crate::layout::ArcForm;
use bytemuck::{Pod, Zeroable};

/// `kernels/sssp.cu`: SeedArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct SeedArgs {
    pub seeds: u64,
    pub dist: u64,
    pub front: u64,
    pub out_offsets: u64,
    pub queue: u64,
    pub count: u32,
    pub active: u32,
}

/// `kernels/sssp.cu`: StepArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct StepArgs {
    pub out_offsets: u64,
    pub out_arcs: u64,
    pub in_offsets: u64,
    pub in_arcs: u64,
    pub in_records: u64,
    pub dist: u64,
    pub front: u64,
    pub next: u64,
    pub queue: u64,
    pub parts: u64,
    pub scan_node: u64,
    pub scan_dist: u64,
    pub scan_prefix: u64,
    pub slice_first: u64,
    pub control: u64,
    pub status: u64,
    pub abort: u64,
    pub log: u64,
    pub deadline_ns: u64,
    pub pull_above: u64,
    pub push_below: u64,
    pub active: u32,
    pub giants: u32,
    pub hubs: u32,
    pub lo: u32,
    pub hi: u32,
    pub lowest: u32,
    pub task: u32,
    pub queued: u32,
    pub lightest: f32,
    pub form: ArcForm,
    pub unused: u32,
    pub joint: JointArgs,
    pub dists: [u64; MAX_REPLICAS],
    pub bitmaps: [[u64; MAX_REPLICAS]; 2],
}

/// `kernels/sssp.cu`: Status.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Status {
    pub nodes: u64,
    pub arcs: u64,
    pub relaxed: u64,
    pub lowest: u32,
    pub rounds: u32,
    pub parity: u32,
    pub stopped: u32,
    pub want_pull: u32,
    pub meetings: u32,
}

/// `kernels/sssp.cu`: ExchangeArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct ExchangeArgs {
    pub dist: u64,
    pub front: u64,
    pub pairs: u64,
    pub counter: u64,
    pub first: u64,
    pub last: u64,
    pub total: u64,
    pub lo: u32,
    pub hi: u32,
}

/// `kernels/sssp_double.cu`: DoubleArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct DoubleArgs {
    pub offsets: u64,
    pub arcs: u64,
    pub seeds: u64,
    pub dist: u64,
    pub pending: u64,
    pub stamp: u64,
    pub queue: u64,
    pub giants: u64,
    pub control: u64,
    pub status: u64,
    pub abort: u64,
    pub log: u64,
    pub deadline_ns: u64,
    pub capacity: u64,
    pub nodes: u64,
    pub delta: f64,
    pub active: u32,
    pub count: u32,
    pub long_row: u32,
    pub giant_row: u32,
    pub form: ArcForm,
}

/// `kernels/sssp_double.cu`: DoubleStatus.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct DoubleStatus {
    pub relaxed: u64,
    pub rounds: u64,
    pub windows: u32,
    pub stopped: u32,
}
