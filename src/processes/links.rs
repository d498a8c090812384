//! Links between the processes of a fleet, over TCP.
//!
//! A thread a connection reads what comes; another says now and then that this process lives. Who waits here for another process
//! leaves with an error when that one is gone, silent for the deadline, or has failed.

use super::find::{Connected, gather, join};
use super::host::Host;
use super::launcher::Process;
use super::message::{DATA, Hello, MESSAGE, Message, body_of, broken, head, receive};
use crate::error::{Error, Result};
use crate::threads;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Bytes of a piece of data, at most.
const PIECE: usize = 1 << 20;
/// How often a process says that it lives.
pub(super) const BEAT: Duration = Duration::from_millis(100);

/// What each process said, by number.
pub(crate) type Said = Vec<Vec<u8>>;

/// Who is told what the others say of their replicas.
pub(crate) trait Hears: Send + Sync {
    /// Something other than [`Message::Said`].
    fn hears(&self, from: usize, message: Message);
    /// A process has gone without a word, for this reason.
    fn gone(&self, process: usize, why: &str);
    /// The first of this process's replicas, and their signs of life.
    fn beats(&self) -> (usize, Vec<u64>);
    /// This process's replicas wait for others.
    fn alive(&self);
}

#[derive(Default)]
pub(super) struct Inbox {
    /// By process: what it said, and the parts of what it has not ended saying.
    said: Vec<VecDeque<(String, Vec<u8>)>>,
    parts: Vec<Vec<u8>>,
    /// By sender's and receiver's rank.
    data: HashMap<(u32, u32), VecDeque<Vec<u8>>>,
    /// By process: when it was heard last, whether it took its leave, whether it is gone, what it said that it failed with.
    heard: Vec<Instant>,
    pub left: Vec<bool>,
    pub gone: Vec<bool>,
    failed_by: Vec<Option<Error>>,
    /// Somebody looks for those that are left.
    regroups: bool,
    /// What ends all that waits here.
    failed: Option<Error>,
}

impl Inbox {
    fn is_silent(&self, process: usize, deadline: Duration) -> bool {
        self.heard[process].elapsed() > deadline
    }
}

/// The links of this process.
pub(crate) struct Links {
    pub(super) process: Process,
    pub(super) hellos: Vec<Hello>,
    /// By number; none to itself.
    links: Vec<Option<Mutex<TcpStream>>>,
    inbox: Mutex<Inbox>,
    changed: Condvar,
    /// The fleet that is told what the others say: fleets follow one another.
    hears: Mutex<Option<Weak<dyn Hears>>>,
    pub(super) deadline: Duration,
    bye: OnceLock<()>,
    /// Whether all processes have the answer.
    solved: AtomicBool,
    /// Where this process listens when processes look for each other, and where each does, by number.
    pub(super) door: SocketAddr,
    pub(super) places: Vec<String>,
}

/// All links of this process that are open: they are until it has taken leave of the others, whoever else uses them.
static OPEN: Mutex<Vec<Arc<Links>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells other processes that this one ends, with an error or without.
pub(crate) fn leave(error: Option<&Error>) {
    let open = std::mem::take(&mut *lock(&OPEN));
    for links in open {
        if let Some(error) = error {
            links.send_all(&Message::Fails(error.clone()));
        }
        links.bye();
    }
}

/// Whether a process before this one was in its fleet, and has not gone.
static FOLLOWS: AtomicBool = AtomicBool::new(false);

/// Whether this process is one of several of which another speaks for all: of their end with this error, if there is one.
pub(crate) fn another_speaks(error: Option<&Error>) -> bool {
    let until = Instant::now() + Duration::from_millis(300);
    // That another has gone may come to be known here after its consequences.
    while let (true, Some(Error::Fault { .. } | Error::Lost(_))) =
        (FOLLOWS.load(Ordering::Relaxed), error)
        && Instant::now() < until
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    FOLLOWS.load(Ordering::Relaxed)
}

