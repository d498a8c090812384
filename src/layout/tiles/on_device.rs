//! Tiles made on a GPU: the arguments of `kernels/tiles/tiles.cu`.

use super::{TileFacts, Tiles, most, pack};
use crate::device::kernels::hive::ArcForm;
use crate::device::kernels::tile::{HEAD, TILE_NODES, Tile};
use crate::device::kernels::tiles::{
    GrowArgs, GrowControl, GrowStatus, PlaceArgs, THREADS, TileRowArgs,
};
use crate::device::{CudaDevice, DeviceBuffer, Pinned, source};
use crate::error::Result;
use crate::layout::memory::DeviceArray;
use crate::layout::on_device::{Sums, launch};
use bytemuck::Zeroable;

/// Nodes of a full ball: balls that lie side by side, and the gaps between them, then make tiles that are two thirds full.
const BALL: u32 = TILE_NODES * 3 / 5;
/// Blocks a multiprocessor that grow cells: there is a meeting after every step.
const BLOCKS: u32 = 2;

/// The rows of a graph, by device address. Tiles are made of those that are the same both ways and have fewer than 2^32 arcs.
#[derive(Clone, Copy)]
pub(crate) struct TileRows {
    pub offsets: u64,
    pub arcs: u64,
    pub form: ArcForm,
    /// An arc is one word.
    pub packed: bool,
    /// Whether weights are wanted.
    pub weighted: bool,
    pub nodes: u32,
    /// Arcs.
    pub count: u64,
}

impl Tiles {
    /// Makes them; `None` where they do not pay.
    pub fn new(device: &mut CudaDevice, rows: &TileRows) -> Result<Option<Tiles>> {
        let options = rows.options();
        let mut load = |name| device.function(source("tiles.cu"), &options, name);
        let [place, order, count, fill] =
            [load("tiles_place")?, load("tiles_order")?, load("tiles_count")?, load("tiles_fill")?];
        let (cell, sizes) = grow(device, rows)?;
        let (tile_of_cell, bounds_of) = pack(&sizes);
        let sums = Sums::load(device)?;
        let device = &*device;
        let (nodes, n, tiles) = (rows.nodes, rows.nodes as usize, bounds_of.len() - 1);
        let bounds = device.alloc::<u32>("bounds of tiles", tiles + 1)?;
        bounds.upload(&bounds_of)?;
        let packed = device.alloc::<u32>("tiles of cells", tile_of_cell.len())?;
        packed.upload(&tile_of_cell)?;
        let filled = device.alloc::<u32>("nodes in tiles", tiles)?;
        let node_of = device.alloc::<u32>("nodes of slots", n)?;
        let slot_of = device.alloc::<u32>("slots of nodes", n)?;
        let tile_of = device.alloc::<u32>("tiles of slots", n)?;
        let args = PlaceArgs {
            cell: cell.pointer(),
            tiles: packed.pointer(),
            bounds: bounds.pointer(),
            filled: filled.pointer(),
            node_of: node_of.pointer(),
            slot_of: slot_of.pointer(),
            tile_of: tile_of.pointer(),
            nodes,
            count: tiles as u32,
        };
        launch(device, place, nodes.into(), THREADS, &args)?;
        launch(device, order, tiles as u64, 1, &args)?;
        let more = device.alloc::<u64>("arcs beyond four", n)?;
        let rests = device.alloc::<u32>("rests of rows", n + 1)?;
        let crossing = device.alloc::<u64>("crossing arcs", 1)?;
        let args = TileRowArgs {
            offsets: rows.offsets,
            arcs: rows.arcs,
            node_of: node_of.pointer(),
            slot_of: slot_of.pointer(),
            tile_of: tile_of.pointer(),
            more: more.pointer(),
            rests: rests.pointer(),
            bounds: bounds.pointer(),
            crossing: crossing.pointer(),
            nodes,
            count: tiles as u32,
            form: rows.form,
            ..TileRowArgs::zeroed()
        };
        launch(device, count, nodes.into(), THREADS, &args)?;
        sums.of_counts(device, &more, &rests)?;
        drop((cell, packed, filled, more));
        let crossing = crossing.element(0)? as f64 / (rows.count as f64).max(1.0);
        let facts = TileFacts { tiles: tiles as u64, crossing };
        let shared_bytes = device.info.shared_bytes;
        if !Tiles::pay(&facts, 0, shared_bytes) {
            return Ok(None);
        }
        let left = rests.element(n)? as usize;
        let weighted = usize::from(rows.weighted);
        let heads = device.alloc::<u32>("first neighbours", n * HEAD as usize)?;
        let weights = device.alloc::<f32>("their weights", weighted * n * HEAD as usize)?;
        let rest = device.alloc::<u32>("other neighbours", left)?;
        let rest_weights = device.alloc::<f32>("their weights", weighted * left)?;
        let made = device.alloc::<Tile>("tiles", tiles)?;
        let longest = device.alloc::<u32>("longest rest", 1)?;
        let args = TileRowArgs {
            heads: heads.pointer(),
            weights: if rows.weighted { weights.pointer() } else { 0 },
            rest: rest.pointer(),
            rest_weights: if rows.weighted { rest_weights.pointer() } else { 0 },
            tiles: made.pointer(),
            longest: longest.pointer(),
            ..args
        };
        launch(device, fill, nodes.into(), THREADS, &args)?;
        let longest = longest.element(0)?;
        let tiles = Tiles {
            tiles: made,
            heads,
            weights,
            rests,
            rest,
            rest_weights,
            slot_of,
            tile_of,
            longest,
            facts,
        };
        Ok(Tiles::pay(&facts, longest, shared_bytes).then_some(tiles))
    }
}

