//! The arrays of bins, made on a GPU: the arguments of `kernels/bins.cu`.

use super::{Bins, GROUP, QUAD};
use crate::device::kernels::bins::{BinRows, CountArgs, FillArgs, QuadArgs};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, source};
use crate::error::Result;
use crate::layout::memory::DeviceArray;
use crate::layout::on_device::{Sums, launch};
use crate::layout::{DeviceGraph, DeviceRows};
use bytemuck::Pod;
use std::ops::Range;

/// What the bins of a replica have, but for the arcs.
pub(crate) struct BinShape {
    /// `[bins + 1]` first row of each bin.
    pub bounds: DeviceBuffer<u64>,
    /// `[segments * bins + 1]` groups before each piece, by segment.
    pub begins: DeviceBuffer<u32>,
    /// `[bins]` groups of each bin.
    pub lengths: DeviceBuffer<u32>,
    /// `[rows + 1]` quads of slots before each row.
    pub starts: DeviceBuffer<u32>,
    /// `[bins, segments]` groups of the bin before each piece.
    places: DeviceBuffer<u32>,
    /// Groups of all pieces, and quads of all rows.
    pub groups: usize,
    pub quads: usize,
}

/// The arcs of bins on a device.
#[derive(Clone, Copy)]
pub(crate) struct BinArcs<'a> {
    /// `[groups, GROUP]` of 16 bits, two in a word: sources less the first of their segment; 0 where a group is not full.
    pub sources: &'a DeviceBuffer<u32>,
    /// `[groups]` the group of all bins that a group's values go to.
    pub targets: &'a DeviceBuffer<u32>,
    /// `[quads, QUAD]` of 16 bits: slots of a row's arcs; the capacity of a bin where a row has no more.
    pub slots: &'a DeviceBuffer<u32>,
}

/// What makes them.
struct Maker<'a> {
    device: &'a CudaDevice,
    rows: BinRows,
}

impl Maker<'_> {
    /// Queues a kernel that counts by segment in shared memory, a block a bin.
    fn each_bin<A: Pod>(&self, kernel: Function, args: &A) -> Result<()> {
        let shared_bytes = 4 * self.rows.segments;
        let most = self.device.resident_blocks(kernel, THREADS, shared_bytes)?;
        let blocks = self.device.blocks(self.rows.bins.clamp(1, most));
        self.device.launch(kernel, Launch { shared_bytes, ..Launch::of(blocks, THREADS) }, args)
    }
}

impl Bins {
    fn rows(&self, own: &Range<usize>, rows: &DeviceRows, bounds: &DeviceBuffer<u64>) -> BinRows {
        BinRows {
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            bounds: bounds.pointer(),
            bins: own.len() as u32,
            segments: self.segments as u32,
            width: self.width as u32,
            unused: 0,
        }
    }

    /// Counts the arcs of these bins.
    pub fn shape(
        &self,
        device: &mut CudaDevice,
        (graph, rows): (&DeviceGraph, &DeviceRows),
        own: &Range<usize>,
    ) -> Result<BinShape> {
        let options = graph.options();
        let mut load = |name| device.function(source("bins.cu"), &options, name);
        let [count, quads] = [load("bins_count")?, load("bins_quads")?];
        let sums = Sums::load(device)?;
        let device = &*device;
        let pieces = own.len() * self.segments;
        let cut = &self.bounds[own.start..=own.end];
        let own_rows = cut[own.len()] - cut[0];
        let bounds = device.alloc("bins", cut.len())?;
        bounds.upload(cut)?;
        let groups = device.alloc::<u64>("groups of pieces", pieces)?;
        let places = device.alloc("places of pieces", pieces)?;
        let lengths = device.alloc("lengths of bins", own.len())?;
        let maker = Maker { device, rows: self.rows(own, rows, &bounds) };
        let args = CountArgs {
            rows: maker.rows,
            groups: groups.pointer(),
            places: places.pointer(),
            lengths: lengths.pointer(),
        };
        maker.each_bin(count, &args)?;
        let begins = device.alloc("pieces", pieces + 1)?;
        sums.of_counts(device, &groups, &begins)?;
        drop(groups);
        let counts = device.alloc::<u64>("quads of rows", own_rows as usize)?;
        let args = QuadArgs {
            offsets: rows.offsets.pointer(),
            quads: counts.pointer(),
            first: cut[0],
            count: own_rows,
        };
        launch(device, quads, own_rows, THREADS, &args)?;
        let starts = device.alloc("starts of rows", own_rows as usize + 1)?;
        sums.of_counts(device, &counts, &starts)?;
        let groups = begins.element(pieces)? as usize;
        let quads = starts.element(own_rows as usize)? as usize;
        Ok(BinShape { bounds, begins, lengths, starts, places, groups, quads })
    }

    /// Fills the arrays of arcs, whose lengths are those of `shape`; `sources` are 0.
    pub fn fill(
        &self,
        device: &mut CudaDevice,
        (graph, rows): (&DeviceGraph, &DeviceRows),
        own: &Range<usize>,
        shape: &BinShape,
        arcs: BinArcs<'_>,
    ) -> Result<()> {
        let kernel = device.function(source("bins.cu"), &graph.options(), "bins_fill")?;
        arcs.slots.fill_words(self.capacity as u32 * 0x1_0001)?;
        let maker = Maker { device, rows: self.rows(own, rows, &shape.bounds) };
        let args = FillArgs {
            rows: maker.rows,
            begins: shape.begins.pointer(),
            places: shape.places.pointer(),
            starts: shape.starts.pointer(),
            sources: arcs.sources.pointer(),
            targets: arcs.targets.pointer(),
            slots: arcs.slots.pointer(),
            room: (self.capacity / GROUP) as u32,
            unused: 0,
        };
        maker.each_bin(kernel, &args)
    }
}

/// Arrays that making them takes besides, for so many rows and pieces.
pub(crate) fn scratch(rows: usize, pieces: usize) -> Vec<DeviceArray> {
    let most = rows.max(pieces);
    vec![
        DeviceArray::new::<u64>("groups of pieces", most),
        DeviceArray::new::<u64>("prefix sums", most + 1),
        DeviceArray::new::<u64>("sums of row lengths", most.div_ceil(TILE as usize) + 1),
        DeviceArray::new::<u32>("places of pieces", pieces),
    ]
}

/// Words of [`BinArcs`] for so many groups and quads.
pub(crate) const SOURCE_WORDS: usize = GROUP / 2;
pub(crate) const SLOT_WORDS: usize = QUAD / 2;
