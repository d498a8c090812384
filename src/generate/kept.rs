//! The arcs of a graph on GPUs, where they stay until the host looks at them.

use super::Drawn;
use crate::device::{DeviceBuffer, DeviceCsr};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::Rows;
use crate::graph::array::Array;
use bytemuck::Pod;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the arcs of a graph are that devices have made.
#[derive(Clone)]
pub(crate) enum DeviceArcs {
    /// In the memory of the fleet's first GPU, or of each.
    Rows(Vec<Arc<DeviceCsr>>),
    /// Nowhere: GPUs draw them.
    Drawn(Arc<Drawn>),
}

impl DeviceArcs {
    /// Whether weights are among them.
    pub fn has_weights(&self) -> bool {
        matches!(self, DeviceArcs::Rows(rows) if rows.iter().all(|rows| rows.has_weights()))
    }

    /// Whether weights are hashes of the ends of arcs, and in no array.
    pub fn has_pairs(&self) -> bool {
        matches!(self, DeviceArcs::Rows(rows) if rows.iter().all(|rows| rows.pair_key.is_some()))
    }

    fn first(self) -> Option<Arc<DeviceCsr>> {
        match self {
            DeviceArcs::Rows(rows) => rows.into_iter().next(),
            DeviceArcs::Drawn(_) => None,
        }
    }
}

/// Arcs, until they are let go.
type Slot = Mutex<Option<DeviceArcs>>;

fn held(slot: &Slot) -> Option<DeviceArcs> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The arcs of a graph on GPUs, until they are let go.
pub struct Kept {
    arcs: Arc<Slot>,
    /// The host's columns and weights, where nobody can make them again.
    only: Option<(Array<u32>, Option<Array<f32>>)>,
}

impl Kept {
    /// These arcs, of a graph that can be made again without them.
    pub(super) fn again(arcs: DeviceArcs) -> Kept {
        Kept { arcs: Arc::new(Mutex::new(Some(arcs))), only: None }
    }

    /// These rows, and the same as the host sees them: columns and weights come when it looks at them, or when the rows are let
    /// go.
    ///
    /// # Errors
    /// [`Error::Machine`] where the host has no room for the offsets.
    pub(crate) fn once(rows: DeviceCsr) -> Result<(Rows, Kept)> {
        let (offsets, arcs) = (down_offsets(&rows)?, rows.arcs as usize);
        let weighted = rows.weights.is_some();
        let slot: Arc<Slot> = Arc::new(Mutex::new(Some(DeviceArcs::Rows(vec![Arc::new(rows)]))));
        let gone = || Error::machine("arcs were let go before the host had them; a bug");
        let own = slot.clone();
        let columns = Array::later(arcs, move || {
            let rows = held(&own).and_then(DeviceArcs::first).ok_or_else(gone)?;
            down("columns", &rows.columns, arcs)
        });
        let own = slot.clone();
        let weights = weighted.then(|| {
            Array::later(arcs, move || {
                let rows = held(&own).and_then(DeviceArcs::first).ok_or_else(gone)?;
                down("weights", rows.weights.as_ref().ok_or_else(gone)?, arcs)
            })
        });
        let only = Some((columns.clone(), weights.clone()));
        Ok((Rows { offsets, columns, weights }, Kept { arcs: slot, only }))
    }

    /// Where they are, unless they were let go.
    pub(crate) fn arcs(&self) -> Option<DeviceArcs> {
        held(&self.arcs)
    }

    /// The rows on the first GPU, if they are there.
    pub(crate) fn rows(&self) -> Option<Arc<DeviceCsr>> {
        self.arcs()?.first()
    }

    /// Lets go of the arcs, and gives their memory back to the driver: arrays that come later lie where they would have lain
    /// without them. Arcs that the host has not seen come to it first, or are made again there if it looks. What is drawn can
    /// still be drawn.
    ///
    /// # Errors
    /// [`Error::Machine`] where the host has no room for them, or when the fleet has failed.
    pub fn release(&self, fleet: &Fleet) -> Result<()> {
        if let Some((columns, weights)) = &self.only {
            columns.load()?;
            weights.iter().try_for_each(Array::load)?;
        }
        match self.arcs() {
            Some(DeviceArcs::Drawn(drawn)) => drawn.release(),
            _ => drop(self.arcs.lock().unwrap_or_else(PoisonError::into_inner).take()),
        }
        fleet.alone(|replica| {
            if let Backend::Cuda(device) = &replica.backend {
                device.release_kept();
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// The host's copy of row offsets.
pub(super) fn down_offsets(rows: &DeviceCsr) -> Result<Array<u64>> {
    down("row offsets", &rows.offsets, rows.nodes as usize + 1)
}

/// The first `length` elements of a device array.
pub(super) fn down<T: Pod>(what: &str, from: &DeviceBuffer<T>, length: usize) -> Result<Array<T>> {
    // This may be another replica's thread, whose context must be current again afterwards.
    let _entered = from.enter()?;
    Array::filled(what, length, |to| from.read(0, to))
}
