//! Device blocks, kept for the next array of the same size.
//!
//! A fleet that opens after another was closed would get other pages than the first, and kernels that read
//! at random take longer or shorter there (docs/measurements/README.md). So the lowest address goes out first:
//! arrays made in the same order lie where they lay before. It also spares the driver's work. What is kept
//! goes back to the driver as soon as an allocation fails.

use super::check;
use super::device::Context;
use crate::error::Result;
use cudarc::driver::sys;
use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The driver's own grains, for blocks below and from 1 MiB.
const GRAINS: (usize, usize) = (512, 2 << 20);

/// Addresses of free blocks by context handle and size in bytes.
type Blocks = HashMap<(usize, usize), BTreeSet<u64>>;
static KEPT: LazyLock<Mutex<Blocks>> = LazyLock::new(Mutex::default);

fn kept() -> MutexGuard<'static, Blocks> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a block of `bytes` takes.
pub(super) fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(if bytes < 1 << 20 { GRAINS.0 } else { GRAINS.1 })
}

/// A block of at least `bytes` on the current context, which is `context`; `None` when there is no room.
pub(super) fn take(context: &Context, bytes: usize) -> Result<Option<u64>> {
    let bytes = rounded(bytes);
    if let Some(block) =
        kept().get_mut(&(context.handle as usize, bytes)).and_then(BTreeSet::pop_first)
    {
        return Ok(Some(block));
    }
    let mut block = 0;
    for attempt in 0..2 {
        // SAFETY: out-pointer to a local; the context is current.
        let status = unsafe { sys::cuMemAlloc_v2(&mut block, bytes) };
        if status != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            check(&context.name, "cuMemAlloc", status)?;
            return Ok(Some(block));
        }
        if attempt == 0 && !release(context) {
            break;
        }
    }
    Ok(None)
}

/// Bytes that arrays can still get on `context`, which is current: what the driver has free and what is
/// kept here.
pub(super) fn room(context: &Context) -> Result<u64> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: out-pointers to locals; the context is current.
    let status = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
    check(&context.name, "cuMemGetInfo", status)?;
    let all = kept();
    let own = all.iter().filter(|((handle, _), _)| *handle == context.handle as usize);
    let kept: usize = own.map(|((_, bytes), blocks)| bytes * blocks.len()).sum();
    Ok((free + kept) as u64)
}

/// Takes back a block of `bytes` that [`take`] gave, on the current context, which is `context`.
pub(super) fn give(context: &Context, block: u64, bytes: usize) {
    // SAFETY: the context is current. What still uses the block ends before it is used again; where the
    // device is broken, the block is left alone.
    if unsafe { sys::cuCtxSynchronize() } == sys::CUresult::CUDA_SUCCESS {
        kept().entry((context.handle as usize, rounded(bytes))).or_default().insert(block);
    }
}

/// Frees what is kept of `context`, which is current; says whether there was anything.
pub(super) fn release(context: &Context) -> bool {
    let mut all = kept();
    let own: Vec<_> =
        all.keys().filter(|(handle, _)| *handle == context.handle as usize).copied().collect();
    let blocks: Vec<u64> = own.iter().filter_map(|key| all.remove(key)).flatten().collect();
    for block in &blocks {
        // SAFETY: given by `cuMemAlloc`, in nobody's hands, freed once.
        unsafe { sys::cuMemFree_v2(*block) };
    }
    !blocks.is_empty()
}
