//! Meetings of processes of one host, by memory that they share: a meeting then takes no message.
//!
//! Each replica has a few slots there in which it writes, in turn, what it comes to a meeting with. Those who wait look at the slots
//! for a while; who goes to sleep says so first, and is woken by a message.

use super::Members;
use super::host::place_of;
use crate::device::kernels::hive::REPLICAS;
use crate::error::Result;
use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Replicas that a fleet may have, and processes.
const MOST: usize = REPLICAS as usize;
/// Slots of a replica. Nobody is more than one meeting ahead of another.
const SLOTS: usize = 4;
/// Bytes of a label, and of the name of an operation.
const LABEL: usize = 224;
const OPERATION: usize = 96;
/// Numbers of a ticket, and of a payload.
const NUMBERS: usize = 8;
const WORDS: usize = NUMBERS + 2 + (LABEL + OPERATION) / 8;

/// What a replica comes with.
struct Slot {
    /// How many meetings it has come to, this one included.
    number: AtomicU64,
    /// The numbers, the lengths of both texts, and the texts.
    words: [AtomicU64; WORDS],
}

/// What lies in the shared memory. All of it may have any value: another process writes it.
struct Board {
    slots: [[Slot; SLOTS]; MOST],
    /// By process: how many of its replicas sleep.
    asleep: [AtomicU64; MOST],
}

/// What a replica came to a meeting with.
pub(crate) struct Came {
    pub label: String,
    pub operation: String,
    /// Iteration, length, type, split.
    pub ticket: [u64; 4],
    pub payload: [u64; 4],
}

