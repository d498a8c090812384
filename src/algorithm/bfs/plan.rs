//! What a search does: its tasks, what is known between them, and which plan a fleet follows.

use super::cuda::Sizes;
use super::{BfsConfig, SearchDirection};
use crate::algorithm::MergeMode;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::tasks;
use crate::collective::{Frontier, Replicated, Together};
use crate::device::kernels::bfs_round as kernel;
use crate::fleet::{Backend, Replica};
use crate::layout::TopologyRows;

tasks! {
    /// What a step does.
    pub(super) enum Task {
        /// Everything to the end, redundantly.
        Finish(kernel::FINISH) = "step push-pull",
        /// Pushes, redundantly, until nothing is left or a pull pays.
        Grow(kernel::GROW) = "step push",
        /// One pull into the own chunk.
        Pull(kernel::PULL) = "step pull",
        /// One push of the own chunk's frontier.
        Push(kernel::PUSH) = "step chunk push",
        /// Everything by tiles or near-far, redundantly.
        LongPaths = "step long paths",
        /// Everything to the end, in one launch with the other GPUs.
        Joint(kernel::JOINT) = "step joint push-pull",
    }
}

/// What is known of the frontier: the same on all replicas.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrontierInfo {
    pub nodes: u64,
    /// Arcs out of it, where they were counted.
    pub arcs: Option<u64>,
    /// Nodes reached so far, these included.
    pub reached: u64,
    /// Its level.
    pub depth: u32,
    /// It was found by a pull.
    pub pulled: bool,
    /// The step before stopped where a pull pays.
    pub want_pull: bool,
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepResult {
    /// The frontier that it left.
    pub nodes: u64,
    pub arcs: Option<u64>,
    pub looked: u64,
    /// Nodes reached in all its levels.
    pub reached: u64,
    pub rounds: u64,
    /// It stopped where a pull pays.
    pub want_pull: bool,
    /// Entries that a device step left in its log.
    pub logged: u64,
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[n]`, by label.
        level: Replicated<u32> = "level", Min, |s| s.nodes;
        front: Frontier = "frontier", Or, |s| s.active;
        next: Frontier = "frontier", Or, |s| s.active;
    }
}

impl State {
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.front, &mut self.next);
    }
}

/// How a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// By tiles or near-far, redundantly.
    LongPaths,
    Redundant,
    /// Redundant pushes, pulls cut by GPUs that meet by themselves.
    Joint,
    Cut,
    Dense,
}

/// Nodes with arcs from which GPUs that can launch jointly do: below, meetings cost more than shared pulls save.
pub(super) const JOINT_NODES: usize = 1 << 23;

impl Plan {
    pub fn new(merge: MergeMode, way: SearchDirection, r: &Replica, rows: &TopologyRows) -> Plan {
        let (columns, alone) = (&rows.columns, r.world() == 1);
        let cuda = matches!(r.backend, Backend::Cuda(_));
        let flat = columns.flat && way == SearchDirection::Auto && cuda;
        match merge {
            MergeMode::Dense => Plan::Dense,
            MergeMode::Auto | MergeMode::Redundant if flat => Plan::LongPaths,
            MergeMode::Split if r.can_join() => Plan::Joint,
            MergeMode::Auto if r.can_join() && columns.active >= JOINT_NODES => Plan::Joint,
            MergeMode::Split if !alone => Plan::Cut,
            // Host replicas share the cores, so that nothing redundant is free. On GPUs a cut search that the host leads
            // costs more in meetings than it saves.
            MergeMode::Auto if !alone && !cuda => Plan::Cut,
            _ => Plan::Redundant,
        }
    }
}

/// Whether to pull, from what is known of the frontier. `pulls` of `kernels/bfs/bfs_round.cuh` is the same arithmetic.
pub(super) fn pulls(
    rows: &TopologyRows,
    reachable: u64,
    options: &BfsConfig,
    known: &FrontierInfo,
) -> bool {
    match options.direction {
        SearchDirection::Push => return false,
        SearchDirection::Pull => return true,
        SearchDirection::Auto => {}
    }
    let arcs = rows.columns.out.arcs() as f32;
    let mean = arcs / reachable.max(1) as f32;
    let forward = known.arcs.map_or(known.nodes as f32 * mean, |arcs| arcs as f32);
    let open = reachable.saturating_sub(known.reached) as f32;
    let backward = open * mean.min(arcs / forward.max(1.0));
    let (mut pushing, mut pulling) = (options.do_a as f32, options.do_b as f32);
    if forward > kernel::MANY {
        pushing *= kernel::MANY_SHARE;
        pulling = pulling.min(pushing);
    }
    forward > backward * if known.pulled { pulling } else { pushing }
}

/// Everything that a step is told beside the state.
pub(super) struct StepTask<'a> {
    pub task: Task,
    pub known: FrontierInfo,
    /// Nodes that the step is for.
    pub chunk: std::ops::Range<u64>,
    pub reachable: u64,
    pub config: &'a BfsConfig,
    pub together: Together<2>,
}
