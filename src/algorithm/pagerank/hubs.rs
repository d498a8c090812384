//! Hubs in shared memory on a GPU: the arguments of `kernels/pagerank_hubs.cu`.

use super::cuda::{TurnArgs, upload};
use crate::collective::MAX_REPLICAS;
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, fewer, source};
use crate::error::Result;
use crate::layout::ColumnRows;
use crate::layout::segments::{CHUNK, MOST_TEAMS, Runs, SegmentRows, Segments, Teams};
use bytemuck::{Pod, Zeroable};
use std::borrow::Cow;
use std::ops::Range;

/// As in kernels/pagerank_hubs.cu.
const NEAR_THREADS: u32 = 1024;
const FAR_THREADS: u32 = 256;
/// Floats that each warp keeps finished runs in.
const SUMS: u32 = CHUNK as u32 + CHUNK as u32 / 8 + 8;

/// `kernels/pagerank_hubs.cu`: HubArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct HubArgs {
    near: u64,
    far_columns: u64,
    marks: u64,
    first: u64,
    rows: u64,
    groups: u64,
    parts: u64,
    value: u64,
    gathered: u64,
    carry: u64,
    count: u32,
    width: u32,
    filled: u32,
    blocks: u32,
    far: [u32; 2],
    slots: u32,
    teams: u32,
    cut: [u32; MOST_TEAMS + 1],
    begin: [u32; MOST_TEAMS],
    end: [u32; MOST_TEAMS],
    unused: u32,
}

/// `kernels/pagerank_hubs.cu`: CarryArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CarryArgs {
    rows: u64,
    offsets: u64,
    groups: u64,
    carry: u64,
    gathered: u64,
    count: u32,
    unused: u32,
}

/// `kernels/pagerank_hubs.cu`: GatheredArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GatheredArgs {
    turn: TurnArgs,
    tiles: u64,
    gathered: u64,
    sum: u64,
    count: u32,
    slots: u32,
    teams: u32,
    unused: u32,
}

/// `kernels/pagerank_hubs.cu`: TellArgs.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct TellArgs {
    tiles: u64,
    copies: [u64; MAX_REPLICAS],
    count: u32,
    rank: u32,
    world: u32,
    unused: u32,
}

/// `kernels/pagerank_hubs.cu`: Tile.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Tile {
    row: u32,
    slot: u32,
    count: u32,
}

/// Own rows in tiles, whose rows begin where a block's reads and writes are whole lines.
fn tiles(own: &[Range<u64>]) -> Vec<Tile> {
    let (mut tiles, mut slot) = (Vec::new(), 0);
    for rows in own {
        let mut row = rows.start;
        while row < rows.end {
            let end = (row / u64::from(FAR_THREADS) + 1) * u64::from(FAR_THREADS);
            let count = (end.min(rows.end) - row) as u32;
            tiles.push(Tile { row: row as u32, slot, count });
            slot += count;
            row += u64::from(count);
        }
    }
    tiles
}

/// Runs on the device.
struct DeviceArcs {
    /// 16-bit columns two in a word; far ones are whole.
    columns: DeviceBuffer<u32>,
    marks: DeviceBuffer<u16>,
    first: DeviceBuffer<u32>,
    rows: DeviceBuffer<u32>,
}

/// Columns as words; an array of halves need not lie as one of words must.
fn words<C: Pod>(columns: &[C]) -> Cow<'_, [u32]> {
    match bytemuck::try_cast_slice(columns) {
        Ok(words) => Cow::Borrowed(words),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(columns)),
    }
}

impl DeviceArcs {
    fn new<C: Pod>(device: &CudaDevice, arcs: &Runs<C>) -> Result<DeviceArcs> {
        Ok(DeviceArcs {
            columns: upload(device, "segment arcs", &words(&arcs.columns))?,
            marks: upload(device, "segment marks", &arcs.marks)?,
            first: upload(device, "segment chunks", &arcs.first)?,
            rows: upload(device, "segment rows", &arcs.rows)?,
        })
    }
}

