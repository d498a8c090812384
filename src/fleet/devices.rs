//! What the user says about devices, collectives and chunks, parsed.

use crate::collective::MAX_REPLICAS;
use crate::error::{Error, Result};
use crate::words::{as_text, words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The `--devices` option.
///
/// `auto` (all GPUs, else host), `cuda`, `cuda:0-3`, `cuda:0,2`, `cuda:0x4` (four replicas on GPU 0),
/// `host`, `host:N`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Devices {
    /// All GPUs of the machine, or one host replica where there is none.
    #[default]
    Auto,
    /// All GPUs of the machine.
    AllCuda,
    /// These GPUs, one replica an entry; an ordinal may repeat (`cuda:0x4`).
    Cuda(Vec<u32>),
    /// This many replicas on threads of this machine.
    Host(usize),
}

const FORMS: &str =
    "use auto, cuda, cuda:0-3, cuda:0,2, cuda:0x4, host or host:N (1 to 16 replicas)";

fn replicas_in_range(count: usize, text: &str) -> Result<()> {
    if (1..=MAX_REPLICAS).contains(&count) {
        return Ok(());
    }
    Err(Error::input(format!("--devices {text}: {count} replicas; {FORMS}")))
}

fn ordinal(text: &str, whole: &str) -> Result<u32> {
    text.parse()
        .map_err(|_| Error::input(format!("--devices {whole}: '{text}' is not a number; {FORMS}")))
}

fn parse_cuda(list: &str, whole: &str) -> Result<Vec<u32>> {
    let mut ordinals = Vec::new();
    for part in list.split(',') {
        if let Some((gpu, copies)) = part.split_once('x') {
            let copies = ordinal(copies, whole)? as usize;
            replicas_in_range(copies, whole)?;
            ordinals.extend(std::iter::repeat_n(ordinal(gpu, whole)?, copies));
        } else if let Some((first, last)) = part.split_once('-') {
            let (first, last) = (ordinal(first, whole)?, ordinal(last, whole)?);
            if first > last {
                return Err(Error::input(format!("--devices {whole}: {part} is empty; {FORMS}")));
            }
            replicas_in_range((last - first) as usize + 1, whole)?;
            ordinals.extend(first..=last);
        } else {
            ordinals.push(ordinal(part, whole)?);
        }
    }
    replicas_in_range(ordinals.len(), whole)?;
    Ok(ordinals)
}

impl FromStr for Devices {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Devices::Auto),
            None if text == "cuda" => Ok(Devices::AllCuda),
            None if text == "host" => Ok(Devices::Host(1)),
            Some(("host", count)) => {
                let count = ordinal(count, text)? as usize;
                replicas_in_range(count, text)?;
                Ok(Devices::Host(count))
            }
            Some(("cuda", list)) => Ok(Devices::Cuda(parse_cuda(list, text)?)),
            _ => Err(Error::input(format!("--devices {text}: not understood; {FORMS}"))),
        }
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Devices::Auto => f.write_str("auto"),
            Devices::AllCuda => f.write_str("cuda"),
            Devices::Host(count) => write!(f, "host:{count}"),
            Devices::Cuda(list) => {
                let one = list.iter().all(|o| *o == list[0]);
                if one && list.len() > 1 {
                    return write!(f, "cuda:{}x{}", list[0], list.len());
                }
                if let [first, .., last] = list[..]
                    && list.windows(2).all(|pair| pair[1] == pair[0] + 1)
                {
                    return write!(f, "cuda:{first}-{last}");
                }
                let list: Vec<String> = list.iter().map(u32::to_string).collect();
                write!(f, "cuda:{}", list.join(","))
            }
        }
    }
}

as_text!(Devices, Fault);

words!(
    /// The `--collective` option: what makes replicas equal.
    CollectiveKind, "--collective" {
        /// Peer access where every pair has it, else what takes less time: NCCL, hierarchical where that can be, or the host.
        #[default]
        Auto = "auto",
        /// NCCL, one communicator rank a replica.
        Nccl = "nccl",
        /// Peer access within a host, NCCL between hosts.
        Hierarchical = "hierarchical",
        /// Direct loads between replicas of one process.
        Peer = "peer",
        /// Through host memory.
        Host = "host",
    }
);

words!(
    /// What an injected fault does.
    FaultKind, "--fault" {
        /// The step returns an error.
        #[default]
        Fail = "fail",
        /// The replica's thread panics.
        Panic = "panic",
        /// The replica's thread stops answering.
        Stall = "stall",
    }
);

/// A test hook: what goes wrong, on which replica, at which driver iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fault {
    /// The rank that misbehaves.
    pub rank: usize,
    /// The driver iteration, from 0, counted over all runs of a job.
    pub iteration: u64,
    /// How.
    pub kind: FaultKind,
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::input(format!("--fault {text}: use RANK:ITERATION:fail|panic|stall"));
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next().ok_or_else(bad);
        Ok(Fault {
            rank: next()?.parse().map_err(|_| bad())?,
            iteration: next()?.parse().map_err(|_| bad())?,
            kind: next()?.parse()?,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.rank, self.iteration, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_lists_read_back_as_they_were_meant() {
        let read = |text: &str| text.parse::<Devices>().unwrap();
        assert_eq!(read("cuda:0-3"), Devices::Cuda(vec![0, 1, 2, 3]));
        assert_eq!(read("cuda:0,2"), Devices::Cuda(vec![0, 2]));
        assert_eq!(read("cuda:0x4"), Devices::Cuda(vec![0; 4]));
        assert_eq!(read("host"), Devices::Host(1));
        for text in ["auto", "cuda", "host:16", "cuda:0x4", "cuda:0,2", "cuda:0-3"] {
            assert_eq!(read(text).to_string(), text);
        }
    }

    #[test]
    fn device_lists_that_make_no_sense_are_refused_with_the_accepted_forms() {
        for text in ["host:0", "host:17", "host:x", "cuda:", "cuda:3-1", "cuda:0x0", "gpu", ""] {
            let message = text.parse::<Devices>().unwrap_err().to_string();
            assert!(message.contains("use auto, cuda"), "{text}: {message}");
        }
    }
}
