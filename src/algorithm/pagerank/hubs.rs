//! Hubs in shared memory on a GPU, and device arrays.

use super::PagerankConfig;
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::pagerank::Turn;
use crate::device::kernels::pagerank_hubs::{
    CarryArgs, FAR_THREADS, GatheredArgs, HubArgs, NEAR_THREADS, TellArgs, Tile,
};
use crate::device::{CudaDevice, Function, Launch, room, source};
use crate::error::Result;
use crate::fleet::{Backend, Fleet};
use crate::layout::DeviceGraph;
use crate::layout::memory::{DeviceArray, total};
use crate::layout::segments::{
    CHUNK, DeviceRuns, LANE, MOST_SEGMENTS, MOST_TEAMS, RunShape, SegmentShape, Segments, TEAMS,
    Teams, most_blocks, scratch, segment_words,
};
use bytemuck::Zeroable;
use std::ops::Range;

/// Bytes a node of what iterations need beside rows and segments, at most.
pub(super) const STATE_BYTES: u64 = 36;
/// Rows that a warp reads at once, which may lie behind the last.
const AHEAD: usize = 32;

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

/// What lengths of [`RunArrays`] follow from.
#[derive(Clone, Copy)]
struct RunSizes {
    /// Words of columns.
    words: usize,
    chunks: usize,
    runs: usize,
}

impl RunSizes {
    /// With columns of so many bits.
    fn of(runs: RunShape, bits: usize) -> RunSizes {
        let RunShape { chunks, runs } = runs;
        RunSizes { words: chunks * CHUNK * bits / 32, chunks, runs }
    }
}

device_arrays! {
    /// Runs in chunks.
    struct RunArrays of RunSizes {
        /// Columns of 16 bits two in a word; far ones are whole.
        columns: u32 = "segment arcs", |s| s.words;
        marks: u16 = "segment marks", |s| CHUNK / LANE * s.chunks;
        first: u32 = "segment chunks", |s| s.chunks;
        rows: u32 = "segment rows", |s| s.runs + AHEAD;
    }
}

impl RunArrays {
    fn runs(&self) -> DeviceRuns<'_> {
        let RunArrays { columns, marks, first, rows } = self;
        DeviceRuns { columns, marks, first, rows }
    }
}

/// What lengths of [`GroupArrays`] follow from.
#[derive(Clone, Copy)]
struct GroupSizes {
    groups: usize,
    parts: usize,
    carry_rows: usize,
    carry_groups: usize,
    teams: usize,
    slots: usize,
    tiles: usize,
}

impl GroupSizes {
    fn of(made: &SegmentShape, carried: &Carried, tiles: &[Tile], teams: &Teams) -> GroupSizes {
        GroupSizes {
            groups: made.groups.len(),
            parts: made.parts.len(),
            carry_rows: carried.rows.len(),
            carry_groups: carried.groups.len(),
            teams: teams.count(),
            slots: made.slots as usize,
            tiles: tiles.len(),
        }
    }
}

device_arrays! {
    /// Groups of chunks, what they carry into rows that began in another group, and sums of rows.
    struct GroupArrays of GroupSizes {
        /// First chunk and chunks.
        groups: u32 = "groups", |s| 2 * s.groups;
        parts: u32 = "segments", |s| s.parts;
        carry_rows: u32 = "rows of carries", |s| s.carry_rows;
        carry_offsets: u32 = "places of carries", |s| s.carry_rows + 1;
        carry_groups: u32 = "groups of carries", |s| s.carry_groups;
        carries: f32 = "carries", |s| s.groups;
        /// `[teams, slots]`
        sums: f32 = "segment sums", |s| s.teams * s.slots;
        tiles: Tile = "tiles", |s| s.tiles;
    }
}

/// The arrays for `arcs` arcs among `active` nodes, at most: as if all arcs were far, and runs of two arcs. Near arcs take
/// half of that, and have runs of more than one arc on average where they pay.
pub(super) fn arrays(active: usize, arcs: usize, config: &PagerankConfig) -> Vec<DeviceArray> {
    let (blocks, segments) = most_blocks(arcs as u64, config.segments.given());
    let chunks = arcs.div_ceil(CHUNK) + blocks;
    let runs = (arcs / 2).max(active.min(arcs));
    let groups = GroupSizes {
        groups: chunks,
        parts: blocks * segments + 1,
        carry_rows: chunks.min(active),
        carry_groups: chunks,
        teams: config.segment_teams.given().map_or(TEAMS, |teams| teams as usize),
        slots: active,
        tiles: active.div_ceil(FAR_THREADS as usize) + 2 * blocks,
    };
    let none = RunSizes { words: 0, chunks: 0, runs: 0 };
    let far = RunSizes { words: chunks * CHUNK, chunks, runs };
    let scratch = scratch(blocks, MOST_SEGMENTS, chunks, chunks);
    [RunArrays::list(none), RunArrays::list(far), GroupArrays::list(groups), scratch].concat()
}