impl Links {
    /// Finds the other processes, for at most `patience`. One that shows no sign of life for `deadline` counts as gone later.
    ///
    /// # Errors
    /// [`Error::Input`] where they do not go together, or one does not come; [`Error::Machine`] where the address will not do.
    pub fn connect(process: Process, patience: Duration, deadline: Duration) -> Result<Arc<Links>> {
        let until = Instant::now() + patience;
        let (process, connected) = match process.number {
            0 => {
                let connected = gather(&process, until)?;
                (process, connected)
            }
            _ => join(&process, until)?,
        };
        Links::open(process, connected, deadline)
    }

    pub(super) fn open(
        process: Process,
        connected: Connected,
        deadline: Duration,
    ) -> Result<Arc<Links>> {
        // Nobody listens until processes look for each other again.
        let Connected { hellos, streams, listener, places, later } = connected;
        let door = listener.local_addr().map_err(broken)?;
        drop(listener);
        let count = process.count;
        let mut inbox = Inbox::default();
        inbox.said.resize_with(count, VecDeque::new);
        inbox.parts.resize_with(count, Vec::new);
        inbox.heard = vec![Instant::now(); count];
        (inbox.left, inbox.gone) = (vec![false; count], vec![false; count]);
        inbox.failed_by = vec![None; count];
        let mut readers = Vec::new();
        let mut links = Vec::new();
        let own = process.number;
        let absent = |(number, stream): (usize, &Option<TcpStream>)| {
            (number != own && stream.is_none()).then_some(number)
        };
        let absent: Vec<usize> = streams.iter().enumerate().filter_map(absent).collect();
        for (number, stream) in streams.into_iter().enumerate() {
            let Some(stream) = stream else {
                links.push(None);
                continue;
            };
            let set_up = stream
                .set_nodelay(true)
                .and_then(|()| stream.set_read_timeout(None))
                .and_then(|()| stream.set_write_timeout(Some(BEAT)));
            readers.push((number, set_up.and_then(|()| stream.try_clone()).map_err(broken)?));
            links.push(Some(Mutex::new(stream)));
        }
        let links = Arc::new(Links {
            process,
            hellos,
            links,
            inbox: Mutex::new(inbox),
            changed: Condvar::new(),
            hears: Mutex::new(None),
            deadline,
            bye: OnceLock::new(),
            solved: AtomicBool::new(false),
            door,
            places,
        });
        for (number, stream) in readers {
            let own = Arc::downgrade(&links);
            threads::start(format!("hive-hears-{number}"), move || hear(&own, number, stream))?;
        }
        let own = Arc::downgrade(&links);
        threads::start("hive-beats", move || beat(&own))?;
        FOLLOWS.store(links.number() > 0 && !later, Ordering::Relaxed);
        lock(&OPEN).push(links.clone());
        absent.into_iter().for_each(|number| links.lost(number, "it did not come"));
        Ok(links)
    }

    /// Those before this process speak for it from now on: it goes together with them.
    pub fn follows(&self) {
        FOLLOWS.store(self.number() > 0, Ordering::Relaxed);
    }

    /// This process's number.
    pub fn number(&self) -> usize {
        self.process.number
    }

    /// How many of this host's devices its processes have, if the launcher says so.
    pub fn devices(&self) -> Option<usize> {
        self.process.devices
    }

    /// How many processes there are.
    pub fn count(&self) -> usize {
        self.process.count
    }

    /// The host of a process.
    pub fn host(&self, process: usize) -> &Host {
        &self.hellos[process].place.host
    }

    /// This process's place among those of its host, and how many these are.
    pub fn local(&self) -> (usize, usize) {
        let here = self.here();
        (here.iter().filter(|process| **process < self.number()).count(), here.len())
    }

    /// The processes of this one's host, by number.
    pub fn here(&self) -> Vec<usize> {
        let own = self.host(self.number());
        (0..self.count()).filter(|process| self.host(*process) == own).collect()
    }

