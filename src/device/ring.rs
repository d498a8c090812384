//! Copies between large arrays of the host and a device, by way of pinned buffers: pinned memory is copied several times as
//! fast as other memory, and pinning all of it would take longer than the copy. Several threads have a stream and two
//! buffers each; while the GPU copies one, the thread fills or empties the other.

use super::check;
use super::context::{Context, Entered, event, stream};
use crate::error::Result;
use cudarc::driver::sys;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Threads at most.
const THREADS: usize = 16;
/// Bytes of a buffer.
const PIECE: usize = 1 << 20;
/// Bytes from which the threads are worth their start.
const WORTH: usize = 8 * PIECE;

/// What the threads of a context copy with.
pub(super) struct Ring {
    memory: *mut u8,
    /// Each is its thread's for the length of a copy.
    lanes: Vec<Mutex<Lane>>,
    /// The lane that a thread which wants any looks at first.
    next: AtomicUsize,
}

/// What one thread has.
struct Lane {
    stream: sys::CUstream,
    /// Of each buffer: the GPU has done with it.
    free: [sys::CUevent; 2],
    buffers: [*mut u8; 2],
}

// SAFETY: the memory is this value's own; streams and events may be used from any thread with the context current.
unsafe impl Send for Ring {}
// SAFETY: as above; lanes are behind locks, and the memory's address is read only to free it.
unsafe impl Sync for Ring {}
// SAFETY: as above; buffers are touched by the one thread that has the lane.
unsafe impl Send for Lane {}

impl Ring {
    /// Of `context`, which is current.
    fn new(context: &Context) -> Result<Ring> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let mut memory = std::ptr::null_mut();
        let (bytes, flags) = (2 * threads * PIECE, sys::CU_MEMHOSTALLOC_PORTABLE);
        // SAFETY: out-pointer to a local; the context is current.
        let status = unsafe { sys::cuMemHostAlloc(&mut memory, bytes, flags) };
        context.check("cuMemHostAlloc", status)?;
        let memory = memory.cast::<u8>();
        let mut lanes = Vec::new();
        for lane in 0..threads {
            // SAFETY: inside the allocation.
            let buffers = [0, 1].map(|i| unsafe { memory.add((2 * lane + i) * PIECE) });
            let free = [event(&context.name, false)?, event(&context.name, false)?];
            lanes.push(Lane { stream: stream(&context.name)?, free, buffers }.into());
        }
        Ok(Ring { memory, lanes, next: AtomicUsize::new(0) })
    }

    /// The lane `k`, as soon as it is free.
    fn lane(&self, k: usize) -> MutexGuard<'_, Lane> {
        self.lanes[k].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lane that is free, if there is one, and else the next to be.
    fn any_lane(&self) -> MutexGuard<'_, Lane> {
        let (first, count) = (self.next.fetch_add(1, Ordering::Relaxed), self.lanes.len());
        let free = (0..count).find_map(|k| self.lanes[(first + k) % count].try_lock().ok());
        free.unwrap_or_else(|| self.lane(first % count))
    }

    /// Frees it; its context is current as long as `_entered` lives.
    pub(super) fn free(self, _entered: &Entered) {
        // SAFETY: made by `new`, freed once; every copy was waited for.
        unsafe {
            for lane in self.lanes {
                let lane = lane.into_inner().unwrap_or_else(PoisonError::into_inner);
                lane.free.iter().for_each(|event| _ = sys::cuEventDestroy_v2(*event));
                sys::cuStreamDestroy_v2(lane.stream);
            }
            sys::cuMemFreeHost(self.memory.cast());
        }
    }
}

impl Lane {
    /// The first `bytes` of a buffer, once the GPU has done with it.
    fn buffer(&mut self, context: &Context, which: usize, bytes: usize) -> Result<&mut [u8]> {
        // SAFETY: a live event.
        let status = unsafe { sys::cuEventSynchronize(self.free[which]) };
        context.check("cuEventSynchronize", status)?;
        // SAFETY: one of the lane's own buffers, of PIECE bytes; no copy of it is under way.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.buffers[which], bytes.min(PIECE)) })
    }

    fn queued(&self, context: &Context, which: usize) -> Result<()> {
        // SAFETY: live event and stream of the current context.
        let status = unsafe { sys::cuEventRecord(self.free[which], self.stream) };
        context.check("cuEventRecord", status)
    }

