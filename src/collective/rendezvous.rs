//! Where replicas meet: a barrier with a deadline that a failure poisons.
//!
//! `std::sync::Barrier` never wakes when a member dies. Here every member shows a [`Ticket`] that
//! says what it came for; different tickets are an error that names both sides, not a hang. A member
//! that shows no sign of life for the deadline poisons the meeting, and everybody leaves with the
//! first error. Members may be of other processes: what these say of them comes over links, and counts as if they had come here.

use super::abroad::Blocks;
use crate::collective::Dtype;
use crate::device::{Context, Pinned, Watch, stay_lent};
use crate::error::{Error, Result};
use crate::processes::{Hears, Members, Message, Near, short_label, short_operation};
use std::any::Any;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What a member came for. All members of a meeting must show the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Name of the array or meeting.
    pub label: &'static str,
    /// The driver's iteration.
    pub iteration: u64,
    /// The merge operation or the kind of meeting.
    pub operation: &'static str,
    /// Elements merged.
    pub length: u64,
    /// Their type, `None` where no array is merged.
    pub dtype: Option<Dtype>,
    /// Fingerprint of the split, 0 where there is none.
    pub split: u64,
}

impl std::fmt::Display for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.operation, self.label)?;
        write!(f, " of {}", self.length)?;
        if let Some(dtype) = self.dtype {
            write!(f, " {dtype:?}")?;
        }
        write!(f, " at iteration {}", self.iteration)?;
        if self.split != 0 { write!(f, " (split {:x})", self.split) } else { Ok(()) }
    }
}

/// Small numbers that members hand to each other at a meeting.
pub type Payload = [u64; 4];

/// What a member leaves for the others to take, when numbers do not do.
pub(crate) type Posted = Arc<dyn Any + Send + Sync>;

struct State {
    arrived: Vec<Option<(Ticket, Payload)>>,
    /// What members of other processes have come for after this meeting.
    early: Vec<VecDeque<(Ticket, Payload)>>,
    count: usize,
    shared: Vec<Payload>,
    failure: Option<Error>,
    /// Members that wait for a change and do not look by themselves.
    asleep: usize,
}

/// What a member is doing, for messages about it.
#[derive(Clone)]
struct Member {
    device: String,
    iteration: u64,
    operation: &'static str,
}

/// A member's GPU: its abort word and its context.
type Watched = (Arc<Pinned<u32>>, Arc<Context>);

/// The meeting point of a fleet's local replicas.
pub struct Rendezvous {
    /// Differs from every other fleet's of this process.
    id: u64,
    state: Mutex<State>,
    changed: Condvar,
    generation: AtomicU64,
    poisoned: AtomicBool,
    beats: Vec<AtomicU64>,
    /// Whether a member is inside a step or merge, and so owes signs of life.
    busy: Vec<AtomicBool>,
    /// The number of the last program of which a member has ended its part.
    ended: Vec<AtomicU64>,
    /// The number of the program that runs.
    program: AtomicU64,
    members: Vec<Mutex<Member>>,
    /// Two places a member, for meetings in turn: written before a meeting, read between it and the next.
    board: Vec<[Mutex<Option<Posted>>; 2]>,
    /// Of the members' GPUs: pinned words, not 0 asks kernels that wait for others to leave; and contexts, whose memory
    /// others may still write into then, so that it is leaked.
    watched: Mutex<Vec<Watched>>,
    deadline: Duration,
    step_limit: Duration,
    spin: bool,
    /// Whose members these are, where the fleet spans several processes.
    processes: Option<Members>,
    /// Where those of this host meet.
    near: Option<Near>,
    /// How many meetings each member has come to, as far as it is known here.
    meetings: Vec<AtomicU64>,
    /// Device memory that other processes have told of.
    pub(super) blocks: Blocks,
}

/// The number of the program where none has begun; a member that has ended none has ended number 0.
const NO_PROGRAM: u64 = 1;

/// A step that takes longer counts as hung.
pub const STEP_LIMIT: Duration = Duration::from_secs(300);

