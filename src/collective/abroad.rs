//! Device memory of other processes of a host, as GPUs of this process see it.
//!
//! An address means nothing in another process. So before a replica tells one, its process tells of the block that it lies in;
//! whoever is told the address maps the block, once, and finds the same place in it.

use super::Rendezvous;
use crate::device::{Block, Borrowed, Stream};
use crate::error::{Error, Result};
use crate::processes::{Members, Message};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Blocks that processes have told of, this one's own among them.
#[derive(Default)]
pub(super) struct Blocks {
    /// By process, by address there.
    told: Mutex<HashMap<usize, BTreeMap<u64, Block>>>,
    changed: Condvar,
}

impl Blocks {
    fn all(&self) -> MutexGuard<'_, HashMap<usize, BTreeMap<u64, Block>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process has told of a block.
    pub fn told(&self, from: usize, block: Block) {
        self.all().entry(from).or_default().insert(block.base, block);
        self.changed.notify_all();
    }

    /// The block of a process that an address lies in, if it is known.
    fn of(&self, process: usize, address: u64) -> Option<Block> {
        let all = self.all();
        let (_, block) = all.get(&process)?.range(..=address).next_back()?;
        (address - block.base < block.bytes).then(|| block.clone())
    }
}

/// What one replica's GPU sees of others' memory.
pub(super) struct Reach {
    place: Arc<Rendezvous>,
    members: Members,
    rank: usize,
    stream: Stream,
    /// Where blocks are seen here, by process and address there.
    mapped: HashMap<(usize, u64), Arc<Borrowed>>,
}

impl Reach {
    /// Of replica `rank`; none where the fleet has one process.
    pub fn new(place: &Arc<Rendezvous>, rank: usize, stream: &Stream) -> Option<Reach> {
        let members = place.processes()?.clone();
        let (place, stream) = (place.clone(), stream.clone());
        Some(Reach { place, members, rank, stream, mapped: HashMap::new() })
    }

    /// Before others are told of `address`, which is in an array of this replica.
    pub fn tell(&self, address: u64) -> Result<()> {
        let own = self.members.links.number();
        if self.place.blocks.of(own, address).is_none() {
            let block = self.stream.context().lend(address)?;
            self.place.blocks.told(own, block.clone());
            let (links, own) = (&self.members.links, self.members.links.number());
            let here = links.here().into_iter().filter(|process| *process != own);
            links.send_to(here, &Message::Lends(block));
        }
        Ok(())
    }

    /// Where this replica's GPU finds what replica `of` has at `address`.
    pub fn place_of(&mut self, of: usize, address: u64) -> Result<u64> {
        let process = self.members.process_of(of).unwrap_or_default();
        if process == self.members.links.number() {
            return Ok(address);
        }
        let block = self.block(of, process, address)?;
        let key = (process, block.base);
        let at = match self.mapped.get(&key) {
            Some(mapped) => mapped.at,
            None => {
                // The driver may wait for the GPU, which may wait for kernels that others are yet to launch.
                self.drain()?;
                let mapped = self.stream.context().borrow(&block)?;
                self.mapped.entry(key).or_insert(mapped).at
            }
        };
        Ok(at + (address - block.base))
    }

    /// The block of a process that an address lies in. It is told over a link, and may come after the address.
    fn block(&self, of: usize, process: usize, address: u64) -> Result<Block> {
        let until = Instant::now() + self.place.deadline();
        loop {
            if let Some(block) = self.place.blocks.of(process, address) {
                return Ok(block);
            }
            if let Some(error) = self.place.failure() {
                return Err(error);
            }
            if Instant::now() > until {
                return Err(self.place.fault(of, "did not tell of its memory"));
            }
            self.place.beat(self.rank);
            let nap = Duration::from_millis(1);
            drop(self.place.blocks.changed.wait_timeout(self.place.blocks.all(), nap));
        }
    }

    /// Waits until the replica's stream has nothing left to do, or the fleet has failed.
    pub fn drain(&self) -> Result<()> {
        drain(&self.place, self.rank, &self.stream)
    }
}

/// Waits until the stream of replica `rank` has nothing left to do, or the fleet has failed.
pub(super) fn drain(place: &Rendezvous, rank: usize, stream: &Stream) -> Result<()> {
    let (mut polls, start, limit) = (0u32, Instant::now(), place.step_limit());
    while !stream.is_idle()? {
        polls = polls.wrapping_add(1);
        if polls.is_multiple_of(256) {
            place.beat(rank);
            if start.elapsed() > limit {
                place.poison(place.fault(rank, crate::device::endless(limit)));
            }
            if let Some(error) = place.failure() {
                return Err(error);
            }
        }
        std::hint::spin_loop();
    }
    Ok(())
}

/// The error of addresses that no GPU can use.
pub(super) fn no_addresses() -> Error {
    Error::machine("addresses that were not told; this is a bug")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_its_block_alone() {
        let blocks = Blocks::default();
        for (base, bytes) in [(4096, 512), (8192, 4096)] {
            blocks.told(1, Block { base, bytes, handle: Vec::new() });
        }
        let base = |process, address| blocks.of(process, address).map(|block| block.base);
        assert_eq!(base(1, 4096), Some(4096));
        assert_eq!(base(1, 4607), Some(4096));
        assert_eq!(base(1, 4608), None);
        assert_eq!(base(1, 12287), Some(8192));
        assert_eq!([base(1, 12288), base(1, 0), base(2, 4096)], [None; 3]);
    }
}