    /// Copies pieces of the host to their places on the device.
    fn copy_in<'a>(
        &mut self,
        context: &Context,
        pieces: impl Iterator<Item = (u64, &'a [u8])>,
    ) -> Result<()> {
        context.bind()?;
        for (i, (to, piece)) in pieces.enumerate() {
            let buffer = self.buffer(context, i % 2, piece.len())?;
            buffer.copy_from_slice(piece);
            let from = buffer.as_ptr().cast();
            // SAFETY: the caller's part of the device; the buffer is not touched before the event.
            let status = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from, piece.len(), self.stream) };
            check(&context.name, "cuMemcpyHtoD", status)?;
            self.queued(context, i % 2)?;
        }
        context.drain(self.stream)
    }

    /// Copies pieces of the device to their places on the host.
    fn copy_out<'a>(
        &mut self,
        context: &Context,
        pieces: impl Iterator<Item = (u64, &'a mut [u8])>,
    ) -> Result<()> {
        context.bind()?;
        // What the GPU has been asked for and the thread has not seen: its buffer, and where it goes.
        let mut asked: Option<(usize, &mut [u8])> = None;
        for (i, (from, piece)) in pieces.enumerate() {
            let to = self.buffer(context, i % 2, piece.len())?.as_mut_ptr().cast();
            // SAFETY: the caller's part of the device; the buffer is not touched before the event.
            let status = unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, piece.len(), self.stream) };
            check(&context.name, "cuMemcpyDtoH", status)?;
            self.queued(context, i % 2)?;
            if let Some((which, to)) = asked.replace((i % 2, piece)) {
                to.copy_from_slice(self.buffer(context, which, to.len())?);
            }
        }
        if let Some((which, to)) = asked {
            to.copy_from_slice(self.buffer(context, which, to.len())?);
        }
        Ok(())
    }
}

impl Context {
    /// Large copies will follow: makes what they go through, on a thread of its own.
    pub(crate) fn expect_copies(self: &Arc<Context>) {
        let context = self.clone();
        // What fails here fails again when something is copied, and is reported then.
        let make = move || _ = context.bind().and_then(|()| context.ring());
        let _ = std::thread::Builder::new().name("pinned buffers".into()).spawn(make);
    }

    /// The ring, made when it is first asked for. The context is current.
    fn ring(&self) -> Result<Arc<Ring>> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        match &*ring {
            Some(ring) => Ok(ring.clone()),
            None => Ok(ring.insert(Ring::new(self)?.into()).clone()),
        }
    }

    /// Copies `from` to the device address `to` on the calling thread alone, and waits. The context is current; there is room
    /// for it, and nothing on another stream uses it.
    pub(super) fn copy_in_alone(&self, to: u64, from: &[u8]) -> Result<()> {
        let pieces = from.chunks(PIECE).enumerate();
        let placed = pieces.map(|(i, piece)| (to + (i * PIECE) as u64, piece));
        self.ring()?.any_lane().copy_in(self, placed)
    }

    /// Does `copy` with every lane of the ring, each on a thread of its own.
    fn with_lanes(
        &self,
        copy: impl Fn(usize, usize, &mut Lane) -> Result<()> + Sync,
    ) -> Result<()> {
        let ring = self.ring()?;
        let (ring, copy) = (&*ring, &copy);
        std::thread::scope(|scope| {
            let lanes = ring.lanes.len();
            let start = |k| scope.spawn(move || copy(k, lanes, &mut ring.lane(k)));
            let threads: Vec<_> = (0..lanes).map(start).collect();
            let end = |thread: std::thread::ScopedJoinHandle<'_, Result<()>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            // All of them end before the first error counts.
            let ended: Vec<Result<()>> = threads.into_iter().map(end).collect();
            ended.into_iter().collect()
        })
    }

    /// Copies `from` to the device address `to` once all that is on `stream` has ended, and waits. The context is current; there
    /// is room for it.
    pub(super) fn copy_in(&self, stream: sys::CUstream, to: u64, from: &[u8]) -> Result<()> {
        if from.len() >= WORTH {
            return self.copy_parts_in(stream, &[(to, from)]);
        }
        // A copy of pageable memory may hold up launches on other GPUs, for which merges wait.
        self.drain(stream)?;
        // SAFETY: the caller's part of the device; the source is not touched before the stream is drained.
        let status =
            unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) };
        self.check("cuMemcpyHtoD", status)?;
        self.drain(stream)
    }

    /// [`Context::copy_in`] of many parts, each to a device address of its own.
    pub(super) fn copy_parts_in(
        &self,
        stream: sys::CUstream,
        parts: &[(u64, &[u8])],
    ) -> Result<()> {
        self.drain(stream)?;
        self.with_lanes(|k, lanes, lane| {
            let pieces = parts.iter().flat_map(|(to, part)| {
                let pieces = part.chunks(PIECE).enumerate();
                pieces.map(move |(i, piece)| (*to + (i * PIECE) as u64, piece))
            });
            lane.copy_in(self, pieces.skip(k).step_by(lanes))
        })
    }

    /// Copies from the device address `from` once all that is on `stream` has ended, and waits. The context is current; there is
    /// as much.
    pub(super) fn copy_out(&self, stream: sys::CUstream, from: u64, to: &mut [u8]) -> Result<()> {
        if to.len() >= WORTH {
            self.drain(stream)?;
            let pieces: Vec<Mutex<Option<&mut [u8]>>> =
                to.chunks_mut(PIECE).map(|piece| Mutex::new(Some(piece))).collect();
            return self.with_lanes(|k, lanes, lane| {
                let own = pieces.iter().enumerate().skip(k).step_by(lanes);
                let taken = own.filter_map(|(i, piece)| {
                    let piece = piece.lock().unwrap_or_else(PoisonError::into_inner).take()?;
                    Some((from + (i * PIECE) as u64, piece))
                });
                lane.copy_out(self, taken)
            });
        }
        self.drain(stream)?;
        // SAFETY: the caller's part of the device; the target is not touched before the stream is drained.
        let status =
            unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) };
        self.check("cuMemcpyDtoH", status)?;
        self.drain(stream)
    }
}
