//! The best moves of a turn on a GPU: the arguments of `kernels/moves.cu`.

use super::moves::{Turn, What};
use super::state::State;
use crate::algorithm::arrays::device_arrays;
use crate::device::kernels::moves::{EACH, FEW, MANY, MovesArgs, MovesCounts, SOME, THREADS};
use crate::device::{CudaDevice, Function, Launch, source};
use crate::error::Result;
use crate::layout::memory::DeviceArray;

device_arrays! {
    /// Rows of more arcs than a team of a warp takes, of a level of so many arcs.
    struct Lists of usize {
        some: u32 = "rows for a warp", |arcs| arcs / FEW as usize;
        many: u32 = "rows for a block", |arcs| arcs / SOME as usize;
        // The last piece of a row may be short.
        pieces: u64 = "pieces of long rows", |arcs| 2 * arcs / MANY as usize;
        counts: MovesCounts = "counts of rows", |_| 1;
    }
}

/// The arrays of a graph of so many arcs.
pub(super) fn arrays(arcs: usize) -> Vec<DeviceArray> {
    Lists::list(arcs)
}

/// The kernels of one form.
struct Kernels {
    few: Function,
    rows: Function,
    choose: Function,
    /// Blocks of the latter two.
    blocks: [u32; 2],
}

impl Kernels {
    fn new(device: &mut CudaDevice, parts: bool) -> Result<Kernels> {
        let options = ["-fmad=false".into(), format!("-DHIVE_PARTS={}", u8::from(parts))];
        let mut kernel = |name| device.function(source("moves.cu"), &options, name);
        let (few, rows, choose) =
            (kernel("moves_few")?, kernel("moves_rows")?, kernel("moves_choose")?);
        let blocks = [
            device.resident_blocks(rows, THREADS, 0)?,
            device.resident_blocks(choose, THREADS, 0)?,
        ];
        Ok(Kernels { few, rows, choose, blocks })
    }
}

/// What a replica's turns on a GPU need beside the replicated state.
pub(super) struct Workspace {
    moves: Kernels,
    parts: Option<Kernels>,
    lists: Lists,
}

impl Workspace {
    pub fn new(device: &mut CudaDevice, arcs: usize, refines: bool) -> Result<Workspace> {
        Ok(Workspace {
            moves: Kernels::new(device, false)?,
            parts: refines.then(|| Kernels::new(device, true)).transpose()?,
            lists: Lists::allocate(device, arcs)?,
        })
    }

    /// Queues what finds the moves of a turn.
    pub fn find(
        &self,
        device: &CudaDevice,
        state: &State,
        (what, turn): (What, Turn),
        (nodes, factor): (usize, f64),
    ) -> Result<()> {
        let Workspace { moves, parts, lists } = self;
        let kernels = if what == What::Parts { parts.as_ref().unwrap_or(moves) } else { moves };
        let community = if what == What::Parts { &state.kept } else { &state.community };
        // Of few nodes there are more blocks of fewer.
        let blocks = nodes.div_ceil(THREADS as usize) as u32;
        let each = (blocks / device.filling()).clamp(1, EACH);
        let args = MovesArgs {
            target: state.target.on_device()?,
            weight: state.weight.on_device()?,
            at: state.at.on_device()?,
            count: state.count.on_device()?,
            community: community.on_device()?,
            own: state.own.on_device()?,
            total: state.total.on_device()?,
            size: state.size.on_device()?,
            active: state.active.on_device()?,
            whole: state.whole.on_device()?,
            of_whole: state.of_whole.on_device()?,
            rest: state.rest.on_device()?,
            inner: state.inner.on_device()?,
            best: state.best.on_device()?,
            key: state.key.on_device()?,
            sum: state.sum.on_device()?,
            some: lists.some.pointer(),
            many: lists.many.pointer(),
            pieces: lists.pieces.pointer(),
            counts: lists.counts.pointer(),
            factor,
            sweep: u64::from(turn.sweep),
            nodes: nodes as u32,
            each,
            turn: turn.turn,
            turns: turn.turns,
            part: turn.dealt.0,
            parts: turn.dealt.1,
        };
        [&state.inner, &state.best, &state.key, &state.sum].iter().for_each(|of| of.unmarked());
        lists.counts.clear()?;
        device.launch(kernels.few, Launch::of(blocks.div_ceil(each), THREADS), &args)?;
        device.launch(kernels.rows, Launch::of(kernels.blocks[0], THREADS), &args)?;
        device.launch(kernels.choose, Launch::of(kernels.blocks[1], THREADS), &args)
    }
}
