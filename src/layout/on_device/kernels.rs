//! The kernels of `kernels/layout.cu`, and prefix sums with them.

use crate::device::kernels::layout::{NarrowArgs, OffsetArgs};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, SortKernels, source};
use crate::error::Result;
use crate::layout::rows::is_wide;
use bytemuck::{Pod, Zeroable};

/// The loaded kernels.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    pub sort: SortKernels,
    pub in_counts: Function,
    pub out_counts: Function,
    pub degrees: Function,
    pub order_keys: Function,
    pub labels: Function,
    pub sums: Sums,
    pub gather: Function,
    pub select: Function,
    pub store: Function,
    pub repeats: Function,
    pub weights: Function,
}

impl Kernels {
    pub fn load(device: &mut CudaDevice) -> Result<Kernels> {
        let (sort, sums) = (SortKernels::load(device)?, Sums::load(device)?);
        let mut load = |name| device.function(source("layout.cu"), &[], name);
        Ok(Kernels {
            sort,
            sums,
            in_counts: load("layout_in_counts")?,
            out_counts: load("layout_out_counts")?,
            degrees: load("layout_degrees")?,
            order_keys: load("layout_order_keys")?,
            labels: load("layout_labels")?,
            gather: load("layout_gather")?,
            select: load("layout_select")?,
            store: load("layout_store")?,
            repeats: load("layout_repeats")?,
            weights: load("layout_weights")?,
        })
    }
}

/// The kernels of a prefix sum.
#[derive(Clone, Copy)]
pub(in crate::layout) struct Sums {
    sums: Function,
    scan: Function,
    offsets: Function,
    narrow: Function,
}

impl Sums {
    pub fn load(device: &mut CudaDevice) -> Result<Sums> {
        let mut load = |name| device.function(source("layout.cu"), &[], name);
        Ok(Sums {
            sums: load("layout_offset_sums")?,
            scan: load("layout_offset_scan")?,
            offsets: load("layout_offsets")?,
            narrow: load("layout_narrow")?,
        })
    }

    /// Queues the exclusive prefix sums of lengths into `args.offsets`. `args.sums` and `args.tiles` are set here.
    pub(super) fn queue(&self, device: &CudaDevice, args: OffsetArgs) -> Result<()> {
        let tiles = args.rows.div_ceil(TILE.into());
        let sums = device.alloc::<u64>("sums of row lengths", tiles as usize + 1)?;
        let args = OffsetArgs { sums: sums.pointer(), tiles: tiles as u32, ..args };
        launch(device, self.sums, tiles, 1, &args)?;
        device.launch(self.scan, Launch::of(1, THREADS), &args)?;
        launch(device, self.offsets, tiles, 1, &args)?;
        // What it holds is in use until then.
        device.wait()
    }

    /// `[counts + 1]` sums of the first of them.
    pub fn prefix(
        &self,
        device: &CudaDevice,
        counts: &DeviceBuffer<u64>,
    ) -> Result<DeviceBuffer<u64>> {
        let sums = device.alloc::<u64>("prefix sums", counts.len() + 1)?;
        let (counts, rows) = (counts.pointer(), counts.len() as u64);
        let args = OffsetArgs { counts, offsets: sums.pointer(), rows, ..OffsetArgs::zeroed() };
        self.queue(device, args)?;
        Ok(sums)
    }

    /// Offsets as kernels read them, of rows with so many arcs.
    pub fn words(
        &self,
        device: &CudaDevice,
        offsets: &DeviceBuffer<u64>,
        arcs: u64,
    ) -> Result<DeviceBuffer<u32>> {
        let words = offsets.len() * if is_wide(arcs) { 2 } else { 1 };
        let made = device.alloc::<u32>("row offsets", words)?;
        if is_wide(arcs) {
            made.copy_from(offsets)?;
        } else {
            let (from, to) = (offsets.pointer(), made.pointer());
            let args = NarrowArgs { from, to, count: offsets.len() as u64 };
            launch(device, self.narrow, args.count, THREADS, &args)?;
        }
        Ok(made)
    }

    /// `to[i]`: the sum of the first `i` of `counts`; `to` has their number, or one more. All sums are below 2^32.
    pub fn of_counts(
        &self,
        device: &CudaDevice,
        counts: &DeviceBuffer<u64>,
        to: &DeviceBuffer<u32>,
    ) -> Result<()> {
        let wide = self.prefix(device, counts)?;
        let args = NarrowArgs { from: wide.pointer(), to: to.pointer(), count: to.len() as u64 };
        launch(device, self.narrow, args.count, THREADS, &args)?;
        device.wait()
    }
}

/// `[counts + 1]` sums of the first of them, on the device.
pub(crate) fn prefix_sums(
    device: &mut CudaDevice,
    counts: &DeviceBuffer<u64>,
) -> Result<DeviceBuffer<u64>> {
    Sums::load(device)?.prefix(device, counts)
}

/// Queues a kernel for so many items, `each` a block, on no more blocks than fill the device.
pub(in crate::layout) fn launch<A: Pod>(
    device: &CudaDevice,
    kernel: Function,
    items: u64,
    each: u32,
    args: &A,
) -> Result<()> {
    let blocks = items.div_ceil(each.into()).clamp(1, device.filling().into()) as u32;
    device.launch(kernel, Launch::of(device.blocks(blocks), THREADS), args)
}
