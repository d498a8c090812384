//! One member of a fleet, seen from inside a program.

use super::{DeviceInfo, Fault, FaultKind};
use crate::collective::{
    Collective, Copied, Data, Element, Frontier, Label, Labels, MAX_REPLICAS, Marked, Marks,
    MergeOp, Mergeable, Owner, Payload, Rendezvous, Replicated, SLICE_ALIGN, Seat, Shares, Span,
    Split, Ticket, Together,
};
use crate::device::{CudaDevice, DeviceBuffer};
use crate::error::{Error, Result};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A replica's computing threads on the host.
pub(crate) struct HostWorker {
    pub pool: rayon::ThreadPool,
}

impl HostWorker {
    /// One of so many replicas of this host.
    pub fn new(here: usize) -> Result<HostWorker> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The replica's own thread is one of the pool's: small steps need no hand-over.
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads((cores / here).max(1))
            .use_current_thread()
            .build()
            .map_err(crate::threads::refused)?;
        Ok(HostWorker { pool })
    }

    pub fn info(&self, rank: usize) -> DeviceInfo {
        let field = |text: &str, name: &str| -> Option<String> {
            let line = text.lines().find(|l| l.starts_with(name))?;
            Some(line.split(':').nth(1)?.trim().to_string())
        };
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = field(&memory, "MemTotal").and_then(|t| t.split(' ').next()?.parse::<u64>().ok());
        let mhz = field(&cpu, "cpu MHz").and_then(|t| t.parse::<f64>().ok());
        DeviceInfo {
            rank,
            device: "host".into(),
            uuid: String::new(),
            name: field(&cpu, "model name").unwrap_or_else(|| "CPU".into()),
            memory_bytes: kib.unwrap_or(0) * 1024,
            multiprocessors: self.pool.current_num_threads() as u32,
            compute_capability: String::new(),
            clock_khz: mhz.map_or(0, |m| (m * 1e3) as u32),
            shared_bytes: 0,
            multiprocessor_shared_bytes: 0,
            l2_bytes: 0,
            memory_bytes_per_s: 0,
        }
    }
}

pub(crate) enum Backend {
    Host(HostWorker),
    Cuda(Box<CudaDevice>),
}

/// Milliseconds spent in steps and merges since [`Replica::restart_clock`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    pub step_ms: f64,
    pub merge_ms: f64,
}

/// One replica: rank, device, arrays, merges.
pub struct Replica {
    seat: Seat,
    shares: Shares,
    pub(crate) backend: Backend,
    pub(super) collective: Box<dyn Collective>,
    fault: Option<Fault>,
    /// State of the perturbation's generator; `None` is no perturbation.
    perturb: Option<u64>,
    clock: Clock,
    /// Whether the program asks for the clock: merges are timed then.
    timed: bool,
    labels: Labels,
    /// How often arrays were merged: as often on all replicas.
    merges: u64,
    /// What a layer above keeps on this replica between calls.
    attached: Option<Box<dyn Any + Send>>,
}

impl Replica {
    pub(super) fn new(
        seat: Seat,
        shares: Shares,
        (backend, collective): (Backend, Box<dyn Collective>),
        fault: Option<Fault>,
        perturb: Option<u64>,
    ) -> Replica {
        let perturb =
            perturb.map(|seed| seed.wrapping_mul(2).wrapping_add(seat.rank as u64 * 77 + 1));
        Replica {
            seat,
            shares,
            backend,
            collective,
            fault,
            perturb,
            clock: Clock::default(),
            timed: false,
            labels: Labels::default(),
            merges: 0,
            attached: None,
        }
    }

    /// This replica's number, from 0.
    pub fn rank(&self) -> usize {
        self.seat.rank
    }

    /// Number of replicas in the fleet.
    pub fn world(&self) -> usize {
        self.seat.world
    }

    /// Whether it is the first of its process, which brings back what is the same on all.
    pub(crate) fn leads(&self) -> bool {
        self.local().0 == 0
    }