/// What the steps need.
pub(super) struct Hubs {
    segments: Function,
    far: Function,
    carry: Function,
    gathered: Function,
    tell: Function,
    /// Blocks that can be resident, of the segments' kernel and of the far arcs'.
    blocks: [u32; 2],
    shared_bytes: u32,
    near_arcs: DeviceArcs,
    far_arcs: DeviceArcs,
    /// First chunk and chunks.
    groups: DeviceBuffer<u32>,
    parts: DeviceBuffer<u32>,
    /// Groups before the far ones, and all.
    near_groups: u32,
    all_groups: u32,
    carry_rows: DeviceBuffer<u32>,
    carry_offsets: DeviceBuffer<u32>,
    carry_groups: DeviceBuffer<u32>,
    carries: DeviceBuffer<f32>,
    /// `[teams, slots]`
    sums: DeviceBuffer<f32>,
    tiles: DeviceBuffer<Tile>,
    teams: Teams,
    slots: u32,
    count: u32,
    width: u32,
    active: u32,
}

impl Hubs {
    pub fn new(
        device: &mut CudaDevice,
        rows: &ColumnRows,
        cut: &Segments,
        rank: Option<usize>,
        beat: &(dyn Fn() + Sync),
    ) -> Result<Hubs> {
        let mut kernel = |name| device.function(source("pagerank_hubs.cu"), &[], name);
        let segments = kernel("pagerank_segments")?;
        let far = kernel("pagerank_far")?;
        let carry = kernel("pagerank_carry")?;
        let gathered = kernel("pagerank_gathered")?;
        let tell = kernel("pagerank_tell")?;
        let device = &*device;
        let mut made = cut.lay_out(rows, rank, beat);
        // Warps read 32 rows at once.
        made.near.rows.resize(made.near.rows.len() + 32, 0);
        made.far.rows.resize(made.far.rows.len() + 32, 0);
        let shared_bytes = 4 * (cut.width as u32 + 4 + NEAR_THREADS / 32 * SUMS);
        let near_groups = made.parts.last().copied().unwrap_or(0);
        let carried = Carried::new(&made);
        let active = rows.offsets.len() - 1;
        Ok(Hubs {
            blocks: [
                device.resident_blocks(segments, NEAR_THREADS, shared_bytes)?,
                device.resident_blocks(far, FAR_THREADS, 0)?,
            ],
            segments,
            far,
            carry,
            gathered,
            tell,
            shared_bytes,
            near_arcs: DeviceArcs::new(device, &made.near)?,
            far_arcs: DeviceArcs::new(device, &made.far)?,
            groups: upload(device, "groups", bytemuck::cast_slice(&made.groups))?,
            parts: upload(device, "segments", &made.parts)?,
            near_groups,
            all_groups: made.groups.len() as u32,
            carry_rows: upload(device, "rows of carries", &carried.rows)?,
            carry_offsets: upload(device, "places of carries", &carried.offsets)?,
            carry_groups: upload(device, "groups of carries", &carried.groups)?,
            carries: device.alloc("carries", made.groups.len())?,
            sums: device.alloc("segment sums", cut.teams.count() * made.slots as usize)?,
            tiles: upload(device, "tiles", &tiles(&cut.own_rows(rank)))?,
            teams: cut.teams.clone(),
            slots: made.slots,
            count: cut.count as u32,
            width: cut.width as u32,
            active: active as u32,
        })
    }

