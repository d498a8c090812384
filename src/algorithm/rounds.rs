//! The rounds of one launch, as a trace tells them.

use super::frame::Log;
use super::measure::TraceEntry;
use crate::device::kernels::hive::{self, LOG_ENTRIES, RoundLog};
use crate::device::{CudaDevice, Pinned};
use crate::error::Result;

/// Where kernels write an entry a round; nowhere without a trace.
pub(super) struct Rounds(Option<Pinned<RoundLog>>);

impl Rounds {
    pub fn new(device: &CudaDevice, trace: bool) -> Result<Rounds> {
        let log = trace.then(|| Pinned::new(&device.context, LOG_ENTRIES as usize));
        Ok(Rounds(log.transpose()?))
    }

    /// The device address, or 0.
    pub fn pointer(&self) -> u64 {
        self.0.as_ref().map_or(0, Pinned::pointer)
    }

    /// Adds the last launch, which left `count` entries, to the iteration that `trace` books next: an entry a round where
    /// it had several. `swept` names rounds that sweep a bitmap; pulls of a `joint` launch are shared.
    pub fn tell(&self, trace: &mut Log, count: u64, swept: &str, joint: bool) {
        let Some(log) = self.0.as_ref().filter(|_| trace.trace) else { return };
        let last = (count as usize).min(LOG_ENTRIES as usize - 1);
        let entry = |i: usize| {
            let (before, RoundLog { ns, kind, nodes, arcs }) = (log.get(i - 1).ns, log.get(i));
            let step = match kind as u32 & 255 {
                hive::ROUND_QUEUE => "push queue",
                hive::ROUND_SWEEP => swept,
                hive::ROUND_PULL => "pull",
                hive::ROUND_SOLO => "push solo",
                hive::ROUND_WINDOW => "window",
                hive::ROUND_PUSHED => "push window",
                _ => "",
            };
            TraceEntry {
                iteration: trace.iterations,
                step: step.into(),
                rounds: (kind >> 8).max(1),
                frontier_nodes: nodes,
                frontier_arcs: if arcs == u64::MAX { 0 } else { arcs },
                merge: if joint && step == "pull" { "joint" } else { "none" }.into(),
                ms: ns.saturating_sub(before) as f64 / 1e6,
            }
        };
        let entries: Vec<TraceEntry> = (1..=last).map(entry).collect();
        if entries.len() > 1 || entries.iter().any(|entry| entry.rounds > 1) {
            trace.entries.extend(entries);
        }
    }
}
