//! Where processes come that are started while others are at work: they wait here until these let them in.

use super::find::{MOST_GREETINGS, greet};
use super::launcher::Process;
use super::links::Links;
use super::message::{Hello, Message, send_message};
use crate::threads;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Those who have come: who they are, and their connections.
#[derive(Default)]
pub(crate) struct Newcomers(pub(super) Vec<(Hello, TcpStream)>);

impl Newcomers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The address of the fleet, where its first process listens. It is open as long as this.
pub(crate) struct Door {
    at: SocketAddr,
    came: Arc<Mutex<Newcomers>>,
    closed: Arc<AtomicBool>,
    listens: Option<JoinHandle<()>>,
}

/// What all connections to a door are measured by.
struct Guard {
    process: Process,
    /// Those who are inside.
    hellos: Vec<Hello>,
    came: Arc<Mutex<Newcomers>>,
    busy: AtomicUsize,
}

impl Door {
    /// For those who come to these processes, of which this is the first. None where it cannot listen there: a process before it
    /// did, on another host.
    pub fn open(links: &Links) -> Option<Door> {
        let listener = TcpListener::bind(links.process.address.as_str()).ok()?;
        let at = listener.local_addr().ok()?;
        let (came, closed): (Arc<Mutex<Newcomers>>, Arc<AtomicBool>) = Default::default();
        let (process, hellos) = (links.process.clone(), links.hellos.clone());
        let guard =
            Arc::new(Guard { process, hellos, came: came.clone(), busy: AtomicUsize::new(0) });
        let done = closed.clone();
        let listen = move || {
            for stream in listener.incoming().flatten() {
                if done.load(Ordering::Acquire) {
                    break;
                }
                if guard.busy.fetch_add(1, Ordering::AcqRel) < MOST_GREETINGS {
                    let guard = guard.clone();
                    let greets = threads::start("hive-greets", move || guard.greet(stream));
                    if greets.is_ok() {
                        continue;
                    }
                }
                guard.busy.fetch_sub(1, Ordering::AcqRel);
            }
        };
        let listens = Some(threads::start("hive-door", listen).ok()?);
        Some(Door { at, came, closed, listens })
    }

    /// Those who have come since it was asked last.
    pub fn came(&self) -> Newcomers {
        std::mem::take(&mut *self.came.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Guard {
    fn greet(&self, stream: TcpStream) {
        let (to, greeted) = channel();
        greet(stream, self.process.secret(), &to);
        if let Ok((hello, mut stream)) = greeted.try_recv() {
            match self.refuses(&hello) {
                Some(why) => _ = send_message(&mut stream, &Message::Refused(why)),
                None if send_message(&mut stream, &Message::Waits).is_err() => {}
                None => {
                    let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
                    came.0.push((hello, stream));
                }
            }
        }
        self.busy.fetch_sub(1, Ordering::AcqRel);
    }

    /// Why a process cannot be one of these.
    fn refuses(&self, hello: &Hello) -> Option<String> {
        let who = format!("process {} ({})", hello.number, hello.place.host.name);
        if hello.version != self.hellos[0].version {
            let (theirs, ours) = (&hello.version, &self.hellos[0].version);
            return Some(format!(
                "{who}: it runs hive {theirs}, the others run hive {ours}; start the same program"
            ));
        }
        let known = self.hellos.iter().any(|other| other.place.host == hello.place.host);
        (!known).then(|| {
            format!(
                "{who}: no process that is left is on its host; start it where one of them runs"
            )
        })
    }
}

impl Drop for Door {
    /// Nobody listens there afterwards.
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        // Wakes the thread.
        let woken = TcpStream::connect_timeout(&self.at, Duration::from_secs(1));
        if let Some(listens) = self.listens.take().filter(|_| woken.is_ok()) {
            let _ = listens.join();
        }
    }
}