impl TileRows {
    /// What kernels over them are compiled with.
    fn options(&self) -> [String; 1] {
        [format!("-DHIVE_PACKED={}", u32::from(self.packed))]
    }
}

/// Grows cells: the cell of each node, and how many nodes each has.
fn grow(device: &mut CudaDevice, rows: &TileRows) -> Result<(DeviceBuffer<u32>, Vec<u32>)> {
    let kernel = device.function(source("tiles.cu"), &rows.options(), "tiles_grow")?;
    let device = &*device;
    let n = rows.nodes as usize;
    let array = |label| device.alloc::<u32>(label, n);
    let cell = array("cells of nodes")?;
    let sizes = [array("sizes of balls")?, array("sizes of cells")?];
    let seeds = array("seeds of balls")?;
    let lists = [array("frontier of cells")?, array("frontier of cells")?];
    let control = device.alloc::<GrowControl>("control", 1)?;
    let status = Pinned::<GrowStatus>::new(&device.context, 1)?;
    cell.fill_words(u32::MAX)?;
    let args = GrowArgs {
        offsets: rows.offsets,
        arcs: rows.arcs,
        cell: cell.pointer(),
        sizes: [&sizes[0], &sizes[1]].map(DeviceBuffer::pointer),
        seeds: seeds.pointer(),
        lists: [&lists[0], &lists[1]].map(DeviceBuffer::pointer),
        control: control.pointer(),
        status: status.pointer(),
        abort: device.abort.pointer(),
        deadline_ns: device.deadline_ns(),
        nodes: rows.nodes,
        ball: BALL,
        form: rows.form,
    };
    let most = device.resident_blocks(kernel, THREADS, 0)?;
    let wanted = (device.info.multiprocessors * BLOCKS).min(rows.nodes.div_ceil(THREADS)).max(1);
    device.launch(kernel, device.together(wanted.min(most), THREADS), &args)?;
    device.wait()?;
    let GrowStatus { cells, stopped } = status.get(0);
    device.met(stopped, "tiles_grow")?;
    let mut found = vec![0; cells as usize];
    sizes[1].read(0, &mut found)?;
    Ok((cell, found))
}

/// Arrays of tiles, and those that making them takes besides, of so many nodes and arcs.
pub(crate) fn arrays(nodes: usize, arcs: usize, weighted: bool) -> [Vec<DeviceArray>; 2] {
    let heads = nodes * HEAD as usize;
    let words = if weighted { 2 } else { 1 };
    let kept = vec![
        DeviceArray::new::<Tile>("tiles", most(nodes)),
        DeviceArray::new::<u32>("first neighbours", words * heads),
        DeviceArray::new::<u32>("rests of rows", nodes + 1),
        DeviceArray::new::<u32>("other neighbours", words * arcs),
        DeviceArray::new::<u32>("slots and tiles", 2 * nodes),
    ];
    let scratch = vec![DeviceArray::new::<u32>("cells of nodes", 6 * nodes)];
    [kept, scratch]
}
