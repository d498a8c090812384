//! The weighted layout in device memory: a copy a replica, or arcs and records once over all GPUs.

use crate::collective::{Shares, Split};
use crate::device::kernels::hive::ArcForm;
use crate::device::kernels::sssp::RecordArgs;
use crate::device::{DeviceBuffer, Function, Launch, source};
use crate::error::{Error, Result};
use crate::fleet::{Placed, Replica, VmmArray};
use crate::graph::{Graph, milliseconds};
use crate::layout::memory::{GraphShape, RowsLengths};
use crate::layout::on_device::{Made, MadeRows};
use crate::layout::weighted_rows::Packing;
use crate::layout::{Arcs, Placement, PrepareOptions, Rows, WeightedLayout};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

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

impl Owners {
    /// Of the rows of `layout`, where it is to be sharded. By arcs, not as pulls are cut: what matters here is that memory is
    /// spread.
    pub fn new(
        layout: &WeightedLayout,
        shares: &Shares,
        options: PrepareOptions,
    ) -> Option<Owners> {
        let split =
            |rows: &Rows| Split::of(&rows.offsets, shares, options.chunk_align, options.chunks);
        (options.placement == Placement::Sharded)
            .then(|| Owners { out: split(&layout.out), into: split(layout.in_rows()) })
    }
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
    /// Degrees are flat and small.
    pub(crate) flat: bool,
    /// Arcs out of nodes.
    pub(crate) count: u64,
    pub(crate) packed: bool,
    /// Offsets have 64 bits.
    pub(crate) wide: bool,
    bytes: u64,
}

impl DeviceWeighted {
    /// Uploads `layout` and builds the records. With `owners` arcs and records lie once over all GPUs; that takes a fleet
    /// whose GPUs reach each other, and is a meeting.
    pub fn new(
        r: &mut Replica,
        layout: &WeightedLayout,
        owners: Option<&Owners>,
    ) -> Result<DeviceWeighted> {
        let shape = Shape::new(layout);
        let records = shape.records(r)?;
        let out = shape.upload(r, &layout.out, owners.map(|o| &o.out), records)?;
        let into = layout.into.as_ref();
        let into = into.map(|rows| shape.upload(r, rows, owners.map(|o| &o.into), records));
        let into = into.transpose()?;
        match owners {
            Some(_) => r.barrier("records of all owners")?,
            None => r.device()?.wait()?,
        }
        Ok(DeviceWeighted::of(layout, &shape, out, into))
    }

    /// Of what was made on this device, with records; what the host keeps of it, and the milliseconds of upload and compilation.
    pub(super) fn made(
        r: &mut Replica,
        graph: &Graph,
        made: Made,
        options: PrepareOptions,
    ) -> Result<((WeightedLayout, [f64; 2]), DeviceWeighted)> {
        let (begin, ms, mut took) = (Instant::now(), made.ms, [made.upload_ms, made.compile_ms]);
        let Made { sketch, labels, out, into, lightest, mean_weight, .. } = made;
        let parts = |rows: MadeRows| {
            let arcs = Arcs::OnDevices(sketch.packing);
            (Rows { offsets: rows.offsets, arcs }, (rows.device_offsets, rows.arcs))
        };
        let ((out, device_out), into) = (parts(out), into.map(parts));
        let (into, device_into) = into.unzip();
        let mut layout = WeightedLayout {
            nodes: graph.nodes(),
            active: sketch.active,
            out,
            into,
            label_of: labels.1,
            mean_weight,
            lightest,
            flat: sketch.flat,
            has_hubs: sketch.has_hubs,
            name: if sketch.by_degree { "degree" } else { "raw" },
            by_degree: sketch.by_degree,
            ms,
        };
        let shape = Shape::new(&layout);
        let records = shape.records(r)?;
        let compile_ms = std::mem::take(&mut r.device_mut()?.compile_ms);
        took[1] += compile_ms;
        let owners = Owners::new(&layout, r.shares(), options);
        let mut rows = |(offsets, arcs): (DeviceBuffer<u32>, Placed<u32>),
                        split: Option<&Split>| {
            let (table, own) = match split {
                Some(split) => (shape.table(r, split)?, split.range(r.rank())),
                None => {
                    let length = shape.lengths.records;
                    let table = r.device()?.alloc("first-neighbour records", length)?;
                    (table.into(), 0..shape.active.into())
                }
            };
            shape.recorded(r, offsets, arcs, table, own, records)
        };
        let out = rows(device_out, owners.as_ref().map(|owners| &owners.out))?;
        let owners = owners.as_ref();
        let into = device_into.map(|into| rows(into, owners.map(|owners| &owners.into)));
        let into = into.transpose()?;
        match owners {
            Some(_) => r.barrier("records of all owners")?,
            None => r.device()?.wait()?,
        }
        layout.ms += milliseconds(begin) - compile_ms;
        let device = DeviceWeighted::of(&layout, &shape, out, into);
        Ok(((layout, took), device))
    }