    /// Its place among the replicas of its process, and how many these are.
    pub(crate) fn local(&self) -> (usize, usize) {
        let own = self.seat.rendezvous.own();
        (self.seat.rank - own.start, own.len())
    }

    /// What replicas are dealt of work that is divided.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The driver's iteration.
    pub fn iteration(&self) -> u64 {
        self.seat.iteration
    }

    /// Whose arrays this replica makes.
    pub(crate) fn owner(&self) -> Owner {
        self.seat.owner()
    }

    /// Takes a label for an array of the user's.
    pub(super) fn label(&self, label: &'static str) -> Result<Label> {
        self.labels.take(label, self.owner())
    }

    pub(crate) fn rendezvous(&self) -> &Arc<Rendezvous> {
        &self.seat.rendezvous
    }

    /// The collective's name.
    pub fn collective(&self) -> &'static str {
        self.collective.name()
    }

    /// Makes the device current on this thread.
    pub(super) fn bind(&self) -> Result<()> {
        match &self.backend {
            Backend::Host(_) => Ok(()),
            Backend::Cuda(device) => device.context.bind(),
        }
    }

    /// This replica's program is to end with `error`. Says so to everybody at once: from then on memory that others may
    /// use is leaked.
    pub(crate) fn fail(&self, error: Error) {
        let place = &self.seat.rendezvous;
        place.poison(place.attributed(self.seat.rank, error));
        self.abandon();
    }

    /// After a failure: memory may be in use, so it is leaked.
    pub(super) fn abandon(&self) {
        if let Backend::Cuda(device) = &self.backend {
            device.abort.set(0, 1);
            device.context.abandoned.store(true, Ordering::Release);
        }
    }

    /// A new array `[length] T` of zeros, the same on all replicas.
    ///
    /// # Errors
    /// [`Error::Input`] where an array of this label is there, or the type does not have the operation;
    /// [`Error::Machine`] where there is not enough memory.
    pub fn replicated<T: Element>(
        &mut self,
        label: &'static str,
        length: usize,
        op: MergeOp,
    ) -> Result<Replicated<T>> {
        let name = self.label(label)?;
        let array = self.array(label, length, op)?.named(name);
        let of = match op {
            MergeOp::Or | MergeOp::Min | MergeOp::Max => Marked::Blocks,
            MergeOp::Sum => Marked::Terms,
            MergeOp::Gather => return Ok(array),
        };
        if self.seat.world == 1 || !self.collective.reads_marks() {
            return Ok(array);
        }
        let marks = self.marks(label, of, length)?;
        Ok(array.marked(marks))
    }

    /// Marks of an array on a device.
    fn marks(&self, label: &str, of: Marked, length: usize) -> Result<Option<Marks>> {
        match &self.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(device) => Marks::new(device, label, of, length).map(Some),
        }
    }

    /// As [`Replica::replicated`], for the library's own programs: labels may repeat.
    pub(crate) fn array<T: Element>(
        &mut self,
        label: &'static str,
        length: usize,
        op: MergeOp,
    ) -> Result<Replicated<T>> {
        let owner = self.owner();
        let data = match &self.backend {
            Backend::Host(_) => {
                let what = format!("{label} on replica {}", owner.rank);
                Data::Host(crate::memory::zeros(&what, length)?)
            }
            Backend::Cuda(device) => Data::Cuda(device.alloc(label, length)?),
        };
        let array = Replicated::new(label, op, data, owner);
        array.span().check()?;
        self.collective.reserve(&self.seat, array.span())?;
        Ok(array)
    }

    /// A new set of a program's, for [`Replica::frontier`].
    pub(crate) fn new_set(
        &mut self,
        label: &'static str,
        nodes: usize,
        op: MergeOp,
    ) -> Result<Frontier> {
        let (name, words) = (self.label(label)?, nodes.div_ceil(64));
        let array = self.array(label, words, op)?.named(name);
        let marks = self.marks(label, Marked::Lines, words)?;
        Ok(Frontier::new(array.marked(marks), nodes))
    }

    /// As [`Replica::frontier`], for the library's own programs: labels may repeat.
    pub(crate) fn node_set(
        &mut self,
        label: &'static str,
        nodes: usize,
        op: MergeOp,
    ) -> Result<Frontier> {
        Ok(Frontier::new(self.array(label, nodes.div_ceil(64), op)?, nodes))
    }

    /// Makes all copies of an array, or of a set, equal by its operation. For Gather the owners are those of the array: the
    /// chunks of a graph ([`Replica::node_array`]), else slices, as `Over::slices` says. Between GPUs that read each
    /// other's memory an Or, Min or Max costs what lambdas have written since the last merge, a Sum what they have written since the
    /// array was last all zeros.
    ///
    /// # Errors
    /// [`Error::Input`] for a Gather of what was written at indices of others; a fault where another replica does not come to
    /// the same merge.
    pub fn merge(&mut self, what: &mut impl Mergeable) -> Result<()> {
        self.merge_all(&mut [what])
    }

    /// [`Replica::merge`] of several at once: those of which it is known where they were written are merged in one exchange, Sums in
    /// a second one.
    ///
    /// # Errors
    /// As [`Replica::merge`].
    pub fn merge_all(&mut self, what: &mut [&mut dyn Mergeable]) -> Result<()> {
        let all: Vec<Copied> = what.iter_mut().map(|what| what.copied()).collect();
        let splits = all.iter().map(|copy| {
            let slices = || Split::nodes(copy.span.length, &self.shares, SLICE_ALIGN);
            copy.split.cloned().unwrap_or_else(slices)
        });
        let splits: Vec<Split> = splits.collect();
        for (copy, split) in all.iter().zip(&splits) {
            self.check_merge(copy, split, false)?;
        }
        self.merge_checked(&all, &splits)
    }

    /// [`Replica::merge`] where `split` (over the array's elements) says who owns what.
    pub fn merge_by<T: Element>(&mut self, array: &mut Replicated<T>, split: &Split) -> Result<()> {
        let copy = array.copied();
        self.check_merge(&copy, split, false)?;
        self.merge_checked(&[copy], std::slice::from_ref(split))
    }

    /// Gives everybody the chunks of their owners, whatever the array's own operation is: for steps
    /// in which each replica wrote only its own chunk. What lies beyond the split stays as it is.
    pub fn gather<T: Element>(&mut self, array: &mut Replicated<T>, split: &Split) -> Result<()> {
        let copy = array.copied();
        let copy = Copied { span: Span { op: MergeOp::Gather, ..copy.span }, ..copy };
        self.check_merge(&copy, split, true)?;
        self.merge_checked(&[copy], std::slice::from_ref(split))
    }

    /// Refuses what cannot be merged, on one replica, too: a program that is right there is right on several.
    fn check_merge(&self, copy: &Copied, split: &Split, stated: bool) -> Result<()> {
        self.check_split(&copy.span, split)?;
        self.owner().check(copy.span.label, copy.owner)?;
        if copy.span.op == MergeOp::Gather {
            copy.check_gather(split, stated)?;
        }
        Ok(())
    }

    fn merge_checked(&mut self, all: &[Copied], splits: &[Split]) -> Result<()> {
        self.join()?;
        self.merges += 1;
        all.iter().zip(splits).for_each(|(copy, split)| copy.merged(split, self.merges));
        if self.seat.world == 1 {
            return Ok(());
        }
        // All replicas find the same: a label's array is marked on all, or on none.
        let marked = |copy: &Copied| match copy.noted.marks.map(Marks::of) {
            _ if !self.collective.reads_marks() => false,
            Some(Marked::Lines) => copy.span.op == MergeOp::Or,
            Some(Marked::Blocks | Marked::Terms) => copy.span.op != MergeOp::Gather,
            None => false,
        };
        let (mut few, mut sums, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (copy, split) in all.iter().zip(splits) {
            match copy.noted.marks.filter(|_| marked(copy)) {
                Some(marks) if marks.of() == Marked::Terms => sums.push((copy.span, marks, split)),
                Some(marks) => few.push((copy.span, marks, split)),
                None => rest.push((copy, split)),
            }
        }
        // Sums are never alike, and may not be known where all else is.
        for some in [few, sums] {
            let spans: Vec<(Span, &Marks)> =
                some.iter().map(|(span, marks, _)| (*span, *marks)).collect();
            let merge = |r: &mut Replica| r.collective.merge_marked(&r.seat, &spans);
            if spans.is_empty() || self.merging("merge what is marked", merge)? {
                continue;
            }
            for (span, marks, split) in some {
                self.merge_span(span, split)?;
                merged_by(split, span, marks)?;
            }
        }
        for (copy, split) in rest {
            self.merge_span(copy.span, split)?;
            copy.noted.marks.map_or(Ok(()), |marks| merged_by(split, copy.span, marks))?;
        }
        Ok(())
    }

    /// Owners' chunks lie in the array, one a replica; what is combined is combined as a whole.
    fn check_split(&self, span: &Span, split: &Split) -> Result<()> {
        let covered = split.bounds().last().copied().unwrap_or(0);
        let fits = covered == span.length || (span.op == MergeOp::Gather && covered < span.length);
        if fits && split.bounds().len() == self.seat.world + 1 {
            return Ok(());
        }
        let (length, parts, world) = (span.length, split.bounds().len() - 1, self.seat.world);
        let what = format!(
            "the split does not fit {length} elements on {world} replicas: it is of {covered} elements among {parts}; \
             make it for this array and fleet"
        );
        Err(self.owner().refuses(span.label, what))
    }

    /// Gives everybody the parts of `buffer` that their owners have made; behind the last part it stays as it is.
    pub(crate) fn gather_on_devices<T: Element>(
        &mut self,
        label: &'static str,
        buffer: &DeviceBuffer<T>,
        split: &Split,
    ) -> Result<()> {
        if self.seat.world == 1 {
            return Ok(());
        }
        let (address, length) = (buffer.pointer(), split.bounds().last().copied().unwrap_or(0));
        let (dtype, op) = (T::DTYPE, MergeOp::Gather);
        let span = Span { label, address, length, dtype, op, alike: 0 };
        if length > buffer.len() as u64 {
            return Err(Error::machine(format!("{label}: a gather of more than there is; a bug")));
        }
        self.join()?;
        self.merge_span(span, split)
    }

    fn merge_span(&mut self, span: Span, split: &Split) -> Result<()> {
        self.merging(merge_words(span.op), |r| r.collective.merge(&r.seat, span, split))
    }

    /// A gather in which everybody writes what it has made of `array` into everybody's copy: `write` queues that. `dealt`
    /// is a fingerprint of who makes what.
    pub(crate) fn hand_out<T: Element>(
        &mut self,
        array: &Replicated<T>,
        dealt: u64,
        write: impl FnOnce(&CudaDevice) -> Result<()>,
    ) -> Result<()> {
        let span = Span { op: MergeOp::Gather, ..array.span() };
        self.join()?;
        self.perturb_launches();
        self.merging(merge_words(span.op), |r| {
            write(r.device()?)?;
            r.collective.order(&r.seat, span.ticket(&r.seat, dealt))
        })
    }

    /// Books what `merge` takes.
    fn merging<T>(
        &mut self,
        operation: &'static str,
        merge: impl FnOnce(&mut Replica) -> Result<T>,
    ) -> Result<T> {
        self.jitter();
        self.seat.rendezvous.doing(self.seat.rank, self.seat.iteration, operation);
        let start = Instant::now();
        if let Backend::Cuda(device) = &self.backend
            && self.timed
        {
            device.mark(1, false)?;
        }
        let asked = |r: &Replica| r.device().map_or(0, |device| device.stream().asked());
        let before = asked(self);
        let merged = merge(self);
        let queued = asked(self) != before;
        self.seat.rendezvous.done(self.seat.rank);
        // The others' kernels may be waiting for a launch that did not come about.
        let merged = merged.inspect_err(|error| self.fail(error.clone()))?;
        if let Backend::Cuda(device) = &self.backend
            && queued
        {
            device.queued_merge(self.collective.meets_on_devices());
        }
        match &self.backend {
            Backend::Cuda(device) if self.timed => device.mark(1, true)?,
            Backend::Cuda(_) => {}
            Backend::Host(_) => self.clock.merge_ms += start.elapsed().as_secs_f64() * 1e3,
        }
        Ok(merged)
    }

    /// Hands `payload` to all replicas and returns everybody's, by rank: the merged numbers that
    /// decisions are made from.
    pub fn agree(&mut self, label: &'static str, payload: Payload) -> Result<Vec<Payload>> {
        if self.seat.world == 1 {
            return Ok(vec![payload]);
        }
        self.seat.rendezvous.meet(self.seat.rank, self.agreement(label), payload)
    }

    /// As [`FleetInfo::can_join`].
    pub(crate) fn can_join(&self) -> bool {
        self.collective.joint().is_some()
    }

    /// What a joint launch over these arrays, `(label, own address)` each, is told. A meeting an array.
    pub(crate) fn together<const N: usize>(
        &mut self,
        arrays: [(&'static str, u64); N],
    ) -> Result<Together<N>> {
        let none = || Error::machine("a joint launch of replicas that cannot meet; this is a bug");
        let joint = self.collective.joint().ok_or_else(none)?;
        let mut all = [[0; MAX_REPLICAS]; N];
        // Redundant replicas may have counted differently.
        self.meet_as(0);
        for (everybody, (label, own)) in all.iter_mut().zip(arrays) {
            let found = self.addresses(label, own)?;
            everybody.iter_mut().zip(found).for_each(|(to, from)| *to = from);
        }
        Ok(Together { joint, arrays: all })
    }

    /// Tells all replicas where an array of this one is. Returns where this one finds everybody's, by rank.
    pub(crate) fn addresses(&mut self, label: &'static str, own: u64) -> Result<Vec<u64>> {
        if self.seat.world == 1 {
            return Ok(vec![own]);
        }
        let ticket = self.agreement(label);
        self.collective.addresses(&self.seat, ticket, own)
    }

    fn agreement(&self, label: &'static str) -> Ticket {
        let iteration = self.seat.iteration;
        Ticket { label, iteration, operation: "agree", length: 4, dtype: None, split: 0 }
    }

    /// What a layer above has left on this replica.
    pub(crate) fn attached<T: Any>(&self) -> Option<&T> {
        self.attached.as_ref()?.downcast_ref()
    }

    /// What a layer above leaves on this replica between calls, empty at first. There is room for one type.
    pub(crate) fn attach<T: Any + Send + Default>(&mut self) -> &mut T {
        if self.attached::<T>().is_none() {
            self.attached = Some(Box::new(T::default()));
        }
        let kept = self.attached.as_mut().and_then(|kept| kept.downcast_mut());
        kept.unwrap_or_else(|| unreachable!("made above, of this type"))
    }

    /// The own GPU; an error on the host.
    pub(crate) fn device(&self) -> Result<&CudaDevice> {
        match &self.backend {
            Backend::Cuda(device) => Ok(device),
            Backend::Host(_) => Err(Error::machine("a device step on the host; this is a bug")),
        }
    }

    /// The same, to load kernels.
    pub(crate) fn device_mut(&mut self) -> Result<&mut CudaDevice> {
        match &mut self.backend {
            Backend::Cuda(device) => Ok(device),
            Backend::Host(_) => Err(Error::machine("a device step on the host; this is a bug")),
        }
    }

    /// Comes to a meeting that is not a merge; `ticket` must be everybody's.
    pub(super) fn come(&mut self, ticket: Ticket) -> Result<()> {
        // For messages only: nobody owes signs of life before the meeting.
        self.seat.rendezvous.doing(self.seat.rank, self.seat.iteration, ticket.operation);
        self.seat.rendezvous.done(self.seat.rank);
        if self.seat.world > 1 {
            self.seat.rendezvous.meet(self.seat.rank, ticket, [0; 4])?;
        }
        Ok(())
    }

    /// Ends what this replica has queued and waits for all to come: what anybody wrote to a
    /// [`super::Shared`] array before, everybody reads after.
    pub fn barrier(&mut self, label: &'static str) -> Result<()> {
        self.quiet()?;
        self.agree(label, [0; 4]).map(drop)
    }

    /// Refuses what replicas of several processes cannot share.
    pub(super) fn refuse_several(&self, label: &'static str) -> Result<()> {
        let what = "replicas of several processes cannot share it; use one process (--ranks none)";
        match self.seat.rendezvous.processes() {
            Some(_) => Err(self.owner().refuses(label, what)),
            None => Ok(()),
        }
    }

    /// Hands `value` to the replicas of this process and returns theirs, in the order of ranks. All processes meet, twice.
    fn exchange_here<V: Any + Send + Sync>(
        &mut self,
        label: &'static str,
        value: V,
    ) -> Result<Vec<Arc<V>>> {
        let (rank, own) = (self.seat.rank, Arc::new(value));
        if self.seat.world == 1 {
            return Ok(vec![own]);
        }
        let place = self.seat.rendezvous.clone();
        place.post(rank, Some(own));
        self.agree(label, [0; 4])?;
        let taken = place.own().map(|other| place.posted(other)?.downcast().ok());
        let all: Option<Vec<Arc<V>>> = taken.collect();
        // Nobody clears what another has yet to read.
        self.agree(label, [0; 4])?;
        place.post(rank, None);
        all.ok_or_else(|| Error::machine(format!("{label}: replicas handed over nothing; a bug")))
    }

    /// The outcomes of the replicas of this process, in the order of ranks; where one failed, the first failure on all of them, so
    /// that none goes on with what another has not got. All processes meet.
    pub(super) fn vote<V: Send + Sync + 'static>(
        &mut self,
        label: &'static str,
        outcome: Result<V>,
    ) -> Result<Vec<Arc<V>>> {
        let own = self.attributed(outcome);
        self.exchange_here(label, own)?.iter().map(|other| (**other).clone()).collect()
    }

    /// The outcome of the first replica of this process, on all of its replicas; where one of them failed, the first failure.
    /// All processes meet.
    pub(super) fn first_outcome<V: Clone + Send + Sync + 'static>(
        &mut self,
        label: &'static str,
        outcome: Result<V>,
    ) -> Result<V> {
        Ok((*self.vote(label, outcome)?[0]).clone())
    }

    fn attributed<V>(&self, outcome: Result<V>) -> Result<Arc<V>> {
        let (rank, place) = (self.seat.rank, &self.seat.rendezvous);
        outcome.map(Arc::new).map_err(|error| place.attributed(rank, error))
    }

    /// Names the meetings that follow by `iteration`, where replicas do not count the same.
    pub(crate) fn meet_as(&mut self, iteration: u64) {
        self.seat.iteration = iteration;
    }

    /// Begins driver iteration `iteration`, about to do `operation`. Injected faults strike here.
    pub(crate) fn begin(&mut self, iteration: u64, operation: &'static str) -> Result<()> {
        self.seat.iteration = iteration;
        self.seat.rendezvous.doing(self.seat.rank, iteration, operation);
        if let Some(error) = self.seat.rendezvous.failure() {
            return Err(error);
        }
        self.jitter();
        match self.fault {
            Some(f) if f.rank == self.seat.rank && f.iteration == iteration => {
                let struck = self.strike(f.kind);
                // Before anything is let go of.
                if let Err(error) = &struck {
                    self.seat.rendezvous.poison(error.clone());
                }
                struck
            }
            _ => Ok(()),
        }
    }

    /// About to do `operation`, of the same iteration as before.
    pub(crate) fn enter(&mut self, operation: &'static str) -> Result<()> {
        self.seat.rendezvous.doing(self.seat.rank, self.seat.iteration, operation);
        self.jitter();
        self.seat.rendezvous.failure().map_or(Ok(()), Err)
    }

    /// It has been queued or done: the replica may be silent again.
    pub(crate) fn leave(&mut self) {
        self.seat.rendezvous.done(self.seat.rank);
    }

    fn strike(&mut self, kind: FaultKind) -> Result<()> {
        match kind {
            FaultKind::Fail => Err(self.seat.rendezvous.fault(self.seat.rank, "injected failure")),
            FaultKind::Panic => panic!("injected panic"),
            FaultKind::Stall => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
        }
    }

    /// The next number of the perturbation, `None` when there is none.
    pub(crate) fn chance(&mut self) -> Option<u64> {
        let state = self.perturb.as_mut()?;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(*state >> 33)
    }

    /// Draws the number of blocks of the launches that follow, where the fleet is perturbed.
    pub(crate) fn perturb_launches(&mut self) {
        let chance = self.chance();
        if let Backend::Cuda(device) = &self.backend {
            device.perturb(chance);
        }
    }

    fn jitter(&mut self) {
        if let Some(chance) = self.chance()
            && chance % 4 == 0
        {
            std::thread::sleep(Duration::from_micros(chance / 4 % 500));
        }
    }

    /// Waits until everything queued on the device has ended.
    pub fn settle(&mut self) -> Result<()> {
        let settled = self.drain();
        self.seat.rendezvous.done(self.seat.rank);
        settled
    }

    /// [`Replica::settle`], and arrays that are being cleared, too.
    pub(crate) fn settle_all(&mut self) -> Result<()> {
        let settled = self.quiet();
        self.seat.rendezvous.done(self.seat.rank);
        settled
    }

    /// Waits for everything on the stream, arrays being cleared too.
    pub(super) fn quiet(&mut self) -> Result<()> {
        if let Backend::Cuda(device) = &self.backend {
            device.queued();
        }
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Result<()> {
        self.join()?;
        if let Backend::Cuda(device) = &self.backend {
            device.wait()?;
            device.bad_index()?;
        }
        Ok(())
    }

    pub(crate) fn restart_clock(&mut self) {
        (self.clock, self.timed) = (Clock::default(), true);
        if let Backend::Cuda(device) = &self.backend {
            device.forget_marks();
        }
    }

    /// A program begins, which need not ask for the clock.
    pub(super) fn begins(&mut self) {
        self.timed = false;
    }

    /// What steps and merges have taken; all of them must have ended.
    pub(crate) fn clock(&mut self) -> Result<Clock> {
        if let Backend::Cuda(device) = &self.backend {
            self.clock.step_ms += device.interval_ms(0)?;
            self.clock.merge_ms += device.interval_ms(1)?;
        }
        Ok(self.clock)
    }

    /// Books a step on the host, or one on a device that is not marked.
    pub(crate) fn book_step(&mut self, ms: f64) {
        self.clock.step_ms += ms;
    }

    /// Books what is marked on a device, once it has ended, where there is little room for more marks: to ask for a time takes
    /// time itself.
    pub(crate) fn book_marks(&mut self) -> Result<()> {
        match &self.backend {
            Backend::Cuda(device) if device.many_marks() => self.clock().map(drop),
            _ => Ok(()),
        }
    }
}

/// What is known of an array after a merge that did not look at its marks.
fn merged_by(split: &Split, span: Span, marks: &Marks) -> Result<()> {
    let whole = split.bounds().last() == Some(&span.length);
    let same = whole && marks.of() == Marked::Blocks;
    marks.set_exact(same);
    if same { marks.clear() } else { Ok(()) }
}

fn merge_words(op: MergeOp) -> &'static str {
    match op {
        MergeOp::Or => "merge or",
        MergeOp::Min => "merge min",
        MergeOp::Max => "merge max",
        MergeOp::Sum => "merge sum",
        MergeOp::Gather => "merge gather",
    }
}
