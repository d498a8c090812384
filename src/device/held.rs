//! Launches of rounds, held back and then queued in one call: a CUDA graph, a chain of kernels. To queue short kernels one by one
//! takes the host longer than they take the GPU.
//!
//! Rounds that follow each other launch the same kernels on as many blocks, with other parameters: arrays change places, counters
//! go up. A graph is made when launches of the same shape come for the second time, and kept for those that follow; before it is
//! queued again, the parameters that have changed are exchanged.
//!
//! **Source.** CUDA Driver API, "Graph Management", `cuGraphExecKernelNodeSetParams`.

use super::chain::{Chain, Executable, pointers};
use super::launch::{Function, Launch};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a context's main stream has yet to be given.
#[derive(Default)]
pub(super) struct Held {
    /// Whether there is anything.
    some: AtomicBool,
    /// How often the stream was asked for, to queue something else.
    asked: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    on: bool,
    now: Launches,
    /// Launches as they last came, those of the last shape first.
    kept: VecDeque<Kept>,
    /// Why launches could not be queued, which are gone.
    failed: Option<Error>,
}

/// Where launches of this shape are kept.
fn place_of(launches: &Launches, kept: &VecDeque<Kept>) -> Option<usize> {
    kept.iter().position(|kept| kept.launches.has_shape_of(launches))
}

// SAFETY: handles of graphs may be used from any thread, one at a time; the lock sees to that.
unsafe impl Send for State {}

/// Launches, in their order.
#[derive(Default)]
struct Launches {
    shapes: Vec<(Function, Launch)>,
    /// Words of each parameter, those of a launch together.
    sizes: Vec<Vec<usize>>,
    parameters: Vec<Vec<u64>>,
}

struct Kept {
    launches: Launches,
    graph: Option<Graph>,
}

struct Graph {
    executable: Executable,
    /// In the order of the launches.
    nodes: Vec<sys::CUgraphNode>,
    /// Whose nodes these are.
    _chain: Chain,
}

/// Fewer launches are not worth a graph, more are not held back.
const WORTH: (usize, usize) = (4, 256);

/// Shapes that are kept.
const SHAPES: usize = 8;

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether launches are held back from here on.
    pub fn set(&self, on: bool) {
        self.state().on = on;
    }

    /// Holds a launch back, with parameters of these bytes; false where it does not.
    pub fn takes(&self, f: Function, shape: Launch, parameters: &[&[u64]]) -> bool {
        let mut state = self.state();
        if !state.on || shape.cooperative || state.now.shapes.len() >= WORTH.1 {
            return false;
        }
        state.now.shapes.push((f, shape));
        state.now.sizes.push(parameters.iter().map(|one| one.len()).collect());
        state.now.parameters.push(parameters.concat());
        self.some.store(true, Ordering::Release);
        true
    }

    /// Differs before and after something is queued on the stream that was not held back.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether [`Held::flush`] would make a graph, or let go of one.
    pub fn makes(&self) -> bool {
        let state = self.state();
        let makes = match place_of(&state.now, &state.kept) {
            Some(at) => state.kept[at].graph.is_none(),
            None => state.kept.len() == SHAPES,
        };
        state.now.are_worth() && makes
    }

    /// Queues what is held back on `stream` of the current context, which is that of `device`, one launch after the other.
    pub fn queue(&self, device: &str, stream: sys::CUstream) -> Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.give(|now, _| now.queue(device, stream))
    }

    /// The same in one call, if there is a graph for it, or launches of this shape have come before.
    pub fn flush(&self, device: &str, stream: sys::CUstream) -> Result<()> {
        self.give(|now, kept| {
            if !now.are_worth() {
                return now.queue(device, stream);
            }
            let Some(at) = place_of(&now, kept) else {
                now.queue(device, stream)?;
                kept.truncate(SHAPES - 1);
                kept.push_front(Kept { launches: now, graph: None });
                return Ok(());
            };
            kept.swap(0, at);
            let last = &mut kept[0];
            let made = match last.graph.take() {
                Some(mut graph) => graph.exchange(device, &last.launches, &now).map(|()| graph),
                None => Graph::of(device, &now),
            };
            // Without one, where there is no memory for it, say.
            let Ok(graph) = made else { return now.queue(device, stream) };
            last.launches = now;
            last.graph.insert(graph).executable.launch(device, stream)
        })
    }

    /// Hands over what is held back. Nobody finds that there is nothing before it is queued. After a failure nothing is queued.
    fn give(&self, to: impl FnOnce(Launches, &mut VecDeque<Kept>) -> Result<()>) -> Result<()> {
        if !self.some.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = self.state();
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        let now = std::mem::take(&mut state.now);
        if now.shapes.is_empty() {
            return Ok(());
        }
        let given = to(now, &mut state.kept);
        match &given {
            Ok(()) => self.some.store(false, Ordering::Release),
            Err(error) => state.failed = Some(error.clone()),
        }
        given
    }

    /// Lets go of all graphs, or leaves them to the driver where their kernels may still run.
    pub fn free(&mut self, leaks: bool) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let kept = std::mem::take(&mut state.kept);
        if leaks {
            std::mem::forget(kept);
        }
    }
}

impl Launches {
    fn are_worth(&self) -> bool {
        self.shapes.len() >= WORTH.0
    }

    fn has_shape_of(&self, other: &Launches) -> bool {
        self.shapes == other.shapes && self.sizes == other.sizes
    }

    /// One after the other.
    fn queue(&self, device: &str, stream: sys::CUstream) -> Result<()> {
        for (((f, shape), sizes), words) in
            self.shapes.iter().zip(&self.sizes).zip(&self.parameters)
        {
            // SAFETY: parameters as the kernel was compiled for, of arrays that live.
            unsafe { f.launch(device, stream, *shape, &mut pointers(sizes, words))? };
        }
        Ok(())
    }
}

impl Graph {
    fn of(device: &str, launches: &Launches) -> Result<Graph> {
        let (mut chain, mut nodes) = (Chain::new(device)?, Vec::new());
        let Launches { shapes, sizes, parameters } = launches;
        for (((f, shape), sizes), words) in shapes.iter().zip(sizes).zip(parameters) {
            // SAFETY: parameters as the kernel was compiled for, of arrays that live when the launch is queued.
            nodes.push(unsafe { chain.add(device, *f, *shape, &mut pointers(sizes, words))? });
        }
        Ok(Graph { executable: chain.executable(device)?, nodes, _chain: chain })
    }

    /// Gives the launches that `before` were others the parameters of `now`.
    fn exchange(&mut self, device: &str, before: &Launches, now: &Launches) -> Result<()> {
        for (at, node) in self.nodes.iter().enumerate() {
            let words = &now.parameters[at];
            if before.parameters[at] == *words {
                continue;
            }
            let (f, shape) = now.shapes[at];
            let mut parameters = pointers(&now.sizes[at], words);
            // SAFETY: as in `of`; the node is one of the graph that the executable was made of.
            unsafe { self.executable.set(device, *node, f, shape, &mut parameters)? };
        }
        Ok(())
    }
}