/// A poisoned mutex only says that a holder panicked; the data are plain and still consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Rendezvous {
    /// A meeting point for `devices.len()` members.
    pub fn new(devices: &[String], deadline: Duration) -> Rendezvous {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let world = devices.len();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let member = |d: &String| Member { device: d.clone(), iteration: 0, operation: "starting" };
        Rendezvous {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            state: Mutex::new(State {
                arrived: vec![None; world],
                early: vec![VecDeque::new(); world],
                count: 0,
                shared: vec![[0; 4]; world],
                failure: None,
                asleep: 0,
            }),
            changed: Condvar::new(),
            generation: AtomicU64::new(0),
            poisoned: AtomicBool::new(false),
            beats: (0..world).map(|_| AtomicU64::new(0)).collect(),
            busy: (0..world).map(|_| AtomicBool::new(false)).collect(),
            ended: (0..world).map(|_| AtomicU64::new(0)).collect(),
            program: AtomicU64::new(NO_PROGRAM),
            members: devices.iter().map(|d| Mutex::new(member(d))).collect(),
            board: devices.iter().map(|_| Default::default()).collect(),
            watched: Mutex::new(Vec::new()),
            deadline,
            step_limit: STEP_LIMIT,
            spin: world <= cores,
            processes: None,
            near: None,
            meetings: (0..world).map(|_| AtomicU64::new(0)).collect(),
            blocks: Blocks::default(),
        }
    }

    /// The same, with a time after which a step counts as hung even though its replica waits for it.
    pub fn with_step_limit(self, step_limit: Duration) -> Rendezvous {
        Rendezvous { step_limit, ..self }
    }

    /// The same, where members are those of several processes, by process; those of this host meet in memory, if they share some.
    pub(crate) fn across(self, processes: Members, near: Option<Near>) -> Rendezvous {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = near.is_some() && processes.here() <= cores;
        Rendezvous { processes: Some(processes), near, spin, ..self }
    }

    /// The processes, where there are several.
    pub(crate) fn processes(&self) -> Option<&Members> {
        self.processes.as_ref()
    }

    /// The ranks of this process's members.
    pub(crate) fn own(&self) -> Range<usize> {
        self.processes.as_ref().map_or(0..self.members.len(), Members::own)
    }

    /// A number of the fleet's own.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A program begins: nobody has ended it yet.
    pub(crate) fn starts(&self) {
        self.program.fetch_add(1, Ordering::AcqRel);
    }

    /// Says that `rank` has ended its part of the program: it comes to no further meeting.
    pub(crate) fn ends(&self, rank: usize) {
        let program = self.program.load(Ordering::Acquire);
        self.ended[rank].store(program, Ordering::Release);
        self.changed.notify_all();
        self.tell(&Message::Ends { rank, program });
    }

    /// The error of a meeting, at which `rank` waits, that a member does not come to because it has ended.
    fn left(&self, rank: usize, state: &State) -> Option<Error> {
        let program = self.program.load(Ordering::Acquire);
        let has_ended = |ended: &AtomicU64| ended.load(Ordering::Acquire) >= program;
        let mut all = self.ended.iter().zip(&state.arrived);
        let gone = all.position(|(ended, came)| came.is_none() && has_ended(ended))?;
        let (ticket, _) = state.arrived[rank].as_ref()?;
        let device = lock(&self.members[gone]).device.clone();
        Some(Error::Fault {
            rank: gone,
            device,
            iteration: ticket.iteration,
            operation: format!("{} {}", ticket.operation, ticket.label),
            cause: format!(
                "its program has ended, and replica {rank} waits for it at {ticket}; let every replica come to \
                 every merge and meeting, and return after the last one"
            ),
        })
    }

    /// The longest that a step may take.
    pub fn step_limit(&self) -> Duration {
        self.step_limit
    }

    /// Says that `rank` lives and works; long steps call this as they go.
    pub fn beat(&self, rank: usize) {
        self.beats[rank].fetch_add(1, Ordering::Relaxed);
    }

    /// Notes what `rank` is about to do, for error messages.
    pub fn doing(&self, rank: usize, iteration: u64, operation: &'static str) {
        let mut member = lock(&self.members[rank]);
        member.iteration = iteration;
        member.operation = operation;
        drop(member);
        self.busy[rank].store(true, Ordering::Relaxed);
        self.beat(rank);
    }

    /// Says that `rank` has left its step or merge: it may be silent for as long as it likes.
    pub fn done(&self, rank: usize) {
        self.busy[rank].store(false, Ordering::Relaxed);
        self.beat(rank);
    }

    /// The beats of `rank`, or `None` while it owes none.
    pub(crate) fn owed_beats(&self, rank: usize) -> Option<u64> {
        let busy = self.busy[rank].load(Ordering::Relaxed);
        busy.then(|| self.beats[rank].load(Ordering::Relaxed))
    }

    /// The error of a member that has been silent for too long.
    pub(crate) fn silent(&self, rank: usize) -> Error {
        self.fault(rank, format!("no sign of life for {:?}", self.deadline))
    }

    /// A fault of `rank` at what it was last doing.
    pub fn fault(&self, rank: usize, cause: impl Into<String>) -> Error {
        let member = lock(&self.members[rank]).clone();
        Error::Fault {
            rank,
            device: member.device,
            iteration: member.iteration,
            operation: member.operation.into(),
            cause: cause.into(),
        }
    }

    /// `error` as a fault of `rank` where it is a library's: that one does not say whose it is.
    pub(crate) fn attributed(&self, rank: usize, error: Error) -> Error {
        match error {
            Error::Device { call, code, .. } => self.fault(rank, format!("{call} failed: {code}")),
            other => other,
        }
    }

    /// Puts up what `rank` has for the others at its next meeting, or takes down what it put up for the one before the last.
    pub(crate) fn post(&self, rank: usize, what: Option<Posted>) {
        *lock(&self.board[rank][self.turn(0)]) = what;
    }

    /// What `other` has put up for the last meeting, for a member that has not come to the next.
    pub(crate) fn posted(&self, other: usize) -> Option<Posted> {
        lock(&self.board[other][self.turn(1)]).clone()
    }

    /// The place of the board for the next meeting, or that of so many before it. No meeting opens without the member that asks.
    fn turn(&self, before: u64) -> usize {
        (self.generation.load(Ordering::Acquire).wrapping_sub(before) & 1) as usize
    }

    /// Ends every present and future meeting with `error`, unless an earlier one already did.
    pub fn poison(&self, error: Error) {
        if self.note_failure(&error) {
            self.tell(&Message::Fails(error));
        }
    }

    /// The same, of which other processes know. False where an earlier failure had ended all meetings.
    fn note_failure(&self, error: &Error) -> bool {
        let mut state = lock(&self.state);
        let first = state.failure.is_none();
        state.failure.get_or_insert_with(|| error.clone());
        drop(state);
        if let Some(processes) = &self.processes {
            processes.links.fail(error);
            stay_lent();
        }
        self.fail();
        first
    }

    /// Tells the other processes, if there are any.
    fn tell(&self, message: &Message) {
        if let Some(processes) = &self.processes {
            processes.links.send_all(message);
        }
    }

    /// Everybody is to see the failure that was noted, kernels too: their threads may be inside the driver.
    fn fail(&self) {
        for (abort, context) in lock(&self.watched).iter() {
            context.abandoned.store(true, Ordering::Release);
            abort.set(0, 1);
        }
        self.poisoned.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Sets `abort`, and abandons the context, when the fleet fails.
    pub(crate) fn watch(&self, abort: Arc<Pinned<u32>>, context: Arc<Context>) {
        lock(&self.watched).push((abort, context));
    }

    /// The error that poisoned the fleet, if one did.
    pub fn failure(&self) -> Option<Error> {
        if !self.poisoned.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.state).failure.clone()
    }

    /// What a library failed with that speaks to other processes, unless one of these is found to be gone shortly after.
    pub(crate) fn blamed(&self, error: Error) -> Error {
        let until = Instant::now() + Duration::from_secs(1);
        while self.processes.is_some() && self.failure().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.failure().unwrap_or(error)
    }

    /// The longest that a silent member is waited for.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Waits for all members, checks that they came for the same, and returns everybody's payload
    /// by rank.
    pub fn meet(&self, rank: usize, ticket: Ticket, payload: Payload) -> Result<Vec<Payload>> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let ticket = match &self.processes {
            None => ticket,
            // Not under the lock: those who read what comes need it.
            Some(processes) => self.tell_of(processes, rank, ticket, payload),
        };
        let mut state = lock(&self.state);
        if let Some(error) = &state.failure {
            return Err(error.clone());
        }
        let generation = self.generation.load(Ordering::Relaxed);
        state.arrived[rank] = Some((ticket, payload));
        state.count += 1;
        if state.count == state.arrived.len() {
            return self.open(&mut state);
        }
        drop(state);
        self.wait(rank, generation)
    }

    /// The last to arrive compares tickets and lets everybody go.
    fn open(&self, state: &mut State) -> Result<Vec<Payload>> {
        let shown: Vec<(Ticket, Payload)> =
            state.arrived.iter_mut().filter_map(Option::take).collect();
        state.count = 0;
        if let Some(other) = shown.iter().position(|(ticket, _)| *ticket != shown[0].0) {
            let cause = format!(
                "replicas disagree: replica 0 came for {}, replica {other} for {}; let all replicas come \
                 to the same merges and meetings in the same order",
                shown[0].0, shown[other].0
            );
            let error = self.fault(other, cause);
            state.failure.get_or_insert(error.clone());
            self.fail();
            return Err(error);
        }
        state.shared = shown.iter().map(|(_, payload)| *payload).collect();
        let State { arrived, early, count, .. } = state;
        for (came, next) in arrived.iter_mut().zip(early) {
            *came = next.pop_front();
            *count += usize::from(came.is_some());
        }
        self.generation.fetch_add(1, Ordering::Release);
        // A call of the system, which most meetings can do without.
        if state.asleep > 0 {
            self.changed.notify_all();
        }
        Ok(state.shared.clone())
    }

    /// Tells other processes that `rank` comes to a meeting. Returns the ticket as they see it.
    fn tell_of(
        &self,
        processes: &Members,
        rank: usize,
        ticket: Ticket,
        payload: Payload,
    ) -> Ticket {
        let (label, operation) = (short_label(ticket.label), short_operation(ticket.operation));
        let ticket = Ticket { label, operation, ..ticket };
        let number = self.meetings[rank].fetch_add(1, Ordering::Relaxed) + 1;
        let links = &processes.links;
        let Some(near) = &self.near else {
            links.send_all(&ticket.told(rank, payload));
            return ticket;
        };
        near.comes((rank, number), (label, operation), (ticket.numbers(), payload));
        links.send_to(near.asleep(0..links.count()), &Message::Wakes);
        let far = processes.others().filter(|process| !near.is_shared_with(*process));
        let mut far = far.peekable();
        if far.peek().is_some() {
            links.send_to(far, &ticket.told(rank, payload));
        }
        ticket
    }

    /// Sees which replicas of other processes of this host have come.
    fn look(&self) {
        let (Some(near), Some(processes)) = (&self.near, &self.processes) else { return };
        for process in processes.others().filter(|process| near.is_shared_with(*process)) {
            for rank in processes.of(process) {
                while near.has_come(rank, self.meetings[rank].load(Ordering::Relaxed) + 1) {
                    // Two who look at once count it once.
                    let mut state = lock(&self.state);
                    let number = self.meetings[rank].load(Ordering::Relaxed) + 1;
                    let Some(came) = near.came(rank, number) else { continue };
                    self.meetings[rank].store(number, Ordering::Relaxed);
                    match Ticket::of(&came.label, &came.operation, came.ticket) {
                        Some(ticket) => self.came(&mut state, rank, ticket, came.payload),
                        None => {
                            drop(state);
                            self.gone(process, "it said what makes no sense");
                        }
                    }
                }
            }
        }
    }

    fn wait(&self, rank: usize, generation: u64) -> Result<Vec<Payload>> {
        let opened = || self.generation.load(Ordering::Acquire) != generation;
        let spin_until = Instant::now() + Duration::from_micros(200);
        while self.spin && !opened() && Instant::now() < spin_until {
            self.look();
            std::hint::spin_loop();
        }
        let _asleep = self.near.as_ref().map(Near::sleep);
        // Who comes from now on wakes this one.
        self.look();
        let mut state = lock(&self.state);
        let mut seen = self.pulse(&state);
        let mut silent_since = Instant::now();
        loop {
            // A meeting that opened counts as held even if somebody failed right after it.
            if opened() {
                return Ok(state.shared.clone());
            }
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if let Some(error) = self.left(rank, &state) {
                drop(state);
                self.poison(error.clone());
                return Err(self.failure().unwrap_or(error));
            }
            let nap = Duration::from_millis(20);
            state.asleep += 1;
            state = self.changed.wait_timeout(state, nap).unwrap_or_else(|p| p.into_inner()).0;
            state.asleep -= 1;
            if self.near.is_some() {
                drop(state);
                self.look();
                state = lock(&self.state);
            }
            self.beat(rank);
            let now = self.pulse(&state);
            if now != seen {
                (seen, silent_since) = (now, Instant::now());
            } else if silent_since.elapsed() > self.deadline && !opened() {
                let missing = state.arrived.iter().position(Option::is_none).unwrap_or(rank);
                let error = self.silent(missing);
                drop(state);
                self.poison(error.clone());
                return Err(self.failure().unwrap_or(error));
            }
        }
    }

    /// A member of another process has come.
    fn came(&self, state: &mut State, rank: usize, ticket: Ticket, payload: Payload) {
        if state.arrived[rank].is_some() {
            state.early[rank].push_back((ticket, payload));
            return;
        }
        state.arrived[rank] = Some((ticket, payload));
        state.count += 1;
        if state.count == state.arrived.len() {
            // Those who wait here see how it ends.
            let _ = self.open(state);
        }
    }

    /// Changes whenever a member that has not arrived shows a sign of life.
    fn pulse(&self, state: &State) -> u64 {
        let missing =
            self.beats.iter().zip(&state.arrived).filter(|(_, arrived)| arrived.is_none());
        missing.fold(0, |sum, (beat, _)| {
            sum.wrapping_mul(31).wrapping_add(beat.load(Ordering::Relaxed))
        })
    }
}

