//! A pull on a GPU: the arguments of `kernels/lanes.cu`.

use super::{Found, State};
use crate::device::kernels::lanes::{LanesArgs, THREADS, TURNS};
use crate::device::{CudaDevice, Function, Launch, source};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::DeviceGraph;

/// The kernels of a pull.
pub(super) struct Pulls {
    pull: Function,
    rest: Function,
    long: Function,
}

impl Pulls {
    pub fn new(device: &mut CudaDevice, graph: &DeviceGraph) -> Result<Pulls> {
        let mut kernel = |name| device.function(source("lanes.cu"), &graph.options(), name);
        Ok(Pulls {
            pull: kernel("lanes_pull")?,
            rest: kernel("lanes_rest")?,
            long: kernel("lanes_long")?,
        })
    }

    /// Queues a pull: against the arcs, or, `backward`, along them. There are `count` pieces behind the first ones, in `long_count` rows.
    pub fn pull(
        &self,
        r: &Replica,
        graph: &DeviceGraph,
        (backward, [count, long_count]): (bool, [u64; 2]),
        state: &mut State,
        found: &mut Found,
    ) -> Result<()> {
        let (mut into, mut onward) = (graph.in_rows(), &graph.out);
        if backward {
            (into, onward) = (onward, into);
        }
        let Found { told, level, share, shift } = found;
        let State { far, harmonic, reached, farthest, work, .. } = state;
        let (nodes, words) = (reached.len() as u64, told.words());
        let args = LanesArgs {
            offsets: into.offsets.pointer(),
            columns: into.columns.pointer(),
            onward: onward.offsets.pointer(),
            pieces: state.pieces.address(),
            longs: state.longs.address(),
            past: state.past.on_device()?,
            visit: state.visit.on_device()?,
            seen: state.seen.on_device()?,
            next: state.next.on_device()?,
            found: state.found.on_device()?,
            told: words.on_device()?,
            far: far.on_device()?,
            harmonic: harmonic.on_device()?,
            reached: reached.on_device()?,
            farthest: farthest.on_device()?,
            work: work.on_device()?,
            share: *share,
            nodes,
            set_words: 2 * words.len() as u64,
            count,
            long_count,
            level: *level,
            shift: *shift,
        };
        [&state.seen, &state.next, &state.found, words, far, harmonic, work]
            .iter()
            .for_each(|written| written.unmarked());
        [reached, farthest].iter().for_each(|written| written.unmarked());
        let device = r.device()?;
        // Of a thread for each word of so many rows.
        let of = |rows: u64, each: u32| {
            Launch::of((rows << *shift).div_ceil(u64::from(each)) as u32, THREADS)
        };
        device.launch(self.pull, of(nodes, THREADS * TURNS), &args)?;
        if count > 0 {
            device.launch(self.rest, of(count, THREADS), &args)?;
            device.launch(self.long, of(long_count, THREADS), &args)?;
        }
        Ok(())
    }
}