/// By rank, the bytes that a replica's GPU has for it. All processes call it.
pub(super) fn room_of_each(fleet: &Fleet) -> Result<Vec<u64>> {
    let own = fleet.run(|r| match &r.backend {
        Backend::Cuda(device) => Ok(room(&device.context)? / u64::from(device.sharers)),
        Backend::Host(_) => Ok(u64::MAX),
    })?;
    fleet.concat("room of each GPU", own)
}

/// Whether the GPUs of `fleet` have room for these segments, each for its own rows or for all, beside the state of `active`
/// nodes.
pub(super) fn fits(fleet: &Fleet, cut: &Segments, active: usize, shared: bool) -> Result<bool> {
    let free = room_of_each(fleet)?;
    let needs = |rank: usize| -> Option<u64> {
        let made = cut.shape(shared.then_some(rank));
        // Kernels count runs in 32 bits.
        let runs = [made.near, made.far].map(|runs| u32::try_from(runs.runs));
        if runs.iter().any(Result::is_err) {
            return None;
        }
        let most = GroupSizes {
            groups: made.groups.len(),
            parts: made.parts.len(),
            carry_rows: made.groups.len().min(active),
            carry_groups: made.groups.len(),
            teams: cut.teams.count(),
            slots: made.slots as usize,
            tiles: active.div_ceil(FAR_THREADS as usize) + 2 * made.parts.len(),
        };
        let chunks = made.near.chunks + made.far.chunks;
        let lists = [
            RunArrays::list(RunSizes::of(made.near, 16)),
            RunArrays::list(RunSizes::of(made.far, 32)),
            GroupArrays::list(most),
            scratch(made.parts.len(), MOST_SEGMENTS, chunks, chunks),
        ];
        // Values, ranks and degrees.
        Some(total(&lists.concat()) + STATE_BYTES * active as u64)
    };
    let fits = |(rank, free): (usize, u64)| needs(rank).is_some_and(|bytes| bytes <= free);
    Ok(free.into_iter().enumerate().all(fits))
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
    near_arcs: RunArrays,
    far_arcs: RunArrays,
    arrays: GroupArrays,
    /// Groups before the far ones, and all.
    groups: [u32; 2],
    teams: Teams,
    slots: u32,
    count: u32,
    width: u32,
    active: u32,
}

