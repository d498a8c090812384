//! The step of filtering on a GPU: the arguments of `kernels/filter.cu`.

use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::filter::{self, FilterArgs, FilterStatus, THREADS};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::hash::array_key;
use crate::layout::memory::DeviceArray;
use bytemuck::Zeroable;
use std::ops::Range;

const TILE: usize = filter::TILE as usize;

/// A slice of the array, and what is kept of it.
pub(super) struct Slice {
    run: Function,
    blocks: u32,
    arrays: Arrays,
    status: Pinned<FilterStatus>,
    first: u64,
    key: u64,
    threshold: u64,
}

impl Slice {
    /// Makes the values of this part of the array.
    pub fn new(
        device: &mut CudaDevice,
        range: Range<u64>,
        seed: u64,
        threshold: u64,
    ) -> Result<Slice> {
        let length = (range.end - range.start) as usize;
        let run = device.function(source("filter.cu"), &[], "filter_run")?;
        let make = device.function(source("filter.cu"), &[], "filter_make")?;
        let slice = Slice {
            run,
            blocks: device.resident_blocks(run, THREADS, 0)?,
            arrays: Arrays::allocate(device, length)?,
            status: Pinned::new(&device.context, 1)?,
            first: range.start,
            key: array_key(seed),
            threshold,
        };
        let blocks = length.div_ceil(THREADS as usize).clamp(1, 1 << 14) as u32;
        let shape = Launch::of(blocks, THREADS);
        device.launch(make, shape, &slice.args(device))?;
        device.wait()?;
        Ok(slice)
    }

    fn args(&self, device: &CudaDevice) -> FilterArgs {
        FilterArgs {
            values: self.arrays.values.pointer(),
            kept: self.arrays.kept.pointer(),
            tiles: self.arrays.tiles.pointer(),
            control: self.arrays.control.pointer(),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            length: self.arrays.values.len() as u64,
            first: self.first,
            key: self.key,
            threshold: self.threshold,
        }
    }

    /// Before a run: no tile has been taken.
    pub fn reset(&self) -> Result<()> {
        self.status.set(0, FilterStatus::zeroed());
        self.arrays.tiles.clear()?;
        self.arrays.control.clear()
    }

    /// Queues the run.
    pub fn launch(&self, device: &CudaDevice) -> Result<()> {
        let tiles = self.arrays.values.len().div_ceil(TILE);
        let blocks = device.blocks(self.blocks).min(tiles.max(1) as u32);
        let shape = Launch::of(blocks, THREADS);
        device.launch(self.run, shape, &self.args(device))
    }

    /// How many values the run, which has ended, kept.
    pub fn count(&self, device: &CudaDevice) -> Result<u64> {
        let status = self.status.get(0);
        device.met(status.stopped, "filter_run")?;
        Ok(status.kept)
    }

    /// Where what was kept is.
    pub fn address(&self) -> u64 {
        self.arrays.kept.pointer()
    }

    /// The first `count` of them.
    pub fn kept(&self, count: u64) -> Result<Vec<u32>> {
        self.arrays.kept.part(0..count as usize)
    }
}

device_arrays! {
    /// A slice of so many values, and what is kept of it.
    struct Arrays of usize {
        values: u32 = "values", |length| *length;
        kept: u32 = "kept values", |length| *length;
        tiles: u64 = "tiles", |length| length.div_ceil(TILE).max(1);
        control: u32 = "control", |_| 2;
    }
}

/// All arrays of a slice of `length` values.
pub(super) fn arrays(length: usize) -> Vec<DeviceArray> {
    Arrays::list(length)
}