    /// How many hosts the processes are on.
    pub fn hosts(&self) -> usize {
        let first =
            |process: &usize| (0..*process).all(|other| self.host(other) != self.host(*process));
        (0..self.count()).filter(first).count()
    }

    /// Says who is told of what the others say, from now on. What they say before is kept.
    pub fn told_to(&self, hears: Weak<dyn Hears>) {
        *lock(&self.hears) = Some(hears);
    }

    pub(super) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        lock(&self.inbox)
    }

    fn hearer(&self) -> Option<Arc<dyn Hears>> {
        lock(&self.hears).as_ref().and_then(Weak::upgrade)
    }

    /// Sends a message to all others. That one cannot be reached is a failure of the fleet, not of this call.
    pub fn send_all(&self, message: &Message) {
        self.send_to(0..self.count(), message);
    }

    /// Sends a message to some. That one cannot be reached is a failure of the fleet, not of this call.
    pub fn send_to(&self, to: impl IntoIterator<Item = usize>, message: &Message) {
        let body = body_of(message);
        to.into_iter().for_each(|to| self.post(to, MESSAGE, &[&body]));
    }

    /// Sends what replica `from` has for replica `to`, which is of `process`.
    pub fn send_data(&self, process: usize, from: usize, to: usize, bytes: &[u8]) {
        let ranks = [(from as u32).to_le_bytes(), (to as u32).to_le_bytes()].concat();
        bytes.chunks(PIECE).for_each(|piece| self.post(process, DATA, &[&ranks, piece]));
    }

    fn post(&self, to: usize, kind: u8, parts: &[&[u8]]) {
        let Some(stream) = self.links.get(to).and_then(Option::as_ref) else { return };
        let mut head = head(kind, parts).to_vec();
        let mut stream = lock(stream);
        // Small messages go in one packet.
        let parts = match parts {
            [body] => {
                head.extend_from_slice(body);
                &[][..]
            }
            parts => parts,
        };
        let mut all = std::iter::once(&head[..]).chain(parts.iter().copied());
        let sent = all.try_for_each(|part| self.push(to, &mut stream, part));
        drop(stream);
        if let Err(error) = sent {
            self.lost(to, &error.to_string());
        }
    }

    /// Writes all of it, for as long as the other lives.
    fn push(&self, to: usize, stream: &mut TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_early(&error) => {
                    let silent = self.is_out(to);
                    if silent {
                        let what = format!("no sign of life for {:?}", self.deadline);
                        return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, what));
                    }
                    // Whoever waits here for another does not hang.
                    self.hearer().into_iter().for_each(|hears| hears.alive());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hands `own` to all processes and returns what all handed over, by number.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn all(&self, label: &str, own: Vec<u8>) -> Result<Said> {
        self.say(0..self.count(), label, &own);
        let mut said: Said = Vec::new();
        for process in 0..self.count() {
            said.push(match process == self.number() {
                true => own.clone(),
                false => self.said(process, label)?,
            });
        }
        Ok(said)
    }

    /// The same of values, as bytes.
    ///
    /// # Errors
    /// As there, and where another process says what makes no sense.
    pub fn all_of<T>(&self, label: &str, own: &T) -> Result<Vec<T::Owned>>
    where
        T: ToOwned + Serialize + ?Sized,
        T::Owned: DeserializeOwned,
    {
        let all = self.all(label, postcard::to_stdvec(own).unwrap_or_default())?;
        let read = all.iter().map(|bytes| postcard::from_bytes(bytes));
        let sense =
            |e| Error::machine(format!("a process said of {label} what makes no sense: {e}"));
        read.collect::<std::result::Result<_, _>>().map_err(sense)
    }

    /// Says something to these processes.
    pub fn say(&self, to: impl IntoIterator<Item = usize> + Clone, label: &str, bytes: &[u8]) {
        let mut pieces = bytes.chunks(PIECE).peekable();
        loop {
            let bytes = pieces.next().unwrap_or_default().to_vec();
            let last = pieces.peek().is_none();
            let body = body_of(&Message::Said { label: label.into(), bytes, last });
            to.clone().into_iter().for_each(|to| self.post(to, MESSAGE, &[&body]));
            if last {
                break;
            }
        }
    }

    /// What a process says next, which is to be of this.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn said(&self, process: usize, label: &str) -> Result<Vec<u8>> {
        let (theirs, bytes) =
            self.wait(process, &|| {}, |inbox| inbox.said[process].pop_front())?;
        if theirs == label {
            return Ok(bytes);
        }
        // One that has failed goes elsewhere.
        let failed = self.inbox().failed_by[process].clone();
        Err(failed.unwrap_or_else(|| {
            Error::machine(format!(
                "process {process} came for {theirs}, process {} for {label}; start all with the same command",
                self.number()
            ))
        }))
    }

    /// Refuses to go on where processes differ in `what`, of which each hands over a fingerprint.
    ///
    /// # Errors
    /// [`Error::Input`] on all. One that differs from the first says so as soon as it hears of the first: the others, who know it as
    /// soon, need not wait for this one.
    pub fn same(&self, what: &str, fingerprint: u64) -> Result<()> {
        let own = fingerprint.to_le_bytes();
        self.say(0..self.count(), what, &own);
        let said = |process| match process == self.number() {
            true => Ok(own.to_vec()),
            false => self.said(process, what),
        };
        let first = said(0)?;
        let rest = (1..self.count()).filter(|process| *process != self.number());
        for other in [self.number()].into_iter().chain(rest) {
            if other > 0 && said(other)? != first {
                return Err(Error::input(format!(
                    "process {other} has another {what} than process 0; start all processes with the same command and the same \
                     files"
                )));
            }
        }
        Ok(())
    }

    /// What a process has ended with that took its leave.
    pub fn ended(&self) -> Option<Error> {
        let inbox = self.inbox();
        let process = inbox.left.iter().position(|left| *left)?;
        let text = || format!("process {process} ({}) has ended", self.host(process).name);
        Some(inbox.failed_by[process].clone().unwrap_or_else(|| Error::machine(text())))
    }

    /// Fills `into` with what replica `from`, which is of `process`, has sent for replica `to`.
    pub fn take_data(
        &self,
        process: usize,
        (from, to): (usize, usize),
        mut into: &mut [u8],
        alive: &dyn Fn(),
    ) -> Result<()> {
        let key = (from as u32, to as u32);
        while !into.is_empty() {
            let piece = self.wait(process, alive, |inbox| inbox.data.get_mut(&key)?.pop_front())?;
            let Some((here, rest)) = into.split_at_mut_checked(piece.len()) else {
                return Err(Error::machine("more data than a merge has; this is a bug"));
            };
            here.copy_from_slice(&piece);
            into = rest;
        }
        Ok(())
    }

    /// Waits for something of `process`. `alive` is called now and then.
    fn wait<T>(
        &self,
        process: usize,
        alive: &dyn Fn(),
        mut take: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Result<T> {
        let mut inbox = self.inbox();
        loop {
            if let Some(taken) = take(&mut inbox) {
                return Ok(taken);
            }
            if let Some(error) = &inbox.failed {
                return Err(error.clone());
            }
            if inbox.left[process] {
                let text = format!("process {process} ({}) has ended", self.host(process).name);
                return Err(Error::machine(format!("{text}; start all with the same command")));
            }
            let nap = Duration::from_millis(20);
            inbox = self.changed.wait_timeout(inbox, nap).unwrap_or_else(PoisonError::into_inner).0;
            let silent = inbox.is_silent(process, self.deadline);
            drop(inbox);
            alive();
            if silent {
                self.lost(process, &format!("no sign of life for {:?}", self.deadline));
            }
            inbox = self.inbox();
        }
    }

    /// Whether a process has taken its leave.
    pub fn has_left(&self, process: usize) -> bool {
        self.inbox().left[process]
    }

    /// Whether a process has gone, has taken its leave, or shows no sign of life.
    pub(super) fn is_out(&self, process: usize) -> bool {
        let inbox = self.inbox();
        let silent = inbox.is_silent(process, self.deadline);
        inbox.gone[process] || inbox.left[process] || silent
    }

    /// Whether those who are left must find each other again: one has gone without a word, or looks for them.
    pub fn must_regroup(&self) -> bool {
        let inbox = self.inbox();
        inbox.regroups || inbox.gone.contains(&true)
    }

    /// Processes that failed by themselves: of memory, say.
    pub fn failed(&self) -> Vec<usize> {
        let inbox = self.inbox();
        let own =
            |error: &Option<Error>| matches!(error, Some(Error::Machine(_) | Error::Device { .. }));
        (0..self.count()).filter(|process| own(&inbox.failed_by[*process])).collect()
    }

    /// All processes have the answer: from now on nobody's failure is the others'.
    pub fn solved(&self) {
        self.solved.store(true, Ordering::Release);
    }

    /// Waits until process 0 takes its leave, whatever becomes of others.
    ///
    /// # Errors
    /// What it failed with, or that it is gone.
    pub fn until_first_left(&self) -> Result<()> {
        let process = 0;
        let mut inbox = self.inbox();
        loop {
            if inbox.left[process] {
                return inbox.failed_by[process].clone().map_or(Ok(()), Err);
            }
            if inbox.gone[process] {
                let host = &self.host(process).name;
                return Err(Error::Lost(format!(
                    "process {process} on {host} has gone before it had told the answer; run it again"
                )));
            }
            let nap = Duration::from_millis(20);
            inbox = self.changed.wait_timeout(inbox, nap).unwrap_or_else(PoisonError::into_inner).0;
            if inbox.is_silent(process, self.deadline) {
                inbox.gone[process] = true;
            }
        }
    }

    /// Notes a failure, which ends all that waits here.
    pub fn fail(&self, error: &Error) {
        self.inbox().failed.get_or_insert_with(|| error.clone());
        self.changed.notify_all();
    }

    /// A process cannot be reached any more.
    fn lost(&self, process: usize, why: &str) {
        let mut inbox = self.inbox();
        if inbox.left[process] || std::mem::replace(&mut inbox.gone[process], true) {
            return;
        }
        // Those who have found each other again count anew.
        let counts = lock(&OPEN).iter().any(|links| std::ptr::eq(&**links, self));
        if counts && inbox.gone[..self.number()].iter().all(|gone| *gone) {
            FOLLOWS.store(false, Ordering::Relaxed);
        }
        drop(inbox);
        // The other is to know that it is taken for gone. Who writes finds out by itself.
        if let Some(stream) = self.links[process].as_ref().and_then(|stream| stream.try_lock().ok())
        {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
        if self.solved.load(Ordering::Acquire) {
            return;
        }
        match self.hearer() {
            Some(hears) => hears.gone(process, why),
            None => self.fail(&Error::machine(format!(
                "process {process} ({}) has gone ({why}); see what it said",
                self.host(process).name
            ))),
        }
    }

    /// What has come from a process.
    fn heard(&self, from: usize, kind: u8, body: Vec<u8>) -> std::result::Result<(), String> {
        let mut inbox = self.inbox();
        inbox.heard[from] = Instant::now();
        if kind == DATA {
            let Some((ranks, _)) = body.split_first_chunk::<8>() else {
                return Err("data without an address".into());
            };
            let rank = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| ranks[at + i]));
            let piece = body[8..].to_vec();
            inbox.data.entry((rank(0), rank(4))).or_default().push_back(piece);
            self.changed.notify_all();
            return Ok(());
        }
        let message: Message = postcard::from_bytes(&body).map_err(|e| e.to_string())?;
        match message {
            Message::Said { label, bytes, last } => {
                inbox.parts[from].extend(bytes);
                if last {
                    let whole = std::mem::take(&mut inbox.parts[from]);
                    inbox.said[from].push_back((label, whole));
                    self.changed.notify_all();
                }
            }
            Message::Beats { ref beats, .. } if beats.is_empty() => {}
            message => {
                match &message {
                    Message::Bye => inbox.left[from] = true,
                    Message::Regroups => inbox.regroups = true,
                    Message::Fails(error) => {
                        inbox.failed_by[from].get_or_insert_with(|| error.clone());
                    }
                    _ => {}
                }
                self.changed.notify_all();
                drop(inbox);
                let message = match message {
                    Message::Regroups => {
                        let text = format!("process {from} looks for those that are left");
                        Message::Fails(Error::machine(text))
                    }
                    message => message,
                };
                let hearer = self.hearer().filter(|_| !self.solved.load(Ordering::Acquire));
                match (hearer, message) {
                    (Some(hears), message) => hears.hears(from, message),
                    (None, Message::Fails(error)) => self.fail(&error),
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }

    /// Takes leave of all others, once.
    pub fn bye(&self) {
        if self.bye.set(()).is_ok() {
            self.send_all(&Message::Bye);
        }
    }

    /// Nobody but who has these links needs them any more.
    pub fn forget(&self) {
        lock(&OPEN).retain(|links| !std::ptr::eq(&**links, self));
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for stream in self.links.iter().flatten() {
            // Wakes the thread that reads.
            let _ = lock(stream).shutdown(Shutdown::Both);
        }
    }
}

/// Whether something was to be tried again.
pub(super) fn is_early(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as K;
    matches!(error.kind(), K::WouldBlock | K::TimedOut | K::Interrupted)
}

/// Reads what a process sends until it is gone.
fn hear(links: &Weak<Links>, from: usize, mut stream: TcpStream) {
    let why = loop {
        match receive(&mut stream) {
            Ok((kind, body)) => {
                let Some(links) = links.upgrade() else { return };
                if let Err(what) = links.heard(from, kind, body) {
                    break what;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                break "its connection was closed".to_string();
            }
            Err(error) => break error.to_string(),
        }
    };
    if let Some(links) = links.upgrade() {
        links.lost(from, &why);
    }
}

/// Says that this process lives, as long as its links do.
fn beat(links: &Weak<Links>) {
    loop {
        std::thread::sleep(BEAT);
        let Some(links) = links.upgrade() else { return };
        let (first, beats) = links.hearer().map(|hears| hears.beats()).unwrap_or_default();
        let body = body_of(&Message::Beats { first, beats });
        for (to, stream) in links.links.iter().enumerate() {
            // Where something is being sent, that is sign of life enough.
            if stream.as_ref().is_some_and(|stream| stream.try_lock().is_ok()) {
                links.post(to, MESSAGE, &[&body]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::send_message;
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn one_with_another_sweep_is_told_so_whatever_the_others_do_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let pair = || {
            let theirs = TcpStream::connect(at).unwrap();
            (theirs, listener.accept().unwrap().0)
        };
        let ((mut first, to_first), (_second, to_second)) = (pair(), pair());
        let process = Process {
            number: 2,
            count: 3,
            origin: 2,
            address: at.to_string(),
            token: String::new(),
            devices: None,
        };
        let connected = Connected {
            hellos: vec![Hello::of(&process, 0); 3],
            streams: vec![Some(to_first), Some(to_second), None],
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            places: vec![at.to_string(); 3],
            later: true,
        };
        let links = Links::open(process, connected, Duration::from_secs(60)).unwrap();
        // The first has heard all, and goes on with the second, of which this process has heard nothing yet.
        let bytes = 1_u64.to_le_bytes().to_vec();
        let said = Message::Said { label: "sweep".into(), bytes, last: true };
        send_message(&mut first, &said).unwrap();
        send_message(&mut first, &Message::Regroups).unwrap();
        while !links.must_regroup() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let told = links.same("sweep", 2).unwrap_err().to_string();
        assert!(told.contains("process 2 has another sweep than process 0"), "{told}");
        links.forget();
    }
}
