//! Who computes what of a queue: each class is dealt to the replicas in units of places, one unit after
//! the other, so that all follows from the sizes of the classes.

use super::args::CLASSES;
use crate::collective::{MAX_REPLICAS, Split};

/// Places of a unit, by class: a hub alone, then as many nodes as a block works on at once, or some.
pub(super) const UNITS: [u32; CLASSES] = [1, 1, 1, 8, 8, 8, 128, 128, 128, 256];

/// A queue dealt to `world` replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Deal {
    /// Own places of each class, by rank.
    pub items: [[u32; CLASSES]; MAX_REPLICAS],
    /// Where a rank's results of a class begin; results lie rank by rank, class by class.
    pub base: [[u32; CLASSES]; MAX_REPLICAS],
    pub world: usize,
}

impl Deal {
    /// `start` is where each class begins in the queue, and its end.
    pub fn new(start: &[u32; CLASSES + 1], world: usize) -> Deal {
        let empty = [[0; CLASSES]; MAX_REPLICAS];
        let mut deal = Deal { items: empty, base: empty, world };
        let mut next = 0;
        for rank in 0..world {
            for (class, unit) in UNITS.into_iter().enumerate() {
                let items = share(start[class + 1] - start[class], unit, world as u32, rank as u32);
                (deal.items[rank][class], deal.base[rank][class]) = (items, next);
                next += items;
            }
        }
        deal
    }

    /// How many places each rank has.
    pub fn split(&self) -> Split {
        let of = |rank: usize| self.items[rank].iter().map(|items| u64::from(*items)).sum();
        Split::of_lengths((0..self.world).map(of))
    }
}

/// Places among `size` that `rank` is dealt.
fn share(size: u32, unit: u32, world: u32, rank: u32) -> u32 {
    let (whole, rest) = (size / unit, size % unit);
    let units = whole / world + u32::from(rank < whole % world);
    units * unit + if rank == whole % world { rest } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `geo_settle` finds the place of a result, and `node_of` the place of an item.
    #[test]
    fn every_place_is_dealt_once_and_found_where_its_owner_puts_it() {
        let sizes = [0u32, 1, 5, 17, 64, 7, 128, 1000, 129, 4097];
        let mut start = [0; CLASSES + 1];
        (0..CLASSES).for_each(|c| start[c + 1] = start[c] + sizes[c]);
        for world in 1..=MAX_REPLICAS {
            let deal = Deal::new(&start, world);
            let mut seen = vec![false; start[CLASSES] as usize];
            for c in 0..CLASSES {
                let unit = UNITS[c];
                for place in 0..sizes[c] {
                    let dealt = place / unit;
                    let rank = dealt as usize % world;
                    let item = dealt / world as u32 * unit + place % unit;
                    assert!(item < deal.items[rank][c], "class {c} of {world}");
                    let back = (item / unit * world as u32 + rank as u32) * unit + item % unit;
                    assert_eq!(back, place);
                    let at = (deal.base[rank][c] + item) as usize;
                    assert!(!std::mem::replace(&mut seen[at], true));
                    assert!(deal.split().range(rank).contains(&(at as u64)));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
