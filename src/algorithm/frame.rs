//! The frame of every workload's program: its engine, warm-up and timed runs from a common start, steps, and what a
//! replica brings back. Injected faults and perturbations strike here and in launches, nowhere else.

use super::measure::{Measured, TraceEntry, slowest};
use super::options::RunOptions;
use super::same::{Ends, Rounded, Words};
use crate::collective::{Element, Replicated};
use crate::device::CudaDevice;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use std::collections::BTreeMap;
use std::time::Instant;

/// What the program of one replica ends with.
pub(crate) struct ReplicaAnswer<T> {
    pub found: T,
    pub measured: Measured,
}

impl<T> ReplicaAnswer<T> {
    /// With what `read` reads back, which is timed.
    pub fn new(
        mut measured: Measured,
        read: impl FnOnce() -> Result<T>,
    ) -> Result<ReplicaAnswer<T>> {
        let start = Instant::now();
        let found = read()?;
        measured.download_ms += start.elapsed().as_secs_f64() * 1e3;
        Ok(ReplicaAnswer { found, measured })
    }

    /// What each replica of this process found, and the measurements of the first.
    pub fn all(answers: Vec<ReplicaAnswer<T>>) -> (Vec<T>, Measured) {
        let (found, measured): (Vec<T>, Vec<Measured>) =
            answers.into_iter().map(|one| (one.found, one.measured)).unzip();
        (found, measured.into_iter().next().unwrap_or_default())
    }

    /// What the first replica of this process found, and its measurements.
    pub fn first(answers: Vec<ReplicaAnswer<T>>) -> (T, Measured) {
        let (mut found, measured) = ReplicaAnswer::all(answers);
        (found.swap_remove(0), measured)
    }
}

/// The values of an array that is the same on all replicas, by label; on the first of a process alone.
pub(crate) fn values<T: Element>(r: &Replica, array: &Replicated<T>) -> Result<Vec<T>> {
    if r.leads() { array.to_vec() } else { Ok(Vec::new()) }
}

/// Where a replica's steps run, with what they need there beside the replicated state: a workspace on its GPU, or
/// something of the host's.
pub(crate) enum Engine<W, H> {
    Cuda(W),
    Host(H),
}

impl<W, H> Engine<W, H> {
    /// For the backend of `r`.
    pub fn new(
        r: &mut Replica,
        cuda: impl FnOnce(&mut CudaDevice) -> Result<W>,
        host: impl FnOnce() -> Result<H>,
    ) -> Result<Engine<W, H>> {
        match &mut r.backend {
            Backend::Cuda(device) => cuda(device).map(Engine::Cuda),
            Backend::Host(_) => host().map(Engine::Host),
        }
    }

    /// The workspace, where steps run on a GPU.
    pub fn workspace(&self) -> Option<&W> {
        match self {
            Engine::Cuda(workspace) => Some(workspace),
            Engine::Host(_) => None,
        }
    }

    /// Does `cuda`; for steps that only GPUs make.
    pub fn on_device<T>(
        &mut self,
        r: &Replica,
        cuda: impl FnOnce(&CudaDevice, &mut W) -> Result<T>,
    ) -> Result<T> {
        match (&r.backend, self) {
            (Backend::Cuda(device), Engine::Cuda(workspace)) => cuda(device, workspace),
            _ => Err(other_backend()),
        }
    }

    /// Does `cuda` or `host` with the replicated `state`, whichever it is for; the latter on the replica's threads.
    pub fn with<S: Send, T: Send>(
        &mut self,
        r: &Replica,
        state: &mut S,
        cuda: impl FnOnce(&CudaDevice, &mut W, &mut S) -> Result<T>,
        host: impl FnOnce(&mut H, &mut S, &(dyn Fn() + Sync)) -> T + Send,
    ) -> Result<T>
    where
        H: Send,
    {
        match (&r.backend, self) {
            (Backend::Cuda(device), Engine::Cuda(workspace)) => cuda(device, workspace, state),
            (Backend::Host(worker), Engine::Host(own)) => {
                let (place, rank) = (r.rendezvous().clone(), r.rank());
                Ok(worker.pool.install(|| host(own, state, &|| place.beat(rank))))
            }
            _ => Err(other_backend()),
        }
    }
}

/// Backends do not change, and engines are made for them.
fn other_backend() -> Error {
    Error::machine("a step of another backend; this is a bug")
}

/// What one run leaves in the report.
#[derive(Default)]
pub(crate) struct Log {
    pub trace: bool,
    pub iterations: u64,
    pub rounds: u64,
    /// Arcs that this replica looked at.
    pub relaxed: u64,
    pub merges: BTreeMap<String, u64>,
    pub entries: Vec<TraceEntry>,
    /// Driver iterations of earlier runs of this job.
    first: u64,
    /// When the first step since the last entry of the trace began.
    began: Option<Instant>,
}

impl Log {
    /// The driver's iteration that comes now, counted over all runs of the job: what meetings and injected
    /// faults go by.
    pub fn iteration(&self) -> u64 {
        self.first + self.iterations
    }

