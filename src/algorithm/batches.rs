//! Batches of sources that replicas work on by themselves.

use crate::fleet::{Fleet, Replica};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

    /// Before a run; by any replica.
    pub fn reset(&self) {
        self.next.store(0, Relaxed);
    }

    /// Those of a replica, each when it comes to it.
    pub fn of(&self, r: &Replica) -> impl Iterator<Item = usize> + use<'_> {
        let (rank, world) = (r.rank(), r.world());
        (0..).map_while(move |done| {
            let batch = match self.how {
                Dealt::All => done,
                Dealt::InTurn => rank + done * world,
                Dealt::AsTheyCome => self.next.fetch_add(1, Relaxed),
            };
            (batch < self.count).then_some(batch)
        })
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
                let shared = batches.clone();
                let own = fleet.run(move |r| Ok(shared.of(r).collect::<Vec<_>>())).unwrap();
                let mut all = own.concat();
                all.sort_unstable();
                assert_eq!(all, (0..40 * times).map(|i| i / times).collect::<Vec<_>>());
            }
        }
    }
}