    fn of(
        layout: &WeightedLayout,
        shape: &Shape,
        out: WeightedRows,
        into: Option<WeightedRows>,
    ) -> DeviceWeighted {
        let rows = layout.in_rows();
        // Labels fall by degree, so long rows come first; raw labels have no such order. The total
        // degree orders labels, so a directed graph's in-rows are only roughly sorted: that costs
        // balance, not correctness.
        let rows_from = |degree: u64| match layout.by_degree {
            true => (0..layout.active).take_while(|v| rows.degree(*v) >= degree).count() as u32,
            false => 0,
        };
        let bytes = out.bytes() + into.as_ref().map_or(0, WeightedRows::bytes);
        DeviceWeighted {
            form: shape.form,
            active: shape.active,
            giants: rows_from(GIANT_DEGREE),
            hubs: rows_from(HUB_DEGREE) / 32 * 32,
            lightest: layout.lightest,
            out,
            into,
            flat: layout.flat,
            count: layout.out.arc_count(),
            packed: shape.packed,
            wide: shape.wide,
            bytes,
        }
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
        let packing = layout.out.arcs.packing();
        let form = packing
            .map_or(ArcForm { bits: 0, bias: 0 }, |Packing { bits, bias }| ArcForm { bits, bias });
        let packed = packing.is_some();
        let wide = lengths.offsets > layout.active + 1;
        Shape { active: layout.active as u32, wide, packed, lengths, form }
    }

    /// The kernel that writes records.
    fn records(&self, r: &mut Replica) -> Result<Function> {
        let options = form_options(self.packed, self.wide);
        r.device_mut()?.function(source("sssp.cu"), &options, "sssp_records")
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
            Arcs::OnDevices(_) => return Err(Error::machine("arcs of other devices; a bug")),
        };
        let (arcs, table, own) = match owners {
            None => {
                let arcs = r.device()?.alloc::<u32>("arcs", self.lengths.arcs)?;
                arcs.upload(words)?;
                let table = r.device()?.alloc("first-neighbour records", self.lengths.records)?;
                (arcs.into(), table.into(), 0..u64::from(self.active))
            }
            Some(owners) => {
                let (arcs, table) = self.shard(r, rows, words, owners)?;
                (arcs, table, owners.range(r.rank()))
            }
        };
        self.recorded(r, offsets, arcs, table, own, records)
    }

    /// Rows whose arcs are there, or will be at the next meeting; queues writing the records of its `own` rows.
    fn recorded(
        &self,
        r: &Replica,
        offsets: DeviceBuffer<u32>,
        arcs: Placed<u32>,
        table: Placed<u32>,
        own: Range<u64>,
        records: Function,
    ) -> Result<WeightedRows> {
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
    ) -> Result<(Placed<u32>, Placed<u32>)> {
        let ends = owners.bounds().iter().map(|row| rows.offsets[*row as usize] * self.arc_bytes());
        let arcs = VmmArray::new(r, "arcs", &ends.collect::<Vec<_>>())?;
        let table = self.table(r, owners)?;
        arcs.upload_own(r, bytemuck::cast_slice(words))?;
        // The own rows may begin in a granule that another replica holds.
        r.barrier("arcs of all owners")?;
        Ok((Placed::Sharded(Arc::new(arcs)), table))
    }

    fn arc_bytes(&self) -> u64 {
        if self.packed { 4 } else { 8 }
    }

    /// Room for the records, by row.
    fn table(&self, r: &mut Replica, owners: &Split) -> Result<Placed<u32>> {
        // Four arcs a record.
        let ends = owners.bounds().iter().map(|row| row * 4 * self.arc_bytes());
        let table = VmmArray::new(r, "first-neighbour records", &ends.collect::<Vec<_>>())?;
        Ok(Placed::Sharded(Arc::new(table)))
    }
}

impl WeightedRows {
    /// All arcs, as words.
    #[cfg(test)]
    pub(super) fn read_arcs(&self, length: usize) -> Vec<u32> {
        match &self.arcs {
            Placed::Own(buffer) => {
                buffer.bind().unwrap();
                buffer.part(0..length).unwrap()
            }
            Placed::Sharded(array) => {
                let mut words = vec![0; length];
                array.read(0, bytemuck::cast_slice_mut(&mut words)).unwrap();
                words
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.offsets.len() as u64 * 4 + self.arcs.bytes() + self.records.bytes()
    }
}
