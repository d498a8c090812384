//! Links between the processes of a fleet, over TCP.
//!
//! Number 0 listens at the fleet's address. The others connect, show the fingerprint of the token and say who they are. When
//! all are there, number 0 tells them where the others listen, and each connects to those before it. Whoever does not show the
//! fingerprint gets no answer. Messages are a length, a kind and a body; lengths are bounded.

use super::launcher::Process;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// What a connection begins with, before the fingerprint; the last byte is the version of what follows.
const MAGIC: [u8; 8] = *b"hive\0\0\0\x01";
/// Bytes of a message's body, at most.
const MOST_BYTES: usize = 1 << 21;
/// Bytes of a piece of data, at most.
const PIECE: usize = 1 << 20;
/// How long a connection may take to come about, or to say something once it has shown the fingerprint.
const GREETING: Duration = Duration::from_secs(2);
/// How long a new one may take to show the fingerprint.
const SHOWING: Duration = Duration::from_millis(500);
/// How long those who are left wait for each other while they live, in deadlines.
const REGROUP_DEADLINES: f64 = 20.0;
/// New connections that are listened to at once.
const MOST_GREETINGS: usize = 64;
/// How often a process says that it lives.
const BEAT: Duration = Duration::from_millis(100);

/// What processes tell each other, beside data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Hello(Hello),
    /// The fleet does not come about.
    Refused(String),
    /// Where everybody listens, by number.
    Welcome(Vec<String>),
    /// Signs of life of replicas, from this rank on.
    Beats {
        first: usize,
        beats: Vec<u64>,
    },
    /// A replica has come to a meeting.
    Arrives {
        rank: usize,
        label: String,
        operation: String,
        /// Iteration, length, type, split.
        ticket: [u64; 4],
        payload: [u64; 4],
    },
    /// A replica has ended its part of a program.
    Ends {
        rank: usize,
        program: u64,
    },
    /// A replica, or all of the process, has failed.
    Fails(Error),
    /// A part of what the process says of something, and whether it is the last.
    Said {
        label: String,
        bytes: Vec<u8>,
        last: bool,
    },
    /// The process needs nobody any more.
    Bye,
}

/// How a process introduces itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub number: usize,
    pub count: usize,
    /// The number that its launcher gave it.
    pub origin: usize,
    /// Of the program.
    pub version: String,
    /// Name of its host, and what tells this one from others of that name.
    pub host: (String, String),
    /// Its number on its host, and what tells this one from others that had the number.
    pub pid: (i32, String),
    /// Where it listens for those after it.
    pub port: u16,
}

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
struct Inbox {
    /// By process: what it said, and the parts of what it has not ended saying.
    said: Vec<VecDeque<(String, Vec<u8>)>>,
    parts: Vec<Vec<u8>>,
    /// By sender's and receiver's rank.
    data: HashMap<(u32, u32), VecDeque<Vec<u8>>>,
    /// By process: when it was heard last, whether it took its leave, whether it is gone.
    heard: Vec<Option<Instant>>,
    left: Vec<bool>,
    gone: Vec<bool>,
    failed_by: Vec<Option<Error>>,
    failed: Option<Error>,
}

/// The links of this process.
pub(crate) struct Links {
    process: Process,
    hellos: Vec<Hello>,
    /// By number; none to itself.
    links: Vec<Option<Mutex<TcpStream>>>,
    inbox: Mutex<Inbox>,
    changed: Condvar,
    hears: OnceLock<Weak<dyn Hears>>,
    deadline: Duration,
    bye: OnceLock<()>,
    solved: AtomicBool,
    /// Where this process listens, and where each does, by number.
    listener: TcpListener,
    places: Vec<String>,
}

/// What connecting comes to.
struct Connected {
    hellos: Vec<Hello>,
    streams: Streams,
    listener: TcpListener,
    places: Vec<String>,
}

/// All links of this process that may be open.
static OPEN: Mutex<Vec<Weak<Links>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_links() -> Vec<Arc<Links>> {
    lock(&OPEN).iter().filter_map(Weak::upgrade).collect()
}

