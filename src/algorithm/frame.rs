//! The frame of every workload's program: warm-up and timed runs from a common start, what they leave behind.

use super::measure::{Measured, TraceEntry, slowest};
use super::same::{Ends, Rounded, Words};
use crate::collective::{Element, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::run::Context;
use std::collections::BTreeMap;
use std::time::Instant;

/// How often a program runs, and what is kept of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat {
    /// Timed runs.
    pub runs: u32,
    /// Runs before them.
    pub warmup: u32,
    /// Keep an entry an iteration.
    pub trace: bool,
    /// Compare what runs end with.
    pub compare: bool,
}

impl Repeat {
    /// As a workload's own options ask.
    pub fn asked(runs: u32, warmup: u32, trace: bool, compare: bool) -> Repeat {
        Repeat { runs, warmup, trace, compare }
    }

    /// As the job asks; a gauge is neither traced nor compared.
    pub fn of(context: &Context<'_>) -> Repeat {
        let asked = |option: bool| option && !context.gauge;
        let Context { runs, warmup, job, .. } = *context;
        let (trace, compare) = (asked(job.config.trace), asked(job.config.verify));
        Repeat { runs, warmup, trace, compare }
    }
}

/// What one replica brings back: values by label, rank 0's, and everybody's where they are compared.
pub(crate) struct Brought<T> {
    pub values: Vec<T>,
    pub measured: Measured,
}

impl<T: Element> Brought<T> {
    /// Of a program that has ended with `array`.
    pub fn new(
        r: &Replica,
        array: &Replicated<T>,
        compare: bool,
        mut measured: Measured,
    ) -> Result<Brought<T>> {
        let start = Instant::now();
        let values = if r.rank() == 0 || compare { array.to_vec()? } else { Vec::new() };
        measured.download_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Brought { values, measured })
    }

    /// Rank 0's, with everybody's arcs counted. [`Error::Verify`] where they are compared and differ: `what` is as in
    /// `other components`.
    pub fn first(mut all: Vec<Brought<T>>, compare: bool, what: &str) -> Result<Brought<T>> {
        let arcs = all.iter().map(|one| one.measured.arcs_relaxed).sum();
        let differs = |one: &Brought<T>| compare && one.values != all[0].values;
        if let Some(other) = all.iter().position(differs) {
            let both = format!("replica {other} ended with {what} than replica 0");
            return Err(Error::Verify(both));
        }
        let mut first = all.swap_remove(0);
        first.measured.arcs_relaxed = arcs;
        Ok(first)
    }
}

/// What one run leaves in the report.
#[derive(Default)]
pub(crate) struct Log {
    pub trace: bool,
    pub iterations: u64,
    pub rounds: u64,
    /// Of the iteration booked last.
    booked: u64,
    /// Arcs that this replica looked at.
    pub relaxed: u64,
    pub merges: BTreeMap<String, u64>,
    pub entries: Vec<TraceEntry>,
    /// Driver iterations of earlier runs of this job.
    first: u64,
}

impl Log {
    /// The driver's iteration that comes now, counted over all runs of the job: what meetings and injected
    /// faults go by.
    pub fn iteration(&self) -> u64 {
        self.first + self.iterations
    }

    /// Books an iteration that was merged as `merge` says: `none`, `sparse`, `gather`, `dense`, ...
    pub fn book(&mut self, rounds: u64, relaxed: u64, merge: &str) {
        self.iterations += 1;
        self.rounds += rounds;
        self.booked = rounds;
        self.relaxed += relaxed;
        *self.merges.entry(merge.into()).or_default() += 1;
    }
}

impl Log {
    /// Adds the iteration just booked to the trace: what it did, the nodes and arcs that it began with, how it
    /// was merged, and since when it ran.
    pub fn note(
        &mut self,
        step: &str,
        (frontier_nodes, frontier_arcs): (u64, u64),
        merge: &str,
        begin: Instant,
    ) {
        if !self.trace {
            return;
        }
        self.entries.push(TraceEntry {
            iteration: self.iterations - 1,
            step: step.trim_start_matches("step ").into(),
            rounds: self.booked,
            frontier_nodes,
            frontier_arcs,
            merge: merge.into(),
            ms: begin.elapsed().as_secs_f64() * 1e3,
        });
    }
}

