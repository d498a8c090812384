//! Where arrays on a device were written, so that merges and operators over sets need not look at the rest.

use crate::device::kernels::lambda::{BLOCK, LINE};
use crate::device::{CudaDevice, DeviceBuffer};
use crate::error::Result;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// A block of elements that may have changed since the last merge.
    Blocks,
    /// A block of elements that may not be all zeros, of an array that is summed.
    Terms,
    /// A line of nodes of which some may be in a set.
    Lines,
}

/// The marks of an array, a bit each.
pub(crate) struct Marks {
    bits: DeviceBuffer<u32>,
    of: Marked,
    /// What is not marked has not changed, or is empty. False after writes that left no marks.
    exact: AtomicBool,
}

impl Marks {
    /// Of an array of `length` zeros; of a set they are words of 64 nodes.
    pub fn new(device: &CudaDevice, label: &str, of: Marked, length: usize) -> Result<Marks> {
        let bits = device.alloc(&format!("marks of {label}"), Marks::words_of(of, length))?;
        Ok(Marks { bits, of, exact: AtomicBool::new(true) })
    }

    /// How many words the marks of so long an array are.
    pub fn words_of(of: Marked, length: usize) -> usize {
        let each = match of {
            Marked::Blocks | Marked::Terms => BLOCK,
            Marked::Lines => LINE / 64,
        };
        length.div_ceil(32 * each as usize).max(1)
    }

    /// What they stand for.
    pub fn of(&self) -> Marked {
        self.of
    }

    /// The marks.
    pub fn bits(&self) -> &DeviceBuffer<u32> {
        &self.bits
    }

    /// The address of the marks.
    pub fn pointer(&self) -> u64 {
        self.bits.pointer()
    }

    /// The address of marks of lines; 0 where there are none.
    pub fn of_lines(marks: Option<&Marks>) -> u64 {
        marks.filter(|marks| marks.of == Marked::Lines).map_or(0, Marks::pointer)
    }

    /// The address of marks of blocks, whatever they say of these; 0 where there are none.
    pub fn of_blocks(marks: Option<&Marks>) -> u64 {
        marks.filter(|marks| marks.of != Marked::Lines).map_or(0, Marks::pointer)
    }

    /// How many words they are.
    pub fn words(&self) -> u64 {
        self.bits.len() as u64
    }

    /// Whether what is not marked was not written.
    pub fn are_exact(&self) -> bool {
        self.exact.load(Ordering::Relaxed)
    }

    /// Notes that.
    pub fn set_exact(&self, exact: bool) {
        self.exact.store(exact, Ordering::Relaxed);
    }

    /// Queues taking all marks away, behind what was queued for the array.
    pub fn clear(&self) -> Result<()> {
        self.bits.clear()
    }
}
