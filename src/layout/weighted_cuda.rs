//! The weighted layout in device memory: a copy a replica, or arcs and records once over all GPUs.

use crate::collective::Split;
use crate::device::kernels::hive::ArcForm;
use crate::device::kernels::sssp::RecordArgs;
use crate::device::{DeviceBuffer, Function, Launch, source};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Placed, Replica, VmmArray};
use crate::layout::memory::{GraphShape, RowsLengths};
use crate::layout::{Arcs, Rows, WeightedLayout};

/// Degree from which a whole warp pulls a node.
const HUB_DEGREE: u64 = 512;
/// Degree from which a whole block does.
const GIANT_DEGREE: u64 = 16384;

/// One direction's rows on the device.
pub(crate) struct WeightedRows {
    pub offsets: DeviceBuffer<u32>, // u32 or u64 words, by the layout's arc count
    pub arcs: Placed<u32>,
    pub records: Placed<u32>,
}

/// Whose rows are whose where a graph is sharded.
pub(crate) struct Owners {
    pub out: Split,
    /// As `out` where rows are the same both ways.
    pub into: Split,
}

/// The weighted layout on one device.
pub(crate) struct DeviceWeighted {
    pub(crate) out: WeightedRows,
    pub(crate) into: Option<WeightedRows>,
    pub(crate) form: ArcForm,
    pub(crate) active: u32,
    pub(crate) giants: u32,
    pub(crate) hubs: u32,
    pub(crate) lightest: f32,
    bytes: u64,
    packed: bool,
    wide: bool,
}

impl DeviceWeighted {
    /// Uploads `layout` and builds the records. With `owners` arcs and records lie once over all GPUs; that takes a fleet
    /// whose GPUs reach each other, and is a meeting.
    pub fn new(
        r: &mut Replica,
        layout: &WeightedLayout,
        owners: Option<&Owners>,
    ) -> Result<DeviceWeighted> {
        let Backend::Cuda(device) = &mut r.backend else {
            return Err(Error::machine("a device graph on the host; this is a bug"));
        };
        let shape = Shape::new(layout);
        let options = form_options(shape.packed, shape.wide);
        let records = device.function(source("sssp.cu"), &options, "sssp_records")?;
        let out = shape.upload(r, &layout.out, owners.map(|o| &o.out), records)?;
        let into = layout.into.as_ref();
        let into = into.map(|rows| shape.upload(r, rows, owners.map(|o| &o.into), records));
        let into = into.transpose()?;
        match owners {
            Some(_) => r.barrier("records of all owners")?,
            None => r.device()?.wait()?,
        }
        let rows = layout.in_rows();
        // Labels fall by degree, so long rows come first; raw labels have no such order. The total
        // degree orders labels, so a directed graph's in-rows are only roughly sorted: that costs
        // balance, not correctness.
        let rows_from = |degree: u64| match layout.input_of {
            Some(_) => (0..layout.active).take_while(|v| rows.degree(*v) >= degree).count() as u32,
            None => 0,
        };
        let bytes = out.bytes() + into.as_ref().map_or(0, WeightedRows::bytes);
        Ok(DeviceWeighted {
            form: shape.form,
            active: shape.active,
            giants: rows_from(GIANT_DEGREE),
            hubs: rows_from(HUB_DEGREE) / 32 * 32,
            lightest: layout.lightest,
            out,
            into,
            bytes,
            packed: shape.packed,
            wide: shape.wide,
        })
    }

    /// What kernels over its rows are compiled with.
    pub(crate) fn options(&self) -> [String; 2] {
        form_options(self.packed, self.wide)
    }

    /// Bytes that this replica holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn form_options(packed: bool, wide: bool) -> [String; 2] {
    let (packed, wide) = (u32::from(packed), u32::from(wide));
    [format!("-DHIVE_PACKED={packed}"), format!("-DHIVE_WIDE={wide}")]
}

struct Shape {
    active: u32,
    /// Offsets are 64 bits wide.
    wide: bool,
    packed: bool,
    lengths: RowsLengths,
    form: ArcForm,
}

impl Shape {
    fn new(layout: &WeightedLayout) -> Shape {
        let lengths = GraphShape::of_weighted_layout(layout).rows();
        let (packed, form) = match &layout.out.arcs {
            Arcs::Packed { bits, bias, .. } => (true, ArcForm { bits: *bits, bias: *bias }),
            Arcs::Pairs(_) => (false, ArcForm { bits: 0, bias: 0 }),
        };
        let wide = lengths.offsets > layout.active + 1;
        Shape { active: layout.active as u32, wide, packed, lengths, form }
    }

    fn upload(
        &self,
        r: &mut Replica,
        rows: &Rows,
        owners: Option<&Split>,
        records: Function,
    ) -> Result<WeightedRows> {
        let offsets = r.device()?.alloc::<u32>("row offsets", self.lengths.offsets)?;
        if self.wide {
            offsets.upload(bytemuck::cast_slice(&rows.offsets))?;
        } else {
            let narrow: Vec<u32> = rows.offsets.iter().map(|o| *o as u32).collect();
            offsets.upload(&narrow)?;
        }
        let words: &[u32] = match &rows.arcs {
            Arcs::Packed { words, .. } => words,
            Arcs::Pairs(pairs) => bytemuck::cast_slice(pairs),
        };
        let (arcs, table, own) = match owners {
            None => {
                let arcs = r.device()?.alloc::<u32>("arcs", self.lengths.arcs)?;
                arcs.upload(words)?;
                let table = r.device()?.alloc("first-neighbour records", self.lengths.records)?;
                (Placed::Own(arcs), Placed::Own(table), 0..u64::from(self.active))
            }
            Some(owners) => {
                let (arcs, table) = self.shard(r, rows, words, owners)?;
                (Placed::Sharded(arcs), Placed::Sharded(table), owners.range(r.rank()))
            }
        };
        let args = RecordArgs {
            offsets: offsets.pointer(),
            arcs: arcs.pointer(),
            records: table.pointer(),
            lo: own.start as u32,
            hi: own.end as u32,
            form: self.form,
        };
        let blocks = (args.hi - args.lo).div_ceil(256).clamp(1, 1 << 16);
        let shape = Launch::of(blocks, 256);
        r.device()?.launch(records, shape, &args)?;
        Ok(WeightedRows { offsets, arcs, records: table })
    }

    /// Places arcs and records by row and uploads the own arcs; on return all arcs are there.
    fn shard(
        &self,
        r: &mut Replica,
        rows: &Rows,
        words: &[u32],
        owners: &Split,
    ) -> Result<(VmmArray, VmmArray)> {
        let arc_bytes = if self.packed { 4 } else { 8 };
        let ends = owners.bounds().iter().map(|row| rows.offsets[*row as usize] * arc_bytes);
        let arcs = VmmArray::new(r, "arcs", &ends.collect::<Vec<_>>())?;
        let ends = owners.bounds().iter().map(|row| row * 4 * arc_bytes); // four arcs a record
        let table = VmmArray::new(r, "first-neighbour records", &ends.collect::<Vec<_>>())?;
        arcs.upload_own(r, bytemuck::cast_slice(words))?;
        // The own rows may begin in a granule that another replica holds.
        r.barrier("arcs of all owners")?;
        Ok((arcs, table))
    }
}

impl WeightedRows {
    fn bytes(&self) -> u64 {
        self.offsets.len() as u64 * 4 + self.arcs.bytes() + self.records.bytes()
    }
}