impl Ticket {
    /// What other processes are told when `rank` comes with it.
    fn told(&self, rank: usize, payload: Payload) -> Message {
        let (label, operation) = (self.label.to_string(), self.operation.to_string());
        Message::Arrives { rank, label, operation, ticket: self.numbers(), payload }
    }

    fn numbers(&self) -> [u64; 4] {
        let dtype = self.dtype.map_or(u64::MAX, |dtype| dtype as u64);
        [self.iteration, self.length, dtype, self.split]
    }

    /// What another process told; none where it makes no sense.
    fn of(
        label: &str,
        operation: &str,
        [iteration, length, dtype, split]: [u64; 4],
    ) -> Option<Ticket> {
        let dtype = match dtype {
            u64::MAX => None,
            dtype => Some(*Dtype::ALL.get(dtype as usize)?),
        };
        let (label, operation) = (kept(label)?, kept(operation)?);
        Some(Ticket { label, iteration, operation, length, dtype, split })
    }
}

/// Words of other processes that are kept for good.
const MOST_WORDS: usize = 4096;

/// The text as one that stays; none where others have said too many.
fn kept(text: &str) -> Option<&'static str> {
    static WORDS: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut words = lock(&WORDS);
    let words = words.get_or_insert_default();
    if let Some(known) = words.get(text) {
        return Some(known);
    }
    if words.len() == MOST_WORDS {
        return None;
    }
    let text: &'static str = Box::leak(text.into());
    words.insert(text);
    Some(text)
}