/// Tells other processes that this one ends, with an error or without.
pub(crate) fn leave(error: Option<&Error>) {
    for links in open_links() {
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
    while let (true, Some(Error::Fault { .. })) = (FOLLOWS.load(Ordering::Relaxed), error)
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
        let connected = match process.number {
            0 => gather(&process, until)?,
            _ => join(&process, until)?,
        };
        Links::open(process, connected, deadline)
    }

    fn open(process: Process, connected: Connected, deadline: Duration) -> Result<Arc<Links>> {
        let Connected { hellos, streams, listener, places } = connected;
        let count = process.count;
        let mut inbox = Inbox::default();
        inbox.said.resize_with(count, VecDeque::new);
        inbox.parts.resize_with(count, Vec::new);
        inbox.heard = vec![Some(Instant::now()); count];
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
            hears: OnceLock::new(),
            deadline,
            bye: OnceLock::new(),
            solved: AtomicBool::new(false),
            listener,
            places,
        });
        for (number, stream) in readers {
            let own = Arc::downgrade(&links);
            named(format!("hive-hears-{number}"), move || hear(&own, number, stream))?;
        }
        let own = Arc::downgrade(&links);
        named("hive-beats".into(), move || beat(&own))?;
        FOLLOWS.store(links.number() > 0, Ordering::Relaxed);
        let mut open = lock(&OPEN);
        open.retain(|links| links.strong_count() > 0);
        open.push(Arc::downgrade(&links));
        drop(open);
        absent.into_iter().for_each(|number| links.lost(number, "it did not come"));
        Ok(links)
    }

    /// This process's number.
    pub fn number(&self) -> usize {
        self.process.number
    }

    /// How many processes there are.
    pub fn count(&self) -> usize {
        self.process.count
    }

    /// The host of a process.
    pub fn host(&self, process: usize) -> &str {
        &self.hellos[process].host.0
    }

    /// This process's place among those of its host, and how many these are.
    pub fn local(&self) -> (usize, usize) {
        let own = &self.hellos[self.number()].host;
        let here = |before: &[Hello]| before.iter().filter(|hello| hello.host == *own).count();
        (here(&self.hellos[..self.number()]), here(&self.hellos))
    }

    /// Says who is told of what the others say, from now on. What they say before is kept.
    pub fn told_to(&self, hears: Weak<dyn Hears>) {
        let _ = self.hears.set(hears);
    }

    fn hearer(&self) -> Option<Arc<dyn Hears>> {
        self.hears.get().and_then(Weak::upgrade)
    }

    /// Sends a message to all others. That one cannot be reached is a failure of the fleet, not of this call.
    pub fn send_all(&self, message: &Message) {
        let body = postcard::to_stdvec(message).unwrap_or_default();
        (0..self.count()).for_each(|to| self.post(to, 0, &[&body]));
    }

    /// Sends what replica `from` has for replica `to`, which is of `process`.
    pub fn send_data(&self, process: usize, from: usize, to: usize, bytes: &[u8]) {
        let ranks = [(from as u32).to_le_bytes(), (to as u32).to_le_bytes()].concat();
        bytes.chunks(PIECE).for_each(|piece| self.post(process, 1, &[&ranks, piece]));
    }

    fn post(&self, to: usize, kind: u8, parts: &[&[u8]]) {
        let Some(stream) = self.links.get(to).and_then(Option::as_ref) else { return };
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut head = (length as u32).to_le_bytes().to_vec();
        head.push(kind);
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
        let mut pieces = own.chunks(PIECE).peekable();
        loop {
            let bytes = pieces.next().unwrap_or_default().to_vec();
            let last = pieces.peek().is_none();
            self.send_all(&Message::Said { label: label.into(), bytes, last });
            if last {
                break;
            }
        }
        let mut said: Said = Vec::new();
        for process in 0..self.count() {
            if process == self.number() {
                said.push(own.clone());
                continue;
            }
            let (theirs, bytes) =
                self.wait(process, &|| {}, |inbox| inbox.said[process].pop_front())?;
            if theirs != label {
                return Err(Error::machine(format!(
                    "process {process} came for {theirs}, process {} for {label}; start all with the same command",
                    self.number()
                )));
            }
            said.push(bytes);
        }
        Ok(said)
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
        let mut inbox = lock(&self.inbox);
        loop {
            if let Some(taken) = take(&mut inbox) {
                return Ok(taken);
            }
            if let Some(error) = &inbox.failed {
                return Err(error.clone());
            }
            if inbox.left[process] {
                let text = format!("process {process} ({}) has ended", self.host(process));
                return Err(Error::machine(format!("{text}; start all with the same command")));
            }
            let nap = Duration::from_millis(20);
            inbox = self.changed.wait_timeout(inbox, nap).unwrap_or_else(PoisonError::into_inner).0;
            let silent = inbox.heard[process].is_some_and(|at| at.elapsed() > self.deadline);
            drop(inbox);
            alive();
            if silent {
                self.lost(process, &format!("no sign of life for {:?}", self.deadline));
            }
            inbox = lock(&self.inbox);
        }
    }

    /// Whether all processes are on one host.
    pub fn are_together(&self) -> bool {
        self.hellos.iter().all(|hello| hello.host == self.hellos[0].host)
    }

    /// Whether a process has gone, has taken its leave, or shows no sign of life.
    fn is_out(&self, process: usize) -> bool {
        let inbox = lock(&self.inbox);
        let silent = inbox.heard[process].is_some_and(|at| at.elapsed() > self.deadline);
        inbox.gone[process] || inbox.left[process] || silent
    }

    /// Finds those of the other processes that are left after a failure, which is not of this process. `culprits` have failed, too.
    /// The first that is left leads: it waits for those that live, and kills the others.
    ///
    /// # Errors
    /// [`Error::Machine`] where processes are on several hosts: it would not be known who is dead.
    pub fn regroup(&self, culprits: &[usize]) -> Result<Arc<Links>> {
        if !self.are_together() {
            return Err(Error::machine(
                "those who are left go on only on one host in this version; use --on-failure stop",
            ));
        }
        for process in culprits {
            lock(&self.inbox).gone[*process] = true;
        }
        let until = Instant::now() + self.deadline.mul_f64(REGROUP_DEADLINES);
        let port = self.listener.local_addr().map_or(0, |at| at.port());
        let hello = own_hello(&self.process, port);
        let listener = self.listener.try_clone().map_err(broken)?;
        for leader in 0..self.number() {
            if let Some((first, places, hellos)) = self.follow(leader, &hello) {
                let is_own = |other: &Hello| (&other.host, &other.pid) == (&hello.host, &hello.pid);
                let number = hellos.iter().position(is_own);
                let number =
                    number.ok_or_else(|| Error::machine("process 0 went on without this"))?;
                let process = Process { number, count: places.len(), ..self.process.clone() };
                let hello = Hello { number, count: places.len(), ..hello };
                let connected =
                    meet_all(&process, &hello, (first, places), hellos, listener, until)?;
                return Links::open(process, connected, self.deadline);
            }
        }
        let own = self.number();
        let mut came: Vec<Option<(Hello, TcpStream)>> = self.hellos.iter().map(|_| None).collect();
        let missing = |came: &[Option<(Hello, TcpStream)>]| {
            (own + 1..self.count()).any(|other| came[other].is_none() && !self.is_out(other))
        };
        while missing(&came) && Instant::now() < until {
            let turn = Instant::now() + BEAT;
            accept(&listener, &self.process, turn, |hello, stream| {
                // Not one that has been here before.
                let known = self.hellos.get(hello.number).filter(|_| hello.number > own);
                if known.is_some_and(|known| (&known.host, &known.pid) == (&hello.host, &hello.pid))
                {
                    let number = hello.number;
                    came[number] = Some((hello, stream));
                }
                (!missing(&came)).then_some(())
            })?;
        }
        let out =
            self.hellos.iter().filter(|other| other.number != own && came[other.number].is_none());
        for other in out {
            if !kill(&other.pid) {
                return Err(Error::machine(format!(
                    "process {} on {} does not answer and cannot be killed, so that the others may not go on",
                    other.origin, other.host.0
                )));
            }
        }
        let came: Vec<(Hello, TcpStream)> = came.into_iter().flatten().collect();
        let process = Process { number: 0, count: 1 + came.len(), ..self.process.clone() };
        let connected = welcome(&self.places[own], hello, came, listener)?;
        Links::open(process, connected, self.deadline)
    }

    /// Asks a process that may lead to be one of those that go on with it: its connection, where all listen, and who they are. None
    /// where it is out.
    fn follow(&self, leader: usize, hello: &Hello) -> Option<(TcpStream, Vec<String>, Vec<Hello>)> {
        while !self.is_out(leader) {
            let asked = reach(&self.places[leader], Instant::now()).and_then(|mut stream| {
                introduce(&mut stream, &self.process, hello).map_err(broken)?;
                stream.set_read_timeout(Some(BEAT)).map_err(broken)?;
                Ok(stream)
            });
            let Ok(mut first) = asked else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            // It may have much to do before it hears of the failure.
            loop {
                match first.peek(&mut [0]) {
                    Ok(0) => break,
                    Ok(_) => {
                        first.set_read_timeout(Some(GREETING)).ok()?;
                        let Some(Message::Welcome(places)) = receive_message(&mut first) else {
                            break;
                        };
                        let hellos = told_who(&mut first).ok()?;
                        return (hellos.len() == places.len()).then_some((first, places, hellos));
                    }
                    Err(e) if is_early(&e) && !self.is_out(leader) => {}
                    Err(_) => break,
                }
            }
        }
        None
    }

    /// What each process that is not in `others` was: the number that its launcher gave it, and its host.
    pub fn without(&self, others: &Links) -> Vec<(usize, String)> {
        let is_left = |hello: &&Hello| {
            others.hellos.iter().all(|other| (&other.host, &other.pid) != (&hello.host, &hello.pid))
        };
        let lost = self.hellos.iter().filter(is_left);
        lost.map(|hello| (hello.origin, hello.host.0.clone())).collect()
    }

    /// Whether a process has gone without a word.
    pub fn has_lost(&self) -> bool {
        lock(&self.inbox).gone.contains(&true)
    }

    /// Processes that failed by themselves: of memory, say.
    pub fn failed(&self) -> Vec<usize> {
        let inbox = lock(&self.inbox);
        let own =
            |error: &Option<Error>| matches!(error, Some(Error::Machine(_) | Error::Device { .. }));
        (0..self.count()).filter(|process| own(&inbox.failed_by[*process])).collect()
    }

    /// All processes have the answer: from now on nobody's failure is the others'.
    pub fn is_solved(&self) {
        self.solved.store(true, Ordering::Release);
    }

    /// Waits until a process takes its leave, whatever becomes of others.
    ///
    /// # Errors
    /// What it failed with, or that it is gone.
    pub fn until_left(&self, process: usize) -> Result<()> {
        let mut inbox = lock(&self.inbox);
        loop {
            if inbox.left[process] {
                return inbox.failed_by[process].clone().map_or(Ok(()), Err);
            }
            if inbox.gone[process] {
                return Err(Error::Fault {
                    rank: 0,
                    device: "host".into(),
                    iteration: 0,
                    operation: "report".into(),
                    cause: format!(
                        "process {process} on {} has gone before it had told the answer",
                        self.host(process)
                    ),
                });
            }
            let nap = Duration::from_millis(20);
            inbox = self.changed.wait_timeout(inbox, nap).unwrap_or_else(PoisonError::into_inner).0;
            if inbox.heard[process].is_some_and(|at| at.elapsed() > self.deadline) {
                inbox.gone[process] = true;
            }
        }
    }

    /// Notes a failure, which ends all that waits here.
    pub fn fail(&self, error: &Error) {
        lock(&self.inbox).failed.get_or_insert_with(|| error.clone());
        self.changed.notify_all();
    }

    /// A process cannot be reached any more.
    fn lost(&self, process: usize, why: &str) {
        let mut inbox = lock(&self.inbox);
        if inbox.left[process] || std::mem::replace(&mut inbox.gone[process], true) {
            return;
        }
        if inbox.gone[..self.number()].iter().all(|gone| *gone) {
            FOLLOWS.store(false, Ordering::Relaxed);
        }
        drop(inbox);
        self.changed.notify_all();
        if self.solved.load(Ordering::Acquire) {
            return;
        }
        match self.hearer() {
            Some(hears) => hears.gone(process, why),
            None => self.fail(&Error::machine(format!(
                "process {process} ({}) has gone while the fleet was made ({why}); see what it said",
                self.host(process)
            ))),
        }
    }

    /// What has come from a process.
    fn heard(&self, from: usize, kind: u8, body: Vec<u8>) -> std::result::Result<(), String> {
        let mut inbox = lock(&self.inbox);
        inbox.heard[from] = Some(Instant::now());
        if kind == 1 {
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
                    Message::Fails(error) => {
                        inbox.failed_by[from].get_or_insert_with(|| error.clone());
                    }
                    _ => {}
                }
                self.changed.notify_all();
                drop(inbox);
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
}