/// The longest start of a text that is no longer than `most` bytes.
fn start_of(text: &'static str, most: usize) -> &'static str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// A label as others come to see it.
pub(crate) fn short_label(label: &'static str) -> &'static str {
    start_of(label, LABEL)
}

/// The name of an operation as others come to see it.
pub(crate) fn short_operation(operation: &'static str) -> &'static str {
    start_of(operation, OPERATION)
}

/// The memory that the processes of this host share.
pub(crate) struct Near {
    map: MmapRaw,
    /// By process: whether it shares it.
    shares: Vec<bool>,
    own: usize,
}

impl Near {
    /// The memory for these processes. None where this one is alone on its host, and where one cannot have it. All of them call it.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub fn among(members: &Members) -> Result<Option<Near>> {
        let links = &members.links;
        let here = links.here();
        let own = links.number();
        let mut mapped = None;
        let file = if here[0] == own && here.len() > 1 { made() } else { None };
        if here[0] == own {
            mapped = file.as_ref().and_then(map);
            let place = mapped.as_ref().and(file.as_ref()).map(place_of).unwrap_or_default();
            links.say(here[1..].iter().copied(), "a place to meet", place.as_bytes());
        } else {
            let place = links.said(here[0], "a place to meet")?;
            let place = String::from_utf8_lossy(&place).into_owned();
            let opened = File::options().read(true).write(true).open(place).ok();
            mapped = opened.as_ref().and_then(map).or(mapped);
        }
        // Nobody of a host uses it unless all of them do.
        let all = links.all("the place to meet is there", vec![mapped.is_some().into()])?;
        let whole = here.iter().all(|process| all[*process] == [1]);
        let shares = (0..links.count()).map(|process| here.contains(&process)).collect();
        Ok(mapped.filter(|_| whole).map(|map| Near { map, shares, own }))
    }

    fn board(&self) -> &Board {
        // SAFETY: the map is as long as a board (see `map`), aligned to a page, and lives as long as this; a board is made of atomic
        // numbers, for which any value will do.
        unsafe { &*self.map.as_ptr().cast::<Board>() }
    }

    /// Whether a process shares the memory.
    pub fn is_shared_with(&self, process: usize) -> bool {
        self.shares.get(process).copied().unwrap_or(false)
    }

    /// Replica `rank` of this process comes to its meeting of this number.
    pub fn comes(
        &self,
        (rank, number): (usize, u64),
        (label, operation): (&str, &str),
        (ticket, payload): ([u64; 4], [u64; 4]),
    ) {
        let Some(slots) = self.board().slots.get(rank) else { return };
        let slot = &slots[number as usize % SLOTS];
        let numbers = ticket.into_iter().chain(payload);
        let texts = [(label, LABEL), (operation, OPERATION)];
        let lengths = texts.iter().map(|(text, most)| text.len().min(*most) as u64);
        let numbers = numbers.chain(lengths);
        slot.words.iter().zip(numbers).for_each(|(to, from)| to.store(from, Ordering::Relaxed));
        let mut at = NUMBERS + 2;
        for (text, most) in texts {
            let bytes = &text.as_bytes()[..text.len().min(most)];
            for (to, from) in slot.words[at..].iter().zip(bytes.chunks(8)) {
                let mut word = [0; 8];
                word[..from.len()].copy_from_slice(from);
                to.store(u64::from_le_bytes(word), Ordering::Relaxed);
            }
            at += most / 8;
        }
        slot.number.store(number, Ordering::Release);
        // Who sleeps has said so before it looked for the last time.
        fence(Ordering::SeqCst);
    }

    /// Whether replica `rank` has come to its meeting of this number.
    pub fn has_come(&self, rank: usize, number: u64) -> bool {
        let slots = self.board().slots.get(rank);
        slots.is_some_and(|slots| {
            slots[number as usize % SLOTS].number.load(Ordering::Acquire) == number
        })
    }

    /// What it came with, if it has come.
    pub fn came(&self, rank: usize, number: u64) -> Option<Came> {
        if !self.has_come(rank, number) {
            return None;
        }
        let slot = &self.board().slots[rank][number as usize % SLOTS];
        let word = |at: usize| slot.words[at].load(Ordering::Relaxed);
        let text = |at: usize, length: u64, most: usize| {
            let words = (at..at + most / 8).flat_map(|at| word(at).to_le_bytes());
            let bytes: Vec<u8> = words.take(length as usize).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let at = NUMBERS + 2;
        Some(Came {
            label: text(at, word(NUMBERS), LABEL),
            operation: text(at + LABEL / 8, word(NUMBERS + 1), OPERATION),
            ticket: [0, 1, 2, 3].map(word),
            payload: [4, 5, 6, 7].map(word),
        })
    }

    /// The processes among these that sleep.
    pub fn asleep(&self, among: Range<usize>) -> impl Iterator<Item = usize> {
        let sleeps = |process: &usize| {
            let asleep = self.board().asleep.get(*process);
            asleep.is_some_and(|asleep| asleep.load(Ordering::SeqCst) > 0)
        };
        among.filter(|process| *process != self.own && self.is_shared_with(*process)).filter(sleeps)
    }

    /// A replica of this process goes to sleep until the result is dropped.
    pub fn sleep(&self) -> Asleep<'_> {
        let asleep = &self.board().asleep[self.own];
        asleep.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Asleep(asleep)
    }
}

/// While it lives, a replica sleeps.
pub(crate) struct Asleep<'a>(&'a AtomicU64);

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A file in memory, without a name, so that it goes with those that have it open.
fn made() -> Option<File> {
    // Written, so that there is room: a map of what there is no room for ends the process.
    let whole = |mut file: File| file.write_all(&[0; size_of::<Board>()]).map(|()| file);
    let made = tempfile::tempfile_in("/dev/shm").and_then(whole);
    made.or_else(|_| tempfile::tempfile().and_then(whole)).ok()
}

fn map(file: &File) -> Option<MmapRaw> {
    let length = size_of::<Board>();
    // One that is shorter could not be read to its end.
    let long = file.metadata().is_ok_and(|file| file.len() == length as u64);
    if long { MmapOptions::new().len(length).map_raw(file).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone() -> Near {
        let map = map(&made().unwrap()).unwrap();
        Near { map, shares: vec![true; 2], own: 1 }
    }

    #[test]
    fn what_comes_is_read_as_it_was_written() {
        let near = alone();
        let long = "é".repeat(200);
        let label = short_label(Box::leak(long.into_boxed_str()));
        assert_eq!(label.len(), LABEL);
        for number in 1..20 {
            let name = if number % 2 == 0 { label } else { "dist" };
            assert!(near.came(3, number).is_none());
            near.comes((3, number), (name, "min"), ([number, 1, 2, 3], [4, 5, 6, u64::MAX]));
            let came = near.came(3, number).unwrap();
            assert_eq!((came.label.as_str(), came.operation.as_str()), (name, "min"));
            assert_eq!((came.ticket, came.payload), ([number, 1, 2, 3], [4, 5, 6, u64::MAX]));
        }
    }

    #[test]
    fn any_bytes_make_something() {
        let near = alone();
        let mut state = 9u64;
        let board = near.board();
        for _ in 0..2_000 {
            for word in &board.slots[0][1].words {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                word.store(state, Ordering::Relaxed);
            }
            board.slots[0][1].number.store(1, Ordering::Relaxed);
            let came = near.came(0, 1).unwrap();
            assert!(came.label.len() <= 3 * LABEL && came.operation.len() <= 3 * OPERATION);
        }
        assert!(near.came(MOST, 1).is_none());
    }

    #[test]
    fn sleepers_are_known_while_they_sleep() {
        let file = made().unwrap();
        let [near, other] =
            [0, 1].map(|own| Near { map: map(&file).unwrap(), shares: vec![true; 2], own });
        let asleep = |near: &Near| near.asleep(0..2).collect::<Vec<_>>();
        let sleeping = near.sleep();
        assert_eq!((asleep(&other), asleep(&near)), (vec![0], Vec::new()));
        drop(sleeping);
        assert!(asleep(&other).is_empty());
    }
}