impl Hears for Rendezvous {
    fn hears(&self, from: usize, message: Message) {
        let theirs = self.processes.as_ref().map_or(0..0, |processes| processes.of(from));
        match message {
            Message::Arrives { rank, label, operation, ticket, payload }
                if theirs.contains(&rank) =>
            {
                match Ticket::of(&label, &operation, ticket) {
                    Some(ticket) => self.came(&mut lock(&self.state), rank, ticket, payload),
                    None => self.gone(from, "it said what makes no sense"),
                }
            }
            Message::Wakes => self.look(),
            Message::Lends(block) => self.blocks.told(from, block),
            Message::Beats { first, beats }
                if first == theirs.start && beats.len() == theirs.len() =>
            {
                for (own, beats) in self.beats[theirs.clone()].iter().zip(beats) {
                    own.store(beats, Ordering::Relaxed);
                }
            }
            Message::Ends { rank, program } if theirs.contains(&rank) => {
                self.ended[rank].store(program, Ordering::Release);
                self.changed.notify_all();
            }
            Message::Fails(error) => _ = self.note_failure(&error),
            Message::Bye => {
                self.ended[theirs.clone()]
                    .iter()
                    .for_each(|ended| ended.store(u64::MAX, Ordering::Release));
                self.changed.notify_all();
            }
            _ => self.gone(from, "it said what makes no sense"),
        }
    }

