//! Sorted, distinct 64-bit keys on a GPU: the arguments of `kernels/sort.cu`.

use super::DeviceBuffer;
use super::cuda_device::CudaDevice;
use super::kernels::sort::{DIGITS, SCAN_THREADS, ScanArgs, SortArgs, THREADS, TILE, UniqueArgs};
use super::launch::{Function, Launch};
use super::nvrtc::source;
use crate::error::{Error, Result};
use std::ops::Range;

/// Most bits that one pass of the sort orders by.
const DIGIT_BITS: u32 = DIGITS.ilog2();
/// Positions and counters on the device are 32 bits wide.
pub(crate) const MAX_KEYS: u64 = u32::MAX as u64;

/// The loaded kernels and how to launch them.
#[derive(Clone, Copy)]
pub(crate) struct SortKernels {
    count: Function,
    scatter: Function,
    scan_reduce: Function,
    scan_sums: Function,
    scan_apply: Function,
    unique_count: Function,
    unique_keep: Function,
    blocks: u32,
}

impl SortKernels {
    pub fn load(device: &mut CudaDevice) -> Result<SortKernels> {
        let mut load = |name| device.function(source("sort.cu"), &[], name);
        Ok(SortKernels {
            count: load("sort_count")?,
            scatter: load("sort_scatter")?,
            scan_reduce: load("scan_reduce")?,
            scan_sums: load("scan_sums")?,
            scan_apply: load("scan_apply")?,
            unique_count: load("unique_count")?,
            unique_keep: load("unique_keep")?,
            blocks: device.filling(),
        })
    }
}

/// Keys with room to sort them. The keys in use are the first of `keys`.
pub(crate) struct Sorter {
    kernels: SortKernels,
    /// `[capacity] u64`.
    pub keys: DeviceBuffer<u64>,
    /// `[capacity] u64`: where keys are moved to. Then the two change places.
    pub spare: DeviceBuffer<u64>,
    /// `[256][tiles] u32`: digits by tile, or distinct keys by tile.
    table: DeviceBuffer<u32>,
    /// `[tiles of the table + 1] u32`: sums of the scan.
    sums: DeviceBuffer<u32>,
}

fn tiles(length: u64) -> u64 {
    length.div_ceil(TILE.into())
}

/// The passes that order `range`: first bit and number of bits of each; these numbers differ by at most one.
fn digits(range: Range<u32>) -> impl Iterator<Item = (u32, u32)> {
    let bits = range.end - range.start;
    let passes = bits.div_ceil(DIGIT_BITS);
    let mut shift = range.start;
    (0..passes).map(move |pass| {
        let width = bits / passes + u32::from(pass < bits % passes);
        shift += width;
        (shift - width, width)
    })
}

impl Sorter {
    /// Device bytes that a sorter of `capacity` keys takes, without rounding.
    pub fn bytes(capacity: u64) -> u64 {
        let table = tiles(capacity) << DIGIT_BITS;
        16 * capacity + 4 * (table + tiles(table) + 1)
    }

    pub fn new(device: &CudaDevice, kernels: SortKernels, capacity: u64) -> Result<Sorter> {
        if capacity > MAX_KEYS {
            return Err(Error::machine(format!("a sort of {capacity} keys at once; a bug")));
        }
        let table = tiles(capacity) << DIGIT_BITS;
        Ok(Sorter {
            kernels,
            keys: device.alloc("keys", capacity as usize)?,
            spare: device.alloc("spare keys", capacity as usize)?,
            table: device.alloc("digit counts", table as usize)?,
            sums: device.alloc("digit sums", tiles(table) as usize + 1)?,
        })
    }

    fn shape(&self, tiles: u64) -> Launch {
        let blocks = tiles.clamp(1, u64::from(self.kernels.blocks)) as u32;
        Launch::of(blocks, THREADS)
    }

    fn check(&self, count: u64) -> Result<()> {
        if count <= self.keys.len() as u64 {
            return Ok(());
        }
        let held = self.keys.len();
        Err(Error::machine(format!("a sort of {count} keys in room for {held}; a bug")))
    }

    /// Queues sorting the first `count` keys by these of their bits. Keys that do not differ in them keep their order.
    pub fn sort(&mut self, device: &CudaDevice, count: u64, bits: Range<u32>) -> Result<()> {
        self.check(count)?;
        if count < 2 {
            return Ok(());
        }
        let tiles = tiles(count);
        for (shift, width) in digits(bits) {
            let args = SortArgs {
                from: self.keys.pointer(),
                to: self.spare.pointer(),
                table: self.table.pointer(),
                count,
                tiles: tiles as u32,
                shift,
                digits: 1 << width,
                unused: 0,
            };
            device.launch(self.kernels.count, self.shape(tiles), &args)?;
            self.scan(device, tiles << width)?;
            device.launch(self.kernels.scatter, self.shape(tiles), &args)?;
            std::mem::swap(&mut self.keys, &mut self.spare);
        }
        Ok(())
    }

    /// Queues replacing the first `length` counters of the table by the sums of those before each; the sum of all
    /// will be `sums[tiles(length)]`.
    fn scan(&self, device: &CudaDevice, length: u64) -> Result<()> {
        let tiles = tiles(length);
        let args = ScanArgs {
            values: self.table.pointer(),
            sums: self.sums.pointer(),
            length,
            tiles: tiles as u32,
            unused: 0,
        };
        let one = Launch::of(1, SCAN_THREADS);
        device.launch(self.kernels.scan_reduce, self.shape(tiles), &args)?;
        device.launch(self.kernels.scan_sums, one, &args)?;
        device.launch(self.kernels.scan_apply, self.shape(tiles), &args)
    }

    /// Drops repeated keys among the first `count`, which are sorted; how many remain. Waits.
    pub fn unique(&mut self, device: &CudaDevice, count: u64) -> Result<u64> {
        self.check(count)?;
        if count == 0 {
            return Ok(0);
        }
        let tiles_of_keys = tiles(count);
        let args = UniqueArgs {
            from: self.keys.pointer(),
            to: self.spare.pointer(),
            counts: self.table.pointer(),
            count,
            tiles: tiles_of_keys as u32,
            unused: 0,
        };
        device.launch(self.kernels.unique_count, self.shape(tiles_of_keys), &args)?;
        self.scan(device, tiles_of_keys)?;
        device.launch(self.kernels.unique_keep, self.shape(tiles_of_keys), &args)?;
        std::mem::swap(&mut self.keys, &mut self.spare);
        device.wait()?;
        Ok(u64::from(self.sums.element(tiles(tiles_of_keys) as usize)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passes_of_a_sort_cover_all_bits_once() {
        for bits in 1..=62 {
            let mut next = 3;
            for (shift, width) in digits(3..3 + bits) {
                assert_eq!(shift, next);
                assert!((1..=DIGIT_BITS).contains(&width));
                next += width;
            }
            assert_eq!(next, 3 + bits);
        }
        assert_eq!(digits(5..5).count(), 0);
    }
}
