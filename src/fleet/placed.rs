//! An array of a graph on a device: a copy a replica, or one over all GPUs.

use super::VmmArray;
use crate::device::DeviceBuffer;
use bytemuck::Pod;
use std::sync::Arc;

/// Where an array of a graph lies.
pub(crate) enum Placed<T: Pod> {
    Own(Arc<DeviceBuffer<T>>),
    Sharded(Arc<VmmArray>),
}

impl<T: Pod> From<DeviceBuffer<T>> for Placed<T> {
    fn from(buffer: DeviceBuffer<T>) -> Placed<T> {
        Placed::Own(Arc::new(buffer))
    }
}

impl<T: Pod> Placed<T> {
    /// Whether this replica holds all of it.
    pub fn is_own(&self) -> bool {
        matches!(self, Placed::Own(_))
    }

    /// The device address of element 0.
    pub fn pointer(&self) -> u64 {
        match self {
            Placed::Own(buffer) => buffer.pointer(),
            Placed::Sharded(array) => array.pointer(),
        }
    }

    /// What this replica holds of it.
    pub fn bytes(&self) -> u64 {
        match self {
            Placed::Own(buffer) => (buffer.len() * size_of::<T>()) as u64,
            Placed::Sharded(array) => array.own_bytes(),
        }
    }
}
