//! What a timed workload reports beside its answer.

use crate::error::Result;
use crate::fleet::Replica;
use std::collections::BTreeMap;

/// Wall time of one run, the slowest replica's, in milliseconds. `total = step + merge + other`.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct RunTime {
    /// From the common start to the last replica's finish. Neither the reset before it nor the read-back after it is in it.
    pub total_ms: f64,
    /// Inside steps: kernels or host functions.
    pub step_ms: f64,
    /// Inside merges, waiting for peers included.
    pub merge_ms: f64,
    /// The rest: decisions, launches, rendezvous.
    pub other_ms: f64,
    /// Before the run, not in `total_ms`: putting distances, levels and bitmaps to their start; the slowest replica's.
    pub reset_ms: f64,
}

/// One iteration of the driver, as `--trace` shows it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct TraceEntry {
    /// Driver iteration, from 0. One may hold many device-side rounds.
    pub iteration: u64,
    /// What the step did: `push`, `pull`, `near`, `dense`, ...
    pub step: String,
    /// Rounds (levels, sweeps) inside the step.
    pub rounds: u64,
    /// Nodes in the frontier at the start of the step.
    pub frontier_nodes: u64,
    /// Arcs out of that frontier; 0 when the step did not need to know.
    pub frontier_arcs: u64,
    /// How the replicas were made equal: `none` (redundant), `sparse`, `gather`, `dense`.
    pub merge: String,
    /// Milliseconds, step and merge.
    pub ms: f64,
}

/// Timings and counts of all runs of a workload.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Measured {
    /// The timed runs, in order; warm-up runs are not listed.
    pub runs: Vec<RunTime>,
    /// `[runs][replicas]` milliseconds that each replica spent in steps: which device is the slow one.
    pub replica_step_ms: Vec<Vec<f64>>,
    /// Driver iterations of the last run.
    pub iterations: u64,
    /// Device-side rounds of the last run.
    pub rounds: u64,
    /// Arcs relaxed by the last run, summed over replicas.
    pub arcs_relaxed: u64,
    /// The first run that ended with another answer than an earlier run of the same question, or with other answers on
    /// two replicas, in words; looked for where the answer is verified.
    #[serde(skip)]
    pub differing: Option<String>,
    /// Nodes reached.
    pub reached: u64,
    /// Arcs out of reached nodes: the numerator of arcs per second.
    pub reached_arcs: u64,
    /// Iterations of the last run by merge mode.
    pub merge_modes: BTreeMap<String, u64>,
    /// One entry an iteration of the last run, when asked for.
    pub trace: Vec<TraceEntry>,
    /// Milliseconds for the workload's own arrays and kernels, apart from the runs; the slowest replica's.
    pub setup_ms: f64,
    /// Milliseconds to compile and load kernels, apart from the runs; replica 0's.
    #[serde(skip)]
    pub compile_ms: f64,
    /// Milliseconds to copy results back, apart from the runs.
    pub download_ms: f64,
    /// Milliseconds to find predecessors and nominees, apart from the runs.
    pub chains_ms: f64,
}

impl RunTime {
    fn and(self, other: RunTime) -> RunTime {
        RunTime {
            total_ms: self.total_ms + other.total_ms,
            step_ms: self.step_ms + other.step_ms,
            merge_ms: self.merge_ms + other.merge_ms,
            other_ms: self.other_ms + other.other_ms,
            reset_ms: self.reset_ms + other.reset_ms,
        }
    }
}

impl Measured {
    /// Of what has two parts, one after the other: as many runs as both have.
    pub(super) fn and(mut self, other: Measured) -> Measured {
        let runs = self.runs.iter().zip(&other.runs).map(|(one, two)| one.and(*two));
        self.runs = runs.collect();
        let steps = self.replica_step_ms.iter().zip(&other.replica_step_ms);
        let sums =
            |(one, two): (&Vec<f64>, &Vec<f64>)| one.iter().zip(two).map(|(a, b)| a + b).collect();
        self.replica_step_ms = steps.map(sums).collect();
        self.iterations += other.iterations;
        self.rounds += other.rounds;
        self.arcs_relaxed += other.arcs_relaxed;
        self.differing = self.differing.or(other.differing);
        other
            .merge_modes
            .into_iter()
            .for_each(|(mode, many)| *self.merge_modes.entry(mode).or_default() += many);
        self.trace.extend(other.trace);
        self.setup_ms += other.setup_ms;
        self.compile_ms += other.compile_ms;
        self.download_ms += other.download_ms;
        self.chains_ms += other.chains_ms;
        self
    }
}

/// The time of the slowest replica, and everybody's time in steps; the same on all.
pub(super) fn slowest(
    r: &mut Replica,
    reset_ms: f64,
    total_ms: f64,
) -> Result<(RunTime, Vec<f64>)> {
    let clock = r.clock()?;
    let payload = [total_ms, clock.step_ms, clock.merge_ms, reset_ms].map(f64::to_bits);
    let all = r.agree("end of a run", payload)?;
    let times = all.iter().map(|p| p.map(f64::from_bits));
    let steps = times.clone().map(|t| t[1]).collect();
    let reset_ms = times.clone().map(|t| t[3]).fold(0.0, f64::max);
    let [total_ms, step_ms, merge_ms, _] =
        times.max_by(|a, b| a[0].total_cmp(&b[0])).unwrap_or([0.0; 4]);
    let other_ms = (total_ms - step_ms - merge_ms).max(0.0);
    Ok((RunTime { total_ms, step_ms, merge_ms, other_ms, reset_ms }, steps))
}