    /// Queues the sums of the own rows, and their ranks; or, where `sum` is an address, f64 sums there.
    pub fn step(
        &self,
        device: &CudaDevice,
        value: u64,
        turn: TurnArgs,
        sum: u64,
        chance: Option<u64>,
    ) -> Result<()> {
        if self.near_groups > 0 {
            let shape = Launch {
                blocks: fewer(self.blocks[0], chance),
                threads: NEAR_THREADS,
                shared_bytes: self.shared_bytes,
                cooperative: false,
            };
            device.launch(
                self.segments,
                shape,
                &self.args(&self.near_arcs, value, shape.blocks),
            )?;
        }
        let far_groups = self.all_groups - self.near_groups;
        if far_groups > 0 {
            let shape = self.shape(far_groups.div_ceil(FAR_THREADS / 32), self.blocks[1], chance);
            device.launch(self.far, shape, &self.args(&self.far_arcs, value, shape.blocks))?;
        }
        let rows = self.carry_rows.len() as u32;
        if rows > 0 {
            let args = CarryArgs {
                rows: self.carry_rows.pointer(),
                offsets: self.carry_offsets.pointer(),
                groups: self.carry_groups.pointer(),
                carry: self.carries.pointer(),
                gathered: self.sums.pointer(),
                count: rows,
                unused: 0,
            };
            device.launch(
                self.carry,
                self.shape(rows.div_ceil(256), self.blocks[1], chance),
                &args,
            )?;
        }
        let args = GatheredArgs {
            turn,
            tiles: self.tiles.pointer(),
            gathered: self.sums.pointer(),
            sum,
            count: self.tiles.len() as u32,
            slots: self.slots,
            teams: self.teams.count() as u32,
            unused: 0,
        };
        let shape = self.shape(args.count, self.blocks[1], chance);
        device.launch(self.gathered, shape, &args)
    }

    /// Queues writing the own rows of an array, whose copies are at these addresses, into all others.
    pub fn tell(
        &self,
        device: &CudaDevice,
        copies: &[u64],
        rank: usize,
        chance: Option<u64>,
    ) -> Result<()> {
        let mut args = TellArgs {
            tiles: self.tiles.pointer(),
            count: self.tiles.len() as u32,
            rank: rank as u32,
            world: copies.len() as u32,
            ..TellArgs::zeroed()
        };
        args.copies[..copies.len()].copy_from_slice(copies);
        device.launch(self.tell, self.shape(args.count, self.blocks[1], chance), &args)
    }

    fn args(&self, arcs: &DeviceArcs, value: u64, grid: u32) -> HubArgs {
        let (mut cut, mut begin, mut end) = ([0; MOST_TEAMS + 1], [0; MOST_TEAMS], [0; MOST_TEAMS]);
        cut.iter_mut().zip(self.teams.cut()).for_each(|(to, from)| *to = *from as u32);
        for (team, blocks) in self.teams.blocks(grid).into_iter().enumerate() {
            (begin[team], end[team]) = (blocks.start, blocks.end);
        }
        HubArgs {
            near: arcs.columns.pointer(),
            far_columns: arcs.columns.pointer(),
            marks: arcs.marks.pointer(),
            first: arcs.first.pointer(),
            rows: arcs.rows.pointer(),
            groups: self.groups.pointer(),
            parts: self.parts.pointer(),
            value,
            gathered: self.sums.pointer(),
            carry: self.carries.pointer(),
            count: self.count,
            width: self.width,
            filled: self.active.next_multiple_of(4),
            blocks: ((self.parts.len() - 1) / self.count.max(1) as usize) as u32,
            far: [self.near_groups, self.all_groups],
            slots: self.slots,
            teams: self.teams.count() as u32,
            cut,
            begin,
            end,
            unused: 0,
        }
    }

    fn shape(&self, blocks: u32, most: u32, chance: Option<u64>) -> Launch {
        let blocks = fewer(blocks.clamp(1, most), chance);
        Launch::of(blocks, FAR_THREADS)
    }
}

/// Carries by row.
struct Carried {
    rows: Vec<u32>,
    offsets: Vec<u32>,
    groups: Vec<u32>,
}

impl Carried {
    fn new(made: &SegmentRows) -> Carried {
        let mut carried = Carried { rows: vec![], offsets: vec![], groups: vec![] };
        for (row, group) in &made.carries {
            if carried.rows.last() != Some(row) {
                carried.rows.push(*row);
                carried.offsets.push(carried.groups.len() as u32);
            }
            carried.groups.push(*group);
        }
        carried.offsets.push(carried.groups.len() as u32);
        carried
    }
}
