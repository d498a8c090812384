//! What processes tell each other over a connection: a length, a kind, a sum and a body, whose length is bounded.

use super::host::{Place, own_place};
use super::launcher::Process;
use crate::device::Block;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::TcpStream;
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a message's body, at most.
const MOST_BYTES: usize = 1 << 21;
/// What kind a body is: a [`Message`], or data.
pub(super) const MESSAGE: u8 = 0;
pub(super) const DATA: u8 = 1;

/// What processes tell each other, beside data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Hello(Hello),
    /// The fleet does not come about.
    Refused(String),
    /// Where everybody listens, by number.
    Welcome(Vec<String>),
    /// Who takes part, by number: behind a welcome.
    Taking(Vec<Hello>),
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
    /// A replica has come to a meeting, and wrote so where processes of a host meet, while one of the receiver's slept.
    Wakes,
    /// The process tells of a block of device memory before it tells an address in it.
    Lends(Block),
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
    /// Something has failed: the process looks for those that are left.
    Regroups,
    /// The process needs nobody any more.
    Bye,
    /// The receiver has come to processes that are at work: it waits until they let it in.
    Waits,
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
    /// Where it runs.
    pub place: Place,
    /// Where it listens for those after it.
    pub port: u16,
}

impl Hello {
    /// Of this process, which listens on `port`.
    pub fn of(process: &Process, port: u16) -> Hello {
        let version = concat!(env!("CARGO_PKG_VERSION"), " ", env!("HIVE_COMMIT")).to_string();
        let &Process { number, count, origin, .. } = process;
        Hello { number, count, origin, version, place: own_place(), port }
    }
}

/// A message: its kind and its body.
pub(super) fn receive(stream: &mut impl Read) -> std::io::Result<(u8, Vec<u8>)> {
    let mut start = [0; HEAD];
    stream.read_exact(&mut start)?;
    let length = u32::from_le_bytes([start[0], start[1], start[2], start[3]]) as usize;
    let wrong = |what: String| Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    if length > MOST_BYTES {
        return wrong(format!("a message of {length} bytes"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    // What the network damages must not become an answer.
    match head(start[4], &[&body]) == start {
        true => Ok((start[4], body)),
        false => wrong("a message that is damaged".into()),
    }
}

/// How many messages processes would understand if these bytes came over a connection, and were it the body of one.
pub(crate) fn understood(mut bytes: &[u8]) -> usize {
    let is_message = |kind, body: &[u8]| {
        usize::from(kind == MESSAGE && postcard::from_bytes::<Message>(body).is_ok())
    };
    let body = framed(bytes);
    let mut count = receive(&mut &body[..]).map_or(0, |(kind, body)| is_message(kind, &body));
    while let Ok((kind, body)) = receive(&mut bytes) {
        count += is_message(kind, &body);
    }
    count
}

/// A message of the time before links are open.
pub(super) fn receive_message(stream: &mut TcpStream) -> Option<Message> {
    let (kind, body) = receive(stream).ok()?;
    (kind == MESSAGE).then(|| postcard::from_bytes(&body).ok()).flatten()
}

pub(super) fn send_message(stream: &mut TcpStream, message: &Message) -> std::io::Result<()> {
    stream.write_all(&framed(&body_of(message)))
}

/// A message's body.
pub(super) fn body_of(message: &Message) -> Vec<u8> {
    postcard::to_stdvec(message).unwrap_or_default()
}

/// Bytes before a body.
const HEAD: usize = 9;

/// What stands before a body of these parts: its length, its kind, and their sum (XXH3).
pub(super) fn head(kind: u8, parts: &[&[u8]]) -> [u8; HEAD] {
    let mut sum = Xxh3::with_seed(kind.into());
    parts.iter().for_each(|part| sum.update(part));
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut head = [kind; HEAD];
    head[..4].copy_from_slice(&(length as u32).to_le_bytes());
    head[5..].copy_from_slice(&(sum.digest() as u32).to_le_bytes());
    head
}

/// A message as it is sent.
pub(super) fn framed(body: &[u8]) -> Vec<u8> {
    [&head(MESSAGE, &[body])[..], body].concat()
}

pub(super) fn broken(error: std::io::Error) -> Error {
    Error::machine(format!("a connection to another process broke: {error}"))
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
            place: own_place(),
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
                    framed(&body)
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
            // What is damaged on the way is told, and a sum that fits makes no sense of it.
            let damaged = bytes != whole[round % whole.len()];
            assert_eq!(receive(&mut &bytes[..]).is_err(), damaged);
            if bytes.len() > HEAD {
                let sum = head(MESSAGE, &[&bytes[HEAD..]]);
                bytes[..HEAD].copy_from_slice(&sum);
            }
            let read = receive(&mut &bytes[..]);
            let message = read.ok().and_then(|(kind, body)| {
                (kind == MESSAGE).then(|| postcard::from_bytes::<Message>(&body).ok()).flatten()
            });
            if message.is_some() { right += 1 } else { wrong += 1 }
        }
        assert!(right > 1000 && wrong > 1000, "{right} {wrong}");
        let long = [&u32::MAX.to_le_bytes()[..], &[0, 1, 2]].concat();
        assert!(receive(&mut &long[..]).is_err());
    }
}