    fn gone(&self, process: usize, why: &str) {
        let Some(processes) = &self.processes else { return };
        // What it was doing is not known: about what those here do.
        let own = processes.own().start;
        let Member { iteration, operation, .. } = lock(&self.members[own]).clone();
        let device = lock(&self.members[processes.of(process).start]).device.clone();
        let host = &processes.links.host(process).name;
        self.poison(Error::Fault {
            rank: processes.of(process).start,
            device,
            iteration,
            operation: operation.into(),
            cause: format!("its process, number {process} on {host}, has gone: {why}"),
        });
    }

    fn alive(&self) {
        self.own().for_each(|rank| self.beat(rank));
    }

    fn beats(&self) -> (usize, Vec<u64>) {
        let own = self.own();
        // Between programs a process lives as long as it says so.
        let program = self.program.load(Ordering::Acquire);
        let has_ended = |rank: usize| self.ended[rank].load(Ordering::Acquire) >= program;
        if program == NO_PROGRAM || own.clone().all(has_ended) {
            own.clone().for_each(|rank| self.beat(rank));
        }
        let beats = self.beats[own.clone()].iter().map(|beats| beats.load(Ordering::Relaxed));
        (own.start, beats.collect())
    }
}

impl Watch for Rendezvous {
    fn beat(&self, rank: usize) {
        self.beat(rank);
    }