impl Hubs {
    /// For the rows of replica `rank`, or for all rows.
    pub fn new(
        device: &mut CudaDevice,
        graph: &DeviceGraph,
        active: usize,
        cut: &Segments,
        rank: Option<usize>,
    ) -> Result<Hubs> {
        let mut kernel = |name| device.function(source("pagerank_hubs.cu"), &[], name);
        let segments = kernel("pagerank_segments")?;
        let far = kernel("pagerank_far")?;
        let carry = kernel("pagerank_carry")?;
        let gathered = kernel("pagerank_gathered")?;
        let tell = kernel("pagerank_tell")?;
        let made = cut.shape(rank);
        let near_arcs = RunArrays::allocate(device, RunSizes::of(made.near, 16))?;
        let far_arcs = RunArrays::allocate(device, RunSizes::of(made.far, 32))?;
        let runs = [near_arcs.runs(), far_arcs.runs()];
        let carries = made.fill(device, (graph, graph.in_rows()), cut, runs)?;
        let device = &*device;
        let shared_bytes = 4 * segment_words(cut.width as u32);
        let (carried, tiles) = (Carried::new(&carries), tiles(&cut.own_rows(rank)));
        let sizes = GroupSizes::of(&made, &carried, &tiles, &cut.teams);
        let SegmentShape { groups, parts, slots, .. } = made;
        let arrays = GroupArrays::allocate(device, sizes)?;
        arrays.groups.upload(bytemuck::cast_slice(&groups))?;
        arrays.parts.upload(&parts)?;
        arrays.carry_rows.upload(&carried.rows)?;
        arrays.carry_offsets.upload(&carried.offsets)?;
        arrays.carry_groups.upload(&carried.groups)?;
        arrays.tiles.upload(&tiles)?;
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
            near_arcs,
            far_arcs,
            arrays,
            groups: [parts.last().copied().unwrap_or(0), groups.len() as u32],
            teams: cut.teams.clone(),
            slots,
            count: cut.count as u32,
            width: cut.width as u32,
            active: active as u32,
        })
    }

    /// Queues the sums of the own rows, and their ranks; or, where `sum` is an address, f64 sums there.
    pub fn step(&self, device: &CudaDevice, value: u64, turn: Turn, sum: u64) -> Result<()> {
        let (arrays, [near_groups, all_groups]) = (&self.arrays, self.groups);
        if near_groups > 0 {
            let blocks = device.blocks(self.blocks[0]);
            let shape =
                Launch { shared_bytes: self.shared_bytes, ..Launch::of(blocks, NEAR_THREADS) };
            device.launch(self.segments, shape, &self.args(&self.near_arcs, value, blocks))?;
        }
        let far_groups = all_groups - near_groups;
        if far_groups > 0 {
            let shape = self.shape(device, far_groups.div_ceil(FAR_THREADS / 32));
            device.launch(self.far, shape, &self.args(&self.far_arcs, value, shape.blocks))?;
        }
        let count = arrays.carry_rows.len() as u32;
        if count > 0 {
            let args = CarryArgs {
                rows: arrays.carry_rows.pointer(),
                offsets: arrays.carry_offsets.pointer(),
                groups: arrays.carry_groups.pointer(),
                carry: arrays.carries.pointer(),
                gathered: arrays.sums.pointer(),
                count,
                unused: 0,
            };
            device.launch(self.carry, self.shape(device, count.div_ceil(FAR_THREADS)), &args)?;
        }
        let args = GatheredArgs {
            turn,
            tiles: arrays.tiles.pointer(),
            gathered: arrays.sums.pointer(),
            sum,
            count: arrays.tiles.len() as u32,
            slots: self.slots,
            teams: self.teams.count() as u32,
            unused: 0,
        };
        device.launch(self.gathered, self.shape(device, args.count), &args)
    }

    /// Queues writing the own rows of an array, whose copies are at these addresses, into all others.
    pub fn hand_out(&self, device: &CudaDevice, copies: &[u64], rank: usize) -> Result<()> {
        let mut args = TellArgs {
            tiles: self.arrays.tiles.pointer(),
            count: self.arrays.tiles.len() as u32,
            rank: rank as u32,
            world: copies.len() as u32,
            ..TellArgs::zeroed()
        };
        args.copies[..copies.len()].copy_from_slice(copies);
        device.launch(self.tell, self.shape(device, args.count), &args)
    }

    fn args(&self, arcs: &RunArrays, value: u64, grid: u32) -> HubArgs {
        let (mut cut, mut begin, mut end) = ([0; MOST_TEAMS + 1], [0; MOST_TEAMS], [0; MOST_TEAMS]);
        cut.iter_mut().zip(self.teams.cut()).for_each(|(to, from)| *to = *from as u32);
        for (team, blocks) in self.teams.blocks(grid).into_iter().enumerate() {
            (begin[team], end[team]) = (blocks.start, blocks.end);
        }
        HubArgs {
            near: arcs.columns.pointer(),
            far: arcs.columns.pointer(),
            marks: arcs.marks.pointer(),
            first: arcs.first.pointer(),
            rows: arcs.rows.pointer(),
            groups: self.arrays.groups.pointer(),
            parts: self.arrays.parts.pointer(),
            value,
            gathered: self.arrays.sums.pointer(),
            carry: self.arrays.carries.pointer(),
            count: self.count,
            width: self.width,
            filled: self.active.next_multiple_of(4),
            blocks: (self.arrays.parts.len() as u32 - 1) / self.count.max(1),
            far_begin: self.groups[0],
            far_end: self.groups[1],
            slots: self.slots,
            teams: self.teams.count() as u32,
            cut,
            begin,
            end,
            unused: 0,
        }
    }

    /// So many blocks, or as many as can be resident.
    fn shape(&self, device: &CudaDevice, blocks: u32) -> Launch {
        Launch::of(device.blocks(blocks.clamp(1, self.blocks[1])), FAR_THREADS)
    }
}

/// Carries by row.
struct Carried {
    /// Slots, rising.
    rows: Vec<u32>,
    /// `[rows + 1]` into `groups`.
    offsets: Vec<u32>,
    groups: Vec<u32>,
}

impl Carried {
    fn new(carries: &[(u32, u32)]) -> Carried {
        let mut carried = Carried { rows: vec![], offsets: vec![], groups: vec![] };
        for (row, group) in carries {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::layout::memory::total;
    use crate::layout::segments::{RowBlocks, SegmentOptions};
    use crate::layout::{Columns, Layout};

    #[test]
    fn no_replica_takes_more_than_is_estimated() {
        let config = PagerankConfig::default();
        for spec in ["rmat:10", "rmat:14", "star:5000", "geo:5000", "uniform:3000", "chain:1000"] {
            let graph = generate(spec).unwrap();
            let columns = Columns::new(&graph, Layout::Degree).unwrap();
            let rows = columns.in_rows();
            let most = total(&arrays(columns.active, rows.arcs() as usize, &config));
            for (width, segments) in [(48_000, None), (64, Some(3))] {
                let options = SegmentOptions {
                    width,
                    segments,
                    teams: None,
                    multiprocessors: 132,
                    l2_bytes: 50 << 20,
                    redundant: true,
                    in_turn: false,
                };
                let blocks = RowBlocks::new(rows, width);
                let cut = Segments::new(rows, &blocks, blocks.count(rows), 4, options);
                let made = cut.shape(None);
                let carries = cut.lay_out(rows, None).carries;
                let (carried, tiles) = (Carried::new(&carries), tiles(&cut.own_rows(None)));
                let groups = GroupSizes::of(&made, &carried, &tiles, &cut.teams);
                let [near, far] = [RunSizes::of(made.near, 16), RunSizes::of(made.far, 32)];
                let lists =
                    [RunArrays::list(near), RunArrays::list(far), GroupArrays::list(groups)];
                let taken = total(&lists.concat());
                assert!(taken <= most, "{spec}, {segments:?} of {width}: {taken} of {most}");
            }
        }
    }
}
