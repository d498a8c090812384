//! Batches of sources that replicas work on by themselves.

use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Refuses a `--batch` of no source.
pub(super) fn check_batch(asked: Choice<u32>) -> Result<()> {
    match asked.given() {
        Some(0) => Err(Error::input("--batch 0: use auto, or 1 or more")),
        _ => Ok(()),
    }
}

/// Most sources of a batch, where no more than `most` are of use.
pub(super) fn most_of_batch(asked: Choice<u32>, most: usize) -> usize {
    asked.given().map_or(most, |asked| most.min(asked as usize))
}

/// Which replica works on which batch.
pub(super) struct Batches {
    count: usize,
    how: Dealt,
    /// The next that somebody takes.
    next: AtomicUsize,
}

enum Dealt {
    /// Each works on all.
    All,
    /// Each on those of its turn: processes do not know how far others are.
    InTurn,
    /// Whoever has done one takes the next.
    AsTheyCome,
}

impl Batches {
    /// So many; `dealt`: each replica works on some.
    pub fn new(fleet: &Fleet, count: usize, dealt: bool) -> Batches {
        let how = match dealt {
            false => Dealt::All,
            true if fleet.is_alone() => Dealt::AsTheyCome,
            true => Dealt::InTurn,
        };
        Batches { count, how, next: AtomicUsize::new(0) }
    }

    /// Whether each replica works on some alone.
    pub fn are_dealt(&self) -> bool {
        !matches!(self.how, Dealt::All)
    }

    /// Before a run; by any replica.
    pub fn reset(&self) {
        self.next.store(0, Relaxed);
    }

    /// Those of a replica, each when it comes to it.
    pub fn of(&self, r: &Replica) -> impl Iterator<Item = usize> + use<'_> {
        let mut in_turn = self.in_turn(r);
        let taken = move || match self.how {
            Dealt::All | Dealt::InTurn => in_turn.next(),
            Dealt::AsTheyCome => Some(self.next.fetch_add(1, Relaxed)),
        };
        std::iter::from_fn(taken).take_while(|batch| *batch < self.count)
    }

    /// Those of a replica's turn, for one that begins all of them at once.
    pub fn in_turn(&self, r: &Replica) -> impl Iterator<Item = usize> + use<> {
        let (first, each) = if self.are_dealt() { (r.rank(), r.world()) } else { (0, 1) };
        (first..self.count).step_by(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetConfig;
    use std::sync::Arc;

    #[test]
    fn each_batch_is_taken_once_in_each_run_or_by_each_replica() {
        let devices = "host:3".parse().unwrap();
        let fleet = Fleet::open(FleetConfig { devices, ..FleetConfig::default() }).unwrap();
        for (dealt, times) in [(true, 1), (false, 3)] {
            let batches = Arc::new(Batches::new(&fleet, 40, dealt));
            for _ in 0..2 {
                batches.reset();
                for in_turn in [false, true] {
                    let shared = batches.clone();
                    let own = fleet.run(move |r| {
                        Ok(match in_turn {
                            true => shared.in_turn(r).collect::<Vec<_>>(),
                            false => shared.of(r).collect(),
                        })
                    });
                    let mut all = own.unwrap().concat();
                    all.sort_unstable();
                    assert_eq!(all, (0..40 * times).map(|i| i / times).collect::<Vec<_>>());
                }
            }
        }
    }
}
