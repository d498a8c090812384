//! Arcs on their way to a GPU while the text that they stand in is still parsed. Whoever has parsed a part of the file copies
//! its arcs to device memory, and goes on with the next part. The host keeps them as well: it may have to build the graph.
//! What was parsed before the GPU had opened, and what has no room there yet, goes up later.

use crate::device::{DeviceBuffer, Side};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::graph::ArcList;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Arcs that memory is taken for at once, unless a part of the file has more.
const SLAB: usize = 1 << 24;
/// Device memory that is left alone.
const RESERVE: u64 = 1 << 30;

/// Carries lists of arcs to a GPU.
#[derive(Default)]
pub(crate) struct Uplink(Mutex<Option<Copies>>);

/// The lists that a GPU has.
pub(super) struct Copies {
    side: Arc<Side>,
    slabs: Vec<Slab>,
    /// By the number that a list has.
    places: HashMap<u64, Place>,
    next: u64,
    /// Nothing more goes up.
    full: bool,
}

struct Slab {
    pairs: DeviceBuffer<[u32; 2]>,
    weights: Option<DeviceBuffer<f32>>,
    used: usize,
}

/// Where a list is.
#[derive(Clone, Copy)]
struct Place {
    slab: usize,
    first: usize,
    weighted: bool,
}

impl Uplink {
    fn copies(&self) -> MutexGuard<'_, Option<Copies>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on lists go to the first GPU of `fleet`.
    ///
    /// # Errors
    /// [`Error::Machine`](crate::Error::Machine) when the fleet has failed.
    pub(crate) fn open(&self, fleet: &Fleet) -> Result<()> {
        *self.copies() = fleet.side()?.map(|side| {
            let (side, slabs, places) = (Arc::new(side), Vec::new(), HashMap::new());
            Copies { side, slabs, places, next: 0, full: false }
        });
        Ok(())
    }

    /// A file is parsed, maybe not for the first time: what went up before counts no more.
    pub(super) fn begin(&self) {
        if let Some(copies) = &mut *self.copies() {
            copies.places.clear();
            copies.slabs.iter_mut().for_each(|slab| slab.used = 0);
        }
    }

    /// Copies a list, as it was parsed, if the GPU is open and has room.
    pub(super) fn send(&self, list: &mut ArcList) {
        let weighted = list.weights.len() == list.pairs.len();
        let reserved = match &mut *self.copies() {
            Some(copies) if !copies.full && !list.pairs.is_empty() => {
                let reserved = copies.reserve(list.pairs.len(), weighted).ok().flatten();
                copies.full = reserved.is_none();
                reserved
            }
            _ => return,
        };
        let Some(Reserved { number, side, pairs, weights }) = reserved else { return };
        let copied = side.bind().and_then(|()| {
            side.copy_to(pairs, list.ends())?;
            weights.map_or(Ok(()), |to| side.copy_to(to, &list.weights))
        });
        match (copied, &mut *self.copies()) {
            (Ok(()), _) => list.copy = Some(number),
            // The next one to use the GPU has the error to report.
            (Err(_), Some(copies)) => copies.full = true,
            (Err(_), None) => {}
        }
    }

    /// What the GPU has, once all is parsed.
    pub(super) fn end(&self) -> Option<Copies> {
        self.copies().take()
    }
}

/// Room for a list: device addresses, and the number of the copy.
struct Reserved {
    number: u64,
    side: Arc<Side>,
    pairs: u64,
    weights: Option<u64>,
}

impl Copies {
    /// Room for a list of so many arcs; `None` where the GPU has none.
    fn reserve(&mut self, arcs: usize, weighted: bool) -> Result<Option<Reserved>> {
        let fits = |slab: &Slab| {
            let weights = slab.weights.is_some() || !weighted;
            weights && slab.pairs.len() - slab.used >= arcs
        };
        let slab = match self.slabs.iter().position(fits) {
            Some(slab) => slab,
            None if self.add(SLAB.max(arcs), weighted)? => self.slabs.len() - 1,
            None => return Ok(None),
        };
        let Slab { pairs, weights, used } = &mut self.slabs[slab];
        let first = *used;
        *used += arcs;
        let pairs = pairs.pointer() + 8 * first as u64;
        let weights = weights.as_ref().map(|weights| weights.pointer() + 4 * first as u64);
        self.next += 1;
        self.places.insert(self.next, Place { slab, first, weighted });
        let (number, side) = (self.next, self.side.clone());
        Ok(Some(Reserved { number, side, pairs, weights: weights.filter(|_| weighted) }))
    }

    /// Takes memory for so many arcs more; whether there was room.
    fn add(&mut self, arcs: usize, weighted: bool) -> Result<bool> {
        let side = &self.side;
        side.bind()?;
        if side.room()? < RESERVE + 12 * arcs as u64 {
            return Ok(false);
        }
        let pairs = side.alloc("arcs of a file", arcs)?;
        let weights = weighted.then(|| side.alloc("weights of a file", arcs)).transpose()?;
        // It is zeroed on one stream, and filled on others.
        side.wait()?;
        self.slabs.push(Slab { pairs, weights, used: 0 });
        Ok(true)
    }

    /// Device bytes that the copies take.
    pub(super) fn bytes(&self) -> u64 {
        let weights = |slab: &Slab| slab.weights.as_ref().map_or(0, DeviceBuffer::len);
        self.slabs.iter().map(|slab| (8 * slab.pairs.len() + 4 * weights(slab)) as u64).sum()
    }

    /// Queues a copy of a list's pairs to the device address `to`; whether there are any to copy.
    pub(super) fn pairs_to(&self, to: u64, list: &ArcList) -> Result<bool> {
        let Some(Place { slab, first, .. }) = self.place(list) else { return Ok(false) };
        self.slabs[slab].pairs.copy_to(to, first..first + list.pairs.len())?;
        Ok(true)
    }

    /// The same of its weights.
    pub(super) fn weights_to(&self, to: u64, list: &ArcList) -> Result<bool> {
        let Some(Place { slab, first, weighted: true }) = self.place(list) else {
            return Ok(false);
        };
        let Some(weights) = &self.slabs[slab].weights else { return Ok(false) };
        weights.copy_to(to, first..first + list.weights.len())?;
        Ok(true)
    }

    #[cfg(test)]
    pub(super) fn has(&self, list: &ArcList) -> bool {
        self.place(list).is_some()
    }

    fn place(&self, list: &ArcList) -> Option<Place> {
        self.places.get(&list.copy?).copied()
    }

    /// Waits for what was queued.
    pub(super) fn wait(&self) -> Result<()> {
        self.side.wait()
    }
}
