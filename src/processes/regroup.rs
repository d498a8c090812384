//! How the processes that are left after a failure find each other again.

use super::door::Newcomers;
use super::find::{GREETING, accept, introduce, meet_all, numbered, reach, told_who, welcome};
use super::launcher::Process;
use super::links::{BEAT, Links, is_early};
use super::message::{Hello, Message, broken, receive_message};
use crate::error::{Error, Result};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long those who are left wait for each other while they live, in deadlines.
const REGROUP_DEADLINES: f64 = 20.0;

impl Links {
    /// Finds those of the other processes that are left after a failure, which is not of this process. `culprits` have failed, too.
    /// The first that is left leads: it waits for those that live, and kills the others of its host. Those of other hosts it
    /// cannot kill: they may go on, too, without this one. So it needs more than half.
    ///
    /// # Errors
    /// [`Error::Machine`] where too few are left, or one cannot be killed.
    pub fn regroup(&self, culprits: &[usize]) -> Result<Arc<Links>> {
        for process in culprits {
            self.inbox().gone[*process] = true;
        }
        // Others may not know yet that something has failed.
        self.send_all(&Message::Regroups);
        self.meet_again(Newcomers::default())
    }

    /// The same where nothing has failed, and some have come, to the first. All processes call it.
    ///
    /// # Errors
    /// As of [`Links::regroup`].
    pub fn admit(&self, newcomers: Newcomers) -> Result<Arc<Links>> {
        self.meet_again(newcomers)
    }

    fn meet_again(&self, newcomers: Newcomers) -> Result<Arc<Links>> {
        let patience = self.deadline.mul_f64(REGROUP_DEADLINES);
        let hello = Hello::of(&self.process, self.door.port());
        let listener = TcpListener::bind(self.door).map_err(|e| {
            Error::machine(format!("{}: this process cannot listen there again: {e}", self.door))
        })?;
        for leader in 0..self.number() {
            if let Some((first, places, hellos)) = self.follow(leader, &hello) {
                let (process, hello) = numbered(&self.process, &hello, &hellos)?;
                let until = Instant::now() + patience;
                let connected =
                    meet_all(&process, &hello, (first, places), hellos, listener, until)?;
                return Links::open(process, connected, self.deadline);
            }
        }
        let own = self.number();
        // To follow others may have taken long.
        let until = Instant::now() + patience;
        let mut came: Vec<Option<(Hello, TcpStream)>> = self.hellos.iter().map(|_| None).collect();
        let missing = |came: &[Option<(Hello, TcpStream)>]| {
            (own + 1..self.count()).any(|other| came[other].is_none() && !self.is_out(other))
        };
        while missing(&came) && Instant::now() < until {
            let turn = Instant::now() + BEAT;
            accept(&listener, &self.process, turn, |hello, stream| {
                // Not one that has been here before.
                let known = self.hellos.get(hello.number).filter(|_| hello.number > own);
                if known.is_some_and(|known| known.place == hello.place) {
                    let number = hello.number;
                    came[number] = Some((hello, stream));
                }
                (!missing(&came)).then_some(())
            })?;
        }
        let out = |other: &&Hello| other.number != own && came[other.number].is_none();
        let (here, elsewhere): (Vec<&Hello>, Vec<&Hello>) =
            self.hellos.iter().filter(out).partition(|other| other.place.host == hello.place.host);
        let (left, unknown) = (1 + came.iter().flatten().count(), elsewhere.len());
        if !may_go_on(left, unknown, own == 0) {
            return Err(Error::machine(format!(
                "{unknown} processes of other hosts are out of reach, and {left} are left: as many may go on without these, so \
                 these stop"
            )));
        }
        for other in here {
            if !other.place.end(self.has_left(other.number)) {
                return Err(Error::machine(format!(
                    "process {} on {} does not answer and cannot be killed, so that the others may not go on",
                    other.origin, other.place.host.name
                )));
            }
        }
        let came: Vec<(Hello, TcpStream)> = came.into_iter().flatten().chain(newcomers.0).collect();
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
                // What it has said before it was gone is there.
                let out = self.is_out(leader);
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
                    Err(e) if is_early(&e) && !out => {}
                    Err(_) => break,
                }
            }
        }
        None
    }

    /// The numbers that launchers gave these processes.
    pub fn origins(&self) -> Vec<usize> {
        self.hellos.iter().map(|hello| hello.origin).collect()
    }

    /// What each process that is not in `others` was: the number that its launcher gave it, and its host.
    pub fn without(&self, others: &Links) -> Vec<(usize, String)> {
        let is_left = |hello: &&Hello| others.hellos.iter().all(|other| other.place != hello.place);
        let lost = self.hellos.iter().filter(is_left);
        lost.map(|hello| (hello.origin, hello.place.host.name.clone())).collect()
    }
}

/// Whether those who are `left` may go on while nobody knows of `unknown` others whether they live: of two groups at most one. Of two
/// halves it is that with the first.
fn may_go_on(left: usize, unknown: usize, has_first: bool) -> bool {
    left > unknown || left == unknown && has_first
}

#[cfg(test)]
mod tests {
    use super::may_go_on;

    #[test]
    fn of_two_groups_at_most_one_goes_on() {
        for left in 1..10 {
            for unknown in 1..10 {
                let (ours, theirs) =
                    (may_go_on(left, unknown, true), may_go_on(unknown, left, false));
                assert!(!(ours && theirs), "{left} and {unknown}");
                assert!(ours || theirs);
            }
            assert!(may_go_on(left, 0, false));
        }
    }
}
