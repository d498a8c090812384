//! Batches on a GPU by tiles, source after source: the arguments of `kernels/tiles/tile_paths.cu`.

use super::plan::{Sizes, State, StepResult, StepTask};
use crate::algorithm::arrays::device_arrays;
use crate::algorithm::long_paths::{Rows, Search, Seeds, Tiled};
use crate::device::kernels::tile::TILE_NODES;
use crate::device::kernels::tile_paths::{PathsTotals, TilePathsArgs};
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, room, source};
use crate::error::Result;
use crate::layout::TileFacts;
use crate::layout::memory::total;

/// Levels of a window of the search.
const WINDOW: f32 = 256.0;

/// What a replica's steps need beside rows and replicated state.
pub(super) struct ByTiles {
    search: Tiled,
    start: Function,
    forward: Function,
    turn: Function,
    backward: Function,
    score: Function,
    /// Blocks of either phase that can be resident.
    blocks: u32,
    offsets: u64,
    /// `[sources]` labels, by position.
    sources: DeviceBuffer<u32>,
    arrays: Arrays,
    status: Pinned<PathsTotals>,
}

device_arrays! {
    struct Arrays of Lengths {
        /// `[n]` f32 or f64, each, by slot.
        paths: u32 = "paths", |l| l.numbers;
        coefs: u32 = "coefficients", |l| l.numbers;
        gains: u32 = "dependencies", |l| l.numbers;
        /// `[tiles]`
        queued: u32 = "queued tiles", |l| l.tiles;
        totals: PathsTotals = "totals", |_| 1;
    }
}

#[derive(Clone, Copy)]
struct Lengths {
    /// Words of so many numbers as there are slots.
    numbers: usize,
    tiles: usize,
}

impl ByTiles {
    /// For batches of the sources `labels`; `None` where the graph is not searched by tiles, or there is no room.
    pub fn new(
        device: &mut CudaDevice,
        rows: &Rows,
        labels: &[u32],
        sizes: Sizes,
    ) -> Result<Option<ByTiles>> {
        let Some(search) = Tiled::of(device, rows)? else { return Ok(None) };
        let words = if sizes.double { 2 } else { 1 };
        let lengths =
            Lengths { numbers: words * sizes.active, tiles: search.facts().tiles as usize };
        if total(&Arrays::list(lengths)) > room(&device.context)? / u64::from(device.sharers) {
            return Ok(None);
        }
        let options = [format!("-DHIVE_DOUBLE={}", u32::from(sizes.double))];
        let mut kernel = |name| device.function(source("tile_paths.cu"), &options, name);
        let [start, forward, turn, backward, score] = [
            kernel("tile_paths_start")?,
            kernel("tile_paths_forward")?,
            kernel("tile_paths_turn")?,
            kernel("tile_paths_backward")?,
            kernel("tile_paths_score")?,
        ];
        let sources = device.alloc("sources", labels.len())?;
        sources.upload(labels)?;
        let both = [Some(forward), Some(backward)];
        Ok(Some(ByTiles {
            start,
            forward,
            turn,
            backward,
            score,
            blocks: device.resident_blocks_of(both, TILE_NODES, 0)?,
            offsets: rows.of.offsets,
            sources,
            arrays: Arrays::allocate(device, lengths)?,
            status: Pinned::new(&device.context, 1)?,
            search,
        }))
    }

    pub fn facts(&self) -> TileFacts {
        self.search.facts()
    }

    /// Queues a whole batch.
    pub fn launch(&self, device: &CudaDevice, s: &State, told: &StepTask<'_>) -> Result<()> {
        let Arrays { paths, coefs, gains, queued, totals } = &self.arrays;
        totals.clear()?;
        let scores = s.sums.scores.on_device()?;
        for place in told.batch.clone() {
            let seed = Seeds::Many(self.sources.pointer() + 4 * place as u64, 1);
            self.search.reset(device, seed, WINDOW)?;
            let search = Search { width: WINDOW, ..Search::default() };
            self.search.launch(device, &search)?;
            for words in [paths, coefs, gains, queued] {
                words.clear()?;
            }
            let (tiles, levels, queue) = self.search.parts(device);
            let args = TilePathsArgs {
                tiles: tiles.tiles.pointer(),
                heads: tiles.heads.pointer(),
                rests: tiles.rests.pointer(),
                rest: tiles.rest.pointer(),
                slot_of: tiles.slot_of.pointer(),
                tile_of: tiles.tile_of.pointer(),
                offsets: self.offsets,
                levels,
                paths: paths.pointer(),
                coefs: coefs.pointer(),
                gains: gains.pointer(),
                queued: queued.pointer(),
                scores,
                totals: totals.pointer(),
                status: self.status.pointer(),
                queue,
                sources: self.sources.pointer() + 4 * told.batch.start as u64,
                coarse: told.grids.coarse,
                fine: told.grids.fine,
                place: (place - told.batch.start) as u32,
                count: tiles.facts.tiles as u32,
                nodes: tiles.slot_of.len() as u32,
                endpoints: u32::from(told.endpoints),
            };
            let each = |items: usize| {
                let blocks = items.div_ceil(TILE_NODES as usize).max(1) as u32;
                Launch::of(device.blocks(blocks.min(device.filling())), TILE_NODES)
            };
            let phase = device.together(self.blocks, TILE_NODES);
            device.launch(self.start, Launch::of(1, 1), &args)?;
            device.launch(self.forward, phase, &args)?;
            device.launch(self.turn, each(args.count as usize), &args)?;
            device.launch(self.backward, phase, &args)?;
            device.launch(self.score, each(args.nodes as usize), &args)?;
        }
        Ok(())
    }

    /// What the last batch, which has ended, found.
    pub fn found(&self, device: &CudaDevice) -> Result<StepResult> {
        self.search.found(device)?;
        let totals = self.status.get(0);
        device.met(totals.stopped, "tile_paths")?;
        Ok(StepResult {
            levels: totals.levels.into(),
            reached: totals.reached,
            reached_arcs: totals.reached_arcs,
            looked: totals.looked,
            overflow: totals.overflow.checked_sub(1),
        })
    }
}