impl Drop for Links {
    fn drop(&mut self) {
        for stream in self.links.iter().flatten() {
            // Wakes the thread that reads.
            let _ = lock(stream).shutdown(Shutdown::Both);
        }
    }
}

fn named(name: String, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = std::thread::Builder::new().name(name).spawn(body);
    started.map(drop).map_err(|e| Error::machine(format!("cannot start a thread: {e}")))
}

/// Whether something was to be tried again.
fn is_early(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as K;
    matches!(error.kind(), K::WouldBlock | K::TimedOut | K::Interrupted)
}

fn broken(error: std::io::Error) -> Error {
    Error::machine(format!("a connection to another process broke: {error}"))
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
        let body = postcard::to_stdvec(&Message::Beats { first, beats }).unwrap_or_default();
        for (to, stream) in links.links.iter().enumerate() {
            // Where something is being sent, that is sign of life enough.
            if stream.as_ref().is_some_and(|stream| stream.try_lock().is_ok()) {
                links.post(to, 0, &[&body]);
            }
        }
    }
}

/// A message: its kind and its body.
fn receive(stream: &mut impl Read) -> std::io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if length > MOST_BYTES {
        let what = format!("a message of {length} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((head[4], body))
}

/// A message of the time before links are open.
fn receive_message(stream: &mut TcpStream) -> Option<Message> {
    let (kind, body) = receive(stream).ok()?;
    (kind == 0).then(|| postcard::from_bytes(&body).ok()).flatten()
}

fn send_message(stream: &mut TcpStream, message: &Message) -> std::io::Result<()> {
    let body = postcard::to_stdvec(message).unwrap_or_default();
    let mut all = (body.len() as u32).to_le_bytes().to_vec();
    all.push(0);
    all.extend(body);
    stream.write_all(&all)
}

/// Kills a process of this host, and says whether it is dead.
fn kill((pid, since): &(i32, String)) -> bool {
    if since.is_empty() {
        return false;
    }
    let until = Instant::now() + GREETING;
    while started(*pid).is_some_and(|at| at == *since) {
        #[cfg(unix)]
        if let Some(pid) = rustix::process::Pid::from_raw(*pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Who this host is, and which of those of its name.
fn host() -> (String, String) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let name = read("/proc/sys/kernel/hostname");
    let name = if name.is_empty() { "this host".into() } else { name };
    // Containers of one host see each other's processes only if they share them.
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    (name, format!("{} {}", read("/proc/sys/kernel/random/boot_id"), space.display()))
}

fn own_pid() -> (i32, String) {
    let pid = std::process::id() as i32;
    (pid, started(pid).unwrap_or_default())
}

/// When the process of this number started, by the system's clock; none where there is none, or it has died.
fn started(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    (!["Z", "X"].contains(&state)).then(|| fields.nth(18).map(String::from)).flatten()
}

fn own_hello(process: &Process, port: u16) -> Hello {
    let version = concat!(env!("CARGO_PKG_VERSION"), " ", env!("HIVE_COMMIT")).to_string();
    let (number, count) = (process.number, process.count);
    let origin = process.origin;
    Hello { number, count, origin, version, host: host(), pid: own_pid(), port }
}

/// Listens to a new connection until it has said who it is; without the fingerprint it gets no answer.
fn greet(mut stream: TcpStream, secret: [u8; 32], to: &Sender<(Hello, TcpStream)>) {
    let mut shown = [0; 40];
    let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(SHOWING)));
    let until = Instant::now() + SHOWING;
    let mut read = 0;
    while read < shown.len() {
        match stream.read(&mut shown[read..]) {
            Ok(some) if ready.is_ok() && some > 0 && Instant::now() < until => read += some,
            _ => return,
        }
    }
    if shown[..8] != MAGIC || shown[8..] != secret {
        return;
    }
    let _ = stream.set_read_timeout(Some(GREETING));
    if let Some(Message::Hello(hello)) = receive_message(&mut stream) {
        let _ = to.send((hello, stream));
    }
}

/// Accepts connections and greets them beside each other, until `take` has all that it wants.
fn accept<T>(
    listener: &TcpListener,
    process: &Process,
    until: Instant,
    mut take: impl FnMut(Hello, TcpStream) -> Option<T>,
) -> Result<Option<T>> {
    listener.set_nonblocking(true).map_err(broken)?;
    let (to, greeted) = channel();
    let busy = Arc::new(AtomicUsize::new(0));
    while Instant::now() < until {
        // Others wait at the door.
        if busy.load(Ordering::Relaxed) < MOST_GREETINGS
            && let Ok((stream, _)) = listener.accept()
        {
            let (to, secret, done) = (to.clone(), process.secret(), busy.clone());
            busy.fetch_add(1, Ordering::Relaxed);
            named("hive-greets".into(), move || {
                greet(stream, secret, &to);
                done.fetch_sub(1, Ordering::Relaxed);
            })?;
        }
        while let Ok((hello, stream)) = greeted.recv_timeout(Duration::from_millis(2)) {
            if let Some(all) = take(hello, stream) {
                return Ok(Some(all));
            }
        }
    }
    Ok(None)
}

type Streams = Vec<Option<TcpStream>>;

/// Number 0: waits for all others, and tells them of each other.
fn gather(process: &Process, until: Instant) -> Result<Connected> {
    let Process { count, address, .. } = process;
    let listener = TcpListener::bind(address.as_str()).map_err(|e| {
        Error::input(format!("--rendezvous {address}: process 0 cannot listen there ({e}); use an address of its host and \
                              a free port"))
    })?;
    let own = own_hello(process, 0);
    let mut came: Vec<Option<(Hello, TcpStream)>> = (0..*count).map(|_| None).collect();
    let mut wrong = None;
    let mut missing = count - 1;
    accept(&listener, process, until, |hello, stream| {
        let number = hello.number;
        let says = |what: String| Some(format!("process {number} ({}): {what}", hello.host.0));
        if hello.version != own.version {
            let (theirs, ours) = (&hello.version, &own.version);
            wrong = says(format!(
                "it runs hive {theirs}, process 0 runs hive {ours}; start the same program everywhere"
            ));
        } else if hello.count != *count {
            let theirs = hello.count;
            wrong = says(format!(
                "it is one of {theirs} processes, process 0 is one of {count}; start all by one launcher"
            ));
        } else if number == 0 || number >= *count || came[number].is_some() {
            wrong = says("another process has this number; give each a number of its own".into());
        } else {
            missing -= 1;
        }
        if let Some(place) = came.get_mut(number) {
            *place = Some((hello, stream));
        }
        (missing == 0 || wrong.is_some()).then_some(())
    })?;
    let absent = || came.iter().skip(1).position(Option::is_none).map(|at| at + 1);
    let wrong = wrong.or_else(|| {
        absent().map(|number| {
            format!(
                "process {number} of {count} did not come to {address} in time; see what it said, and that it reaches this \
                 address and has the same HIVE_TOKEN"
            )
        })
    });
    if let Some(wrong) = wrong {
        for (_, stream) in came.iter_mut().flatten() {
            let _ = send_message(stream, &Message::Refused(wrong.clone()));
        }
        return Err(Error::input(wrong));
    }
    let came = came.into_iter().flatten().collect();
    welcome(address, own, came, listener)
}

/// Tells those who have come of each other.
fn welcome(
    address: &str,
    own: Hello,
    mut came: Vec<(Hello, TcpStream)>,
    listener: TcpListener,
) -> Result<Connected> {
    // A host that is reached by way of this one's loopback is this one.
    let here = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let place = |(hello, stream): &(Hello, TcpStream)| match stream.peer_addr().map(|at| at.ip()) {
        Ok(ip) if !ip.is_loopback() => SocketAddr::new(ip, hello.port).to_string(),
        _ => format!("{here}:{}", hello.port),
    };
    let places: Vec<String> =
        std::iter::once(address.to_string()).chain(came.iter().map(place)).collect();
    for (_, stream) in &mut came {
        // One that has died meanwhile is missed later.
        let _ = send_message(stream, &Message::Welcome(places.clone()));
    }
    let (mut hellos, mut streams) = (vec![own], vec![None]);
    for (hello, stream) in came {
        hellos.push(hello);
        streams.push(Some(stream));
    }
    // Who is who follows from what everybody said to number 0.
    let count = hellos.len();
    for (number, hello) in hellos.iter_mut().enumerate() {
        (hello.number, hello.count) = (number, count);
    }
    let all = postcard::to_stdvec(&hellos).unwrap_or_default();
    for stream in streams.iter_mut().flatten() {
        let told = Message::Said { label: "processes".into(), bytes: all.clone(), last: true };
        let _ = send_message(stream, &told);
    }
    Ok(Connected { hellos, streams, listener, places })
}

/// Connects to an address until it is there.
fn reach(address: &str, until: Instant) -> Result<TcpStream> {
    let mut why = String::from("no such host");
    loop {
        let addresses: Vec<SocketAddr> =
            address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
        for at in addresses {
            match TcpStream::connect_timeout(&at, GREETING) {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error.to_string(),
            }
        }
        if Instant::now() >= until {
            return Err(Error::input(format!(
                "{address}: nobody of this fleet was there in time ({why}); see that process 0 runs, and that this host \
                 reaches its address"
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn introduce(stream: &mut TcpStream, process: &Process, hello: &Hello) -> std::io::Result<()> {
    let shown = [&MAGIC[..], &process.secret()].concat();
    stream.write_all(&shown)?;
    send_message(stream, &Message::Hello(hello.clone()))
}

/// All but number 0: is told of the others, and connects to them.
fn join(process: &Process, until: Instant) -> Result<Connected> {
    let Process { number, count, address, .. } = process;
    let mut first = reach(address, until)?;
    let own = first.local_addr().map_or(IpAddr::from([127, 0, 0, 1]), |at| at.ip());
    let listener = TcpListener::bind((own, 0)).map_err(broken)?;
    let port = listener.local_addr().map_err(broken)?.port();
    let hello = own_hello(process, port);
    introduce(&mut first, process, &hello).map_err(broken)?;
    let left = until.saturating_duration_since(Instant::now()) + GREETING;
    first.set_read_timeout(Some(left)).map_err(broken)?;
    match receive_message(&mut first) {
        Some(Message::Welcome(places)) if places.len() == *count => {
            meet_others(process, &hello, (first, places), listener, until)
        }
        Some(Message::Refused(why)) => Err(Error::input(why)),
        _ => Err(Error::input(format!(
            "{address}: process 0 did not answer process {number}; start all with the same program and HIVE_TOKEN"
        ))),
    }
}

/// Connects to those before this process, and waits for those after it; number 0 has said where they are.
fn meet_others(
    process: &Process,
    hello: &Hello,
    (mut first, places): (TcpStream, Vec<String>),
    listener: TcpListener,
    until: Instant,
) -> Result<Connected> {
    let hellos = told_who(&mut first)?;
    meet_all(process, hello, (first, places), hellos, listener, until)
}

/// Who takes part, by number, as number 0 tells behind its welcome.
fn told_who(first: &mut TcpStream) -> Result<Vec<Hello>> {
    match receive_message(first) {
        Some(Message::Said { bytes, .. }) => Ok(postcard::from_bytes(&bytes).unwrap_or_default()),
        _ => Err(Error::machine("process 0 did not say who takes part")),
    }
}

fn meet_all(
    process: &Process,
    hello: &Hello,
    (first, places): (TcpStream, Vec<String>),
    hellos: Vec<Hello>,
    listener: TcpListener,
    until: Instant,
) -> Result<Connected> {
    let Process { number, count, .. } = process;
    if hellos.len() != *count {
        return Err(Error::machine("process 0 did not say who takes part; this is a bug"));
    }
    let mut streams: Streams = (0..*count).map(|_| None).collect();
    streams[0] = Some(first);
    for (other, place) in places.iter().enumerate().take(*number).skip(1) {
        // One that has died meanwhile is missed later.
        let greeted = reach(place, until.min(Instant::now() + GREETING)).and_then(|mut stream| {
            introduce(&mut stream, process, hello).map_err(broken)?;
            Ok(stream)
        });
        streams[other] = greeted.ok();
    }
    let mut missing = count - 1 - number;
    if missing > 0 {
        accept(&listener, process, until, |hello, stream| {
            let known = hellos.get(hello.number).filter(|_| hello.number > *number);
            if known.is_some_and(|known| (&known.host, &known.pid) == (&hello.host, &hello.pid))
                && streams[hello.number].is_none()
            {
                streams[hello.number] = Some(stream);
                missing -= 1;
            }
            (missing == 0).then_some(())
        })?;
    }
    Ok(Connected { hellos, streams, listener, places })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers (xorshift).
    fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below
        }
    }

    #[test]
    fn bytes_that_make_no_sense_are_errors() {
        let mut number = numbers(7);
        let hello = Message::Hello(Hello {
            number: 1,
            count: 2,
            version: "0.1.0".into(),
            origin: 1,
            host: ("h".into(), "b".into()),
            pid: (7, "9".into()),
            port: 4,
        });
        let arrives = Message::Arrives {
            rank: 3,
            label: "dist".into(),
            operation: "min".into(),
            ticket: [1; 4],
            payload: [2; 4],
        };
        let said = Message::Said { label: "devices".into(), bytes: vec![1; 40], last: true };
        let fails = Message::Fails(Error::input("no"));
        let whole: Vec<Vec<u8>> =
            [hello, arrives, said, fails, Message::Welcome(vec!["a:1".into()])]
                .iter()
                .map(|message| {
                    let body = postcard::to_stdvec(message).unwrap();
                    [&(body.len() as u32).to_le_bytes()[..], &[0], &body].concat()
                })
                .collect();
        let (mut right, mut wrong) = (0, 0);
        for round in 0..100_000 {
            let mut bytes = whole[round % whole.len()].clone();
            for _ in 0..number(4) {
                let at = number(bytes.len());
                bytes[at] = number(256) as u8;
            }
            bytes.truncate(bytes.len() - number(3).min(bytes.len()));
            let read = receive(&mut &bytes[..]);
            let message = read.ok().and_then(|(kind, body)| {
                (kind == 0).then(|| postcard::from_bytes::<Message>(&body).ok()).flatten()
            });
            if message.is_some() { right += 1 } else { wrong += 1 }
        }
        assert!(right > 1000 && wrong > 1000, "{right} {wrong}");
        let long = [&u32::MAX.to_le_bytes()[..], &[0, 1, 2]].concat();
        assert!(receive(&mut &long[..]).is_err());
    }
}
