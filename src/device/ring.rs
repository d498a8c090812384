//! Copies between large arrays of the host and a device, by way of a ring of pinned buffers: while one is copied by the GPU,
//! the cores fill or empty another. Pinned memory is copied several times as fast as other memory, and pinning all of it
//! would take longer than the copy.

use super::context::{Context, event};
use super::{check, context::Entered};
use crate::error::Result;
use cudarc::driver::sys;
use rayon::prelude::*;
use std::sync::PoisonError;

const SLOTS: usize = 4;
const SLOT_BYTES: usize = 8 << 20;
/// Bytes that one core copies at a time.
const PIECE: usize = 128 << 10;
/// Bytes from which the ring is worth its start.
const WORTH: usize = 4 << 20;

/// The buffers of a context.
pub(super) struct Ring {
    memory: *mut u8,
    /// Of each slot: its last copy has ended.
    free: [sys::CUevent; SLOTS],
}

// SAFETY: the memory is this value's own, and events may be used from any thread with the context current.
unsafe impl Send for Ring {}

impl Ring {
    /// Of `context`, which is current.
    fn new(context: &Context) -> Result<Ring> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: out-pointer to a local; the context is current.
        let status = unsafe {
            sys::cuMemHostAlloc(&mut memory, SLOTS * SLOT_BYTES, sys::CU_MEMHOSTALLOC_PORTABLE)
        };
        context.check("cuMemHostAlloc", status)?;
        let mut free = [std::ptr::null_mut(); SLOTS];
        for slot in &mut free {
            *slot = event(&context.name, false)?;
        }
        Ok(Ring { memory: memory.cast(), free })
    }

    /// The first `bytes` of a slot, once the GPU has done with it.
    fn slot(&mut self, context: &Context, slot: usize, bytes: usize) -> Result<&mut [u8]> {
        // SAFETY: a live event.
        let status = unsafe { sys::cuEventSynchronize(self.free[slot]) };
        context.check("cuEventSynchronize", status)?;
        // SAFETY: inside the allocation, borrowed from its only owner; no copy is under way.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(
                self.memory.add(slot * SLOT_BYTES),
                bytes.min(SLOT_BYTES),
            )
        })
    }

    /// Frees it; its context is current as long as `_entered` lives.
    pub(super) fn free(self, _entered: &Entered) {
        // SAFETY: allocated by `new`, freed once; every copy was waited for.
        unsafe {
            for event in self.free {
                sys::cuEventDestroy_v2(event);
            }
            sys::cuMemFreeHost(self.memory.cast());
        }
    }
}

fn copy(to: &mut [u8], from: &[u8]) {
    let pieces = to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE));
    pieces.for_each(|(to, from)| to.copy_from_slice(from));
}

impl Context {
    /// Copies `from` to the device address `to` on `stream`, and waits. The context is current; there is room for it.
    pub(super) fn copy_in(&self, stream: sys::CUstream, to: u64, from: &[u8]) -> Result<()> {
        let queue = |to: u64, from: &[u8]| {
            // SAFETY: the caller's part of the device; the source is not touched before the copy has been waited for.
            let status =
                unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) };
            check(&self.name, "cuMemcpyHtoD", status)
        };
        if from.len() < WORTH {
            queue(to, from)?;
            return self.drain(stream);
        }
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let ring = match &mut *ring {
            Some(ring) => ring,
            none => none.insert(Ring::new(self)?),
        };
        let mut at = to;
        for (i, piece) in from.chunks(SLOT_BYTES).enumerate() {
            let slot = ring.slot(self, i % SLOTS, piece.len())?;
            copy(slot, piece);
            queue(at, slot)?;
            self.record(ring.free[i % SLOTS], stream)?;
            at += piece.len() as u64;
        }
        self.drain(stream)
    }

    /// Copies from the device address `from` on `stream`, and waits. The context is current; there is as much.
    pub(super) fn copy_out(&self, stream: sys::CUstream, from: u64, to: &mut [u8]) -> Result<()> {
        let queue = |from: u64, to: &mut [u8]| {
            // SAFETY: the caller's part of the device; the target is not touched before the copy has been waited for.
            let status = unsafe {
                sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream)
            };
            check(&self.name, "cuMemcpyDtoH", status)
        };
        if to.len() < WORTH {
            queue(from, to)?;
            return self.drain(stream);
        }
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let ring = match &mut *ring {
            Some(ring) => ring,
            none => none.insert(Ring::new(self)?),
        };
        let total = to.len();
        let start = |ring: &mut Ring, i: usize| -> Result<()> {
            let first = i * SLOT_BYTES;
            if first >= total {
                return Ok(());
            }
            let slot = ring.slot(self, i % SLOTS, total - first)?;
            queue(from + first as u64, slot)?;
            self.record(ring.free[i % SLOTS], stream)
        };
        (0..SLOTS).try_for_each(|i| start(ring, i))?;
        for (i, piece) in to.chunks_mut(SLOT_BYTES).enumerate() {
            let slot = ring.slot(self, i % SLOTS, piece.len())?;
            copy(piece, slot);
            start(ring, i + SLOTS)?;
        }
        self.drain(stream)
    }

    fn record(&self, event: sys::CUevent, stream: sys::CUstream) -> Result<()> {
        // SAFETY: live event and stream of the current context.
        self.check("cuEventRecord", unsafe { sys::cuEventRecord(event, stream) })
    }
}