    /// Books an iteration: its rounds and the arcs that it looked at, the nodes and arcs of the frontier that it began
    /// with, and how it was merged: `none`, `sparse`, `gather`, `dense`, ...
    pub fn book(
        &mut self,
        step: &str,
        (rounds, relaxed): (u64, u64),
        (frontier_nodes, frontier_arcs): (u64, u64),
        merge: &str,
    ) {
        if let Some(began) = self.began.take().filter(|_| self.trace) {
            self.entries.push(TraceEntry {
                iteration: self.iterations,
                step: step.trim_start_matches("step ").into(),
                rounds,
                frontier_nodes,
                frontier_arcs,
                merge: merge.into(),
                ms: began.elapsed().as_secs_f64() * 1e3,
            });
        }
        self.iterations += 1;
        self.rounds += rounds;
        self.relaxed += relaxed;
        *self.merges.entry(merge.into()).or_default() += 1;
    }
}

/// What a program repeats.
pub(crate) trait Run {
    /// Before all runs: what is compiled when it is first used is used, for nothing. What it leaves is reset.
    fn meet(&mut self, _: &mut Replica) -> Result<()> {
        Ok(())
    }

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

    /// Whether all replicas end with it; else each with a part of its own.
    fn everybody(&self) -> bool {
        true
    }

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
pub(crate) fn timed(r: &mut Replica, run: &RunOptions, body: &mut impl Run) -> Result<Measured> {
    let measured = repeated(r, run, body);
    if let Err(error) = &measured {
        // Before the caller lets go of arrays that other replicas may still write into.
        r.fail(error.clone());
    }
    measured
}

fn repeated(r: &mut Replica, options: &RunOptions, body: &mut impl Run) -> Result<Measured> {
    let (warmup, mut measured, mut first) = (u64::from(options.warmup), Measured::default(), 0);
    let mut ends = options.compare.then(|| Ends::new(r)).transpose()?;
    body.meet(r)?;
    for run in 0..warmup + u64::from(options.runs) {
        let start = Instant::now();
        body.reset(r, run)?;
        r.settle_all()?;
        let reset = start.elapsed().as_secs_f64() * 1e3;
        r.meet_as(run);
        r.agree("start of a run", [run, 0, 0, 0])?;
        // A thread that waited long wakes late, so meet a second time before the clock starts.
        r.agree("now", [run, 0, 0, 0])?;
        let mut log = Log { trace: options.trace, first, ..Log::default() };
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
    let all = r.agree("arcs of all", [measured.arcs_relaxed, 0, 0, 0])?;
    measured.arcs_relaxed = all.iter().map(|payload| payload[0]).sum();
    if let Backend::Cuda(device) = &mut r.backend {
        measured.compile_ms = std::mem::take(&mut device.compile_ms);
    }
    Ok(measured)
}

/// Runs a step: `launch` queues it on the GPU, `found` reads what it found once it has ended; `host` is the same on host
/// threads. Its time is booked, without the merge that may follow.
pub(crate) fn step<W, H: Send, S: Send, F: Send>(
    (r, log, name): (&mut Replica, &mut Log, &'static str),
    engine: &mut Engine<W, H>,
    state: &mut S,
    launch: impl FnOnce(&CudaDevice, &mut W, &mut S) -> Result<()>,
    found: impl FnOnce(&CudaDevice, &mut W) -> Result<F>,
    host: impl FnOnce(&mut H, &mut S, &(dyn Fn() + Sync)) -> F + Send,
) -> Result<F> {
    begin(r, log, name)?;
    let start = Instant::now();
    let on_host = engine.with(
        r,
        state,
        |device, workspace, state| {
            device.mark(0, false)?;
            launch(device, workspace, state)?;
            device.mark_last().map(|()| None)
        },
        |own, state, beat| Some(host(own, state, beat)),
    )?;
    r.settle()?;
    match on_host {
        Some(found) => {
            r.book_step(start.elapsed().as_secs_f64() * 1e3);
            Ok(found)
        }
        None => {
            r.book_marks()?;
            engine.on_device(r, found)
        }
    }
}

/// Runs a step of operators, `body`, and waits for it. Its time is booked, without the merge that may follow.
pub(crate) fn operators<T>(
    (r, log, name): (&mut Replica, &mut Log, &'static str),
    body: impl FnOnce(&mut Replica) -> Result<T>,
) -> Result<T> {
    begin(r, log, name)?;
    let (found, ms) = r.elapsed(body)?;
    r.book_step(ms);
    Ok(found)
}

/// Begins a step called `name`: injected faults strike now, and a perturbed fleet draws the number of its blocks.
pub(crate) fn begin(r: &mut Replica, log: &mut Log, name: &'static str) -> Result<()> {
    log.began.get_or_insert_with(Instant::now);
    r.begin(log.iteration(), name)?;
    r.perturb_launches();
    Ok(())
}

/// The tasks of a workload's steps: the number of each in the kernels, and its name in traces and faults.
macro_rules! tasks {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$of:meta])* $task:ident $(($number:expr))? = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$of])* $task $(= $number as isize)?),+ }

        impl $name {
            $vis fn name(self) -> &'static str {
                match self { $($name::$task => $text),+ }
            }
        }
    };
}
pub(crate) use tasks;