/// What a program repeats.
pub(crate) trait Run {
    /// Puts the state of run `number` (warm-up runs count) to its start. Timed apart from the run.
    fn reset(&mut self, r: &mut Replica, number: u64) -> Result<()>;

    /// From the start to the answer. Everything that it queued may still be under way on return.
    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()>;

    /// After run `number`, when its time has been taken.
    fn done(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        Ok(())
    }

    /// What the run just ended has left behind: the same for every run of the same question.
    fn answer(&self) -> Vec<Words<'_>>;

    /// What was asked in the run just ended, where runs differ in that: its source, say.
    fn question(&self) -> u64 {
        0
    }

    /// Its answer by values, where their bits are not promised.
    fn rounded(&self, _: &Replica) -> Result<Option<Rounded>> {
        Ok(None)
    }
}

/// Runs `body` as often as asked, all replicas from a common start each time. Read-back is the caller's.
pub(crate) fn timed(r: &mut Replica, repeat: Repeat, body: &mut impl Run) -> Result<Measured> {
    let measured = repeated(r, repeat, body);
    if let Err(error) = &measured {
        // Before the caller lets go of arrays that other replicas may still write into.
        r.fail(error.clone());
    }
    measured
}

fn repeated(r: &mut Replica, repeat: Repeat, body: &mut impl Run) -> Result<Measured> {
    let (warmup, mut measured, mut first) = (u64::from(repeat.warmup), Measured::default(), 0);
    let mut ends = repeat.compare.then(|| Ends::new(r)).transpose()?;
    for run in 0..warmup + u64::from(repeat.runs) {
        let start = Instant::now();
        body.reset(r, run)?;
        r.settle()?;
        let reset = start.elapsed().as_secs_f64() * 1e3;
        r.meet_as(run);
        r.agree("start of a run", [run, 0, 0, 0])?;
        // Who waited long was asleep, and wakes late: once more, all awake.
        r.agree("now", [run, 0, 0, 0])?;
        let mut log = Log { trace: repeat.trace, first, ..Log::default() };
        let start = Instant::now();
        r.restart_clock();
        body.go(r, &mut log)?;
        r.settle()?;
        let total = start.elapsed().as_secs_f64() * 1e3;
        // Redundant replicas need not have taken the same number of iterations.
        r.meet_as(run);
        let (time, steps) = slowest(r, reset, total)?;
        if run >= warmup {
            measured.runs.push(time);
            measured.replica_step_ms.push(steps);
        }
        body.done(r, run)?;
        if let Some(ends) = &mut ends {
            let differing = ends.compare(r, body, run)?;
            measured.differing = measured.differing.or(differing);
        }
        first += log.iterations;
        measured.iterations = log.iterations;
        measured.rounds = log.rounds;
        measured.arcs_relaxed = log.relaxed;
        measured.merge_modes = log.merges;
        measured.trace = log.entries;
    }
    if let Backend::Cuda(device) = &mut r.backend {
        measured.compile_ms = std::mem::take(&mut device.compile_ms);
    }
    Ok(measured)
}

/// The time of a step: on a device between two marks on its stream, so that nobody waits for the first.
pub(crate) struct Step(Instant);

impl Step {
    /// It begins here.
    pub fn begin(r: &Replica) -> Result<Step> {
        if let Backend::Cuda(device) = &r.backend {
            device.mark(0, false)?;
        }
        Ok(Step(Instant::now()))
    }

    /// It ends here: waits for it and books its time.
    pub fn end(self, r: &mut Replica) -> Result<()> {
        if let Backend::Cuda(device) = &r.backend {
            device.mark(0, true)?;
        }
        r.settle()?;
        let ms = match &r.backend {
            Backend::Cuda(device) => device.interval_ms(0)?,
            Backend::Host(_) => self.0.elapsed().as_secs_f64() * 1e3,
        };
        r.book_step(ms);
        Ok(())
    }
}