    fn step_limit(&self) -> Duration {
        self.step_limit()
    }

    fn deadline(&self) -> Duration {
        self.deadline()
    }

    fn fault(&self, rank: usize, cause: String) -> Error {
        self.fault(rank, cause)
    }

    fn hung(&self, rank: usize, cause: String) {
        self.poison(self.fault(rank, cause));
    }

    fn failure(&self) -> Option<Error> {
        self.failure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(label: &'static str) -> Ticket {
        Ticket { label, iteration: 0, operation: "test", length: 1, dtype: None, split: 0 }
    }

    fn meeting(world: usize, deadline_ms: u64) -> Arc<Rendezvous> {
        let names: Vec<String> = (0..world).map(|r| format!("host:{r}")).collect();
        Arc::new(Rendezvous::new(&names, Duration::from_millis(deadline_ms)))
    }

    #[test]
    fn everybody_leaves_a_meeting_with_everybodys_payload() {
        let place = meeting(5, 5000);
        std::thread::scope(|scope| {
            for rank in 0..5usize {
                let place = place.clone();
                scope.spawn(move || {
                    for round in 0..200u64 {
                        let got =
                            place.meet(rank, ticket("a"), [rank as u64, round, 0, 0]).unwrap();
                        let want: Vec<Payload> = (0..5).map(|r| [r, round, 0, 0]).collect();
                        assert_eq!(got, want);
                    }
                });
            }
        });
    }

    #[test]
    fn different_tickets_end_the_meeting_and_name_both_sides() {
        let place = meeting(2, 5000);
        let other = place.clone();
        let thread = std::thread::spawn(move || other.meet(1, ticket("b"), [0; 4]).unwrap_err());
        let here = place.meet(0, ticket("a"), [0; 4]).unwrap_err().to_string();
        assert!(here.contains("test a") && here.contains("test b"), "{here}");
        assert_eq!(thread.join().unwrap().to_string(), here);
    }

    #[test]
    fn a_member_that_never_comes_is_named_within_the_deadline() {
        let place = meeting(3, 100);
        let other = place.clone();
        place.doing(2, 7, "step pull");
        let thread = std::thread::spawn(move || other.meet(1, ticket("a"), [0; 4]).unwrap_err());
        let error = place.meet(0, ticket("a"), [0; 4]).unwrap_err();
        assert_eq!(thread.join().unwrap().to_string(), error.to_string());
        let Error::Fault { rank, iteration, operation, .. } = error else { panic!("{error}") };
        assert_eq!((rank, iteration, operation.as_str()), (2, 7, "step pull"));
    }

    #[test]
    fn a_beating_member_is_waited_for_beyond_the_deadline() {
        let place = meeting(2, 150);
        let other = place.clone();
        let thread = std::thread::spawn(move || {
            for _ in 0..10 {
                std::thread::sleep(Duration::from_millis(50));
                other.beat(1);
            }
            other.meet(1, ticket("a"), [0; 4])
        });
        assert!(place.meet(0, ticket("a"), [0; 4]).is_ok());
        assert!(thread.join().unwrap().is_ok());
    }

    #[test]
    fn poison_wakes_those_who_wait_with_the_first_error() {
        let place = meeting(2, 60_000);
        let other = place.clone();
        let thread = std::thread::spawn(move || other.meet(0, ticket("a"), [0; 4]).unwrap_err());
        std::thread::sleep(Duration::from_millis(20));
        place.poison(Error::input("first"));
        place.poison(Error::input("second"));
        assert_eq!(thread.join().unwrap().to_string(), "first");
    }
}
