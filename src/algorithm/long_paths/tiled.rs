//! Searches by tiles: the arguments of `kernels/tiles/tile_search.cu`.

use super::{Rows, Search, Searched, Seeds};
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::hive::INFINITE;
use crate::device::kernels::tile::TILE_NODES;
use crate::device::kernels::tile_queue::{TileControl, TileQueue};
use crate::device::kernels::tile_search::{TILE_SHARED, TILE_SHARED_DOUBLE, TileArgs, TileStatus};
use crate::device::{CudaDevice, Function, Launch, Pinned, room, source};
use crate::error::Result;
use crate::layout::memory::{DeviceArray, total};
use crate::layout::tiles::{self, TileFacts, TileRows, Tiles};
use bytemuck::Zeroable;

/// More blocks than a GPU has resident: each waits for an entry of the queue in the end.
const BLOCKS: usize = 1 << 13;

/// The kernels, the tiles, and what a search needs.
pub(in crate::algorithm) struct Tiled {
    run: Function,
    start: Function,
    blocks: u32,
    shared_bytes: u32,
    tiles: Tiles,
    nodes: u32,
    arrays: Arrays,
    status: Pinned<TileStatus>,
}

impl Tiled {
    /// Makes tiles; `None` where they do not pay, cannot be, or have no room.
    pub fn of(device: &mut CudaDevice, rows: &Rows) -> Result<Option<Tiled>> {
        // Levels, places of arcs and what is beyond them fit 32 bits.
        let TileRows { nodes, count, weighted, .. } = rows.of;
        let fits = !rows.wide && count < 1 << 31 && (1..1 << 30).contains(&nodes);
        if !rows.tileable || !fits {
            return Ok(None);
        }
        let need = total(&Tiled::list([nodes as usize, count as usize], weighted, rows.double));
        if need > room(&device.context)? / u64::from(device.sharers) {
            return Ok(None);
        }
        let tiles = Tiles::new(device, &rows.of)?;
        tiles.map(|tiles| Tiled::new(device, tiles, rows)).transpose()
    }

    fn new(device: &mut CudaDevice, tiles: Tiles, rows: &Rows) -> Result<Tiled> {
        let Rows { of: TileRows { nodes, weighted, .. }, double, .. } = *rows;
        let options = match double {
            true => ["-DHIVE_DOUBLE=1".to_string()],
            false => [format!("-DHIVE_LEVELS={}", u32::from(!weighted))],
        };
        let mut kernel = |name| device.function(source("tile_search.cu"), &options, name);
        let (run, start) = (kernel("tile_search")?, kernel("tile_start")?);
        let arc = if weighted { 8 } else { 4 };
        let fixed = if double { TILE_SHARED_DOUBLE } else { TILE_SHARED };
        let shared_bytes = fixed + tiles.longest * arc;
        let sizes = Sizes::of(nodes as usize, tiles.facts.tiles as usize, double);
        Ok(Tiled {
            run,
            start,
            blocks: device.resident_blocks(run, TILE_NODES, shared_bytes)?,
            shared_bytes,
            nodes,
            arrays: Arrays::allocate(device, sizes)?,
            status: Pinned::new(&device.context, 1)?,
            tiles,
        })
    }

    pub fn facts(&self) -> TileFacts {
        self.tiles.facts
    }

    /// The tiles, the address of `[n]` distances by slot, and the queue, which is empty after a search.
    pub fn parts(&self, device: &CudaDevice) -> (&Tiles, u64, TileQueue) {
        (&self.tiles, self.arrays.near.pointer(), self.queue(device))
    }

    fn queue(&self, device: &CudaDevice) -> TileQueue {
        TileQueue {
            places: self.arrays.queue.pointer(),
            control: self.arrays.control.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            mask: self.arrays.queue.len() as u64 - 1,
        }
    }

    pub fn reset(&self, device: &CudaDevice, seeds: Seeds, width: f32) -> Result<()> {
        let Arrays { near, done, keys, queue, control } = &self.arrays;
        for words in [near, done, keys] {
            words.fill_words(INFINITE)?;
        }
        queue.clear()?;
        control.clear()?;
        let (seeds, seed_count, source) = match seeds {
            Seeds::One(label) => (0, 1, label),
            Seeds::Many(address, count) => (address, count, 0),
        };
        let args = TileArgs { seeds, seed_count, source, delta: width, ..self.args(device) };
        device.launch(self.start, Launch::of(1, TILE_NODES), &args)
    }

    fn args(&self, device: &CudaDevice) -> TileArgs {
        let (tiles, arrays) = (&self.tiles, &self.arrays);
        TileArgs {
            tiles: tiles.tiles.pointer(),
            heads: tiles.heads.pointer(),
            weights: tiles.weights.pointer(),
            rests: tiles.rests.pointer(),
            rest: tiles.rest.pointer(),
            rest_weights: tiles.rest_weights.pointer(),
            slot_of: tiles.slot_of.pointer(),
            tile_of: tiles.tile_of.pointer(),
            near: arrays.near.pointer(),
            done: arrays.done.pointer(),
            keys: arrays.keys.pointer(),
            queue: self.queue(device),
            status: self.status.pointer(),
            count: tiles.facts.tiles as u32,
            nodes: self.nodes,
            ..TileArgs::zeroed()
        }
    }

    pub fn launch(&self, device: &CudaDevice, search: &Search) -> Result<()> {
        let args = TileArgs {
            dist: search.dist,
            log: search.log,
            unreached: search.unreached,
            delta: search.width,
            ..self.args(device)
        };
        let shape = device.together(self.blocks, TILE_NODES);
        device.launch(self.run, Launch { shared_bytes: self.shared_bytes, ..shape }, &args)
    }

    pub fn found(&self, device: &CudaDevice) -> Result<Searched> {
        let TileStatus { looked, visits, windows, stopped } = self.status.get(0);
        device.met(stopped, "tile_search")?;
        Ok(Searched { relaxed: looked, rounds: visits, windows: windows.into() })
    }

    /// What it takes on a GPU, while tiles are made or after.
    fn list([nodes, arcs]: [usize; 2], weighted: bool, double: bool) -> Vec<DeviceArray> {
        let [kept, scratch] = tiles::arrays(nodes, arcs, weighted);
        let search = Arrays::list(Sizes::of(nodes, tiles::most(nodes), double));
        [kept, scratch, search].concat()
    }
}

#[derive(Clone, Copy)]
struct Sizes {
    /// Words of so many distances as there are nodes.
    words: usize,
    tiles: usize,
}

impl Sizes {
    fn of(nodes: usize, tiles: usize, double: bool) -> Sizes {
        Sizes { words: if double { 2 * nodes } else { nodes }, tiles }
    }
}

device_arrays! {
    struct Arrays of Sizes {
        /// `[n]` distances by slot.
        near: u32 = "distances of slots", |s| s.words;
        /// `[n]` by slot: at what distance arcs to other tiles were relaxed.
        done: u32 = "done", |s| s.words;
        /// `[tiles]`, and up to four more that are looked at with them.
        keys: u32 = "keys of tiles", |s| s.tiles.next_multiple_of(4);
        /// A tile is there twice at most: queued by a block, and by the one that begins a window.
        queue: u64 = "queue of tiles", |s| (2 * s.tiles + BLOCKS).next_power_of_two();
        control: TileControl = "control of tiles", |_| 1;
    }
}
